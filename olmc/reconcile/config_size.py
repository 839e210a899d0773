"""How much the configs of Subscriptions add to Deployments: each container gets all of it, so it is bounded.

https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/overrides/initializer.go#L44-L107
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Source
from olmc.model.limits import CONFIG
from olmc.model.objects import mapping, mappings
from olmc.model.operators import Csv

_LISTS = ("env", "envFrom", "volumeMounts")


class ConfigSizeError(Exception):
    """The configs of the Subscriptions add more than olmc takes on; says how much, and with which it is too much."""

    def __init__(self, size: int, source: Source | None) -> None:
        super().__init__(size)
        self.size, self.source = size, source


def check_config_size(cluster: Cluster) -> None:
    """Raise ConfigSizeError where configs would be written into more places than may be (R-DEP-6)."""
    size = 0
    for subscription in cluster.subscriptions.values():
        entries = _entries(mapping(subscription.spec.get("config")))
        # While phases are worked out, the status that names the CSV as installed is still to be written (R-CAT-505).
        name = NamespacedName(subscription.name.namespace, subscription.current or subscription.installed)
        csv = cluster.csvs.get(name) if entries else None
        size += entries * _containers(csv) if csv is not None else 0
        if size > CONFIG.most:
            raise ConfigSizeError(size, subscription.source)


def _entries(config: Mapping[str, Any]) -> int:
    """How many entries each container gets."""
    resources = mapping(config.get("resources"))
    lists = sum(len(mappings(config.get(name))) for name in _LISTS)
    return lists + sum(len(mapping(resources.get(name))) for name in ("limits", "requests"))


def _containers(csv: Csv) -> int:
    return sum(len(mappings(item.pod.get("containers"))) for item in csv.deployments)
