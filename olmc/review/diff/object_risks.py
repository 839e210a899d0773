"""Which objects and fields give power or take protection away: the one table by which a review grades objects.

The table grades an object as `olmc.review.rbac.risks` grades the right to write it. A row names a field and a test. A
change that adds power, or removes a protection, passes the test; a change in the other direction does not. Kinds that
other modules compare in words (RBAC, webhooks, CRDs, objects of OLM) have rows for the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from olmc.k8s.api.admission_rules import decode_admission_rule, match_more
from olmc.k8s.diagnostics import Report
from olmc.k8s.gojson.scalars import Amount, amount
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import doubts_about, mapping, mappings, registry_of, text, texts
from olmc.k8s.yaml import read
from olmc.review.diff.crd_kinds import ABSENT
from olmc.review.rbac.risks import MILD_CONSTRAINTS

_NOTHING: tuple[Any, ...] = (ABSENT, None, "", [], {})
_PINNED = regex(r"[0-9a-f]{40}|v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?")
_VERSION = regex(r"v?([0-9]+)\.([0-9]+)")


class FieldTest(NamedTuple):
    """A test of a field that changes: `holds` gets both values, `ABSENT` for none.

    `of_new`: it also judges the fields of an object that only the new side has.
    """

    holds: Callable[[Any, Any], bool]
    of_new: bool = False


class ObjectRisk(NamedTuple):
    """A row: objects of `kinds`, each a pattern `group/Kind`, are a risk where the field at `path` passes the test.

    A step `*` stands for any key or item, and a first step `**` for any place in the object. `names` limits the row to
    some objects, as patterns `namespace/name`.
    """

    kinds: tuple[str, ...]
    path: tuple[str, ...]
    test: FieldTest
    why: str
    names: tuple[str, ...] = ()


def _is_set(value: Any) -> bool:
    return value not in _NOTHING


def _is_one_of(value: Any, values: Sequence[Any]) -> bool:
    """Tell whether a value is among some: to Kubernetes, 1 is not true."""
    return any(type(value) is type(one) and value == one for one in values)


def _items(value: Any) -> frozenset[str]:
    """List what a value consists of: the items of a list, the entries of a mapping, else the value itself."""
    if not _is_set(value):
        return frozenset()
    if isinstance(value, Mapping):
        return frozenset(_frozen([key, below]) for key, below in value.items())
    return frozenset(map(_frozen, value if isinstance(value, list) else [value]))


def _frozen(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


ADDED = FieldTest(lambda old, _: old is ABSENT, True)
REMOVED = FieldTest(lambda _, new: new is ABSENT)
DIFFERS = FieldTest(lambda _, new: new is not ABSENT)
COMES = FieldTest(lambda old, new: _is_set(new) and new != 0 and new != old, True)
GOES = FieldTest(lambda old, new: _is_set(old) and not _is_set(new))
CHANGES = FieldTest(lambda old, new: _is_set(old) and new != old)
GROWS = FieldTest(lambda old, new: bool(_items(new) - _items(old)), True)
SHRINKS = FieldTest(lambda old, new: bool(_items(old) - _items(new)))
WIDENS = FieldTest(lambda old, new: _is_set(old) and (not _is_set(new) or bool(_items(new) - _items(old))))
"""A list that lets only its items through, and everything if it is empty."""
NARROWS = FieldTest(lambda old, new: _is_set(new) and (not _is_set(old) or bool(_items(old) - _items(new))))
"""A list that says what is checked, and that everything is if it is empty."""


def turns(*values: Any) -> FieldTest:
    """Pass a field that gets one of some values."""
    return FieldTest(lambda old, new: _is_one_of(new, values) and not _is_one_of(old, values), True)


def leaves(*values: Any) -> FieldTest:
    """Pass a field that had one of some values; ABSENT among them stands for a default."""
    return FieldTest(lambda old, new: _is_one_of(old, values) and not _is_one_of(new, values))


def weakens(*order: Any) -> FieldTest:
    """Pass a field that gets a later value of an order from strict to loose; a tuple has values of one rank, and
    unknown values are the loosest."""

    def rank(value: Any) -> int:
        equals = (one if isinstance(one, tuple) else (one,) for one in order)
        return next((at for at, values in enumerate(equals) if _is_one_of(value, values)), len(order))

    return FieldTest(lambda old, new: rank(new) > rank(old))


def _number(value: Any) -> Amount | None:
    try:
        return amount(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    except ValueError:
        return None


def joins_or_leaves(values: str) -> FieldTest:
    """Pass a field that gets or loses one of some words, in a list with commas."""
    some = frozenset(values.split())

    def has(value: Any) -> bool:
        return not some.isdisjoint(word.strip() for word in text(value).split(","))

    return FieldTest(lambda old, new: has(old) != has(new))


INCREASES = FieldTest(lambda old, new: (_number(new) or amount(0)) > (_number(old) or amount(0)), True)


def _loses_drop(old: Any, new: Any) -> bool:
    kept = _items(new)
    return _frozen("ALL") not in kept and bool(_items(old) - kept)


def _is_other_image(old: Any, new: Any) -> bool:
    return isinstance(old, str) and isinstance(new, str) and bool(old and new) and bool(doubts_about(old, new))


def _is_other_registry(old: Any, new: Any) -> bool:
    return isinstance(old, str) and isinstance(new, str) and registry_of(old) != registry_of(new)


def _is_older(old: Any, new: Any) -> bool:
    was, now = (_VERSION.match(text(value)) for value in (old, new))
    if now is None:
        return False
    # Without a version it is the latest one; from 1.25 on the standards hardly differ.
    before = (int(was[1]), int(was[2])) if was is not None else (1, 25)
    return (int(now[1]), int(now[2])) < before


def _lets_more_through(old: Any, new: Any) -> bool:
    """Tell whether a network policy lets something through that it did not, or protects other pods than before."""
    was, now = mapping(old if old is not ABSENT else {}), mapping(new if new is not ABSENT else {})
    if not _selects_as_much(was.get("podSelector"), now.get("podSelector")):
        return True
    for direction, field in (("Ingress", "ingress"), ("Egress", "egress")):
        if direction not in _directions(was):
            continue  # everything passed in that direction
        before = mappings(was.get(field))
        known = _items(list(before))
        come = [rule for rule in mappings(now.get(field)) if _frozen(rule) not in known]
        is_comparable = len(come) * len(before) <= _MOST_RULES
        come = [rule for rule in come if not is_comparable or not any(_covers(one, rule) for one in before)]
        if come or direction not in _directions(now):
            return True
    return False


def _directions(spec: Mapping[str, Any]) -> frozenset[str]:
    """List the directions that a network policy restricts."""
    stated = frozenset(texts(spec.get("policyTypes")))
    return stated or frozenset(("Ingress", "Egress") if spec.get("egress") else ("Ingress",))


def _grants_more(old: Any, new: Any) -> bool:
    """Tell whether aws-auth maps somebody to a name or a group that is new to them; unreadable text may do so."""
    was, now = _mapped(old), _mapped(new)
    return bool(_is_set(new)) and old != new and (was is None or now is None or bool(now - was))


def _mapped(value: Any) -> frozenset[tuple[str, str, str]] | None:
    if not _is_set(value):
        return frozenset()
    documents = read("", text(value), Report())
    entries = documents[0].value if len(documents) == 1 else None
    if not isinstance(entries, list):
        return None
    pairs = [({"arn": str(entry)} if not isinstance(entry, dict) else entry) for entry in entries]
    return frozenset(
        (json.dumps([entry.get(key) for key in ("rolearn", "userarn", "arn")]), text(entry.get("username")), group)
        for entry in pairs
        for group in ("", *texts(entry.get("groups")))
    )


def _is_exposed(old: Any, new: Any) -> bool:
    """Tell whether a Service gets reachable from farther away."""
    was, now = (_EXPOSED.index(kind) if kind in _EXPOSED else -1 for kind in (old, new))
    return now > was


def _covers(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    """Tell whether a rule of a network policy lets everything through that another one does."""
    for peers, covers in (("from", _covers_peer), ("to", _covers_peer), ("ports", _covers_port)):
        some, others = mappings(wide.get(peers)), mappings(narrow.get(peers))
        # An empty list stands for everything.
        known = _items(list(some))
        left = [other for other in others if _frozen(other) not in known]
        if some and not others:
            return False
        if some and (len(left) * len(some) > _MOST_PEERS or not all(any(covers(a, b) for a in some) for b in left)):
            return False
    return True


def _covers_peer(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    if wide == narrow:
        return True
    addresses = [mapping(peer.get("ipBlock")) for peer in (wide, narrow)]
    if not all(addresses):
        return False
    try:
        outer, inner = (_network(text(block.get("cidr"))) for block in addresses)
        left_out, excepted = ([_network(each) for each in texts(block.get("except"))] for block in addresses)
        return _is_within(inner, outer) and all(
            not one.overlaps(inner) or any(_is_within(one, other) for other in excepted) for one in left_out
        )
    except (TypeError, ValueError):
        return False


def _is_within(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    same = inner.version == outer.version
    return same and outer.prefixlen <= inner.prefixlen and outer.overlaps(inner)


def _network(cidr: str) -> IPv4Network | IPv6Network:
    return ip_network(cidr, strict=False)


def _covers_port(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    if (wide.get("protocol") or "TCP") != (narrow.get("protocol") or "TCP"):
        return False
    first, port = wide.get("port"), narrow.get("port")
    if first is None or (first == port and wide.get("endPort") == narrow.get("endPort")):
        return True
    last, end = wide.get("endPort") or first, narrow.get("endPort") or port
    numbers = (first, port, end, last)
    return all(isinstance(number, int) for number in numbers) and list(numbers) == sorted(numbers)


_MOST_RULES, _MOST_PEERS = 400, 2_500
"""How many pairs of rules, and of peers, are compared by more than their text."""
_EXPOSED = ("NodePort", "LoadBalancer")
IMAGE = FieldTest(_is_other_image)
REGISTRY = FieldTest(_is_other_registry)
_OLDER = FieldTest(_is_older)
_LETS_THROUGH = FieldTest(_lets_more_through)
_GRANTS = FieldTest(_grants_more, True)
_EXPOSES = FieldTest(_is_exposed)
_DROPS = FieldTest(_loses_drop)
_PROFILE = weakens(("Localhost", "RuntimeDefault"), ABSENT, "Unconfined")
_HARMLESS_TYPES = ("container_t", "container_init_t", "container_kvm_t", "container_logreader_t")
_SELINUX_TYPE = FieldTest(lambda old, new: _is_set(new) and new != old and new not in _HARMLESS_TYPES, True)

_MILD_VOLUMES = _items(
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret", "none"]
)
_PLAIN = ("", "identity")
_MESH = (("istio-injection", "enabled"), ("istio.io/rev", ""), ("istio.io/dataplane-mode", "ambient"))
_UNSAFE_OPTIONS = _items(["Validate=false", "RespectIgnoreDifferences=true", "Replace=true", "Force=true"])
_VOLUMES = FieldTest(lambda old, new: bool(_items(new) - _items(old) - _MILD_VOLUMES), True)
_SECCOMP = FieldTest(lambda old, new: bool(_items(new) - _items(old) - _items("runtime/default")), True)
_LEFT_TO_PODS = FieldTest(lambda old, new: _scc_rank(new) > _scc_rank(old), True)
_CHECKS_LESS = FieldTest(lambda old, new: _checks_less(old, new))
_LOSES_CHECKS = FieldTest(lambda old, new: bool(_checks(old) - _checks(new)))
_NO_LONGER_DENIES = FieldTest(lambda old, new: _frozen("Deny") in _items(old) - _items(new))
_CHECKS_OTHERS = FieldTest(lambda old, new: _is_set(old) and not _keeps(old, new))
_NO_LONGER_ENFORCES = FieldTest(lambda old, new: text(old).lower() == "enforce" != text(new).lower())
_NO_LONGER_ENCRYPTS = FieldTest(lambda old, new: text(old) not in _PLAIN and text(new) in _PLAIN)
_GETS_EPHEMERAL = FieldTest(lambda old, new: _is_set(old) and _frozen("Ephemeral") in _items(new) - _items(old))
_CSI_PROFILE = FieldTest(lambda old, new: _is_set(new) and new not in (old, "privileged"), True)
_OTHER = FieldTest(lambda old, new: new != old)
_GETS = FieldTest(GROWS.holds)
_POWER = ("roleRef", "subjects", "rules", "securityContext", "hostPath", "hostNetwork", "hostPID", "serviceAccountName",
          "webhooks", "roleTemplateRef")  # fmt: skip
_LEADS_TO_POWER = FieldTest(lambda old, new: new != old and any(f".{name}" in f".{text(new)}" for name in _POWER))
"""A path to a field by which an object gives power, and that gets its value from somewhere else."""
_CHECKS_OPTIONS = FieldTest(lambda old, new: bool((_items(new) - _items(old)) & _UNSAFE_OPTIONS), True)
_JOINS_ROOT = FieldTest(lambda old, new: _frozen(0) in _items(new) - _items(old), True)
_SET_ON = FieldTest(turns(True).holds)
_LEAVES_MESH = FieldTest(lambda old, new: _is_in_mesh(old) and not _is_in_mesh(new))
_OF_SYSTEM = FieldTest(lambda old, new: any('"system:' in name for name in _items(new) - _items(old)), True)
_STRONG_CONSTRAINT = FieldTest(lambda old, new: _is_set(new) and new != old and new not in MILD_CONSTRAINTS, True)
_OTHER_HOST = FieldTest(lambda old, new: _is_set(old) and _is_set(new) and _host(old) != _host(new))
_OTHER_FILE = FieldTest(lambda old, new: _is_set(new) and new not in (old, _TOKEN_FILE), True)
_BEGINS = FieldTest(lambda old, new: not _is_set(old) and _is_set(new))
_BOTH_DIFFER = FieldTest(lambda old, new: _is_set(old) and _is_set(new) and old != new)
_MISLEADS = FieldTest(lambda old, new: bool(_misleading(new) - _misleading(old)))
_OF_CLUSTER = FieldTest(lambda old, new: old != new and all(map(_is_cluster, (old, new))))
_OTHER_KEYS = FieldTest(
    lambda old, new: any(key not in (None, _read_keys(new).get(name, key)) for name, key in _read_keys(old).items())
)
_FINDS = FieldTest(
    lambda old, new: (
        _is_set(old)
        and any("find" in item for item in mappings(new))
        and not any("find" in item for item in mappings(old))
    )
)
_OTHER_BACKENDS = FieldTest(
    lambda old, new: any(names - _backends(old).get(place, names) for place, names in _backends(new).items())
)
_MORE_BACKENDS = FieldTest(lambda old, new: bool(_services(new) - _services(old)))
_LEADS_AWAY = FieldTest(lambda old, new: bool(_addresses(new) - _addresses(old)), True)
_NAMES_OTHERS = FieldTest(lambda old, new: bool(_urls(new) - _urls(old)), True)
_ALLOWS_MORE = FieldTest(lambda old, new: _allows_more(old, new), True)
_FETCHES_OTHER = FieldTest(lambda old, new: _fetches_other(old, new))
_ACCEPTS_MORE = FieldTest(lambda old, new: bool(_proofs(old) - _proofs(new)))
_MORE_FUNCTIONS = FieldTest(lambda old, new: _is_set(old) and bool(_functions(new) - _functions(old)))
_MORE_SECRETS = FieldTest(lambda old, new: bool(_secrets_read(new) - _secrets_read(old)), True)
_ANY_TEMPLATE = FieldTest(lambda old, new: bool(_other_templates(new) - _other_templates(old)), True)
_EXPRESSION = FieldTest(lambda old, new: "${" in text(new) and new != old, True)
_NEVER = FieldTest(turns("Never").holds)
_UNPINNED = FieldTest(lambda old, new: _is_pinned(old) and not _is_pinned(new))
_PODS = "the pod may do more than before"
_CONSTRAINT = "pods may have more privileges"
_NODES = "it configures the nodes, as root"
_WHO = "it decides who people are"
_CLEAR = "connections may be plain"
_MIRROR = "images come from another place"
_FILLED_IN = "users of it fill in a field that gives power"
_OTHER_CODE = "its code may get other rights"
_MADE = "other objects come of it, which olmc does not follow"
UNCHECKED = "a check is removed or weaker"
_OPEN = "it lets more traffic through"
_OUTSIDE = "it is reachable from outside of the cluster"
_ELSEWHERE = "requests go somewhere else"
_SOURCE = "the applied content comes from another source"
_LIMIT = "a limit is removed"
_RUNS = "it runs other code"
_WORKS = "pods may get other rights"
_TEKTON = "tekton-pipelines/config-defaults openshift-pipelines/config-defaults"
_PROJECT = "its applications may do more"
_MESH_LEFT = "its traffic leaves the service mesh and the checks there"
_NAMES = "names lead somewhere else"
_IMPERSONATED = "somebody on the way may answer in its place"
_CA = "somebody else may answer in its place"
_SECRETS = "Secrets come from another place, or go there"
_COPIED = "its content is copied into other namespaces"
_ISSUER = "somebody else signs certificates, or asks for less proof"
_MACHINES = "machines get another image or other rights"
_ARGO_RIGHTS = "it decides who may do what in Argo CD"
_COPIES = "metrics go somewhere else"
_APPLIED = "it decides whether a tool applies this object"
MISLED = "requests go somewhere else, or are checked less"
_DRIFT = "differences in the cluster stay as they are"
_STAYS = "removed objects stay in the cluster"
_MOVES = "the tag may move at any time"
_BACKUPS = "backups, with the Secrets in them, go somewhere else"
ANY_CHANGE = "olmc cannot tell whether it still protects as much"
_ADMISSION = "admissionregistration.k8s.io"
_CONFIG = "config.openshift.io"
_NETWORK_OF_OTHERS = (
    "policy.networking.k8s.io/* cilium.io/Cilium*NetworkPolicy *projectcalico.org/*NetworkPolicy "
    "k8s.ovn.org/EgressFirewall network.openshift.io/EgressNetworkPolicy k8s.cni.cncf.io/MultiNetworkPolicy "
    "security.istio.io/AuthorizationPolicy security.istio.io/RequestAuthentication"
)
_CHECKERS = (
    "kyverno.io/ClusterPolicy kyverno.io/Policy policies.kyverno.io/*Policy constraints.gatekeeper.sh/* "
    "templates.gatekeeper.sh/ConstraintTemplate policy.sigstore.dev/ClusterImagePolicy "
    f"policy.open-cluster-management.io/Policy {_CONFIG}/ClusterImagePolicy {_CONFIG}/ImagePolicy"
)
_ARGO = "argoproj.io/Application argoproj.io/ApplicationSet"
_FLUX = "*toolkit.fluxcd.io"


def _risk(kinds: str, path: str, test: FieldTest, why: str, names: str = "") -> ObjectRisk:
    return ObjectRisk(tuple(kinds.split()), tuple(path.split()), test, why, tuple(names.split()))


def _risks(kinds: str, paths: str, test: FieldTest, why: str, below: str = "") -> tuple[ObjectRisk, ...]:
    """Make one row for each of several fields; `below` is where they are."""
    return tuple(_risk(kinds, f"{below} {path}", test, why) for path in paths.split())


# What a pod, or whatever has a template of pods, may do: in every object, at any place.
POD_RISKS: tuple[ObjectRisk, ...] = (
    # OpenShift forbids escalation where a pod says nothing, so true is more than nothing.
    *_risks("*/*", "privileged allowPrivilegeEscalation", turns(True), _PODS, "** securityContext"),
    *_risks("*/*", "hostNetwork hostPID hostIPC", turns(True), _PODS, "**"),
    *_risks("*/*", "runAsUser runAsGroup fsGroup", turns(0), _PODS, "** securityContext"),
    _risk("*/*", "** securityContext supplementalGroups", _JOINS_ROOT, _PODS),
    _risk("*/*", "** securityContext procMount", turns("Unmasked"), _PODS),
    *_risks("*/*", "runAsNonRoot readOnlyRootFilesystem", leaves(True), _PODS, "** securityContext"),
    _risk("*/*", "** securityContext allowPrivilegeEscalation", leaves(False), _PODS),
    *_risks("*/*", "hostUsers automountServiceAccountToken", leaves(False), _PODS, "**"),
    _risk("*/*", "** seccompProfile type", turns("Unconfined"), _PODS),
    _risk("*/*", "** appArmorProfile type", turns("Unconfined"), _PODS),
    _risk("*/*", "** seccompProfile type", _PROFILE, _PODS),
    _risk("*/*", "** appArmorProfile type", _PROFILE, _PODS),
    _risk("*/*", "** annotations container.apparmor.security.beta.kubernetes.io/*", turns("unconfined"), _PODS),
    _risk("*/*", "** annotations container.apparmor.security.beta.kubernetes.io/*", CHANGES, _PODS),
    _risk("*/*", "** annotations *seccomp.security.alpha.kubernetes.io/*", turns("unconfined"), _PODS),
    _risk("*/*", "** capabilities add", GROWS, _PODS),
    _risk("*/*", "** capabilities drop", _DROPS, _PODS),
    _risk("*/*", "** sysctls * value", COMES, _PODS),
    _risk("*/*", "** windowsOptions hostProcess", turns(True), _PODS),
    _risk("*/*", "** windowsOptions gmsaCredentialSpecName", COMES, _PODS),
    _risk("*/*", "** windowsOptions runAsUserName", COMES, _PODS),
    _risk("*/*", "** seLinuxOptions type", _SELINUX_TYPE, _PODS),
    *_risks("*/*", "user role level", COMES, _PODS, "** seLinuxOptions"),
    _risk("*/*", "** hostPath path", COMES, _PODS),
    _risk("*/*", "** hostPath type", COMES, _PODS),
    _risk("*/*", "** hostPort", COMES, _PODS),
    _risk("*/*", "** flexVolume driver", COMES, _PODS),
    _risk("*/*", "** serviceAccountToken audience", COMES, "it gets a token for another service"),
    _risk("*/*", "** runtimeClassName", CHANGES, "another runtime may isolate less"),
    _risk("*/*", "** template spec nodeName", COMES, "it runs on a node that no scheduler chose"),
    _risk("*/*", "** adminAccess", turns(True), "it reaches devices that others use"),
    _risk("*/*", "** shareProcessNamespace", _SET_ON, "its containers reach each other's processes and files"),
    _risk("*/*", "** hostAliases", _GETS, _NAMES),
    *_risks("*/*", "nameservers searches", _GETS, _NAMES, "** dnsConfig"),
    _risk("*/*", "** mountPropagation", turns("Bidirectional"), "its mounts appear on the node"),
    *_risks("*/*", "nfs iscsi rbd cephfs glusterfs fc quobyte", _GETS, "it mounts storage of another host",
            "** volumes *"),
    _risk("*/*", "** annotations k8s.v1.cni.cncf.io/networks", _GETS, "it joins a network that no policy covers"),
    _risk("*/*", "** gitRepo repository", COMES, "the node runs git for it, as root"),
    _risk("*/*", "** hostDisk path", COMES, "it is a file of the node"),
    _risk("*/*", "** annotations openshift.io/required-scc", _STRONG_CONSTRAINT, _CONSTRAINT),
    *_risks("*/*", "sidecar.istio.io/inject", turns("false"), _MESH_LEFT, "** *"),
    *_risks("*/*", "linkerd.io/inject", turns("disabled"), _MESH_LEFT, "** annotations"),
    _risk("*/*", "** annotations traffic.sidecar.istio.io/exclude*", _GETS, _MESH_LEFT),
    _risk("*/*", "** annotations iam.amazonaws.com/role", COMES, "the cloud takes it for somebody else"),
    _risk("*/*", "** annotations vault.hashicorp.com/role", FieldTest(COMES.holds), "it gets Secrets of another role"),
    *_risks("*/*", "sidecar.istio.io/userVolume sidecar.istio.io/userVolumeMount", COMES, _PODS, "** annotations"),
    _risk("*/*", "** env", _MISLEADS, MISLED),
    _risk("*/*", "** priorityClassName", FieldTest(turns("system-node-critical", "system-cluster-critical").holds),
          "its pods may drive others away"),
    _risk("*/*", "** imagePullPolicy", _NEVER, "it runs the image that a node has under this name"),
    _risk("*/*", "** volumes * image", _BEGINS, "it mounts the files of an image"),
    _risk("*/*", "** image", IMAGE, "the image is less certain"),
    _risk("*/*", "** image reference", IMAGE, "the image is less certain"),
    _risk("*/*", "** image repository", REGISTRY, "the image is from another registry"),
    _risk("*/*", "** image registry", CHANGES, "the image is from another registry"),
    *_risks("*/*", "insecureSkipVerify insecureSkipTLSVerify insecureSkipTlsVerify skipTLSVerify skipTlsVerify "
            "skipVerify tlsSkipVerify insecureTLS disableTLS", _SET_ON, _IMPERSONATED, "**"),
)  # fmt: skip

OBJECT_RISKS: tuple[ObjectRisk, ...] = (
    *POD_RISKS,
    # Namespaces
    _risk("/Namespace", "metadata labels pod-security.kubernetes.io/enforce", turns("privileged"),
          "pods may have every privilege"),
    _risk("/Namespace", "metadata labels pod-security.kubernetes.io/enforce",
          weakens("restricted", "baseline", ("privileged", ABSENT)), "pods may have more privileges"),
    _risk("/Namespace", "metadata labels pod-security.kubernetes.io/enforce-version", _OLDER,
          "an older version of the standard forbids less"),
    _risk("/Namespace", "metadata labels openshift.io/run-level", COMES, "pods start without any constraints"),
    _risk("/Namespace", "metadata labels security.openshift.io/scc.podSecurityLabelSync", turns("true"),
          "OpenShift may relax pod security by itself"),
    *_risks("/Namespace",
            "openshift.io/sa.scc.uid-range openshift.io/sa.scc.mcs openshift.io/sa.scc.supplemental-groups", CHANGES,
            "pods may run as users of other namespaces", "metadata annotations"),
    *_risks("/Namespace", "admission.gatekeeper.sh/ignore policy.sigstore.dev/exclude", COMES, UNCHECKED,
            "metadata labels"),
    _risk("/Namespace", "metadata labels policy.sigstore.dev/include", GOES, UNCHECKED),
    _risk("/Namespace", "metadata labels", _LEAVES_MESH, _MESH_LEFT),
    *_risks("/Namespace", "openshift.io/node-selector scheduler.alpha.kubernetes.io/node-selector", CHANGES,
            "pods may run on other nodes", "metadata annotations"),
    *_risks("/Namespace", "iam.amazonaws.com/permitted iam.amazonaws.com/allowed-roles", COMES,
            "pods get other rights in the cloud", "metadata annotations"),
    # Who people are
    _risk("/ConfigMap", "data map*", _GRANTS, _WHO, "kube-system/aws-auth"),
    _risk("/ConfigMap", "data *", COMES, "it decides whom API servers trust",
          "kube-system/extension-apiserver-authentication"),
    _risk("/ConfigMap /Secret", "data *", COMES, "it holds whom the cluster trusts, and how people log in",
          "openshift-config/*"),
    _risk("/Secret", "stringData *", COMES, "it holds whom the cluster trusts, and how people log in",
          "openshift-config/*"),
    _risk("/ConfigMap", "data *", COMES, "it decides where names lead",
          "kube-system/coredns kube-system/kube-dns openshift-dns/dns-default"),
    _risk("/ConfigMap", "data *", COMES, _ARGO_RIGHTS,
          "*/argocd-rbac-cm */argocd-cm */argocd-cmd-params-cm */argocd-ssh-known-hosts-cm */argocd-tls-certs-cm "
          "*/argocd-gpg-keys-cm"),
    _risk("argoproj.io/ArgoCD", "spec rbac", COMES, _ARGO_RIGHTS),
    *_risks("argoproj.io/ArgoCD", "sourceNamespaces", GROWS, _ARGO_RIGHTS, "spec"),
    *_risks("argoproj.io/ArgoCD", "extraConfig cmdParams oidcConfig sso kustomizeBuildOptions resourceExclusions "
            "configManagementPlugins", COMES._replace(of_new=False), _ARGO_RIGHTS, "spec"),
    _risk("argoproj.io/ArgoCD", "spec usersAnonymousEnabled", turns(True), _ARGO_RIGHTS),
    _risk("argoproj.io/ArgoCD", "spec disableAdmin", leaves(True), _ARGO_RIGHTS),
    _risk("/ConfigMap", "data *", COMES, "nodes take their settings from it",
          "kube-system/kubelet-config* kube-system/kubeadm-config kube-system/kube-proxy"),
    _risk("/ConfigMap", "data *", COMES, "nodes that join trust it", "kube-public/cluster-info"),
    _risk("/ConfigMap", "data mesh", COMES, "it decides what the service mesh checks", "istio-system/istio*"),
    _risk("/ConfigMap", "data allow-snippet-annotations", turns("true"),
          "each Ingress may change the configuration of the controller"),
    _risk("/ConfigMap", "data *", COMES, "it decides what Kyverno checks", "kyverno/kyverno"),
    _risk("/Secret", "type", turns("bootstrap.kubernetes.io/token"), "nodes may join with it"),
    _risk("/Secret", "metadata labels argocd.argoproj.io/secret-type", COMES,
          "Argo CD gets another repository or cluster"),
    _risk("/Secret", "metadata labels", _OF_CLUSTER, "ApplicationSets choose clusters by its labels"),
    _risk(f"{_CONFIG}/OAuth", "spec identityProviders", GROWS, _WHO),
    _risk(f"{_CONFIG}/OAuth", "spec templates", GROWS, "it decides where people enter passwords"),
    *_risks(f"{_CONFIG}/Authentication",
            "type oidcProviders webhookTokenAuthenticator webhookTokenAuthenticators serviceAccountIssuer "
            "oauthMetadata", COMES, _WHO, "spec"),
    _risk("oauth.openshift.io/OAuthClient oauth.openshift.io/OAuth*Token oauth.openshift.io/OAuthClientAuthorization",
          "", ADDED, "it gets tokens of people"),
    _risk("oauth.openshift.io/OAuthClient", "redirectURIs", GROWS, "tokens of people go somewhere else"),
    _risk("oauth.openshift.io/OAuthClient", "grantMethod", turns("auto"), "people are not asked"),
    _risk("oauth.openshift.io/OAuthClient", "scopeRestrictions", WIDENS, "tokens may do more"),
    *_risks("oauth.openshift.io/OAuthClient", "secret additionalSecrets", COMES, "somebody else may use it"),
    _risk("user.openshift.io/UserIdentityMapping user.openshift.io/Identity", "", ADDED, _WHO),
    *_risks("user.openshift.io/UserIdentityMapping user.openshift.io/Identity", "user identity", COMES, _WHO),
    *_risks("user.openshift.io/User", "identities groups", GROWS, _WHO),
    _risk("certificates.k8s.io/CertificateSigningRequest", "", ADDED, "it requests a certificate for another identity"),
    _risk("certificates.k8s.io/CertificateSigningRequest", "spec request", CHANGES,
          "it requests a certificate for another identity"),
    _risk("certificates.k8s.io/ClusterTrustBundle trust.cert-manager.io/Bundle", "spec", COMES,
          "it decides whose certificates count"),
    *_risks("cert-manager.io/Certificate cert-manager.io/CertificateRequest", "commonName", _OF_SYSTEM, _WHO, "spec"),
    _risk("cert-manager.io/Certificate", "spec subject organizations", _OF_SYSTEM, _WHO),
    *_risks("cert-manager.io/Issuer cert-manager.io/ClusterIssuer", "server caBundle", COMES._replace(of_new=False),
            _ISSUER, "spec acme"),
    *_risks("cert-manager.io/Issuer cert-manager.io/ClusterIssuer", "ca vault venafi selfSigned", _OTHER, _ISSUER,
            "spec"),
    _risk("policy.cert-manager.io/CertificateRequestPolicy", "spec", COMES, "requests for certificates are approved"),
    _risk("cert-manager.io/Certificate", "spec isCA", turns(True), "it may sign certificates"),
    # Accounts
    *_risks("/ServiceAccount", "eks.amazonaws.com/role-arn iam.gke.io/gcp-service-account "
            "azure.workload.identity/client-id azure.workload.identity/tenant-id", COMES,
            "the cloud takes it for somebody else", "metadata annotations"),
    _risk("/ServiceAccount", "metadata annotations serviceaccounts.openshift.io/oauth-*", COMES,
          "tokens of people may go there"),
    _risk("cloudcredential.openshift.io/CredentialsRequest", "spec providerSpec", COMES, "it may do more in the cloud"),
    _risk("iam.* *.iam.* iam.services.k8s.aws/*", "spec", COMES, "it changes rights in the cloud"),
    *_risks("*crossplane.io/*ProviderConfig *upbound.io/*ProviderConfig",
            "credentials identity assumeRole assumeRoleChain assumeRoleWithWebIdentity webIdentity endpoint", _OTHER,
            "it works with other rights", "spec"),
    _risk("apiextensions.crossplane.io/Composition", "spec pipeline * functionRef name", CHANGES, _MADE),
    *_risks("apiextensions.crossplane.io/Composition",
            "inline template script export spec", DIFFERS, _MADE, "spec pipeline * input"),
    *(_risk("apiextensions.crossplane.io/Composition", f"{place} patches * toFieldPath", _LEADS_TO_POWER,
            "users of it fill in a field that gives power")
      for place in ("spec resources *", "spec patchSets *", "spec pipeline * input resources *",
                    "spec pipeline * input patchSets *")),
    _risk("apiextensions.crossplane.io/Composition", "spec pipeline", _MORE_FUNCTIONS, _MADE),
    _risk("apiextensions.crossplane.io/Composition", "spec pipeline * input fileSystem dirPath", CHANGES, _MADE),
    _risk("apiextensions.crossplane.io/Composition", "spec pipeline * credentials * secretRef", _OTHER,
          "a function gets another Secret"),
    _risk("apiextensions.crossplane.io/Composition", "spec pipeline * requirements", _MORE_SECRETS,
          "a function gets another Secret"),
    *_risks("*crossplane.io/* *upbound.io/*", "providerConfigRef", CHANGES, "it works with other rights", "spec"),
    _risk("pkg.crossplane.io/DeploymentRuntimeConfig", "spec serviceAccountTemplate metadata name", CHANGES,
          _OTHER_CODE),
    _risk("pkg.crossplane.io/DeploymentRuntimeConfig", "spec deploymentTemplate spec template spec serviceAccountName",
          CHANGES, _OTHER_CODE),
    _risk("pkg.crossplane.io/ImageConfig", "spec rewriteImage prefix", COMES, _MIRROR),
    _risk("pkg.crossplane.io/ImageConfig", "spec verification", GOES, UNCHECKED),
    _risk("pkg.crossplane.io/ImageConfig", "spec verification", _BOTH_DIFFER, ANY_CHANGE),
    *_risks("kro.run/ResourceGraphDefinition", "privileged allowPrivilegeEscalation", _EXPRESSION, _FILLED_IN,
            "** securityContext"),
    *_risks("kro.run/ResourceGraphDefinition", "hostNetwork hostPID hostIPC", _EXPRESSION, _FILLED_IN, "**"),
    *_risks("kro.run/ResourceGraphDefinition", "apiVersion kind", _EXPRESSION, _FILLED_IN, "spec resources * template"),
    _risk("core.oam.dev/*Definition", "spec schematic", DIFFERS, _MADE),
    _risk("metacontroller.k8s.io/*", "spec hooks", DIFFERS, "its objects come from another service"),
    *_risks("pkg.crossplane.io/*", "runtimeConfigRef controllerConfigRef", _OTHER, _OTHER_CODE, "spec"),
    # Secrets
    _risk("external-secrets.io/SecretStore external-secrets.io/ClusterSecretStore", "spec provider", _OTHER, _SECRETS),
    _risk("external-secrets.io/ClusterSecretStore", "spec conditions", WIDENS, "other namespaces may use it"),
    _risk("external-secrets.io/*PushSecret", "spec", COMES, "it copies Secrets to another place"),
    _risk("secrets.hashicorp.com/VaultConnection", "spec address", _OTHER, _SECRETS),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret", "** secretStoreRef", CHANGES,
          _SECRETS),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret", "** data", _OTHER_KEYS,
          _SECRETS),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret", "** dataFrom * extract key",
          CHANGES, _SECRETS),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret", "** dataFrom", _FINDS,
          "it fetches all Secrets that a pattern finds"),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret", "** target manifest", COMES,
          _MADE),
    _risk("external-secrets.io/ExternalSecret external-secrets.io/ClusterExternalSecret",
          "** target template templateFrom", _ANY_TEMPLATE, "olmc does not follow a template of its metadata"),
    _risk("external-secrets.io/ClusterExternalSecret", "spec namespaces", _GETS, _COPIED),
    *_risks("external-secrets.io/ClusterExternalSecret", "namespaceSelector namespaceSelectors", CHANGES, _COPIED,
            "spec"),
    *_risks("secrets.hashicorp.com/Vault*Secret", "mount path namespace role vaultAuthRef", CHANGES, _SECRETS, "spec"),
    *_risks("secrets.hashicorp.com/VaultAuth secrets.hashicorp.com/VaultAuthGlobal", "role", CHANGES,
            "it gets Secrets of another role", "spec *"),
    *_risks("secrets-store.csi.x-k8s.io/SecretProviderClass", "roleName vaultRole role vaultAddress vaultNamespace "
            "keyvaultName tenantId clientID userAssignedIdentityID", CHANGES, _SECRETS, "spec parameters"),
    *_risks("velero.io/BackupStorageLocation", "bucket prefix", CHANGES, _BACKUPS, "spec objectStorage"),
    *_risks("velero.io/BackupStorageLocation", "provider config", CHANGES, _BACKUPS, "spec"),
    _risk("velero.io/Restore", "", ADDED, "it writes the objects of a backup"),
    _risk("/Secret", "metadata annotations kubernetes.io/service-account.name", CHANGES,
          "it gets a token of another ServiceAccount"),
    _risk("/Secret", "metadata annotations reflector.v1.k8s.emberstack.com/reflection-*", COMES, _COPIED),
    _risk("/Secret", "metadata annotations replicator.v1.mittwald.de/replicat*-to*", COMES, _COPIED),
    # Privileges of pods
    *_risks("security.openshift.io/SecurityContextConstraints",
            "allowPrivilegedContainer allowHostNetwork allowHostPorts allowHostPID allowHostIPC "
            "allowHostDirVolumePlugin allowPrivilegeEscalation defaultAllowPrivilegeEscalation", turns(True),
            _CONSTRAINT),
    _risk("security.openshift.io/SecurityContextConstraints", "allowPrivilegeEscalation", leaves(False), _CONSTRAINT),
    *_risks("security.openshift.io/SecurityContextConstraints",
            "allowedCapabilities defaultAddCapabilities allowedUnsafeSysctls allowedFlexVolumes", GROWS, _CONSTRAINT),
    _risk("security.openshift.io/SecurityContextConstraints", "volumes",
          _VOLUMES, _CONSTRAINT),
    _risk("security.openshift.io/SecurityContextConstraints", "seccompProfiles",
          _SECCOMP, _CONSTRAINT),
    _risk("security.openshift.io/SecurityContextConstraints", "seccompProfiles", GOES, _CONSTRAINT),
    *_risks("security.openshift.io/SecurityContextConstraints", "requiredDropCapabilities forbiddenSysctls", _DROPS,
            _CONSTRAINT),
    _risk("security.openshift.io/SecurityContextConstraints", "readOnlyRootFilesystem", leaves(True), _CONSTRAINT),
    *_risks("security.openshift.io/SecurityContextConstraints", "runAsUser seLinuxContext fsGroup supplementalGroups",
            _LEFT_TO_PODS, _CONSTRAINT),
    *_risks("security.openshift.io/SecurityContextConstraints", "users groups", GROWS, "others may use it"),
    _risk("security.openshift.io/SecurityContextConstraints", "priority", INCREASES, "it comes before others"),
    _risk("*/PodSecurityPolicy", "spec", COMES, _CONSTRAINT),
    # Admission
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicy {_ADMISSION}/ValidatingAdmissionPolicyBinding", "", REMOVED,
          UNCHECKED),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicy", "spec failurePolicy", turns("Ignore"), UNCHECKED),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicy", "spec matchConstraints",
          _CHECKS_LESS, UNCHECKED),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicy", "spec validations",
          _LOSES_CHECKS, UNCHECKED),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicy", "spec matchConditions", GROWS, UNCHECKED),
    *_risks(f"{_ADMISSION}/ValidatingAdmissionPolicy", "variables paramKind", CHANGES, ANY_CHANGE, "spec"),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicyBinding", "spec validationActions",
          _NO_LONGER_DENIES, UNCHECKED),
    _risk(f"{_ADMISSION}/ValidatingAdmissionPolicyBinding", "spec matchResources",
          _CHECKS_LESS, UNCHECKED),
    *_risks(f"{_ADMISSION}/ValidatingAdmissionPolicyBinding", "policyName paramRef", CHANGES, ANY_CHANGE, "spec"),
    _risk(f"{_ADMISSION}/MutatingAdmissionPolicy {_ADMISSION}/MutatingAdmissionPolicyBinding", "spec", COMES,
          "it changes objects of others on their way into the cluster"),
    _risk("kyverno.io/ClusterPolicy kyverno.io/Policy", "spec rules * mutate", COMES, "it changes objects of others"),
    _risk("kyverno.io/ClusterPolicy kyverno.io/Policy", "spec rules * generate", COMES, "it makes objects"),
    _risk("mutations.gatekeeper.sh/* policies.kyverno.io/Mutating* policies.kyverno.io/Generating*", "spec", COMES,
          "it changes objects of others"),
    _risk("*kyverno.io/*PolicyException config.gatekeeper.sh/Config", "spec", COMES, UNCHECKED),
    *_risks("kyverno.io/*CleanupPolicy policies.kyverno.io/*DeletingPolicy",
            "match matchConstraints matchConditions conditions exclude variables", COMES, "it deletes objects", "spec"),
    _risk("kyverno.io/GlobalContextEntry", "spec apiCall service url", _OTHER_HOST, _ELSEWHERE),
    _risk("kyverno.io/GlobalContextEntry", "spec apiCall service caBundle", CHANGES, _CA),
    _risk("externaldata.gatekeeper.sh/Provider", "spec url", _OTHER_HOST, _ELSEWHERE),
    _risk("externaldata.gatekeeper.sh/Provider", "spec caBundle", CHANGES, _CA),
    _risk("externaldata.gatekeeper.sh/Provider", "spec insecureTLSSkipVerify", turns(True), _IMPERSONATED),
    _risk("expansion.gatekeeper.sh/ExpansionTemplate policies.kubewarden.io/*", "", REMOVED, UNCHECKED),
    _risk("expansion.gatekeeper.sh/ExpansionTemplate", "spec", DIFFERS, ANY_CHANGE),
    _risk("policies.kubewarden.io/*", "spec mode", weakens(("protect", ABSENT), "monitor"), UNCHECKED),
    _risk("policies.kubewarden.io/*", "spec mutating", turns(True), "it changes objects of others"),
    _risk("policies.kubewarden.io/*", "spec failurePolicy", turns("Ignore"), UNCHECKED),
    _risk("policies.kubewarden.io/*", "spec rules", SHRINKS, UNCHECKED),
    *_risks("policies.kubewarden.io/*", "settings expression policies namespaceSelector objectSelector matchConditions "
            "contextAwareResources", _OTHER, ANY_CHANGE, "spec"),
    _risk("policies.kubewarden.io/*", "** module", _OTHER_HOST, "the policy comes from another registry"),
    _risk("/ConfigMap", "", REMOVED, UNCHECKED, "opa/*"),
    _risk("/ConfigMap", "data *", CHANGES, ANY_CHANGE, "opa/*"),
    _risk(_CHECKERS, "", REMOVED, UNCHECKED),
    _risk(_CHECKERS, "spec", _CHECKS_OTHERS, ANY_CHANGE),
    _risk("kyverno.io/*", "spec validationFailureAction", _NO_LONGER_ENFORCES, UNCHECKED),
    _risk("constraints.gatekeeper.sh/*", "spec enforcementAction",
          weakens(("deny", "scoped", ABSENT), "warn", "dryrun"), UNCHECKED),
    _risk("*kyverno.io/*", "** failureAction", _NO_LONGER_ENFORCES, UNCHECKED),
    _risk("*kyverno.io/*", "spec failurePolicy", turns("Ignore"), UNCHECKED),
    _risk("*kyverno.io/* constraints.gatekeeper.sh/*", "** exclude", COMES, UNCHECKED),
    _risk("constraints.gatekeeper.sh/*", "spec match", COMES, UNCHECKED),
    _risk("security-profiles-operator.x-k8s.io/SeccompProfile", "spec defaultAction",
          weakens(("SCMP_ACT_KILL", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_ERRNO", "SCMP_ACT_TRAP"),
                  "SCMP_ACT_LOG"), _PODS),
    _risk("security-profiles-operator.x-k8s.io/SeccompProfile", "spec syscalls", _GETS, _PODS),
    _risk("cilium.io/TracingPolicy cilium.io/TracingPolicyNamespaced", "", REMOVED, UNCHECKED),
    # API servers and nodes
    _risk("apiregistration.k8s.io/APIService", "", ADDED, "it has a say in what is sent to the API server"),
    _risk("apiregistration.k8s.io/APIService", "spec service", DIFFERS, _ELSEWHERE),
    _risk("apiregistration.k8s.io/APIService", "spec caBundle", CHANGES, _CA),
    _risk("apiregistration.k8s.io/APIService", "spec insecureSkipTLSVerify", turns(True),
          "anybody on the way may answer in its place"),
    _risk("machineconfiguration.openshift.io/MachineConfig machineconfiguration.openshift.io/KubeletConfig "
          "machineconfiguration.openshift.io/ContainerRuntimeConfig machineconfiguration.openshift.io/MachineOSConfig "
          "tuned.openshift.io/Tuned performance.openshift.io/PerformanceProfile "
          "nmstate.io/NodeNetworkConfigurationPolicy", "spec", COMES, _NODES),
    *_risks("bootstrap.cluster.x-k8s.io/* controlplane.cluster.x-k8s.io/*",
            "preKubeadmCommands postKubeadmCommands files users preRKE2Commands postRKE2Commands", GROWS, _NODES, "**"),
    *_risks("machine.openshift.io/*", "ami image iamInstanceProfile userDataSecret serviceAccounts credentialsSecret "
            "managedIdentity", COMES._replace(of_new=False), _MACHINES, "** value"),
    *_risks("karpenter.k8s.aws/EC2NodeClass", "userData amiSelectorTerms role instanceProfile",
            COMES._replace(of_new=False), _MACHINES, "spec"),
    _risk("hypershift.openshift.io/NodePool", "spec config", GROWS, _NODES),
    _risk("/Node", "spec taints", SHRINKS, "other pods may run there"),
    _risk("/Node", "metadata labels node-role.kubernetes.io/*", DIFFERS, "other pods may run there"),
    _risk(f"{_CONFIG}/APIServer", "spec audit profile",
          weakens("AllRequestBodies", "WriteRequestBodies", ("Default", ABSENT), "None"), "less is recorded"),
    _risk(f"{_CONFIG}/APIServer", "spec audit customRules", COMES, "less may be recorded"),
    _risk(f"{_CONFIG}/APIServer", "spec encryption type", _NO_LONGER_ENCRYPTS, "Secrets are stored plain"),
    *_risks(f"{_CONFIG}/APIServer", "clientCA additionalCORSAllowedOrigins servingCerts", GROWS, "it trusts others",
            "spec"),
    *_risks(f"{_CONFIG}/APIServer operator.openshift.io/IngressController", "tlsSecurityProfile", CHANGES,
            "connections may be weaker", "spec"),
    *_risks(f"{_CONFIG}/Proxy", "httpProxy httpsProxy trustedCA", COMES, _ELSEWHERE, "spec"),
    _risk(f"{_CONFIG}/Scheduler", "spec mastersSchedulable", turns(True), "other pods run beside the control plane"),
    _risk(f"{_CONFIG}/Project", "spec projectRequestTemplate", COMES, "new projects get other rights and limits"),
    _risk(f"{_CONFIG}/OperatorHub", "spec disableAllDefaultSources", leaves(True), "the default catalogs return"),
    _risk(f"{_CONFIG}/OperatorHub", "spec sources * disabled", leaves(True), "a default catalog returns"),
    _risk("operator.openshift.io/DNS", "spec servers", GROWS, _NAMES),
    _risk("operator.openshift.io/DNS", "spec upstreamResolvers", COMES, _NAMES),
    _risk("operator.openshift.io/IngressController", "spec defaultCertificate", COMES, _IMPERSONATED),
    _risk("operator.openshift.io/IngressController", "spec clientTLS clientCertificatePolicy", leaves("Required"),
          UNCHECKED),
    *_risks("logging.openshift.io/ClusterLogForwarder observability.openshift.io/ClusterLogForwarder", "outputs", _GETS,
            "logs go somewhere else", "spec"),
    *_risks(f"{_CONFIG}/Build", "gitProxy defaultProxy", COMES, _ELSEWHERE, "spec buildDefaults"),
    _risk(f"{_CONFIG}/Build", "spec additionalTrustedCA", COMES, "builds trust other registries"),
    _risk(f"{_CONFIG}/FeatureGate", "spec", COMES, "the cluster gets unsupported features"),
    *_risks(f"{_CONFIG}/ClusterVersion", "upstream overrides", COMES, "the cluster may run something else", "spec"),
    *_risks(f"{_CONFIG}/ClusterVersion", "image", COMES, "the cluster may run something else", "spec desiredUpdate"),
    _risk(f"{_CONFIG}/ClusterVersion", "spec desiredUpdate force", turns(True), "the release is not verified"),
    _risk("operator.openshift.io/*", "spec unsupportedConfigOverrides", COMES, "the cluster may run something else"),
    *_risks("console.openshift.io/ConsolePlugin", "name namespace", CHANGES, "its code comes from another place",
            "** service"),
    *_risks("console.openshift.io/*", "href hrefTemplate", _OTHER_HOST, "people are led somewhere else", "**"),
    _risk("operator.openshift.io/Console", "spec plugins", GROWS, "its code runs as any user of the console"),
    _risk("console.openshift.io/ConsolePlugin", "** authorization", turns("UserToken"), "it gets tokens of people"),
    _risk("flowcontrol.apiserver.k8s.io/FlowSchema", "spec priorityLevelConfiguration name", turns("exempt"),
          "its requests have no limit"),
    # Images
    _risk(f"operator.openshift.io/ImageContentSourcePolicy {_CONFIG}/ImageContentPolicy {_CONFIG}/ImageDigestMirrorSet "
          f"{_CONFIG}/ImageTagMirrorSet", "** mirrors", GROWS, _MIRROR),
    _risk(f"operator.openshift.io/ImageContentSourcePolicy {_CONFIG}/Image*", "** source", CHANGES, _MIRROR),
    _risk(f"{_CONFIG}/Image*MirrorSet", "** mirrorSourcePolicy", leaves("NeverContactSource"), _MIRROR),
    *_risks(f"{_CONFIG}/Image", "insecureRegistries allowedRegistries containerRuntimeSearchRegistries", GROWS,
            _MIRROR, "spec registrySources"),
    *_risks(f"{_CONFIG}/Image", "allowedRegistries", WIDENS, _MIRROR, "spec registrySources"),
    *_risks(f"{_CONFIG}/Image", "blockedRegistries", SHRINKS, _MIRROR, "spec registrySources"),
    *_risks(f"{_CONFIG}/Image", "additionalTrustedCA allowedRegistriesForImport", COMES, _MIRROR, "spec"),
    _risk("image.openshift.io/ImageStream", "spec tags * from name", IMAGE, "the image is less certain"),
    _risk("*/*", "** importPolicy insecure", turns(True), "anybody on the way may answer in its place"),
    *_risks("pkg.crossplane.io/Provider pkg.crossplane.io/Configuration pkg.crossplane.io/Function", "package", IMAGE,
            "the package is less certain", "spec"),
    _risk("pkg.crossplane.io/Provider pkg.crossplane.io/Configuration pkg.crossplane.io/Function", "", ADDED,
          "its code gets rights of its own"),
    _risk("helm.openshift.io/*HelmChartRepository", "spec connectionConfig url", _OTHER, _SOURCE),
    _risk("build.openshift.io/BuildConfig", "** uri", CHANGES, "it builds something else"),
    _risk("build.openshift.io/BuildConfig", "** exposeDockerSocket", turns(True), _PODS),
    *_risks("tekton.dev/* triggers.tekton.dev/*", "pipelineRef taskRef ref", _FETCHES_OTHER, _RUNS, "**"),
    *_risks("tekton.dev/*", "bundle", IMAGE, _RUNS, "** pipelineRef"),
    *_risks("tekton.dev/*", "bundle", IMAGE, _RUNS, "** taskRef"),
    _risk("triggers.tekton.dev/*", "** interceptors", _ACCEPTS_MORE, "requests may be checked less"),
    _risk("/ConfigMap", "data *default-service-account", COMES._replace(of_new=False), _WORKS, _TEKTON),
    _risk("/ConfigMap", "data default-*pod-template", COMES._replace(of_new=False), _WORKS, _TEKTON),
    _risk("operator.tekton.dev/*", "** default-service-account", COMES._replace(of_new=False), _WORKS),
    _risk("olmc.dev/Config", "spec vendor mirrors", GROWS, _MIRROR),
    # Networks
    _risk("networking.k8s.io/NetworkPolicy", "", REMOVED, _OPEN),
    _risk("networking.k8s.io/NetworkPolicy", "spec", _LETS_THROUGH, _OPEN),
    _risk(_NETWORK_OF_OTHERS, "", REMOVED, _OPEN),
    _risk(_NETWORK_OF_OTHERS, "spec", DIFFERS, "olmc cannot tell whether it lets more traffic through"),
    _risk("security.istio.io/PeerAuthentication", "", REMOVED, _OPEN),
    _risk("security.istio.io/PeerAuthentication", "** mode",
          weakens("STRICT", ("PERMISSIVE", "UNSET", ABSENT), "DISABLE"), _CLEAR),
    _risk("networking.istio.io/EnvoyFilter extensions.istio.io/WasmPlugin", "spec", COMES, _ELSEWHERE),
    _risk("networking.istio.io/ServiceEntry", "spec endpoints", GROWS, _ELSEWHERE),
    _risk("networking.istio.io/DestinationRule", "** tls mode", leaves("ISTIO_MUTUAL", "MUTUAL"), _CLEAR),
    _risk("networking.istio.io/DestinationRule", "** tls mode", turns("DISABLE"), _CLEAR),
    *_risks("networking.istio.io/VirtualService gateway.networking.k8s.io/*Route", "mirror mirrors requestMirror",
            COMES, "copies of requests go somewhere else", "**"),
    _risk("policy.networking.k8s.io/AdminNetworkPolicy policy.networking.k8s.io/ClusterNetworkPolicy "
          "*projectcalico.org/GlobalNetworkPolicy", "** action", turns("Allow", "Accept"),
          "it lets traffic through before other policies count"),
    _risk("networking.istio.io/VirtualService gateway.networking.k8s.io/*Route networking.k8s.io/Ingress "
          "extensions/Ingress", "spec rules", _OTHER_BACKENDS, _ELSEWHERE),
    *_risks("networking.istio.io/VirtualService", "http tls tcp", _OTHER_BACKENDS, _ELSEWHERE, "spec"),
    _risk("networking.k8s.io/Ingress extensions/Ingress", "spec defaultBackend service name", CHANGES, _ELSEWHERE),
    _risk("gateway.networking.k8s.io/*Route", "** requestRedirect hostname", COMES._replace(of_new=False), _ELSEWHERE),
    _risk("networking.k8s.io/Ingress", "spec ingressClassName", CHANGES, "another controller serves it"),
    _risk("route.openshift.io/Route", "spec to name", CHANGES, _ELSEWHERE),
    _risk("route.openshift.io/Route", "spec alternateBackends", _MORE_BACKENDS, _ELSEWHERE),
    _risk("route.openshift.io/Route", "spec tls destinationCACertificate", CHANGES, _CA),
    _risk("gateway.networking.k8s.io/Gateway", "** namespaces from",
          weakens("None", ("Same", ABSENT), "Selector", "All"), "routes of other namespaces may join it"),
    _risk("gateway.networking.k8s.io/Gateway", "** protocol", leaves("HTTPS", "TLS"), _CLEAR),
    _risk("gateway.networking.k8s.io/Gateway", "** frontendValidation", GOES, UNCHECKED),
    *_risks("gateway.networking.k8s.io/ReferenceGrant", "from to", GROWS, "other namespaces may refer to objects here",
            "spec"),
    _risk("gateway.networking.k8s.io/BackendTLSPolicy", "", REMOVED, _CLEAR),
    _risk("networking.k8s.io/IngressClass", "metadata annotations ingressclass.kubernetes.io/is-default-class",
          turns("true"), "Ingresses that name no class get its controller"),
    _risk("discovery.k8s.io/EndpointSlice", "endpoints", GROWS, _ELSEWHERE),
    _risk("/Endpoints", "subsets", GROWS, _ELSEWHERE),
    _risk("/Service", "spec type", _EXPOSES, _OUTSIDE),
    _risk("/Service", "spec externalIPs", GROWS, "it takes traffic of these addresses"),
    _risk("/Service", "spec externalName", COMES, _ELSEWHERE),
    _risk("/Service", "spec selector", GOES, _ELSEWHERE),
    _risk("/Service", "spec loadBalancerSourceRanges", WIDENS, _OUTSIDE),
    _risk("/Service", "metadata annotations service.beta.kubernetes.io/*internal", leaves("true"), _OUTSIDE),
    _risk("/Service", "metadata annotations service.beta.kubernetes.io/aws-load-balancer-scheme",
          FieldTest(turns("internet-facing").holds), _OUTSIDE),
    _risk("/Service", "metadata annotations networking.gke.io/load-balancer-type", leaves("Internal"), _OUTSIDE),
    _risk("networking.k8s.io/Ingress", "metadata annotations alb.ingress.kubernetes.io/scheme",
          FieldTest(turns("internet-facing").holds), _OUTSIDE),
    _risk("networking.k8s.io/Ingress", "metadata annotations nginx.ingress.kubernetes.io/*-snippet", COMES,
          "it changes the configuration of the controller"),
    *_risks("networking.k8s.io/Ingress", "nginx.ingress.kubernetes.io/auth-* nginx.ingress.kubernetes.io/whitelist-* "
            "nginx.ingress.kubernetes.io/allowlist-*", CHANGES, _OUTSIDE, "metadata annotations"),
    _risk("networking.k8s.io/Ingress", "spec tls", SHRINKS, _CLEAR),
    _risk("route.openshift.io/Route", "metadata annotations haproxy.router.openshift.io/ip_*list", CHANGES, _OUTSIDE),
    _risk("route.openshift.io/Route", "spec tls", GOES, _CLEAR),
    _risk("route.openshift.io/Route", "spec tls termination", weakens("passthrough", "reencrypt", "edge"),
          _CLEAR),
    _risk("route.openshift.io/Route", "spec tls insecureEdgeTerminationPolicy", turns("Allow"),
          _CLEAR),
    *_risks("operator.openshift.io/IngressController", "namespaceOwnership wildcardPolicy",
            turns("InterNamespaceAllowed", "WildcardsAllowed"), "it takes traffic of others", "spec routeAdmission"),
    _risk(f"{_CONFIG}/Network", "spec externalIP", COMES, _ELSEWHERE),
    # Limits
    _risk("/ResourceQuota /LimitRange quota.openshift.io/ClusterResourceQuota", "", REMOVED, _LIMIT),
    _risk("/ResourceQuota", "spec hard *", GOES, _LIMIT),
    _risk("quota.openshift.io/ClusterResourceQuota", "spec quota hard *", GOES, _LIMIT),
    _risk("quota.openshift.io/ClusterResourceQuota", "spec selector", CHANGES, _LIMIT),
    *_risks("/ResourceQuota", "scopes scopeSelector", NARROWS, _LIMIT, "spec"),
    _risk("/LimitRange", "spec limits * max *", GOES, _LIMIT),
    _risk("/LimitRange", "spec limits * maxLimitRequestRatio *", GOES, _LIMIT),
    _risk("scheduling.k8s.io/PriorityClass", "globalDefault", turns(True), "pods may drive others away"),
    # Storage
    _risk("/PersistentVolume", "spec local path", COMES, "it is a directory of a node"),
    _risk("/PersistentVolume", "spec claimRef", CHANGES, "another claim gets it"),
    _risk("storage.k8s.io/StorageClass", "metadata annotations storageclass.*kubernetes.io/is-default-class",
          turns("true"), "claims that name no class get its volumes"),
    _risk("storage.k8s.io/StorageClass", "parameters *encrypted", leaves("true"), "volumes are stored plain"),
    _risk("storage.k8s.io/StorageClass", "mountOptions", SHRINKS, "its volumes may do more"),
    _risk("storage.k8s.io/CSIDriver", "spec tokenRequests", GROWS, "it gets tokens of accounts"),
    _risk("storage.k8s.io/CSIDriver", "spec volumeLifecycleModes", _GETS_EPHEMERAL, "pods may name its volumes"),
    _risk("storage.k8s.io/CSIDriver", "metadata labels security.kubernetes.io/csi-ephemeral-volume-profile",
          _CSI_PROFILE, "pods under stricter security may use it"),
    _risk("node.k8s.io/RuntimeClass", "handler", CHANGES, "another runtime may isolate less"),
    # Monitoring
    _risk("monitoring.coreos.com/*Monitor monitoring.coreos.com/Probe", "** bearerTokenFile", _OTHER_FILE,
          "Prometheus sends this file of its own to the endpoint"),
    _risk("monitoring.coreos.com/*", "** proxyUrl", COMES, _ELSEWHERE),
    *_risks("monitoring.coreos.com/*Monitor monitoring.coreos.com/Probe", "relabelings relabelConfigs", _LEADS_AWAY,
            _ELSEWHERE, "**"),
    *_risks("monitoring.coreos.com/Prometheus monitoring.coreos.com/PrometheusAgent", "remoteWrite", _GETS, _COPIES,
            "spec"),
    *_risks("monitoring.coreos.com/AlertmanagerConfig", "url apiURL", CHANGES, "alerts go somewhere else", "**"),
    _risk("/ConfigMap", "data config.yaml", _NAMES_OTHERS, _COPIES, "openshift-monitoring/cluster-monitoring-config "
          "openshift-user-workload-monitoring/user-workload-monitoring-config"),
    _risk("notification.toolkit.fluxcd.io/Provider", "spec address", _OTHER_HOST, _ELSEWHERE),
    _risk("opentelemetry.io/OpenTelemetryCollector", "spec config exporters * endpoint", _OTHER_HOST, _COPIES),
    # GitOps
    *_risks("*/*", "config.kubernetes.io/local-config kustomize.toolkit.fluxcd.io/reconcile", _OTHER, _APPLIED,
            "metadata annotations"),
    _risk("*/*", "metadata annotations kustomize.toolkit.fluxcd.io/ssa", joins_or_leaves("Ignore IfNotPresent"),
          _APPLIED),
    _risk("*/*", "metadata annotations argocd.argoproj.io/hook",
          joins_or_leaves("Skip SyncFail PreDelete PostDelete"), _APPLIED),
    _risk("*/*", "metadata annotations helm.sh/hook",
          joins_or_leaves("test test-success test-failure pre-delete post-delete pre-rollback post-rollback"),
          _APPLIED),
    *_risks(f"networking.k8s.io/NetworkPolicy {_ADMISSION}/* /ResourceQuota /LimitRange {_NETWORK_OF_OTHERS} "
            f"{_CHECKERS}", "argocd.argoproj.io/hook", FieldTest(COMES.holds),
            "a hook may be deleted once it is done", "metadata annotations"),
    _risk(_ARGO, "metadata annotations argocd.argoproj.io/skip-reconcile", FieldTest(turns("true").holds),
          f"Argo CD applies nothing; {_DRIFT}"),
    _risk(_ARGO, "** repoURL", DIFFERS, _SOURCE),
    *_risks(_ARGO, "project server namespace name", CHANGES, "it is applied somewhere else", "spec destination"),
    _risk(_ARGO, "spec project", CHANGES, "another project may allow more"),
    _risk("argoproj.io/ApplicationSet", "** template spec project", CHANGES, "another project may allow more"),
    _risk(_ARGO, "** targetRevision", _UNPINNED,
          _MOVES),
    *_risks(_ARGO, "ignoreDifferences ignoreApplicationDifferences", _GETS, _DRIFT, "**"),
    _risk(_ARGO, "** syncPolicy managedNamespaceMetadata", COMES._replace(of_new=False),
          "it decides the labels of a namespace, and with them its pod security"),
    _risk(_ARGO, "** syncPolicy syncOptions", _CHECKS_OPTIONS, UNCHECKED),
    _risk(_ARGO, "** automated selfHeal", leaves(True), _DRIFT),
    _risk("argoproj.io/ApplicationSet", "spec syncPolicy applicationsSync", weakens(("sync", ABSENT)), _DRIFT),
    _risk("argoproj.io/ApplicationSet", "spec syncPolicy preserveResourcesOnDeletion", _SET_ON, _STAYS),
    *_risks("argoproj.io/AppProject", "clusterResourceWhitelist namespaceResourceWhitelist sourceNamespaces "
            "destinationServiceAccounts", GROWS, _PROJECT, "spec"),
    *_risks("argoproj.io/AppProject", "sourceRepos destinations", _ALLOWS_MORE, _PROJECT, "spec"),
    *_risks("argoproj.io/AppProject", "groups policies jwtTokens", _ALLOWS_MORE, _PROJECT, "spec roles *"),
    _risk("argoproj.io/AppProject", "spec permitOnlyProjectScopedClusters", leaves(True), _PROJECT),
    *_risks("argoproj.io/AppProject", "namespaceResourceWhitelist", WIDENS, _PROJECT, "spec"),
    *_risks("argoproj.io/AppProject", "clusterResourceBlacklist namespaceResourceBlacklist syncWindows signatureKeys",
            SHRINKS, _PROJECT, "spec"),
    _risk(f"{_FLUX}/Kustomization {_FLUX}/HelmRelease", "** sourceRef", CHANGES, _SOURCE),
    _risk(f"{_FLUX}/Kustomization {_FLUX}/HelmRelease", "** chartRef", CHANGES, _SOURCE),
    *_risks(f"{_FLUX}/Kustomization {_FLUX}/HelmRelease", "serviceAccountName", CHANGES,
            "it is applied with other rights", "spec"),
    _risk(f"{_FLUX}/Kustomization {_FLUX}/HelmRelease", "spec kubeConfig", COMES, "it is applied somewhere else"),
    _risk(f"{_FLUX}/Kustomization {_FLUX}/HelmRelease", "spec suspend", turns(True), f"Flux applies nothing; {_DRIFT}"),
    _risk(f"{_FLUX}/Kustomization", "spec prune", leaves(True), _STAYS),
    _risk(f"{_FLUX}/Kustomization", "spec deletionPolicy", FieldTest(turns("Orphan").holds), _STAYS),
    _risk(f"{_FLUX}/Kustomization", "spec force", _SET_ON, "Flux deletes objects to replace them"),
    *_risks(f"{_FLUX}/HelmRelease", "disableSchemaValidation disableOpenAPIValidation", _SET_ON, UNCHECKED, "**"),
    _risk(f"{_FLUX}/HelmRelease", "spec driftDetection mode", weakens("enabled", "warn", ("disabled", ABSENT)), _DRIFT),
    _risk(f"{_FLUX}/HelmRelease", "spec driftDetection ignore", _GETS, _DRIFT),
    _risk(f"{_FLUX}/HelmRelease", "** verify", GOES, UNCHECKED),
    _risk(f"{_FLUX}/HelmRelease", "** verify", _BOTH_DIFFER, ANY_CHANGE),
    _risk("image.toolkit.fluxcd.io/ImagePolicy", "spec", COMES._replace(of_new=False), "Flux chooses other images"),
    _risk("image.toolkit.fluxcd.io/ImageUpdateAutomation", "spec", COMES, "Flux writes into a repository"),
    _risk("image.toolkit.fluxcd.io/ImageRepository", "spec insecure", turns(True), _IMPERSONATED),
    *_risks("source.toolkit.fluxcd.io/*", "url endpoint bucketName", CHANGES, _SOURCE, "spec"),
    *_risks("source.toolkit.fluxcd.io/*", "verify certSecretRef", GOES, UNCHECKED, "spec"),
    _risk("source.toolkit.fluxcd.io/*", "spec verify", _BOTH_DIFFER, ANY_CHANGE),
    _risk("source.toolkit.fluxcd.io/*", "spec insecure", turns(True), _IMPERSONATED),
    _risk("source.toolkit.fluxcd.io/*", "spec passCredentials", turns(True), "credentials go to other hosts"),
    _risk("source.toolkit.fluxcd.io/*", "spec proxySecretRef", COMES._replace(of_new=False), _ELSEWHERE),
    *_risks("source.toolkit.fluxcd.io/*", "commit digest tag", GOES, _MOVES, "spec ref"),
    _risk("notification.toolkit.fluxcd.io/Receiver", "spec type", FieldTest(turns("generic").holds),
          "requests need no signature"),
    *_risks("fluxcd.controlplane.io/FluxInstance", "multitenant networkPolicy", leaves(True), UNCHECKED,
            "spec cluster"),
    *_risks("fluxcd.controlplane.io/FluxInstance", "registry artifact", CHANGES, _SOURCE, "spec distribution"),
    _risk("fluxcd.controlplane.io/ResourceSet configsync.gke.io/R*Sync infra.contrib.fluxcd.io/Terraform",
          "** serviceAccountName", CHANGES, "it is applied with other rights"),
    _risk("infra.contrib.fluxcd.io/Terraform", "spec approvePlan", turns("auto"), "plans need no approval"),
    # OLM
    *_risks("operators.coreos.com/CatalogSource", "address image configMap sourceType", DIFFERS, _SOURCE, "spec"),
    _risk("operators.coreos.com/CatalogSource", "metadata annotations olm.catalogImageTemplate", COMES, _SOURCE),
    _risk("operators.coreos.com/CatalogSource", "spec updateStrategy registryPoll", _BEGINS, _MOVES),
    _risk("olm.operatorframework.io/ClusterCatalog", "spec source image pollIntervalMinutes", _BEGINS, _MOVES),
    *_risks("operators.coreos.com/CatalogSource", "catalogDir cacheDir", CHANGES, _SOURCE,
            "spec grpcPodConfig extractContent"),
    _risk("operators.coreos.com/OperatorCondition", "spec overrides", _GETS, "it overrides the state of an operator"),
    *_risks("operators.coreos.com/CatalogSource olm.operatorframework.io/ClusterCatalog", "priority", INCREASES,
            "it comes before other catalogs", "spec"),
    _risk("operators.coreos.com/CatalogSource", "spec grpcPodConfig securityContextConfig", leaves("restricted"),
          _PODS),
    _risk("operators.coreos.com/OperatorGroup", "spec upgradeStrategy", turns("TechPreviewUnsafeFailForward"),
          "OLM upgrades operators that fail"),
    _risk("operators.coreos.com/OperatorGroup", "spec serviceAccountName", CHANGES, "OLM installs with other rights"),
)  # fmt: skip


def _scc_rank(strategy: Any) -> int:
    """Rank how much a strategy of a constraint leaves to the pod."""
    kind = text(mapping(strategy).get("type"))
    if kind == "MustRunAsNonRoot":
        return 1
    return 2 if kind == "RunAsAny" else 0


_TOKEN_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def _host(url: Any) -> str:
    """Give the part of an address that names who answers, the whole where there is none."""
    head, marks, rest = text(url).partition("://")
    return rest.partition("/")[0] if marks else head


def _addresses(relabelings: Any) -> frozenset[str]:
    """List the addresses that take the place of those that were found."""
    given = (item for item in mappings(relabelings) if item.get("targetLabel") == "__address__")
    return frozenset(address for item in given if "$" not in (address := text(item.get("replacement"))))


def _urls(config: Any) -> frozenset[str]:
    """List the addresses in a text of YAML."""
    found: set[str] = set()
    waiting: list[Any] = [document.value for document in read("", text(config), Report())]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            found |= {text(below) for key, below in value.items() if key == "url"}
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return frozenset(found - {""})


def _allows_more(old: Any, new: Any) -> bool:
    """Tell whether a list allows more: an entry that allows comes, or one that forbids goes."""
    was, now = ({_frozen(item): item for item in (value if isinstance(value, list) else ())} for value in (old, new))
    come = any(not _forbids(now[entry]) for entry in now.keys() - was.keys())
    return come or any(_forbids(was[entry]) for entry in was.keys() - now.keys())


def _forbids(entry: Any) -> bool:
    """Tell whether an entry of an AppProject forbids: it begins with `!`, or is a policy that denies."""
    if isinstance(entry, Mapping):
        return any(text(entry.get(field)).startswith("!") for field in ("server", "name", "namespace"))
    return text(entry).startswith("!") or text(entry).replace(" ", "").endswith(",deny")


_PLACES = frozenset("url repo org serverURL pathInRepo namespace catalog type scmType kind name task".split())


def _fetches_other(old: Any, new: Any) -> bool:
    """Tell whether a reference of Tekton has a resolver fetch from another place, or a less certain revision."""
    was, now = mapping(old if old is not ABSENT else {}), mapping(new if new is not ABSENT else {})
    if not (was and now.get("resolver")):
        return False
    before, after = ({text(item.get("name")): item.get("value") for item in mappings(side.get("params"))}
                     for side in (was, now))  # fmt: skip
    if was.get("resolver") != now["resolver"] or any(before.get(name) != after.get(name) for name in _PLACES):
        return True
    bundles, revisions = ([text(side.get(name)) for side in (before, after)] for name in ("bundle", "revision"))
    return _is_other_image(*bundles) or (_is_pinned(revisions[0]) and not _is_pinned(revisions[1]))


def _proofs(interceptors: Any) -> frozenset[str]:
    """List how a trigger checks requests: secrets, filters and what else may refuse one."""
    found = set()
    for item in mappings(interceptors):
        given = {text(each.get("name")): each.get("value") for each in mappings(item.get("params"))}
        checks = {name: value for name, value in given.items() if name != "overlays"}
        found.add(_frozen([item.get("ref"), item.get("webhook"), checks]))
    return frozenset(found)


def _functions(pipeline: Any) -> frozenset[str]:
    return frozenset(text(mapping(step.get("functionRef")).get("name")) for step in mappings(pipeline))


def _secrets_read(requirements: Any) -> frozenset[str]:
    """List the Secrets that a function of Crossplane asks for."""
    given = mapping(requirements if requirements is not ABSENT else {})
    asked = (each for field in ("requiredResources", "extraResources") for each in mappings(given.get(field)))
    return frozenset(_frozen(each) for each in asked if each.get("kind") == "Secret")


def _other_templates(sources: Any) -> frozenset[str]:
    """List the templates of an ExternalSecret that write something other than its data."""
    return frozenset(_frozen(each) for each in mappings(sources) if each.get("target") not in (None, "", "Data"))


def _read_keys(data: Any) -> dict[str, str]:
    """List the keys of a Secret that an ExternalSecret writes, each with the value that it reads."""
    given = ((text(item.get("secretKey")), mapping(item.get("remoteRef"))) for item in mappings(data))
    return {name: _frozen([source.get("key"), source.get("property")]) for name, source in given if source}


def _backends(rules: Any) -> dict[str, frozenset[str]]:
    """List the services that rules of an Ingress, a route or a mesh lead to, by the requests that they match."""
    found: dict[str, frozenset[str]] = {}
    for rule in mappings(rules):
        paths = mappings(mapping(rule.get("http")).get("paths"))
        leads = [(_frozen([rule.get("host"), path.get("path")]), [path.get("backend")]) for path in paths]
        if not paths:
            given = [each.get("destination") for each in mappings(rule.get("route"))]
            asked = rule.get("matches") or rule.get("match")
            leads = [(_frozen(asked), [*mappings(rule.get("backendRefs")), *given])]
        for place, targets in leads:
            found[place] = found.get(place, frozenset()) | frozenset(map(_backend, map(mapping, targets)))
    return found


def _backend(target: Mapping[str, Any]) -> str:
    """Name the service of a backend; its port and its weight do not count."""
    service = target.get("service")
    name = target.get("serviceName") or (service.get("name") if isinstance(service, Mapping) else target.get("name"))
    return _frozen([target.get("namespace"), name, target.get("host"), target.get("resource")])


def _services(backends: Any) -> frozenset[str]:
    return frozenset(text(each.get("name")) for each in mappings(backends))


_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
# Variables by which programs send requests somewhere else, trust other certificates, or load other code.
_MISLEADING = frozenset(
    """KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_MASTER KUBECONFIG AWS_ENDPOINT_URL VAULT_ADDR
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE GIT_SSL_CAINFO
    GIT_SSL_CAPATH VAULT_CACERT VAULT_CAPATH LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH BASH_ENV PERL5OPT RUBYOPT GIT_SSH
    GIT_SSH_COMMAND GIT_EXEC_PATH GIT_PROXY_COMMAND""".split()
)
_UNCHECKING = {"NODE_TLS_REJECT_UNAUTHORIZED": "0", "PYTHONHTTPSVERIFY": "0", "GIT_SSL_NO_VERIFY": ""}
_OPTIONS = regex(r"-javaagent:|-agent(?:path|lib):|trustStore=|--(?:require|import|loader)\b|-r ")
_WITH_OPTIONS = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NODE_OPTIONS"})
_SKIPPING = ("SKIP_VERIFY", "SKIP_TLS_VERIFY", "TLS_SKIP_VERIFY")


def is_misleading(name: str, value: Any) -> bool:
    """Tell whether a container with a variable sends requests somewhere else, loads other code, or trusts anybody."""
    if not _is_set(value):
        return False
    if name in _WITH_OPTIONS:
        return not isinstance(value, str) or _OPTIONS.search(value) is not None
    if name.endswith(_SKIPPING):
        return text(value).lower() not in ("0", "false", "no")
    is_leading = name in _MISLEADING or name.upper() in _PROXIES
    return is_leading or (name in _UNCHECKING and _UNCHECKING[name] in ("", value))


def _misleading(variables: Any) -> frozenset[str]:
    given = ((text(item.get("name")), item.get("valueFrom", item.get("value"))) for item in mappings(variables))
    return _items([[name, value] for name, value in given if is_misleading(name, value)])


def _is_cluster(labels: Any) -> bool:
    """Tell whether labels are those of a Secret by which Argo CD knows a cluster."""
    return mapping(labels if labels is not ABSENT else {}).get("argocd.argoproj.io/secret-type") == "cluster"


def _is_in_mesh(labels: Any) -> bool:
    """Tell whether the labels of a namespace put its pods into a service mesh."""
    given = mapping(labels if labels is not ABSENT else {})
    return any(_is_set(given.get(label)) and wanted in ("", given[label]) for label, wanted in _MESH)


def _is_pinned(revision: Any) -> bool:
    return isinstance(revision, str) and _PINNED.fullmatch(revision) is not None


def _checks(validations: Any) -> frozenset[str]:
    """List the expressions of a policy."""
    return frozenset(text(item.get("expression")) for item in mappings(validations))


def _checks_less(old: Any, new: Any) -> bool:
    """Tell whether constraints of a policy match less than before: fewer rules, more exceptions, narrower selectors."""
    was, now = mapping(old if old is not ABSENT else {}), mapping(new if new is not ABSENT else {})
    if now.get("matchPolicy") == "Exact" != was.get("matchPolicy"):
        return True
    rules, excepted = ([mappings(side.get(field)) for side in (was, now)] for field in _MATCHED)
    # Without rules it checks all that its policy checks.
    is_less = bool(rules[1]) and (not rules[0] or _match_less(*rules))
    if is_less or _match_less(excepted[1], excepted[0]):
        return True
    return any(
        not _selects_as_much(was.get(field), now.get(field)) for field in ("namespaceSelector", "objectSelector")
    )


_MATCHED = ("resourceRules", "excludeResourceRules")


def _match_less(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether rules of a policy leave out requests that the old ones match."""
    left = [rule for rule in old if rule not in new]
    names = any(rule.get("resourceNames") for rule in (*left, *(rule for rule in new if rule not in old)))
    # By default requests in other versions match as well.
    return bool(left) and (
        names or match_more(*([decode_admission_rule(rule) for rule in side] for side in (left, new)))
    )


def _selects_as_much(old: Any, new: Any) -> bool:
    """Tell whether a selector asks for nothing that it did not ask for before."""
    was, now = (
        _items(mapping(mapping(selector).get("matchLabels"))) | _items(mapping(selector).get("matchExpressions"))
        for selector in (old, new)
    )
    return now <= was


_GRADED = frozenset(
    "background webhookTimeoutSeconds validationFailureAction failureAction failurePolicy enforcementAction".split()
)


def _policy(value: Any) -> Any:
    """Keep what a policy checks, without the fields that have rows of their own or that nothing depends on."""
    if isinstance(value, Mapping):
        kept = {key: _policy(below) for key, below in value.items() if key not in _GRADED}
        if isinstance(kept.get("validate"), dict):
            kept["validate"] = {key: below for key, below in kept["validate"].items() if key != "message"}
        return kept
    return list(map(_policy, value)) if isinstance(value, list) else value


def _keeps(before: Any, after: Any) -> bool:
    """Tell whether a policy keeps all that it checks; it may get more rules."""
    old, new = (_policy(spec) if isinstance(spec, Mapping) else {} for spec in (before, after))
    left = [{key: value for key, value in spec.items() if key != "rules"} for spec in (old, new)]
    return left[0] == left[1] and _items(old.get("rules")) <= _items(new.get("rules"))
