"""All rules together: codes, texts, and the pages that show them."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

from olmc.compiler.rules.findings import catalogs, validation
from olmc.k8s.diagnostics import Rule, Severity
from olmc.review.rules.catalogue import WAYS_OUT, all_rules, chapters, depends_on_cause, hint_of, message_of
from olmc.review.rules.page import INDEX, page_path, pages, write


def test_codes_are_unique() -> None:
    """One rule a code, whatever the number of modules that import it."""
    codes = [rule.code for rule in all_rules()]
    assert len(codes) == len(set(codes))
    assert codes == sorted(codes)
    assert all(len(code) == 7 and code.startswith("OLMC") and code[4:].isdigit() for code in codes)


def test_every_rule_has_all_its_texts() -> None:
    for rule in all_rules():
        assert all(text.strip() for text in (rule.title, rule.message, rule.hint, rule.explanation)), rule.code
        assert message_of(rule) and hint_of(rule)
        assert isinstance(rule.severity, Severity)


def test_all_modules_are_searched() -> None:
    """Chapters are in the order of their codes and hold what their modules hold."""
    assert {validation.CRD, catalogs.NOT_READ} <= set(all_rules())
    assert sum(len(chapter.rules) for chapter in chapters()) == len(all_rules())
    firsts = [chapter.rules[0].code for chapter in chapters()]
    assert firsts == sorted(firsts)
    assert all(chapter.title for chapter in chapters())


def test_templates_are_shown_with_plain_names() -> None:
    """Conversions and formats are of no use to a reader; doubled braces are single ones."""
    rule = Rule("OLMC999", Severity.INFO, "t", "{name!r} has {size:,} of {{ braces }}", "{hint}", "e")
    assert message_of(rule) == "{name} has {size} of { braces }"
    assert hint_of(rule._replace(code="OLMC744")) == WAYS_OUT["OLMC744"]
    assert hint_of(rule._replace(hint="Use {name}.")) == "Use {name}."


def test_every_code_has_its_ways_out() -> None:
    """A rule has a hint, or the ways out of all causes: one of both, so that neither goes stale."""
    assert {rule.code for rule in all_rules() if depends_on_cause(rule)} == set(WAYS_OUT)
    assert not [code for code, text in WAYS_OUT.items() if not text.endswith(".")]


def test_the_pages_are_current(project: Path) -> None:
    """docs/rules.md and docs/rules/ are the output of `python -m olmc.review.rules.page docs`."""
    docs = project / "docs"
    found = {path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8") for path in docs.glob("rules/*.md")}
    assert {**found, INDEX: (docs / INDEX).read_text(encoding="utf-8")} == pages()


def test_each_rule_has_a_page_and_a_row() -> None:
    texts = pages()
    for rule in all_rules():
        text = texts[page_path(rule)]
        assert text.startswith(f"# {rule.code}: ")
        assert f"| [{rule.code}]({page_path(rule)}) | {rule.severity} | " in texts[INDEX]
        assert {field for _, field, _, _ in Formatter().parse(rule.message) if field} <= {
            part.partition("}")[0] for part in message_of(rule).split("{")
        }
        prose = re.sub("^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        lines = (line for line in prose.splitlines() if not line.startswith(("Message", "#", "Found", "*")))
        assert max(map(len, lines)) <= 120


def test_stale_pages_are_removed(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "OLMC998.md").write_text("# OLMC998\n", encoding="utf-8")
    write(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")} == pages().keys()
