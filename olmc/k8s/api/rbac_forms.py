"""What gives rights without being called so: the RBAC of OpenShift's own API group, constraints that name who may use
them, and ClusterRoles that every cluster has bound to somebody.

OpenShift keeps the first as RBAC of Kubernetes
(https://github.com/openshift/openshift-apiserver/tree/master/pkg/authorization/apiserver/registry), admission reads the
second (https://github.com/openshift/apiserver-library-go/tree/master/pkg/securitycontextconstraints), and the last are
those of https://github.com/kubernetes/kubernetes/blob/master/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmc.k8s.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    Rendered,
    Subject,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    text,
    texts,
)

CONSTRAINT_ROLE = "system:openshift:scc:"
"""What the ClusterRoles begin with by which OpenShift lets accounts use security context constraints."""

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
    """Whom Kubernetes binds a ClusterRole of this name to whenever its API server starts, whatever the role allows."""
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
