"""Lints of what people write for OLM and OLM makes no use of: selectors, static groups, InstallPlans."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.check.lints import LintSubject, full_name, of_kind
from olmc.check.lints.olm_objects import PROVIDED_APIS
from olmc.diagnostics.rules import lints as rules
from olmc.kube.selectors import NamedLabelIndex, is_empty, problem
from olmc.model.cluster import NamespacedName
from olmc.model.diagnostics import Diagnostic
from olmc.model.objects import annotations_of, mapping, object_key, spec_of, status_of
from olmc.olm.catalog_sources import poll_interval
from olmc.reconcile.operator_groups import parse_apis
from olmc.yaml import at


def selectors(subject: LintSubject) -> Iterator[Diagnostic]:
    """Selectors of groups that count for nothing beside a list, or that no namespace has the labels for (R-OG-1)."""
    namespaces = NamedLabelIndex(subject.settled.cluster.namespaces if subject.settled else {})
    for manifest in of_kind(subject, "OperatorGroup"):
        spec = spec_of(manifest.object)
        selector = mapping(spec.get("selector"))
        if is_empty(selector):
            continue
        if spec.get("targetNamespaces"):
            rule = rules.IDLE_SELECTOR
        elif subject.settled and not problem(selector) and not namespaces.select(selector):
            rule = rules.SELECTS_NOTHING
        else:
            continue
        yield rule.finding(at(manifest.source, "spec", "selector"), name=full_name(manifest.object))


def static_groups(subject: LintSubject) -> Iterator[Diagnostic]:
    """Static groups whose annotation names no API, so that no member may provide any (R-OG-14, R-CSV-13)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        apis = annotations_of(manifest.object).get(PROVIDED_APIS)
        if spec_of(manifest.object).get("staticProvidedAPIs") is True and not parse_apis(str(apis or "")):
            place = at(manifest.source, "spec", "staticProvidedAPIs")
            yield rules.STATIC_WITHOUT_APIS.finding(place, name=full_name(manifest.object))


def poll_intervals(subject: LintSubject) -> Iterator[Diagnostic]:
    """Intervals of CatalogSources that are no duration, in whose place OLM takes 15 minutes (R-CAT-160)."""
    for manifest in of_kind(subject, "CatalogSource"):
        interval = poll_interval(spec_of(manifest.object))
        if interval and interval.problem:
            place = at(manifest.source, "spec", "updateStrategy", "registryPoll", "interval")
            yield rules.UNREADABLE_INTERVAL.finding(place, source=full_name(manifest.object), problem=interval.problem)


def plans_without_status(subject: LintSubject) -> Iterator[Diagnostic]:
    """InstallPlans that somebody wrote: OLM goes by the status alone, which only its resolver writes (R-CAT-600)."""
    plans = subject.settled.cluster.plans if subject.settled else {}
    resumed = {name for name, plan in plans.items() if plan.resumed}
    for manifest in of_kind(subject, "InstallPlan"):
        key, status = object_key(manifest.object), status_of(manifest.object)
        has_steps = status.get("plan") or status.get("bundleLookups")
        if not has_steps and NamespacedName(key.namespace, key.name) not in resumed:
            place = at(manifest.source, "metadata", "name")
            yield rules.PLAN_WITHOUT_STATUS.finding(place, name=full_name(manifest.object))
