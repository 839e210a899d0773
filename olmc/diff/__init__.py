"""What changed between two sides, as OLM and its users see it.

In go two paths or revisions (`reading.read_sides`), or one path under two versions of OLM (`reading.read_versions`);
each side is a workspace that is compiled or a rendering that is read. `compare.compare` gives the `Difference` with its
changes, each of a kind of the tables in the modules `*_kinds`; `outputs` makes text, Markdown, JSON or HTML of it.
"""
