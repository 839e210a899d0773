"""Write the pages of codes, `docs/rules.md` and `docs/rules/CODE.md`: `python -m olmc.review.rules.page docs`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from olmc.compiler.rules.rulebook import linked
from olmc.k8s.diagnostics import Rule
from olmc.review.rules.catalogue import RUN, Chapter, Example, chapters, example_of, hint_of, message_of, parts

INDEX = "rules.md"
_INTRODUCTION = """\
# Codes of findings

Each finding has the code of its rule, and each code has a page. `olmc explain CODE` prints the same text. The pages are
generated from the rules: `python -m olmc.review.rules.page docs`.

| severity | meaning |
|---|---|
| error | olmc can't compile the input |
| failure | an operator would fail, or the API server would reject an object |
| warning | it works, but is probably a mistake |
| info | worth knowing, shown on request |

In messages, `{name}` is a variable part. Ids such as R-OG-1 are rules of OLM itself, from the
[rule book](spec/README.md). `olmc check --all` finds the bad example of a page, unless the page names another command.
Examples show whole files or the relevant parts; a number as a key is the index of an item in a list. The folder
`olmc/compiler/rules/examples` has the whole examples, and tests compile them.
"""


def pages() -> dict[str, str]:
    """Return the texts of all pages by their paths below `docs/`: the index, and a page for each code."""
    texts = {INDEX: _INTRODUCTION + "".join(map(_index_of, chapters()))}
    for chapter in chapters():
        texts |= {page_path(rule): _page(rule, chapter.title) for rule in chapter.rules}
    return texts


def page_path(rule: Rule) -> str:
    return f"rules/{rule.code}.md"


def _index_of(chapter: Chapter) -> str:
    rows = (f"| [{rule.code}]({page_path(rule)}) | {rule.severity} | {_text(rule.title)} |\n" for rule in chapter.rules)
    return f"\n## {chapter.title}\n\n| code | severity | finding |\n|---|---|---|\n{''.join(rows)}"


def _page(rule: Rule, chapter: str) -> str:
    lines = [
        f"# {rule.code}: {_text(rule.title)}",
        "",
        f"*{rule.severity}* · {chapter} · [all codes](../{INDEX})",
        "",
        f"Message: {_code(message_of(rule))}",
        "",
        _wrapped(linked(_text(rule.explanation), "../{}".format)),
        "",
        "## How to fix it",
        "",
        _wrapped(_text(hint_of(rule))),
        *_examples(example_of(rule.code)),
    ]
    return "\n".join(lines) + "\n"


def _examples(example: Example | None) -> Iterator[str]:
    if example is None:
        return
    yield from ("", "## Example")
    if example.none:
        yield from ("", _wrapped(f"This page lacks an example. {example.none[0].upper()}{example.none[1:]}"))
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
    """Return a code span for a text with any backticks."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _text(text: str) -> str:
    """Return Markdown as it is, except that text outside of code can't pass for a tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def write(docs: Path) -> None:
    """Write all pages below a folder, and remove pages of codes that no longer exist."""
    texts = pages()
    (docs / "rules").mkdir(parents=True, exist_ok=True)
    for stale in {*(docs / "rules").glob("OLMC*.md")} - {docs / path for path in texts}:
        stale.unlink()
    for path, text in texts.items():
        (docs / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
