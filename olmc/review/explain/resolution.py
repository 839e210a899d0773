"""The answers of the resolver in each namespace, hop by hop, and Subscriptions that are pinned to a version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from olmc.compiler.model.catalog import Candidate, InstalledEntry, Selection, of_package
from olmc.compiler.model.cluster import APPROVAL, Cluster, InstallPlan, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.facts import package_of, real_csvs
from olmc.compiler.output.document import aligned
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.resolver.explain import HeldUpgrade, reasons
from olmc.compiler.resolver.rounds import ResolutionRound
from olmc.compiler.resolver.snapshot import entry_of_candidate, entry_of_installed
from olmc.compiler.resolver.steps import Content, bundle_content, content_of
from olmc.compiler.resolver.upgrade_path import ChannelError, ordered, upgrade_path
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.api.restmapper import builtin_kinds, plural_of, rest_mapper
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Source, close_matches, did_you_mean, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK, APIResource, KubernetesObject, Manifest, gvk_of
from olmc.k8s.yaml import locate
from olmc.k8s.yaml.edit import EditError, set_text
from olmc.review.explain.installs import picked
from olmc.review.explain.provenance import held_upgrades, plan_of, unknown_of

if TYPE_CHECKING:
    from olmc.compiler.results import InstallDecision, OperatorResult

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
    """Return why upgrades don't lead from what is installed to `goal`, "" if they do or nothing is installed."""
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
    """Return the content of a Subscription's catalog in the channel that it follows."""
    source = cluster.catalogs.get(subscription.catalog)
    channel = subscription.channel
    for entry in of_package(source.entries, subscription.package) if source else ():
        if entry.channel == channel if channel else entry.default_channel:
            yield entry


def _error(
    subscription: Subscription | None, package: str, version: str, text: str, known: Sequence[str], meant: str
) -> PinError:
    near = close_matches(meant, known, 3, POSSIBLE) if meant else []
    others = f"Subscriptions ask for {join_limited(known, 8)}." if known else "The workspace has no Subscription."
    hint = did_you_mean(*near) or (f"List the versions with `olmc graph {package}`." if subscription else others)
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
        plans = [
            *waiting_before(namespace, settled),
            *(done.plan for done in settled.history if done.plan and done.plan.namespace == namespace),
        ]
        message = next(
            (resolution.message for resolution in (first, last) if resolution is not None and resolution.message), ""
        )
        found.append(
            NamespaceResolution(
                namespace,
                first.selections if first is not None else (),
                message,
                tuple((plan.approval, plan.csvs) for plan in plans),
                tuple(csv.name for csv in real_csvs(settled.cluster, namespace)),
                tuple(each for name, each in sorted(held.items()) if name.namespace == namespace),
            )
        )
    return tuple(found)


def waiting_before(namespace: str, settled: SettledCluster) -> Iterator[InstallPlan]:
    """The InstallPlans of a state that still wait for approval: as long as they do, OLM makes no others."""
    made = {done.plan.name for done in settled.history if done.plan and done.plan.namespace == namespace}
    cluster = settled.cluster
    for name, subscription in sorted(cluster.subscriptions.items()):
        plan = plan_of(subscription, cluster) if name.namespace == namespace else None
        if plan is None or plan.phase != APPROVAL or plan.name in made:
            continue
        made.add(plan.name)
        if not all(cluster.has_csv(NamespacedName(namespace, csv)) for csv in plan.csvs):
            yield plan


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
        installed, after = subscription.installed or "-", subscription.installed or "-"
        why = "can't be resolved" if subscription.failure else "not resolved"
        last = settled.rounds.get(name.namespace)
        if subscription.failure and last is not None and unknown_of(last, settled.cluster):
            why = "unknown"
        if subscription.installed and not subscription.failure:
            why = str(held) if held is not None else "nothing to upgrade to"
        plan = next((p for p in waiting_before(name.namespace, settled) if p.name == subscription.plan), None)
        if plan is not None and subscription.current in plan.csvs:
            after, why = subscription.current, f"InstallPlan {plan.name} waits for approval"
        channel = subscription.channel
        yield ResolutionHop(name.namespace, subscription.package, installed, after, channel, why)


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
    """The hops of Operators with what they need, Install by Install, or what keeps them where they are."""
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
    """Yield a hop for each bundle of an Install; none for one that was there before, or whose content is unknown."""
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
        yield from (
            ResolutionHop(namespace, package_of(csv.object), "-", csv.name, "-", f"{name}{waits}") for csv in csvs
        )


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


# Operators that somebody wants and that would not run: what they bring, and which APIs of others they wait for.

_ROUNDS = 3
"""The number of rounds with assumed APIs: some missing APIs show only after the first ones are served."""

C = TypeVar("C")


class WantedOperator(NamedTuple):
    """An operator that would not run: the namespace it is for, its content, in a few words why, and whether OLM would
    begin to install it."""

    namespace: str
    content: Content
    why: str
    is_chosen: bool = True

    @property
    def csv(self) -> Csv:
        """As it is written."""
        return Csv(self.content.csv.object, self.content.csv.source)


class WantedOperators(NamedTuple):
    """The operators that would not run, and a sentence about each of which not even the content is known."""

    known: tuple[WantedOperator, ...] = ()
    unknown: tuple[str, ...] = ()


def wanted_operators(settled: SettledCluster, workspace: Workspace) -> WantedOperators:
    """Yield the requests of Subscriptions that are not met, or not yet, and CSVs that don't succeed.

    `workspace` has the bundles; of a bundle by itself that one.
    """
    cluster = settled.cluster
    wanted: dict[tuple[str, str], WantedOperator] = {}
    unknown: list[str] = []
    for name, member in sorted(cluster.members.items()):
        stopped = name.name in settled.stopped
        broken = not member.succeeded and member.phase not in ("Replacing", "Deleting")
        if (broken or stopped) and member.csv.source is not None:
            bundle = workspace.bundles.get(name.name)
            content = Content(Manifest(member.csv.object, member.csv.source), ())
            content = bundle_content(bundle) if bundle is not None else content
            why = f"{member.phase}: {member.reason}" if member.phase else "it gets no status"
            why = "its installation ends early" if stopped else why
            wanted[name.namespace, name.name] = WantedOperator(name.namespace, content, why)
    for _, subscription in sorted(cluster.subscriptions.items()):
        for found in _asked(subscription, settled, workspace):
            if isinstance(found, str):
                unknown.append(found)
            else:
                wanted.setdefault((found.namespace, found.csv.name), found)
    return WantedOperators(tuple(wanted.values()), tuple(dict.fromkeys(unknown)))


def _asked(subscription: Subscription, settled: SettledCluster, workspace: Workspace) -> Iterator[WantedOperator | str]:
    """Return the version that a Subscription would install by its plan, or else the version that it asks for; a text
    for the unknown."""
    cluster, namespace = settled.cluster, subscription.name.namespace
    plan = plan_of(subscription, cluster)
    names = plan.csvs if plan is not None and plan.phase != "Complete" else ()
    entries = {entry.name: entry for source in cluster.catalogs.values() for entry in source.entries}
    why = ("waits for approval" if plan.phase == APPROVAL else f"its InstallPlan ends {plan.phase}") if plan else ""
    done = settled.rounds.get(namespace)
    missing = done.missing if done is not None else ()
    names = (*names, *(each.name for each in missing if each.package == subscription.package))
    is_chosen = bool(names)
    if not names and not subscription.installed:
        names, why = _head(subscription, cluster), "it can't be resolved"
        if not names:
            yield f"Subscription {subscription.name}: {_lacking(subscription, cluster)}"
    for name in names:
        bundle = workspace.bundles.get(name)
        entry = entries.get(name)
        content = content_of(workspace, cluster, entry) if entry is not None else None
        if content is None and bundle is not None:
            content = bundle_content(bundle)
        if content is None:
            yield f"Subscription {subscription.name}: the content of {name} is not here; vendor it"
        elif NamespacedName(namespace, name) not in cluster.members or (plan is not None and plan.phase == "Failed"):
            yield WantedOperator(namespace, content, why, is_chosen=is_chosen)


def _lacking(subscription: Subscription, cluster: Cluster) -> str:
    """Return why a Subscription leads to no version, as the catalogs of the workspace show it."""
    package, catalog = subscription.package, subscription.catalog.name
    source = cluster.catalogs.get(subscription.catalog)
    if source is None or source.catalog is None:
        return f"the workspace has no content of catalog {catalog}"
    if source.problem:
        return f"catalog {catalog} can't be served"
    if not any(of_package(source.entries, package)):
        return f"catalog {catalog} has no package {package}"
    if not any(channel_entries(cluster, subscription)):
        channel = f"channel {subscription.channel}" if subscription.channel else "default channel"
        return f"package {package} has no {channel}"
    return f"channel {subscription.channel or '(default)'} of package {package} has no head"


def _head(subscription: Subscription, cluster: Cluster) -> tuple[str, ...]:
    """The version with which a Subscription begins: its startingCSV, or the head of its channel."""
    entries = list(channel_entries(cluster, subscription))
    if subscription.starting_csv in {entry.name for entry in entries}:
        return (subscription.starting_csv,)
    try:
        return tuple(item.name for item in ordered([entry_of_candidate(entry) for entry in entries])[:1])
    except ChannelError:
        return ()


def outside_apis(settled: SettledCluster, workspace: Workspace, options: Options) -> tuple[APIResource, ...]:
    """The APIs that operators wait for and that nothing here brings: those of operators that somebody else installs.

    What Kubernetes itself serves, or has served, is not among them.
    """
    # What the resolver finds no operator for, no API of the cluster makes good.
    operators = [each for each in wanted_operators(settled, workspace).known if each.is_chosen]
    brought = [manifest.object for each in operators for _, manifest in each.content.others]
    wanted = [resource for each in operators for resource in (*required_apis(each.csv), *_kinds(each.content))]
    kubernetes = {kind.group for kind in builtin_kinds()}
    needed = [each for each in unserved(wanted, settled.cluster, brought, options) if each.group not in kubernetes]
    # Of one API the description in the CSV comes first, which has the plural.
    first = {(each.group, each.kind, each.versions): each for each in reversed(needed)}
    return tuple(sorted(first.values()))


def unserved(
    wanted: Iterable[APIResource], cluster: Cluster, brought: Iterable[KubernetesObject], options: Options
) -> Iterator[APIResource]:
    """Those of some APIs, each with one version, that nothing serves: not the cluster, with what is installed there and
    what is `brought`, nor what the options say of it."""
    there = (*(rendered.object for rendered in cluster.objects.values()), *brought)
    mapper, given_apis = rest_mapper(there, options.api_resources), frozenset(options.apis)
    for resource in dict.fromkeys(wanted):
        if not mapper.serves_kind(gvk_of_api(resource), given_apis, options.kube_version):
            yield resource


def gvk_of_api(resource: APIResource) -> GVK:
    """The kind of an API with one version."""
    return GVK(resource.group, resource.versions[0], resource.kind)


def required_apis(csv: Csv) -> Iterator[APIResource]:
    """The APIs that a CSV requires and does not bring itself."""
    owned = {item.name for item in csv.owned_crds}
    for crd in csv.required_crds:
        if crd.name not in owned:
            yield APIResource(crd.api.group, crd.kind, crd.plural, True, (crd.version,))
    provided = {item.api for item in csv.owned_apiservices}
    for service in csv.required_apiservices:
        if service.api not in provided:
            yield APIResource(service.group, service.kind, service.name, True, (service.version,))
    yield from map(api_of, csv.native_apis)


def _kinds(content: Content) -> Iterator[APIResource]:
    yield from (api_of(gvk_of(manifest.object)) for _, manifest in content.others)


def api_of(kind: GVK) -> APIResource:
    """A kind as an API that is served in its version."""
    return APIResource(kind.group, kind.kind, plural_of(kind.kind), True, (kind.version,))


def with_outside_apis(
    options: Options, compile_with: Callable[[Options], C], lacking: Callable[[C, Options], tuple[APIResource, ...]]
) -> tuple[C, tuple[APIResource, ...]]:
    """Return the compilation for a cluster that serves the missing APIs of other operators, and these APIs, () for
    none.

    `lacking` returns the APIs that a compilation lacks, as `outside_apis` does. A review needs the effect of a running
    operator, which is unknown while missing APIs keep it from running.
    """
    made = compile_with(options)
    assumed: tuple[APIResource, ...] = ()
    for _ in range(_ROUNDS):
        more = tuple(api for api in lacking(made, options) if api not in assumed)
        if not more:
            break
        assumed = tuple(sorted({*assumed, *more}))
        made = compile_with(options._replace(api_resources=(*options.api_resources, *assumed)))
    return made, assumed


def in_words(apis: Iterable[APIResource]) -> str:
    """APIs as `--api` takes them."""
    return ", ".join(f"{api.group}/{version}/{api.kind}" for api in apis for version in api.versions)
