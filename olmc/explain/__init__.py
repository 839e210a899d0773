"""What a compilation means: why something is there or not, how operators fare, what OLM would choose.

In goes a settled cluster with its objects, or a compilation; out come lines, rows and data for `olmc why`, `status` and
`resolve`. `why` and `status` are the questions; `blockers`, `provenance` and `missing` know the causes; `targets` finds
what somebody means. Nothing is decided by the words that are printed.
"""
