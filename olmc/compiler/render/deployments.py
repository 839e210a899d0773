"""Render the workloads of operators: Deployments, OperatorConditions, and serving certificates (R-DEP-1 … R-DEP-11,
R-OC-1, R-OC-2, R-CERT-1 … R-CERT-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import CsvState
from olmc.compiler.model.operators import Csv, StrategyDeployment
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import condition_accounts, has_copy_label
from olmc.compiler.olm.naming import (
    csv_reference,
    deployment_spec_hash,
    is_known_by_label,
    owner_labels,
    owner_reference,
    with_labels,
)
from olmc.compiler.reconcile.deployments import (
    SPEC_HASH,
    Config,
    auth_reader,
    certificate_objects,
    is_applied,
    is_certificate,
    is_written,
    service_of_others,
    serving_deployments,
    servings,
    subscription_config,
    written_deployment,
)
from olmc.compiler.reconcile.install_plans import written_steps
from olmc.compiler.reconcile.loop import deleted_deployments
from olmc.compiler.reconcile.phases import observed_conditions
from olmc.compiler.render.webhooks import RenderContext, edited, is_left_alone, reinstalls, removed_webhooks, rendered
from olmc.k8s.objects import (
    OLM_GROUP,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    Rendered,
    annotations_of,
    labels_of,
    namespace_of,
    object_key,
    spec_of,
    status_of,
)

STAGE = "deployments"


def deployments(context: RenderContext) -> Iterator[Rendered]:
    """The Deployments that were written and not deleted since, in the order of the strategy.

    >>> workspace = {"groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(deployments, workspace, "metadata.labels", "spec.template.metadata.annotations")
    Deployment/ns/beacon-controller
      labels: {olm.deployment-spec-hash: ..., olm.managed: 'true', olm.owner: beacon.v1.0.0, ...}
      annotations: {olm.operatorGroup: og, olm.operatorNamespace: ns, olm.targetNamespaces: docks, ...}
    """
    deleted = frozenset(deleted_deployments(context.cluster))
    for member, _ in context.installed():
        # Of two with one name the second overwrites the first.
        written = member.csv.deployments[: member.progress.deployments]
        latest = {item.name: index for index, item in enumerate(written)}
        config = subscription_config(context.cluster, member.csv, replaced=member.phase in ("Replacing", "Deleting"))
        for index in latest.values():
            keys = ("spec", "install", "spec", "deployments", index)
            deployment = _deployment(context, member, member.csv.deployments[index], config)
            if object_key(deployment) not in deleted:
                yield rendered(deployment, STAGE, "R-DEP-1", member.csv.source, *keys)


def _deployment(context: RenderContext, member: CsvState, item: StrategyDeployment, config: Config) -> KubernetesObject:
    """One Deployment as it is stored: with the hash of what OLM wrote, and what the API server makes of that."""
    deployment = written_deployment(context.cluster, context.options, member.csv, item, config)
    metadata, spec = deployment["metadata"], deployment["spec"]
    # OLM hashes what it sends, before the API server adds defaults (R-DEP-8). A serving Deployment holds the hash of a
    # CA that OLM makes again in every cluster, so the hash over it is unknown beforehand (R-DEP-10).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/deployment.go#L93-L191
    if context.profile.deploy_label_spec_hash:
        serving = metadata["name"] in serving_deployments(member.csv)
        labels = {**metadata["labels"], SPEC_HASH: "" if serving else deployment_spec_hash(context.profile, spec)}
        metadata = {**metadata, "labels": dict(sorted(labels.items()))}
    template = {**spec["template"], "spec": _with_new_account_field(spec["template"]["spec"])}
    stored = {**deployment, "metadata": metadata, "spec": {**spec, "template": template}}
    there = context.cluster.objects.get(object_key(stored))
    return _left_alone(there.object, stored) if there is not None else stored


def _left_alone(there: KubernetesObject, stored: KubernetesObject) -> KubernetesObject:
    """The Deployment that is there, where its CSV finds nothing to do: somebody may have changed it since.

    OLM holds the label with the hash against the one of what it would write, and looks at nothing else (R-DEP-8).
    """
    old, new = labels_of(there), labels_of(stored)
    same = bool(new.get(SPEC_HASH)) and all(old.get(label) == new.get(label) for label in (SPEC_HASH, "olm.owner"))
    if not same or "spec" not in there:
        return stored
    return {**stored, "metadata": {**stored["metadata"], "labels": {**old, **new}}, "spec": there["spec"]}


def _with_new_account_field(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The API server copies the deprecated field for the service account to the one that replaced it.

    It does so when a Deployment is stored, but not in the CSV, where it is no pod: so the hash is without it.
    """
    account = pod.get("serviceAccount")
    return {**pod, "serviceAccountName": account} if account and not pod.get("serviceAccountName") else dict(pod)


CONDITIONS_STAGE = "conditions"


def conditions(context: RenderContext) -> Iterator[Rendered]:
    """Render an OperatorCondition, a Role and a RoleBinding for each CSV without the label of a copy, in any phase.

    OLM looks at the label alone here, so one that only its annotation makes a copy has them (observed-27).

    >>> show(conditions, {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}, "spec", "rules.0", "subjects")
    OperatorCondition/ns/beacon.v1.0.0
      spec: {deployments: [beacon-controller], serviceAccounts: [default]}
    Role/ns/beacon.v1.0.0
      0: {verbs: [get, update, patch], ..., resources: [operatorconditions], resourceNames: [beacon.v1.0.0]}
    RoleBinding/ns/beacon.v1.0.0
      subjects: [{kind: ServiceAccount, name: default}]
    """
    for _, csv in sorted(context.cluster.csvs.items()):
        for obj in () if has_copy_label(csv.object) else _condition_objects(csv, context.profile):
            existing = context.cluster.objects.get(object_key(obj))
            if existing is not None and obj["kind"] != "OperatorCondition":
                yield existing._replace(object=_take_over_rbac(existing.object, obj))
                continue
            if existing is not None:
                state = context.options.state
                before = state.objects.get(object_key(obj)) if state is not None else None
                obj = _take_over(existing.object, obj, before.object if before is not None else {})
            yield rendered(obj, CONDITIONS_STAGE, "R-OC-1", csv.source, origin=Origin.OPERATOR_CONDITION)


def _take_over(existing: KubernetesObject, new: KubernetesObject, before: KubernetesObject) -> KubernetesObject:
    """An OperatorCondition that is there before its CSV, once OLM has made it the CSV's (before-states of 23a, 23b)."""
    metadata, owners = existing["metadata"], new["metadata"]["ownerReferences"]
    # Conditions and overrides are not OLM's to write, and they may be the reason why it is there already (observed-50).
    spec = {**spec_of(existing), **new["spec"]}
    taken = {**existing, "metadata": {**metadata, "ownerReferences": owners}, "spec": spec}
    observed = observed_conditions(existing, before)
    return {**taken, "status": {**status_of(existing), "conditions": observed}} if observed else taken


def _take_over_rbac(existing: KubernetesObject, new: KubernetesObject) -> KubernetesObject:
    """The Role or the RoleBinding of an OperatorCondition where there is one: OLM writes rules, subjects and owners.

    One without the label of OLM is replaced as a whole, and no RoleBinding can change its roleRef (R-OC-2).
    """
    if new.get("roleRef") != existing.get("roleRef"):
        return existing
    if not is_known_by_label(existing, new):
        return new
    metadata = {**existing["metadata"], "ownerReferences": new["metadata"]["ownerReferences"]}
    return {**existing, **new, "metadata": metadata}


def _condition_objects(csv: Csv, profile: Profile) -> Iterator[KubernetesObject]:
    if not profile.operatorcondition:
        return
    accounts = condition_accounts(csv)
    yield {
        "apiVersion": profile.operatorcondition,
        "kind": "OperatorCondition",
        "metadata": {
            "name": csv.name,
            "namespace": csv.namespace,
            "ownerReferences": [csv_reference(csv.name, controller=True)],
        },
        "spec": {"deployments": [deployment.name for deployment in csv.deployments], "serviceAccounts": accounts},
    }
    owner = owner_reference(profile.operatorcondition, "OperatorCondition", csv.name, controller=True)
    role = profile.operatorcondition_role
    metadata = with_labels({"name": csv.name, "namespace": csv.namespace}, role["labels"])
    metadata["ownerReferences"] = [owner]
    rules = [
        {"verbs": verbs, "apiGroups": [OLM_GROUP], "resources": [resource], "resourceNames": [csv.name]}
        for verbs, resource in role["rules"]
    ]
    yield {"apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": RBAC_V1,
        "kind": "RoleBinding",
        "metadata": metadata,
        # No namespace: in a RoleBinding an account without one is of the namespace of the binding (R-OC-2).
        "subjects": [{"kind": "ServiceAccount", "name": account} for account in accounts],
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": csv.name},
    }


CERTIFICATES_STAGE = "certificates"


def certificates(context: RenderContext) -> Iterator[Rendered]:
    """Service, Secret and RBAC of everything that serves (R-CERT-2).

    >>> beacon = {"name": "beacon.v1.0.0", "webhooks": [{"generateName": "vbeacon.example.com"}]}
    >>> show(certificates, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "spec.ports", "data")
    Service/ns/beacon-controller-service
      ports: [{name: '443', port: 443, targetPort: 443}]
    Secret/ns/beacon-controller-service-cert
      data: {olmCAKey: '', tls.crt: '', tls.key: ''}
    Role/ns/beacon-controller-service-cert
    RoleBinding/ns/beacon-controller-service-cert
    ClusterRoleBinding/beacon-controller-service-system:auth-delegator
    RoleBinding/kube-system/beacon-controller-service-auth-reader
    """
    for member, _ in context.installed():
        left = member.progress.certificates
        for serving in servings(context.profile, member.csv):
            keys = ("spec", "install", "spec", "deployments", member.csv.deployments.index(serving.deployment))
            service = service_of_others(
                member.csv.namespace, serving.names["service"], context.cluster, context.options
            )
            made = [*certificate_objects(context.profile, member.csv, serving, service)]
            wanted, left = made[:left], None if left is None else max(left - len(made), 0)
            for obj in wanted:
                if edited(context, member, object_key(obj)) is not None:
                    continue  # it is among the objects that stay
                if not _stays(context, member.csv, obj) and not _is_not_recreated(context, member, obj):
                    merged = _server_side_applied(context, obj)
                    yield rendered(
                        merged, CERTIFICATES_STAGE, "R-CERT-2", member.csv.source, *keys, origin=Origin.CERTIFICATE
                    )
    for replaced in context.cluster.replaced:
        for obj in _left_behind(context, replaced.csv):
            yield rendered(obj, CERTIFICATES_STAGE, "R-CERT-2", replaced.csv.source, origin=Origin.CERTIFICATE)


def _stays(context: RenderContext, csv: Csv, obj: KubernetesObject) -> bool:
    """Return whether what is there stays: a Secret, or a Service of the bundle, which overwrites the one made here."""
    # OLM uses a Secret that is there again, if its certificate still holds; and a Service of the bundle comes later
    # (R-CERT-3, observed-24).
    key = ObjectKey("", obj["kind"], namespace_of(obj), obj["metadata"]["name"])
    existing = context.cluster.objects.get(key)
    if existing is None or (key.kind == "Secret" and existing.provenance.origin is not Origin.MANIFEST):
        return existing is not None
    if key.kind == "Secret":
        return is_certificate(existing.object) or context.options.purpose == "apply"
    if existing.provenance.origin is not Origin.MANIFEST:
        return True
    # In a cluster that goes on, the plan that brought it tells.
    plans = context.cluster.plans.within(csv.namespace).values()
    return any((key.kind, key.name) in written_steps(plan) for plan in plans if csv.name in plan.csvs)


def _server_side_applied(context: RenderContext, obj: KubernetesObject) -> KubernetesObject:
    """Return the object that OLM applies, with the labels and annotations that others have given to it."""
    key = object_key(obj)
    existing = context.cluster.objects.get(key)
    if existing is None or not is_applied(key):
        return obj
    metadata = with_labels(obj["metadata"], {**labels_of(existing.object), **labels_of(obj)})
    if annotations := annotations_of(existing.object):
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}


def _is_not_recreated(context: RenderContext, member: CsvState, obj: KubernetesObject) -> bool:
    """Return whether an object was deleted that OLM only makes along with an installation, and nothing makes it install
    again (observed-82)."""
    key, state = object_key(obj), context.options.state
    if state is None or key in context.cluster.objects or key.kind == "Secret":
        return False
    # A dump that lacks a kind altogether was taken without it.
    if not state.is_whole and not any((each.kind, each.group) == (key.kind, key.group) for each in state.objects):
        return False
    return is_left_alone(context, member)


def cleaned_up(context: RenderContext) -> Iterator[ObjectKey]:
    """Yield the objects that OLM deletes for a changed CSV that works: the configurations of webhooks that it lacks,
    and Deployments that its strategy lacks, once it installs again (observed-92)."""
    for member, _ in context.installed() if context.options.state is not None else ():
        csv, profile = member.csv, context.profile
        owner = owner_labels(profile, csv.name, csv.namespace).items()
        if not member.succeeded or not owner:
            continue
        yield from removed_webhooks(context, csv)
        kept = {deployment.name for deployment in csv.deployments}
        orphans = [
            key for key, stored in context.cluster.objects.within(("apps", "Deployment")).items()
            if key.namespace == csv.namespace and key.name not in kept and owner <= labels_of(stored.object).items()
        ]  # fmt: skip
        if orphans and (not is_written(csv, context.cluster, context.options) or any(reinstalls(context, csv))):
            yield from orphans


def _left_behind(context: RenderContext, csv: Csv) -> Iterator[KubernetesObject]:
    """The RoleBinding in kube-system has no owner and stays, unless the present CSV has it too."""
    profile = context.profile
    present = {other.names["reader"] for member, _ in context.installed() for other in servings(profile, member.csv)}
    for serving in servings(profile, csv):
        if serving.names["reader"] not in present:
            yield auth_reader(profile, csv, serving)
