"""CEL rules of `olm.constraint` (R-CAT-331), through cel-expr-python, the CEL project's own binding of its
C++ library.

It is the only Python library with CEL's type checker, which OLM runs: a rule that does not compile, or is not
of type Bool, stops the resolution with the checker's message. It is imported when the first rule is met,
since hardly any workspace has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from olmc.semver import parse_tolerant

if TYPE_CHECKING:
    from cel_expr_python import cel  # type: ignore[import-untyped]

__all__ = ["CelError", "CelMissingError", "Rule", "compile_rule", "printed", "semver_compare"]

Rule = Callable[[Sequence[tuple[str, object]]], bool]


class CelError(ValueError):
    """A rule that doesn't compile or isn't of type Bool; its message is OLM's."""


class CelMissingError(Exception):
    """The CEL library is not installed (there is none for musl), so a rule can't be judged."""


@lru_cache(maxsize=256)
def compile_rule(rule: str) -> Rule:
    """A function that says whether `rule` holds for the (type, value) pairs of a bundle's properties.

    An error while it is evaluated counts as "does not hold". Raises CelError and CelMissingError.
    """
    environment = _environment()
    try:
        program = environment.compile(rule)
    except RuntimeError as error:
        raise CelError(_message(str(error))) from None
    if program.return_type().name() != "BOOL":
        raise CelError("cel expressions must have type Bool")

    def holds(properties: Sequence[tuple[str, object]]) -> bool:
        data = {"properties": [{"type": name, "value": _as_decoded(value)} for name, value in properties]}
        try:
            result = program.eval(data=data)
        except RuntimeError:
            return False
        return result.type().name() == "BOOL" and bool(result.value())

    return holds


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise CelMissingError(str(error)) from error
    anything = cel.Type("google.protobuf.Any")
    overload = cel.Overload(
        "semver_compare", return_type=cel.Type.INT, parameters=[anything, anything], impl=semver_compare
    )
    return cel.NewEnv(
        variables={"properties": cel.Type.List(cel.Type.Map(cel.Type.STRING, cel.Type.DYN))},
        functions=[cel.FunctionDecl("semver_compare", [overload])],
    )


def _message(error: str) -> str:
    """The checker's report without the status that the C++ library wraps around it."""
    return error.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")


def _as_decoded(value: object) -> object:
    """A JSON value as Go decodes it: every number is a double."""
    match value:
        case bool():
            return value
        case int() | float() | Decimal():
            return float(value)
        case Mapping():
            return {str(key): _as_decoded(each) for key, each in value.items()}
        case list() | tuple():
            return [_as_decoded(each) for each in value]
        case _:
            return value


def semver_compare(left: Any, right: Any) -> int:
    """-1, 0 or 1 as the version that `left` prints is lower, equal or higher; VersionError when one is no
    version.
    """
    return parse_tolerant(printed(left)).compare(parse_tolerant(printed(right)))


def printed(value: Any) -> str:
    """`value` as Go's fmt.Sprint prints it, as far as the result could be read as a version."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _printed_float(value)
        case _:
            # Lists, maps, null, bytes, times: Go prints something that is never a version.
            return repr(value)


def _printed_float(value: float) -> str:
    """Outside this span Go writes an exponent, which no version has."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return f"{value:e}"
