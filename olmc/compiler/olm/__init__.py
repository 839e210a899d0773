"""The names that OLM gives to objects, and the marks of the objects that it owns; `profiles` has the differences
between its versions.

Names, specifications and a `Profile` go in; names, hashes, labels and owner references come out, byte for byte as OLM
makes them. No function here knows a cluster.

Public names, in `naming`: `rbac_name`, `random_suffix`, `component_label_key`; `deep_hash`, `deployment_spec_hash`,
`gvk_hash`; `owner_labels`, `owner_reference`; `CORE_KINDS`, the kinds that OLM writes as types of its own. In
`csv_schema`: `default_csv`, the defaults of a stored CSV. In `facts`: whether a CSV is a copy, its package, the owner
of an object, and the ServiceAccounts of an operator.
"""
