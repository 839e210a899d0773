"""The approval of an Install: permissions as sets of atoms, what it needs, and who may give it the rest (R-INSTALL-5 …
R-INSTALL-8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from olmc.kube.rbac import decode_rules, requests_of, rules_allow
from olmc.kube.rbac_access import Access, access, decode_binding, subject_of, with_groups
from olmc.kube.restmapper import RestMapper
from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, Resolution, ResolveRequest, Selection
from olmc.model.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    name_of,
    namespace_of,
    object_key,
    spec_of,
)
from olmc.model.operators import CSV_KIND, Csv, Install, Operator
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.olm.naming import named
from olmc.proposed.v2alpha1.content import Resolved
from olmc.resolver.steps import UndecodableCSV

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
K = TypeVar("K")

Entry = dict[str, Any]


class Atom(NamedTuple):
    """A request, and where it is made: in a namespace, or (None) in the whole cluster."""

    request: Request
    namespace: str | None


def atoms_of(rule: PolicyRule, namespace: str | None) -> Iterator[Atom]:
    """The atoms that a rule stands for, granted in a namespace or (None) in the whole cluster."""
    for request in requests_of(rule):
        yield Atom(request, None if request.url else namespace)


def not_held(atoms: Iterable[Atom], access: Access, subjects: Sequence[Subject]) -> frozenset[Atom]:
    """The atoms that somebody who is all these subjects lacks (R-INSTALL-7)."""
    atoms = frozenset(atoms)
    held = {namespace: access.rules(namespace, *subjects) for namespace in {atom.namespace for atom in atoms}}
    return frozenset(atom for atom in atoms if not rules_allow(held[atom.namespace], atom.request))


def canonical(atoms: Iterable[Atom]) -> list[Entry]:
    """The shortest list of entries in the canonical form of R-INSTALL-8; the order of the atoms does not matter.

    Verbs of one resource come together, then resources of one API group, names and namespaces with the same rights.
    """
    verbs: dict[tuple[str | None, str | None, str, str, str], set[str]] = defaultdict(set)
    for (verb, group, resource, name, url), namespace in atoms:
        verbs[namespace, name, group, resource, url].add(verb)
    cells = {key: tuple(sorted(found, key=verb_order)) for key, found in verbs.items()}
    resources = _merged(
        ((space, name, group, url, verb), resource) for (space, name, group, resource, url), verb in cells.items()
    )
    urls = _merged(
        ((space, name, group, listed, verb), url) for (space, name, group, url, verb), listed in resources.items()
    )
    # What has any name is no name among others, nor is the cluster a namespace.
    names = _merged(
        ((space, name is None, group, listed, url, verb), name)
        for (space, name, group, listed, verb), url in urls.items()
    )
    spaces = _merged(
        ((space is None, group, listed, url, verb, name), space)
        for (space, _, group, listed, url, verb), name in names.items()
    )
    entries = [_entry(*key[1:], found) for key, found in spaces.items()]
    return sorted(entries, key=lambda entry: tuple(entry.get(field, []) for field in _SORTED_BY))


_SORTED_BY = ("apiGroups", "resources", "verbs", "namespaces", "resourceNames", "nonResourceURLs")


def _merged(pairs: Iterable[tuple[K, Any]]) -> dict[K, tuple[Any, ...]]:
    """The values of equal keys together, sorted, each once."""
    found: dict[K, set[Any]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return {key: tuple(sorted(values, key=lambda value: (value is not None, value))) for key, values in found.items()}


def _entry(
    group: str, resources: tuple[str, ...], urls: tuple[str, ...], verbs: tuple[str, ...],
    names: tuple[str | None, ...], namespaces: tuple[str | None, ...],
) -> Entry:  # fmt: skip
    if any(urls):
        return {"nonResourceURLs": list(urls), "verbs": list(verbs)}
    entry: Entry = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    if names != (None,):
        entry["resourceNames"] = list(names)
    if namespaces != (None,):
        entry["namespaces"] = list(namespaces)
    return entry


def verb_order(verb: str) -> tuple[int, str]:
    """Sort key of verbs: reading, writing, deleting, then all others by name."""
    return (_VERBS.index(verb), "") if verb in _VERBS else (len(_VERBS), verb)


def as_rules(entries: Iterable[Entry]) -> list[Entry]:
    """The entries as PolicyRules: without the namespaces that they count in."""
    return [{key: value for key, value in entry.items() if key != "namespaces"} for entry in entries]


APPLYING = ("get", "list", "create", "update")
"""What applying an object takes."""


class Account(NamedTuple):
    """The service account that an Install is applied by; `generated` if OLM makes it."""

    namespace: str
    name: str
    generated: bool


class InstallDecision(NamedTuple):
    """What became of an Install.

    `pending`: the permissions that wait for approval. `approved`: what its spec shows. `applied`: whether its content
    is. `made`: the service account and the grants that come with it. `approvals`: all that was approved for it and its
    predecessors. `missing`: what the approving user lacks, as canonical entries. If it was made for what the resolver
    has selected, `selections` are its part of that, the Operator's own first, and `resolve_request` is what was asked.
    """

    install: Install
    content: Resolved
    account: Account
    pending: tuple[Entry, ...]
    approved: bool
    applied: bool
    made: tuple[KubernetesObject, ...]
    approvals: frozenset[Atom]
    missing: tuple[Entry, ...] = ()
    selections: tuple[Selection, ...] = ()
    resolve_request: ResolveRequest | None = None

    @property
    def pending_count(self) -> int:
        """How many permissions wait for approval."""
        return sum(len(entry["verbs"]) * len(entry.get("resources") or [1]) for entry in self.pending)


class Setting(NamedTuple):
    """What an Install is judged in: the objects of the cluster, its OperatorGroups, kinds, and the options.

    `inherited` is what was approved for the predecessors of an update; `held`: it waits for somebody whatever it needs;
    `labels` are put on what is generated.
    """

    objects: Mapping[ObjectKey, Rendered]
    groups: Sequence[KubernetesObject]
    known: RestMapper
    options: Options
    labels: Mapping[str, str]
    inherited: frozenset[Atom] = frozenset()
    held: bool = False


def judged(install: Install, content: Resolved, setting: Setting) -> InstallDecision:
    """Whether an Install is applied, with which account and grants, or what stands in the way."""
    options = setting.options
    by = service_account(install, content, setting)
    subjects = with_groups(Subject(ACCOUNT, by.namespace, by.name))
    lacking = not_held(required(content, setting.known), access(setting.objects, aggregated=True), subjects)
    pending = lacking - setting.inherited
    missing: frozenset[Atom] = frozenset()
    trusted = options.approve_installs or _is_listed(install, options.approved_installs)
    asked = install.approved or trusted
    somebody = bool(options.user) or trusted
    if pending and asked and somebody:
        missing = _lacked_by_user(pending, setting)
        if not missing:
            pending = frozenset()
    unavailable = bool(content.missing or content.problem)
    held = setting.held and not asked
    applied = not (pending or unavailable or held)
    approvals = setting.inherited | lacking if applied else setting.inherited
    approved = not pending and (asked or (bool(install.operator) and not held))
    return InstallDecision(
        install, content, by, tuple(canonical(pending)), approved, applied,
        tuple(_made(install, by, lacking, setting)) if applied else tuple(_account(by, setting)),
        approvals, tuple(canonical(missing)),
    )  # fmt: skip


def approved_before(install: Install, content: Resolved, setting: Setting) -> InstallDecision:
    """An Install that was applied before: all that it takes was approved (R-INSTALL-11)."""
    by = service_account(install, content, setting)
    return InstallDecision(install, content, by, (), True, True, (), frozenset(required(content, setting.known)))


def _is_listed(install: Install, approved: Sequence[str]) -> bool:
    names = {"all", install.operator or install.name, f"{install.operator}/{install.name}"}
    return not names.isdisjoint(approved)


def service_account(install: Install, content: Resolved, setting: Setting) -> Account:
    """The account of the only OperatorGroup of the install namespace, else one of the Install's own (R-INSTALL-5)."""
    groups = [g for g in setting.groups if namespace_of(g) == content.namespace]
    name = spec_of(groups[0]).get("serviceAccountName") if len(groups) == 1 else None
    if isinstance(name, str) and name:
        return Account(content.namespace, name, generated=False)
    return Account(setting.options.olm_namespace, install.name, generated=True)


def required(content: Resolved, known: RestMapper) -> Iterator[Atom]:
    """What applying the content takes, and what it grants: nobody may grant what he lacks himself (R-INSTALL-6)."""
    bound = _bound(content)
    for obj in content.objects:
        kind = known.of(obj)
        home = str(obj["metadata"].get("namespace") or content.namespace) if kind.namespaced else None
        yield from (Atom(Request(verb, kind.group, kind.plural, None), home) for verb in APPLYING)
        if obj["kind"] == "Role":
            yield from _granted_by(obj.get("rules"), home)
        elif obj["kind"] == "ClusterRole":
            for space in bound.get(name_of(obj), {None}):
                yield from _granted_by(obj.get("rules"), space)
        elif obj["kind"] == CSV_KIND:
            csv = Csv(obj)
            for entries, space in ((csv.permissions, home), (csv.cluster_permissions, None)):
                for entry in entries:
                    yield from _granted_by(entry.rules, space)


def _bound(content: Resolved) -> dict[str, set[str | None]]:
    """Where ClusterRoles are bound by the content: in namespaces, or (None) in the whole cluster."""
    found: dict[str, set[str | None]] = {}
    for obj in content.objects:
        role = decode_binding(object_key(obj), obj).role
        if obj["kind"].endswith("RoleBinding") and role.kind == "ClusterRole":
            space = str(obj["metadata"].get("namespace") or content.namespace) if obj["kind"] == "RoleBinding" else None
            found.setdefault(role.name, set()).add(space)
    return found


def _granted_by(rules: Any, namespace: str | None) -> Iterator[Atom]:
    for rule in decode_rules(rules):
        yield from atoms_of(rule, namespace)


def _lacked_by_user(pending: frozenset[Atom], setting: Setting) -> frozenset[Atom]:
    """What the approving user lacks of the pending permissions; without a user, somebody omnipotent approves (D46)."""
    if not setting.options.user:
        return frozenset()
    subjects = with_groups(subject_of(setting.options.user), *setting.options.user_groups)
    return not_held(pending, access(setting.objects, aggregated=True), subjects)


def _account(by: Account, setting: Setting) -> Iterator[KubernetesObject]:
    if by.generated:
        metadata = {"name": by.name, "namespace": by.namespace, **_labels(setting)}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _made(install: Install, by: Account, granted: frozenset[Atom], setting: Setting) -> Iterator[KubernetesObject]:
    """The account and a role with its binding for each namespace, and for the whole cluster (R-INSTALL-10)."""
    yield from _account(by, setting)
    subjects = [{"kind": ACCOUNT, "name": by.name, "namespace": by.namespace}]
    for space in sorted({atom.namespace for atom in granted}, key=lambda name: (name is not None, name or "")):
        rules = as_rules(canonical(atom for atom in granted if atom.namespace == space))
        prefix = "Cluster" if space is None else ""
        metadata = {**({"namespace": space} if space is not None else {}), **_labels(setting)}
        role = named(_rbac(f"{prefix}Role", metadata, rules=rules), f"{install.name}-")
        yield role
        ref = {"apiGroup": RBAC, "kind": role["kind"], "name": role["metadata"]["name"]}
        yield named(_rbac(f"{prefix}RoleBinding", metadata, subjects=subjects, roleRef=ref), f"{install.name}-")


def _rbac(kind: str, metadata: Mapping[str, Any], **body: Any) -> KubernetesObject:
    return {"apiVersion": RBAC_V1, "kind": kind, "metadata": metadata, **body}


def _labels(setting: Setting) -> dict[str, dict[str, str]]:
    return {"labels": dict(setting.labels)} if setting.labels else {}


class OperatorResult(NamedTuple):
    """What became of an Operator.

    `package` and `channel` are what it follows; `fixed`: it stays at its entrypoint. `installed` is its CSV's name,
    `installs` are its Installs in order, the last of which may wait. `failure` is the reason and message of
    ResolutionFailed, `unresolved` what was asked and answered then. `missing` is the image whose content is not known,
    `lacking` the entry of a catalog that has it, `problem` why content could not be applied, `unreadable` where a CSV
    says what can't be read.
    """

    operator: Operator
    package: str = ""
    channel: str = ""
    fixed: bool = False
    installed: str = ""
    installs: tuple[InstallDecision, ...] = ()
    failure: tuple[str, str] | None = None
    missing: str = ""
    problem: str = ""
    unresolved: tuple[ResolveRequest, Resolution] | None = None
    lacking: Candidate | None = None
    unreadable: UndecodableCSV | None = None

    @property
    def ref(self) -> CatalogKey:
        return self.operator.catalog.ref if self.operator.catalog else CatalogKey("", "")

    @property
    def waiting(self) -> InstallDecision | None:
        """The Install that is not applied."""
        return next((each for each in self.installs if not each.applied), None)

    @property
    def approvals(self) -> frozenset[Atom]:
        """All that was approved for the Operator so far."""
        return frozenset(atom for each in self.installs if each.applied for atom in each.approvals)


class ApprovalContext(NamedTuple):
    """What Operators are resolved in, which does not change: the workspace, Installs that approve, and the options."""

    workspace: Workspace
    records: Mapping[str, Install]
    options: Options
