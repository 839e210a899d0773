"""An OpenShift release as a target: what it sets besides the OLM that it ships (`openshift.json`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import bundle_files, described, write_workspace

import olmc
from olmc.compiler.model.options import Options
from olmc.compiler.olm.profiles.data import formats, on_platform, openshift, served_by
from olmc.k8s.semver import parse_tolerant

MONITOR = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "ServiceMonitor",
    "metadata": {"name": "kettle"},
    "spec": {"endpoints": [{"port": "metrics"}], "selector": {}},
}


def the_bundle(root: Path, **operator: Any) -> Path:
    """The folder of a bundle by itself."""
    for path, text in bundle_files(described({"name": "kettle.v1.0.0", **operator})).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return root / "bundles/kettle.v1.0.0"


def phase(made: olmc.Compilation) -> str:
    """The phase of the only operator."""
    ((value, _),) = made.phases.values()
    return value


def test_every_openshift_release_is_in_both_files() -> None:
    named = [name.removeprefix("ocp-") for name in formats()["named"] if name.startswith("ocp-")]
    assert named == list(openshift()["kubernetes"])


def test_the_file_is_in_order_and_says_each_thing_once() -> None:
    apis = openshift()["apis"]
    keys = [(api["group"], api["kind"]) for api in apis]
    assert keys == sorted(set(keys))
    order = list(openshift()["kubernetes"])
    for api in apis:
        assert (api["scope"] in {"Namespaced", "Cluster"}, api["by"] in {"CRD", "APIService"}) == (True, True)
        for item in api["versions"]:
            assert order.index(item["since"]) <= order.index(item.get("until", order[-1]))


@pytest.mark.parametrize(("version", "kubernetes"), [("ocp-4.6", "v1.19.0"), ("ocp-4.18", "v1.31.0")])
def test_a_release_sets_more_than_its_olm(version: str, kubernetes: str) -> None:
    options = on_platform(Options(olm_version=version))
    assert options.kube_version == kubernetes
    assert options.global_catalog_namespace == "openshift-marketplace"
    assert options.olm_namespace == "openshift-operator-lifecycle-manager"


def test_what_somebody_chose_stays() -> None:
    given = Options(olm_version="ocp-4.18", kube_version="v1.30.0")
    options = on_platform(given, frozenset({"global_catalog_namespace"}))
    assert (options.kube_version, options.global_catalog_namespace) == ("v1.30.0", "olm")
    assert on_platform(options, frozenset({"global_catalog_namespace"})) == options
    assert on_platform(Options()) == Options()


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [("Route", "4.1", "4.20"), ("ConsolePlugin", "4.9", "4.20"), ("ClusterNetwork", "4.1", "4.16"),
     ("ClusterExtension", "4.18", "4.20"), ("ImageDigestMirrorSet", "4.13", "4.20")],
)  # fmt: skip
def test_apis_come_and_go_with_releases(kind: str, first: str, last: str) -> None:
    releases = [name for name in openshift()["kubernetes"] if any(api.kind == kind for api in served_by(name))]
    assert (releases[0], releases[-1]) == (first, last)
    assert releases == sorted(releases, key=parse_tolerant)


def test_versions_of_one_api_differ_between_releases() -> None:
    plugin = {
        release: api.versions
        for release in ("4.11", "4.12", "4.19")
        for api in served_by(release)
        if api.kind == "ConsolePlugin"
    }
    assert plugin == {"4.11": ("v1alpha1",), "4.12": ("v1alpha1", "v1"), "4.19": ("v1",)}


def test_a_bundle_with_a_kind_that_openshift_serves(tmp_path: Path) -> None:
    """R-CAT-704: the step is written there, and nowhere else."""
    bundle = the_bundle(tmp_path, files={"monitor.yaml": MONITOR})
    made = olmc.compile(bundle, Options(olm_version="ocp-4.18"))
    assert (phase(made), made.findings) == ("Succeeded", False)
    assert [str(r.identity) for r in made.objects if r.object["kind"] == "ServiceMonitor"] == [
        "ServiceMonitor/kettle/kettle"
    ]
    assert olmc.compile(bundle, Options(olm_version="0.31")).findings


def test_a_kind_without_namespaces_is_stored_without_one(tmp_path: Path) -> None:
    """R-CAT-716."""
    plugin = {"apiVersion": "console.openshift.io/v1", "kind": "ConsolePlugin", "metadata": {"name": "kettle"}}
    bundle = the_bundle(tmp_path, files={"plugin.yaml": {**plugin, "spec": {}}})
    made = olmc.compile(bundle, Options(olm_version="ocp-4.20"))
    assert [str(r.identity) for r in made.objects if r.object["kind"] == "ConsolePlugin"] == ["ConsolePlugin/kettle"]


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        ("ServiceMonitor.v1.monitoring.coreos.com", ("Present", "CRD is present and Established condition is true")),
        ("ServiceMonitor.v2.monitoring.coreos.com", ("NotPresent", "CRD version not served")),
        ("Route.v1.route.openshift.io", ("NotPresent", "CRD is not present")),
    ],
)
def test_crds_of_openshift_fulfil_requirements(required: str, expected: tuple[str, str], tmp_path: Path) -> None:
    """R-REQ-3: of a Route, which an API server of its own serves, there is no CRD."""
    made = olmc.compile(the_bundle(tmp_path, required=[required]), Options(olm_version="ocp-4.18"))
    assert made.settled is not None
    (member,) = made.settled.cluster.members.values()
    (status,) = [each for each in member.requirements if each["kind"] == "CustomResourceDefinition"]
    assert (status["status"], status["message"]) == expected


@pytest.mark.parametrize(
    ("api", "met"), [({"group": "route.openshift.io", "version": "v1", "kind": "Route"}, True),
                     ({"group": "route.openshift.io", "version": "v2", "kind": "Route"}, False)],
)  # fmt: skip
def test_native_apis_of_openshift(api: dict[str, str], met: bool, tmp_path: Path) -> None:
    """R-REQ-6."""
    bundle = the_bundle(tmp_path, csv={"spec": {"nativeAPIs": [api]}})
    assert phase(olmc.compile(bundle, Options(olm_version="ocp-4.18"))) == ("Succeeded" if met else "Pending")


def test_its_kubernetes_is_what_a_csv_is_held_against(tmp_path: Path) -> None:
    """R-REQ-2."""
    bundle = the_bundle(tmp_path, csv={"spec": {"minKubeVersion": "1.32.0"}})
    assert phase(olmc.compile(bundle, Options(olm_version="ocp-4.18"))) == "Pending"
    assert phase(olmc.compile(bundle, Options(olm_version="ocp-4.19"))) == "Succeeded"


def test_all_namespaces_see_the_catalogs_of_its_marketplace(tmp_path: Path) -> None:
    """R-CAT-502."""
    subscription = {"spec": {"sourceNamespace": "openshift-marketplace"}}
    case = {
        "namespaces": {"ns": {}, "openshift-marketplace": {}},
        "groups": {"ns/g": "own"},
        "operators": [{"name": "kettle.v1.0.0", "subscription": subscription, "inline": True}],
    }
    write_workspace(tmp_path, case)
    assert phase(olmc.compile(tmp_path, Options(olm_version="ocp-4.18"))) == "Succeeded"
    assert phase(olmc.compile(tmp_path, Options())) == "Succeeded"  # the Subscription shows an OpenShift (OLMC167)
    chosen = olmc.CompileRequest(tmp_path, Options(), frozenset({"global_catalog_namespace"}))
    assert olmc.compile(chosen).phases == {}


@pytest.mark.parametrize("version", ["0.46.0", "0.31.0"])
def test_a_workspace_that_shows_an_openshift_has_its_apis_with_any_olm(tmp_path: Path, version: str) -> None:
    """The objects tell which cluster it is, the version which OLM is there: one says nothing of the other."""
    subscription = {"spec": {"sourceNamespace": "openshift-marketplace"}}
    case = {
        "namespaces": {"ns": {}, "openshift-marketplace": {}},
        "groups": {"ns/g": "own"},
        "operators": [
            {"name": "kettle.v1.0.0", "subscription": subscription, "inline": True, "files": {"m.yaml": MONITOR}}
        ],
    }
    write_workspace(tmp_path, case)
    made = olmc.compile(olmc.CompileRequest(tmp_path, Options(olm_version=version), frozenset({"olm_version"})))
    assert (phase(made), made.options.olm_version) == ("Succeeded", version)


@pytest.mark.parametrize(
    ("obj", "codes"),
    [
        (
            {"apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints", "namespace": "ns"},
            ["OLMC170"],
        ),
        ({"apiVersion": "route.openshift.io/v1", "kind": "Route"}, ["OLMC171"]),
        ({"apiVersion": "route.openshift.io/v1", "kind": "Route", "namespace": "ns"}, []),
    ],
)
def test_scopes_of_its_kinds_are_known(obj: dict[str, str], codes: list[str], tmp_path: Path) -> None:
    namespace = {"namespace": obj.pop("namespace")} if "namespace" in obj else {}
    manifest = {**obj, "metadata": {"name": "kettle", **namespace}}
    write_workspace(tmp_path, {"namespaces": {"ns": {}}, "manifests": [manifest]})
    made = olmc.compile(tmp_path, Options(olm_version="ocp-4.18"))
    assert [d.code for d in made.diagnostics if d.severity is not olmc.Severity.INFO] == codes
    assert olmc.compile(tmp_path).diagnostics == ()


RULE = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: tea}\n"
SAMPLE = "apiVersion: console.openshift.io/v1\nkind: ConsoleYAMLSample\nmetadata: {name: tea}\n"


@pytest.mark.parametrize(
    ("annotations", "manifest", "is_openshift"),
    [
        ({}, RULE, False),
        ({"features.operators.openshift.io/cni": "false"}, RULE, False),  # bundles for any cluster have it as well
        ({"operatorframework.io/suggested-namespace": "tea"}, RULE, False),
        ({"operatorframework.io/suggested-namespace": "openshift-tea"}, RULE, True),
        ({"operatorframework.io/suggested-namespace-template": '{"metadata": {"name": "openshift-tea"}}'}, RULE, True),
        ({"operators.openshift.io/valid-subscription": "[]"}, RULE, True),
        ({}, SAMPLE, True),
    ],
)
def test_a_bundle_for_openshift_gets_its_apis(
    annotations: dict[str, str], manifest: str, is_openshift: bool, tmp_path: Path
) -> None:
    """On another cluster its InstallPlan would fail (OLMC310)."""
    bundle = the_bundle(tmp_path, csv={"metadata": {"annotations": annotations}})
    (bundle / "manifests/more.yaml").write_text(manifest, encoding="utf-8")
    found = {each.code for each in olmc.compile(bundle).diagnostics}
    assert found & {"OLMC167", "OLMC310"} == {"OLMC167" if is_openshift else "OLMC310"}
    chosen = olmc.CompileRequest(bundle, Options(olm_version="0.46.0"), frozenset({"olm_version"}))
    assert "OLMC310" in {each.code for each in olmc.compile(chosen).diagnostics}
    older = olmc.compile(bundle, Options(olm_version="0.31.0"))
    assert "OLMC310" in {each.code for each in older.diagnostics}


@pytest.mark.parametrize("sides", [("plain", "marked"), ("marked", "plain"), ("marked", "marked"), ("plain", "plain")])
def test_a_mark_of_openshift_alone_changes_no_object(sides: tuple[str, str], tmp_path: Path) -> None:
    """Two bundles are compared on one cluster; one that serves nothing of it is taken to serve what both need."""
    marks = {"plain": {}, "marked": {"operators.openshift.io/valid-subscription": "[]"}}
    for side, name in zip(("old", "new"), sides, strict=True):
        bundle = the_bundle(tmp_path / side, csv={"metadata": {"annotations": marks[name]}})
        (bundle / "manifests/more.yaml").write_text(RULE, encoding="utf-8")
    old, new = (tmp_path / side / "bundles/kettle.v1.0.0" for side in ("old", "new"))
    for result in (olmc.diff(old, new), olmc.diff(old, new, olm_version="0.46.0")):
        assert "PrometheusRule" not in result.write()
        assert not result.failed


def test_a_kind_that_only_a_new_bundle_needs_is_a_risk(tmp_path: Path) -> None:
    """Also if OLM installs all that the operator waits for before it comes to the object."""
    old, new = (the_bundle(tmp_path / side) for side in ("old", "new"))
    (new / "manifests/more.yaml").write_text(RULE, encoding="utf-8")
    assert "needs PrometheusRule (monitoring.coreos.com/v1) to be there" in olmc.diff(old, new).write()
    (new / "manifests/sample.yaml").write_text(SAMPLE, encoding="utf-8")
    assert "to be there" not in olmc.diff(old, new).write()
    for version in ("0.46.0", "0.31.0"):
        assert "needs PrometheusRule" in olmc.diff(old, new, olm_version=version).write()


GROUP = "OperatorGroup/openshift-operators/global-operators"


def subscribed(root: Path, more: str = "") -> Path:
    """A workspace with a Subscription in openshift-operators, and what else is given."""
    root.mkdir()
    (root / "tea.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        "metadata: {name: tea, namespace: openshift-operators}\n"
        "spec: {name: tea, channel: stable, source: red, sourceNamespace: openshift-marketplace}\n" + more,
        encoding="utf-8",
    )
    return root


def test_openshift_brings_the_group_of_openshift_operators(tmp_path: Path) -> None:
    root = subscribed(tmp_path / "workspace")
    made = olmc.compile(root, Options(olm_version="ocp-4.18"))
    codes = {each.code for each in made.diagnostics}
    assert codes.isdisjoint({"OLMC315", "OLMC140"})
    assert GROUP in {str(each.identity) for each in made.objects}
    inferred = olmc.compile(root)
    assert "OLMC167" in {each.code for each in inferred.diagnostics}
    assert GROUP in {str(each.identity) for each in inferred.objects}
    manifest = root / "tea.yaml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("openshift-marketplace", "olm"), encoding="utf-8")
    elsewhere = olmc.compile(root)
    assert {"OLMC315", "OLMC140"} <= {each.code for each in elsewhere.diagnostics}
    assert GROUP not in {str(each.identity) for each in elsewhere.objects}


def test_a_second_group_there_is_one_too_many(tmp_path: Path) -> None:
    group = (
        "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\n"
        "metadata: {name: NAME, namespace: openshift-operators}\n"
    )
    for name, count in (("own", 2), ("global-operators", 1)):
        root = subscribed(tmp_path / name, group.replace("NAME", name))
        made = olmc.compile(root, Options(olm_version="ocp-4.18"))
        assert made.settled is not None
        assert len(made.settled.cluster.groups_in("openshift-operators")) == count


def test_no_group_where_nothing_is_asked_for(tmp_path: Path) -> None:
    write_workspace(tmp_path, {"operators": [{"name": "kettle.v1.0.0"}]})
    made = olmc.compile(tmp_path, Options(olm_version="ocp-4.18"))
    assert GROUP not in {str(each.identity) for each in made.objects}
