"""Whose permissions are shown, by what people call them, and where in the input their rules stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.olm.facts import csv_by_label, has_copy_label, operator_accounts
from olmc.compiler.output.messages import not_found
from olmc.k8s.api.rbac import CONSTRAINT_ROLE, bound_by_default, decode_rules, normalize, rendered_forms
from olmc.k8s.api.rbac_access import Role, RoleBinding, Roles, collect_roles, decode_binding, decode_role, with_groups
from olmc.k8s.api.restmapper import has_no_resource, resources_outside_namespaces
from olmc.k8s.diagnostics import Location, Place
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    PolicyRule,
    Provenance,
    Rendered,
    Subject,
    object_key,
)
from olmc.k8s.yaml import located
from olmc.review.rbac.risks import Level, Risk, level_of, risks_of

# The roles that every cluster has without anybody writing them down.

USER_ROLES = ("admin", "edit", "view")
"""The roles that users of a namespace are given, the widest first."""

AGGREGATE_TO = f"{RBAC}/aggregate-to-"
"""The prefixes of the labels by which ClusterRoles become parts of these."""
_READ = "get list watch"
_WRITE = "create delete deletecollection patch update"

# name: to which roles it is aggregated, then its rules as verbs, API group ("core" for the first one), resources.
_ROLES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "cluster-admin": ("", (("*", "*", "*"),)),
    "system:auth-delegator": (
        "",
        (
            ("create", "authentication.k8s.io", "tokenreviews"),
            ("create", "authorization.k8s.io", "subjectaccessreviews"),
        ),
    ),
    "system:aggregate-to-admin": (
        "admin",
        (
            ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
            (f"{_READ} {_WRITE}", RBAC, "rolebindings roles"),
        ),
    ),
    "system:aggregate-to-edit": (
        "edit",
        (
            (_READ, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
            ("impersonate", "core", "serviceaccounts"),
            (_WRITE, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
            ("create", "core", "pods/eviction serviceaccounts/token"),
            (
                _WRITE,
                "core",
                "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets "
                "serviceaccounts services services/proxy",
            ),
            (
                _WRITE,
                "apps",
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
                "statefulsets statefulsets/scale",
            ),
            (_WRITE, "autoscaling", "horizontalpodautoscalers"),
            (_WRITE, "batch", "cronjobs jobs"),
            (_WRITE, "policy", "poddisruptionbudgets"),
            (_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
            (f"{_READ} {_WRITE}", "coordination.k8s.io", "leases"),
        ),
    ),
    "system:aggregate-to-view": (
        "view",
        (
            (
                _READ,
                "core",
                "bindings configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims "
                "persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers "
                "replicationcontrollers/scale replicationcontrollers/status resourcequotas resourcequotas/status "
                "serviceaccounts services services/status",
            ),
            (_READ, "discovery.k8s.io", "endpointslices"),
            (
                _READ,
                "apps",
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
                "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
            ),
            (_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
            (_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
            (_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
            (_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
        ),
    ),
    "aggregate-olm-edit": (
        "admin edit",
        (
            ("create delete patch update", OLM_GROUP, "subscriptions"),
            ("delete", OLM_GROUP, "catalogsources clusterserviceversions installplans"),
        ),
    ),
    "aggregate-olm-view": (
        "admin edit view",
        (
            (_READ, OLM_GROUP, "catalogsources clusterserviceversions installplans operatorgroups subscriptions"),
            (_READ, f"packages.{OLM_GROUP}", "packagemanifests packagemanifests/icon"),
        ),
    ),
}

# Each of them has what the next one has.
_AGGREGATED = {"admin": "", "edit": "admin", "view": "edit"}


@cache
def builtin_roles() -> dict[ObjectKey, Rendered]:
    """The roles by identity: complete objects, aggregated ones with their aggregationRule in place of rules."""
    roles = [_role(name, to.split(), rules) for name, (to, rules) in _ROLES.items()]
    roles += [_aggregated(name, to.split()) for name, to in _AGGREGATED.items()]
    roles.append(_READER)
    return {object_key(role): Rendered(role, Provenance(None, "kubernetes", "", Origin.KUBERNETES)) for role in roles}


@cache
def _decoded_builtin_roles() -> Mapping[ObjectKey, Role]:
    return {key: decode_role(role.object) for key, role in builtin_roles().items()}


def _metadata(name: str, to: list[str]) -> dict[str, object]:
    # The API server labels the roles that it makes itself; those of OLM come with its manifests.
    made = {} if name.startswith("aggregate-olm-") else {"kubernetes.io/bootstrapping": "rbac-defaults"}
    return {"name": name, "labels": {**made, **{f"{AGGREGATE_TO}{role}": "true" for role in to}}}


def _role(name: str, to: list[str], rules: tuple[tuple[str, str, str], ...]) -> KubernetesObject:
    listed: list[dict[str, list[str]]] = [
        {"verbs": verbs.split(), "apiGroups": ["" if group == "core" else group], "resources": resources.split()}
        for verbs, group, resources in rules
    ]
    if name == "cluster-admin":
        listed.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
    return {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": _metadata(name, to), "rules": listed}


def _aggregated(name: str, to: list[str]) -> KubernetesObject:
    selectors = [{"matchLabels": {f"{AGGREGATE_TO}{name}": "true"}}]
    return {
        "apiVersion": RBAC_V1,
        "kind": "ClusterRole",
        "metadata": _metadata(name, to),
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }


# The Role that lets API services know whom the API server has authenticated.
_READER: KubernetesObject = {
    "apiVersion": RBAC_V1,
    "kind": "Role",
    "metadata": {"name": "extension-apiserver-authentication-reader", "namespace": "kube-system"},
    "rules": [
        {
            "verbs": _READ.split(),
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["extension-apiserver-authentication"],
        }
    ],
}


def role_of_constraint(role: ObjectKey) -> Rendered:
    """The ClusterRole by which OpenShift lets accounts use a constraint."""
    name = role.name.removeprefix(CONSTRAINT_ROLE)
    resource = {"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"]}
    rules = [{"verbs": ["use"], **resource, "resourceNames": [name]}]
    obj = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": {"name": role.name}, "rules": rules}
    return Rendered(obj, Provenance(None, "kubernetes", "", Origin.KUBERNETES))


# Who has which permissions by the RBAC of a cluster, with the ClusterRoles that every cluster has.

DEFAULT_NAMESPACE = "default"
"""The namespace that kubectl uses for objects that name none."""


class Grant(NamedTuple):
    """A rule that holds for a subject, where, and why.

    `namespace`: where it holds, "" for the whole cluster, None for wherever `subject`, a role, is bound. `role` is what
    the binding names, `source` the role that has the rule: another one if `role` is aggregated. `binding` is None for a
    subject that is a role. The provenance is that of `source`, None for what every cluster has.
    """

    subject: Subject
    namespace: str | None
    rule: PolicyRule
    role: ObjectKey
    source: ObjectKey
    binding: ObjectKey | None
    source_provenance: Provenance | None


class SourceRule(NamedTuple):
    """A rule of a role, and the role that it stands in, with the provenance of that."""

    rule: PolicyRule
    source: ObjectKey
    provenance: Provenance | None


class RoleGrant(NamedTuple):
    """A role that a subject has in a scope, as in Grant, with all of its rules, sorted.

    Subjects with the same role share one tuple of rules, so olmc reads the thousands of rules of thousands of subjects
    only once.
    """

    subject: Subject
    namespace: str | None
    role: ObjectKey
    binding: ObjectKey | None
    rules: tuple[SourceRule, ...]

    def of(self, rule: SourceRule) -> Grant:
        """A grant by one of its rules."""
        return Grant(self.subject, self.namespace, rule.rule, self.role, rule.source, self.binding, rule.provenance)


class Permissions(NamedTuple):
    """All permissions among some objects.

    `bound`: the roles that bindings give to accounts, users and groups. `gained`: what aggregated roles, `admin`,
    `edit` and `view` among them, have beyond what Kubernetes and OLM put there. Both are sorted. `dangling`: bindings,
    each with the role that it names and that is not there.
    """

    bound: tuple[RoleGrant, ...]
    gained: tuple[RoleGrant, ...]
    dangling: tuple[tuple[ObjectKey, ObjectKey], ...]

    @property
    def grants(self) -> tuple[Grant, ...]:
        """Return the grants of bindings, rule by rule, which may be many."""
        return _grants(self.bound)

    @property
    def gains(self) -> tuple[Grant, ...]:
        """Return the grants of aggregated roles, rule by rule."""
        return _grants(self.gained)

    @property
    def distinct_rules(self) -> Iterator[PolicyRule]:
        """The rules of all roles, those of each once."""
        distinct = {id(role.rules): role.rules for role in (*self.bound, *self.gained)}
        return (each.rule for rules in distinct.values() for each in rules)


def _grants(roles: Iterable[RoleGrant]) -> tuple[Grant, ...]:
    return tuple(sorted({role.of(rule) for role in roles for rule in role.rules}, key=grant_order))


def permissions(objects: Iterable[Rendered]) -> Permissions:
    """The permissions that Roles, ClusterRoles and their bindings among `objects` give, sorted.

    Rules are taken as the API server applies them: URLs only from ClusterRoleBindings, aggregated roles with the rules
    of all roles that their selectors match (what they have themselves is overwritten), RoleBindings without resources
    outside of namespaces. Roles that every cluster has
    (`cluster-admin`, `admin` …) count unless the objects have their own, and so does that of OpenShift for the use of
    each of its constraints. Own ones in place of those that Kubernetes binds to somebody are bound.
    """
    bindings: list[RoleBinding] = []
    rendered = dict(builtin_roles())
    written = tuple(objects)
    crds = [each for each in written if each.identity.kind == CRD_KIND]
    for obj in (form for each in written for form in rendered_forms(each)):
        key = obj.identity
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            rendered[key] = obj
            if key.kind == "ClusterRole" and (subjects := bound_by_default(key.name)):
                bindings.append(RoleBinding(key._replace(kind="ClusterRoleBinding"), key, subjects))
        elif key.group == RBAC and key.kind in ("RoleBinding", "ClusterRoleBinding"):
            bindings.append(decode_binding(key, obj.object, namespace_of(key)))
    for binding in bindings:
        if binding.role.name.startswith(CONSTRAINT_ROLE) and binding.role not in rendered:
            rendered[binding.role] = role_of_constraint(binding.role)
    sources = _Sources.of(rendered, crds)
    grants: dict[tuple[Any, ...], RoleGrant] = {}
    dangling: set[tuple[ObjectKey, ObjectKey]] = set()
    for binding in bindings:
        role = _role_of(binding, rendered)
        if role in rendered:
            grants.update((_role_order(grant), grant) for grant in _granted(binding, role, sources))
        else:
            dangling.add((binding.identity, role))
    gained = sorted((gain for role in rendered for gain in _gained(role, sources)), key=_role_order)
    bound = (grant for _, grant in sorted(grants.items(), key=lambda item: item[0]))
    return Permissions(tuple(bound), tuple(gained), tuple(sorted(dangling)))


def _role_order(grant: RoleGrant) -> tuple[Any, ...]:
    return (grant.subject, grant.namespace or "", grant.role, grant.binding or ())


def grant_order(grant: Grant) -> tuple[Any, ...]:
    """A sort key of grants."""
    return (grant.subject, grant.namespace or "", grant.rule, grant.role, grant.source, grant.binding or ())


def namespace_of(binding: ObjectKey) -> str:
    """Return where a binding counts: "" for one of the whole cluster; one that should name a namespace counts in
    `default`."""
    return "" if binding.kind == "ClusterRoleBinding" else binding.namespace or DEFAULT_NAMESPACE


def _role_of(binding: RoleBinding, roles: Mapping[ObjectKey, Rendered]) -> ObjectKey:
    """The role that a binding names; of a binding without a namespace, a Role without one or in `default`."""
    role = binding.role
    # kubectl puts what names no namespace into `default`, whichever of the two it was left out of.
    there = role._replace(namespace=namespace_of(binding.identity))
    return there if role.kind == "Role" and role not in roles and there in roles else role


class _Sources(NamedTuple):
    """The roles, and what they consist of.

    `rules` gives the rules that a role has, by itself or by aggregation: all, or those about resources; `news` those of
    an aggregated role that not every cluster has.
    """

    roles: Roles
    rules: Callable[[ObjectKey, bool], tuple[SourceRule, ...]]
    news: Callable[[ObjectKey], tuple[SourceRule, ...]]

    @staticmethod
    def of(rendered: Mapping[ObjectKey, Rendered], crds: Sequence[Rendered]) -> _Sources:
        builtin = builtin_roles()
        own = ((key, role.object) for key, role in rendered.items() if role is not builtin.get(key))
        roles = collect_roles(own, _decoded_builtin_roles())
        # Copies of a role have the same tuple of rules.
        normalized = cache(
            lambda known: tuple(dict.fromkeys(part for rule in distinct[known] for part in normalize(rule)))
        )
        distinct = {id(role.rules): role.rules for role in roles.by_identity.values()}

        def is_builtin(found: tuple[ObjectKey, ...]) -> bool:
            return all(rendered[source] is builtin.get(source) for source in found)

        @cache
        def behind(found: tuple[ObjectKey, ...]) -> tuple[SourceRule, ...]:
            if is_builtin(found):
                return _behind_builtin(found)
            rules = (
                SourceRule(rule, source, _provenance(rendered[source]))
                for source in found
                for rule in normalized(id(roles.by_identity[source].rules))
            )
            return tuple(sorted(rules, key=lambda each: (each.rule, each.source)))

        outside = cache(lambda: resources_outside_namespaces(crd.object for crd in crds))

        @cache
        def kept(found: tuple[ObjectKey, ...], what: str) -> tuple[SourceRule, ...]:
            if what == "resources":
                if not crds and is_builtin(found):
                    return _inside_builtin(found)
                return _inside(behind(found), outside())
            # What every cluster's `admin` may do is no news; what an operator adds to it is.
            return behind(tuple(source for source in found if _provenance(rendered[source]) is not None))

        def rules_of(role: ObjectKey, everywhere: bool) -> tuple[SourceRule, ...]:
            found = roles.sources(role)
            return behind(found) if everywhere else kept(found, "resources")

        return _Sources(roles, rules_of, lambda role: kept(roles.sources(role), "news"))


@cache
def _behind_builtin(found: tuple[ObjectKey, ...]) -> tuple[SourceRule, ...]:
    """List the rules of roles that every cluster has: the same in each of thousands of comparisons."""
    roles = _decoded_builtin_roles()
    rules = (
        SourceRule(rule, source, None)
        for source in found
        for rule in dict.fromkeys(part for rule in roles[source].rules for part in normalize(rule))
    )
    return tuple(sorted(rules, key=lambda each: (each.rule, each.source)))


@cache
def _inside_builtin(found: tuple[ObjectKey, ...]) -> tuple[SourceRule, ...]:
    return _inside(_behind_builtin(found), resources_outside_namespaces(()))


def _inside(rules: Iterable[SourceRule], outside: frozenset[tuple[str, str]]) -> tuple[SourceRule, ...]:
    """Keep what rules give where a RoleBinding gives them."""
    narrowed = (each._replace(rule=_in_namespaces(each.rule, outside)) for each in rules)
    return tuple(each for each in narrowed if each.rule.resources)


def _in_namespaces(rule: PolicyRule, outside: frozenset[tuple[str, str]]) -> PolicyRule:
    """The part of a rule that holds where a RoleBinding gives it: without URLs and resources outside of namespaces. Of
    several groups those count that may have such a resource: a built-in group has no other ones than are known."""

    def is_inside(resource: str) -> bool:
        plural = resource.partition("/")[0]
        elsewhere = any((group, plural) in outside for group in rule.groups)
        return any(
            (group, plural) not in outside and not (elsewhere and has_no_resource(group, plural))
            for group in rule.groups
        )

    return rule._replace(resources=() if rule.urls else tuple(filter(is_inside, rule.resources)))


def _provenance(role: Rendered) -> Provenance | None:
    """Return where a role comes from, None for what every cluster has."""
    return None if role.provenance.origin is Origin.KUBERNETES else role.provenance


def _granted(binding: RoleBinding, role: ObjectKey, sources: _Sources) -> Iterator[RoleGrant]:
    namespace = namespace_of(binding.identity)
    # A RoleBinding gives neither URLs nor nodes: they are in no namespace.
    rules = sources.rules(role, not namespace)
    for subject in binding.subjects if rules else ():
        yield RoleGrant(subject, namespace, role, binding.identity, rules)


def _gained(role: ObjectKey, sources: _Sources) -> Iterator[RoleGrant]:
    """Return the rules of an aggregated role beyond those of every cluster."""
    if sources.roles.by_identity[role].selectors:
        rules = sources.news(role)
        if rules:
            yield RoleGrant(Subject("ClusterRole", "", role.name), None, role, None, rules)


_AS_WRITTEN = (Origin.MANIFEST, Origin.BUNDLE, Origin.BUNDLE_UPDATE, Origin.STRATEGY)


def finder(objects: Iterable[Rendered], cluster: Cluster) -> Callable[[Grant], Location | None]:
    """A function that gives the place of the rule of a grant, read when it is asked for."""
    from olmc.review.explain.provenance import place_finder  # with the resolver, which comparisons do not need

    by_identity = {form.identity: form for rendered in objects for form in (rendered, *rendered_forms(rendered))}
    place_of = place_finder(cluster)

    # A role may have thousands of rules, so it is looked at once, and each place once.
    @cache
    def rules_of(source: ObjectKey) -> _RulePlaces:
        return _rule_places(by_identity[source], place_of(by_identity[source]))

    @cache
    def place_at(source: ObjectKey, index: int | None) -> Location | None:
        place = rules_of(source).role
        return located(place if place is None or index is None else place._replace(keys=(*place.keys, "rules", index)))

    def find(grant: Grant) -> Location | None:
        if grant.source not in by_identity:
            return None
        return place_at(grant.source, rules_of(grant.source).indices.get(grant.rule))

    return find


class _RulePlaces(NamedTuple):
    """The place of a role, and which of its rules a normalized one stems from; none where its rules stand nowhere."""

    role: Place | None
    indices: Mapping[PolicyRule, int]


def _rule_places(role: Rendered, place: Place | None) -> _RulePlaces:
    # A rule that OLM makes has no place in the input; the place is that of its origin.
    if place is None or not (
        place.keys or (role.provenance.origin in _AS_WRITTEN and csv_by_label(role.object) is None)
    ):
        return _RulePlaces(place, {})
    indices: dict[PolicyRule, int] = {}
    for index, written in enumerate(decode_rules(role.object.get("rules"))):
        for rule in normalize(written):
            indices.setdefault(rule, index)
    return _RulePlaces(place, indices)


MOST_VALUES, _FRAME = 150_000, 10
"""Permissions with so many values, and grants of them, are written down at once, where each counts for some more."""


class Permission(NamedTuple):
    """A rule that somebody has, the namespaces where it holds ("" for the whole cluster, None for where a role is
    bound), its risks there, and the grants that give it."""

    rule: PolicyRule
    namespaces: tuple[str | None, ...]
    level: Level
    risks: tuple[Risk, ...]
    grants: tuple[Grant, ...]


class PermissionHolder(NamedTuple):
    """A subject with its roles and those of its groups, and the operators that run under it.

    `level` is the level of the worst of its permissions.
    """

    subject: Subject
    operators: tuple[NamespacedName, ...]
    level: Level
    roles: tuple[RoleGrant, ...]

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Its permissions, dangerous ones first; to be asked for once."""
        by_rule: dict[PolicyRule, list[Grant]] = defaultdict(list)
        for role in self.roles:
            for each in role.rules:
                by_rule[each.rule].append(role.of(each))
        own = [_permission(rule, same) for rule, same in by_rule.items()]
        return tuple(sorted(own, key=lambda item: (-item.level, [risk.name for risk in item.risks], item.rule)))


class ShownPermissions(NamedTuple):
    """A holder, and so much of its permissions as is written down; `more` rules of its roles are left out."""

    holder: PermissionHolder
    permissions: tuple[Permission, ...]
    more: int


def first_permissions(everybody: Iterable[PermissionHolder], most: int = MOST_VALUES) -> Iterator[ShownPermissions]:
    """The permissions of holders in their order, the dangerous ones of each first, as long as they have no more than
    `most` values altogether.

    Who has what is a product, of which a small input may have millions.
    """
    left = most
    for holder in everybody:
        permissions = holder.permissions if left > 0 else ()
        shown: list[Permission] = []
        for permission in permissions:
            if left > 0:
                left -= _FRAME + sum(map(len, (*permission.rule, permission.grants)))
                shown.append(permission)
        more = len(permissions) - len(shown) if permissions else sum(len(role.rules) for role in holder.roles)
        yield ShownPermissions(holder, tuple(shown), more)


def holders(permissions: Permissions, objects: Iterable[Rendered]) -> tuple[PermissionHolder, ...]:
    """Everybody who has permissions by a binding, and the accounts of all operators; the most dangerous first."""
    by_subject = _by_subject(permissions.bound)
    running, level = _operators(objects), _leveller()
    everybody = []
    for subject in {*by_subject, *running}:
        # Who is in a group has what the group has, named or not.
        roles = tuple(role for member in with_groups(subject) for role in by_subject.get(member, ()))
        everybody.append(PermissionHolder(subject, tuple(running.get(subject, ())), level(roles), roles))
    return tuple(sorted(everybody, key=lambda holder: (-holder.level, holder.subject)))


def gainers(permissions: Permissions) -> tuple[PermissionHolder, ...]:
    """Return the permissions that bindings to aggregated roles gain: admin, edit, view, then the roles of
    OperatorGroups."""
    level = _leveller()
    by_subject = _by_subject(permissions.gained)
    gaining = (PermissionHolder(subject, (), level(roles), tuple(roles)) for subject, roles in by_subject.items())
    return tuple(sorted(gaining, key=lambda holder: (_rank(holder.subject.name), holder.subject)))


def _by_subject(roles: Iterable[RoleGrant]) -> dict[Subject, list[RoleGrant]]:
    by_subject: dict[Subject, list[RoleGrant]] = defaultdict(list)
    for role in roles:
        by_subject[role.subject].append(role)
    return by_subject


def _leveller() -> Callable[[Iterable[RoleGrant]], Level]:
    """A function that gives the level of the worst permission by some roles; each role is looked at once."""
    known: dict[tuple[int, bool], tuple[tuple[SourceRule, ...], Level]] = {}

    def of_role(role: RoleGrant) -> Level:
        # In the whole cluster a rule is as dangerous as in a namespace, or more so, and in all namespaces alike.
        key = id(role.rules), role.namespace == ""
        if key not in known:
            level = max((level_of(each.rule, role.namespace) for each in role.rules), default=Level.NONE)
            known[key] = role.rules, level
        return known[key][1]

    return lambda roles: max(map(of_role, roles), default=Level.NONE)


def is_user_role(holder: PermissionHolder) -> bool:
    """Return whether a gainer is one of the roles that every cluster has for users."""
    return holder.subject.name in USER_ROLES


def select_holders(everybody: Sequence[PermissionHolder], text: str) -> tuple[PermissionHolder, ...]:
    """The holders that a text means: `name`, `namespace/name`, `Kind/namespace/name`, or a CSV; QueryError for none."""
    selected = tuple(holder for holder in everybody if text in _names(holder))
    if not selected:
        shortest = {min(_names(holder), key=lambda name: (len(name), name)) for holder in everybody}
        others = {name for holder in everybody for name in _names(holder)}
        raise not_found(f"There is no subject {text}", text, sorted(shortest), sorted(others))
    return selected


def _names(holder: PermissionHolder) -> set[str]:
    kind, namespace, name = holder.subject
    names = {name, f"{namespace}/{name}", str(holder.subject), str(holder.subject).replace(kind, kind.lower(), 1)}
    if kind == ACCOUNT:
        names |= {f"sa/{namespace}/{name}", holder.subject.user_name}
    return names | {operator.name for operator in holder.operators} | set(map(str, holder.operators))


def of_unknown_roles(
    everybody: Iterable[PermissionHolder], permissions: Permissions, objects: Iterable[Rendered]
) -> Iterator[tuple[Subject, ObjectKey]]:
    """The accounts that operators run under and that are bound to roles which are not there, with the roles: what they
    may do by them, only the cluster knows."""
    accounts = {holder.subject for holder in everybody if holder.operators}
    named = dict(permissions.dangling)
    for rendered in (form for each in objects if named for form in rendered_forms(each)):
        role = named.get(rendered.identity)
        if role is not None:
            binding = decode_binding(rendered.identity, rendered.object, namespace_of(rendered.identity))
            yield from ((subject, role) for subject in binding.subjects if subject in accounts)


def _rank(name: str) -> int:
    return USER_ROLES.index(name) if name in USER_ROLES else len(USER_ROLES)


def _permission(rule: PolicyRule, grants: Sequence[Grant]) -> Permission:
    namespaces = sorted({grant.namespace for grant in grants}, key=lambda name: (name is not None, name or ""))
    # What holds in the whole cluster holds in each namespace.
    if "" in namespaces:
        namespaces = [""]
    risks = risks_of(rule, namespaces[0])
    level = risks[0].level(namespaces[0]) if risks else Level.NONE
    return Permission(rule, tuple(namespaces), level, risks, tuple(grants))


def _operators(objects: Iterable[Rendered]) -> dict[Subject, tuple[NamespacedName, ...]]:
    """The operators of each ServiceAccount: CSVs that are no copies, by the accounts of their install strategy."""
    by_account: dict[Subject, set[NamespacedName]] = defaultdict(set)
    for rendered in objects:
        key = rendered.identity
        # OLM leaves alone what only an annotation makes a copy, but its InstallPlan has granted the permissions.
        if key.kind == CSV_KIND and not has_copy_label(rendered.object):
            for account in operator_accounts(Csv(rendered.object)):
                by_account[Subject(ACCOUNT, key.namespace, account)].add(NamespacedName(key.namespace, key.name))
    return {subject: tuple(sorted(names)) for subject, names in by_account.items()}
