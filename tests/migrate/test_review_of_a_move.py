"""What `olmc diff` and `olmc plan` say of a migration: one change for each operator that moves, and what it loses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from transition_cases import state_after

from olmc.cli.main import main
from olmc.compiler.model.options import Options
from olmc.compiler.transition.deletion import handovers
from olmc.review.migrate.to_extensions import migrate_to_extensions

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "transitions" / "extension-moved"
BEFORE, AFTER = FIXTURE / "before", FIXTURE / "after"
CLUSTER_ADMIN = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}
subjects: [{kind: ServiceAccount, name: sieve-installer, namespace: mill}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
"""


def said(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.stdout


def review(after: Path, *options: str) -> str:
    return said("diff", str(BEFORE), str(after), *options)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the workspace after the move, to be changed."""
    return shutil.copytree(AFTER, tmp_path / "after")


def test_the_fixture_is_what_the_command_writes() -> None:
    """R-V1-MIG-2: nobody has edited what is compared."""
    written = {change.path: change.after for change in migrate_to_extensions(BEFORE).migration.changes}
    assert {"cluster.yaml", "lighthouse.yaml", "mill.yaml", "olmc.yaml"} == set(written)
    assert written == {path: (AFTER / path).read_text(encoding="utf-8") for path in written}


def test_an_operator_that_moves_is_one_change_and_stands_first() -> None:
    """R-V1-MIG-1: what each generation keeps its books by is none, what is lost is."""
    text = review(AFTER)
    first, rest = text.partition("Settings and objects left out")[::2]
    assert first.count("from OLM v0 in") == 2
    assert "ClusterExtension/lantern: ~ lantern 2.0.0 → 2.0.0, from OLM v0 in lighthouse to OLM v1" in first
    assert "ClusterExtension/sieve: ~ sieve 1.2.0 → 1.2.0, from OLM v0 in mill" in first
    assert "After approval" not in text
    assert "[breaking]" not in text
    for noise in (
        "ClusterServiceVersion/",
        "Subscription/",
        "OperatorGroup/",
        "-installer",
        "olm.managed",
        "ClusterRole",
    ):
        assert noise not in text.split("\n", 2)[2], noise
    assert "nodeSelector is removed" in rest
    assert "its name was vlanterns.lights.example.com-" in rest
    assert "2 installers" in " ".join(text.partition("\n\n")[0].split())


def test_the_way_back_and_no_change() -> None:
    """Nothing moves where both sides have moved, and OLM v0 does not take over from OLM v1."""
    assert "OLM v0" not in said("diff", str(AFTER), str(AFTER))
    assert "all that it installed" in said("diff", str(AFTER), str(BEFORE))


def test_another_version_is_told_with_the_move(changed: Path) -> None:
    """R-V1-RES-8: a ClusterExtension that is not pinned begins with what the catalog has."""
    path = changed / "mill.yaml"
    text = path.read_text(encoding="utf-8").replace("version: 1.2.0", "version: 1.3.0")
    # The installer needs rights to the ClusterRole of the new version.
    path.write_text(text.replace("sieve.v1.2.0-", "sieve.v1.3.0-"))
    text = review(changed)
    assert "ClusterExtension/sieve: ~ sieve 1.2.0 → 1.3.0, from OLM v0 in mill to OLM v1 (version 1.3.0" in text
    assert "registry.example.com/sieve :v1.2.0 → :v1.3.0" in text


def test_an_installer_may_not_do_more_than_it_needs_unseen(changed: Path) -> None:
    """R-V1-SA-1: what the installation takes is counted, all else is a change like any other."""
    (changed / "everything.yaml").write_text(CLUSTER_ADMIN, encoding="utf-8")
    text = review(changed)
    assert "ServiceAccount/mill/sieve-installer" in text
    assert "may do anything" in text or "may * *" in text or "everything" in text


def test_a_subscription_that_stays_is_not_taken_over(changed: Path) -> None:
    """R-V1-HELM-4: with both there nothing moves, and the ClusterExtension gets no further."""
    before = list(yaml.safe_load_all((BEFORE / "mill.yaml").read_text(encoding="utf-8")))
    (changed / "v0.yaml").write_text(yaml.safe_dump_all(before), encoding="utf-8")
    text = review(changed)
    assert "from OLM v0 in mill" not in text
    assert "ClusterExtension/sieve: ~ gets no further" in text
    assert "from OLM v0 in lighthouse" in text


def test_a_tool_that_does_not_prune_moves_nothing() -> None:
    """The Subscription of OLM v0 is there then, and its operator with it."""
    text = said("plan", str(AFTER), "--from", str(BEFORE), "--no-prune")
    assert "gets no further" in text
    assert "from OLM v0" not in text


def test_a_plan_asks_for_the_steps_first_and_deletes_no_crd() -> None:
    """R-V1-MIG-2: the CRDs are not left behind, the ClusterExtension has them."""
    text = said("plan", str(AFTER), "--from", str(BEFORE))
    left = text.partition("4. What is left to do")[2]
    assert left.strip().startswith("Before this is applied, take the steps by which lantern.v2.0.0, sieve.v1.2.0 move")
    assert "delete customresourcedefinition" not in left
    assert text.count("moved\n      from OLM v0 to ClusterExtension") == 2


def test_what_moves_is_found_by_package_and_namespace() -> None:
    state = state_after(BEFORE)
    manifests = [m for m in state_after(AFTER).objects.values() if m.object["kind"] == "ClusterExtension"]
    assert [(move.extension, move.package, move.namespace) for move in handovers(state, manifests)] == [
        ("lantern", "lantern", "lighthouse"),
        ("sieve", "sieve", "mill"),
    ]
    elsewhere = [m._replace(object={**m.object, "spec": {**m.object["spec"], "namespace": "other"}}) for m in manifests]
    assert handovers(state, elsewhere) == ()
    assert Options().prune
