"""Each command runs: the smallest use of each, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import olmc

from olmc.cli.main import main

RESOURCES = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
"""

# A command → its arguments behind it, what it is given, its exit code, and a part of what it prints.
USES: dict[str, tuple[str, str, int, str]] = {
    "argocd generate": ("", "", 3, ""),
    "argocd parameters": ("", "", 0, "[]"),
    "cache": ("info", "", 0, "cache"),
    "check": ("own-namespace", "", 0, ""),
    "completion": ("bash", "", 0, "_olmc_completion"),
    "diff": ("review-upgrade/before review-upgrade/after", "", 0, "lantern"),
    "explain": ("R-OG-1", "", 0, "R-OG-1: "),
    "fix": ("own-namespace --dry-run", "", 0, ""),
    "fleet check": ("own-namespace dependency --jobs 1 --no-cache", "", 0, ""),
    "fleet merge": ("{folder}/part.json", "", 2, "part.json"),
    "fleet plan": ("own-namespace dependency --from git:HEAD --jobs 1 --no-cache", "", 0, ""),
    "fleet render": ("own-namespace dependency --jobs 1 --no-cache --output-dir {folder}/out", "", 0, ""),
    "fleet shard": ("own-namespace dependency --index 0 --of 2", "", 0, ""),
    "fleet status": ("own-namespace dependency --jobs 1 --no-cache", "", 0, ""),
    "fn": ("", RESOURCES, 0, "kind: ResourceList"),
    "get": ("installed installed -A", "", 0, ""),
    "graph": ("tide port", "", 0, "tide"),
    "import": ("own-namespace/cluster.yaml", "", 0, ""),
    "init example": ("{folder}/example", "", 0, "a repository with 2 commits"),
    "init argocd": ("--dry-run", "", 0, "argocd/plugin.yaml"),
    "init flux": ("--dry-run --url oci://registry.example.com/rendered", "", 0, "olmc-flux.yml"),
    "init github": ("--dry-run", "", 0, "action.yml"),
    "init gitlab": ("--dry-run", "", 0, ".gitlab/olmc.yml"),
    "init workspace": ("own-namespace --dry-run --openshift 4.18", "", 0, ""),
    "lsp": ("", "", 1, ""),
    "migrate": ("own-namespace --to descoped --dry-run", "", 0, ""),
    "plan": ("review-upgrade/after --from review-upgrade/before", "", 0, "lantern"),
    "plugin argocd generate": ("", "", 3, ""),
    "plugin argocd parameters": ("", "", 0, "[]"),
    "plugin fn": ("", RESOURCES, 0, "kind: ResourceList"),
    "rbac": ("own-namespace", "", 0, "beacon"),
    "render": ("own-namespace -o name", "", 0, "Deployment/harbour/beacon-controller"),
    "report": ("own-namespace -o {folder}/site", "", 0, ""),
    "resolve": ("dependency", "", 0, "ferry"),
    "serve": ("own-namespace --tls-cert-file nowhere", "", 2, ""),
    "status": ("port", "", 1, "tide"),
    "vendor": ("own-namespace --check", "", 0, ""),
    "verify": ("{folder} --provenance {folder}/x", "", 3, ""),
    "version": ("", "", 0, "olmc "),
    "why": ("Deployment/harbour/beacon-controller own-namespace", "", 0, "beacon"),
}


def names(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of all commands below one."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from names(found, (*path, name))


def test_each_command_has_a_use() -> None:
    assert sorted(names(main)) == sorted(USES)


@pytest.mark.parametrize("command", USES)
def test_it_runs(command: str, tmp_path: Path) -> None:
    arguments, given, code, text = USES[command]
    done = olmc(*command.split(), *arguments.format(folder=tmp_path).split(), stdin=given)
    print(done.output)
    assert (done.exit_code, text in done.output) == (code, True)
