"""Catalogs in all their formats, and what a registry serves of them.

In go the texts of a catalog's folder, a list of bundles, or a ConfigMap; out comes a `Catalog`: packages, channels and
bundles, or none and OLM's message why it can't be served. The format is decided by content: templates and file-based
catalogs by `schema`, package manifests by `packageName`.

Public names: `loading.load_catalog`, `bundle_lists.catalog_from_bundles`, `bundle_lists.catalog_from_configmap`;
`content.served_candidates`, the entries that the resolver chooses from; `rendering.uncatalogued`, a bundle of the
workspace for templates and lists.
"""
