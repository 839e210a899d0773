"""Outputs go where the command line says, whatever names and links an author of a pull request chooses."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import pytest
from commands import olmc
from running import tree

from olmc.cli.report import cluster_folders

NAMES: tuple[tuple[str, ...], ...] = (
    ("..", "."),
    ("../../x", "/x", "-x"),
    ("a b", "a+b", "a-b"),
    ("North", "north", "NORTH"),
    ("é", "e\u0301"),
    ("", "+", "..."),
    ("x" * 5000, "x" * 5001),
    (".git", ".olmc-x"),
    ("a\0b", "a\nb", "\udcff"),
)


@pytest.mark.parametrize("titles", NAMES, ids=ascii)
def test_each_cluster_has_a_folder_of_its_own(titles: Sequence[str]) -> None:
    folders = cluster_folders(titles)
    assert len({folder.casefold() for folder in folders}) == len(titles)
    for folder in folders:
        assert len(Path(folder).parts) == 1
        assert not folder.startswith((".", "-"))
        assert len(folder.encode("utf-8", "surrogatepass")) <= 255


def test_a_name_with_a_digest_takes_no_other_folder() -> None:
    """Of a title that looks like the name that olmc gives to another one."""
    one, other = cluster_folders(["a b", "a+b"])
    assert len(set(cluster_folders(["a b", "a+b", one, other]))) == 4


def test_usual_names_are_names_of_folders() -> None:
    assert cluster_folders(["in-cluster", "east, west", "a/north"]) == ["in-cluster", "east-west", "a-north"]


def repository(project: Path, folder: Path, name: str) -> Path:
    """A repository with a cluster of that name."""
    root = folder / "r"
    copytree(project / "fixtures/repos/argo", root)
    application = root / "apps/tide-lab.yaml"
    application.write_text(application.read_text().replace("name: lab", f'name: "{name}"'))
    return root


@pytest.mark.slow
def test_no_name_of_a_cluster_leads_out_of_a_report(project: Path, tmp_path: Path) -> None:
    root = repository(project, tmp_path, "..")
    before = tree(tmp_path)
    done = olmc("report", root, "--output-dir", tmp_path / "out/site")
    assert done.exit_code == 0
    written = tree(tmp_path).keys() - before.keys()
    assert written
    assert all(path.startswith("out/site/") and path.count("/") >= 3 for path in written)


@pytest.mark.slow
def test_no_folder_of_a_cluster_is_a_link(project: Path, tmp_path: Path) -> None:
    root = repository(project, tmp_path, "lab")
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    site.mkdir()
    elsewhere.mkdir()
    (site / "in-cluster").symlink_to(elsewhere)
    done = olmc("report", root, "--output-dir", site)
    assert done.exit_code == 3
    assert "site/in-cluster is a link that leads elsewhere" in done.stderr
    assert list(elsewhere.iterdir()) == []


# Commands with PATH for a path that is no file or folder of a usual kind.
USES = (
    "-C PATH version", "check PATH", "render PATH -o name", "render w --output-dir PATH", "report w --output-dir PATH",
    "status PATH", "diff PATH w", "diff w PATH", "plan w --from PATH", "graph beacon PATH", "rbac PATH", "vendor PATH",
    "fix PATH", "resolve PATH", "why x PATH", "migrate PATH --to olm-v1 --dry-run", "import PATH", "init github PATH",
    "get installed -A --workspace PATH", "fleet check PATH", "fleet check w --beside PATH", "fleet merge PATH",
    "fleet check w --repository PATH", "verify PATH --provenance w", "check w --apis-from PATH",
    "fleet render w --output-dir PATH", "fleet check --entries-from PATH", "vendor w --offline --from PATH",
    "vendor w --offline --catalog harbour=PATH", "vendor w --authfile PATH",
)  # fmt: skip


def odd(folder: Path, kind: str) -> str:
    """The path of something odd in a folder."""
    path = folder / "odd"
    if kind == "long name":
        return "x" * 5000
    if kind == "links that go round":
        path.symlink_to("other")
        (folder / "other").symlink_to("odd")
    elif kind == "device":
        return os.devnull
    return "odd"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["long name", "links that go round", "device"])
def test_an_odd_path_is_refused_in_words(
    kind: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(project / "fixtures/own-namespace", tmp_path / "w")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    path = odd(tmp_path, kind)
    before = tree(tmp_path)
    for use in USES:
        try:
            done = olmc(*use.replace("PATH", path).split())
        except OSError as error:
            assert error.filename, use  # olmc says it in a line (test_ending)
            continue
        assert done.exit_code in (0, 1, 2, 3), use
        assert done.output, use
    assert tree(tmp_path) == before


def test_links_that_go_round_end_no_command(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the names of files that olmc looks for itself."""
    copytree(project / "fixtures/own-namespace", tmp_path / "w")
    for name in (
        ".argocd-source.yaml",
        ".sourceignore",
        "olmc.yaml",
        "kustomization.yaml",
        "Chart.yaml",
        "charts",
        "a",
    ):
        (tmp_path / "w" / name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    for command in ("check w", "status w", "render w -o name", "fix w --dry-run"):
        assert olmc(*command.split()).exit_code in (0, 1, 3)


@pytest.mark.process
def test_a_bundle_in_the_place_of_a_cluster_is_called_by_its_name(project: Path, tmp_path: Path) -> None:
    """And not by the folder in which olmc looks at its revision."""
    copytree(project / "fixtures/own-namespace/bundles/beacon-1.0.0", tmp_path / "b")
    (tmp_path / "b/x.txt").write_text("")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(tmp_path))
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    csv = tmp_path / "b/manifests/beacon.clusterserviceversion.yaml"
    csv.write_text(f"{csv.read_text()}# changed\n")
    with contextlib.chdir(tmp_path):
        done = olmc("plan", "b", "--from", "git:HEAD")
    assert (done.exit_code, "olmc-from-" in done.output) == (2, False)
    assert "git:HEAD is a bundle by itself" in done.output
    with contextlib.chdir(tmp_path):
        done = olmc("fleet", "plan", "b", "--from", "git:HEAD", "--jobs", "1", "--no-cache")
        assert "olmc-fleet-" not in done.output
        assert "is a bundle by itself" in done.output
        done = olmc("fleet", "status", "b", "--jobs", "1", "--no-cache")
    assert (done.exit_code, "Succeeded" in done.output) == (0, True)


@pytest.mark.parametrize("scaffold", ["github", "gitlab", "flux --url oci://registry.example.com/x"])
def test_no_scaffold_is_written_through_a_link(scaffold: str, tmp_path: Path) -> None:
    """That a checkout has in the place of a folder; and where one file can't be written, none is."""
    root, elsewhere = tmp_path / "r", tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert olmc("init", *scaffold.split(), tmp_path / "usual").exit_code == 0
    folders = {path.split("/")[0] for path in tree(tmp_path / "usual") if "/" in path}
    assert folders
    for folder in folders:
        root.mkdir()
        (root / folder).symlink_to(elsewhere)
        done = olmc("init", *scaffold.split(), root, "--force")
        assert (done.exit_code, tree(root), tree(elsewhere)) == (3, {}, {}), done.output
        (root / folder).unlink()
        for left in sorted(root.rglob("*"), reverse=True):
            left.rmdir()
        root.rmdir()


def test_a_value_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    done = olmc("init", "argocd", tmp_path / "out", "--image", "\udcff")
    assert (done.exit_code, (tmp_path / "out").exists()) == (2, False)
    assert "it is not UTF-8" in done.output


def test_a_folder_in_the_way_leaves_all_as_it_was(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    olmc("init", "argocd", usual)
    for name in tree(usual):
        (tmp_path / name / name).mkdir(parents=True)
        done = olmc("init", "argocd", tmp_path / name, "--force")
        assert (done.exit_code, tree(tmp_path / name)) == (3, {}), done.output
