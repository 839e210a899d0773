"""Simulate OLM's controllers until nothing changes any more: a `Workspace` becomes a settled `Cluster`.

`loop.reconcile` is the stage: `initial_state.initial_state`, then round after round a resolution of each namespace
(`olmc.compiler.resolver`), `install_plans.with_plan` with one `apply_step.apply_step` a step, `phases.evaluate_phases`,
and `loop.without_replaced`. Every function takes a cluster and returns the next one.

Beside the loop: `requirements`, `install_strategy`, `deployments`, `serving`, `crds` and `operator_groups`, on which
phases depend; `existing_install_plans`; `loop.single_bundle`, for a bundle without a workspace; `diagnose.diagnose`,
`unresolved` and `misspelling`, which describe the problems.
"""
