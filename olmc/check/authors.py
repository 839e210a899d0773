"""Whose the bundles of a directory are, and which of their versions anybody still works on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from olmc.model.diagnostics import Diagnostic, RuleTag, Severity
from olmc.model.operators import OLM_GROUP, Csv
from olmc.model.workspace import Bundle, Workspace
from olmc.semver import Version, tolerant_or_none

_OF_AUTHORS = frozenset({RuleTag.OF_VALIDATORS, RuleTag.FOR_AUTHORS})


def is_of_author(workspace: Workspace) -> bool:
    """Whether whoever checks a directory writes the bundles in it: it has nothing but bundles, of one package.

    Who has Subscriptions or catalogs installs what others write, and so does who vendors; a folder with bundles of
    several packages is a collection.
    """
    return is_folder_of_bundles(workspace) and len({bundle.package for bundle in workspace.bundles.values()}) <= 1


def is_folder_of_bundles(workspace: Workspace) -> bool:
    """Whether a directory has bundles and nothing of OLM that would install them."""
    installs = any(manifest.object["apiVersion"].startswith(f"{OLM_GROUP}/") for manifest in workspace.manifests)
    return not (installs or workspace.catalogs or workspace.vendored)


def older_bundles(workspace: Workspace) -> tuple[Bundle, ...]:
    """In a folder of bundles those that have a newer version there, by directory; of the rest nobody can say."""
    if not is_folder_of_bundles(workspace):
        return ()
    versions: dict[str, list[tuple[Version, Bundle]]] = defaultdict(list)
    for bundle in workspace.bundles.values():
        version = tolerant_or_none(Csv(bundle.csv.object).version)
        if version is not None:
            versions[bundle.package].append((version, bundle))
    older = (
        bundle
        for listed in versions.values()
        for version, bundle in listed
        if any(version.compare(other) < 0 for other, _ in listed)
    )
    return tuple(sorted(older, key=lambda bundle: bundle.directory))


def without_bundles(workspace: Workspace, bundles: Iterable[Bundle]) -> Workspace:
    """A workspace without some of its bundles."""
    directories = {bundle.directory for bundle in bundles}
    kept = {name: bundle for name, bundle in workspace.bundles.items() if bundle.directory not in directories}
    return workspace._replace(bundles=kept)


def is_in(diagnostic: Diagnostic, bundles: Iterable[Bundle]) -> bool:
    """Whether a finding is about a file of one of the bundles."""
    path = diagnostic.location.path if diagnostic.location is not None else None
    folders = (f"{bundle.directory}/" if bundle.directory else "" for bundle in bundles)
    return path is not None and any(path.startswith(folder) for folder in folders)


def for_users(diagnostics: Iterable[Diagnostic], workspace: Workspace) -> tuple[Diagnostic, ...]:
    """Findings as they concern whoever only installs the bundles: what the validators warn of, and only the author can
    mend, is a remark."""
    bundles = (*workspace.bundles.values(), *workspace.vendored.values())
    return tuple(
        diagnostic._replace(severity=Severity.INFO)
        if diagnostic.severity is Severity.WARNING
        and not _OF_AUTHORS.isdisjoint(diagnostic.tags)
        and is_in(diagnostic, bundles)
        else diagnostic
        for diagnostic in diagnostics
    )
