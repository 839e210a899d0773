"""Statements about outputs: `olmc render --provenance`, `olmc verify`, docs/provenance.md."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from running import tree
from shown_pages import is_as_shown, shown
from tiers import marked_slow, sampled

from olmc.cli.main import main
from olmc.cli.verify import OF_PLACE, STATED, UNSTATED
from olmc.review.attestation.statement import is_inside
from olmc.targets.pipeline import compile

PAGE = "docs/provenance.md"
STATEMENT = "rendered.intoto.jsonl"


def olmc(command: str) -> Result:
    result = CliRunner().invoke(main, shlex.split(command))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def rendered(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which is the working directory, with an output and its statement."""
    monkeypatch.chdir(repository)
    done = olmc(f"render w --for apply --keep-going --output-dir rendered --provenance {STATEMENT}")
    assert done.exit_code in (0, 1), done.output
    assert olmc("verify rendered --recompile").exit_code == 0
    return repository


def test_the_page_is_true(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(project / "fixtures/own-namespace", tmp_path / "fixtures/own-namespace")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    commands = shown(PAGE)
    assert len(commands) == 3
    for command, output in commands:
        if "build/changed" in command:
            shutil.copytree("build/rendered", "build/changed")
            Path("build/changed/extra.yaml").write_text("")
            Path("build/changed/kustomization.yaml").write_text("resources: []\n")
        done = olmc(command.removeprefix("olmc "))
        assert is_as_shown(output, done.output), done.output
        assert done.exit_code == int("changed" in command)


def test_the_statement_depends_on_nothing_else(rendered: Path) -> None:
    """The same from another folder of the same content, to another place."""
    text = Path(STATEMENT).read_text()
    other = rendered.with_name("other")
    shutil.copytree(rendered, other)
    os.chdir(other)
    for path in (Path(STATEMENT), Path("rendered")):
        path.unlink() if path.is_file() else shutil.rmtree(path)
    olmc(f"render w --for apply --keep-going --output-dir {other}/elsewhere/r --provenance {other}/{STATEMENT}")
    assert Path(STATEMENT).read_text() == text
    assert str(rendered.parent) not in text
    value = json.loads(text)
    assert value["predicate"]["buildDefinition"]["externalParameters"]["arguments"] == [
        "w",
        "--for",
        "apply",
        "--keep-going",
    ]
    assert {one["name"].split("/")[0] for one in value["predicate"]["buildDefinition"]["resolvedDependencies"]} == {"w"}
    assert {one["name"] for one in value["subject"]} == {path.name for path in (rendered / "rendered").iterdir()}


@pytest.mark.parametrize(
    ("act", "named"),
    [
        ("echo x >> rendered/kustomization.yaml", "rendered/kustomization.yaml is not as stated: changed"),
        ("rm rendered/kustomization.yaml", "rendered/kustomization.yaml is not as stated: missing"),
        ("mkdir rendered/sub; touch rendered/sub/.x", "rendered/sub/.x is not as stated: not in the statement"),
        ("echo >> w/operators.yaml", "w/operators.yaml is not as stated: changed"),
        ("rm w/operators.yaml", "w/operators.yaml is not as stated: missing"),
    ],
)
def test_what_was_changed_is_named(rendered: Path, act: str, named: str) -> None:
    subprocess.run(act, shell=True, cwd=rendered, check=True)
    done = olmc("verify rendered")
    assert done.exit_code == 1
    assert named in done.output
    assert olmc("verify rendered --output-only").exit_code == int("rendered/" in act)


@pytest.mark.parametrize("where", ["outside", "beside", "a folder"])
def test_a_link_is_not_what_was_stated(where: str, rendered: Path) -> None:
    """Its target may change after it was looked at, and whoever applies the output reads another file."""
    output = rendered / "rendered"
    file = next(path for path in sorted(output.rglob("*.yaml")))
    target = (output if where == "beside" else rendered) / "moved.yaml"
    file.rename(target)
    if where == "a folder":
        target.rename(file)
        target.mkdir()
    link = output / "folder" if where == "a folder" else file
    link.symlink_to(target)
    done = olmc("verify rendered")
    assert done.exit_code == 1
    assert f"rendered/{link.relative_to(output).as_posix()} is not as stated" in done.output


def test_rendering_again_finds_what_digests_do_not(rendered: Path) -> None:
    """A file that came later, and an output with a statement of its own that these inputs never gave."""
    Path("w/later.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: later}\n")
    assert olmc("verify rendered").exit_code == 0
    assert "w/later.yaml is not as stated: not in the statement" in olmc("verify rendered --recompile").output
    Path("w/later.yaml").unlink()
    change_statement(lambda value: value["subject"].pop(), rendered)
    extra = sorted(path.name for path in Path("rendered").iterdir())[-1]
    Path("rendered", extra).unlink()
    assert olmc("verify rendered").exit_code == 0
    done = olmc("verify rendered --recompile")
    assert done.exit_code == 1
    assert f"rendered/{extra} is not as stated: not in the statement when rendered again" in done.output


def change_statement(act: Any, root: Path) -> None:
    value = json.loads((root / STATEMENT).read_text())
    act(value)
    (root / STATEMENT).write_text(json.dumps(value))


CALLS: list[tuple[list[str], dict[str, str]]] = [
    *(
        (arguments, {})
        for arguments in (
            ["w", "--output-dir", "stolen"], ["w", "--output-dir=stolen"], ["w", "--provenance", "stolen"],
            ["w", "--provenance=w/operators.yaml"], ["w", "--check"], ["w", "--check", "--output-dir", "stolen"],
            ["w", "--fail-on-change"], ["w", "--jobs", "64"], ["--help"], ["-h"], ["-"], ["./-"], ["/"], [".."],
            ["w/operators.yaml"], ["w", "--from", "git:HEAD"], ["w", "--from=git:HEAD"], ["-vo", "json", "--nonsense"],
            ["--", "--output-dir", "stolen"], ["w", "--"], ["nonsense", "--x"], ["w", "--output-dir"],
            ["w", "--include"], ["w", "--apis-from", "/etc/passwd"], ["w", "--apis-from=../outside"], [""], ["\0"],
            ["w", "--apis-from", "w"], ["loop"], ["out"], [],
        )
    ),
    *(
        (["w"], variables)
        for variables in (
            {"OLMC_RENDER_OUTPUT_DIR": "stolen"}, {"OLMC_RENDER_PROVENANCE": "stolen"}, {"OLMC_RENDER_CHECK": "1"},
            {"OLMC_RENDER_FAIL_ON_CHANGE": "1"}, {"OLMC_RENDER_JOBS": "64"}, {"OLMC_RENDER_FROM": "git:HEAD"},
            {"OLMC_RENDER_APIS_FROM": "/etc/passwd"}, {"OLMC_RENDER_NONSENSE": "1"}, {"PATH": "stolen"},
            {"OLMC_LIMIT_FILES": "1"}, {"OLMC_VERIFY_ROOT": "/"}, {"OLMC_RENDER_HELP": "1"}, {"": "1"},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("is_folder", marked_slow([True, False], False.__eq__))
@pytest.mark.parametrize("call", sampled(CALLS, 4), ids=str)
def test_a_statement_can_not_make_olmc_write(
    rendered: Path, call: tuple[list[str], dict[str, str]], is_folder: bool
) -> None:
    """What a statement says is a stranger's: rendering again writes nothing but temporary files."""
    arguments, variables = call
    (rendered / "loop").symlink_to("loop")
    (rendered / "out").symlink_to(rendered.parent)
    output = "rendered" if is_folder else "out.yaml"
    if not is_folder:
        (rendered / output).write_text(olmc("render w --for apply --keep-going --provenance out.yaml.s").stdout)
        (rendered / "out.yaml.s").rename(rendered / STATEMENT)
        assert olmc(f"verify {output} --provenance {STATEMENT} --recompile").exit_code == 0
    parameters = {"arguments": arguments, "variables": variables}
    change_statement(
        lambda value: value["predicate"]["buildDefinition"].update(externalParameters=parameters), rendered
    )
    before, environment = tree(rendered), dict(os.environ)
    done = olmc(f"verify {output} --provenance {STATEMENT} --recompile")
    refused = (1, "it can't be rendered again: "), (3, "is no statement of olmc render"), (1, "not in the statement")
    assert any(
        done.exit_code == code and words in done.output for code, words in refused[: None if not arguments else 2]
    )
    assert tree(rendered) == before
    assert dict(os.environ) == environment


def test_it_is_known_of_each_option_whether_a_statement_may_say_it() -> None:
    """What nobody has thought of is refused."""
    command = main.get_command(click.Context(main), "render")
    assert command is not None
    names = {param.name for param in command.params if isinstance(param, click.Option)}
    assert STATED.isdisjoint(OF_PLACE)
    assert STATED.isdisjoint(UNSTATED)
    assert {*STATED, *OF_PLACE, *UNSTATED} == {*names, "help"}


def test_a_statement_has_nothing_read_outside_of_a_folder(rendered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever renders in another folder says which one may be read."""
    (rendered / "elsewhere").mkdir()
    monkeypatch.chdir(rendered / "elsewhere")
    assert olmc("render ../w --output-dir r --provenance r.intoto.jsonl").exit_code in (0, 1)
    done = olmc("verify r")
    assert done.exit_code == 1
    assert "../w/operators.yaml is not as stated: outside of the folder that may be read (--root)" in done.output
    assert olmc("verify r --output-only").exit_code == 0
    assert olmc("verify r --root .. --recompile").exit_code == 0


def test_variables_that_say_nothing_about_the_output_are_in_no_statement(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("OLMC_RENDER_NONSENSE", "1")
    monkeypatch.setenv("OLMC_RENDER_JOBS", "1")
    monkeypatch.setenv("OLMC_RENDER_VERBOSE", "1")
    Path("o").write_text(olmc("render w -vojson --jobs=1 --provenance s").stdout)
    parameters = json.loads(Path("s").read_text())["predicate"]["buildDefinition"]["externalParameters"]
    assert parameters == {"arguments": ["w", "-vojson"], "variables": {"OLMC_RENDER_VERBOSE": "1"}}
    assert olmc("verify o --provenance s --recompile").exit_code == 0


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", '{"_type": "https://in-toto.io/Statement/v1"}', "\xff"])
def test_what_is_no_statement(rendered: Path, text: str) -> None:
    (rendered / STATEMENT).write_text(text, "latin-1")
    done = olmc("verify rendered")
    assert done.exit_code == 3
    assert "OLMC605" in done.output


def test_names_that_lead_out_are_refused(rendered: Path) -> None:
    change_statement(lambda value: value["subject"][0].update(name="../w/operators.yaml"), rendered)
    done = olmc("verify rendered")
    assert done.exit_code == 3
    assert "'../w/operators.yaml' is no name of an output" in done.output
    assert [is_inside(name) for name in ("a", "a/b", ".a", "..a")] == [True] * 4
    assert not any(is_inside(name) for name in ("/a", "../a", "a/../b", "a//b", "a\0", "a/"))


@pytest.mark.parametrize("field", ["subject", "predicate", "_type"])
def test_a_key_that_stands_twice_is_refused(field: str, rendered: Path) -> None:
    """Other programs read the first of two."""
    text = (rendered / STATEMENT).read_text()
    value = json.dumps(json.loads(text)[field])
    (rendered / STATEMENT).write_text(f'{{"{field}":{value},' + text[1:])
    done = olmc("verify rendered")
    assert done.exit_code == 3
    assert f"the key '{field}' stands twice" in " ".join(done.output.split())


@pytest.mark.parametrize("at_end", [True, False])
def test_a_file_with_two_digests_is_refused(at_end: bool, rendered: Path) -> None:
    def again(value: Any) -> None:
        first = value["subject"][0]
        other = {"name": first["name"], "digest": {"sha256": "0" * 64}}
        value["subject"] = [*value["subject"], other] if at_end else [other, *value["subject"]]

    change_statement(again, rendered)
    done = olmc("verify rendered")
    assert done.exit_code == 3
    assert "has two digests" in " ".join(done.output.split())


def test_what_was_printed_has_a_statement_as_well(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("OLMC_RENDER_OUTPUT", "json")
    Path("out.json").write_text(olmc("render w --provenance out.json.intoto.jsonl").stdout)
    monkeypatch.delenv("OLMC_RENDER_OUTPUT")
    assert Path("out.json").read_text().startswith("{")
    assert olmc("verify out.json --recompile").exit_code == 0
    Path("out.json").write_text("{}")
    assert "out.json is not as stated: changed" in olmc("verify out.json").output


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("render w --output-dir r --provenance s --check", "goes without --check"),
        ("render --provenance s -- w", "does not go with --;"),
        ("render w --provenance s --from v", "does not go with --from"),
        ("render w/operators.yaml --provenance s", "is none"),
        ("verify w --output-only --recompile", "needs the inputs"),
    ],
)
def test_what_can_not_be_stated(repository: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str) -> None:
    monkeypatch.chdir(repository)
    done = olmc(command)
    assert done.exit_code == 2
    assert said in done.output


def test_no_statement_about_inputs_that_change(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes between the first look and the last."""
    monkeypatch.chdir(repository)

    def compiled(*arguments: Any, **values: Any) -> Any:
        with Path("w/operators.yaml").open("a") as stream:
            stream.write("# late\n")
        return compile_(*arguments, **values)

    compile_ = compile
    monkeypatch.setattr("olmc.cli.render.compile", compiled)
    done = olmc("render w --provenance s.jsonl")
    assert done.exit_code == 3
    assert "w/operators.yaml has changed while it was read" in done.output
    assert not Path("s.jsonl").exists()


def test_an_output_that_is_a_device_has_no_digest(rendered: Path) -> None:
    """It would be read for ever."""
    path = sorted((rendered / "rendered").glob("*.yaml"))[0]
    path.unlink()
    path.symlink_to("/dev/zero")
    done = olmc("verify rendered")
    assert done.exit_code != 0
    assert path.name in done.output
