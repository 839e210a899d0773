"""The parameters of a request for a list or a watch, and the version that a client has seen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from olmc.kube.selectors import FieldTerm, Requirement, SelectorError, parse_field_selector, parse_label_selector
from olmc.proposed.installed import TRACKED
from olmc.proposed.resources import Listed, Resource
from olmc.serve.status import bad_request, invalid

WATCH_SECONDS = 1800
"""How long a watch lasts unless the client says so, and at most."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_TRUE = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False"})
_MATCHES = ("", "Exact", "NotOlderThan")


class Selection(NamedTuple):
    """What a request selects: by labels, and by fields."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    def selects(self, item: Listed) -> bool:
        """Whether an object is selected."""
        labels = item.object["metadata"].get("labels") or {}
        values = {"metadata.name": item.name, "metadata.namespace": item.namespace}
        return all(requirement.holds(labels) for requirement in self.labels) and all(
            (values[term.field] == term.value) == term.equal for term in self.fields
        )


class Query(NamedTuple):
    """What a client asks of a list: the fields of Kubernetes' ListOptions."""

    selection: Selection
    limit: int
    token: str
    version: str
    match: str
    watch: bool
    bookmarks: bool
    initial: bool | None
    seconds: int


def query_of(resource: Resource, given: Mapping[str, str]) -> Query:
    """The parameters of a URL; StatusError (400, 422) for what can't be read."""
    seconds = _integer(given, "timeoutSeconds")
    query = Query(
        selection(resource, given.get("labelSelector", ""), given.get("fieldSelector", "")),
        _integer(given, "limit"),
        given.get("continue", ""),
        given.get("resourceVersion", ""),
        given.get("resourceVersionMatch", ""),
        _flag(given, "watch"),
        _flag(given, "allowWatchBookmarks"),
        _flag(given, "sendInitialEvents") if given.get("sendInitialEvents") else None,
        min(seconds, WATCH_SECONDS) if seconds > 0 else WATCH_SECONDS,
    )
    _check(query)
    return query


def selection(resource: Resource, labels: str, fields: str) -> Selection:
    """The selectors of a query; StatusError (400) when one can't be read or names an unsupported field (R-CAT-809)."""
    try:
        terms = []
        requirements = tuple(parse_label_selector(labels))
        for term in parse_field_selector(fields):
            if term.field not in resource.fields:
                raise bad_request(f"field label not supported: {term.field}")
            terms.append(term)
    except SelectorError as error:
        raise bad_request(str(error)) from error
    return Selection(requirements, tuple(terms))


def _check(query: Query) -> None:
    if query.limit < 0:
        raise bad_request("limit: Invalid value: must not be negative")
    if query.match not in _MATCHES:
        raise invalid('resourceVersionMatch: Unsupported value: supported values: "Exact", "NotOlderThan"')
    if query.initial is not None and not query.watch:
        raise invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list")
    if query.watch and (query.match != "") != (query.initial is not None):
        raise invalid("resourceVersionMatch: Forbidden: it goes with sendInitialEvents, and only with that, in a watch")
    if query.watch and query.match == "Exact":
        raise invalid("resourceVersionMatch: Forbidden: resourceVersionMatch Exact is forbidden for watch")
    if not query.watch and query.match and not query.version:
        raise invalid("resourceVersionMatch: Forbidden: it is forbidden unless resourceVersion is provided")
    if query.token and query.match:
        raise invalid("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")


def _integer(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "")
    if not text:
        return 0
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'{name}: Invalid value: "{text[:80]}": must be an integer')
    return int(text)


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "")
    if text in _TRUE:
        return True
    # Kubernetes takes a name without a value, as in `?watch`, for true.
    if name in given and not text:
        return True
    if text and text not in _FALSE:
        raise bad_request(f'{name}: Invalid value: "{text[:80]}": must be true or false')
    return False


def versions_of(text: str) -> dict[str, int] | None:
    """The versions in an aggregate `R0:RV0,R1:RV1` (R-INST-9); None for "" and "0", which stand for any version.

    StatusError (400) when it is none.
    """
    if text in ("", "0"):
        return None
    parts = [part.partition(":") for part in text.split(",")]
    named = {name: value for name, _, value in parts}
    if len(parts) != len(TRACKED) or set(named) != set(TRACKED) or not all(map(_is_version, named.values())):
        shape = ",".join(f"{name}:<version>" for name in TRACKED)
        raise bad_request(f'resourceVersion: Invalid value: "{text[:80]}": it has the form {shape}')
    return {name: int(named[name]) for name in TRACKED}


def _is_version(text: str) -> bool:
    return re.fullmatch("[0-9]{1,19}", text) is not None
