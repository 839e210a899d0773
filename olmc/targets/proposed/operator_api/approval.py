"""The approval of an Install: permissions as sets of atoms, what it needs, and who may give it the rest (R-INSTALL-5 …
R-INSTALL-8).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from olmc.compiler.catalogs.properties import bundle_properties, properties_text, uncatalogued
from olmc.compiler.load.bundles import SUGGESTED
from olmc.compiler.model.cluster import Step
from olmc.compiler.model.operators import CSV_KIND, Csv, Install
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.olm.naming import CORE_KINDS, named
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.resolver.steps import (
    Content,
    UndecodableCSVError,
    bundle_content,
    bundle_steps,
    csv_object,
    inline_content,
)
from olmc.compiler.results import Account, Atom, Entry, InstallDecision, Resolved
from olmc.k8s.api.rbac import decode_rules, requests_of, rules_allow
from olmc.k8s.api.rbac_access import Access, access, decode_binding, subject_of, with_groups
from olmc.k8s.api.restmapper import RestMapper, rest_mapper
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    RBAC,
    RBAC_V1,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    metadata_of,
    name_of,
    namespace_of,
    object_key,
    spec_of,
)

# What an Install applies: bundles and objects, with namespaces replaced (R-INSTALL-2 … R-INSTALL-4).

DEFAULT = "default"
OPERATORS = "operators"
"""The namespace of operators that suggest none (D42)."""

NO_CATALOG = CatalogKey("", "")


def resolved(install: Install, workspace: Workspace, options: Options) -> Resolved:
    """The content of an Install that names its content itself."""
    images = dict.fromkeys(item.image for item in install.content if item.image)
    contents = {image: content_of_image(workspace, image, options) for image in images}
    raw = [obj for item in install.content for obj in item.objects]
    shipped = [manifest for content in contents.values() if content is not None for manifest in objects_of(content)]
    known = rest_mapper((*(m.object for m in workspace.manifests), *raw, *shipped))
    mapping = dict(install.namespaces)
    mapped = [with_namespaces(obj, mapping, known) for obj in raw]
    home = _install_namespace(install, mapped, [c for c in contents.values() if c is not None], known)
    steps: list[Step] = []
    profile = profile_of(options.olm_version)
    problem, unreadable = "", None
    for content in contents.values():
        if content is not None:
            try:
                found = placed_steps(content, home, "", bundle_text(content), NO_CATALOG, known, profile)
                steps += calling(found, mapping)
            except UndecodableCSVError as error:
                problem, unreadable = str(error), error.undecodable
    missing = tuple(image for image, content in contents.items() if content is None)
    items = tuple(pinned(item.given, workspace, options) for item in install.content)
    return Resolved(items, tuple(steps), tuple(mapped), home, missing, problem, unreadable)


def objects_of(content: Content) -> Iterator[KubernetesObject]:
    """All objects of a bundle."""
    yield content.csv.object
    yield from (_as_taken(manifest.object) for _, manifest in content.others)


def _as_taken(obj: KubernetesObject) -> KubernetesObject:
    """An object of a bundle as OLM takes it: what a core kind is, its name alone decides (R-CAT-712)."""
    core = CORE_KINDS.get(obj["kind"])
    return obj if core in (None, obj.get("apiVersion")) else {**obj, "apiVersion": core}


def bundle_text(content: Content) -> str:
    """The text of a bundle's properties for the annotation of its CSV; "" where only a catalog knows them."""
    return properties_text(content.served) if content.served else ""


def placed_steps(
    content: Content, namespace: str, replaces: str, properties: str, catalog: CatalogKey, known: RestMapper,
    profile: Profile,
) -> Iterator[Step]:  # fmt: skip
    """The steps of a bundle with its objects in a namespace. Raises UndecodableCSVError."""
    csv = csv_object(content, namespace, replaces, properties, profile)
    for step in bundle_steps(content, csv, catalog, profile):
        obj = _as_taken(step.object)
        if known.of(obj).namespaced and step.kind != CSV_KIND:
            obj = {**obj, "metadata": {**metadata_of(obj), "namespace": namespace}}
        yield step._replace(object=obj)


def calling(steps: Iterable[Step], mapping: Mapping[str, str]) -> Iterator[Step]:
    """The steps of a bundle, with namespaces replaced in the fields of its objects that name one (R-INSTALL-4).

    The objects themselves are in the install namespace by then, as is what stems from the CSV.
    """
    for step in steps:
        yield step if step.derived else step._replace(object=_with_fields(step.object, mapping))


def content_of_image(workspace: Workspace, image: str, options: Options) -> Content | None:
    """Return the content of a bundle image, if the workspace knows it: by the option `images`, by a catalog that has
    it, or because `olmc vendor` has fetched it."""
    named = next((known.bundle for known in options.images if known.image == image and known.bundle), "")
    if named in workspace.bundles:
        return _of_bundle(workspace.bundles[named])
    by_digest = pinned_image(image, workspace, options)
    for catalog in workspace.catalogs.values():
        for package in catalog.packages.values():
            for entry in package.bundles.values():
                if entry.image and entry.image in (image, by_digest):
                    bundle = workspace.bundles.get(entry.name) or workspace.vendored.get(entry.image)
                    return _of_bundle(bundle) if bundle is not None else inline_content(entry)
    vendored = workspace.vendored.get(image)
    return _of_bundle(vendored) if vendored is not None else None


def _of_bundle(bundle: Bundle) -> Content:
    return bundle_content(bundle)._replace(served=tuple(bundle_properties(uncatalogued(bundle), Report())))


def pinned_image(image: str, workspace: Workspace, options: Options) -> str:
    """The image by digest where olmc.yaml, else olmc.lock, knows its digest (R-INSTALL-3)."""
    given = next((each.digest for each in options.images if each.image == image), "")
    digest = given or next((each.digest for each in workspace.images if each.image == image), "")
    if "@" in image or not digest:
        return image
    repository, colon, tag = image.rpartition(":")
    return f"{repository if colon and '/' not in tag else image}@{digest}"


def pinned(item: Mapping[str, Any], workspace: Workspace, options: Options) -> dict[str, Any]:
    """An item of an Install's content as its status has it."""
    if item.get("type") != "ManifestImage":
        return dict(item)
    return {**item, "manifestImage": pinned_image(str(item["manifestImage"]), workspace, options)}


def with_namespaces(obj: KubernetesObject, mapping: Mapping[str, str], known: RestMapper) -> KubernetesObject:
    """An object with namespaces replaced wherever it names one that things are applied in (R-INSTALL-4, D45)."""
    metadata = obj["metadata"]
    if known.of(obj).namespaced:
        home = metadata.get("namespace") or DEFAULT
        obj = {**obj, "metadata": {**metadata, "namespace": mapping.get(home, home)}}
    elif obj["kind"] == "Namespace" and obj["apiVersion"] == "v1":
        obj = {**obj, "metadata": {**metadata, "name": mapping.get(metadata["name"], metadata["name"])}}
    return _with_fields(obj, mapping)


def _with_fields(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    change = _FIELDS.get(obj["kind"])
    return obj if change is None else change(obj, mapping)


def _in_subjects(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    subjects = obj.get("subjects")
    if not isinstance(subjects, list):
        return obj
    return {**obj, "subjects": [_replaced(subject, mapping) for subject in subjects]}


def _in_apiservice(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    changed: KubernetesObject = _at(obj, ("spec", "service"), mapping)
    return changed


def _in_webhooks(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    hooks = obj.get("webhooks")
    if not isinstance(hooks, list):
        return obj
    return {**obj, "webhooks": [_at(hook, ("clientConfig", "service"), mapping) for hook in hooks]}


def _in_conversion(obj: KubernetesObject, mapping: Mapping[str, str]) -> KubernetesObject:
    changed: KubernetesObject = _at(obj, ("spec", "conversion", "webhook", "clientConfig", "service"), mapping)
    return changed


_FIELDS: Mapping[str, Callable[[KubernetesObject, Mapping[str, str]], KubernetesObject]] = {
    "RoleBinding": _in_subjects,
    "ClusterRoleBinding": _in_subjects,
    "APIService": _in_apiservice,
    "ValidatingWebhookConfiguration": _in_webhooks,
    "MutatingWebhookConfiguration": _in_webhooks,
    CRD_KIND: _in_conversion,
}


def _at(value: Any, keys: Sequence[str], mapping: Mapping[str, str]) -> Any:
    """A value in which the `namespace` below a path of keys is replaced, if it is there."""
    if not keys:
        return _replaced(value, mapping)
    if not isinstance(value, dict) or keys[0] not in value:
        return value
    return {**value, keys[0]: _at(value[keys[0]], keys[1:], mapping)}


def _replaced(value: Any, mapping: Mapping[str, str]) -> Any:
    namespace = value.get("namespace") if isinstance(value, dict) else None
    if not isinstance(namespace, str) or namespace not in mapping:
        return value
    return {**value, "namespace": mapping[namespace]}


def suggested_namespace(content: Content) -> str:
    """The namespace that a bundle wants to be installed in (R-OPERATOR-10)."""
    metadata = content.csv.object.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    wanted = annotations.get(SUGGESTED) if isinstance(annotations, dict) else None
    return wanted if isinstance(wanted, str) and wanted else OPERATORS


def namespaces_of(contents: Iterable[Content], known: RestMapper) -> tuple[str, ...]:
    """The namespaces that the objects of bundles are in; `default` for those that name none."""
    found = {
        str(metadata_of(obj).get("namespace") or DEFAULT)
        for content in contents
        for obj in objects_of(content)
        if known.of(obj).namespaced
    }
    return tuple(sorted(found))


def _install_namespace(
    install: Install, raw: Sequence[KubernetesObject], contents: Sequence[Content], known: RestMapper
) -> str:
    """R-INSTALL-5: what the first replacement leads to, else where the content is."""
    if install.namespaces:
        return install.namespaces[0][1]
    first = next((obj["metadata"]["namespace"] for obj in raw if known.of(obj).namespaced), "")
    return first or (suggested_namespace(contents[0]) if contents else DEFAULT)


_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
K = TypeVar("K")


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
"""The verbs that an apply of an object needs."""


class Setting(NamedTuple):
    """The context of an approval: the objects of the cluster, its OperatorGroups, kinds, and the options.

    `inherited` is the approved permissions of the predecessors of an update; `held`: the Install waits for an approval,
    also without new permissions; `labels` are those of generated objects.
    """

    objects: Mapping[ObjectKey, Rendered]
    groups: Sequence[KubernetesObject]
    known: RestMapper
    options: Options
    labels: Mapping[str, str]
    inherited: frozenset[Atom] = frozenset()
    held: bool = False


def judged(install: Install, content: Resolved, setting: Setting) -> InstallDecision:
    """Return whether an Install is applied, with which account and grants, or what stands in the way."""
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
    """Yield the permissions that an apply of the content needs, and those that it grants: a user can't grant
    permissions that he lacks (R-INSTALL-6)."""
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
    """Return where ClusterRoles are bound by the content: in namespaces, or (None) in the whole cluster."""
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
    """Return the pending permissions that the approving user lacks; without a user, an omnipotent user approves
    (D46)."""
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


class ApprovalContext(NamedTuple):
    """The constant context of resolving Operators: the workspace, Installs that approve, and the options."""

    workspace: Workspace
    records: Mapping[str, Install]
    options: Options
