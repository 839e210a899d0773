"""The files of `schemas/`, `templates/` and `docs/spec/`, wherever olmc is installed, and addresses of its docs."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent
SITE = "https://olmc.dev"
"""Where the project publishes its docs and its repository."""
_DOCS = f"{SITE}/docs"
REPOSITORY = f"{SITE}/olmc.git"
"""The address to clone olmc from."""


def _folder(name: str) -> Path:
    """A wheel carries the folders inside of the package; in a checkout they stand beside it."""
    inside = _PACKAGE / "_data" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema `schemas/NAME.schema.json`; raises FileNotFoundError."""
    document: dict[str, Any] = json.loads((_folder("schemas") / f"{name}.schema.json").read_text(encoding="utf-8"))
    return document


def template_text(name: str) -> str:
    """The text of `templates/NAME`; raises FileNotFoundError."""
    return (_folder("templates") / name).read_text(encoding="utf-8")


def spec_pages() -> dict[str, str]:
    """The pages of the rule book, `docs/spec/*.md`, by their names, in their order."""
    pages = sorted(_folder("docs/spec").glob("*.md"))
    return {page.name: page.read_text(encoding="utf-8") for page in pages}


_LIBRARIES = ("cel_expr_python", "jsonschema", "pathspec", "pysat", "re2", "ruamel.yaml")


def program_state() -> str:
    """What tells one state of the program from the next, without reading it: name, size and time of each of its
    modules, schemas, templates and rules, and which libraries there are. An installed olmc changes with its version, a
    checkout does not, and what it finds depends on libraries that may not be installed or are exchanged."""
    folders = [os.fspath(_PACKAGE), *(os.fspath(_folder(name)) for name in ("schemas", "templates", "docs/spec"))]
    files: dict[str, str] = {}
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    folders.append(entry.path)
            else:
                status = entry.stat()
                files[entry.path] = f"{entry.name} {status.st_size} {status.st_mtime_ns}"
    return "\n".join([*(files[path] for path in sorted(files)), *map(_library_state, _LIBRARIES)])


def _library_state(name: str) -> str:
    """Return where a library begins, with size and time of that; its name alone if it is not installed."""
    try:
        spec = find_spec(name)
        place = "" if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        status = Path(place).stat() if place else None
    except (ImportError, OSError):
        return name
    return f"{name} {place} {status.st_size} {status.st_mtime_ns}" if status is not None else name


def template_files(folder: str) -> dict[str, str]:
    """Return the texts of a folder of `templates/` by their paths in it."""
    root = _folder("templates") / folder
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def docs_url(path: str) -> str:
    """Return the address of a page of `docs/` on the site; its path may end with an anchor."""
    return f"{_DOCS}/{path.replace('.md', '.html', 1)}"
