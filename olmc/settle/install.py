"""Carrying out an install strategy: what stops it, and how far it gets (R-CSV-15b … R-CSV-20, R-WH-2 … R-WH-9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.field_errors import invalid_text
from olmc.model.cluster import Cluster, Installation, Member, Name
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import OLM_GROUP, Csv, Group, apiservice_name
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.values import mapping
from olmc.profiles.ownership import group_annotations
from olmc.settle.deployments import existing_deployment, refusal, template_annotations, written_deployment
from olmc.settle.groups import account_exists
from olmc.settle.known import CONVERSION
from olmc.settle.membership import Failure
from olmc.settle.permissions import Access, allowed, rule_problem
from olmc.settle.requirements import APIEXTENSIONS, owned_by_others, predecessors
from olmc.settle.serving import apiservice_descriptions, serving_deployments, serving_descriptions

READY = ("AllRequirementsMet", "all requirements found, attempting install")
_NO_RETRY = "InstallComponentFailedNoRetry"


class Outcome(NamedTuple):
    """How an install ended: `failure` None when everything was written; `flapping` when OLM tries again for ever, after
    a failure or because what it has written never counts as installed.

    `phase` is the one that the CSV is in when it did not succeed; `place`: the keys in the CSV that lead to the cause,
    where it is known.
    """

    failure: Failure | None
    installation: Installation | None
    flapping: bool = False
    phase: str = "Failed"
    place: tuple[str | int, ...] = ()


def strategy_failure(csv: Csv, stock: Mapping[Identity, Rendered]) -> Failure | None:
    """Why the install strategy itself is refused while the CSV is Pending (R-CSV-15b).

    Rules are only looked at for accounts that can be used; any other is an unmet requirement (R-REQ-7).
    """
    strategy = (csv.spec.get("install") or {}).get("strategy")
    if strategy != "deployment":
        return "InvalidInstallStrategy", "install strategy invalid: unrecognized install strategy"
    for entry in csv.permissions + csv.cluster_permissions:
        account = entry.get("serviceAccountName") or ""
        usable = account_exists(stock, csv.namespace, account) and not owned_by_others(csv, account, stock)
        for rule in entry.get("rules") or () if usable else ():
            problem = rule_problem(rule)
            if problem:
                return "InvalidInstallStrategy", f"install strategy invalid: rule invalid: {problem}"
    return None


def webhook_failure(csv: Csv) -> Failure | None:
    """R-CSV-15d, R-CSV-15e: repeated names, and rules that OLM does not let a webhook have (R-WH-2)."""
    seen: set[str] = set()
    for webhook in csv.webhooks:
        name = webhook.get("generateName") or ""
        if name in seen:
            return "InvalidWebhookDescription", "CSV contains repeated WebhookDescription name"
        seen.add(name)
        for rule in webhook.get("rules") or ():
            problem = _webhook_rule_problem(rule)
            if problem:
                return "InvalidWebhookDescription", problem
    return None


def _webhook_rule_problem(rule: Mapping[str, Any]) -> str:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
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


def owner_conflict(csv: Csv, csvs: Mapping[Name, Csv]) -> Failure | None:
    """R-CSV-15f: another CSV of the namespace, outside of the replacement chain, owns one of the CRDs."""
    chain = _chain(csv, csvs)
    owned = {item.get("name") for item in csv.crd_descriptions("owned")}
    others = (other for name, other in csvs.items() if name.namespace == csv.namespace and other.name not in chain)
    if any(owned & {item.get("name") for item in other.crd_descriptions("owned")} for other in others):
        return "OwnerConflict", "conflicting CRD owner in namespace"
    return None


def _chain(csv: Csv, csvs: Mapping[Name, Csv]) -> set[str]:
    """The CSVs that this one replaces and that replace it, itself included (R-CSV-26)."""
    chain = {csv.name, *predecessors(csv, csvs)}
    current = csv.name
    while True:
        following = next(
            (c.name for n, c in sorted(csvs.items()) if n.namespace == csv.namespace and c.replaces == current), ""
        )
        if not following or following in chain:
            return chain
        chain.add(following)
        current = following


def install(
    csv: Csv,
    group: Group,
    cluster: Cluster,
    options: Options,
    access: Access,
    members: Mapping[Name, Member],
    foreign: frozenset[str],
) -> Outcome:
    """Carry out the install strategy of a CSV whose requirements are met.

    `members` are the CSVs that were there before; `foreign` the names of API services that exist and belong to somebody
    else.
    """
    # Services and certificates come before the first Deployment: when they fail, nothing of the strategy is written.
    problem = next(_service_problems(csv, cluster.profile), "")
    if problem:
        return _failed(problem, None)
    forbidden = _forbidden(csv, group, access)
    if forbidden:
        text = f"install strategy failed: install strategy failed: {forbidden}"
        known = _NO_RETRY in cluster.profile.csv_reasons
        return Outcome((_NO_RETRY if known else "InstallComponentFailed", text), Installation(0, 0))
    written: dict[str, KubernetesObject] = {}
    for index, item in enumerate(csv.deployments):
        made, name = written_deployment(cluster, options, csv, item), item.get("name") or ""
        refused = refusal(made, written.get(name) or existing_deployment(name, csv, cluster, members.values()))
        written[name] = made
        if refused is not None:
            place = ("spec", "install", "spec", "deployments", index, *refused.keys)
            failed = _failed(refused.text, Installation(index, len(csv.webhooks) if index else 0))
            return failed._replace(place=place)
        # API services and webhooks are written after each Deployment (R-API-2): a mistake in them is met behind the
        # first one, which stays (R-API-4).
        problem, webhooks = _serving_problem(csv, cluster.stock, foreign)
        if problem:
            if _recovers(csv, problem):
                break
            return _failed(problem, Installation(index + 1, webhooks))
    installation = Installation(len(csv.deployments), len(csv.webhooks) if csv.deployments else 0)
    unexpected = next(_unexpected_annotations(csv, group, cluster.profile), "")
    if unexpected:
        return Outcome(("InstallWaiting", f"installing: {unexpected}"), installation, True, "InstallReady")
    return Outcome(None, installation, flapping=_is_never_ready(csv))


def without_client(csv: Csv, *, runs: bool) -> Outcome:
    """What becomes of a CSV when OLM can't act as the account of its group: it stays what it is."""
    whole = Installation(len(csv.deployments), len(csv.webhooks))
    return Outcome(None, whole) if runs else Outcome(READY, None, phase="InstallReady")


def _unexpected_annotations(csv: Csv, group: Group, profile: Profile) -> Iterator[str]:
    """What OLM says of an annotation of the CSV that it does not find in a pod template, where the template's own won.

    It looks at one Deployment after the other; of several annotations it meets any first.
    """
    expected = {**csv.annotations, **group_annotations(profile, group)}
    serving = serving_deployments(csv)
    for deployment in csv.deployments:
        template = mapping(mapping(deployment.get("spec")).get("template"))
        there = template_annotations(profile, template, expected, serving=deployment.get("name") in serving)
        for key in sorted(expected):
            if there[key] != expected[key]:
                found = f"Expected {key}:{expected[key]}, found {key}:{there[key]}"
                yield f"unexpected annotation on deployment. {found}"


def _service_problems(csv: Csv, profile: Profile) -> Iterator[str]:
    """Why the API server refuses a Service in front of a serving Deployment (R-CERT-2)."""
    for name in serving_deployments(csv) if profile.cert_naming["per"] == "deployment" else ():
        service = f'"{name}-service"'
        prefix = f"Service {service} is invalid: "
        if "." in name:
            yield f"{prefix}metadata.name: Invalid value: {service}: must not contain dots"
        if len(name) + len("-service") > 63:
            yield f"{prefix}metadata.name: Invalid value: {service}: must be no more than 63 characters"
        ports: dict[int, object] = {}
        for item in serving_descriptions(csv):
            if item.get("deploymentName") == name:
                port = item.get("containerPort") or 443
                target = item.get("targetPort") or port
                if ports.setdefault(port, target) != target:
                    yield f'{prefix}spec.ports[1].name: Duplicate value: "{port}"'


def _failed(text: str, installation: Installation | None) -> Outcome:
    return Outcome(("InstallComponentFailed", f"install strategy failed: {text}"), installation, flapping=True)


def _recovers(csv: Csv, problem: str) -> bool:
    """A foreign API service fails the install, but a lone Deployment was written by then, and a failed CSV whose
    components turn out healthy succeeds after all."""
    return problem.startswith("pre-existing APIService") and len(csv.deployments) == 1


def _is_never_ready(csv: Csv) -> bool:
    """Whether a webhook of a Deployment that the strategy doesn't have lets OLM reinstall for ever."""
    names = {item.get("name") for item in csv.deployments}
    return any(webhook.get("deploymentName") not in names for webhook in csv.webhooks)


def _forbidden(csv: Csv, group: Group, access: Access) -> str:
    """R-OG-8: with a service account on the group, Deployments are written with that account's rights."""
    account = group.spec.get("serviceAccountName")
    if not account or not csv.deployments:
        return ""
    wanted = {"verbs": ["create"], "apiGroups": ["apps"], "resources": ["deployments"]}
    if allowed(access.rules(csv.namespace, account, csv.namespace), wanted):
        return ""
    return (
        f'deployments.apps is forbidden: User "system:serviceaccount:{csv.namespace}:{account}" cannot create resource '
        f'"deployments" in API group "apps" in the namespace "{csv.namespace}"'
    )


def _serving_problem(csv: Csv, stock: Mapping[Identity, Rendered], foreign: frozenset[str]) -> tuple[str, int]:
    """The first error among API services, then webhooks, and how many webhooks were written before it (R-WH-9)."""
    for item in apiservice_descriptions(csv):
        name = apiservice_name(item)
        if name in foreign:
            return f"pre-existing APIService {name} is not adoptable", 0
    for index, webhook in enumerate(csv.webhooks):
        problem = _configuration_problem(webhook)
        if problem:
            return problem, index
        if webhook.get("type") == CONVERSION:
            problem = next(_conversion_problems(csv, webhook, stock), "")
            if problem:
                return problem, index
    return "", len(csv.webhooks)


def _configuration_problem(webhook: Mapping[str, Any]) -> str:
    """Why the API server refuses the configuration that OLM makes of a webhook, "" if it takes it (R-WH-4)."""
    kinds = {"ValidatingAdmissionWebhook": "Validating", "MutatingAdmissionWebhook": "Mutating"}
    kind = kinds.get(webhook.get("type") or "")
    if kind is None:
        return ""
    from olmc.kube.field_path import Path  # few operators have webhooks, and imports take their time
    from olmc.kube.webhook_validation import webhook_errors

    service = {"path": webhook["webhookPath"]} if webhook.get("webhookPath") is not None else {}
    entry = {**webhook, "name": webhook.get("generateName"), "clientConfig": {"service": service}}
    errors = list(webhook_errors(entry, Path("webhooks[0]"), mutating=kind == "Mutating"))
    full = f"{kind}WebhookConfiguration"
    return invalid_text(full, "admissionregistration.k8s.io", f"{entry['name'] or ''}-", errors) if errors else ""


def _conversion_problems(csv: Csv, webhook: Mapping[str, Any], stock: Mapping[Identity, Rendered]) -> Iterator[str]:
    """R-WH-7, R-WH-8."""
    for mode in csv.spec.get("installModes") or ():
        if (mode.get("type") == "AllNamespaces") != bool(mode.get("supported")):
            yield "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces"
    names = webhook.get("conversionCRDs") or ()
    if not names:
        # The spelling is OLM's (R-WH-7).
        yield "unable to manager conversion webhook: conversion webhook must have at least one CRD specified"
    owned = {item.get("name") for item in csv.crd_descriptions("owned")}
    for name in names:
        crd = stock.get(Identity(APIEXTENSIONS, "CustomResourceDefinition", "", name))
        if crd is None:
            cause = f'customresourcedefinitions.apiextensions.k8s.io "{name}" not found'
            yield f"unable to get CRD {name} specified in Conversion Webhook: {cause}"
        elif name not in owned:
            yield f"csv {csv.name} does not own CRD {name}"
        elif (crd.object.get("spec") or {}).get("preserveUnknownFields"):
            yield ("crd.Spec.PreserveUnknownFields must be false to let API Server call webhook to do the conversion")
