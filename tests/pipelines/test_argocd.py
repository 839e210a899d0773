"""The config management plugin, run as Argo CD's repo server runs it (cmpserver/plugin: working directory, environment,
standard output, exit code), from the plugin.yaml that `olmc init argocd` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from building import write_workspace
from hypothesis import given
from hypothesis import strategies as st
from pipeline_workshop import FIXTURES, Object, copied, name_of, run, stream
from properties import examples
from scenarios import write

from olmc.integrations.pipelines.argocd import SYNC_WAVE, announcements, generate
from olmc.k8s.api.applied import SYNC_OPTIONS
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.diagnostics import Severity

pytestmark = pytest.mark.process

Parameters = Sequence[Mapping[str, Any]]
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\n"
GIT = "3f786850e387550fdab836ed7e6dc881de23001b"


class Plugin(NamedTuple):
    """A sidecar with its plugin.yaml."""

    config: Object

    def discovers(self, app: Path) -> bool:
        """fileName is a glob below the application's path, and the first kind of discovery that is asked."""
        return bool(list(app.glob(self.config["spec"]["discover"]["fileName"])))

    def generates(self, app: Path, parameters: Parameters | None = None, env: Mapping[str, str] | None = None,
                  **build: str) -> Generated:  # fmt: skip
        """What the repo server gets: init, if there is one, then generate, both in the application's directory."""
        assert "init" not in self.config["spec"]
        variables = standard(app) | {f"ARGOCD_ENV_{key}": value for key, value in (env or {}).items()}
        variables |= as_variables(parameters) | build
        generate = self.config["spec"]["generate"]
        command = [*generate["command"], *generate.get("args", [])]
        # Variables without a value are not handed on.
        done = run(command, app, extra={key: value for key, value in variables.items() if value})
        return Generated(done.returncode, done.stdout.removesuffix("\n"), done.stderr)

    def announces(self, app: Path) -> list[Object]:
        """The parameters as the UI gets them: the dynamic ones first."""
        parameters = self.config["spec"]["parameters"]
        done = run(parameters["dynamic"]["command"], app, extra=standard(app))
        assert done.returncode == 0, done.stderr
        return [*json.loads(done.stdout), *parameters["static"]]


class Generated(NamedTuple):
    """Exit code, manifests and what the UI shows of an error."""

    code: int
    stdout: str
    stderr: str

    @property
    def objects(self) -> list[Object]:
        assert self.code == 0, self.stderr
        return stream(self.stdout)

    @property
    def by_name(self) -> dict[str, Object]:
        return {name_of(obj): obj for obj in self.objects}


def standard(app: Path) -> dict[str, str]:
    """The build environment of every plugin."""
    return {
        "ARGOCD_APP_NAME": "harbour", "ARGOCD_APP_NAMESPACE": "docks", "ARGOCD_APP_PROJECT_NAME": "default",
        "ARGOCD_APP_REVISION": GIT, "ARGOCD_APP_REVISION_SHORT": GIT[:7], "ARGOCD_APP_REVISION_SHORT_8": GIT[:8],
        "ARGOCD_APP_SOURCE_PATH": app.name, "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/harbour.git",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "main", "KUBE_VERSION": "1.31",
        "KUBE_API_VERSIONS": "v1,v1/ConfigMap,apps/v1,apps/v1/Deployment",
    }  # fmt: skip


def as_variables(parameters: Parameters | None) -> dict[str, str]:
    """ARGOCD_APP_PARAMETERS and the PARAM_ variables; an Application without parameters gives `null`."""
    made = {"ARGOCD_APP_PARAMETERS": json.dumps(parameters)}
    for each in parameters or ():
        base = "PARAM_" + re.sub("[^A-Z0-9_]", "_", str(each["name"]).upper())
        if "string" in each:
            made[base] = each["string"]
        made |= {f"{base}_{number}": value for number, value in enumerate(each.get("array", ()))}
    return made


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    folder = tmp_path_factory.mktemp("argocd")
    done = run(["olmc", "init", "argocd", "sidecar"], folder)
    assert done.returncode == 0, done.stderr
    return Plugin(yaml.safe_load((folder / "sidecar/plugin.yaml").read_text(encoding="utf-8")))


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The source of an Application."""
    folder = copied("own-namespace", tmp_path / "app")
    return write(folder, {"olmc.yaml": CONFIG})


def test_the_plugin_is_what_argo_cd_reads(plugin: Plugin) -> None:
    """The required fields, and none that Argo CD does not know."""
    config = plugin.config
    assert (config["apiVersion"], config["kind"]) == ("argoproj.io/v1alpha1", "ConfigManagementPlugin")
    assert config["metadata"] == {"name": "olmc"}
    known = {"version", "init", "generate", "discover", "parameters", "preserveFileMode", "provideGitCreds"}
    assert config["spec"].keys() <= known
    assert config["spec"]["generate"]["command"]
    fields = {"name", "title", "tooltip", "required", "itemType", "collectionType", "string", "array", "map"}
    for each in config["spec"]["parameters"]["static"]:
        assert each.keys() <= fields
        assert each["collectionType"] in ("string", "array", "map")
        assert each.keys() & {"string", "array", "map"} <= {each["collectionType"]}
        assert isinstance(each.get("string", ""), str)


def test_discovery(plugin: Plugin, app: Path) -> None:
    """Only a workspace that says so is taken: with OLM in the cluster, Subscriptions are applied as they are."""
    assert plugin.discovers(app)
    (app / "olmc.yaml").unlink()
    assert not plugin.discovers(app)


def test_objects_and_nothing_else(plugin: Plugin, app: Path) -> None:
    """As `render --for apply` apart from sync options; each in its namespace, none twice, none with a generateName."""
    made = plugin.generates(app)
    command = ["olmc", "render", "--for", "apply", "--kube-version", "1.31", "-o", "json"]
    assert list(map(without_options, made.objects)) == json.loads(run(command, app).stdout)["items"]
    assert made.stderr == ""
    names = [name_of(obj) for obj in made.objects]
    assert len(set(names)) == len(names) > 5
    assert all("generateName" not in obj["metadata"] for obj in made.objects)
    cluster_scoped = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
    for obj in made.objects:
        assert ("namespace" in obj["metadata"]) == (obj["kind"] not in cluster_scoped), name_of(obj)


def without_options(obj: Object) -> Object:
    """An object without sync options."""
    annotations = {k: v for k, v in obj["metadata"].get("annotations", {}).items() if k != SYNC_OPTIONS}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def options_of(made: Generated) -> dict[str, str]:
    """The sync options of the objects that have some."""
    annotations = {name: obj["metadata"].get("annotations") or {} for name, obj in made.by_name.items()}
    return {name: found[SYNC_OPTIONS] for name, found in annotations.items() if SYNC_OPTIONS in found}


def test_namespaces_and_crds_are_neither_pruned_nor_deleted(plugin: Plugin, app: Path) -> None:
    """They take with them what others have put there. What a manifest says of it itself stays."""
    both = "Prune=false,Delete=false"
    assert options_of(plugin.generates(app)) == {
        "Namespace/harbour": both,
        "Namespace/olm": both,
        "CustomResourceDefinition/beacons.lights.example.com": both,
    }
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {" + SYNC_OPTIONS + ": '%s'}}\n"
    write(app, {"a.yaml": space % ("a", "Prune=confirm, Validate=false"), "b.yaml": space % ("b", "Delete=true")})
    found = options_of(plugin.generates(app))
    assert found["Namespace/a"] == "Prune=confirm,Validate=false,Delete=false"
    assert found["Namespace/b"] == "Delete=true,Prune=false"


def test_a_custom_resource_whose_crd_is_elsewhere_is_not_tried_before(plugin: Plugin, app: Path) -> None:
    """Argo CD skips the dry run by itself only for CRDs of the same sync."""
    write(
        app,
        {
            "more.yaml": """\
apiVersion: tides.example.com/v1
kind: Tide
metadata: {name: high, namespace: harbour}
---
apiVersion: lights.example.com/v1
kind: Beacon
metadata: {name: lit, namespace: harbour}
"""
        },
    )
    found = options_of(plugin.generates(app))
    assert found["Tide/harbour/high"] == "SkipDryRunOnMissingResource=true"
    assert "Beacon/harbour/lit" not in found
    second = plugin.generates(app, [{"name": "phase", "string": "2"}])
    assert options_of(second) == {"Beacon/harbour/lit": "SkipDryRunOnMissingResource=true"}


def notary(app: Path) -> Path:
    """An Application with cert-manager, or what has its name here, and an operator that wants a certificate."""
    hook: list[Object] = [{"rules": []}]
    issuing = {"name": "notary.v1.0.0", "owned": ["Issuer.v1.cert-manager.io", "Certificate.v1.cert-manager.io"]}
    manifest = {"apiVersion": "kettle.example.com/v1", "kind": "Kettle", "metadata": {"name": "red", "namespace": "ns"}}
    asking = {"name": "kettle.v1.0.0", "owned": ["Kettle"], "webhooks": hook}
    case = {"groups": {"ns/og": "all"}, "operators": [issuing, asking], "manifests": [manifest]}
    write_workspace(app, {**case, "files": {"olmc.yaml": f"{CONFIG}spec: {{certs: cert-manager}}\n"}})
    return app


def test_cert_manager_and_what_it_issues_are_in_waves(plugin: Plugin, tmp_path: Path) -> None:
    """Whether the Application asks for waves or not: in Argo CD's own order the webhook would refuse the Issuers."""
    app = notary(tmp_path)
    made = plugin.generates(app)
    waves = {name: int(obj["metadata"]["annotations"][SYNC_WAVE]) for name, obj in made.by_name.items()}
    assert waves == {name: int(obj["metadata"]["annotations"][SYNC_WAVE]) for name, obj in plugin.generates(
        app, [{"name": "sync-waves", "string": "true"}]).by_name.items()}  # fmt: skip
    order = [
        "CustomResourceDefinition/issuers.cert-manager.io",
        "Deployment/ns/notary-controller",
        "Issuer/ns/kettle-controller-service-cert",
        "Deployment/ns/kettle-controller",
        "ValidatingWebhookConfiguration/vkettle.example.com-ns",
        "Kettle/ns/red",
    ]
    assert [waves[name] for name in order] == [-3, 0, 2, 3, 4, 5]
    assert waves["Certificate/ns/kettle-controller-service-cert"] == 2


def test_two_applications_for_two_phases(plugin: Plugin, tmp_path: Path) -> None:
    """Each object is in one of them."""
    app = notary(tmp_path)
    first, second = (plugin.generates(app, [{"name": "phase", "string": phase}]).by_name for phase in "12")
    whole = plugin.generates(app).by_name
    assert not first.keys() & second.keys()
    assert first.keys() | second.keys() == whole.keys()
    assert "Issuer/ns/kettle-controller-service-cert" in second
    assert "Deployment/ns/notary-controller" in first
    wrong = plugin.generates(app, [{"name": "phase", "string": "3"}])
    assert (wrong.code, "the parameter phase" in wrong.stderr) == (3, True)


def test_half_an_output_is_none(plugin: Plugin, app: Path) -> None:
    """Unless the Application says so: Argo CD takes the output of exit code 0 alone."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: second, namespace: harbour}\n"
    write(app, {"second.yaml": group})
    refused = plugin.generates(app)
    assert (refused.code, refused.stdout) == (1, "")
    assert "nothing is printed, because these operators would be missing: harbour/beacon (" in refused.stderr
    assert "set the parameter keep-going to true" in refused.stderr
    going = plugin.generates(app, [{"name": "keep-going", "string": "true"}])
    assert "Namespace/harbour" in going.by_name
    assert "OLMC306" in going.stderr
    assert "OLMC322" not in going.stderr


def test_a_manifest_without_namespace_is_in_that_of_the_application(plugin: Plugin, app: Path) -> None:
    """Where Argo CD would put it; and a namespace where none belongs goes."""
    write(
        app,
        {
            "more.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: loose, generateName: l-}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: loose, namespace: docks}
data: {a: b}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: stray, namespace: docks}
---
apiVersion: tides.example.com/v1
kind: Tide
metadata: {name: unknown}
---
apiVersion: lights.example.com/v1
kind: Beacon
metadata: {name: lit}
"""
        },
    )
    made = plugin.generates(app)
    assert made.by_name["ConfigMap/docks/loose"]["data"] == {"a": "b"}
    assert len([name for name in made.by_name if name.endswith("loose")]) == 1
    assert "generateName" not in made.by_name["ConfigMap/docks/loose"]["metadata"]
    assert "OLMC127" in made.stderr
    assert "ClusterRole/stray" in made.by_name
    assert "Tide/unknown" in made.by_name


def test_a_custom_resource_is_placed_by_its_crd(plugin: Plugin, tmp_path: Path) -> None:
    crd = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.tides.example.com}}
spec:
  group: tides.example.com
  names: {{kind: {kind}, plural: {plural}}}
  scope: {scope}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
---
apiVersion: tides.example.com/v1
kind: {kind}
metadata: {{name: a, {given}}}
"""
    app = write(tmp_path, {
        "ebb.yaml": crd.format(plural="ebbs", kind="Ebb", scope="Namespaced", given=""),
        "sea.yaml": crd.format(plural="seas", kind="Sea", scope="Cluster", given="namespace: x"),
    })  # fmt: skip
    assert {"Ebb/docks/a", "Sea/a"} <= plugin.generates(app).by_name.keys()


def test_aggregated_cluster_roles_have_no_rules(plugin: Plugin, app: Path) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\n%srules: []\n"
    selectors = "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n"
    write(app, {"a.yaml": role % ("all", selectors), "b.yaml": role % ("plain", "")})
    made = plugin.generates(app).by_name
    assert "rules" not in made["ClusterRole/all"]
    assert made["ClusterRole/plain"]["rules"] == []


@pytest.mark.parametrize(("size", "applied"), [(1000, None), (200_000, None), (262_144, "ServerSideApply=true")])
def test_large_objects_are_applied_by_the_server(size: int, applied: str | None, plugin: Plugin, app: Path) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large", "namespace": "harbour"}}
    write(app, {"large.json": json.dumps({**config_map, "data": {"a": "x" * size}})})
    large = plugin.generates(app).by_name["ConfigMap/harbour/large"]
    assert large["metadata"].get("annotations", {}).get(SYNC_OPTIONS) == applied


def test_the_limit_is_that_of_annotations(plugin: Plugin, app: Path) -> None:
    """A client-side apply keeps the whole object, as Go writes it, in an annotation beside the others."""
    for text, count in (("<", ANNOTATIONS_LIMIT // 6), ("x", ANNOTATIONS_LIMIT // 2)):
        noted = {"note": "n" * (ANNOTATIONS_LIMIT // 4)} if text == "x" else {}
        metadata = {"name": "large", "namespace": "harbour", "annotations": {**noted, SYNC_OPTIONS: "Prune=false"}}
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": text * count}}
        write(app, {"large.json": json.dumps(made)})
        found = plugin.generates(app).by_name["ConfigMap/harbour/large"]["metadata"]["annotations"]
        assert found[SYNC_OPTIONS] == "Prune=false,ServerSideApply=true"


def test_sync_waves_on_request(plugin: Plugin, app: Path) -> None:
    write(app, {"own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: harbour, annotations: "
                            f"{{{SYNC_WAVE}: '7'}}}}\n"})  # fmt: skip
    plain = plugin.generates(app).by_name
    assert [name for name, obj in plain.items() if SYNC_WAVE in json.dumps(obj)] == ["ConfigMap/harbour/own"]
    waves = plugin.generates(app, [{"name": "sync-waves", "string": "true"}]).by_name
    found = {name: obj["metadata"]["annotations"][SYNC_WAVE] for name, obj in waves.items()}
    assert all(isinstance(wave, str) and int(wave) in range(-3, 8) for wave in found.values())
    assert found["ConfigMap/harbour/own"] == "7"
    assert found["Namespace/harbour"] == "-3"
    assert int(found["ServiceAccount/harbour/beacon"]) < int(found["Deployment/harbour/beacon-controller"])
    env = plugin.generates(app, env={"OLMC_SYNC_WAVES": "true"})
    assert env.by_name == waves


def test_parameters_and_variables(plugin: Plugin, app: Path) -> None:
    """A parameter wins over a variable, a variable over the cluster, the cluster over olmc.yaml."""
    only = [{"name": "include", "array": ["Deployment", "Namespace"]}]
    assert {obj["kind"] for obj in plugin.generates(app, only).objects} == {"Deployment", "Namespace"}
    as_text = [{"name": "include", "string": "Deployment, Namespace"}]
    assert plugin.generates(app, as_text).objects == plugin.generates(app, only).objects
    env = {"OLMC_INCLUDE": "Deployment,Namespace"}
    assert plugin.generates(app, env=env).objects == plugin.generates(app, only).objects
    role = plugin.generates(app, [{"name": "include", "array": ["Role"]}], env=env)
    assert {obj["kind"] for obj in role.objects} == {"Role"}
    write(app, {"olmc.yaml": f"{CONFIG}spec: {{include: [Role], for: review}}\n"})
    assert {obj["kind"] for obj in plugin.generates(app).objects} == {"Role"}
    plain = copied("own-namespace", app.parent / "plain")
    assert plugin.generates(app, only).objects == plugin.generates(plain, only).objects


def test_a_bundle(plugin: Plugin, tmp_path: Path) -> None:
    """It is installed in the namespace of the Application, unless a parameter says where."""
    app = copied("bare-bundle", tmp_path / "app")
    assert "Deployment/docks/beacon-controller" in plugin.generates(app).by_name
    parameters: Parameters = [{"name": "namespace", "string": "tools"}, {"name": "watch", "array": ["tools"]}]
    deployment = plugin.generates(app, parameters).by_name["Deployment/tools/beacon-controller"]
    assert deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"] == "tools"
    everywhere = plugin.generates(app, [{"name": "all-namespaces", "string": "true"}])
    deployment = everywhere.by_name["Deployment/docks/beacon-controller"]
    assert deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"] == ""


def test_the_cluster_says_its_version_and_its_apis(plugin: Plugin, app: Path) -> None:
    budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: pdb, namespace: harbour}\n"
    write(app, {"pdb.yaml": budget, "olmc.yaml": f"{CONFIG}spec: {{kubeVersion: v1.20.0}}\n"})
    refused = plugin.generates(app)
    assert (refused.code, refused.stdout) == (3, "")
    assert "Kubernetes v1.31.0 does not serve PodDisruptionBudget harbour/pdb" in refused.stderr
    assert "policy/v1" in refused.stderr
    assert plugin.generates(app, KUBE_VERSION="v1.24.3").code == 0
    assert plugin.generates(app, [{"name": "kube-version", "string": "1.24"}]).code == 0
    assert plugin.generates(app, KUBE_VERSION="").code == 0


def test_kinds_that_the_cluster_serves_can_be_installed(plugin: Plugin, app: Path) -> None:
    """KUBE_API_VERSIONS, besides the apis of olmc.yaml."""
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: %s\nmetadata: {name: m}\nspec: {}\n"
    write(app / "bundles/beacon-1.0.0/manifests", {f"{kind}.yaml": monitor % kind
                                                   for kind in ("ServiceMonitor", "PrometheusRule")})  # fmt: skip
    write(app, {"olmc.yaml": f"{CONFIG}spec: {{apis: [monitoring.coreos.com/v1/PrometheusRule]}}\n"})
    without = plugin.generates(app)
    assert without.code == 1
    assert "Unable to find GVK in discovery: monitoring.coreos.com v1 ServiceMonitor" in without.stderr
    served = "v1,monitoring.coreos.com/v1,monitoring.coreos.com/v1/ServiceMonitor"
    assert "ServiceMonitor/harbour/m" in plugin.generates(app, KUBE_API_VERSIONS=served).by_name


def test_an_application_without_parameters(plugin: Plugin, app: Path) -> None:
    for text in ("null", "[]", ""):
        assert plugin.generates(app, ARGOCD_APP_PARAMETERS=text).code == 0


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ([{"name": "cert", "string": "none"}], "the parameter cert: there is no such setting"),
        ([{"name": "certs", "string": "letsencrypt"}], "the parameter certs: 'letsencrypt' is not one of"),
        ([{"name": "exclude", "array": ["Deploymnet"]}], "exclude: nothing is of kind Deploymnet"),
        ([{"name": "certs", "array": ["none"]}], 'the parameter certs: ["none"] is not one of'),
        ([{"name": "include", "map": {"a": "b"}}], "the parameter include: it can't be a map"),
        ([{"name": "for", "string": "review"}], "the parameter for: an Application can't set it"),
        ([{"name": "sync-waves", "string": "maybe"}], "'maybe' is neither true nor false"),
        ([{"name": "allow-empty", "string": "perhaps"}], "allow-empty: 'perhaps' is a text, not true or false"),
        ([{"name": "watch", "array": ["A_B"]}], "watch: 'A_B' is not what belongs here: the name of a namespace"),
        ([{"string": "a"}], 'ARGOCD_APP_PARAMETERS: {"string": "a"} has no name'),
    ],
)
def test_a_wrong_parameter_is_refused(parameters: Parameters, told: str, app: Path) -> None:
    """OLMC601; it is shown in the UI, and nothing is applied."""
    done = run(["olmc", "argocd", "generate"], app, extra={"ARGOCD_APP_PARAMETERS": json.dumps(parameters)})
    assert (done.returncode, done.stdout) == (3, "")
    assert told in done.stderr
    assert "OLMC601" in done.stderr
    assert "Traceback" not in done.stderr


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "true", "none", "1.30"]),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["a", "name"]), below, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from([each["name"] for each in announcements()] + ["for", "kubeVersion", "x"]) | VALUES
PARAMETERS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"string": VALUES, "array": VALUES, "map": VALUES}), max_size=3
)


def allows_empty(parameters: Any) -> bool:
    return "allow-empty" in json.dumps(parameters)


@examples(200)
@given(PARAMETERS | VALUES)
def test_no_parameters_make_it_stumble(parameters: Any) -> None:
    """Property: whatever an Application has, there are objects or a reason why not."""
    made = generate(FIXTURES / "own-namespace", {"ARGOCD_APP_PARAMETERS": json.dumps(parameters)})
    assert made.objects or any(each.severity is Severity.ERROR for each in made.diagnostics) or allows_empty(parameters)


def test_other_variables_are_the_users_own(plugin: Plugin, app: Path) -> None:
    assert plugin.generates(app, env={"FOO": "bar"}).code == 0
    wrong = plugin.generates(app, env={"OLMC_FOO": "bar"})
    assert (wrong.code, "the variable OLMC_FOO" in wrong.stderr) == (3, True)
    broken = plugin.generates(app, ARGOCD_APP_PARAMETERS="[{")
    assert (broken.code, "it is no JSON" in broken.stderr) == (3, True)


def test_nothing_is_an_error(plugin: Plugin, tmp_path: Path) -> None:
    """With pruning, blank output deletes everything."""
    blank = plugin.generates(write(tmp_path, {"olmc.yaml": CONFIG}))
    assert (blank.code, blank.stdout) == (3, "")
    assert "allow-empty" in blank.stderr
    allowed = plugin.generates(tmp_path, [{"name": "allow-empty", "string": "true"}])
    assert (allowed.code, allowed.stdout) == (0, "")


def test_an_operator_that_would_fail_prunes_nothing(plugin: Plugin, tmp_path: Path) -> None:
    app = copied("requirements-not-met", tmp_path / "app")
    made = plugin.generates(app)
    assert (made.code, made.stdout) == (1, "")
    assert "would stay Pending" in made.stderr


def test_announcements_have_the_defaults_that_generate_applies(plugin: Plugin, app: Path) -> None:
    """Argo CD does not send them back, so sending them must change nothing."""
    announced = plugin.announces(app)
    dynamic = {each["name"]: each for each in announced[: len(announced) // 2]}
    assert dynamic == {each["name"]: each for each in announced[len(announced) // 2 :]}
    sent = [{"name": each["name"], each["collectionType"]: each[each["collectionType"]]}
            for each in dynamic.values() if each["collectionType"] in each]  # fmt: skip
    assert len(sent) > 5
    assert plugin.generates(app, sent).objects == plugin.generates(app).objects


def test_announcements_show_the_defaults_of_the_workspace(plugin: Plugin, app: Path) -> None:
    write(app, {"olmc.yaml": f"{CONFIG}spec: {{certs: cert-manager, exclude: [Namespace]}}\n"})
    shown = {each["name"]: each for each in reversed(plugin.announces(app))}  # the UI takes the first
    assert shown["certs"]["string"] == "cert-manager"
    assert shown["exclude"]["array"] == ["Namespace"]
    write(app, {"olmc.yaml": "spec: ["})
    done = run(["olmc", "argocd", "parameters"], app)
    assert done.returncode == 0
    assert {each["name"]: each for each in json.loads(done.stdout)}["certs"]["string"] == "none"
    assert "OLMC100" in done.stderr


def test_the_sidecar(tmp_path: Path) -> None:
    """The patch and the container file as Argo CD wants them."""
    assert run(["olmc", "init", "argocd", "--image", "registry.example.com/olmc:1"], tmp_path).returncode == 0
    patch = yaml.safe_load((tmp_path / "argocd/repo-server-patch.yaml").read_text(encoding="utf-8"))
    assert (patch["apiVersion"], patch["kind"], patch["metadata"]["name"]) == (
        "apps/v1", "Deployment", "argocd-repo-server"
    )  # fmt: skip
    pod = patch["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "registry.example.com/olmc:1"
    assert container["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert container["securityContext"]["runAsUser"] == 999
    assert container["securityContext"]["runAsNonRoot"] is True
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert mounts["/var/run/argocd"] == "var-files"
    assert mounts["/home/argocd/cmp-server/plugins"] == "plugins"
    assert mounts["/tmp"] == "olmc-tmp"
    (container,) = pod["containers"]
    assert (
        container["resources"]["limits"].keys()
        == {"cpu", "memory", "ephemeral-storage"}
        == (container["resources"]["requests"].keys())
    )
    assert pod["volumes"] == [{"name": "olmc-tmp", "emptyDir": {"sizeLimit": "1Gi"}}]
    image = (tmp_path / "argocd/Containerfile").read_text(encoding="utf-8").splitlines()
    assert "WORKDIR /home/argocd/cmp-server/config/" in image
    assert "COPY plugin.yaml ./" in image
    assert "USER 999" in image
