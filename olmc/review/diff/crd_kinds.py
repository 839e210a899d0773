"""The kinds of changes of CRDs: of a CRD as a whole, of its versions, and of their schemas.

`path` is the place in the objects: `spec.size`, `spec.hosts[].name` for items of a list, `spec.labels{}` for the values
of a map, "" for the whole object. The severity of a change of a schema is decided where the change is, since it depends
on the place: in the status, which users don't write, and in versions that were not served less breaks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from inspect import signature
from itertools import groupby
from typing import Any, Generic, ParamSpec

from olmc.compiler.output.messages import clean
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import ObjectKey, doubts_about

# Changes: the kind, the severity, and a message that can be written in any style.
#
# The kinds are tables (the modules `*_kinds`). Each kind is one function from its values to the severity and the
# message, with its name, group and type. The parameters are the details of the JSON output, and mypy checks each
# caller.

_WIDEST, _AROUND = 120, 25
_MOST_OF_A_SIDE, _MOST_PAIRS = 2_000, 2_500
_FEW_PLACES, _DEEPEST = 2, 12
_WORD = regex(r"\w+")
_UNSEEN = regex(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_ALIKE = dict(zip(map(ord, (
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0430\u0435\u0455\u0456"
    "\u0458\u043e\u0440\u0441\u0443\u0445\u0501\u04bb\u051b\u051d\u0261\u0131\u0391\u0392\u0395\u0396\u0397\u0399\u039a"
    "\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03c5\u03f2\u2010\u2011\u2012\u2013\u2212\u2044\u2215\ua789"
)), "ABESIJKMHOPCTXYaesijopcyxdhqwgiABEZHIKMNOPTYXovuc-----//:", strict=True))  # fmt: skip
"""Letters and signs that look like others of ASCII: of the Cyrillic, of the Greek, dashes, slashes and a colon."""
_MOST_IN_SHORT = 0xFFFF
_SHORT_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}

WORKLOADS = frozenset("CronJob DaemonSet Deployment Job Pod ReplicaSet ReplicationController StatefulSet".split())
"""The kinds of objects that run containers."""

NOTE, CHANGE, RISK, BREAKING = Severity.INFO, Severity.WARNING, Severity.FAILURE, Severity.ERROR
"""The severity of a change for its reader, on the scale of findings.

BREAKING: something that works with the old side stops working. RISK: more power, or less certainty, than before.
"""

SEVERITY_WORDS = {NOTE: "note", CHANGE: "change", RISK: "risk", BREAKING: "breaking"}


class ChangeGroup(StrEnum):
    """The subject of a change, in the order in which people want to read."""

    SETTINGS = "settings"
    VERSIONS = "versions"
    IMAGES = "images"
    PERMISSIONS = "permissions"
    CRDS = "crds"
    DEPLOYMENTS = "deployments"
    OTHER = "other"

    @property
    def heading(self) -> str:
        return _HEADINGS[self]


_HEADINGS = {
    ChangeGroup.SETTINGS: "Settings and objects left out",
    ChangeGroup.VERSIONS: "Versions",
    ChangeGroup.IMAGES: "Images",
    ChangeGroup.PERMISSIONS: "Permissions",
    ChangeGroup.CRDS: "Custom resource definitions",
    ChangeGroup.DEPLOYMENTS: "Deployments",
    ChangeGroup.OTHER: "Everything else",
}


class ChangeType(StrEnum):
    """Whether something comes, goes, or becomes something else."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


ADDED, REMOVED, CHANGED = ChangeType


class Absent(Enum):
    """The value of what is not there; null is there."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class UntrustedText(NamedTuple):
    """A piece of a message that comes from the input: a name, a value. Every style quotes and escapes it."""

    text: str


Message = tuple[str | UntrustedText, ...]
Judgement = tuple[Severity, Message]
"""The severity of a change, and its message, without the name of the object."""

_Values = ParamSpec("_Values")


@dataclass(frozen=True)
class ChangeKind(Generic[_Values]):
    """A kind of change. Called with an object and the values of the kind it gives the change.

    `group` is None where the object decides on it, `type` where the values `old` and `new` do. `fields` are the names
    of the values. A value called `severity` is one that depends on the place of the change.
    """

    name: str
    group: ChangeGroup | None
    type: ChangeType | None
    judge: Callable[_Values, Judgement]
    fields: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(signature(self.judge).parameters))

    def __call__(self, identity: ObjectKey, *args: _Values.args, **kwargs: _Values.kwargs) -> DiffChange:
        # JSON has the values by name, however the kind was called.
        values = {**dict(zip(self.fields, args, strict=False)), **kwargs}
        return DiffChange(self, identity, values, *self.judge(*args, **kwargs))


def change_kind(
    name: str, group: ChangeGroup | None, type: ChangeType | None = None
) -> Callable[[Callable[_Values, Judgement]], ChangeKind[_Values]]:
    """Makes a function that judges the values of a kind of change the kind itself."""
    return lambda judge: ChangeKind(name, group, type, judge)


class DiffChange(NamedTuple):
    """One change; `identity` is the object that changed: in the new side, for what is removed in the old one.

    `later`: only once somebody approves the plans that wait. `kept_back`: only once what is stuck goes on.
    """

    kind: ChangeKind[...]
    identity: ObjectKey
    values: Mapping[str, Any]
    severity: Severity
    message: Message
    later: bool = False
    kept_back: bool = False

    @property
    def group(self) -> ChangeGroup:
        return self.kind.group or (ChangeGroup.DEPLOYMENTS if self.identity.kind in WORKLOADS else ChangeGroup.OTHER)

    @property
    def type(self) -> ChangeType:
        if self.kind.type is not None:
            return self.kind.type
        return ADDED if self.values["old"] is ABSENT else REMOVED if self.values["new"] is ABSENT else CHANGED


def shown(value: Any, most: int = _WIDEST) -> UntrustedText:
    """Show a value that nothing is compared with: a text as it is, anything else as JSON, in about `most` characters.

    Two values that are compared go through `contrasted`.
    """
    return UntrustedText(_cut(_as_text(value), most))


def _as_text(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    return value if isinstance(value, str) and value.strip() else _as_json(value)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    first, last = text[: most * 2 // 3], text[-most // 3 + 3 :]
    count = f" {len(text) - len(first) - len(last)} more characters …" if most > _WIDEST else ""
    return f"{first} …{count} {last}"


def contrasted(old: Any, new: Any) -> tuple[UntrustedText, UntrustedText]:
    """Show two values that are compared: only parts that are equal are shortened, and every difference stays.

    This is the one place that abbreviates values of both sides. Differences of more than `_MOST_OF_A_SIDE` characters
    are cut behind their beginning, with a count.
    """
    if old is ABSENT or new is ABSENT:
        return shown(old), shown(new)
    before, after = _as_text(old), _as_text(new)
    if before == after and (old != new or type(old) is not type(new)):  # the number 1 and the text 1
        before, after = _as_json(old), _as_json(new)
    if before != after and _looks(before) == _looks(after):
        before, after = _told_apart(before, after)
    if max(len(before), len(after)) <= _WIDEST:
        return UntrustedText(before), UntrustedText(after)
    sides: tuple[list[str], list[str]] = ([], [])
    parts = list(_parts(before, after))
    for number, (was, now) in enumerate(parts):
        is_equal = was == now
        for side, text in zip(sides, (was, now), strict=True):
            side.append(_shortened(text, number > 0, number < len(parts) - 1) if is_equal else text)
    first, second = ("".join(side) for side in sides)
    return UntrustedText(_cut(first, _MOST_OF_A_SIDE)), UntrustedText(_cut(second, _MOST_OF_A_SIDE))


def _looks(text: str) -> str:
    """A text as people see it: without characters that can't be seen, and with one of those that look alike."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_ALIKE)
    return " ".join(_UNSEEN.sub("", text).split())


def _told_apart(old: str, new: str) -> tuple[str, str]:
    """Escape the characters by which two texts that look alike differ; blanks as well where only these do."""
    with_blanks = old.replace(" ", "") == new.replace(" ", "")
    sides: tuple[list[str], list[str]] = ([], [])
    for both in _parts(old, new):
        for side, text in zip(sides, both, strict=True):
            side += text if both[0] == both[1] else (_escaped(char, with_blanks) for char in text)
    return "".join(sides[0]), "".join(sides[1])


def _escaped(char: str, is_blank_shown: bool) -> str:
    if char.isascii() and char.isprintable() and not (char == " " and is_blank_shown):
        return char
    return _SHORT_ESCAPES.get(char) or (f"\\u{ord(char):04x}" if ord(char) <= _MOST_IN_SHORT else f"\\U{ord(char):08x}")


def contrasted_lists(
    old: Sequence[str], new: Sequence[str]
) -> tuple[tuple[UntrustedText, ...], tuple[UntrustedText, ...]]:
    """Show the texts that only one side has; each that resembles one of the other side is contrasted with it."""
    left = dict(enumerate(new))
    after: dict[int, UntrustedText] = {}
    before: list[UntrustedText] = []
    for number, was in enumerate(old):
        alike = left if len(old) * len(new) <= _MOST_PAIRS else {number: left[number]} if number in left else {}
        best = max(alike, key=lambda at: (common_start(was[:_WIDEST], left[at][:_WIDEST]), -at), default=None)
        if best is None:
            before.append(shown(was, _MOST_OF_A_SIDE))
            continue
        text, after[best] = contrasted(was, left.pop(best))
        before.append(text)
    return tuple(before), tuple(after.get(at) or shown(now, _MOST_OF_A_SIDE) for at, now in enumerate(new))


def _shortened(text: str, follows: bool, leads: bool) -> str:
    """Shorten an equal part; `follows` and `leads` say whether a difference is before it and behind it."""
    head, tail = text[: _AROUND * follows], text[len(text) - _AROUND * leads :]
    return text if len(text) <= len(head) + len(tail) + _AROUND else f"{head}…{tail}"


def _parts(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Split two texts into parts that are equal and parts that differ, in turn as far as there are both.

    Between a common beginning and a common end, words that each side has once tell equal parts apart. That needs no
    more than sorting, however hostile the texts are.
    """
    start = common_start(old, new)
    end = common_start(old[start:][::-1], new[start:][::-1])
    yield from [(old[:start],) * 2] if start else []
    yield from _joined(_between(old[start : len(old) - end], new[start : len(new) - end]))
    yield from [(old[len(old) - end :],) * 2] if end else []


def common_start(old: str, new: str) -> int:
    """Count the characters that two texts begin with alike."""
    shorter = min(len(old), len(new))
    return next((number for number in range(shorter) if old[number] != new[number]), shorter)


def _between(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Split two texts at the words that each has once and that both have in the same order."""
    words, others = ([(match[0], match.start()) for match in _WORD.finditer(text)] for text in (old, new))
    once = _once(words) & _once(others)
    places = dict(others)
    shared = [(at, places[word], word) for word, at in words if word in once]
    was_at = now_at = 0
    for was, now, word in _rising(shared):
        yield old[was_at:was], new[now_at:now]
        yield word, word
        was_at, now_at = was + len(word), now + len(word)
    yield old[was_at:], new[now_at:]


def _once(words: Iterable[tuple[str, int]]) -> frozenset[str]:
    """Choose the words that are there once."""
    return frozenset(word for word, count in Counter(word for word, _ in words).items() if count == 1)


def _rising(shared: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Choose the most of some places whose second numbers rise; the first ones do already."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, now, _) in enumerate(shared):
        length = bisect_left(ends, now)
        ends[length : length + 1] = [now]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    chosen: list[tuple[int, int, str]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chosen.append(shared[at])
        at = before[at]
    return chosen[::-1]


def _joined(parts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join neighbours that are both equal, or both different; a short equal part belongs to what is around it."""
    runs: list[tuple[bool, list[tuple[str, str]]]] = []
    for is_equal, run in groupby(filter(any, parts), key=lambda part: part[0] == part[1]):
        pieces = list(run)
        is_short = sum(len(was) for was, _ in pieces) <= 2 * _AROUND
        if runs and not runs[-1][0] and (not is_equal or is_short):
            runs[-1][1].extend(pieces)
        else:
            runs.append((is_equal, pieces))
    for _, pieces in runs:
        yield "".join(was for was, _ in pieces), "".join(now for _, now in pieces)


def changed(old: Any, new: Any) -> Message:
    """Show how a value changes: both sides with an arrow between them."""
    before, after = contrasted(old, new)
    return (before, " → ", after)


def from_to(old: object, new: object) -> Message:
    """The end of a message about a value: what it was, and what it is."""
    if old is ABSENT:
        return (": ", shown(new), " (new)")
    if new is ABSENT:
        return (" is removed; it was ", shown(old))
    return (": ", *changed(old, new))


def joined(texts: Iterable[UntrustedText]) -> Message:
    """Write texts one after the other, with commas."""
    return tuple(piece for number, text in enumerate(texts) for piece in ((", ", text) if number else (text,)))


def listed(values: Sequence[str], most: int | None = None, further: int = 0) -> Message:
    """Values one after the other, with commas; no more than `most` of them, which there must be if there are `further`
    ones beside them."""
    pieces: list[str | UntrustedText] = []
    for value in values[:most]:
        pieces += [", ", shown(value)] if pieces else [shown(value)]
    if most is not None and len(values) > most:
        pieces.append(f" and {len(values) - most + further} more")
    return tuple(pieces)


def in_places(paths: Sequence[str]) -> Message:
    """Return where something is: the paths if they are few, else the fields above them and how many more places there
    are.

    >>> plain(in_places(["spec.pd.limits{}", "spec.tidb.limits{}"]))
    'spec.pd.limits{}, spec.tidb.limits{}'
    """
    if len(paths) <= _FEW_PLACES or sum(map(len, paths)) <= _WIDEST // 2:
        return listed(paths)
    above = dict.fromkeys(paths)
    for depth in range(1, _DEEPEST):
        above = dict.fromkeys(".".join(path.split(".")[:depth]) for path in paths)
        if len(above) > 1:
            break
    first = list(above)[:_FEW_PLACES]
    if len(first) == 1 or sum(map(len, first)) > _WIDEST:
        return (shown(paths[0]), f" and {len(paths) - 1} more places")
    return (*listed(first), f" and {len(paths) - len(first)} more places")


def plain(message: Message) -> str:
    """A message without any markup, fit for a terminal."""
    return "".join(clean(piece.text) if isinstance(piece, UntrustedText) else piece for piece in message)


_MOST = 6


@change_kind("CrdAdded", ChangeGroup.CRDS, ADDED)
def crd_added() -> Judgement:
    """A CRD that only the new side has."""
    return CHANGE, ("new",)


@change_kind("CrdRemoved", ChangeGroup.CRDS, REMOVED)
def crd_removed(deleted: bool) -> Judgement:
    """A CRD that only the old side has; if it is deleted, so are all of its objects. `deleted`: a ClusterExtension had
    it, and takes it along (R-V1-UN-1)."""
    if deleted:
        return BREAKING, ("is removed, and all of its objects with it: OLM v1 deletes what a ClusterExtension has",)
    return BREAKING, ("is removed: deleting it deletes all of its objects (OLM leaves it, pruning does not)",)


@change_kind("ScopeChanged", ChangeGroup.CRDS, CHANGED)
def scope_changed(old: str, new: str) -> Judgement:
    """Namespaced becomes Cluster, or the other way around; the API server refuses that."""
    return BREAKING, ("scope: ", *changed(old, new), ", which the API server refuses")


@change_kind("NameChanged", ChangeGroup.CRDS, CHANGED)
def name_changed(field: str, old: str, new: str) -> Judgement:
    """Another kind, listKind, plural or singular."""
    severity = CHANGE if field in ("singular", "listKind") else BREAKING
    return severity, (f"{field}: ", *changed(old, new))


@change_kind("VersionAdded", ChangeGroup.CRDS, ADDED)
def version_added(version: str) -> Judgement:
    """A version that only the new side has."""
    return CHANGE, ("new version ", shown(version))


@change_kind("VersionRemoved", ChangeGroup.CRDS, REMOVED)
def version_removed(version: str, served: bool, stored: bool) -> Judgement:
    """A version that only the old side has; `served` and `stored` are what it was there."""
    migration = ": objects are stored in it, so OLM refuses the upgrade until they are migrated" if stored else ""
    return BREAKING if served or stored else CHANGE, ("version ", shown(version), " is removed", migration)


@change_kind("VersionServed", ChangeGroup.CRDS, ADDED)
def version_served(version: str) -> Judgement:
    """A version that is served from now on."""
    return CHANGE, ("version ", shown(version), " is served from now on")


@change_kind("VersionUnserved", ChangeGroup.CRDS, REMOVED)
def version_unserved(version: str) -> Judgement:
    """A version that is not served any more: requests for it fail."""
    return BREAKING, ("version ", shown(version), " is no longer served")


@change_kind("StoredVersionChanged", ChangeGroup.CRDS, CHANGED)
def stored_version_changed(old: str, new: str, lost: tuple[str, ...], severity: Severity) -> Judgement:
    """Objects are stored in another version from now on; `lost` are the fields that it neither has nor gets."""
    start: Message = ("stored version: ", *changed(old, new))
    if not lost:
        return severity, start
    fields: Message = ("; without a conversion webhook objects lose ", *listed(lost, _MOST))
    return severity, (*start, *fields, ", which ", shown(new), " does not have")


@change_kind("VersionLossy", ChangeGroup.CRDS, CHANGED)
def version_lossy(version: str, stored: str, lost: tuple[str, ...]) -> Judgement:
    """A served version that lacks fields of the stored one from now on: who writes in it deletes them."""
    start: Message = ("version ", shown(version), " lacks ", *listed(lost, _MOST), " of ", shown(stored))
    return RISK, (*start, ": without a conversion webhook, writing an object in it drops them")


@change_kind("ConversionChanged", ChangeGroup.CRDS, CHANGED)
def conversion_changed(old: str, new: str, needed: bool) -> Judgement:
    """Another conversion strategy; `needed`: several versions with different schemas are served."""
    return BREAKING if new != "Webhook" and needed else CHANGE, ("conversion: ", *changed(old, new))


@change_kind("ConversionWebhookChanged", ChangeGroup.CRDS)
def conversion_webhook_changed(path: str, old: Any, new: Any) -> Judgement:
    """Return where objects are sent that are asked for in another version: a URL, or a service of the cluster."""
    # A service that comes with the strategy is how operators convert; one that was another before is no longer theirs.
    severity = CHANGE if new is ABSENT or (old is ABSENT and "url" not in path) else RISK
    return severity, (shown(path), *from_to(old, new), "; objects are sent there to be converted")


@change_kind("CrdFieldChanged", ChangeGroup.CRDS)
def crd_field_changed(path: str, old: Any, new: Any) -> Judgement:
    """Any other field of a CRD: short names, categories, printer columns, subresources, selectable fields, labels."""
    is_used = any(field in path for field in ("subresources", "selectableFields"))
    return RISK if new is ABSENT and is_used else NOTE, (shown(path), *from_to(old, new))


@change_kind("PruningChanged", ChangeGroup.CRDS, CHANGED)
def pruning_changed(kept: bool) -> Judgement:
    """Return whether fields that no schema names are kept, in all versions (spec.preserveUnknownFields)."""
    effect = "kept" if kept else "dropped when an object is written"
    return CHANGE if kept else RISK, (f"spec.preserveUnknownFields: fields that the schemas do not name are {effect}",)


# The schema of a version.


@change_kind("PropertyAdded", ChangeGroup.CRDS, ADDED)
def property_added(version: str, path: str, required: bool, severity: Severity) -> Judgement:
    """A field that objects may have from now on, or must."""
    refused = ": objects without it are refused" if severity is BREAKING else ""
    return severity, (*_place(version, path), f" is new and required{refused}" if required else " is new")


@change_kind("PropertyRemoved", ChangeGroup.CRDS, REMOVED)
def property_removed(
    version: str, path: str, kept_in: tuple[str, ...], tolerated: bool, severity: Severity
) -> Judgement:
    """A field that the schema does not have any more.

    `kept_in` are other served versions that still have it, to which a conversion webhook leads; `tolerated`: unknown
    fields are let through there.
    """
    start: Message = (*_place(version, path), " is removed")
    if kept_in:
        return severity, (*start, "; the conversion webhook may keep it in ", *listed(kept_in))
    return severity, (*start, "; unknown fields are kept there" if tolerated else "; stored values are dropped")


@change_kind("TypeChanged", ChangeGroup.CRDS, CHANGED)
def type_changed(version: str, path: str, old: str, new: str, severity: Severity) -> Judgement:
    """Another type; `anything` and `nothing` stand for schemas without one."""
    return severity, (*_place(version, path), " has another type: ", *changed(old, new))


@change_kind("RequiredAdded", ChangeGroup.CRDS, CHANGED)
def required_added(version: str, path: str, has_default: bool, severity: Severity) -> Judgement:
    """A field that objects could do without so far."""
    default = " (it has a default)" if has_default else ""
    return severity, (*_place(version, path), f" is required from now on{default}")


@change_kind("RequiredRemoved", ChangeGroup.CRDS, CHANGED)
def required_removed(version: str, path: str) -> Judgement:
    """A field that objects had to have so far."""
    return CHANGE, (*_place(version, path), " is no longer required")


@change_kind("EnumChanged", ChangeGroup.CRDS, CHANGED)
def enum_changed(
    version: str, path: str, added: tuple[str, ...], removed: tuple[str, ...], was_open: bool, is_open: bool,
    severity: Severity,
) -> Judgement:  # fmt: skip
    """Other values are allowed; `was_open`, `is_open`: any value was, or is."""
    place = _place(version, path)
    if is_open:
        return severity, (*place, " allows any value")
    if was_open:
        return severity, (*place, " allows only ", *listed(added))
    less: Message = (" no longer allows ", *listed(removed)) if removed else ()
    more: Message = (" and" if removed else "", " allows ", *listed(added)) if added else ()
    return severity, (*place, *less, *more)


@change_kind("BoundChanged", ChangeGroup.CRDS)
def bound_changed(version: str, path: str, keyword: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another limit: minimum, maxLength, uniqueItems and their like."""
    return severity, (*_place(version, path), f" {keyword}", *from_to(old, new))


@change_kind("PatternChanged", ChangeGroup.CRDS)
def pattern_changed(version: str, path: str, keyword: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another pattern or format; which of two patterns accepts more texts is unknown."""
    return severity, (*_place(version, path), f" {keyword}", *from_to(old, new))


@change_kind("DefaultChanged", ChangeGroup.CRDS)
def default_changed(version: str, path: str, old: Any, new: Any, severity: Severity) -> Judgement:
    """Another default: objects that leave the field out mean something else from now on."""
    return severity, (*_place(version, path), " default", *from_to(old, new))


@change_kind("ValidationAdded", ChangeGroup.CRDS, ADDED)
def validation_added(version: str, path: str, rule: str, message: str, obeyed: bool, severity: Severity) -> Judgement:
    """A CEL rule that objects have to satisfy from now on; `obeyed`: all that were valid before do."""
    reason: Message = (" (", shown(message), ")") if message else ()
    so_far = ", as all objects so far do" if obeyed else ""
    return severity, (*_place(version, path), " has to obey ", shown(rule), *reason, so_far)


@change_kind("ValidationRemoved", ChangeGroup.CRDS, REMOVED)
def validation_removed(version: str, path: str, rule: str) -> Judgement:
    """A CEL rule that objects need not satisfy any more."""
    return CHANGE, (*_place(version, path), " need not obey ", shown(rule), " any more")


@change_kind("KeywordChanged", ChangeGroup.CRDS)
def keyword_changed(
    version: str, paths: tuple[str, ...], keyword: str, old: Any, new: Any, severity: Severity
) -> Judgement:
    """Another keyword: combinations (allOf …), nullable, the kind of a list or map; the same at all of these places."""
    others = len(paths) - 1
    more = f" and {others} more place{'s' * (others != 1)}" if others else ""
    return severity, (*_place(version, paths[0]), f"{more} {keyword}", *from_to(old, new))


@change_kind("ConstraintsImplied", ChangeGroup.CRDS, CHANGED)
def constraints_implied(version: str, paths: tuple[str, ...], types: tuple[str, ...]) -> Judgement:
    """Constraints that types of Kubernetes imply and that the schema did not state; the operator always decoded the
    fields at `paths` as these types, so objects that worked satisfy them."""
    places = f"{len(paths)} place{'s' * (len(paths) != 1)}"
    start: Message = (shown(version), f" now states the types of Kubernetes in {places} (", *listed(types, _MOST), ")")
    return CHANGE, (*start, ", which working objects satisfy: ", *in_places(paths))


@change_kind("UnknownFieldsChanged", ChangeGroup.CRDS, CHANGED)
def unknown_fields_changed(version: str, path: str, kept: bool, severity: Severity) -> Judgement:
    """Fields that the schema doesn't name are kept from now on, or dropped."""
    return severity, (*_place(version, path), f" {'keeps' if kept else 'drops'} fields that the schema does not name")


def _place(version: str, path: str) -> Message:
    return (shown(version), " ", shown(path or "the whole object"))


# The kinds of changes of Deployments and other workloads, and of images: those of containers, of variables that name
# images, and the related images of CSVs.

_REFERENCE = regex(r"(.*?)((?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@[a-z0-9]+:[0-9a-f]+)?)", re.DOTALL)
_MOST_PLACES = 12
_DIGEST = regex(r"(@[a-z0-9]+:[0-9a-f]{12})[0-9a-f]+")


@change_kind("ImageChanged", ChangeGroup.IMAGES, CHANGED)
def image_changed(places: tuple[str, ...], old: str, new: str) -> Judgement:
    """Another image; `places` are all that had the one and have the other: containers, variables, related images."""
    (old_name, old_version), (new_name, new_version) = _parts_of_both(old, new)
    doubts = doubts_about(old, new)
    severity = RISK if doubts else CHANGE
    if not doubts and old_name != new_name:
        doubts = ("from another repository",)
    remark = "".join(f"; {doubt}" for doubt in doubts)
    if old_name == new_name and old_version and new_version:
        versions = (UntrustedText(old_version), " → ", UntrustedText(new_version))
        return severity, (*listed(places), ": ", UntrustedText(old_name), " ", *versions, remark)
    return severity, (*listed(places), ": ", *changed(old_name + old_version, new_name + new_version), remark)


@change_kind("ImageAdded", ChangeGroup.IMAGES, ADDED)
def image_added(place: str, image: str, is_foreign: bool = False) -> Judgement:
    """An image for a place that the old side does not have; `is_foreign`: no image of the old side is from its
    registry."""
    origin = ", from a registry that no image came from before" * is_foreign
    return RISK if is_foreign else CHANGE, (shown(place), ": ", _short(image), " (new)", origin)


@change_kind("ImageRemoved", ChangeGroup.IMAGES, REMOVED)
def image_removed(place: str, image: str) -> Judgement:
    """An image of a place that the new side does not have."""
    return NOTE, (shown(place), " is removed; it was ", _short(image))


def _parts_of_workload_kinds(image: str) -> tuple[str, str]:
    """The name of an image, and its tag and digest; of a digest the part by which people know it."""
    match = _REFERENCE.fullmatch(image)
    name, version = match.groups() if match is not None else (image, "")
    return name, _DIGEST.sub(r"\1", version)


def _parts_of_both(old: str, new: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Split two images; where their digests begin alike, keep them whole, so that both sides differ."""
    short = _parts_of_workload_kinds(old), _parts_of_workload_kinds(new)
    if short[0] != short[1]:
        return short
    before, after = (_REFERENCE.fullmatch(image) for image in (old, new))
    if before is None or after is None:
        return short
    return (before[1], before[2]), (after[1], after[2])


def image_name(image: str) -> str:
    """An image without its tag and its digest."""
    return _parts_of_workload_kinds(image)[0]


def _short(image: str) -> UntrustedText:
    return UntrustedText("".join(_parts_of_workload_kinds(image)))


@change_kind("WorkloadAdded", ChangeGroup.DEPLOYMENTS, ADDED)
def workload_added(
    images: tuple[str, ...], account: str, dangers: tuple[str, ...], had: tuple[str, ...] = ()
) -> Judgement:  # fmt: skip
    """A workload that only the new side runs: its images and its ServiceAccount; `dangers` are the settings by which
    its pods may do more than others, `had` those of what the account might do before."""
    runs: Message = (": runs ", *joined(map(_short, images[:_MOST_PLACES]))) if images else ()
    rights: Message = (", which already had rights: ", *listed(had, _MOST_PLACES)) if had else ()
    severity = RISK if dangers or had else CHANGE
    return severity, ("new", *runs, " as ServiceAccount ", shown(account), *rights, *_warning(dangers))


@change_kind("WorkloadRemoved", ChangeGroup.DEPLOYMENTS, REMOVED)
def workload_removed() -> Judgement:
    """A workload that only the old side has."""
    return CHANGE, ("removed",)


@change_kind("WorkloadReplaced", ChangeGroup.DEPLOYMENTS, CHANGED)
def workload_replaced(old: str) -> Judgement:
    """A workload under another name that takes the place of one that the new side does not have."""
    return CHANGE, ("has a new name: ", shown(old), " is removed, and this takes its place")


@change_kind("ContainerAdded", ChangeGroup.DEPLOYMENTS, ADDED)
def container_added(container: str, init: bool, dangers: tuple[str, ...]) -> Judgement:
    """A container that the old side does not have; the images have its image. `dangers` are those of WorkloadAdded."""
    return RISK if dangers else CHANGE, (
        f"new {'init ' * init}container ", shown(container), *_warning(dangers)
    )  # fmt: skip


def _warning(dangers: tuple[str, ...]) -> Message:
    return ("; it may do more than others: ", *listed(dangers, _MOST_PLACES)) if dangers else ()


@change_kind("ContainerRenamed", ChangeGroup.DEPLOYMENTS, CHANGED)
def container_renamed(container: str, old: str) -> Judgement:
    """A container under another name that takes the place of one that the new side does not have."""
    return NOTE, ("container ", shown(container), " has a new name; it was ", shown(old))


@change_kind("AccountChanged", ChangeGroup.DEPLOYMENTS, CHANGED)
def account_changed(old: str, new: str, gained: tuple[str, ...]) -> Judgement:
    """Another ServiceAccount that pods run as; `default` is that of all pods of the namespace that name none.

    `gained` are the dangers of what the pods may do by it and might not before.
    """
    names: Message = ("runs as ServiceAccount ", shown(new), " instead of ", shown(old))
    if new == "default":
        names = (*names, ": every pod of the namespace that names no other has its permissions")
    more: Message = ("; it may do more: ", *listed(gained, _MOST_PLACES)) if gained else ()
    return RISK if gained or new == "default" else CHANGE, (*names, *more)


@change_kind("ContainerRemoved", ChangeGroup.DEPLOYMENTS, REMOVED)
def container_removed(container: str) -> Judgement:
    """A container that the new side does not have."""
    return CHANGE, ("container ", shown(container), " is removed")


@change_kind("EnvironmentChanged", ChangeGroup.DEPLOYMENTS)
def environment_changed(container: str, variable: str, old: Any, new: Any) -> Judgement:
    """A variable of a container's environment; a value from elsewhere is the mapping that names its source."""
    return CHANGE, (shown(container), ": variable ", shown(variable), *from_to(old, new))


@change_kind("ArgumentsChanged", ChangeGroup.DEPLOYMENTS, CHANGED)
def arguments_changed(container: str, field: str, added: tuple[str, ...], removed: tuple[str, ...]) -> Judgement:
    """The command or the arguments of a container: what comes and what goes; neither if only the order is another."""
    start: Message = (shown(container), f": {field}")
    if not added and not removed:
        return CHANGE, (*start, " in another order")
    dropped, come = contrasted_lists(removed, added)
    less: Message = (" without ", *joined(dropped), "," if added else "") if removed else ()
    return CHANGE, (*start, *less, *((" with ", *joined(come)) if added else ()))


@change_kind("ResourcesChanged", ChangeGroup.DEPLOYMENTS)
def resources_changed(container: str, what: str, old: Any, new: Any) -> Judgement:
    """A limit or a request of a container; `what` as `limits.memory`."""
    return CHANGE, (shown(container), ": ", shown(what), *from_to(old, new))


@change_kind("SecurityChanged", ChangeGroup.DEPLOYMENTS)
def security_changed(path: str, old: Any, new: Any, loosened: bool) -> Judgement:
    """A setting that decides what a pod may do to its node; `loosened` if it may do more than before."""
    warning = ("; the pod may do more than before",) if loosened else ()
    return RISK if loosened else CHANGE, (shown(path), *from_to(old, new), *warning)
