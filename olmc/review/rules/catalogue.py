"""Every rule there is, by chapter, and the examples of each: input that it is about, and input that it is content with.

`olmc/compiler/rules/examples/CODE.txt` begins with lines `key: value`; then come files, each below a line
`-- bad PATH` or `-- good PATH`. The keys are `run`, the command that tells the difference (`olmc check --all` unless
given), `base`, the name of the workspace that the files change, and `none`, why there can be no example.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter
from textwrap import indent

from olmc.compiler.rules import findings
from olmc.k8s.diagnostics import Rule
from olmc.k8s.lean import NamedTuple, regex
from olmc.resources import docs_url
from olmc.review.rules.ways_out import WAYS_OUT

RUN = "olmc check --all"
REMOVED = "null\n"
"""The text of a file that is taken away from the base."""

_MODULES = ("olmc.k8s.yaml.rules", "olmc.targets.proposed.rules", "olmc.targets.v1.rules", "olmc.review.diagnose.rules")
"""The modules of rules outside of the package `findings`; they are imported when all rules are asked for."""
_FOLDER = Path(findings.__file__).parent.with_name("examples")
_VARIABLE = regex(r"\{\w+\}")
_FILE = regex(r"^-- (bad|good) (\S+)$", re.MULTILINE)


class Example(NamedTuple):
    """The files of both sides, as path and text; with a `base`, a text can be a part of the file that stands there."""

    run: str
    base: str
    none: str
    bad: tuple[tuple[str, str], ...]
    good: tuple[tuple[str, str], ...]

    @property
    def only_bad(self) -> tuple[tuple[str, str], ...]:
        """The files that the good side does not have as they are here."""
        return tuple(file for file in self.bad if file not in self.good)

    @property
    def only_good(self) -> tuple[tuple[str, str], ...]:
        """The files that the bad side does not have as they are here."""
        return tuple(file for file in self.good if file not in self.bad)


class ExamplePart(NamedTuple):
    """A file to be shown: what is reported before its path and behind it, and its text, "" if there is none to show."""

    before: str
    path: str
    behind: str
    text: str


def example_of(code: str) -> Example | None:
    """The example of a rule, None for one that has none: what `olmc check` can't find need not have one."""
    file = _FOLDER / f"{code}.txt"
    if not file.is_file():
        return None
    head, *parts = _FILE.split(file.read_text(encoding="utf-8"))
    keys = dict(line.partition(": ")[::2] for line in head.splitlines() if line)
    files = list(zip(parts[::3], parts[1::3], (text.strip("\n") + "\n" for text in parts[2::3]), strict=True))
    bad, good = (tuple((path, text) for side, path, text in files if side == which) for which in ("bad", "good"))
    return Example(keys.get("run", RUN), keys.get("base", ""), keys.get("none", ""), bad, good)


def parts(example: Example) -> Iterator[ExamplePart]:
    """What there is to show: where both sides differ, or if one side only lacks a file, all of the bad one."""
    bad, good = example.only_bad, example.only_good
    for number, (path, text) in enumerate(bad if bad and good else example.bad):
        yield _part("and " if number else "Bad, ", path, ":", text)
    for number, (path, text) in enumerate(good):
        yield _part("and " if number else "Good, " if bad else "Good, with ", path, ":" if bad else " as well:", text)
    # A good side without files of its own is the bad one with its first file taken away.
    if not good:
        yield ExamplePart("Good, without ", bad[0][0], ".", "")


def _part(before: str, path: str, behind: str, text: str) -> ExamplePart:
    return (
        ExamplePart(before, path, " is not there.", "") if text == REMOVED else ExamplePart(before, path, behind, text)
    )


def as_text(example: Example | None) -> str:
    """An example for a terminal: each file below its name, indented; "" for none."""
    if example is None:
        return ""
    if example.none:
        return f"\nNo example: {example.none}\n"
    text = f"\nFound by {example.run}.\n" if example.run != RUN else ""
    for part in parts(example):
        text += f"\n{part.before}{part.path}{part.behind}\n"
        text += f"\n{indent(part.text, '  ')}" if part.text else ""
    return text


_CHAPTERS = (
    ("OLMC100", "YAML and JSON text"),
    ("OLMC120", "Files, manifests and bundles"),
    ("OLMC146", "Misspelled kinds, groups and fields"),
    ("OLMC152", "Files, manifests and bundles"),
    ("OLMC170", "Namespaces of objects"),
    ("OLMC172", "Objects that olmc does not compile, and other tools apply"),
    ("OLMC180", "Files of other tools, and charts"),
    ("OLMC190", "Kustomizations, and the entries of a repository"),
    ("OLMC200", "Catalogs"),
    ("OLMC260", "Bundles: the validators of `opm` and `operator-sdk bundle validate`"),
    ("OLMC301", "The settled cluster: groups, membership, phases, plans"),
    ("OLMC320", "Output that runs without OLM"),
    ("OLMC328", "The settled cluster: groups, membership, phases, plans"),
    ("OLMC400", "Probable mistakes: groups, pins, catalogs, permissions, objects"),
    ("OLMC430", "Bundles before publishing"),
    ("OLMC440", "Accepted findings"),
    ("OLMC450", "Versions of OLM"),
    ("OLMC480", "Sides of a comparison"),
    ("OLMC500", "Resolution"),
    ("OLMC530", "`olmc.lock` and pins"),
    ("OLMC600", "Input and output of other tools"),
    ("OLMC620", "Images and `olmc vendor`"),
    ("OLMC695", "Migration to the proposed APIs"),
    ("OLMC740", "Migration to OLM v1"),
    ("OLMC800", "Diagnoses: causes of problems in a cluster"),
)
"""The title of each chapter, and its first code; a chapter ends where the next one begins."""


class Chapter(NamedTuple):
    """The rules of one subject, by code, under its title."""

    title: str
    rules: tuple[Rule, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """The rules by chapter, each chapter once, by their lowest code."""
    from olmc.targets.proposed.rules import CHAPTERS  # only pages and tests ask for chapters

    begun = sorted((*_CHAPTERS, *CHAPTERS))
    starts = [code for code, _ in begun]
    chapters: dict[str, list[Rule]] = {}
    for rule in all_rules():
        _, title = begun[bisect_right(starts, rule.code) - 1]
        chapters.setdefault(title, []).append(rule)
    return tuple(Chapter(title, tuple(rules)) for title, rules in chapters.items())


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule once, by code: the public constants of the modules of rules."""
    of_compiler = (f"{findings.__name__}.{module.name}" for module in iter_modules(findings.__path__))
    modules = map(import_module, (*of_compiler, *_MODULES))
    return tuple(
        sorted(
            {
                value
                for module in modules
                for name, value in vars(module).items()
                if isinstance(value, Rule) and not name.startswith("_")
            }
        )
    )


def code_start(text: str) -> str:
    """Return the prefix of codes for a text, in any case; the number alone is enough (`301` is `OLMC301`)."""
    upper = text.strip().upper()
    return upper if upper.startswith("O") or not upper else f"OLMC{upper}"


def rule_page(code: str) -> str:
    """Return the address of the page of a code."""
    return docs_url(f"rules/{code}.md")


def message_of(rule: Rule) -> str:
    """Return the message of a rule, with names in braces for variable parts."""
    return _plain(rule.message)


def hint_of(rule: Rule) -> str:
    """Return the hint of a rule, with names in braces for variable parts; the ways out where it has nothing else."""
    return WAYS_OUT[rule.code] if depends_on_cause(rule) else _plain(rule.hint)


def depends_on_cause(rule: Rule) -> bool:
    """Tell whether the hint of a rule is one variable part, so that only a finding has words for it."""
    return _VARIABLE.fullmatch(rule.hint) is not None


def _plain(template: str) -> str:
    """A format string as a reader sees it: `{name!r:>5}` is `{name}`, two braces are one."""
    parts = Formatter().parse(template)
    return "".join(literal + (f"{{{field}}}" if field is not None else "") for literal, field, _, _ in parts)
