"""Where a graph finds its package: workspaces, folders of catalogs, bundles, and what OLM would not serve."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.output.messages import QueryError
from olmc.k8s.diagnostics import Report, Severity
from olmc.review.graph.catalogs import NamedCatalog, catalog_with, catalogs_at

CSV = "operators.coreos.com/v1alpha1"


def blobs(package: str, *versions: str, replaced: bool = True) -> list[dict[str, object]]:
    """A file-based catalog with one package and one channel."""
    names = [f"{package}.v{version}" for version in versions]
    entries = [{"name": name} for name in names]
    if replaced:
        entries = [{**each, "replaces": before} for each, before in zip(entries, ["", *names], strict=False)]
    found: list[dict[str, object]] = [{"schema": "olm.package", "name": package, "defaultChannel": "stable"}]
    found.append({"schema": "olm.channel", "package": package, "name": "stable", "entries": entries})
    for name, version in zip(names, versions, strict=True):
        properties = [{"type": "olm.package", "value": {"packageName": package, "version": version}}]
        bundle = {"schema": "olm.bundle", "package": package, "name": name, "image": f"x.example/{package}:{version}"}
        found.append({**bundle, "properties": properties})
    return found


def stream(*documents: Mapping[str, object]) -> str:
    return "".join(f"---\n{json.dumps(document, indent=1)}\n" for document in documents)


def csv(package: str, version: str, **spec: object) -> dict[str, object]:
    modes = [{"type": "AllNamespaces", "supported": True}]
    whole = {"version": version, "installModes": modes, "install": {"strategy": "deployment", "spec": {}}, **spec}
    metadata = {"name": f"{package}.v{version}"}
    return {"apiVersion": CSV, "kind": "ClusterServiceVersion", "metadata": metadata, "spec": whole}


def bundle_files(folder: str, package: str, version: str, **spec: object) -> dict[str, str]:
    prefix = "operators.operatorframework.io.bundle"
    annotations = {f"{prefix}.package.v1": package, f"{prefix}.channels.v1": "stable"}
    return {
        f"{folder}/manifests/csv.yaml": json.dumps(csv(package, version, **spec)),
        f"{folder}/metadata/annotations.yaml": json.dumps({"annotations": annotations}),
    }


CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\n"
NAMESPACE = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
PACKAGE_FILE = "packageName: old\nchannels:\n- {name: stable, currentCSV: old.v2.0.0}\n"


def found(root: Path, files: Mapping[str, str], path: str = "") -> tuple[tuple[NamedCatalog, ...], Report]:
    for name, text in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    report = Report()
    return catalogs_at(root / path, report), report


def listed(catalogs: tuple[NamedCatalog, ...]) -> list[str]:
    return [f"{shelf.name}: {' '.join(sorted(shelf.packages))}" for shelf in catalogs]


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        pytest.param(
            {"catalogs/a/x.yaml": stream(*blobs("p", "1.0.0")), "catalogs/b/x.json": stream(*blobs("q", "1.0.0"))},
            "",
            ["a: p", "b: q"],
            id="the catalogs of a workspace",
        ),
        pytest.param(
            {"ns.yaml": NAMESPACE, "deep/er/x.yaml": stream(*blobs("p", "1.0.0"))},
            "",
            ["er: p"],
            id="a catalog anywhere in a workspace",
        ),
        pytest.param(
            {"cat/p/1.yaml": stream(*blobs("p", "1.0.0")[:1]), "cat/p/2.yaml": stream(*blobs("p", "1.0.0")[1:])},
            "cat",
            ["cat: p"],
            id="the folder of a catalog, its packages in several files",
        ),
        pytest.param(
            {"cat/p.yaml": stream(*blobs("p", "1.0.0")), "cat/q.yaml": stream(*blobs("q", "1.0.0"))},
            "cat",
            ["cat: p q"],
            id="the folder of a catalog, a file for each package",
        ),
        pytest.param(
            {"cat/p.yaml": stream(*blobs("p", "1.0.0")), "cat/q.yaml": NAMESPACE},
            "cat",
            ["p: p"],
            id="manifests beside a catalog make a workspace",
        ),
        pytest.param(
            {"catalogs/a/p.yaml": stream(*blobs("p", "1.0.0")), "catalogs/b/q.yaml": stream(*blobs("q", "1.0.0"))},
            "catalogs",
            ["a: p", "b: q"],
            id="a folder of catalogs",
        ),
        pytest.param(
            {
                "old/old.package.yaml": PACKAGE_FILE,
                "old/1/csv.yaml": json.dumps(csv("old", "1.0.0")),
                "old/2/csv.yaml": json.dumps(csv("old", "2.0.0", replaces="old.v1.0.0")),
            },
            "old",
            ["old: old"],
            id="package manifests (R-CAT-140)",
        ),
        pytest.param(
            {"old/old.package.yaml": PACKAGE_FILE, "ns.yaml": NAMESPACE, "p/p.yaml": stream(*blobs("p", "1.0.0"))},
            "",
            ["p: p"],
            id="package manifests somewhere in a workspace",
        ),
        pytest.param(
            {**bundle_files("b1", "p", "1.0.0"), **bundle_files("b2", "p", "1.1.0", replaces="p.v1.0.0")},
            "",
            ["bundles: p"],
            id="bundles alone (R-CAT-144)",
        ),
        pytest.param(bundle_files("b1", "p", "1.0.0"), "b1", ["bundles: p"], id="one bundle (R-CAT-144)"),
        pytest.param(
            {**bundle_files("b1", "p", "1.0.0"), "catalogs/a/x.yaml": stream(*blobs("p", "1.0.0"))},
            "",
            ["a: p"],
            id="bundles that a catalog lists",
        ),
        pytest.param({"ns.yaml": NAMESPACE}, "", [], id="no catalog at all"),
        pytest.param(
            {"olmc.yaml": f"{CONFIG}spec: {{ignore: [x]}}\n", "x/p.yaml": stream(*blobs("p", "1.0.0"))},
            "",
            [],
            id="an ignored folder",
        ),
    ],
)
def test_catalogs_at_a_path(files: dict[str, str], path: str, expected: list[str], tmp_path: Path) -> None:
    catalogs, _ = found(tmp_path, files, path)
    assert listed(catalogs) == expected
    assert all(not shelf.problem for shelf in catalogs)


def test_edges_of_bundles_alone(tmp_path: Path) -> None:
    """R-CAT-144: from their CSVs, or from the order of their versions."""
    files = {**bundle_files("b1", "p", "1.0.0"), **bundle_files("b2", "p", "1.1.0")}
    ((shelf,), _) = found(tmp_path, files)
    assert [entry.replaces for entry in shelf.packages["p"].channels["stable"].entries] == [""]
    ((shelf,), _) = found(tmp_path, {"olmc.yaml": f"{CONFIG}spec: {{bundleEdges: semver}}\n"})
    assert [entry.replaces for entry in shelf.packages["p"].channels["stable"].entries] == ["", "p.v1.0.0"]


@pytest.mark.parametrize(
    ("name", "path"),
    [("catalogs/bad/a.yaml", ""), ("catalogs/bad/a.yaml", "catalogs/bad"), ("x/bad/a.yaml", ""), ("bad.yaml", "")],
)
def test_a_refused_catalog_is_read_as_well_as_it_can_be(name: str, path: str, tmp_path: Path) -> None:
    """R-CAT-400: the graph that is wrong is there to be looked at, with OLM's text."""
    bad_text = stream(*blobs("p", "1.0.0", "2.0.0", replaced=False))
    files = {name: bad_text, "catalogs/good/g.yaml": stream(*blobs("q", "1.0.0"))}
    catalogs, report = found(tmp_path, files, path)
    bad = next(shelf for shelf in catalogs if shelf.name == "bad")
    assert "multiple channel heads found in graph: p.v1.0.0, p.v2.0.0" in bad.problem
    assert [entry.name for entry in bad.packages["p"].channels["stable"].entries] == ["p.v1.0.0", "p.v2.0.0"]
    assert report.worst() is Severity.FAILURE


def test_a_catalog_under_several_names_is_one(tmp_path: Path) -> None:
    """D8: the bundles of a workspace serve whatever Subscriptions ask for."""
    subscriptions = [
        {
            "apiVersion": CSV,
            "kind": "Subscription",
            "metadata": {"name": source, "namespace": "ns"},
            "spec": {"name": "p", "channel": "stable", "source": source, "sourceNamespace": "olm"},
        }
        for source in ("one", "two")
    ]
    catalogs, _ = found(tmp_path, {**bundle_files("b1", "p", "1.0.0"), "subs.yaml": stream(*subscriptions)})
    assert listed(catalogs) == ["one: p"]


def test_the_one_catalog_that_has_a_package() -> None:
    nothing: Any = None
    catalogs = zip(("one", "two", "three"), "pqq", strict=True)
    one, two, three = (NamedCatalog(name, {package: nothing}) for name, package in catalogs)
    assert catalog_with((one, two), "p") is one
    assert catalog_with((one, two, three), "q", "three") is three
    with pytest.raises(QueryError, match=r"^q is in several catalogs; choose one with --catalog: two, three\.$"):
        catalog_with((one, two, three), "q")
    with pytest.raises(QueryError, match=r"^Catalog one has no package q\. There is p\.$"):
        catalog_with((one, two, three), "q", "one")
    with pytest.raises(QueryError, match=r"^There is no package p\. There is none at all\.$"):
        catalog_with((), "p")
