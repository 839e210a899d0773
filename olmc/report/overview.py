"""What a report says of a whole workspace: its operators, findings, namespaces and catalogs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from olmc.graph.upgrade_graph import upgrade_graph
from olmc.lean import NamedTuple
from olmc.model.cluster import CatalogSource
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.reconcile.loop import SettledCluster
from olmc.report.operators import OperatorPage

STATES = ("failing", "waiting", "running")
_WATCHES, _HOME, _BOTH = "watches", "installed", "installed and watches"


class NamespaceRow(NamedTuple):
    """A namespace, and what each operator has to do with it: "" for nothing."""

    name: str
    cells: tuple[str, ...]


class ReportPackage(NamedTuple):
    """A package of a catalog: its default channel, and `channels` with the head of each."""

    name: str
    default_channel: str
    channels: tuple[tuple[str, str], ...]


class ReportCatalog(NamedTuple):
    """A CatalogSource, or in no namespace a ClusterCatalog: why it can't be served, "" if it can; the packages that
    somebody asks for, and how many others it has (None: nobody knows what is in it)."""

    name: str
    namespace: str
    priority: int
    problem: str
    packages: tuple[ReportPackage, ...]
    others: int | None


class Overview(NamedTuple):
    """What a report begins with; `findings` gravest first, `counts` how many there are of each severity."""

    name: str
    operators: tuple[OperatorPage, ...]
    findings: tuple[Diagnostic, ...]
    counts: tuple[tuple[str, int], ...]
    namespaces: tuple[NamespaceRow, ...]
    catalogs: tuple[ReportCatalog, ...]

    @property
    def gravest_first(self) -> tuple[OperatorPage, ...]:
        """The operators, those that fail in front of those that wait for something."""
        return tuple(sorted(self.operators, key=lambda page: STATES.index(page.state)))

    def count(self, state: str) -> int:
        """How many operators are in a state."""
        return sum(page.state == state for page in self.operators)


def overview(
    name: str, pages: tuple[OperatorPage, ...], findings: Iterable[Diagnostic], settled: SettledCluster,
    served: Iterable[CatalogSource] = (),
) -> Overview:  # fmt: skip
    """The overview of the workspace called `name`; `served` are its ClusterCatalogs."""
    ordered = tuple(sorted(findings, key=lambda finding: -finding.severity))
    numbers = Counter(finding.severity for finding in ordered)
    return Overview(
        name,
        pages,
        ordered,
        tuple((str(severity), numbers[severity]) for severity in sorted(Severity, reverse=True) if numbers[severity]),
        tuple(
            NamespaceRow(namespace, tuple(_cell(namespace, page) for page in pages))
            for namespace in sorted(settled.cluster.namespaces)
        ),
        tuple(_catalogs([*settled.cluster.catalogs.values(), *served], pages)),
    )


def _cell(namespace: str, page: OperatorPage) -> str:
    is_home = page.status.namespace == namespace and bool(page.status.csv)
    is_watched = page.targets == ("",) or namespace in page.targets
    return _BOTH if is_home and is_watched else _HOME if is_home else _WATCHES if is_watched else ""


def _catalogs(sources: Iterable[CatalogSource], pages: Sequence[OperatorPage]) -> Iterator[ReportCatalog]:
    asked = {page.status.package for page in pages}
    for source in sorted(sources, key=lambda source: source.key):
        key = source.key
        packages = tuple(_packages(source, asked))
        catalog = source.catalog
        others = None if catalog is None else len(catalog.packages) - len(packages) + len(catalog.left_out)
        yield ReportCatalog(key.name, key.namespace, source.priority, source.problem, packages, others)


def _packages(source: CatalogSource, asked: set[str]) -> Iterator[ReportPackage]:
    catalog = source.catalog
    for name, package in sorted(catalog.packages.items()) if catalog is not None else ():
        if name in asked:
            graph = upgrade_graph(package)
            heads = tuple((channel.name, ", ".join(channel.heads)) for channel in graph.channels)
            yield ReportPackage(name, package.default_channel, heads)
