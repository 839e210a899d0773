"""The commands that read the state of a cluster with kubectl or oc. They only read, and print no value of a Secret."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator

from olmc.compiler.load.live_objects import Dump, api_lists
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import EXTENSIONS_V1, IMPORTED, ClusterState
from olmc.compiler.olm.facts import original_of
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
    ObjectKey,
    annotations_of,
    metadata_of,
)
from olmc.k8s.yaml import dump as dump_yaml

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
