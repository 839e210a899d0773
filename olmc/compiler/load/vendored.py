"""The content of `vendor/`: `olmc vendor` writes images into it, and olmc compares them with the digests in
`olmc.lock`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.compiler.catalogs.properties import pull_spec_problem, split_domain
from olmc.compiler.load.bundles import read_bundle
from olmc.compiler.load.catalog_files import known_texts, read_catalog
from olmc.compiler.load.files import Folder, file_digest, read_bytes, read_text, scan_below
from olmc.compiler.model.catalog import Catalog, LeftOutPackage
from olmc.compiler.model.options import Indexing
from olmc.compiler.model.workspace import EXTENSIONS_V1, Bundle, ImageKind, LockedImage
from olmc.compiler.rules.findings import vendor as rules
from olmc.compiler.rules.findings import workspace as load_rules
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import regex, sha256
from olmc.k8s.objects import GVK, KubernetesObject, Manifest, mapping, text, texts
from olmc.k8s.yaml import read

if TYPE_CHECKING:
    from olmc.compiler.catalogs.properties import UncataloguedBundle
    from olmc.compiler.load.catalog_files import CatalogLoader

VENDOR_FOLDER = "vendor"
MARK_FILE = ".gitattributes"
MARK = "# Written by olmc vendor, which also removes what it no longer needs from this folder.\n"
"""The first line of the file by which olmc knows the folder for its own."""

FOLDERS: Mapping[ImageKind, str] = {"catalog": "catalogs", "bundle": "bundles"}
"""The folder in vendor/ for each kind of content."""

BLOBS = f"{VENDOR_FOLDER}/blobs"
"""The folder of the files that prove the content."""

TEMPLATE_ANNOTATION = "olm.catalogImageTemplate"

_VERSION = regex(r"v?(\d+)\.(\d+)\.(\d+)")
_ODD = regex(r"[^a-z0-9._-]+")
# Line breaks and other control characters, the backslash that sha256sum writes these with, and what is no UTF-8.
_NO_NAME = regex(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class FileNameError(ValueError):
    """A file has a name that no digest of content is made of."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name!a} has a control character, a backslash, or is not UTF-8")


def path_of(image: LockedImage) -> str:
    """Return where the content of an image lies, relative to the workspace."""
    # The name is for people; the digest of the content makes the path one that no other content ever has.
    name = split_domain(image.image)[1].partition("@")[0].partition(":")[0].rpartition("/")[2]
    return f"{VENDOR_FOLDER}/{FOLDERS[image.kind]}/{_ODD.sub('-', name)[:60]}-{image.content.partition(':')[2][:16]}"


def content_digest(files: Iterable[tuple[str, Path]]) -> str:
    """The digest of files, given by name and place: that of the lines which `sha256sum` prints for them, sorted by
    name. Raises OSError, and FileNameError for a name that could stand for several lines: then two sets of files had
    one digest."""
    digests: dict[bytes, bytes] = {}
    for name, place in files:
        if _NO_NAME.search(name):
            raise FileNameError(name)
        digests[name.encode()] = file_digest(place).encode()
    lines = (digests[name] + b"  " + name + b"\n" for name in sorted(digests))
    return "sha256:" + str(sha256(b"".join(lines)).hexdigest())


def is_vendored(root: Path, folder: Folder) -> bool:
    """Return whether a folder of the workspace at `root` is the one that `olmc vendor` writes."""
    if folder.path != VENDOR_FOLDER or MARK_FILE not in folder.files:
        return False
    text = read_text(root, folder.join(MARK_FILE), Report())
    return text is not None and text.startswith(MARK)


def without_vendored(root: Path, folder: Folder) -> Folder:
    """The root of a workspace without what `olmc vendor` has put there."""
    return folder._replace(folders=tuple(child for child in folder.folders if not is_vendored(root, child)))


def intact_folder(root: Path, image: LockedImage, report: Report) -> Folder | None:
    """The folder with the content of an image, None where it is missing; one that was changed is reported."""
    path = path_of(image)
    folder = scan_below(root, path, report)
    if folder is None:
        return None
    try:
        digest = content_digest((file.removeprefix(f"{path}/"), root / file) for file in folder.walk())
    except OSError as error:
        report.add(load_rules.UNREADABLE.finding(Location(path), path=path, cause=error.strerror or error))
        return None
    except FileNameError as error:
        report.add(rules.ODD_NAME.finding(Location(path), path=path, image=image.image, cause=error))
        return None
    # Edited content is not what the lock says it is, so nothing is installed from it.
    if digest != image.content:
        report.add(rules.CHANGED.finding(Location(path), path=path, image=image.image))
        return None
    return folder


def vendored_bundles(root: Path, images: Sequence[LockedImage], report: Report) -> dict[str, Bundle]:
    """The bundles among `images` by their reference, as far as they are there and unchanged."""
    bundles: dict[str, Bundle] = {}
    for image in images:
        folder = intact_folder(root, image, report) if image.kind == "bundle" else None
        bundle = read_bundle(root, folder, report) if folder is not None else None
        if bundle is not None:
            bundles[image.image] = bundle
    return bundles


def catalog_image(source: KubernetesObject, kube_version: str) -> str:
    """The image that serves a CatalogSource, "" if none does: the annotation's template wins (R-CAT-162); or a
    ClusterCatalog (R-V1-CC-1)."""
    spec = source.get("spec")
    if source.get("apiVersion") == EXTENSIONS_V1:
        return text(mapping(mapping(mapping(spec).get("source")).get("image")).get("ref"))
    if not isinstance(spec, Mapping) or spec.get("sourceType") != "grpc":
        return ""
    annotations = source["metadata"].get("annotations")
    template = annotations.get(TEMPLATE_ANNOTATION) if isinstance(annotations, Mapping) else None
    version = _VERSION.match(kube_version)
    if isinstance(template, str) and template and version:
        for part, number in zip(("major", "minor", "patch"), version.groups(), strict=True):
            template = template.replace(f"{{kube_{part}_version}}", number)
        # Braces are in no reference: a template with a part left over counts as none (R-CAT-162).
        if not pull_spec_problem(template):
            return template
    image = spec.get("image")
    return image if isinstance(image, str) else ""


# The folders of catalogs: the files of one, and the catalogs of images that were vendored.

INDEX_IGNORE = ".indexignore"
LEFT_OUT_FILE = "olmc-left-out.json"
"""The file in a catalog that was not vendored whole which names the other packages; one line each."""


def catalog_texts(root: Path, folder: Folder, report: Report) -> Mapping[str, str]:
    """The texts of all files of a catalog but those that its .indexignore files name; of a large one those that were
    read before are decoded when somebody asks for them."""
    paths = tuple(folder.walk())
    ignore_files = [path for path in paths if path.rpartition("/")[2] == INDEX_IGNORE]
    ignoring_texts = {path: text for path in ignore_files if (text := read_text(root, path, report)) is not None}
    if ignoring_texts:
        from olmc.compiler.catalogs.loading import kept_files

        paths = tuple(kept_files(folder.path, {**dict.fromkeys(paths, ""), **ignoring_texts}))
    contents = {path: data for path in paths if (data := read_bytes(root, path, report)) is not None}
    return known_texts(folder.path, contents, ignoring_texts, report)


def image_catalogs(
    root: Path, manifests: tuple[Manifest, ...], images: Sequence[LockedImage], kube_version: str,
    served: Mapping[str, Catalog], bundles: Mapping[str, UncataloguedBundle], indexing: Indexing, report: Report,
    loader: CatalogLoader | None = None,
) -> dict[str, Catalog]:  # fmt: skip
    """The catalogs of CatalogSources whose image was vendored, by `namespace/name`; those of ClusterCatalogs by
    `/name`. catalogs/NAME/ goes first."""
    load = loader or read_catalog
    locked = {image.image: image for image in images if image.kind == "catalog"}
    loaded: dict[str, Catalog | None] = {}
    catalogs: dict[str, Catalog] = {}
    for manifest in manifests:
        metadata = manifest.object["metadata"]
        if manifest.object["kind"] not in ("CatalogSource", "ClusterCatalog") or metadata["name"] in served:
            continue
        image = locked.get(catalog_image(manifest.object, kube_version))
        if image is None:
            continue
        # Several CatalogSources may show one image, whose digest is checked and whose content is read once.
        if image.image not in loaded:
            folder = intact_folder(root, image, report)
            texts = catalog_texts(root, folder, report) if folder is not None else {}
            left_out = ""
            # An untrusted catalog may have a file of this name as well.
            if folder is not None and image.packages:
                texts = dict(texts)
                left_out = texts.pop(folder.join(LEFT_OUT_FILE), "")
            catalog = folder and load(folder.path, texts, report, bundles, indexing)
            loaded[image.image] = catalog and catalog._replace(left_out=left_out_packages(left_out))
        catalog = loaded[image.image]
        if catalog is not None:
            catalogs[f"{metadata.get('namespace') or ''}/{metadata['name']}"] = catalog
    return catalogs


def left_out_text(packages: Iterable[LeftOutPackage]) -> str:
    """The file that names packages which were left out: a line of JSON each, so that a diff shows what moved."""
    return "".join(
        json.dumps({key: value for key, value in package._asdict().items() if value}, ensure_ascii=False) + "\n"
        for package in sorted(packages)
    )


def left_out_packages(text: str) -> tuple[LeftOutPackage, ...]:
    """The packages that such a file names."""
    packages = []
    for document in read(LEFT_OUT_FILE, text, Report()):
        fields = mapping(document.value)
        apis = [GVK(*parts) for item in fields.get("apis") or () if len(parts := texts(item)) == len(GVK._fields)]
        names, labels = texts(fields.get("packages")), texts(fields.get("labels"))
        packages.append(LeftOutPackage(str(fields.get("name")), tuple(names), tuple(apis), tuple(labels)))
    return tuple(packages)
