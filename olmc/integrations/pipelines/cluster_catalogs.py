"""`olmc init workspace`: the catalogs that Subscriptions name and that the cluster has already, as data for olmc.yaml.

Data and no manifests, because whoever applies the workspace must not come to own what the platform brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import read_text, scan
from olmc.compiler.load.manifests import SUFFIXES, manifests_in
from olmc.compiler.olm.profiles.data import (
    OPENSHIFT_PREFIX,
    OPERATORHUB,
    PlatformCatalog,
    openshift,
    openshift_catalogs,
)
from olmc.k8s.diagnostics import POSSIBLE, Location, Report, closest, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, CatalogKey, as_text, gvk_of, namespace_of, spec_of
from olmc.k8s.yaml import dump_one, locate, read


class PlatformError(ValueError):
    """It is not clear what the cluster is; the text says what to ask for."""


class NamedSource(NamedTuple):
    """A catalog that Subscriptions name and no manifest defines, and the first place where it is named."""

    key: CatalogKey
    location: Location


class WorkspaceConfig(NamedTuple):
    """An olmc.yaml: its text, what of it belongs into one that is there already, what nobody knows of the catalogs that
    are named, and what to do next."""

    text: str
    part: str
    unknown: tuple[str, ...]
    next_step: str


def named_sources(root: Path) -> tuple[NamedSource, ...]:
    """The catalogs that Subscriptions below `root` name and that no CatalogSource there defines, in order.

    Whatever can't be read is passed over: what it is about, `olmc check` says.
    """
    named: dict[CatalogKey, Location] = {}
    defined: set[CatalogKey] = set()
    for path in scan(root, Report()).walk():
        text = read_text(root, path, Report()) if path.endswith(SUFFIXES) and path != CONFIG_FILE else None
        # By its text first: most files of a repository are about something else.
        if not text or OLM_GROUP not in text or not ("Subscription" in text or "CatalogSource" in text):
            continue
        for manifest in manifests_in(read(path, text, Report()), Report(), judged=False):
            obj, spec = manifest.object, spec_of(manifest.object)
            if gvk_of(obj).group != OLM_GROUP:
                continue
            if obj["kind"] == "CatalogSource":
                defined.add(CatalogKey(namespace_of(obj), as_text(obj["metadata"].get("name"))))
            elif obj["kind"] == "Subscription" and as_text(spec.get("source")):
                key = CatalogKey(as_text(spec.get("sourceNamespace")), as_text(spec["source"]))
                named.setdefault(key, locate(manifest.source, ("spec", "source")))
    return tuple(NamedSource(key, named[key]) for key in sorted(named) if key not in defined)


def config_for(sources: Sequence[NamedSource], release: str | None, *, operatorhub: bool) -> WorkspaceConfig:
    """The olmc.yaml for a cluster of an OpenShift `release`, of OperatorHub.io, or for that which the sources tell.

    Raises PlatformError.
    """
    home = openshift()["globalCatalogNamespace"]
    named = {source.key for source in sources}
    if release is None and not operatorhub:
        if any(key.namespace == home for key in named):
            raise PlatformError("Subscriptions name catalogs of OpenShift; say which release it is: --openshift 4.18.")
        if _key(OPERATORHUB) not in named:
            raise PlatformError("no Subscription tells what the cluster is: give --openshift RELEASE or --operatorhub.")
    known: tuple[PlatformCatalog, ...] = (OPERATORHUB,)
    platform = {"globalCatalogNamespace": OPERATORHUB.namespace}
    if release is not None:
        minor = _minor(release)
        known = openshift_catalogs(minor)
        platform = {"olmVersion": OPENSHIFT_PREFIX + minor, "globalCatalogNamespace": home}
    # Nobody subscribes to anything yet in a workspace that just begins: whatever comes will find its catalog.
    wanted = [catalog for catalog in known if not named or _key(catalog) in named]
    spec = {**platform, "catalogs": list(map(_entry, wanted))}
    value = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config", "spec": spec}
    others = [_entry(catalog) for catalog in known if catalog not in wanted]
    unknown = tuple(_unknown(source, known) for source in sources if source.key not in set(map(_key, known)))
    return WorkspaceConfig(_HEAD + dump_one(value) + _commented(others), dump_one({"spec": spec}), unknown, _NEXT)


_HEAD = "# The cluster of this workspace. It already has these catalogs: olmc does not render or apply them.\n"
_NEXT = (
    f"Commit {CONFIG_FILE}; see that nothing else is missing, and bring the catalogs into the workspace:\n"
    "  olmc check\n"
    "  olmc vendor"
)


def _key(catalog: PlatformCatalog) -> CatalogKey:
    return CatalogKey(catalog.namespace, catalog.name)


def _entry(catalog: PlatformCatalog) -> dict[str, Any]:
    """A catalog as olmc.yaml has it."""
    return {field: value for field, value in catalog._asdict().items() if value is not None}


def _minor(text: str) -> str:
    """A release as the data has it; raises PlatformError."""
    release = text.removeprefix(OPENSHIFT_PREFIX).removeprefix("v")
    known = openshift()["kubernetes"]
    minor = ".".join(release.split(".")[:2])
    if minor not in known:
        *_, last = known
        raise PlatformError(f"--openshift: olmc knows no release {text} of OpenShift; it knows 4.1 … {last}.")
    return minor


def _commented(others: Sequence[Mapping[str, Any]]) -> str:
    """The catalogs that no Subscription names, for whoever wants to resolve over them as well."""
    if not others:
        return ""
    lines = ("No Subscription names these, which the cluster has, too; operators may depend on what they serve.",)
    return "".join(f"  # {line}\n" for line in (*lines, *dump_one(others).splitlines()))


def _unknown(source: NamedSource, known: Sequence[PlatformCatalog]) -> str:
    """What is to be done about a catalog that the platform does not bring."""
    key = source.key
    homes = [catalog.namespace for catalog in known if catalog.name == key.name]
    meant = did_you_mean(closest(key.name, [catalog.name for catalog in known], POSSIBLE), inside=True)
    way_out = f"it is in namespace {homes[0]}" if homes else meant
    way_out = way_out or f"add it to spec.catalogs in {CONFIG_FILE}, with its image"
    there = f"catalog {key.name} in namespace {key.namespace or '(none)'} ({source.location})"
    return f"{there} is none that the platform brings: {way_out}"
