"""The examples of the rules: of each one input that it is about, and one that it is content with.

`examples/CODE.txt` begins with lines `key: value`; then come files, each below a line `-- bad PATH` or `-- good PATH`.
The keys are `run`, the command that tells the difference (`olmc check --all` unless given), `base`, the name of the
workspace that the files change, and `none`, why there can be no example.
"""

from __future__ import annotations

import re
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
    def shown_bad(self) -> tuple[tuple[str, str], ...]:
        """The files in which the bad side differs; all of them if it is that it lacks one."""
        return tuple(file for file in self.bad if file not in self.good) or self.bad

    @property
    def shown_good(self) -> tuple[tuple[str, str], ...]:
        """The files in which the good side differs; all of them if it is that it lacks one."""
        return tuple(file for file in self.good if file not in self.bad) or self.good


def example_of(code: str) -> Example:
    """The example of a rule; raises FileNotFoundError for a rule that has none."""
    head, *parts = _FILE.split((_FOLDER / f"{code}.txt").read_text(encoding="utf-8"))
    keys = dict(line.partition(": ")[::2] for line in head.splitlines() if line)
    files = list(zip(parts[::3], parts[1::3], (text.strip("\n") + "\n" for text in parts[2::3]), strict=True))
    bad, good = (tuple((path, text) for side, path, text in files if side == which) for which in ("bad", "good"))
    return Example(keys.get("run", RUN), keys.get("base", ""), keys.get("none", ""), bad, good)


def as_text(example: Example) -> str:
    """An example for a terminal: each file below its name, indented."""
    if example.none:
        return f"\nNo example: {example.none}\n"
    found = f"\nFound by {example.run}.\n" if example.run != RUN else ""
    for title, files in (("Bad", example.shown_bad), ("Good", example.shown_good)):
        for path, text in files:
            found += f"\n{title}, {path}" + (" is not there.\n" if text == REMOVED else f":\n\n{indent(text, '  ')}")
    return found
