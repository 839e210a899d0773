"""Validate the fields for the scheduling of pods: requests and limits, affinity, tolerations, spreading."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from olmc.k8s.api.validation.field import NOT_NEGATIVE, FieldError, Path, Struct, typed
from olmc.k8s.api.validation.metadata import expression_errors, selector_errors
from olmc.k8s.gojson.scalars import stored_amount, thousandths
from olmc.k8s.objects import text

_OBJECT_COUNTS = frozenset(
    "pods services replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims services.nodeports "
    "services.loadbalancers".split()
)
_COMPUTE = frozenset(("cpu", "memory"))
_OF_CONTAINERS = _COMPUTE | {"ephemeral-storage"}
_MEASURED = _OF_CONTAINERS | {"storage"}
_STANDARD = (
    _OBJECT_COUNTS
    | _MEASURED
    | {f"requests.{name}" for name in _MEASURED}
    | {f"limits.{name}" for name in _OF_CONTAINERS}
)
_HUGE = "hugepages-"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POSITIVE_RULE = "must be greater than zero"
_BOTH_RULE = "exists in both matchLabelKeys and labelSelector"


def container_resource_errors(resources: Struct, claims: Collection[str]) -> Iterator[FieldError]:
    """Yield the errors of a container's resources; `claims` are the names of the pod's resource claims."""
    yield from _requirement_errors(resources, of_pod=False)
    yield from _claim_errors(resources, claims)


def overhead_errors(pod: Struct) -> Iterator[FieldError]:
    """Return the errors of the overhead: the resources that a pod needs in addition to those of its containers."""
    yield from _requirement_errors(Struct({"limits": pod.get("overhead")}, pod.at("overhead")), of_pod=False)


def pod_resource_errors(resources: Struct | None) -> Iterator[FieldError]:
    """Yield the errors of the resources of a pod as a whole, seen for themselves."""
    if resources is not None:
        if resources.has("claims"):
            yield resources.at("claims").forbidden("claims cannot be set for Resources at pod-level")
        yield from _requirement_errors(resources, of_pod=True)


def _requirement_errors(resources: Struct, *, of_pod: bool) -> Iterator[FieldError]:
    # Amounts that Go's decoder can't read are refused before anything is validated, so they need no errors here.
    limits, requests = _quantities(resources, "limits"), _quantities(resources, "requests")
    for field, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            path = resources.at(field).key(name)
            yield from _name_errors(name, path, of_pod=of_pod)
            yield from _quantity_errors(name, quantity, path)
            if field == "requests":
                yield from _limit_errors(name, quantity, limits.get(name), resources)
            yield from _page_errors(name, quantity, path)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE) for name in names) and not names & _COMPUTE:
        yield resources.path.forbidden("HugePages require cpu or memory")


def _quantities(resources: Struct, field: str) -> dict[str, str]:
    """The amounts by name, those that can be read."""
    values = ((name, text(value)) for name, value in sorted(resources.map(field).items()))
    return {name: value for name, value in values if _amount(value) is not None}


def _amount(quantity: str) -> int | None:
    """The amount in thousandths, None if it can't be read."""
    try:
        return thousandths(quantity)
    except ValueError:
        return None


def _limit_errors(name: str, request: str, limit: str | None, resources: Struct) -> Iterator[FieldError]:
    """A request against its limit; what can't be shared must be asked for in full."""
    if limit is None:
        if not _is_shared(name):
            yield resources.at("limits").required("Limit must be set for non overcommitable resources")
        return
    wanted, most = stored_amount(request), stored_amount(limit)
    path = resources.at("requests").keyed(name)
    if wanted == most:
        return
    if not _is_shared(name):
        yield path.invalid(request, f"must be equal to {name} limit of {limit}")
    elif wanted > most:
        yield path.invalid(request, f"must be less than or equal to {name} limit of {limit}")


def _name_errors(name: str, path: Path, *, of_pod: bool) -> Iterator[FieldError]:
    shown = typed(name)
    problems = is_qualified_name(name)
    is_standard = name in _STANDARD or name.startswith((_HUGE, f"requests.{_HUGE}"))
    if not problems and "/" not in name and not is_standard:
        problems = ["must be a standard resource type or fully qualified"]
    yield from path.all_invalid(shown, problems)
    if of_pod:
        if not problems and name not in _COMPUTE and not name.startswith(_HUGE):
            yield path.unsupported(shown, ("cpu", _HUGE, "memory"))
    elif "/" not in name:
        if name not in _OF_CONTAINERS and not name.startswith(_HUGE):
            yield path.invalid(shown, "must be a standard resource for containers")
    elif not _is_native(name) and not _is_extended(name):
        yield path.invalid(shown, "doesn't follow extended resource name standard")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    # Quotas count an extended resource as `requests.NAME`, so that must be a name, too.
    return not _is_native(name) and not name.startswith("requests.") and not is_qualified_name(f"requests.{name}")


def _is_shared(name: str) -> bool:
    """Return whether more of it may be promised than there is."""
    return _is_native(name) and not name.startswith(_HUGE)


def _quantity_errors(name: str, quantity: str, path: Path) -> Iterator[FieldError]:
    number = _amount(quantity) or 0
    if number < 0:
        yield path.invalid(quantity, NOT_NEGATIVE)
    if number % 1000 and (name in _OBJECT_COUNTS or _is_extended(name)):
        yield path.invalid(typed(quantity), "must be an integer")


def _page_errors(name: str, quantity: str, path: Path) -> Iterator[FieldError]:
    """Huge pages are given out whole."""
    if not name.startswith(_HUGE):
        return
    size, wanted = _amount(name.removeprefix(_HUGE)), _amount(quantity)
    is_size = size is not None and size > 0 and size % 1000 == 0
    if not is_size or wanted is None or -(-wanted // 1000) % ((size or 1000) // 1000):
        yield path.invalid(quantity, f"{quantity} is not positive integer multiple of {name}")


def _claim_errors(resources: Struct, known: Collection[str]) -> Iterator[FieldError]:
    """The resource claims that a container uses must be some of its pod."""
    listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
    taken: list[str] = []
    for claim in resources.structs("claims"):
        name, request, path = claim.text("name"), claim.text("request"), claim.path
        if not name:
            yield path.required()
            continue
        wanted = f"{name}/{request}" if request else name
        if name in taken:
            yield path.duplicate(name)
        elif wanted in taken:
            yield path.duplicate(wanted)
        else:
            yield from claim.optional_text("request", is_dns1123_label)
            overlapping = [other for other in taken if not request and other.startswith(f"{name}/")]
            yield from [path.duplicate(name)] * len(overlapping)
        taken.append(wanted)
        if name not in known:
            yield path.not_found(name, f"must be one of the names in pod.spec.resourceClaims{listed}")


def affinity_errors(affinity: Struct) -> Iterator[FieldError]:
    """Yield the errors of the affinity of a pod."""
    nodes = affinity.child("nodeAffinity")
    selector = nodes.pointer(_REQUIRED)
    if selector is not None:
        terms = selector.structs("nodeSelectorTerms")
        if not terms:
            yield selector.at("nodeSelectorTerms").required("must have at least one node selector term")
        for term in terms:
            yield from _node_term_errors(term, free_values=False)
    for term in nodes.structs(_PREFERRED):
        yield from _weight_errors(term)
        yield from _node_term_errors(term.child("preference"), free_values=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in affinity.child(kind).structs(_REQUIRED):
            yield from _pod_term_errors(term)
        for term in affinity.child(kind).structs(_PREFERRED):
            yield from _weight_errors(term)
            yield from _pod_term_errors(term.child("podAffinityTerm"))


def _weight_errors(term: Struct) -> Iterator[FieldError]:
    weight = term.number("weight")
    if not 0 < weight <= 100:
        yield term.at("weight").invalid(weight, "must be in the range 1-100")


def _node_term_errors(term: Struct, *, free_values: bool) -> Iterator[FieldError]:
    for expression in term.structs("matchExpressions"):
        yield from expression_errors(expression, numbers=True, free_values=free_values)
    for expression in term.structs("matchFields"):
        yield from _node_field_errors(expression)


def _node_field_errors(expression: Struct) -> Iterator[FieldError]:
    operator, key, names = expression.text("operator"), expression.text("key"), expression.items("values")
    if operator not in ("In", "NotIn"):
        yield expression.at("operator").invalid(typed(operator), "not a valid selector operator")
    elif len(names) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield expression.at("values").required(detail)
    if key != "metadata.name":
        yield expression.at("key").invalid(key, "not a valid field selector key")
        return
    for name, path in names:
        yield from path.all_invalid(name, is_dns1123_subdomain(name))


def _pod_term_errors(term: Struct) -> Iterator[FieldError]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from selector_errors(term.child(field))
    for index, namespace in enumerate(term.texts("namespaces")):
        path = term.path.called("namespace").keyed("namespaces", index)
        yield from path.all_invalid(namespace, is_dns1123_label(namespace))
    yield from _label_key_errors(term)
    key, path = term.text("topologyKey"), term.at("topologyKey")
    if not key:
        yield path.required("can not be empty")
    yield from path.all_invalid(key, is_qualified_name(key))


def _label_key_errors(term: Struct) -> Iterator[FieldError]:
    """Keys whose values a pod's own labels give: they need a selector, which must not ask for them itself."""
    selector, has_selector = term.child("labelSelector"), term.pointer("labelSelector") is not None
    keys, mismatched = term.texts("matchLabelKeys"), term.texts("mismatchLabelKeys")
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if term.texts(field) and not has_selector:
            yield term.at(field).forbidden("must not be specified when labelSelector is not set")
        for key, path in term.items(field) if has_selector else ():
            yield from path.all_invalid(key, is_qualified_name(key))
    selected = set(selector.map("matchLabels"))
    for expression in selector.structs("matchExpressions"):
        key = expression.text("key")
        if key in keys and key in selected:
            # Kubernetes puts this at an index of the term itself.
            position = len(keys) - 1 - keys[::-1].index(key)
            yield Path(term.path.item(position).field, term.path.keys).invalid(key, _BOTH_RULE)
        selected.add(key)
    for key, path in term.items("matchLabelKeys"):
        if key in mismatched:
            yield path.invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")


def toleration_errors(tolerations: Sequence[Struct]) -> Iterator[FieldError]:
    """Yield the errors of the taints that a pod bears."""
    for toleration in tolerations:
        key, operator, effect = (toleration.text(field) for field in ("key", "operator", "effect"))
        if not key and operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield toleration.at("operator").invalid(typed(operator), detail)
        yield from toleration.optional_text("key", is_qualified_name)
        if toleration.has("tolerationSeconds") and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield toleration.at("effect").invalid(typed(effect), detail)
        yield from _operator_errors(operator, toleration.text("value"), toleration.at("operator"))
        yield from toleration.unsupported("effect", _EFFECTS)


def _operator_errors(operator: str, value: str, path: Path) -> Iterator[FieldError]:
    if operator in ("", "Equal"):
        if problems := is_label_value(value):
            yield path.invalid(value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield path.invalid(value, "value must be empty when `operator` is 'Exists'")
    else:
        yield path.unsupported(typed(operator), ("Equal", "Exists"))


def spread_errors(constraints: Sequence[Struct]) -> Iterator[FieldError]:
    """Yield the errors of how pods are spread over the cluster."""
    kinds = [(item.text("topologyKey"), item.text("whenUnsatisfiable")) for item in constraints]
    for index, constraint in enumerate(constraints):
        (key, action), skew = kinds[index], constraint.number("maxSkew")
        if skew <= 0:
            yield constraint.at("maxSkew").invalid(skew, _POSITIVE_RULE)
        if not key:
            yield constraint.at("topologyKey").required("can not be empty")
        if action not in _ACTIONS:
            yield constraint.at("whenUnsatisfiable").unsupported(typed(action), _ACTIONS)
        # Kubernetes compares a constraint with those behind it, so of two the first is the duplicate.
        if kinds[index] in kinds[index + 1 :]:
            pair = constraint.path.called("{topologyKey, whenUnsatisfiable}")
            yield pair.duplicate(f"{{{key}, {action}}}")
        yield from _domain_errors(constraint, action)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from constraint.unsupported(field, ("Honor", "Ignore"), is_pointer=True)
        yield from _label_key_errors(constraint)
        yield from selector_errors(constraint.child("labelSelector"))


def _domain_errors(constraint: Struct, action: str) -> Iterator[FieldError]:
    least, path = constraint.integer("minDomains"), constraint.at("minDomains")
    if least is None:
        return
    if least <= 0:
        yield path.invalid(least, _POSITIVE_RULE)
    if action != "DoNotSchedule":
        yield path.invalid(least, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")
