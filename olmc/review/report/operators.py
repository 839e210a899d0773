"""The pages of a report about each operator: versions, objects, images, APIs, permissions, and its problems."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, OperatorGroup
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.facts import EXTENSION, is_copy, original_of, owner_csvs, owner_of
from olmc.compiler.olm.naming import COMPONENT_PREFIX, component_label_key
from olmc.compiler.output.directory import file_name, link_below, put
from olmc.compiler.output.document import page_parts, templates
from olmc.compiler.output.messages import clean, moved
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.diagnostics import Diagnostic, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    OLM_GROUP,
    CatalogKey,
    ObjectKey,
    Rendered,
    as_text,
    labels_of,
    mapping,
    mappings,
    owner_references,
    spec_of,
    text,
    texts,
)
from olmc.resources import template_text
from olmc.review.diagnose.engine import with_diagnoses
from olmc.review.diff.html import PageLink, channel_picture
from olmc.review.diff.versions import Subscribed, subscribed
from olmc.review.diff.workloads import images_of
from olmc.review.explain.extensions import extension_states
from olmc.review.explain.provenance import location_of
from olmc.review.explain.status import OperatorStatus, in_short, lines_from, operators
from olmc.review.graph.upgrade_graph import upgrade_graph
from olmc.review.rbac.subjects import ShownPermissions, first_permissions, holders, permissions
from olmc.review.rbac.who_can import in_words, where
from olmc.review.rules.catalogue import rule_page

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome, OperatorResult
    from olmc.review.diagnose.diagnosis import Diagnosis

# What a report says of ClusterExtensions: where each is from, what it watches, and what ClusterCatalogs serve.


class ExtensionPage(NamedTuple):
    """The facts about the operator of a ClusterExtension in addition to its status: its catalog, the account that
    installs it, the namespaces that it watches (("",) for all), and its upgrade graph as a data URI."""

    catalog: str = ""
    installer: str = ""
    targets: tuple[str, ...] = ()
    picture: str = ""


class ReportExtensions(NamedTuple):
    """The ClusterExtensions of a workspace: their rows of a status, and by name what else there is to say."""

    rows: tuple[OperatorStatus, ...] = ()
    pages: Mapping[str, ExtensionPage] = MappingProxyType({})

    def of(self, row: OperatorStatus) -> ExtensionPage:
        """Yield the facts about the operator in a row, none if it is of none."""
        return self.pages.get(row.extension, ExtensionPage())


def report_extensions(workspace: Workspace, results: Sequence[ExtensionOutcome]) -> ReportExtensions:
    """The facts about ClusterExtensions that a report needs."""
    return ReportExtensions(
        tuple(extension_states(results)),
        {result.extension.name: _extension_page(workspace, result) for result in results},
    )


def _extension_page(workspace: Workspace, result: ExtensionOutcome) -> ExtensionPage:
    extension, resolution = result.extension, result.resolution
    name = resolution.catalog if resolution is not None else ""
    catalog = workspace.catalogs.get(name) or workspace.catalogs.get(f"/{name}")
    package = catalog.packages.get(extension.source.package) if catalog is not None else None
    channel = next(iter(extension.source.channels), package.default_channel if package is not None else "")
    asked = Subscribed(name, package, channel) if package is not None else None
    watched = as_text((extension.config or {}).get("watchNamespace"))
    return ExtensionPage(
        name,
        f"{extension.namespace}/{extension.service_account}",
        (watched,) if result.installed is not None else (),
        channel_picture(asked) if asked is not None else "",
    )


def extension_of(rendered: Rendered) -> str:
    """The ClusterExtension that an object is, or is of, "" for none."""
    return rendered.identity.name if rendered.identity.kind == EXTENSION else owner_of(rendered.object)


def served_catalogs(workspace: Workspace) -> Iterator[CatalogSource]:
    """The ClusterCatalogs as if they were CatalogSources, in no namespace."""
    from olmc.targets.v1.permissions import cluster_catalog  # most workspaces have none

    declared = {catalog.name: catalog for m in workspace.extension_catalogs for catalog in [cluster_catalog(m.object)]}
    for name in sorted(workspace.extension_catalog_names):
        content = workspace.catalogs.get(name) or workspace.catalogs.get(f"/{name}")
        priority = declared[name].priority if name in declared else 0
        problem = content.problem if content is not None else ""
        yield CatalogSource(CatalogKey("", name), priority, content, problem=problem)


_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
NO_EXTENSIONS = ReportExtensions()
_UNITED_FROM = 4
"""From so many objects on that differ by their namespace alone, a line tells how many there are."""


class ReportObject(NamedTuple):
    """Objects of one kind and name: in `namespaces`, () for one of the cluster; where they stem from (`path:line:col`,
    "" for nowhere), the pass that writes them, and its rule."""

    kind: str
    name: str
    namespaces: tuple[str, ...]
    place: str
    stage: str
    rule: str

    @property
    def where(self) -> str:
        """The namespaces in words."""
        if len(self.namespaces) >= _UNITED_FROM:
            return f"{len(self.namespaces)} namespaces"
        return ", ".join(self.namespaces)


class ImageUse(NamedTuple):
    """An image, and what uses it."""

    image: str
    uses: tuple[str, ...]


class OwnedCrd(NamedTuple):
    """A CRD of an operator; `versions` with what is special about each."""

    name: str
    kind: str
    scope: str
    versions: tuple[str, ...]


class ReportPermission(NamedTuple):
    """A permission of an account, its scope, and the names of its risks."""

    level: str
    allows: str
    where: str
    risks: tuple[str, ...]


class ReportAccount(NamedTuple):
    """An account that an operator runs under: what deserves a look, and what else it may do; `more` rules of its roles
    are left out."""

    name: str
    level: str
    risky: tuple[ReportPermission, ...]
    others: tuple[ReportPermission, ...]
    more: int = 0


class OperatorPage(NamedTuple):
    """All that a report says of an operator.

    `slug` names its page in every run. `targets`: the namespaces that it watches, ("",) for all, () for none.
    `picture`: its upgrade graph as a data URI, "" where no catalog has it. `catalog` is the CatalogSource or
    the ClusterCatalog that it is from, `installer` the account by which a ClusterExtension installs it.
    """

    slug: str
    status: OperatorStatus
    title: str
    catalog: str
    group: str
    targets: tuple[str, ...]
    picture: str
    objects: tuple[ReportObject, ...]
    images: tuple[ImageUse, ...]
    crds: tuple[OwnedCrd, ...]
    webhooks: tuple[str, ...]
    accounts: tuple[ReportAccount, ...]
    findings: tuple[Diagnostic, ...]
    installer: str = ""

    @property
    def state(self) -> str:
        """`failing`, `waiting` for an approval or something unknown, or `running`."""
        if self.status.fails:
            return "failing"
        return "running" if self.status.phase == "Succeeded" and not self.status.waits else "waiting"

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The findings that somebody should do something about."""
        return tuple(finding for finding in self.findings if finding.severity > Severity.INFO)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """The others."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.INFO)

    @property
    def level(self) -> str:
        """Return how dangerous the most dangerous permission of its accounts is, "none" for harmless ones."""
        ranks = ("none", "low", "medium", "high", "critical")
        return max((account.level for account in self.accounts), key=ranks.index, default="none")


def operator_pages(
    settled: SettledCluster, objects: Sequence[Rendered], findings: Iterable[Diagnostic],
    proposed: Iterable[OperatorResult] = (), extensions: ReportExtensions = NO_EXTENSIONS,
    diagnoses: Sequence[Diagnosis] = (), folder: str = "",
) -> tuple[OperatorPage, ...]:  # fmt: skip
    """The pages of all operators, in the order of `olmc status`; `proposed` are the results of Operators, `extensions`
    those of ClusterExtensions, `diagnoses` the causes of what goes wrong; `folder` stands before places, as it does in
    the findings."""
    rows = with_diagnoses(operators(settled, proposed, extensions.rows), diagnoses)
    rows = tuple(row._replace(missing=lines_from(folder, row.missing)) for row in rows)
    owned = _by_operator(rows, objects)
    everybody = holders(permissions(objects), objects)
    # ClusterExtensions have no CSV that says which accounts are theirs.
    wanted = (each for each in everybody if each.operators or (each.subject.kind == ACCOUNT and extensions.rows))
    accounts = tuple(first_permissions(wanted))
    all_findings = tuple(findings)
    slugs = _slugs(rows)
    return tuple(
        _page(row, slug, owned[number], accounts, all_findings, settled, extensions.of(row), folder)
        for number, (row, slug) in enumerate(zip(rows, slugs, strict=True))
    )


def _slugs(rows: Sequence[OperatorStatus]) -> list[str]:
    """A name for the page of each operator that stays while its version changes."""
    plain = [_slug(row.namespace, row.package) for row in rows]
    return [
        slug
        if plain.count(slug) == 1
        else _slug(f"{row.namespace}_{row.package}", row.subscription or row.extension or row.csv)
        for slug, row in zip(plain, rows, strict=True)
    ]


def _slug(*names: str) -> str:
    return file_name(ObjectKey("", "", *names)).removesuffix(".yaml")


def _page(
    row: OperatorStatus, slug: str, objects: Sequence[Rendered], accounts: Iterable[ShownPermissions],
    findings: Iterable[Diagnostic], settled: SettledCluster, extension: ExtensionPage,
    folder: str,
) -> OperatorPage:  # fmt: skip
    cluster = settled.cluster
    asked = subscribed(settled, row.namespace, row.package) if row.subscription else None
    name = NamespacedName(row.namespace, row.csv)
    member = cluster.members.get(name)
    group = member.group if member is not None else None
    listed = tuple(_listed(objects, cluster, folder))
    own = {str(rendered.identity) for rendered in objects if rendered.identity.kind == ACCOUNT and row.extension}
    files = {line.place.rsplit(":", 2)[0] for line in listed if line.place}
    return OperatorPage(
        slug,
        row,
        text(spec_of(member.csv.object).get("displayName")) if member is not None else "",
        asked.catalog if asked is not None else extension.catalog,
        group.name if group is not None else "",
        _targets(group) or extension.targets,
        channel_picture(asked) if asked is not None else extension.picture,
        listed,
        tuple(_images(objects)),
        tuple(_crds(objects)),
        tuple(_webhooks(objects)),
        tuple(
            _account(shown) for shown in accounts if name in shown.holder.operators or str(shown.holder.subject) in own
        ),
        tuple(each for each in findings if each.location is not None and each.location.path in files),
        extension.installer,
    )


def _targets(group: OperatorGroup | None) -> tuple[str, ...]:
    return group.targets if group is not None else ()


def _by_operator(rows: Sequence[OperatorStatus], objects: Iterable[Rendered]) -> dict[int, list[Rendered]]:
    """The objects of each operator, by its number among `rows`."""
    by_label = {component_label_key(row.package, row.namespace): number for number, row in enumerate(rows)}
    by_csv = {(row.namespace, row.csv): number for number, row in enumerate(rows) if row.csv}
    by_extension = {row.extension: number for number, row in enumerate(rows) if row.extension}
    owned: dict[int, list[Rendered]] = defaultdict(list)
    crds: dict[str, int] = {}
    for rendered in objects:
        of_v1 = by_extension.get(extension_of(rendered)) if by_extension else None
        for number in _owners(rendered, by_label, by_csv, crds) if of_v1 is None else {of_v1}:
            owned[number].append(rendered)
            if rendered.identity.kind == "CustomResourceDefinition":
                crds[rendered.identity.name] = number
    return owned


def _owners(
    rendered: Rendered, by_label: Mapping[str, int], by_csv: Mapping[tuple[str, str], int], crds: Mapping[str, int]
) -> set[int]:
    """The operators that an object is of: as OLM labels it, as it names its owner, or as the name of a copy says."""
    key, labels = rendered.identity, labels_of(rendered.object)
    marks = [COMPONENT_PREFIX + key.name] if (key.group, key.kind) == (OLM_GROUP, "Operator") else labels
    owners = {by_label[label] for label in marks if label in by_label}
    if owners:
        return owners
    named: list[tuple[str, str]] = list(owner_csvs(rendered.object))
    if key.kind == CSV_KIND:
        original = original_of(rendered.object)
        named.append(original or ("" if is_copy(rendered.object) else key.namespace, key.name))
    references = [
        (text(reference.get("kind")), text(reference.get("name"))) for reference in owner_references(rendered.object)
    ]
    named += [(key.namespace, name) for kind, name in references if kind == "OperatorCondition"]
    owners = {by_csv[name] for name in named if name in by_csv}
    return owners | {crds[name] for kind, name in references if kind == "customresourcedefinition" and name in crds}


def _listed(objects: Iterable[Rendered], cluster: Cluster, folder: str) -> Iterator[ReportObject]:
    """The objects, those that differ by their namespace alone in one line."""
    united: dict[tuple[str, str, str, str, str], list[str]] = defaultdict(list)
    for rendered in objects:
        key, provenance = rendered.identity, rendered.provenance
        location = moved(folder, location_of(rendered, cluster))
        rule = provenance.rule if provenance.rule.startswith("R-") else ""
        line = (key.kind, key.name, str(location) if location is not None else "", provenance.stage, rule)
        united[line].append(key.namespace)
    for (kind, name, place, stage, rule), namespaces in united.items():
        yield ReportObject(kind, name, tuple(filter(None, namespaces)), place, stage, rule)


def _images(objects: Iterable[Rendered]) -> Iterator[ImageUse]:
    uses: dict[str, list[str]] = defaultdict(list)
    for rendered in objects:
        if rendered.identity.kind == CSV_KIND and is_copy(rendered.object):
            continue
        for place, image in images_of(rendered.object).items():
            uses[image].append(f"{rendered.identity.kind} {rendered.identity.name}: {place}")
    for image, places in sorted(uses.items()):
        yield ImageUse(image, tuple(places))


def _crds(objects: Iterable[Rendered]) -> Iterator[OwnedCrd]:
    for rendered in objects:
        if rendered.identity.kind == "CustomResourceDefinition":
            spec = spec_of(rendered.object)
            versions = tuple(_version(version) for version in mappings(spec.get("versions")))
            kind = text(mapping(spec.get("names")).get("kind"))
            yield OwnedCrd(rendered.identity.name, kind, text(spec.get("scope")), versions)


def _version(version: Mapping[str, object]) -> str:
    special = [word for field, word in (("storage", "stored"), ("deprecated", "deprecated")) if version.get(field)]
    special += [] if version.get("served") else ["not served"]
    return text(version.get("name")) + (f" ({', '.join(special)})" if special else "")


def _webhooks(objects: Iterable[Rendered]) -> Iterator[str]:
    for rendered in objects:
        if rendered.identity.kind in _WEBHOOKS:
            for webhook in mappings(rendered.object.get("webhooks")):
                asked = "; ".join(map(_intercepted, mappings(webhook.get("rules"))))
                policy = text(webhook.get("failurePolicy")) or "Fail"
                yield f"{text(webhook.get('name'))}: {asked} (failurePolicy {policy})"


def _intercepted(rule: Mapping[str, object]) -> str:
    verbs, resources = (", ".join(texts(rule.get(field))) for field in ("operations", "resources"))
    groups = ", ".join(group for group in texts(rule.get("apiGroups")) if group)
    return f"{verbs} {resources}" + (f" of {groups}" if groups else "")


def _account(shown: ShownPermissions) -> ReportAccount:
    holder = shown.holder
    rows = [
        ReportPermission(
            str(permission.level), in_words(permission.rule), where(permission.namespaces),
            tuple(risk.name for risk in permission.risks),
        )
        for permission in shown.permissions
    ]  # fmt: skip
    risky = tuple(row for row in rows if row.level != "none")
    others = tuple(row for row in rows if row.level == "none")
    return ReportAccount(str(holder.subject), str(holder.level), risky, others, shown.more)


# What a report says of a whole workspace: its operators, findings, namespaces and catalogs.

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
    """A CatalogSource, or in no namespace a ClusterCatalog: the reason why it can't be served, "" if it can; the
    requested packages, and how many others it has (None: its content is unknown)."""

    name: str
    namespace: str
    priority: int
    problem: str
    packages: tuple[ReportPackage, ...]
    others: int | None


class Overview(NamedTuple):
    """The start of a report; `findings` most severe first, `counts` how many there are of each severity."""

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
        """Return how many operators are in a state."""
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


# A report as pages of HTML: each loads nothing from other places and runs one script of its own.

INDEX, NAMESPACES, CATALOGS, FINDINGS, PLAN = (
    "index.html", "namespaces.html", "catalogs.html", "findings.html", "plan.html",
)  # fmt: skip
OPERATORS = "operators"
"""The folder of the pages of operators."""


def pages(overview: Overview, plan: Callable[[Sequence[PageLink]], str] | None = None) -> dict[str, str]:
    """The pages by their paths; `plan` makes a page of its own with links to the others, if a change is planned."""
    # What a terminal or a page would execute is made visible.
    environment = templates(finalize=lambda value: clean(value) if type(value) is str else value)
    style, script = (template_text(f"report/report.{name}").strip() for name in ("css", "js"))
    navigation = list(_navigation(overview, plan is not None))
    values: dict[str, Any] = {
        **page_parts(style, script),
        "name": overview.name,
        "overview": overview,
        "navigation": navigation,
        "column": dict(_columns(overview)),
        "rule_page": rule_page,
        "short": {page.slug: in_short(page.status) for page in overview.operators},
    }

    def written(template: str, path: str, **more: Any) -> str:
        root = "../" * path.count("/")
        return environment.get_template(f"report/{template}.html.j2").render(values, here=path, root=root, **more)

    made = {path: written(path.removesuffix(".html"), path) for path in (INDEX, NAMESPACES, CATALOGS, FINDINGS)}
    for page in overview.operators:
        path = f"{OPERATORS}/{page.slug}.html"
        made[path] = written("operator", path, page=page, facts=list(_facts(page)), sections=list(_sections(page)))
    return made | ({PLAN: plan(navigation)} if plan is not None else {})


def _navigation(overview: Overview, with_plan: bool) -> Iterator[PageLink]:
    """The pages that every page leads to."""
    yield PageLink(INDEX, "Operators", len(overview.operators))
    yield PageLink(NAMESPACES, "Namespaces", len(overview.namespaces))
    yield PageLink(CATALOGS, "Catalogs", len(overview.catalogs))
    yield PageLink(FINDINGS, "Findings", len(overview.findings))
    if with_plan:
        yield PageLink(PLAN, "Plan")


def _columns(overview: Overview) -> Iterator[tuple[str, str]]:
    """Return the name of each operator in the matrix: its package, with its namespace if there are several of it."""
    counts = Counter(page.status.package for page in overview.operators)
    for page in overview.operators:
        row = page.status
        yield page.slug, f"{row.package} ({row.namespace})" if counts[row.package] > 1 else row.package


def _facts(page: OperatorPage) -> Iterator[tuple[str, str]]:
    row = page.status
    targets = "all namespaces" if page.targets == ("",) else ", ".join(page.targets) or "no namespace"
    facts = {
        "version": row.version,
        "Subscription": row.subscription,
        "ClusterExtension": row.extension,
        "installed by": page.installer,
        "catalog": page.catalog,
        "channel": row.channel,
        "next upgrade": f"{row.upgrade} ({row.waits})" if row.upgrade else "",
        "OperatorGroup": page.group,
        "watches": targets if page.group or (row.extension and page.targets) else "",
    }
    yield from ((term, value) for term, value in facts.items() if value)


def _sections(page: OperatorPage) -> Iterator[tuple[str, str, int | None]]:
    """The anchors of the sections that a page has, as its template does."""
    yield "installation", "Installation", None
    parts: tuple[tuple[str, str, tuple[object, ...]], ...] = (
        ("missing", "What is missing", page.status.missing),
        ("findings", "Findings", page.findings),
        ("permissions", "Permissions", page.accounts),
        ("images", "Images", page.images),
        ("apis", "APIs and webhooks", (*page.crds, *page.webhooks)),
        ("objects", "Objects", page.objects),
    )
    yield from ((name, heading, len(items)) for name, heading, items in parts if items)


MARK = '<meta name="generator" content="olmc '
_HEAD = 500
"""In how many characters from the beginning of a page the mark is looked for."""


class ForeignFileError(Exception):
    """A file that olmc report did not write stands where a page would be."""


def write_site(folder: Path, pages: Mapping[str, str]) -> None:
    """Write the pages, and remove those of an earlier report that are no more.

    Raises ForeignFileError before anything is written, and OSError.
    """
    if link_below(folder, OPERATORS) is not None:
        raise ForeignFileError(f"{(folder / OPERATORS).as_posix()} leads elsewhere and is not of olmc report")
    for name in pages:
        if os.path.lexists(folder / name) and not _is_ours(folder / name):
            raise ForeignFileError(f"{(folder / name).as_posix()} is not of olmc report")
    for place in (folder, folder / OPERATORS):
        place.mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        put(folder / name, page)
    for path in (*folder.glob("*.html"), *(folder / OPERATORS).glob("*.html")):
        if path.relative_to(folder).as_posix() not in pages and _is_ours(path):
            path.unlink()


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        return MARK in stream.read(_HEAD)
