"""Every published operator is classified for OLM v1, as docs/migrate-to-olm-v1.md counts them; what differs once it has
moved is named."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from corpus_workspaces import operator_workspace, supported_modes

import olmc
from olmc.review.migrate.to_extensions import ExtensionMigration, migrate_to_extensions

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs/migrate-to-olm-v1.md"
PROFILES = ("v1", "v1-experimental")
OUTCOMES = ("moves as it is", "moves with losses", "stays")
NUMBER_OF_BUNDLES = 224
MONITORING = [f"monitoring.coreos.com/v1/{kind}" for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule")]
CONSOLE = [
    f"console.openshift.io/v1/{kind}"
    for kind in ("ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample", "ConsoleLink", "ConsoleCLIDownload")
]
# What OLM v0 alone writes into every object and every pod, and the objects that are its own.
BOOKS = ("olm.", "olmcahash", "operators.coreos.com/", "operatorframework.io/", "olm.operatorframework.io/")
RBAC_KINDS = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
CONFIGURATIONS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


def rows() -> dict[str, tuple[int, ...]]:
    """The table of counts on the page: a row's name → the number for each profile."""
    lines = PAGE.read_text(encoding="utf-8").split("| | `v1` | `v1-experimental` |\n|---|---|---|\n")[1].splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return {name.strip(): tuple(int(number) for number in numbers) for name, *numbers in cells}


def test_the_page_counts_all_of_them() -> None:
    """R-V1-MIG-3: each operator has one outcome, and each reason is explained above the table."""
    table, page = rows(), PAGE.read_text(encoding="utf-8")
    for number in range(len(PROFILES)):
        assert sum(table[outcome][number] for outcome in OUTCOMES) == NUMBER_OF_BUNDLES
    kinds = [name.partition(" for ")[2] or name.partition("loses ")[2] for name in table if name not in OUTCOMES]
    assert len(kinds) >= 10
    for kind in kinds:
        assert f"\n| {kind} |" in page or f" {kind}," in page or f"| {kind}, " in page, kind


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("profile", PROFILES)
def test_every_operator_is_classified(profile: str, corpus: list[Path], tmp_path: Path) -> None:
    """R-V1-MIG-1, R-V1-MIG-3: the counts on the page are those of all bundles; what differs is named, and nothing else
    is: the same objects, the same Deployments."""
    counts: Counter[str] = Counter()
    for number, bundle in enumerate(corpus):
        root = tmp_path / str(number)
        mode = supported_modes(bundle)[0]
        operator_workspace(root, bundle, mode, None)
        spec = {"apis": [*MONITORING, *CONSOLE, "autoscaling.k8s.io/v1/VerticalPodAutoscaler"]}
        config = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config", "spec": spec}
        (root / "olmc.yaml").write_text(yaml.safe_dump(config))
        done = migrate_to_extensions(root, profile)
        (verdict,) = done.verdicts
        counts[verdict.outcome] += 1
        verb = "stays for" if verdict.move is None else "loses"
        counts.update({f"{verb} {reason.kind}" for reason in verdict.reasons})
        assert (verdict.move is None) == (not done.migration.changes), bundle
        assert verdict.move is not None or verdict.reasons, bundle
        if verdict.move is not None and number % 4 == 0:
            unnamed = list(differences_not_named(root, done))
            assert not unnamed, (bundle, unnamed)
        shutil.rmtree(root)
    column = PROFILES.index(profile)
    assert dict(counts) == {name: numbers[column] for name, numbers in rows().items() if numbers[column]}


def differences_not_named(root: Path, done: ExtensionMigration) -> Iterator[str]:
    """What is otherwise once the files are changed, and that no loss is about."""
    (verdict,) = done.verdicts
    before = olmc.compile(root)
    for change in done.migration.changes:
        (root / change.path).write_text(change.after)
    after = olmc.compile(root)
    (result,) = after.extensions
    assert not result.problem
    assert not result.missing, "the installer lacks rights"
    assert not after.findings or before.findings
    named = " ".join(reason.text for reason in verdict.reasons)
    kinds = {reason.kind for reason in verdict.reasons}
    was, now = objects_of(before), objects_of(after)
    for key in sorted(was.keys() | now.keys()):
        if was.get(key) == now.get(key) or f"{'/'.join(filter(None, key))}" in named:
            continue
        if key[0] in CONFIGURATIONS and "names of webhooks" in kinds:
            continue
        if key[0] in ("Issuer", "Certificate", "Secret") and "certificates" in kinds:
            continue
        yield f"{key}: {json.dumps(was.get(key))[:300]} / {json.dumps(now.get(key))[:300]}"


def objects_of(made: olmc.Compilation) -> dict[tuple[str, str, str], Any]:
    """The objects that operators run by, without OLM's own and without permissions, which are compared by who has them
    elsewhere; Deployments with their whole spec, of others that they are there."""
    kept: dict[tuple[str, str, str], Any] = {}
    for rendered in made.objects:
        key, obj = rendered.identity, json.loads(json.dumps(rendered.object))
        own = key.group.endswith(("operators.coreos.com", "olm.operatorframework.io"))
        if own or key.kind in RBAC_KINDS or key.name.endswith("-installer"):
            continue
        # OLM v0 serves a catalog by them; catalogd needs none.
        if any(owner["kind"] == "CatalogSource" for owner in obj["metadata"].get("ownerReferences", ())):
            continue
        kept[key.kind, key.namespace, key.name] = plain_deployment(obj) if key.kind == "Deployment" else True
    return kept


def plain_deployment(obj: dict[str, Any]) -> Any:
    """A Deployment's spec, what API servers fill in filled in, and without what OLM v0 writes for itself."""
    spec = obj["spec"]
    template = spec["template"]
    annotations = template["metadata"].get("annotations") or {}
    template["metadata"]["annotations"] = {k: v for k, v in annotations.items() if not k.startswith(BOOKS)}
    pod = template["spec"]
    pod.setdefault("serviceAccountName", "default")
    pod["volumes"] = sorted(pod.get("volumes") or (), key=lambda volume: str(volume["name"]))
    for container in pod.get("containers") or ():
        container["env"] = [e for e in container.get("env") or () if e["name"] != "OPERATOR_CONDITION_NAME"]
        container["volumeMounts"] = sorted(container.get("volumeMounts") or (), key=lambda m: str(m["mountPath"]))
        container["ports"] = [{"protocol": "TCP", **port} for port in container.get("ports") or ()]
    return spec
