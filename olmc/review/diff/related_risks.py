"""Objects that give power only together with others: labels that selectors ask for, network policies that add up,
objects that make others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api.applied import is_object
from olmc.k8s.api.rbac import decode_rules
from olmc.k8s.api.restmapper import kubernetes_kinds
from olmc.k8s.api.selectors import is_empty, matches
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    OLM_V1_GROUP,
    POLICY_GROUP,
    RBAC,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    object_key,
    pod_of,
    spec_of,
    text,
    texts,
)
from olmc.k8s.yaml import read
from olmc.k8s.yaml.scalars import resolve
from olmc.review.diff.crd_kinds import ABSENT, WORKLOADS, DiffChange, plain
from olmc.review.diff.field_tests import is_misleading
from olmc.review.diff.matching import Compare, Pair, with_template
from olmc.review.diff.object_kinds import (
    RESOURCE_SET,
    embedded_risk,
    manifest_sources,
    risky_field_changed,
    risky_object_added,
    unknown_variable,
    variable_risk,
)
from olmc.review.diff.object_risks import MISLED
from olmc.review.rbac.risks import Level, level_of

_ADMISSION, _NETWORKING = "admissionregistration.k8s.io", "networking.k8s.io"
_NAME = "kubernetes.io/metadata.name"
_AGGREGATE = "/aggregate-to-"
_USER_ROLES = ("admin", "edit", "view")
_COMPILED = (OLM_GROUP, OLM_V1_GROUP, POLICY_GROUP)
_OPEN_KINDS = ("ConfigMap", "Secret")
_OF_OLM = "olm.opgroup.permissions/"


class SideObjects(NamedTuple):
    """The objects of a side, and those that are none before Flux fills in their variables."""

    objects: Sequence[KubernetesObject]
    unfilled: Sequence[KubernetesObject]


class _Selectors(NamedTuple):
    """The selectors of namespaces on a side, each with the object that has it: of checks, and of peers that are let
    through."""

    checks: tuple[tuple[str, Any], ...]
    peers: tuple[tuple[str, Any], ...]


def related_changes(
    pairs: Iterable[Pair], old: Sequence[KubernetesObject], new: Sequence[KubernetesObject]
) -> Iterator[DiffChange]:
    """Report the risks of changed objects that depend on the other objects of a side."""
    changing = [pair for pair in pairs if pair.new is not None and pair.old is not pair.new]
    if any((pair.identity.group, pair.identity.kind) == ("", "Namespace") for pair in changing):
        selectors = _selectors(new)
        for pair in changing:
            if (pair.identity.group, pair.identity.kind) == ("", "Namespace") and pair.old is not None:
                yield from _namespace(pair, selectors)
    yield from _configured(changing, old, new)
    for pair in changing:
        if (pair.identity.group, pair.identity.kind) == (_NETWORKING, "NetworkPolicy") and pair.old is None:
            yield from _opened(pair, old)
        elif (pair.identity.group, pair.identity.kind) == (RBAC, "ClusterRole"):
            yield from _aggregated(pair, new)
        elif (pair.identity.group, pair.identity.kind) == (OLM_V1_GROUP, "ClusterCatalog") and pair.old is not None:
            yield from _joined(pair, new)


def embedded_changes(
    pairs: Iterable[Pair], objects: Iterable[KubernetesObject], compare: Compare
) -> Iterator[DiffChange]:
    """Report the risks of objects that others have in them, for a tool to apply: templates, works for other clusters.

    `objects` are those of both sides, which name ConfigMaps with manifests, and `compare` lists the risks of objects.
    Objects of OLM and policies are compared by what comes of them.
    """
    changing = [
        pair for pair in pairs if pair.new is not None and pair.old is not pair.new and _may_embed(pair.identity)
    ]
    has_maps = any(pair.identity.kind in ("ConfigMap", "Secret") for pair in changing)
    applied = manifest_sources(objects) if has_maps else frozenset()
    for pair in changing:
        if pair.identity.kind == "Secret" and pair.identity in applied and _values(pair.old) != _values(pair.new):
            why = "a tool applies the objects in it, which olmc does not show"
            yield risky_field_changed(pair.identity, "data", ABSENT, "***", (why,))
        now = _embedded(pair.new or {}, is_applied=pair.identity in applied)
        was = _embedded(pair.old or {}, is_applied=pair.identity in applied) if now else []
        for change in compare(was, now) if now else ():
            yield embedded_risk(pair.identity, str(change.identity), plain(change.message))


def _may_embed(identity: ObjectKey) -> bool:
    """Return whether tools make objects of others in such an object: the kinds of Kubernetes have fields of their own
    only."""
    if identity.group in _COMPILED:
        return False
    return identity.kind in _OPEN_KINDS or GroupKind(identity.group, identity.kind) not in kubernetes_kinds()


_VARIABLE = regex(r"(?<!\$)((?:\$\$)*)\$\{(?:\w+:?[-=?+]((?:[^$}]|\$(?!\{))*)|#\w+)\}")
"""A variable that has a value without being set: a default, under any operator that gives one, or a length (0)."""
_UNSET = regex(r"(?<!\$)\$\{\w[^}]*\}")
_DEEPEST = 50


def variable_changes(
    old: SideObjects, new: SideObjects, pairs: Iterable[Pair], compare: Compare
) -> Iterator[DiffChange]:
    """Report the risks of objects with variables of Flux that the objects as they are written do not have.

    A default takes the place of a variable; a role or a binding with another variable may give any rights, and an
    object whose kind is a variable may be any object.
    """
    pairs = [each for each in pairs if each.new is not None and each.old is not each.new and "${" in str(each.new)]
    if not pairs and old.unfilled == new.unfilled:
        return
    was, now = ([obj for obj in side if obj is not None] for side in ((p.old for p in pairs), (p.new for p in pairs)))
    compared = {object_key(obj) for obj in (*was, *now)}
    rights = [
        [obj for obj in side.objects if _is_right(obj) and object_key(obj) not in compared] for side in (old, new)
    ]
    before, after = ([*map(_filled_object, objects)] for objects in ((*was, *old.unfilled), (*now, *new.unfilled)))
    # An object that has got its first variable is compared with itself.
    filled = {object_key(obj) for obj in after} - {object_key(obj) for obj in (*before, *rights[0])}
    before += (obj for obj in old.objects if object_key(obj) in filled)
    if before != was or after != now:  # hardly any variable has a default
        known = set(map(_described, compare([*rights[0], *was], [*rights[1], *now])))
        for change in compare([*rights[0], *before], [*rights[1], *after]):
            if _described(change) not in known:
                yield variable_risk(change.identity, plain(change.message))
    unknown = {text for obj in before for text in _variables(obj)}
    for obj in after:
        left = sorted(_variables(obj) - unknown)
        if left:
            yield unknown_variable(object_key(obj), tuple(left))


def _described(change: DiffChange) -> tuple[object, ...]:
    return change.identity, change.kind, plain(change.message)


def _is_right(obj: KubernetesObject) -> bool:
    return object_key(obj).group == RBAC


def _filled_object(obj: KubernetesObject) -> KubernetesObject:
    """Fill the defaults of variables into an object. The descriptions in the schema of a CRD, which often show
    variables, stay as they are: they change nothing."""
    if object_key(obj)[:2] != (APIEXTENSIONS, CRD_KIND):
        filled: KubernetesObject = _filled(obj)
        return filled
    return {_key(key): _filled_definition(value) for key, value in obj.items()}


def _filled_definition(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_filled_definition, value))
    if not isinstance(value, dict):
        return _filled(value)
    fill = {"openAPIV3Schema": _filled_schema}
    return {_key(key): fill.get(key, _filled_definition)(item) for key, item in value.items()}


def _filled_schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return _filled(schema)
    found: dict[Any, Any] = {}
    for key, value in schema.items():
        if key == "description" and isinstance(value, str):
            found[key] = value
        elif key == "properties" and isinstance(value, dict):
            found[key] = {_key(name): _filled_schema(field) for name, field in value.items()}
        else:
            # A default or an example may have a field of that name.
            found[_key(key)] = (_filled_schema if key in ("items", "additionalProperties") else _filled)(value)
    return found


def _filled(obj: Any) -> Any:
    """Fill the defaults of variables into keys and texts; Flux does so in YAML, where a text may become any value."""
    if isinstance(obj, str) and "${" in obj:
        filled = _with_defaults(obj)
        # Other texts are in quotes in YAML, and stay texts.
        is_plain = ": " not in obj and " #" not in obj and "\n" not in obj
        return _value_of(filled) if is_plain else filled
    if isinstance(obj, dict):
        return {_key(key): _filled(value) for key, value in obj.items()}
    return list(map(_filled, obj)) if isinstance(obj, list) else obj


def _key(key: Any) -> Any:
    return _UNSET.sub("", _with_defaults(key)) if isinstance(key, str) and "${" in key else key


def _with_defaults(written: str) -> str:
    """Fill in the defaults of variables from the innermost one to the outermost."""
    for _ in range(_DEEPEST):
        if "${" not in written:
            break
        before = written
        written = _VARIABLE.sub(
            lambda match: "$" * (len(match[1]) // 2) + ("0" if match[2] is None else match[2]), before
        )
        if written == before:
            break
    return written


def _value_of(filled: str) -> Any:
    """Read a filled text as YAML; a variable that stays is empty where the rest is no text."""
    left = _UNSET.sub("", filled)
    if left[:1] in ("[", "{"):
        documents = read("", left, Report())
        return documents[0].value if len(documents) == 1 else filled
    value = resolve(left)
    return filled if isinstance(value, str) or value is None else value


def _variables(role: KubernetesObject) -> set[str]:
    """List the texts with variables in the kind of an object, and in what a role or a binding gives."""
    found = {text(role.get(field)) for field in ("apiVersion", "kind") if "${" in text(role.get(field))}
    if not _is_right(role):
        return found
    rules = mappings(role.get("rules"))
    waiting = [
        role.get("roleRef"),
        *(rule.get(field) for rule in rules for field in ("verbs", "apiGroups", "resources")),
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and "${" in value:
            found.add(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _embedded(obj: KubernetesObject, *, is_applied: bool) -> list[KubernetesObject]:
    """List the objects in an object, without those that are in them; `is_applied`: a tool applies its texts."""
    if gvk_of(obj).group == "kro.run":
        obj = _with_schema_defaults(obj)
    found: list[KubernetesObject] = []
    waiting: list[Any] = [*obj.values(), *_made_secrets(obj)]
    if is_applied:
        waiting += (each for value in mapping(obj.get("data")).values() for each in _written(value))
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("metadata"), dict) and is_object(value):  # few mappings have metadata
                found.append(value)
            else:
                waiting += value.values()
                waiting += _written(value.get("manifest"))
        elif isinstance(value, list):
            waiting += value
    return found


def _written(manifest: Any) -> list[Any]:
    """List the objects in a text that a tool applies, as in the steps of a Workflow."""
    if not isinstance(manifest, str):
        return []
    return [document.value for document in read("", manifest, Report())]


def _values(secret: KubernetesObject | None) -> list[Any]:
    return [mapping(secret or {}).get(field) or {} for field in ("data", "stringData")]


_SECRET_TEMPLATES = {
    ("external-secrets.io", "ExternalSecret"): ("spec", "target", "template"),
    ("external-secrets.io", "ClusterExternalSecret"): ("spec", "externalSecretSpec", "target", "template"),
    ("bitnami.com", "SealedSecret"): ("spec", "template"),
    ("cert-manager.io", "Certificate"): ("spec", "secretTemplate"),
}


def _made_secrets(obj: KubernetesObject) -> list[Any]:
    """List the Secret that a controller makes of a template, without its values, and the manifests in its texts."""
    known = gvk_of(obj)
    if known.group == "secrets.hashicorp.com":
        template = metadata = mapping(spec_of(obj).get("destination"))
    elif (known.group, known.kind) in _SECRET_TEMPLATES:
        template = obj
        for step in _SECRET_TEMPLATES[known.group, known.kind]:
            template = mapping(template.get(step))
        metadata = mapping(template.get("metadata")) if "metadata" in template else template
    else:
        return []
    if not template:
        return []
    kept = {field: mapping(metadata.get(field)) for field in ("labels", "annotations")}
    # A name of its own: the type of a Secret never changes, but that of a template may.
    name = f"{object_key(obj).name} {text(template.get('type'))}".strip()
    made = {
        "apiVersion": "v1", "kind": "Secret", "type": template.get("type"),
        "metadata": {"name": name, "namespace": object_key(obj).namespace, **kept},
    }  # fmt: skip
    texts_of = mapping(template.get("data")).values() if template.get("type") == RESOURCE_SET else ()
    return [made, *(each for value in texts_of for each in _written(value))]


_DEFAULT = regex(r"""\bdefault=(?:"([^"]*)"|'([^']*)'|([^\s|]+))""")
_FIELD = regex(r"\$\{\s*schema\.spec\.([\w.]+)\s*\}")
_LITERAL = regex(r"""\$\{\s*(?:"([^"]*)"|'([^']*)'|(true|false|[0-9]+))\s*\}""")


def _with_schema_defaults(obj: KubernetesObject) -> KubernetesObject:
    """Fill the defaults of the schema of a ResourceGraphDefinition into its templates, as kro does for an instance."""
    schema = mapping(spec_of(obj).get("schema"))
    types = mapping(schema.get("types"))
    defaults: dict[str, Any] = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), schema.get("spec"))]
    while waiting:
        path, given = waiting.pop()
        if isinstance(given, str) and given in types:
            given = types[given]
        if isinstance(given, dict) and len(path) < _DEEPEST:
            waiting += (((*path, str(key)), below) for key, below in given.items())
        elif isinstance(given, str) and (match := _DEFAULT.search(given)) is not None:
            quoted = next((each for each in match.groups()[:2] if each is not None), None)
            is_text = given.lstrip().startswith("string")
            value = quoted if quoted is not None else match[3]
            defaults[".".join(path)] = value if is_text else resolve(value)
    return {**obj, "spec": {**spec_of(obj), "resources": _with_values(spec_of(obj).get("resources"), defaults)}}


def _with_values(value: Any, defaults: Mapping[str, Any]) -> Any:
    """Put defaults and literals in the place of the expressions that consist of nothing else."""
    if isinstance(value, dict):
        return {key: _with_values(below, defaults) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_values(below, defaults) for below in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    whole = _FIELD.fullmatch(value)
    if whole is not None:
        return defaults.get(whole[1], value)
    literal = _LITERAL.fullmatch(value)
    if literal is not None:
        quoted = next((each for each in literal.groups()[:2] if each is not None), None)
        return quoted if quoted is not None else resolve(literal[3])
    return _FIELD.sub(lambda match: str(defaults.get(match[1], match[0])), value)


def _selectors(objects: Iterable[KubernetesObject]) -> _Selectors:
    checks: list[tuple[str, Any]] = []
    peers: list[tuple[str, Any]] = []
    for obj in objects:
        known = object_key(obj)
        if (known.group, known.kind) == (_ADMISSION, "ValidatingWebhookConfiguration"):
            checks += ((str(known), webhook.get("namespaceSelector")) for webhook in mappings(obj.get("webhooks")))
        elif known.group == _ADMISSION and known.kind.startswith("ValidatingAdmissionPolicy"):
            spec = spec_of(obj)
            matched = mapping(spec.get("matchConstraints") or spec.get("matchResources"))
            checks.append((str(known), matched.get("namespaceSelector")))
        elif (known.group, known.kind) == (_NETWORKING, "NetworkPolicy"):
            rules = (*mappings(spec_of(obj).get("ingress")), *mappings(spec_of(obj).get("egress")))
            named = (peer for rule in rules for field in ("from", "to") for peer in mappings(rule.get(field)))
            peers += ((str(known), peer["namespaceSelector"]) for peer in named if peer.get("namespaceSelector"))
    return _Selectors(tuple(checks), tuple(peers))


def _namespace(pair: Pair, selectors: _Selectors) -> Iterator[DiffChange]:
    """Report labels by which a namespace leaves what is checked, or joins what network policies let through."""
    was, now = (_labels(obj) for obj in (pair.old or {}, pair.new or {}))
    if was == now:
        return
    left = {who for who, selector in selectors.checks if matches(selector, was) and not matches(selector, now)}
    joined = {who for who, selector in selectors.peers if matches(selector, now) and not matches(selector, was)}
    reasons = (*(f"{who} checks it no more" for who in sorted(left)), *(f"{who} lets it in" for who in sorted(joined)))
    if reasons:
        yield risky_field_changed(pair.identity, "metadata.labels", was, now, reasons)


def _labels(namespace: KubernetesObject) -> dict[str, Any]:
    """Give the labels of a namespace with that which every one has."""
    return {**labels_of(namespace), _NAME: object_key(namespace).name}


def _opened(pair: Pair, old: Sequence[KubernetesObject]) -> Iterator[DiffChange]:
    """Report a new policy that lets everything in to every pod of a namespace that others protect: policies add up."""
    spec = spec_of(pair.new or {})
    if not is_empty(spec.get("podSelector")):
        return
    there = [
        spec_of(obj) for obj in old
        if (key := object_key(obj))[:2] == (_NETWORKING, "NetworkPolicy") and key.namespace == pair.identity.namespace
    ]  # fmt: skip
    for field, peers in (("ingress", "from"), ("egress", "to")):
        is_open = any(not rule.get(peers) and not rule.get("ports") for rule in mappings(spec.get(field)))
        if is_open and any(_restricts(policy, field) for policy in there):
            yield risky_object_added(pair.identity, (f"{field} of every pod of the namespace is open",))


def _restricts(spec: Mapping[str, Any], field: str) -> bool:
    stated = texts(spec.get("policyTypes"))
    return field.capitalize() in stated if stated else field == "ingress" or bool(spec.get(field))


def _aggregated(pair: Pair, new: Sequence[KubernetesObject]) -> Iterator[DiffChange]:
    """Report a label by which the rules of a role join a role that is not here; of roles here permissions tell it."""
    role = pair.new or {}
    was, now = labels_of(pair.old or {}), labels_of(role)
    for label in sorted(now):
        target = label.partition(_AGGREGATE)[2]
        is_new = now[label] == "true" and was.get(label) != "true"
        if not target or not is_new or target in _USER_ROLES or label.startswith(_OF_OLM) or _is_selected(now, new):
            continue
        if any(level_of(rule, "") >= Level.MEDIUM for rule in decode_rules(role.get("rules"))):
            path = f'metadata.labels["{label}"]'
            why = f"every subject of {text(target)} gains the rules of the role"
            yield risky_field_changed(pair.identity, path, was.get(label), now[label], (why,))


def _joined(pair: Pair, new: Iterable[KubernetesObject]) -> Iterator[DiffChange]:
    """Report labels by which ClusterExtensions select a catalog that they did not."""
    name = {f"{OLM_V1_GROUP}/metadata.name": pair.identity.name}
    was, now = ({**labels_of(obj or {}), **name} for obj in (pair.old, pair.new))
    for obj in new if was != now else ():
        selector = mapping(mapping(spec_of(obj).get("source")).get("catalog")).get("selector")
        if obj.get("kind") != "ClusterExtension" or is_empty(selector):
            continue
        if matches(selector, now) and not matches(selector, was):
            why = f"{object_key(obj)} takes bundles from it"
            before, after = (labels_of(each or {}) for each in (pair.old, pair.new))
            yield risky_field_changed(pair.identity, "metadata.labels", before, after, (why,))


def _configured(
    changing: Sequence[Pair], old: Sequence[KubernetesObject], new: Sequence[KubernetesObject]
) -> Iterator[DiffChange]:
    """Report variables of workloads that mislead, and that ConfigMaps give them from now on."""
    if not any(pair.identity.kind in ("ConfigMap", *WORKLOADS) for pair in changing):
        return
    before, after = ({object_key(obj): obj for obj in side} for side in (old, new))
    for known, workload in after.items():
        if known.kind not in WORKLOADS or known not in before:
            continue
        gained = _from_maps(known, workload, after) - _from_maps(known, before[known], before)
        for name, value, source in sorted(gained):
            path = f"variable {name}, of ConfigMap {source}"
            yield risky_field_changed(known, path, ABSENT, value, (MISLED,))


def _from_maps(
    known: ObjectKey, workload: KubernetesObject, objects: Mapping[ObjectKey, KubernetesObject]
) -> frozenset[tuple[str, str, str]]:
    """List the variables that mislead, with the values and the ConfigMaps that they are from."""
    found: set[tuple[str, str, str]] = set()
    pod = pod_of(with_template(workload))
    containers = (each for field in ("containers", "initContainers") for each in mappings(pod.get(field)))
    for container in containers:
        for each in mappings(container.get("envFrom")):
            source, data = _data(known, each.get("configMapRef"), objects)
            found |= {(text(each.get("prefix")) + key, text(value), source) for key, value in data.items()}
        for each in mappings(container.get("env")):
            reference = mapping(mapping(each.get("valueFrom")).get("configMapKeyRef"))
            source, data = _data(known, reference, objects)
            found |= {(text(each.get("name")), text(data.get(text(reference.get("key")))), source)} if data else set()
    return frozenset(each for each in found if is_misleading(each[0], each[1]))


def _data(
    known: ObjectKey, reference: Any, objects: Mapping[ObjectKey, KubernetesObject]
) -> tuple[str, Mapping[str, Any]]:
    name = text(mapping(reference).get("name"))
    return name, mapping(objects.get(ObjectKey("", "ConfigMap", known.namespace, name), {}).get("data"))


def _is_selected(labels: Mapping[str, Any], objects: Iterable[KubernetesObject]) -> bool:
    rules = (mapping(obj.get("aggregationRule")) for obj in objects if obj.get("kind") == "ClusterRole")
    selectors = (selector for rule in rules for selector in mappings(rule.get("clusterRoleSelectors")))
    return any(matches(selector, labels) for selector in selectors)


# Policies of Open Cluster Management: an object that one puts into the cluster is graded as that object.
