"""Output for apply: a case of `apply/` each (see ../settle/README.md), and what holds for all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import write_workspace
from rule_cases import Case, cases, run

import olmc

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.mark.parametrize("case", cases(Path(__file__).parent / "apply"), ids=lambda case: case.name)
def test_apply(case: Case, tmp_path: Path) -> None:
    problems = run(case, tmp_path)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def spaces(made: olmc.Compilation) -> list[str]:
    return [found.identity.name for found in made.objects if found.identity.kind == "Namespace"]


def test_of_a_bundle_that_watches_another_namespace_only_its_own_is_ours(tmp_path: Path) -> None:
    """Applied and deleted again, the output must not take the watched namespace with it."""
    write_workspace(tmp_path, {"operators": [{"name": "kettle.v1.0.0", "permissions": {"brewer": ["get pods"]}}]})
    root = next((tmp_path / "bundles").iterdir())
    made = olmc.compile(root, olmc.Options(purpose="apply", install_namespace="a", watch=("b", "default")))
    assert spaces(made) == ["a"]
    assert "b" in {found.identity.namespace for found in made.objects}
    (told,) = [each for each in made.diagnostics if each.code == "OLMC326"]
    assert told.message.startswith("the output has objects for namespace b and does not create it")
    review = olmc.compile(root, olmc.Options(install_namespace="a", watch=("b",)))
    assert {"a", "b"} <= set(spaces(review))
    assert "OLMC326" not in {each.code for each in review.diagnostics}


def test_the_default_namespace_is_not_ours_either() -> None:
    made = olmc.compile(
        FIXTURES / "bare-bundle", olmc.Options(purpose="apply", install_namespace="default", watch=("default",))
    )
    assert spaces(made) == []
    assert "Deployment/default/beacon-controller" in {str(found.identity) for found in made.objects}
