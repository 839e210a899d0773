"""Changes of CRDs outside of their schemas: scope, names, versions, the stored version, conversion.

What breaks is judged for those who have objects or write them, as the API server treats them: a version that is not
served can't be asked for, one that was stored must be read for ever, and without a conversion webhook fields that a
version doesn't have are lost when an object is written in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from olmc.model.coerce import mapping, mappings, text
from olmc.model.objects import Identity, KubernetesObject
from olmc.review.diff.change import ABSENT, Change, Gravity, Group, Sentence, Sign, shown
from olmc.review.diff.fields import from_to, sign_of
from olmc.review.diff.values import deltas, path_text, same

__all__ = [
    "ConversionChanged", "CrdAdded", "CrdFieldChanged", "CrdRemoved", "NameChanged", "ScopeChanged",
    "StoredVersionChanged", "VersionAdded", "VersionRemoved", "VersionServed", "VersionUnserved", "crd_changes",
]  # fmt: skip

CRD = "CustomResourceDefinition"


@dataclass(frozen=True)
class CrdAdded:
    """A CRD that only the new side has."""

    identity: Identity

    group = Group.CRDS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("new",)


@dataclass(frozen=True)
class CrdRemoved:
    """A CRD that only the old side has; if it is deleted, so are all of its objects."""

    identity: Identity

    group = Group.CRDS
    gravity = Gravity.BREAKING
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("is gone: deleting it deletes all of its objects (OLM leaves it, pruning does not)",)


@dataclass(frozen=True)
class ScopeChanged:
    """Namespaced becomes Cluster, or the other way around; the API server refuses that."""

    identity: Identity
    old: str
    new: str

    group = Group.CRDS
    gravity = Gravity.BREAKING
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return ("scope: ", shown(self.old), " → ", shown(self.new), ", which the API server refuses")


@dataclass(frozen=True)
class NameChanged:
    """Another kind, listKind, plural or singular."""

    identity: Identity
    field: str
    old: str
    new: str

    group = Group.CRDS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.field in ("singular", "listKind") else Gravity.BREAKING

    def sentence(self) -> Sentence:
        return (f"{self.field}: ", shown(self.old), " → ", shown(self.new))


@dataclass(frozen=True)
class VersionAdded:
    """A version that only the new side has."""

    identity: Identity
    version: str

    group = Group.CRDS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("new version ", shown(self.version))


@dataclass(frozen=True)
class VersionRemoved:
    """A version that only the old side has; `served` and `stored` are what it was there."""

    identity: Identity
    version: str
    served: bool
    stored: bool

    group = Group.CRDS
    sign = Sign.REMOVED

    @property
    def gravity(self) -> Gravity:
        return Gravity.BREAKING if self.served or self.stored else Gravity.CHANGE

    def sentence(self) -> Sentence:
        stored = ": objects are stored in it, so OLM refuses the upgrade until they are migrated"
        return ("version ", shown(self.version), " is gone", stored if self.stored else "")


@dataclass(frozen=True)
class VersionServed:
    """A version that is served from now on."""

    identity: Identity
    version: str

    group = Group.CRDS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("version ", shown(self.version), " is served from now on")


@dataclass(frozen=True)
class VersionUnserved:
    """A version that is not served any more: requests for it fail."""

    identity: Identity
    version: str

    group = Group.CRDS
    gravity = Gravity.BREAKING
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("version ", shown(self.version), " is no longer served")


@dataclass(frozen=True)
class StoredVersionChanged:
    """Objects are stored in another version from now on; `lossless`: by a webhook, or both have the same schema."""

    identity: Identity
    old: str
    new: str
    lossless: bool

    group = Group.CRDS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.lossless else Gravity.BREAKING

    def sentence(self) -> Sentence:
        start: Sentence = ("stored version: ", shown(self.old), " → ", shown(self.new))
        if self.lossless:
            return start
        return (*start, "; without a conversion webhook, fields that ", shown(self.new), " does not have are lost")


@dataclass(frozen=True)
class ConversionChanged:
    """Another conversion strategy; `needed`: several versions with different schemas are served."""

    identity: Identity
    old: str
    new: str
    needed: bool

    group = Group.CRDS
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.BREAKING if self.new != "Webhook" and self.needed else Gravity.CHANGE

    def sentence(self) -> Sentence:
        return ("conversion: ", shown(self.old), " → ", shown(self.new))


@dataclass(frozen=True)
class CrdFieldChanged:
    """Any other field of a CRD: short names, categories, printer columns, subresources, labels."""

    identity: Identity
    path: str
    old: Any
    new: Any

    group = Group.CRDS

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.new is ABSENT and "subresources" in self.path else Gravity.NOTE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (shown(self.path), *from_to(self.old, self.new))


class Version(NamedTuple):
    """A version of a CRD; `rest` is what it has besides its schema."""

    name: str
    served: bool
    stored: bool
    schema: Mapping[str, Any]
    rest: Mapping[str, Any]


class Definition(NamedTuple):
    """A CRD of v1 or v1beta1 in the shape of v1."""

    scope: str
    names: Mapping[str, Any]
    versions: Mapping[str, Version]
    conversion: str

    @property
    def stored(self) -> str:
        return next((version.name for version in self.versions.values() if version.stored), "")

    @property
    def served(self) -> list[Version]:
        return [version for version in self.versions.values() if version.served]


def definition(crd: KubernetesObject) -> Definition:
    """The CRD as v1 has it; what is missing or of the wrong type is empty."""
    spec = mapping(crd.get("spec"))
    common = mapping(mapping(spec.get("validation")).get("openAPIV3Schema"))
    listed = mappings(spec.get("versions"))
    if not listed and text(spec.get("version")):
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    versions = {}
    for each in listed:
        schema = mapping(mapping(each.get("schema")).get("openAPIV3Schema")) or common
        rest = {key: value for key, value in each.items() if key not in ("name", "served", "storage", "schema")}
        name = text(each.get("name"))
        versions[name] = Version(name, bool(each.get("served")), bool(each.get("storage")), schema, rest)
    conversion = text(mapping(spec.get("conversion")).get("strategy")) or "None"
    return Definition(text(spec.get("scope")) or "Namespaced", mapping(spec.get("names")), versions, conversion)


def crd_changes(identity: Identity, old: KubernetesObject, new: KubernetesObject) -> Iterator[Change]:
    """How a CRD and its predecessor differ, schemas included."""
    from olmc.review.diff.schemas import schema_changes

    before, after = definition(old), definition(new)
    if before.scope != after.scope:
        yield ScopeChanged(identity, before.scope, after.scope)
    yield from _name_changes(identity, before, after)
    yield from _version_changes(identity, before, after)
    if before.stored and after.stored and before.stored != after.stored:
        yield StoredVersionChanged(identity, before.stored, after.stored, _lossless(before, after))
    if before.conversion != after.conversion:
        needed = any(not same(each.schema, after.served[0].schema) for each in after.served[1:])
        yield ConversionChanged(identity, before.conversion, after.conversion, needed)
    for name, version in before.versions.items():
        if name in after.versions:
            yield from _rest_changes(identity, version, after.versions[name])
            yield from schema_changes(identity, version, after.versions[name], after)


def _name_changes(identity: Identity, old: Definition, new: Definition) -> Iterator[Change]:
    for field in ("kind", "listKind", "plural", "singular"):
        before, after = text(old.names.get(field)), text(new.names.get(field))
        if before and after and before != after:
            yield NameChanged(identity, field, before, after)
    for field in ("shortNames", "categories"):
        for delta in deltas({field: old.names.get(field)}, {field: new.names.get(field)}):
            yield CrdFieldChanged(identity, path_text(("names", *delta.path)), delta.old, delta.new)


def _version_changes(identity: Identity, old: Definition, new: Definition) -> Iterator[Change]:
    for name, version in old.versions.items():
        after = new.versions.get(name)
        if after is None:
            yield VersionRemoved(identity, name, version.served, version.stored)
        elif version.served and not after.served:
            yield VersionUnserved(identity, name)
        elif after.served and not version.served:
            yield VersionServed(identity, name)
    yield from (VersionAdded(identity, name) for name in new.versions if name not in old.versions)


def _lossless(old: Definition, new: Definition) -> bool:
    """Whether objects survive the change of the stored version: converted by a webhook, or of the same shape."""
    if new.conversion == "Webhook":
        return True
    return same(old.versions[old.stored].schema, new.versions[new.stored].schema)


def _rest_changes(identity: Identity, old: Version, new: Version) -> Iterator[CrdFieldChanged]:
    for delta in deltas(dict(old.rest), dict(new.rest)):
        yield CrdFieldChanged(identity, path_text((old.name, *delta.path)), delta.old, delta.new)
