"""Go's words for a value that does not fit its type. The shape of each message was taken from Go's encoding/json."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from olmc.k8s.gojson import DecodeError, decode, encode
from olmc.k8s.gojson.decode_errors import first_error, full_type
from olmc.k8s.gojson.decoder import reader
from olmc.k8s.gojson.scalars import Mismatch, quantity


def deployment(**container: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "first"}, container]}}}


AT = "template.spec.containers"
MISMATCHES = [
    # an unquoted yes as the value of an environment variable
    (deployment(env=[{"name": "A", "value": True}]), "bool", f"EnvVar.{AT}.env.value", "string"),
    (deployment(env=[{"name": 1}]), "number", f"EnvVar.{AT}.env.name", "string"),
    (deployment(args=["a", 1.5]), "number", f"Container.{AT}.args", "string"),
    (deployment(args="a"), "string", f"Container.{AT}.args", "[]string"),
    (deployment(command={"a": 1}), "object", f"Container.{AT}.command", "[]string"),
    (deployment(imagePullPolicy=[]), "array", f"Container.{AT}.imagePullPolicy", "v1.PullPolicy"),
    (deployment(ports=[{"containerPort": "80"}]), "string", f"ContainerPort.{AT}.ports.containerPort", "int32"),
    (deployment(ports=[{"containerPort": 3000000000}]), "number 3000000000",
     f"ContainerPort.{AT}.ports.containerPort", "int32"),
    (deployment(ports=[{"containerPort": 1.5}]), "number 1.5", f"ContainerPort.{AT}.ports.containerPort", "int32"),
    (deployment(ports=[{"containerPort": 1e21}]), "number 1e+21", f"ContainerPort.{AT}.ports.containerPort", "int32"),
    (deployment(ports={}), "object", f"Container.{AT}.ports", "[]v1.ContainerPort"),
    (deployment(ports=["80"]), "string", f"Container.{AT}.ports", "v1.ContainerPort"),
    (deployment(stdin="true"), "string", f"Container.{AT}.stdin", "bool"),
    (deployment(securityContext=[]), "array", f"Container.{AT}.securityContext", "v1.SecurityContext"),
    (deployment(securityContext={"runAsUser": 2**63}), "number 9223372036854775808",
     f"SecurityContext.{AT}.securityContext.runAsUser", "int64"),
    (deployment(securityContext={"capabilities": {"drop": [True]}}), "bool",
     f"Capabilities.{AT}.securityContext.capabilities.drop", "v1.Capability"),
    (deployment(resources={"limits": []}), "array", f"ResourceRequirements.{AT}.resources.limits", "v1.ResourceList"),
    # a field of an embedded struct stands below the name of that struct
    (deployment(livenessProbe={"httpGet": {"path": 1}}), "number",
     f"HTTPGetAction.{AT}.livenessProbe.ProbeHandler.httpGet.path", "string"),
    (deployment(livenessProbe={"httpGet": "x"}), "string",
     f"Probe.{AT}.livenessProbe.ProbeHandler.httpGet", "v1.HTTPGetAction"),
    (deployment(livenessProbe={"httpGet": {"port": True}}), "bool",
     f"HTTPGetAction.{AT}.livenessProbe.ProbeHandler.httpGet.port", "int32"),
    ({"template": {"metadata": {"annotations": {"a": "b", "c": True}}}}, "bool",
     "ObjectMeta.template.metadata.annotations", "string"),
    ({"template": {"metadata": {"annotations": ["a"]}}}, "array",
     "ObjectMeta.template.metadata.annotations", "map[string]string"),
    ({"template": []}, "array", "DeploymentSpec.template", "v1.PodTemplateSpec"),
    ({"replicas": True}, "bool", "DeploymentSpec.replicas", "int32"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "got", "field", "expected"), MISMATCHES)
def test_a_mismatch_names_value_field_and_type(value: Any, got: str, field: str, expected: str) -> None:
    """R-JSON-11."""
    with pytest.raises(DecodeError) as caught:
        decode("DeploymentSpec", value)
    assert str(caught.value) == f"json: cannot unmarshal {got} into Go struct field {field} of type {expected}"
    assert (caught.value.got, caught.value.expected) == (got, expected)
    with pytest.raises(DecodeError):
        encode("DeploymentSpec", value)


def test_the_path_leads_to_the_value() -> None:
    with pytest.raises(DecodeError) as caught:
        decode("DeploymentSpec", {"Template": {"spec": {"containers": [{}, {"env": [{"Value": True}]}]}}})
    assert caught.value.path == ("Template", "spec", "containers", 1, "env", 0, "Value")
    with pytest.raises(DecodeError) as caught:
        decode("Role", {"metadata": {"annotations": {"a": "b", "key": True}}})
    assert caught.value.path == ("metadata", "annotations", "key")
    assert caught.value.message == (
        "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string"
    )


def test_without_a_field_go_speaks_of_a_value() -> None:
    with pytest.raises(DecodeError) as caught:
        decode("ClusterServiceVersion", [])
    assert caught.value.message == "json: cannot unmarshal array into Go value of type v1alpha1.ClusterServiceVersion"
    assert caught.value.path == ()
    with pytest.raises(DecodeError, match=r"^json: cannot unmarshal string into Go value of type \[\]v1\.PolicyRule$"):
        decode("[]PolicyRule", "x")


OWN_WORDS = [
    ("DeploymentSpec", deployment(resources={"limits": {"cpu": "1 core"}}),
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("DeploymentSpec", deployment(resources={"limits": {"cpu": True}}),
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ("DeploymentSpec", deployment(resources={"limits": {"memory": "1MM"}}), "unable to parse quantity's suffix"),
    ("Secret", {"data": {"a": "Q*=="}}, "illegal base64 data at input byte 1"),
    ("Secret", {"metadata": {"creationTimestamp": "2020-01-01"}},
     'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
    ("Secret", {"metadata": {"creationTimestamp": 2020}},
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"),
    ("ClusterServiceVersion", {"spec": {"version": "1.x"}}, 'Invalid character(s) found in minor number "x"'),
    ("ClusterServiceVersion", {"spec": {"version": None}}, 'strconv.ParseUint: parsing "": invalid syntax'),
    ("ClusterServiceVersion", {"spec": {"version": 1.2}},
     "json: cannot unmarshal number into Go struct field ClusterServiceVersionSpec.spec.version of type string"),
    ("ClusterServiceVersion", {"spec": {"release": ""}}, "Prerelease is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("type_name", "value", "message"), OWN_WORDS)
def test_types_that_decode_themselves_have_their_own_words(type_name: str, value: Any, message: str) -> None:
    """R-JSON-7, R-JSON-9, R-JSON-10."""
    with pytest.raises(DecodeError) as caught:
        decode(type_name, value)
    assert caught.value.message == message


def test_the_first_mismatch_in_key_order_is_reported() -> None:
    """OLM decodes JSON whose keys are sorted, whatever order the YAML had."""
    with pytest.raises(DecodeError) as caught:
        decode("DeploymentSpec", {"template": [], "paused": "x", "replicas": "y"})
    assert caught.value.path == ("paused",)


def test_a_key_that_does_not_count_has_to_fit_all_the_same() -> None:
    """Go decodes both keys into the field, one after the other (R-JSON-11)."""
    message = r"^json: cannot unmarshal array into Go struct field Container.name of type string$"
    with pytest.raises(DecodeError, match=message) as caught:
        decode("k8s.io/api/core/v1.Container", {"Name": [], "name": "brewer"})
    assert caught.value.path == ("Name",)
    assert decode("k8s.io/api/core/v1.Container", {"Name": "x", "name": "brewer"})["name"] == "brewer"


def test_an_error_of_a_type_that_decodes_itself_is_reported_before_earlier_ones() -> None:
    wrong = {"template": {"spec": {"containers": [{"name": True}, {"resources": {"limits": {"cpu": "x"}}}]}}}
    with pytest.raises(DecodeError, match=r"^quantities must match"):
        decode("DeploymentSpec", wrong)
    with pytest.raises(DecodeError, match=r"^illegal base64 data at input byte 0$"):
        decode("Secret", {"data": {"a": "?"}, "immutable": "x"})


def test_a_quantity_alone_is_refused_in_the_same_words() -> None:
    with pytest.raises(ValueError, match=r"^unable to parse quantity's suffix$"):
        quantity("1kk")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-10, 10) | st.sampled_from(["", "a", "1Gi"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(["name", "Name", "env", "value", "ports", "containerPort", "resources", "limits", "cpu",
                         "livenessProbe", "httpGet", "port", "args", "workingdir", "junk"]),
        inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@examples(150)
@given(JSON_VALUES)
@example({"Name": [], "name": ""})
def test_what_the_reader_refuses_has_a_message_and_nothing_else_has(value: Any) -> None:
    """The two walks over a value, the fast one and the one for messages, agree."""
    container = full_type("k8s.io/api/core/v1.Container")
    try:
        kept = reader(container)(value)
    except Mismatch:
        assert first_error(container, value) is not None
    else:
        assert first_error(container, value) is None
        assert reader(container)(kept) == kept
