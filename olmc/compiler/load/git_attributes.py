"""The attributes by which git changes the content of a file when it checks it out, or leaves a file out of an archive.

olmc reads the blobs of a revision as they are. A GitOps tool reads a checkout, in which such a file has other bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate

from olmc.compiler.load.files import fits_parts
from olmc.k8s.lean import NamedTuple

ATTRIBUTES_FILE = ".gitattributes"

_MACRO = "[attr]"
_BINARY = "binary"
_RELEVANT = ("working-tree-encoding", "filter", "ident", "eol", "text", "crlf", "export-ignore", "export-subst")
_MOST, _WITH_FOLDERS = 1_000_000, 5
"""How many files may be compared with how many patterns, both multiplied; one with folders counts as several."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}

_Value = str | bool | None


class CheckoutEffect(NamedTuple):
    """What git does to a file at checkout: the attributes, each with its value, and the file that sets them."""

    attributes: tuple[str, ...]
    values: str
    set_in: str


class _AttributeLine(NamedTuple):
    """A line of an attributes file: its pattern by parts, and the last of them by itself; the relevant attributes in
    order, and the file that it stands in. A pattern that `is_name` is for the last part of a path; one that `is_folder`
    names no file."""

    folder: str
    parts: tuple[str, ...]
    name: re.Pattern[str]
    is_name: bool
    is_folder: bool
    attributes: tuple[tuple[str, _Value], ...]
    file: str


def checkout_effects(files: Iterable[str], texts: Mapping[str, str]) -> dict[str, CheckoutEffect]:
    """By path the files whose content another one in a checkout is than in the repository.

    `texts` are the texts of the attributes files by their paths; all paths count from the top of the repository. Where
    files and patterns are too many to be compared, each file counts for which a pattern could be meant.
    """
    macros = _macros(texts)
    lines = [line for path in sorted(texts, key=_depth) for line in _lines(path, texts[path], macros)]
    wanted = {name for line in lines for name in _effective(dict(line.attributes))}
    if not wanted:
        return {}
    wanted |= {"text", "crlf"} if "eol" in wanted else set()
    lines = [line for line in lines if any(name in wanted for name, _ in line.attributes)]
    files = tuple(files)
    is_too_much = len(files) * sum(1 if line.is_name else _WITH_FOLDERS for line in lines) > _MOST
    found: dict[str, CheckoutEffect] = {}
    for path in files:
        meant = [line for line in lines if is_too_much or _applies(line, path)]
        values: dict[str, _Value] = {}
        for line in meant:
            values.update(line.attributes)
        if effect := _effective(values):
            setting = next(line for line in reversed(meant) if effect[0] in dict(line.attributes))
            texts_of_values = " ".join(f"{name}={values[name]}" for name in effect)
            found[path] = CheckoutEffect(effect, texts_of_values, setting.file)
    return found


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _macros(texts: Mapping[str, str]) -> dict[str, tuple[tuple[str, _Value], ...]]:
    """The macros by name: git takes them from the file at the top alone."""
    found: dict[str, tuple[tuple[str, _Value], ...]] = {_BINARY: (("text", False),)}
    top = min(texts, key=_depth, default="")
    for line in texts.get(top, "").splitlines():
        name, *words = line.split() or [""]
        if name.startswith(_MACRO):
            found[name.removeprefix(_MACRO)] = tuple(_attributes(words, found))
    return found


def _lines(path: str, text: str, macros: Mapping[str, tuple[tuple[str, _Value], ...]]) -> Iterator[_AttributeLine]:
    folder = path.rpartition("/")[0]
    for line in text.splitlines():
        pattern, words = _parted(line.strip(" \t\r"))
        if not pattern or pattern.startswith(("#", "!", _MACRO)):
            continue
        attributes = tuple(_attributes(words, macros))
        if attributes:
            inner = pattern.rstrip("/")
            parts = tuple(map(_as_glob, inner.removeprefix("/").split("/")))
            name = re.compile(translate(parts[-1]))
            yield _AttributeLine(folder, parts, name, "/" not in inner, inner != pattern, attributes, path)


def _parted(line: str) -> tuple[str, list[str]]:
    """The pattern of a line, which may be in quotes, and its other words."""
    if not line.startswith('"'):
        pattern, *words = line.split() or [""]
        return pattern, words
    chars, at = [], 1
    while at < len(line) and line[at] != '"':
        if line[at] == "\\" and at + 1 < len(line):
            digits = line[at + 1 : at + 4]
            is_octal = len(digits) == 3 and all(digit in "01234567" for digit in digits)
            chars.append(chr(int(digits, 8) % 256) if is_octal else _ESCAPES.get(line[at + 1], line[at + 1]))
            at += 4 if is_octal else 2
        else:
            chars.append(line[at])
            at += 1
    return "".join(chars), line[at + 1 :].split()


def _attributes(
    words: Iterable[str], macros: Mapping[str, tuple[tuple[str, _Value], ...]]
) -> Iterator[tuple[str, _Value]]:
    for word in words:
        name, equals, value = word.partition("=")
        given: _Value = value if equals else True
        if name.startswith(("-", "!")):
            given, name = (False if name.startswith("-") else None), name[1:]
        if name in macros and given is True:
            yield from macros[name]
        elif name in _RELEVANT:
            yield name, given


def _effective(values: Mapping[str, _Value]) -> tuple[str, ...]:
    """The attributes that change a checkout or an archive on every machine. `text` alone changes nothing on Linux, and
    `eol=lf` is how a file is there already."""
    encoding, eol = values.get("working-tree-encoding"), values.get("eol")
    has_lines = values.get("text") is not False and values.get("crlf") is not False
    effective = {
        "working-tree-encoding": isinstance(encoding, str) and encoding.lower() not in ("", "utf-8", "utf8"),
        "filter": isinstance(values.get("filter"), str),
        "ident": values.get("ident") is True,
        "eol": eol == "crlf" and has_lines,
        "export-ignore": values.get("export-ignore") is True,
        "export-subst": values.get("export-subst") is True,
    }
    return tuple(name for name, is_set in effective.items() if is_set)


def _applies(line: _AttributeLine, path: str) -> bool:
    """Whether a line speaks of a file, or leaves a folder above it out of archives."""
    start = f"{line.folder}/" if line.folder else ""
    if not path.startswith(start):
        return False
    below = path[len(start) :]
    if not line.is_folder and _fits(line, below):
        return True
    if ("export-ignore", True) not in line.attributes:
        return False
    folders = below.split("/")[:-1]
    return any(_fits(line, "/".join(folders[:number])) for number in range(1, len(folders) + 1))


def _fits(line: _AttributeLine, path: str) -> bool:
    """Whether the pattern of a line names a path: without a slash by its last part, else part by part."""
    if line.is_name:
        return line.name.match(path.rpartition("/")[2]) is not None
    return fits_parts(path.split("/"), line.parts)


def _as_glob(pattern: str) -> str:
    """A part of a pattern as Python has it: classes are negated with `!`, and a class of one escapes a character."""
    if "[:" in pattern:
        return "*"  # a class by name; what else could be meant counts as well
    parts, is_escaped = [], False
    for char in pattern.replace("[^", "[!"):
        if is_escaped:
            parts.append(f"[{char}]" if char in "*?[" else char)
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        else:
            parts.append(char)
    return "".join(parts)
