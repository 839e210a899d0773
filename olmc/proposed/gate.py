"""The approval of an Install: what it needs, what its service account has, and who may give it the rest.

Pure functions over the RBAC of a cluster (R-INSTALL-5 … R-INSTALL-11).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.model.objects import Identity, KubernetesObject, Rendered, as_text, name_of, namespace_of, spec_of
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Options
from olmc.model.proposed import Install
from olmc.model.rbac import RBAC, RBAC_V1
from olmc.model.values import mapping
from olmc.proposed.atoms import Atom, Entry, as_rules, atoms_of, canonical
from olmc.proposed.content import Resolved
from olmc.proposed.grants import account, grants_of, person
from olmc.proposed.names import named
from olmc.proposed.scopes import Scopes

APPLYING = ("get", "list", "create", "update")
"""What applying an object takes."""


class Account(NamedTuple):
    """The service account that an Install is applied by; `generated` if OLM makes it."""

    namespace: str
    name: str
    generated: bool


class Judged(NamedTuple):
    """What became of an Install.

    `pending`: the permissions that wait for approval. `approved`: what its spec shows. `applied`: whether its content
    is. `made`: the service account and the grants that come with it. `approvals`: all that was approved for it and its
    predecessors. `missing`: what the approving user lacks, as canonical entries.
    """

    install: Install
    content: Resolved
    account: Account
    pending: tuple[Entry, ...]
    approved: bool
    applied: bool
    made: tuple[KubernetesObject, ...]
    approvals: frozenset[Atom]
    missing: tuple[Entry, ...] = ()


class Setting(NamedTuple):
    """What an Install is judged in: the objects of the cluster, its OperatorGroups, kinds, and the options.

    `inherited` is what was approved for the predecessors of an update; `held`: it waits for somebody whatever it needs;
    `labels` are put on what is generated.
    """

    stock: Mapping[Identity, Rendered]
    groups: Sequence[KubernetesObject]
    known: Scopes
    options: Options
    labels: Mapping[str, str]
    inherited: frozenset[Atom] = frozenset()
    held: bool = False


def judged(install: Install, content: Resolved, setting: Setting) -> Judged:
    """Whether an Install is applied, with which account and grants, or what stands in the way."""
    options = setting.options
    by = service_account(install, content, setting)
    needed = frozenset(required(content, setting.known))
    has = grants_of(account(by.namespace, by.name), setting.stock)
    lacking = frozenset(atom for atom in needed if not has.allow(atom))
    pending = lacking - setting.inherited
    missing: frozenset[Atom] = frozenset()
    asked = install.approved or options.approve_installs
    somebody = bool(options.user) or options.approve_installs
    if pending and asked and somebody:
        missing = _lacked_by_user(pending, setting)
        if not missing:
            pending = frozenset()
    unavailable = bool(content.missing or content.problem)
    held = setting.held and not asked
    applied = not (pending or unavailable or held)
    approvals = setting.inherited | lacking if applied else setting.inherited
    approved = not pending and (asked or (bool(install.operator) and not held))
    return Judged(
        install, content, by, tuple(canonical(pending)), approved, applied,
        tuple(_made(install, by, lacking, setting)) if applied else tuple(_account(by, setting)),
        approvals, tuple(canonical(missing)),
    )  # fmt: skip


def service_account(install: Install, content: Resolved, setting: Setting) -> Account:
    """The account of the only OperatorGroup of the install namespace, else one of the Install's own (R-INSTALL-5)."""
    groups = [g for g in setting.groups if namespace_of(g) == content.namespace]
    name = spec_of(groups[0]).get("serviceAccountName") if len(groups) == 1 else None
    if isinstance(name, str) and name:
        return Account(content.namespace, name, generated=False)
    return Account(setting.options.olm_namespace, install.name, generated=True)


def required(content: Resolved, known: Scopes) -> Iterator[Atom]:
    """What applying the content takes, and what it grants: nobody may grant what he lacks himself (R-INSTALL-6)."""
    bound = _bound(content)
    for obj in content.objects:
        group, resource = known.resource(obj)
        namespaced = known.is_namespaced(obj)
        home = str(obj["metadata"].get("namespace") or content.namespace) if namespaced else None
        yield from (Atom(group, resource, verb, home) for verb in APPLYING)
        if obj["kind"] == "Role":
            yield from _granted_by(obj.get("rules"), home)
        elif obj["kind"] == "ClusterRole":
            for space in bound.get(name_of(obj), {None}):
                yield from _granted_by(obj.get("rules"), space)
        elif obj["kind"] == CSV_KIND:
            csv = Csv(obj)
            for entries, space in ((csv.permissions, home), (csv.cluster_permissions, None)):
                for entry in entries:
                    yield from _granted_by(entry.rules, space)


def _bound(content: Resolved) -> dict[str, set[str | None]]:
    """Where ClusterRoles are bound by the content: in namespaces, or (None) in the whole cluster."""
    found: dict[str, set[str | None]] = {}
    for obj in content.objects:
        ref = mapping(obj.get("roleRef"))
        if obj["kind"].endswith("RoleBinding") and ref.get("kind") == "ClusterRole":
            space = str(obj["metadata"].get("namespace") or content.namespace) if obj["kind"] == "RoleBinding" else None
            found.setdefault(as_text(ref.get("name")), set()).add(space)
    return found


def _granted_by(rules: Iterable[Mapping[str, object]] | None, namespace: str | None) -> Iterator[Atom]:
    for rule in rules or ():
        yield from atoms_of(rule, namespace)


def _lacked_by_user(pending: frozenset[Atom], setting: Setting) -> frozenset[Atom]:
    """What the approving user lacks of the pending permissions; without a user, somebody omnipotent approves (D46)."""
    if not setting.options.user:
        return frozenset()
    may = grants_of(person(setting.options.user, setting.options.user_groups), setting.stock)
    return frozenset(atom for atom in pending if not may.allow(atom))


def _account(by: Account, setting: Setting) -> Iterator[KubernetesObject]:
    if by.generated:
        metadata = {"name": by.name, "namespace": by.namespace, **_labels(setting)}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _made(install: Install, by: Account, granted: frozenset[Atom], setting: Setting) -> Iterator[KubernetesObject]:
    """The account and a role with its binding for each namespace, and for the whole cluster (R-INSTALL-10)."""
    yield from _account(by, setting)
    subjects = [{"kind": "ServiceAccount", "name": by.name, "namespace": by.namespace}]
    for space in sorted({atom.namespace for atom in granted}, key=lambda name: (name is not None, name or "")):
        rules = as_rules(canonical(atom for atom in granted if atom.namespace == space))
        prefix = "Cluster" if space is None else ""
        metadata = {**({"namespace": space} if space is not None else {}), **_labels(setting)}
        role = named(_rbac(f"{prefix}Role", metadata, rules=rules), f"{install.name}-")
        yield role
        ref = {"apiGroup": RBAC, "kind": role["kind"], "name": role["metadata"]["name"]}
        yield named(_rbac(f"{prefix}RoleBinding", metadata, subjects=subjects, roleRef=ref), f"{install.name}-")


def _rbac(kind: str, metadata: Mapping[str, Any], **body: Any) -> KubernetesObject:
    return {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, **body}


def _labels(setting: Setting) -> dict[str, dict[str, str]]:
    return {"labels": dict(setting.labels)} if setting.labels else {}


def as_json(entries: Sequence[Entry]) -> str:
    """Entries as one line, for messages."""
    return json.dumps(entries, separators=(",", ":"), ensure_ascii=False)
