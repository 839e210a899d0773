"""The configuration of a bundle: its schema by the bundle's install modes, and what is wrong with a value, in the words
of operator-controller (R-V1-CFG-1 … 4a)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Report, Severity
from olmc.olmv1.registry_bundle import ALL_NAMESPACES, OWN_NAMESPACE, SINGLE_NAMESPACE, BundleError, RegistryBundle
from olmc.strconv import integral, quoted
from olmc.yaml import read

Schema = Mapping[str, Any]

_NAMESPACE = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_OWN_FORMAT, _SINGLE_FORMAT = "ownNamespaceInstallMode", "singleNamespaceInstallMode"
_MEND = "Mend spec.config.inline of the ClusterExtension; for a bundle by itself --watch NS is its watchNamespace."
_INVALID = "invalid ClusterExtension configuration: invalid configuration: "


@cache
def _base_schema() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / "bundle_config.json").read_text(encoding="utf-8"))
    return content


def config_schema(bundle: RegistryBundle, *, with_deployment_config: bool) -> Schema:
    """The schema of a bundle's configuration; definitions stand beside it (R-V1-CFG-1)."""
    properties = dict(_base_schema()["properties"])
    modes = set(bundle.install_modes)
    own, single = OWN_NAMESPACE in modes, SINGLE_NAMESPACE in modes
    del properties["watchNamespace"]
    if own or single:
        formats = {(True, False): {"format": _OWN_FORMAT}, (False, True): {"format": _SINGLE_FORMAT}}
        namespace: Schema = {**_NAMESPACE, **formats.get((own, single), {})}
        optional = ALL_NAMESPACES in modes
        properties["watchNamespace"] = {"anyOf": [{"type": "null"}, namespace]} if optional else namespace
    if not with_deployment_config:
        del properties["deploymentConfig"]
    required = ["watchNamespace"] if (own or single) and ALL_NAMESPACES not in modes else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def parse_config(text: str) -> Any:
    """The value of a configuration in YAML, {} for an empty text. Raises BundleError (R-V1-CFG-4)."""
    if not text:
        return {}
    report = Report()
    documents = read("config", text, report)
    if any(finding.severity is Severity.ERROR for finding in report):
        from olmc.yaml.problems import parser_problem  # few configurations are no YAML

        problem = parser_problem(text).rpartition(":")[2].strip()
        raise BundleError(_INVALID + problem, terminal=True)
    return documents[0].value if documents else None


def check_config(value: Any, schema: Schema, install_namespace: str) -> None:
    """Nothing for a configuration that fits its schema. Raises BundleError with all that is wrong (R-V1-CFG-3)."""
    root = _check(value, schema, _ConfigPlace((), install_namespace))
    if root is None:
        return
    # What is below one error at the top is reported as if there were no top.
    nodes = root.below if root.kind == "group" else (root,)
    messages = [message for node in nodes for message in _messages(node)]
    lines = "".join(f"\n  - {message}" for message in messages)
    problem = messages[0] if len(messages) == 1 else f"multiple errors found:{lines}"
    causes = tuple(cause for node in nodes for cause in _hidden_causes(node))
    raise BundleError(_INVALID + problem, terminal=True, hint=_MEND, causes=causes)


class _ConfigPlace(NamedTuple):
    """Where a value stands in a configuration, and the namespace of the installation."""

    path: tuple[str, ...]
    namespace: str

    def below(self, step: str | int) -> _ConfigPlace:
        return self._replace(path=(*self.path, str(step)))

    @property
    def field(self) -> str:
        return quoted(".".join(self.path))


class _ConfigNode(NamedTuple):
    """An error: `kind` is leaf, group, reference, anyOf, allOf or oneOf; `text` is what it prints."""

    kind: str
    text: str
    path: tuple[str, ...]
    below: tuple[_ConfigNode, ...] = ()


def _check(value: Any, schema: Schema, at: _ConfigPlace) -> _ConfigNode | None:
    """What is wrong with a value as one tree, None for nothing (R-V1-CFG-4a)."""
    text = _type_error(value, schema, at) or _format_error(value, schema, at)
    if text:
        return _ConfigNode("leaf", text, at.path)
    nodes = tuple(filter(None, _errors(value, schema, at)))
    if len(nodes) > 1:
        return _ConfigNode("group", "validation failed", at.path, nodes)
    return nodes[0] if nodes else None


def _errors(value: Any, schema: Schema, at: _ConfigPlace) -> Iterator[_ConfigNode | None]:
    if isinstance(value, dict):
        yield from _object_errors(value, schema, at)
    elif isinstance(value, list):
        for index, entry in enumerate(value) if "items" in schema else ():
            yield _check(entry, schema["items"], at.below(index))
    elif isinstance(value, str):
        yield from _text_errors(value, schema, at)
    if "$ref" in schema:
        node = _check(value, _base_schema()["definitions"][schema["$ref"]], at)
        if node is not None:
            yield _ConfigNode(
                "reference", "validation failed", at.path, node.below if node.kind == "group" else (node,)
            )
    yield from _combined_errors(value, schema, at)


def _object_errors(value: Mapping[str, Any], schema: Schema, at: _ConfigPlace) -> Iterator[_ConfigNode | None]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield _ConfigNode("leaf", f"required field {quoted(name)} is missing", at.path)
    for name in sorted(value.keys() & properties.keys()):
        yield _check(value[name], properties[name], at.below(name))
    unknown = sorted(value.keys() - properties.keys())
    if more is False and unknown:
        yield _ConfigNode("leaf", f"unknown field {quoted(unknown[0])}", at.path)
    elif isinstance(more, Mapping):
        for name in unknown:
            yield _check(value[name], more, at.below(name))


def _text_errors(value: str, schema: Schema, at: _ConfigPlace) -> Iterator[_ConfigNode]:
    least, most, pattern = schema.get("minLength", 0), schema.get("maxLength"), schema.get("pattern")
    if len(value) < least:
        yield _ConfigNode("leaf", f"field {at.field} must have minimum length of {least} (len={len(value)})", at.path)
    if most is not None and len(value) > most:
        yield _ConfigNode("leaf", f"field {at.field} must have maximum length of {most} (len={len(value)})", at.path)
    # Go's $ is the end of the text, Python's also stands before a last line end.
    if pattern is not None and not re.search(pattern.replace("$", r"\Z"), value):
        yield _ConfigNode("leaf", f"field {at.field} must match pattern {quoted(pattern)}", at.path)


def _combined_errors(value: Any, schema: Schema, at: _ConfigPlace) -> Iterator[_ConfigNode]:
    for kind, text in (
        ("allOf", "'allOf' failed"),
        ("anyOf", f"invalid value for field {at.field}"),
        ("oneOf", "'oneOf' failed"),
    ):
        nodes = [_check(value, below, at) for below in schema.get(kind, ())]
        errors = tuple(filter(None, nodes))
        passed = len(nodes) - len(errors)
        wanted = len(nodes) if kind == "allOf" else 1
        if nodes and (passed < wanted or (kind == "oneOf" and passed > 1)):
            yield _ConfigNode(kind, text, at.path, errors)


def _type_error(value: Any, schema: Schema, at: _ConfigPlace) -> str:
    wanted, got = schema.get("type"), _type_name(value)
    fits = wanted is None or got == wanted
    if fits or (wanted == "integer" and got == "number" and integral(float(value)) is not None):
        return ""
    if not at.path:
        return f"invalid type: got {got}, want {wanted}"
    if got == "null":
        return f"required field {at.field} is missing"
    return f"invalid type for field {at.field}: got {got}, want {wanted}"


def _type_name(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _format_error(value: Any, schema: Schema, at: _ConfigPlace) -> str:
    """What is wrong with the namespace to watch, by the install mode that the schema's format is named after."""
    kind = schema.get("format")
    if kind not in (_OWN_FORMAT, _SINGLE_FORMAT) or not isinstance(value, str):
        return ""
    home, given = quoted(at.namespace), quoted(value)
    if kind == _OWN_FORMAT and value != at.namespace:
        why = (
            f"must be {home} (the namespace where the operator is installed) because this operator only supports "
            "OwnNamespace install mode"
        )
    elif kind == _SINGLE_FORMAT and value == at.namespace:
        why = (
            f"must be different from {home} (the install namespace) because this operator uses SingleNamespace "
            "install mode to watch a different namespace"
        )
    else:
        return ""
    return f"invalid format for field {at.field}: '{value}' is not valid {kind}: invalid value {given}: {why}"


def _messages(node: _ConfigNode) -> Iterator[str]:
    """What the controller prints of a tree: parents first, and nothing below a reference with one error."""
    yield node.text
    if not (node.kind == "reference" and len(node.below) == 1):
        for below in node.below:
            yield from _messages(below)


def _hidden_causes(node: _ConfigNode, *, hidden: bool = False) -> Iterator[str]:
    """What stands below references and is not printed, which is what users want to know."""
    below_hidden = hidden or (node.kind == "reference" and len(node.below) == 1)
    if hidden and node.kind == "leaf":
        yield f"{'.'.join(node.path)}: {node.text}"
    for below in node.below:
        yield from _hidden_causes(below, hidden=below_hidden)
