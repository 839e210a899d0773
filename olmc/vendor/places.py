"""Where images may come from in this run: layouts that the user gives, mirrors, registries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from olmc.load.catalogs.image_references import pull_spec_problem
from olmc.vendor import credentials, mirrors
from olmc.vendor.layouts import layout_sources, read_layout
from olmc.vendor.sources import Source


class Places(NamedTuple):
    """What the command line says about where to look.

    `layouts` as `[IMAGE=]PATH`, `auth_file` and `registries_conf` None for the usual ones, `insecure` registries by
    host and port, `timeout` the longest silence in seconds, `retries` the number of further tries.
    """

    layouts: tuple[str, ...] = ()
    offline: bool = False
    auth_file: Path | None = None
    registries_conf: Path | None = None
    insecure: tuple[str, ...] = ()
    timeout: float = 30.0
    retries: int = 4


def source_finder(
    places: Places, config: Mapping[str, Any], env: Mapping[str, str], home: Path, stop: Event
) -> Callable[[str], Sequence[Source]]:
    """A function that gives the sources of an image in the order in which they are to be asked: layouts, mirrors, its
    registry.

    `config` is `spec.vendor` of olmc.yaml; once `stop` is set, no registry is asked any more. Raises VendorError for
    files that can't be read, and so does the function for an image that is none; ModuleNotFoundError without the
    libraries that the network takes.
    """
    layouts = [read_layout(path, image) for image, path in map(_layout, places.layouts)]
    if places.offline:
        return lambda image: tuple(layout_sources(layouts, image))
    from olmc.vendor.registry import registry_source  # needs libraries that a plain installation lacks
    from olmc.vendor.transport import Network

    files = (places.auth_file,) if places.auth_file is not None else credentials.usual_files(env, home)
    network = Network(
        credentials.read_auth_files(files, required=places.auth_file is not None),
        places.timeout,
        places.retries,
        frozenset(places.insecure),
        stop,
    )
    conf = (places.registries_conf,) if places.registries_conf is not None else mirrors.usual_files(env, home)
    own, machine = mirrors.from_config(config.get("mirrors") or ()), mirrors.read_rewrites(conf)

    def sources(image: str) -> Sequence[Source]:
        found = list(layout_sources(layouts, image))
        return found or [registry_source(network, image, place) for place in mirrors.locations(image, own, machine)]

    return sources


def _layout(given: str) -> tuple[str, Path]:
    image, equals, path = given.partition("=")
    if equals and not Path(given).exists() and not pull_spec_problem(image):
        return image, Path(path)
    return "", Path(given)
