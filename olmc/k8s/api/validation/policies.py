"""Validate Roles and their bindings (rbac.authorization.k8s.io/v1), NetworkPolicies, PodDisruptionBudgets and
PriorityClasses as the API server does.

The errors and their order follow the packages validation of
https://github.com/kubernetes/kubernetes/tree/master/pkg/apis: rbac, networking, policy and scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.api.validation.field import IMMUTABLE, FieldError, JsonText, Path, Struct
from olmc.k8s.api.validation.metadata import (
    metadata_errors,
    path_segment_problems,
    percent_problems,
    port_errors,
    selector_errors,
)
from olmc.k8s.objects import RBAC, text
from olmc.k8s.strconv import decimal

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

Obj = Mapping[str, Any]

_ROLE_KINDS = ("Role", "ClusterRole")
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")
_DIRECTIONS = ("Egress", "Ingress")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_NO_BLOCK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_EVICTION = ("AlwaysAllow", "IfHealthyBudget")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST = 1_000_000_000


def role_errors(role: Obj) -> list[FieldError]:
    """Return why the API server refuses a Role."""
    # RBAC takes names that no other kind does, such as `system:node`, as long as they fit into a URL.
    return [*metadata_errors(role, path_segment_problems, namespaced=True), *_rules_errors(role, namespaced=True)]


def cluster_role_errors(role: Obj) -> list[FieldError]:
    """Return why the API server refuses a ClusterRole."""
    errors = [*metadata_errors(role, path_segment_problems), *_rules_errors(role, namespaced=False)]
    aggregation = Struct(role, Path()).pointer("aggregationRule")
    if aggregation is not None:
        selectors = aggregation.structs("clusterRoleSelectors")
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(aggregation.at("clusterRoleSelectors").required(detail))
        for selector in selectors:
            errors += selector_errors(selector)
    return errors


def _rules_errors(role: Obj, *, namespaced: bool) -> Iterator[FieldError]:
    for rule in Struct(role, Path()).structs("rules"):
        yield from rule.required("verbs", detail="verbs must contain at least one value")
        urls, path = rule.texts("nonResourceURLs"), rule.at("nonResourceURLs")
        if not urls:
            yield from rule.required("apiGroups", detail="resource rules must supply at least one api group")
            yield from rule.required("resources", detail="resource rules must supply at least one resource")
            continue
        if namespaced:
            yield path.invalid(JsonText.of(urls), "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield path.invalid(JsonText.of(urls), detail)


def role_binding_errors(binding: Obj) -> list[FieldError]:
    """Return why the API server refuses a RoleBinding."""
    return [
        *metadata_errors(binding, path_segment_problems, namespaced=True),
        *_role_ref_errors(binding, _ROLE_KINDS),
        *_subject_errors(binding, namespaced=True),
    ]


def cluster_role_binding_errors(binding: Obj) -> list[FieldError]:
    """Return why the API server refuses a ClusterRoleBinding."""
    return [
        *metadata_errors(binding, path_segment_problems),
        *_role_ref_errors(binding, ("ClusterRole",)),
        *_subject_errors(binding, namespaced=False),
    ]


def role_ref_change(new: Obj, old: Obj) -> list[FieldError]:
    """Return why the API server refuses a binding in the place of another: the role that it refers to stays
    (R-CAT-702)."""
    reference = _role_ref(new)
    path = Path("roleRef", ("roleRef",))
    return [] if reference == _role_ref(old) else [path.invalid(JsonText.of(reference), "cannot change roleRef")]


def _role_ref(binding: Obj) -> dict[str, str]:
    """A reference to a role as the server holds it; the group is filled in."""
    role = Struct(binding, Path()).child("roleRef")
    return {"APIGroup": role.text("apiGroup") or RBAC, "Kind": role.text("kind"), "Name": role.text("name")}


def _role_ref_errors(binding: Obj, kinds: tuple[str, ...]) -> Iterator[FieldError]:
    role, reference = Struct(binding, Path()).child("roleRef"), _role_ref(binding)
    if reference["APIGroup"] != RBAC:
        yield role.at("apiGroup").unsupported(reference["APIGroup"], (RBAC,))
    if reference["Kind"] not in kinds:
        yield role.at("kind").unsupported(reference["Kind"], kinds)
    yield from role.required_text("name", path_segment_problems)


def _subject_errors(binding: Obj, *, namespaced: bool) -> Iterator[FieldError]:
    for subject in Struct(binding, Path()).structs("subjects"):
        kind, group = subject.text("kind"), subject.text("apiGroup")
        if not subject.text("name"):
            yield subject.at("name").required()
        if kind not in _SUBJECT_KINDS:
            yield subject.at("kind").unsupported(kind, _SUBJECT_KINDS)
        elif kind != "ServiceAccount":
            if group not in ("", RBAC):  # filled in where there is none
                yield subject.at("apiGroup").unsupported(group, (RBAC,))
        else:
            yield from subject.optional_text("name", is_dns1123_subdomain)
            if group:
                yield subject.at("apiGroup").unsupported(group, ("",))
            if not namespaced:
                yield from subject.required("namespace")


def network_policy_errors(obj: Obj) -> list[FieldError]:
    """Return why the API server refuses to create a NetworkPolicy."""
    policy = Struct(obj, Path()).child("spec")
    errors = metadata_errors(obj, is_dns1123_subdomain, namespaced=True)
    errors += selector_errors(policy.child("podSelector"))
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for rule in policy.structs(field):
            for port in rule.structs("ports"):
                errors += _policy_port_errors(port)
            for peer in rule.structs(peers):
                errors += _peer_errors(peer)
    kinds = policy.items("policyTypes")
    # More types than there are directions are one error, whichever types they are.
    if len(kinds) > len(_DIRECTIONS):
        shown = JsonText.of(policy.texts("policyTypes"))
        return [*errors, policy.at("policyTypes").invalid(shown, "may not specify more than two policyTypes")]
    return [*errors, *(path.unsupported(kind, _DIRECTIONS) for kind, path in kinds if kind not in _DIRECTIONS)]


def _policy_port_errors(port: Struct) -> Iterator[FieldError]:
    protocol, first, last = port.get("protocol"), port.get("port"), port.integer("endPort")
    path = port.at("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield port.at("protocol").unsupported(text(protocol), _PROTOCOLS)
    if first is not None:
        yield from port_errors(first, port.at("port"))
    if last is None:
        return
    if first is None:
        yield path.invalid(last, "may not be specified when `port` is not specified")
    elif isinstance(first, str):
        yield path.invalid(last, "may not be specified when `port` is non-numeric")
    else:
        if last < port.number("port"):
            yield path.invalid(last, "must be greater than or equal to `port`")
        yield from port_errors(last, path)


def _peer_errors(peer: Struct) -> Iterator[FieldError]:
    selectors = [peer.pointer(key) for key in ("podSelector", "namespaceSelector")]
    for selector in selectors:
        yield from selector_errors(selector) if selector is not None else ()
    block = peer.pointer("ipBlock")
    if block is not None:
        yield from _block_errors(block)
        if any(selectors):
            yield peer.path.forbidden("may not specify both ipBlock and another peer")
    elif not any(selectors):
        yield peer.path.required("must specify a peer")


def _block_errors(block: Struct) -> Iterator[FieldError]:
    cidr, path = block.text("cidr"), block.at("cidr")
    whole = _network(cidr)
    if not cidr:
        yield path.required()
    elif whole is None:
        yield path.invalid(cidr, _NO_BLOCK)
    if whole is None:
        return
    for excepted, place in block.items("except"):
        part = _network(excepted)
        if part is None:
            yield place.invalid(excepted, _NO_BLOCK)
        elif part.version != whole.version or part.network_address not in whole or part.prefixlen <= whole.prefixlen:
            yield place.invalid(excepted, "must be a strict subset of `cidr`")


def _network(cidr: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(cidr, strict=False) if "/" in cidr else None
    except ValueError:
        return None


def disruption_budget_errors(obj: Obj) -> list[FieldError]:
    """Return why the API server refuses to create a PodDisruptionBudget."""
    budget = Struct(obj, Path()).child("spec")
    errors = metadata_errors(obj, is_dns1123_subdomain, namespaced=True)
    least, most, policy = (budget.get(key) for key in ("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"))
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least, "Selector": budget.get("selector"), "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": policy,
        }  # fmt: skip
        errors.append(budget.path.invalid(JsonText.of(shown), "minAvailable and maxUnavailable cannot be both set"))
    errors += _share_errors(budget, "minAvailable")
    errors += _share_errors(budget, "maxUnavailable")
    errors += selector_errors(budget.child("selector"))
    if policy is not None and policy not in _EVICTION:
        errors.append(budget.at("unhealthyPodEvictionPolicy").unsupported(text(policy), _EVICTION))
    return errors


def _share_errors(budget: Struct, field: str) -> Iterator[FieldError]:
    """Yield the errors of a count or percentage of pods."""
    value, path = budget.get(field), budget.at(field)
    if not isinstance(value, str):
        yield from budget.negative(field)
        return
    problems = percent_problems(value)
    yield from path.all_invalid(value, problems)
    # Go reads no number of more than 64 bits, so what is more is none that is too much.
    if not problems and (decimal(value.removesuffix("%")) or 0) > 100:
        yield path.invalid(value, "must not be greater than 100%")


def priority_class_errors(obj: Obj) -> list[FieldError]:
    """Return why the API server refuses to create a PriorityClass."""
    priority = Struct(obj, Path())
    errors = metadata_errors(obj, is_dns1123_subdomain)
    name, value = priority.child("metadata").text("name"), priority.number("value")
    if name.startswith("system-"):
        problem = _system_problem(name, value, priority.get("globalDefault") is True)
        detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
        errors += [priority.at("metadata", "name").forbidden(detail)] if problem else []
    # Higher values are for the classes of Kubernetes itself.
    elif value > _HIGHEST:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors.append(priority.at("value").forbidden(detail))
    preemption, path = priority.get("preemptionPolicy"), priority.at("preemptionPolicy")
    if preemption == "":
        errors.append(path.required())
    elif preemption is not None and preemption not in _PREEMPTION:
        errors.append(path.unsupported(text(preemption), _PREEMPTION))
    return errors


def _system_problem(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def priority_change(new: Obj, old: Obj) -> list[FieldError]:
    """Return why the API server refuses a PriorityClass in the place of another: value and preemption stay
    (R-CAT-702)."""
    after, before = Struct(new, Path()), Struct(old, Path())
    errors = []
    if after.number("value") != before.number("value"):
        errors.append(after.at("value").forbidden("may not be changed in an update."))
    policy = after.text("preemptionPolicy") or _PREEMPTION[0]
    if policy != (before.text("preemptionPolicy") or _PREEMPTION[0]):
        errors.append(after.at("preemptionPolicy").invalid(policy, IMMUTABLE))
    return errors
