"""Reading YAML by the events of the parser: all of it, exactly as Kubernetes does."""

from __future__ import annotations

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

from olmc.k8s.diagnostics import DecodeFailure, Report
from olmc.k8s.yaml.construct import compose, construct
from olmc.k8s.yaml.document import MAX_DEPTH
from olmc.k8s.yaml.lines import PlainValues, UnusualError
from olmc.k8s.yaml.problems import PARSE_ERRORS, add_disagreement, parse, syntax_error


def agreed_values(path: str, text: str, report: Report, *, pure: bool = False) -> list[Any]:
    """Return the values of a stream in whose documents all readers agree; report another one, which has no values."""
    if add_disagreement(path, text, report, pure=pure):
        return []
    # Kubernetes' reader ends each line with a line feed alone, the last line too.
    text = text.replace("\r\n", "\n") if "\r\r\n" in text else text
    text = text if text.endswith("\n") else f"{text}\n"
    return event_values(path, text, report, pure=pure)


def plain_values(text: str) -> list[Any] | None:
    """Return the values of a stream as `construct_plainly`, None for a text that is no YAML. Raises UnusualError."""
    try:
        return parse(text, construct_plainly)
    except PARSE_ERRORS:
        return None


def event_values(path: str, text: str, report: Report, *, pure: bool = False) -> list[Any]:
    """The values of the documents of a stream of YAML; see `olmc.k8s.yaml.read`."""
    try:
        return parse(text, construct_plainly, pure=pure)
    except PARSE_ERRORS as error:
        _add_syntax_error(path, text, error, report, pure)
        return []
    except UnusualError:
        return _construct_exactly(path, text, report, pure)


def construct_plainly(stream: Iterable[Any]) -> list[Any]:
    """The values of the documents of a stream in which everything is as it mostly is.

    Raises UnusualError for tags, aliases, merge keys, keys that are no texts or stand twice, infinities, and
    all that is refused or warned of. Reading spends its time in this loop, so it calls no functions of ours
    and asks the commonest question first. `mapping` is the mapping being filled, None in a list; `key` its
    key in waiting.
    """
    plain = PlainValues()
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
                raise UnusualError
            value = event.value if event.style else plain[event.value]
            if mapping is None:
                append(value)
            elif key is not None:
                mapping[key] = value
                key = None
            elif value.__class__ is str and value not in mapping:
                key = value
            else:
                raise UnusualError
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            mapping, append = stack.pop()
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            if event.ctag is not None or len(stack) == MAX_DEPTH:
                raise UnusualError
            stack.append((mapping, append))
            is_mapping = kind is MappingStartEvent
            new = {} if is_mapping else []
            if mapping is None:
                append(new)
            elif key is not None:
                mapping[key] = new
                key = None
            else:
                raise UnusualError
            if is_mapping:
                mapping = new
            else:
                mapping = None
                append = new.append
        elif kind is AliasEvent or (kind is DocumentStartEvent and event.version not in (None, (1, 1))):
            raise UnusualError
    return documents


def _construct_exactly(path: str, text: str, report: Report, pure: bool) -> list[Any]:
    try:
        roots = parse(text, lambda events: compose(events, path, report), pure=pure)
    except PARSE_ERRORS as error:
        _add_syntax_error(path, text, error, report, pure)
        return []
    return (construct(roots, path, report) or []) if roots is not None else []


def _add_syntax_error(path: str, text: str, error: Exception, report: Report, pure: bool) -> None:
    diagnostic = syntax_error(path, text, error, pure=pure)
    report.add(diagnostic.caused_by(DecodeFailure(diagnostic.message)))
