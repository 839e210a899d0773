"""What olmc consists of, as a bill of materials (CycloneDX): itself, and the libraries that requirements pin.

`python .ci/bill_of_materials.py REQUIREMENTS [BASE] > olmc.cdx.json`; `make sbom` writes
it for the wheel, and for an image on top of BASE, NAME@sha256:…, which it names as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from olmc.version import __version__

_LINE = re.compile(r"^([a-z0-9.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def bill_of_materials(requirements: str, base: str = "") -> str:
    """The bill as JSON: olmc, each library of a requirements file with the hashes of its files, and the image below.

    The same input gives the same bytes: its serial number is made of its content, and it names no time.
    """
    own = _library("olmc", __version__)
    libraries = [
        {**_library(name, version), "hashes": [{"alg": "SHA-256", "content": one} for one in _digests(hashes)]}
        for name, version, hashes in _LINE.findall(requirements)
    ]
    components = [*libraries, *([_image(base)] if base else [])]
    below = [component["bom-ref"] for component in components]
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "type": "application", "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": below}, *({"ref": ref} for ref in below)],
    }
    digest = hashlib.sha256(json.dumps(bill, sort_keys=True).encode()).digest()
    serial = {"serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"}
    return json.dumps(serial | bill, indent=2) + "\n"


def _library(name: str, version: str) -> dict[str, Any]:
    url = f"pkg:pypi/{name}@{version}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}


def _digests(hashes: str) -> list[str]:
    return re.findall(r"sha256:([0-9a-f]{64})", hashes)


def _image(base: str) -> dict[str, Any]:
    name, _, digest = base.partition("@")
    url = f"pkg:oci/{name.rpartition('/')[2].partition(':')[0]}@{digest.replace(':', '%3A')}?repository_url={name}"
    return {"type": "container", "bom-ref": url, "name": name, "version": digest, "purl": url}


if __name__ == "__main__":
    sys.stdout.write(bill_of_materials(Path(sys.argv[1]).read_text(encoding="utf-8"), *sys.argv[2:3]))
