"""Where pods may run: affinity, tolerations, spreading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.selectors import expression_errors, selector_errors
from olmc.model.coerce import mapping, mappings, text, texts

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHT_RULE = "must be in the range 1-100"
_POSITIVE_RULE = "must be greater than zero"
_BOTH_RULE = "exists in both matchLabelKeys and labelSelector"


def affinity_errors(affinity: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the affinity of a pod."""
    given = mapping(affinity)
    nodes, here = present(given.get("nodeAffinity")), path.child("nodeAffinity")
    if nodes is not None:
        if present(nodes.get(_REQUIRED)) is not None:
            yield from _node_selector_errors(nodes[_REQUIRED], here.child(_REQUIRED))
        for index, term in enumerate(mappings(nodes.get(_PREFERRED))):
            place = here.child(_PREFERRED).item(index)
            yield from _weight_errors(term, place)
            yield from _node_term_errors(term.get("preference"), place.child("preference"), free_values=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = mapping(given.get(kind))
        for index, term in enumerate(mappings(terms.get(_REQUIRED))):
            yield from _pod_term_errors(term, path.child(kind, _REQUIRED).item(index))
        for index, term in enumerate(mappings(terms.get(_PREFERRED))):
            place = path.child(kind, _PREFERRED).item(index)
            yield from _weight_errors(term, place)
            yield from _pod_term_errors(mapping(term.get("podAffinityTerm")), place.child("podAffinityTerm"))


def _weight_errors(term: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    weight = integer(term.get("weight")) or 0
    if not 0 < weight <= 100:
        yield path.child("weight").invalid(weight, _WEIGHT_RULE)


def _node_selector_errors(selector: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    terms, here = mappings(selector.get("nodeSelectorTerms")), path.child("nodeSelectorTerms")
    if not terms:
        yield here.required("must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term_errors(term, here.item(index), free_values=False)


def _node_term_errors(term: Any, path: Path, *, free_values: bool) -> Iterator[FieldError]:
    for index, expression in enumerate(mappings(mapping(term).get("matchExpressions"))):
        here = path.child("matchExpressions").item(index)
        yield from expression_errors(expression, here, numbers=True, free_values=free_values)
    for index, expression in enumerate(mappings(mapping(term).get("matchFields"))):
        yield from _node_field_errors(expression, path.child("matchFields").item(index))


def _node_field_errors(expression: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    operator, key, values = text(expression.get("operator")), text(expression.get("key")), expression.get("values")
    names = texts(values)
    if operator not in ("In", "NotIn"):
        yield path.child("operator").invalid(typed(operator), "not a valid selector operator")
    elif len(names) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield path.child("values").required(detail)
    if key != "metadata.name":
        yield path.child("key").invalid(key, "not a valid field selector key")
        return
    for index, name in enumerate(names):
        yield from path.child("values").item(index).all_invalid(name, is_dns1123_subdomain(name))


def _pod_term_errors(term: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from selector_errors(term.get(field), path.child(field))
    for index, namespace in enumerate(texts(term.get("namespaces"))):
        here = path.called("namespace").at("namespaces", index)
        yield from here.all_invalid(namespace, is_dns1123_label(namespace))
    yield from _label_key_errors(term, path)
    key, here = text(term.get("topologyKey")), path.child("topologyKey")
    if not key:
        yield here.required("can not be empty")
    yield from here.all_invalid(key, is_qualified_name(key))


def _label_key_errors(term: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Keys whose values a pod's own labels give: they need a selector, which must not ask for them itself."""
    selector, keys = present(term.get("labelSelector")), texts(term.get("matchLabelKeys"))
    mismatched = texts(term.get("mismatchLabelKeys"))
    for field, listed in (("matchLabelKeys", keys), ("mismatchLabelKeys", mismatched)):
        if listed and selector is None:
            yield path.child(field).forbidden("must not be specified when labelSelector is not set")
        for index, key in enumerate(listed if selector is not None else ()):
            yield from path.child(field).item(index).all_invalid(key, is_qualified_name(key))
    asked = set(mapping(mapping(selector).get("matchLabels")))
    for expression in mappings(mapping(selector).get("matchExpressions")):
        key = text(expression.get("key"))
        if key in keys and key in asked:
            # Kubernetes puts this at an index of the term itself.
            position = len(keys) - 1 - keys[::-1].index(key)
            yield path.item(position)._replace(keys=path.keys).invalid(key, _BOTH_RULE)
        asked.add(key)
    for index, key in enumerate(keys):
        if key in mismatched:
            here = path.child("matchLabelKeys").item(index)
            yield here.invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")


def toleration_errors(tolerations: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the taints that a pod bears."""
    for index, toleration in enumerate(mappings(tolerations)):
        here = path.item(index)
        key, operator = text(toleration.get("key")), text(toleration.get("operator"))
        value, effect = text(toleration.get("value")), text(toleration.get("effect"))
        if key:
            yield from here.child("key").all_invalid(key, is_qualified_name(key))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield here.child("operator").invalid(typed(operator), detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield here.child("effect").invalid(typed(effect), detail)
        yield from _operator_errors(operator, value, here.child("operator"))
        if effect and effect not in _EFFECTS:
            yield here.child("effect").unsupported(typed(effect), _EFFECTS)


def _operator_errors(operator: str, value: str, path: Path) -> Iterator[FieldError]:
    if operator in ("", "Equal"):
        problems = is_label_value(value)
        if problems:
            yield path.invalid(value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield path.invalid(value, "value must be empty when `operator` is 'Exists'")
    else:
        yield path.unsupported(typed(operator), ("Equal", "Exists"))


def spread_errors(constraints: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with how pods are spread over the cluster."""
    given = mappings(constraints)
    kinds = [(text(each.get("topologyKey")), text(each.get("whenUnsatisfiable"))) for each in given]
    for index, constraint in enumerate(given):
        here, (key, action) = path.item(index), kinds[index]
        skew = integer(constraint.get("maxSkew")) or 0
        if skew <= 0:
            yield here.child("maxSkew").invalid(skew, _POSITIVE_RULE)
        if not key:
            yield here.child("topologyKey").required("can not be empty")
        if action not in _ACTIONS:
            yield here.child("whenUnsatisfiable").unsupported(typed(action), _ACTIONS)
        if kinds[index] in kinds[index + 1 :]:
            twice = here.called("{topologyKey, whenUnsatisfiable}")
            yield twice.duplicate(f"{{{key}, {action}}}")
        yield from _domain_errors(constraint, action, here.child("minDomains"))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(field)
            if isinstance(policy, str) and policy not in ("Honor", "Ignore"):
                yield here.child(field).unsupported(typed(policy), ("Honor", "Ignore"))
        yield from _label_key_errors(constraint, here)
        yield from selector_errors(constraint.get("labelSelector"), here.child("labelSelector"))


def _domain_errors(constraint: Mapping[str, Any], action: str, path: Path) -> Iterator[FieldError]:
    least = integer(constraint.get("minDomains"))
    if least is None:
        return
    if least <= 0:
        yield path.invalid(least, _POSITIVE_RULE)
    if action != "DoNotSchedule":
        yield path.invalid(least, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")
