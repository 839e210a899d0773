"""PriorityClasses, PodDisruptionBudgets and NetworkPolicies as the API server judges them.

An object comes as Go's types keep it. Which errors there are, and in which order, follows the packages validation of
https://github.com/kubernetes/kubernetes/tree/master/pkg/apis: scheduling, policy and networking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer, present
from olmc.kube.names import percent_problems, port_errors
from olmc.kube.object_meta import metadata_errors
from olmc.kube.selectors import selector_errors
from olmc.model.coerce import mapping, mappings, text, texts

_SPEC = Path("spec", ("spec",))
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST = 1_000_000_000
_PREEMPTION = ("PreemptLowerPriority", "Never")
_EVICTION = ("AlwaysAllow", "IfHealthyBudget")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_DIRECTIONS = ("Egress", "Ingress")


def priority_class_errors(priority: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a PriorityClass."""
    errors = metadata_errors(priority, is_dns1123_subdomain)
    name, value = text(mapping(priority.get("metadata")).get("name")), integer(priority.get("value")) or 0
    if name.startswith("system-"):
        problem = _system_problem(name, value, priority.get("globalDefault") is True)
        detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
        errors += [Path("metadata.name", ("metadata", "name")).forbidden(detail)] if problem else []
    elif value > _HIGHEST:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors.append(Path("value", ("value",)).forbidden(detail))
    preemption, path = priority.get("preemptionPolicy"), Path("preemptionPolicy", ("preemptionPolicy",))
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


def priority_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a PriorityClass in the place of another: value and preemption stay (R-CAT-702)."""
    errors = []
    if (integer(new.get("value")) or 0) != (integer(old.get("value")) or 0):
        errors.append(Path("value", ("value",)).forbidden("may not be changed in an update."))
    given, before = (text(each.get("preemptionPolicy")) or _PREEMPTION[0] for each in (new, old))
    if given != before:
        errors.append(Path("preemptionPolicy", ("preemptionPolicy",)).invalid(given, "field is immutable"))
    return errors


def disruption_budget_errors(budget: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a PodDisruptionBudget."""
    spec = mapping(budget.get("spec"))
    errors = metadata_errors(budget, is_dns1123_subdomain, namespaced=True)
    least, most, policy = (spec.get(key) for key in ("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"))
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": policy,
        }  # fmt: skip
        errors.append(_SPEC.invalid(Shown.json(shown), "minAvailable and maxUnavailable cannot be both set"))
    errors += _share_errors(least, _SPEC.child("minAvailable"))
    errors += _share_errors(most, _SPEC.child("maxUnavailable"))
    errors += selector_errors(spec.get("selector"), _SPEC.child("selector"))
    if policy is not None and policy not in _EVICTION:
        errors.append(_SPEC.child("unhealthyPodEvictionPolicy").unsupported(text(policy), _EVICTION))
    return errors


def _share_errors(value: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with a count or percentage of pods."""
    if not isinstance(value, str):
        yield from path.negative(value)
        return
    problems = percent_problems(value)
    yield from path.all_invalid(value, problems)
    if not problems and int(value.removesuffix("%")) > 100:
        yield path.invalid(value, "must not be greater than 100%")


def network_policy_errors(policy: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a NetworkPolicy."""
    spec = mapping(policy.get("spec"))
    errors = metadata_errors(policy, is_dns1123_subdomain, namespaced=True)
    errors += selector_errors(spec.get("podSelector"), _SPEC.child("podSelector"))
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(mappings(spec.get(field))):
            path = _SPEC.child(field).item(index)
            for number, port in enumerate(mappings(rule.get("ports"))):
                errors += _policy_port(port, path.child("ports").item(number))
            for number, peer in enumerate(mappings(rule.get(peers))):
                errors += _peer(peer, path.child(peers).item(number))
    kinds, here = texts(spec.get("policyTypes")), _SPEC.child("policyTypes")
    if len(kinds) > len(_DIRECTIONS):
        errors.append(here.invalid(Shown.json(kinds), "may not specify more than two policyTypes"))
        return errors
    unknown = ((index, kind) for index, kind in enumerate(kinds) if kind not in _DIRECTIONS)
    return [*errors, *(here.item(index).unsupported(kind, _DIRECTIONS) for index, kind in unknown)]


def _policy_port(port: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    protocol, first, last = port.get("protocol"), port.get("port"), integer(port.get("endPort"))
    if protocol is not None and protocol not in _PROTOCOLS:
        yield path.child("protocol").unsupported(text(protocol), _PROTOCOLS)
    if first is None:
        if last is not None:
            yield path.child("endPort").invalid(last, "may not be specified when `port` is not specified")
        return
    yield from port_errors(first, path.child("port"))
    if last is None:
        return
    if isinstance(first, str):
        yield path.child("endPort").invalid(last, "may not be specified when `port` is non-numeric")
    elif last < first:
        yield path.child("endPort").invalid(last, "must be greater than or equal to `port`")
    if not isinstance(first, str):
        yield from port_errors(last, path.child("endPort"))


def _peer(peer: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    selectors = [key for key in ("podSelector", "namespaceSelector") if present(peer.get(key)) is not None]
    for key in selectors:
        yield from selector_errors(peer.get(key), path.child(key))
    block = present(peer.get("ipBlock"))
    if block is not None:
        yield from _block(block, path.child("ipBlock"))
        if selectors:
            yield path.forbidden("may not specify both ipBlock and another peer")
    elif not selectors:
        yield path.required("must specify a peer")


def _block(block: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    cidr = text(block.get("cidr"))
    if not cidr:
        yield path.child("cidr").required()
        return
    whole = _network(cidr)
    if whole is None:
        yield path.child("cidr").invalid(cidr, _NO_BLOCK)
        return
    for index, excepted in enumerate(texts(block.get("except"))):
        here, part = path.child("except").item(index), _network(excepted)
        if part is None:
            yield here.invalid(excepted, _NO_BLOCK)
        elif part.version != whole.version or part.network_address not in whole or part.prefixlen <= whole.prefixlen:
            yield here.invalid(excepted, "must be a strict subset of `cidr`")


def _network(cidr: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(cidr, strict=False) if "/" in cidr else None
    except ValueError:
        return None


_NO_BLOCK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
