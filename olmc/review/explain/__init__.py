"""Explain a compilation: why an object is there or not, the state of operators, and the choices of OLM.

A settled cluster with its objects, or a compilation, goes in. Lines, rows and data for `olmc why`, `status` and
`resolve` come out. `why.why`, `status.operators` and `resolution.resolutions` are the questions; `provenance` and
`missing` know the causes; `targets.target` finds the meant object; `metrics.as_prometheus` and `spec_text` write for
other readers. The printed words decide nothing.
"""
