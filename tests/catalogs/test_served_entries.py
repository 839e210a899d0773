"""What is known of the entries of a catalog without making them."""

from __future__ import annotations

from olmc.compiler.catalogs.properties import indexed
from olmc.compiler.model.catalog import Candidate, Property
from olmc.k8s.objects import GVK, CatalogKey


def test_packages_with_the_very_same_properties_are_both_known_by_them() -> None:
    """Whoever makes entries may give several of them the same value."""
    offered = (Property("olm.gvk", {"group": "g", "version": "v1", "kind": "K"}), Property("olm.label", {"label": "l"}))
    key = CatalogKey("olm", "cat")
    entries = [Candidate(f"{name}.v1", name, "stable", key, "1.0.0", offered) for name in ("b", "a")]
    index = indexed(entries).catalog_index
    assert index.apis == {GVK("g", "v1", "K"): ("a", "b")}
    assert index.labels == {"l": ("a", "b")}
    assert index.counts == {"a": 1, "b": 1}
