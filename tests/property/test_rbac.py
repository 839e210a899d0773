"""The algebra of effective permissions: rules as sets of requests, aggregation as a closure, risks that only grow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.api.rbac import (  # fmt: skip
    EVERYTHING,
    RuleIndex,
    decode_rule,
    decode_rules,
    merge,
    normalize,
    requests_of,
    rule_allows,
    rule_satisfied,
    rules_allow,
    subtract,
)
from olmc.k8s.api.rbac_access import Access, access, escalation_refusal, with_groups
from olmc.k8s.objects import PolicyRule, Provenance, Rendered, Request, Subject
from olmc.review.rbac.risks import RISKS, level_of, risks_of
from olmc.review.rbac.subjects import permissions

RBAC = "rbac.authorization.k8s.io"

VERBS = ("get", "list", "create", "escalate", "bind", "*")
GROUPS = ("", "apps", RBAC, "*")
RESOURCES = ("pods", "pods/exec", "secrets", "deployments/scale", "*/scale", "roles", "*")
NAMES = ("one", "two", "")
URLS = ("/metrics", "/logs/*", "/logs/a", "*")


def some(values: Sequence[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3)


written = st.one_of(
    st.fixed_dictionaries(
        {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
        optional={"resourceNames": some(NAMES, 0)},
    ),
    st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(URLS)}),
)
rules = written.map(lambda rule: normalize(decode_rule(rule))[0])
lists = st.lists(rules, max_size=4)

# Every request that the rules above can tell apart; wildcards stand for requests that nobody names.
REQUESTS = (
    *(
        Request(verb, group, resource, name)
        for verb, group, resource, name in product(
            (*VERBS, "watch"), (*GROUPS, "batch"), (*RESOURCES, "jobs", "jobs/scale"), (*NAMES, "three")
        )
    ),
    *(Request(verb, url=url) for verb, url in product((*VERBS, "watch"), (*URLS, "/logs/b", "/version"))),
)


def allowed(them: Sequence[PolicyRule]) -> frozenset[Request]:
    """The meaning of rules: the requests that they allow."""
    return frozenset(request for request in REQUESTS if rules_allow(them, request))


def covers(them: Sequence[PolicyRule], rule: PolicyRule) -> bool:
    """Whether rules together allow all that a rule allows."""
    return not subtract(rule, them)


def in_words(rule: dict[str, Any], request: Request) -> bool:
    """Whether the API server grants a request, as Kubernetes' documentation says it."""
    if "*" not in rule["verbs"] and request.verb not in rule["verbs"]:
        return False
    if request.url:
        return any(
            request.url == url or (url[-1] == "*" and request.url.startswith(url[:-1]))
            for url in rule.get("nonResourceURLs", [])
        )
    names = rule.get("resourceNames", [])
    resources = rule.get("resources", [])
    _, slash, subresource = request.resource.partition("/")
    return (
        ("*" in rule.get("apiGroups", []) or request.group in rule.get("apiGroups", []))
        and any(each in resources for each in ("*", request.resource, f"*/{subresource}" if slash else "*"))
        and (names == [] or request.name in names)
    )


@given(written)
def test_a_rule_allows_what_it_says(rule: dict[str, Any]) -> None:
    parsed = normalize(decode_rule(rule))
    assert allowed(parsed) == frozenset(request for request in REQUESTS if in_words(rule, request))
    assert allowed([decode_rule(rule)]) == allowed(parsed)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda deeper: st.lists(deeper, max_size=3)))
def test_odd_rules_allow_nothing(odd: Any) -> None:
    assert normalize(decode_rule(odd)) == ()
    assert normalize(decode_rule({"verbs": odd, "apiGroups": [""], "resources": [7, None]})) == ()


@given(rules, lists)
def test_what_is_beyond_others(rule: PolicyRule, others: list[PolicyRule]) -> None:
    """With the others it makes up the whole again, it is of the rule alone, and they add nothing to it."""
    rest = subtract(rule, others)
    assert allowed([*rest, *others]) == allowed([rule, *others])
    assert allowed(rest) <= allowed([rule])
    assert all(subtract(part, [rule]) == () for part in rest)
    assert all(allowed([part]) - allowed(others) for part in rest)


@given(rules, lists, rules)
def test_covering(rule: PolicyRule, others: list[PolicyRule], more: PolicyRule) -> None:
    assert covers([rule, *others], rule)
    if covers(others, rule):
        assert allowed([rule]) <= allowed(others)
        assert covers([more, *others], rule)
        if covers([rule], more):
            assert covers(others, more)


@given(rules, lists)
def test_a_rule_is_covered_where_each_of_its_requests_is(rule: PolicyRule, others: list[PolicyRule]) -> None:
    """Rules that are compared side by side are compared request by request."""
    assert all(rule_allows(rule, request) for request in requests_of(rule))
    assert covers(others, rule) == all(rules_allow(others, request) for request in requests_of(rule))


@given(lists, lists)
def test_what_is_lacked_added_is_all(ours: list[PolicyRule], theirs: list[PolicyRule]) -> None:
    """A difference, then a union, is the union; what was taken away is not in the difference any more."""
    lacked = [part for rule in ours for part in subtract(rule, theirs)]
    assert allowed([*lacked, *theirs]) == allowed([*ours, *theirs])
    assert all(subtract(part, theirs) == merge([part]) for part in lacked)


@given(lists, rules)
def test_olm_takes_subresources_for_resources(granted: list[PolicyRule], wanted: PolicyRule) -> None:
    """R-PERM-3: `*/scale` is all that OLM's check and the API server disagree on."""
    # It asks for any name by a request without one (R-PERM-2).
    requests = [request._replace(name=request.name or "") for request in requests_of(wanted)]
    kubernetes = all(rules_allow(granted, request) for request in requests)
    plain = [rule._replace(resources=tuple(r for r in rule.resources if r != "*/scale")) for rule in granted]
    assert rule_satisfied(granted, wanted) <= kubernetes
    assert rule_satisfied(plain, wanted) == all(rules_allow(plain, request) for request in requests)
    if not any(resource.endswith("/scale") for resource in wanted.resources):
        assert rule_satisfied(granted, wanted) == kubernetes


@given(st.lists(written, max_size=3), st.lists(written, max_size=3))
def test_nobody_gives_away_what_he_lacks(granted: list[dict[str, Any]], given_away: list[dict[str, Any]]) -> None:
    """R-CAT-605: a role is refused for each request of it that the giver lacks, and for nothing else."""
    held = decode_rules(granted)
    lacked = {request for rule in decode_rules(given_away) for request in requests_of(rule)}
    lacked = {request for request in lacked if not rules_allow(held, request)}
    giver = Subject("User", "", "ada")

    def refusal(rules: tuple[PolicyRule, ...]) -> str:
        new = role("r", given_away)
        return escalation_refusal(Access({giver: rules}, {}), giver, new.identity, new.object, {})

    said = refusal(held)
    free = rules_allow(held, Request("escalate", RBAC, "clusterroles"))
    assert bool(said) == (bool(lacked) and not free)
    assert refusal((*held, *EVERYTHING)) == ""
    if not free:
        assert all(f'"{request.verb}"' in said and f'"{request.url or request.resource}"' in said for request in lacked)


def test_the_empty_name_is_one_among_others_where_rights_are_given_away() -> None:
    """Kubernetes compares the names of two rules: any name is more than "", and "" is no more than itself."""
    giver = Subject("User", "", "ada")
    reads = {"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"]}
    held = Access({giver: decode_rules([{**reads, "resourceNames": [""]}])}, {})
    for names, is_refused in (([], True), ([""], False), (["", "one"], True)):
        new = role("r", [{**reads, "resourceNames": names}])
        assert bool(escalation_refusal(held, giver, new.identity, new.object, {})) is is_refused
    anything, lists = decode_rule(reads), decode_rule({**reads, "resourceNames": [""]})
    assert (subtract(anything, [lists]), subtract(lists, [anything])) == ((anything,), ())


@given(lists)
def test_merging_changes_nothing(them: list[PolicyRule]) -> None:
    once = merge(them)
    assert allowed(once) == allowed(them)
    assert merge(once) == once
    assert merge(reversed(them)) == once
    assert len(once) <= len(set(them))


@given(rules, rules, st.sampled_from(["", "harbour", None]))
def test_more_permissions_are_never_safer(rule: PolicyRule, other: PolicyRule, namespace: str | None) -> None:
    if covers([other], rule):
        assert level_of(other, namespace) >= level_of(rule, namespace)
    assert level_of(rule, "") >= level_of(rule, namespace)


@given(rules, st.sampled_from(["", "harbour"]))
def test_the_gravest_risk_comes_first(rule: PolicyRule, namespace: str) -> None:
    found = risks_of(rule, namespace)
    assert len({risk.name for risk in found}) == len(found)
    assert {risk.name for risk in found} <= {risk.name for risk in RISKS}
    if found:
        first = found[0].namespaced if namespace else found[0].cluster
        assert first == level_of(rule, namespace)


def role(name: str, rules: list[Any], kind: str = "ClusterRole", **fields: Any) -> Rendered:
    labels = {f"to-{each}": "true" for each in fields.pop("to", ())}
    metadata = {"name": name, "labels": labels, **({"namespace": "harbour"} if kind == "Role" else {})}
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules, **fields}
    return Rendered(made, Provenance(None, "stock", ""))


def binding(name: str, ref: str, who: list[dict[str, str]], kind: str = "ClusterRoleBinding") -> Rendered:
    metadata = {"name": name, **({"namespace": "harbour"} if kind == "RoleBinding" else {})}
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "subjects": who}
    made["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": ref}
    return Rendered(made, Provenance(None, "stock", ""))


ROLES = ("a", "b", "c", "d")
WHO = {"kind": "User", "name": "ada"}
# Which roles are aggregated, each from the roles with a label; circles included.
graphs = st.dictionaries(st.sampled_from(ROLES), st.lists(st.sampled_from(ROLES), min_size=1, max_size=3))
labels = st.dictionaries(st.sampled_from(ROLES), st.sets(st.sampled_from(ROLES)))


def roles(own: dict[str, list[Any]], graph: dict[str, list[str]], to: dict[str, set[str]]) -> list[Rendered]:
    made = []
    for name in ROLES:
        selectors = [{"matchLabels": {f"to-{each}": "true"}} for each in graph.get(name, ())]
        fields: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": selectors}} if selectors else {}
        made.append(role(name, own.get(name, []), to=sorted(to.get(name, ())), **fields))
    return made


objects = st.builds(roles, st.dictionaries(st.sampled_from(ROLES), st.lists(written, max_size=2)), graphs, labels)


def told(made: Sequence[Rendered], name: str = "a") -> frozenset[Request]:
    given_to = permissions([*made, binding("all", name, [WHO])]).grants
    return allowed([grant.rule for grant in given_to])


def controlled(made: Sequence[Rendered]) -> dict[str, frozenset[Request]]:
    """What each role allows once the controller of aggregated roles has come to rest."""
    selected = {one.identity.name: wanted(one) for one in made if "aggregationRule" in one.object}
    labelled = {one.identity.name: set(one.object["metadata"]["labels"]) for one in made}
    own = {
        one.identity.name: [part for rule in one.object["rules"] for part in normalize(decode_rule(rule))]
        for one in made
    }
    known = {name: frozenset() if name in selected else allowed(rules) for name, rules in own.items()}
    while True:
        again = dict(known)
        for name, labels in selected.items():
            again[name] = frozenset().union(*(known[other] for other in known if labelled[other] & labels))
        if again == known:
            return known
        known = again


def wanted(aggregated: Rendered) -> set[str]:
    selectors = aggregated.object["aggregationRule"]["clusterRoleSelectors"]
    return {label for each in selectors for label in each["matchLabels"]}


@given(objects)
def test_an_aggregated_role_has_what_it_selects(made: list[Rendered]) -> None:
    """Its own rules are overwritten; what it selects may be aggregated in turn, in circles even."""
    for name, expected in controlled(made).items():
        assert told(made, name) == expected


def test_selectors_that_nobody_can_read_aggregate_nothing() -> None:
    """The role has the rules that are there, for whoever looks at it."""
    unreadable = {"clusterRoleSelectors": [7, {"matchExpressions": [{"key": "a", "operator": "Like"}]}]}
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    made = [role("r", [rule], aggregationRule=unreadable), binding("x", "r", [WHO])]
    (grant,) = permissions(made).grants
    held = access({each.identity: each for each in made}, aggregated=True).rules(None, grant.subject)
    assert held == (grant.rule,) == (decode_rule(rule),)


def test_cluster_admin_is_always_there() -> None:
    """R-PERM-5; an own role of that name comes first. Members of system:masters need no binding."""
    ada, master = Subject("User", "", "ada"), Subject("Group", "", "system:masters")
    bound = binding("x", "cluster-admin", [WHO])
    assert access({bound.identity: bound}).rules(None, ada) == EVERYTHING
    own = role("cluster-admin", [])
    assert access({each.identity: each for each in (bound, own)}).rules(None, ada) == ()
    assert access({}).rules("harbour", ada, master) == EVERYTHING


@given(objects, st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(made: list[Rendered], random: Any) -> None:
    everything = [*made, binding("x", "a", [WHO]), binding("y", "b", [WHO], "RoleBinding")]
    shuffled = list(everything)
    random.shuffle(shuffled)
    assert permissions(shuffled) == permissions(everything)


@given(objects, st.sampled_from(ROLES))
def test_a_binding_never_takes_away(made: list[Rendered], name: str) -> None:
    few = permissions([*made, binding("x", "a", [WHO])])
    more = permissions([*made, binding("x", "a", [WHO]), binding("y", name, [WHO])])
    assert set(few.grants) <= set(more.grants)
    assert few.gains == more.gains


def test_accounts_have_what_their_groups_have() -> None:
    account = {"kind": "ServiceAccount", "namespace": "harbour", "name": "beacon"}
    by_name = {"kind": "User", "name": "system:serviceaccount:harbour:beacon"}
    crowd = [{"kind": "Group", "name": f"system:{name}"} for name in ("serviceaccounts:harbour", "authenticated")]
    strangers = [{"kind": "Group", "name": "system:serviceaccounts:quay"}, {"kind": "User", "name": "beacon"}]
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}
    for who in (account, by_name, *crowd, *strangers):
        made = permissions([role("reader", [rule]), binding("x", "reader", [who])])
        beacon = with_groups(Subject("ServiceAccount", "harbour", "beacon"))
        found = [grant for grant in made.grants if grant.subject in beacon]
        assert bool(found) == (who not in strangers), who


def test_urls_need_the_whole_cluster() -> None:
    """A RoleBinding gives no URLs, whatever its role says; a subject without a namespace is in the binding's."""
    rule = {"verbs": ["get"], "nonResourceURLs": ["/metrics"]}
    who = [{"kind": "ServiceAccount", "name": "beacon"}]
    assert permissions([role("m", [rule]), binding("x", "m", who, "RoleBinding")]).grants == ()
    reader = role("m", [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}])
    (grant,) = permissions([reader, binding("x", "m", who, "RoleBinding")]).grants
    assert grant.subject == Subject("ServiceAccount", "harbour", "beacon")
    assert grant.namespace == "harbour"


def test_roles_that_every_cluster_has() -> None:
    """cluster-admin is everything; admin has what edit has, and edit what view has, and what bundles add."""
    added = role("kettles-view", [{"verbs": ["get"], "apiGroups": ["tea"], "resources": ["kettles"]}])
    added.object["metadata"]["labels"] = {f"{RBAC}/aggregate-to-view": "true"}
    made = permissions([added, binding("x", "cluster-admin", [WHO]), binding("y", "admin", [WHO], "RoleBinding")])
    everywhere = [grant.rule for grant in made.grants if grant.namespace == ""]
    assert allowed(everywhere) == frozenset(REQUESTS)
    here = [grant.rule for grant in made.grants if grant.namespace == "harbour"]
    for wanted in (
        PolicyRule(("create",), (RBAC,), ("roles",)),
        PolicyRule(("create",), ("",), ("pods/exec",)),
        PolicyRule(("get",), ("",), ("configmaps",)),
        PolicyRule(("get",), ("tea",), ("kettles",)),
    ):
        assert covers(here, wanted)
    assert not covers(here, PolicyRule(("get",), ("",), ("nodes",)))
    gained = {(grant.subject.name, grant.source.name) for grant in made.gains}
    assert gained == {(name, "kettles-view") for name in ("admin", "edit", "view")}


def test_bindings_to_roles_that_are_not_there() -> None:
    made = permissions([binding("x", "nobody", [WHO])])
    assert [(str(one), str(other)) for one, other in made.dangling] == [("ClusterRoleBinding/x", "ClusterRole/nobody")]


URL_RULES = st.fixed_dictionaries(
    {"verbs": some(VERBS), "nonResourceURLs": some((*URLS, "/logs/**", "**", f"/{'a' * 80}*", f"/{'a' * 90}"))}
).map(lambda rule: normalize(decode_rule(rule))[0])
SEVERAL = st.lists(rules | URL_RULES, max_size=8)


@given(SEVERAL, SEVERAL)
def test_an_index_gives_what_the_comparison_of_all_rules_gives(
    ours: list[PolicyRule], theirs: list[PolicyRule]
) -> None:
    index = RuleIndex.of(theirs)
    for rule in ours:
        assert index.subtract_from(rule) == subtract(rule, theirs)
        # What is no candidate takes nothing away.
        others = [other for other in theirs if other not in index.candidates(rule)]
        assert subtract(rule, others) == merge([rule])
