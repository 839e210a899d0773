"""A registry+v1 bundle as operator-controller reads it from its image (R-V1-LOAD-1 … 5), and the checks that its
content has to pass (R-V1-VAL-1, R-V1-VAL-2)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from olmc.compiler.load.bundles import PACKAGE, annotation_texts
from olmc.compiler.model.operators import CONVERSION, CSV_KIND
from olmc.k8s.api.applied import is_list, items_of
from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.diagnostics import Location, Report, Severity, Source
from olmc.k8s.gojson import DecodeError, decode, encode_plain, match_keys, mismatch_text, unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    Manifest,
    annotations_of,
    as_text,
    mappings,
    name_of,
    spec_of,
    text,
    texts,
)
from olmc.k8s.strconv import integral, number_text, quoted
from olmc.k8s.yaml import Document, locate, read
from olmc.k8s.yaml.problems import parser_problem

MANIFESTS = "manifests/"
ANNOTATIONS = "metadata/annotations.yaml"
PROPERTIES = "metadata/properties.yaml"
PROPERTIES_ANNOTATION = "olm.properties"
_BETWEEN_TOKENS = regex(r'("(?:[^"\\]|\\.)*+"?)|[ \t\r\n]++')

ALL_NAMESPACES, OWN_NAMESPACE = "AllNamespaces", "OwnNamespace"
SINGLE_NAMESPACE, MULTI_NAMESPACE = "SingleNamespace", "MultiNamespace"


class BundleError(ValueError):
    """What operator-controller reports about a bundle or its configuration, with the place that it is about.

    `terminal`: it does not try again, for `InvalidConfiguration` (R-V1-CFG-3). `hint` is what to do about it, "" where
    nothing special is known; `causes` are what the controller does not tell of it.
    """

    def __init__(
        self, message: str, place: Location | None = None, *, terminal: bool = False, hint: str = "",
        causes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.message = message
        self.place = place
        self.terminal = terminal
        self.hint = hint
        self.causes = causes


class RegistryBundle(NamedTuple):
    """The content of a bundle: the name of its package, the CSV and the CRDs as their types keep them, and all other
    objects as they stand there; `csv_source` and `sources`, of the CRDs and the others, are where they stand."""

    package: str
    csv: KubernetesObject
    crds: tuple[KubernetesObject, ...]
    others: tuple[KubernetesObject, ...]
    csv_source: Source
    sources: tuple[Source, ...] = ()

    @property
    def name(self) -> str:
        return text(self.csv["metadata"].get("name"))

    @property
    def strategy(self) -> Mapping[str, Any]:
        """The content of the install strategy."""
        return spec_of(self.csv["spec"]["install"])

    @property
    def deployments(self) -> list[Mapping[str, Any]]:
        return mappings(self.strategy.get("deployments"))

    @property
    def webhooks(self) -> list[Mapping[str, Any]]:
        return mappings(spec_of(self.csv).get("webhookdefinitions"))

    @property
    def owned_crds(self) -> list[str]:
        """The names of the CRDs that the CSV owns, in its order."""
        described = spec_of(self.csv).get("customresourcedefinitions") or {}
        return [text(item.get("name")) for item in mappings(described.get("owned"))]

    @property
    def install_modes(self) -> tuple[str, ...]:
        """The supported install modes, sorted; of one that is listed twice one entry is enough (R-V1-OPT-1)."""
        modes = mappings(spec_of(self.csv).get("installModes"))
        return tuple(sorted({text(mode.get("type")) for mode in modes if mode.get("supported") is True}))


def read_registry_bundle(files: Mapping[str, str]) -> RegistryBundle:
    """Return the bundle with these files, texts by their paths in the image. Raises BundleError.

    All files below `manifests/` count, in the order of the paths, with any ending (R-V1-LOAD-2).
    """
    package = _package(files)
    csv: Manifest | None = None
    crds: list[Manifest] = []
    others: list[Manifest] = []
    for path in sorted((path for path in files if path.startswith(MANIFESTS)), key=str.encode):
        name, slash, _ = path.removeprefix(MANIFESTS).partition("/")
        if slash:
            problem = 'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem'
            raise BundleError(f"{problem}: found {quoted(MANIFESTS + name)}", Location(MANIFESTS + name))
        for manifest in _objects(path, files[path]):
            kind = manifest.object["kind"]
            if kind == CSV_KIND:
                csv = manifest._replace(object=_typed(CSV_KIND, manifest, path))
            elif kind == CRD_KIND:
                crds.append(manifest._replace(object=_typed(CRD_KIND, manifest, path)))
            else:
                others.append(manifest)
    if csv is None:
        raise BundleError('no ClusterServiceVersion found in "manifests"', Location("manifests"))
    sources = tuple(manifest.source for manifest in (*crds, *others))
    typed, untyped = (tuple(manifest.object for manifest in some) for some in (crds, others))
    return RegistryBundle(package, _with_properties(csv, files), typed, untyped, csv.source, sources)


def _package(files: Mapping[str, str]) -> str:
    """The name of the package, "" for none (R-V1-LOAD-1)."""
    if ANNOTATIONS not in files:
        raise BundleError(f"open {ANNOTATIONS}: no such file or directory", Location("metadata"))
    document = _first_document(ANNOTATIONS, files[ANNOTATIONS], "")
    value = document.value if document is not None else None
    if document is None or value is None or (isinstance(value, dict) and value.get("annotations") is None):
        return ""
    annotations = value.get("annotations") if isinstance(value, dict) else None
    texts = annotation_texts(document) if isinstance(annotations, dict) else {PACKAGE: None}
    package = texts.get(PACKAGE, "")
    if package is None:
        wrong = value if not isinstance(value, dict) else annotations
        problem = mismatch_text(wrong, "map[string]string")
        raise BundleError(f"error unmarshaling JSON: while decoding JSON: {problem}", Location(ANNOTATIONS))
    return package


def _first_document(path: str, text: str, prefix: str) -> Document | None:
    """The first document of a file, None if there is none; what is wrong with its text is reported behind `prefix`."""
    report = Report()
    documents = read(path, text, report)
    _check_syntax(text, report, prefix)
    return documents[0] if documents else None


def _check_syntax(text: str, report: Report, prefix: str) -> None:
    problem = next((finding for finding in report if finding.severity is Severity.ERROR), None)
    if problem is not None:
        reason = parser_problem(text, at_problem=True) or problem.message
        raise BundleError(f"{prefix}error converting YAML to JSON: {reason}", problem.location)


def _objects(path: str, text: str) -> Iterator[Manifest]:
    """The objects of a file, those of lists one by one; what is empty is passed over (R-V1-LOAD-2)."""
    report = Report()
    documents = read(path, text, report)
    parsing = f"error parsing objects in {quoted(path)}: "
    _check_syntax(text, report, f"{parsing}error parsing {path}: ")
    for document in documents:
        if document.value is not None:
            yield from _flattened(document.value, document.source, f"{parsing}unable to decode {quoted(path)}: ")


def _flattened(value: Any, source: Source, prefix: str) -> Iterator[Manifest]:
    if not isinstance(value, dict):
        raise BundleError(prefix + mismatch_text(value, "unstructured.detector"), locate(source, ()))
    # Go looks at the kind before anything else, so a missing apiVersion is no error here.
    if not isinstance(value.get("kind"), str) or not value["kind"]:
        problem = f"Object 'Kind' is missing in '{encode_plain(value).decode()}'"
        raise BundleError(prefix + problem, locate(source, ()))
    manifest = Manifest({"apiVersion": "", **value}, source)
    if not is_list(manifest.object):
        yield manifest
        return
    for item in items_of(manifest):
        yield from _flattened(item.object, item.source, prefix)


def _typed(kind: str, manifest: Manifest, path: str) -> KubernetesObject:
    """A CSV or a CRD as its Go type keeps it, and with an apiVersion, be it empty; keys count in their exact spelling
    alone (R-V1-LOAD-5)."""
    try:
        typed: KubernetesObject = decode(kind, manifest.object, exact=True)
    except DecodeError as error:
        place = locate(manifest.source, error.path)
        raise BundleError(f"error parsing objects in {quoted(path)}: {_conversion_text(error)}", place) from error
    return typed if "apiVersion" in typed else {"apiVersion": "", **typed}


def _conversion_text(error: DecodeError) -> str:
    """Return the text of Kubernetes' converter of untyped objects where encoding/json would name the field."""
    expected, got = error.expected.removeprefix("*"), error.got.partition(" ")[0]
    if not error.is_mismatch:
        return error.message
    if expected.startswith("[]"):
        return f"cannot restore slice from {_reflect_kind(got)}"
    if expected.startswith("map["):
        return f"cannot restore map from {_reflect_kind(got)}"
    if got == "string":
        return (
            f"unrecognized type: {expected.partition('=')[0]}"
            if "." not in expected
            else (f"cannot restore struct from: {got}")
        )
    return f"cannot restore {expected} from {_reflect_kind(got)}"


def _reflect_kind(got: str) -> str:
    """The kind of a decoded JSON value as Go's reflection names it."""
    return {"number": "int64", "array": "slice", "object": "map"}.get(got, got)


def _with_properties(csv: Manifest, files: Mapping[str, str]) -> KubernetesObject:
    """The CSV with the properties of the bundle in its annotation (R-V1-LOAD-4)."""
    where = f"failed to unmarshal csv.metadata.annotations['{PROPERTIES_ANNOTATION}']: "
    place = ("metadata", "annotations", PROPERTIES_ANNOTATION)
    obj = csv.object
    annotation = annotations_of(obj).get(PROPERTIES_ANNOTATION)
    listed: list[bytes] = []
    if annotation is not None:
        try:
            listed = [_property(entry) for entry in _raw_entries(annotation)]
        except ValueError as error:
            raise BundleError(f"{where}{error}", locate(csv.source, place)) from None
    if not files.get(PROPERTIES):
        return obj
    listed += _file_properties(files[PROPERTIES])
    # Go marshals a nil slice as null: a file without properties still writes the annotation.
    joined = b"[" + b",".join(listed) + b"]" if listed or annotation is not None else b"null"
    annotations = {**annotations_of(obj), PROPERTIES_ANNOTATION: joined.decode("utf-8", "replace")}
    return {**obj, "metadata": {**obj["metadata"], "annotations": dict(sorted(annotations.items()))}}


def _file_properties(text: str) -> list[bytes]:
    """The properties of metadata/properties.yaml, each as Go writes it. Raises BundleError."""
    failed = f"failed to unmarshal {PROPERTIES}: "
    document = _first_document(PROPERTIES, text, failed)
    value = document.value if document is not None else None
    decoding = f"{failed}error unmarshaling JSON: while decoding JSON: "
    if value is not None and not isinstance(value, dict):
        raise BundleError(decoding + mismatch_text(value, "bundle.Properties"), Location(PROPERTIES))
    entries = match_keys(value or {}, frozenset({"properties"})).get("properties") or []
    if not isinstance(entries, list):
        raise BundleError(decoding + mismatch_text(entries, "[]property.Property"), Location(PROPERTIES))
    properties = []
    for entry in entries:
        if not (entry is None or isinstance(entry, dict)):
            raise BundleError(decoding + mismatch_text(entry, "property.Property"), Location(PROPERTIES))
        fields = match_keys(entry or {}, frozenset({"type", "value"}))
        properties.append(_as_property(_yaml_text(fields.get("type")), encode_plain(fields.get("value"))))
    return properties


def _yaml_text(value: Any) -> str:
    """A text, or the one that a number or boolean of YAML stands for where Go wants a text."""
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, int | float) else as_text(value)


def _as_property(type_name: str, value: bytes) -> bytes:
    return b'{"type":' + encode_plain(type_name) + b',"value":' + value + b"}"


def _property(entry: str) -> bytes:
    """A property in JSON as Go writes it again: its value as it stands there, without white space."""
    fields = match_keys(dict(_raw_members(entry)), frozenset({"type", "value"}))
    type_name = unmarshal(fields.get("type", '""'))
    if not isinstance(type_name, str | None):
        raise ValueError(mismatch_text(type_name, "string"))
    return _as_property(type_name or "", _compact(fields.get("value", "null")))


def _raw_entries(text: str) -> list[str]:
    """The texts of the entries of a JSON list. Raises ValueError with Go's words for anything else."""
    try:
        value = unmarshal(text)
    except ValueError as error:
        from olmc.k8s.gojson.generate import syntax_error  # hardly any annotation is not JSON

        raise ValueError(syntax_error(text)) from error
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(mismatch_text(value, "[]property.Property"))
    return list(_raw_values(text, is_object=False))


def _raw_members(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object, names read and values as they stand there."""
    if unmarshal(text) is None:
        return
    if not text.startswith("{"):
        raise ValueError(mismatch_text(unmarshal(text), "property.Property"))
    parts = list(_raw_values(text, is_object=True))
    yield from ((json.loads(key), value) for key, value in zip(parts[::2], parts[1::2], strict=True))


def _raw_values(text: str, *, is_object: bool) -> Iterator[str]:
    """The texts of what a JSON list or object holds, keys among them; the text is known to be JSON."""
    # Numbers stay texts: a value is copied as it stands, and one with 400 digits is no reason to fail.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    skipped = " \t\r\n,:" + ("{" if is_object else "[")
    at = text.index("{" if is_object else "[") + 1
    while True:
        while text[at] in skipped[:-1]:
            at += 1
        if text[at] in "]}":
            return
        _, end = decoder.raw_decode(text, at)
        yield text[at:end]
        at = end


def _compact(value: str) -> bytes:
    """A JSON text without the white space between its tokens, with Go's escapes (R-JSON-4)."""
    compacted = _BETWEEN_TOKENS.sub(lambda match: match[1] or "", value)
    for char, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        compacted = compacted.replace(char, escape)
    return compacted.encode("utf-8", "replace")


# The configuration of a bundle: its schema by the bundle's install modes, and what is wrong with a value, in the words
# of operator-controller (R-V1-CFG-1 … 4a).

Schema = Mapping[str, Any]

_NAMESPACE = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_OWN_FORMAT, _SINGLE_FORMAT = "ownNamespaceInstallMode", "singleNamespaceInstallMode"
_CONFIG_HINT = (
    "Fix spec.config.inline of the ClusterExtension; for a bundle by itself --watch NS is its watchNamespace."
)
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
    raise BundleError(_INVALID + problem, terminal=True, hint=_CONFIG_HINT, causes=causes)


class _ConfigPlace(NamedTuple):
    """The place of a value in a configuration, and the namespace of the installation."""

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
    """Return the problems of a value as one tree, None for nothing (R-V1-CFG-4a)."""
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
    for kind, summary in (
        ("allOf", "'allOf' failed"),
        ("anyOf", f"invalid value for field {at.field}"),
        ("oneOf", "'oneOf' failed"),
    ):
        nodes = [_check(value, below, at) for below in schema.get(kind, ())]
        errors = tuple(filter(None, nodes))
        passed = len(nodes) - len(errors)
        wanted = len(nodes) if kind == "allOf" else 1
        if nodes and (passed < wanted or (kind == "oneOf" and passed > 1)):
            yield _ConfigNode(kind, summary, at.path, errors)


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
    """Return the problem of the namespace to watch, by the install mode that the schema's format is named after."""
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
    """Yield the controller's texts for a tree: parents first, and none below a reference with one error."""
    yield node.text
    if not (node.kind == "reference" and len(node.below) == 1):
        for below in node.below:
            yield from _messages(below)


def _hidden_causes(node: _ConfigNode, *, hidden: bool = False) -> Iterator[str]:
    """Yield the causes below references that the controller does not print, and that users need."""
    below_hidden = hidden or (node.kind == "reference" and len(node.below) == 1)
    if hidden and node.kind == "leaf":
        yield f"{'.'.join(node.path)}: {node.text}"
    for below in node.below:
        yield from _hidden_causes(below, hidden=below_hidden)


NAMESPACED_KINDS = frozenset(
    "ClusterServiceVersion Service ServiceAccount Role RoleBinding PrometheusRule ServiceMonitor PodMonitor Secret "
    "ConfigMap PodDisruptionBudget NetworkPolicy".split()
)
"""The supported kinds that are put into the namespace of the installation, in any API group."""

CLUSTER_SCOPED_KINDS = frozenset(
    "CustomResourceDefinition ClusterRole ClusterRoleBinding PriorityClass VerticalPodAutoscaler ConsoleYAMLSample "
    "ConsoleQuickStart ConsoleCLIDownload ConsoleLink ConsolePlugin".split()
)
"""The other supported kinds; a VerticalPodAutoscaler is taken for one of them, although it has a namespace."""

VALIDATING, MUTATING = "ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"
_FORBIDDEN_GROUPS = frozenset({"*", "olm.operatorframework.io"})
_ADMISSION = "admissionregistration.k8s.io"
_FORBIDDEN_RESOURCES = frozenset(
    "* mutatingwebhookconfiguration mutatingwebhookconfigurations validatingwebhookconfiguration "
    "validatingwebhookconfigurations".split()
)

_Webhook = Mapping[str, Any]


def validation_errors(bundle: RegistryBundle) -> list[str]:
    """Everything that operator-controller refuses of a bundle, in its order and words; [] for a valid one."""
    return [error for check in _CHECKS for error in check(bundle)]


def go_list(entries: Iterable[str]) -> str:
    """Texts as Go prints a list of them: `[a b]`."""
    return f"[{' '.join(entries)}]"


def _repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _name_problems(name: str) -> list[str]:
    # Kubernetes counts in bytes by now; operator-controller has a version that still counts characters.
    return sorted(message.replace(" bytes", " characters") for message in is_dns1123_subdomain(name))


def _deployment_names(bundle: RegistryBundle) -> list[str]:
    return [text(deployment.get("name")) for deployment in bundle.deployments]


def _key(webhook: _Webhook) -> tuple[str, str]:
    return text(webhook.get("type")), text(webhook.get("generateName"))


def _conversions(bundle: RegistryBundle) -> list[_Webhook]:
    return [webhook for webhook in bundle.webhooks if webhook.get("type") == CONVERSION]


def _duplicate_deployments(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(_deployment_names(bundle)):
        yield f"cluster service version contains duplicate strategy deployment spec '{name}'"


def _deployment_name_shapes(bundle: RegistryBundle) -> Iterator[str]:
    for name in sorted(set(_deployment_names(bundle))):
        problems = _name_problems(name)
        if problems:
            yield f"invalid cluster service version strategy deployment name '{name}': {', '.join(problems)}"


def _duplicate_crds(bundle: RegistryBundle) -> Iterator[str]:
    for name in _repeated(name_of(crd) for crd in bundle.crds):
        yield f"bundle contains duplicate custom resource definition '{name}'"


def _absent_owned_crds(bundle: RegistryBundle) -> Iterator[str]:
    for name in sorted(set(bundle.owned_crds) - {name_of(crd) for crd in bundle.crds}):
        yield (f"cluster service definition references owned custom resource definition '{name}' not found in bundle")


def _package_name(bundle: RegistryBundle) -> Iterator[str]:
    if not bundle.package:
        yield "package name is empty"


def _conversion_modes(bundle: RegistryBundle) -> Iterator[str]:
    modes = bundle.install_modes
    if modes == (ALL_NAMESPACES,):
        return
    for webhook in _conversions(bundle):
        yield (
            f"bundle contains conversion webhook {quoted(_key(webhook)[1])} and supports install modes "
            f"{go_list(modes)} - conversion webhooks are only supported for bundles that only support AllNamespaces "
            "install mode"
        )


def _webhook_deployments(bundle: RegistryBundle) -> Iterator[str]:
    known = set(_deployment_names(bundle))
    for deployment, kind, name in sorted((text(item.get("deploymentName")), *_key(item)) for item in bundle.webhooks):
        if deployment not in known:
            yield f"webhook of type '{kind}' with name '{name}' references non-existent deployment '{deployment}'"


def _duplicate_webhooks(bundle: RegistryBundle) -> Iterator[str]:
    counts = Counter(map(_key, bundle.webhooks))
    for kind, name in sorted(key for key, count in counts.items() if count > 1):
        yield f"duplicate webhook '{name}' of type '{kind}'"


def _webhook_names(bundle: RegistryBundle) -> Iterator[str]:
    for kind, name in sorted(set(map(_key, bundle.webhooks))):
        problems = _name_problems(name)
        if problems:
            yield f"webhook of type '{kind}' has invalid name '{name}': {','.join(problems)}"


def _crds_converted_twice(bundle: RegistryBundle) -> Iterator[str]:
    webhooks_by_crd: dict[str, list[str]] = {}
    for webhook in _conversions(bundle):
        for crd in texts(webhook.get("conversionCRDs")):
            webhooks_by_crd.setdefault(crd, []).append(_key(webhook)[1])
    for crd, names in sorted(webhooks_by_crd.items()):
        if len(names) > 1:
            yield f"conversion webhooks [{','.join(sorted(names))}] reference same custom resource definition '{crd}'"


def _conversions_of_others(bundle: RegistryBundle) -> Iterator[str]:
    owned = set(bundle.owned_crds)
    pairs = (
        (_key(webhook)[1], crd) for webhook in _conversions(bundle) for crd in texts(webhook.get("conversionCRDs"))
    )
    for name, crd in sorted(pairs):
        if crd not in owned:
            yield f"conversion webhook '{name}' references custom resource definition '{crd}' not owned bundle"


def _forbidden_rules(bundle: RegistryBundle) -> Iterator[str]:
    for webhook in bundle.webhooks:
        if webhook.get("type") not in (VALIDATING, MUTATING):
            continue
        prefix = f"webhook {quoted(_key(webhook)[1])} contains forbidden rule: admission webhook rules cannot reference"
        for rule in mappings(webhook.get("rules")):
            for group in texts(rule.get("apiGroups")):
                if group in _FORBIDDEN_GROUPS:
                    yield f"{prefix} API group {quoted(group)}"
                for resource in texts(rule.get("resources")) if group == _ADMISSION else ():
                    if resource.lower() in _FORBIDDEN_RESOURCES:
                        yield f"{prefix} resource {quoted(resource)} for API group {quoted(group)}"


def _unsupported_kinds(bundle: RegistryBundle) -> Iterator[str]:
    for obj in bundle.others:
        if obj["kind"] not in NAMESPACED_KINDS | CLUSTER_SCOPED_KINDS:
            yield f"unsupported resource {quoted(name_of(obj))} with kind {quoted(obj['kind'])}"


_CHECKS: tuple[Callable[[RegistryBundle], Iterator[str]], ...] = (
    _duplicate_deployments,
    _deployment_name_shapes,
    _duplicate_crds,
    _absent_owned_crds,
    _package_name,
    _conversion_modes,
    _webhook_deployments,
    _duplicate_webhooks,
    _webhook_names,
    _crds_converted_twice,
    _conversions_of_others,
    _forbidden_rules,
    _unsupported_kinds,
)
