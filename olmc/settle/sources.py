"""What OLM looks at in a CatalogSource before it asks for what it serves (R-CAT-161)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FROM_CONFIGMAP = ("configmap", "internal")


def spec_problem(spec: Mapping[str, Any]) -> str:
    """What OLM writes into the status of a CatalogSource with this spec, "" if it can be used."""
    kind = spec.get("sourceType")
    if kind in FROM_CONFIGMAP:
        return "" if spec.get("configMap") else f"configmap name unset: must be set for sourcetype: {kind}"
    if kind == "grpc":
        given = spec.get("image") or spec.get("address")
        return "" if given else "image and address unset: at least one must be set for sourcetype: grpc"
    # Without the field the API server takes no CatalogSource, so OLM never sees it.
    return f"unknown sourcetype: {kind}" if kind is not None else ""
