"""A difference as JSON, in the format of `schemas/diff.schema.json`."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from olmc.emit.names import json_text
from olmc.model.objects import Identity
from olmc.review.diff.change import ABSENT, Change, Gravity, plain
from olmc.review.diff.compare import Difference

__all__ = ["FORMAT_VERSION", "as_json"]

FORMAT_VERSION = 1

_NOT_DETAILS = frozenset(("identity", "gravity"))
_UNDERSCORE = re.compile(r"_([a-z])")


def as_json(difference: Difference) -> str:
    """The whole difference, with nothing cut."""
    return json_text(_data(difference), default=str) + "\n"


def _data(difference: Difference) -> dict[str, Any]:
    return {
        "version": FORMAT_VERSION,
        "old": difference.old.name,
        "new": difference.new.name,
        "summary": {
            "changes": len(difference.changes),
            "breaking": difference.count(Gravity.BREAKING),
            "risk": difference.count(Gravity.RISK),
            "unchangedObjects": difference.unchanged,
            "folded": dict(difference.folded),
        },
        "changes": [_change(change) for change in difference.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": type(change).__name__,
        "group": change.group.value,
        "gravity": str(change.gravity),
        "sign": change.sign.value,
        "object": _object(change.identity),
        "text": plain(change.sentence()),
        "details": _details(change),
    }


def _object(identity: Identity) -> dict[str, str]:
    return dict(identity._asdict())


def _details(change: Any) -> dict[str, Any]:
    """The fields of a change under their JSON names; a value that is not there is left out."""
    named = {each.name: getattr(change, each.name) for each in fields(change) if each.name not in _NOT_DETAILS}
    return {_json_name(name): _plain(value) for name, value in named.items() if value is not ABSENT}


def _json_name(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


def _plain(value: Any) -> Any:
    """NamedTuples as objects, other tuples as lists."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
