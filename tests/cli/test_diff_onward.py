"""`olmc diff` of two workspaces: what comes of the cluster that the old one leaves (docs/diff.md)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import olmc
from tiers import sampled

TRANSITIONS = Path("transitions")
NAMES = sorted(path.parent.name for path in (Path(__file__).parents[2] / "fixtures/transitions").glob("*/before"))
ASSUMING = {"stuck-upgrade", "fail-forward-too-late"}
"""Where a diff takes something as there without which the plan gets stuck."""


def changes(*arguments: str | Path) -> list[dict[str, Any]]:
    data: dict[str, Any] = json.loads(olmc("diff", *arguments, "-o", "json").stdout)
    listed: list[dict[str, Any]] = data["changes"]
    return listed


def kinds(*arguments: str | Path) -> list[str]:
    return [change["kind"] for change in changes(*arguments)]


def sides(name: str) -> tuple[Path, Path]:
    return TRANSITIONS / name / "before", TRANSITIONS / name / "after"


UNKNOWN = {"unpack-repaired"}
"""Where the old side does not have the content that it leads to, and a cluster that is named is as it is."""


@pytest.mark.parametrize("name", sampled(sorted(set(NAMES) - ASSUMING - UNKNOWN), 4))
def test_a_diff_says_what_comes_of_the_plan(name: str) -> None:
    """And besides what is kept back."""
    before, after = sides(name)
    planned = json.loads(olmc("plan", after, "--from", before, "-o", "json").stdout)["difference"]["changes"]
    assert [change for change in changes(before, after) if "keptBack" not in change] == planned


@pytest.mark.parametrize("name", sampled(sorted(set(NAMES) - ASSUMING), 6))
def test_a_cluster_may_be_named_instead_of_the_old_side(name: str) -> None:
    before, after = sides(name)
    planned = json.loads(olmc("plan", after, "--from", before, "-o", "json").stdout)["difference"]["changes"]
    assert [change for change in changes("--from", before, after) if "keptBack" not in change] == planned


@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_nothing_comes_of_what_is_there(name: str) -> None:
    before, _ = sides(name)
    assert changes(before, before) == []


def test_what_the_diff_takes_as_there_does_not_get_stuck() -> None:
    """A review is about what an upgrade brings; that it needs something from elsewhere is a risk that is told."""
    before, after = sides("stuck-upgrade")
    assert kinds(before, after)[:2] == ["ApiAssumed", "OperatorUpgraded"]
    planned = json.loads(olmc("plan", after, "--from", before, "-o", "json").stdout)["difference"]["changes"]
    assert [change["kind"] for change in planned][:1] == ["PhaseChanged"]


def test_what_an_operator_needed_from_elsewhere_is_still_there(tmp_path: Path) -> None:
    """What the old side was installed with is not new, and nothing fails for want of it."""
    after = TRANSITIONS / "stuck-upgrade" / "after"
    shutil.copytree(after, tmp_path / "again")
    assert changes(after, tmp_path / "again") == []


def test_fresh_clusters() -> None:
    """As if nothing had been there before: the operator is gone with its Subscription."""
    before, after = sides("subscription-removed")
    assert "OperatorRemoved" not in kinds(before, after)
    assert "OperatorLeftRunning" in kinds(before, after)
    assert "OperatorRemoved" in kinds(before, after, "--fresh")
    assert "OperatorLeftRunning" not in kinds(before, after, "--fresh")


def test_what_is_stuck_is_told_with_what_it_would_bring() -> None:
    before, after = sides("stored-version-dropped")
    told = changes(before, after)
    now, kept_back = ([c["kind"] for c in told if ("keptBack" in c) is kept] for kept in (False, True))
    assert now[:3] == ["PhaseChanged", "PlanChanged", "ResolutionFails"]
    assert kept_back == ["VersionRemoved", "StoredVersionChanged", "VersionAdded"]
    assert ", 3 of them kept back; " in olmc("diff", before, after).stdout


def test_what_is_not_pruned_and_what_is_deleted_by_hand() -> None:
    before, after = sides("subscription-removed")
    assert changes(before, after, "--no-prune") == []
    csv = "ClusterServiceVersion/harbour/beacon.v1.0.0"
    assert "OperatorRemoved" in kinds(before, after, "--delete", csv)
    idle = "has no effect, it needs two workspaces, or --from\n"
    assert idle in olmc("diff", before, after, "--fresh", "--no-prune").stderr


def test_a_workspace_that_is_gone_is_pruned(tmp_path: Path) -> None:
    """Its namespaces go with it, and what is in them."""
    before, _ = sides("subscription-removed")
    told = kinds(before, tmp_path / "nowhere", "--allow-empty")
    assert {"OperatorRemoved", "SubscriptionRemoved"} <= set(told)
    assert "CrdRemoved" not in told
    assert "CrdRemoved" in kinds(before, tmp_path / "nowhere", "--allow-empty", "--fresh")


@pytest.mark.parametrize("arguments", [("--for", "apply"), ("--descoped",), ("--enable-v2alpha1",)], ids=" ".join)
def test_what_has_no_cluster_to_go_on_in_is_compared_fresh(arguments: tuple[str, ...]) -> None:
    before, after = sides("subscription-removed")
    assert changes(before, after, *arguments) == changes(before, after, *arguments, "--fresh")


def test_other_sorts_of_sides_are_compared_as_they_are(tmp_path: Path) -> None:
    before, after = sides("subscription-removed")
    for number, side in enumerate((before, after)):
        (tmp_path / f"{number}.yaml").write_text(olmc("render", side).stdout, encoding="utf-8")
    for pair in (
        (before, tmp_path / "1.yaml"),
        (tmp_path / "0.yaml", after),
        (tmp_path / "0.yaml", tmp_path / "1.yaml"),
    ):
        assert changes(*pair) == changes(*pair, "--fresh")
        assert "OperatorRemoved" in kinds(*pair)


def test_another_olm_is_another_cluster(tmp_path: Path) -> None:
    """What another version of OLM makes of what one has left nobody has recorded."""
    before, after = sides("subscription-removed")
    shutil.copytree(after, tmp_path / "after")
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {olmVersion: '0.25'}\n"
    (tmp_path / "after/olmc.yaml").write_text(config, encoding="utf-8")
    assert changes(before, tmp_path / "after") == changes(before, tmp_path / "after", "--fresh")


@pytest.mark.parametrize(
    "arguments",
    [("a", "b"), ("--fresh",), ("--entry", "a"), ("--olm-version", "0.25..0.46"), ("--for", "apply")],
    ids=" ".join,
)
def test_a_cluster_goes_with_a_new_side_alone(arguments: tuple[str, ...]) -> None:
    result = olmc("diff", "--from", TRANSITIONS / "uninstalled/before", *arguments)
    assert result.exit_code == 2
    assert "--from says what OLD is" in result.stderr


def test_a_diff_needs_a_side() -> None:
    assert olmc("diff").exit_code == 2


def test_a_new_side_with_nothing_in_it_is_named(tmp_path: Path) -> None:
    """All that was applied goes, and a note names the folder: it may be the wrong one."""
    (tmp_path / "nothing").mkdir()
    before, _ = sides("subscription-removed")
    result = olmc("diff", before, tmp_path / "nothing")
    assert (result.exit_code, "[OLMC183]" in result.stderr) == (0, True)
    assert olmc("diff", before, tmp_path / "nothing", "--allow-empty").stdout == result.stdout


def test_what_the_old_side_leads_to_may_be_unknown() -> None:
    """A cluster that nobody has looked into may have it; what one holds that is named is known."""
    before, after = sides("unpack-repaired")
    assert "OperatorUnknown" in kinds(before, after)
    assert "OperatorUpgraded" in kinds("--from", before, after)
