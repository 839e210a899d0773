"""The door to `places`, which is imported when the first place is asked for: most runs ask for none."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.k8s.diagnostics import Location, Place, Source


def locate(source: Source, keys: Sequence[str | int], *, of_key: bool = False) -> Location:
    """The place of the value at a path of keys (str) and indices (int) in a document, or with `of_key` of its key.

    Keys are as `read` gives them, below the prefix of the source. Of a key that stands twice, the last counts, as in
    `read`. Where the path ends early, it is the place of what there is of it; for a missing document, the file.
    """
    from olmc.k8s.yaml.line_places import find_by_lines

    path = (*source.prefix, *keys)
    place = find_by_lines(source, path, of_key=of_key)
    if place is not None:
        return place
    from olmc.k8s.yaml.places import find  # with the parser, which most texts do without

    return find(source, path, of_key=of_key)


def at(source: Source | None, *keys: str | int) -> Location | None:
    """As `locate`, and None for what comes from no document."""
    return locate(source, keys) if source is not None else None


def located(place: Place | Location | None) -> Location | None:
    """The line and column of a place that may have been found before."""
    return locate(place.source, place.keys) if isinstance(place, Place) else place
