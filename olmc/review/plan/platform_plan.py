"""The plan for moving the cluster to another release: a row for each operator, the messages of OLM, the tasks in order;
as text for terminals, as Markdown for pull requests, and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from olmc.compiler.catalogs.content import csv_of, inline_objects
from olmc.compiler.model.catalog import Candidate, InstalledEntry
from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName, Subscription, namespaced_name
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import is_copy_by_metadata, package_of, properties_of
from olmc.compiler.olm.naming import BLOCKED_REASON, MAXIMUM, Release, maximum_of_values
from olmc.compiler.output.document import (
    LIMIT,
    Group,
    OutputDocument,
    PageItem,
    Section,
    aligned,
    code,
    code_cell,
    fence,
    fitting,
    table_head,
    table_row,
    within,
)
from olmc.compiler.output.messages import clean, in_black, in_color, json_text
from olmc.compiler.reconcile.requirements import kube_version_problem
from olmc.compiler.resolver.rounds import UnreadablePropertiesError, present_of
from olmc.compiler.resolver.snapshot import Entry, entry_of_candidate, entry_of_installed
from olmc.compiler.resolver.upgrade_path import ChannelError, ordered, upgrade_path, upgrades
from olmc.k8s.diagnostics import Report, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey, Manifest
from olmc.k8s.semver import range_or_none, tolerant_or_none
from olmc.k8s.yaml import locate
from olmc.review.plan.platform import (
    VERDICTS,
    ClusterPlatform,
    LostManifest,
    MoveFinding,
    MoveVerdict,
    OperatorFacts,
    PlatformMove,
    blocking_messages,
    facts_of,
    findings_of,
    gravest,
    installed_facts,
    lost_manifests,
    upgradeable_refusal,
)

# What the catalogs before and after a move of the cluster have for an operator: whether it is stranded, and which
# version gets it over.


class CatalogsMove(NamedTuple):
    """The catalogs before and after, by what they are called, and the bundles whose content is known, by CSV.

    `known`: of which catalogs somebody has stated what they hold after the move; the others stay as they are.
    """

    old: Mapping[CatalogKey, CatalogSource]
    new: Mapping[CatalogKey, CatalogSource]
    known: frozenset[CatalogKey]
    bundles: Mapping[str, Bundle]


class SubscribedOperator(NamedTuple):
    """An installed operator with the Subscription that asks for it; `is_fit`: nothing but its catalog may be in its way
    when the cluster moves."""

    csv: Csv
    subscription: Subscription
    installed: InstalledEntry
    is_fit: bool

    @property
    def entry(self) -> Entry:
        """It as the resolver sees it."""
        return entry_of_installed(self.installed, self.csv.namespace)


class ClusterMoveStep(NamedTuple):
    """The way of an operator over the move: upgrade it to a version, before or after the cluster moves.

    `channel`: the one to subscribe to ("" for that which it has); `csvs`: those that OLM installs on the way, the last
    one stays, () for none; `approved_only`: OLM would continue from there, unless a plan needs an approval.
    """

    is_before: bool
    channel: str
    csvs: tuple[str, ...]
    entry: Entry | None
    approved_only: bool = False

    @property
    def version(self) -> str:
        """The version that it ends with, "" where it stays."""
        return self.entry.origin.version if self.entry is not None else ""


def stranding(operator: SubscribedOperator, catalogs: CatalogsMove) -> MoveFinding | None:
    """Report that the catalog after the move has no way on for an operator (observed-38, observed-39, observed-70)."""
    subscription = operator.subscription
    key, package = subscription.catalog, subscription.package
    if key not in catalogs.known:
        return None
    source = catalogs.new[key]
    channels = channels_of(source, package)
    channel = subscription.channel or (channels[0] if channels else "")
    if not channels:
        return MoveFinding("stranded", f"the next catalog {key.name} has no package {package}", "R-CAT-571")
    if channel not in channels:
        text = f"the next catalog {key.name} has no channel {channel} of it, only {join_limited(channels, 6)}"
        return MoveFinding("stranded", text, "R-CAT-571")
    if not is_accepted(operator.entry, source, package, channel):
        text = f"channel {channel} of the next catalog {key.name} has neither {operator.csv.name} nor an upgrade of it"
        return MoveFinding("stranded", text, "R-CAT-410")
    return None


def channels_of(source: CatalogSource, package: str) -> list[str]:
    """The channels of a package, the default one first."""
    entries = [entry for entry in source.entries if entry.package == package]
    return list(dict.fromkeys(e.channel for e in sorted(entries, key=lambda e: (not e.default_channel, e.channel))))


def is_accepted(entry: Entry, source: CatalogSource, package: str, channel: str) -> bool:
    """Return whether a channel has a CSV, or an upgrade of it."""
    chain = _chain(source, package, channel)
    return any(e.name == entry.name for e in _in_channel(source, package, channel)) or any(
        upgrades(e, entry) for e in chain
    )


def _in_channel(source: CatalogSource, package: str, channel: str) -> list[Candidate]:
    return [entry for entry in source.entries if (entry.package, entry.channel) == (package, channel)]


def _chain(source: CatalogSource, package: str, channel: str) -> tuple[Entry, ...]:
    try:
        return ordered([entry_of_candidate(entry) for entry in _in_channel(source, package, channel)])
    except ChannelError:
        return ()  # which nothing is installed from


def step_for(
    operator: SubscribedOperator, findings: Iterable[MoveFinding], move: PlatformMove, catalogs: CatalogsMove
) -> ClusterMoveStep | None:
    """Return the smallest way of an operator with these findings over the move; None if no catalog has one.

    An operator that blocks has to be upgraded before; any other one rather before than after.
    """
    before = _steps(operator, move, catalogs, is_before=True)
    step = next(before, None)
    if step is not None or any(finding.verdict == "blocked" for finding in findings):
        return step
    return next(_steps(operator, move, catalogs, is_before=False), None)


def _steps(
    operator: SubscribedOperator, move: PlatformMove, catalogs: CatalogsMove, *, is_before: bool
) -> Iterator[ClusterMoveStep]:
    """The steps that help, those in the channel that it has first; the end of an upgrade before versions on the way."""
    subscription, start = operator.subscription, operator.entry
    source = (catalogs.old if is_before else catalogs.new).get(subscription.catalog)
    if source is None:
        return
    package = subscription.package
    channels = channels_of(source, package)
    own = subscription.channel or (channels[0] if channels else "")
    for channel in sorted(channels, key=lambda name: name != own):
        chain = _chain(source, package, channel)
        by_name = {entry.name: entry for entry in chain}
        passed = upgrade_path(chain, start)
        for index in sorted(range(len(passed)), key=lambda at: (at != len(passed) - 1, at)):
            stop = by_name.get(passed[index], start if index == 0 else None)
            if stop is None or (index == 0 and not _may_stay(operator, channel, own, source)):
                continue
            if index and not _fits(facts_of_entry(stop, source, catalogs), move, is_before=is_before):
                continue
            if is_before and not _is_known_after(stop, subscription, channel, catalogs):
                continue
            goes_on = index < len(passed) - 1 and subscription.approval != "Manual"
            wanted = channel if channel != own else ""
            yield ClusterMoveStep(is_before, wanted, passed[1 : index + 1], stop if index else None, goes_on)


def _may_stay(operator: SubscribedOperator, channel: str, own: str, source: CatalogSource) -> bool:
    """Return whether it helps to subscribe to another channel, with the version that is installed."""
    is_there = is_accepted(operator.entry, source, operator.subscription.package, channel)
    return channel != own and is_there and operator.is_fit


def _is_known_after(stop: Entry, subscription: Subscription, channel: str, catalogs: CatalogsMove) -> bool:
    if subscription.catalog not in catalogs.known:
        return True
    return is_accepted(stop, catalogs.new[subscription.catalog], subscription.package, channel)


def _fits(facts: OperatorFacts, move: PlatformMove, *, is_before: bool) -> bool:
    """Return whether a version goes along with the move, and runs on the platform that it is installed on."""
    platform: ClusterPlatform = move.old if is_before else move.new
    runs = not kube_version_problem(facts.min_kube_version, platform.kube_version)
    harmful = (finding for finding in findings_of(facts, move) if is_before or finding.verdict != "blocked")
    return runs and not any(harmful)


def facts_of_entry(entry: Entry, source: CatalogSource, catalogs: CatalogsMove) -> OperatorFacts:
    """The facts about a version in a catalog, as far as its bundle is known."""
    maximum = maximum_of_values(prop.value for prop in entry.properties if prop.type == MAXIMUM)
    bundle = catalogs.bundles.get(entry.name)
    if bundle is not None:
        return facts_of(Csv(bundle.csv.object), bundle.objects, maximum)
    package = source.catalog.packages.get(entry.package) if source.catalog is not None else None
    listed = package.bundles.get(entry.name) if package is not None else None
    if package is None or listed is None:
        return OperatorFacts(maximum)
    csv = csv_of(package, listed, Report())
    return facts_of(Csv(csv or {}), inline_objects(listed, Report()), maximum)


class MovedOperator(NamedTuple):
    """The effect of the move on an operator: the installed CSV, the verdict with its reasons, and its way over the move
    (None: unknown, or not needed).

    `held`: the operator's reason against its own upgrade, "" for none. `subscription` is None for an operator without
    one. `number` is its olm.maxOpenShiftVersion where that is a number and no text, else "".
    """

    namespace: str
    package: str
    csv: str
    version: str
    channel: str
    verdict: MoveVerdict
    findings: tuple[MoveFinding, ...] = ()
    step: ClusterMoveStep | None = None
    held: str = ""
    subscription: Subscription | None = None
    number: str = ""

    @property
    def name(self) -> NamespacedName:
        return NamespacedName(self.namespace, self.csv)


class MoveTask(NamedTuple):
    """Something that a person has to do; `stage` is before the cluster moves, the move itself, or after it."""

    stage: str
    text: str
    command: str = ""


class PlatformPlan(NamedTuple):
    """The effects of a move on operators, by OLM's rules for each release on the way, and on manifests, and the tasks.

    `unknown`: the catalogs whose content after the move is not stated.
    """

    move: PlatformMove
    operators: tuple[MovedOperator, ...]
    messages: tuple[tuple[Release, str], ...]
    manifests: tuple[LostManifest, ...]
    unknown: tuple[CatalogKey, ...]
    tasks: tuple[MoveTask, ...]

    @property
    def is_clean(self) -> bool:
        """Return whether the cluster can move as it is."""
        return not self.manifests and all(operator.verdict == "clean" for operator in self.operators)


def platform_plan(
    cluster: Cluster, manifests: Iterable[Manifest], move: PlatformMove, catalogs: CatalogsMove, olm_version: str
) -> PlatformPlan:
    """The plan for a cluster at rest to which these manifests are applied."""
    asked = {NamespacedName(name.namespace, s.installed): s for name, s in cluster.subscriptions.items() if s.installed}
    installed = [csv for csv in cluster.csvs.values() if not is_copy_by_metadata(csv.object)]
    present = {namespaced_name(csv): _present(csv, cluster) for csv in installed}
    rows = [
        _row(csv, asked.get(name := namespaced_name(csv)), present[name], cluster, move, catalogs) for csv in installed
    ]
    rows.sort(key=lambda row: (row.namespace, row.package, row.csv))
    lost = lost_manifests(manifests, cluster, move)
    used = {row.subscription.catalog for row in rows if row.subscription is not None}
    unknown = tuple(sorted(used - catalogs.known))
    tasks = (*_before(rows, present, lost), MoveTask("move", f"Move the cluster to {move.new}."), *_after(rows))
    messages = blocking_messages(cluster, move, olm_version)
    return PlatformPlan(move, tuple(rows), messages, lost, unknown, tasks)


def _present(csv: Csv, cluster: Cluster) -> InstalledEntry:
    try:
        return present_of(csv, cluster, cluster.subscriptions)
    except UnreadablePropertiesError:
        return InstalledEntry(csv.name, csv.version, (), csv.replaces)


def with_catalogs(
    cluster: Cluster, given: Mapping[CatalogKey, CatalogSource], bundles: Mapping[str, Bundle]
) -> CatalogsMove:
    """The catalogs of a cluster, and those that take the place of some of them after the move."""
    return CatalogsMove(cluster.catalogs, {**cluster.catalogs, **given}, frozenset(given), bundles)


def _row(
    csv: Csv, subscription: Subscription | None, present: InstalledEntry, cluster: Cluster, move: PlatformMove,
    catalogs: CatalogsMove,
) -> MovedOperator:  # fmt: skip
    findings = list(findings_of(installed_facts(csv, cluster), move))
    step = None
    if subscription is not None:
        operator = SubscribedOperator(csv, subscription, present, not findings)
        stranded = stranding(operator, catalogs)
        findings += [stranded] if stranded is not None else []
        step = step_for(operator, findings, move, catalogs) if findings else None
    held = upgradeable_refusal(csv, cluster)
    if held and step is not None and step.entry is not None:
        findings.append(MoveFinding("blocked", f"it forbids its own upgrade, which is needed: {held}", "R-CSV-15a"))
    package, channel = (subscription.package, subscription.channel) if subscription is not None else ("", "")
    findings.sort(key=lambda finding: gravest([finding]) != gravest(findings))
    return MovedOperator(
        csv.namespace, package or package_of(csv.object), csv.name, csv.version, channel, gravest(findings),
        tuple(findings), step, held, subscription, _number(csv),
    )  # fmt: skip


def _number(csv: Csv) -> str:
    """The olm.maxOpenShiftVersion of a CSV that is written without quotes, "" for one that is a text."""
    values = (prop.value for prop in properties_of(csv.object) if prop.type == MAXIMUM)
    return next((f"{value:g}" for value in values if isinstance(value, float | int)), "")


def _before(
    rows: Sequence[MovedOperator], present: Mapping[NamespacedName, InstalledEntry], lost: Iterable[LostManifest]
) -> Iterator[MoveTask]:
    early = [row for row in rows if row.step is not None and row.step.is_before]
    for row in in_order(early, present):
        if row.held and row.step is not None and row.step.entry is not None:
            patch = (
                '\'{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Move","message":"move"}]}}\''
            )
            yield MoveTask(
                "before",
                f"{row.name} says that it must not be upgraded ({row.held}). See to that; an override lets it through.",
                f"kubectl -n {row.namespace} patch operatorcondition {row.csv} --type merge -p {patch}",
            )
        yield _upgrade(row, "before")
    for row in rows:
        if row.verdict in ("blocked", "broken") and row.step is None:
            if row.number:
                yield MoveTask(
                    "before",
                    f"{row.name}: its bundle has {MAXIMUM}: {row.number} as a number, which blocks the move. A number "
                    f"loses its last zero: if {row.number}0 is meant, have the bundle say it as a text, in quotes.",
                )
                continue
            away = "it keeps the cluster where it is" if row.verdict == "blocked" else "it does not work there"
            yield MoveTask(
                "before",
                f"{row.name}: no version that is known gets over the move, and {away}. Ask its vendor for one, or "
                "uninstall it.",
                f"kubectl -n {row.namespace} delete clusterserviceversion {row.csv}"
                if row.verdict == "blocked"
                else "",
            )
    for manifest in lost:
        yield MoveTask("before", f"{manifest.location}: write {manifest.key} in another apiVersion: {manifest.text}.")


def _after(rows: Iterable[MovedOperator]) -> Iterator[MoveTask]:
    for row in rows:
        if row.step is not None and not row.step.is_before:
            yield _upgrade(row, "after")
        elif row.verdict == "stranded" and row.step is None:
            yield MoveTask(
                "after",
                f"{row.name} stays as it is for good: subscribe to another package or catalog, or uninstall it.",
            )


def _upgrade(row: MovedOperator, stage: str) -> MoveTask:
    step, subscription = row.step, row.subscription
    assert step is not None
    assert subscription is not None
    place = locate(subscription.source, ("spec", "channel")) if subscription.source is not None else None
    where = f" ({place})" if place is not None and place.path else ""
    to = f"upgrade {row.package} in {row.namespace} to {step.version} ({' → '.join((row.csv, *step.csvs))})"
    parts = []
    if step.approved_only:
        parts.append("set installPlanApproval: Manual, so that it goes no further")
    if step.channel:
        parts.append(f"set the channel of Subscription {subscription.name} to {step.channel}{where}")
    if step.entry is not None:
        parts.append(to)
    if step.csvs and (subscription.approval == "Manual" or step.approved_only):
        parts.append(f"approve {', '.join(step.csvs)}")
    text = "; ".join(parts)
    return MoveTask(stage, f"{text[:1].upper()}{text[1:]}.")


def in_order(
    rows: Sequence[MovedOperator], present: Mapping[NamespacedName, InstalledEntry]
) -> tuple[MovedOperator, ...]:
    """The operators in an order in which each finds what it needs when its turn comes.

    What a new version needs, and only a new version of another operator has, comes first; what an installed version
    needs, and a new version of its provider no longer has, comes after it. In a circle they go by name: OLM resolves a
    namespace at once.
    """
    sorter: TopologicalSorter[NamespacedName] = TopologicalSorter({row.name: () for row in rows})
    for row in rows:
        for other in rows:
            if row is other or row.step is None or other.step is None:
                continue
            if _needs_new(row.step.entry, other, present) or _loses(other, present[other.name], row):
                sorter.add(row.name, other.name)
    by_name = {row.name: row for row in rows}
    try:
        return tuple(by_name[name] for name in sorter.static_order())
    except CycleError:
        return tuple(rows)


def _needs_new(entry: Entry | None, other: MovedOperator, present: Mapping[NamespacedName, InstalledEntry]) -> bool:
    """Return whether a new version needs what only the new version of another operator has."""
    target = other.step.entry if other.step is not None else None
    if entry is None or target is None:
        return False
    old, new = _offers(present[other.name]), _offers(target)
    return any(_is_met(need, new) and not _is_met(need, old) for need in _needs(entry))


def _loses(user: MovedOperator, installed: InstalledEntry, provider: MovedOperator) -> bool:
    """Return whether the installed version of an operator needs what the new version of its provider no longer has."""
    target = provider.step.entry if provider.step is not None else None
    if target is None or user.step is None or user.step.entry is None:
        return False
    new = _offers(target)
    same = {package for kind, package, _ in new if kind == "package"}
    needs = (need for need in _needs(installed) if need[0] == "package" and need[1] in same)
    return any(not _is_met(need, new) for need in needs)


_Need = tuple[str, str, str]


def _offers(entry: Entry | InstalledEntry) -> set[_Need]:
    """The packages, with versions, and the APIs that a version provides."""
    offers: set[_Need] = set()
    for prop in entry.properties:
        value = prop.value if isinstance(prop.value, dict) else {}
        if prop.type == "olm.package":
            offers.add(("package", str(value.get("packageName")), str(value.get("version"))))
        elif prop.type == "olm.gvk":
            offers.add(("api", f"{value.get('group')}/{value.get('version')}/{value.get('kind')}", ""))
    return offers


def _needs(entry: Entry | InstalledEntry) -> Iterator[_Need]:
    """The packages, with ranges, and the APIs that a version requires."""
    for prop in entry.properties:
        value = prop.value if isinstance(prop.value, dict) else {}
        if prop.type == "olm.package.required":
            yield "package", str(value.get("packageName")), str(value.get("versionRange"))
        elif prop.type == "olm.gvk.required":
            yield "api", f"{value.get('group')}/{value.get('version')}/{value.get('kind')}", ""


def _is_met(need: _Need, offers: Iterable[_Need]) -> bool:
    kind, name, versions = need
    contained = range_or_none(versions)
    for offered in offers:
        if offered[:2] != (kind, name):
            continue
        version = tolerant_or_none(offered[2])
        if kind == "api" or (contained is not None and version is not None and contained.contains(version)):
            return True
    return False


PLATFORM_FORMAT = 1
"""The version of the JSON format, `schemas/platform-upgrade.schema.json`."""

_COLUMNS = ("NAMESPACE", "OPERATOR", "VERSION", "CHANNEL", "MOVE", "WHY")
_OLM_SAYS = f"What OLM says (ClusterOperator operator-lifecycle-manager, Upgradeable=False, {BLOCKED_REASON})"
_WITHOUT_WARNING = "Problems without a warning of OLM"
_TO_DO = "What to do, in this order"


def as_text(plan: PlatformPlan, *, color: bool = False, verbose: bool = False) -> str:
    """The plan: a table with a row for each operator, OLM's message, what it leaves out, and what to do.

    With `verbose` every finding has a line of its own, also where the table has it.
    """
    paint = in_color if color else in_black
    lines = [paint(headline(plan), "bold")]
    if plan.operators:
        rows = [_cells(operator) for operator in plan.operators]
        short = aligned([_COLUMNS[:-1], *(row[:-1] for row in rows)])
        causes = ["" if row[-1] == "-" else row[-1] for row in rows]
        lines += ["", *fitting(aligned([_COLUMNS, *rows]), short, causes)]
    for heading, body in _sections(plan, verbose):
        lines += ["", paint(heading, "bold"), *(f"  {line}" for line in body)]
    return "".join(f"{line}\n" for line in lines)


def headline(plan: PlatformPlan) -> str:
    """The move, and how many operators go along with it."""
    counts = [f"{count} {verdict}" for verdict in VERDICTS if (count := _count(plan, verdict))]
    counts += [f"{len(plan.manifests)} manifest{'s' * (len(plan.manifests) != 1)} lost"] if plan.manifests else []
    return f"{plan.move.old} → {plan.move.new}: {', '.join(counts) or 'no operators'}"


def _count(plan: PlatformPlan, verdict: str) -> int:
    return sum(operator.verdict == verdict for operator in plan.operators)


def _sections(plan: PlatformPlan, verbose: bool) -> Iterator[tuple[str, list[str]]]:
    sections = ((_OLM_SAYS, _messages(plan)), (_WITHOUT_WARNING, _unsaid(plan, verbose)), (_TO_DO, _tasks(plan)))
    for heading, body in sections:
        listed = list(body)
        if listed:
            yield heading, listed


def _messages(plan: PlatformPlan) -> Iterator[str]:
    for release, message in plan.messages:
        if len(plan.messages) > 1:
            yield "before {}.{}:".format(*release)
        yield from (clean(line) for line in message.splitlines())


def _unsaid(plan: PlatformPlan, verbose: bool) -> Iterator[str]:
    for operator in plan.operators:
        for finding in operator.findings if verbose else operator.findings[1:]:
            if verbose or finding.verdict != "blocked":
                yield clean(f"{operator.name}: {finding.verdict}: {finding.text}")
        if operator.held and operator.verdict != "blocked":
            yield clean(f"{operator.name}: OLM does not upgrade it for the time being: {operator.held}")
    for manifest in plan.manifests:
        yield clean(f"{manifest.location}: {manifest.key}: {manifest.text}")
    for key in plan.unknown:
        yield clean(f"what the catalog {key.name} holds after the move is not known: --to-catalog {key.name}=FOLDER")


def _tasks(plan: PlatformPlan) -> Iterator[str]:
    if plan.is_clean:
        return
    for number, task in enumerate(plan.tasks, 1):
        yield clean(f"{number}. {task.text}")
        if task.command:
            yield clean(f"   $ {task.command}")


def _cells(operator: MovedOperator) -> list[str]:
    more = len(operator.findings) - 1
    why = operator.findings[0].text + (f" (and {more} more)" if more > 0 else "") if operator.findings else ""
    cells = (operator.namespace, operator.package, operator.version, operator.channel, operator.verdict, why)
    return [clean(cell) or "-" for cell in cells]


def as_markdown(plan: PlatformPlan, limit: int = LIMIT) -> str:
    """Return the plan as a comment for a pull request of at most `limit` characters; a part that is cut says so."""
    sections = []
    if plan.operators:
        rows = tuple(PageItem(table_row(map(code_cell, _cells(operator)))) for operator in plan.operators)
        head = table_head(list(map(str.capitalize, _COLUMNS)))
        sections.append(Section(head, (Group(rows),), "| … | {} more | | | | |\n", weight=3))
    if plan.messages:
        lines = tuple(PageItem(f"{line}\n") for line in _messages(plan))
        border = fence("".join(line.text for line in lines))
        group = Group(lines, f"{border}text\n", f"{border}\n", "… and {} more lines\n")
        sections.append(Section(f"\n**{_OLM_SAYS}**\n\n", (group,), "… left out, as it is too long\n"))
    for heading, body in (_WITHOUT_WARNING, [*_unsaid(plan, verbose=False)]), (_TO_DO, [*_task_items(plan)]):
        if body:
            listed = tuple(PageItem(f"- {code(line)}\n") for line in body)
            sections.append(Section(f"\n**{heading}**\n\n", (Group(listed),), "- … and {} more\n", weight=2))
    return within(OutputDocument(f"### {clean(headline(plan))}\n\n", tuple(sections)), limit)


def _task_items(plan: PlatformPlan) -> Iterator[str]:
    if not plan.is_clean:
        for number, task in enumerate(plan.tasks, 1):
            yield f"{number}. {task.text}" + (f" {task.command}" if task.command else "")


def as_json(plan: PlatformPlan) -> str:
    """The plan in the format of `schemas/platform-upgrade.schema.json`."""
    return json_text(as_data(plan)) + "\n"


def as_data(plan: PlatformPlan) -> dict[str, Any]:
    """The plan as data."""
    return {
        "version": PLATFORM_FORMAT,
        "from": _platform(plan.move.old),
        "to": _platform(plan.move.new),
        "operators": [_operator(operator) for operator in plan.operators],
        "messages": [{"release": "{}.{}".format(*release), "text": message} for release, message in plan.messages],
        "manifests": [
            {"object": item.key._asdict(), "place": str(item.location), "text": item.text} for item in plan.manifests
        ],
        "unknownCatalogs": [{"namespace": key.namespace, "name": key.name} for key in plan.unknown],
        "tasks": [task._asdict() for task in plan.tasks],
    }


def _platform(platform: ClusterPlatform) -> dict[str, str]:
    release = "{}.{}".format(*platform.release) if platform.release is not None else ""
    return {"openshift": release, "kubernetes": platform.kube_version}


def _operator(operator: MovedOperator) -> dict[str, Any]:
    step = operator.step
    return {
        "namespace": operator.namespace,
        "package": operator.package,
        "csv": operator.csv,
        "version": operator.version,
        "channel": operator.channel,
        "verdict": operator.verdict,
        "findings": [finding._asdict() for finding in operator.findings],
        "held": operator.held,
        "step": None
        if step is None
        else {
            "when": "before" if step.is_before else "after",
            "channel": step.channel,
            "csvs": list(step.csvs),
            "version": step.version,
            "approvedOnly": step.approved_only,
        },
    }
