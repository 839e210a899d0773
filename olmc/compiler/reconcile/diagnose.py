"""The problems of a settled cluster in words: every group, Subscription, plan and CSV that would fail, and ways out.

A way out depends on everything in the cluster: none makes another operator fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.load.vendored import catalog_image
from olmc.compiler.model.catalog import Property, of_package
from olmc.compiler.model.cluster import (
    CatalogSource,
    Cluster,
    CsvState,
    InstallPlan,
    NamespacedName,
    Subscription,
    namespaced_name,
)
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import (
    FAMILIES_AT_WORK,
    foreign_finalizers,
    is_copy_by_metadata,
    is_terminating,
    moves_to_v1,
    package_of,
    properties_of,
    real_csvs,
)
from olmc.compiler.olm.naming import PROPERTIES
from olmc.compiler.olm.profiles.data import init_command
from olmc.compiler.reconcile.apply_step import way_out
from olmc.compiler.reconcile.crds import unjudged_rules
from olmc.compiler.reconcile.install_strategy import missing_token
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.reconcile.operator_groups import format_apis, intersects
from olmc.compiler.reconcile.requirements import kube_version_problem
from olmc.compiler.rules.findings import reconcile as rules
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.k8s.diagnostics import (
    POSSIBLE,
    Diagnostic,
    Location,
    PlanFault,
    Report,
    Severity,
    Source,
    StoredVersion,
    closest,
    did_you_mean,
    join_limited,
)
from olmc.k8s.objects import CRD_KIND, GVK, OLM_GROUP, CatalogKey, Origin, mapping, mappings, text, texts
from olmc.k8s.yaml import at, locate

if TYPE_CHECKING:
    from olmc.k8s.diagnostics import Rule

_MET = frozenset({"Present", "DeploymentFound"})
_MOST_RIVALS = 10
"""The number of OperatorGroups with an API that are named to each CSV that has it as well."""


def diagnose(settled: SettledCluster, bundles: Mapping[str, Bundle], options: Options, report: Report) -> None:
    """Report everything in a settled cluster that would not work, each at the place in the input that causes it.

    `bundles` are those of the workspace, by the names of their CSVs.
    """
    cluster = settled.cluster
    for diagnostic in (
        *_groups(cluster),
        *_out_of_sight(settled, options),
        *unknown_catalogs(settled.cluster),
        *_missing_catalogs(cluster, options),
        *_unresolved(settled, bundles),
        *_plans(cluster),
        *_members(cluster, options),
        *_version(cluster),
        *unjudged_rules(cluster),
    ):
        report.add(diagnostic)


def _version(cluster: Cluster) -> Iterator[Diagnostic]:
    """Report the parts of the OLM version that can't be reproduced, if the input uses them."""
    profile = cluster.profile
    if not profile.gaps:
        return
    # These two have rules of their own, which hold only where the workspace has what they are about.
    has_random_names = profile.rbac_name_algorithm == "random"
    if has_random_names and any(r.provenance.origin is Origin.STRATEGY for r in cluster.objects.values()):
        yield rules.RANDOM_NAMES.finding(None, version=profile.name)
    if profile.resolver_engine != "sat" and cluster.subscriptions:
        yield rules.OTHER_RESOLVER.finding(None, version=profile.name)
    reported = {"resolver.engine", *(["rbac.name.algorithm"] if has_random_names else ())}
    for feature, gap in profile.gaps.items():
        if feature not in reported:
            yield rules.NOT_REPRODUCED.finding(None, version=profile.name, gap=gap)


def _groups(cluster: Cluster) -> Iterator[Diagnostic]:
    by_namespace: dict[str, list[OperatorGroup]] = {}
    for group in cluster.groups.values():
        by_namespace.setdefault(group.namespace, []).append(group)
        if group.problem:
            hint = (
                f"Add the ServiceAccount {group.missing_account} to namespace {group.namespace}."
                if group.missing_account
                else "Correct the group's spec."
            )
            place = at(group.source, "spec")
            yield rules.GROUP_PROBLEM.finding(
                place, namespace=group.namespace, name=group.name, problem=group.problem, hint=hint
            )
        for name in group.targets:
            if name and name not in cluster.namespaces:
                listed = texts(group.spec.get("targetNamespaces"))
                place = at(group.source, "spec", "targetNamespaces", *([listed.index(name)] if name in listed else []))
                if name == "*":
                    yield load_rules.STAR_TARGET.finding(place, group=group.name)
                else:
                    yield load_rules.MISSING_TARGET.finding(place, group=group.name, name=name)
    for namespace, groups in by_namespace.items():
        if len(groups) == 1 and cluster.subscriptions.within(namespace):
            yield from _bad_duration(groups[0], cluster)
    yield from (finding for finding, _ in several_groups(cluster))


def several_groups(cluster: Cluster) -> Iterator[tuple[Diagnostic, Sequence[OperatorGroup]]]:
    """The namespaces with more than one OperatorGroup, each with its groups. Groups without a namespace may be in
    different ones, which is reported of each."""
    by_namespace: dict[str, list[OperatorGroup]] = {}
    for group in cluster.groups.values():
        if group.namespace:
            by_namespace.setdefault(group.namespace, []).append(group)
    for namespace, groups in by_namespace.items():
        if len(groups) > 1:
            places = [(f"OperatorGroup {g.name}", place) for g in groups if (place := at(g.source)) is not None]
            names = ", ".join(g.name for g in groups)
            first = places[0][1] if places else None
            finding = rules.TWO_GROUPS.finding(first, related=tuple(places[1:]), namespace=namespace, names=names)
            yield finding, groups


def _bad_duration(group: OperatorGroup, cluster: Cluster) -> Iterator[Diagnostic]:
    from olmc.compiler.resolver.rounds import (  # without Subscriptions nothing asks the resolver
        UNPACK_TIMEOUT,
        unpacks_too_briefly,
        unreadable_duration,
    )

    key, problem = unreadable_duration(group)
    failures = (s.unpack_failure for s in cluster.subscriptions.within(group.namespace).values())
    if not problem and unpacks_too_briefly(group) and any(failures):
        key, given = UNPACK_TIMEOUT, group.annotations[UNPACK_TIMEOUT]
        problem = f"the annotation {key}: {given} is less than a second, so that no image is unpacked in time"
    if problem:
        place = at(group.source, "metadata", "annotations", key)
        yield rules.BAD_DURATION.finding(place, namespace=group.namespace, problem=problem)


def unseen_catalog(subscription: Subscription, global_namespace: str) -> Diagnostic:
    """A Subscription whose namespace does not see its catalog."""
    name, catalog = subscription.name, subscription.catalog
    return rules.UNSEEN_CATALOG.finding(
        at(subscription.source, "spec", "sourceNamespace"), namespace=name.namespace, name=name.name,
        catalog=catalog.name, home=catalog.namespace, glob=global_namespace,
    )  # fmt: skip


def _out_of_sight(settled: SettledCluster, options: Options) -> Iterator[Diagnostic]:
    """Subscriptions without a group to resolve them, or to a catalog that their namespace does not see."""
    cluster = settled.cluster
    for name, subscription in cluster.subscriptions.items():
        home = subscription.catalog.namespace
        if subscription.catalog in cluster.catalogs and home not in (name.namespace, options.global_catalog_namespace):
            yield unseen_catalog(subscription, options.global_catalog_namespace)
        # Descoped operators are resolved for the whole cluster, in which no namespace needs a group (R-DESCOPE-11).
        done = settled.rounds.get(name.namespace)
        is_descoped = done is not None and name in done.descoped
        if not name.namespace and not is_descoped:
            yield _without_namespace("Subscription", name.name, subscription.source)
        elif cluster.lacks_group(name.namespace) and not is_descoped:
            place = at(subscription.source, "metadata", "namespace")
            yield rules.NO_GROUP.finding(place, namespace=name.namespace, name=name.name)


def _without_namespace(kind: str, name: str, source: Source | None) -> Diagnostic:
    """Return the finding about an object without a namespace, which replaces all findings that follow from it."""
    hint = "Add metadata.namespace, or compile what `kustomize build` prints if a kustomization.yaml sets it."
    if kind == "ClusterServiceVersion":
        hint += (
            "\nIf these are the manifests of a bundle, compile its folder, the one with manifests/ and metadata/ in it:"
            " `olmc render ..` from here."
        )
    return rules.NO_NAMESPACE.finding(at(source, "metadata"), kind=kind, name=name, hint=hint)


def unknown_catalogs(cluster: Cluster) -> Iterator[Diagnostic]:
    """The catalogs that Subscriptions name and nothing in the workspace stands for, each with all who need it; what is
    gone since OLM has seen it the resolution tells."""
    wanted: dict[CatalogKey, list[tuple[NamespacedName, Subscription]]] = {}
    for name, subscription in sorted(cluster.subscriptions.items()):
        key = subscription.catalog
        if key.name and key.namespace and key not in cluster.catalogs and not subscription.had_catalog:
            wanted.setdefault(key, []).append((name, subscription))
    for key, subscriptions in sorted(wanted.items()):
        from olmc.compiler.rules.findings import vendor as vendor_rules  # most workspaces know their catalogs

        names = ", ".join(str(name) for name, _ in subscriptions)
        field = "sourceNamespace" if _namespaces_of(key.name, cluster) else "source"
        finding = vendor_rules.UNKNOWN_CATALOG.finding(
            at(subscriptions[0][1].source, "spec", field), catalog=key.name, namespace=key.namespace, names=names,
            hint=way_to_catalog(key, cluster),
        )  # fmt: skip
        yield finding._replace(severity=Severity.FAILURE) if _is_mistaken(key, cluster) else finding


def _is_mistaken(key: CatalogKey, cluster: Cluster) -> bool:
    """Return whether the workspace has the catalog that a Subscription means, in another namespace or with another
    spelling. A catalog of a platform may be there as well."""
    is_known = bool(_namespaces_of(key.name, cluster) or _alike(key.name, cluster))
    return is_known and not init_command(key.name, key.namespace) and not cluster.may_have_catalog(key)


def _alike(catalog: str, cluster: Cluster) -> str:
    """Return the name of a catalog that is spelled like this one, "" for none."""
    return closest(catalog, (key.name for key in cluster.catalogs), POSSIBLE)


def _namespaces_of(catalog: str, cluster: Cluster) -> list[str]:
    """Return the namespaces that have a catalog of a name."""
    return sorted(key.namespace for key in cluster.catalogs if key.name == catalog and key.namespace)


def way_to_catalog(key: CatalogKey, cluster: Cluster) -> str:
    """Return the way to the content of a catalog: the command for those of platforms, else the ways that exist."""
    if key in cluster.catalogs:
        return f"Run `olmc vendor`, or put its file-based catalog into catalogs/{key.name}/."
    command = init_command(key.name, key.namespace)
    if command:
        return f"Run `{command}`, which notes in olmc.yaml that the cluster has it; then `olmc vendor`."
    if cluster.may_have_catalog(key):
        home = key.namespace
        return f"If its CatalogSource is applied to namespace {home}, add metadata.namespace: {home} to it."
    elsewhere, alike = _namespaces_of(key.name, cluster), _alike(key.name, cluster)
    if elsewhere:
        there = f"There is one in {join_limited(elsewhere, 3)}. Correct spec.sourceNamespace of the Subscription."
        return f"{there} If you mean another catalog, add its CatalogSource and run `olmc vendor`."
    if alike:
        there = f"{did_you_mean(alike)} Correct spec.source of the Subscription."
        return f"{there} If you mean another catalog, add its CatalogSource and run `olmc vendor`."
    return f"Add the CatalogSource and run `olmc vendor`, or fill catalogs/{key.name}/."


def _missing_catalogs(cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    if not cluster.subscriptions:
        return iter(())
    from olmc.compiler.resolver.snapshot import needed_catalogs  # without Subscriptions nothing asks the resolver

    return without_content(needed_catalogs(cluster, options), options, cluster.subscriptions)


def without_content(
    catalogs: Sequence[CatalogSource], options: Options, subscriptions: Mapping[NamespacedName, Subscription]
) -> Iterator[Diagnostic]:
    """Those CatalogSources that name an image whose content is not in the workspace, each with the Subscriptions to
    it."""
    if not catalogs:
        return
    from olmc.compiler.rules.findings import vendor as vendor_rules

    for catalog in catalogs:
        image = catalog_image(catalog.manifest, options.kube_version) if catalog.manifest is not None else ""
        if catalog.catalog is None and image and not catalog.lacks_bundles:  # which is reported at the template
            place = at(catalog.source, "spec", "image")
            namespace, name = catalog.key.namespace, catalog.key.name
            asking = ((str(who), at(one.source, "spec", "source")) for who, one in sorted(subscriptions.items())
                      if one.catalog == catalog.key)  # fmt: skip
            related = tuple((f"Subscription {who} needs it", where) for who, where in asking if where is not None)
            yield vendor_rules.MISSING_CATALOG.finding(
                place, namespace=namespace, name=name, image=image, related=related
            )


def _unresolved(settled: SettledCluster, bundles: Mapping[str, Bundle]) -> Iterator[Diagnostic]:
    """Report the messages of the resolver, and the bundles that it picked without their content."""
    if settled.rounds or settled.history:
        from olmc.compiler.reconcile.unresolved import held_upgrades, missing_content, resolutions

        yield from resolutions(settled)
        yield from held_upgrades(settled)
        yield from missing_content(settled, bundles)


def _plans(cluster: Cluster) -> Iterator[Diagnostic]:
    for plan in cluster.plans.values():
        # A plan that OLM does not go on with is as the user knows it from the cluster.
        if (plan.given is not None and not plan.resumed) or plan.phase == "Complete":
            continue
        csvs = ", ".join(plan.csvs)
        if plan.phase == "RequiresApproval" and plan.condition is None:
            yield waiting(plan, cluster)
            continue
        text = plan.message or (plan.condition[2] if plan.condition else "")
        place, hint = failed_step(plan), plan_way_out(plan, cluster)
        if plan.cause is PlanFault.UNMANAGED:
            groups = cluster.groups_in(plan.namespace)
            place = at(groups[0].source, "spec") if groups else None
            several = len(groups) > 1
            hint = rules.ONE_GROUP_HINT.format(namespace=plan.namespace) if several else rules.UNMANAGED_HINT
        elif plan.cause is PlanFault.NO_TOKEN and plan.account is not None:
            place = at(cluster.groups_in(plan.namespace)[0].source, "spec", "serviceAccountName")
            hint = rules.TOKEN_HINT.format(account=plan.account["name"], namespace=plan.namespace)
        elif plan.cause is PlanFault.FORBIDDEN and plan.account is not None:
            hint = rules.FORBIDDEN_HINT.format(account=f"{plan.namespace}/{plan.account['name']}")
        failed = rules.PLAN_FAILED.finding(
            place, csvs=csvs, namespace=plan.namespace, phase=plan.phase, text=text, hint=hint
        )
        yield failed.caused_by(plan.cause)


def waiting(plan: InstallPlan, cluster: Cluster) -> Diagnostic:
    """Report that a plan waits for approval."""
    first = plan.csvs[0] if plan.csvs else "all"
    found = rules.NEEDS_APPROVAL.finding(None, csvs=", ".join(plan.csvs), csv=first, namespace=plan.namespace)
    way_out = policy_way_out(plan, cluster)
    return found._replace(hint=f"{way_out} {found.hint}") if way_out else found


def policy_way_out(plan: InstallPlan | None, cluster: Cluster) -> str:
    """The way out of a plan that an OperatorPolicy keeps waiting, as its list of versions lacks a CSV (R-OCM-9); ""
    where another reason keeps it."""
    approvals = {(each.namespace, each.name): each for each in cluster.approvals}
    if plan is None or not approvals:
        return ""
    asking = [s for s in cluster.subscriptions.within(plan.namespace).values() if s.current in plan.csvs]
    unlisted, by_hand = [], False
    for subscription in asking:
        approval = approvals.get(subscription.name)
        if approval is None:
            return ""
        by_hand = by_hand or (bool(subscription.installed) and not approval.upgrades)
        if approval.csvs and subscription.current not in approval.csvs:
            unlisted.append(f"{subscription.current} to spec.versions of the OperatorPolicy ({approval.place})")
    if not unlisted:
        return ""
    way_out: str = rules.UNLISTED_HINT.format(additions=", ".join(unlisted))
    return f"{way_out} {rules.UNLISTED_BY_HAND_HINT}" if by_hand else way_out


def failed_step(plan: InstallPlan) -> Location | None:
    """The place of the object at which an InstallPlan stopped."""
    if plan.cause is PlanFault.UNMANAGED:
        return None
    step = plan.steps[plan.executed] if plan.executed < len(plan.steps) else None
    return at(step.source, *plan.fault) if step is not None else None


def _members(cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    for name, member in sorted(cluster.members.items()):
        if not name.namespace and not member.succeeded:
            yield _without_namespace("ClusterServiceVersion", name.name, member.csv.source)
            continue
        # OLM never reports such a CSV, so without this finding the cause would stay unknown (observed-27).
        if is_copy_by_metadata(member.csv.object):
            home = member.csv.annotations.get("olm.operatorNamespace")
            place = at(member.csv.source, "metadata", "annotations", "olm.operatorNamespace")
            yield rules.FOREIGN_HOME.finding(place, csv=name.name, namespace=name.namespace, home=home)
            continue
        if not member.phase and not member.csv.surface_is_readable:
            yield rules.UNUSABLE.finding(place_of(member), csv=name.name, namespace=name.namespace)
        if member.succeeded or member.phase in ("", "Replacing"):
            continue
        # Nothing in its status says why it stays there (OLM has no client for it), so the group is to blame and not the
        # CSV.
        if member.phase == "InstallReady" and not member.flapping and member.group is not None:
            yield _without_token(member, member.group, cluster, options)
            continue
        rule, hint = _rule_for(member, cluster, options.kube_version)
        phase, reason, text = member.cause
        yield rule.finding(
            place_of(member),
            related=rivals(member, cluster),
            csv=member.csv.name,
            namespace=name.namespace,
            phase=phase,
            reason=reason,
            text=text,
            hint=hint,
        )
        if member.flapping:
            yield rules.FLAPPING.finding(place_of(member), csv=member.csv.name, namespace=name.namespace)


def _without_token(member: CsvState, group: OperatorGroup, cluster: Cluster, options: Options) -> Diagnostic:
    return rules.NO_TOKEN.finding(
        at(group.source, "spec", "serviceAccountName"),
        csv=member.csv.name,
        namespace=group.namespace,
        phase=member.phase,
        problem=missing_token(group.namespace, group.account, cluster.objects, options.kube_version, cluster.profile),
        account=group.account,
    )


def rivals(member: CsvState, cluster: Cluster) -> tuple[tuple[str, Location], ...]:
    """Of a conflict over APIs, the groups that have them, with their places; of many the first, and how many more."""
    if member.reason != "InterOperatorGroupOwnerConflict" or member.group is None:
        return ()
    own, apis = namespaced_name(member.group), {api.key for api in member.csv.owned_apis}
    conflicting = []
    for name, group in cluster.groups.items():
        shared = apis & (cluster.provided.get(name) or frozenset())
        if name != own and shared and group.source is not None and intersects(member.group, group):
            conflicting.append(
                (f"OperatorGroup {group.namespace}/{group.name} has {format_apis(shared)}", group.source)
            )
    shown, further = conflicting[:_MOST_RIVALS], conflicting[_MOST_RIVALS:]
    if further:
        shown.append((f"and {len(further)} more, this one first", further[0][1]))
    # A place is looked for in the text, which hundreds that are in each other's way would do for all pairs of them.
    return tuple((text, locate(source, ())) for text, source in shown)


def _rule_for(member: CsvState, cluster: Cluster, kube_version: str) -> tuple[Rule, str]:
    hint = group_way_out(member, cluster)
    if member.phase == "Pending":
        return rules.PENDING, "\n".join((_way_to_kubernetes(member, kube_version) or hint, *unmet(member))).strip()
    if member.reason in rules.GROUP_REASONS:
        return rules.GROUP_FAILURE, hint
    return rules.INSTALL_FAILURE, _way_to_install(member)


def _way_to_kubernetes(member: CsvState, kube_version: str) -> str:
    """The way out for a CSV that lacks only a newer Kubernetes, "" for any other (R-REQ-2)."""
    required = member.csv.min_kube_version
    problem = kube_version_problem(required, kube_version)
    lacking = [item["message"] for item in member.lacking if item["status"] not in _MET]
    if not problem or lacking != [problem]:
        return ""
    return rules.KUBERNETES_HINT.format(required=required, server=kube_version.removeprefix("v"))


def _way_to_install(member: CsvState) -> str:
    """The way out for a CSV that OLM can't install, or can't take away."""
    held = tuple(foreign_finalizers(member.csv.object, OLM_GROUP, FAMILIES_AT_WORK))
    if held and is_terminating(member.csv.object):
        return rules.HELD_HINT.format(finalizers=", ".join(held))
    group = member.group
    # OLM installs with the rights of the group's account, if it has one, and the bundle is right (R-CSV-20).
    if group is not None and group.account and " is forbidden: " in member.cause[2]:
        account = f"{group.namespace}/{group.account}"
        return rules.ACCOUNT_HINT.format(account=account, group=f"{group.namespace}/{group.name}")
    return rules.INSTALL_HINT


def unmet(member: CsvState) -> Iterator[str]:
    """One line for each requirement that is not met, also after the CSV's plan has run."""
    for item in member.lacking:
        if item["status"] not in _MET:
            yield f"{item['kind']} {item['name']}: {item['message'] or item['status']}"
            for dependent in mappings(item.get("dependents")):
                if dependent["status"] == "NotSatisfied":
                    yield f"  {dependent['message']}"


def place_of(member: CsvState) -> Location | None:
    """Return where to look for what a CSV suffers from: its own text, or the group that it can't be a member of."""
    if member.group is not None and member.reason in rules.GROUP_REASONS and member.phase == "Failed":
        return at(member.group.source, "spec")
    return at(member.csv.source, *(member.place or ("metadata", "name")))


_MODES = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")
_MOST = 4


def group_way_out(member: CsvState, cluster: Cluster) -> str:
    """Return the hint for a CSV that can't be a member of its group, "" for other reasons.

    A new group for an operator that the repository has just removed would undo the removal.
    """
    if member.reason in rules.GROUP_REASONS and member.reason != "RequirementsNotMet" and is_left(member.csv, cluster):
        return rules.LEFT_HINT.format(csv=member.csv.name, namespace=member.csv.namespace)
    if member.reason == "UnsupportedOperatorGroup" and member.group is not None:
        return " ".join(_of_modes(member, member.group, cluster))
    if member.reason == "InterOperatorGroupOwnerConflict" and member.group is not None:
        return rules.GROUP_REASONS[member.reason]
    return rules.GROUP_REASONS.get(member.reason, "").format(namespace=member.csv.namespace)


def supported_modes(csv: Csv) -> tuple[str, ...]:
    """The install modes that a CSV supports, in the order from the widest."""
    supported = {mode.type for mode in csv.install_modes if mode.supported}
    return tuple(mode for mode in _MODES if mode in supported)


def companions(csv: Csv, cluster: Cluster) -> tuple[Csv, ...]:
    """The other operators of a CSV's namespace that stay there, so without those that it replaces."""
    replaced = {csv.name, csv.replaces}
    replaced |= {other.replaces for other in real_csvs(cluster, csv.namespace)}
    return tuple(other for other in real_csvs(cluster, csv.namespace) if other.name not in replaced)


def asking_for(csv: Csv, cluster: Cluster) -> tuple[Csv, ...]:
    """The operators of its namespace that require an API or the package of a CSV which no person subscribes to."""
    own = [s for s in cluster.subscriptions.within(csv.namespace).values() if csv.name in (s.installed, s.current)]
    if any(not subscription.generated_by for subscription in own):
        return ()
    apis, package = {api.key for api in csv.owned_apis}, package_of(csv.object)
    return tuple(
        other
        for other in companions(csv, cluster)
        if apis & set(other.required_apis)
        or any(_requires(declared, apis, package) for declared in properties_of(other.object))
    )


def is_left(csv: Csv, cluster: Cluster) -> bool:
    """Return whether OLM installed a CSV that nothing asks for any more: no Subscription, Install or other operator."""
    if PROPERTIES not in csv.annotations or namespaced_name(csv) in cluster.installed:
        return False
    package = package_of(csv.object)
    subscriptions = cluster.subscriptions.within(csv.namespace).values()
    is_asked = any(csv.name in (s.installed, s.current) or s.package == package for s in subscriptions)
    return not is_asked and not asking_for(csv, cluster)


def _requires(declared: Property, apis: set[GVK], package: str) -> bool:
    value = mapping(declared.value)
    match declared.type:
        case "olm.gvk.required":
            return GVK(text(value.get("group")), text(value.get("version")), text(value.get("kind"))) in apis
        case "olm.package.required":
            return bool(package) and value.get("packageName") == package
    return False


def _of_modes(member: CsvState, group: OperatorGroup, cluster: Cluster) -> Iterator[str]:
    csv, name = member.csv, f"{group.namespace}/{group.name}"
    supported = supported_modes(csv)
    asking = asking_for(csv, cluster)
    if asking:
        names = join_limited([other.name for other in asking], _MOST)
        yield f"{csv.name} is in namespace {csv.namespace} as a dependency: {names} requires it."
    if not supported:
        yield f"{csv.name} supports no install mode, so no OperatorGroup suits it: ask its author."
        return
    others = companions(csv, cluster)
    hindering = [other for other in others if not set(supported) & set(supported_modes(other))]
    if hindering:
        shown = ", ".join(f"{other.name} ({_listed(supported_modes(other))})" for other in hindering[:_MOST])
        yield (
            f"No OperatorGroup suits both {csv.name} ({_listed(supported)}) and {shown}: other targets make the "
            f"latter fail instead."
        )
        yield (
            f"Only an author can cure it: use a version of {asking[0].name} without the dependency, or one of "
            f"{csv.name} with another install mode."
            if asking
            else "Move the Subscription of one of them to a namespace of its own."
        )
        return
    common = [mode for mode in supported if all(mode in supported_modes(other) for other in others)] or [*supported]
    yield f"{_change(common[0], name, group)}."


def _listed(modes: Sequence[str]) -> str:
    return ", ".join(modes) or "no install mode"


def _change(mode: str, name: str, group: OperatorGroup) -> str:
    """The change of a group after which it is one of an install mode."""
    field = "targetNamespaces" if group.spec.get("targetNamespaces") else "selector"
    match mode:
        case "AllNamespaces":
            return f"Remove spec.{field} from OperatorGroup {name}, so that it targets all namespaces"
        case "OwnNamespace":
            return f"Set spec.targetNamespaces: [{group.namespace}] in OperatorGroup {name}, its own namespace"
        case "SingleNamespace":
            return (
                f"Set spec.targetNamespaces of OperatorGroup {name} to one namespace other than {group.namespace}, "
                "the one that the operator is to watch"
            )
    return f"List two or more namespaces other than {group.namespace} in spec.targetNamespaces of OperatorGroup {name}"


def plan_way_out(plan: InstallPlan, cluster: Cluster) -> str:
    """Return the hint for a plan that fails because of its cause."""
    if isinstance(plan.cause, StoredVersion):
        users = _users(plan.cause, plan, cluster)
        if users:
            return " ".join(_of_older_version(plan, plan.cause, users, cluster))
    return step_way_out(plan) or way_out(plan.cause)


def step_way_out(plan: InstallPlan) -> str:
    """Return the change of the object at which a plan stops, "" if it is unknown: a CRD with fields where v1beta1 had
    them, or a rule of `permissions` that no Role can have."""
    step = plan.steps[plan.executed] if plan.phase == "Failed" and plan.executed < len(plan.steps) else None
    if step is None or plan.cause is not None:
        return ""
    moves = moves_to_v1(step.object) if step.kind == CRD_KIND else ()
    if moves:
        return rules.OLD_CRD_HINT.format(moves=", ".join(moves))
    listed = mappings(step.object.get("rules")) if step.kind == "Role" and step.derived else []
    urls = [url for rule in listed for url in texts(rule.get("nonResourceURLs"))]
    return rules.URLS_HINT.format(urls=join_limited(urls, _MOST)) if urls else ""


def _users(cause: StoredVersion, plan: InstallPlan, cluster: Cluster) -> list[Csv]:
    """The operators outside of a plan that have a CRD with the version that the plan would drop."""
    replaced = {
        text(step.object.get("spec", {}).get("replaces")) for step in plan.steps if step.kind.endswith("Version")
    }
    return [
        csv for name, csv in cluster.csvs.items()
        if any(crd.name == cause.crd and crd.version == cause.version for crd in csv.owned_crds)
        and not (name.namespace == plan.namespace and (name.name in replaced or name.name in plan.csvs))
    ]  # fmt: skip


def _of_older_version(plan: InstallPlan, cause: StoredVersion, users: Sequence[Csv], cluster: Cluster) -> Iterator[str]:
    names = join_limited([f"{csv.name} in {csv.namespace}" for csv in users], _MOST)
    yield (
        f"Leave version {cause.version} in CRD {cause.crd}: {names} uses {cause.kind} in it, and the cluster has one "
        "CRD for all namespaces."
    )
    best = users[0]
    channels = sorted(
        {
            entry.channel
            for subscription in cluster.subscriptions.within(plan.namespace).values()
            if subscription.catalog in cluster.catalogs
            for entry in of_package(cluster.catalogs[subscription.catalog].entries, subscription.package)
            if entry.name == best.name
        }
    )
    where = f", channel {' or '.join(channels)}" if channels else ""
    yield (
        f"In {plan.namespace} use the same version, {best.version or best.name}{where}, or do not install it there. "
        "Later steps of this plan are not carried out."
    )


def replaces_in_plan(plan: InstallPlan, cluster: Cluster) -> list[NamespacedName]:
    """The CSVs that run on while a plan that would replace them does not get through."""
    named = (mapping(step.object.get("spec")).get("replaces") for step in plan.steps if step.kind.endswith("Version"))
    names = (NamespacedName(plan.namespace, text(name)) for name in named)
    return [name for name in names if name in cluster.csvs]
