"""The texts of a rule for people: format strings with plain names where values will stand."""

from __future__ import annotations

from string import Formatter

from olmc.rules.rule import Rule

DEPENDS = "It depends on the cause; the finding itself says it."


def plain(template: str) -> str:
    """A format string as a reader sees it: `{name!r:>5}` is `{name}`, `{{` a brace."""
    parts = Formatter().parse(template)
    return "".join(literal + (f"{{{field}}}" if field is not None else "") for literal, field, _, _ in parts)


def message_of(rule: Rule) -> str:
    """The message of a rule, with names for what differs from finding to finding."""
    return plain(rule.message)


def hint_of(rule: Rule) -> str:
    """What to do about a finding of the rule."""
    return DEPENDS if rule.hint == "{hint}" else plain(rule.hint)
