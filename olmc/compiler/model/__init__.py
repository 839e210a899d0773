"""The nouns that all packages speak of: data without I/O, and without knowledge of what OLM does with it.

This package imports nothing else of olmc. What OLM's objects are read into, such as `Csv` and `OperatorGroup`, is here
since the `Cluster` holds it; accessors take untrusted input.

- `workspace`: `Workspace`, `Manifest`, `Bundle`, `Lock`; `options`: `Options`, `Profile`
- `catalog`: `Catalog`, `Package`, `Candidate`; `ResolveRequest` and `Resolution`, the resolver's question and answer
- `cluster`: `Cluster`, `Subscription`, `InstallPlan`, `Step`, `CsvState`; `operators`: `Csv`, `OperatorGroup`
- `objects`: `GVK`, `ObjectKey`, `Rendered`, `Provenance`; `PolicyRule`, `Subject`; functions over untrusted values
- `diagnostics`: `Diagnostic`, `Severity`, `Report`, `Location`, `Place`; functions over names that are nearly right
"""
