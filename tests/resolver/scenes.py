"""Reads the resolver cases of `cases/` (see the README there) and carries out what a round picked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    Selection,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.k8s.diagnostics import Location
from olmc.k8s.objects import CatalogKey
from olmc.k8s.yaml import located

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Scene:
    """A case: what is asked, and what is expected: a message, or the picks of each round."""

    id: str
    resolve_request: ResolveRequest
    message: str
    rounds: tuple[tuple[str, ...], ...]


def scenes(name: str) -> list[Scene]:
    """The cases of a file."""
    return [_scene(each, name) for each in yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))]


def _scene(case: Mapping[str, Any], name: str) -> Scene:
    catalogs = tuple(_catalog(each, name) for each in case["catalogs"])
    requests = tuple(_request(each, name) for each in case["subscriptions"])
    present = tuple(_present(each, name) for each in case.get("present", ()))
    resolve_request = ResolveRequest(
        "ns", catalogs, requests, present, fail_forward=bool(case.get("failForward")),
        legacy_precedence=bool(case.get("legacy")),
    )  # fmt: skip
    expected = case["expect"]
    if isinstance(expected, str):
        return Scene(case["id"], resolve_request, expected, ())
    rounds = tuple(tuple(each) for each in expected) or ((),)
    return Scene(case["id"], resolve_request, "", rounds)


def tea_workspace(properties: str = "") -> dict[str, str]:
    """The files of a workspace with a Subscription to a bundle that has these properties besides, a line each."""
    olm = "apiVersion: operators.coreos.com"
    return {
        "group.yaml": f"{olm}/v1\nkind: OperatorGroup\nmetadata: {{name: og, namespace: ns}}\n",
        "subscription.yaml": f"{olm}/v1alpha1\nkind: Subscription\nmetadata: {{name: tea, namespace: ns}}\n"
        "spec: {name: tea, channel: stable, source: tea, sourceNamespace: olm}\n",
        "catalogs/tea/catalog.yaml": "{schema: olm.package, name: tea, defaultChannel: stable}\n---\n"
        "{schema: olm.channel, package: tea, name: stable, entries: [{name: tea.v1}]}\n---\n"
        "schema: olm.bundle\npackage: tea\nname: tea.v1\nimage: registry.example.com/tea:v1\nproperties:\n"
        f"- {{type: olm.package, value: {{packageName: tea, version: 1.0.0}}}}\n{properties}",
    }


def api(kind: str) -> dict[str, str]:
    """The API `example.com/v1` of a kind, as a property's value."""
    return {"group": "example.com", "kind": kind, "version": "v1"}


def properties(package: str, entry: Mapping[str, Any]) -> tuple[Property, ...]:
    """The properties of a bundle or CSV of the notation."""
    found = [Property("olm.package", {"packageName": package, "version": str(entry["version"])})] if package else []
    found += [Property("olm.gvk", api(kind)) for kind in entry.get("provides", ())]
    found += [Property("olm.gvk.required", api(kind)) for kind in entry.get("requires", ())]
    return (*found, *(Property(name, value) for name, value in entry.get("properties", ())))


def _catalog(catalog: Mapping[str, Any], name: str) -> VisibleCatalog:
    key = CatalogKey(catalog.get("namespace", "ns"), catalog["name"])
    bundles = catalog.get("bundles", ())
    defaults: dict[str, str] = {}
    for bundle in bundles:
        for place in _places(bundle):
            package, _, channel = place.rstrip("*").partition("/")
            if place.endswith("*"):
                defaults[package] = channel
    for bundle in bundles:
        for place in _places(bundle):
            package, _, channel = place.rstrip("*").partition("/")
            defaults.setdefault(package, channel)
    entries = tuple(candidate for bundle in bundles for candidate in _candidates(bundle, key, defaults, name))
    return VisibleCatalog(key, catalog.get("priority", 0), entries, catalog.get("problem", ""))


def _places(bundle: Mapping[str, Any]) -> list[str]:
    return bundle["in"] if isinstance(bundle["in"], list) else [bundle["in"]]


def _candidates(
    bundle: Mapping[str, Any], key: CatalogKey, defaults: Mapping[str, str], name: str
) -> Iterator[Candidate]:
    for place in _places(bundle):
        package, _, channel = place.rstrip("*").partition("/")
        yield Candidate(
            name=bundle["csv"],
            package=package,
            channel=channel,
            catalog=key,
            version=str(bundle["version"]),
            properties=properties(package, bundle),
            default_channel=defaults[package] == channel,
            replaces=bundle.get("replaces", ""),
            skips=tuple(bundle.get("skips", ())),
            skip_range=bundle.get("range", ""),
            location=Location(f"{name}/{bundle['csv']}"),
        )


def _request(request: Mapping[str, Any], name: str) -> SubscriptionRequest:
    package, _, channel = request["wants"].partition("/")
    source, _, namespace = request.get("from", "cat/ns").partition("/")
    installed = request.get("installed", "")
    key = CatalogKey(namespace, source)
    place = Location(f"{name}/{request['name']}")
    return SubscriptionRequest(
        request["name"], package, channel, key, request.get("starting", ""), installed, installed, place
    )


def _present(csv: Mapping[str, Any], name: str) -> InstalledEntry:
    return InstalledEntry(
        csv["csv"],
        str(csv["version"]),
        properties(csv.get("package", ""), csv),
        csv.get("replaces", ""),
        csv.get("phase", "Succeeded"),
        Location(f"{name}/{csv['csv']}"),
    )


def matches(selection: Selection, text: str) -> bool:
    """Whether a pick is the one that the notation names."""
    expected, _, catalog = text.partition(" from catalog ")
    expected, _, channel = expected.partition(" from channel ")
    name, _, replaced = expected.partition(" replaces ")
    got = selection.candidate
    return (
        (got.name, selection.replaces) == (name, replaced)
        and channel in ("", got.channel)
        and catalog in ("", got.catalog.name)
    )


def carried_out(resolve_request: ResolveRequest, resolution: Resolution) -> ResolveRequest:
    """The question after the picks were installed: upgrades have replaced their predecessors (R-CAT-580 ff.)."""
    requests = list(resolve_request.requests)
    present = {csv.name: csv for csv in resolve_request.present}
    for selection in resolution.selections:
        got = selection.candidate
        present[got.name] = InstalledEntry(
            got.name, got.version, got.properties, selection.replaces, "Succeeded", located(got.location)
        )
        present.pop(selection.replaces, None)
        fitting = [
            request for request in requests if request.package == got.package and request.channel in ("", got.channel)
        ]
        if not fitting:
            name = f"{got.package}-{got.channel}-{got.catalog.name}-{got.catalog.namespace}"
            requests.append(
                SubscriptionRequest(name, got.package, got.channel, got.catalog, got.name, got.name, got.name)
            )
        requests = [request._replace(installed=got.name) if request in fitting else request for request in requests]
    return resolve_request._replace(requests=tuple(requests), present=tuple(present.values()))
