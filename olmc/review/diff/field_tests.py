"""Tests of a field that changes: does the change add power, or take protection away?"""

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


def comes_unless(*values: Any) -> FieldTest:
    """Pass a field that comes with another value than these, which are as good as none."""
    return FieldTest(lambda old, new: old is ABSENT and _is_set(new) and not _is_one_of(new, values))


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
"""The number of pairs of rules, and of peers, that are compared by more than their text."""
_EXPOSED = ("NodePort", "LoadBalancer")
IMAGE = FieldTest(_is_other_image)
REGISTRY = FieldTest(_is_other_registry)
OLDER = FieldTest(_is_older)
LETS_THROUGH = FieldTest(_lets_more_through)
GRANTS = FieldTest(_grants_more, True)
EXPOSES = FieldTest(_is_exposed)
DROPS = FieldTest(_loses_drop)
PROFILE = weakens(("Localhost", "RuntimeDefault"), ABSENT, "Unconfined")
_HARMLESS_TYPES = ("container_t", "container_init_t", "container_kvm_t", "container_logreader_t")
SELINUX_TYPE = FieldTest(lambda old, new: _is_set(new) and new != old and new not in _HARMLESS_TYPES, True)

_MILD_VOLUMES = _items(
    ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret", "none"]
)
_PLAIN = ("", "identity")
_MESH = (("istio-injection", "enabled"), ("istio.io/rev", ""), ("istio.io/dataplane-mode", "ambient"))
_UNSAFE_OPTIONS = _items(["Validate=false", "RespectIgnoreDifferences=true", "Replace=true", "Force=true"])
VOLUMES = FieldTest(lambda old, new: bool(_items(new) - _items(old) - _MILD_VOLUMES), True)
SECCOMP = FieldTest(lambda old, new: bool(_items(new) - _items(old) - _items("runtime/default")), True)
LEFT_TO_PODS = FieldTest(lambda old, new: _scc_rank(new) > _scc_rank(old), True)
CHECKS_LESS = FieldTest(lambda old, new: _checks_less(old, new))
LOSES_CHECKS = FieldTest(lambda old, new: bool(_checks(old) - _checks(new)))
NO_LONGER_DENIES = FieldTest(lambda old, new: _frozen("Deny") in _items(old) - _items(new))
CHECKS_OTHERS = FieldTest(lambda old, new: _is_set(old) and not _keeps(old, new))
NO_LONGER_ENFORCES = FieldTest(lambda old, new: text(old).lower() == "enforce" != text(new).lower())
NO_LONGER_ENCRYPTS = FieldTest(lambda old, new: text(old) not in _PLAIN and text(new) in _PLAIN)
GETS_EPHEMERAL = FieldTest(lambda old, new: _is_set(old) and _frozen("Ephemeral") in _items(new) - _items(old))
CSI_PROFILE = FieldTest(lambda old, new: _is_set(new) and new not in (old, "privileged"), True)
OTHER = FieldTest(lambda old, new: new != old)
GETS = FieldTest(GROWS.holds)
_POWER = ("roleRef", "subjects", "rules", "securityContext", "hostPath", "hostNetwork", "hostPID", "serviceAccountName",
          "webhooks", "roleTemplateRef")  # fmt: skip
LEADS_TO_POWER = FieldTest(lambda old, new: new != old and any(f".{name}" in f".{text(new)}" for name in _POWER))
"""A path to a field by which an object gives power, and that gets its value from somewhere else."""
CHECKS_OPTIONS = FieldTest(lambda old, new: bool((_items(new) - _items(old)) & _UNSAFE_OPTIONS), True)
JOINS_ROOT = FieldTest(lambda old, new: _frozen(0) in _items(new) - _items(old), True)
FROM_ROOT = FieldTest(lambda old, new: new != old and text(new).split("/")[0].split("-")[0] == "0", True)
SET_ON = FieldTest(turns(True).holds)
LEAVES_MESH = FieldTest(lambda old, new: _is_in_mesh(old) and not _is_in_mesh(new))
OF_SYSTEM = FieldTest(lambda old, new: any('"system:' in name for name in _items(new) - _items(old)), True)
STRONG_CONSTRAINT = FieldTest(lambda old, new: _is_set(new) and new != old and new not in MILD_CONSTRAINTS, True)
OTHER_HOST = FieldTest(lambda old, new: _is_set(old) and _is_set(new) and _host(old) != _host(new))
OTHER_FILE = FieldTest(lambda old, new: _is_set(new) and new not in (old, _TOKEN_FILE), True)
BEGINS = FieldTest(lambda old, new: not _is_set(old) and _is_set(new))
BOTH_DIFFER = FieldTest(lambda old, new: _is_set(old) and _is_set(new) and old != new)
MISLEADS = FieldTest(lambda old, new: bool(_misleading(new) - _misleading(old)))
OF_CLUSTER = FieldTest(lambda old, new: old != new and all(map(_is_cluster, (old, new))))
OTHER_KEYS = FieldTest(
    lambda old, new: any(key not in (None, _read_keys(new).get(name, key)) for name, key in _read_keys(old).items())
)
FINDS = FieldTest(
    lambda old, new: (
        _is_set(old)
        and any("find" in item for item in mappings(new))
        and not any("find" in item for item in mappings(old))
    )
)
OTHER_BACKENDS = FieldTest(
    lambda old, new: any(names - _backends(old).get(place, names) for place, names in _backends(new).items())
)
MORE_BACKENDS = FieldTest(lambda old, new: bool(_services(new) - _services(old)))
LEADS_AWAY = FieldTest(lambda old, new: bool(_addresses(new) - _addresses(old)), True)
NAMES_OTHERS = FieldTest(lambda old, new: bool(_urls(new) - _urls(old)), True)
ALLOWS_MORE = FieldTest(lambda old, new: _allows_more(old, new), True)
FETCHES_OTHER = FieldTest(lambda old, new: _fetches_other(old, new))
ACCEPTS_MORE = FieldTest(lambda old, new: bool(_proofs(old) - _proofs(new)))
MORE_FUNCTIONS = FieldTest(lambda old, new: _is_set(old) and bool(_functions(new) - _functions(old)))
MORE_SECRETS = FieldTest(lambda old, new: bool(_secrets_read(new) - _secrets_read(old)), True)
ANY_TEMPLATE = FieldTest(lambda old, new: bool(_other_templates(new) - _other_templates(old)), True)
EXPRESSION = FieldTest(lambda old, new: "${" in text(new) and new != old, True)
REORDERED = FieldTest(
    lambda old, new: isinstance(old, list) and isinstance(new, list) and old != new and _items(old) == _items(new)
)
NEVER = FieldTest(turns("Never").holds)
UNPINNED = FieldTest(lambda old, new: _is_pinned(old) and not _is_pinned(new))


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
