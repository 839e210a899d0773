"""What is said of the settings of two workspaces, and of what is left out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from kit import HERE, lines

from olmc.compiler.load.build_files import BuildFile, builder
from olmc.compiler.load.deciding_files import Decider, Deciders
from olmc.compiler.load.suppressions import Suppression
from olmc.compiler.model.workspace import LeftObject, LeftOut, Reason
from olmc.k8s.diagnostics import Location
from olmc.k8s.objects import ObjectKey
from olmc.review.diff.compare import compare
from olmc.review.diff.settings import Side, SideSettings

DATA = yaml.safe_load((HERE / "settings.yaml").read_text(encoding="utf-8"))


def side(name: str, given: Mapping[str, Any]) -> Side:
    accepts = (
        Suppression(code, reason, Location(path), pattern=pattern)
        for path, code, reason, pattern in given.get("accepts", ())
    )
    builds = {path: build_file(path, *text.split(" by ")) for path, text in given.get("builds", {}).items()}
    named = (decider(key, text) for key, text in given.get("deciders", {}).items())
    deciders = Deciders(dict(named), given.get("place"))
    settings = SideSettings(given.get("config", {}), tuple(given.get("ignore", ())), tuple(accepts), builds, deciders)
    return Side(name, (), left_out=tuple(map(left_out, given.get("leaves", ()))), settings=settings)


def build_file(path: str, digest: str, lead: str = "") -> BuildFile:
    return BuildFile(builder(lead or path), digest, lead)


def decider(key: str, text: str) -> tuple[Decider, str]:
    path, _, lead = key.partition(" by ")
    effect, _, digest = text.rpartition(" ")
    return Decider(path, lead, effect), digest


def left_out(given: Mapping[str, Any]) -> LeftOut:
    objects = tuple(LeftObject(identity(name), digest) for name, digest in given.get("objects", {}).items())
    digest, problem = given.get("digest", ""), given.get("problem", "")
    return LeftOut(Location(given["path"]), Reason(given["reason"]), objects, digest, problem)


def identity(text: str) -> ObjectKey:
    kind, *namespace, name = text.split("/")
    return ObjectKey("", kind, "".join(namespace), name)


SIDES = [(side("old", case["old"]), side("new", case["new"])) for case in DATA]


@pytest.mark.parametrize("number", range(len(DATA)), ids=[case["title"].replace(" ", "-") for case in DATA])
def test_settings(number: int) -> None:
    assert lines(compare(*SIDES[number])) == DATA[number]["changes"]


def test_a_rendering_has_no_settings() -> None:
    workspace = side("new", {"config": {"exclude": ["Deployment"]}, "ignore": ["a"]})
    assert compare(Side("rendering", ()), workspace).changes == ()
    assert compare(workspace, Side("rendering", ())).changes == ()


def test_settings_come_first() -> None:
    """They decide what everything below is about."""
    settings = side("new", {"config": {"exclude": ["Deployment"]}})
    new = settings._replace(objects=({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},))
    found = compare(side("old", {}), new).changes
    assert [change.group.value for change in found] == ["settings", "other"]
