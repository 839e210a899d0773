"""Output for apply obeys the schemas of the Kubernetes API, by which clients validate before they send anything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from jsonschema import Draft202012Validator
from kubernetes_validate.utils import all_versions, schema_contents
from referencing import Registry, Resource
from tiers import marked_slow

import olmc

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WORKSPACES = sorted(path for path in FIXTURES.iterdir() if path.is_dir() and path.name != "several-workspaces")
BY_SIZE = marked_slow(WORKSPACES, lambda path: path.name == "transitions" or WORKSPACES.index(path) % 3)
VERSION = "1.36"
MONITORING = tuple(f"monitoring.coreos.com/v1/{kind}" for kind in ("PrometheusRule", "ServiceMonitor"))

Found = Iterator[tuple[str, str]]


@cache
def validator(api_version: str, kind: str) -> Draft202012Validator | None:
    """A validator that knows all fields of a kind and takes no other; None if Kubernetes has no such kind."""
    group, _, version = api_version.rpartition("/")
    folder = next(v for v in reversed(all_versions()) if v.startswith(f"{VERSION}."))
    name = "-".join(part for part in (kind.lower(), group.partition(".")[0], version) if part)
    try:
        schema = schema_contents(f"kubernetes-json-schema/v{folder}-local-strict/{name}.json", VERSION)
    except FileNotFoundError:
        return None
    return Draft202012Validator(schema, registry=definitions(folder) @ Registry())


@cache
def definitions(folder: str) -> Resource[Any]:
    path = f"kubernetes-json-schema/v{folder}-local-strict/_definitions.json"
    return Resource.from_contents(schema_contents(path, VERSION))


def problems(objects: tuple[olmc.Rendered, ...]) -> Found:
    """Where objects break the schema of their kind."""
    for found in objects:
        obj = found.object
        kind = validator(obj["apiVersion"], obj["kind"])
        if kind is None:
            group = obj["apiVersion"].rpartition("/")[0]
            if "." in group and not group.endswith(".k8s.io"):
                continue
            yield str(found.identity), "there is no such kind"
            continue
        for error in kind.iter_errors(obj):
            yield f"{found.identity} {'.'.join(map(str, error.absolute_path))}", error.message


@pytest.mark.parametrize("certificates", ["none", "cert-manager", "service-ca"])
@pytest.mark.parametrize("workspace", BY_SIZE, ids=lambda path: path.name)
def test_fixtures(workspace: Path, certificates: str) -> None:
    made = olmc.compile(workspace, olmc.Options(purpose="apply", certificates=certificates))  # type: ignore[arg-type]
    assert list(problems(made.objects)) == []


def test_no_bundle_of_the_corpus_has_a_key_that_kubernetes_does_not_know(corpus: list[Path]) -> None:
    """Rendered for a cluster with what most of them need; a few need CRDs of others besides, or can't be installed."""
    assert len(corpus) > 200
    broken: list[str] = []
    missing: dict[str, tuple[str, ...]] = {}
    kinds: Counter[str] = Counter()
    options = olmc.Options(purpose="apply", certificates="cert-manager", apis=MONITORING)
    for bundle in corpus:
        name = "/".join(bundle.parts[-2:])
        made = olmc.compile(bundle, options)
        kinds.update(each.object["kind"] for each in made.objects)
        broken += [f"{name}: {place}: {problem}" for place, problem in problems(made.objects)]
        if made.missing:
            missing[name] = made.missing
    assert broken == [], "\n".join(broken)
    assert len(missing) < 10, missing
    assert kinds["Deployment"] > 250
    assert kinds["CustomResourceDefinition"] > 700


def test_keys_that_kubernetes_does_not_know_stay_out_of_the_output(tmp_path: Path) -> None:
    """At every depth of everything that a bundle can hold: server-side apply refuses an object because of one."""
    (case,) = yaml.safe_load_all((Path(__file__).parent / "bogus.yaml").read_text(encoding="utf-8"))
    write_workspace(tmp_path, case)
    made = olmc.compile(tmp_path, olmc.Options(purpose="apply", certificates="cert-manager"))
    assert made.missing == ()
    assert list(problems(made.objects)) == []
    kinds = {each.object["kind"] for each in made.objects}
    shipped = {obj["kind"] for obj in case["operators"][0]["files"].values()}
    assert shipped | {"CustomResourceDefinition", "Deployment", "ValidatingWebhookConfiguration"} <= kinds
    assert "bogus" not in json.dumps([each.object for each in made.objects])


def test_the_validation_notices_what_it_is_for() -> None:
    """An unknown field deep down, a wrong type, and a kind that there is not."""
    place = olmc.Provenance(None, "", "")
    pod: dict[str, Any] = {"containers": [{"name": "a", "imagePullSecrets": []}], "replicas": 1}
    spec = {"selector": {}, "replicas": "1", "template": {"spec": pod}}
    wrong = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    gone = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    found = list(problems((olmc.Rendered(wrong, place), olmc.Rendered(gone, place))))
    assert len(found) == 4, found
    assert found[-1] == ("PodDisruptionBudget/b", "there is no such kind")
