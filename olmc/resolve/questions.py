"""What a namespace asks of the resolver, with the state that it is asked in (R-CAT-500 … R-CAT-514)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olmc.model.cluster import CatalogSource, Cluster, Name, Subscription
from olmc.model.objects import CatalogKey
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.model.resolution import Present, Question, VisibleCatalog, Wish
from olmc.resolve.constraints import REQUIREMENTS
from olmc.resolve.present import UnreadablePropertiesError, csv_properties
from olmc.resolve.view import EXISTING


def question_of(
    cluster: Cluster,
    namespace: str,
    mine: Mapping[Name, Subscription],
    visible: Sequence[CatalogSource],
    options: Options,
) -> Question:
    """The question that a namespace's Subscriptions ask of the catalogs that it sees."""
    catalogs = [VisibleCatalog(s.key, s.priority, s.entries, s.problem) for s in visible]
    present = []
    for csv in cluster.csvs_in(namespace):
        try:
            present.append(present_of(csv, cluster, mine))
        except UnreadablePropertiesError as error:
            catalogs.append(VisibleCatalog(CatalogKey(EXISTING, namespace), problem=str(error)))
    wishes = tuple(wish_of(s) for s in mine.values())
    unheeded = REQUIREMENTS.difference(cluster.profile.resolver_constraints)
    fail_forward = fails_forward(cluster, namespace)
    return Question(
        namespace, tuple(catalogs), wishes, tuple(present), fail_forward,
        unheeded=unheeded, legacy_precedence=options.legacy_precedence,
    )  # fmt: skip


def wish_of(s: Subscription) -> Wish:
    """A Subscription as the resolver sees it."""
    return Wish(
        name=s.name.name,
        package=s.package,
        channel=s.channel,
        catalog=s.catalog,
        starting=s.starting_csv,
        installed=s.installed,
        current=s.current,
    )


def present_of(csv: Csv, cluster: Cluster, mine: Mapping[Name, Subscription]) -> Present:
    """A CSV as the resolver sees it; `mine` may have it installed. Raises UnreadablePropertiesError."""
    packages = {s.package for s in mine.values() if s.installed == csv.name}
    member = cluster.members.get(Name(csv.namespace, csv.name))
    return Present(
        name=csv.name,
        version=csv.version,
        properties=csv_properties(csv, packages),
        replaces=csv.replaces,
        phase=member.phase if member else "",
    )


def fails_forward(cluster: Cluster, namespace: str) -> bool:
    """Whether the namespace's one OperatorGroup lets upgrades go on from failed CSVs (R-CAT-504, R-CAT-588)."""
    groups = cluster.groups_in(namespace)
    return cluster.profile.resolver_failforward and len(groups) == 1 and groups[0].fails_forward
