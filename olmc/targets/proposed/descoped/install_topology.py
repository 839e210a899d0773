"""The four situations in which operators meet descoping, and what is reported about each (R-DESCOPE-10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Any, Literal

from olmc.compiler.migration import ALL_EDITABLE, Edit, EditableFiles, Migration, carried_out, left_alone
from olmc.compiler.model.cluster import Cluster, CsvState, NamespacedName, Subscription, by_kind, namespaced_name
from olmc.compiler.model.operators import Csv, OperatorGroup, OwnedAPI
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import csv_by_label, is_copy_by_metadata, real_csvs
from olmc.compiler.olm.naming import COMPONENT_PREFIX, component_label_key, managed_labels, named, owner_labels
from olmc.compiler.reconcile.operator_groups import binds_itself, is_descoped, is_no_group
from olmc.compiler.render.webhooks import RenderContext, rendered
from olmc.k8s.api.rbac import decode_rules, rules_allow
from olmc.k8s.api.rbac_access import access
from olmc.k8s.diagnostics import Diagnostic, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    crd_key,
    mapping,
    mappings,
    spec_of,
    status_of,
    text,
)
from olmc.k8s.yaml import at, locate
from olmc.k8s.yaml.edit import EditError, value_of, with_block, without_document
from olmc.k8s.yaml.emitter import one_line
from olmc.targets.proposed import rules

Situation = Literal["single", "all-namespaces", "same-version", "different-versions", "descoped"]

_RULES = {
    "single": rules.SINGLE_INSTALL,
    "all-namespaces": rules.ALL_NAMESPACES,
    "same-version": rules.SAME_VERSION,
    "different-versions": rules.DIFFERENT_VERSIONS,
}
_WAIT = "An update may descope it; otherwise move to a descoped alternative."
_MIGRATE = {
    "single": "Let its OperatorGroup target all namespaces, which it supports.",
    "same-version": "Keep one instance and let its OperatorGroup target the namespaces of all.",
}
_ADVICE = {
    ("single", True): f"Let its OperatorGroup target all namespaces that need it. {_WAIT}",
    ("single", False): _WAIT,
    ("same-version", True): "Keep one instance and let its OperatorGroup target the namespaces of all.",
    ("same-version", False): "Remove all instances but one, or move to a descoped alternative.",
    ("different-versions", True): "Choose one version, or a descoped alternative, and remove the other instances.",
    ("different-versions", False): "Choose one version, or a descoped alternative, and remove the other instances.",
}


class InstalledCsv(NamedTuple):
    """An operator that a Subscription has installed, and the situation that its package is in.

    `operator` is the name that its Operator object has with descoping on.
    """

    subscription: Subscription
    member: CsvState
    situation: Situation
    operator: str

    @property
    def namespace(self) -> str:
        return self.member.csv.namespace

    @property
    def supports_multi(self) -> bool:
        """Return whether one instance can watch several namespaces."""
        return supports(self.member, "MultiNamespace")

    @property
    def warnings(self) -> tuple[str, ...]:
        """W1 … W4 of the rule, none for what is as good as descoped."""
        package = self.subscription.package
        if self.situation in ("all-namespaces", "descoped"):
            return ()
        first = f"operator {package} in namespace {self.namespace} is not de-scoped"
        if self.situation == "different-versions":
            return first, f"operator {package} requires manual clean-up (selection of new alternative operators)"
        if self.supports_multi:
            return first, f"operator {package} supports MultiNamespace: consider migrating to a single instance"
        return (first,) if self.situation == "single" else (first, f"operator {package} requires manual clean-up")


def supports(member: CsvState, mode: str) -> bool:
    """Return whether an operator supports an install mode."""
    return any(each.type == mode and each.supported for each in member.csv.install_modes)


def installs(cluster: Cluster) -> tuple[InstalledCsv, ...]:
    """The operators that Subscriptions have installed, by package and namespace, each with its situation."""
    by_package: dict[str, list[tuple[Subscription, CsvState]]] = {}
    for name, subscription in sorted(cluster.subscriptions.items()):
        member = cluster.members.get(NamespacedName(name.namespace, subscription.installed))
        if member is not None:
            by_package.setdefault(subscription.package, []).append((subscription, member))
    return tuple(
        InstalledCsv(
            subscription, member, _situation(member, [m for _, m in found]), _operator(subscription, len(found))
        )
        for _, found in sorted(by_package.items())
        for subscription, member in found
    )


def _situation(member: CsvState, all_of_package: Sequence[CsvState]) -> Situation:
    everywhere = member.group is not None and member.group.is_global and supports(member, "AllNamespaces")
    if member.csv.scope != "scoped":
        return "all-namespaces" if everywhere and member.csv.scope == "global" else "descoped"
    if everywhere:
        return "all-namespaces"
    if len(all_of_package) == 1:
        return "single"
    versions = {each.csv.version for each in all_of_package}
    return "same-version" if len(versions) == 1 else "different-versions"


def _operator(subscription: Subscription, instances: int) -> str:
    return subscription.package if instances == 1 else _suffixed(subscription)


def _suffixed(subscription: Subscription) -> str:
    return component_label_key(subscription.package, subscription.name.namespace).removeprefix(COMPONENT_PREFIX)


def findings(cluster: Cluster, migrated: Set[str]) -> Iterator[Diagnostic]:
    """Yield the findings about the situations, at the Subscriptions; `migrated` are the packages that `olmc migrate`
    would change."""
    for each in installs(cluster):
        if each.situation == "descoped":
            continue
        source = each.subscription.source
        yield _RULES[each.situation].finding(
            locate(source, ("spec",)) if source is not None else None,
            warnings="; ".join(each.warnings),
            hint=_advice(each, migrates=each.subscription.package in migrated),
            package=each.subscription.package,
            namespace=each.namespace,
        )


def _advice(installed: InstalledCsv, *, migrates: bool) -> str:
    # A package that migrates for one of its Subscriptions may be as it is to be for another one.
    if migrates and installed.situation in _MIGRATE:
        return f"{_MIGRATE[installed.situation]} `olmc migrate --to descoped --dry-run` shows how."
    return _ADVICE.get((installed.situation, installed.supports_multi), "")


def with_operators_renamed(world: RenderContext, objects: Sequence[Rendered]) -> list[Rendered]:
    """The objects, Operators with the name and the condition that the situation of their package gives them.

    An Operator of a state has its name already, which it keeps while nothing is installed for it.
    """
    found = installs(world.cluster)
    by_name = {_suffixed(each.subscription): each for each in found}
    stored = dict(_stored_names(world.cluster.objects.values()))
    there = {entry.identity.name for entry in objects if _is_operator(entry)}
    former = ({each.subscription.package for each in found} | set(stored.values())) - by_name.keys()
    return [
        _renamed(entry, by_name.get(entry.identity.name), stored.get(entry.identity.name, ""))
        for entry in objects
        if not _is_operator(entry) or entry.identity.name not in former or not _is_twice(entry, stored, there)
    ]


def _stored_names(objects: Iterable[Rendered]) -> Iterator[tuple[str, str]]:
    """The names that Operators of a state have without their suffix, by those with it, which their selectors tell."""
    for entry in objects:
        if _is_operator(entry):
            components = mapping(status_of(entry.object).get("components"))
            for expression in mappings(mapping(components.get("labelSelector")).get("matchExpressions")):
                suffixed = text(expression.get("key")).removeprefix(COMPONENT_PREFIX)
                if suffixed.startswith(f"{entry.identity.name}."):
                    yield suffixed, entry.identity.name


def _is_twice(entry: Rendered, stored: Mapping[str, str], there: Set[str]) -> bool:
    """Return whether the Operator is on the other side of a renaming as well, under its name with the suffix."""
    name = entry.identity.name
    suffixed = [suffix for suffix, short in stored.items() if short == name]
    return not suffixed or any(suffix in there for suffix in suffixed)


def _is_operator(found: Rendered) -> bool:
    return (found.object["apiVersion"], found.object["kind"]) == ("operators.coreos.com/v1", "Operator")


def _renamed(found: Rendered, installed: InstalledCsv | None, stored: str) -> Rendered:
    if not _is_operator(found) or (installed is None and not stored):
        return found
    name = installed.operator if installed is not None else stored
    obj: dict[str, Any] = {**found.object, "metadata": {**found.object["metadata"], "name": name}}
    if installed is not None and installed.warnings:
        condition = {
            "type": "Scoped",
            "status": "True",
            "reason": "NotDescoped",
            "message": "; ".join(installed.warnings),
        }
        obj["status"] = {**status_of(obj), "conditions": [condition]}
    return found._replace(object=obj)


# Moving a workspace to descoped operators: the changes that need no decision (R-DESCOPE-10).


class _DescopePlan(NamedTuple):
    """One instance to keep, with the namespaces it is to watch (None: all), and those to remove."""

    keep: InstalledCsv
    targets: tuple[str, ...] | None
    remove: tuple[InstalledCsv, ...]


def migrate_to_descoped(cluster: Cluster, files: EditableFiles = ALL_EDITABLE) -> Migration:
    """The changes that descope the operators of a settled cluster, as far as that can be done without deciding."""
    edits: list[Edit] = []
    remarks: list[Diagnostic] = []
    for package, found in _scoped_packages(cluster).items():
        plan = _plan(found)
        why = _blocked(cluster, plan) if plan is not None else _why_not(found)
        if plan is not None and not why:
            more = [*edits, *_edits(cluster, plan)]
            try:
                carried_out(more, files)
                edits = more
                continue
            except EditError as error:
                why = str(error)
        remarks.append(_operator_left_alone(package, found[0], why))
    return Migration(carried_out(edits, files), tuple(remarks))


def descopable(cluster: Cluster) -> frozenset[str]:
    """The packages of a settled cluster that can be descoped without deciding anything."""
    plans = {package: _plan(found) for package, found in _scoped_packages(cluster).items()}
    return frozenset(name for name, plan in plans.items() if plan is not None and not _blocked(cluster, plan))


def _scoped_packages(cluster: Cluster) -> dict[str, list[InstalledCsv]]:
    """The instances of each package that is still scoped."""
    by_package: dict[str, list[InstalledCsv]] = {}
    for each in installs(cluster):
        if each.warnings:
            by_package.setdefault(each.subscription.package, []).append(each)
    return by_package


def _plan(found: Sequence[InstalledCsv]) -> _DescopePlan | None:
    keep, *others = found
    if keep.situation == "different-versions":
        return None
    if supports(keep.member, "AllNamespaces"):
        return _DescopePlan(keep, None, tuple(others))
    if others and keep.supports_multi:
        targets = sorted({name for each in found if each.member.group for name in each.member.group.targets})
        return _DescopePlan(keep, tuple(targets), tuple(others))
    return None


def _why_not(found: Sequence[InstalledCsv]) -> str:
    if found[0].situation == "different-versions":
        return "it is installed in different versions, of which somebody has to choose one"
    if len(found) > 1:
        return "it is installed several times, and no single instance could watch all its namespaces"
    return "it supports neither all namespaces nor anything that would descope it; wait for an update, or replace it"


def _blocked(cluster: Cluster, plan: _DescopePlan) -> str:
    """Return why the instance to keep can't take over, or its group can't get other targets; "" if both can be."""
    fields = sorted({field for each in plan.remove for field in _differing(plan.keep, each)})
    if fields:
        return f"its Subscriptions differ in {', '.join(fields)}, and somebody has to choose"
    group = plan.keep.member.group
    if group is None or group.source is None:
        return "no OperatorGroup of the workspace belongs to it"
    wanted = "AllNamespaces" if plan.targets is None else "MultiNamespace"
    for name, member in sorted(cluster.members.items()):
        if name.namespace == group.namespace and not supports(member, wanted):
            return f"{member.csv.name} shares its OperatorGroup and does not support {wanted}"
    return ""


def _differing(keep: InstalledCsv, removed: InstalledCsv) -> Iterator[str]:
    """The fields in which two Subscriptions differ, without the one that only chose where to begin."""
    one, other = keep.subscription.spec, removed.subscription.spec
    yield from (field for field in {*one, *other} - {"startingCSV"} if one.get(field) != other.get(field))


def _operator_left_alone(package: str, first: InstalledCsv, why: str) -> Diagnostic:
    return left_alone(f"operator {package}", first.subscription.source, why, "spec")


def _edits(cluster: Cluster, plan: _DescopePlan) -> Iterator[Edit]:
    group = plan.keep.member.group
    if group is not None and group.source is not None:
        targets = plan.targets
        yield Edit(group.source, lambda source: _retargeted(source, targets))
    for each in plan.remove:
        if each.subscription.source is not None:
            yield Edit(each.subscription.source, without_document)
        idle = each.member.group
        if idle is not None and idle.source is not None and _is_idle(cluster, idle, each):
            yield Edit(idle.source, without_document)


def _is_idle(cluster: Cluster, group: OperatorGroup, removed: InstalledCsv) -> bool:
    """Return whether a group has no further use once an operator is removed."""
    csvs = [csv for csv in real_csvs(cluster, group.namespace) if csv.name != removed.member.csv.name]
    others = [
        name
        for name, s in cluster.subscriptions.items()
        if name.namespace == group.namespace
        and name != removed.subscription.name
        and s.installed != removed.member.csv.name
    ]
    return not csvs and not others


def _retargeted(source: Source, targets: Sequence[str] | None) -> str:
    """The file with the group's document targeting other namespaces, or all."""
    spec = value_of(source)["spec"]
    given = [key for key in ("targetNamespaces", "selector") if key in spec]
    lines = [] if targets is None else ["targetNamespaces:", *(f"- {one_line(name)}" for name in targets)]
    meaning = {} if targets is None else {"targetNamespaces": list(targets)}
    if not lines and len(given) == len(spec):
        return with_block(source, ("spec",), ["spec: {}"], {"spec": {}}).text
    for key in given[1:]:
        source = with_block(source, ("spec", key), [], {})
    return with_block(source, ("spec", given[0]), lines, meaning).text


# What a descoped operator may be bound to and where, and what is wrong with such operators (R-DESCOPE-4 …
# R-DESCOPE-8).

REQUIRED = "-required-perms"
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


def descoped_rbac(world: RenderContext) -> Iterator[Rendered]:
    """A ClusterRole for every service account with `permissions`, and its bindings in the group's namespaces."""
    yield from _required_rbac(world.cluster, world.options)


def _required_rbac(cluster: Cluster, options: Options) -> Iterator[Rendered]:
    for _, member in sorted(cluster.members.items()):
        if member.group is None or member.group.problem or binds_itself(member, options):
            continue
        for account, permitted in _rules_by_account(member.csv).items():
            role = required_role(cluster.profile, member.csv, account, permitted)
            keys = ("spec", "install", "spec", "permissions")
            yield rendered(role, "descoped_rbac", "R-DESCOPE-4", member.csv.source, *keys)
            for binding in _bindings(cluster, member, account, role["metadata"]["name"]):
                yield rendered(binding, "descoped_rbac", "R-DESCOPE-8", member.csv.source, *keys)


def required_role(profile: Profile, csv: Csv, account: str, rules: list[Mapping[str, Any]]) -> KubernetesObject:
    """The ClusterRole that an administrator can bind for a service account of a descoped operator."""
    metadata = {"labels": owner_labels(profile, csv.name, csv.namespace)}
    obj = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    return named(obj, account + REQUIRED)


def _rules_by_account(csv: Csv) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in csv.permissions:
        found.setdefault(entry.account, []).extend(entry.rules)
    return found


def _bindings(cluster: Cluster, member: CsvState, account: str, role: str) -> Iterator[KubernetesObject]:
    """One for the whole cluster if the group is global, else one in each of its namespaces that exists."""
    group, csv = member.group, member.csv
    if group is None or is_no_group(group):
        return
    body = {
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": csv.namespace}],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
    }
    labels = {**managed_labels(True), **owner_labels(cluster.profile, csv.name, csv.namespace)}
    if group.is_global:
        metadata = {"name": role, "labels": labels}
        yield {"apiVersion": RBAC_V1, "kind": "ClusterRoleBinding", "metadata": metadata, **body}
        return
    for target in group.targets:
        # The API server takes no RoleBinding into a namespace that is not there.
        if target in cluster.namespaces:
            metadata = {"name": role, "namespace": target, "labels": labels}
            yield {"apiVersion": RBAC_V1, "kind": "RoleBinding", "metadata": metadata, **body}


def without_former_bindings(cluster: Cluster, options: Options) -> Cluster:
    """The cluster without the bindings of descoped operators that no longer exist, and those in namespaces that their
    groups no longer target (R-DESCOPE-8)."""
    candidates = {key for key, entry in cluster.objects.items() if _is_former_binding(cluster, key, entry.object)}
    if not candidates:
        return cluster
    former = candidates - {entry.identity for entry in _required_rbac(cluster, options)}
    return cluster._replace(objects=by_kind({k: entry for k, entry in cluster.objects.items() if k not in former}))


def _is_former_binding(cluster: Cluster, key: ObjectKey, obj: KubernetesObject) -> bool:
    """Return whether OLM bound a ClusterRole for a CSV that has no such bindings by itself, or that a group judges."""
    if key.group != RBAC or key.kind not in _BINDINGS or REQUIRED not in key.name:
        return False
    owner = csv_by_label(obj)
    if owner is None or mapping(obj.get("roleRef")).get("name") != key.name:
        return False
    member = cluster.members.get(owner)
    return member is None or (member.group is not None and not member.group.problem)


class _Shipped(NamedTuple):
    object: KubernetesObject
    source: Source | None


def rbac_findings(cluster: Cluster, bundles: Mapping[str, Bundle], options: Options) -> Iterator[Diagnostic]:
    """Everything that descoping gives reason to say about a settled cluster; `bundles` are the workspace's, by CSV."""
    descoped = [csv for _, csv in sorted(cluster.csvs.items()) if is_descoped(csv, options)]
    for csv in descoped:
        shipped = tuple(_shipped(csv, cluster, bundles))
        yield from _unneeded_bindings(csv, shipped)
        yield from _optional_roles(csv, shipped)
        yield from _status_rights(csv, cluster)
    yield from _uncontrolled(cluster)
    yield from _shared_apis(cluster, options)


def _shipped(csv: Csv, cluster: Cluster, bundles: Mapping[str, Bundle]) -> Iterator[_Shipped]:
    """The objects that a CSV's bundle ships beside it."""
    bundle = bundles.get(csv.name)
    if bundle is not None:
        yield from (_Shipped(file.manifest.object, file.manifest.source) for file in bundle.files)
        return
    for plan in cluster.plans.values():
        if plan.namespace == csv.namespace:
            steps = (step for step in plan.steps if step.resolving == csv.name and not step.derived)
            yield from (_Shipped(step.object, step.source) for step in steps)


def _name(obj: KubernetesObject) -> str:
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    return text(metadata.get("name")) or f"{text(metadata.get('generateName'))}…".lstrip("…")


def _unneeded_bindings(csv: Csv, shipped: Iterable[_Shipped]) -> Iterator[Diagnostic]:
    """R-DESCOPE-6."""
    accounts = csv.service_account_names
    for obj, source in shipped:
        if obj.get("kind") in _BINDINGS:
            yield rules.BINDING_REFUSED.finding(
                at(source), csv=csv.name, kind=obj["kind"], name=_name(obj), account=accounts[0] if accounts else "…"
            )


def _optional_roles(csv: Csv, shipped: Iterable[_Shipped]) -> Iterator[Diagnostic]:
    """R-DESCOPE-5: of several ClusterRoles of an account, all but the generated one are optional."""
    names = [_name(obj) for obj, _ in shipped if obj.get("kind") == "ClusterRole"]
    for account in csv.service_account_names:
        generated = any(entry.account == account for entry in csv.permissions)
        optional = sorted(
            name for name in names if name.startswith(f"{account}-") and not name.startswith(account + REQUIRED)
        )
        if optional and (generated or len(optional) > 1):
            place = at(csv.source, "metadata", "name")
            yield rules.OPTIONAL_ROLES.finding(place, account=account, csv=csv.name, names=", ".join(optional))


def _status_rights(csv: Csv, cluster: Cluster) -> Iterator[Diagnostic]:
    """R-DESCOPE-7, for APIs whose resources have a status."""
    for api in _apis_with_status([csv], cluster):
        if not _may_update(_granted_everywhere(csv), api):
            place = at(csv.source, "spec", "customresourcedefinitions", "owned")
            resource, group = api.plural, api.key.group
            yield rules.NO_STATUS.finding(place, csv=csv.name, api=api.name, resource=resource, group=group)


def _apis_with_status(csvs: Iterable[Csv], cluster: Cluster) -> list[OwnedAPI]:
    """The CRDs that CSVs own, each once, without those whose resources have no status."""
    found: dict[str, OwnedAPI] = {}
    for csv in csvs:
        for api in csv.owned_apis:
            if api.is_crd and _has_status(cluster, api):
                found.setdefault(api.name, api)
    return list(found.values())


def _has_status(cluster: Cluster, api: OwnedAPI) -> bool:
    """Return whether resources of a CRD have a status; of a CRD that is not there it is assumed."""
    crd = cluster.objects.get(crd_key(api.name))
    return crd is None or any(map(_version_has_status, mappings(spec_of(crd.object).get("versions"))))


def _version_has_status(version: Mapping[str, Any]) -> bool:
    schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
    return "status" in mapping(version.get("subresources")) or "status" in mapping(schema.get("properties"))


def _may_update(rules: Sequence[PolicyRule], api: OwnedAPI, name: str = "") -> bool:
    """Return whether Kubernetes lets rules read and update the status of an API's resources, or of the one of that
    name."""
    requests = [Request(verb, api.key.group, f"{api.plural}/status", name) for verb in ("get", "update")]
    return all(rules_allow(rules, request) for request in requests)


def _granted_everywhere(csv: Csv) -> tuple[PolicyRule, ...]:
    return tuple(rule for entry in csv.cluster_permissions for rule in decode_rules(entry.rules))


def _uncontrolled(cluster: Cluster) -> Iterator[Diagnostic]:
    """R-DESCOPE-7: resources whose status no operator may write, be it everywhere or in their namespace."""
    csvs = [csv for _, csv in sorted(cluster.csvs.items())]
    granted = access(cluster.objects)
    for api in _apis_with_status(csvs, cluster):
        for identity, found in sorted(cluster.objects.items()):
            if (identity.group, identity.kind) != (api.key.group, api.key.kind):
                continue
            holders = [_granted_everywhere(csv) for csv in csvs]
            holders += [
                granted.rules(identity.namespace, Subject(ACCOUNT, csv.namespace, account))
                for csv in csvs
                for account in csv.service_account_names
            ]
            if not any(_may_update(rules, api, identity.name) for rules in holders):
                place = found.provenance.place
                resource = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
                yield rules.NO_CONTROLLER.finding(
                    locate(place.source, place.keys) if place else None,
                    api=api.name, resource=resource, namespace=identity.namespace or "of the operator",
                )  # fmt: skip


def _shared_apis(cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    """R-DESCOPE-9: an API of a descoped operator has no other provider, whichever scope that has."""
    csvs = [csv for _, csv in sorted(cluster.csvs.items()) if not is_copy_by_metadata(csv.object)]
    csvs.sort(key=lambda csv: not is_descoped(csv, options))
    for first, second in combinations(csvs, 2):
        theirs = {api.key for api in second.owned_apis}
        for api in first.owned_apis if theirs and is_descoped(first, options) else ():
            name = f"{api.plural}.{api.key.group}"
            if api.key not in theirs or name in options.shared_apis or _replaces(first, second):
                continue
            texts = [str(namespaced_name(csv)) if first.name == second.name else csv.name for csv in (first, second)]
            how = "" if is_descoped(second, options) else f", and {texts[0]} is descoped: it works in all namespaces"
            other = at(second.source, "metadata", "name")
            yield rules.SHARED_API.finding(
                at(first.source, "metadata", "name"),
                related=((f"ClusterServiceVersion {texts[1]}", other),) if other else (),
                first=texts[0], second=texts[1], kind=api.key.kind, group=api.key.group, version=api.key.version,
                how=how, api=name,
            )  # fmt: skip


def _replaces(one: Csv, other: Csv) -> bool:
    """Return whether two CSVs are two versions of one operator, of which one is about to go."""
    same = one.namespace == other.namespace
    return same and (one.replaces == other.name or other.replaces == one.name)
