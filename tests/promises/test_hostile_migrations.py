"""A workspace decides the content of a migration, and neither its rights nor the files that it changes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from commands import olmc

from olmc.compiler.migration import as_patch
from olmc.k8s.diagnostics import FileChange
from olmc.review.migrate.to_extensions import migrate_to_extensions

RBAC = "rbac.authorization.k8s.io"
ACCOUNT = {"kind": "ServiceAccount", "name": "kettle-installer", "namespace": "tea"}
ROLE = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": RBAC}
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def made(kind: str, name: str, **fields: object) -> dict[str, object]:
    version = "v1" if kind == "ServiceAccount" else f"{RBAC}/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


OCCUPIED = {
    "its account": {**made("ServiceAccount", ""), "metadata": {"name": "kettle-installer", "namespace": "tea"}},
    "its role": made("ClusterRole", "kettle-installer", rules=EVERYTHING),
    "its binding": made("ClusterRoleBinding", "kettle-installer", roleRef=ROLE, subjects=[]),
    "a binding of its account": made("ClusterRoleBinding", "crew", roleRef=ROLE, subjects=[ACCOUNT]),
    "a binding of its user": made(
        "ClusterRoleBinding", "crew", roleRef=ROLE,
        subjects=[{"kind": "User", "apiGroup": RBAC, "name": "system:serviceaccount:tea:kettle-installer"}],
    ),
    "a role for users": made("ClusterRole", "kettle-apis-view", rules=[]),
}  # fmt: skip
ELSEWHERE = {
    "an account elsewhere": {
        **made("ServiceAccount", ""), "metadata": {"name": "kettle-installer", "namespace": "mill"}
    },
    "a binding of another account": made(
        "ClusterRoleBinding", "crew", roleRef={**ROLE, "name": "view"}, subjects=[{**ACCOUNT, "namespace": "mill"}]
    ),
}  # fmt: skip


@pytest.fixture
def kettle(project: Path, tmp_path: Path) -> Path:
    """A workspace with one operator, which can move to OLM v1."""
    root = tmp_path / "workspace"
    kept = ("cluster.yaml", "tea.yaml", "olmc.yaml", "catalogs", "market", "kettle*", "manifests", "metadata")
    names = {"bundles", *(path.name for path in project.glob("fixtures/olmv1/migration/bundles/kettle*/*/*"))}

    def left_out(_: str, found: list[str]) -> list[str]:
        return [name for name in found if name not in names and not any(Path(name).match(each) for each in kept)]

    shutil.copytree(project / "fixtures/olmv1/migration", root, ignore=left_out)
    return root


@pytest.mark.parametrize("what", OCCUPIED)
def test_an_installer_gets_no_rights_that_are_there(what: str, kettle: Path) -> None:
    """R-V1-SA-1: olmc would write an account with the smallest sufficient rights, and other objects add to them."""
    (kettle / "more.yaml").write_text(yaml.safe_dump(OCCUPIED[what]))
    done = migrate_to_extensions(kettle)
    (verdict,) = done.verdicts
    assert [(reason.kind, reason.rule) for reason in verdict.reasons] == [("names", "R-V1-SA-1")]
    assert (verdict.move, done.migration.changes) == (None, ())


@pytest.mark.parametrize("what", ELSEWHERE)
def test_rights_of_others_are_no_obstacle(what: str, kettle: Path) -> None:
    (kettle / "more.yaml").write_text(yaml.safe_dump(ELSEWHERE[what]))
    (verdict,) = migrate_to_extensions(kettle).verdicts
    assert verdict.outcome == "moves as it is"


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("innocent", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}]),
        ("kettles.kitchen.example.com-v1-view", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}]),
        ("x-view", [{"apiGroups": ["kitchen.example.com"], "resources": ["kettles", "pods/exec"], "verbs": ["*"]}]),
    ],
)
def test_a_role_that_claims_to_be_olms_gives_no_rights(name: str, rules: list[object], kettle: Path) -> None:
    """R-V1-MIG-2: the roles for users have the rules that OLM writes, whatever labels and owners others claim."""
    role = made("ClusterRole", name, rules=rules)
    owner = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "uid": "a"}
    role["metadata"] = {
        "name": name, "labels": {f"{RBAC}/aggregate-to-view": "true"},
        "ownerReferences": [{**owner, "name": "kettles.kitchen.example.com"}],
    }  # fmt: skip
    expected = given_to_users(kettle)
    (kettle / "more.yaml").write_text(yaml.safe_dump(role))
    assert [rule for rule in given_to_users(kettle) if rule not in expected] == []


def given_to_users(workspace: Path) -> list[object]:
    """List the rules of the roles that the migration writes for users."""
    texts = [change.after for change in migrate_to_extensions(workspace).migration.changes]
    objects = [obj for text in texts for obj in yaml.safe_load_all(text) if obj and "metadata" in obj]
    found = [rule for obj in objects if "-apis-" in obj["metadata"]["name"] for rule in obj["rules"]]
    assert found
    return found


NAMES = [
    "a\n+++ b/evil.yaml",
    'a "b".yaml',
    "a\\n.yaml",
    "a\tb.yaml",
    "a\x1b[31mb.yaml",
    "a\u202eb\u2028.yaml",
    "\udcff.yaml",
]


@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_file_of_a_patch(name: str, tmp_path: Path) -> None:
    """A file name ends no line of a patch: git changes this file and no other."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("a: b\n")
    patch = as_patch([FileChange(name, "a: b\n", "a: c\n")])
    assert len(patch.splitlines()) == 6
    assert patch.replace("\n", "").isprintable()
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / name).read_text() == "a: c\n"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]


def test_the_commands_write_such_patches(kettle: Path) -> None:
    (kettle / "tea.yaml").rename(kettle / "tea\n+++ b+evil.yaml")
    patch = olmc("migrate", kettle, "--to", "olm-v1", "--dry-run").stdout
    assert not [line for line in patch.splitlines() if line.startswith("+++ b+")]
    assert "tea\\012+++ b+evil.yaml" in patch


@pytest.mark.parametrize(
    "name", ["a\n::error::x.yaml", "::error::x.yaml", "a\x1b[2Jb.yaml", "a\u202eb.yaml", "a\r\n##[x].yaml"]
)
@pytest.mark.parametrize(
    "command", [("migrate", "--to", "olm-v1"), ("resolve", "--pin", "kettle=1.0.0")], ids=lambda c: c[0]
)
def test_a_name_of_a_written_file_is_a_text(
    command: tuple[str, ...], name: str, kettle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no command to a runner, moves no cursor, and turns no text around."""
    (kettle / "tea.yaml").rename(kettle / name)
    monkeypatch.chdir(kettle)
    told = olmc(command[0], ".", *command[1:]).stderr
    assert "written" in told or "is pinned to" in told
    assert not any(line.startswith("::") or "##[" in line for line in told.splitlines())
    assert not {"\x1b", "\u202e", "\r"} & set(told)
