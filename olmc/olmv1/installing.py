"""What a ClusterExtension has once the bundle that it was resolved to is installed, or what keeps that from happening
(R-V1-PIPE)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.diagnostics.rules import extensions as rules
from olmc.kube.rbac_access import access
from olmc.kube.restmapper import rest_mapper
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Place, Report, join_limited
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    labels_of,
    object_key,
)
from olmc.model.options import Options
from olmc.model.workspace import Bundle, Workspace
from olmc.olmv1.api_types import ClusterExtension, InstalledBundle
from olmc.olmv1.conditions import (
    deprecation_conditions,
    invalid_configuration,
    of_bundle,
    retrying,
    rolled_out,
    succeeded,
)
from olmc.olmv1.crd_upgrade import upgrade_errors
from olmc.olmv1.feature_gates import FeatureGates
from olmc.olmv1.held import applied_over, is_same_revision, latest_revision
from olmc.olmv1.locking import content_of_bundle
from olmc.olmv1.object_set import PREFIX, Owner, RevisionBundle, object_set
from olmc.olmv1.permissions import installer, missing_rules, preflight_error, required_rules
from olmc.olmv1.registry_bundle import (
    ANNOTATIONS,
    MANIFESTS,
    PROPERTIES,
    BundleError,
    RegistryBundle,
    read_registry_bundle,
)
from olmc.olmv1.render import InstallRequest, render_bundle
from olmc.olmv1.resolution import ExtensionResolution, ServedCatalog, resolve
from olmc.olmv1.single_extension import extension_objects
from olmc.reconcile.operator_groups import account_exists
from olmc.transition.handover import helm_marks
from olmc.yaml import locate

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionResult

_MOST = 3


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
    for condition in deprecations[1:]:
        if condition.status == "True":
            report.add(rules.DEPRECATED.finding(place, name=extension.name, problem=condition.message))
    _report_account(result, setting, report)
    try:
        registry = _registry_bundle(content)
        config = extension.config
        rendered = render_bundle(registry, InstallRequest(extension.namespace, setting.gates, config))
    except BundleError as error:
        result = result._replace(objects=kept_objects(result, setting))
        return _failed(result, chosen, error.message, report, terminal=error.terminal)
    result = _with_rights(result, rendered, setting)
    problem = _preflight(result, rendered, setting, taken)
    if problem:
        return _failed(result._replace(objects=kept_objects(result, setting)), chosen, problem, report)
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
    result: ExtensionResult, chosen: InstalledBundle, text: str, report: Report, *, terminal: bool = False
) -> ExtensionResult:
    """The result with an error of a bundle that was chosen; what is installed stays."""
    extension, installed = result.extension, result.installed
    problem = of_bundle(text, chosen)
    conditions = invalid_configuration(text, chosen, installed) if terminal else retrying(problem, installed)
    deprecations = result.resolution.deprecations if result.resolution is not None else ()
    conditions += deprecation_conditions(extension.source, installed, deprecations)
    place = locate(result.manifest.source, ("spec", "config") if terminal else ("spec",))
    hint = "Correct spec.config." if terminal else "Choose another version, or mend what the message names."
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


def _report_account(result: ExtensionResult, setting: ExtensionSetting, report: Report) -> None:
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
) -> str:
    """What the checks before the installation find, "" for nothing: rights, CRDs, objects that others have."""
    extension, there = result.extension, setting.cluster.objects
    if setting.gates.preflight_permissions and result.missing:
        return preflight_error(result.missing)
    # CRDs of the whole cluster count, whoever made them: the check protects the objects that are stored.
    installed = [found.object for key, found in there.items() if key.kind == CRD_KIND]
    problem = upgrade_errors(installed, rendered) if extension.checks_crds else ""
    # An upgrade finds the objects of its own release, and the COS runtime judges collisions object by object.
    if problem or extension.installed is not None or setting.gates.boxcutter_runtime:
        return problem
    for obj in rendered:
        key = object_key(obj)
        present = there.get(key)
        if present is not None and _is_adopted(present.object, extension):
            continue
        owner = labels_of(present.object).get(f"{PREFIX}owner-name") if present is not None else taken.get(key)
        if owner not in (None, extension.name) or (present is not None and owner is None):
            # Helm takes over nothing that it did not create (R-V1-HELM-4).
            where = f"in namespace '{key.namespace}' and cannot be managed by operator-controller"
            return f"{key.kind} '{key.name}' already exists {where}"
    return ""


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
