"""The server as a process: its socket, its certificate, its kubeconfig, its beginning and its end.

It compiles its workspace once, and again whenever one of the files changes.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import ipaddress
import os
import signal
import socket
import ssl
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h11
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from watchfiles import awatch

from olmc.compiler.load.files import scan
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.output.directory import put
from olmc.compiler.output.messages import as_text, clean
from olmc.integrations.serve.app import RequestLimits, Say, application, limited
from olmc.integrations.serve.handlers import encode, status
from olmc.integrations.serve.store import InstalledSnapshot, Store, changes, new_store, update
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.yaml import dump_one
from olmc.review.diagnose.engine import diagnose, explained, findings, scene_of
from olmc.targets.pipeline import compile
from olmc.targets.proposed import rules
from olmc.targets.proposed.installed.view import InstalledView, view_of, viewing

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
    return [_name(name) for name in dict.fromkeys((*_LOCAL, host))]


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
        # The server authenticates no client, but kubectl asks its user for a name without a credential.
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


REQUEST_SECONDS = 30.0
MAX_CONNECTIONS = 2000


class Protocol(H11Protocol):
    """A connection: uvicorn's, with limits that it has no setting for.

    There are at most MAX_CONNECTIONS of them, and each request, from its first byte (the first one from when the
    connection is there) to the end of its headers, has REQUEST_SECONDS.
    """

    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Once the headers are there, the application has limits; uvicorn stops its own clock at the first byte.
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self.waiting is None:
            self._wait()

    def _wait(self) -> None:
        self.waiting = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be read as a request with a Status instead of a line of text."""
        body = encode(status(400, msg), "application/json")
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"), h11.Data(data=body)):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        self.transport.close()


LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PATIENCE_SECONDS = 10
_BACKLOG = 2048


class ServeAddress(NamedTuple):
    """The address to serve at: `certificate` and `key` are files, None for a certificate of its own; `tls` False: plain
    HTTP."""

    host: str
    port: int
    tls: bool = True
    certificate: Path | None = None
    key: Path | None = None
    kubeconfig: Path | None = None


class RefusedError(Exception):
    """The server can't begin; `diagnostics` say why."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(as_text(diagnostics))
        self.diagnostics = diagnostics


def serve(root: Path, place: ServeAddress, options: Options, say: Say, given: frozenset[str] = frozenset()) -> None:
    """Serve the workspace at `root` until a signal ends it; `say` takes messages, in whole lines.

    `given` are the fields of the options that the workspace may not set.

    Raises RefusedError when the workspace can't be compiled or the address not be served.
    """
    pair = _key_pair(place) if place.tls else None
    _with_kubeconfig(place, check_kubeconfig)
    # Looked at before compiling, so that a change in between is followed and not missed.
    seen = state_of(root)
    first = compile_workspace(root, options, given)
    say(as_text(first.diagnostics))
    if first.view is None:
        raise RefusedError([])
    store = new_store(first.view)
    gc.collect()
    listening = _bind(place)
    address = _address(place, listening)
    text = kubeconfig(address, pair.certificate if pair else None)
    _with_kubeconfig(place, lambda path: write_kubeconfig(path, text))
    # A server for others can't know by which names they reach it.
    hosts = (*LOOPBACK, place.host) if place.host in LOOPBACK else ()
    api = application(store, viewing(root, options, given).kube_version)
    app = limited(api, store, RequestLimits(hosts=hosts), say)
    with _pem_files(pair) as (certificate, key):
        config = _config(app, certificate, key)
        config.load()  # reads the files, so that none is left behind however the server ends
    with _signals_survived():
        server = uvicorn.Server(config)
        say(_greeting(root, address, place))
        asyncio.run(_until_the_end(server, listening, store, follow(store, root, options, seen, say, given)))
    say("olmc: stopped\n")


@contextmanager
def _signals_survived() -> Iterator[None]:
    """uvicorn raises the signal that ended it once more; it should not end this process before all is tidied up."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _until_the_end(
    server: uvicorn.Server, listening: socket.socket, store: Store, following: Coroutine[Any, Any, None]
) -> None:
    """Serve and follow the files until a signal comes; then end the watches, which would not end by themselves."""
    follower = asyncio.create_task(following)
    ender = asyncio.create_task(_end_watches(server, store))
    try:
        await server.serve([listening])
    finally:
        store.close()
        for task in (follower, ender):
            task.cancel()
        await asyncio.gather(follower, ender, return_exceptions=True)


async def _end_watches(server: uvicorn.Server, store: Store) -> None:
    """uvicorn has no signal of its end but this flag, which it looks at as often itself."""
    while not server.should_exit:
        await asyncio.sleep(0.1)
    store.close()


def _config(app: ASGIApp, certificate: str | None, key: str | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_PATIENCE_SECONDS,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


def _key_pair(place: ServeAddress) -> KeyPair:
    """The certificate and the key that are given, else new ones; RefusedError when they can't be used."""
    if place.certificate is None or place.key is None:
        return self_signed(place.host)
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Without a password, so that a key that has one is refused instead of asking for it on the terminal.
        context.load_cert_chain(place.certificate, place.key, password="")
        return KeyPair(place.certificate.read_bytes(), place.key.read_bytes())
    except (OSError, ssl.SSLError) as error:
        finding = rules.NO_CERTIFICATE.finding(
            None, certificate=place.certificate, key=place.key, cause=error.strerror or error
        )
        raise RefusedError([finding]) from error


@contextmanager
def _pem_files(pair: KeyPair | None) -> Iterator[tuple[str | None, str | None]]:
    """Write the pair to files in a folder that other users can't read, until they are read; nothing without a pair."""
    if pair is None:
        yield None, None
        return
    with tempfile.TemporaryDirectory(prefix="olmc-serve-") as folder:
        names = [str(Path(folder, name)) for name in ("tls.crt", "tls.key")]
        for name, text in zip(names, pair, strict=True):
            Path(name).write_bytes(text)
        yield names[0], names[1]


def _bind(place: ServeAddress) -> socket.socket:
    """The socket of the address; RefusedError when it can't be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)  # who connects as soon as the address is printed has to wait, but is not refused
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        cause = getattr(error, "strerror", None) or error
        finding = rules.NO_ADDRESS.finding(None, host=place.host, port=place.port, cause=cause)
        raise RefusedError([finding]) from error
    return listening


def _address(place: ServeAddress, listening: socket.socket) -> str:
    host = f"[{place.host}]" if ":" in place.host else place.host
    return f"{'https' if place.tls else 'http'}://{host}:{listening.getsockname()[1]}"


def _with_kubeconfig(place: ServeAddress, act: Callable[[Path], None]) -> None:
    """Do something with the kubeconfig that is asked for, if there is one; RefusedError when it can't be done."""
    if place.kubeconfig is None:
        return
    try:
        act(place.kubeconfig)
    except OSError as error:
        finding = rules.NO_KUBECONFIG.finding(None, path=place.kubeconfig, cause=error.strerror or error)
        raise RefusedError([finding]) from error


def _greeting(root: Path, address: str, place: ServeAddress) -> str:
    lines = [f"olmc: serving {root} on {address}, read-only; stop with Ctrl-C"]
    if place.host not in LOOPBACK:
        lines.append("olmc: every client that reaches this address can read everything; there is no authentication")
    if place.kubeconfig is not None:
        lines.append(f"olmc: try kubectl --kubeconfig {place.kubeconfig} get installed")
    return "".join(f"{line}\n" for line in lines)


LOOK_AGAIN_SECONDS = 5
"""The interval at which files are read although the operating system reports no change; not every file system does."""
_CALM_MILLISECONDS = 200

State = tuple[tuple[str, int, int, int], ...]
_ABSENT: State = (("", 0, 0, 0),)


class ServedWorkspace(NamedTuple):
    """The view of a workspace, None when it can't be compiled; and the findings about it."""

    view: InstalledView | None
    diagnostics: Sequence[Diagnostic]


def compile_workspace(root: Path, base: Options, given: frozenset[str] = frozenset()) -> ServedWorkspace:
    """Compile the workspace at `root`, with the options that it has itself, except for the fields in `given`."""
    options = viewing(root, base, given)
    done = compile(CompileRequest(root, options, frozenset(Options._fields)))
    if done.failed or done.settled is None:
        return ServedWorkspace(None, done.diagnostics)
    view = view_of(done.settled, done.objects, done.workspace, options, operators=done.operators)
    causes = diagnose(scene_of(done))
    return ServedWorkspace(view, (*explained(done.diagnostics, causes), *findings(causes)))


def state_of(root: Path) -> State:
    """By what a change of a file is seen: path, time of change, size and number of each."""
    if not root.is_dir():
        return _ABSENT
    files = []
    try:
        for path in scan(root, Report()).walk():
            facts = (root / path).stat()
            files.append((path, facts.st_mtime_ns, facts.st_size, facts.st_ino))
    except OSError:  # a file went away meanwhile: that is a change, and the next look finds what came of it
        return (*_ABSENT, *files)
    return tuple(files)


async def follow(
    store: Store, root: Path, base: Options, seen: State, say: Say, given: frozenset[str] = frozenset()
) -> None:
    """Keep a store up to date with the files below `root`, until the store closes.

    `seen` is the state of the files that the store shows, `given` as for `compile_workspace`. A workspace that can't be
    compiled leaves the store as it is; `say` hears of it, and of every change.
    """
    async for _ in _looks(root, store):
        now = await asyncio.to_thread(state_of, root)
        if now == seen:
            continue
        # Before compiling: what changes meanwhile is seen at the next look.
        seen = now
        try:
            served = await asyncio.to_thread(_recompile, root, base, given)
        except Exception as error:  # a bug, or files that go away while they are read: the next look may fare better
            seen = ()
            say(clean(f"olmc: internal error: {type(error).__name__}: {error}") + "\n")
            continue
        if served.view is None:
            say(as_text(served.diagnostics) + as_text([rules.NOT_SERVED.finding(None, path=root)]))
            continue
        # Made in a thread, published in this one: the store belongs to the event loop.
        before = store.current
        store.publish(*await asyncio.to_thread(update, before, store.packages, served.view))
        if store.current is not before:
            say(_summary(before, store.current))


async def _looks(root: Path, store: Store) -> AsyncIterator[object]:
    """Something now and then: whenever a file has changed, and every few seconds in any case."""
    polling = False
    while not store.closing.is_set():
        try:
            async for changes in awatch(
                root,
                watch_filter=lambda _, path: is_of_interest(root.resolve(), Path(path)),
                debounce=_CALM_MILLISECONDS,
                stop_event=store.closing,
                rust_timeout=LOOK_AGAIN_SECONDS * 1000,
                yield_on_timeout=True,
                force_polling=polling or None,
            ):
                yield changes
        except OSError:  # the operating system has no more watches, or the folder is absent for the moment
            polling = root.is_dir()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            yield ()


def is_of_interest(root: Path, path: Path) -> bool:
    """Return whether the change of a file may matter: hidden folders are not read, and that of git changes often."""
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    return not any(part.startswith(".") for part in inside.parts[:-1])


def _recompile(root: Path, base: Options, given: frozenset[str]) -> ServedWorkspace:
    """A new compilation; what the one before left behind is collected, as a server lives long."""
    try:
        return compile_workspace(root, base, given)
    finally:
        gc.collect()


def _summary(before: InstalledSnapshot, after: InstalledSnapshot) -> str:
    """Return the effect of a change on all namespaces, for the log."""
    counts = Counter(event.type.lower() for event in changes(before, after, None, lambda _: True))
    shown = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{after.version}: {shown or 'nothing that an existing namespace shows'}\n"
