"""The API server's answers to the requests of a controller: rights, namespaces, escalation, validation (R-V1-SRV-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.compiler.olm.naming import CORE_KINDS, TYPED_KINDS
from olmc.k8s.api.rbac import rules_allow
from olmc.k8s.api.rbac_access import Access, access, collect_roles, decode_binding, escalation_refusal, with_groups
from olmc.k8s.api.restmapper import RestMapper
from olmc.k8s.api.validation import crds, objects, workloads
from olmc.k8s.api.validation.field import Path, aggregated
from olmc.k8s.api.validation.webhooks import webhook_errors
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    CRD_V1,
    RBAC,
    KubernetesObject,
    ObjectKey,
    Provenance,
    Rendered,
    Request,
    Subject,
    as_text,
    mapping,
    mappings,
    metadata_of,
    name_of,
    object_key,
    spec_of,
    text,
)
from olmc.k8s.strconv import quoted

_ALWAYS_THERE = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_BUILTIN_ROLES = frozenset({"admin", "edit", "view"})
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


class ApiServer(NamedTuple):
    """A cluster as a controller meets it: its objects by what identifies them, the kinds, and in whose name requests
    are made; `account` None stands for somebody who may do everything."""

    objects: Mapping[ObjectKey, KubernetesObject]
    mapper: RestMapper
    account: Subject | None
    access: Access
    groups: tuple[str, ...] = ()
    lacking_roles: tuple[ObjectKey, ...] = ()

    def with_objects(self, made: Iterable[KubernetesObject]) -> ApiServer:
        """The cluster with more objects, or with others in the place of those of the same name."""
        return self._replace(objects={**self.objects, **{self.key(obj): obj for obj in made}})

    def key(self, obj: KubernetesObject) -> ObjectKey:
        """Return the identity of an object in the cluster: an object of a kind without namespaces has an empty
        namespace."""
        return object_key(self.mapper.in_its_scope(obj))

    def stored(self, obj: KubernetesObject) -> KubernetesObject | None:
        """Return the stored object with the name of an object, None if there is none."""
        return self.objects.get(self.key(obj))

    def forbidden(self, verb: str, obj: KubernetesObject) -> str:
        """The refusal of a request about an object, "" where it is allowed; `list` and `watch` are those of its kind in
        the whole cluster."""
        kind = self.mapper.of(obj)
        many = verb in ("list", "watch", "deletecollection")
        namespace = as_text(metadata_of(obj).get("namespace")) if kind.namespaced and not many else ""
        name = None if many or verb == "create" else name_of(obj)
        if self.account is None:
            return ""
        granted = self.access.rules(namespace or None, *with_groups(self.account, *self.groups))
        if rules_allow(granted, Request(verb, kind.group, kind.plural, name)):
            return ""
        full = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        return (
            f"{full}{f' {quoted(name)}' if name else ''} is forbidden: User {quoted(self.account.user_name)} cannot "
            f'{verb} resource "{kind.plural}" in API group "{kind.group}" {where}{self._missing_roles(namespace)}'
        )

    def _missing_roles(self, namespace: str) -> str:
        """The roles that the account is bound to and that are not there, as the authorizer lists them."""
        lacking = [
            f'{role.kind.lower()}.{RBAC} "{role.name}" not found'
            for role in self.lacking_roles if role.namespace in ("", namespace)
        ]  # fmt: skip
        return f": RBAC: {aggregated(lacking)}" if lacking else ""

    def creation_error(self, obj: KubernetesObject) -> str:
        """Return why an object can't be created, in the order in which the API server looks, "" where it can."""
        return (
            self.forbidden("create", obj)
            or self._no_namespace(obj)
            or self._escalation(obj)
            or validation_error(obj)
            or self._exists(obj)
        )

    def update_error(self, obj: KubernetesObject) -> str:
        """Return why an object that is there can't be patched to this one, "" where it can."""
        return self.forbidden("patch", obj) or self._escalation(obj) or validation_error(obj)

    def namespace_exists(self, namespace: str) -> bool:
        """Return whether a namespace is there: by itself, or because something else is in it."""
        if namespace in _ALWAYS_THERE or ObjectKey("", "Namespace", "", namespace) in self.objects:
            return True
        return any(key.namespace == namespace for key in self.objects)

    def _no_namespace(self, obj: KubernetesObject) -> str:
        namespace = as_text(metadata_of(obj).get("namespace"))
        if not self.mapper.of(obj).namespaced or self.namespace_exists(namespace):
            return ""
        return f'namespaces "{namespace}" not found'

    def _escalation(self, obj: KubernetesObject) -> str:
        """The refusal of a role or binding that gives away what the account has not; a binding needs its role."""
        key = self.key(obj)
        if key.group != RBAC or self.account is None:
            return ""
        there = {other: _rendered(stored) for other, stored in self.objects.items() if other.group == RBAC}
        if key.kind in _BINDINGS:
            role = decode_binding(key, obj).role
            if role not in collect_roles((other, held.object) for other, held in there.items()).by_identity:
                return f'{role.kind.lower()}s.{RBAC} "{role.name}" not found'
        return escalation_refusal(self.access, self.account, key, obj, there)

    def _exists(self, obj: KubernetesObject) -> str:
        kind = self.mapper.of(obj)
        if self.stored(obj) is None:
            return ""
        return f"{kind.plural}.{kind.group} {quoted(name_of(obj))} already exists".replace(". ", " ")


def api_server(
    objects: Mapping[ObjectKey, Rendered], mapper: RestMapper, account: Subject | None, groups: tuple[str, ...] = ()
) -> ApiServer:
    """Return the cluster with these objects for an account that is in these groups, in addition to those of every
    account.

    An account that is bound to a role of Kubernetes' own, whose rules are in no manifest, may do everything: its
    missing rights are unknown.
    """
    plain = {key: rendered.object for key, rendered in objects.items()}
    if account is None:
        return ApiServer(plain, mapper, None, Access({}, {}))
    known = collect_roles(plain.items()).by_identity
    lacking = tuple(
        dict.fromkeys(role for role in _roles_of(plain, with_groups(account, *groups)) if role not in known)
    )
    if any(role.kind == "ClusterRole" and _is_builtin(role.name) for role in lacking):
        account = None
    return ApiServer(plain, mapper, account, access(objects, aggregated=True), groups, lacking)


def _roles_of(objects: Mapping[ObjectKey, KubernetesObject], subjects: Iterable[Subject]) -> Iterator[ObjectKey]:
    """The roles that somebody who is all these subjects is bound to, there or not."""
    subjects = frozenset(subjects)
    for key, obj in objects.items():
        if key.group == RBAC and key.kind in _BINDINGS:
            binding = decode_binding(key, obj)
            if subjects.intersection(binding.subjects):
                yield binding.role


def _is_builtin(name: str) -> bool:
    return name in _BUILTIN_ROLES or name.startswith("system:")


def _rendered(obj: KubernetesObject) -> Rendered:
    return Rendered(obj, Provenance(None, "olmv1", ""))


def validation_error(obj: KubernetesObject) -> str:
    """Return all errors of the API server for an object in one text, "" for none."""
    errors = list(server_errors(obj))
    if not errors or is_whole_answer(errors[0]):
        return errors[0] if errors else ""
    group, slash, _ = str(obj.get("apiVersion")).partition("/")
    full = f"{obj['kind']}.{group}" if slash else obj["kind"]
    return f'{full} "{name_of(obj)}" is invalid: {aggregated(errors)}'


CONFIGURATIONS = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})
_HANDLED = "cannot be handled as a"
_NO_PORT = "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"


def is_whole_answer(error: str) -> bool:
    """Return whether an error is all that the API server answers, and no error of a field that stands behind a
    heading."""
    return error.startswith(("Object 'apiVersion'", "resource name", "no matches for kind")) or _HANDLED in error


def server_errors(obj: KubernetesObject) -> Iterator[str]:
    """Yield why the API server refuses an object that is rendered, in its words; nothing for one that it takes."""
    kind, api_version = obj["kind"], obj.get("apiVersion")
    if not text(api_version):  # which unstructured objects have no other than a text of
        yield "Object 'apiVersion' is missing"
    elif not name_of(obj):
        yield "resource name may not be empty"
    elif kind == CRD_KIND:
        yield from _crd_errors(obj)
    elif kind in CONFIGURATIONS:
        yield from _configuration_errors(obj)
    elif kind == "Deployment":
        yield from map(str, workloads.creation_errors(obj))
    else:
        yield from _other_errors(obj)


def _crd_errors(crd: KubernetesObject) -> Iterator[str]:
    if crd["apiVersion"] != CRD_V1:
        yield f'no matches for kind "{CRD_KIND}" in version "{crd["apiVersion"]}"'
        return
    conversion = mapping(spec_of(crd).get("conversion"))
    webhook = mapping(conversion.get("webhook"))
    if _lacks_port(webhook):
        yield f"spec.conversion.webhookClientConfig.service.port: {_NO_PORT}"
        # One place is reported once.
        conversion = {"strategy": "None"}
    yield from map(str, crds.creation_errors({**crd, "spec": {**crd["spec"], "conversion": conversion or None}}))


def _configuration_errors(configuration: KubernetesObject) -> Iterator[str]:
    mutating = configuration["kind"].startswith("Mutating")
    for index, webhook in enumerate(mappings(configuration.get("webhooks"))):
        path = f"webhooks[{index}]"
        yield from map(str, webhook_errors(webhook, Path(path), mutating=mutating))
        if _lacks_port(webhook):
            yield f"{path}.clientConfig.service.port: {_NO_PORT}"


def _lacks_port(webhook: object) -> bool:
    """Return whether a webhook is called on the port 0, as it is without a containerPort (R-V1-GEN-10)."""
    service = mapping(mapping(webhook).get("clientConfig")).get("service")
    return mapping(service).get("port") == 0


def _other_errors(obj: KubernetesObject) -> Iterator[str]:
    identity = (obj["apiVersion"], obj["kind"])
    go_type = TYPED_KINDS.get(identity) or (obj["kind"] if CORE_KINDS.get(obj["kind"]) == obj["apiVersion"] else None)
    typed = obj
    if go_type is not None:
        try:
            typed = {**decode(go_type, obj, exact=True), "metadata": metadata_of(obj)}
        except DecodeError as error:
            version = obj["apiVersion"].rpartition("/")[2]
            yield f'{obj["kind"]} in version "{version}" {_HANDLED} {obj["kind"]}: {error.message}'
            return
    yield from map(str, objects.creation_errors(typed))
