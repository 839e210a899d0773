"""Catalogs from files that the user names, in place of the images of their CatalogSources: for people without access to
the registry. Nothing is asked over the network for them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from olmc.diagnostics.rules import vendor as rules
from olmc.lean import NamedTuple
from olmc.load.files import scan
from olmc.load.vendored import FileNameError, catalog_image, content_digest
from olmc.model.catalog import Catalog
from olmc.model.cluster import CatalogSource
from olmc.model.diagnostics import Report
from olmc.model.workspace import LockedImage
from olmc.olm.profiles.platform_catalogs import init_command
from olmc.vendor.fetch import Fetched
from olmc.vendor.layers import LayerLimits
from olmc.vendor.sources import VendorError

_GZIP = b"\x1f\x8b"
_MOST_TEXT = 200


class GivenCatalog(NamedTuple):
    """What the user gives: the name of a CatalogSource, or its namespace and name, and a file or folder."""

    name: str
    path: Path

    @property
    def shown(self) -> str:
        """The path as it is reported and locked: what is above the user's own folder is nobody else's business."""
        return self.path.name if self.path.is_absolute() else self.path.as_posix()

    def fits(self, source: CatalogSource) -> bool:
        return self.name in (source.key.name, f"{source.key.namespace}/{source.key.name}")


def images_of(
    given: Iterable[GivenCatalog], catalogs: Iterable[CatalogSource], needed: Iterable[str], kube_version: str
) -> dict[str, GivenCatalog]:
    """The images that files stand for. Raises VendorError for a file that stands for none that is needed."""
    sources, wanted = tuple(catalogs), frozenset(needed)
    images: dict[str, GivenCatalog] = {}
    for item in given:
        fitting = [source for source in sources if item.fits(source)]
        named = {catalog_image(source.manifest, kube_version) for source in fitting if source.manifest is not None}
        if not named & wanted:
            raise VendorError(
                rules.BAD_CATALOG_FILE, name=item.name, path=item.shown, **_why(item, sources, named - {""})
            )
        images |= dict.fromkeys(sorted(named & wanted), item)
    return images


def _why(item: GivenCatalog, sources: tuple[CatalogSource, ...], named: set[str]) -> dict[str, str]:
    """Why a file is of no use, and what to do."""
    if named:
        cause = "no namespace with a Subscription sees it, or catalogs/ has its content already"
        return {"cause": cause, "hint": "Leave it out, or name the CatalogSource that Subscriptions have as source."}
    if any(item.fits(source) for source in sources):
        hint = f"Put the file-based catalog into catalogs/{item.name.rpartition('/')[2]}/."
        return {"cause": "the CatalogSource names no image that the content could stand for", "hint": hint}
    known = ", ".join(sorted({source.key.name for source in sources})) or "none at all"
    namespace, _, name = item.name.rpartition("/")
    command = init_command(name, namespace or "openshift-marketplace")
    way = f"Run `{command}` first, which notes it in olmc.yaml" if command else "Add the CatalogSource"
    return {"cause": f"the workspace knows no CatalogSource of this name; there is {known}", "hint": f"{way}."}


def read_given(given: GivenCatalog, image: str, target: Path, limits: LayerLimits) -> Fetched:
    """Put a catalog from a file, or the files of a folder, to `target`, as if it came out of the image.

    Raises VendorError, and OSError for what can't be written.
    """
    target.mkdir()
    try:
        for name, data in _contents(given, limits).items():
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _unusable(given, f"it can't be unpacked: {error}") from error
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    try:
        content = content_digest((path.relative_to(target).as_posix(), path) for path in paths)
    except FileNameError as error:
        raise _unusable(given, str(error)) from error
    return Fetched(LockedImage(image, "catalog", content, "", content, file=given.shown), target)


def _contents(given: GivenCatalog, limits: LayerLimits) -> Mapping[str, bytes]:
    try:
        if not given.path.is_dir():
            data = _read(given.path, given, limits)
            return {"catalog.json" if data.lstrip()[:1] in (b"{", b"[") else "catalog.yaml": data}
        paths = list(scan(given.path, Report(), ignore_file=False).walk())
        if len(paths) > limits.files:
            raise _unusable(given, f"it has more than {limits.files:,} files")
        contents: dict[str, bytes] = {}
        for path in paths:
            contents[path.removesuffix(".gz")] = _read(given.path / path, given, limits)
            if sum(map(len, contents.values())) > limits.bytes:
                raise _unusable(given, f"it has more than {limits.bytes:,} bytes")
        return contents
    except OSError as error:
        raise _unusable(given, error.strerror or str(error)) from error


def _read(path: Path, given: GivenCatalog, limits: LayerLimits) -> bytes:
    with path.open("rb") as stream:
        is_packed = stream.read(len(_GZIP)) == _GZIP
    with gzip.open(path) if is_packed else path.open("rb") as stream:
        data = stream.read(limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise _unusable(given, f"it has more than {limits.file_bytes:,} bytes")
    return data


def check_given(given: GivenCatalog, catalog: Catalog | None) -> None:
    """Raise VendorError for a file that was read and holds no catalog."""
    if catalog is not None and catalog.problem:
        cause = " ".join(catalog.problem.split())
        raise _unusable(given, cause if len(cause) <= _MOST_TEXT else f"{cause[:_MOST_TEXT]}…")
    if catalog is None or not (catalog.packages or catalog.left_out):
        raise _unusable(given, "there is no package in it")


def _unusable(given: GivenCatalog, cause: str) -> VendorError:
    return VendorError(rules.BAD_CATALOG_FILE, path=given.shown, name=given.name, cause=cause, hint=rules.CATALOG_HINT)
