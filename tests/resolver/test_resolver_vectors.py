"""1,500 random namespaces are answered as OLM answered them, messages included (R-CAT-402 … R-CAT-571)."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from cpu_time import measure

from olmc.compiler.model.catalog import (
    Candidate,
    InstalledEntry,
    Property,
    Resolution,
    ResolveRequest,
    SubscriptionRequest,
    VisibleCatalog,
)
from olmc.compiler.resolver.explain import derivation
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.objects import CatalogKey


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[dict[str, Any]]:
    with gzip.open(shared / "spec" / "resolver-vectors.json.gz") as file:
        return list(json.load(file)["cases"])


def resolve_request(case: dict[str, Any]) -> ResolveRequest:
    """The question that a vector asks; a Subscription's catalog is visible even when it serves nothing."""
    catalogs: dict[CatalogKey, list[Candidate]] = defaultdict(list)
    for bundle in case["catalogs_bundles"]:
        key = CatalogKey(*reversed(bundle["cat"]))
        catalogs[key].append(
            Candidate(
                name=bundle["name"],
                package=bundle["pkg"],
                channel=bundle["ch"],
                catalog=key,
                version=bundle["ver"],
                properties=properties(bundle),
                default_channel=bundle["default"],
                replaces=bundle["replaces"],
                skips=tuple(bundle["skips"]),
                skip_range=bundle["range"] or "",
            )
        )
    requests = []
    for sub in case["subscriptions"]:
        installed = sub["installed"] or ""
        key = CatalogKey(*reversed(sub["cat"]))
        requests.append(
            SubscriptionRequest(sub["name"], sub["pkg"], sub["ch"], key, sub["starting"] or "", installed, installed)
        )
    return ResolveRequest(
        "ns",
        tuple(VisibleCatalog(key, 0, tuple(entries)) for key, entries in catalogs.items()),
        tuple(requests),
        tuple(InstalledEntry(csv["name"], csv["ver"], properties(csv)) for csv in case["existing"]),
    )


def properties(bundle: dict[str, Any]) -> tuple[Property, ...]:
    found = [Property("olm.package", {"packageName": bundle["pkg"], "version": bundle["ver"]})]
    found += [Property("olm.gvk", {"group": "g", "version": "v1", "kind": kind}) for kind in bundle["provides"]]
    for sort, kind in bundle["requires"]:
        assert sort == "gvk"
        found.append(Property("olm.gvk.required", {"group": "g", "version": "v1", "kind": kind}))
    return (*found, *((Property("olm.deprecated", {}),) if bundle["deprecated"] else ()))


def outcome(given: Resolution) -> str:
    """A resolution as the vectors write it."""
    if given.message:
        return f"ERR {given.message}"
    rows = []
    for selection in given.selections:
        entry = selection.candidate
        rows.append(f'{entry.name}@{entry.catalog.name}({entry.channel}) replaces="{selection.replaces}"')
    return "; ".join(sorted(rows))


def test_olm_gave_the_same_answer(cases: list[dict[str, Any]]) -> None:
    wrong = {
        case["id"]: got for case in cases if (got := outcome(resolve(resolve_request(case)))) not in case["outcomes"]
    }
    assert len(cases) == 1500
    assert wrong == {}


def test_every_failure_has_a_derivation(cases: list[dict[str, Any]]) -> None:
    failures = 0
    for case in cases:
        asked = resolve_request(case)
        given = resolve(asked)
        if given.conflict:
            failures += 1
            subjects = [line.text for line in derivation(asked, given) if line.depth == 1]
            # Each Subscription and each CSV that the message says exists is told of.
            assert len(subjects) == sum(text.endswith((" exists", "by a subscription")) for text in given.conflict)
    assert failures == 526


def test_they_take_a_few_seconds(cases: list[dict[str, Any]]) -> None:
    resolve_requests = [resolve_request(case) for case in cases]
    seconds = measure()
    for asked in resolve_requests:
        resolve(asked)
    assert seconds() < 5
