"""Real bundles go through the validators."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from bundle_workshop import settings_of

from olmc.api import load
from olmc.load.validation.settings import OPTIONAL
from olmc.load.validation.workspace import validate
from olmc.model.diagnostic import Report, Severity

SAMPLE = 60


@pytest.fixture(scope="module")
def bundles(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Some of the corpus, evenly spread over its names."""
    root = tmp_path_factory.mktemp("corpus")
    with tarfile.open(shared / "corpus" / "bundles.tar.xz") as archive:
        archive.extractall(root, filter="data")
    found = sorted(path.parent for path in root.glob("bundles/*/*/manifests"))
    return found[:: len(found) // SAMPLE][:SAMPLE]


def test_real_bundles(bundles: list[Path]) -> None:
    """Published bundles have passed these validators: hardly any has a failure, and every finding has a place."""
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
