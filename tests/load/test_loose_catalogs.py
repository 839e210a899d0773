"""Which files outside of `catalogs/` make up a catalog: opm reads a folder with its subfolders (R-CAT-120)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from scenarios import write

import olmc
from olmc.cli.main import main

PACKAGE = "schema: olm.package\nname: {0}\ndefaultChannel: stable\n"
CHANNEL = "schema: olm.channel\npackage: {0}\nname: stable\nentries: [{{name: {0}.v1.0.0}}]\n"
BUNDLE = (
    "schema: olm.bundle\npackage: {0}\nname: {0}.v1.0.0\nimage: quay.example/{0}@sha256:{1:064}\n"
    "properties: [{{type: olm.package, value: {{packageName: {0}, version: 1.0.0}}}}]\n"
)
SEMVER = (
    "schema: olm.semver\ngenerateMajorChannels: true\n"
    "stable: {{bundles: [{{image: quay.example/{0}@sha256:{1:064}}}]}}\n"
)
BASIC = (
    "schema: olm.template.basic\nentries:\n- {{schema: olm.package, name: {0}, defaultChannel: stable}}\n"
    "- {{schema: olm.bundle, image: quay.example/{0}@sha256:{1:064}}}\n"
)


def text_of(*shapes: str, package: str = "kettle") -> str:
    return "---\n".join(shape.format(package, 1) for shape in shapes)


def whole(package: str = "kettle") -> str:
    return text_of(PACKAGE, CHANNEL, BUNDLE, package=package)


def in_parts(folder: str, package: str = "kettle") -> dict[str, str]:
    shapes = {"package.yaml": PACKAGE, "channels/stable.yaml": CHANNEL, "bundles/v1.yaml": BUNDLE}
    return {f"{folder}{path}": text_of(shape, package=package) for path, shape in shapes.items()}


def found(root: Path, files: Mapping[str, str]) -> tuple[dict[str, Iterable[str]], list[str]]:
    """By the name of each catalog its packages, and the codes of what is reported."""
    write(root, files)
    made = olmc.compile(root)
    assert made.workspace is not None
    return {name: tuple(catalog.packages) for name, catalog in made.workspace.catalogs.items()}, [
        diagnostic.code for diagnostic in made.diagnostics
    ]


@pytest.mark.parametrize(
    ("files", "catalogs"),
    [
        (in_parts("c-4-14/") | in_parts("c-4-15/"), {"c-4-14": ["kettle"], "c-4-15": ["kettle"]}),
        (in_parts(""), {"package": ["kettle"]}),
        ({"v1/catalog/kettle/catalog.yaml": whole(), "v2/catalog/kettle/catalog.json": whole()},
         {"v1-catalog-kettle": ["kettle"], "v2-catalog-kettle": ["kettle"]}),
        ({"a/acme/kettle.yaml": whole(), "b/acme/pan.yaml": whole("pan")}, {"acme": ["kettle", "pan"]}),
        (in_parts("catalog/kettle/") | {"catalog/pan/all.yaml": whole("pan")}, {"kettle": ["kettle"], "pan": ["pan"]}),
        (in_parts("catalog/") | {"catalog/pan/all.yaml": whole("pan")}, {"catalog": ["kettle", "pan"]}),
        ({"one.yaml": whole(), "two.yaml": whole()}, {"one": ["kettle"], "two": ["kettle"]}),
        (in_parts("acme/") | {"acme/.indexignore": "drafts/\n", "acme/drafts/x.yaml": whole()}, {"acme": ["kettle"]}),
    ],
)  # fmt: skip
def test_a_catalog_is_read_with_its_subfolders(
    files: Mapping[str, str], catalogs: Mapping[str, list[str]], tmp_path: Path
) -> None:
    named, codes = found(tmp_path, files)
    assert ({name: sorted(packages) for name, packages in named.items()}, codes) == (catalogs, [])


def test_what_no_folder_completes_is_reported_where_it_stands(tmp_path: Path) -> None:
    """Both folders define the package, so neither the one above nor the other one completes them."""
    broken = {"b/package.yaml": text_of(PACKAGE), "b/c/channel.yaml": text_of(CHANNEL, package="pan")}
    named, codes = found(tmp_path, in_parts("a/") | broken)
    assert sorted(named) == ["a", "b", "c"]
    assert sorted(codes) == ["OLMC209", "OLMC235"]


GO = SEMVER.replace("schema:", "Schema:").replace("stable:", "Stable:").replace("image:", "Image:")


@pytest.mark.parametrize("template", [SEMVER, BASIC, GO])
@pytest.mark.parametrize("output", ["catalog/kettle/catalog.yaml", "catalogs/acme/catalog.yaml"])
def test_a_template_with_its_output_is_no_catalog(template: str, output: str, tmp_path: Path) -> None:
    """Its bundles are in images, and the catalog that opm made of them is here."""
    named, codes = found(tmp_path, {"templates/kettle.yaml": text_of(template), output: whole()})
    assert (list(named.values()), codes) == ([("kettle",)], [])


def test_a_template_among_channels_with_its_output_is_no_catalog(tmp_path: Path) -> None:
    named, codes = found(tmp_path, {"graph.yaml": text_of(CHANNEL, SEMVER), "catalog/kettle/catalog.yaml": whole()})
    assert (list(named.values()), codes) == ([("kettle",)], [])


@pytest.mark.parametrize(
    ("text", "severity"),
    [('{"schema": "olm.note", "a": 1, "a": 2}\n', "info"), ("schema: olm.note\na: 1\na: 2\n", "warning")],
)
def test_a_key_that_stands_twice(text: str, severity: str, tmp_path: Path) -> None:
    """opm copies what is in a bundle, so only the author of the bundle can correct it in JSON."""
    write(tmp_path, {"acme/all.yaml": whole(), "acme/note.yaml": text})
    made = olmc.compile(tmp_path)
    assert [(each.code, str(each.severity)) for each in made.diagnostics] == [("OLMC102", severity)]


@pytest.mark.parametrize("template", [SEMVER, BASIC])
def test_a_template_without_its_output_is_a_catalog(template: str, tmp_path: Path) -> None:
    """Its bundles are at hand or reported."""
    named, codes = found(tmp_path, {"templates/kettle.yaml": text_of(template), "acme/pan.yaml": whole("pan")})
    assert sorted(named) == ["acme", "templates"]
    assert codes == ["OLMC246"]
    assert not olmc.compile(tmp_path).findings  # pipelines have the bundles


@pytest.mark.parametrize("command", [["diff", "old", "new"], ["plan", "new", "--from", "old"]])
def test_a_change_of_a_catalog_alone_is_reported(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository of catalogs has no objects, and what a new version of it changes is compared."""
    write(tmp_path / "old", in_parts("catalog-4-14/"))
    newer = text_of(CHANNEL).replace("[{name: ", "[{replaces: kettle.v1.0.0, name: kettle.v1.1.0}, {name: ")
    bundle = text_of(BUNDLE).replace("1.0.0", "1.1.0")
    files = {"catalog-4-14/channels/stable.yaml": newer, "catalog-4-14/bundles/v2.yaml": bundle}
    write(tmp_path / "new", in_parts("catalog-4-14/") | files)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*command, "-o", "json"])
    assert "its head: kettle.v1.0.0 → kettle.v1.1.0" in done.stdout
    assert (done.exit_code, done.stderr) == (0, "")
