"""What other tools take for the same bundles: the peers in the table.

    peers.py yaml FILE...
    peers.py helm CHART

The first reads files with PyYAML's loader in C, the second renders a chart with Helm as a library. Both need the
development tools, or the extra `helm`.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HELM = "helm_python"


def yaml_files(bundle: Path) -> list[Path]:
    """The files of a bundle that have its manifests and metadata, sorted."""
    return sorted(path for path in bundle.rglob("*") if path.suffix in (".yaml", ".yml", ".json"))


def write_kustomization(bundle: Path, folder: Path) -> Path:
    """A folder with the manifests of a bundle and a kustomization that has all of them, as `kubectl` builds it."""
    folder.mkdir(parents=True)
    names = [path.name for path in yaml_files(bundle / "manifests")]
    for name in names:
        shutil.copy(bundle / "manifests" / name, folder / name)
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names}
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization), encoding="utf-8")
    return folder


def write_chart(bundle: Path, folder: Path) -> Path:
    """A chart whose templates are the manifests of a bundle; Helm renders braces in them as they are."""
    templates = folder / "templates"
    templates.mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: bundle, version: 1.0.0}\n", encoding="utf-8")
    for path in yaml_files(bundle / "manifests"):
        text = path.read_text(encoding="utf-8").replace("{{", '{{ "{{" }}')
        (templates / path.name).write_text(text, encoding="utf-8")
    return folder


def has_helm() -> bool:
    """Whether Helm is installed as a library."""
    return find_spec(HELM) is not None


def read_with_pyyaml(paths: list[Path]) -> int:
    """The number of documents in some files, each of which is read to values."""
    import yaml

    return sum(len(list(yaml.load_all(path.read_bytes(), yaml.CSafeLoader))) for path in paths)


def render_with_helm(chart: Path) -> int:
    """The number of templates that Helm renders in a chart."""
    from helm_python import _native  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from helm_python.chart import Chart  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with Chart.load(str(chart)) as loaded:
        options = {"name": "bundle", "namespace": "default"}
        return len(json.loads(_native.call_string("helm_render", loaded._raw(), "{}", json.dumps(options))))


if __name__ == "__main__":
    kind, *given = sys.argv[1:]
    print(read_with_pyyaml([Path(path) for path in given]) if kind == "yaml" else render_with_helm(Path(given[0])))
