"""What the ServiceAccount of a ClusterExtension must be allowed to do to install a bundle, and what it lacks
(R-V1-PERM-1, R-V1-PERM-2, R-V1-SA-1).

The same list makes the controller's preflight (gate PreflightPermissions) and the smallest roles for an installer: what
is missing where nothing is granted is all that is needed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from olmc.compiler.model.workspace import METADATA_NAME
from olmc.compiler.results import Extension, InstallerRule
from olmc.k8s.api.rbac import decode_rules, merge, requests_of, rules_allow
from olmc.k8s.api.rbac_access import Access, Roles, collect_roles, decode_binding, with_groups
from olmc.k8s.api.restmapper import RestMapper
from olmc.k8s.api.validation.cel_rules import with_rules
from olmc.k8s.api.validation.field import FieldError
from olmc.k8s.api.validation.schema_values import value_errors
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    ACCOUNT,
    OLM_V1_GROUP,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Request,
    Subject,
    as_text,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    spec_of,
    text,
    texts,
)
from olmc.k8s.strconv import quoted

# The kinds of `olm.operatorframework.io/v1`: manifests → typed values (R-V1-CE-1, R-V1-CC-1).
#
# What a manifest says goes in; `ClusterExtension` and `ClusterCatalog` come out, defaults filled in, and what the API
# server would refuse as `FieldError`s in its own words. The standard CRDs lack some fields, which they drop silently.

SELF_CERTIFIED = "SelfCertified"
_IMAGE = regex(r"Installed bundle (\S+) successfully")  # the only place where the image stands


class InstalledBundle(NamedTuple):
    """The bundle in `status.install.bundle` of a ClusterExtension; `release` is None without such a field."""

    name: str
    version: str
    release: str | None = None
    image: str = ""


class CatalogFilter(NamedTuple):
    """The request of a ClusterExtension to catalogs: `version` is None for any version, `selector` the catalogs'."""

    package: str
    version: str | None = None
    channels: tuple[str, ...] = ()
    selector: Mapping[str, Any] = {}
    policy: str = "CatalogProvided"


class ClusterExtension(NamedTuple):
    """A ClusterExtension (R-V1-CE-1): `config` is what it sets inline, None for nothing; `installed` what is there."""

    name: str
    namespace: str
    service_account: str
    source: CatalogFilter
    checks_crds: bool = True
    config: Mapping[str, Any] | None = None
    progress_deadline: int | None = None
    installed: InstalledBundle | None = None


class ClusterCatalog(NamedTuple):
    """A ClusterCatalog (R-V1-CC-1): `labels` with the one that bears its name (R-V1-CC-2)."""

    name: str
    labels: Mapping[str, str]
    image: str = ""
    priority: int = 0
    available: bool = True


def api_errors(
    obj: Mapping[str, Any], old: Mapping[str, Any] | None = None, *, account_required: bool = True
) -> list[FieldError]:
    """What the API server finds wrong with an object of one of the kinds, or with changing `old` to it.

    `account_required`: the CRD is of a release that needs spec.serviceAccount (R-V1-REL-1).
    """
    schema = _schema(obj["kind"], account_required=account_required)
    whole = without_status(obj)
    before = None if old is None else without_status(old)
    return with_rules(value_errors(schema, whole), schema, whole, before)


def refusal(obj: Mapping[str, Any], errors: Sequence[FieldError]) -> str:
    """Return how the API's client prints errors of an object: one behind the sentence, several as a list."""
    head = f'The {obj["kind"]} "{name_of(obj)}" is invalid: '
    return head + (str(errors[0]) if len(errors) == 1 else "".join(f"\n* {error}" for error in errors))


def ignored_fields(obj: Mapping[str, Any]) -> list[str]:
    """The fields of the spec that the standard CRD drops (R-V1-CE-1)."""
    return [field for field in _data()["experimental"].get(obj["kind"], ()) if field in spec_of(obj)]


def unknown_fields(obj: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """The keys that lead to each field of the spec that no CRD has, so that the API server drops it, and the fields
    that there are in its place."""
    schema = _data()["schemas"][obj["kind"]]["properties"]["spec"]
    yield from _unknown(obj.get("spec"), schema, ("spec",))


def _unknown(value: Any, schema: Mapping[str, Any], keys: tuple[str | int, ...]) -> Iterator[Any]:
    properties = schema.get("properties", {})
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), (*keys, index))
    elif isinstance(value, Mapping) and properties:
        for key, below in value.items():
            if key in properties:
                yield from _unknown(below, properties[key], (*keys, key))
            else:
                yield (*keys, key), list(properties)


def without_status(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as one that is created: its status is written by another way."""
    return {key: value for key, value in obj.items() if key != "status"}


def cluster_extension(obj: Mapping[str, Any], *, experimental: bool = True) -> ClusterExtension:
    """The ClusterExtension that an object without errors is, as the experimental or the standard CRD keeps it."""
    spec = spec_of(obj)
    catalog = mapping(mapping(spec.get("source")).get("catalog"))
    source = CatalogFilter(
        text(catalog.get("packageName")),
        as_text(catalog["version"]) if catalog.get("version") is not None else None,
        tuple(texts(catalog.get("channels"))),
        mapping(catalog.get("selector")),
        text(catalog.get("upgradeConstraintPolicy")) or "CatalogProvided",
    )
    preflight = mapping(mapping(spec.get("install")).get("preflight"))
    inline = mapping(spec.get("config")).get("inline") if experimental else None
    return ClusterExtension(
        name_of(obj),
        text(spec.get("namespace")),
        text(mapping(spec.get("serviceAccount")).get("name")),
        source,
        text(mapping(preflight.get("crdUpgradeSafety")).get("enforcement")) != "None",
        inline if isinstance(inline, Mapping) else None,
        spec.get("progressDeadlineMinutes") if experimental else None,
        _installed(obj),
    )


def _installed(obj: Mapping[str, Any]) -> InstalledBundle | None:
    bundle = mapping(mapping(mapping(obj.get("status")).get("install")).get("bundle"))
    if not text(bundle.get("name")):
        return None
    release = bundle.get("release")
    messages = (text(condition.get("message")) for condition in mappings(mapping(obj.get("status")).get("conditions")))
    images = (match[1] for message in messages if (match := _IMAGE.fullmatch(message)))
    known = release if isinstance(release, str) else None
    return InstalledBundle(bundle["name"], as_text(bundle.get("version")), known, next(images, ""))


def cluster_catalog(obj: Mapping[str, Any]) -> ClusterCatalog:
    """The ClusterCatalog that an object without errors is, with the label that a webhook sets (R-V1-CC-2)."""
    spec, name = spec_of(obj), name_of(obj)
    labels = {key: as_text(value) for key, value in mapping(mapping(obj.get("metadata")).get("labels")).items()}
    priority = spec.get("priority")
    return ClusterCatalog(
        name,
        {**labels, METADATA_NAME: name},
        text(mapping(mapping(spec.get("source")).get("image")).get("ref")),
        priority if isinstance(priority, int) else 0,
        spec.get("availabilityMode") != "Unavailable",
    )


def without_fields(obj: KubernetesObject, fields: Sequence[str]) -> KubernetesObject:
    """An object without fields of its spec that the CRD does not have (R-V1-CE-1)."""
    if not fields:
        return obj
    return {**obj, "spec": {key: value for key, value in spec_of(obj).items() if key not in fields}}


@cache
def _schema(kind: str, *, account_required: bool) -> Mapping[str, Any]:
    """The schema of a kind, as the CRD of a release has it."""
    schema: Mapping[str, Any] = _data()["schemas"][kind]
    if account_required or kind != "ClusterExtension":
        return schema
    spec = schema["properties"]["spec"]
    account = spec["properties"]["serviceAccount"]
    name = account["properties"]["name"]
    rules = [
        {**rule, "message": "name is immutable once set but may be cleared"}
        if rule["rule"] == "self == oldSelf"
        else rule
        for rule in name["x-kubernetes-validations"]
    ]
    name = {**name, "minLength": 1, "x-kubernetes-validations": rules}
    account = {**account, "minProperties": 1, "required": [], "properties": {"name": name}}
    spec = {
        **spec,
        "required": [field for field in spec["required"] if field != "serviceAccount"],
        "properties": {**spec["properties"], "serviceAccount": account},
    }
    return {**schema, "properties": {**schema["properties"], "spec": spec}}


@cache
def _data() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / "api_schemas.json").read_text(encoding="utf-8"))
    return content


GROUP = OLM_V1_GROUP
NO_ACCESS = Access({}, {})
_BY_NAME = ("get", "patch", "update", "delete")
_ROLES = {"Role": "roles", "ClusterRole": "clusterroles"}
_FIELDS = (
    ("APIGroups", "groups"),
    ("Resources", "resources"),
    ("ResourceNames", "names"),
    ("Verbs", "verbs"),
    ("NonResourceURLs", "urls"),
)
_HEAD = "pre-authorization failed: service account requires the following permissions to manage cluster extension:"


class ScopedRule(NamedTuple):
    """A rule that holds in a namespace, or with "" in the whole cluster."""

    namespace: str
    rule: PolicyRule

    @property
    def line(self) -> str:
        """The rule as the controller prints it; of a core group only the brackets remain."""
        listed = ((label, getattr(self.rule, field)) for label, field in _FIELDS)
        shown = (f"{label}:[{','.join(sorted(values))}]" for label, values in listed if values)
        return " ".join((f"Namespace:{quoted(self.namespace)}", *shown))


class _Need(NamedTuple):
    """A request that must be allowed in a namespace; `excuse` is another one that would do as well."""

    namespace: str
    request: Request
    excuse: Request | None = None


def installer(extension: Extension) -> Subject:
    """The account that a ClusterExtension is installed with."""
    return Subject(ACCOUNT, extension.namespace, extension.service_account)


def required_rules(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, revision: str = ""
) -> tuple[ScopedRule, ...]:
    """All that the installer of these objects needs: the rules of the smallest roles for it."""
    return missing_rules(extension, objects, mapper, NO_ACCESS, revision=revision)


def missing_rules(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, access: Access,
    there: Iterable[tuple[ObjectKey, KubernetesObject]] = (), *, revision: str = "",
) -> tuple[ScopedRule, ...]:  # fmt: skip
    """What the installer of these objects lacks, by namespace (R-V1-PERM-1).

    `access` is what RBAC in the cluster gives, `there` the roles in it that bindings may name; `revision` is the name
    of the ClusterObjectSet with that runtime, "" with Helm's.
    """
    roles = collect_roles((*there, *((object_key(obj), obj) for obj in objects)))
    subjects = with_groups(installer(extension))
    missing: dict[tuple[str, PolicyRule], set[str]] = defaultdict(set)
    for need in _needs(extension, objects, mapper, roles, revision):
        granted = access.rules(need.namespace or None, *subjects)
        if not rules_allow(granted, need.request) and not (need.excuse and rules_allow(granted, need.excuse)):
            missing[need.namespace, _target(need)].add(need.request.verb)
    rules = (ScopedRule(where, rule._replace(verbs=tuple(sorted(verbs)))) for (where, rule), verbs in missing.items())
    return tuple(sorted(rules))


def installer_roles(extension: Extension, required: Iterable[InstallerRule]) -> Iterator[KubernetesObject]:
    """The roles with these rules, one a namespace and one for the cluster, and their bindings to the installer."""
    by_namespace: dict[str, list[PolicyRule]] = defaultdict(list)
    for scoped in required:
        by_namespace[scoped.namespace].append(scoped.rule)
    account = installer(extension)
    subject = {"kind": account.kind, "name": account.name, "namespace": account.namespace}
    for namespace, rules in sorted(by_namespace.items()):
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": f"{extension.name}-installer"} | ({"namespace": namespace} if namespace else {})
        ref = {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]}
        written = [written_rule(rule) for rule in merge(rules)]
        yield {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, "rules": written}
        binding = {"apiVersion": RBAC_V1, "kind": f"{kind}Binding", "metadata": metadata}
        yield {**binding, "roleRef": ref, "subjects": [subject]}


def written_rule(rule: PolicyRule) -> dict[str, list[str]]:
    """A rule as a role has it."""
    fields = {
        "apiGroups": rule.groups, "resources": rule.resources, "resourceNames": rule.names, "verbs": rule.verbs,
        "nonResourceURLs": rule.urls,
    }  # fmt: skip
    return {key: list(values) for key, values in fields.items() if values}


def preflight_error(missing: Iterable[ScopedRule]) -> str:
    """The controller's error for rules that are missing, "" for none (R-V1-PERM-2)."""
    lines = sorted(rule.line for rule in missing)
    return "\n  ".join((_HEAD, *lines)) if lines else ""


def _target(need: _Need) -> PolicyRule:
    """Return the target of a request, as a rule without verbs."""
    request = need.request
    if request.url:
        return PolicyRule((), urls=(request.url,))
    # What is given away may be limited to the name "", which is not the same as any.
    names = () if request.name is None or not (request.name or need.excuse) else (request.name,)
    return PolicyRule((), (request.group,), (request.resource,), names)


def _needs(
    extension: ClusterExtension, objects: Sequence[KubernetesObject], mapper: RestMapper, roles: Roles, revision: str
) -> Iterator[_Need]:
    for obj in objects:
        kind = mapper.of(obj)
        namespace = as_text(metadata_of(obj).get("namespace")) if kind.namespaced else ""
        for verb in _BY_NAME:
            yield _Need(namespace, Request(verb, kind.group, kind.plural, name_of(obj)))
        yield _Need(namespace, Request("create", kind.group, kind.plural))
        if not revision:
            # Helm's runtime watches every kind that it has ever written, wherever.
            yield from (_Need("", Request(verb, kind.group, kind.plural)) for verb in ("list", "watch"))
        if kind.group == RBAC:
            yield from _escalations(obj, namespace, roles)
    finalizers = ("clusterobjectsets", revision) if revision else ("clusterextensions", extension.name)
    yield _Need("", Request("update", GROUP, f"{finalizers[0]}/finalizers", finalizers[1]))


def _escalations(obj: KubernetesObject, namespace: str, roles: Roles) -> Iterator[_Need]:
    """Yield the permissions that a subject needs to grant others: the rules of a role, or those of the role that a
    binding names."""
    kind = str(obj["kind"])
    if kind in _ROLES:
        excuse, rules = Request("escalate", RBAC, _ROLES[kind], name_of(obj)), decode_rules(obj.get("rules"))
    else:
        bound = decode_binding(object_key(obj), obj, namespace).role
        role = roles.by_identity.get(bound)
        excuse, rules = Request("bind", RBAC, _ROLES.get(bound.kind, ""), bound.name), role.rules if role else ()
    for rule in rules:
        yield from (_Need(namespace, request, excuse) for request in requests_of(rule))
