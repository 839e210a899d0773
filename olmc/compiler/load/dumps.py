"""Dumps of a cluster: the texts in what kubectl prints, in folders of such files, and in must-gather folders and
archives. An archive is read where it lies; nothing of it is ever written anywhere."""

from __future__ import annotations

import gzip
import io
import re
import sys
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from olmc.compiler.load.files import MAX_FILE_BYTES, decode_utf8, read_text, scan
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.rules.findings import cluster_state as state_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import FILE_BYTES
from olmc.k8s.yaml.rules import too_large
from olmc.k8s.yaml.split import SEPARATOR

MAX_ARCHIVE_BYTES = 16 * MAX_FILE_BYTES
"""How much an archive may hold, unpacked; must-gathers are mostly logs, and have some hundred megabytes."""
MAX_MEMBERS = 1_000_000
MAX_TABLES = 16
STREAM = "-"

_CHUNK = 1 << 20

_TABLES = (".txt",)
# Where `oc adm inspect`, which writes must-gathers, keeps objects.
_OF_MUST_GATHER = regex(r"(^|/)(cluster-scoped-resources|namespaces)/")
# What changes all the time, is most of a must-gather, and nobody asks for.
_NEVER_ASKED = regex(
    r"/(pods|events|leases|nodes|endpoints|endpointslices|replicasets|replicationcontrollers|machineconfigs|images|"
    r"imagestreams|controllerrevisions|packagemanifests|certificatesigningrequests)([./]|$)"
)
_TAR_MAGIC = (257, b"ustar")
_GZIP_MAGIC = b"\x1f\x8b"
_TABLE = regex(r"^NAME +SHORTNAMES +API(VERSION|GROUP)\b.*$", re.MULTILINE)
_NO_LINE_BREAK = regex(r"[^\n]+")


class DumpText(NamedTuple):
    """A part of a dump: the name of its file for messages, its text, and whether that is the table of
    `kubectl api-resources`. In a part of a file all other lines are empty, so that places are right."""

    name: str
    text: str
    is_table: bool = False


def dump_texts(path: Path, report: Report) -> Iterator[DumpText]:
    """The texts of the file, the folder or the archive `path`, or of stdin for `-`, in their order; what can't be read
    goes to `report`."""
    for name, text in _texts(path, report):
        yield from _parts(name, text, report)


def _texts(path: Path, report: Report) -> Iterator[tuple[str, str]]:
    if str(path) == STREAM:
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        yield from _of_stream("stdin", io.BytesIO(data), len(data), report)
    elif path.is_dir():
        for name in _wanted(list(scan(path, report, ignore_file=False).walk())):
            text = read_text(path, name, report)
            if text is not None:
                yield str(path / name), text
    else:
        try:
            with path.open("rb") as stream:
                size = 0 if _is_archive(stream) else stream.seek(0, io.SEEK_END)
                stream.seek(0)
                yield from _of_stream(str(path), stream, size, report)
        except (OSError, ValueError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            report.add(rules.UNREADABLE.finding(Location(str(path)), path=str(path), cause=cause))


def _wanted(names: list[str]) -> Iterator[str]:
    """The files that can hold what is asked for; in a must-gather only those that hold objects."""
    is_must_gather = any(_OF_MUST_GATHER.search(name) for name in names)
    for name in names:
        if is_must_gather and (not _OF_MUST_GATHER.search(name) or _NEVER_ASKED.search(name)):
            continue
        if name.endswith(SUFFIXES) or (name.endswith(_TABLES) and not is_must_gather):
            yield name


def _is_archive(stream: IO[bytes]) -> bool:
    head = stream.read(_TAR_MAGIC[0] + len(_TAR_MAGIC[1]))
    stream.seek(0)
    return head.startswith(_GZIP_MAGIC) or head[_TAR_MAGIC[0] :] == _TAR_MAGIC[1]


def _of_stream(name: str, stream: IO[bytes], size: int, report: Report) -> Iterator[tuple[str, str]]:
    """The texts of what a stream holds: of a text itself, of an archive its files."""
    if _is_archive(stream):
        yield from _of_archive(name, stream, report)
    elif size > MAX_FILE_BYTES:
        report.add(too_large(name, FILE_BYTES, size))
    else:
        data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:  # a device says that it has none
            report.add(too_large(name, FILE_BYTES))
            return
        text = decode_utf8(name, data, report)
        if text is not None:
            yield name, text


class _TooMuchError(Exception):
    """An archive holds more than anybody reads."""


@dataclass(slots=True)
class _Bounded:
    """A stream of which no single read, nor all of them, gives more than its bounds: tarfile believes any header."""

    stream: IO[bytes]

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_FILE_BYTES or self.stream.tell() + size > MAX_ARCHIVE_BYTES:
            raise _TooMuchError
        return self.stream.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset > MAX_ARCHIVE_BYTES:
            raise _TooMuchError
        return self.stream.seek(offset)

    def tell(self) -> int:
        return self.stream.tell()


def _of_archive(name: str, stream: IO[bytes], report: Report) -> Iterator[tuple[str, str]]:
    is_zipped = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    stream.seek(0)
    plain: IO[bytes] = gzip.GzipFile(fileobj=stream) if is_zipped else stream  # type: ignore[assignment]
    try:
        if is_zipped and not _is_archive(plain):
            data = plain.read(MAX_FILE_BYTES + 1)
            yield from _of_stream(name, io.BytesIO(data), len(data), report)
            return
        bounded = _Bounded(plain)
        with tarfile.open(fileobj=bounded, mode="r:") as archive:  # type: ignore[call-overload]
            members = _regular_members(name, archive, report)
            _read_to_the_end(bounded, archive.offset)
            yield from _contents(name, archive, members, report)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError) as error:
        problem = f"the archive is damaged ({str(error) or type(error).__name__})"
        hint = "Make it again; `tar -tf` says whether it can be read."
        report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))
    except _TooMuchError:
        problem = f"the archive holds more than olmc reads: {MAX_ARCHIVE_BYTES:,} bytes, or {MAX_MEMBERS:,} files"
        hint = "Unpack it, and give the folders namespaces and cluster-scoped-resources in it."
        report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))


def _read_to_the_end(stream: _Bounded, offset: int) -> None:
    """Make sure that an archive ends where tarfile stops: it takes whatever is no header for the end, and checksums
    stand behind everything else. Raises what reading raises."""
    stream.seek(offset)
    if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it breaks off")
    while stream.read(min(_CHUNK, MAX_FILE_BYTES)):
        pass


def _regular_members(name: str, archive: tarfile.TarFile, report: Report) -> dict[str, tarfile.TarInfo]:
    """The files in an archive by their names, of several with one name the last; all else is reported."""
    members: dict[str, tarfile.TarInfo] = {}
    for number, member in enumerate(archive):
        if number == MAX_MEMBERS:
            raise _TooMuchError
        if member.isreg() and not member.issparse():
            members[member.name] = member
        elif not member.isdir():
            where = "or something else that is no file, in an archive"
            hint = "Nothing is to be done unless it stands for objects."
            place = Location(f"{name}/{member.name}")
            report.add(rules.OUTSIDE.finding(place, path=member.name, where=where, hint=hint))
    return members


def _contents(
    name: str, archive: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], report: Report
) -> Iterator[tuple[str, str]]:
    # Read in the order in which they lie there: going back would unpack all of it once more.
    for path in sorted(_wanted(list(members)), key=lambda path: members[path].offset_data):
        size, shown = members[path].size, f"{name}/{path}"
        if size > MAX_FILE_BYTES:
            report.add(too_large(shown, FILE_BYTES, size))
            continue
        content = archive.extractfile(members[path])
        text = decode_utf8(shown, content.read(), report) if content is not None else None
        if text is not None:
            yield shown, text


def _parts(name: str, text: str, report: Report) -> Iterator[DumpText]:
    """The tables of a text, each by itself, and the rest."""
    ranges: list[tuple[int, int]] = []
    for match in _TABLE.finditer(text):
        if ranges and match.start() < ranges[-1][1]:
            continue  # a line of the table before
        if len(ranges) == MAX_TABLES:
            problem, hint = f"it has more than {MAX_TABLES} tables of APIs", "Give the table of one cluster, once."
            report.add(state_rules.NO_STATE.finding(Location(name), problem=problem, hint=hint))
            return
        following = text.find(f"\n{SEPARATOR}", match.end()) + 1
        ranges.append((match.start(), following or len(text)))
    rest = text
    for start, end in ranges:
        yield DumpText(name, _blank(text[:start]) + text[start:end], is_table=True)
        rest = rest[:start] + _NO_LINE_BREAK.sub(lambda line: " " * len(line[0]), text[start:end]) + rest[end:]
    if not ranges or rest.strip():
        yield DumpText(name, rest)


def _blank(text: str) -> str:
    """As many lines, all empty."""
    return "\n" * text.count("\n")
