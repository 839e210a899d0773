"""The texts that say which files decide a result: imports of Jsonnet, attributes of git, objects of GitOps tools."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scenarios import write
from tiers import sampled

from olmc.compiler.load.deciding_files import checkout_effects
from olmc.compiler.load.gitops_files import (
    RepositoryFiles,
    ToolObject,
    TooManyPathsError,
    imports_of,
    named_files,
    tool_objects,
)

IMPORTS = [
    ('import "a.jsonnet"', ["a.jsonnet"]),
    ("importstr 'a b.txt'", ["a b.txt"]),
    (r'import "\u0061\/b\\\"c"', ['a/b\\"c']),
    ("import '\\ud83d\\ude00'", ["\U0001f600"]),
    ("import @'it''s \\u0061'", ["it's \\u0061"]),
    ("importbin /* 'no' */ # 'no'\n // 'no'\n 'a'", ["a"]),
    ("// import 'no'\n# import 'no'\n/* import 'no' */ import 'a'", ["a"]),
    ("\"import 'no'\" + @'import ''no''' + import('a')", ["a"]),
    ("|||\n  import 'no'\n\n  |||\n||| + import 'a'", ["a"]),
    ("|||\n\timport 'no'\n|||\nimport 'a'", ["a"]),
    ("important 'no' + { 'import': 'no' } + xs.importstr2('no')", []),
    ("importstr std.extVar('a')", [None]),
    ("import 'a' + 'b'", ["a", None]),
    ("import 'a", ["a"]),
    ("/* import 'no'", []),
    ("import", [None]),
    ("(import 'a') + (import 'b')", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "paths"), IMPORTS)
def test_imports(text: str, paths: list[str | None]) -> None:
    assert [found.path for found in imports_of(text)] == paths


@pytest.mark.parametrize(
    "text",
    sampled(
        ["import ", '"', "|||\n", "|||\n ", "/*", "import((((", '\\"', "import #\n", "import @'", "import '\\u00"], 4
    ),
)
def test_a_long_text_costs_as_much_as_it_has_characters(text: str) -> None:
    def seconds(text: str) -> float:
        start = time.process_time()
        list(imports_of(text))
        return time.process_time() - start

    count = 40_000 // len(text)
    once = min(seconds(text * count) for _ in range(3))
    assert min(seconds(text * count * 2) for _ in range(3)) < 4 * once + 0.05


FILES = ("a.yaml", "x/a.yaml", "x/y/b.yaml", "x/y/c d.json")
ATTRIBUTES = [
    ({"": "*.yaml working-tree-encoding=UTF-16"}, ["a.yaml", "x/a.yaml", "x/y/b.yaml"]),
    ({"": "*.yaml working-tree-encoding=utf-8"}, []),
    ({"": "/*.yaml filter=x"}, ["a.yaml"]),
    ({"": "x/*.yaml ident"}, ["x/a.yaml"]),
    ({"": "x/**/b.yaml ident"}, ["x/y/b.yaml"]),
    ({"": "x/** ident"}, ["x/a.yaml", "x/y/b.yaml", "x/y/c d.json"]),
    ({"": "**/a.yaml ident"}, ["a.yaml", "x/a.yaml"]),
    ({"x": "a.yaml ident"}, ["x/a.yaml"]),
    ({"x": "/y/b.yaml ident"}, ["x/y/b.yaml"]),
    ({"": '"x/y/c\\040d.json" ident'}, ["x/y/c d.json"]),
    ({"": '"x/y/c d.json" ident'}, ["x/y/c d.json"]),
    ({"": "[!b].yaml ident"}, ["a.yaml", "x/a.yaml"]),
    ({"": "[^b].yaml ident"}, ["a.yaml", "x/a.yaml"]),
    ({"": "\\a.yaml ident"}, ["a.yaml", "x/a.yaml"]),
    ({"": "# a.yaml ident\n!a.yaml ident\na.yaml -ident"}, []),
    ({"": "*.yaml ident\na.yaml -ident"}, ["x/y/b.yaml"]),
    ({"": "*.yaml ident", "x": "*.yaml !ident"}, ["a.yaml"]),
    ({"": "*.yaml text eol=crlf", "x/y": "* -text"}, ["a.yaml", "x/a.yaml"]),
    ({"": "*.yaml text=auto eol=lf diff=x merge=y linguist-generated"}, []),
    ({"": "[attr]odd filter=x\na.yaml odd"}, ["a.yaml", "x/a.yaml"]),
    ({"": "*.yaml eol=crlf\n*.yaml binary"}, []),
    ({"": "x export-ignore"}, ["x/a.yaml", "x/y/b.yaml", "x/y/c d.json"]),
    ({"": "x/y/ export-ignore"}, ["x/y/b.yaml", "x/y/c d.json"]),
    ({"": "x/ ident"}, []),
    ({"": "*.md filter=x"}, []),
]


@pytest.mark.parametrize(("texts", "files"), ATTRIBUTES)
def test_attributes(texts: dict[str, str], files: list[str]) -> None:
    """As `git check-attr` has them, which the next test asks."""
    by_path = {f"{folder}/.gitattributes".lstrip("/"): text for folder, text in texts.items()}
    assert sorted(checkout_effects(FILES, by_path)) == sorted(files)


@pytest.mark.parametrize("texts", [texts for texts, _ in ATTRIBUTES if "export" not in str(texts)])
def test_git_has_the_same_attributes(texts: dict[str, str], tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for folder, text in texts.items():
        write(tmp_path, {f"{folder}/.gitattributes".lstrip("/"): f"{text}\n"})
    by_path = {f"{folder}/.gitattributes".lstrip("/"): text for folder, text in texts.items()}
    found = checkout_effects(FILES, by_path)
    for path in FILES:
        listed = git(tmp_path, "check-attr", "-z", "--all", path).split("\0")
        values = dict(zip(listed[1::3], listed[2::3], strict=False))
        given: dict[str, str] = {
            name: values[name] for name in ("filter", "ident", "working-tree-encoding") if name in values
        }
        expected: dict[str, str] = {name: value for name, value in given.items() if value not in ("unset", "utf-8")}
        expected |= {"eol": "crlf"} if values.get("eol") == "crlf" and values.get("text") != "unset" else {}
        assert set(expected) == set(found[path].attributes if path in found else ()), path


def git(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


@pytest.mark.slow
def test_attributes_that_are_too_many_hide_no_file() -> None:
    lines = "".join(f"n{number} ident\n" for number in range(1_000))
    files = [f"{number}.yaml" for number in range(3_000)]
    assert len(checkout_effects(files, {".gitattributes": lines})) == len(files)


def objects(text: str) -> list[ToolObject]:
    return list(tool_objects([("app.yaml", text)]))


ESCAPED = r"""apiVersion: "argoproj\u002eio/v1alpha1"
kind: Application
metadata: {name: a}
spec: {source: {path: x, helm: {valueFiles: [v.yaml]}}}
"""


@pytest.mark.parametrize(
    "change",
    [str, lambda text: text.replace('"argoproj\\u002eio/v1alpha1"', "!!str argoproj.io/v1alpha1"),
     lambda text: text.replace('"argoproj\\u002eio/v1alpha1"', ">-\n  argoproj.io/v1alpha1"),
     lambda text: f"apiVersion: v1\nkind: List\nitems:\n- {text.replace(chr(10), chr(10) + '  ')}\n"],
)  # fmt: skip
def test_an_object_is_found_however_it_is_written(change: Callable[[str], str]) -> None:
    files = RepositoryFiles({"x/v.yaml"}, (), lambda _: "")
    assert [file.path for file in named_files(objects(change(ESCAPED)), files)] == ["x/v.yaml", "x/v.yaml"]


def test_too_many_patterns_are_an_error() -> None:
    patterns = ", ".join(f"'a{{{{b}}}}{number}'" for number in range(1_000))
    text = ESCAPED.replace("[v.yaml]", f"[{patterns}]")
    with pytest.raises(TooManyPathsError):
        list(named_files(objects(text), RepositoryFiles({f"{number}" for number in range(3_000)}, (), lambda _: "")))
