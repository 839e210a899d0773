"""The server as a process: TLS, limits of the protocol, its beginning and its end."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import stat
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from serve_processes import PATIENCE, Served, serving, until

import olmc
from olmc.cli.main import main
from olmc.integrations.serve.server import MARK, Protocol, self_signed

LIST = "/apis/packages.operators.coreos.com/v2alpha1/installed"


@pytest.fixture(scope="module")
def workspace(project: Path) -> Path:
    return project / "fixtures" / "installed"


@pytest.fixture(scope="module")
def plain(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(workspace, tmp_path_factory.mktemp("plain"), "--http") as server:
        yield server


def raw(server: Served, data: bytes) -> bytes:
    """What comes back for some bytes until the server closes the connection, or says no more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


def status_of(reply: bytes) -> dict[str, object]:
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    status: dict[str, object] = json.loads(body)
    assert status["kind"] == "Status"
    assert str(status["code"]).encode() == head.split()[1]
    return status


@pytest.mark.parametrize(
    "data",
    [b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
     b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
     b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
     b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
    ids=["no-request", "half-a-line", "version", "tls", "bytes", "length", "no-host", "headers", "chunks"],
)  # fmt: skip
def test_what_is_no_http_gets_a_status(plain: Served, data: bytes) -> None:
    assert status_of(raw(plain, data))["code"] in (400, 403, 405, 431)


def test_huge_requests_get_a_status(plain: Served) -> None:
    """One by its address, one by its body; both are answered before they have come whole."""
    long = b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert status_of(raw(plain, long))["code"] == 414
    huge = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 1000
    assert status_of(raw(plain, huge))["code"] == 413


@examples(60)
@given(st.binary(max_size=200), st.sampled_from([b"", b"GET /", b"POST / HTTP/1.1\r\nHost: localhost\r\n"]))
def test_any_bytes_leave_the_server_alive(plain: Served, data: bytes, first: bytes) -> None:
    raw(plain, first + data)
    connection = HTTPConnection("127.0.0.1", plain.port, timeout=PATIENCE)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    connection.close()
    assert "Traceback" not in plain.said()


@pytest.mark.process
def test_tls_with_a_certificate_of_its_own(workspace: Path, tmp_path: Path) -> None:
    """The kubeconfig has what it takes to trust it, and is nobody else's to read; a second client needs no other."""
    with serving(workspace, tmp_path) as server:
        config = yaml.safe_load(server.kubeconfig.read_text(encoding="utf-8"))
        (cluster,) = config["clusters"]
        assert cluster["cluster"]["server"] == f"https://127.0.0.1:{server.port}"
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600
        trusted = b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
        for host in ("127.0.0.1", "localhost"):
            context = ssl.create_default_context(cadata=trusted)
            connection = HTTPSConnection(host, server.port, context=context, timeout=PATIENCE)
            connection.request("GET", LIST)
            assert json.loads(connection.getresponse().read())["kind"] == "InstalledList"
            connection.close()
        with pytest.raises(ssl.SSLError):
            HTTPSConnection("127.0.0.1", server.port, context=ssl.create_default_context(), timeout=PATIENCE).connect()
        assert server.stop() == 0


@pytest.mark.process
def test_tls_with_a_certificate_that_is_given(workspace: Path, tmp_path: Path) -> None:
    pair = self_signed("tea.example.com")
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    options = ("--tls-cert-file", str(tmp_path / "tls.crt"), "--tls-private-key-file", str(tmp_path / "tls.key"))
    with serving(workspace, tmp_path, *options) as server:
        context = ssl.create_default_context(cadata=pair.certificate.decode())
        connection = HTTPSConnection("localhost", server.port, context=context, timeout=PATIENCE)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
        connection.close()


@pytest.mark.process
def test_it_ends_gracefully(workspace: Path, tmp_path: Path) -> None:
    """A watch gets its end, a connection that only waits is closed, and nothing is left behind but the kubeconfig."""
    with serving(workspace, tmp_path, "--http") as server:
        idle = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        idle.request("GET", "/healthz")
        idle.getresponse().read()
        watch = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        watch.request("GET", f"{LIST}?watch=1&allowWatchBookmarks=true")
        reply = watch.getresponse()
        assert json.loads(reply.readline())["type"] == "ADDED"
        assert server.stop() == 0
        rest = [json.loads(line)["type"] for line in reply.read().splitlines()]
        assert rest == ["ADDED", "BOOKMARK"]
        idle.close()
        watch.close()
        assert server.said().endswith("olmc: stopped\n")
    assert {each.name for each in tmp_path.iterdir()} == {"log", "kubeconfig"}


@pytest.mark.process
def test_the_folder_may_go_and_come_back(workspace: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(workspace, tmp_path / "workspace")
    with serving(copy, tmp_path, "--http") as server:
        copy.rename(tmp_path / "away")
        until(lambda: "OLMC655" in server.said())
        (tmp_path / "away").rename(copy)
        (copy / "operators.yaml").write_text("", encoding="utf-8")
        until(lambda: "2 deleted" in server.said())
        assert server.stop() == 0


async def at_once(_: object, __: object, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def late(scope: object, receive: object, send: Any) -> None:
    await asyncio.sleep(0.6)
    await at_once(scope, receive, send)


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[int]:
    """The port of a server with the protocol of olmc serve before an application."""
    config = uvicorn.Config(app, log_config=None, lifespan="off")
    state = uvicorn.server.ServerState()
    server = await asyncio.get_running_loop().create_server(lambda: Protocol(config, state, {}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a request is closed; one with a request is not."""
    monkeypatch.setattr("olmc.integrations.serve.server.REQUEST_SECONDS", 0.4)

    async def scene() -> tuple[bytes, bytes]:
        async with listening(late) as port:
            silent, unused = await asyncio.open_connection("127.0.0.1", port)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST + b"\r\n")
            nothing = await asyncio.wait_for(silent.read(), PATIENCE)
            reply = await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE)
            await closed(unused)
            await closed(writer)
            return nothing, reply

    nothing, reply = asyncio.run(scene())
    assert nothing == b""
    assert reply.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("first", [b"", REQUEST + b"\r\n"], ids=["the first request", "a second one"])
def test_headers_that_trickle_in_are_not_waited_for(first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte after the other, for as long as the server likes: a slow one must not keep its connection for ever."""
    monkeypatch.setattr("olmc.integrations.serve.server.REQUEST_SECONDS", 0.4)

    async def scene() -> float:
        async with listening(at_once) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first)
            if first:
                await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE)
            began = asyncio.get_running_loop().time()
            ended = asyncio.create_task(reader.read())
            writer.write(REQUEST)
            while not ended.done() and asyncio.get_running_loop().time() < began + PATIENCE:
                writer.write(b"X: y\r\n")
                await asyncio.sleep(0.02)
            assert ended.done(), "the connection is still there"
            with suppress(ConnectionError):
                assert await ended == b""
            await closed(writer)
            return asyncio.get_running_loop().time() - began

    assert asyncio.run(scene()) >= 0.3


def test_there_are_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there go on; one more is closed, until one of them ends."""
    monkeypatch.setattr("olmc.integrations.serve.server.MAX_CONNECTIONS", 2)

    async def asked(port: int) -> tuple[bytes, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        reply = b""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(REQUEST + b"\r\n")
            reply = await asyncio.wait_for(reader.readuntil(b"ok"), PATIENCE)
        return reply, writer

    async def scene() -> list[bool]:
        async with listening(at_once) as port:
            (one, first), (two, second), (three, third) = [await asked(port) for _ in range(3)]
            await closed(first)
            await asyncio.sleep(0.1)
            four, fourth = await asked(port)
            for writer in (second, third, fourth):
                await closed(writer)
            return [b"200 OK" in reply for reply in (one, two, three, four)]

    assert asyncio.run(scene()) == [True, True, False, True]


@pytest.mark.process
def test_the_version_is_that_of_the_workspace(workspace: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(workspace, tmp_path / "workspace")
    config = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {kubeVersion: v1.30.1}\n"
    (copy / "olmc.yaml").write_text(config, encoding="utf-8")
    with serving(copy, tmp_path, "--http") as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("GET", "/version")
        assert json.loads(connection.getresponse().read())["gitVersion"].startswith("v1.30.1+olmc-")
        connection.close()


# What it refuses to begin with


def refused(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, ["serve", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.stdout == ""
    return result


@pytest.mark.process
def test_an_address_that_is_taken(plain: Served, workspace: Path) -> None:
    result = refused(workspace, "--http", "--port", str(plain.port))
    assert result.exit_code == 3
    assert f"error: 127.0.0.1:{plain.port} can't be served: Address already in use [OLMC658]" in result.stderr
    assert refused(workspace, "--host", "host.invalid").exit_code == 3


def test_a_certificate_that_can_not_be_used(workspace: Path, tmp_path: Path) -> None:
    pair = self_signed("a.example.com")
    for name, data in (("crt", pair.certificate), ("key", self_signed("b.example.com").key), ("none", b"")):
        (tmp_path / name).write_bytes(data)
    key = serialization.load_pem_private_key(pair.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"tea")
    )
    (tmp_path / "locked").write_bytes(locked)
    for certificate, other in (("crt", "key"), ("none", "key"), ("crt", "nowhere"), ("crt", "locked")):
        files = ("--tls-cert-file", tmp_path / certificate, "--tls-private-key-file", tmp_path / other)
        result = refused(workspace, *files)
        assert (result.exit_code, "[OLMC657]" in result.stderr) == (3, True), result.stderr


def test_a_kubeconfig_of_somebody_else_is_left_alone(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("apiVersion: v1\n", encoding="utf-8")
    result = refused(workspace, "--kubeconfig", tmp_path / "config")
    assert result.exit_code == 3
    assert "it exists, and olmc did not write it [OLMC659]" in result.stderr
    assert (tmp_path / "config").read_text(encoding="utf-8") == "apiVersion: v1\n"
    (tmp_path / "mine").write_text(f"{MARK}\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    assert refused(workspace, "--kubeconfig", tmp_path / "link").exit_code == 3
    assert refused(workspace, "--kubeconfig", tmp_path / "nowhere" / "config").exit_code == 3


def test_a_workspace_that_can_not_be_compiled(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("x: [{apiVersion: v1, kind: Pod},\n", encoding="utf-8")
    result = refused(tmp_path, "--http", "--port", "0")
    assert (result.exit_code, "broken.yaml:1:4: error: " in result.stderr) == (3, True)
    assert refused(tmp_path / "nowhere").exit_code == 3


def test_without_the_libraries(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "olmc.integrations.serve.server", None)
    result = refused(workspace)
    assert result.exit_code == 3
    assert result.stderr.startswith("error: olmc serve needs more than olmc alone: ")
    assert "Install it with pip install 'olmc[serve]'." in result.stderr


def test_wrong_usage(workspace: Path, tmp_path: Path) -> None:
    assert refused(workspace, "--tls-cert-file", tmp_path / "a").exit_code == 2
    assert refused(workspace, "--http", "--tls-cert-file", tmp_path / "a", "--tls-private-key-file", "b").exit_code == 2
    assert refused(workspace, "--http", "--host", "0.0.0.0").exit_code == 2
    assert refused(workspace, "--port", "65536").exit_code == 2


@pytest.mark.parametrize("version", ["docs", "0.14.2", "0.46.0", "ocp-4.14"])
def test_packageservers_csv_is_one_that_works(version: str, tmp_path: Path) -> None:
    """It is installed where OLM is; the document has dots in the names of Deployments, which OLM took until 0.15."""
    text = CliRunner().invoke(main, ["serve", "--print-csv", "--olm-version", version]).stdout
    metadata = "metadata: {name: olm-operators, namespace: olm}"
    group = f"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\n{metadata}\nspec: {{targetNamespaces: [olm]}}\n"
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: olm-operator-serviceaccount, namespace: olm}\n"
    (tmp_path / "cluster.yaml").write_text("---\n".join((text, group, account)), encoding="utf-8")
    made = olmc.compile(tmp_path, olmc.Options(olm_version=version))
    assert [each.message for each in made.diagnostics if each.severity >= olmc.Severity.WARNING] == []
    assert list(made.phases.values()) == [("Succeeded", "InstallSucceeded")]
    mark = "." if version in ("docs", "0.14.2") else "-"
    deployments = [each.identity.name for each in made.objects if each.identity.kind == "Deployment"]
    assert deployments == [f"packageserver{mark}v1", f"packageserver{mark}v2alpha1"]


def test_the_part_of_packageservers_csv_r_inst_10() -> None:
    """Two owned API services, and one Deployment for each version."""
    result = CliRunner().invoke(main, ["serve", "--print-csv", "--olm-version", "docs"])
    spec = yaml.safe_load(result.stdout)["spec"]
    group = "packages.operators.coreos.com"
    described = spec["apiservicedefinitions"]["owned"]
    assert [{key: value for key, value in each.items() if key != "description"} for each in described] == [
        {"group": group, "version": "v1", "kind": "PackageManifest", "name": "packagemanifests",
         "displayName": "PackageManifest", "deploymentName": "packageserver.v1", "containerPort": 5443},
        {"group": group, "version": "v2alpha1", "kind": "Installed", "name": "installed",
         "displayName": "Installed", "deploymentName": "packageserver.v2alpha1", "containerPort": 5443},
    ]  # fmt: skip
    assert [each["description"].split()[:6] for each in described] == [
        "A PackageManifest is a resource generated".split(), "Installed is a resource generated from".split(),
    ]  # fmt: skip
    deployments = spec["install"]["spec"]["deployments"]
    assert [each["name"] for each in deployments] == ["packageserver.v1", "packageserver.v2alpha1"]
