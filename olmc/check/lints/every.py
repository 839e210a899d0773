"""All lints in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from olmc.check.lints import bundles, objects, olm_objects, subscriptions
from olmc.check.lints.subject import Subject
from olmc.model.diagnostic import Diagnostic, Report

Lint = Callable[[Subject], Iterator[Diagnostic]]

LINTS: tuple[Lint, ...] = (
    olm_objects.empty_targets,
    olm_objects.kept_apis,
    olm_objects.without_namespace,
    subscriptions.pins,
    subscriptions.deprecated,
    subscriptions.stranded,
    subscriptions.several_hops,
    olm_objects.refused_sources,
    olm_objects.stranded_versions,
    olm_objects.half_ranges,
    olm_objects.many_copies,
    bundles.unknown_fields,
    bundles.lost_keys,
    bundles.missing_accounts,
    bundles.dangerous,
    objects.sizes,
    objects.waves,
    objects.not_installable,
    objects.variables,
)


def lint(subject: Subject, report: Report) -> None:
    """Report what the lints find."""
    for each in LINTS:
        for diagnostic in each(subject):
            report.add(diagnostic)
