"""Runs `olmc` in this process as the command line would, and reads what it printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from olmc.cli.main import main
from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read

BROKEN = {
    "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
    "b.yaml": "x: [{apiVersion: v1, kind: Pod},\n",
}


def olmc(*arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str | None = None) -> Result:
    """What a command prints, and its exit code; an exception that it does not handle fails the test.

    A temporary folder that it is given is left out of the paths in what it prints.
    """
    result = CliRunner().invoke(main, [str(each) for each in arguments], env=env, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    for each in arguments:
        if Path(each).is_absolute():
            result.stdout_bytes = without_folder(result.stdout_bytes, each)
            result.stderr_bytes = without_folder(result.stderr_bytes, each)
            result.output_bytes = without_folder(result.output_bytes, each)
    return result


def olmc_noticing(*arguments: str | Path, **streams: Any) -> Result:
    """Run a command as `olmc` does; a comparison that states no level of its own exits with 1 for any change."""
    asks = bool(arguments) and arguments[0] in ("diff", "plan") and "--fail-on" not in arguments
    return olmc(*arguments, *(["--exit-code"] if asks else []), **streams)


def unfolded(text: str) -> str:
    """A text of which each line that goes on in the next row, four columns further in, is one line again."""
    lines: list[str] = []
    indent = 0
    for line in text.splitlines():
        if lines and len(line) - len(line.lstrip()) == indent + 4 and not line.lstrip().startswith(("+ ", "- ", "~ ")):
            lines[-1] += f" {line.strip()}"
            continue
        lines.append(line)
        indent = len(line) - len(line.lstrip())
    return "".join(f"{line}\n" for line in lines)


def as_typed(*arguments: str) -> str:
    """A command as somebody types it, and all that it prints."""
    done = olmc(*arguments)
    return f"$ olmc {' '.join(arguments)}\n{done.stdout}{done.stderr}exit code {done.exit_code}\n"


_PLACE = re.compile(rb"(?m)(?<![^\s(])%s/(?=\S*?(?::\d+:\d+\b|: (?:error|failure|warning|info): ))")


def without_folder(text: bytes, folder: str | Path) -> bytes:
    """A text whose places, and the commands that it advises, are as they were if one stood in the folder."""
    name = re.escape(str(folder).encode())
    return re.sub(_PLACE.pattern % name, b"", re.sub(b"(`olmc [^`]*?) %s(?=`)" % name, rb"\1", text))


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


def git(*arguments: str | Path, cwd: Path) -> str:
    """Run git without the configuration of the machine."""
    env = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
    }  # fmt: skip
    done = subprocess.run(["git", *arguments], cwd=cwd, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def clone_repository(source: Path, root: Path, change: Callable[[Path], None] | None = None) -> Path:
    """Copy a folder to `root` as a repository of git with a commit, and with a second one for a change."""
    shutil.copytree(source, root)
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    commit_all(root, "operators")
    if change is not None:
        change(root)
        commit_all(root, "change")
    return root


def commit_all(root: Path, message: str) -> None:
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", message, cwd=root)


def replace_text(path: Path, old: str, new: str) -> None:
    """Change a text in a file, which has to contain it."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
