"""Input that is made to exhaust a machine is refused with the limit's name, in time, and the limit can be raised."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import forks
import pytest
from shown_pages import run_as_shown, shown

from olmc.compiler.load.files import scan
from olmc.k8s.diagnostics import Diagnostic, FurtherFindings, Location, RefusedObject, Report, Severity
from olmc.k8s.limits import CACHE_BYTES, LIMITS
from olmc.k8s.yaml import read

SECONDS, BYTES = 5, 1024**3
BOUNDS = {"RLIMIT_CPU": SECONDS, "RLIMIT_AS": BYTES}
RUNS = 3


def bounded() -> None:
    for name, limit in BOUNDS.items():
        resource.setrlimit(getattr(resource, name), (limit, limit))


def olmc(
    *arguments: str | Path, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """The command as a process with five seconds and a gibibyte.

    Whatever else a machine does only adds to the seconds, so that the least of three runs counts.
    """
    for _ in range(RUNS):
        if env is None:
            done = forks.run(arguments, cwd=Path.cwd(), env=_environment(), stdin=stdin, timeout=60, limits=BOUNDS)
        else:  # some limits are read while olmc is imported
            done = subprocess.run(
                [sys.executable, "-m", "olmc", *map(str, arguments)], input=stdin, capture_output=True,
                preexec_fn=bounded, env={**_environment(), **env}, timeout=60,
            )  # fmt: skip
        if done.returncode != -signal.SIGKILL:  # which is how the kernel ends what takes longer
            break
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("OLMC_LIMIT_")}


HEAD = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: a, namespace: b}\n"


def many_documents(folder: Path) -> None:
    (folder / "a.yaml").write_text(HEAD + "---\n" * 2_000_000)


def many_json_documents(folder: Path) -> None:
    (folder / "a.json").write_text(
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}\n' + "{}\n" * 2_000_000
    )


def many_keys(folder: Path) -> None:
    (folder / "a.yaml").write_text(HEAD + "".join(f"k{number}: 1\n" for number in range(2_500_000)))


def many_aliases(folder: Path) -> None:
    """Each document is small enough for go-yaml, which judges each by itself."""
    small = "a: &a [" + "x, " * 60 + "x]\nb: [" + "*a, " * 6_000 + "*a]\n---\n"
    (folder / "a.yaml").write_text(HEAD + "---\n" + small * 10)


def large(folder: Path) -> None:
    with (folder / "a.yaml").open("wb") as stream:
        stream.truncate(300 * 1024 * 1024)


def deep(folder: Path) -> None:
    inner = folder
    for _ in range(400):
        inner /= "d"
    inner.mkdir(parents=True)


def many_files(folder: Path) -> None:
    for number in range(1_200):
        (folder / f"{number}.txt").touch()


def many_patterns(folder: Path) -> None:
    """Each of which would be compared with each of the files."""
    (folder / ".olmcignore").write_text("".join(f"x{number}*y/\n" for number in range(30_000)))
    for number in range(1_000):
        (folder / f"{number}.txt").touch()


def many_patterns_below_each_other(folder: Path) -> None:
    """Those of the root count in each of the folders, which have one of their own."""
    (folder / ".gitignore").write_text("".join(f"x{number}y\n" for number in range(4_990)))
    for number in range(100):
        (folder / f"{number}").mkdir()
        (folder / f"{number}/.gitignore").write_text("q\n")


def long_patterns(folder: Path) -> None:
    """Too long for what compares patterns with many stars."""
    (folder / ".gitignore").write_text("".join(f"{'a*' * 450}{number}\n" for number in range(400)))


def stars_below_each_other(folder: Path) -> None:
    """What compares patterns with many stars takes its time to begin with, here in each folder again."""
    (folder / ".gitignore").write_text("a*b*c*d*e\n" + "".join(f"x{number}y\n" for number in range(2_000)))
    for number in range(2_000):
        (folder / f"{number}").mkdir()
        (folder / f"{number}/.gitignore").write_text("q\n")


def unusable_patterns(folder: Path) -> None:
    """Each has to be looked at to know it, and behind all of them may stand one that can be used."""
    (folder / ".gitignore").write_text("".join(f"{number}[[:alpha:]]\n" for number in range(30_000)) + "b/\n")


def long_patterns_below_each_other(folder: Path) -> None:
    """Few of them, whose stars cost as much in each of the folders."""
    (folder / ".gitignore").write_text("".join(f"{'a*' * 450}{number}\n" for number in range(11)))
    for number in range(2_000):
        (folder / f"{number}").mkdir()
        (folder / f"{number}/.gitignore").write_text("q\n")


@pytest.mark.parametrize(
    ("make", "name", "env"),
    [
        (many_documents, "DOCUMENTS", {}), (many_json_documents, "DOCUMENTS", {}), (many_keys, "KEYS", {}),
        (many_aliases, "ALIASES", {}), (large, "FILE_BYTES", {}), (deep, "DEPTH", {}),
        (many_files, "FILES", {"OLMC_LIMIT_FILES": "1000"}), (many_patterns, "PATTERNS", {}),
        (many_patterns_below_each_other, "PATTERNS", {}), (long_patterns, "PATTERNS", {}),
        (stars_below_each_other, "PATTERNS", {}), (long_patterns_below_each_other, "PATTERNS", {}),
        (unusable_patterns, "PATTERNS", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["render", "check"])
def test_a_workspace_that_is_too_much(
    command: str, make: Callable[[Path], None], name: str, env: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    make(root)
    done = olmc(command, root, env=env)
    assert done.returncode == 3, done.stderr[-2000:]
    said = done.stdout + done.stderr
    assert "[OLMC124]" in said
    assert f"OLMC_LIMIT_{name}=NUMBER" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("merged", [False, True])
def test_many_findings_in_one_mapping(merged: bool, tmp_path: Path) -> None:
    """Each has a place, and the mapping is not gone through once more for it."""
    fields = "".join(f"k{number}: 1\n" for number in range(20_000))
    text = HEAD + (f"x: &x {{a: 1}}\n<<: *x\n{fields}" if merged else fields)
    (tmp_path / "a.yaml").write_text(text)
    done = olmc("check", "--all", "-o", "json", tmp_path, env={"OLMC_LIMIT_FINDINGS": "30000"})
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert done.stdout.count("OLMC150") >= 20_000


def many_fields(folder: Path, number: int = 100_000) -> None:
    (folder / "a.yaml").write_text(HEAD + "".join(f"k{number}: 1\n" for number in range(number)))


def test_findings_without_end_are_counted(tmp_path: Path) -> None:
    """Within the seconds and bytes of the others: what is not kept is not made."""
    many_fields(tmp_path)
    done = olmc("check", "--strict", tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("[OLMC150]") == 1_001
    assert "there are 99,000 more of these [OLMC150]" in done.stdout
    assert "OLMC_LIMIT_FINDINGS=NUMBER" in done.stdout
    assert "100,001 warnings" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("output", ["json", "sarif", "junit", "github"])
def test_each_output_counts_what_is_not_kept(output: str, tmp_path: Path) -> None:
    many_fields(tmp_path, 50)
    done = olmc("check", "--strict", "-o", output, tmp_path, env={"OLMC_LIMIT_FINDINGS": "7"})
    assert done.returncode == 1
    assert "there are 43 more of these" in done.stdout + done.stderr


def test_what_is_counted_is_suppressed_with_its_file(tmp_path: Path) -> None:
    """A comment accepts what is kept, and whether one is unused nobody knows."""
    text = HEAD + "".join(f"k{number}: 1 # olmc: ignore[OLMC150] known\n" for number in range(50))
    (tmp_path / "a.yaml").write_text(text)
    env = {"OLMC_LIMIT_FINDINGS": "7"}
    done = olmc("check", "--strict", tmp_path, env=env)
    assert done.returncode == 1
    assert done.stdout.count("OLMC150]") == 1
    assert "43 more" in done.stdout
    (tmp_path / "olmc.yaml").write_text(
        "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  suppress:\n"
        "  - {code: OLMC150, path: a.yaml, reason: known}\n"
    )
    done = olmc("check", "--strict", tmp_path, env=env)
    assert done.returncode == 0
    assert "more of these" not in done.stdout


def test_a_report_counts_each_finding_once_and_keeps_what_is_acted_upon() -> None:
    place, report = Location("a.yaml", 1), Report()
    findings = [Diagnostic("OLMC1", Severity.WARNING, str(number), place) for number in range(1_010)]
    refused = [each._replace(cause=RefusedObject("Service", each.message)) for each in findings]
    for diagnostic in (*findings, *findings, *refused, Diagnostic("OLMC1", Severity.WARNING, "x", Location("b.yaml"))):
        report.add(diagnostic)
    others = Report()
    for diagnostic in report:
        others.add(diagnostic)
    assert list(others) == list(report)
    assert [each.cause for each in others if isinstance(each.cause, FurtherFindings)] == [FurtherFindings(10)]
    assert len(others.found) == 1_000 + 1 + 1_010 + 1
    assert list(others)[-2].message == "there are 10 more of these"


@pytest.mark.parametrize("name", ["FILES", "DOCUMENTS", "DEPTH", "KEYS", "PATTERNS"])
def test_a_limit_can_be_raised(name: str, tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/b/c/x.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\n---\n")
    (root / ".olmcignore").write_text("x\ny\nz\n")
    assert olmc("render", root, env={f"OLMC_LIMIT_{name}": "2"}).returncode == 3
    assert olmc("render", root, env={f"OLMC_LIMIT_{name}": "40"}).returncode == 0
    assert olmc("render", root, env={f"OLMC_LIMIT_{name}": "many"}).returncode == 0


@pytest.mark.parametrize("command", ["diff /dev/zero /dev/zero", "diff . /dev/zero", "import /dev/zero",
                                     "check --optional-value index-path=/dev/zero"])  # fmt: skip
def test_a_device_has_no_end(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = command.split()
    done = olmc(*arguments, env={"OLMC_LIMIT_FILE_BYTES": "1000000"})
    assert done.returncode in (2, 3)
    assert "1,000,000" in done.stderr
    assert "OLMC_LIMIT_FILE_BYTES" in done.stderr


def test_stdin_of_a_function_has_a_limit() -> None:
    done = olmc("fn", stdin=b"x" * 2000, env={"OLMC_LIMIT_FILE_BYTES": "1000"})
    assert done.returncode == 2
    assert "1,000" in done.stderr


def test_links_do_not_multiply(tmp_path: Path) -> None:
    """Two links in each of 29 folders to the next one: 2^28 ways lead to the last."""
    for number in range(29):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}/a.yaml").touch()
        for link in ("x", "y") if number < 28 else ():
            (tmp_path / f"{number:02}/{link}").symlink_to(f"../{number + 1:02}")
    paths = list(scan(tmp_path, Report()).walk())
    assert len(paths) < 29 * 60
    assert {f"{number:02}/a.yaml" for number in range(29)} <= set(paths)


def test_a_link_to_a_folder_is_still_followed(tmp_path: Path) -> None:
    (tmp_path / "shared/inner").mkdir(parents=True)
    (tmp_path / "shared/inner/a.yaml").touch()
    (tmp_path / "one").symlink_to("shared")
    (tmp_path / "two").symlink_to("shared")
    assert list(scan(tmp_path, Report()).walk()) == [
        "one/inner/a.yaml", "shared/inner/a.yaml", "two/inner/a.yaml"
    ]  # fmt: skip


def test_aliases_as_people_write_them_are_read() -> None:
    """An anchor that is used in each of a hundred places, and the documents of a large file."""
    text = "a: &a {x: 1, y: [1, 2, 3, 4, 5]}\nb: [" + ", ".join(["*a"] * 300) + "]\n---\n"
    report = Report()
    assert len(read("a.yaml", text * 100, report)) == 101
    assert list(report) == []


def test_each_limit_is_on_the_page(project: Path) -> None:
    page = (project / "docs/limits.md").read_text(encoding="utf-8")
    for limit in (*LIMITS, CACHE_BYTES):
        assert f"| `{limit.variable}` | {limit.default:,} | {limit.unit} | {limit.within} |" in page


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    (command, output), *others = shown("docs/limits.md")
    assert not others
    assignment, _, typed = command.partition(" ")
    monkeypatch.setenv(*assignment.split("=", 1))
    run_as_shown(typed, output, monkeypatch)


def git(repository: Path, *arguments: str, stdin: bytes = b"") -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=repository, input=stdin,
        capture_output=True, check=True,
    ).stdout.decode().strip()  # fmt: skip


def revision(repository: Path, *, wide: int, deep: int) -> None:
    """A revision of few objects in which each folder has the one below at so many places."""
    git(repository, "init", "-q")
    name = git(repository, "hash-object", "-w", "--stdin", stdin=HEAD.encode())
    kind, suffix = "100644 blob", ".yaml"
    for _ in range(deep):
        lines = "".join(f"{kind} {name}\td{number}{suffix}\n" for number in range(wide))
        name = git(repository, "mktree", stdin=lines.encode())
        kind, suffix = "040000 tree", ""
    git(repository, "update-ref", "HEAD", git(repository, "commit-tree", "-m", "x", name))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("diff", "git:HEAD", "."), 3), (("plan", "--from", "git:HEAD"), 3), (("check", "--since", "HEAD", "."), 3),
     (("fleet", "plan", ".", "--from", "git:HEAD"), 3)],
)  # fmt: skip
def test_a_revision_of_more_files_than_anybody_can_list(
    arguments: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision(tmp_path, wide=10, deep=10)
    (tmp_path / "a.yaml").write_text(HEAD)
    monkeypatch.chdir(tmp_path)
    done = olmc(*arguments, env={"OLMC_LIMIT_REVISION": "20000"})
    assert done.returncode == code, done.stderr[-2000:]
    assert "more than 20,000 files in it (OLMC_LIMIT_REVISION raises the limit)" in done.stderr


def many_files_in_a_revision(repository: Path) -> None:
    """A revision of 60,000 files in 60 folders, of which few objects are all of it."""
    git(repository, "init", "-q")
    blob = git(repository, "hash-object", "-w", "--stdin", stdin=HEAD.encode())
    lines = "".join(f"100644 blob {blob}\tf{number}.yaml\n" for number in range(1_000))
    tree = git(repository, "mktree", stdin=lines.encode())
    inner = "".join(f"040000 tree {tree}\td{number}\n" for number in range(60))
    generated = git(repository, "mktree", stdin=inner.encode())
    top = f"040000 tree {generated}\tgenerated\n100644 blob {blob}\ta.yaml\n"
    name = git(repository, "mktree", stdin=top.encode())
    git(repository, "update-ref", "HEAD", git(repository, "commit-tree", "-m", "x", name))


@pytest.mark.parametrize(
    "arguments",
    [("diff", "git:HEAD", "."), ("plan", "--from", "git:HEAD"), ("check", "--since", "HEAD", "."),
     ("diff", "git:HEAD:generated", ".")],
)  # fmt: skip
def test_a_revision_of_too_many_files_is_refused_by_their_number(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is written or read for that, which alone would take more than the seconds."""
    many_files_in_a_revision(tmp_path)
    (tmp_path / "a.yaml").write_text(HEAD)
    monkeypatch.chdir(tmp_path)
    done = olmc(*arguments)
    assert done.returncode == 3, done.stderr[-2000:]
    assert "the revision has too many files and folders, more than the 50,000" in done.stderr
    assert "OLMC_LIMIT_FILES=NUMBER" in done.stderr


def in_git(repository: Path) -> None:
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "x")


@pytest.mark.parametrize("name", [".olmcignore", ".gitignore", "olmc.yaml"])
def test_what_a_revision_leaves_out_is_not_counted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "generated/inner").mkdir(parents=True)
    for number in range(30):
        (tmp_path / f"generated/inner/{number}.yaml").write_text(HEAD)
    (tmp_path / "a.yaml").write_text(HEAD)
    in_git(tmp_path)
    monkeypatch.chdir(tmp_path)
    env = {"OLMC_LIMIT_FILES": "20"}
    assert olmc("diff", "git:HEAD", "git:HEAD", env=env).returncode == 3
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {ignore: [inner/]}\n"
    (tmp_path / name).write_text(config if name == "olmc.yaml" else "inner/\n")
    git(tmp_path, "add", "-Af")
    git(tmp_path, "commit", "-qm", "x")
    done = olmc("diff", "git:HEAD", "git:HEAD", env=env)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_kustomization_of_a_revision_with_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k/kustomization.yaml").write_text("resources: [../base]\n")
    (tmp_path / "base").mkdir()
    for number in range(30):
        (tmp_path / f"base/{number}.yaml").write_text(HEAD)
    in_git(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = olmc("diff", "git:HEAD:k", "k", env={"OLMC_LIMIT_FILES": "20"})
    assert done.returncode == 3
    assert "the revision has too many files and folders" in done.stderr


def test_a_revision_of_folders_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    revision(tmp_path, wide=2, deep=8)
    monkeypatch.chdir(tmp_path)
    done = olmc("diff", "git:HEAD", ".", env={"OLMC_LIMIT_DEPTH": "4"})
    assert done.returncode == 3
    assert "OLMC_LIMIT_DEPTH=NUMBER" in done.stderr


def test_a_revision_of_folders_deeper_than_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    revision(tmp_path, wide=1, deep=1200)
    monkeypatch.chdir(tmp_path)
    done = olmc("diff", "git:HEAD", ".", "--allow-empty")
    assert done.returncode == 3
    assert "[OLMC124]" in done.stderr
