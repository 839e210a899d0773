"""Classify every file of a workspace by its content: bundles, catalogs, manifests, and other files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.bundles import (
    CATALOGS_FOLDER,
    compiled_part,
    files_of,
    package_of,
    project_bundles,
    read_bundle,
)
from olmc.compiler.load.catalog_files import CatalogPart, catalog_files, catalog_part
from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import (
    LFS_POINTER,
    MANIFESTS,
    Folder,
    ScannedFolder,
    file_digest,
    git_ignore_lines,
    in_walk_order,
    is_bundle,
    is_source_tree,
    no_folder,
    read_text,
    scan_everything,
    scan_workspace,
    spec_of,
)
from olmc.compiler.load.kustomization import kustomization_in
from olmc.compiler.load.manifests import SUFFIXES, manifests_in, of_other_tools
from olmc.compiler.load.releases import read_appliers
from olmc.compiler.load.vendored import INDEX_IGNORE, catalog_texts, is_vendored
from olmc.compiler.model.workspace import (
    GENERATED,
    IMPORTED,
    OWN_OUTPUT,
    SCAFFOLDED,
    Bundle,
    Inputs,
    LeftObject,
    LeftOut,
    Reason,
    Unseen,
    Unused,
)
from olmc.compiler.rules.findings import workspace as foreign_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.applied import applied_objects, is_applied, is_whole_object, tool_lists
from olmc.k8s.api.restmapper import BUILTIN
from olmc.k8s.diagnostics import Diagnostic, Location, Missing, Report, Severity, join_limited
from olmc.k8s.lean import NamedTuple, regex, sha256
from olmc.k8s.objects import POLICY_GROUP, KubernetesObject, Manifest, mapping, object_key
from olmc.k8s.yaml import Reader, locate, read, split
from olmc.k8s.yaml.rules import SPLIT
from olmc.k8s.yaml.split import head_of, plain_keys, split_documents

if TYPE_CHECKING:
    from olmc.compiler.load.policies import Installed

# What in a repository is not for a cluster: files in which neither Kubernetes nor OLM shows, and templates of charts.
#
# Who opens a repository wants to know about operators. A file of another tool that no YAML reader of Kubernetes takes
# is none of that, and must not keep anybody from the answer; a broken manifest is, and does.

CHART_FILE = "Chart.yaml"
TEMPLATES_FOLDER = "templates"
HELM_FOLDERS = (TEMPLATES_FOLDER, "charts", "crds")
"""The folders of a chart that Helm reads by itself."""

# A quoted key may stand behind a blank as well: what is broken may be the comma before it.
_KEY = r"""(?:(?:^[ \t-]*|[{{,]\s*)["']?{0}["']?|\s["']{0}["'])[ \t]*:\s*["']?"""
_API_VERSION = regex(_KEY.format("apiVersion") + r"(?:[a-z0-9][\w.-]*/)?v\d\w*(?![\w./])", re.MULTILINE)
_KIND = regex(_KEY.format("kind") + r"""[^\s"'{\[#]""", re.MULTILINE)
_CATALOG = regex(_KEY.format("schema") + r"olm\.", re.MULTILINE | re.IGNORECASE)

_OLM = regex(r"\b(?:operators\.coreos\.com|olm\.operatorframework\.io)/v\d")
_OLM_KIND = regex(
    r"^[ \t]*+(?:-[ \t]*+)?kind:[ \t]*[\"']?"
    r"(Subscription|OperatorGroup|CatalogSource|ClusterServiceVersion|InstallPlan|ClusterExtension|ClusterCatalog)\b",
    re.MULTILINE,
)
_SHOWN = 5
# The endings of Helm's templates that become objects, or that other templates include.
_TEMPLATES = (".yaml", ".yml", ".json", ".tpl")


def is_for_cluster(text: str) -> bool:
    """Return whether a text shows that it is meant for Kubernetes or for OLM, though it may not be readable.

    It does where one of its lines, or one of its mappings in braces, begins with an apiVersion that looks like one of
    Kubernetes and another with a kind, or one with a schema of OLM.
    """
    return (_API_VERSION.search(text) is not None and _KIND.search(text) is not None) or (
        _CATALOG.search(text) is not None
    )


def foreign_file(path: str, problems: Report) -> Diagnostic:
    """Report that a file is left aside, because of the first of the errors in it."""
    first = next(diagnostic for diagnostic in problems if diagnostic.severity is Severity.ERROR)
    return foreign_rules.FOREIGN.finding(first.location or Location(path), path=path, cause=first.message)


def is_chart(folder: Folder) -> bool:
    """Return whether a folder is a Helm chart, whose templates/ are no YAML before Helm has rendered them."""
    return CHART_FILE in folder.files


def kinds_in_templates(root: Path, chart: Folder) -> tuple[str, ...] | None:
    """The kinds of OLM that the templates of a chart, and of those that it depends on, speak of; None where none speaks
    of OLM."""
    kinds: dict[str, None] = {}
    is_about_olm = False
    for path in chain.from_iterable(f.walk() for f in chart.folders if f.path in map(chart.join, HELM_FOLDERS)):
        if f"/{TEMPLATES_FOLDER}/" in f"/{path}" and path.endswith(_TEMPLATES):
            text = read_text(root, path, Report()) or ""
            if _OLM.search(text):
                is_about_olm = True
                kinds.update(dict.fromkeys(_OLM_KIND.findall(text)))
    return tuple(sorted(kinds)) if is_about_olm else None


def without_helm(chart: Folder) -> Folder:
    """Return the content of a chart's folder without the chart."""
    files = tuple(name for name in chart.files if name != CHART_FILE)
    return chart._replace(
        files=files, folders=tuple(f for f in chart.folders if f.path not in map(chart.join, HELM_FOLDERS))
    )


def unrendered_chart(root: Path, chart: Folder, suffixes: Sequence[str]) -> Iterator[Diagnostic]:
    """Report that the templates of a chart are not rendered, with the kinds of OLM that they speak of."""
    templates = chart.folder(TEMPLATES_FOLDER)
    paths = [path for path in templates.walk() if path.endswith(tuple(suffixes))] if templates is not None else []
    if templates is None or not paths:
        return
    kinds = kinds_in_templates(root, chart._replace(folders=(templates,)))
    rule = foreign_rules.CHART_OF_OPERATORS if kinds is not None else foreign_rules.CHART
    yield rule.finding(
        Location(chart.join(CHART_FILE)), path=f"{templates.path}/", chart=chart.path or ".",
        count=f"{len(paths)} template{'s' * (len(paths) != 1)}",
        kinds=join_limited(kinds or (), _SHOWN) or "no kind is written plainly",
    )  # fmt: skip


_OF_CATALOG = "olm.package"

# A key with a text at the beginning of a line, or anywhere in a document that is written in one line: a CRD has a
# `schema` as well, with a mapping below it.
_CATALOG_TEXT = regex(
    r"""^[^\S\n]*+(?:[{,][^\S\n]*+)?["']?(?:schema|packageName)["']?\s*:[ \t]*[^\s{\[#]"""
    r"""|[{,]\s*["']?schema["']?\s*:\s*["']?olm\.""",
    re.MULTILINE | re.IGNORECASE,
)


class CsvlessBundle(NamedTuple):
    """A bundle without a CSV: its folder, its package, and the finding that says so."""

    directory: str
    package: str
    finding: Diagnostic


class FoundFiles(NamedTuple):
    """The files that are found so far; by the name of a catalog its texts by path, and its folder.

    `files` are those in which all objects count, `unused` objects that do not count, `built` the files that manifests
    were built of, `policies` the objects that they install. `is_named`: the user names the files, so that none is of
    another tool. `read` reads them. `without_csv` are the bundles without a CSV; `parts` are the files of catalogs
    outside of `catalogs/` that are not grouped yet.
    """

    bundles: dict[str, Bundle]
    catalogs: dict[str, Mapping[str, str]]
    roots: dict[str, str]
    manifests: list[Manifest]
    files: dict[str, None]
    unused: list[Unused]
    built: dict[str, None]
    policies: list[Installed]
    without_csv: list[CsvlessBundle]
    is_named: bool
    read: Reader
    parts: dict[str, CatalogPart]

    def add_catalog(self, name: str, folder: str, texts: Mapping[str, str]) -> None:
        """Texts of a catalog; the first folder of its name is where it stands."""
        known = self.catalogs.get(name)
        self.catalogs[name] = texts if known is None else {**known, **texts}
        self.roots.setdefault(name, folder)


def found_files(*, is_named: bool = False, read: Reader = read) -> FoundFiles:
    """Begin to read files: nothing is found so far."""
    return FoundFiles({}, {}, {}, [], {}, [], {}, [], [], is_named, read, {})


_Add = Callable[[Path, Folder, FoundFiles, Report], None]


def parts(folder: Folder) -> Iterator[tuple[Folder, _Add]]:
    """The folders of the workspace, and for what each is the function that reads it."""
    if is_bundle(folder):
        yield folder, _add_bundle
        return
    yield folder, add_files
    inside_catalogs = folder.path.rpartition("/")[2] == CATALOGS_FOLDER
    if is_chart(folder):
        yield folder, _add_chart
        templates = folder.join(TEMPLATES_FOLDER)
        folder = folder._replace(folders=tuple(below for below in folder.folders if below.path != templates))
    for below in folder.folders:
        if inside_catalogs and not is_bundle(below):
            yield below, _add_catalog
        else:
            yield from parts(below)


def add_parts(root: Path, folder: Folder, reading: FoundFiles, report: Report, *, files: _Add | None = None) -> None:
    """Read all parts of a folder; `files` reads those files that are in no other part. Manifests come in the order in
    which tools apply them, of which the last counts for an object."""
    start = len(reading.manifests)
    for part, add in parts(folder):
        (files if files is not None and add is add_files else add)(root, part, reading, report)
    _group_catalogs(root, folder, reading)
    reading.manifests[start:] = sorted(reading.manifests[start:], key=lambda each: in_walk_order(each.source.path))


def add_installed_by_policies(reading: FoundFiles, report: Report, built: int) -> None:
    """Add the objects that policies of Open Cluster Management put into the cluster.

    The first `built` manifests come of a kustomization, whose build adds theirs.
    """
    others = reading.manifests[built:]
    if any(manifest.object["apiVersion"].startswith(POLICY_GROUP) for manifest in others):
        from olmc.compiler.load.policies import installed_by  # few workspaces have any

        installed = installed_by(others, report)
        reading.manifests.extend(installed.manifests)
        reading.policies.append(installed)


def _group_catalogs(root: Path, folder: Folder, reading: FoundFiles) -> None:
    """Make catalogs of the files of which none is in `catalogs/`."""
    if not reading.parts:
        return
    paths = (path for path in folder.walk() if path.rpartition("/")[2] == INDEX_IGNORE)
    ignoring = {path: text for path in paths if (text := read_text(root, path, Report())) is not None}
    for catalog in catalog_files(reading.parts, ignoring, reading.catalogs):
        reading.add_catalog(catalog.name, catalog.root, catalog.texts)
    reading.parts.clear()


def _add_bundle(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    findings = Report()
    bundle = read_bundle(root, folder, findings, reading.read)
    missing = next((finding for finding in findings if finding.cause is Missing.CSV), None)
    if bundle is None and missing is not None:
        reading.without_csv.append(CsvlessBundle(folder.path, package_of(root, folder), missing))
    for finding in findings:
        if finding is not missing:
            report.add(finding)
    if bundle is None:
        return
    replaced = reading.bundles.get(bundle.name)
    if replaced is not None:
        # The last one counts, as with manifests; what only the first one has is no part of the workspace any more.
        others = (file.manifest for file in replaced.files if file.manifest.object not in bundle.objects)
        reading.unused.extend(Unused(manifest, Reason.REPLACED) for manifest in others)
        reading.files.update(dict.fromkeys(files_of(replaced)))
        related = (("the other one", Location(replaced.directory)),)
        report.add(rules.SAME_BUNDLE.finding(Location(bundle.directory), name=bundle.name, related=related))
    reading.bundles[bundle.name] = bundle


def _add_catalog(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    """A folder in catalogs/: the catalog of its name, or files like any other if none of them looks like one's."""
    texts = catalog_texts(root, folder, report)
    # By its text: a catalog may have tens of megabytes, and to parse it just to see that it is one costs as much again.
    if any(_CATALOG_TEXT.search(text) for text in texts.values()):
        reading.add_catalog(folder.path.rpartition("/")[2], folder.path, texts)
        return
    for path, text in texts.items():
        if path.endswith(SUFFIXES):
            _add_text(path, text, reading, report)


def _add_chart(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:  # noqa: ARG001
    """Add the content of a chart in addition to its ordinary files: templates, of which only their existence is
    reported."""
    for diagnostic in unrendered_chart(root, folder, SUFFIXES):
        report.add(diagnostic)


NAMED_MARK = ".olmc-named"
"""The file that marks a folder of files that the user names: olmc reads each of them, with any ending."""


def add_files(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    reads_all = reading.is_named and (root / NAMED_MARK).is_file()
    for name in folder.files:
        path = folder.join(name)
        if (reads_all or name.endswith(SUFFIXES)) and path != CONFIG_FILE:
            text = read_text(root, path, report)
            if text is not None:
                _add_text(path, text, reading, report)


def add_catalog_files(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> None:
    """Files beside what is built: of them only catalogs count."""
    for name in folder.files:
        path = folder.join(name)
        text = read_text(root, path, Report()) if name.endswith(SUFFIXES) and path != CONFIG_FILE else None
        if text is not None and _OF_CATALOG in text and _CATALOG_TEXT.search(text):
            _add_text(path, text, reading, report)


def _add_text(path: str, text: str, reading: FoundFiles, report: Report) -> None:
    """A file of manifests, or of a catalog that is called like its folder, at the top like the file itself."""
    if text.startswith(OWN_OUTPUT):
        return  # olmc's own output is no input, nor is what only runs it
    # An object may have a field `schema`, which does not make it a part of a catalog; the rest of its file can be one.
    findings = Report()
    documents = reading.read(path, text, findings)
    if findings.failed and not reading.is_named and not is_for_cluster(text) and not _has_objects(path, text):
        report.add(foreign_file(path, findings))
        return
    of_catalogs = [document for document in documents if _has_catalog_schema(document.value)]
    odd = [document for document in of_catalogs if is_whole_object(document.value)]
    for document in odd:
        place = locate(document.source, ())
        report.add(rules.OBJECT_WITH_SCHEMA.finding(place, kind=document.value["kind"]))
    if len(odd) < len(of_catalogs):
        reading.parts[path] = catalog_part(text, of_catalogs)
        documents = [document for document in documents if is_whole_object(document.value)]
        if not documents and not findings.failed:
            return  # what is odd in it is reported by who reads the catalog
    report.found.extend(findings.found)
    reading.files[path] = None
    if not reading.is_named:
        parts = frozenset(of_other_tools(documents, report))
        documents = [document for number, document in enumerate(documents) if number not in parts]
    reading.unused.extend(Unused(manifest, Reason.TOOLS) for manifest in tool_lists(documents))
    reading.manifests.extend(manifests_in(documents, report))


def _has_objects(path: str, text: str) -> bool:
    """Return whether Kubernetes reads an object of a part of a text that can't be read as a whole."""
    for part in split.parts(text):
        findings = Report()
        documents = read(path, part, findings)
        if any(is_whole_object(document.value) for document in documents):
            return True
        # Of such a part Kubernetes may read the beginning.
        if any(finding.code == SPLIT.code and finding.message != split.FOLLOWED for finding in findings):
            return True
    return False


def _has_catalog_schema(value: Any) -> bool:
    """Return whether a document says that it is part of a file-based catalog, whose keys count in any case
    (R-CAT-121)."""
    items = value.items() if isinstance(value, dict) else ()
    return any(key.casefold() == "schema" and isinstance(text, str) and text.startswith("olm.") for key, text in items)


# The left out content of a workspace: all files that tools would apply or build of its folder, except for the input.


def digest_at(path: Path, *, is_link: bool = False) -> str:
    """The digest of a file, the target of a link that is not followed, "" of what can't be read."""
    try:
        if is_link:
            return f"link to {path.readlink()}"
        return file_digest(path)
    except OSError:
        return ""


# How a key can be written so that its letters do not stand there: with an escape, a broken line, or as binary data.
_DISGUISED = regex(r"\\(?:[xuU]|\r?\n)|binary|^%TAG", re.MULTILINE)


class _LeftOutPlace(NamedTuple):
    """A file or, with `is_link`, a link that is not followed; and why it is left out, as far as its folders say so."""

    path: str
    reason: Reason | None
    is_link: bool = False


def left_out(
    root: Path, inputs: Inputs, *, ignored: tuple[str, ...] = (), beside_project: bool = False,
    known: ScannedFolder | None = None,
) -> tuple[LeftOut, ...]:  # fmt: skip
    """Return the content that is left out of the directory `root`, of which `inputs` count, sorted by place: a tool
    applies it.

    `ignored` are the patterns that were in force when it was read. Nothing is reported: content that can't be read is
    left out as well, and states that. With `beside_project` that includes all files that a project of operator-sdk has
    beside its bundle. `known` is an earlier scan of the directory.
    """
    if no_folder(root):
        return ()
    folder = scan_everything(root, known=known)
    folder = folder if beside_project else compiled_part(folder)
    of_git = git_ignore_lines(root, scan_workspace(root, known=known).folder) if ignored else ()
    found = left_out_in(root, folder, inputs, ignored, frozenset(of_git))
    return applied_of(root, found, inputs, known)


def applied_of(
    root: Path, found: tuple[LeftOut, ...], inputs: Inputs, known: ScannedFolder | None = None
) -> tuple[LeftOut, ...]:
    """Those of what is left out that a tool applies; `known` is an earlier scan of the workspace."""
    others = {left.location.path for left in found} - (inputs.files - inputs.content)
    if not others:
        return found
    applied = _applied_below(root, scan_workspace(root, ignore_file=False, known=known).folder, inputs)
    return tuple(left for left in found if left.location.path not in others or applied(left.location.path))


_OF_SERVICES = frozenset(
    f".{name}" for name in ("tekton", "circleci", "ci-operator", "prow", "buildkite", "devcontainer", "vscode", "idea")
)
"""Hidden folders that a service or an editor reads for itself, which are not applied with the folder above."""


def _applied_below(root: Path, folder: Folder, inputs: Inputs) -> Callable[[str], bool]:
    """Return whether a tool applies a file by its path, as far as the directory says so.

    Where objects of Argo CD or Flux say what they apply, or kustomize or Helm build what is applied, that is what they
    apply with all subfolders. Plain manifests and a bundle may be applied as a whole folder, unless the bundle is at
    the top of the source code of its operator.
    """
    appliers = read_appliers(root, folder)
    if appliers.by_path or appliers.open_sources or _has_kustomization(root, folder) or is_chart(folder):
        paths = [
            path for path, several in appliers.by_path.items() if any(each.reading.is_recursive for each in several)
        ]
        return lambda path: any(top == "." or path.startswith(f"{top}/") for top in paths)
    if is_bundle(folder) and is_source_tree(folder):
        return lambda path: False  # noqa: ARG005
    is_of_bundle = is_bundle(folder) or project_bundles(folder) is not None
    if not is_of_bundle and inputs.files - inputs.content <= {CONFIG_FILE}:
        return lambda path: False  # noqa: ARG005
    return lambda path: _OF_SERVICES.isdisjoint(path.split("/"))


def _has_kustomization(root: Path, folder: Folder) -> bool:
    if is_bundle(folder):
        return False
    return kustomization_in(root, folder) is not None or any(_has_kustomization(root, f) for f in folder.folders)


def left_out_in(
    root: Path, folder: Folder, inputs: Inputs, ignored: tuple[str, ...], of_git: frozenset[str]
) -> tuple[LeftOut, ...]:
    """Return the content that is left out of a folder with hidden ones, whether or not a tool applies it; `of_git` are
    the patterns of `.gitignore`."""
    from_git = of_git.intersection(ignored)
    spec = spec_of(ignored) if ignored else None
    own = spec_of(line for line in ignored if line not in from_git) if from_git else spec
    entries = [*_unused(inputs.unused)]
    bundles = project_bundles(folder)
    own_bundle = bundles.path if bundles is not None else None
    for place in _places(root, folder, None):
        if place.path in inputs.files or not place.path.endswith(SUFFIXES):
            continue
        is_ignored = spec is not None and spec(place.path)
        if is_ignored:
            is_own = own is not None and own(place.path)
            place = place._replace(reason=Reason.IGNORED if is_own else Reason.GIT_IGNORED)
        elif own_bundle is not None and place.reason is None and not place.path.startswith(f"{own_bundle}/"):
            place = place._replace(reason=Reason.PROJECT)
        left = _left_out_of(root, place)
        entries += [_with_bundle_reason(left)] if left is not None else []
    return tuple(sorted(entries, key=lambda left: (left.location, left.reason)))


def objects_of(text: str) -> tuple[tuple[LeftObject, ...], Unseen]:
    """The objects that tools would apply of the text of a file, and why not all of them are known."""
    if text.startswith(LFS_POINTER):
        return (), Unseen.IN_LFS
    if not _may_hold_objects(text):
        return (), Unseen.NOTHING
    left_objects: list[LeftObject] = []
    problem = Unseen.NOTHING
    documents = split_documents(text) if not text.lstrip().startswith(("{", "[")) else None
    for document in documents if documents is not None else [text]:
        # Repositories hold megabytes of plain manifests that are not olmc's. Their heads say all that is needed;
        # only documents whose heads can't be read off are parsed.
        head, keys = head_of(document), plain_keys(document)
        if keys is not None and not {"apiVersion", "kind"}.issubset(keys):
            continue
        if head is not None and keys is not None and "items" not in keys:
            obj = {"apiVersion": head.api_version, "kind": head.kind}
            obj["metadata"] = {"name": head.name, "namespace": head.namespace}  # type: ignore[assignment]
            text_of_object = document[document.index("apiVersion:") :].rstrip()
            left_objects += [_left_object(obj, text_of_object)] if is_applied(obj) else []
            continue
        findings = Report()
        objects = [manifest.object for value in read("", document, findings) for manifest in applied_objects(value)]
        left_objects += (_left_object(obj, _as_json(obj)) for obj in objects)
        problem = Unseen.UNREADABLE if findings.failed else problem
    return tuple(left_objects), problem


def _places(root: Path, folder: Folder, above: Reason | None) -> Iterator[_LeftOutPlace]:
    """All files and links below a folder, with the reason that a folder above them gives."""
    reason = above or _reason_of_folder(root, folder)
    for name in folder.files:
        yield _LeftOutPlace(folder.join(name), reason)
    for name in folder.links:
        yield _LeftOutPlace(folder.join(name), Reason.LINK, is_link=True)
    for below in folder.folders:
        is_templates = is_chart(folder) and below.path == folder.join(TEMPLATES_FOLDER)
        yield from _places(root, below, reason or (Reason.TEMPLATE if is_templates else None))


def _reason_of_folder(root: Path, folder: Folder) -> Reason | None:
    parent, _, name = folder.path.rpartition("/")
    if name.startswith("."):
        return Reason.HIDDEN
    if is_vendored(root, folder):
        return Reason.VENDORED
    if is_bundle(folder):
        return Reason.BUNDLE
    return Reason.CATALOG if parent.rpartition("/")[2] == CATALOGS_FOLDER else None


def _left_out_of(root: Path, place: _LeftOutPlace) -> LeftOut | None:
    """Return the content that is left out of a file, None if no tool would apply it."""
    location = Location(place.path)
    if place.is_link:
        return LeftOut(location, Reason.LINK, (), _digest(str((root / place.path).readlink())), Unseen.UNKNOWN)
    text = read_text(root, place.path, Report())
    if text is None:
        digest = digest_at(root / place.path)
        return LeftOut(location, place.reason or Reason.OTHER, (), digest, Unseen.UNREADABLE)
    objects, problem = objects_of(text)
    if not objects and not problem:
        return None
    if place.reason is Reason.TEMPLATE and problem is Unseen.UNREADABLE:
        problem = Unseen.UNRENDERED
    return LeftOut(location, place.reason or _reason_by_header(text), objects, _digest(text), problem)


def _with_bundle_reason(left: LeftOut) -> LeftOut:
    """Return the content that is left out of a file; for a file among a bundle's manifests also why it is none of
    them."""
    folder = left.location.path.rpartition("/")[0].rpartition("/")[2]
    is_broken = left.reason is Reason.BUNDLE and folder == MANIFESTS and left.problem is Unseen.UNREADABLE
    return left._replace(reason=Reason.BROKEN) if is_broken else left


def _reason_by_header(text: str) -> Reason:
    if text.startswith(GENERATED):
        return Reason.RENDERED
    if text.startswith(IMPORTED):
        return Reason.STATE
    return Reason.SCAFFOLDED if text.startswith(SCAFFOLDED) else Reason.OTHER


def _unused(unused: Iterable[Unused]) -> Iterator[LeftOut]:
    """Yield the objects that are left out of files that are read for another purpose, by file and reason."""
    grouped: dict[tuple[str, Reason], list[Manifest]] = {}
    # A rejected object has its own finding, and a review shows it.
    for entry in (entry for entry in unused if entry.reason is not Reason.REFUSED):
        if entry.manifest.source.path.endswith(SUFFIXES):
            grouped.setdefault((entry.manifest.source.path, entry.reason), []).append(entry.manifest)
    for (_, reason), manifests in grouped.items():
        yield left_out_at(locate(manifests[0].source, ()), reason, (manifest.object for manifest in manifests))


def redefined_in(inputs: Inputs) -> tuple[LeftOut, ...]:
    """The objects of a workspace that another definition replaces, by file."""
    return tuple(_unused(entry for entry in inputs.unused if entry.reason is Reason.REDEFINED))


def left_out_at(location: Location, reason: Reason, objects: Iterable[KubernetesObject]) -> LeftOut:
    """Report that objects of a file are left out."""
    left = tuple(_left_object(obj, _as_json(obj)) for obj in objects)
    return LeftOut(location, reason, left, _digest("".join(entry.digest for entry in left)))


def _may_hold_objects(text: str) -> bool:
    return ("apiVersion" in text and "kind" in text) or _DISGUISED.search(text) is not None


def _left_object(obj: KubernetesObject, text: str) -> LeftObject:
    key = object_key(BUILTIN.in_its_scope(obj))
    name = key.name or f"{mapping(obj.get('metadata')).get('generateName') or ''}…"
    return LeftObject(key._replace(name=name), _digest(text))


def _as_json(obj: KubernetesObject) -> str:
    return json.dumps(obj, sort_keys=True, default=str)


def _digest(text: str) -> str:
    digest: str = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest
