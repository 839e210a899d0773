"""Descoped operators: they watch all namespaces, and administrators say where they may act (R-DESCOPE-1 …).

A settled cluster goes in. Out come the ClusterRoles that an administrator binds (`rbac.descoped_rbac`, a pass), what
there is to say about packages that are installed more than once (`install_topology.findings`), and their Operators
under other names (`install_topology.with_operators_renamed`).
"""
