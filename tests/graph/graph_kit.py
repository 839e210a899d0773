"""What the tests of graphs share: packages from terse descriptions, and packages at random."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

from olmc.compiler.model.catalog import CatalogBundle, Channel, ChannelEntry, Deprecation, Package, Property

HERE = Path(__file__).parent
REVIEW = HERE  # where docs/graph.md and the cases of the command have them
CATALOGS, EXPECTED = REVIEW / "catalogs", REVIEW / "expected"
NAMES = sorted(path.name for path in CATALOGS.iterdir())


def package(
    channels: Mapping[str, Sequence[str]],
    *,
    default: str = "",
    barred: Iterable[str] = (),
    absent: Iterable[str] = (),
    deprecations: Iterable[Deprecation] = (),
) -> Package:
    """The package `p` with channels of entries like `2.0.0 > 1.0.0 skips 1.5.0 1.6.0 range >=1.0.0 <2.0.0`.

    A version stands for the bundle `p.v<version>`. `barred` are the versions with the property olm.deprecated, `absent`
    those whose bundles are not there.
    """
    made = {name: Channel(name, "p", tuple(entry(text) for text in entries)) for name, entries in channels.items()}
    names = {each.name for channel in made.values() for each in channel.entries} - {f"p.v{each}" for each in absent}
    bundles = {name: bundle(name.removeprefix("p.v"), barred) for name in sorted(names)}
    return Package("p", default or next(iter(made), ""), made, bundles, tuple(deprecations))


def entry(text: str) -> ChannelEntry:
    text, _, skip_range = text.partition(" range ")
    text, _, skips = text.partition(" skips ")
    name, _, replaced = text.partition(" > ")
    skipped = tuple(f"p.v{each}" for each in skips.split())
    return ChannelEntry(f"p.v{name}", f"p.v{replaced}" if replaced else "", skipped, skip_range)


def bundle(version: str, barred: Iterable[str] = ()) -> CatalogBundle:
    properties = [Property("olm.package", {"packageName": "p", "version": version})]
    if version in barred:
        properties.append(Property("olm.deprecated", {}))
    return CatalogBundle(f"p.v{version}", "p", f"registry.example.com/p:{version}", version, tuple(properties))


HOSTILE = 'x"]];<script>#a\n%% end\\N\x00`}'
"""A name that would do harm in any text that does not take care."""


def hostile() -> Package:
    """A package whose channel, versions and messages are that."""
    made = package({HOSTILE: ["1.0.0"]}, deprecations=[Deprecation("olm.channel", HOSTILE, HOSTILE)])
    name = f"p.v1.0.0{HOSTILE}"
    stable = made.channels[HOSTILE]
    entries = (*stable.entries, stable.entries[0]._replace(name=name, replaces="p.v1.0.0"))
    twin = made.bundles["p.v1.0.0"]._replace(name=name, version=HOSTILE)
    return made._replace(channels={HOSTILE: stable._replace(entries=entries)}, bundles={**made.bundles, name: twin})


VERSIONS = ("0.9.0", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "1.2.0", "2.0.0", "2.0.0+b")
_RANGES = ("", "", "", ">=0.9.0 <1.1.0", "<1.2.0", "<9.0.0", ">=1.0.0 !1.1.0 <2.0.0", "<0.9.1 || >=1.1.0 <2.0.0", "~1")


@st.composite
def chains(draw: st.DrawFn) -> list[str]:
    """A channel like those of catalogs: each entry replaces the one before it, some skip, some have a skipRange."""
    inside = draw(st.lists(st.sampled_from(VERSIONS), min_size=1, unique=True))
    inside.sort(key=VERSIONS.index)
    entries = []
    for number, version in enumerate(inside):
        replaced = f" > {inside[number - 1]}" if number else ""
        skips = draw(st.lists(st.sampled_from(inside[:number] or ["0.1.0"]), max_size=3, unique=True))
        entries.append(_entry(version, replaced, skips, draw(st.sampled_from(_RANGES))))
    return entries


@st.composite
def tangles(draw: st.DrawFn) -> list[str]:
    """A channel with any edges at all."""
    anything = st.sampled_from((*VERSIONS, "0.1.0"))
    entries = []
    for version in draw(st.lists(st.sampled_from(VERSIONS), max_size=6, unique=True)):
        replaced = draw(st.one_of(st.just(""), anything.map(" > {}".format)))
        skips = draw(st.lists(anything, max_size=2, unique=True))
        entries.append(_entry(version, replaced, skips, draw(st.sampled_from(_RANGES))))
    return entries


def _entry(version: str, replaced: str, skips: Sequence[str], skip_range: str) -> str:
    skipped = f" skips {' '.join(skips)}" if skips else ""
    return f"{version}{replaced}{skipped}{f' range {skip_range}' if skip_range else ''}"


packages = st.builds(
    package,
    st.dictionaries(st.sampled_from(("stable", "fast", "c-9", "c-10")), chains() | tangles(), max_size=3),
    default=st.sampled_from(("", "stable", "nowhere")),
    barred=st.lists(st.sampled_from(VERSIONS), max_size=1),
    absent=st.lists(st.sampled_from(VERSIONS), max_size=1),
)
"""Packages of all kinds, sound or not."""
