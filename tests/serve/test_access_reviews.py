"""What a client may do here: `kubectl auth can-i`, in JSON and in protocol buffers."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgi_client import Reply, ask
from hypothesis import given
from hypothesis import strategies as st
from serve_processes import Served, needs_kubectl, serving
from serve_states import feed, operator, view

from olmc.integrations.serve.app import RequestLimits, application, limited

FEED = feed(view(operator("kettle.v1", targets=["a"])))
BASE = "/apis/authorization.k8s.io/v1"
# May the user get `installed` of packages.operators.coreos.com in default?
MESSAGE = b64decode(
    "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSXgoQCgASABoAIgAqADIAOABCABJACj4KB2RlZmF1"
    "bHQSA2dldBodcGFja2FnZXMub3BlcmF0b3JzLmNvcmVvcy5jb20iACoJaW5zdGFsbGVkMgA6ABoICAASABoAIAAaACIA"
)
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}


def post(body: bytes, kind: str = "selfsubjectaccessreviews", headers: dict[str, str] | None = None) -> Reply:
    app = limited(application(FEED, "v1.36.2"), FEED, RequestLimits(), lambda _: None)
    sent = {"Content-Length": str(len(body)), "Content-Type": "application/json", **(headers or {})}
    return ask(app, f"{BASE}/{kind}", "POST", sent, body)


def allowed(**attributes: str) -> Any:
    kind = "nonResourceAttributes" if "path" in attributes else "resourceAttributes"
    reply = post(json.dumps({"spec": {kind: attributes}}).encode())
    assert (reply.code, reply.data["kind"]) == (201, "SelfSubjectAccessReview")
    assert reply.data["spec"] == {kind: attributes}
    return reply.data["status"]["allowed"]


def test_everybody_may_read_what_is_served_and_nothing_else() -> None:
    packages, olm = "packages.operators.coreos.com", "operators.coreos.com"
    assert allowed(group=packages, resource="installed", verb="watch", namespace="a")
    assert allowed(group=packages, resource="packagemanifests", subresource="icon", verb="get")
    assert allowed(group=olm, resource="clusterserviceversions", verb="list")
    assert not allowed(group=olm, resource="clusterserviceversions", verb="watch")
    assert not allowed(group=packages, resource="installed", verb="create")
    assert not allowed(group="", resource="pods", verb="get")
    assert not allowed(group="*", resource="*", verb="*")
    assert allowed(path="/readyz", verb="get")
    assert not allowed(path="/metrics", verb="get")


def test_a_message_in_protocol_buffers() -> None:
    reply = post(MESSAGE, headers=PROTOBUF)
    attributes = {
        "namespace": "default",
        "verb": "get",
        "group": "packages.operators.coreos.com",
        "resource": "installed",
    }
    assert (reply.code, reply.data["spec"]) == (201, {"resourceAttributes": attributes})
    assert reply.data["status"] == {"allowed": True}


@given(st.integers(0, len(MESSAGE)), st.binary(max_size=8))
def test_a_broken_message_is_a_bad_request(cut: int, end: bytes) -> None:
    assert post(MESSAGE[:cut] + end, headers=PROTOBUF).code in (201, 400)


def test_what_can_not_be_read() -> None:
    assert post(b"{").data["message"] == "the body of the request is no JSON"
    assert post(b"[]").data["status"] == {"allowed": False, "reason": "olmc serve can only be read"}
    assert post(b"a: b", headers={"Content-Type": "application/yaml"}).code == 415
    app = application(FEED, "v1.36.2")
    assert ask(app, f"{BASE}/selfsubjectaccessreviews").code == 405


@pytest.fixture(scope="module")
def served(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(project / "fixtures" / "installed", tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.mark.slow
@needs_kubectl
def test_kubectl_auth_can_i(served: Served) -> None:
    """The answer is the exit code as well."""
    for arguments, answer in (
        (("get", "installed"), "yes"), (("list", "csv", "-A"), "yes"), (("delete", "installed"), "no"),
        (("create", "subscriptions.operators.coreos.com"), "no"), (("get", "/version"), "yes"),
    ):  # fmt: skip
        done = served.kubectl("auth", "can-i", *arguments)
        assert (done.stdout.split()[0], done.returncode) == (answer, int(answer == "no")), arguments
    listed = served.kubectl("auth", "can-i", "--list").stdout
    assert "installed.packages.operators.coreos.com" in listed
    assert "[get list watch]" in listed
