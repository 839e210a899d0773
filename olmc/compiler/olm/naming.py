"""The hashes, names and identifiers that OLM and the API server make up (R-HASH-1 … 6, R-SA-2 … 9, R-OG-16, R-COMP-2,
D3, D4).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import CONVERSION, CSV_KIND, OperatorGroup
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.profiles.data import filled, is_openshift, openshift
from olmc.k8s.gojson import decode, encode, encode_decoded, encode_plain, unmarshal
from olmc.k8s.lean import NamedTuple, sha1, sha224, sha256
from olmc.k8s.objects import CRD_KIND, CRD_V1, RBAC_V1, KubernetesObject, labels_of, mapping, mappings, spec_of
from olmc.k8s.strconv import quoted

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEFORE_CREATION_TIME = frozenset("name generateName namespace selfLink uid resourceVersion generation".split())


def h62(data: bytes) -> str:
    """SHA-224 as one number in base 62, without padding (R-HASH-1)."""
    return _in_base(62, sha224(data).digest())


def h36(data: bytes) -> str:
    """SHA-224 as one number in base 36, without padding (R-V1-GEN-2)."""
    return _in_base(36, sha224(data).digest())


def _in_base(base: int, octets: bytes) -> str:
    number = int.from_bytes(octets, "big")
    digits = []
    while number:
        number, digit = divmod(number, base)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"


def deep_hash(type_name: str, value: Any) -> str:
    """H62 of the Go JSON of a value and a line end (R-HASH-2). Raises DecodeError."""
    # Go's encoder of streams ends a value with a line; where OLM marshals instead, there is none (R-HASH-2, R-HASH-3).
    return h62(encode(type_name, value) + b"\n")


def content_hash(type_name: str, value: Any) -> str:
    """H62 of the Go JSON of a value without a line end (R-HASH-3). Raises DecodeError."""
    return h62(encode(type_name, value))


def content_hash_rules(rules: list[dict[str, Any]] | None) -> str:
    """The `olm.permissions.hash` of a Role or ClusterRole; None for absent rules (R-HASH-3, R-SA-2)."""
    return content_hash("[]PolicyRule", rules)


def binding_hash(role_kind: str, role_name: str, subjects: list[dict[str, Any]] | None) -> str:
    """The `olm.permissions.hash` of a binding to a Role or ClusterRole, as `role_kind` says (R-SA-7)."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role_name}
    role_ref = encode("k8s.io/api/rbac/v1.RoleRef", reference)
    listed = encode("[]k8s.io/api/rbac/v1.Subject", subjects)
    # OLM marshals a struct without tags, so its keys have capital letters (R-SA-7).
    return h62(b'{"RoleRef":' + role_ref + b',"Subjects":' + listed + b"}")


def deployment_spec_hash(profile: Profile, spec: dict[str, Any]) -> str:
    """The `olm.deployment-spec-hash` of a spec, "" where the profile has none that can be known (R-DEP-9).

    Raises DecodeError.
    """
    if not profile.deploy_label_spec_hash:
        return ""
    # From 0.27 to 0.35 Go's types still wrote a creationTimestamp that is null, and so it is in the hash (R-JSON-7).
    if profile.deploy_label_spec_hash == "json":
        return deep_hash("DeploymentSpec", spec)
    decoded = decode("DeploymentSpec", spec)
    template = decoded["template"]
    template = {**template, "metadata": _with_creation_time(template.get("metadata") or {})}
    pod = template.get("spec") or {}
    if pod.get("volumes"):
        template["spec"] = {**pod, "volumes": [_volume_with_creation_time(volume) for volume in pod["volumes"]]}
    return h62(encode_decoded({**decoded, "template": template}) + b"\n")


def _volume_with_creation_time(volume: dict[str, Any]) -> dict[str, Any]:
    """A volume; one with a claim template holds metadata as well."""
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is None:
        return volume
    metadata = _with_creation_time(claim.get("metadata") or {})
    return {**volume, "ephemeral": {"volumeClaimTemplate": {"metadata": metadata, "spec": claim.get("spec") or {}}}}


def _with_creation_time(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata as Go wrote it up to Kubernetes 1.33: with the time of creation in its place, even if it is null."""
    before = {key: value for key, value in metadata.items() if key in _BEFORE_CREATION_TIME}
    return {**before, "creationTimestamp": None, **{k: v for k, v in metadata.items() if k not in before}}


def gvk_hash(group: str, version: str, kind: str) -> str:
    """The hash of an API in label keys and ClusterRole names (R-HASH-6)."""
    return fnv64a_hex(f"{kind}.{version}.{group}")


def fnv64a_hex(text: str) -> str:
    """FNV-1a of the UTF-8 bytes, 64 bits, in lower-case hexadecimal, not padded (R-HASH-6, R-SA-9)."""
    number = 0xCBF29CE484222325
    for octet in text.encode("utf-8"):
        number = (number ^ octet) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    # Go prints it without leading zeros (R-HASH-6, Q-3).
    return f"{number:x}"


def fnv32a(data: bytes) -> int:
    """FNV-1a, 32 bits."""
    number = 0x811C9DC5
    for octet in data:
        number = (number ^ octet) * 0x01000193 & 0xFFFFFFFF
    return number


# No vowels and nothing like a vowel, so that chance spells no words; the same in Kubernetes for all it generates (D3).
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_BASE = 58
_UIDS = bytes.fromhex("6ba7b8129dad11d180b400c04fd430c8")
_RULE_FIELDS = (
    ("Verbs", "verbs"),
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("ResourceNames", "resourceNames"),
    ("NonResourceURLs", "nonResourceURLs"),
)


def rbac_name(profile: Profile, base: str, data: bytes, discriminator: str) -> str:
    """`base` and what the profile ends names of RBAC in: a hash of `data`, or what stands for random characters.

    A long base is cut; the result has at most 63 bytes, or 64 where base and hash together have exactly 63 (R-SA-6).
    `discriminator` says what else the random characters depend on (D3).
    """
    if profile.rbac_name_algorithm == "random":
        return f"{_cut(base, _GENERATED_BASE)}-{random_suffix(f'{RBAC_V1}|{discriminator}|{base}-|{data.decode()}')}"
    suffix = h62(data) if profile.rbac_name_algorithm == "sha224" else safe_encoded(str(fnv32a(data)))
    return joined_name(base, suffix)


def joined_name(base: str, suffix: str) -> str:
    """`base-suffix`, of which a long base is cut: at most 63 bytes, or 64 where both together have exactly 63 (R-SA-6,
    R-V1-GEN-1)."""
    # OLM forgets the dash when it compares, so 64 characters are possible, which RBAC takes (R-SA-6, Q-2).
    if len(base.encode()) + len(suffix) > 63:
        base = _cut(base, 63 - len(suffix) - 1)
    return f"{base}-{suffix}"


def _cut(text: str, length: int) -> str:
    # Go cuts bytes, also through the middle of a character.
    return text.encode("utf-8")[:length].decode("utf-8", "replace")


def role_name(profile: Profile, csv: str, namespace: str, permission: dict[str, Any]) -> str:
    """The name of the Role for an entry of `permissions` (R-SA-2). Raises DecodeError."""
    account = decode("StrategyDeploymentPermissions", permission)["serviceAccountName"]
    base = profile.rbac_name_base["Role"].format(csv=csv, sa=account)
    return rbac_name(profile, base, _hash_input(profile, permission, csv), f"Role|{namespace}")


def cluster_role_name(profile: Profile, csv: str, namespace: str, permission: dict[str, Any]) -> str:
    """As `role_name` for an entry of `clusterPermissions`, the namespace hashed as well (R-SA-4)."""
    account = decode("StrategyDeploymentPermissions", permission)["serviceAccountName"]
    base = profile.rbac_name_base["ClusterRole"].format(csv=csv, sa=account)
    return rbac_name(profile, base, _hash_input(profile, permission, csv, namespace), f"ClusterRole|{namespace}")


def binding_name(profile: Profile, kind: str, role: str, namespace: str, account: str) -> str:
    """The name of the RoleBinding or ClusterRoleBinding, as `kind` says, for the role of that name."""
    base = profile.rbac_name_base["binding"].format(role=role, sa=account)
    # Since 0.16 a binding is called like its role; before it had characters of its own.
    return role if base == role else rbac_name(profile, base, role.encode(), f"{kind}|{namespace}")


def _hash_input(profile: Profile, permission: dict[str, Any], csv: str, namespace: str | None = None) -> bytes:
    """Return the input for the hash in the name of a role; empty names are left out of the JSON."""
    # The account stands in the base of a Role's name, the namespace in the hash of a ClusterRole's: so the same
    # operator can be in two namespaces (R-SA-2, R-SA-4, R-SA-8).
    if profile.rbac_name_hashinput == "spew":
        return permission_print([csv] if namespace is None else [csv, namespace], permission).encode()
    names = ((b"name", csv), (b"namespace", namespace))
    written = b"".join(b'"' + key + b'":' + encode_plain(name) + b"," for key, name in names if name)
    return b"{" + written + b'"permission":' + encode("StrategyDeploymentPermissions", permission) + b"}\n"


def permission_print(names: Sequence[str], permission: Mapping[str, Any]) -> str:
    """Return the input of OLM's hashes until v0.26: Go values as a debug printer prints them (`%#v` of spew).

    A list of untyped values: `names` (of the CSV, of its namespace), then an entry of `permissions`.

    An absent list prints as `<nil>`, an empty one as `[]`, and so does one that holds only an empty string.
    """
    listed = " ".join(f"(string){name}" for name in names)
    account = permission.get("serviceAccountName") or ""
    rules = permission.get("rules")
    shown = "<nil>" if rules is None else "[" + " ".join(map(_rule, rules)) + "]"
    entry = f"{{ServiceAccountName:(string){account} Rules:([]v1.PolicyRule){shown}}}"
    return f"([]interface {{}})[{listed} (v1alpha1.StrategyDeploymentPermissions){entry}]"


def _rule(rule: Mapping[str, Any]) -> str:
    return "{" + " ".join(f"{name}:([]string){_strings(rule.get(key))}" for name, key in _RULE_FIELDS) + "}"


def _strings(values: Sequence[str] | None) -> str:
    return "<nil>" if values is None else "[" + " ".join(values) + "]"


def operator_group_role_name(profile: Profile, namespace: str, group: str, suffix: str) -> str:
    """The name of an OperatorGroup's ClusterRole; `suffix` is admin, edit or view (R-OG-16)."""
    template = profile.og_clusterrole_name.get(group) or profile.og_clusterrole_name["*"]
    if "{hash}" not in template:
        return template.format(og=group, suffix=suffix)
    digest = h62(f"{namespace}/{group}/{suffix}".encode())
    limit = 253 - len(template.format(og="", suffix=suffix, hash=digest))
    shown = group if len(group.encode()) < limit else _cut(group, limit)
    return template.format(og=shown, suffix=suffix, hash=digest)


def component_label_key(package: str, namespace: str) -> str:
    """The label key of all that belongs to the operator of a package and a namespace (R-COMP-2)."""
    # Cut and not hashed: two long names may share a label, and then an Operator (R-COMP-2, R-HASH-5).
    name = f"{package}.{namespace}".removesuffix(".").encode()
    shown = name if len(name) <= 63 else name[:63].rstrip(b"._-")
    return "operators.coreos.com/" + shown.decode("utf-8", "replace")


def random_suffix(discriminator: str) -> str:
    """Five characters in the place of those that the API server would pick (D3)."""
    digest = sha256(discriminator.encode("utf-8")).digest()
    return "".join(_SUFFIX_ALPHABET[octet % len(_SUFFIX_ALPHABET)] for octet in digest[:5])


def named(obj: KubernetesObject, prefix: str) -> KubernetesObject:
    """The object with `generateName: prefix` and the name that comes of it, at the front of its metadata (D3)."""
    metadata = {"generateName": prefix, **obj["metadata"]}
    text = json.dumps({**obj, "metadata": metadata}, sort_keys=True, separators=(",", ":"))
    key = f"{obj['apiVersion']}|{obj['kind']}|{metadata.get('namespace', '')}|{prefix}|{text}"
    return {**obj, "metadata": {"name": prefix + random_suffix(key), **metadata}}


def safe_encoded(text: str) -> str:
    """Each byte of a text as a character that spells no words."""
    return "".join(_SUFFIX_ALPHABET[octet % len(_SUFFIX_ALPHABET)] for octet in text.encode("utf-8"))


def uid_for(api_version: str, kind: str, namespace: str, name: str) -> str:
    """A UID in the place of the API server's: the same for the same object; `namespace` "" for none (D4)."""
    text = f"{api_version}/{kind}/{namespace}/{name}"
    # As uuid5, without the modules behind it: version 5 of the variant of RFC 9562.
    octets = bytearray(sha1(_UIDS + text.encode()).digest()[:16])
    octets[6], octets[8] = octets[6] & 0x0F | 0x50, octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def stable_group_uid(namespace: str, name: str) -> str:
    """The UID of an OperatorGroup, which stands in label keys and selectors (U-2)."""
    return uid_for("operators.coreos.com/v1", "OperatorGroup", namespace, name)


# OLM looks at the kind alone and ignores the API group: these become the core object of that kind.
CORE_KINDS = {
    "Secret": "v1",
    "ConfigMap": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
}

# Written as they are, and decoded by the API server into types of its own: the names of these in olmc.k8s.gojson.
TYPED_KINDS = {
    (CRD_V1, CRD_KIND): CRD_KIND,
    ("networking.k8s.io/v1", "NetworkPolicy"): "NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("policy/v1beta1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("scheduling.k8s.io/v1", "PriorityClass"): "PriorityClass",
}


CSV_API = "operators.coreos.com/v1alpha1"
MANAGED = "olm.managed"
CONDITION_NAME = "OPERATOR_CONDITION_NAME"
COPIED_FROM = "olm.copiedFrom"
OWNER, OWNER_KIND, OWNER_NAMESPACE = "olm.owner", "olm.owner.kind", "olm.owner.namespace"
WEBHOOK_NAME = "olm.webhook-description-generate-name"
COMPONENT_PREFIX = "operators.coreos.com/"
PROPERTIES = "operatorframework.io/properties"
ALONGSIDE = "operatorframework.io/installed-alongside-"
PERMISSIONS_HASH = "olm.permissions.hash"
TARGETS = "olm.targetNamespaces"
OPERATOR_NAMESPACE = "olm.operatorNamespace"


def managed_labels(is_managed: bool) -> dict[str, str]:
    """The label of what OLM manages, where the profile has it."""
    return {MANAGED: "true"} if is_managed else {}


def is_known_by_label(existing: KubernetesObject, new: KubernetesObject) -> bool:
    """Return whether OLM finds an object that is there before it writes its own: it knows what has its label alone, if
    its own have that (R-OC-2, R-CR-1)."""
    return MANAGED not in labels_of(new) or labels_of(existing).get(MANAGED) == "true"


def with_labels(metadata: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Metadata with these labels, and without the field if there are none."""
    labelled = {**metadata, "labels": dict(labels)}
    return labelled if labels else {key: value for key, value in labelled.items() if key != "labels"}


def owner_labels(profile: Profile, name: str, namespace: str) -> dict[str, str]:
    """The labels that name a CSV as owner."""
    known = {OWNER: name, OWNER_KIND: CSV_KIND, OWNER_NAMESPACE: namespace}
    return {key: value for key, value in known.items() if key in profile.owner_labels}


def group_annotations(profile: Profile, group: OperatorGroup) -> dict[str, str]:
    """The annotations that a group puts on the CSVs of its namespace (R-OG-10)."""
    known = filled(profile.csv_annotations_og, og=group.name, og_ns=group.namespace, targets=",".join(group.targets))
    # While a group has no targets OLM does not write this one, and CSVs can tell the group by the others (R-OG-10).
    return {key: value for key, value in known.items() if group.targets or key != TARGETS}


def owner_reference(api_version: str, kind: str, name: str, *, controller: bool = False) -> dict[str, Any]:
    """An ownerReference as OLM writes it, both flags spelt out; the uid can't be known and is empty."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": "",
        "controller": controller,
        "blockOwnerDeletion": False,
    }


def csv_reference(name: str, *, controller: bool = False, api_version: str = CSV_API) -> dict[str, Any]:
    """The ownerReference to a CSV (R-CAT-630)."""
    return owner_reference(api_version, CSV_KIND, name, controller=controller)


def prune_unsupported(csv: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A CSV without the field and the webhooks that mean nothing to the profile's OLM; `csv` itself if it knows all."""
    spec = spec_of(csv)
    if not profile.csv_cleanup and "cleanup" in spec:
        spec = {key: value for key, value in spec.items() if key != "cleanup"}
        csv = {**csv, "spec": spec}
    webhooks = mappings(spec.get("webhookdefinitions"))
    if profile.webhook_conversion == CONVERSION or not webhooks:
        return csv
    kept = [item for item in webhooks if profile.webhook_admission and item.get("type") != CONVERSION]
    others = {key: value for key, value in spec.items() if key != "webhookdefinitions"}
    return {**csv, "spec": {**others, **({"webhookdefinitions": kept} if kept else {})}}


def unknown_config(subscription: KubernetesObject, profile: Profile) -> list[str]:
    """The fields of a Subscription's config that the CRD of the profile's OLM does not have, in their order."""
    config, known = mapping(spec_of(subscription).get("config")), profile.subscription_config
    return [str(key) for key in config if known is not None and key not in known]


def with_known_config(subscription: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A Subscription without these fields, which the API server drops; the object itself if it has none."""
    unknown = unknown_config(subscription, profile)
    if not unknown:
        return subscription
    spec = subscription["spec"]
    config = {key: value for key, value in spec["config"].items() if key not in unknown}
    return {**subscription, "spec": {**spec, "config": config}}


def cleanup_status(profile: Profile) -> dict[str, Any]:
    """The part of a CSV's status about a cleanup that OLM never carries out, where there is such a field."""
    return {"cleanup": {}} if profile.csv_cleanup else {}


class HelmMarks(NamedTuple):
    """The labels and annotations by which Helm knows the objects of a release as its own (R-V1-HELM-4)."""

    labels: dict[str, str]
    annotations: dict[str, str]


def helm_marks(extension: str, namespace: str) -> HelmMarks:
    """The marks of the release of a ClusterExtension."""
    annotations = {"meta.helm.sh/release-name": extension, "meta.helm.sh/release-namespace": namespace}
    return HelmMarks({"app.kubernetes.io/managed-by": "Helm"}, annotations)


# The highest OpenShift that an operator says it supports, and what OLM says of the operators whose maximum keeps the
# cluster from its next release.

MAXIMUM = "olm.maxOpenShiftVersion"
BLOCKED_REASON = "IncompatibleOperatorsInstalled"

_ANY_NEXT = "ClusterServiceVersions blocking minor version upgrades to 4.23 or major version upgrades to 5.0:"

Release = tuple[int, int]


class OpenShiftMaximum(NamedTuple):
    """The release that a property names, None for none, or OLM's text for why it can't be read (R-OCP-4)."""

    release: Release | None = None
    error: str = ""

    def blocks(self, following: Release) -> bool:
        """Return whether a cluster with the operator gets no upgrade to the release `following` (R-OCP-4, R-OCP-5)."""
        return bool(self.error) or (self.release is not None and _comparable(self.release) < _comparable(following))


class BlockingCsv(NamedTuple):
    """A CSV that keeps the cluster from its next release."""

    name: NamespacedName
    maximum: OpenShiftMaximum


def maximum_of_annotations(annotations: Mapping[str, Any]) -> OpenShiftMaximum:
    """The maximum in the annotations of a CSV in the cluster (R-OCP-3)."""
    if PROPERTIES not in annotations:
        return OpenShiftMaximum()
    try:
        listed = unmarshal(str(annotations[PROPERTIES]), exact=True)
    except ValueError as error:
        return OpenShiftMaximum(error=f"failed to unmarshal properties annotation: {error}")
    pairs = ((item.get("type"), item.get("value")) for item in mappings(mapping(listed).get("properties")))
    return maximum_of_values(value for kind, value in pairs if kind == MAXIMUM)


def maximum_of_values(values: Iterable[Any]) -> OpenShiftMaximum:
    """The maximum that the values of all properties of its type make (R-OCP-4)."""
    given = list(values)
    if len(given) > 1:
        return OpenShiftMaximum(error=f'defining more than one "{MAXIMUM}" property is not allowed')
    return _maximum(str(given[0]).strip('"')) if given else OpenShiftMaximum()


def _maximum(value: str) -> OpenShiftMaximum:
    if not value:
        return OpenShiftMaximum(error='value cannot be "" (an empty string)')
    from olmc.k8s.semver import VersionError, parse_tolerant  # slow to import, and few bundles have a maximum

    try:
        version = parse_tolerant(value)
    except VersionError as error:
        return OpenShiftMaximum(error=f"failed to parse {quoted(value)} as semver: {error}")
    if version.patch or version.prerelease or version.build:
        text = f"property {MAXIMUM} must specify only <major>.<minor> version, got invalid value {version}"
        return OpenShiftMaximum(error=text)
    return OpenShiftMaximum((version.major, version.minor))


def release_of(text: str) -> Release:
    """A release such as `4.18` in numbers."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _comparable(release: Release) -> Release:
    # 4.23 and 5.0 are one release under two names (R-OCP-5).
    return (5, 0) if release == (4, 23) else release


def blocking_message(blocking: Iterable[BlockingCsv], following: Release, olm_version: str) -> str:
    """Return the message of the condition Upgradeable, "" without a CSV that blocks (R-OCP-6); `blocking` is in the
    order of the list of CSVs."""
    listed = list(blocking)
    if not listed:
        return ""
    # The releases of OpenShift so far give the name of the next release.
    named = openshift()["blocking"].format(next="{}.{}".format(*following))
    head = named if is_openshift(olm_version) else _ANY_NEXT
    return "\n".join((head, *_lines(listed)))


def _lines(blocking: list[BlockingCsv]) -> Iterator[str]:
    for csv in blocking:
        if csv.maximum.error:
            yield f"- {csv.name} has invalid {MAXIMUM} properties: {csv.maximum.error}"
    for csv in reversed(blocking):
        if csv.maximum.release is not None:
            yield "- maximum supported OCP version for {} is {}.{}".format(csv.name, *csv.maximum.release)
