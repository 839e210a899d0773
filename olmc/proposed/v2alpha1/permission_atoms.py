"""Permissions as sets of atoms, each one request that may be made, and their canonical form (R-INSTALL-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from olmc.kube.rbac import requests_of, rules_allow
from olmc.kube.rbac_access import Access
from olmc.model.rbac import PolicyRule, Request, Subject

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
K = TypeVar("K")

Entry = dict[str, Any]


class Atom(NamedTuple):
    """A request, and where it is made: in a namespace, or (None) in the whole cluster."""

    request: Request
    namespace: str | None


def atoms_of(rule: PolicyRule, namespace: str | None) -> Iterator[Atom]:
    """The atoms that a rule stands for, granted in a namespace or (None) in the whole cluster."""
    for request in requests_of(rule):
        yield Atom(request, None if request.url else namespace)


def not_held(atoms: Iterable[Atom], access: Access, subjects: Sequence[Subject]) -> frozenset[Atom]:
    """The atoms that somebody who is all these subjects lacks (R-INSTALL-7)."""
    atoms = frozenset(atoms)
    held = {namespace: access.rules(namespace, *subjects) for namespace in {atom.namespace for atom in atoms}}
    return frozenset(atom for atom in atoms if not rules_allow(held[atom.namespace], atom.request))


def canonical(atoms: Iterable[Atom]) -> list[Entry]:
    """The shortest list of entries in the canonical form of R-INSTALL-8; the order of the atoms does not matter.

    Verbs of one resource come together, then resources of one API group, names and namespaces with the same rights.
    """
    verbs: dict[tuple[str | None, str, str, str, str], set[str]] = defaultdict(set)
    for (verb, group, resource, name, url), namespace in atoms:
        verbs[namespace, name, group, resource, url].add(verb)
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
