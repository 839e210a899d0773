"""Two objects side by side, as lines of YAML: what is the same once, what is not on its side, matched by key.

Lines are matched as values are (items of lists by what identifies them), so an object that was reordered lines up, and
it takes no longer for objects of ten thousand lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any, NamedTuple

from olmc.model.objects import KubernetesObject
from olmc.review.diff.change import ABSENT
from olmc.review.diff.values import aligned
from olmc.yaml import dump_one

__all__ = ["Block", "beside"]


class Block(NamedTuple):
    """Some lines: the same on both sides (`old` is `new`), or what each side has there, "" for nothing."""

    old: str
    new: str

    @property
    def is_same(self) -> bool:
        return self.old == self.new


def beside(old: KubernetesObject | None, new: KubernetesObject | None) -> list[Block]:
    """The lines of an object and its predecessor; blocks of the same kind are joined."""
    if old is None or new is None:
        text = dump_one(old if new is None else new)
        return [Block(text, "") if new is None else Block("", text)]
    return list(_joined(_mappings(old, new, "")))


def _joined(blocks: Iterator[Block]) -> Iterator[Block]:
    waiting: list[Block] = []
    for block in blocks:
        if waiting and waiting[0].is_same is not block.is_same:
            yield Block("".join(each.old for each in waiting), "".join(each.new for each in waiting))
            waiting.clear()
        waiting.append(block)
    if waiting:
        yield Block("".join(each.old for each in waiting), "".join(each.new for each in waiting))


def _mappings(old: Mapping[str, Any], new: Mapping[str, Any], pad: str) -> Iterator[Block]:
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key, ABSENT), new.get(key, ABSENT)
        if _share_parts(was, now):
            head = pad + dump_one({key: [None]}).partition("\n")[0] + "\n"
            yield Block(head, head)
            yield from _mappings(was, now, f"{pad}  ") if isinstance(was, dict) else _lists(key, was, now, pad)
        else:
            yield Block(_entry(key, was, pad), _entry(key, now, pad))


def _share_parts(old: Any, new: Any) -> bool:
    """Whether two values are different, and made of parts of which some may be the same."""
    return bool(old) and bool(new) and type(old) is type(new) and isinstance(old, (dict, list)) and old != new


def _lists(field: str, old: Sequence[Any], new: Sequence[Any], pad: str) -> Iterator[Block]:
    for was, now in aligned(field, old, new):
        if isinstance(was, dict) and _share_parts(was, now):
            yield from _dashed(_mappings(was, now, f"{pad}  "), pad)
        else:
            yield Block(_item(was, pad), _item(now, pad))


def _dashed(blocks: Iterator[Block], pad: str) -> Iterator[Block]:
    """The blocks of an item of a list: on each side the first line begins with a dash."""
    begun = [False, False]
    for block in blocks:
        sides = list(block)
        for number, text in enumerate(sides):
            if text and not begun[number]:
                begun[number] = True
                sides[number] = f"{pad}- {text[len(pad) + 2 :]}"
        yield Block(*sides)


def _entry(key: str, value: Any, pad: str) -> str:
    return "" if value is ABSENT else indent(dump_one({key: value}), pad)


def _item(value: Any, pad: str) -> str:
    return "" if value is ABSENT else indent(dump_one([value]), pad)
