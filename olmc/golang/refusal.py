"""Which error Go reports for a value that does not fit its type.

Go decodes on after a type error and reports the first one in the order of the JSON text, where OLM has keys
sorted; an error of a type that decodes itself (a quantity, a version …) ends the decoding at once and is
reported instead of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from olmc.golang.errors import GoTypeError, Path, Refused, json_kind
from olmc.golang.leaves import LEAVES, Leaf, read_octets
from olmc.golang.numbers import quoted
from olmc.golang.table import Field, element, fields, printed, underlying
from olmc.golang.unions import UNIONS


class _Place(NamedTuple):
    """Where the decoder is: path in the input, innermost struct, Go's names of the fields down to here; `exact` whether
    keys in another case are unknown."""

    path: Path = ()
    struct: str = ""
    names: tuple[str, ...] = ()
    exact: bool = False

    def below(self, step: str | int) -> _Place:
        return self._replace(path=(*self.path, step))


class _Found(NamedTuple):
    error: GoTypeError
    fatal: bool


def first_refusal(go_type: str, value: Any, *, strict: bool = False, exact: bool = False) -> GoTypeError | None:
    """The error that Go reports for decoding `value`, None if it fits; `strict` makes unknown keys errors, and with
    `exact` keys in another case are unknown."""
    first = None
    for error, fatal in _refusals(go_type, value, _Place(exact=exact), strict):
        if fatal:
            return error
        first = first or error
    return first


def _refusals(go_type: str, value: Any, place: _Place, strict: bool) -> Iterator[_Found]:
    plain = underlying(go_type)
    if plain.startswith("*"):
        if value is not None:
            yield from _refusals(element(plain), value, place, strict)
    elif plain in LEAVES:
        yield from _leaf(go_type, LEAVES[plain], value, place)
    elif plain in UNIONS:
        yield from _union(plain, value, place, strict)
    elif value is None:
        return
    elif plain == "[]uint8" and not isinstance(value, list):
        yield from _leaf(go_type, Leaf(read_octets, None, fatal=False), value, place)
    elif plain.startswith("[]"):
        if isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _refusals(element(plain), entry, place.below(index), strict)
        else:
            yield _mismatch(printed(go_type), json_kind(value), place)
    elif not isinstance(value, dict):
        yield _mismatch(printed(go_type), json_kind(value), place)
    elif plain.startswith("map[string]"):
        for key in sorted(value):
            yield from _refusals(element(plain), value[key], place.below(key), strict)
    else:
        yield from _members(plain, value, place, strict)


def _members(struct: str, value: Mapping[str, Any], place: _Place, strict: bool) -> Iterator[_Found]:
    by_name = members(struct)
    name = struct.rpartition(".")[2]
    for key in sorted(value):
        field = by_name.get(key) or (None if place.exact else folded(by_name, key))
        below = place.below(key)
        if field is not None:
            names = (*place.names, *((field.embedded,) if field.embedded else ()), field.name)
            yield from _refusals(field.type, value[key], _Place(below.path, name, names, place.exact), strict)
        elif strict:
            text = f"json: unknown field {quoted(key)}"
            yield _Found(GoTypeError(below.path, text, is_mismatch=True), False)


def _union(plain: str, value: Any, place: _Place, strict: bool) -> Iterator[_Found]:
    """The error of a type that decodes itself with a decoder of its own, whose errors lose their place for this one."""
    try:
        chosen = UNIONS[plain](value)
    except Refused as refused:
        yield _Found(GoTypeError(place.path, refused.text, refused.expected, refused.got), True)
        return
    inner = first_refusal(chosen, value, strict=strict, exact=place.exact) if chosen is not None else None
    if inner is not None:
        mismatch = _mismatch(inner.expected, inner.got, place).error
        text = mismatch.message if inner.is_mismatch and inner.got else inner.message
        path = (*place.path, *inner.path)
        yield _Found(GoTypeError(path, text, inner.expected, inner.got, is_mismatch=inner.is_mismatch), True)


def _leaf(go_type: str, leaf: Leaf, value: Any, place: _Place) -> Iterator[_Found]:
    try:
        leaf.read(value)
    except Refused as refused:
        if refused.text:
            error = GoTypeError(place.path, refused.text, refused.expected, refused.got)
            yield _Found(error, leaf.fatal)
        else:
            expected = refused.expected if leaf.fatal else printed(go_type)
            yield _Found(_mismatch(expected, refused.got, place).error, leaf.fatal)


def _mismatch(expected: str, got: str, place: _Place) -> _Found:
    into = f"struct field {place.struct}.{'.'.join(place.names)}" if place.names else "value"
    message = f"json: cannot unmarshal {got} into Go {into} of type {expected}"
    return _Found(GoTypeError(place.path, message, expected, got, is_mismatch=True), False)


@cache
def members(struct: str) -> Mapping[str, Field]:
    """The fields of a struct by their JSON names. Raises KeyError for a type that marshals itself."""
    found = fields(struct)
    if found is None:
        raise KeyError(f"the type {struct} marshals itself in a way that is not known here")
    return {field.name: field for field in found}


def folded(by_name: Mapping[str, Field], key: str) -> Field | None:
    """The field whose name differs from the key in case only (U+017F is Go's other s, U+212A its other k)."""
    bare = key.replace("\u017f", "s").replace("\u212a", "k")
    if not bare.isascii():
        return None
    bare = bare.lower()
    return next((field for name, field in by_name.items() if name.lower() == bare), None)
