"""Upgrades that never come, Subscriptions of a namespace that hold each other up, and what does not help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from olmc.compiler.model.catalog import Candidate as Entry
from olmc.compiler.model.catalog import Property, of_package
from olmc.compiler.model.cluster import APPROVAL, InstallPlan, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import package_of, real_csvs
from olmc.compiler.olm.profiles.data import init_command
from olmc.compiler.reconcile.diagnose import unseen_catalog
from olmc.compiler.reconcile.unresolved import held_finding
from olmc.compiler.resolver.upgrade_path import edge_kind, skips_over
from olmc.compiler.rules.findings import lints
from olmc.compiler.rules.findings.reconcile import NOT_SATISFIABLE
from olmc.k8s.diagnostics import Diagnostic, close_matches, join_limited
from olmc.k8s.lean import regex
from olmc.k8s.objects import (
    GVK,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    Rendered,
    mapping,
    namespace_of,
    spec_of,
    status_of,
    text,
)
from olmc.k8s.semver import Version, range_or_none, tolerant_or_none
from olmc.k8s.yaml import at
from olmc.review.diagnose import rules
from olmc.review.diagnose.diagnosis import Diagnosis, FieldEdit, RemedyCandidate, RemovedDocument, Scene, row_of
from olmc.review.explain.provenance import held_upgrades, plan_of
from olmc.review.explain.resolution import channel_entries
from olmc.review.graph.upgrade_graph import upgrade_graph

_MOST = 3
_NUMBERED = regex("([a-z]+)([0-9]+)")
_APPROVE = '--type merge -p \'{"spec":{"approved":true}}\''


def approval(namespace: str, plan: str) -> str:
    """The command that approves an InstallPlan."""
    return f"kubectl -n {namespace} patch installplan {plan} {_APPROVE}"


def stranded(scene: Scene) -> Iterator[Diagnosis]:
    """Report operators whose channel has no upgrade from their version, so that they stay at it (R-CAT-410,
    R-CAT-411)."""
    for _, subscription in sorted(scene.cluster.subscriptions.items()):
        csv = scene.cluster.csvs.get(NamespacedName(subscription.name.namespace, subscription.installed))
        if csv is None or subscription.failure is not None:
            continue
        entries = tuple(channel_entries(scene.cluster, subscription))
        in_graph = _stranded_in_graph(scene, subscription)
        if entries and (in_graph or not _goes_on(entries, csv)):
            yield _stranded(scene, subscription, csv, entries, is_reported=in_graph)


def _goes_on(entries: Sequence[Entry], csv: Csv) -> bool:
    """Return whether a channel has a CSV, or an upgrade from it."""
    version = tolerant_or_none(csv.version)
    return any(entry.name == csv.name or edge_kind(entry, csv.name, version) for entry in entries)


def _stranded_in_graph(scene: Scene, subscription: Subscription) -> bool:
    """Return whether a channel has the installed version, and no way from it to its head."""
    source = scene.cluster.catalogs.get(subscription.catalog)
    package = source.catalog.packages.get(subscription.package) if source is not None and source.catalog else None
    channel = (subscription.channel or package.default_channel) if package is not None else ""
    if package is None or channel not in package.channels:
        return False
    vertex = upgrade_graph(package, [channel]).vertices().get(subscription.installed)
    return vertex is not None and channel in vertex.stranded


def _stranded(
    scene: Scene, subscription: Subscription, csv: Csv, entries: Sequence[Entry], *, is_reported: bool
) -> Diagnosis:
    channel = next(entry.channel for entry in entries)
    source = scene.cluster.catalogs[subscription.catalog]
    others = sorted(
        {
            entry.channel for entry in of_package(source.entries, subscription.package)
            if entry.channel != channel and _leads_on(source.entries, subscription.package, entry.channel, csv)
        }
    )  # fmt: skip
    heads = _heads(entries)
    missed = f"; its head is {_listed(f'{entry.name} ({entry.version})' for entry in heads)}" if heads else ""
    why = " ".join(_near_misses(entries, csv))
    ways, name = [], subscription.name
    if others:
        ways.append(f"Go back to channel {' or '.join(others)}, which has {csv.name}.")
    ways += [
        f"Have the author of the catalog add replaces, skips or a skipRange for {csv.version}.",
        f"To install {heads[0].name if heads else 'the head'} again, delete Subscription {name} and CSV {csv.name}, "
        "then apply the Subscription again; CRDs and their objects stay.",
    ]
    place = at(subscription.source, "spec", *(["channel"] if "channel" in subscription.spec else []))
    finding = rules.NO_UPGRADE.finding(
        place, csv=csv.name, namespace=csv.namespace, version=csv.version or csv.name, channel=f"channel {channel}",
        missed=missed, why=f". {why}" if why else "", ways=" ".join(ways),
    )  # fmt: skip
    candidates = tuple(
        RemedyCandidate(
            f"Use channel {other} in Subscription {name}", (_edit(subscription, ("spec", "channel"), other),)
        )
        for other in others[:_MOST]
        if subscription.source is not None
    )
    command = (
        f"kubectl -n {name.namespace} delete subscription/{name.name} clusterserviceversion/{csv.name}"
        if not others else ""
    )  # fmt: skip
    key = ObjectKey(OLM_GROUP, "Subscription", *name)
    return Diagnosis(finding, (row_of(subscription),), command, candidates, (key,), is_reported=is_reported)


def _edit(subscription: Subscription, keys: tuple[str, ...], value: str | None) -> FieldEdit:
    assert subscription.source is not None
    return FieldEdit(subscription.source, keys, value)


def _leads_on(entries: Sequence[Entry], package: str, channel: str, csv: Csv) -> bool:
    version = tolerant_or_none(csv.version)
    return any(
        entry.channel == channel and (entry.name == csv.name or edge_kind(entry, csv.name, version))
        for entry in of_package(entries, package)
    )


def _heads(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that no other one of the channel replaces or skips."""
    replaced = {name for entry in entries for name in (entry.replaces, *entry.skips)}
    heads = [entry for entry in entries if entry.name not in replaced]
    tops = [entry for entry in heads if not any(_is_over(other, entry) for other in heads)]
    return sorted(tops or heads, key=lambda entry: entry.name)


def _is_over(entry: Entry, other: Entry) -> bool:
    return entry is not other and skips_over(entry, tolerant_or_none(other.version))


def _listed(names: Iterable[str]) -> str:
    return join_limited(list(names), _MOST)


def _near_misses(entries: Sequence[Entry], csv: Csv) -> Iterator[str]:
    """Yield why entries that look like upgrades are none: a skipRange that ends before, a replaces that names another
    CSV."""
    version = tolerant_or_none(csv.version)
    for entry in _heads(entries)[:_MOST]:
        known = tolerant_or_none(entry.version)
        if entry.skip_range and range_or_none(entry.skip_range) is not None and version is not None:
            yield f"{csv.version} is outside of the skipRange {entry.skip_range!r} of {entry.name}."
            if known is not None and _differ_in_prerelease(version, known) and version.compare(known) > 0:
                yield (
                    f"Prereleases compare as text where they have letters, so {csv.version} is newer than "
                    f"{entry.version}{_prerelease_way(version, known)}."
                )
        elif entry.replaces:
            yield f"{entry.name} replaces {entry.replaces}, and not {csv.name}."
        is_older = version is not None and known is not None and version.compare(known) > 0
        if version is not None and known is not None and is_older and not _differ_in_prerelease(version, known):
            yield f"{entry.version} is older than {csv.version}, and OLM never goes back."


def _prerelease_way(one: Version, other: Version) -> str:
    """Return a hint for two prereleases in the wrong order, such as rc9 and rc10; "" where it is no number."""
    names = [_NUMBERED.fullmatch(each.prerelease or "") for each in (one, other)]
    matches = [match for match in names if match is not None]
    if len(matches) < 2 or matches[0][1] != matches[1][1]:
        return "; only replaces or skips leads on from it"
    return f"; write them with a dot before the number, as {matches[1][1]}.{matches[1][2]}"


def _differ_in_prerelease(one: Version, other: Version) -> bool:
    return bool(one.prerelease or other.prerelease) and (one.major, one.minor, one.patch) == (
        other.major, other.minor, other.patch,
    )  # fmt: skip


def held_by_manual(scene: Scene) -> Iterator[Diagnosis]:
    """Automatic Subscriptions whose InstallPlan waits, since another one of the namespace is Manual (R-CAT-601)."""
    for plan in scene.cluster.plans.values():
        if plan.phase != APPROVAL or not _is_current(plan, scene):
            continue
        here = scene.cluster.subscriptions.within(plan.namespace).values()
        manual = [each for each in here if each.approval == "Manual"]
        waiting = [each for each in here if each.approval != "Manual" and each.current in plan.csvs]
        waiting = [each for each in waiting if each.installed != each.current]
        if not manual or not waiting:
            continue
        names = [each.current for each in waiting]
        along = [csv for csv in plan.csvs if csv not in names]
        finding = rules.WAITS_FOR_MANUAL.finding(
            at(manual[0].source, "spec", "installPlanApproval"),
            csvs=_listed(names), namespace=plan.namespace, manual=_listed(str(each.name) for each in manual),
            along=f"; approving the plan brings {_listed(along)}, too" if along else "",
            packages=_listed(each.package for each in waiting),
        )  # fmt: skip
        yield Diagnosis(
            finding,
            tuple(map(row_of, waiting)),
            approval(plan.namespace, plan.name),
            culprit=row_of(manual[0]),
            objects=tuple(ObjectKey(OLM_GROUP, "Subscription", *each.name) for each in waiting),
        )


def _is_current(plan: InstallPlan, scene: Scene) -> bool:
    return any(
        subscription.plan == plan.name for subscription in scene.cluster.subscriptions.within(plan.namespace).values()
    )


def held_back(scene: Scene) -> Iterator[Diagnosis]:
    """Upgrades that would break something, or lack what they require (R-CAT-546, R-CAT-547)."""
    for name, held in held_upgrades(scene.settled).items():
        subscription = scene.cluster.subscriptions.get(name)
        if subscription is not None:
            key = ObjectKey(OLM_GROUP, "Subscription", *name)
            yield Diagnosis(
                held_finding(name.namespace, held), (row_of(subscription),), objects=(key,), is_reported=True
            )


def ignored_pins(scene: Scene) -> Iterator[Diagnosis]:
    """A startingCSV that has changed although something is installed, or an InstallPlan waits (R-CAT-410)."""
    state = scene.state
    for name, subscription in sorted(scene.cluster.subscriptions.items()) if state is not None else ():
        key = ObjectKey(OLM_GROUP, "Subscription", *name)
        before = state.objects.get(key) if state is not None else None
        starting = subscription.starting_csv
        if before is None or not starting or starting == subscription.installed:
            continue
        plan = plan_of(subscription, scene.cluster)
        waiting = plan if plan is not None and plan.phase == APPROVAL else None
        is_new = text(spec_of(before.object).get("startingCSV")) != starting
        if is_new and _is_settled(before.object, subscription, waiting):
            yield _ignored_pin(subscription, key, waiting)


def _is_settled(before: KubernetesObject, subscription: Subscription, waiting: InstallPlan | None) -> bool:
    """Return whether OLM had decided about a Subscription before, so that it does not read startingCSV any more. While
    an InstallPlan waits the Subscription is not resolved, even if nothing is installed (observed-40)."""
    status = status_of(before)
    if subscription.installed:
        was_manual = spec_of(before).get("installPlanApproval") == "Manual"
        # `resolve --pin` writes both fields, and the approval brings this version.
        is_pin = waiting is not None and not was_manual and subscription.starting_csv in waiting.csvs
        return bool(status.get("installedCSV")) and not is_pin
    asked = text(mapping(status.get("installPlanRef")).get("name"))
    return waiting is not None and asked == waiting.name and subscription.starting_csv not in waiting.csvs


def _ignored_pin(subscription: Subscription, key: ObjectKey, waiting: InstallPlan | None) -> Diagnosis:
    name, starting = subscription.name, subscription.starting_csv
    way = (
        f"Approve the InstallPlan for {', '.join(waiting.csvs)}, which waits." if waiting is not None
        else "Remove startingCSV; OLM follows the channel."
    )  # fmt: skip
    held = f"{subscription.installed} is installed"
    if not subscription.installed and waiting is not None:
        held = f"InstallPlan {waiting.name} for {', '.join(waiting.csvs)} waits already"
        way += f" To begin with {starting}, delete Subscription {name}, and apply it again."
    command = approval(name.namespace, waiting.name) if waiting is not None else ""
    finding = rules.PIN_IGNORED.finding(
        at(subscription.source, "spec", "startingCSV"), name=name, starting=starting, installed=held, way=way
    )
    return Diagnosis(finding, (row_of(subscription),), command, objects=(key,))


def orphans(scene: Scene) -> Iterator[Diagnosis]:
    """Subscriptions that find a CSV of their package that no Subscription refers to (observed-37)."""
    cluster = scene.cluster
    for name, subscription in sorted(cluster.subscriptions.items()):
        if subscription.failure is None or subscription.installed:
            continue
        held = {each.installed for each in cluster.subscriptions.within(name.namespace).values()}
        for csv in real_csvs(cluster, name.namespace):
            if package_of(csv.object) != subscription.package or csv.name in held or csv.name == "":
                continue
            old = _old_subscription(scene, name, csv)
            kept = f"Keep the name of the old Subscription, {old}; or delete" if old else "Delete"
            finding = rules.ORPHAN.finding(
                at(subscription.source, "metadata", "name"), name=name, csv=csv.name, namespace=name.namespace,
                way=f"{kept} the CSV {csv.name}, and OLM installs the operator again. CRDs and their objects stay.",
            )  # fmt: skip
            candidates: tuple[RemedyCandidate, ...] = ()
            if old and subscription.source is not None:
                edit = FieldEdit(subscription.source, ("metadata", "name"), old)
                candidates = (RemedyCandidate(f"Call the Subscription {old} again", (edit,)),)
            yield Diagnosis(
                finding, (row_of(subscription),), _deletion(csv), candidates,
                (ObjectKey(OLM_GROUP, "Subscription", *name), ObjectKey(OLM_GROUP, CSV_KIND, csv.namespace, csv.name)),
                culprit=row_of(subscription), is_reported=True,
            )  # fmt: skip


def _old_subscription(scene: Scene, name: NamespacedName, csv: Csv) -> str:
    """The Subscription of the cluster before that had installed a CSV and that the change removes, "" for none."""
    for key, manifest in scene.state.objects.items() if scene.state is not None else ():
        if (key.group, key.kind, key.namespace) != (OLM_GROUP, "Subscription", name.namespace):
            continue
        if mapping(manifest.object.get("status")).get("installedCSV") == csv.name and key.name != name.name:
            return key.name
    return ""


def _deletion(csv: Csv) -> str:
    return f"kubectl -n {csv.namespace} delete clusterserviceversion {csv.name}"


def second_providers(scene: Scene) -> Iterator[Diagnosis]:
    """Subscriptions that want a second provider of an API that an installed operator has, or one that another
    Subscription asks for (R-CAT-544)."""
    cluster = scene.cluster
    waiting = {
        name: each for name, each in sorted(cluster.subscriptions.items()) if each.failure and not each.installed
    }
    offered = {name: _offered(scene, each) for name, each in waiting.items()}
    for name, subscription in waiting.items():
        installed = [
            csv for csv in real_csvs(cluster, name.namespace) if package_of(csv.object) != subscription.package
        ]
        shared = [(csv, api.key) for csv in installed for api in csv.owned_apis if api.key in offered[name]]
        if shared:
            yield _second_provider(scene, subscription, *shared[0], offered[name][shared[0][1]])
            continue
        for other in (each for each in waiting if each.namespace == name.namespace and each > name):
            both = [api for api in offered[name] if api in offered[other]]
            if both and waiting[other].package != subscription.package:
                yield _both_new(scene, subscription, waiting[other], both[0], offered[name][both[0]])
                break


def _offered(scene: Scene, subscription: Subscription) -> dict[GVK, str]:
    """The APIs that every entry of a channel provides, with the name of its head: another entry is no way out."""
    entries = tuple(channel_entries(scene.cluster, subscription))
    apis = [{_api(prop.value) for prop in entry.properties if prop.type == "olm.gvk"} for entry in entries]
    head = next((entry.name for entry in _heads(entries)), "")
    return dict.fromkeys(sorted(set.intersection(*apis)), head) if apis else {}


def _both_new(scene: Scene, one: Subscription, other: Subscription, api: GVK, new: str) -> Diagnosis:
    finding = rules.SECOND_PROVIDER.finding(
        at(one.source, "spec", "name"), name=one.name, namespace=one.name.namespace, new=new, api=_shown(api),
        there=f"{other.package} of Subscription {other.name}", missed=missed_by(scene, one),
        way=f"Remove Subscription {one.name} or {other.name}, or move one to a namespace of its own.",
    )  # fmt: skip
    here = scene.cluster.subscriptions.within(one.name.namespace).values()
    keys = tuple(ObjectKey(OLM_GROUP, "Subscription", *each.name) for each in (one, other))
    candidates = tuple(candidate for each in (other, one) for candidate in _removed(each))
    rows = tuple(map(row_of, here))
    return Diagnosis(finding, rows, "", candidates, objects=keys, is_reported=True, is_shown=True)


def _removed(subscription: Subscription) -> Iterator[RemedyCandidate]:
    """The candidate that takes a Subscription out."""
    if subscription.source is not None:
        text = f"Remove Subscription {subscription.name}"
        yield RemedyCandidate(text, (RemovedDocument(subscription.source),))


def twice_subscribed(scene: Scene) -> Iterator[Diagnosis]:
    """Several Subscriptions to one package in a namespace, of which OLM resolves none (R-CAT-544)."""
    by_package: dict[NamespacedName, list[Subscription]] = {}
    for _, subscription in sorted(scene.cluster.subscriptions.items()):
        if subscription.failure is not None:
            by_package.setdefault(row_of(subscription), []).append(subscription)
    for row, several in by_package.items():
        begin = f"namespace {row.namespace}:"
        finding = next(
            (each for each in scene.reported if each.code == NOT_SATISFIABLE.code and begin in each.message), None
        )
        if len(several) < 2 or finding is None:
            continue
        # The one that has installed something stays, then that with the name of the package.
        several.sort(key=lambda each: (not each.installed, each.name.name != row.name, each.name))
        kept = several[0]
        edits = tuple(RemovedDocument(each.source) for each in several[1:] if each.source is not None)
        names = ", ".join(str(each.name) for each in several[1:])
        text = f"Remove Subscription {names}; {kept.name} stays, with channel {kept.channel or 'of the default'}"
        candidates = (RemedyCandidate(text, edits),) if len(edits) == len(several) - 1 else ()
        yield Diagnosis(finding, (row,), "", candidates, is_reported=True, is_shown=True)


def _api(value: object) -> GVK:
    fields = mapping(value)
    return GVK(text(fields.get("group")), text(fields.get("version")), text(fields.get("kind")))


def _second_provider(scene: Scene, subscription: Subscription, csv: Csv, api: GVK, new: str) -> Diagnosis:
    cluster, namespace = scene.cluster, subscription.name.namespace
    here = cluster.subscriptions.within(namespace).values()
    old = next((str(each.name) for each in here if each.installed == csv.name), f"of {csv.name}")
    finding = rules.SECOND_PROVIDER.finding(
        at(subscription.source, "spec", "name"), name=subscription.name, namespace=namespace, new=new,
        api=_shown(api), there=f"the installed {csv.name}", missed=missed_by(scene, subscription),
        way=f"Remove Subscription {subscription.name}. To switch to {subscription.package}, remove Subscription {old} "
        f"and delete its CSV {csv.name}; the CRDs and their objects stay.",
    )  # fmt: skip
    return Diagnosis(
        finding,
        tuple(dict.fromkeys((row_of(subscription), *map(row_of, here)))),
        _deletion(csv),
        tuple(_removed(subscription)),
        culprit=row_of(subscription),
        objects=tuple(ObjectKey(OLM_GROUP, "Subscription", *each.name) for each in here),
        is_reported=True,
    )


def next_version(scene: Scene, subscription: Subscription) -> str:
    """The CSV that a Subscription would go on to, if its namespace were resolved; "" for none."""
    csv = scene.cluster.csvs.get(NamespacedName(subscription.name.namespace, subscription.installed))
    if csv is None:
        return ""
    version = tolerant_or_none(csv.version)
    entries = [each for each in channel_entries(scene.cluster, subscription) if edge_kind(each, csv.name, version)]
    return next((entry.name for entry in _heads(entries)), "")


def missed_by(scene: Scene, culprit: Subscription) -> str:
    """Return the loss of the other Subscriptions of a namespace while one blocks its resolution, "" for none."""
    here = scene.cluster.subscriptions.within(culprit.name.namespace).values()
    others = [each for each in here if each.name != culprit.name]
    missed = [upgrade for each in others if (upgrade := next_version(scene, each))]
    missed += [each.package for each in others if not each.installed]
    return f"; {_listed(missed)} is not installed until then" if missed else ""


def catalogs_elsewhere(scene: Scene) -> Iterator[Diagnosis]:
    """Subscriptions to a catalog that is in another namespace than they say, that has another name, or that their
    namespace does not see (R-CAT-501)."""
    cluster = scene.cluster
    for name, subscription in sorted(cluster.subscriptions.items()):
        key = subscription.catalog
        if (subscription.installed and subscription.failure is None) or not key.name:
            continue
        seen_from = (name.namespace, scene.options.global_catalog_namespace)
        if key in cluster.catalogs:
            found = _unseen_catalog(scene, subscription, seen_from) if key.namespace not in seen_from else None
        else:
            found = _catalog_elsewhere(scene, subscription, seen_from)
        if found is not None:
            objects = (ObjectKey(OLM_GROUP, "Subscription", *name),)
            row = row_of(subscription)
            yield Diagnosis(found[0], (row,), "", found[1], objects, row, is_reported=True)


def _unseen_catalog(
    scene: Scene, subscription: Subscription, seen_from: tuple[str, str]
) -> tuple[Diagnostic, tuple[RemedyCandidate, ...]]:
    source, key = scene.cluster.catalogs[subscription.catalog], subscription.catalog
    finding = unseen_catalog(subscription, seen_from[1])
    candidates = []
    for namespace in dict.fromkeys((seen_from[1], seen_from[0])):
        if source.source is not None and subscription.source is not None:
            edits = (
                FieldEdit(source.source, ("metadata", "namespace"), namespace),
                _edit(subscription, ("spec", "sourceNamespace"), namespace),
            )
            candidates.append(RemedyCandidate(f"Move CatalogSource {key.name} to namespace {namespace}", edits))
    return finding, tuple(candidates)


def _alike_catalogs(scene: Scene, subscription: Subscription, seen_from: tuple[str, str]) -> list[CatalogKey]:
    """The catalogs that a Subscription may mean by a name that none has: they have its package. One of the platform is
    in the cluster, and no slip."""
    key = subscription.catalog
    if init_command(key.name, key.namespace):
        return []
    having = {
        name.name: name
        for name, source in scene.cluster.catalogs.items()
        if name.namespace in seen_from and any(of_package(source.entries, subscription.package))
    }
    alike = close_matches(key.name, sorted(having), 1)
    return [having[name] for name in alike or (sorted(having) if subscription.had_catalog else ())]


def _catalog_elsewhere(
    scene: Scene, subscription: Subscription, seen_from: tuple[str, str]
) -> tuple[Diagnostic, tuple[RemedyCandidate, ...]] | None:
    catalogs, key, name = scene.cluster.catalogs, subscription.catalog, subscription.name
    if scene.cluster.may_have_catalog(key):
        return None
    there = sorted(other.namespace for other in catalogs if other.name == key.name and other.namespace)
    alike = _alike_catalogs(scene, subscription, seen_from)
    if there:
        best = next((each for each in there if each in seen_from), there[0])
        finding = rules.CATALOG_ELSEWHERE.finding(
            at(subscription.source, "spec", "sourceNamespace"), name=name, catalog=key.name,
            asked=key.namespace or "(none)", there=" and ".join(there), first=best,
        )  # fmt: skip
        edits = {"sourceNamespace": best}
    elif alike:
        meant = alike[0]
        finding = rules.NOT_IN_CATALOG.finding(
            at(subscription.source, "spec", "source"), name=name, field="source", written=key.name,
            where="the workspace", known=meant.name, missed=missed_by(scene, subscription),
        )  # fmt: skip
        edits = {"source": meant.name, "sourceNamespace": meant.namespace}
    else:
        return None
    if subscription.source is None:
        return finding, ()
    changed = {field: value for field, value in edits.items() if subscription.spec.get(field) != value}
    text = " and ".join(f"spec.{field}: {value}" for field, value in changed.items())
    fields = tuple(_edit(subscription, ("spec", field), value) for field, value in changed.items())
    return finding, (RemedyCandidate(f"Set {text} in Subscription {name}", fields),)


def crds_alone(scene: Scene) -> Iterator[Diagnosis]:
    """Required APIs without a provider whose CRD is in the cluster all the same (R-CAT-540)."""
    cluster = scene.cluster
    crds = {}
    for key, rendered in cluster.objects.items():
        if key.kind == "CustomResourceDefinition":
            spec = spec_of(rendered.object)
            crds[text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))] = rendered
    for name, subscription in sorted(cluster.subscriptions.items()) if crds else ():
        if subscription.failure is None or subscription.installed:
            continue
        provided = _provided(scene, name.namespace)
        for entry in channel_entries(cluster, subscription):
            for api in filter(None, map(_required_api, entry.properties)):
                found = crds.get((api.group, api.kind))
                if found is not None and api not in provided:
                    yield _crd_alone(subscription, entry, api, found)


def _required_api(prop: Property) -> GVK | None:
    """The API that a property requires, None for another requirement."""
    if prop.type == "olm.gvk.required":
        return _api(prop.value)
    wanted = mapping(prop.value).get("gvk") if prop.type == "olm.constraint" else None
    return _api(wanted) if wanted else None


def _shown(api: GVK) -> str:
    return f"{api.kind} ({api.group}/{api.version})"


def _provided(scene: Scene, namespace: str) -> set[GVK]:
    """The APIs that operators of a namespace provide, and those of the catalogs that it sees."""
    here = {api.key for csv in real_csvs(scene.cluster, namespace) for api in csv.owned_apis}
    seen = (namespace, scene.options.global_catalog_namespace)
    for key, source in scene.cluster.catalogs.items():
        for entry in source.entries if key.namespace in seen else ():
            here |= {_api(prop.value) for prop in entry.properties if prop.type == "olm.gvk"}
    return here


def _crd_alone(subscription: Subscription, entry: Entry, api: GVK, crd: Rendered) -> Diagnosis:
    stands = crd.provenance.place
    place = at(stands.source) if stands is not None else None
    related = (("the CRD, which does not count", place),) if place is not None else ()
    key = ObjectKey(OLM_GROUP, "Subscription", *subscription.name)
    finding = rules.CRD_ALONE.finding(
        at(subscription.source, "spec", "name"), related=related, csv=entry.name, api=_shown(api),
        crd=crd.identity.name, where=f" ({place})" if place is not None else "", kind=api.kind,
        namespace=namespace_of(subscription.object),
    )  # fmt: skip
    return Diagnosis(finding, (row_of(subscription),), objects=(key,))


def deprecations(scene: Scene) -> Iterator[Diagnosis]:
    """Packages, channels and versions in use that their catalog deprecates."""
    for name, subscription in sorted(scene.cluster.subscriptions.items()):
        source = scene.cluster.catalogs.get(subscription.catalog)
        package = source.catalog.packages.get(subscription.package) if source is not None and source.catalog else None
        if package is None or not package.deprecations:
            continue
        channel = subscription.channel or package.default_channel
        used = {
            ("olm.package", ""): (f"package {package.name}", "name"),
            ("olm.channel", channel): (f"channel {channel}", "channel"),
            ("olm.bundle", subscription.installed): (subscription.installed, "name"),
        }
        for each in package.deprecations:
            what, field = used.get((each.schema, each.name), ("", ""))
            if what:
                finding = lints.DEPRECATED.finding(
                    at(subscription.source, "spec", field), name=name, what=what,
                    message=" ".join(each.message.split()), package=package.name,
                )  # fmt: skip
                yield Diagnosis(
                    finding, (row_of(subscription),), objects=(ObjectKey(OLM_GROUP, "Subscription", *name),)
                )


FINDERS = (
    stranded,
    held_back,
    held_by_manual,
    ignored_pins,
    orphans,
    second_providers,
    twice_subscribed,
    catalogs_elsewhere,
    crds_alone,
)
