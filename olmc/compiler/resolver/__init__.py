"""From a namespace's catalogs, Subscriptions and CSVs to what OLM would install next, and why.

`rounds.resolve_namespace` makes one round: a cluster and a namespace go in, the Subscriptions with their new status
and the next InstallPlan come out (`ResolutionRound`). On the way `requests.resolve_request_of` makes a
`ResolveRequest`, `resolve.resolve` a `Resolution` by way of `snapshot`, `predicates`, `variables` and `solver`, and
`steps.bundle_steps` the steps of the plan.

Further public names: `cluster_wide.resolver_for`, the function that makes rounds; `explain.derivation`, why there is
no solution; `upgrade_path`, what is an upgrade of what; `lock.lock_of`, what `olmc.lock` would hold.
"""
