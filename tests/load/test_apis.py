"""What a cluster serves, as kubectl tells it: tables and discovery documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scenarios import write
from small_files import CONFIG, namespace

import olmc
from olmc import Report
from olmc.cli.main import main
from olmc.compiler.load.live_objects import read_apis
from olmc.compiler.model.options import Options
from olmc.k8s.objects import APIResource

TABLE = """\
NAME                  SHORTNAMES   APIVERSION                   NAMESPACED   KIND              VERBS          CATEGORIES
bindings                           v1                           true         Binding           create
deployments           deploy       apps/v1                      true         Deployment        create,delete  all
kettles               k,ket        tea.example.com/v1           true         Kettle            create,delete
beacons                            lights.example.com/v1beta1   false        Beacon            get,list
"""
KETTLE = APIResource("tea.example.com", "Kettle", "kettles", True, ("v1",))
BEACON = APIResource("lights.example.com", "Beacon", "beacons", False, ("v1beta1",))


def discovered(group: str, version: str, kind: str, name: str, *, scope: str) -> dict[str, Any]:
    """A group as aggregated discovery has it."""
    served = {"group": group, "version": version, "kind": kind}
    resources = [
        {"resource": name, "responseKind": served, "scope": scope, "subresources": [{"subresource": "status"}]}
    ]
    return {"metadata": {"name": group}, "versions": [{"version": version, "resources": resources}]}


GROUPS = [
    discovered("tea.example.com", "v1", "Kettle", "kettles", scope="Namespaced"),
    discovered("lights.example.com", "v1beta1", "Beacon", "beacons", scope="Cluster"),
]
DISCOVERY = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": GROUPS}
RESOURCES = [
    {
        "kind": "APIResourceList",
        "groupVersion": "tea.example.com/v1",
        "resources": [
            {"name": "kettles", "kind": "Kettle", "namespaced": True},
            {"name": "kettles/status", "kind": "Kettle", "namespaced": True},
        ],
    },
    {
        "kind": "APIResourceList",
        "groupVersion": "lights.example.com/v1beta1",
        "resources": [{"name": "beacons", "kind": "Beacon", "namespaced": False}],
    },
]


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.partition("\n")[2],
        json.dumps(DISCOVERY),
        "\n".join(["---\n" + json.dumps(item) for item in RESOURCES]),
        json.dumps({"kind": "List", "apiVersion": "v1", "items": RESOURCES}),
    ],
    ids=["table", "no headers", "aggregated discovery", "documents", "list"],
)
def test_the_forms_that_kubectl_has(text: str) -> None:
    """Of Kubernetes' own kinds nothing is kept, for its version says which there are."""
    report = Report()
    assert read_apis("apis", text, report) == (KETTLE, BEACON)
    assert list(report) == []


def test_versions_of_one_kind_come_together() -> None:
    text = TABLE + "kettles tea.example.com/v2 true Kettle get\ncronjobs cj batch/v1beta1 true CronJob get\n"
    report = Report()
    kettle, _, cron_job = read_apis("apis", text, report)
    assert kettle.versions == ("v1", "v2")
    assert (cron_job.kind, cron_job.versions) == ("CronJob", ("v1beta1",))


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("NAME  SHORTNAMES  APIGROUP  NAMESPACED  KIND\n", "apis:1:1", "the table has groups and no versions"),
        (TABLE + "error: unable to retrieve the list\n", "apis:6:1", "the line is no row of the table"),
        ('{"kind": "APIGroupList", "groups": []}', "apis:1:10", "APIGroupList is none of APIGroupDiscoveryList"),
        ("nonsense\n", "apis:1:1", "what stands here is none of"),
        ("", "apis", "it names no kind that is served"),
    ],
)
def test_bad_files_have_a_place_olmc155(text: str, place: str, says: str) -> None:
    report = Report()
    read_apis("apis", text, report)
    (told,) = report
    assert (told.code, str(told.location)) == ("OLMC157", place)
    assert says in told.message


@pytest.mark.parametrize(
    "text", ["[1, {}]", "kind: List\nitems: [1, {kind: 2}]\n", "x: [\n", '{"kind": "APIResourceList"}']
)
def test_odd_files_are_no_exceptions(text: str) -> None:
    report = Report()
    assert read_apis("apis", text, report) == ()
    assert report.failed


def test_a_workspace_names_such_a_file(tmp_path: Path) -> None:
    """It is data, also where it is YAML: no manifest, and nothing that is missing."""
    config = CONFIG + "  apisFrom: cluster/apis.json\n"
    files = {"olmc.yaml": config, "a.yaml": namespace("a"), "cluster/apis.json": json.dumps(DISCOVERY)}
    made = olmc.compile(write(tmp_path, files))
    assert (made.options.api_resources, made.diagnostics, len(made.objects)) == ((KETTLE, BEACON), (), 1)


@pytest.mark.parametrize("path", ["apis.txt", "../apis.txt"])
def test_a_file_that_is_not_there_olmc155(path: str, tmp_path: Path) -> None:
    made = olmc.compile(write(tmp_path, {"olmc.yaml": f"{CONFIG}  apisFrom: {path}\n", "a.yaml": namespace("a")}))
    (told,) = made.diagnostics
    assert (told.code, str(told.location), made.failed) == ("OLMC157", "olmc.yaml:4:13", True)


def test_a_damaged_file_of_a_workspace_olmc155(tmp_path: Path) -> None:
    files = {"olmc.yaml": f"{CONFIG}  apisFrom: apis.txt\n", "apis.txt": TABLE + "error: no\n"}
    (told,) = olmc.compile(write(tmp_path, files)).diagnostics
    assert str(told.location) == "apis.txt:6:1"


def test_all_that_is_said_adds_up(tmp_path: Path) -> None:
    """olmc.yaml and the command line each know of APIs, and an OpenShift release of its own."""
    config = CONFIG + "  apis: [a.example.com/v1/A]\n  apisFrom: apis.txt\n  olmVersion: ocp-4.18\n"
    write(tmp_path, {"olmc.yaml": config, "apis.txt": TABLE})
    options = Options(apis=("b.example.com/v1/B",))
    made = olmc.compile(olmc.CompileRequest(tmp_path, options, frozenset({"apis"}))).options
    assert set(made.apis) == {"a.example.com/v1/A", "b.example.com/v1/B"}
    assert made.api_resources[:2] == (KETTLE, BEACON)
    assert any(api.kind == "Route" for api in made.api_resources)


SIGN = {"apiVersion": "lights.example.com/v1beta1", "kind": "Beacon", "metadata": {"name": "north", "namespace": "a"}}


def test_on_the_command_line(tmp_path: Path) -> None:
    """A Beacon has no namespace in this cluster, which the file says and nothing else."""
    write(tmp_path, {"ws/a.yaml": namespace("a"), "ws/b.yaml": json.dumps(SIGN), "apis.txt": TABLE, "bad.txt": "x\n"})
    root = str(tmp_path / "ws")
    result = CliRunner().invoke(main, ["render", root, "-o", "name", "--apis-from", str(tmp_path / "apis.txt")])
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["Namespace/a", "Beacon/north"])
    result = CliRunner().invoke(main, ["render", root, "--apis-from", str(tmp_path / "bad.txt")])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "bad.txt:1:1: error: what the cluster serves can't be read" in result.stderr
    result = CliRunner().invoke(main, ["render", root, "--api", "Beacon"])
    assert (result.exit_code, "'Beacon' is no GROUP/VERSION/Kind" in result.stderr) == (2, True)
