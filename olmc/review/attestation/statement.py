"""Statements about outputs as in-toto and SLSA write them: the digests of what came out, of what was read, and how."""

from __future__ import annotations

import errno
import hashlib
import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

from olmc.compiler.load.files import real_path, scan
from olmc.compiler.load.json_schema import problems
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple
from olmc.resources import docs_url
from olmc.version import __version__

SUFFIX = ".intoto.jsonl"
"""The suffix that the name of a statement adds to that of the output. No tool takes it for a manifest."""

_STATEMENT, _PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
_CHUNK = 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024


class RenderStatement(NamedTuple):
    """A statement: the digests (SHA-256) of the outputs and of the inputs by their names, the arguments and variables
    of the command, and the version of olmc."""

    outputs: Mapping[str, str]
    inputs: Mapping[str, str]
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    version: str = __version__


class Deviation(NamedTuple):
    """A file that is not as a statement has it: "changed", "missing", or "not in the statement"."""

    name: str
    problem: str


def statement_text(statement: RenderStatement) -> str:
    """The statement as one line of JSON; the same for the same statement, with neither a time nor a place in it."""
    parameters = {"arguments": statement.arguments, "variables": dict(sorted(statement.variables.items()))}
    value = {
        "_type": _STATEMENT,
        "subject": list(_artifacts(statement.outputs)),
        "predicateType": _PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": docs_url("provenance.html"),
                "externalParameters": parameters,
                "resolvedDependencies": list(_artifacts(statement.inputs)),
            },
            "runDetails": {"builder": {"id": docs_url("provenance.html"), "version": {"olmc": statement.version}}},
        },
    }
    return json.dumps(value, separators=(",", ":")) + "\n"


def _artifacts(digests: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, digest in sorted(digests.items()):
        yield {"name": name, "digest": {"sha256": digest}}


def read_statement(path: Path, report: Report) -> RenderStatement | None:
    """The statement in a file; None, with a finding in `report`, if there is none that `olmc render` could have made.

    A statement is an untrusted file like every other: names that lead out of where they belong are refused.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        value = json.loads(data, object_pairs_hook=_with_each_key_once)
        if wrong := problems("provenance", value):
            raise ValueError(f"{'.'.join(map(str, wrong[0].keys)) or 'it'} {wrong[0].text}")
        definition, details = value["predicate"]["buildDefinition"], value["predicate"]["runDetails"]
        outputs, inputs = _digests(value["subject"]), _digests(definition["resolvedDependencies"])
        if outside := [name for name in outputs if not is_inside(name)]:
            raise ValueError(f"{outside[0]!r} is no name of an output")
    except OSError as error:
        report.add(rules.BAD_STATEMENT.finding(None, path=path, problem=error.strerror or str(error)))
        return None
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        report.add(rules.BAD_STATEMENT.finding(Location(path.as_posix()), path=path, problem=problem))
        return None
    parameters = definition["externalParameters"]
    version = details["builder"]["version"]["olmc"]
    return RenderStatement(outputs, inputs, tuple(parameters["arguments"]), parameters["variables"], version)


def _with_each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; raises ValueError for a key that stands twice, of which other programs read the first."""
    value: dict[str, Any] = {}
    for key, below in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} stands twice")
        value[key] = below
    return value


def _digests(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Read the digests of files by name; raises ValueError for a name with two."""
    digests: dict[str, str] = {}
    for artifact in artifacts:
        name, digest = artifact["name"], artifact["digest"]["sha256"]
        if digests.setdefault(name, digest) != digest:
            raise ValueError(f"{name!r} has two digests")
    return digests


def is_inside(name: str) -> bool:
    """Return whether a name stays in the folder that it is relative to."""
    return not posixpath.isabs(name) and "\0" not in name and posixpath.normpath(name) == name and name[:3] != "../"


def digest_of(parts: Iterable[bytes]) -> str:
    """The digest of a text as it is written, part by part."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """The digest of a file; raises OSError, also for what is none: a device has no end, and a pipe waits."""
    if not S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(path))
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def inputs_below(roots: Mapping[str, Path], files: Mapping[str, Path], left_out: Sequence[Path]) -> dict[str, str]:
    """The digests of all files in workspaces, and of further files, by the names that roots and files have.

    That is every file which olmc may read there, whether it did or not: one that comes later changes what comes out as
    well. What lies at or below `left_out` is no input. Raises OSError.
    """
    excluded = [real_path(path) for path in left_out]
    digests = {}
    for root, folder in roots.items():
        for name in scan(folder, Report()).walk():
            path = real_path(folder / name)
            if not any(path.is_relative_to(one) for one in excluded):
                digests[posixpath.normpath(posixpath.join(root, name))] = file_digest(path)
    return digests | {name: file_digest(path) for name, path in files.items()}


def outputs_in(path: Path) -> dict[str, str]:
    """The digests of the files in a folder, at any depth, or of a file, which has the name ""; raises OSError.

    A link has the digest "": olmc writes none, and its target may change after it was looked at.
    """
    if not path.is_dir():
        return {"": file_digest(path)}
    paths = (one for one in sorted(path.rglob("*")) if one.is_symlink() or not one.is_dir())
    return {one.relative_to(path).as_posix(): "" if one.is_symlink() else file_digest(one) for one in paths}


def deviations(stated: Mapping[str, str], present: Mapping[str, str]) -> list[Deviation]:
    """Yield the deviations from the statement, by name."""
    names = sorted(stated.keys() | present.keys())
    return [
        Deviation(
            name, "not in the statement" if name not in stated else "missing" if name not in present else "changed"
        )
        for name in names
        if stated.get(name) != present.get(name)
    ]
