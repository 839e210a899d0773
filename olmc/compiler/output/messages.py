"""Diagnostics as text for people and data for machines, and errors about what was asked for."""

from __future__ import annotations

import codecs
import json
import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from olmc.k8s.diagnostics import (
    LIKELY,
    POSSIBLE,
    Diagnostic,
    FileChange,
    Fix,
    FurtherFindings,
    Location,
    Severity,
    closest,
    did_you_mean,
    join_limited,
)
from olmc.k8s.lean import regex
from olmc.k8s.yaml.emitter import OBEYED

# How untrusted text is printed: for people by `clean`, as JSON by `json_text`; YAML's emitter has the same escapes.
#
# A terminal executes control characters, a reader is deceived by those that turn the direction of text, and a CI system
# takes lines that begin in its own way for commands. Names of files need not be UTF-8: Python keeps each byte that it
# can't read as half of a surrogate pair, which no output can hold: it is shown as an escape, `gr\xfcn.yaml`.

ESCAPED = "olmc.escaped"
"""The `errors` of streams that show such names; see `register`."""

_HALF = regex("[\ud800-\udfff]")
_FIRST_OCTET, _LAST_OCTET = 0xDC80, 0xDCFF


def legible(text: str) -> str:
    """The text with an escape for each byte that is no part of a character."""
    return text if text.isascii() else _HALF.sub(lambda match: _escape(match[0]), text)


# By number, not by what the Unicode of a Python says of them: the same text gives the same bytes everywhere.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_UNSEEN = "\xad\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_UNSAFE = regex(f"[{_TURNING}{_CONTROL}{_UNSEEN}]")
_ESCAPED_IN_JSON = regex(f"[\x7f-\x9f\u2028\u2029{_TURNING}]")
# GitHub takes such lines for commands, from any source and after any blanks.
_COMMAND = regex(r"\s*::[A-Za-z][\w-]*(\s[^:]*)?::")


def clean(text: str) -> str:
    """A line for people, of which no terminal, no reader and no CI system takes a part for something else: line breaks
    are blanks, and what can't be seen is U+FFFD."""
    shown = text if text.isprintable() else _UNSAFE.sub(_visible, legible(text))
    shown = OBEYED.sub("#\ufffd#", shown) if "##" in shown else shown
    return f"\ufffd{shown}" if _COMMAND.match(shown) else shown


def _visible(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n" else "\ufffd"


def json_text(value: Any, *, indent: int | None = 2, default: Callable[[Any], Any] | None = None) -> str:
    """Data as JSON for machines, in which names read as they do for people; without a line break at the end."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=default)
    text = OBEYED.sub(r"#\\u0023", text) if "##" in text else text
    if text.isascii() and "\x7f" not in text:
        return text
    text = _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _HALF.sub(lambda match: f"\\{_escape(match[0])}", text)


def register() -> None:
    """Have the codecs know `ESCAPED`, so that a stream shows what it is given as `legible` does."""
    codecs.register_error(ESCAPED, _escaped)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escape, error.object[error.start : error.end])), error.end


def _escape(half: str) -> str:
    code = ord(half)
    return f"\\x{code - 0xDC00:02x}" if _FIRST_OCTET <= code <= _LAST_OCTET else f"\\u{code:04x}"


SHOWN_FROM = Severity.WARNING
LineOf = Callable[[Location], str | None]
"""Gives the text of the line that a place is in, None where there is none."""

Paint = Callable[[str, str], str]
"""Gives a text the style with this name."""

_STYLES = {"ERROR": "1;31", "FAILURE": "31", "WARNING": "33", "INFO": "36", "bold": "1", "faint": "2", "caret": "32",
           "good": "32"}  # fmt: skip
_WIDEST = 100
"""The largest shown part of a source line; bundles have lines of many thousand characters."""


def as_text(diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM, color: bool = False) -> str:
    """The diagnostics from severity `least` on, each with its hint and its related places.

    With `color` the text has the escape sequences of terminals, none of them from the files that it is about.
    """
    return as_text_with_source(diagnostics, _no_line, least=least, color=color)


def as_text_with_source(
    diagnostics: Iterable[Diagnostic], line_of: LineOf, *, least: Severity = SHOWN_FROM, color: bool = False
) -> str:
    """As `as_text`, with the source line of each diagnostic and a caret under its place.

    Diagnostics with one message and one way out are one text, with the places of all of them.
    """
    paint = in_color if color else in_black
    alike: dict[object, list[Diagnostic]] = {}
    for number, diagnostic in enumerate(diagnostics):
        if diagnostic.severity >= least:
            alike.setdefault(_cause_of(diagnostic) or number, []).append(diagnostic)
    return "".join(f"{line}\n" for together in alike.values() for line in _lines(together, line_of, paint))


def _cause_of(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return the common key of diagnostics of one cause; () for one without a place, which is alone."""
    if diagnostic.location is None:
        return ()
    way_out = diagnostic.hint.split("\n")[0]
    return diagnostic.code, diagnostic.severity, diagnostic.message, way_out, diagnostic.related


def as_json(
    diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM, clusters: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The diagnostics as in schemas/findings.schema.json, with the clusters of a repository if there are any."""
    records = [_record(diagnostic) for diagnostic in diagnostics if diagnostic.severity >= least]
    more = {"clusters": list(clusters)} if clusters else {}
    return json_text({"version": 1, "findings": records, **more}) + "\n"


def as_counts(diagnostics: Iterable[Diagnostic], *, least: Severity = SHOWN_FROM) -> str:
    """Return how many there are of each severity, gravest first: `1 failure, 2 warnings`."""
    numbers: Counter[Severity] = Counter()
    for diagnostic in diagnostics:
        cause = diagnostic.cause
        if diagnostic.severity >= least:
            numbers[diagnostic.severity] += cause.number if isinstance(cause, FurtherFindings) else 1
    counts = [
        f"{number:,} {severity}{'s' * (number != 1)}" for severity, number in sorted(numbers.items(), reverse=True)
    ]
    return ", ".join(counts) or "no findings"


_MOST_PLACES = 10
"""The number of further places that a finding shows in a text, each with its hint; JSON has all of them."""


def _lines(alike: Sequence[Diagnostic], line_of: LineOf, paint: Paint) -> Iterator[str]:
    diagnostic, *others = alike
    place = diagnostic.location
    prefix = f"{paint(clean(str(place)), 'bold')}: " if place else ""
    first, *more = map(clean, diagnostic.message.split("\n"))
    lines = [f"{prefix}{paint(str(diagnostic.severity), diagnostic.severity.name)}: {first}", *more]
    # A message may be a tree of several lines; the code ends it, as it does one of one line.
    lines[-1] += " " + paint(f"[{diagnostic.code}]", "faint")
    yield from lines
    line = line_of(place) if place is not None and place.line else None
    if place is not None and line is not None:
        yield from _excerpt(place, line, paint)
    if others:
        introduction = ", such as" if len(others) > _MOST_PLACES else ":"
        shown = ", ".join(str(other.location) for other in others[:_MOST_PLACES])
        yield clean(f"  and {len(others):,} more{introduction} {shown}")
    yield from (clean(f"  {where}: {text}") for text, where in diagnostic.related)
    hints = dict.fromkeys(hint for each in alike[: _MOST_PLACES + 1] for hint in each.hint.split("\n"))
    yield from (clean(f"  {hint}") for hint in hints if hint)


def _no_line(place: Location) -> str | None:  # noqa: ARG001
    return None


def in_color(text: str, style: str) -> str:
    """A text in the style of a severity, `bold`, `faint` or `caret`, for a terminal."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def in_black(text: str, style: str) -> str:  # noqa: ARG001
    """Return a text without a style, for outputs that are no terminal."""
    return text


def _excerpt(place: Location, line: str, paint: Paint) -> Iterator[str]:
    """The line of a place with its number, and a caret below; of a long line the part around the place."""
    # The file may have changed since the diagnostic was made.
    column = min(max(place.column - 1, 0), len(line))
    start = max(0, column - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = clean(line[start : start + _WIDEST].rstrip())
    if not shown.strip():
        return
    before = ("…" if start else "") + shown[: column - start]
    number = str(place.line)
    yield "  " + paint(f"{number} |", "faint") + f" {'…' if start else ''}{shown}"
    if place.column:
        yield "  " + paint(f"{' ' * len(number)} |", "faint") + " " * (_width(before) + 1) + paint("^", "caret")


def _width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _record(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        **_placed(diagnostic.location),
        "hint": diagnostic.hint,
        "related": [{"message": text, **_placed(place)} for text, place in diagnostic.related],
        **({"fix": _fix(diagnostic.fix)} if diagnostic.fix is not None else {}),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    changes = [{"path": path, "line": line, "deleted": old, "inserted": new} for path, line, old, new in replaced(fix)]
    return {"title": fix.title, "changes": changes}


def replaced(fix: Fix) -> Iterator[tuple[str, int, int, str]]:
    """The changes of a fix line by line: the file, the first line (from 1), how many lines go, and the new text."""
    import difflib  # few findings have a fix

    for path, before, after in fix.changes:
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
        most = min(len(old), len(new))
        first = next((number for number in range(most) if old[number] != new[number]), most)
        rest = range(most - first)
        same = next((number for number in rest if old[-1 - number] != new[-1 - number]), most - first)
        old, new = old[first : len(old) - same], new[first : len(new) - same]
        for tag, start, end, since, until in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield path, first + start + 1, end - start, "".join(new[since:until])


def _placed(place: Location | None) -> dict[str, Any]:
    return dict(zip(("path", "line", "column"), place or ("", 0, 0), strict=True))


_MOST = 8
_SHORT = 4
"""Of so few letters two that changed places are much."""


class QueryError(ValueError):
    """A question that can't be answered as it stands; the message says why, and what would be a better one."""


def not_found(problem: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> QueryError:
    """The error for a name that there is not: what of `known` and `others` was meant, or else what is known."""
    # All names may have been meant, but only the usual ones are listed.
    names = list(dict.fromkeys(known))
    best = closest(name, [*names, *others], POSSIBLE if len(name) <= _SHORT else LIKELY)
    there = f"There is {join_limited(names, _MOST)}." if names else "There is none at all."
    return QueryError(clean(f"{problem}. {did_you_mean(best) or there}"))


# A command about the workspace whose last argument is its folder; options may have a value in capitals.
_HINTED = regex(
    r"`olmc (?:vendor|init workspace|resolve|check|fix|(?:graph|why) [\w./-]+)(?: --?[a-z-]+(?: [A-Z]+)?)*(?=`)"
)
_OF_CLUSTER = regex(r"`olmc (?:fix|resolve|why|status)\b(?![^`]* --from\b)[^`\n]*(?=`)")
# The folder of a catalog or of bundles that is written by hand.
_BY_HAND = regex(r"\b((?:into|fill) )(catalogs/[\w.-]+|bundles(?=/))")
# The place of a step, as the derivation of what can't be resolved has it at the end of a line.
_PLACE = regex(r"\(([^\s():]+)(:\d+:\d+)\)$", re.MULTILINE)


def below(folder: str, path: str) -> str:
    """The path of a file of the workspace in `folder`, "" where that is the current directory."""
    return posixpath.normpath(posixpath.join(folder, path)) if folder or path.startswith("../") else path


def seen_from(folder: str, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Diagnostics of the workspace in `folder` with their places, and the commands that they advise, as one gives them
    where one stands: `olmc vendor` is about the current directory."""
    for diagnostic in diagnostics:
        place = diagnostic.location
        yield diagnostic._replace(
            location=moved(folder, place),
            related=tuple((text, moved(folder, where)) for text, where in diagnostic.related),
            hint=advice_from(folder, diagnostic.hint),
            fix=_moved_fix(folder, diagnostic.fix) if diagnostic.fix is not None else None,
        )


def _moved_fix(folder: str, fix: Fix) -> Fix:
    return fix._replace(changes=changes_from(folder, fix.changes))


def changes_from(folder: str, changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Changes of files of the workspace in `folder`, with their paths as one gives them where one stands."""
    return tuple(change._replace(path=below(folder, change.path)) for change in changes)


@overload
def moved(folder: str, place: Location) -> Location: ...
@overload
def moved(folder: str, place: None) -> None: ...
def moved(folder: str, place: Location | None) -> Location | None:
    """A place in the workspace in `folder` as one gives it where one stands."""
    return place._replace(path=below(folder, place.path)) if place is not None else None


def advice_from(folder: str, text: str, cluster: Sequence[str] = ()) -> str:
    """A text about the workspace in `folder`: its commands with the folder, and the places at the end of its lines.

    `cluster` are the values of --from, which those commands repeat that begin with a cluster.
    """
    text = _with_folder(folder, text) if folder else text
    return _OF_CLUSTER.sub(lambda match: f"{match[0]}{state_options(cluster)}", text) if cluster else text


def state_options(cluster: Iterable[str]) -> str:
    """Return the options that name the cluster with which a command begins, "" for none."""
    return "".join(f" --from {_quoted(name)}" for name in cluster)


def _quoted(word: str) -> str:
    """A word as a shell reads it."""
    import shlex  # few hints name a command

    return shlex.quote(word)


def _with_folder(folder: str, text: str) -> str:
    with_folder = _HINTED.sub(lambda match: f"{match[0]} {_quoted(folder)}", text)
    with_folder = _BY_HAND.sub(lambda match: f"{match[1]}{below(folder, match[2])}", with_folder)
    return _PLACE.sub(lambda match: f"({below(folder, match[1])}{match[2]})", with_folder)
