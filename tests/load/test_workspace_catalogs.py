"""What makes a folder a catalog, and what beside it is read as something else."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from scenarios import write
from small_files import CONFIG, catalog, loaded, names, namespace

import olmc


def test_a_link_to_itself_is_no_traceback(tmp_path: Path) -> None:
    """OSError from `DirEntry.is_dir`: too many levels of symbolic links."""
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    workspace, said = loaded(tmp_path, {"a.yaml": namespace("a")})
    assert names(workspace) == ["Namespace a"]
    assert said == ["warning OLMC123 loop.yaml:1:1"]


def test_only_yaml_and_json_files_are_manifests_in_catalogs_too(tmp_path: Path) -> None:
    """A README beside manifests in catalogs/NAME/ is read as YAML."""
    given = {"catalogs/acme/source.yaml": namespace("a"), "catalogs/acme/README.md": "- *see: [\n"}
    workspace, said = loaded(tmp_path, given)
    assert names(workspace) == ["Namespace a"]
    assert said == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tea.json", '{"name": "tea", "defaultChannel": "stable", "schema": "olm.package"}\n'),
        ("tea", "{name: tea, defaultChannel: stable, schema: olm.package}\n"),
        ("tea.yaml", "Schema: olm.package\nname: tea\n"),
        ("tea.package.yaml", "PackageName: tea\nchannels: [{name: stable, currentCSV: tea.v1.0.0}]\n"),
    ],
)
def test_a_catalog_is_known_however_its_keys_are_written(tmp_path: Path, file: str, text: str) -> None:
    """R-CAT-120, R-CAT-121, R-CAT-140: deep in catalogs/NAME/, in any order and in any case."""
    workspace, _ = loaded(tmp_path, {f"catalogs/acme/deep/{file}": text})
    assert list(workspace.catalogs) == ["acme"]


def test_a_catalog_elsewhere_is_known_by_a_schema_in_any_case(tmp_path: Path) -> None:
    """R-CAT-121."""
    workspace, said = loaded(tmp_path, {"acme/catalog.yaml": catalog("kettle", "1.0.0").replace("schema", "SCHEMA")})
    assert list(workspace.catalogs["acme"].packages) == ["kettle"]
    assert said == []


def test_the_schema_of_a_crd_makes_no_catalog(tmp_path: Path) -> None:
    """Manifests in catalogs/NAME/ are manifests, also those whose own fields are called like a catalog's."""
    crd = """
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: kettles.kitchen.example.com}
        spec:
          group: kitchen.example.com
          names: {kind: Kettle, plural: kettles}
          scope: Namespaced
          versions:
          - name: v1
            served: true
            storage: true
            schema:
              openAPIV3Schema: {type: object}
        """
    workspace, said = loaded(tmp_path, {"catalogs/acme/crd.yaml": dedent(crd)})
    assert names(workspace) == ["CustomResourceDefinition kettles.kitchen.example.com"]
    assert (dict(workspace.catalogs), said) == ({}, [])


def test_what_indexignore_names_may_be_anything(tmp_path: Path) -> None:
    """A picture in a catalog that its .indexignore leaves out (R-CAT-110) is read as text before that."""
    given = {"catalogs/acme/catalog.yaml": catalog("kettle", "1.0.0"), "catalogs/acme/.indexignore": "*.png\n"}
    write(tmp_path, given)
    (tmp_path / "catalogs/acme/icon.png").write_bytes(b"\x89PNG\xff")
    workspace, said = loaded(tmp_path, {})
    assert list(workspace.catalogs) == ["acme"]
    assert said == []


def test_a_second_document_of_olmc_yaml_is_not_dropped_silently(tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": CONFIG + "  for: apply\n---\nspec: {fro: x}\n", "a.yaml": "{}"}))
    assert [found.code for found in made.diagnostics if found.location and found.location.path == "olmc.yaml"]
