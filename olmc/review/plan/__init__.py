"""Predict the effect of a change of a repository on a cluster, in the order of its steps.

Public names: `plan`, which does all of it (`engine`); the cluster that it begins with (`begun`); `plan_of`, `Plan`
(`plan`), the formats (`outputs`).
"""
