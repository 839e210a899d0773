"""Ways out of what fails in a settled cluster, worked out from all that is in it: none makes another operator fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.compiler.model.catalog import Property, of_package
from olmc.compiler.model.cluster import Cluster, CsvState, InstallPlan, NamespacedName, namespaced_name
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.olm.facts import moves_to_v1, package_of, properties_of, real_csvs
from olmc.compiler.olm.naming import PROPERTIES
from olmc.compiler.reconcile.apply_step import way_out
from olmc.compiler.rules.findings import reconcile as rules
from olmc.k8s.diagnostics import StoredVersion, join_limited
from olmc.k8s.objects import CRD_KIND, GVK, mapping, mappings, text, texts

_MODES = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")
_MOST = 4


def group_way_out(member: CsvState, cluster: Cluster) -> str:
    """What to do about a CSV that can't be a member of its group, "" where its reason is of another kind.

    To add a group for an operator that the repository has just removed would undo the removal.
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
    """Whether OLM installed a CSV that nothing asks for any more: no Subscription, Install or other operator."""
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
    """What to do about a plan that fails because of its cause."""
    if isinstance(plan.cause, StoredVersion):
        users = _users(plan.cause, plan, cluster)
        if users:
            return " ".join(_of_older_version(plan, plan.cause, users, cluster))
    return step_way_out(plan) or way_out(plan.cause)


def step_way_out(plan: InstallPlan) -> str:
    """What to change in the object at which a plan stops, "" where that is not known: a CRD with fields where v1beta1
    had them, or a rule of `permissions` that no Role can have."""
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
