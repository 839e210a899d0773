"""Images that are not to be trusted: nothing of them is written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import names, olmc
from image_kit import BUNDLE_LABELS, bundle_image, digest, folder_files, image, member, packed, tar, write_layout
from vendoring import FERRY, at_registry, refused, replaced

HARMLESS = [
    member("dev/null", type=b"3"),
    member("etc/mtab", type=b"2", linkname="/proc/mounts"),
    member("usr/bin/sh", type=b"1", linkname="bin/busybox"),
    member("lib/link", type=b"2", linkname="../../../../etc"),
]


def test_what_is_outside_of_the_content_may_be_as_it_is(tmp_path: Path, host: str, ferry: Path) -> None:
    """Layers of a system have devices and links to anywhere; nothing of them is taken. Absolute paths start at the
    image's root."""
    layer = tar(*HARMLESS, *[(f"/{name}", data) for name, data in folder_files(ferry)])
    root = replaced(tmp_path, host, "harmless", image([packed(layer)], BUNDLE_LABELS))
    assert olmc("vendor", root).exit_code == 0
    assert "Deployment/harbour/ferry-controller" in names(root)
    assert not [path for path in (root / "vendor").rglob("*") if path.is_symlink()]


@pytest.mark.parametrize(
    ("evil", "cause"),
    [
        (("../../outside.yaml", "x"), "../../outside.yaml: the path climbs with .."),
        (("manifests/../../outside.yaml", "x"), "the path climbs with .."),
        (member("manifests/passwd", type=b"2", linkname="/etc/passwd"), "a link to /etc/passwd, which leaves"),
        (member("manifests/x", type=b"2", linkname="../../../../etc/passwd"), "which leaves the content"),
        (member("manifests/x", type=b"2", linkname="nowhere"), "a link to nowhere, which leads nowhere"),
        (member("manifests/x", type=b"2", linkname="x"), "a link that leads to itself"),
        (member("manifests/x", type=b"1", linkname="etc/passwd"), "a hard link to etc/passwd, which is not part"),
        (member("manifests/x", type=b"1", linkname="../../etc/passwd"), "../../etc/passwd: the path climbs"),
        (member("manifests/null", type=b"3"), "manifests/null: a device, a pipe or a socket"),
        (member("manifests/pipe", type=b"6"), "a device, a pipe or a socket"),
        (member("metadata", type=b"2", linkname="/etc"), "metadata: the folder with the content is a link"),
        (("manifests/FERRY.clusterserviceversion.yaml", "x"), "the same as manifests/"),
        (("manifests/a\\b.yaml", "x"), "characters that names of files should not have"),
        (("manifests/a\x1b[2J.yaml", "x"), "characters that names of files should not have"),
        (("manifests/.wh...", "x"), "a whiteout that names no file"),
    ],
)
def test_an_unsafe_image_is_refused(
    tmp_path: Path, host: str, ferry: Path, evil: object, cause: str, request: pytest.FixtureRequest
) -> None:
    name = f"unsafe-{digest(request.node.name.encode())[7:19]}"
    layer = tar(*folder_files(ferry), evil)  # type: ignore[arg-type]
    said = refused(replaced(tmp_path, host, name, image([packed(layer)], BUNDLE_LABELS)))
    assert f"{FERRY} is not unpacked: " in said
    assert cause in said
    assert "[OLMC632]" in said
    assert not (tmp_path / "outside.yaml").exists()
    assert "\x1b" not in said


def test_a_layer_that_is_cut_off_inside(tmp_path: Path, host: str, ferry: Path) -> None:
    """Its digest is right, so it was made this way: an archive, or its compression, that ends too early."""
    whole = tar(*folder_files(ferry))
    layers = (packed(whole)[:-40], packed(whole, "zstd")[:-40], packed(whole[:3000]), b"nothing")
    for number, layer in enumerate(layers):
        root = replaced(tmp_path / str(number), host, f"cut-{number}", image([layer], BUNDLE_LABELS))
        said = refused(root)
        assert "can't be read: " in said
        assert "[OLMC631]" in said


def test_a_layer_that_claims_too_much_is_not_fetched(tmp_path: Path, host: str, ferry: Path) -> None:
    root = at_registry(tmp_path, host, "claims")
    layout = tmp_path / "layout"
    made = bundle_image(ferry)
    manifest = json.loads(made.data)
    manifest["layers"][0]["size"] = 5 * 1024**3
    data = json.dumps(manifest).encode()
    write_layout(layout, {FERRY: made._replace(digest=digest(data), data=data)})
    said = refused(root, "--from", str(layout))
    assert f"{FERRY} is not unpacked: a blob of 5,368,709,120 bytes is more than 4,294,967,296 bytes [OLMC633]" in said


STEERING = {
    "manifests/.gitignore": "*\n",
    "manifests/.gitattributes": "* text eol=crlf\n",
    "manifests/.git/config": "[core]\nfsmonitor = touch outside\n",
    "manifests/.GIT/hooks/post-checkout": "#!/bin/sh\n",
    "metadata/.cache/index": "x",
    "metadata/.git": "gitdir: /etc\n",
}


def test_nothing_in_an_image_tells_git_what_to_do(tmp_path: Path, host: str, ferry: Path) -> None:
    """What a workspace's clones have is what was vendored, though an image has rules for Git, or a repository."""
    layer = tar(*folder_files(ferry), *STEERING.items())
    root = replaced(tmp_path, host, "steering", image([packed(layer)], BUNDLE_LABELS))
    assert olmc("vendor", root).exit_code == 0
    assert "Deployment/harbour/ferry-controller" in names(root)
    found = {path.relative_to(root / "vendor").as_posix() for path in (root / "vendor").rglob(".*")}
    assert found == {".gitattributes"}
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    for command in ((*git, "init", "-q"), (*git, "add", "-A"), (*git, "commit", "-qm", "vendor")):
        subprocess.run(command, cwd=root, check=True, capture_output=True)
    subprocess.run((*git, "clone", "-q", root, tmp_path / "clone"), check=True, capture_output=True)
    assert olmc("vendor", tmp_path / "clone", "--check").exit_code == 0
    assert not (tmp_path / "outside").exists()
