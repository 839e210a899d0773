"""What a compilation means: why something is there or not, how operators fare, what OLM would choose.

In goes a settled cluster with its objects, or a compilation; out come lines, rows and data for `olmc why`, `status` and
`resolve`. `why.why`, `status.operators` and `resolution.resolutions` are the questions; `provenance` and `missing` know
the causes; `targets.target` finds what somebody means; `metrics.as_prometheus` and `spec_text` write for other readers.
Nothing is decided by the words that are printed.
"""
