"""Large catalogs are read once: what was read of one before is known by the digest of its files.

To read 100 MB and to hash them takes a tenth of the time that it takes to parse them. Small catalogs are read as ever:
for them nothing is looked up, hashed or written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from olmc.compiler.load.files import decode_utf8
from olmc.k8s.diagnostics import Report
from olmc.k8s.limits import LIMITS

if TYPE_CHECKING:
    from olmc.compiler.cache import Cache
    from olmc.compiler.catalogs.properties import UncataloguedBundle
    from olmc.compiler.model.catalog import Catalog
    from olmc.compiler.model.options import Indexing

    CatalogLoader = Callable[[str, Mapping[str, str], Report, Mapping[str, UncataloguedBundle], Indexing], Catalog]
    """What makes a catalog of a folder and the texts in it, as `olmc.compiler.catalogs.loading.load_catalog` does."""

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
        # Whoever has these texts for several workspaces reads them once as well.
        files.stored = stored_form(StoredCatalog(catalog, tuple(own.found)))
    except NotStorableError:
        return catalog
    if write(files.cache, files.name, files.stored):
        trim(files.cache)
    return catalog
