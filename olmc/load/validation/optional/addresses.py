"""Mail addresses and links as Go reads them, with what it says about those that are none (R-CAT-241)."""

from __future__ import annotations

import re

from olmc.strconv import quoted

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]+"
_DOT_ATOM = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED = r'"(?:[^"\\\r\n]|\\.)*"'
_SPEC = rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|\[[^\[\]\\]*\])"
_WORD = rf"(?:{_ATOM}(?:\.+{_ATOM})*\.?|{_QUOTED})"
_COMMENT = r"\([^()]*\)"
_ADDRESS = re.compile(rf"\s*(?:{_SPEC}|(?:{_WORD}\s*)*<{_SPEC}>)\s*(?:{_COMMENT}\s*)*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"(?::[0-9]*)?")
_NOT_IN_HOSTS = re.compile(r"""[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff]""")


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
