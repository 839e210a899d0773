"""What OLM calls things, and how it marks what it owns; what differs between its versions is in `profiles`.

In go names, specifications and a `Profile`; out come names, hashes, labels and owner references, byte for byte as OLM
makes them. Nothing here knows a cluster.

Public names, in `naming`: `rbac_name`, `random_suffix`, `component_label_key`; `deep_hash`, `deployment_spec_hash`,
`gvk_hash`; `owner_labels`, `owner_reference`; `CORE_KINDS`, the kinds that OLM writes as types of its own. In
`csv_schema`: `default_csv`, what storing a CSV adds. In `facts`: what is a copy, which package a CSV has, who
owns an object, and which ServiceAccounts an operator uses.
"""
