"""Reading YAML as Kubernetes reads it, quickly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from olmc.k8s.diagnostics import DecodeFailure, Report, Source
from olmc.k8s.lean import regex
from olmc.k8s.yaml.document import BYTE_ORDER_MARK, Document, exceeds_limits
from olmc.k8s.yaml.lines import Lines, UnusualError, read_lines

Documents = Mapping[tuple[str, str], list[Document]]
"""The content of files, by path and text."""
Reader = Callable[[str, str, Report], list[Document]]

_BRACKET_FIRST = regex(r"\s*[{\[]")


def c_reader_active() -> bool:
    """Return whether the C reader is installed; without it, what is not read by lines is read 20 to 50 times slower."""
    return find_spec("_ruamel_yaml") is not None


def read(path: str, text: str, report: Report, *, pure: bool = False, lines: Lines | None = None) -> list[Document]:
    """The documents of a stream of YAML or JSON, with the values of go-yaml v2 and sigs.k8s.io/yaml.

    `path` is relative to the workspace and names the file in diagnostics. A file called `.json` and a text
    that begins with a brace are tried as JSON first; if it is both, nothing else will do. Empty documents have
    the value None; a stream of comments has no documents. Every finding goes to `report` (OLMC100-OLMC112);
    after one of severity ERROR the list is empty. `pure` asks for the slow reader in Python, which gives the
    same. `lines` are those of files like this one, which the reader knows already.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    is_json = looks_like_json(path, text)
    if exceeds_limits(path, text, report, is_json=is_json):
        return []
    if not is_json:
        return _read_yaml(path, text, report, pure, lines)
    from olmc.k8s.yaml.construct import JSONSyntaxError, json_documents, read_json

    try:
        return json_documents(path, text, report)
    except JSONSyntaxError:
        pass
    # What begins with a brace and is no JSON can still be YAML: a mapping in braces.
    as_yaml = Report()
    documents = _read_yaml(path, text, as_yaml, pure, lines)
    neither = any(isinstance(diagnostic.cause, DecodeFailure) for diagnostic in as_yaml.found)
    if path.endswith(".json") and (_begins_with_brace(text) or (neither and _BRACKET_FIRST.match(text))):
        return read_json(path, text, report)
    for diagnostic in as_yaml.found:
        report.add(diagnostic)
    return documents


def reader_of(known: Documents, documents: dict[tuple[str, str], list[Document]]) -> Reader:
    """`read`, but for files that are among `known`, with the same path and text: they are not read again.

    What there is nothing to say about goes into `documents`, which is what another reader may know. Versions of a
    bundle have most lines, and often whole files, in common: the reader takes each of them apart once.
    """
    lines = Lines()
    same: dict[str, list[Document]] = {}

    def read_unknown(path: str, text: str, report: Report) -> list[Document]:
        given = known.get((path, text))
        if given:
            documents[path, text] = given
            return given
        findings = Report()
        given = _moved(same.get(text), path) or read(path, text, findings, lines=lines)
        lines.drop_surplus()
        report.found.extend(findings.found)
        if not findings.found:
            documents[path, text] = given
            if not looks_like_json(path, text):
                same[text] = given
        return given

    return read_unknown


def _moved(documents: list[Document] | None, path: str) -> list[Document] | None:
    """The documents of a file of YAML as those of another one with the same text."""
    if documents is None or path.endswith(".json"):
        return None
    return [document._replace(source=document.source._replace(path=path)) for document in documents]


def looks_like_json(path: str, text: str) -> bool:
    """Return whether a text is to be tried as JSON first."""
    return path.endswith(".json") or _begins_with_brace(text)


def _begins_with_brace(text: str) -> bool:
    # kubectl and opm look no farther: https://github.com/kubernetes/apimachinery/blob/v0.34.0/pkg/util/yaml/decoder.go
    return text[:_LOOKS_AT].lstrip()[:1] == "{"


_LOOKS_AT = 4096


def _read_yaml(path: str, text: str, report: Report, pure: bool, lines: Lines | None = None) -> list[Document]:
    values = _yaml_values(path, text, report, pure, lines)
    return [Document(value, Source(path, text, number)) for number, value in enumerate(values)]


def _yaml_values(path: str, text: str, report: Report, pure: bool, lines: Lines | None) -> list[Any]:
    if not pure:
        try:
            return read_lines(text, lines)
        except UnusualError:
            pass
    from olmc.k8s.yaml.event_values import agreed_values  # with the parser, which hardly any file needs

    return agreed_values(path, text, report, pure=pure)
