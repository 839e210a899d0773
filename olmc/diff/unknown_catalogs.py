"""Subscriptions whose catalog nobody has at hand: what they install is unknown, which is not the same as gone."""

from __future__ import annotations

from olmc.diff.change import CHANGED, RISK, ChangeGroup, Judgement, change_kind, shown
from olmc.lean import regex

# As the resolver says it: the catalog is not known, its content is not there, or the package was left out of it.
_UNKNOWN = regex(
    r"no operators found from catalog (?P<absent>\S+) in namespace \S+ referenced by"
    r"|error using catalogsource \S+/(?P<empty>\S+): failed to list bundles: .* no content in the workspace"
    r"|package \S+ of catalog (?P<partial>\S+) in \S+ is not vendored"
)


@change_kind("ResolutionUnknown", ChangeGroup.VERSIONS, CHANGED)
def resolution_unknown(catalog: str) -> Judgement:
    """A Subscription of which is not known what it installs, as the content of its catalog is not in the workspace."""
    return RISK, ("what it installs is unknown: catalog ", shown(catalog), " is not vendored")


def unknown_catalog(failure: str) -> str:
    """The catalog for want of which a resolution fails, by what its condition says; "" if it is not that."""
    match = _UNKNOWN.search(failure)
    return next(filter(None, match.groups()), "") if match is not None else ""
