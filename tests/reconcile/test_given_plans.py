"""InstallPlans of the workspace whose steps can't be read (R-CAT-607)."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import write

import olmc

PLAN = """\
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {name: install-abcde, namespace: ns}
spec: {approval: Automatic, approved: true, clusterServiceVersionNames: [kettle.v1.0.0]}
status:
  phase: Installing
  catalogSources: []
  plan:
  - resolving: kettle.v1.0.0
    status: Unknown
    resource:
      {group: "", version: v1, kind: ConfigMap, name: c, sourceName: cat, sourceNamespace: ns, manifest: '%s'}
"""


@pytest.mark.parametrize("manifest", ["", "{", "[]", "7", "[" * 100_000, '{"a":' * 100_000])
def test_a_plan_stays_as_it_is(manifest: str, tmp_path: Path) -> None:
    done = olmc.compile(write(tmp_path, {"plan.yaml": PLAN % manifest}))
    assert not done.failed, done.diagnostics
    (plan,) = (each.object for each in done.objects if each.object["kind"] == "InstallPlan")
    assert plan["status"]["phase"] == "Installing"
    assert not any(each.object["kind"] == "ConfigMap" for each in done.objects)
