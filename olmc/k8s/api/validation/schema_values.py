"""Values against the OpenAPI schema of a CRD, in the words of the API server (R-CAT-723).

As there, every check of a value speaks for itself, and the branch of a choice that is reported is the one with the
most checks that held. Rules in CEL are not part of it. The API server has fields in no order, here they stand by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api import formats as regexp
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, aggregated
from olmc.k8s.gojson import encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping
from olmc.k8s.strconv import number_text, quoted

_NUMBER_BOUNDS = (
    ("minimum", "exclusiveMinimum", operator.ge, operator.gt, "greater"),
    ("maximum", "exclusiveMaximum", operator.le, operator.lt, "less"),
)
_NEARLY = 1e-9
"""How far a quotient may be from an integer, as a part of it, to count as one."""


class _ValuePlace(NamedTuple):
    """Where a value stands: the whole, the path below it, and whether a schema's format counts that the API server
    doesn't know."""

    whole: Path
    path: str = ""
    any_format: bool = False

    def below(self, step: str) -> _ValuePlace:
        return self._replace(path=self.path + step)

    @property
    def full(self) -> Path:
        return self.whole.called(self.path.removeprefix(".")) if self.path else self.whole


class _ValueResult(NamedTuple):
    """What is wrong with a value, and how many checks of it, and of what is in it, held."""

    problems: tuple[FieldError, ...] = ()
    held: int = 0


_Check = Callable[[Mapping[str, Any], Any, _ValuePlace], _ValueResult]


def violations(schema: Mapping[str, Any], obj: Mapping[str, Any]) -> str:
    """What is wrong with an object, "" if nothing: one text as it is, several in brackets."""
    problems = _validate(schema, obj, _ValuePlace(Path("[]"))).problems
    return aggregated(problems) if problems else ""


def value_errors(schema: Mapping[str, Any], obj: Mapping[str, Any]) -> list[FieldError]:
    """What is wrong with an object, one error each, by the places of its fields."""
    return list(_validate(schema, obj, _ValuePlace(Path())).problems)


def default_errors(schema: Mapping[str, Any], value: Any, path: Path) -> list[FieldError]:
    """What is wrong with a schema's own default, which stands at `path`.

    Here, unlike in a custom resource, texts may have any format: the API server keeps those that it doesn't know.
    """
    return list(_validate(schema, value, _ValuePlace(path, any_format=True)).problems)


def _validate(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    # Null has a type, and may be among the choices; no other check concerns it.
    if value is None:
        return _combine([_type(schema, value, at), _enumeration(schema, value, at)])
    checks = _checks_of(schema, value, at)
    return _combine([check(schema, value, at) for check in checks], len(checks) + 1)


def _checks_of(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> list[_Check]:
    """The checks that concern a value, in the order of the API server."""
    checks: list[_Check] = [_type] if _types(schema, at) or _format(schema, at) else []
    checks.append(_combinations)
    if isinstance(value, str):
        checks += [_text, _format_of_text] if _is_checked(_format(schema, at)) else [_text]
    elif isinstance(value, list):
        checks.append(_items)
    elif _is_number(value):
        checks.append(_number)
    checks.append(_enumeration)
    if isinstance(value, dict):
        checks.append(_properties)
    return checks


def _combine(parts: Iterable[_ValueResult], held: int = 0) -> _ValueResult:
    known = tuple(parts)
    problems = dict.fromkeys(problem for part in known for problem in part.problems)
    return _ValueResult(tuple(problems), held + sum(part.held for part in known))


def _invalid(at: _ValuePlace, value: Any, text: str) -> _ValueResult:
    shown = value if isinstance(value, str) else JsonText(_shown(value))
    return _ValueResult((at.full.invalid(shown, f"{at.path} in body {text}"),))


def _too_many(at: _ValuePlace, number: int, most: int) -> _ValueResult:
    detail = f"must have at most {most} item{'' if most == 1 else 's'}"
    return _ValueResult((at.full.too_many(number, most)._replace(detail=detail),))


def _composite(at: _ValuePlace, text: str) -> FieldError:
    """A problem of several schemas together, which has no place but the whole's."""
    return at.whole.invalid("", f"{quoted(at.path)} must {text}")


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else encode_plain(value).decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _types(schema: Mapping[str, Any], at: _ValuePlace) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string") is True and not at.any_format:
        return ("integer", "string")
    wanted = schema.get("type")
    return (wanted,) if isinstance(wanted, str) and wanted else ()


def _format(schema: Mapping[str, Any], at: _ValuePlace) -> str:
    name = schema.get("format")
    return name if isinstance(name, str) and (at.any_format or _is_checked(name)) else ""


def _is_checked(name: str) -> bool:
    """Whether texts of a format are checked."""
    if not name:
        return False
    from olmc.k8s.api.formats import supports  # few fields have a format, and imports take their time

    return supports(name)


def _length(schema: Mapping[str, Any], bound: str) -> int | None:
    value = schema.get(bound)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _type(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    types, name, kind = _types(schema, at), _format(schema, at), _kind(value)
    held = _ValueResult(held=1)
    if value is None:
        return held if not types or schema.get("nullable") is True else _of_type(at, ",".join(types), kind)
    is_whole = isinstance(value, float) and value.is_integer() and "integer" in types
    if kind in types or is_whole or (kind == "integer" and "number" in types):
        return held
    if name and kind in ("string", "array"):
        return held if not {"integer", "number"} & {*types} else _of_type(at, ",".join(types), kind)
    # Where a schema has a format, go-openapi compares that with the value's and says nothing of the type.
    own_format = {"integer": "int64", "number": "float64"}.get(kind, "")
    if name and name != own_format:
        return _of_type(at, name, own_format)
    return _of_type(at, ",".join(types), kind)


def _of_type(at: _ValuePlace, wanted: str, kind: str) -> _ValueResult:
    return _invalid(at, kind, f"must be of type {wanted}: {quoted(kind)}")


def _text(schema: Mapping[str, Any], value: str, at: _ValuePlace) -> _ValueResult:
    most, least, pattern = _length(schema, "maxLength"), _length(schema, "minLength"), schema.get("pattern")
    # The message speaks of bytes, but go-openapi counts characters; and of a text it reports one problem.
    if most is not None and len(value) > most:
        detail = f"may not be more than {most} byte{'' if most == 1 else 's'}"
        return _ValueResult((at.full.too_long(most)._replace(detail=detail),))
    if least is not None and len(value) < least:
        return _invalid(at, value, f"should be at least {least} chars long")
    if isinstance(pattern, str) and pattern and not regexp.search(pattern, value):
        return _invalid(at, value, f"should match '{pattern}'")
    return _ValueResult()


def _format_of_text(schema: Mapping[str, Any], value: str, at: _ValuePlace) -> _ValueResult:
    from olmc.k8s.api.formats import conforms

    name = _format(schema, at)
    if conforms(name, value):
        return _ValueResult()
    return _invalid(at, value, f"must be of type {name}: {quoted(value)}")


def _number(schema: Mapping[str, Any], value: float, at: _ValuePlace) -> _ValueResult:
    return _combine([_ValueResult(held=1), *_number_problems(schema, value, at)])


def _number_problems(schema: Mapping[str, Any], value: float, at: _ValuePlace) -> Iterator[_ValueResult]:
    factor = schema.get("multipleOf", 0)
    if _is_number(factor) and not _is_multiple(value, _alike(value, factor)):
        yield _invalid(at, value, f"should be a multiple of {number_text(_alike(value, factor))}")
    for bound_key, exclusive_key, may_equal, must_differ, words in _NUMBER_BOUNDS:
        if _is_number(schema.get(bound_key)):
            bound, exclusive = _alike(value, schema[bound_key]), schema.get(exclusive_key) is True
            if not (must_differ if exclusive else may_equal)(value, bound):
                or_equal = "" if exclusive else "or equal to "
                yield _invalid(at, value, f"should be {words} than {or_equal}{number_text(bound)}")


def _alike(value: float, bound: float) -> float:
    """A bound as what the value is: for integers Go cuts off its fraction."""
    return int(bound) if isinstance(value, int) else float(bound)


def _is_multiple(value: float, factor: float) -> bool:
    if not factor:
        return True
    if isinstance(value, int):
        return value % int(factor) == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    rest = abs(quotient - int(quotient))
    return rest == 0 or rest / (abs(quotient) + abs(int(quotient))) < _NEARLY


def _items(schema: Mapping[str, Any], value: Sequence[Any], at: _ValuePlace) -> _ValueResult:
    parts = [_ValueResult(held=1)]
    if isinstance(schema.get("items"), Mapping):
        parts += [_validate(schema["items"], item, at.below(f"[{index}]")) for index, item in enumerate(value)]
    least, most = _length(schema, "minItems"), _length(schema, "maxItems")
    if least is not None and len(value) < least:
        parts.append(_invalid(at, len(value), f"should have at least {least} items"))
    if most is not None and len(value) > most:
        parts.append(_too_many(at, len(value), most))
    return _combine(parts)


def _enumeration(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    choices = schema.get("enum")
    # True equals 1 in Python, but not in JSON.
    if (
        not isinstance(choices, list)
        or not choices
        or any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)
    ):
        return _ValueResult()
    supported = [choice if isinstance(choice, str) else encode_plain(choice).decode() for choice in choices]
    shown = "null" if value is None else value if isinstance(value, str) else JsonText(_shown(value))
    return _ValueResult((at.full.unsupported(shown, supported),))


def _properties(schema: Mapping[str, Any], value: Mapping[str, Any], at: _ValuePlace) -> _ValueResult:
    least, most = _length(schema, "minProperties"), _length(schema, "maxProperties")
    if least is not None and len(value) < least:
        return _invalid(at, len(value), f"should have at least {least} properties")
    if most is not None and len(value) > most:
        return _too_many(at, len(value), most)
    properties, others = mapping(schema.get("properties")), schema.get("additionalProperties")
    parts = []
    for key, item in sorted(value.items()):
        if key in properties:
            parts.append(_validate(mapping(properties[key]), item, at.below(f".{key}" if at.path else key)))
        elif isinstance(others, Mapping):
            # Unlike declared ones, additional properties have a dot in front even at the root.
            parts.append(_validate(others, item, at.below(f".{key}")))
        elif others is False:
            detail = f"{at.path}.{key} in body is a forbidden property"
            parts.append(_ValueResult((at.full.invalid(key, detail),)))
    for key in schema.get("required") or ():
        if key not in value:
            parts.append(_ValueResult((at.below(f".{key}").full.required(),)))
    return _combine(parts)


def _combinations(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    def judge(key: str) -> list[_ValueResult]:
        inner = schema.get(key)
        return [_validate(mapping(branch), value, at) for branch in inner] if isinstance(inner, list) else []

    parts = [_ValueResult(held=1)]
    parts += _any_of(judge("anyOf"), at)
    parts += _one_of(judge("oneOf"), at)
    parts += _all_of(judge("allOf"), at)
    if isinstance(schema.get("not"), Mapping) and not _validate(schema["not"], value, at).problems:
        parts.append(_ValueResult((_composite(at, "not validate the schema (not)"),)))
    return _combine(parts)


def _any_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    # As in Go's library, the branch that held most explains best why none does.
    fitting = next((result for result in results if not result.problems), None)
    if fitting is not None:
        yield fitting
    elif results:
        yield _ValueResult((_composite(at, "validate at least one schema (anyOf)"),))
        yield max(results, key=lambda result: result.held)


def _one_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    fitting = [result for result in results if not result.problems]
    if len(fitting) == 1:
        yield fitting[0]
    elif results:
        number = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        yield _ValueResult((_composite(at, f"validate one and only one schema (oneOf). {number}"),))
        if not fitting:
            yield max(results, key=lambda result: result.held)


def _all_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    yield from results
    failed = sum(bool(result.problems) for result in results)
    if failed:
        none = ". None validated" if failed == len(results) else ""
        yield _ValueResult((_composite(at, f"validate all the schemas (allOf){none}"),))
