"""Small input that gives rights to many: what it takes is bounded, and so is what is written about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_costs import workspace
from test_input_limits import olmc

HEAD = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
AGGREGATED = HEAD + "ClusterRole\nmetadata: {{name: a{0}, labels: {{l: l{0}}}}}\naggregationRule: {1}\n"
RULE = "- {{apiGroups: [''], resources: [{0}], verbs: [get]}}\n"
EVERYTHING = "{clusterRoleSelectors: [{}]}"
NEXT = "{{clusterRoleSelectors: [{{matchExpressions: [{{key: l, operator: In, values: [l{0}]}}]}}]}}"


@pytest.mark.parametrize("command", ["rbac new", "rbac who-can get secrets new", "diff old new"])
@pytest.mark.parametrize("shape", ["each selects all", "each selects the next"])
def test_thousands_of_roles_that_select_each_other(
    tmp_path: Path, command: str, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace(tmp_path / "old")
    one = EVERYTHING if shape == "each selects all" else ""
    roles = [AGGREGATED.format(number, one or NEXT.format(number + 1)) for number in range(1_200)]
    own = HEAD + "ClusterRole\nmetadata: {name: own, labels: {l: l1200}}\nrules:\n" + RULE.format("secrets")
    (workspace(tmp_path / "new") / "roles.yaml").write_text("---\n".join((*roles, own)))
    monkeypatch.chdir(tmp_path)
    done = olmc(*command.split())
    assert done.returncode == (1 if command.startswith("diff") else 0), done.stderr
