"""What a change of a repository will do to a cluster, in the order in which it happens.

Public names: `plan`, which does all of it (`engine`); the cluster that it begins with (`begun`); `plan_of`, `Plan`
(`plan`), the formats (`outputs`).
"""
