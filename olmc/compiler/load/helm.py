"""Rendering a chart with `helm`, or with Helm as a library: what a GitOps tool would apply of it.

Helm gets a copy of the chart in a process of its own, without a network, without the user's environment, and bounded in
time, memory and output (`locked_down`). What it would have to fetch is refused before it starts.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from olmc.compiler.load.charts import Chart, Dependency, StagingError, files_below, read_chart, stage
from olmc.compiler.load.files import MAX_FILE_BYTES, has_file, is_file, read_text, real_path
from olmc.compiler.load.kustomization import relative_path, repository_of
from olmc.compiler.load.kustomize import Output, relative_to, run
from olmc.compiler.load.locked_down import merged
from olmc.compiler.load.manifests import SUFFIXES, manifests_in
from olmc.compiler.load.releases import OWN_VALUES, Release, ValueFile
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.api.restmapper import builtin_kinds, versions_of
from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.diagnostics import Location, OpenRelease, Report, Severity, Source, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import APIResource, Manifest, as_text, mapping, name_of
from olmc.k8s.yaml import read

# Where in a template of Helm the objects stand that it becomes.

_BEGINS = regex(r"^(?:apiVersion|kind|[\"']?(?:apiVersion|kind)[\"']?)\s*:")


def line_of(template: str, obj: Mapping[str, Any]) -> int:
    """The line on which an object begins in the template that it comes from, 0 where it can't be determined.

    >>> line_of("{{ if .Values.own }}\\nkind: Namespace\\nmetadata:\\n  name: {{ .Values.name }}\\n{{ end }}\\n",
    ...         {"kind": "Namespace", "metadata": {"name": "harbour"}})
    2

    Between two of a kind the name decides, where it is written plainly.
    """
    kind = re.escape(as_text(obj.get("kind")))
    of_kind = re.compile(rf"^[\"']?kind[\"']?\s*:\s*[\"']?{kind}[\"']?\s*(?:#.*)?$") if kind else None
    candidates = [part for part in _parts(template) if of_kind and any(of_kind.match(line) for _, line in part)]
    if len(candidates) > 1:
        named = re.compile(rf"^\s+[\"']?name[\"']?\s*:\s*[\"']?{re.escape(name_of(obj))}[\"']?\s*(?:#.*)?$")
        candidates = [part for part in candidates if any(named.match(line) for _, line in part)]
    if len(candidates) != 1:
        return 0
    return next((number for number, line in candidates[0] if _BEGINS.match(line)), 0)


def _parts(template: str) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of a template, document by document."""
    part: list[tuple[int, str]] = []
    for number, line in enumerate(template.splitlines(), 1):
        if line.startswith("---"):
            yield part
            part = []
        else:
            part.append((number, line))
    yield part


SECONDS = 60
"""The limit of Helm's time."""

LIBRARY = "helm_python"
"""The package of the extra olmc[helm]."""

# What may have a path in it, with the line and the column that follow it, and where in it a path begins.
_PLACED = regex(r"([\w./ -]++)(?:(?<=\w):([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_PATH = regex(r"(?<![\w.-])[\w.-]++/")
_SOURCE = regex(r"^# Source: (.+)$", re.MULTILINE)
_DEBUG = "Use --debug flag to render out invalid YAML"
_NOTES = "NOTES.txt"


class HelmTarget(NamedTuple):
    """The cluster that templates ask about: its version, and what it serves beside Kubernetes and OLM."""

    kube_version: str
    resources: tuple[APIResource, ...] = ()


class Rendering(NamedTuple):
    """The objects of a chart, and the files that it is made of, relative to the workspace."""

    manifests: tuple[Manifest, ...]
    files: tuple[str, ...]


class _Staged(NamedTuple):
    """A chart as Helm has it: its copy, and the folders by the names that Helm has for them."""

    chart: Chart
    copy: Path
    folders: Mapping[str, Path]
    root: Path

    def shown(self, name: str) -> str | None:
        """The path, as seen from the workspace, of what Helm calls `operators/templates/a.yaml`; None for none of the
        chart's, as a template can print the comment that names it itself."""
        name = posixpath.normpath(name)
        known = [prefix for prefix in self.folders if name.startswith(prefix)]
        prefix = max(known, key=len, default=None)
        return relative_path(self.folders[prefix] / name[len(prefix) :], self.root) if prefix is not None else None


def render(
    root: Path, folder: Path, release: Release, target: HelmTarget, kinds: Iterable[str], report: Report
) -> Rendering:
    """Return the objects of the chart in `folder` in a release; none, with the reason in `report`, if they are unknown.

    Paths are relative to the workspace at `root`; `kinds` are the kinds of OLM in its templates.
    """
    chart = read_chart(real_path(folder), root)
    command = f"helm template {quote(folder.name if folder.is_absolute() else folder.as_posix())}"
    try:
        beside = (dependency.folder for dependency in chart.dependencies if dependency.folder is not None)
        listed = {path for place in (real_path(folder), *beside) for path in files_below(place)}
        files = tuple(relative_path(path, root) for path in sorted(listed))
    except StagingError as error:
        report.add(_refused(chart, Location(chart.path), str(error), command))
        return Rendering((), ())
    if _report_remotes(chart, report):
        return Rendering((), files)
    values, value_files = _values(root, release, report)
    files += value_files
    if report.failed:
        return Rendering((), files)
    problems = is_dns1123_subdomain(release.name)
    if problems:  # nor may it look like an option of a program
        report.add(_refused(chart, Location(chart.path), f"{release.name!r} is no name for a release", command))
        return Rendering((), files)
    program, library = shutil.which("helm"), _library()
    if program is None and library is None:
        named = join_limited(tuple(kinds), 5) or "kinds of OLM"
        report.add(rules.NO_HELM.finding(Location(chart.path), chart=chart.name, kinds=named, command=command))
        return Rendering((), files)
    _report_unknown(root, chart, release, report)
    with tempfile.TemporaryDirectory(prefix="olmc-chart-") as temporary:
        # Helm has messages with the name of the chart, and with that of the folder.
        copy = Path(temporary) / "chart"
        try:
            staged = _Staged(chart, copy, stage(chart, copy), root)
        except StagingError as error:
            report.add(_refused(chart, Location(chart.path), str(error), command))
            return Rendering((), files)
        request = _Request(release, values, target, copy)
        texts = _by_program(program, request) if program is not None else _by_library(library or "", request)
        if isinstance(texts, Output):
            place, problem = _explained(staged, texts.problem)
            finding = _refused(chart, place, problem, command)
            given = _values_beside(chart, files) if release == OWN_VALUES else ()
            way = f"The chart has no values.yaml. Give Helm one of {join_limited(given, 4)}: {command} -f FILE"
            report.add(finding._replace(hint=f"{way} | olmc check -.") if given else finding)
            return Rendering((), files)
        manifests = tuple(_manifests(staged, texts, command, report))
    return Rendering(manifests if not report.failed else (), files)


def _values_beside(chart: Chart, files: Iterable[str]) -> tuple[str, ...]:
    """The files beside a chart without values.yaml that are called after values, such as `prod.values.yaml`."""
    beside = {
        posixpath.basename(path): path for path in files if posixpath.dirname(path) == posixpath.dirname(chart.path)
    }
    named = (path for name, path in beside.items() if "values" in name and name.endswith(SUFFIXES[:2]))
    return () if "values.yaml" in beside else tuple(named)


def _refused(chart: Chart, place: Location, problem: str, command: str) -> Any:
    return rules.NOT_RENDERED.finding(place, chart=chart.name, problem=problem, command=command)


def _report_remotes(chart: Chart, report: Report) -> bool:
    """Return whether a chart needs others that have to be fetched; one finding names those of one repository."""
    remote: dict[str, list[Dependency]] = {}
    for dependency in chart.dependencies:
        if not dependency.is_local:
            remote.setdefault(dependency.repository, []).append(dependency)
    for repository, needed in remote.items():
        names = join_limited([dependency.name for dependency in needed], _SHOWN)
        report.add(rules.REMOTE_CHART.finding(needed[0].place, name=names, repository=repository))
    return bool(remote)


_SHOWN = 12


def _report_unknown(root: Path, chart: Chart, release: Release, report: Report) -> None:
    """Report the unknown parts of a rendered chart: values, and dependencies that are not in the repository."""
    if release.unknown:
        fields, name = " and ".join(release.unknown), release.applier
        place = _from(root, release, release.place)
        finding = rules.OPEN_VALUES.finding(place, name=name, chart=f"the chart {chart.name}", fields=fields)
        report.add(finding.caused_by(OpenRelease(name, chart.name, fields)))
    for dependency in chart.dependencies:
        if dependency.folder is None:
            origin = dependency.repository or f"charts/{dependency.name}"
            report.add(rules.MISSING_DEPENDENCY.finding(dependency.place, name=dependency.name, repository=origin))


def _from(root: Path, release: Release, place: Location | None) -> Location | None:
    """A place in the repository that a release is from as seen from the workspace."""
    if place is None:
        return None
    return place._replace(path=relative_path(real_path((release.top or root) / place.path), root))


def _library() -> str | None:
    """The folder in which the package of the extra is installed, None where it is not."""
    spec = find_spec(LIBRARY)
    return str(Path(spec.origin).parent.parent) if spec is not None and spec.origin is not None else None


def _values(root: Path, release: Release, report: Report) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values of a release over those of the chart itself, and the files that they stand in."""
    values: dict[str, Any] = {}
    files = []
    for file in release.value_files:
        content = _value_file(root, file, release, report)
        if content is not None:
            values = merged(values, content)
            files.append(relative_path(real_path((release.top or root) / file.path), root))
    return merged(values, json.loads(release.values)) if release.values else values, tuple(files)


def _value_file(root: Path, file: ValueFile, release: Release, report: Report) -> Mapping[str, Any] | None:
    """The values in a file of the repository, relative to which its path is; None with a finding where there are none,
    and where the file may be absent."""
    problem, path = file.problem, None
    if not problem:
        top = real_path(release.top or root)
        home = repository_of(top) or top
        try:
            path = (top / file.path).resolve()
            problem = "" if path.is_relative_to(home) else "which leads out of the repository"
        except (OSError, RuntimeError, ValueError):
            problem = "which is no path"
    if not problem and path is not None:
        if not is_file(path):
            if file.may_be_absent:
                return None
            problem = "which is not there"
        else:
            findings = Report()
            text = read_text(path.parent, path.name, findings)
            documents = read(relative_path(path, root), text or "", findings)
            value = documents[0].value if documents else None
            if not findings.failed and len(documents) <= 1 and isinstance(value, dict | None):
                return value or {}
            problem = "which is no mapping in YAML"
    place = _from(root, release, file.place)
    report.add(rules.NO_VALUE_FILE.finding(place, name=release.applier, path=file.text, problem=problem))
    return None


class _Request(NamedTuple):
    """A request to Helm."""

    release: Release
    values: dict[str, Any]
    target: HelmTarget
    chart: Path

    @property
    def kube_version(self) -> str:
        return self.release.kube_version or self.target.kube_version

    @property
    def api_versions(self) -> list[str]:
        """`group/version` and `group/version/Kind` of all that the cluster serves."""
        served = [(kind.group, version, kind.kind) for kind in builtin_kinds() for version in versions_of(kind)]
        served += [(r.group, version, r.kind) for r in self.target.resources for version in r.versions]
        names = ("/".join(filter(None, (group, version))) for group, version, _ in served)
        with_kinds = ("/".join(filter(None, parts)) for parts in served)
        return list(dict.fromkeys((*names, *with_kinds, *self.release.api_versions)))

    def parameters(self, *, texts: bool) -> str:
        """The parameters in the syntax of `--set`, those that are always texts or the others."""
        return ",".join(str(p) for p in self.release.parameters if p.is_text is texts)


_SCRIPT = Path(__file__).with_name("locked_down.py")


def _script(*arguments: str) -> list[str]:
    return [sys.executable, "-I", str(_SCRIPT), *arguments]


def _by_program(program: str, request: _Request) -> list[tuple[str, str]] | Output:
    """Return the output of `helm template` by the names of the templates, or the output with its problem."""
    release = request.release
    values = request.chart.with_name("values.json")
    values.write_text(json.dumps(request.values), encoding="utf-8")
    command = [
        program, "template", release.name, str(request.chart), "--namespace", release.namespace or "default",
        "--kube-version", request.kube_version, "--api-versions", ",".join(request.api_versions),
        "--values", str(values), *(["--include-crds"] if release.with_crds else ["--skip-crds"]),
    ]  # fmt: skip
    for option, is_text in (("--set", False), ("--set-string", True)):
        if given := request.parameters(texts=is_text):
            command += [option, given]
    output = run(_script("exec", *command), seconds=SECONDS, most=MAX_FILE_BYTES)
    return output if output.problem else list(_parted(output.text))


def _parted(text: str) -> Iterator[tuple[str, str]]:
    """The documents that Helm prints with the names of their templates, which stand in a comment before each."""
    name = ""
    for document in re.split(r"^---[ \t]*$", text, flags=re.MULTILINE):
        match = _SOURCE.search(document)
        name = match[1].strip() if match is not None else name
        if document.strip():
            yield name, document


def _by_library(folder: str, request: _Request) -> list[tuple[str, str]] | Output:
    release = request.release
    asked = {
        "chart": str(request.chart), "values": request.values, "set": request.parameters(texts=False),
        "texts": request.parameters(texts=True), "name": release.name, "namespace": release.namespace or "default",
        "kube_version": request.kube_version, "api_versions": request.api_versions, "crds": release.with_crds,
    }  # fmt: skip
    output = run(_script("helm", folder), seconds=SECONDS, most=MAX_FILE_BYTES, stdin=json.dumps(asked))
    if output.problem:
        return output
    try:
        texts = json.loads(output.text)
    except ValueError:
        return Output("", "Helm printed something else than the manifests it was run for")
    return [(name, text) for name, text in texts if name.rpartition("/")[2] != _NOTES]


def _manifests(staged: _Staged, texts: Iterable[tuple[str, str]], command: str, report: Report) -> Iterator[Manifest]:
    """The objects in what Helm has printed, each at the line of the template that it comes from if that is known."""
    templates: dict[str, str] = {}
    for name, text in texts:
        shown = staged.shown(name) or staged.chart.path
        findings = Report()
        documents = read(shown, text, findings)
        for diagnostic in findings:
            if diagnostic.severity is Severity.ERROR:
                problem = f"what it makes of {shown} is no YAML of Kubernetes: {diagnostic.message}"
                report.add(_refused(staged.chart, Location(shown), problem, command))
        if findings.failed:
            continue
        if shown not in templates:
            is_there = has_file(staged.root, shown)
            templates[shown] = (read_text(staged.root, shown, Report()) if is_there else None) or ""
        for document in documents:
            line = line_of(templates[shown], mapping(document.value))
            # Of what is rendered the line is known, and no column: a text in which the object begins there.
            source = Source(shown, "\n" * (line - 1) + "{}" if line else "")
            yield from manifests_in([document._replace(source=source)], report)


def _explained(staged: _Staged, problem: str) -> tuple[Location, str]:
    """Return where what Helm says is meant, and what it says in one line, with paths as seen from the workspace."""
    kept = problem.rstrip()
    text = relative_to(staged.copy, kept.removesuffix(_DEBUG).rstrip() if kept.endswith(_DEBUG) else problem)
    place = Location(staged.chart.path)
    for match in _PLACED.finditer(text):
        path = _PATH.search(match[1]) if match[2] else None
        shown = staged.shown(match[1][path.start() :]) if path else None
        if shown is not None:
            return Location(shown, int(match[2]), int(match[3] or 0) or 1), text
    return place, text
