"""Label and field selectors: read from objects and from queries, validated, and matched with objects.

Each label selector is a list of requirements, all of which must hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import mapping, mappings, text, texts

# Kubernetes' rules for names and labels, with its messages (empty: nothing is wrong).

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz" + _DIGITS
_ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + _LOWER
KEY_CHARACTERS = _ALPHANUMERIC + "-_."

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def is_dns1123_label(text: str) -> list[str]:
    """Return the problems of a text as a DNS label, such as a namespace's name: at most 63 of `[-a-z0-9]`."""
    messages = _length(text, 63)
    if not _is_label(text):
        dotted = _is_subdomain(text)
        shape = _shape(_LABEL_RULE, _LABEL, "my-name", "123-abc")
        # What is a subdomain but no label fails for its dots alone; Kubernetes then leaves out the rule.
        messages.append("must not contain dots" if dotted else shape)
    return messages


def is_dns1035_label(text: str) -> list[str]:
    """Return the problems of a text as a label that begins with a letter, such as a Service's name."""
    messages = _length(text, 63)
    if not (_is_label(text) and text[0] not in _DIGITS):
        messages.append(_shape(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return messages


def is_dns1123_subdomain(text: str) -> list[str]:
    """Return the problems of a text as a DNS subdomain, like most objects' names: at most 253 of `[-.a-z0-9]`."""
    messages = _length(text, 253)
    if not _is_subdomain(text):
        messages.append(_shape(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return messages


def is_label_value(text: str) -> list[str]:
    """Return the problems of a text as the value of a label: at most 63 of `[-A-Za-z0-9_.]`, maybe none."""
    messages = _length(text, 63)
    if text and not _is_key(text):
        messages.append(_shape(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return messages


def is_qualified_name(text: str) -> list[str]:
    """Return the problems of a text as the key of a label or annotation: a name, maybe after a domain and `/`."""
    prefix, slash, name = text.partition("/")
    if "/" in name:
        # A key with two slashes has no certain name, so Kubernetes validates none of its parts.
        hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_key_shape()} {hint}"]
    messages: list[str] = []
    if slash:
        wrong = is_dns1123_subdomain(prefix) if prefix else ["must be non-empty"]
        messages += [f"prefix part {message}" for message in wrong]
    else:
        name = prefix
    if not name:
        messages.append("name part must be non-empty")
    messages += [f"name part {message}" for message in _length(name, 63)]
    if not _is_key(name):
        messages.append(f"name part {_key_shape()}")
    return messages


def _key_shape() -> str:
    return _shape(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")


# The patterns above without their compilation, which takes longer than all names of a bundle.
def _is_label(text: str) -> bool:
    return text[:1] not in ("", "-") and text[-1] != "-" and not text.strip(_LOWER + "-")


def _is_subdomain(text: str) -> bool:
    return all(map(_is_label, text.split(".")))


def _is_key(text: str) -> bool:
    return bool(text) and text[0] in _ALPHANUMERIC and text[-1] in _ALPHANUMERIC and not text.strip(KEY_CHARACTERS)


def _length(text: str, most: int) -> list[str]:
    # Go's strings are bytes, and so are the limits.
    return [f"must be no more than {most} bytes"] if len(text.encode("utf-8", "surrogatepass")) > most else []


def _shape(rule: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {listed}regex used for validation is '{pattern}')"


SELECTOR_FIELDS = frozenset({"matchLabels", "matchExpressions"})

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")
_TOKEN = regex(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)")
_FIELD_TERM = regex(r"([^=!]++)(==|!=|=)")


class SelectorError(ValueError):
    """The text of a selector can't be read; says why in Kubernetes' words."""


class Requirement(NamedTuple):
    """A condition on one label: `operator` is In, NotIn, Exists or DoesNotExist, in queries also Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Kubernetes' text for a requirement that can't be used, "" for one that can."""
        if self.operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
            return f'"{self.operator}" is not a valid label selector operator'
        if self.operator in _WITH_VALUES and not self.values:
            return "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        if self.operator in _WITHOUT_VALUES and self.values:
            return f"values: Invalid value: {[*self.values]}: values set must be empty for exists and does not exist"
        return _key_problem(self.key) or _value_problem(self.key, self.values)

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Return whether labels fulfil it, as Kubernetes has it: NotIn holds where the label is not there."""
        value = text(labels[self.key]) if self.key in labels else None
        if self.operator in _WITHOUT_VALUES:
            return (value is not None) == (self.operator == "Exists")
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "In":
            return value in self.values
        number, limit = _integer(value or ""), _integer(self.values[0], 63)
        return (
            number is not None and limit is not None and (number > limit if self.operator == "Gt" else number < limit)
        )


def _key_problem(key: str) -> str:
    problems = is_qualified_name(key)
    return f'key: Invalid value: "{key}": {"; ".join(problems)}' if problems else ""


def _value_problem(key: str, values: Iterable[str]) -> str:
    for index, value in enumerate(values):
        problems = is_label_value(value)
        if problems:
            return f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(problems)}'
    return ""


def _integer(value: str, digits: int = 18) -> int | None:
    return int(value) if re.fullmatch(f"[+-]?[0-9]{{1,{digits}}}", value) else None


# Selectors of objects (metav1.LabelSelector).


def requirements(selector: Any) -> Iterator[Requirement]:
    """The requirements of an object's selector: labels to match by their keys, then expressions in their order."""
    for key, value in sorted(mapping(mapping(selector).get("matchLabels")).items()):
        yield Requirement(key, "In", (text(value),))
    for expression in mappings(mapping(selector).get("matchExpressions")):
        values = tuple(texts(expression.get("values")))
        yield Requirement(text(expression.get("key")), text(expression.get("operator")), values)


def is_empty(selector: Any) -> bool:
    """Return whether a selector, after the API server dropped what it does not know, says nothing (R-OG-1, R-OG-2)."""
    return not any(mapping(selector).get(field) for field in SELECTOR_FIELDS)


def matches(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Return whether labels satisfy every requirement of a selector; an empty one matches everything, and one that
    can't be used nothing."""
    return all(not _problem_of(requirement) and requirement.holds(labels) for requirement in requirements(selector))


class LabelIndex(NamedTuple):
    """The labels of many objects, by key and by value: which of the objects have them, as the bits of a number.

    `everything` has the bits of all of them.
    """

    everything: int
    by_key: Mapping[str, int]
    by_value: Mapping[tuple[str, str], int]

    @staticmethod
    def of(labels: Sequence[Mapping[str, Any]]) -> LabelIndex:
        """The index of objects in their order, the first one with the lowest bit."""
        by_key: dict[str, int] = {}
        by_value: dict[tuple[str, str], int] = {}
        for position, own in enumerate(labels):
            for key, value in own.items():
                by_key[key] = by_key.get(key, 0) | 1 << position
                by_value[key, text(value)] = by_value.get((key, text(value)), 0) | 1 << position
        return LabelIndex((1 << len(labels)) - 1, by_key, by_value)

    def selected(self, selector: Any) -> int:
        """The objects that a selector matches, as `matches` has it."""
        return self.satisfying(requirements(selector))

    def satisfying(self, asked: Iterable[Requirement]) -> int:
        """The objects whose labels satisfy all of the requirements; none where one of them can't be used."""
        selected = self.everything
        for requirement in asked:
            if not selected or _problem_of(requirement):
                return 0
            selected &= self._holding(requirement)
        return selected

    def _holding(self, requirement: Requirement) -> int:
        key, operator, values = requirement
        if operator in _WITHOUT_VALUES:
            having = self.by_key.get(key, 0)
            return having if operator == "Exists" else self.everything ^ having
        having = 0
        for value in values:
            having |= self.by_value.get((key, value), 0)
        return having if operator == "In" else self.everything ^ having


@lru_cache
def _problem_of(requirement: Requirement) -> str:
    # The same few selectors are matched with the labels of many objects.
    return requirement.problem


def problem(selector: Any) -> str:
    """Kubernetes' text for a selector that can't be used, "" for one that can (R-OG-1)."""
    return next((wrong for requirement in requirements(selector) if (wrong := requirement.problem)), "")


def is_selector(value: Any) -> bool:
    """Return whether a value that is not validated yet is a selector that the API server accepts."""
    if not isinstance(value, Mapping):
        return False
    labels, expressions = value.get("matchLabels") or {}, value.get("matchExpressions") or []
    return (
        isinstance(labels, Mapping)
        and _are_texts([*labels, *labels.values()])
        and isinstance(expressions, list)
        and all(isinstance(expression, Mapping) and _is_expression(expression) for expression in expressions)
        and not problem(value)
    )


def _is_expression(value: Mapping[str, Any]) -> bool:
    values = value.get("values") or []
    return isinstance(values, list) and _are_texts([value.get("key"), *values])


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


class NamedLabelIndex:
    """An index of objects by labels and names. It answers which of them a selector selects without a comparison of
    each."""

    __slots__ = ("_index", "_labels", "_names", "_selected")

    def __init__(self, labels: Mapping[str, Mapping[str, Any]]) -> None:
        self._labels = labels
        self._names: list[str] = []
        self._index: LabelIndex | None = None
        self._selected: dict[tuple[Requirement, ...], tuple[str, ...]] = {}

    def select(self, selector: Any) -> tuple[str, ...]:
        """The names, sorted by their bytes, of those whose labels satisfy every requirement, as `matches` has it."""
        asked = tuple(requirements(selector))
        if asked not in self._selected:
            if self._index is None:
                self._names = sorted(self._labels, key=str.encode)
                self._index = LabelIndex.of([self._labels[name] for name in self._names])
            bits = f"{self._index.satisfying(asked):b}"[::-1]
            self._selected[asked] = tuple(name for name, bit in zip(self._names, bits, strict=False) if bit == "1")
        return self._selected[asked]


# Selectors of queries, as in `kubectl get -l` and `--field-selector`.


def parse_label_selector(selector: str) -> Iterator[Requirement]:
    """The requirements in a text like `a=1,b in (2, 3),!c`; SelectorError when it can't be read."""
    tokens = _tokens(selector)
    position = 0
    while tokens:
        requirement, position = _requirement(tokens, position)
        yield requirement
        if position == len(tokens):
            return
        if tokens[position] != ",":
            raise _unreadable(f"found '{tokens[position]}', expected: ',' or 'end of string'")
        position += 1


def _tokens(selector: str) -> list[str]:
    tokens, end, stripped = [], 0, selector.rstrip()
    while end < len(stripped):
        token = _TOKEN.match(stripped, end)
        if token is None:
            raise _unreadable(f"found '{stripped[end]}'")
        tokens.append(token.group(1))
        end = token.end()
    return tokens


def _requirement(tokens: Sequence[str], at: int) -> tuple[Requirement, int]:
    """The requirement that begins at a token, and the place behind it."""
    first = _token(tokens, at)
    if first == "!":
        return Requirement(_key(_token(tokens, at + 1)), "DoesNotExist"), at + 2
    key, operator = _key(first), _token(tokens, at + 1)
    if operator in ("", ","):
        return Requirement(key, "Exists"), at + 1
    if operator in ("in", "notin"):
        values, end = _set(tokens, at + 2)
        return Requirement(key, "In" if operator == "in" else "NotIn", _values(key, values)), end
    value = _token(tokens, at + 2)
    # `a=` and `a!=,b` compare with the empty value.
    value = "" if value == "," else value
    end = at + (3 if value else 2)
    if operator in ("=", "==", "!="):
        return Requirement(key, "NotIn" if operator == "!=" else "In", _values(key, (value,))), end
    if operator in ("<", ">"):
        if _integer(value) is None:
            raise _unreadable("for 'Gt', 'Lt' operators, the value must be an integer")
        return Requirement(key, "Gt" if operator == ">" else "Lt", (value,)), end
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
    return (*values, value), at + 1


def _token(tokens: Sequence[str], at: int) -> str:
    return tokens[at] if at < len(tokens) else ""


def _key(key: str) -> str:
    if wrong := _key_problem(key):
        raise _unreadable(wrong)
    return key


def _values(key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if wrong := _value_problem(key, values):
        raise _unreadable(wrong)
    return values


def _unreadable(wrong: str) -> SelectorError:
    return SelectorError(f"unable to parse requirement: {wrong}")


class FieldTerm(NamedTuple):
    """A condition on one field: its value is the given one, or with `equal` false any other."""

    field: str
    value: str
    equal: bool


def parse_field_selector(selector: str) -> Iterator[FieldTerm]:
    """The terms in a text like `metadata.name=a,status!=b`; SelectorError when it can't be read."""
    for term in selector.split(","):
        if term.strip():
            head = _FIELD_TERM.match(term)
            if head is None:
                raise SelectorError(f"invalid selector: '{selector}'; can't understand '{term}'")
            # A field of blanks alone is one that no resource has.
            field = head[1].strip() or head[1][-1]
            yield FieldTerm(field, term[head.end() :].strip(), head[2] != "!=")
