"""The cluster as olmc follows it from the workspace's first state to the state where no controller changes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from olmc.compiler.model.operators import Csv, OperatorGroup, OwnedAPI
from olmc.compiler.model.options import Profile
from olmc.compiler.model.workspace import PolicyApproval
from olmc.k8s.diagnostics import Cause, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CelAccount
from olmc.k8s.objects import (
    GVK,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    as_text,
    labels_of,
    mapping,
    mappings,
    name_of,
    namespace_of,
    spec_of,
    split_api_version,
)

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Candidate, Catalog
    from olmc.k8s.objects import Rendered

# Mappings that know which of their entries belong together, also after a change.

K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")


class Indexed(Mapping[K, V], Generic[K, P, V]):
    """Entries in the order in which they came, as in a dict, and the part that each is in; it never changes.

    A change gives another mapping, for which only the parts that it concerns are looked at.
    """

    __slots__ = ("_entries", "_part_of", "_parts")

    def __init__(self, part_of: Callable[[K], P], entries: Mapping[K, V], parts: Mapping[P, Mapping[K, V]]) -> None:
        """`parts` are those of the entries; see `by_namespace` and `by_kind`."""
        self._part_of, self._entries, self._parts = part_of, entries, parts

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    @property
    def parts(self) -> Iterable[P]:
        """The parts that have entries."""
        return self._parts.keys()

    def within(self, part: P) -> Mapping[K, V]:
        """The entries of a part, in the order in which they came."""
        return self._parts.get(part, {})

    def updated(self, entries: Mapping[K, V]) -> Indexed[K, P, V]:
        """It with these entries: those that it has in their places, new ones behind all others."""
        changed = {part: {**self.within(part), **some} for part, some in _parted(entries, self._part_of).items()}
        return Indexed(self._part_of, {**self._entries, **entries}, {**self._parts, **changed})

    def without(self, key: K) -> Indexed[K, P, V]:
        """It without the entry of this key."""
        if key not in self._entries:
            return self
        entries, part = {**self._entries}, self._part_of(key)
        del entries[key]
        rest = {other: value for other, value in self.within(part).items() if other != key}
        parts = {**self._parts, part: rest}
        return Indexed(self._part_of, entries, {name: some for name, some in parts.items() if some})


def _parted(entries: Mapping[K, V], part_of: Callable[[K], P]) -> dict[P, dict[K, V]]:
    parts: dict[P, dict[K, V]] = {}
    for key, value in entries.items():
        parts.setdefault(part_of(key), {})[key] = value
    return parts


ByNamespace: TypeAlias = "Indexed[NamespacedName, str, V]"
ByKind: TypeAlias = "Indexed[ObjectKey, tuple[str, str], Rendered]"


def by_namespace(entries: Mapping[NamespacedName, V]) -> ByNamespace[V]:
    """Group entries by namespace; each group is a part."""
    part_of: Callable[[NamespacedName], str] = attrgetter("namespace")
    return Indexed(part_of, dict(entries), _parted(entries, part_of))


def by_kind(objects: Mapping[ObjectKey, Rendered]) -> ByKind:
    """Objects; each group and kind is a part."""
    part_of: Callable[[ObjectKey], tuple[str, str]] = itemgetter(0, 1)
    return Indexed(part_of, dict(objects), _parted(objects, part_of))


# How many InstallPlans of a namespace OLM keeps (R-CAT-606).
MAX_PLANS = 5


class NamespacedName(NamedTuple):
    """The namespace and name of an object whose kind is known."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class CatalogSource(NamedTuple):
    """A CatalogSource and what it serves.

    `entries` is what the resolver sees of its content, `problem` OLM's text for why it can't be read; `refused` is the
    message of its status if OLM does not even start to serve it. `is_unchecked`: OLM can't tell whether it is healthy,
    and so says nothing of any catalog beside it. `is_unstarted`: its content is known, and nothing states that its Pod
    runs. `lacks_bundles`: its content is a template with bundles that the workspace does not have. `of_cluster`: the
    cluster has it already, so that no output has it.
    """

    key: CatalogKey
    priority: int
    catalog: Catalog | None
    entries: Sequence[Candidate] = ()
    problem: str = ""
    manifest: KubernetesObject | None = None
    source: Source | None = None
    refused: str = ""
    is_unchecked: bool = False
    is_unstarted: bool = False
    lacks_bundles: bool = False
    of_cluster: bool = False


class Step(NamedTuple):
    """A step of an InstallPlan (R-CAT-610).

    `object` is what it applies. `derived` marks what stems from the CSV's install strategy rather than from a file of
    the bundle.
    """

    resolving: str
    catalog: CatalogKey
    api_version: str
    kind: str
    name: str
    object: KubernetesObject
    source: Source | None
    derived: bool = False

    @property
    def gvk(self) -> GVK:
        return GVK(*split_api_version(self.api_version), self.kind)


class BundleLookup(NamedTuple):
    """A bundle that an InstallPlan unpacks from its image (R-CAT-616); `properties` is the text of R-CAT-621.

    `csv` is the name in the catalog, `resolving` that of the CSV in the image, by which the steps go.
    """

    image: str
    csv: str
    replaces: str
    catalog: CatalogKey
    properties: str
    resolving: str


APPROVAL = "RequiresApproval"
"""The phase of an InstallPlan that waits for approval."""


class InstallPlan(NamedTuple):
    """An InstallPlan and how far it got.

    `owners` are the names of the namespace's Subscriptions when it was made, `executed` the number of steps that were
    carried out in the last run, `written` in any.
    `condition` is the Installed condition as (status, reason, message), None before there is one. `given` is the object
    of the workspace for a plan that was there from the start, and `resumed` whether OLM went on with it. `fault`: the
    keys that lead to the mistake in the object of the step that failed; `cause`: why it is not carried out to its end,
    where more is known than the message. `lost`: the first step whose content went with its catalog, and OLM's error.
    """

    namespace: str
    name: str
    generation: int
    approval: str
    approved: bool
    csvs: tuple[str, ...]
    steps: tuple[Step, ...]
    lookups: tuple[BundleLookup, ...]
    owners: tuple[str, ...]
    phase: str
    message: str = ""
    condition: tuple[str, str, str] | None = None
    executed: int = 0
    given: KubernetesObject | None = None
    resumed: bool = False
    account: Mapping[str, str] | None = None
    fault: tuple[str | int, ...] = ()
    cause: Cause | None = None
    written: int = 0
    lost: tuple[int, str] | None = None

    @property
    def runs_twice(self) -> bool:
        """Return whether OLM carries it out twice: the label of its component is written while it runs for the first
        time, so that its status can't be (observed-2). One that somebody approves has the label by then."""
        return self.approval != "Manual" and not self.resumed

    @property
    def is_ignored(self) -> bool:
        """Return whether OLM leaves it alone: a person wrote it, so that its status has no steps (R-CAT-607)."""
        return self.given is not None and not (self.phase or self.steps or self.lookups or self.resumed)

    @property
    def reached(self) -> int:
        """Return how many of its steps were carried out in some run."""
        return max(self.executed, self.written)


class Subscription(NamedTuple):
    """A Subscription with the parts of its status that decide what happens next (R-CAT-641 … R-CAT-656).

    `plan` is the name of the InstallPlan that it refers to, `generated_by` that of the plan that made the Subscription,
    `failure` the reason and message of ResolutionFailed, `unpacking` whether a bundle never got unpacked, with
    `unpacking_message`, and `unpack_failure` the reason and message of BundleUnpackFailed where that will not change by
    itself; `condition_types` are those of the conditions that it has in the workspace, whose order stays;
    `deprecations` the types and messages of those about a deprecation. `had_catalog`: OLM has seen its catalog, so that
    a missing one was deleted, and is not just unknown. `health` and `unhealthy` are the list catalogHealth and the
    condition CatalogSourcesUnhealthy that it has in the workspace. `misses_plan`: it says that its plan is missing.
    """

    object: KubernetesObject
    source: Source | None
    current: str = ""
    installed: str = ""
    state: str = ""
    plan: str = ""
    generation: int = 0
    generated_by: str = ""
    failure: tuple[str, str] | None = None
    unpacking: bool = False
    unpacking_message: str = ""
    unpack_failure: tuple[str, str] | None = None
    condition_types: tuple[str, ...] = ()
    deprecations: tuple[tuple[str, str], ...] = ()
    had_catalog: bool = False
    health: tuple[Mapping[str, Any], ...] = ()
    unhealthy: Mapping[str, Any] | None = None
    misses_plan: bool = False

    @property
    def name(self) -> NamespacedName:
        return NamespacedName(namespace_of(self.object), name_of(self.object))

    @property
    def resolved(self) -> Subscription:
        """It without what kept its namespace from being resolved, or its bundles from being unpacked, before."""
        removed = ("ResolutionFailed", "BundleUnpacking", "BundleUnpackFailed")
        types = tuple(kind for kind in self.condition_types if kind not in removed)
        return self._replace(
            failure=None, unpacking=False, unpacking_message="", unpack_failure=None, condition_types=types
        )

    @property
    def labels(self) -> Mapping[str, str]:
        return labels_of(self.object)

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    @property
    def package(self) -> str:
        return as_text(self.spec.get("name"))

    @property
    def channel(self) -> str:
        """The channel that it asks for, "" for the package's default channel."""
        return as_text(self.spec.get("channel"))

    @property
    def starting_csv(self) -> str:
        return as_text(self.spec.get("startingCSV"))

    @property
    def approval(self) -> str:
        """Return how its InstallPlans are approved; anything but Manual means Automatic."""
        return as_text(self.spec.get("installPlanApproval"))

    @property
    def catalog(self) -> CatalogKey:
        return CatalogKey(as_text(self.spec.get("sourceNamespace")), as_text(self.spec.get("source")))


def seen_catalogs(subscription: KubernetesObject) -> frozenset[CatalogKey]:
    """The catalogs that OLM has seen for a Subscription, by its status (R-CAT-650)."""
    health = mappings(mapping(subscription.get("status")).get("catalogHealth"))
    refs = (mapping(item.get("catalogSourceRef")) for item in health)
    return frozenset(CatalogKey(as_text(ref.get("namespace")), as_text(ref.get("name"))) for ref in refs)


class StrategyProgress(NamedTuple):
    """The progress of an install strategy: the number of written Deployments and webhook descriptions, and the number
    of CRDs that got their conversion from the next description, at which it stopped.

    `certificates`: how many objects that serve its Deployments were written, `apiservices`: how many API services; None
    for all.
    """

    deployments: int
    webhooks: int
    conversions: int = 0
    certificates: int | None = None
    apiservices: int | None = None


class CsvState(NamedTuple):
    """The state of a CSV: its phase, and the progress of its install strategy (None: not begun).

    `requirements`: the list that OLM wrote, which may be an old one, and `lacking` the requirements that are missing in
    the end. `flapping`: OLM never settles here, and the phase is the one that it keeps returning to. `place`: the keys
    in the CSV that lead to the cause of its failure, if they are known.
    """

    csv: Csv
    group: OperatorGroup | None
    phase: str
    reason: str
    message: str
    requirements: tuple[Mapping[str, Any], ...] = ()
    installation: StrategyProgress | None = None
    flapping: bool = False
    history: tuple[tuple[str, str, str], ...] = ()
    lacking: tuple[Mapping[str, Any], ...] = ()
    place: tuple[str | int, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @property
    def progress(self) -> StrategyProgress:
        """Return how far its install strategy was carried out, also if that was not begun."""
        return self.installation or StrategyProgress(0, 0)

    def in_phase(self, phase: str, reason: str, message: str) -> CsvState:
        """The CSV in its next phase, which its history shows."""
        history = (*self.history, (phase, reason, message))
        return self._replace(phase=phase, reason=reason, message=message, history=history)

    @property
    def cause(self) -> tuple[str, str, str]:
        """The phase, reason and message that say why it does not succeed: its own, or those that brought it back to
        where it stands."""
        # InstallReady says that all is well; what went wrong before is one step back in the history (observed-49).
        again = (entry for entry in reversed(self.history) if entry[1] == "NeedsReinstall")
        own = (self.phase, self.reason, self.message)
        return next(again, own) if self.phase == "InstallReady" else own


OLMCONFIG = ObjectKey(OLM_GROUP, "OLMConfig", "", "cluster")


def disables_copies(config: KubernetesObject) -> bool:
    """Return whether an OLMConfig switches copies of globally installed operators off (R-COPY-5)."""
    return bool(mapping(spec_of(config).get("features")).get("disableCopiedCSVs"))


class CopiedCsv(NamedTuple):
    """A copied CSV that the workspace has: the namespace that it is from, the object, and where it stands."""

    home: str
    object: KubernetesObject
    source: Source | None


class Cluster(NamedTuple):
    """Everything that exists, split by who looks after it.

    `profile`: the formats of the OLM that runs in it. `namespaces`: all namespaces with their labels. `groups`: the
    OperatorGroups that the API server accepted, and `provided` the APIs that the annotation of each lists (None: no
    annotation). `objects`: the objects that OLM does not derive again: manifests, and objects of InstallPlans. `csvs`
    and `members`: the CSVs that are no copies, and their states. `adopted`: the component labels that CSVs, and
    owned CRDs by identity, carry. `served`: APIs whose ClusterRoles were made, with the CSV that had them. `retired`:
    CSVs that were replaced and deleted, and `replaced` those of them whose install strategy was begun. `seeded`: what
    was left of the groups' annotations after their first sync.
    `plans`: also those that OLM has collected since, see `kept_plans`. `approved`: plans of the workspace that are
    approved, but have no steps, so that they are made again. `copies`: copied CSVs that the workspace has.
    `installed`: CSVs that came by an Install and need no group. `approvals`: what policies approve. `cel`: what
    rules in CEL have cost so far. CSVs stand in the
    order in which they arrived.
    """

    profile: Profile
    namespaces: Mapping[str, Mapping[str, str]]
    groups: ByNamespace[OperatorGroup]
    objects: ByKind
    csvs: ByNamespace[Csv]
    subscriptions: ByNamespace[Subscription]
    catalogs: Mapping[CatalogKey, CatalogSource]
    plans: ByNamespace[InstallPlan] = by_namespace({})
    seeded: Mapping[NamespacedName, frozenset[GVK] | None] = MappingProxyType({})
    approved: tuple[InstallPlan, ...] = ()
    members: ByNamespace[CsvState] = by_namespace({})
    provided: Mapping[NamespacedName, frozenset[GVK] | None] = MappingProxyType({})
    adopted: Mapping[NamespacedName | ObjectKey, frozenset[str]] = MappingProxyType({})
    served: Mapping[OwnedAPI, Csv] = MappingProxyType({})
    retired: tuple[Csv, ...] = ()
    replaced: tuple[CsvState, ...] = ()
    copies: Mapping[NamespacedName, CopiedCsv] = MappingProxyType({})
    installed: frozenset[NamespacedName] = frozenset()
    approvals: tuple[PolicyApproval, ...] = ()
    cel: CelAccount | None = None

    @property
    def disables_copies(self) -> bool:
        """Return whether OLMConfig `cluster` switches copies of globally installed operators off (R-COPY-5)."""
        config = self.objects.get(OLMCONFIG) if self.profile.copied_disable else None
        return config is not None and disables_copies(config.object)

    def groups_in(self, namespace: str) -> tuple[OperatorGroup, ...]:
        """The OperatorGroups of a namespace."""
        return tuple(self.groups.within(namespace).values())

    def unplaced_groups(self, namespace: str) -> tuple[OperatorGroup, ...]:
        """The OperatorGroups that may be that of a namespace without one: the tool that applies them decides."""
        return () if self.groups_in(namespace) else self.groups_in("")

    def lacks_group(self, namespace: str) -> bool:
        """Return whether a namespace has no OperatorGroup, and none without a namespace may be applied there."""
        return not self.groups_in(namespace) and not self.unplaced_groups(namespace)

    def may_have_catalog(self, key: CatalogKey) -> bool:
        """Return whether a catalog that is not there may be a CatalogSource of its name without a namespace."""
        return key not in self.catalogs and key._replace(namespace="") in self.catalogs

    def has_csv(self, name: NamespacedName) -> bool:
        """Return whether a CSV of this name exists, be it a copy: to InstallPlans and Subscriptions that is the
        same."""
        copy = self.copies.get(name)
        if name in self.csvs or copy is None:
            return name in self.csvs
        member = self.members.get(NamespacedName(copy.home, name.name))
        if member is None:
            return False
        group = member.group
        # Without one group that has targets OLM leaves the copies alone (observed-52, observed-72).
        if group is None or group.problem or not group.targets:
            return True
        if group.is_global:
            return not self.disables_copies
        # Those of a group that shrank to its own namespace stay until the next resync (observed-73).
        return name.namespace in group.targets or group.targets == (copy.home,)

    def kept_plans(self, namespace: str) -> list[InstallPlan]:
        """The InstallPlans of a namespace that OLM does not collect, the oldest first (R-CAT-606)."""
        # Collected plans stay in `plans`: they explain what is there, and the number of the next one counts on from
        # theirs.
        return sorted(self.plans.within(namespace).values(), key=lambda plan: plan.generation)[-MAX_PLANS:]


def namespaced_name(it: Csv | OperatorGroup | InstallPlan) -> NamespacedName:
    """The namespace and name of a CSV, an OperatorGroup or an InstallPlan."""
    return NamespacedName(it.namespace, it.name)
