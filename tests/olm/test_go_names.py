"""Hashes and made-up names and identifiers, and the rules for names."""

from __future__ import annotations

import pytest

from olmc.compiler.olm.naming import (
    cluster_role_name,
    component_label_key,
    content_hash,
    content_hash_rules,
    deep_hash,
    fnv64a_hex,
    h62,
    operator_group_role_name,
    random_suffix,
    rbac_name,
    role_name,
    stable_group_uid,
    uid_for,
)
from olmc.compiler.olm.profiles.data import profile_of
from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name
from olmc.k8s.gojson import encode

NEWEST = profile_of("0.46")


def test_h62_is_sha_224_in_base_62() -> None:
    """R-HASH-1, R-HASH-4: the rule's example of a hash that is one character shorter."""
    assert h62(b"operators/global-operators/admin") == "5UD4U2IfBGbw51Qy2Jaefk1uawvkj2OJILlc3w"
    assert h62(b"operators/global-operators/edit") == "9ZbzBIwu1SlHO7KbWinNtOfyGaVjTWIYhNkNP"


def test_deep_and_content_hashes_differ_by_the_line_end() -> None:
    """R-HASH-2, R-HASH-3; the minimal DeploymentSpec of R-DEP-9 and the description of R-WH-5."""
    assert deep_hash("DeploymentSpec", {}) == "cr2B35QMPpx2V99TvauN2UBcRisANar1nyAheL"
    assert deep_hash("DeploymentSpec", {}) == h62(encode("DeploymentSpec", {}) + b"\n")
    assert content_hash("DeploymentSpec", {}) == h62(encode("DeploymentSpec", {}))
    webhook = {"generateName": "m", "type": "MutatingAdmissionWebhook"}
    assert deep_hash("WebhookDescription", webhook) == "8x68U7nASWiliU5eK6PBS05ElULZy2NBMMVNrP"
    assert content_hash_rules([]) == "1OKVi3ybs4W8Y6M8q5uC9NGiaB4hseYuzcyLPA"
    assert content_hash_rules(None) == "8svkgjrWNOjkQ01d1SG1sBJN8XPVhKn0GkNTVF"


def test_fnv_is_not_padded() -> None:
    """R-HASH-6, Q-3."""
    assert fnv64a_hex("") == "cbf29ce484222325"
    assert fnv64a_hex("Memcached.v1alpha1.cache.example.com") == "7d4be2dfad49a2af"
    assert min(len(fnv64a_hex(str(number))) for number in range(40)) < 16


def test_a_long_base_is_cut_but_not_one_that_just_fits() -> None:
    """R-SA-6, Q-2: the name is then one character longer than a label may be."""
    length = len(h62(b"data\n"))
    fits, long = "b" * (63 - length), "b" * (64 - length)
    assert rbac_name(NEWEST, fits, b"data\n", "") == f"{fits}-{h62(b'data' + bytes([10]))}"
    assert len(rbac_name(NEWEST, fits, b"data\n", "")) == 64
    assert len(rbac_name(NEWEST, long, b"data\n", "")) == 63
    assert rbac_name(NEWEST, "é" * 40, b"data\n", "").startswith("é" * ((62 - length) // 2))


def test_names_of_roles() -> None:
    """R-SA-2, R-SA-4, worked examples 3 and 4."""
    assert (
        role_name(NEWEST, "a.v1", "n", {"serviceAccountName": "s", "rules": []})
        == "a.v1-s-3YYLLzaC5LmIRyegRcYFYnnjtLqESWiybgtLrN"
    )
    without_rules = role_name(NEWEST, "a.v1", "n", {"serviceAccountName": "s"})
    assert without_rules == "a.v1-s-3XFFx2I4PnNGibJGktfkjDu4rv4EhTIwrqErki"
    ours = cluster_role_name(NEWEST, "a.v1", "n", {"serviceAccountName": "s", "rules": []})
    assert ours == "a.v1-88LUhmhPF6NfFwgfLinm69XDq9Sa7xaiPBSayr"
    assert cluster_role_name(NEWEST, "a.v1", "m", {"serviceAccountName": "s", "rules": []}) != ours


def test_names_of_an_operator_group_s_cluster_roles() -> None:
    """R-OG-16."""
    name = operator_group_role_name(NEWEST, "ns1", "og", "admin")
    assert name == "olm.og.og.admin-4epqK4Xa56eQN7ygzr6D1GNqt2dFt0wArnlhj5"


def test_component_label_keys_end_in_a_letter_or_digit() -> None:
    """R-COMP-2."""
    assert component_label_key("etcd", "operators") == "operators.coreos.com/etcd.operators"
    assert component_label_key("a" * 61 + "-", "ns") == "operators.coreos.com/" + "a" * 61


def test_suffixes_are_the_specification_s() -> None:
    """D3."""
    texts = [f"operators.coreos.com/v1alpha1|InstallPlan|ns|install-|{generation}" for generation in (1, 2, 3)]
    assert [random_suffix(text) for text in texts] == ["dnpzt", "r7tw9", "q9ptn"]


def test_uids_are_the_specification_s() -> None:
    """D4, U-2."""
    api = "operators.coreos.com/v1alpha1"
    assert uid_for(api, "ClusterServiceVersion", "ns", "a.v1") == "1c4f684c-ccdf-59e0-8927-c8b6d07be140"
    assert uid_for(api, "Subscription", "ns", "a") == "1899b314-9786-5026-b44c-309574fe76fc"
    assert uid_for(api, "InstallPlan", "ns", "install-dnpzt") == "efec4d7c-398a-5a38-b76a-7a68ef2f5cfc"
    assert stable_group_uid("ns", "og") == uid_for("operators.coreos.com/v1", "OperatorGroup", "ns", "og")


LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"  # noqa: E501
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"  # noqa: E501
VALUE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"  # noqa: E501
KEY = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"  # noqa: E501


@pytest.mark.parametrize(
    ("check", "text", "messages"),
    [
        (is_dns1123_label, "a-1", []),
        (is_dns1123_label, "a" * 63, []),
        (is_dns1123_label, "a" * 64, ["must be no more than 63 bytes"]),
        (is_dns1123_label, "a.b", ["must not contain dots"]),
        (is_dns1123_label, "A", [LABEL]),
        (is_dns1123_label, "a\n", [LABEL]),
        (is_dns1123_label, "", [LABEL]),
        (is_dns1123_label, "-" + "é" * 32, ["must be no more than 63 bytes", LABEL]),
        (is_dns1123_subdomain, "a.b-c.1", []),
        (is_dns1123_subdomain, "a" * 253, []),
        (is_dns1123_subdomain, "a" * 254, ["must be no more than 253 bytes"]),
        (is_dns1123_subdomain, "a..b", [SUBDOMAIN]),
        (is_label_value, "", []),
        (is_label_value, "A_b.c-1", []),
        (is_label_value, "-a", [VALUE]),
        (is_label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (is_qualified_name, "a", []),
        (is_qualified_name, "example.com/A_b", []),
        (is_qualified_name, "", ["name part must be non-empty", f"name part {KEY}"]),
        (is_qualified_name, "/a", ["prefix part must be non-empty"]),
        (is_qualified_name, "A/b", [f"prefix part {SUBDOMAIN}"]),
        (is_qualified_name, "a/", ["name part must be non-empty", f"name part {KEY}"]),
        (is_qualified_name, "a/" + "b" * 64, ["name part must be no more than 63 bytes"]),
        (
            is_qualified_name,
            "a/b/c",
            [f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
    ],
)
def test_rules_for_names(check: object, text: str, messages: list[str]) -> None:
    """Kubernetes' validation of names, label values and keys, in its words."""
    assert callable(check)
    assert check(text) == messages
