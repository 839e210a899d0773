"""`olmc diff`: its sides, outputs and exit codes (docs/diff.md)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from commands import BROKEN, git, olmc
from cpu_time import measure
from jsonschema import Draft202012Validator
from scenarios import write

from olmc.cli.main import main
from olmc.compiler.load import helm
from olmc.compiler.load.files import scan_everything
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read
from olmc.resources import schema

needs_helm = pytest.mark.skipif(
    not (shutil.which("helm") or find_spec(helm.LIBRARY)), reason="needs helm, or the extra olmc[helm]"
)

BEFORE, AFTER = "review-upgrade/before", "review-upgrade/after"


def copied(source: Path, target: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())


@pytest.fixture
def repository(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with the workspace `before` in its tag v1 and `after` in v2, both in clusters/tower."""
    root = tmp_path / "repository"
    root.mkdir()
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    for tag, side in (("v1", BEFORE), ("v2", AFTER)):
        copied(project / "fixtures" / side, root / "clusters" / "tower")
        git("add", "--all", cwd=root)
        git("commit", "--quiet", "--message", tag, cwd=root)
        git("tag", tag, cwd=root)
    monkeypatch.chdir(root)
    return root


def test_workspaces_that_differ() -> None:
    result = olmc("diff", BEFORE, AFTER)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "(16 changes, 4 breaking, 3 risks; " in result.stdout.splitlines()[1]


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: kettle\nversion: 1.0.0\n",
    "values.yaml": "name: kettle\n",
    "templates/extension.yaml": """\
{{- if .Values.name }}
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: kettle}
spec:
  namespace: tools
  serviceAccount: {name: kettle}
  source: {sourceType: Catalog, catalog: {packageName: kettle}}
{{- end }}
""",
}


def test_a_repository_with_a_chart_is_no_rendering(tmp_path: Path) -> None:
    """Templates of a chart are no objects, so their syntax is no mistake of the repository."""
    for side in "ab":
        write(tmp_path / side, {f"charts/kettle/{path}": text for path, text in CHART.items()})
    result = olmc("diff", str(tmp_path / "a"), str(tmp_path / "b"))
    assert "OLMC100" not in result.output
    assert "1 of its folders can be applied alone [OLMC195]\n" in result.output


@pytest.mark.parametrize("is_rendered", [False, pytest.param(True, marks=needs_helm)])
def test_the_mark_of_a_linked_work_tree_is_no_file_of_a_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_rendered: bool
) -> None:
    root, linked = tmp_path / "repository", tmp_path / "linked"
    write(root, CHART)
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "chart", cwd=root)
    git("worktree", "add", "--quiet", "--detach", str(linked), cwd=root)
    assert (linked / ".git").is_file()
    assert sorted(scan_everything(linked).walk()) == sorted(CHART)
    if is_rendered:
        monkeypatch.chdir(linked)
        result = olmc("diff", "git:HEAD", ".")
        assert "no change" in result.stdout, result.output


@pytest.mark.parametrize("output", ["text", "markdown", "json", "html"])
def test_the_same_workspace(output: str) -> None:
    result = olmc("diff", AFTER, AFTER, "-o", output)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "no change" in result.stdout or json.loads(result.stdout)["changes"] == []


@pytest.mark.parametrize("name", ["upgrade", "admission-webhooks", "conversion-webhook", "multi-namespace"])
def test_a_rendering_is_the_same_as_its_workspace(name: str, tmp_path: Path) -> None:
    """Whether it is one file of YAML or JSON, or a folder."""
    for output in ("yaml", "json"):
        (tmp_path / f"all.{output}").write_text(olmc("render", name, "-o", output).stdout, encoding="utf-8")
    olmc("render", name, "--output-dir", tmp_path / "folder")
    sides = (name, tmp_path / "all.yaml", tmp_path / "all.json", tmp_path / "folder")
    for side in sides[1:]:
        result = olmc("diff", name, side)
        assert (result.exit_code, result.stderr) == (0, ""), result.stdout


def test_a_stream_in_a_folder_is_a_rendering(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(olmc("render", BEFORE).stdout, encoding="utf-8")
    assert olmc("diff", BEFORE, tmp_path).exit_code == 0


def test_plain_objects_are_compared_as_they_are(tmp_path: Path) -> None:
    for side, value in (("old", "a"), ("new", "b")):
        (tmp_path / side).mkdir()
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: n}}\ndata: {{x: {value}}}\n"
        (tmp_path / side / "c.yaml").write_text(text, encoding="utf-8")
    result = olmc("diff", tmp_path / "old", tmp_path / "new")
    assert result.exit_code == 0
    assert "~ data.x: a → b" in result.stdout


def test_bundles_with_the_options_of_render() -> None:
    bundles = [f"{AFTER}/bundles/lantern-{version}" for version in ("1.1.0", "1.2.0")]
    result = olmc("diff", *bundles, "-n", "tools", "--watch", "a,b")
    assert result.exit_code == 0
    assert "ClusterServiceVersion/tools/lantern.v1.2.0" in result.stdout
    assert "lantern 1.1.0 → 1.2.0, in one hop (replaces)" in result.stdout


def test_for_apply() -> None:
    result = olmc("diff", BEFORE, AFTER, "--for", "apply")
    assert result.exit_code == 0
    assert "ClusterServiceVersion" not in result.stdout
    assert "lantern :v1.0.0 → :v1.2.0" in result.stdout


def test_json_obeys_its_schema() -> None:
    data = json.loads(olmc("diff", BEFORE, AFTER, "-o", "json").stdout)
    assert list(Draft202012Validator(schema("diff")).iter_errors(data)) == []
    upgrade = data["changes"][0]
    assert upgrade["kind"] == "OperatorUpgraded"
    assert upgrade["details"]["path"]["hops"][1] == {
        "source": "lantern.v1.1.0", "target": "lantern.v1.2.0", "kind": "replaces",
    }  # fmt: skip
    added = next(change for change in data["changes"] if change["details"].get("variable") == "KEEPER")
    assert "old" not in added["details"]
    assert added["details"]["new"] == "tower"


def test_an_upgrade_that_olm_does_not_make(tmp_path: Path, project: Path) -> None:
    """The catalog is asked where OLM leads: in a channel that begins with 1.2.0, nothing replaces 1.0.0."""
    copied(project / "fixtures" / AFTER, tmp_path)
    with (tmp_path / "catalogs" / "harbour" / "catalog.yaml").open("a", encoding="utf-8") as catalog:
        catalog.write("---\nschema: olm.channel\npackage: lantern\nname: fast\nentries: [{name: lantern.v1.2.0}]\n")
    operators = tmp_path / "operators.yaml"
    text = operators.read_text(encoding="utf-8").replace("v1.0.0", "v1.2.0").replace("channel: stable", "channel: fast")
    operators.write_text(text, encoding="utf-8")
    stays = "lantern stays at 1.0.0: its channel in catalog harbour has neither this version nor an upgrade from it"
    comes_to_rest = "lantern 1.0.0 → 1.2.0; OLM does not lead there: it stays at lantern.v1.0.0  [breaking]"
    for options, said in (((), f"{stays}  [risk]"), (("--fresh",), comes_to_rest)):
        result = olmc("diff", BEFORE, tmp_path, *options)
        assert result.exit_code == 0
        assert said in result.stdout
        assert "~ channel: stable → fast" in result.stdout


def test_revisions(repository: Path) -> None:
    result = olmc("diff", "git:v1:clusters/tower", "git:v2:clusters/tower")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "16 changes" in result.stdout
    assert git("status", "--porcelain", cwd=repository) == ""


@pytest.mark.slow
def test_a_revision_against_the_work_tree(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path it is that of the other side, or the current directory; ./ counts from there."""
    assert olmc("diff", "git:v2", "clusters/tower").exit_code == 0
    assert olmc("diff", "clusters/tower", "git:v2").exit_code == 0
    assert olmc("diff", "git:v1", "git:v2:clusters/tower").exit_code == 0
    monkeypatch.chdir(repository / "clusters" / "tower")
    assert olmc("diff", "git:v2", ".").exit_code == 0
    assert olmc("diff", "git:v2", "git:v2").exit_code == 0
    assert olmc("diff", "git:v1:./", ".").exit_code == 0
    monkeypatch.chdir(repository / "clusters")
    assert olmc("diff", "git:v2:./tower", "tower").exit_code == 0


def test_a_file_of_a_revision(repository: Path) -> None:
    (repository / "all.yaml").write_text(olmc("render", "clusters/tower").stdout, encoding="utf-8")
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--message", "rendered", cwd=repository)
    assert olmc("diff", "git:HEAD:all.yaml", "clusters/tower").exit_code == 0


def test_a_bare_repository(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("clone", "--quiet", "--bare", repository, tmp_path / "bare", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "bare")
    assert olmc("diff", "git:v1:clusters/tower", "git:v2:clusters/tower").exit_code == 0


def test_the_work_tree_and_the_index_are_not_touched(repository: Path) -> None:
    """Not even to refresh what git knows of them; nor is anything of the repository run."""
    (repository / "clusters" / "tower" / "operators.yaml").write_text("a: b\n", encoding="utf-8")
    canary = repository.parent / "canary"
    for key in ("core.fsmonitor", "core.pager", "filter.x.smudge", "diff.external"):
        git("config", key, f"touch {canary}", cwd=repository)
    index = (repository / ".git" / "index").stat()
    olmc("diff", "git:v1:clusters/tower", "git:v2:clusters/tower")
    after = (repository / ".git" / "index").stat()
    assert (index.st_mtime_ns, index.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert (repository / "clusters" / "tower" / "operators.yaml").read_text(encoding="utf-8") == "a: b\n"
    assert not canary.exists()


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("git:v3", "git knows no v3 in this repository [OLMC483] Did you mean git:v2 or git:v1?"),
        ("git:nothing-alike", "git knows no nothing-alike in this repository [OLMC483] Fetch it first"),
        ("git:--all", "git knows no --all in this repository"),
        ("git:", "git knows no revision without a name"),
        ("git:v1:nowhere", "v1 has no nowhere [OLMC484] Paths are those from the top of the repository"),
        ("git:v1:clusters/towr", "v1 has no clusters/towr; did you mean clusters/tower? [OLMC484] Paths are those"),
        ("git:v1:cluster/tower", "v1 has no cluster/tower; did you mean clusters/tower? [OLMC484] Paths are those"),
        ("nowhere", "nowhere does not exist [OLMC480]"),
        ("v1", "v1 does not exist; did you mean git:v1? [OLMC480]"),
        ("git:v1~7", "git knows no v1~7 in this repository [OLMC483] The history of v1 has 1 commit."),
    ],
)
def test_sides_that_there_are_not(side: str, said: str, repository: Path) -> None:  # noqa: ARG001
    result = olmc("diff", side, "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert said in " ".join(result.stderr.split())


def test_a_path_from_here_is_suggested(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "clusters")
    result = olmc("diff", "git:v1:tower", "git:v2:tower")
    assert result.exit_code == 3
    assert "v1 has no tower; did you mean ./tower? [OLMC484]" in result.stderr


def test_the_branch_of_the_remote_is_suggested(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "release", cwd=repository)
    git("clone", "--quiet", repository, tmp_path / "clone", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "clone")
    result = olmc("diff", "git:release", "clusters/tower")
    assert "Did you mean git:origin/release?" in result.stderr


def test_a_shallow_clone(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("clone", "--quiet", "--depth=1", "--no-tags", f"file://{repository}", tmp_path / "clone", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "clone")
    result = olmc("diff", "git:stable-4", "clusters/tower")
    assert result.exit_code == 3
    assert "The clone is shallow" in result.stderr


def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    result = olmc("diff", "git:main", ".")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "git:main can't be read: not a git repository" in result.stderr


@pytest.mark.slow
def test_without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = olmc("diff", "git:main", ".")
    assert result.exit_code == 3
    assert "git can't be run: No such file or directory" in result.stderr


def test_a_side_may_be_absent_if_told_so(repository: Path) -> None:  # noqa: ARG001
    """A new workspace in a pull request has nothing to be compared with."""
    for side in ("git:v1:clusters/new", "clusters/new"):
        result = olmc("diff", side, "clusters/tower", "--allow-empty")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "+ new operator lantern 1.2.0" in result.stdout


def test_a_side_with_nothing_for_olm_is_empty(tmp_path: Path) -> None:
    """As everywhere: exit code 0, and a note."""
    result = olmc("diff", tmp_path, AFTER)
    assert (result.exit_code, "[OLMC183]" in result.stderr) == (0, True)
    assert "+ new operator lantern 1.2.0" in result.stdout
    assert olmc("diff", tmp_path, AFTER, "--allow-empty").stderr == ""


def test_a_side_without_objects_is_refused() -> None:
    """Bundles that nothing installs are files for OLM, and give none."""
    result = olmc("diff", f"{AFTER}/bundles", AFTER)
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{AFTER}/bundles gives no objects [OLMC481]" in result.stderr


def test_a_side_with_errors_is_not_compared(tmp_path: Path) -> None:
    """The place begins with the side's name; nothing goes to stdout."""
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["diff", str(AFTER), str(tmp_path)])
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{tmp_path}/b.yaml:" in result.stderr


def test_a_file_with_errors(tmp_path: Path) -> None:
    """The place is that of the file, as it was given."""
    (tmp_path / "b.yaml").write_text("kind: A\napiVersion: v1\nmetadata: {name: [\n", encoding="utf-8")
    result = olmc("diff", AFTER, tmp_path / "b.yaml")
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{tmp_path}/b.yaml:" in result.stderr
    assert "b.yaml/" not in result.stderr


def test_no_object_of_a_rendering_is_dropped(tmp_path: Path) -> None:
    """One that the API server would refuse makes the rendering unfit; the line is that of the file."""
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n"
    text += "apiVersion: v1\nkind: B\nmetadata: {name: b, labels: {x: 1}}\n"
    (tmp_path / "b.yaml").write_text(text, encoding="utf-8")
    result = olmc("diff", AFTER, tmp_path / "b.yaml")
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{tmp_path}/b.yaml:7:" in result.stderr
    assert "(put it in quotes)" in result.stderr


def test_an_object_without_a_name_is_an_error_of_a_rendering(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}}\n", encoding="utf-8")
    result = olmc("diff", AFTER, tmp_path / "b.yaml")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "this Pod has no metadata.name" in result.stderr


@pytest.mark.parametrize("arguments", [[AFTER], [], [AFTER, AFTER, "-o", "yaml"], [AFTER, AFTER, "--kube-version", "x"],
                                       [AFTER, AFTER, "--watch", "a", "--all-namespaces"]])  # fmt: skip
def test_wrong_usage(arguments: list[str]) -> None:
    assert olmc("diff", *arguments).exit_code == 2


def test_a_link_leads_nowhere_else(repository: Path) -> None:
    """A link of a revision that leaves the folder is not followed, whatever is there on this machine."""
    secret = repository.parent / "secret.yaml"
    secret.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: secret}\n", encoding="utf-8")
    (repository / "clusters" / "tower" / "link.yaml").symlink_to(secret)
    (repository / "clusters" / "tower" / "inside.yaml").symlink_to("operators.yaml")
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--message", "links", cwd=repository)
    result = olmc("diff", "git:v2", "git:HEAD:clusters/tower", "-v")
    assert result.exit_code == 0
    shown = "left out, and applied by other tools: content that olmc does not read; behind a link that is not followed"
    assert result.stdout.splitlines()[3:] == ["Risks", f"  File/link.yaml: + {shown}  [risk]"]
    assert "git:HEAD:clusters/tower/link.yaml:1:1: warning: link.yaml is a symbolic link" in result.stderr


def tree(root: Path, *entries: tuple[str, str, str]) -> str:
    """A tree made by hand: entries of mode, name and the object, which git's own commands may refuse to make."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(obj) for mode, name, obj in entries)
    done = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=root, input=raw, check=True,
        capture_output=True,
    )  # fmt: skip
    return done.stdout.decode().strip()


def blob(root: Path, text: str) -> str:
    done = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=root, input=text.encode(), check=True,
                          capture_output=True)  # fmt: skip
    return done.stdout.decode().strip()


CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"


@pytest.mark.parametrize("name", ["..", ".git", "a/../../b", ".GIT"])
def test_hostile_paths(name: str, repository: Path) -> None:
    """Nothing is written outside of the folder, and the revision is refused."""
    inner = tree(repository, ("100644", "escaped.yaml", blob(repository, CONFIG_MAP)))
    made = tree(repository, ("40000", name, inner), ("100644", "z.yaml", blob(repository, CONFIG_MAP)))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "OLMC485" in result.stderr
    assert not list(repository.parent.glob("**/escaped.yaml"))


def test_a_file_below_a_link(repository: Path) -> None:
    """A tree can name a link and files below it; they are not written through the link."""
    target = repository.parent / "target"
    target.mkdir()
    inner = tree(repository, ("100644", "escaped.yaml", blob(repository, CONFIG_MAP)))
    made = tree(repository, ("120000", "a", blob(repository, str(target))), ("40000", "a", inner))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "a is there twice" in result.stderr
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("aim", ["", "a\0b"])
def test_a_link_to_nothing(aim: str, repository: Path) -> None:
    made = tree(repository, ("120000", "a", blob(repository, aim)), ("100644", "b.yaml", blob(repository, CONFIG_MAP)))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "a is a link to nothing" in result.stderr


def test_a_name_that_no_file_can_have(repository: Path) -> None:
    made = tree(repository, ("100644", f"{'a' * 300}.yaml", blob(repository, CONFIG_MAP)))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "can't be read: File name too long" in result.stderr


def test_a_pointer_of_lfs(repository: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    name = blob(repository, pointer)
    made = tree(repository, ("100644", "big.yaml", name), ("100644", "logo.png", name))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert result.exit_code == 3
    assert "big.yaml is a pointer of Git LFS" in result.stderr
    assert "logo.png" not in result.stderr


def test_a_submodule(repository: Path) -> None:
    commit = git("rev-parse", "HEAD", cwd=repository)
    made = tree(repository, ("100644", "a.yaml", blob(repository, CONFIG_MAP)), ("160000", "module", commit))
    result = olmc("diff", f"git:{made}:", "clusters/tower", "-v")
    assert result.exit_code == 0
    assert "module is a submodule; what is in it is not compared" in result.stderr


def test_another_commit_of_a_submodule_is_a_change(repository: Path) -> None:
    """What is in it is not known, but a tool that fetches submodules applies it."""
    config_map, commits = ("100644", "a.yaml", blob(repository, CONFIG_MAP)), ("v1", "v2")
    old, new = (
        tree(repository, config_map, ("160000", "module", git("rev-parse", commit, cwd=repository)))
        for commit in commits
    )
    assert olmc("diff", f"git:{old}:", f"git:{old}:", "--exit-code").exit_code == 0
    result = olmc("diff", f"git:{old}:", f"git:{new}:", "--fail-on", "risk")
    assert result.exit_code == 1
    assert "File/module: ~ another content: git puts a commit of another repository here" in result.stdout


def test_a_blob_that_is_not_there(repository: Path) -> None:
    """As in a partial clone: nothing is fetched."""
    made = tree(repository, ("100644", "a.yaml", "ab" * 20))
    result = olmc("diff", f"git:{made}:", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "OLMC482" in result.stderr


@pytest.mark.parametrize("lacks", [pytest.param("blob:none", marks=pytest.mark.slow), "tree:0"])
def test_the_way_out_of_a_partial_clone(
    lacks: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("config", "uploadpack.allowFilter", "true", cwd=repository)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=repository)
    git("clone", "--quiet", f"--filter={lacks}", repository.as_uri(), "partial", cwd=tmp_path)
    monkeypatch.chdir(tmp_path / "partial")
    result = olmc("diff", "git:v1:clusters/tower", "clusters/tower")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error: git:v1:clusters/tower can't be read: " in result.stderr
    assert "hint: " not in result.stderr
    assert "fetch all with `git fetch --refetch --no-filter`" in result.stderr
    git("fetch", "--quiet", "--refetch", "--no-filter", cwd=tmp_path / "partial")
    result = olmc("diff", "git:v1:clusters/tower", "clusters/tower")
    assert (result.exit_code, result.stderr) == (0, "")


def test_options_from_the_environment() -> None:
    assert olmc("diff", BEFORE, AFTER, env={"OLMC_DIFF_OUTPUT": "json"}).stdout.startswith("{")


@pytest.fixture(scope="module")
def bench(benchmark: Callable[[str], ModuleType]) -> ModuleType:
    """The benchmark, which makes the renderings of the figure."""
    return benchmark("diff")


@pytest.mark.slow
def test_five_thousand_objects(bench: ModuleType, tmp_path: Path) -> None:
    """The figure is 3 s of CPU (`bench/diff.py`); twice that leaves room for a slow and busy machine."""
    for name, upgraded in (("old", 0), ("new", 100)):
        (tmp_path / f"{name}.yaml").write_text(bench.rendering(5000, upgraded), encoding="utf-8")
    seconds = measure()
    result = olmc("diff", tmp_path / "old.yaml", tmp_path / "new.yaml", "--all")
    assert seconds() < 6
    assert result.exit_code == 0
    assert result.stdout.count(" (replaces)") == 100
    assert "4000 copied CSVs" in result.stdout


@pytest.mark.slow
def test_sparing_changes_nothing(bench: ModuleType, tmp_path: Path) -> None:
    """What is not read because it is the same, or a copy, is not missed: JSON, which is always read, says as much."""
    for name, upgraded in (("old", 0), ("new", 1)):
        text = bench.rendering(120, upgraded)
        documents = [document.value for document in read("a.yaml", text, Report())]
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        listed = {"apiVersion": "v1", "kind": "List", "items": documents}
        (tmp_path / f"{name}.json").write_text(json.dumps(listed), encoding="utf-8")
    pairs = [[tmp_path / f"{name}.{end}" for name in ("old", "new")] for end in ("yaml", "json")]
    spared, whole = (json.loads(olmc("diff", *pair, "-o", "json").stdout) for pair in pairs)
    assert spared["changes"] == whole["changes"] != []
    assert spared["summary"] == whole["summary"]


def test_color_is_for_terminals_and_for_those_who_ask() -> None:
    plain, painted = (olmc(*more, "diff", BEFORE, AFTER).stdout for more in ([], ["--color", "always"]))
    assert "\x1b" not in plain
    assert "\x1b[1;31m[breaking]\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


@pytest.mark.parametrize("output", ["markdown", "json", "html"])
def test_only_text_has_color(output: str) -> None:
    assert "\x1b" not in olmc("--color", "always", "diff", BEFORE, AFTER, "-o", output).stdout


def test_a_namespace_needs_a_name() -> None:
    assert olmc("diff", BEFORE, AFTER, "-n", "No Such Name").exit_code == 2


def test_two_revisions_in_one_word(repository: Path) -> None:
    """`git:A..B`, with a path from the top, or that of the current directory."""
    whole = olmc("diff", "git:v1:clusters/tower", "git:v2:clusters/tower", "-o", "json")
    short = olmc("diff", "git:v1..v2:clusters/tower", "-o", "json")
    assert (short.exit_code, json.loads(short.stdout)) == (0, json.loads(whole.stdout))
    os.chdir(repository / "clusters")
    here = json.loads(olmc("diff", "git:v1..", "-o", "json").stdout)
    assert here["changes"] == json.loads(whole.stdout)["changes"]


def test_a_revision_alone_is_compared_with_the_work_tree(repository: Path) -> None:
    """That is what a branch changes: from the top, at a path from the top, or from here."""
    assert olmc("diff", "git:v2").exit_code == 0
    (repository / "clusters/tower/more.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: tower}\n", encoding="utf-8"
    )
    for sides in (["git:v2"], ["git:v2:clusters/tower"], ["git:v2:./clusters/tower"]):
        result = olmc("diff", *sides)
        assert result.exit_code == 0
        assert "  ConfigMap/tower/more: + new\n" in result.stdout
    os.chdir(repository / "clusters")
    assert "  ConfigMap/tower/more: + new\n" in olmc("diff", "git:v2:clusters/tower").stdout


@pytest.mark.parametrize(
    ("sides", "fail_on", "code"),
    [
        ((BEFORE, AFTER), "breaking", 1),
        ((BEFORE, AFTER), "any", 1),
        (("upgrade", "upgrade"), "any", 0),
        (("multi-namespace", "single-namespace"), "breaking", 1),
        (("multi-namespace", "single-namespace"), None, 0),
    ],
)
def test_how_grave_a_change_has_to_be(sides: tuple[str, str], fail_on: str | None, code: int) -> None:
    assert olmc("diff", *sides, *(("--fail-on", fail_on) if fail_on else ())).exit_code == code


def test_exit_code_fails_for_any_change() -> None:
    assert olmc("diff", BEFORE, AFTER, "--exit-code").exit_code == 1
    assert olmc("diff", BEFORE, BEFORE, "--exit-code").exit_code == 0


def test_fail_on_lets_lesser_changes_pass(tmp_path: Path) -> None:
    """What is told is the same; the exit code is not."""
    for side, data in (("old", "a"), ("new", "b")):
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: d}}\ndata: {{a: {data}}}\n"
        (tmp_path / f"{side}.yaml").write_text(text, encoding="utf-8")
    for fail_on, code in (("breaking", 0), ("risk", 0), ("any", 1)):
        result = olmc("diff", tmp_path / "old.yaml", tmp_path / "new.yaml", "--fail-on", fail_on)
        assert (result.exit_code, "data.a: a → b" in result.stdout) == (code, True)


def test_what_comes_after_an_approval_is_shown(tmp_path: Path) -> None:
    """Nobody approves what nobody has seen; with --approve it is shown as it is then."""
    (tmp_path / "old").mkdir()
    copied(Path("manual-approval"), tmp_path / "old")
    copied(Path("manual-approval"), tmp_path / "new")
    csv = next((tmp_path / "new").rglob("*clusterserviceversion.yaml"))
    csv.write_text(csv.read_text(encoding="utf-8").replace("/beacon:v1.0.0", "/beacon:v1.0.0-1"), encoding="utf-8")
    sides = ("diff", tmp_path / "old", tmp_path / "new", "--fresh")
    result = olmc(*sides)
    assert result.exit_code == 0
    assert "(1 change, 1 of them after approval; " in result.stdout
    assert "\nAfter approval: Images\n  Deployment/harbour/beacon-controller: ~ container manager: " in result.stdout
    (change,) = json.loads(olmc(*sides, "-o", "json").stdout)["changes"]
    assert (change["kind"], change["afterApproval"]) == ("ImageChanged", True)
    assert "#### After approval: Images (1)" in olmc(*sides, "-o", "markdown").stdout
    assert 'id="later-images"' in olmc(*sides, "-o", "html").stdout
    approved = olmc(*sides, "--approve", "all").stdout
    assert "\nImages\n  Deployment/harbour/beacon-controller: ~ container manager: " in approved


def test_another_content_under_the_same_name_is_kept_back(tmp_path: Path) -> None:
    """R-CAT-410: what is installed, or about to be, stays; what the edited bundle would bring is shown."""
    for side, image in (("old", "v1.0.0"), ("new", "v1.0.0-1")):
        copied(Path("manual-approval"), tmp_path / side)
        csv = next((tmp_path / side).rglob("*clusterserviceversion.yaml"))
        csv.write_text(csv.read_text(encoding="utf-8").replace("/beacon:v1.0.0", f"/beacon:{image}"), encoding="utf-8")
    sides = ("diff", tmp_path / "old", tmp_path / "new")
    result = olmc(*sides)
    assert result.exit_code == 0
    assert "(2 changes, 1 risk, 1 of them kept back)" in result.stdout
    assert "\nKept back: Images\n  Deployment/harbour/beacon-controller: ~ container manager: " in result.stdout
    data = json.loads(olmc(*sides, "-o", "json").stdout)
    Draft202012Validator(schema("diff")).validate(data)
    assert [(change["kind"], change.get("keptBack")) for change in data["changes"]] == [
        ("ContentEdited", None), ("ImageChanged", True),
    ]  # fmt: skip
    assert "#### Kept back: Images (1)" in olmc(*sides, "-o", "markdown").stdout
    assert 'id="kept-images"' in olmc(*sides, "-o", "html").stdout


@pytest.mark.parametrize("api_version", ["", "apiVersion: 5\n", "apiVersion: {a: [{}]}\n", "apiVersion: a_b/v1\n"])
def test_what_no_cluster_can_serve_is_not_taken_as_there(api_version: str, tmp_path: Path) -> None:
    """The step for such an object fails (R-CAT-704), and nothing behind it is installed."""
    copied(Path("bare-bundle"), tmp_path / "old")
    copied(Path("bare-bundle"), tmp_path / "new")
    (manifests,) = (tmp_path / "new").rglob("manifests")
    first = f"{api_version}kind: PriorityClass\nmetadata: {{name: first}}\nvalue: 1\n"
    (manifests / "first.yaml").write_text(first, encoding="utf-8")
    result = olmc("diff", tmp_path / "old", tmp_path / "new")
    assert result.exit_code == 0, result.stderr
    assert "taken as served" not in result.stderr
    assert "beacon.v1.0.0: ~ would not work: Succeeded → Pending" in result.stdout


def test_what_is_taken_as_there_is_said(tmp_path: Path) -> None:
    """On stderr too, for both sides: a review must not rest on it silently."""
    copied(Path("bare-bundle"), tmp_path / "old")
    copied(Path("bare-bundle"), tmp_path / "new")
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\nspec: {endpoints: []}\n"
    (manifests,) = (tmp_path / "new").rglob("manifests")
    (manifests / "monitor.yaml").write_text(monitor, encoding="utf-8")
    result = olmc("diff", tmp_path / "old", tmp_path / "new")
    assert f"olmc: {tmp_path}/new: taken as served by the cluster: ServiceMonitor (monitoring.coreos.com/v1)\n" in (
        result.stderr
    )
    assert "needs ServiceMonitor (monitoring.coreos.com/v1)" in result.stdout
    assert "is gone" not in result.stdout
