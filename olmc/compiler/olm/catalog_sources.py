"""What OLM takes from the spec of a CatalogSource: where the catalog comes from, how often it looks for a new one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping, name_of, namespace_of, text

FROM_CONFIGMAP = ("configmap", "internal")
_DEFAULT_POLL = 15 * 60.0


def spec_problem(spec: Mapping[str, Any]) -> str:
    """What OLM writes into the status of a CatalogSource with this spec, "" if it can be used (R-CAT-161)."""
    kind = spec.get("sourceType")
    if kind in FROM_CONFIGMAP:
        return "" if spec.get("configMap") else f"configmap name unset: must be set for sourcetype: {kind}"
    if kind == "grpc":
        given = spec.get("image") or spec.get("address")
        return "" if given else "image and address unset: at least one must be set for sourcetype: grpc"
    # Without the field the API server takes no CatalogSource, so OLM never sees it.
    return f"unknown sourcetype: {kind}" if kind is not None else ""


def is_stated_to_run(source: Mapping[str, Any], running: Collection[str]) -> bool:
    """Whether the Pod of a CatalogSource runs: by `running`, which has `namespace/name` or `all`, or by its status
    (R-CAT-166)."""
    state = mapping(mapping(source.get("status")).get("connectionState")).get("lastObservedState")
    return state == "READY" or "all" in running or f"{namespace_of(source)}/{name_of(source)}" in running


class PollInterval(NamedTuple):
    """How often OLM looks for a new image of a catalog, in seconds, and what keeps it from reading what is written."""

    seconds: float
    problem: str = ""


def poll_interval(spec: Mapping[str, Any]) -> PollInterval | None:
    """The interval in the spec of a CatalogSource, None without one (R-CAT-160)."""
    written = text(mapping(mapping(spec.get("updateStrategy")).get("registryPoll")).get("interval"))
    if not written:
        return None
    from olmc.k8s.api.formats import seconds  # few workspaces have catalogs that are polled

    try:
        return PollInterval(float(seconds(written)))
    except ValueError as error:
        return PollInterval(_DEFAULT_POLL, str(error))
