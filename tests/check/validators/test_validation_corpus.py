"""Real bundles go through the validators."""

from __future__ import annotations

from pathlib import Path

from bundle_workshop import settings_of

from olmc.compiler.api import load
from olmc.k8s.diagnostics import Report, Severity
from olmc.review.check.validators.bundles import validate
from olmc.review.check.validators.findings import OPTIONAL

SAMPLE = 60


def test_real_bundles(corpus: list[Path]) -> None:
    """Published bundles have passed these validators: hardly any has a failure, and every finding has a place."""
    bundles = corpus[:: len(corpus) // SAMPLE][:SAMPLE]  # evenly spread over the names
    assert len(bundles) == SAMPLE
    failed = set()
    for bundle in bundles:
        report = Report()
        validated = validate(bundle, load(bundle, Report()), settings_of(OPTIONAL), report)
        assert validated.bundles == 1
        for finding in report:
            assert finding.location is not None, finding
            assert (bundle / finding.location.path).exists(), finding
            if finding.severity >= Severity.FAILURE:
                failed.add(bundle.parent.name)
    assert len(failed) <= SAMPLE // 10, sorted(failed)
