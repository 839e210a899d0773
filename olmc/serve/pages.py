"""Lists in parts: `limit` and `continue`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import NamedTuple

from olmc.proposed.resources import Listed
from olmc.serve.shapes import Page
from olmc.serve.status import bad_request

_LONGEST = 4096


class Place(NamedTuple):
    """Where a list goes on: in the state of a version, behind so many of its objects."""

    version: str
    offset: int


def page_of(items: Sequence[Listed], version: str, offset: int, limit: int) -> Page:
    """At most `limit` (0: all) of the objects from `offset` on, of a list of that version."""
    end = offset + limit if limit else len(items)
    rest = max(len(items) - end, 0)
    return Page(items[offset:end], version, token_for(Place(version, end)) if rest else "", rest)


def token_for(place: Place) -> str:
    """The text that stands for a place; clients hand it back as it is."""
    data = json.dumps({"v": "olmc/v1", "rv": place.version, "offset": place.offset}, separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def place_of(token: str) -> Place:
    """The place that a text stands for; StatusError (400) for a text that is none."""
    try:
        padded = token[:_LONGEST] + "=" * (-len(token) % 4)
        data = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        place = Place(data["rv"], data["offset"])
        valid = data["v"] == "olmc/v1" and isinstance(place.version, str) and type(place.offset) is int
    except (ValueError, TypeError, KeyError, RecursionError):
        valid = False
    if not valid or not 0 <= place.offset <= 2**31:
        raise bad_request("continue key is not valid")
    return place
