"""Measure how the work of the commands grows with each dimension of their input.

    growth.py [--only WORD] [--size N] [--seconds]

For each dimension and each command the work at n, 2n and 4n is counted: the lines of Python that run, which are the
same on every machine. The exponent is by how much the last doubling adds more than the one before: 1.0 is linear.
Exits 1 when an exponent is over 1.15 that `EXCEPTIONS` does not have. With --seconds it measures the CPU time of large
workspaces as well.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from measuring import lines_of, measured

PROJECT = Path(__file__).resolve().parent.parent
OLM = "operators.coreos.com"
MOST = 1.15
SIZE = 16
LEAST_WORK = 200
"""Lines for each further unit: of less work the exponent says nothing."""
SIZES = {"ignore patterns and files": 32}
"""The smallest sizes of other dimensions: olmc compares fewer patterns one by one."""
_SEARCHED = "the resolver looks for each operator among all CSVs of the namespace"
EXCEPTIONS: dict[tuple[str, str], str] = {
    **{
        (command, "CSVs in a namespace"): _SEARCHED
        for command in ("check", "status", "rbac", "resolve", "plan", "diff")
    },
    ("plan", "charts"): "a cluster that is new is compared with all files of its repository",
    ("check", "policies"): "what the commands before it remember does not fit for 64",
    ("diff", "catalogs"): "it is 1.02 in a process by itself: what the commands before it remember does not fit for 64",
}
"""Why a command may grow faster with a dimension."""

Object = dict[str, Any]
Files = dict[str, Any]


def manifest(api: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    """A Kubernetes object."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def namespace_of(name: str, *targets: str) -> Iterator[Object]:
    """A namespace with an OperatorGroup, by default for itself."""
    yield manifest("v1", "Namespace", name)
    yield manifest(f"{OLM}/v1", "OperatorGroup", "group", name, spec={"targetNamespaces": list(targets or [name])})


def subscription(name: str, namespace: str, source: str = "cat", **spec: Any) -> Object:
    """A Subscription to the package of its name."""
    wish = {"name": name, "channel": "stable", "source": source, "sourceNamespace": "olm", **spec}
    return manifest(f"{OLM}/v1alpha1", "Subscription", name, namespace, spec=wish)


def source(name: str = "cat") -> Object:
    """The CatalogSource of a catalog."""
    spec = {"sourceType": "grpc", "image": f"registry.example.com/{name}:1"}
    return manifest(f"{OLM}/v1alpha1", "CatalogSource", name, "olm", spec=spec)


def csv(name: str, version: str = "1.0.0", **spec: Any) -> Object:
    """A CSV with a Deployment and a rule."""
    container = {"name": "op", "image": f"registry.example.com/op:{version}"}
    pod = {"metadata": {"labels": {"app": "op"}}, "spec": {"serviceAccountName": "op", "containers": [container]}}
    deployment = {"name": "op", "spec": {"selector": {"matchLabels": {"app": "op"}}, "template": pod}}
    rules = spec.pop("rules", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])
    strategy = {"permissions": [{"serviceAccountName": "op", "rules": rules}], "deployments": [deployment]}
    modes = [{"type": mode, "supported": True} for mode in ("OwnNamespace", "SingleNamespace", "AllNamespaces")]
    whole = {"version": version, "installModes": modes, "install": {"strategy": "deployment", "spec": strategy}, **spec}
    return manifest(f"{OLM}/v1alpha1", "ClusterServiceVersion", name, "placeholder", spec=whole)


def crd(plural: str, group: str, fields: int = 1, versions: int = 1) -> Object:
    """A CRD with so many fields in each of its versions."""
    properties = {f"field{number}": {"type": "string", "maxLength": 10} for number in range(fields)}
    fields_of_spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": fields_of_spec}}}
    served = [
        {"name": f"v{number + 1}", "served": True, "storage": not number, "schema": schema}
        for number in range(versions)
    ]
    names = {
        "plural": plural,
        "singular": plural[:-1],
        "kind": plural[:-1].title(),
        "listKind": f"{plural[:-1].title()}List",
    }
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": served}
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def entry(package: str, name: str, version: str, content: Sequence[Object] = ()) -> Object:
    """A bundle in a file-based catalog."""
    objects = [
        {"type": "olm.bundle.object", "value": {"data": base64.b64encode(json.dumps(each).encode()).decode()}}
        for each in content
    ]
    properties = [{"type": "olm.package", "value": {"packageName": package, "version": version}}, *objects]
    image = f"registry.example.com/{package}:{version}"
    return {"schema": "olm.bundle", "package": package, "name": name, "image": image, "properties": properties}


def package(name: str, versions: int = 1, channels: int = 1, *, whole: bool = True) -> list[Object]:
    """A package whose channels have all versions, each replacing the one before; the newest has its content."""
    names = [f"{name}.v1.{number}.0" for number in range(versions)]
    edges = [{"name": new, **({"replaces": names[at - 1]} if at else {})} for at, new in enumerate(names)]
    called = ["stable", *(f"channel{number}" for number in range(1, channels))]
    last = csv(names[-1], f"1.{versions - 1}.0")
    return [
        {"schema": "olm.package", "name": name, "defaultChannel": "stable"},
        *({"schema": "olm.channel", "package": name, "name": each, "entries": edges} for each in called),
        *(entry(name, each, f"1.{at}.0", [last] * (whole and at == versions - 1)) for at, each in enumerate(names)),
    ]


def cluster(*objects: Object) -> Files:
    """The manifests of a cluster, with the namespace `ns`."""
    return {"cluster.json": {"apiVersion": "v1", "kind": "List", "items": [*namespace_of("ns"), source(), *objects]}}


def catalog(*documents: Object, name: str = "cat") -> Files:
    """The content of a catalog."""
    return {f"catalogs/{name}/catalog.json": "\n".join(map(json.dumps, documents))}


def bundle(name: str, *objects: Object, folder: str = "", **spec: Any) -> Files:
    """A bundle directory."""
    prefix, home = "operators.operatorframework.io.bundle", f"bundles/{folder or name}"
    owner = name.partition(".")[0]
    annotations = {f"{prefix}.package.v1": owner, f"{prefix}.channels.v1": "stable"}
    files: Files = {f"{home}/metadata/annotations.yaml": {"annotations": annotations}}
    for number, each in enumerate((csv(name, **spec), *objects)):
        files[f"{home}/manifests/{number}.yaml"] = each
    return files


def one_operator(*objects: Object, **spec: Any) -> Files:
    """A Subscription to a catalog with one operator, whose CSV has a field."""
    content = csv("op.v1.0.0", **spec)
    documents = [*package("op", whole=False)[:2], entry("op", "op.v1.0.0", "1.0.0", [content, *objects])]
    return {**cluster(subscription("op", "ns")), **catalog(*documents)}


def _many(count: int, make: Callable[[int], Files]) -> Files:
    return {path: content for number in range(count) for path, content in make(number).items()}


def _owned(fields: int, versions: int) -> Files:
    owned = [{"name": "cups.example.com", "version": f"v{n + 1}", "kind": "Cup"} for n in range(versions)]
    return one_operator(crd("cups", "example.com", fields, versions), customresourcedefinitions={"owned": owned})


_RULE = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"]}


def _webhooks(count: int) -> Files:
    hooks = [
        {
            "type": "ValidatingAdmissionWebhook", "generateName": f"v{n}.example.com", "deploymentName": "op",
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "webhookPath": f"/v{n}",
            "rules": [{**_RULE, "resources": [f"r{n}"]}],
        }
        for n in range(count)
    ]  # fmt: skip
    return one_operator(webhookdefinitions=hooks)


def _several(count: int) -> Files:
    """Operators in one namespace."""
    documents = [each for n in range(count) for each in package(f"op{n}")]
    return {**cluster(*(subscription(f"op{n}", "ns") for n in range(count))), **catalog(*documents)}


def _namespaces(count: int, *, subscribed: bool = True) -> Files:
    """Namespaces with a group, and with a Subscription to the one operator."""
    objects = [each for n in range(count) for each in namespace_of(f"ns{n}")]
    wishes = [subscription("op", f"ns{n}") for n in range(count)] if subscribed else [subscription("op", "ns")]
    return {**cluster(*objects, *wishes), **catalog(*package("op"))}


def _targets(count: int) -> Files:
    """One group with many target namespaces."""
    names = [f"ns{n}" for n in range(count)]
    objects = [manifest("v1", "Namespace", name) for name in names]
    return {**cluster(*objects, *namespace_of("home", *names), subscription("op", "home")), **catalog(*package("op"))}


def _rules(count: int) -> Files:
    return one_operator(
        rules=[{"apiGroups": [f"g{n}.example.com"], "resources": ["cups"], "verbs": ["get"]} for n in range(count)]
    )


def _subjects(count: int) -> Files:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    users = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"user{n}"} for n in range(count)]
    binding = manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "all", "ns", roleRef=role, subjects=users)
    return {**cluster(binding, subscription("op", "ns")), **catalog(*package("op"))}


def _configmap(number: int) -> Object:
    return manifest("v1", "ConfigMap", f"map{number}", "ns", data={"key": "value"})


def _policies(count: int) -> Files:
    def policy(number: int) -> Object:
        wrapped = {"complianceType": "musthave", "objectDefinition": _configmap(number)}
        template = manifest(
            "policy.open-cluster-management.io/v1", "ConfigurationPolicy", f"p{number}",
            spec={"remediationAction": "enforce", "object-templates": [wrapped]},
        )  # fmt: skip
        spec = {"disabled": False, "policy-templates": [{"objectDefinition": template}]}
        return manifest("policy.open-cluster-management.io/v1", "Policy", f"p{number}", "ns", spec=spec)

    return {**cluster(subscription("op", "ns"), *map(policy, range(count))), **catalog(*package("op"))}


def _chart(number: int) -> Files:
    """A Helm chart that installs an operator."""
    about = {"apiVersion": "v2", "name": f"op{number}", "version": "1.0.0"}
    wish = "\n".join(f"{key}: {json.dumps(value)}" for key, value in subscription(f"op{number}", "ns").items())
    return {f"charts/op{number}/Chart.yaml": about, f"charts/op{number}/templates/wish.yaml": f"{wish}\n"}


def _of_catalogs(count: int) -> Files:
    files = {**cluster(*(source(f"cat{n}") for n in range(count)), subscription("op", "ns")), **catalog(*package("op"))}
    return {**files, **_many(count, lambda n: catalog(*package(f"op{n}"), name=f"cat{n}"))}


def _installed(files: Files) -> Files:
    return {**cluster(subscription("op", "ns")), **catalog(*package("op")), **files}


DIMENSIONS: dict[str, Callable[[int], Files]] = {
    "files": lambda n: _installed(_many(n, lambda at: {f"maps/{at}.yaml": _configmap(at)})),
    "documents": lambda n: _installed({"maps.yaml": "\n---\n".join(json.dumps(_configmap(at)) for at in range(n))}),
    "objects": lambda n: {**cluster(subscription("op", "ns"), *map(_configmap, range(n))), **catalog(*package("op"))},
    "folders": lambda n: _installed(_many(n, lambda at: {f"f{at}/map.yaml": _configmap(at)})),
    "bundles": lambda n: _many(n, lambda at: bundle(f"op{at}.v1.0.0")),
    "versions of a package": lambda n: _many(
        n, lambda at: bundle(f"op.v1.{at}.0", version=f"1.{at}.0", replaces=f"op.v1.{at - 1}.0" if at else "")
    ),
    "entries of a channel": lambda n: {**cluster(subscription("op", "ns")), **catalog(*package("op", n))},
    "channels": lambda n: {**cluster(subscription("op", "ns")), **catalog(*package("op", 2, n))},
    "hops": lambda n: {
        **cluster(subscription("op", "ns", startingCSV="op.v1.0.0")), **catalog(*package("op", n + 1)),
    },
    "packages": lambda n: {
        **cluster(subscription("op0", "ns")), **catalog(*(each for at in range(n) for each in package(f"op{at}"))),
    },
    "catalogs": _of_catalogs,
    "namespaces": lambda n: _namespaces(n, subscribed=False),
    "Subscriptions": _namespaces,
    "target namespaces": _targets,
    "CSVs in a namespace": _several,
    "rules": _rules,
    "subjects": _subjects,
    "fields of a CRD": lambda n: _owned(n, 1),
    "versions of a CRD": lambda n: _owned(4, n),
    "webhooks": _webhooks,
    "policies": _policies,
    "charts": lambda n: _many(n, _chart),
    "ignore patterns": lambda n: {
        **_installed(_many(SIZE, lambda at: {f"maps/{at}.yaml": _configmap(at)})),
        ".olmcignore": "".join(f"none{at}/*.yaml\n" for at in range(n)),
    },
    "ignore patterns and files": lambda n: {
        **_installed(_many(n, lambda at: {f"maps/{at}.yaml": _configmap(at)})),
        ".olmcignore": "".join(f"none{at}/*.yaml\n" for at in range(n)),
    },
    "suppressions": lambda n: _installed({
        "maps.yaml": "".join(f"---\n# olmc: ignore[OLMC270] known\n{json.dumps(_configmap(at))}\n" for at in range(n))
    }),
}  # fmt: skip
COMMANDS = (
    ("render",), ("check",), ("status",), ("rbac",), ("resolve",), ("graph", "op"), ("plan", "--from"), ("diff",),
)  # fmt: skip


def write(root: Path, files: Files) -> Path:
    """Write files, objects as JSON."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return root


def exponent_of(work: Sequence[int]) -> float:
    """By which power of the size the work grows: the logarithm of how much more the last doubling adds."""
    first, second = (more - less for less, more in pairwise(work))
    return math.log2(second / first) if min(first, second) > 0 else 1.0


def arguments_of(command: Sequence[str], root: Path, empty: Path) -> list[str]:
    """A command for a workspace; of the commands with two sides the other one is empty."""
    if command[0] == "plan":
        return ["plan", os.fspath(root), "--from", os.fspath(empty)]
    return [*command, os.fspath(root)] if command[0] != "diff" else ["diff", os.fspath(empty), os.fspath(root)]


def growth_of(make: Callable[[int], Files], command: Sequence[str], size: int, folder: Path) -> tuple[list[int], float]:
    """The work of a command at three sizes, and the exponent."""
    empty = write(folder / "empty", cluster())
    roots = [write(folder / str(count), make(count)) for count in (size, 2 * size, 4 * size)]
    lines_of(arguments_of(command, roots[0], empty))  # uncounted: imports, and what is remembered
    work = [lines_of(arguments_of(command, root, empty)) for root in roots]
    return work, exponent_of(work)


# Dimensions with a state before: the other side grows as well, or the history of the repository.


def write_sides(root: Path, count: int) -> Path:
    """Write two sides that differ in each object, of which a third is new and a third is removed."""
    for side, numbers in (("before", range(2 * count)), ("after", range(count, 3 * count))):
        maps = [{**_configmap(number), "data": {"key": side}} for number in numbers]
        write(root / side, {**cluster(subscription("op", "ns"), *maps), **catalog(*package("op"))})
    return root


def write_history(root: Path, count: int) -> Path:
    """Write a repository with so many commits, each of which changes an object."""
    write(root, one_operator())
    subprocess.run([*_GIT, "init", "--quiet"], cwd=root, check=True)
    for number in range(count):
        write(root, {"map.yaml": {**_configmap(0), "data": {"key": str(number)}}})
        for arguments in (["add", "--all"], ["commit", "--quiet", "--message", "change"]):
            subprocess.run([*_GIT, *arguments], cwd=root, check=True)
    return root


_GIT = (
    "git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false",
    "-c", "gc.auto=0",
)  # fmt: skip


class Compared(NamedTuple):
    """A dimension of comparisons: a function that writes both states, and the commands, which run in its folder."""

    make: Callable[[Path, int], Path]
    commands: tuple[tuple[str, ...], ...]


COMPARED = {
    "both sides": Compared(write_sides, (("plan", "after", "--from", "before"), ("diff", "before", "after"))),
    "git history": Compared(
        write_history, (("check", "--since", "HEAD~1"), ("plan", "--from", "git:HEAD~1"), ("diff", "git:HEAD~1", "."))
    ),
}


def growth_of_comparison(
    compared: Compared, command: Sequence[str], size: int, folder: Path
) -> tuple[list[int], float]:
    """The work of a command with a state before at three sizes, and the exponent."""
    work = []
    for count in (size, size, 2 * size, 4 * size):  # the first one is not counted
        root = folder / str(count)
        with chdir(root if root.exists() else compared.make(root, count)):
            work.append(lines_of(command))
    return work[1:], exponent_of(work[1:])


class Growth(NamedTuple):
    """What grows, up to which size, and how many seconds of CPU that may take and should."""

    make: Callable[[int], Files]
    largest: int
    limit: float
    target: float


GROWTHS = {
    "namespaces, each with a group and a Subscription": Growth(_namespaces, 1000, 8.0, 4.0),
    "entries of a channel, each replacing the one before": Growth(DIMENSIONS["entries of a channel"], 8000, 2.0, 1.0),
}


def in_seconds(command: Sequence[str]) -> bool:
    """Print the CPU time of large workspaces; whether each is within its limit."""
    ok = True
    for what, growth in GROWTHS.items():
        with tempfile.TemporaryDirectory() as root:
            sizes = [growth.largest // 4, growth.largest // 2, growth.largest]
            paths = [os.fspath(write(Path(root, str(size)), growth.make(size))) for size in (1, *sizes)]
            measured([*command, "render", paths[0]], 1, fine=(0, 1))  # once unmeasured: modules are compiled
            least, *times = (measured([*command, "render", path], 1, fine=(0, 1))[0] for path in paths)
        exponent = math.log2((times[-1] - least) / (times[-2] - least))
        ok &= times[-1] <= growth.limit
        shown = ", ".join(f"{size}: {seconds:.2f} s" for size, seconds in zip(sizes, times, strict=True))
        aims = f"limit {growth.limit:.0f} s, target {growth.target:.0f} s"
        verdict = "ok" if times[-1] <= growth.limit else "TOO SLOW"
        print(f"{what}: {shown} of CPU, exponent {exponent:.2f}, {aims}: {verdict}", flush=True)
    return ok


def is_linear(name: str, size: int) -> bool:
    """Print the exponents of a dimension; whether none is over the limit that is not an exception."""
    ok, shown = True, []
    for command in COMPARED[name].commands if name in COMPARED else COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            if name in COMPARED:
                work, exponent = growth_of_comparison(COMPARED[name], command, size, Path(folder))
            else:
                work, exponent = growth_of(DIMENSIONS[name], command, size, Path(folder))
        is_work = work[-1] - work[-2] > LEAST_WORK * 2 * size
        is_over = is_work and exponent > MOST and (command[0], name) not in EXCEPTIONS
        ok &= not is_over
        shown.append(f"{command[0]} {exponent:.2f}" + " OVER" * is_over if is_work else f"{command[0]} –")
    print(f"{name}: {', '.join(shown)}", flush=True)
    return ok


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command whose CPU time is measured")
    parser.add_argument("--only", default="", help="dimensions with this in their name")
    parser.add_argument("--size", type=int, default=SIZE, help="the smallest size")
    parser.add_argument("--seconds", action="store_true", help="also measure the CPU time of large workspaces")
    given = parser.parse_args()
    sys.path.insert(0, os.fspath(PROJECT))
    os.environ["OLMC_NO_CACHE"] = "1"
    ok = True
    for name in (*DIMENSIONS, *COMPARED):
        if given.only in name:
            ok &= is_linear(name, max(given.size, SIZES.get(name, 0)))
    return 0 if (in_seconds(shlex.split(given.olmc)) if given.seconds else True) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
