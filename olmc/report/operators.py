"""What a report says of each operator: versions, objects, images, APIs, permissions, and what is wrong with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.diff.html import channel_picture
from olmc.diff.images import images_of
from olmc.diff.operators import is_copy
from olmc.diff.versions import subscribed
from olmc.explain.provenance import location_of
from olmc.explain.status import OperatorStatus, operators
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.model.objects import (
    ACCOUNT,
    ObjectKey,
    Rendered,
    labels_of,
    mapping,
    mappings,
    owner_references,
    spec_of,
    text,
    texts,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP, OperatorGroup
from olmc.olm.naming import COMPONENT_PREFIX, COPIED_FROM, component_label_key
from olmc.output.directory import file_name
from olmc.rbac_report.permissions import permissions
from olmc.rbac_report.subjects import ShownPermissions, first_permissions, holders
from olmc.rbac_report.text import in_words, where
from olmc.reconcile.loop import SettledCluster
from olmc.report.extensions import ExtensionPage, ReportExtensions, extension_of

if TYPE_CHECKING:
    from olmc.proposed.v2alpha1.approval import OperatorResult

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
    """What an account may do, where, and the names of the risks of it."""

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
        """How dangerous the most dangerous permission of its accounts is, "none" for harmless ones."""
        ranks = ("none", "low", "medium", "high", "critical")
        return max((account.level for account in self.accounts), key=ranks.index, default="none")


def operator_pages(
    settled: SettledCluster, objects: Sequence[Rendered], findings: Iterable[Diagnostic],
    proposed: Iterable[OperatorResult] = (), extensions: ReportExtensions = NO_EXTENSIONS,
) -> tuple[OperatorPage, ...]:  # fmt: skip
    """The pages of all operators, in the order of `olmc status`; `proposed` is what became of those of v2alpha1,
    `extensions` of ClusterExtensions."""
    rows = operators(settled, proposed, extensions.rows)
    owned = _by_operator(rows, objects)
    everybody = holders(permissions(objects), objects)
    # ClusterExtensions have no CSV that says which accounts are theirs.
    wanted = (each for each in everybody if each.operators or (each.subject.kind == ACCOUNT and extensions.rows))
    accounts = tuple(first_permissions(wanted))
    all_findings = tuple(findings)
    slugs = _slugs(rows)
    return tuple(
        _page(row, slug, owned[number], accounts, all_findings, settled, extensions.of(row))
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
) -> OperatorPage:  # fmt: skip
    cluster = settled.cluster
    asked = subscribed(settled, row.namespace, row.package) if row.subscription else None
    name = NamespacedName(row.namespace, row.csv)
    member = cluster.members.get(name)
    group = member.group if member is not None else None
    listed = tuple(_listed(objects, cluster))
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
    named = [(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")))]
    if key.kind == CSV_KIND:
        home = labels.get(COPIED_FROM) if is_copy(rendered.object) else key.namespace
        named.append((text(home), key.name))
    references = [
        (text(reference.get("kind")), text(reference.get("name"))) for reference in owner_references(rendered.object)
    ]
    named += [(key.namespace, name) for kind, name in references if kind in (CSV_KIND, "OperatorCondition")]
    owners = {by_csv[name] for name in named if name in by_csv}
    return owners | {crds[name] for kind, name in references if kind == "customresourcedefinition" and name in crds}


def _listed(objects: Iterable[Rendered], cluster: Cluster) -> Iterator[ReportObject]:
    """The objects, those that differ by their namespace alone in one line."""
    united: dict[tuple[str, str, str, str, str], list[str]] = defaultdict(list)
    for rendered in objects:
        key, provenance = rendered.identity, rendered.provenance
        location = location_of(rendered, cluster)
        rule = provenance.rule if provenance.rule.startswith("R-") else ""
        line = (key.kind, key.name, str(location) if location is not None else "", provenance.stage, rule)
        united[line].append(key.namespace)
    for (kind, name, place, stage, rule), namespaces in united.items():
        yield ReportObject(kind, name, tuple(filter(None, namespaces)), place, stage, rule)


def _images(objects: Iterable[Rendered]) -> Iterator[ImageUse]:
    uses: dict[str, list[str]] = defaultdict(list)
    for rendered in objects:
        if is_copy(rendered.object):
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
