"""What a pull request can try to hide: each attack is here, and none of them ends without a word."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import olmc_noticing as olmc
from commands import unfolded
from cpu_time import measure
from jsonschema import Draft202012Validator
from scenarios import write
from tiers import sampled

from olmc.compiler.load import build_files
from olmc.compiler.model.workspace import GENERATED, IMPORTED, SCAFFOLDED
from olmc.resources import schema

Files = dict[str, str]

EVIL = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: evil
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- kind: ServiceAccount
  name: default
  namespace: harbour
"""
BUNDLE = "bundles/beacon-1.0.0"
CRD = f"{BUNDLE}/manifests/beacons.lights.example.com.crd.yaml"
VENDORED = "# Written by olmc vendor, which also removes what it no longer needs from this folder.\n"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n"
ADMIN = "may do anything with *.* in the whole cluster (critical: everything)  [risk]"
LEFT_OUT = "+ left out, and applied by other tools: ClusterRoleBinding/evil; "
TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n"


def indented(text: str) -> str:
    return text.replace("\n", "\n  ").rstrip()


@pytest.fixture(autouse=True)
def sides(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace, `old`, and a copy of it, `new`; tests run in it."""
    for side in ("old", "new"):
        shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / side)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Settings of the side that is reviewed, by which it would hide its own binding in evil.yaml.
SETTINGS = {
    "exclude": {"olmc.yaml": f"{CONFIG}  exclude: [ClusterRoleBinding]\n"},
    "include": {"olmc.yaml": f"{CONFIG}  include: [Deployment]\n"},
    "ignore": {"olmc.yaml": f"{CONFIG}  ignore: [evil.yaml]\n"},
    "ignore-file": {".olmcignore": "evil.yaml\n"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_reviewed_side_hide_nothing(name: str, sides: Path) -> None:
    """They don't count, and are a change themselves."""
    write(sides / "new", {"evil.yaml": EVIL, **SETTINGS[name]})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert ADMIN in done.stdout
    first = unfolded(done.stdout).split("\n\n")[1]
    assert first.startswith("Risks\n")
    assert "does not count here  [risk]\n" in f"{first}\n"


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_hide_are_told_in_every_format(name: str, sides: Path) -> None:
    write(sides / "new", SETTINGS[name])
    data = json.loads(olmc("diff", "old", "new", "-o", "json").stdout)
    assert list(Draft202012Validator(schema("diff")).iter_errors(data)) == []
    told = {(change["group"], change["severity"], change["kind"]) for change in data["changes"]}
    assert told <= {("settings", "risk", "SettingChanged"), ("settings", "risk", "PatternAdded")}
    assert len(told) == 1
    assert "⚠️ Risks (1)" in olmc("diff", "old", "new", "-o", "markdown").stdout
    page = olmc("diff", "old", "new", "-o", "html").stdout
    assert 'href="#risk"' in page
    assert "does not count here" in page


def test_a_setting_that_hides_nothing_is_told_as_well(sides: Path) -> None:
    write(sides / "new", {"olmc.yaml": f"{CONFIG}  namespaces: [a]\n"})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert ': + spec.namespaces: ["a"] (new)\n' in done.stdout


def test_for_apply_hides_nothing(sides: Path) -> None:
    """A Subscription is not for apply; that it is new is told by the old side's purpose."""
    more = "apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: x, namespace: harbour}\n"
    spec = "spec: {sourceType: grpc, image: registry.example.com/x:1}\n"
    write(sides / "new", {"olmc.yaml": f"{CONFIG}  for: apply\n", "more.yaml": more + spec})
    done = olmc("diff", "old", "new")
    assert "CatalogSource/harbour/x: + new" in done.stdout
    assert "spec.for: apply (new)" in done.stdout


def test_what_the_old_side_excludes_is_counted_and_its_permissions_are_compared(sides: Path) -> None:
    for side in ("old", "new"):
        write(sides / side, {"olmc.yaml": f"{CONFIG}  exclude: [ClusterRoleBinding, ConfigMap]\n"})
    assert olmc("diff", "old", "new").exit_code == 0
    write(sides / "new", {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: harbour}\n"})
    done = olmc("diff", "old", "new")
    told = "old → new: no change\n(folded: 1 excluded ConfigMap)\n"
    assert (done.exit_code, done.stdout) == (0, told)
    write(sides / "new", {"evil.yaml": EVIL})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert ADMIN in done.stdout


def test_kinds_of_the_command_line_win(sides: Path) -> None:
    """A rendering has no settings: whoever compares with one says what was left out of it."""
    write(sides / "new", {"olmc.yaml": f"{CONFIG}  exclude: [CatalogSource]\n"})
    (sides / "all.yaml").write_text(olmc("render", "new").stdout, encoding="utf-8")
    assert "CatalogSource/olm/harbour: + new" in olmc("diff", "all.yaml", "new").stdout
    assert olmc("diff", "all.yaml", "new", "--exclude", "CatalogSource").exit_code == 0
    assert olmc("diff", "all.yaml", "new", "--include", "Deployment").exit_code == 0


def test_patterns_that_do_not_count_are_no_reason(sides: Path) -> None:
    """A file is told under the reason that it is left out for, whatever the reviewed side says of it."""
    write(sides / "new", {f"{BUNDLE}/evil.yaml": EVIL, ".olmcignore": "evil.yaml\n"})
    assert f"File/{BUNDLE}/evil.yaml: {LEFT_OUT}in the folder of a bundle" in olmc("diff", "old", "new").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts")
def test_new_suppressions_in_a_chart_beside_the_one_that_is_rendered_are_told(
    sides: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is accepted in a dependency is accepted in what is built of it."""
    chart = "apiVersion: v2\nversion: 1.0.0\nname: "
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: pier, namespace: harbour}\n"
    needs = 'dependencies:\n- {name: common, version: 1.0.0, repository: "file://../common"}\n'
    charts = {
        "ops/Chart.yaml": f"{chart}ops\n{needs}", "ops/templates/group.yaml": group,
        "common/Chart.yaml": f"{chart}common\n",
    }  # fmt: skip
    program = """import os, sys
print("---\\n# Source: ops/charts/common/templates/group.yaml")
print(open(os.path.join(sys.argv[3], "charts/common/templates/group.yaml")).read())
"""
    write(sides, {"bin/helm": f"#!{sys.executable}\n{program}"})
    (sides / "bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(sides / "bin"))
    for side, comment in (("a", ""), ("b", "# olmc: ignore[OLMC150] fine")):
        of_side = {**charts, "common/templates/group.yaml": f"{group}spec: {{bogus: 1}} {comment}\n"}
        write(sides / side, of_side)
    done = olmc("diff", "a/ops", "b/ops")
    assert done.exit_code == 1
    assert "File/../common/templates/group.yaml: + accepts OLMC150: fine" in done.stdout


def test_new_suppressions_are_told(sides: Path) -> None:
    text = (sides / "new/operators.yaml").read_text(encoding="utf-8")
    accepts = f"{CONFIG}  suppress:\n  - {{code: OLMC270, path: bundles/*, reason: later}}\n"
    commented = f"# olmc: ignore[OLMC303] nothing to see\n{text}"
    write(sides / "new", {"operators.yaml": commented, "olmc.yaml": accepts})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "File/operators.yaml: + accepts OLMC303: nothing to see" in done.stdout
    assert "File/olmc.yaml: + accepts OLMC270 in bundles/*: later" in done.stdout
    assert "no longer accepts OLMC270 in bundles/*: later" in olmc("diff", "new", "old").stdout


def test_a_suppression_that_moves_to_another_object_is_told(sides: Path) -> None:
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {{name: {}}}\nspec: {}\n"
    accepted = "{bogus: 1} # olmc: ignore[OLMC150] fine"
    for side, specs in (("old", (accepted, "{}")), ("new", ("{}", accepted))):
        groups = [group.format(name, spec) for name, spec in zip(("quay", "pier"), specs, strict=True)]
        write(sides / side, {"groups.yaml": "---\n".join(groups)})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "accepts OLMC150: fine" in done.stdout
    # One that stays with its object may be in another line.
    text = (sides / "new/groups.yaml").read_text(encoding="utf-8")
    write(sides / "old", {"groups.yaml": f"# All groups.\n\n{text}"})
    assert "OLMC150" not in olmc("diff", "old", "new").stdout


def test_a_suppression_that_moves_to_another_field_is_told(sides: Path) -> None:
    """Also where it stays in its object, with its code and its reason."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {{name: quay}}\nspec:\n{}"
    fields = ("  bogus: 1", "  bogus2: 1", "  items:", "  - a: 1", "  - a: 2")
    accepting = [[field + " # olmc: ignore[OLMC150] fine" * (field == here) for field in fields] for here in fields]
    for old, new in itertools.pairwise(accepting):
        for side, lines in (("old", old), ("new", new)):
            write(sides / side, {"group.yaml": group.format("\n".join([*lines, ""]))})
        done = olmc("diff", "old", "new")
        assert done.exit_code == 1
        assert "+ accepts OLMC150: fine" in done.stdout
        assert "- no longer accepts OLMC150: fine" in done.stdout
    # One that stays with its field may be in another line, and the field have another value.
    write(
        sides / "old",
        {
            "group.yaml": group.format(
                "\n".join(["  serviceAccountName: a", *accepting[0], ""]).replace("bogus: 1", "bogus: 5")
            )
        },
    )
    write(sides / "new", {"group.yaml": group.format("\n".join([*accepting[0], ""]))})
    assert "OLMC150" not in olmc("diff", "old", "new").stdout


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: quay, namespace: harbour}}
spec:
  template:
    spec:
      containers:
{}"""
GOOD, FIRST = "      - name: good\n        bogus: 1{}\n", "      - name: first\n        bogus: 1{}\n"
ACCEPTED = " # olmc: ignore[OLMC150] fine"


def accepted_changes(sides: Path, old: str, new: str) -> list[str]:
    for side, text in (("old", old), ("new", new)):
        write(sides / side, {"quay.yaml": text})
    lines = olmc("diff", "old", "new").stdout.splitlines()
    return [line.strip() for line in lines if "accepts OLMC150" in line]


def test_a_suppression_that_moves_to_another_item_is_told(sides: Path) -> None:
    """Though it is the first one with its key, as it was."""
    old = DEPLOYMENT.format(GOOD.format(ACCEPTED) + FIRST.format(""))
    new = DEPLOYMENT.format(FIRST.format(ACCEPTED) + GOOD.format(""))
    assert len(accepted_changes(sides, old, new)) == 2


def test_a_suppression_that_moves_to_another_field_of_the_same_name_is_told(sides: Path) -> None:
    text = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata:\n  name: quay\n{}spec:\n  a: b\n{}"
    bogus = f"  bogus: 1{ACCEPTED}\n"
    assert len(accepted_changes(sides, text.format(bogus, ""), text.format("", bogus))) == 2


def test_a_suppression_beside_new_neighbours_stays(sides: Path) -> None:
    old = DEPLOYMENT.format(GOOD.format(ACCEPTED))
    assert accepted_changes(sides, old, DEPLOYMENT.format(FIRST.format("") + GOOD.format(ACCEPTED))) == []
    above = f"      # {ACCEPTED.strip(' #')}\n{GOOD.format('')}"
    assert accepted_changes(sides, DEPLOYMENT.format(above), DEPLOYMENT.format(FIRST.format("") + above)) == []


@pytest.mark.slow
def test_many_suppressions_are_cheap(sides: Path) -> None:
    seconds = measure()
    write(sides / "new", {"many.yaml": "#olmc:ignore[X]\n" * 15_000 + "a: b\n"})
    assert "many.yaml: + accepts X" in olmc("diff", "old", "new").stdout
    assert seconds() < 5


def test_files_that_are_newly_ignored_and_can_not_be_compiled_are_left_out(sides: Path) -> None:
    """Such as templates of Helm: they need not keep a pull request from being reviewed, and are told."""
    write(sides / "new", {"chart/a.yaml": TEMPLATE, "chart/evil.yaml": EVIL, ".olmcignore": "chart/\n"})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "other tools: ClusterRoleBinding/evil and unreadable content; named by .olmcignore" in done.stdout
    write(sides / "new", {"chart/a.yaml": TEMPLATE, ".olmcignore": ""})
    assert olmc("diff", "old", "new").exit_code == 3


# Where a binding can stand without being compiled, and the words for it.
PLACES: dict[str, tuple[Files, str]] = {
    "beside-the-manifests-of-a-bundle": ({f"{BUNDLE}/evil.yaml": EVIL}, "in the folder of a bundle"),
    "in-tests-of-a-bundle": ({f"{BUNDLE}/tests/evil.json": ""}, "in the folder of a bundle"),
    "below-manifests": ({f"{BUNDLE}/manifests/sub/evil.yaml": EVIL}, "in the folder of a bundle"),
    "in-metadata": ({f"{BUNDLE}/metadata/evil.yaml": EVIL}, "in the folder of a bundle"),
    "hidden-among-manifests": ({f"{BUNDLE}/manifests/.evil.yaml": EVIL}, "in the folder of a bundle"),
    "behind-an-object-of-a-bundle": ({CRD: "+"}, "behind the one object that OLM reads of a bundle's file"),
    "in-a-hidden-folder": ({".github/evil.yaml": EVIL}, "in a hidden folder"),
    "in-vendor": ({"vendor/.gitattributes": VENDORED, "vendor/a/evil.yml": EVIL}, "in vendor/"),
    "marked-as-rendered": ({"evil.yaml": f"{GENERATED}\n{EVIL}"}, "marked as written by olmc render"),
    "marked-as-imported": ({"evil.yaml": f"{IMPORTED}\n{EVIL}"}, "marked as written by olmc import"),
    "marked-as-scaffolded": ({"evil.yaml": f"{SCAFFOLDED}\n{EVIL}"}, "marked as written by olmc init"),
    "in-a-catalog": ({"catalogs/harbour/evil.yaml": f"schema: olm.foo\n{EVIL}"}, "in a catalog"),
    "ignored-by-a-catalog": (
        {"catalogs/harbour/evil.yaml": EVIL, "catalogs/harbour/.indexignore": "evil.yaml\n"}, "in a catalog",
    ),
    "in-a-list-for-tools": (
        {"evil.yaml": f"apiVersion: kpt.dev/v1\nkind: PackageList\nitems:\n- {indented(EVIL)}\n"},
        "in a list that is for tools",
    ),
    "disguised": ({".x/evil.yaml": EVIL.replace("apiVersion", '"\\x61piVersion"')}, "in a hidden folder"),
    "indented": ({".x/evil.yaml": "  " + indented(EVIL) + "\n"}, "in a hidden folder"),
    "in-a-list": ({".x/evil.yaml": f"apiVersion: v1\nkind: List\nitems:\n- {indented(EVIL)}\n"}, "in a hidden folder"),
    "under-a-kind-that-stands-there-twice": (
        {".x/evil.yaml": EVIL.replace("ClusterRoleBinding", "ConfigMap") + "kind: ClusterRoleBinding\n"},
        "in a hidden folder",
    ),
}  # fmt: skip


def attacked(side: Path, files: Files) -> None:
    """Writes the files of an attack; `+` stands for the binding behind what is in the file."""
    for path, text in files.items():
        there = (side / path).read_text(encoding="utf-8") if text == "+" else ""
        write(side, {path: f"{there}---\n{EVIL}" if text == "+" else text or json.dumps(json.loads(AS_JSON))})


AS_JSON = json.dumps({
    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "evil"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
})  # fmt: skip


@pytest.mark.parametrize("name", sampled(PLACES, 3))
def test_what_is_left_out_is_told(name: str, sides: Path) -> None:
    """It comes, it changes, it goes: each is a change. Every review of the side alone says that it is there."""
    files, reason = PLACES[name]
    attacked(sides / "new", files)
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    (line,) = (line for line in unfolded(done.stdout).splitlines() if LEFT_OUT in line)
    assert reason in line and line.endswith("[risk]")
    assert "olmc: left out, and applied by kubectl apply -R, Argo CD or Flux: 1 object in 1 file\n" in done.stderr
    assert "- no longer among what is left out: ClusterRoleBinding/evil" in olmc("diff", "new", "old").stdout
    for command in (["status"], ["rbac"], ["rbac", "who-can", "get", "secrets"], ["check", "-o", "json"]):
        said = olmc(*command, "new").stderr
        assert "1 object in 1 file\n  " in said, command
        assert "ClusterRoleBinding/evil; " in said and reason in said
    assert "1 object in 1 file left out)" in olmc("check", "new").stdout
    why = olmc("why", "ClusterRoleBinding/evil", "new")
    assert why.exit_code == 1
    assert "ClusterRoleBinding/evil is not there\n  it is left out, " in why.stdout


@pytest.mark.parametrize("name", sampled(PLACES, 3))
def test_what_is_left_out_changes(name: str, sides: Path) -> None:
    files, _ = PLACES[name]
    for side in ("old", "new"):
        attacked(sides / side, files)
    assert olmc("diff", "old", "new").exit_code == 0
    path = sides / "new" / next(path for path in files if path.endswith((".yaml", ".yml", ".json")))
    path.write_text(path.read_text(encoding="utf-8").replace("cluster-admin", "admin"), encoding="utf-8")
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "~ left out on both sides, and another: ClusterRoleBinding/evil; " in done.stdout


def test_an_object_with_the_key_of_a_catalog_is_an_object(sides: Path) -> None:
    write(sides / "new", {"evil.yaml": f"schema: olm.foo\n{EVIL}"})
    assert ADMIN in olmc("diff", "old", "new").stdout
    assert "ServiceAccount harbour/default: critical" in olmc("rbac", "new").stdout
    done = olmc("render", "new")
    assert "name: evil" in done.stdout
    assert "evil.yaml:1:1: warning: this ClusterRoleBinding has a key schema" in done.stderr


def test_an_object_among_the_documents_of_a_catalog_is_an_object(sides: Path) -> None:
    write(sides / "new", {"more.yaml": f"schema: olm.package\nname: a\ndefaultChannel: b\n---\n{EVIL}"})
    assert ADMIN in olmc("diff", "old", "new").stdout


def test_a_link_out_of_the_workspace_is_told(sides: Path) -> None:
    write(sides, {"evil.yaml": EVIL})
    (sides / "new/evil.yaml").symlink_to("../evil.yaml")
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "+ left out, and applied by other tools: content that olmc does not read; behind a link" in done.stdout


@pytest.mark.parametrize("text", ['"apiVersion": [\n# kind', "apiVersion: v1\nkind: {\n"])
def test_a_file_that_can_not_be_read_is_told(text: str, sides: Path) -> None:
    write(sides / "new", {".x/evil.yaml": text})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "+ left out, and applied by other tools: unreadable content; in a hidden folder  [risk]" in done.stdout


def test_a_file_in_another_encoding_is_told(sides: Path) -> None:
    (sides / "new/.x").mkdir()
    (sides / "new/.x/evil.yaml").write_bytes(EVIL.encode("utf-16"))
    assert "+ left out, and applied by other tools: unreadable content" in olmc("diff", "old", "new").stdout


def test_a_pointer_of_git_lfs_is_told(sides: Path) -> None:
    write(sides / "new", {".x/evil.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n"})
    assert "+ left out, and applied by other tools: content in Git LFS; in a" in olmc("diff", "old", "new").stdout


def test_a_csv_that_is_a_copy_by_its_status_is_told(sides: Path) -> None:
    """A server does not take the status of a manifest, and OLM then installs it."""
    path = next((sides / "new" / BUNDLE / "manifests").glob("*clusterserviceversion*"))
    text = path.read_text(encoding="utf-8").replace("metadata:\n", "metadata:\n  namespace: harbour\n", 1)
    evil = text.replace("beacon.v1.0.0", "evil.v1.0.0")
    write(sides / "new", {"evil.yaml": f"{evil}status:\n  reason: Copied\n"})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert "other tools: ClusterServiceVersion/harbour/evil.v1.0.0; a copy of a CSV by its status alone" in done.stdout


def test_a_second_bundle_of_the_same_name_is_told(sides: Path) -> None:
    """The one that comes first does not count."""
    shutil.copytree(sides / "new" / BUNDLE, sides / "new/bundles/a")
    assert olmc("diff", "old", "new").exit_code == 0
    write(sides / "new", {"bundles/a/manifests/evil.yaml": EVIL})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    reason = "in a bundle of which the workspace has another with the same name"
    assert f"ClusterRoleBinding/evil; {reason}" in unfolded(done.stdout)


def test_what_is_no_object_is_not_told(sides: Path) -> None:
    """Nor is what is meant for tools: a bundle has more than objects in its folder."""
    scorecard = "apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: config}\n"
    kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"
    write(sides / "new", {
        f"{BUNDLE}/Dockerfile": "FROM scratch\n",
        f"{BUNDLE}/README.md": EVIL,
        f"{BUNDLE}/tests/scorecard/config.yaml": scorecard,
        ".github/workflows/ci.yaml": "on: push\njobs: {}\n",
        ".x/values.yaml": "apiVersion: 2\nname: chart\nkind: none\n",
    })  # fmt: skip
    for side in ("old", "new"):
        write(sides / side, {f"{BUNDLE}/kustomization.yaml": kustomization})
    done = olmc("diff", "old", "new")
    assert (done.exit_code, done.stderr) == (0, "")
    assert olmc("status", "new").stderr == ""


@pytest.mark.parametrize("purpose", ["review", "apply"])
def test_output_of_olmc_that_is_current_is_not_told(purpose: str, sides: Path) -> None:
    """Who keeps rendered objects beside their source sees what somebody has put there by hand, and nothing else."""
    for side in ("old", "new"):
        olmc("render", side, "--for", purpose, "--output-dir", sides / side / "rendered")
    assert olmc("status", "new").stderr == ""
    for path in (sides / "new" / BUNDLE).rglob("*.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("beacon:v1.0.0", "beacon:v1.0.1"), encoding="utf-8")
    assert "marked as written by olmc render, and not what it writes now" in olmc("status", "new").stderr
    olmc("render", "new", "--for", purpose, "--output-dir", sides / "new" / "rendered")
    done = olmc("diff", "old", "new")
    assert "left out" not in done.stdout + done.stderr
    write(sides / "new", {"rendered/evil.yaml": f"{GENERATED}\n{EVIL}"})
    done = olmc("diff", "old", "new")
    assert f"File/rendered/: {LEFT_OUT}marked as written by olmc render" in done.stdout
    assert "1 object in 1 file\n  new/rendered/evil.yaml: ClusterRoleBinding/evil; marked" in done.stderr


def test_what_is_ignored_on_both_sides_is_told_when_it_changes(sides: Path) -> None:
    for side in ("old", "new"):
        write(sides / side, {".olmcignore": "drafts/\n", "drafts/a.yaml": EVIL.replace("evil", "draft")})
    assert olmc("diff", "old", "new").exit_code == 0
    write(sides / "new", {"drafts/b.yaml": EVIL})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    assert f"File/drafts/: {LEFT_OUT}named by .olmcignore" in done.stdout


def test_a_rendering_with_more_than_it_shows(sides: Path) -> None:
    """Hidden folders, and patterns of its own, hide nothing of two renderings either."""
    for side in ("a", "b"):
        olmc("render", "old", "--output-dir", sides / side)
    write(sides / "b", {".x/evil.yaml": EVIL})
    done = olmc("diff", "a", "b")
    assert done.exit_code == 1
    assert f"{LEFT_OUT}in a hidden folder" in done.stdout
    shutil.rmtree(sides / "b/.x")
    write(sides / "b", {".olmcignore": "evil.yaml\n", "evil.yaml": EVIL})
    assert ADMIN in olmc("diff", "a", "b").stdout


def test_a_copied_csv_in_a_rendering_is_one(sides: Path) -> None:
    """Documents are known by how they begin; what is written below does not make another object of them."""
    copy = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
    labels = "metadata:\n  name: evil\n  namespace: a\n  labels:\n    olm.copiedFrom: b\n"
    for side in ("a", "b"):
        olmc("render", "old", "--output-dir", sides / side)
    _, _, body = EVIL.partition("  name: evil\n")
    end = "kind: ClusterRoleBinding\napiVersion: rbac.authorization.k8s.io/v1\n"
    write(sides / "b", {"copy.yaml": f"{copy}{labels}{body}{end}"})
    assert ADMIN in olmc("diff", "a", "b").stdout


def test_hidden_folders_of_revisions(sides: Path, repository: Callable[[Path], None]) -> None:
    """They are looked at as in a work tree."""
    repository(sides / "new")
    write(sides / "new", {".x/evil.yaml": EVIL})
    repository(sides / "new")
    for new in ("git:HEAD:", "."):
        done = olmc("diff", "git:HEAD~1:", new)
        assert done.exit_code == 1
        assert f"File/.x/evil.yaml: {LEFT_OUT}in a hidden folder" in done.stdout
    assert olmc("diff", "git:HEAD:", ".").exit_code == 0


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """A function that commits what is in a folder."""
    from commands import git

    def commit(root: Path) -> None:
        monkeypatch.chdir(root)
        if not (root / ".git").is_dir():
            git("init", "--quiet", "--initial-branch=main", cwd=root)
        git("add", "--all", "--force", cwd=root)
        git("commit", "--quiet", "--message", "all", cwd=root)

    return commit


def test_a_bundle_by_itself(sides: Path) -> None:
    write(sides / "new", {f"{BUNDLE}/evil.yaml": EVIL})
    done = olmc("diff", f"old/{BUNDLE}", f"new/{BUNDLE}")
    assert done.exit_code == 1
    assert f"File/evil.yaml: {LEFT_OUT}in the folder of a bundle" in done.stdout
    left = f"  new/{BUNDLE}/evil.yaml: ClusterRoleBinding/evil; in the folder of a bundle"
    assert left in olmc("rbac", f"new/{BUNDLE}").stderr
    write(sides / "new", {f"{BUNDLE}/.olmcignore": "manifests/evil.yaml\n", f"{BUNDLE}/manifests/evil.yaml": EVIL})
    assert ADMIN in olmc("diff", f"old/{BUNDLE}", f"new/{BUNDLE}").stdout


def test_the_tests_of_a_bundle_by_itself_are_no_risk(sides: Path) -> None:
    """No tool applies the folder of a bundle that is compared, or checked, by itself."""
    write(sides / "new", {f"{BUNDLE}/tests/scorecard/kuttl/first/00-assert.yaml": EVIL})
    done = json.loads(olmc("diff", f"old/{BUNDLE}", f"new/{BUNDLE}", "-o", "json").stdout)
    assert [(change["kind"], change["gravity"]) for change in done["changes"]] == [("LeftOutAdded", "change")]
    assert "OLMC173" not in olmc("check", f"new/{BUNDLE}").stdout
    assert [change["gravity"] for change in json.loads(olmc("diff", "old", "new", "-o", "json").stdout)["changes"]] == [
        "risk"
    ]
    assert "OLMC173" in olmc("check", "new").stdout


def test_a_check_finds_what_is_left_out(sides: Path) -> None:
    """As a warning, and as information where somebody chose to leave it out; no comment in it says it is accepted."""
    write(sides / "new", {".x/evil.yaml": f"# olmc: ignore[OLMC173] mine\n{EVIL}"})
    assert ".x/evil.yaml: warning: left out, and applied by" in olmc("check", "new").stdout
    assert olmc("check", "new", "--select", "OLMC173", "--strict").exit_code == 1
    accepted = "  suppress:\n  - {code: OLMC173, path: .x/, reason: ours}\n"
    write(sides / "new", {"olmc.yaml": CONFIG + accepted})
    done = olmc("check", "new", "--select", "OLMC173", "--strict")
    assert (done.exit_code, done.stdout) == (
        0, "no findings (1 bundle validated, 1 suppressed, 1 object in 1 file left out)\n",
    )  # fmt: skip
    write(sides / "new", {".olmcignore": ".x/\n"})
    assert "left out: 1 object in 1 file (1 ClusterRoleBinding); named by" in olmc("check", "new", "--all").stdout
    assert "warning: left out" not in olmc("check", "new").stdout
    for output in ("json", "github", "sarif", "junit"):
        assert "1 object in 1 file\n" in olmc("check", "new", "-o", output).stderr


def test_render_says_it_to_whoever_asks(sides: Path) -> None:
    write(sides / "new", {".x/evil.yaml": EVIL})
    assert olmc("render", "new").stderr == ""
    said = olmc("render", "new", "-v").stderr
    assert "1 object in 1 file\n  new/.x/evil.yaml: ClusterRoleBinding/evil; in a hidden" in said
    assert "\n  new/.x/evil.yaml: ClusterRoleBinding/evil" in olmc("render", "old", "new", "-v").stderr
    assert "\n  new/.x/evil.yaml: ClusterRoleBinding/evil" in olmc("status", "old", "new").stderr


def test_many_files_are_told_in_a_few_lines(sides: Path) -> None:
    write(sides / "new", {f".x/{number}.yaml": EVIL.replace("evil", f"evil-{number}") for number in range(20)})
    said = olmc("rbac", "new").stderr
    assert "20 objects in 20 files\n" in said
    assert said.endswith("  and 15 files more; olmc check --all new lists them\n")
    assert said.count("\n") == 7


def test_an_absent_side_hides_nothing(sides: Path) -> None:
    """In a pull request that adds a workspace, its settings do not count either."""
    write(sides / "new", {"evil.yaml": EVIL, "olmc.yaml": f"{CONFIG}  exclude: [ClusterRoleBinding]\n"})
    done = olmc("diff", "nowhere", "new", "--allow-empty")
    assert ADMIN in done.stdout
    assert 'spec.exclude: ["ClusterRoleBinding"] (new)' in done.stdout


def typed_list(kind: str, more: str = "") -> str:
    """A list whose item leaves out what it is: kubectl takes that from the list."""
    head, _, item = EVIL.partition("kind: ClusterRoleBinding\n")
    return f"{head}kind: {kind}\n{more}items:\n- " + indented(item) + "\n"


@pytest.mark.parametrize("more", ["", "metadata:\n  name: list\n"])
@pytest.mark.parametrize("kind", ["ClusterRoleBindingList", "ClusterRoleBinding"])
def test_a_typed_list_hides_no_binding(kind: str, more: str, sides: Path) -> None:
    write(sides / "new", {"evil.yaml": typed_list(kind, more)})
    assert ADMIN in olmc("diff", "old", "new").stdout
    assert "ServiceAccount harbour/default: critical" in olmc("rbac", "new").stdout


def test_a_typed_list_hides_no_binding_where_it_is_left_out(sides: Path) -> None:
    write(sides / "new", {f"{BUNDLE}/evil.yaml": typed_list("ClusterRoleBindingList")})
    assert LEFT_OUT in olmc("diff", "old", "new").stdout


def test_a_list_without_a_kind_of_its_items_gives_them_none(sides: Path) -> None:
    write(sides / "new", {"evil.yaml": typed_list("List")})
    assert olmc("diff", "old", "new").exit_code == 0
    assert "evil.yaml:4:3: info: evil.yaml holds a document without apiVersion" in olmc("check", "new", "--all").stdout


def add_bundle(side: Path, name: str, package: str) -> None:
    """A copy of the workspace's bundle under another name and of a package, with the binding among its manifests."""
    shutil.copytree(side / BUNDLE, side / "bundles" / name)
    for path in sorted((side / "bundles" / name).rglob("*.yaml")):
        text = path.read_text(encoding="utf-8").replace("beacon.v1.0.0", name)
        path.write_text(text.replace("package.v1: beacon", f"package.v1: {package}"), encoding="utf-8")
    write(side, {f"bundles/{name}/manifests/e.yaml": EVIL})


@pytest.mark.parametrize("catalogs", [True, False])
def test_a_bundle_that_nothing_installs_hides_no_binding(catalogs: bool, sides: Path) -> None:
    for side in ("old", "new"):
        if not catalogs:
            shutil.rmtree(sides / side / "catalogs")
    add_bundle(sides / "new", "foo", "foo")
    told = "ClusterRoleBinding/evil; in a bundle that nothing installs"
    assert f"File/bundles/foo/manifests/e.yaml: {LEFT_OUT}in a bundle that" in olmc("diff", "old", "new").stdout
    for command in ("status", "rbac", "check"):
        done = olmc(command, "new")
        assert told in done.stdout + done.stderr, command


def test_a_bundle_that_a_catalog_lists_is_told_of_no_more_than_before(sides: Path) -> None:
    """Versions that nobody has yet are what catalogs are for."""
    add_bundle(sides / "new", "foo", "beacon")
    channel = "schema: olm.channel\npackage: foo\nname: stable\nentries:\n- name: foo\n"
    package = "schema: olm.package\nname: foo\ndefaultChannel: stable\n---\n"
    bundle = "---\nschema: olm.bundle\nname: foo\npackage: foo\nimage: registry.example.com/foo:1\n"
    version = "properties:\n- type: olm.package\n  value: {packageName: foo, version: 1.0.0}\n"
    write(sides / "new", {"catalogs/harbour/foo.yaml": package + channel + bundle + version})
    assert "nothing installs" not in olmc("diff", "old", "new").stdout
    assert "nothing installs" not in olmc("status", "new").stdout


def test_a_bundle_by_itself_is_what_somebody_installs() -> None:
    done = olmc("status", f"new/{BUNDLE}")
    assert "nothing installs" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "tool"),
    [("kustomization.yaml", "Kustomize"), (".x/kustomization.yml", "Kustomize"), ("a/Kustomization", "Kustomize"),
     ("a/Chart.yaml", "Helm"), ("a.jsonnet", "Jsonnet"), ("lib/a.libsonnet", "Jsonnet")],
)  # fmt: skip
def test_what_other_tools_build_a_folder_with_is_told(name: str, tool: str, sides: Path) -> None:
    """Whoever adds such a file changes what is applied, with no object in it."""
    write(sides / "new", {name: "resources: [a]\n", ".olmcignore": "kustomization.*\n*sonnet\n"})
    write(sides / "old", {".olmcignore": "kustomization.*\n*sonnet\n"})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    sentence = f"GitOps tools build this folder with {tool}, and olmc cannot compare the results  [risk]"
    assert f"File/{name}: + new: {sentence}" in done.stdout
    assert f"File/{name}: - gone: GitOps tools no longer build" in olmc("diff", "new", "old").stdout
    write(sides / "old", {name: "resources: [b]\n"})
    assert f"File/{name}: ~ another content: {sentence}" in olmc("diff", "old", "new").stdout
    write(sides / "old", {name: "resources: [a]\n"})
    assert olmc("diff", "old", "new").exit_code == 0
    data = json.loads(olmc("diff", "old", "new", "-o", "json").stdout)
    assert list(Draft202012Validator(schema("diff")).iter_errors(data)) == []


CHART: Files = {
    "chart/Chart.yaml": "apiVersion: v2\nname: pier\nversion: 1.0.0\n",
    "chart/values.yaml": "role: view\n",
    "chart/templates/rights.yaml": EVIL.replace("cluster-admin", "{{ .Values.role }}"),
    "chart/templates/_names.tpl": '{{ define "name" }}a{{ end }}\n',
    "chart/files/more.txt": "a\n",
    "chart/charts/quay/Chart.yaml": "apiVersion: v2\nname: quay\nversion: 1.0.0\n",
    "chart/charts/quay/values.yaml": "role: view\n",
    "chart/charts/reef-1.0.0.tgz": "packed\n",
}
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: pier}\nspec: {paused: false}\n"
# What is in a folder that is built with a tool, which file of it changes, and the file that makes it a build.
READ: dict[str, tuple[Files, str, str]] = {
    **{f"helm-{path}": (CHART, path, "chart/Chart.yaml") for path in (
        "chart/values.yaml", "chart/templates/_names.tpl", "chart/files/more.txt", "chart/charts/reef-1.0.0.tgz",
    )},
    "helm-in-a-chart": (CHART, "chart/charts/quay/values.yaml", "chart/charts/quay/Chart.yaml"),
    **{f"kustomize-{field}": ({"apps/kustomization.yaml": text, f"apps/{name}": content}, f"apps/{name}",
                              "apps/kustomization.yaml") for field, text, name, content in (
        ("resources", "resources: [x.txt]\n", "x.txt", EVIL),
        ("patches", "patches: [{path: p.yaml}]\n", "p.yaml", PATCH),
        ("patchesStrategicMerge", "patchesStrategicMerge: [./p.yaml]\n", "p.yaml", PATCH),
        ("replacements", "replacements: [{path: r/r}]\n", "r/r", "source: {}\n"),
        ("openapi", "openapi: {path: o.json}\n", "o.json", "{}\n"),
        ("files", "configMapGenerator: [{name: a, files: [key=sub/a.ini]}]\n", "sub/a.ini", "a\n"),
        ("envs", "secretGenerator: [{name: a, envs: [a.env]}]\n", "a.env", "a=b\n"),
        ("values", "helmCharts: [{name: a, valuesFile: v.yaml}]\n", "v.yaml", "role: view\n"),
        ("more-values", "helmCharts: [{name: a, additionalValuesFiles: [v]}]\n", "v", "role: view\n"),
        ("transformers", "transformers: [t]\n", "t", "kind: PatchTransformer\n"),
        ("inline", "generators:\n- |-\n  kind: A\n  path: a/p.txt\n", "a/p.txt", "a\n"),
        ("a-folder", "generators:\n- |-\n  kind: PolicyGenerator\n  path: a\n", "a/p.txt", "a\n"),
    )},
    "kustomize-a-plugin-in-a-file": (
        {"a/kustomization.yaml": "transformers: [t]\n", "a/t": "kind: PatchTransformer\npath: p\n", "a/p": PATCH},
        "a/p", "a/kustomization.yaml",
    ),
    **{f"jsonnet-{path}": ({"env/a.jsonnet": f'local x = {how} "{name}";\nx\n', path: "a\n"}, path, "env/a.jsonnet")
       for how, name, path in (
        ("importstr", "x.txt", "env/x.txt"), ("import", "../b.json", "b.json"), ("importbin", "c/d", "vendor/c/d"),
        ("importstr", "e.txt", "lib/e.txt"),
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(READ, 5))
def test_what_a_build_reads_is_told(name: str, sides: Path) -> None:
    """It comes, it changes, it goes: what is applied of the folder is another one, and no object in it is."""
    files, path, lead = READ[name]
    for side in ("old", "new"):
        write(sides / side, files)
    assert "built with" not in olmc("diff", "old", "new").stdout
    assert "to build this with" not in olmc("diff", "old", "new").stdout
    text = (sides / "new" / path).read_text(encoding="utf-8")
    (sides / "new" / path).write_text(text + "more: 1\n", encoding="utf-8")
    done = olmc("diff", "old", "new")
    assert done.exit_code == 1
    tool = {"c": "Helm", "e": "Jsonnet"}.get(lead[0], "Kustomize")
    sentence = f"{path}; GitOps tools build this folder with {tool}, and olmc cannot compare the results  [risk]"
    assert f"File/{lead}: ~ another content of what this is built with: {sentence}" in unfolded(done.stdout)
    (sides / "old" / path).unlink()
    assert f"File/{lead}: + more to build this with: {sentence}" in unfolded(olmc("diff", "old", "new").stdout)
    done = olmc("diff", "new", "old")
    assert f"File/{lead}: - no longer there to build this with: {sentence}" in unfolded(done.stdout)
    data = json.loads(olmc("diff", "old", "new", "-o", "json").stdout)
    assert list(Draft202012Validator(schema("diff")).iter_errors(data)) == []


def test_a_build_that_is_new_is_one_line(sides: Path) -> None:
    write(sides / "new", CHART)
    (line,) = (line for line in unfolded(olmc("diff", "old", "new").stdout).splitlines() if "Helm, and olmc" in line)
    assert line.startswith(
        "  File/chart/Chart.yaml, chart/charts/quay/Chart.yaml: + new: GitOps tools build this folder"
    )


def test_many_files_of_a_build_are_one_line(sides: Path) -> None:
    for side, text in (("old", "a"), ("new", "b")):
        write(sides / side, {**CHART, **{f"chart/files/{number:02}": text for number in range(40)}})
    (line,) = (line for line in unfolded(olmc("diff", "old", "new").stdout).splitlines() if "built with" in line)
    assert "chart/files/11 and 28 more; GitOps tools" in line


def test_objects_that_a_kustomization_lists_are_compared_as_objects(sides: Path) -> None:
    """They are compiled, and so is what a comment in them says: nothing."""
    for side in ("old", "new"):
        write(sides / side, {"apps/kustomization.yaml": "resources: [a.yaml]\n", "apps/a.yaml": EVIL})
    write(sides / "new", {"apps/a.yaml": f"# Ours.\n{EVIL}"})
    assert olmc("diff", "old", "new").exit_code == 0
    write(sides / "new", {"apps/a.yaml": EVIL.replace("cluster-admin", "view")})
    done = olmc("diff", "old", "new")
    assert done.exit_code == 0 or "ClusterRoleBinding/evil" in done.stdout
    assert "built with" not in done.stdout


def test_a_kustomization_that_names_too_much_may_name_any_file(sides: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_files, "_MOST_PATHS", 5)
    names = ", ".join(f"a{number}" for number in range(5))
    for side in ("old", "new"):
        write(sides / side, {"apps/kustomization.yaml": f"resources: [{names}, x.txt]\n", "apps/x.txt": "a"})
    write(sides / "new", {"apps/x.txt": "b"})
    assert "another content of what this is built with: apps/x.txt" in olmc("diff", "old", "new").stdout


def test_the_mark_of_olmc_hides_no_kustomization_that_does_more(sides: Path) -> None:
    """One that names the files beside it is as olmc render writes it."""
    head = f"{GENERATED}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    write(sides / "new", {"out/kustomization.yaml": f"{head}resources:\n- a.yaml\n"})
    assert olmc("diff", "old", "new").exit_code == 0
    for more in ("resources:\n- https://example.com/a.yaml\n", "resources:\n- a.yaml\nnamespace: other\n"):
        write(sides / "new", {"out/kustomization.yaml": f"{head}{more}"})
        assert "File/out/kustomization.yaml: + new: GitOps" in olmc("diff", "old", "new").stdout


def test_a_broken_file_among_the_manifests_of_a_bundle_is_told_as_such(sides: Path) -> None:
    write(sides / "new", {f"{BUNDLE}/manifests/evil.yaml": f"{EVIL}a: [\n"})
    done = olmc("status", "new")
    told = "unreadable content; in the folder of a bundle, in a file that can't be read"
    assert told in done.stdout + done.stderr
    assert "not among its manifests" not in done.stdout + done.stderr
