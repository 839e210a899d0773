"""How OLM marks what it owns: labels and ownerReferences."""

from __future__ import annotations

from typing import Any

CSV_API = "operators.coreos.com/v1alpha1"
CSV_KIND = "ClusterServiceVersion"
MANAGED = "olm.managed"
MANAGED_LABELS = {MANAGED: "true"}
COPIED_FROM = "olm.copiedFrom"
COMPONENT_PREFIX = "operators.coreos.com/"
PROPERTIES = "operatorframework.io/properties"
ALONGSIDE = "operatorframework.io/installed-alongside-"


def owner_labels(name: str, namespace: str, kind: str = CSV_KIND) -> dict[str, str]:
    """The three labels that name an owner."""
    return {"olm.owner": name, "olm.owner.kind": kind, "olm.owner.namespace": namespace}


def owner_reference(api_version: str, kind: str, name: str, *, controller: bool = False) -> dict[str, Any]:
    """An ownerReference as OLM writes it, both flags spelt out; the uid can't be known and is empty."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": "",
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def csv_reference(name: str, *, controller: bool = False, api_version: str = CSV_API) -> dict[str, Any]:
    """The ownerReference to a CSV (R-CAT-630)."""
    return owner_reference(api_version, CSV_KIND, name, controller=controller)
