"""The Applications that an ApplicationSet makes, as far as what its generators read is plain data in the repository."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from olmc.lean import regex
from olmc.load.files import read_text
from olmc.model.diagnostics import Report
from olmc.model.objects import as_text, mapping, mappings, name_of, namespace_of, spec_of
from olmc.yaml import read

_FIELD = regex(r"\{\{-?\s*\.?([A-Za-z_][\w.\[\]/-]*)\s*-?\}\}")
_MOST = 1000

Parameters = Mapping[str, Any]


class _OpenError(Exception):
    """Something that only the tool, or the cluster, knows."""


def applications_of(applicationset: Mapping[str, Any], root: Path, files: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """The Applications of an ApplicationSet in the repository at `root`, whose files are `files`; () where any of its
    generators, or anything in its template, is not to be determined from the repository alone.

    Of templates only fields are filled in (`{{path.basename}}`, `{{ .cluster.name }}`), no functions.
    """
    spec = spec_of(applicationset)
    if spec.get("templatePatch"):
        return ()
    is_go = spec.get("goTemplate") is True
    made = []
    try:
        for generator in mappings(spec.get("generators")):
            for parameters in _generated(generator, root, files, is_go):
                template = _filled(spec.get("template"), parameters)
                metadata = {"namespace": namespace_of(applicationset), **mapping(mapping(template).get("metadata"))}
                body = mapping(template).get("spec")
                made.append({"kind": "Application", "metadata": metadata, "spec": body})
                if len(made) > _MOST:
                    return ()
    except _OpenError:
        return ()
    return tuple(application for application in made if name_of(application))


def _generated(generator: Mapping[str, Any], root: Path, files: Sequence[str], is_go: bool) -> Iterator[Parameters]:
    kinds = generator.keys() - {"selector"}
    if kinds == {"list"} and not generator.get("selector"):
        of_list = mapping(generator["list"])
        if of_list.get("elementsYaml") or of_list.get("template"):
            raise _OpenError
        yield from (_named(element, is_go) for element in mappings(of_list.get("elements")))
    elif kinds == {"git"} and not generator.get("selector"):
        yield from _of_git(mapping(generator["git"]), root, files, is_go)
    elif kinds == {"matrix"} and not generator.get("selector"):
        several = mappings(mapping(generator["matrix"]).get("generators"))
        if len(several) != 2 or "{{" in json.dumps(several, default=str):
            raise _OpenError
        for first in _generated(several[0], root, files, is_go):
            yield from ({**first, **second} for second in _generated(several[1], root, files, is_go))
    else:
        raise _OpenError


def _named(values: Mapping[str, Any], is_go: bool) -> Parameters:
    """Parameters as templates name them: nested for Go's, else by whole paths."""
    return values if is_go else dict(_flat(values, ""))


def _flat(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _of_git(git: Mapping[str, Any], root: Path, files: Sequence[str], is_go: bool) -> Iterator[Parameters]:
    """The parameters of folders, or of files with their content, that patterns name."""
    if git.get("pathParamPrefix") or git.get("template") or git.get("values"):
        raise _OpenError
    folders = sorted({above for path in files for above in _above(path)})
    wanted = mappings(git.get("directories"))
    kept = [as_text(entry.get("path")) for entry in wanted if entry.get("exclude") is not True]
    left_out = [as_text(entry.get("path")) for entry in wanted if entry.get("exclude") is True]
    for folder in folders:
        if _fits(folder, kept) and not _fits(folder, left_out):
            yield _path(folder, "", is_go)
    patterns = [as_text(entry.get("path")) for entry in mappings(git.get("files"))]
    for path in files:
        if _fits(path, patterns):
            report = Report()
            documents = read(path, read_text(root, path, report) or "", report)
            if report.failed or len(documents) != 1 or not isinstance(documents[0].value, dict):
                raise _OpenError
            folder, _, name = path.rpartition("/")
            yield {**_named(documents[0].value, is_go), **_path(folder, name, is_go)}


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern fits a path part by part; `**` stands for any number of them."""
    return any(_fit(path.split("/"), pattern.removeprefix("./").split("/")) for pattern in patterns if pattern)


def _fit(parts: Sequence[str], pattern: Iterable[str]) -> bool:
    reached = {0}
    for piece in pattern:
        if piece == "**":
            reached = set(range(min(reached, default=len(parts) + 1), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], piece)}
    return len(parts) in reached


def _path(folder: str, name: str, is_go: bool) -> Parameters:
    values: dict[str, Any] = {"path": folder, "basename": posixpath.basename(folder)}
    values |= {"filename": name} if name else {}
    if is_go:
        return {"path": values}
    segments = {f"path[{number}]": part for number, part in enumerate(folder.split("/"))}
    return {"path": folder, **{f"path.{key}": value for key, value in values.items() if key != "path"}, **segments}


def _filled(value: Any, parameters: Parameters) -> Any:
    """A template with its fields; raises _OpenError where there is more in it than fields that are known."""
    if isinstance(value, str):
        text = _FIELD.sub(lambda match: _field(match[1], parameters), value)
        if "{{" in _FIELD.sub("", value):
            raise _OpenError
        return text
    if isinstance(value, Mapping):
        return {key: _filled(inner, parameters) for key, inner in value.items()}
    return [_filled(inner, parameters) for inner in value] if isinstance(value, list) else value


def _field(name: str, parameters: Parameters) -> str:
    if name in parameters:
        return _text(parameters[name])
    value: Any = parameters
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise _OpenError
        value = value[part]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list) or value is None:
        raise _OpenError
    return value if isinstance(value, str) else json.dumps(value)
