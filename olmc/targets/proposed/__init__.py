"""The APIs that OLM's design documents propose: what olmc makes of them.

In go a workspace or a settled cluster and the options that ask for an API; out come another settled cluster, passes
and changes for its objects, or views of it. `pipeline_hooks.settled_with_installs` and `pipeline_hooks.proposed` are
where a compilation calls in. The APIs themselves: `operator_api` (Operator and Install), `descoped`, `installed`
(Installed and PackageManifests).
"""
