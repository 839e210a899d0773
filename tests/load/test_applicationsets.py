"""What an ApplicationSet makes of data in the repository, and what it leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cpu_time import measure
from scenarios import write

from olmc.compiler.load.application_sets import Effort, applications_of
from olmc.compiler.load.entries import entries_at

SECONDS = 5
FILES = {
    "clusters/north/config.yaml": "cluster: {name: nor, size: 3}\n",
    "clusters/south/config.yaml": "cluster: {name: sou, size: 5}\n",
    "clusters/south/deep/config.yaml": "cluster: {name: dep}\n",
}


def made(root: Path, generators: list[Any], template: str, **more: Any) -> list[str] | None:
    """The names that a template gives to the Applications, None where olmc can't determine them."""
    write(root, FILES)
    spec = {"generators": generators, "template": {"metadata": {"name": template}, "spec": {}}, **more}
    applications = applications_of({"metadata": {"namespace": "argocd"}, "spec": spec}, root, tuple(FILES), Effort())
    return None if applications is None else [application["metadata"]["name"] for application in applications]


DIRECTORIES = {"git": {"directories": [{"path": "clusters/*"}, {"path": "clusters/north", "exclude": True}]}}
NAMES = {"git": {"files": [{"path": "clusters/*/config.yaml"}]}}
ELEMENTS = {"list": {"elements": [{"a": "x", "values": {"b": 1}}, {"a": "y", "values": {"b": 2}}]}}


@pytest.mark.parametrize(
    ("generators", "template", "is_go", "expected"),
    [
        ([ELEMENTS], "{{a}}-{{ values.b }}", False, ["x-1", "y-2"]),
        ([ELEMENTS], "{{.a}}-{{ .values.b }}", True, ["x-1", "y-2"]),
        ([DIRECTORIES], "{{path}}|{{path.basename}}|{{path[1]}}", False, ["clusters/south|south|south"]),
        ([DIRECTORIES], "{{.path.path}}|{{.path.basename}}", True, ["clusters/south|south"]),
        ([NAMES], "{{path.basename}}-{{cluster.name}}-{{cluster.size}}", False, ["north-nor-3", "south-sou-5"]),
        ([NAMES], "{{.path.filename}}-{{.cluster.name}}", True, ["config.yaml-nor", "config.yaml-sou"]),
        ([{"git": {"files": [{"path": "**/config.yaml"}]}}], "{{cluster.name}}", False, ["nor", "sou", "dep"]),
        ([{"matrix": {"generators": [DIRECTORIES, ELEMENTS]}}], "{{path.basename}}-{{a}}", False,
         ["south-x", "south-y"]),
        ([ELEMENTS, DIRECTORIES], "all", False, ["all", "all", "all"]),
        ([{**ELEMENTS, "selector": {"matchLabels": {"a": "x"}}}], "{{a}}", False, ["x"]),
        ([{**ELEMENTS, "selector": {"matchExpressions": [{"key": "values.b", "operator": "NotIn", "values": ["1"]}]}}],
         "{{.a}}", True, ["y"]),
        ([{**ELEMENTS, "selector": {"matchExpressions": [{"key": "c", "operator": "Exists"}]}}], "{{a}}", False, []),
        ([{"matrix": {"generators": [ELEMENTS, ELEMENTS]}, "selector": {"matchLabels": {"a": "y"}}}], "{{a}}", False,
         ["y", "y"]),
        ([{"matrix": {"generators": [{"list": {"elements": [{"c": "north"}, {"c": "south"}]}},
                                     {"git": {"files": [{"path": "clusters/{{c}}/*.yaml"}]}}]}}],
         "{{c}}-{{cluster.name}}", False, ["north-nor", "south-sou"]),
        ([{"git": {"files": [{"path": "**/config.yaml"}, {"path": "**/deep/*", "exclude": True}]}}],
         "{{cluster.name}}", False, ["nor", "sou"]),
        ([ELEMENTS], "{{ .a | upper }}", True, ["X", "Y"]),
        ([ELEMENTS], '{{ .a | replace "x" "z" | upper }}', True, ["Z", "Y"]),
        ([DIRECTORIES], '{{ index .path.segments 0 }}-{{ trimPrefix "so" .path.basename }}', True, ["clusters-uth"]),
        ([DIRECTORIES], "{{ .path.basenameNormalized }}", True, ["south"]),
        ([NAMES], "{{path.filenameNormalized}}", False, ["config.yaml", "config.yaml"]),
        ([{"list": {"elements": []}}], "a", False, []),
        ([ELEMENTS], "{{ .a | upper }}", False, None),
        ([ELEMENTS], "{{ .a | sha256sum }}", True, None),
        ([ELEMENTS], "{{ upper }}", True, None),
        ([ELEMENTS], "{{ if .a }}x{{ end }}", True, None),
        ([DIRECTORIES], "{{ index .path.segments 7 }}", True, None),
        ([ELEMENTS], "{{c}}", False, None),
        ([{"clusters": {}}], "a", False, None),
        ([ELEMENTS, {"scmProvider": {}}], "a", False, None),
        ([{**ELEMENTS, "selector": {"matchLabels": "x"}}], "{{a}}", False, None),
    ],
)  # fmt: skip
def test_applications_are_made_of_plain_data(
    tmp_path: Path, generators: list[Any], template: str, is_go: bool, expected: list[str] | None
) -> None:
    assert made(tmp_path, generators, template, goTemplate=is_go) == expected


def test_what_is_left_open_is_said_of_a_chart(tmp_path: Path) -> None:
    """A chart is installed with values that only the cluster knows: it is an entry of the set, and that is known."""
    chart = {"c/Chart.yaml": "name: c\nversion: 1.0.0\n", "c/templates/a.yaml": "# operators.coreos.com/v1\n"}
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
        "  generators: [{clusters: {}}]\n  template: {metadata: {name: '{{name}}'}, spec: {source: {path: c}}}\n"
    )
    write(tmp_path, {**chart, "set.yaml": text})
    (entry,) = entries_at(tmp_path)
    assert str(entry) == "c (ApplicationSet/all)"
    assert entry.release is not None
    assert entry.release.unknown == ("what its generators fill in",)


@pytest.mark.parametrize(
    ("server", "clusters"), [("{{server}}", {""}), ("{{name}}", {"beacon", "lantern"})], ids=["parts", "clusters"]
)
def test_a_list_beside_the_clusters_names_parts(tmp_path: Path, server: str, clusters: set[str]) -> None:
    """The elements of a list are no clusters, unless a destination names them."""
    kustomization = "resources: [beacon.yaml]\n"
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"
    generators = "{matrix: {generators: [{clusters: {}}, {list: {elements: [{name: beacon}, {name: lantern}]}}]}}"
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
        f"  generators: [{generators}]\n  template:\n    metadata: {{name: '{{{{name}}}}'}}\n"
        f"    spec: {{source: {{path: 'parts/{{{{name}}}}'}}, destination: {{server: '{server}'}}}}\n"
    )
    files = {f"parts/{name}/{file}": content for name in ("beacon", "lantern")
             for file, content in (("kustomization.yaml", kustomization), ("beacon.yaml", group))}  # fmt: skip
    write(tmp_path, {**files, "set.yaml": text})
    found = {applier.destination.cluster for entry in entries_at(tmp_path) for applier in entry.appliers}
    assert found == clusters


def nested(depth: int) -> dict[str, Any]:
    """Matrices in each other that generate nothing, in 1,000 to the power of `depth` steps."""
    inner: dict[str, Any] = {"list": {"elements": []}}
    for _ in range(depth):
        inner = {"matrix": {"generators": [{"list": {"elements": [{"a": "x"}] * 1_000}}, inner]}}
    return inner


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generators", "template"),
    [
        ([nested(5)], "a"),
        ([{"matrix": {"generators": [{"list": {"elements": [{"a": "x"}] * 1_000}}] * 2}}], "{{a}}"),
        ([{"list": {"elements": [{"a": "x" * 100_000}] * 1_000}}], "{{a}}" * 1_000),
        ([{"list": {"elements": [{"a": "x"}] * 5_000}}], "y" * 100_000),
        ([NAMES] * 1_000_000, "{{cluster.name}}"),
        ([{"git": {"files": [{"path": "**/**/**/*"}] * 10_000}}] * 1_000, "a"),
        ([{"git": {"directories": [{"path": "**/**/**/*"}] * 10_000}}] * 1_000, "a"),
    ],
    ids=["nested", "product", "values", "template", "generators", "files", "directories"],
)
def test_generators_that_multiply_end(tmp_path: Path, generators: list[Any], template: str) -> None:
    seconds = measure()
    assert not made(tmp_path, generators, template)
    assert seconds() < SECONDS


def test_ten_thousand_clusters_are_made(tmp_path: Path) -> None:
    files = tuple(f"clusters/c{number}/a.yaml" for number in range(10_000))
    source = {"repoURL": "https://example.com/r", "path": "{{path}}", "targetRevision": "main"}
    template = {"metadata": {"name": "{{path.basename}}"}, "spec": {"project": "all", "source": source}}
    spec = {"generators": [{"git": {"directories": [{"path": "clusters/*"}]}}], "template": template}
    assert len(applications_of({"spec": spec}, tmp_path, files, Effort()) or ()) == 10_000
