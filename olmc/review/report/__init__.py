"""`olmc report`: a whole workspace as a site of static pages, for readers of the output of a pipeline.

A compilation with its findings goes in, the texts of pages by their paths come out; each page contains all its parts.

Public names: `operators.operator_pages`, the facts about each operator; `overview.overview`, about all of them;
`site.pages`, both as HTML; `folder.write_site`, the pages as files.
"""
