"""The rule book: every id that is named is defined once, pages hold together, and rules read well in a terminal."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmc.compiler.rules.rulebook import (
    RuleSource,
    SpecRule,
    linked,
    named_in,
    rule_url,
    rules_beginning,
    spec_rule,
    spec_rules,
)
from olmc.resources import docs_url, spec_pages
from olmc.review.explain.spec_text import as_text, modules_naming, plain

# What people write and read: code, tests, examples and pages, but not recorded data.
_SEARCHED = {"olmc": "py txt", "tests": "py yaml md txt", "docs": "md", "bench": "py md", "fixtures": "md"}
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
_REFERENCE = re.compile(r"\[([A-Za-z0-9-]+)\](?!\()")
_DEFINITION = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
_INLINE = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
_PERMALINK = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:blob|tree)/(?:v?\d+\.\d+\.\d+|[0-9a-f]{8,40})/")

PAGES = sorted(spec_pages())

_TEXT = """\
As [R-OG-1] says, and [the page](x.md): **bold `code`**, *(verified)*, `*`, and a line that goes on and on and
on until it is too long.

1. one, which goes on and on and on and on and on and on and on and on and on and on and on and on and on
   and on

   with more
2. two

| a | b |
|---|---|
| 1 \\| 2 | `x` |

| what | how |
|---|---|
| long | it goes on and on and on and on and on and on and on and on and on and on and on and on and on and on |

```
as  it is:

  **this**
```
"""
_SHOWN = """\
R-OG-1: What `it` is

As R-OG-1 says, and the page: bold `code`, (verified), `*`, and a line that goes on and on and on
until it is too long.

  1. one, which goes on and on and on and on and on and on and on and on and on and on and on and on
     and on and on

     with more
  2. two

  a      b
  1 | 2  `x`

  long
    how: it goes on and on and on and on and on and on and on and on and on and on and on and on and
      on and on

  as  it is:

    **this**

Read from:
  olm/a.go:1-2  https://example.com/a

Page: docs/spec/x.md
Named in: olmc/a.py, olmc/b.py
"""


def without_code(text: str) -> str:
    """A page without what is code in it."""
    return re.sub(r"^```.*?^```$|``.+?``|`[^`]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def searched(project: Path) -> Iterator[Path]:
    """The files in which rules are named."""
    yield from sorted(project.glob("*.md"))
    for folder, kinds in _SEARCHED.items():
        files = (path for path in sorted((project / folder).rglob("*")) if path.is_file())
        yield from (path for path in files if path.suffix[1:] in kinds.split())


def test_every_id_that_is_named_is_defined(project: Path) -> None:
    defined = functools.cache(spec_rule)
    undefined = [
        f"{path.relative_to(project)}: {rule_id}"
        for path in searched(project)
        for rule_id in named_in(path.read_text(encoding="utf-8", errors="replace"))
        if defined(rule_id) is None
    ]
    assert undefined == []


def test_facts_are_named_by_their_ids(project: Path) -> None:
    """`observed-17`, which can be looked up, not `fact 17`."""
    vague = re.compile(r"\b(?:observed|facts?) [0-9]+\b")
    found = [
        f"{path.relative_to(project)}:{number}: {line.strip()}"
        for path in searched(project)
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if vague.search(line)
    ]
    assert found == []


def test_every_id_is_defined_once() -> None:
    """Headings of the third order are ids and nothing else, and none is there twice."""
    headings = Counter(heading for text in spec_pages().values() for heading in _HEADING.findall(text))
    assert [heading for heading in headings if named_in(heading) != (heading,)] == []
    assert [heading for heading, count in headings.items() if count > 1] == []
    assert sorted(headings) == sorted(spec_rules())
    assert len(headings) > 780


@pytest.mark.parametrize(
    ("start", "numbers"),
    [("observed-", 78), ("D", 50), ("D-", 28), ("U-", 15), ("Q-", 15), ("R-OG-", 19), ("R-OCP-", 7), ("R-OCM-", 19)],
)
def test_numbers_have_no_gaps(start: str, numbers: int) -> None:
    assert [f"{start}{number}" in spec_rules() for number in range(1, numbers + 1)] == [True] * numbers


def test_every_rule_says_something_under_a_title() -> None:
    for rule in spec_rules().values():
        assert rule.title, rule.id
        assert len(rule.text) > 10, rule.id
        assert not rule.title.endswith("."), rule.id


def test_rules_of_olm_name_what_they_were_read_from() -> None:
    """By links to a release or a commit; what only documents say, or follows from other rules, has none."""
    without = {rule.id for rule in spec_rules().values() if rule.id.startswith("R-") and not rule.sources}
    derived = re.compile(r"R-(?:DESCOPE|V1-(?:RES-15|SA|LIM|UN|MIG))")
    assert sorted(rule_id for rule_id in without if not derived.match(rule_id)) == []
    addresses = {source.url for rule in spec_rules().values() for source in rule.sources}
    assert sorted(url for url in addresses if not _PERMALINK.match(url)) == []


@pytest.mark.parametrize("page", PAGES)
def test_references_of_a_page_lead_to_rules(page: str) -> None:
    """Every `[R-OG-1]` has a definition at the end of the page, in order, which leads to the rule, and no other has."""
    text = spec_pages()[page]
    body = _DEFINITION.sub("", without_code(text))
    named = {each for each in _REFERENCE.findall(body) if each in spec_rules()}
    wanted = [f"[{rule.id}]: {'' if rule.page == page else rule.page}#{rule.id.lower()}"
              for rule in rules_beginning("") if rule.id in named]  # fmt: skip
    assert sorted(f"[{name}]: {target}" for name, target in _DEFINITION.findall(text)) == sorted(wanted)


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str, project: Path) -> None:
    folder = project / "docs" / "spec"
    for target in _INLINE.findall(without_code(spec_pages()[page])):
        name, _, anchor = target.partition("#")
        path = folder / name if name else folder / page
        assert path.is_file(), target
        headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, target


def test_every_page_is_in_the_index() -> None:
    """The index leads to every page; those of OLM v1 are named on the first of them."""
    index = spec_pages()["README.md"] + spec_pages()["olm-v1.md"]
    assert [page for page in PAGES if page != "README.md" and f"({page})" not in index] == []


def test_ids_in_any_case() -> None:
    assert spec_rule(" r-dep-1 ") is spec_rules()["R-DEP-1"]
    assert spec_rule("OBSERVED-17") is spec_rules()["observed-17"]
    assert spec_rule("d3") is spec_rules()["D3"]
    assert spec_rule("d-3") is spec_rules()["D-3"]
    assert spec_rule("T-CAT-7b") is spec_rules()["T-CAT-7"]
    assert spec_rule(f"R-DEP-{99}") is None


def test_rules_that_begin_so_come_by_their_numbers() -> None:
    listed = [rule.id for rule in rules_beginning("r-csv")]
    assert listed[:8] == ["R-CSV-1", "R-CSV-2", "R-CSV-3", "R-CSV-4", "R-CSV-5", "R-CSV-6", "R-CSV-6b", "R-CSV-7"]
    assert listed[-1] == "R-CSV-30"


def test_the_address_of_a_rule() -> None:
    assert rule_url("R-DEP-1") == docs_url("spec/deployments.md#r-dep-1")
    assert rule_url("") == rule_url(f"R-DEP-{99}") == ""


def test_links_in_markdown() -> None:
    text = f"As `R-OG-1` has it (R-OG-2, R-DEP-{99}); D3 is no D-Bus."
    assert linked(text, str) == (
        f"As `R-OG-1` has it ([R-OG-2](spec/operator-groups.md#r-og-2), R-DEP-{99}); "
        "[D3](spec/decisions.md#d3) is no D-Bus."
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("R-SA-2 … 6, R-CAT-7xx, R-CAT-720ff", ("R-SA-2",)),
        ("R-V1-CFG-4a, R-V1-PIPE and observed-17", ("R-V1-CFG-4a", "R-V1-PIPE", "observed-17")),
        ("(D3, U-2): Q-7 of T-CAT-7b", ("D3", "U-2", "Q-7", "T-CAT-7b")),
        ("v1-D3, R-CAT-2\\d, X-R-OG-1, R-OG-1 twice: R-OG-1", ("R-OG-1",)),
    ],
)
def test_what_counts_as_an_id(text: str, named: tuple[str, ...]) -> None:
    assert named_in(text) == named


def test_rules_read_well_in_a_terminal() -> None:
    """Of Markdown nothing is left but the backticks of code, and only what can't be broken is wider than a line."""
    for rule in spec_rules().values():
        text = as_text(rule, ())
        assert text.startswith(f"{rule.id}: {plain(rule.title)}\n\n"), rule.id
        prose = without_code(text)
        assert "**" not in prose, rule.id
        assert [each for each in re.findall(r"\[([\w-]+)\]", prose) if each in spec_rules()] == [], rule.id
        wide = [line for line in text.splitlines() if len(line) > 100 and " " in line.strip() and "https:" not in line]
        assert rule.text.count("```") >= 2 * bool(wide), (rule.id, wide)


def test_the_text_of_a_rule() -> None:
    """Title, text without markup, lists that hang, tables in columns if they fit, code as it is; then its sources."""
    rule = SpecRule("R-OG-1", "What `it` is", _TEXT, (RuleSource("olm/a.go:1-2", "https://example.com/a"),), "x.md")
    assert as_text(rule, ("olmc/a.py", "olmc/b.py")) == _SHOWN


def test_modules_that_name_a_rule(project: Path) -> None:
    """Those that name it by itself or in a range (names.py: R-SA-2 … 6); a longer id is another."""
    assert modules_naming("R-SA-4") == ("olmc/compiler/olm/naming.py", "olmc/compiler/resolver/steps.py")
    for module in modules_naming("R-OG-1"):
        assert "R-OG-1" in named_in((project / module).read_text(encoding="utf-8"))
    assert modules_naming(f"R-DEP-{99}") == ()
