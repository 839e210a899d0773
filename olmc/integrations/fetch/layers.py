"""Layers: untrusted tar archives, one on top of the other, as a tree of the files that an image's labels name."""

from __future__ import annotations

import gzip
import os
import posixpath
import shutil
import sys
import tarfile
import tempfile
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from olmc.compiler.load.bundles import PREFIX as BUNDLE
from olmc.compiler.load.config import LOCK_FILE, lock_text
from olmc.compiler.load.vendored import BLOBS, FOLDERS, MARK, MARK_FILE, VENDOR_FOLDER, intact_folder, path_of
from olmc.compiler.model.workspace import ImageKind, Lock, LockedImage
from olmc.compiler.output.directory import PARTIAL, put, sync_folder
from olmc.compiler.rules.findings import vendor as rules
from olmc.integrations.fetch.sources import VendorError
from olmc.k8s.diagnostics import Report
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple

INDEX = "operators.operatorframework.io.index."
CONFIGS, DATABASE = INDEX + "configs.v1", INDEX + "database.v1"
MANIFESTS, METADATA, MEDIA_TYPE = BUNDLE + "manifests.v1", BUNDLE + "metadata.v1", BUNDLE + "mediatype.v1"

MAX_CONFIG_BYTES = 8 * 1024 * 1024


def content_folders(config: bytes, kind: ImageKind, image: str) -> dict[str, str]:
    """The folders of an image with its content, each with the place that it gets among the vendored files.

    `config` is the image's configuration. A catalog's folder defaults to /configs, those of a bundle to /manifests and
    /metadata, as for OLM. Raises VendorError for an image that says it is something else.
    """
    labels = _labels(config)
    if kind == "catalog":
        # Such a catalog is an SQLite database, the format before file-based ones; opm can migrate it.
        if DATABASE in labels and CONFIGS not in labels:
            raise VendorError(rules.SQLITE, image=image, path=labels[DATABASE])
        if CONFIGS not in labels and MANIFESTS in labels:
            raise _other(image, kind, "its labels say that it is a bundle")
        return {_inside(labels.get(CONFIGS) or "/configs", CONFIGS, image): ""}
    if MANIFESTS not in labels and (CONFIGS in labels or DATABASE in labels):
        raise _other(image, kind, "its labels say that it is a catalog")
    media_type = labels.get(MEDIA_TYPE) or "registry+v1"
    if media_type != "registry+v1":
        raise _other(image, kind, f"it is of type {media_type}, and OLM installs registry+v1 only")
    manifests = _inside(labels.get(MANIFESTS) or "/manifests", MANIFESTS, image)
    metadata = _inside(labels.get(METADATA) or "/metadata", METADATA, image)
    if manifests == metadata:
        raise _other(image, kind, f"manifests and metadata are one folder, /{metadata}")
    return {manifests: "manifests", metadata: "metadata"}


def _labels(config: bytes) -> Mapping[str, str]:
    try:
        value = unmarshal(config)
    except ValueError:
        return {}
    inner: Any = value.get("config") if isinstance(value, dict) else None
    labels = inner.get("Labels") if isinstance(inner, dict) else None
    return {key: text for key, text in labels.items() if isinstance(text, str)} if isinstance(labels, dict) else {}


def _inside(path: str, label: str, image: str) -> str:
    plain = posixpath.normpath(f"/{path}").strip("/")
    if not plain or ".." in path.split("/"):
        raise VendorError(rules.UNSAFE_LAYER, image=image, name=label, cause=f"{path!r} is no folder of an image")
    return plain


def _other(image: str, kind: ImageKind, cause: str) -> VendorError:
    return VendorError(rules.OTHER_KIND, image=image, wanted=kind, cause=cause)


WHITEOUT, OPAQUE, RESERVED = ".wh.", ".wh..wh..opq", ".wh..wh."
MAX_HEADER_BYTES = 64 * 1024
_CHUNK = 64 * 1024
_ZSTD_WINDOW = 128 * 1024 * 1024
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class LayerLimits(NamedTuple):
    """The limits of an image: bytes of a layer, packed and unpacked, its members, and for the extracted part the number
    of files, the bytes of each, and of all."""

    packed_bytes: int = 4 * 1024**3
    layer_bytes: int = 8 * 1024**3
    members: int = 500_000
    files: int = 100_000
    file_bytes: int = 256 * 1024**2
    bytes: int = 2 * 1024**3


class Held(NamedTuple):
    """The content at a path: a file whose content is in `data`, a link to `link`, or a folder (neither)."""

    data: Path | None = None
    link: str = ""


FOLDER = Held()


@dataclass(slots=True)
class Tree:
    """The wanted files of an image as the layers so far give them.

    `wanted` are the folders with the content ("" for the whole image), as paths in the image; `spool` is the folder for
    contents. `image` is for messages. `links` are the symbolic links anywhere in the image.
    """

    image: str
    wanted: tuple[str, ...]
    spool: Path
    limits: LayerLimits
    held: dict[str, Held] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    spooled: int = 0
    size: int = 0

    def wants(self, name: str) -> bool:
        """Return whether a path is one of the wanted folders, or inside of one."""
        return any(not folder or name == folder or name.startswith(f"{folder}/") for folder in self.wanted)

    def leads_to_wanted(self, name: str) -> bool:
        """Return whether a wanted folder is inside of what stands at a path, or is it."""
        return any(folder == name or folder.startswith(f"{name}/") for folder in self.wanted)

    def unsafe(self, name: str, cause: str) -> VendorError:
        """The error for a member that is not safe."""
        return VendorError(rules.UNSAFE_LAYER, image=self.image, name=name, cause=cause)

    def too_much(self, what: str, limit: str) -> VendorError:
        """The error for a limit that is exceeded."""
        return VendorError(rules.TOO_MUCH, image=self.image, what=what, limit=limit)


class _Unpacked:
    """The bytes of an unpacked layer, read forward only and counted."""

    def __init__(self, stream: IO[bytes], tree: Tree) -> None:
        self.stream, self.tree = stream, tree
        self.position = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        if size > MAX_HEADER_BYTES:
            raise ValueError(f"a header of {size:,} bytes")
        parts = []
        while size and (data := self.stream.read(size)):
            parts.append(data)
            size -= len(data)
        self.last = b"".join(parts)
        self.position += len(self.last)
        if self.position > self.tree.limits.layer_bytes:
            raise self.tree.too_much("a layer, unpacked,", f"{self.tree.limits.layer_bytes:,} bytes")
        return self.last

    def tell(self) -> int:
        return self.position

    def seek(self, position: int) -> int:
        if position < self.position:
            raise ValueError("a header that leads backwards")
        while self.position < position:
            if not self.read(min(_CHUNK, position - self.position)):
                raise EOFError("it ends in the middle of a file")
        return self.position


def add_layer(tree: Tree, blob: Path, layer: str) -> None:
    """Put a layer on top of the tree; `layer` is its digest. Raises VendorError for what is broken, unsafe or too much,
    OSError when the disk does."""
    removed: list[str] = []
    emptied: list[str] = []
    added: dict[str, Held] = {}
    try:
        with blob.open("rb") as packed, _decompress(packed) as stream:
            for name, member, content in _members(_Unpacked(stream, tree), tree):
                _check_place(tree, name)
                _keep_link(tree, name, member)
                parent, _, base = name.rpartition("/")
                if base == OPAQUE:
                    emptied.append(parent)
                elif base.startswith(WHITEOUT) and not base.startswith(RESERVED):
                    removed.append(f"{parent}/{base[len(WHITEOUT) :]}" if parent else base[len(WHITEOUT) :])
                elif not base.startswith(RESERVED):
                    _add(tree, added, name, member, content)
    except _layer_errors() as error:
        raise VendorError(rules.BAD_LAYER, layer=layer, image=tree.image, cause=_cause(error)) from error
    _apply(tree.held, removed, emptied, added)


def _layer_errors() -> tuple[type[Exception], ...]:
    """Return the errors of a broken layer; zstandard's only if a layer has needed it."""
    zstandard = sys.modules.get("zstandard")
    also = (zstandard.ZstdError,) if zstandard is not None else ()
    return (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, *also)


def _cause(error: Exception) -> str:
    if isinstance(error, EOFError) and "marker" in str(error):
        return "it ends too early"
    return str(error) or type(error).__name__


def _decompress(packed: IO[bytes]) -> Any:
    # By its first bytes, since the media type of a layer need not be true.
    magic = packed.read(4)
    packed.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        return gzip.GzipFile(fileobj=packed, mode="rb")
    if magic == _ZSTD_MAGIC:
        try:
            import zstandard  # a plain installation lacks it, and can do without it for most images
        except ModuleNotFoundError as error:
            raise VendorError(rules.NO_CLIENT, module="zstandard") from error
        reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        return reader.stream_reader(packed, read_across_frames=True, closefd=False)
    return packed


def _members(stream: _Unpacked, tree: Tree) -> Iterator[tuple[str, tarfile.TarInfo, IO[bytes] | None]]:
    """The members of an archive: path in the image, header, and for regular files their content."""
    header = _strict_header()
    with tarfile.open(fileobj=stream, mode="r:", tarinfo=header) as archive:  # type: ignore[call-overload]
        count = 0
        while (member := archive.next()) is not None:
            archive.members = []  # it would remember all of them
            _check_extensions(archive, member)
            count += 1
            if count > tree.limits.members:
                raise tree.too_much("the number of files in a layer", f"{tree.limits.members:,}")
            name = _name(tree, member.name)
            if name:
                yield name, member, archive.extractfile(member) if member.isreg() and tree.wants(name) else None
    # tarfile takes a header that it can't read for the end, but an archive ends in zeros.
    if stream.last.strip(b"\0"):
        raise tarfile.ReadError("a header in it is broken")


_EXTENSIONS = (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_USTAR, _STAR = b"ustar\0", b"tar\0"


def _strict_header() -> type[tarfile.TarInfo]:
    """Make a reader of headers that refuses those of which Go's archive/tar reads another name or size.

    The container runtimes of clusters are in Go: otherwise a layer could show olmc other files than a cluster has.
    """
    before: list[bytes] = []

    # Releases of Python from 2026 on read headers by a method with one more parameter.
    reading = "_frombuf" if hasattr(tarfile.TarInfo, "_frombuf") else "frombuf"

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, *more: Any, **options: Any) -> Header:
            header: Header = getattr(super(), reading)(buf, *more, **options)
            # Only one format has a prefix of the name; Python reads it in each.
            if buf[345] and (buf[257:263] != _USTAR or buf[508:512] == _STAR):
                raise tarfile.ReadError("the format of a header has no prefix, and there is one")
            is_long = header.type != tarfile.XHDTYPE and tarfile.XHDTYPE not in before
            is_ambiguous = bool(before) and not (is_long and header.type not in before)
            if header.type == tarfile.SOLARIS_XHDTYPE or (header.type in _EXTENSIONS and is_ambiguous):
                raise tarfile.ReadError("several headers name one file")
            if header.type == tarfile.XGLTYPE and before:
                raise tarfile.ReadError("a header for all files stands between those of one file")
            if header.type in _EXTENSIONS:
                before.append(header.type)
            else:
                before.clear()
            return header

    setattr(Header, reading, Header.__dict__["frombuf"])
    return Header


def _check_extensions(archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    """Refuse fields of extended headers that Go ignores or reads in another way."""
    if archive.pax_headers.keys() - {"comment"}:
        raise tarfile.ReadError("a header for all files that follow has more than a comment")
    for name, value in member.pax_headers.items():
        if name.startswith("GNU.sparse.") or (name in ("path", "linkpath", "size") and not value):
            raise tarfile.ReadError(f"a header of a file has the field {name}, which programs read differently")


_MOST_HOPS, _LONGEST_PATH = 40, 4_096


def _check_place(tree: Tree, name: str) -> None:
    """Refuse a member of the content whose folder is a link, or leads into the content by one: a cluster follows it."""
    done: list[str] = []
    waiting = name.split("/")[::-1]
    hops = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            del done[-1:]
            continue
        path = "/".join([*done, part])
        target = tree.links.get(path) if waiting else None
        if target is None:
            done.append(part)
            continue
        hops += 1
        if hops > _MOST_HOPS:
            return  # no cluster can unpack it
        done = [] if target.startswith("/") else done
        waiting += [step for step in target.split("/")[::-1] if step not in ("", ".")]
    place = "/".join(done)
    if place != name and (tree.wants(name) or tree.wants(place) or tree.leads_to_wanted(place)):
        raise tree.unsafe(name, f"a folder on its path is a link, so that it stands at {place}")


def _keep_link(tree: Tree, name: str, member: tarfile.TarInfo) -> None:
    if not member.issym():
        tree.links.pop(name, None)
    elif len(name) < _LONGEST_PATH and len(member.linkname) < _LONGEST_PATH:
        tree.links[name] = member.linkname
        if len(tree.links) > tree.limits.files:
            raise tree.too_much("the number of links", f"{tree.limits.files:,}")


def _name(tree: Tree, raw: str) -> str:
    """A member's path relative to the image's root; one that climbs is refused."""
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise tree.unsafe(raw, "the path climbs with ..")
    base = parts[-1] if parts else ""
    if base.startswith(WHITEOUT) and base[len(WHITEOUT) :] in ("", ".", ".."):
        raise tree.unsafe(raw, "a whiteout that names no file")
    return "/".join(parts)


def _add(tree: Tree, added: dict[str, Held], name: str, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
    # A link on the way to the content would decide where all of it is read from.
    if tree.leads_to_wanted(name) and not member.isdir():
        raise tree.unsafe(name, "the folder with the content is a link" if _is_link(member) else "it is no folder")
    if not tree.wants(name):
        return
    _check_name(tree, name)
    if len(tree.held) + len(added) >= tree.limits.files:
        raise tree.too_much("the number of files", f"{tree.limits.files:,}")
    if member.isdir():
        added[name] = FOLDER
    elif content is not None:
        added[name] = Held(_spool(tree, name, member.size, content))
    elif member.issym():
        added[name] = Held(link=member.linkname)
    elif member.islnk():
        target = _name(tree, member.linkname)
        linked = added.get(target) or tree.held.get(target)
        if linked is None or linked is FOLDER:
            raise tree.unsafe(name, f"a hard link to {member.linkname}, which is not part of the content")
        added[name] = linked
    else:
        raise tree.unsafe(name, "a device, a pipe or a socket")


def _is_link(member: tarfile.TarInfo) -> bool:
    return member.issym() or member.islnk()


def _check_name(tree: Tree, name: str) -> None:
    try:
        encoded = name.encode()
    except UnicodeEncodeError as error:
        raise tree.unsafe(ascii(name), "the name is not UTF-8") from error
    # These names end up in repositories, terminals and on other people's file systems.
    if "\\" in name or not name.isprintable():
        raise tree.unsafe(ascii(name), "the name has characters that names of files should not have")
    if max(len(part) for part in encoded.split(b"/")) > 255:
        raise tree.unsafe(f"{name[:60]}…", "the name is longer than file systems allow")


def _spool(tree: Tree, name: str, size: int, content: IO[bytes]) -> Path:
    limits = tree.limits
    if size > limits.file_bytes:
        raise tree.too_much(name, f"{limits.file_bytes:,} bytes")
    tree.size += size
    if tree.size > limits.bytes:
        raise tree.too_much("all of the content", f"{limits.bytes:,} bytes")
    tree.spooled += 1
    path = tree.spool / str(tree.spooled)
    with path.open("wb") as stream:
        while data := content.read(_CHUNK):
            stream.write(data)
        if stream.tell() != size:
            raise EOFError("it ends in the middle of a file")
    return path


def _apply(held: dict[str, Held], removed: Sequence[str], emptied: Sequence[str], added: dict[str, Held]) -> None:
    """Apply whiteouts to the layers below only, at any place of the archive; a file replaces a folder below it."""
    deleted = {*removed}
    hidden = {*removed, *emptied, *(path for path, entry in added.items() if entry is not FOLDER)}
    covered = {above for path in added for above in _above(path)}
    for path, entry in list(held.items()):
        is_covered = entry is not FOLDER and path in covered
        if path in deleted or is_covered or not hidden.isdisjoint(_above(path)):
            del held[path]
    held.update(added)


def _above(path: str) -> Iterator[str]:
    """The folders that a path is in, the root ("") included."""
    while path:
        path = path.rpartition("/")[0]
        yield path


# `vendor/` as it is written: everything beside its place, synced, then renamed into it.

GIT_ATTRIBUTES = f"{MARK}* -text linguist-vendored\n"

_MAX_LINKS = 8
# Git would take these for its own: it commits nothing below them, or something else than what is there.
_OF_GIT = frozenset({".git", ".gitattributes", ".gitignore"})


def check_folder(root: Path) -> None:
    """Raise VendorError if vendor/ is there and is not olmc's, or leads elsewhere: much of it may be removed."""
    folder = root / VENDOR_FOLDER
    blobs = root / BLOBS
    for path in (folder, *(folder / name for name in FOLDERS.values()), blobs, *blobs.glob("*")):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise VendorError(rules.FOREIGN_FOLDER, path=path.relative_to(root).as_posix())
    mark = folder / MARK_FILE
    is_ours = mark.is_file() and mark.read_bytes().startswith(MARK.encode())
    # A run that was killed may have left an empty folder, or one with its mark half written.
    if not is_ours and folder.exists() and any(not one.name.startswith(PARTIAL) for one in folder.iterdir()):
        raise VendorError(rules.FOREIGN_FOLDER, path=VENDOR_FOLDER)


@contextmanager
def stage(root: Path) -> Iterator[Path]:
    """Create a folder to work in, on the file system of the workspace; remove it at the end, with the folders of killed
    runs."""
    # In the workspace itself, as nothing can be renamed from one file system to another.
    for left in root.glob(f"{PARTIAL}vendor-*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}vendor-", dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_tree(tree: Tree, folders: Mapping[str, str], target: Path) -> tuple[str, ...]:
    """Write the files of `tree` below `target`: those of each folder in `folders` to the place that it names.

    Hidden folders are left out, as in every workspace, and so is what would tell Git how to treat the others.
    The paths of what was written come back. Raises VendorError for links that lead out, and for names that are
    the same on some file systems.
    """
    files = dict(_files(tree, folders))
    _check_clashes(tree, files)
    for path, data in sorted(files.items()):
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data, place)
        # Before the folder is renamed: after a crash a complete name must not stand for empty files.
        _sync(place)
    return tuple(sorted(files))


def _files(tree: Tree, folders: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for name, what in tree.held.items():
        for folder, place in folders.items():
            if what is not FOLDER and name.startswith(f"{folder}/") and _is_content(name[len(folder) + 1 :]):
                yield posixpath.join(place, name[len(folder) + 1 :]), _data(tree, name, what)


def _is_content(path: str) -> bool:
    """Return whether a file inside of the wanted folders is more than housekeeping."""
    *folders, name = path.split("/")
    return not any(folder.startswith(".") for folder in folders) and name.casefold() not in _OF_GIT


def _data(tree: Tree, name: str, what: Held) -> Path:
    """The content at a path, links inside of the wanted folders followed."""
    place = name
    for _ in range(_MAX_LINKS):
        if what.data is not None:
            return what.data
        place = posixpath.normpath(posixpath.join("/", posixpath.dirname(place), what.link)).strip("/")
        linked = tree.held.get(place)
        if linked is None:
            cause = "leads nowhere" if tree.wants(place) else "leaves the content"
            raise tree.unsafe(name, f"a link to {what.link}, which {cause}")
        if linked is FOLDER:
            raise tree.unsafe(name, f"a link to the folder {what.link}")
        what = linked
    raise tree.unsafe(name, "a link that leads to itself, or through too many others")


def _check_clashes(tree: Tree, files: Mapping[str, Path]) -> None:
    spellings: dict[str, tuple[str, bool]] = {}
    for path in sorted(files):
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            name, is_file = "/".join(parts[:length]), length == len(parts)
            folded = unicodedata.normalize("NFC", name).casefold()
            other, was_file = spellings.setdefault(folded, (name, is_file))
            if other != name:
                raise tree.unsafe(name, f"it is the same as {other} on file systems that don't tell case")
            if is_file != was_file:
                raise tree.unsafe(name, "it is a file and a folder at once")


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def place(root: Path, image: LockedImage, folder: Path) -> bool:
    """Rename the folder `made` to where the content of an image belongs; False if it is there already."""
    target = root / path_of(image)
    if intact_folder(root, image, Report()) is not None:
        return False
    mark = root / VENDOR_FOLDER / MARK_FILE
    mark.parent.mkdir(exist_ok=True)
    if not mark.is_file() or mark.read_bytes() != GIT_ATTRIBUTES.encode():
        put(mark, GIT_ATTRIBUTES, synced=True)
    target.parent.mkdir(exist_ok=True)
    # The previous folder goes to the stage and is not deleted: until the new folder is in its place, nothing is lost.
    if os.path.lexists(target):
        target.rename(folder.with_name(f"{folder.name}-before"))
    folder.rename(target)
    sync_folder(target.parent)
    return True


def write_lock(root: Path, operators: Lock | None, images: Sequence[LockedImage]) -> bool:
    """Write olmc.lock if it changes; whether it did."""
    path, text = root / LOCK_FILE, lock_text(operators, images)
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    if operators is None and not images and not path.exists():
        return False
    put(path, text, synced=True)
    return True


def remove_others(root: Path, images: Sequence[LockedImage]) -> tuple[str, ...]:
    """Remove all content of vendor/ except that of `images`; return the removed paths."""
    deleted = others(root, images)
    for path in deleted:
        target = root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()
    for folder in FOLDERS.values():
        with suppress(OSError):
            (root / VENDOR_FOLDER / folder).rmdir()
    return deleted


def others(root: Path, images: Sequence[LockedImage]) -> tuple[str, ...]:
    """The paths in vendor/ that no image of `images` accounts for."""
    kept = {path_of(image) for image in images}
    paths = [path for folder in FOLDERS.values() for path in (root / VENDOR_FOLDER / folder).glob("*")]
    return tuple(sorted(name for path in paths if (name := path.relative_to(root).as_posix()) not in kept))


@contextmanager
def undo_on_failure(root: Path) -> Iterator[list[Path]]:
    """A list of folders that are new; those that are still in it in the end are removed, and vendor/ if it is new."""
    folder = root / VENDOR_FOLDER
    was_there = folder.exists()
    had_mark = (folder / MARK_FILE).exists()
    placed: list[Path] = []
    try:
        yield placed
    finally:
        for path in placed:
            if path.is_file():
                path.unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
        if placed and not had_mark:
            (folder / MARK_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            for empty in (folder / "catalogs", folder / "bundles", *(() if was_there else (folder,))):
                if empty.is_dir() and not any(empty.iterdir()):
                    empty.rmdir()
