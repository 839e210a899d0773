"""What an OpenShift release brings besides its OLM, as `openshift.json` beside this module has it: the version of
Kubernetes, the namespaces of OLM and of its catalogs, the OperatorGroup of openshift-operators, and the APIs that it
serves.

The file says of each API since which release, and until which, it is served: by a CRD or by one of OpenShift's own API
servers. `uncertain` is a version whose first or last release is from memory and may be one off. All capabilities count
as enabled, and what is only a technology preview as absent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

from olmc.model.options import APIResource, Options, PlatformGroup
from olmc.olm.profiles.data import OPENSHIFT_PREFIX, is_openshift


@cache
def openshift() -> Mapping[str, Any]:
    """The file's content: `kubernetes` (by release), `globalCatalogNamespace`, `olmNamespace`,
    `globalOperatorGroup`, `catalogs` that every cluster has, `apis`."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "openshift.json").read_text(encoding="utf-8"))
    return content


@cache
def served_by(release: str) -> tuple[APIResource, ...]:
    """The APIs that a release such as `4.18` serves beyond those of Kubernetes and OLM, by group and kind."""
    order = {name: place for place, name in enumerate(openshift()["kubernetes"])}
    at, last = order[release], len(order)
    resources = (
        APIResource(
            api["group"],
            api["kind"],
            api["plural"],
            api["scope"] == "Namespaced",
            tuple(
                item["version"]
                for item in api["versions"]
                if order[item["since"]] <= at <= order.get(item.get("until", ""), last)
            ),
            is_crd=api["by"] == "CRD",
        )
        for api in openshift()["apis"]
    )
    return tuple(resource for resource in resources if resource.versions)


def openshift_release(options: Options) -> str:
    """The release of OpenShift that is compiled for, as `4.18`; only where it is OpenShift."""
    return options.olm_version.removeprefix(OPENSHIFT_PREFIX)


def on_platform(options: Options, chosen: Set[str] = frozenset()) -> Options:
    """The options with what the OpenShift release sets that `olm_version` names; the same for any other OLM.

    What somebody chose stays: the fields in `chosen`, and those that are no longer what they are by default.
    """
    if not is_openshift(options.olm_version):
        return options
    facts, release = openshift(), options.olm_version.removeprefix(OPENSHIFT_PREFIX)
    if release not in facts["kubernetes"]:
        return options
    wanted = {
        "kube_version": facts["kubernetes"][release],
        "global_catalog_namespace": facts["globalCatalogNamespace"],
        "olm_namespace": facts["olmNamespace"],
    }
    default = Options()
    values: dict[str, Any] = {
        field: value
        for field, value in wanted.items()
        if field not in chosen and getattr(options, field) == getattr(default, field)
    }
    known = {(resource.group, resource.kind, resource.versions) for resource in options.api_resources}
    more = (r for r in served_by(release) if (r.group, r.kind, r.versions) not in known)
    group = PlatformGroup(**facts["globalOperatorGroup"])
    values["global_groups"] = tuple(dict.fromkeys((*options.global_groups, group)))
    return options._replace(**values, api_resources=(*options.api_resources, *more))
