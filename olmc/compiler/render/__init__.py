"""From a settled cluster to the objects that it holds: a row of passes (`passes.PASSES`), each for one kind of thing.

`passes.render` takes a `Cluster` and gives all objects in apply order (`Rendered`, with their provenance), or with
`apply` what can be applied without OLM. A pass takes a `RenderContext` and gives the objects of its kind as the cluster
has them in the end; none reads what another one made. The example in a pass's docstring shows a workspace, in the words
of tests/reconcile/README.md, and some fields of what comes out of it; tests/render/test_pass_examples.py runs them, and
has `show`.
"""
