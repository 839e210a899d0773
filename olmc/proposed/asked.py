"""Answers to `olmc get`: the objects that are asked for, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olmc.model.cluster import Name
from olmc.model.diagnostic import Diagnostic
from olmc.model.suggestions import POSSIBLE, close_matches
from olmc.proposed.installed import hidden_in
from olmc.proposed.resources import INSTALLED, Listed, Resource
from olmc.proposed.view import View, item_called, items_in
from olmc.rules import installed as rules

_SHOWN = 5
"""How many names a hint lists."""
_ALIKE = 0.4
"""How like a name is for it to be listed before all others: the list is short, and better than one in any order."""


class Asked(NamedTuple):
    """What is asked for: `namespace` is None for all of them, `name` "" for the whole list."""

    resource: Resource
    namespace: str | None
    name: str = ""


class Answer(NamedTuple):
    """The objects, and the findings about them."""

    items: tuple[Listed, ...]
    findings: tuple[Diagnostic, ...]


def answer(view: View, asked: Asked) -> Answer:
    """The objects of a namespace, or the one with the name that is asked for."""
    if asked.name and asked.namespace is not None:
        item = item_called(view, asked.resource, Name(asked.namespace, asked.name))
        items: tuple[Listed, ...] = (item,) if item is not None else ()
    else:
        items = items_in(view, asked.resource, asked.namespace)
    return Answer(items, tuple(_findings(view, asked, items)))


def _findings(view: View, asked: Asked, items: tuple[Listed, ...]) -> Iterator[Diagnostic]:
    known = view.installations.namespaces
    if asked.namespace is not None and asked.namespace not in known:
        near = close_matches(asked.namespace, known, _SHOWN, POSSIBLE) or list(known[:_SHOWN])
        yield rules.NO_NAMESPACE.finding(None, namespace=asked.namespace, names=", ".join(near))
    if asked.resource is INSTALLED:
        for namespace in known if asked.namespace is None else (asked.namespace,):
            for hidden in hidden_in(view.installations, namespace):
                yield rules.HIDDEN.finding(None, **hidden._asdict())
    else:
        yield from view.not_offered
    if asked.name and not items:
        hint = _elsewhere(view, asked)
        yield rules.NOT_FOUND.finding(
            None, resource=asked.resource.qualified, name=asked.name, namespace=asked.namespace, hint=hint
        )


def _elsewhere(view: View, asked: Asked) -> str:
    """Where the name that is not found is to be found, or what else there is."""
    everywhere = items_in(view, asked.resource, None)
    homes = [each.namespace for each in everywhere if each.name == asked.name]
    if homes:
        return f"It is in {_some(homes)}."
    here = [each.name for each in items_in(view, asked.resource, asked.namespace)]
    near = close_matches(asked.name, here, _SHOWN, _ALIKE) or here
    return f"In namespace {asked.namespace} there is {_some(near) if near else 'nothing'}."


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def elsewhere(view: View, asked: Asked) -> str:
    """For an empty list: in which namespaces there is something, "" if that is nowhere or all were asked for."""
    if asked.namespace is None or asked.name:
        return ""
    namespaces = dict.fromkeys(each.namespace for each in items_in(view, asked.resource, None))
    return _some(list(namespaces)) if namespaces else ""
