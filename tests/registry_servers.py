"""Debian's docker-registry on loopback, and a proxy before it that misbehaves as told."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
import urllib3

# reader:secret, as htpasswd -B writes it.
HTPASSWD = "reader:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n"
_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def docker_registry(folder: Path, *, protected: bool = False) -> Iterator[str]:
    """Host and port of a registry that keeps its data in `folder`; a protected one wants reader:secret."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("needs Debian's docker-registry (apt-get install docker-registry)")
    host = f"127.0.0.1:{free_port()}"
    config = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": host},
    }
    if protected:
        (folder / "htpasswd").write_text(HTPASSWD)
        config["auth"] = {"htpasswd": {"realm": "example", "path": str(folder / "htpasswd")}}
    (folder / "config.json").write_text(json.dumps(config))
    # It takes variables that begin with REGISTRY_ for its configuration.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}
    with (folder / "log").open("wb") as log:
        command = [program, "serve", str(folder / "config.json")]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        _wait(host, process, folder / "log")
        yield host
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _wait(host: str, process: subprocess.Popen[bytes], log: Path) -> None:
    pool = urllib3.PoolManager()
    for _ in range(_SECONDS * 20):
        assert process.poll() is None, log.read_text()
        try:
            if pool.request("GET", f"http://{host}/v2/", retries=False).status in (200, 401):
                return
        except urllib3.exceptions.HTTPError:
            time.sleep(0.05)
    raise AssertionError(f"docker-registry does not answer: {log.read_text()}")


@dataclass
class Faults:
    """What a proxy does: `decide` gets each request and says, by its own means, whether it has answered it."""

    upstream: str
    decide: Callable[[Proxied], bool]
    post: Callable[[Proxied], None]
    seen: list[str] = field(default_factory=list)
    released: Event = field(default_factory=Event)


class Proxied(BaseHTTPRequestHandler):
    """A request on its way to the registry."""

    faults: Faults
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.faults.seen.append(self.path)
        try:
            if not self.faults.decide(self):
                self.answer(*self.fetched())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_POST(self) -> None:
        self.faults.post(self)

    def fetched(self) -> tuple[int, dict[str, str], bytes]:
        """What the registry answers."""
        headers = {name: value for name in ("Accept", "Authorization") if (value := self.headers.get(name))}
        url = f"http://{self.faults.upstream}{self.path}"
        answer = urllib3.PoolManager().request("GET", url, headers=headers, redirect=False)
        kept = ("Content-Type", "Docker-Content-Digest", "WWW-Authenticate", "Location")
        return answer.status, {name: answer.headers[name] for name in kept if name in answer.headers}, answer.data

    def answer(self, status: int, headers: dict[str, str], body: bytes, *, cut: int | None = None) -> None:
        """Send an answer; with `cut` only so many bytes of the body, then hang up."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if cut is None else body[:cut])
        self.wfile.flush()
        if cut is not None:
            self.hang_up()

    def hang_up(self) -> None:
        """Close the connection."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        """Say nothing until the test is over."""
        self.faults.released.wait(_SECONDS)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is no news."""


@contextmanager
def proxy(
    upstream: str, decide: Callable[[Proxied], bool], post: Callable[[Proxied], None] = lambda _: None
) -> Iterator[tuple[str, Faults]]:
    """Host and port of a proxy before the registry `upstream`, with what it has seen; `post` answers POST requests."""
    faults = Faults(upstream, decide, post)
    server = _Server(("127.0.0.1", 0), type("Handler", (Proxied,), {"faults": faults}))
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", faults
    finally:
        faults.released.set()
        server.shutdown()
        server.server_close()
        thread.join(_SECONDS)
