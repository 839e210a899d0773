"""Changes of a workspace that people make: each edits a copy, and returns whether it had anything to change."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
Change = Callable[[Path], bool]
NEW_VERSION = "9.0.0"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(path: Path) -> list[Object]:
    return [obj for obj in yaml.load_all(path.read_text(encoding="utf-8"), LOADER) if obj]


def write(path: Path, objects: list[Object]) -> None:
    path.write_text(yaml.safe_dump_all(objects, sort_keys=False), encoding="utf-8")


def manifests(root: Path) -> Iterator[tuple[Path, list[Object]]]:
    """The manifests of a workspace by file, without the content of bundles and catalogs."""
    for path in sorted(root.rglob("*.yaml")):
        if path.relative_to(root).parts[0] not in ("bundles", "catalogs") and path.name != "olmc.yaml":
            yield path, documents(path)


def each(edit: Callable[[Object], Object | None]) -> Change:
    """Edit every manifest; one for which `edit` returns None goes."""

    def change(root: Path) -> bool:
        changed = False
        for path, objects in manifests(root):
            edited = [made for obj in objects if (made := edit(copy.deepcopy(obj))) is not None]
            if edited != objects:
                changed = True
                write(path, edited)
        return changed

    return change


def of(kinds: str, edit: Callable[[Object], Object | None]) -> Change:
    """Edit the manifests of some kinds."""
    chosen = kinds.split()
    return each(lambda obj: edit(obj) if obj.get("kind") in chosen else obj)


def renamed(obj: Object) -> Object:
    obj["metadata"]["name"] += "-new"
    return obj


def retargeted(spec: Mapping[str, Any]) -> Change:
    """Give each OperatorGroup other targets; OWN is its own namespace."""

    def edit(obj: Object) -> Object:
        own = obj["metadata"]["namespace"]
        kept = {key: value for key, value in (obj.get("spec") or {}).items() if key not in TARGETS}
        targets = {key: [own if name == "OWN" else name for name in spec[key]] for key in spec if key != "selector"}
        obj["spec"] = {**kept, **targets, **({"selector": spec["selector"]} if "selector" in spec else {})}
        return obj

    return of("OperatorGroup", edit)


TARGETS = ("targetNamespaces", "selector")


def with_spec(kinds: str, **fields: Any) -> Change:
    def edit(obj: Object) -> Object:
        obj["spec"] = {**(obj.get("spec") or {}), **fields}
        return obj

    return of(kinds, edit)


def labelled(obj: Object) -> Object:
    obj["metadata"].setdefault("labels", {})["team"] = "blue"
    return obj


def adding(*objects: Object) -> Change:
    def change(root: Path) -> bool:
        write(root / "added.yaml", list(objects))
        return True

    return change


def second_group(root: Path) -> bool:
    groups = [obj for _, objects in manifests(root) for obj in objects if obj.get("kind") == "OperatorGroup"]
    write(root / "added.yaml", [{**obj, "metadata": {**obj["metadata"], "name": "another"}} for obj in groups[:1]])
    return bool(groups)


def without_namespace(root: Path) -> bool:
    """Remove the namespace of the first group, with all that is in it."""
    groups = [obj for _, objects in manifests(root) for obj in objects if obj.get("kind") == "OperatorGroup"]
    if not groups:
        return False
    gone = groups[0]["metadata"]["namespace"]

    def edit(obj: Object) -> Object | None:
        metadata = obj.get("metadata") or {}
        is_it = obj.get("kind") == "Namespace" and metadata.get("name") == gone
        return None if is_it or metadata.get("namespace") == gone else obj

    return each(edit)(root)


def with_setting(**fields: Any) -> Change:
    def change(root: Path) -> bool:
        path = root / "olmc.yaml"
        config: Object = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config"}
        config |= documents(path)[0] if path.is_file() else {}
        write(path, [{**config, "spec": {**(config.get("spec") or {}), **fields}}])
        return True

    return change


def upgraded(root: Path) -> bool:
    """Give every channel with one head a newer version: the same bundle with another name, version and image."""
    changed = False
    for path in sorted(root.glob("catalogs/*/*.yaml")):
        blobs = documents(path)
        bundles: dict[str, Object] = {}
        for channel in blobs:
            if channel["schema"] != "olm.channel":
                continue
            replaced = {entry.get("replaces") for entry in channel["entries"]}
            heads = [entry["name"] for entry in channel["entries"] if entry["name"] not in replaced]
            old = next((b for b in blobs if b["schema"] == "olm.bundle" and b["name"] == heads[0]), None)
            if len(heads) != 1 or old is None:
                continue
            name = re.sub(r"\.v.*", f".v{NEW_VERSION}", heads[0])
            if name in bundles or _copy_bundle(root, heads[0], name):
                channel["entries"].append({"name": name, "replaces": heads[0]})
                bundles[name] = _newer(old, name)
        if bundles:
            changed = True
            write(path, [*blobs, *bundles.values()])
    return changed


def _newer(old: Object, name: str) -> Object:
    made = {**copy.deepcopy(old), "name": name, "image": re.sub(r"[:@].*$", f":v{NEW_VERSION}", old["image"])}
    for item in made["properties"]:
        if item["type"] == "olm.package":
            item["value"]["version"] = NEW_VERSION
    return made


def _copy_bundle(root: Path, old: str, new: str) -> bool:
    for path in sorted(root.glob("bundles/*/manifests/*")):
        csv = documents(path)[0]
        if csv.get("kind") != "ClusterServiceVersion" or csv["metadata"]["name"] != old:
            continue
        folder = path.parent.parent
        target = folder.with_name(re.sub(r"-[^-]*$", f"-{NEW_VERSION}", folder.name))
        shutil.copytree(folder, target)
        csv["metadata"]["name"] = new
        csv["spec"] |= {"version": NEW_VERSION, "replaces": old}
        write(target / "manifests" / path.name, [csv])
        return True
    return False


def both(first: Change, second: Change) -> Change:
    return lambda root: first(root) and second(root)


GONE: Callable[[Object], None] = lambda _: None  # noqa: E731
BLUE = {"matchLabels": {"team": "blue"}}
NO_COPIES = {
    "apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"},
    "spec": {"features": {"disableCopiedCSVs": True}},
}  # fmt: skip
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "added", "labels": {"team": "blue"}}}

CHANGES: dict[str, Change] = {
    "upgraded": upgraded,
    "operators-removed": of("Subscription Operator Install ClusterExtension", GONE),
    "operators-renamed": of("Subscription ClusterExtension", renamed),
    "groups-removed": of("OperatorGroup", GONE),
    "groups-renamed": of("OperatorGroup", renamed),
    "to-own": retargeted({"targetNamespaces": ["OWN"]}),
    "to-two": retargeted({"targetNamespaces": ["OWN", "north-pier"]}),
    "to-all": retargeted({}),
    "to-labelled": both(of("Namespace", labelled), retargeted({"selector": BLUE})),
    "to-none": retargeted({"selector": BLUE}),
    "to-manual": with_spec("Subscription", installPlanApproval="Manual"),
    "to-static": with_spec("OperatorGroup", staticProvidedAPIs=True),
    "configured": with_spec("Subscription", config={"env": [{"name": "DEPTH", "value": "9"}]}),
    "namespace-added": adding(NAMESPACE),
    "namespaces-labelled": of("Namespace", labelled),
    "namespace-removed": without_namespace,
    "second-group": second_group,
    "without-copies": adding(NO_COPIES),
    "descoped": with_setting(descoped=True),
    "v2alpha1": with_setting(enableV2alpha1=True),
}
