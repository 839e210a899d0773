"""Makes workspaces out of the notation of the catalog cases T-CAT-* (`tests/resolver/plans/README.md`)."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from operator_manifests import OLM, Object, as_list, as_stream, crds, csv, merged

Files = dict[str, str]

NAMESPACE, CATALOG = "ns", "cat"
WORDS = {"replaces", "skips", "range", "provides", "requires", "starting", "manual", "by", "phase", "image"}


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write files below `root`, and return it."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")
    return root


def workspace(scenario: Mapping[str, Any]) -> Files:
    """The files of the workspace that a scenario describes: manifests, one file a catalog, directories of bundles."""
    bundles = {name: [bundle(line, scenario) for line in lines] for name, lines in catalogs_of(scenario).items()}
    manifests: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, "olm")
    ]
    manifests += [group(name, spec or {}) for name, spec in scenario.get("groups", {"og": {}}).items()]
    manifests += [catalog_source(name) for name in bundles]
    installed = [operator(line, scenario) for line in scenario.get("installed", ())]
    subscribed = [words_of(line) for line in scenario.get("subs", ())]
    manifests += [subscription(words, installed) for words in subscribed]
    packages = {words["head"][0]: words["head"][1].partition("/")[0] for words in subscribed}
    for each in installed:
        manifests += present(each, packages)
    files = {"cluster.json": as_list([*manifests, *scenario.get("manifests", ())])}
    for name, listed in bundles.items():
        files[f"catalogs/{name}/catalog.yaml"] = as_stream(catalog(listed))
        for each in listed:
            if each["image"]:
                files |= bundle_directory(each)
    return files


def catalogs_of(scenario: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """The lines of each catalog by its name; `catalog` alone is the one called `cat`."""
    found: dict[str, Sequence[str]] = dict(scenario.get("catalogs", {}))
    return found | ({CATALOG: scenario["catalog"]} if "catalog" in scenario else {})


def words_of(line: str) -> dict[str, list[str]]:
    """A line of the notation: what stands before the first keyword is its `head`, the rest goes by keyword."""
    found: dict[str, list[str]] = {"head": []}
    key = "head"
    for word in shlex.split(line):
        if word in WORDS:
            key = word
            found[key] = []
        else:
            found[key].append(word)
    return found


def operator(line: str, scenario: Mapping[str, Any]) -> Object:
    """`NAME VERSION ... [provides K...] [requires K...]` as `operator_manifests` understands it; `_words` has the rest.

    A kind `K` is that of the API `example.com/v1`; `more` of the scenario adds what a line can't say.
    """
    words = words_of(line)
    name, version = words["head"][:2]
    place = words["head"][2] if len(words["head"]) > 2 else name.partition(".")[0]
    made: Object = {"name": name, "version": version, "package": place.partition("/")[0], "modes": ["Own"]}
    for word, relation in (("provides", "owned"), ("requires", "required")):
        if word in words:
            made[relation] = [kind if "." in kind else f"{kind}.v1.example.com" for kind in words[word]]
    return {**made, **scenario.get("more", {}).get(name, {}), "_words": words}


def bundle(line: str, scenario: Mapping[str, Any]) -> Object:
    """`NAME VERSION pkg/channel[*][,...] [replaces R] [skips S...] [range R] [image]`, and what `operator` reads."""
    made = operator(line, scenario)
    words = made["_words"]
    entry: Object = {"name": made["name"]}
    for word, key in (("replaces", "replaces"), ("range", "skipRange")):
        if word in words:
            entry[key] = words[word][0]
    if "skips" in words:
        entry["skips"] = words["skips"]
    places = [place.partition("/")[2] for place in words["head"][2].split(",")]
    return {**made, "entry": entry, "channels": places, "image": "image" in words}


def catalog(bundles: Sequence[Object]) -> Iterator[Object]:
    """A file-based catalog; the default channel is the one with a `*`, else the first that is mentioned."""
    for package in dict.fromkeys(each["package"] for each in bundles):
        mine = [each for each in bundles if each["package"] == package]
        places = [place for each in mine for place in each["channels"]]
        default = next((place for place in places if place.endswith("*")), places[0]).rstrip("*")
        yield {"schema": "olm.package", "name": package, "defaultChannel": default}
        for channel in dict.fromkeys(place.rstrip("*") for place in places):
            entries = [each["entry"] for each in mine if channel in (place.rstrip("*") for place in each["channels"])]
            yield {"schema": "olm.channel", "package": package, "name": channel, "entries": entries}
        yield from map(blob, mine)


def blob(each: Object) -> Object:
    """An `olm.bundle` with its objects inline, or by image."""
    found = properties(each, each["package"])
    image = f"registry.example.com/{each['name']}" if each["image"] else ""
    if not image:
        for obj in (csv(each), *crds(each), *each.get("files", {}).values()):
            data = base64.b64encode(json.dumps(obj).encode()).decode()
            found.append({"type": "olm.bundle.object", "value": {"data": data}})
    return {
        "schema": "olm.bundle",
        "name": each["name"],
        "package": each["package"],
        "image": image,
        "properties": found,
    }


def properties(each: Object, package: str) -> list[Object]:
    """The properties of a bundle or of an installed CSV."""
    found: list[Object] = []
    if package:
        found.append({"type": "olm.package", "value": {"packageName": package, "version": each["version"]}})
    for relation, kind in (("owned", "olm.gvk"), ("required", "olm.gvk.required")):
        for text in each.get(relation, ()):
            name, _, rest = text.partition(".")
            version, _, api_group = rest.partition(".")
            found.append({"type": kind, "value": {"group": api_group, "kind": name, "version": version}})
    return found + list(each.get("properties", ()))


def bundle_directory(each: Object) -> Files:
    """A registry+v1 bundle directory for a bundle by image."""
    folder, prefix = f"bundles/{each['name']}", "operators.operatorframework.io.bundle"
    channels = ",".join(place.rstrip("*") for place in each["channels"])
    annotations = {f"{prefix}.package.v1": each["package"], f"{prefix}.channels.v1": channels}
    files = {
        f"{folder}/metadata/annotations.yaml": json.dumps({"annotations": annotations}),
        f"{folder}/manifests/csv.yaml": json.dumps(csv(each)),
    }
    for crd in crds(each):
        files[f"{folder}/manifests/{crd['metadata']['name']}.yaml"] = json.dumps(crd)
    return files | {f"{folder}/manifests/{name}": json.dumps(obj) for name, obj in each.get("files", {}).items()}


def group(name: str, patch: Mapping[str, Any]) -> Object:
    """An OperatorGroup that targets its own namespace, patched."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"targetNamespaces": [NAMESPACE]}
    made = {"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": spec}
    result: Object = merged(made, patch)
    return result


def catalog_source(name: str) -> Object:
    """A CatalogSource in the namespace of the scenario."""
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"sourceType": "grpc", "address": f"{name}:50051"}
    return {"apiVersion": f"{OLM}/v1alpha1", "kind": "CatalogSource", "metadata": metadata, "spec": spec}


def subscription(words: Mapping[str, list[str]], installed: Sequence[Object]) -> Object:
    """`NAME pkg[/channel][@catalog] [starting X] [manual]`; its status comes from the line that is installed by it."""
    name, place = words["head"]
    place, _, source = place.partition("@")
    package, _, channel = place.partition("/")
    spec: Object = {"name": package, "source": source or CATALOG, "sourceNamespace": NAMESPACE}
    spec |= {"channel": channel} if channel else {}
    spec |= {"startingCSV": words["starting"][0]} if "starting" in words else {}
    spec |= {"installPlanApproval": "Manual"} if "manual" in words else {}
    metadata = {"name": name, "namespace": NAMESPACE}
    made: Object = {"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": metadata, "spec": spec}
    mine = next((each["name"] for each in installed if each["_words"].get("by") == [name]), "")
    if mine:
        status = {"currentCSV": mine, "installedCSV": mine, "state": "AtLatestKnown", "installPlanGeneration": 1}
        made["status"] = {**status, "lastUpdated": None}
    return made


def present(each: Object, packages: Mapping[str, str]) -> Iterator[Object]:
    """`NAME VERSION [package] [by SUB] [replaces R] [phase P] ...`: an installed CSV, and its CRDs."""
    words = each["_words"]
    package = packages[words["by"][0]] if "by" in words else (words["head"][2:] or [""])[0]
    text = json.dumps({"properties": properties(each, package)}, separators=(",", ":"))
    made = csv({**each, **({"replaces": words["replaces"][0]} if "replaces" in words else {})})
    metadata = {"namespace": NAMESPACE, "annotations": {"operatorframework.io/properties": text}}
    phase = words.get("phase", ["Succeeded"])[0]
    yield merged(made, {"metadata": metadata, "status": {"phase": phase}})
    yield from crds(each)
