"""Values against the rules in CEL of a CRD's schema (x-kubernetes-validations), in the words of the API server.

`cel_rules` says whether rules compile; here they are held against an object. A rule that the CEL library can't compile,
for want of a function that only the API server has, says nothing, and neither does one without that library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from olmc.k8s.api.formats import search_text
from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain
from olmc.k8s.api.validation.field import FieldError, Path
from olmc.k8s.lean import regex
from olmc.k8s.objects import mapping, mappings, text

if TYPE_CHECKING:
    from cel_expr_python import cel  # type: ignore[import-untyped]

_BEFORE = regex(r"\boldSelf\b")
_FORMATS = {"dns1123Label": is_dns1123_label, "dns1123Subdomain": is_dns1123_subdomain}
_BLOCKING = ("Required value", "Unsupported value", "Too long", "Too many")
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def rule_errors(schema: Mapping[str, Any], value: Any, old: Any = None, path: Path | None = None) -> list[FieldError]:
    """What the rules of a schema find in a value, and in what it holds; `old` is what it was, None for nothing.

    Rules about what was before count where there was something. Fields are in the order of their names.
    """
    return list(_errors(schema, value, old, path or Path()))


def with_rules(
    errors: Sequence[FieldError], schema: Mapping[str, Any], value: Any, old: Any = None
) -> list[FieldError]:
    """The errors of an object's schema, and those of its rules unless one of the former keeps them from being asked."""
    if any(error.kind in _BLOCKING or "must be of type" in error.detail for error in errors):
        return [*errors, FieldError("<nil>", "Invalid value: null", (), _NOT_CHECKED)]
    return [*errors, *rule_errors(schema, value, old)]


def _errors(schema: Mapping[str, Any], value: Any, old: Any, path: Path) -> Iterator[FieldError]:
    if value is None:
        return
    for rule in mappings(schema.get("x-kubernetes-validations")):
        expression = text(rule.get("rule"))
        if old is None and _BEFORE.search(expression):
            continue
        problem = _problem(expression, value, old)
        if problem is not None:
            # Of structures the API server prints no value.
            shown = None if isinstance(value, Mapping | list) else value
            message = text(rule.get("message")).strip() or f"failed rule: {expression.strip()}"
            yield path.invalid(shown, problem or message)
    if isinstance(value, Mapping):
        properties, others = mapping(schema.get("properties")), mapping(schema.get("additionalProperties"))
        for key, item in sorted(value.items()):
            below = path.child(key) if key in properties else path.key(key)
            yield from _errors(mapping(properties.get(key, others)), item, mapping(old).get(key), below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            # Lists are not paired with what they were: of those that are maps only the server knows the keys.
            yield from _errors(mapping(schema.get("items")), item, None, path.item(index))


def _problem(expression: str, value: Any, old: Any) -> str | None:
    """None if the rule holds or can't be asked, "" if it doesn't hold, or why it could not be evaluated."""
    compiled = _compile(expression)
    if compiled is None:
        return None
    try:
        result = compiled.eval(data={"self": value, "oldSelf": old})
    except (RuntimeError, TypeError, ValueError, OverflowError):
        return None  # half a character, or a number of any size, is nothing for the library
    if result.type().name() == "ERROR":
        return f"rule evaluation error: {str(result).partition(': ')[2]}"
    return None if result.value() else ""


@lru_cache(maxsize=256)
def _compile(expression: str) -> Any:
    try:
        return _environment().compile(expression)
    except (ImportError, RuntimeError, TypeError):
        return None


@cache
def _environment() -> cel.Env:
    """CEL with those functions of Kubernetes' libraries that say something about texts."""
    from cel_expr_python import cel  # few runs need it, and it takes time

    texts, string, number = cel.Type.List(cel.Type.STRING), cel.Type.STRING, cel.Type.INT

    def member(name: str, result: Any, parameters: list[Any], implementation: Any) -> Any:
        overload = cel.Overload(
            f"olmc_{name}_{len(parameters)}",
            return_type=result, parameters=parameters, is_member=True, impl=implementation,
        )  # fmt: skip
        return cel.FunctionDecl(name, [overload])

    functions = [
        member("find", string, [string, string], lambda whole, pattern: search_text(pattern, whole) or ""),
        member("substring", string, [string, number], lambda whole, start: whole[start:]),
        member("validate", texts, [string, string], lambda name, value: _FORMATS[name](value)),
        member("hasValue", cel.Type.BOOL, [texts], lambda problems: bool(problems)),
    ]
    for name in _FORMATS:
        overload = cel.Overload(f"olmc_{name}", return_type=string, parameters=[], impl=lambda name=name: name)
        functions.append(cel.FunctionDecl(f"format.{name}", [overload]))
    return cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}, functions=functions)
