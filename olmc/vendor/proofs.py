"""What proves vendored content: the index, the manifest, the configuration and the layers that the digest in olmc.lock
stands for, kept in `vendor/blobs/` by their own digests. From them the content is made once more, without a network.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from olmc.catalogs.fbc import read_file
from olmc.diagnostics.rules import vendor as rules
from olmc.lean import NamedTuple
from olmc.load.catalog_folders import LEFT_OUT_FILE
from olmc.load.files import scan_below
from olmc.load.vendored import BLOBS, FileNameError, content_digest, file_digest, path_of
from olmc.model.diagnostics import Diagnostic, Location, Report
from olmc.model.workspace import LockedImage
from olmc.vendor.layers import MAX_CONFIG_BYTES, LayerLimits, Tree, add_layer, content_folders
from olmc.vendor.sources import (
    MAX_INDEXES,
    MAX_MANIFEST_BYTES,
    Descriptor,
    ImageManifest,
    Index,
    VendorError,
    choose,
    decode_manifest,
    digest_of,
    parse,
)
from olmc.vendor.store import write_tree

PROOF_BYTES = 4 * 1024 * 1024
"""How large the layers of an image may be, packed and together, to be kept: those of bundles are, those of catalogs
are not. It is no setting, since a workspace could turn it down to be asked for no proof."""
# What layers may be unpacked to be unpacked once more: so many times as large, and so many bytes and members, which all
# layers share, besides. Text becomes ten times as large and zeros a thousand times, in as many layers as there are.
_TIMES, _BYTES, _MEMBERS, _MEMBERS_OF_EACH, _LAYERS = 20, 4 * 1024 * 1024, 10_000, 200, 128


class Proof(Enum):
    """How far content is proven: by its layers; as far as the digests of its layers, which are too large to be kept
    or to be unpacked again; it is a catalog from a file, which no registry has; not at all, for want of proof; it is
    something else."""

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
        """Whether the content is as good as it can be known to be."""
        return self.proof not in (Proof.MISSING, Proof.FALSE)

    def finding(self) -> Diagnostic:
        """What there is to say about content that is not proven."""
        path = path_of(self.image)
        rule = rules.FALSE_CONTENT if self.proof is Proof.FALSE else rules.UNPROVEN
        return rule.finding(
            Location(path), path=path, image=self.image.image, digest=self.image.digest, problem=self.problem
        )


def is_kept(manifest: ImageManifest) -> bool:
    """Whether the layers of an image are small enough to be kept."""
    return sum(layer.size for layer in manifest.layers) <= PROOF_BYTES


def blob_path(digest: str) -> str:
    """Where a blob is kept, relative to the workspace."""
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
        # What stands there may be a link to a file of somebody's, which is not to be written.
        if target.is_symlink():
            target.unlink()
        # Its name is its digest, so a copy that is cut off is found out by whoever reads it.
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
    """How far the content of each image in vendor/, which is what olmc.lock says, is what its digest stands for."""
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
    """The folder, below `place`, with the content that layers give. Raises VendorError, also for what is too much to be
    done by every command that proves content: whoever has made the image decides what it costs."""
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
