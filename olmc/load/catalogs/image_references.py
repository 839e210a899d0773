"""The grammar of image pull specs, as the registry checks it before it serves a catalog (R-CAT-124)."""

from __future__ import annotations

import re

DEFAULT_DOMAIN = "docker.io"
_LEGACY_DOMAIN = "index.docker.io"
_PATH_LIMIT = 255

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(
    rf"(?:{_DOMAIN}/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)(?::{_TAG})?(?:@(?P<digest>{_DIGEST}))?", re.ASCII
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_ANY_DIGEST = re.compile(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_DIGEST_SIZES = {"sha256": 64, "sha384": 96, "sha512": 128}


def pull_spec_problem(spec: str) -> str:
    """Why `spec` names no image, in the words of Go's docker reference package; "" when it does."""
    if _IDENTIFIER.fullmatch(spec):
        return f"invalid repository name ({spec}), cannot specify 64-byte hexadecimal strings"
    domain, rest = split_domain(spec)
    name = rest.partition(":")[0]
    if name.lower() != name:
        return f"invalid reference format: repository name ({name}) must be lowercase"
    whole = f"{domain}/{rest}"
    match = _REFERENCE.fullmatch(whole)
    if match is None:
        if _REFERENCE.fullmatch(whole.lower()):
            return "repository name must be lowercase"
        return "invalid reference format"
    if len(match["path"]) > _PATH_LIMIT:
        return f"repository name must not be more than {_PATH_LIMIT} characters"
    return _digest_problem(match["digest"]) if match["digest"] else ""


def split_domain(spec: str) -> tuple[str, str]:
    """The registry and the rest, with what Docker leaves out filled in."""
    first, slash, rest = spec.partition("/")
    is_domain = slash and (first == "localhost" or "." in first or ":" in first or first.lower() != first)
    domain, rest = (first, rest) if is_domain else (DEFAULT_DOMAIN, spec)
    if domain == _LEGACY_DOMAIN:
        domain = DEFAULT_DOMAIN
    if domain == DEFAULT_DOMAIN and "/" not in rest:
        rest = f"library/{rest}"
    return domain, rest


def _digest_problem(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    size = _DIGEST_SIZES.get(algorithm)
    if size is None:
        return "unsupported digest algorithm" if _ANY_DIGEST.fullmatch(digest) else "invalid checksum digest format"
    if len(value) != size:
        return "invalid checksum digest length"
    return "" if re.fullmatch("[a-f0-9]+", value) else "invalid checksum digest format"
