"""The labels `operators.coreos.com/NAME.NAMESPACE`, by which OLM knows the objects of an operator, are no change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scenarios import write

from olmc.cli.main import main

OBJECTS = """\
apiVersion: v1
kind: Namespace
metadata: {name: ns}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: ns, labels: {LABELS}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: beacon, namespace: ns, labels: {LABELS}}
spec: {name: beacon, source: harbour, sourceNamespace: ns}
"""
LABELLED = '"operators.coreos.com/beacon.ns": ""'


@pytest.mark.parametrize(("old", "new"), [("", LABELLED), (LABELLED, ""), (LABELLED, f"{LABELLED[:-2]}other")])
def test_labels_of_components_are_no_change(old: str, new: str, tmp_path: Path) -> None:
    for side, labels in (("old", old), ("new", new)):
        write(tmp_path / side, {"objects.yaml": OBJECTS.replace("LABELS", labels)})
    planned = CliRunner().invoke(main, ["plan", str(tmp_path / "new"), "--from", str(tmp_path / "old"), "-o", "json"])
    assert json.loads(planned.stdout)["applied"] == []
    compared = CliRunner().invoke(main, ["diff", str(tmp_path / "old"), str(tmp_path / "new"), "-o", "json"])
    assert json.loads(compared.stdout)["changes"] == []
