"""The emitter, and how a text is quoted so that every reader of YAML takes it for that very text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.scalars import replace_surrogates, resolve

# The common case: begins with a letter, holds no colon or hash that could be syntax, does not end in a space.
_HARMLESS = regex(r'[A-Za-z/$(][ -"$-9;-~]*(?::[!"$-9;-~][ -"$-9;-~]*)*(?<! )')
_WORD_STARTS = frozenset("yYnNtTfFoO")

# What stands nowhere unescaped although it is no control character: other ends of lines, the byte order mark, what is
# no character, and what turns the direction of text, by which a reader sees another one.
_REFUSED = frozenset(
    "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff"
)
_INDICATORS = frozenset(" ,[]{}#&*!|>'\"%@`")
_DIFFERS_ELSEWHERE = regex(
    r"""
      =|<<                                                          # the tags !!value and !!merge of YAML 1.1
    | [0-9]{4}-[0-9][0-9]?-[0-9][0-9]?                              # dates and times
      (?:(?:[Tt]|\ +)[0-9][0-9]?:[0-9][0-9]?:[0-9][0-9]?.*)?
    | [-+]?[0-9][0-9_]*+(?::[0-5]?[0-9])++(?:\.[0-9_]*+)?           # numbers of base 60
    | [-+]?(?:0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9_]+)
    | [-+]?(?:[0-9][0-9_]*+(?:\.[0-9_]*+)?|\.[0-9_]++)(?:[eE][-+]?[0-9]+)?
    | [-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)
    """,
    re.VERBOSE,
)
_DIFFERING_STARTS = frozenset("0123456789+-.=<")
_IN_DIFFERING = "0123456789abcdefABCDEFoxinfINFNA_:.+-=<"  # but for dates and times, whose end can be any text

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def _may_stand(char: str) -> bool:
    """Return whether a character may stand unescaped in a line."""
    return char.isprintable() or (char >= "\xa0" and char not in _REFUSED and not "\ud800" <= char <= "\udfff")


def _is_one_line(text: str) -> bool:
    # What is printable may stand; patterns over all of Unicode take milliseconds to compile.
    return text.isprintable() or all(map(_may_stand, set(text)))


def _is_lines(text: str) -> bool:
    return _is_one_line(text.replace("\n", "").replace("\t", ""))


def plain_is_safe(text: str) -> bool:
    """Return whether a text may stand in a block mapping or list without quotes, as a value and as a key.

    True when go-yaml v2 reads it back as that very string, except for texts that other readers take for
    something else: `=`, `<<`, dates, numbers of base 60, numbers beyond go-yaml's range, numbers of YAML 1.2.
    A text with a tab is never safe.
    """
    if _HARMLESS.fullmatch(text):
        return text[0] not in _WORD_STARTS or type(resolve(text)) is str
    if not _is_one_line(text) or _is_syntax(text) or type(resolve(text)) is not str:
        return False
    return text[0] not in _DIFFERING_STARTS or not _differs_elsewhere(text)


def _is_syntax(text: str) -> bool:
    """Return whether something in a line means more than itself: an indicator, a mark, the end of a key, a comment."""
    if not text or text[0] in _INDICATORS or text[-1] in " :" or ": " in text or " #" in text:
        return True
    return (text[0] in "-?:" and text[1:2] in ("", " ")) or text.startswith(("---", "..."))


def _differs_elsewhere(text: str) -> bool:
    # Most versions, amounts and flags can't be meant, and the pattern takes long to compile.
    if text[4:5] != "-" and (text.strip(_IN_DIFFERING) or text.count(".") > 1):
        return False
    return _DIFFERS_ELSEWHERE.fullmatch(text) is not None


def one_line(text: str) -> str:
    """A text as one line of YAML: plain where that is safe, else in single quotes.

    Double quotes are for what only an escape can express. A lone surrogate becomes U+FFFD, as in Go.
    """
    # What runners of pipelines execute wherever it stands in a line of a log.
    if "##" in text and _is_obeyed(text):
        return f'"{OBEYED.sub(_HIDDEN, "".join(map(_escaped, replace_surrogates(text))))}"'
    if plain_is_safe(text):
        return text
    if _is_one_line(text):
        return "'" + text.replace("'", "''") + "'"
    return f'"{"".join(map(_escaped, replace_surrogates(text)))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if _may_stand(char):
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


_COMMAND = regex(r"^[^\S\n]*+::", re.MULTILINE)
OBEYED = regex(r"##(?=(?:vso)?\[)")
"""The places from which GitHub and Azure take the rest of a line of a log for a command, also in the middle of a
line."""

_HIDDEN = r"#\\x23"


def _is_obeyed(text: str) -> bool:
    return "##[" in text or "##vso[" in text


def literal_header(text: str) -> str | None:
    """The header (`|`, `|-`, `|+`, with `2` for the indentation) of the literal block that holds a text.

    None for a text of one line, and for what no literal block can hold.
    """
    # A runner executes a line of a log that begins so, and does not know who wrote it.
    if "::" in text and _COMMAND.search(text):
        return None
    if "##" in text and _is_obeyed(text):
        return None
    # Of a text of blanks only, readers disagree about which belong to the indentation.
    if "\n" not in text or not text.strip(" \t\n") or not _is_lines(text):
        return None
    indent = "2" if text.lstrip("\n")[0] in " \t" else ""
    if not text.endswith("\n"):
        return f"|{indent}-"
    return f"|{indent}+" if text.endswith("\n\n") else f"|{indent}"


_FIRST_KEYS = ("apiVersion", "kind", "metadata", "spec")
# Readers look for the colon of a key no farther than 1024 characters on.
_LONGEST_KEY = 1000
# Go's JSON encoder writes integral floats without exponent up to here.
_LONG_FLOATS = 1e21


def dump(values: Iterable[Any]) -> str:
    """A YAML stream of the values, with `---` between them.

    Values are made of JSON's types; any Mapping counts as a dict, any other Iterable as a list. Keys have to
    be str (else TypeError), floats finite (else ValueError). An object (a mapping with apiVersion and kind)
    begins with apiVersion, kind, metadata and spec; everything else keeps its order. There are no aliases, no
    tags and no folded lines. An integral float is written as Go's JSON encoder does (1000, 1e+21), so it
    reads back as an integer.
    """
    parts: list[str] = []
    out = _Out(parts.append, _Texts(), _Keys())
    for value in values:
        if parts:
            parts.append("---\n")
        value = _as_json(value)
        _item(in_order(value) if value.__class__ is dict else value, "", "", out)
    return "".join(parts)


def in_order(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    """A mapping with its entries in the order in which they are written."""
    if "apiVersion" not in mapping or "kind" not in mapping:
        return mapping
    return {key: mapping[key] for key in (*(k for k in _FIRST_KEYS if k in mapping), *mapping)}


def dump_one(value: Any) -> str:
    """One value as a YAML document; see `dump`."""
    return dump((value,))


class _Texts(dict[str, str]):
    """Texts as one line of YAML; "" for one to be written as a literal block."""

    def __missing__(self, text: str) -> str:
        written = "" if literal_header(text) else one_line(text)
        self[text] = written
        return written


class _Keys(dict[str, str]):
    """Keys with their colon; "" for one too long to be followed by it."""

    def __missing__(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"a key has to be a str, not {key!r}")
        written = one_line(key) + ":"
        if len(written) > _LONGEST_KEY:
            written = ""
        self[key] = written
        return written


class _Out(NamedTuple):
    """The output, and the known forms of texts and keys."""

    append: Callable[[str], None]
    texts: _Texts
    keys: _Keys


class Writer(NamedTuple):
    """The known forms of texts and keys, for callers that write one entry at a time."""

    texts: _Texts
    keys: _Keys


def entry_writer() -> Writer:
    return Writer(_Texts(), _Keys())


def entry_text(key: str, value: Any, pad: str, writer: Writer) -> str:
    """An entry of a mapping that is indented by `pad`."""
    parts: list[str] = []
    _mapping({key: value}, pad, pad, _Out(parts.append, writer.texts, writer.keys))
    return "".join(parts)


def _mapping(mapping: Mapping[str, Any], first: str, pad: str, out: _Out) -> None:
    """The entries of a mapping with some; the first line begins with `first`, the others with `pad`."""
    append, texts, keys = out.append, out.texts, out.keys
    head = first
    deeper = pad + "  "
    for key, value in mapping.items():
        label = keys[key]
        if not label:
            append(f"{head}? {one_line(key)}\n")
            head, label, value = pad, ":", _as_json(value)
        kind = value.__class__
        if kind is str:
            text = texts[value]
            append(f"{head}{label} {text}\n" if text else f"{head}{label} {_literal(value, deeper)}")
        elif kind is dict and value:
            append(f"{head}{label}\n")
            _mapping(value, deeper, deeper, out)
        elif kind is list and value:
            append(f"{head}{label}\n")
            _sequence(value, pad, pad, out)
        elif kind in _JSON_TYPES:
            append(f"{head}{label} {_atom(value)}\n")
        else:
            _mapping({key: _as_json(value)}, head, pad, out)
        head = pad


def _sequence(items: list[Any], first: str, pad: str, out: _Out) -> None:
    """The items of a list with some; the first line begins with `first`, the others with `pad`."""
    head = first + "- "
    deeper = pad + "  "
    for item in items:
        _item(item, head, deeper, out)
        head = pad + "- "


def _item(value: Any, first: str, pad: str, out: _Out) -> None:
    """A value behind a dash, or a document."""
    kind = value.__class__
    if kind is str:
        text = out.texts[value]
        out.append(f"{first}{text}\n" if text else f"{first}{_literal(value, pad or '  ')}")
    elif kind is dict and value:
        _mapping(value, first, pad, out)
    elif kind is list and value:
        _sequence(value, first, pad, out)
    elif kind in _JSON_TYPES:
        out.append(f"{first}{_atom(value)}\n")
    else:
        _item(_as_json(value), first, pad, out)


_JSON_TYPES = frozenset((str, dict, list, int, float, bool, type(None)))


def _as_json(value: Any) -> Any:
    """A value of a related type as the type of JSON that it stands for."""
    if value.__class__ in _JSON_TYPES:
        return value
    for base in (str, int, float):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"YAML can't hold {value!r}")


def _atom(value: Any) -> str:
    """A number, a boolean, null, an empty list or an empty dict."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if type(value) is float:
        return _float(value)
    return repr(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"YAML for Kubernetes can't hold {value}")
    text = repr(value)
    if "e" in text:
        from decimal import Decimal  # such floats are rare, and imports take their time

        return f"{Decimal(text):f}" if value.is_integer() and abs(value) < _LONG_FLOATS else text
    return text.removesuffix(".0")


def _literal(text: str, pad: str) -> str:
    """A text of several lines as a literal block, whose lines begin with `pad`."""
    body = text.removesuffix("\n")
    if "\n\n" in body or body[-1] == "\n" or body[0] == "\n":
        indented = "\n".join([pad + line if line else "" for line in body.split("\n")])
    else:
        indented = pad + body.replace("\n", "\n" + pad)
    return f"{literal_header(text)}\n{indented}\n"


# YAML in parts: what many objects have in common is written once.
#
# A fleet has the same ClusterServiceVersion in a thousand namespaces, of which the spec, the status and the annotations
# are the very same values. Their text is one part of the output then, which stands in it a thousand times.

METADATA = "metadata"
NAMESPACE = "namespace"
BORDER = b"---\n"
"""The separator between the documents of a stream."""
_BELOW = object()
_MAX_FAMILIES = 4096  # how many families are kept: many objects have no similar object

Piece: TypeAlias = Literal[0, 1, 2]
OWN: Piece = 0
SHARED: Piece = 1
VARYING: Piece = 2
"""Kinds of pieces of an object: its own, one that others have as well, and its namespace."""


def dump_parts(values: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Return the output of `dump` for these objects in parts: a value that several have, themselves or in their
    metadata, is one part."""
    return joined_parts(object_parts(values), BORDER)


def joined_parts(texts: Iterable[Sequence[bytes]], border: bytes) -> list[bytes]:
    """The parts of texts, one after the other, with `border` between them."""
    parts: list[bytes] = []
    for text in texts:
        parts += (border, *text) if parts else text
    return parts


def object_parts(values: Sequence[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """The parts of the document that `dump_one` writes of each object."""
    shared, writer = shared_values(values), entry_writer()
    known: dict[tuple[int, str, str], bytes] = {}

    def entry(key: str, value: Any, pad: str) -> bytes:
        if id(value) not in shared:
            return entry_text(key, value, pad, writer).encode()
        place = id(value), key, pad
        if place not in known:
            known[place] = entry_text(key, value, pad, writer).encode()
        return known[place]

    def pieces_of(value: Mapping[str, Any]) -> Iterator[tuple[bytes, Piece]]:
        for key, item, pad in _entries(value):
            part = entry(key, item, pad) if item is not _BELOW else f"{key}:\n".encode()
            yield part, VARYING if pad and key == NAMESPACE else SHARED if id(item) in shared else OWN

    return parts_of_families(values, pieces_of, lambda namespace: entry(NAMESPACE, namespace, "  "))


def parts_of_families(
    values: Iterable[Mapping[str, Any]],
    pieces_of: Callable[[Mapping[str, Any]], Iterable[tuple[bytes, Piece]]],
    namespace_part: Callable[[str], bytes],
) -> Iterator[list[bytes]]:
    """The parts of each object, of what `pieces_of` gives of it. Of objects that are one but for their namespace, which
    is what copies of a CSV are, only the first is asked for that, `namespace_part` for what others differ in."""
    families: dict[Sequence[Any], tuple[list[bytes], list[bytes]]] = {}
    parts_of_namespaces: dict[str, bytes] = {}
    for value in values:
        namespace = _namespace_in(value)
        if namespace is None:
            yield merged_parts(pieces_of(value))
            continue
        family = _family_of(value)
        halves = families.get(family)
        if halves is None:
            if len(families) == _MAX_FAMILIES:
                families.clear()
            halves = families[family] = _halves(pieces_of(value))
        if namespace not in parts_of_namespaces:
            parts_of_namespaces[namespace] = namespace_part(namespace)
        before, behind = halves
        yield [*before, parts_of_namespaces[namespace], *behind]


def _namespace_in(value: Mapping[str, Any]) -> str | None:
    metadata = value.get(METADATA)
    namespace = metadata.get(NAMESPACE) if metadata.__class__ is dict else None
    return namespace if namespace.__class__ is str else None


def _family_of(value: Mapping[str, Any]) -> Sequence[Any]:
    """Return the common values of objects that differ only in their namespace, while all of them exist."""
    metadata = value[METADATA]
    own = [id(item) for key, item in value.items() if key != METADATA]
    below = [id(item) for key, item in metadata.items() if key != NAMESPACE]
    return len(value), *value, *metadata, *own, *below


def _halves(pieces: Iterable[tuple[bytes, Piece]]) -> tuple[list[bytes], list[bytes]]:
    """The parts before and behind the piece that is another one in each object of a family."""
    listed = list(pieces)
    place = next(number for number, (_, kind) in enumerate(listed) if kind == VARYING)
    return merged_parts(listed[:place]), merged_parts(listed[place + 1 :])


def merged_parts(pieces: Iterable[tuple[bytes, Piece]]) -> list[bytes]:
    """The parts that pieces make: those that are shared stay what they are, what stands between them becomes one."""
    merged: list[bytes] = []
    own: list[bytes] = []
    for piece, kind in pieces:
        if kind == SHARED:
            if own:
                merged.append(b"".join(own))
            merged.append(piece)
            own = []
        else:
            own.append(piece)
    if own:
        merged.append(b"".join(own))
    return merged


def _entries(value: Mapping[str, Any]) -> Iterable[tuple[str, Any, str]]:
    """The entries of an object, those of its metadata in place of it, with their indentation; _BELOW is the value of
    the line before them."""
    for key, item in in_order(value).items():
        if key == METADATA and item.__class__ is dict and item:
            yield key, _BELOW, ""
            yield from ((name, below, "  ") for name, below in item.items())
        else:
            yield key, item, ""


def shared_values(objects: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """The identity of each mapping and list that several objects have, themselves or in their metadata."""
    seen: set[int] = set()
    shared: set[int] = set()
    for obj in objects:
        metadata = obj.get(METADATA)
        below = metadata.values() if metadata.__class__ is dict else ()
        for value in (*obj.values(), *below):
            if value is metadata:  # whose entries are written by themselves
                continue
            if (value.__class__ is dict or value.__class__ is list) and value:
                (shared if id(value) in seen else seen).add(id(value))
    return frozenset(shared)
