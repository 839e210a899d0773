"""The checks of tools for bundles before they are published: `opm` and `operator-sdk bundle validate` (R-CAT-2xx).

`validate` lists the checks and runs them over the bundles of a directory; every other module holds the checks of one
rule family as functions that yield findings.
"""
