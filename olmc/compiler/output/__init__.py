"""Write the results of olmc: objects and diagnostics become bytes, files and folders.

`Rendered` objects or `Diagnostic`s go in, texts come out, independent of their origin.

Public names: `text.as_yaml`, `text.as_json`, `text.as_names`, `text.as_columns`; `messages.as_text` and
`unicode.clean`, which makes untrusted text fit for a terminal; `ci_reports.as_github`, `ci_reports.as_junit`,
`ci_reports.as_sarif`; `directory.files_of` and `directory.write`, a folder that is brought up to date.
"""
