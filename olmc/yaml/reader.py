"""Reading YAML as Kubernetes reads it, quickly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from olmc.lean import regex
from olmc.model.diagnostics import DecodeFailure, Report, Source
from olmc.yaml.document import MAX_DEPTH, Document
from olmc.yaml.events import BYTE_ORDER_MARK, PARSE_ERRORS, parse
from olmc.yaml.scalars import resolve

_BRACE_FIRST = regex(r"\s*\{")
_BRACKET_FIRST = regex(r"\s*[{\[]")


def read(path: str, text: str, report: Report, *, pure: bool = False) -> list[Document]:
    """The documents of a stream of YAML or JSON, with the values of go-yaml v2 and sigs.k8s.io/yaml.

    `path` is relative to the workspace and names the file in diagnostics. A file called `.json` and a text
    that begins with a brace are tried as JSON first; if it is both, nothing else will do. Empty documents have
    the value None; a stream of comments has no documents. Every finding goes to `report` (OLMC100-OLMC111);
    after one of severity ERROR the list is empty. `pure` asks for the slow reader in Python, which gives the
    same.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    if not looks_like_json(path, text):
        return _read_yaml(path, text, report, pure)
    from olmc.yaml.json_text import JSONSyntaxError, json_documents, read_json

    try:
        return json_documents(path, text, report)
    except JSONSyntaxError:
        pass
    # What begins with a brace and is no JSON can still be YAML: a mapping in braces.
    as_yaml = Report()
    documents = _read_yaml(path, text, as_yaml, pure)
    neither = any(isinstance(diagnostic.cause, DecodeFailure) for diagnostic in as_yaml.found)
    if path.endswith(".json") and (_BRACE_FIRST.match(text) or (neither and _BRACKET_FIRST.match(text))):
        return read_json(path, text, report)
    for diagnostic in as_yaml.found:
        report.add(diagnostic)
    return documents


def looks_like_json(path: str, text: str) -> bool:
    """Whether a text is to be tried as JSON first."""
    return path.endswith(".json") or _BRACE_FIRST.match(text) is not None


def _read_yaml(path: str, text: str, report: Report, pure: bool) -> list[Document]:
    try:
        values = parse(text, _construct_plainly, pure=pure)
    except PARSE_ERRORS as error:
        _add_syntax_error(path, text, error, report, pure)
        return []
    except _UnusualError:
        values = _construct_exactly(path, text, report, pure)
    return [Document(value, Source(path, text, number)) for number, value in enumerate(values)]


class _UnusualError(Exception):
    """The text holds something that the fast reader leaves to the exact one."""


# How a plain scalar begins that may be something else than a text; "<" stands for the merge key.
_AMBIGUOUS = frozenset(["", *"0123456789+-.~yYnNtTfFoO<"])


class _Plain(dict[str, Any]):
    """The values of plain scalars by text: keys and words repeat all the time, each is resolved once."""

    def __missing__(self, text: str) -> Any:
        value = text
        if text[:1] in _AMBIGUOUS:
            value = resolve(text)
            if text == "<<" or (type(value) is float and not math.isfinite(value)):
                raise _UnusualError
        self[text] = value
        return value


def _construct_plainly(stream: Iterable[Any]) -> list[Any]:
    """The values of the documents of a stream in which everything is as it mostly is.

    Raises _UnusualError for tags, aliases, merge keys, keys that are no texts or stand twice, infinities, and
    all that is refused or warned of. Reading spends its time in this loop, so it calls no functions of ours
    and asks the commonest question first. `mapping` is the mapping being filled, None in a list; `key` its
    key in waiting.
    """
    plain = _Plain()
    documents: list[Any] = []
    stack: list[tuple[dict[str, Any] | None, Any]] = []
    mapping: dict[str, Any] | None = None
    append = documents.append
    key = None
    new: Any
    for event in stream:
        kind = event.__class__
        if kind is ScalarEvent:
            if event.ctag is not None:
                raise _UnusualError
            value = event.value if event.style else plain[event.value]
            if mapping is None:
                append(value)
            elif key is not None:
                mapping[key] = value
                key = None
            elif value.__class__ is str and value not in mapping:
                key = value
            else:
                raise _UnusualError
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            mapping, append = stack.pop()
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.ctag is not None or len(stack) == MAX_DEPTH:
                raise _UnusualError
            stack.append((mapping, append))
            is_mapping = kind is MappingStartEvent
            new = {} if is_mapping else []
            if mapping is None:
                append(new)
            elif key is not None:
                mapping[key] = new
                key = None
            else:
                raise _UnusualError
            if is_mapping:
                mapping = new
            else:
                mapping = None
                append = new.append
        elif kind is AliasEvent or (kind is DocumentStartEvent and event.version not in (None, (1, 1))):
            raise _UnusualError
    return documents


def _construct_exactly(path: str, text: str, report: Report, pure: bool) -> list[Any]:
    from olmc.yaml.construct import (
        compose,
        construct,  # most runs meet no such file, and imports take their time
    )

    try:
        roots = parse(text, lambda events: compose(events, path, report), pure=pure)
    except PARSE_ERRORS as error:
        _add_syntax_error(path, text, error, report, pure)
        return []
    return (construct(roots, path, report) or []) if roots is not None else []


def _add_syntax_error(path: str, text: str, error: Exception, report: Report, pure: bool) -> None:
    from olmc.yaml.problems import syntax_error

    diagnostic = syntax_error(path, text, error, pure=pure)
    report.add(diagnostic.caused_by(DecodeFailure(diagnostic.message)))
