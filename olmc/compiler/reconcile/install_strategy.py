"""Carrying out an install strategy: with whose rights, what stops it, and how far it gets (R-CSV-15b … R-CSV-20,
R-WH-2 … R-WH-9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import ByNamespace, Cluster, CsvState, NamespacedName, StrategyProgress
from olmc.compiler.model.operators import CONVERSION, Csv, OperatorGroup, WebhookDescription
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.naming import WEBHOOK_NAME, group_annotations
from olmc.compiler.reconcile.deployments import (
    apiservice_descriptions,
    applied_service,
    existing_deployment,
    is_written,
    refusal,
    service_of_others,
    serving_deployments,
    serving_descriptions,
    servings,
    subscription_config,
    template_annotations,
    written_deployment,
)
from olmc.compiler.reconcile.operator_groups import Failure, account_exists
from olmc.compiler.reconcile.requirements import owned_by_others, predecessors
from olmc.k8s.api.rbac import decode_rules
from olmc.k8s.api.rbac_access import Access, access_refusal
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.api.selectors import is_label_value
from olmc.k8s.api.validation.field import Path, invalid_text
from olmc.k8s.api.validation.objects import update_errors
from olmc.k8s.api.validation.webhooks import webhook_errors
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    annotations_of,
    crd_key,
    mapping,
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
    """Why OLM can't act as the account of a group, in its words; "" if it can, or need not."""
    if not account or profile.account_token != "secret" or minor_of(kube_version) < _WITHOUT_SECRETS:
        return ""
    if any(_is_token(rendered.object, namespace, account) for rendered in objects.values()):
        return ""
    return f"the service account does not have any API secret sa={namespace}/{account}"


def _is_token(obj: KubernetesObject, namespace: str, account: str) -> bool:
    """Whether an object is a Secret that Kubernetes fills with a token of an account."""
    if obj["kind"] != "Secret" or obj.get("type") != _TOKEN or obj["metadata"].get("namespace") != namespace:
        return False
    return annotations_of(obj).get(_ACCOUNT) == account


READY = ("AllRequirementsMet", "all requirements found, attempting install")
_NO_RETRY = "InstallComponentFailedNoRetry"


class InstallOutcome(NamedTuple):
    """How an install ended: `failure` None when everything was written; `flapping` when OLM tries again for ever, after
    a failure or because what it has written never counts as installed.

    `phase` is the one that the CSV is in when it did not succeed; `place`: the keys in the CSV that lead to the cause,
    where it is known.
    """

    failure: Failure | None
    installation: StrategyProgress | None
    flapping: bool = False
    phase: str = "Failed"
    place: tuple[str | int, ...] = ()


def strategy_failure(csv: Csv, objects: Mapping[ObjectKey, Rendered]) -> Failure | None:
    """Why the install strategy itself is refused while the CSV is Pending (R-CSV-15b).

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
    """Why OLM refuses a rule altogether ("" when it doesn't): the texts of R-CSV-15b."""
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
    # Services and certificates come before the first Deployment: when they fail, nothing of the strategy is written.
    problem = next(_service_problems(csv, cluster, options), "")
    if problem:
        return _fail(problem, None)
    written: dict[str, KubernetesObject] = {}
    config = subscription_config(cluster, csv)
    for index, item in enumerate(csv.deployments):
        deployment, name = written_deployment(cluster, options, csv, item, config), item.name
        existing = written.get(name) or existing_deployment(name, csv, cluster, members.values())
        written[name] = deployment
        forbidden = _forbidden(csv, group.account, name, access, exists=existing is not None)
        if forbidden and not is_written(csv, cluster, options):
            # The prefix stands there twice: this error is wrapped on its way once more than others (R-CSV-20).
            text = f"install strategy failed: install strategy failed: {forbidden}"
            known = _NO_RETRY in cluster.profile.csv_reasons
            progress = StrategyProgress(index, len(csv.webhooks) if index else 0)
            return InstallOutcome((_NO_RETRY if known else "InstallComponentFailed", text), progress)
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
        problem, webhooks, conversions = _webhook_problem(csv, cluster.objects)
        if problem:
            return _fail(problem, StrategyProgress(index + 1, webhooks, conversions))
    installation = StrategyProgress(len(csv.deployments), len(csv.webhooks) if csv.deployments else 0)
    unexpected = next(_unexpected_annotations(csv, group, cluster.profile), "")
    # OLM then installs again, with the same result, and never gets further than waiting for what it expects.
    if unexpected:
        return InstallOutcome(("InstallWaiting", f"installing: {unexpected}"), installation, True, "InstallReady")
    return InstallOutcome(None, installation, flapping=_is_never_ready(csv))


def without_client(csv: Csv, *, runs: bool) -> InstallOutcome:
    """What becomes of a CSV when OLM can't act as the account of its group: it stays what it is."""
    whole = StrategyProgress(len(csv.deployments), len(csv.webhooks))
    return InstallOutcome(None, whole) if runs else InstallOutcome(READY, None, phase="InstallReady")


def _unexpected_annotations(csv: Csv, group: OperatorGroup, profile: Profile) -> Iterator[str]:
    """What OLM says of an annotation of the CSV that it does not find in a pod template, where the template's own won.

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


def _service_problems(csv: Csv, cluster: Cluster, options: Options) -> Iterator[str]:
    """Why the API server refuses a Service in front of a serving Deployment (R-CERT-2)."""
    # A Deployment may have dots and 253 characters in its name, a Service may not (observed-9). Older names have no
    # dots.
    for name in serving_deployments(csv) if cluster.profile.cert_naming["per"] == "deployment" else ():
        service = f'"{name}-service"'
        prefix = f"Service {service} is invalid: "
        duplicates = _duplicate_ports(csv, name)
        if duplicates:
            text = duplicates[0] if len(duplicates) == 1 else "\n  ".join(("errors:", *duplicates))
            yield f"failed to create typed patch object ({csv.namespace}/{name}-service; /v1, Kind=Service): {text}"
        if "." in name:
            yield f"{prefix}metadata.name: Invalid value: {service}: must not contain dots"
        if len(name) + len("-service") > 63:
            yield f"{prefix}metadata.name: Invalid value: {service}: must be no more than 63 characters"
    for serving in servings(cluster.profile, csv):
        existing = service_of_others(csv.namespace, serving.names["service"], cluster, options)
        if existing is not None:
            merged = {**existing, "metadata": _NAMED, "spec": applied_service(cluster.profile, serving, existing)}
            if errors := update_errors(merged, existing):
                yield invalid_text("Service", "", serving.names["service"], errors)


def _duplicate_ports(csv: Csv, deployment: str) -> list[str]:
    """What server-side apply says of the ports in front of a Deployment that have one number and several targets."""
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
    """Whether a webhook of a Deployment that the strategy doesn't have lets OLM reinstall for ever."""
    # Its configuration has no CA (R-WH-6), and OLM never takes such an installation for a complete one (observed-20).
    names = {deployment.name for deployment in csv.deployments}
    return any(webhook.deployment not in names for webhook in csv.webhooks)


def _forbidden(csv: Csv, account: str, name: str, access: Access, *, exists: bool) -> str:
    """R-OG-8: with a service account on the group, Deployments are written with that account's rights.

    OLM looks for the Deployment first, and creates or updates it then; only a request to create one has no name.
    """
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/api/wrappers/deployment_install_client.go#L112-L125
    if not account:
        return ""
    subject = Subject(ACCOUNT, csv.namespace, account)
    writing = ("update", name) if exists else ("create", "")
    requests = (Request(verb, "apps", "deployments", named) for verb, named in (("get", name), writing))
    return next(filter(None, (access_refusal(access, subject, request, csv.namespace) for request in requests)), "")


def _webhook_problem(csv: Csv, objects: Mapping[ObjectKey, Rendered]) -> tuple[str, int, int]:
    """The first error among the webhooks, how many of them were written before it, and how many of the CRDs of the one
    that it is in (R-WH-9)."""
    for index, webhook in enumerate(csv.webhooks):
        problem, conversions = _configuration_problem(webhook), 0
        if not problem and webhook.type == CONVERSION:
            problem, conversions = _conversion_problem(csv, webhook, objects)
        if problem:
            return problem, index, conversions
    return "", len(csv.webhooks), 0


def _configuration_problem(webhook: WebhookDescription) -> str:
    """Why the API server refuses the configuration that OLM makes of a webhook, "" if it takes it (R-WH-4)."""
    kinds = {"ValidatingAdmissionWebhook": "Validating", "MutatingAdmissionWebhook": "Mutating"}
    kind = kinds.get(webhook.type)
    if kind is None:
        return ""

    # OLM looks for an existing one by a label with the name first, and the API server rejects the selector (R-WH-3).
    if wrong := is_label_value(webhook.name):
        problem = f"values[0][{WEBHOOK_NAME}]: Invalid value: {quoted(webhook.name)}: {'; '.join(wrong)}"
        return f"unable to parse requirement: {problem}"

    # Only what stems from the CSV can be wrong: the name of the Service and its namespace OLM makes itself (R-WH-4).
    path = webhook.object.get("webhookPath")
    service = {} if path is None else {"path": path}
    entry = {**webhook.object, "name": webhook.name, "clientConfig": {"service": service}}
    errors = list(webhook_errors(entry, Path("webhooks[0]"), mutating=kind == "Mutating"))
    full = f"{kind}WebhookConfiguration"
    return invalid_text(full, "admissionregistration.k8s.io", f"{webhook.name}-", errors) if errors else ""


def _conversion_problem(
    csv: Csv, webhook: WebhookDescription, objects: Mapping[ObjectKey, Rendered]
) -> tuple[str, int]:
    """The first error of a conversion webhook, and how many CRDs are written before it (R-WH-7, R-WH-8)."""
    # A CRD has one conversion for the whole cluster, so whoever serves it has to work in all of it (R-WH-7).
    if any((mode.type == "AllNamespaces") != mode.supported for mode in csv.install_modes):
        return "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces", 0
    if not webhook.converted_crds:
        # The spelling is OLM's (R-WH-7).
        return "unable to manager conversion webhook: conversion webhook must have at least one CRD specified", 0
    owned = {item.name for item in csv.owned_crds}
    # Each CRD is written before the next one is looked at.
    for index, name in enumerate(webhook.converted_crds):
        crd = objects.get(crd_key(name))
        if crd is None:
            cause = f'customresourcedefinitions.apiextensions.k8s.io "{name}" not found'
            return f"unable to get CRD {name} specified in Conversion Webhook: {cause}", index
        if name not in owned:
            return f"csv {csv.name} does not own CRD {name}", index
        if Crd(crd.object).preserves_unknown_fields:
            return (
                "crd.Spec.PreserveUnknownFields must be false to let API Server call webhook to do the conversion",
                index,
            )
    return "", len(webhook.converted_crds)
