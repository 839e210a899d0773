"""Installed and PackageManifests: which operators watch a namespace, and what it could install.

A settled cluster with its objects goes in; the objects of `packages.operators.coreos.com` come out, for `olmc get` and
`olmc serve` alike.

Public names: `view.view_of` and `view.answer`, a view and what it shows of a namespace; `installed.installations`;
`package_manifests.offers`; `resources.RESOURCES`, the kinds with the columns of their tables.
"""
