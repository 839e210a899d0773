"""The vectors of the real controller's functions, which lie in the shared folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def cases(shared: Path, name: str) -> list[dict[str, Any]]:
    """The cases of a file of vectors."""
    content: dict[str, list[dict[str, Any]]] = json.loads(
        gzip.decompress((shared / "spec" / "v1" / f"{name}.json.gz").read_bytes())
    )
    return content["cases"]
