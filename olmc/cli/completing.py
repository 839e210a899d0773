"""What shells complete for the values of options and arguments: what olmc knows, and what the workspace has.

A workspace that can't be read has nothing to complete, and nothing is reported about it: somebody is typing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from olmc.model.workspace import Workspace


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The codes of rules."""
    from olmc.diagnostics.catalogue import all_rules

    return _beginning(incomplete, (rule.code for rule in all_rules()))


def codes_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The codes of rules, and once something is written the ids of the rule book."""
    from olmc.diagnostics.rulebook import rules_beginning

    ids = [rule.id for rule in rules_beginning(incomplete)] if incomplete else []
    return [*codes(ctx, param, incomplete), *ids]


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The kinds that every cluster with OLM has."""
    from olmc.kube.builtin_kinds import builtin_kinds

    return _beginning(incomplete, (kind for _, kind in builtin_kinds()))


def optional_validators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The names of optional validators and of suites of them."""
    from olmc.check.validators.findings import OPTIONAL, SUITES

    return [name for name in (*OPTIONAL, *SUITES) if name.startswith(incomplete)]


def olm_versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The versions of OLM that one can ask for."""
    from olmc.olm.profiles.data import known_versions

    return [version for version in known_versions() if version.startswith(incomplete)]


def resources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """What `olmc get` shows."""
    from olmc.proposed.installed.olm_resources import OLM_RESOURCES
    from olmc.proposed.installed.resources import RESOURCES

    return _beginning(incomplete, (resource.plural for resource in (*RESOURCES, *OLM_RESOURCES)))


def packages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The packages of the workspace's catalogs."""
    return _beginning(incomplete, _packages(_workspace(ctx)))


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The namespaces that the workspace names."""
    workspace = _workspace(ctx)
    names: set[str] = set()
    for manifest in workspace.manifests if workspace is not None else ():
        metadata = manifest.object.get("metadata", {})
        names.add(metadata.get("name") if manifest.object["kind"] == "Namespace" else metadata.get("namespace"))
    return _beginning(incomplete, names)


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """What `olmc why` is asked about: packages and CSVs, and once there is a slash the objects of the cluster."""
    if "/" in incomplete:
        from olmc.api import compile

        with suppress(OSError):
            return _beginning(incomplete, (str(rendered.identity) for rendered in compile(_path(ctx)).objects))
        return []
    workspace = _workspace(ctx)
    return _beginning(incomplete, [*_packages(workspace), *(workspace.bundles if workspace is not None else ())])


def _packages(workspace: Workspace | None) -> set[str]:
    catalogs = workspace.catalogs.values() if workspace is not None else ()
    return {package for catalog in catalogs for package in catalog.packages}


def _path(ctx: click.Context) -> Path:
    """The workspace of a command line that is not complete: one that was typed before counts."""
    path = ctx.params.get("workspace") or ctx.params.get("path") or Path()
    return Path(path)


def _workspace(ctx: click.Context) -> Workspace | None:
    from olmc.api import load

    with suppress(OSError):
        return load(_path(ctx))
    return None


def _beginning(incomplete: str, names: Iterable[str | None]) -> list[str]:
    """Those that begin with what is typed, in any case, sorted; none that a shell would take for more than a word."""
    words = {name for name in names if name and name.isprintable() and not any(map(str.isspace, name))}
    return sorted(word for word in words if word.lower().startswith(incomplete.lower()))
