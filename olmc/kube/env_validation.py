"""Environment variables of containers, and the fields of pods that they and volumes can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson.quantity import quantity
from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, present
from olmc.kube.names import config_key_problems, env_name_problems, generated_name_errors, qualified_name_errors
from olmc.model.coerce import mappings, text

_OF_ENV = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
OF_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_OF_PODS = {*_OF_ENV, *OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")
_OF_CONTAINERS = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def env_errors(variables: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with a container's variables."""
    for index, variable in enumerate(mappings(variables)):
        here, name = path.item(index), text(variable.get("name"))
        if name:
            yield from here.child("name").all_invalid(name, env_name_problems(name))
        else:
            yield here.child("name").required()
        source = present(variable.get("valueFrom"))
        if source is not None:
            yield from _source_errors(source, bool(text(variable.get("value"))), here.child("valueFrom"))


def _source_errors(source: Mapping[str, Any], has_value: bool, path: Path) -> Iterator[FieldError]:
    given = {name: each for name in _SOURCES if (each := present(source.get(name))) is not None}
    for name, each in given.items():
        here = path.child(name)
        if name == "fieldRef":
            yield from field_ref_errors(each, _OF_ENV, here)
        elif name == "resourceFieldRef":
            yield from resource_ref_errors(each, here)
        elif name != "fileKeyRef":
            yield from _key_errors(each, here)
    if not given:
        listed = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield path.invalid("", f"must specify one of: {listed}")
    elif has_value:
        yield path.invalid("", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield path.invalid("", "may not have more than one field specified at a time")


def _key_errors(reference: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """A key of a ConfigMap or Secret."""
    name, key = text(reference.get("name")), text(reference.get("key"))
    yield from path.child("name").all_invalid(name, is_dns1123_subdomain(name))
    if key:
        yield from path.child("key").all_invalid(key, config_key_problems(key))
    else:
        yield path.child("key").required()


def env_from_errors(sources: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the ConfigMaps and Secrets of which a container has all keys as variables."""
    for index, source in enumerate(mappings(sources)):
        here, prefix = path.item(index), text(source.get("prefix"))
        yield from here.child("prefix").all_invalid(prefix, env_name_problems(prefix))
        given = [name for name in ("configMapRef", "secretRef") if present(source.get(name)) is not None]
        for name in given:
            referred = text(source[name].get("name"))
            if referred:
                yield from generated_name_errors(referred, here.child(name, "name"))
            else:
                yield here.child(name, "name").required()
        if not given:
            yield path.at(index).invalid("", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield path.at(index).invalid("", "may not have more than one field specified at a time")


def field_ref_errors(reference: Mapping[str, Any], fields: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    """What is wrong with a reference to a field of the pod; `fields` are those that can be shown here."""
    version, wanted = text(reference.get("apiVersion")) or "v1", text(reference.get("fieldPath"))
    here = path.child("fieldPath")
    if not wanted:
        yield here.required()
        return
    field, subscript = _split(wanted)
    problem = f"unsupported pod version: {version}" if version != "v1" else _unknown_field(wanted, field, subscript)
    if problem:
        yield here.invalid(wanted, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if field == "metadata.annotations" else subscript
        yield from qualified_name_errors(key, path)
    elif field not in fields:
        yield here.unsupported(field, fields)


def _split(wanted: str) -> tuple[str, str | None]:
    """A field and what stands in its brackets: `metadata.labels['app']`."""
    field, bracket, subscript = wanted.removesuffix("']").partition("['")
    if wanted.endswith("']") and bracket and field:
        return field, subscript
    return ("spec.nodeName" if wanted == "spec.host" else wanted), None


def _unknown_field(wanted: str, field: str, subscript: str | None) -> str:
    if subscript is not None:
        return "" if field in _SUBSCRIPTED else f"field label does not support subscript: {wanted}"
    return "" if field in _OF_PODS else f"field label not supported: {wanted}"


def resource_ref_errors(reference: Mapping[str, Any], path: Path, *, of_volume: bool = False) -> Iterator[FieldError]:
    """What is wrong with a reference to a container's request or limit."""
    resource = text(reference.get("resource"))
    if of_volume and not text(reference.get("containerName")):
        yield path.child("containerName").required()
    elif not resource:
        yield path.child("resource").required()
    elif resource not in _OF_CONTAINERS and not resource.startswith(_HUGE):
        yield path.child("resource").unsupported(resource, _OF_CONTAINERS)
    divisor = _canonical(text(reference.get("divisor")))
    if divisor in ("", "0"):
        return
    allowed, detail = _divisors(resource)
    if allowed and divisor not in allowed:
        yield path.child("divisor").invalid(resource, f"only divisor's values {detail} resource")


def _canonical(divisor: str) -> str:
    try:
        return quantity(divisor)
    except ValueError:
        return ""


def _divisors(resource: str) -> tuple[tuple[str, ...], str]:
    """What a resource can be divided by, and how Kubernetes says it."""
    name = resource.partition(".")[2]
    if resource in _OF_CONTAINERS and name == "cpu":
        return ("1m", "1"), "1m and 1 are supported with the cpu"
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    called = "hugepages" if resource.startswith(_HUGE) else known.get(name, "") if resource in _OF_CONTAINERS else ""
    return (_SIZES, f"{', '.join(_SIZES)} are supported with the {called}") if called else ((), "")
