"""`olmc report`: a whole workspace as a site of static pages, for whoever reads what a pipeline has made.

A compilation with its findings goes in, the texts of pages by their paths come out; each page holds all that it needs.

Public names: `operators.operator_pages`, what there is to say about each operator; `overview.overview`, about all of
them; `site.pages`, both as HTML; `folder.write_site`, the pages as files.
"""
