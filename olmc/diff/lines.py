"""Changes as the lines of a review: what breaks first, then the risks, then the rest by what it is about.

Changes that are alike are one line, which says how many they are: of one object, or of several of one kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from olmc.diff import crd_kinds, object_kinds, permission_kinds, workload_kinds
from olmc.diff.change import (
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    RISK,
    ChangeGroup,
    ChangeType,
    DiffChange,
    Message,
    from_to,
    listed,
    shown,
)
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Severity
from olmc.model.objects import ObjectKey
from olmc.rbac_report.risks import Level

_MOST = 6
_PLACES = 3
_ALONE = 1
_FEW = 3


class ChangeLine(NamedTuple):
    """A line: a change, or `total` that are alike; of permissions with the level of the most dangerous."""

    type: ChangeType
    severity: Severity
    message: Message
    total: int
    level: Level = Level.NONE


class LineGroup(NamedTuple):
    """The lines of an object, or those that several objects of one kind have in common."""

    objects: tuple[ObjectKey, ...]
    lines: tuple[ChangeLine, ...]


class ReviewSection(NamedTuple):
    """A heading with its changes; `name` is that of a severity or of a group, behind `later-` or `kept-`."""

    name: str
    heading: str
    changes: tuple[DiffChange, ...]

    @property
    def topic(self) -> str:
        """The severity or the group, whenever it comes."""
        return self.name.rpartition("-")[2]


def review_sections(changes: Sequence[DiffChange]) -> list[ReviewSection]:
    """What breaks and the risks of all groups, then the rest by group; no section is empty.

    What comes only after an approval is behind all that, and last what is kept back.
    """
    now = _sections([change for change in changes if not (change.later or change.kept_back)])
    later = _sections([change for change in changes if change.later])
    kept = _sections([change for change in changes if change.kept_back])
    return [
        *now,
        *(ReviewSection(f"later-{name}", f"After approval: {text}", of) for name, text, of in later),
        *(ReviewSection(f"kept-{name}", f"Kept back: {text}", of) for name, text, of in kept),
    ]


def _sections(changes: Sequence[DiffChange]) -> list[ReviewSection]:
    sections = [
        ReviewSection("breaking", "Breaking", tuple(change for change in changes if change.severity is BREAKING)),
        ReviewSection("risk", "Risks", tuple(change for change in changes if change.severity is RISK)),
    ]
    for group in ChangeGroup:
        rest = tuple(change for change in changes if change.group is group and change.severity <= CHANGE)
        sections.append(ReviewSection(group.value, group.heading, rest))
    return [section for section in sections if section.changes]


def line_groups(changes: Iterable[DiffChange], most: int | None = _MOST) -> list[LineGroup]:
    """Changes as lines by object, in their order; of what is listed in a line at most `most` (None: everything)."""
    changes = list(changes)
    alike: dict[Hashable, list[DiffChange]] = {}
    common = Counter((change.identity.kind, change.message) for change in changes)
    places = Counter(_place(change) for change in changes if change.kind in _BY_PLACE)
    sharing: dict[tuple[str, Message], list[ObjectKey]] = {}
    for change in filter(_is_new_field, changes):
        sharing.setdefault((change.identity.kind, change.message), []).append(change.identity)
    for change in changes:
        name = (change.identity.kind, change.message)
        key: tuple[Hashable, ...] = (change.kind.name, repr(change.message))
        if common[name] < _FEW:
            key = _key(change, places)
        elif name in sharing:
            # Which fields are new in the same objects is one thing to say, however many there are.
            key = (change.kind.name, change.values["version"], *sharing[name])
        alike.setdefault((change.identity.kind, change.identity.group, change.severity, *key), []).append(change)
    groups: dict[tuple[ObjectKey, ...], list[ChangeLine]] = {}
    for same in alike.values():
        objects = tuple(dict.fromkeys(change.identity for change in same))
        lines = groups.setdefault(objects, [])
        if same[0].kind in _OF_FIELDS and len(same) < _FEW and len(objects) == _ALONE:
            lines += (_line([change], most) for change in same)
        else:
            lines.append(_line(same, most))
    return [LineGroup(objects, tuple(lines)) for objects, lines in groups.items()]


def _place(change: DiffChange) -> tuple[Hashable, ...]:
    """A field by its last name, and what happens to it, wherever it is."""
    end = (_last(change.values["path"]), repr(change.message[_AFTER_PLACE:]))
    return (change.kind.name, change.type, change.severity, change.identity.kind, *end)


def _key(change: DiffChange, places: Counter[tuple[Hashable, ...]]) -> tuple[Hashable, ...]:
    """What changes of one line have in common; `places` says how often there is a field like one in a schema."""
    base: tuple[Hashable, ...] = (change.kind.name, change.type, change.severity)
    values = change.values
    if _is_new_field(change):
        # Of one object: which fields are new is what tells its versions apart.
        return (*base, change.identity, values["version"])
    if change.kind in _BY_PLACE:
        if places[_place(change)] > _ALONE:
            return _place(change)
        return (*base, change.identity, values["version"], repr(change.message[_AFTER_PLACE:]))
    if change.kind is workload_kinds.environment_changed:
        return (*base, change.identity, values["container"], repr(values["old"]), repr(values["new"]))
    if change.kind in _OF_RULES and not values["rule"].urls and change.severity <= CHANGE:
        return (*base, change.identity, values["scope"], values.get("moved_from", ""))
    if change.kind in _OF_FIELDS and change.severity is NOTE:
        return (change.kind.name, change.severity, change.identity)
    return (*base, repr(change.message))


_AFTER_PLACE = 3
"""How many pieces of a message about a schema say where it is."""

_BY_PLACE = (
    crd_kinds.property_added,
    crd_kinds.property_removed,
    crd_kinds.type_changed,
    crd_kinds.required_added,
    crd_kinds.required_removed,
    crd_kinds.enum_changed,
    crd_kinds.bound_changed,
    crd_kinds.pattern_changed,
    crd_kinds.default_changed,
    crd_kinds.validation_added,
    crd_kinds.validation_removed,
    crd_kinds.unknown_fields_changed,
)
_OF_FIELDS = (object_kinds.field_changed, crd_kinds.crd_field_changed)
_OF_RULES = (permission_kinds.permission_gained, permission_kinds.permission_lost)


def _is_new_field(change: DiffChange) -> bool:
    return change.kind is crd_kinds.property_added and not change.values["required"]


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _line(alike: Sequence[DiffChange], most: int | None) -> ChangeLine:
    first = alike[0]
    message = first.message if len(alike) == _ALONE else _joined(alike, most)
    types = {change.type for change in alike}
    level = max(map(_level, alike))
    return ChangeLine(first.type if len(types) == _ALONE else CHANGED, first.severity, message, len(alike), level)


def _level(change: DiffChange) -> Level:
    if change.kind not in (permission_kinds.permission_gained, permission_kinds.permissions_gained):
        return Level.NONE
    return next(level for level in Level if str(level) == change.values["level"])


def _joined(alike: Sequence[DiffChange], most: int | None) -> Message:
    first = alike[0]
    count = f"{len(alike)} × "
    if _is_new_field(first):
        paths = list(dict.fromkeys(change.values["path"] for change in alike))
        if len(paths) == _ALONE:
            return first.message
        return (shown(first.values["version"]), f" has {len(paths)} new fields: ", *listed(paths, most))
    if first.kind in _BY_PLACE:
        places = list(dict.fromkeys(change.values["path"] for change in alike))
        ends = {_last(place) for place in places}
        several: Message = (f"{len(places)} fields, each",)
        start = (count, shown(ends.pop() or "the whole object")) if len(ends) == _ALONE else several
        # Where it is hardly matters for what breaks nobody.
        shortened = _PLACES if most is not None and first.severity < RISK else most
        return (*start, *first.message[_AFTER_PLACE:], "; at ", *listed(places, shortened))
    if first.kind is workload_kinds.environment_changed:
        names = [change.values["variable"] for change in alike]
        change = from_to(first.values["old"], first.values["new"])
        return (shown(first.values["container"]), ": variables ", *listed(names, most), *change)
    if first.kind in _OF_RULES and len({change.message for change in alike}) > 1:
        return permission_kinds.joined_message([change.values["rule"] for change in alike], first, most)
    if first.kind in _OF_FIELDS and len({change.message for change in alike}) > 1:
        return (f"{len(alike)} other fields: ", *listed([change.values["path"] for change in alike], most))
    return first.message
