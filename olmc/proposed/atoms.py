"""Permissions as sets of atoms, each one request that may be made, and their canonical form (R-INSTALL-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple, TypeVar

from olmc.model.coerce import texts
from olmc.model.rbac import has_name, has_resource, has_url, has_value

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
K = TypeVar("K")

Entry = dict[str, Any]


class Atom(NamedTuple):
    """One verb on one resource, or on a URL that is none.

    `namespace` None: in the whole cluster. `name` "": whatever the resource is called. `url` is "" for resources.
    """

    group: str
    resource: str
    verb: str
    namespace: str | None
    name: str = ""
    url: str = ""


def atoms_of(rule: Mapping[str, Any], namespace: str | None) -> Iterator[Atom]:
    """The atoms that a PolicyRule stands for, granted in a namespace or (None) in the whole cluster."""
    verbs = texts(rule.get("verbs"))
    for url, verb in product(texts(rule.get("nonResourceURLs")), verbs):
        yield Atom("", "", verb, None, url=url)
    names = texts(rule.get("resourceNames")) or [""]
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    for group, resource, verb, name in product(groups, resources, verbs, names):
        yield Atom(group, resource, verb, namespace, name)


def covers(rule: Mapping[str, Any], atom: Atom) -> bool:
    """Whether a PolicyRule allows what an atom stands for, wherever it counts."""
    if not has_value(rule.get("verbs"), atom.verb):
        return False
    if atom.url:
        return has_url(rule.get("nonResourceURLs"), atom.url)
    return (
        has_value(rule.get("apiGroups"), atom.group)
        and has_resource(rule.get("resources"), atom.resource)
        and has_name(rule.get("resourceNames"), atom.name)
    )


def canonical(atoms: Iterable[Atom]) -> list[Entry]:
    """The shortest list of entries in the canonical form of R-INSTALL-8; the order of the atoms does not matter.

    Verbs of one resource come together, then resources of one API group, names and namespaces with the same rights.
    """
    verbs: dict[tuple[str | None, str, str, str, str], set[str]] = defaultdict(set)
    for atom in atoms:
        verbs[atom.namespace, atom.name, atom.group, atom.resource, atom.url].add(atom.verb)
    cells = {key: tuple(sorted(found, key=verb_order)) for key, found in verbs.items()}
    resources = _merged(
        ((space, name, group, url, verb), resource) for (space, name, group, resource, url), verb in cells.items()
    )
    urls = _merged(
        ((space, name, group, listed, verb), url) for (space, name, group, url, verb), listed in resources.items()
    )
    # What has any name is no name among others, nor is the cluster a namespace.
    names = _merged(
        ((space, name == "", group, listed, url, verb), name)
        for (space, name, group, listed, verb), url in urls.items()
    )
    spaces = _merged(
        ((space is None, group, listed, url, verb, name), space)
        for (space, _, group, listed, url, verb), name in names.items()
    )
    entries = [_entry(*key[1:], found) for key, found in spaces.items()]
    return sorted(entries, key=lambda entry: tuple(entry.get(field, []) for field in _SORTED_BY))


_SORTED_BY = ("apiGroups", "resources", "verbs", "namespaces", "resourceNames", "nonResourceURLs")


def _merged(pairs: Iterable[tuple[K, Any]]) -> dict[K, tuple[Any, ...]]:
    """The values of equal keys together, sorted, each once."""
    found: dict[K, set[Any]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: tuple(sorted(values, key=lambda value: (value is not None, value))) for key, values in found.items()}


def _entry(
    group: str, resources: tuple[str, ...], urls: tuple[str, ...], verbs: tuple[str, ...], names: tuple[str, ...],
    namespaces: tuple[str | None, ...],
) -> Entry:  # fmt: skip
    if any(urls):
        return {"nonResourceURLs": list(urls), "verbs": list(verbs)}
    entry: Entry = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    if names != ("",):
        entry["resourceNames"] = list(names)
    if namespaces != (None,):
        entry["namespaces"] = list(namespaces)
    return entry


def verb_order(verb: str) -> tuple[int, str]:
    """Sort key of verbs: reading, writing, deleting, then all others by name."""
    return (_VERBS.index(verb), "") if verb in _VERBS else (len(_VERBS), verb)


def as_rules(entries: Iterable[Entry]) -> list[Entry]:
    """The entries as PolicyRules: without the namespaces that they count in."""
    return [{key: value for key, value in entry.items() if key != "namespaces"} for entry in entries]
