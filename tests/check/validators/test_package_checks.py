"""The validator of package files (R-CAT-235)."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundle_workshop import findings, place, settings_of

CSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: tea.v1}\n"
GOOD = "packageName: tea\nchannels:\n- {name: stable, currentCSV: tea.v1}\ndefaultChannel: stable\n"


def told(root: Path, files: dict[str, str]) -> list[tuple[str, str, str]]:
    """What is said of a folder of package manifests: code, text and what stands at the place."""
    for name, text in {"1.0/tea.csv.yaml": CSV, **files}.items():
        path = root / "catalogs" / "tea" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [(each.code, each.message, place(root, each)) for each in findings(root, settings_of())]


def test_a_good_package(tmp_path: Path) -> None:
    assert told(tmp_path, {"tea.package.yaml": GOOD}) == []
    assert told(tmp_path, {"tea.package.yaml": GOOD.replace("defaultChannel: stable\n", "")}) == []


@pytest.mark.parametrize(
    ("package", "detail", "at"),
    [
        ("channels: [{name: a, currentCSV: b}]", "() packageName empty", "channels: [{name: a, currentCSV: b}]"),
        ("packageName: tea", "(tea) channels empty", "packageName: tea"),
        ("packageName: tea\nchannels: []\ndefaultChannel: x", "(tea) channels empty", "[]"),
        (
            "packageName: tea\nchannels: [{name: a, currentCSV: b}, {name: c, currentCSV: b}]",
            "(tea) default channel is empty but more than one channel exists",
            "packageName: tea",
        ),
        ("packageName: tea\nchannels: [{currentCSV: b}]", "(tea) channel 0 name is empty", "{currentCSV: b}]"),
        ("packageName: tea\nchannels: [{name: a}]", '(tea) channel "a" currentCSV is empty', "{name: a}]"),
        (
            "packageName: tea\nchannels: [{name: a, currentCSV: b}, {name: a, currentCSV: c}]\ndefaultChannel: a",
            '(tea) duplicate package manifest channel name "a"',
            "a, currentCSV: c}]",
        ),
        (
            "packageName: tea\nchannels: [{name: a, currentCSV: b}]\ndefaultChannel: z",
            '(tea) default channel "z" not found in the list of declared channels',
            "z",
        ),
    ],
)
def test_what_a_package_lacks(package: str, detail: str, at: str, tmp_path: Path) -> None:
    """Each of them a failure with an empty value and the name of the package."""
    assert told(tmp_path, {"tea.package.yaml": package}) == [("OLMC284", f"Value : {detail}", at)]


def test_two_package_files(tmp_path: Path) -> None:
    """The first is taken, and nothing is said of what the other lacks."""
    found = told(tmp_path, {"a.yaml": GOOD, "b.yaml": "packageName: coffee"})
    text = "multiple package manifest files found in directory"
    assert found == [("OLMC284", text, "packageName: coffee")]


def test_files_that_are_no_package(tmp_path: Path) -> None:
    """A package file of another shape, a file that is no YAML; hidden files are not looked at."""
    found = told(
        tmp_path, {"a.yaml": GOOD, "b.yaml": "packageName: [tea]", "c.yaml": "]", ".d.yaml": "packageName: [tea]"}
    )
    shape = "json: cannot unmarshal array into Go struct field PackageManifest.packageName of type string"
    syntax = "not valid YAML: a closing bracket without an opening one"
    start = "could not decode contents of file catalogs/tea"
    assert found == [
        ("OLMC284", f"{start}/b.yaml into package: {shape}", "[tea]"),
        ("OLMC284", f"{start}/c.yaml into package: {syntax}", "]"),
    ]


def test_a_file_based_catalog_is_none_of_its_business(tmp_path: Path) -> None:
    blobs = "schema: olm.package\nname: tea\n---\nschema: olm.channel\npackage: tea\nname: stable"
    assert told(tmp_path, {"a.yaml": blobs, "b.yaml": "packageName: tea"}) == []
    assert told(tmp_path, {"a.yaml": blobs.replace("schema", "Schema")}) == []
