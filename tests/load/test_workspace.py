"""What is found in a directory, and under which name (docs/configuration.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from scenarios import write
from small_files import BUNDLE, CONFIG, bundle, catalog, config_map, loaded, names, namespace

import olmc
from olmc import Diagnostic, Report, Severity


def reported(root: Path, files: Mapping[str, str]) -> list[Diagnostic]:
    """What is said when a workspace of these files is loaded."""
    write(root, files)
    report = Report()
    olmc.load(root, report)
    return list(report)


def test_yaml_and_json_at_any_depth_in_the_order_of_their_paths(tmp_path: Path) -> None:
    workspace, said = loaded(
        tmp_path,
        {
            "z.yaml": namespace("z"),
            "b.yml": f"{namespace('b1')}---\n---\n# nothing\n---\n{namespace('b2')}",
            "a/b/c/d.json": json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}}),
            "a-b.yaml": namespace("a-b"),
            "README.md": "kind: Namespace",
            "notes.txt": "\t{",
            "values.yaml.tmpl": "{{",
        },
    )
    assert names(workspace) == ["Namespace d", "Namespace a-b", "Namespace b1", "Namespace b2", "Namespace z"]
    assert [m.source.path for m in workspace.manifests] == ["a/b/c/d.json", "a-b.yaml", "b.yml", "b.yml", "z.yaml"]
    assert [m.source.document for m in workspace.manifests] == [0, 0, 0, 3, 0]
    assert said == []


def test_lists_are_flattened_and_know_their_places(tmp_path: Path) -> None:
    inner = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [json.loads(config_map("c"))]}
    items = ",\n".join([config_map("a"), config_map("b"), json.dumps(inner), "5"])
    workspace, said = loaded(tmp_path, {"all.json": f'{{"apiVersion": "v1", "kind": "List", "items": [\n{items}]}}'})
    assert names(workspace) == ["ConfigMap a", "ConfigMap b", "ConfigMap c"]
    assert [m.source.prefix for m in workspace.manifests] == [("items", 0), ("items", 1), ("items", 2, "items", 0)]
    assert said == ["info OLMC125 all.json:5:1"]


def test_what_is_no_object_is_left_out_and_named(tmp_path: Path) -> None:
    workspace, said = loaded(
        tmp_path, {"a.yaml": "- 1\n", "b.yaml": "key: value\n", "c.yaml": "", "d.yaml": "text", "e.yaml": "kind: 5\n"}
    )
    assert workspace.manifests == ()
    assert said == [f"info OLMC125 {path}.yaml:1:1" for path in "abde"]


def test_files_for_tools_are_no_manifests(tmp_path: Path) -> None:
    kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"
    workspace, said = loaded(tmp_path, {"kustomization.yaml": kustomization, "sub/olmc.yaml": CONFIG + "  {}\n"})
    assert workspace.manifests == ()
    assert said == []


RANDOM = "Give it a name."


@pytest.mark.parametrize(
    ("metadata", "column", "problem", "hint"),
    [
        ("{}", 11, "has no metadata.name", RANDOM),
        ("{generateName: ''}", 11, "has no metadata.name", RANDOM),
        ("{generateName: [a]}", 11, "has no metadata.name", RANDOM),
        ("null", 11, "has no metadata.name", RANDOM),
        ("{name: ''}", 11, "has no metadata.name", RANDOM),
        ("{name: 5}", 18, "has the number 5 as metadata.name, which must be a text", "Put the name in quotes."),
        ("{name: yes}", 18, "has the boolean true as metadata.name, which must be a text", "Put the name in quotes."),
        ("{name: [a]}", 18, "has a list as metadata.name, which must be a text", "Write a text as the name."),
        ("text", 11, "has metadata that are no mapping", "Write the name below metadata: `name: …`."),
    ],
)
def test_an_object_needs_a_name_olmc126(metadata: str, column: int, problem: str, hint: str, tmp_path: Path) -> None:
    text = f"# first\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n"
    (found,) = reported(tmp_path, {"a.yaml": text})
    assert (str(found.location), found.code) == (f"a.yaml:4:{column}", "OLMC126")
    assert (found.message, found.hint) == (f"this ConfigMap {problem}", hint)


@pytest.mark.parametrize(
    ("references", "problem"),
    [
        ("kettle", "ownerReferences must be a list of references"),
        ("[kettle]", "ownerReferences must be a list of references"),
        ("[{kind: {a: b}, name: kettle}]", "ownerReferences: apiVersion, kind and name must be strings"),
        ("[{kind: Kettle, name: [a]}]", "ownerReferences: apiVersion, kind and name must be strings"),
    ],
)
def test_owner_references_are_texts_olmc129(references: str, problem: str, tmp_path: Path) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, ownerReferences: {references}}}\n"
    (found,) = reported(tmp_path, {"a.yaml": text})
    assert found.code == "OLMC129"
    assert problem in found.message


SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"
LABEL = "a lowercase RFC 1123 label must consist of"


@pytest.mark.parametrize(
    ("api", "metadata", "place", "expected"),
    [
        ("operators.coreos.com/v1/OperatorGroup", "{name: Quay_1}", "name", SUBDOMAIN),
        ("v1/ConfigMap", "{name: A}", "name", SUBDOMAIN),
        ("v1/Namespace", "{name: a.b}", "name", "must not contain dots"),
        ("v1/Service", "{name: a.b}", "name", "must not contain dots"),
        ("v1/Service", "{name: 1a}", "", ""),
        ("rbac.authorization.k8s.io/v1/Role", "{name: a/b}", "name", "may not contain '/'"),
        ("rbac.authorization.k8s.io/v1/Role", "{name: 'system:A_b'}", "", ""),
        ("user.example.com/v1/User", "{name: 'kube:Admin'}", "", ""),
        ("user.example.com/v1/User", "{name: ..}", "name", "may not be '..'"),
        ("v1/ConfigMap", "{name: a, namespace: Harbour/x}", "namespace", LABEL),
    ],
)
def test_a_name_that_the_api_server_refuses_olmc129(
    api: str, metadata: str, place: str, expected: str, tmp_path: Path
) -> None:
    version, _, kind = api.rpartition("/")
    found = reported(tmp_path, {"a.yaml": f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n"})
    told = [each for each in found if each.code == "OLMC129" and "metadata" in each.message]
    assert [f'metadata.{place}: Invalid value: "' in each.message and expected in each.message for each in told] == (
        [True] if expected else []
    )


def test_of_two_definitions_the_last_one_counts_olmc127(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": config_map("x"), "b.yaml": f"{namespace('a')}---\n{config_map('x')}"})
    report = Report()
    workspace = olmc.load(tmp_path, report)
    assert [manifest.source.path for manifest in workspace.manifests] == ["b.yaml", "b.yaml"]
    (found,) = report
    assert (found.code, found.severity) == ("OLMC127", Severity.WARNING)
    assert found.message == "ConfigMap/ns/x is defined more than once; the last definition wins"
    assert str(found.location) == "b.yaml:6:1"
    assert [(text, str(place)) for text, place in found.related] == [("the other one", "a.yaml:1:1")]


def test_two_versions_of_an_api_are_one_object(tmp_path: Path) -> None:
    group = "apiVersion: operators.coreos.com/{}\nkind: OperatorGroup\nmetadata: {{name: g, namespace: ns}}\n"
    workspace, said = loaded(tmp_path, {"a.yaml": group.format("v1"), "b.yaml": group.format("v1alpha2")})
    assert [manifest.object["apiVersion"] for manifest in workspace.manifests] == ["operators.coreos.com/v1alpha2"]
    assert said == ["warning OLMC127 b.yaml:1:1"]


def test_the_same_name_in_other_namespaces_and_kinds_is_no_duplicate(tmp_path: Path) -> None:
    secret = config_map("x").replace("ConfigMap", "Secret")
    there = config_map("x").replace('"ns"', '"other"')
    workspace, said = loaded(tmp_path, {"a.json": config_map("x"), "b.json": secret, "c.json": there})
    assert len(workspace.manifests) == 3
    assert said == []


def test_bundles_are_found_at_any_depth_by_the_name_of_their_csv(tmp_path: Path) -> None:
    given = {**bundle("one"), **bundle("deep/er/two", "2.0.0"), **bundle("catalogs/three", "3.0.0")}
    workspace, said = loaded(tmp_path, given)
    found = {name: each.directory for name, each in workspace.bundles.items()}
    assert found == {"kettle.v1.0.0": "one", "kettle.v2.0.0": "deep/er/two", "kettle.v3.0.0": "catalogs/three"}
    assert (workspace.manifests, dict(workspace.catalogs), said) == ((), {}, [])


def test_a_folder_needs_manifests_and_metadata_to_be_a_bundle_r_cat_100(tmp_path: Path) -> None:
    given = bundle("kettle") | {"other/manifests/a.yaml": namespace("a"), "kettle/tests/b.yaml": "\t"}
    workspace, said = loaded(tmp_path, given)
    assert list(workspace.bundles) == ["kettle.v1.0.0"]
    assert names(workspace) == ["Namespace a"]
    assert said == []


@pytest.mark.parametrize(
    ("text", "channels"),
    [
        ("{0}.channels.v1: 2.0", ("2",)),
        ("{0}.channels.v1: true", ("true",)),
        ("{0}.channels.v1: 10\n  {0}.other.v1: [1]", ("10",)),
        ("{0}.package.v1: tea\n  {0}.channels.v1: null", ("",)),
    ],
)
def test_annotations_are_the_texts_that_olm_reads_r_cat_102(
    text: str, channels: tuple[str, ...], tmp_path: Path
) -> None:
    """Numbers and booleans of YAML are texts; what is no text matters only where OLM looks."""
    annotations = {"b/metadata/annotations.yaml": "annotations:\n  " + text.format(BUNDLE)}
    workspace, said = loaded(tmp_path, bundle("b") | annotations)
    assert said == []
    assert workspace.bundles["kettle.v1.0.0"].channels == channels


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("annotations:\n  {0}.package.v1: tea\n  {0}.channels.v1: [stable]", "3:54"),
        ('{{"annotations": {{"{0}.package.v1": "tea", "{0}.channels.v1": 2}}}}', "1:130"),
    ],
)
def test_a_file_with_an_annotation_that_is_no_text_holds_none_r_cat_102(text: str, place: str, tmp_path: Path) -> None:
    """OLM can't decode the file and goes on as if it were not there; in JSON a number is no text."""
    workspace, said = loaded(tmp_path, bundle("b") | {"b/metadata/annotations.yaml": text.format(BUNDLE)})
    assert not workspace.bundles
    assert said == [f"error OLMC132 b/metadata/annotations.yaml:{place}"]


def test_the_same_bundle_twice_olmc137(tmp_path: Path) -> None:
    write(tmp_path, {**bundle("a"), **bundle("b")})
    report = Report()
    workspace = olmc.load(tmp_path, report)
    assert workspace.bundles["kettle.v1.0.0"].directory == "b"
    (found,) = report
    assert (found.code, str(found.location)) == ("OLMC137", "b")
    assert [(text, str(place)) for text, place in found.related] == [("the other one", "a")]


def test_a_folder_in_catalogs_is_the_catalog_of_its_name(tmp_path: Path) -> None:
    given = {
        "catalogs/one/catalog.yaml": catalog("kettle", "1.0.0"),
        "catalogs/one/more/lamp.json": catalog("lamp", "1.0.0").replace("---\n", ""),
        "clusters/east/catalogs/two/catalog.yaml": catalog("kettle", "2.0.0"),
    }
    workspace, said = loaded(tmp_path, given)
    found = {name: sorted(each.packages) for name, each in workspace.catalogs.items()}
    assert found == {"one": ["kettle", "lamp"], "two": ["kettle"]}
    assert said == []


def test_catalog_documents_elsewhere_belong_to_the_name_of_their_folder_or_file(tmp_path: Path) -> None:
    given = {
        "operators/acme/kettle.yaml": catalog("kettle", "1.0.0"),
        "operators/acme/lamp.yaml": catalog("lamp", "1.0.0"),
        "rival.v2.yaml": catalog("kettle", "2.0.0"),
    }
    workspace, said = loaded(tmp_path, given)
    found = {name: sorted(each.packages) for name, each in workspace.catalogs.items()}
    assert found == {"acme": ["kettle", "lamp"], "rival": ["kettle"]}
    assert said == []


def test_a_folder_in_catalogs_may_hold_manifests_instead(tmp_path: Path) -> None:
    workspace, said = loaded(tmp_path, {"catalogs/acme/source.yaml": namespace("a")})
    assert names(workspace) == ["Namespace a"]
    assert (dict(workspace.catalogs), said) == ({}, [])


OPERATOR_GROUP = """\
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: ns}
spec: {targetNamespaces: [ns]}
"""
SUBSCRIPTION = """\
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kettle, namespace: ns}
spec: {name: kettle, channel: stable, source: acme, sourceNamespace: somewhere}
"""
SOURCE = """\
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: acme, namespace: ns}
spec: {sourceType: grpc, address: "acme:50051"}
"""


def installed(root: Path, given: Mapping[str, str]) -> list[str]:
    """The CSVs at rest, and `plan: ...` for each InstallPlan in order."""
    base = {"group.yaml": OPERATOR_GROUP, "subscription.yaml": SUBSCRIPTION.replace("somewhere", "ns")}
    made = olmc.compile(write(root, {**base, **given}))
    assert not made.failed, made.diagnostics
    plans = [each.object for each in made.objects if each.object["kind"] == "InstallPlan"]
    plans.sort(key=lambda plan: plan["spec"]["generation"])
    found = [f"plan: {' '.join(plan['spec']['clusterServiceVersionNames'])}" for plan in plans]
    return [*found, *(name.name for name in made.phases)]


CHAIN = {
    **bundle("bundles/1"),
    **bundle("bundles/2", "1.1.0", replaces="kettle.v1.0.0"),
    **bundle("bundles/3", "1.2.0", replaces="kettle.v1.1.0"),
}


def test_bundles_that_no_catalog_names_serve_a_catalog_that_is_not_there_d8(tmp_path: Path) -> None:
    assert installed(tmp_path, CHAIN) == ["plan: kettle.v1.2.0", "kettle.v1.2.0"]


def test_a_catalog_without_a_catalog_source_stands_where_the_subscription_expects_it(tmp_path: Path) -> None:
    given = {"catalogs/acme/catalog.yaml": catalog("kettle", "1.0.0", "1.1.0"), **CHAIN}
    assert installed(tmp_path, given) == ["plan: kettle.v1.1.0", "kettle.v1.1.0"]


def test_a_namespace_that_is_not_visible_serves_no_subscription_r_cat_502(tmp_path: Path) -> None:
    assert installed(tmp_path, {**CHAIN, "subscription.yaml": SUBSCRIPTION}) == []


def test_a_catalog_source_without_content_is_not_served_by_bundles(tmp_path: Path) -> None:
    assert installed(tmp_path, {**CHAIN, "source.yaml": SOURCE}) == []


def test_bundles_that_a_catalog_names_are_not_served_by_another(tmp_path: Path) -> None:
    given = {"catalogs/other/catalog.yaml": catalog("kettle", "1.0.0", "1.1.0"), **bundle("1"), **bundle("2", "2.0.0")}
    workspace, said = loaded(tmp_path, {"subscription.yaml": SUBSCRIPTION, **given})
    found = {name: list(each.packages["kettle"].bundles) for name, each in workspace.catalogs.items()}
    assert found == {"other": ["kettle.v1.0.0", "kettle.v1.1.0"], "acme": ["kettle.v2.0.0"]}
    assert said == []


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ("replaces", []),
        ("semver", ["plan: kettle.v1.0.0", "plan: kettle.v1.2.0", "kettle.v1.2.0"]),
        ("semver-skippatch", ["plan: kettle.v1.0.0", "plan: kettle.v1.2.0", "kettle.v1.2.0"]),
    ],
)
def test_bundle_edges_say_where_upgrades_come_from_d8(edges: str, found: list[str], tmp_path: Path) -> None:
    """Where the CSVs say nothing, only the newest is in the channel, unless versions make the edges."""
    subscription = SUBSCRIPTION.replace("somewhere", "ns, startingCSV: kettle.v1.0.0")
    given = {**bundle("1"), **bundle("3", "1.2.0"), "olmc.yaml": CONFIG + f"  bundleEdges: {edges}\n"}
    assert installed(tmp_path, {**given, "subscription.yaml": subscription}) == found


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "csv.yaml",
            "kind: ClusterServiceVersion\nmetadata:\n\tname: kettle.v1.0.0\n",
            [
                "kettle/manifests/csv.yaml:3:1 OLMC100 not valid YAML: a tab in the indentation"
                " | Indent with spaces: YAML does not allow tabs there."
            ],
        ),
        (
            "csv.json",
            '{"kind": "ClusterServiceVersion", "metadata": {"name": "kettle.v1.0.0}}',
            [
                "kettle/manifests/csv.json:1:56 OLMC101 not valid JSON: unterminated string starting at"
                " | Correct the JSON here. Comments, trailing commas, single quotes and NaN are not part of it."
            ],
        ),
        (
            "csv.yaml",
            "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersoin\nmetadata: {name: kettle.v1.0.0}\n",
            [
                "kettle/manifests/csv.yaml:2:7 OLMC131 no csv in bundle: kettle/manifests holds no"
                " ClusterServiceVersion | Did you mean ClusterServiceVersion instead of ClusterServiceVersoin?"
            ],
        ),
        (
            "other.yaml",
            "kind: [\n",
            [
                "kettle OLMC130 no bundle objects found in kettle/manifests"
                " | Put the CSV and the CRDs into manifests/.",
                "kettle/manifests/other.yaml:1:7 OLMC134 failed to decode kettle/manifests/other.yaml: not valid YAML:"
                " the bracket that opens here is never closed"
                " | Close the bracket with ], or put the whole value in quotes if it is a text.",
            ],
        ),
    ],
)
def test_a_csv_that_can_not_be_read_is_told_as_that_and_not_as_missing(
    name: str, text: str, expected: list[str], tmp_path: Path
) -> None:
    given = {path: text for path, text in bundle("kettle").items() if "/metadata/" in path}
    said = reported(tmp_path, {**given, f"kettle/manifests/{name}": text})
    assert [f"{each.location} {each.code} {each.message} | {each.hint}" for each in said] == expected


def test_a_file_that_can_not_be_read_beside_the_csv_is_skipped_at_its_place_olmc134(tmp_path: Path) -> None:
    (finding,) = reported(tmp_path, {**bundle("kettle"), "kettle/manifests/crd.yaml": "a: 'b\n"})
    assert (str(finding.location), finding.code) == ("kettle/manifests/crd.yaml:1:4", "OLMC134")
    assert finding.hint == "Close the quote."


def test_a_bundle_that_replaces_nothing_there_is_told_where_it_says_so_r_cat_144(tmp_path: Path) -> None:
    files = bundle("b", "2.0.0", replaces="kettle.v1.0.0") | {
        "subscription.yaml": "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\n"
        "metadata: {name: kettle, namespace: ns}\nspec: {name: kettle, source: shop, sourceNamespace: ns}\n"
    }
    _, said = loaded(tmp_path, files)
    column = files["b/manifests/kettle.csv.yaml"].index('"kettle.v1.0.0"') + 1
    assert said == [f"failure OLMC250 b/manifests/kettle.csv.yaml:1:{column}"]


@pytest.mark.parametrize(
    ("api", "which", "hint"),
    [
        ("vault.example.com/v1", "of vault.example.com/v1", "Move sample objects out of manifests/."),
        ("rbac.authorization.k8s.io/v1beta1", "of rbac.authorization.k8s.io/v1beta1", "Write apiVersion: {core}."),
        ("", "without apiVersion", "Write apiVersion: {core}."),
    ],
)
def test_what_to_do_about_an_object_that_is_installed_as_another_olmc142(
    api: str, which: str, hint: str, tmp_path: Path
) -> None:
    """A sample does not belong there; an object with an old apiVersion, or with none, only lacks the right one."""
    core = "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": api, "kind": "Role", "metadata": {"name": "pour"}}
    text = json.dumps({key: value for key, value in role.items() if value})
    (finding,) = reported(tmp_path, {**bundle("kettle"), "kettle/manifests/role.json": text})
    said = f"OLM looks only at the kind: this Role {which} is installed as one of {core}"
    assert (finding.code, finding.message, finding.hint) == ("OLMC142", said, hint.format(core=core))


def _in_folders(count: int, *folders: str) -> dict[str, str]:
    return {f"{folder}/{n}.json": config_map(f"x{n}") for folder in folders for n in range(count)}


def test_many_objects_that_two_folders_define_are_one_finding(tmp_path: Path) -> None:
    for path, text in _in_folders(4, "east", "west").items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    report = Report()
    olmc.load(tmp_path, report)
    (found,) = report
    assert (found.code, found.severity) == ("OLMC128", Severity.WARNING)
    assert found.message.startswith("4 objects are defined by more than one folder;")
    assert str(found.location) == "east/0.json:1:1"
    assert [(text, str(place)) for text, place in found.related[:3]] == [
        ("ConfigMap/ns/x0", "west/0.json:1:1"),
        ("ConfigMap/ns/x1", "east/1.json:1:1"),
        ("ConfigMap/ns/x1", "west/1.json:1:1"),
    ]


def test_a_few_objects_that_two_folders_define_are_a_finding_each(tmp_path: Path) -> None:
    _, said = loaded(tmp_path, _in_folders(3, "east", "west"))
    assert said == [f"warning OLMC127 west/{n}.json:1:1" for n in range(3)]


def test_two_definitions_in_one_folder_stay_a_finding_beside_those_of_folders(tmp_path: Path) -> None:
    _, said = loaded(tmp_path, {**_in_folders(4, "east", "west"), "east/again.json": config_map("x0")})
    assert said == ["warning OLMC127 east/again.json:1:1", "warning OLMC128 east/again.json:1:1"]
