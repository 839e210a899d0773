"""What `olmc check` says of bundles that are about to be published, and of what it says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from building import bundle_files, described

import olmc
from olmc.k8s.objects import is_floating, registry_of
from olmc.review.check.check import CheckInput, check_directory
from olmc.review.check.lints.publishing import releases_of
from olmc.review.check.validators.findings import ValidatorSettings


def told(root: Path, *operators: dict[str, Any]) -> list[str]:
    """The codes from OLMC430 on for a folder of bundles; `label` is its com.redhat.openshift.versions."""
    for operator in operators:
        for name, text in bundle_files(described(operator)).items():
            target = root / name.removeprefix("bundles/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("annotations.yaml"):
                data = json.loads(text)
                data["annotations"] |= (
                    {"com.redhat.openshift.versions": operator["label"]} if "label" in operator else {}
                )
                text = json.dumps(data)
            target.write_text(text, encoding="utf-8")
    made = olmc.compile(root)
    done = check_directory(root, CheckInput(made.workspace, made.settled, made.diagnostics), ValidatorSettings())
    return [each.code for each in done.diagnostics if each.code.startswith("OLMC43")]


def kettle(version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    """An operator whose image has the tag of a release."""
    return {"name": f"kettle.v{version}", **more}


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("v4.12", "4.12", "4.20"),
        ("4.12", "4.12", "4.20"),
        ("=v4.12", "4.12", "4.12"),
        ("v4.12-v4.14", "4.12", "4.14"),
        ("v4.5,v4.6", "4.5", "4.20"),
    ],
)
def test_releases_of_a_label(label: str, first: str, last: str) -> None:
    releases = releases_of(label)
    assert (releases[0], releases[-1]) == (first, last)


def test_no_label_is_for_all_and_a_wrong_one_for_none() -> None:
    assert len(releases_of("")) > 10
    assert releases_of("five") == releases_of("v3.11") == ()


@pytest.mark.parametrize(
    ("label", "least", "expected"),
    [
        ("v4.8", "1.25.0", ["OLMC430"]),
        ("v4.12", "1.25.0", []),
        ("v4.12", "1.25.7", []),
        ("=v4.11", "1.25.0", ["OLMC430"]),
        ("v4.11", "", []),
        ("nonsense", "1.25.0", []),
    ],
)
def test_releases_that_are_too_old(label: str, least: str, expected: list[str], tmp_path: Path) -> None:
    csv = {"spec": {"minKubeVersion": least}} if least else {}
    assert told(tmp_path, kettle(label=label, csv=csv)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("v4.14", "v4.12", ["OLMC431"]),
        ("v4.12", "v4.14", []),
        ("v4.12", "v4.12", []),
        ("v4.12-v4.13", "v4.12", ["OLMC431"]),
    ],
)
def test_what_is_replaced_must_be_there(old: str, new: str, expected: list[str], tmp_path: Path) -> None:
    """Although only the newest version is looked at, the older ones are there to be asked."""
    csv = {"spec": {"replaces": "kettle.v1.0.0"}}
    assert told(tmp_path, kettle(label=old), kettle("1.1.0", label=new, csv=csv)) == expected


def test_a_csv_is_called_after_its_package(tmp_path: Path) -> None:
    assert told(tmp_path / "a", kettle(package="kettle")) == []
    assert told(tmp_path / "b", kettle(package="kettle-community")) == ["OLMC432"]


@pytest.mark.parametrize(
    ("spec", "versions", "expected"),
    [
        ({}, ["1.0.0", "1.1.0"], ["OLMC433"]),
        ({"replaces": "kettle.v1.0.0"}, ["1.0.0", "1.1.0"], []),
        ({}, ["1.1.0"], []),
    ],
)
def test_a_skip_range_alone_prunes(
    spec: dict[str, Any], versions: list[str], expected: list[str], tmp_path: Path
) -> None:
    newest = {"csv": {"spec": spec, "metadata": {"annotations": {"olm.skipRange": "<1.1.0"}}}}
    assert told(tmp_path, *(kettle(each, **(newest if each == "1.1.0" else {})) for each in versions)) == expected


def crd(stored: dict[str, Any], conversion: str = "None") -> dict[str, Any]:
    """A CRD that serves v1alpha1, which has spec.whistle, and stores v1."""

    def version(name: str, properties: dict[str, Any]) -> dict[str, Any]:
        spec = {"type": "object", "properties": properties}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema}

    names = {"kind": "Cup", "plural": "cups", "singular": "cup", "listKind": "CupList"}
    versions = [version("v1alpha1", {"whistle": {"type": "boolean"}}), version("v1", stored)]
    spec = {"group": "cup.example.com", "names": names, "scope": "Namespaced", "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "cups.cup.example.com"},
        "spec": {**spec, "conversion": {"strategy": conversion}},
    }


@pytest.mark.parametrize(
    ("obj", "expected"), [(crd({}), ["OLMC434"]), (crd({"whistle": {"type": "boolean"}}), []), (crd({}, "Webhook"), [])]
)
def test_served_versions_lose_nothing(obj: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    assert told(tmp_path, kettle(files={"cup.yaml": obj})) == expected


@pytest.mark.parametrize(
    ("image", "floating"),
    [
        ("registry.example.com/kettle:latest", True),
        ("registry.example.com:5000/kettle", True),
        ("kettle:v1", False),
        ("registry.example.com/kettle@sha256:0123", False),
        ("registry.example.com/kettle:latest@sha256:0123", False),
        ("", False),
    ],
)
def test_images_that_change(image: str, floating: bool) -> None:
    assert is_floating(image) is floating


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("registry.example.com/team/kettle:v1", "registry.example.com"),
        ("localhost:5000/kettle", "localhost:5000"),
        ("team/kettle:v1", "docker.io"),
        ("kettle", "docker.io"),
    ],
)
def test_registries(image: str, registry: str) -> None:
    assert registry_of(image) == registry


def test_who_only_installs_gets_remarks(tmp_path: Path) -> None:
    """But a Secret for a token concerns everybody."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "t"},
    }
    told(tmp_path, kettle(package="other", files={"t.yaml": secret}), {"name": "cup.v1.0.0"})
    made = olmc.compile(tmp_path)
    done = check_directory(tmp_path, CheckInput(made.workspace, made.settled, made.diagnostics), ValidatorSettings())
    severities = {each.code: str(each.severity) for each in done.diagnostics}
    assert (severities["OLMC432"], severities["OLMC436"]) == ("info", "warning")
