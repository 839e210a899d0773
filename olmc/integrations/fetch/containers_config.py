"""The configuration of podman and docker: credentials (containers-auth.json(5)) and mirrors
(containers-registries.conf(5))."""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.rules.findings import vendor as rules
from olmc.integrations.fetch.sources import Reference, VendorError, parse
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import mapping

HELPER_SECONDS = 30
# Docker keeps what it knows of Docker Hub under the address of that one's first API.
_DOCKER_HUB = "https://index.docker.io/v1/"
# A helper's name becomes part of a program's name, and must not turn it into a path.
_HELPER = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Credential(NamedTuple):
    """A user with a password, or a token that stands for both (then `user` is "")."""

    user: str
    secret: str


class AuthFile(NamedTuple):
    """The content of a file: entries by registry or repository, helpers by registry, and the helper for all of them."""

    path: Path
    auths: Mapping[str, Mapping[str, Any]]
    helpers: Mapping[str, str]
    store: str


def usual_auth_files(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return where podman and docker look, in this order; the first one with an entry counts."""
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
    auths = {_key(key): entry for key, entry in mapping(value.get("auths")).items() if isinstance(entry, dict)}
    helpers = {key: entry for key, entry in mapping(value.get("credHelpers")).items() if isinstance(entry, str)}
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
        # From what is configured for this registry alone to what is for all of them.
        helper = file.helpers.get(registry)
        if helper:
            credential = _from_helper(file, helper, registry)
            if credential is not None:
                return credential
        for key in _keys(registry, repository):
            credential = _from_entry(file, key) if key in file.auths else None
            if credential is not None:
                return credential
        credential = _from_helper(file, file.store, registry) if file.store else None
        if credential is not None:
            return credential
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
    """Return the credential of `docker-credential-HELPER`; None if it has none."""
    if not _HELPER.fullmatch(helper):
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=file.path, cause=f"{helper!r} is no helper's name")
    program = f"docker-credential-{helper}"
    server = _DOCKER_HUB if registry == "docker.io" else registry
    try:
        process = subprocess.run(
            [program, "get"], input=server, capture_output=True, text=True, timeout=HELPER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        cause = "it does not answer" if isinstance(error, subprocess.TimeoutExpired) else error
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause=cause) from error
    if process.returncode:
        text = (process.stdout + process.stderr).strip()
        # Helpers fail for a registry that they know nothing of; only the text tells that from a real failure.
        if "not found" in text.lower():
            return None
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause=text or "it failed")
    try:
        value = unmarshal(process.stdout)
        user, secret = str(value["Username"]), str(value["Secret"])
    except (ValueError, TypeError, KeyError) as error:
        raise VendorError(rules.BAD_AUTH_FILE, host=registry, path=program, cause="its answer is no JSON") from error
    if not secret:
        return None
    # So helpers mark an identity token, which is no password.
    return Credential("" if user == "<token>" else user, secret)


class MirrorLocation(NamedTuple):
    """A mirror: a reference, and whether its registry may be used without TLS or with an unknown certificate."""

    reference: Reference
    insecure: bool = False


class Mirror(NamedTuple):
    """A place that stands for a prefix; `pulls` says for which references: all, "digest-only" or "tag-only"."""

    location: str
    insecure: bool = False
    pulls: str = "all"


class Rewrite(NamedTuple):
    """The rewrite of images whose name begins with `prefix`: the mirrors to ask first, and the place of the images
    themselves.

    `path` is the file that contains it.
    """

    prefix: str
    mirrors: tuple[Mirror, ...] = ()
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    path: str = ""


def usual_registries_files(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """The files that podman reads, those that count less first."""
    if env.get("CONTAINERS_REGISTRIES_CONF"):
        return (Path(env["CONTAINERS_REGISTRIES_CONF"]),)
    config = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    paths: list[Path] = []
    for folder in (Path("/etc/containers"), config / "containers"):
        paths += [folder / "registries.conf", *sorted((folder / "registries.conf.d").glob("*.conf"))]
    return tuple(path for path in paths if path.is_file())


def read_rewrites(paths: Sequence[Path]) -> tuple[Rewrite, ...]:
    """Return the rewrites of registries.conf files; of two tables with one prefix the later one counts. Raises
    VendorError."""
    by_prefix: dict[str, Rewrite] = {}
    for path in paths:
        try:
            value = _toml(path.read_text(encoding="utf-8"))
            by_prefix |= {rewrite.prefix: rewrite for rewrite in (_rewrite(table, path) for table in _tables(value))}
        except (OSError, ValueError) as error:
            cause = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise VendorError(rules.BAD_MIRRORS, path=path, cause=cause) from error
    return tuple(by_prefix.values())


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:  # the parser calls itself for each list in a list, and knows no limit
        raise ValueError("its values are too deep in each other") from error


def _tables(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "registries" in value:
        raise ValueError("it is of version 1, which podman no longer reads either")
    tables = value.get("registry", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("registry is no list of tables")
    return tables


def _rewrite(table: Mapping[str, Any], path: Path) -> Rewrite:
    location = _text(table, "location")
    prefix = _text(table, "prefix") or location
    if not prefix:
        raise ValueError("a registry has neither prefix nor location")
    mirrors = []
    for mirror in table.get("mirror", []):
        pulls = _text(mirror, "pull-from-mirror") or ("digest-only" if table.get("mirror-by-digest-only") else "all")
        mirrors.append(Mirror(_text(mirror, "location"), bool(mirror.get("insecure")), pulls))
    return Rewrite(prefix, tuple(mirrors), location, bool(table.get("insecure")), bool(table.get("blocked")), str(path))


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value.rstrip("/")


def from_config(items: Sequence[Mapping[str, Any]]) -> tuple[Rewrite, ...]:
    """The mirrors that olmc.yaml names. They never count as insecure: the file may be untrusted input."""
    return tuple(
        Rewrite(item["prefix"], tuple(Mirror(each) for each in item["mirrors"]), path="olmc.yaml") for item in items
    )


def locations(image: str, own: Sequence[Rewrite], machine: Sequence[Rewrite] = ()) -> tuple[MirrorLocation, ...]:
    """Return where to look for an image, in order: the mirrors that the workspace names, those of the machine, its
    registry.

    Of each, what the longest prefix that fits says counts. Raises VendorError if the image is no reference, or blocked.
    """
    reference = parse(image)
    mirrored: list[MirrorLocation] = []
    home = MirrorLocation(reference)
    for rewrites in (own, machine):
        fitting = [
            (rewrite, suffix) for rewrite in rewrites if (suffix := _suffix(reference, rewrite.prefix)) is not None
        ]
        if not fitting:
            continue
        rule, suffix = max(fitting, key=lambda pair: len(pair[0].prefix))
        if rule.blocked:
            raise VendorError(rules.BLOCKED, image=image, path=rule.path, prefix=rule.prefix)
        kind = "digest-only" if reference.digest else "tag-only"
        mirrors = [mirror for mirror in rule.mirrors if mirror.pulls in ("all", kind)]
        mirrored += [
            MirrorLocation(_relocate(reference, mirror.location + suffix), mirror.insecure) for mirror in mirrors
        ]
        moves = rule.location and not rule.prefix.startswith("*.")
        home = MirrorLocation(_relocate(reference, rule.location + suffix) if moves else reference, rule.insecure)
    return (*mirrored, home)


def _suffix(reference: Reference, prefix: str) -> str | None:
    """Return the part of a name after a prefix, which ends where a part of it does; None if it does not begin so."""
    if prefix.startswith("*."):
        return f"/{reference.repository}" if reference.registry.endswith(prefix[1:]) else None
    name = reference.name
    if name == prefix or name.startswith(f"{prefix}/"):
        return name[len(prefix) :]
    return None


def _relocate(reference: Reference, name: str) -> Reference:
    tag = f":{reference.tag}" if reference.tag else ""
    return parse(f"{name}{tag}{f'@{reference.digest}' if reference.digest else ''}")
