"""Measure commands at the root of a GitOps repository with 144 entries, of which 102 are kustomizations.

    entries.py [--olmc FILE] [--entries N] [--repository FOLDER] [--runs N]

Each component has a base and an overlay for each of three clusters, which an Application applies; other entries are
folders of manifests. Each entry installs an operator. The CPU of olmc itself counts, without that of
`kubectl kustomize`: it is divided by the number of entries, which `olmc check` counts. `--repository` measures an
existing repository instead. Exits 1 when a target is missed; says so and exits 0 where kustomizations can't be built.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

PROJECT = Path(__file__).resolve().parent.parent
TARGET = 0.025
"""Seconds of CPU of olmc itself for an entry."""
ENTRIES = 144
CLUSTERS = ("development", "staging", "production")
REPOSITORY = "https://git.example.com/platform/fleet.git"
COMMANDS = (["status"], ["check"])
KUSTOMIZATIONS = 17 / 24
"""The share of the entries that are overlays, as in a large public repository."""
_ENTRIES = re.compile(r"(\d+) clusters? with (\d+) entr(?:y|ies)\b")
_CODE = """\
import resource, sys, threading
given = sys.argv[1]
sys.argv[:2] = ["olmc"]
from olmc.__main__ import run
try:
    run()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(given, "w") as file:
        print(*(each.ru_utime + each.ru_stime for each in used), file=file)
"""  # threading: without it a run ends at once, and the time is not written


class EntriesCost(NamedTuple):
    """Seconds of CPU of olmc itself and of the processes that it starts, and its output."""

    own: float
    others: float
    printed: str


def write_repository(root: Path, entries: int) -> None:
    """Write a repository with so many entries."""
    overlays = round(entries * KUSTOMIZATIONS) // len(CLUSTERS)
    for number in range(overlays):
        _write_component(root, f"component-{number:02}")
    for number in range(entries - overlays * len(CLUSTERS)):
        name, cluster = f"folder-{number:02}", CLUSTERS[number % len(CLUSTERS)]
        _write(root / "folders" / name / "objects.yaml", _objects(name))
        _write(root / "applications" / f"{name}.yaml", [_application(name, cluster, f"folders/{name}")])


def _write_component(root: Path, name: str) -> None:
    home = root / "components" / name
    objects = list(_objects(name))
    for document in objects:
        _write(home / "base" / f"{document['kind'].lower()}.yaml", [document])
    files = [f"{document['kind'].lower()}.yaml" for document in objects]
    _write(home / "base" / "kustomization.yaml", [_kustomization(resources=files)])
    for cluster in CLUSTERS:
        patch = [{"op": "replace", "path": "/spec/replicas", "value": CLUSTERS.index(cluster) + 1}]
        overlay = _kustomization(
            resources=["../base"],
            images=[{"name": f"registry.example.com/{name}", "newTag": cluster}],
            patches=[{"target": {"kind": "Deployment"}, "patch": yaml.safe_dump(patch)}],
            configMapGenerator=[{"name": f"{name}-cluster", "namespace": name, "literals": [f"CLUSTER={cluster}"]}],
        )
        _write(home / cluster / "kustomization.yaml", [overlay])
        applied = _application(f"{name}-{cluster}", cluster, f"components/{name}/{cluster}")
        _write(root / "applications" / f"{name}-{cluster}.yaml", [applied])


def _objects(name: str) -> Iterator[dict[str, Any]]:
    """A Namespace, a Deployment with its ServiceAccount and Service, permissions, and an operator from a catalog."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": name, "namespace": name}
    yield _made("v1", "Namespace", {"name": name})
    yield _made("v1", "ServiceAccount", metadata)
    yield _made("v1", "Service", metadata, spec={"selector": {"app": name}, "ports": [{"port": 443}]})
    environment = [{"name": f"SETTING_{number}", "value": f"{name}-{number}"} for number in range(12)]
    container = {"name": name, "image": f"registry.example.com/{name}:main", "env": environment}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"serviceAccountName": name, "containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    yield _made("apps/v1", "Deployment", metadata, spec={"replicas": 1, "selector": selector, "template": template})
    rules = [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "watch"]}]
    yield _made(f"{rbac}/v1", "Role", metadata, rules=rules)
    reference = {"apiGroup": rbac, "kind": "Role", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": name}]
    yield _made(f"{rbac}/v1", "RoleBinding", metadata, roleRef=reference, subjects=subjects)
    yield _made("operators.coreos.com/v1", "OperatorGroup", metadata, spec={"targetNamespaces": [name]})
    spec = {"name": name, "channel": "stable", "source": "community-operators", "sourceNamespace": "olm"}
    yield _made("operators.coreos.com/v1alpha1", "Subscription", metadata, spec=spec)


def _application(name: str, cluster: str, path: str) -> dict[str, Any]:
    spec = {
        "project": "default", "destination": {"name": cluster},
        "source": {"repoURL": REPOSITORY, "targetRevision": "HEAD", "path": path},
    }  # fmt: skip
    return _made("argoproj.io/v1alpha1", "Application", {"name": name, "namespace": "argocd"}, spec=spec)


def _kustomization(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}


def _made(api_version: str, kind: str, metadata: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _write(path: Path, documents: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")


def cost_of(python: str, arguments: list[str], root: Path) -> EntriesCost:
    """Run olmc in a folder; its exit code has to be that of a run with or without findings."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.NamedTemporaryFile("r") as times:
        done = subprocess.run(
            [python, "-P", "-c", _CODE, times.name, *arguments], cwd=root, capture_output=True, text=True, check=False,
            env=env,
        )  # fmt: skip
        if done.returncode not in (0, 1):
            sys.exit(f"bench: olmc {shlex.join(arguments)} exited with {done.returncode}:\n{done.stderr[-2000:]}")
        own, others = map(float, times.read().split())
    return EntriesCost(own, others, done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--entries", type=int, default=ENTRIES, help="the number of entries")
    parser.add_argument("--repository", type=Path, help="a repository to measure instead")
    parser.add_argument("--runs", type=int, default=3, help="runs; their median counts")
    args = parser.parse_args()
    if not any(map(shutil.which, ("kustomize", "kubectl"))):
        print("bench: skipped, because neither kustomize nor kubectl is installed")
        return 0
    python = os.fspath(Path(args.olmc).absolute().with_name("python"))  # of the environment that olmc is installed in
    with tempfile.TemporaryDirectory() as folder:
        root = args.repository or Path(folder)
        if args.repository is None:
            write_repository(root, args.entries)
        clusters, entries = _counted(cost_of(python, ["check"], root).printed)
        print(f"{entries} entries in {clusters} clusters")
        holds = True
        for arguments in COMMANDS:
            costs = sorted((cost_of(python, arguments, root) for _ in range(args.runs)), key=lambda cost: cost.own)
            cost = costs[len(costs) // 2]
            each = cost.own / entries
            is_met = each <= TARGET
            holds &= is_met
            times = f"{cost.own:.2f} s of CPU, {1000 * each:.1f} ms an entry (target {1000 * TARGET:.0f} ms)"
            verdict = "ok" if is_met else "MISSED"
            print(
                f"olmc {shlex.join(arguments)}: {times}, {cost.others:.2f} s in other processes: {verdict}", flush=True
            )
    return 0 if holds else 1


def _counted(printed: str) -> tuple[int, int]:
    """The number of clusters and entries that `olmc check` prints."""
    match = _ENTRIES.search(printed)
    if match is None:
        sys.exit(f"bench: no entries were found:\n{printed[-2000:]}")
    return int(match[1]), int(match[2])


if __name__ == "__main__":
    sys.exit(main())
