"""Label and field selectors as they stand in a query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.golang import is_label_value, is_qualified_name
from olmc.model.objects import labels_of
from olmc.proposed.resources import Listed, Resource
from olmc.serve.status import bad_request

_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)")


class Requirement(NamedTuple):
    """A condition on one label: `operator` is in, notin, exists, absent, gt or lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil it, as Kubernetes has it: `notin` holds where the label is not there."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "absent":
            return value is None
        if self.operator == "notin":
            return value not in self.values
        if value is None:
            return False
        if self.operator == "in":
            return value in self.values
        number, limit = _integer(value), int(self.values[0])
        return number is not None and (number > limit if self.operator == "gt" else number < limit)


class Selection(NamedTuple):
    """What a request selects: by labels, and by fields (name, value, whether it must be equal)."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()

    def selects(self, item: Listed) -> bool:
        """Whether an object is selected."""
        labels = labels_of(item.object)
        values = {"metadata.name": item.name, "metadata.namespace": item.namespace}
        return all(each.holds(labels) for each in self.labels) and all(
            (values[name] == value) == equal for name, value, equal in self.fields
        )


def selection(resource: Resource, labels: str, fields: str) -> Selection:
    """The selectors of a query; StatusError (400) when one can't be read."""
    return Selection(tuple(_requirements(labels)), tuple(_field_terms(resource, fields)))


def _requirements(text: str) -> Iterator[Requirement]:
    tokens = _tokens(text)
    if not tokens:
        return
    position = 0
    while True:
        requirement, position = _requirement(tokens, position)
        yield requirement
        if position == len(tokens):
            return
        if tokens[position] != ",":
            raise _unreadable(f"found '{tokens[position]}', expected: ',' or 'end of string'")
        position += 1


def _tokens(text: str) -> list[str]:
    tokens, end, stripped = [], 0, text.rstrip()
    while end < len(stripped):
        found = _TOKEN.match(stripped, end)
        if found is None:
            raise _unreadable(f"found '{stripped[end]}'")
        tokens.append(found.group(1))
        end = found.end()
    return tokens


def _requirement(tokens: Sequence[str], at: int) -> tuple[Requirement, int]:
    """The requirement that begins at a token, and the place behind it."""
    first = _token(tokens, at)
    if first == "!":
        return Requirement(_key(_token(tokens, at + 1)), "absent"), at + 2
    key, operator = _key(first), _token(tokens, at + 1)
    if operator in ("", ","):
        return Requirement(key, "exists"), at + 1
    if operator in ("in", "notin"):
        values, end = _set(tokens, at + 2)
        return Requirement(key, operator, values), end
    value = _token(tokens, at + 2)
    value = "" if value == "," else value
    end = at + (3 if value else 2)
    if operator in ("=", "==", "!="):
        return Requirement(key, "notin" if operator == "!=" else "in", (_value(key, value),)), end
    if operator in ("<", ">"):
        if _integer(value) is None:
            raise _unreadable("for 'Gt', 'Lt' operators, the value must be an integer")
        return Requirement(key, "gt" if operator == ">" else "lt", (value,)), end
    raise _unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _set(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], int]:
    """The values in parentheses, of which those that are not there are empty."""
    if _token(tokens, at) != "(":
        raise _unreadable(f"found '{_token(tokens, at)}', expected: '('")
    values, value, at = [], "", at + 1
    while (token := _token(tokens, at)) != ")":
        if token == ",":
            values.append(value)
            value = ""
        elif token and not value and token not in ("(", "=", "==", "!=", "!", "<", ">"):
            value = token
        else:
            raise _unreadable(f"found '{token}', expected: ',' or ')'")
        at += 1
    return tuple(_value("", each) for each in (*values, value)), at + 1


def _token(tokens: Sequence[str], at: int) -> str:
    return tokens[at] if at < len(tokens) else ""


def _key(text: str) -> str:
    problems = is_qualified_name(text)
    if problems:
        raise _unreadable(f'key: Invalid value: "{text}": {"; ".join(problems)}')
    return text


def _value(key: str, text: str) -> str:
    problems = is_label_value(text)
    if problems:
        raise _unreadable(f'values[0][{key}]: Invalid value: "{text}": {"; ".join(problems)}')
    return text


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def _unreadable(problem: str) -> Exception:
    return bad_request(f"unable to parse requirement: {problem}")


def _field_terms(resource: Resource, text: str) -> Iterator[tuple[str, str, bool]]:
    """`name=value` and `name!=value`, separated by commas; only what the resource allows (R-CAT-809)."""
    for term in text.split(","):
        if not term.strip():
            continue
        found = re.fullmatch(r"\s*([^=!]+?)\s*(==|!=|=)\s*(.*?)\s*", term, re.DOTALL)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        name, operator, value = found.groups()
        if name not in resource.fields:
            raise bad_request(f"field label not supported: {name}")
        yield name, value, operator != "!="
