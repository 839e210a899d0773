"""Rules of admission webhooks: which requests they match, and whether some match more than others.

A rule is a box, as one of RBAC is: each of its operations, on each of its resources, in each of its API groups. But `*`
of its resources includes no subresources, and `pods/*` includes the pods. Matching follows
https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go,
but for versions: by `matchPolicy: Equivalent`, the default, a rule matches requests in other versions as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import and_
from typing import Any

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ANY, text, texts

_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_SCOPES = ("Namespaced", "Cluster")
# What rules of untrusted input may cost to compare: so many rules times values that may be in them, and combinations.
_MOST_COMPARED, _MOST_COMBINATIONS = 1_000_000_000, 200_000

_Resource = tuple[str, str]
_Action = tuple[str, str]


class AdmissionRule(NamedTuple):
    """A rule, each value of it once: resources as `(pods, exec)`, `(pods, "")`, `(*, *)`; actions are an operation with
    a scope."""

    groups: tuple[str, ...]
    resources: tuple[_Resource, ...]
    actions: tuple[_Action, ...]

    @property
    def bases(self) -> tuple[str, ...]:
        """The resources without their subresources."""
        return tuple(dict.fromkeys(base for base, _ in self.resources))


def decode_admission_rule(rule: Mapping[str, Any]) -> AdmissionRule:
    """A rule as a webhook has it. An operation or a scope that Kubernetes does not know matches nothing."""
    resources = (resource.partition("/") for resource in texts(rule.get("resources")))
    actions = product(
        _known(texts(rule.get("operations")), _OPERATIONS), _known([text(rule.get("scope")) or ANY], _SCOPES)
    )
    return AdmissionRule(
        tuple(dict.fromkeys(texts(rule.get("apiGroups")))),
        tuple(dict.fromkeys((base, subresource) for base, _, subresource in resources)),
        tuple(actions),
    )


def _known(values: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    return known if ANY in values else tuple(value for value in known if value in values)


def match_more(new: Sequence[AdmissionRule], old: Sequence[AdmissionRule]) -> bool:
    """Return whether rules match a request that none of the old ones matches; also if that would cost too much to find
    out."""
    values = sum(len(rule.groups) + len(rule.resources) for rule in (*new, *old))
    if values * len(old) > _MOST_COMPARED:
        return True
    index = _RuleBits.of(old)
    boxes = [box for box in map(index.matching, dict.fromkeys(new)) if not box.is_in_one_rule()]
    if sum(len(box.groups) * len(box.resources) for box in boxes) > _MOST_COMBINATIONS:
        return True
    return any(box.has_gap() for box in boxes)


class _MatchingRules(NamedTuple):
    """For each value of a rule the others that match it, as bits; values that the same rules match are there once."""

    groups: frozenset[int]
    resources: frozenset[int]
    actions: frozenset[int]

    def is_in_one_rule(self) -> bool:
        """Return whether a single rule matches all of it, as where nothing changed: no need to look at combinations."""
        return reduce(and_, (*self.groups, *self.resources, *self.actions), -1) != 0

    def has_gap(self) -> bool:
        """Return whether no rule matches some combination of the values."""
        return any(not group & resource & action for group, resource, action in product(*self))


class _RuleBits(NamedTuple):
    """The rules that have a value, by the value: a number whose lowest bit represents the first rule."""

    groups: Mapping[str, int]
    resources: Mapping[_Resource, int]
    actions: Mapping[_Action, int]

    @staticmethod
    def of(rules: Iterable[AdmissionRule]) -> _RuleBits:
        """The bits of some rules."""
        index: tuple[dict[Any, int], ...] = ({}, {}, {})
        for number, rule in enumerate(dict.fromkeys(rules)):
            for bits, values in zip(index, rule, strict=True):
                for value in values:
                    bits[value] = bits.get(value, 0) | 1 << number
        return _RuleBits(*index)

    def matching(self, rule: AdmissionRule) -> _MatchingRules:
        """The rules that match each value of another one."""
        return _MatchingRules(
            frozenset(_joined(self.groups, (group, ANY)) for group in rule.groups),
            frozenset(_joined(self.resources, _including(resource)) for resource in rule.resources),
            frozenset(_joined(self.actions, (action,)) for action in rule.actions),
        )


def _including(resource: _Resource) -> Iterator[_Resource]:
    """Yield the resources that include a resource in a rule. For `*` this is only `*`, which also matches a name of no
    rule."""
    base, subresource = resource
    return product((base, ANY), (subresource, ANY))


def _joined(bits: Mapping[Any, int], values: Iterable[Any]) -> int:
    joined = 0
    for value in values:
        joined |= bits.get(value, 0)
    return joined
