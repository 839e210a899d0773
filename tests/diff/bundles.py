"""Small bundles from terse data, for reviews of upgrades: one pair for each kind of fact (docs/diff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from kit import HERE

from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Narrowing, Options
from olmc.review.diff.both_sides import read_sides
from olmc.review.diff.compare import Difference, compare, with_kept_back
from olmc.review.diff.premises import Premises
from olmc.review.diff.settings import Sides
from olmc.targets.pipeline import compile

PAIRS = sorted((HERE / "pairs").glob("*.yaml"))

_PREFIX = "operators.operatorframework.io.bundle."


def write_bundle(folder: Path, short: Mapping[str, Any]) -> None:
    """A bundle of the operator kettle.

    `version`, `channels` and `default` (of its channels), `metadata` (more annotations of the bundle), `annotations` of
    the CSV, `spec` (more of the CSV), `modes`, `pods` (by Deployment the spec of its pods), `labels` (by Deployment
    what it selects), `rules` (by ServiceAccount a list of verbs and resources), and `objects`.
    """
    version = short.get("version", "1.0.0")
    name = short.get("name", f"kettle.v{version}")
    metadata = {"name": name, "annotations": short.get("annotations", {})}
    csv = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": metadata}
    pods: Mapping[str, Any] = short.get("pods", {"kettle": {}})
    csv["spec"] = {
        "displayName": "Kettle",
        "version": version,
        "installModes": [
            {"type": mode, "supported": mode in short.get("modes", "AllNamespaces")}
            for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
        ],
        "install": {
            "strategy": "deployment",
            "spec": {
                "deployments": [_deployment(name, pod, short) for name, pod in pods.items()],
                "clusterPermissions": [
                    {"serviceAccountName": account, "rules": [_rule(*rule) for rule in rules]}
                    for account, rules in short.get("rules", {}).items()
                ],
            },
        },
        **short.get("spec", {}),
    }
    annotations = {
        f"{_PREFIX}mediatype.v1": "registry+v1",
        f"{_PREFIX}manifests.v1": "manifests/",
        f"{_PREFIX}metadata.v1": "metadata/",
        f"{_PREFIX}package.v1": "kettle",
        f"{_PREFIX}channels.v1": short.get("channels", "stable"),
        **({f"{_PREFIX}channel.default.v1": short["default"]} if "default" in short else {}),
        **short.get("metadata", {}),
    }
    for place, obj in (("metadata/annotations.yaml", {"annotations": annotations}), ("manifests/csv.yaml", csv)):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(yaml.safe_dump(obj), encoding="utf-8")
    for number, obj in enumerate(short.get("objects", ())):
        (folder / f"manifests/{number}.yaml").write_text(yaml.safe_dump(obj), encoding="utf-8")


def _deployment(name: str, pod: Mapping[str, Any], short: Mapping[str, Any]) -> dict[str, Any]:
    labels = short.get("labels", {}).get(name, {"app": name})
    image = f"registry.example.com/kettle:v{short.get('version', '1.0.0')}"
    spec = {"serviceAccountName": "kettle", "containers": [{"name": "manager", "image": image}], **pod}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"name": name, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def _rule(verbs: str, resources: str) -> dict[str, Any]:
    parts = [resource.partition(".") for resource in resources.split(",")]
    groups = list(dict.fromkeys(part[2] for part in parts))
    return {"verbs": verbs.split(","), "apiGroups": groups, "resources": [part[0] for part in parts]}


def write_workspace(folder: Path, files: Mapping[str, Any]) -> None:
    """The files of a workspace: lists of objects by path, and of paths that end with / bundles."""
    for place, content in files.items():
        if place.endswith("/"):
            write_bundle(folder / place, content)
            continue
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(yaml.safe_dump_all(content), encoding="utf-8")


def read_pair(path: Path, folder: Path) -> Sides:
    """The sides of a pair, written to a folder and compiled as `olmc diff` does."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    options = Options(**case.get("options", {}))

    def compiled(place: Path, narrowing: Narrowing | None, premises: Premises) -> Compilation:
        return compile(CompileRequest(place, premises.of(options, premises.decided), premises.decided, narrowing))

    for side in ("old", "new"):
        write = write_workspace if any("/" in key or "." in key for key in case[side]) else write_bundle
        write(folder / side, case[side])
    (folder / "work").mkdir()
    return read_sides(f"{folder}/old", f"{folder}/new", folder / "work", compiled)


@cache
def pair_difference(path: Path) -> Difference:
    """What a pair differs in; the sides are called old and new."""
    with TemporaryDirectory() as folder:
        read = read_pair(path, Path(folder))
        assert read.sides is not None, read.diagnostics
        old, new = read.sides
        difference = compare(old._replace(name="old"), new._replace(name="new"))
        return with_kept_back(difference, read.kept_back) if read.kept_back is not None else difference
