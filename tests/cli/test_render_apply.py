"""`olmc render --for apply`: nothing is written or removed unless everything is there, and what comes in phases."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from building import write_workspace
from commands import identities, names, olmc

FAILING = "requirements-not-met"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A workspace of which an operator would fail, though another one would not: a second group comes into it."""
    root = tmp_path / "workspace"
    write_workspace(root, {
        "namespaces": {"ns": {}, "other": {}},
        "groups": {"ns/og": "own", "other/og": "own", "other/second": "own"},
        "operators": ["kettle.v1.0.0", {"name": "pot.v1.0.0", "into": ["other"]}],
    })  # fmt: skip
    return root


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_half_an_output_is_not_printed(broken: Path) -> None:
    """Not even the Namespaces: who prunes by them deletes what is in them."""
    result = olmc("render", broken, "--for", "apply")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "failure: nothing is printed, because these operators would be missing: other/pot (" in result.stderr
    assert "give --keep-going" in result.stderr
    for form in ("json", "name"):
        assert olmc("render", broken, "--for", "apply", "-o", form).stdout == ""


def test_half_an_output_is_not_written_and_nothing_is_removed(broken: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = olmc("render", broken, "--for", "apply", "--output-dir", out)
    assert (result.exit_code, result.stdout, out.exists()) == (1, "", False)
    assert "nothing is written or removed" in result.stderr
    assert " files, " not in result.stderr
    assert olmc("render", "own-namespace", "--for", "apply", "--output-dir", out).exit_code == 0
    before = contents(out)
    for more in ([], ["--fail-on-change"], ["--flux"], ["--include", "Namespace"], ["--phase", "2"]):
        assert olmc("render", broken, "--for", "apply", "--output-dir", out, *more).exit_code == 1
        assert contents(out) == before


def test_half_an_output_is_compared_with_nothing(broken: Path, tmp_path: Path) -> None:
    """What a check would call stale is what is missing, and running the command without it changes nothing."""
    out = tmp_path / "out"
    assert olmc("render", "own-namespace", "--for", "apply", "--output-dir", out).exit_code == 0
    result = olmc("render", broken, "--for", "apply", "--output-dir", out, "--check")
    assert (result.exit_code, "nothing is compared" in result.stderr) == (1, True)
    assert "stale" not in result.stderr
    assert "without --check" not in result.stderr


def test_half_an_output_on_request(broken: Path, tmp_path: Path) -> None:
    """Exit code 1 says that an operator would fail, as ever."""
    result = olmc("render", broken, "--for", "apply", "--keep-going")
    assert result.exit_code == 1
    assert {"Deployment/ns/kettle-controller", "Namespace/other"} <= set(identities(result.stdout))
    assert "OLMC322" not in result.stderr
    out = tmp_path / "out"
    written = olmc("render", broken, "--for", "apply", "--keep-going", "--output-dir", out)
    assert (written.exit_code, len(contents(out)) > 3) == (1, True)
    checked = olmc("render", broken, "--for", "apply", "--keep-going", "--output-dir", out, "--check")
    assert (checked.exit_code, "out of date" in checked.stderr) == (1, False)
    told = olmc("render", "own-namespace", "--keep-going").stderr
    assert "--keep-going has no effect, it needs --for apply" in told


def test_of_several_paths_all_have_to_be_there(broken: Path, tmp_path: Path) -> None:
    for paths in (("own-namespace", broken), (broken, "own-namespace")):
        result = olmc("render", *paths, "--for", "apply", "--output-dir", tmp_path / "out")
        assert (result.exit_code, (tmp_path / "out").exists()) == (1, False)


def test_what_olmc_yaml_renders_for_apply(broken: Path) -> None:
    (broken / "olmc.yaml").write_text("apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {for: apply}\n")
    result = olmc("render", broken)
    assert (result.exit_code, result.stdout) == (1, "")
    assert olmc("render", broken, "--for", "review").stdout != ""


def test_an_operator_that_nobody_approved_is_missing(tmp_path: Path) -> None:
    """Without OLM nobody approves it later; one that is installed may wait for its upgrade."""
    manual = {"spec": {"installPlanApproval": "Manual"}}
    first = {"name": "kettle.v1.0.0", "subscription": manual}
    second = {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0", "subscription": manual}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [first]})
    result = olmc("render", tmp_path, "--for", "apply")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "ns/kettle (to be approved as ns/kettle.v1.0.0) [OLMC322]" in result.stderr
    assert "Deployment/ns/kettle-controller" in names(tmp_path, "--for", "apply", "--approve", "ns/kettle.v1.0.0")
    starting = {"spec": {**manual["spec"], "startingCSV": "kettle.v1.0.0"}}
    shutil.rmtree(tmp_path)
    operators = [{**first, "subscription": starting}, {**second, "subscription": starting}]
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": operators})
    assert "Deployment/ns/kettle-controller" in names(tmp_path, "--for", "apply", "--approve", "ns/kettle.v1.0.0")


def test_for_review_a_failure_is_part_of_the_output() -> None:
    result = olmc("render", FAILING)
    assert (result.exit_code, "Namespace/harbour" in identities(result.stdout)) == (1, True)
    assert "OLMC322" not in result.stderr


def test_phases(tmp_path: Path) -> None:
    """The custom resources of the output's own CRDs come second; both phases together are the whole."""
    beacon = {"apiVersion": "kettle.example.com/v1", "kind": "Kettle", "metadata": {"name": "red", "namespace": "ns"}}
    operator = {"name": "kettle.v1.0.0", "owned": ["Kettle"]}
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": [operator], "manifests": [beacon]})
    phases: tuple[list[str], ...] = ([], ["--phase", "1"], ["--phase", "2"])
    whole, first, second = (names(tmp_path, "--for", "apply", *more) for more in phases)
    assert second == ["Kettle/ns/red"]
    assert sorted(first + second) == sorted(whole)
    assert "OLMC325" in olmc("render", tmp_path, "--for", "apply").stderr
    assert olmc("render", tmp_path, "--for", "apply", "--phase", "1").stderr == ""


def test_a_phase_without_objects() -> None:
    empty = olmc("render", "own-namespace", "--for", "apply", "--phase", "2")
    assert (empty.exit_code, empty.stdout) == (3, "")
    assert "own-namespace gives no objects: phase 2 leaves none of the 13 that there are [OLMC321]" in empty.stderr
    assert olmc("render", "own-namespace", "--for", "apply", "--phase", "2", "--allow-empty").exit_code == 0
    told = olmc("render", "own-namespace", "--phase", "1").stderr
    assert "--phase has no effect, it needs --for apply" in told
    assert olmc("render", "own-namespace", "--for", "apply", "--phase", "3").exit_code == 2


@pytest.mark.slow
def test_a_phase_does_not_remove_the_other_one(tmp_path: Path) -> None:
    """A folder with the whole or the other phase is refused; a phase may be written again, and the whole replace it."""
    out, apply = tmp_path / "out", ("render", "own-namespace", "--for", "apply", "--allow-empty", "--output-dir")
    first, second = ("--phase", "1"), ("--phase", "2")
    for present, other, holds in (
        ((), first, "an output as a whole"),
        ((), second, "an output as a whole"),
        (first, second, "phase 1"),
        (second, first, "phase 2"),
    ):
        assert olmc(*apply, out, *present).exit_code == 0
        before = contents(out)
        for more in ((), ("--check",), ("--fail-on-change",), ("--keep-going",)):
            refused = olmc(*apply, out, *other, *more)
            assert (refused.exit_code, refused.stdout, contents(out)) == (2, "", before)
            told = " ".join(refused.stderr.split())
            assert f"out holds {holds}, which --phase {other[1]} would remove, so nothing is written" in told
            assert "such as --phase 1 --output-dir rendered/1 and --phase 2 --output-dir rendered/2" in told
        again = olmc(*apply, out, *present)
        assert (again.exit_code, "0 new, 0 changed, 0 removed" in again.stderr) == (0, True)
        assert olmc(*apply, out, *present, "--check").exit_code == 0
        shutil.rmtree(out)
    assert olmc(*apply, out, *first).exit_code == 0
    assert olmc(*apply, out).exit_code == 0
    assert olmc(*apply, out, "--check").exit_code == 0


def test_a_phase_of_review_output_is_no_phase(tmp_path: Path) -> None:
    """There --phase has no effect, so there is nothing to refuse, and the folder is that of the whole."""
    review = ("render", "own-namespace", "--output-dir", tmp_path / "out")
    assert olmc(*review).exit_code == 0
    assert olmc(*review, "--phase", "2", "--check").exit_code == 0
