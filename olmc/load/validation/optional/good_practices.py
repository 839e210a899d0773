"""What the operator-sdk takes for good practice (R-CAT-260)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmc.load.validation.names import ascii_list
from olmc.load.validation.result import Finding, result_text
from olmc.load.validation.settings import Settings
from olmc.load.validation.views import Keys, containers, csv_of, policy_rules
from olmc.model.coerce import mapping, text
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle
from olmc.rules import validation as rules
from olmc.semver import VersionError, parse_strict
from olmc.strconv import SPACES, quoted

_CONVENTIONAL = ("candidate", "stable", "fast")
_ALL = ("*", "[*]")
_RESOURCES = {"customresourcedefinitions", *_ALL}
_VERBS = {"create", "patch", *_ALL}
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+)?\Z", re.ASCII)
_NO_REQUESTS = (
    "It is recommended to ensure the resource request for CPU and Memory. Be aware that for some clusters "
    "configurations it is required to specify requests or limits for those values. Otherwise, the system or quota may "
    "reject Pod creation. More info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/"
)
_MAKES_CRDS = (
    "CSV contains permissions to create CRD. An Operator shouldn't deploy or manage other operators (such patterns "
    "are known as meta or super operators or include CRDs in its Operands). It's the Operator Lifecycle Manager's job "
    "to manage the deployment and lifecycle of operators.  Please, review the design of your solution and if you "
    "should not be using Dependency Resolution from OLM instead. More info: "
    "https://sdk.operatorframework.io/docs/best-practices/common-recommendation/"
)


def good_practice_findings(bundle: Bundle, settings: Settings) -> Iterator[Finding]:  # noqa: ARG001
    """Where a bundle departs from good practice."""
    csv = csv_of(bundle.csv)
    if csv.strategy.get("deployments") is None:
        told = result_text("unable to find a deployment to install in the CSV", value=csv.name)
        yield Finding(rules.NO_DEPLOYMENT, told, csv.place("spec", "install", "spec"))
    for keys, detail in (
        *_resource_remarks(csv),
        *_description_remarks(csv),
        *_channel_remarks(bundle),
        *_permission_remarks(csv),
        *_name_remarks(csv.name),
    ):
        yield Finding(rules.GOOD_PRACTICES, result_text(detail, value=csv.name), csv.place(*keys))


def _resource_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for container in containers(csv):
        # Requests for one resource alone are enough to the tools.
        if mapping(container.object.get("resources")).get("requests") is None:
            told = f"unable to find the resource requests for the container: ({container.name}). {_NO_REQUESTS}"
            yield container.keys, told


def _description_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            if not text(item.get("description")):
                keys = ("spec", "customresourcedefinitions", relation, index)
                yield keys, f"{relation} CRD {quoted(text(item.get('name')))} has an empty description"


def _channel_remarks(bundle: Bundle) -> Iterator[tuple[Keys, str]]:
    channels = {channel.strip(SPACES) for channel in (*bundle.channels, bundle.default_channel)} - {""}
    odd = sorted(channel for channel in channels if not channel.startswith(_CONVENTIONAL))
    if odd:
        yield (
            (),
            f"channel(s) {ascii_list(odd)} are not following the recommended naming convention: "
            "https://olm.operatorframework.io/docs/best-practices/channel-naming",
        )


def _permission_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for field in ("permissions", "clusterPermissions"):
        for rule in policy_rules(csv, field):
            if (
                "apiextensions.k8s.io" in rule.names("apiGroups")
                and _RESOURCES & {*rule.names("resources")}
                and _VERBS & {*rule.names("verbs")}
            ):
                yield rule.keys, _MAKES_CRDS
                return


def _name_remarks(name: str) -> Iterator[tuple[Keys, str]]:
    keys = ("metadata", "name")
    match = _VERSION.search(name)
    try:
        parse_strict(match[0] if match else "")
    except VersionError:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the versioning convention (MAJOR.MINOR.PATCH e.g 0.0.1): "
            "https://semver.org/",
        )
    if name.count(".v") != 1:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the recommended naming convention: <operator-name>.v<semver> "
            "e.g. memcached-operator.v0.0.1",
        )
