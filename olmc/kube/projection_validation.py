"""Files that Kubernetes writes into volumes: keys of Secrets and ConfigMaps, fields of the pod, tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.env_validation import OF_FILES, field_ref_errors, resource_ref_errors
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, integer, present
from olmc.kube.names import file_path_errors
from olmc.model.coerce import mapping, mappings, text

_MODE_RULE = "must be a number between 0 and 0777 (octal), both inclusive"
_LEAST_SECONDS, _MOST_SECONDS = 600, 2**32


def mode_errors(mode: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the permissions of a file."""
    number = integer(mode)
    if number is not None and not 0 <= number <= 0o777:
        yield path.invalid(number, _MODE_RULE)


def item_errors(item: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the file for a key."""
    for field in ("key", "path"):
        if not text(item.get(field)):
            yield path.child(field).required()
    yield from file_path_errors(text(item.get("path")), path.child("path"))
    yield from mode_errors(item.get("mode"), path.child("mode"))


def downward_file_errors(file: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the file for a field of the pod."""
    if not text(file.get("path")):
        yield path.child("path").required()
    yield from file_path_errors(text(file.get("path")), path.child("path"))
    field, resource = present(file.get("fieldRef")), present(file.get("resourceFieldRef"))
    if field is not None:
        yield from field_ref_errors(field, OF_FILES, path.child("fieldRef"))
        if resource is not None:
            yield path.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        yield from resource_ref_errors(resource, path.child("resourceFieldRef"), of_volume=True)
    else:
        yield path.required("one of fieldRef and resourceFieldRef is required")
    yield from mode_errors(file.get("mode"), path.child("mode"))


def projection_errors(volume: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with a volume that takes its files from several sources.

    Trust bundles and pod certificates are behind feature gates that are off: the API server drops them without a word.
    """
    yield from mode_errors(volume.get("defaultMode"), path.child("defaultMode"))
    taken: set[str] = set()
    for index, source in enumerate(mappings(volume.get("sources"))):
        here = path.child("sources").item(index)
        for name in ("secret", "configMap"):
            yield from _key_errors(source, name, taken, path, here.child(name))
        yield from _downward_errors(source, taken, path, here.child("downwardAPI"))
        yield from _token_errors(source, path, here.child("serviceAccountToken"))
        known = ("secret", "configMap", "downwardAPI", "serviceAccountToken")
        if sum(present(source.get(name)) is not None for name in known) > 1:
            yield here.forbidden("may not specify more than 1 volume type per source")


def _key_errors(
    source: Mapping[str, Any], name: str, taken: set[str], volume: Path, path: Path
) -> Iterator[FieldError]:
    given = present(source.get(name))
    if given is None:
        return
    if not text(given.get("name")):
        yield path.child("name").required()
    for index, item in enumerate(mappings(given.get("items"))):
        here = path.child("items").item(index)
        yield from item_errors(item, here)
        yield from _taken_errors(text(item.get("path")), text(given.get("name")), taken, volume, here)


def _downward_errors(source: Mapping[str, Any], taken: set[str], volume: Path, path: Path) -> Iterator[FieldError]:
    for index, file in enumerate(mappings(mapping(source.get("downwardAPI")).get("items"))):
        here = path.at("items", index)
        yield from downward_file_errors(file, here)
        where = text(file.get("path"))
        yield from _taken_errors(where, where, taken, volume, here)


def _taken_errors(where: str, shown: str, taken: set[str], volume: Path, path: Path) -> Iterator[FieldError]:
    if where and where in taken:
        yield volume._replace(keys=(*path.keys, "path")).invalid(shown, "conflicting duplicate paths")
    taken.add(where)


def _token_errors(source: Mapping[str, Any], volume: Path, path: Path) -> Iterator[FieldError]:
    token = present(source.get("serviceAccountToken"))
    if token is None:
        return
    seconds = integer(token.get("expirationSeconds"))
    here = path.child("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        yield here.invalid(seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > _MOST_SECONDS:
        yield here.invalid(seconds, "may not specify a duration larger than 2^32 seconds")
    # Kubernetes names the path of the volume here, which has none.
    where = volume.called("path")._replace(keys=(*path.keys, "path"))
    if text(token.get("path")):
        yield from file_path_errors(text(token.get("path")), where)
    else:
        yield where.required()
