"""Golden vectors of every era: names that OLM itself, or a run of what it vendored, has given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.olm.naming import (
    cluster_role_name,
    deployment_spec_hash,
    gvk_hash,
    h62,
    operator_group_role_name,
    permission_print,
    rbac_name,
    role_name,
)
from olmc.compiler.olm.profiles.data import profile_of
from olmc.k8s.gojson import encode

RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LONG = "a-very-long-operator-name-that-goes-on.v10.20.30-rc1"

# The CSV, its namespace (None: a Role), the account, the rules, and the name.
SPEW_NAMES = [
    ("test-csv.v1.1.0", None, "test-service-account", [RULE], "test-csv.v1.1.0-test-service-account-79f7dfd657"),
    ("x.v1", None, "sa", None, "x.v1-sa-697c5b7c54"),
    (LONG, None, "sa", [], f"{LONG}-56cf5cbbd8"),
    ("x.v1", "", "sa", None, "x.v1-6954444f8d"),
]


@pytest.mark.parametrize("version", ["0.16.0", "0.17", "0.25", "0.26", "ocp-4.5", "ocp-4.14"])
@pytest.mark.parametrize(("csv", "namespace", "account", "rules", "name"), SPEW_NAMES)
def test_names_of_roles_by_spew(
    version: str, csv: str, namespace: str | None, account: str, rules: Any, name: str
) -> None:
    """0.16.0 … 0.26.0: FNV-1a of a debug print. An absent list differs from an empty one."""
    permission = {"serviceAccountName": account, **({"rules": rules} if rules is not None else {})}
    profile = profile_of(version)
    if namespace is None:
        assert role_name(profile, csv, "any", permission) == name
    else:
        assert cluster_role_name(profile, csv, namespace, permission) == name


def test_the_print_of_a_permission() -> None:
    """A list that holds an empty string prints as an empty one, an absent list as `<nil>`."""
    assert permission_print(["x.v1", "n"], {"serviceAccountName": "sa", "rules": [RULE]}) == (
        "([]interface {})[(string)x.v1 (string)n (v1alpha1.StrategyDeploymentPermissions)"
        "{ServiceAccountName:(string)sa Rules:([]v1.PolicyRule)"
        "[{Verbs:([]string)[get] APIGroups:([]string)[] Resources:([]string)[pods] "
        "ResourceNames:([]string)<nil> NonResourceURLs:([]string)<nil>}]}]"
    )


@pytest.mark.parametrize(
    ("version", "base", "data", "name"),
    [
        ("0.26", "myname", "([]string)[something]", "myname-9c895f74f"),
        ("0.16.0", "name" * 100, "([]string)[something else]", "name" * 13 + "-78fd8b4d6b"),
        ("0.27", "myname", '["something"]\n', "myname-5L9sNXi3Y6mcOevFzYY3WOLIukKOeZwz1pfUlT"),
        ("0.46", "name" * 100, '["something","else"]\n', "name" * 6 + "-6XtefCelEzfYlFOD1fARIK5vhWVfWfGHja7H3q"),
    ],
)
def test_names_with_a_hash(version: str, base: str, data: str, name: str) -> None:
    assert rbac_name(profile_of(version), base, data.encode(), "") == name


@pytest.mark.parametrize("version", ["0.8.1", "0.13", "0.15", "ocp-4.4", "docs"])
def test_random_names_are_made_up_from_the_content(version: str) -> None:
    """The base is cut to 58 characters; five follow; other content or another namespace has others."""
    profile = profile_of(version)
    permission = {"serviceAccountName": "sa", "rules": [RULE]}
    name = role_name(profile, "x.v1", "ns", permission)
    assert name == role_name(profile, "x.v1", "ns", dict(permission))
    assert name.startswith("x.v1-")
    assert len(name) == len("x.v1-") + 5
    assert set(name[-5:]) <= set("bcdfghjklmnpqrstvwxz2456789")
    others = {
        role_name(profile, "x.v1", "other", permission),
        role_name(profile, "x.v1", "ns", {"serviceAccountName": "sa", "rules": []}),
        cluster_role_name(profile, "x.v1", "ns", permission),
    }
    assert len(others | {name}) == 4
    assert len(role_name(profile, "x" * 80, "ns", permission)) == 58 + 1 + 5


def test_names_of_group_roles() -> None:
    """Until 0.25 the group's name, since 0.26 a hash as well, and in OpenShift 4.14 only for nine names."""
    assert operator_group_role_name(profile_of("0.25"), "operator-ns", "operator-group-1", "edit") == (
        "operator-group-1-edit"
    )
    for version in ("0.26", "0.46"):
        name = operator_group_role_name(profile_of(version), "operator-ns", "operator-group-1", "admin")
        assert name == "olm.og.operator-group-1.admin-8rdAjL0E35JMMAkOqYmoorzjpIIihfnj3DcgDU"
    blend = profile_of("ocp-4.14")
    assert operator_group_role_name(blend, "ns", "mine", "view") == "mine-view"
    assert operator_group_role_name(blend, "ns", "monitoring", "view").startswith("olm.og.monitoring.view-")


def test_the_hash_of_a_deployment() -> None:
    """0.27 … 0.35 hash an empty time of creation along, in its place among the fields; from 0.36 on it is left out."""
    metadata = {"labels": {"app": "x"}, "name": "x"}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    spec = {"template": {"metadata": metadata, "spec": {"containers": [{"name": "c"}], "volumes": [volume]}}}
    plain = encode("DeploymentSpec", spec).decode()
    assert deployment_spec_hash(profile_of("0.36"), spec) == h62(plain.encode() + b"\n")
    timed = plain.replace('"name":"x","labels"', '"name":"x","creationTimestamp":null,"labels"')
    timed = timed.replace('"metadata":{},', '"metadata":{"creationTimestamp":null},')
    assert timed.count("creationTimestamp") == 2
    for version in ("0.27", "0.35.0", "ocp-4.20"):
        assert deployment_spec_hash(profile_of(version), spec) == h62(timed.encode() + b"\n")
    for version in ("0.13", "0.17", "0.26"):
        assert deployment_spec_hash(profile_of(version), spec) == ""


@pytest.fixture(scope="module")
def golden(shared: Path) -> list[dict[str, Any]]:
    vectors: list[dict[str, Any]] = json.loads((shared / "spec/olm-versions.json").read_text("utf-8"))["golden_vectors"]
    return vectors


def test_the_vectors_of_the_specification(golden: list[dict[str, Any]]) -> None:
    """All of them: the hash of an API, a hash of a group's role, and names from what is hashed."""
    assert len(golden) == 14
    for vector in golden:
        what, given, wanted = vector["what"], vector["input"], vector["output"]
        if what.startswith("apihash"):
            kind, version, group = given.split(".", 2)
            assert gvk_hash(group, version, kind) == wanted
        elif what.startswith("OG ClusterRole"):
            namespace, group, suffix = given.split("/")
            name = operator_group_role_name(profile_of("0.26"), namespace, group, suffix)
            assert name == f"olm.og.{group}.{suffix}-{wanted}"
        else:
            version = "0.27" if ">= v0.27.0" in what else "0.16.0"
            base = what.partition("base ")[2].replace('"name"*100', "name" * 100)
            assert rbac_name(profile_of(version), base, given.encode(), "") == wanted
