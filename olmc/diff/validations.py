"""Which rules and combinations of schemas refuse nothing that was valid before, as far as their text says it.

A rule in CEL counts as harmless when every object that the old schema lets through satisfies it: because it only speaks
of fields that are new, of fields that had to be there anyway, or of values that were not allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.diff.change import ABSENT
from olmc.lean import regex
from olmc.model.objects import mapping, texts

Schema = Mapping[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_FIELD = r"self((?:\.[A-Za-z_][A-Za-z0-9_]*)+)"
_HAS = regex(rf"has\(\s*{_FIELD}\s*\)")
_COMPARED = regex(rf"{_FIELD}\s*(==|!=)\s*(['\"])([^'\"\\]*)\3")
_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "'\""
# What is beside these keys in a schema says nothing about values.
_SILENT = frozenset(("description", "title", "example", "externalDocs"))


def is_satisfied(rule: str, schema: Schema) -> bool:
    """Whether every object of a schema satisfies a rule, as far as its text says; False where that is unknown."""
    return _truth(rule, schema, frozenset()) is True


def _truth(rule: str, schema: Schema, guarded: frozenset[str]) -> bool | None:
    """What a rule comes to for every object, None where that depends on the object.

    `guarded`: the fields that may be missing without the rule being refused for it.
    """
    rule = _unwrapped(rule.strip())
    condition, found, branches = _partition(rule, "?")
    if found:
        yes, _, no = _partition(branches, ":")
        return _chosen(_truth(condition, schema, guarded), _truth(yes, schema, guarded), _truth(no, schema, guarded))
    choices = _split(rule, "||")
    if len(choices) > 1:
        absent = (match[1] for choice in choices if (match := _HAS.fullmatch(_negated(choice))) is not None)
        values = [_truth(choice, schema, guarded | frozenset(absent)) for choice in choices]
        return True if True in values else False if set(values) == {False} else None
    parts = _split(rule, "&&")
    if len(parts) > 1:
        values = [_truth(part, schema, guarded) for part in parts]
        return False if False in values else True if set(values) == {True} else None
    if rule in ("true", "false"):
        return rule == "true"
    if rule.startswith("!") and not rule.startswith("!="):
        inner = _truth(rule[1:], schema, guarded)
        return None if inner is None else not inner
    return _atom(rule, schema, guarded)


def _chosen(condition: bool | None, yes: bool | None, no: bool | None) -> bool | None:
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


def _atom(rule: str, schema: Schema, guarded: frozenset[str]) -> bool | None:
    if (match := _HAS.fullmatch(rule)) is not None:
        return _presence(_steps(match[1]), schema)
    if (match := _COMPARED.fullmatch(rule)) is not None:
        field, operator, value = match[1], match[2], match[4]
        known = _property(_steps(field), schema)
        allowed = known.get("enum") if known is not None else None
        is_there = (
            _presence(_steps(field), schema) is True or field in guarded or (known or {}).get("default") is not None
        )
        if isinstance(allowed, list) and value not in allowed and is_there:
            return operator == "!="
    return None


def _steps(path: str) -> list[str]:
    return path.strip(".").split(".")


def _presence(steps: Sequence[str], schema: Schema) -> bool | None:
    """Whether a field is in every object of a schema, or in none; None where it may be."""
    always = True
    for step in steps:
        properties = mapping(schema.get("properties"))
        if step not in properties:
            is_open = schema.get(_PRESERVE) is True or schema.get("additionalProperties") not in (None, False)
            return None if is_open else False
        always = always and step in texts(schema.get("required"))
        schema = mapping(properties[step])
    return True if always else None


def _property(steps: Sequence[str], schema: Schema) -> Schema:
    for step in steps:
        schema = mapping(mapping(schema.get("properties")).get(step))
    return schema


def _negated(rule: str) -> str:
    rule = _unwrapped(rule.strip())
    return _unwrapped(rule[1:].strip()) if rule.startswith("!") else ""


def _unwrapped(rule: str) -> str:
    """A rule without parentheses around all of it."""
    while rule.startswith("(") and _end(rule) == len(rule) - 1:
        rule = rule[1:-1].strip()
    return rule


def _end(rule: str) -> int:
    """Where the bracket that a rule begins with closes."""
    depth = 0
    for place, char in _outside_quotes(rule):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            return place
    return -1


def _outside_quotes(rule: str) -> list[tuple[int, str]]:
    """The characters of a rule that are in no text, with their places."""
    outside: list[tuple[int, str]] = []
    quote, escaped = "", False
    for place, char in enumerate(rule):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in _QUOTES:
            quote = char
        else:
            outside.append((place, char))
    return outside


def _split(rule: str, operator: str) -> list[str]:
    """The operands of an operator that is in no brackets."""
    left, found, rest = _partition(rule, operator)
    return [left, *_split(rest, operator)] if found else [left]


def _partition(rule: str, operator: str) -> tuple[str, str, str]:
    depth = 0
    for place, char in _outside_quotes(rule):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and rule.startswith(operator, place):
            return rule[:place].strip(), operator, rule[place + len(operator) :].strip()
    return rule, "", ""


def combination(keyword: str, value: Any) -> Any:
    """A combination (allOf, anyOf, oneOf) without what constrains nothing; ABSENT if nothing is left of it."""
    if not isinstance(value, list) or keyword not in ("allOf", "anyOf", "oneOf"):
        return value
    idle = [choice for choice in value if _constrains_nothing(choice)]
    if keyword == "allOf":
        left = [choice for choice in value if choice not in idle]
        return left or ABSENT
    # One choice that all values fit is no choice; among several of oneOf it is one that no other may fit.
    if not value or (idle and (keyword == "anyOf" or len(value) == 1)):
        return ABSENT
    return value


def _constrains_nothing(schema: Any) -> bool:
    if schema is True:
        return True
    if not isinstance(schema, dict):
        return False
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            if not all(map(_constrains_nothing, value.values())):
                return False
        elif not (key in _SILENT or (key == "required" and not value)):
            return False
    return True


def is_stricter(keyword: str, old: Any, new: Any, schema: Schema) -> bool:
    """Whether a combination may refuse what was valid; `schema` is the old one that it stands in."""
    if new is ABSENT:
        return False
    if not isinstance(old, list) or not isinstance(new, list):
        return True
    if keyword == "allOf":
        return any(choice not in old for choice in new)
    if any(choice not in new for choice in old):
        return True
    # One more choice of anyOf lets more through; of oneOf it refuses what fits two, unless it asks for a new field.
    more = (choice for choice in new if choice not in old)
    return keyword != "anyOf" and not all(_asks_for_new(choice, schema) for choice in more)


def _asks_for_new(choice: Any, schema: Schema) -> bool:
    return any(_presence([name], schema) is False for name in texts(mapping(choice).get("required")))
