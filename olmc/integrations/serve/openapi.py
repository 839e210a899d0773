"""Discovery and OpenAPI: the groups, versions and resources in the old and in the aggregated form, and their schemas in
versions 2 and 3, as JSON and in protocol buffers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.integrations.serve.handlers import accepts
from olmc.k8s.lean import NamedTuple
from olmc.resources import schema
from olmc.targets.proposed.installed.resources import GROUP, OLM_RESOURCES, RESOURCES, Resource
from olmc.version import __version__

_PREFIX = "com.coreos.operators.packages."
_REFERENCE = "#/$defs/"
_PARAMETERS = {
    "labelSelector": "string",
    "fieldSelector": "string",
    "limit": "integer",
    "continue": "string",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "timeoutSeconds": "integer",
    "watch": "boolean",
    "allowWatchBookmarks": "boolean",
    "sendInitialEvents": "boolean",
}


def index_v3() -> dict[str, Any]:
    """Return where the documents of each group version are; the hash in an address changes with the document."""
    paths = {}
    for resource in RESOURCES:
        digest = hashlib.sha512(json.dumps(document_v3(resource), sort_keys=True).encode()).hexdigest()
        address = f"/openapi/v3/apis/{resource.api_version}?hash={digest.upper()}"
        paths[f"apis/{resource.api_version}"] = {"serverRelativeURL": address}
    return {"paths": paths}


def document_v3(resource: Resource) -> dict[str, Any]:
    """The OpenAPI 3 document of a resource's group version."""
    prefix = "#/components/schemas/"

    def answer(name: str) -> dict[str, Any]:
        shown = {"schema": {"$ref": f"{prefix}{_PREFIX}{name}"}}
        return {"200": {"description": "OK", "content": {"application/json": shown}}}

    def parameter(place: str, name: str, kind: str) -> dict[str, Any]:
        return {"name": name, "in": place, "required": place == "path", "schema": {"type": kind}}

    paths = {path: _operations(resource, path, name, answer, parameter) for path, name in _paths(resource)}
    schemas = {f"{_PREFIX}{name}": schema for name, schema in _schemas(resource, prefix)}
    return {"openapi": "3.0.0", "info": _info(), "paths": paths, "components": {"schemas": schemas}}


def document_v2() -> dict[str, Any]:
    """The OpenAPI 2 document of everything."""
    prefix = "#/definitions/"

    def answer(name: str) -> dict[str, Any]:
        return {"200": {"description": "OK", "schema": {"$ref": f"{prefix}{_PREFIX}{name}"}}}

    def parameter(place: str, name: str, kind: str) -> dict[str, Any]:
        return {"name": name, "in": place, "required": place == "path", "type": kind}

    paths = {
        path: _operations(resource, path, name, answer, parameter)
        for resource in RESOURCES
        for path, name in _paths(resource)
    }
    schemas = (named for resource in RESOURCES for named in _schemas(resource, prefix))
    definitions = {f"{_PREFIX}{name}": schema for name, schema in schemas}
    return {"swagger": "2.0", "info": _info(), "paths": paths, "definitions": definitions}


def _info() -> dict[str, str]:
    return {"title": "olmc", "version": __version__}


def _paths(resource: Resource) -> Iterator[tuple[str, str]]:
    """The paths of a resource and the kind that each answers with."""
    base = f"/apis/{resource.api_version}"
    yield f"{base}/{resource.plural}", resource.list_kind
    yield f"{base}/namespaces/{{namespace}}/{resource.plural}", resource.list_kind
    yield f"{base}/namespaces/{{namespace}}/{resource.plural}/{{name}}", resource.kind


def _operations(resource: Resource, path: str, kind: str, answer: Any, parameter: Any) -> dict[str, Any]:
    """The one method of a path, with its action and kind as clients look for them."""
    in_path = [parameter("path", name, "string") for name in ("namespace", "name") if f"{{{name}}}" in path]
    in_query = [] if kind == resource.kind else [parameter("query", *item) for item in _PARAMETERS.items()]
    scope = "Namespaced" if "{namespace}" in path else "ForAllNamespaces"
    action = "read" if kind == resource.kind else "list"
    version = resource.version.capitalize()
    get = {
        "description": resource.description,
        "operationId": f"{action}{GROUP.title().replace('.', '')}{version}{scope}{resource.kind}",
        "parameters": in_query,
        "responses": answer(kind),
        "x-kubernetes-action": "get" if action == "read" else "list",
        "x-kubernetes-group-version-kind": _identity(resource, resource.kind),
    }
    return {"get": get, "parameters": in_path}


def _identity(resource: Resource, kind: str) -> dict[str, str]:
    return {"group": GROUP, "kind": kind, "version": resource.version}


def _schemas(resource: Resource, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas that a resource and its list need, by name, with references that begin with `prefix`."""
    known = schema("packages")["$defs"]
    # Schemas refer to each other; each is written once, when something that is written refers to it.
    waiting, done = [resource.list_kind, resource.kind], set()
    while waiting:
        name = waiting.pop()
        if name not in done:
            done.add(name)
            converted = _convert(known[name], prefix, waiting)
            if name in (resource.kind, resource.list_kind):
                converted["x-kubernetes-group-version-kind"] = [_identity(resource, name)]
            yield name, converted


def _convert(part: Any, prefix: str, used: list[str]) -> Any:
    """A JSON Schema as OpenAPI has it: other references, and no lists of types."""
    if isinstance(part, list):
        return [_convert(item, prefix, used) for item in part]
    if not isinstance(part, dict):
        return part
    converted = {key: _convert(value, prefix, used) for key, value in part.items()}
    if isinstance(part.get("$ref"), str):
        name = part["$ref"].removeprefix(_REFERENCE)
        used.append(name)
        reference = {"$ref": f"{prefix}{_PREFIX}{name}"}
        # OpenAPI 3 has nothing beside a reference; version 2 of Kubernetes has.
        beside = {key: value for key, value in converted.items() if key != "$ref"}
        return {**beside, "allOf": [reference]} if beside and "components" in prefix else {**beside, **reference}
    if isinstance(part.get("type"), list):
        # OpenAPI has one type, and in the schemas here the others are null.
        converted["type"] = part["type"][0]
    if converted.get("type") == "object" and not {"properties", "additionalProperties"} & converted.keys():
        converted["x-kubernetes-preserve-unknown-fields"] = True
    return converted


MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
MEDIA_REQUESTED = (MEDIA, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

_VARINT, _BYTES = 0, 2


class _Field(NamedTuple):
    """A field of a message: its number, the type of its value, and how many it takes.

    `form`: "one", "many" (a list), "map" (named values), or "text" for a list of texts in a message of its own.
    """

    number: int
    type: str
    form: str = "one"


_MESSAGES: dict[str, dict[str, _Field]] = {
    "Document": {
        "swagger": _Field(1, "text"),
        "info": _Field(2, "Info"),
        "paths": _Field(8, "Paths"),
        "definitions": _Field(9, "Schema", "map"),
    },
    "Info": {"title": _Field(1, "text"), "version": _Field(2, "text")},
    "PathItem": {"get": _Field(2, "Operation"), "parameters": _Field(9, "Parameter", "many")},
    "Operation": {
        "description": _Field(3, "text"),
        "operationId": _Field(5, "text"),
        "parameters": _Field(8, "Parameter", "many"),
        "responses": _Field(9, "ResponseValue", "map"),
    },
    "Response": {"description": _Field(1, "text"), "schema": _Field(2, "SchemaItem")},
    "QueryParameter": {
        "required": _Field(1, "flag"),
        "in": _Field(2, "text"),
        "name": _Field(4, "text"),
        "type": _Field(6, "text"),
    },
    "PathParameter": {
        "required": _Field(1, "flag"),
        "in": _Field(2, "text"),
        "name": _Field(4, "text"),
        "type": _Field(5, "text"),
    },
    "Schema": {
        "$ref": _Field(1, "text"),
        "description": _Field(4, "text"),
        "required": _Field(19, "text", "many"),
        "additionalProperties": _Field(21, "SchemaItem"),
        "type": _Field(22, "text", "text"),
        "items": _Field(23, "SchemaItem"),
        "properties": _Field(25, "Schema", "map"),
    },
}
_EXTENSIONS = {"Operation": 13, "Schema": 31}
# Messages that only say which of several things their value is: the field that it is in.
_WRAPPED = {"SchemaItem": (1, "Schema"), "ResponseValue": (1, "Response")}
_PARAMETER, _OTHER_THAN_BODY, _QUERY, _PATH = 1, 2, 3, 4


def encode(document: Mapping[str, Any]) -> bytes:
    """The document as the bytes of a `openapi.v2.Document`; ValueError for what the encoding has no field for."""
    return _message("Document", document)


def _message(kind: str, value: Any) -> bytes:
    if kind == "text":
        return str(value).encode()
    if kind in _WRAPPED:
        number, inner = _WRAPPED[kind]
        return _field(number, _message(inner, value))
    if kind == "Parameter":
        return _parameter(value)
    if kind == "Paths":
        return b"".join(_field(2, _named(name, _message("PathItem", item))) for name, item in value.items())
    return b"".join(_fields(kind, value))


def _fields(kind: str, value: Mapping[str, Any]) -> Iterator[bytes]:
    for name, content in value.items():
        field = _MESSAGES[kind].get(name)
        if name.startswith("x-") and kind in _EXTENSIONS:
            yield _field(_EXTENSIONS[kind], _named(name, _field(2, json.dumps(content).encode())))
        elif field is None:
            raise ValueError(f"{kind} has no field {name}")
        elif field.type == "flag":
            yield _varint(field.number << 3 | _VARINT) + _varint(int(content))
        elif field.form == "many":
            yield b"".join(_field(field.number, _message(field.type, item)) for item in content)
        elif field.form == "map":
            named = (_field(1, _named(key, _message(field.type, item))) for key, item in content.items())
            yield _field(field.number, b"".join(named))
        elif field.form == "text":
            yield _field(field.number, _field(1, content.encode()))
        else:
            yield _field(field.number, _message(field.type, content))


def _parameter(value: Mapping[str, Any]) -> bytes:
    """A parameter of a query or a path, in the messages that say so one inside of the other."""
    in_path = value["in"] == "path"
    inner = _field(_PATH if in_path else _QUERY, _message("PathParameter" if in_path else "QueryParameter", value))
    return _field(_PARAMETER, _field(_OTHER_THAN_BODY, inner))


def _named(name: str, value: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, value)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    octets = bytearray()
    while number > 0x7F:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*octets, number))


AGGREGATED = "apidiscovery.k8s.io"
AGGREGATED_VERSIONS = ("v2", "v2beta1")
SERVED = (*RESOURCES, *OLM_RESOURCES)
"""All resources that are served."""
GROUPS = tuple(dict.fromkeys(resource.group for resource in SERVED))
API_VERSIONS = tuple(dict.fromkeys(resource.api_version for resource in SERVED))
PATHS = (
    "/api",
    "/apis",
    *(f"/apis/{name}" for name in GROUPS),
    *(f"/apis/{version}" for version in API_VERSIONS),
    "/healthz",
    "/livez",
    "/openapi/v2",
    "/openapi/v3",
    "/readyz",
    "/version",
)


def aggregated_media(header: str) -> str:
    """The media type of aggregated discovery that an Accept header asks for, "" if it doesn't."""
    for version in AGGREGATED_VERSIONS:
        if accepts(header, "application/json", g=AGGREGATED, v=version, **{"as": "APIGroupDiscoveryList"}):
            return f"application/json;g={AGGREGATED};v={version};as=APIGroupDiscoveryList"
    return ""


def api_versions() -> dict[str, Any]:
    """The legacy API: none of it is here."""
    return {"kind": "APIVersions", "versions": [], "serverAddressByClientCIDRs": []}


def group_list() -> dict[str, Any]:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in GROUPS]}


def group(name: str) -> dict[str, Any]:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def _group(name: str) -> dict[str, Any]:
    ordered = [version for version in API_VERSIONS if version.startswith(f"{name}/")]
    versions = [{"groupVersion": each, "version": each.partition("/")[2]} for each in ordered]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(api_version: str) -> dict[str, Any]:
    """The resources of a group version, sub-resources included."""
    listed = [each for resource in SERVED if resource.api_version == api_version for each in _listed(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": listed}


def _listed(resource: Resource) -> Iterator[dict[str, Any]]:
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_short_names(resource),
    }
    for name in resource.parts:
        yield {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["get"],
        }


def _short_names(resource: Resource) -> dict[str, list[str]]:
    return {"shortNames": list(resource.short_names)} if resource.short_names else {}


def aggregated(media: str, groups: bool) -> dict[str, Any]:
    """All groups in one document; the legacy API (`groups` false) has none."""
    version = media.partition("v=")[2].partition(";")[0]
    items = [
        {
            "metadata": {"name": name},
            "versions": [_version(each) for each in API_VERSIONS if each.startswith(f"{name}/")],
        }
        for name in (GROUPS if groups else ())
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/{version}", "metadata": {}, "items": items}


def _version(api_version: str) -> dict[str, Any]:
    resources = [_described(resource) for resource in SERVED if resource.api_version == api_version]
    return {"version": api_version.partition("/")[2], "freshness": "Current", "resources": resources}


def _described(resource: Resource) -> dict[str, Any]:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    shown: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_short_names(resource),
    }
    if resource.parts:
        parts = [{"subresource": name, "responseKind": kind, "verbs": ["get"]} for name in resource.parts]
        shown["subresources"] = parts
    return shown


def version_info(kube_version: str) -> dict[str, str]:
    """The version of Kubernetes that the workspace is compiled for, and of olmc."""
    numbers = re.findall("[0-9]+", kube_version)
    major, minor = [*numbers, "", ""][:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"{kube_version if kube_version.startswith('v') else f'v{kube_version}'}+olmc-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


def root_paths() -> dict[str, Any]:
    return {"paths": list(PATHS)}
