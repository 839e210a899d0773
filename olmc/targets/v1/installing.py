"""The state of a ClusterExtension after the installation of its resolved bundle, or the reason why it is not installed
(R-V1-PIPE)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.model.catalog import CatalogBundle, Deprecation
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.olm.facts import csv_by_label, owner_csvs
from olmc.compiler.olm.naming import helm_marks
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
    Subject,
    annotations_of,
    labels_of,
    mappings,
    metadata_of,
    name_of,
    owner_references,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import at, locate
from olmc.targets.v1 import rules
from olmc.targets.v1.api_server import ApiServer, api_server
from olmc.targets.v1.crd_upgrade import upgrade_errors
from olmc.targets.v1.generators import FeatureGates, InstallRequest, render_bundle
from olmc.targets.v1.helm_release import conflict, release_outcome
from olmc.targets.v1.locking import content_of_bundle
from olmc.targets.v1.object_set import (
    EXTENSION_KIND,
    MAX_PHASE,
    PREFIX,
    SET_KIND,
    Owner,
    RevisionBundle,
    RevisionName,
    Rollout,
    archived_conditions,
    is_kept,
    object_set,
    observed_phases,
    phases_of,
    revision_object,
    roll_out,
)
from olmc.targets.v1.permissions import (
    GROUP,
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
from olmc.targets.v1.resolution import ExtensionResolution, ServedCatalog
from olmc.targets.v1.single_extension import ExtensionOwner, chart_file, extension_objects
from olmc.targets.v1.status import (
    ActiveRevision,
    Condition,
    ControllerRelease,
    condition,
    is_stored,
    merged_conditions,
    read_conditions,
    written_conditions,
)

if TYPE_CHECKING:
    from olmc.targets.v1.status import ExtensionResult

# The conditions of a ClusterExtension after one reconciliation (R-V1-CND-1, R-V1-CND-2).

DESIRED = "Desired state reached"
NOTHING_INSTALLED = "No bundle installed"


def installed_condition(installed: InstalledBundle | None, *, reason: str = "Failed") -> Condition:
    """Return the condition Installed; `reason` is that of a missing installation."""
    if installed is None:
        return condition("Installed", "False", reason, NOTHING_INSTALLED)
    return condition("Installed", "True", "Succeeded", f"Installed bundle {installed.image} successfully")


def retrying(text: str, installed: InstalledBundle | None) -> list[Condition]:
    """After an error that goes away by itself, or does not; it is tried again."""
    return [condition("Progressing", "True", "Retrying", text), installed_condition(installed)]


def account_missing(name: str, namespace: str, *, checked: bool) -> list[Condition]:
    """Without the ServiceAccount nothing is begun (R-V1-SA-1); `checked`: the release looks for it first."""
    text = f"service account {quoted(name)} not found in namespace {quoted(namespace)}"
    if checked:
        message = cause = f"operation cannot proceed due to the following validation error(s): {text}"
    else:
        message = "installation cannot proceed due to missing ServiceAccount"
        cause = f"{text}: unable to authenticate with the Kubernetes cluster."
    return [condition("Progressing", "True", "Retrying", message), condition("Installed", "Unknown", "Failed", cause)]


def of_bundle(text: str, bundle: InstalledBundle) -> str:
    """An error of a bundle that was resolved, with its name and version."""
    return f"error for resolved bundle {quoted(bundle.name)} with version {quoted(bundle.version)}: {text}"


def invalid_configuration(text: str, bundle: InstalledBundle, installed: InstalledBundle | None) -> list[Condition]:
    """Return the conditions after an error of the configuration, which is not retried."""
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


def mirrored(progressing: Condition, installed: InstalledBundle | None) -> list[Condition]:
    """While a ClusterObjectSet is on its way or gets no further: what it says, and what is installed (R-V1-CND-1)."""
    return [
        progressing,
        installed_condition(installed, reason="Failed" if progressing.reason == "Retrying" else "Absent"),
    ]


def conditions_after(
    source: CatalogFilter,
    installed: InstalledBundle | None,
    resolution: ExtensionResolution,
    *,
    revisions: bool = False,
) -> tuple[InstalledBundle | None, list[Condition]]:
    """What is installed after a resolution, and the conditions if what it chose could be applied.

    A resolution that fails leaves what is installed as it is; that is no error if no catalog is there to be asked, and
    no other version is wanted (R-V1-CND-1). `revisions`: the runtime is that of ClusterObjectSets.
    """
    done = rolled_out if revisions else succeeded
    if not resolution.error:
        now = resolution.installed
        return now, [*(done(now) if now else []), *deprecation_conditions(source, now, resolution.deprecations)]
    keeps = keeps_installed(source, installed, any_catalog=resolution.any_catalog)
    conditions = done(installed) if installed and keeps else retrying(resolution.error, installed)
    return installed, [*conditions, *deprecation_conditions(source, installed, None)]


def keeps_installed(source: CatalogFilter, installed: InstalledBundle | None, *, any_catalog: bool) -> bool:
    """Return whether what is installed is what is wanted, since no catalog can say otherwise."""
    return installed is not None and not any_catalog and source.version in (None, "", installed.version)


def deprecation_conditions(
    source: CatalogFilter, installed: InstalledBundle | None, deprecations: Sequence[Deprecation] | None
) -> list[Condition]:
    """Return the conditions about deprecations of the `installed` bundle; None for `deprecations` if no catalog
    answered (R-V1-CND-2)."""
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
    return max(revisions(held), key=lambda revision: revision.number, default=None)


def revisions(held: Iterable[Rendered]) -> Iterator[HeldRevision]:
    """The ClusterObjectSets among objects."""
    for rendered in held:
        number = spec_of(rendered.object).get("revision")
        if rendered.identity.kind == SET_KIND and isinstance(number, int):
            yield HeldRevision(number, rendered)


def is_same_revision(there: KubernetesObject, wanted: KubernetesObject) -> bool:
    """Return whether a ClusterObjectSet has the objects of another one; where they are packed into Secrets, of the
    bundle."""
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
    followed = sorted(revisions(old for key, old in before.items() if key not in there), key=lambda each: each.number)
    archived = (revision.written for revision in followed[-_ARCHIVED:])
    return (*applied, *kept, *(old._replace(object=_archived(old.object)) for old in archived))


def kept_over(held: Sequence[Rendered], objects: Iterable[Rendered]) -> tuple[Rendered, ...]:
    """The objects that are there once some of `objects` are applied and an error ends it: nothing is deleted."""
    before = {rendered.identity: rendered for rendered in held}
    applied = [_over(before[new.identity], new) if new.identity in before else new for new in objects]
    there = {rendered.identity for rendered in applied}
    return (*applied, *(old for key, old in before.items() if key not in there))


def _archived(revision: KubernetesObject) -> KubernetesObject:
    """A ClusterObjectSet that another one has followed (R-V1-COS-8)."""
    archived = {**revision, "spec": {**spec_of(revision), "lifecycleState": "Archived"}}
    status = status_of(revision)
    if not status:
        return archived
    conditions = written_conditions(archived_conditions(read_conditions(status.get("conditions"))))
    return {**archived, "status": {**status, "conditions": conditions}}


def _over(old: Rendered, new: Rendered) -> Rendered:
    """An object with the status of the one before, and with what the server has written into its metadata."""
    was = metadata_of(old.object)
    metadata = {**metadata_of(new.object), **{key: was[key] for key in _SERVER if key in was}}
    status = {**status_of(old.object), **status_of(new.object)}
    if new.identity.kind == CRD_KIND and (status or _stored(new.object) != _stored(old.object)):
        stored = texts(status.get("storedVersions")) or _stored(old.object)
        status["storedVersions"] = [*stored, *(name for name in _stored(new.object) if name not in stored)]
    written = {**new.object, "metadata": metadata, **({"status": status} if status else {})}
    return new._replace(object=written)


def _stored(crd: KubernetesObject) -> list[str]:
    versions = mappings(spec_of(crd).get("versions"))
    return [text(version.get("name")) for version in versions if version.get("storage") is True]


SYNTHETIC_USER = "olm.synthetic-user"
_MOST = 3
_DEFAULT_HINT = "Choose another version, or correct what the message names."


class ExtensionSetting(NamedTuple):
    """The common input of all extensions: the workspace, the cluster, the catalogs, the gates and the release of the
    controller."""

    workspace: Workspace
    cluster: Cluster
    options: Options
    gates: FeatureGates
    release: ControllerRelease
    catalogs: tuple[ServedCatalog, ...]
    lacking: Mapping[str, str]
    """The catalogs whose content is not here, each with its image."""
    held: Mapping[str, tuple[Rendered, ...]]
    """By ClusterExtension what it has in the cluster, where that goes on from a state."""


class _Attempt(NamedTuple):
    """A bundle that is about to be applied: by whom, what was chosen, its content and objects, and the cluster."""

    owner: str
    chosen: InstalledBundle
    registry: RegistryBundle
    rendered: tuple[KubernetesObject, ...]
    server: ApiServer
    setting: ExtensionSetting


def installed(
    result: ExtensionResult, resolution: ExtensionResolution, setting: ExtensionSetting,
    taken: Mapping[ObjectKey, Rendered], report: Report, *, is_rolling: bool = False,
) -> ExtensionResult:  # fmt: skip
    """The result with what the chosen bundle installs, or with what keeps it from being installed.

    `is_rolling`: the bundle is that of a ClusterObjectSet on its way, so that no catalog was asked (R-V1-COS-12).
    """
    extension, chosen, bundle = result.extension, resolution.installed, resolution.bundle
    if chosen is None or bundle is None:
        return result
    place = locate(result.manifest.source, ("spec",))
    content = content_of_bundle(setting.workspace, bundle)
    if content is None:
        return _without_content(result, chosen, bundle, setting, report)
    # A deprecation is no reason not to install; it stands in the conditions beside success.
    deprecations = deprecation_conditions(extension.source, chosen, None if is_rolling else resolution.deprecations)
    for deprecation in deprecations[1:]:
        if deprecation.status == "True":
            report.add(rules.DEPRECATED.finding(place, name=extension.name, problem=deprecation.message))
    try:
        registry = _registry_bundle(content)
        rendered = render_bundle(registry, _request(extension, setting))
    except BundleError as error:
        result = result._replace(objects=kept_objects(result, setting))
        # Of what stands deep in a configuration the controller says no more than `validation failed` (R-V1-CFG-4a).
        causes = "".join(f"{cause}. " for cause in error.causes)
        hint = f"{causes}Correct spec.config." if error.terminal else error.hint or _DEFAULT_HINT
        terminal = error.terminal and setting.release.blocks_bad_config
        return _failed(result, chosen, error.message, hint, report, terminal=terminal, at_config=error.terminal)
    present = {**setting.cluster.objects, **taken}
    mapper = rest_mapper((*(found.object for found in present.values()), *rendered), setting.options.api_resources)
    result = _with_rights(result, rendered, setting)
    server = api_server(present, mapper, *_account(extension, setting))
    attempt = _Attempt(extension.name, chosen, registry, rendered, server, setting)
    if setting.gates.boxcutter_runtime:
        result = _with_revision(result, attempt, report, is_rolling=is_rolling)
    else:
        result = _with_release(result, attempt, report)
    if result.problem:
        return result
    if result.missing and not setting.gates.preflight_permissions:
        shown = join_limited([rule.line for rule in result.missing], _MOST)
        account = str(installer(extension)).partition("/")[2]
        report.add(rules.LACKS_RIGHTS.finding(place, name=extension.name, account=account, rules=shown))
    return result


def _account(extension: ClusterExtension, setting: ExtensionSetting) -> tuple[Subject | None, tuple[str, ...]]:
    """In whose name the objects are written, with groups; None for the controller's own, which may do everything."""
    if not setting.release.uses_account:
        return None, ()
    if setting.gates.synthetic_permissions and extension.service_account == SYNTHETIC_USER:
        # R-V1-SA-2
        return Subject("User", "", f"olm:clusterextension:{extension.name}"), ("olm:clusterextensions",)
    return installer(extension), ()


def _request(extension: ClusterExtension, setting: ExtensionSetting) -> InstallRequest:
    return InstallRequest(
        extension.namespace, setting.gates, extension.config,
        sets_operator_namespace=setting.release.sets_operator_namespace,
    )  # fmt: skip


def _without_content(
    result: ExtensionResult, chosen: InstalledBundle, bundle: CatalogBundle, setting: ExtensionSetting, report: Report
) -> ExtensionResult:
    """The result for a bundle whose content is not here: its conditions are those of an image that is not there."""
    extension = result.extension
    place, image = locate(result.manifest.source, ("spec",)), bundle.image or "the catalog names no image"
    report.add(rules.NO_BUNDLE.finding(place, name=extension.name, bundle=bundle.name, image=image))
    before, deprecations = result.installed, result.resolution.deprecations if result.resolution is not None else ()
    conditions = [
        *retrying(of_bundle(_pull_error(bundle.image), chosen), before),
        *deprecation_conditions(extension.source, before, deprecations),
    ]
    return result._replace(
        problem=f"bundle {bundle.name} is not in the workspace", unknown=True, objects=kept_objects(result, setting),
        conditions=merged_conditions(result.conditions, conditions),
    )  # fmt: skip


def _pull_error(image: str) -> str:
    """Return the error of a registry without an image (R-V1-CND-5)."""
    name, digest, reference = image.partition("@")
    if not digest:
        name, _, reference = image.rpartition(":")
    return f"error creating image source: reading manifest {reference} in {name}: manifest unknown"


def _failed(
    result: ExtensionResult, chosen: InstalledBundle, text: str, hint: str, report: Report, *, terminal: bool = False,
    at_config: bool = False,
) -> ExtensionResult:  # fmt: skip
    """The result with an error of a bundle that was chosen; what is installed stays."""
    installed = result.installed
    problem = of_bundle(text, chosen)
    conditions = invalid_configuration(text, chosen, installed) if terminal else retrying(problem, installed)
    deprecations = result.resolution.deprecations if result.resolution is not None else ()
    conditions += deprecation_conditions(result.extension.source, installed, deprecations)
    return _not_installed(result, problem, conditions, hint, report, "config" if at_config else "")


def _not_installed(
    result: ExtensionResult, problem: str, conditions: Sequence[Condition], hint: str, report: Report, key: str = ""
) -> ExtensionResult:
    place, extension = locate(result.manifest.source, ("spec", key) if key else ("spec",)), result.extension
    report.add(rules.NOT_INSTALLED.finding(place, name=extension.name, problem=problem, hint=hint))
    conditions = merged_conditions(result.conditions, conditions)
    return result._replace(problem=problem, conditions=conditions, advice=hint if hint != _DEFAULT_HINT else "")


def kept_objects(result: ExtensionResult, setting: ExtensionSetting) -> tuple[Rendered, ...]:
    """Return the objects of the installed bundle that stay, as far as its content is here."""
    extension, workspace = result.extension, setting.workspace
    installed = extension.installed
    if installed is None or workspace.is_live or setting.held.get(extension.name):
        return result.objects
    content = workspace.vendored.get(installed.image) or workspace.bundles.get(installed.name)
    if content is None:
        return ()
    try:
        registry = _registry_bundle(content)
        rendered = render_bundle(registry, _request(extension, setting))
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


def _with_rights(
    result: ExtensionResult, rendered: Sequence[KubernetesObject], setting: ExtensionSetting, number: int = 1
) -> ExtensionResult:
    """The result with the rights that its account needs, and those that it lacks if the workspace has the account;
    `number` is that of its ClusterObjectSet."""
    extension, there = result.extension, setting.cluster.objects
    if not setting.release.uses_account:
        return result
    mapper = rest_mapper(rendered)
    # The account must also be allowed to set the finalizers of the revision that owns what it creates.
    revision = f"{extension.name}-{number}" if setting.gates.boxcutter_runtime else ""
    required = required_rules(extension, rendered, mapper, revision)
    account = installer(extension)
    if ObjectKey("", account.kind, account.namespace, account.name) not in there:
        return result._replace(required=required)
    roles = ((key, found.object) for key, found in there.items())
    granted = access(there, aggregated=True)
    missing = missing_rules(extension, rendered, mapper, granted, roles, revision=revision)
    return result._replace(required=required, missing=missing)


def _with_release(result: ExtensionResult, attempt: _Attempt, report: Report) -> ExtensionResult:
    """The result after Helm has done what it can."""
    extension, setting, server = result.extension, attempt.setting, attempt.server
    held = setting.held.get(extension.name, ())
    before = {server.key(old.object): old.object for old in held}
    if extension.installed is not None and not before:
        before = {server.key(obj): obj for obj in attempt.rendered}
    # A release whose installation has failed counts all objects of its manifest as its own.
    known = {*before, *(server.key(obj) for obj in attempt.rendered if extension.installed is None)} if before else None
    marks = helm_marks(extension.name, extension.namespace)
    ordered = sorted(attempt.rendered, key=lambda obj: chart_file(obj, attempt.registry))
    problem = preflight_error(result.missing) if setting.gates.preflight_permissions and result.missing else ""
    if not problem:
        dry_run = conflict(ordered, server, marks, known)
        head = "failed to get release state using server-side dry-run: " if setting.release.names_dry_run else ""
        problem = f"{head}{dry_run}" if dry_run else _crd_problem(extension, attempt)
    if problem:
        result = result._replace(objects=kept_objects(result, setting))
        return _failed(result, attempt.chosen, problem, _hint(attempt, problem), report)
    outcome = release_outcome(ordered, server, before or None)
    made = {server.key(obj) for obj in outcome.made}
    resolved = RevisionBundle(
        attempt.chosen.name, attempt.registry.package, attempt.chosen.version, attempt.chosen.image
    )
    written = _written(result, attempt, made, resolved, report)
    there = (*held, *adopted_objects(extension, (each.identity for each in written), setting.cluster))
    objects = applied_over(there, written) if outcome.deployed else kept_over(there, written)
    result = result._replace(objects=objects)
    if not outcome.deployed:
        return _failed(result, attempt.chosen, outcome.problem, _hint(attempt, outcome.problem), report)
    return _deployed(result, attempt, outcome.problem, report)


def _deployed(result: ExtensionResult, attempt: _Attempt, problem: str, report: Report) -> ExtensionResult:
    """The result with a release that is deployed, and an error that came after that."""
    extension, chosen = result.extension, attempt.chosen
    resolution = result.resolution
    deprecations = deprecation_conditions(
        extension.source, chosen, resolution.deprecations if resolution is not None else ()
    )
    if not is_stored(chosen):
        return _unwritten(result, attempt, report)
    result = result._replace(installed=chosen)
    if problem:
        text = of_bundle(problem, chosen)
        return _not_installed(result, text, [*retrying(text, chosen), *deprecations], _hint(attempt, problem), report)
    return result._replace(conditions=merged_conditions(result.conditions, (*succeeded(chosen), *deprecations)))


def _unwritten(result: ExtensionResult, attempt: _Attempt, report: Report) -> ExtensionResult:
    """The result of a bundle that is installed and whose name the status can't have, so that the old one stays
    (R-V1-CND-4)."""
    name = attempt.chosen.name
    problem = f"bundle {name} is installed, and the API server rejects the status with its name"
    place = locate(result.manifest.source, ("spec",))
    hint = "Choose a bundle whose name has only lower case letters, digits, hyphens and dots."
    report.add(rules.NOT_INSTALLED.finding(place, name=result.extension.name, problem=problem, hint=hint))
    return result._replace(problem=problem)


def _crd_problem(extension: ClusterExtension, attempt: _Attempt) -> str:
    """Return the error of the check of CRD upgrade safety, "" for none."""
    # All CRDs of the cluster count, of any origin: the check protects the objects that are stored.
    there = [obj for key, obj in attempt.server.objects.items() if key.kind == CRD_KIND]
    return upgrade_errors(there, attempt.rendered) if extension.checks_crds else ""


def _hint(attempt: _Attempt, problem: str) -> str:
    """Return a hint for a failed installation: the missing rights of the account, the owners of existing objects, or
    the fix that the message names."""
    if any(word in problem for word in (" is forbidden: ", "pre-authorization failed")):
        roles = "Apply the roles that olmc rbac --installers prints"
        return f"{roles}; olmc why ClusterExtension/{attempt.owner} lists what is missing."
    stored = (attempt.server.stored(obj) for obj in attempt.rendered)
    owners = {str(labels_of(obj).get(f"{PREFIX}owner-name", "")) for obj in stored if obj is not None}
    others = sorted(owners - {"", attempt.owner})
    if others:
        return f"It belongs to ClusterExtension {others[0]}, and an object has one owner: remove one of the two."
    if "validating upgrade for CRD" in problem:
        return (
            "Choose a version that keeps what objects of the CRD rely on; or, where no object is harmed, set "
            "spec.install.preflight.crdUpgradeSafety.enforcement: None."
        )
    if "already exists in namespace" in problem or "exists and cannot be imported" in problem:
        return _taken_hint(attempt, problem)
    return _DEFAULT_HINT


def _taken_hint(attempt: _Attempt, problem: str) -> str:
    """Return a hint for an existing object without the marks of a ClusterExtension: every version of the operator
    brings it, so that the existing one must be removed (R-V1-LIM-2)."""
    for obj in attempt.rendered:
        key = attempt.server.key(obj)
        found = attempt.setting.cluster.objects.get(key)
        if found is None or (f"'{key.name}'" not in problem and f'"{key.name}"' not in problem):
            continue
        place = found.provenance.place
        where = f" from {at(place.source)}" if place is not None else " from the cluster"
        by = csv_by_label(found.object) or next(iter(owner_csvs(found.object)), None)
        owner = f" It belongs to {by} of OLM v0: `olmc migrate --to olm-v1` has the steps." if by is not None else ""
        lost = " Removing a CRD deletes every object of its kind: save them first." if key.kind == CRD_KIND else ""
        return f"Remove {key.kind} {key.name}{where}: it exists already, and an object has one owner.{owner}{lost}"
    return _DEFAULT_HINT


def adopted_objects(
    extension: ClusterExtension, identities: Iterable[ObjectKey], cluster: Cluster
) -> Iterator[Rendered]:
    """The objects of the cluster among `identities` that Helm takes over because they have its marks."""
    there = (cluster.objects[key] for key in identities if key in cluster.objects)
    return (present for present in there if _is_adopted(present.object, extension))


def _is_adopted(obj: KubernetesObject, extension: ClusterExtension) -> bool:
    """Return whether an object has the marks of this extension's release (R-V1-MIG-2)."""
    marks = helm_marks(extension.name, extension.namespace)
    return marks.labels.items() <= labels_of(obj).items() and marks.annotations.items() <= annotations_of(obj).items()


def _with_revision(result: ExtensionResult, attempt: _Attempt, report: Report, *, is_rolling: bool) -> ExtensionResult:
    """The result after a ClusterObjectSet has got as far as it can."""
    extension, setting, chosen = result.extension, attempt.setting, attempt.chosen
    held = setting.held.get(extension.name, ())
    account = extension.service_account if setting.release.uses_account else ""
    owner = Owner(extension.name, extension.namespace, account, extension.progress_deadline)
    resolved = RevisionBundle(chosen.name, attempt.registry.package, chosen.version, chosen.image, chosen.release)
    latest = latest_revision(held)
    is_new = True
    if latest is not None:
        again = object_set(attempt.registry, attempt.rendered, owner, resolved, latest.number)
        # What a revision has is never changed; another one is made for other objects (R-V1-COS-1, R-V1-COS-4).
        is_new = not is_same_revision(latest.written.object, again)
        resolved = resolved._replace(revision=latest.number + is_new)
        result = _with_rights(result, attempt.rendered, setting, resolved.revision)
    revision = object_set(attempt.registry, attempt.rendered, owner, resolved, resolved.revision)
    problem = _revision_problem(result, attempt, revision) if is_new else ""
    if problem:
        result = result._replace(objects=kept_objects(result, setting))
        return _failed(result, chosen, problem, _hint(attempt, problem), report)
    phases = phases_of([revision_object(obj, extension.name, resolved) for obj in attempt.rendered])
    name = RevisionName(name_of(revision), resolved.revision, chosen.version)
    rollout = roll_out(name, phases, attempt.server, lambda obj: _is_foreign(obj, attempt))
    status = {"conditions": written_conditions(rollout.conditions), "observedPhases": observed_phases(phases)}
    place = Provenance(Place(result.manifest.source), "olmv1", "R-V1-COS-4", Origin.EXTENSION)
    made = {attempt.server.key(obj) for obj in rollout.made}
    objects = _written(result, attempt, made, resolved, report)
    if setting.options.purpose != "apply":
        objects = (Rendered({**revision, "status": status}, place), *objects)
    others = active_revisions(held, name.name)
    if rollout.problem or not is_stored(chosen):
        kept = applied_over if not rollout.problem else kept_over
        result = result._replace(objects=kept(held, objects))
        return _on_its_way(result, attempt, name, rollout, others, report)
    deprecations = result.resolution.deprecations if result.resolution is not None and not is_rolling else None
    conditions = (*rolled_out(chosen), *deprecation_conditions(extension.source, chosen, deprecations))
    return result._replace(
        objects=applied_over(held, objects), installed=chosen, active=(ActiveRevision(name.name),),
        conditions=merged_conditions(result.conditions, conditions),
    )  # fmt: skip


def _revision_problem(result: ExtensionResult, attempt: _Attempt, revision: KubernetesObject) -> str:
    """Return the reason why a new ClusterObjectSet is not created, "" for none (R-V1-COS-1, R-V1-PERM-1)."""
    problem = _crd_problem(result.extension, attempt)
    if problem:
        return problem
    head = "creating new Revision: "
    if attempt.setting.gates.preflight_permissions and result.missing:
        return head + preflight_error(result.missing)
    for number, phase in enumerate(phases_of(attempt.rendered)):
        if len(phase.objects) > MAX_PHASE:
            many = f"spec.phases[{number}].objects: Too many: {len(phase.objects)}: must have at most {MAX_PHASE} items"
            return f'{head}{SET_KIND}.{GROUP} "{name_of(revision)}" is invalid: {many}'
    return ""


def _is_foreign(obj: KubernetesObject, attempt: _Attempt) -> bool:
    """Return whether an object is there that no ClusterObjectSet of this extension controls (R-V1-COS-7)."""
    stored = attempt.server.stored(obj)
    if stored is None:
        return False
    controllers = [each for each in owner_references(stored) if each.get("controller") is True]
    own = labels_of(stored).get(f"{PREFIX}owner-name") == attempt.owner
    return not (own and any(each.get("kind") == SET_KIND for each in controllers))


def _on_its_way(
    result: ExtensionResult, attempt: _Attempt, name: RevisionName, rollout: Rollout,
    others: Sequence[HeldStatus], report: Report,
) -> ExtensionResult:  # fmt: skip
    """The result with a ClusterObjectSet that is not installed: it is stuck, or the status can't name its bundle.

    The controller copies what the ClusterObjectSets say, and asks no catalog (R-V1-COS-12, R-V1-CND-4).
    """
    extension, installed = result.extension, result.installed
    shown = rollout.conditions if rollout.problem else rollout.waiting
    progressing = next(each for each in shown if each.type == "Progressing")
    latest = next((other for other in reversed(others) if other.is_installed), None)
    copied = [each for each in latest.conditions if each.type == "Available"] if latest is not None else []
    active = [ActiveRevision(latest.name)] if latest is not None else []
    active += (ActiveRevision(other.name, other.shown) for other in others if not other.is_installed)
    active.append(ActiveRevision(name.name, tuple(sorted(shown))))
    conditions = (
        *copied, *mirrored(progressing, installed), *deprecation_conditions(extension.source, installed, None),
    )  # fmt: skip
    result = result._replace(active=tuple(active))
    if rollout.problem:
        return _not_installed(result, rollout.problem, conditions, _hint(attempt, rollout.problem), report)
    return _unwritten(result._replace(conditions=merged_conditions(result.conditions, conditions)), attempt, report)


class HeldStatus(NamedTuple):
    """The status of an active ClusterObjectSet: its name and conditions."""

    name: str
    conditions: tuple[Condition, ...]

    @property
    def is_installed(self) -> bool:
        return any((each.type, each.status) == ("Succeeded", "True") for each in self.conditions)

    @property
    def shown(self) -> tuple[Condition, ...]:
        """The conditions that the ClusterExtension shows."""
        return tuple(each for each in self.conditions if each.type in ("Available", "Progressing"))


def active_revisions(held: Iterable[Rendered], but: str = "") -> tuple[HeldStatus, ...]:
    """The ClusterObjectSets that are not archived, by their numbers, except for the one called `but`."""
    found = sorted(revisions(held), key=lambda each: each.number)
    return tuple(
        HeldStatus(name_of(each.written.object), read_conditions(status_of(each.written.object).get("conditions")))
        for each in found
        if spec_of(each.written.object).get("lifecycleState") != "Archived" and name_of(each.written.object) != but
    )


def rolling_bundle(held: Iterable[Rendered]) -> InstalledBundle | None:
    """The bundle of the first ClusterObjectSet that is neither archived nor installed, None without any
    (R-V1-COS-12)."""
    names = {each.name for each in active_revisions(held) if not each.is_installed}
    for each in sorted(revisions(held), key=lambda each: each.number):
        if name_of(each.written.object) in names:
            noted = annotations_of(each.written.object)
            name, version, image = (
                text(noted.get(f"{PREFIX}bundle-{key}")) for key in ("name", "version", "reference")
            )
            release = noted.get(f"{PREFIX}bundle-release")
            return InstalledBundle(name, version, release if isinstance(release, str) else None, image)
    return None


def _written(
    result: ExtensionResult, attempt: _Attempt, made: Container[ObjectKey], resolved: RevisionBundle, report: Report
) -> tuple[Rendered, ...]:
    """The objects of an attempt that are there, as the cluster has them."""
    extension, setting = result.extension, attempt.setting
    objects = extension_objects(
        attempt.registry, attempt.rendered, ExtensionOwner(extension.name, extension.namespace), resolved,
        setting.gates, setting.options, report,
    )  # fmt: skip
    return tuple(rendered for rendered in objects if rendered.identity in made)


def _objects(
    result: ExtensionResult, bundle: RegistryBundle, rendered: Sequence[KubernetesObject], chosen: InstalledBundle,
    setting: ExtensionSetting, report: Report,
) -> tuple[Rendered, ...]:  # fmt: skip
    """Return the objects of an installed bundle in the cluster; with the COS runtime also the ClusterObjectSet."""
    extension, gates, options = result.extension, setting.gates, setting.options
    resolved = RevisionBundle(chosen.name, bundle.package, chosen.version, chosen.image, chosen.release)
    owned = ExtensionOwner(extension.name, extension.namespace)
    objects = extension_objects(bundle, rendered, owned, resolved, gates, options, report)
    if not gates.boxcutter_runtime or options.purpose == "apply":
        return objects
    account = extension.service_account if setting.release.uses_account else ""
    owner = Owner(extension.name, extension.namespace, account, extension.progress_deadline)
    place = Provenance(Place(result.manifest.source), "olmv1", "R-V1-COS-4", Origin.EXTENSION)
    return (Rendered(object_set(bundle, rendered, owner, resolved, resolved.revision), place), *objects)
