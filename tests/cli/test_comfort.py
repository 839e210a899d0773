"""What all commands offer: color, completion, examples first, environment variables, and what was probably meant."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from commands import olmc
from scenarios import write

from olmc.cli.console import fitted, progress
from olmc.cli.main import HIDDEN, SECTIONS, examples_first, main, variable
from olmc.cli.running import REGISTRY

NAMES = sorted(REGISTRY)


def command(name: str) -> click.Command:
    """The command as the group gives it."""
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def colored(*arguments: str, env: dict[str, str] | None = None) -> bool:
    """Whether what a command prints has escape sequences."""
    environment = {"NO_COLOR": "", "FORCE_COLOR": "", "OLMC_COLOR": "", "TERM": "xterm", **(env or {})}
    result = CliRunner().invoke(main, arguments, env=environment)
    assert result.exit_code == 1
    return "\x1b[" in result.output


def test_color_is_for_terminals() -> None:
    """In a pipe there is none, unless somebody asks for it."""
    assert not colored("check", "two-groups")
    assert colored("check", "two-groups", "--color", "always")
    assert colored("--color", "always", "check", "two-groups")
    assert not colored("--color", "always", "check", "two-groups", "--color", "never")
    assert colored("--color", "always", "render", "two-groups")


def test_color_by_the_environment() -> None:
    """NO_COLOR and FORCE_COLOR are what they are elsewhere; OLMC_COLOR is --color, which wins."""
    assert colored("check", "two-groups", env={"FORCE_COLOR": "1"})
    assert not colored("check", "two-groups", env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert not colored("check", "two-groups", env={"FORCE_COLOR": "0"})
    assert colored("check", "two-groups", env={"OLMC_COLOR": "always", "NO_COLOR": "1"})
    assert colored("check", "two-groups", "--color", "always", env={"NO_COLOR": "1"})
    assert not colored("check", "two-groups", "--color", "never", env={"FORCE_COLOR": "1"})
    assert not colored("check", "two-groups", "--color", "auto", env={"TERM": "dumb"})


_PATIENT = "import olmc.cli.console as console; console.progress.__wrapped__.__kwdefaults__['patience'] = 600.0"


def on_a_terminal(*arguments: str, cwd: Path, columns: int = 80) -> str:
    """What a process prints on a terminal of its own, so many columns wide, but for how far it is, which a machine with
    much to do would show between its lines."""
    mine, its = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", f"{_PATIENT}; from olmc.__main__ import run; run()", *arguments],
        cwd=cwd, stdout=its, stderr=its, stdin=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm", "COLUMNS": str(columns)},
    )  # fmt: skip
    os.close(its)
    told = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:
            break
        if not part:
            break
        told += part
    process.wait()
    os.close(mine)
    return told.decode()


@pytest.mark.process
def test_color_on_a_terminal(project: Path) -> None:
    told = on_a_terminal("check", "two-groups", cwd=project / "fixtures")
    assert "\x1b[31mfailure\x1b[0m: namespace harbour has more than one OperatorGroup" in told


@pytest.mark.process
@pytest.mark.parametrize("command", [("status", "port"), ("resolve", "upgrade"), ("get", "csv", "-A", "-C", "port")])
def test_tables_end_where_the_terminal_does(command: tuple[str, ...], project: Path) -> None:
    """A row is a line, however wide the terminal; -o wide, and what no terminal reads, has all of it."""
    whole = olmc(*command, "-o", "wide").stdout
    shown = on_a_terminal(*command, cwd=project / "fixtures", columns=48).replace("\r\n", "\n").splitlines()
    end = shown.index("olmc: cut to the width of the terminal; -o wide has all of it")
    table = shown[end - whole.count("\n") if command[0] != "status" else 0 : end]
    table = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in table if command[0] != "status" or "  " in line.strip()]
    assert table[0].startswith("NAMESPACE")
    assert any(line.endswith("…") for line in table)
    assert max(map(len, table)) == 48
    assert whole.count("\n") <= on_a_terminal(*command, "-o", "wide", cwd=project / "fixtures", columns=48).count("\n")
    assert "…" not in olmc(*command).stdout


@pytest.mark.process
def test_the_cause_goes_on_where_a_row_ends(project: Path) -> None:
    """At 80 columns the table of status is whole, and each cause has a line of its own below its row."""
    text = olmc("status", "port", "requirements-not-met", "api-conflict").stdout
    rows = [line for line in text.splitlines() if not line.startswith("    ")]
    assert max(map(len, rows)) <= 80
    assert rows[0].split()[:6] == ["WORKSPACE", "NAMESPACE", "OPERATOR", "VERSION", "PHASE", "UPGRADE"]
    assert "\x1b[32mSucceeded\x1b[0m" in on_a_terminal("status", "api-conflict", cwd=project / "fixtures")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while it is said what is being done, and in the end it is gone."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress(stream, patience=0.01) as doing:
        doing("boiling water")
        deadline = time.monotonic() + 10
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "olmc: boiling water … 0 s" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress(stream, patience=60) as doing:
        doing("nothing much")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_no_progress_in_a_pipe_or_on_a_dumb_terminal(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    stream = Terminal() if term == "dumb" else io.StringIO()
    with progress(stream, patience=0) as doing:
        doing("boiling water")
        time.sleep(0.05)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("typed", "meant"), [("rendre", "render or vendor"), ("chek", "check"), ("resolv", "resolve")])
def test_a_command_that_was_probably_meant(typed: str, meant: str) -> None:
    result = olmc(typed)
    assert result.exit_code == 2
    assert f"No such command '{typed}'. Did you mean {meant}?" in result.stderr


def test_a_command_like_no_other() -> None:
    result = olmc("xyz")
    assert result.exit_code == 2
    shown = ", ".join(name for name in NAMES if name not in HIDDEN)
    assert f"No such command 'xyz'. There is {shown}." in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["", "plan", "init github"])
def test_help_is_a_command_as_well(command: str) -> None:
    """`olmc help plan` prints what `olmc plan --help` prints."""
    asked, usual = olmc("help", *command.split()), olmc(*command.split(), "--help")
    assert (asked.exit_code, asked.stdout) == (0, usual.stdout)


def test_an_option_that_was_probably_meant() -> None:
    result = olmc("check", "--strct")
    assert result.exit_code == 2
    assert "--strict" in result.stderr


def test_a_kind_that_was_probably_meant() -> None:
    for option in ("--include", "--exclude"):
        result = olmc("render", "own-namespace", option, "Deploymnt")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{option}: nothing is of kind Deploymnt. Did you mean Deployment?" in result.stderr


def test_an_approval_that_was_probably_meant() -> None:
    """It is only said: another workspace, or a later version, may have such a plan."""
    for name in ("render", "resolve"):
        result = olmc(name, "manual-approval", "--approve", "harbour/becon.v1.0.0")
        assert result.exit_code == 0
        told = "--approve harbour/becon.v1.0.0: there is no such InstallPlan. Did you mean harbour/beacon.v1.0.0?"
        assert told in result.stderr
        assert "--approve" not in olmc(name, "manual-approval", "--approve", "harbour/beacon.v1.0.0").stderr


def test_a_kind_like_no_other() -> None:
    """It would let nothing in and leave nothing out, in silence."""
    for name, *paths in (("render", "own-namespace"), ("diff", "own-namespace", "single-namespace")):
        result = olmc(name, *paths, "--exclude", "Zebra")
        assert (result.exit_code, result.stdout) == (2, "")
        told = " ".join(result.stderr.split())
        assert "--exclude: nothing is of kind Zebra. Write a kind of Kubernetes, of OLM, or of a CRD here" in told


def test_kinds_of_the_workspace_are_known() -> None:
    """A CRD's kind is no misspelling, nor is a kind in another case, nor what another workspace may well have."""
    for kind in ("Beacon", "deployment", "PrometheusRule", "Certificate", "CronJob"):
        assert olmc("render", "own-namespace", "--exclude", kind, "-o", "name").exit_code == 0


def test_kinds_of_what_is_not_installed_yet_are_known(project: Path, tmp_path: Path) -> None:
    """A pipeline says the same before and after somebody approves; of a bundle a catalog may be all that there is."""
    assert olmc("render", "manual-approval", "--exclude", "Beacon", "-o", "name").exit_code == 0
    given = project / "fixtures" / "manual-approval"
    shutil.copytree(given, tmp_path / "files", ignore=shutil.ignore_patterns("bundles"))
    shutil.move(tmp_path / "files" / "catalogs", tmp_path / "catalogs")
    told = olmc("render", tmp_path, "--exclude", "Beacon", "--exclude", "Bacon").stderr
    assert "--exclude: nothing is of kind Bacon. Did you mean Beacon?" in told


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("csv", "ClusterServiceVersion"),
        ("sub", "Subscription"),
        ("ip", "InstallPlan"),
        ("og", "OperatorGroup"),
        ("catsrc", "CatalogSource"),
        ("deploy", "Deployment"),
        ("sa", "ServiceAccount"),
        ("crd", "CustomResourceDefinition"),
        ("NS", "Namespace"),
        ("rolebindings", "RoleBinding"),
        ("roles.rbac.authorization.k8s.io", "Role"),
    ],
)
def test_kinds_by_the_names_that_kubectl_takes(name: str, kind: str) -> None:
    """They let in and leave out what the kind itself would."""
    everything = olmc("render", "own-namespace", "-o", "name").stdout.splitlines()
    mine = [line for line in everything if line.startswith(f"{kind}/")]
    assert mine
    assert olmc("render", "own-namespace", "-o", "name", "--include", name).stdout.splitlines() == mine
    others = olmc("render", "own-namespace", "-o", "name", "--exclude", name).stdout.splitlines()
    assert others == [line for line in everything if line not in mine]


def test_kinds_in_a_comparison_by_their_short_names() -> None:
    """Two workspaces are compared by Deployments alone, however these are called."""
    told = [
        olmc("diff", "own-namespace", "single-namespace", "--include", name).stdout for name in ("deploy", "Deployment")
    ]
    assert told[0] == told[1] != ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--include", "CronJob"], "include leaves none of the 25 that there are"),
        (["--include", "Secret", "--exclude", "CronJob"], "include and exclude leave none of the 25 that there are"),
    ],
)
def test_kinds_that_leave_nothing(options: list[str], problem: str) -> None:
    """An empty output is an error as ever, but the workspace is not to blame."""
    result = olmc("render", "own-namespace", *options)
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"own-namespace gives no objects: {problem} [OLMC321]\n  There are objects of kind Cat" in result.stderr
    assert "Subscription in a namespace" not in result.stderr
    assert olmc("render", "own-namespace", *options, "--allow-empty").exit_code == 0


def test_kinds_and_approvals_of_olmc_yaml(project: Path, tmp_path: Path) -> None:
    """As on the command line, with their place, as long as they hold."""
    spec = "  exclude: [Zebra, Deploymnet]\n  include: []\n  approve:\n  - harbour/becon.v1.0.0\n  - foo\n"
    write(tmp_path, {"olmc.yaml": f"apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n{spec}"})
    shutil.copytree(project / "fixtures" / "manual-approval", tmp_path / "files")
    assert olmc("render", tmp_path).stderr == (
        "olmc.yaml:4:13: warning: exclude in olmc.yaml: Zebra is an unknown kind [OLMC152]\n"
        "  Write a kind of Kubernetes, of OLM, or of a CRD here, by any name that kubectl takes.\n"
        "olmc.yaml:4:20: warning: exclude in olmc.yaml: Deploymnet is an unknown kind [OLMC152]\n"
        "  Did you mean Deployment?\n"
        "olmc.yaml:7:5: warning: approve in olmc.yaml: there is no InstallPlan harbour/becon.v1.0.0 [OLMC153]\n"
        "  Did you mean harbour/beacon.v1.0.0?\n"
        "olmc.yaml:8:5: warning: approve in olmc.yaml: there is no InstallPlan foo [OLMC153]\n"
        "  Plans are named by namespace and CSV; olmc resolve lists them.\n"
    )
    given = ("--exclude", "Secret", "--approve", "harbour/beacon.v1.0.0")
    assert "olmc.yaml" not in olmc("render", tmp_path, *given).stderr


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples_first_and_fits(name: str) -> None:
    """Behind the first sentence; no line is longer than a terminal of 100 columns."""
    result = CliRunner().invoke(main, [name, "--help"], env={"COLUMNS": "100"}, terminal_width=100)
    lines = [line for line in result.stdout.splitlines() if line]
    assert max(map(len, lines)) <= 100
    if "Examples:" in result.stdout:
        assert lines[2].strip() == "Examples:"
    assert "--color [auto|always|never]" in result.stdout + olmc(name, "--help-all").stdout


SCAFFOLDS = ("argocd", "flux", "github", "gitlab")
WORDS = ["rbac who-can", "argocd generate", "argocd parameters", *(f"init {name}" for name in SCAFFOLDS)]


@pytest.mark.parametrize("words", WORDS)
def test_commands_of_several_words_have_what_all_have(words: str) -> None:
    """Color, and an environment variable for each option, named after all words."""
    assert "--color [auto|always|never]" in olmc(*words.split(), "--help-all").stdout
    assert "No such option '--nope'" in olmc(*words.split(), "--color", "never", "--nope").stderr
    first, second = words.split()
    nested = command(first).commands[second]  # type: ignore[attr-defined]
    options = [
        each for each in nested.params if isinstance(each, click.Option) and each.name not in ("color", "help_all")
    ]
    assert all(each.envvar == variable(words.replace(" ", "_"), each) for each in options)


def test_color_behind_several_words() -> None:
    told = olmc("rbac", "who-can", "get", "secrets", "own-namespace", "--color", "always")
    assert told.exit_code == 0


def test_the_list_of_commands_fits() -> None:
    """Each stands below what it is good for, and none of the short descriptions is cut at 80 columns."""
    text = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout
    sections = text[text.index(f"{next(iter(SECTIONS))}:") :].splitlines()
    assert [line[:-1] for line in sections if line and not line.startswith(" ")] == list(SECTIONS)
    listed = [line for line in sections if line.startswith("  ")]
    assert sorted(line.split()[0] for line in listed) == sorted(set(NAMES) - HIDDEN)
    assert [line for line in listed if "..." in line or not line.endswith(".")] == []


@pytest.mark.parametrize("name", ["render", "check", "plan", "diff", "status"])
def test_help_shows_the_options_that_are_used_most(name: str) -> None:
    """In groups, seven of them; --help-all has all, those of APIs that no release has behind the others."""
    short, whole = (olmc(name, flag).stdout for flag in ("--help", "--help-all"))
    listed = short[short.index("\nInput:") :]
    options = [line for line in listed.splitlines() if line.startswith("  -")]
    assert len(options) == 7 + len(("--color", "--help-all", "--help")), short
    assert "more options:" in short
    assert "--enable-v2alpha1" not in short
    params = [each for each in command(name).params if isinstance(each, click.Option)]
    assert [each.name for each in params if max(each.opts, key=len) not in whole and each.name != "help"] == []
    assert whole.index("\nCluster:") < whole.index("\nProposed APIs, which no release of OLM has:")


def test_names_of_before_still_work(tmp_path: Path) -> None:
    """No help shows them."""
    assert olmc("report", "own-namespace", "-o", tmp_path / "site").exit_code == 0
    assert (tmp_path / "site" / "index.html").is_file()
    assert "-o," not in olmc("report", "--help-all").stdout
    assert olmc("get", "csv", "-C", "own-namespace", "-A").stdout == olmc("get", "csv", "own-namespace", "-A").stdout
    assert "--workspace" not in olmc("get", "--help-all").stdout
    assert olmc("version", "--profile", "0.25").stdout == olmc("explain", "gaps", "0.25").stdout
    assert olmc("argocd", "--help").exit_code == olmc("plugin", "argocd", "--help").exit_code == 0


def test_the_version_as_an_option() -> None:
    assert olmc("--version").stdout == olmc("version").stdout


def test_a_variable_is_blamed_for_its_value() -> None:
    result = olmc("render", "own-namespace", env={"OLMC_RENDER_FOR": "aply"})
    assert result.exit_code == 2
    assert "Invalid value for the variable OLMC_RENDER_FOR (--for): 'aply' is not one of" in result.stderr
    result = olmc("check", "own-namespace", env={"OLMC_CHECK_KUBE_VERSION": "new"})
    assert "the variable OLMC_CHECK_KUBE_VERSION (--kube-version): a version looks like v1.36.2" in result.stderr
    assert "Invalid value for '--for'" in olmc("render", "--for", "aply", env={"OLMC_RENDER_FOR": "apply"}).stderr


EMPTY = [
    ["render", ""],
    ["render", "own-namespace", ""],
    ["render", "own-namespace", "--output-dir", ""],
    ["check", ""],
    ["diff", "", "own-namespace"],
    ["diff", "own-namespace", ""],
    ["get", "installed", "-C", ""],
    ["status", ""],
    ["vendor", ""],
    ["init", "github", ""],
    ["serve", "", "--http"],
    ["rbac", "who-can", "get", "secrets", ""],
]


@pytest.mark.parametrize("arguments", EMPTY)
def test_an_empty_path_is_not_the_current_directory(arguments: list[str]) -> None:
    result = olmc(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the path is empty; write . for the current directory." in result.stderr


@pytest.mark.parametrize("name", ["check", "status", "why beacon", "rbac", "resolve", "rbac who-can get secrets"])
def test_the_version_of_kubernetes(name: str, project: Path, tmp_path: Path) -> None:
    """It decides whether an operator may be installed, so every command that compiles takes it."""
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "workspace")
    (csv,) = (tmp_path / "workspace").rglob("*.clusterserviceversion.yaml")
    csv.write_text(csv.read_text(encoding="utf-8").replace("spec:\n", "spec:\n  minKubeVersion: 1.30.0\n", 1), "utf-8")
    results = [olmc(*name.split(), tmp_path / "workspace", "--kube-version", each) for each in ("v1.29.0", "v1.31.0")]
    assert results[0].output != results[1].output
    assert olmc(*name.split(), "own-namespace", "--kube-version", "new").exit_code == 2


def test_check_approves() -> None:
    """As the other commands do: what is installed then is checked as well."""
    assert "OLMC139" in olmc("check", "manual-approval", "--approve", "all").stdout
    assert "OLMC139" not in olmc("check", "manual-approval").stdout
    told = "olmc: --approve foo: there is no such InstallPlan."
    assert told in olmc("check", "manual-approval", "--approve", "foo").stderr


def test_examples_move_and_everything_stays() -> None:
    text = "One.\n\nTwo.\n\n\b\nExamples:\n  olmc a\n  olmc b\n\nThree."
    assert examples_first(text) == "One.\n\n\b\nExamples:\n  olmc a\n  olmc b\n\nTwo.\n\nThree."
    assert examples_first("One.\n\n\b\nExamples:\n  olmc a") == "One.\n\n\b\nExamples:\n  olmc a"
    assert examples_first("One.\n\nTwo.") == "One.\n\nTwo."


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_an_environment_variable(name: str) -> None:
    """Named after the command and the option's long form, and the help says so."""
    params = [each for each in command(name).params if each.name not in ("color", "help_all")]
    options = [each for each in params if isinstance(each, click.Option)]
    assert all(each.envvar == variable(name, each) for each in options)
    if options and name != "version":  # whose only option has moved to `olmc explain`
        assert f"{options[0].envvar} is --" in " ".join(olmc(name, "--help-all").stdout.split())


def test_environment_variables_work() -> None:
    """Flags take true and false, options that may be repeated a list."""
    assert olmc("check", "bare-bundle", env={"OLMC_CHECK_STRICT": "1"}).exit_code == 1
    assert olmc("check", "bare-bundle", env={"OLMC_CHECK_STRICT": "false"}).exit_code == 0
    told = olmc("check", "bare-bundle", env={"OLMC_CHECK_IGNORE": "OLMC270 OLMC272"}).stdout
    assert told.startswith("no findings")
    assert olmc("check", "manual-approval", env={"OLMC_CHECK_ALL": "true"}).stdout.startswith("info: ")
    assert olmc("render", "own-namespace", env={"OLMC_RENDER_OUTPUT": "name"}).stdout.startswith("Namespace/")


@pytest.mark.slow
def test_another_directory(project: Path) -> None:
    """As make and git have it: -C comes first, and paths are seen from there."""
    before = Path.cwd()
    there = olmc("-C", project / "fixtures", "status", "port")
    assert Path.cwd() == before
    assert "`olmc why gauge.v1.2.0 port`" in there.stdout  # which works from the directory that -C names
    inside = olmc("-C", project / "fixtures" / "port", "status").stdout
    assert "`olmc why gauge.v1.2.0`" in inside
    elsewhere = olmc("status", project / "fixtures" / "port").stdout

    def without_folder(text: str) -> str:
        return re.sub(rf" (?:{re.escape(str(project))}/fixtures/)?port\b", "", text)

    assert there.exit_code == 1
    assert without_folder(there.stdout) == without_folder(elsewhere) == without_folder(inside)
    nowhere = olmc("-C", "nowhere", "status")
    assert (nowhere.exit_code, nowhere.stdout) == (2, "")
    assert "Directory 'nowhere' does not exist" in nowhere.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = olmc("completion", shell)
    assert result.exit_code == 0
    assert f"_OLMC_COMPLETE={shell}_complete" in result.stdout


def completed(words: str, project: Path) -> list[str]:
    """What bash is offered for the last of these words."""
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_OLMC_COMPLETE": "bash_complete"}
    result = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['olmc']; from olmc.__main__ import run; run()"],
        cwd=project, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("olmc che", ["check"]),
        ("olmc explain OLMC44", ["OLMC440", "OLMC441", "OLMC442"]),
        ("olmc explain R-CR-", ["R-CR-1", "R-CR-2", "R-CR-3", "R-CR-4"]),
        ("olmc render --include CatalogS", ["CatalogSource"]),
        ("olmc check --optional oper", ["operatorhub", "operatorhubv2", "operatorframework"]),
        ("olmc check -o sa", ["sarif"]),
        ("olmc get inst", ["installed", "installplans", "installs"]),
        ("olmc -C fixtures/port graph t", ["tide"]),
        ("olmc -C fixtures/port why be", ["beacon", "beacon.v1.0.0", "beacon.v1.1.0"]),
        ("olmc -C fixtures/port why Namespace/b", ["Namespace/beacons"]),
        ("olmc -C fixtures/port get installed -n b", ["beacons"]),
        ("olmc get installed -C fixtures/port -n b", ["beacons"]),
        ("olmc -C fixtures graph nothing", []),
        ("olmc -C nowhere graph t", []),
    ],
)
def test_what_is_completed(words: str, expected: list[str], project: Path) -> None:
    assert completed(words, project) == expected


@pytest.mark.parametrize(
    "name", sorted({"check", "diff", "plan", "render", "get", "resolve", "graph", "migrate", "verify"})
)
def test_help_fits_a_screen_and_all_of_it_is_there(name: str) -> None:
    """The short help of a command has about fifty lines; --help-all, which each command accepts, has the rest."""
    short, whole = (CliRunner().invoke(main, [name, flag], terminal_width=80) for flag in ("--help", "--help-all"))
    assert len(short.output.splitlines()) <= 56
    assert (whole.exit_code, len(whole.output) >= len(short.output) - 100) == (0, True)
    assert "\f" not in whole.output


def test_usage_errors_suggest_in_one_way() -> None:
    """One spelling of the question, no hidden command, and no tabs in a list of words."""
    assert "No such option '--selec'. Did you mean" in olmc("check", "--selec", "X").stderr
    assert "Did you mean check?" in olmc("chekc").stderr
    assert "Choose from: bash, zsh, fish" in olmc("completion").stderr
    assert "Name a revision: git:REF" in olmc("plan", "port", "--from", "git:").stderr


def test_a_narrow_table_shortens_names_first() -> None:
    """The phase and the upgrade of an operator matter more than the end of its name."""
    table = [
        f"{'NAMESPACE':34}  {'OPERATOR':28}  VERSION  PHASE      UPGRADE",
        f"openshift-operators-redhat-logging  {'lantern-long-operator-name':28}  1.2.0    \x1b[32mSucceeded\x1b[0m  -",
        f"{'tower':34}  {'lantern':28}  1.2.0    Failed     -",
        "    the reason goes on in the next line of a terminal, however long it is, and keeps all of its words",
    ]  # fmt: skip
    shown = fitted(table, 80)
    assert shown[0] == f"{'NAMESPACE':24}  {'OPERATOR':25}  VERSION  PHASE      UPGRADE"
    assert shown[1] == "openshift-operators-red…  lantern-long-operator-na…  1.2.0    \x1b[32mSucceeded\x1b[0m  -"
    assert shown[2:] == [f"{'tower':24}  {'lantern':25}  1.2.0    Failed     -", table[3]]
    assert fitted(table, 120) == table
