"""The examples of the rules: of each one input that it is about, and one that it is content with.

`examples/CODE.txt` begins with lines `key: value`; then come files, each below a line `-- bad PATH` or `-- good PATH`.
The keys are `run`, the command that tells the difference (`olmc check --all` unless given), `base`, the name of the
workspace that the files change, and `none`, why there can be no example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

RUN = "olmc check --all"
REMOVED = "null\n"
"""The text of a file that is taken away from the base."""

_FOLDER = Path(__file__).with_name("examples")
_FILE = re.compile(r"^-- (bad|good) (\S+)$", re.MULTILINE)


class Example(NamedTuple):
    """The files of both sides, as path and text; with a `base`, a text can be a part of the file that stands there."""

    run: str
    base: str
    none: str
    bad: tuple[tuple[str, str], ...]
    good: tuple[tuple[str, str], ...]

    @property
    def only_bad(self) -> tuple[tuple[str, str], ...]:
        """The files that the good side does not have as they are here."""
        return tuple(file for file in self.bad if file not in self.good)

    @property
    def only_good(self) -> tuple[tuple[str, str], ...]:
        """The files that the bad side does not have as they are here."""
        return tuple(file for file in self.good if file not in self.bad)


class Part(NamedTuple):
    """A file to be shown: what is said before its path and behind it, and its text, "" if there is none to show."""

    before: str
    path: str
    behind: str
    text: str


def example_of(code: str) -> Example | None:
    """The example of a rule, None for one that has none: what `olmc check` can't find need not have one."""
    file = _FOLDER / f"{code}.txt"
    if not file.is_file():
        return None
    head, *parts = _FILE.split(file.read_text(encoding="utf-8"))
    keys = dict(line.partition(": ")[::2] for line in head.splitlines() if line)
    files = list(zip(parts[::3], parts[1::3], (text.strip("\n") + "\n" for text in parts[2::3]), strict=True))
    bad, good = (tuple((path, text) for side, path, text in files if side == which) for which in ("bad", "good"))
    return Example(keys.get("run", RUN), keys.get("base", ""), keys.get("none", ""), bad, good)


def parts(example: Example) -> Iterator[Part]:
    """What there is to show: where both sides differ, or if one side only lacks a file, all of the bad one."""
    bad, good = example.only_bad, example.only_good
    for number, (path, text) in enumerate(bad if bad and good else example.bad):
        yield _part("and " if number else "Bad, ", path, ":", text)
    for number, (path, text) in enumerate(good):
        yield _part("and " if number else "Good, " if bad else "Good, with ", path, ":" if bad else " besides:", text)
    if not good:
        yield Part("Good, without ", bad[0][0], ".", "")


def _part(before: str, path: str, behind: str, text: str) -> Part:
    return Part(before, path, " is not there.", "") if text == REMOVED else Part(before, path, behind, text)


def as_text(example: Example | None) -> str:
    """An example for a terminal: each file below its name, indented; "" for none."""
    if example is None:
        return ""
    if example.none:
        return f"\nNo example: {example.none}\n"
    found = f"\nFound by {example.run}.\n" if example.run != RUN else ""
    for part in parts(example):
        found += f"\n{part.before}{part.path}{part.behind}\n"
        found += f"\n{indent(part.text, '  ')}" if part.text else ""
    return found
