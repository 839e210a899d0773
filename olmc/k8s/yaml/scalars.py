"""The value of a plain scalar: go-yaml v2's resolution, then sigs.k8s.io/yaml's way to JSON.

The values are those of YAML-to-JSON in Kubernetes' tools with one liberty: a float stays a Python float, also an
integral one (`1e3` is 1000.0), where Go's JSON encoder would print 1000.
"""

from __future__ import annotations

import math
from typing import Any

from olmc.k8s.lean import module, regex

# For tagged values alone, which hardly any file has; each is a library that is to be loaded.
binascii, struct = module("binascii"), module("struct")

_WORDS: dict[str, Any] = {
    "": None,
    ".nan": math.nan,
    ".NaN": math.nan,
    ".NAN": math.nan,
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **dict.fromkeys("y Y yes Yes YES true True TRUE on On ON".split(), True),
    **dict.fromkeys("n N no No NO false False FALSE off Off OFF".split(), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_WORD_STARTS = frozenset("yYnNtTfFoO~")
_NUMBER_STARTS = frozenset("0123456789+-")

_INTEGER = regex(
    r"([-+]?)(?:0[bB](?P<binary>[01]+)|0[oO](?P<octal>[0-7]+)|0[xX](?P<hex>[0-9a-fA-F]+)"
    r"|0(?P<old_octal>[0-7]*)|(?P<decimal>[1-9][0-9]*))"
)
_BASES = {"binary": 2, "octal": 8, "hex": 16, "old_octal": 8, "decimal": 10}
_SIGN_INSIDE = regex(r"0b([-+][01]+)")
_FLOAT = regex(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOTTED_FLOAT = regex(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_TIMESTAMP = regex(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
    r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?"
)
_LONGEST_DECIMAL = 20
_SURE_DECIMAL = 18  # digits of which no range is exceeded
_IN_NUMBERS = "0123456789abcdefABCDEFoOxX.+-"

_SURROGATE = regex("[\ud800-\udfff]")

_MIN_INT64 = -(1 << 63)
_MAX_INT64 = (1 << 63) - 1
_MAX_UINT64 = (1 << 64) - 1

PREFIX = "tag:yaml.org,2002:"
SCALAR_TAGS = frozenset(
    PREFIX + name for name in ("str", "int", "float", "bool", "null", "timestamp", "binary", "merge")
)
COLLECTION_TAGS = frozenset(PREFIX + name for name in ("map", "seq", "set", "omap", "pairs"))


def resolve(text: str) -> Any:
    """The value of a plain scalar: str, int, bool, None, or float (also for the infinities and NaN)."""
    first = text[:1]
    if first in _NUMBER_STARTS:
        return _WORDS.get(text) or _number(text)
    if first in _WORD_STARTS or not first:
        return _WORDS.get(text, text)
    if first == ".":
        if text in _WORDS:
            return _WORDS[text]
        if text[1:2].isdigit() and _DOTTED_FLOAT.fullmatch(text):
            return _finite(text.replace("_", ""), text)
    return text


def _number(text: str) -> int | float | str:
    plain = text.replace("_", "")
    # What stands in nearly all files needs no patterns, which take their time to compile.
    if plain.isascii() and plain.isdigit() and len(plain) <= _SURE_DECIMAL and (plain[0] != "0" or plain == "0"):
        return int(plain)
    if plain.strip(_IN_NUMBERS) or plain.count(".") > 1:
        return text
    match = _INTEGER.fullmatch(plain) if "." not in plain else None
    # int() raises an error for thousands of decimal digits.
    if match and len(match["decimal"] or "") <= _LONGEST_DECIMAL:
        kind = match.lastgroup or "decimal"
        value = int(match[1] + (match[kind] or "0"), _BASES[kind])
        # Go reads what exceeds int64 as unsigned, which knows no sign.
        if _MIN_INT64 <= value <= (_MAX_INT64 if match[1] else _MAX_UINT64):
            return value
    if _FLOAT.fullmatch(plain):
        return _finite(plain, text)
    # go-yaml hands what follows 0b to a parser that takes a sign.
    match = _SIGN_INSIDE.fullmatch(plain) if plain.startswith("0b") else None
    if match and _MIN_INT64 <= (value := int(match[1], 2)) <= _MAX_INT64:
        return value
    return text


def _finite(number: str, text: str) -> float | str:
    value = float(number)
    # Out of a float's range, Go leaves the text.
    return text if math.isinf(value) else value


def resolve_tagged(tag: str, text: str) -> Any:
    """The value of a scalar with an explicit tag of SCALAR_TAGS, whether plain or quoted.

    Raises ValueError when the text does not fit the tag.
    """
    name = tag.removeprefix(PREFIX)
    if name in ("str", "merge"):
        return text
    if name == "binary":
        return _binary(text)
    if name == "timestamp":
        if _TIMESTAMP.fullmatch(text):
            return text
        raise ValueError(text)
    value = resolve(text)
    kind = type(value)
    # go-yaml turns integers into floats where the tag asks for one, but not those beyond 64 bits.
    if name == "float" and kind is int and _MIN_INT64 <= value <= _MAX_INT64:
        return float(value)
    if {"int": int, "float": float, "bool": bool, "null": type(None)}[name] is not kind:
        raise ValueError(text)
    return value


def _binary(text: str) -> str:
    """Go decodes to bytes and its JSON encoder replaces each byte that isn't UTF-8."""
    import base64  # hardly any file has such a tag, and imports take their time

    try:
        data = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error
    return replace_surrogates(data.decode("utf-8", "surrogateescape"))


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, as Go has no way to hold one."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def key_text(key: Any) -> str | None:
    """The text that sigs.k8s.io/yaml makes of a resolved key; None when it refuses the key."""
    kind = type(key)
    if kind is str:
        return str(key)
    if kind is bool:
        return "true" if key else "false"
    if kind is int:
        return str(key) if key <= _MAX_INT64 else None
    if kind is float:
        return _float32_text(key)
    return None


def _float32_text(value: float) -> str:
    """A float key as Go prints it: the shortest digits for 32 bits, with exponent from 1e6 and to 1e-5."""
    if math.isnan(value):
        return ".nan"
    try:
        (narrow,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        narrow = math.copysign(math.inf, value)
    if math.isinf(narrow):
        return ".inf" if narrow > 0 else "-.inf"
    text = next(t for t in (f"{narrow:.{n}e}" for n in range(9)) if _same_in_32_bits(t, narrow))
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    digits = mantissa.lstrip("-").replace(".", "")
    if power < -4 or power >= 6:
        return text
    return f"{narrow:.{max(0, len(digits) - 1 - power)}f}"


def _same_in_32_bits(text: str, narrow: float) -> bool:
    try:
        return bool(struct.unpack("f", struct.pack("f", float(text)))[0] == narrow)
    except OverflowError:
        return False
