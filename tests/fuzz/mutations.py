"""Inputs changed at random: documents in their structure, everything else in its bytes.

An input is a text, or a command line with a tree of files, written as one text:

    $ olmc check w
    -- w/olmc.yaml --
    apiVersion: olmc.dev/v1alpha1
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml
from known_fields import add_known_field

Mutate = Callable[[bytes, random.Random], bytes]

_FILE = re.compile(rb"^-- ([^\n]+) --\n", re.MULTILINE)
_LARGEST = 60_000
# How often a document gets a field that belongs there instead of having one changed.
_KNOWN = 0.4
SCALARS: Sequence[Any] = (
    None, True, False, 0, -1, 2**31, 2**63, 2**64, 10**30, 1e308, 5e-324, 0.1, "", "~", "a", "null", "true", "0x1f",
    "1e9", "1.2.3", "1.2.3-rc.1+b", ">=1.0.0 <2.0.0", "*", "a" * 64, "a" * 254, "A", "-a", "a.b/c", "..", "../../etc",
    "/etc/passwd", "\n", "x\n::error::y", "\x1b[2J", "\u202e", "\x00", "\ud800", "\ufeff", "é", "\U0001f600", "$(X)",
    "${X}", "{{ . }}", "{{", "<script>", "%s", "\\", "'", '"', "2001-01-01", "12:34:56", "v1", "v1alpha1", "apps/v1",
    "example.com/a@sha256:" + "0" * 64, "http://127.0.0.1:1/", "git:HEAD", "-", "--help", "olm.bundle", "olm.package",
    "olm.gvk", "olm.constraint", "olm.csv.metadata", "AllNamespaces", "ClusterServiceVersion", "Subscription",
    "OperatorGroup", "CustomResourceDefinition", "List", "Secret", "Namespace", "CatalogSource", "InstallPlan",
)  # fmt: skip
_BYTES: Sequence[bytes] = (
    b"\n---\n", b"...\n", b"&a ", b"*a", b"<<: *a\n", b"!!binary ", b"!!int ", b"? ", b": ", b"- ", b"|2\n", b">-\n",
    b"%YAML 1.2\n---\n", b"{", b"}", b"[", b"]", b"\t", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\x85",
    b"\r", b"\\u0000", b"\\ud83d", b'"', b"'", b"#", b"|", b"||", b" - ", b">", b"<", b"=", b"!", b"x", b".", b"*",
    b"1e999", b"99999999999999999999", b"(", b")", b"&&", b"matches('(a*)*b')", b".map(x, x)", b"\x1f\x8b", b"../",
)  # fmt: skip
_NAMES = (
    "x.yaml",
    "x.json",
    ".olmcignore",
    ".gitignore",
    ".indexignore",
    "Chart.yaml",
    "olmc.lock",
    "kustomization.yaml",
)


class Archive(NamedTuple):
    """A command line and files by their path."""

    command: bytes
    files: Mapping[str, bytes]


def unpack(data: bytes) -> Archive:
    """The command and the files of an input; whatever stands before the first file is the command."""
    head, *parts = _FILE.split(data)
    names = (name.decode("utf-8", "replace") for name in parts[::2])
    return Archive(head.strip(), dict(zip(names, parts[1::2], strict=True)))


def pack(archive: Archive) -> bytes:
    """The input of a command and files."""
    files = (b"-- %s --\n%s\n" % (name.encode(), data.rstrip(b"\n")) for name, data in archive.files.items())
    return b"".join([archive.command, b"\n", *files])


def mutated_archive(data: bytes, rng: random.Random, commands: Sequence[str] = ()) -> bytes:
    """An input with another command, or one to three of its files changed, exchanged, renamed or gone."""
    command, files = unpack(data)[0], dict(unpack(data)[1])
    if commands and (not command or rng.random() < 0.3):
        command = rng.choice(commands).encode()
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not files:
            break
        name, act = rng.choice(sorted(files)), rng.random()
        if act < 0.03:
            del files[name]
        elif act < 0.06:
            files[name] = rng.choice(list(files.values()))
        elif act < 0.09:
            folder = name.rpartition("/")[0]
            files[
                f"{folder}/{rng.choice(('x.yaml', '.olmcignore', '.indexignore', 'x.json', 'Chart.yaml', 'olmc.lock'))}"
            ] = files.pop(name)
        else:
            others = [document for path in rng.sample(sorted(files), 1) for document in _documents(files[path])]
            files[name] = mutated_document(files[name], rng, others)
    return pack(Archive(command, files))[: 4 * _LARGEST]


def _documents(data: bytes) -> list[Any]:
    try:
        return list(yaml.load_all(data, yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, OverflowError, TypeError):
        return []


def mutated_document(data: bytes, rng: random.Random, others: Sequence[Any] = ()) -> bytes:
    """A stream of YAML or JSON with a few of its nodes changed, or its bytes: at times, and where it can't be read."""
    documents = _documents(data) if rng.random() < 0.8 else []
    if not documents or len(data) > _LARGEST:
        return mutated_bytes(data, rng)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        if rng.random() < _KNOWN:
            add_known_field(documents, rng)
        else:
            _mutate_node(documents, rng, others)
    try:
        if rng.random() < 0.5:
            text = yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False)
            return text.encode("utf-8", "surrogatepass")[: 4 * _LARGEST]
        dumped = b"\n---\n".join(json.dumps(document, indent=1, default=str).encode() for document in documents)
        return dumped[: 4 * _LARGEST]
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, UnicodeEncodeError, MemoryError):
        # MemoryError: what was put fifty times into what stood there fifty times, in JSON, which has no aliases.
        return mutated_bytes(data, rng)


def _mutate_node(documents: list[Any], rng: random.Random, others: Sequence[Any]) -> None:
    """Change one node in place, the deeper the more often."""
    parent, key = _place(documents, rng)
    if parent is None:
        documents.append(rng.choice(SCALARS))
        return
    value = parent[key]
    match rng.randrange(9):
        case 0 | 1:
            parent[key] = rng.choice(SCALARS)
        case 2:
            del parent[key]
        case 3:
            above, below = _place([*others, *documents], rng)
            parent[key] = above[below] if above is not None else []
            if _holds(parent[key], parent, 40):
                parent[key] = None
        case 4 if isinstance(parent, list):
            parent.extend([value] * rng.choice((1, 2, 50)))
        case 4:
            parent[str(rng.choice(SCALARS))] = value
        case 5:
            for _ in range(rng.choice((1, 1, 3, 30, 150))):
                value = [value] if rng.random() < 0.5 else {str(key): value}
            parent[key] = value
        case 6 if isinstance(value, str):
            parent[key] = mutated_bytes(value.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
        case 6 if isinstance(value, (int, float)):
            parent[key] = rng.choice((-value, value * 10**9, 0.5, str(value)))
        case 7 if isinstance(parent, dict):
            del parent[key]
            parent[mutated_bytes(str(key).encode("utf-8", "replace"), rng).decode("utf-8", "replace")] = value
        case _:
            parent[key] = rng.choice(([], {}, [None], [{}], {"": None}, [[]], {"a": [1]}, "", 7))


def _place(documents: Sequence[Any], rng: random.Random) -> tuple[Any, Any]:
    """A random node, as its parent and its key there; (None, None) if there is none."""
    parent, key, here = None, None, documents
    while True:
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        if not keys or (parent is not None and rng.random() < 0.1):
            return parent, key
        parent, key = here, rng.choice(keys)
        here = parent[key]


def _holds(value: Any, wanted: Any, depth: int) -> bool:
    """Whether a node is in another one, which would be a circle then; what is too deep counts as well."""
    if value is wanted or depth == 0:
        return True
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds(one, wanted, depth - 1) for one in below)


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with some parts removed, doubled, moved, exchanged, or put in from a list of what is special to parsers."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(len(changed) + 1)
        end = min(len(changed), start + rng.choice((1, 1, 4, 16, 200)))
        match rng.randrange(6):
            case 0:
                del changed[start:end]
            case 1:
                changed[start:start] = changed[start:end] * rng.choice((1, 1, 2, 100))
            case 2 | 3:
                changed[start:start] = rng.choice(_BYTES) * rng.choice((1, 1, 1, 300))
            case 4 if start < len(changed):
                changed[start] ^= 1 << rng.randrange(8)
            case _:
                piece, target = bytes(changed[start:end]), rng.randrange(len(changed) + 1)
                changed[target : target + len(piece)] = piece
    return bytes(changed[:_LARGEST])
