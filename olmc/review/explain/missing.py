"""Explain why an object is absent: its possible providers, and the reasons against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any

from olmc.compiler.catalogs.content import has_inline_content
from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import original_of, package_of
from olmc.compiler.output.document import paragraph
from olmc.compiler.output.messages import moved, not_found
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.reconcile.operator_groups import CONFLICT
from olmc.compiler.resolver.explain import ExplanationLine
from olmc.compiler.resolver.steps import (
    Content,
    UndecodableCSVError,
    bundle_content,
    csv_object,
    inline_content,
    strategy_steps,
)
from olmc.k8s.diagnostics import Location, RefusedObject
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Origin,
    Rendered,
    object_key,
)
from olmc.k8s.yaml import at, located
from olmc.review.explain.installs import followed, of_install, of_operator, of_waiting
from olmc.review.explain.provenance import (
    asked_for,
    because,
    deeper,
    held_upgrades,
    location_of,
    of_csv,
    of_held_upgrade,
    of_plan,
    of_stop,
    of_subscription,
    place_data,
    unknown_of,
)
from olmc.review.explain.status import (
    ExplainContext,
    Wanted,
    is_copied,
    lines_data,
    lines_from,
    object_names,
    package_of_csv,
    subscribing,
    target,
)
from olmc.targets.pipeline import PROPOSED

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome, OperatorResult

_NO_CATALOG = CatalogKey("", "")


def why_absent(wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Explain why an object is absent; nothing for an object that no input creates."""
    settled = scene.settled
    kinds = {(kind.group, kind.kind) for kind in wanted.kinds}
    yield from _refused(wanted.name, {kind.kind for kind in wanted.kinds}, scene)
    if (OLM_GROUP, CSV_KIND) in kinds:
        yield from _deleted_copies(wanted, scene)
        yield from why_no_csv(wanted.namespace, wanted.name, "", scene)
        return
    if (OLM_GROUP, "Subscription") in kinds:
        yield from _no_subscription(wanted, settled)
    unexecuted = tuple(_unexecuted(wanted, settled.cluster))
    yield from unexecuted
    for maker in () if unexecuted else makers(wanted, scene):
        yield from _not_made(maker, wanted, scene)
    if (APIEXTENSIONS, CRD_KIND) in kinds:
        yield from _required_by(wanted.name, settled.cluster)


def _refused(name: str, kinds: Set[str], scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield the API server's errors for an object in a file of the workspace."""
    for found in scene.diagnostics:
        cause = found.cause
        if isinstance(cause, RefusedObject) and cause.kind in kinds and cause.name == name:
            yield ExplanationLine(0, found.message, found.location)


def _deleted_copies(wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Report that OLM deletes a copy of a CSV that a manifest holds, and why (R-COPY-2, R-COPY-3, R-COPY-5,
    R-COPY-7)."""
    for manifest in scene.manifests:
        original = original_of(manifest.object)
        if original is None or not wanted.is_met_by(object_key(manifest.object)):
            continue
        namespace = object_key(manifest.object).namespace
        text = f"it was the copy of {CSV_KIND} {original}, and OLM deletes it"
        yield ExplanationLine(0, text, at(manifest.source, "metadata", "labels"))
        yield from deeper(_why_no_copy(original, namespace, scene.settled.cluster))


def _why_no_copy(original: NamespacedName, namespace: str, cluster: Cluster) -> Iterator[ExplanationLine]:
    member = cluster.members.get(original)
    if member is None:
        yield ExplanationLine(0, f"there is no {CSV_KIND} {original} any more")
        return
    if member.reason == CONFLICT:
        place = at(member.csv.source)
        yield ExplanationLine(0, f"{CSV_KIND} {original} is {member.phase} ({member.reason})", place)
        return
    # Of one that has no group, or failed because of it, the copies stay (observed-52).
    if member.group is not None and not member.group.is_global and namespace not in member.group.targets:
        watched = ", ".join(member.group.targets) or "no namespace"
        text = f"OperatorGroup {member.group.name} of namespace {original.namespace} targets {watched}"
        yield ExplanationLine(0, text, at(member.group.source, "spec"))
    else:
        yield ExplanationLine(0, f"copies of {CSV_KIND} {original} are switched off", at(member.csv.source))


def _not_made(maker: Maker, wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield why a CSV does not bring what it would bring."""
    csv, cluster = maker.csv, scene.settled.cluster
    name = NamespacedName(maker.namespace, csv.name)
    member = cluster.members.get(name)
    if member is None:
        yield ExplanationLine(0, f"{CSV_KIND} {csv.name} would bring it, and is not installed", maker.place)
        yield from deeper(why_no_csv(wanted.namespace, csv.name, "", scene))
    elif wanted.namespace and wanted.namespace != maker.namespace:
        yield ExplanationLine(0, f"{CSV_KIND} {name} brings it in namespace {maker.namespace} only", maker.place)
    else:
        state = f"{member.phase} ({member.reason})" if member.phase else "without a phase"
        rest = "; this is of its bundle, and was not installed with it" if member.succeeded else ""
        yield ExplanationLine(0, f"{CSV_KIND} {name} would bring it, and is {state}{rest}", maker.place)
        yield from deeper(of_csv(member, cluster))


def why_no_csv(namespace: str, csv: str, package: str, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield why a CSV ("": any of the package) is not in a namespace ("": in none at all)."""
    cluster = scene.settled.cluster
    elsewhere = [name for name in sorted(cluster.csvs) if name.name == csv]
    # The right namespace helps most after a request for a CSV in a wrong one.
    for name in elsewhere:
        yield ExplanationLine(0, f"it is in namespace {name.namespace}", at(cluster.csvs[name].source))
    package = package or package_of_csv(csv, scene)
    yield from _replaced(namespace, csv, cluster)
    if not package:
        return
    followers = [name for name in subscribing(package, cluster) if namespace in ("", name.namespace)]
    for name in followers:
        yield from _not_by(name, csv, scene.settled)
    refused = [each for each in scene.manifests if _subscribes(each, package, namespace, cluster)]
    for manifest in refused:
        yield from _refused(object_key(manifest.object).name, {"Subscription"}, scene)
    asking = [each for each in scene.operators if each.package == package]
    for outcome in asking:
        has = f", and has {outcome.installed or 'nothing'} installed"
        follows = f"Operator {outcome.operator.name} follows package {package}{has}"
        yield ExplanationLine(0, follows, at(outcome.operator.source, "metadata", "name"))
        yield from deeper(of_operator(outcome))
    # An Install that waits explains its content better than the lack of a Subscription does.
    bringing = [] if elsewhere else [o for o in scene.operators if o not in asking and _would_bring(o, csv, package)]
    for outcome in bringing:
        yield from _by_waiting(outcome)
    extending = [each for each in scene.extensions if each.extension.source.package == package]
    for result in extending:
        yield from _by_extension(result)
    if not followers and not elsewhere and not refused and not asking and not bringing and not extending:
        where = f" in namespace {namespace}" if namespace else ""
        who = "no Operator and no Subscription" if scene.operators else "no Subscription"
        place = _place_in_catalog(csv, package, cluster)
        yield ExplanationLine(0, f"{who}{where} asks for {f'its package {package}' if csv else 'it'}", place)
        yield from _provided_by(csv, package, scene)


def _by_extension(result: ExtensionOutcome) -> Iterator[ExplanationLine]:
    """Report that a ClusterExtension installs the bundles of a package, of which OLM v1 applies no CSV."""
    has = f"{result.installed.name if result.installed is not None else 'nothing'} installed"
    name = result.extension.name
    yield ExplanationLine(
        0, f"ClusterExtension {name} asks for package {result.extension.source.package}", at(result.manifest.source)
    )
    yield ExplanationLine(1, f"it has {has}; OLM v1 applies the objects of a bundle without its ClusterServiceVersion")


def _would_bring(outcome: OperatorResult, csv: str, package: str) -> bool:
    """Return whether an Install that waits has a CSV ("": any of the package) among what it would install."""
    selections = outcome.waiting.selections if outcome.waiting else ()
    return any(
        (selection.candidate.name == csv) if csv else (selection.candidate.package == package)
        for selection in selections
    )


def _by_waiting(outcome: OperatorResult) -> Iterator[ExplanationLine]:
    if outcome.waiting:
        text = f"Install {outcome.waiting.install.name} of Operator {outcome.operator.name} would bring it"
        yield ExplanationLine(0, text, at(outcome.operator.source, "metadata", "name"))
        yield from deeper(of_waiting(outcome.waiting))


def _replaced(namespace: str, csv: str, cluster: Cluster) -> Iterator[ExplanationLine]:
    for old in cluster.retired:
        if old.name != csv or namespace not in ("", old.namespace):
            continue
        heirs = [each for each in (*cluster.csvs.values(), *cluster.retired) if each.replaces == csv]
        for heir in (each for each in heirs if each.namespace == old.namespace):
            text = f"it was installed in namespace {old.namespace}, and {heir.name} replaced it"
            yield ExplanationLine(0, text, at(heir.source))


def _not_by(name: NamespacedName, csv: str, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield why a Subscription for its package does not install a CSV: something prevents it, or it has another one."""
    cluster = settled.cluster
    subscription = cluster.subscriptions[name]
    if csv and csv == subscription.installed:
        return
    channel = subscription.channel
    follows = f"Subscription {name} follows channel {channel}" if channel else f"Subscription {name} names no channel"
    has = f", and has {subscription.installed} installed" if subscription.installed else ", and has nothing installed"
    yield ExplanationLine(0, follows + has, at(subscription.source))
    channels = {
        entry.channel: entry for source in cluster.catalogs.values() for entry in source.entries if entry.name == csv
    }
    if csv and channel and channels and channel not in channels:
        first = channels[min(channels)]
        yield ExplanationLine(
            1, f"{csv} is not in that channel, but in {', '.join(sorted(channels))}", located(first.location)
        )
    yield from deeper(of_subscription(name, settled))
    held = held_upgrades(settled).get(name)
    if held is not None:
        yield from deeper(of_held_upgrade(held))


def _subscribes(manifest: Manifest, package: str, namespace: str, cluster: Cluster) -> bool:
    """Return whether a manifest is a Subscription for a package that the cluster does not have."""
    key, spec = object_key(manifest.object), manifest.object.get("spec")
    return (
        (key.group, key.kind) == (OLM_GROUP, "Subscription")
        and isinstance(spec, dict)
        and spec.get("name") == package
        and namespace in ("", key.namespace)
        and NamespacedName(key.namespace, key.name) not in cluster.subscriptions
    )


def _place_in_catalog(csv: str, package: str, cluster: Cluster) -> Location | None:
    """Return where a catalog has a CSV, or the package."""
    for source in cluster.catalogs.values():
        for entry in source.entries:
            if entry.package == package and csv in ("", entry.name):
                return located(entry.location)
    return None


def _provided_by(csv: str, package: str, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield where it could be had: the catalogs that serve the package, or a bundle that none of them lists."""
    catalogs = sorted(
        key.name
        for key, source in scene.settled.cluster.catalogs.items()
        if source.catalog is not None and package in source.catalog.packages
    )
    if catalogs:
        yield ExplanationLine(1, f"catalog {', '.join(catalogs)} serves it")
        return
    for bundle in scene.bundles.values():
        if bundle.package == package and csv in ("", bundle.name):
            text = f"no catalog serves the bundle in {bundle.directory or 'the workspace'}"
            yield ExplanationLine(1, text, at(bundle.csv.source))


def _no_subscription(wanted: Wanted, settled: SettledCluster) -> Iterator[ExplanationLine]:
    for name in subscribing(wanted.name, settled.cluster):
        yield ExplanationLine(0, f"Subscription {name} is the one for package {wanted.name}")


def _unexecuted(wanted: Wanted, cluster: Cluster) -> Iterator[ExplanationLine]:
    """InstallPlans that have the object as a step that they never came to."""
    for plan in cluster.plans.values():
        for number, step in enumerate(plan.steps[plan.reached :], plan.reached + 1):
            if step.name == wanted.name and step.kind in {kind.kind for kind in wanted.kinds}:
                text = f"step {number} of InstallPlan {plan.namespace}/{plan.name} would make it"
                yield ExplanationLine(0, text, at(step.source))
                yield from deeper(of_plan(plan, cluster))


def _required_by(name: str, cluster: Cluster) -> Iterator[ExplanationLine]:
    for csv in cluster.csvs.values():
        for index, item in enumerate(csv.required_crds):
            if item.name == name:
                place = at(csv.source, "spec", "customresourcedefinitions", "required", index)
                yield ExplanationLine(
                    0,
                    f"{CSV_KIND} {csv.namespace}/{csv.name} requires it, and the workspace does not contain it",
                    place,
                )


class Maker(NamedTuple):
    """A CSV that would bring an object, the namespace that it is in ("" for one that is not), and where it says so."""

    csv: Csv
    namespace: str
    place: Location | None


def makers(wanted: Wanted, scene: ExplainContext) -> tuple[Maker, ...]:
    """The CSVs that would bring an object, each once for its namespace; those of the cluster first."""
    found: dict[tuple[str, str], Maker] = {}
    for maker in (*_installed(wanted, scene), *_available(wanted, scene)):
        # A CSV of the cluster comes first: it is nearer to the object than a bundle that was never installed.
        found.setdefault((maker.namespace, maker.csv.name), maker)
    return tuple(found.values())


def _installed(wanted: Wanted, scene: ExplainContext) -> Iterator[Maker]:
    for name, csv in sorted(scene.settled.cluster.csvs.items()):
        for place in _in_strategy(csv, wanted, scene.settled.cluster.profile):
            yield Maker(csv, name.namespace, place)


def _available(wanted: Wanted, scene: ExplainContext) -> Iterator[Maker]:
    """The CSVs of bundles in the workspace and in catalogs, under the namespaces where they are installed."""
    homes: dict[str, list[str]] = {}
    for name in sorted(scene.settled.cluster.csvs):
        homes.setdefault(name.name, []).append(name.namespace)
    profile = scene.settled.cluster.profile
    for content in _contents(scene):
        try:
            csv = Csv(csv_object(content, wanted.namespace, "", "", profile), content.csv.source)
        except UndecodableCSVError:
            continue
        places = [at(manifest.source) for _, manifest in content.others if _is(manifest.object, wanted)]
        if csv.name not in homes:
            places += _in_strategy(csv, wanted, profile)
        for place in places:
            yield from (Maker(csv, namespace, place) for namespace in homes.get(csv.name, [""]))


def _contents(scene: ExplainContext) -> Iterator[Content]:
    yield from map(bundle_content, scene.bundles.values())
    for source in scene.settled.cluster.catalogs.values():
        for package in source.catalog.packages.values() if source.catalog is not None else ():
            for bundle in package.bundles.values():
                content = inline_content(bundle) if has_inline_content(bundle) else None
                if content is not None:
                    yield content


def _is(obj: KubernetesObject, wanted: Wanted) -> bool:
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return obj.get("kind") in {kind.kind for kind in wanted.kinds} and name == wanted.name


def brought_names(wanted: Wanted, scene: ExplainContext) -> list[str]:
    """The names of the objects of the wanted kinds that bundles and catalogs would bring."""
    kinds = {kind.kind for kind in wanted.kinds}
    names: set[str] = set()
    for content in _contents(scene):
        csv = Csv(content.csv.object)
        names |= {str(obj.name) for obj in csv.deployments if "Deployment" in kinds}
        names |= set(csv.service_account_names if "ServiceAccount" in kinds else ())
        others = (object_key(manifest.object) for _, manifest in content.others)
        names |= {key.name for key in others if key.kind in kinds}
    return sorted(names)


def _in_strategy(csv: Csv, wanted: Wanted, profile: Profile) -> list[Location | None]:
    """Return where a CSV's install strategy has a Deployment, or an account and its RBAC; at most one place."""
    kinds = {kind.kind for kind in wanted.kinds}
    if "Deployment" in kinds:
        for index, deployment in enumerate(csv.deployments):
            if deployment.name == wanted.name:
                return [at(csv.source, "spec", "install", "spec", "deployments", index)]
    for step in strategy_steps(csv, _NO_CATALOG, csv.source, profile):
        if step.kind in kinds and step.name == wanted.name:
            return [at(csv.source, "spec", "install", "spec")]
    return []


# Where an object comes from, and of one that is absent or fails what prevents it.

FORMAT_VERSION = 1
PRESENT, FAILING, ABSENT, UNKNOWN = "present", "failing", "absent", "unknown"


class WhyAnswer(NamedTuple):
    """The explanation of an object: whether it is there, its origin, and the causes, step by step.

    `stage` and `rule` are the pass that writes it and the rule that the pass implements, "" for an absent one.
    """

    what: ObjectKey
    state: str
    stage: str
    rule: str
    place: Location | None
    lines: tuple[ExplanationLine, ...]


def why(text: str, scene: ExplainContext) -> tuple[WhyAnswer, ...]:
    """Return the answers about a target (see `targets.target`); QueryError for an unknown one."""
    meant = target(text, scene)
    if meant.package:
        return tuple(_about_package(meant.package, scene))
    if meant.absent is not None:
        return _absent(text, meant.absent, scene)
    return tuple(_about(found, scene) for found in meant.objects)


def _about(found: Rendered, scene: ExplainContext) -> WhyAnswer:
    settled = scene.settled
    key, provenance, cluster = found.identity, found.provenance, settled.cluster
    name = NamespacedName(key.namespace, key.name)
    member = cluster.members.get(name) if key.kind == CSV_KIND and key.group == OLM_GROUP else None
    hindered = tuple(_hindered(key, settled))
    lines = [*hindered, *because(found, settled, scene.operators, scene.installs)]
    if member is not None:
        lines = [
            *_state(member, hindered),
            *asked_for(member.csv, settled, scene.operators, scene.installs),
            *_held_back(member, settled),
        ]
    state = UNKNOWN if _is_unknown(key, settled) else FAILING if hindered and not _waits(key, cluster) else PRESENT
    rule = provenance.rule if provenance.rule.startswith("R-") else ""
    answer = WhyAnswer(key, state, provenance.stage, rule, location_of(found, cluster), tuple(lines))
    answer = _about_operator_or_install(answer, scene) if found.object["apiVersion"] in PROPOSED.kinds else answer
    return _about_v1(answer, found, scene) if scene.extensions else answer


def _held_back(member: CsvState, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """The upgrade of a CSV that OLM holds back, with the reasons."""
    subscriptions = settled.cluster.subscriptions.within(member.csv.namespace)
    for name, held in held_upgrades(settled).items() if subscriptions else ():
        if name in subscriptions and subscriptions[name].installed == member.csv.name:
            yield from of_held_upgrade(held)


def _about_v1(answer: WhyAnswer, found: Rendered, scene: ExplainContext) -> WhyAnswer:
    """The answer about a ClusterExtension, or about what one has installed."""
    from olmc.review.explain.extensions import about_extension, behind_object  # most workspaces have none

    if found.provenance.origin is Origin.EXTENSION:
        return answer._replace(lines=tuple(behind_object(answer.what, scene.extensions)))
    for result in scene.extensions if answer.what.kind == "ClusterExtension" else ():
        if result.extension.name == answer.what.name:
            return answer._replace(
                state=FAILING if result.problem else answer.state, lines=tuple(about_extension(result))
            )
    return answer


def _about_operator_or_install(answer: WhyAnswer, scene: ExplainContext) -> WhyAnswer:
    """The answer about an Operator or an Install, with what it installed, and what keeps it from installing."""
    kind, name = answer.what.kind, answer.what.name
    for outcome in scene.operators if kind == "Operator" else ():
        if outcome.operator.name == name:
            broken = bool(outcome.failure or outcome.missing or outcome.problem)
            lines = (*of_operator(outcome), *_behind_operator(outcome))
            return answer._replace(state=FAILING if broken else answer.state, lines=lines)
    for judged in scene.installs if kind == "Install" else ():
        if judged.install.name == name:
            broken = bool(judged.content.missing or judged.content.problem)
            lines = tuple(of_install(judged, scene.operators))
            return answer._replace(state=FAILING if broken else answer.state, lines=lines)
    return answer


def _behind_operator(outcome: OperatorResult) -> Iterator[ExplanationLine]:
    if outcome.operator.catalog is not None or outcome.operator.image:
        yield followed(outcome)
    for judged in outcome.installs:
        if judged.applied:
            csvs = ", ".join(str(obj["metadata"]["name"]) for obj in judged.content.objects if obj["kind"] == CSV_KIND)
            yield ExplanationLine(0, f"Install {judged.install.name} installed {csvs}")


def _hindered(key: ObjectKey, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """Yield the problems of an object of OLM itself."""
    cluster, name = settled.cluster, NamespacedName(key.namespace, key.name)
    if key.group != OLM_GROUP:
        return
    if key.kind == CSV_KIND and name in cluster.members:
        yield from of_csv(cluster.members[name], cluster)
        yield from of_stop(name, settled)
        for plan in cluster.plans.values() if not cluster.members[name].succeeded else ():
            if plan.phase == "Failed" and plan.namespace == name.namespace and name.name in plan.csvs:
                yield from of_plan(plan, cluster)
    elif key.kind == "Subscription" and name in cluster.subscriptions:
        subscription = cluster.subscriptions[name]
        yield from of_subscription(name, settled)
        installed = cluster.members.get(NamespacedName(key.namespace, subscription.installed))
        if installed is not None and not installed.succeeded:
            yield ExplanationLine(
                0, f"{installed.csv.name}, which it installed, is {installed.phase or 'without a phase'}"
            )
            yield from deeper(of_csv(installed, cluster))
    elif key.kind == "InstallPlan":
        for plan in cluster.plans.values():
            if (plan.namespace, plan.name) == name and plan.given is None:
                yield from of_plan(plan, cluster)
    elif key.kind == "OperatorGroup":
        for group in cluster.groups_in(key.namespace):
            if group.name == key.name and group.problem:
                yield ExplanationLine(0, f"it can't be processed: {group.problem}")


def _waits(key: ObjectKey, cluster: Cluster) -> bool:
    """Return whether all that an object lacks is that somebody approves."""
    plans = [plan for plan in cluster.plans.values() if plan.namespace == key.namespace]
    if key.kind == "Subscription":
        subscription = cluster.subscriptions.get(NamespacedName(key.namespace, key.name))
        plans = [plan for plan in plans if subscription is not None and plan.name == subscription.plan]
        broken = subscription is None or subscription.failure is not None
        return not broken and bool(plans) and all(plan.phase == "RequiresApproval" for plan in plans)
    if key.kind == "InstallPlan":
        return any(plan.name == key.name and plan.phase == "RequiresApproval" for plan in plans)
    return False


def _is_unknown(key: ObjectKey, settled: SettledCluster) -> bool:
    """Tell whether a Subscription has installed nothing, and the workspace lacks the content of its catalog or the
    namespace of its OperatorGroup."""
    if key.kind != "Subscription":
        return False
    subscription = settled.cluster.subscriptions.get(NamespacedName(key.namespace, key.name))
    done = settled.rounds.get(key.namespace)
    if subscription is None or subscription.installed:
        return False
    if settled.cluster.unplaced_groups(key.namespace):
        return True
    return done is not None and subscription.catalog in unknown_of(done, settled.cluster)


def _state(member: CsvState, hindered: Sequence[ExplanationLine]) -> Iterator[ExplanationLine]:
    """The phase of a CSV with its cause, if it has one."""
    phase = f"it is {member.phase} ({member.reason})" if member.phase else "it has no phase"
    if not hindered or member.succeeded:
        yield ExplanationLine(0, phase)
        yield from hindered
        return
    yield hindered[0]._replace(text=f"{phase}: {hindered[0].text}")
    yield from hindered[1:]


def _about_package(package: str, scene: ExplainContext) -> Iterator[WhyAnswer]:
    """Every Subscription and Operator for a package with what they installed; without one, why there is none."""
    cluster = scene.settled.cluster
    objects = {found.identity: found for found in scene.objects}
    names = subscribing(package, cluster)
    csvs = {NamespacedName(name.namespace, cluster.subscriptions[name].installed) for name in names}
    free = [key for key, csv in sorted(cluster.csvs.items()) if key not in csvs and package_of(csv.object) == package]
    for name in names:
        found = objects.get(ObjectKey(OLM_GROUP, "Subscription", *name))
        if found is not None:
            yield _about(found, scene)
        csv = objects.get(csv_identity(NamespacedName(name.namespace, cluster.subscriptions[name].installed)))
        if csv is not None:
            yield _about(csv, scene)
    following = [outcome.operator.name for outcome in scene.operators if outcome.package == package]
    for operator in following:
        yield _about(objects[ObjectKey(OLM_GROUP, "Operator", "", operator)], scene)
    for name in free:
        yield from (_about(found, scene) for found in scene.objects if found.identity == csv_identity(name))
    extending = [result.manifest.object for result in scene.extensions if result.extension.source.package == package]
    for key in map(object_key, extending):
        yield from (_about(found, scene) for found in scene.objects if found.identity == key)
    if not (names or free or following or extending):
        lines = why_no_csv("", "", package, scene)
        yield WhyAnswer(ObjectKey("", "Package", "", package), ABSENT, "", "", None, tuple(lines))


def csv_identity(name: NamespacedName) -> ObjectKey:
    """The identity of a CSV."""
    return ObjectKey(OLM_GROUP, CSV_KIND, *name)


def _refused_of_why(wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield why the API server refuses a ClusterExtension."""
    if any(kind.kind == "ClusterExtension" for kind in wanted.kinds) and scene.extensions:
        from olmc.review.explain.extensions import refused_extension  # most workspaces have none

        yield from refused_extension(wanted.name, scene.extensions)


def _absent(text: str, wanted: Wanted, scene: ExplainContext) -> tuple[WhyAnswer, ...]:
    """Return why an object is not there; where nothing would make it, the answers about those whose names begin so."""
    lines = (*_left_out(wanted, scene), *_refused_of_why(wanted, scene), *why_absent(wanted, scene))
    if lines:
        kind = wanted.kinds[0]
        key = ObjectKey(kind.group, kind.kind, wanted.namespace, wanted.name)
        return (WhyAnswer(key, ABSENT, "", "", None, lines),)
    longer = tuple(found for found in scene.objects if wanted.begins(found.identity) and not is_copied(found))
    if longer:
        return tuple(_about(found, scene) for found in longer)
    names = [name for name in brought_names(wanted, scene) if name.startswith(wanted.name) and name != wanted.name]
    if names:
        return tuple(answer for name in names for answer in _absent(text, wanted._replace(name=name), scene))
    kinds = {each.kind for each in wanted.kinds}
    alike = [str(found.identity) for found in scene.objects if found.identity.kind in kinds]
    raise not_found(
        f"There is no {text}, and the workspace has no source of it", text, sorted(alike), object_names(scene)
    )


def _left_out(wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Yield where an object stands that is not compiled, and why it is not."""
    for left in scene.left_out:
        if any(wanted.is_met_by(each.identity) for each in left.objects):
            yield ExplanationLine(0, f"it is left out, {left.reason.text}; other tools would apply it", left.location)


def answers_from(folder: str, answers: Iterable[WhyAnswer], cluster: Sequence[str] = ()) -> tuple[WhyAnswer, ...]:
    """The answers about the workspace in `folder`, with places and commands as one gives them where one stands;
    `cluster` are the values of --from."""
    return tuple(
        answer._replace(place=moved(folder, answer.place), lines=lines_from(folder, answer.lines, cluster))
        for answer in answers
    )


def as_text(answers: Sequence[WhyAnswer]) -> str:
    """The answers one below the other."""
    return "\n".join("".join(_shown(answer)) for answer in answers)


def _shown(answer: WhyAnswer) -> Iterator[str]:
    states = {
        PRESENT: "is there", FAILING: "is there and does not work", ABSENT: "is not there",
        UNKNOWN: "is there; its operator is unknown",
    }  # fmt: skip
    yield paragraph(f"{answer.what} {states[answer.state]}")
    if answer.place is not None:
        yield paragraph(f"from {answer.place}", "  ", "    ")
    if answer.stage:
        rule = f", rule {answer.rule}" if answer.rule else ""
        yield paragraph(f"written by pass {answer.stage}{rule}", "  ", "    ")
    for line in answer.lines:
        text = str(line)
        indent = " " * (len(text) - len(text.lstrip()))
        yield paragraph(text.lstrip(), f"  {indent}", f"    {indent}")


def as_data(text: str, answers: Sequence[WhyAnswer]) -> dict[str, Any]:
    """The answers in the format of `schemas/why.schema.json`."""
    from olmc.compiler.rules.rulebook import rule_url

    return {
        "version": FORMAT_VERSION,
        "target": text,
        "answers": [
            {
                "object": answer.what._asdict(),
                "state": answer.state,
                "pass": answer.stage,
                "rule": answer.rule,
                "ruleUrl": rule_url(answer.rule),
                "place": place_data(answer.place),
                "because": lines_data(answer.lines),
            }
            for answer in answers
        ],
    }
