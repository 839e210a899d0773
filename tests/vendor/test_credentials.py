"""Credentials: which file and which entry count, and what helpers say."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from olmc.integrations.fetch.containers_config import Credential, credential_for, read_auth_files, usual_auth_files
from olmc.integrations.fetch.sources import VendorError


def basic(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


def found(tmp_path: Path, *files: dict[str, Any], image: str = "quay.io/acme/app") -> Credential | None:
    paths = []
    for number, value in enumerate(files):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(value))
    registry, _, repository = image.partition("/")
    return credential_for(read_auth_files(paths), registry, repository)


@pytest.mark.parametrize(
    ("key", "image"),
    [
        ("quay.io", "quay.io/acme/app"),
        ("quay.io/acme", "quay.io/acme/app"),
        ("https://quay.io", "quay.io/acme/app"),
        ("https://quay.io/v2/", "quay.io/acme/app"),
        ("https://index.docker.io/v1/", "docker.io/library/app"),
        ("docker.io", "docker.io/acme/app"),
        ("127.0.0.1:5000", "127.0.0.1:5000/app"),
    ],
)
def test_keys_as_docker_and_podman_write_them(tmp_path: Path, key: str, image: str) -> None:
    assert found(tmp_path, {"auths": {key: basic("me:pass:word")}}, image=image) == Credential("me", "pass:word")


def test_the_most_specific_entry_counts(tmp_path: Path) -> None:
    auths = {"quay.io": basic("a:1"), "quay.io/acme": basic("b:2"), "quay.io/acme/app": basic("c:3")}
    assert found(tmp_path, {"auths": auths}) == Credential("c", "3")
    assert found(tmp_path, {"auths": auths}, image="quay.io/acme/other") == Credential("b", "2")
    assert found(tmp_path, {"auths": auths}, image="quay.io/acme2/app") == Credential("a", "1")
    assert found(tmp_path, {"auths": auths}, image="quay.io.example.com/acme/app") is None


def test_the_first_file_with_an_entry_counts(tmp_path: Path) -> None:
    other = {"auths": {"example.com": basic("x:y")}}
    mine, late = ({"auths": {"quay.io": basic(f"{name}:1")}} for name in ("mine", "late"))
    assert found(tmp_path, other, mine, late) == Credential("mine", "1")


def test_tokens_and_plain_entries(tmp_path: Path) -> None:
    assert found(tmp_path, {"auths": {"quay.io": {"identitytoken": "t"}}}) == Credential("", "t")
    assert found(tmp_path, {"auths": {"quay.io": {"username": "u", "password": "p"}}}) == Credential("u", "p")
    assert found(tmp_path, {"auths": {"quay.io": {}}}) is None


def helper(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_helpers_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By registry, or for all of them; what one does not know, another one may."""
    helper(tmp_path, "mine", 'read server; echo "{\\"Username\\": \\"$server\\", \\"Secret\\": \\"s\\"}"', monkeypatch)
    helper(tmp_path, "none", "echo credentials not found in native keychain; exit 1", monkeypatch)
    helper(tmp_path, "token", """echo '{"Username": "<token>", "Secret": "t"}'""", monkeypatch)
    assert found(tmp_path, {"credHelpers": {"quay.io": "mine"}}) == Credential("quay.io", "s")
    assert found(tmp_path, {"credHelpers": {"quay.io": "mine"}}, image="example.com/a") is None
    hub = found(tmp_path, {"credsStore": "mine"}, image="docker.io/library/a")
    assert hub == Credential("https://index.docker.io/v1/", "s")
    assert found(tmp_path, {"credsStore": "none", "auths": {"quay.io": basic("u:p")}}) == Credential("u", "p")
    assert found(tmp_path, {"credsStore": "none"}, {"credsStore": "token"}) == Credential("", "t")


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ({"credHelpers": {"quay.io": "../../evil"}}, "'../../evil' is no helper's name"),
        ({"credHelpers": {"quay.io": "that-is-not-installed"}}, "No such file"),
        ({"credHelpers": {"quay.io": "broken"}}, "its answer is no JSON"),
        ({"credHelpers": {"quay.io": "failing"}}, "the keychain is locked"),
        ({"auths": {"quay.io": {"auth": "!"}}}, "auth: "),
        ({"auths": {"quay.io": basic("nobody")}}, "auth is not user:password"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: dict[str, Any], cause: str
) -> None:
    helper(tmp_path, "broken", "echo hello", monkeypatch)
    helper(tmp_path, "failing", "echo the keychain is locked; exit 1", monkeypatch)
    with pytest.raises(VendorError) as caught:
        found(tmp_path, value)
    assert cause in caught.value.diagnostic.message
    assert caught.value.diagnostic.code == "OLMC636"


def test_a_file_that_is_asked_for_has_to_be_there(tmp_path: Path) -> None:
    assert read_auth_files([tmp_path / "none.json"]) == ()
    with pytest.raises(VendorError, match="No such file"):
        read_auth_files([tmp_path / "none.json"], required=True)
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(VendorError, match="it is no JSON mapping"):
        read_auth_files([tmp_path / "list.json"])


def test_where_podman_and_docker_look() -> None:
    home = Path("/home/me")
    assert usual_auth_files({}, home) == (home / ".config/containers/auth.json", home / ".docker/config.json")
    env = {"XDG_RUNTIME_DIR": "/run/me", "XDG_CONFIG_HOME": "/etc/me", "DOCKER_CONFIG": "/docker"}
    assert usual_auth_files(env, home) == (
        Path("/run/me/containers/auth.json"),
        Path("/etc/me/containers/auth.json"),
        Path("/docker/config.json"),
    )
    assert usual_auth_files({**env, "REGISTRY_AUTH_FILE": "/a.json"}, home) == (Path("/a.json"),)
