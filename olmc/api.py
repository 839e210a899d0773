"""The whole compiler on one screen: directory → Workspace → settled cluster → objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from olmc.generate.passes import generate
from olmc.load.bundles import is_bundle, read_bundle
from olmc.load.config import options_from, read_config
from olmc.load.files import scan
from olmc.load.workspace import load as load_workspace
from olmc.model.cluster import Cluster, Name
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.objects import Rendered
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.settle.bare import bare
from olmc.settle.diagnose import diagnose
from olmc.settle.rest import Settled, settle


@dataclass(frozen=True, slots=True)
class Compilation:
    """What compiling a directory gives.

    `objects`: everything rendered, in apply order, each with its provenance; () when an error stopped the compile.
    `diagnostics`: all findings, sorted by place. `phases`: the phase and reason of every CSV, by namespace and name.
    `settled`: the cluster at rest, for whoever wants to look closer.
    """

    objects: tuple[Rendered, ...]
    diagnostics: tuple[Diagnostic, ...]
    phases: Mapping[Name, tuple[str, str]]
    settled: Settled | None = None

    @property
    def failed(self) -> bool:
        """Whether the input could not be compiled."""
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def findings(self) -> bool:
        """Whether an operator would fail, or an object be refused."""
        return any(d.severity is Severity.FAILURE for d in self.diagnostics)


def load(root: Path | str, report: Report | None = None) -> Workspace:
    """The front end alone: read the workspace at `root`; problems go to `report`."""
    report = report if report is not None else Report()
    config = read_config(Path(root), report)
    return load_workspace(Path(root), report, ignored=tuple(config.get("ignore") or ()))


def compile(
    root: Path | str, options: Options | None = None, *, given: frozenset[str] = frozenset()
) -> Compilation:
    """Compile the workspace, or the bundle, in the directory `root`.

    `given` are the names of the options that `olmc.yaml` may not override. Nothing is raised for bad input: whatever is
    wrong with it is among the diagnostics.
    """
    report, path = Report(), Path(root)
    options = options or Options()
    if path.is_dir() and is_bundle(scan(path, Report())):
        settled = _settle_bundle(path, options, report)
    else:
        config = read_config(path, report)
        options = options_from(config, options, given)
        workspace = load_workspace(path, report, ignored=tuple(config.get("ignore") or ()))
        settled = None if _has_errors(report) else settle(workspace, options, report)
    if settled is None or _has_errors(report):
        return Compilation((), tuple(report), {})
    diagnose(settled, report)
    objects = generate(settled.cluster, options, report)
    return Compilation(objects, tuple(report), _phases(settled.cluster), settled)


def _settle_bundle(path: Path, options: Options, report: Report) -> Settled | None:
    bundle = read_bundle(path, scan(path, report), report)
    if bundle is None:
        return None
    made = bare(bundle, options, report)
    return settle(made.workspace, options, report, direct=made.steps)


def _has_errors(report: Report) -> bool:
    return report.worst() is Severity.ERROR


def _phases(cluster: Cluster) -> dict[Name, tuple[str, str]]:
    return {name: (member.phase, member.reason) for name, member in sorted(cluster.members.items())}
