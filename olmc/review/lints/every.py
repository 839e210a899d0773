"""All lints in order."""

from __future__ import annotations

from olmc.model.diagnostic import Report
from olmc.review.lints import bundles, catalogs, copies, groups, objects, permissions, sources, subscriptions
from olmc.review.lints.subject import Lint, Subject

LINTS: tuple[Lint, ...] = (
    *groups.LINTS,
    *subscriptions.LINTS,
    *sources.LINTS,
    *catalogs.LINTS,
    *copies.LINTS,
    *bundles.LINTS,
    *permissions.LINTS,
    *objects.LINTS,
)


def lint(subject: Subject, report: Report) -> None:
    """Report what the lints find."""
    for each in LINTS:
        for diagnostic in each(subject):
            report.add(diagnostic)
