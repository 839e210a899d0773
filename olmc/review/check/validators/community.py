"""The validators for community operators: APIs that Kubernetes has removed, and what the community asks for
(R-CAT-255, R-CAT-256).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.workspace import Bundle
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.restmapper import removed_in
from olmc.k8s.diagnostics import Rule
from olmc.k8s.gojson import decode, unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import CRD_KIND, GVK, gvk_of, mapping, mappings, metadata_of, split_api_version, text
from olmc.k8s.semver import Version, VersionError, parse_tolerant, tolerant_or_none
from olmc.k8s.strconv import SPACES, quoted
from olmc.review.check.validators.findings import (
    Finding,
    ValidatorSettings,
    about,
    ascii_list,
    csv_of,
    policy_rules,
    result_text,
)
from olmc.review.check.validators.objects import PROPERTIES, min_kube_version_findings

GUIDE = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"

# Kubernetes removed them as well, but the validator of operator-framework/api does not know it (R-CAT-256).
_UNNOTICED = frozenset({"FlowSchema", "PriorityLevelConfiguration", "SelfSubjectRulesReview"})

_SOFT_GROUP, _SOFT_RESOURCE = "policy", "podsecuritypolicies"
_CRDS = "ClusterServiceVersion.Spec.CustomResourceDefinitions"
_STRATEGY = "ClusterServiceVersion.Spec.InstallStrategy.StrategySpec"

NamesByKind = Mapping[str, list[str]]
"""Names of objects by the kind, or what stands for it in messages."""


class Removed(NamedTuple):
    """The APIs of a bundle that a release of Kubernetes removed; `soft` may be for another version."""

    minor: int
    names: NamesByKind
    soft: NamesByKind


def removed_api_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """APIs in a bundle that Kubernetes has removed: a failure in the version that is asked for, else advice."""
    csv = csv_of(bundle.csv)
    place = csv.place("spec", "minKubeVersion")
    wanted, least = settings.kubernetes, csv.min_kube_version
    for given, message in (
        (wanted, f"invalid value informed via the k8s key option : {wanted}"),
        (
            least,
            "unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: "
            f"{least}",
        ),
    ):
        if given and tolerant_or_none(given) is None:
            yield Finding(rules.REMOVED_APIS, result_text(message, value=csv.name), place)
    versions = [version for version in map(tolerant_or_none, (wanted, least)) if version is not None]
    for removed in (removed_in_1_22(bundle), _removed_in_1_25(bundle), Removed(26, _objects(bundle, 26), {})):
        # R-CAT-255: it is a failure only if the author stated that the bundle is for such a cluster.
        deleted = any(version >= Version(1, removed.minor) for version in versions)
        for names, rule in (
            (removed.names, rules.REMOVED_APIS if deleted else rules.REMOVED_APIS_ADVICE),
            (removed.soft, rules.REMOVED_APIS_ADVICE),
        ):
            if names:
                message = result_text(_message(removed.minor, names), value=csv.name)
                yield Finding(rule, message, csv.place())


def _message(minor: int, names: NamesByKind) -> str:
    return (
        f"this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: {GUIDE}#v1-{minor}. "
        f"Migrate the API(s) for {format_kinds(names)}"
    )


def format_kinds(names: NamesByKind) -> str:
    """Kinds with the names of their objects, as the messages have them."""
    return ",".join(f"{kind}: ({ascii_list(names[kind])})" for kind in sorted(names))


def removed_in_1_22(bundle: Bundle) -> Removed:
    """The APIs that Kubernetes 1.22 has removed."""
    return Removed(22, _objects(bundle, 22), {})


def checked_apis(minor: int) -> frozenset[GVK]:
    """The APIs that are looked for of those that a minor version of Kubernetes 1 has removed."""
    return frozenset(api for api in removed_in(minor) if api.kind not in _UNNOTICED)


def _objects(bundle: Bundle, minor: int) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    removed = checked_apis(minor)
    for file in bundle.files:
        obj = file.manifest.object
        if gvk_of(obj) in removed:
            kind = "CRD" if obj["kind"] == CRD_KIND else obj["kind"]
            names.setdefault(kind, []).append(text(metadata_of(obj).get("name")))
    return names


def _removed_in_1_25(bundle: Bundle) -> Removed:
    csv = csv_of(bundle.csv)
    names = _objects(bundle, 25)
    described: set[str] = set()
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            for number, resource in enumerate(mappings(item.get("resources"))):
                kind = text(resource.get("kind"))
                # A CRD described under that plural may be what the permission is about, so it silences the remark
                # (R-CAT-256).
                described.add(f"{kind.lower()}s")
                if GVK(*split_api_version(resource.get("version")), kind) in checked_apis(25):
                    name = f"{_CRDS}.{relation.capitalize()}[{index}].Resource[{number}]"
                    names.setdefault(kind, []).append(name)
    soft = [
        f"{_STRATEGY}.{field[0].upper()}{field[1:]}[{rule.permission}].Rules[{rule.number}]"
        for field in ("clusterPermissions", "permissions")
        for rule in policy_rules(csv, field)
        if _SOFT_GROUP in rule.names("apiGroups") and _SOFT_RESOURCE in rule.names("resources")
    ]
    return Removed(25, names, {_SOFT_RESOURCE: soft} if soft and _SOFT_RESOURCE not in described else {})


LABEL = "com.redhat.openshift.versions"
MAX_VERSION = "olm.maxOpenShiftVersion"

_LIMIT = Version(4, 9)
_REMOVED = f"using APIs which were deprecated and removed in v1.22. More info: {GUIDE}#v1-22"
_SAMPLE = """'[{"type": "key name", "value": "key value"}]'"""
_VALUE = regex(rf"{re.escape(LABEL)}[^=\n]*=([^\n]*)")


class _Verdict(NamedTuple):
    """Yield the finding about the annotation: as an error, or as a warning."""

    error: str = ""
    warning: str = ""


def community_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Return whether a bundle with removed APIs keeps OpenShift 4.9 from installing it."""
    names = removed_in_1_22(bundle).names
    if not names:
        return
    csv, apis = csv_of(bundle.csv), format_kinds(names)
    verdict = _judge_annotation(csv.annotations.get(PROPERTIES, ""), apis)
    errors = [verdict.error] if verdict.error else []
    warnings = [verdict.warning] if verdict.warning else []
    if settings.dockerfile is None:
        # The tools build this list again from the errors: those come twice, an earlier warning is lost.
        warnings = [*errors, _ask_for_dockerfile(apis)]
    elif label := _label_problem(settings.dockerfile, apis):
        errors.append(label)
    place = csv.place("metadata", "annotations", PROPERTIES)
    for texts, rule in ((errors, rules.COMMUNITY), (warnings, rules.COMMUNITY_ADVICE)):
        for detail in texts:
            yield Finding(rule, about(csv.name, detail), place)


def _judge_annotation(written: str, apis: str) -> _Verdict:
    if not written:
        return _Verdict(
            f"csv.Annotations not specified {MAX_VERSION} for an OCP version < 4.9. This annotation is required to "
            "prevent the user from upgrading their OCP cluster before they have installed a version of their operator "
            f"which is compatible with 4.9. This bundle is {_REMOVED} which are no longer supported on 4.9. Migrate "
            f"the API(s) for {apis} or use the annotation"
        )
    try:
        items = decode("[]internal.propertiesAnnotation", unmarshal(written)) or ()
    except ValueError:
        return _Verdict(
            f"csv.Annotations has an invalid value specified for {PROPERTIES}. Please, check the value  ({written}) "
            f'and ensure that it is an array such as: "{PROPERTIES}": {_SAMPLE}'
        )
    value = next((item["value"] for item in items if item["type"] == MAX_VERSION), None)
    if value is None:
        return _Verdict(
            f"csv.Annotations.{PROPERTIES} with the key `{MAX_VERSION}` and a value with an OCP version which is < 4.9 "
            f"is required for any operator bundle that is {_REMOVED}. Migrate the API(s) for {apis} or use the "
            "annotation"
        )
    return _judge_version(value, apis)


def _judge_version(value: str, apis: str) -> _Verdict:
    try:
        version = parse_tolerant(value)
    except VersionError as error:
        return _Verdict(
            f"csv.Annotations.{PROPERTIES} has an invalid value. Unable to parse ({value}) using semver : {error}"
        )
    # The first problem ends the check: a truncated version is not compared with 4.9 (R-CAT-250).
    truncated = Version(version.major, version.minor)
    if version != truncated:
        return _Verdict(
            warning=f"csv.Annotations.{PROPERTIES} has an invalid value. {MAX_VERSION} must specify only major.minor "
            f"versions, {version} will be truncated to {truncated}"
        )
    if version < _LIMIT:
        return _Verdict()
    return _Verdict(
        f"csv.Annotations.{PROPERTIES} with the key and value for {MAX_VERSION} has the OCP version value {value} "
        f"which is >= of 4.9. This bundle is {_REMOVED}. Migrate the API(s) for {apis} or inform in this property an "
        "OCP version which is < 4.9"
    )


def _ask_for_dockerfile(apis: str) -> str:
    return (
        "please, inform the path of its index image file via the the optional key values and the key index-path to "
        f"allow this validator check the labels configuration or migrate the API(s) for {apis}. (e.g. "
        f"index-path=./mypath/bundle.Dockerfile). This bundle is {_REMOVED} "
    )


def _label_problem(dockerfile: str, apis: str) -> str:
    """Return the problem of the label in a Dockerfile, "" when it ends below OpenShift 4.9."""
    if LABEL not in dockerfile:
        return (
            f"this bundle is {_REMOVED}. Migrate the APIs for {apis} or provide compatible version(s) via the labels. "
            f"(e.g. LABEL {LABEL}='4.6-4.8')"
        )
    match = _VALUE.search(dockerfile)
    value = match[1].replace('"', "").replace("'", "").strip() if match else ""
    bound = value[1:] if value.startswith("=") else value.partition("-")[2]
    version = tolerant_or_none(bound) if bound else None
    if bound and version is None:
        return f"unable to parse the value ({bound}) on ({LABEL})"
    if version is not None and version < _LIMIT:
        return ""
    return f"this bundle is {_REMOVED}. {LABEL}={value} allows to distribute it on >= 4.9"


# The validators of OperatorHub.io: its fields, capability levels and categories (R-CAT-240 … R-CAT-244).
#
# Mail addresses and links are read as Go reads them, with what it says about those that are none (R-CAT-241).

# Each part takes all that it can and gives nothing back: no text has a second way to be an address.
_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]++"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*+"'
_SPEC = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*+\])"
_WORD = rf"(?:{_ATOM}(?:\.++{_ATOM})*+\.?+|{_QUOTED})"
_COMMENT = r"\([^()]*+\)"
_ADDRESS = regex(rf"\s*+(?:{_SPEC}|(?:{_WORD}\s*+)*+<{_SPEC}>)\s*+(?:{_COMMENT}\s*+)*+")
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = regex(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = regex(r"%(?![0-9A-Fa-f]{2})")
_PORT = regex(r"(?::[0-9]*)?")
_NOT_IN_HOSTS = regex(r"""[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff]""")
CAPABILITIES = frozenset({"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"})
CATEGORIES = frozenset(
    {
        "AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Developer Tools", "Database",
        "Integration & Delivery", "Logging & Tracing", "Monitoring", "Modernization & Migration", "Networking",
        "OpenShift Optional", "Security", "Storage", "Streaming & Messaging", "Observability",
    }
)  # fmt: skip
_MEDIA_TYPES = frozenset({"image/gif", "image/jpeg", "image/png", "image/svg+xml"})
_DEPRECATED = (
    'The "operatorhub" validator is deprecated; for equivalent validation use "operatorhub/v2", "standardcapabilities" '
    'and "standardcategories" validators'
)
_Keys = tuple[str | int, ...]


def mail_problem(address: str) -> str:
    """Return why `address` is no single RFC 5322 address, "" when it is one."""
    if _ADDRESS.fullmatch(address):
        return ""
    if not address.strip():
        return "mail: no address"
    match = _ADDRESS.match(address)
    if match:
        return f"mail: expected single address, got {quoted(address[match.end() :])}"
    if "@" not in address and "<" not in address:
        return "mail: missing '@' or angle-addr"
    return "mail: no angle-addr"


def link_problem(url: str) -> str:
    """Return why `url` is no absolute URI and no absolute path, "" when it is one."""
    cause = _link_cause(url)
    return f"parse {quoted(url)}: {cause}" if cause else ""


def _link_cause(url: str) -> str:
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    if not url:
        return "empty url"
    if url.startswith(":"):
        return "missing protocol scheme"
    scheme = _SCHEME.match(url)
    rest = (url[scheme.end() :] if scheme else url).partition("?")[0]
    if not rest.startswith("/"):
        return "" if scheme else "invalid URI for request"
    path = rest
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        cause = _host_cause(authority.rpartition("@")[2])
        if cause:
            return cause
        path = slash + path
    return _escape_cause(path)


def _host_cause(host: str) -> str:
    bad = _NOT_IN_HOSTS.search(host)
    if bad:
        return f"invalid character {quoted(bad[0])} in host name"
    port = host[host.rfind("]") + 1 :] if host.startswith("[") else host[host.find(":") :] if ":" in host else ""
    if host.startswith("[") and "]" not in host:
        return "missing ']' in host"
    return "" if _PORT.fullmatch(port) else f"invalid port {quoted(port)} after host"


def _escape_cause(path: str) -> str:
    bad = _BAD_ESCAPE.search(path)
    return f"invalid URL escape {quoted(path[bad.start() : bad.start() + 3])}" if bad else ""


def operatorhub_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """The old validator: the three that have taken its place, and a word about that (R-CAT-240)."""
    yield from operatorhub_v2_findings(bundle, settings)
    yield from capability_findings(bundle, settings)
    yield from category_findings(bundle, settings)
    place = csv_of(bundle.csv).place()
    yield Finding(rules.OPERATORHUB_ADVICE, result_text(_DEPRECATED, value=""), place)


def operatorhub_v2_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Yield the findings about OperatorHub.io's demands on a CSV (R-CAT-241)."""
    csv = csv_of(bundle.csv)
    for rule, keys, detail in _problems(csv.spec):
        yield Finding(rule, about(csv.name, detail), csv.place("spec", *keys))
    yield from min_kube_version_findings(csv)
    yield from removed_api_findings(bundle, settings)


def _problems(spec: Mapping[str, Any]) -> Iterator[tuple[Rule, _Keys, str]]:
    if not text(mapping(spec.get("provider")).get("name")).strip(SPACES):
        yield rules.OPERATORHUB, ("provider",), "csv.Spec.Provider.Name not specified"
    for index, maintainer in enumerate(mappings(spec.get("maintainers"))):
        mail = text(maintainer.get("email"))
        keys = ("maintainers", index)
        if not mail or not text(maintainer.get("name")):
            yield rules.OPERATORHUB, keys, "csv.Spec.Maintainers elements should contain both name and email"
        if mail and (problem := mail_problem(mail)):
            yield rules.OPERATORHUB, (*keys, "email"), f"csv.Spec.Maintainers email {mail} is invalid: {problem}"
    for index, link in enumerate(mappings(spec.get("links"))):
        url = text(link.get("url"))
        keys = ("links", index)
        if not url or not text(link.get("name")):
            yield rules.OPERATORHUB, keys, "csv.Spec.Links elements should contain both name and url"
        if url and (problem := link_problem(url)):
            yield rules.OPERATORHUB, (*keys, "url"), f"csv.Spec.Links url {url} is invalid: {problem}"
    version = tolerant_or_none(text(spec.get("version")))
    # Go's zero version stands for a missing one (R-CAT-241).
    if version is None or str(version).partition("+")[0] == "0.0.0":
        yield rules.OPERATORHUB, ("version",), "csv.Spec.Version must be set"
    yield from _icon_problems(spec.get("icon"))


def _icon_problems(icons: Any) -> Iterator[tuple[Rule, _Keys, str]]:
    if not isinstance(icons, list):
        yield rules.OPERATORHUB_ADVICE, ("icon",), "csv.Spec.Icon not specified"
        return
    if len(icons) != 1:
        yield rules.OPERATORHUB, ("icon",), "csv.Spec.Icon should only have one element"
    for icon in mappings(icons)[:1]:
        kind = text(icon.get("mediatype"))
        if not kind or not text(icon.get("base64data")):
            yield rules.OPERATORHUB, ("icon", 0), "csv.Spec.Icon elements should contain both data and mediatype"
        if kind and kind not in _MEDIA_TYPES:
            yield rules.OPERATORHUB, ("icon", 0, "mediatype"), f"csv.Spec.Icon {kind} does not have a valid mediatype"


def capability_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:  # noqa: ARG001
    """Return whether the annotation `capabilities` is one of the levels (R-CAT-243)."""
    csv = csv_of(bundle.csv)
    level = csv.annotations.get("capabilities")
    if level is not None and level not in CAPABILITIES:
        detail = f"csv.Metadata.Annotations.Capabilities {quoted(level)} is not a valid capabilities level"
        yield Finding(rules.CAPABILITIES, about(csv.name, detail), csv.place("metadata", "annotations", "capabilities"))


def category_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Return whether the annotation `categories` lists known ones (R-CAT-244)."""
    csv = csv_of(bundle.csv)
    written = csv.annotations.get("categories")
    if written is None:
        return
    place = csv.place("metadata", "annotations", "categories")
    custom = settings.categories
    if custom is not None and custom.problem:
        message = f"could not extract custom categories from categories map[string]struct {{}}(nil): {custom.problem}"
        yield Finding(rules.CATEGORIES, about(csv.name, message), place)
        return
    known, which = (CATEGORIES, "standard") if custom is None else (custom.names, "custom")
    for category in written.split(","):
        # Trimmed to compare, but printed as it is written (R-CAT-244).
        if category.strip(SPACES) not in known:
            message = (
                f'csv.Metadata.Annotations["categories"] value {quoted(category)} is not in the set of {which} '
                "categories"
            )
            yield Finding(rules.CATEGORIES, about(csv.name, message), place)
