"""File-based catalogs: streams of YAML or JSON documents in files of any name that `.indexignore` does not name
(R-CAT-120 … R-CAT-124)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olmc.catalogs.blobs import Blobs
from olmc.catalogs.catalog_errors import report_errors, unavailable
from olmc.catalogs.conversion import packages_of
from olmc.catalogs.model_checks import check_model
from olmc.lean import NamedTuple, regex
from olmc.model.catalog import Catalog
from olmc.model.diagnostics import Cause, Location, Report, Severity
from olmc.yaml import Document, read

FILE_NAME = ".indexignore"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern: what it matches, as paths relative to the catalog, and whether it takes files back in."""

    pattern: re.Pattern[str]
    includes: bool


def kept_files(root: str, files: Mapping[str, str]) -> list[str]:
    """The paths of `files` that belong to the catalog at `root`, in the order in which it is walked.

    Patterns are those of `.gitignore`; the last one that matches decides, and nothing is left out just because a
    folder above it is (only file paths are tested).
    """
    # OLM walks folder by folder, names by their bytes; of whole paths `a-b/c` would be before `a/b` (R-CAT-120).
    order = sorted(files, key=lambda path: path.encode().split(b"/"))
    rules = [rule for path in order if _name(path) == FILE_NAME for rule in _rules(_relative(root, path), files[path])]
    return [path for path in order if _name(path) != FILE_NAME and not _is_ignored(_relative(root, path), rules)]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _relative(root: str, path: str) -> str:
    return path.removeprefix(f"{root}/") if root else path


def _is_ignored(path: str, rules: list[_Rule]) -> bool:
    last = next((rule for rule in reversed(rules) if rule.pattern.fullmatch(path)), None)
    return last is not None and not last.includes


def _rules(path: str, text: str) -> list[_Rule]:
    folder = path.rpartition("/")[0]
    lines = [line.strip() for line in text.splitlines()]
    return [_rule(folder, line) for line in lines if line and not line.startswith("#")]


def _rule(folder: str, line: str) -> _Rule:
    includes = line.startswith("!")
    line = line.removeprefix("!")
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    prefix = re.escape(f"{folder}/") if folder else ""
    # A slash anywhere but at the end ties a pattern to the folder of its file.
    body = _components(line.removeprefix("/").split("/") if "/" in line else ["**", line])
    return _Rule(re.compile(prefix + body + ("/.*" if only_folders else "(?:/.*)?"), re.DOTALL), includes)


def _components(parts: list[str]) -> str:
    pattern = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            pattern += ".*" if last else "(?:.*/)?"
        else:
            pattern += _component(part) + ("" if last else "/")
    return pattern


_TOKENS = regex(r"\\(?P<escaped>.)|(?P<star>\*+)|(?P<one>\?)|\[(?P<set>\^?(?:\\.|[^\]\\])+)\]|(?P<plain>.)", re.DOTALL)


def _component(part: str) -> str:
    """One path component with `*`, `?`, `[…]` and backslashes as a regular expression."""
    parts = []
    for token in _TOKENS.finditer(part):
        if token["star"]:
            parts.append("[^/]*")
        elif token["one"]:
            parts.append("[^/]")
        elif token["set"]:
            negated = token["set"].startswith("^")
            parts.append(f"[{'^/' if negated else ''}{_set(token['set'].removeprefix('^'))}]")
        else:
            parts.append(re.escape(token["escaped"] or token["plain"]))
    return "".join(parts)


def _set(text: str) -> str:
    """The inside of a character class, of which only ranges and backslashes mean anything in Go."""
    return re.sub(r"\\.|[\[\]^&|~]", lambda match: "\\" + match[0][-1], text)


class CatalogFile(NamedTuple):
    """A file of a catalog: its documents, whether it is YAML, and why it could not be read ("" if it could)."""

    path: str
    documents: Sequence[Document]
    is_yaml: bool
    problem: str = ""
    location: Location | None = None
    cause: Cause | None = None


def read_file(path: str, text: str, report: Report) -> CatalogFile:
    """The documents of a file.

    What the reader finds odd is reported; that the file can't be read is only noted, since not all formats mind.
    """
    findings = Report()
    documents = read(path, text, findings)
    for diagnostic in findings:
        if diagnostic.severity is not Severity.ERROR:
            report.add(diagnostic)
    # The name of a file says nothing; what begins with a brace is JSON to OLM (R-CAT-121).
    is_yaml = text.lstrip()[:1] != "{"
    error = next((finding for finding in findings if finding.severity is Severity.ERROR), None)
    if error is None:
        return CatalogFile(path, documents, is_yaml)
    return CatalogFile(path, documents, is_yaml, error.message, error.location, error.cause)


def readable(files: Mapping[str, CatalogFile]) -> tuple[str, ...]:
    """The paths of the files that could be read."""
    return tuple(path for path, file in files.items() if not file.problem)


def catalog_of(blobs: Blobs, report: Report) -> Catalog:
    """The catalog that blobs describe, or an unavailable one with what is wrong with it (R-CAT-124, R-CAT-126)."""
    packages, errors = packages_of(blobs)
    report_errors(errors, report)
    first = next((error for error in errors if error.stops), None)
    if first is not None:
        return unavailable(first.text, first.place)
    # The tree is only of catalogs whose parts fit together, as OLM never gets here with others (R-CAT-124).
    tree, errors = check_model(packages)
    report_errors(errors, report)
    if tree:
        return unavailable(tree, errors[0].place)
    return Catalog(packages)
