"""What packages.operators.coreos.com shows of a settled cluster, for commands and the API server alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from olmc.load.config import options_from, read_config
from olmc.model.cluster import Name
from olmc.model.diagnostic import Diagnostic, Report
from olmc.model.objects import Rendered
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.proposed.installed import Installations, aggregate, all_installed, installations, installed_in
from olmc.proposed.package_manifests import Offer, first_called, offers, offers_in, with_icons
from olmc.proposed.resources import INSTALLED, Listed, Resource
from olmc.settle.rest import Settled


class View(NamedTuple):
    """The operators that are installed, the packages on offer, and the findings about those that are not."""

    installations: Installations
    offers: tuple[Offer, ...]
    not_offered: tuple[Diagnostic, ...]
    global_namespace: str


def viewing(root: Path, base: Options, given: frozenset[str] = frozenset()) -> Options:
    """The options to compile the workspace at `root` with for a view: its own, except for what limits the output.

    `given` are the fields that the command line has set, so that the workspace may not.
    """
    mine = base._replace(purpose="review", copied_csvs=True, include=(), exclude=())
    given |= {"purpose", "copied_csvs", "include", "exclude"}
    return options_from(read_config(root, Report()), mine, given | ({"approve"} if base.approve else set()))


def view_of(
    settled: Settled, objects: Sequence[Rendered], workspace: Workspace | None, options: Options, *, icons: bool = False
) -> View:
    """The view of a compilation with the options of `viewing`; `icons`: whether PackageManifests have theirs."""
    report = Report()
    found = offers(settled.cluster, report)
    shown = tuple(with_icons(offer) for offer in found) if icons else found
    installed = installations(settled, objects, workspace)
    return View(installed, shown, tuple(report), options.global_catalog_namespace)


def items_in(view: View, resource: Resource, namespace: str | None) -> tuple[Listed, ...]:
    """The objects of a resource in a namespace, or in all of them (None), by namespace and name."""
    if resource is INSTALLED:
        return all_installed(view.installations) if namespace is None else installed_in(view.installations, namespace)
    return tuple(offer.listed for offer in offers_in(view.offers, namespace, view.global_namespace))


def item_called(view: View, resource: Resource, name: Name) -> Listed | None:
    """The object of a resource with this namespace and name, None when there is none."""
    if resource is INSTALLED:
        return next((each for each in installed_in(view.installations, name.namespace) if each.name == name.name), None)
    offer = first_called(offers_in(view.offers, name.namespace, view.global_namespace), name.name)
    return offer.listed if offer is not None else None


def list_version(view: View, resource: Resource) -> str:
    """The resourceVersion of a list: aggregated for Installed (R-INST-9), none for PackageManifests."""
    return aggregate(view.installations.versions) if resource is INSTALLED else ""
