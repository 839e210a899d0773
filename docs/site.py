"""Generate further pages of the site: the README as its front page, commands with their help, and schemas.

Links into the source are texts, or with `extra.source` of mkdocs.yml addresses below that.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from olmc.cli.main import main

PROJECT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
_PICTURE = re.compile(r"(?P<begin>!\[[^\]]*\]\((?:[^)\s]*/)?pictures/)(?P<name>[\w-]+)\.png\)")
_CONSOLE = re.compile(r'<div class="(?P<classes>language-console highlight)">(?P<code>.*?)(?=</code></pre>)', re.DOTALL)
_PROMPT = re.compile(r'<span class="gp">[^<]*</span>')
_TAG = re.compile(r"<[^>]+>")
_AT_TOP = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
"""The pages that stand above docs/."""
_WIDTH = 84  # what fits beside the two columns of a page


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The rule book has all its pages in the navigation."""
    pages = sorted(f"spec/{path.name}" for path in (PROJECT / "docs" / "spec").glob("*.md") if path.name != "README.md")
    for section in config.nav or ():
        for entry in section.get("Contributors", ()):
            if isinstance(entry, dict) and "Rule book" in entry:
                entry["Rule book"] += pages
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    made = {"commands.md": "".join(_commands()), "schemas.md": "".join(_schemas())}
    made |= {path: (PROJECT / name).read_text(encoding="utf-8") for name, path in _AT_TOP.items()}
    made |= {f"schemas/{path.name}": path.read_text(encoding="utf-8") for path in _schema_files()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with links that lead somewhere on the site, or into the source."""
    is_at_top = page.file.src_uri in _AT_TOP.values()
    folder = "" if is_at_top else posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri == "index.md" and config.site_url:  # which the README has for package indexes
        markdown = markdown.replace(f"]({config.site_url}", "](docs/")

    def moved(link: re.Match[str]) -> str:
        text, anchor = link["text"], link["anchor"] or ""
        target = posixpath.normpath(posixpath.join(folder, link["target"]))
        inside = _AT_TOP.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(inside) is not None and (
            target.startswith(("docs/", "schemas/")) or target in _AT_TOP
        ):
            return f"[{text}]({posixpath.relpath(inside, here or '.')}{anchor})"
        source = config.extra.get("source")
        return f"[{text}]({source.rstrip('/')}/{target}{anchor})" if source else text

    return _PICTURE.sub(_in_both_schemes, _LINK.sub(moved, markdown))


def _in_both_schemes(picture: re.Match[str]) -> str:
    """A picture as the theme shows it by its color scheme, each with the same text."""
    begin, name = picture["begin"], picture["name"]
    return f"{begin}{name}.png#only-light) {begin}{name}-dark.png#only-dark)"


def on_page_content(html: str, **_: Any) -> str:
    """The page with consoles of which the button copies the commands, and not the prompts and the output."""
    return _CONSOLE.sub(_with_commands, html)


def _with_commands(console: re.Match[str]) -> str:
    commands: list[str] = []
    for line in console["code"].split("\n"):
        goes_on = bool(commands) and commands[-1].endswith("\\")
        is_command = goes_on or '<span class="gp">' in line
        commands.append(unescape(_TAG.sub("", _PROMPT.sub("", line))) if is_command else "")
    text = "\n".join(filter(None, commands))
    return f'<div class="{console["classes"]}" data-copy="{escape(text)}">{console["code"]}' if text else console[0]


def on_post_build(*, config: MkDocsConfig) -> None:
    """The index of the search as a script, too: without it no script of a page runs that is opened from a disk."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def _commands() -> Iterator[str]:
    yield "# Commands\n\nThe output of `olmc COMMAND --help`. You can set options by environment variables, too.\n"
    top = main.make_context("olmc", [], resilient_parsing=True, terminal_width=_WIDTH, max_content_width=_WIDTH)
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        if command is not None:
            yield from _command(command, name, top)


def _command(command: click.Command, name: str, above: click.Context) -> Iterator[str]:
    context = click.Context(command, above, name, max_content_width=_WIDTH, **command.context_settings)
    depth = context.command_path.count(" ") + 1
    yield f"\n{'#' * depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    nested: dict[str, click.Command] = getattr(command, "commands", {})
    for word, below in nested.items():
        yield from _command(below, word, context)


def _schemas() -> Iterator[str]:
    yield "# Schemas\n\nThe input and output data of olmc, as JSON Schema.\n\n| schema | content |\n|---|---|\n"
    for path in _schema_files():
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        summary = str(document.get("description") or document.get("title") or "").replace("|", "\\|").replace("\n", " ")
        yield f"| [{path.name}](schemas/{path.name}) | {summary} |\n"


def _schema_files() -> list[Path]:
    return sorted((PROJECT / "schemas").glob("*.schema.json"))
