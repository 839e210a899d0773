"""`fixtures/olm-versions`, rendered for every profile; what the newest makes of it is with the fixtures."""

from __future__ import annotations

import pytest
from snapshot_files import YAMLFile
from syrupy.assertion import SnapshotAssertion
from test_fixtures import FIXTURES, rendered

PROFILES = ("0.13", "0.15", "0.17", "0.25", "0.26", "ocp-4.14", "docs")
COPY = "kind: ClusterServiceVersion\n"
ALL_THE_SAME = tuple(f"  namespace: {name}\n" for name in ("default", "kube-node-lease", "kube-public", "kube-system"))


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(YAMLFile)


def without_more_copies(stream: str) -> str:
    """A YAML stream without the copies of CSVs in the namespaces that always exist: one copy shows what there is."""
    documents = stream.split("---\n")
    return "---\n".join(d for d in documents if COPY not in d or not any(name in d for name in ALL_THE_SAME))


@pytest.mark.parametrize("version", PROFILES)
def test_version(version: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """What that OLM would leave in the cluster."""
    monkeypatch.chdir(FIXTURES)
    assert without_more_copies(rendered("olm-versions", "--olm-version", version, "--verbose")) == snapshot
