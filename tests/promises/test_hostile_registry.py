"""A registry that answers with whatever it likes: real HTTP, and nothing of it is written."""

from __future__ import annotations

import gzip
import io
import json
import resource
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copytree, ignore_patterns
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread

import pytest
import zstandard
from click.testing import CliRunner
from cpu_time import measure
from image_kit import CATALOG_LABELS, Image, catalog_image, digest, folder_files, image, member, packed, tar
from running import tree
from tiers import sampled

from olmc.cli.main import main
from olmc.integrations.fetch.layers import LayerLimits, Tree, add_layer

# What to answer to a path: a status, headers (Content-Length is added unless it is there), and a body.
Answer = tuple[int, Mapping[str, str], bytes]
Twist = Callable[[str, Answer], Answer]


@contextmanager
def serving(made: Image, twist: Twist = lambda _, answer: answer) -> Iterator[tuple[str, list[str]]]:
    """Host and port of a registry with one image, whose answers go through `twist`; and the paths it was asked for."""
    seen: list[str] = []
    blobs = {f"/v2/harbour/blobs/{key}": data for key, (_, data) in made.parts.items()}

    def answer_to(path: str) -> Answer:
        if path.startswith("/v2/harbour/manifests/"):
            return 200, {"Content-Type": made.media_type}, made.data
        return (200, {}, blobs[path]) if path in blobs else (200 if path == "/v2/" else 404, {}, b"")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append(self.path)
            status, headers, body = twist(self.path, answer_to(self.path))
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | dict(headers)).items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(body)
            if "Content-Length" in headers:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def workspace(project: Path, tmp_path: Path) -> Path:
    """A workspace whose catalog is an image at HOST."""
    root = tmp_path / "w"
    copytree(project / "fixtures/own-namespace", root, ignore=ignore_patterns("catalogs"))
    cluster = root / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("address: fbc:harbour", "image: HOST/harbour:v1"))
    assert "HOST" in cluster.read_text()
    return root


def vendored(workspace: Path, host: str, *options: str) -> tuple[int, str]:
    """What `olmc vendor` ends with, and says; it is impatient here."""
    cluster = workspace / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("HOST", host))
    result = CliRunner().invoke(main, ["vendor", str(workspace), "--retries", "0", "--timeout", "5", *options])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def check_refused(workspace: Path, made: Image, twist: Twist = lambda _, answer: answer) -> str:
    """That vendoring fails in words, and changes nothing at all in the workspace or around it."""
    with serving(made, twist) as (host, _):
        cluster = workspace / "cluster.yaml"
        cluster.write_text(cluster.read_text().replace("HOST", host))
        before = tree(workspace.parent)
        code, said = vendored(workspace, host)
    assert code == 3, said
    assert "[OLMC" in said
    assert tree(workspace.parent) == before
    return said


@pytest.fixture
def catalog(project: Path) -> Path:
    return project / "fixtures/own-namespace/catalogs/harbour"


def test_an_honest_registry_is_believed(workspace: Path, catalog: Path) -> None:
    """Else the tests below would say nothing."""
    with serving(catalog_image(catalog)) as (host, seen):
        code, said = vendored(workspace, host)
    assert code == 0, said
    assert any("/blobs/" in path for path in seen)
    assert list((workspace / "vendor").rglob("catalog.yaml"))


def for_blobs(change: Callable[[bytes], tuple[Mapping[str, str], bytes]]) -> Twist:
    def twist(path: str, answer: Answer) -> Answer:
        return (200, *change(answer[2])) if "/blobs/" in path else answer

    return twist


def for_manifests(change: Callable[[bytes], tuple[Mapping[str, str], bytes]]) -> Twist:
    def twist(path: str, answer: Answer) -> Answer:
        return (200, *change(answer[2])) if "/manifests/" in path else answer

    return twist


LIES: Mapping[str, Twist] = {
    "another blob": for_blobs(lambda data: ({}, bytes([data[0] ^ 1]) + data[1:])),
    "a longer blob": for_blobs(lambda data: ({}, data + b"\0")),
    "a shorter blob": for_blobs(lambda data: ({}, data[:-1])),
    "no blob": for_blobs(lambda _: ({}, b"")),
    "a blob that promises more": for_blobs(lambda data: ({"Content-Length": str(len(data) + 9)}, data)),
    "a blob that promises less": for_blobs(lambda data: ({"Content-Length": str(len(data) - 9)}, data)),
    "a huge length": for_blobs(lambda data: ({"Content-Length": "9" * 30}, data)),
    "chunks that are none": for_blobs(
        lambda _: ({"Transfer-Encoding": "chunked", "Content-Length": "0"}, b"zz\r\nx\r\n")
    ),
    "a packed transfer": for_blobs(lambda data: ({"Content-Encoding": "gzip"}, gzip.compress(data))),
    "a manifest of another type": for_manifests(lambda _: ({"Content-Type": "text/html"}, b"<html>")),
    "a huge manifest": for_manifests(lambda _: ({}, b" " * 20_000_000)),
    "a manifest of many layers": for_manifests(
        lambda data: ({}, json.dumps({**json.loads(data), "layers": json.loads(data)["layers"] * 5000}).encode())
    ),
    "a manifest with a digest that is a path": for_manifests(
        lambda data: (
            {},
            data.replace(json.loads(data)["layers"][0]["digest"].encode(), b"sha256:../../../../etc/passwd"),
        )
    ),
    "an index of itself": for_manifests(
        lambda data: (
            {"Content-Type": "application/vnd.oci.image.index.v1+json"},
            json.dumps(
                {"schemaVersion": 2, "manifests": [{"digest": digest(data), "size": 1, "mediaType": "x"}] * 9}
            ).encode(),
        )
    ),
    "a deep manifest": for_manifests(lambda _: ({}, b"[" * 200_000)),
    "a redirect without end": lambda path, answer: (302, {"Location": path}, b"") if "/v2/h" in path else answer,
    "a redirect to a file": lambda path, answer: (
        (307, {"Location": "file:///etc/passwd"}, b"") if "/blobs/" in path else answer
    ),
    "a redirect to nowhere": lambda path, answer: (
        (302, {"Location": "http://[::1"}, b"") if "/blobs/" in path else answer
    ),
    "a token service that is no address": lambda *_: (401, {"WWW-Authenticate": 'Bearer realm="http://[::1"'}, b""),
    "a redirect with a line break": lambda path, answer: (
        (302, {"Location": "http://127.0.0.1:1/a%0d%0aX: y"}, b"") if "/blobs/" in path else answer
    ),
    "an error of 3 MB": lambda *_: (403, {}, b'{"errors": [{"code": "\x1b[2J' + b"x" * 3_000_000 + b'"}]}'),
    "a challenge of nonsense": lambda *_: (401, {"WWW-Authenticate": 'Bearer realm=,="x",,service'}, b""),
    "a token service elsewhere": lambda *_: (401, {"WWW-Authenticate": 'Bearer realm="file:///etc/passwd"'}, b""),
}


HARMLESS: Mapping[str, Twist] = {
    "a length below zero": for_blobs(lambda data: ({"Content-Length": "-5"}, data)),
    "a length that is none": for_blobs(lambda data: ({"Content-Length": "many"}, data)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_the_digest_proves_counts(name: str, workspace: Path, catalog: Path) -> None:
    """Whatever is said about the length."""
    with serving(catalog_image(catalog), HARMLESS[name]) as (host, _):
        code, said = vendored(workspace, host)
    assert code == 0, said


@pytest.mark.parametrize("name", sampled(LIES, 3))
def test_a_lie_is_refused(name: str, workspace: Path, catalog: Path) -> None:
    seconds = measure()
    said = check_refused(workspace, catalog_image(catalog), LIES[name])
    assert "\x1b" not in said
    assert len(said) < 5000
    assert seconds() < 5


def in_catalog(
    *members: tuple[str, str | bytes] | tarfile.TarInfo, compression: str = "gzip"
) -> Callable[[Path], Image]:
    def made(catalog: Path) -> Image:
        layer = tar(member("configs", type=tarfile.DIRTYPE), *folder_files(catalog, "configs/"), *members)
        return image([packed(layer, compression)], CATALOG_LABELS)

    return made


def before_catalog(info: tarfile.TarInfo) -> Callable[[Path], Image]:
    """The image of a catalog with the header of a member before all others."""
    head = info.tobuf(tarfile.GNU_FORMAT)
    return lambda catalog: image([packed(head + tar(*folder_files(catalog, "configs/")))], CATALOG_LABELS)


def sparse(name: str, real_size: int) -> bytes:
    """An old sparse member of GNU tar: one byte in the archive, and said to be far larger with its holes."""
    info = tarfile.TarInfo(name)
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (real_size - 512, 512)
    header[483:495] = b"%011o\0" % real_size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"x" * 512


def bomb(compression: str, size: int = 2 * 1024**3) -> bytes:
    """A layer that is small until it is unpacked: one file of zeros, of more bytes than a layer may have."""
    info = tarfile.TarInfo("zeros")
    info.size = size
    head, block = info.tobuf(tarfile.PAX_FORMAT), bytes(1 << 20)
    if compression == "zstd":
        compressor = zstandard.ZstdCompressor(level=1).compressobj()
        parts = [
            compressor.compress(head),
            *(compressor.compress(block) for _ in range(size >> 20)),
            compressor.flush(),
        ]
        return b"".join(parts)
    packed_block = io.BytesIO()
    with gzip.GzipFile(fileobj=packed_block, mode="wb", mtime=0) as stream:
        stream.write(bytes(64 << 20))
    # Members of gzip behind each other are one stream.
    return gzip.compress(head, mtime=0) + packed_block.getvalue() * (size >> 26)


def header(name: str, content: bytes = b"", **fields: bytes | str) -> bytes:
    """A member with raw fields of its header, whatever Python would write: magic, prefix, trailer, type."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    raw = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    for field, value in fields.items():
        start, end = {"type": (156, 157), "magic": (257, 265), "prefix": (345, 500), "trailer": (508, 512)}[field]
        data = value.encode() if isinstance(value, str) else value
        raw[start:end] = data.ljust(end - start, b"\0")
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw) + content + bytes(-len(content) % 512)


def records(kind: str, **fields: str) -> bytes:
    """An extended header: of the next file ("x") or of all that follow ("g")."""
    lines = b""
    for field, value in fields.items():
        line = f" {field}={value}\n"
        size = len(line) + 1
        while len(f"{size}{line}") != size:
            size = len(f"{size}{line}")
        lines += f"{size}{line}".encode()
    return header("PaxHeader", lines, type=kind)


def long_name(name: str) -> bytes:
    return header("././@LongLink", name.encode() + b"\0", type="L", magic=b"ustar  \0")


def with_raw(*parts: bytes) -> Callable[[Path], Image]:
    """The image of a catalog with raw members before the others."""
    return lambda catalog: image([packed(b"".join(parts) + tar(*folder_files(catalog, "configs/")))], CATALOG_LABELS)


_EVIL = header("configs/evil.yaml", b"{}")

# Archives of which Python reads other names than the container runtimes of clusters, which are in Go.
TWO_READINGS: Mapping[str, Callable[[Path], Image]] = {
    "a name for all that follow": with_raw(records("g", path="readme"), _EVIL),
    "a size for all that follow": with_raw(records("g", size="0"), _EVIL),
    "a name for all, and none for the next": with_raw(records("g", path="readme"), records("x", mtime="1"), _EVIL),
    "a prefix without a format": with_raw(header("configs/evil.yaml", b"{}", magic=b"", prefix="usr")),
    "a prefix in a format of GNU": with_raw(header("configs/evil.yaml", b"{}", magic=b"ustar  \0", prefix="usr")),
    "a prefix of star": with_raw(header("configs/evil.yaml", b"{}", prefix="usr", trailer=b"tar\0")),
    "two names": with_raw(records("x", path="readme"), records("x", path="configs/evil.yaml"), _EVIL),
    "a long name within another header": with_raw(records("x", path="readme"), long_name("configs/evil.yaml"), _EVIL),
    "another header within a long name": with_raw(long_name("configs/evil.yaml"), records("x", path="readme"), _EVIL),
    "two long names": with_raw(long_name("readme"), long_name("configs/evil.yaml"), _EVIL),
    "an empty name": with_raw(records("x", path=""), _EVIL),
    "a header of Solaris": with_raw(records("X", path="readme"), _EVIL),
    "a name of a sparse file": with_raw(records("x", **{"GNU.sparse.name": "readme"}), _EVIL),
    "a header for all between two": with_raw(records("x", path="readme"), records("g", comment="x"), _EVIL),
    "a link into the content": in_catalog(member("a", type=b"2", linkname="configs"), ("a/evil.yaml", "{}")),
    "links into the content": in_catalog(
        member("a", type=b"2", linkname="b/c"), member("b/c", type=b"2", linkname="/configs"), ("a/evil.yaml", "{}")
    ),
    "a link to what holds the content": in_catalog(member("a", type=b"2", linkname="."), ("a/configs/evil.yaml", "{}")),
    "a whiteout by a link": in_catalog(member("a", type=b"2", linkname="x/../configs"), ("a/.wh.catalog.yaml", "")),
    "a link within the content": in_catalog(member("configs/a", type=b"2", linkname="../b"), ("configs/a/x.yaml", "")),
    "a link of a layer below": lambda catalog: image(
        [packed(tar(member("a", type=b"2", linkname="/configs"), *folder_files(catalog, "configs/"))),
         packed(tar(("a/evil.yaml", "{}")))], CATALOG_LABELS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO_READINGS)
def test_an_archive_with_two_readings_is_refused(name: str, workspace: Path, catalog: Path) -> None:
    check_refused(workspace, TWO_READINGS[name](catalog))


ONE_READING: Mapping[str, Callable[[Path], Image]] = {
    "a comment for all": with_raw(records("g", comment="0123"), header("readme", b"x")),
    "a long name and a long link": with_raw(
        long_name("readme"), header("././@LongLink", b"x\0", type="K", magic=b"ustar  \0"), header("r", type="2")
    ),
    "a name of its own": with_raw(records("x", path="readme", mtime="1"), header("r", b"x")),
    "a prefix of the name": with_raw(header("readme", b"x", prefix="usr/share")),
    "links of the system": in_catalog(
        member("usr/lib", type=tarfile.DIRTYPE), member("lib", type=b"2", linkname="usr/lib"), ("lib/x.so", "x"),
        member("bin", type=b"2", linkname="/usr/bin"), ("bin/sh", "x"), member("loop", type=b"2", linkname="loop"),
        ("loop/x", "x"),
    ),
    "a link that a folder replaces": in_catalog(
        member("a", type=b"2", linkname="configs"), member("a", type=tarfile.DIRTYPE), ("a/x.yaml", "x")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_READING)
def test_an_archive_with_one_reading_is_not(name: str, workspace: Path, catalog: Path) -> None:
    with serving(ONE_READING[name](catalog)) as (host, _):
        code, said = vendored(workspace, host)
    assert code == 0, said


ARCHIVES: Mapping[str, Callable[[Path], Image]] = {
    "a path that climbs": in_catalog(("configs/../../../climbed.yaml", "x")),
    "a link that leads out": in_catalog(member("configs/x.yaml", type=b"2", linkname="/etc/passwd")),
    "a hard link that leads out": in_catalog(member("configs/x.yaml", type=b"1", linkname="etc/passwd")),
    "a device": in_catalog(member("configs/x.yaml", type=b"3", devmajor=1, devminor=5)),
    "a block device": in_catalog(member("configs/x.yaml", type=b"4", devmajor=8)),
    "a pipe": in_catalog(member("configs/x.yaml", type=b"6")),
    "the folder is a link": in_catalog(member("configs", type=b"2", linkname="/etc")),
    "a whiteout of everything": in_catalog(("configs/.wh...", "")),
    "a whiteout that climbs": in_catalog(("configs/../.wh.configs", "")),
    "a member that is said to be huge": before_catalog(member("configs/y", size=1 << 50)),
    "a member of less than nothing": before_catalog(member("configs/y", size=-512)),
    "a sparse member": lambda _: image([packed(sparse("configs/y.yaml", 1 << 40) + bytes(1024))], CATALOG_LABELS),
    "a sparse member in a header of its own": in_catalog(
        member("configs/y.yaml", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 40)}, size=0)
    ),
    "a database": lambda _: image(
        [packed(tar(("database/index.db", b"SQLite format 3\0" + bytes(100))))],
        {"operators.operatorframework.io.index.database.v1": "/database/index.db"},
    ),
    "a database for a catalog": lambda _: image(
        [packed(tar(("configs/index.db", b"SQLite format 3\0" + b"\xff" * 5000)))], CATALOG_LABELS
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_wants_more_is_refused(name: str, workspace: Path, catalog: Path) -> None:
    check_refused(workspace, ARCHIVES[name](catalog))


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_bomb_is_refused(compression: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gigabytes in a few hundred kilobytes: neither the memory nor the disk has to hold them. To be quick the limit is
    a gigabyte here."""

    def bounded(tree_: Tree, blob: Path, name: str) -> None:
        tree_.limits = LayerLimits(layer_bytes=1024**3)
        add_layer(tree_, blob, name)

    monkeypatch.setattr("olmc.integrations.fetch.fetch.add_layer", bounded)
    layer = bomb(compression)
    assert len(layer) < 5_000_000
    said = check_refused(workspace, image([layer], CATALOG_LABELS))
    assert "a layer, unpacked, is more than" in said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 1024**2


def test_absolute_names_begin_at_the_image(workspace: Path, catalog: Path) -> None:
    """They are no way out: /configs/catalog.yaml is the catalog's, /tmp/x nobody's."""
    files = [(f"/{name}", data) for name, data in folder_files(catalog, "configs/")]
    with serving(image([packed(tar(*files, ("/tmp/olmc-absolute", "x")))], CATALOG_LABELS)) as (host, _):
        code, said = vendored(workspace, host)
    assert code == 0, said
    assert not Path("/tmp/olmc-absolute").exists()


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
# How an answer begins, and how it goes on for ever.
ENDLESS: Mapping[str, tuple[bytes, bytes]] = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 100),
    "trailers": (_CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n" * 1000),
    "chunks with long signs": (_CHUNKED, b"1;" + b"x" * 50_000 + b"\r\n \r\n"),
    "one line": (b"", b"x" * 65_536),
    "chunks that drip": (_CHUNKED, b"1\r\n \r\n"),
    "headers that drip": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
}


@contextmanager
def endless(begin: bytes, more: bytes, pause: float) -> Iterator[str]:
    """Host and port of a server whose answers have no end."""
    stop = Event()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                if self.request.recv(65_536).startswith(b"GET"):  # and no TLS
                    self.request.sendall(begin)
                    while not stop.wait(pause):
                        self.request.sendall(more)

    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_without_end_is_refused(name: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No silence is too long in it, and no part of it too large."""
    monkeypatch.setattr("olmc.integrations.fetch.transport.ANSWER_SECONDS", 0.3)
    monkeypatch.setattr("olmc.integrations.fetch.transport._LEAST_RATE", 1024**3)
    begin, more = ENDLESS[name]
    with endless(begin, more, 0.05 if "drip" in name else 0) as host:
        code, said = vendored(workspace, host)
    assert (code, "[OLMC624]" in said) == (3, True), said
