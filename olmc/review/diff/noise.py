"""The parts of an object that are worth comparing, without the defaults that an API server fills in.

Left out is what an upgrade changes although nothing changes for anybody: owner references and labels that name the CSV,
digests, what the API server and OLM write into `status`, annotations that OLM projects from the CSV into every
Deployment, what OLM derives from the CRDs that an operator owns (their list in the CSV with its descriptors for
consoles, olm.providedAPIs), and what other groups of changes say better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import (
    CERTIFICATE_VOLUMES,
    account_of_deployment,
    certificate_volume,
    condition_accounts,
    csv_by_label,
    csvs_by_reference,
    owner_of,
)
from olmc.compiler.olm.naming import CONDITION_NAME
from olmc.k8s.api.rbac import RuleIndex
from olmc.k8s.lean import NamedTuple, module, regex
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    object_key,
    pod_of,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.review.diff import webhooks as kinds
from olmc.review.diff.crd_kinds import ABSENT, WORKLOADS, DiffChange
from olmc.review.diff.deltas import Delta
from olmc.review.diff.operators import CSV, DiffOperator, operator_of
from olmc.review.diff.permissions import NO_ACCOUNTS, Accounts, ScopedSubject, SideAccess, access, with_new_names
from olmc.review.rbac.subjects import AGGREGATE_TO, USER_ROLES

# What OLM itself writes into the Deployments of an operator, so that nothing else is taken for it.
#
# A volume, a mount or a variable may have the name that OLM gives it and be anything: what counts is all of it.

v1_certificates = module("olmc.targets.v1.generators")  # which comparisons without ClusterExtensions do without

_SERVER_MODE = 0o644
"""The mode that the API server fills in for the files of a volume."""


class DeploymentWriter(NamedTuple):
    """The writer of a Deployment: its CSV, None for OLM v1, and the Secrets that its certificate may be in."""

    csv: str | None
    secrets: tuple[str, ...]

    @property
    def condition_variable(self) -> Mapping[str, str] | None:
        """The variable by which an operator finds its OperatorCondition."""
        return {"name": CONDITION_NAME, "value": self.csv} if self.csv is not None else None

    def certificate_volumes(self, pod: Mapping[str, Any]) -> Mapping[str, str]:
        """The volumes of a pod that are exactly as OLM writes them for a certificate, each with the path at which it
        mounts it (R-CERT-4, R-V1-CERT-1)."""
        there = {text(volume.get("name")): _as_written(volume) for volume in mappings(pod.get("volumes"))}
        return {
            name: path for name, path, *_ in CERTIFICATE_VOLUMES
            if any(there.get(name) == certificate_volume(name, secret) for secret in self.secrets)
        }  # fmt: skip


def _as_written(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A volume without the mode that the API server fills in."""
    secret = mapping(volume.get("secret"))
    if secret.get("defaultMode") != _SERVER_MODE:
        return dict(volume)
    return {**volume, "secret": {key: value for key, value in secret.items() if key != "defaultMode"}}


def deployment_writers(
    objects: Iterable[KubernetesObject], owners: Mapping[NamespacedName, DiffOperator]
) -> dict[ObjectKey, DeploymentWriter]:
    """By Deployment who wrote it, of those of OLM; `owners` are the operators of the side.

    That labels say so is not enough: the CSV has to be there, and to have a Deployment of that name in that namespace.
    """
    strategies = {(name, text(item.get("name"))) for name, owner in owners.items() for item in _deployments(owner)}
    writers = {}
    for obj in objects:
        if obj.get("kind") != "Deployment":
            continue
        known, name = object_key(obj), csv_by_label(obj)
        if owner_of(obj):
            writers[known] = DeploymentWriter(None, (v1_certificates.secret_name(known.name),))
        elif name is not None and (name, known.name) in strategies and name.namespace == known.namespace:
            writers[known] = DeploymentWriter(name.name, _secrets(owners[name], known.name))
    return writers


def _deployments(owner: DiffOperator) -> list[Mapping[str, Any]]:
    return mappings(mapping(mapping(owner.spec.get("install")).get("spec")).get("deployments"))


def certificate_accounts(owners: Mapping[NamespacedName, DiffOperator]) -> dict[NamespacedName, str]:
    """By Secret that OLM would write a certificate into the ServiceAccount of the Deployment that serves with it."""
    return {
        NamespacedName(owner.namespace, secret): account_of_deployment(csv, item)
        for owner in owners.values() for csv in (Csv(owner.csv),) for item in csv.deployments
        for secret in _secrets(owner, item.name)
    }  # fmt: skip


def _secrets(owner: DiffOperator, deployment: str) -> tuple[str, ...]:
    """The Secrets that a Deployment's certificates may be in; before 0.15 they were called like the API services that
    it serves (R-CERT-2)."""
    described = mapping(owner.spec.get("apiservicedefinitions"))
    return (
        f"{deployment}-service-cert",
        *(
            f"{text(api.get('version'))}.{text(api.get('group'))}-cert"
            for field in ("owned", "required") for api in mappings(described.get(field))
            if text(api.get("deploymentName")) == deployment
        ),
    )  # fmt: skip


_IMAGE_VARIABLE = "RELATED_IMAGE_"
_IMAGE = regex(r"[\w.-]+(?::[0-9]+)?(?:/[\w.-]+)+(?::[\w.-]+)?(?:@[a-z0-9]+:[0-9a-f]+)?")

SUBSCRIBED = ("name", "channel", "source", "sourceNamespace", "startingCSV", "installPlanApproval")
"""The fields of a Subscription that changes of versions are about."""

_METADATA = frozenset(
    """name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp managedFields
    selfLink ownerReferences""".split()
)
_LABELS = frozenset(
    """olm.owner olm.owner.kind olm.owner.namespace olm.deployment-spec-hash olm.permissions.hash
    olm.webhook-description-hash olm.copiedFrom app.kubernetes.io/version helm.sh/chart""".split()
)
_ANNOTATIONS = frozenset(
    """kubectl.kubernetes.io/last-applied-configuration controller-gen.kubebuilder.io/version createdAt
    operators.operatorframework.io/builder operators.operatorframework.io/project_layout operatorframework.io/properties
    olm.operatorGroup olm.operatorNamespace olm.targetNamespaces olm.skipRange olm.properties containerImage
    alm-examples description capabilities categories repository support certified olm.deprecationMessage
    operators.operatorframework.io/internal-objects console.openshift.io/operator-monitoring-default""".split()
)
_PREFIXES = (
    "operatorframework.io/installed-alongside-", "olm.operatorgroup.uid/", "app.kubernetes.io/", "helm.sh/",
    "features.operators.openshift.io/", "operators.openshift.io/", "olm.operatorframework.io/",
    "meta.helm.sh/", "olm.opgroup.permissions/aggregate-to-", "operators.coreos.com/",
)  # fmt: skip
_SELECTED = frozenset(("Namespace", "Pod"))
PROVIDED_APIS = "olm.providedAPIs"
_PROJECTED = frozenset(("alm-examples", "olm.generated-by", "olmcahash", *_ANNOTATIONS))
_RBAC_FIELDS = frozenset(("rules", "subjects", "roleRef", "aggregationRule"))
_CSV_REPORTED_ELSEWHERE = frozenset(
    ("version", "replaces", "skips", "relatedImages", "install", "installModes", "minKubeVersion")
)
# What only people read, in a console.
_CSV_TEXTS = frozenset(
    "annotations description displayName icon keywords labels links maintainers maturity provider selector".split()
)
# Go writes some of these structures even when they are empty (R-JSON-5), and then they say nothing.
_EMPTY_MEANS_NOTHING = frozenset(("resources", "securityContext", "strategy", "cleanup", "affinity"))


class Makers(NamedTuple):
    """The makers of the objects of a side: its operators, the writers of their Deployments, the manifests of the
    workspace, and all objects."""

    operators: Mapping[NamespacedName, DiffOperator]
    writers: Mapping[ObjectKey, DeploymentWriter]
    manifests: Collection[ObjectKey]
    objects: Collection[ObjectKey]

    @staticmethod
    def of(
        objects: Iterable[KubernetesObject], operators: Mapping[NamespacedName, DiffOperator],
        manifests: Collection[ObjectKey] = (),
    ) -> Makers:  # fmt: skip
        """Those of a side with these objects and operators."""
        keyed = {object_key(obj): obj for obj in objects}
        made = (obj for key, obj in keyed.items() if key not in manifests)
        return Makers(operators, deployment_writers(made, operators), manifests, keyed.keys())


def certificate_paths(obj: KubernetesObject, makers: Makers) -> tuple[str, ...]:
    """Return where OLM mounts its certificate in the containers of a Deployment, () where it mounts none. `makers` are
    those of its side. Versions of OLM differ in this (R-CERT-4)."""
    writer = makers.writers.get(object_key(obj))
    return tuple(sorted(writer.certificate_volumes(pod_of(obj)).values())) if writer is not None else ()


def without_noise(obj: KubernetesObject, makers: Makers) -> dict[str, Any]:
    """Return the compared part of an object; the object is not changed. `makers` are those of its side."""
    metadata = metadata_of(obj)
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    kept["metadata"] = metadata_without_noise(metadata, is_selected=obj.get("kind") in _SELECTED)
    if obj.get("kind") == CSV:
        kept["spec"] = _csv_spec(spec_of(obj), status_of(obj).get("phase") == "Succeeded")
    elif obj.get("kind") in WORKLOADS:
        kept["spec"] = _workload_spec(
            spec_of(obj), operator_of(obj, makers.operators), makers.writers.get(object_key(obj))
        )
    elif text(obj.get("apiVersion")).startswith(f"{RBAC}/"):
        kept = {key: value for key, value in kept.items() if key not in _RBAC_FIELDS}
    elif obj.get("kind") == "OperatorCondition":
        kept["spec"] = _spec_without(obj, ("deployments", "serviceAccounts"))
    elif obj.get("kind") == "OperatorGroup" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, ("targetNamespaces", "selector"))
        # Unless the list is static OLM derives it from its members.
        if not kept["spec"].get("staticProvidedAPIs") and isinstance(kept["metadata"].get("annotations"), dict):
            annotations = kept["metadata"]["annotations"]
            kept["metadata"]["annotations"] = {k: v for k, v in annotations.items() if k != PROVIDED_APIS} or None
    elif obj.get("kind") == "Subscription" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, SUBSCRIBED)
    return kept


def metadata_without_noise(metadata: Mapping[str, Any], *, is_selected: bool = False) -> dict[str, Any]:
    """Return the compared part of an object's metadata; `is_selected`: Services, NetworkPolicies and similar objects
    select it by its labels."""
    labels = (frozenset[str](), ("olm.",)) if is_selected else (_LABELS, _PREFIXES)
    kept = {key: value for key, value in metadata.items() if key not in _METADATA}
    for field, names, prefixes in (("labels", *labels), ("annotations", _ANNOTATIONS, _PREFIXES)):
        if isinstance(kept.get(field), dict):
            left = {k: v for k, v in kept[field].items() if k not in names and not k.startswith(prefixes)}
            kept[field] = left or None
    return kept


def _csv_spec(spec: Mapping[str, Any], is_installed: bool) -> dict[str, Any]:
    # Where a CSV is installed its webhooks are objects, and compared as such; elsewhere the CSV is all that there is.
    ignored = {*_CSV_REPORTED_ELSEWHERE, *_CSV_TEXTS, *(("webhookdefinitions",) if is_installed else ())}
    kept = {key: value for key, value in spec.items() if key not in ignored and not _is_nothing(key, value)}
    crds = mapping(spec.get("customresourcedefinitions"))
    kept["customresourcedefinitions"] = {key: value for key, value in crds.items() if key != "owned"} or None
    return kept


def _spec_without(obj: KubernetesObject, fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in spec_of(obj).items() if key not in fields}


def _workload_spec(
    spec: Mapping[str, Any], owner: DiffOperator | None, writer: DeploymentWriter | None
) -> dict[str, Any]:
    kept = dict(spec)
    template = dict(mapping(spec.get("template")))
    metadata = dict(metadata_of(template))
    # OLM copies the annotations of the CSV into every pod template; a change of them is reported with the CSV.
    projected = owner.annotations if owner is not None else {}
    annotations = {
        key: value
        for key, value in mapping(metadata.get("annotations")).items()
        if key not in _PROJECTED and (key not in projected or projected[key] != value)
    }
    template["metadata"] = {**metadata_without_noise(metadata, is_selected=True), "annotations": annotations or None}
    template["spec"] = _pod(spec_of(template), writer)
    kept["template"] = template
    return {key: value for key, value in kept.items() if not _is_nothing(key, value)}


def _pod(pod: Mapping[str, Any], writer: DeploymentWriter | None) -> dict[str, Any]:
    kept = {key: value for key, value in pod.items() if not _is_nothing(key, value)}
    volumes = writer.certificate_volumes(pod) if writer is not None else {}
    for field in ("containers", "initContainers"):
        if isinstance(pod.get(field), list):
            # OLM writes into the containers alone.
            of_olm = (volumes, writer) if field == "containers" else ({}, None)
            kept[field] = [_container(container, *of_olm) for container in mappings(pod[field])]
    if isinstance(pod.get("volumes"), list):
        kept["volumes"] = [v for v in mappings(pod["volumes"]) if text(v.get("name")) not in volumes] or None
    return kept


def _container(
    container: Mapping[str, Any], volumes: Mapping[str, str], writer: DeploymentWriter | None
) -> dict[str, Any]:
    """A container without what OLM writes into it; `volumes` are those of certificates, with their paths."""
    kept = {key: value for key, value in container.items() if key != "image" and not _is_nothing(key, value)}
    if isinstance(container.get("volumeMounts"), list):
        of_olm = [{"name": name, "mountPath": path} for name, path in volumes.items()]
        kept["volumeMounts"] = [mount for mount in mappings(container["volumeMounts"]) if mount not in of_olm] or None
    if isinstance(container.get("env"), list):
        kept["env"] = [
            variable for variable in mappings(container["env"])
            if not image_of(variable) and not (writer is not None and variable == writer.condition_variable)
        ] or None  # fmt: skip
    return kept


def image_of(variable: Mapping[str, Any]) -> str:
    """The image that a variable of a container tells an operator to use, "" if it is about something else.

    Those that begin with RELATED_IMAGE_ are, and others by their name if the value has a tag or a digest.
    """
    name, value = text(variable.get("name")), text(variable.get("value"))
    if name.startswith(_IMAGE_VARIABLE):
        return value
    has_version = ":" in value.rpartition("/")[2]
    return value if "image" in name.lower() and has_version and _IMAGE.fullmatch(value) else ""


def _is_nothing(key: str, value: Any) -> bool:
    return key in _EMPTY_MEANS_NOTHING and value in ({}, None)


# Permissions that follow from another reported change: they are counted, and not listed.
#
# Their origin decides, not their content: OLM's own roles and bindings have to grant them, and olmc recognizes these by
# all fields that OLM writes. A manifest of a workspace is none of them, with any labels.

_OF_USERS = "right of admin, edit and view"
_OF_OLM = "right to its own OperatorCondition"
_OF_CERTIFICATE = "right to its own serving certificate"
_CERTIFICATE = "-service-cert"
"""The suffixes of the Secrets in which OLM writes the certificates of webhooks and API services."""
_TYPES = (None, "kubernetes.io/tls")

_OF_APIS = "olm.opgroup.permissions/aggregate-to-"
_VERBS = {"admin": ["*"], "edit": ["create", "update", "patch", "delete"], "view": ["get", "list", "watch"]}
"""The permissions that OLM gives the users of an API, in every version (R-CR-2)."""
_SEE_CRD = "crdview"
_CONDITIONS = (
    ("operatorconditions", ["get"]),
    ("operatorconditions", ["get", "update", "patch"]),
    ("operatorconditions/status", ["get", "update", "patch"]),
)
"""The permissions that OLM gives an operator on its OperatorCondition, in one version or another (R-OC-2)."""


class DerivedRights(NamedTuple):
    """The permissions that OLM itself gives on a side, and the CRDs that the side has."""

    rights: SideAccess
    crds: frozenset[str]


def derived_rights(
    objects: Iterable[KubernetesObject], owners: Mapping[NamespacedName, DiffOperator],
    manifests: Collection[ObjectKey] = (), names: Accounts = NO_ACCOUNTS,
) -> DerivedRights:  # fmt: skip
    """Those of a side with these objects and operators; `manifests` are the objects that its workspace has written,
    `names` the ServiceAccounts that have another name on the new side."""
    known = [(object_key(obj), obj) for obj in objects]
    crds = frozenset(key.name for key, _ in known if (key.group, key.kind) == (APIEXTENSIONS, CRD_KIND))
    owned = frozenset(
        text(crd.get("name"))
        for owner in owners.values()
        for crd in mappings(mapping(owner.spec.get("customresourcedefinitions")).get("owned"))
    )
    certificates = certificate_accounts(owners)
    of_olm = [
        obj for key, obj in known
        if key.group == RBAC and key not in manifests
        and (
            is_role_of_api(key, obj, owned) or _is_of_condition(key, obj, owners)
            or _is_of_secret(key, obj, certificates)
        )
    ]  # fmt: skip
    rights = access(of_olm, owners) if of_olm else SideAccess({}, {}, {})
    return DerivedRights(with_new_names(rights, names.renamed), crds)


def is_role_of_api(known: ObjectKey, role: KubernetesObject, owned: Collection[str]) -> bool:
    """Return whether OLM made a ClusterRole for the users of an API that a CSV owns (R-CR-2): one rule, with the verbs
    of its suffix, for those users alone."""
    suffix = known.name.rpartition("-")[2]
    user, rules = "view" if suffix == _SEE_CRD else suffix, mappings(role.get("rules"))
    labels = labels_of(role)
    aggregated = {label for label in labels if text(label).startswith(AGGREGATE_TO)}
    is_olms = any(text(label).startswith(_OF_APIS) for label in labels)
    if known.kind != "ClusterRole" or aggregated != {f"{AGGREGATE_TO}{user}"} or not is_olms or len(rules) != 1:
        return False
    rule = rules[0]
    if suffix == _SEE_CRD:
        names = texts(rule.get("resourceNames"))
        seen = {"verbs": ["get"], "apiGroups": [APIEXTENSIONS], "resources": ["customresourcedefinitions"]}
        return len(names) == 1 and names[0] in owned and rule == {**seen, "resourceNames": names}
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    written = {"verbs": _VERBS.get(suffix), "apiGroups": groups, "resources": resources}
    return len(groups) == len(resources) == 1 and f"{resources[0]}.{groups[0]}" in owned and rule == written


def _is_of_condition(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> bool:
    """Return whether OLM made a Role or RoleBinding for the OperatorCondition of a CSV, for the accounts of that
    (R-OC-2)."""
    owner = owners.get(NamespacedName(known.namespace, known.name))
    if owner is None:
        return False
    if known.kind == "RoleBinding":
        return _binds_only(known, obj, condition_accounts(Csv(owner.csv)))
    allowed = (
        {"verbs": verbs, "apiGroups": [OLM_GROUP], "resources": [resource], "resourceNames": [known.name]}
        for resource, verbs in _CONDITIONS
    )
    written = list(allowed)
    return known.kind == "Role" and all(rule in written for rule in mappings(obj.get("rules")))


def _is_of_secret(known: ObjectKey, obj: KubernetesObject, accounts: Mapping[NamespacedName, str]) -> bool:
    """Return whether OLM made a Role or RoleBinding for a serving certificate, for the account of what serves
    (R-CERT-2)."""
    account = accounts.get(NamespacedName(known.namespace, known.name))
    if account is None:
        return False
    if known.kind == "RoleBinding":
        return _binds_only(known, obj, (account,))
    written = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [known.name]}
    return known.kind == "Role" and obj.get("rules") == [written]


def _binds_only(known: ObjectKey, binding: KubernetesObject, accounts: Collection[str]) -> bool:
    """Return whether a binding gives the Role of its own name to these ServiceAccounts of its namespace alone."""
    reference = mapping(binding.get("roleRef"))
    return (text(reference.get("kind")), text(reference.get("name"))) == ("Role", known.name) and all(
        subject.get("kind") == ACCOUNT and text(subject.get("name")) in accounts
        and text(subject.get("namespace")) in ("", known.namespace)
        for subject in mappings(binding.get("subjects"))
    )  # fmt: skip


def without_derived(
    changes: Iterable[DiffChange], old: DerivedRights, new: DerivedRights
) -> tuple[list[DiffChange], Counter[str]]:
    """Changes of permissions without those that OLM makes of CRDs and CSVs, and how many of these there are.

    OLM lets admin, edit and view do something with every API that an operator owns, and every operator read its own
    OperatorCondition. `old` and `new` are what it lets whom do on both sides.
    """
    crds, sides = old.crds | new.crds, {kinds.permission_gained: new.rights, kinds.permission_lost: old.rights}
    index_of = cache(lambda kind, holder: RuleIndex.of(sides[kind].granted(holder)))
    reported: list[DiffChange] = []
    folded: Counter[str] = Counter()
    for change in changes:
        what = _derived(change, crds)
        # All that the rule allows has to come from OLM.
        holder = ScopedSubject(change.identity, change.values["scope"]) if what else None
        if holder is not None and not index_of(change.kind, holder).subtract_from(change.values["rule"]):
            folded[what] += 1
        else:
            reported.append(change)
    return reported, folded


def is_certificate(
    obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator], manifests: Collection[ObjectKey] = ()
) -> bool:
    """Return whether an object is a Secret with a certificate that OLM makes for one of the CSVs `owners`."""
    known = object_key(obj)
    if (known.group, known.kind) != ("", "Secret") or known in manifests or obj.get("type") not in _TYPES:
        return False
    return bool(csvs_by_reference(obj)) and NamespacedName(known.namespace, known.name) in certificate_accounts(owners)


def _derived(change: DiffChange, crds: frozenset[str]) -> str:
    """Return the name of a change among those that OLM may make, "" if it makes none like it."""
    if change.kind not in (kinds.permission_gained, kinds.permission_lost):
        return ""
    rule: PolicyRule = change.values["rule"]
    if change.identity.kind == "ClusterRole" and change.identity.name in USER_ROLES:
        return _OF_USERS if _is_of_crds(rule, crds) else ""
    if rule.groups == ("",) and rule.resources == ("secrets",) and len(rule.names) == 1:
        return _OF_CERTIFICATE if rule.names[0].endswith(_CERTIFICATE) and rule.verbs == ("get",) else ""
    own = rule.groups == (OLM_GROUP,) and set(rule.resources) <= {"operatorconditions", "operatorconditions/status"}
    return _OF_OLM if own and rule.names and change.identity.kind == "ServiceAccount" else ""


def _is_of_crds(rule: PolicyRule, crds: frozenset[str]) -> bool:
    """Return whether a rule is about the objects of CRDs, or about reading the CRDs themselves."""
    if rule.groups == (APIEXTENSIONS,) and rule.names:
        return set(rule.names) <= crds
    plurals = (f"{resource.partition('/')[0]}.{group}" for group in rule.groups for resource in rule.resources)
    return bool(rule.resources) and all(plural in crds for plural in plurals)


_ANY = object()
_POD = "spec.template.spec"
_BOX = f"{_POD}.*ontainers"
# By kind and path, list items left out: what an object has where the one that was written says nothing.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Deployment": {
        "spec.progressDeadlineSeconds": 600, "spec.replicas": 1, "spec.strategy.type": "RollingUpdate",
        "spec.strategy.rollingUpdate.max*": "25%",
        f"{_POD}.restartPolicy": "Always", f"{_POD}.dnsPolicy": "ClusterFirst",
        f"{_POD}.terminationGracePeriodSeconds": 30, f"{_POD}.schedulerName": "default-scheduler",
        f"{_POD}.serviceAccount": _ANY, f"{_POD}.deprecatedServiceAccount": _ANY, f"{_POD}.topologySpread*": _ANY,
        f"{_POD}.volumes.*.defaultMode": 420, f"{_POD}.volumes.*.fieldRef.apiVersion": "v1",
        f"{_POD}.volumes.*.expirationSeconds": 3600, f"{_POD}.volumes.hostPath.type": "",
        f"{_BOX}.terminationMessagePath": "/dev/termination-log", f"{_BOX}.terminationMessagePolicy": "File",
        f"{_BOX}.imagePullPolicy": _ANY, f"{_BOX}.ports.protocol": "TCP", f"{_BOX}.*Probe.timeoutSeconds": 1,
        f"{_BOX}.*Probe.periodSeconds": 10, f"{_BOX}.*Probe.successThreshold": 1, f"{_BOX}.*Probe.failureThreshold": 3,
        f"{_BOX}.*.httpGet.scheme": "HTTP", f"{_BOX}.*.httpGet.path": "/", f"{_BOX}.*Probe.grpc.service": "",
        f"{_BOX}.env.*.fieldRef.apiVersion": "v1", f"{_BOX}.env.*.divisor": "0", f"{_BOX}.resources.requests.*": _ANY,
        f"{_BOX}.securityContext.procMount": "Default",
    },
    "Service": {
        "spec.type": "ClusterIP", "spec.sessionAffinity": "None", "spec.ports.protocol": "TCP",
        "spec.ports.targetPort": _ANY, "spec.ports.nodePort": _ANY, "spec.externalTrafficPolicy": "Cluster",
        "spec.allocateLoadBalancerNodePorts": True,
    },
    "Secret": {"type": "Opaque"},
    "*WebhookConfiguration": {
        "webhooks.matchPolicy": "Equivalent", "webhooks.timeoutSeconds": 10, "webhooks.failurePolicy": "Fail",
        "webhooks.reinvocationPolicy": "Never", "webhooks.rules.scope": "*", "webhooks.clientConfig.service.port": 443,
    },
    "CustomResourceDefinition": {
        "spec.conversion.strategy": "None", "spec.conversion.webhook.clientConfig.service.port": 443,
        "spec.names.listKind": _ANY, "spec.names.singular": _ANY, "spec.preserveUnknownFields": False,
        "spec.versions.additionalPrinterColumns.priority": 0,
        "spec.versions.schema.openAPIV3Schema*.x-kubernetes-list-type": "atomic",
    },
    "*RoleBinding": {"subjects.apiGroup": _ANY},
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority", "globalDefault": False},
    "NetworkPolicy": {"spec.policyTypes": _ANY, "spec.*gress.ports.protocol": "TCP"},
    "APIService": {"spec.service.port": 443},
    CSV_KIND: {
        "spec.install.spec.deployments.spec.template.spec.*ontainers.ports.protocol": "TCP",
        "spec.webhookdefinitions.containerPort": 443, "spec.cleanup.enabled": False,
    },
    "OperatorGroup": {"spec.upgradeStrategy": "Default"},
}  # fmt: skip
# Fields whose defaults a user may have written, too.
_CHOSEN = ("*.requests.*", "*.topologySpread*", "*.policyTypes")


def without_defaults(old: KubernetesObject, new: KubernetesObject) -> KubernetesObject:
    """Return the content of a cluster without the defaults of fields that the next applied object does not set, as the
    API server sets them again."""
    stripped: KubernetesObject = _stripped(str(old.get("kind")), "", old, new)
    return stripped


def _stripped(kind: str, path: str, old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        below = {key: f"{path}.{key}" if path else str(key) for key in old}
        return {
            key: _stripped(kind, below[key], value, new[key]) if key in new else value
            for key, value in old.items()
            if key in new or not _is_filled_in(kind, below[key], value)
        }
    if isinstance(old, list) and isinstance(new, list):
        named = {item["name"]: item for item in new if isinstance(item, dict) and isinstance(item.get("name"), str)}
        # What has no counterpart is reported as it is.
        beside = new if len(old) == len(new) else old
        return [
            _stripped(kind, path, item, named.get(item.get("name"), other) if isinstance(item, dict) else other)
            for item, other in zip(old, beside, strict=True)
        ]
    return old


def _is_filled_in(kind: str, path: str, value: Any) -> bool:
    if isinstance(value, dict) and value:
        return all(_is_filled_in(kind, f"{path}.{key}", below) for key, below in value.items())
    return not any(fnmatchcase(path, glob) for glob in _CHOSEN) and _is_default(kind, path, value)


def is_default(kind: str, delta: Delta) -> bool:
    """Return whether the new side of a delta has only defaults beyond what the old one says."""
    path = tuple(step for step in delta.path if isinstance(step, str))
    return _adds_defaults(kind, ".".join(path), delta.old, delta.new)


def _adds_defaults(kind: str, path: str, old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = ((f"{path}.{key}", old.get(key, ABSENT), new.get(key, ABSENT)) for key in old.keys() | new.keys())
        return all(_adds_defaults(kind, *pair) for pair in pairs)
    return old == new or (old in (ABSENT, {}, []) and _is_default(kind, path, new))


def _is_default(kind: str, path: str, value: Any) -> bool:
    if isinstance(value, dict) and value:
        return all(_is_default(kind, f"{path}.{key}", below) for key, below in value.items())
    if isinstance(value, list) and value and not all(isinstance(item, str) for item in value):
        return all(_is_default(kind, path, item) for item in value)
    if value in ({}, []):
        return True
    for pattern, defaults in _DEFAULTS.items():
        if fnmatchcase(kind, pattern):
            return any(
                fnmatchcase(path, glob) and (known is _ANY or known == value) for glob, known in defaults.items()
            )
    return False
