"""What the resolver answers in each namespace, hop by hop, and Subscriptions that are pinned to a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmc.diagnostics.rules import reconcile as rules
from olmc.explain.installs import picked
from olmc.explain.provenance import held_upgrades
from olmc.explain.status import package_of
from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, InstalledEntry, Selection
from olmc.model.cluster import Cluster, NamespacedName, Subscription
from olmc.model.diagnostics import POSSIBLE, Diagnostic, Source, close_matches, did_you_mean
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.served_entries import of_package
from olmc.output.text import aligned
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.explain import HeldUpgrade, reasons
from olmc.resolver.rounds import ResolutionRound
from olmc.resolver.snapshot import entry_of_candidate, entry_of_installed
from olmc.resolver.upgrade_path import ChannelError, ordered, upgrade_path
from olmc.yaml import locate
from olmc.yaml.edit import EditError, set_text

if TYPE_CHECKING:
    from olmc.proposed.v2alpha1.approval import InstallDecision, OperatorResult


_PATCH = """\
Add a patch to the kustomization.yaml of this folder:
  patches:
  - target: {{kind: Subscription, name: {subscription}}}
    patch: |-
      - {{op: add, path: /spec/installPlanApproval, value: Manual}}
      - {{op: add, path: /spec/startingCSV, value: {name}}}"""


class PinError(ValueError):
    """A pin that can't be set; `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def pinned(cluster: Cluster, package: str, version: str, *, is_built: bool = False) -> tuple[Source, ...]:
    """The files in which the Subscriptions to `package` are pinned to `version` (a version or a CSV's name).

    `cluster` is the state before anything is resolved; with `is_built` its objects are what kustomize builds, of which
    no file is to be edited. Raises PinError if there is no such Subscription or entry, if
    the entry can't be reached from what is installed, or if the file can't be edited safely.
    """
    found = [s for _, s in sorted(cluster.subscriptions.items()) if s.package == package and s.source is not None]
    if not found:
        known = sorted({s.package for s in cluster.subscriptions.values()})
        raise _error(None, package, version, "no Subscription in the workspace asks for this package", known, package)
    edited: dict[str, Source] = {}
    for subscription in found:
        source = subscription.source
        if source is None:
            continue
        name = _entry_name(cluster, subscription, version)
        if is_built:
            hint = _PATCH.format(subscription=subscription.name.name, name=name)
            text = "its Subscription is built by kustomize, and no file has it as it is applied"
            raise PinError(rules.PIN_IMPOSSIBLE.finding(None, package=package, version=version, text=text, hint=hint))
        current = edited.get(source.path, source)._replace(document=source.document, prefix=source.prefix)
        try:
            current = set_text(current, ("spec", "installPlanApproval"), "Manual")
            edited[source.path] = set_text(current, ("spec", "startingCSV"), name)
        except EditError as error:
            hint = f"Write it by hand: spec.installPlanApproval: Manual, and spec.startingCSV: {name}."
            place = locate(source, error.keys, of_key=True)
            found_error = rules.PIN_IMPOSSIBLE.finding(place, package=package, version=version, text=error, hint=hint)
            raise PinError(found_error) from error
    return tuple(edited.values())


def _entry_name(cluster: Cluster, subscription: Subscription, version: str) -> str:
    """The CSV's name of the entry that a version names, in the Subscription's channel."""
    package = subscription.package
    entries = tuple(channel_entries(cluster, subscription))
    fitting = [entry for entry in entries if version in (entry.name, entry.version)]
    if not fitting:
        where = f"channel {subscription.channel or '(default)'} of catalog {subscription.catalog.name}"
        known = [entry.version for entry in entries] + [entry.name for entry in entries]
        raise _error(subscription, package, version, f"{where} has no such entry", known, version)
    hindrance = obstacle(cluster, subscription, entries, fitting[0].name)
    if hindrance:
        raise _error(subscription, package, version, hindrance, (), "")
    return fitting[0].name


def obstacle(cluster: Cluster, subscription: Subscription, entries: Sequence[Candidate], goal: str) -> str:
    """Why upgrades don't lead from what is installed to `goal`, "" if they do or nothing is installed."""
    if not subscription.installed:
        return ""
    csv = cluster.csvs.get(NamespacedName(subscription.name.namespace, subscription.installed))
    version = csv.version if csv else ""
    try:
        chain = ordered([entry_of_candidate(entry) for entry in entries])
    except ChannelError as error:
        return str(error)
    path = upgrade_path(chain, entry_of_installed(InstalledEntry(subscription.installed, version, ()), ""))
    if goal in path:
        return ""
    there = f"{subscription.installed} is installed, and "
    if len(path) == 1:
        return f"{there}no upgrade leads from it"
    return f"{there}its upgrades go to {', then '.join(path[1:])}"


def channel_entries(cluster: Cluster, subscription: Subscription) -> Iterator[Candidate]:
    """What the catalog of a Subscription serves in the channel that it follows."""
    source = cluster.catalogs.get(subscription.catalog)
    channel = subscription.channel
    for entry in of_package(source.entries, subscription.package) if source else ():
        if entry.channel == channel if channel else entry.default_channel:
            yield entry


def _error(
    subscription: Subscription | None, package: str, version: str, text: str, known: Sequence[str], meant: str
) -> PinError:
    near = close_matches(meant, known, 3, POSSIBLE) if meant else []
    hint = did_you_mean(*near) or f"See what there is with `olmc graph {package}`."
    source = subscription.source if subscription else None
    place = locate(source, ("spec",)) if source is not None else None
    return PinError(rules.PIN_IMPOSSIBLE.finding(place, package=package, version=version, text=text, hint=hint))


FORMAT_VERSION = 1


class ResolutionHop(NamedTuple):
    """A line of the table: in a namespace, an operator goes from one version to another, and why."""

    namespace: str
    operator: str
    before: str
    after: str
    channel: str
    why: str


class NamespaceResolution(NamedTuple):
    """A namespace: what is selected first, OLM's message if that fails, the plans until rest, the CSVs at rest, and the
    upgrades that are held back there."""

    namespace: str
    solution: tuple[Selection, ...]
    message: str
    plans: tuple[tuple[str, tuple[str, ...]], ...]
    settled: tuple[str, ...]
    held: tuple[HeldUpgrade, ...] = ()


def resolutions(settled: SettledCluster) -> tuple[NamespaceResolution, ...]:
    """The resolution of every namespace with Subscriptions, by name."""
    held = held_upgrades(settled)
    found = []
    for namespace in sorted(settled.rounds):
        first, last = settled.first[namespace].resolution, settled.rounds[namespace].resolution
        plans = [done.plan for done in settled.history if done.plan and done.plan.namespace == namespace]
        message = next(
            (resolution.message for resolution in (first, last) if resolution is not None and resolution.message), ""
        )
        found.append(
            NamespaceResolution(
                namespace,
                first.selections if first is not None else (),
                message,
                tuple((plan.approval, plan.csvs) for plan in plans),
                tuple(csv.name for csv in settled.cluster.csvs_in(namespace)),
                tuple(each for name, each in sorted(held.items()) if name.namespace == namespace),
            )
        )
    return tuple(found)


def as_data(
    found: Sequence[NamespaceResolution], operators: Sequence[OperatorResult] = (),
    extensions: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    """The resolutions, and what became of Operators and ClusterExtensions (these as data already), in the format of
    `schemas/resolution.schema.json`."""
    of_operators = {"operators": _operators_data(operators)} if operators else {}
    of_extensions = {"extensions": list(extensions)} if extensions else {}
    return {
        "version": FORMAT_VERSION,
        "namespaces": [
            {
                "namespace": one.namespace,
                "solution": [_selected(selection) for selection in one.solution],
                "message": one.message,
                "plans": [{"approval": approval, "install": list(names)} for approval, names in one.plans],
                "settled": list(one.settled),
                **({"held": [_held_data(held) for held in one.held]} if one.held else {}),
            }
            for one in found
        ],
        **of_operators,
        **of_extensions,
    }


def _selected(selection: Selection) -> dict[str, str]:
    candidate = selection.candidate
    return {
        "name": candidate.name,
        "package": candidate.package,
        "version": candidate.version,
        "channel": candidate.channel,
        "catalog": candidate.catalog.name,
        "catalogNamespace": candidate.catalog.namespace,
        "replaces": selection.replaces,
    }


def hops(settled: SettledCluster) -> Iterator[ResolutionHop]:
    """The hops of all plans in order, then what stays as it is."""
    moving: set[tuple[str, str]] = set()
    held_back = held_upgrades(settled)
    for done in settled.history:
        for hop in _hops_of(done):
            moving.add((hop.namespace, hop.operator))
            yield hop
    for name, subscription in sorted(settled.cluster.subscriptions.items()):
        held = held_back.get(name)
        if held is None and (name.namespace, subscription.package) in moving:
            continue
        installed = subscription.installed or "-"
        why = "can't be resolved" if subscription.failure else "not resolved"
        if subscription.installed and not subscription.failure:
            why = str(held) if held is not None else "nothing to upgrade to"
        channel = subscription.channel
        yield ResolutionHop(name.namespace, subscription.package, installed, installed, channel, why)


def _held_data(held: HeldUpgrade) -> dict[str, Any]:
    return {
        "subscription": held.request.name,
        "upgrade": held.upgrade,
        "reasons": [
            {"text": reason.text, "location": str(reason.location) if reason.location else ""}
            for reason in held.reasons
        ],
    }


def _hops_of(done: ResolutionRound) -> Iterator[ResolutionHop]:
    if done.resolve_request is None or done.resolution is None or done.plan is None:
        return
    present = {csv.name for csv in done.resolve_request.present}
    waits = "" if done.plan.approved else "; waits for approval"
    for selection, reason in zip(done.resolution.selections, reasons(done.resolve_request), strict=True):
        candidate = selection.candidate
        if candidate.name in done.plan.csvs:
            before = selection.replaces if selection.replaces in present else "-"
            why = f"{reason}{waits}"
            yield ResolutionHop(done.plan.namespace, candidate.package, before, candidate.name, candidate.channel, why)


def operator_hops(operators: Sequence[OperatorResult]) -> Iterator[ResolutionHop]:
    """The hops of Operators of v2alpha1 with what they need, Install by Install, or what keeps them where they are."""
    for outcome in operators:
        name, image = f"Operator {outcome.operator.name}", bool(outcome.operator.image)
        rows = [hop for install in outcome.installs for hop in _hops_of_install(install, name, is_image=image)]
        yield from rows
        why = f"{name} can't be installed" if outcome.missing or outcome.problem else ""
        why = f"{name} can't be resolved" if outcome.failure else why
        if not rows and outcome.installed:
            why = why or "nothing to upgrade to"
        if why:
            installed = outcome.installed or "-"
            namespace = next((judged.content.namespace for judged in outcome.installs if judged.applied), "-")
            package = outcome.package or outcome.operator.name
            yield ResolutionHop(namespace, package, installed, installed, outcome.channel or "-", why)


def _hops_of_install(judged: InstallDecision, name: str, *, is_image: bool) -> Iterator[ResolutionHop]:
    """A hop for each bundle of an Install; none for one that was there before, or whose content nobody has."""
    if judged.content.missing or judged.content.problem:
        return
    namespace, waits = judged.content.namespace, "" if judged.applied else "; waits for approval"
    present = {entry.name for entry in judged.resolve_request.present} if judged.resolve_request is not None else set()
    for selection, reason, _ in picked(judged):
        before = selection.replaces if selection.replaces in present else "-"
        candidate = selection.candidate
        why = f"{reason}{waits}"
        yield ResolutionHop(namespace, candidate.package, before, candidate.name, candidate.channel, why)
    if is_image:
        csvs = (Csv(step.object) for step in judged.content.steps if step.kind == CSV_KIND)
        yield from (ResolutionHop(namespace, package_of(csv), "-", csv.name, "-", f"{name}{waits}") for csv in csvs)


def _operators_data(operators: Sequence[OperatorResult]) -> list[dict[str, Any]]:
    return [
        {
            "name": outcome.operator.name,
            "installed": outcome.installed,
            "installs": [
                {
                    "name": judged.install.name,
                    "applied": judged.applied,
                    "solution": [_selected(selection) for selection in judged.selections],
                }
                for judged in outcome.installs
            ],
            "message": outcome.failure[1] if outcome.failure else outcome.problem,
        }
        for outcome in operators
    ]


def as_table(rows: Sequence[ResolutionHop]) -> str:
    """The hops as aligned columns, "" for none."""
    if not rows:
        return ""
    return aligned([ResolutionHop("NAMESPACE", "OPERATOR", "FROM", "TO", "CHANNEL", "WHY"), *rows])
