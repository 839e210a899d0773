"""Check that pages and docstrings are plain English: `python docs/words.py`, a step of `make lint`; `-v` lists all.

The style guide in CONTRIBUTING.md has the rules. This script counts the rules that can be counted: phrases that a
native technical writer would avoid, per 1,000 words of prose, and the length of sentences in guides. Code blocks,
inline code, tables and addresses of links do not count. Of a module in Python only docstrings and comments count.
Phrases may stay where they are right, so a group has a limit above zero; a long sentence is a finding by itself.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
LONGEST = 25  # words of a sentence in a guide
AVERAGE = 20  # words of the sentences of a guide

_SPEAKERS = "file page line rule id field name folder option object test label group catalog bundle".split()
_SPEAKING = "says? tells? said told speaks? knows? knew asks? wants? believes?".split()

# Each kind of phrase, its pattern, and whether case matters.
PHRASES = {
    "a clause with what as subject or object": re.compile(
        r"(?:^|[.:;(] )What (?!(?:is|are|does|do|did|will|would|can|should|to|if|happens|changed)\b)[a-z]"
        r"|\b(?:is|are|by|of|for|with|from|on|in|to|than|and|or|as|says?|tells?|knows?) what\b"
        r"|(?:^|[.:;(] )What (?:is|are|does|do|will|would|can|should) [^?]*\.(?:\s|$)"
    ),
    "negation by a pronoun": re.compile(
        r"\b(?:nobody|no one|nothing|none|nowhere|whoever|whatever|whichever|whomever|wherever)\b", re.IGNORECASE
    ),
    "negation by a noun": re.compile(
        r"\b(?:is|are|was|were|has|have|had) no [a-z]+(?:[.,;:)]|$)|\bthat there (?:is|are) not\b"
    ),
    "things that speak": re.compile(
        rf"\b(?:(?:{'|'.join(_SPEAKERS)})s?|it|they|which|that) (?:{'|'.join(_SPEAKING)})\b", re.IGNORECASE
    ),
    "an archaic or foreign turn": re.compile(
        r"\b(?:anew|for ever|mend(?:s|ed|ing)?|grav(?:er|est|ity)|besides|beside each other|hitherto|thereby|therein"
        r"|whence|wherein|lest|(?:is|are|be|was|were) told|as ever|at all events|held against"
        r"|stands? (?:in|for|beside|above|below)"
        r"|holds? for|comes? about|comes? to rest|lies? in the way|be had|is gone|are gone|remarks?)\b"
    ),
    "inversion": re.compile(
        r"(?:^|[.:;] )(?:Of|Beside|Behind|Only|Not|Neither|Nor) [^.,]{3,60}"
        r" (?:is|are|has|have|does|do|comes?|goes?|stands?) (?:the|a|an|it|they|olmc|OLM)\b"
    ),
}


class Group(NamedTuple):
    """Pages or modules with the same limits."""

    name: str
    patterns: tuple[str, ...]
    limit: float  # phrases per 1,000 words
    guides: bool = False  # the length of sentences counts, too


class Sentence(NamedTuple):
    line: int
    text: str

    @property
    def words(self) -> int:
        return len(re.findall(r"[A-Za-z0-9'’.-]*[A-Za-z][A-Za-z0-9'’.-]*", self.text))


GROUPS = (
    Group("README and docs", ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md"), 1.0, guides=True),
    Group("the rule book", ("docs/spec/*.md",), 1.0),
    Group("pages of codes", ("docs/rules.md", "docs/rules/*.md"), 1.5),
    Group("the changelog", ("CHANGELOG.md",), 1.5),
    # Lower this limit with each rewrite.
    Group("docstrings and comments", ("olmc/**/*.py",), 15.0),
)
GENERATED = frozenset({"docs/rules.md", "docs/statements.md", "docs/olm-versions.md"})


def prose_of(module: str) -> str:
    """Return the docstrings and comments of a module at their lines; other lines are empty. `None` becomes a name."""
    lines = [""] * (module.count("\n") + 1)
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number, line in enumerate(node.value.value.split("\n"), node.lineno - 1):
                lines[number] = line.strip()
    for token in tokenize.generate_tokens(io.StringIO(module).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = token.string.lstrip("# ")
    return re.sub(r"\bNone\b", "X", "\n".join(lines))


def paragraphs(text: str) -> Iterator[list[Sentence]]:
    """The lines of prose, paragraph by paragraph: list items and headings are paragraphs of their own."""
    fenced, block = False, list[Sentence]()
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*(?:```|~~~)", line) is not None
        fenced ^= fence
        skipped = fence or fenced or re.match(r"    |\t|[|<]|---|===|!!!|\[[^\]]+\]: ", line) is not None
        starts = not line.strip() or re.match(r"\s*(?:[-*>]|\d+\.|#+) ", line)
        if (skipped or starts) and block:
            yield block
            block = []
        if not skipped and line.strip():
            block.append(Sentence(number, re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", line))))
    if block:
        yield block


def sentences(block: list[Sentence]) -> Iterator[Sentence]:
    """The sentences of a paragraph, each with the line of the paragraph; clauses count by themselves, headings not."""
    if not block[0].text.startswith("#"):
        joined = " ".join(line.text.strip() for line in block)
        for part in re.split(r"(?<=[.!?])[)*_\"]*\s+(?=[\"(*_]*(?:[A-Z0-9]|olmc\b))|[:;]\s", joined):
            yield Sentence(block[0].line, part)


def check(group: Group, verbose: bool) -> list[str]:
    """The findings of a group: a rate above its limit, and sentences of guides that are too long."""
    words, places, found = 0, list[str](), list[str]()
    for path in sorted({path for pattern in group.patterns for path in PROJECT.glob(pattern)}):
        name = path.relative_to(PROJECT).as_posix()
        if group.guides and name in GENERATED:
            continue
        lengths = list[Sentence]()
        text = path.read_text(encoding="utf-8")
        for block in paragraphs(prose_of(text) if path.suffix == ".py" else text):
            for line in block:
                words += len(re.findall(r"[A-Za-z']+", line.text))
                places += (
                    f"{name}:{line.line}: {kind}: {hit[0].strip()}"
                    for kind, pattern in PHRASES.items()
                    for hit in pattern.finditer(line.text)
                )
            lengths += (each for each in sentences(block) if each.words)
        long = [each for each in lengths if each.words > LONGEST] if group.guides else []
        found += (f"{name}:{each.line}: a sentence of {each.words} words: {each.text[:60]}…" for each in long)
        if group.guides and lengths and (mean := sum(each.words for each in lengths) / len(lengths)) > AVERAGE:
            found.append(f"{name}: {mean:.1f} words per sentence; the limit is {AVERAGE}")
    rate = len(places) * 1000 / max(1, words)
    if rate > group.limit:
        found += [*places, f"{group.name}: {rate:.1f} phrases per 1,000 words; the limit is {group.limit}"]
    elif verbose:
        found += places
    print(f"{group.name}: {rate:.1f} phrases per 1,000 of {words} words")
    return found


def main() -> int:
    """Print the findings of all groups; exit 1 if there are any that a limit does not allow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="list every place, also below the limits")
    verbose = parser.parse_args().verbose
    found = [line for group in GROUPS for line in check(group, verbose)]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found) and not verbose)


if __name__ == "__main__":
    sys.exit(main())
