"""The APIs that OLM's design documents propose: what olmc makes of them.

In go a workspace or a settled cluster and the options that ask for an API; out come another settled cluster, passes
and changes for its objects, or views of it. `pipeline_hooks.settled_with_installs` and `pipeline_hooks.proposed` are
where a compilation calls in; `migrate_descoped.migrate` and `migrate_v2alpha1.migrate` give a `migration.Migration` to
the APIs. The APIs themselves: `v2alpha1` (Operator and Install), `descoped`, `installed` (Installed and
PackageManifests).
"""
