"""Every rule there is, found in the modules beside this one, and its texts as people read them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from string import Formatter
from typing import NamedTuple

import olmc.rules
from olmc.resources import docs_url
from olmc.rules.rule import Rule


class Chapter(NamedTuple):
    """The rules of one module, by code, under what its docstring says first."""

    title: str
    rules: tuple[Rule, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """The modules that hold rules as public constants, by their lowest code."""
    found = []
    for module in iter_modules(olmc.rules.__path__):
        loaded = import_module(f"{olmc.rules.__name__}.{module.name}")
        rules = {value for name, value in vars(loaded).items() if isinstance(value, Rule) and not name.startswith("_")}
        if rules:
            title = (loaded.__doc__ or module.name).strip().splitlines()[0].rstrip(".")
            found.append(Chapter(title, tuple(sorted(rules))))
    return tuple(sorted(found, key=lambda chapter: chapter.rules[0].code))


def all_rules() -> tuple[Rule, ...]:
    """Every rule once, by code."""
    return tuple(sorted({rule for chapter in chapters() for rule in chapter.rules}))


def code_start(text: str) -> str:
    """How codes begin that somebody names: in any case, and the number alone will do (`301` is `OLMC301`)."""
    upper = text.strip().upper()
    return upper if upper.startswith("O") or not upper else f"OLMC{upper}"


def rule_page(code: str) -> str:
    """Where the rule of a code can be read."""
    return docs_url(f"rules.md#{code.lower()}")


def message_of(rule: Rule) -> str:
    """The message of a rule, with names in braces for what differs from finding to finding."""
    return _plain(rule.message)


def hint_of(rule: Rule) -> str:
    """What to do about a finding of the rule."""
    return "It depends on the cause; the finding itself says it." if rule.hint == "{hint}" else _plain(rule.hint)


def _plain(template: str) -> str:
    """A format string as a reader sees it: `{name!r:>5}` is `{name}`, two braces are one."""
    parts = Formatter().parse(template)
    return "".join(literal + (f"{{{field}}}" if field is not None else "") for literal, field, _, _ in parts)
