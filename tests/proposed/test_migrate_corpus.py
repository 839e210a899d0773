"""Migrations of all real operators: what runs before runs after, in the same namespaces, with the same permissions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from corpus_workspaces import NAMESPACE, operator_workspace, supported_mode

import olmc
from olmc.compiler.model.cluster import NamespacedName
from olmc.review.diff.crd_kinds import plain
from olmc.review.diff.operators import operators as operators_of
from olmc.review.diff.permissions import SideAccess, access, permission_changes
from olmc.review.diff.webhooks import permission_gained, permission_lost, role_gained, role_lost
from olmc.review.migrate.proposed import migrate

# OLM's own bookkeeping, and the accounts and grants by which Installs are applied.
BOOKKEEPING = {"Subscription", "InstallPlan", "Operator", "Install"}


def running(made: olmc.Compilation) -> dict[tuple[str, str, str], Any]:
    """What runs: every object that is not OLM's bookkeeping or a copy, without what says who collects it."""
    objects: dict[tuple[str, str, str], Any] = {}
    accounts = {f"olm/{r.identity.name}" for r in made.objects if r.identity.kind == "Install"}
    for rendered in made.objects:
        key, obj = rendered.identity, json.loads(json.dumps(rendered.object))
        metadata = obj["metadata"]
        labels = metadata.get("labels") or {}
        of_install = f"{key.namespace}/{key.name}" in accounts or any(
            str(metadata.get("generateName")) == f"{account.partition('/')[2]}-" for account in accounts
        )
        if key.kind in BOOKKEEPING or "olm.copiedFrom" in labels or of_install:
            continue
        metadata["labels"] = {k: v for k, v in labels.items() if not k.startswith("operators.coreos.com/")}
        metadata.pop("ownerReferences", None)
        objects[key.kind, key.namespace, key.name] = obj
    return objects


def access_of(made: olmc.Compilation) -> SideAccess:
    """Who may do what once a workspace is compiled."""
    objects = [rendered.object for rendered in made.objects]
    return access(objects, operators_of(objects))


@pytest.mark.usefixtures("read_once")
def test_real_operators_run_on(corpus: list[Path], tmp_path: Path) -> None:
    """R-OPERATOR-13: an operator that runs becomes an Operator, and everything that runs runs on as it did."""
    outcomes: Counter[str] = Counter()
    for number, bundle in enumerate(corpus[::4]):
        mode = supported_mode(bundle, number)
        root = tmp_path / str(number)
        csv = operator_workspace(root, bundle, mode)
        before = olmc.compile(root)
        done = migrate(root, "operators")
        for change in done.changes:
            (root / change.path).write_text(change.after)
        after = olmc.compile(root)
        was, now = running(before), running(after)
        assert was.keys() == now.keys(), (bundle, mode, was.keys() ^ now.keys())
        assert was == now, (bundle, mode, [key for key in was if was[key] != now[key]])
        assert before.phases == after.phases, (bundle, mode)
        reasons = [remark.message for remark in done.remarks if remark.code == "OLMC695"]
        assert bool(reasons) != bool(done.changes), (bundle, mode, reasons)
        runs = before.phases[NamespacedName(NAMESPACE, csv)] == ("Succeeded", "InstallSucceeded")
        assert bool(done.changes) <= runs, (bundle, mode)
        outcomes["moved" if done.changes else "left" if runs else "not running"] += 1
    assert outcomes["moved"] >= 45, outcomes
    assert outcomes["left"] <= 2, outcomes


@pytest.mark.usefixtures("read_once")
def test_descoped_operators_run_on(corpus: list[Path], tmp_path: Path) -> None:
    """R-DESCOPE-8: what runs goes on, loses no permission, and each that it gains is named (OLMC693)."""
    outcomes: Counter[str] = Counter()
    for number, bundle in enumerate(corpus[::8]):
        root = tmp_path / str(number)
        csv = operator_workspace(root, bundle, supported_mode(bundle, number))
        before = olmc.compile(root, olmc.Options(descoped=True))
        done = migrate(root, "descoped")
        for change in done.changes:
            (root / change.path).write_text(change.after)
        after = olmc.compile(root, olmc.Options(descoped=True))
        named = {remark.message for remark in done.remarks if remark.code == "OLMC693"}
        changes = list(permission_changes(access_of(before), access_of(after)))
        assert not [c for c in changes if c.kind in (permission_lost, role_lost)], bundle
        gained = {f"{c.identity} {plain(c.message)}" for c in changes if c.kind in (permission_gained, role_gained)}
        assert gained <= named, (bundle, gained - named)
        key = NamespacedName(NAMESPACE, csv)
        if before.phases[key][0] == "Succeeded":
            assert after.phases[key][0] == "Succeeded", bundle
            outcomes["changed" if done.changes else "same"] += 1
    assert outcomes["changed"] >= 5, outcomes
    assert outcomes["same"] >= 5, outcomes
