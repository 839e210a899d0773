"""The kubeconfig by which kubectl finds a server and trusts its certificate."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from olmc.emit.files import put
from olmc.yaml import dump_one

MARK = "# Written by olmc serve; changes will be lost."
_NAME = "olmc"


def kubeconfig(address: str, certificate: bytes | None) -> str:
    """The text of a kubeconfig for a server at an address, with the certificate to trust (None: plain HTTP)."""
    cluster = {"server": address}
    if certificate is not None:
        cluster["certificate-authority-data"] = base64.b64encode(certificate).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "namespace": "default", "user": _NAME}}],
        "current-context": _NAME,
        # The server asks nobody who they are, but kubectl asks its user unless there is something to show.
        "users": [{"name": _NAME, "user": {"token": "anybody"}}],
    }
    return f"{MARK}\n{dump_one(config)}"


def check_kubeconfig(path: Path) -> None:
    """Raise OSError where there is a file that olmc did not write, or no file can be."""
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file() or not _is_ours(path)):
        raise FileExistsError("it exists, and olmc did not write it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")


def write_kubeconfig(path: Path, text: str) -> None:
    """Write the text to a file that only its owner can read; OSError as `check_kubeconfig`."""
    check_kubeconfig(path)
    put(path, text, mode=0o600)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()
