"""Mirrors: what registries.conf and olmc.yaml make of a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from olmc.integrations.fetch.containers_config import from_config, locations, read_rewrites, usual_registries_files
from olmc.integrations.fetch.sources import Reference, VendorError, parse

DIGEST = "sha256:" + "a" * 64
CONF = """
unqualified-search-registries = ["example.com"]

[[registry]]
prefix = "quay.io"
[[registry.mirror]]
location = "mirror.example.com/all"
insecure = true

[[registry]]
prefix = "quay.io/acme"
location = "acme.example.com/new"
[[registry.mirror]]
location = "digests.example.com"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "tags.example.com"
pull-from-mirror = "tag-only"

[[registry]]
prefix = "*.corp.example.com"
[[registry.mirror]]
location = "corp-mirror.example.com"

[[registry]]
location = "blocked.example.com"
blocked = true

[[registry]]
location = "plain.example.com:5000"
insecure = true
"""


def places(tmp_path: Path, image: str, own: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    (tmp_path / "registries.conf").write_text(CONF)
    found = locations(image, from_config(own), read_rewrites([tmp_path / "registries.conf"]))
    return [f"{each.reference}{' insecure' if each.insecure else ''}" for each in found]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("quay.io/other/app:v1", ["mirror.example.com/all/other/app:v1 insecure", "quay.io/other/app:v1"]),
        ("quay.io/acme/app:v1", ["tags.example.com/app:v1", "acme.example.com/new/app:v1"]),
        (f"quay.io/acme/app@{DIGEST}", [f"digests.example.com/app@{DIGEST}", f"acme.example.com/new/app@{DIGEST}"]),
        ("quay.io/acme-two/app", ["mirror.example.com/all/acme-two/app insecure", "quay.io/acme-two/app"]),
        ("quay.iota.example.com/a", ["quay.iota.example.com/a"]),
        ("git.corp.example.com/a/b", ["corp-mirror.example.com/a/b", "git.corp.example.com/a/b"]),
        ("corp.example.com/a/b", ["corp.example.com/a/b"]),
        ("plain.example.com:5000/a", ["plain.example.com:5000/a insecure"]),
        ("app", ["docker.io/library/app"]),
    ],
)
def test_where_an_image_is_looked_for(tmp_path: Path, image: str, expected: list[str]) -> None:
    assert places(tmp_path, image) == expected


def test_the_mirrors_of_the_workspace_are_asked_first(tmp_path: Path) -> None:
    own = {"prefix": "quay.io", "mirrors": ["one.example.com", "two.example.com/q"]}
    assert places(tmp_path, "quay.io/other/app:v1", (own,)) == [
        "one.example.com/other/app:v1",
        "two.example.com/q/other/app:v1",
        "mirror.example.com/all/other/app:v1 insecure",
        "quay.io/other/app:v1",
    ]


def test_what_is_blocked_stays_so_whatever_the_workspace_says(tmp_path: Path) -> None:
    own = {"prefix": "blocked.example.com", "mirrors": ["mirror.example.com"]}
    with pytest.raises(VendorError, match=r"registries\.conf blocks blocked\.example\.com"):
        places(tmp_path, "blocked.example.com/a:v1", (own,))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[", "Invalid initial character"),
        ("[registries.search]\nregistries = []", "version 1"),
        ("registry = 1", "registry is no list of tables"),
        ("[[registry]]\nblocked = true", "neither prefix nor location"),
        ("[[registry]]\nprefix = 1", "prefix is no text"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, text: str, cause: str) -> None:
    (tmp_path / "registries.conf").write_text(text)
    with pytest.raises(VendorError, match=cause) as caught:
        read_rewrites([tmp_path / "registries.conf"])
    assert caught.value.diagnostic.code == "OLMC637"


def test_later_files_count_more(tmp_path: Path) -> None:
    for name, place in (("a", "one.example.com"), ("b", "two.example.com")):
        (tmp_path / name).write_text(f'[[registry]]\nprefix = "quay.io"\nlocation = "{place}"\n')
    (found,) = read_rewrites([tmp_path / "a", tmp_path / "b"])
    assert found.location == "two.example.com"


def test_where_podman_looks(tmp_path: Path) -> None:
    folder = tmp_path / ".config/containers"
    (folder / "registries.conf.d").mkdir(parents=True)
    for name in ("registries.conf", "registries.conf.d/b.conf", "registries.conf.d/a.conf", "registries.conf.d/x.txt"):
        (folder / name).touch()
    found = [path for path in usual_registries_files({}, tmp_path) if path.is_relative_to(folder)]
    assert [path.name for path in found] == ["registries.conf", "a.conf", "b.conf"]
    assert usual_registries_files({"CONTAINERS_REGISTRIES_CONF": "/x"}, tmp_path) == (Path("/x"),)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("app", Reference("docker.io", "library/app")),
        ("acme/app:v1", Reference("docker.io", "acme/app", "v1")),
        ("index.docker.io/acme/app", Reference("docker.io", "acme/app")),
        ("localhost:5000/a/b:v1", Reference("localhost:5000", "a/b", "v1")),
        (f"quay.io/a@{DIGEST}", Reference("quay.io", "a", "", DIGEST)),
        (f"quay.io/a:v1@{DIGEST}", Reference("quay.io", "a", "v1", DIGEST)),
    ],
)
def test_references(image: str, expected: Reference) -> None:
    assert parse(image) == expected
    assert parse(str(expected)) == expected
    assert expected.selector == (expected.digest or expected.tag or "latest")


def test_no_references() -> None:
    for image in ("", "quay.io/UPPER", "a b", "quay.io/a@sha256:1"):
        with pytest.raises(VendorError) as caught:
            parse(image)
        assert caught.value.diagnostic.code == "OLMC623"
