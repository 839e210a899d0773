"""The Applications that an ApplicationSet makes, as far as the repository has what its generators read as plain data.

Argo CD fills the parameters of each generator into the template of the set: as fields alone, or with `goTemplate` as Go
does it, of which olmc knows a few functions.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.load.files import fits_parts, read_text
from olmc.k8s.api.selectors import is_selector, matches
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import as_text, mapping, mappings, name_of, namespace_of, spec_of
from olmc.k8s.yaml import read

_FIELD = regex(r"\{\{-?\s*\.?([A-Za-z_][\w.\[\]/-]*)\s*-?\}\}")
FIELD = regex(r"\{\{-?\s*\.?([A-Za-z_][\w.\[\]/-]*)\s*-?\}\}")
"""A field of a template."""

_MOST = 20_000
_EFFORT = 2_000_000
_CHARACTERS, _FILE = 16, 50
"""The number of characters that cost as much as one value, and the number of values that a read file counts as."""

Parameters = Mapping[str, Any]


class _OpenError(Exception):
    """Something that only the tool, or the cluster, knows, or that would take too long to find out."""


class Effort:
    """The budget for all ApplicationSets of a repository. Generators multiply, and templates are filled in for each
    combination, so that a small file may cause unlimited work."""

    def __init__(self, most: int = _EFFORT) -> None:
        self.left = most

    def spend(self, count: int) -> None:
        """Count so many values, or names that are compared with a pattern."""
        self.left -= count
        if self.left < 0:
            raise _OpenError


def applications_of(
    applicationset: Mapping[str, Any], root: Path, files: Sequence[str], effort: Effort
) -> tuple[dict[str, Any], ...] | None:
    """Return the Applications of an ApplicationSet in the repository at `root`, whose files are `files`.

    It is None where a generator, or anything in the template, is not to be determined from the repository alone, or not
    with so much effort.
    """
    spec = spec_of(applicationset)
    if spec.get("templatePatch"):
        return None
    repository = _Repository(root, files, effort, spec.get("goTemplate") is True)
    made = []
    try:
        for generator in mappings(spec.get("generators")):
            for parameters in _generated(generator, repository):
                template = _filled(spec.get("template"), parameters, repository)
                metadata = {"namespace": namespace_of(applicationset), **mapping(mapping(template).get("metadata"))}
                body = mapping(template).get("spec")
                made.append({"kind": "Application", "metadata": metadata, "spec": body})
                if len(made) > _MOST:
                    return None
    except _OpenError:
        return None
    return tuple(application for application in made if name_of(application))


class _Repository(NamedTuple):
    """The input of generators, their budget, and whether templates are those of Go."""

    root: Path
    files: Sequence[str]
    effort: Effort
    is_go: bool = False


def _generated(generator: Mapping[str, Any], repository: _Repository) -> list[Parameters]:
    """The parameters that a generator makes, without those that its selector leaves out."""
    selector = generator.get("selector")
    found = _of_kind({kind: value for kind, value in generator.items() if kind != "selector"}, repository)
    if not selector:
        return found
    if not is_selector(selector):
        raise _OpenError
    repository.effort.spend(sum(map(len, found)))
    return [parameters for parameters in found if matches(selector, _labels(parameters))]


def _of_kind(generator: Mapping[str, Any], repository: _Repository) -> list[Parameters]:
    repository.effort.spend(1)
    kinds = generator.keys()
    if kinds == {"list"}:
        of_list = mapping(generator["list"])
        if of_list.get("elementsYaml") or of_list.get("template"):
            raise _OpenError
        return _within([_named(element, repository.is_go) for element in mappings(of_list.get("elements"))])
    if kinds == {"git"}:
        return _within(list(_of_git(mapping(generator["git"]), repository)))
    if kinds == {"matrix"}:
        return _of_matrix(mapping(generator["matrix"]), repository)
    raise _OpenError


def _of_matrix(matrix: Mapping[str, Any], repository: _Repository) -> list[Parameters]:
    """Each parameters of the first generator with each of the second one, which may have fields of the first."""
    several = mappings(matrix.get("generators"))
    if len(several) != 2 or matrix.get("template"):
        raise _OpenError
    first, second = several
    rows = _generated(first, repository)
    if "{{" in json.dumps(second, default=str):
        made: list[Parameters] = []
        for row in rows:
            filled = mapping(_filled(second, row, repository))
            made += [{**row, **column} for column in _generated(filled, repository)]
            _within(made)
        return made
    # A generator that does not depend on the other runs once: nested matrices multiply.
    columns = _generated(second, repository)
    if len(rows) * len(columns) > _MOST:
        raise _OpenError
    repository.effort.spend(len(columns) * sum(map(len, rows)) + len(rows) * sum(map(len, columns)))
    return [{**row, **column} for row in rows for column in columns]


def _labels(parameters: Parameters) -> dict[str, str]:
    """Parameters as the labels that a selector compares."""
    flat = flat_values(parameters, "")
    return {name: value if isinstance(value, str) else json.dumps(value, default=str) for name, value in flat}


def _within(parameters: list[Parameters]) -> list[Parameters]:
    if len(parameters) > _MOST:
        raise _OpenError
    return parameters


def _named(values: Mapping[str, Any], is_go: bool) -> Parameters:
    """Parameters as templates name them: nested for Go's, else by whole paths."""
    return values if is_go else dict(flat_values(values, ""))


def flat_values(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from flat_values(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _of_git(git: Mapping[str, Any], repository: _Repository) -> Iterator[Parameters]:
    """The parameters of folders, or of files with their content, that patterns name."""
    if git.get("pathParamPrefix") or git.get("template") or git.get("values"):
        raise _OpenError
    root, files, effort, is_go = repository
    wanted, unwanted = _patterns(git.get("directories"))
    effort.spend(len(files))
    folders = sorted({above for path in files for above in folders_above(path)}) if wanted else []
    effort.spend(len(folders) * (len(wanted) + len(unwanted)))
    for folder in folders:
        is_hidden = any(part.startswith(".") for part in folder.split("/"))
        if not is_hidden and _fits(folder, wanted) and not _fits(folder, unwanted):
            yield _path(folder, "", is_go)
    wanted, unwanted = _patterns(git.get("files"))
    effort.spend(len(files) * (len(wanted) + len(unwanted)))
    for path in files:
        if _fits(path, wanted) and not _fits(path, unwanted):
            report = Report()
            text = read_text(root, path, report) or ""
            effort.spend(_FILE + len(text) // _CHARACTERS)
            documents = read(path, text, report)
            if report.failed or len(documents) != 1 or not isinstance(documents[0].value, dict):
                raise _OpenError
            folder, _, name = path.rpartition("/")
            yield {**_named(documents[0].value, is_go), **_path(folder, name, is_go)}


def _patterns(entries: Any) -> tuple[list[str], list[str]]:
    """The patterns of a generator, and those that exclude."""
    found: tuple[list[str], list[str]] = ([], [])
    for entry in mappings(entries):
        found[entry.get("exclude") is True].append(as_text(entry.get("path")))
    return found


def folders_above(path: str) -> Iterator[str]:
    """The folders above a file, from its own one up to the one at the top."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _fits(path: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern fits a path part by part; `**` stands for any number of them."""
    parts = path.split("/")
    return any(fits_parts(parts, pattern.removeprefix("./").split("/")) for pattern in patterns if pattern)


def _path(folder: str, name: str, is_go: bool) -> Parameters:
    """The parameters of a folder, or of a file in it."""
    base = posixpath.basename(folder)
    values: dict[str, Any] = {"path": folder, "basename": base, "basenameNormalized": _normalized(base)}
    values |= {"filename": name, "filenameNormalized": _normalized(name)} if name else {}
    parts = folder.split("/")
    if is_go:
        return {"path": {**values, "segments": parts}}
    segments = {f"path[{number}]": part for number, part in enumerate(parts)}
    return {"path": folder, **{f"path.{key}": value for key, value in values.items() if key != "path"}, **segments}


_NO_NAME = regex(r"[^-a-z0-9.]")
_LONGEST_NAME = 253


def _normalized(text: str) -> str:
    """A text as the name of an object, as Argo CD makes it."""
    return _NO_NAME.sub("-", text.lower())[:_LONGEST_NAME].strip("-.")


# Templates.

_ACTION = regex(r"\{\{([^{}]*)\}\}")
_WORD = regex(r"""\s*(?:"([^"\\]*)"|`([^`]*)`|(\|)|([^\s|"`()]+))""")
_FUNCTIONS: Mapping[str, Callable[..., str]] = MappingProxyType({
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "toString": str,
    "normalize": _normalized,
    "replace": lambda old, new, text: text.replace(old, new),
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "default": lambda other, text: text or other,
})  # fmt: skip
"""Functions of Go's templates with which people write names and paths, each with the text that it changes last."""


def _filled(value: Any, parameters: Parameters, repository: _Repository) -> Any:
    """A template with its fields; raises _OpenError where there is more in it than olmc knows."""
    effort = repository.effort
    effort.spend(1)
    if isinstance(value, str):
        effort.spend(len(value) // _CHARACTERS)
        pattern, fill = (_ACTION, _evaluated) if repository.is_go else (FIELD, _field)
        text = pattern.sub(lambda match: _spent(fill(match[1], parameters), effort), value)
        if "{{" in pattern.sub("", value):
            raise _OpenError
        return text
    if isinstance(value, Mapping):
        return {key: _filled(inner, parameters, repository) for key, inner in value.items()}
    return [_filled(inner, parameters, repository) for inner in value] if isinstance(value, list) else value


def _spent(text: str, effort: Effort) -> str:
    effort.spend(_FILE + len(text) // _CHARACTERS)
    return text


def _field(name: str, parameters: Parameters) -> str:
    return _text(_value(name, parameters))


def _value(name: str, parameters: Parameters) -> Any:
    value: Any = parameters
    for part in (name,) if name in parameters else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise _OpenError
        value = value[part]
    return value


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list) or value is None:
        raise _OpenError
    return value if isinstance(value, str) else json.dumps(value)


def _evaluated(action: str, parameters: Parameters) -> str:
    """The text of an action of Go's templates: fields, an element of a list, and functions one after another."""
    calls: list[list[Any]] = [[]]
    action, at = action.removeprefix("-").removesuffix("-").strip(), 0
    while at < len(action):
        found = _WORD.match(action, at)
        if found is None:
            raise _OpenError
        at = found.end()
        quoted, raw, bar, name = found.groups()
        if bar:
            calls.append([])
        elif name is not None and name.startswith("."):
            calls[-1].append(_value(name.removeprefix("."), parameters))
        else:
            # A name by itself is a function or a number, and a text in quotes is never one.
            calls[-1].append(_Name(name) if name is not None else quoted if quoted is not None else raw)
    value: Any = None
    for number, words in enumerate(calls):
        value = _called([*words, value] if number else words)
    return _text(value)


class _Name(str):
    """A word of a template that is neither a field nor in quotes."""

    __slots__ = ()


def _called(words: Sequence[Any]) -> Any:
    """Return the value of a field, or of a function with its arguments."""
    first, *rest = words or [None]
    if not isinstance(first, _Name):
        if rest or first is None:
            raise _OpenError
        return first
    if first == "index" and len(rest) == 2 and isinstance(rest[0], list) and str(rest[1]).isdecimal():
        number = int(rest[1])
        if number < len(rest[0]):
            return rest[0][number]
    function = _FUNCTIONS.get(first)
    if function is None or any(isinstance(word, _Name) for word in rest):
        raise _OpenError
    try:
        return function(*map(_text, rest))
    except TypeError as error:  # with fewer or more arguments than it takes
        raise _OpenError from error


# The variables that Argo CD knows of an Application when it renders its chart.

_VARIABLE = regex(r"\$(?:\{([^{}]*)\}|([A-Za-z0-9_]+|[*#$@!?-]))")
_OF_CLUSTER = frozenset(
    "ARGOCD_APP_REVISION ARGOCD_APP_REVISION_SHORT ARGOCD_APP_REVISION_SHORT_8 KUBE_VERSION KUBE_API_VERSIONS".split()
)


class BuildEnvironment(NamedTuple):
    """The variables that Argo CD fills into values and names of files of a chart.

    Permalink: https://argo-cd.readthedocs.io/en/stable/user-guide/build-environment/
    """

    values: Mapping[str, str]

    def filled(self, text: str) -> str:
        """Fill variables in as Go's os.Expand does: one without a value is empty, `$$` is `$`."""
        return _VARIABLE.sub(lambda m: "$" if m[0] == "$$" else self.values.get(m[1] or m[2] or "", ""), text)


def needs_cluster(text: str) -> bool:
    """Tell whether a text has a variable whose value the repository does not show."""
    return any((match[1] or match[2]) in _OF_CLUSTER for match in _VARIABLE.finditer(text))


def build_environment(application: Mapping[str, Any], source: Mapping[str, Any]) -> BuildEnvironment:
    """Return the variables for one source of an Application."""
    spec = spec_of(application)
    return BuildEnvironment({
        "ARGOCD_APP_NAME": name_of(application),
        "ARGOCD_APP_NAMESPACE": as_text(mapping(spec.get("destination")).get("namespace")),
        "ARGOCD_APP_PROJECT_NAME": as_text(spec.get("project")),
        "ARGOCD_APP_SOURCE_PATH": as_text(source.get("path")),
        "ARGOCD_APP_SOURCE_REPO_URL": as_text(source.get("repoURL")),
        "ARGOCD_APP_SOURCE_TARGET_REVISION": as_text(source.get("targetRevision")),
    })  # fmt: skip
