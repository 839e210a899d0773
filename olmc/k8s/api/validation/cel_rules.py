"""Rules in CEL of a CRD's schema (x-kubernetes-validations): which of them can't compile, and which a value breaks.

olmc reports a rule if it is certain that it does not compile: it is no CEL, it names a field of `self` that the schema
does not have, it is not of type bool, or its message is not a string. olmc does not judge other types, functions, uses
of `oldSelf` and the cost of an expression. Without the CEL library (musl has none) it judges fields only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from olmc.k8s.api.cel_cost import least_compilation, rule_cost
from olmc.k8s.api.formats import search_text
from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain
from olmc.k8s.api.validation.crd_internal import printed_rule
from olmc.k8s.api.validation.field import FieldError, Path
from olmc.k8s.api.validation.structural_schema import META_FIELDS, Place, at, is_embedded
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import CelAccount, CelCostError
from olmc.k8s.objects import mapping, mappings, text

if TYPE_CHECKING:
    from cel_expr_python import cel  # type: ignore[import-untyped]

# Which expressions in CEL are surely one of type bool, determined without the library for CEL, which takes long to
# load.
#
# An expression becomes a text of one letter a token, in which brackets are replaced by what they are, from the inside
# to the outside. What is left matches the grammar of an expression without brackets, or nothing is concluded.

# l, t: a literal, or what stands in brackets; true or false. i, f: a name, that of a function that gives a bool.
# o, r: an operator, one that gives a bool. c, q: a call, one that gives a bool. x: an index. z: a dot before what may
# be missing. All other signs stand for themselves.
_TOKEN = regex(
    r"""[ \t\n\r]* (?:
      (?P<l> [rR]"{3}(?:(?!"{3})[^\r\n])*+"{3} | "[^"\\\r\n]*" | '[^'\\\r\n]*' | [0-9]{1,18}(?:\.[0-9]{1,18})?(?![\w.])
      | null\b )
    | (?P<t> (?:true|false)\b )
    | (?P<f> (?:has|matches|startsWith|endsWith|contains|all|exists|exists_one|isURL)\b )
    | (?P<r> \|\| | && | [=!]= | [<>]=? | in\b )
    | (?P<o> [+*/%] )
    | (?P<i> (?!(?:as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)
      \b) [A-Za-z_]\w* )
    | (?P<z> \.\? )
    | (?P<sign> [-!().,?:] | \[ | \] )
    )""",
    re.VERBOSE | re.ASCII,
)
# No quantifier gives back what it took: what somebody wrote to take long takes as long as anything else.
_OPERAND = r"(?:!++|-++)?+[ltifcq](?:\.[ifcq]|z[if]|x)*+"
_PLAIN = regex(rf"{_OPERAND}(?:[or-]{_OPERAND})*+")
_INNERMOST = regex(r"([ltifcqx]?)([(\[])([^()\[\]]*+)([)\]])")
_CALLS = {"i": "c", "f": "q"}
_WRONG = "#"
_LONGEST = 1000
_MOST_TOKENS = 200


def is_surely_bool(expression: str) -> bool:
    """Return whether an expression is one of CEL, and of type bool if all in it has the types that it needs."""
    if len(expression) > _LONGEST:
        return False
    shape, at = "", 0
    while match := _TOKEN.match(expression, at):
        kind = match.lastgroup or ""
        shape += match["sign"] if kind == "sign" else kind
        at = match.end()
    if expression[at:].strip(" \t\n\r") or len(shape) > _MOST_TOKENS:
        return False
    while (outer := _INNERMOST.sub(_without_brackets, shape)) != shape:
        shape = outer
    # Of `a ? b : c ? d : e` only what the choice is made by may be of any type.
    choices = shape.replace(":", "?").split("?")
    return _is_expression(shape) and all(map(_is_bool, (*choices[1::2], choices[-1])))


def _without_brackets(match: re.Match[str]) -> str:
    before, opening, content, closing = match.groups()
    is_one = _is_expression(content)
    are_several = not content or is_one or all(map(_is_expression, content.split(",")))
    if opening + closing == "()":
        if before in _CALLS:
            return _CALLS[before] if are_several else _WRONG
        return "l" if is_one and not before else _WRONG
    if opening + closing == "[]":
        return f"{before}x" if before and is_one else "l" if not before and are_several else _WRONG
    return _WRONG


def _is_expression(shape: str) -> bool:
    """Return whether a text without brackets is that of an expression: perhaps one of several to choose from."""
    parts, signs = shape.replace(":", "?").split("?"), "".join(sign for sign in shape if sign in "?:")
    return signs == "?:" * (len(parts) // 2) and all(map(_PLAIN.fullmatch, parts))


def _is_bool(plain: str) -> bool:
    """Return whether an expression without brackets or choices gives a bool."""
    if "r" in plain or plain[0] == "!" or plain == "t":
        return True
    return plain[-1] == "q" and plain[-2:-1] in ("", ".") and not {"o", "-"}.intersection(plain)


_LITERAL = regex(
    r"""
    (?<!\w) (?: [bB]?[rR] | [rR][bB] ) (?: "{3}.*?"{3} | '{3}.*?'{3} | "[^"\n]*" | '[^'\n]*' )  # as it stands
    | "{3} (?:\\.|[^\\])*? "{3} | '{3} (?:\\.|[^\\])*? '{3} | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | ["'].*  # nothing closes it
    | //[^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)
_FIELDS = regex(
    r"""
    (?P<has> (?<![\w.]) has (?P<bracket>\() \s* )?
    (?<![\w.`]) (?:self|oldSelf)
    (?P<names> (?:\.[A-Za-z_]\w*)+ )
    (?P<call> \s*\( )?
    """,
    re.VERBOSE,
)
_KEYWORDS = frozenset(
    "true false null in as break const continue else for function if import let loop package namespace return".split()
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SIGNS = {word: sign for sign, word in _ESCAPES.items()}
_WRITTEN = regex("__(?:underscores|dot|dash|slash)__")
_PLAIN_TYPES = ("BOOL", "STRING", "INT", "UINT", "DOUBLE", "BYTES", "LIST", "MAP", "NULL")
_WRONG_TYPE = "type"  # a problem that is no text of CEL's


class _Compilation(NamedTuple):
    """The type of an expression, "" if it has none that is certain; or why it is no CEL."""

    type: str = ""
    problem: str = ""


def expression_errors(
    schema: Mapping[str, Any], place: Place, account: CelAccount, *, is_resource: bool
) -> Iterator[FieldError]:
    """Yield the errors of the expressions of a structural schema in a place.

    `is_resource`: whether it is that of a whole resource, which has an apiVersion, a kind and metadata in any case.
    What compiling them costs goes to the account; what is beyond it is refused, in words that no server has.
    """
    for index, rule in enumerate(mappings(schema.get("x-kubernetes-validations"))):
        here: Place = (place, "x-kubernetes-validations", index)
        # Then `oldSelf` is an optional value, which has other fields than the schema.
        if rule.get("optionalOldSelf") is True:
            continue
        problem = _problem(text(rule.get("rule")), schema, "BOOL", is_resource, account)
        if problem == _WRONG_TYPE:
            yield at(here, "rule").invalid(printed_rule(rule), "cel expression must evaluate to a bool")
        elif problem:
            yield at(here, "rule").invalid(printed_rule(rule), f"compilation failed: {problem}")
        # The API server compiles the message of a rule only when the rule itself compiles.
        message = text(rule.get("messageExpression"))
        if not message or problem:
            continue
        problem = _problem(message, schema, "STRING", is_resource, account)
        path = at(here, "messageExpression")
        if problem == _WRONG_TYPE:
            yield path.invalid(printed_rule(rule), "messageExpression must evaluate to a string")
        elif problem:
            yield path.invalid(printed_rule(rule), f"messageExpression compilation failed: {problem}")


def _problem(expression: str, schema: Mapping[str, Any], wanted: str, is_resource: bool, account: CelAccount) -> str:
    try:
        # To find out what a rule costs takes its time as well, which is of no use where it has become too much anyway.
        account.check_left(least_compilation(expression) if expression not in account.compiled else 0)
        account.compile(expression, rule_cost(expression).compilation)
    except CelCostError as error:
        return f"olmc does not compile it, since {error}"
    compiled = _compile(expression)
    if compiled.problem:
        return compiled.problem
    unknown = list(_unknown_fields(expression, schema, is_resource))
    if unknown:
        return "\n".join(unknown)
    return _WRONG_TYPE if compiled.type and compiled.type != wanted else ""


@lru_cache(maxsize=1024)
def _compile(expression: str) -> _Compilation:
    if is_surely_bool(expression):
        return _Compilation("BOOL")
    try:
        environment = _environment()
    except ImportError:
        return _Compilation()
    try:
        kind = environment.compile(expression).return_type().name()
    except TypeError:
        return _Compilation()  # half a character is no text for it
    except RuntimeError as error:
        # Other errors than those of syntax may be the fault of functions that only the API server has.
        reports = str(error).removesuffix(" [INVALID_ARGUMENT]").split("ERROR: ")
        messages = [f"ERROR: {message.rstrip()}" for message in reports if " Syntax error: " in message]
        return _Compilation(problem="\n".join(messages))
    return _Compilation(kind if kind in _PLAIN_TYPES else "")


def _library() -> Any:
    """Import the library of CEL, which takes time, and which few runs need."""
    from cel_expr_python import cel

    return cel


@cache
def _environment() -> cel.Env:
    cel = _library()
    return cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})


def _unknown_fields(expression: str, schema: Mapping[str, Any], is_resource: bool) -> Iterator[str]:
    """The errors about fields of `self` that a schema doesn't have, as CEL prints them."""
    # Blanks in the place of literals and comments keep the offsets that messages point to.
    code = _LITERAL.sub(lambda literal: " " * len(literal[0]), expression)
    if re.search(r"[(,]\s*(?:self|oldSelf)\s*,", code):
        return  # a macro may give the name to something else
    for access in _FIELDS.finditer(code):
        names = access["names"][1:].split(".")
        known, start = schema, access.start("names")
        # The name before a bracket is a function.
        for number, name in enumerate(names[:-1] if access["call"] else names):
            properties = mapping(known.get("properties"))
            if not _has_fields(known) or (is_resource and number == 0 and name in META_FIELDS):
                break
            inner = properties.get(name, properties.get(_unescaped(name)))
            if inner is None:
                is_tested = access["has"] and number == len(names) - 1
                # CEL places what is wrong in `has(…)` at the macro's bracket.
                offset = access.start("bracket") if is_tested else start
                yield _located(expression, offset, f"undefined field '{name}'")
                break
            known, start = mapping(inner), start + len(name) + 1


def _has_fields(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is that of an object with fields of its own, and of no resource."""
    is_object = schema.get("type") == "object" and schema.get("x-kubernetes-int-or-string") is not True
    return is_object and not is_embedded(schema) and bool(schema.get("properties"))


def _unescaped(name: str) -> str:
    """The name of the field that is written so in CEL."""
    if name[:2] == name[-2:] == "__" and name[2:-2] in _KEYWORDS:
        return name[2:-2]
    return _WRITTEN.sub(lambda word: _SIGNS[word[0]], name)


def _located(expression: str, offset: int, problem: str) -> str:
    line = expression.count("\n", 0, offset)
    column = offset - (expression.rfind("\n", 0, offset) + 1)
    shown = expression.split("\n")[line].replace("\t", " ")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {problem}\n | {shown}\n | {'.' * column}^"


_BEFORE = regex(r"\boldSelf\b")
_FORMATS = {"dns1123Label": is_dns1123_label, "dns1123Subdomain": is_dns1123_subdomain}
_BLOCKING = ("Required value", "Unsupported value", "Too long", "Too many")
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def rule_errors(schema: Mapping[str, Any], value: Any, old: Any = None, path: Path | None = None) -> list[FieldError]:
    """Return the errors that the rules of a schema find in a value and its fields; `old` is the previous value, None
    for none.

    Rules about the previous value count if there is one. Fields are in the order of their names.
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
        problem = _problem_of_value(expression, value, old)
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


def _problem_of_value(expression: str, value: Any, old: Any) -> str | None:
    """None if the rule holds or can't be asked, "" if it doesn't hold, or why it could not be evaluated."""
    compiled = _compile_for_values(expression)
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
def _compile_for_values(expression: str) -> Any:
    try:
        return _environment_of_values().compile(expression)
    except (ImportError, RuntimeError, TypeError):
        return None


@cache
def _environment_of_values() -> cel.Env:
    """CEL with those functions of Kubernetes' libraries that say something about texts."""
    cel = _library()
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
