"""The formats of all known OLM versions, as `formats.json` beside this module has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.options import Options, PlatformGroup, Profile
from olmc.k8s.diagnostics import closest, did_you_mean
from olmc.k8s.lean import NamedTuple, regex

if TYPE_CHECKING:
    from olmc.k8s.objects import APIResource

Era = Mapping[str, Any]

# The profile of what the documents of OLM say, to the letter, and that of OLM v1 as its own manifests install it.
DOCS = "docs"
V1 = "v1"


class UnknownVersionError(ValueError):
    """There is no such OLM version, or olmc does not know it; `hint` says what it knows."""

    def __init__(self, version: str, gate: str = "", gates: Sequence[str] = ()) -> None:
        super().__init__(f"olmc knows no OLM version {version}")
        if gate:
            known_are = f"{gate} is no feature gate that can be opened, or closed with =false: {', '.join(gates)}."
            self.hint = " ".join(filter(None, (did_you_mean(closest(gate, gates)), known_are)))
            return
        known, named = known_versions(), formats()["named"]
        shipped = [name for name in named if is_openshift(name)]
        controllers = [name for name in named if _OF_CONTROLLER.fullmatch(name)]
        own = [name for name in named if not (is_openshift(name) or name in controllers)]
        others = ", ".join((*own[:-1], f"{controllers[0]} … {controllers[-1]}", own[-1]))
        known_are = f"Known are {known[0]} … {newest()}, {shipped[0]} … {shipped[-1]}, {others}."
        self.hint = " ".join(filter(None, (did_you_mean(_closest(version)), known_are)))


OPENSHIFT_PREFIX = "ocp-"


def is_openshift(version: str) -> bool:
    """Return whether a version is what an OpenShift release ships, which then sets more than OLM
    (`openshift.on_platform`)."""
    return version.startswith(OPENSHIFT_PREFIX)


def has_chosen_version(options: Options, chosen: Set[str]) -> bool:
    """Return whether somebody chose the version of OLM: `chosen` has its field or its name in olmc.yaml, or it is
    another one than olmc takes by itself.

    That decides where a bundle by itself is installed, which only asks for an OpenShift. The objects of a workspace
    show that the cluster is one, whichever OLM it has."""
    return options.olm_version != Options().olm_version or not chosen.isdisjoint(("olm_version", "olmVersion"))


_OPENSHIFT = regex(r"(?:^|[^\d.])(\d+\.\d+)(?:\.\d+)?$")
_OF_CONTROLLER = regex(r"v1\.\d+(-experimental)?")
_CONTROLLER = regex(r"v1(?:\.\d+){2}")
_NUMBERS = regex(r"v?\d+(?:\.\d+)*", re.IGNORECASE)


def _closest(version: str) -> str:
    """The version that was probably meant, "" for none: OpenShift's without its prefix, the minor of a release that
    there is not, or a slip of the keyboard."""
    known = known_versions()
    openshift = _OPENSHIFT.search(version)
    if openshift and f"ocp-{openshift[1]}" in known:
        return f"ocp-{openshift[1]}"
    # Versions next to each other differ in one digit, so a number is never taken for a slip of another.
    if _NUMBERS.fullmatch(version):
        minor = ".".join(version.lstrip("vV").split(".")[:2])
        return minor if minor in known else ""
    return closest(version, known)


@cache
def formats() -> dict[str, Any]:
    """The file's content: `versions` in order, those that were `compared` with clusters, `named` blends of them,
    `features` with their eras, what of them can't be reproduced in some versions (`gaps`) or `never`."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "formats.json").read_text(encoding="utf-8"))
    return content


def canonical(version: str) -> str:
    """The name of a profile: a release (`0.25.0`), or a name of `named` (`ocp-4.14`, `docs`).

    A leading `v` is dropped, and a minor version stands for its last release: `v0.18` is `0.18.3`. Releases of
    operator-controller keep it: `v1.11.0` is the profile `v1.11`. What follows behind `+` are feature gates of
    operator-controller that are open as well, or with `=false` closed: `v1+DeploymentConfig` (R-V1-FG-1).
    Raises UnknownVersionError.
    """
    version, *switches = version.split("+")
    if switches:
        known = gates_known_to(canonical(version))
        unknown = [switch for switch in switches if _switched(switch)[0] not in known]
        if unknown:
            raise UnknownVersionError("+".join((version, *switches)), unknown[0], known)
        return "+".join((canonical(version), *switches))
    releases: list[str] = formats()["versions"]
    if version in formats()["named"]:
        return version
    plain = version.removeprefix("v")
    if plain in releases:
        return plain
    if _CONTROLLER.fullmatch(version) and (minor := version.rpartition(".")[0]) in formats()["named"]:
        return minor
    of_minor = [release for release in releases if release.rpartition(".")[0] == plain]
    if not of_minor:
        raise UnknownVersionError(version)
    return of_minor[-1]


def newest() -> str:
    """The newest release."""
    release: str = formats()["versions"][-1]
    return release


def known_versions() -> tuple[str, ...]:
    """Return the versions that users may ask for, oldest first: minor versions, then OpenShift's, then `docs`."""
    minors = dict.fromkeys(release.rpartition(".")[0] for release in formats()["versions"])
    return (*minors, *formats()["named"])


def eras(name: str) -> Iterator[tuple[str, Era]]:
    """The id of every feature with the era that holds in a profile; `name` is a canonical one.

    An era has `value`, and it may have `since`, `text` for people and `gap`: what olmc can't reproduce of it.
    """
    order = {release: index for index, release in enumerate(formats()["versions"])}
    blend = formats()["named"].get(name) or {"base": name}
    own, like = blend.get("values") or {}, blend.get("like") or {}
    for feature, entry in formats()["features"].items():
        # OpenShift ships releases with single changes from later ones, feature by feature.
        place = order[like.get(feature, blend["base"])]
        past = [era for era in entry["eras"] if order[era["since"]] <= place]
        yield feature, own.get(feature) or past[-1]


def gaps(name: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a profile that olmc can't reproduce, by the ids of features, then those without a feature;
    `name` is a canonical one."""
    yield from ((feature, era["gap"]) for feature, era in eras(name) if "gap" in era)
    order = {release: index for index, release in enumerate(formats()["versions"])}
    place = order[(formats()["named"].get(name) or {"base": name})["base"]]
    for what, entry in formats()["gaps"].items():
        if order[entry["since"]] <= place <= order[entry["until"]]:
            yield what, entry["gap"]
    yield from formats()["controllers"][controller_of(name)].get("gaps", {}).items()


def is_of_documents(profile: Profile) -> bool:
    """Return whether a profile is that of OLM's documents, and of no release."""
    return profile.name == DOCS


def olm_in_texts(profile: Profile) -> str:
    """The OLM of a profile in texts; that of the documents has no version."""
    return "OLM" if is_of_documents(profile) else f"OLM {profile.name}"


@cache
def profile_of(version: str) -> Profile:
    """The formats of an OLM version: a release (`0.25.0`, `v0.25`), OpenShift's (`ocp-4.14`), or `docs`.

    Raises UnknownVersionError.
    """
    name, *switches = canonical(version).split("+")
    values = {field_of(feature): era["value"] for feature, era in eras(name)}
    gates = dict.fromkeys(open_gates(name), True) | dict(map(_switched, switches))
    is_open = tuple(gate for gate, on in gates.items() if on)
    return Profile(
        "+".join((name, *switches)), dict(gaps(name)), bundles_by(name), is_open, controller_of(name),
        _is_admin(name), **values,
    )  # fmt: skip


SUBSCRIPTION, EXTENSION = "Subscription", "ClusterExtension"


def bundles_by(name: str) -> str:
    """The kind of object that installs a bundle by itself; `name` is a canonical one."""
    blend = formats()["named"].get(name) or {}
    return str(blend.get("installs", SUBSCRIPTION))


def controller_of(name: str) -> str:
    """The release of operator-controller that a profile models, as its tag, or `main`; `name` is a canonical one."""
    named = formats()["named"]
    return str((named.get(name) or {}).get("controller", named[V1]["controller"]))


def _is_admin(name: str) -> bool:
    """Return whether the operator-controller of a profile writes with rights of its own, which are those of
    cluster-admin."""
    return bool(formats()["controllers"][controller_of(name)].get("isAdmin"))


def controller_text(controller: str) -> str:
    """A release of operator-controller in words: its tag, or the commit that it is."""
    commit = formats()["controllers"][controller].get("commit", "")
    return f"{commit}, between v1.10.0 and v1.11.0" if commit else controller


def gates_known_to(name: str) -> tuple[str, ...]:
    """The feature gates that the operator-controller of a profile knows; `name` is a canonical one."""
    return tuple(sorted(formats()["controllers"][controller_of(name.partition("+")[0])]["knows"]))


def releases_with(gate: str) -> tuple[str, str]:
    """The oldest release of operator-controller that knows a feature gate, and the oldest whose own manifests open it,
    "" for none; releases are profiles such as `v1.6`."""
    named = formats()["named"]
    releases = [name for name in named if (match := _OF_CONTROLLER.fullmatch(name)) and not match[1]]
    knowing = (name for name in releases if gate in formats()["controllers"][controller_of(name)]["knows"])
    opening = (name for name in releases if gate in open_gates(name))
    return next(knowing, ""), next(opening, "")


def _switched(switch: str) -> tuple[str, bool]:
    """A gate, and whether it is open: `Name`, `Name=true` or `Name=false`."""
    gate, _, value = switch.partition("=")
    return (gate, value != "false") if value in ("", "true", "false") else (switch, False)


def open_gates(name: str) -> tuple[str, ...]:
    """The gates of operator-controller that are open; where a profile says nothing, those of its own manifests."""
    named = formats()["named"]
    return tuple((named.get(name) or {}).get("gates", named[V1]["gates"]))


def field_of(feature: str) -> str:
    """The field of Profile for a feature: `deploy.label.spec-hash` is `deploy_label_spec_hash`."""
    return feature.replace(".", "_").replace("-", "_").lower()


def filled(template: Mapping[str, str], **values: str) -> dict[str, str]:
    """Labels, annotations or names as a profile has them, with the values in the place of what stands in braces."""
    return {key.format_map(values): text.format_map(values) for key, text in template.items()}


# The content of an OpenShift release in addition to its OLM, from `openshift.json` beside this module: the version of
# Kubernetes, the namespaces of OLM and of its catalogs, the OperatorGroup of openshift-operators, and the APIs that it
# serves.
#
# The file lists the first and the last release that serves each API, by a CRD or by one of OpenShift's own API servers.
# `uncertain` is a version whose first or last release is from memory and may be one off. All capabilities count as
# enabled, and technology previews as absent.
# count as enabled, and what is only a technology preview as absent.


@cache
def openshift() -> Mapping[str, Any]:
    """The file's content: `kubernetes` (by release), `globalCatalogNamespace`, `olmNamespace`,
    `globalOperatorGroup`, `catalogs` that every cluster has, `apis`."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "openshift.json").read_text(encoding="utf-8"))
    return content


@cache
def served_by(release: str) -> tuple[APIResource, ...]:
    """The APIs that a release such as `4.18` serves beyond those of Kubernetes and OLM, by group and kind."""
    from olmc.k8s.objects import APIResource  # `olmc version` knows no objects

    order = {name: place for place, name in enumerate(openshift()["kubernetes"])}
    at, last = order[release], len(order)
    resources = (
        APIResource(
            api["group"],
            api["kind"],
            api["plural"],
            api["scope"] == "Namespaced",
            tuple(
                item["version"]
                for item in api["versions"]
                if order[item["since"]] <= at <= order.get(item.get("until", ""), last)
            ),
            is_crd=api["by"] == "CRD",
        )
        for api in openshift()["apis"]
    )
    return tuple(resource for resource in resources if resource.versions)


def openshift_release(options: Options) -> str:
    """The release of OpenShift that is compiled for, as `4.18`; only where it is OpenShift."""
    return options.olm_version.removeprefix(OPENSHIFT_PREFIX)


def on_platform(options: Options, chosen: Set[str] = frozenset()) -> Options:
    """The options with what the OpenShift release sets that `olm_version` names; the same for any other OLM.

    What somebody chose stays: the fields in `chosen`, and those that are no longer what they are by default.
    """
    if not is_openshift(options.olm_version):
        return options
    facts, release = openshift(), options.olm_version.removeprefix(OPENSHIFT_PREFIX)
    if release not in facts["kubernetes"]:
        return options
    wanted = {
        "kube_version": facts["kubernetes"][release],
        "global_catalog_namespace": facts["globalCatalogNamespace"],
        "olm_namespace": facts["olmNamespace"],
    }
    default = Options()
    values: dict[str, Any] = {
        field: value
        for field, value in wanted.items()
        if field not in chosen and getattr(options, field) == getattr(default, field)
    }
    group = PlatformGroup(**facts["globalOperatorGroup"])
    values["global_groups"] = tuple(dict.fromkeys((*options.global_groups, group)))
    return with_apis_of(release, options._replace(**values))


def with_apis_of(release: str, options: Options) -> Options:
    """The options with the APIs that an OpenShift release serves; of an unknown release, "", with those of the last
    one that olmc knows, because an older cluster may have them as well."""
    served = served_by(release or list(openshift()["kubernetes"])[-1])
    known = {(resource.group, resource.kind, resource.versions) for resource in options.api_resources}
    more = (each for each in served if (each.group, each.kind, each.versions) not in known)
    return options._replace(api_resources=(*options.api_resources, *more))


# The catalogs that a platform brings along: OpenShift's four, and the one of OperatorHub.io.


class PlatformCatalog(NamedTuple):
    """A CatalogSource that a cluster has without anybody applying it; `priority` None where it has none."""

    name: str
    namespace: str
    image: str
    priority: int | None = None


OPERATORHUB = PlatformCatalog("operatorhubio-catalog", "olm", "quay.io/operatorhubio/catalog:latest")


def openshift_catalogs(release: str) -> tuple[PlatformCatalog, ...]:
    """Those of an OpenShift release such as `4.18`."""
    namespace = openshift()["globalCatalogNamespace"]
    return tuple(
        PlatformCatalog(item["name"], namespace, item["image"].format(release=release), item["priority"])
        for item in openshift()["catalogs"]
    )


def init_command(name: str, namespace: str) -> str:
    """The command that notes a catalog in olmc.yaml, "" for one that no platform brings."""
    if (name, namespace) == OPERATORHUB[:2]:
        return "olmc init workspace --operatorhub"
    known = {catalog[:2] for catalog in openshift_catalogs("")}
    return "olmc init workspace --openshift RELEASE" if (name, namespace) in known else ""
