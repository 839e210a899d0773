"""Plans are safe with strangers' names, and whole in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from transition_cases import state_after

from olmc.cli.main import main
from olmc.compiler.output.messages import in_black
from olmc.review.plan.leftovers import AppliedChange, Plan, Task
from olmc.review.plan.outcomes import OperatorOutcome
from olmc.review.plan.outputs import as_html, as_markdown, as_text

HOSTILE = "a|b`c`<img src=x onerror=alert(1)>\x1b[31m"


@pytest.fixture
def hostile(project: Path) -> Plan:
    from olmc.k8s.objects import ObjectKey
    from olmc.review.diff.compare import compare
    from olmc.review.diff.settings import Side
    from olmc.targets.pipeline import compile

    done = compile(project / "fixtures" / "own-namespace")
    side = Side(HOSTILE, tuple(rendered.object for rendered in done.objects), done.settled)
    row = OperatorOutcome("ns", HOSTILE, "", "", HOSTILE, "1.0.0", "Failed", "failing", HOSTILE)
    applied = AppliedChange("create", ObjectKey("", "ConfigMap", "ns", HOSTILE))
    return Plan((applied,), (), (row,), (), compare(side, side), (Task(HOSTILE, HOSTILE),))


def test_text_has_no_escape_of_the_input(hostile: Plan) -> None:
    assert "\x1b" not in as_text(hostile)
    assert in_black("x", "bold") == "x"


def test_markdown_has_no_markup_of_the_input(hostile: Plan) -> None:
    text = as_markdown(hostile)
    assert "\x1b" not in text
    # It stands in code spans only, of two backticks, as it has single ones itself.
    outside = ["".join(line.split("``")[::2]) for line in text.splitlines()]
    assert any("<img" in line for line in text.splitlines())
    assert not any("<img" in line for line in outside)
    assert all(line.replace("\\|", "").count("|") == 7 for line in text.splitlines() if line.startswith("| "))


def test_html_has_no_markup_of_the_input(hostile: Plan) -> None:
    page = as_html(hostile)
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_a_long_section_is_cut_and_says_so(tmp_path: Path, project: Path) -> None:
    workspace = tmp_path / "after"
    workspace.mkdir()
    fixture = project / "fixtures" / "own-namespace"
    for path in fixture.rglob("*"):
        if path.is_file():
            target = workspace / path.relative_to(fixture)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    documents = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{n:02}, namespace: harbour}}\n" for n in range(30)
    )
    (workspace / "maps.yaml").write_text(documents)
    arguments = ["plan", str(workspace), "--from", str(fixture)]
    short = CliRunner().invoke(main, arguments).stdout
    assert "  … and 20 more lines (-v shows them)\n" in short
    assert "map-29: created" not in short
    assert "map-29: created" in CliRunner().invoke(main, [*arguments, "-v"]).stdout


def test_a_state_is_what_a_workspace_leaves(project: Path) -> None:
    state = state_after(project / "fixtures" / "own-namespace")
    kinds = {key.kind for key in state.objects}
    assert {"ClusterServiceVersion", "Deployment", "InstallPlan", "Operator"} <= kinds
    assert {key.kind for key in state.applied} == {"CatalogSource", "Namespace", "OperatorGroup", "Subscription"}
