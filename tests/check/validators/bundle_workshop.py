"""What the tests of validation share: the good bundle, patched, and what the validators say about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from patching import patched, values_of

from olmc.compiler.api import load
from olmc.compiler.resolver.predicates import CelError, compile_rule
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.yaml import dump_one
from olmc.review.check.validators.bundles import validate
from olmc.review.check.validators.findings import Categories, Platform, ValidatorSettings

HERE = Path(__file__).parent
GOOD = HERE / "data" / "good"
CSV = "manifests/kettle.clusterserviceversion.yaml"
CRD = "manifests/kettles.crd.yaml"

KEYS = {"name", "rule", "why", "files", "optional", "values", "expect"}
VALUES = {"kubernetes", "dockerfile", "container_tool", "categories", "platforms"}
PLATFORMS = dict.fromkeys(
    (
        "registry.example.com/kettle:v1.2.0",
        "registry.example.com/proxy:v1",
        "registry.example.com/lid@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    ("linux/amd64", "linux/arm64"),
)
"""The platforms of the good bundle's images."""


def value_of(path: Path) -> Any:
    """The value of the first document of a YAML file."""
    return values_of(path)[0]


def cases() -> list[Any]:
    """The cases of all files, as parameters; unknown keys and repeated names are errors."""
    found: dict[str, Any] = {}
    for path in sorted((HERE / "cases").glob("*.yaml")):
        for case in values_of(path):
            unknown = {*(case.keys() - KEYS), *(case.get("values", {}).keys() - VALUES)}
            if unknown or case["name"] in found:
                raise ValueError(f"{path.name}: {case['name']} is there twice, or has unknown keys {unknown}")
            found[case["name"]] = case
    return [pytest.param(case, id=f"{case['rule']}-{name}".replace(" ", "-")) for name, case in found.items()]


def patched_bundle(root: Path, files: Mapping[str, Any]) -> Path:
    """A copy of the good bundle below `root` with `files` changed.

    A text is the file's new text, a mapping a merge patch of its value, null removes the file or folder.
    """
    shutil.copytree(GOOD, root, dirs_exist_ok=True)
    for name, change in files.items():
        path = root / name
        if change is None:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        text = change
        if not isinstance(change, str):
            text = dump_one(patched(value_of(path) if path.exists() else {}, change))
        path.write_text(text, encoding="utf-8")
    return root


def settings_of(optional: Iterable[str] = (), values: Mapping[str, Any] | None = None) -> ValidatorSettings:
    """Settings of a case; where it does not say otherwise, the platforms of the images are known."""
    given = dict(values or {})
    platforms = given.pop("platforms", PLATFORMS)
    if "categories" in given:
        given["categories"] = Categories(frozenset(given["categories"]))
    return ValidatorSettings(
        frozenset(optional),
        platforms={image: tuple(Platform(*each.split("/")) for each in listed) for image, listed in platforms.items()},
        cel_problem=cel_problem,
        **given,
    )


def cel_problem(rule: str) -> str:
    """The first line of what is wrong with a CEL rule, which is enough to compare."""
    try:
        compile_rule(rule)
    except CelError as error:
        return str(error).splitlines()[0]
    return ""


def findings(root: Path, settings: ValidatorSettings) -> list[Diagnostic]:
    """What the validators say about the workspace at `root`."""
    report = Report()
    validate(root, load(root, Report()), settings, report)
    return list(report)


def place(root: Path, finding: Diagnostic) -> str:
    """What stands at the place of a finding: the rest of the line, or the path of a whole file or folder."""
    location = finding.location
    assert location is not None
    if not location.line:
        return location.path
    line = (root / location.path).read_text(encoding="utf-8").split("\n")[location.line - 1]
    return line[location.column - 1 :]
