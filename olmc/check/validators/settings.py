"""What the caller of the validators can choose: which optional ones run, and the values they take (R-CAT-201)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

OPTIONAL = (
    "operatorhub",
    "operatorhubv2",
    "standardcapabilities",
    "standardcategories",
    "community",
    "alpha-deprecated-apis",
    "good-practices",
    "multiarch",
    "bundle-objects",
)
"""The names of the optional validators (D12)."""

SUITES: Mapping[str, tuple[str, ...]] = MappingProxyType({"operatorframework": OPTIONAL[:4], "all": OPTIONAL})
"""Names that stand for several optional validators."""


class Platform(NamedTuple):
    """What an image runs on, printed as `os/arch`."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"


class Categories(NamedTuple):
    """Categories that replace the standard ones, and why they could not be read ("" if they could)."""

    names: frozenset[str] = frozenset()
    problem: str = ""


def _not_judged(rule: str) -> str:  # noqa: ARG001
    return ""


class Settings(NamedTuple):
    """`optional` are the names of validators to run besides the default ones.

    `kubernetes` and `container_tool` are the values of `k8s-version` and `container-tools`, `dockerfile` is the text of
    the file that `index-path` names (None: not given);
    `platforms` are those of images, which olmc can't ask a registry for. `cel_problem` says what is wrong with a CEL
    rule, "" for nothing; whoever knows CEL passes it, since resolving is above this room.
    `modes_optional`: a CSV without install modes is a descoped operator's.
    """

    optional: frozenset[str] = frozenset()
    kubernetes: str = ""
    dockerfile: str | None = None
    container_tool: str = ""
    categories: Categories | None = None
    platforms: Mapping[str, tuple[Platform, ...]] = MappingProxyType({})
    cel_problem: Callable[[str], str] = _not_judged
    modes_optional: bool = False


def chosen(names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The optional validators that names and suites stand for, as `NAME`, `name=NAME` or `suite=NAME`; and the names
    that nobody knows."""
    found: set[str] = set()
    unknown = []
    for given in names:
        name = given.removeprefix("name=").removeprefix("suite=").replace("operatorhub/v2", "operatorhubv2")
        members = SUITES.get(name) or ((name,) if name in OPTIONAL else ())
        found.update(members)
        if not members:
            unknown.append(given)
    return frozenset(found), tuple(unknown)
