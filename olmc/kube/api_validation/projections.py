"""What containers are given of ConfigMaps, Secrets, their pod and its tokens: as environment variables and as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson.quantity import quantity
from olmc.kube.api_validation.field import FieldError, Path, Struct
from olmc.kube.api_validation.metadata import (
    config_key_problems,
    env_name_problems,
    file_path_problems,
    generated_name_problems,
)
from olmc.kube.names import is_dns1123_subdomain, is_qualified_name
from olmc.model.objects import mappings

_ENV_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_POD_FIELDS = {*_ENV_FIELDS, *_FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")
_RESOURCES = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SEVERAL = "may not have more than one field specified at a time"

_MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive"
_LEAST_SECONDS, _MOST_SECONDS = 600, 2**32
_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def env_errors(container: Struct) -> Iterator[FieldError]:
    """What is wrong with a container's variables."""
    # There may be thousands, of which hardly any is wrong, and to find that out no places are needed.
    if all(map(_is_plain, mappings(container.fields.get("env")))):
        return
    for variable in container.structs("env"):
        yield from variable.required_text("name", env_name_problems)
        source = variable.pointer("valueFrom")
        if source is not None:
            yield from _env_source_errors(source, has_value=bool(variable.text("value")))


def _is_plain(variable: Mapping[str, Any]) -> bool:
    """Whether a variable is a name and a value with which nothing is wrong."""
    name = variable.get("name")
    is_name = isinstance(name, str) and bool(name) and not env_name_problems(name)
    return is_name and "valueFrom" not in variable


def _env_source_errors(source: Struct, *, has_value: bool) -> Iterator[FieldError]:
    references = {name: ref for name in _ENV_SOURCES if (ref := source.pointer(name)) is not None}
    for name, reference in references.items():
        if name == "fieldRef":
            yield from _field_ref_errors(reference, _ENV_FIELDS)
        elif name == "resourceFieldRef":
            yield from _resource_ref_errors(reference)
        elif name != "fileKeyRef":
            referred = reference.text("name")
            yield from reference.at("name").all_invalid(referred, is_dns1123_subdomain(referred))
            yield from reference.required_text("key", config_key_problems)
    if not references:
        listed = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield source.path.invalid("", f"must specify one of: {listed}")
    elif has_value:
        yield source.path.invalid("", "may not be specified when `value` is not empty")
    elif len(references) > 1:
        yield source.path.invalid("", _SEVERAL)


def env_from_errors(container: Struct) -> Iterator[FieldError]:
    """What is wrong with the ConfigMaps and Secrets of which a container has all keys as variables."""
    for index, source in enumerate(container.structs("envFrom")):
        yield from source.optional_text("prefix", env_name_problems)
        references = [ref for name in ("configMapRef", "secretRef") if (ref := source.pointer(name)) is not None]
        for reference in references:
            yield from reference.required_text("name", generated_name_problems)
        path = container.at("envFrom").keyed(index)
        if not references:
            yield path.invalid("", "must specify one of: `configMapRef` or `secretRef`")
        elif len(references) > 1:
            yield path.invalid("", _SEVERAL)


def _field_ref_errors(reference: Struct, fields: tuple[str, ...]) -> Iterator[FieldError]:
    """What is wrong with a reference to a field of the pod; `fields` are those that can be shown here."""
    version, wanted = reference.text("apiVersion") or "v1", reference.text("fieldPath")
    path = reference.at("fieldPath")
    if not wanted:
        yield path.required()
        return
    field, subscript = _split(wanted)
    problem = f"unsupported pod version: {version}" if version != "v1" else _unknown_field(wanted, field, subscript)
    if problem:
        yield path.invalid(wanted, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if field == "metadata.annotations" else subscript
        yield from reference.path.all_invalid(key, is_qualified_name(key))
    elif field not in fields:
        yield path.unsupported(field, fields)


def _split(wanted: str) -> tuple[str, str | None]:
    """A field and what stands in its brackets: `metadata.labels['app']`."""
    field, bracket, subscript = wanted.removesuffix("']").partition("['")
    if wanted.endswith("']") and bracket and field:
        return field, subscript
    # An old name, which Kubernetes still reads.
    return ("spec.nodeName" if wanted == "spec.host" else wanted), None


def _unknown_field(wanted: str, field: str, subscript: str | None) -> str:
    if subscript is not None:
        return "" if field in _SUBSCRIPTED else f"field label does not support subscript: {wanted}"
    return "" if field in _POD_FIELDS else f"field label not supported: {wanted}"


def _resource_ref_errors(reference: Struct, *, of_volume: bool = False) -> Iterator[FieldError]:
    """What is wrong with a reference to a container's request or limit."""
    resource = reference.text("resource")
    if of_volume and not reference.text("containerName"):
        yield reference.at("containerName").required()
    elif not resource:
        yield reference.at("resource").required()
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        yield reference.at("resource").unsupported(resource, _RESOURCES)
    divisor = _canonical(reference.text("divisor"))
    if divisor in ("", "0"):
        return
    allowed, detail = _divisors(resource)
    if allowed and divisor not in allowed:
        # Kubernetes prints the resource, though the divisor is what it refuses.
        yield reference.at("divisor").invalid(resource, f"only divisor's values {detail} resource")


def _canonical(divisor: str) -> str:
    try:
        return quantity(divisor)
    except ValueError:
        return ""


def _divisors(resource: str) -> tuple[tuple[str, ...], str]:
    """What a resource can be divided by, and how Kubernetes says it."""
    name = resource.partition(".")[2]
    if resource in _RESOURCES and name == "cpu":
        return ("1m", "1"), "1m and 1 are supported with the cpu"
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    called = "hugepages" if resource.startswith(_HUGE) else known.get(name, "") if resource in _RESOURCES else ""
    return (_SIZES, f"{', '.join(_SIZES)} are supported with the {called}") if called else ((), "")


def mode_errors(owner: Struct, field: str) -> Iterator[FieldError]:
    """What is wrong with the permissions of a file."""
    return owner.out_of_range(field, 0, 0o777, _MODE_RULE)


def item_errors(item: Struct) -> Iterator[FieldError]:
    """What is wrong with the file for a key."""
    yield from item.required("key", "path")
    yield from item.optional_text("path", file_path_problems)
    yield from mode_errors(item, "mode")


def downward_file_errors(file: Struct) -> Iterator[FieldError]:
    """What is wrong with the file for a field of the pod."""
    yield from file.required_text("path", file_path_problems)
    field, resource = file.pointer("fieldRef"), file.pointer("resourceFieldRef")
    if field is not None:
        yield from _field_ref_errors(field, _FILE_FIELDS)
        if resource is not None:
            yield file.path.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        yield from _resource_ref_errors(resource, of_volume=True)
    else:
        yield file.path.required("one of fieldRef and resourceFieldRef is required")
    yield from mode_errors(file, "mode")


def projection_errors(volume: Struct) -> Iterator[FieldError]:
    """What is wrong with a volume that takes its files from several sources.

    Trust bundles and pod certificates are behind feature gates that are off: the API server drops them without a word.
    """
    yield from mode_errors(volume, "defaultMode")
    taken: set[str] = set()
    # All sources write into one directory, so that no two may have a file of the same path.
    for source in volume.structs("sources"):
        for name in ("secret", "configMap"):
            yield from _key_projection_errors(source.pointer(name), taken, volume.path)
        for index, file in enumerate(source.child("downwardAPI").structs("items")):
            file = file._replace(path=source.at("downwardAPI").keyed("items", index))
            yield from downward_file_errors(file)
            yield from _taken_errors(file, file.text("path"), taken, volume.path)
        yield from _token_errors(source.pointer("serviceAccountToken"), volume.path)
        if sum(source.pointer(name) is not None for name in _PROJECTIONS) > 1:
            yield source.path.forbidden("may not specify more than 1 volume type per source")


def _key_projection_errors(owner: Struct | None, taken: set[str], volume: Path) -> Iterator[FieldError]:
    if owner is not None:
        yield from owner.required("name")
        for item in owner.structs("items"):
            yield from item_errors(item)
            yield from _taken_errors(item, owner.text("name"), taken, volume)


def _taken_errors(file: Struct, shown: str, taken: set[str], volume: Path) -> Iterator[FieldError]:
    where = file.text("path")
    if where and where in taken:
        yield Path(volume.field, file.at("path").keys).invalid(shown, "conflicting duplicate paths")
    taken.add(where)


def _token_errors(token: Struct | None, volume: Path) -> Iterator[FieldError]:
    if token is None:
        return
    seconds, path = token.integer("expirationSeconds"), token.at("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        yield path.invalid(seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > _MOST_SECONDS:
        yield path.invalid(seconds, "may not specify a duration larger than 2^32 seconds")
    # Kubernetes names the path of the volume here, which has none.
    path = Path(volume.child("path").field, token.at("path").keys)
    where = token.text("path")
    yield from path.all_invalid(where, file_path_problems(where)) if where else [path.required()]
