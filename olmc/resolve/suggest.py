"""What was probably meant: close names for what a Subscription or a requirement asks for in vain."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.model.location import Location
from olmc.model.resolution import Wish
from olmc.model.suggestions import POSSIBLE, closest, did_you_mean, join_limited
from olmc.resolve.constraints import InPackage, Labelled, Predicate, Provides
from olmc.resolve.view import EXISTING, View

__all__ = ["absent_hint", "absent_place", "unmet_hint"]

_MOST = 5


def absent_hint(view: View, wish: Wish) -> str:
    """For a Subscription whose selection is empty (R-CAT-571): which name is wrong, what is there."""
    return _absent(view, wish)[1]


def absent_place(view: View, wish: Wish) -> Location | None:
    """For a Subscription whose selection is empty: the place of the field that is wrong."""
    return wish.place_of(_absent(view, wish)[0])


def _absent(view: View, wish: Wish) -> tuple[str, str]:
    """The field of a Subscription's spec that asks for what is not there, and what there is."""
    catalogs = [key for key in view.catalogs if key.name != EXISTING]
    items = view.catalogs.get(wish.catalog)
    if items is None:
        names = {f"{key.name} in {key.namespace}": key.name for key in catalogs}
        field = "sourceNamespace" if wish.catalog.name in names.values() else "source"
        problem = f"no catalog {wish.catalog.name} in {wish.catalog.namespace} is visible"
        return field, _meant(problem, wish.catalog.name, names)
    if not items:
        return "source", f"the catalog {wish.catalog.name} is empty"
    packages = {item.package for item in items}
    if wish.package not in packages:
        problem = f"the catalog {wish.catalog.name} has no package {wish.package}"
        return "name", _meant(problem, wish.package, packages)
    entries = [item for item in items if item.package == wish.package]
    channels = {item.channel for item in entries}
    if wish.channel and wish.channel not in channels:
        problem = f"the package {wish.package} has no channel {wish.channel}"
        return "channel", _meant(problem, wish.channel, channels)
    entries = [item for item in entries if wish.channel in ("", item.channel)]
    where = f"the channel {wish.channel}" if wish.channel else f"the package {wish.package}"
    names = {item.name: item.name for item in entries}
    return "startingCSV", _meant(f"{where} has no entry {wish.starting}", wish.starting, names)


def _meant(problem: str, name: str, names: Iterable[str] | dict[str, str]) -> str:
    shown = names if isinstance(names, dict) else {each: each for each in names}
    best = closest(name, shown.values(), POSSIBLE)
    if best:
        meant = min(text for text, name in shown.items() if name == best)
        return f"{problem}; {did_you_mean(meant, inside=True)}"
    return f"{problem}; there is {join_limited(sorted(shown), _MOST)}" if shown else f"{problem}; there is none at all"


def unmet_hint(view: View, predicate: Predicate) -> str:
    """For a requirement without candidates: what comes close, "" when there is nothing to say."""
    match predicate:
        case Provides(api):
            providers = view.by_api.get(api, ())
            if providers:
                # They exist and still are no candidates: R-CAT-402 leaves out what another entry skips.
                names = join_limited([item.name for item in providers], _MOST)
                return f"only entries that another one skips provide it: {names}"
            # A slip in the kind, or the right kind in another group or version.
            best = closest(api.kind, (each.kind for each in view.by_api if each.group == api.group), POSSIBLE)
            alike = sorted(each.bracketed for each in view.by_api if each.kind == api.kind)
            alike = alike or sorted(each.bracketed for each in view.by_api if each.group_kind == (api.group, best))
            return did_you_mean(join_limited(alike, _MOST), inside=True)
        case InPackage(name, text):
            items = view.by_package.get(name, ())
            if not items:
                question = did_you_mean(closest(name, view.by_package, POSSIBLE), inside=True)
                return f"there is no package {name}" + (f"; {question}" if question else "")
            versions = sorted({item.origin.version for item in items})
            return f"no version of {name} on a channel is inside {text}; there is {join_limited(versions, _MOST)}"
        case Labelled(label):
            return did_you_mean(closest(label, view.by_label, POSSIBLE), inside=True)
        case _:
            return ""
