"""The commands on the pages about pipelines do what the pages show."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pipeline_workshop import FIXTURES, PROJECT, run
from shown_pages import is_as_shown

PAGES = ("apply", "argocd", "ci", "flux", "kustomize", "policies", "pre-commit")

# A block of commands, and the tools that an invisible remark before it asks for.
BLOCK = re.compile(
    r"(?:^<!-- needs (?P<tools>[^>]*) -->\n\n)?^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
END_OF = "end of command"


def commands(page: str) -> tuple[list[tuple[str, str]], set[str]]:
    """The commands of a page with the output that it shows for each, and the tools for which some were left out."""
    found: list[tuple[str, str]] = []
    missing: set[str] = set()
    for block in BLOCK.finditer((PROJECT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
        absent = {tool for tool in (block["tools"] or "").split() if shutil.which(tool) is None}
        missing |= absent
        for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:] if not absent else ():
            lines = part.splitlines()
            more = next((n for n, line in enumerate(lines) if n and not line.startswith("> ")), len(lines))
            command = "\n".join([lines[0], *(line.removeprefix("> ") for line in lines[1:more])])
            found.append((command, "".join(f"{line}\n" for line in lines[more:])))
    return found, missing


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path) -> None:
    """One shell runs all of them, in a folder that has the fixtures."""
    shown, missing = commands(page)
    assert shown
    shutil.copytree(FIXTURES, tmp_path / "fixtures")
    script = "".join(f"{command}\necho {END_OF}\n" for command, _ in shown)
    done = run(["bash", "-c", f"exec 2>&1\n{script}"], tmp_path)
    outputs = done.stdout.split(f"{END_OF}\n")
    assert len(outputs) == len(shown) + 1, done.stdout
    for (command, output), printed in zip(shown, outputs, strict=False):
        assert is_as_shown(output, printed), f"{command}\n{printed}"
    if missing:
        pytest.skip(f"all but what needs {', '.join(sorted(missing))}, which is not installed")


def test_the_page_about_argo_cd_has_all_parameters() -> None:
    from olmc.integrations.pipelines.argocd import announcements

    text = (PROJECT / "docs" / "argocd.md").read_text(encoding="utf-8")
    table = [line.partition("|")[2].partition("|")[0] for line in text.splitlines() if line.startswith("| `")]
    assert [name for cell in table for name in re.findall("`(.*?)`", cell)] == [
        each["name"] for each in announcements()
    ]  # fmt: skip
