"""HTTP as registries need it: timeouts, redirects that keep secrets, and another try for what may pass."""

from __future__ import annotations

import base64
import errno
import http.client
import io
import ipaddress
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import getproxies, parse_http_list, parse_keqv_list, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InsecureRequestWarning,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

from olmc.compiler.rules.findings import vendor as rules
from olmc.integrations.fetch.containers_config import AuthFile, Credential, MirrorLocation, credential_for
from olmc.integrations.fetch.sources import (
    CHUNK,
    MAX_MANIFEST_BYTES,
    MEDIA_TYPES,
    Descriptor,
    ImageSource,
    SourceError,
    StoppedError,
    Tick,
    write_chunks,
)
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import regex
from olmc.version import __version__

Response = urllib3.BaseHTTPResponse
T = TypeVar("T")

MAX_REDIRECTS = 5
MAX_WAIT = 60.0
FIRST_PAUSE = 0.5
CONNECT_SECONDS = 10.0

_HOST = regex(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 429, 500, 502, 503, 504)


ANSWER_SECONDS = 60.0
"""The limit for the start of an answer, and for its body in addition to the time for its size."""
_LEAST_RATE = 16 * 1024
_BESIDE_CONTENT = 1024 * 1024  # bytes of headers, trailers and signs between chunks


class _BoundedBody(io.RawIOBase):
    """The bytes of an answer: an error after too many of them, or after too long. A server may send headers, trailers
    or parts without end, and no silence is too long then."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.bound(0)

    def bound(self, size: int) -> None:
        """Allow what an answer, or a body of that many bytes, may take from here on."""
        self._left = 2 * size + _BESIDE_CONTENT
        self._end = time.monotonic() + ANSWER_SECONDS + size / _LEAST_RATE

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._left < 0 or time.monotonic() > self._end:
            raise OSError(errno.EMSGSIZE, "its answer has no end")
        count = self._raw.readinto(buffer)
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedResponse(http.client.HTTPResponse):
    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.bounded = _BoundedBody(self.fp.detach())
        self.fp = io.BufferedReader(self.bounded)


class _Connection(HTTPConnection):
    response_class = _BoundedResponse


class _TLSConnection(HTTPSConnection):
    response_class = _BoundedResponse


class _ConnectionPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSConnectionPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


def _expect(response: Response, size: int) -> None:
    """Allow a body of that many bytes."""
    answer = getattr(response, "_fp", None)
    if isinstance(answer, _BoundedResponse):
        answer.bounded.bound(size)


class TransientError(Exception):
    """An error that another try may cure; `wait` is the server's delay in seconds, `broke_off` whether it closed the
    connection."""

    def __init__(self, cause: str, wait: float = 0.0, *, broke_off: bool = False) -> None:
        super().__init__(cause)
        self.wait = wait
        self.broke_off = broke_off


class FinalError(Exception):
    """An error that another try would not cure."""


@dataclass(frozen=True, slots=True)
class Network:
    """The settings of connections to registries, and the facts learnt about them (shared by all threads).

    `timeout` is the longest silence in seconds, `retries` the number of further tries, `insecure` the registries that
    may be used without TLS; once `stop` is set, no request is sent. `schemes` holds how insecure registries are
    reached, `authorizations` the header by repository, `given_up` the registries that did not answer after all tries.
    """

    auth_files: tuple[AuthFile, ...] = ()
    timeout: float = 30.0
    retries: int = 4
    insecure: frozenset[str] = frozenset()
    stop: Event = field(default_factory=Event)
    pools: dict[tuple[str, bool], urllib3.PoolManager] = field(default_factory=dict)
    schemes: dict[str, str] = field(default_factory=dict)
    authorizations: dict[str, str] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)


def with_retries(network: Network, registry: str, attempt: Callable[[], T]) -> T:
    """The outcome of `attempt`, tried again after a TransientError with pauses that double, or that the server asks
    for; raises FinalError in the end, or when the server asks for more than a minute, and StoppedError.

    A registry that was given up once gets one try only: a run with many images would take hours to fail.
    """
    number = 0
    while not network.stop.is_set():
        try:
            return attempt()
        except TransientError as error:
            if error.wait > MAX_WAIT:
                raise FinalError(f"{error}, and asks to come back in {error.wait:.0f} seconds") from error
            if number == network.retries or registry in network.given_up:
                network.given_up.add(registry)
                raise FinalError(f"{error} (tried {number + 1} times)" if number else str(error)) from error
            network.stop.wait(max(error.wait, FIRST_PAUSE * 2**number))
            number += 1
    raise StoppedError


def exchange(
    network: Network, method: str, url: str, headers: Mapping[str, str], *, insecure: bool = False, body: str = ""
) -> Response:
    """Return the answer to a request, redirects followed; the caller reads the body and closes the answer.

    Credentials don't go along to another host, scheme or port, neither in a header nor in a body. Only an identity
    token is sent in a body. A redirect from https to http is refused. So is one to another host that wants credentials,
    as the credentials are not for it. Raises TransientError, FinalError.
    """
    first = _origin(url)
    sent = {"User-Agent": f"olmc/{__version__}", "Accept-Encoding": "identity", **headers}
    for _ in range(MAX_REDIRECTS):
        response = _once(network, method, url, sent, insecure, body)
        location = response.headers.get("Location")
        if response.status == 401 and _origin(url) != first:
            response.close()
            raise FinalError(f"it leads to {'://'.join(_origin(url))}, which wants credentials")
        if response.status not in _REDIRECTS or not location:
            return response
        response.close()
        target = joined(url, location)
        here, there = _origin(url), _origin(target)
        if there[0] not in ("http", "https") or (here[0] == "https" and there[0] == "http"):
            raise FinalError(f"it leads to {'://'.join(there)}, which is not safe")
        if here != there:
            # Without its body the request would ask for nothing, so it is not made at all.
            if body:
                raise FinalError(f"it wants what was sent to it sent on to {'://'.join(there)}")
            sent.pop("Authorization", None)
        url = target
    raise FinalError(f"it redirects more than {MAX_REDIRECTS} times")


def _origin(url: str) -> tuple[str, str]:
    """The scheme, and the host with its port, which credentials are for."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def joined(base: str, location: str) -> str:
    """An address that a server names, seen from another one; raises FinalError if it is none."""
    try:
        target = urljoin(base, location)
        host = urlsplit(target).netloc
    except ValueError as error:
        raise FinalError(f"it names an address that is none: {error}") from error
    # Of `http://a\@b` one parser takes a for the host, and another one b.
    if host and not _HOST.fullmatch(host):
        raise FinalError(f"it names an address that is none: {host!a} is no host")
    return target


def _once(network: Network, method: str, url: str, headers: Mapping[str, str], insecure: bool, body: str) -> Response:
    try:
        return _pool(network, url, insecure).urlopen(
            method, url, headers=headers, body=body or None, redirect=False, retries=False, preload_content=False,
            decode_content=False, timeout=urllib3.Timeout(min(CONNECT_SECONDS, network.timeout), network.timeout),
        )  # fmt: skip
    except (HTTPError, ValueError) as error:
        raise failure(error, network.timeout) from error


def failure(error: Exception, timeout: float) -> TransientError | FinalError:
    """Return the meaning of an error of urllib3, in words without addresses of objects."""
    if isinstance(error, NameResolutionError):
        return TransientError("its name can't be resolved")
    if isinstance(error, NewConnectionError):
        return TransientError(_reason(error) or "no connection can be made")
    if isinstance(error, ConnectTimeoutError):
        return TransientError("no connection came about in time")
    if isinstance(error, ReadTimeoutError):
        return TransientError(f"nothing came for {timeout:g} seconds")
    if isinstance(error, SSLError):
        unknown = "CERTIFICATE_VERIFY_FAILED" in str(error)
        return FinalError(f"TLS: {error}{'; SSL_CERT_FILE can name more authorities' if unknown else ''}")
    if isinstance(error, ValueError):
        return FinalError(f"its answer is malformed: {error}")
    return TransientError(_reason(error) or "the connection broke off", broke_off=True)


def _reason(error: BaseException) -> str:
    """Return the operating system's text at the bottom of an error."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror.lower()
        seen = seen.__cause__ or seen.__context__
    return ""


def is_loopback(registry: str) -> bool:
    """Return whether a host, with or without port, is this machine."""
    host = urlsplit(f"//{registry}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pool(network: Network, url: str, insecure: bool) -> urllib3.PoolManager:
    parts = urlsplit(url)
    # A proxy would look for the registry on its own machine.
    direct = is_loopback(parts.netloc) or proxy_bypass(parts.netloc)
    proxy = "" if direct else getproxies().get(parts.scheme, "")
    pool = network.pools.get((proxy, insecure))
    if pool is not None:
        return pool
    if insecure:
        urllib3.disable_warnings(InsecureRequestWarning)  # that is what the user asked for
    context = ssl.create_default_context()
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    manager = partial(urllib3.ProxyManager, proxy) if proxy else urllib3.PoolManager
    # Two threads may come here at once; both then use the pool of the first.
    made = manager(maxsize=16, ssl_context=context)
    made.pool_classes_by_scheme = {"http": _ConnectionPool, "https": _TLSConnectionPool}
    return network.pools.setdefault((proxy, insecure), made)


def raise_if_passing(response: Response) -> None:
    """Raise TransientError for an answer that may be another one later (429, 5xx)."""
    if response.status not in _PASSING:
        return
    wait = 0.0
    with suppress(HTTPError):
        wait = urllib3.Retry().get_retry_after(response) or 0.0
    response.close()
    raise TransientError(f"it answers {response.status} {response.reason or ''}".rstrip(), wait)


def read_body(network: Network, response: Response, limit: int) -> bytes:
    """The body of an answer; raises TransientError, or FinalError for more than `limit` bytes."""
    _expect(response, limit)
    try:
        data = bytearray()
        for chunk in response.stream(64 * 1024, decode_content=False):
            data += chunk
            if len(data) > limit:
                raise FinalError(f"it sends more than {limit:,} bytes")
    except (HTTPError, OSError) as error:
        raise failure(error, network.timeout) from error
    finally:
        done_with(response)
    return bytes(data)


def done_with(response: Response) -> None:
    """Give the connection back if nothing of the body is left, else close it."""
    if response.length_remaining == 0:
        response.drain_conn()  # an answer without a body has to be read as well
        response.release_conn()
    else:
        response.close()


# Registries: the OCI distribution API as far as pulling goes, with basic and token authentication.

MAX_ANSWER_BYTES = 1024 * 1024
# Docker Hub is named after one host and served by another.
_API_HOSTS = {"docker.io": "registry-1.docker.io"}
_TOKEN = regex(r"[!-~]+")


def registry_source(network: Network, image: str, location: MirrorLocation) -> ImageSource:
    """The image at a registry."""

    def manifest(digest: str) -> tuple[bytes, str]:
        def attempt() -> tuple[bytes, str]:
            path = f"manifests/{digest or location.reference.selector}"
            response = _get(network, image, location, path, {"Accept": ", ".join(MEDIA_TYPES)})
            media_type = str(response.headers.get("Content-Type") or "")
            return read_body(network, response, MAX_MANIFEST_BYTES), media_type

        return _attempt(network, image, location, attempt)

    def blob(wanted: Descriptor, path: Path, tick: Tick) -> str:
        return _attempt(network, image, location, lambda: _blob(network, image, location, wanted, path, tick))

    return ImageSource(location.reference.registry, manifest, blob)


def _attempt(network: Network, image: str, location: MirrorLocation, attempt: Callable[[], T]) -> T:
    place = location.reference.registry
    try:
        return with_retries(network, place, attempt)
    except FinalError as error:
        raise SourceError(rules.NOT_REACHED, image=image, place=place, cause=error) from error


def _blob(network: Network, image: str, location: MirrorLocation, wanted: Descriptor, path: Path, tick: Tick) -> str:
    response = _get(network, image, location, f"blobs/{wanted.digest}", {})
    _expect(response, wanted.size)
    arrived = 0

    def counted(number: int) -> None:
        nonlocal arrived
        arrived += number
        tick(number)

    try:
        digest, size = write_chunks(response.stream(CHUNK, decode_content=False), wanted, path, counted)
        if size < wanted.size:
            raise TransientError(f"it stops after {size:,} of {wanted.size:,} bytes")
    except TransientError:
        tick(-arrived)
        raise
    except HTTPError as error:
        tick(-arrived)
        raise failure(error, network.timeout) from error
    finally:
        done_with(response)
    return digest


def _get(network: Network, image: str, location: MirrorLocation, path: str, headers: Mapping[str, str]) -> Response:
    """The answer to a GET below a repository if it is 200; raises TransientError, FinalError, SourceError."""
    reference = location.reference
    insecure = _is_insecure(network, location)
    base = f"{_scheme(network, location)}://{_host(reference.registry)}/v2/{reference.repository}"
    authorization = network.authorizations.get(reference.name)
    sent = {**headers, **({"Authorization": authorization} if authorization else {})}
    response = exchange(network, "GET", f"{base}/{path}", sent, insecure=insecure)
    if response.status == 401:
        # Also in the middle of a run, for tokens expire: each refusal gets one new authorization, and no more.
        challenges = response.headers.getlist("WWW-Authenticate")
        done_with(response)
        renewed = _authorization(network, image, location, challenges)
        network.authorizations[reference.name] = renewed
        response = exchange(network, "GET", f"{base}/{path}", {**headers, "Authorization": renewed}, insecure=insecure)
    raise_if_passing(response)
    if response.status == 200:
        return response
    status = f"{response.status} {response.reason or ''}".rstrip()
    cause = f"it answers {status}{_refusal_reason(network, response)}"
    if response.status == 404:
        raise SourceError(rules.NOT_FOUND, image=image, place=reference.registry, cause=cause)
    if response.status in (401, 403):
        raise _denied(network, image, location, cause)
    raise FinalError(cause)


def _refusal_reason(network: Network, response: Response) -> str:
    """The reason in the body of a refusal, "" if it gives none."""
    try:
        value = unmarshal(read_body(network, response, MAX_ANSWER_BYTES))
        first = value["errors"][0]
        return f" ({first['code']}: {first.get('message') or ''})".replace(": )", ")")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, TransientError, FinalError):
        return ""


def _denied(network: Network, image: str, location: MirrorLocation, cause: str) -> SourceError:
    reference = location.reference
    credential = credential_for(network.auth_files, reference.registry, reference.repository)
    user = f"the credentials of {credential.user}" if credential and credential.user else "a token"
    sent = f"olmc sent {user}" if credential else "olmc found no credentials for it"
    place = reference.registry
    return SourceError(rules.DENIED, image=image, place=place, cause=cause, host=place, sent=sent)


def _host(registry: str) -> str:
    return _API_HOSTS.get(registry, registry)


def _is_insecure(network: Network, location: MirrorLocation) -> bool:
    """Return whether a registry may be asked without TLS: the user says so, or it is on this machine."""
    return location.insecure or _is_insecure_host(network, location.reference.registry)


def _is_insecure_host(network: Network, host: str) -> bool:
    return host in network.insecure or is_loopback(host)


def _scheme(network: Network, location: MirrorLocation) -> str:
    """https, but for insecure registries that don't speak it."""
    registry = location.reference.registry
    if not _is_insecure(network, location):
        return "https"
    if registry not in network.schemes:
        try:
            done_with(exchange(network, "GET", f"https://{_host(registry)}/v2/", {}, insecure=True))
            network.schemes[registry] = "https"
        # What does not speak TLS answers with garbage or hangs up; what does not answer at all may be up again soon.
        except FinalError:
            network.schemes[registry] = "http"
        except TransientError as error:
            if not error.broke_off:
                raise
            network.schemes[registry] = "http"
    return network.schemes[registry]


def _authorization(network: Network, image: str, location: MirrorLocation, headers: list[str]) -> str:
    """The header that a registry asks for; raises SourceError when there is nothing to answer with."""
    reference, challenges = location.reference, challenges_in(headers)
    credential = credential_for(network.auth_files, reference.registry, reference.repository)
    if "bearer" in challenges:
        return f"Bearer {_token(network, image, location, challenges['bearer'], credential)}"
    if "basic" in challenges and credential is not None and credential.user:
        return _basic(credential)
    raise _denied(network, image, location, "it wants credentials")


def challenges_in(headers: list[str]) -> dict[str, dict[str, str]]:
    """The parameters of each challenge in the headers WWW-Authenticate, by the scheme in lower case."""
    challenges = {}
    for text in headers:
        scheme, _, parameters = text.partition(" ")
        pairs = [pair for pair in parse_http_list(parameters) if pair.partition("=")[2]]
        challenges[scheme.lower()] = parse_keqv_list(pairs)
    return challenges


def _basic(credential: Credential) -> str:
    return "Basic " + base64.b64encode(f"{credential.user}:{credential.secret}".encode()).decode()


def _token(
    network: Network, image: str, location: MirrorLocation, challenge: Mapping[str, str], credential: Credential | None
) -> str:
    """A token for pulling, from the service that the registry names."""
    # The registry may name any host here, and is about to be believed with a password: never without TLS.
    realm = joined("", challenge.get("realm") or "")
    host = urlsplit(realm).netloc
    is_own = host == _host(location.reference.registry)
    insecure = _is_insecure(network, location) if is_own else _is_insecure_host(network, host)
    if urlsplit(realm).scheme not in (("https", "http") if insecure else ("https",)):
        raise FinalError(f"it names no safe token service: {realm or 'none'}")
    scope = challenge.get("scope") or f"repository:{location.reference.repository}:pull"
    fields = {key: value for key, value in (("service", challenge.get("service") or ""), ("scope", scope)) if value}
    if credential is not None and not credential.user:
        grant = {"grant_type": "refresh_token", "client_id": "olmc", "refresh_token": credential.secret}
        form = urlencode({**fields, **grant})
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        response = exchange(network, "POST", realm, kind, insecure=insecure, body=form)
    else:
        headers = {"Authorization": _basic(credential)} if credential is not None else {}
        address = f"{realm}{'&' if '?' in realm else '?'}{urlencode(fields)}"
        response = exchange(network, "GET", address, headers, insecure=insecure)
    raise_if_passing(response)
    if response.status != 200:
        reason = _refusal_reason(network, response)
        raise _denied(network, image, location, f"its token service answers {response.status}{reason}")
    try:
        value = unmarshal(read_body(network, response, MAX_ANSWER_BYTES))
        token = value.get("token") or value.get("access_token")
    except (ValueError, AttributeError) as error:
        raise FinalError("its token service sends no JSON") from error
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise FinalError("its token service sends no token")
    return token
