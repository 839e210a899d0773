"""What a GitOps tool applies: only what differs from what it has applied before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from click.testing import CliRunner

from olmc.cli.main import main

GROUP = """
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: harbour, namespace: harbour}
spec:
  targetNamespaces: [harbour]
  selector: {matchLabels: {}}
  serviceAccountName: ''
"""


def test_what_olm_leaves_out_of_a_group_is_no_change(project: Path, tmp_path: Path) -> None:
    """R-OG-13: with the annotation OLM writes the spec without what is empty, and the repository still has it."""
    folder = tmp_path / "repository"
    shutil.copytree(project / "fixtures/transitions/subscription-removed/before", folder)
    operators = (folder / "operators.yaml").read_text(encoding="utf-8")
    others = [text for text in operators.split("---\n") if "kind: OperatorGroup" not in text]
    (folder / "operators.yaml").write_text("---\n".join([*others, GROUP]), encoding="utf-8")
    result = CliRunner().invoke(main, ["plan", str(folder), "--from", str(folder), "-o", "json"])
    plan = json.loads(result.stdout)
    assert plan["operators"][0]["phase"] == "Succeeded"
    assert plan["applied"] == []
