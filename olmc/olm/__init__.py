"""What OLM calls things, and how it marks what it owns; what differs between its versions is in `profiles`.

In go names, specifications and a `Profile`; out come names, hashes, labels and owner references, byte for byte as OLM
makes them. Nothing here knows a cluster.

Public names: `naming.rbac_name`, `naming.random_suffix`, `naming.component_label_key`; `hashing.deep_hash`,
`hashing.deployment_spec_hash`, `hashing.gvk_hash`; `ownership.owner_labels`, `ownership.owner_reference`;
`csv_schema.default_csv`, what storing a CSV adds; `core_kinds`, the kinds that bundles may hold.
"""
