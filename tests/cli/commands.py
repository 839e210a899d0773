"""Runs `olmc` in this process as the command line would, and reads what it printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from olmc.cli.main import main
from olmc.model.diagnostics import Report
from olmc.yaml import read

BROKEN = {
    "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    "b.yaml": "x: [{apiVersion: v1, kind: Pod},\n",
}


def olmc(*arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Result:
    """What a command prints, and its exit code; an exception that it does not handle fails the test."""
    result = CliRunner().invoke(main, [str(each) for each in arguments], env=env, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def identities(text: str) -> list[str]:
    """`Kind/namespace/name` of the documents of a YAML stream."""
    found = []
    for document in read("out.yaml", text, Report()):
        metadata = document.value["metadata"]
        parts = (document.value["kind"], metadata.get("namespace"), metadata["name"])
        found.append("/".join(part for part in parts if part))
    return found


def names(*arguments: str | Path) -> list[str]:
    """The objects of a render that succeeds."""
    result = olmc("render", *arguments, "-o", "name")
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def kinds(listed: Sequence[str]) -> list[str]:
    """Their kinds, each once."""
    return list(dict.fromkeys(name.partition("/")[0] for name in listed))
