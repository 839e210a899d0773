"""The API server's answers, without a network."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from asgi_client import Reply, ask
from jsonschema import Draft202012Validator
from serve_states import advance, feed, operator, view

import olmc
from olmc.compiler.model.options import Options
from olmc.integrations.serve.app import application
from olmc.integrations.serve.handlers import NO_ICON
from olmc.integrations.serve.store import Store, new_store
from olmc.resources import schema
from olmc.targets.proposed.installed.resources import INSTALLED, PACKAGE_MANIFESTS, RESOURCES, Resource
from olmc.targets.proposed.installed.view import view_of

V2, V1 = f"/apis/{INSTALLED.api_version}", f"/apis/{PACKAGE_MANIFESTS.api_version}"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
METADATA = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
PACKAGES = Path(__file__).resolve().parents[1] / "proposed" / "packages"


@pytest.fixture(scope="module")
def real() -> Store:
    """A feed of a workspace with packages and an operator of each of two namespaces."""
    done = olmc.compile(PACKAGES.parents[2] / "fixtures" / "installed")
    packages = olmc.compile(PACKAGES)
    assert done.settled is not None and packages.settled is not None
    shown = view_of(done.settled, done.objects, done.workspace, Options())
    offered = view_of(packages.settled, packages.objects, packages.workspace, Options())
    return new_store(shown._replace(offers=offered.offers))


def get(of: Store, address: str, method: str = "GET", headers: dict[str, str] | None = None) -> Reply:
    return ask(application(of, "v1.36.2"), address, method, headers)


def failed(reply: Reply, code: int, reason: str) -> dict[str, Any]:
    """The Status of a failure; all that it must have."""
    status: dict[str, Any] = reply.data
    assert reply.headers["content-type"] == "application/json"
    assert (reply.code, status["code"], status["reason"]) == (code, code, reason)
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    return status


# Lists and objects


def test_lists_and_objects_r_inst_1(real: Store) -> None:
    found = get(real, f"{V2}/namespaces/default/installed").data
    assert (found["kind"], found["apiVersion"]) == ("InstalledList", INSTALLED.api_version)
    assert [each["metadata"]["name"] for each in found["items"]] == ["beacon.v0.9.4-clusterwide", "gauge.v0.27.0"]
    one = get(real, f"{V2}/namespaces/default/installed/gauge.v0.27.0").data
    assert one == found["items"][1]
    assert get(real, f"{V2}/installed").data["items"] == found["items"]
    assert get(real, f"{V2}/namespaces/mojave/installed").data["items"] == []


def test_the_version_of_a_list_r_inst_9(real: Store) -> None:
    version = "clusterserviceversions:0,subscriptions:0"
    found = get(real, f"{V2}/installed").data
    assert found["metadata"] == {"resourceVersion": version}
    assert {each["metadata"]["resourceVersion"] for each in found["items"]} == {version}


def test_everything_conforms_to_its_schema(real: Store) -> None:
    validator = Draft202012Validator(schema("packages"))
    for address in (f"{V2}/installed", f"{V1}/packagemanifests", f"{V1}/namespaces/docks/packagemanifests/kettle"):
        assert [error.message for error in validator.iter_errors(get(real, address).data)] == []
    assert list(validator.iter_errors({"apiVersion": "v1", "kind": "Installed", "status": []}))


def test_package_manifests_of_a_namespace_r_cat_801(real: Store) -> None:
    found = get(real, f"{V1}/namespaces/docks/packagemanifests").data
    shown = [(each["metadata"]["name"], each["status"]["catalogSource"]) for each in found["items"]]
    assert shown == [("crane", "alpha"), ("crane", "tea"), ("kettle", "tea"), ("spoon", "tea")]
    one = get(real, f"{V1}/namespaces/docks/packagemanifests/crane").data
    assert (one["metadata"]["namespace"], one["status"]["catalogSource"]) == ("docks", "alpha")
    assert [each["metadata"]["namespace"] for each in get(real, f"{V1}/packagemanifests").data["items"]] == [
        "docks", "olm", "olm", "olm",
    ]  # fmt: skip


def test_names_that_are_not_there(real: Store) -> None:
    status = failed(get(real, f"{V2}/namespaces/mojave/installed/gauge.v0.27.0"), 404, "NotFound")
    assert status["message"] == 'installed.packages.operators.coreos.com "gauge.v0.27.0" not found'
    assert status["details"] == {"name": "gauge.v0.27.0", "group": "packages.operators.coreos.com", "kind": "installed"}
    failed(get(real, f"{V1}/namespaces/docks/packagemanifests/fork"), 404, "NotFound")


def test_selectors_select(real: Store) -> None:
    labels = get(real, f"{V2}/installed?labelSelector=operators.coreos.com%2Fsub%3Dgauge").data["items"]
    assert [each["metadata"]["name"] for each in labels] == ["gauge.v0.27.0"]
    fields = get(real, f"{V2}/installed?fieldSelector=metadata.name%3Dgauge.v0.27.0,metadata.namespace%3Ddefault").data
    assert fields["items"] == labels
    assert get(real, f"{V2}/installed?fieldSelector=metadata.namespace%3Dmojave").data["items"] == []


def test_fields_that_packages_do_not_support_r_cat_809(real: Store) -> None:
    status = failed(get(real, f"{V1}/packagemanifests?fieldSelector=metadata.namespace%3Dolm"), 400, "BadRequest")
    assert status["message"] == "field label not supported: metadata.namespace"


@pytest.mark.parametrize("address", [f"{V2}/installed", f"{V1}/packagemanifests"])
def test_lists_in_parts(real: Store, address: str) -> None:
    whole = get(real, address).data["items"]
    first = get(real, f"{address}?limit=1").data
    assert (first["items"], first["metadata"]["remainingItemCount"]) == (whole[:1], len(whole) - 1)
    token = first["metadata"]["continue"]
    rest = get(real, f"{address}?limit=500&continue={token}").data
    assert rest["items"] == whole[1:]
    assert "continue" not in rest["metadata"]


def test_a_list_goes_on_in_the_state_it_began_in() -> None:
    going = feed(view(operator("a.v1", targets=["ns"]), operator("b.v1", targets=["ns"])))
    first = get(going, f"{V2}/installed?limit=1").data
    advance(going, view())
    token = first["metadata"]["continue"]
    rest = get(going, f"{V2}/installed?continue={token}").data
    assert [each["metadata"]["name"] for each in rest["items"]] == ["b.v1"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_token_of_a_state_that_is_gone_is_expired(real: Store) -> None:
    place = {"v": "olmc/v1", "rv": "clusterserviceversions:9,subscriptions:9", "offset": 1}
    token = base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    failed(get(real, f"{V2}/installed?continue={token}"), 410, "Expired")
    failed(get(real, f"{V1}/packagemanifests?continue={token}"), 410, "Expired")
    failed(get(real, f"{V2}/installed?continue=nonsense"), 400, "BadRequest")


def test_versions_of_lists() -> None:
    """Any version up to the present one is served the present state; an exact one its own, while it is kept."""
    going = feed(view(), view(operator("a.v1", targets=["ns"])), view())
    address, old = f"{V2}/installed?resourceVersion=", "clusterserviceversions:1,subscriptions:0"
    assert get(going, address + old).data["metadata"]["resourceVersion"] == going.current.version
    exact = get(going, f"{address}{old}&resourceVersionMatch=Exact").data
    assert (exact["metadata"]["resourceVersion"], len(exact["items"])) == (old, 1)
    assert get(going, f"{address}0").code == 200
    failed(get(going, f"{address}clusterserviceversions:9,subscriptions:0"), 504, "Timeout")
    failed(get(going, f"{address}17"), 400, "BadRequest")
    for number in range(70):
        advance(going, view(operator("a.v1", phase=str(number))))
    failed(get(going, f"{address}{old}&resourceVersionMatch=Exact"), 410, "Expired")


# Other forms


def test_a_table_has_the_columns_of_the_document_r_inst_7(real: Store) -> None:
    table = get(real, f"{V2}/namespaces/default/installed", headers=TABLE).data
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"] if not column["priority"]] == [
        "NAME", "INSTALLATION_NAMESPACE", "CHANNEL", "CURRENT_VERSION", "TARGET_VERSION", "PHASE",
    ]  # fmt: skip
    assert table["rows"][1]["cells"][:6] == ["gauge.v0.27.0", "monitoring", "beta", "0.27.0", "0.27.0", "Succeeded"]
    held = table["rows"][1]["object"]
    assert (held["kind"], held["metadata"]["namespace"]) == ("PartialObjectMetadata", "default")
    assert "status" not in held


def test_rows_hold_as_much_of_their_object_as_is_asked_for(real: Store) -> None:
    base = f"{V2}/namespaces/default/installed/gauge.v0.27.0"
    (whole,) = get(real, f"{base}?includeObject=Object", headers=TABLE).data["rows"]
    assert whole["object"]["kind"] == "Installed"
    (none,) = get(real, f"{base}?includeObject=None", headers=TABLE).data["rows"]
    assert "object" not in none
    failed(get(real, f"{base}?includeObject=Half", headers=TABLE), 400, "BadRequest")


def test_the_table_of_packages_r_cat_809(real: Store) -> None:
    table = get(real, f"{V1}/namespaces/docks/packagemanifests", headers=TABLE).data
    shown = [column["name"] for column in table["columnDefinitions"] if not column["priority"]]
    assert shown == ["Name", "Catalog", "Age"]
    assert [row["cells"][:3] for row in table["rows"]][:2] == [
        ["crane", "", "<unknown>"], ["crane", "Tea Things", "<unknown>"],
    ]  # fmt: skip


def test_metadata_alone(real: Store) -> None:
    found = get(real, f"{V2}/installed", headers=METADATA).data
    assert found["kind"] == "PartialObjectMetadataList"
    assert [each["kind"] for each in found["items"]] == ["PartialObjectMetadata"] * 2
    assert all(each.keys() == {"kind", "apiVersion", "metadata"} for each in found["items"])


def test_yaml_and_pretty_json(real: Store) -> None:
    as_yaml = get(real, f"{V2}/installed", headers={"Accept": "application/yaml"})
    assert as_yaml.headers["content-type"] == "application/yaml"
    assert as_yaml.body.startswith(b"apiVersion: packages.operators.coreos.com/v2alpha1\nkind: InstalledList\n")
    plain, pretty = get(real, f"{V2}/installed"), get(real, f"{V2}/installed?pretty=true")
    assert pretty.data == plain.data
    assert len(pretty.body.splitlines()) > len(plain.body.splitlines()) == 1


def test_icons_r_cat_805(real: Store) -> None:
    """That of the default channel with its tag; a drawing where there is none."""
    base = f"{V1}/namespaces/docks/packagemanifests"
    icon = get(real, f"{base}/kettle/icon")
    assert (icon.body, icon.headers["content-type"]) == (b"<svg/>", "image/svg+xml")
    assert icon.headers["etag"] == '"kettle.stable.kettle.v1.10.0"'
    assert icon.headers["x-content-type-options"] == "nosniff"
    again = get(real, f"{base}/kettle/icon", headers={"If-None-Match": icon.headers["etag"]})
    assert (again.code, again.body) == (304, b"")
    assert get(real, f"{base}/spoon/icon").body == NO_ICON
    failed(get(real, f"{base}/fork/icon"), 404, "NotFound")


# Refusals


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"])
@pytest.mark.parametrize("path", ["installed", "namespaces/a/installed", "namespaces/a/installed/gauge.v0.27.0"])
def test_every_other_method_is_refused_r_inst_8(real: Store, method: str, path: str) -> None:
    status = failed(get(real, f"{V2}/{path}", method), 405, "MethodNotAllowed")
    assert status["message"] == "the server does not allow this method on the requested resource"
    assert status["details"]["kind"] == "installed"
    assert get(real, f"{V2}/{path}", method).headers["allow"] == "GET"


@pytest.mark.parametrize("path", ["/", "/apis", "/version", "/openapi/v2", f"{V1}/namespaces/olm/packagemanifests/a"])
def test_nothing_can_be_written_anywhere(real: Store, path: str) -> None:
    failed(get(real, path, "POST"), 405, "MethodNotAllowed")


@pytest.mark.parametrize("path", ["/api/v1", "/apis/apps", f"{V2}/packagemanifests", f"{V1}/installed", "/nowhere",
                                  f"{V2}/namespaces/default/installed/x/icon", f"{V2}/namespaces/default",
                                  f"{V2}/installed/", f"{V2}/namespaces//installed",
                                  "/apis/packages.operators.coreos.com/v3"])  # fmt: skip
def test_paths_that_there_are_not(real: Store, path: str) -> None:
    status = failed(get(real, path), 404, "NotFound")
    assert status["message"] == "the server could not find the requested resource"
    failed(get(real, path, "POST"), 404, "NotFound")


def test_forms_that_there_are_not(real: Store) -> None:
    status = failed(get(real, f"{V2}/installed", headers={"Accept": "text/html"}), 406, "NotAcceptable")
    assert status["message"] == "only the following media types are accepted: application/json, application/yaml"


def test_packages_are_not_watched_r_cat_800(real: Store) -> None:
    status = failed(get(real, f"{V1}/packagemanifests?watch=true"), 405, "MethodNotAllowed")
    assert status["message"] == (
        'watch is not supported on resources of kind "packagemanifests.packages.operators.coreos.com"'
    )


# What OLM itself stores


def test_olms_own_kinds(real: Store) -> None:
    """As kubectl shows them of a cluster: lists by namespace, single objects, tables; nobody can write or watch."""
    base = "/apis/operators.coreos.com/v1alpha1"
    everywhere = get(real, f"{base}/clusterserviceversions").data
    assert (everywhere["kind"], everywhere["apiVersion"]) == ("ClusterServiceVersionList", base[6:])
    names = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in everywhere["items"]]
    assert names == [(home, name) for home, name in sorted(names)]
    assert len(names) == 4
    mine = get(real, f"{base}/namespaces/monitoring/subscriptions", headers=TABLE).data
    assert [each["cells"] for each in mine["rows"]] == [
        ["gauge", "gauge", "harbour", "beta", "gauge.v0.27.0", "AtLatestKnown"]
    ]
    one = get(real, f"{base}/namespaces/monitoring/subscriptions/gauge").data
    assert (one["kind"], one["spec"]["name"]) == ("Subscription", "gauge")
    missing = failed(get(real, f"{base}/namespaces/monitoring/subscriptions/beacon"), 404, "NotFound")
    assert missing["details"] == {"name": "beacon", "group": "operators.coreos.com", "kind": "subscriptions"}
    operators = get(real, "/apis/operators.coreos.com/v1/operators").data["items"]
    assert [each["metadata"]["name"] for each in operators] == ["beacon.operators", "gauge.monitoring"]
    assert get(real, "/apis/operators.coreos.com/v1/operators/gauge.monitoring").code == 200
    failed(get(real, "/apis/operators.coreos.com/v1/namespaces/monitoring/operators"), 404, "NotFound")
    failed(get(real, f"{base}/subscriptions?watch=true"), 405, "MethodNotAllowed")
    failed(get(real, f"{base}/subscriptions", "POST"), 405, "MethodNotAllowed")


# Discovery and OpenAPI


def test_discovery_r_inst_1(real: Store) -> None:
    assert get(real, "/api").data["versions"] == []
    group, olms = get(real, "/apis").data["groups"]
    assert [each["groupVersion"] for each in group["versions"]] == [each.api_version for each in RESOURCES]
    assert get(real, "/apis/packages.operators.coreos.com").data == {"kind": "APIGroup", "apiVersion": "v1", **group}
    assert olms["name"] == "operators.coreos.com"
    assert [each["version"] for each in olms["versions"]] == ["v1", "v1alpha1", "v2alpha1"]
    (installed,) = get(real, V2).data["resources"]
    assert installed == {
        "name": "installed",
        "singularName": "installed",
        "namespaced": True,
        "kind": "Installed",
        "verbs": ["get", "list", "watch"],
    }
    names = [each["name"] for each in get(real, V1).data["resources"]]
    assert names == ["packagemanifests", "packagemanifests/icon"]
    assert set(get(real, "/").data["paths"]) >= {"/apis", V1, V2, "/openapi/v3"}
    for path in get(real, "/").data["paths"]:
        assert get(real, path).code == 200, path


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_aggregated_discovery_says_the_same(real: Store, version: str) -> None:
    wanted = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    reply = get(real, "/apis", headers={"Accept": f"{wanted},application/json"})
    assert (reply.headers["content-type"], reply.data["apiVersion"]) == (wanted, f"apidiscovery.k8s.io/{version}")
    group, olms = reply.data["items"]
    assert [each["shortNames"] for each in olms["versions"][1]["resources"]] == [
        ["catsrc"], ["csv", "csvs"], ["ip"], ["sub", "subs"],
    ]  # fmt: skip
    shown = [(each["version"], *(found["resource"] for found in each["resources"])) for each in group["versions"]]
    assert shown == [("v1", "packagemanifests"), ("v2alpha1", "installed")]
    assert get(real, "/api", headers={"Accept": wanted}).data["items"] == []


def test_the_version_is_that_of_the_cluster(real: Store) -> None:
    info = get(real, "/version").data
    assert (info["major"], info["minor"]) == ("1", "36")
    assert info["gitVersion"].startswith("v1.36.2+olmc-")


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_openapi_3(real: Store, resource: Resource) -> None:
    """The index leads to a document whose references all lead somewhere, and whose kind carries its names."""
    index = get(real, "/openapi/v3").data["paths"]
    document = get(real, index[f"apis/{resource.api_version}"]["serverRelativeURL"]).data
    check_document(document, document["components"]["schemas"], "#/components/schemas/", resource)
    assert all(set(path) == {"get", "parameters"} for path in document["paths"].values())


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_openapi_2(real: Store, resource: Resource) -> None:
    document = get(real, "/openapi/v2").data
    check_document(document, document["definitions"], "#/definitions/", resource)


def check_document(document: Any, schemas: dict[str, Any], prefix: str, resource: Resource) -> None:
    used = {each.removeprefix(prefix) for each in references(document)}
    assert used and used <= schemas.keys()
    wanted = {"group": "packages.operators.coreos.com", "version": resource.version, "kind": resource.kind}
    assert sum(wanted in each.get("x-kubernetes-group-version-kind", ()) for each in schemas.values()) == 1
    assert f"/apis/{resource.api_version}/namespaces/{{namespace}}/{resource.plural}/{{name}}" in document["paths"]


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for each in value.values() for found in references(each)]


def test_openapi_2_in_protocol_buffers(real: Store) -> None:
    """What kubectl asks for before it creates: the same document, which can be taken apart again."""
    media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    reply = get(real, "/openapi/v2", headers={"Accept": media})
    assert reply.headers["content-type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    document = get(real, "/openapi/v2").data
    top = fields(reply.body)
    assert top[1] == [b"2.0"]
    definitions = [fields(each) for each in fields(top[9][0])[1]]
    assert [name[1][0].decode() for name in definitions] == list(document["definitions"])
    paths = [fields(each) for each in fields(top[8][0])[2]]
    assert [name[1][0].decode() for name in paths] == list(document["paths"])
    for named in definitions:
        made, wanted = fields(named[2][0]), document["definitions"][named[1][0].decode()]
        assert [each.decode() for each in made.get(19, [])] == wanted.get("required", [])
        properties = [fields(each)[1][0].decode() for each in fields(made[25][0])[1]] if 25 in made else []
        assert properties == list(wanted.get("properties", {}))


def fields(data: bytes) -> dict[int, list[bytes]]:
    """A message taken apart: the values of each field."""
    found: dict[int, list[bytes]] = {}
    position = 0

    def number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while position < len(data):
        key = number()
        size = number()
        if key & 7 == 2:
            found.setdefault(key >> 3, []).append(data[position : position + size])
            position += size
        else:
            found.setdefault(key >> 3, []).append(bytes([size]))
    return found


def test_health(real: Store) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert (get(real, path).code, get(real, path).body) == (200, b"ok")
    ending = feed(view())
    ending.close()
    assert get(ending, "/readyz").code == 503
    assert get(ending, "/healthz").code == 200


def test_what_is_no_character_does_not_break_an_answer() -> None:
    """YAML can hold half of a surrogate pair."""
    odd = feed(view(operator("a\ud800", targets=["a"])))
    assert get(odd, f"{V2}/installed").data["items"][0]["metadata"]["name"] == "a?"
    assert get(odd, f"{V2}/installed", headers={"Accept": "application/yaml"}).code == 200
    assert get(odd, f"{V2}/installed", headers=TABLE).code == 200
