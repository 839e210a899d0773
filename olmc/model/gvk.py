"""Group, version and kind: what an API is called, and how manifests write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from olmc.model.coerce import text


class GroupKind(NamedTuple):
    """A kind in whatever version: two kinds of one name in different groups have nothing to do with each other."""

    group: str
    kind: str


class GVK(NamedTuple):
    """An API by group ("" for the core one), version and kind."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """Kubernetes' form."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """As manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def dotted(self) -> str:
        """The form used in `olm.providedAPIs` (R-OG-11)."""
        return f"{self.kind}.{self.version}.{self.group}"

    @property
    def bracketed(self) -> str:
        """The form used by OLM's resolver."""
        return f"{self.kind} ({self.group}/{self.version})"

    @property
    def path(self) -> str:
        """The form used in the option `apis`."""
        return f"{self.group}/{self.version}/{self.kind}"


def split_api_version(api_version: Any) -> tuple[str, str]:
    """The group and the version in an `apiVersion`; what is no text has neither, as in apimachinery."""
    group, _, version = text(api_version).rpartition("/")
    return group, version


def gvk_of(obj: Mapping[str, Any]) -> GVK:
    """The API of an object, in texts whatever is written there."""
    return GVK(*split_api_version(obj.get("apiVersion")), text(obj.get("kind")))
