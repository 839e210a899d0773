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
from olmc.yaml import Document
from olmc.yaml.pieces import Known, read_pieces

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
    rules = (_rule(folder, line) for line in lines if line and not line.startswith("#"))
    return [rule for rule in rules if rule is not None]


def _rule(folder: str, line: str) -> _Rule | None:
    """What a line says; None for one that is no pattern to Go, which fits nothing then."""
    includes = line.startswith("!")
    line = line.removeprefix("!")
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    prefix = re.escape(f"{folder}/") if folder else ""
    # A slash anywhere but at the end ties a pattern to the folder of its file.
    parts = line.removeprefix("/").split("/") if "/" in line else ["**", line]
    if not all(_WELL_FORMED.fullmatch(part) for part in parts):
        return None
    body = _components(parts) + ("/.*" if only_folders else "(?:/.*)?")
    return _Rule(re.compile(prefix + body, re.DOTALL), includes)


def _components(parts: list[str]) -> str:
    """A path of patterns as a regular expression that never takes back what it has matched before a star: the first
    place that fits is as good as any later one, and trying all of them could take for ever."""
    groups: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            groups.append([])
        else:
            groups[-1].append(_component(part))
    first, *others = ("/".join(group) for group in groups)
    if not others:
        return first
    *middle, last = others
    between = "".join(f"(?>(?:[^/]*/)*?{group}/)" for group in middle if group)
    return (f"{first}/" if first else "") + between + (f"(?:[^/]*/)*?{last}" if last else ".*")


_BOUND = r"\\.|[^\\\]-]"
_SET = rf"(?:(?:{_BOUND})(?:-(?:{_BOUND}))?)+"
_TOKENS = regex(rf"\\(?P<escaped>.)|(?P<one>\?)|\[(?P<no>\^?)(?P<set>{_SET})\]|(?P<plain>[^\\\[?])", re.DOTALL)
_RANGE = regex(rf"(?P<first>{_BOUND})(?:-(?P<last>{_BOUND}))?", re.DOTALL)
_WELL_FORMED = regex(rf"(?:{_TOKENS.pattern})*", re.DOTALL)


def _component(part: str) -> str:
    """One path component with `*`, `?`, `[…]` and backslashes as a regular expression."""
    pieces = [""]
    for token in _TOKENS.finditer(part):
        if token["plain"] == "*":
            pieces.append("")
        elif token["one"]:
            pieces[-1] += "[^/]"
        elif token["set"]:
            pieces[-1] += _set(token["set"], negated=bool(token["no"]))
        else:
            pieces[-1] += re.escape(token["escaped"] or token["plain"])
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _set(text: str, *, negated: bool) -> str:
    """A character class, of which only ranges and backslashes mean anything in Go; a range that runs backwards is
    empty."""
    bounds = ((one["first"][-1], (one["last"] or one["first"])[-1]) for one in _RANGE.finditer(text))
    ranges = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in bounds if low <= high)
    if negated:
        return f"[^/{ranges}]"
    return f"[{ranges}]" if ranges else "[^\\x00-\U0010ffff]"


class CatalogFile(NamedTuple):
    """A file of a catalog: its documents, whether it is YAML, and why it could not be read ("" if it could)."""

    path: str
    documents: Sequence[Document]
    is_yaml: bool
    problem: str = ""
    location: Location | None = None
    cause: Cause | None = None


def read_file(path: str, text: str, report: Report, known: Known | None = None) -> CatalogFile:
    """The documents of a file; `known` is what files before it hold, if there are any.

    What the reader finds odd is reported; that the file can't be read is only noted, since not all formats mind.
    """
    findings = Report()
    documents = read_pieces(path, text, findings, known if known is not None else {})
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


def catalog_of(blobs: Blobs, report: Report, known: Known | None = None) -> Catalog:
    """The catalog that blobs describe, or an unavailable one with what is wrong with it (R-CAT-124, R-CAT-126)."""
    packages, errors = packages_of(blobs)
    report_errors(errors, report, known)
    first = next((error for error in errors if error.stops), None)
    if first is not None:
        return unavailable(first.text, first.place)
    # The tree is only of catalogs whose parts fit together, as OLM never gets here with others (R-CAT-124).
    tree, errors = check_model(packages)
    report_errors(errors, report, known)
    if tree:
        return unavailable(tree, errors[0].place)
    return Catalog(packages)
