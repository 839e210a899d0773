"""The JSON Schemas: valid themselves, right about examples, and not in the way of what a cluster takes."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from olmc.resources import schema

EXAMPLES = Path(__file__).with_name("schemas")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))

BY_KIND = {
    "CatalogSource": "catalogsource",
    "ClusterServiceVersion": "clusterserviceversion",
    "OLMConfig": "olmconfig",
    "OperatorGroup": "operatorgroup",
    "Subscription": "subscription",
}
BY_KEY = {"annotations": "bundle-annotations", "dependencies": "bundle-dependencies", "properties": "bundle-properties"}

# The one group of the cases that the API server has refused (R-OG-3).
REFUSED = {("13-og-target-duplicate", "operatorgroup")}


class Loader(yaml.CSafeLoader):
    """PyYAML, except that dates and `=` are text, as they are in Kubernetes."""


NOT_RESOLVED = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in NOT_RESOLVED]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def examples(verdict: str) -> list[Any]:
    return [
        pytest.param(name, example, id=f"{name}: {example['title']}")
        for name in NAMES
        for example in yaml.load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"), Loader)[verdict]
    ]


def pointers(name: str, value: Any) -> list[str]:
    """The places at which `value` breaks the schema, as JSON pointers."""
    errors = Draft202012Validator(schema(name)).iter_errors(value)
    return ["".join(f"/{key}" for key in error.absolute_path) for error in errors]


def test_every_schema_has_examples(project: Path) -> None:
    files = sorted(path.name for path in (project / "schemas").iterdir())
    assert files == sorted(f"{name}.schema.json" for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid(name: str) -> None:
    document = schema(name)
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert document["$id"].endswith(f"/{name}.schema.json")
    assert document["title"]
    assert document["description"]


def test_every_option_is_described() -> None:
    def undescribed(part: dict[str, Any], path: str) -> Iterator[str]:
        if "description" not in part:
            yield path
        for key, below in part.get("properties", {}).items():
            yield from undescribed(below, f"{path}.{key}")
        if "items" in part:
            yield from undescribed(part["items"], f"{path}[]")

    assert list(undescribed(schema("olmc"), "olmc")) == []


@pytest.mark.parametrize(("name", "example"), examples("good"))
def test_good_example_is_accepted(name: str, example: dict[str, Any]) -> None:
    assert pointers(name, example["object"]) == []


@pytest.mark.parametrize(("name", "example"), examples("bad"))
def test_bad_example_is_refused_in_its_place(name: str, example: dict[str, Any]) -> None:
    assert pointers(name, example["object"]) == [example["at"]]


def inputs(name: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The documents of a file that a schema exists for, as pairs of the schema's name and the document."""
    try:
        documents = list(yaml.load_all(text, Loader))
    except yaml.YAMLError:
        assert name.endswith("dependencies.yaml"), f"{name} is not YAML"
        return
    for document in documents:
        if not isinstance(document, dict):
            continue
        kind = document.get("kind")
        if kind == "ClusterServiceVersion" and "/manifests/" in name:
            # OLM stores a bundle's CSV under its own apiVersion, whatever the file says.
            document["apiVersion"] = "operators.coreos.com/v1alpha1"
        if kind in BY_KIND:
            yield BY_KIND[kind], document
        elif "/metadata/" in name:
            yield from ((BY_KEY[key], document) for key in document if key in BY_KEY)


def test_inputs_of_the_conformance_cases_are_accepted(shared: Path) -> None:
    """R-OG-3, and that nothing is refused which the API server of a real cluster has taken."""
    refused = set()
    seen = set()
    for path in sorted((shared / "conformance" / "cases").glob("*/*/input/**/*.yaml")):
        case = path.relative_to(shared / "conformance" / "cases").parts[1]
        text = path.read_text(encoding="utf-8")
        if "/catalogs/" in path.as_posix() or "kind: CustomResourceDefinition" in text:
            continue
        for name, document in inputs(path.as_posix(), text):
            seen.add(name)
            if pointers(name, document):
                refused.add((case, name))
    assert refused == REFUSED
    assert seen == {*BY_KIND.values(), *BY_KEY.values()}


def test_csvs_and_metadata_of_the_corpus_are_accepted(shared: Path) -> None:
    refused = []
    csvs = 0
    with tarfile.open(shared / "corpus" / "bundles.tar.xz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is None or not member.name.endswith((".yaml", ".yml", ".json")):
                continue
            text = file.read().decode("utf-8")
            if "/metadata/" not in member.name and "ClusterServiceVersion" not in text:
                continue
            for name, document in inputs(member.name, text):
                csvs += name == "clusterserviceversion"
                refused += [(member.name, pointer) for pointer in pointers(name, document)]
    assert refused == []
    assert csvs > 200


def test_schemas_are_written_alike(project: Path) -> None:
    for path in (project / "schemas").iterdir():
        text = path.read_text(encoding="utf-8")
        assert list(json.loads(text))[:4] == ["$schema", "$id", "title", "description"], path.name
        assert text.endswith("}\n"), path.name
