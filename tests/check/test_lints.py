"""What the lints say, and above all of what they say nothing; olmc/compiler/rules/examples has one of each, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from building import write_workspace
from cpu_time import measure

import olmc
from olmc.compiler.load.config import options_from, read_config
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.review.check.check import lint
from olmc.review.check.lints import LintSubject

OLM = "operators.coreos.com"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {%s}\n"
FLUX = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"name": "all", "namespace": "flux"},
}
BIG = "x" * 300_000


def found(root: Path, **case: Any) -> list[Diagnostic]:
    """What the lints say about a workspace, described as in tests/reconcile/README.md."""
    write_workspace(root, case)
    made = olmc.compile(root)
    assert made.workspace is not None, made.diagnostics
    report = Report()
    options = options_from(read_config(root, Report()), Options(), frozenset())
    lint(LintSubject(made.workspace, made.settled, options), report)
    return list(report)


def codes(root: Path, **case: Any) -> list[str]:
    """The codes of what they say, apart from permissions."""
    return [each.code for each in found(root, **case)]


def config_map(text: str, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap that holds a text."""
    named = {"name": "c", "namespace": "ns", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": {"a": text}}


@pytest.mark.parametrize(
    ("spec", "effect"),
    [
        ({"targetNamespaces": []}, "the group targets all namespaces"),
        ({"targetNamespaces": None}, "the group targets all namespaces"),
        ({"targetNamespaces": [], "selector": {"matchLabels": {"a": "b"}}}, "the selector decides"),
    ],
)
def test_empty_targets_r_og_1(spec: dict[str, Any], effect: str, tmp_path: Path) -> None:
    (diagnostic,) = found(tmp_path, groups={"ns/og": spec}, namespaces={"b": {"a": "b"}})
    assert diagnostic.code == "OLMC401"
    assert diagnostic.message.endswith(effect)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"targetNamespaces": ["ns"], "selector": {"matchLabels": {"a": "b"}}}, ["OLMC426"]),
        ({"targetNamespaces": ["ns"], "selector": {}}, []),
        ({"selector": {"matchLabels": {"a": "c"}}}, ["OLMC427"]),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, []),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "x"}]}}, []),
        ({"targetNamespaces": ["ns"], "staticProvidedAPIs": True}, ["OLMC428"]),
        ({"targetNamespaces": ["ns"], "staticProvidedAPIs": True, "apis": "K.v1.tea.example.com"}, []),
        ({"targetNamespaces": ["ns"], "staticProvidedAPIs": False}, []),
    ],
)
def test_groups_that_say_something_in_vain_r_og_1(spec: dict[str, Any], expected: list[str], tmp_path: Path) -> None:
    """A list beats a selector; a selector may match nothing; a static group without APIs lets nobody provide any."""
    assert codes(tmp_path, groups={"ns/og": spec}, namespaces={"b": {"a": "b"}}) == expected


@pytest.mark.parametrize(
    ("interval", "problem"),
    [("1d", 'time: unknown unit "d" in duration "1d"'), ("10", 'time: missing unit in duration "10"'), ("24h", "")],
)
def test_an_interval_that_olm_cannot_read_r_cat_160(interval: str, problem: str, tmp_path: Path) -> None:
    """OLM takes 15 minutes in its place; only its status tells."""
    source = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": "harbour", "namespace": "olm"},
        "spec": {
            "sourceType": "grpc",
            "image": "registry.example.com/catalogs/harbour:v1",
            "updateStrategy": {"registryPoll": {"interval": interval}},
        },
    }
    messages = [each.message for each in found(tmp_path, manifests=[source]) if each.code == "OLMC400"]
    expected = f"CatalogSource olm/harbour is polled every 15 minutes instead of the configured interval: {problem}"
    assert messages == [expected] * bool(problem)


def test_an_install_plan_that_somebody_wrote_r_cat_600(tmp_path: Path) -> None:
    """OLM goes by its status, which it does not have: it approves nothing for a Manual Subscription (R-CAT-607)."""
    plan = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "InstallPlan",
        "metadata": {"name": "mine", "namespace": "ns"},
        "spec": {
            "approval": "Manual",
            "approved": True,
            "generation": 1,
            "clusterServiceVersionNames": ["kettle.v1.0.0"],
        },
    }
    (diagnostic,) = found(tmp_path / "a", manifests=[plan])
    assert (diagnostic.code, str(diagnostic.location)) == ("OLMC429", "cluster.json:1:140")
    manual = {"name": "kettle.v1.0.0", "subscription": {"spec": {"installPlanApproval": "Manual"}}}
    assert "OLMC429" in codes(tmp_path / "b", manifests=[plan], groups={"ns/og": "own"}, operators=[manual])


@pytest.mark.parametrize("group", ["all", "own", ["a", "b"], {"selector": {}}])
def test_groups_that_say_what_they_mean(group: Any, tmp_path: Path) -> None:
    assert codes(tmp_path, namespaces={"a": {}, "b": {}}, groups={"ns/og": group}) == []


def test_provided_apis_of_a_static_group_are_the_users_own_r_og_13(tmp_path: Path) -> None:
    static = {"apis": "A.v1.example.com", "staticProvidedAPIs": True}
    assert codes(tmp_path / "static", groups={"ns/og": static}) == []
    assert codes(tmp_path / "not", groups={"ns/og": {"apis": ""}}) == ["OLMC402"]


UPGRADE = ["kettle.v1.0.0", {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0"}]


def subscribed(**spec: Any) -> dict[str, Any]:
    """Two versions of an operator and a Subscription with further fields in its spec."""
    first = {"name": "kettle.v1.0.0", "subscription": {"spec": spec}}
    return {"groups": {"ns/og": "own"}, "operators": [first, UPGRADE[1]]}


def test_starting_csv(tmp_path: Path) -> None:
    """It is a pin with manual approval, and where there is nothing to go on to."""
    assert codes(tmp_path / "a", **subscribed(startingCSV="kettle.v1.0.0")) == ["OLMC403"]
    assert codes(tmp_path / "b", **subscribed(startingCSV="kettle.v1.0.0", installPlanApproval="Manual")) == []
    assert codes(tmp_path / "c", **subscribed(startingCSV="kettle.v1.1.0")) == []
    assert codes(tmp_path / "d", **subscribed()) == []


def test_an_upgrade_over_several_versions_can_get_stuck(tmp_path: Path) -> None:
    """It takes three versions, whichever of them was installed before, and nobody to approve the plans."""
    more = {"name": "kettle.v1.2.0", "replaces": "kettle.v1.1.0"}
    chain = {"groups": {"ns/og": "own"}, "operators": [*subscribed(startingCSV="kettle.v1.0.0")["operators"], more]}
    several, _ = found(tmp_path / "several", **chain)
    assert several.code == "OLMC423"
    assert several.message.startswith(
        "Subscription ns/kettle goes from kettle.v1.0.0 over kettle.v1.1.0 to kettle.v1.2.0 without a pause"
    )
    manual = subscribed(startingCSV="kettle.v1.0.0", installPlanApproval="Manual")["operators"]
    assert codes(tmp_path / "manual", groups={"ns/og": "own"}, operators=[*manual, more]) == []
    all_approved = {"olmc.yaml": "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {approve: [all]}\n"}
    assert codes(tmp_path / "approved", groups={"ns/og": "own"}, operators=[*manual, more], files=all_approved) == []
    assert codes(tmp_path / "head", groups={"ns/og": "own"}, operators=["kettle.v1.0.0", UPGRADE[1], more]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("${A}", ["OLMC408"]), ("${A:=b}", ["OLMC408"]), ("$${A}", []), ("$A", []), ("${1}", []), ("{A}", [])],
)
def test_variables_of_flux(text: str, expected: list[str], tmp_path: Path) -> None:
    substituting = {**FLUX, "spec": {"postBuild": {"substitute": {"B": "c"}}}}
    assert codes(tmp_path, manifests=[substituting, config_map(text)]) == expected


def test_flux_may_be_told_to_leave_an_object_alone(tmp_path: Path) -> None:
    exempt = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
    for number, field in enumerate(("labels", "annotations")):
        root = tmp_path / str(number)
        assert codes(root, manifests=[config_map("${A}", **{field: exempt})]) == []


SEVERAL = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: ns, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}
data: {a: "${ONE}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: ns}
data:
  # whoever wants another ${TWO} or ${THREE}
  a: |
    $${TWO}
    echo ${TWO} ${THREE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: ns}
data: {b: b, "a-${FOUR}": "${FIVE}", }
---
apiVersion: v1
kind: ConfigMap
metadata: {name: d, namespace: ns}
data:
  b: b
  a: "\\x24{SIX} ${SEVEN:=\\xe9}"
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_variable_is_shown_where_its_object_has_it(end: str, tmp_path: Path) -> None:
    """Not in another object of the file, not in a comment; where it is written with escapes, where its text begins."""
    said = found(tmp_path, files={"several.yaml": SEVERAL.replace("\n", end)})
    assert [(each.message.split()[0], str(each.location)) for each in said] == [
        ("${TWO}", "several.yaml:13:10"),
        ("${FOUR}", "several.yaml:18:17"),
        ("${SIX}", "several.yaml:25:6"),
    ]


@pytest.mark.slow
def test_the_variables_of_many_objects_are_found_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is not looked through again for each of its objects."""
    monkeypatch.setenv("OLMC_LIMIT_FINDINGS", "3000")
    text = "---\n".join(SEVERAL.split("---\n")[1].replace("name: b", f"name: b{number}") for number in range(3000))
    seconds = measure()
    assert len(found(tmp_path, files={"several.yaml": text})) == 3000
    assert seconds() < 10


def test_without_a_substituting_kustomization_it_is_a_remark(tmp_path: Path) -> None:
    assert codes(tmp_path / "none", manifests=[config_map("${A}")]) == ["OLMC409"]
    assert codes(tmp_path / "plain", manifests=[{**FLUX, "spec": {}}, config_map("${A}")]) == ["OLMC409"]


def test_flux_sees_of_bundles_what_is_rendered_for_it(tmp_path: Path) -> None:
    """Whoever has OLM install the bundle gets it as it is."""
    case = {
        "groups": {"ns/og": "own"},
        "operators": [{"name": "kettle.v1.0.0", "files": {"c.yaml": config_map("${A}")}}],
        "manifests": [{**FLUX, "spec": {"postBuild": {"substitute": {}, "substituteFrom": []}}}],
    }
    assert codes(tmp_path / "review", **case) == ["OLMC409"]
    assert codes(tmp_path / "apply", **case, files={"olmc.yaml": CONFIG % "for: apply"}) == ["OLMC408"]


def test_sizes(tmp_path: Path) -> None:
    """A warning for what is applied, a remark for what OLM installs, nothing for server-side apply."""
    server_side = {"argocd.argoproj.io/sync-options": "Prune=false, ServerSideApply=true"}
    bundle = {
        "groups": {"ns/og": "own"},
        "operators": [{"name": "kettle.v1.0.0", "files": {"c.yaml": config_map(BIG)}}],
    }
    assert codes(tmp_path / "a", manifests=[config_map(BIG)]) == ["OLMC410"]
    assert codes(tmp_path / "b", manifests=[config_map(BIG, annotations=server_side)]) == []
    assert codes(tmp_path / "c", **bundle) == ["OLMC411"]
    assert codes(tmp_path / "d", **bundle, files={"olmc.yaml": CONFIG % "for: apply"}) == ["OLMC410"]
    assert codes(tmp_path / "e", manifests=[config_map(BIG[:261_000])]) == []
    assert codes(tmp_path / "f", manifests=[config_map("", annotations={"a": BIG})]) == ["OLMC418"]


def test_a_size_counts_in_bytes(tmp_path: Path) -> None:
    """Of 100,000 characters each takes three; YAML is shorter than the JSON that is kept."""
    (tmp_path / "a").mkdir()
    assert codes(tmp_path / "a", manifests=[config_map("茶" * 100_000)]) == ["OLMC410"]
    listed = "[" + "a," * 70_000 + "]"
    widget = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {listed}\n"
    assert codes(tmp_path / "b", files={"w.yaml": widget}) == ["OLMC410"]


@pytest.mark.parametrize(
    ("field", "rule", "expected"),
    [
        ("clusterPermissions", "escalate roles.rbac.authorization.k8s.io", ["OLMC414"]),
        ("permissions", "escalate roles.rbac.authorization.k8s.io", ["OLMC415"]),
        ("clusterPermissions", "* *.*", ["OLMC414"]),
        ("permissions", "* *.*", ["OLMC415"]),
        ("clusterPermissions", "get secrets", ["OLMC415"]),
        ("clusterPermissions", "get secrets:mine", []),
        ("clusterPermissions", "create pods/exec", ["OLMC415"]),
        ("clusterPermissions", "get configmaps", []),
        ("permissions", "list kettles.kettle.example.com", []),
    ],
)
def test_permissions(field: str, rule: str, expected: list[str], tmp_path: Path) -> None:
    """Grave in the whole cluster, less so where the OperatorGroup's targets are, harmless for named objects."""
    operator = {"name": "kettle.v1.0.0", field: {"brewer": [rule]}}
    assert codes(tmp_path, groups={"ns/og": "own"}, operators=[operator]) == expected


@pytest.mark.parametrize(
    ("kind", "role", "expected"),
    [
        ("ClusterRoleBinding", "cluster-admin", ["OLMC414 crb.yaml"]),
        ("ClusterRoleBinding", "own", ["OLMC414 role.yaml"]),
        ("ClusterRoleBinding", "view", []),
        ("RoleBinding", "cluster-admin", ["OLMC415 crb.yaml"]),
        ("ClusterRoleBinding", "system:openshift:scc:privileged", ["OLMC415 crb.yaml"]),
    ],
)
def test_bindings_of_bundles_count(kind: str, role: str, expected: list[str], tmp_path: Path) -> None:
    """What a bundle grants beside its CSV is as dangerous as what the CSV asks for."""
    rbac = "rbac.authorization.k8s.io"
    rules = [{"verbs": ["escalate"], "apiGroups": [rbac], "resources": ["clusterroles"]}]
    own = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "own"}, "rules": rules}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": kind,
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "brewer", "namespace": "ns"}],
    }
    operator = {"name": "kettle.v1.0.0", "files": {"crb.yaml": binding, "role.yaml": own}}
    told = found(tmp_path, groups={"ns/og": "own"}, operators=[operator])
    assert [f"{each.code} {Path(each.location.path).name}" for each in told if each.location] == expected


@pytest.mark.parametrize(("kind", "expected"), [("PodMonitor", ["OLMC412"]), ("ServiceMonitor", []), ("Pod", [])])
def test_kinds_that_only_the_tools_take_r_cat_107(kind: str, expected: list[str], tmp_path: Path) -> None:
    """What the tools refuse as well is OLMC264."""
    monitor = {"apiVersion": "monitoring.coreos.com/v1", "kind": kind, "metadata": {"name": "m"}}
    operator = {"name": "kettle.v1.0.0", "files": {"m.yaml": monitor}}
    assert codes(tmp_path, groups={"ns/og": "own"}, operators=[operator]) == expected


@pytest.mark.parametrize(
    ("wave", "expected"), [("1", []), ("-5", []), ("+2", []), ("1.5", ["OLMC416"]), ("", ["OLMC416"])]
)
def test_sync_waves(wave: str, expected: list[str], tmp_path: Path) -> None:
    annotations = {"argocd.argoproj.io/sync-wave": wave}
    assert codes(tmp_path, manifests=[config_map("", annotations=annotations)]) == expected


def test_objects_of_olm_need_a_namespace(tmp_path: Path) -> None:
    """Other kinds of the same name, and cluster-wide ones of OLM, do not."""
    spec = {"name": "x", "source": "y", "sourceNamespace": "olm"}
    without = [
        {"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": {"name": "s"}, "spec": spec},
        {"apiVersion": "messaging.knative.dev/v1", "kind": "Subscription", "metadata": {"name": "s"}, "spec": {}},
        {"apiVersion": f"{OLM}/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}, "spec": {}},
    ]
    (diagnostic,) = found(tmp_path, manifests=without)
    assert (diagnostic.code, diagnostic.message.startswith("Subscription s has no")) == ("OLMC413", True)


def bundled(root: Path, csv: dict[str, Any], **options: Any) -> list[str]:
    """What is said of a bundle whose CSV is changed: code, place in the CSV, message and hint."""
    operator = {"name": "kettle.v1.0.0", "csv": csv, **options}
    said = found(root, groups={"ns/og": "own"}, operators=[operator])
    return [f"{each.code} {each.message} | {each.hint}" for each in said]


def test_fields_of_bundles_r_json_11(tmp_path: Path) -> None:
    """What could be meant is a warning, but not where that is there already; case means nothing in a bundle."""
    item = {"name": "kettles.tea.example.com", "version": "v1", "kind": "Kettle", "group": "tea.example.com"}
    required = {"customresourcedefinitions": {"required": [item, item]}}
    spec = {"MinKubeVersion": "1.20.0", "miniKubeVersion": "1.20.0", "maintainer": [], "replace": "a", "x-note": 1}
    assert bundled(tmp_path, {"spec": {**required, **spec}, "status": {"whatever": 1}}) == [
        "OLMC420 kettle.v1.0.0 has a field spec.customresourcedefinitions.required.*.group (2 times) that OLM does not "
        "know and leaves out | Remove it, or write a field that there is: displayName, description, resources, "
        "statusDescriptors, specDescriptors, actionDescriptors.",
        "OLMC420 kettle.v1.0.0 has a field spec.miniKubeVersion that OLM does not know and leaves out | Remove it.",
        "OLMC419 kettle.v1.0.0 has a field spec.maintainer that OLM does not know and leaves out | "
        "Did you mean maintainers?",
        "OLMC419 kettle.v1.0.0 has a field spec.replace that OLM does not know and leaves out | Did you mean replaces?",
        "OLMC420 kettle.v1.0.0 has a field spec.x-note that OLM does not know and leaves out | Remove it.",
    ]


def test_nothing_is_deployed(tmp_path: Path) -> None:
    install: dict[str, Any] = {"spec": {"deployments": None, "deployment": []}}
    assert bundled(tmp_path, {"spec": {"install": install}}) == [
        "OLMC419 kettle.v1.0.0 has a field spec.install.spec.deployment that OLM does not know and leaves out, so that "
        "nothing is deployed | Did you mean deployments?"
    ]


def deployed(**pods: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "lid", "image": "x:1"}], **pods}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"spec": {"install": {"spec": {"deployments": [{"name": "lid", "spec": spec}]}}}}


def test_accounts_of_deployments(tmp_path: Path) -> None:
    """Permissions, the bundle and the workspace make accounts; default is there; the old name of the field counts."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "brewer"}}
    ways: list[dict[str, Any]] = [
        {"csv": deployed()},
        {"csv": deployed(serviceAccountName="default")},
        {"csv": deployed(serviceAccountName="brewer"), "permissions": {"brewer": ["get configmaps"]}},
        {"csv": deployed(serviceAccountName="brewer"), "clusterPermissions": {"brewer": ["get configmaps"]}},
        {"csv": deployed(serviceAccountName="brewer"), "files": {"a.yaml": account}},
    ]
    for number, way in enumerate(ways):
        (tmp_path / str(number)).mkdir()
        assert bundled(tmp_path / str(number), **way) == []
    (tmp_path / "own").mkdir()
    own = {**account, "metadata": {"name": "brewer", "namespace": "ns"}}
    operator = {"name": "kettle.v1.0.0", "csv": deployed(serviceAccount="brewer")}
    assert codes(tmp_path / "own", groups={"ns/og": "own"}, operators=[operator], manifests=[own]) == []
    (tmp_path / "none").mkdir()
    given = {"csv": deployed(serviceAccount="brewer"), "permissions": {"keeper": ["get configmaps"]}}
    assert bundled(tmp_path / "none", **given) == [
        "OLMC421 Deployment lid of kettle.v1.0.0 runs as ServiceAccount brewer, which does not exist in namespace ns: "
        "it gets no pods, and the operator never succeeds | Its permissions are for keeper. Name that account, or add "
        "a ServiceAccount to the bundle or to the workspace."
    ]


def test_only_ranges_that_can_be_read_are_half_ones(tmp_path: Path) -> None:
    """What OLM can't read at all is OLMC240."""
    operators = [{"name": "kettle.v1.0.0"}, {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0"}]
    operators[1]["skipRange"] = ">=1.0.0 <"
    (said,) = found(tmp_path, groups={"ns/og": "own"}, operators=operators)
    assert (said.code, said.message) == (
        "OLMC422", "OLM drops '<' from the skipRange '>=1.0.0 <' of kettle.v1.1.0 and reads the rest",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"sourceType": "grpc", "image": "registry.example.com/tea:v1"}, ""),
        ({"sourceType": "grpc", "address": "tea.olm.svc:50051"}, ""),
        ({"sourceType": "internal", "configMap": "tea"}, ""),
        ({"sourceType": "grpc"}, "image and address unset: at least one must be set for sourcetype: grpc"),
        (
            {"sourceType": "grpc", "configMap": "tea", "image": ""},
            "image and address unset: at least one must be set for sourcetype: grpc",
        ),
        ({"sourceType": "configmap", "image": "tea"}, "configmap name unset: must be set for sourcetype: configmap"),
        ({"sourceType": "internal"}, "configmap name unset: must be set for sourcetype: internal"),
        ({"sourceType": "Grpc", "image": "tea"}, "unknown sourcetype: Grpc"),
        ({"sourceType": "", "image": "tea"}, "unknown sourcetype: "),
    ],
)
def test_sources_that_olm_refuses_r_cat_161(spec: dict[str, Any], problem: str, tmp_path: Path) -> None:
    metadata = {"name": "tea", "namespace": "olm"}
    source = {"apiVersion": f"{OLM}/v1alpha1", "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    said = [each.message for each in found(tmp_path, manifests=[source])]
    assert said == ([f"OLM refuses CatalogSource olm/tea (SpecInvalidError): {problem}"] if problem else [])


def test_keys_that_are_lost_in_a_bundle_s_objects_r_json_11(tmp_path: Path) -> None:
    """OLMC425: each key once an object, with its first place; values that the type leaves out are no loss."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-descriptors": []}}, "nullable": False}
    version = {"name": "v1", "served": True, "storage": True}
    versions = [{**version, "schema": {"openAPIV3Schema": {**schema, "x-descriptors": []}}}]
    spec = {"group": "example.com", "scope": "Namespaced", "versions": versions, "version": "v1"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pots.example.com"},
        "spec": {**spec, "names": {"plural": "pots", "kind": "Pot"}},
    }
    operator = {"name": "kettle.v1.0.0", "owned": ["Pot"], "files": {"pots.example.com.crd.yaml": crd}}
    told = [each.message for each in found(tmp_path, operators=[operator]) if each.code == "OLMC425"]
    assert [text.partition(" has a key ")[2].partition(" that ")[0] for text in told] == [
        "spec.versions.0.schema.openAPIV3Schema.properties.a.x-descriptors (and 1 more x-descriptors)",
        "spec.version",
    ]
