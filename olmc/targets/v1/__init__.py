"""What operator-controller makes of a ClusterExtension: the other generation of OLM.

The content of a bundle and what a ClusterExtension asks for go in; the objects that are applied come out, or the error
that the controller reports, in its words. Nothing here is imported by a run that has no use for it.

Public names: `feature_gates.gates_of`, the name of a profile → its `FeatureGates`;
`registry_bundle.read_registry_bundle`, the files of a bundle → a `RegistryBundle`; `render.render_bundle`, this and an
`InstallRequest` → the objects; `object_set.object_set`, these → a ClusterObjectSet; `secret_packing.pack`, this → the
Secrets that hold its objects. What is refused is raised as `registry_bundle.BundleError`.
"""
