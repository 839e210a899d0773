"""File-based catalogs outside of `catalogs/`, and the cache of large catalogs.

The rule is opm's, which reads a folder with its subfolders (R-CAT-120); a template counts by its output beside it.
Reading and hashing 100 MB takes a tenth of the time of parsing. So the digest of its files finds the content of a large
catalog that an earlier run read. Small catalogs are always parsed: no lookup, no digest, no write.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.files import decode_utf8
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import LIMITS
from olmc.k8s.objects import mappings
from olmc.k8s.yaml import Document

if TYPE_CHECKING:
    from olmc.compiler.cache import Cache
    from olmc.compiler.catalogs.properties import UncataloguedBundle
    from olmc.compiler.model.catalog import Catalog
    from olmc.compiler.model.options import Indexing

    CatalogLoader = Callable[[str, Mapping[str, str], Report, Mapping[str, UncataloguedBundle], Indexing], Catalog]
    """A function that makes a catalog of a folder and its texts, as `olmc.compiler.catalogs.loading.load_catalog`
    does."""

_PACKAGE, _BUNDLE = "olm.package", "olm.bundle"
_TEMPLATES = frozenset({
    "olm.template.basic", "olm.semver", "olm.template.substitutes", "olm.composite", "olm.composite.catalogs"
})  # fmt: skip
_IMAGE = regex(r"""["']?\bimage["']?\s*:\s*["']?([^\s"',}]+)""", re.IGNORECASE)


class CatalogPart(NamedTuple):
    """A file of a catalog: its text, the packages that it defines, those whose channels and bundles it has, and whether
    it is a template. `images` are the bundles of a template."""

    text: str
    defined: frozenset[str]
    filled: frozenset[str]
    is_template: bool
    images: frozenset[str] = frozenset()


class LooseCatalog(NamedTuple):
    """A catalog by its files: its name, the folder that opm reads ("" for the top), and the texts by path."""

    name: str
    root: str
    texts: Mapping[str, str]


def catalog_part(text: str, documents: Iterable[Document]) -> CatalogPart:
    """Return what a file has of a catalog; `documents` are those in it with a schema of OLM."""
    defined: set[str] = set()
    filled: set[str] = set()
    is_template = False
    for document in documents:
        schema = _field(document.value, "schema")
        is_template |= schema in _TEMPLATES
        if schema == _PACKAGE:
            defined.add(_field(document.value, "name"))
        elif schema not in _TEMPLATES:
            filled.add(_field(document.value, "package"))
        else:
            entries = mappings(_value(document.value, "entries"))
            defined.update(_field(entry, "name") for entry in entries if _field(entry, "schema") == _PACKAGE)
    images = frozenset(_IMAGE.findall(text)) if is_template else frozenset()
    return CatalogPart(text, frozenset(defined - {""}), frozenset(filled - {""}), is_template, images)


def _field(value: Mapping[str, Any], name: str) -> str:
    """The text of a key in any case, "" without one."""
    found = _value(value, name)
    return found if isinstance(found, str) else ""


def _value(value: Mapping[str, Any], name: str) -> Any:
    """The value of a key in any case, as opm reads keys; None without one."""
    return next((each for key, each in value.items() if str(key).casefold() == name), None)


def catalog_files(
    parts: Mapping[str, CatalogPart], ignoring: Mapping[str, str], named: Mapping[str, Mapping[str, str]]
) -> Iterator[LooseCatalog]:
    """Yield the catalogs that files make up, by path.

    `ignoring` are the `.indexignore` files of the workspace; `named` are the catalogs in `catalogs/` by name. A
    template whose output is among the catalogs is the source of that output, and no catalog.
    """
    if ignoring:
        from olmc.compiler.catalogs.loading import kept_files  # takes long to import

        kept = kept_files("", {**dict.fromkeys(parts, ""), **ignoring})
        parts = {path: parts[path] for path in kept if path in parts}
    parts = _without_sources(parts, named)
    by_root: dict[str, dict[str, CatalogPart]] = {}
    for path, root in _roots(parts).items():
        by_root.setdefault(root, {})[path] = parts[path]
    for name, roots in _named(by_root).items():
        texts = {path: part.text for root in roots for path, part in by_root[root].items()}
        yield LooseCatalog(name, "" if roots[0] in parts else roots[0], texts)


def _without_sources(
    parts: Mapping[str, CatalogPart], named: Mapping[str, Mapping[str, str]]
) -> dict[str, CatalogPart]:
    """The parts without the templates whose output is beside them: a catalog with one of their packages or bundles."""
    if not any(part.is_template for part in parts.values()):
        return dict(parts)
    outputs = [part for part in parts.values() if not part.is_template]
    packages = _packages(outputs)
    texts = (*(part.text for part in outputs), *(text for files in named.values() for text in files.values()))
    images = {image for text in texts for image in _IMAGE.findall(text)}
    return {
        path: part
        for path, part in parts.items()
        if not part.is_template or (packages.isdisjoint(part.defined | part.filled) and part.images.isdisjoint(images))
    }


class _Subtree(NamedTuple):
    """The content of the catalog files below a folder: of each package the units that define it, and those that fill
    it."""

    defined: dict[str, int]
    filled: set[str]


def _roots(parts: Mapping[str, CatalogPart]) -> dict[str, str]:
    """By the path of each file the root of its catalog: a folder, or the path itself of a file at the top.

    A folder whose packages and channels belong together is a catalog. One that lacks either is a part of the nearest
    folder above in which all of it is, unless several folders there define a package: then they are several catalogs.
    """
    units: dict[str, CatalogPart] = {}
    for path, part in parts.items():
        unit = posixpath.dirname(path) or path
        known = units.get(unit)
        defined = part.defined | known.defined if known else part.defined
        filled = part.filled | known.filled if known else part.filled
        units[unit] = part._replace(defined=defined, filled=filled)
    below: dict[str, _Subtree] = {}
    for unit, part in units.items():
        for folder in _upwards(unit):
            subtree = below.setdefault(folder, _Subtree({}, set()))
            for package in part.defined:
                subtree.defined[package] = subtree.defined.get(package, 0) + 1
            subtree.filled.update(part.filled)
    chosen = {unit: _root_of(unit, part, below) for unit, part in units.items()}
    merged = {root for unit, root in chosen.items() if root != unit}
    tops = {unit: next((folder for folder in reversed([*_upwards(unit)]) if folder in merged), root)
            for unit, root in chosen.items()}  # fmt: skip
    return {path: tops[posixpath.dirname(path) or path] for path in parts}


def _upwards(unit: str) -> Iterator[str]:
    """A unit and the folders above it, as far as the top."""
    yield unit
    while unit:
        unit = posixpath.dirname(unit)
        yield unit


def _root_of(unit: str, part: CatalogPart, below: Mapping[str, _Subtree]) -> str:
    lacking, empty = part.filled - part.defined, part.defined - part.filled
    if not lacking and (not empty or part.is_template):
        return unit
    for folder in _upwards(unit):
        subtree = below[folder]
        if any(subtree.defined.get(package, 0) > 1 for package in part.filled | part.defined):
            return unit
        if lacking <= subtree.defined.keys() and empty <= subtree.filled:
            return folder
    return unit


def _named(by_root: Mapping[str, Mapping[str, CatalogPart]]) -> dict[str, list[str]]:
    """The roots of each catalog by its name: that of the folder or file, or the whole path where several catalogs with
    one name have a package in common."""
    by_name: dict[str, list[str]] = {}
    for root, files in by_root.items():
        by_name.setdefault(_name(root, files), []).append(root)
    named: dict[str, list[str]] = {}
    for name, roots in by_name.items():
        defined = [
            package for root in roots for package in {p for part in by_root[root].values() for p in part.defined}
        ]
        if len(defined) == len(set(defined)):
            named[name] = roots
        else:
            named |= {root.replace("/", "-"): [root] for root in roots}
    return named


def _packages(parts: Iterable[CatalogPart]) -> frozenset[str]:
    return frozenset().union(*(part.defined for part in parts))


def _name(root: str, files: Mapping[str, CatalogPart]) -> str:
    if root in files:
        return root.partition(".")[0]
    if root:
        return posixpath.basename(root)
    defining = next((path for path, part in files.items() if part.defined), next(iter(files)))
    return posixpath.basename(defining).partition(".")[0]


WORTH_IT = 1_000_000
"""Bytes of a catalog from which on the cache is asked: parsing them takes ten times as long as all that it does."""


class CatalogTexts(Mapping[str, str]):
    """The texts of the files of a large catalog, each decoded when somebody asks for it.

    `name` is that under which the cache keeps what is read of them, `stored` what it keeps; None for nothing so far.
    """

    def __init__(self, contents: Mapping[str, bytes | str], cache: Cache, name: str, stored: bytes | None) -> None:
        self.cache, self.name, self.stored = cache, name, stored
        self._contents = dict(contents)

    def __getitem__(self, path: str) -> str:
        content = self._contents[path]
        if isinstance(content, bytes):  # which the text replaces: a large catalog is not to be held twice
            content = self._contents[path] = content.decode("utf-8")
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def __eq__(self, other: object) -> bool:
        # The name is a digest of all of them.
        return self.name == other.name if isinstance(other, CatalogTexts) else super().__eq__(other)


def known_texts(
    root: str, contents: dict[str, bytes], others: Mapping[str, str], report: Report
) -> Mapping[str, str]:  # fmt: skip
    """The texts of the files of the catalog at `root`, whose bytes are given and used up, and of `others`, which say
    what is left out; what is no UTF-8 is reported."""
    store = None
    if sum(map(len, contents.values())) >= WORTH_IT:
        from olmc.compiler.cache import key, read, user_cache  # small catalogs need none

        store = user_cache()
    if store is not None:
        parts = [root, *(f"{limit.name}={limit.most}" for limit in LIMITS), *others, *others.values()]
        files = (part for path, data in contents.items() for part in (os.fsencode(path), data))
        name = key(store, "catalog", *(os.fsencode(part) for part in parts), *files)
        stored = read(store, name)
        if stored is not None:
            return CatalogTexts({**contents, **others}, store, name, stored)
    texts: dict[str, str] = {}
    failed = False
    for path in list(contents):
        text = decode_utf8(path, contents.pop(path), report)
        failed = failed or text is None
        if text is not None:
            texts[path] = text
    texts.update(others)
    return texts if store is None or failed else CatalogTexts(texts, store, name, None)


def read_catalog(
    root: str, files: Mapping[str, str], report: Report, bundles: Mapping[str, UncataloguedBundle], indexing: Indexing
) -> Catalog:
    """The catalog that `load_catalog` reads, or what the cache has of it, with the same findings."""
    from olmc.compiler.catalogs.loading import (
        load_catalog,  # takes long to import, and many workspaces have no catalogs
    )

    if not isinstance(files, CatalogTexts):
        return load_catalog(root, files, report, bundles, indexing)
    from olmc.compiler.cache import trim, write
    from olmc.compiler.catalogs.stored import NotStorableError, StoredCatalog, stored_catalog, stored_form, with_index

    if files.stored is not None:
        known = stored_catalog(
            files.stored, files.__getitem__, lambda: load_catalog(root, files, Report(), bundles, indexing)
        )
        if known is not None:
            report.found.extend(known.found)
            return known.catalog
    own = Report()
    catalog = with_index(load_catalog(root, files, own, bundles, indexing))
    report.found.extend(own.found)
    try:
        # A caller that has these texts for several workspaces reads them once as well.
        files.stored = stored_form(StoredCatalog(catalog, tuple(own.found)))
    except NotStorableError:
        return catalog
    if write(files.cache, files.name, files.stored):
        trim(files.cache)
    return catalog
