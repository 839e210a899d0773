"""What the ServiceAccount of a ClusterExtension must be allowed to do to install a bundle, and what it lacks
(R-V1-PERM-1, R-V1-PERM-2, R-V1-SA-1).

The same list makes the controller's preflight (gate PreflightPermissions) and the smallest roles for an installer: what
is missing where nothing is granted is all that is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from olmc.kube.rbac import decode_rules, merge, requests_of, rules_allow
from olmc.kube.rbac_access import Access, decode_binding, with_groups
from olmc.kube.restmapper import RestMapper
from olmc.kube.roles import Roles, collect_roles
from olmc.lean import NamedTuple
from olmc.model.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Request,
    Subject,
    as_text,
    metadata_of,
    name_of,
    object_key,
)
from olmc.olmv1.api_types import ClusterExtension
from olmc.strconv import quoted

GROUP = "olm.operatorframework.io"
NO_ACCESS = Access({}, {})
_BY_NAME = ("get", "patch", "update", "delete")
_ROLES = {"Role": "roles", "ClusterRole": "clusterroles"}
_FIELDS = (
    ("APIGroups", "groups"),
    ("Resources", "resources"),
    ("ResourceNames", "names"),
    ("Verbs", "verbs"),
    ("NonResourceURLs", "urls"),
)
_HEAD = "pre-authorization failed: service account requires the following permissions to manage cluster extension:"


class ScopedRule(NamedTuple):
    """A rule that holds in a namespace, or with "" in the whole cluster."""

    namespace: str
    rule: PolicyRule

    @property
    def line(self) -> str:
        """The rule as the controller prints it; of a core group only the brackets remain."""
        listed = ((label, getattr(self.rule, field)) for label, field in _FIELDS)
        shown = (f"{label}:[{','.join(sorted(values))}]" for label, values in listed if values)
        return " ".join((f"Namespace:{quoted(self.namespace)}", *shown))


class _Need(NamedTuple):
    """A request that must be allowed in a namespace; `excuse` is another one that would do as well."""

    namespace: str
    request: Request
    excuse: Request | None = None


def installer(extension: ClusterExtension) -> Subject:
    """The account that a ClusterExtension is installed with."""
    return Subject(ACCOUNT, extension.namespace, extension.service_account)


def required_rules(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, revision: str = ""
) -> tuple[ScopedRule, ...]:
    """All that the installer of these objects needs: the rules of the smallest roles for it."""
    return missing_rules(extension, objects, mapper, NO_ACCESS, revision=revision)


def missing_rules(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, access: Access,
    there: Iterable[tuple[ObjectKey, KubernetesObject]] = (), *, revision: str = "",
) -> tuple[ScopedRule, ...]:  # fmt: skip
    """What the installer of these objects lacks, by namespace (R-V1-PERM-1).

    `access` is what RBAC in the cluster gives, `there` the roles in it that bindings may name; `revision` is the name
    of the ClusterObjectSet with that runtime, "" with Helm's.
    """
    roles = collect_roles((*there, *((object_key(obj), obj) for obj in objects)))
    subjects = with_groups(installer(extension))
    missing: dict[tuple[str, PolicyRule], set[str]] = defaultdict(set)
    for need in _needs(extension, objects, mapper, roles, revision):
        granted = access.rules(need.namespace or None, *subjects)
        if not rules_allow(granted, need.request) and not (need.excuse and rules_allow(granted, need.excuse)):
            missing[need.namespace, _target(need)].add(need.request.verb)
    rules = (ScopedRule(where, rule._replace(verbs=tuple(sorted(verbs)))) for (where, rule), verbs in missing.items())
    return tuple(sorted(rules))


def installer_roles(extension: ClusterExtension, required: Iterable[ScopedRule]) -> Iterator[KubernetesObject]:
    """The roles with these rules, one a namespace and one for the cluster, and their bindings to the installer."""
    by_namespace: dict[str, list[PolicyRule]] = defaultdict(list)
    for scoped in required:
        by_namespace[scoped.namespace].append(scoped.rule)
    account = installer(extension)
    subject = {"kind": account.kind, "name": account.name, "namespace": account.namespace}
    for namespace, rules in sorted(by_namespace.items()):
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": f"{extension.name}-installer"} | ({"namespace": namespace} if namespace else {})
        ref = {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]}
        written = [written_rule(rule) for rule in merge(rules)]
        yield {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, "rules": written}
        binding = {"apiVersion": RBAC_V1, "kind": f"{kind}Binding", "metadata": metadata}
        yield {**binding, "roleRef": ref, "subjects": [subject]}


def written_rule(rule: PolicyRule) -> dict[str, list[str]]:
    """A rule as a role has it."""
    fields = {
        "apiGroups": rule.groups, "resources": rule.resources, "resourceNames": rule.names, "verbs": rule.verbs,
        "nonResourceURLs": rule.urls,
    }  # fmt: skip
    return {key: list(values) for key, values in fields.items() if values}


def preflight_error(missing: Iterable[ScopedRule]) -> str:
    """The controller's error for rules that are missing, "" for none (R-V1-PERM-2)."""
    lines = sorted(rule.line for rule in missing)
    return "\n  ".join((_HEAD, *lines)) if lines else ""


def _target(need: _Need) -> PolicyRule:
    """What a request is about, as a rule without verbs."""
    request = need.request
    if request.url:
        return PolicyRule((), urls=(request.url,))
    # What is given away may be limited to the name "", which is not the same as any.
    names = () if request.name is None or not (request.name or need.excuse) else (request.name,)
    return PolicyRule((), (request.group,), (request.resource,), names)


def _needs(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, roles: Roles, revision: str
) -> Iterator[_Need]:
    for obj in objects:
        kind = mapper.of(obj)
        namespace = as_text(metadata_of(obj).get("namespace")) if kind.namespaced else ""
        for verb in _BY_NAME:
            yield _Need(namespace, Request(verb, kind.group, kind.plural, name_of(obj)))
        yield _Need(namespace, Request("create", kind.group, kind.plural))
        if not revision:
            # Helm's runtime watches every kind that it has ever written, wherever.
            yield from (_Need("", Request(verb, kind.group, kind.plural)) for verb in ("list", "watch"))
        if kind.group == RBAC:
            yield from _escalations(obj, namespace, roles)
    finalizers = ("clusterobjectsets", revision) if revision else ("clusterextensions", extension.name)
    yield _Need("", Request("update", GROUP, f"{finalizers[0]}/finalizers", finalizers[1]))


def _escalations(obj: KubernetesObject, namespace: str, roles: Roles) -> Iterator[_Need]:
    """What one must hold to give it to others: the rules of a role, or those of the role that a binding names."""
    kind = str(obj["kind"])
    if kind in _ROLES:
        excuse, rules = Request("escalate", RBAC, _ROLES[kind], name_of(obj)), decode_rules(obj.get("rules"))
    else:
        bound = decode_binding(object_key(obj), obj, namespace).role
        role = roles.by_identity.get(bound)
        excuse, rules = Request("bind", RBAC, _ROLES.get(bound.kind, ""), bound.name), role.rules if role else ()
    for rule in rules:
        yield from (_Need(namespace, request, excuse) for request in requests_of(rule))
