"""Makes images: layers, manifests, indexes; and puts them into registries and layouts."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import urllib3
import zstandard

from olmc.integrations.fetch.sources import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST

INDEX, BUNDLE = "operators.operatorframework.io.index.", "operators.operatorframework.io.bundle."
CATALOG_LABELS = {f"{INDEX}configs.v1": "/configs"}
BUNDLE_LABELS = {
    f"{BUNDLE}mediatype.v1": "registry+v1",
    f"{BUNDLE}manifests.v1": "manifests/",
    f"{BUNDLE}metadata.v1": "metadata/",
}
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar"


class Image(NamedTuple):
    """A manifest or an index with everything below it, by digest: (media type or "" for a blob, bytes)."""

    digest: str
    media_type: str
    data: bytes
    parts: Mapping[str, tuple[str, bytes]]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def member(name: str, **fields: Any) -> tarfile.TarInfo:
    """A member that is no regular file: `member("a", type=tarfile.SYMTYPE, linkname="b")`."""
    made = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def tar(*files: tuple[str, str | bytes] | tarfile.TarInfo) -> bytes:
    """An archive of files, each a name with its content, and of other members, in this order."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for each in files:
            if isinstance(each, tarfile.TarInfo):
                archive.addfile(each)
                continue
            name, content = each
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def packed(data: bytes, compression: str = "gzip") -> bytes:
    """An archive as a layer has it: "gzip", "zstd" or "" for plain."""
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    return zstandard.compress(data) if compression == "zstd" else data


def image(
    layers: Sequence[bytes], labels: Mapping[str, str] | None = None, *, docker: bool = False, **config: Any
) -> Image:
    """An image of layers, as OCI or as Docker's schema 2 writes it."""
    told = {"architecture": "amd64", "os": "linux", "config": {"Labels": labels}, **config}
    configuration = json.dumps(told).encode()
    kind = "application/vnd.docker.container.image.v1+json" if docker else "application/vnd.oci.image.config.v1+json"
    layer_type = "application/vnd.docker.image.rootfs.diff.tar.gzip" if docker else f"{OCI_LAYER}+gzip"
    media_type = DOCKER_MANIFEST if docker else OCI_MANIFEST
    manifest = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": described(configuration, kind),
        "layers": [described(layer, layer_type) for layer in layers],
    }
    blobs = {digest(each): ("", each) for each in (configuration, *layers)}
    data = json.dumps(manifest).encode()
    return Image(digest(data), media_type, data, blobs)


def described(data: bytes, media_type: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def index(images: Mapping[str, Image], *, docker: bool = False) -> Image:
    """An index of images by platform; "" for none, `unknown/unknown` for an attestation."""
    entries = []
    for platform, each in images.items():
        entry = described(each.data, each.media_type)
        if platform:
            entry["platform"] = dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))
        entries.append(entry)
    media_type = DOCKER_LIST if docker else OCI_INDEX
    data = json.dumps({"schemaVersion": 2, "mediaType": media_type, "manifests": entries}).encode()
    parts = {key: part for each in images.values() for key, part in each.parts.items()}
    parts |= {each.digest: (each.media_type, each.data) for each in images.values()}
    return Image(digest(data), media_type, data, parts)


def folder_files(folder: Path, prefix: str = "") -> list[tuple[str, bytes]]:
    """The files of a folder as members of an archive."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(prefix + path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]


def catalog_image(folder: Path, compression: str = "gzip") -> Image:
    """The image of a catalog, on top of a layer of a system."""
    system = tar(member("etc", type=tarfile.DIRTYPE), ("etc/os-release", "ID=example\n"), ("bin/opm", b"\x7fELF"))
    configs = tar(member("configs", type=tarfile.DIRTYPE), *folder_files(folder, "configs/"))
    return image([packed(system, compression), packed(configs, compression)], CATALOG_LABELS)


def bundle_image(folder: Path, compression: str = "gzip", **how: Any) -> Image:
    """The image of a bundle: a layer for each of its folders."""
    layers = [tar(*folder_files(folder / name, f"{name}/")) for name in ("manifests", "metadata")]
    return image([packed(layer, compression) for layer in layers], BUNDLE_LABELS, **how)


def push(host: str, name: str, tag: str, made: Image, user: str = "") -> None:
    """Put an image into a registry, as `name:tag`; `user` is `name:password`."""
    pool = urllib3.PoolManager()
    headers = dict(urllib3.make_headers(basic_auth=user)) if user else {}
    base = f"http://{host}/v2/{name}"
    for key, (media_type, data) in sorted(made.parts.items(), key=lambda part: part[1][0]):
        if media_type:
            _put(pool, f"{base}/manifests/{key}", data, {**headers, "Content-Type": media_type})
            continue
        started = pool.request("POST", f"{base}/blobs/uploads/", headers=headers)
        assert started.status == 202, started.data
        location = started.headers["Location"]
        target = f"{location}{'&' if '?' in location else '?'}digest={key}"
        _put(pool, target, data, {**headers, "Content-Type": "application/octet-stream"})
    _put(pool, f"{base}/manifests/{tag}", made.data, {**headers, "Content-Type": made.media_type})


def _put(pool: urllib3.PoolManager, url: str, data: bytes, headers: Mapping[str, str]) -> None:
    answer = pool.request("PUT", url, body=data, headers=headers)
    assert answer.status == 201, answer.data


def write_layout(folder: Path, images: Mapping[str, Image]) -> Path:
    """An OCI layout with images by their name."""
    entries = []
    for name, made in images.items():
        for key, (_, data) in {**made.parts, made.digest: (made.media_type, made.data)}.items():
            path = folder / "blobs" / key.replace(":", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        entry = described(made.data, made.media_type)
        entries.append({**entry, "annotations": {"org.opencontainers.image.ref.name": name}})
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": entries}))
    return folder


def as_archive(folder: Path) -> Path:
    """An OCI layout as one file."""
    return Path(shutil.make_archive(str(folder), "tar", folder))
