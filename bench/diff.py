"""Measure the CPU time of comparing two renderings of 5,000 objects, and hold it against the limit.

    diff.py [--olmc CMD] [--objects N] [--runs N]

The renderings are made from the number of objects alone, so they are the same on every machine: operators with CSVs and
their copies, CRDs, Deployments, Services and RBAC under hashed names. Three comparisons:

- same: a rendering with itself;
- some: one operator in ten is upgraded, as in most pull requests;
- all: every operator is upgraded, so that hardly a document is the same.

Each is one `olmc diff` in a process of its own; its user and system time count. Exits 1 when one takes longer than the
limit.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent

LIMIT = 3.0  # seconds of CPU
COPIES = 20
FORMATS = ("text", "markdown", "json", "html")
RBAC = "rbac.authorization.k8s.io"


def objects_of(number: int, version: int) -> Iterator[dict[str, Any]]:
    """The 50 objects of an operator at a version."""
    name, namespace = f"op{number:03}", f"ns-{number:03}"
    csv = f"{name}.v1.{version}.0"
    owner = {"olm.owner": csv, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace}
    image = f"registry.example.com/{name}:1.{version}.0"
    env = [{"name": f"VARIABLE_{each}", "value": f"{each}-{version if each == 3 else 0}"} for each in range(12)]
    container = {"name": "manager", "image": image, "env": env, "resources": {"limits": {"memory": "512Mi"}}}
    pod = {"serviceAccountName": name, "containers": [container]}
    deployment = {"replicas": 1, "template": {"metadata": {"labels": {"app": name}}, "spec": pod}}
    rules = [rule(each, ["get", "list", "watch", *(["create"] if version and each == 4 else [])]) for each in range(25)]
    spec = {
        "version": f"1.{version}.0",
        "replaces": f"{name}.v1.{version - 1}.0" if version else "",
        "description": f"An operator for {name}. " * 40,
        "install": {"strategy": "deployment", "spec": {
            "deployments": [{"name": name, "spec": deployment}],
            "clusterPermissions": [{"serviceAccountName": name, "rules": rules}],
        }},
    }  # fmt: skip
    for copy in range(COPIES + 1):
        labels = {"olm.copiedFrom": namespace} if copy else {"olm.managed": "true"}
        place = f"copy-{copy:02}" if copy else namespace
        metadata = {"name": csv, "namespace": place, "labels": labels}
        yield made("operators.coreos.com/v1alpha1", "ClusterServiceVersion", metadata, spec=spec)
    metadata = {"name": name, "namespace": namespace, "labels": owner}
    yield made("apps/v1", "Deployment", metadata, spec=deployment)
    yield made("v1", "ServiceAccount", metadata)
    yield made("operators.coreos.com/v2", "OperatorCondition", {"name": csv, "namespace": namespace})
    for each in range(4):
        yield made("v1", "Service", {"name": f"{name}-{each}", "namespace": namespace}, spec={"ports": [{"port": 80}]})
    for each in range(5):
        digest = hashlib.sha256(f"{csv}{each}".encode()).hexdigest()[:36]
        metadata = {"name": f"{csv}-{name}-{digest}", "labels": owner}
        subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]}
        yield made(f"{RBAC}/v1", "ClusterRole", metadata, rules=rules[each * 5 : each * 5 + 5])
        yield made(f"{RBAC}/v1", "ClusterRoleBinding", metadata, subjects=subjects, roleRef=reference)
    for each in range(2):
        plural = f"things{each}"
        yield definition(f"{plural}.{name}.example.com", plural, version)
        for role in ("admin", "edit", "view", "crdview"):
            verbs = ["get", "list", "watch"] if role == "view" else ["*"]
            metadata = {"name": f"{plural}.{name}.example.com-v1-{role}"}
            yield made(f"{RBAC}/v1", "ClusterRole", metadata, rules=[rule(each, verbs)])


def made(api: str, kind: str, metadata: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def rule(number: int, verbs: list[str]) -> dict[str, Any]:
    return {"verbs": verbs, "apiGroups": ["", f"group{number}.example.com"], "resources": [f"things{number}"]}


def definition(name: str, plural: str, version: int) -> dict[str, Any]:
    fields = {}
    for each in range(80):
        length = 60 + version * (each < 4)
        fields[f"field{each}"] = {"type": "string", "description": f"The field {each}, a text.", "maxLength": length}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": name.partition(".")[2], "scope": "Namespaced", "names": {"plural": plural}, "versions": versions}
    return made("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"name": name}, spec=spec)


def rendering(count: int, upgraded: int) -> str:
    """A YAML stream of `count` objects in which the operators before the number `upgraded` have the next version."""
    from olmc.k8s.yaml import dump

    listed: list[dict[str, Any]] = []
    number = 0
    while len(listed) < count:
        listed += objects_of(number, int(number < upgraded))
        number += 1
    return dump(listed[:count])


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3, help="runs of each comparison; their median counts")
    args = parser.parse_args()
    command = shlex.split(args.olmc)
    measured([*command, "version"], 1)  # once unmeasured: modules are compiled, files come from memory
    operators = -(-args.objects // 50)
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        sides = {}
        for name, upgraded in (("old", 0), ("same", 0), ("some", operators // 10), ("all", operators)):
            text = rendering(args.objects, upgraded)
            sides[name] = Path(folder, f"{name}.yaml")
            sides[name].write_text(text, encoding="utf-8")
        print(f"{args.objects} objects, {sides['old'].stat().st_size / 1e6:.1f} MB a side")
        for name in ("same", "some", "all"):
            for output in FORMATS if name == "all" else FORMATS[:1]:
                paths = [os.fspath(sides["old"]), os.fspath(sides[name])]
                seconds, size = measured([*command, "diff", *paths, "-o", output], args.runs, fine=(0, 1))
                verdict = "ok" if seconds <= LIMIT else f"more than {LIMIT:.1f} s"
                ok &= seconds <= LIMIT
                print(f"  {name:5} {output:8} {seconds:6.2f} s CPU  {size / 1e6:6.2f} MB  {verdict}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
