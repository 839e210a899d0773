"""Makes workspaces out of terse descriptions, so that a test shows its point (`tests/reconcile/README.md`)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from operator_manifests import OLM, Object, api, as_list, as_stream, crds, csv, merged

Files = dict[str, str]

CATALOG, CATALOG_NAMESPACE, CHANNEL = "cat", "olm", "stable"
EDGES = ("replaces", "skips", "skipRange")


def write_workspace(root: Path, case: Mapping[str, Any]) -> None:
    """Write the workspace of a case below `root`: manifests, bundles, and the catalog that lists them."""
    operators = [described(each) for each in case.get("operators", ())]
    files = {"cluster.json": as_list(cluster_manifests(case, operators))}
    for operator in operators:
        if not operator.get("applied") and not operator.get("inline"):
            files |= bundle_files(operator)
    catalog = [each for each in operators if not operator_is_applied(each)]
    if catalog:
        files[f"catalogs/{CATALOG}/catalog.yaml"] = as_stream(catalog_documents(catalog))
    files |= case.get("files", {})
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def operator_is_applied(operator: Mapping[str, Any]) -> bool:
    """Whether the CSV is applied by hand, so that no catalog lists it."""
    return bool(operator.get("applied"))


def described(operator: str | Mapping[str, Any]) -> Object:
    """The description of an operator with what it leaves out filled in; a text is a name alone."""
    given = {"name": operator} if isinstance(operator, str) else dict(operator)
    package, _, version = given["name"].partition(".v")
    return {"package": package, "version": version or "1.0.0", "into": ["ns"], **given}


def cluster_manifests(case: Mapping[str, Any], operators: Sequence[Mapping[str, Any]]) -> list[Object]:
    """Namespaces, OperatorGroups, Subscriptions, CSVs applied by hand, and the case's own manifests."""
    found: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}
        for name, labels in case.get("namespaces", {}).items()
    ]
    found += [operator_group(name, spec) for name, spec in case.get("groups", {}).items()]
    found += subscriptions(operators)
    for operator in operators:
        if operator_is_applied(operator):
            found += applied(operator)
    return found + list(case.get("manifests", ()))


def operator_group(name: str, described_as: Any) -> Object:
    """An OperatorGroup `namespace/name`: "all", "own", a list of targets, or its spec.

    A spec may have the key `apis`, the text of the annotation `olm.providedAPIs`, and `uid`.
    """
    namespace, _, own_name = name.partition("/")
    metadata: Object = {"name": own_name, "namespace": namespace}
    spec: Object
    if described_as == "all":
        spec = {}
    elif described_as == "own":
        spec = {"targetNamespaces": [namespace]}
    elif isinstance(described_as, list):
        spec = {"targetNamespaces": described_as}
    else:
        spec = dict(described_as)
        if "apis" in spec:
            metadata["annotations"] = {"olm.providedAPIs": spec.pop("apis")}
        if "uid" in spec:
            metadata["uid"] = spec.pop("uid")
    return {"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": spec}


def subscriptions(operators: Sequence[Mapping[str, Any]]) -> list[Object]:
    """One Subscription for each package and namespace that it goes into."""
    found: dict[tuple[str, str], Object] = {}
    for operator in operators:
        if operator_is_applied(operator):
            continue
        for namespace in operator["into"]:
            package = operator["package"]
            base = {
                "apiVersion": f"{OLM}/v1alpha1",
                "kind": "Subscription",
                "metadata": {"name": package, "namespace": namespace},
                "spec": {"channel": CHANNEL, "name": package, "source": CATALOG, "sourceNamespace": CATALOG_NAMESPACE},
            }
            known = found.get((package, namespace), base)
            found[package, namespace] = merged(known, operator.get("subscription", {}))
    return list(found.values())


def applied(operator: Mapping[str, Any]) -> Iterator[Object]:
    """A CSV applied by hand; `applied: all` brings the bundle's other objects along."""
    for namespace in operator["into"]:
        yield merged(csv(operator), {"metadata": {"namespace": namespace}})
    if operator["applied"] == "all":
        yield from crds(operator)


def bundle_files(operator: Mapping[str, Any]) -> Files:
    """A registry+v1 bundle directory; the operator's `files` lie in `manifests/`, texts word for word.

    With `filled: N` another file has a ConfigMap with N characters that compress well.
    """
    folder = f"bundles/{operator['name']}"
    prefix = "operators.operatorframework.io.bundle"
    annotations = {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.package.v1": operator["package"],
        f"{prefix}.channels.v1": CHANNEL,
    }
    files = {
        f"{folder}/metadata/annotations.yaml": json.dumps({"annotations": annotations}),
        f"{folder}/manifests/{operator['package']}.clusterserviceversion.yaml": json.dumps(csv(operator)),
    }
    for crd in crds(operator):
        files[f"{folder}/manifests/{crd['metadata']['name']}.crd.yaml"] = json.dumps(crd)
    if "filled" in operator:
        data = {"text": "x" * operator["filled"]}
        filler = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "filler"}, "data": data}
        files[f"{folder}/manifests/filler.yaml"] = json.dumps(filler)
    for name, content in operator.get("files", {}).items():
        files[f"{folder}/manifests/{name}"] = content if isinstance(content, str) else json.dumps(content)
    return files


def catalog_documents(operators: Sequence[Mapping[str, Any]]) -> list[Object]:
    """A file-based catalog: a package with the channel `stable` for each package of the operators."""
    found: list[Object] = []
    for package in dict.fromkeys(operator["package"] for operator in operators):
        mine = [operator for operator in operators if operator["package"] == package]
        entries = [{key: each[key] for key in ("name", *EDGES) if key in each} for each in mine]
        found.append({"schema": "olm.package", "name": package, "defaultChannel": CHANNEL})
        found.append({"schema": "olm.channel", "package": package, "name": CHANNEL, "entries": entries})
        found += [catalog_bundle(each) for each in mine]
        found += [each["deprecations"] for each in mine if "deprecations" in each]
    return found


def catalog_bundle(operator: Mapping[str, Any]) -> Object:
    """An `olm.bundle`, by image unless the operator is `inline`."""
    value = {"packageName": operator["package"], "version": operator["version"]}
    properties = [{"type": "olm.package", "value": value}]
    for relation, kind in (("owned", "olm.gvk"), ("required", "olm.gvk.required")):
        properties += [{"type": kind, "value": api(item, operator)} for item in operator.get(relation, ())]
    properties += operator.get("properties", [])
    bundle = {"schema": "olm.bundle", "name": operator["name"], "package": operator["package"]}
    if not operator.get("inline"):
        return {**bundle, "image": f"registry.example.com/{operator['name']}", "properties": properties}
    for obj in (csv(operator), *crds(operator), *operator.get("files", {}).values()):
        data = base64.b64encode(json.dumps(obj).encode()).decode()
        properties.append({"type": "olm.bundle.object", "value": {"data": data}})
    return {**bundle, "image": "", "properties": properties}


def pigeonhole(root: Path, packages: int, versions: int) -> Path:
    """So many packages, of each of which any version provides one of fewer APIs, which only one may provide."""
    (root / "catalogs/holes").mkdir(parents=True)
    group = f"apiVersion: {OLM}/v1\nkind: OperatorGroup\nmetadata: {{name: g, namespace: ns}}\n"
    objects, catalog = [group], []
    for package in range(packages):
        name = f"pigeon-{package}"
        objects.append(
            f"apiVersion: {OLM}/v1alpha1\nkind: Subscription\nmetadata: {{name: {name}, namespace: ns}}\n"
            f"spec: {{name: {name}, source: holes, sourceNamespace: olm, channel: stable}}\n"
        )
        catalog.append(f"schema: olm.package\nname: {name}\ndefaultChannel: stable\n")
        entries = ", ".join(
            f"{{name: {name}.v1.0.{v}" + (f", replaces: {name}.v1.0.{v - 1}}}" if v else "}") for v in range(versions)
        )
        catalog.append(f"schema: olm.channel\npackage: {name}\nname: stable\nentries: [{entries}]\n")
        catalog += [
            f"schema: olm.bundle\nname: {name}.v1.0.{v}\npackage: {name}\nimage: registry.example.com/{name}:{v}\n"
            f"properties:\n- {{type: olm.package, value: {{packageName: {name}, version: 1.0.{v}}}}}\n"
            f"- {{type: olm.gvk, value: {{group: holes.example.com, version: v1, kind: Hole{v}}}}}\n"
            for v in range(versions)
        ]
    (root / "all.yaml").write_text("---\n".join(objects), encoding="utf-8")
    (root / "catalogs/holes/catalog.yaml").write_text("---\n".join(catalog), encoding="utf-8")
    return root
