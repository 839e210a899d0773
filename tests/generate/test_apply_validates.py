"""Output for apply obeys the schemas of the Kubernetes API, by which clients validate before they send anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from kubernetes_validate.utils import all_versions, schema_contents
from referencing import Registry, Resource

import olmc

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WORKSPACES = sorted(path for path in FIXTURES.iterdir() if path.is_dir() and path.name != "several-workspaces")
VERSION = "1.36"

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
@pytest.mark.parametrize("workspace", WORKSPACES, ids=lambda path: path.name)
def test_fixtures(workspace: Path, certificates: str) -> None:
    made = olmc.compile(workspace, olmc.Options(purpose="apply", certificates=certificates))  # type: ignore[arg-type]
    assert list(problems(made.objects)) == []


def test_corpus(corpus: list[Path]) -> None:
    assert len(corpus) > 200
    broken: dict[str, list[tuple[str, str]]] = {}
    kinds: Counter[str] = Counter()
    for bundle in corpus:
        made = olmc.compile(bundle, olmc.Options(purpose="apply", certificates="cert-manager"))
        kinds.update(each.object["kind"] for each in made.objects)
        found = list(problems(made.objects))
        if found:
            broken["/".join(bundle.parts[-2:])] = found
    assert broken == {}
    assert kinds["Deployment"] > 200


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
