"""The options that a workspace carries in `olmc.yaml` (docs/configuration.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from building import bundle_files, described
from scenarios import write
from small_files import CONFIG, namespace

import olmc
from olmc import Report, Severity
from olmc.compiler.load.config import indexing_from, options_from, read_config
from olmc.compiler.model.options import Indexing, PlatformGroup
from olmc.compiler.olm.profiles.data import served_by


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (CONFIG + "  fro: apply\n", "olmc.yaml:4:3", "spec.fro: there is no such field; did you mean for?"),
        (CONFIG + "  for: review\n  proxy:\n    url: x\n", "olmc.yaml:6:5", "spec.proxy.url: there is no such field"),
        (CONFIG + "  for: both\n", "olmc.yaml:4:8", "'both' is not one of review, apply"),
        (CONFIG + "  include: Deployment\n", "olmc.yaml:4:12", "'Deployment' is a text, not a list"),
        (CONFIG + "  include:\n  - Deployment\n  - 5\n", "olmc.yaml:6:5", "5 is a number, not a text; put it"),
        ("apiVersion: olmc.dev/v1\nkind: Config\n", "olmc.yaml:1:13", "'olmc.dev/v1' is not olmc.dev/v1alpha1"),
        ("kind: Config\n", "olmc.yaml:1:1", "apiVersion is missing"),
        ("- 1\n", "olmc.yaml:1:1", "[1] is a list, not a mapping"),
        (CONFIG + "  ignore: [a, '!']\n", "olmc.yaml:4:15", "spec.ignore.1: Invalid git pattern"),
        (
            CONFIG + "  suppress:\n  - {code: OLMC270, reason: x, path: '[[:digit:]]'}\n",
            "olmc.yaml:5:38",
            "spec.suppress.0.path: '[[:digit:]]' has a class of characters by name",
        ),
        (CONFIG + "  certs: certmanager\n", "olmc.yaml:4:10", "did you mean cert-manager?"),
        (CONFIG + "  kubeVersion: 1.36\n", "olmc.yaml:4:16", "1.36 is a number, not a text; put it in quotes"),
        (CONFIG + "  kubeVersion: latest\n", "olmc.yaml:4:16", "as it reports it itself, such as v1.36.2"),
        (CONFIG + "  exclude: [true]\n", "olmc.yaml:4:13", "true is a boolean, not a text; put it in quotes"),
        (CONFIG + "  suppress: [{code: OLMC270}]\n", "olmc.yaml:4:14", "spec.suppress.0: reason is missing"),
    ],
)
def test_what_is_wrong_in_olmc_yaml_olmc138(text: str, place: str, says: str, tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": text, "a.yaml": namespace("a")}))
    assert (made.failed, made.objects) == (True, ())
    (found,) = made.diagnostics
    assert (found.code, found.severity) == ("OLMC138", Severity.ERROR)
    assert says in found.message
    assert str(found.location) == place


@pytest.mark.parametrize("version", ["1.30", "v1.30", "1.30.0"])
def test_a_version_of_kubernetes_may_be_short(version: str, tmp_path: Path) -> None:
    """As on the command line."""
    (tmp_path / "olmc.yaml").write_text(f"{CONFIG}  kubeVersion: '{version}'\n", encoding="utf-8")
    assert options_from(read_config(tmp_path, Report()), olmc.Options(), frozenset()).kube_version == "v1.30.0"


def test_olmc_yaml_that_is_no_yaml(tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": "spec: [", "a.yaml": namespace("a")}))
    assert made.failed
    assert [found.location.path for found in made.diagnostics if found.location] == ["olmc.yaml"]


def test_an_empty_olmc_yaml_says_nothing(tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": "# later\n", "a.yaml": namespace("a")}))
    assert (made.failed, len(made.objects)) == (False, 1)


ALL_OPTIONS = (
    CONFIG
    + """\
  for: apply
  certs: cert-manager
  copiedCSVs: false
  include: [Deployment]
  exclude: [Secret]
  kubeVersion: v1.30.0
  olmVersion: ocp-4.14
  globalCatalogNamespace: openshift-marketplace
  legacyUpgradePrecedence: true
  legacyCRDRules: true
  protectedCopiedCSVNamespaces: [kept]
  apis: [monitoring.coreos.com/v1/ServiceMonitor]
  namespaces: [team-a]
  approve: [all]
  delete: [ClusterServiceVersion/kettle/kettle.v1.0.0]
  descoped: true
  runningCatalogs: [kettle/all]
  allowSharedAPIs: [kettles.tea.example.com]
  enableV2alpha1: true
  approvedInstalls: [kettle/kettle.v1.0.0]
  olmNamespace: openshift-operator-lifecycle-manager
  images: [{image: registry.example.com/kettle, bundle: kettle.v1}]
  proxy: {httpProxy: "http://p:1", noProxy: x}
"""
)


def test_every_option_of_olmc_yaml_arrives(tmp_path: Path) -> None:
    report = Report()
    config = read_config(write(tmp_path, {"olmc.yaml": ALL_OPTIONS}), report)
    options = options_from(config, olmc.Options(), frozenset())
    assert list(report) == []
    assert options == olmc.Options(
        purpose="apply",
        certificates="cert-manager",
        copied_csvs=False,
        include=("Deployment",),
        exclude=("Secret",),
        kube_version="v1.30.0",
        olm_version="ocp-4.14",
        global_groups=(PlatformGroup("openshift-operators", "global-operators"),),
        global_catalog_namespace="openshift-marketplace",
        legacy_precedence=True,
        legacy_crd_rules=True,
        protected_copied_csv_namespaces=("kept",),
        apis=("monitoring.coreos.com/v1/ServiceMonitor",),
        api_resources=served_by("4.14"),
        namespaces=("team-a",),
        approve=("all",),
        running_catalogs=("kettle/all",),
        delete=("ClusterServiceVersion/kettle/kettle.v1.0.0",),
        descoped=True,
        shared_apis=("kettles.tea.example.com",),
        operators_and_installs=True,
        approved_installs=("kettle/kettle.v1.0.0",),
        olm_namespace="openshift-operator-lifecycle-manager",
        images=(type(options.images[0])("registry.example.com/kettle", "", "kettle.v1"),),
        proxy=type(options.proxy)("http://p:1", "", "x"),
    )


def test_what_the_command_line_has_given_wins(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, {"olmc.yaml": ALL_OPTIONS}), Report())
    given = olmc.Options(purpose="review", include=("Role",))
    options = options_from(config, given, frozenset({"purpose", "include"}))
    assert (options.purpose, options.include, options.kube_version) == ("review", ("Role",), "v1.30.0")


def test_every_option_of_the_schema_is_covered(project: Path) -> None:
    schema = json.loads((project / "schemas/olmc.schema.json").read_text(encoding="utf-8"))
    known = schema["properties"]["spec"]["properties"].keys()
    named = {line.partition(":")[0].strip() for line in ALL_OPTIONS.splitlines()[3:]}
    assert known - named == {"ignore", "bundleEdges", "enableAlpha", "suppress", "vendor", "catalogs", "apisFrom"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  ignore: []\n", Indexing("replaces", alpha=False)),
        ("  bundleEdges: semver-skippatch\n", Indexing("semver-skippatch", alpha=False)),
        ("  enableAlpha: true\n", Indexing("replaces", alpha=True)),
    ],
)
def test_how_catalogs_are_made_d8_r_cat_345(text: str, expected: Indexing, tmp_path: Path) -> None:
    report = Report()
    root = write(tmp_path, {"olmc.yaml": f"{CONFIG}{text}"})
    assert indexing_from(read_config(root, report)) == expected
    assert list(report) == []


def test_a_version_of_olm_that_there_is_not(tmp_path: Path) -> None:
    """OLMC450, at its place, with the nearest one."""
    report = Report()
    assert read_config(write(tmp_path, {"olmc.yaml": CONFIG + "  for: apply\n  olmVersion: ocp-4.41\n"}), report) == {}
    [found] = report
    assert (found.code, str(found.location)) == ("OLMC450", "olmc.yaml:5:15")
    assert found.message == "olmc knows no OLM version ocp-4.41"
    assert found.hint.startswith("Did you mean ocp-4.4? Known are 0.8 … 0.46.0, ocp-4.1 … ocp-4.20, next, v1, ")


def bundle_with(tmp_path: Path, config: str) -> Path:
    """The folder of a bundle by itself, with an olmc.yaml in it."""
    given = described({"name": "kettle.v1.0.0", "csv": {"spec": {"minKubeVersion": "1.30.0"}}, "owned": ["Kettle"]})
    return write(tmp_path, {**bundle_files(given), "bundles/kettle.v1.0.0/olmc.yaml": config}) / "bundles/kettle.v1.0.0"


def test_olmc_yaml_in_the_folder_of_a_bundle_counts(tmp_path: Path) -> None:
    bundle = bundle_with(tmp_path, CONFIG + "  kubeVersion: v1.29.0\n  exclude: [CustomResourceDefinition]\n")
    made = olmc.compile(bundle)
    assert [phase for phase, _ in made.phases.values()] == ["Pending"]
    assert "CustomResourceDefinition" not in {entry.object["kind"] for entry in made.objects}
    given = olmc.compile(bundle, kube_version="v1.31.0")
    assert [phase for phase, _ in given.phases.values()] == ["Succeeded"]


def test_what_it_ignores_is_no_part_of_the_bundle(tmp_path: Path) -> None:
    made = olmc.compile(bundle_with(tmp_path, CONFIG + "  ignore: ['*.crd.yaml']\n"))
    assert [phase for phase, _ in made.phases.values()] == ["Pending"]


def test_mistakes_in_the_folder_of_a_bundle_olmc138(tmp_path: Path) -> None:
    made = olmc.compile(bundle_with(tmp_path, CONFIG + "  kubeVersio: v1.29.0\n"))
    (told,) = made.diagnostics
    assert (told.code, str(told.location), made.objects) == ("OLMC138", "olmc.yaml:4:3", ())
    assert "did you mean kubeVersion?" in told.message


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("approve", "Write approve below spec: there it is a field."),
        ("aprove", "Write approve below spec: there it is a field."),
        ("zebra", "Correct the field, or remove it."),
    ],
)
def test_fields_of_the_spec_beside_it_olmc138(key: str, hint: str, tmp_path: Path) -> None:
    made = olmc.compile(bundle_with(tmp_path, f"{CONFIG}  kubeVersion: v1.29.0\n{key}: [all]\n"))
    (told,) = made.diagnostics
    assert (told.code, str(told.location), told.hint) == ("OLMC138", "olmc.yaml:5:1", hint)


def test_in_a_workspace_it_is_that_of_the_root_that_counts(tmp_path: Path) -> None:
    bundle_with(tmp_path, CONFIG + "  kubeVersio: v1.29.0\n")
    assert olmc.compile(tmp_path).options == olmc.Options()
