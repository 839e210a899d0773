"""`olmc diff --olm-version A..B`: what upgrading OLM itself changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import olmc_noticing as olmc
from commands import unfolded
from jsonschema import Draft202012Validator

from olmc.resources import schema

PATH = "olm-versions"
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mine, namespace: harbour}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: quay-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jo}]
"""


def test_what_an_upgrade_of_olm_changes() -> None:
    """Roles that people bind have other names, which is a risk; what operators may do is the same."""
    result = olmc("diff", "--olm-version", "0.25..0.46", PATH)
    assert (result.exit_code, result.stderr) == (1, "")
    text = result.stdout
    assert text.startswith(f"{PATH} under OLM 0.25.0 → {PATH} under OLM 0.46.0: ")
    assert "may no longer" not in text
    assert "\nPermissions\n" not in text
    assert ": ~ its name was quay-admin; bindings to that name have to follow  [risk]\n" in text
    assert "~ its name was crane.v1.0.0-5867c7b5b8\n" in text
    assert ': + metadata.labels["olm.managed"]: true (new)\n' in text
    assert "pods are replaced" not in text


@pytest.mark.parametrize("versions", ["0.25..0.46", "0.9..0.27"])
def test_who_is_bound_to_a_role_by_its_old_name(versions: str, tmp_path: Path) -> None:
    """The user of the binding loses what is in the role; the role itself, which OLM made for a group, does not."""
    shutil.copytree(FIXTURES / "own-namespace", tmp_path / "ws")
    (tmp_path / "ws" / "bind.yaml").write_text(BINDING, encoding="utf-8")
    text = olmc("diff", "--olm-version", versions, tmp_path / "ws").stdout
    permissions = unfolded(text).partition("\nPermissions\n")[2].partition("\n\n")[0]
    assert "  User/jo\n" in permissions
    assert "- may no longer get, list, watch beacons.lights.example.com in namespace harbour\n" in permissions
    assert "  ClusterRole/" not in permissions


TWO_GROUPS = "---".join(
    f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{targetNamespaces: [{namespace}]}}
"""
    for namespace, name in (("east", "team"), ("west", "team-b"))
)


def test_roles_of_groups_are_told_apart(tmp_path: Path) -> None:
    """Each has no rules of its own: by its group and for whom it is, it is found again, not by what it grants."""
    (tmp_path / "groups.yaml").write_text(TWO_GROUPS, encoding="utf-8")
    found = json.loads(olmc("diff", "--olm-version", "0.25..0.46", tmp_path, "-o", "json").stdout)
    renamed = {
        each["object"]["name"].rpartition("-")[0]: each["details"]["old"]
        for each in found["changes"]
        if each["kind"] == "Renamed"
    }
    roles = [(group, whom) for group in ("team", "team-b") for whom in ("admin", "edit", "view")]
    assert renamed == {f"olm.og.{group}.{whom}": f"{group}-{whom}" for group, whom in roles}


def test_groups_that_take_each_others_place(tmp_path: Path) -> None:
    """The roles of a group that goes don't become those of one that comes."""
    for side, groups in (("old", "a-west"), ("new", "z-east")):
        name, _, namespace = groups.partition("-")
        text = TWO_GROUPS.partition("---")[0] + TWO_GROUPS.replace("team-b", name).replace("west", namespace)
        (tmp_path / side).mkdir()
        (tmp_path / side / "groups.yaml").write_text(text, encoding="utf-8")
    assert "olm.owner" not in olmc("diff", tmp_path / "old", tmp_path / "new").stdout


def test_an_older_upgrade() -> None:
    """Objects come and go with the names of certificates, conditions and random names."""
    found = json.loads(olmc("diff", "--olm-version", "0.13..v0.25", PATH, "-o", "json").stdout)
    assert not list(Draft202012Validator(schema("diff")).iter_errors(found))
    told = {(each["object"]["kind"], each["object"]["name"], each["text"]) for each in found["changes"]}
    assert ("Service", "v1-gauge-example-com", "removed") in told
    assert ("Service", "tide-controller-service", "new") in told
    assert ("Role", "crane.v1.0.0", "new") in told
    renamed = {each["object"]["name"]: each["details"]["old"] for each in found["changes"] if each["kind"] == "Renamed"}
    assert renamed["beacon.v1.0.0-beacon-ccd8b787"].startswith("beacon.v1.0.0-")
    assert not any(name.startswith("quay-") for name in renamed)
    assert [each["object"]["name"] for each in found["changes"] if each["kind"] == "PodsReplaced"] == [
        "beacon-controller", "crane-controller", "tide-controller",
    ]  # fmt: skip


@pytest.mark.parametrize("versions", ["0.46..0.46", "0.37..0.46", "ocp-4.17..0.32"])
def test_versions_that_do_the_same(versions: str) -> None:
    result = olmc("diff", "--olm-version", versions, PATH)
    assert (result.exit_code, result.stderr) == (0, "")


def test_both_sides_of_a_comparison_are_of_one_version() -> None:
    result = olmc("diff", "--olm-version", "0.13", "own-namespace", "own-namespace")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--olm-version", "0.25..0.46", PATH, PATH), "Give OLD and NEW, or one git revision"),
        ((PATH,), "Give OLD and NEW, or one git revision"),
        (("--olm-version", "0.25..", PATH), "olmc knows no OLM version"),
        (("--olm-version", "0.25..0.99", PATH), "olmc knows no OLM version 0.99."),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    result = olmc("diff", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_rendering_has_its_version(tmp_path: Path) -> None:
    (tmp_path / "rendered.yaml").write_text(olmc("render", PATH).stdout, encoding="utf-8")
    result = olmc("diff", "--olm-version", "0.25..0.46", tmp_path / "rendered.yaml")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "[OLMC454]" in result.stderr
