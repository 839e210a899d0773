"""Why operator-controller does not install a bundle, sorted by what it is about and by the rule behind it
(R-V1-LIM-1, R-V1-MIG-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.migrate.extension_moves import ExtensionMove, Reason
from olmc.model.catalog import Candidate
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Location, Report, Severity
from olmc.model.options import Options
from olmc.model.workspace import Bundle
from olmc.olmv1.feature_gates import gates_of
from olmc.olmv1.installing import bundle_files
from olmc.olmv1.object_set import RevisionBundle
from olmc.olmv1.registry_bundle import BundleError, read_registry_bundle
from olmc.olmv1.render import InstallRequest, render_bundle
from olmc.olmv1.resolution import DEPENDENCIES
from olmc.olmv1.single_extension import extension_objects
from olmc.yaml import at

_KEEP = "Keep the operator on OLM v0, or have its author change the bundle."
_PREFIX = regex(r'error for resolved bundle "[^"]*" with version "[^"]*": |invalid ClusterExtension configuration: ')
_NOT_CREATED = {"OLMC722": ("objects", "R-V1-LIM-4"), "OLMC723": ("duplicate objects", "R-V1-LIM-3")}


class _Refusal(NamedTuple):
    """What a message of operator-controller is about: a part of it, the sort of reason, the rule, what to do."""

    part: str
    kind: str
    rule: str
    hint: str = _KEEP


_REFUSALS = (
    _Refusal("apiServiceDefintions", "API services", "R-V1-LOAD-6", "Keep the operator on OLM v0."),
    _Refusal(
        "webhookDefinitions are not supported", "certificates", "R-V1-FG-2",
        "Choose a profile whose gates have somebody issue certificates (--olm-version v1).",
    ),
    _Refusal("conversion webhook", "conversion webhooks", "R-V1-VAL-1"),
    _Refusal("unsupported resource", "kinds of objects", "R-V1-VAL-2"),
    _Refusal(
        "install mode", "install modes", "R-V1-LOAD-6",
        "Open SingleOwnNamespaceInstallSupport (--olm-version v1-experimental) for one namespace.",
    ),
    _Refusal("target namespaces", "install modes", "R-V1-OPT-1"),
    _Refusal("watchNamespace", "install modes", "R-V1-CFG-1"),
    _Refusal("deploymentConfig", "configuration", "R-V1-CFG-4", "Mend spec.config of the Subscription."),
    _Refusal(
        "declared via property", "dependencies", "R-V1-RES-13",
        "Have a catalog without the property, and a ClusterExtension of its own for what it names.",
    ),
    _Refusal("forbidden rule", "rules of webhooks", "R-V1-VAL-1"),
    _Refusal("has invalid name", "names", "R-V1-VAL-1"),
    _Refusal("invalid cluster service version strategy deployment name", "names", "R-V1-VAL-1"),
    _Refusal("not found in bundle", "CRDs that are missing", "R-V1-VAL-1"),
    _Refusal(
        "already exists", "objects of others", "R-V1-HELM-4",
        "Remove it from the workspace if the bundle brings it, or mark it as Helm does for the ClusterExtension.",
    ),
    _Refusal("validating upgrade for CRD", "upgrades of CRDs", "R-V1-CRD-1", "Let OLM v0 upgrade the CRD first."),
    _Refusal("found bundles for package", "catalogs", "R-V1-RES-11", "Give the catalogs different priorities."),
    _Refusal("no bundles found", "catalogs", "R-V1-RES-8", "See that the catalog has the version and the channel."),
    _Refusal("error parsing", "files that can't be read", "R-V1-LOAD-2"),
    _Refusal("subdirectories", "files that can't be read", "R-V1-LOAD-2"),
)  # fmt: skip


def reason_of(problem: str, place: Location | None, hint: str = "") -> Reason:
    """A message of the controller as a reason to stay."""
    text = _PREFIX.sub("", problem).strip()
    known = next((refusal for refusal in _REFUSALS if refusal.part in text), _Refusal("", "bundles", "R-V1-VAL-1"))
    return Reason(known.kind, known.rule, text, hint or known.hint, place)


def dependencies(entry: Candidate, cluster: Cluster, place: Location | None) -> Iterator[Reason]:
    """What a bundle needs besides itself, by the properties that its catalog has of it, and what was installed for
    that in the same cluster."""
    needed = [each for each in entry.properties if each.type in DEPENDENCIES]
    if not needed:
        return
    names = ", ".join(dict.fromkeys(_needed(each.type, each.value) for each in needed))
    generated = sorted({each.package for each in cluster.subscriptions.values() if each.source is None})
    beside = f"; OLM v0 subscribes to {', '.join(generated)} by itself" if generated else ""
    yield reason_of(f"{entry.name} has a dependency declared via property {needed[0].type}: {names}{beside}", place)


def refusals(
    bundle: Bundle, name: NamespacedName, options: Options, move: ExtensionMove | None = None
) -> Iterator[Reason]:
    """What operator-controller refuses of a bundle, and what it renders and the API server refuses."""
    place = at(bundle.csv.source)
    gates = gates_of(options.olm_version)
    config: Mapping[str, Any] | None = (move.config or None) if move is not None else None
    report = Report()
    try:
        registry = read_registry_bundle(bundle_files(bundle))._replace(csv_source=bundle.csv.source)
        rendered = render_bundle(registry, InstallRequest(name.namespace, gates, config))
    except BundleError as error:
        for line in error.message.split("\n"):
            refusal = reason_of(line, place)
            # Without a move nobody knows what is to be watched.
            if move is not None or refusal.rule not in ("R-V1-CFG-1", "R-V1-OPT-1"):
                yield refusal
        return
    resolved = RevisionBundle(registry.name, registry.package, "", "")
    extension_objects(registry, rendered, registry.package, resolved, gates, options, report)
    for finding in report:
        if finding.severity is Severity.FAILURE:
            kind, rule = _NOT_CREATED[finding.code]
            yield Reason(kind, rule, finding.message, _KEEP, place)


def _needed(kind: str, value: Any) -> str:
    """What a dependency asks for, in words."""
    fields = value if isinstance(value, Mapping) else {}
    if kind == "olm.package.required":
        return f"package {fields.get('packageName')} {fields.get('versionRange') or ''}".strip()
    if kind == "olm.gvk.required":
        return f"{fields.get('kind')} of {fields.get('group')}/{fields.get('version')}"
    return "a constraint"
