"""Volumes of pods: their names, and the one source that each has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.gojson.quantity import thousandths
from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.names import backstep_errors, between, descending_path_errors, label_name_errors
from olmc.kube.projection_validation import downward_file_errors, item_errors, mode_errors, projection_errors
from olmc.model.coerce import mapping, mappings, text, texts

Source = Mapping[str, Any]
Check = Callable[[Source, Path], Iterator[FieldError]]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATHS = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_PORTAL_TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)


def volume_errors(volumes: Any, path: Path) -> tuple[dict[str, Source], list[FieldError]]:
    """The volumes without errors by name, which are all that containers can mount, and the errors of the others."""
    usable: dict[str, Source] = {}
    errors: list[FieldError] = []
    for index, volume in enumerate(mappings(volumes)):
        here, name = path.item(index), text(volume.get("name"))
        mine = [*_source_errors(volume, name, here), *_name_errors(name, usable, here.child("name"))]
        if mine:
            errors += mine
        else:
            usable[name] = volume
    return usable, errors


def _name_errors(name: str, usable: Mapping[str, Source], path: Path) -> Iterator[FieldError]:
    if name:
        yield from label_name_errors(name, path)
    else:
        yield path.required()
    if name in usable:
        yield path.duplicate(name)


def _source_errors(volume: Source, name: str, path: Path) -> Iterator[FieldError]:
    """The first source that a volume names counts; one without any is an empty directory."""
    first = ""
    for kind, check in _CHECKS.items():
        source = present(volume.get(kind))
        if source is None:
            continue
        here = path.child(kind)
        if first:
            called = _CALLED_WHEN_SECOND.get(kind, kind)
            yield path.called(called).at(kind).forbidden("may not specify more than 1 volume type")
        else:
            first = kind
            called = _CALLED.get(kind, kind)
            yield from check(source, here._replace(field=f"{path.field}.{called}"))
        if kind == "iscsi" and source.get("initiatorName") is not None:
            portal = f"{name}:{text(source.get('targetPortal'))}"
            if len(portal.encode("utf-8", "surrogatepass")) > 64:
                yield path.child("name").invalid(name, _PORTAL_TOO_LONG)


_CALLED = {"gcePersistentDisk": "persistentDisk"}
_CALLED_WHEN_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def _requires(*fields: str) -> Check:
    def check(source: Source, path: Path) -> Iterator[FieldError]:
        for field in fields:
            if not source.get(field):
                yield path.child(field).required()

    return check


def _empty_dir(source: Source, path: Path) -> Iterator[FieldError]:
    try:
        is_negative = thousandths(text(source.get("sizeLimit")) or "0") < 0
    except ValueError:
        return
    if is_negative:
        yield path.child("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity")


def _host_path(source: Source, path: Path) -> Iterator[FieldError]:
    where, kind = text(source.get("path")), text(source.get("type"))
    if not where:
        yield path.child("path").required()
        return
    yield from backstep_errors(where, path.child("path"))
    if kind not in _HOST_PATHS:
        yield path.child("type").unsupported(typed(kind), _HOST_PATHS)


def _git_repo(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("repository")(source, path)
    yield from descending_path_errors(text(source.get("directory")), path.child("directory"))


def _disk(field: str) -> Check:
    def check(source: Source, path: Path) -> Iterator[FieldError]:
        yield from _requires(field)(source, path)
        partition = integer(source.get("partition")) or 0
        if not 0 <= partition <= 255:
            yield path.child("partition").invalid(partition, between(1, 255))

    return check


def _files(field: str) -> Check:
    """A Secret or ConfigMap, whose name is in this field."""

    def check(source: Source, path: Path) -> Iterator[FieldError]:
        yield from _requires(field)(source, path)
        yield from mode_errors(source.get("defaultMode"), path.child("defaultMode"))
        for index, item in enumerate(mappings(source.get("items"))):
            yield from item_errors(item, path.child("items").item(index))

    return check


def _nfs(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("server", "path")(source, path)
    if not text(source.get("path")).startswith("/"):
        yield path.child("path").invalid(text(source.get("path")), "must be an absolute path")


def _iscsi(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("targetPortal", "iqn")(source, path)
    if text(source.get("iqn")):
        yield from _initiator_errors(text(source.get("iqn")), path.child("iqn"))
    lun = integer(source.get("lun")) or 0
    if not 0 <= lun <= 255:
        yield path.child("lun").invalid(lun, between(0, 255))
    needs_secret = source.get("chapAuthDiscovery") is True or source.get("chapAuthSession") is True
    if needs_secret and present(source.get("secretRef")) is None:
        yield path.child("secretRef").required()
    if isinstance(source.get("initiatorName"), str):
        here = path.child("initiatorName")._replace(field=f"{path.field}.initiatorname")
        yield from _initiator_errors(text(source.get("initiatorName")), here)


_INITIATORS = {
    "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[A-Za-z0-9]{16}$",
    "naa": r"^naa.[A-Za-z0-9]{32}$",
}


def _initiator_errors(name: str, path: Path) -> Iterator[FieldError]:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        yield path.invalid(name, "must be valid format starting with iqn, eui, or naa")
    elif not re.search(pattern, name, re.ASCII):
        yield path.invalid(name, "must be valid format")


def _flocker(source: Source, path: Path) -> Iterator[FieldError]:
    name, uid = text(source.get("datasetName")), text(source.get("datasetUUID"))
    if not name and not uid:
        yield path.required("one of datasetName and datasetUUID is required")
    if name and uid:
        yield path.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield path.child("datasetName").invalid(name, "must not contain '/'")


def _cinder(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("volumeID")(source, path)
    yield from _named_secret(source, path)


def _named_secret(source: Source, path: Path) -> Iterator[FieldError]:
    secret = present(source.get("secretRef"))
    if secret is not None and not text(secret.get("name")):
        yield path.child("secretRef", "name").required()


def _quobyte(source: Source, path: Path) -> Iterator[FieldError]:
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    registry = text(source.get("registry"))
    if not registry:
        yield path.child("registry").required(pairs)
    elif len(text(source.get("tenant"))) >= 65:
        yield path.child("tenant").required("must be a UUID and may not exceed a length of 64 characters")
    else:
        wrong = [pair for pair in registry.split(",") if not re.fullmatch(r"(\[[^\[\]]*\]|[^\[\]:]*):[^\[\]:]*", pair)]
        yield from path.child("registry").all_invalid(registry, [pairs] * len(wrong))
    yield from _requires("volume")(source, path)


def _downward(source: Source, path: Path) -> Iterator[FieldError]:
    yield from mode_errors(source.get("defaultMode"), path.child("defaultMode"))
    for index, file in enumerate(mappings(source.get("items"))):
        yield from downward_file_errors(file, path.at("items", index))


def _fibre_channel(source: Source, path: Path) -> Iterator[FieldError]:
    names, lun = texts(source.get("targetWWNs")), integer(source.get("lun"))
    if not names and not source.get("wwids"):
        yield path.child("targetWWNs").required("must specify either targetWWNs or wwids, but not both")
    if names and source.get("wwids"):
        detail = "targetWWNs and wwids can not be specified simultaneously"
        yield path.child("targetWWNs").invalid(Shown.json(names), detail)
    if names and lun is None:
        yield path.child("lun").required("lun is required if targetWWNs is specified")
    elif names and lun is not None and not 0 <= lun <= 255:
        yield path.child("lun").invalid(lun, between(0, 255))


def _flex(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("driver")(source, path)
    for key in sorted(mapping(source.get("options"))):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield path.child("options").key(key).invalid(key, "kubernetes.io and k8s.io namespaces are reserved")


def _azure_disk(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("diskName", "diskURI")(source, path)
    for field, known in (("cachingMode", ("None", "ReadOnly", "ReadWrite")), ("kind", _AZURE_KINDS)):
        value = source.get(field)
        if isinstance(value, str) and value not in known:
            yield path.child(field).unsupported(typed(value), known)
    kind, address = source.get("kind"), text(source.get("diskURI"))
    if isinstance(kind, str):
        begin, form = _AZURE_MANAGED if kind == "Managed" else _AZURE_BLOB
        if not address.startswith(begin):
            yield path.child("diskURI").unsupported(address, (form,))


_AZURE_KINDS = ("Dedicated", "Managed", "Shared")
_AZURE_MANAGED = (
    "/subscriptions/",
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
)
_AZURE_BLOB = ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")


def _storage_os(source: Source, path: Path) -> Iterator[FieldError]:
    yield from _requires("volumeName")(source, path)
    for field in ("volumeName", "volumeNamespace"):
        name = text(source.get(field))
        yield from label_name_errors(name, path.child(field)) if name else ()
    yield from _named_secret(source, path)


def _csi(source: Source, path: Path) -> Iterator[FieldError]:
    driver, here = text(source.get("driver")), path.child("driver")
    if not driver:
        yield here.required()
    if len(driver.encode("utf-8", "surrogatepass")) > 63:
        yield here.too_long(63)
    yield from here.all_invalid(driver, is_dns1123_subdomain(driver.lower()))
    secret = present(source.get("nodePublishSecretRef"))
    name = text(mapping(secret).get("name"))
    if secret is not None and not name:
        yield path.child("nodePublishSecretRef", "name").required()
    elif secret is not None:
        named = path.called("name").at("nodePublishSecretRef", "name")
        yield from named.all_invalid(name, is_dns1123_subdomain(name))


def _ephemeral(source: Source, path: Path) -> Iterator[FieldError]:
    template = present(source.get("volumeClaimTemplate"))
    here = path.child("volumeClaimTemplate")
    if template is None:
        yield here.required()
    else:
        from olmc.kube.claim_validation import claim_template_errors  # few pods bring claims

        yield from claim_template_errors(template, here)


def _image(source: Source, path: Path) -> Iterator[FieldError]:
    policy = text(source.get("pullPolicy"))
    if policy and policy not in PULL_POLICIES:
        yield path.child("pullPolicy").unsupported(typed(policy), PULL_POLICIES)


# Kubernetes looks for the sources in this order.
_CHECKS: dict[str, Check] = {
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
