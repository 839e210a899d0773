"""The lines of a file that a finding quotes, of which those of Secrets have the keys alone."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.lean import regex
from olmc.model.secrets import MASK

_DOCUMENT = regex(r"---(\s|$)")
_KIND = regex(r"""(?<![\w./-])["']?kind["']?\s*(?P<end>:|$)""")
_DECORATION = regex(r"[&!]\S*\s+")
# A kind with its tag and its anchor is no longer.
_LONGEST = 300
_WORD = regex(r"""["']?(?P<word>[^"'#,}\]\s]*)""")
_ENTRY = regex(r"""(?P<key>\s*(?:[-?]\s+)*(?:"[^"]*"|'[^']*'|[^\s"'{\[&*!|>#][^:#]*?)\s*:)(?P<value>\s+\S.*)?$""")
_HAS_VALUES = regex(r"""\s*["']?(data|stringData|annotations|metadata|items)["']?\s*:""")


def mask_lines(lines: Sequence[str]) -> list[str]:
    """The lines of a file of YAML or JSON, in which a Secret's have the keys alone.

    By the text, since a file that can't be read is quoted as well: a Secret is what is written beside `kind: Secret`,
    however that is written, and all of a file is one with a merge key, of which nobody knows where it leads.
    """
    shown, last, has_merge_key = list(lines), 0, any("<<" in line for line in lines)
    for number, line in enumerate(lines):
        # What is beside a kind further inside of what was masked is a part of that.
        column = _column(lines, number) if number >= last and "kind" in line else None
        if column is None:
            continue
        first, last = (0, len(lines)) if has_merge_key else _extent(lines, number, column)
        if any(map(_HAS_VALUES.search, lines[first:last])):
            shown[first:last] = [_masked_line(each) for each in lines[first:last]]
    return shown


def _column(lines: Sequence[str], number: int) -> int | None:
    """Where a line says that its object is a Secret, or a list of them, or has a kind that only a reader of YAML knows;
    None where it does not."""
    line = lines[number]
    for match in _KIND.finditer(line):
        value = _undecorated(line[match.end() : match.end() + _LONGEST].lstrip())
        if not match["end"]:  # as in `? kind`, with the value in the next line
            is_secret = line[: match.start()].rstrip().endswith("?") and _is_secret_next(lines, number)
        elif not value or value[0] in "|>#":
            is_secret = _is_secret_next(lines, number)
        else:
            is_secret = value.startswith("*") or _is_name_of_secret(value)
        if is_secret:
            return match.start()
    return None


def _is_secret_next(lines: Sequence[str], number: int) -> bool:
    below = next((lines[at].strip() for at in range(number + 1, len(lines)) if lines[at].strip()), "")
    return _is_name_of_secret(_undecorated(below.removeprefix(":").lstrip()))


def _undecorated(value: str) -> str:
    """A value without its anchor and its tag."""
    while match := _DECORATION.match(value):
        value = value[match.end() :]
    return value


def _is_name_of_secret(value: str) -> bool:
    match = _WORD.match(value)
    word = match["word"] if match else ""
    return word.casefold() in ("secret", "secretlist") or "\\" in word


def _extent(lines: Sequence[str], number: int, column: int) -> tuple[int, int]:
    """From which line on and up to which one there is what a Secret has beside its kind, which stands at a line
    and column."""
    line = lines[number]
    before = line[:column]
    if not before.strip(" \t-?"):
        return _block(lines, number, before.find("?") if "?" in before else column)
    # In braces: the line has it all, or it may go on as it likes.
    is_whole = line.count("{") == line.count("}") and line.count("[") == line.count("]")
    return (number, number + 1) if is_whole else (0, len(lines))


def _block(lines: Sequence[str], number: int, indent: int) -> tuple[int, int]:
    """The lines of the mapping that has one of its keys in a line, at that column."""

    def is_inside(line: str) -> bool:
        return not _DOCUMENT.match(line) and (not line.strip() or len(line) - len(line.lstrip()) >= indent)

    first = number
    begins = bool(lines[number][:indent].strip())  # it is the first of an item of a list
    while (
        not begins and first and (is_inside(lines[first - 1]) or lines[first - 1][:indent].strip(" \t") in ("-", "?"))
    ):
        first -= 1
        begins = bool(lines[first][:indent].strip())
    last = number + 1
    while last < len(lines) and is_inside(lines[last]):
        last += 1
    return first, last


def _masked_line(line: str) -> str:
    match = _ENTRY.match(line)
    if match is None:
        return f"{line[: len(line) - len(line.lstrip())]}{MASK}" if line.strip() else line
    return f"{match['key']} {MASK}" if match["value"] else match["key"]
