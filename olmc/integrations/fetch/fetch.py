"""Images from their sources, which are asked in order: manifests, then layers, then content; all in parallel."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any, TypeVar

from olmc.compiler.catalogs.loading import read_file
from olmc.compiler.catalogs.properties import pull_spec_problem
from olmc.compiler.load.files import file_digest, scan_below
from olmc.compiler.load.vendored import BLOBS, LEFT_OUT_FILE, FileNameError, content_digest, path_of
from olmc.compiler.model.workspace import LockedImage
from olmc.compiler.rules.findings import vendor as rules
from olmc.integrations.fetch import containers_config as credentials
from olmc.integrations.fetch import containers_config as mirrors
from olmc.integrations.fetch.layers import MAX_CONFIG_BYTES, LayerLimits, Tree, add_layer, content_folders, write_tree
from olmc.integrations.fetch.sources import (
    MAX_INDEXES,
    MAX_MANIFEST_BYTES,
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
    digest_of,
    fetch_blob,
    fetch_manifest,
    layout_sources,
    parse,
    read_layout,
)
from olmc.integrations.fetch.trimming import NeededImage
from olmc.k8s.diagnostics import Diagnostic, Location, Report, SourceFault
from olmc.k8s.lean import NamedTuple

# What proves vendored content: the index, the manifest, the configuration and the layers that the digest in olmc.lock
# stands for, kept in `vendor/blobs/` by their own digests. From them the content is made once more, without a network.

PROOF_BYTES = 4 * 1024 * 1024
"""The largest size of an image's layers, packed and together, to be kept: those of bundles are kept, those of catalogs
are not. It is no setting, since a workspace could lower it to avoid the proof."""
# The limits of layers that are kept for a second unpacking: so many times as large, and so many bytes and members,
# which all layers share, in addition. Text becomes ten times as large and zeros a thousand times, in any number of
# layers.
_TIMES, _BYTES, _MEMBERS, _MEMBERS_OF_EACH, _LAYERS = 20, 4 * 1024 * 1024, 10_000, 200, 128


class Proof(Enum):
    """The proof of content: by its layers; by the digests of its layers, which are too large to be kept or to be
    unpacked again; it is a catalog from a file, which no registry has; none; or a proof of other content."""

    PROVEN = "proven"
    RECORDED = "recorded"
    FILE = "file"
    MISSING = "missing"
    FALSE = "false"


class ProofResult(NamedTuple):
    """Of an image how far its content is proven, and what is wrong, "" for nothing; with the digests that it takes."""

    image: LockedImage
    proof: Proof
    problem: str = ""
    blobs: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether the content is as good as it can be known to be."""
        return self.proof not in (Proof.MISSING, Proof.FALSE)

    def finding(self) -> Diagnostic:
        """Return the finding about content that is not proven."""
        path = path_of(self.image)
        rule = rules.FALSE_CONTENT if self.proof is Proof.FALSE else rules.UNPROVEN
        return rule.finding(
            Location(path), path=path, image=self.image.image, digest=self.image.digest, problem=self.problem
        )


def is_kept(manifest: ImageManifest) -> bool:
    """Return whether the layers of an image are small enough to be kept."""
    return sum(layer.size for layer in manifest.layers) <= PROOF_BYTES


def blob_path(digest: str) -> str:
    """Return where a blob is kept, relative to the workspace."""
    algorithm, _, value = digest.partition(":")
    return f"{BLOBS}/{algorithm}/{value}"


def keep(root: Path, blobs: Mapping[str, Path]) -> list[Path]:
    """Copy blobs to their places; those that are new."""
    placed = []
    for digest, source in sorted(blobs.items()):
        target = root / blob_path(digest)
        if target.is_file() and digest_of(target.read_bytes(), digest) == digest:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # An existing link may lead to a file of the user, which must not be overwritten.
        if target.is_symlink():
            target.unlink()
        # Its name is its digest, so a reader detects a truncated copy.
        shutil.copyfile(source, target)
        placed.append(target)
    return placed


def remove_blobs(root: Path, results: Sequence[ProofResult]) -> None:
    """Remove the blobs that prove none of the images; none at all while what proves one of them can't be determined."""
    if any(result.proof is Proof.FALSE for result in results):
        return
    for path in surplus_blobs(root, results):
        (root / path).unlink()
    for folder in (*(root / BLOBS).glob("*"), root / BLOBS):
        with suppress(OSError):
            folder.rmdir()


def surplus_blobs(root: Path, results: Iterable[ProofResult]) -> list[str]:
    """The files in vendor/blobs that prove none of the images."""
    kept = {blob_path(digest) for result in results for digest in result.blobs}
    paths = (path.relative_to(root).as_posix() for path in (root / BLOBS).rglob("*") if not path.is_dir())
    return sorted(path for path in paths if path not in kept)


def prove(root: Path, images: Iterable[LockedImage]) -> Iterator[ProofResult]:
    """Yield how far the content of each image in vendor/, which is what olmc.lock says, is what its digest stands
    for."""
    for image in images:
        used: list[str] = []
        try:
            proof = _prove(root, image, used)
            yield ProofResult(image, proof, "", tuple(used))
        except FileNotFoundError as error:
            missing = Path(str(error.filename)).name[:12]
            yield ProofResult(image, Proof.MISSING, f"the blob {missing} is not in {BLOBS}", tuple(used))
        except (_FalseError, FileNameError) as error:
            yield ProofResult(image, Proof.FALSE, str(error), tuple(used))
        except VendorError as error:
            yield ProofResult(image, Proof.FALSE, error.diagnostic.message, tuple(used))
        except (OSError, ValueError) as error:
            yield ProofResult(image, Proof.FALSE, f"its proof can't be read: {error}", tuple(used))


class _FalseError(Exception):
    """Content, or what is to prove it, is not what it is declared to be."""


def _prove(root: Path, image: LockedImage, used: list[str]) -> Proof:
    if image.kind == "catalog" and image.file:
        return Proof.FILE
    # Of a bundle there is no other content than all that its image has.
    if image.kind != "catalog" and (image.file or image.packages):
        raise _FalseError("olmc.lock has `file` or `packages` for it, which only catalogs have")
    named = parse(image.image).digest
    if named and named != image.digest:
        raise _FalseError(f"the reference names {named}, and olmc.lock another digest")

    def blob(digest: str, most: int) -> bytes:
        used.append(digest)
        path = root / blob_path(digest)
        # A link may lead to what has no end.
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if path.stat().st_size > most:
            raise _FalseError(f"the blob {digest[:19]} is too large to be what it is kept as")
        data = path.read_bytes()
        if digest_of(data, digest) != digest:
            raise _FalseError(f"the blob {digest[:19]} was changed")
        return data

    manifest = _manifest(image, lambda digest: blob(digest, MAX_MANIFEST_BYTES))
    config = blob(manifest.config.digest, MAX_CONFIG_BYTES)
    folders = content_folders(config, image.kind, image.image)
    if not is_kept(manifest):
        return Proof.RECORDED
    with tempfile.TemporaryDirectory(prefix="olmc-proof-") as name:
        try:
            target = _content(Path(name), image, manifest.layers, folders, lambda digest: blob(digest, PROOF_BYTES))
        except VendorError as error:
            if error.diagnostic.code != rules.TOO_MUCH.code:
                raise
            used += (layer.digest for layer in manifest.layers)
            return Proof.RECORDED
        _compare(root, image, target)
    return Proof.PROVEN


def _manifest(image: LockedImage, blob: Callable[[str], bytes]) -> ImageManifest:
    here = decode_manifest(blob(image.digest))
    for _ in range(MAX_INDEXES):
        if isinstance(here, ImageManifest):
            return here
        assert isinstance(here, Index)
        entry = choose(here, image.platform)
        if entry is None:
            raise _FalseError(f"the index has no image for {image.platform or 'no platform'}")
        here = decode_manifest(blob(entry.descriptor.digest))
    raise _FalseError("indexes name indexes without end")


def _content(
    place: Path, image: LockedImage, layers: Sequence[Descriptor], folders: Mapping[str, str],
    blob: Callable[[str], bytes],
) -> Path:  # fmt: skip
    """Return the folder, below `place`, with the content that layers give. Raises VendorError, also for content that is
    too costly for each command that proves content: the author of the image chooses the cost."""
    spool, target, packed = place / "files", place / "content", place / "layer"
    spool.mkdir()
    target.mkdir()
    tree = Tree(image.image, tuple(folders), spool, LayerLimits())
    if len(layers) > _LAYERS:
        raise tree.too_much("the number of layers", f"{_LAYERS}")
    total = _TIMES * sum(layer.size for layer in layers) + _BYTES
    for layer in layers:
        data = blob(layer.digest)
        if len(data) != layer.size:
            raise _FalseError(f"the blob {layer.digest[:19]} has another size than the manifest says")
        most, members = _TIMES * layer.size + _BYTES // len(layers), _MEMBERS_OF_EACH + _MEMBERS // len(layers)
        tree.limits = LayerLimits(layer_bytes=most, members=members, file_bytes=most, bytes=total)
        packed.write_bytes(data)
        add_layer(tree, packed, layer.digest)
    write_tree(tree, folders, target)
    return target


def _compare(root: Path, image: LockedImage, target: Path) -> None:
    """Raise _FalseError unless the vendored content of an image is what is in a folder, or what was kept of it."""
    whole = {path.relative_to(target).as_posix(): path for path in target.rglob("*") if path.is_file()}
    folder = root / path_of(image)
    if not image.packages:
        if content_digest(whole.items()) != image.content:
            raise _FalseError("its layers have other files")
        _compare_files(root, path_of(image), whole)
        return
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if name == LEFT_OUT_FILE:
            continue
        if name not in whole:
            raise _FalseError(f"its layers have no {name}")
        if not _documents(path) <= _documents(whole[name]):
            raise _FalseError(f"in its layers {name} has other documents")


def _compare_files(root: Path, path: str, whole: Mapping[str, Path]) -> None:
    """Raise _FalseError unless the files in a folder are these, name by name: what is installed is read from there, and
    not from what the digest in olmc.lock was made of."""
    folder = scan_below(root, path, Report())
    if folder is None:  # what is missing is reported where it is needed
        return
    present = {file.removeprefix(f"{path}/"): root / file for file in folder.walk()}
    for name in sorted(present.keys() ^ whole.keys()):
        raise _FalseError(f"its layers have {'no' if name in present else 'also'} {name}")
    for name in sorted(whole):
        if file_digest(present[name]) != file_digest(whole[name]):
            raise _FalseError(f"in its layers {name} is another file")


def _documents(path: Path) -> set[str]:
    documents = read_file(path.name, path.read_text(encoding="utf-8"), Report()).documents
    return {json.dumps(document.value, sort_keys=True) for document in documents}


BLOBS_FOLDER = "blobs"

T = TypeVar("T")
S = TypeVar("S")


class FetchError(Exception):
    """Some images could not be fetched; `diagnostics` say why, each at the place where the image is named."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(f"{len(diagnostics)} images")
        self.diagnostics = tuple(diagnostics)


class FetchPlan(NamedTuple):
    """The plan of a fetch: the sources of an image, the digests that tags are locked to, the vendored content by its
    image, the platform, the number of parallel fetches, and the limits."""

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
    blobs = stage / BLOBS_FOLDER
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
            # Threads can't be interrupted: each of them stops at its next piece of data.
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
    raise _main_failure(failures, plan.pins.get(need.image, ""))


def _main_failure(failures: Sequence[SourceError], pinned: str = "") -> SourceError:
    """Return the most important failure, with those of the other sources, and a hint if the lock names deleted
    content."""
    causes = list(SourceFault)
    main = min(failures, key=lambda failure: causes.index(failure.cause) if failure.cause in causes else len(causes))
    hints = [main.diagnostic.hint, *(failure.diagnostic.message for failure in failures if failure is not main)]
    if pinned and main.cause is SourceFault.NOT_FOUND:
        hints.insert(0, f"olmc.lock has it as {pinned}; `olmc vendor --update` asks for the current digest of the tag.")
    main.diagnostic = main.diagnostic._replace(hint="\n".join(hints))
    return main


def _resolve_at(
    source: ImageSource, sources: tuple[ImageSource, ...], need: NeededImage, digest: str, plan: FetchPlan, blobs: Path
) -> _ResolvedImage | Fetched:
    data, media_type, top = fetch_manifest(source, need.image, digest)
    here = _decode(data, media_type, need, source)
    documents = {top: _written(blobs, top, data)}
    platform = plan.platform if isinstance(here, Index) else ""
    # The lock has the digest of the index for every platform, as the tag names the index.
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
    raise _main_failure(failures)


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
        add_layer(tree, stage / BLOBS_FOLDER / _file(layer), layer.digest)
    paths = write_tree(tree, resolved.folders, target)
    _check_complete(need, resolved.folders, paths)
    progress.image_done()
    content = content_digest((path, target / path) for path in paths)
    image = LockedImage(need.image, need.kind, resolved.digest, resolved.platform, content)
    layers = resolved.manifest.layers if is_kept(resolved.manifest) else ()
    proof = {layer.digest: stage / BLOBS_FOLDER / _file(layer) for layer in layers}
    return Fetched(image, target, {**resolved.documents, **proof})


def _check_complete(need: NeededImage, folders: Mapping[str, str], paths: Sequence[str]) -> None:
    for folder, place in folders.items():
        if not any(path.startswith(f"{place}/" if place else "") for path in paths):
            cause = f"there are no files in /{folder}"
            raise VendorError(rules.OTHER_KIND, image=need.image, wanted=need.kind, cause=cause)


class Places(NamedTuple):
    """The places of images on the command line.

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
    from olmc.integrations.fetch.transport import (
        Network,
        registry_source,  # needs libraries that a plain installation lacks
    )

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
