"""A certificate that the server signs for itself, as long as nobody gives it one."""

from __future__ import annotations

import base64
import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from olmc.output.directory import put
from olmc.yaml import dump_one

DAYS = 365
_LOCAL = ("localhost", "127.0.0.1", "::1")


class KeyPair(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


def self_signed(host: str) -> KeyPair:
    """A new certificate for a host, by name or address, and for the local machine; it is good for a year."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "olmc serve")])
    now = datetime.now(UTC)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _names(host: str) -> list[x509.GeneralName]:
    return [_name(each) for each in dict.fromkeys((*_LOCAL, host))]


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


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
