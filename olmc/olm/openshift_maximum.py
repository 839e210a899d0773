"""The highest OpenShift that an operator says it supports, and what OLM says of the operators whose maximum keeps the
cluster from its next release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.gojson import unmarshal
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import mapping, mappings
from olmc.olm.naming import PROPERTIES
from olmc.olm.profiles.data import is_openshift
from olmc.olm.profiles.openshift import openshift
from olmc.semver import VersionError, parse_tolerant
from olmc.strconv import quoted

MAXIMUM = "olm.maxOpenShiftVersion"
BLOCKED_REASON = "IncompatibleOperatorsInstalled"

_ANY_NEXT = "ClusterServiceVersions blocking minor version upgrades to 4.23 or major version upgrades to 5.0:"

Release = tuple[int, int]


class OpenShiftMaximum(NamedTuple):
    """The release that a property names, None for none, or OLM's text for why nobody can tell (R-OCP-4)."""

    release: Release | None = None
    error: str = ""

    def blocks(self, following: Release) -> bool:
        """Whether a cluster with the operator gets no upgrade to the release `following` (R-OCP-4, R-OCP-5)."""
        return bool(self.error) or (self.release is not None and _comparable(self.release) < _comparable(following))


class BlockingCsv(NamedTuple):
    """A CSV that keeps the cluster from its next release."""

    name: NamespacedName
    maximum: OpenShiftMaximum


def maximum_of_annotations(annotations: Mapping[str, Any]) -> OpenShiftMaximum:
    """The maximum in the annotations of a CSV in the cluster (R-OCP-3)."""
    if PROPERTIES not in annotations:
        return OpenShiftMaximum()
    try:
        listed = unmarshal(str(annotations[PROPERTIES]), exact=True)
    except ValueError as error:
        return OpenShiftMaximum(error=f"failed to unmarshal properties annotation: {error}")
    pairs = ((item.get("type"), item.get("value")) for item in mappings(mapping(listed).get("properties")))
    return maximum_of_values(value for kind, value in pairs if kind == MAXIMUM)


def maximum_of_values(values: Iterable[Any]) -> OpenShiftMaximum:
    """The maximum that the values of all properties of its type make (R-OCP-4)."""
    given = list(values)
    if len(given) > 1:
        return OpenShiftMaximum(error=f'defining more than one "{MAXIMUM}" property is not allowed')
    return _maximum(str(given[0]).strip('"')) if given else OpenShiftMaximum()


def _maximum(value: str) -> OpenShiftMaximum:
    if not value:
        return OpenShiftMaximum(error='value cannot be "" (an empty string)')
    try:
        version = parse_tolerant(value)
    except VersionError as error:
        return OpenShiftMaximum(error=f"failed to parse {quoted(value)} as semver: {error}")
    if version.patch or version.prerelease or version.build:
        text = f"property {MAXIMUM} must specify only <major>.<minor> version, got invalid value {version}"
        return OpenShiftMaximum(error=text)
    return OpenShiftMaximum((version.major, version.minor))


def release_of(text: str) -> Release:
    """A release such as `4.18` in numbers."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _comparable(release: Release) -> Release:
    # 4.23 and 5.0 are one release under two names (R-OCP-5).
    return (5, 0) if release == (4, 23) else release


def blocking_message(blocking: Iterable[BlockingCsv], following: Release, olm_version: str) -> str:
    """What the condition Upgradeable says, "" where no CSV blocks (R-OCP-6); `blocking` is in the order of the list of
    CSVs."""
    listed = list(blocking)
    if not listed:
        return ""
    # What OpenShift has shipped so far names the next release.
    named = openshift()["blocking"].format(next="{}.{}".format(*following))
    head = named if is_openshift(olm_version) else _ANY_NEXT
    return "\n".join((head, *_lines(listed)))


def _lines(blocking: list[BlockingCsv]) -> Iterator[str]:
    for csv in blocking:
        if csv.maximum.error:
            yield f"- {csv.name} has invalid {MAXIMUM} properties: {csv.maximum.error}"
    for csv in reversed(blocking):
        if csv.maximum.release is not None:
            yield "- maximum supported OCP version for {} is {}.{}".format(csv.name, *csv.maximum.release)
