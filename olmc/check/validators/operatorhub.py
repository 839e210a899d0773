"""The validators of OperatorHub.io: its fields, capability levels and categories (R-CAT-240 … R-CAT-244).

Mail addresses and links are read as Go reads them, with what it says about those that are none (R-CAT-241).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.check.validators.community import removed_api_findings
from olmc.check.validators.findings import Finding, ValidatorSettings, about, csv_of, result_text
from olmc.check.validators.objects import min_kube_version_findings
from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import validation as rules
from olmc.lean import regex
from olmc.model.objects import mapping, mappings, text
from olmc.model.workspace import Bundle
from olmc.semver import tolerant_or_none
from olmc.strconv import SPACES, quoted

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]+"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_SPEC = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*\])"
_WORD = rf"(?:{_ATOM}(?:\.+{_ATOM})*\.?|{_QUOTED})"
_COMMENT = r"\([^()]*\)"
_ADDRESS = regex(rf"\s*(?:{_SPEC}|(?:{_WORD}\s*)*<{_SPEC}>)\s*(?:{_COMMENT}\s*)*")
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
    """Why `address` is no single RFC 5322 address, "" when it is one."""
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
    """Why `url` is no absolute URI and no absolute path, "" when it is one."""
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
    """What OperatorHub.io asks of a CSV (R-CAT-241)."""
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
    """Whether the annotation `capabilities` is one of the levels (R-CAT-243)."""
    csv = csv_of(bundle.csv)
    level = csv.annotations.get("capabilities")
    if level is not None and level not in CAPABILITIES:
        detail = f"csv.Metadata.Annotations.Capabilities {quoted(level)} is not a valid capabilities level"
        yield Finding(rules.CAPABILITIES, about(csv.name, detail), csv.place("metadata", "annotations", "capabilities"))


def category_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Whether the annotation `categories` lists known ones (R-CAT-244)."""
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
