"""A difference as text for terminals: by group, by object, one line a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.emit.messages import Paint, in_color
from olmc.emit.names import clean
from olmc.model.objects import Identity
from olmc.review.diff.change import Change, Gravity, Group, plain
from olmc.review.diff.compare import Difference

__all__ = ["as_text", "by_object", "folded_text", "summary"]


def as_text(difference: Difference, *, color: bool = False) -> str:
    """All changes; of a difference without any only the line that says so."""
    return "".join(f"{line}\n" for line in _lines(difference, in_color if color else _plain))


def _plain(text: str, style: str) -> str:  # noqa: ARG001
    return text


def _lines(difference: Difference, paint: Paint) -> Iterator[str]:
    head = f"{clean(difference.old.name)} → {clean(difference.new.name)}: {summary(difference)}"
    yield paint(head, "bold")
    folded = folded_text(difference)
    if folded:
        yield paint(f"({folded})", "faint")
    for group in Group:
        changes = difference.in_group(group)
        if changes:
            yield ""
            yield paint(group.heading, "bold")
            yield from _group(changes, paint)


def _group(changes: tuple[Change, ...], paint: Paint) -> Iterator[str]:
    for identity, mine in by_object(changes).items():
        yield f"  {clean(str(identity))}"
        yield from (f"    {change.sign} {plain(change.sentence())}{_tag(change.gravity, paint)}" for change in mine)


def by_object(changes: Iterable[Change]) -> dict[Identity, list[Change]]:
    """Changes by object, the objects in the order of their gravest change, which comes first."""
    found: dict[Identity, list[Change]] = {}
    for change in changes:
        found.setdefault(change.identity, []).append(change)
    return found


def _tag(gravity: Gravity, paint: Paint) -> str:
    if gravity < Gravity.RISK:
        return ""
    return "  " + paint(f"[{gravity}]", "ERROR" if gravity is Gravity.BREAKING else "WARNING")


def summary(difference: Difference) -> str:
    """How many changes there are: `12 changes, 2 breaking, 1 risk`."""
    count = len(difference.changes)
    if not count:
        return "no change"
    breaking, risks = difference.count(Gravity.BREAKING), difference.count(Gravity.RISK)
    parts = [f"{count} change{'s' * (count != 1)}"]
    parts += [f"{breaking} breaking"] if breaking else []
    parts += [f"{risks} risk{'s' * (risks != 1)}"] if risks else []
    return ", ".join(parts)


def folded_text(difference: Difference) -> str:
    """What differs without meaning anything: `folded: 24 copied CSVs, 2 InstallPlans`; "" for nothing."""
    parts = [f"{count} {_plural(what, count)}" for what, count in difference.folded.items()]
    return f"folded: {', '.join(parts)}" if parts else ""


def _plural(what: str, count: int) -> str:
    if count == 1:
        return what
    return what.replace("role or binding", "roles and bindings") if what == "role or binding" else f"{what}s"
