"""Suppressions: findings that somebody has looked at and accepts, in comments of YAML files and in olmc.yaml.

`# olmc: ignore[OLMC401] reason`, on the line of the finding or above it, accepts the findings of these codes there. An
entry of `spec.suppress` accepts those of its code in the files that its pattern matches, or anywhere. An error is never
suppressed: what it stops is not compiled at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.load.files import has_file, read_text, spec_of
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity

COMMENTED = (".yaml", ".yml")
"""The files that can hold comments."""

_MARK = "olmc:"
_COMMENT = regex(r"(?:^|\s)#\s*olmc:\s*ignore\b(?:\[([^\]]*)\])?[ \t]*(.*)$")
_NO_CONTENT = regex(r"^\s*(#.*)?$|^---\s*(#.*)?$")


class Suppression(NamedTuple):
    """A code that is accepted, why, and where that is written: `place` is in the comment's file, or in olmc.yaml.

    `line` is the line that a comment speaks of. An entry of olmc.yaml has the `number` that it has there, and the
    `pattern` (as in .gitignore) of the files that it speaks of, "" for everything. `about` is the object and the field
    that a comment speaks of, where somebody asked for it (`with_subjects`).
    """

    code: str
    reason: str
    place: Location
    line: int = 0
    number: int = -1
    pattern: str = ""
    about: str = ""


class AppliedSuppressions(NamedTuple):
    """What is left of some diagnostics, what is suppressed, and the suppressions that did it."""

    kept: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...] = ()
    used: frozenset[Suppression] = frozenset()


def comments(path: str, text: str) -> Iterator[Suppression]:
    """The suppressions in the comments of a YAML file; one without codes has the code ""."""
    if _MARK not in text:
        return
    lines = text.split("\n")
    behind = _content_behind(lines)
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line) if _MARK in line else None
        if match is None:
            continue
        # A comment on a line of its own speaks of what comes next, whatever comments and `---` are between.
        target = behind[number - 1] if line.lstrip().startswith("#") else number
        place = Location(path, number, line.index("#", match.start()) + 1)
        for code in (match[1] or "").split(","):
            yield Suppression(code.strip().upper(), match[2].strip(), place, line=target)


def _content_behind(lines: Sequence[str]) -> list[int]:
    """For each line its own number, or that of the next one with content."""
    found = [len(lines) + 1]
    for number in range(len(lines), 0, -1):
        found.append(found[-1] if _NO_CONTENT.match(lines[number - 1].rstrip("\r")) else number)
    return found[:0:-1]


def entries(config: Mapping[str, Any]) -> tuple[Suppression, ...]:
    """The suppressions of an olmc.yaml, whose `spec` is given; their place is the file as a whole."""
    return tuple(
        Suppression(
            entry["code"],
            entry["reason"].strip(),
            Location("olmc.yaml"),
            number=number,
            pattern=entry.get("path") or "",
        )
        for number, entry in enumerate(config.get("suppress") or ())
    )


def collect_suppressions(root: Path, config: Mapping[str, Any], paths: Iterable[str]) -> Iterator[Suppression]:
    """All suppressions of the workspace at `root`, whose olmc.yaml says `config`, in these files."""
    yield from entries(config)
    for path in paths:
        text = read_text(root, path, Report()) if path.endswith(COMMENTED) and has_file(root, path) else None
        yield from comments(path, text) if text is not None else ()


def apply_suppressions(
    root: Path, diagnostics: Iterable[Diagnostic], config: Mapping[str, Any], *, commented: bool = True
) -> AppliedSuppressions:
    """The diagnostics of the workspace at `root` without those that its comments and its configuration suppress; unless
    `commented`, its configuration alone."""
    findings = tuple(diagnostics)
    if all(diagnostic.severity is Severity.ERROR for diagnostic in findings):
        return AppliedSuppressions(findings)
    configured = entries(config)

    @cache
    def in_file(path: str) -> tuple[Suppression, ...]:
        readable = commented and path.endswith(COMMENTED) and has_file(root, path)
        text = read_text(root, path, Report()) if readable else None
        return tuple(comments(path, text)) if text is not None else ()

    kept: list[Diagnostic] = []
    suppressed: list[Diagnostic] = []
    used: set[Suppression] = set()
    for diagnostic in findings:
        by = _suppressing(
            diagnostic, configured, in_file(diagnostic.location.path) if diagnostic.location is not None else ()
        )
        (suppressed if by else kept).append(diagnostic)
        used.update(by)
    return AppliedSuppressions(tuple(kept), tuple(suppressed), frozenset(used))


def _suppressing(
    diagnostic: Diagnostic, configured: Sequence[Suppression], commented: Sequence[Suppression]
) -> list[Suppression]:
    if diagnostic.severity is Severity.ERROR:
        return []
    place = diagnostic.location or Location("")
    return [
        *(
            suppression
            for suppression in commented
            if suppression.code == diagnostic.code and suppression.line == place.line
        ),
        *(
            suppression
            for suppression in configured
            if suppression.code == diagnostic.code and _matches(suppression.pattern, place.path)
        ),
    ]


@cache
def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern as in .gitignore speaks of a file; it can't speak of no file at all."""
    if not pattern:
        return True
    if not path:
        return False
    return spec_of([pattern])(path)
