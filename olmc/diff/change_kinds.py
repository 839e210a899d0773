"""The kinds of changes of everything but CRDs: settings, versions, images, permissions, workloads, and other objects.

The name of a kind and the names of its values are part of the JSON output.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from olmc.diff.change import (
    ADDED,
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    UntrustedText,
    change_kind,
    from_to,
    listed,
    shown,
)
from olmc.model.diagnostics import Severity
from olmc.model.objects import ANY, PolicyRule
from olmc.rbac_report.risks import Level
from olmc.resolver.upgrade_path import EdgeKind

EVERYWHERE = ""
WHERE_BOUND = "*"
"""The scope of a role: wherever somebody gets bound to it."""

_MOST = 12
_VERBS = (ANY, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_REFERENCE = re.compile(r"(.*?)((?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@[a-z0-9]+:[0-9a-f]+)?)", re.DOTALL)
_DIGEST = re.compile(r"(@[a-z0-9]+:[0-9a-f]{12})[0-9a-f]+")


# Settings and what is left out: whoever changes these changes what a review gets to see.


@change_kind("SettingChanged", ChangeGroup.SETTINGS)
def setting_changed(path: str, old: Any, new: Any, is_narrowing: bool) -> Judgement:
    """A setting of olmc.yaml with another value, or one that comes or goes; `path` as `spec.exclude`."""
    effect = "; it decides what is compiled, and does not count here" if is_narrowing else ""
    return RISK if is_narrowing else CHANGE, (shown(path), *from_to(old, new), effect)


@change_kind("PatternAdded", ChangeGroup.SETTINGS, ADDED)
def pattern_added(pattern: str) -> Judgement:
    """A line of .olmcignore that only the new side has."""
    severity = CHANGE if pattern.startswith("!") else RISK
    return severity, (*_effect(pattern), "; it does not count here")


@change_kind("PatternRemoved", ChangeGroup.SETTINGS, REMOVED)
def pattern_removed(pattern: str) -> Judgement:
    """A line of .olmcignore that only the old side has."""
    severity = RISK if pattern.startswith("!") else CHANGE
    return severity, ("no longer ", *_effect(pattern), "; it still counts here")


def _effect(pattern: str) -> Message:
    verb = "takes back in what matches " if pattern.startswith("!") else "leaves out what matches "
    return (verb, shown(pattern.removeprefix("!")))


@change_kind("SuppressionAdded", ChangeGroup.SETTINGS, ADDED)
def suppression_added(code: str, reason: str, files: str, is_grave: bool) -> Judgement:
    """A finding that somebody accepts from now on, by a comment in a file or in olmc.yaml; `files` is the pattern of
    the files for which olmc.yaml accepts it."""
    return RISK if is_grave else CHANGE, ("accepts ", *_accepted(code, reason, files))


@change_kind("SuppressionRemoved", ChangeGroup.SETTINGS, REMOVED)
def suppression_removed(code: str, reason: str, files: str) -> Judgement:
    """A finding that nobody accepts any more; the values are those of SuppressionAdded."""
    return CHANGE, ("no longer accepts ", *_accepted(code, reason, files))


def _accepted(code: str, reason: str, files: str) -> Message:
    where: Message = (" in ", shown(files)) if files else ()
    return (shown(code or "nothing"), *where, *((": ", shown(reason)) if reason else (", without a reason",)))


@change_kind("BuildAdded", ChangeGroup.SETTINGS, ADDED)
def build_added(tool: str) -> Judgement:
    """A file that only the new side has, by which `tool` builds what is applied of its folder, and olmc does not."""
    return RISK, ("new: GitOps tools build this folder with ", tool, ", which olmc does not follow")


@change_kind("BuildChanged", ChangeGroup.SETTINGS, CHANGED)
def build_changed(tool: str) -> Judgement:
    """Such a file that both sides have, with another content."""
    return RISK, ("another content: GitOps tools build this folder with ", tool, ", which olmc does not follow")


@change_kind("BuildRemoved", ChangeGroup.SETTINGS, REMOVED)
def build_removed(tool: str) -> Judgement:
    """Such a file that only the old side has: what is applied of the folder is no longer what it made of it."""
    return RISK, ("gone: GitOps tools no longer build this folder with ", tool, " by it, which olmc did not follow")


@change_kind("LeftOutAdded", ChangeGroup.SETTINGS, ADDED)
def left_out_added(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are left out from now on: in a file, or in all files of a folder that are left out for one reason.

    Whatever tool applies the whole folder would apply them. `unread` says what there may be besides, "" for nothing.
    """
    return RISK, ("left out, and applied by other tools: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutChanged", ChangeGroup.SETTINGS, CHANGED)
def left_out_changed(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are left out on both sides, and not the same; the values are those of LeftOutAdded."""
    return RISK, ("left out on both sides, and another: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutRemoved", ChangeGroup.SETTINGS, REMOVED)
def left_out_removed(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are no longer left out, or no longer there; the values are those of LeftOutAdded."""
    return CHANGE, ("no longer among what is left out: ", *_content(objects, unread), f"; {reason}")


def _content(objects: tuple[str, ...], unread: str) -> Message:
    return (*listed(objects, _MOST), " and " * bool(objects and unread), unread)


# Versions: which CSV of which version is installed in which namespace, and whether it would work.


class UpgradeHop(NamedTuple):
    """An upgrade from one CSV to another, and why it is one."""

    source: str
    target: str
    kind: EdgeKind


class UpgradePath(NamedTuple):
    """The hops of an upgrade. `reached`: do they lead to the new CSV (None: nobody can say); `end`: where else."""

    hops: tuple[UpgradeHop, ...] = ()
    reached: bool | None = None
    end: str = ""


@change_kind("OperatorAdded", ChangeGroup.VERSIONS, ADDED)
def operator_added(package: str, version: str) -> Judgement:
    """A package that only the new side has in this namespace."""
    return CHANGE, ("new operator ", shown(package), " ", shown(version))


@change_kind("OperatorRemoved", ChangeGroup.VERSIONS, REMOVED)
def operator_removed(package: str, version: str) -> Judgement:
    """A package that only the old side has in this namespace."""
    return BREAKING, ("operator ", shown(package), " ", shown(version), " is gone")


@change_kind("OperatorUpgraded", ChangeGroup.VERSIONS, CHANGED)
def operator_upgraded(
    package: str, old: str, new: str, old_version: str, new_version: str, path: UpgradePath, downgrade: bool
) -> Judgement:
    """Another CSV of the same package in a namespace.

    `old` and `new` are names of CSVs, the versions are theirs. `path` is the way that OLM takes from one to the other;
    `downgrade`: the new version is lower.
    """
    down = " (a downgrade)" if downgrade else ""
    versions: Message = (shown(old_version or old), " → ", shown(new_version or new), down)
    severity = BREAKING if path.reached is False else RISK if downgrade else CHANGE
    return severity, (shown(package), " ", *versions, *_way(path))


def _way(path: UpgradePath) -> Message:
    if path.reached is None:
        return ("; whether OLM leads there only its catalog could say",)
    if path.reached is False:
        return ("; OLM does not lead there: it comes to rest at ", shown(path.end))
    if len(path.hops) == 1:
        return (f", in one hop ({path.hops[0].kind})",)
    stops: Message = (shown(path.hops[0].source),)
    for hop in path.hops:
        stops = (*stops, " → ", shown(hop.target))
    return (f", in {len(path.hops)} hops: ", *stops)


@change_kind("VersionEdited", ChangeGroup.VERSIONS, CHANGED)
def version_edited(field: str, old: str, new: str) -> Judgement:
    """The same CSV with another version or other upgrade edges: its bundle was changed without a new name."""
    return RISK, (f"{field} of the same CSV: ", shown(old), " → ", shown(new))


@change_kind("PhaseChanged", ChangeGroup.VERSIONS, CHANGED)
def phase_changed(old: str, new: str, reason: str, message: str) -> Judgement:
    """Another phase of an operator; `old` is "" for a new one. `message` is OLM's text."""
    before: Message = (shown(old), " → ") if old else ()
    if new == "Succeeded":
        return CHANGE, ("phase: ", *before, shown(new))
    return BREAKING, ("would not work: ", *before, shown(new), " (", shown(reason), "): ", shown(message))


@change_kind("ResolutionFails", ChangeGroup.VERSIONS, CHANGED)
def resolution_fails(message: str) -> Judgement:
    """A Subscription that OLM could resolve on the old side and can't on the new one."""
    return BREAKING, ("can't be resolved any more: ", shown(message))


@change_kind("PlanChanged", ChangeGroup.VERSIONS, ADDED)
def plan_changed(phase: str, csvs: tuple[str, ...], message: str) -> Judgement:
    """An InstallPlan that waits for approval, or has failed, on the new side only; `csvs` is what it would install."""
    if phase == "Failed":
        return BREAKING, ("the plan for ", *listed(csvs), " fails: ", shown(message))
    return CHANGE, ("the plan for ", *listed(csvs), " waits for approval")


@change_kind("SubscriptionAdded", ChangeGroup.VERSIONS, ADDED)
def subscription_added(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Judgement:
    """A Subscription that only the new side has, and what it asks for; "" for what it leaves open."""
    return CHANGE, ("new: ", *_subscribed(package, channel, source, approval, starting_csv))


@change_kind("SubscriptionRemoved", ChangeGroup.VERSIONS, REMOVED)
def subscription_removed(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Judgement:
    """A Subscription that only the old side has; the values are those of SubscriptionAdded."""
    return CHANGE, ("removed: ", *_subscribed(package, channel, source, approval, starting_csv))


def _subscribed(package: str, channel: str, source: str, approval: str, starting_csv: str) -> Message:
    start: Message = (" from ", shown(starting_csv), " on") if starting_csv else ()
    of_channel: Message = (", channel ", shown(channel)) if channel else ()
    return ("package ", shown(package), *of_channel, " of ", shown(source), *start, f", {approval}")


@change_kind("SubscriptionChanged", ChangeGroup.VERSIONS, CHANGED)
def subscription_changed(field: str, old: str, new: str) -> Judgement:
    """Another channel, catalog, approval or starting version; "" for none."""
    # From then on upgrades come without anybody looking at them.
    severity = RISK if (field, old) == ("installPlanApproval", "Manual") else CHANGE
    return severity, (f"{field}: ", shown(old or "none"), " → ", shown(new or "none"))


@change_kind("TargetsChanged", ChangeGroup.VERSIONS, CHANGED)
def targets_changed(added: tuple[str, ...], removed: tuple[str, ...]) -> Judgement:
    """An OperatorGroup that targets other namespaces; "" is all of them."""
    # A namespace that is no longer watched loses its operator; one that is added lets it in.
    severity = BREAKING if removed and "" not in added else RISK
    if added and removed and "" in (*added, *removed):
        return severity, ("targets ", *_namespaces(added), " instead of ", *_namespaces(removed))
    more: Message = ("targets ", *_namespaces(added)) if added else ()
    less: Message = ("no longer targets ", *_namespaces(removed)) if removed else ()
    return severity, (*more, "; " if more and less else "", *less)


def _namespaces(names: tuple[str, ...]) -> Message:
    return ("all namespaces",) if names == ("",) else listed(names)


@change_kind("InstallModeAdded", ChangeGroup.VERSIONS, ADDED)
def install_mode_added(mode: str) -> Judgement:
    """An install mode that the operator supports from now on."""
    return NOTE, ("supports install mode ", shown(mode))


@change_kind("InstallModeRemoved", ChangeGroup.VERSIONS, REMOVED)
def install_mode_removed(mode: str) -> Judgement:
    """An install mode that the operator does not support any more."""
    return BREAKING, ("no longer supports install mode ", shown(mode))


@change_kind("KubernetesRaised", ChangeGroup.VERSIONS, CHANGED)
def kubernetes_raised(old: str, new: str) -> Judgement:
    """Another minKubeVersion; "" for none."""
    return RISK if new else NOTE, ("minKubeVersion: ", shown(old or "none"), " → ", shown(new or "none"))


@change_kind("RequirementAdded", ChangeGroup.VERSIONS, ADDED)
def requirement_added(requirement: str) -> Judgement:
    """Another operator or API that has to be there; `requirement` as its property has it."""
    return RISK, ("requires ", shown(requirement))


@change_kind("RequirementRemoved", ChangeGroup.VERSIONS, REMOVED)
def requirement_removed(requirement: str) -> Judgement:
    """Another operator or API that need not be there any more."""
    return NOTE, ("no longer requires ", shown(requirement))


# Images: of containers, of variables that name images, and the related images of CSVs.


@change_kind("ImageChanged", ChangeGroup.IMAGES, CHANGED)
def image_changed(places: tuple[str, ...], old: str, new: str) -> Judgement:
    """Another image; `places` are all that had the one and have the other: containers, variables, related images."""
    (old_name, old_version), (new_name, new_version) = _parts(old), _parts(new)
    if old_name == new_name and old_version and new_version:
        versions = (UntrustedText(old_version), " → ", UntrustedText(new_version))
        return CHANGE, (*listed(places), ": ", UntrustedText(old_name), " ", *versions)
    return CHANGE, (*listed(places), ": ", _short(old), " → ", _short(new))


@change_kind("ImageAdded", ChangeGroup.IMAGES, ADDED)
def image_added(place: str, image: str) -> Judgement:
    """An image for a place that the old side does not have."""
    return CHANGE, (shown(place), ": ", _short(image), " (new)")


@change_kind("ImageRemoved", ChangeGroup.IMAGES, REMOVED)
def image_removed(place: str, image: str) -> Judgement:
    """An image of a place that the new side does not have."""
    return NOTE, (shown(place), " is gone; it was ", _short(image))


def _parts(image: str) -> tuple[str, str]:
    """The name of an image, and its tag and digest; of a digest the part by which people know it."""
    match = _REFERENCE.fullmatch(image)
    name, version = match.groups() if match is not None else (image, "")
    return name, _DIGEST.sub(r"\1", version)


def _short(image: str) -> UntrustedText:
    return UntrustedText("".join(_parts(image)))


# Permissions: `identity` is a service account, user, group or role. `scope` is a namespace, "" for the whole cluster,
# `*` for wherever the role gets bound.


@change_kind("PermissionGained", ChangeGroup.PERMISSIONS, ADDED)
def permission_gained(scope: str, rule: PolicyRule, risks: tuple[str, ...], level: str) -> Judgement:
    """What somebody may do on the new side only.

    `risks` are the names of its dangers as `olmc rbac` has them, `level` is that of the gravest.
    """
    warning: Message = (f" ({level}: {', '.join(risks)})",) if risks else ()
    severity = CHANGE if level in (str(Level.NONE), str(Level.LOW)) else RISK
    return severity, ("may ", *_allowed(rule), *_where(scope), *warning)


@change_kind("PermissionLost", ChangeGroup.PERMISSIONS, REMOVED)
def permission_lost(scope: str, rule: PolicyRule) -> Judgement:
    """What somebody may do on the old side only."""
    return CHANGE, ("may no longer ", *_allowed(rule), *_where(scope))


@change_kind("RoleGained", ChangeGroup.PERMISSIONS, ADDED)
def role_gained(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the new side only; what is in it, neither side says."""
    return CHANGE, ("has ", shown(role), *_where(scope))


@change_kind("RoleLost", ChangeGroup.PERMISSIONS, REMOVED)
def role_lost(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the old side only."""
    return CHANGE, ("no longer has ", shown(role), *_where(scope))


def verbs_in_order(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Verbs as people are used to read them."""
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def qualified(resource: str, group: str) -> str:
    """A resource with its group, as kubectl takes it: `deployments.apps/scale`."""
    whole, slash, below = resource.partition("/")
    return f"{whole}.{group}{slash}{below}" if group else resource


def _allowed(rule: PolicyRule) -> Message:
    verbs: Message = ("do anything with",) if rule.verbs == (ANY,) else listed(verbs_in_order(rule.verbs))
    names: Message = (" named ", *listed(rule.names, _MOST)) if rule.names else ()
    if rule.urls:
        return (*verbs, " the URLs ", *listed(rule.urls, _MOST))
    if len(rule.groups) == 1:
        resources = listed(tuple(qualified(resource, rule.groups[0]) for resource in rule.resources), _MOST)
    else:
        groups = listed(tuple(group or "core" for group in rule.groups), _MOST)
        resources = (*listed(rule.resources, _MOST), " in the API groups ", *groups)
    return (*verbs, " ", *resources, *names)


def _where(scope: str) -> Message:
    if scope == EVERYWHERE:
        return (" in the whole cluster",)
    return (" where the role is bound",) if scope == WHERE_BOUND else (" in namespace ", UntrustedText(scope))


# Deployments and other workloads.


@change_kind("ContainerAdded", ChangeGroup.DEPLOYMENTS, ADDED)
def container_added(container: str, privileged: bool) -> Judgement:
    """A container that the old side does not have; the images have its image."""
    warning = (", which is privileged",) if privileged else ()
    return RISK if privileged else CHANGE, ("new container ", shown(container), *warning)


@change_kind("ContainerRemoved", ChangeGroup.DEPLOYMENTS, REMOVED)
def container_removed(container: str) -> Judgement:
    """A container that the new side does not have."""
    return CHANGE, ("container ", shown(container), " is gone")


@change_kind("EnvironmentChanged", ChangeGroup.DEPLOYMENTS)
def environment_changed(container: str, variable: str, old: Any, new: Any) -> Judgement:
    """A variable of a container's environment; a value from elsewhere is the mapping that names its source."""
    return CHANGE, (shown(container), ": variable ", shown(variable), *from_to(old, new))


@change_kind("ArgumentsChanged", ChangeGroup.DEPLOYMENTS, CHANGED)
def arguments_changed(container: str, field: str, added: tuple[str, ...], removed: tuple[str, ...]) -> Judgement:
    """The command or the arguments of a container: what comes and what goes; neither if only the order is another."""
    start: Message = (shown(container), f": {field}")
    if not added and not removed:
        return CHANGE, (*start, " in another order")
    less: Message = (" without ", *listed(removed), "," if added else "") if removed else ()
    return CHANGE, (*start, *less, *((" with ", *listed(added)) if added else ()))


@change_kind("ResourcesChanged", ChangeGroup.DEPLOYMENTS)
def resources_changed(container: str, what: str, old: Any, new: Any) -> Judgement:
    """A limit or a request of a container; `what` as `limits.memory`."""
    return CHANGE, (shown(container), ": ", shown(what), *from_to(old, new))


@change_kind("SecurityChanged", ChangeGroup.DEPLOYMENTS)
def security_changed(path: str, old: Any, new: Any, loosened: bool) -> Judgement:
    """A setting that decides what a pod may do to its node; `loosened` if it may do more than before."""
    warning = ("; the pod may do more than before",) if loosened else ()
    return RISK if loosened else CHANGE, (shown(path), *from_to(old, new), *warning)


@change_kind("PodsReplaced", ChangeGroup.DEPLOYMENTS, CHANGED)
def pods_replaced() -> Judgement:
    """A workload whose pods are replaced, be it for an annotation alone."""
    return CHANGE, ("its pods are replaced, because their template is another",)


# Objects as such, and fields that nothing more particular is known of.


@change_kind("ObjectAdded", None, ADDED)
def object_added(severity: Severity) -> Judgement:
    """An object that only the new side has; a risk if it has a say in what others do."""
    return severity, ("new; it has a say in what is sent to the API server" if severity is RISK else "new",)


@change_kind("ObjectRemoved", None, REMOVED)
def object_removed() -> Judgement:
    """An object that only the old side has."""
    return CHANGE, ("removed",)


@change_kind("FieldChanged", None)
def field_changed(path: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """A field with another value, or one that comes or goes; `path` as `spec.ports[http].port`."""
    return severity, (shown(path), *from_to(old, new))


@change_kind("Renamed", ChangeGroup.OTHER, CHANGED)
def renamed(old: str, is_bound_by_people: bool) -> Judgement:
    """An object that has another name; the ClusterRoles of OperatorGroups are there to be bound by people."""
    advice = "; bindings to that name have to follow" if is_bound_by_people else ""
    return RISK if is_bound_by_people else CHANGE, ("its name was ", shown(old), advice)
