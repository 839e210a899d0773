"""What is secret in a Secret, and how it is shown: not at all, or, where two are compared, as kubectl diff does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import zip_longest
from typing import Any

from olmc.lean import module
from olmc.model.objects import KubernetesObject, annotations_of, mapping, metadata_of

REDACTED = "REDACTED"
"""What renderings have in the place of Secrets' values."""
MASK, BEFORE, AFTER = "***", "*** (before)", "*** (after)"
"""What differences have there: for a value that is the same, or alone, and for both sides of one that is not."""

CA_HASH = "olmcahash"
"""The annotation of Secrets with certificates that OLM issues."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OPEN_FIELDS = frozenset("apiVersion immutable kind metadata status type".split())
"""What of a Secret is not secret. All else is: a misspelt field (`stringdata`) has what its neighbour would have."""

# What other tools keep of the whole object, packed maybe.
_COPIES = ("last-applied", "last-handled-configuration", "kapp.k14s.io/original", "objectset.rio.cattle.io/applied")
_Path = tuple[str, str, str]
_SHORTEST = {"annotations": 6, "labels": 16}
"""How long a value must be for a text to count as one that holds it: shorter ones stand in many by chance. A label says
what a Secret is, and it may well have the name of a user or of a database in it: what is that long is hardly a word."""


def is_secret(obj: KubernetesObject) -> bool:
    """Whether an object is a Secret of the core API."""
    return obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"


def _says(obj: KubernetesObject, kind: str) -> bool:
    """Whether an object says that it is of a kind of the core API, be it in another case or with spaces, or may be read
    so, for want of an apiVersion; another group has things of its own by this name."""
    given, api_version = obj.get("kind"), obj.get("apiVersion")
    is_core = not isinstance(api_version, str) or api_version.strip().casefold() in ("", "v1")
    return isinstance(given, str) and given.strip().casefold() == kind and is_core


def _is_secret_list(obj: KubernetesObject) -> bool:
    return _says(obj, "secretlist") and isinstance(obj.get("items"), list)


def _is_like_secret(obj: KubernetesObject) -> bool:
    """Whether a part of another object becomes a Secret, though it does not say all of it; a reference has no data."""
    if not _says(obj, "secret"):
        return False
    given = [value for field, value in obj.items() if str(field).casefold() in ("data", "stringdata")]
    return any(isinstance(value, (dict, list)) for value in given)


def may_hold_secrets(obj: KubernetesObject) -> bool:
    """Whether an object is a Secret, or one of a kind of which nobody knows: policies and templates have whole objects
    in them."""
    group, _, _ = str(obj.get("apiVersion")).rpartition("/")
    return str(obj.get("kind")).strip().casefold() in _OF_OBJECTS or group not in _KNOWN_GROUPS


_OF_SECRET = {"apiVersion": "v1", "kind": "Secret"}
# In any group, as OpenShift has had templates in that of the core as well.
_OF_OBJECTS = frozenset("secret secretlist list template".split())
_KNOWN_GROUPS = frozenset(
    """
    operators.coreos.com apps batch autoscaling policy admissionregistration.k8s.io apiextensions.k8s.io
    apiregistration.k8s.io authentication.k8s.io authorization.k8s.io certificates.k8s.io coordination.k8s.io
    discovery.k8s.io events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io rbac.authorization.k8s.io
    scheduling.k8s.io storage.k8s.io resource.k8s.io
    """.split()
) | {""}


def has_values(obj: KubernetesObject) -> bool:
    """Whether an object is a Secret, or has one in it, that shows what is secret."""
    return may_hold_secrets(obj) and redacted(obj) != obj


def redacted(obj: KubernetesObject) -> KubernetesObject:
    """An object of which the Secrets have no values, and no copies of them in annotations; those of certificates that
    OLM issues are never known, and stay empty."""
    shown = _mapped(obj, obj, lambda secret, _: _redacted(secret))
    assert isinstance(shown, dict)
    return shown


def _redacted(secret: KubernetesObject) -> KubernetesObject:
    is_certificate = CA_HASH in annotations_of(secret)
    copies = set(_copies(secret, _values(secret)))
    return _replaced(secret, copies, lambda value, _: REDACTED if value or not is_certificate else value)


def masked(
    old: KubernetesObject | None, new: KubernetesObject | None
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    """Both sides of an object (None where it is on one side only), of which the Secrets show what is equal and what is
    not, and not what it is. What a side has redacted may be what the other has."""
    return (
        _mapped(old, new, lambda secret, beside: _masked(secret, beside)[0]),
        _mapped(new, old, lambda secret, beside: _masked(beside, secret)[1]),
    )


def _mapped(value: Any, beside: Any, change: Callable[[KubernetesObject, KubernetesObject | None], Any]) -> Any:
    """A value with the Secrets in it changed, each by what stands in its place in another value."""
    if isinstance(value, dict):
        other = beside if isinstance(beside, dict) else {}
        if is_secret(value) or _is_like_secret(value):
            return change(value, other if is_secret(other) or _is_like_secret(other) else None)
        if _is_secret_list(value):
            items = other.get("items") if _is_secret_list(other) else None
            return {**value, "items": _mapped_items(value["items"], items if isinstance(items, list) else [], change)}
        return {key: _mapped(item, other.get(key), change) for key, item in value.items()}
    if isinstance(value, list):
        others = beside if isinstance(beside, list) else []
        return [_mapped(item, other, change) for item, other in zip_longest(value, others[: len(value)])]
    return value


def _mapped_items(
    items: list[Any], beside: list[Any], change: Callable[[KubernetesObject, KubernetesObject | None], Any]
) -> list[Any]:
    """The items of a SecretList, which need not say that they are Secrets, changed as these."""

    def changed(item: Any, other: Any) -> Any:
        if not isinstance(item, dict):
            return item
        shown = change({**_OF_SECRET, **item}, {**_OF_SECRET, **other} if isinstance(other, dict) else None)
        return {key: value for key, value in shown.items() if key in item}

    return [changed(item, other) for item, other in zip_longest(items, beside[: len(items)])]


def _masked(
    old: KubernetesObject | None, new: KubernetesObject | None
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    sides = [side for side in (old, new) if side is not None]
    values = frozenset().union(*map(_values, sides))
    # One set for both: what is a copy on one side, or masked already, says on the other whether it is the same.
    copies = {path for side in sides for path in _copies(side, values)}

    def shown(other: KubernetesObject | None, if_changed: str) -> Callable[[Any, tuple[str, ...]], Any]:
        def show(value: Any, keys: tuple[str, ...]) -> Any:
            beside = _at(other, keys)
            is_changed = beside is not None and beside != value and REDACTED not in (beside, value)
            return value if value in ("", None) else if_changed if is_changed else MASK

        return show

    return (
        _replaced(old, copies, shown(new, BEFORE)) if old is not None else None,
        _replaced(new, copies, shown(old, AFTER)) if new is not None else None,
    )


def _at(obj: KubernetesObject | None, keys: Sequence[str]) -> Any:
    value: Any = obj
    for key in keys:
        value = mapping(value).get(key)
    return value


def _replaced(
    secret: KubernetesObject, copies: Set[_Path], show: Callable[[Any, tuple[str, ...]], Any]
) -> KubernetesObject:
    changed = dict(secret)
    for field in secret.keys() - _OPEN_FIELDS:
        given = secret[field]
        if isinstance(given, dict):
            changed[field] = {name: show(value, (field, name)) for name, value in given.items()}
        elif given is not None:
            changed[field] = show(given, (field,))
    for field in {field for _, field, _ in copies}:
        given = mapping(metadata_of(secret).get(field))
        paths = (("metadata", field, name) for name in given)
        masks = {path[-1]: show(given[path[-1]], path) for path in paths if path in copies}
        if masks:
            changed["metadata"] = {**metadata_of(changed), field: {**given, **masks}}
    return changed


def _copies(secret: KubernetesObject, values: frozenset[str]) -> Iterator[_Path]:
    """Where the annotations and labels of a Secret are that have one of the values in them, or none any more."""
    for field, shortest in _SHORTEST.items():
        copied = [value for value in values if len(value) >= shortest]
        for name, text in mapping(metadata_of(secret).get(field)).items():
            if text == REDACTED or _is_copy(name, text, copied):
                yield "metadata", field, name


def _is_copy(name: str, text: Any, values: Iterable[str]) -> bool:
    return any(part in name for part in _COPIES) or any(value in str(text) for value in values)


def _values(secret: KubernetesObject) -> frozenset[str]:
    """The values of a Secret, as they stand there and, of `data`, decoded; others also as base64 and in JSON."""
    return frozenset(value for value in _spellings(secret) if value != REDACTED)


base64 = module("base64")  # for Secrets alone, which few workspaces have


def _spellings(secret: Mapping[str, Any]) -> Iterator[str]:
    for field in sorted(secret.keys() - _OPEN_FIELDS):
        for value in mapping(secret[field]).values():
            yield str(value)
            yield json.dumps(str(value))[1:-1]
            if field != "data":
                yield base64.b64encode(str(value).encode("utf-8", "surrogatepass")).decode()
            else:
                encoded = str(value).replace("\r", "").replace("\n", "")  # as Go reads it
                yield encoded
                try:
                    decoded = base64.b64decode(encoded, validate=True).decode()
                except ValueError:
                    continue
                yield decoded
                yield json.dumps(decoded)[1:-1]
