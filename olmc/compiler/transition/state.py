"""The state that a compilation ends in, as the start of another one, and the commands that read it from a cluster."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from operator import is_
from typing import Any

from olmc.compiler.load.live_objects import Dump, api_lists
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import EXTENSIONS_V1, IMPORTED, ClusterState, Workspace
from olmc.compiler.olm.facts import original_of
from olmc.compiler.reconcile.install_plans import unpacked_by
from olmc.k8s.api.selectors import matches
from olmc.k8s.diagnostics import Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    LAST_APPLIED,
    OLM_GROUP,
    RBAC,
    GroupKind,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    object_key,
)
from olmc.k8s.yaml import dump as dump_yaml

# The fields of a Secret that a rendering does not show.
_VALUES = ("data", "stringData")


def state_of(objects: Iterable[Rendered], cluster: Cluster, workspace: Workspace) -> ClusterState:
    """The state that a compilation ends in: its objects, with Secrets as they are stored, and its workspace."""
    known: dict[ObjectKey, Manifest] = {}
    for entry in objects:
        key = entry.identity
        stored = cluster.objects.get(key) if (key.group, key.kind) == ("", "Secret") else None
        place = entry.provenance.place
        values = {name: stored.object[name] for name in _VALUES if name in stored.object} if stored is not None else {}
        known[key] = Manifest({**entry.object, **values}, place.source if place is not None else Source("", ""))
    by_key = {object_key(manifest.object): manifest.object for manifest in workspace.manifests}
    unpacked = {image: bundle for plan in cluster.plans.values() for image, bundle in unpacked_by(plan, workspace)}
    return ClusterState(
        with_aggregated_rules(known), by_key, frozenset(by_key), documents=workspace.documents, unpacked=unpacked,
        is_whole=True, of_policies=workspace.of_policies, refused=workspace.refused,
    )  # fmt: skip


def with_aggregated_rules(objects: dict[ObjectKey, Manifest]) -> dict[ObjectKey, Manifest]:
    """The objects with the rules that the controller of Kubernetes fills into ClusterRoles which select others."""
    roles = {key: m.object for key, m in sorted(objects.items()) if (key.group, key.kind) == (RBAC, "ClusterRole")}
    by_label: dict[tuple[str, Any], dict[ObjectKey, KubernetesObject]] = {}
    for key, role in roles.items():
        for name, value in labels_of(role).items():
            if isinstance(value, str):
                by_label.setdefault((name, value), {})[key] = role
    for key, role in roles.items():
        selectors = mappings(mapping(role.get("aggregationRule")).get("clusterRoleSelectors"))
        if selectors and not role.get("rules"):
            rules: list[Mapping[str, Any]] = []
            for selected in _selected(selectors, key, roles, by_label):
                rules += (rule for rule in mappings(selected.get("rules")) if rule not in rules)
            objects[key] = objects[key]._replace(object={**role, "rules": rules})
    return objects


def in_known_order(objects: Iterable[Rendered], state: ClusterState) -> tuple[Rendered, ...]:
    """The objects, each that is as it was with the keys in the order that they had: what has not changed is written
    with the same bytes, and is the very value that the state has."""
    ordered, compared = [], _Compared({})
    for entry in objects:
        known = state.objects.get(entry.identity)
        kept = compared.in_order(known.object, entry.object) if known is not None else entry.object
        ordered.append(entry._replace(object=kept))
    return tuple(ordered)


class _Compared(NamedTuple):
    """The values that were put in order, by the ids of what was known and of what is there: copies share much."""

    pairs: dict[tuple[int, int], tuple[Any, Any, Any]]

    def in_order(self, known: Any, value: Any) -> Any:
        """A value in the order of what was known of it; that itself if they are the same."""
        if known is value:
            return value
        kind = next((kind for kind in (dict, list) if isinstance(value, kind)), None)
        if kind is None or not isinstance(known, kind):  # to Python 1.0 is 1, and 1 is true
            return known if type(known) is type(value) in (str, int, bool) and known == value else value
        pair = id(known), id(value)
        if pair not in self.pairs:  # with the values themselves, so that no others get their ids
            self.pairs[pair] = known, value, self._of_parts(known, value)
        return self.pairs[pair][2]

    def _of_parts(self, known: Any, value: Any) -> Any:
        if isinstance(value, list):
            if len(value) != len(known):
                return value
            items = [*map(self.in_order, known, value)]
            return known if all(map(is_, items, known)) else items
        ordered = {key: self.in_order(was, value[key]) for key, was in known.items() if key in value}
        if len(ordered) == len(value) == len(known) and all(map(is_, ordered.values(), known.values())):
            return known
        return {**ordered, **{key: value[key] for key in value if key not in known}}


def _selected(
    selectors: Iterable[Mapping[str, Any]], own: ObjectKey, roles: Mapping[ObjectKey, KubernetesObject],
    by_label: Mapping[tuple[str, Any], Mapping[ObjectKey, KubernetesObject]],
) -> Iterator[KubernetesObject]:  # fmt: skip
    for selector in selectors:
        label = next((item for item in mapping(selector.get("matchLabels")).items() if isinstance(item[1], str)), None)
        among = roles if label is None else by_label.get(label, {})
        yield from (role for key, role in among.items() if key != own and matches(selector, labels_of(role)))


STATE_FILE = "cluster-state.yaml"


class AskedKind(NamedTuple):
    """A kind of which all objects are asked for: its name for kubectl, whether every cluster with OLM has some, and
    whether an OLM may be too old to know it."""

    kind: GroupKind
    resource: str
    is_always_there: bool = False
    is_recent: bool = False


def _asked(kind: str, group: str = "", *, always: bool = False, recent: bool = False, plural: str = "") -> AskedKind:
    name = plural or f"{kind.lower()}s"
    return AskedKind(GroupKind(group, kind), f"{name}.{group}" if group else name, always, recent)


_ADMISSION = "admissionregistration.k8s.io"
_V1 = EXTENSIONS_V1.partition("/")[0]
ASKED = (
    _asked(CSV_KIND, OLM_GROUP, always=True),
    _asked("Subscription", OLM_GROUP),
    _asked("InstallPlan", OLM_GROUP),
    _asked("OperatorGroup", OLM_GROUP, always=True),
    _asked("CatalogSource", OLM_GROUP),
    _asked("OperatorCondition", OLM_GROUP, recent=True),
    _asked("Operator", OLM_GROUP, recent=True),
    _asked("OLMConfig", OLM_GROUP, recent=True),
    _asked("ClusterExtension", _V1, recent=True),
    _asked("ClusterCatalog", _V1, recent=True),
    _asked("ClusterObjectSet", _V1, recent=True),
    _asked("Namespace", always=True),
    _asked(CRD_KIND, APIEXTENSIONS, always=True),
    _asked("APIService", "apiregistration.k8s.io", always=True),
    _asked("ClusterRole", RBAC, always=True),
    _asked("ClusterRoleBinding", RBAC, always=True),
    _asked("Role", RBAC, always=True),
    _asked("RoleBinding", RBAC, always=True),
    _asked(ACCOUNT, always=True),
    _asked("Deployment", "apps", always=True),
    _asked("Service", always=True),
    _asked("MutatingWebhookConfiguration", _ADMISSION),
    _asked("ValidatingWebhookConfiguration", _ADMISSION),
    _asked("PriorityClass", "scheduling.k8s.io", always=True, plural="priorityclasses"),
    _asked("Secret"),
)
"""The kinds that olmc begins with, in the order in which they are asked for."""

# All that is reported about a Secret; what is in it, and other annotations, which may hold it as well, are not printed.
_SECRET = """\
{range .items[*]}---
apiVersion: v1
kind: Secret
metadata:
  name: "{.metadata.name}"
  namespace: "{.metadata.namespace}"
  labels: {.metadata.labels}
  ownerReferences: {.metadata.ownerReferences}
  annotations:
    kubernetes.io/service-account.name: "{.metadata.annotations.kubernetes\\.io/service-account\\.name}"
type: "{.type}"
{end}"""
_CATALOGS = '{{range .items}}{{if .spec.configMap}}{{.metadata.namespace}} {{.spec.configMap}}{{"\\n"}}{{end}}{{end}}'


def command_for(asked: Iterable[AskedKind], client: str = "kubectl") -> str:
    """The command that prints all objects of some kinds, of Secrets that there are some."""
    kinds = list(asked)
    plain = ",".join(each.resource for each in kinds if each.kind.kind != "Secret")
    commands = [f"{client} get {plain} -A -o yaml"] if plain else []
    if len(kinds) != plain.count(",") + bool(plain):
        commands.append(f"{client} get secrets -A -o jsonpath={shlex.quote(_SECRET)}")
    return "; echo ---; ".join(commands)


def state_commands(program: str = "kubectl", context: str = "") -> str:
    """A pipeline for a POSIX shell that reads the state of a cluster, and has olmc write it into a file."""
    client = f"{program} --context {shlex.quote(context)}" if context else program
    usual = [each for each in ASKED if not each.is_recent]
    # kubectl prints nothing at all if it does not know one of the kinds.
    recent = [command_for([each], client) for each in ASKED if each.is_recent]
    of_olm = [each for each in usual if each.kind.group == OLM_GROUP]
    others = [each for each in usual if each.kind.group != OLM_GROUP and each.kind.kind != "Secret"]
    secrets = [each for each in usual if each.kind.kind == "Secret"]
    configmaps = (
        f"{client} get catalogsources.{OLM_GROUP} -A -o go-template={shlex.quote(_CATALOGS)} |\n"
        f'    while read -r ns name; do echo ---; {client} get configmap -n "$ns" "$name" -o yaml </dev/null; done'
    )
    commands = [
        command_for(of_olm, client), *recent, command_for(others, client), command_for(secrets, client), configmaps,
        f"{client} api-resources -o wide",
    ]  # fmt: skip
    lines = "\n  echo ---\n  ".join(commands)
    return f"{{\n  {lines}\n}} | olmc import - -o {STATE_FILE}\n"


# The state of a cluster as a file: what `olmc import` writes, and what a dump lacks.

_NO_MORE_APIS = {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "v1", "resources": ()}


def state_text(dump: Dump) -> str:
    """A state file that is read back as the same dump: documents sorted by what they are, then the APIs."""
    state = dump.state
    documents = [_document(key, state) for key in sorted(state.objects)]
    apis = api_lists(dump.served) or ([_NO_MORE_APIS] if dump.has_apis else [])
    return f"{IMPORTED}\n{dump_yaml([*documents, *apis])}"


def _document(key: ObjectKey, state: ClusterState) -> KubernetesObject:
    obj = state.objects[key].object
    if key in state.applied:
        noted = json.dumps(state.applied[key], separators=(",", ":"), ensure_ascii=False)
        annotations = {**annotations_of(obj), LAST_APPLIED: noted}
        obj = {**obj, "metadata": {**metadata_of(obj), "annotations": annotations}}
    copied = original_of(obj) if key.kind == CSV_KIND else None
    original = state.objects.get(key._replace(namespace=copied.namespace)) if copied is not None else None
    if original is not None and original.object is not obj and original.object.get("spec") == obj.get("spec"):
        # There is a copy in each namespace, and its spec is most of it.
        obj = {field: value for field, value in obj.items() if field != "spec"}
    return obj


def lacking(dump: Dump) -> tuple[AskedKind, ...]:
    """The kinds of which a dump has no object, in the order in which they are asked for."""
    return tuple(_lacking({GroupKind(key.group, key.kind) for key in dump.state.objects}))


def _lacking(kinds: set[GroupKind]) -> Iterator[AskedKind]:
    yield from (asked for asked in ASKED if asked.kind not in kinds)
