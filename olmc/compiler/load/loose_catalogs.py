"""File-based catalogs outside of `catalogs/`: which files make up one, as opm reads a folder with its subfolders
(R-CAT-120), and which templates have their output beside them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import mappings
from olmc.k8s.yaml import Document

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


def loose_catalogs(
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
    """What the catalog files below a folder have: of each package the units that define it, and those that fill it."""

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
