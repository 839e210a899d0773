"""What two sides differ in by their RBAC, whether what both have in common is looked at or not."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from olmc.compiler.model.cluster import NamespacedName
from olmc.k8s.objects import ObjectKey, object_key
from olmc.review.diff.operators import DiffOperator
from olmc.review.diff.permissions import Accounts, access, permission_changes, without_common

RBAC = "rbac.authorization.k8s.io"
Object = dict[str, Any]

PODS, SECRETS = ({"apiGroups": [""], "resources": [name], "verbs": ["get"]} for name in ("pods", "secrets"))
CONDITION = {"apiGroups": ["operators.coreos.com"], "resources": ["operatorconditions"], "verbs": ["get"]}
RULES: tuple[list[Object], ...] = (
    [PODS],
    [PODS, SECRETS],
    [SECRETS, {**CONDITION, "resourceNames": ["a", "b"]}],
    [{**PODS, "verbs": ["*"]}, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
)
LABEL = {"to-b": "true"}
AGGREGATION = {"clusterRoleSelectors": [{"matchLabels": LABEL}]}
ONE, TWO = {"kind": "ServiceAccount", "name": "one"}, {"kind": "ServiceAccount", "name": "two", "namespace": "red"}
SUBJECTS: tuple[list[Object], ...] = (
    [ONE],
    [TWO],
    [ONE, TWO],
    [{"kind": "User", "name": "system:serviceaccount:red:one"}],
    [],
)
NAMESPACES = ("red", "blue", "default", "")


def role(kind: str, namespace: str, name: str, rules: int) -> Object:
    metadata = {"name": name, "namespace": namespace} if kind == "Role" else {"name": name, "labels": LABEL}
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": RULES[rules]}
    return {**made, "aggregationRule": AGGREGATION} if name == "b" and rules == 0 else made


def binding(kind: str, namespace: str, name: str, ref: tuple[str, str], subjects: int) -> Object:
    metadata = {"name": name, "namespace": namespace} if kind == "RoleBinding" else {"name": name}
    reference = {"apiGroup": RBAC, "kind": ref[0], "name": ref[1]}
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "roleRef": reference}
    return {**made, "subjects": SUBJECTS[subjects]}


def present(names: tuple[tuple[str, str, str], ...], *values: st.SearchStrategy[Any]) -> Any:
    return st.dictionaries(st.sampled_from(names), st.tuples(*values), max_size=5)


names = ("a", "b")
roles = present(
    (*product(("Role",), NAMESPACES, names), *product(("ClusterRole",), ("",), names)), st.integers(0, len(RULES) - 1)
)
bindings = present(
    (*product(("RoleBinding",), NAMESPACES, names), *product(("ClusterRoleBinding",), ("",), names)),
    st.tuples(st.sampled_from(("Role", "ClusterRole")), st.sampled_from((*names, "gone"))),
    st.integers(0, len(SUBJECTS) - 1),
)
parts = st.tuples(roles, bindings)
accounts = [ObjectKey("", "ServiceAccount", "red", name) for name in ("one", "two")]
known = st.builds(
    Accounts,
    st.sampled_from(({}, {accounts[1]: accounts[0]}, {accounts[0]: accounts[1]})),
    st.dictionaries(st.sampled_from(accounts), st.lists(st.sampled_from(accounts), unique=True).map(tuple)),
)
owners = st.dictionaries(
    st.builds(NamespacedName, st.just("red"), st.sampled_from(names)),
    st.sampled_from(names).map(lambda name: DiffOperator("red", "beacon", {"metadata": {"name": name}})),
    max_size=1,
)


def objects(common: tuple[Any, Any], own: tuple[Any, Any]) -> list[Object]:
    made = [role(*key, *value) for key, value in {**common[0], **own[0]}.items()]
    return made + [binding(*key, *value) for key, value in {**common[1], **own[1]}.items()]


COPY: tuple[Any, Any] = ({("Role", "red", "a"): (0,)}, {("RoleBinding", "red", "a"): (("Role", "a"), 0)})
NOTHING: tuple[Any, Any] = ({}, {})
MORE: tuple[Any, Any] = ({("Role", "red", "b"): (1,)}, {("RoleBinding", "red", "b"): (("Role", "b"), 0)})


@given(parts, parts, parts, known, owners, owners)
@example(COPY, NOTHING, MORE, Accounts({}, {}), {}, {})
@example(COPY, NOTHING, MORE, Accounts({accounts[1]: accounts[0]}, {}), {}, {})
@example(COPY, MORE, NOTHING, Accounts({}, {accounts[1]: (accounts[0],)}), {}, {})
def test_what_is_common_changes_nothing(
    common: tuple[Any, Any], was: tuple[Any, Any], now: tuple[Any, Any], known: Accounts,
    before: dict[NamespacedName, DiffOperator], after: dict[NamespacedName, DiffOperator],
) -> None:  # fmt: skip
    old, new = objects(common, was), objects(common, now)
    left = without_common(old, new, before, after, known)
    some, everything = (
        [*permission_changes(access(ours, before), access(theirs, after), known)] for ours, theirs in (left, (old, new))
    )
    assert some == everything


def test_copies_that_did_not_change_are_left_out() -> None:
    """Of what both sides have only that stays which somebody has who gains or loses."""
    blue: tuple[Any, Any] = ({("Role", "blue", "a"): (0,)}, {("RoleBinding", "blue", "a"): (("Role", "a"), 1)})
    common = ({**COPY[0], **blue[0]}, {**COPY[1], **blue[1]})
    assert without_common(objects(common, NOTHING), objects(common, NOTHING), {}, {}) == ([], [])
    old, new = without_common(objects(common, NOTHING), objects(common, MORE), {}, {})
    assert {object_key(obj).namespace for obj in (*old, *new)} == {"red"}
    assert (len(old), len(new)) == (2, 4)


def test_of_two_objects_that_are_one_both_stay() -> None:
    twice = [*objects(COPY, NOTHING), *objects(COPY, NOTHING)]
    assert without_common(twice, objects(COPY, NOTHING), {}, {}) == (twice, objects(COPY, NOTHING))
