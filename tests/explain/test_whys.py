"""Why something is there or not, and how its operator is: the scenarios of `whys.yaml`, in the notation of
`tests/resolver/plans/README.md`; `files` are further files, `without` folders that are not there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from scenarios import workspace, write

import olmc
from olmc.compiler.model.cluster import by_namespace
from olmc.review.explain.metrics import as_prometheus
from olmc.review.explain.missing import as_text, why
from olmc.review.explain.status import ExplainContext, as_table, operators

SCENARIOS = yaml.safe_load(Path(__file__).with_name("whys.yaml").read_text(encoding="utf-8"))


def compiled(scenario: Mapping[str, Any], root: Path) -> olmc.Compilation:
    write(root, workspace(scenario) | scenario.get("files", {}))
    for folder in scenario.get("without", ()):
        shutil.rmtree(root / folder)
    return olmc.compile(root)


@pytest.mark.parametrize("scenario", [pytest.param(each, id=each["title"]) for each in SCENARIOS])
def test_scenario(scenario: Mapping[str, Any], tmp_path: Path) -> None:
    done = compiled(scenario, tmp_path)
    assert done.settled is not None
    assert done.workspace is not None
    scene = ExplainContext(
        done.objects, done.settled, done.workspace.bundles, done.workspace.manifests, done.diagnostics
    )
    told = {target: as_text(why(target, scene)) for target in scenario["answers"]}
    assert told == scenario["answers"]
    assert as_table([("", each) for each in operators(done.settled)]) == scenario["status"]


def test_metrics_of_the_documents(project: Path) -> None:
    """R-CAT-902: `docs` has the labels that the documents name, as `--legacy-metrics` has."""
    workspace = project / "fixtures" / "upgrade"
    settled = [olmc.compile(workspace, olm_version=version).settled for version in ("docs", "0.46")]
    assert all(settled)
    of_documents, of_code = (as_prometheus(each) for each in settled if each is not None)
    assert 'subscription_sync_total{channel="' in of_documents
    assert 'subscription_sync_total{approval="' in of_code


def test_metrics_of_an_upgrade(tmp_path: Path) -> None:
    """R-CAT-905: one catalog, one CSV that succeeded, by one upgrade."""
    scenario = {
        "catalog": ["etcd.v0.9.0 0.9.0 etcd/alpha", "etcd.v0.9.2 0.9.2 etcd/alpha replaces etcd.v0.9.0"],
        "installed": ["etcd.v0.9.0 0.9.0 by etcd"],
        "subs": ["etcd etcd/alpha"],
    }
    done = compiled(scenario, tmp_path)
    assert done.settled is not None
    lines = [line for line in as_prometheus(done.settled).splitlines() if not line.startswith("#")]
    assert lines == [
        "catalog_source_count 1",
        "csv_count 1",
        'csv_succeeded{name="etcd.v0.9.2",namespace="ns",version="0.9.2"} 1',
        "csv_upgrade_count 1",
        "install_plan_count 1",
        "subscription_count 1",
        'subscription_sync_total{approval="",channel="alpha",installed="etcd.v0.9.2",name="etcd",package="etcd"} 2',
    ]


def test_metrics_are_sorted_and_escaped(tmp_path: Path) -> None:
    """R-CAT-900: values with quotes and backslashes; equal labels of two namespaces are one sample (R-CAT-901)."""
    done = compiled({"catalog": ["a.v1 1.0.0 a/stable"], "subs": ["a a/stabel"]}, tmp_path)
    assert done.settled is not None
    cluster = done.settled.cluster
    (subscription,) = cluster.subscriptions.values()
    spec = {**subscription.spec, "channel": 'a"b\\c\nd'}
    metadatas = [{"name": "a", "namespace": namespace} for namespace in ("ns", "other")]
    both = [subscription._replace(object={"metadata": metadata, "spec": spec}) for metadata in metadatas]
    changed = cluster._replace(subscriptions=by_namespace({each.name: each for each in both}))
    text = as_prometheus(done.settled._replace(cluster=changed, beginning=changed))
    assert r'{approval="",channel="a\"b\\c\nd",installed="",name="a",package="a"} 2' in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    assert names == sorted(names)
    assert "csv_succeeded" not in text


def test_a_row_names_the_error_that_prevents_a_resolution(tmp_path: Path) -> None:
    """The rows of all Subscriptions have the message of OLMC511, in one line."""
    bundles = ["a.v1 1.0.0 a/stable provides A", "b.v1 1.0.0 b/stable provides B", "b.v2 2.0.0 b/stable provides B"]
    done = compiled({"catalog": bundles, "subs": ["a a/stable", "b b/stable"]}, tmp_path)
    assert done.settled is not None
    (finding,) = (each for each in done.diagnostics if each.code == "OLMC511")
    error = finding.message.partition("namespace ns: ")[2]
    row = f"    an error prevents the resolution of namespace ns: {error}\n"
    shown = as_table([("", each) for each in operators(done.settled)])
    assert "multiple channel heads" in error
    assert shown.count(row) == 2, shown
