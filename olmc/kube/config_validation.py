"""ConfigMaps and Secrets as the API server judges them.

An object comes as Go's types keep it. Which errors there are, and in which order, follows ValidateConfigMap and
ValidateSecret in https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson import mismatch_text
from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path
from olmc.kube.names import config_key_problems
from olmc.kube.object_meta import metadata_errors
from olmc.model.coerce import mapping, text

LIMIT = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"
_DATA = Path("data", ("data",))

# What a Secret of a type must hold: all of these keys, or of those of BasicAuth one.
_REQUIRED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_BASIC_AUTH, _USER_KEYS = "kubernetes.io/basic-auth", ("username", "password")
_JSON_TYPES = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def config_map_errors(config_map: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a ConfigMap."""
    data, binary = mapping(config_map.get("data")), mapping(config_map.get("binaryData"))
    errors = metadata_errors(config_map, is_dns1123_subdomain, namespaced=True)
    for field, values, other in (("data", data, binary), ("binaryData", binary, data)):
        for key in sorted(values):
            here = Path(field, (field,)).key(key)
            errors += here.all_invalid(key, config_key_problems(key))
            if key in other:
                errors.append(here.invalid(key, f"duplicate of key present in {_other(field)}"))
    size = sum(len(text(value).encode("utf-8", "surrogatepass")) for value in data.values())
    if size + sum(map(_decoded_size, binary.values())) > LIMIT:
        errors.append(Path("[]").too_long(LIMIT))
    return errors


def _other(field: str) -> str:
    return "binaryData" if field == "data" else "data"


def secret_errors(secret: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a Secret."""
    data = _data(secret)
    errors = metadata_errors(secret, is_dns1123_subdomain, namespaced=True)
    for key in sorted(data):
        errors += _DATA.key(key).all_invalid(key, config_key_problems(key))
    if sum(map(_decoded_size, data.values())) > LIMIT:
        errors.append(_DATA.too_long(LIMIT))
    return [*errors, *_of_type(secret, data)]


def _of_type(secret: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[FieldError]:
    kind = text(secret.get("type"))
    if kind == "kubernetes.io/service-account-token":
        metadata = mapping(secret.get("metadata"))
        if not text(mapping(metadata.get("annotations")).get(_ACCOUNT)):
            yield Path("metadata.annotations", ("metadata", "annotations")).key(_ACCOUNT).required()
    if kind == _BASIC_AUTH and not any(key in data for key in _USER_KEYS):
        yield from (_DATA.key(key).required() for key in _USER_KEYS)
    for key in _REQUIRED.get(kind, ()):
        if key not in data:
            yield _DATA.key(key).required()
        elif kind in _JSON_TYPES:
            problem = _json_problem(text(data[key]))
            yield from _DATA.key(key).all_invalid(_REDACTED, [problem] if problem else ())


def _json_problem(encoded: str) -> str:
    """Whether an encoded value is no JSON object, in the first words that Go has for that."""
    try:
        value = json.loads(base64.b64decode(encoded, validate=True))
    except (ValueError, RecursionError):
        return "unexpected end of JSON input" if not encoded else "invalid character looking for beginning of value"
    return "" if value is None or isinstance(value, dict) else mismatch_text(value, "map[string]interface {}")


def _data(secret: Mapping[str, Any]) -> dict[str, Any]:
    """What a Secret holds, encoded; the server moves `stringData` there."""
    plain = mapping(secret.get("stringData"))
    encoded = {key: base64.b64encode(text(value).encode("utf-8", "replace")).decode() for key, value in plain.items()}
    return {**mapping(secret.get("data")), **encoded}


def _decoded_size(value: Any) -> int:
    try:
        return len(base64.b64decode(text(value)))
    except (binascii.Error, ValueError):
        return 0


def config_map_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a ConfigMap in the place of another: one that is immutable stays (R-CAT-702)."""
    return _frozen(new, old, ("data", "binaryData"))


def secret_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a Secret in the place of another: its type stays, and all of an immutable one
    (R-CAT-702). A new one without type keeps the old one's."""
    before = text(old.get("type")) or "Opaque"
    given = text(new.get("type")) or before
    changed = [] if given == before else [Path("type", ("type",)).invalid(given, "field is immutable")]
    whole = [{**each, "data": _data(each)} for each in (new, old)]
    return [*changed, *_frozen(whole[0], whole[1], ("data",))]


def _frozen(new: Mapping[str, Any], old: Mapping[str, Any], fields: tuple[str, ...]) -> list[FieldError]:
    if old.get("immutable") is not True:
        return []
    changed = [] if new.get("immutable") is True else ["immutable"]
    changed += [field for field in fields if mapping(new.get(field)) != mapping(old.get(field))]
    detail = "field is immutable when `immutable` is set"
    return [Path(field, (field,)).forbidden(detail) for field in changed]
