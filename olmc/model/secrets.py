"""What is secret in a Secret, and how it is shown: not at all, or, where two are compared, as kubectl diff does."""

from __future__ import annotations

import json
from collections import defaultdict
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

# A block that is indented too far stands in the metadata.
_OPEN_METADATA = frozenset(
    """
    annotations clusterName creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
    generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid
    """.split()
)

# What other tools keep of the whole object, packed maybe.
_COPIES = ("last-applied", "last-handled-configuration", "kapp.k14s.io/original", "objectset.rio.cattle.io/applied")
_Path = tuple[str, str, str]
_SHORTEST = {"annotations": 6, "labels": 16}
"""How long a value must be for a text to count as one that holds it: shorter ones stand in many by chance. A label says
what a Secret is, and it may well have the name of a user or of a database in it: what is that long is hardly a word."""
_SHORTEST_LINE = 16
"""How long a line of a value must be to count as one."""

_MOST_CHARACTERS = 2 * 256 * 1024
"""How much of annotations Kubernetes takes, on two sides."""
_MOST_STEPS, _STEPS_A_TEXT = 100_000_000, 20
"""For how many characters values are looked for, all in all, which takes a second at most; and what each text adds."""


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
    """Whether an object is a Secret, or becomes one as a part of another object, though it does not say all of it; a
    reference has no data."""
    if is_secret(obj) or not _says(obj, "secret"):
        return is_secret(obj)
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
    return _replaced(secret, _copies(secret), lambda value, _: REDACTED if value or not is_certificate else value)


def masked(
    old: KubernetesObject | None, new: KubernetesObject | None
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    """Both sides of an object (None where it is on one side only), of which the Secrets show what is equal and what is
    not, and not what it is. What a side has redacted may be what the other has."""
    if old is not None and new is not None and _is_like_secret(old) and _is_like_secret(new):
        return _masked(old, new)
    return (
        _mapped(old, new, lambda secret, beside: _masked(secret, beside)[0]),
        _mapped(new, old, lambda secret, beside: _masked(beside, secret)[1]),
    )


def _mapped(value: Any, beside: Any, change: Callable[[KubernetesObject, KubernetesObject | None], Any]) -> Any:
    """A value with the Secrets in it changed, each by what stands in its place in another value."""
    if isinstance(value, dict):
        other = beside if isinstance(beside, dict) else {}
        if _is_like_secret(value):
            return change(value, other if _is_like_secret(other) else None)
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
    # One set for both: what is a copy on one side, or masked already, says on the other whether it is the same.
    copies = _copies(*(side for side in (old, new) if side is not None))

    def shown(other: KubernetesObject | None, if_changed: str) -> Callable[[Any, tuple[str, ...]], Any]:
        def show(value: Any, keys: tuple[str, ...]) -> Any:
            beside = _at(other, keys)
            if REDACTED in (beside, value):  # whatever is empty on the other side may be so here
                return MASK
            is_changed = beside is not None and beside != value
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
    metadata = metadata_of(secret)
    misplaced = {name: value for name, value in metadata.items() if name not in _OPEN_METADATA and value is not None}
    if misplaced:
        hidden = {name: show(value, ("metadata", name)) for name, value in misplaced.items()}
        changed["metadata"] = {**metadata, **hidden}
    for field in {field for _, field, _ in copies}:
        given = mapping(metadata_of(secret).get(field))
        paths = (("metadata", field, name) for name in given)
        masks = {path[-1]: show(given[path[-1]], path) for path in paths if path in copies}
        if masks:
            changed["metadata"] = {**metadata_of(changed), field: {**given, **masks}}
    return changed


def _copies(*sides: KubernetesObject) -> set[_Path]:
    """Where the annotations and labels are that have, on one of the sides of a Secret, a value of any side in them, or
    none any more."""
    given = {field: [item for side in sides for item in _texts(side, field)] for field in _SHORTEST}
    values = dict.fromkeys(value for side in sides for value in _spellings(side)) if any(given.values()) else {}
    values.pop(REDACTED, None)
    copies: set[_Path] = set()
    for field, shortest in _SHORTEST.items():
        known = {name for name, text in given[field] if text == REDACTED or any(part in name for part in _COPIES)}
        holders = _holders({text for name, text in given[field] if name not in known}, values, shortest)
        copies |= {("metadata", field, name) for name, text in given[field] if name in known or text in holders}
    return copies


def _texts(secret: KubernetesObject, field: str) -> Iterator[tuple[str, str]]:
    """The annotations, or the labels, of a Secret; one that is no text has whatever is indented too far."""
    given = mapping(metadata_of(secret).get(field))
    return ((name, REDACTED if isinstance(text, (dict, list)) else str(text)) for name, text in given.items())


def _holders(texts: Set[str], values: Iterable[str], shortest: int) -> Set[str]:
    """The texts that have a value of that length at least in them.

    Thousands of values are compared with as many texts, so one is looked for only where the rarest of its parts stands.
    What would take too long all the same counts as a text that has a value.
    """
    texts = {text for text in texts if len(text) >= shortest}
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        return texts
    longest = max(map(len, texts), default=0)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        for part in set(_parts(text, shortest)):
            places[part].append(text)
    holders: set[str] = set()
    steps = 0
    for value in values:
        if not shortest <= len(value) <= longest or not all(part in places for part in _parts(value, shortest)):
            continue
        for text in min((places[part] for part in _parts(value, shortest)), key=len):
            steps += _STEPS_A_TEXT
            if text not in holders:
                steps += len(text)
                if value in text:
                    holders.add(text)
        if steps > _MOST_STEPS:
            return texts
    return holders


def _parts(text: str, width: int) -> Iterator[str]:
    return (text[at : at + width] for at in range(len(text) - width + 1))


base64 = module("base64")  # for Secrets alone, which few workspaces have


def _spellings(secret: Mapping[str, Any]) -> Iterator[str]:
    """The values of a Secret, as they stand there and, of `data`, decoded; others also as base64."""
    for field in sorted(secret.keys() - _OPEN_FIELDS):
        for value in map(str, _leaves(secret[field])):
            yield from _readings(value)
            if field != "data":
                yield from _encoded(value)
                continue
            encoded = value.replace("\r", "").replace("\n", "")  # as Go reads it
            yield encoded
            try:
                decoded = base64.b64decode(encoded, validate=True).decode()
            except ValueError:
                continue
            yield from _readings(decoded)
            yield from _encoded(decoded)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _readings(value: str) -> Iterator[str]:
    """A value, also without the end of its line, and the lines of one that has several, also in JSON; the marks of a
    certificate are no secret."""
    lines = [line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE and line[:5] != "-----"]
    for text in (value, value.strip(), *lines):
        yield text
        yield json.dumps(text)[1:-1]


def _encoded(value: str) -> Iterator[str]:
    for text in dict.fromkeys((value, value.strip())):
        yield base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
