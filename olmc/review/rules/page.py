"""Writes the page of all rules: `python -m olmc.review.rules.page > docs/rules.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from textwrap import fill

from olmc.compiler.rules.rulebook import linked
from olmc.k8s.diagnostics import Rule
from olmc.review.rules.catalogue import RUN, Example, chapters, example_of, hint_of, message_of, parts

_INTRODUCTION = """\
# What olmc reports

Each finding carries the code of its rule. `olmc explain CODE` prints the same text as this page, which is made of the
rules themselves by `python -m olmc.review.rules.page > docs/rules.md`. In messages, `{name}` stands for what differs
from finding to finding. Ids such as R-OG-1 are rules of OLM itself, from the [rule book](spec/README.md).

Of the examples, `olmc check --all` finds the bad one, unless another command is named. They show whole files, or the
parts that matter; there a number as a key means that item of a list. The folder `olmc/compiler/rules/examples` has them
with all that belongs to them, and tests compile them.

| severity | what it means |
|---|---|
| error | the input can't be compiled |
| failure | an operator would fail, an object would be refused |
| warning | it works, but is likely not what was meant |
| info | worth knowing, shown on request |
"""


def page() -> str:
    """The page as Markdown."""
    return _INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    for chapter in chapters():
        title = re.sub("^(?:Rules|Diagnostics) about ", "", chapter.title)
        yield f"\n## {title[0].upper()}{title[1:]}\n"
        yield from map(_section, chapter.rules)


def _section(rule: Rule) -> str:
    lines = [
        "",
        f"### {rule.code}",
        "",
        f"**{rule.title}** ({rule.severity})",
        "",
        f"Message: {_code(message_of(rule))}",
        "",
        _wrapped(linked(_text(rule.explanation), "")),
        "",
        _wrapped(f"*What to do:* {_text(hint_of(rule))}"),
        *_examples(example_of(rule.code)),
    ]
    return "\n".join(lines) + "\n"


def _examples(example: Example | None) -> Iterator[str]:
    if example is None:
        return
    if example.none:
        yield from ("", _wrapped(f"*No example:* {example.none}"))
        return
    if example.run != RUN:
        yield from ("", f"Found by `{example.run}`.")
    for part in parts(example):
        yield from ("", f"{part.before}`{part.path}`{part.behind}")
        if part.text:
            kind = part.path.rpartition(".")[2]
            yield from ("", f"```{'json' if kind == 'json' else 'yaml' if kind in ('yaml', 'yml') else ''}")
            yield from (part.text.rstrip("\n"), "```")


def _wrapped(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _code(text: str) -> str:
    """A code span, whatever backticks the text has."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _text(text: str) -> str:
    """Markdown as it is, except that outside of code nothing can pass for a tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


if __name__ == "__main__":
    sys.stdout.write(page())
