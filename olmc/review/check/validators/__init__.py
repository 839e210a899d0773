"""What the tools say about bundles before they are published: `opm` and `operator-sdk bundle validate` (R-CAT-2xx).

`validate` lists what is checked and runs it over the bundles of a directory; every other module holds the checks of one
rule family as functions that yield findings.
"""
