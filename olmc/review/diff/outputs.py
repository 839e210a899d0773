"""The lines of a difference, as Markdown for comments on pull requests, and as JSON for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from olmc.compiler.output.document import (
    LIMIT,
    Group,
    OutputDocument,
    PageItem,
    Section,
    code,
    details,
    escaped,
    within,
)
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import ObjectKey
from olmc.review.diff import crd_kinds, object_kinds
from olmc.review.diff import crd_kinds as workload_kinds
from olmc.review.diff import webhooks as permission_kinds
from olmc.review.diff.compare import Difference
from olmc.review.diff.crd_kinds import (
    ABSENT,
    BREAKING,
    CHANGE,
    CHANGED,
    NOTE,
    RISK,
    SEVERITY_WORDS,
    ChangeGroup,
    ChangeType,
    DiffChange,
    Message,
    UntrustedText,
    from_to,
    listed,
    plain,
    shown,
)
from olmc.review.diff.operators import unseen_operators
from olmc.review.diff.version_kinds import operator_upgraded
from olmc.review.rbac.risks import Level

# Changes as the lines of a review: what breaks first, then the risks, then the rest by what it is about.
#
# Changes that are alike are one line, which says how many they are: of one object, or of several of one kind.

_MOST = 6
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
    """Return the breaking changes and the risks of all groups, then the rest by group; no section is empty.

    The changes after an approval come next, and the withheld ones last.
    """
    now = _line_sections([change for change in changes if not (change.later or change.kept_back)])
    later = _line_sections([change for change in changes if change.later])
    kept = _line_sections([change for change in changes if change.kept_back])
    return [
        *now,
        *(ReviewSection(f"later-{name}", f"After approval: {text}", of) for name, text, of in later),
        *(ReviewSection(f"kept-{name}", f"Kept back: {text}", of) for name, text, of in kept),
    ]


def _line_sections(changes: Sequence[DiffChange]) -> list[ReviewSection]:
    sections = [
        ReviewSection("breaking", "Breaking", tuple(change for change in changes if change.severity is BREAKING)),
        ReviewSection(
            "risk", "Risks", tuple(sorted((change for change in changes if change.severity is RISK), key=_danger))
        ),
    ]
    for group in sorted(ChangeGroup, key=lambda group: group is not ChangeGroup.VERSIONS):
        rest = tuple(change for change in changes if change.group is group and change.severity <= CHANGE)
        sections.append(ReviewSection(group.value, group.heading, rest))
    return [section for section in sections if section.changes]


def _danger(change: DiffChange) -> int:
    """Return a key that sorts dangerous permissions before other risks, the most severe first."""
    return -max(_level(change), Level.MEDIUM)


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
    """Return the common key of changes in one line; `places` counts the places of a similar field in a schema."""
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
"""The number of the pieces of a message about a schema that name its place."""

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
        where = listed(places) if most is None else crd_kinds.in_places(places)
        return (*start, *first.message[_AFTER_PLACE:], "; at ", *where)
    if first.kind is workload_kinds.environment_changed:
        names = [change.values["variable"] for change in alike]
        change = from_to(first.values["old"], first.values["new"])
        return (shown(first.values["container"]), ": variables ", *listed(names, most), *change)
    if first.kind in _OF_RULES and len({change.message for change in alike}) > 1:
        return permission_kinds.joined_message([change.values["rule"] for change in alike], first, most)
    if first.kind in _OF_FIELDS and len({change.message for change in alike}) > 1:
        return (f"{len(alike)} other fields: ", *listed([change.values["path"] for change in alike], most))
    return first.message


# The verdict: the first line of a difference in every format.

_PACKAGE_WIDTH, _VERSION_WIDTH, _MOST_ADVICE = 48, 30, 2
_OF_CRDS = "compare your objects with the new schemas"
_ADVICE: Mapping[str, str] = {
    "PhaseChanged": "make the new version work",
    "NotInstallable": "make the new version install",
    "ResolutionFails": "make the Subscription resolve",
    "PlanChanged": "make the InstallPlan succeed",
    "OperatorUpgraded": "find a way to this version",
    "OperatorRemoved": "check that the operator may go",
    "InstallModeRemoved": "check the targets of the OperatorGroup",
    "TargetsChanged": "check the targets of the OperatorGroup",
    "ImmutableChanged": "restore the immutable fields",
    "CrdRemoved": "save the objects of the removed CRDs",
    "VersionRemoved": "move objects and clients to another version",
    "VersionUnserved": "move clients to another version",
    "StoredVersionChanged": "save what objects lose",
    "PermissionGained": "check the new permissions",
    "PermissionsGained": "check the new permissions",
    "ImageChanged": "check where the images come from",
    "WebhookAdded": "check the webhooks",
    "WebhookChanged": "check the webhooks",
    "WebhookRemoved": "check the webhooks",
    "FailurePolicyChanged": "check the webhooks",
    "SecurityChanged": "check the privileges of the pods",
    "ApiAssumed": "install what it needs",
    "RequirementAdded": "install what it needs",
}
"""The tasks for changes of a kind; for others of CRDs `_OF_CRDS`, and for the rest to read them."""


def subject(difference: Difference) -> str:
    """Return the operator with both versions, long names cut; "" where not exactly one operator is upgraded."""
    upgrades = [change for change in difference.changes if change.kind is operator_upgraded and not change.later]
    if len(upgrades) != 1:
        return ""
    values = upgrades[0].values
    old, new = values["old_version"] or values["old"], values["new_version"] or values["new"]
    return clean(
        f"{_cut_end(values['package'], _PACKAGE_WIDTH)} {_cut_end(old, _VERSION_WIDTH)} → "
        f"{_cut_end(new, _VERSION_WIDTH)}"
    )


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def verdict(difference: Difference, space: int = 160, *, with_advice: bool = True) -> str:
    """Return the decision in about `space` characters: how much breaks, how much is a risk, and the way out."""
    count = len(difference.changes)
    grave = [change for change in difference.changes if change.severity >= RISK]
    if not count:
        return "no change"
    if not grave:
        counted = f"({count} change{'s' * (count != 1)})"
        unknown = len(unseen_operators(difference.new))
        if unknown:
            return f"{unknown} operator{'s are' if unknown > 1 else ' is'} unknown; no risk in the rest {counted}"
        return f"no action needed {counted}"
    breaking = [change for change in grave if change.severity is BREAKING]
    risks = [change for change in grave if change.severity is RISK]
    critical = [change for change in risks if _level(change) is Level.CRITICAL]
    parts = [_number(len(breaking), "breaking change"), _number(len(critical), "new critical permission")]
    others = len(risks) - len(critical)
    parts.append(_number(others, "more risk" if critical else "risk"))
    counts = ", ".join(part for part in parts if part)
    if not with_advice:
        return counts
    advice = list(dict.fromkeys(map(_advice, sorted(grave, key=lambda change: -change.severity))))
    start = f"{counts}; before you merge: "
    both = start + ", ".join(advice[:_MOST_ADVICE])
    return both if len(both) <= space else start + advice[0]


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}" if count else ""


def _advice(change: DiffChange) -> str:
    if change.kind.name in _ADVICE:
        return _ADVICE[change.kind.name]
    of_schema = change.group is ChangeGroup.CRDS and change.severity is BREAKING
    return _OF_CRDS if of_schema else "read the risks" if change.severity is RISK else "read what breaks"


FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/diff.schema.json`."""

CUT_NOTE = "\n> **{} changes do not fit into a comment** ({}). The same command with `-o json` has them all.\n"
"""The last lines of a comment that is too short for all changes."""

_OPEN_UP_TO = 12
_NAMED = 5
# Kind, namespace and name are no longer together.
_LONGEST_NAME = 400
_MARKS = {"breaking": "🛑 ", "risk": "⚠️ "}
_WEIGHTS = {"breaking": 12, "risk": 8}
"""The share of a section in a comment that is too short for all; all other sections get one share each."""
_UNDERSCORE = regex(r"_([a-z])")


def heading(objects: Sequence[ObjectKey], most: int = _NAMED) -> str:
    """The subject of lines: an object, or several of one kind."""
    first, *others = (_cut_name(str(known)) for known in objects[:most])
    kind = f"{objects[0].kind}/"
    named = ", ".join((first, *(name.removeprefix(kind) for name in others)))
    return f"{named} and {len(objects) - most} more" if len(objects) > most else named


def _cut_name(name: str) -> str:
    """A name that no object in a cluster can have would hide those beside it."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def summary(difference: Difference) -> str:
    """Return how many changes there are: `12 changes, 2 breaking, 1 risk`."""
    count = len(difference.changes)
    if not count:
        return "no change"
    breaking, risks = difference.count(BREAKING), difference.count(RISK)
    parts = [f"{count} change{'s' * (count != 1)}"]
    parts += [f"{breaking} breaking"] if breaking else []
    parts += [f"{risks} risk{'s' * (risks != 1)}"] if risks else []
    later = sum(change.later for change in difference.changes)
    parts += [f"{later} of them after approval"] if later else []
    kept = sum(change.kept_back for change in difference.changes)
    parts += [f"{kept} of them kept back"] if kept else []
    return ", ".join(parts)


def folded_text(difference: Difference) -> str:
    """Return the counts of differences without meaning: `folded: 24 copied CSVs, 2 InstallPlans`; "" for none."""
    parts = [f"{count} {_plural(what, count)}" for what, count in difference.folded.items()]
    return f"folded: {', '.join(parts)}" if parts else ""


def _plural(what: str, count: int) -> str:
    if count == 1:
        return what
    head, of, rest = what.partition(" of ")
    return "roles and bindings" if what == "role or binding" else f"{head}s{of}{rest}"


def as_markdown(difference: Difference, limit: int = LIMIT) -> str:
    """Return the verdict and the changes as lists: what breaks, the risks, then the rest by group.

    The text has at most `limit` characters. Where not all fits, each section has its share, the graver the larger, and
    says how much of it is left out; the last lines say how much that is in all.
    """
    sides = f"{code(difference.old.name)} → {code(difference.new.name)}"
    name = subject(difference)
    head = f"### {code(name) if name else sides}: {verdict(difference)}\n\n"
    counts = markdown_counts(difference)
    counts = f"{sides}: {counts}" if name and difference.changes else counts
    return within(OutputDocument(head + counts, markdown_sections(difference), CUT_NOTE), limit)


def markdown_counts(difference: Difference) -> str:
    """Return how many changes there are, by group, and what is folded, each in a paragraph; "" for nothing."""
    text = ""
    if difference.changes:
        counts = ((group.heading, len(difference.in_group(group))) for group in ChangeGroup)
        by_group = " · ".join(f"{heading}: {count}" for heading, count in counts if count)
        text = f"{summary(difference)} ({by_group})\n"
    aside = folded_text(difference)
    return f"{text}\n<sub>{escaped(aside)}</sub>\n" if aside else text


def markdown_sections(difference: Difference, weight: float = 1) -> tuple[Section, ...]:
    """Return the changes as sections that have `weight` in all; one that is neither grave nor short is folded."""
    sections = review_sections(difference.changes)
    weights = [_WEIGHTS.get(section.topic, 1) for section in sections]
    return tuple(
        _markdown_section(section, weight * share / sum(weights))
        for section, share in zip(sections, weights, strict=True)
    )


def _markdown_section(section: ReviewSection, weight: float) -> Section:
    """Return a section with an item a line, below the objects of the line."""
    name = f"{_MARKS.get(section.name.removeprefix('later-'), '')}{section.heading}"
    title = f"{name} ({len(section.changes)})"
    is_open = section.topic in _MARKS or len(section.changes) <= _OPEN_UP_TO
    head, end = (f"\n#### {title}\n\n", "") if is_open else details(f"<b>{title}</b>")
    groups = document_groups(
        line_groups(section.changes),
        lambda group: (f"- {code(heading(group.objects))}\n", [(_item(line), "") for line in group.lines]),
    )
    return Section(head, groups, "- … and {} more, left out\n", end, weight, name)


def _item(line: ChangeLine) -> str:
    sign = {"+": "➕", "-": "➖", "~": "✏️"}[line.type]
    return f"  - {sign} {marked(line.message)}\n"


def document_groups(
    groups: Sequence[LineGroup], texts: Callable[[LineGroup], tuple[str, Sequence[tuple[str, str]]]]
) -> tuple[Group, ...]:
    """Return the groups of a document's section; `texts` gives the head of a group, and of each of its lines the text
    below the head and the text of the line alone."""
    ranks = {place: rank for rank, place in enumerate(_by_turns(groups))}

    def written(number: int, group: LineGroup) -> Group:
        head, lines = texts(group)
        shown = zip(group.lines, lines, strict=True)
        items = (PageItem(text, line.total, ranks[number, at], alone) for at, (line, (text, alone)) in enumerate(shown))
        return Group(tuple(items), head)

    return tuple(written(number, group) for number, group in enumerate(groups))


def _by_turns(groups: Sequence[LineGroup]) -> list[tuple[int, int]]:
    """Group and line of all lines: of each kind of object, and of each level of permissions, one after the other, so
    that many of one hide no other; the most dangerous first."""
    alike: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for number, group in enumerate(groups):
        for at, line in enumerate(group.lines):
            alike.setdefault((-line.level, group.objects[0].kind), []).append((number, at))
    in_order = (alike[key] for key in sorted(alike, key=lambda key: key[0]))
    return [place for turn in zip_longest(*in_order) for place in turn if place is not None]


def marked(message: Message) -> str:
    """A message with everything that comes from the input as code, which Markdown leaves alone."""
    return "".join(code(piece.text) if isinstance(piece, UntrustedText) else escaped(piece) for piece in message)


def as_json(difference: Difference) -> str:
    """The whole difference, with nothing cut."""
    return json_text(as_data(difference), default=str) + "\n"


def as_data(difference: Difference) -> dict[str, Any]:
    """The whole difference in the format of `schemas/diff.schema.json`."""
    return {
        "version": FORMAT_VERSION,
        "old": difference.old.name,
        "new": difference.new.name,
        "summary": {
            "changes": len(difference.changes),
            "breaking": difference.count(BREAKING),
            "risk": difference.count(RISK),
            "unchangedObjects": difference.unchanged,
            "folded": dict(difference.folded),
        },
        "changes": [_change(change) for change in difference.changes],
    }


def _change(change: DiffChange) -> dict[str, Any]:
    return {
        "kind": change.kind.name,
        "group": change.group.value,
        "severity": SEVERITY_WORDS[change.severity],
        "gravity": SEVERITY_WORDS[change.severity],  # its name for readers of before
        "sign": change.type.value,
        "object": dict(change.identity._asdict()),
        "text": plain(change.message),
        "details": _details(change),
        **({"afterApproval": True} if change.later else {}),
        **({"keptBack": True} if change.kept_back else {}),
    }


def _details(change: DiffChange) -> dict[str, Any]:
    """The values of a change under their JSON names; those that are not there are left out."""
    values = ((name, value) for name, value in change.values.items() if name != "severity")
    return {_json_name(name): _as_data(value) for name, value in values if value is not ABSENT}


def _json_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), name)


def _as_data(value: Any) -> Any:
    """NamedTuples as objects, other tuples as lists."""
    if hasattr(value, "_asdict"):
        return {name: _as_data(item) for name, item in value._asdict().items()}
    return [_as_data(item) for item in value] if isinstance(value, tuple) else value
