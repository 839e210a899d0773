"""Requests and limits of containers and pods."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from olmc.gojson.quantity import thousandths
from olmc.golang import is_qualified_name
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import NOT_NEGATIVE, Path, present, typed
from olmc.kube.names import label_name_errors
from olmc.model.coerce import mapping, mappings, text

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


def container_resource_errors(resources: Any, claims: Collection[str], path: Path) -> Iterator[FieldError]:
    """What is wrong with a container's resources; `claims` are the names of the pod's resource claims."""
    given = mapping(resources)
    yield from _requirement_errors(given, path, of_pod=False)
    yield from _claim_errors(given, claims, path.child("claims"))


def overhead_errors(overhead: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with what a pod needs besides its containers."""
    yield from _requirement_errors({"limits": overhead}, path, of_pod=False)


def pod_resource_errors(resources: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the resources of a pod as a whole, seen for themselves."""
    given = present(resources)
    if given is None:
        return
    if given.get("claims") is not None:
        yield path.child("claims").forbidden("claims cannot be set for Resources at pod-level")
    yield from _requirement_errors(given, path, of_pod=True)


def _requirement_errors(resources: Mapping[str, Any], path: Path, *, of_pod: bool) -> Iterator[FieldError]:
    limits, requests = _quantities(resources.get("limits")), _quantities(resources.get("requests"))
    for name, quantity in limits.items():
        here = path.child("limits").key(name)
        yield from _name_errors(name, here, of_pod=of_pod)
        yield from _quantity_errors(name, quantity, here)
        yield from _page_errors(name, quantity, here)
    for name, quantity in requests.items():
        here = path.child("requests").key(name)
        yield from _name_errors(name, here, of_pod=of_pod)
        yield from _quantity_errors(name, quantity, here)
        yield from _limit_errors(name, quantity, limits.get(name), path)
        yield from _page_errors(name, quantity, here)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE) for name in names) and not names & _COMPUTE:
        yield path.forbidden("HugePages require cpu or memory")


def _quantities(given: Any) -> dict[str, str]:
    """The amounts by name, those that can be read."""
    return {name: text(value) for name, value in sorted(mapping(given).items()) if _amount(text(value)) is not None}


def _amount(quantity: str) -> int | None:
    """The amount in thousandths, None if it can't be read."""
    try:
        return thousandths(quantity)
    except ValueError:
        return None


def _limit_errors(name: str, request: str, limit: str | None, path: Path) -> Iterator[FieldError]:
    """A request against its limit; what can't be shared must be asked for in full."""
    if limit is None:
        if not _is_shared(name):
            yield path.child("limits").required("Limit must be set for non overcommitable resources")
        return
    wanted, most = _amount(request), _amount(limit)
    here = path.child("requests")._replace(keys=(*path.keys, "requests", name))
    if wanted is None or most is None or wanted == most:
        return
    if not _is_shared(name):
        yield here.invalid(request, f"must be equal to {name} limit of {limit}")
    elif wanted > most:
        yield here.invalid(request, f"must be less than or equal to {name} limit of {limit}")


def _name_errors(name: str, path: Path, *, of_pod: bool) -> Iterator[FieldError]:
    shown = typed(name)
    problems = is_qualified_name(name)
    if not problems and "/" not in name and not _is_standard(name):
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


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith((_HUGE, f"requests.{_HUGE}"))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.") and not is_qualified_name(f"requests.{name}")


def _is_shared(name: str) -> bool:
    """Whether more of it may be promised than there is."""
    return _is_native(name) and not name.startswith(_HUGE)


def _quantity_errors(name: str, quantity: str, path: Path) -> Iterator[FieldError]:
    number = _amount(quantity)
    if number is not None and number < 0:
        yield path.invalid(quantity, NOT_NEGATIVE)
    if number is not None and number % 1000 and (name in _OBJECT_COUNTS or _is_extended(name)):
        yield path.invalid(typed(quantity), "must be an integer")


def _page_errors(name: str, quantity: str, path: Path) -> Iterator[FieldError]:
    """Huge pages are given out whole."""
    if not name.startswith(_HUGE):
        return
    size, wanted = _amount(name.removeprefix(_HUGE)), _amount(quantity)
    is_size = size is not None and size > 0 and size % 1000 == 0
    if not is_size or wanted is None or -(-wanted // 1000) % ((size or 1000) // 1000):
        yield path.invalid(quantity, f"{quantity} is not positive integer multiple of {name}")


def _claim_errors(resources: Mapping[str, Any], known: Collection[str], path: Path) -> Iterator[FieldError]:
    """The resource claims that a container uses must be some of its pod."""
    listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
    taken: list[str] = []
    for index, claim in enumerate(mappings(resources.get("claims"))):
        here, name, request = path.item(index), text(claim.get("name")), text(claim.get("request"))
        if not name:
            yield here.required()
            continue
        wanted = f"{name}/{request}" if request else name
        if name in taken:
            yield here.duplicate(name)
        elif wanted in taken:
            yield here.duplicate(wanted)
        else:
            yield from label_name_errors(request, here.child("request")) if request else ()
            overlapping = [one for one in taken if not request and one.startswith(f"{name}/")]
            yield from [here.duplicate(name)] * len(overlapping)
        taken.append(wanted)
        if name not in known:
            yield here.not_found(name, f"must be one of the names in pod.spec.resourceClaims{listed}")
