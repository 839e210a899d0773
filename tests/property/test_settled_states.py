"""Nothing happens to a cluster that has it already, and ways round leave no trace where OLM keeps none."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from tiers import sampled
from transition_cases import IN_TURN, compiled, state_left

import olmc
from olmc.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
# What a state does not hold: objects of the proposed APIs that olmc makes up are not read back as they were.
PROPOSED = {"descoped", "install-v2alpha1"}
NO_CLUSTERS = {"bare-bundle", "fleet", "olmv1", "repos", "several-workspaces", "transitions", "review-upgrade"}
# One goes on to the next version with each resolution, and of one OLM v0 writes a Service of two descriptions in turn.
UNSETTLED = {"upgrade", "migration"}
APPROVED = {"approval-changed", "manual-waiting"}
CLUSTERS = sorted(
    [path for path in FIXTURES.iterdir() if path.is_dir() and path.name not in PROPOSED | NO_CLUSTERS]
    + [path.parent for path in FIXTURES.glob("olmv1/*/catalogs") if path.parent.name not in UNSETTLED]
    + [path for path in FIXTURES.glob("transitions/*/before") if path.parent.name not in APPROVED]
    + [FIXTURES / "review-upgrade" / "before", FIXTURES / "review-upgrade" / "after"]
)
SAMPLE = 12
"""How many of the recorded clusters are tried, always the same ones."""


def nothing_happens(path: Path) -> None:
    """The plan of a workspace from itself is empty, and a rendering of it read back gives the same bytes."""
    plan = CliRunner().invoke(main, ["plan", str(path), "--from", str(path)])
    assert plan.stdout.splitlines()[0].partition(";")[0] == f"{path} → {path}: nothing happens", plan.output
    assert plan.exit_code == 0
    rendered = CliRunner().invoke(main, ["render", str(path), "-o", "yaml"])
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "state.yaml")
        state.write_text(rendered.stdout, encoding="utf-8")
        again = CliRunner().invoke(main, ["render", str(path), "--from", str(state), "-o", "yaml"])
    assert again.stdout == rendered.stdout
    assert again.exit_code == rendered.exit_code


@pytest.mark.parametrize("path", sampled(CLUSTERS, 8), ids=lambda path: str(path.relative_to(FIXTURES)))
def test_nothing_happens_to_a_fixture(path: Path) -> None:
    nothing_happens(path)


def test_nothing_happens_to_recorded_clusters(shared: Path) -> None:
    inputs = sorted((shared / "conformance" / "cases" / "synthetic").glob("*/input"))
    # Manifests of what OLM writes itself are applied again and again, and OLM takes that back again and again.
    inputs = [p for p in inputs if not (p / "installed.yaml").exists() and p.parent.name not in IN_TURN]
    # One has a plan that is tried again and again.
    retried = [path for path in inputs if path.parent.name == "17-og-serviceaccount-missing"]
    for path in [*random.Random(19).sample(inputs, SAMPLE), *retried]:
        nothing_happens(path)


KINDS = ("Cup", "Kettle")


@st.composite
def operators(draw: st.DrawFn, version: str, replaces: str = "") -> dict[str, Any]:
    """A version of an operator with all kinds of content."""
    described: dict[str, Any] = {"name": f"pot.v{version}"}
    if replaces:
        described["replaces"] = f"pot.v{replaces}"
    if owned := draw(st.lists(st.sampled_from(KINDS), unique=True)):
        described["owned"] = owned
    if draw(st.booleans()):
        described["permissions"] = {"pot": draw(st.sampled_from((["get pods"], ["get,list pods", "get secrets"])))}
    if draw(st.booleans()):
        described["clusterPermissions"] = {"pot": ["get nodes"]}
    if draw(st.booleans()):
        described["webhooks"] = [{}]
    return described


GROUPS = st.sampled_from(["all", "own", ["shop"], ["ns", "shop"]])
BASE: Mapping[str, Any] = {"namespaces": {"ns": {}, "shop": {}, "bar": {}}}


@st.composite
def workspaces(draw: st.DrawFn) -> dict[str, Any]:
    """A workspace with one group and one operator in one or two versions."""
    versions = [draw(operators("1.0.0"))]
    if draw(st.booleans()):
        versions.append(draw(operators("2.0.0", "1.0.0")))
    return {**BASE, "groups": {"ns/og": draw(GROUPS)}, "operators": versions}


FEW = examples(15)


def objects_of(done: olmc.Compilation) -> dict[str, Any]:
    return {str(rendered.identity): rendered.object for rendered in done.objects}


@FEW
@given(workspaces())
def test_nothing_happens_to_a_generated_cluster(described: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = compiled(Path(folder, "a"), described, None)
        again = compiled(Path(folder, "b"), described, state_left(first))
    assert objects_of(again) == objects_of(first)
    assert again.phases == first.phases


def with_map(described: dict[str, Any], names: list[str]) -> dict[str, Any]:
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n, "namespace": "shop"}} for n in names]
    return {**described, "manifests": maps}


@FEW
@given(workspaces(), st.lists(st.sampled_from("abcd"), unique=True), st.lists(st.sampled_from("abcd"), unique=True))
def test_a_way_round_leads_to_the_same_where_nothing_is_installed(
    described: dict[str, Any], between: list[str], last: list[str]
) -> None:
    """A→B→C is A→C: what is applied and pruned on the way leaves no trace."""
    with tempfile.TemporaryDirectory() as folder:
        start = state_left(compiled(Path(folder, "a"), described, None))
        state = state_left(compiled(Path(folder, "b"), with_map(described, between), start))
        round_about = compiled(Path(folder, "c"), with_map(described, last), state)
        direct = compiled(Path(folder, "d"), with_map(described, last), start)
    assert objects_of(round_about) == objects_of(direct)


@pytest.mark.slow
@FEW
@given(workspaces(), workspaces(), st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(
    before: dict[str, Any], after: dict[str, Any], chance: random.Random
) -> None:
    """Neither in what a state holds, nor in what is applied to it."""
    with tempfile.TemporaryDirectory() as folder:
        state = state_left(compiled(Path(folder, "a"), before, None))
        keys = list(state.objects)
        chance.shuffle(keys)
        shuffled = state._replace(
            objects={key: state.objects[key] for key in keys}, applied=dict(reversed(list(state.applied.items())))
        )
        first = compiled(Path(folder, "b"), after, state)
        other = {**after, "namespaces": dict(reversed(after["namespaces"].items()))}
        second = compiled(Path(folder, "c"), other, shuffled)
    assert objects_of(second) == objects_of(first)
