"""Catalogs in, the settled cluster out: the cases of sections 10.2 to 10.4 of the specification (`plans/README.md`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from operator_manifests import OLM, csv
from rule_cases import differences, unequal
from scenarios import CATALOG, NAMESPACE, catalog_source, group, workspace, write

import olmc

FOLDER = Path(__file__).parent / "plans"
KEYS = {
    "id", "why", "catalog", "catalogs", "subs", "installed", "groups", "more", "manifests", "options", "expect",
}  # fmt: skip
EXPECTATIONS = {
    "plans", "settled", "states", "reason", "message", "steps", "alongside", "failed", "codes", "says", "objects",
    "absent",
}  # fmt: skip
ALONGSIDE = "operatorframework.io/installed-alongside-"


def scenarios() -> list[Mapping[str, Any]]:
    """The scenarios of all files; unknown keys are an error."""
    found: list[Mapping[str, Any]] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        found += yaml.safe_load(path.read_text(encoding="utf-8"))
    for each in found:
        unknown = {*(each.keys() - KEYS), *(each["expect"].keys() - EXPECTATIONS)}
        if unknown or not {"plans", "settled"} <= each["expect"].keys() or len(each["why"]) < 20:
            raise ValueError(f"{each['id']}: unknown keys {unknown}, or no plans, no settled, no reason")
    return found


SCENARIOS = scenarios()


def compiled(root: Path, scenario: Mapping[str, Any]) -> olmc.Compilation:
    values = scenario.get("options", {})
    options: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return olmc.compile(write(root, workspace(scenario)), olmc.Options(**options))


def of_kind(made: olmc.Compilation, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind, by name."""
    found = [rendered.object for rendered in made.objects if rendered.object["kind"] == kind]
    return sorted(found, key=lambda obj: obj["metadata"]["name"])


def install_plans(made: olmc.Compilation) -> list[dict[str, Any]]:
    return sorted(of_kind(made, "InstallPlan"), key=lambda plan: plan["spec"]["generation"])


def steps(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = [step["resource"] for step in plan["status"].get("plan") or ()]
    return found


def installs(plan: Mapping[str, Any]) -> list[str]:
    """`NAME replaces R` for each CSV of a plan, by the manifest of its step, inline or by reference."""
    found = []
    for step in steps(plan):
        if step["kind"] == "ClusterServiceVersion":
            manifest = json.loads(step["manifest"])
            replaces = manifest["replaces"] if manifest["kind"] == "ConfigMap" else manifest["spec"].get("replaces")
            found.append(f"{step['name']} replaces {replaces}" if replaces else step["name"])
    assert plan["spec"]["clusterServiceVersionNames"] == [text.partition(" ")[0] for text in found]
    return found


def state(subscription: Mapping[str, Any]) -> str:
    status = subscription.get("status") or {}
    return " ".join(status.get(key) or "-" for key in ("state", "currentCSV", "installedCSV"))


def condition(subscription: Mapping[str, Any], kind: str) -> tuple[str, str] | None:
    found = [each for each in subscription["status"].get("conditions", ()) if each["type"] == kind]
    assert all(each["status"] == "True" for each in found)
    return (found[0].get("reason", ""), found[0].get("message", "")) if found else None


def alongside(made: olmc.Compilation, name: str) -> list[str]:
    crd = next(obj for obj in of_kind(made, "CustomResourceDefinition") if obj["metadata"]["name"] == name)
    return sorted(v for key, v in crd["metadata"].get("annotations", {}).items() if key.startswith(ALONGSIDE))


def problems(expected: Mapping[str, Any], made: olmc.Compilation) -> Iterator[str]:
    """How a compilation differs from what a scenario expects."""
    subscriptions = {obj["metadata"]["name"]: obj for obj in of_kind(made, "Subscription")}
    plans = install_plans(made)
    yield from unequal("plans", expected["plans"], {plan["spec"]["generation"]: installs(plan) for plan in plans})
    names = [obj["metadata"]["name"] for obj in of_kind(made, "ClusterServiceVersion")]
    yield from unequal("settled", expected["settled"], names)
    if "states" in expected:
        yield from unequal("states", expected["states"], {name: state(obj) for name, obj in subscriptions.items()})
    if "steps" in expected:
        got = [f"{step['kind']} {step['name']}" for step in steps(plans[-1])]
        if not matches(got, expected["steps"]):
            yield from unequal("steps", expected["steps"], got)
    for name, values in expected.get("alongside", {}).items():
        yield from unequal(f"alongside of {name}", values, alongside(made, name))
    for name, failure in expected.get("failed", {}).items():
        yield from unequal(f"{name} failed", tuple(failure), condition(subscriptions[name], "InstallPlanFailed"))
    refused = (
        (expected.get("reason", "ConstraintsNotSatisfiable"), expected["message"]) if "message" in expected else None
    )
    if "failed" not in expected:
        for name, obj in subscriptions.items():
            yield from unequal(f"resolution of {name}", refused, condition(obj, "ResolutionFailed"))
    rest = {key: expected[key] for key in ("says", "objects", "absent") if key in expected}
    yield from differences(rest | ({"diagnostics": expected["codes"]} if "codes" in expected else {}), made)


def matches(got: Sequence[str], patterns: Sequence[str]) -> bool:
    return len(got) == len(patterns) and all(map(fnmatchcase, got, patterns))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each["id"])
def test_scenario(scenario: Mapping[str, Any], tmp_path: Path) -> None:
    made = compiled(tmp_path, scenario)
    found = list(problems(scenario["expect"], made))
    if found:
        said = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
        pytest.fail("\n".join([scenario["why"], *found, "olmc said:", *said]), pytrace=False)


def test_ids_are_unique() -> None:
    assert len({each["id"] for each in SCENARIOS}) == len(SCENARIOS)


def test_a_catalog_that_moves_on_t_cat_7e(tmp_path: Path) -> None:
    """What the old catalog left behind, as manifests beside the new catalog, is upgraded past the skipped release."""
    old = ["e.v0.9.0 0.9.0 e/alpha", "e.v0.9.1 0.9.1 e/alpha replaces e.v0.9.0"]
    first = compiled(tmp_path / "old", {"catalog": old, "subs": ["e e/alpha"]})
    assert [installs(plan) for plan in install_plans(first)] == [["e.v0.9.1 replaces e.v0.9.0"]]
    new = [*old, "e.v0.9.2 0.9.2 e/alpha replaces e.v0.9.0 skips e.v0.9.1"]
    left = [obj for kind in ("ClusterServiceVersion", "Subscription", "InstallPlan") for obj in of_kind(first, kind)]
    second = compiled(tmp_path / "new", {"catalog": new, "manifests": left})
    assert {plan["spec"]["generation"]: installs(plan) for plan in install_plans(second)} == {
        1: ["e.v0.9.1 replaces e.v0.9.0"],
        2: ["e.v0.9.2 replaces e.v0.9.1"],
    }
    assert [state(each) for each in of_kind(second, "Subscription")] == ["AtLatestKnown e.v0.9.2 e.v0.9.2"]
    assert [each["metadata"]["name"] for each in of_kind(second, "ClusterServiceVersion")] == ["e.v0.9.2"]


def test_a_skip_range_in_a_package_manifest_folder_t_cat_11(tmp_path: Path) -> None:
    """The head's annotation is enough for an upgrade from a version that the catalog does not have."""
    annotations = {"olm.skipRange": ">=4.1.0 <4.1.2"}
    head = {"name": "z.v4.1.2", "version": "4.1.2", "package": "z", "annotations": annotations}
    oldest = {"name": "z.v4.1.0", "version": "4.1.0", "package": "z"}
    package = {"packageName": "z", "channels": [{"name": "stable", "currentCSV": "z.v4.1.2"}]}
    installed = {"name": "z.v4.1.1", "version": "4.1.1", "package": "z"}
    ours = {"metadata": {"namespace": NAMESPACE}}
    subscription = {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": "z", "namespace": NAMESPACE},
        "spec": {"name": "z", "channel": "stable", "source": CATALOG, "sourceNamespace": NAMESPACE},
        "status": {"currentCSV": "z.v4.1.1", "installedCSV": "z.v4.1.1", "state": "AtLatestKnown"},
    }
    there = [group("og", {}), catalog_source(CATALOG), csv({**installed, "csv": ours}), subscription]
    write(
        tmp_path,
        {
            "cluster.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": there}),
            f"catalogs/{CATALOG}/z/z.package.yaml": json.dumps(package),
            f"catalogs/{CATALOG}/z/4.1.0/csv.yaml": json.dumps(csv(oldest)),
            f"catalogs/{CATALOG}/z/4.1.2/csv.yaml": json.dumps(csv(head)),
        },
    )
    made = olmc.compile(tmp_path)
    assert [installs(plan) for plan in install_plans(made)] == [["z.v4.1.2 replaces z.v4.1.1"]]
    assert made.phases == {(NAMESPACE, "z.v4.1.2"): ("Succeeded", "InstallSucceeded")}
