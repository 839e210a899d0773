"""Load the folder of a catalog in any format: file-based, or package manifests as before bundles (R-CAT-140 …
R-CAT-142)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from olmc.compiler.catalogs.content import check_model
from olmc.compiler.catalogs.conversion import (
    SCHEMA_PREFIX,
    Blobs,
    add_document,
    meta_key,
    package_of_document,
    packages_of,
    schema_of,
    unchecked_packages,
)
from olmc.compiler.catalogs.csv_graphs import base_of, database_bundle, joined, package_manifest, package_of
from olmc.compiler.catalogs.properties import (
    CatalogError,
    UncataloguedBundle,
    below,
    described_crds,
    location_of,
    provided_apis,
    report_errors,
    required_apis,
    unavailable,
)
from olmc.compiler.catalogs.templates import (
    BASIC,
    SEMVER,
    SUBSTITUTES,
    Expand,
    TemplateContext,
    expand_basic,
    expand_semver,
    expand_substitutes,
    expand_template,
    named_images,
)
from olmc.compiler.model.catalog import Catalog, Package
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import DEFAULT_INDEXING, Indexing
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.api.applied import applied_objects
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.diagnostics import Cause, Location, Place, Report, Rule, Severity
from olmc.k8s.gojson import DecodeError
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import Manifest
from olmc.k8s.yaml import Document
from olmc.k8s.yaml.pieces import Known, read_pieces

# File-based catalogs: streams of YAML or JSON documents in files of any name that `.indexignore` does not name
# (R-CAT-120 … R-CAT-124).

FILE_NAME = ".indexignore"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One pattern: what it matches, as paths relative to the catalog, whether it takes files back in, and the texts of
    which each path has all that it matches."""

    pattern: re.Pattern[str]
    includes: bool
    literals: tuple[str, ...]


class _Ignoring(NamedTuple):
    """The patterns of a catalog in their order, and by a text in a path the numbers of those that may fit the path;
    `lengths` are those of the texts, `others` the patterns of which nothing is written out."""

    rules: Sequence[_Rule]
    by_text: Mapping[str, Sequence[int]]
    lengths: Sequence[int]
    others: Sequence[int]

    def ignores(self, path: str) -> bool:
        """Return whether the last pattern that fits a path leaves it out. Only patterns with a text of the path are
        tried: there may be thousands of both."""
        if not self.rules:
            return False
        numbers = set(self.others)
        for length in self.lengths:
            for start in range(len(path) - length + 1):
                numbers.update(self.by_text.get(path[start : start + length], ()))
        last = next((n for n in sorted(numbers, reverse=True) if self.rules[n].pattern.fullmatch(path)), None)
        return last is not None and not self.rules[last].includes


def kept_files(root: str, files: Mapping[str, str]) -> list[str]:
    """The paths of `files` that belong to the catalog at `root`, in the order in which it is walked.

    Patterns are those of `.gitignore`; the last one that matches decides, and nothing is left out just because a
    folder above it is (only file paths are tested).
    """
    # OLM walks folder by folder, names by their bytes; of whole paths `a-b/c` would be before `a/b` (R-CAT-120).
    order = sorted(files, key=lambda path: path.encode("utf-8", "surrogateescape").split(b"/"))
    rules = [rule for path in order if _name(path) == FILE_NAME for rule in _rules(_relative(root, path), files[path])]
    ignoring = _ignoring(rules)
    return [path for path in order if _name(path) != FILE_NAME and not ignoring.ignores(_relative(root, path))]


def _ignoring(rules: Sequence[_Rule]) -> _Ignoring:
    """Patterns with the rarest text of each as its key."""
    counts = Counter(literal for rule in rules for literal in set(rule.literals))
    by_text: dict[str, list[int]] = {}
    others: list[int] = []
    for number, rule in enumerate(rules):
        if rule.literals:
            by_text.setdefault(min(rule.literals, key=lambda text: (counts[text], -len(text))), []).append(number)
        else:
            others.append(number)
    return _Ignoring(rules, by_text, sorted(set(map(len, by_text))), others)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _relative(root: str, path: str) -> str:
    return path.removeprefix(f"{root}/") if root else path


def _rules(path: str, text: str) -> list[_Rule]:
    folder = path.rpartition("/")[0]
    lines = [line.strip() for line in text.splitlines()]
    rules = (_rule(folder, line) for line in lines if line and not line.startswith("#"))
    return [rule for rule in rules if rule is not None]


def _rule(folder: str, line: str) -> _Rule | None:
    """Return the rule of a line; None for an invalid pattern in Go, which matches nothing."""
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
    return _Rule(re.compile(prefix + body, re.DOTALL), includes, tuple(_literals(parts)))


_KEY_LENGTH = 64


def _literals(parts: Iterable[str]) -> Iterator[str]:
    """The texts that stand in a pattern as they are, between its stars and sets; of a long one its end."""
    run = ""
    for part in parts:
        if run and part != "**":
            run += "/"
        for token in _TOKENS.finditer(part):
            if token["escaped"] or token["plain"] not in (None, "*"):
                run += token["escaped"] or token["plain"]
            else:
                if run.strip("/"):
                    yield run.strip("/")[-_KEY_LENGTH:]
                run = ""
    if run.strip("/"):
        yield run.strip("/")[-_KEY_LENGTH:]


def _components(parts: list[str]) -> str:
    """Return a path of patterns as a regular expression that never takes back a match before a star. The first match is
    as good as any later one, and a search through all matches takes too long."""
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
_SET = rf"(?:(?:{_BOUND})(?:-(?:{_BOUND}))?)++"
_TOKEN = rf"\\(?P<escaped>.)|(?P<one>\?)|\[(?P<no>\^?)(?P<set>{_SET})\]|(?P<plain>[^\\\[?])"
# A bracket that nothing closes would have every one behind it look for the same end.
_TOKENS = regex(rf"{_TOKEN}|\[.*", re.DOTALL)
_RANGE = regex(rf"(?P<first>{_BOUND})(?:-(?P<last>{_BOUND}))?", re.DOTALL)
_WELL_FORMED = regex("(?:" + re.sub(r"\?P<\w+>", "?:", _TOKEN) + ")*+", re.DOTALL)


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
    # The name of a file says nothing; what begins with a brace is JSON to OLM (R-CAT-121).
    is_yaml = text.lstrip()[:1] != "{"
    for diagnostic in findings:
        if diagnostic.severity is not Severity.ERROR:
            # JSON is what opm has written of bundles, in which the owner of the catalog can correct nothing.
            report.add(diagnostic if is_yaml else diagnostic._replace(severity=Severity.INFO))
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


# The documents that every reader of a file-based catalog rejects.
_UNREADABLE = (rules.NOT_A_BLOB, rules.SAME_KEYS, rules.NOT_TEXT)


def looks_like_package_manifest(document: Document) -> bool:
    """Return whether a document is a package file: it has a packageName (R-CAT-140)."""
    value = document.value
    key = meta_key(value, "packagename") if isinstance(value, dict) else None
    return key is not None and isinstance(value[key], str) and bool(value[key])


def load_package_manifests(root: str, files: Mapping[str, CatalogFile], indexing: Indexing, report: Report) -> Catalog:
    """The catalog in a directory of package manifests, or an unavailable one with what is wrong with it."""
    # OLM's loader decodes one document a file, and passes over hidden files and folders (R-CAT-140).
    first = {path: file.documents[0] for path, file in files.items() if file.documents and not _is_hidden(root, path)}
    bundles: dict[str, UncataloguedBundle] = {}
    errors: list[CatalogError] = []
    for bundle in _bundles(first):
        errors += bundle_errors(bundle, rules.BAD_PACKAGE_MANIFESTS, indexing)
        bundles.setdefault(bundle.name, bundle)
    packages: dict[str, Package] = {}
    for document in first.values():
        if looks_like_package_manifest(document):
            errors += _add_package(document, bundles, packages, report)
    report_errors(errors, report)
    catalog = Catalog(packages)
    if not errors:
        _report_unreached(bundles, packages, report)
    else:
        catalog = unavailable(aggregated(error.text for error in errors), errors[0].place)
    return catalog._replace(files=readable(files), unused=tuple(_unused(files, first)))


def _report_unreached(
    bundles: Mapping[str, UncataloguedBundle], packages: Mapping[str, Package], report: Report
) -> None:
    """The CSVs that nothing leads to from the head of a channel: the old database forgets them (R-CAT-141)."""
    reached = {name for package in packages.values() for name in package.bundles}
    for name, bundle in bundles.items():
        if name not in reached:
            place = location_of(below(bundle.location, "metadata", "name"))
            report.add(rules.UNREACHED_VERSION.finding(place, bundle=name))


def _unused(files: Mapping[str, CatalogFile], first: Mapping[str, Document]) -> Iterator[Manifest]:
    """The objects of all files that no bundle has: those behind the first of a file, and those without a CSV beside."""
    with_csv = {path.rpartition("/")[0] for path, document in first.items() if _kind(document) == CSV_KIND}
    for path, file in files.items():
        used = first.get(path) if path.rpartition("/")[0] in with_csv else None
        for document in file.documents:
            if document is not used:
                yield from applied_objects(document)


def _is_hidden(root: str, path: str) -> bool:
    relative = path.removeprefix(f"{root}/") if root else path
    return any(part.startswith(".") for part in relative.split("/"))


def _add_package(
    document: Document, bundles: Mapping[str, UncataloguedBundle], packages: dict[str, Package], report: Report
) -> Iterator[CatalogError]:
    place = Place(document.source)
    try:
        manifest = package_manifest(document.value, place)
    except DecodeError:
        # A file that can't be decoded as a package counts as some other file.
        return
    packages[manifest.name], problems = package_of(manifest, bundles, database_bundle, report)
    if problems:
        cause = joined(problems, "error loading package into db")
        yield CatalogError(rules.BAD_PACKAGE_MANIFESTS, problems[0].place, {"cause": cause})


def _bundles(first: Mapping[str, Document]) -> Iterator[UncataloguedBundle]:
    """Each CSV with what lies beside it in its folder, other CSVs left out."""
    folders: dict[str, list[Document]] = {}
    for path, document in first.items():
        if _kind(document):
            folders.setdefault(path.rpartition("/")[0], []).append(document)
    for documents in folders.values():
        for document in documents:
            if document.value["kind"] == CSV_KIND:
                others = [
                    beside.value for beside in documents if beside is document or beside.value["kind"] != CSV_KIND
                ]
                yield UncataloguedBundle("", (), "", document.value, tuple(others), location=Place(document.source))


def _kind(document: Document) -> Any:
    return document.value.get("kind") if isinstance(document.value, dict) else None


def bundle_errors(bundle: UncataloguedBundle, rule: Rule, indexing: Indexing) -> Iterator[CatalogError]:
    """Yield the errors that keep a bundle out of the old database; `rule` is the one broken by invalid APIs."""
    if base_of(bundle) and not indexing.alpha:
        yield CatalogError(rules.SUBSTITUTES_FOR, bundle.location)
    try:
        required_apis(bundle.objects)
        missing = _missing_crds(bundle)
    except ValueError as error:
        missing = [str(error)]
    for cause in missing:
        text = f"error checking provided apis in bundle {bundle.name}: {cause}"
        yield CatalogError(rule, bundle.location, {"cause": text})


def _missing_crds(bundle: UncataloguedBundle) -> list[str]:
    """OLM's text for the first owned CRD that the bundle doesn't bring along (R-CAT-101)."""
    provided = provided_apis(bundle.objects)
    for api in described_crds(Csv(bundle.csv).owned_crds):
        # By version and plural, too: an owned CRD of another version is one that is missing.
        if api not in provided:
            return [f"couldn't find {api} in bundle. found: {_as_map(map(str, provided))}"]
    return []


def _as_map(keys: Iterable[str]) -> str:
    return "map[" + " ".join(f"{key}:{{}}" for key in sorted(keys)) + "]"


_TEMPLATES: Mapping[str, Expand] = {BASIC: expand_basic, SEMVER: expand_semver, SUBSTITUTES: expand_substitutes}


def looks_like_catalog(value: Any) -> bool:
    """Return whether a decoded document is part of a file-based catalog: its schema begins with `olm.`."""
    return schema_of(value).startswith(SCHEMA_PREFIX)


def load_catalog(
    root: str,
    files: Mapping[str, str],
    report: Report,
    bundles: Mapping[str, UncataloguedBundle] = MappingProxyType({}),
    indexing: Indexing = DEFAULT_INDEXING,
) -> Catalog:
    """The catalog in the folder `root` of the workspace.

    `files` are the texts of all files below it by their path in the workspace, `bundles` the bundles that its templates
    may name, by image reference or by folder; `indexing` is for package manifests. A catalog that OLM could not serve
    comes back without packages and with OLM's text as its `problem`; all that is wrong with it is in `report`, as
    failures: the compilation goes on. `files` of the catalog are those that were read, `unused` what is no part of it.
    """
    known: Known = {}
    read = {path: read_file(path, files[path], report, known) for path in kept_files(root, files)}
    if _holds_package_manifests(read):
        return load_package_manifests(root, read, indexing, report)
    blobs = Blobs()
    problem = unreadable = ""
    stopping: list[CatalogError] = []
    images: dict[str, None] = {}
    spoilt: dict[str, str] = {}
    for file in read.values():
        images |= dict.fromkeys(_template_images(file, bundles))
        errors = _add_file(file, blobs, bundles, report, spoilt)
        report_errors(errors, report, known)
        stopping += (error for error in errors if error.stops)
        problem = problem or next((error.text for error in stopping), "")
        unreadable = unreadable or next((error.text for error in errors if error.rule in _UNREADABLE), "")
        if file.problem:
            unread = rules.NOT_READ.finding(file.location, path=file.path, cause=file.problem)
            report.add(unread.caused_by(file.cause))
            problem = problem or file.problem
            unreadable = unreadable or _go_problem(files[file.path], file.problem)
    catalog = unavailable(problem) if problem else catalog_of(blobs, report, known)
    if catalog.problem:
        catalog = catalog._replace(
            documents=unchecked_packages(blobs),
            unread=unreadable,
            spoilt=spoilt,
            lacks_bundles=bool(stopping)
            and all(error.rule == rules.TEMPLATE_BUNDLE for error in stopping)
            and not any(file.problem for file in read.values()),
        )
    documents = [document for file in read.values() for document in file.documents]
    unused = (manifest for document in documents for manifest in applied_objects(document))
    return catalog._replace(
        images=tuple(images),
        files=readable(read),
        unused=tuple(unused),
        self_contained=not any(schema_of(document.value) in _TEMPLATES for document in documents),
    )


def _go_problem(text: str, problem: str) -> str:
    """Return Go's error for a text that is no YAML."""
    from olmc.k8s.yaml.problems import parser_problem  # hardly any catalog is no YAML

    return f"error converting YAML to JSON: {parser_problem(text, at_problem=True) or problem}"


def _template_images(file: CatalogFile, bundles: Mapping[str, UncataloguedBundle]) -> Iterator[str]:
    """The references in the templates of a file, but for those to folders of the workspace."""
    for document in file.documents:
        if schema_of(document.value) in _TEMPLATES:
            context = TemplateContext(document.source, bundles, Report())
            yield from (image for image in named_images(document.value) if context.is_image(image))


def _holds_package_manifests(files: Mapping[str, CatalogFile]) -> bool:
    # Both in one folder are a file-based catalog, in which a package file is a document without a schema.
    documents = [document for file in files.values() for document in file.documents]
    return any(looks_like_package_manifest(document) for document in documents) and not any(
        looks_like_catalog(document.value) for document in documents
    )


def _add_file(
    file: CatalogFile, blobs: Blobs, bundles: Mapping[str, UncataloguedBundle], report: Report,
    spoilt: dict[str, str],
) -> list[CatalogError]:  # fmt: skip
    """Add what a file holds to `blobs`; what is wrong with it comes back, and in `spoilt` by the packages that it is
    of."""
    errors: list[CatalogError] = []
    for document in file.documents:
        expand = _TEMPLATES.get(schema_of(document.value))
        if expand is None:
            found = add_document(document.value, document.source, blobs, is_yaml=file.is_yaml)
            spoilt.update(
                (package_of_document(document.value), each.text) for each in found if each.rule == rules.BAD_BLOB
            )
            errors += found
        else:
            context = TemplateContext(document.source, bundles, report)
            errors += expand_template(document.value, expand, context, blobs)
    return errors
