"""Registries that lie, hang, refuse or die: nothing half-written remains."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from commands import names, olmc
from image_workspaces import CATALOG, located, state, with_images
from processes import PATIENCE, started, wait_until
from registry_servers import Proxied, proxy
from vendoring import FERRY, at_registry, located_at, refused


class Blobs:
    """Decides about the requests for blobs and manifests of a path."""

    def __init__(self, path: str, times: int = 1_000_000) -> None:
        self.path, self.times = path, times

    def hit(self, request: Proxied) -> bool:
        if self.path not in request.path or self.times <= 0:
            return False
        self.times -= 1
        return True


def test_a_wrong_digest(tmp_path: Path, host: str) -> None:
    """One bit of a layer is another one on the way; and so with a manifest that is asked for by digest."""
    root = at_registry(tmp_path, host, "flipped")

    def flips(request: Proxied) -> bool:
        if "bundles/ferry/blobs" not in request.path:
            return False
        status, headers, body = request.fetched()
        request.answer(status, headers, bytes([body[0] ^ 1]) + body[1:])
        return True

    with proxy(host, flips) as (front, _):
        said = refused(located_at(root, front, "flipped"))
        assert f"of {FERRY} from {front} is not what its digest says: sha256:" in said
        assert "[OLMC627]" in said


def test_a_manifest_with_a_wrong_digest(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "swapped")
    assert olmc("vendor", root).exit_code == 0
    shutil.rmtree(root / "vendor")

    def swaps(request: Proxied) -> bool:
        if "bundles/ferry/manifests" not in request.path:
            return False
        status, headers, body = request.fetched()
        request.answer(status, headers, body + b" ")
        return True

    with proxy(host, swaps) as (front, _):
        said = refused(located_at(root, front, "swapped"))
        assert "the manifest of" in said
        assert "[OLMC627]" in said


def test_a_transfer_that_stops_is_tried_again(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "stops")
    blobs = Blobs("bundles/ferry/blobs", 1)

    def stops(request: Proxied) -> bool:
        if not blobs.hit(request):
            return False
        request.answer(*request.fetched(), cut=20)
        return True

    with proxy(host, stops) as (front, seen):
        assert olmc("vendor", located_at(root, front, "stops"), "--retries", "1").exit_code == 0
        assert blobs.times == 0
        assert seen.seen


def test_a_registry_that_dies_half_way_leaves_nothing(tmp_path: Path, host: str) -> None:
    """The catalog has come, a bundle is on its way, and then nobody answers any more."""
    root = at_registry(tmp_path, host, "dies")
    dead = Blobs("bundles/")

    def dies(request: Proxied) -> bool:
        if "bundles/ferry/blobs" in request.path:
            request.answer(*request.fetched(), cut=20)
            return True
        if dead.hit(request):
            request.hang_up()
            return True
        return False

    with proxy(host, dies) as (front, _):
        said = refused(located_at(root, front, "dies"))
        assert f"{FERRY} can't be fetched from {front}: " in said
        assert "[OLMC624]" in said


def test_a_registry_that_dies_leaves_what_was_there(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "stays")
    assert olmc("vendor", root).exit_code == 0

    def hangs_up(request: Proxied) -> bool:
        request.hang_up()
        return True

    with proxy(host, hangs_up) as (front, _):
        located_at(root, front, "stays")
        refused(root, "--update")
    assert "Deployment/harbour/ferry-controller" in names(root)


def test_too_many_requests(tmp_path: Path, host: str) -> None:
    """A 429 is obeyed: the registry says how long to wait."""
    root = at_registry(tmp_path, host, "busy")
    busy = Blobs("/manifests/", 2)

    def is_busy(request: Proxied) -> bool:
        if not busy.hit(request):
            return False
        request.answer(429, {"Retry-After": "1"}, b"")
        return True

    with proxy(host, is_busy) as (front, seen):
        assert olmc("vendor", located_at(root, front, "busy"), "--retries", "2").exit_code == 0
        assert sum("catalogs/harbour/manifests" in path for path in seen.seen) == 3


def test_a_registry_that_wants_hours(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "hours")

    def wants_hours(request: Proxied) -> bool:
        request.answer(429, {"Retry-After": "7200"}, b"")
        return True

    with proxy(host, wants_hours) as (front, _):
        said = refused(located_at(root, front, "hours"), "--retries", "3")
        assert "it answers 429 Too Many Requests, and asks to come back in 7200 seconds" in said


def test_a_registry_that_hangs(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "hangs")

    def hangs(request: Proxied) -> bool:
        if "/manifests/" in request.path:
            request.hang()
            return True
        return False

    with proxy(host, hangs) as (front, _):
        said = refused(located_at(root, front, "hangs"), "--timeout", "0.5")
        assert f"{CATALOG} can't be fetched from {front}: nothing came for 0.5 seconds" in said


def test_nobody_there(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    with_images(root, "dependency")
    located("127.0.0.1:1")
    said = refused(root)
    assert "can't be fetched from 127.0.0.1:1: connection refused [OLMC624]" in said


def test_an_image_that_is_not_there(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "gone")
    text = (root / "cluster.yaml").read_text().replace("registry.example.com/catalogs/harbour:v1", f"{host}/none:v9")
    (root / "cluster.yaml").write_text(text)
    said = refused(root)
    assert f"{host}/none:v9 is not in {host}: it answers 404 Not Found (MANIFEST_UNKNOWN: manifest unknown)" in said
    assert "[OLMC625]" in said


def test_an_interrupt_leaves_nothing(tmp_path: Path, host: str) -> None:
    """While one image hangs and another one is tried again and again."""
    root = at_registry(tmp_path, host, "interrupt")
    before = state(root)

    def hangs(request: Proxied) -> bool:
        if "bundles/ferry/blobs" in request.path:
            request.hang()
        elif "bundles/beacon/blobs" in request.path:
            request.hang_up()
        else:
            return False
        return True

    with proxy(host, hangs) as (front, seen):
        located_at(root, front, "interrupt")
        command = [sys.executable, "-m", "olmc", "vendor", str(root), "--timeout", "2", "--retries", "20"]
        with started(command, stderr=subprocess.PIPE) as process:
            wait_until(lambda: any("bundles/ferry/blobs" in path for path in seen.seen))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said.strip()) == (-signal.SIGINT, b"")
    assert state(root) == before
    assert not (root / "vendor").exists()
