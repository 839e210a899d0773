"""Carrying out an install strategy: with whose rights, what stops it, and how far it gets (R-CSV-15b … R-CSV-20,
R-WH-2 … R-WH-9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import (
    ByNamespace,
    Cluster,
    CsvState,
    NamespacedName,
    StrategyProgress,
    namespaced_name,
)
from olmc.compiler.model.operators import CONVERSION, Csv, OperatorGroup, WebhookDescription
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.naming import MANAGED, WEBHOOK_NAME, group_annotations, owner_labels
from olmc.compiler.reconcile.deployments import (
    Serving,
    apiservice_descriptions,
    applied_service,
    certificate_objects,
    existing_deployment,
    is_applied,
    is_certificate,
    is_written,
    refusal,
    service_of_others,
    serving_deployments,
    serving_descriptions,
    serving_names,
    servings,
    subscription_config,
    template_annotations,
    written_deployment,
)
from olmc.compiler.reconcile.operator_groups import Failure, account_exists
from olmc.compiler.reconcile.requirements import owned_by_others, predecessors
from olmc.k8s.api.rbac import decode_rules
from olmc.k8s.api.rbac_access import Access, access_refusal, escalation_refusal
from olmc.k8s.api.restmapper import BUILTIN, Crd
from olmc.k8s.api.selectors import is_label_value
from olmc.k8s.api.validation.field import Path, invalid_text
from olmc.k8s.api.validation.objects import update_errors
from olmc.k8s.api.validation.webhooks import webhook_errors
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    OLM_GROUP,
    RBAC,
    RBAC_V1,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    Origin,
    PolicyRule,
    Provenance,
    Rendered,
    Request,
    Subject,
    annotations_of,
    apiservice_key,
    crd_key,
    gvk_of,
    labels_of,
    mapping,
    name_of,
    object_key,
    texts,
)
from olmc.k8s.strconv import minor_of, quoted

_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"
# Since Kubernetes 1.24 a new ServiceAccount gets no Secret any more, and before 0.29 OLM did not ask for a token.
_WITHOUT_SECRETS = 24


def missing_token(
    namespace: str, account: str, objects: Mapping[ObjectKey, Rendered], kube_version: str, profile: Profile
) -> str:
    """Return why OLM can't act as the account of a group, in its words; "" if it can, or need not."""
    if not account or profile.account_token != "secret" or minor_of(kube_version) < _WITHOUT_SECRETS:
        return ""
    if any(_is_token(rendered.object, namespace, account) for rendered in objects.values()):
        return ""
    return f"the service account does not have any API secret sa={namespace}/{account}"


def _is_token(obj: KubernetesObject, namespace: str, account: str) -> bool:
    """Return whether an object is a Secret that Kubernetes fills with a token of an account."""
    if obj["kind"] != "Secret" or obj.get("type") != _TOKEN or obj["metadata"].get("namespace") != namespace:
        return False
    return annotations_of(obj).get(_ACCOUNT) == account


READY = ("AllRequirementsMet", "all requirements found, attempting install")
NO_RETRY = "InstallComponentFailedNoRetry"
"""The reason of a CSV whose group has an account without the rights for its Deployments (R-CSV-20)."""
_ADMISSION, _API = "admissionregistration.k8s.io", "apiregistration.k8s.io"
_CONFIGURATIONS = {
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
}
# Names of Services end here.
_LABEL_LIMIT = 63


class InstallOutcome(NamedTuple):
    """The end of an install: `failure` is None when everything was written. `flapping` is true when OLM retries without
    end, after a failure or because the written objects never count as installed.

    `phase` is the one that the CSV is in when it did not succeed; `place`: the keys in the CSV that lead to the cause,
    if they are known.
    """

    failure: Failure | None
    installation: StrategyProgress | None
    flapping: bool = False
    phase: str = "Failed"
    place: tuple[str | int, ...] = ()


def strategy_failure(csv: Csv, objects: Mapping[ObjectKey, Rendered]) -> Failure | None:
    """Return why the install strategy itself is refused while the CSV is Pending (R-CSV-15b).

    Rules are only looked at for accounts that can be used; any other is an unmet requirement (R-REQ-7).
    """
    if csv.strategy_name != "deployment":
        return "InvalidInstallStrategy", "install strategy invalid: unrecognized install strategy"
    for entry in csv.permissions + csv.cluster_permissions:
        usable = account_exists(objects, csv.namespace, entry.account)
        for rule in decode_rules(entry.rules) if usable and not owned_by_others(csv, entry.account, objects) else ():
            problem = _rule_problem(rule)
            if problem:
                return "InvalidInstallStrategy", f"install strategy invalid: rule invalid: {problem}"
    return None


def _rule_problem(rule: PolicyRule) -> str:
    """Return why OLM refuses a rule altogether ("" when it doesn't): the texts of R-CSV-15b."""
    if not rule.verbs:
        return "policy rule must have at least one verb"
    if rule.urls and (rule.groups or rule.resources or rule.names):
        return "rule cannot apply to both regular resources and non-resource URLs"
    return ""


def webhook_failure(csv: Csv) -> Failure | None:
    """R-CSV-15d, R-CSV-15e: repeated names, and rules that OLM does not let a webhook have (R-WH-2)."""
    # One after the other: a bad rule counts before a name that a later webhook repeats (R-CSV-15e).
    seen: set[str] = set()
    for webhook in csv.webhooks:
        if webhook.name in seen:
            return "InvalidWebhookDescription", "CSV contains repeated WebhookDescription name"
        seen.add(webhook.name)
        for rule in webhook.rules:
            problem = _webhook_rule_problem(rule)
            if problem:
                return "InvalidWebhookDescription", problem
    return None


def _webhook_rule_problem(rule: Mapping[str, Any]) -> str:
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    if "*" in groups:
        return "webhook rules cannot include all groups"
    if OLM_GROUP in groups:
        return "webhook rules cannot include the OLM group"
    # A rule has plurals where these are kinds, so what OLM means to guard passes by its real name (R-WH-2).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/webhook.go#L19-L41
    guarded = {"*", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    if "admissionregistration.k8s.io" in groups and guarded & set(resources):
        kinds = "MutatingWebhookConfiguration or ValidatingWebhookConfiguration"
        return f"webhook rules cannot include {kinds} resources"
    return ""


def owner_conflict(csv: Csv, csvs: ByNamespace[Csv]) -> Failure | None:
    """R-CSV-15f: another CSV of the namespace, outside of the replacement chain, owns one of the CRDs."""
    chain = _chain(csv, csvs)
    owned = {item.name for item in csv.owned_crds}
    others = (other for other in csvs.within(csv.namespace).values() if other.name not in chain)
    if any(owned & {item.name for item in other.owned_crds} for other in others):
        return "OwnerConflict", "conflicting CRD owner in namespace"
    return None


def _chain(csv: Csv, csvs: ByNamespace[Csv]) -> set[str]:
    """The CSVs that this one replaces and that replace it, itself included (R-CSV-26)."""
    chain = {csv.name, *predecessors(csv, csvs)}
    current = csv.name
    local = [other for _, other in sorted(csvs.within(csv.namespace).items())]
    while True:
        current = next((other.name for other in local if other.replaces == current), "")
        if not current or current in chain:
            return chain
        chain.add(current)


def install(
    csv: Csv,
    group: OperatorGroup,
    cluster: Cluster,
    options: Options,
    access: Access,
    members: Mapping[NamespacedName, CsvState],
    foreign: frozenset[str],
) -> InstallOutcome:
    """Carry out the install strategy of a CSV whose requirements are met.

    `members` are the CSVs of its namespace that were there before; `foreign` the names of API services that exist and
    belong to somebody else.
    """
    # An account of the group is asked for its rights only where OLM writes something.
    asked = _Asked(access, Subject(ACCOUNT, csv.namespace, group.account), bool(group.account))
    earlier = cluster.members.get(namespaced_name(csv))
    stays = earlier is not None and earlier.succeeded and is_written(csv, cluster, options)
    asked = asked._replace(is_asked=asked.is_asked and not stays)
    # Services and certificates come before the first Deployment: when they fail, nothing of the strategy is written.
    problem, certificates = _certificate_problem(csv, cluster, options, asked)
    if problem:
        return _fail(problem, StrategyProgress(0, 0, certificates=certificates) if certificates else None)
    written: dict[str, KubernetesObject] = {}
    config = subscription_config(cluster, csv)
    for index, item in enumerate(csv.deployments):
        deployment, name = written_deployment(cluster, options, csv, item, config), item.name
        existing = written.get(name) or existing_deployment(name, csv, cluster, members.values())
        written[name] = deployment
        forbidden = _forbidden(asked, name, exists=existing is not None)
        if forbidden:
            return _refused(forbidden, StrategyProgress(index, len(csv.webhooks) if index else 0), cluster.profile)
        invalid = refusal(deployment, existing)
        if invalid is not None:
            place = ("spec", "install", "spec", "deployments", index, *invalid.keys)
            failed = _fail(invalid.text, StrategyProgress(index, len(csv.webhooks) if index else 0))
            return failed._replace(place=place)
        # API services and webhooks are written after each Deployment (R-API-2): a mistake in them is met behind the
        # first one, which stays (R-API-4).
        services = (item.service_name for item in apiservice_descriptions(csv))
        taken = next((name for name in services if name in foreign), "")
        # The only Deployment is written by then, and a failed CSV whose components turn out healthy succeeds after all
        # (observed-12).
        if taken and len(csv.deployments) == 1:
            break
        if taken:
            return _fail(f"pre-existing APIService {taken} is not adoptable", StrategyProgress(index + 1, 0))
        forbidden, services_written = _api_service_refusal(csv, cluster, asked)
        if forbidden:
            return _refused(forbidden, StrategyProgress(index + 1, 0, apiservices=services_written), cluster.profile)
        stop = _webhook_problem(csv, cluster, asked)
        if stop.text:
            progress = StrategyProgress(index + 1, stop.webhooks, stop.conversions)
            return _refused(stop.text, progress, cluster.profile) if stop.is_refusal else _fail(stop.text, progress)
    installation = StrategyProgress(len(csv.deployments), len(csv.webhooks) if csv.deployments else 0)
    unexpected = next(_unexpected_annotations(csv, group, cluster.profile), "")
    # OLM then installs again, with the same result, and never gets further than waiting for what it expects.
    if unexpected:
        return InstallOutcome(("InstallWaiting", f"installing: {unexpected}"), installation, True, "InstallReady")
    return InstallOutcome(None, installation, flapping=_is_never_ready(csv))


def without_client(csv: Csv, *, runs: bool) -> InstallOutcome:
    """Return the outcome of a CSV when OLM can't act as the account of its group: it keeps its state."""
    whole = StrategyProgress(len(csv.deployments), len(csv.webhooks))
    return InstallOutcome(None, whole) if runs else InstallOutcome(READY, None, phase="InstallReady")


def _unexpected_annotations(csv: Csv, group: OperatorGroup, profile: Profile) -> Iterator[str]:
    """Yield OLM's texts about an annotation of the CSV that a pod template overrides.

    It looks at one Deployment after the other; of several annotations it meets any first.
    """
    expected = {**csv.annotations, **group_annotations(profile, group)}
    serving = serving_deployments(csv)
    for deployment in csv.deployments:
        template = mapping(deployment.spec.get("template"))
        written = template_annotations(profile, template, expected, serving=deployment.name in serving)
        for key in sorted(expected):
            if written[key] != expected[key]:
                difference = f"Expected {key}:{expected[key]}, found {key}:{written[key]}"
                yield f"unexpected annotation on deployment. {difference}"


# Of a Service that exists the name has been accepted.
_NAMED = {"name": "service", "namespace": "ns"}


def _service_problem(csv: Csv, serving: Serving, cluster: Cluster, options: Options) -> str:
    """Return why the API server refuses the Service in front of a serving Deployment, "" if it takes it (R-CERT-2)."""
    # A Deployment may have dots and 253 characters in its name, a Service may not (observed-9). Older names have no
    # dots.
    if cluster.profile.cert_naming["per"] == "deployment":
        name = serving.deployment.name
        service = f'"{name}-service"'
        prefix = f"Service {service} is invalid: "
        duplicates = _duplicate_ports(csv, name)
        if duplicates:
            text = duplicates[0] if len(duplicates) == 1 else "\n  ".join(("errors:", *duplicates))
            return f"failed to create typed patch object ({csv.namespace}/{name}-service; /v1, Kind=Service): {text}"
        if "." in name:
            return f"{prefix}metadata.name: Invalid value: {service}: must not contain dots"
        if len(name) + len("-service") > _LABEL_LIMIT:
            return f"{prefix}metadata.name: Invalid value: {service}: must be no more than 63 characters"
    existing = service_of_others(csv.namespace, serving.names["service"], cluster, options)
    if existing is not None:
        merged = {**existing, "metadata": _NAMED, "spec": applied_service(cluster.profile, serving, existing)}
        if errors := update_errors(merged, existing):
            return invalid_text("Service", "", serving.names["service"], errors)
    return ""


class _Asked(NamedTuple):
    """The account of a group that OLM writes with, and what it may do; `is_asked`: whether its rights matter."""

    access: Access
    subject: Subject
    is_asked: bool

    def refusal(self, *requests: Request, scope: str) -> str:
        """The API server's first refusal, "" if the account may do all of it."""
        found = (access_refusal(self.access, self.subject, each, scope) for each in requests if self.is_asked)
        return next(filter(None, found), "")


# The rules of Kubernetes' own roles to which OLM binds the account of a Deployment that serves.
_BUILT_IN: Mapping[ObjectKey, Mapping[str, Sequence[str]]] = {
    ObjectKey(RBAC, "ClusterRole", "", "system:auth-delegator"): {
        "authentication.k8s.io": ("tokenreviews",), "authorization.k8s.io": ("subjectaccessreviews",),
    },
    ObjectKey(RBAC, "Role", "kube-system", "extension-apiserver-authentication-reader"): {},
}  # fmt: skip


def _certificate_problem(csv: Csv, cluster: Cluster, options: Options, asked: _Asked) -> tuple[str, int]:
    """The first error while OLM makes what serves the Deployments, and how many objects it writes before (R-CERT-2)."""
    written = 0
    for serving in servings(cluster.profile, csv):
        service = service_of_others(csv.namespace, serving.names["service"], cluster, options)
        made = [*certificate_objects(cluster.profile, csv, serving, service)]
        for obj in made:
            existing = cluster.objects.get(object_key(obj))
            problem = _certificate_refusal(obj, existing, made, asked)
            if not problem and obj["kind"] == "Service":
                problem = _service_problem(csv, serving, cluster, options)
            elif not problem and existing is not None and not _is_reused(existing, options):
                # The uid of the owner is filled in when OLM writes.
                metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
                errors = update_errors({**obj, "metadata": metadata}, existing.object)
                problem = invalid_text(obj["kind"], gvk_of(obj).group, name_of(obj), errors) if errors else ""
            if problem:
                return problem, written
            written += 1
    return "", written


def _is_reused(existing: Rendered, options: Options) -> bool:
    """Return whether OLM does not replace an object that is there: a certificate of its own, or one from a bundle,
    whose plan decides on it. Without OLM the one in the workspace serves."""
    if existing.provenance.origin is not Origin.MANIFEST or options.purpose == "apply":
        return True
    return existing.identity.kind == "Secret" and is_certificate(existing.object)


def _certificate_refusal(
    obj: KubernetesObject, existing: Rendered | None, made: Iterable[KubernetesObject], asked: _Asked
) -> str:
    """Return why the account of the group may not make an object that serves a Deployment, "" if it may."""
    key = object_key(obj)
    if not asked.is_asked or (key.kind == "Secret" and existing is not None and is_certificate(existing.object)):
        return ""
    kind = BUILTIN.mapping(GroupKind(key.group, key.kind))
    create = Request("create", kind.group, kind.plural)
    read, patch = (Request(verb, kind.group, kind.plural, key.name) for verb in ("get", "patch"))
    if is_applied(key):
        refusal = asked.refusal(patch, scope=key.namespace)
    elif existing is None:
        refusal = asked.refusal(create, scope=key.namespace)
    else:
        # OLM does not know an object without its label, so that it tries to create it first.
        unknown = (create,) if labels_of(existing.object).get(MANAGED) != "true" else ()
        refusal = asked.refusal(*unknown, read, patch, scope=key.namespace)
    if not refusal and existing is None:
        roles = {object_key(each): Rendered(each, _NOWHERE) for each in (*made, *_built_in_roles())}
        refusal = escalation_refusal(asked.access, asked.subject, key, obj, roles)
    # The server asks for the second right of an apply itself, and gives no reason.
    if not refusal and existing is None and is_applied(key) and asked.refusal(create, scope=key.namespace):
        full = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        refusal = f'{full} "{key.name}" is forbidden: '
    return refusal


_NOWHERE = Provenance(None, "certificates", "R-CERT-2", Origin.CERTIFICATE)


def _built_in_roles() -> Iterator[KubernetesObject]:
    configmap = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["extension-apiserver-authentication"],
    }
    for key, created in _BUILT_IN.items():
        rules = [{"apiGroups": [group], "resources": [*names], "verbs": ["create"]} for group, names in created.items()]
        rules = rules or [{**configmap, "verbs": ["get", "list", "watch"]}]
        metadata = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        yield {"apiVersion": RBAC_V1, "kind": key.kind, "metadata": metadata, "rules": rules}


def _duplicate_ports(csv: Csv, deployment: str) -> list[str]:
    """Return the errors of server-side apply for ports in front of a Deployment with one number and several targets."""
    known: dict[int, set[object]] = {}
    for item in serving_descriptions(csv):
        if item.deployment == deployment:
            known.setdefault(item.port, set()).add(item.target_port or item.port)
    # The number and the protocol tell the ports of a Service apart, so that a second target is a duplicate (R-CERT-2).
    text = '.spec.ports: duplicate entries for key [port={},protocol="TCP"]'
    return [text.format(port) for port, targets in known.items() for _ in range(len(targets) - 1)]


def _fail(text: str, installation: StrategyProgress | None) -> InstallOutcome:
    return InstallOutcome(("InstallComponentFailed", f"install strategy failed: {text}"), installation, flapping=True)


def _is_never_ready(csv: Csv) -> bool:
    """Return whether OLM reinstalls without end because of a webhook for a Deployment that the strategy does not
    have."""
    # Its configuration has no CA (R-WH-6), and OLM never takes such an installation for a complete one (observed-20).
    names = {deployment.name for deployment in csv.deployments}
    return any(webhook.deployment not in names for webhook in csv.webhooks)


def _refused(text: str, progress: StrategyProgress, profile: Profile) -> InstallOutcome:
    """An install that ends because the account of the group lacks a right, which OLM does not try again by itself."""
    # The prefix stands there twice: this error is wrapped on its way once more than others (R-CSV-20).
    message = f"install strategy failed: install strategy failed: {text}"
    reason = NO_RETRY if NO_RETRY in profile.csv_reasons else "InstallComponentFailed"
    return InstallOutcome((reason, message), progress)


def _forbidden(asked: _Asked, name: str, *, exists: bool) -> str:
    """R-OG-8: with a service account on the group, Deployments are written with that account's rights.

    OLM looks for the Deployment first, and creates or updates it then; only a request to create one has no name.
    """
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/api/wrappers/deployment_install_client.go#L112-L125
    writing = ("update", name) if exists else ("create", "")
    requests = (Request(verb, "apps", "deployments", named) for verb, named in (("get", name), writing))
    return asked.refusal(*requests, scope=asked.subject.namespace)


def _api_service_refusal(csv: Csv, cluster: Cluster, asked: _Asked) -> tuple[str, int]:
    """Return why the account of the group may not make the API services, and how many are written before; behind each
    OLM looks for what served it under its names before 0.15 (R-API-2)."""
    home = csv.namespace
    for index, item in enumerate(apiservice_descriptions(csv) if asked.is_asked else ()):
        name, exists = item.service_name, apiservice_key(item.service_name) in cluster.objects
        verbs = (("get", name), ("patch", name)) if exists else (("create", ""),)
        refusal = asked.refusal(*(Request(verb, _API, "apiservices", each) for verb, each in verbs), scope="")
        if refusal:
            return refusal, index
        dashed = name.replace(".", "-")
        if dashed == serving_names(cluster.profile, item.deployment, item)["service"]:
            continue
        looked_for = (
            (Request("get", "", "services", dashed), home),
            (Request("get", "", "secrets", f"{name}-cert"), home),
            (Request("get", RBAC, "roles", f"{name}-cert"), home),
            (Request("get", RBAC, "rolebindings", f"{name}-cert"), home),
            (Request("get", RBAC, "clusterrolebindings", f"{name}-system:auth-delegator"), ""),
            (Request("get", RBAC, "rolebindings", f"{name}-auth-reader"), "kube-system"),
        )
        refusal = next(filter(None, (asked.refusal(request, scope=scope) for request, scope in looked_for)), "")
        if refusal:
            return refusal, index + 1
    return "", len(apiservice_descriptions(csv))


class _WebhookStop(NamedTuple):
    """The first error among the webhooks, how many of them were written before it, and how many of the CRDs of the one
    that it is in; `is_refusal`: the account of the group lacks a right."""

    text: str
    webhooks: int
    conversions: int = 0
    is_refusal: bool = False


def _webhook_problem(csv: Csv, cluster: Cluster, asked: _Asked) -> _WebhookStop:
    """Return where the webhooks of a CSV stop; no text where all are written (R-WH-9)."""
    for index, webhook in enumerate(csv.webhooks):
        problem = _configuration_problem(webhook)
        refusal = "" if problem else _configuration_refusal(csv, webhook, cluster, asked)
        if problem or refusal:
            return _WebhookStop(problem or refusal, index, is_refusal=bool(refusal))
        if webhook.type == CONVERSION:
            stop = _conversion_problem(csv, webhook, cluster.objects, asked)
            if stop.text:
                return stop._replace(webhooks=index)
    return _WebhookStop("", len(csv.webhooks))


def _configuration_refusal(csv: Csv, webhook: WebhookDescription, cluster: Cluster, asked: _Asked) -> str:
    """Return why the account of the group may not make the configuration of a webhook: OLM lists those of the CSV
    first."""
    kind = _CONFIGURATIONS.get(webhook.type, "")
    if not kind or not asked.is_asked:
        return ""
    plural = f"{kind.lower()}s"
    owned = {**owner_labels(cluster.profile, csv.name, csv.namespace), WEBHOOK_NAME: webhook.name}.items()
    there = cluster.objects.within((_ADMISSION, kind)).items()
    existing = [("update", key.name) for key, stored in there if owned <= labels_of(stored.object).items()]
    verbs = (("list", ""), *(existing or [("create", "")]))
    return asked.refusal(*(Request(verb, _ADMISSION, plural, name) for verb, name in verbs), scope="")


def _configuration_problem(webhook: WebhookDescription) -> str:
    """Return why the API server refuses the configuration that OLM makes of a webhook, "" if it takes it (R-WH-4)."""
    full = _CONFIGURATIONS.get(webhook.type)
    if full is None:
        return ""

    # OLM looks for an existing one by a label with the name first, and the API server rejects the selector (R-WH-3).
    if wrong := is_label_value(webhook.name):
        problem = f"values[0][{WEBHOOK_NAME}]: Invalid value: {quoted(webhook.name)}: {'; '.join(wrong)}"
        return f"unable to parse requirement: {problem}"

    # Only what stems from the CSV can be wrong: the name of the Service and its namespace OLM makes itself (R-WH-4).
    path = webhook.object.get("webhookPath")
    service = {} if path is None else {"path": path}
    entry = {**webhook.object, "name": webhook.name, "clientConfig": {"service": service}}
    errors = list(webhook_errors(entry, Path("webhooks[0]"), mutating=full.startswith("Mutating")))
    return invalid_text(full, _ADMISSION, f"{webhook.name}-", errors) if errors else ""


def _conversion_problem(
    csv: Csv, webhook: WebhookDescription, objects: Mapping[ObjectKey, Rendered], asked: _Asked
) -> _WebhookStop:
    """The first error of a conversion webhook, and how many CRDs are written before it (R-WH-7, R-WH-8)."""
    # A CRD has one conversion for the whole cluster, so its server has to work in all of it (R-WH-7).
    if any((mode.type == "AllNamespaces") != mode.supported for mode in csv.install_modes):
        text = "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces"
        return _WebhookStop(text, 0)
    if not webhook.converted_crds:
        # The spelling is OLM's (R-WH-7).
        text = "unable to manager conversion webhook: conversion webhook must have at least one CRD specified"
        return _WebhookStop(text, 0)
    owned = {item.name for item in csv.owned_crds}
    # Each CRD is written before the next one is looked at.
    for index, name in enumerate(webhook.converted_crds):
        crd, plural = objects.get(crd_key(name)), "customresourcedefinitions"
        cause = asked.refusal(Request("get", APIEXTENSIONS, plural, name), scope="")
        if not cause and crd is None:
            cause = f'{plural}.{APIEXTENSIONS} "{name}" not found'
        if cause or crd is None:
            return _WebhookStop(f"unable to get CRD {name} specified in Conversion Webhook: {cause}", 0, index)
        if name not in owned:
            return _WebhookStop(f"csv {csv.name} does not own CRD {name}", 0, index)
        if Crd(crd.object).preserves_unknown_fields:
            text = "crd.Spec.PreserveUnknownFields must be false to let API Server call webhook to do the conversion"
            return _WebhookStop(text, 0, index)
        refusal = asked.refusal(Request("update", APIEXTENSIONS, plural, name), scope="")
        if refusal:
            return _WebhookStop(f"Error updating CRD with Conversion info: {refusal}", 0, index, is_refusal=True)
    return _WebhookStop("", 0, len(webhook.converted_crds))
