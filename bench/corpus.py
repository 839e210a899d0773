"""The real bundles and catalogs that some figures are about: the folder `corpus` beside the specification."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from pathlib import Path

SHARED = Path(os.environ.get("OLMC_SHARED", Path(__file__).resolve().parent.parent.parent / "shared"))


def unpacked(archive: Path) -> Path:
    """The folder with the content of the archive, unpacked once below the system's temporary folder."""
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    target = Path(tempfile.gettempdir(), f"olmc-corpus-{os.getuid()}-{digest}")
    if not target.is_dir():
        partial = Path(tempfile.mkdtemp(dir=target.parent))
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        partial.rename(target)
    return target
