"""Whether a release may go out, and what goes out: `python .ci/release.py [--tag vX.Y.Z] [--index URL]`.

Prints what it has found and builds sdist, wheel and bill of materials into dist/. Exit code 1 says what is in the way.
Needs the tools of `make venv`, git, and for the name the index; nothing is uploaded from here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
INDEX = "https://pypi.org"


class NotReadyError(Exception):
    """What is in the way of a release."""


def version_of(project: Path) -> str:
    """The version that olmc has."""
    text = (project / "olmc" / "version.py").read_text(encoding="utf-8")
    matched = re.search(r'__version__ = "([^"]+)"', text)
    if matched is None:
        raise NotReadyError("olmc/version.py has no __version__")
    return matched[1]


def check_tag(version: str, tag: str) -> None:
    """A tag is the version that it releases."""
    if tag and tag != f"v{version}":
        raise NotReadyError(f"the tag is {tag}, olmc/version.py says {version}: tag v{version}, or raise the version")


def check_changelog(project: Path, version: str) -> None:
    """The changelog says what is in the version, and nothing is left under Unreleased."""
    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    if not sections.get(version, "").strip():
        raise NotReadyError(f"CHANGELOG.md says nothing under ## [{version}]")
    if sections.get("Unreleased", "").strip():
        raise NotReadyError(f"CHANGELOG.md still has something under ## [Unreleased]: move it below ## [{version}]")


def check_tree(project: Path) -> None:
    """What is built is what is committed."""
    command = ["git", "-C", str(project), "status", "--porcelain"]
    changed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if changed:
        raise NotReadyError(f"these files are not committed:\n{changed.rstrip()}")


def check_name(project: Path, version: str, index: str) -> str:
    """The name on the index is free, or this project's own without that version; a line that says which.

    Whether it is this project's own is told by its authors and its summary: an index has nothing else of before.
    """
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = metadata["name"]
    try:
        with urllib.request.urlopen(f"{index}/pypi/{name}/json", timeout=30) as answer:
            there = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return f"{name} is free on {index}"
        raise NotReadyError(f"{index} does not say whether {name} is free: {error}") from error
    except (OSError, ValueError) as error:
        raise NotReadyError(f"{index} does not say whether {name} is free: {error}") from error
    ours = {author["name"] for author in metadata["authors"]}
    if there["info"].get("author") not in ours or there["info"].get("summary") != metadata["description"]:
        raise NotReadyError(f"{name} on {index} is somebody else's: {there['info'].get('summary')}")
    if version in there.get("releases", {}):
        raise NotReadyError(f"{name} {version} is on {index} already: raise the version in olmc/version.py")
    return f"{name} on {index} is this project's, without {version}"


def build(project: Path, out: Path) -> list[Path]:
    """The sdist, and the wheel that is built of it as well as of the project, with the same bytes; and the bill."""
    shutil.rmtree(out, ignore_errors=True)
    run = [sys.executable, "-m", "build", "--no-isolation"]
    subprocess.run([*run, "--sdist", "--wheel", "--outdir", str(out), str(project)], check=True, stdout=sys.stderr)
    sdist, wheel = next(out.glob("*.tar.gz")), next(out.glob("*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(sdist, folder, filter="data")
        source = next(path for path in Path(folder).iterdir() if path.is_dir())
        again = Path(folder) / "again"
        subprocess.run([*run, "--wheel", "--outdir", str(again), str(source)], check=True, stdout=sys.stderr)
        if next(again.glob("*.whl")).read_bytes() != wheel.read_bytes():
            raise NotReadyError(f"{wheel.name} is another one when it is built of {sdist.name}")
    bill = out / "olmc.cdx.json"
    command = [sys.executable, str(project / ".ci/bill_of_materials.py"), str(project / "templates/requirements.txt")]
    bill.write_bytes(subprocess.run(command, check=True, capture_output=True, cwd=project).stdout)
    return [sdist, wheel, bill]


def main(arguments: list[str]) -> int:
    """Check everything, build, and say what was built."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tag", default="", help="The tag that is released.")
    parser.add_argument("--index", default=INDEX, help="Where the name is looked up.")
    given = parser.parse_args(arguments)
    try:
        version = version_of(PROJECT)
        check_tag(version, given.tag)
        check_changelog(PROJECT, version)
        check_tree(PROJECT)
        print(check_name(PROJECT, version, given.index))
        for path in build(PROJECT, PROJECT / "dist"):
            print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  dist/{path.name}")
    except NotReadyError as error:
        print(f"not ready: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
