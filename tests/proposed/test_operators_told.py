"""What people are told about Operators and Installs: the workspaces of `told.yaml`, in the notation of
tests/reconcile/README.md. `said` are all diagnostics with place, code, message and hint; `why` answers by target;
`status`, `wide` and `resolve` the tables. `statement` says which statement or rule the case is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from jsonschema import Draft202012Validator
from rule_cases import options

import olmc
from olmc.review.explain.missing import as_text, why
from olmc.review.explain.resolution import as_data, hops, operator_hops, resolutions
from olmc.review.explain.resolution import as_table as as_rows
from olmc.review.explain.status import ExplainContext, as_table, operators

CASES = yaml.safe_load(Path(__file__).with_name("told.yaml").read_text(encoding="utf-8"))
KEYS = {"title", "statement", "namespaces", "groups", "operators", "manifests", "files", "olmc"}
MADE_UP = ("namespace cluster", "@existing/cluster/", "subscription tea", "Subscription tea")


def compiled(case: Mapping[str, Any], root: Path) -> olmc.Compilation:
    write_workspace(root, case)
    return olmc.compile(root, options(case.get("olmc", {})))


def told(kind: str, wanted: Any, done: olmc.Compilation) -> Any:
    """What there is to say of a kind, in the shape that a case expects it in."""
    if kind == "said":
        return [f"{d.location} {d.code} {d.message} | {d.hint}" for d in done.diagnostics]
    assert done.settled is not None
    assert done.workspace is not None
    rows = [("", each) for each in operators(done.settled, done.operators)]
    match kind:
        case "why":
            scene = ExplainContext(
                done.objects, done.settled, done.workspace.bundles, done.workspace.manifests, done.diagnostics,
                done.operators, (), done.installs,
            )  # fmt: skip
            return {target: as_text(why(target, scene)) for target in wanted}
        case "status":
            return as_table(rows)
        case "wide":
            return as_table(rows, wide=True)
        case "resolve":
            return as_rows((*hops(done.settled), *operator_hops(done.operators)))
        case _:
            raise ValueError(kind)


@pytest.mark.parametrize("case", [pytest.param(each, id=each["title"]) for each in CASES])
def test_told(case: Mapping[str, Any], tmp_path: Path) -> None:
    done = compiled(case, tmp_path)
    wanted = {key: value for key, value in case.items() if key not in KEYS}
    assert wanted
    assert {key: told(key, value, done) for key, value in wanted.items()} == wanted


@pytest.mark.parametrize("case", [pytest.param(each, id=each["title"]) for each in CASES])
def test_nothing_is_made_up(case: Mapping[str, Any], tmp_path: Path, project: Path) -> None:
    """Whatever is said about Operators is said in words that the workspace has: no namespace `cluster`, no Subscription
    where there is an Operator; and the JSON of `olmc resolve` is what its schema promises."""
    done = compiled(case, tmp_path)
    texts = [*told("said", [], done), *(json.dumps(found.object) for found in done.objects)]
    if done.settled is not None:
        texts += [told(kind, None, done) for kind in ("wide", "resolve")]
        data = as_data(resolutions(done.settled), done.operators)
        Draft202012Validator(json.loads((project / "schemas/resolution.schema.json").read_text())).validate(data)
        texts.append(json.dumps(data))
    assert [(word, text) for word in MADE_UP for text in texts if word in text] == []


def test_bundles_serve_only_operators_that_are_heeded(tmp_path: Path) -> None:
    """R-OPERATOR-1: without the option no catalog is made up for what an Operator asks (D8)."""
    (case,) = (each for each in CASES if each["title"] == "bundle folders without a catalog")
    for wanted, changed in ({"own"}, {}), (set(), {"olmc": {"operators_and_installs": False}}):
        done = compiled({**case, **changed}, tmp_path)
        assert done.workspace is not None
        assert set(done.workspace.catalogs) == wanted
