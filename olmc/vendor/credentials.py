"""Credentials as podman and docker keep them: auth files and credential helpers (containers-auth.json(5))."""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from olmc.diagnostics.rules import vendor as rules
from olmc.gojson import unmarshal
from olmc.model.coerce import mapping
from olmc.vendor.sources import VendorError

HELPER_SECONDS = 30
_DOCKER_HUB = "https://index.docker.io/v1/"
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Credential(NamedTuple):
    """A user with a password, or a token that stands for both (then `user` is "")."""

    user: str
    secret: str


class AuthFile(NamedTuple):
    """What a file says: entries by registry or repository, helpers by registry, and the helper for all of them."""

    path: Path
    auths: Mapping[str, Mapping[str, Any]]
    helpers: Mapping[str, str]
    store: str


def usual_files(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Where podman and docker look, in this order; the first one with an entry counts."""
    if env.get("REGISTRY_AUTH_FILE"):
        return (Path(env["REGISTRY_AUTH_FILE"]),)
    runtime = [Path(env["XDG_RUNTIME_DIR"]) / "containers/auth.json"] if env.get("XDG_RUNTIME_DIR") else []
    config = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    docker = Path(env["DOCKER_CONFIG"]) if env.get("DOCKER_CONFIG") else home / ".docker"
    return (*runtime, config / "containers/auth.json", docker / "config.json")


def read_auth_files(paths: Sequence[Path], *, required: bool = False) -> tuple[AuthFile, ...]:
    """The files that exist; VendorError for one that can't be read, or that is not there although it is `required`."""
    return tuple(_read(path) for path in paths if required or path.is_file())


def _read(path: Path) -> AuthFile:
    try:
        value = unmarshal(path.read_bytes())
        if not isinstance(value, dict):
            raise ValueError("it is no JSON mapping")
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise VendorError(rules.BAD_AUTH_FILE, host="registries", path=path, cause=cause) from error
    auths = {_key(key): each for key, each in mapping(value.get("auths")).items() if isinstance(each, dict)}
    helpers = {key: each for key, each in mapping(value.get("credHelpers")).items() if isinstance(each, str)}
    store = value.get("credsStore")
    return AuthFile(path, auths, helpers, store if isinstance(store, str) else "")


def _key(key: str) -> str:
    """The registry, or registry and repository, that an entry is for: docker writes some as URLs."""
    plain = re.sub(r"^https?://", "", key)
    if plain != key:
        plain = re.sub(r"/v[12]/?$", "", plain)
    plain = plain.rstrip("/")
    return "docker.io" if plain in ("index.docker.io", "registry-1.docker.io") else plain


def credential_for(files: Sequence[AuthFile], registry: str, repository: str) -> Credential | None:
    """The credential for a repository: the most specific entry of the first file that has one, None for none.

    Raises VendorError if there is one that can't be read.
    """
    for file in files:
        helper = file.helpers.get(registry)
        if helper:
            found = _from_helper(file, helper, registry)
            if found is not None:
                return found
        for key in _keys(registry, repository):
            found = _from_entry(file, key) if key in file.auths else None
            if found is not None:
                return found
        found = _from_helper(file, file.store, registry) if file.store else None
        if found is not None:
            return found
    return None


def _keys(registry: str, repository: str) -> Iterator[str]:
    parts = [registry, *repository.split("/")]
    for length in range(len(parts), 0, -1):
        yield "/".join(parts[:length])


def _from_entry(file: AuthFile, key: str) -> Credential | None:
    entry = file.auths[key]
    token = entry.get("identitytoken")
    if isinstance(token, str) and token:
        return Credential("", token)
    auth = entry.get("auth")
    if isinstance(auth, str) and auth:
        try:
            user, colon, secret = base64.b64decode(auth, validate=True).decode().rstrip("\0").partition(":")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise VendorError(rules.BAD_AUTH_FILE, host=key, path=file.path, cause=f"auth: {error}") from error
        if not colon or not user:
            raise VendorError(rules.BAD_AUTH_FILE, host=key, path=file.path, cause="auth is not user:password")
        return Credential(user, secret)
    name, word = entry.get("username"), entry.get("password")
    return Credential(name, word) if isinstance(name, str) and isinstance(word, str) and name else None


def _from_helper(file: AuthFile, helper: str, registry: str) -> Credential | None:
    """What `docker-credential-HELPER` knows; None if that is nothing."""
    if not _HELPER.fullmatch(helper):
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=file.path, cause=f"{helper!r} is no helper's name")
    program = f"docker-credential-{helper}"
    server = _DOCKER_HUB if registry == "docker.io" else registry
    try:
        done = subprocess.run(
            [program, "get"], input=server, capture_output=True, text=True, timeout=HELPER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        cause = "it does not answer" if isinstance(error, subprocess.TimeoutExpired) else error
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause=cause) from error
    if done.returncode:
        text = (done.stdout + done.stderr).strip()
        if "not found" in text.lower():
            return None
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause=text or "it failed")
    try:
        value = unmarshal(done.stdout)
        user, secret = str(value["Username"]), str(value["Secret"])
    except (ValueError, TypeError, KeyError) as error:
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause="its answer is no JSON") from error
    if not secret:
        return None
    return Credential("" if user == "<token>" else user, secret)
