"""The upgrade graphs of packages: what upgrades to what, the way of an upgrade, and pictures of both.

In go the catalogs at a path (`catalogs_at`), out come a graph of a package (`upgrade_graph`), the route between two of
its versions (`route`), and either as text, JSON or SVG (`draw_package`, `describe_route`).
"""
