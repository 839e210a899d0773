"""Versions and releases of bundles as operator-controller reads and compares them (R-V1-RES-5 … R-V1-RES-7)."""

from __future__ import annotations

from collections.abc import Mapping

from olmc.lean import NamedTuple
from olmc.model.catalog import CatalogBundle
from olmc.olmv1.api_types import InstalledBundle
from olmc.semver import Version, VersionError, order_with_release, parse_release, parse_strict
from olmc.strconv import quoted

_PACKAGE = "olm.package"


class BundleVersion(NamedTuple):
    """A version and its release; `release` is the text, None for no release, "" for an explicitly empty one."""

    version: Version
    release: str | None = None

    def compare(self, other: BundleVersion) -> int:
        """By the version's precedence, then by the release, none being the lowest (R-V1-RES-6)."""
        return order_with_release(self._parts, other._parts)

    @property
    def _parts(self) -> tuple[Version, Version | None]:
        return self.version, parse_release(self.release or "")

    @property
    def legacy_text(self) -> str:
        """The version with its release as build metadata."""
        return f"{self.version}+{self.release}" if self.release else str(self.version)


def bundle_version(bundle: CatalogBundle, *, releases: bool) -> BundleVersion:
    """The version of a bundle, by its first property `olm.package` (R-V1-RES-5).

    `releases`: whether the gate BundleReleaseSupport is open. Raises ValueError with the controller's text.
    """
    value = next((prop.value for prop in bundle.properties if prop.type == _PACKAGE), None)
    if value is None:
        raise ValueError(f"no package property found in bundle {quoted(bundle.name)}")
    fields = value if isinstance(value, Mapping) else {}
    text, release = fields.get("version"), fields.get("release")
    version = text if isinstance(text, str) else ""
    return explicit_version(version, release) if releases and isinstance(release, str) else legacy_version(version)


def legacy_version(text: str) -> BundleVersion:
    """A version whose build metadata is its release if it can be one (R-V1-RES-6). Raises VersionError."""
    version = parse_strict(text)
    try:
        release = parse_release(version.build or "")
    except ValueError:
        release = None
    return BundleVersion(version) if release is None else BundleVersion(version.replace(build=None), version.build)


def explicit_version(text: str, release: str) -> BundleVersion:
    """A version with the release that stands beside it, "" for an empty one (R-V1-RES-6). Raises ValueError."""
    try:
        version = parse_strict(text)
    except VersionError as error:
        raise ValueError(f"error parsing version {quoted(text)}: {error}") from None
    try:
        parse_release(release)
    except ValueError as error:
        raise ValueError(f"error parsing release {quoted(release)}: {error}") from None
    return BundleVersion(version, release)


def installed_version(installed: InstalledBundle) -> BundleVersion:
    """The version of an installed bundle (R-V1-RES-9). Raises ValueError with the controller's text."""
    if installed.release is None:
        try:
            return legacy_version(installed.version)
        except VersionError as error:
            raise ValueError(f"failed to get version and release of installed bundle: {error}") from None
    try:
        return explicit_version(installed.version, installed.release)
    except ValueError as error:
        raise ValueError(f"failed to parse installed bundle version and release: {error}") from None


def installed_bundle(bundle: CatalogBundle, version: BundleVersion, *, releases: bool) -> InstalledBundle:
    """What the status says of a bundle once it is installed (R-V1-RES-7)."""
    if releases:
        return InstalledBundle(bundle.name, str(version.version), version.release, bundle.image)
    return InstalledBundle(bundle.name, version.legacy_text, None, bundle.image)
