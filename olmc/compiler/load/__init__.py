"""The front end: a directory becomes a `Workspace`.

In go a path and what `olmc.yaml` and `.olmcignore` say; out come manifests, bundles, catalogs and the lock, checked
against `schemas/` and with the namespaces that their kinds call for. What can't be read is in the report.

Public names: `request.CompileRequest`, a call as a value; `workspace.load`, and `workspace.of_manifests` for a
workspace that is no directory;
`bundles.read_bundle`; `config.read_config`, `config.options_from` and `config.read_lock`; `files.scan`;
`suppressions.apply_suppressions`, the findings without those that comments accept;
`left_out.left_out`, what of the folder does not count.
"""
