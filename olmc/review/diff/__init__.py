"""Compare two sides, as OLM and its users see them.

Two paths or revisions go in (`both_sides.read_sides`), or one path under two versions of OLM
(`both_sides.read_versions`). Each side is a workspace that is compiled, of two the new one on top of the cluster of the
old one, or a rendering that is read. `compare.compare` returns the `Difference` with its changes, each of a kind of the
tables in the modules `*_kinds`; `outputs` makes text, Markdown, JSON or HTML of it. `engine.diff` does all of it.
"""
