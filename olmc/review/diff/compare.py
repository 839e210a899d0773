"""The comparison: two sides in, everything that changed out, in the order in which people want to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from olmc.compiler.load.policies import is_policy
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.olm.facts import is_extension, owner_of
from olmc.compiler.olm.naming import COMPONENT_PREFIX
from olmc.k8s.api.rbac import RuleIndex
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    annotations_of,
    identical,
    labels_of,
    mapping,
    mappings,
    masked,
    may_hold_secrets,
    metadata_of,
    name_of,
    object_key,
    spec_of,
    text,
    texts,
)
from olmc.review.diff import object_kinds as kinds
from olmc.review.diff import webhooks as permission_kinds
from olmc.review.diff.crd_kinds import (
    CHANGE,
    NOTE,
    RISK,
    WORKLOADS,
    ChangeGroup,
    DiffChange,
    crd_added,
    crd_field_changed,
    crd_removed,
    plain,
    workload_added,
    workload_removed,
    workload_replaced,
)
from olmc.review.diff.deltas import crd_changes, deltas, immutable_fields, path_text, same, without_paths
from olmc.review.diff.extensions import (
    DiffExtension,
    Folded,
    apis_by_owner,
    asked,
    bundle_upgrade,
    catalog_changes,
    checked_crd,
    excluded_differences,
    extension_changes,
    extensions,
    folded_differences,
    is_object_set,
    objects_within,
    spec_of_others,
    unfolded,
)
from olmc.review.diff.matching import Pair, matched_pairs, role_of_group, with_new_names, with_template
from olmc.review.diff.noise import (
    Makers,
    certificate_paths,
    derived_rights,
    is_certificate,
    metadata_without_noise,
    without_defaults,
    without_derived,
    without_noise,
)
from olmc.review.diff.object_grades import KnownPlaces, explained, risks_of_added, risks_of_change, risks_of_removed
from olmc.review.diff.object_kinds import applies_others, decides_result, value_sources
from olmc.review.diff.operators import (
    CSV,
    DiffOperator,
    assumption_changes,
    heads,
    kept_by_predecessors,
    not_installed,
    of_unknown,
    operators,
    owned_apis,
    unknown_changes,
)
from olmc.review.diff.permissions import (
    Accounts,
    Rights,
    access,
    accounts,
    permission_changes,
    subject_of_account,
    subject_of_group,
    without_common,
)
from olmc.review.diff.policies import deleted_by_policies, policy_changes
from olmc.review.diff.related_risks import SideObjects, embedded_changes, related_changes, variable_changes
from olmc.review.diff.settings import KeptBack, Side, left_out_changes, setting_changes
from olmc.review.diff.version_kinds import content_edited, operator_upgraded
from olmc.review.diff.versions import (
    bundle_changes,
    operator_changes,
    plan_changes,
    subscription_changes,
    target_changes,
)
from olmc.review.diff.webhooks import EVERYWHERE, WEBHOOK_KINDS, conversion_changes, definition_changes, webhook_changes
from olmc.review.diff.workloads import (
    Readers,
    Tokens,
    account_changes,
    account_changes_within,
    account_of,
    accounts_of_tokens,
    accounts_within,
    catalog_image_path,
    dangers_of,
    image_changes,
    images_of,
    lifetime_changes,
    pod_power_changes,
    readers_of,
    registries_of,
    secret_changes,
    token_changes,
    token_secret_added,
    without_repetitions,
    workload_changes,
)
from olmc.review.rbac.risks import Level

# Operators that OLM v0 has on the old side and OLM v1 on the new one: one change says so, and what each generation of
# OLM keeps its books by is none (R-V1-MIG-1).

INSTALLER = "installer's right"
_ACCOUNT, _OF_OLM = "installer", "object of OLM v0"
_MANAGED = "olm.managed"
_BOOKS = (
    _MANAGED, "olm.owner", "olm.webhook-", "olm.opgroup.permissions/", COMPONENT_PREFIX,
    "rbac.authorization.k8s.io/aggregate-to-",
)  # fmt: skip
"""The prefixes of labels by which OLM v0 knows its objects, and by which roles are aggregated. They are left out, as
the permissions themselves are compared."""
_INJECTED = ("cert-manager.io/inject-ca-from", "service.beta.openshift.io/")
"""The prefixes of annotations by which another tool fills in certificates."""

Installing = Mapping[ObjectKey, tuple[tuple[str, PolicyRule], ...]]
"""By account what an installation with it takes: rules, each with its namespace, "" for the whole cluster."""


class Moved(NamedTuple):
    """The operators that move, by the name of the ClusterExtension that has each then; `installing` is what their
    installers need."""

    operators: Mapping[str, DiffOperator]
    extensions: Mapping[str, DiffExtension]
    installing: Installing

    @property
    def packages(self) -> frozenset[NamespacedName]:
        return frozenset(NamespacedName(each.namespace, each.package) for each in self.operators.values())

    @property
    def installers(self) -> frozenset[ObjectKey]:
        """The ServiceAccounts that install them."""
        of = ((self.operators[name].namespace, asked(each.object)) for name, each in self.extensions.items())
        return frozenset(ObjectKey("", ACCOUNT, namespace, asks["serviceAccount"]) for namespace, asks in of)


def moved_operators(
    before: Mapping[NamespacedName, DiffOperator], after: Mapping[NamespacedName, DiffOperator],
    old: Iterable[KubernetesObject], new: Iterable[KubernetesObject], installing: Installing,
) -> Moved:  # fmt: skip
    """The operators of `before` that are not in `after`, and that a new ClusterExtension installs into the same
    namespace."""
    come = extensions(new)
    if not come:
        return Moved({}, {}, {})
    known, was, now = extensions(old), heads(before), heads(after)
    operators: dict[str, DiffOperator] = {}
    for name, extension in sorted(come.items()):
        package = NamespacedName(text(spec_of(extension.object).get("namespace")), extension.package)
        if name not in known and package in was and package not in now:
            operators[name] = was[package]
    return Moved(operators, {name: come[name] for name in operators}, installing)


def without_moved(operators: Mapping[NamespacedName, DiffOperator], moved: Moved) -> dict[NamespacedName, DiffOperator]:
    """The operators without those that move."""
    removed = moved.packages
    return {
        name: each for name, each in operators.items() if NamespacedName(each.namespace, each.package) not in removed
    }


def part_of_move(pair: Pair, moved: Moved) -> str:
    """Return the name of an object that comes or goes with a move and needs no line of its own, "" for any other."""
    known, obj = pair.identity, pair.old or pair.new or {}
    if not moved.operators:
        return ""
    namespaces = {operator.namespace for operator in moved.operators.values()}
    if pair.new is None and known.group == OLM_GROUP and known.namespace in namespaces:
        if known.kind == "Subscription":
            package = NamespacedName(known.namespace, text(spec_of(obj).get("name")))
            return _OF_OLM if package in moved.packages else ""
        return _OF_OLM if known.kind in (CSV, "OperatorGroup", "OperatorCondition") else ""
    if pair.old is None and known in moved.installers:
        return _ACCOUNT
    return ""


def without_installing(changes: Iterable[DiffChange], moved: Moved) -> Iterator[tuple[DiffChange, bool]]:
    """The changes of permissions, each with whether it is no more than what the installation of a moved operator takes
    (R-V1-SA-1)."""
    installers = moved.installers
    # Of an installer that gains thousands of rules what it needs is sorted once.
    index_of = cache(lambda account, scope: RuleIndex.of(_needed(moved.installing[account], scope)))
    for change in changes:
        rights = moved.installing.get(change.identity, ()) if change.identity in installers else ()
        if change.kind is not permission_kinds.permission_gained or not rights:
            yield change, False
            continue
        index = index_of(change.identity, change.values["scope"])
        yield change, not index.subtract_from(change.values["rule"])


def _needed(rights: Iterable[tuple[str, PolicyRule]], scope: str) -> Iterator[PolicyRule]:
    """The rules that count in a scope: those there, and those of the whole cluster."""
    return (rule for namespace, rule in rights if (namespace or EVERYWHERE) in (scope, EVERYWHERE))


def without_books(pair: Pair) -> Pair:
    """The pair, of an object that OLM v0 had and does not have any more without the labels by which it knew that, and
    without the certificates that somebody else fills in now."""
    if pair.old is None or pair.new is None or _MANAGED not in labels_of(pair.old) or _MANAGED in labels_of(pair.new):
        return pair
    old, new = (_without_marks(obj) for obj in (pair.old, pair.new))
    if pair.identity.kind not in WEBHOOK_KINDS:
        return pair._replace(old=old, new=new)
    return pair._replace(old=_without_certificates(old), new=_without_certificates(new))


def _without_marks(obj: KubernetesObject) -> KubernetesObject:
    labels = {key: value for key, value in labels_of(obj).items() if not key.startswith(_BOOKS)}
    annotations = {key: value for key, value in annotations_of(obj).items() if not key.startswith(_INJECTED)}
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels or None, "annotations": annotations or None}}


def _without_certificates(configuration: KubernetesObject) -> KubernetesObject:
    webhooks = [
        {**hook, "clientConfig": {k: v for k, v in mapping(hook.get("clientConfig")).items() if k != "caBundle"}}
        for hook in mappings(configuration.get("webhooks"))
    ]
    return {**configuration, "webhooks": webhooks}


_GROUPS = tuple(ChangeGroup)
_TOKEN, _TOKEN_OF = "kubernetes.io/service-account-token", "kubernetes.io/service-account.name"
# They answer for what others send to the API server.
_POWERFUL = frozenset(("APIService",))
_USERS = "user.openshift.io"
_NO_OBJECT = ObjectKey("", "", "", "")


class Difference(NamedTuple):
    """The difference of two sides.

    `changes`: by group, the gravest first, then by object. `pairs`: the objects that differ in more than noise, each
    with its predecessor. `folded`: how many objects differ in nothing but noise, by what they are. `unchanged`: how
    many objects are the same.
    """

    old: Side
    new: Side
    changes: tuple[DiffChange, ...]
    pairs: tuple[Pair, ...]
    folded: Mapping[str, int]
    unchanged: int

    def in_group(self, group: ChangeGroup) -> tuple[DiffChange, ...]:
        return tuple(change for change in self.changes if change.group is group)

    def count(self, severity: Severity) -> int:
        return sum(change.severity is severity for change in self.changes)


class _FoldedChange(NamedTuple):
    """A difference that is counted, not shown; the reason is the label of the count."""

    reason: str


class _Comparison(NamedTuple):
    """Two sides, and what several comparers need of them.

    `before`, `after`: the operators. `kept_old`, `kept_new`: the objects that are compared, `pairs` each with its
    predecessor; `folded`: the others. `starting`: workloads that only the new side installs. `hidden`: objects of
    operators that only one side knows; `deleted`: those that a policy deletes. With `formats`, the formats of another
    version of OLM count. `as_written`: no variables are filled in. `only_risks`: permissions without a risk don't
    count.
    """

    old: Side
    new: Side
    before: Mapping[NamespacedName, DiffOperator]
    after: Mapping[NamespacedName, DiffOperator]
    kept_old: list[KubernetesObject]
    kept_new: list[KubernetesObject]
    folded: tuple[Mapping[ObjectKey, Folded], Mapping[ObjectKey, Folded]]
    starting: frozenset[ObjectKey]
    names: Accounts
    moved: Moved
    pairs: Sequence[Pair]
    hidden: frozenset[ObjectKey]
    deleted: frozenset[ObjectKey]
    formats: bool
    as_written: bool
    only_risks: bool

    @classmethod
    def of(
        cls, old: Side, new: Side, *, formats: bool, as_written: bool = False, only_risks: bool = False
    ) -> _Comparison:
        before, after = operators(old.objects), operators(new.objects)
        # Plans and copies follow from other objects; a review also compares bundles that are not installed yet.
        (kept_old, was_folded), (kept_new, now_folded) = unfolded(old), unfolded(new)
        kept_old, kept_new, starting = _with_waiting(kept_old, kept_new, before, after)
        names = accounts(before, after)
        moved = moved_operators(before, after, old.objects, new.objects, new.installing)
        pairs = matched_pairs(kept_old, kept_new, before, after, names.renamed)
        return cls(
            old, new, before, after, kept_old, kept_new, (was_folded, now_folded), starting, names, moved, pairs,
            of_unknown(old, new), deleted_by_policies(pairs, (*old.objects, *old.excluded)), formats, as_written,
            only_risks,
        )  # fmt: skip


def _right_changes(sides: _Comparison) -> Iterator[DiffChange | _FoldedChange]:
    """Compare who may do what; fold what OLM grants for CRDs and CSVs, and what installing a moved operator takes."""
    (old, new), before, after = sides[:2], sides.before, sides.after
    # Permissions are compared for all kinds, also those that are not shown.
    everything = (*sides.kept_old, *old.excluded), (*sides.kept_new, *new.excluded)
    ours, theirs = without_common(*everything, before, after, sides.names)
    if not (ours or theirs):
        return
    # What a Role can't give depends on the CRDs.
    ours, theirs = [*ours, *_crds(sides.kept_old)], [*theirs, *_crds(sides.kept_new)]
    rights = permission_changes(
        access(ours, before, old.manifests), access(theirs, after, new.manifests), sides.names,
        only_risks=sides.only_risks,
    )  # fmt: skip
    granted = derived_rights(sides.kept_old, before, old.manifests, sides.names)
    reported, derived = without_derived(rights, granted, derived_rights(sides.kept_new, after, new.manifests))
    yield from map(_FoldedChange, derived.elements())
    for change, is_needed in without_installing(reported, sides.moved):
        yield _FoldedChange(INSTALLER) if is_needed else change


def _variable_changes(sides: _Comparison) -> Iterator[DiffChange]:
    old, new = SideObjects(sides.kept_old, sides.old.unfilled), SideObjects(sides.kept_new, sides.new.unfilled)
    return variable_changes(old, new, sides.pairs, partial(_risks_among, as_written=True))


# A new comparer of sides is an entry here; objects are compared one by one in `_changes`.
COMPARERS: tuple[Callable[[_Comparison], Iterable[DiffChange | _FoldedChange]], ...] = (
    lambda sides: setting_changes(sides.old, sides.new),
    lambda sides: left_out_changes(sides.old, sides.new),
    lambda sides: operator_changes(sides.old, sides.new, (without_moved(sides.before, sides.moved), sides.after)),
    lambda sides: plan_changes(sides.old.objects, sides.new.objects),
    lambda sides: bundle_changes(sides.old.bundle, sides.new.bundle, sides.new.objects),
    lambda sides: assumption_changes(sides.old, sides.new),
    lambda sides: catalog_changes(sides.old, sides.new),
    lambda sides: bundle_upgrade(sides.old, sides.new),
    _right_changes,
    lambda sides: _format_changes(sides.pairs) if sides.formats else (),
    lambda sides: related_changes(sides.pairs, sides.kept_old, sides.kept_new),
    lambda sides: embedded_changes(sides.pairs, (*sides.old.objects, *sides.new.objects), _risks_among),
    lambda sides: policy_changes(
        sides.pairs, (*sides.old.objects, *sides.old.excluded), (*sides.new.objects, *sides.new.excluded), _risks_among
    ),
    lambda sides: () if sides.as_written else _variable_changes(sides),
    lambda sides: map(_FoldedChange, folded_differences(*sides.folded)),
    lambda sides: map(_FoldedChange, excluded_differences(sides.old, sides.new)),
)

# Why an object that differs needs no line of its own, "" if it does; a new reason is an entry here.
SUPPRESSORS: tuple[Callable[[Pair, _Comparison], str], ...] = (
    lambda pair, sides: part_of_move(pair, sides.moved),
    lambda pair, sides: "object of unknown operators" if pair.identity in sides.hidden and _is_one_sided(pair) else "",
    lambda pair, sides: "object that a policy deletes" if _is_deleted_by_policy(pair, sides) else "",
    lambda pair, sides: "OperatorGroup of the platform" if _is_of_platform(pair, sides) else "",
)


def _is_deleted_by_policy(pair: Pair, sides: _Comparison) -> bool:
    """Return whether a risk of a policy says already that it deletes an object, of whose removal there is no more to
    say."""
    known = pair.identity
    return pair.new is None and known in sides.deleted and known.group != OLM_GROUP and not risks_of_removed(known)


def _is_of_platform(pair: Pair, sides: _Comparison) -> bool:
    """Return whether a pair is an OperatorGroup of the platform that only one side needs; the cluster has it on both
    sides."""
    settled = (sides.new if pair.old is None else sides.old).settled
    if not _is_one_sided(pair) or settled is None or pair.identity.kind != "OperatorGroup":
        return False
    group = settled.cluster.groups.get(NamespacedName(pair.identity.namespace, pair.identity.name))
    return group is not None and group.source is None


def compare(
    old: Side,
    new: Side,
    *,
    formats: bool = False,
    show_secrets: bool = False,
    as_written: bool = False,
    only_risks: bool = False,
) -> Difference:
    """Everything that changed from one side to the other; nothing if they mean the same.

    With `formats`, names of RBAC and templates of pods count by themselves: what another version of OLM changes. Of the
    values of Secrets can be seen whether they change, with `show_secrets` also what they are. With `as_written` no
    defaults take the place of variables, and with `only_risks` permissions without a risk don't count.
    """
    if not show_secrets:
        old, new = _without_secrets(old, new)
    sides = _Comparison.of(old, new, formats=formats, as_written=as_written, only_risks=only_risks)
    changes: list[DiffChange] = []
    noise: Counter[str] = Counter()
    for found in (found for comparer in COMPARERS for found in comparer(sides)):
        if isinstance(found, _FoldedChange):
            noise[found.reason] += 1
        elif found.identity not in sides.hidden:
            changes.append(found)
    changes += unknown_changes(old, new)
    named = {change.identity for change in changes}
    values_read = value_sources((*old.objects, *new.objects))
    owners = _Owners.of(sides)
    differing: list[Pair] = []
    unchanged = new.shared
    for pair in map(without_books, sides.pairs):
        # Most objects did not change and need no search for defaults.
        if old.is_held and pair.old is not None and pair.new is not None and not identical(pair.old, pair.new):
            pair = pair._replace(old=without_defaults(pair.old, pair.new))
        reason = next(filter(None, (suppressor(pair, sides) for suppressor in SUPPRESSORS)), "")
        if reason:
            noise[reason] += 1
            continue
        changes += _refused_changes(pair, new)
        if pair.old is not None and pair.new is not None and identical(pair.old, pair.new):
            unchanged += 1
            continue
        of_pair = list(_changes(pair, owners))
        if pair.identity in sides.starting and pair.new is not None:
            # OLM writes labels with the Deployment, which nothing has compared before.
            of_pair = [change for change in of_pair if not str(change.values.get("path", "")).startswith("metadata.")]
            of_pair.insert(0, _new_workload(pair.identity, with_template(pair.new), owners))
        if pair.identity in values_read and _values(pair.old) != _values(pair.new):
            of_pair.append(kinds.values_changed(pair.identity, values_read[pair.identity]))
        changes += of_pair
        # Roles have no changes of their own: what they grant is compared by holder. Those that grant something else are
        # still worth a look.
        if of_pair or pair.identity in named or _grants_differ(pair, sides.after):
            differing.append(pair)
        else:
            noise["role or binding" if pair.identity.group == RBAC else pair.identity.kind] += 1
    ordered = tuple(sorted(without_repetitions(changes), key=_order))
    return Difference(old, new, ordered, tuple(differing), dict(sorted(noise.items())), unchanged)


def _risks_among(
    old: Sequence[KubernetesObject], new: Sequence[KubernetesObject], *, as_written: bool = False
) -> list[DiffChange]:
    """List the changes of objects by themselves that are risks or break something."""
    sides = Side("", tuple(old)), Side("", tuple(new))
    difference = compare(*sides, show_secrets=True, as_written=as_written, only_risks=True)
    return [change for change in difference.changes if change.severity >= Severity.FAILURE]


def _refused_changes(pair: Pair, new: Side) -> Iterable[DiffChange]:
    """The changes of immutable fields that the API server has refused, so that the object does not have them."""
    requested = new.requested.get(pair.identity)
    if requested is None or pair.old is None or spec_of(requested) == spec_of(pair.new or {}):
        return ()
    return immutable_fields(pair.old, requested).changes


def _is_one_sided(pair: Pair) -> bool:
    return pair.old is None or pair.new is None


def with_approval(now: Difference, after: Difference) -> Difference:
    """A difference with what comes once the plans that wait are approved, which `after` has: `later` changes."""
    later = tuple(change._replace(later=True) for change in _only(after, now))
    pairs = {pair.identity: pair for pair in (*now.pairs, *after.pairs)}
    return after._replace(changes=(*now.changes, *later), pairs=tuple(pairs[known] for known in sorted(pairs)))


def with_kept_back(now: Difference, kept_back: KeptBack, *, show_secrets: bool = False) -> Difference:
    """A difference with what does not come because operators are stuck, or have the like already."""
    intended, objects = compare(*kept_back.sides, show_secrets=show_secrets), kept_back.objects
    edited = [content_edited(csv) for csv in kept_back.edited]
    kept = [change._replace(kept_back=True) for change in _only(intended, now) if change.identity in objects]
    there = {pair.identity for pair in now.pairs}
    pairs = [pair for pair in intended.pairs if pair.identity in objects - there]
    changes = (*sorted((*now.changes, *edited), key=_order), *kept)
    return now._replace(changes=changes, pairs=tuple(sorted((*now.pairs, *pairs), key=lambda pair: pair.identity)))


def _only(intended: Difference, now: Difference) -> Iterator[DiffChange]:
    """The changes that the other difference does not have."""
    known = {_repeated(change) for change in now.changes}
    return (change for change in intended.changes if _repeated(change) not in known)


def _repeated(change: DiffChange) -> Hashable:
    """Return the common key of differences about one change: of an upgrade, whether it is completed or not."""
    if change.kind is operator_upgraded:
        return change.kind.name, change.identity, change.values["old"], change.values["new"]
    return change.kind.name, change.identity, change.message


def _without_secrets(old: Side, new: Side) -> tuple[Side, Side]:
    """The sides with masks for what is secret."""
    was, now = (
        {object_key(obj): obj for obj in (*side.objects, *side.excluded) if may_hold_secrets(obj)}
        for side in (old, new)
    )
    if not was and not now:
        return old, new
    pairs = {key: masked(was.get(key), now.get(key)) for key in was.keys() | now.keys()}

    def shown(objects: Iterable[KubernetesObject], place: int) -> tuple[KubernetesObject, ...]:
        return tuple((pairs[object_key(obj)][place] or obj) if may_hold_secrets(obj) else obj for obj in objects)

    return (
        old._replace(objects=shown(old.objects, 0), excluded=shown(old.excluded, 0)),
        new._replace(objects=shown(new.objects, 1), excluded=shown(new.excluded, 1)),
    )


class _Owners(NamedTuple):
    """Who makes the objects of both sides, and what operators run as; by ClusterExtension the CRDs that both sides have
    of it, and the ClusterExtensions of the new side, and the operators that move to such; `rights` are asked for where
    somebody is exchanged for somebody else. `admin`: the operator-controller of the new side writes with the rights of
    cluster-admin. `configured`: the webhooks, by kind and generateName, whose configurations both sides have."""

    old: Makers
    new: Makers
    accounts: Accounts
    old_crds: Mapping[str, frozenset[str]]
    new_crds: Mapping[str, frozenset[str]]
    extensions: Mapping[str, DiffExtension]
    moved: Mapping[str, DiffOperator]
    rights: Callable[[], Rights]
    registries: Callable[[], Collection[str]]
    tokens: Callable[[], Tokens]
    readers: Callable[[], Readers]
    admin: bool = False
    configured: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, sides: _Comparison) -> _Owners:
        (old, new), before, after = sides[:2], sides.before, sides.after
        old_makers = Makers.of(sides.kept_old, before, old.manifests)
        new_makers = Makers.of(sides.kept_new, after, new.manifests)
        everything = (*sides.kept_old, *old.excluded), (*sides.kept_new, *new.excluded)
        rights = cache(
            lambda: Rights(access(everything[0], before, old.manifests), access(everything[1], after, new.manifests))
        )
        configured = frozenset(
            (pair.identity.kind, pair.identity.name.rpartition("-")[0])
            for pair in sides.pairs
            if pair.identity.kind in WEBHOOK_KINDS and not _is_one_sided(pair)
        )
        return cls(
            old_makers, new_makers, sides.names, apis_by_owner(old.objects), apis_by_owner(new.objects),
            extensions(new.objects), sides.moved.operators, rights, cache(lambda: registries_of(old.objects)),
            cache(lambda: _tokens((*old.objects, *new.objects))), cache(lambda: readers_of(old.objects)),
            new.settled is not None and new.settled.cluster.profile.controller_is_admin, configured,
        )  # fmt: skip

    def apis(self, old: KubernetesObject | None, new: KubernetesObject | None) -> frozenset[str]:
        """The APIs of the operator that an object is part of, on the new side if it is there."""
        if new is not None:
            return owned_apis(new, self.new.operators) | self.new_crds.get(owner_of(new), frozenset())
        return owned_apis(old or {}, self.old.operators) | self.old_crds.get(owner_of(old or {}), frozenset())

    def is_certificate(self, pair: Pair) -> bool:
        """Return whether an object of one side is a Secret that OLM makes there."""
        if pair.new is not None:
            return is_certificate(pair.new, self.new.operators, self.new.manifests)
        return is_certificate(pair.old or {}, self.old.operators, self.old.manifests)


def _order(change: DiffChange) -> tuple[int, int, ObjectKey, str, str]:
    rank = _GROUPS.index(change.group)
    # The message comes last, so that similar changes have one order, independent of the order in which they were found.
    return rank, -change.severity, change.identity, change.kind.name, plain(change.message)


def _with_waiting(
    old: list[KubernetesObject], new: list[KubernetesObject], before: Mapping[NamespacedName, DiffOperator],
    after: Mapping[NamespacedName, DiffOperator],
) -> tuple[list[KubernetesObject], list[KubernetesObject], frozenset[ObjectKey]]:  # fmt: skip
    """The objects, and the Deployments of operators that a side does not install: they would read as gone. So would
    what a CSV keeps whose successor does not work. With them those that only the new side installs."""
    was, now = not_installed(before, old), not_installed(after, new)
    kept = kept_by_predecessors(before, after, old, new)
    starting = frozenset(map(object_key, was.values())) - frozenset(map(object_key, now.values()))
    olds, news = [*old, *(was[name] for name in sorted(was))], [*new, *(now[name] for name in sorted(now)), *kept]
    return olds, news, starting


def _grants_differ(pair: Pair, owners: Mapping[NamespacedName, DiffOperator]) -> bool:
    """Return whether a role or a binding is there on one side only, or grants something else.

    Those with the name of a CSV are for its OperatorCondition, and differ in that name.
    """
    if pair.identity.group != RBAC or NamespacedName(pair.identity.namespace, pair.identity.name) in owners:
        return False
    if pair.old is None or pair.new is None:
        return True
    return any(not same({field: pair.old.get(field)}, {field: pair.new.get(field)}) for field in ("rules", "subjects"))


def _changes(pair: Pair, owners: _Owners) -> Iterator[DiffChange]:
    if pair.old is None or pair.new is None:
        return _one_sided(pair, owners)
    return _both_sided(pair, pair.old, pair.new, owners)


def _one_sided(pair: Pair, owners: _Owners) -> Iterator[DiffChange]:
    """An object that comes or goes; of operators and permissions other changes say it."""
    owned = owners.apis(pair.old, pair.new)
    known = pair.identity
    if known.group == RBAC or known.kind in ("OperatorCondition", CSV) or owners.is_certificate(pair):
        return
    if _is_crd(known):
        yield crd_added(known) if pair.old is None else crd_removed(known, bool(owner_of(pair.old)))
        return
    if is_extension(pair.new or pair.old or {}):
        crds, moved = owners.old_crds.get(known.name, ()), owners.moved.get(known.name)
        yield from extension_changes(pair, crds, moved, admin=owners.admin)
        return
    if _is_olm(known, "Subscription"):
        yield from subscription_changes(pair)
        return
    if known.kind in WORKLOADS:
        old, new = (with_template(obj) if obj is not None else None for obj in (pair.old, pair.new))
        yield _new_workload(known, new, owners) if new is not None else workload_removed(known)
        yield from image_changes(Pair(known, old, new))
        return
    if known.kind in WEBHOOK_KINDS:
        yield from webhook_changes(known, pair.old, pair.new, owned)
        return
    if pair.new is not None and known.kind == "Secret" and pair.new.get("type") == _TOKEN:
        yield token_secret_added(known, text(annotations_of(pair.new).get(_TOKEN_OF)))
        return
    if is_object_set(pair.new or {}):
        within = objects_within(pair.new or {})
        names = tuple(str(object_key(obj)) for obj in within)
        yield kinds.object_set_added(known, names, any(map(_is_weighty, within)))
        return
    if pair.old is None and applies_others(known):
        yield kinds.applier_added(known)
        return
    yield _added(known, pair.new, owners) if pair.new is not None else _removed(known)
    yield from image_changes(pair) if catalog_image_path(known) else ()
    yield from _members(pair, owners)


def _tokens(objects: Iterable[KubernetesObject]) -> Tokens:
    """Find the Secrets that Kubernetes fills with tokens."""
    secrets = ((object_key(obj), obj) for obj in objects if obj.get("kind") == "Secret" and obj.get("type") == _TOKEN)
    return {(known.namespace, known.name): text(annotations_of(obj).get(_TOKEN_OF)) for known, obj in secrets}


def _new_workload(known: ObjectKey, new: KubernetesObject, owners: _Owners) -> DiffChange:
    containers = (image for place, image in images_of(new).items() if not place.startswith("variable "))
    accounts = () if owner_of(new) else (account_of(new), *accounts_of_tokens(known, new, owners.tokens()))
    subjects = (subject_of_account(known.namespace, account) for account in accounts)
    had = tuple(dict.fromkeys(risk for one in subjects for risk in owners.rights().held(one, Level.HIGH)))
    return workload_added(known, tuple(dict.fromkeys(containers)), account_of(new), dangers_of(new), had)


def _members(pair: Pair, owners: _Owners) -> Iterator[DiffChange]:
    """The members that a group of OpenShift gets, and what they may do from then on."""
    if (pair.identity.group, pair.identity.kind) != (_USERS, "Group"):
        return
    was, now = (texts((obj or {}).get("users")) for obj in (pair.old, pair.new))
    members = tuple(sorted(set(now) - set(was)))
    if members:
        group = subject_of_group(pair.identity.name)
        yield kinds.members_added(pair.identity, members, owners.rights().gained(_NO_OBJECT, group))


def _added(known: ObjectKey, new: KubernetesObject, owners: _Owners) -> DiffChange:
    why = (*explained(risks_of_added(known, new)), *_rights_of_accounts(known, new, owners))
    return kinds.risky_object_added(known, why) if why else kinds.object_added(known)


def _rights_of_accounts(known: ObjectKey, new: KubernetesObject, owners: _Owners) -> Iterator[str]:
    """Report the rights of ServiceAccounts under which an object of another kind than a workload runs something."""
    for account in () if known.group in ("", OLM_GROUP) or not known.namespace else accounts_within(new):
        had = owners.rights().held(subject_of_account(known.namespace, account), Level.HIGH)
        if had:
            yield f"it runs as ServiceAccount {account}, which already had rights: {', '.join(had)}"


def _values(obj: KubernetesObject | None) -> list[Any]:
    """Return the data of a ConfigMap or a Secret."""
    return [(obj or {}).get(field) for field in ("data", "stringData", "binaryData")]


def _removed(known: ObjectKey) -> DiffChange:
    why = explained(risks_of_removed(known))
    return kinds.protection_removed(known, why) if why else kinds.object_removed(known)


def _is_weighty(obj: KubernetesObject) -> bool:
    """Return whether an object gives rights, runs something, or answers for what others do."""
    known = object_key(obj)
    return known.group == RBAC or known.kind in WORKLOADS | WEBHOOK_KINDS or bool(risks_of_added(known, obj))


def _both_sided(pair: Pair, old: KubernetesObject, new: KubernetesObject, owners: _Owners) -> Iterator[DiffChange]:
    known = pair.identity
    yield from lifetime_changes(known, old, new, owners.old, owners.new)
    if _is_crd(known):
        of_crd = list(crd_changes(known, old, new))
        yield from (*of_crd, *checked_crd(pair, of_crd, owners.extensions))
        # crd_changes compares the spec; labels and annotations of a CRD may change as well.
        was, now = (_without_labels(metadata_without_noise(metadata_of(crd))) for crd in (old, new))
        for delta in deltas(was, now, ("metadata",)):
            yield crd_field_changed(known, path_text(delta.path), delta.old, delta.new)
        return
    if _is_olm(known, CSV):  # what is compared of a CSV depends on its phase
        old = {**old, "status": new.get("status")}
        yield from conversion_changes(known, old, new)
    fixed = immutable_fields(old, new)
    yield from fixed.changes
    if known.kind in WORKLOADS:
        old, new = with_template(old), with_template(new)
        yield from _workload(Pair(known, old, new), old, new, owners, fixed.paths)
        return
    before, after = (
        without_paths(without_noise(obj, of_side), fixed.paths)
        for obj, of_side in ((old, owners.old), (new, owners.new))
    )
    if known.kind in WEBHOOK_KINDS:
        if owner_of(new) and name_of(old) != known.name:
            yield kinds.renamed(known, name_of(old), False)
        yield from webhook_changes(known, before, after, owners.apis(old, new))
        return
    if _is_olm(known, CSV) or catalog_image_path(known):
        yield from image_changes(pair)
        if any("webhookdefinitions" in spec_of(csv) for csv in (before, after)):  # one side is not installed
            yield from definition_changes(old, new, owners.apis(old, new), owners.configured)
            before, after = (without_paths(csv, (("spec", "webhookdefinitions"),)) for csv in (before, after))
        if images_of(pair.old) and images_of(pair.new):
            before, after = (without_paths(obj, catalog_image_path(known)) for obj in (before, after))
    elif _is_olm(known, "Subscription"):
        yield from subscription_changes(pair)
    elif (known.group, known.kind) == (_USERS, "Group"):
        yield from _members(pair, owners)
    elif is_extension(new):
        yield from extension_changes(pair)
        before, after = ({**obj, "spec": spec_of_others(obj)} for obj in (before, after))
    elif _is_olm(known, "OperatorGroup"):
        yield from target_changes(pair)
    elif is_policy(new):  # `policy_changes` compares what it asks for
        before, after = (without_paths(obj, (("spec",),)) for obj in (before, after))
    # Who answers for an API sees what others send to it, so every field counts.
    severity = CHANGE if known.kind in _POWERFUL else NOTE
    tested = KnownPlaces({}, {})
    for delta in deltas(before, after):
        found = risks_of_change(known, before, after, delta, tested)
        if found:
            why = explained(found, delta.path)
            yield kinds.risky_field_changed(known, path_text(delta.path), delta.old, delta.new, why)
        else:
            yield from account_changes_within(known, delta, owners.rights)
            grave = RISK if decides_result(known, delta.path) else severity
            yield kinds.field_changed(known, path_text(delta.path), delta.old, delta.new, grave)


def _workload(
    pair: Pair, old: KubernetesObject, new: KubernetesObject, owners: _Owners, fixed: tuple[tuple[str, ...], ...]
) -> Iterator[DiffChange]:
    """Compare a workload with its predecessor, without the names of the workload and its containers."""
    known = pair.identity
    was = text(metadata_of(old).get("name"))
    if was != known.name:
        yield workload_replaced(known, was)
        fixed = (*fixed, ("spec", "selector"))  # it is another object, and may select by its own name
    names = with_new_names(known, old, new)
    yield from names.changes
    yield from image_changes(pair._replace(old=names.old), owners.registries)
    account = ObjectKey("", ACCOUNT, known.namespace, account_of(new))
    if account not in owners.accounts.renamed:
        yield from account_changes(known, old, new, owners.rights)
    yield from pod_power_changes(known, names.old, new)
    yield from token_changes(known, names.old, new, owners.tokens(), owners.rights)
    yield from secret_changes(known, old, new, owners.readers)
    # A certificate that comes or goes follows from the webhooks; another place of it is for the operator to find.
    had, has = certificate_paths(old, owners.old), certificate_paths(new, owners.new)
    if had and has and had != has:
        path = path_text(("spec", "template", "spec", "containers", "volumeMounts", "mountPath"))
        yield kinds.field_changed(known, path, list(had), list(has), CHANGE if set(had) <= set(has) else RISK)
    before, after = (
        without_paths(without_noise(obj, of_side), fixed)
        for obj, of_side in ((names.old, owners.old), (new, owners.new))
    )
    yield from workload_changes(known, deltas(before, after), new)


def _without_labels(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a CRD without labels, which are not used in selectors, except for those of OLM itself."""
    labels = {key: value for key, value in mapping(metadata.get("labels")).items() if key.startswith("olm.")}
    return {**metadata, "labels": labels or None}


def _crds(objects: Iterable[KubernetesObject]) -> Iterator[KubernetesObject]:
    return (obj for obj in objects if obj.get("kind") == CRD_KIND)


def _is_crd(known: ObjectKey) -> bool:
    return (known.group, known.kind) == (APIEXTENSIONS, CRD_KIND)


def _is_olm(known: ObjectKey, kind: str) -> bool:
    return known.group == OLM_GROUP and known.kind == kind


def _format_changes(pairs: Iterable[Pair]) -> Iterator[DiffChange]:
    """Yield the changes that only another version of OLM makes: names of RBAC, and pod templates without their
    containers.

    An upgrade of an operator changes these by its name and its hashes, which is no news for a review.
    """
    for pair in pairs:
        known = pair.identity
        if known.group == RBAC and pair.new is None:
            yield kinds.object_removed(known)
        elif known.group == RBAC and pair.old is None:
            yield kinds.object_added(known)
        elif pair.old is None or pair.new is None:
            continue
        elif known.group == RBAC and (was := text(metadata_of(pair.old).get("name"))) != known.name:
            yield kinds.renamed(known, was, role_of_group(known, pair.new) is not None)
        elif known.kind in WORKLOADS and spec_of(pair.old).get("template") != spec_of(pair.new).get("template"):
            yield kinds.pods_replaced(known)
