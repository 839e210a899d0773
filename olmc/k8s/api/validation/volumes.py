"""Volumes of pods: their names, and the one source that each has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain, is_qualified_name
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, Struct, between, typed
from olmc.k8s.api.validation.metadata import (
    annotation_errors,
    backstep_problems,
    config_key_problems,
    descending_path_problems,
    env_name_problems,
    file_path_problems,
    generated_name_problems,
    label_errors,
    selector_errors,
    size,
)
from olmc.k8s.gojson.scalars import quantity, thousandths
from olmc.k8s.lean import regex
from olmc.k8s.objects import mappings

# What containers are given of ConfigMaps, Secrets, their pod and its tokens: as environment variables and as files.

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
    """Yield the errors of a container's variables."""
    # There may be thousands, of which hardly any is wrong, and to find that out no places are needed.
    if all(map(_is_plain, mappings(container.fields.get("env")))):
        return
    for variable in container.structs("env"):
        yield from variable.required_text("name", env_name_problems)
        source = variable.pointer("valueFrom")
        if source is not None:
            yield from _env_source_errors(source, has_value=bool(variable.text("value")))


def _is_plain(variable: Mapping[str, Any]) -> bool:
    """Return whether a variable is a name and a value with which nothing is wrong."""
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
    """Yield the errors of the ConfigMaps and Secrets of which a container has all keys as variables."""
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
    """Yield the errors of a reference to a field of the pod; `fields` are those that can be shown here."""
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
    """Yield the errors of a reference to a container's request or limit."""
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
    """Return the divisors of a resource, and Kubernetes' text for them."""
    name = resource.partition(".")[2]
    if resource in _RESOURCES and name == "cpu":
        return ("1m", "1"), "1m and 1 are supported with the cpu"
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    called = "hugepages" if resource.startswith(_HUGE) else known.get(name, "") if resource in _RESOURCES else ""
    return (_SIZES, f"{', '.join(_SIZES)} are supported with the {called}") if called else ((), "")


def mode_errors(owner: Struct, field: str) -> Iterator[FieldError]:
    """Yield the errors of the permissions of a file."""
    return owner.out_of_range(field, 0, 0o777, _MODE_RULE)


def item_errors(item: Struct) -> Iterator[FieldError]:
    """Yield the errors of the file for a key."""
    yield from item.required("key", "path")
    yield from item.optional_text("path", file_path_problems)
    yield from mode_errors(item, "mode")


def downward_file_errors(file: Struct) -> Iterator[FieldError]:
    """Yield the errors of the file for a field of the pod."""
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
    """Yield the errors of a volume that takes its files from several sources.

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


_Check = Callable[[Struct], Iterator[FieldError]]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")

_HOST_PATHS = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_PORTAL_TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)
# Names that Kubernetes' messages have in the place of the field's, misspelt as they are.
_CALLED = {"gcePersistentDisk": "persistentDisk"}
_CALLED_WHEN_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
# As in Kubernetes the dots of two are not escaped, and the first need not match from the beginning.
_IQN = regex(r"iqn\.[0-9]{4}-[0-9]{2}\..")
_NO_IQN, _NOT_IN_IQN = regex(r"[^A-Za-z0-9.-]"), regex(r"[,;*&$|\s]", re.ASCII)
_EUI, _NAA = regex(r"eui.[A-Za-z0-9]{16}$"), regex(r"naa.[A-Za-z0-9]{32}$")
_REGISTRIES = "must be a host:port pair or multiple pairs separated by commas"
_AZURE_MANAGED = (
    "/subscriptions/",
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
)
_AZURE_BLOB = ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def volume_errors(pod: Struct) -> tuple[dict[str, Struct], list[FieldError]]:
    """The volumes without errors by name, which are all that containers can mount, and the errors of the others."""
    usable: dict[str, Struct] = {}
    errors: list[FieldError] = []
    for volume in pod.structs("volumes"):
        name = volume.text("name")
        own_errors = [*_source_errors(volume), *volume.required_text("name", is_dns1123_label)]
        if name in usable:
            own_errors.append(volume.at("name").duplicate(name))
        # Kubernetes goes on without the wrong ones, so mounts of these are not found: two errors for one mistake.
        if not own_errors:
            usable[name] = volume
        errors += own_errors
    return usable, errors


def _source_errors(volume: Struct) -> Iterator[FieldError]:
    """The first source that a volume names counts; one without any is an empty directory."""
    has_source = False
    for kind, check in _CHECKS.items():
        source = volume.pointer(kind)
        if source is None:
            continue
        if has_source:
            path = volume.path.called(_CALLED_WHEN_SECOND.get(kind, kind)).keyed(kind)
            yield path.forbidden("may not specify more than 1 volume type")
        else:
            yield from check(source._replace(path=volume.path.called(_CALLED.get(kind, kind)).keyed(kind)))
        has_source = True
        if kind == "iscsi" and source.has("initiatorName"):
            name = volume.text("name")
            if size(f"{name}:{source.text('targetPortal')}") > 64:
                yield volume.at("name").invalid(name, _PORTAL_TOO_LONG)


def _requires(*fields: str) -> _Check:
    return lambda source: source.required(*fields)


def _empty_dir(source: Struct) -> Iterator[FieldError]:
    try:
        is_negative = thousandths(source.text("sizeLimit") or "0") < 0
    except ValueError:
        return
    if is_negative:
        yield source.at("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity")


def _host_path(source: Struct) -> Iterator[FieldError]:
    kind = source.text("type")
    yield from source.required_text("path", backstep_problems)
    if source.text("path") and kind not in _HOST_PATHS:
        yield source.at("type").unsupported(typed(kind), _HOST_PATHS)


def _git_repo(source: Struct) -> Iterator[FieldError]:
    yield from source.required("repository")
    yield from source.optional_text("directory", descending_path_problems)


def _disk(field: str) -> _Check:
    def check(source: Struct) -> Iterator[FieldError]:
        yield from source.required(field)
        # 0 is the whole disk, so Kubernetes accepts it, although the message excludes it.
        yield from source.out_of_range("partition", 0, 255, between(1, 255))

    return check


def _files(field: str) -> _Check:
    """A Secret or ConfigMap, whose name is in this field."""

    def check(source: Struct) -> Iterator[FieldError]:
        yield from source.required(field)
        yield from mode_errors(source, "defaultMode")
        for item in source.structs("items"):
            yield from item_errors(item)

    return check


def _nfs(source: Struct) -> Iterator[FieldError]:
    yield from source.required("server", "path")
    path = source.text("path")
    if not path.startswith("/"):
        yield source.at("path").invalid(path, "must be an absolute path")


def _iscsi(source: Struct) -> Iterator[FieldError]:
    yield from source.required("targetPortal", "iqn")
    yield from source.optional_text("iqn", _initiator_problems)
    yield from source.out_of_range("lun", 0, 255)
    needs_secret = source.get("chapAuthDiscovery") is True or source.get("chapAuthSession") is True
    if needs_secret and source.pointer("secretRef") is None:
        yield source.at("secretRef").required()
    if source.has("initiatorName"):
        name = source.text("initiatorName")
        path = source.path.called("initiatorname").keyed("initiatorName")
        yield from path.all_invalid(name, _initiator_problems(name))


def _initiator_problems(name: str) -> list[str]:
    match name[:3]:
        case "iqn":
            is_valid = _has_qualified_name(name)
        case "eui":
            is_valid = _EUI.match(name) is not None
        case "naa":
            is_valid = _NAA.match(name) is not None
        case _:
            return ["must be valid format starting with iqn, eui, or naa"]
    return [] if is_valid else ["must be valid format"]


def _has_qualified_name(name: str) -> bool:
    """Return whether a name ends with `iqn.YEAR-MONTH.AUTHORITY:NAME`, wherever that begins."""
    *before, last = _NOT_IN_IQN.split(name)[-1].split(":")
    # A colon needs something behind it, which may be another one.
    ended = before if last else before[:-1]
    return any(_IQN.search(_NO_IQN.split(part)[-1]) for part in ended)


def _flocker(source: Struct) -> Iterator[FieldError]:
    name, uid = source.text("datasetName"), source.text("datasetUUID")
    if not name and not uid:
        yield source.path.required("one of datasetName and datasetUUID is required")
    if name and uid:
        yield source.path.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield source.at("datasetName").invalid(name, "must not contain '/'")


def _cinder(source: Struct) -> Iterator[FieldError]:
    yield from source.required("volumeID")
    yield from _secret_name_errors(source)


def _secret_name_errors(source: Struct) -> Iterator[FieldError]:
    secret = source.pointer("secretRef")
    yield from secret.required("name") if secret is not None else ()


def _quobyte(source: Struct) -> Iterator[FieldError]:
    registry = source.text("registry")
    if registry and len(source.text("tenant")) >= 65:
        # Kubernetes reports a tenant that is too long as a missing one.
        yield source.at("tenant").required("must be a UUID and may not exceed a length of 64 characters")
    else:
        yield from source.required_text("registry", _registry_problems, _REGISTRIES)
    yield from source.required("volume")


def _registry_problems(registry: str) -> list[str]:
    pair = r"(\[[^\[\]]*\]|[^\[\]:]*):[^\[\]:]*"
    return [_REGISTRIES for part in registry.split(",") if not re.fullmatch(pair, part)]


def _downward(source: Struct) -> Iterator[FieldError]:
    yield from mode_errors(source, "defaultMode")
    for index, file in enumerate(source.structs("items")):
        yield from downward_file_errors(file._replace(path=source.path.keyed("items", index)))


def _fibre_channel(source: Struct) -> Iterator[FieldError]:
    names, path = source.texts("targetWWNs"), source.at("targetWWNs")
    if not names and not source.get("wwids"):
        yield path.required("must specify either targetWWNs or wwids, but not both")
    if names and source.get("wwids"):
        yield path.invalid(JsonText.of(names), "targetWWNs and wwids can not be specified simultaneously")
    if names and source.integer("lun") is None:
        yield source.at("lun").required("lun is required if targetWWNs is specified")
    elif names:
        yield from source.out_of_range("lun", 0, 255)


def _flex(source: Struct) -> Iterator[FieldError]:
    yield from source.required("driver")
    for key in sorted(source.map("options")):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield source.at("options").key(key).invalid(key, "kubernetes.io and k8s.io namespaces are reserved")


def _azure_disk(source: Struct) -> Iterator[FieldError]:
    yield from source.required("diskName", "diskURI")
    yield from source.unsupported("cachingMode", ("None", "ReadOnly", "ReadWrite"), is_pointer=True)
    yield from source.unsupported("kind", ("Dedicated", "Managed", "Shared"), is_pointer=True)
    if source.has("kind"):
        begin, form = _AZURE_MANAGED if source.get("kind") == "Managed" else _AZURE_BLOB
        address = source.text("diskURI")
        if not address.startswith(begin):
            yield source.at("diskURI").unsupported(address, (form,))


def _storage_os(source: Struct) -> Iterator[FieldError]:
    yield from source.required("volumeName")
    for field in ("volumeName", "volumeNamespace"):
        yield from source.optional_text(field, is_dns1123_label)
    yield from _secret_name_errors(source)


def _csi(source: Struct) -> Iterator[FieldError]:
    driver, path = source.text("driver"), source.at("driver")
    yield from source.required("driver")
    if size(driver) > 63:
        yield path.too_long(63)
    yield from path.all_invalid(driver, is_dns1123_subdomain(driver.lower()))
    secret = source.pointer("nodePublishSecretRef")
    if secret is not None:
        yield from secret.required("name")
        # Kubernetes calls a wrong name one of the volume, and a missing one one of the reference.
        misplaced = secret._replace(path=source.path.keyed("nodePublishSecretRef"))
        yield from misplaced.optional_text("name", is_dns1123_subdomain)


def _ephemeral(source: Struct) -> Iterator[FieldError]:
    template = source.pointer("volumeClaimTemplate")
    if template is None:
        yield source.at("volumeClaimTemplate").required()
        return
    metadata, claim = template.child("metadata"), template.child("spec")
    yield from annotation_errors(metadata.map("annotations"), metadata.at("annotations"))
    yield from label_errors(metadata.map("labels"), metadata.at("labels"))
    for field in metadata.fields:
        if field not in ("annotations", "labels") and metadata.get(field):
            yield metadata.at(field).forbidden("cannot be set")
    yield from _claim_errors(claim)


def _claim_errors(claim: Struct) -> Iterator[FieldError]:
    """The PersistentVolumeClaim that a pod's ephemeral volume is made from."""
    modes = claim.items("accessModes")
    if not modes:
        yield claim.at("accessModes").required("at least 1 access mode is required")
    yield from selector_errors(claim.child("selector"))
    for index, (mode, _) in enumerate(modes):
        if mode not in _ACCESS_MODES:
            yield claim.at("accessModes").keyed(index).unsupported(typed(mode), _ACCESS_MODES)
    known = {mode for mode, _ in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield claim.at("accessModes").forbidden("may not use ReadWriteOncePod with other access modes")
    yield from _claim_size_errors(claim)
    yield from claim.optional_text("storageClassName", is_dns1123_subdomain)
    yield from claim.unsupported("volumeMode", ("Block", "Filesystem"))


def _claim_size_errors(claim: Struct) -> Iterator[FieldError]:
    requests, path = claim.child("resources", "requests"), claim.at("resources").key("storage")
    if "storage" not in requests.fields:
        yield path.required()
        return
    storage = requests.text("storage")
    try:
        is_positive = thousandths(storage) > 0
    except ValueError:
        return
    if not is_positive:
        yield path.invalid(storage, "must be greater than zero")


def _image(source: Struct) -> Iterator[FieldError]:
    return source.unsupported("pullPolicy", PULL_POLICIES)


# Kubernetes looks for the sources in this order.
_CHECKS: Mapping[str, _Check] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": _files("secretName"),
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _requires("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _requires("claimName"),
    "rbd": _requires("monitors", "image"),
    "cinder": _cinder,
    "cephfs": _requires("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": _downward,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "configMap": _files("name"),
    "azureFile": _requires("secretName", "shareName"),
    "vsphereVolume": _requires("volumePath"),
    "photonPersistentDisk": _requires("pdID"),
    "portworxVolume": _requires("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "projected": projection_errors,
    "scaleIO": _requires("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
