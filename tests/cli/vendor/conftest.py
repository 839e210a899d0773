"""Fixtures: a registry, and workspaces whose images are in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from registry_servers import docker_registry
from vendoring import at_registry


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry for all tests; each puts its images below a name of its own."""
    with docker_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the machine has for podman and docker is not for tests."""
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(tmp_path / "registries.conf"))
    (tmp_path / "registries.conf").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path, host: str, request: pytest.FixtureRequest) -> Path:
    """A workspace with a catalog and two bundles in the registry."""
    return at_registry(tmp_path, host, request.node.name)


@pytest.fixture
def ferry(project: Path) -> Path:
    return project / "fixtures/dependency/bundles/ferry-1.0.0"
