"""What a ClusterExtension has once the bundle that it was resolved to is installed, or what keeps that from happening
(R-V1-PIPE).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.model.catalog import Deprecation
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.reconcile.operator_groups import account_exists
from olmc.compiler.transition.deletion import helm_marks
from olmc.k8s.api.rbac_access import access
from olmc.k8s.api.restmapper import rest_mapper
from olmc.k8s.diagnostics import Place, Report, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    labels_of,
    mappings,
    metadata_of,
    object_key,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import locate
from olmc.targets.v1 import rules
from olmc.targets.v1.crd_upgrade import upgrade_errors
from olmc.targets.v1.generators import FeatureGates, InstallRequest, render_bundle
from olmc.targets.v1.locking import content_of_bundle
from olmc.targets.v1.permissions import (
    CatalogFilter,
    ClusterExtension,
    InstalledBundle,
    installer,
    missing_rules,
    preflight_error,
    required_rules,
)
from olmc.targets.v1.registry_bundle import (
    ANNOTATIONS,
    MANIFESTS,
    PROPERTIES,
    BundleError,
    RegistryBundle,
    read_registry_bundle,
)
from olmc.targets.v1.resolution import ExtensionResolution, ServedCatalog, resolve
from olmc.targets.v1.single_extension import (
    EXTENSION_KIND,
    PREFIX,
    SET_KIND,
    Owner,
    RevisionBundle,
    extension_objects,
    is_kept,
    object_set,
    phases_of,
)

if TYPE_CHECKING:
    from olmc.targets.v1.extensions import ExtensionResult

# The conditions of a ClusterExtension after one reconciliation (R-V1-CND-1, R-V1-CND-2).

_LONGEST = 32768
_TRUNCATED = "\n\n... [message truncated]"
DESIRED = "Desired state reached"
NOTHING_INSTALLED = "No bundle installed"


class Condition(NamedTuple):
    """A condition: its type, status, reason and message."""

    type: str
    status: str
    reason: str
    message: str


def condition(kind: str, status: str, reason: str, message: str) -> Condition:
    """A condition with its message as the controller cuts it."""
    size = len(message.encode("utf-8", "surrogatepass"))
    if size > _LONGEST:
        kept = message.encode("utf-8", "surrogatepass")[: _LONGEST - len(_TRUNCATED)]
        message = kept.decode("utf-8", "ignore") + _TRUNCATED
    return Condition(kind, status, reason, message)


def installed_condition(installed: InstalledBundle | None, *, reason: str = "Failed") -> Condition:
    """What Installed says; `reason` is that of nothing being installed."""
    if installed is None:
        return condition("Installed", "False", reason, NOTHING_INSTALLED)
    return condition("Installed", "True", "Succeeded", f"Installed bundle {installed.image} successfully")


def retrying(text: str, installed: InstalledBundle | None) -> list[Condition]:
    """After an error that goes away by itself, or does not; it is tried again."""
    return [condition("Progressing", "True", "Retrying", text), installed_condition(installed)]


def service_account_missing(name: str, namespace: str) -> list[Condition]:
    """Without the ServiceAccount nothing is begun (R-V1-SA-1)."""
    text = f"service account {quoted(name)} not found in namespace {quoted(namespace)}"
    message = f"operation cannot proceed due to the following validation error(s): {text}"
    return [condition("Progressing", "True", "Retrying", message), condition("Installed", "Unknown", "Failed", message)]


def of_bundle(text: str, bundle: InstalledBundle) -> str:
    """An error of a bundle that was resolved, with its name and version."""
    return f"error for resolved bundle {quoted(bundle.name)} with version {quoted(bundle.version)}: {text}"


def invalid_configuration(text: str, bundle: InstalledBundle, installed: InstalledBundle | None) -> list[Condition]:
    """After an error of the configuration, which nobody tries again."""
    message = of_bundle(text, bundle)
    return [condition("Progressing", "False", "InvalidConfiguration", message), installed_condition(installed)]


def succeeded(installed: InstalledBundle) -> list[Condition]:
    """After a bundle was applied with the Helm runtime."""
    return [condition("Progressing", "True", "Succeeded", DESIRED), installed_condition(installed)]


def rolled_out(installed: InstalledBundle) -> list[Condition]:
    """After a ClusterObjectSet has come to rest, whose conditions are copied (R-V1-COS-8)."""
    return [
        condition("Progressing", "True", "Succeeded", f"Revision {installed.version} has rolled out."),
        condition("Available", "True", "ProbesSucceeded", "Objects are available and pass all probes."),
        installed_condition(installed),
    ]


def rolling_out(version: str, installed: InstalledBundle | None) -> list[Condition]:
    """While a ClusterObjectSet is on its way."""
    text = f"Revision {version} is rolling out."
    return [condition("Progressing", "True", "RollingOut", text), installed_condition(installed, reason="Absent")]


def conditions_after(
    source: CatalogFilter, installed: InstalledBundle | None, resolution: ExtensionResolution
) -> tuple[InstalledBundle | None, list[Condition]]:
    """What is installed after a resolution, and the conditions if what it chose could be applied with the Helm runtime.

    A resolution that fails leaves what is installed as it is; that is no error if no catalog is there to be asked, and
    no other version is wanted (R-V1-CND-1).
    """
    if not resolution.error:
        now = resolution.installed
        return now, [*(succeeded(now) if now else []), *deprecation_conditions(source, now, resolution.deprecations)]
    keeps = keeps_installed(source, installed, any_catalog=resolution.any_catalog)
    conditions = succeeded(installed) if installed and keeps else retrying(resolution.error, installed)
    return installed, [*conditions, *deprecation_conditions(source, installed, None)]


def keeps_installed(source: CatalogFilter, installed: InstalledBundle | None, *, any_catalog: bool) -> bool:
    """Whether what is installed is what is wanted, since no catalog can say otherwise."""
    return installed is not None and not any_catalog and source.version in (None, "", installed.version)


def deprecation_conditions(
    source: CatalogFilter, installed: InstalledBundle | None, deprecations: Sequence[Deprecation] | None
) -> list[Condition]:
    """What the catalog says is deprecated of what is `installed`; None if no catalog could be asked (R-V1-CND-2)."""
    if deprecations is None:
        text = "deprecation status unknown: catalog data unavailable"
        kinds = ("Deprecated", "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated")
        conditions = [condition(kind, "Unknown", "DeprecationStatusUnknown", text) for kind in kinds]
        return conditions if installed is not None else [*conditions[:-1], _NO_BUNDLE]
    messages: dict[str, list[str]] = {"package": [], "channel": [], "bundle": []}
    for entry in deprecations:
        kind = entry.schema.removeprefix("olm.")
        applies = {
            "package": True,
            "channel": not source.channels or entry.name in source.channels,
            "bundle": installed is not None and entry.name == installed.name,
        }
        if entry.schema.startswith("olm.") and applies.get(kind) and entry.message:
            messages[kind].append(entry.message)
    every = [text for about in messages.values() for text in about]
    conditions = [_deprecated("Deprecated", every, "not deprecated")]
    for kind, about in messages.items():
        conditions.append(_deprecated(f"{kind.capitalize()}Deprecated", about, f"{kind} not deprecated"))
    return conditions if installed is not None else [*conditions[:-1], _NO_BUNDLE]


_NO_BUNDLE = Condition("BundleDeprecated", "Unknown", "Absent", "no bundle installed yet")


def _deprecated(kind: str, texts: Sequence[str], otherwise: str) -> Condition:
    if texts:
        return condition(kind, "True", "Deprecated", "\n".join(texts))
    return condition(kind, "False", "NotDeprecated", otherwise)


# What ClusterExtensions have in a cluster already, and what is there once another bundle is applied over it
# (R-V1-HELM-4, R-V1-COS-7).

_ARCHIVED = 5
_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


class HeldRevision(NamedTuple):
    """A ClusterObjectSet that is there: its number, and the object as it is written."""

    number: int
    written: Rendered


def held_objects(objects: Iterable[Rendered]) -> Mapping[str, tuple[Rendered, ...]]:
    """By ClusterExtension the objects that its labels say it has, ClusterObjectSets included."""
    held: dict[str, list[Rendered]] = defaultdict(list)
    for rendered in objects:
        labels = labels_of(rendered.object)
        if labels.get(f"{PREFIX}owner-kind") == EXTENSION_KIND:
            held[text(labels.get(f"{PREFIX}owner-name"))].append(rendered)
    return {name: tuple(some) for name, some in held.items()}


def latest_revision(held: Iterable[Rendered]) -> HeldRevision | None:
    """The ClusterObjectSet with the highest number, None without any."""
    return max(_revisions(held), key=lambda revision: revision.number, default=None)


def _revisions(held: Iterable[Rendered]) -> Iterator[HeldRevision]:
    for rendered in held:
        number = spec_of(rendered.object).get("revision")
        if rendered.identity.kind == SET_KIND and isinstance(number, int):
            yield HeldRevision(number, rendered)


def is_same_revision(there: KubernetesObject, wanted: KubernetesObject) -> bool:
    """Whether a ClusterObjectSet has the objects of another one; where they are packed into Secrets, of the bundle."""
    phases = mappings(spec_of(there).get("phases"))
    if any("ref" in member for phase in phases for member in mappings(phase.get("objects"))):
        return annotations_of(there) == annotations_of(wanted)
    return phases == spec_of(wanted).get("phases")


def applied_over(held: Sequence[Rendered], objects: Iterable[Rendered]) -> tuple[Rendered, ...]:
    """The objects that are there once `objects` are applied: with what the server keeps of those before them.

    What has no place any more is deleted, CRDs included, but for what Helm is configured to keep; ClusterObjectSets
    that are followed by another one are archived, and five of them stay.
    """
    before = {rendered.identity: rendered for rendered in held}
    applied = [_over(before[new.identity], new) if new.identity in before else new for new in objects]
    there = {rendered.identity for rendered in applied}
    by_helm = not any(key.kind == SET_KIND for key in there)
    kept = [old for key, old in before.items() if key not in there and by_helm and is_kept(old.object)]
    followed = sorted(_revisions(old for key, old in before.items() if key not in there), key=lambda each: each.number)
    archived = (revision.written for revision in followed[-_ARCHIVED:])
    return (*applied, *kept, *(old._replace(object=_archived(old.object)) for old in archived))


def _archived(revision: KubernetesObject) -> KubernetesObject:
    return {**revision, "spec": {**spec_of(revision), "lifecycleState": "Archived"}}


def _over(old: Rendered, new: Rendered) -> Rendered:
    """An object with the status of the one before, and with what the server has written into its metadata."""
    was = metadata_of(old.object)
    metadata = {**metadata_of(new.object), **{key: was[key] for key in _SERVER if key in was}}
    status = dict(status_of(old.object))
    if new.identity.kind == CRD_KIND and (status or _stored(new.object) != _stored(old.object)):
        stored = texts(status.get("storedVersions")) or _stored(old.object)
        status["storedVersions"] = [*stored, *(name for name in _stored(new.object) if name not in stored)]
    written = {**new.object, "metadata": metadata, **({"status": status} if status else {})}
    return new._replace(object=written)


def _stored(crd: KubernetesObject) -> list[str]:
    versions = mappings(spec_of(crd).get("versions"))
    return [text(version.get("name")) for version in versions if version.get("storage") is True]


_MOST = 3
_MEND = "Choose another version, or mend what the message names."


class ExtensionSetting(NamedTuple):
    """What all extensions have in common: the input, the cluster, the catalogs, and the gates of the controller."""

    workspace: Workspace
    cluster: Cluster
    options: Options
    gates: FeatureGates
    catalogs: tuple[ServedCatalog, ...]
    lacking: Mapping[str, str]
    """The catalogs whose content is not here, each with its image."""
    held: Mapping[str, tuple[Rendered, ...]]
    """By ClusterExtension what it has in the cluster, where that goes on from a state."""


def installed(
    result: ExtensionResult, resolution: ExtensionResolution, setting: ExtensionSetting, taken: Mapping[ObjectKey, str],
    report: Report,
) -> ExtensionResult:  # fmt: skip
    """The result with what the chosen bundle installs, or with what keeps it from being installed."""
    extension, chosen, bundle = result.extension, resolution.installed, resolution.bundle
    if chosen is None or bundle is None:
        return result
    place = locate(result.manifest.source, ("spec",))
    workspace = setting.workspace
    content = content_of_bundle(workspace, bundle)
    if content is None:
        image = bundle.image or "the catalog names no image"
        report.add(rules.NO_BUNDLE.finding(place, name=extension.name, bundle=bundle.name, image=image))
        return result._replace(problem=f"bundle {bundle.name} is not in the workspace")
    # A deprecation is no reason not to install; it stands in the conditions beside success.
    deprecations = deprecation_conditions(extension.source, chosen, resolution.deprecations)
    for deprecation in deprecations[1:]:
        if deprecation.status == "True":
            report.add(rules.DEPRECATED.finding(place, name=extension.name, problem=deprecation.message))
    report_account(result, setting, report)
    try:
        registry = _registry_bundle(content)
        config = extension.config
        rendered = render_bundle(registry, InstallRequest(extension.namespace, setting.gates, config))
    except BundleError as error:
        result = result._replace(objects=kept_objects(result, setting))
        # Of what stands deep in a configuration the controller says no more than `validation failed` (R-V1-CFG-4a).
        causes = "".join(f"{cause}. " for cause in error.causes)
        hint = f"{causes}Correct spec.config." if error.terminal else error.hint or _MEND
        return _failed(result, chosen, error.message, hint, report, terminal=error.terminal)
    result = _with_rights(result, rendered, setting)
    problem, hint = _preflight(result, rendered, setting, taken)
    if problem:
        return _failed(result._replace(objects=kept_objects(result, setting)), chosen, problem, hint, report)
    problem, hint = _revision_collisions(result, rendered, setting, taken)
    if problem:
        return _blocked(result, problem, hint, report)
    if result.missing and not setting.gates.preflight_permissions:
        shown = join_limited([rule.line for rule in result.missing], _MOST)
        account = str(installer(extension)).partition("/")[2]
        report.add(rules.LACKS_RIGHTS.finding(place, name=extension.name, account=account, rules=shown))
    conditions = rolled_out(chosen) if setting.gates.boxcutter_runtime else succeeded(chosen)
    further = _further(extension, chosen, setting)
    if further:
        report.add(
            rules.ANOTHER_HOP.finding(
                place, name=extension.name, bundle=chosen.name, further=further, version=chosen.version
            )
        )
    objects = _objects(result, registry, rendered, chosen, setting, report)
    return result._replace(conditions=(*conditions, *deprecations), installed=chosen, objects=objects, further=further)


def _failed(
    result: ExtensionResult, chosen: InstalledBundle, text: str, hint: str, report: Report, *, terminal: bool = False
) -> ExtensionResult:
    """The result with an error of a bundle that was chosen; what is installed stays."""
    installed = result.installed
    problem = of_bundle(text, chosen)
    conditions = invalid_configuration(text, chosen, installed) if terminal else retrying(problem, installed)
    deprecations = result.resolution.deprecations if result.resolution is not None else ()
    conditions += deprecation_conditions(result.extension.source, installed, deprecations)
    return _not_installed(result, problem, conditions, hint, report, "config" if terminal else "")


def _blocked(result: ExtensionResult, problem: str, hint: str, report: Report) -> ExtensionResult:
    """The result with what its first ClusterObjectSet says that does not get on; nothing is installed yet."""
    conditions = [condition("Progressing", "True", "Retrying", problem), installed_condition(None, reason="Absent")]
    deprecations = result.resolution.deprecations if result.resolution is not None else ()
    conditions += deprecation_conditions(result.extension.source, None, deprecations)
    return _not_installed(result, problem, conditions, hint, report)


def _not_installed(
    result: ExtensionResult, problem: str, conditions: list[Condition], hint: str, report: Report, key: str = ""
) -> ExtensionResult:
    place, extension = locate(result.manifest.source, ("spec", key) if key else ("spec",)), result.extension
    report.add(rules.NOT_INSTALLED.finding(place, name=extension.name, problem=problem, hint=hint))
    return result._replace(problem=problem, conditions=tuple(conditions))


def kept_objects(result: ExtensionResult, setting: ExtensionSetting) -> tuple[Rendered, ...]:
    """What is there of the bundle that is installed and stays, as far as its content is here."""
    extension, workspace = result.extension, setting.workspace
    installed = extension.installed
    if installed is None or workspace.is_live:
        return result.objects
    content = workspace.vendored.get(installed.image) or workspace.bundles.get(installed.name)
    if content is None:
        return ()
    try:
        registry = _registry_bundle(content)
        rendered = render_bundle(registry, InstallRequest(extension.namespace, setting.gates, extension.config))
    except BundleError:
        return ()  # it was installed with another configuration, of which nothing is known
    return _objects(result, registry, rendered, installed, setting, Report())


def _registry_bundle(content: Bundle) -> RegistryBundle:
    """A bundle as the controller reads it, with its files where they are in the workspace."""
    read = read_registry_bundle(bundle_files(content))
    places = {f"{MANIFESTS}{file.name}": file.manifest.source.path for file in content.files}
    sources = tuple(source._replace(path=places.get(source.path, source.path)) for source in read.sources)
    return read._replace(csv_source=content.csv.source, sources=sources)


def bundle_files(bundle: Bundle) -> dict[str, str]:
    """The files of a bundle as its image has them."""
    files = {f"{MANIFESTS}{file.name}": file.manifest.source.text for file in bundle.files}
    files[ANNOTATIONS] = json.dumps({"annotations": dict(bundle.annotations)})
    if bundle.properties:
        files[PROPERTIES] = json.dumps({"properties": [dict(item) for item in bundle.properties]})
    return files


def report_account(result: ExtensionResult, setting: ExtensionSetting, report: Report) -> None:
    """Report an account that the workspace does not have: the controller looks for it before all else (R-V1-SA-1)."""
    extension = result.extension
    if not account_exists(setting.cluster.objects, extension.namespace, extension.service_account):
        place = locate(result.manifest.source, ("spec", "serviceAccount", "name"))
        account, namespace = extension.service_account, extension.namespace
        report.add(rules.NO_ACCOUNT.finding(place, name=extension.name, account=account, namespace=namespace))


def _with_rights(
    result: ExtensionResult, rendered: Sequence[KubernetesObject], setting: ExtensionSetting
) -> ExtensionResult:
    """The result with the rights that its account needs, and those that it lacks if the workspace has the account."""
    extension, there = result.extension, setting.cluster.objects
    mapper = rest_mapper(rendered)
    # The account must also be allowed to set the finalizers of the revision that owns what it creates.
    revision = f"{extension.name}-1" if setting.gates.boxcutter_runtime else ""
    required = required_rules(extension, rendered, mapper, revision)
    account = installer(extension)
    if ObjectKey("", account.kind, account.namespace, account.name) not in there:
        return result._replace(required=required)
    roles = ((key, found.object) for key, found in there.items())
    granted = access(there, aggregated=True)
    missing = missing_rules(extension, rendered, mapper, granted, roles, revision=revision)
    return result._replace(required=required, missing=missing)


def _preflight(
    result: ExtensionResult,
    rendered: Sequence[KubernetesObject],
    setting: ExtensionSetting,
    taken: Mapping[ObjectKey, str],
) -> tuple[str, str]:
    """What the checks before the installation find, "" for nothing: rights, CRDs, objects that others have; and what to
    do about it."""
    extension, there = result.extension, setting.cluster.objects
    if setting.gates.preflight_permissions and result.missing:
        return preflight_error(result.missing), _MEND
    # CRDs of the whole cluster count, whoever made them: the check protects the objects that are stored.
    installed = [found.object for key, found in there.items() if key.kind == CRD_KIND]
    problem = upgrade_errors(installed, rendered) if extension.checks_crds else ""
    # An upgrade finds the objects of its own release, and the COS runtime judges collisions phase by phase.
    if problem or extension.installed is not None or setting.gates.boxcutter_runtime:
        return problem, _MEND
    for obj in rendered:
        key = object_key(obj)
        owner = _foreign_owner(obj, extension, setting, taken)
        if owner is not None:
            # Helm takes over nothing that it did not create (R-V1-HELM-4).
            where = f"in namespace '{key.namespace}' and cannot be managed by operator-controller"
            return f"{key.kind} '{key.name}' already exists {where}", _owner_hint(owner)
    return "", ""


def _revision_collisions(
    result: ExtensionResult,
    rendered: Sequence[KubernetesObject],
    setting: ExtensionSetting,
    taken: Mapping[ObjectKey, str],
) -> tuple[str, str]:
    """What the first ClusterObjectSet says in its first phase with objects of others, "" for none (R-V1-COS-7); and
    what to do about it. Behind the first line are words of olmc's own."""
    extension = result.extension
    if extension.installed is not None or not setting.gates.boxcutter_runtime:
        return "", ""
    for number, phase in enumerate(phases_of(rendered)):
        owners = [(object_key(obj), _foreign_owner(obj, extension, setting, taken)) for obj in phase.objects]
        foreign = [(key, owner) for key, owner in owners if owner is not None]
        if foreign:
            lines = "\n".join(f"{key} already exists" for key, _ in foreign)
            return f"revision object collisions in phase {number}\n{lines}", _owner_hint(foreign[0][1])
    return "", ""


def _foreign_owner(
    obj: KubernetesObject, extension: ClusterExtension, setting: ExtensionSetting, taken: Mapping[ObjectKey, str]
) -> str | None:
    """The ClusterExtension that has an object already, "" for nobody that is known, None where it may be created."""
    key = object_key(obj)
    present = setting.cluster.objects.get(key)
    if present is None:
        owner = taken.get(key)
        return None if owner == extension.name else owner
    if _is_adopted(present.object, extension):
        return None
    owner = labels_of(present.object).get(f"{PREFIX}owner-name", "")
    return None if owner == extension.name else owner


def _owner_hint(owner: str) -> str:
    return (
        f"It belongs to ClusterExtension {owner}, and an object has one owner: remove one of the two."
        if owner
        else _MEND
    )


def adopted_objects(
    extension: ClusterExtension, identities: Iterable[ObjectKey], cluster: Cluster
) -> Iterator[Rendered]:
    """The objects of the cluster among `identities` that Helm takes over because somebody has marked them so."""
    there = (cluster.objects[key] for key in identities if key in cluster.objects)
    return (present for present in there if _is_adopted(present.object, extension))


def _is_adopted(obj: KubernetesObject, extension: ClusterExtension) -> bool:
    """Whether somebody has marked an object as Helm marks those of this extension's release (R-V1-MIG-2)."""
    marks = helm_marks(extension.name, extension.namespace)
    return marks.labels.items() <= labels_of(obj).items() and marks.annotations.items() <= annotations_of(obj).items()


def _further(extension: ClusterExtension, chosen: InstalledBundle, setting: ExtensionSetting) -> str:
    """The bundle that the next resolution would choose, "" if it stays (R-V1-RES-15)."""
    releases = setting.gates.bundle_release_support
    again = resolve(extension.source, chosen, setting.catalogs, releases=releases)
    return again.bundle.name if again.bundle is not None and again.bundle.name != chosen.name else ""


def _objects(
    result: ExtensionResult, bundle: RegistryBundle, rendered: Sequence[KubernetesObject], chosen: InstalledBundle,
    setting: ExtensionSetting, report: Report,
) -> tuple[Rendered, ...]:  # fmt: skip
    """What the cluster has of a bundle that is installed; with the COS runtime also the ClusterObjectSet."""
    extension, gates, options = result.extension, setting.gates, setting.options
    adopted = adopted_objects(extension, map(object_key, rendered), setting.cluster)
    held = (*setting.held.get(extension.name, ()), *adopted)
    resolved = RevisionBundle(chosen.name, bundle.package, chosen.version, chosen.image, chosen.release)
    if not gates.boxcutter_runtime or options.purpose == "apply":
        objects = extension_objects(bundle, rendered, extension.name, resolved, gates, options, report)
        return applied_over(held, objects)
    owner = Owner(extension.name, extension.namespace, extension.service_account, extension.progress_deadline)
    place = Provenance(Place(result.manifest.source), "olmv1", "R-V1-COS-4", Origin.EXTENSION)
    latest = latest_revision(held)
    if latest is not None:
        again = object_set(bundle, rendered, owner, resolved, latest.number)
        # What a revision has is never changed; another one is made for other objects (R-V1-COS-1, R-V1-COS-4).
        resolved = resolved._replace(revision=latest.number + (not is_same_revision(latest.written.object, again)))
    revision = Rendered(object_set(bundle, rendered, owner, resolved, resolved.revision), place)
    objects = extension_objects(bundle, rendered, extension.name, resolved, gates, options, report)
    return applied_over(held, (revision, *objects))
