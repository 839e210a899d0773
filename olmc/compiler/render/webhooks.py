"""Webhook configurations, API services, and the conversion that CRDs get (R-API-1, R-WH-1 … R-WH-9)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName, namespaced_name
from olmc.compiler.model.operators import (
    CONVERSION,
    CSV_KIND,
    APIServiceDescription,
    Csv,
    OperatorGroup,
    WebhookDescription,
)
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.facts import is_copy_by_metadata, is_terminating
from olmc.compiler.olm.naming import (
    ALONGSIDE,
    OWNER,
    OWNER_KIND,
    OWNER_NAMESPACE,
    WEBHOOK_NAME,
    cleanup_status,
    deep_hash,
    group_annotations,
    gvk_hash,
    managed_labels,
    owner_labels,
    random_suffix,
    stable_group_uid,
)
from olmc.compiler.olm.profiles.data import filled
from olmc.compiler.reconcile.deployments import (
    apiservice_descriptions,
    certificate_objects,
    is_written,
    serving_deployments,
    serving_names,
    servings,
    subscription_config,
)
from olmc.compiler.reconcile.initial_state import NAME_LABEL
from olmc.compiler.reconcile.operator_groups import written_spec
from olmc.compiler.reconcile.requirements import RequirementContext, predecessors
from olmc.k8s.api.rbac_access import access
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.api.selectors import is_label_value
from olmc.k8s.diagnostics import Place, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    apiservice_key,
    crd_key,
    labels_of,
    mapping,
    object_key,
    spec_of,
    status_of,
    texts,
)

# The input of the passes: the settled cluster, and the final CSVs.


class RenderContext(NamedTuple):
    """The settled cluster and what passes derive from it more than once.

    `csvs` are the CSVs as they stand in the cluster, with the group's annotations, labels and status.
    """

    cluster: Cluster
    options: Options
    requirement_context: RequirementContext
    csvs: Mapping[NamespacedName, KubernetesObject]

    @property
    def profile(self) -> Profile:
        """The formats of the OLM that runs in the cluster."""
        return self.cluster.profile

    def installed(self) -> Iterator[tuple[CsvState, KubernetesObject]]:
        """The members whose install strategy was carried out, at least in part, with their final CSVs.

        A CSV comes before those that it replaces: what both write is as the newer one wrote it (R-DEP-1).
        """
        written = [(name, member) for name, member in self.cluster.members.items() if member.installation is not None]
        for name, member in sorted(written, key=lambda item: (self._age(item[1]), item[0])):
            yield member, self.csvs[name]

    def _age(self, member: CsvState) -> tuple[bool, int]:
        """Greater for a CSV that is being replaced, and the greater the fewer others that one replaces itself."""
        if member.phase not in ("Replacing", "Deleting"):
            return False, 0
        return True, -len(predecessors(member.csv, self.cluster.csvs))


Pass = Callable[[RenderContext], Iterator[Rendered]]


def rendered(
    obj: KubernetesObject, stage: str, rule: str, source: Source | None, *keys: str | int, origin: Origin = Origin.OLM
) -> Rendered:
    """An object with where it comes from: the place in the input, the pass, the rule, and how it came to be."""
    return Rendered(obj, Provenance(Place(source, keys) if source else None, stage, rule, origin))


def group_uid_label(profile: Profile, group: OperatorGroup) -> dict[str, str]:
    """The label on a group's target namespaces (R-OG-19), none before there was one; the uid is the same wherever it
    appears."""
    uid = group.object["metadata"].get("uid") or stable_group_uid(group.namespace, group.name)
    return {profile.namespace_og_label.format(og_uid=uid): ""} if profile.namespace_og_label else {}


def provided_labels(profile: Profile, csv: Csv) -> dict[str, str]:
    """The labels of a CSV for the APIs that it provides and requires."""
    template = profile.csv_label_olm_api
    # OLM still means to write them, but since 0.19 a slip keeps it from doing so (R-CSV-2).
    if not template:
        return {}
    labels: dict[str, str] = {}
    # Provided ones come last, as an API that a CSV provides and requires counts as provided.
    for apis, value in ((csv.required_apis, "required"), ([owned.key for owned in csv.owned_apis], "provided")):
        for api in apis:
            labels[template.format(api=api.dotted, apihash=gvk_hash(*api))] = value
    return labels


def render_context(cluster: Cluster, options: Options) -> RenderContext:
    """Prepare the passes' view of a settled cluster."""
    requirement_context = RequirementContext(
        cluster.profile,
        cluster.objects,
        access(cluster.objects),
        cluster.csvs,
        {},
        options.kube_version,
        frozenset(options.apis),
        options.api_resources,
    )
    csvs = {name: _final_csv(member, cluster) for name, member in sorted(cluster.members.items())}
    return RenderContext(cluster, options, requirement_context, csvs)


def _final_csv(member: CsvState, cluster: Cluster) -> KubernetesObject:
    """A CSV with finalizer, annotations, component labels and status (R-CSV-1, R-OG-10, R-COMP-3, R-CSV-29)."""
    obj = member.csv.object
    metadata = dict(obj["metadata"])
    annotations = dict(member.csv.annotations)
    if not is_copy_by_metadata(member.csv.object):
        # OLM annotates every CSV of a namespace before it checks whether it can be a member of the group (R-OG-10).
        # Several groups overwrite each other's annotations without end; olmc shows one of them.
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go
        groups = cluster.groups_in(member.csv.namespace)
        known = [group for group in groups if group.name == annotations.get("olm.operatorGroup")]
        # A group that comes second finds the CSV failed, which keeps the annotations that it has (observed-52).
        for group in known or groups[-1:]:
            annotations |= group_annotations(cluster.profile, group)
    if annotations:
        metadata["annotations"] = annotations
    labels = {**member.csv.labels, **provided_labels(cluster.profile, member.csv)}
    labels = {**dict.fromkeys(cluster.adopted.get(namespaced_name(member.csv), ()), ""), **labels}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if cluster.profile.csv_finalizer:
        others = [name for name in texts(metadata.get("finalizers")) if name != cluster.profile.csv_finalizer]
        # OLM has taken its own away from one that waits for others, unless it can't select what it deletes (R-CSV-1).
        is_done = bool(others) and is_terminating(obj) and not is_label_value(member.csv.name)
        metadata["finalizers"] = [*others, *([] if is_done else [cluster.profile.csv_finalizer])]
    final = {**obj, "metadata": metadata}
    # A CSV that OLM leaves alone has no status at all (R-CSV-6, R-OG-12).
    return {**final, "status": csv_status(member, cluster.profile)} if member.phase else final


def csv_status(member: CsvState, profile: Profile) -> dict[str, Any]:
    """The status of a CSV (R-CSV-29), without times."""
    status: dict[str, Any] = {
        "phase": member.phase,
        "message": member.message,
        "reason": member.reason,
        # OLM adds times to each; they would differ from run to run and come from no input (R-CSV-28).
        "conditions": [{"phase": p, "message": m, "reason": r} for p, r, m in member.history],
        **cleanup_status(profile),
    }
    if member.requirements:
        status["requirementStatus"] = [dict(item) for item in member.requirements]
    return status


STAGE = "webhooks"
_ADMISSION_GROUP = "admissionregistration.k8s.io"
ADMISSION = f"{_ADMISSION_GROUP}/v1"
_IDENTIFYING = frozenset((OWNER, OWNER_KIND, OWNER_NAMESPACE, WEBHOOK_NAME))

_KINDS = {
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
}
_COPIED = ("rules", "failurePolicy", "matchPolicy", "objectSelector", "sideEffects", "timeoutSeconds")
# The API server cuts a generateName here, so that name and suffix have 63 characters at the most (R-WH-3).
_GENERATED_NAME_BASE = 58


def apiservices(context: RenderContext) -> Iterator[Rendered]:
    """The API services that CSVs own (R-API-1).

    >>> beacon = {"name": "beacon.v1.0.0", "serves": ["Gauge"]}
    >>> show(apiservices, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "spec.service", "spec.caBundle")
    APIService/v1.beacon.example.com
      service: {namespace: ns, name: beacon-controller-service, port: 443}
    """
    for member, _ in context.installed():
        # OLM writes API services after each Deployment, so a strategy without any never gets to them (R-API-2).
        written = apiservice_descriptions(member.csv)[: member.progress.apiservices]
        for item in written if member.progress.deployments else ():
            if item in member.csv.owned_apiservices:
                yield rendered(_apiservice(context, member, item), "apiservices", "R-API-1", member.csv.source)


def _apiservice(context: RenderContext, member: CsvState, item: APIServiceDescription) -> KubernetesObject:
    csv, name = member.csv, item.service_name
    existing = context.cluster.objects.get(apiservice_key(name))
    profile = context.profile
    labels = {**managed_labels(profile.csv_label_managed), **owner_labels(profile, csv.name, csv.namespace)}
    if existing is not None:
        return _adopt(existing.object, labels, _apiservice_backend(context.profile, csv.namespace, item))
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    # Only on creation: what was there keeps its own annotations (R-API-1).
    annotations = subscription_config(context.cluster, csv, replaced=member.phase == "Replacing").get("annotations")
    if annotations:
        metadata["annotations"] = dict(annotations)
    spec = {
        "caBundle": "",
        "group": item.group,
        "groupPriorityMinimum": 2000,
        "service": _apiservice_backend(profile, csv.namespace, item),
        "version": item.version,
        "versionPriority": 15,
    }
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}


def _apiservice_backend(profile: Profile, namespace: str, item: APIServiceDescription) -> dict[str, Any]:
    service = serving_names(profile, item.deployment, item)["service"]
    port = {"port": item.port} if profile.cert_apiservice_port else {}
    return {"namespace": namespace, "name": service, **port}


def _adopt(obj: KubernetesObject, labels: Mapping[str, str], backend: Mapping[str, Any]) -> KubernetesObject:
    """An API service that was there: it keeps its priorities and annotations."""
    metadata = {**obj["metadata"], "labels": {**labels_of(obj), **labels}}
    return {**obj, "metadata": metadata, "spec": {**spec_of(obj), "caBundle": "", "service": backend}}


def webhooks(context: RenderContext) -> Iterator[Rendered]:
    """The configurations of validating and mutating webhooks (R-WH-3).

    >>> beacon = {"name": "beacon.v1.0.0", "webhooks": [{"generateName": "vbeacon.example.com"}]}
    >>> workspace = {"groups": {"ns/og": "own"}, "operators": [beacon]}
    >>> show(webhooks, workspace, "webhooks.0.clientConfig", "webhooks.0.namespaceSelector")
    ValidatingWebhookConfiguration/vbeacon.example.com-...
      clientConfig: {service: {namespace: ns, name: beacon-controller-service, port: 443}, caBundle: ''}
      namespaceSelector: {matchLabels: {olm.operatorgroup.uid/cda27ab5-d9ab-5ab1-a5dd-afd9fdfd81cd: ''}}
    """
    for member, _ in context.installed():
        for index, item in enumerate(member.csv.webhooks[: member.progress.webhooks]):
            # A conversion webhook is no object by itself: it becomes part of the CRD, see `crds` (R-WH-8).
            if item.type in _KINDS and member.group is not None:
                obj = _configuration(context.profile, member, namespace_selector(context, member.group), item)
                obj = _keep_name(obj, context.cluster.objects)
                there = edited(context, member, object_key(obj))
                obj = there.object if there is not None else obj
                keys = ("spec", "webhookdefinitions", index)
                yield rendered(obj, STAGE, "R-WH-3", member.csv.source, *keys)


def _configuration(
    profile: Profile, member: CsvState, selector: Mapping[str, Any] | None, item: WebhookDescription
) -> KubernetesObject:
    csv, base = member.csv, item.name
    digest = deep_hash("WebhookDescription", item.object)
    labels = filled(profile.webhook_labels, csv=csv.name, csv_ns=csv.namespace, generateName=base, hash=digest)
    kind = _KINDS[item.type]
    obj: KubernetesObject = {
        "apiVersion": ADMISSION,
        "kind": kind,
        "metadata": {"generateName": f"{base}-", "labels": dict(sorted(labels.items()))},
        "webhooks": [_entry(profile, member, selector, item)],
    }
    # In a cluster the API server adds five characters by chance; ours come from the content, the same in every run
    # (D3).
    discriminator = json.dumps(obj, sort_keys=True, separators=(",", ":"))
    suffix = random_suffix(f"{ADMISSION}|{kind}||{base}-|{discriminator}")
    obj["metadata"] = {"name": f"{base}-"[:_GENERATED_NAME_BASE] + suffix, **obj["metadata"]}
    return obj


def is_left_alone(context: RenderContext, member: CsvState) -> bool:
    """Return whether OLM only looks at a CSV that works, and writes nothing of what it installed (observed-82)."""
    csv, state = member.csv, context.options.state
    known = state.objects.get(ObjectKey(OLM_GROUP, CSV_KIND, csv.namespace, csv.name)) if state is not None else None
    if known is None or status_of(known.object).get("phase") != "Succeeded" or not member.succeeded:
        return False
    return is_written(csv, context.cluster, context.options) and not any(reinstalls(context, csv))


def edited(context: RenderContext, member: CsvState, key: ObjectKey) -> Rendered | None:
    """An object of a CSV that is left alone, as a tool leaves it that applies a manifest of its name (observed-91).

    None if there is none, or if OLM writes it.
    """
    state, stored = context.options.state, context.cluster.objects.get(key)
    before = state.objects.get(key) if state is not None else None
    if state is None or stored is None or before is None or key.kind == "Secret":
        return None
    is_theirs = key in state.applied or before.object != stored.object
    return stored if is_theirs and is_left_alone(context, member) else None


def reinstalls(context: RenderContext, csv: Csv) -> Iterator[bool]:
    """Return whether OLM misses something of a CSV that works, one after the other: a certificate, what serves an API
    service, the configuration of a webhook, or a conversion."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2369-L2427
    objects, profile = context.cluster.objects, context.profile
    owned = {item.deployment for item in csv.owned_apiservices}
    for item in csv.owned_apiservices:
        yield apiservice_key(item.service_name) not in objects
    for serving in servings(profile, csv):
        of_api = serving.deployment.name in owned
        parts = [object_key(obj) for obj in certificate_objects(profile, csv, serving)]
        yield any(key not in objects for key in parts if of_api or key.kind == "Secret")
    for webhook in csv.webhooks:
        if webhook.type == CONVERSION:
            crds = (objects.get(crd_key(name)) for name in webhook.converted_crds)
            yield any(crd is None or Crd(crd.object).conversion.get("strategy") != "Webhook" for crd in crds)
        else:
            yield not _is_configured(context, csv, webhook)


def _is_configured(context: RenderContext, csv: Csv, item: WebhookDescription) -> bool:
    """Return whether the cluster has a configuration for a validating or mutating webhook, by the hash of its
    description."""
    digest = deep_hash("WebhookDescription", item.object)
    labels = filled(
        context.profile.webhook_labels, csv=csv.name, csv_ns=csv.namespace, generateName=item.name, hash=digest
    )
    part = context.cluster.objects.within((_ADMISSION_GROUP, _KINDS.get(item.type, "")))
    return any(labels.items() <= labels_of(stored.object).items() for stored in part.values())


def removed_webhooks(context: RenderContext, csv: Csv) -> Iterator[ObjectKey]:
    """The configurations of a CSV for webhooks that it has no more, which OLM deletes (observed-92)."""
    owner, names = owner_labels(context.profile, csv.name, csv.namespace).items(), {item.name for item in csv.webhooks}
    for kind in sorted(_KINDS.values()):
        for key, stored in context.cluster.objects.within((_ADMISSION_GROUP, kind)).items():
            labels = labels_of(stored.object)
            if owner <= labels.items() and WEBHOOK_NAME in labels and labels[WEBHOOK_NAME] not in names:
                yield key


def _keep_name(obj: KubernetesObject, objects: Mapping[ObjectKey, Rendered]) -> KubernetesObject:
    """The configuration under the name of the one that exists for the same CSV and generateName, if any (R-WH-3)."""
    labels = obj["metadata"]["labels"]
    identifying = {key: value for key, value in labels.items() if key in _IDENTIFYING}.items()
    if len(identifying) != len(_IDENTIFYING):
        return obj
    for identity, stored in objects.items():
        existing, known = stored.object["metadata"], labels_of(stored.object)
        if identity.kind == obj["kind"] and identity.group == _ADMISSION_GROUP and identifying <= known.items():
            return {**obj, "metadata": {**existing, "labels": dict(sorted({**known, **labels}.items()))}}
    return obj


def _entry(
    profile: Profile, member: CsvState, selector: Mapping[str, Any] | None, item: WebhookDescription
) -> dict[str, Any]:
    """R-WH-4."""
    client: dict[str, Any] = {"service": _client_service(profile, member.csv.namespace, item)}
    if item.deployment in serving_deployments(member.csv):
        client["caBundle"] = ""
    entry: dict[str, Any] = {"name": item.name, "clientConfig": client}
    given = item.object
    # Fields that the CSV leaves open stay open: defaults are the API server's (R-WH-4, U-12).
    for key in _COPIED:
        if given.get(key) is not None:
            entry[key] = given[key]
    if selector is not None:
        entry["namespaceSelector"] = dict(selector)
    if given.get("admissionReviewVersions"):
        entry["admissionReviewVersions"] = given["admissionReviewVersions"]
    if item.type == "MutatingAdmissionWebhook" and given.get("reinvocationPolicy"):
        entry["reinvocationPolicy"] = given["reinvocationPolicy"]
    return entry


def _client_service(profile: Profile, namespace: str, item: WebhookDescription) -> dict[str, Any]:
    """Dots of the Deployment's name become dashes here, though its Service keeps them (R-WH-4, Q-9)."""
    deployment = item.deployment.replace(".", "-")
    service: dict[str, Any] = {"namespace": namespace, "name": serving_names(profile, deployment)["service"]}
    if item.object.get("webhookPath"):
        service["path"] = item.object["webhookPath"]
    return service if profile.webhook_admission == "no port" else {**service, "port": item.port}


def namespace_selector(context: RenderContext, group: OperatorGroup) -> dict[str, Any] | None:
    """Return the selector of namespaces for the webhooks of a member (R-WH-1).

    Without OLM the targets have no labels of groups. The label with its name, which every namespace has, selects them.
    """
    targets = [name for name in group.targets if name]
    if targets and context.options.purpose == "apply":
        return {"matchExpressions": [{"key": NAME_LABEL, "operator": "In", "values": targets}]}
    # By the label of the group and not by names, so that the configuration stays as it is when targets change (R-WH-1).
    if group.spec.get("targetNamespaces"):
        return {"matchLabels": group_uid_label(context.profile, group)}
    selector: dict[str, Any] | None = written_spec(group.spec).get("selector")
    return selector


def crds(context: RenderContext) -> Iterator[Rendered]:
    """All CRDs, with the conversion that webhooks bring (R-WH-8).

    >>> webhook = {"type": "ConversionWebhook", "conversionCRDs": ["beacons.beacon.example.com"]}
    >>> beacon = {"name": "beacon.v1.0.0", "modes": ["All"], "owned": ["Beacon"], "webhooks": [webhook]}
    >>> show(crds, {"groups": {"ns/og": "all"}, "operators": [beacon]}, "spec.conversion.webhook.clientConfig")
    CustomResourceDefinition/beacons.beacon.example.com
      clientConfig: {service: {namespace: ns, name: beacon-controller-service, ..., path: /}, caBundle: ''}
    """
    conversions = dict(_conversions(context))
    for identity, stored in context.cluster.objects.items():
        if identity.kind != CRD_KIND:
            continue
        obj = _stored_crd(stored.object)
        if identity in conversions:
            obj["spec"] = {**spec_of(obj), "conversion": conversions[identity]}
        yield stored._replace(object=obj)


def _stored_crd(crd: KubernetesObject) -> KubernetesObject:
    """A CRD, with the versions that objects may be stored in where its spec alone does not tell them: what comes later
    may not drop any (R-CAT-723, R-CAT-724)."""
    obj = {key: value for key, value in crd.items() if key != "status"}
    versions = Crd(crd).stored_versions
    return obj if versions == Crd(obj).stored_versions else {**obj, "status": {"storedVersions": versions}}


def _conversions(context: RenderContext) -> Iterator[tuple[ObjectKey, dict[str, Any]]]:
    """The conversion of each CRD that a webhook converts, or an admission webhook says so; the last one stays."""
    yield from _former_conversions(context)
    # `installed` has a CSV before those that it replaces, and what the newer one writes is what stays.
    for member, _ in reversed(list(context.installed())):
        for item, names in _written_conversions(context.profile, member):
            for name in names:
                key = crd_key(name)
                if item.type == CONVERSION:
                    yield key, _conversion(context.profile, member.csv.namespace, item)
                elif key in context.cluster.objects:
                    yield from _redirect(context, member, item, key)


def _written_conversions(profile: Profile, member: CsvState) -> Iterator[tuple[WebhookDescription, tuple[str, ...]]]:
    """The webhooks of a CSV that were written and convert, each with the CRDs that it got to."""
    progress = member.progress
    for index, item in enumerate(member.csv.webhooks[: progress.webhooks + (progress.conversions > 0)]):
        # OLM 0.16.1 knew no webhooks for conversion alone: an admission webhook took over what the CRD had.
        if item.type == CONVERSION or profile.webhook_conversion == "conversionCRDs":
            is_whole = index < progress.webhooks
            yield item, tuple(item.converted_crds[: None if is_whole else progress.conversions])


def _former_conversions(context: RenderContext) -> Iterator[tuple[ObjectKey, dict[str, Any]]]:
    """The conversion of CRDs that no later version ships: OLM takes back none of a CSV that was replaced (R-WH-8)."""
    for member in context.cluster.replaced:
        for item, names in _written_conversions(context.profile, member):
            for name in names if item.type == CONVERSION else ():
                stored = context.cluster.objects.get(crd_key(name))
                installers = annotations_of(stored.object).items() if stored is not None else ()
                own = str(namespaced_name(member.csv))
                if any(key.startswith(ALONGSIDE) and value == own for key, value in installers):
                    yield crd_key(name), _conversion(context.profile, member.csv.namespace, item)


def _conversion(profile: Profile, namespace: str, item: WebhookDescription) -> dict[str, Any]:
    service = _client_service(profile, namespace, item)
    service = {**service, "path": service.get("path") or "/"}
    webhook = {
        "clientConfig": {"service": service, "caBundle": ""},
        "conversionReviewVersions": texts(item.object.get("admissionReviewVersions")),
    }
    return {"strategy": "Webhook", "webhook": webhook}


def _redirect(
    context: RenderContext, member: CsvState, item: WebhookDescription, key: ObjectKey
) -> Iterator[tuple[ObjectKey, dict[str, Any]]]:
    """The conversion that a CRD has, with the admission webhook's Service; nothing if it doesn't convert by webhook."""
    crd = Crd(context.cluster.objects[key].object)
    if crd.conversion.get("strategy") == "Webhook":
        # Only the Service is OLM's; path and port are as the CRD has them.
        client_service = _client_service(context.profile, member.csv.namespace, item)
        ours = {name: client_service[name] for name in ("namespace", "name")}
        service = {**mapping(crd.client_config.get("service")), **ours}
        client = {**crd.client_config, "service": service, "caBundle": ""}
        yield key, {**crd.conversion, "webhook": {**mapping(crd.conversion.get("webhook")), "clientConfig": client}}
