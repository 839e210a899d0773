"""The move of a Subscription to OLM v1: the ClusterExtension that replaces it, or the reasons for it to stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.migration import Edit, FieldPath, in_place
from olmc.compiler.model.cluster import CatalogSource, Cluster, CsvState, NamespacedName, Subscription
from olmc.compiler.model.workspace import EXTENSIONS_V1, METADATA_NAME, Workspace
from olmc.compiler.olm.facts import poll_interval
from olmc.compiler.reconcile.diagnose import way_to_catalog
from olmc.compiler.results import InstallerRule
from olmc.k8s.api.rbac import decode_rules, merge
from olmc.k8s.diagnostics import Location, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    CatalogKey,
    KubernetesObject,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    object_key,
    text,
)
from olmc.k8s.yaml import at
from olmc.review.diff.noise import is_role_of_api
from olmc.targets.v1.generators import FeatureGates
from olmc.targets.v1.permissions import ClusterExtension, api_errors, cluster_extension, installer_roles, written_rule

_CATALOG: FieldPath = ("spec", "source", "catalog")
# Where fields of a Subscription's spec go in a ClusterExtension, and those of a CatalogSource's in a ClusterCatalog.
_FIELDS = {
    "name": (*_CATALOG, "packageName"),
    "channel": (*_CATALOG, "channels"),
    "source": (*_CATALOG, "selector"),
    "startingCSV": (*_CATALOG, "version"),
    "installPlanApproval": (*_CATALOG, "version"),
    "config": ("spec", "config"),
}
_CATALOG_FIELDS: Mapping[str, FieldPath] = {
    "image": ("spec", "source", "image", "ref"),
    "priority": ("spec", "priority"),
    "updateStrategy": ("spec", "source", "image", "pollIntervalMinutes"),
}
# The catalogs that OpenShift brings along, by what they are called in both worlds (R-V1-CC-3).
_OPENSHIFT = {f"{name}-operators": f"openshift-{name}-operators" for name in ("redhat", "certified", "community")}
_AGGREGATES = "rbac.authorization.k8s.io/aggregate-to-"
_RIGHTS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_OWN_WAYS = "Let its OperatorGroup target all namespaces first, as olmc migrate --to descoped does where it can"


class MoveReason(NamedTuple):
    """The reason for a loss, or against a move: the sort of reason, the rule of OLM v1, and the fix."""

    kind: str
    rule: str
    text: str
    hint: str
    place: Location | None = None


class ExtensionMove(NamedTuple):
    """A Subscription with the CSV that it has installed, and what the ClusterExtension in its place asks for.

    `config` is its inline configuration; `pinned`: it stays at the version that is installed; `required` is what its
    installer has to be allowed to do, `users` the roles by which users reach its APIs.
    """

    subscription: Subscription
    installed: CsvState
    version: str
    channel: str
    catalog: str
    config: Mapping[str, Any] = {}
    pinned: bool = False
    required: tuple[InstallerRule, ...] = ()
    users: tuple[KubernetesObject, ...] = ()
    losses: tuple[MoveReason, ...] = ()

    @property
    def name(self) -> str:
        """The name of the ClusterExtension."""
        return self.subscription.package

    @property
    def namespace(self) -> str:
        return self.subscription.name.namespace

    @property
    def csv(self) -> str:
        """The name of the CSV, which is that of the bundle."""
        return self.installed.csv.name

    @property
    def member(self) -> NamespacedName:
        """The CSV that goes."""
        return NamespacedName(self.namespace, self.csv)

    def place(self, *keys: str) -> Location | None:
        """Return where something stands in the CSV."""
        return at(self.installed.csv.source, *keys)

    @property
    def object(self) -> KubernetesObject:
        """The ClusterExtension."""
        catalog: dict[str, Any] = {"packageName": self.name, "channels": [self.channel]}
        catalog |= {"version": self.version} if self.pinned else {}
        catalog["selector"] = {"matchLabels": {METADATA_NAME: self.catalog}}
        spec: dict[str, Any] = {"namespace": self.namespace, "serviceAccount": {"name": f"{self.name}-installer"}}
        spec["source"] = {"sourceType": "Catalog", "catalog": catalog}
        if self.config:
            spec["config"] = {"configType": "Inline", "inline": dict(self.config)}
        kind = {"apiVersion": EXTENSIONS_V1, "kind": "ClusterExtension"}
        return {**kind, "metadata": {"name": self.name}, "spec": spec}

    @property
    def extension(self) -> ClusterExtension:
        return cluster_extension(self.object)

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """Return the objects that replace the Subscription; the installer once its permissions are known."""
        if not self.required:
            return (self.object,)
        metadata = {"name": f"{self.name}-installer", "namespace": self.namespace}
        account = {"apiVersion": "v1", "kind": ACCOUNT, "metadata": metadata}
        return (self.object, account, *installer_roles(self.extension, self.required), *self.users)

    def edit(self, more: Sequence[KubernetesObject]) -> Edit:
        """The change to the Subscription's document, with further objects behind its own."""
        assert self.subscription.source is not None
        return Edit(self.subscription.source, in_place((*self.objects, *more), "ClusterExtension", _FIELDS))


class ExtensionPlan(NamedTuple):
    """The Subscriptions that may become ClusterExtensions, and those that can't, with the reasons."""

    moves: tuple[ExtensionMove, ...]
    stays: Mapping[NamespacedName, tuple[MoveReason, ...]]


def plan_extensions(
    workspace: Workspace, cluster: Cluster, gates: FeatureGates, objects: Iterable[KubernetesObject]
) -> ExtensionPlan:
    """Return the move of each Subscription of the workspace; `objects` are those of the compiled cluster."""
    given = {name: entry for name, entry in sorted(cluster.subscriptions.items()) if entry.source is not None}
    objects = list(objects)
    roles = [obj for obj in objects if obj["kind"] == "ClusterRole"]
    moves: list[ExtensionMove] = []
    stays: dict[NamespacedName, tuple[MoveReason, ...]] = {}
    for name, subscription in given.items():
        reasons = (
            *_hindrances(subscription, given.values(), workspace, cluster, gates), *_occupied(subscription, objects),
        )  # fmt: skip
        member = cluster.members.get(NamespacedName(name.namespace, subscription.installed))
        if reasons or member is None:
            stays[name] = reasons
            continue
        catalog, _ = catalog_for(subscription.catalog, cluster)
        entries = cluster.catalogs[subscription.catalog].entries if subscription.catalog in cluster.catalogs else ()
        own = [entry for entry in entries if entry.name == member.csv.name and entry.package == subscription.package]
        channel = subscription.channel or next((entry.channel for entry in own if entry.default_channel), "")
        config, lost = _config(subscription, member, gates)
        pinned = subscription.approval == "Manual"
        lost += [_approval(subscription, own[0].version)] if pinned else []
        moves.append(
            ExtensionMove(
                subscription, member, own[0].version, channel, catalog, config, pinned,
                users=tuple(_user_roles(subscription.package, member, roles)),
                losses=(*lost, *_of_group(member)),
            )
        )  # fmt: skip
    return ExtensionPlan(tuple(moves), stays)


def _has_content(key: CatalogKey, cluster: Cluster) -> bool:
    """Return whether it is known which operators a catalog serves."""
    source = cluster.catalogs.get(key)
    return source is not None and bool(source.entries)


def _hindrances(
    subscription: Subscription, others: Iterable[Subscription], workspace: Workspace, cluster: Cluster,
    gates: FeatureGates,
) -> Iterator[MoveReason]:  # fmt: skip
    """Return the obstacles to a move from a Subscription to a ClusterExtension that are known without the bundle."""
    place, package = at(subscription.source, "spec"), subscription.package
    same = [str(each.name) for each in others if each.package == package and each is not subscription]
    if same:
        why = f"{', '.join(same)} asks for the same package, and each object belongs to one ClusterExtension"
        yield MoveReason(
            "other instances", "R-V1-LIM-2", why, "Keep one of them, and let it watch all namespaces.", place
        )
    taken = any(text(mapping(m.object.get("metadata")).get("name")) == package for m in workspace.extensions)
    if taken:
        why = f"there is a ClusterExtension {package} already"
        yield MoveReason("other instances", "R-V1-LIM-2", why, "Remove one of the two.", place)
    key = subscription.catalog
    if not subscription.installed and not subscription.had_catalog and not _has_content(key, cluster):
        lacks = "content of " if key in cluster.catalogs else ""
        why = f"the workspace has no {lacks}CatalogSource {key.namespace}/{key.name}, so its operator is unknown"
        yield MoveReason("state", "R-V1-MIG-3", why, way_to_catalog(key, cluster), place)
        return
    if subscription.failure or not subscription.installed:
        why = "nothing is installed by it" + (f": {subscription.failure[1]}" if subscription.failure else "")
        hint = "Have OLM v0 install it first; a ClusterExtension would install something at once."
        yield MoveReason("state", "R-V1-MIG-3", why, hint, place)
        return
    source = cluster.catalogs.get(subscription.catalog)
    _, problem = catalog_for(subscription.catalog, cluster)
    if problem:
        where = at(source.source, "spec") if source is not None else place
        hint = "Give the CatalogSource an image with a file-based catalog."
        if source is None or source.manifest is None:
            hint = f"Add the CatalogSource {key.namespace}/{key.name} with its image to the workspace."
        yield MoveReason("catalogs", "R-V1-CC-1", problem, hint, where)
    elif source is None or subscription.installed not in {entry.name for entry in source.entries}:
        why = f"its catalog does not have {subscription.installed} any more, so OLM v1 could not install that"
        yield MoveReason("catalogs", "R-V1-RES-8", why, "Upgrade the operator under OLM v0 first.", place)
    member = cluster.members.get(NamespacedName(subscription.name.namespace, subscription.installed))
    if member is None or not member.succeeded:
        phase = f"{member.phase}, {member.reason}" if member is not None else "not there"
        why = f"{subscription.installed} does not run ({phase}), so that there is nothing to compare with"
        yield MoveReason("state", "R-V1-MIG-3", why, "Fix it first; olmc status lists the missing objects.", place)
    if member is not None and member.group is not None:
        yield from _modes(member, gates)


def _occupied(subscription: Subscription, objects: Iterable[KubernetesObject]) -> Iterator[MoveReason]:
    """Report objects with the names of the installer and its roles, and bindings that would give it more rights."""
    namespace, account = subscription.name.namespace, f"{subscription.package}-installer"
    found: list[str] = []
    for obj in objects:
        key = object_key(obj)
        if key.group not in ("", RBAC) or key.kind not in (ACCOUNT, *_RIGHTS):
            continue
        is_named = key.name == account or (key.group == RBAC and key.name.startswith(f"{subscription.package}-apis-"))
        if is_named and (key.kind != ACCOUNT or key.namespace == namespace):
            found.append(str(key))
        elif any(_is_account(subject, namespace, account) for subject in mappings(obj.get("subjects"))):
            found.append(f"a binding of this account, {key}")
    if found:
        why = f"olmc would write ServiceAccount {namespace}/{account} with its roles, and there is {found[0]} already"
        hint = "Remove or rename it, so that the installer has the rights that it needs and no others."
        yield MoveReason("names", "R-V1-SA-1", why, hint, at(subscription.source, "spec"))


def _is_account(subject: Mapping[str, Any], namespace: str, name: str) -> bool:
    if subject.get("kind") == ACCOUNT:
        return (subject.get("namespace"), subject.get("name")) == (namespace, name)
    return subject.get("kind") == "User" and subject.get("name") == f"system:serviceaccount:{namespace}:{name}"


def _modes(member: CsvState, gates: FeatureGates) -> Iterator[MoveReason]:
    """Yield why OLM v1 can't watch what an operator watches (R-V1-CFG-1, R-V1-OPT-1)."""
    assert member.group is not None
    targets, place = member.group.targets, at(member.group.source, "spec")
    modes = {mode.type for mode in member.csv.install_modes if mode.supported}
    ways = [_OWN_WAYS] if "AllNamespaces" in modes else []
    if len(targets) > 1:
        why = f"it watches {len(targets)} namespaces, and a ClusterExtension watches all or one"
        hint = ways[0] if ways else "Let its OperatorGroup target one namespace, or keep the operator on OLM v0"
        yield MoveReason("install modes", "R-V1-OPT-1", why, f"{hint}.", place)
    elif targets != ("",) and not gates.single_own_namespace_install_support:
        why = f"it watches the namespace {targets[0] if targets else '(none)'}, which takes a closed feature gate"
        ways.append("open SingleOwnNamespaceInstallSupport (--olm-version v1-experimental)")
        hint = ", or ".join(ways)
        yield MoveReason("install modes", "R-V1-CFG-1", why, f"{hint[0].upper()}{hint[1:]}.", place)


def _config(
    subscription: Subscription, member: CsvState, gates: FeatureGates
) -> tuple[dict[str, Any], list[MoveReason]]:
    """The inline configuration for what a group targets and a Subscription configures, and what has no place in it."""
    inline: dict[str, Any] = {}
    targets = member.group.targets if member.group is not None else ("",)
    if targets != ("",):
        inline["watchNamespace"] = targets[0]
    given = {key: value for key, value in mapping(subscription.spec.get("config")).items() if value}
    kept = {key: value for key, value in given.items() if key != "selector"} if gates.deployment_config else {}
    if kept:
        inline["deploymentConfig"] = kept
    lost = [key for key in given if key not in kept]
    if not lost:
        return inline, []
    removed = ", ".join(f"spec.config.{key}" for key in lost)
    why = f"{removed} {'has' if len(lost) == 1 else 'have'} no place in a ClusterExtension"
    hint = "Open the gate DeploymentConfig (--olm-version v1-experimental), or have the operator do without."
    if gates.deployment_config:
        hint = "Remove it: the configuration counts for all Deployments of the bundle."
    return inline, [MoveReason("configuration", "R-V1-CFG-5", why, hint, at(subscription.source, "spec", "config"))]


def _approval(subscription: Subscription, version: str) -> MoveReason:
    why = f"upgrades are not approved one by one any more; it is pinned to {version}"
    hint = "Change spec.source.catalog.version to upgrade; only successors of what is installed are allowed."
    return MoveReason("approvals", "R-V1-CE-1", why, hint, at(subscription.source, "spec", "installPlanApproval"))


def _of_group(member: CsvState) -> Iterator[MoveReason]:
    if member.group is not None and member.group.account:
        why = f"ServiceAccount {member.group.account} no longer bounds what the operator is granted"
        hint = "Look at the roles of the installer: they are what the bundle asks for."
        place = at(member.group.source, "spec", "serviceAccountName")
        yield MoveReason("accounts of groups", "R-V1-SA-1", why, hint, place)


def _user_roles(package: str, member: CsvState, roles: Iterable[KubernetesObject]) -> Iterator[KubernetesObject]:
    """Roles that give admin, edit and view what OLM v0 gives them of an operator's APIs (R-V1-MIG-2)."""
    owned = {api.name for api in member.csv.owned_crds}
    by_label: dict[str, list[Any]] = {}
    for role in roles:
        # Labels and owners are claims of a role: only one with the rules that OLM writes is OLM's.
        if not is_role_of_api(object_key(role), role, owned):
            continue
        for label, value in labels_of(role).items():
            if label.startswith(_AGGREGATES) and value == "true":
                by_label.setdefault(label, []).extend(decode_rules(role.get("rules")))
    for label, rules in sorted(by_label.items()):
        metadata = {"name": f"{package}-apis-{label.removeprefix(_AGGREGATES)}", "labels": {label: "true"}}
        written = [written_rule(rule) for rule in merge(rules)]
        yield {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata, "rules": written}


def catalog_for(key: CatalogKey, cluster: Cluster) -> tuple[str, str]:
    """The name of the ClusterCatalog that serves what a CatalogSource does, or why there can be none."""
    source = cluster.catalogs.get(key)
    if (source is None or source.manifest is None) and key.name in _OPENSHIFT:
        return _OPENSHIFT[key.name], ""
    if source is None or source.manifest is None:
        return "", f"CatalogSource {key.namespace}/{key.name} is not in the workspace, so its image is not known"
    spec = mapping(source.manifest.get("spec"))
    if not text(spec.get("image")):
        return "", f"CatalogSource {key.name} has no image, and a ClusterCatalog serves the content of one"
    others = [other for other in cluster.catalogs if other.name == key.name and other != key]
    if others:
        return "", f"there is a CatalogSource {key.name} in {others[0].namespace} as well, and one name for both"
    errors = api_errors(cluster_catalog_object(source))
    return key.name, str(errors[0]) if errors else ""


def cluster_catalog_object(source: CatalogSource) -> KubernetesObject:
    """The ClusterCatalog with the image, the priority and the interval of a CatalogSource (R-V1-CC-1)."""
    spec = mapping(mapping(source.manifest).get("spec"))
    image: dict[str, Any] = {"ref": text(spec.get("image"))}
    interval = poll_interval(spec)
    if interval and "@" not in image["ref"]:
        image["pollIntervalMinutes"] = max(1, round(interval.seconds / 60))
    written: dict[str, Any] = {"source": {"type": "Image", "image": image}}
    written |= {"priority": source.priority} if source.priority else {}
    return {
        "apiVersion": EXTENSIONS_V1, "kind": "ClusterCatalog", "metadata": {"name": source.key.name}, "spec": written,
    }  # fmt: skip


def catalog_edit(source: CatalogSource, place: Source) -> Edit:
    """The change that makes a ClusterCatalog of a CatalogSource."""
    return Edit(place, in_place((cluster_catalog_object(source),), "ClusterCatalog", _CATALOG_FIELDS))


def catalog_losses(source: CatalogSource) -> Iterator[MoveReason]:
    """Yield the fields of a CatalogSource that a ClusterCatalog can't have."""
    if source.manifest is None:
        return
    spec = mapping(source.manifest.get("spec"))
    lost = [f"spec.{key}" for key in ("secrets", "grpcPodConfig") if spec.get(key)]
    lost += ["the image template"] if "olm.catalogImageTemplate" in annotations_of(source.manifest) else []
    if lost:
        why = f"ClusterCatalog {source.key.name} has no {' and no '.join(lost)} of its CatalogSource"
        hint = "Pull secrets are those of the cluster for OLM v1; write the image with its tag."
        yield MoveReason("catalogs", "R-V1-CC-1", why, hint, at(source.source, "spec"))
