"""Registries: the OCI distribution API as far as pulling goes, with basic and token authentication."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

from urllib3.exceptions import HTTPError

from olmc.diagnostics.rules import vendor as rules
from olmc.gojson import unmarshal
from olmc.lean import regex
from olmc.vendor.containers_config import Credential, MirrorLocation, credential_for
from olmc.vendor.sources import (
    CHUNK,
    MAX_MANIFEST_BYTES,
    MEDIA_TYPES,
    Descriptor,
    ImageSource,
    SourceError,
    Tick,
    write_chunks,
)
from olmc.vendor.transport import (
    FinalError,
    Network,
    Response,
    TransientError,
    done_with,
    exchange,
    failure,
    is_loopback,
    joined,
    raise_if_passing,
    read_body,
    with_retries,
)

T = TypeVar("T")

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
    """Whether a registry may be asked without TLS: the user says so, or it is on this machine."""
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
