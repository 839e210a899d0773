"""Clusters that differ in nothing but the values in ConfigMaps: compiled once, unless something reads those values."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from fleets import Fleet, compiled, git

from olmc.integrations.fleet.trees import patch_files, without_values

NAMES = ("aalborg", "hull", "kiel")

CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{name: {value}}}\n"
)


def config_map(value: str, name: str = "cluster") -> str:
    return CONFIG_MAP.format(name=name, value=value)


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        (config_map("dover"), True),
        (config_map("dover") + "---\n" + config_map("kent", "county"), True),
        (config_map("dover").replace("v1", "v2"), False),
        (config_map("dover").replace("ConfigMap", "Secret"), False),
        (config_map("dover") + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: dover}\n", False),
        (config_map("dover") + "immutable: true\n", False),
        (config_map("5"), False),  # no text: the API server refuses it
        (config_map("[dover]"), False),
        (config_map("dover, name: faro"), False),  # a key twice is reported
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cluster}\n", False),
        ("", False),
        ("\x00", False),
        (config_map("x" * 70_000), False),
    ],
)
def test_only_plain_config_maps_have_values_to_leave_out(text: str, is_left: bool) -> None:
    left = without_values(text.encode())
    assert (left is not None) == is_left
    assert left is None or b"dover" not in left


def test_all_but_the_values_is_left() -> None:
    """Names of keys, of the object and its labels count, and how many objects there are."""
    texts = [
        config_map("dover"), config_map("dover", "town"), config_map("dover").replace("name: dover", "town: dover"),
        config_map("dover").replace("default}", "default, labels: {a: b}}"),
        config_map("dover") + "---\n" + config_map("x", "y"),
    ]  # fmt: skip
    assert len({without_values(text.encode()) for text in texts}) == len(texts)
    assert without_values(config_map("dover").encode()) == without_values(config_map("faro").encode())


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("resources: [a.yaml]\nnamespace: ns\n", frozenset()),
        ("patches: [{target: {kind: Subscription}, patch: '[]'}]\n", frozenset()),
        ("patches: [{target: {kind: Subscription}, path: parts/p.yaml}]\n", frozenset({"p.yaml"})),
        ("patches: [{target: {kind: ConfigMap}, patch: '[]'}]\n", None),
        ("patches: [{target: {kind: '.*'}, patch: '[]'}]\n", None),
        ("patches: [{patch: '[]'}]\n", None),
        ("patches: [1]\n", None),
        ("replacements: []\n", None),
        ("vars: []\n", None),
        ("configMapGenerator: []\n", None),
        ("generators: [g.yaml]\n", None),
        ("{]", None),
        ("[]", None),
        ("a: &a [*a]", None),
    ],
)
def test_a_kustomization_may_put_values_elsewhere(text: str, files: frozenset[str] | None) -> None:
    assert patch_files(text.encode()) == files


def named(fleet: Fleet, more: str = "") -> None:
    """Have three clusters that are alike say what they are called, before the change as after it."""
    for name in NAMES:
        (fleet.cluster(name) / "name.yaml").write_text(config_map(name) + more)
        git(fleet.root, "add", f"clusters/{name}/name.yaml")
    git(fleet.root, "commit", "-qm", "names")


def planned(fleet: Fleet, *names: str, command: str = "plan") -> tuple[int, dict[str, Any]]:
    """How many tasks a plan has compiled, and the outcome of each cluster."""
    before = ("--from", "git:HEAD") if command == "plan" else ()
    run = fleet.run(command, *(f"clusters/{name}" for name in names), *before, "-o", "json")
    outcomes = json.loads(run.out)["outcomes"]
    return compiled(run), {name: one for one in outcomes for name in one.pop("clusters")}


@pytest.mark.process
def test_clusters_that_differ_in_values_only_are_compiled_once(fleet: Fleet) -> None:
    """Each has what it has alone, and what was shared comes from the cache as well."""
    named(fleet)
    count, together = planned(fleet, *NAMES)
    assert count == 1
    assert planned(fleet, *NAMES) == (0, together)
    shutil.rmtree(fleet.cache)
    for name in NAMES:
        count, alone = planned(fleet, name)
        assert count == 1
        assert {**alone[f"clusters/{name}"], "count": 3} == together[f"clusters/{name}"]


@pytest.mark.process
def test_values_that_change_are_compared(fleet: Fleet) -> None:
    named(fleet)
    for name in NAMES:
        (fleet.cluster(name) / "name.yaml").write_text(config_map(f"{name}2"))
    count, outcomes = planned(fleet, *NAMES)
    assert (count, len(outcomes)) == (3, 3)


@pytest.mark.process
def test_a_catalog_in_a_config_map_is_read(fleet: Fleet) -> None:
    """R-CAT-150: what the values say decides what is installed."""
    spec = "spec: {sourceType: configmap, configMap: cluster}\n"
    metadata = "metadata: {name: own, namespace: default}\n"
    named(fleet, f"---\napiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\n{metadata}{spec}")
    assert planned(fleet, *NAMES)[0] == 3  # a file with anything else is no file of ConfigMaps
    for name in NAMES:
        text = (fleet.cluster(name) / "name.yaml").read_text()
        (fleet.cluster(name) / "name.yaml").write_text(text.partition("---\n")[0])
        (fleet.cluster(name) / "own.yaml").write_text(text.partition("---\n")[2])
    fleet.commit()
    (fleet.root / "operators" / "bundles" / "README.md").write_text("changed\n")
    assert planned(fleet, *NAMES)[0] == 3


@pytest.mark.process
def test_a_bundle_with_a_config_map_of_that_name_writes_it(fleet: Fleet) -> None:
    """R-CAT-712: the step of an InstallPlan is refused, or changes the values that are there."""
    named(fleet)
    for bundle in (fleet.root / "operators" / "bundles").iterdir():
        (bundle / "manifests" / "cluster.configmap.yaml").write_text(config_map("beacon"))
    assert planned(fleet, *NAMES)[0] == 3


@pytest.mark.process
@pytest.mark.parametrize(("command", "count"), [("status", 1), ("check", 3)])
def test_whatever_shows_values_compiles_each(fleet: Fleet, command: str, count: int) -> None:
    named(fleet)
    assert planned(fleet, *NAMES, command=command)[0] == count


@pytest.mark.process
def test_what_can_not_be_done_says_nothing_about_others(fleet: Fleet) -> None:
    """The like of a cluster that can't be compiled is compiled by itself: an end of time is nobody else's."""
    named(fleet)
    for name in NAMES:
        operators = fleet.cluster(name) / "operators.yaml"
        operators.write_text("<<<<<<< HEAD\n" + operators.read_text())
    assert planned(fleet, *NAMES)[0] == 3
