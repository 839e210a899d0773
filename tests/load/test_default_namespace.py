"""Which objects have a namespace, and where those are that name none."""

from __future__ import annotations

from pathlib import Path

from scenarios import write

import olmc


def test_a_workspace_without_namespaces_is_compiled_in_the_default_one(project: Path, tmp_path: Path) -> None:
    """Group, Subscription and all: as if their author had written it there."""
    source = project / "fixtures/own-namespace"
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.yaml")}
    bare = write(tmp_path, {name: text.replace("  namespace: harbour\n", "") for name, text in texts.items()})
    assert "namespace: harbour" in texts["operators.yaml"]
    expected = olmc.compile(source)
    made = olmc.compile(bare, olmc.Options(default_namespace="harbour"))
    assert [each.object for each in made.objects] == [each.object for each in expected.objects]
    assert any(each.object["kind"] == "Deployment" for each in made.objects)
    assert olmc.compile(bare).objects != made.objects


def test_what_a_bundle_by_itself_ships_is_in_its_namespace(project: Path, tmp_path: Path) -> None:
    """Whatever its manifests say: as an InstallPlan does it (R-CAT-712)."""
    source = project / "fixtures/bare-bundle"
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.yaml")}
    shipped = {
        "manifests/lamp.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: lamp}\n",
        "manifests/horn.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: horn, namespace: elsewhere}\n",
    }
    made = olmc.compile(write(tmp_path, {**texts, **shipped}))
    places = {each.object["metadata"]["name"]: each.object["metadata"].get("namespace") for each in made.objects}
    assert (places["lamp"], places["horn"]) == ("lighthouse", "lighthouse")
