"""Large catalogs are read once: what was read of one before is known by the digest of its files.

To read 100 MB and to hash them takes a tenth of the time that it takes to parse them. Small catalogs are read as ever:
for them nothing is looked up, hashed or written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from olmc.load.files import decode_utf8
from olmc.model.diagnostics import Report
from olmc.model.limits import LIMITS

if TYPE_CHECKING:
    from olmc.cache import Cache
    from olmc.catalogs.rendering import UncataloguedBundle
    from olmc.model.catalog import Catalog
    from olmc.model.options import Indexing

WORTH_IT = 1_000_000
"""Bytes of a catalog from which on the cache is asked: parsing them takes ten times as long as all that it does."""


class KnownTexts(Mapping[str, str]):
    """The texts of files that were decoded before, so that each can be; `stored` is what the cache has of them."""

    def __init__(self, contents: Mapping[str, bytes], others: Mapping[str, str], stored: memoryview) -> None:
        self.stored = stored
        self._contents = contents
        self._texts = dict(others)

    def __getitem__(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._contents[path].decode("utf-8")
        return self._texts[path]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._contents, **self._texts})

    def __len__(self) -> int:
        return len(self._contents.keys() | self._texts.keys())


class NewTexts(dict[str, str]):
    """The texts of files that are not known yet; `cache` is to keep what is read of them under `name`."""

    cache: Cache
    name: str


def known_texts(
    root: str, contents: dict[str, bytes], others: Mapping[str, str], report: Report
) -> Mapping[str, str]:  # fmt: skip
    """The texts of the files of the catalog at `root`, whose bytes are given and used up, and of `others`, which say
    what is left out; what is no UTF-8 is reported."""
    store = None
    if sum(map(len, contents.values())) >= WORTH_IT:
        from olmc.cache import key, read, user_cache  # small catalogs need none

        store = user_cache()
    if store is not None:
        parts = [root, *(f"{limit.name}={limit.most}" for limit in LIMITS), *others, *others.values()]
        files = (part for path, data in contents.items() for part in (os.fsencode(path), data))
        name = key(store, "catalog", *(os.fsencode(part) for part in parts), *files)
        stored = read(store, name)
        if stored is not None:
            return KnownTexts(contents, others, stored)
    texts = NewTexts()
    failed = False
    for path in list(contents):
        text = decode_utf8(path, contents.pop(path), report)
        failed = failed or text is None
        if text is not None:
            texts[path] = text
    texts.update(others)
    if store is None or failed:
        return dict(texts)
    texts.cache, texts.name = store, name
    return texts


def read_catalog(
    root: str, files: Mapping[str, str], report: Report, bundles: Mapping[str, UncataloguedBundle], indexing: Indexing
) -> Catalog:
    """The catalog that `load_catalog` reads, or what the cache has of it, with the same findings."""
    from olmc.catalogs.loading import load_catalog  # takes long to import, and many workspaces have no catalogs

    if not isinstance(files, KnownTexts | NewTexts):
        return load_catalog(root, files, report, bundles, indexing)
    from olmc.catalogs.stored import NotStorableError, StoredCatalog, stored_catalog, stored_form, with_index

    if isinstance(files, KnownTexts):
        known = stored_catalog(
            files.stored, files.__getitem__, lambda: load_catalog(root, files, Report(), bundles, indexing)
        )
        if known is not None:
            report.found.extend(known.found)
            return known.catalog
    own = Report()
    catalog = with_index(load_catalog(root, files, own, bundles, indexing))
    report.found.extend(own.found)
    if isinstance(files, NewTexts):
        from olmc.cache import trim, write

        try:
            form = stored_form(StoredCatalog(catalog, tuple(own.found)))
        except NotStorableError:
            return catalog
        if write(files.cache, files.name, form):
            trim(files.cache)
    return catalog
