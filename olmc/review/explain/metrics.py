"""The metrics that OLM's controllers would export about a settled cluster (R-CAT-900 … R-CAT-905)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName, Subscription
from olmc.compiler.olm.facts import is_copy_by_metadata
from olmc.compiler.olm.profiles.data import is_of_documents
from olmc.compiler.output.messages import clean
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.lean import NamedTuple

Labels = tuple[tuple[str, str], ...]


class Metric(NamedTuple):
    """A metric of the text format: name, type, help text, and the value for each set of labels."""

    name: str
    type: str
    help: str
    samples: Mapping[Labels, int]


def as_prometheus(settled: SettledCluster, *, legacy: bool = False, everything: bool = False) -> str:
    """The text format 0.0.4. `legacy`: with the labels that OLM's documents name (R-CAT-902), which the OLM of the
    documents has in any case; `everything`: with the metrics that only its code has (R-CAT-904), of which durations
    have counts only.
    """
    legacy = legacy or is_of_documents(settled.cluster.profile)
    found = [*_metrics(settled, legacy=legacy), *(_undocumented(settled) if everything else ())]
    return "".join(_shown(metric) for metric in sorted(found, key=lambda metric: metric.name) if metric.samples)


def _shown(metric: Metric) -> str:
    lines = [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.type}"]
    name = f"{metric.name}_count" if metric.type == "summary" else metric.name
    for labels, value in sorted(metric.samples.items()):
        pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        lines.append(f"{name}{{{pairs}}} {value}" if pairs else f"{name} {value}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return r"\n".join(clean(line).replace("\\", r"\\").replace('"', r"\"") for line in text.split("\n"))


def _metrics(settled: SettledCluster, *, legacy: bool) -> Iterator[Metric]:
    cluster = settled.cluster
    members = {name: member for name, member in cluster.members.items() if not is_copy_by_metadata(member.csv.object)}
    yield _count("catalog_source_count", "gauge", "Number of catalog sources", len(cluster.catalogs))
    abnormal = {_labels(n, m, phase=m.phase, reason=m.reason): 1 for n, m in members.items() if not m.succeeded}
    yield Metric("csv_abnormal", "gauge", "CSV is not installed", abnormal)
    yield _count("csv_count", "gauge", "Number of CSVs successfully registered", len(members))
    succeeded = {_labels(name, member): int(member.succeeded) for name, member in members.items()}
    yield Metric("csv_succeeded", "gauge", "Successful CSV install", succeeded)
    replacing = sum(member.phase == "Replacing" for member in members.values())
    upgrades = len(cluster.retired) + replacing
    yield _count("csv_upgrade_count", "counter", "Monotonic count of CSV upgrades", upgrades)
    yield _count("install_plan_count", "gauge", "Number of install plans", _kept_plans(cluster))
    yield _count("subscription_count", "gauge", "Number of subscriptions", len(cluster.subscriptions))
    syncs: Counter[Labels] = Counter()
    for name, subscription in cluster.subscriptions.items():
        syncs[_subscription_labels(subscription, legacy=legacy)] += 1 + _changes(name, settled)
    yield Metric("subscription_sync_total", "counter", "Monotonic count of subscription syncs", syncs)


def _count(name: str, kind: str, text: str, value: int) -> Metric:
    return Metric(name, kind, text, {(): value})


def _labels(name: NamespacedName, member: CsvState, **more: str) -> Labels:
    version = member.csv.version or "0.0.0"
    found = {"name": name.name, "namespace": name.namespace, "version": version, **more}
    return tuple(sorted(found.items()))


def _subscription_labels(subscription: Subscription, *, legacy: bool) -> Labels:
    found = {"channel": subscription.channel, "installed": subscription.installed, "name": subscription.name.name}
    if not legacy:
        found |= {"approval": subscription.approval, "package": subscription.package}
    return tuple(sorted(found.items()))


def _kept_plans(cluster: Cluster) -> int:
    """R-CAT-606."""
    return sum(len(cluster.kept_plans(namespace)) for namespace in {plan.namespace for plan in cluster.plans.values()})


def _changes(name: NamespacedName, settled: SettledCluster) -> int:
    """Return how often the installed CSV of a Subscription changed on the way (R-CAT-903)."""
    beginning, end = settled.beginning.subscriptions, settled.cluster.subscriptions
    states = (beginning, *(done.subscriptions for done in settled.history), end)
    seen = ["" if name not in beginning else beginning[name].installed]
    seen += [state[name].installed for state in states if name in state]
    return sum(before != after for before, after in pairwise(seen))


def _undocumented(settled: SettledCluster) -> Iterator[Metric]:
    catalogs = settled.cluster.catalogs.values()
    keys = [(("name", source.key.name), ("namespace", source.key.namespace)) for source in catalogs]
    ready: dict[Labels, int] = {key: int(not each.problem) for key, each in zip(keys, catalogs, strict=True)}
    text = (
        "State of a CatalogSource. 1 indicates that the CatalogSource is in a READY state. "
        "0 indicates CatalogSource is in a Non READY state."
    )
    yield Metric("catalogsource_ready", "gauge", text, ready)
    text = "The number of times the catalog operator has requested a snapshot of data from a catalog source"
    yield Metric("catalog_source_snapshots_total", "counter", text, dict.fromkeys(ready, 1))
    text = (
        "monotonic count of resources that generated warnings when applied as part of an InstallPlan "
        "(for example, due to deprecation)"
    )
    yield _count("installplan_warnings_total", "counter", text, 0)
    rounds = (*settled.history, *settled.rounds.values())
    outcomes = Counter("failed" if done.resolution and done.resolution.message else "succeeded" for done in rounds)
    samples: dict[Labels, int] = {(("outcome", outcome),): count for outcome, count in outcomes.items()}
    text = "The duration of a dependency resolution attempt"
    yield Metric("olm_resolution_duration_seconds", "summary", text, samples)
