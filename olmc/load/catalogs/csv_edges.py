"""What bundles replace and skip by what stands in their CSVs, olm.substitutesFor included (R-CAT-141, R-CAT-345)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from olmc.load.catalogs.database_versions import by_version, compare, versioned
from olmc.load.catalogs.rendering import LooseBundle
from olmc.load.catalogs.troubles import below
from olmc.model.location import Place
from olmc.model.objects import as_text

SUBSTITUTES_FOR = "olm.substitutesFor"


class Edges(NamedTuple):
    """The names of the bundles that a bundle replaces, "" for none, and skips."""

    replaces: str = ""
    skips: tuple[str, ...] = ()


class Problem(NamedTuple):
    """What keeps a package from being loaded: OLM's text, and where it stands."""

    text: str
    place: Place | None


class _SubstituteError(ValueError):
    """What is wrong with a bundle's substitution, in OLM's words."""

    def __init__(self, text: str, bundle: LooseBundle) -> None:
        super().__init__(text)
        self.place = below(bundle.location, "metadata", "annotations", SUBSTITUTES_FOR)


def base_of(bundle: LooseBundle) -> str:
    """The name of the bundle that this one substitutes for, "" for none."""
    return as_text(bundle.annotations.get(SUBSTITUTES_FOR))


def edges_of(bundles: Mapping[str, LooseBundle]) -> tuple[Mapping[str, Edges], list[Problem]]:
    """The edges of bundles, given by name, and what is wrong with substitutes.

    What replaces a bundle replaces the last of its substitutes instead, what skips it skips these as well, and each
    substitute skips what it stands in for.
    """
    edges = {name: _declared(bundle) for name, bundle in bundles.items()}
    try:
        chains = list(_chains(bundles))
    except ValueError as error:
        return edges, [Problem(str(error), error.place if isinstance(error, _SubstituteError) else None)]
    for chain in chains:
        edges = {name: _beside(own, name, chain) for name, own in edges.items()}
    return edges, []


def _declared(bundle: LooseBundle) -> Edges:
    skips = bundle.spec.get("skips")
    return Edges(as_text(bundle.spec.get("replaces")), tuple(map(str, skips)) if isinstance(skips, list) else ())


def _beside(own: Edges, name: str, chain: Sequence[str]) -> Edges:
    """The edges of a bundle once a bundle and its substitutes, the last one last, are in their places."""
    if name in chain:
        return own._replace(skips=_united(own.skips, chain[: chain.index(name)]))
    first = next((place for place, each in enumerate(chain) if each in own.skips), len(chain))
    return Edges(chain[-1] if own.replaces in chain else own.replaces, _united(own.skips, chain[first:]))


def _united(skips: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*skips, *more)))


def _chains(bundles: Mapping[str, LooseBundle]) -> Iterator[list[str]]:
    """Each bundle that is substituted for and no substitute itself, with its substitutes, the last one last."""
    substitutes: dict[str, list[LooseBundle]] = {}
    for bundle in bundles.values():
        if base_of(bundle):
            substitutes.setdefault(base_of(bundle), []).append(bundle)
    placed: set[str] = set()
    for base in substitutes:
        if base not in bundles or not base_of(bundles[base]):
            chain = [base, *_after(base, substitutes)]
            placed.update(chain)
            yield chain
    for bundle in bundles.values():
        if base_of(bundle) and bundle.name not in placed:
            raise _SubstituteError(f'cyclic substitutesFor chain detected involving "{bundle.name}"', bundle)


def _after(base: str, substitutes: Mapping[str, Sequence[LooseBundle]]) -> Iterator[str]:
    """The substitutes of a bundle by version, behind each those that substitute for it in turn."""
    ordered = sorted(map(versioned, substitutes.get(base, ())), key=by_version)
    for one, other in pairwise(ordered):
        if not compare(one, other):
            text = "cannot determine latest substitution because of duplicate versions"
            raise _SubstituteError(text, other.bundle)
    for each in ordered:
        yield each.bundle.name
        yield from _after(each.bundle.name, substitutes)
