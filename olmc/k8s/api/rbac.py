"""RBAC policy rules: what they allow, and what one allows that others do not.

A rule is a box: each of its verbs, on each of its resources, in each of its API groups, under each of its names. So two
rules are compared side by side, never by writing out every combination, of which an untrusted rule may have billions.
Matching follows
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/rbac/v1/evaluation_helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Any

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    ANY,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    text,
    texts,
)

EVERYTHING = (PolicyRule((ANY,), (ANY,), (ANY,)), PolicyRule((ANY,), urls=(ANY,)))
"""The rules of cluster-admin."""


_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def decode_rule(value: Any) -> PolicyRule:
    """Decode a rule of a Role or a CSV in its order. It leaves out values that are not texts, as they allow nothing."""
    # Every role is decoded, and most rules have three of these fields.
    return PolicyRule(*[tuple(texts(listed)) if listed else () for listed in map(mapping(value).get, _FIELDS)])


def decode_rules(listed: Any) -> tuple[PolicyRule, ...]:
    """The rules in the `rules` of a Role, a ClusterRole, or an entry of a CSV's permissions."""
    return tuple(decode_rule(item) for item in mappings(listed))


def rules_decoder() -> Callable[[Any], tuple[PolicyRule, ...]]:
    """`decode_rules` for many roles: of those that have the very same list, as copies of one do, the first is decoded.

    What it gives for them is the same object as well, by which others see that they are alike.
    """
    known: dict[int, tuple[Any, tuple[PolicyRule, ...]]] = {}

    def decoded(listed: Any) -> tuple[PolicyRule, ...]:
        if id(listed) not in known:  # which is kept: once it were gone, another list might have its id
            known[id(listed)] = listed, decode_rules(listed)
        return known[id(listed)][1]

    return decoded


def value_matches(values: Collection[str], wanted: str) -> bool:
    """Return whether a list of verbs or API groups includes a value. A wanted `*` is included by `*` only
    (R-PERM-3)."""
    return wanted in values or ANY in values


def resource_matches(resources: Collection[str], wanted: str) -> bool:
    """Return whether a list of resources includes one: itself, `*`, or `*/scale` for `deployments/scale`."""
    subresource = wanted.partition("/")[2]
    return value_matches(resources, wanted) or (bool(subresource) and f"{ANY}/{subresource}" in resources)


NAMELESS_VERBS = ("create", "deletecollection", "list", "watch")
"""The verbs of requests without a name, unless they are about a subresource: `create` of `pods/exec` has one."""


def name_matches(names: Collection[str], wanted: str | None) -> bool:
    """Return whether a list of resourceNames includes a name, "" for a request without one, None for any; no list
    includes every name."""
    # What is listed, or about to be created, has the name "" for Kubernetes, so a list with "" does include it.
    return not names or wanted in names


def url_matches(urls: Collection[str], wanted: str) -> bool:
    """Return whether a list of nonResourceURLs includes one: itself, or what it begins with before a trailing `*`."""
    # Kubernetes trims all stars at the end, so `/metrics**` is `/metrics*`.
    return any(url == wanted or (url.endswith(ANY) and wanted.startswith(url.rstrip(ANY))) for url in urls)


def rule_allows(rule: PolicyRule, request: Request) -> bool:
    """Return whether the API server grants a request because of a rule.

    A request without a name is granted by rules without names, or with "" among them; `*` as a verb, group or resource
    is a request for all of them.
    """
    if not value_matches(rule.verbs, request.verb):
        return False
    if request.url:
        return url_matches(rule.urls, request.url)
    return (
        value_matches(rule.groups, request.group)
        and resource_matches(rule.resources, request.resource)
        and name_matches(rule.names, request.name)
    )


def rules_allow(rules: Iterable[PolicyRule], request: Request) -> bool:
    """Return whether the API server grants a request because of any of the rules."""
    return any(rule_allows(rule, request) for rule in rules)


def requests_of(rule: PolicyRule) -> Iterator[Request]:
    """A rule taken apart: one verb on one resource, of one name or (None) of any, or on one URL, at a time."""
    for group, resource, verb, name in product(rule.groups, rule.resources, rule.verbs, rule.names or (None,)):
        yield Request(verb, group, resource, name)
    for url, verb in product(rule.urls, rule.verbs):
        yield Request(verb, url=url)


_Matcher = Callable[[Collection[str], Any], bool]
_RESOURCE_MATCHERS: tuple[tuple[str, _Matcher], ...] = (
    ("verbs", value_matches),
    ("groups", value_matches),
    ("resources", resource_matches),
    ("names", name_matches),
)
_URL_MATCHERS: tuple[tuple[str, _Matcher], ...] = (("verbs", value_matches), ("urls", url_matches))
# OLM's check asks for `pods/log` as for a resource of that name, without saying that `log` is a subresource; so the API
# server's own matcher, which OLM calls, never gets to compare it with `*/log` (R-PERM-3).
_OLM_RESOURCE_MATCHERS = (*_RESOURCE_MATCHERS[:2], ("resources", value_matches), *_RESOURCE_MATCHERS[3:])


def rule_satisfied(granted: Sequence[PolicyRule], wanted: PolicyRule) -> bool:
    """Return whether OLM finds that every request that `wanted` stands for is allowed by some granted rule (R-PERM-2).

    It differs from the API server in one thing: `*/log` does not include `pods/log` (R-PERM-3). Of each list only
    matters which rules match a value; so the product is taken of those sets, each once.
    """
    # What is granted word for word needs no product. Where something is empty there is nothing that could be matched.
    is_whole = wanted.verbs and wanted.groups and wanted.resources and not wanted.urls
    if is_whole and wanted in granted:
        return True
    sets = {frozenset(range(len(granted)))}
    for field, matches in _URL_MATCHERS if wanted.urls else _OLM_RESOURCE_MATCHERS:
        # An empty list counts as one empty text (R-PERM-2), the name of a request without one.
        values = dict.fromkeys(getattr(wanted, field) or ("",))
        matching = {
            frozenset(i for i, rule in enumerate(granted) if matches(getattr(rule, field), value)) for value in values
        }
        sets = {indices & others for indices in sets for others in matching}
        # Some combination of values has no rule left that could allow it.
        if frozenset() in sets:
            return False
    return True


def normalize(rule: PolicyRule) -> tuple[PolicyRule, ...]:
    """Split a rule into rules about resources and rules about URLs. Sort each list and remove duplicates and values
    that `*` includes. A rule that allows nothing, or is invalid, gives ()."""
    verbs, groups, resources, urls = map(_values, (rule.verbs, rule.groups, rule.resources, rule.urls))
    parts = []
    if verbs and groups and resources:
        parts.append(PolicyRule(verbs, groups, resources, tuple(sorted(set(rule.names)))))
    if verbs and urls:
        parts.append(PolicyRule(verbs, urls=urls))
    return tuple(parts)


def _values(values: Iterable[str]) -> tuple[str, ...]:
    distinct = set(values)
    return (ANY,) if ANY in distinct else tuple(sorted(distinct))


def subtract(rule: PolicyRule, others: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """The part of a normalized rule that none of the others allows, as rules that do not overlap; () when they cover
    it."""
    left: tuple[PolicyRule, ...] = (rule,)
    for other in others:
        left = tuple(part for remainder in left for part in _without(remainder, other))
        if not left:
            break
    return merge(left)


def _without(rule: PolicyRule, other: PolicyRule) -> tuple[PolicyRule, ...]:
    """A rule less another: field by field, what the other lacks there; what it has goes on to the next field."""
    # A request is about a resource or about a URL, so rules of the two sorts never overlap.
    if bool(rule.urls) != bool(other.urls):
        return (rule,)
    parts, rest = [], rule
    for field, matches in _URL_MATCHERS if rule.urls else _RESOURCE_MATCHERS:
        # Without names it is about all of them, which no list has.
        values: tuple[Any, ...] = getattr(rest, field) or ((None,) if field == "names" else ("",))
        # Sets, as a list of untrusted input may have thousands of values.
        granted = frozenset(getattr(other, field))
        shared = dict.fromkeys(value for value in values if matches(granted, value))
        if not shared:
            return (rule,)
        lacking = tuple(value for value in values if value not in shared)
        if lacking:
            parts.append(rest._replace(**{field: lacking}))
            rest = rest._replace(**{field: tuple(shared)})
    return tuple(parts)


class RuleIndex(NamedTuple):
    """Rules in their order, and by field and value which of them have it, so that of thousands only those few are
    compared with a rule that have something in common with it.

    `positions` are those in `rules`. What a value matches by is a key: `*` of a verb, `*/scale` of a resource, "" of
    names where none are listed, `/metrics*` of a URL.
    """

    rules: list[PolicyRule]
    positions: dict[tuple[str, str], list[int]]

    @staticmethod
    def of(rules: Iterable[PolicyRule]) -> RuleIndex:
        """The index of some rules."""
        index = RuleIndex([], {})
        index.add(rules)
        return index

    def add(self, rules: Iterable[PolicyRule]) -> None:
        """Put further rules behind those that are there."""
        for rule in rules:
            for field, _ in (*_RESOURCE_MATCHERS, *_URL_MATCHERS[1:]):
                for key in dict.fromkeys(map(_own_key, getattr(rule, field) or _UNLISTED[field])):
                    self.positions.setdefault((field, key), []).append(len(self.rules))
            self.rules.append(rule)

    def candidates(self, rule: PolicyRule) -> list[PolicyRule]:
        """The rules that may allow a part of a normalized rule, in their order: no other one does."""
        # Every field has to match, so those that match in one field are enough: the one in which they are the fewest.
        of_fields = (self._matching(field, rule) for field, _ in (_URL_MATCHERS if rule.urls else _RESOURCE_MATCHERS))
        fewest = min(of_fields, key=lambda lists: sum(map(len, lists)))
        return [self.rules[position] for position in sorted(set(chain.from_iterable(fewest)))]

    def subtract_from(self, rule: PolicyRule) -> tuple[PolicyRule, ...]:
        """As `subtract` with the rules of the index."""
        return subtract(rule, self.candidates(rule))

    def _matching(self, field: str, rule: PolicyRule) -> list[list[int]]:
        keys = dict.fromkeys(key for value in getattr(rule, field) or ("",) for key in _matching_keys(field, value))
        return [self.positions[field, key] for key in keys if (field, key) in self.positions]


_UNLISTED: dict[str, tuple[str, ...]] = {"verbs": (), "groups": (), "resources": (), "names": ("",), "urls": ()}
"""The key of a rule that lists nothing in a field: without names it is about all of them."""


_KEY_LENGTH = 64
"""Of what a URL begins with so much is a key: one of untrusted input may be long, and has as many beginnings."""


def _own_key(value: str) -> str:
    """Return the key of a value of a rule in an index: all stars at the end of a URL are one, and so are those of other
    values."""
    return f"{value.rstrip(ANY)[:_KEY_LENGTH]}{ANY}" if value.endswith(ANY) else value


def _matching_keys(field: str, wanted: str) -> Iterator[str]:
    """The keys of all values that include a wanted one in this field, by the functions `..._matches`."""
    yield _own_key(wanted)
    if field == "names":
        yield ""
    elif field == "urls":
        yield from (f"{wanted[:length]}{ANY}" for length in range(min(len(wanted), _KEY_LENGTH) + 1))
    else:
        yield ANY
        yield f"{ANY}/{wanted.partition('/')[2]}"


def merge(rules: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """Rules that allow the same, sorted; those that differ in one field only have become one."""
    remaining = tuple(dict.fromkeys(rules))
    while True:
        before = len(remaining)
        # Rules that became one by their verbs may now be alike but for their groups, hence the rounds.
        for field in PolicyRule._fields:
            remaining = _join(remaining, field)
        if len(remaining) == before:
            return tuple(sorted(remaining))


def _join(rules: Iterable[PolicyRule], field: str) -> tuple[PolicyRule, ...]:
    """Rules that differ in this field only as one; that no names are given means any name."""
    by_rest: dict[PolicyRule, list[tuple[str, ...]]] = {}
    for rule in rules:
        by_rest.setdefault(rule._replace(**{field: ()}), []).append(getattr(rule, field))
    joined = []
    for rest, lists in by_rest.items():
        values = () if field == "names" and () in lists else {value for values in lists for value in values}
        joined.append(rest._replace(**{field: tuple(sorted(values)) if field == "names" else _values(values)}))
    return tuple(joined)


# What gives rights without being called so: the RBAC of OpenShift's own API group, constraints that name who may use
# them, and ClusterRoles that every cluster has bound to somebody. OpenShift keeps the first as RBAC of Kubernetes
# (https://github.com/openshift/openshift-apiserver/tree/master/pkg/authorization/apiserver/registry), admission reads
# the second (https://github.com/openshift/apiserver-library-go/tree/master/pkg/securitycontextconstraints), and the
# last are those of
# https://github.com/kubernetes/kubernetes/blob/master/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.

CONSTRAINT_ROLE = "system:openshift:scc:"
"""The prefix of the ClusterRoles by which OpenShift lets accounts use security context constraints."""

_OPENSHIFT, _SECURITY = "authorization.openshift.io", "security.openshift.io"
_ROLES, _BINDINGS = ("ClusterRole", "Role"), ("ClusterRoleBinding", "RoleBinding")
_SUBJECT_KINDS = {ACCOUNT: ACCOUNT, "User": "User", "SystemUser": "User", "Group": "Group", "SystemGroup": "Group"}
_AUTHENTICATED = Subject("Group", "", "system:authenticated")
_BOUND = {
    "system:basic-user": (_AUTHENTICATED,),
    "system:discovery": (_AUTHENTICATED,),
    "system:public-info-viewer": (_AUTHENTICATED, Subject("Group", "", "system:unauthenticated")),
    "system:service-account-issuer-discovery": (Subject("Group", "", "system:serviceaccounts"),),
    "system:monitoring": (Subject("Group", "", "system:monitoring"),),
    "system:node-proxier": (Subject("User", "", "system:kube-proxy"),),
    "system:kube-controller-manager": (Subject("User", "", "system:kube-controller-manager"),),
    "system:kube-scheduler": (Subject("User", "", "system:kube-scheduler"),),
    "system:volume-scheduler": (Subject("User", "", "system:kube-scheduler"),),
    "system:kube-dns": (Subject(ACCOUNT, "kube-system", "kube-dns"),),
}
_CONTROLLER = "system:controller:"


def bound_by_default(cluster_role: str) -> tuple[Subject, ...]:
    """Return the subjects that Kubernetes binds to a ClusterRole of this name whenever its API server starts."""
    if cluster_role.startswith(_CONTROLLER):
        return (Subject(ACCOUNT, "kube-system", cluster_role.removeprefix(_CONTROLLER)),)
    return _BOUND.get(cluster_role, ())


def rbac_forms(obj: KubernetesObject) -> Iterator[KubernetesObject]:
    """An object as the roles and bindings of Kubernetes that give the same; nothing for what gives no rights."""
    key = object_key(obj)
    if key.group == RBAC:
        yield obj
    elif key.group == _OPENSHIFT and key.kind in _ROLES:
        rules = ({**rule, "apiGroups": [*texts(rule.get("apiGroups"))] or [""]} for rule in mappings(obj.get("rules")))
        yield {**obj, "apiVersion": RBAC_V1, "rules": [*rules]}
    elif key.group == _OPENSHIFT and key.kind in _BINDINGS:
        ref = mapping(obj.get("roleRef"))
        # It names no kind: a role with a namespace is in it, and one without is that of the cluster.
        role = {"apiGroup": RBAC, "kind": "Role" if ref.get("namespace") else "ClusterRole", "name": ref.get("name")}
        named = (*_subjects(obj), *_named(obj, "userNames", "groupNames"))
        yield {**obj, "apiVersion": RBAC_V1, "roleRef": role, "subjects": [*named]}
    elif key.group == _SECURITY and key.kind == "SecurityContextConstraints":
        yield from _of_constraint(obj)


def rendered_forms(rendered: Rendered) -> Iterator[Rendered]:
    """As `rbac_forms`, each with where it comes from."""
    if rendered.identity.group == RBAC:
        yield rendered
        return
    yield from (rendered._replace(object=form) for form in rbac_forms(rendered.object))


def _of_constraint(constraint: KubernetesObject) -> Iterator[KubernetesObject]:
    """The binding that the users and groups of a constraint come to: they may use it in the whole cluster."""
    named = [*_named(constraint, "users", "groups")]
    if named:
        name = f"{CONSTRAINT_ROLE}{name_of(constraint)}"
        ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
        head = {
            "apiVersion": RBAC_V1,
            "kind": "ClusterRoleBinding",
            "metadata": {**metadata_of(constraint), "name": name},
        }
        yield {**head, "roleRef": ref, "subjects": named}


def _subjects(binding: KubernetesObject) -> Iterator[dict[str, str]]:
    for subject in mappings(binding.get("subjects")):
        kind = _SUBJECT_KINDS.get(text(subject.get("kind")))
        if kind is not None:
            namespace = {"namespace": text(subject.get("namespace"))} if subject.get("namespace") else {}
            yield {"kind": kind, "name": text(subject.get("name")), **namespace}


def _named(obj: KubernetesObject, users: str, groups: str) -> Iterator[dict[str, str]]:
    for kind, field in (("User", users), ("Group", groups)):
        yield from ({"kind": kind, "name": name} for name in texts(obj.get(field)))
