"""What the API server's schema adds to a CSV and refuses (R-DEP-8)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from olmc.compiler.olm.csv_schema import default_csv, list_map_conflicts
from olmc.compiler.olm.naming import deep_hash
from olmc.k8s.gojson import decode


def csv(**pod: Any) -> dict[str, Any]:
    deployment = {"name": "d", "spec": {"template": {"spec": pod}}}
    return {"spec": {"install": {"strategy": "deployment", "spec": {"deployments": [deployment]}}}}


def stored_pod(**pod: Any) -> dict[str, Any]:
    stored = default_csv(decode("ClusterServiceVersion", csv(**pod)))
    spec: dict[str, Any] = stored["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_defaults_of_containers(kind: str) -> None:
    container = {
        "name": "c",
        "ports": [
            {"containerPort": 80},
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 1, "protocol": None},
        ],
        "livenessProbe": {"grpc": {"port": 1}},
        "readinessProbe": {"grpc": {"port": 2, "service": "s"}},
        "startupProbe": {"httpGet": {"port": 3}},
        "env": [
            {"name": "A", "valueFrom": {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v"}}},
            {"name": "B"},
        ],
    }
    stored = stored_pod(**{kind: [container]})[kind][0]
    assert [port["protocol"] for port in stored["ports"]] == ["TCP", "UDP", "TCP"]
    assert stored["livenessProbe"]["grpc"] == {"port": 1, "service": ""}
    assert stored["readinessProbe"]["grpc"] == {"port": 2, "service": "s"}
    assert "grpc" not in stored["startupProbe"]
    assert stored["env"][0]["valueFrom"]["fileKeyRef"]["optional"] is False
    assert stored["env"][1] == {"name": "B"}


@pytest.mark.parametrize(
    ("source", "given", "added"),
    [
        ("azureDisk", {"diskName": "d", "diskURI": "u"}, {"fsType": "ext4", "readOnly": False}),
        ("iscsi", {"targetPortal": "t", "iqn": "i", "lun": 0}, {"iscsiInterface": "default"}),
        ("rbd", {"monitors": [], "image": "i"}, {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
        (
            "scaleIO",
            {"gateway": "g", "system": "s", "secretRef": None},
            {"fsType": "xfs", "storageMode": "ThinProvisioned"},
        ),
    ],
)
def test_defaults_of_volumes(source: str, given: dict[str, Any], added: dict[str, Any]) -> None:
    volume = stored_pod(volumes=[{"name": "v", source: given}, {"name": "w", "emptyDir": {}}])["volumes"]
    assert volume == [{"name": "v", source: {**given, **added}}, {"name": "w", "emptyDir": {}}]
    own = dict.fromkeys(added, "own") if "readOnly" not in added else {"fsType": "own", "readOnly": True}
    assert stored_pod(volumes=[{"name": "v", source: {**given, **own}}])["volumes"][0][source] == {**given, **own}


def test_defaults_of_webhooks() -> None:
    webhooks = [{"generateName": "a"}, {"generateName": "b", "containerPort": 8443}]
    stored = default_csv(decode("ClusterServiceVersion", {"spec": {"webhookdefinitions": webhooks}}))
    assert [webhook["containerPort"] for webhook in stored["spec"]["webhookdefinitions"]] == [443, 8443]


def test_defaults_count_in_the_hash_whatever_their_place() -> None:
    """R-DEP-9: the default stands last in the dict and still goes where Go has the field."""
    pod = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostIP": "h"}]}]}
    spec = default_csv(csv(**pod))["spec"]["install"]["spec"]["deployments"][0]["spec"]
    pod["containers"][0]["ports"] = [{"hostIP": "h", "protocol": "TCP", "containerPort": 80}]
    assert deep_hash("DeploymentSpec", spec) == deep_hash("DeploymentSpec", {"template": {"spec": pod}})


def test_the_input_is_left_alone_and_returned_where_nothing_is_missing() -> None:
    given = csv(containers=[{"name": "c", "ports": [{"containerPort": 80}]}])
    before = copy.deepcopy(given)
    stored = default_csv(given)
    assert given == before
    assert default_csv(stored) is stored
    assert default_csv({"spec": {"install": None}}) == {"spec": {"install": None}}
    assert default_csv({"spec": {"webhookdefinitions": "odd"}}) == {"spec": {"webhookdefinitions": "odd"}}


AT = "spec.install.spec.deployments[0].spec.template.spec"


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        ({"containers": [{"name": "c"}, {"name": "c"}]}, 'containers[1]: Duplicate value: {"name":"c"}'),
        ({"initContainers": [{"name": "c"}, {"name": "c"}]}, 'initContainers[1]: Duplicate value: {"name":"c"}'),
        (
            {"containers": [{"name": "c", "env": [{"name": "X"}, {"name": "Y"}, {"name": "X"}]}]},
            'containers[0].env[2]: Duplicate value: {"name":"X"}',
        ),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}]},
            'containers[0].ports[1]: Duplicate value: {"containerPort":1,"protocol":"TCP"}',
        ),
        (
            {
                "containers": [
                    {"volumeMounts": [{"name": "a", "mountPath": "/<m>"}, {"name": "b", "mountPath": "/<m>"}]}
                ]
            },
            'containers[0].volumeMounts[1]: Duplicate value: {"mountPath":"/\\u003cm\\u003e"}',
        ),
        (
            {"containers": [{"volumeDevices": [{"devicePath": "/d"}, {"devicePath": "/d"}]}]},
            'containers[0].volumeDevices[1]: Duplicate value: {"devicePath":"/d"}',
        ),
        (
            {"containers": [{"resources": {"claims": [{"name": "a"}, {"name": "a", "request": "r"}]}}]},
            'containers[0].resources.claims[1]: Duplicate value: {"name":"a"}',
        ),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, 'volumes[1]: Duplicate value: {"name":"v"}'),
        ({"imagePullSecrets": [{"name": "s"}, {"name": "s"}]}, 'imagePullSecrets[1]: Duplicate value: {"name":"s"}'),
        ({"imagePullSecrets": [{}, {}]}, "imagePullSecrets[1]: Duplicate value: {}"),
        ({"hostAliases": [{"ip": "1"}, {"ip": "1"}]}, 'hostAliases[1]: Duplicate value: {"ip":"1"}'),
        ({"schedulingGates": [{"name": "g"}, {"name": "g"}]}, 'schedulingGates[1]: Duplicate value: {"name":"g"}'),
        ({"resourceClaims": [{"name": "r"}, {"name": "r"}]}, 'resourceClaims[1]: Duplicate value: {"name":"r"}'),
        (
            {"topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2},
            'topologySpreadConstraints[1]: Duplicate value: {"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}',
        ),
    ],
)
def test_duplicates_are_refused(pod: dict[str, Any], message: str) -> None:
    conflicts = list_map_conflicts(csv(**pod))
    assert [text for _, text in conflicts] == [f"{AT}.{message}"]


def test_a_duplicate_is_named_once_with_its_path_and_in_order() -> None:
    containers = [
        {"name": "b", "env": [{"name": "X"}] * 3},
        {"name": "a"},
        {"name": "b", "ports": [{"containerPort": 1}]},
    ]
    conflicts = list_map_conflicts(csv(volumes=[{"name": "v"}] * 4, containers=containers))
    below = ("spec", "install", "spec", "deployments", 0, "spec", "template", "spec")
    assert [path for path, _ in conflicts] == [
        (*below, "containers", 0, "env", 1),
        (*below, "containers", 2),
        (*below, "volumes", 1),
    ]


def test_the_same_port_with_two_protocols_is_fine() -> None:
    ports = [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]
    assert list_map_conflicts(csv(containers=[{"name": "c", "ports": ports}])) == []
    assert list_map_conflicts({}) == []
