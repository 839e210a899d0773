"""Vendored content is what the digest of its image stands for, whoever has edited vendor/ and olmc.lock."""

from __future__ import annotations

import hashlib
import random
import shutil
from pathlib import Path

import pytest
from commands import olmc
from cpu_time import measure
from image_kit import BUNDLE_LABELS, CATALOG_LABELS, bundle_image, folder_files, image, index, packed, tar
from image_workspaces import CATALOG
from vendoring import BEACON, FERRY, at_registry, locked, replaced

from olmc.compiler.load.config import lock_text
from olmc.compiler.load.vendored import content_digest, path_of
from olmc.integrations.fetch.fetch import PROOF_BYTES, Proof, prove

EVIL = "registry.example.com/evil/miner:v1"
OTHER = """\
---
{schema: olm.package, name: other, defaultChannel: a}
---
{schema: olm.channel, package: other, name: a, entries: [{name: other.v1.0.0}]}
---
schema: olm.bundle
package: other
name: other.v1.0.0
image: registry.example.com/other:v1
properties: [{type: olm.package, value: {packageName: other, version: 1.0.0}}]
"""


@pytest.fixture
def vendored(root: Path) -> Path:
    assert olmc("vendor", root).exit_code == 0
    return root


def forge(root: Path, image: str, file: str, old: str, new: str) -> None:
    """Edit a vendored file as somebody does who knows olmc: with the digest of the content, and the folder's name."""
    images = locked(root)
    before = root / path_of(images[image])
    (path,) = before.rglob(file)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    content = content_digest((p.relative_to(before).as_posix(), p) for p in before.rglob("*") if p.is_file())
    images[image] = images[image]._replace(content=content)
    before.rename(root / path_of(images[image]))
    (root / "olmc.lock").write_text(lock_text(None, tuple(images.values())), encoding="utf-8")


def proofs(root: Path) -> dict[str, Proof]:
    return {result.image.image: result.proof for result in prove(root, locked(root).values())}


def test_what_is_vendored_is_proven(vendored: Path) -> None:
    assert set(proofs(vendored).values()) == {Proof.PROVEN}
    assert olmc("vendor", vendored, "--check").exit_code == 0
    assert olmc("render", vendored, "--locked").exit_code == 0


def test_a_forged_bundle_is_found_out_and_healed(vendored: Path) -> None:
    """The attack: another image in a vendored CSV, with everything in order but the layers."""
    forge(vendored, FERRY, "*.clusterserviceversion.yaml", "registry.example.com/ferry", EVIL)
    assert EVIL in olmc("render", vendored).stdout
    check = olmc("vendor", vendored, "--check")
    assert check.exit_code == 1
    assert "are up to date" not in check.stderr
    assert "its layers have other files [OLMC618]" in check.stderr
    assert "olmc vendor --update" in check.stderr
    render = olmc("render", vendored, "--locked")
    assert (render.exit_code, render.stdout) == (1, "")
    assert "[OLMC618]" in render.stderr
    assert olmc("vendor", vendored, "--update").exit_code == 0
    assert EVIL not in olmc("render", vendored, "--locked").stdout
    assert set(proofs(vendored).values()) == {Proof.PROVEN}


def test_a_run_without_update_heals_it_as_well(vendored: Path) -> None:
    forge(vendored, FERRY, "*.clusterserviceversion.yaml", "registry.example.com/ferry", EVIL)
    assert olmc("vendor", vendored).exit_code == 0
    render = olmc("render", vendored, "--locked")
    assert render.exit_code == 0
    assert EVIL not in render.stdout


def test_a_forged_catalog_that_was_trimmed_is_found_out(tmp_path: Path, host: str, project: Path) -> None:
    text = (project / "fixtures/dependency/catalogs/harbour/ferry.yaml").read_text()
    text += "---\n" + (project / "fixtures/dependency/catalogs/harbour/beacon.yaml").read_text()
    made = image([packed(tar(("configs/catalog.yaml", text + OTHER)))], CATALOG_LABELS)
    root = replaced(tmp_path, host, "trimmed", made, CATALOG)
    assert olmc("vendor", root).exit_code == 0
    assert locked(root)[CATALOG].packages == "2 of 3"
    assert set(proofs(root).values()) == {Proof.PROVEN}
    forge(root, CATALOG, "catalog.yaml", "version: v1", "version: v2")
    assert proofs(root)[CATALOG] is Proof.FALSE
    assert "in its layers catalog.yaml has other documents [OLMC618]" in olmc("vendor", root, "--check").stderr


@pytest.mark.parametrize("what", ["manifest", "layer", "digest", "gone"])
def test_a_proof_can_not_be_forged_either(what: str, vendored: Path) -> None:
    forge(vendored, FERRY, "*.clusterserviceversion.yaml", "registry.example.com/ferry", EVIL)
    blobs = sorted((vendored / "vendor/blobs/sha256").iterdir(), key=lambda path: path.stat().st_size)
    if what == "gone":
        shutil.rmtree(vendored / "vendor/blobs")
    elif what == "digest":  # that of another image, which has a proof
        images = locked(vendored)
        images[FERRY] = images[FERRY]._replace(digest=images[BEACON].digest)
        (vendored / "olmc.lock").write_text(lock_text(None, tuple(images.values())), encoding="utf-8")
    else:
        for path in blobs:
            data = path.read_bytes()
            if data.startswith(b"{") == (what == "manifest"):
                path.write_bytes(data + b" ")
    check = olmc("vendor", vendored, "--check")
    assert check.exit_code == 1
    assert "[OLMC619]" in check.stderr if what == "gone" else "[OLMC618]" in check.stderr
    assert olmc("render", vendored, "--locked").exit_code == 1


def test_a_reference_by_digest_is_held_against_the_lock(tmp_path: Path, host: str) -> None:
    root = at_registry(tmp_path, host, "by-digest")
    assert olmc("vendor", root).exit_code == 0
    pinned = locked(root)[FERRY]._replace(image=f"registry.example.com/bundles/ferry@sha256:{'0' * 64}")
    (result,) = prove(root, [pinned])
    assert result.proof is Proof.FALSE
    assert "the reference names sha256:0000" in result.problem


def test_what_an_older_olmc_has_vendored_still_works(vendored: Path) -> None:
    """It kept no proof: that is said, rendering goes on, and an update brings it."""
    shutil.rmtree(vendored / "vendor/blobs")
    assert olmc("render", vendored).exit_code == 0
    again = olmc("vendor", vendored)
    assert again.exit_code == 0
    assert "0 fetched" in again.stderr
    assert again.stderr.count("can't be proven to be what") == 3
    assert "Run `olmc vendor --update`, which keeps what proves it." in again.stderr
    assert olmc("vendor", vendored, "--check").exit_code == 1
    assert olmc("vendor", vendored, "--update").exit_code == 0
    assert olmc("vendor", vendored, "--check").exit_code == 0


def test_an_image_of_an_index_is_proven_through_it(tmp_path: Path, host: str, ferry: Path) -> None:
    made = bundle_image(ferry)
    root = replaced(tmp_path, host, "index", index({"linux/amd64": made, "linux/arm64": bundle_image(ferry, a="b")}))
    assert olmc("vendor", root).exit_code == 0
    assert proofs(root)[FERRY] is Proof.PROVEN


def test_layers_that_are_large_are_not_kept(tmp_path: Path, host: str, ferry: Path) -> None:
    """The digests of the layers are proven, and that is as far as it goes."""
    noise = random.Random(1).randbytes(PROOF_BYTES)
    folders = [packed(tar(*folder_files(ferry / name, f"{name}/"))) for name in ("manifests", "metadata")]
    large = image([packed(tar(("usr/bin/noise", noise))), *folders], BUNDLE_LABELS)
    root = replaced(tmp_path, host, "large", large)
    assert olmc("vendor", root).exit_code == 0
    assert proofs(root)[FERRY] is Proof.RECORDED
    assert olmc("vendor", root, "--check").exit_code == 0
    assert sum(path.stat().st_size for path in (root / "vendor/blobs/sha256").iterdir()) < PROOF_BYTES


def test_a_blob_that_no_proof_names_is_told_and_removed(vendored: Path) -> None:
    stray = vendored / "vendor/blobs/sha256/aa"
    stray.write_text("stray")
    checked = olmc("vendor", vendored, "--check")
    assert checked.exit_code == 1
    assert "vendor/blobs/sha256/aa" in checked.output
    assert stray.exists()
    assert olmc("vendor", vendored, "--update").exit_code == 0
    assert not stray.exists()
    assert olmc("vendor", vendored, "--check").exit_code == 0


@pytest.mark.parametrize("path", ["/dev/zero", "mine"])
def test_a_blob_that_is_a_link_proves_nothing_and_is_not_written_through(
    path: str, vendored: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    for blob in (vendored / "vendor/blobs/sha256").iterdir():
        blob.unlink()
        blob.symlink_to(tmp_path / path)
    assert olmc("vendor", vendored, "--check").exit_code == 1
    assert olmc("vendor", vendored, "--update").exit_code == 0
    assert (tmp_path / "mine").read_text() == "mine"
    assert not any(blob.is_symlink() for blob in (vendored / "vendor/blobs/sha256").iterdir())


def test_blobs_that_nothing_needs_are_removed(vendored: Path) -> None:
    stray = vendored / "vendor/blobs/sha256/aa"
    stray.write_text("stray")
    (vendored / "operators.yaml").write_text("")
    assert olmc("vendor", vendored).exit_code == 0
    assert not (vendored / "vendor/blobs").exists()


@pytest.mark.parametrize(("file", "packages"), [("catalog.json", ""), ("", "1 of 1")])
def test_a_bundle_is_not_taken_for_a_part_of_a_catalog(file: str, packages: str, vendored: Path) -> None:
    """The attack: what olmc.lock says of catalogs, of which less can be proven, is said of a bundle."""
    forge(vendored, FERRY, "*.clusterserviceversion.yaml", "registry.example.com/ferry", EVIL)
    images = locked(vendored)
    images[FERRY] = images[FERRY]._replace(file=file, packages=packages)
    (vendored / "olmc.lock").write_text(lock_text(None, tuple(images.values())), encoding="utf-8")
    check = olmc("vendor", vendored, "--check")
    assert check.exit_code == 1
    assert "`packages` for it, which only catalogs have [OLMC618]" in check.stderr
    assert olmc("render", vendored, "--locked").exit_code == 1
    assert olmc("vendor", vendored).exit_code == 0
    render = olmc("render", vendored, "--locked")
    assert render.exit_code == 0
    assert EVIL not in render.stdout


GRANT = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ferry}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: ferry, namespace: harbour}]
"""


@pytest.fixture
def with_grant(tmp_path: Path, host: str, ferry: Path) -> Path:
    """A workspace with a vendored bundle that has two more files, which stand side by side in the list of its files."""
    bundle = tmp_path / "ferry"
    shutil.copytree(ferry, bundle)
    (bundle / "manifests/r.txt").write_text("# Permissions are in r.yaml.\n")
    (bundle / "manifests/r.yaml").write_text(GRANT)
    root = replaced(tmp_path, host, "grant", bundle_image(bundle))
    assert olmc("vendor", root).exit_code == 0
    return root


def test_a_file_does_not_stand_for_two(with_grant: Path) -> None:
    """The attack: a name with a line break and a digest makes of one file the lines of the two that it replaces."""
    manifests = with_grant / path_of(locked(with_grant)[FERRY]) / "manifests"
    digest = hashlib.sha256((manifests / "r.yaml").read_bytes()).hexdigest()
    odd = manifests.parent / f"manifests/r.txt\n{digest}  manifests"
    odd.mkdir()
    (manifests / "r.txt").rename(odd / "r.yaml")
    (manifests / "r.yaml").unlink()
    check = olmc("vendor", with_grant, "--check")
    assert check.exit_code == 1
    assert "are up to date" not in check.stderr
    for words in (("render", with_grant), ("render", with_grant, "--locked"), ("check", with_grant)):
        result = olmc(*words)
        assert result.exit_code == 3
        assert "has a control character, a backslash, or is not UTF-8 [OLMC617]" in result.stderr + result.stdout
        assert "kind: ClusterRoleBinding" not in result.stdout
    assert olmc("vendor", with_grant).exit_code == 0
    assert "name: view" in olmc("render", with_grant, "--locked").stdout
    assert set(proofs(with_grant).values()) == {Proof.PROVEN}


@pytest.mark.parametrize("change", ["another", "missing", "more"])
def test_what_is_installed_is_compared_file_by_file(change: str, with_grant: Path) -> None:
    """Not only what the digest in olmc.lock was made of."""
    image = locked(with_grant)[FERRY]
    manifests = with_grant / path_of(image) / "manifests"
    if change == "another":
        (manifests / "r.yaml").write_text(GRANT.replace("view", "edit"))
    elif change == "missing":
        (manifests / "r.yaml").unlink()
    else:
        (manifests / "s.yaml").write_text(GRANT)
    (result,) = prove(with_grant, [image])
    assert result.proof is Proof.FALSE
    problems = {
        "another": "in its layers manifests/r.yaml is another file",
        "missing": "its layers have also manifests/r.yaml",
        "more": "its layers have no manifests/s.yaml",
    }
    assert result.problem == problems[change]


def test_a_layer_of_another_bundle_proves_nothing(vendored: Path) -> None:
    """The attack: the blob of a layer is made again with the forged files, under the name that the manifest has."""
    forge(vendored, FERRY, "*.clusterserviceversion.yaml", "registry.example.com/ferry", EVIL)
    folder = vendored / path_of(locked(vendored)[FERRY])
    evil = {packed(tar(*folder_files(folder / name, f"{name}/"))) for name in ("manifests", "metadata")}
    for path in (vendored / "vendor/blobs/sha256").iterdir():
        if path.read_bytes().startswith(b"\x1f\x8b"):
            path.write_bytes(max(evil, key=len))
    check = olmc("vendor", vendored, "--check")
    assert check.exit_code == 1
    assert "was changed [OLMC618]" in check.stderr
    assert olmc("render", vendored, "--locked").exit_code == 1


@pytest.mark.parametrize("layers", [["a" * 30_000_000], ["b" * 400_000] * 100, ["c"] * 200])
def test_what_is_cheap_to_send_and_not_to_unpack_is_not_proven_again(
    layers: list[str], tmp_path: Path, host: str, ferry: Path
) -> None:
    """Every command that proves content would unpack it, on every run; the digests of its layers are what is proven."""
    folders = [packed(tar(*folder_files(ferry / name, f"{name}/"))) for name in ("manifests", "metadata")]
    bomb = image(
        [*(packed(tar((f"usr/{number}", text))) for number, text in enumerate(layers)), *folders], BUNDLE_LABELS
    )
    root = replaced(tmp_path, host, f"bomb-{len(layers)}", bomb)
    assert olmc("vendor", root).exit_code == 0
    seconds = measure()
    assert proofs(root)[FERRY] is Proof.RECORDED
    assert seconds() < 5
    assert olmc("vendor", root, "--check").exit_code == 0


def test_a_catalog_of_many_documents_is_proven_at_once(tmp_path: Path, host: str, project: Path) -> None:
    """Each was compared with each."""
    names = ("ferry.yaml", "beacon.yaml")
    files = [
        (f"configs/{name}", (project / "fixtures/dependency/catalogs/harbour" / name).read_text()) for name in names
    ]
    more = "".join(f'{{"schema": "x", "package": "ferry", "n": {number}}}\n' for number in range(20_000))
    made = image([packed(tar(*files, ("configs/x.json", more), ("configs/other.yaml", OTHER)))], CATALOG_LABELS)
    root = replaced(tmp_path, host, "many", made, CATALOG)
    assert olmc("vendor", root).exit_code == 0
    assert locked(root)[CATALOG].packages == "2 of 3"
    seconds = measure()
    assert proofs(root)[CATALOG] is Proof.PROVEN
    assert seconds() < 5
