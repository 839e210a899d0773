"""The status of a ClusterExtension: read from an object, written for the output, and kept as far as a reconciliation
does not change it (R-V1-CE-2, R-V1-CND-3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, mappings, status_of, text
from olmc.targets.v1.permissions import InstalledBundle


class ActiveRevision(NamedTuple):
    """A ClusterObjectSet that is not archived, as `status.activeRevisions` has it."""

    name: str
    conditions: tuple[Condition, ...] = ()


class ExtensionStatus(NamedTuple):
    """What the status of a ClusterExtension says: conditions, the active revisions, what is installed."""

    conditions: tuple[Condition, ...] = ()
    active: tuple[ActiveRevision, ...] = ()
    installed: InstalledBundle | None = None


def read_conditions(listed: Any) -> tuple[Condition, ...]:
    """The conditions in a status."""
    return tuple(Condition(*(text(each.get(field)) for field in Condition._fields)) for each in mappings(listed))


def read_active(obj: KubernetesObject) -> tuple[ActiveRevision, ...]:
    """The active revisions in the status of a ClusterExtension."""
    listed = mappings(status_of(obj).get("activeRevisions"))
    return tuple(ActiveRevision(text(each.get("name")), read_conditions(each.get("conditions"))) for each in listed)


def merged_conditions(before: Iterable[Condition], now: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions after a reconciliation that sets those of `now` and leaves the others as they were."""
    return tuple({each.type: each for each in (*before, *now)}.values())


def is_stored(installed: InstalledBundle | None) -> bool:
    """Whether the API server takes a status with this bundle: its name must be a DNS subdomain (R-V1-CND-4)."""
    return installed is None or not is_dns1123_subdomain(installed.name)


def written_status(status: ExtensionStatus, *, with_revisions: bool) -> KubernetesObject:
    """The status as the controller writes it, without times (R-V1-CE-2)."""
    written: KubernetesObject = {}
    if with_revisions and status.active:
        written["activeRevisions"] = [_written_revision(revision) for revision in status.active]
    if status.conditions:
        written["conditions"] = written_conditions(status.conditions)
    if status.installed is not None:
        installed = status.installed
        release = {} if installed.release is None else {"release": installed.release}
        written["install"] = {"bundle": {"name": installed.name, "version": installed.version, **release}}
    return written


def _written_revision(revision: ActiveRevision) -> Mapping[str, Any]:
    conditions = {"conditions": written_conditions(revision.conditions)} if revision.conditions else {}
    return {"name": revision.name, **conditions}


def written_conditions(conditions: Sequence[Condition]) -> list[dict[str, str]]:
    """Conditions as a status has them, by their types."""
    return [condition._asdict() for condition in sorted(conditions)]


class Condition(NamedTuple):
    """A condition: its type, status, reason and message."""

    type: str
    status: str
    reason: str
    message: str


def condition(kind: str, status: str, reason: str, message: str) -> Condition:
    """A condition with its message as the controller cuts it."""
    size = len(message.encode("utf-8", "surrogatepass"))
    if size > _LONGEST:
        kept = message.encode("utf-8", "surrogatepass")[: _LONGEST - len(_TRUNCATED)]
        message = kept.decode("utf-8", "ignore") + _TRUNCATED
    return Condition(kind, status, reason, message)


_LONGEST = 32768


_TRUNCATED = "\n\n... [message truncated]"
