"""Images from their sources, which are asked in order: manifests, then layers, then content; all in parallel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any, TypeVar

from olmc.catalogs.properties import pull_spec_problem
from olmc.diagnostics.rules import vendor as rules
from olmc.lean import NamedTuple
from olmc.load.vendored import content_digest
from olmc.model.diagnostics import Diagnostic, SourceFault
from olmc.model.workspace import LockedImage
from olmc.vendor import containers_config as credentials
from olmc.vendor import containers_config as mirrors
from olmc.vendor.layers import MAX_CONFIG_BYTES, LayerLimits, Tree, add_layer, content_folders
from olmc.vendor.layouts import layout_sources, read_layout
from olmc.vendor.needs import NeededImage
from olmc.vendor.proofs import is_kept
from olmc.vendor.sources import (
    MAX_INDEXES,
    Descriptor,
    ImageManifest,
    ImageSource,
    Index,
    Progress,
    SourceError,
    StoppedError,
    VendorError,
    choose,
    decode_manifest,
    fetch_blob,
    fetch_manifest,
    parse,
)
from olmc.vendor.store import write_tree

BLOBS = "blobs"

T = TypeVar("T")
S = TypeVar("S")


class FetchError(Exception):
    """Some images could not be fetched; `diagnostics` say why, each at the place where the image is named."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(f"{len(diagnostics)} images")
        self.diagnostics = tuple(diagnostics)


class FetchPlan(NamedTuple):
    """How to fetch: the sources of an image, the digests that tags are locked to, what is vendored already by its
    image, the platform, how many at once, and the limits."""

    sources: Callable[[str], Sequence[ImageSource]]
    pins: Mapping[str, str]
    present: Mapping[str, LockedImage]
    platform: str
    jobs: int
    limits: LayerLimits = LayerLimits()


class Fetched(NamedTuple):
    """An image: what the lock says of it, and the folder with its content, None if that is vendored already; with the
    files by their digest that prove it."""

    image: LockedImage
    folder: Path | None
    blobs: Mapping[str, Path] = MappingProxyType({})


class _ResolvedImage(NamedTuple):
    """An image whose manifest is known, its sources with the one that had it first."""

    need: NeededImage
    sources: tuple[ImageSource, ...]
    digest: str
    platform: str
    manifest: ImageManifest
    folders: Mapping[str, str]
    documents: Mapping[str, Path]


def fetch(needs: Sequence[NeededImage], plan: FetchPlan, stage: Path, progress: Progress) -> tuple[Fetched, ...]:
    """Fetch images to folders in `stage`; raises FetchError and OSError. What was begun stays in `stage`."""
    blobs = stage / BLOBS
    blobs.mkdir(exist_ok=True)
    progress.expect(images=len(needs))
    with ThreadPoolExecutor(plan.jobs) as pool:
        try:
            resolved = _all_or_fail(pool, needs, needs, lambda need: _locate(need, plan, blobs))
            # Images of one vendor share layers, and each of these is fetched once.
            pending: dict[str, tuple[_ResolvedImage, Descriptor]] = {}
            for image in resolved:
                if isinstance(image, _ResolvedImage):
                    layers = [layer for layer in image.manifest.layers if not (blobs / _file(layer)).exists()]
                    pending = {layer.digest: (image, layer) for layer in layers} | pending
            progress.expect(size=sum(layer.size for _, layer in pending.values()))
            owners = [image.need for image, _ in pending.values()]
            _all_or_fail(pool, owners, list(pending.values()), lambda pair: _fetch_layer(*pair, blobs, progress))
            return tuple(_all_or_fail(pool, needs, resolved, lambda image: _extract(image, plan, stage, progress)))
        except BaseException:
            # Nobody can interrupt a thread: each of them sees at its next piece of data that it is to stop.
            progress.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _all_or_fail(
    pool: ThreadPoolExecutor, needs: Sequence[NeededImage], items: Sequence[S], work: Callable[[S], T]
) -> list[T]:
    """The outcome of `work` for each item; FetchError with everything that went wrong, in order of the needs."""
    futures: list[Future[T]] = [pool.submit(work, item) for item in items]
    failed: list[Diagnostic] = []
    for need, future in zip(needs, futures, strict=True):
        error = future.exception()
        if isinstance(error, VendorError):
            failed.append(error.diagnostic._replace(location=need.location))
        elif error is not None and not isinstance(error, StoppedError):
            raise error
    if failed:
        raise FetchError(failed)
    return [future.result() for future in futures]


def _locate(need: NeededImage, plan: FetchPlan, blobs: Path) -> _ResolvedImage | Fetched:
    """The manifest of an image, from the first source that has it."""
    digest = parse(need.image).digest or plan.pins.get(need.image, "")
    sources = tuple(plan.sources(need.image))
    if not sources:
        raise VendorError(rules.OFFLINE, image=need.image)
    failures: list[SourceError] = []
    for number, source in enumerate(sources):
        try:
            others = (source, *sources[:number], *sources[number + 1 :])
            return _resolve_at(source, others, need, digest, plan, blobs)
        except SourceError as error:
            failures.append(error)
    raise _gravest_failure(failures, plan.pins.get(need.image, ""))


def _gravest_failure(failures: Sequence[SourceError], pinned: str = "") -> SourceError:
    """The failure that says most, with those of the other sources, and what to do if the lock asks for what is gone."""
    causes = list(SourceFault)
    main = min(failures, key=lambda failure: causes.index(failure.cause) if failure.cause in causes else len(causes))
    hints = [main.diagnostic.hint, *(failure.diagnostic.message for failure in failures if failure is not main)]
    if pinned and main.cause is SourceFault.NOT_FOUND:
        hints.insert(0, f"olmc.lock has it as {pinned}; `olmc vendor --update` asks anew what the tag stands for.")
    main.diagnostic = main.diagnostic._replace(hint="\n".join(hints))
    return main


def _resolve_at(
    source: ImageSource, sources: tuple[ImageSource, ...], need: NeededImage, digest: str, plan: FetchPlan, blobs: Path
) -> _ResolvedImage | Fetched:
    data, media_type, top = fetch_manifest(source, need.image, digest)
    here = _decode(data, media_type, need, source)
    documents = {top: _written(blobs, top, data)}
    platform = plan.platform if isinstance(here, Index) else ""
    # What is locked is the digest of the index: it is what the tag stands for, whatever platform was taken from it.
    present = plan.present.get(need.image)
    if present is not None and (present.digest, present.platform) == (top, platform):
        return Fetched(present, None)
    for _ in range(MAX_INDEXES):
        if isinstance(here, ImageManifest):
            break
        entry = choose(here, plan.platform)
        if entry is None:
            known = ", ".join(each.platform or "one without a platform" for each in here.entries) or "none"
            raise VendorError(rules.NO_PLATFORM, image=need.image, platform=plan.platform, found=known)
        data, media_type, digest = fetch_manifest(source, need.image, entry.descriptor.digest)
        here = _decode(data, media_type, need, source)
        documents[digest] = _written(blobs, digest, data)
    if isinstance(here, Index):
        raise _unusable(need, source, "indexes name indexes without end")
    # By what the manifest says, before anything is fetched; a blob that turns out larger is cut off on its way.
    packed = plan.limits.packed_bytes
    for size, most in ((here.config.size, MAX_CONFIG_BYTES), *((layer.size, packed) for layer in here.layers)):
        if size > most:
            what, limit = f"a blob of {size:,} bytes", f"{most:,} bytes"
            raise VendorError(rules.TOO_MUCH, image=need.image, what=what, limit=limit)
    path = blobs / f"config-{_name_of(need)}"
    fetch_blob(source, need.image, here.config, path, lambda _: None, "the configuration")
    folders = content_folders(path.read_bytes(), need.kind, need.image)
    documents[here.config.digest] = path
    return _ResolvedImage(need, sources, top, platform, here, folders, documents)


def _written(blobs: Path, digest: str, data: bytes) -> Path:
    path = blobs / f"manifest-{digest.replace(':', '-')}"
    path.write_bytes(data)
    return path


def _decode(data: bytes, media_type: str, need: NeededImage, source: ImageSource) -> ImageManifest | Index:
    try:
        return decode_manifest(data, media_type)
    except ValueError as error:
        raise _unusable(need, source, error) from error


def _unusable(need: NeededImage, source: ImageSource, cause: object) -> SourceError:
    return SourceError(rules.BAD_MANIFEST, image=need.image, place=source.place, cause=cause)


def _file(blob: Descriptor) -> str:
    return blob.digest.replace(":", "-")


def _name_of(need: NeededImage) -> str:
    """A name for files that belong to one image."""
    return hashlib.sha256(need.image.encode()).hexdigest()


def _fetch_layer(image: _ResolvedImage, layer: Descriptor, blobs: Path, progress: Progress) -> None:
    failures: list[SourceError] = []
    for source in image.sources:
        try:
            path = blobs / _file(layer)
            return fetch_blob(source, image.need.image, layer, path, progress.tick, f"layer {layer.digest}")
        except SourceError as error:
            failures.append(error)
    raise _gravest_failure(failures)


def _extract(resolved: _ResolvedImage | Fetched, plan: FetchPlan, stage: Path, progress: Progress) -> Fetched:
    """The content of an image, taken out of its layers."""
    if isinstance(resolved, Fetched):
        progress.image_done()
        return resolved
    need = resolved.need
    spool, target = stage / f"{_name_of(need)}-files", stage / _name_of(need)
    spool.mkdir()
    target.mkdir()
    tree = Tree(need.image, tuple(resolved.folders), spool, plan.limits)
    for layer in resolved.manifest.layers:
        progress.tick(0)
        add_layer(tree, stage / BLOBS / _file(layer), layer.digest)
    paths = write_tree(tree, resolved.folders, target)
    _check_complete(need, resolved.folders, paths)
    progress.image_done()
    content = content_digest((path, target / path) for path in paths)
    image = LockedImage(need.image, need.kind, resolved.digest, resolved.platform, content)
    layers = resolved.manifest.layers if is_kept(resolved.manifest) else ()
    proof = {layer.digest: stage / BLOBS / _file(layer) for layer in layers}
    return Fetched(image, target, {**resolved.documents, **proof})


def _check_complete(need: NeededImage, folders: Mapping[str, str], paths: Sequence[str]) -> None:
    for folder, place in folders.items():
        if not any(path.startswith(f"{place}/" if place else "") for path in paths):
            cause = f"there are no files in /{folder}"
            raise VendorError(rules.OTHER_KIND, image=need.image, wanted=need.kind, cause=cause)


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
) -> Callable[[str], Sequence[ImageSource]]:
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

    files = (places.auth_file,) if places.auth_file is not None else credentials.usual_auth_files(env, home)
    network = Network(
        credentials.read_auth_files(files, required=places.auth_file is not None),
        places.timeout,
        places.retries,
        frozenset(places.insecure),
        stop,
    )
    conf = (
        (places.registries_conf,) if places.registries_conf is not None else mirrors.usual_registries_files(env, home)
    )
    own, machine = mirrors.from_config(config.get("mirrors") or ()), mirrors.read_rewrites(conf)

    def sources(image: str) -> Sequence[ImageSource]:
        in_layouts = list(layout_sources(layouts, image))
        return in_layouts or [
            registry_source(network, image, place) for place in mirrors.locations(image, own, machine)
        ]

    return sources


def _layout(argument: str) -> tuple[str, Path]:
    # A path may hold an equals sign: what is there as it stands is a path.
    image, equals, path = argument.partition("=")
    if equals and not Path(argument).exists() and not pull_spec_problem(image):
        return image, Path(path)
    return "", Path(argument)
