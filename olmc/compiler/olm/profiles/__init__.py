"""The formats of OLM's versions as data (`formats.json`), resolved once into a Profile.

The name of a version goes in, a `Profile` with the value of every feature comes out, or UnknownVersionError.

Public names: `data.profile_of`, `data.canonical`, `data.known_versions`, `data.filled`; `openshift.on_platform`, the
options with what an OpenShift release sets beyond its OLM (`openshift.json`); `page.page`, the text of
`docs/olm-versions.md`, and `page.formats_text`, that of one version.
"""
