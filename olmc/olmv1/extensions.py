"""The ClusterExtensions of a workspace: what each resolves to, what it installs, and the conditions that it ends with
(R-V1-PIPE).

A workspace and its settled cluster go in, one `ExtensionResult` for each ClusterExtension comes out. One is looked at
after the other, by name: an object belongs to whoever has it first (R-V1-LIM-2).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diagnostics.rules import extensions as rules
from olmc.kube.api_validation.field import FieldError
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
    name_of,
    object_key,
)
from olmc.model.options import Options
from olmc.model.workspace import EXTENSIONS_V1, Bundle, Manifest, Workspace
from olmc.olmv1.api_types import (
    ClusterCatalog,
    ClusterExtension,
    InstalledBundle,
    api_errors,
    cluster_catalog,
    cluster_extension,
    ignored_fields,
)
from olmc.olmv1.conditions import (
    Condition,
    conditions_after,
    deprecation_conditions,
    invalid_configuration,
    of_bundle,
    retrying,
    rolled_out,
    succeeded,
)
from olmc.olmv1.crd_upgrade import upgrade_errors
from olmc.olmv1.feature_gates import FeatureGates, gates_of
from olmc.olmv1.object_set import EXTENSION_KIND, PREFIX, Owner, RevisionBundle, object_set
from olmc.olmv1.permissions import ScopedRule, installer, missing_rules, preflight_error, required_rules
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
from olmc.render.context import RenderContext
from olmc.render.passes import Rewrite
from olmc.yaml import locate

CATALOG_KIND = "ClusterCatalog"
_SHOWN = 3
# OpenShift's own catalogs, which rank behind all others (R-V1-CC-3).
_PRIORITIES = {
    "openshift-redhat-operators": -100,
    "openshift-certified-operators": -200,
    "openshift-community-operators": -400,
}


class ExtensionResult(NamedTuple):
    """What became of a ClusterExtension.

    `problem` is what keeps it from being installed, "" for nothing: the controller's message, or what is missing here.
    `installed` is the bundle that is there in the end. `missing` and `required` are the rights that its account lacks
    and needs; `further` is the bundle that comes next, "" for none.
    """

    extension: ClusterExtension
    manifest: Manifest
    problem: str = ""
    conditions: tuple[Condition, ...] = ()
    resolution: ExtensionResolution | None = None
    installed: InstalledBundle | None = None
    objects: tuple[Rendered, ...] = ()
    missing: tuple[ScopedRule, ...] = ()
    required: tuple[ScopedRule, ...] = ()
    further: str = ""

    @property
    def derivation(self) -> tuple[str, ...]:
        """What each catalog came to, one sentence a catalog."""
        return derivation(self.resolution) if self.resolution is not None else ()


class ExtensionStage(NamedTuple):
    """What all ClusterExtensions of a workspace come to, and how that is written."""

    results: tuple[ExtensionResult, ...] = ()

    def written(self, _: RenderContext) -> Iterator[Rendered]:
        """What they install, as a pass gives it."""
        for result in self.results:
            yield from result.objects

    def rewriting(self, before: Rewrite | None) -> Rewrite:
        """A change of the objects that gives each ClusterExtension its status, after another one."""
        status = {result.extension.name: _status(result) for result in self.results}

        def rewrite(context: RenderContext, objects: Sequence[Rendered]) -> Sequence[Rendered]:
            changed = objects if before is None else before(context, objects)
            return [_with_status(rendered, status) for rendered in changed]

        return rewrite


def _with_status(rendered: Rendered, status: Mapping[str, KubernetesObject]) -> Rendered:
    """A ClusterExtension with its status, a ClusterCatalog with the label that a webhook gives it (R-V1-CC-2)."""
    obj = rendered.object
    if obj["apiVersion"] != EXTENSIONS_V1:
        return rendered
    if obj["kind"] == EXTENSION_KIND and status.get(name_of(obj)):
        return rendered._replace(object={**obj, "status": status[name_of(obj)]})
    if obj["kind"] == CATALOG_KIND:
        labels = dict(cluster_catalog(obj).labels)
        return rendered._replace(object={**obj, "metadata": {**obj["metadata"], "labels": labels}})
    return rendered


def _status(result: ExtensionResult) -> KubernetesObject:
    """The status as the controller writes it, without times (R-V1-CE-2)."""
    status: KubernetesObject = {}
    if result.conditions:
        status["conditions"] = [condition._asdict() for condition in sorted(result.conditions)]
    if result.installed is not None:
        installed = result.installed
        release = {} if installed.release is None else {"release": installed.release}
        status["install"] = {"bundle": {"name": installed.name, "version": installed.version, **release}}
    return status


class _Setting(NamedTuple):
    """What all extensions have in common: the input, the cluster, the catalogs, and the gates of the controller."""

    workspace: Workspace
    cluster: Cluster
    options: Options
    gates: FeatureGates
    catalogs: tuple[ServedCatalog, ...]
    lacking: Mapping[str, str]
    """The catalogs whose content is not here, each with its image."""


def install_extensions(workspace: Workspace, cluster: Cluster, options: Options, report: Report) -> ExtensionStage:
    """What the ClusterExtensions of a workspace come to in a settled cluster; what is wrong goes to `report`."""
    gates = gates_of(options.olm_version)
    catalogs, lacking = _catalogs(workspace, report)
    setting = _Setting(workspace, cluster, options, gates, catalogs, lacking)
    results: list[ExtensionResult] = []
    taken: dict[ObjectKey, str] = {}
    for manifest in workspace.extensions:
        result = _result(manifest, setting, taken, report)
        taken.update((rendered.identity, result.extension.name) for rendered in result.objects)
        results.append(result)
    return ExtensionStage(tuple(results))


def _catalogs(workspace: Workspace, report: Report) -> tuple[tuple[ServedCatalog, ...], Mapping[str, str]]:
    """The catalogs with what they serve, and those whose content is not here, with their images.

    A folder in catalogs/ that is no CatalogSource's is a catalog which the cluster has already.
    """
    declared: dict[str, ClusterCatalog] = {}
    sources = {name_of(m.object) for m in workspace.manifests if m.object["kind"] == "CatalogSource"}
    for manifest in workspace.extension_catalogs:
        if not _refused(manifest, report):
            catalog = cluster_catalog(manifest.object)
            declared[catalog.name] = catalog
    for name in workspace.catalogs.keys() - sources - declared.keys():
        if "/" not in name:
            priority = {"spec": {"priority": _PRIORITIES.get(name, 0)}}
            declared[name] = cluster_catalog({"metadata": {"name": name}, **priority})
    served, lacking = [], {}
    for name, catalog in sorted(declared.items()):
        content = workspace.catalogs.get(name)
        if content is None:
            lacking[name] = catalog.image
            served.append(ServedCatalog(catalog))
        elif content.problem:
            served.append(ServedCatalog(catalog, {}, f"error loading catalog: {content.problem}"))
        else:
            served.append(ServedCatalog(catalog, content.packages))
    return tuple(served), lacking


def _refused(manifest: Manifest, report: Report) -> list[FieldError]:
    """What the API server finds wrong with an object, which is reported."""
    obj = manifest.object
    errors = api_errors(obj)
    for error in errors:
        if error.field != "<nil>":
            place = locate(manifest.source, _keys(error.field))
            values: dict[str, Any] = {
                "kind": obj["kind"],
                "name": name_of(obj),
                "problem": str(error),
                "field": error.field,
            }
            report.add(rules.REFUSED.finding(place, **values))
    return errors


def _keys(field: str) -> list[str | int]:
    """The keys that lead to a field, as messages name it: `spec.channels[0]`."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    return [int(part) if part.isdecimal() else part for part in parts]


def _result(manifest: Manifest, setting: _Setting, taken: Mapping[ObjectKey, str], report: Report) -> ExtensionResult:
    experimental = _has_experimental_crds(setting.gates)
    errors = _refused(manifest, report)
    extension = cluster_extension(manifest.object, experimental=experimental)
    if errors:
        return ExtensionResult(extension, manifest, str(errors[0]))
    for field in () if experimental else ignored_fields(manifest.object):
        place = locate(manifest.source, ("spec", field), of_key=True)
        report.add(rules.FIELD_DROPPED.finding(place, kind=EXTENSION_KIND, name=extension.name, field=field))
    extension = extension._replace(installed=_with_image(extension.installed, setting.catalogs))
    resolution = resolve(
        extension.source, extension.installed, setting.catalogs, releases=setting.gates.bundle_release_support
    )
    result = ExtensionResult(extension, manifest, resolution=resolution, installed=extension.installed)
    unknown = _unknown_catalog(resolution, setting)
    if unknown:
        place = locate(manifest.source, ("spec", "source", "catalog"))
        report.add(rules.NO_CONTENT.finding(place, name=unknown, image=setting.lacking[unknown] or "it has no image"))
        return result._replace(problem=f"the content of ClusterCatalog {unknown} is not in the workspace")
    if resolution.error:
        _, conditions = conditions_after(extension.source, extension.installed, resolution)
        place = locate(manifest.source, ("spec", "source", "catalog"))
        hint = "; ".join(derivation(resolution)) or "Add a ClusterCatalog that has the package"
        hint = f"{hint[0].upper()}{hint[1:]}."
        report.add(rules.NOT_RESOLVED.finding(place, name=extension.name, problem=resolution.error, hint=hint))
        kept = _kept_objects(result, setting)
        return result._replace(problem=resolution.error, conditions=tuple(conditions), objects=kept)
    return _installed(result, resolution, setting, taken, report)


def _has_experimental_crds(gates: FeatureGates) -> bool:
    """Whether the CRDs are the experimental ones: they come with the gates that need them."""
    needing = (gates.single_own_namespace_install_support, gates.deployment_config, gates.boxcutter_runtime)
    return any(needing) or gates.bundle_release_support


def _with_image(installed: InstalledBundle | None, catalogs: Iterable[ServedCatalog]) -> InstalledBundle | None:
    """What is installed, with the image that a catalog names for it if the status has none."""
    if installed is None or installed.image:
        return installed
    packages = (package for served in catalogs for package in served.packages.values())
    bundles = (package.bundles.get(installed.name) for package in packages)
    return installed._replace(image=next((bundle.image for bundle in bundles if bundle is not None), "(unknown)"))


def _unknown_catalog(resolution: ExtensionResolution, setting: _Setting) -> str:
    """The first catalog that counts and whose content is not here, "" for none."""
    asked = (outcome for outcome in resolution.outcomes if not outcome.left and outcome.name in setting.lacking)
    return next((outcome.name for outcome in asked if outcome.dropped == "it does not have the package"), "")


def _installed(
    result: ExtensionResult, resolution: ExtensionResolution, setting: _Setting, taken: Mapping[ObjectKey, str],
    report: Report,
) -> ExtensionResult:  # fmt: skip
    """The result with what the chosen bundle installs, or with what keeps it from being installed."""
    extension, chosen, bundle = result.extension, resolution.installed, resolution.bundle
    if chosen is None or bundle is None:
        return result
    place = locate(result.manifest.source, ("spec",))
    workspace = setting.workspace
    content = workspace.vendored.get(bundle.image) or workspace.bundles.get(bundle.name)
    if content is None:
        image = bundle.image or "the catalog names no image"
        report.add(rules.NO_BUNDLE.finding(place, name=extension.name, bundle=bundle.name, image=image))
        return result._replace(problem=f"bundle {bundle.name} is not in the workspace")
    deprecations = deprecation_conditions(extension.source, chosen, resolution.deprecations)
    for condition in deprecations[1:]:
        if condition.status == "True":
            report.add(rules.DEPRECATED.finding(place, name=extension.name, problem=condition.message))
    _report_account(result, setting, report)
    try:
        registry = read_registry_bundle(bundle_files(content))._replace(csv_source=content.csv.source)
        config = extension.config
        rendered = render_bundle(registry, InstallRequest(extension.namespace, setting.gates, config))
    except BundleError as error:
        result = result._replace(objects=_kept_objects(result, setting))
        return _failed(result, chosen, error.message, report, terminal=error.terminal)
    result = _with_rights(result, rendered, setting)
    problem = _preflight(result, rendered, setting, taken)
    if problem:
        return _failed(result._replace(objects=_kept_objects(result, setting)), chosen, problem, report)
    if result.missing and not setting.gates.preflight_permissions:
        shown = join_limited([rule.line for rule in result.missing], _SHOWN)
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


def _kept_objects(result: ExtensionResult, setting: _Setting) -> tuple[Rendered, ...]:
    """What is there of the bundle that is installed and stays, as far as its content is here."""
    extension, workspace = result.extension, setting.workspace
    installed = extension.installed
    if installed is None:
        return ()
    content = workspace.vendored.get(installed.image) or workspace.bundles.get(installed.name)
    if content is None:
        return ()
    try:
        registry = read_registry_bundle(bundle_files(content))._replace(csv_source=content.csv.source)
        rendered = render_bundle(registry, InstallRequest(extension.namespace, setting.gates, extension.config))
    except BundleError:
        return ()  # it was installed with another configuration, of which nothing is known
    return _objects(result, registry, rendered, installed, setting, Report())


def bundle_files(bundle: Bundle) -> dict[str, str]:
    """The files of a bundle as its image has them."""
    files = {f"{MANIFESTS}{file.name}": file.manifest.source.text for file in bundle.files}
    files[ANNOTATIONS] = json.dumps({"annotations": dict(bundle.annotations)})
    if bundle.properties:
        files[PROPERTIES] = json.dumps({"properties": [dict(item) for item in bundle.properties]})
    return files


def _report_account(result: ExtensionResult, setting: _Setting, report: Report) -> None:
    extension = result.extension
    if not account_exists(setting.cluster.objects, extension.namespace, extension.service_account):
        place = locate(result.manifest.source, ("spec", "serviceAccount", "name"))
        account, namespace = extension.service_account, extension.namespace
        report.add(rules.NO_ACCOUNT.finding(place, name=extension.name, account=account, namespace=namespace))


def _with_rights(result: ExtensionResult, rendered: Sequence[KubernetesObject], setting: _Setting) -> ExtensionResult:
    """The result with the rights that its account needs, and those that it lacks if the workspace has the account."""
    extension, there = result.extension, setting.cluster.objects
    mapper = rest_mapper(rendered)
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
    result: ExtensionResult, rendered: Sequence[KubernetesObject], setting: _Setting, taken: Mapping[ObjectKey, str]
) -> str:
    """What the checks before the installation find, "" for nothing: rights, CRDs, objects that others have."""
    extension, there = result.extension, setting.cluster.objects
    if setting.gates.preflight_permissions and result.missing:
        return preflight_error(result.missing)
    installed = [found.object for key, found in there.items() if key.kind == CRD_KIND]
    problem = upgrade_errors(installed, rendered) if extension.checks_crds else ""
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


def _is_adopted(obj: KubernetesObject, extension: ClusterExtension) -> bool:
    """Whether somebody has marked an object as Helm marks those of this extension's release (R-V1-MIG-2)."""
    release = {"meta.helm.sh/release-name": extension.name, "meta.helm.sh/release-namespace": extension.namespace}
    managed = labels_of(obj).get("app.kubernetes.io/managed-by") == "Helm"
    return managed and release.items() <= annotations_of(obj).items()


def _further(extension: ClusterExtension, chosen: InstalledBundle, setting: _Setting) -> str:
    """The bundle that the next resolution would choose, "" if it stays (R-V1-RES-15)."""
    releases = setting.gates.bundle_release_support
    again = resolve(extension.source, chosen, setting.catalogs, releases=releases)
    return again.bundle.name if again.bundle is not None and again.bundle.name != chosen.name else ""


def _objects(
    result: ExtensionResult, bundle: RegistryBundle, rendered: Sequence[KubernetesObject], chosen: InstalledBundle,
    setting: _Setting, report: Report,
) -> tuple[Rendered, ...]:  # fmt: skip
    """What the cluster has of a bundle that is installed; with the COS runtime also the ClusterObjectSet."""
    extension, gates, options = result.extension, setting.gates, setting.options
    resolved = RevisionBundle(chosen.name, bundle.package, chosen.version, chosen.image, chosen.release)
    objects = extension_objects(bundle, rendered, extension.name, resolved, gates, options, report)
    if not gates.boxcutter_runtime or options.purpose == "apply":
        return objects
    owner = Owner(extension.name, extension.namespace, extension.service_account, extension.progress_deadline)
    place = Provenance(Place(result.manifest.source), "olmv1", "R-V1-COS-4", Origin.EXTENSION)
    return (Rendered(object_set(bundle, rendered, owner, resolved), place), *objects)


def derivation(resolution: ExtensionResolution) -> tuple[str, ...]:
    """What each catalog came to, one sentence a catalog."""
    return tuple(
        f"catalog {outcome.name} (priority {outcome.priority}): "
        + ", ".join(
            [
                *(f"{number} {what}" for what, number in outcome.left),
                *([f"the best is {outcome.candidate}"] if outcome.candidate else []),
                *(["deprecated"] if outcome.deprecated else []),
                *([outcome.dropped] if outcome.dropped else []),
            ]
        )
        for outcome in resolution.outcomes
    )
