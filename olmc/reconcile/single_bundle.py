"""A bundle by itself: the OperatorGroup that `olmc render BUNDLE` makes, and the steps that install it."""

from __future__ import annotations

from typing import Any

from olmc.catalogs.properties import properties_text
from olmc.catalogs.rendering import bundle_properties, uncatalogued
from olmc.diagnostics.rules import reconcile as rules
from olmc.lean import NamedTuple
from olmc.load.bundles import suggested_namespace
from olmc.model.cluster import Step
from olmc.model.diagnostics import Report
from olmc.model.objects import mappings, spec_of, text
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.model.workspace import Bundle, Manifest, Workspace
from olmc.olm.profiles.data import profile_of
from olmc.reconcile.initial_state import ALWAYS_THERE
from olmc.reconcile.loop import NO_CATALOG
from olmc.resolver.steps import UndecodableCSVError, bundle_content, bundle_steps, csv_object
from olmc.yaml import locate


class SingleBundle(NamedTuple):
    """A workspace made for one bundle, and the steps that install the bundle in its `namespace`.

    `watched` are the other namespaces that the bundle watches. They belong to others and have no manifest: they are
    taken as existing.
    """

    workspace: Workspace
    steps: tuple[Step, ...]
    namespace: str
    watched: tuple[str, ...]


def single_bundle(bundle: Bundle, options: Options, report: Report) -> SingleBundle:
    """The namespace, the OperatorGroup and the steps for a bundle alone.

    The namespace is the one asked for, else the one that the CSV suggests, else the package's name; the scope is what
    was asked for, else the widest that the bundle supports. With descoping, a bundle without install modes gets a group
    only if somebody asks for namespaces.
    """
    namespace = home_of(bundle, options)
    targets = _target_namespaces(bundle, namespace, options, report)
    source = bundle.csv.source
    objects: list[dict[str, Any]] = []
    if namespace != "default":
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if not (options.descoped and options.watch is None and not Csv(bundle.csv.object).install_modes):
        objects.append(
            {
                "apiVersion": "operators.coreos.com/v1",
                "kind": "OperatorGroup",
                "metadata": {"name": bundle.package, "namespace": namespace},
                "spec": {"targetNamespaces": list(targets)} if targets else {},
            }
        )
    properties = properties_text(bundle_properties(uncatalogued(bundle), report))
    replaces = Csv(bundle.csv.object).replaces
    steps: tuple[Step, ...] = ()
    try:
        # The steps are those of an InstallPlan, without one: nothing had to be resolved, so nobody made a plan.
        content, profile = bundle_content(bundle), profile_of(options.olm_version)
        csv = csv_object(content, namespace, replaces, properties, profile)
        steps = bundle_steps(content, csv, NO_CATALOG, profile)
    except UndecodableCSVError as error:
        csv_error, place = error.undecodable, locate(source, error.undecodable.keys)
        finding = rules.NOT_UNPACKED.finding(place, csv=bundle.name, text=csv_error.text, hint=csv_error.hint)
        report.add(finding.caused_by(csv_error.cause))
    manifests = tuple(Manifest(obj, source) for obj in objects)
    watched = tuple(name for name in dict.fromkeys(targets) if name not in (namespace, *ALWAYS_THERE))
    return SingleBundle(Workspace(manifests, {bundle.name: bundle}, {}), steps, namespace, watched)


def home_of(bundle: Bundle, options: Options) -> str:
    """The namespace that a bundle by itself is installed in."""
    suggested = suggested_namespace(Csv(bundle.csv.object).annotations)
    return options.install_namespace or suggested or bundle.package


def supported_modes(bundle: Bundle) -> frozenset[str]:
    """The install modes that a bundle supports; one that names none counts as one for all namespaces."""
    modes = mappings(spec_of(bundle.csv.object).get("installModes"))
    supported = frozenset(text(mode.get("type")) for mode in modes if mode.get("supported") is True)
    return supported or frozenset({"AllNamespaces"})


def _target_namespaces(bundle: Bundle, namespace: str, options: Options, report: Report) -> tuple[str, ...]:
    """The target namespaces, () for all: those asked for, else the widest scope that the install modes allow."""
    if options.watch is not None:
        return options.watch
    supported = supported_modes(bundle)
    if "AllNamespaces" in supported:
        return ()
    if "OwnNamespace" in supported:
        return (namespace,)
    report.add(rules.WATCHES_DEFAULT.finding(locate(bundle.csv.source, ("spec", "installModes")), csv=bundle.name))
    # Somebody else's namespaces, and two of them, or a group would not be one of many (R-CSV-8); these are in every
    # cluster.
    return ("default",) if "SingleNamespace" in supported else ("default", "kube-public")
