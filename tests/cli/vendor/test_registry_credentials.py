"""Registries that want credentials, and where these go."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from commands import olmc
from image_workspaces import with_images
from registry_servers import Proxied, docker_registry, proxy
from vendoring import at_registry, located_at, push_all, refused


def auth_file(path: Path, host: str, user: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(user.encode()).decode()}}}))
    return path


@pytest.mark.slow
def test_basic_authentication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docker-registry with a password file: without credentials, with wrong ones, with those of docker and podman."""
    (tmp_path / "registry").mkdir()
    with docker_registry(tmp_path / "registry", protected=True) as host:
        root = tmp_path / "workspace"
        push_all(host, "basic", with_images(root, "dependency"), "reader:secret")
        said = refused(root)
        assert f"may not be read from {host}: it wants credentials; olmc found no credentials for it [OLMC626]" in said
        assert f"Log in with `podman login {host}` or `docker login {host}`" in said
        wrong = auth_file(tmp_path / "wrong.json", host, "reader:wrong")
        said = refused(root, "--authfile", str(wrong))
        assert "it answers 401 Unauthorized" in said
        assert "olmc sent the credentials of reader" in said
        assert "wrong" not in said
        auth_file(tmp_path / "home/.docker/config.json", host, "reader:secret")
        assert olmc("vendor", root).exit_code == 0
        shutil.rmtree(root / "vendor")
        (tmp_path / "home/.docker/config.json").unlink()
        monkeypatch.setenv("REGISTRY_AUTH_FILE", str(auth_file(tmp_path / "auth.json", host, "reader:secret")))
        assert olmc("vendor", root).exit_code == 0


def test_token_authentication(tmp_path: Path, host: str) -> None:
    """A registry that wants a token, and a service that gives one for credentials and scope."""
    root = at_registry(tmp_path, host, "token")
    asked: list[tuple[str, str | None]] = []

    def wants_token(request: Proxied) -> bool:
        front = request.headers["Host"]
        if request.path.startswith("/token"):
            asked.append((request.path, request.headers.get("Authorization")))
            if request.headers.get("Authorization") != "Basic cmVhZGVyOnNlY3JldA==":
                request.answer(401, {}, b'{"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]}')
            else:
                request.answer(200, {}, b'{"token": "abc.def"}')
            return True
        if request.headers.get("Authorization") == "Bearer abc.def":
            del request.headers["Authorization"]
            return False
        challenge = f'Bearer realm="http://{front}/token",service="example",scope="repository:x:pull"'
        request.answer(401, {"WWW-Authenticate": challenge}, b"{}")
        return True

    with proxy(host, wants_token) as (front, seen):
        located_at(root, front, "token")
        said = refused(root)
        assert "its token service answers 401 (UNAUTHORIZED: who are you?); olmc found no credentials for it" in said
        auth = auth_file(tmp_path / "auth.json", front, "reader:secret")
        asked.clear()
        assert olmc("vendor", root, "--authfile", auth).exit_code == 0
        assert asked[0][0] == "/token?service=example&scope=repository%3Ax%3Apull"
        assert len(asked) == 3  # one a repository
        assert seen.seen


def test_a_token_in_place_of_a_password(tmp_path: Path, host: str) -> None:
    """What docker keeps as an identity token is exchanged for one that may pull."""
    root = at_registry(tmp_path, host, "identity")
    asked: list[dict[str, list[str]]] = []

    def wants_token(request: Proxied) -> bool:
        if request.headers.get("Authorization") == "Bearer abc.def":
            del request.headers["Authorization"]
            return False
        challenge = f'Bearer realm="http://{request.headers["Host"]}/token",service="example"'
        request.answer(401, {"WWW-Authenticate": challenge}, b"")
        return True

    def gives_token(request: Proxied) -> None:
        asked.append(parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode()))
        request.answer(200, {}, b'{"access_token": "abc.def"}')

    with proxy(host, wants_token, gives_token) as (front, _):
        auth = tmp_path / "auth.json"
        auth.write_text(json.dumps({"auths": {front: {"identitytoken": "long&lasting"}}}))
        assert olmc("vendor", located_at(root, front, "identity"), "--authfile", auth).exit_code == 0
    assert asked[0] == {
        "service": ["example"],
        "scope": ["repository:identity/catalogs/harbour:pull"],
        "grant_type": ["refresh_token"],
        "client_id": ["olmc"],
        "refresh_token": ["long&lasting"],
    }


@pytest.mark.parametrize(
    ("challenge", "answer", "cause"),
    [
        (
            'Bearer realm="ftp://example.com/token"',
            (200, b"{}"),
            "it names no safe token service: ftp://example.com/token",
        ),
        ('Bearer realm="http://{front}/token"', (200, b"{}"), "its token service sends no token"),
        ('Bearer realm="http://{front}/token"', (200, b'{"token": "a\\nb: c"}'), "its token service sends no token"),
        ('Bearer realm="http://{front}/token"', (200, b"<html>"), "its token service sends no JSON"),
        ('Bearer realm="http://{front}/token"', (500, b""), "it answers 500 Internal Server Error"),
        ("Negotiate", (200, b"{}"), "it wants credentials"),
    ],
)
def test_a_token_service_that_misbehaves(
    tmp_path: Path, host: str, challenge: str, answer: tuple[int, bytes], cause: str
) -> None:
    root = tmp_path / "workspace"
    with_images(root, "dependency")

    def refuses(request: Proxied) -> bool:
        if request.path.startswith("/token"):
            request.answer(answer[0], {}, answer[1])
        else:
            told = challenge.replace("{front}", str(request.headers["Host"]))
            request.answer(401, {"WWW-Authenticate": told}, b"")
        return True

    with proxy(host, refuses) as (front, _):
        assert cause in refused(located_at(root, front, "token"))


def test_credentials_stay_with_their_host(tmp_path: Path, host: str) -> None:
    """A registry that sends its blobs from elsewhere: the other host does not get the password."""
    root = at_registry(tmp_path, host, "leads")
    told: list[str | None] = []

    def storage(request: Proxied) -> bool:
        told.append(request.headers.get("Authorization"))
        return False

    with proxy(host, storage) as (other, _):

        def leads(request: Proxied) -> bool:
            if request.headers.get("Authorization") is None:
                request.answer(401, {"WWW-Authenticate": 'Basic realm="example"'}, b"")
                return True
            del request.headers["Authorization"]
            if "/blobs/" in request.path:
                request.answer(307, {"Location": f"http://{other}{request.path}"}, b"")
                return True
            return False

        with proxy(host, leads) as (front, _):
            auth = auth_file(tmp_path / "auth.json", front, "reader:secret")
            assert olmc("vendor", located_at(root, front, "leads"), "--authfile", auth).exit_code == 0
    assert told
    assert set(told) == {None}


@pytest.mark.parametrize("secret", [{"auth": "cmVhZGVyOnNlY3JldA=="}, {"identitytoken": "long&lasting"}])
def test_who_stores_the_blobs_is_not_given_credentials(tmp_path: Path, host: str, secret: dict[str, str]) -> None:
    """The attack: the host that a registry leads to asks for credentials, and names its own token service."""
    root = at_registry(tmp_path, host, "stored")
    received: list[str | None] = []

    def steals(request: Proxied) -> None:
        received.append(request.headers.get("Authorization") or request.headers.get("Content-Length"))
        request.answer(200, {}, b'{"token": "abc.def"}')

    def storage(request: Proxied) -> bool:
        if request.path.startswith("/token"):
            steals(request)
        else:
            challenge = f'Bearer realm="http://{request.headers["Host"]}/token",service="example"'
            request.answer(401, {"WWW-Authenticate": challenge}, b"")
        return True

    def leads(request: Proxied) -> bool:
        if "/blobs/" in request.path:
            request.answer(307, {"Location": f"http://{other}{request.path}"}, b"")
        return "/blobs/" in request.path

    with proxy(host, storage, steals) as (other, _), proxy(host, leads) as (front, _):
        auth = tmp_path / "auth.json"
        auth.write_text(json.dumps({"auths": {front: secret}}))
        said = refused(located_at(root, front, "stored"), "--authfile", str(auth))
    assert f"it leads to http://{other}, which wants credentials" in said
    assert received == []


@pytest.mark.parametrize("realm", ["http://evil.example.com:80\\\\@127.0.0.1/token", "http://a@127.0.0.1/token"])
def test_an_address_that_can_be_read_in_two_ways_is_none(tmp_path: Path, host: str, realm: str) -> None:
    """The attack: it is taken for this machine, which may be asked without TLS, and leads to another one."""
    root = tmp_path / "workspace"
    with_images(root, "dependency")

    def refuses(request: Proxied) -> bool:
        request.answer(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="example"'}, b"")
        return True

    with proxy(host, refuses) as (front, _):
        auth = auth_file(tmp_path / "auth.json", front, "reader:secret")
        said = refused(located_at(root, front, "token"), "--authfile", str(auth))
    assert "it names an address that is none:" in said


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_identity_token_is_not_sent_on(tmp_path: Path, host: str, status: int) -> None:
    """A token service that leads elsewhere: neither its body nor a header goes along, by no kind of redirect."""
    root = tmp_path / "workspace"
    with_images(root, "dependency")
    received: list[bytes] = []

    def steals(request: Proxied) -> None:
        received.append(request.rfile.read(int(request.headers["Content-Length"] or 0)))
        request.answer(200, {}, b'{"token": "abc.def"}')

    def wants_token(request: Proxied) -> bool:
        realm = f"http://{request.headers['Host']}/token"
        request.answer(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="example"'}, b"")
        return True

    def steals_at_once(request: Proxied) -> bool:
        steals(request)
        return True

    with proxy(host, steals_at_once, steals) as (thief, stolen):

        def leads(request: Proxied) -> None:
            request.rfile.read(int(request.headers["Content-Length"]))
            request.answer(status, {"Location": f"http://{thief}/token"}, b"")

        with proxy(host, wants_token, leads) as (front, _):
            auth = tmp_path / "auth.json"
            auth.write_text(json.dumps({"auths": {front: {"identitytoken": "long&lasting"}}}))
            said = refused(located_at(root, front, "identity"), "--authfile", str(auth))
    assert f"it wants what was sent to it sent on to http://{thief}" in said
    assert received == []
    assert stolen.seen == []


def test_a_password_is_not_sent_in_the_clear_to_another_host(tmp_path: Path, host: str) -> None:
    """A registry on this machine may be asked without TLS; a token service elsewhere that it names may not."""
    root = tmp_path / "workspace"
    with_images(root, "dependency")

    def refuses(request: Proxied) -> bool:
        challenge = 'Bearer realm="http://tokens.example.com/token",service="example"'
        request.answer(401, {"WWW-Authenticate": challenge}, b"")
        return True

    with proxy(host, refuses) as (front, _):
        auth = auth_file(tmp_path / "auth.json", front, "reader:secret")
        said = refused(located_at(root, front, "token"), "--authfile", str(auth))
    assert "it names no safe token service: http://tokens.example.com/token" in said
