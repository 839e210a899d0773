"""The nouns of Kubernetes' RBAC; what they mean is in `olmc.kube.rbac`."""

from __future__ import annotations

from typing import NamedTuple

RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"
ANY = "*"
ACCOUNT = "ServiceAccount"


class PolicyRule(NamedTuple):
    """What may be done: each verb, on each resource of each API group under each name, or on each URL.

    `names` () means any name; `resources` has subresources as `pods/log`.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Request(NamedTuple):
    """What somebody wants to do: `resource` as `pods/log`, `name` "" for none, or `url` for what is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


class Subject(NamedTuple):
    """Who has permissions: a ServiceAccount with its namespace, a User, a Group.

    The kind `ClusterRole` stands for whoever is going to be bound to an aggregated role such as `edit`.
    """

    kind: str
    namespace: str
    name: str

    @property
    def user_name(self) -> str:
        """What Kubernetes calls it when it makes a request."""
        return f"system:serviceaccount:{self.namespace}:{self.name}" if self.kind == ACCOUNT else self.name

    def __str__(self) -> str:
        return "/".join(part for part in self if part)
