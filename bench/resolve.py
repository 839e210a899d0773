"""How long the resolver takes: 100 Subscriptions with dependencies over 800 bundles, and what makes that
hard.

    python bench/resolve.py [--subscriptions 100] [--packages 200] [--repeat 5]

The input is made from the numbers of packages and versions alone, so it is the same on every machine. Prints
CPU seconds, the best of the repetitions; the figure to hold is at most 2 s for the first line.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.objects import CatalogKey

CATALOG = CatalogKey("catalog", "ns")
VERSIONS = 4
LIMIT = 2.0  # seconds of CPU


def bundle(package: int, version: int, packages: int, *, broken: bool) -> Candidate:
    """Version `version` of a package, which provides an API and requires two of other packages.

    In a broken catalog the newest version of every third package requires an API that nothing provides.
    """
    name = f"package-{package:03}"
    needs = [(package * 7 + 3) % packages, (package * 13 + 5) % packages] if package % 4 else []
    properties = [
        Property("olm.package", {"packageName": name, "version": f"{version}.0.0"}),
        api("olm.gvk", f"Kind{package}"),
        *(api("olm.gvk.required", f"Kind{each}") for each in needs if each != package),
    ]
    if needs:
        wanted = {"packageName": f"package-{needs[0]:03}", "versionRange": f">={max(1, version - 1)}.0.0 <9.0.0"}
        properties.append(Property("olm.package.required", wanted))
    if broken and version == VERSIONS and package % 3 == 0:
        properties.append(api("olm.gvk.required", "Nowhere"))
    return Candidate(
        name=f"{name}.v{version}.0.0",
        package=name,
        channel="stable",
        catalog=CATALOG,
        version=f"{version}.0.0",
        properties=tuple(properties),
        default_channel=True,
        replaces=f"{name}.v{version - 1}.0.0" if version > 1 else "",
        skip_range=f">=1.0.0 <{version}.0.0" if version % 2 == 0 else "",
    )


def api(kind_of_property: str, kind: str) -> Property:
    return Property(kind_of_property, {"group": "bench.example.com", "version": "v1", "kind": kind})


def resolve_request(
    packages: int, subscriptions: int, *, installed: bool, broken: bool, rival: bool = False
) -> ResolveRequest:
    """A namespace with Subscriptions to the first packages; `rival` is a CSV that provides what one of them
    does.
    """
    entries = [
        bundle(package, version, packages, broken=broken)
        for package in range(packages)
        for version in range(1, VERSIONS + 1)
    ]
    first = {entry.package: entry for entry in reversed(entries)}
    requests = []
    present = []
    for number in range(subscriptions):
        package = f"package-{number:03}"
        csv = first[package]
        requests.append(
            SubscriptionRequest(package, package, "stable", CATALOG, installed=csv.name if installed else "")
        )
        if installed:
            present.append(InstalledEntry(csv.name, csv.version, csv.properties))
    if rival:
        present.append(InstalledEntry("rival.v1", "1.0.0", (api("olm.gvk", "Kind10"),)))
    return ResolveRequest("ns", (VisibleCatalog(CATALOG, 0, tuple(entries)),), tuple(requests), tuple(present))


def measured(ask: Callable[[], Resolution], repeat: int) -> tuple[float, Resolution]:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        given = ask()
        best = min(best, time.process_time() - start)
    return best, given


def main() -> int:
    """Resolve each scene and print what it took; 1 when one takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscriptions", type=int, default=100)
    parser.add_argument("--packages", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    scenes = {
        "fresh install": resolve_request(options.packages, options.subscriptions, installed=False, broken=False),
        "fresh install, broken heads": resolve_request(
            options.packages, options.subscriptions, installed=False, broken=True
        ),
        "upgrade": resolve_request(options.packages, options.subscriptions, installed=True, broken=False),
        "upgrade, broken heads": resolve_request(options.packages, options.subscriptions, installed=True, broken=True),
        "unsatisfiable": resolve_request(
            options.packages, options.subscriptions, installed=False, broken=False, rival=True
        ),
    }
    print(f"{options.subscriptions} Subscriptions, {options.packages * VERSIONS} bundles, limit {LIMIT:.0f} s of CPU")
    slowest = 0.0
    for name, scene in scenes.items():
        seconds, given = measured(lambda scene=scene: resolve(scene), options.repeat)  # type: ignore[misc]
        slowest = max(slowest, seconds)
        outcome = given.reason or f"{len(given.selections)} picked"
        print(f"{name:30} {seconds:7.3f} s CPU   {outcome}")
    print(f"SAT library {'was' if 'pysat' in sys.modules else 'was not'} needed")
    return 0 if slowest <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
