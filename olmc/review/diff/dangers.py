"""What is dangerous about a permission: wildcards, and ways to more power than the permission seems to give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["EVERY_VERB", "dangers"]

EVERY_VERB = "every verb"

_READS = frozenset(("get", "list", "watch"))
_WRITES = frozenset(("create", "update", "patch"))
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


class _Danger(NamedTuple):
    """A way to more power: any of these verbs on any of these resources (each with its group)."""

    text: str
    verbs: frozenset[str]
    resources: frozenset[str]


def _danger(text: str, verbs: str | frozenset[str], *resources: str) -> _Danger:
    return _Danger(text, frozenset((verbs,)) if isinstance(verbs, str) else verbs, frozenset(resources))


_ROLES = (f"roles.{_RBAC}", f"clusterroles.{_RBAC}")
_DANGERS = (
    _danger("can give itself any permission (escalate)", "escalate", *_ROLES),
    _danger("can bind any role to anybody (bind)", "bind", *_ROLES),
    _danger("can act as somebody else (impersonate)", "impersonate", "users", "groups", "serviceaccounts"),
    _danger("can read secrets", _READS, "secrets"),
    _danger("can run commands in pods", frozenset(("create", "get")), "pods/exec", "pods/attach"),
    _danger("can get tokens of service accounts", "create", "serviceaccounts/token"),
    _danger("can reach every kubelet", _READS | _WRITES, "nodes/proxy"),
    _danger(
        "can change what the API server accepts", _WRITES,
        f"mutatingwebhookconfigurations.{_ADMISSION}", f"validatingwebhookconfigurations.{_ADMISSION}",
    ),
)  # fmt: skip


def dangers(verbs: Sequence[str], resources: Sequence[str]) -> tuple[str, ...]:
    """What is dangerous about these verbs on these resources (`deployments.apps`, `pods/exec`), () if nothing."""
    return tuple(_found(frozenset(verbs), frozenset(resources)))


def _found(verbs: frozenset[str], resources: frozenset[str]) -> Iterator[str]:
    if "*" in verbs:
        yield EVERY_VERB
    if "*.*" in resources:
        yield "every resource"
    elif any(resource == "*" or resource.startswith("*.") for resource in resources):
        yield "every resource of a group"
    groups = {"" if resource == "*" else resource[2:] for resource in resources if resource.split(".")[0] == "*"}
    for danger in _DANGERS:
        named = resources & danger.resources or any(each.partition(".")[2] in groups for each in danger.resources)
        everything = "*.*" in resources
        if everything and "*" in verbs:
            continue
        if (named or everything) and ("*" in verbs or verbs & danger.verbs):
            yield danger.text
