"""What Go keeps of a value that it decodes into a struct and encodes again."""

from __future__ import annotations

import copy
import gc
import json
import time
from typing import Any

import pytest

from olmc.k8s.gojson import DecodeError, decode, encode, json_kind, unmarshal

CSV = "ClusterServiceVersion"


def pod(**fields: Any) -> dict[str, Any]:
    return {"template": {"spec": fields}}


def kept_pod(**fields: Any) -> Any:
    return decode("DeploymentSpec", pod(**fields))["template"]["spec"]


def kept_container(**fields: Any) -> Any:
    return kept_pod(containers=[fields])["containers"][0]


def test_omitempty_drops_what_is_empty() -> None:
    """R-JSON-5."""
    empty = {"nodeName": "", "tolerations": [], "nodeSelector": {}, "hostNetwork": False, "restartPolicy": None}
    assert kept_pod(**empty) == {"containers": None}
    assert kept_pod(tolerations=None, nodeSelector=None, hostNetwork=None) == {"containers": None}
    assert decode("DeploymentSpec", {"minReadySeconds": 0}) == decode("DeploymentSpec", {})


def test_omitempty_keeps_structs_and_set_pointers() -> None:
    """R-JSON-5: a struct stays however empty, and a pointer that is set stays whatever it points to."""
    spec = decode("DeploymentSpec", {"replicas": 0, "progressDeadlineSeconds": None})
    assert spec == {"replicas": 0, "selector": None, "template": {"metadata": {}, "spec": {"containers": None}},
                    "strategy": {}}  # fmt: skip
    assert kept_pod(enableServiceLinks=False, securityContext={}, affinity=None) == {
        "containers": None,
        "securityContext": {},
        "enableServiceLinks": False,
    }
    assert kept_container(livenessProbe={}) == {"name": "", "resources": {}, "livenessProbe": {}}


def test_nil_and_empty_differ_where_nothing_is_omitted() -> None:
    """R-JSON-6."""
    assert encode("PolicyRule", {}) == b'{"verbs":null}'
    assert encode("PolicyRule", {"verbs": None}) == b'{"verbs":null}'
    assert encode("PolicyRule", {"verbs": []}) == b'{"verbs":[]}'
    assert encode("[]PolicyRule", None) == b"null"
    assert encode("[]PolicyRule", []) == b"[]"
    assert encode("StrategyDeploymentPermissions", {}) == b'{"serviceAccountName":"","rules":null}'
    assert encode("WebhookDescription", {"generateName": "m", "type": "MutatingAdmissionWebhook"}) == (
        b'{"generateName":"m","type":"MutatingAdmissionWebhook","sideEffects":null,"admissionReviewVersions":null}'
    )


def test_nulls_within_lists_and_maps_are_zero_values() -> None:
    """R-JSON-6: null makes a zero struct or text of an element, not a hole."""
    assert kept_pod(containers=[None]) == {"containers": [{"name": "", "resources": {}}]}
    assert kept_container(args=["a", None], name=None) == {"name": "", "args": ["a", ""], "resources": {}}
    assert kept_pod(nodeSelector={"a": None}) == {"containers": None, "nodeSelector": {"a": ""}}
    assert decode(CSV, None) == decode(CSV, {})


def test_maps_and_fields_have_go_s_order() -> None:
    """R-JSON-2, R-JSON-3."""
    container = kept_container(resources={}, image="i", name="n", env=[{"value": "v", "name": "e"}])
    assert list(container) == ["name", "image", "env", "resources"]
    assert list(container["env"][0]) == ["name", "value"]
    selector = kept_pod(nodeSelector={"é": "", "b": "", "a": "", "B": "", "\U0001f600": "", "\uffee": ""})
    assert list(selector["nodeSelector"]) == ["B", "a", "b", "é", "\uffee", "\U0001f600"]


def test_creation_timestamps_vanish_and_times_are_utc() -> None:
    """R-JSON-7."""
    assert decode("Secret", {"metadata": {"creationTimestamp": None}}) == {"metadata": {}}
    stamped = decode("Secret", {"metadata": {"creationTimestamp": "2020-01-01T01:30:00.5+02:00"}})
    assert stamped == {"metadata": {"creationTimestamp": "2019-12-31T23:30:00Z"}}
    unset = decode("Secret", {"metadata": {"deletionTimestamp": "0001-01-01T00:00:00Z"}})
    assert unset == {"metadata": {"deletionTimestamp": None}}
    condition = decode("OperatorCondition", {"spec": {"overrides": [{"type": "t"}]}})["spec"]["overrides"][0]
    assert condition["lastTransitionTime"] is None


def test_int_or_string_stays_what_it_was() -> None:
    """R-JSON-8."""
    for port in (8080, "8080", "https"):
        assert kept_container(livenessProbe={"tcpSocket": {"port": port}})["livenessProbe"] == {
            "tcpSocket": {"port": port}
        }
    assert kept_container(livenessProbe={"httpGet": {}})["livenessProbe"] == {"httpGet": {"port": 0}}


def test_quantities_become_canonical_texts() -> None:
    """R-JSON-9."""
    limits = {"memory": "1024Mi", "cpu": 0.5, "pods": 1.0, "storage": None, "x": " 5 "}
    assert kept_container(resources={"limits": limits})["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi", "pods": "1", "storage": "0", "x": "5"}
    }
    reference = {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}
    assert kept_container(env=[reference])["env"] == [
        {"name": "", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}
    ]
    assert kept_pod(volumes=[{"emptyDir": {"sizeLimit": 1073741824}}])["volumes"] == [
        {"name": "", "emptyDir": {"sizeLimit": "1073741824"}}
    ]


def test_versions_are_read_tolerantly() -> None:
    """R-JSON-10."""
    assert decode(CSV, {"spec": {"version": "v1.02"}})["spec"]["version"] == "1.2.0"
    assert decode(CSV, {})["spec"]["version"] == "0.0.0"
    assert "release" not in decode(CSV, {})["spec"]
    assert decode(CSV, {"spec": {"release": "1.alpha"}})["spec"]["release"] == "1.alpha"


def test_keys_match_without_regard_to_case_if_no_exact_one_exists() -> None:
    """R-JSON-11."""
    odd = {"ApiVersion": "operators.coreos.com/v1alpha1", "KIND": "x", "Spec": {"MinKubeVersion": "1.20.0", "extra": 1}}
    kept = decode(CSV, odd)
    assert kept["apiVersion"] == "operators.coreos.com/v1alpha1"
    assert kept["kind"] == "x"
    assert kept["spec"]["minKubeVersion"] == "1.20.0"
    assert "extra" not in kept["spec"]
    assert decode("Secret", {"\u212aind": "k", "\u017fpec": 1, "metadata\u0131": {}}) == {"kind": "k", "metadata": {}}


def test_two_spellings_of_one_key_are_decoded_one_after_the_other() -> None:
    """R-JSON-11: in key order; objects merge, and null changes nothing that can't be nil."""
    assert kept_container(Name="a", name="b")["name"] == "b"
    assert kept_container(Name="a", name=None)["name"] == "a"
    assert "args" not in kept_container(Args=["a"], args=None)
    both = decode("Secret", {"Metadata": {"name": "n", "labels": {"a": "1"}}, "metadata": {"labels": {"b": "2"}}})
    assert both == {"metadata": {"name": "n", "labels": {"a": "1", "b": "2"}}}


def test_raw_json_keeps_everything() -> None:
    """A descriptor's value is raw JSON: null is there, numbers are as Go has written them, keys sorted."""
    value = {"b": [1.0, 2.5, 1e-7, None], "a": "<"}
    csv = {"spec": {"customresourcedefinitions": {"owned": [{"specDescriptors": [{"value": value}, {"value": None}]}]}}}
    owned = decode(CSV, csv)["spec"]["customresourcedefinitions"]["owned"][0]["specDescriptors"]
    assert owned == [{"path": "", "value": {"a": "<", "b": [1, 2.5, 1e-7, None]}}, {"path": "", "value": None}]
    assert b'"value":{"a":"\\u003c","b":[1,2.5,1e-7,null]}' in encode(CSV, csv)


def test_bytes_are_base_64() -> None:
    assert decode("Secret", {"data": {"b": "QR==", "a": [1, 2, 255], "c": None}}) == {
        "metadata": {},
        "data": {"a": "AQL/", "b": "QQ==", "c": None},
    }


def test_integral_floats_are_integers() -> None:
    """A YAML number like 3e0 or 80.0 is an integer once Go has written it as JSON."""
    assert decode("DeploymentSpec", {"replicas": 3.0})["replicas"] == 3
    assert type(decode("DeploymentSpec", {"replicas": -0.0})["replicas"]) is int


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (2**53, 2**53),
        (2**53 + 1, 2**53),
        (-(2**63), -9223372036854776000),
        (12345678901234567890, 12345678901234567000),
    ],
)
def test_fields_of_floats_round_large_integers(given: int, kept: int) -> None:
    """Go's float64 holds integers up to 2^53, and Go prints 17 digits that count (R-JSON-8)."""
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": {"maximum": given, "maxLength": 2**53 + 1}}}]
    crd = decode("CustomResourceDefinition", {"spec": {"versions": versions}})
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema == {"maximum": kept, "maxLength": 2**53 + 1}
    assert type(schema["maximum"]) is int


def test_the_input_is_left_alone_and_the_output_is_stable() -> None:
    given = pod(containers=[{"Name": "c", "env": [{"name": "A", "junk": {}}], "resources": {"limits": {"cpu": 1}}}])
    before = copy.deepcopy(given)
    kept = decode("DeploymentSpec", given)
    assert given == before
    assert json.dumps(decode("DeploymentSpec", kept)) == json.dumps(kept)


def test_strict_decoding_refuses_unknown_keys() -> None:
    """Without `strict` they are dropped (R-JSON-11); with it they are errors, in Go's words and at their place."""
    with pytest.raises(DecodeError) as caught:
        decode("OperatorGroup", {"SPEC": {"selector": {}, "<é\u0001": 1}}, strict=True)
    assert caught.value.message == 'json: unknown field "<é\\x01"'
    assert caught.value.path == ("SPEC", "<é\u0001")
    assert decode("OperatorGroup", {"SPEC": {"targetNamespaces": ["a"]}}, strict=True)["spec"] == {
        "targetNamespaces": ["a"]
    }


def test_decoding_is_fast_enough() -> None:
    """A CSV of 100 kB in 4 ms, a DeploymentSpec written in 1 ms (measured: 0.5 and 0.1)."""
    containers = [
        {"name": f"c{i}", "image": "registry.example.com/i:v1", "args": ["--a", "--b"],
         "env": [{"name": f"E{j}", "value": "v" * 20} for j in range(20)],
         "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}},
         "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}}}
        for i in range(3)
    ]  # fmt: skip
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": containers}}}
    owned = [
        {"name": f"k{i}.example.com", "version": "v1", "kind": "K", "description": "d" * 500,
         "specDescriptors": [{"path": f"p{j}", "displayName": "P", "description": "e" * 60} for j in range(20)]}
        for i in range(25)
    ]  # fmt: skip
    csv = {
        "metadata": {"name": "a.v1", "annotations": {"alm-examples": "x" * 30_000}},
        "spec": {
            "customresourcedefinitions": {"owned": owned},
            "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "d", "spec": spec}]}},
        },
    }
    assert len(json.dumps(csv)) > 100_000
    assert _best(lambda: decode(CSV, csv)) < 0.004
    assert _best(lambda: encode("DeploymentSpec", spec)) < 0.001


def _best(call: Any) -> float:
    gc.disable()
    try:
        times = []
        for _ in range(7):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        return min(times)
    finally:
        gc.enable()


SCHEMA = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps"
LEFT = [
    ({"nullable": False, "minLength": 0, "maximum": 10.0}, {"maximum": 10, "minLength": 0}),
    ({"items": {"bogus": 1}, "additionalProperties": False}, {"items": {}, "additionalProperties": False}),
    ({"items": [{"type": "a", "x": 1}, {}]}, {"items": [{"type": "a"}, {}]}),
    (
        {"items": "a", "dependencies": {"a": ["b"], "b": {"x": 1}, "c": 1}},
        {"items": None, "dependencies": {"a": ["b"], "b": {}, "c": None}},
    ),
    (
        {"additionalProperties": None, "default": None, "enum": [None, {"b": 1, "a": 2.0}]},
        {"enum": [None, {"a": 2, "b": 1}]},
    ),
    ({"Type": "string", "description": ""}, {}),
]


@pytest.mark.parametrize(("value", "kept"), LEFT)
def test_schemas_of_crds_as_the_api_server_keeps_them(value: Any, kept: Any) -> None:
    """R-JSON-5: what the type omits is gone; with `exact`, so is a key in another case."""
    assert decode(SCHEMA, value, exact=True) == kept


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"additionalProperties": "yes"}, "boolean or JSON schema expected"),
        (
            {"maximum": "1"},
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.maximum of type float64",
        ),
        # a decoder within the decoder does not know where it is, and the outer one says where it was called
        (
            {"properties": {"a": {"items": {"minLength": "1"}}}},
            "json: cannot unmarshal string into Go struct field JSONSchemaProps.properties.items of type int64",
        ),
        (
            {"type": 1, "items": {"type": []}},
            "json: cannot unmarshal array into Go struct field JSONSchemaProps.items of type string",
        ),
    ],
)
def test_schemas_of_crds_that_do_not_fit(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(SCHEMA, value, exact=True)
    assert str(refused.value) == message


def test_only_the_exact_decoder_minds_the_case_of_keys() -> None:
    """R-JSON-11."""
    assert decode("PriorityClass", {"Value": 1}) == {"metadata": {}, "value": 1}
    assert decode("PriorityClass", {"Value": 1}, exact=True) == {"metadata": {}, "value": 0}


def test_of_two_keys_for_one_field_the_last_counts_r_json_11() -> None:
    """Structs and maps are decoded one over the other; a value that is kept as it is takes the place of the first."""
    both = {"Value": {"a": 1}, "type": "t", "value": {"b": 2}}
    assert decode("property.Property", both) == {"type": "t", "value": {"b": 2}}
    assert decode("property.Property", {"Value": {"a": 1}, "value": None}) == {"type": "", "value": None}
    icons = {"Icon": {"mediatype": "m"}, "icon": {"base64data": "YQ=="}}
    assert decode("declcfg.Package", icons)["icon"] == {"base64data": "YQ==", "mediatype": "m"}


def test_null_is_called_null_and_fits_all_but_what_decodes_itself() -> None:
    """R-CAT-121, R-JSON-11: null leaves a field as it is; Go's error for another value names the kind of that one."""
    assert decode("property.Package", None) == decode("property.Package", {"version": None})
    values: list[Any] = [None, True, "", 1, 1.5, [], {}]
    assert [json_kind(value) for value in values] == (["null", "bool", "string", "number", "number", "array", "object"])


def test_a_text_of_json_has_a_value() -> None:
    assert unmarshal(' {"a": [1, null]} ') == {"a": [1, None]}


@pytest.mark.parametrize("text", ["", "a", "[] []", "[NaN]", "-Infinity", "[" * 100_000, '{"a":' * 100_000])
def test_what_go_refuses_is_a_value_error(text: str) -> None:
    """Also what is nested too deep to be read."""
    with pytest.raises(ValueError, match=r"."):
        unmarshal(text)
