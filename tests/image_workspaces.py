"""Workspaces whose catalogs and bundles are images, made of the fixtures, which have both as folders."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from image_kit import Image, bundle_image, catalog_image

PROJECT = Path(__file__).resolve().parent.parent
CATALOG = "registry.example.com/catalogs/harbour:v1"
CATALOG_SOURCE = f"""\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {{name: harbour, namespace: olm}}
spec:
  sourceType: grpc
  image: {CATALOG}
"""


def with_images(root: Path, fixture: str, compression: str = "gzip") -> dict[str, Image]:
    """Write the workspace `fixture` to `root` without its catalog and bundles; these, as images by reference."""
    source = PROJECT / "fixtures" / fixture
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("catalogs", "bundles"))
    text = (root / "cluster.yaml").read_text(encoding="utf-8")
    documents = [part for part in re.split(r"^---\n", text, flags=re.MULTILINE) if "kind: CatalogSource" not in part]
    (root / "cluster.yaml").write_text("---\n".join([*documents, CATALOG_SOURCE]), encoding="utf-8")
    images = {CATALOG: catalog_image(source / "catalogs/harbour", compression)}
    for folder in sorted((source / "bundles").iterdir()):
        name, _, version = folder.name.rpartition("-")
        images[f"registry.example.com/bundles/{name}:v{version}"] = bundle_image(folder, compression)
    return images


def located(place: str) -> None:
    """Let the machine's registries.conf say that what registry.example.com has is at `place`, and nowhere else."""
    conf = Path(os.environ["CONTAINERS_REGISTRIES_CONF"])
    conf.write_text(f'[[registry]]\nprefix = "registry.example.com"\nlocation = "{place}"\n', encoding="utf-8")


def state(root: Path) -> Mapping[str, bytes]:
    """All files of a workspace, hidden ones included."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def paths(root: Path) -> Sequence[str]:
    """Everything below vendor/, folders included."""
    return sorted(path.relative_to(root).as_posix() for path in (root / "vendor").rglob("*"))
