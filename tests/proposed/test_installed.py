"""Installed resources: each case of `installed_cases.yaml` is a workspace and what its namespaces show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from rule_cases import options, subset, unequal

import olmc
from olmc.targets.proposed.installed.resources import INSTALLED, as_list
from olmc.targets.proposed.installed.view import (
    InstalledView,
    ObjectQuery,
    QueryResult,
    answer,
    items_in,
    list_version,
    view_as_text,
    view_of,
)

CASES = list(yaml.safe_load_all((Path(__file__).parent / "installed_cases.yaml").read_text(encoding="utf-8")))


def view(root: Path, case: Mapping[str, Any]) -> InstalledView:
    """What the workspace of a case shows."""
    write_workspace(root, case)
    chosen = options(case.get("olmc", {}))
    done = olmc.compile(root, chosen)
    assert done.settled is not None, done.diagnostics
    return view_of(done.settled, done.objects, done.workspace, chosen, operators=done.operators)


def asked(shown: InstalledView, namespace: str | None) -> QueryResult:
    return answer(shown, ObjectQuery(INSTALLED, namespace))


def differences(expected: Mapping[str, Any], shown: InstalledView) -> Iterator[str]:
    """Where a view is not what a case expects."""
    columns = [column.name for column in INSTALLED.columns]
    for namespace, names in expected.get("names", {}).items():
        yield from unequal(namespace, names, [each.name for each in asked(shown, namespace).items])
    for namespace, rows in expected.get("cells", {}).items():
        there = {each.name: dict(zip(columns, each.cells, strict=True)) for each in asked(shown, namespace).items}
        yield from subset(rows, there, (namespace,))
    for path, wanted in expected.get("objects", {}).items():
        namespace, name = path.split("/")
        there = {each.name: each.object for each in asked(shown, namespace).items}
        yield from subset(wanted, there[name], (path,))
    for namespace, texts in expected.get("says", {}).items():
        yield from unequal(namespace, texts, [each.message for each in asked(shown, namespace).findings])
    for namespace, table in expected.get("table", {}).items():
        text = view_as_text(ObjectQuery(INSTALLED, namespace), asked(shown, namespace), "", "table")
        yield from unequal(namespace, table, text)
    if "list" in expected:
        objects = [each.object for each in items_in(shown, INSTALLED, None)]
        yield from subset(expected["list"], as_list(INSTALLED, objects, list_version(shown, INSTALLED)), ("list",))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}-{case['name']}")
def test_rule(case: Mapping[str, Any], tmp_path: Path) -> None:
    assert case["expect"] and not case["expect"].keys() - {"names", "cells", "objects", "says", "table", "list"}
    assert not list(differences(case["expect"], view(tmp_path, case))), case["why"]


GROUP = "packages.operators.coreos.com"


@pytest.mark.parametrize("version", [f"{GROUP}/v2alpha1", f"v1alpha2/{GROUP}"])
def test_installed_can_not_be_given_r_inst_8(version: str, tmp_path: Path) -> None:
    """Whatever group version the manifest has, the document's own slip included."""
    manifest = f"kind: Installed\napiVersion: {version}\nmetadata: {{name: kettle.v1.0.0, namespace: mojave}}\n"
    (tmp_path / "installed.yaml").write_text(manifest, encoding="utf-8")
    done = olmc.compile(tmp_path)
    assert done.failed
    text = "Installed resources are read-only: the server does not allow this method on the requested resource"
    assert [(each.code, each.message, str(each.location)) for each in done.diagnostics] == [
        ("OLMC650", text, "installed.yaml:1:1")
    ]


def test_lists_of_installed_can_not_be_given_r_inst_8(tmp_path: Path) -> None:
    item = {"apiVersion": INSTALLED.api_version, "kind": "Installed", "metadata": {"name": "a", "namespace": "b"}}
    (tmp_path / "list.yaml").write_text(yaml.safe_dump(as_list(INSTALLED, [item, item], "")), encoding="utf-8")
    assert [each.code for each in olmc.compile(tmp_path).diagnostics] == ["OLMC650", "OLMC650"]


def test_all_namespaces_show_what_each_shows_r_inst_2(tmp_path: Path) -> None:
    """The list of all namespaces is that of each, one after the other."""
    operators = ["kettle.v1.0.0", "stove.v1.0.0"]
    case = {"namespaces": {"a": {}, "b": {}}, "groups": {"ns/og": "all"}, "operators": operators}
    shown = view(tmp_path, case)
    everywhere = items_in(shown, INSTALLED, None)
    names = shown.installations.namespaces
    assert list(everywhere) == [each for name in names for each in items_in(shown, INSTALLED, name)]
    assert len(everywhere) == 2 * len(names) >= 6


def test_the_verbs_are_those_of_reading_r_inst_8() -> None:
    assert INSTALLED.verbs == ("get", "list", "watch")
