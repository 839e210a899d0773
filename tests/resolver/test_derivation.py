"""Explanations: what was asked, what there was, what ruled it out, where it stands, what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import write
from scenes import Scene, api, scenes, tea_workspace

import olmc
from olmc.compiler.model.catalog import Property, ResolveRequest
from olmc.compiler.resolver.explain import ExplanationLine, derivation, reasons
from olmc.compiler.resolver.resolve import resolve
from olmc.k8s.diagnostics import Location
from olmc.k8s.objects import CatalogKey

SCENES = {scene.id: scene for name in ("seed.yaml", "further.yaml", "rules.yaml") for scene in scenes(name)}


def told(scene: Scene) -> list[str]:
    """The derivation as text, two blanks a step."""
    lines = derivation(scene.resolve_request, resolve(scene.resolve_request))
    return ["  " * line.depth + line.text + (f" @{line.location}" if line.location else "") for line in lines]


def test_an_unmet_requirement() -> None:
    assert told(SCENES["T-CAT-50"]) == [
        "no choice of versions in namespace ns suits everything that is asked for",
        "  Subscription p asks for package p from channel s of catalog cat in ns @further.yaml/p",
        "    p.v1 (channel s, catalog cat) is a candidate, but @further.yaml/p.v1",
        "      it requires an operator providing an API with group: example.com, version: v1, kind: N2, and there is "
        "none @further.yaml/p.v1",
    ]


def test_rivals_and_an_upgrade_of_two_steps() -> None:
    assert told(SCENES["T-CAT-36"]) == [
        "no choice of versions in namespace ns suits everything that is asked for",
        "  Subscription p asks for package p from channel s of catalog cat in ns @further.yaml/p",
        "    p.v1 (channel s, catalog cat) is a candidate, but @further.yaml/p.v1",
        "      it requires an operator providing an API with group: example.com, version: v1, kind: X3 "
        "@further.yaml/p.v1",
        "        x.v3 (channel s, catalog cat) is a candidate, but @further.yaml/x.v3",
        "          it is of package x, as are the installed x.v1 and x.v2 (channel s, catalog cat), "
        "and a namespace can have only one",
        "  Subscription x asks for package x from channel s of catalog cat in ns, and has x.v1 installed "
        "@further.yaml/x",
        "    x.v2 (channel s, catalog cat) is a candidate, but @further.yaml/x.v2",
        "      it is of package x, as is x.v3 (channel s, catalog cat), and a namespace can have only one "
        "@further.yaml/x.v3",
        "    the installed x.v1 is a candidate, but @further.yaml/x.v1",
        "      it is of package x, as is x.v3 (channel s, catalog cat), and a namespace can have only one "
        "@further.yaml/x.v3",
    ]


def test_an_installed_csv_without_a_subscription() -> None:
    lines = told(SCENES["T-CAT-51"])
    assert lines[1] == "  f.v1 is installed without a Subscription and has to stay @further.yaml/f.v1"
    assert lines[2].startswith("    it requires an operator providing an API")


def test_a_deprecated_bundle_and_one_that_excludes_itself() -> None:
    assert told(SCENES["T-CAT-45 with nothing else"])[-1] == (
        "      it has the property olm.deprecated, with which nothing is installed @further.yaml/p.v2"
    )
    assert told(SCENES["T-CAT-55"])[-1] == (
        "      its properties say twice that it provides X (example.com/v1), which OLM takes for two rivals "
        "@further.yaml/p.v1"
    )


def test_errors_with_their_places() -> None:
    assert told(SCENES["T-CAT-53"]) == [
        "an error prevents the resolution of namespace ns",
        '  a requirement of p.v1 can\'t be read: parse olm.constraint: json: unknown field "nope" @further.yaml/p.v1',
    ]
    assert told(SCENES["T-CAT-42"])[1].endswith('of package "p": p.v1, p.v2 @further.yaml/p.v1')
    assert told(SCENES["R-CAT-566 the same bundle twice in one catalog and channel"])[1:] == [
        "  expected exactly one operator, got 2"
    ]


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"catalog": CatalogKey("ns", "cats")}, "no catalog cats in ns is visible; did you mean cat in ns?"),
        ({"catalog": CatalogKey("ns", "zzz")}, "no catalog zzz in ns is visible; there is cat in ns"),
        ({"package": "prometheuss"}, "the catalog cat has no package prometheuss; did you mean prometheus?"),
        ({"package": "zzz"}, "the catalog cat has no package zzz; there is kafka, prometheus"),
        ({"channel": "stabel"}, "the package prometheus has no channel stabel; did you mean stable?"),
        ({"channel": "1.x"}, "the package prometheus has no channel 1.x; there is alpha, stable"),
        (
            {"starting": "prometheus.v1"},
            "the channel stable has no entry prometheus.v1; did you mean prometheus.v1.0.0?",
        ),
        (
            {"starting": "prometheus.v1", "channel": ""},
            "the package prometheus has no entry prometheus.v1; did you mean prometheus.v1.0.0?",
        ),
    ],
)
def test_what_was_probably_meant(changes: dict[str, str], hint: str) -> None:
    (scene,) = scenes("names.yaml")
    request = scene.resolve_request.requests[0]._replace(**changes)  # type: ignore[arg-type]
    asked = scene.resolve_request._replace(requests=(request,))
    last = derivation(asked, resolve(asked))[-1]
    assert last == ExplanationLine(2, hint, Location("names.yaml/prometheus"))


@pytest.mark.parametrize(
    ("visible", "hint"),
    [
        (
            "cat",
            "no catalog operatorhubio-catalog in olm is visible; `olmc init workspace --operatorhub` notes in "
            "olmc.yaml that the cluster has it",
        ),
        (
            "operatorhubio-catalog",
            "no catalog operatorhubio-catalog in olm is visible; did you mean operatorhubio-catalog in ns?",
        ),
    ],
)
def test_a_catalog_of_the_platform_is_noted_unless_one_of_that_name_is_there(visible: str, hint: str) -> None:
    (scene,) = scenes("names.yaml")
    request = scene.resolve_request.requests[0]._replace(catalog=CatalogKey("olm", "operatorhubio-catalog"))
    catalogs = tuple(each._replace(key=CatalogKey("ns", visible)) for each in scene.resolve_request.catalogs)
    asked = scene.resolve_request._replace(requests=(request,), catalogs=catalogs)
    assert derivation(asked, resolve(asked))[-1].text == hint


def test_an_empty_catalog_is_said_to_be_empty() -> None:
    assert told(SCENES["T-CAT-41"])[-1] == "    the catalog cat is empty @further.yaml/p"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        (("olm.gvk.required", api("Kafkaa")), "did you mean Kafka (example.com/v1)?"),
        (("olm.gvk.required", {**api("Kafka"), "version": "v2"}), "did you mean Kafka (example.com/v1)?"),
        (("olm.gvk.required", api("Old")), "only entries that another one skips provide it: kafka.v1"),
        (
            ("olm.package.required", {"packageName": "kafkas", "versionRange": ">1.0.0"}),
            "there is no package kafkas; did you mean kafka?",
        ),
        (
            ("olm.package.required", {"packageName": "kafka", "versionRange": ">9.0.0"}),
            "no version of kafka on a channel is inside >9.0.0; there is 1.0.0, 2.0.0",
        ),
        (("olm.label.required", {"label": "gpus"}), "did you mean gpu?"),
        (("olm.label.required", {"label": "zzz"}), ""),
    ],
)
def test_what_comes_close_to_a_requirement(wanted: tuple[str, object], hint: str) -> None:
    (scene,) = scenes("names.yaml")
    (catalog,) = scene.resolve_request.catalogs
    entries = tuple(
        entry._replace(properties=(*entry.properties, Property(*wanted))) if entry.package == "prometheus" else entry
        for entry in catalog.entries
    )
    asked = scene.resolve_request._replace(catalogs=(catalog._replace(entries=entries),))
    last = derivation(asked, resolve(asked))[-1]
    assert last.text.endswith(f", and there is none: {hint}" if hint else ", and there is none")


def test_nothing_is_said_of_a_success() -> None:
    resolve_request = SCENES["T-CAT-3"].resolve_request
    assert derivation(resolve_request, resolve(resolve_request)) == ()
    assert derivation(ResolveRequest("ns", (), ()), resolve(ResolveRequest("ns", (), ()))) == ()


def test_reasons_of_picks() -> None:
    assert tuple(map(str, reasons(SCENES["T-CAT-3"].resolve_request))) == (
        "Subscription b",
        "a.v1 requires an operator providing an API with group: example.com, version: v1, kind: B",
    )
    assert reasons(SCENES["T-CAT-53"].resolve_request) == ()


def test_a_bundle_that_was_told_of_is_not_told_of_again() -> None:
    lines = [line.strip() for line in told(SCENES["R-CAT-570 one unmet requirement rules out two candidates"])]
    assert lines.count("b.v1 (channel s, catalog cat) is a candidate, but @rules.yaml/b.v1") == 2
    assert lines.count("it is ruled out as stated above") == 1
    assert sum("kind: Missing, and there is none" in line for line in lines) == 1


def test_a_requirement_that_can_not_be_read_stands_at_its_bundle(tmp_path: Path) -> None:
    """R-CAT-330: OLM names neither the bundle nor the place; the document with the channel is not the place."""
    files = tea_workspace("- {type: olm.constraint, value: {all: {constraints: [{gvk: {kin: Tea}}]}}}\n")
    (said,) = (each for each in olmc.compile(write(tmp_path, files)).diagnostics if each.code == "OLMC511")
    assert str(said.location) == "catalogs/tea/catalog.yaml:10:1"
    _, cause, way_out = said.hint.splitlines()
    text = 'a requirement of tea.v1 can\'t be read: parse olm.constraint: json: unknown field "kin"'
    assert cause == f"  {text} (catalogs/tea/catalog.yaml:10:1)"
    assert way_out.startswith("Correct the catalog; ")
