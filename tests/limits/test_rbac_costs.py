"""Small input that gives rights to many: what it takes is bounded, and so is what is written about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_costs import workspace
from test_input_limits import olmc

HEAD = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
AGGREGATED = HEAD + "ClusterRole\nmetadata: {{name: a{0}, labels: {{l: l{0}}}}}\naggregationRule: {1}\n"
RULE = "- {{apiGroups: [''], resources: [{0}], verbs: [get]}}\n"
EVERYTHING = "{clusterRoleSelectors: [{}]}"
NEXT = "{{clusterRoleSelectors: [{{matchExpressions: [{{key: l, operator: In, values: [l{0}]}}]}}]}}"


@pytest.mark.parametrize("command", ["rbac new", "rbac who-can get secrets new", "diff old new"])
@pytest.mark.parametrize("shape", ["each selects all", "each selects the next"])
def test_thousands_of_roles_that_select_each_other(
    tmp_path: Path, command: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(tmp_path / "old")
    one = EVERYTHING if shape == "each selects all" else ""
    roles = [AGGREGATED.format(number, one or NEXT.format(number + 1)) for number in range(1_200)]
    own = HEAD + "ClusterRole\nmetadata: {name: own, labels: {l: l1200}}\nrules:\n" + RULE.format("secrets")
    (workspace(tmp_path / "new") / "roles.yaml").write_text("---\n".join((*roles, own)))
    monkeypatch.chdir(tmp_path)
    done = olmc(*command.split(), *(["--exit-code"] if command.startswith("diff") else []))
    assert done.returncode == (1 if command.startswith("diff") else 0), done.stderr


def given(path: Path, rules: int, subjects: int) -> Path:
    """A workspace with a ClusterRole of as many rules, bound to as many users."""
    role = HEAD + "ClusterRole\nmetadata: {name: r}\nrules:\n"
    role += "".join(
        f"- {{apiGroups: [''], resources: [secrets], verbs: [get], resourceNames: [n{i}]}}\n" for i in range(rules)
    )
    bound = HEAD + "ClusterRoleBinding\nmetadata: {name: b}\nsubjects:\n"
    bound += "".join(f"- {{kind: User, name: u{number}}}\n" for number in range(subjects))
    ref = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\n"
    (workspace(path) / "given.yaml").write_text(f"{role}---\n{bound}{ref}")
    return path


COMMANDS = "rbac new|rbac new -o json|rbac who-can get secrets new|rbac who-can get secrets new -o json|report new -o s"
DIFFS = "diff old new|diff new old -o json|diff old new -o html|diff old new -o markdown"


@pytest.mark.parametrize("command", f"{COMMANDS}|{DIFFS}".split("|"))
def test_thousands_of_rules_for_thousands_of_subjects(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(tmp_path / "old")
    given(tmp_path / "new", 1_500, 3_500)
    monkeypatch.chdir(tmp_path)
    done = olmc(*command.split(), *(["--exit-code"] if command.startswith("diff") else []))
    assert done.returncode == (1 if command.startswith("diff") else 0), done.stderr
    assert len(done.stdout) < 25_000_000


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    new = given(tmp_path / "new", 400, 400)
    done = json.loads(olmc("rbac", new, "-o", "json").stdout)
    users = [each for each in done["subjects"] if each["kind"] == "User"]
    assert [len(each["permissions"]) + each.get("more", 0) for each in users] == [400] * 400
    assert sum(each.get("more", 0) for each in users) > 0
    assert " rules of its roles that are not listed here" in olmc("rbac", new).stdout
    (one,) = json.loads(olmc("rbac", new, "--subject", "u399", "-o", "json").stdout)["subjects"]
    assert len(one["permissions"]) == 400
    able = json.loads(olmc("rbac", "who-can", "get", "secrets", new, "-o", "json").stdout)
    assert len(able["subjects"]) + able["more"] == 400 * 400


def test_grants_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """Of those behind one answer, which all are about the same objects."""
    rules = "".join(RULE.format(f"secrets, r{number}") for number in range(50))
    role = f"{HEAD}ClusterRole\nmetadata: {{name: r}}\nrules:\n{rules}"
    bound = HEAD + "ClusterRoleBinding\nmetadata: {name: b}\nsubjects: [{kind: User, name: u}]\n"
    bound += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\n"
    (tmp_path / "given.yaml").write_text(f"{role}---\n{bound}")
    subjects = json.loads(olmc("rbac", "who-can", "get", "secrets", tmp_path, "-o", "json").stdout)["subjects"]
    (user,) = (each for each in subjects if each["subject"]["name"] == "u")
    assert (len(user["grants"]), user["moreGrants"]) == (20, 30)
    assert all("moreGrants" not in each for each in subjects if each is not user)


def test_holders_without_a_matrix_are_counted(tmp_path: Path) -> None:
    old, new = workspace(tmp_path / "old"), given(tmp_path / "new", 100, 100)
    page = olmc("diff", old, new, "-o", "html").stdout
    assert page.count("<caption>User/u") == 40
    assert "60 more have no matrix here" in page


def test_what_is_too_much_for_a_comparison_is_counted_by_holder(tmp_path: Path) -> None:
    old, new = workspace(tmp_path / "old"), given(tmp_path / "new", 1_500, 300)
    grave = HEAD + "ClusterRoleBinding\nmetadata: {name: z}\nsubjects: [{kind: User, name: z}]\n"
    grave += "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n"
    (new / "grave.yaml").write_text(grave)
    changes = json.loads(olmc("diff", old, new, "-o", "json").stdout)["changes"]
    of_users = [each for each in changes if each["object"]["kind"] == "User"]
    assert len({each["object"]["name"] for each in of_users}) == 301
    assert {each["kind"] for each in of_users} == {"PermissionGained", "PermissionsGained"}
    # The gravest is listed by itself.
    levels = [each["details"]["level"] for each in of_users if each["object"]["name"] == "z"]
    assert levels == ["critical", "medium"]
