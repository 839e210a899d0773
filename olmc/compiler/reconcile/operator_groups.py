"""OperatorGroups: whom they target, which CSVs are members and may provide their APIs, and who needs none (R-OG-1 …
R-OG-9, R-CSV-4 … R-CSV-13)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName, by_namespace, namespaced_name
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.naming import managed_labels
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.selectors import SELECTOR_FIELDS, NamedLabelIndex, is_empty, problem
from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.gojson import unknown_keys
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK, KubernetesObject, Manifest, ObjectKey, Rendered, mapping, spec_of, texts
from olmc.k8s.yaml import locate


def is_descoped(csv: Csv, options: Options) -> bool:
    """Return whether descoping is on and a CSV counts as descoped, plain or global."""
    return options.descoped and csv.scope != "scoped"


def binds_itself(member: CsvState, options: Options) -> bool:
    """Return whether OLM copies an operator's own Roles and bindings to where it works.

    Descoped operators, and all that work in all namespaces, have other bindings (R-DESCOPE-8, R-DESCOPE-10).
    """
    everywhere = member.group is not None and member.group.is_global
    return not options.descoped or not (everywhere or is_descoped(member.csv, options))


def needs_no_group(csv: Csv, cluster: Cluster, options: Options) -> bool:
    """Return whether no OperatorGroup validates a CSV: it is descoped (R-DESCOPE-3, R-DESCOPE-8), or an Install brought
    it.

    An existing group decides the namespaces of a descoped operator, independent of its install modes.
    """
    return is_descoped(csv, options) or namespaced_name(csv) in cluster.installed


def no_group(namespace: str) -> OperatorGroup:
    """Return a replacement for the OperatorGroup that a namespace does not have: it targets only the namespace."""
    return OperatorGroup({"metadata": {"name": "", "namespace": namespace}}, None, (namespace,))


def is_no_group(group: OperatorGroup | None) -> bool:
    """Return whether a group is the stand-in of `no_group`."""
    return group is not None and not group.name


def with_global_groups(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with a group for all namespaces where a global descoped CSV has no group (R-DESCOPE-2, D47).

    The source of such a group is the CSV that it is made for.
    """
    if not options.descoped:
        return cluster
    # Such an operator watches all namespaces by definition, so it needs no group (R-DESCOPE-2).
    alone = [csv for csv in cluster.csvs.values() if csv.scope == "global" and not cluster.groups_in(csv.namespace)]
    sources = {csv.namespace: csv.source for csv in reversed(alone)}
    if not sources:
        return cluster
    added = tuple(
        OperatorGroup(_as_stored(_global_group(namespace), cluster.profile), source, ("",))
        for namespace, source in sources.items()
    )
    groups = {**cluster.groups, **{namespaced_name(group): group for group in added}}
    seeded = {**cluster.seeded, **dict.fromkeys(map(namespaced_name, added))}
    return cluster._replace(groups=by_namespace({name: groups[name] for name in sorted(groups)}), seeded=seeded)


def platform_groups(
    declared: Iterable[OperatorGroup], used: Container[str], options: Options
) -> Iterator[OperatorGroup]:
    """The groups that the cluster has already, for namespaces that are `used`; those that the workspace declares under
    the same name go first, and a recorded cluster has the groups that it has."""
    own = {(group.namespace, group.name) for group in declared}
    is_recorded = options.state is not None and not options.state.is_of_repository
    for group in options.global_groups if not is_recorded else ():
        if group.namespace in used and group not in own:
            obj = _group_for_all({"name": group.name, "namespace": group.namespace})
            yield OperatorGroup(_as_stored(obj, profile_of(options.olm_version)), None, ())


def _as_stored(group: KubernetesObject, profile: Profile) -> KubernetesObject:
    return stored_group(Manifest(group, Source("", "")), profile, Report())


def _global_group(namespace: str) -> KubernetesObject:
    return _group_for_all({"name": f"{namespace}-global", "namespace": namespace, "labels": managed_labels(True)})


def _group_for_all(metadata: Mapping[str, Any]) -> KubernetesObject:
    return {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": {}}


_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
# The name of a group is a value of its roles' owner label, and values of labels end here.
_LABEL_LIMIT = 63


def stored_group(manifest: Manifest, profile: Profile, report: Report) -> KubernetesObject:
    """The OperatorGroup as the API server stores it: unknown fields dropped, defaults set (R-OG-2, R-OG-3)."""
    obj = manifest.object
    name = obj["metadata"]["name"]
    given = spec_of(obj)
    spec: dict[str, Any] = {key: given[key] for key in profile.operatorgroup_api["spec"] if given.get(key) is not None}
    selector = spec.get("selector")
    # The documents write labels right below the selector. The CRD drops them, and the empty selector selects
    # everything, which the author did not intend. So olmc reports it (R-OG-2).
    if isinstance(selector, dict) and profile.operatorgroup_api.get("selector") == "labels":
        spec["selector"] = _of_labels(selector)
    elif isinstance(selector, dict):
        unknown = sorted(str(key) for key in selector.keys() - SELECTOR_FIELDS)
        if unknown:
            place, keys = locate(manifest.source, ("spec", "selector")), ", ".join(unknown)
            everything = is_empty(selector) and not spec.get("targetNamespaces")
            effect = ", so that the group targets all namespaces" if everything else ""
            report.add(rules.SNIPPED.finding(place, kind="OperatorGroup", name=name, keys=keys, effect=effect))
        spec["selector"] = {key: value for key, value in selector.items() if key in SELECTOR_FIELDS}
    if "upgradeStrategy" in profile.operatorgroup_api["spec"]:
        spec.setdefault("upgradeStrategy", "Default")
    metadata = obj["metadata"]
    dropped = {keys[0] for keys, _ in unknown_keys(_OBJECT_META, metadata, exact=True) if len(keys) == 1}
    kept = {key: value for key, value in metadata.items() if key != "managedFields" and key not in dropped}
    version = f"operators.coreos.com/{profile.operatorgroup_api['version']}"
    return {"apiVersion": version, "kind": "OperatorGroup", "metadata": kept, "spec": spec}


def written_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec as OLM writes it back along with an annotation: its types leave out what is empty (R-OG-13)."""
    written = {key: value for key, value in spec.items() if value or key == "selector"}
    if "selector" in written:
        written["selector"] = {key: value for key, value in mapping(written["selector"]).items() if value}
    return written


def _of_labels(selector: Mapping[str, Any]) -> dict[str, Any]:
    """A selector as the documents write it, with the labels themselves, as Kubernetes writes it."""
    labels = {key: value for key, value in selector.items() if key not in SELECTOR_FIELDS}
    known = {key: value for key, value in selector.items() if key in SELECTOR_FIELDS}
    matched = known.get("matchLabels")
    labels |= matched if isinstance(matched, dict) else {}
    return {**known, "matchLabels": labels} if labels else known


def with_targets(
    group: OperatorGroup, namespaces: NamedLabelIndex, objects: Mapping[ObjectKey, Rendered]
) -> OperatorGroup:
    """The group with its targets among the namespaces of the present state of the cluster (R-OG-1, R-OG-8)."""
    spec = group.spec
    account = group.account
    # The order is that of OLM's sync, whose first error ends it: no targets, and CSVs without a status (R-OG-5,
    # R-CSV-6).
    if account and not account_exists(objects, group.namespace, account):
        # The namespaces in the status stay as they were (observed-58).
        missing = f"ServiceAccount {account} not found"
        return group._replace(targets=group.recorded, problem=missing, missing_account=account)
    group = group._replace(targets=(), problem="", missing_account="")
    selector = mapping(spec.get("selector"))
    invalid = problem(selector)
    if invalid:
        return group._replace(problem=invalid)
    listed = texts(spec.get("targetNamespaces"))
    if "" in listed:
        text = f"TargetNamespaces cannot contain NamespaceAll: [{' '.join(listed)}]"
        return group._replace(problem=text)
    # Targets need not exist, and duplicates no API server would take (R-OG-1, R-OG-3).
    if listed:
        return group._replace(targets=tuple(sorted(listed, key=_bytes)))
    if is_empty(selector):
        return group._replace(targets=("",))
    return group._replace(targets=namespaces.select(selector))


def gets_roles(group: OperatorGroup) -> bool:
    """Return whether the sync of a group gets as far as its ClusterRoles: nothing ended it before (R-OG-5), and the
    group's name fits into their owner label (observed-9). Only then is its annotation pruned."""
    return not group.problem and len(group.name) <= _LABEL_LIMIT


def prune_provided_apis(
    group: OperatorGroup, apis: frozenset[GVK] | None, csvs: Iterable[Csv]
) -> frozenset[GVK] | None:
    """Return the APIs that remain in the group's annotation after its sync (None: it has none): those that a CSV of its
    namespace provides, or all if the group is static or its sync ends before (R-OG-5, R-OG-14)."""
    if apis is None or group.is_static or not gets_roles(group):
        return apis
    return apis & {api.key for csv in csvs for api in csv.owned_apis}


def account_exists(objects: Mapping[ObjectKey, Rendered], namespace: str, name: str) -> bool:
    """Return whether a ServiceAccount exists; every namespace has one called `default` (U-9)."""
    return name == "default" or ObjectKey("", "ServiceAccount", namespace, name) in objects


def target_set(group: OperatorGroup) -> frozenset[str] | None:
    """The namespaces that count when groups are intersected (R-CSV-10); None stands for all namespaces."""
    if group.is_global:
        return None
    # The group's own namespace counts even if it is no target, as its CSVs are there (R-CSV-10).
    return frozenset({*group.targets, group.namespace}) if group.targets else frozenset()


def intersects(group: OperatorGroup, other: OperatorGroup) -> bool:
    """Return whether two groups share a namespace (R-CSV-11)."""
    first, second = target_set(group), target_set(other)
    if first is None:
        return second is None or bool(second)
    return bool(first if second is None else first & second)


class GroupsByTarget(NamedTuple):
    """All groups; of those that do not target all namespaces, which they are by the namespaces that count (R-CSV-10).

    Sets of them are integers in which a bit stands for the place of a group: hundreds of groups may each have hundreds
    of targets.
    """

    groups: Sequence[tuple[NamespacedName, OperatorGroup]]
    for_all: int
    by_target: Mapping[str, int]

    def intersecting(self, group: OperatorGroup) -> Iterator[tuple[NamespacedName, OperatorGroup]]:
        """The groups that share a namespace with one of them, that one as well (R-CSV-11)."""
        own = target_set(group)
        targets = self.by_target if own is None else own
        places = self.for_all if own != frozenset() else 0
        for target in targets:
            places |= self.by_target[target]
        return (pair for place, pair in enumerate(self.groups) if places >> place & 1)


def groups_by_target(groups: Mapping[NamespacedName, OperatorGroup]) -> GroupsByTarget:
    """Groups, to be asked which of them intersect."""
    for_all = 0
    by_target: dict[str, int] = {}
    for place, group in enumerate(groups.values()):
        for_all |= group.is_global << place
        for target in target_set(group) or ():
            by_target[target] = by_target.get(target, 0) | 1 << place
    return GroupsByTarget(tuple(groups.items()), for_all, by_target)


def format_apis(apis: Iterable[GVK]) -> str:
    """The text of `olm.providedAPIs` (R-OG-11)."""
    return ",".join(sorted((api.dotted for api in apis), key=_bytes))


def parse_apis(text: str) -> frozenset[GVK]:
    """The APIs in the text of `olm.providedAPIs`; elements with fewer than two dots are ignored (R-OG-11)."""
    apis = set()
    for element in text.replace(" ", "").split(","):
        parts = element.split(".", 2)
        if len(parts) == 3:
            apis.add(GVK(parts[2], parts[1], parts[0]))
    return frozenset(apis)


def _bytes(text: str) -> bytes:
    return text.encode()


Failure = tuple[str, str]  # reason and message

STATIC, CONFLICT = "CannotModifyStaticOperatorGroupProvidedAPIs", "InterOperatorGroupOwnerConflict"
# OLM deletes the Deployments of CSVs that fail for these reasons, by their names, of any origin (R-CSV-13).
NOT_PROVIDING = frozenset({STATIC, CONFLICT})


def sole_group(groups: Sequence[OperatorGroup]) -> OperatorGroup | Failure:
    """The one OperatorGroup of a CSV's namespace, or why there is not exactly one (R-CSV-4, R-CSV-5)."""
    if not groups:
        return "NoOperatorGroup", "csv in namespace with no operatorgroups"
    if len(groups) > 1:
        text = "csv created in namespace with multiple operatorgroups, can't pick one automatically"
        return "TooManyOperatorGroups", text
    return groups[0]


def install_mode_failure(csv: Csv, group: OperatorGroup) -> Failure | None:
    """Return why a CSV can't be a member of a group: no targets, or its install modes (R-CSV-6 … R-CSV-8)."""
    if not group.targets:
        return "NoTargetNamespaces", "no targetNamespaces are matched operatorgroups namespace selection"
    # The list is a set in OLM: a type that occurs twice makes it invalid (R-CSV-7).
    modes: dict[str, bool] = {}
    listed = csv.install_modes
    for mode in listed:
        if mode.type in modes:
            shown = " ".join(f"{{{m.type} {'true' if m.supported else 'false'}}}" for m in listed)
            return "InvalidInstallModes", f"InstallMode list contains duplicates, cannot make set: [{shown}]"
        modes[mode.type] = mode.supported
    problem = _unsupported(csv.namespace, group.targets, modes)
    return ("UnsupportedOperatorGroup", problem) if problem else None


def _unsupported(namespace: str, targets: tuple[str, ...], modes: Mapping[str, bool]) -> str:
    # By the targets, not by how the group selects them; a mode that is not listed is not supported, even if a wider one
    # is (R-CSV-8).
    if targets == (namespace,):
        return "" if modes.get("OwnNamespace") else _refusal("OwnNamespace", "own namespace")
    if targets == ("",):
        return "" if modes.get("AllNamespaces") else _refusal("AllNamespaces", "all namespaces")
    if len(targets) == 1:
        return "" if modes.get("SingleNamespace") else _refusal("SingleNamespace", "one namespace")
    if not modes.get("MultiNamespace"):
        return _refusal("MultiNamespace", f"{len(targets)} namespaces")
    if namespace in targets and not modes.get("OwnNamespace"):
        return _refusal("OwnNamespace", "own namespace")
    return ""


def _refusal(mode: str, what: str) -> str:
    return f"{mode} InstallModeType not supported, cannot configure to watch {what}"


class Verdict(NamedTuple):
    """The result of the intersection of provided APIs: a failure or None, and the group's APIs afterwards."""

    failure: Failure | None
    apis: frozenset[GVK] | None


def api_verdict(
    csv: Csv,
    group: OperatorGroup,
    neighbours: GroupsByTarget,
    provided: Mapping[NamespacedName, frozenset[GVK] | None],
    profile: Profile,
) -> Verdict:
    """Hold the APIs of a CSV against those of all intersecting groups (R-CSV-10 … R-CSV-13, R-OG-13).

    `neighbours` are all groups.
    `provided` are the APIs of each group's annotation as they stand before this CSV is looked at.
    """
    own_name = namespaced_name(group)
    own = provided[own_name]
    have = own or frozenset()
    add = frozenset(api.key for api in csv.owned_apis)
    others: set[GVK] = set()
    for name, _ in neighbours.intersecting(group) if add else ():
        if _counts_as_other(own_name, name, profile):
            others |= provided[name] or frozenset()
    # An API that is listed already needs no change, unless another group lists it, too: then OLM removes it (R-CSV-12).
    inside, clash = add <= have, bool(add & others)
    if not add or (inside and not clash):
        return Verdict(None, own)
    # Both equal: to be added, or to be taken out. What only conflicts is a conflict in a static group as well
    # (R-CSV-13).
    if group.is_static and inside == clash:
        text = "static provided api operatorgroup cannot be modified by these apis"
        return Verdict((STATIC, text), own)
    if clash:
        text = "intersecting operatorgroups provide the same apis"
        # Taken out first, as OLM does, so that the group does not hold what its CSV may not provide (R-CSV-13).
        return Verdict((CONFLICT, text), have - add if inside else own)
    return Verdict(None, have | add)


def _counts_as_other(group: NamespacedName, other: NamespacedName, profile: Profile) -> bool:
    """Return whether `other` can conflict with a group: any but itself, or only one of another name and namespace."""
    if profile.og_intersection_scope == "all":
        return other != group
    return other.name != group.name and other.namespace != group.namespace
