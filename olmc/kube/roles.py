"""The roles of a cluster, and what aggregated ones consist of.

An aggregated ClusterRole has the rules of all ClusterRoles that its selectors match, aggregated ones among them. Of
thousands that select each other in circles each selector is evaluated once, and each set of roles is followed once;
sets are the bits of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from operator import or_
from typing import Any

from olmc.kube.rbac import EVERYTHING, decode_rules, rules_decoder
from olmc.kube.selectors import LabelIndex, is_selector
from olmc.lean import NamedTuple
from olmc.model.objects import RBAC, KubernetesObject, ObjectKey, PolicyRule, labels_of, mapping

_CLUSTER_ADMIN = ObjectKey(RBAC, "ClusterRole", "", "cluster-admin")

Selectors = tuple[Mapping[str, Any], ...]
Join = Callable[[Sequence[tuple[Any, ...]]], tuple[PolicyRule, ...]]
"""What makes one tuple of the rules of several roles."""


class Role(NamedTuple):
    """A Role or ClusterRole: its own rules, its labels, and the selectors of what it aggregates.

    Selectors that the API server would refuse are left out: as long as Kubernetes can't read them, it does not fill in
    any rules, and those that are there stay.
    """

    rules: tuple[PolicyRule, ...]
    labels: Mapping[str, str]
    selectors: Selectors


def decode_selectors(listed: Any) -> Selectors:
    """The selectors in an aggregationRule that the API server takes."""
    return tuple(selector for selector in listed if is_selector(selector)) if isinstance(listed, list) else ()


def decode_role(
    obj: KubernetesObject,
    decode: Callable[[Any], tuple[PolicyRule, ...]] = decode_rules,
    selectors: Callable[[Any], Selectors] = decode_selectors,
) -> Role:
    """A Role or ClusterRole, decoded whatever is written there, its rules by `decode`."""
    labels = labels_of(obj)
    # A Role has no such field, so the API server drops it, and the rules stay.
    aggregates = obj.get("kind") == "ClusterRole"
    return Role(
        decode(obj.get("rules")),
        {key: value for key, value in labels.items() if isinstance(value, str)},
        selectors(mapping(obj.get("aggregationRule")).get("clusterRoleSelectors")) if aggregates else (),
    )


class Roles(NamedTuple):
    """The roles of a cluster.

    `sources` gives the roles whose rules a role has: itself, or all that it aggregates, over any number of steps;
    sorted, and the same tuple for roles that aggregate the same. Kubernetes overwrites the own rules of an aggregated
    role, so they never count.
    """

    by_identity: Mapping[ObjectKey, Role]
    sources: Callable[[ObjectKey], tuple[ObjectKey, ...]]
    rules: Callable[[ObjectKey], tuple[PolicyRule, ...]]
    """The rules of its sources, the same tuple for roles with the same ones."""


def joined_once(join: Join) -> Join:
    """A function that joins the rules of several roles as `join` does: for the very same roles the very same tuple, and
    a role that somebody is bound to twice counts once. What is joined has to be kept by the caller."""
    known: dict[tuple[int, ...], tuple[PolicyRule, ...]] = {}

    def joined(parts: Sequence[tuple[Any, ...]]) -> tuple[PolicyRule, ...]:
        distinct = {id(part): part for part in parts}
        of = tuple(distinct)
        if of not in known:
            known[of] = join(tuple(distinct.values()))
        return known[of]

    return joined


def chained(parts: Sequence[tuple[PolicyRule, ...]]) -> tuple[PolicyRule, ...]:
    """The rules of several roles one after the other; those of a single one as they are."""
    return parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))


def collect_roles(objects: Iterable[tuple[ObjectKey, KubernetesObject]]) -> Roles:
    """The roles among objects; `cluster-admin` is there without being among them (R-PERM-5)."""
    # The API server puts it there whenever it starts, so hardly any workspace has it.
    by_identity = {_CLUSTER_ADMIN: Role(EVERYTHING, {}, ())}
    decode, selectors = rules_decoder(), _once_for_each(decode_selectors)
    for key, obj in objects:
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            by_identity[key] = decode_role(obj, decode, selectors)
    sources = _sources(by_identity)

    @cache
    def rules_of(found: tuple[ObjectKey, ...]) -> tuple[PolicyRule, ...]:
        return chained([by_identity[source].rules for source in found])

    return Roles(by_identity, sources, lambda role: rules_of(sources(role)))


def _once_for_each(decode: Callable[[Any], Selectors]) -> Callable[[Any], Selectors]:
    """A function that decodes the very same list, as aliases of one are, once."""
    known: dict[int, tuple[Any, Selectors]] = {}

    def decoded(listed: Any) -> Selectors:
        if id(listed) not in known:  # which is kept: once it were gone, another list might have its id
            known[id(listed)] = listed, decode(listed)
        return known[id(listed)][1]

    return decoded


def _sources(roles: Mapping[ObjectKey, Role]) -> Callable[[ObjectKey], tuple[ObjectKey, ...]]:
    """`Roles.sources`; nothing is looked at before it is asked for."""
    aggregation = cache(lambda: _Aggregation.of(roles))

    @cache
    def leaves(selected: int) -> tuple[ObjectKey, ...]:
        return aggregation().leaves(selected)

    def sources(role: ObjectKey) -> tuple[ObjectKey, ...]:
        return leaves(aggregation().selected[role]) if roles[role].selectors else (role,)

    return sources


class _Aggregation(NamedTuple):
    """All ClusterRoles, sorted, and of those that are aggregated which ones they select, by bits; `aggregated` has the
    bits of these."""

    keys: Sequence[ObjectKey]
    selected: Mapping[ObjectKey, int]
    aggregated: int

    @staticmethod
    def of(roles: Mapping[ObjectKey, Role]) -> _Aggregation:
        keys = sorted(key for key in roles if key.kind == "ClusterRole")
        index = LabelIndex.of([roles[key].labels for key in keys])
        known: dict[int, int] = {}
        selected: dict[ObjectKey, int] = {}
        for key in keys:
            selectors = roles[key].selectors
            if selectors and id(selectors) not in known:
                known[id(selectors)] = reduce(or_, map(index.selected, selectors))
            if selectors:
                selected[key] = known[id(selectors)]
        return _Aggregation(keys, selected, sum(1 << position for position, key in enumerate(keys) if key in selected))

    def leaves(self, selected: int) -> tuple[ObjectKey, ...]:
        """The roles with rules of their own among these, or among those that they select in turn."""
        seen, left = selected, selected & self.aggregated
        while left:
            last = left.bit_length() - 1
            new = self.selected[self.keys[last]] & ~seen
            seen |= new
            left = (left ^ (1 << last)) | (new & self.aggregated)
        return tuple(self.keys[position] for position in _bits(seen & ~self.aggregated))


def _bits(number: int) -> Iterator[int]:
    """The positions of the bits that are set, the lowest first."""
    return (position for position, digit in enumerate(reversed(f"{number:b}")) if digit == "1")
