"""The pictures of the docs, each made of what a command prints, in Chromium.

    pictures.py [--olmc CMD]

Writes docs/pictures/NAME.png and NAME-dark.png for readers in the dark, and to sources.json the digest of what each was
made of: a test says when one is stale.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
PICTURES = PROJECT / "docs" / "pictures"
SOURCES = PICTURES / "sources.json"
_CHROMIUM = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1")


class DocsPicture(NamedTuple):
    """A picture: the command, the page that it writes below --output-dir ("" if it prints it), and its size."""

    command: str
    page: str
    width: int
    height: int


TABLE = {
    "plan.png": DocsPicture(
        "plan fixtures/review-upgrade/after --from fixtures/review-upgrade/before -o html", "", 1100, 1240
    ),
    "fleet.png": DocsPicture(
        "fleet plan 'clusters/*' --repository fixtures/fleet/after --from fixtures/fleet/before --beside operators "
        "-o html",
        "", 1100, 900,
    ),
    "upgrade.png": DocsPicture(
        "diff fixtures/review-upgrade/before fixtures/review-upgrade/after -o html", "", 1100, 1000
    ),
    "graph.png": DocsPicture("graph kettle tests/graph/catalogs/kettle -o svg", "", 792, 394),
    "report.png": DocsPicture("report fixtures/port -o", "index.html", 1200, 690),
    "namespaces.png": DocsPicture("report fixtures/port -o", "namespaces.html", 1100, 420),
    "operator.png": DocsPicture("report fixtures/review-upgrade/after -o", "operators/tower_lantern.html", 1100, 1180),
}  # fmt: skip


def source_of(picture: DocsPicture, olmc: list[str], folder: Path) -> str:
    """What a picture is made of: the text of the page."""
    command = [*olmc, *shlex.split(picture.command), *([str(folder)] if picture.page else [])]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{shlex.join(command)}: {done.stderr}")
    return (folder / picture.page).read_text(encoding="utf-8") if picture.page else done.stdout


def in_schemes(name: str) -> dict[str, str]:
    """The files of a picture, each with how Chromium numbers its color scheme."""
    return {name: "1", f"{name.removesuffix('.png')}-dark.png": "0"}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--olmc", default=f"{sys.executable} -m olmc")
    olmc = shlex.split(parser.parse_args().olmc)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("pictures need Chromium, which is not installed", file=sys.stderr)
        return 2
    digests = {}
    for name, picture in TABLE.items():
        with tempfile.TemporaryDirectory() as work:
            text = source_of(picture, olmc, Path(work) / "site")
            page = Path(work) / ("page.svg" if "<svg" in text[:100] else "page.html")
            page.write_text(text, encoding="utf-8")
            size = f"--window-size={picture.width},{picture.height}"
            for file, scheme in in_schemes(name).items():
                scheme = f"--blink-settings=preferredColorScheme={scheme}"
                shot = [chromium, *_CHROMIUM, scheme, size, f"--screenshot={PICTURES / file}", page.as_uri()]
                subprocess.run(shot, check=True, capture_output=True)
                print(f"docs/pictures/{file}")
        digests[name] = digest(text)
    SOURCES.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
