"""ClusterExtensions of a cluster that goes on: what they have, what another resolution makes of it, what goes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from olmc.cli.main import main
from olmc.k8s.objects import Origin, Provenance, Rendered
from olmc.targets.v1.installing import applied_over, held_objects, is_same_revision, latest_revision

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/transitions"
OWNED = {"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "kettle"}


def olmc(*arguments: object) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def rendered(workspace: Path, state: Path) -> dict[str, dict[str, Any]]:
    """The objects after a workspace was applied to what another one left, by kind and name."""
    text = olmc("render", workspace, "--from", state, "-o", "yaml").stdout
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in yaml.safe_load_all(text)}


def held(kind: str, name: str, annotations: dict[str, str] | None = None, **fields: Any) -> Rendered:
    """An object of the ClusterExtension kettle."""
    group = "olm.operatorframework.io/v1" if kind == "ClusterObjectSet" else "v1"
    metadata = {"name": name, "labels": OWNED, **({"annotations": annotations} if annotations else {})}
    obj = {"apiVersion": group, "kind": kind, "metadata": metadata, **fields}
    return Rendered(obj, Provenance(None, "olmv1", "", Origin.EXTENSION))


def crd(*versions: str, status: dict[str, Any] | None = None) -> Rendered:
    """A CRD with these versions, of which the last one is stored."""
    listed = [{"name": name, "served": True, "storage": name == versions[-1]} for name in versions]
    made = held("CustomResourceDefinition", "kettles.example.com", spec={"versions": listed})
    more = {"status": status} if status else {}
    return made._replace(object={**made.object, "apiVersion": "apiextensions.k8s.io/v1", **more})


def test_what_the_new_bundle_does_not_have_goes() -> None:
    """R-V1-HELM-1, R-V1-HELM-2: with all that it has but what Helm is told to keep."""
    before = [
        held("ConfigMap", "same", status={"seen": True}), held("ConfigMap", "gone"),
        held("ConfigMap", "kept", {"helm.sh/resource-policy": "keep"}),
    ]  # fmt: skip
    after = applied_over(before, [held("ConfigMap", "same", data={"a": "b"}), held("ConfigMap", "new")])
    assert [each.identity.name for each in after] == ["same", "new", "kept"]
    assert (after[0].object["data"], after[0].object["status"]) == ({"a": "b"}, {"seen": True})


def test_versions_that_were_stored_stay_in_the_status() -> None:
    """R-V1-CRD-2: the check asks the status, which only a migration of the storage shortens."""
    (after,) = applied_over([crd("v1")], [crd("v1", "v2")])
    assert after.object["status"] == {"storedVersions": ["v1", "v2"]}
    (again,) = applied_over([after], [crd("v1", "v2", "v3")])
    assert again.object["status"] == {"storedVersions": ["v1", "v2", "v3"]}
    (same,) = applied_over([crd("v1")], [crd("v1")])
    assert "status" not in same.object


def test_revisions_are_archived_and_five_stay() -> None:
    """R-V1-COS-7: five of those that are followed by another one; what it lacks goes, whatever Helm would keep."""
    sets = [
        held("ClusterObjectSet", f"kettle-{n}", spec={"revision": n, "lifecycleState": "Active"}) for n in range(1, 8)
    ]
    kept = held("ConfigMap", "kept", {"helm.sh/resource-policy": "keep"})
    after = applied_over([*sets, kept], [held("ClusterObjectSet", "kettle-8", spec={"revision": 8})])
    states = [(each.identity.name, each.object["spec"].get("lifecycleState")) for each in after]
    assert states == [("kettle-8", None), *((f"kettle-{n}", "Archived") for n in range(3, 8))]
    latest = latest_revision(sets)
    assert latest is not None
    assert latest.number == 7
    assert held_objects([*sets, kept]).keys() == {"kettle"}


def test_what_a_revision_has_decides_whether_another_one_is_made() -> None:
    """R-V1-COS-4, R-V1-COS-5: where its objects are packed into Secrets, the bundle does."""
    inline = {"spec": {"phases": [{"name": "deploy", "objects": [{"object": {"kind": "A"}}]}]}}
    packed = {"spec": {"phases": [{"name": "deploy", "objects": [{"ref": {"name": "kettle-1-a"}}]}]}}
    assert is_same_revision(inline, inline)
    assert not is_same_revision(inline, {"spec": {"phases": []}})
    assert is_same_revision(packed, inline)
    assert not is_same_revision(packed, {**inline, "metadata": {"annotations": {"bundle": "other"}}})


def test_another_configuration_is_another_revision() -> None:
    """R-V1-COS-4: the objects belong to the new one, which has the next number."""
    folder = FIXTURES / "extension-config-changed"
    objects = rendered(folder / "after", folder / "before")
    states = {n: objects[f"ClusterObjectSet/kettle-{n}"]["spec"]["lifecycleState"] for n in (1, 2)}
    assert states == {1: "Archived", 2: "Active"}
    owners = objects["Deployment/kettle-controller"]["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["kettle-2"]
    again = rendered(folder / "before", folder / "before")
    assert "ClusterObjectSet/kettle-2" not in again


def test_what_is_refused_leaves_what_is_there() -> None:
    """R-V1-CE-1: the ClusterExtension keeps its spec and its status."""
    folder = FIXTURES / "extension-namespace-changed"
    objects = rendered(folder / "after", folder / "before")
    extension = objects["ClusterExtension/kettle"]
    assert extension["spec"]["namespace"] == "brewing"
    assert extension["status"]["install"]["bundle"]["name"] == "kettle.v1.0.0"
    assert objects["Deployment/kettle-controller"]["metadata"]["namespace"] == "brewing"


def test_an_object_has_one_version_after_an_upgrade() -> None:
    """R-V1-RES-10: nothing of the former bundle stays."""
    folder = FIXTURES / "extension-upgraded"
    objects = rendered(folder / "after", folder / "before")
    assert [name for name in objects if "v1.0.0" in name] == []
    container = objects["Deployment/kettle-controller"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example.com/kettle:v1.1.0"


def test_a_state_in_a_file_is_gone_on_from(tmp_path: Path) -> None:
    """What `olmc import` has written says what is installed; the labels say whose it is."""
    dump, state = tmp_path / "dump.yaml", tmp_path / "state.yaml"
    dump.write_text(olmc("render", FIXTURES / "extension-upgraded/before", "-o", "yaml").stdout, encoding="utf-8")
    assert olmc("import", dump, "-o", state).exit_code == 0
    workspace = FIXTURES / "extension-upgraded/after"
    plan = json.loads(olmc("plan", workspace, "--from", state, "-o", "json").stdout)
    assert plan["extensions"] == [
        {
            "name": "kettle",
            "before": "kettle.v1.0.0",
            "after": "kettle.v1.1.0",
            "catalog": "tools",
            "further": "",
            "via": [],
        }
    ]
    (row,) = plan["operators"]
    assert (row["from"]["version"], row["to"]["version"], row["outcome"]) == ("1.0.0", "1.1.0", "upgraded")
    assert (row["extension"], row["phase"]) == ("kettle", "Succeeded")


def test_a_walk_goes_on_as_long_as_the_controller_does(tmp_path: Path) -> None:
    """R-V1-RES-15: hop after hop, until one is refused."""
    folder = FIXTURES / "extension-pinned"
    shutil.copytree(folder / "after", tmp_path / "w")
    extension = tmp_path / "w/extension.yaml"
    extension.write_text(extension.read_text("utf-8").replace("      version: 1.1.0\n", ""), encoding="utf-8")
    walk = json.loads(olmc("plan", tmp_path / "w", "--from", folder / "before", "--walk", "-o", "json").stdout)
    hops = [hop["plan"] for hop in walk["hops"]]
    ((planned,), (operator,)) = hops[0]["extensions"], hops[0]["operators"]
    assert (planned["before"], planned["after"], planned["via"]) == ("kettle.v1.0.0", "kettle.v1.1.0", [])
    assert (operator["outcome"], operator["to"]["csv"]) == ("failing", "kettle.v1.1.0")
    assert "validating upgrade for CRD" in operator["why"]
    assert len(hops) == 1


@pytest.mark.parametrize("name", ["extension-ambiguous", "extension-crd-unsafe", "extension-no-successor"])
def test_what_gets_no_further_stays_as_it_is(name: str) -> None:
    """R-V1-CND-1: the objects, and what is installed; and a plan of it says so once more without calling it new."""
    folder = FIXTURES / name
    objects = rendered(folder / "after", folder / "before")
    extension = objects["ClusterExtension/kettle"]
    conditions = {each["type"]: each["reason"] for each in extension["status"]["conditions"]}
    assert (conditions["Progressing"], conditions["Installed"]) == ("Retrying", "Succeeded")
    container = objects["Deployment/kettle-controller"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example.com/kettle:v1.0.0"


def test_two_bundles_are_an_upgrade_of_one_extension() -> None:
    bundles = FIXTURES / "extension-crd-unsafe/after/bundles"
    said = olmc("diff", bundles / "kettle-1.0.0", bundles / "kettle-1.1.0", "--olm-version", "v1").stdout
    assert "ClusterExtension/kettle: ~ kettle 1.0.0 → 1.1.0" in said
    assert "the check of CRD upgrade safety refuses this" in said


def test_a_catalog_of_extensions_is_no_catalog_source() -> None:
    """R-V1-CC-1: neither in the metrics nor in what changed."""
    folder = FIXTURES / "extension-upgraded"
    assert "\ncatalog_source_count 0\n" in olmc("status", folder / "after", "-o", "prometheus").stdout
    said = olmc("diff", folder / "before", folder / "after").stdout
    assert "ClusterCatalog/tools: ~ channel stable of kettle changes" in said
    assert "CatalogSource" not in said


def test_what_goes_with_a_cluster_extension() -> None:
    """R-V1-UN-1: all that it owns, CRDs with their objects included; not the namespace, the account that installs, and
    what others have."""
    folder = FIXTURES / "extension-removed"
    before, after = (rendered(folder / side, folder / "before") for side in ("before", "after"))
    gone = {name.partition("/")[0] for name in before.keys() - after.keys()}
    kinds = "ClusterExtension ClusterRole ClusterRoleBinding CustomResourceDefinition Deployment ServiceAccount"
    assert gone == set(kinds.split())
    assert {
        "Namespace/brewing",
        "ServiceAccount/kettle-installer",
        "ClusterRoleBinding/kettle-installer",
    } <= after.keys()
    (task,) = json.loads(olmc("plan", folder / "after", "--from", folder / "before", "-o", "json").stdout)["tasks"]
    assert task["command"] == "kubectl get kettles.example.com -A -o yaml"


def test_the_way_of_a_cluster_extension() -> None:
    """R-V1-RES-10, R-V1-RES-15: resolution by resolution, as far as pins and successors let it."""
    upgrade = olmc("graph", "ClusterExtension/kettle", FIXTURES.parent / "olmv1/upgrade")
    assert upgrade.exit_code == 0
    assert [line for line in upgrade.stdout.splitlines() if not line.startswith("    ")] == [
        "ClusterExtension kettle: package kettle, any version, channels stable, successors as the catalog has them",
        "  kettle.v1.0.0 is installed",
        "→ kettle.v1.1.0 from catalog tools",
        "→ kettle.v2.0.0 from catalog tools",
        "  kettle.v2.0.0 stays: it is the best that is allowed",
    ]
    stuck = olmc("graph", "ClusterExtension/kettle", FIXTURES / "extension-ambiguous/after")
    assert (stuck.exit_code, "it gets no further: found bundles" in stuck.stdout) == (1, True)
    unknown = olmc("graph", "ClusterExtension/ketle", FIXTURES / "extension-ambiguous/after")
    assert (unknown.exit_code, "Did you mean kettle?" in unknown.stderr) == (2, True)
    drawn = olmc("graph", "ClusterExtension/kettle", FIXTURES / "extension-ambiguous/after", "-o", "svg")
    assert drawn.exit_code == 2
