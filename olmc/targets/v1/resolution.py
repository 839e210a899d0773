"""The bundle that a ClusterExtension gets: catalogs and what it asks for → a bundle, or the controller's error
(R-V1-RES-1 … R-V1-RES-15).

The order of the steps is the controller's: selector, range, then catalog by catalog the channels, the range, the
successors of what is installed; then between the catalogs. Upstream walks catalogs in no fixed order; here they are
sorted by name. What each catalog came to is kept, so that an answer can be explained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cmp_to_key, lru_cache

from olmc.compiler.model.catalog import CatalogBundle, Channel, Deprecation, Package
from olmc.k8s.api.selectors import is_label_value, is_qualified_name, matches, requirements
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.semver import Version, VersionError, order_with_release, parse_release, parse_strict, range_or_none
from olmc.k8s.strconv import quoted
from olmc.targets.v1.permissions import SELF_CERTIFIED, CatalogFilter, ClusterCatalog, InstalledBundle

# Versions and releases of bundles as operator-controller reads and compares them (R-V1-RES-5 … R-V1-RES-7).

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
    """Return the status of a bundle after its installation (R-V1-RES-7)."""
    if releases:
        return InstalledBundle(bundle.name, str(version.version), version.release, bundle.image)
    return InstalledBundle(bundle.name, version.legacy_text, None, bundle.image)


# Ranges of versions as `spec.source.catalog.version` of a ClusterExtension has them (R-V1-SV-2, R-V1-SV-3).
#
# They are those of Masterminds/semver v3, which reads and compares otherwise than blang does for v0
# (`olmc.k8s.semver`). A text goes in; a `VersionRange` comes out, or VersionRangeError with the library's message.

_SPACE = r"[\t\n\f\r ]"
_PART = r"[0-9|xX*]++"
_IDENTIFIERS = r"[0-9A-Za-z-]++(?:\.[0-9A-Za-z-]++)*+"
_VERSION = (
    rf"v?(?P<major>{_PART})(?P<minor>\.{_PART})?(?P<patch>\.{_PART})?"
    rf"(?P<pre>-{_IDENTIFIERS})?(?P<build>\+{_IDENTIFIERS})?"
)
_PLAIN = re.sub(r"\?P<\w+>", "?:", _VERSION)
_OPERATOR = r"(?:!=|>=|=>|<=|=<|~>|[=<>~^])?"
# The library's expressions without ambiguity: spaces match as a whole, or long texts take too long.
_HYPHEN = regex(rf"(?<!{_SPACE}){_SPACE}++-{_SPACE}++({_PLAIN}){_SPACE}*+")
# A version read from its end, with the spaces before it: of all that end there, the one that begins first.
_NOISREV = regex(
    r"(?:[0-9A-Za-z-]++(?:\.[0-9A-Za-z-]++)*+\+)?(?:[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*-)?"
    rf"(?:{_PART}\.)?(?:{_PART}\.)?{_PART}v?{_SPACE}*+"
)
_CONDITION = rf"{_OPERATOR}{_SPACE}*+{_PLAIN}"
_CONDITIONS = regex(
    rf"{_SPACE}*+{_CONDITION}(?:(?:{_SPACE}*+,{_SPACE}*+|{_SPACE}++){_CONDITION})*+{_SPACE}*+", re.ASCII
)
_EACH = regex(rf"[\t\n\f\r ,]*+(?P<operator>{_OPERATOR}){_SPACE}*+(?:{_VERSION})")
_LONGEST, _MOST_PARTS = 512, 32
_WILD = ("x", "X", "*")
_LARGEST = 2**64 - 1


class VersionRangeError(ValueError):
    """A text that is no range; its message is the one of Masterminds/semver."""


class VersionCondition(NamedTuple):
    """One comparison: an operator and a version, and which of its parts were left open, which makes it dirty."""

    operator: str
    version: Version
    dirty: bool = False
    minor_dirty: bool = False
    patch_dirty: bool = False

    def accepts(self, version: Version, *, prereleases: bool) -> bool:
        """Return whether a version fulfils it; one with a pre-release only where the part has one (R-V1-SV-3)."""
        if version.prerelease and not prereleases:
            return False
        order = version.compare(self.version)
        match self.operator:
            case "!=":
                return self._differs(version, order)
            case ">":
                return self._is_above(version, order)
            case "<":
                return order < 0
            case ">=" | "=>":
                return order >= 0
            case "<=" | "=<":
                return self._is_not_above(version, order)
            case "^":
                return self._is_compatible(version, order)
            case "~" | "~>":
                return self._is_alike(version, order)
            case _:
                return self._is_alike(version, order) if self.dirty else order == 0

    def _differs(self, version: Version, order: int) -> bool:
        own = self.version
        if not self.dirty:
            return order != 0
        if version.major != own.major:
            return True
        if version.minor != own.minor and not self.minor_dirty:
            return True
        if self.minor_dirty:
            return False
        if not self.patch_dirty:
            return order != 0
        # Of versions that differ in the patch alone, only pre-releases tell.
        return bool(version.prerelease or own.prerelease) and version.prerelease != own.prerelease

    def _is_above(self, version: Version, order: int) -> bool:
        if not self.dirty or (version.major == self.version.major and not (self.minor_dirty or self.patch_dirty)):
            return order > 0
        if version.major != self.version.major:
            return version.major > self.version.major
        return not self.minor_dirty and version.minor > self.version.minor

    def _is_not_above(self, version: Version, order: int) -> bool:
        if not self.dirty:
            return order <= 0
        if version.major != self.version.major:
            return version.major < self.version.major
        return self.minor_dirty or version.minor <= self.version.minor

    def _is_alike(self, version: Version, order: int) -> bool:
        own = self.version
        if order < 0:
            return False
        if own.major == own.minor == own.patch == 0 and not self.minor_dirty and not self.patch_dirty:
            # `~0.0.0` is everything, which is what an open major becomes.
            return True
        return version.major == own.major and (version.minor == own.minor or self.minor_dirty)

    def _is_compatible(self, version: Version, order: int) -> bool:
        own = self.version
        if order < 0:
            return False
        if own.major or self.minor_dirty:
            return version.major == own.major
        if version.major:
            return False
        if own.minor or self.patch_dirty:
            return version.minor == own.minor
        return not version.minor and version.patch == own.patch


class VersionRange(NamedTuple):
    """A range: parts, of which one must hold, each of them conditions that must all hold; `text` as written."""

    text: str
    parts: tuple[tuple[VersionCondition, ...], ...]

    def contains(self, version: Version) -> bool:
        """Return whether a version is in the range, build metadata left aside (R-V1-SV-3)."""
        for conditions in self.parts:
            prereleases = any(condition.version.prerelease for condition in conditions)
            if all(condition.accepts(version, prereleases=prereleases) for condition in conditions):
                return True
        return False

    @property
    def is_pin(self) -> bool:
        """Return whether no more than one version is in it, up to build metadata."""
        parts = [conditions for conditions in self.parts if len(conditions) == 1]
        return len(self.parts) == len(parts) == 1 and parts[0][0].operator in ("", "=") and not parts[0][0].dirty


@lru_cache(maxsize=1024)
def parse_version_range(text: str) -> VersionRange:
    """The range that a text writes (R-V1-SV-2); VersionRangeError with the library's message when it can't be read."""
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST:
        raise VersionRangeError(f"constraint string is too long (max {_LONGEST} bytes)")
    rewritten = text
    for hyphenated, first, last in _hyphenated(text):
        rewritten = rewritten.replace(hyphenated, f">= {first}, <= {last} ", 1)
    parts = rewritten.split("||")
    if len(parts) > _MOST_PARTS:
        raise VersionRangeError(f"too many constraint groups (max {_MOST_PARTS})")
    return VersionRange(text, tuple(map(_conditions, parts)))


def _conditions(part: str) -> tuple[VersionCondition, ...]:
    if not _CONDITIONS.fullmatch(part):
        raise VersionRangeError(f"improper constraint: {quoted(part)}")
    return tuple(map(_condition, _each(part)))


def _each(part: str) -> Iterator[re.Match[str]]:
    """The conditions of a part that `_CONDITIONS` takes, one after another."""
    at = 0
    while match := _EACH.match(part, at):
        yield match
        at = match.end()


def _hyphenated(text: str) -> Iterator[tuple[str, str, str]]:
    """Each `FIRST - LAST` in a text with the spaces around it, and the two versions."""
    start = at = 0
    while hyphen := _HYPHEN.search(text, at):
        first = _NOISREV.match(text[start : hyphen.start()][::-1])
        if first:
            yield text[hyphen.start() - first.end() : hyphen.end()], first[0][::-1].lstrip(), hyphen[1]
            start = at = hyphen.end()
        else:
            start, at = text.index("-", hyphen.start()) + 1, hyphen.start(1)


def _condition(match: re.Match[str]) -> VersionCondition:
    minor, patch, pre = (match["minor"] or "")[1:], (match["patch"] or "")[1:], (match["pre"] or "")[1:]
    operator = match["operator"]
    if match["major"] in _WILD:
        return VersionCondition(operator, _version("0", "0", "0", pre), dirty=True)
    if not minor or minor in _WILD:
        return VersionCondition(operator, _version(match["major"], "0", "0", pre), dirty=True, minor_dirty=True)
    if not patch or patch in _WILD:
        return VersionCondition(operator, _version(match["major"], minor, "0", pre), dirty=True, patch_dirty=True)
    return VersionCondition(operator, _version(match["major"], minor, patch, pre))


def _version(major: str, minor: str, patch: str, pre: str) -> Version:
    numbers: list[int] = []
    for part in (major, minor, patch):
        # Python refuses to convert numbers of more than 4,300 digits; leading zeros are read.
        if not part.isdecimal() or len(part.lstrip("0")) > 20 or int(part) > _LARGEST:
            raise VersionRangeError("constraint parser error")
        numbers.append(int(part))
    if any(len(word) > 1 and word.isdecimal() and word[0] == "0" for word in pre.split(".")):
        raise VersionRangeError("constraint parser error")
    return Version(numbers[0], numbers[1], numbers[2], prerelease=pre or None)


_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")
_NOT_SELECTED, _UNAVAILABLE = "the selector does not name it", "it is Unavailable"
NO_PACKAGE = "it does not have the package"
DEPENDENCIES = ("olm.package.required", "olm.gvk.required", "olm.constraint")


class ServedCatalog(NamedTuple):
    """A ClusterCatalog with the packages that it serves; `problem` says why it can't be read, in the controller's
    words, `broken` the same of single packages, and `unpacking` what catalogd says of it."""

    catalog: ClusterCatalog
    packages: Mapping[str, Package] = {}
    problem: str = ""
    broken: Mapping[str, str] = {}
    unpacking: str = ""


class CatalogOutcome(NamedTuple):
    """What the search in one catalog came to.

    `left` are the numbers of bundles: of the package, and after each filter by its name; `candidate` is the best of
    them, "" for none, `deprecated` whether the catalog says so of it. `dropped` says why the candidate did not count.
    """

    name: str
    priority: int
    left: tuple[tuple[str, int], ...] = ()
    candidate: str = ""
    deprecated: bool = False
    dropped: str = ""


class ExtensionResolution(NamedTuple):
    """What a resolution gives: a bundle, or `error`, and how every catalog contributed.

    `deprecations` are those that the controller goes by (R-V1-RES-12), `own_deprecations` those of the catalog that the
    bundle is from. `any_catalog`: whether the selector names any catalog, disabled ones included.
    """

    error: str = ""
    bundle: CatalogBundle | None = None
    version: BundleVersion | None = None
    installed: InstalledBundle | None = None
    catalog: str = ""
    deprecations: tuple[Deprecation, ...] = ()
    own_deprecations: tuple[Deprecation, ...] = ()
    outcomes: tuple[CatalogOutcome, ...] = ()
    any_catalog: bool = True

    @property
    def asked(self) -> frozenset[str]:
        """The catalogs that were looked into."""
        return frozenset(each.name for each in self.outcomes if each.dropped not in (_NOT_SELECTED, _UNAVAILABLE))


class _Candidate(NamedTuple):
    catalog: ClusterCatalog
    bundle: CatalogBundle
    deprecations: tuple[Deprecation, ...]

    @property
    def is_deprecated(self) -> bool:
        return _is_deprecated(self.bundle, self.deprecations)


class _ResolutionError(ValueError):
    """The reason why a resolution ends, in the controller's words."""


def resolve(
    source: CatalogFilter, installed: InstalledBundle | None, catalogs: Sequence[ServedCatalog], *, releases: bool
) -> ExtensionResolution:
    """Resolve what a ClusterExtension asks for; `releases` is the gate BundleReleaseSupport."""
    outcomes: list[CatalogOutcome] = []
    selected: Sequence[ServedCatalog] | None = None
    try:
        selected = _selected(source.selector, catalogs)
        outcomes += (
            CatalogOutcome(served.catalog.name, served.catalog.priority, dropped=_NOT_SELECTED)
            for served in catalogs if served not in selected
        )  # fmt: skip
        versions = _version_range(source.version)
        candidates = _walk(source, versions, installed, selected, outcomes, releases=releases)
        winner = _winner(candidates, source, installed)
        version = _checked_version(winner.bundle, releases=releases)
    except _ResolutionError as error:
        return ExtensionResolution(str(error), outcomes=tuple(outcomes), any_catalog=selected is None or bool(selected))
    return ExtensionResolution(
        "", winner.bundle, version, installed_bundle(winner.bundle, version, releases=releases), winner.catalog.name,
        candidates[-1].deprecations, winner.deprecations, tuple(outcomes),
    )  # fmt: skip


def _selected(selector: Mapping[str, object], catalogs: Sequence[ServedCatalog]) -> list[ServedCatalog]:
    """The catalogs that a selector names, disabled ones included, by name (R-V1-RES-1)."""
    problem = _selector_problem(selector)
    if problem:
        raise _ResolutionError(f"desired catalog selector is invalid: {problem}")
    chosen = [served for served in catalogs if matches(selector, served.catalog.labels)]
    return sorted(chosen, key=lambda served: _bytes(served.catalog.name))


def _bytes(name: str) -> bytes:
    """Return the bytes by which Go sorts a name, halves of characters included."""
    return name.encode("utf-8", "surrogatepass")


def _selector_problem(selector: Mapping[str, object]) -> str:
    """The first thing wrong with a selector, in the words of Kubernetes' label library."""
    for key, operator, values in requirements(selector):
        if operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
            return f"{quoted(operator)} is not a valid label selector operator"
        problems = (
            [f"key: Invalid value: {quoted(key)}: {'; '.join(wrong)}"] if (wrong := is_qualified_name(key)) else []
        )
        if operator in _WITH_VALUES and not values:
            problems.append("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
        if operator in _WITHOUT_VALUES and values:
            shown = ",".join(map(quoted, values))
            text = "values set must be empty for exists and does not exist"
            problems.append(f"values: Invalid value: [{shown}]: {text}")
        for index, value in enumerate(values):
            if wrong := is_label_value(value):
                problems.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(wrong)}")
        if problems:
            return aggregated(problems)
    return ""


def _version_range(text: str | None) -> VersionRange | None:
    try:
        return parse_version_range(text) if text else None
    except VersionRangeError as error:
        raise _ResolutionError(f"desired version range {quoted(text or '')} is invalid: {error}") from None


def _walk(
    source: CatalogFilter, versions: VersionRange | None, installed: InstalledBundle | None,
    selected: Sequence[ServedCatalog], outcomes: list[CatalogOutcome], *, releases: bool,
) -> list[_Candidate]:  # fmt: skip
    """The candidates of the catalogs, those dropped that lose to a later one for being deprecated (R-V1-RES-11)."""
    candidates: list[_Candidate] = []
    for served in selected:
        catalog = served.catalog
        # A catalog that is switched off counts as selected, so that the message speaks of what was found, not of the
        # selector.
        if not catalog.available:
            outcomes.append(CatalogOutcome(catalog.name, catalog.priority, dropped=_UNAVAILABLE))
            continue
        # One catalog that can't be read ends the resolution: a better bundle might be in it.
        problem = served.problem or served.broken.get(source.package, "")
        if problem:
            raise _ResolutionError(_unreadable(source.package, catalog.name, problem))
        package = served.packages.get(source.package)
        if package is None:
            outcomes.append(CatalogOutcome(catalog.name, catalog.priority, dropped=NO_PACKAGE))
            continue
        best, left = _best(package, source, versions, installed, releases=releases)
        outcome = CatalogOutcome(catalog.name, catalog.priority, left)
        if best is None:
            outcomes.append(outcome)
            continue
        candidate = _Candidate(catalog, best, package.deprecations)
        outcome = outcome._replace(candidate=best.name, deprecated=candidate.is_deprecated)
        if candidates and candidate.is_deprecated and not candidates[-1].is_deprecated:
            outcomes.append(outcome._replace(dropped="its bundle is deprecated, and another catalog's is not"))
            continue
        if candidates and candidates[-1].is_deprecated and not candidate.is_deprecated:
            # A bundle that is not deprecated beats all deprecated ones, independent of priorities.
            lost = {prior.catalog.name for prior in candidates}
            outcomes[:] = [
                prior._replace(dropped="its bundle is deprecated, and another catalog's is not")
                if prior.name in lost else prior for prior in outcomes
            ]  # fmt: skip
            candidates = []
        candidates.append(candidate)
        outcomes.append(outcome)
    return candidates


def _unreadable(package: str, catalog: str, problem: str) -> str:
    where = f"error getting package {quoted(package)} from catalog {quoted(catalog)}"
    return f"error walking catalogs: {where}: {problem}"


def not_served(package: str, catalog: str) -> str:
    """The error of a resolution that finds a catalog which is not served (R-V1-RES-2)."""
    return _unreadable(package, catalog, not_served_problem(catalog))


def not_served_problem(catalog: str) -> str:
    """Return the controller's text for a catalog that is not served."""
    return f"catalog {quoted(catalog)} is not being served"


def _best(
    package: Package, source: CatalogFilter, versions: VersionRange | None, installed: InstalledBundle | None,
    *, releases: bool,
) -> tuple[CatalogBundle | None, tuple[tuple[str, int], ...]]:  # fmt: skip
    """The catalog's best bundle after the filters (R-V1-RES-8, R-V1-RES-10), and how many each filter left."""
    channels = [
        channel for channel in package.channels.values() if not source.channels or channel.name in source.channels
    ]
    # Bundles of one version stay in the order in which the controller reads their files (R-V1-RES-3).
    bundles = sorted(package.bundles.values(), key=lambda bundle: _bytes(f"{bundle.name}.json"))
    known = {bundle.name: _version_or_none(bundle, releases=releases) for bundle in bundles}
    left = [("in the package", len(bundles))]
    if source.channels:
        listed = {entry.name for channel in channels for entry in channel.entries}
        bundles = [bundle for bundle in bundles if bundle.name in listed]
        left.append((f"in channels {_listed(source.channels)}", len(bundles)))
    if versions is not None:
        ranged = ((bundle, known[bundle.name]) for bundle in bundles)
        bundles = [bundle for bundle, version in ranged if version is not None and versions.contains(version.version)]
        left.append((f"matching version {quoted(versions.text)}", len(bundles)))
    # SelfCertified is the user's word that any version may follow, downgrades included.
    if source.policy != SELF_CERTIFIED and installed is not None:
        successors = _successors(installed, channels, known)
        bundles = [bundle for bundle in bundles if bundle.name in successors]
        left.append((f"that upgrade {installed.name}", len(bundles)))

    def compare(one: CatalogBundle, other: CatalogBundle) -> int:
        return _order(known[other.name], known[one.name])

    ordered = sorted(bundles, key=cmp_to_key(compare))
    # Sorting is stable: what is deprecated goes behind everything else, and stays in order of versions there.
    ordered.sort(key=lambda bundle: _is_deprecated(bundle, package.deprecations))
    return (ordered[0] if ordered else None), tuple(left)


def _version_or_none(bundle: CatalogBundle, *, releases: bool) -> BundleVersion | None:
    try:
        return bundle_version(bundle, releases=releases)
    except ValueError:
        return None


def _order(one: BundleVersion | None, other: BundleVersion | None) -> int:
    """As versions compare; one that can't be read is below all others."""
    if one is None or other is None:
        return (one is not None) - (other is not None)
    return one.compare(other)


def _is_deprecated(bundle: CatalogBundle, deprecations: Sequence[Deprecation]) -> bool:
    return any(entry.schema == "olm.bundle" and entry.name == bundle.name for entry in deprecations)


def _successors(
    installed: InstalledBundle, channels: Sequence[Channel], known: Mapping[str, BundleVersion | None]
) -> set[str]:
    """The names of the bundles that upgrade what is installed directly, or are of its version (R-V1-RES-9)."""
    try:
        own = installed_version(installed)
    except ValueError as error:
        raise _ResolutionError(f"error walking catalogs: error finding upgrade edges: {error}") from None
    version = _skippable(installed.version)
    # What is installed may stay, also as a bundle of the same version under another name.
    names = {name for name, other in known.items() if other is not None and other.compare(own) == 0}
    for channel in channels:
        for entry in channel.entries:
            skipped = range_or_none(entry.skip_range)
            is_edge = installed.name in (entry.replaces, *entry.skips)
            if is_edge or (skipped is not None and skipped.contains(version)):
                names.add(entry.name)
    return names


def _skippable(text: str) -> Version:
    try:
        return parse_strict(text)
    except VersionError as error:
        where = "error walking catalogs: error finding upgrade edges: getting successorsPredicate"
        raise _ResolutionError(f"{where}: error parsing installed bundle version: {error}") from None


def _winner(candidates: list[_Candidate], source: CatalogFilter, installed: InstalledBundle | None) -> _Candidate:
    """The candidate of the catalog with the highest priority, if there is one such (R-V1-RES-11, R-V1-RES-14)."""
    ranked = sorted(candidates, key=lambda candidate: -candidate.catalog.priority)
    if len(ranked) == 1 or (len(ranked) > 1 and ranked[0].catalog.priority != ranked[1].catalog.priority):
        return ranked[0]
    texts = [f"error upgrading from currently installed version {quoted(installed.version)}:"] if installed else []
    texts.append(f"{'found bundles' if ranked else 'no bundles found'} for package {quoted(source.package)}")
    if source.version:
        texts.append(f"matching version {quoted(source.version)}")
    if source.channels:
        texts.append(f"in channels {_listed(source.channels)}")
    if ranked:
        names = sorted(candidate.catalog.name for candidate in ranked)
        texts.append(f"in multiple catalogs with the same priority {_listed(names)}")
    raise _ResolutionError(" ".join(texts))


def _listed(names: Sequence[str]) -> str:
    return f"[{' '.join(names)}]"


def _checked_version(bundle: CatalogBundle, *, releases: bool) -> BundleVersion:
    """The version of a chosen bundle that asks for nothing of others (R-V1-RES-13)."""
    name = quoted(bundle.name)
    try:
        version = bundle_version(bundle, releases=releases)
    except ValueError as error:
        raise _ResolutionError(f"error getting resolved bundle version for bundle {name}: {error}") from None
    # OLM v1 resolves no dependencies: it refuses a bundle that declares one, and installs none beside it.
    for prop in bundle.properties:
        if prop.type in DEPENDENCIES:
            text = f"has a dependency declared via property {quoted(prop.type)} which is currently not supported"
            raise _ResolutionError(f"validating bundle {name}: bundle {name} {text}")
    return version


def derivation(resolution: ExtensionResolution) -> tuple[str, ...]:
    """Return the result of each catalog, one sentence a catalog."""
    return tuple(
        f"catalog {outcome.name} (priority {outcome.priority}): "
        + ", ".join(
            [
                *(f"{number} {what}" for what, number in outcome.left),
                *([f"the best is {outcome.candidate}"] if outcome.candidate else []),
                *(["deprecated"] if outcome.deprecated else []),
                *([outcome.dropped] if outcome.dropped else []),
            ]
        )
        for outcome in resolution.outcomes
    )
