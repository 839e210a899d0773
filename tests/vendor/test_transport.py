"""TLS, proxies, and how errors of the network are told."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import urllib3

from olmc.integrations.fetch.sources import StoppedError
from olmc.integrations.fetch.transport import (
    FinalError,
    Network,
    TransientError,
    exchange,
    is_loopback,
    read_body,
    with_retries,
)


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/down" else 200)
        self.send_header("Location", f"http://{self.headers['Host']}/")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody knows, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    made = tmp_path / "server.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=example -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*command.split(), "-keyout", "key", "-out", "cert"], cwd=tmp_path, check=True, capture_output=True)
    made.write_text((tmp_path / "key").read_text() + (tmp_path / "cert").read_text())
    return made


@pytest.fixture
def secure(certificate: Path) -> Iterator[str]:
    """Host and port of a server with that certificate."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_certificate_must_be_known(secure: str, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FinalError, match=r"CERTIFICATE_VERIFY_FAILED.*SSL_CERT_FILE can name more authorities"):
        exchange(Network(), "GET", f"https://{secure}/", {})
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert")))
    assert hello(Network(), f"https://{secure}/") == b"hello"


def test_insecure_is_what_it_says(secure: str) -> None:
    assert hello(Network(), f"https://{secure}/", insecure=True) == b"hello"


def hello(network: Network, url: str, *, insecure: bool = False) -> bytes:
    return read_body(network, exchange(network, "GET", url, {}, insecure=insecure), 100)


def test_nobody_is_led_to_http(secure: str) -> None:
    with pytest.raises(FinalError, match=f"it leads to http://{secure}, which is not safe"):
        exchange(Network(), "GET", f"https://{secure}/down", {}, insecure=True)


@pytest.mark.parametrize("target", ["https://127.0.0.1:1/", "http://127.0.0.1:2/", "http://127.0.0.2:1/"])
def test_credentials_are_for_a_scheme_a_host_and_a_port(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, str | None] = {}

    def answer(_: Network, __: str, url: str, headers: Mapping[str, str], *___: object) -> urllib3.BaseHTTPResponse:
        sent[url] = headers.get("Authorization")
        leads = {"http://127.0.0.1:1/": "http://127.0.0.1:1/again", "http://127.0.0.1:1/again": target}
        location = {"Location": leads[url]} if url in leads else {}
        return urllib3.HTTPResponse(status=307 if location else 200, headers=location)

    monkeypatch.setattr("olmc.integrations.fetch.transport._once", answer)
    exchange(Network(), "GET", "http://127.0.0.1:1/", {"Authorization": "Basic YTpi"})
    assert list(sent.values()) == ["Basic YTpi", "Basic YTpi", None]


def test_more_than_expected_is_not_read(secure: str) -> None:
    network = Network()
    with pytest.raises(FinalError, match="it sends more than 4 bytes"):
        read_body(network, exchange(network, "GET", f"https://{secure}/", {}, insecure=True), 4)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:5000", True),
        ("127.0.0.1", True),
        ("127.9.9.9:1", True),
        ("[::1]:5000", True),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
    ],
)
def test_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_who_was_given_up_gets_one_try() -> None:
    tries: list[str] = []

    def fails() -> None:
        tries.append("x")
        raise TransientError("it answers 503")

    network = Network(retries=1)
    with pytest.raises(FinalError, match=r"it answers 503 \(tried 2 times\)"):
        with_retries(network, "example.com", fails)
    with pytest.raises(FinalError, match=r"it answers 503$"):
        with_retries(network, "example.com", fails)
    assert len(tries) == 3
    network.stop.set()
    with pytest.raises(StoppedError):
        with_retries(network, "example.com", fails)
