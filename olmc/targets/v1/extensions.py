"""The ClusterExtensions of a workspace: the resolved bundle of each, its objects, and its final conditions (R-V1-PIPE).

A workspace and its settled cluster go in, one `ExtensionResult` for each ClusterExtension comes out. olmc processes
them one after the other, by name: an object belongs to its first owner (R-V1-LIM-2).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.catalog import CatalogBundle
from olmc.compiler.model.cluster import Cluster, by_kind
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import EXTENSIONS_V1, OPENSHIFT_CATALOGS, LockedExtension, Workspace
from olmc.compiler.reconcile.operator_groups import account_exists
from olmc.compiler.render.webhooks import RenderContext
from olmc.compiler.rules.findings.workspace import DROPPED_FIELD
from olmc.k8s.api.validation.field import FieldError
from olmc.k8s.diagnostics import Report, closest, did_you_mean, join_limited, misspelt
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, Manifest, ObjectKey, Rendered, name_of, object_key, status_of
from olmc.k8s.semver import tolerant_or_none
from olmc.k8s.yaml import locate
from olmc.targets.v1 import rules
from olmc.targets.v1.generators import FeatureGates, gates_of
from olmc.targets.v1.installing import (
    SYNTHETIC_USER,
    ExtensionSetting,
    account_missing,
    adopted_objects,
    conditions_after,
    held_objects,
    installed,
    kept_objects,
    rolling_bundle,
)
from olmc.targets.v1.locking import locked_extensions, report_deviations, restricted
from olmc.targets.v1.object_set import EXTENSION_KIND
from olmc.targets.v1.permissions import (
    CatalogFilter,
    ClusterCatalog,
    ClusterExtension,
    InstalledBundle,
    api_errors,
    cluster_catalog,
    cluster_extension,
    ignored_fields,
    unknown_fields,
    without_fields,
    without_status,
)
from olmc.targets.v1.resolution import (
    NO_PACKAGE,
    ExtensionResolution,
    ServedCatalog,
    VersionRangeError,
    derivation,
    not_served,
    parse_version_range,
    resolve,
)
from olmc.targets.v1.status import (
    Condition,
    ExtensionResult,
    ExtensionStatus,
    merged_conditions,
    read_active,
    read_conditions,
    release_of,
    served_content,
    stored_catalogs,
    written_status,
)

CATALOG_KIND = "ClusterCatalog"
_MOST = 4
"""The number of versions or channels in a hint."""
UNKNOWN_IMAGE = "(unknown)"
"""The image of an installed bundle that nothing here names."""


class ExtensionStage(NamedTuple):
    """What all ClusterExtensions of a workspace come to, and how that is written.

    `held` is what they had before, `locked` what `olmc.lock` would have of them. `catalogs` are the ClusterCatalogs as
    the cluster has them; `revisions`: the runtime is that of ClusterObjectSets.
    """

    results: tuple[ExtensionResult, ...] = ()
    held: frozenset[ObjectKey] = frozenset()
    locked: Mapping[str, LockedExtension] = {}
    catalogs: Mapping[str, KubernetesObject] = {}
    revisions: bool = False

    def without_held(self, cluster: Cluster) -> Cluster:
        """The cluster without what the ClusterExtensions had in it, which `written` gives as it is then."""
        if not self.held:
            return cluster
        return cluster._replace(objects=by_kind({k: v for k, v in cluster.objects.items() if k not in self.held}))

    def written(self, _: RenderContext) -> Iterator[Rendered]:
        """Yield the objects that they install, as the result of a pass."""
        for result in self.results:
            yield from result.objects

    def rewrite(self, _: RenderContext, objects: Sequence[Rendered]) -> Sequence[Rendered]:
        """Give ClusterExtensions and ClusterCatalogs their status, and leave out the objects that the API server
        rejects."""
        results = {result.extension.name: result for result in self.results}
        return [new for rendered in objects if (new := self._stored(rendered, results)) is not None]

    def _stored(self, rendered: Rendered, results: Mapping[str, ExtensionResult]) -> Rendered | None:
        """An object as the cluster has it in the end, None for one that the API server refuses."""
        obj = rendered.object
        if obj.get("apiVersion") != EXTENSIONS_V1:
            return rendered
        result = results.get(name_of(obj)) if obj["kind"] == EXTENSION_KIND else None
        if result is not None:
            if result.is_refused and result.stored is None:
                return None
            return rendered._replace(object=result.stored or _with_status(obj, result, with_revisions=self.revisions))
        if obj["kind"] == CATALOG_KIND:
            written = self.catalogs.get(name_of(obj))
            return rendered._replace(object=written) if written is not None else None
        return rendered


def _with_status(obj: KubernetesObject, result: ExtensionResult, *, with_revisions: bool) -> KubernetesObject:
    """A ClusterExtension as the API server stores it, with its status."""
    status = written_status(
        ExtensionStatus(result.conditions, result.active, result.installed), with_revisions=with_revisions
    )
    bare = without_fields(without_status(obj), result.dropped)
    return {**bare, **({"status": status} if status else {})}


def install_extensions(workspace: Workspace, cluster: Cluster, options: Options, report: Report) -> ExtensionStage:
    """Return the results of the ClusterExtensions of a workspace in a settled cluster; problems go to `report`."""
    gates = gates_of(options.olm_version)
    catalogs, lacking = served_catalogs(workspace, report)
    held = held_objects(cluster.objects.values()) if workspace.is_live else {}
    release = release_of(options.olm_version)
    setting = ExtensionSetting(workspace, cluster, options, gates, release, catalogs, lacking, held)
    results: list[ExtensionResult] = []
    taken: dict[ObjectKey, Rendered] = {}
    for manifest in workspace.extensions:
        result = _result(manifest, setting, taken, report)
        taken.update((rendered.identity, rendered) for rendered in result.objects)
        results.append(result)
    locked = locked_extensions(workspace, results)
    report_deviations(workspace.lock, locked, report)
    names = {result.extension.name for result in results}
    taken_over = [rendered for name, some in held.items() if name in names for rendered in some]
    for result in results:
        taken_over += adopted_objects(result.extension, (rendered.identity for rendered in result.objects), cluster)
    return ExtensionStage(
        tuple(results), frozenset(rendered.identity for rendered in taken_over), locked,
        stored_catalogs(workspace, catalogs, lacking, options), gates.boxcutter_runtime,
    )  # fmt: skip


def served_catalogs(workspace: Workspace, report: Report) -> tuple[tuple[ServedCatalog, ...], Mapping[str, str]]:
    """The catalogs with what they serve, and those whose content is not here, with their images.

    A folder in catalogs/ that is no CatalogSource's is a catalog which the cluster has already, unless the workspace
    declares other ClusterCatalogs.
    """
    asked = {cluster_extension(manifest.object).source.package for manifest in workspace.extensions}
    declared: dict[str, ClusterCatalog] = {}
    for manifest in workspace.extension_catalogs:
        if not _refused(manifest, report):
            _report_unknown_fields(manifest, report)
            catalog = cluster_catalog(manifest.object)
            declared[catalog.name] = catalog
    for name in workspace.extension_catalog_names - declared.keys():
        if name in workspace.catalogs:
            priority = {"spec": {"priority": OPENSHIFT_CATALOGS.get(name, 0)}}
            declared[name] = cluster_catalog({"metadata": {"name": name}, **priority})
    served, lacking = [], {}
    for name, catalog in sorted(declared.items()):
        content = workspace.catalogs.get(name) or workspace.catalogs.get(f"/{name}")
        if content is None or content.lacks_bundles or any(package.name in asked for package in content.left_out):
            lacking[name] = catalog.image
            served.append(ServedCatalog(catalog))
        else:
            served.append(served_content(catalog, content))
    return tuple(served), lacking


def _refused(
    manifest: Manifest, report: Report, old: KubernetesObject | None = None, *, account_required: bool = True
) -> list[FieldError]:
    """Report and return the API server's errors for an object, or for its change from `old`."""
    obj = manifest.object
    errors = api_errors(obj, old, account_required=account_required)
    for error in errors:
        if error.field != "<nil>":
            place = locate(manifest.source, _keys(error.field))
            values: dict[str, Any] = {
                "kind": obj["kind"],
                "name": name_of(obj),
                "problem": str(error),
                "field": error.field,
            }
            finding = rules.REFUSED.finding(place, **values)
            stays = f"Correct {error.field}; until then what is there stays as it is."
            report.add(finding if old is None else finding._replace(hint=stays))
    return errors


def _report_unknown_fields(manifest: Manifest, report: Report) -> None:
    """Report the fields that the API server drops, such as a misspelt one, which constrains nothing (R-V1-CE-1)."""
    obj = manifest.object
    for keys, known in unknown_fields(obj):
        where = ".".join(f"[{key}]" if isinstance(key, int) else key for key in keys).replace(".[", "[")
        meant = closest(str(keys[-1]), known)
        hint = did_you_mean(meant) or f"The fields there are {', '.join(sorted(known))}."
        finding = DROPPED_FIELD.finding(
            locate(manifest.source, keys, of_key=True), kind=obj["kind"], name=name_of(obj), where=where,
            owner="OLM v1", why="does not know: the API server drops it", effect="", hint=hint,
        )  # fmt: skip
        report.add(finding.caused_by(misspelt(str(keys[-1]), meant)))


def _keys(field: str) -> list[str | int]:
    """The keys that lead to a field, as messages name it: `spec.channels[0]`."""
    parts = field.replace("[", ".").replace("]", "").split(".")
    return [int(part) if re.fullmatch("[0-9]{1,9}", part) else part for part in parts]


def _result(
    manifest: Manifest, setting: ExtensionSetting, taken: Mapping[ObjectKey, Rendered], report: Report
) -> ExtensionResult:
    """Return the result of a ClusterExtension: hop after hop, until nothing changes any more (R-V1-RES-15)."""
    experimental = _has_experimental_crds(setting.gates)
    state = setting.options.state
    live = state.objects.get(object_key(manifest.object)) if state is not None else None
    required = setting.release.requires_account
    errors = _refused(manifest, report, live.object if live is not None else None, account_required=required)
    kept = manifest if live is None or not errors else manifest._replace(object=live.object)
    extension = cluster_extension(kept.object, experimental=experimental)
    held = setting.held.get(extension.name, ())
    if errors:
        stored = live.object if live is not None else None
        return ExtensionResult(
            extension, kept, str(errors[0]), installed=extension.installed, objects=held, stored=stored,
            is_refused=True, controller=setting.release.tag,
        )  # fmt: skip
    _report_unknown_fields(manifest, report)
    dropped = () if experimental else tuple(ignored_fields(manifest.object))
    for field in dropped:
        place = locate(manifest.source, ("spec", field), of_key=True)
        report.add(rules.FIELD_DROPPED.finding(place, kind=EXTENSION_KIND, name=extension.name, field=field))
    extension = extension._replace(installed=_with_image(extension.installed, setting.catalogs))
    was = live.object if live is not None else manifest.object
    start = ExtensionResult(
        extension, manifest, installed=extension.installed, objects=held, dropped=dropped,
        conditions=read_conditions(status_of(was).get("conditions")), active=read_active(was),
        controller=setting.release.tag,
    )  # fmt: skip
    missing = _without_account(start, setting, taken, report)
    return missing if missing is not None else _walked(start, setting, taken, report)


def _without_account(
    result: ExtensionResult, setting: ExtensionSetting, taken: Mapping[ObjectKey, Rendered], report: Report
) -> ExtensionResult | None:
    """The result without the account, which the controller looks for before all else (R-V1-SA-1); None where it is
    there or not used."""
    extension = result.extension
    account, namespace = extension.service_account, extension.namespace
    is_synthetic = setting.gates.synthetic_permissions and account == SYNTHETIC_USER
    is_needed = setting.release.checks_account or (setting.release.uses_account and not is_synthetic)
    if not is_needed or account_exists(setting.cluster.objects, namespace, account):
        return None
    if setting.workspace.is_of_repository:
        # Another folder of the repository, which has no operators, may bring it.
        found = Report()
        there = _hop(result, setting, taken, found)
        report.found.extend(found.found if there.unknown else ())
        problem = f"service account {account} in namespace {namespace} is in none of the entries"
        return there if there.unknown else result._replace(problem=problem, unknown=True)
    place = locate(result.manifest.source, ("spec", "serviceAccount", "name"))
    report.add(rules.NO_ACCOUNT.finding(place, name=extension.name, account=account, namespace=namespace))
    conditions = account_missing(account, namespace, checked=setting.release.checks_account)
    trial = _hop(result, setting, taken, Report())
    return result._replace(
        problem=conditions[0].message, conditions=merged_conditions(result.conditions, conditions),
        objects=kept_objects(result, setting), trial=trial, required=trial.required,
    )  # fmt: skip


def _walked(
    start: ExtensionResult, setting: ExtensionSetting, taken: Mapping[ObjectKey, Rendered], report: Report
) -> ExtensionResult:
    """The result where nothing changes any more; of what is found on the way the last resolution's counts."""
    before, found = start, Report()
    via: list[str] = []
    seen = {start.installed.name} if start.installed is not None else set()
    while True:
        last, found = found, Report()
        result = _hop(before, setting, taken, found)
        now = result.installed
        if not result.problem and via and now == before.installed:
            # The resolution that chose the bundle says more than the one that finds nothing better.
            result, found = result._replace(resolution=before.resolution), last
            break
        if result.problem or now is None or now == before.installed:
            break
        if now.name in seen:
            result = result._replace(further=now.name)
            break
        seen.add(now.name)
        via.append(now.name)
        setting = _applied(result, setting)
        before = result._replace(extension=result.extension._replace(installed=now))
    for finding in found:
        report.add(finding)
    passed = tuple(name for name in via if result.installed is None or name != result.installed.name)
    if passed and result.installed is not None:
        place = locate(result.manifest.source, ("spec",))
        report.add(
            rules.WALKS.finding(
                place, name=result.extension.name, way=" → ".join((*passed, result.installed.name)),
                version=result.installed.version,
            )
        )  # fmt: skip
    return result._replace(extension=start.extension, via=passed)


def _applied(result: ExtensionResult, setting: ExtensionSetting) -> ExtensionSetting:
    """The setting after a hop: the cluster with what the ClusterExtension has then."""
    name = result.extension.name
    removed = {rendered.identity for rendered in setting.held.get(name, ())}
    others = {key: found for key, found in setting.cluster.objects.items() if key not in removed}
    objects = by_kind({**others, **{rendered.identity: rendered for rendered in result.objects}})
    return setting._replace(
        cluster=setting.cluster._replace(objects=objects), held={**setting.held, name: result.objects}
    )


def _hop(
    before: ExtensionResult, setting: ExtensionSetting, taken: Mapping[ObjectKey, Rendered], report: Report
) -> ExtensionResult:
    """Return the state of a ClusterExtension after one resolution and its consequences."""
    extension, manifest = before.extension, before.manifest
    rolling = rolling_bundle(setting.held.get(extension.name, ())) if setting.gates.boxcutter_runtime else None
    if rolling is not None:
        # R-V1-COS-12
        bundle = CatalogBundle(rolling.name, extension.source.package, rolling.image, rolling.version, ())
        resolution = ExtensionResolution(bundle=bundle, installed=rolling)
        return installed(before._replace(resolution=resolution), resolution, setting, taken, report, is_rolling=True)
    resolution = _resolution(extension, setting)
    result = before._replace(resolution=resolution)
    unknown = _unknown_catalog(resolution, setting)
    place = locate(manifest.source, ("spec", "source", "catalog"))
    if unknown:
        image = setting.lacking[unknown] or "it has no image"
        catalog = f"ClusterCatalog {unknown}"
        report.add(rules.NO_CONTENT.finding(place, name=unknown, catalog=catalog, image=image))
        problem = f"the content of {catalog} is not in the workspace"
        return result._replace(problem=problem, unknown=True, resolution=_without_content(resolution, setting.lacking))
    if resolution.error and not (setting.catalogs or setting.lacking or setting.workspace.extension_catalogs):
        # Clusters come with ClusterCatalogs that nothing here declares.
        is_entry = setting.workspace.is_of_repository
        catalog = f"the ClusterCatalog with package {extension.source.package}"
        image = f"the {'repository' if is_entry else 'workspace'} declares no ClusterCatalog"
        hint = "Put the file-based catalog that has it into catalogs/NAME/."
        report.add(rules.NO_CONTENT.finding(place, name="", catalog=catalog, image=image)._replace(hint=hint))
        return result._replace(problem=f"the content of {catalog} is not in the workspace", unknown=True)
    if resolution.error:
        revisions = setting.gates.boxcutter_runtime
        _, conditions = conditions_after(extension.source, extension.installed, resolution, revisions=revisions)
        hint = "; ".join(derivation(resolution)) or "Add a ClusterCatalog that has the package"
        hint = f"{hint[0].upper()}{hint[1:]}. {_meant_package(extension.source.package, resolution, setting)}".rstrip()
        advice = version_advice(extension, resolution, setting)
        hint = f"{hint} {advice}".rstrip()
        report.add(rules.NOT_RESOLVED.finding(place, name=extension.name, problem=resolution.error, hint=hint))
        result = result._replace(advice=advice)
        objects = kept_objects(result, setting)
        merged = merged_conditions(before.conditions, conditions)
        return result._replace(problem=resolution.error, conditions=merged, objects=objects)
    if not before.conditions and extension.installed is None:
        result = result._replace(conditions=_first_conditions(extension, resolution, setting))
    return installed(result, resolution, setting, taken, report)


def _first_conditions(
    extension: ClusterExtension, resolution: ExtensionResolution, setting: ExtensionSetting
) -> tuple[Condition, ...]:
    """The conditions of a new ClusterExtension, whose new catalogs are not served yet when it is looked at first."""
    state = setting.options.state
    declared = [manifest.object for manifest in setting.workspace.extension_catalogs]
    new = {name_of(obj) for obj in declared if state is None or object_key(obj) not in state.objects}
    asked = [outcome.name for outcome in resolution.outcomes if outcome.name in resolution.asked & new]
    error = not_served(extension.source.package, asked[0]) if asked else ""
    first = ExtensionResolution(error)
    return tuple(conditions_after(extension.source, None, first)[1]) if error else ()


def version_advice(extension: ClusterExtension, resolution: ExtensionResolution, setting: ExtensionSetting) -> str:
    """Return a hint if no bundle has the version and the channels that a ClusterExtension asks for; "" if one has
    (R-V1-RES-4)."""
    wanted = extension.source
    offered = _versions_by_channel(wanted.package, resolution, setting)
    fitting = {name: versions for name, versions in offered.items() if name in wanted.channels or not wanted.channels}
    there = sorted({version for versions in fitting.values() for version in versions})
    if not offered or (_channels_with(wanted.version, fitting) if wanted.version else there):
        return ""
    if not there:
        return f"Change spec.source.catalog.channels: the package has {join_limited(sorted(offered), _MOST)}."
    where = f"channel {' and '.join(wanted.channels)}" if wanted.channels else f"package {wanted.package}"
    elsewhere = _channels_with(wanted.version or "", offered)
    kept = f", or use channel {' or '.join(elsewhere)}, which has version {wanted.version}" if elsewhere else ""
    return (
        f"Change or remove spec.source.catalog.version: {where} has {join_limited(there, _MOST)}{kept}. "
        "upgradeConstraintPolicy has no part in it."
    )


def _versions_by_channel(
    package: str, resolution: ExtensionResolution, setting: ExtensionSetting
) -> dict[str, tuple[str, ...]]:
    """The versions that the asked catalogs have in each channel of a package."""
    found: dict[str, tuple[str, ...]] = {}
    for served in setting.catalogs:
        content = served.packages.get(package) if served.catalog.name in resolution.asked else None
        for channel in content.channels.values() if content is not None else ():
            bundles = (content.bundles.get(entry.name) for entry in channel.entries) if content is not None else ()
            versions = (bundle.version for bundle in bundles if bundle is not None)
            found[channel.name] = (*found.get(channel.name, ()), *versions)
    return found


def _channels_with(wanted: str, offered: Mapping[str, Sequence[str]]) -> list[str]:
    """The channels that have a version inside a range."""
    try:
        inside = parse_version_range(wanted)
    except VersionRangeError:
        return []
    known = {name: [tolerant_or_none(version) for version in versions] for name, versions in offered.items()}
    return sorted(
        name for name, versions in known.items() if any(each is not None and inside.contains(each) for each in versions)
    )


def _meant_package(name: str, resolution: ExtensionResolution, setting: ExtensionSetting) -> str:
    """The question for the package that was meant, "" where a catalog that was asked has the package."""
    asked = [served.packages for served in setting.catalogs if served.catalog.name in resolution.asked]
    if any(name in packages for packages in asked):
        return ""
    return did_you_mean(closest(name, (known for packages in asked for known in packages)))


def _resolution(extension: ClusterExtension, setting: ExtensionSetting) -> ExtensionResolution:
    """Return the resolution of a ClusterExtension: the locked bundle, as long as it is available."""
    releases, lock = setting.gates.bundle_release_support, setting.workspace.lock
    locked = lock.extensions.get(extension.name) if lock is not None else None
    if locked is not None:
        allowed = restricted(setting.catalogs, extension.source.package, locked)
        resolution = resolve(extension.source, extension.installed, allowed, releases=releases)
        if not resolution.error:
            return resolution
    return resolve(extension.source, extension.installed, setting.catalogs, releases=releases)


def typed_extension(manifest: Manifest, options: Options) -> ClusterExtension:
    """The ClusterExtension of a manifest as the CRD that goes with the gates keeps it."""
    experimental = _has_experimental_crds(gates_of(options.olm_version))
    return cluster_extension(manifest.object, experimental=experimental)


def _has_experimental_crds(gates: FeatureGates) -> bool:
    """Return whether the CRDs are the experimental ones: they come with the gates that need them."""
    needing = (gates.single_own_namespace_install_support, gates.deployment_config, gates.boxcutter_runtime)
    return any(needing) or gates.bundle_release_support


def _with_image(installed: InstalledBundle | None, catalogs: Iterable[ServedCatalog]) -> InstalledBundle | None:
    """Return the installed bundle, with the image that a catalog names for it if the status has none."""
    if installed is None or installed.image:
        return installed
    packages = (package for served in catalogs for package in served.packages.values())
    bundles = (package.bundles.get(installed.name) for package in packages)
    return installed._replace(image=next((bundle.image for bundle in bundles if bundle is not None), UNKNOWN_IMAGE))


def _unknown_catalog(resolution: ExtensionResolution, setting: ExtensionSetting) -> str:
    """The first catalog that counts and whose content is not here, "" for none."""
    asked = (outcome for outcome in resolution.outcomes if not outcome.left and outcome.name in setting.lacking)
    return next((outcome.name for outcome in asked if outcome.dropped == NO_PACKAGE), "")


def _without_content(resolution: ExtensionResolution, lacking: Collection[str]) -> ExtensionResolution:
    """A resolution that says of catalogs without content that they have none here, instead of what they lack."""
    outcomes = (
        outcome._replace(dropped="its content is not in the workspace")
        if outcome.name in lacking and outcome.dropped == NO_PACKAGE else outcome
        for outcome in resolution.outcomes
    )  # fmt: skip
    return resolution._replace(outcomes=tuple(outcomes))


# The way that a ClusterExtension goes by itself: resolution after resolution, until nothing changes any more
# (R-V1-RES-10, R-V1-RES-15).

_MOST = 1000


class RouteStop(NamedTuple):
    """A resolution: what was installed before it, and what came of it."""

    before: InstalledBundle | None
    resolution: ExtensionResolution


def extension_route(
    workspace: Workspace, name: str, options: Options
) -> tuple[ClusterExtension, list[RouteStop]] | None:
    """The resolutions of a ClusterExtension until one changes nothing; None if there is none of that name."""
    manifests = {extension.name: extension for m in workspace.extensions for extension in [typed_extension(m, options)]}
    extension = manifests.get(name)
    if extension is None:
        return None
    catalogs, _ = served_catalogs(workspace, Report())
    releases = gates_of(options.olm_version).bundle_release_support
    stops: list[RouteStop] = []
    installed = extension.installed
    while len(stops) < _MOST:
        resolution = resolve(extension.source, installed, catalogs, releases=releases)
        stops.append(RouteStop(installed, resolution))
        chosen = resolution.installed
        if chosen is None or (
            installed is not None and (chosen.name, chosen.version) == (installed.name, installed.version)
        ):
            break
        installed = chosen
    return extension, stops


def route_lines(extension: ClusterExtension, stops: Sequence[RouteStop]) -> Iterator[str]:
    """The route as lines: what is asked for, then each bundle with what the catalogs came to, and where it ends."""
    yield f"ClusterExtension {extension.name}: {', '.join(_asked(extension.source))}"
    start = stops[0].before
    yield f"  {start.name} is installed" if start is not None else "  nothing is installed"
    for before, resolution in stops:
        now = resolution.installed
        if now is None:
            yield f"  it gets no further: {resolution.error}"
        elif before is not None and now.name == before.name:
            yield f"  {now.name} stays: it is the best that is allowed"
        else:
            yield f"→ {now.name} from catalog {resolution.catalog}"
        yield from (f"    {line}" for line in derivation(resolution))


def _asked(source: CatalogFilter) -> Iterator[str]:
    """Yield the request of a ClusterExtension to catalogs, and the rule that decides on successors."""
    yield f"package {source.package}"
    yield f"version {source.version}" if source.version else "any version"
    yield f"channels {', '.join(source.channels)}" if source.channels else "all channels"
    by_catalog = source.policy == "CatalogProvided"
    yield "successors as the catalog has them" if by_catalog else "any version above or below (SelfCertified)"
