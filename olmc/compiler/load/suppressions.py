"""Suppressions: findings that somebody has looked at and accepts, in comments of YAML files and in olmc.yaml.

`# olmc: ignore[OLMC401] reason`, on the line of the finding or above it, accepts the findings of these codes there. An
entry of `spec.suppress` accepts those of its code in the files that its pattern matches, or anywhere. An error is never
suppressed: what it stops is not compiled at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.files import has_file, read_text, spec_of
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity
from olmc.k8s.lean import NamedTuple, module, regex
from olmc.k8s.yaml import Document, read
from olmc.k8s.yaml.document import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from olmc.k8s.yaml.construct import Node

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
    """The remaining diagnostics, the suppressed ones, and the suppressions that suppress any."""

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
        # A comment on a line of its own applies to the next content, past other comments and `---`.
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
    """Return whether a pattern as in .gitignore speaks of a file; it can't speak of no file at all."""
    if not pattern:
        return True
    if not path:
        return False
    return spec_of([pattern])(path)


# The subjects of comments that suppress findings: a comment that moves to another object, or to another field of it,
# accepts another finding.

# With the parser, which runs without such comments do without.
construct, places = module("olmc.k8s.yaml.construct"), module("olmc.k8s.yaml.places")

_NAMES = ("schema", "package", "kind", "name", "key")
"""The keys that name an item of a list, or a document, at any place among its neighbours."""


def with_subjects(root: Path, suppressions: Iterable[Suppression]) -> Iterator[Suppression]:
    """The suppressions of the workspace at `root`, those of comments with what they speak of: the keys that lead to
    what is in their line, with items of lists by their names."""
    subjects = cache(partial(_subjects, root))
    for suppression in suppressions:
        about = subjects(suppression.place.path).get(suppression.line, "") if suppression.line else ""
        yield suppression._replace(about=about)


def _subjects(root: Path, path: str) -> Mapping[int, str]:
    """Return the subject of each line of a file, so that a change elsewhere, or another value, does not change the
    subject of a comment. Where no field begins, or the file can't be read, it is the key, and the number of lines with
    it so far."""
    text = read_text(root, path, Report()) or ""
    found: dict[int, str] = {}
    keys = Counter[str]()
    for number, content in enumerate(text.split("\n"), 1):
        key = content.partition(" #")[0].partition(":")[0].strip()
        keys[key] += 1
        found[number] = f"{key} {keys[key]}"
    fields = defaultdict(list)
    for line, field in _fields(read(path, text, Report())):
        fields[line].append(field)
    return {**found, **{line: " ".join(named) for line, named in fields.items()}}


def _fields(documents: Iterable[Document]) -> Iterator[tuple[int, str]]:
    """The lines in which keys and items begin, with a digest of what leads to them: keys may be long, and deep."""
    of_document = Counter[str]()
    for document in documents:
        source = document.source
        root, before = places.root_node(source.path, source.text.removeprefix(BYTE_ORDER_MARK), source.document)
        if root is None:
            continue
        stack: list[tuple[Node, str]] = [(root, _below("", _numbered(_name(root), of_document)))]
        while stack:
            node, path = stack.pop()
            for begin, value, name in _children(node):
                below = _below(path, name)
                yield begin.line + before, below
                stack.append((value, below))


def _children(node: Node) -> Iterator[tuple[Node, Node, str]]:
    """The entries of a mapping or the items of a list: where each begins, its value, and what it is known by."""
    if node.kind is construct.NodeKind.MAPPING:
        yield from ((key, value, f".{places.key_of(places.target_of(key))}") for key, value in node.pairs())
    elif node.kind is construct.NodeKind.SEQUENCE:
        known = Counter[str]()
        yield from ((item, item, _numbered(_name(item), known)) for item in node.children)


def _name(node: Node) -> str:
    """Return the name of a document or an item, "" for none."""
    if node.kind is not construct.NodeKind.MAPPING:
        return node.text
    values = {key.text: value for key, value in node.pairs()}
    names = [values[name].text for name in _NAMES if name in values]
    metadata = values.get("metadata")
    inner: dict[str, str] = {}
    if metadata is not None and metadata.kind is construct.NodeKind.MAPPING:
        inner = {key.text: value.text for key, value in metadata.pairs()}
    return "/".join((*names, inner.get("namespace", ""), inner.get("name", "")))


def _numbered(name: str, known: Counter[str]) -> str:
    known[name] += 1
    return f"[{name} {known[name]}]"


def _below(path: str, name: str) -> str:
    return blake2b(f"{path}{name}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
