"""Kubernetes objects as olmc handles them: tolerant accessors, group-version-kinds, identity, RBAC, and origin."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from itertools import zip_longest
from typing import Any

from olmc.k8s.diagnostics import Place, Source
from olmc.k8s.lean import NamedTuple, module


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    # Readers give dicts, and asking whether something is a Mapping takes several times as long; every value is asked.
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The items of a list, each a mapping."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    """The texts in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class GroupKind(NamedTuple):
    """A kind without its version. Kinds with the same name in different groups are different kinds."""

    group: str
    kind: str


class GVK(NamedTuple):
    """An API by group ("" for the core one), version and kind."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """Kubernetes' form."""
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """As manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def dotted(self) -> str:
        """The form used in `olm.providedAPIs` (R-OG-11)."""
        return f"{self.kind}.{self.version}.{self.group}"

    @property
    def bracketed(self) -> str:
        """The form used by OLM's resolver."""
        return f"{self.kind} ({self.group}/{self.version})"

    @property
    def path(self) -> str:
        """The form used in the option `apis`."""
        return f"{self.group}/{self.version}/{self.kind}"


def split_api_version(api_version: Any) -> tuple[str, str]:
    """The group and the version in an `apiVersion`; what is no text has neither, as in apimachinery."""
    group, _, version = text(api_version).rpartition("/")
    return group, version


def gvk_of(obj: Mapping[str, Any]) -> GVK:
    """Return the API of an object as texts, also where the fields have other types."""
    return GVK(*split_api_version(obj.get("apiVersion")), text(obj.get("kind")))


KubernetesObject = dict[str, Any]


class ObjectKey(NamedTuple):
    """The identity of an object: the API group (not the version), kind, namespace ("" for none) and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class CatalogKey(NamedTuple):
    """The namespace and the name of a CatalogSource."""

    namespace: str
    name: str


class Origin(Enum):
    """The origin of an object. It decides how olmc treats the object; stage and rule are for readers."""

    MANIFEST = "a manifest of the workspace, passed through"
    BUNDLE = "made by an InstallPlan from a file of a bundle"
    BUNDLE_UPDATE = "the same, in the place of one that was there"
    STRATEGY = "made by an InstallPlan from an install strategy"
    OPERATOR_GROUP = "a ClusterRole of an OperatorGroup"
    OPERATOR_CONDITION = "an OperatorCondition, or RBAC for one"
    CERTIFICATE = "what serves and trusts a certificate of OLM"
    EXTENSION = "made by operator-controller for a ClusterExtension"
    OLM = "anything else that OLM makes"
    KUBERNETES = "there in every cluster"


class Provenance(NamedTuple):
    """The reason for an object in the output: its place in the input, the pass that wrote it, the rule, and its
    origin."""

    place: Place | None
    stage: str
    rule: str
    origin: Origin = Origin.OLM


class Rendered(NamedTuple):
    """An object of the output together with its provenance."""

    object: KubernetesObject
    provenance: Provenance

    @property
    def identity(self) -> ObjectKey:
        return object_key(self.object)


def object_key(obj: KubernetesObject) -> ObjectKey:
    """Return the identity of an object (`apiVersion`, `kind`, `metadata.namespace`, `metadata.name`) as texts. It
    accepts other types, as objects of a bundle have an identity before they are validated."""
    # With the calls of the accessors below it would take three times as long, and everything is asked for it.
    metadata, api_version = obj.get("metadata"), obj.get("apiVersion")
    if not isinstance(metadata, dict):
        metadata = {}
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return ObjectKey(group, obj.get("kind") or "", namespace, name)


def crd_key(name: str) -> ObjectKey:
    """The identity of a CRD."""
    return ObjectKey("apiextensions.k8s.io", "CustomResourceDefinition", "", name)


def apiservice_key(name: str) -> ObjectKey:
    """The identity of an APIService, whose name is `<version>.<group>`."""
    return ObjectKey("apiregistration.k8s.io", "APIService", "", name)


# In untrusted objects each of these may be missing, null or of another type. Go's decoder rejects the last, or reads
# the others as empty. So these functions read all of that as empty, and callers need no check.


def metadata_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an object, or of a pod template."""
    return mapping(obj.get("metadata"))


def spec_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The spec of an object, of a pod template or of a Deployment in an install strategy."""
    return mapping(obj.get("spec"))


def status_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The status of an object."""
    return mapping(obj.get("status"))


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    return mapping(metadata_of(obj).get("labels"))


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of an object."""
    return mapping(metadata_of(obj).get("annotations"))


def owner_references(obj: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The owner references of an object."""
    return mappings(metadata_of(obj).get("ownerReferences"))


def namespace_of(obj: Mapping[str, Any]) -> str:
    """The namespace of an object, "" for one without."""
    return as_text(metadata_of(obj).get("namespace"))


def name_of(obj: Mapping[str, Any]) -> str:
    """The name of an object, "" for one without."""
    return as_text(metadata_of(obj).get("name"))


def pod_of(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod spec of a Deployment, or of anything else with a template."""
    return spec_of(mapping(spec_of(obj).get("template")))


def as_text(value: Any) -> str:
    """A scalar as text, "" for one that says nothing: a number that an author forgot to quote stands for its digits."""
    return str(value or "")


RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"
ANY = "*"
ACCOUNT = "ServiceAccount"
POLICY_GROUP = "policy.open-cluster-management.io"
"""The API group of the policies of Open Cluster Management."""

APIEXTENSIONS = "apiextensions.k8s.io"
CRD_KIND = "CustomResourceDefinition"
CRD_V1, CRD_V1BETA1 = f"{APIEXTENSIONS}/v1", f"{APIEXTENSIONS}/v1beta1"


class PolicyRule(NamedTuple):
    """A rule of permissions: each verb, on each resource of each API group under each name, or on each URL.

    `names` () means any name; `resources` has subresources as `pods/log`.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Request(NamedTuple):
    """A request of a subject: `resource` as `pods/log`, or `url` for a request without a resource.

    `name` is "" for a request without a name, such as one to list or to create, and None for any name, which a rule
    without names allows.
    """

    verb: str
    group: str = ""
    resource: str = ""
    name: str | None = ""
    url: str = ""


class Subject(NamedTuple):
    """A subject that has permissions: a ServiceAccount with its namespace, a User, a Group.

    The kind `ClusterRole` represents the future subjects of an aggregated role such as `edit`.
    """

    kind: str
    namespace: str
    name: str

    @property
    def user_name(self) -> str:
        """Return its user name in requests to Kubernetes."""
        return f"system:serviceaccount:{self.namespace}:{self.name}" if self.kind == ACCOUNT else self.name

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


def identical(old: Any, new: Any) -> bool:
    """Return whether two values are the same to the letter, but for the order of keys."""
    return old is new or (bool(old == new) and not _differ_in_type(old, new))


def _differ_in_type(old: Any, new: Any) -> bool:
    """Return whether what Python takes to be equal is not: to Python, 1 is true."""
    if old is new:
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return any(_differ_in_type(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return any(map(_differ_in_type, old, new))
    return isinstance(old, bool) is not isinstance(new, bool)


# The secret parts of a Secret, and their display: none, or in comparisons the one of kubectl diff.

REDACTED = "REDACTED"
"""The text that replaces values of Secrets in renderings."""
MASK, BEFORE, AFTER = "***", "*** (before)", "*** (after)"
"""The texts that replace values of Secrets in differences: for equal or single values, and for both sides of a
change."""

CA_HASH = "olmcahash"
"""The annotation of Secrets with certificates that OLM issues."""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OPEN_FIELDS = frozenset("apiVersion immutable kind metadata status type".split())
"""The fields of a Secret that are not secret. All others are: a misspelt field (`stringdata`) may have secret
values."""

# A block that is indented too far stands in the metadata.
_OPEN_METADATA = frozenset(
    """
    annotations clusterName creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
    generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid
    """.split()
)

# Annotations in which other tools keep the whole object, possibly packed.
_COPIES = ("last-applied", "last-handled-configuration", "kapp.k14s.io/original", "objectset.rio.cattle.io/applied")
_Path = tuple[str, str, str]
_SHORTEST = {"annotations": 6, "labels": 16}
"""The shortest value that counts as contained in a text: shorter ones occur in many texts by chance. Labels describe a
Secret and may have the name of a user or of a database; longer texts are rarely words."""
_SHORTEST_LINE = 16
"""The length from which a line of a value counts as one."""

_MOST_CHARACTERS = 2 * 256 * 1024
"""The size of annotations that Kubernetes accepts, on two sides."""
_MOST_STEPS, _STEPS_A_TEXT = 100_000_000, 20
"""For how many characters values are looked for, all in all, which takes a second at most; and what each text adds."""


def is_secret(obj: KubernetesObject) -> bool:
    """Return whether an object is a Secret of the core API."""
    return obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"


def _says(obj: KubernetesObject, kind: str) -> bool:
    """Return whether an object names a kind, in any case, with any spaces and with any apiVersion. A tool may correct
    the kind, and kinds of other groups with this name have secrets, too."""
    given = obj.get("kind")
    return isinstance(given, str) and given.strip().casefold() == kind


def _is_secret_list(obj: KubernetesObject) -> bool:
    return _says(obj, "secretlist") and isinstance(obj.get("items"), list)


def _is_like_secret(obj: KubernetesObject) -> bool:
    """Return whether an object is a Secret, or becomes one as a part of another object, though it does not say all of
    it; a reference has neither metadata nor data."""
    if is_secret(obj) or not _says(obj, "secret"):
        return is_secret(obj)
    given = [value for field, value in obj.items() if str(field).casefold() in ("data", "metadata", "stringdata")]
    return any(isinstance(value, (dict, list)) for value in given)


def may_hold_secrets(obj: KubernetesObject) -> bool:
    """Return whether an object is a Secret, or of an unknown kind that may contain whole objects, as policies and
    templates do."""
    group, _, _ = str(obj.get("apiVersion")).rpartition("/")
    return str(obj.get("kind")).strip().casefold() in _OF_OBJECTS or group not in _KNOWN_GROUPS


_OF_SECRET = {"apiVersion": "v1", "kind": "Secret"}
# In any group, as OpenShift has had templates in that of the core as well.
_OF_OBJECTS = frozenset("secret secretlist list template".split())
_KNOWN_GROUPS = frozenset(
    """
    operators.coreos.com apps batch autoscaling policy admissionregistration.k8s.io apiextensions.k8s.io
    apiregistration.k8s.io authentication.k8s.io authorization.k8s.io certificates.k8s.io coordination.k8s.io
    discovery.k8s.io events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io rbac.authorization.k8s.io
    scheduling.k8s.io storage.k8s.io resource.k8s.io
    """.split()
) | {""}


def has_values(obj: KubernetesObject) -> bool:
    """Return whether an object is a Secret, or has one in it, that shows what is secret."""
    return may_hold_secrets(obj) and redacted(obj) != obj


def redacted(obj: KubernetesObject) -> KubernetesObject:
    """An object of which the Secrets have no values, and no copies of them in annotations; those of certificates that
    OLM issues are never known, and stay empty."""
    shown = _mapped(obj, obj, lambda secret, _: _redacted(secret))
    assert isinstance(shown, dict)
    return shown


def _redacted(secret: KubernetesObject) -> KubernetesObject:
    is_certificate = CA_HASH in annotations_of(secret)
    return _replaced(secret, _copies(secret), lambda value, _: REDACTED if value or not is_certificate else value)


def masked(
    old: KubernetesObject | None, new: KubernetesObject | None
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    """Both sides of an object (None where it is on one side only), of which the Secrets show what is equal and what is
    not, and not what it is. What a side has redacted may be what the other has."""
    if old is not None and new is not None and _is_like_secret(old) and _is_like_secret(new):
        return _masked(old, new)
    return (
        _mapped(old, new, lambda secret, beside: _masked(secret, beside)[0]),
        _mapped(new, old, lambda secret, beside: _masked(beside, secret)[1]),
    )


def _mapped(value: Any, beside: Any, change: Callable[[KubernetesObject, KubernetesObject | None], Any]) -> Any:
    """A value with the Secrets in it changed, each by what stands in its place in another value."""
    if isinstance(value, dict):
        other = beside if isinstance(beside, dict) else {}
        if _is_like_secret(value):
            return change(value, other if _is_like_secret(other) else None)
        if _is_secret_list(value):
            items = other.get("items") if _is_secret_list(other) else None
            return {**value, "items": _mapped_items(value["items"], items if isinstance(items, list) else [], change)}
        return {key: _mapped(item, other.get(key), change) for key, item in value.items()}
    if isinstance(value, list):
        others = beside if isinstance(beside, list) else []
        return [_mapped(item, other, change) for item, other in zip_longest(value, others[: len(value)])]
    return value


def _mapped_items(
    items: list[Any], beside: list[Any], change: Callable[[KubernetesObject, KubernetesObject | None], Any]
) -> list[Any]:
    """The items of a SecretList, which need not say that they are Secrets, changed as these."""

    def changed(item: Any, other: Any) -> Any:
        if not isinstance(item, dict):
            return item
        shown = change({**_OF_SECRET, **item}, {**_OF_SECRET, **other} if isinstance(other, dict) else None)
        return {key: value for key, value in shown.items() if key in item}

    return [changed(item, other) for item, other in zip_longest(items, beside[: len(items)])]


def _masked(
    old: KubernetesObject | None, new: KubernetesObject | None
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    # One set for both: what is a copy on one side, or masked already, says on the other whether it is the same.
    copies = _copies(*(side for side in (old, new) if side is not None))

    def shown(other: KubernetesObject | None, if_changed: str) -> Callable[[Any, tuple[str, ...]], Any]:
        def show(value: Any, keys: tuple[str, ...]) -> Any:
            beside = _at(other, keys)
            if REDACTED in (beside, value):  # a value may be here where the other side has an empty one
                return MASK
            is_changed = beside is not None and beside != value
            return value if value in ("", None) else if_changed if is_changed else MASK

        return show

    return (
        _replaced(old, copies, shown(new, BEFORE)) if old is not None else None,
        _replaced(new, copies, shown(old, AFTER)) if new is not None else None,
    )


def _at(obj: KubernetesObject | None, keys: Sequence[str]) -> Any:
    value: Any = obj
    for key in keys:
        value = mapping(value).get(key)
    return value


def _replaced(
    secret: KubernetesObject, copies: Set[_Path], show: Callable[[Any, tuple[str, ...]], Any]
) -> KubernetesObject:
    changed = dict(secret)
    for field in secret.keys() - _OPEN_FIELDS:
        given = secret[field]
        if isinstance(given, dict):
            changed[field] = {name: show(value, (field, name)) for name, value in given.items()}
        elif given is not None:
            changed[field] = show(given, (field,))
    metadata = metadata_of(secret)
    misplaced = {name: value for name, value in metadata.items() if name not in _OPEN_METADATA and value is not None}
    if misplaced:
        hidden = {name: show(value, ("metadata", name)) for name, value in misplaced.items()}
        changed["metadata"] = {**metadata, **hidden}
    for field in {field for _, field, _ in copies}:
        given = mapping(metadata_of(secret).get(field))
        paths = (("metadata", field, name) for name in given)
        masks = {path[-1]: show(given[path[-1]], path) for path in paths if path in copies}
        if masks:
            changed["metadata"] = {**metadata_of(changed), field: {**given, **masks}}
    return changed


def _copies(*sides: KubernetesObject) -> set[_Path]:
    """Return where the annotations and labels are that have, on one of the sides of a Secret, a value of any side in
    them, or none any more."""
    given = {field: [item for side in sides for item in _texts(side, field)] for field in _SHORTEST}
    values = dict.fromkeys(value for side in sides for value in _spellings(side)) if any(given.values()) else {}
    values.pop(REDACTED, None)
    copies: set[_Path] = set()
    for field, shortest in _SHORTEST.items():
        known = {name for name, text in given[field] if text == REDACTED or any(part in name for part in _COPIES)}
        holders = _holders({text for name, text in given[field] if name not in known}, values, shortest)
        copies |= {("metadata", field, name) for name, text in given[field] if name in known or text in holders}
    return copies


def _texts(secret: KubernetesObject, field: str) -> Iterator[tuple[str, str]]:
    """Yield the annotations or the labels of a Secret; a value that is not a text may contain secrets and is
    redacted."""
    given = mapping(metadata_of(secret).get(field))
    return ((name, REDACTED if isinstance(text, (dict, list)) else str(text)) for name, text in given.items())


def _holders(texts: Set[str], values: Iterable[str], shortest: int) -> Set[str]:
    """The texts that have a value of that length at least in them.

    Thousands of values are compared with as many texts, so one is looked for only where the rarest of its parts stands.
    What would take too long all the same counts as a text that has a value.
    """
    texts = {text for text in texts if len(text) >= shortest}
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        return texts
    longest = max(map(len, texts), default=0)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        for part in set(_parts(text, shortest)):
            places[part].append(text)
    holders: set[str] = set()
    steps = 0
    for value in values:
        if not shortest <= len(value) <= longest or not all(part in places for part in _parts(value, shortest)):
            continue
        for text in min((places[part] for part in _parts(value, shortest)), key=len):
            steps += _STEPS_A_TEXT
            if text not in holders:
                steps += len(text)
                if value in text:
                    holders.add(text)
        if steps > _MOST_STEPS:
            return texts
    return holders


def _parts(text: str, width: int) -> Iterator[str]:
    return (text[at : at + width] for at in range(len(text) - width + 1))


base64 = module("base64")  # for Secrets alone, which few workspaces have


def _spellings(secret: Mapping[str, Any]) -> Iterator[str]:
    """The values of a Secret, as they stand there and, of `data`, decoded; others also as base64."""
    for field in sorted(secret.keys() - _OPEN_FIELDS):
        for value in map(str, _leaves(secret[field])):
            yield from _readings(value)
            if field != "data":
                yield from _encoded(value)
                continue
            encoded = value.replace("\r", "").replace("\n", "")  # as Go reads it
            yield encoded
            try:
                decoded = base64.b64decode(encoded, validate=True).decode()
            except ValueError:
                continue
            yield from _readings(decoded)
            yield from _encoded(decoded)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _readings(value: str) -> Iterator[str]:
    """A value, also without the end of its line, and the lines of one that has several, also in JSON; the marks of a
    certificate are no secret."""
    lines = [line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE and line[:5] != "-----"]
    for text in (value, value.strip(), *lines):
        yield text
        yield json.dumps(text)[1:-1]


def _encoded(value: str) -> Iterator[str]:
    for text in dict.fromkeys((value, value.strip())):
        yield base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


OLM_GROUP = "operators.coreos.com"
OLM_V1_GROUP = "olm.operatorframework.io"


class APIResource(NamedTuple):
    """A kind that the cluster serves by a CRD or another API server: its group, name and plural, whether it has
    namespaces, the versions that are served.

    `is_crd`: whether a CRD defines it, which a CSV may require. It is true if that is unknown.
    """

    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[str, ...]
    is_crd: bool = True


class Manifest(NamedTuple):
    """A Kubernetes object as a file holds it."""

    object: KubernetesObject
    source: Source


# References to images: which registry they name, and whether their content stays the same.

_DEFAULT_REGISTRY = "docker.io"


def registry_of(image: str) -> str:
    """The registry that an image is pulled from: what stands first, if it looks like a host."""
    host, slash, _ = image.partition("/")
    is_host = slash and ("." in host or ":" in host or host == "localhost")
    return host if is_host else _DEFAULT_REGISTRY


def has_digest(image: str) -> bool:
    """Return whether a reference names its content."""
    return "@" in image


def is_floating(image: str) -> bool:
    """Return whether a reference names no version: no digest, and no tag but `latest`."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return bool(image) and not has_digest(image) and tag in ("", "latest")


def doubts_about(old: str, new: str) -> tuple[str, ...]:
    """List the reasons why an image is less certain than the one whose place it takes: who serves it, and whether it
    stays the same.

    This is the one rule for containers, bundles, related images and catalogs.
    """
    doubts = []
    if registry_of(old) != registry_of(new):
        doubts.append("from another registry")
    if is_floating(new) and not is_floating(old):
        doubts.append("the tag may move at any time")
    elif has_digest(old) and not has_digest(new):
        doubts.append("no longer pinned by a digest, so a tag may be moved")
    return tuple(doubts)
