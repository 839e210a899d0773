"""Volumes of pods: their names, and the one source that each has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from olmc.gojson.quantity import thousandths
from olmc.kube.api_validation.field import FieldError, JsonText, Struct, between, typed
from olmc.kube.api_validation.metadata import (
    annotation_errors,
    backstep_problems,
    descending_path_problems,
    label_errors,
    selector_errors,
    size,
)
from olmc.kube.api_validation.projections import downward_file_errors, item_errors, mode_errors, projection_errors
from olmc.kube.names import is_dns1123_label, is_dns1123_subdomain

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
_INITIATORS = {
    "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[A-Za-z0-9]{16}$",
    "naa": r"^naa.[A-Za-z0-9]{32}$",
}
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
        # 0 stands for the whole disk, so Kubernetes takes it, whatever the message says.
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
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if re.search(pattern, name, re.ASCII) else ["must be valid format"]


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
