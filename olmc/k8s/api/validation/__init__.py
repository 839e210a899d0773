"""What an API server (Kubernetes 1.36) refuses to store, in its own words: API validation.

In goes an object as Go's types keep it, so without what they do not know and with every value of its type; out come
`FieldError`s in the order in which the server reports them, none if it takes the object. `str` of one is its text,
`field.invalid_text` the whole answer, and its `keys` lead to the place in the manifest. What the server fills in before
it looks counts as filled in. Nothing is judged that depends on the rest of a cluster.

Public names, each taking an object, or a new and an old one:

- `objects.creation_errors`, `objects.update_errors`: any object of a bundle but those with functions of their own
- `workloads.creation_errors`, `workloads.update_errors`: Deployments
- `crds.creation_errors`, `crds.update_errors`: CustomResourceDefinitions; `schema_values.violations`: their instances
- `webhooks.webhook_errors`: one webhook of an admission configuration
- `metadata.metadata_errors`: the metadata of an object of any kind
- `field`: `FieldError`, `Path`, `invalid_text`, `aggregated`; `names`: rules for single texts

Where a rule is found:

- ConfigMap, Secret, Service: `core`; Roles, bindings, NetworkPolicy, PodDisruptionBudget, PriorityClass: `policies`
- a Deployment and its pod template: `workloads`; in `spec.template.spec` containers, their ports, probes and mounts:
  `containers`; variables and projected files: `projections`; volumes: `volumes`; resources, affinity, tolerations:
  `scheduling`; security contexts and Windows: `security`
- a CRD: `crds`; what stands in its versions: `crd_versions`; conversion: `webhooks`; schemas: `crd_schemas`, with
  `structural_schema`, `schema_defaults` and `cel_rules`; `crd_internal` is the form in which the server sees a CRD
- names, ports, paths, addresses: `names`; labels and selectors: `metadata`
"""
