"""Mirrors: other places for an image, by its prefix, from olmc.yaml and containers-registries.conf(5)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from olmc.diagnostics.rules import vendor as rules
from olmc.vendor.sources import Reference, VendorError, parse


class MirrorLocation(NamedTuple):
    """Where to ask: a reference, and whether its registry may be asked without TLS or with a certificate unknown."""

    reference: Reference
    insecure: bool = False


class Mirror(NamedTuple):
    """A place that stands for a prefix; `pulls` says for which references: all, "digest-only" or "tag-only"."""

    location: str
    insecure: bool = False
    pulls: str = "all"


class Rewrite(NamedTuple):
    """What happens to images whose name begins with `prefix`: the mirrors to ask first, and where they themselves are.

    `path` is the file that says so.
    """

    prefix: str
    mirrors: tuple[Mirror, ...] = ()
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    path: str = ""


def usual_files(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """The files that podman reads, those that count less first."""
    if env.get("CONTAINERS_REGISTRIES_CONF"):
        return (Path(env["CONTAINERS_REGISTRIES_CONF"]),)
    config = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    found: list[Path] = []
    for folder in (Path("/etc/containers"), config / "containers"):
        found += [folder / "registries.conf", *sorted((folder / "registries.conf.d").glob("*.conf"))]
    return tuple(path for path in found if path.is_file())


def read_rewrites(paths: Sequence[Path]) -> tuple[Rewrite, ...]:
    """What registries.conf files say; of two tables with one prefix the later one counts. Raises VendorError."""
    found: dict[str, Rewrite] = {}
    for path in paths:
        try:
            value = tomllib.loads(path.read_text(encoding="utf-8"))
            found |= {each.prefix: each for each in (_rewrite(table, path) for table in _tables(value))}
        except (OSError, ValueError) as error:
            cause = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise VendorError(rules.BAD_MIRRORS, path=path, cause=cause) from error
    return tuple(found.values())


def _tables(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "registries" in value:
        raise ValueError("it is of version 1, which podman no longer reads either")
    tables = value.get("registry", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ValueError("registry is no list of tables")
    return tables


def _rewrite(table: Mapping[str, Any], path: Path) -> Rewrite:
    location = _text(table, "location")
    prefix = _text(table, "prefix") or location
    if not prefix:
        raise ValueError("a registry has neither prefix nor location")
    mirrors = []
    for each in table.get("mirror", []):
        pulls = _text(each, "pull-from-mirror") or ("digest-only" if table.get("mirror-by-digest-only") else "all")
        mirrors.append(Mirror(_text(each, "location"), bool(each.get("insecure")), pulls))
    return Rewrite(prefix, tuple(mirrors), location, bool(table.get("insecure")), bool(table.get("blocked")), str(path))


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is no text")
    return value.rstrip("/")


def from_config(items: Sequence[Mapping[str, Any]]) -> tuple[Rewrite, ...]:
    """The mirrors that olmc.yaml names. They never count as insecure: the file may be a stranger's."""
    return tuple(
        Rewrite(item["prefix"], tuple(Mirror(each) for each in item["mirrors"]), path="olmc.yaml") for item in items
    )


def locations(image: str, own: Sequence[Rewrite], machine: Sequence[Rewrite] = ()) -> tuple[MirrorLocation, ...]:
    """Where to look for an image, in order: the mirrors that the workspace names, those of the machine, its registry.

    Of each, what the longest prefix that fits says counts. Raises VendorError if the image is no reference, or blocked.
    """
    reference = parse(image)
    found: list[MirrorLocation] = []
    home = MirrorLocation(reference)
    for rewrites in (own, machine):
        fitting = [(each, rest) for each in rewrites if (rest := _rest(reference, each.prefix)) is not None]
        if not fitting:
            continue
        rule, rest = max(fitting, key=lambda pair: len(pair[0].prefix))
        if rule.blocked:
            raise VendorError(rules.BLOCKED, image=image, path=rule.path, prefix=rule.prefix)
        kind = "digest-only" if reference.digest else "tag-only"
        mirrors = [mirror for mirror in rule.mirrors if mirror.pulls in ("all", kind)]
        found += [MirrorLocation(_moved(reference, mirror.location + rest), mirror.insecure) for mirror in mirrors]
        moves = rule.location and not rule.prefix.startswith("*.")
        home = MirrorLocation(_moved(reference, rule.location + rest) if moves else reference, rule.insecure)
    return (*found, home)


def _rest(reference: Reference, prefix: str) -> str | None:
    """What of a name comes after a prefix, which ends where a part of it does; None if it does not begin so."""
    if prefix.startswith("*."):
        return f"/{reference.repository}" if reference.registry.endswith(prefix[1:]) else None
    name = reference.name
    if name == prefix or name.startswith(f"{prefix}/"):
        return name[len(prefix) :]
    return None


def _moved(reference: Reference, name: str) -> Reference:
    tag = f":{reference.tag}" if reference.tag else ""
    return parse(f"{name}{tag}{f'@{reference.digest}' if reference.digest else ''}")
