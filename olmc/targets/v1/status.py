"""The statuses of OLM v1, and the releases of operator-controller that write them.

ClusterCatalogs are as the cluster has them, with defaults, the label of their name and the status of catalogd
(R-V1-CC-1, R-V1-CC-2, R-V1-CC-4). A ClusterExtension has a result and a status (R-V1-CE-2). R-V1-REL-1 states the
differences between the releases; feature gates are in `generators`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from olmc.compiler.model.catalog import Catalog
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.profiles.data import is_openshift, profile_of
from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    KubernetesObject,
    Manifest,
    Rendered,
    labels_of,
    mappings,
    metadata_of,
    name_of,
    object_key,
    spec_of,
    status_of,
    text,
)
from olmc.k8s.strconv import quoted
from olmc.targets.v1.generators import certificate_provider, gates_of
from olmc.targets.v1.permissions import (
    ClusterCatalog,
    ClusterExtension,
    InstalledBundle,
    ScopedRule,
    api_errors,
    cluster_catalog,
    without_status,
)
from olmc.targets.v1.resolution import ExtensionResolution, ServedCatalog, derivation, not_served_problem

_TAG = regex(r"v(\d+)\.(\d+)\.\d+")
# The commit that the rules were read from is behind v1.10.0 and has nothing that v1.11.0 brought.
_MAIN = (1, 10)


class ControllerRelease(NamedTuple):
    """What a release of operator-controller does in its own way (R-V1-REL-1).

    `uses_account`: it writes with the rights of spec.serviceAccount, otherwise with its own, which are those of
    cluster-admin. `checks_account`: it looks for the account before anything else. `names_dry_run`: it says that an
    error is from the dry run. `sets_operator_namespace`: pod templates have the annotation olm.operatorNamespace.
    `blocks_bad_config`: an invalid configuration is not tried again. `catalogs_namespace` is that of catalogd.
    """

    tag: str
    uses_account: bool
    checks_account: bool
    names_dry_run: bool
    sets_operator_namespace: bool
    blocks_bad_config: bool
    catalogs_namespace: str = "olmv1-system"

    @property
    def requires_account(self) -> bool:
        """Return whether a ClusterExtension must name an account (R-V1-CE-1)."""
        return self.uses_account


def release_of(version: str) -> ControllerRelease:
    """The release of operator-controller that an OLM version stands for. Raises UnknownVersionError."""
    profile = profile_of(version)
    tag, gates = profile.controller, gates_of(version)
    of_openshift = is_openshift(profile.name) or certificate_provider(gates) == "service-ca"
    match = _TAG.fullmatch(tag)
    number = (int(match[1]), int(match[2])) if match is not None else _MAIN
    return ControllerRelease(
        tag,
        uses_account=not profile.controller_is_admin,
        checks_account=number >= (1, 9) and not profile.controller_is_admin,
        names_dry_run=number >= (1, 3),
        sets_operator_namespace=number >= (1, 11),
        blocks_bad_config=number >= (1, 8),
        catalogs_namespace="openshift-catalogd" if of_openshift else "olmv1-system",
    )


_UNAVAILABLE = "Catalog availability mode is set to Unavailable"
_CONTENT = ("lastUnpacked", "resolvedSource", "urls")


def stored_catalogs(
    workspace: Workspace, served: Iterable[ServedCatalog], lacking: Mapping[str, str], options: Options
) -> Mapping[str, KubernetesObject]:
    """By name the ClusterCatalogs of a workspace that the API server takes; of one whose content is not here the status
    can't be known."""
    known = {each.catalog.name: each for each in served}
    stored = {}
    for manifest in workspace.extension_catalogs:
        obj = manifest.object
        content = None if name_of(obj) in lacking else known.get(name_of(obj))
        live = options.state.objects.get(object_key(obj)) if options.state is not None else None
        if not api_errors(obj):
            stored[name_of(obj)] = _stored(obj, content, options)
        elif live is not None:
            stored[name_of(obj)] = live.object
    return stored


def _stored(obj: KubernetesObject, served: ServedCatalog | None, options: Options) -> KubernetesObject:
    state = options.state
    live = state.objects.get(object_key(obj)) if state is not None else None
    labels = {**labels_of(obj), **cluster_catalog(obj).labels}
    spec = {"priority": 0, "availabilityMode": "Available", **spec_of(obj)}
    written = {**without_status(obj), "metadata": {**metadata_of(obj), "labels": labels}, "spec": spec}
    before = status_of(live.object) if live is not None else {}
    status = _status(obj, served, before, options)
    return {**written, **({"status": status} if status else {})}


def _status(
    obj: KubernetesObject, served: ServedCatalog | None, before: Mapping[str, Any], options: Options
) -> Mapping[str, Any]:
    """The status of a ClusterCatalog (R-V1-CC-4): a catalog that can't be unpacked keeps what it served before."""
    catalog = cluster_catalog(obj)
    conditions: tuple[Condition, ...]
    content: dict[str, Any] = {}
    if not catalog.available:
        conditions = (
            condition("Progressing", "True", "Succeeded", _UNAVAILABLE),
            condition("Serving", "False", "UserSpecifiedUnavailable", _UNAVAILABLE),
        )
    elif served is None:
        return before
    elif served.unpacking:
        content = {key: before[key] for key in _CONTENT if key in before}
        conditions = (condition("Progressing", "True", "Retrying", served.unpacking),)
    else:
        home = release_of(options.olm_version).catalogs_namespace
        content = {
            "resolvedSource": {"type": "Image", "image": {"ref": _resolved(catalog.image)}},
            "urls": {"base": f"https://catalogd-service.{home}.svc/catalogs/{catalog.name}"},
        }
        done = "Successfully unpacked and stored content from resolved source"
        conditions = (
            condition("Progressing", "True", "Succeeded", done),
            condition("Serving", "True", "Available", "Serving desired content from resolved source"),
        )
    merged = merged_conditions(read_conditions(before.get("conditions")), conditions)
    return {"conditions": written_conditions(merged), **content}


def _resolved(image: str) -> str:
    """A reference with a digest: its own, or one made of the reference, since no input tells that of the image."""
    name, at, digest = image.partition("@")
    if at:
        return f"{_untagged(name)}@{digest}"
    return f"{_untagged(image)}@sha256:{sha256(image.encode()).hexdigest()}"


def _untagged(name: str) -> str:
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def served_content(catalog: ClusterCatalog, content: Catalog) -> ServedCatalog:
    """A ClusterCatalog with the packages that it serves; what can't be read ends every resolution that looks there."""
    if content.unread:
        return ServedCatalog(catalog, {}, not_served_problem(catalog.name), unpacking=unpacking_error(content.unread))
    if content.problem and not content.documents:
        return ServedCatalog(catalog, {}, not_served_problem(catalog.name), unpacking=unpacking_error(content.problem))
    broken = {name: f"error loading package {quoted(name)}: {problem}" for name, problem in content.spoilt.items()}
    return ServedCatalog(catalog, content.documents if content.problem else content.packages, broken=broken)


def unpacking_error(problem: str) -> str:
    """The error of catalogd for content that it can't read (R-V1-CC-4)."""
    return f"error storing fbc: error walking FBC root: {problem}"


class ActiveRevision(NamedTuple):
    """A ClusterObjectSet that is not archived, as `status.activeRevisions` has it."""

    name: str
    conditions: tuple[Condition, ...] = ()


class ExtensionStatus(NamedTuple):
    """The status of a ClusterExtension: conditions, the active revisions, the installed bundle."""

    conditions: tuple[Condition, ...] = ()
    active: tuple[ActiveRevision, ...] = ()
    installed: InstalledBundle | None = None


def read_conditions(listed: Any) -> tuple[Condition, ...]:
    """The conditions in a status."""
    return tuple(Condition(*(text(each.get(field)) for field in Condition._fields)) for each in mappings(listed))


def read_active(obj: KubernetesObject) -> tuple[ActiveRevision, ...]:
    """The active revisions in the status of a ClusterExtension."""
    listed = mappings(status_of(obj).get("activeRevisions"))
    return tuple(ActiveRevision(text(each.get("name")), read_conditions(each.get("conditions"))) for each in listed)


def merged_conditions(before: Iterable[Condition], now: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions after a reconciliation that sets those of `now` and leaves the others as they were."""
    return tuple({each.type: each for each in (*before, *now)}.values())


def is_stored(installed: InstalledBundle | None) -> bool:
    """Return whether the API server takes a status with this bundle: its name must be a DNS subdomain (R-V1-CND-4)."""
    return installed is None or not is_dns1123_subdomain(installed.name)


def written_status(status: ExtensionStatus, *, with_revisions: bool) -> KubernetesObject:
    """The status as the controller writes it, without times (R-V1-CE-2)."""
    written: KubernetesObject = {}
    if with_revisions and status.active:
        written["activeRevisions"] = [_written_revision(revision) for revision in status.active]
    if status.conditions:
        written["conditions"] = written_conditions(status.conditions)
    if status.installed is not None:
        installed = status.installed
        release = {} if installed.release is None else {"release": installed.release}
        written["install"] = {"bundle": {"name": installed.name, "version": installed.version, **release}}
    return written


def _written_revision(revision: ActiveRevision) -> Mapping[str, Any]:
    conditions = {"conditions": written_conditions(revision.conditions)} if revision.conditions else {}
    return {"name": revision.name, **conditions}


def written_conditions(conditions: Sequence[Condition]) -> list[dict[str, str]]:
    """Conditions as a status has them, by their types."""
    return [condition._asdict() for condition in sorted(conditions)]


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


_LONGEST = 32768


_TRUNCATED = "\n\n... [message truncated]"


class ExtensionResult(NamedTuple):
    """What became of a ClusterExtension.

    `problem` is what keeps it from being installed, "" for nothing: the controller's message, or what is missing here.
    With the latter, what the cluster does is `unknown`. `installed` is the bundle that is there in the end, `via` are
    those that it passed on the way, and `further` is the next one where it never comes to rest, "" for none. `missing`
    and `required` are the rights that its account lacks and needs. `is_refused`: the API server refuses the
    ClusterExtension; `stored` is what the cluster has of it then. `active` are the ClusterObjectSets that its status
    names, `dropped` the fields of its spec that the CRD does not have, `controller` the release of operator-controller.
    `advice` is the way out of a problem, "" where none is known.
    Without its account, `trial` is what an account without rights would come to, which says what rights it needs.
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
    stored: KubernetesObject | None = None
    unknown: bool = False
    via: tuple[str, ...] = ()
    is_refused: bool = False
    active: tuple[ActiveRevision, ...] = ()
    dropped: tuple[str, ...] = ()
    controller: str = ""
    trial: ExtensionResult | None = None
    advice: str = ""

    @property
    def derivation(self) -> tuple[str, ...]:
        """Return the result of each catalog, one sentence a catalog."""
        return derivation(self.resolution) if self.resolution is not None else ()
