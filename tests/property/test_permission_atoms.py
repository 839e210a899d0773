"""The algebra of permissions: the canonical form says what the atoms say, once (R-INSTALL-6 … R-INSTALL-8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.results import Atom, Entry
from olmc.k8s.api.rbac import decode_rule, rule_allows
from olmc.k8s.api.rbac_access import access, subject_of, with_groups
from olmc.k8s.objects import ACCOUNT, ObjectKey, Origin, Provenance, Rendered, Request, Subject
from olmc.targets.proposed.operator_api.approval import as_rules, atoms_of, canonical, not_held, verb_order

GROUPS, RESOURCES = ["", "apps", "*"], ["pods", "pods/log", "deployments", "*"]
VERBS, SPACES, NAMES = ["get", "watch", "create", "approve", "*"], [None, "a", "b"], [None, "", "x", "y"]

REQUESTS = st.builds(
    Request,
    st.sampled_from(VERBS),
    st.sampled_from(GROUPS),
    st.sampled_from(RESOURCES),
    st.sampled_from(NAMES),
    st.just(""),
)
RESOURCE_ATOMS = st.builds(Atom, REQUESTS, st.sampled_from(SPACES))
URL_ATOMS = st.builds(
    lambda verb, url: Atom(Request(verb, url=url), None), st.sampled_from(VERBS), st.sampled_from(["/metrics", "/x/*"])
)
ATOMS = st.frozensets(RESOURCE_ATOMS | URL_ATOMS, max_size=30)


def atoms_in(entries: Iterable[Entry]) -> Iterator[Atom]:
    """The atoms that entries in canonical form stand for."""
    for entry in entries:
        for namespace in entry.get("namespaces") or (None,):
            yield from atoms_of(decode_rule(entry), namespace)


@given(ATOMS)
def test_nothing_is_lost_and_nothing_is_added(atoms: frozenset[Atom]) -> None:
    """R-INSTALL-8: the entries stand for the very atoms that they were made of."""
    assert frozenset(atoms_in(canonical(atoms))) == atoms


@given(ATOMS)
def test_no_atom_is_said_twice(atoms: frozenset[Atom]) -> None:
    """R-INSTALL-8: entries do not overlap."""
    listed = list(atoms_in(canonical(atoms)))
    assert len(listed) == len(set(listed))


@given(st.permutations(sorted([Atom(Request(v, "", r), n) for r in RESOURCES for v in VERBS for n in ("a", "b")])))
def test_the_order_does_not_matter(atoms: list[Atom]) -> None:
    """R-INSTALL-8: one set of atoms has one canonical form."""
    assert canonical(atoms) == canonical(sorted(atoms))


@given(ATOMS)
def test_the_form_is_canonical(atoms: frozenset[Atom]) -> None:
    """R-INSTALL-8: the form of the form is the form; lists are in order, verbs in theirs."""
    entries = canonical(atoms)
    assert canonical(atoms_in(entries)) == entries
    for entry in entries:
        assert entry["verbs"] == sorted(entry["verbs"], key=verb_order)
        for key in ("apiGroups", "resources", "resourceNames", "namespaces", "nonResourceURLs"):
            assert entry.get(key, []) == sorted(entry.get(key, []))


def role_with(rules: list[dict[str, object]], space: str | None) -> dict[ObjectKey, Rendered]:
    """RBAC that grants rules to the user jane, in a namespace or everywhere."""
    rbac, prefix = "rbac.authorization.k8s.io", "" if space else "Cluster"
    found = {}
    for kind, body in (
        (f"{prefix}Role", {"rules": rules}),
        (
            f"{prefix}RoleBinding",
            {
                "subjects": [{"kind": "User", "name": "jane"}],
                "roleRef": {"apiGroup": rbac, "kind": f"{prefix}Role", "name": "r"},
            },
        ),
    ):
        obj = {"apiVersion": f"{rbac}/v1", "kind": kind, "metadata": {"name": "r", "namespace": space or ""}, **body}
        provenance = Provenance(None, "manifests", "input", Origin.MANIFEST)
        found[ObjectKey(rbac, kind, space or "", "r")] = Rendered(obj, provenance)
    return found


@given(st.frozensets(RESOURCE_ATOMS, min_size=1, max_size=12), st.sampled_from([None, "a"]))
def test_what_is_granted_is_held(atoms: frozenset[Atom], space: str | None) -> None:
    """R-INSTALL-7, R-INSTALL-10: a role made of the canonical form grants every atom of it, where it counts."""
    here = frozenset(atom._replace(namespace=space) for atom in atoms)
    granted = access(role_with(as_rules(canonical(here)), space), aggregated=True)
    jane = with_groups(subject_of("jane"))
    assert not not_held(here, granted, jane)
    assert not_held(here, access({}, aggregated=True), with_groups(subject_of("joe"))) == here
    if space is None:
        assert not not_held([atom._replace(namespace="anywhere") for atom in here], granted, jane)
    else:
        for other in ("elsewhere", None):
            there = frozenset(atom._replace(namespace=other) for atom in here)
            assert not_held(there, granted, jane) == there


@given(RESOURCE_ATOMS, st.frozensets(RESOURCE_ATOMS, max_size=12))
def test_more_rules_never_take_away(atom: Atom, others: frozenset[Atom]) -> None:
    """R-INSTALL-7: covering is monotone, and a rule covers the atoms that it stands for."""
    rules = [decode_rule(rule) for rule in as_rules(canonical({atom, *others}))]
    assert any(rule_allows(rule, atom.request) for rule in rules)
    assert all(rule_allows(rule, each.request) for rule in rules for each in atoms_of(rule, None))


def test_sub_resources_and_names() -> None:
    """R-INSTALL-7: a sub-resource by its name, by `*` or by `*/sub`; names cover named atoms alone."""
    request, resources = Request("get", "", "pods/log"), ("pods", "pods/log", "*", "*/log", "*/exec")
    rule = {"verbs": ["get"], "apiGroups": [""]}
    assert [rule_allows(decode_rule({**rule, "resources": [r]}), request) for r in resources] == [
        False, True, True, True, False,
    ]  # fmt: skip
    named = decode_rule({**rule, "resources": ["pods/log"], "resourceNames": ["x"]})
    assert [rule_allows(named, request._replace(name=name)) for name in ("", "x", "y")] == [False, True, False]
    unlimited = decode_rule({**rule, "resources": ["pods/log"]})
    assert [rule_allows(each, request._replace(name=None)) for each in (named, unlimited)] == [False, True]


def test_groups_of_service_accounts() -> None:
    """R-INSTALL-7: an account is in the groups of all accounts, those of its namespace, and of all who are known."""
    account = Subject(ACCOUNT, "ns", "sa")
    groups = ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert with_groups(account) == (account, *(Subject("Group", "", name) for name in groups))
    assert with_groups(subject_of("system:serviceaccount:ns:sa"), "x") == (
        *with_groups(account),
        Subject("Group", "", "x"),
    )


def test_the_anonymous_user_is_not_authenticated() -> None:
    """R-INSTALL-7: as for Kubernetes, which has a group for whoever nobody knows."""
    anonymous = subject_of("system:anonymous")
    assert with_groups(anonymous) == (anonymous, Subject("Group", "", "system:unauthenticated"))
    assert with_groups(subject_of("jane"))[1:] == (Subject("Group", "", "system:authenticated"),)


def test_what_is_no_text_in_a_rule_grants_nothing() -> None:
    odd = {"verbs": ["get", None], "apiGroups": [""], "resources": [None, 1, "pods"], "nonResourceURLs": 5}
    assert list(atoms_of(decode_rule(odd), "a")) == [Atom(Request("get", "", "pods", None), "a")]
