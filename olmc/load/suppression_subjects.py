"""What comments that suppress findings speak of: a comment that moves to another object, or to another field of it,
accepts something else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.lean import module
from olmc.load.files import read_text
from olmc.load.suppressions import Suppression
from olmc.model.diagnostics import Report
from olmc.yaml import Document, read
from olmc.yaml.document import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from olmc.yaml.construct import Node

# With the parser, which runs without such comments do without.
construct, places = module("olmc.yaml.construct"), module("olmc.yaml.places")

_NAMES = ("schema", "package", "kind", "name", "key")
"""What an item of a list, or a document, is known by, wherever it stands among its neighbours."""


def with_subjects(root: Path, suppressions: Iterable[Suppression]) -> Iterator[Suppression]:
    """The suppressions of the workspace at `root`, those of comments with what they speak of: the keys that lead to
    what is in their line, with items of lists by their names."""
    subjects = cache(partial(_subjects, root))
    for suppression in suppressions:
        about = subjects(suppression.place.path).get(suppression.line, "") if suppression.line else ""
        yield suppression._replace(about=about)


def _subjects(root: Path, path: str) -> Mapping[int, str]:
    """What each line of a file speaks of, so that neither a line elsewhere nor another value makes another comment of
    one. Where no field begins, or the file can't be read, it is the key, and the number of lines with it so far."""
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
    """What a document or an item is known by, "" for nothing."""
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
