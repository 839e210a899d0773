"""Catalogs in all their formats, and what the registry serves of them.

The format is decided by content: templates and file-based catalogs by `schema`, package manifests by `packageName`.
"""
