"""Permissions of whole workspaces: what a CSV asks for is what its account has, and what OLM's own check sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from commands import olmc
from rule_cases import Case, cases, compile_case, options
from tiers import sampled

from olmc.compiler.api import Compilation
from olmc.compiler.model.cluster import CsvState
from olmc.k8s.api.rbac import decode_rules, normalize, subtract
from olmc.k8s.api.rbac_access import access, with_groups
from olmc.k8s.api.restmapper import resources_outside_namespaces
from olmc.k8s.objects import ACCOUNT, PolicyRule, Subject
from olmc.review.explain.metrics import as_prometheus
from olmc.review.explain.missing import PRESENT, why
from olmc.review.explain.missing import as_text as why_as_text
from olmc.review.explain.status import ExplainContext, as_table, csv_names, operators, packages
from olmc.review.rbac.subjects import Grant, finder, gainers, holders, permissions
from olmc.review.rbac.who_can import as_text

RULE_CASES = [
    case for folder in ("reconcile", "render") for case in cases(Path(__file__).parents[1] / folder / "cases")
]


def wanted(member: CsvState, outside: frozenset[tuple[str, str]]) -> Iterator[tuple[Subject, str, PolicyRule]]:
    """The rules that an install strategy asks for: for whom, where ("" for the cluster), and what."""
    csv = member.csv
    for namespace, entries in ((csv.namespace, csv.permissions), ("", csv.cluster_permissions)):
        for entry in entries:
            subject = Subject(ACCOUNT, csv.namespace, entry.account)
            for rule in decode_rules(entry.rules):
                yield from (
                    (subject, namespace, part) for part in normalize(rule) if not namespace or is_local(part, outside)
                )


def have(subject: Subject, namespace: str, grants: tuple[Grant, ...]) -> list[PolicyRule]:
    everything = with_groups(subject)
    return [grant.rule for grant in grants if grant.subject in everything and grant.namespace in ("", namespace)]


def is_local(part: PolicyRule, outside: frozenset[tuple[str, str]]) -> bool:
    """Whether a rule for one resource gives something in a namespace."""
    pairs = {(group, resource.partition("/")[0]) for group in part.groups for resource in part.resources}
    return not part.urls and not pairs <= outside


def as_olm_sees_it(made: Compilation) -> set[tuple[Subject, str, PolicyRule]]:
    """The rules by account and namespace by which OLM judges requirements (R-PERM-2), as far as they give anything: OLM
    counts a rule for nodes in a Role, which no API server does."""
    outside = resources_outside_namespaces(found.object for found in made.objects)
    seen = access({found.identity: found for found in made.objects})
    found = set()
    for subject, rules in seen.cluster.items():
        found |= {(subject, "", part) for rule in rules for part in normalize(rule)}
    for (subject, where), rules in seen.local.items():
        found |= {(subject, where, part) for rule in rules for part in normalize(rule) if is_local(part, outside)}
    return {each for each in found if each[0].kind == ACCOUNT}


def as_told(made: Compilation) -> set[tuple[Subject, str | None, PolicyRule]]:
    """The same from the effective permissions; the check counts no aggregated roles (R-PERM-5), and of the roles that
    every cluster has one."""
    return {
        (grant.subject, grant.namespace, grant.rule)
        for grant in permissions(made.objects).grants
        if grant.subject.kind == ACCOUNT
        and grant.source == grant.role
        and (grant.source_provenance or grant.role.name == "cluster-admin")
    }


def check_permissions(made: Compilation) -> int:
    """Accounts have what their CSVs ask for, as long as a plan has run; how many rules were looked at."""
    assert made.settled is not None
    assert as_told(made) == as_olm_sees_it(made)
    grants = permissions(made.objects).grants
    looked_at = 0
    outside = resources_outside_namespaces(found.object for found in made.objects)
    for member in made.settled.cluster.members.values():
        for subject, namespace, rule in wanted(member, outside) if member.succeeded else ():
            assert not subtract(rule, have(subject, namespace, grants)), (subject, namespace, rule)
            looked_at += 1
    return looked_at


# A few, since other tests compile each of them.
@pytest.mark.parametrize("case", sampled(RULE_CASES, 8), ids=lambda case: case.id)
def test_every_rule_case_can_be_looked_at(case: Case, case_folder: Path) -> None:
    """Permissions agree with OLM's check; everything that there is, and every package, has an answer."""
    asked = options({**case.document.get("olmc", {}), "purpose": "review"})  # the commands look at nothing else
    made = compile_case(case, asked, case_folder)
    if made.settled is None or made.workspace is None or made.failed:
        return
    check_permissions(made)
    found = permissions(made.objects)
    text = as_text(holders(found, made.objects), gainers(found), finder(made.objects, made.settled.cluster))
    assert text.endswith("\n")
    rows = operators(made.settled)
    assert all(row.missing for row in rows if row.fails), rows
    assert made.findings or not any(row.fails for row in rows)
    table = as_table([("", row) for row in rows]).splitlines()
    # Reasons are indented, and those of several rows have a number.
    assert len([line for line in table if not line.startswith((" ", "["))]) == len(rows) + bool(rows)
    assert as_prometheus(made.settled).startswith("# HELP catalog_source_count")
    scene = ExplainContext(made.objects, made.settled, made.workspace.bundles)
    for target in (*(str(each.identity) for each in made.objects), *sorted({*csv_names(scene), *packages(scene)})):
        answers = why(target, scene)
        assert answers, target
        assert all(answer.lines for answer in answers if answer.state != PRESENT), target
        assert why_as_text(answers).startswith(str(answers[0].what)[:20])


def test_accounts_of_real_operators(corpus: list[Path], compiled: Callable[..., Compilation]) -> None:
    """Each rule of their CSVs holds, and its place is in the CSV."""
    looked_at = 0
    for bundle in corpus[::12]:
        made = compiled(bundle)
        looked_at += check_permissions(made)
        assert made.settled is not None
        find = finder(made.objects, made.settled.cluster)
        for grant in permissions(made.objects).grants:
            if grant.source_provenance is not None and grant.source_provenance.rule == "R-SA-1":
                place = find(grant)
                assert place is not None
                assert place.path.startswith("manifests/")
                line = (bundle / place.path).read_text(encoding="utf-8").splitlines()[place.line - 1]
                assert yaml.safe_load(line), (place, line)
                assert place.line > 1
    assert looked_at > 150


@pytest.mark.parametrize(
    ("old", "new", "unknown"),
    [
        ("channel: stable", "channel: stabel", "package lantern has no channel stabel"),
        ("  name: lantern\n  source", "  name: lanter\n  source", "catalog harbour has no package lanter"),
        ("source: harbour", "source: harbor", "the workspace has no content of catalog harbor"),
    ],
)
def test_an_operator_without_a_version_is_unknown_for_its_own_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, unknown: str
) -> None:
    """A catalog that has the package does not count as one without it."""
    monkeypatch.chdir(tmp_path)
    assert olmc("init", "example", "harbour").exit_code == 0
    operators = tmp_path / "harbour" / "operators.yaml"
    operators.write_text(operators.read_text().replace("  startingCSV: lantern.v1.0.0\n", "").replace(old, new))
    assert f"Subscription tower/lantern: {unknown}\n" in olmc("rbac", "harbour").stderr
