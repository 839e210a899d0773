"""What is left out of a workspace: everything that tools would apply, but for what counts as input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from scenarios import write
from small_files import bundle, config_map, namespace

import olmc
from olmc.compiler.load.workspace_files import left_out, objects_of
from olmc.compiler.model.workspace import Inputs, LeftOut, Reason
from olmc.k8s.objects import ObjectKey
from olmc.review.explain.left_out import counted, note


def found_in(root: Path, files: Mapping[str, str], *ignored: str) -> list[LeftOut]:
    write(root, files)
    return list(left_out(root, olmc.load(root).inputs, ignored=ignored))


def told(found: list[LeftOut]) -> list[str]:
    """Path, reason, and the names of the objects."""
    return [
        " ".join((left.location.path, left.reason, *(each.identity.name for each in left.objects))) for left in found
    ]


def names(text: str) -> list[str]:
    return [str(each.identity) for each in objects_of(text)[0]]


def test_nothing_is_left_out_of_what_counts(tmp_path: Path) -> None:
    files = {
        **bundle("bundles/kettle"),
        "a.yaml": namespace("a"),
        "deep/er/b.json": config_map("b"),
        "catalogs/acme/c.yaml": "schema: olm.package\nname: kettle\n",
        "catalogs/plain/d.json": config_map("d"),
        "olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\n",
        "README.md": namespace("not-yaml"),
    }
    assert found_in(tmp_path, files) == []


def test_reasons(tmp_path: Path) -> None:
    files = {
        **bundle("bundles/kettle"),
        "pot.yaml": namespace("pot"),
        "bundles/kettle/tests/a.yaml": namespace("a"),
        ".b/c/b.yaml": namespace("b"),
        "drafts/c.json": config_map("c"),
        "catalogs/acme/c.yaml": f"schema: olm.package\nname: kettle\n---\n{namespace('d')}",
        ".git/e.yaml": namespace("e"),
        ".olmcignore": "drafts/\n",
    }
    assert told(found_in(tmp_path, files, "drafts/")) == [
        ".b/c/b.yaml hidden b",
        "bundles/kettle/tests/a.yaml bundle a",
        "catalogs/acme/c.yaml catalog d",
        "drafts/c.json ignored c",
    ]


def test_package_manifests(tmp_path: Path) -> None:
    """What lies in a folder with a CSV is part of its bundle, the first object of each file; nothing else is."""
    csv = bundle("x")
    (text,) = (text for path, text in csv.items() if "manifests/" in path)
    package = "packageName: kettle\nchannels: [{name: s, currentCSV: kettle.v1.0.0}]\n"
    files = {
        "pot.yaml": namespace("pot"),
        "catalogs/acme/kettle/kettle.package.yaml": package,
        "catalogs/acme/kettle/1.0.0/csv.json": text,
        "catalogs/acme/kettle/1.0.0/settings.yaml": f"{config_map('used')}\n---\n{namespace('behind')}",
        "catalogs/acme/kettle/elsewhere.yaml": namespace("elsewhere"),
        "catalogs/acme/.kettle/hidden.yaml": namespace("hidden"),
    }
    assert told(found_in(tmp_path, files)) == [
        "catalogs/acme/.kettle/hidden.yaml catalog hidden",
        "catalogs/acme/kettle/1.0.0/settings.yaml catalog behind",
        "catalogs/acme/kettle/elsewhere.yaml catalog elsewhere",
    ]


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pots}
spec: {source: {repoURL: https://git.example.com/pots, path: deploy, directory: {recurse: RECURSE}}}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pots}
spec: {path: ./deploy}
"""
HIDDEN = {"deploy/.b/b.yaml": namespace("b"), ".archive/c.yaml": namespace("c"), "deploy/pot.yaml": namespace("pot")}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (HIDDEN, [".archive/c.yaml hidden c", "deploy/.b/b.yaml hidden b"]),
        (HIDDEN | {"app.yaml": APPLICATION.replace("RECURSE", "true")}, ["deploy/.b/b.yaml hidden b"]),
        (HIDDEN | {"app.yaml": APPLICATION.replace("RECURSE", "false")}, []),
        (HIDDEN | {"flux.yaml": FLUX}, ["deploy/.b/b.yaml hidden b"]),
        (HIDDEN | {"flux.yaml": FLUX, "deploy/kustomization.yaml": "resources: [pot.yaml]\n"}, []),
        (HIDDEN | {"deploy/kustomization.yaml": "resources: [pot.yaml]\n"}, []),
        ({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": namespace("a"), ".b/b.yaml": namespace("b")}, []),
        ({".tekton/push.yaml": namespace("b"), "pot.yaml": namespace("pot")}, []),
        ({".b/b.yaml": namespace("b"), "acme/catalog.yaml": "schema: olm.package\nname: kettle\n"}, []),
        ({".b/b.yaml": namespace("b"), **bundle("bundles/kettle")}, []),
    ],
)  # fmt: skip
def test_only_what_a_recursive_apply_covers_is_left_out(
    files: Mapping[str, str], expected: list[str], tmp_path: Path
) -> None:
    """A tool applies what a kustomization names, or the folder that an Application or a Kustomization names; a folder
    of plain manifests may be applied as a whole, a folder of catalogs and bundles never is."""
    assert told(found_in(tmp_path, files)) == expected


def test_links(tmp_path: Path) -> None:
    """One that stays inside is followed, also into what is hidden; of one that leaves only files matter."""
    write(tmp_path, {"outside/a.yaml": namespace("a"), "inside/.b/b.yaml": namespace("b")})
    root = tmp_path / "inside"
    (root / "b").symlink_to(".b")
    (root / "a.yaml").symlink_to("../outside/a.yaml")
    (root / "folder").symlink_to("../outside")
    assert [manifest.object["metadata"]["name"] for manifest in olmc.load(root).manifests] == ["b"]
    assert told(found_in(root, {})) == [".b/b.yaml hidden b", "a.yaml link"]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert left_out(tmp_path / "nowhere", Inputs()) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (namespace("a"), ["Namespace/a"]),
        (f"{namespace('a')}---\n{namespace('b')}", ["Namespace/a", "Namespace/b"]),
        (namespace("a").replace("name: a", "namespace: x\n  name: a"), ["Namespace/a"]),
        (config_map("a"), ["ConfigMap/ns/a"]),
        (json.dumps({"apiVersion": "v1", "kind": "Bunch", "items": [json.loads(config_map("a"))]}), ["ConfigMap/ns/a"]),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", ["Pod/a-…"]),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: a}\n", []),
        ("apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\nmetadata: {name: a}\n", []),
        ("apiVersion: v2\nkind: chart\nname: a\n", []),
        ("kind: Namespace\nmetadata: {name: a}\nnote: no apiVersion\n", []),
        ("- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n", []),
        ("? !!binary YXBpVmVyc2lvbg==\n: v1\nkind: Namespace\nmetadata: {name: a}\n", ["Namespace/a"]),
        ('? "api\\\n  Version"\n: v1\nkind: Namespace\nmetadata: {name: a}\n', ["Namespace/a"]),
    ],
)
def test_objects(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_what_can_be_read_of_a_file_is_read() -> None:
    """A server gets what stands before a mistake, and nobody knows what the rest is."""
    objects, problem = objects_of(f"{namespace('a')}---\nkind: {{\napiVersion: v1\n")
    assert [each.identity for each in objects] == [ObjectKey("", "Namespace", "", "a")]
    assert problem == "unreadable content"


def test_the_digest_is_of_what_is_written() -> None:
    """Comments before an object, and what stands beside it in the file, are not part of it."""
    (plain,), (commented,), (other,) = (
        objects_of(text)[0] for text in (namespace("a"), f"# new\n{namespace('a')}", f"{namespace('a')}spec: {{}}\n")
    )
    assert plain == commented
    assert plain.identity == other.identity
    assert plain.digest != other.digest


@pytest.mark.parametrize("tail", ["", "---\n{{ .Values.more }}: {{\n"], ids=["plain", "template"])
def test_a_template_is_applied_by_helm_alone(tail: str, tmp_path: Path) -> None:
    """The note is about tools that apply files as they are; the chart has a finding of its own."""
    chart = {"chart/Chart.yaml": "apiVersion: v2\nname: tide\nversion: 1.0.0\n"}
    template = {"chart/templates/a.yaml": namespace("a") + tail}
    found = found_in(tmp_path, {"pot.yaml": namespace("pot"), **chart, **template})
    assert [left.reason for left in found] == [Reason.TEMPLATE]
    assert (note(found), counted(found)) == ("", "")
    found = found_in(tmp_path, {".hidden/a.yaml": namespace("a")})
    assert note(found).startswith("olmc: left out, and applied by kubectl apply -R, Argo CD or Flux: 1 object")


def test_every_reason_has_its_words() -> None:
    assert len({reason.text for reason in Reason}) == len(Reason)
