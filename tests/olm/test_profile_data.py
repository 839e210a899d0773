"""The data of the profiles: complete, in order, used, and the only thing that knows a version."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import olmc
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.profiles.data import (
    DOCS,
    UnknownVersionError,
    canonical,
    eras,
    field_of,
    formats,
    known_versions,
    newest,
    profile_of,
)
from olmc.compiler.olm.profiles.page import gaps_text, page

KNOWN = (*formats()["versions"], *formats()["named"])
ABOUT_THE_PROFILE = {"name", "gaps", "bundles_by", "feature_gates", "controller", "controller_is_admin"}

# What is not in the specification: features in which clusters of older versions differed, and what an OpenShift version
# got with a patch release only.
SEEN_IN_CLUSTERS = {
    "account.token",
    "bundle.unpacking",
    "catalog.objects",
    "csv.cleanup",
    "csv.finalizer",
    "csv.replaces.itself",
    "installplan.catalogSources",
    "resolver.catalog.error",
    "resolver.catalog.refused",
    "subscription.config",
    "subscription.unpackfailed",
    "subscription.unpacking",
}
IN_DOCUMENTS_ALONE = {"crd.update", "resolver.precedence"}
LATER_IN_OPENSHIFT = {"4.17": {"account.token": "0.28.0"}}


@functools.cache
def source_files(project: Path) -> list[tuple[str, ast.Module]]:
    paths = sorted((project / "olmc").rglob("*.py"))
    return [(path.relative_to(project).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def is_profile(node: ast.expr) -> bool:
    """Whether an expression is a Profile, going by the name that it always has."""
    return getattr(node, "attr", getattr(node, "id", None)) == "profile"


def uses(project: Path) -> set[str]:
    """The fields of Profile that olmc asks for."""
    return {
        node.attr
        for _, tree in source_files(project)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_profile(node.value)
    }


@pytest.mark.slow
def test_every_feature_is_used_and_every_use_is_a_feature(project: Path) -> None:
    features = {field_of(feature) for feature in formats()["features"]}
    assert uses(project) - ABOUT_THE_PROFILE == features
    assert set(Profile._fields) == features | ABOUT_THE_PROFILE


def is_version(node: ast.AST) -> bool:
    """Whether an expression is the name of a version of OLM: that of the options, or of a Profile."""
    return isinstance(node, ast.Attribute) and (
        node.attr == "olm_version" or (node.attr == "name" and is_profile(node.value))
    )


def bare_uses(tree: ast.Module) -> Iterator[ast.AST]:
    """Where a version is anything but handed on whole: as an argument, in a text, or where none was asked for."""
    handed_on: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            handed_on |= {*node.args, *(keyword.value for keyword in node.keywords)}
        if isinstance(node, ast.FormattedValue):
            handed_on.add(node.value)
        if isinstance(node, ast.BoolOp):
            handed_on.add(node.values[-1])
    yield from (node for node in ast.walk(tree) if is_version(node) and node not in handed_on)


@pytest.mark.slow
def test_nothing_else_branches_on_a_version(project: Path) -> None:
    """Outside of olmc/compiler/olm/profiles a version of OLM is handed on and shown, not compared or looked up."""
    for path, tree in source_files(project):
        if not path.startswith("olmc/compiler/olm/profiles/"):
            assert [f"{path}: {ast.unparse(node)}" for node in bare_uses(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "if profile.name == '0.25.0': pass",
        "profile.name in OLD",
        "OLD[world.profile.name]",
        "OLD[options.olm_version]",
        "cluster.profile.name.startswith('ocp-')",
        "version = options.olm_version",
        "match profile.name:\n  case _: pass",
    ],
)
def test_what_counts_as_branching(code: str) -> None:
    assert list(bare_uses(ast.parse(code)))


@pytest.mark.slow
def test_nothing_else_has_the_formats_of_a_version(project: Path) -> None:
    """Names of a newer OLM are data in olmc/compiler/olm/profiles: other versions have other names."""
    held = [
        f"{path}:{node.lineno}: {node.value}"
        for path, tree in source_files(project)
        if not path.startswith(("olmc/compiler/olm/profiles/", "olmc/compiler/rules/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("olm.og.")
    ]
    assert held == []


def test_eras_stand_in_the_order_of_the_versions() -> None:
    """Each begins with a version that there is, the first with the first, and two neighbours differ."""
    versions = formats()["versions"]
    for feature, found in formats()["features"].items():
        places = [versions.index(era["since"]) for era in found["eras"]]
        assert places[0] == 0, feature
        assert places == sorted(set(places)), feature
        for one, other in zip(found["eras"], found["eras"][1:], strict=False):
            assert {**one, "since": ""} != {**other, "since": ""}, feature
        assert not any(era.get("text", "").startswith(("as before", "and ")) for era in found["eras"]), feature
        assert found["section"], feature
        assert found["title"], feature


def test_blends_take_what_there_is() -> None:
    for name, blend in formats()["named"].items():
        assert blend["base"] in formats()["versions"], name
        assert set(blend.get("like") or {}) <= set(formats()["features"]), name
        assert set(blend.get("like", {}).values()) <= set(formats()["versions"]), name
        for feature, era in (blend.get("values") or {}).items():
            assert type(era["value"]) is type(formats()["features"][feature]["eras"][0]["value"]), (name, feature)


@pytest.mark.parametrize("name", KNOWN)
def test_every_version_has_a_value_for_every_feature(name: str) -> None:
    profile = profile_of(name)
    assert profile.name == name
    assert [feature for feature, _ in eras(name)] == list(formats()["features"])
    assert len(profile) == len(formats()["features"]) + len(ABOUT_THE_PROFILE)


def test_the_newest_is_the_default(project: Path) -> None:
    """In the options, in olmc.yaml, and on the page of the version."""
    schema = json.loads((project / "schemas/olmc.schema.json").read_text(encoding="utf-8"))
    default = schema["properties"]["spec"]["properties"]["olmVersion"]["default"]
    assert newest() == olmc.Options().olm_version == default
    assert profile_of(newest()).gaps == {}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("0.13", "0.13.0"),
        ("v0.17", "0.17.0"),
        ("0.15", "0.15.1"),
        ("0.18.0", "0.18.0"),
        ("v0.18", "0.18.3"),
        ("v0.46.0", "0.46.0"),
        ("ocp-4.14", "ocp-4.14"),
        ("docs", "docs"),
    ],
)
def test_names_of_versions(given: str, name: str) -> None:
    assert canonical(given) == name


@pytest.mark.parametrize("given", ["", "0.47", "0.7.1", "0.18.9", "4.14", "ocp-4.21", "latest", "0", "v", "Docs"])
def test_versions_that_there_are_not(given: str) -> None:
    with pytest.raises(UnknownVersionError) as caught:
        canonical(given)
    assert str(caught.value) == f"olmc knows no OLM version {given}"
    v1 = "next, v1, v1-experimental, v1-openshift, v1-openshift-experimental, v1.0 … v1.11-experimental"
    assert f"Known are 0.8 … 0.46.0, ocp-4.1 … ocp-4.20, {v1}, docs." in caught.value.hint


def test_what_users_may_ask_for() -> None:
    known = known_versions()
    assert (known[0], known[-1]) == ("0.8", DOCS)
    assert {"0.13", "0.17", "0.25", "0.46", "ocp-4.3", "ocp-4.20"} <= set(known)
    assert all(canonical(version) for version in known)


def test_the_page_is_current(project: Path) -> None:
    """docs/olm-versions.md is what `python -m olmc.compiler.olm.profiles.page` prints."""
    assert (project / "docs" / "olm-versions.md").read_text(encoding="utf-8") == page()


def test_what_is_random_is_told_of_the_versions_in_which_it_is() -> None:
    """The order of a bundle's objects up to 0.31, on the page, in `gaps` and by `olmc version --profile`."""
    text = "the order of a bundle's objects in its InstallPlan, which is random"
    told_of = {"0.8.1": True, "0.31.0": True, "ocp-4.18": True, "0.32.0": False, "ocp-4.19": False, "0.46.0": False}
    for version, told in told_of.items():
        assert any(text in gap for gap in profile_of(version).gaps.values()) is told, version
        assert (text in " ".join(gaps_text(version).split())) is told, version
    assert f"| 0.8.1 | 0.31.0 | {text};" in page()


def test_the_page_says_what_was_compared_with_clusters() -> None:
    assert "OLM 0.17.0, 0.22.0, 0.28.0, 0.32.0, 0.38.0 and 0.46.0 ran on a real API server" in page()
    assert set(formats()["compared"]) <= set(formats()["versions"])
    told = {feature for feature, found in formats()["features"].items() if "known" in found}
    assert told == SEEN_IN_CLUSTERS | {"copied.metadata", "deploy.annotations.precedence", "deploy.env.merge"}
    assert all(f"*How it is known:* {formats()['features'][feature]['known']}\n" in page() for feature in told)


def test_gaps_that_are_no_features_have_a_name_of_their_own() -> None:
    versions = formats()["versions"]
    for name, found in formats()["gaps"].items():
        assert name not in formats()["features"]
        assert versions.index(found["since"]) <= versions.index(found["until"])


def numbered(text: str) -> list[str]:
    """The numbers of a table's rows."""
    return re.findall(r"^\| (\d+) \|", text, re.MULTILINE)


def test_every_disagreement_is_on_the_page(project: Path, shared: Path) -> None:
    """docs/differences.md has the rows of the specification, under their numbers, and more."""
    ours = numbered((project / "docs" / "differences.md").read_text(encoding="utf-8"))
    theirs = numbered((shared / "spec" / "olm-versions.md").read_text(encoding="utf-8"))
    assert ours == [str(number) for number in range(1, len(ours) + 1)]
    assert ours[: len(theirs)] == theirs
    assert len(theirs) == 17


@pytest.fixture(scope="module")
def specified(shared: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((shared / "spec/olm-versions.json").read_text("utf-8"))
    return document


def test_the_eras_are_those_of_the_specification(specified: dict[str, Any]) -> None:
    """60 features with the versions in which each changed; there, one may begin later than with the first.

    Further ones are those in which clusters differed, and those in which only the documents do.
    """
    assert len(specified["features"]) == 60
    known = {feature["id"] for feature in specified["features"]}
    assert formats()["features"].keys() - known == SEEN_IN_CLUSTERS | IN_DOCUMENTS_ALONE
    assert known <= formats()["features"].keys()
    for feature in specified["features"]:
        theirs = [era["since"].removeprefix("v") for era in feature["eras"]]
        ours = [era["since"] for era in formats()["features"][feature["id"]]["eras"]]
        assert ours in (theirs, ["0.8.1", *theirs]), feature["id"]
    theirs = [tag.removeprefix("v") for tag in specified["tags"]]
    assert formats()["versions"] == theirs[theirs.index("0.8.1") :]


def test_openshift_is_that_of_the_specification(specified: dict[str, Any]) -> None:
    for row in specified["openshift"]:
        blend = formats()["named"][f"ocp-{row['ocp']}"]
        assert blend["base"] == row["base_tag_at_GA"].removeprefix("v")
        like = {f: tag.removeprefix("v") for tag, found in row["features_taken_from_other_tag"].items() for f in found}
        further = LATER_IN_OPENSHIFT.get(row["ocp"], {})
        assert blend.get("like", {}) == like | further
        assert ("note" in blend) == bool(row["backports"] or further) or row["ocp"] == "4.5"
    assert len(specified["openshift"]) == 20
    own = formats()["named"]["ocp-4.14"]["values"]["og.clusterrole.name"]["value"]
    theirs = specified["optional_profiles"]["ocp-4.14"]["overrides"]["og.clusterrole.name"]
    assert all(name in theirs for name in own if name != "*")
    assert len(own) == 10
