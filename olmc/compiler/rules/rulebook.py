"""The rule book, `docs/spec/`: what the ids mean that code, findings and explanations name.

A rule begins with a heading that is its id alone and a bold title, and ends with the links to what it was read from;
where it has none, those of its section count. Pages are read when a rule is first asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from olmc.k8s.lean import NamedTuple, regex
from olmc.resources import docs_url, spec_pages

_NAMED = regex(
    r"(?<![\w.-])(?:(?:R|T)(?:-[A-Z][A-Z0-9]*)+-[0-9]+[a-z]?|R-V1-PIPE|observed-[0-9]+|D-?[0-9]+|[UQ]-[0-9]+)(?![\w\\-])"
)
_TITLE = regex(r"\*\*(.+?)\.?\*\*\s?", re.DOTALL)
_SOURCES = regex(r"^Source:\s(?=\[)", re.MULTILINE)
_LINK = regex(r"\[([^\[\]]+)\]\((https:[^()]+)\)")
_DEFINITION = regex(r"^\[[^\[\]\n]+\]: .*\n?", re.MULTILINE)


class RuleSource(NamedTuple):
    """The source of a rule: a name for it, and its address."""

    name: str
    url: str


class SpecRule(NamedTuple):
    """A rule as its page has it: `title` and `text` are Markdown, `page` is the name of a file in `docs/spec/`."""

    id: str
    title: str
    text: str
    sources: tuple[RuleSource, ...]
    page: str

    @property
    def path(self) -> str:
        """Return where it stands below `docs/`."""
        return f"spec/{self.page}#{self.id.lower()}"


@cache
def spec_rules() -> Mapping[str, SpecRule]:
    """Every rule by its id, page by page."""
    return {rule.id: rule for name, text in spec_pages().items() for rule in _rules_of(name, text)}


def spec_rule(rule_id: str) -> SpecRule | None:
    """The rule with this id, in any case; `T-CAT-7b` is an item of `T-CAT-7`. None if there is none."""
    by_lower = {defined.lower(): rule for defined, rule in spec_rules().items()}
    wanted = rule_id.strip().lower()
    return by_lower.get(wanted) or (by_lower.get(wanted.rstrip("abcdefgh")) if wanted.startswith("t-cat-") else None)


def rules_beginning(start: str) -> tuple[SpecRule, ...]:
    """The rules whose ids begin so, in any case, by their numbers."""
    wanted = start.strip().lower()
    rules = (rule for rule in spec_rules().values() if rule.id.lower().startswith(wanted))
    return tuple(sorted(rules, key=lambda rule: _by_number(rule.id)))


def named_in(text: str) -> tuple[str, ...]:
    """The ids that a text names, in their order, each once, whether they are defined or not."""
    return tuple(dict.fromkeys(_NAMED.findall(text)))


def rule_url(rule_id: str) -> str:
    """Return where a rule can be read, "" if there is no rule of this id."""
    rule = spec_rules().get(rule_id)
    return docs_url(rule.path) if rule is not None else ""


def linked(text: str, address: Callable[[str], str]) -> str:
    """Return Markdown in which the ids of rules outside of code are links; `address` takes a path below `docs/`."""

    def link(match: re.Match[str]) -> str:
        rule = spec_rule(match[0])
        return f"[{match[0]}]({address(rule.path)})" if rule is not None else match[0]

    # In code a link would be shown with its brackets.
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _NAMED.sub(link, part) for part in parts)


def _rules_of(page: str, text: str) -> Iterator[SpecRule]:
    """The rules of a page, which may end with definitions of links."""
    for section in _DEFINITION.sub("", text).split("\n## ")[1:]:
        before, *rules = section.split("\n### ")
        _, common = _without_sources(before)
        for rule in rules:
            rule_id, _, body = rule.partition("\n")
            body, own = _without_sources(body)
            title = _TITLE.match(body.lstrip())
            if title is not None:
                name = " ".join(title[1].split())
                yield SpecRule(rule_id, name, body.lstrip()[title.end() :].strip(), own or common, page)


def _without_sources(text: str) -> tuple[str, tuple[RuleSource, ...]]:
    """Return the text before the sources, which come last, and the sources."""
    before, *links = _SOURCES.split(text, maxsplit=1)
    sources = (RuleSource(" ".join(name.split()), url) for name, url in _LINK.findall("".join(links)))
    return before, tuple(sources)


def _by_number(rule_id: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts R-OG-9 before R-OG-10, and R-CSV-6 before R-CSV-6b."""
    return tuple((word, int(number or 0)) for word, number in re.findall(r"([^0-9]+)([0-9]*)", f"{rule_id} "))
