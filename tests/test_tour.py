"""docs/tour.md: few enough modules, and all that it points at is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from shown_pages import PROJECT, run_as_shown, shown

from olmc.compiler.rules.rulebook import spec_rule

PAGE = "docs/tour.md"
MOST_MODULES = 15
_STOP = re.compile(r"^## (\d+)\. \[([^]\n]+)\]\(\.\./([^)\n]+)\)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_READ = re.compile(r"^Read (.+)\.$", re.MULTILINE)
_RULE_LINK = re.compile(r"\[([A-Z][A-Z0-9-]+)\]\(spec/([a-z0-9-]+\.md)#([a-z0-9-]+)\)")


@pytest.fixture(scope="module")
def text(project: Path) -> str:
    return (project / PAGE).read_text(encoding="utf-8")


def _stops() -> list[tuple[str, str]]:
    """The module of each stop, and what is said there."""
    page = (PROJECT / PAGE).read_text(encoding="utf-8")
    return [(path, said) for _, _, path, said in _STOP.findall(page)]


def test_a_newcomer_reads_few_modules(text: str) -> None:
    stops = _STOP.findall(text)
    assert [int(number) for number, *_ in stops] == list(range(1, len(stops) + 1))
    assert all(name == path for _, name, path, _ in stops)
    linked = set(re.findall(r"\]\(\.\./(olmc/[^)#]+)", text))
    assert linked == {path for path, _ in _stops()}
    assert 10 <= len(linked) <= MOST_MODULES


@pytest.mark.parametrize(("path", "said"), _stops(), ids=[path for path, _ in _stops()])
def test_what_is_to_be_read_at_a_stop_is_there(path: str, said: str, project: Path) -> None:
    module = ast.parse((project / path).read_text(encoding="utf-8"))
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    lines = _READ.findall(said)
    assert len(lines) == 1
    names = re.findall(r"`(\w+)`", lines[0])
    assert 1 <= len(names) <= 2
    assert [name for name in names if name not in functions] == []


def test_types_of_the_tour_are_types_of_olmc(text: str, project: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    sources = [path.read_text(encoding="utf-8") for path in (project / "olmc").rglob("*.py")]
    classes = {name for source in sources for name in re.findall(r"^class (\w+)", source, re.MULTILINE)}
    named = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)`", prose))
    assert len(named) > 5
    assert named - classes == set()


def test_rules_are_linked_where_they_stand(text: str) -> None:
    links = _RULE_LINK.findall(text)
    assert len(links) > 10
    for rule_id, page, anchor in links:
        rule = spec_rule(rule_id)
        assert rule is not None, rule_id
        assert rule.path == f"spec/{page}#{anchor}"


@pytest.mark.parametrize(("command", "output"), shown(PAGE))
def test_commands_of_the_tour(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as_shown(command, output, monkeypatch)
