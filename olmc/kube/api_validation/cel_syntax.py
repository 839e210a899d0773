"""Which expressions in CEL are surely one of type bool, determined without the library for CEL, which takes long to
load.

An expression becomes a text of one letter a token, in which brackets are replaced by what they are, from the inside to
the outside. What is left matches the grammar of an expression without brackets, or nothing is concluded.
"""

from __future__ import annotations

import re

from olmc.lean import regex

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
    """Whether an expression is one of CEL, and of type bool if all in it has the types that it needs."""
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
    """Whether a text without brackets is that of an expression: perhaps one of several to choose from."""
    parts, signs = shape.replace(":", "?").split("?"), "".join(sign for sign in shape if sign in "?:")
    return signs == "?:" * (len(parts) // 2) and all(map(_PLAIN.fullmatch, parts))


def _is_bool(plain: str) -> bool:
    """Whether an expression without brackets or choices gives a bool."""
    if "r" in plain or plain[0] == "!" or plain == "t":
        return True
    return plain[-1] == "q" and plain[-2:-1] in ("", ".") and not {"o", "-"}.intersection(plain)
