"""The paths of the API server, their handlers, and the layers before them: limits of size, time and number, and a
Status for each error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.output.messages import clean
from olmc.integrations.serve import openapi
from olmc.integrations.serve.handlers import (
    JSON,
    Form,
    Query,
    StatusError,
    bad_request,
    bookmark,
    encode,
    expired,
    form_of,
    icon_for,
    item_for,
    negotiate,
    no_such_path,
    not_allowed,
    not_watched,
    page_for,
    query_of,
    status,
    too_many,
    versions_of,
    whole_item,
    whole_list,
)
from olmc.integrations.serve.openapi import PATHS, SERVED
from olmc.integrations.serve.store import Event, InstalledSnapshot, Store, as_bookmark, changes
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, mapping
from olmc.targets.proposed.installed.resources import RESOURCES, Resource

# The answers for `kubectl auth can-i`: each client may read everything and may do nothing else.

API_VERSION = "authorization.k8s.io/v1"
ACCESS, RULES = "SelfSubjectAccessReview", "SelfSubjectRulesReview"
REVIEWS = {f"/apis/{API_VERSION}/{kind.lower()}s": kind for kind in (ACCESS, RULES)}
"""The path to which each kind of review is posted."""

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_REASON = "olmc serve can only be read"

# The fields of the messages by their numbers: a text, or a message of its own.
_RESOURCE: dict[int, Any] = {
    1: "namespace",
    2: "verb",
    3: "group",
    4: "version",
    5: "resource",
    6: "subresource",
    7: "name",
}
_SPECS: dict[str, dict[int, Any]] = {
    ACCESS: {1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", {1: "path", 2: "verb"})},
    RULES: {1: "namespace"},
}


def review(kind: str, media: str, body: bytes) -> dict[str, Any]:
    """The review of a kind that was posted, with its answer; StatusError (400, 415) for what can't be read."""
    spec = _spec(kind, media.partition(";")[0].strip(), body)
    answer = _access(spec) if kind == ACCESS else _rules()
    return {"kind": kind, "apiVersion": API_VERSION, "metadata": {}, "spec": spec, "status": answer}


def _access(spec: Mapping[str, Any]) -> dict[str, Any]:
    asked = mapping(spec.get("resourceAttributes"))
    path = mapping(spec.get("nonResourceAttributes"))
    if asked:
        part = f"/{asked['subresource']}" if asked.get("subresource") else ""
        wanted = (asked.get("group"), f"{asked.get('resource')}{part}")
        allowed = any(
            (resource.group, name) == wanted and asked.get("verb") in verbs
            for resource in SERVED
            for name, verbs in _readable(resource)
        )
    else:
        allowed = path.get("verb") == "get" and path.get("path") in PATHS
    return {"allowed": True} if allowed else {"allowed": False, "reason": _REASON}


def _readable(resource: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield resource.plural, resource.verbs
    yield from ((f"{resource.plural}/{part}", ("get",)) for part in resource.parts)


def _rules() -> dict[str, Any]:
    """Everything that can be read, in the form in which `kubectl auth can-i --list` shows it."""
    rules = [
        {"verbs": list(verbs), "apiGroups": [resource.group], "resources": [name]}
        for resource in SERVED
        for name, verbs in _readable(resource)
    ]
    paths = {"verbs": ["get"], "nonResourceURLs": list(PATHS)}
    return {"resourceRules": rules, "nonResourceRules": [paths], "incomplete": False}


def _spec(kind: str, media: str, body: bytes) -> dict[str, Any]:
    if media == _PROTOBUF:
        try:
            return _of_protobuf(kind, body)
        except (ValueError, IndexError) as error:
            raise bad_request("the body of the request is no message in protocol buffers") from error
    if media not in ("", "application/json"):
        raise StatusError(status(415, f"the body of the request was in an unknown format: {media[:80]}"))
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise bad_request("the body of the request is no JSON") from error
    return dict(mapping(mapping(given).get("spec")))


def _of_protobuf(kind: str, body: bytes) -> dict[str, Any]:
    """The spec of a review in the envelope that Kubernetes puts around messages; ValueError, IndexError for none."""
    if not body.startswith(_MAGIC):
        raise ValueError
    raw = next((value for number, value in _fields(body[len(_MAGIC) :]) if number == 2), b"")
    spec = next((value for number, value in _fields(raw) if number == 2), b"")
    return _decoded(spec, _SPECS[kind])


def _decoded(data: bytes, known: Mapping[int, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for number, value in _fields(data):
        field = known.get(number)
        if isinstance(field, tuple):
            decoded[field[0]] = _decoded(value, field[1])
        elif field is not None and value:
            decoded[field] = value.decode()
    return decoded


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that hold bytes, with their numbers; numbers as values are left out."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        size, after = _varint(data, place)
        if key & 7 == 0:
            place = after
            continue
        if key & 7 != 2 or after + size > len(data):
            raise ValueError
        yield key >> 3, data[after : after + size]
        place = after + size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
        if shift > 63:
            raise ValueError


# Watches: the events of a list as a stream, one JSON object a line.

BOOKMARK_SECONDS = 60.0
_TOO_OLD = "The resourceVersion for the provided watch is too old."


class Watch:
    """A watch under way: what is watched, and the state up to which everything has been sent."""

    __slots__ = ("_columns_sent", "form", "namespace", "query", "snapshot", "store")

    def __init__(self, store: Store, form: Form, namespace: str | None, query: Query) -> None:
        """Begin a watch; StatusError (400, 410) when it can't begin with the version that is asked for."""
        self.store, self.form, self.namespace, self.query = store, form, namespace, query
        self.snapshot = beginning(store, query) or store.current
        self._columns_sent = False

    async def lines(self, pause: float = BOOKMARK_SECONDS) -> AsyncIterator[bytes]:
        """The events until time is up, the server stops, or the client has fallen too far behind.

        `pause` is how many seconds go by without an event before a bookmark is sent.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self.query.seconds
        for line in self._initial():
            yield line
        while not self.store.closing.is_set() and loop.time() < end:
            # Taken before the states are read: what changes meanwhile sets this very event.
            changed = self.store.changed
            later = self.store.since(self.snapshot)
            # The client has been too slow for the history; with 410 it lists again.
            if later is None:
                yield self._line("ERROR", status(410, _TOO_OLD))
                return
            for line in self._news(later):
                yield line
            if changed.is_set():
                continue
            has_changed = await _wait(changed, min(pause, end - loop.time()))
            if not has_changed and self.query.bookmarks:
                yield self._line("BOOKMARK", self._bookmark())
        if self.query.bookmarks:
            yield self._line("BOOKMARK", self._bookmark())

    def _initial(self) -> Iterator[bytes]:
        """Everything that is there, for a watch that does not begin with a version it has seen."""
        if not _begins_with_everything(self.query):
            return
        for item in self.snapshot.in_namespace(self.namespace).values():
            if self.query.selection.selects(item):
                yield self._event(Event("ADDED", item))
        if self.query.initial:
            yield self._line("BOOKMARK", self._bookmark(initial_end=True))

    def _news(self, later: list[InstalledSnapshot]) -> Iterator[bytes]:
        for snapshot in later:
            for event in changes(self.snapshot, snapshot, self.namespace, self.query.selection.selects):
                yield self._event(event)
            self.snapshot = snapshot

    def _event(self, event: Event) -> bytes:
        obj = whole_item(self.form, event.item, with_columns=not self._columns_sent)
        self._columns_sent = True
        return self._line(event.type, obj)

    def _bookmark(self, *, initial_end: bool = False) -> Any:
        resource = self.form.resource
        obj = as_bookmark(self.snapshot, resource.api_version, resource.kind, initial_end=initial_end)
        return bookmark(self.form, obj)

    def _line(self, kind: str, obj: Any) -> bytes:
        return encode({"type": kind, "object": obj}, "application/json")


async def _wait(event: asyncio.Event, seconds: float) -> bool:
    """Return whether an event comes within some seconds."""
    try:
        await asyncio.wait_for(event.wait(), max(seconds, 0))
    except TimeoutError:
        return False
    return True


def _begins_with_everything(query: Query) -> bool:
    if query.initial is not None:
        return query.initial
    return versions_of(query.version) is None


def beginning(store: Store, query: Query) -> InstalledSnapshot | None:
    """The state that a watch goes on from, None for the present one.

    StatusError: 400 for a version that can't be read, 410 for one that is not kept, or that is of another server.
    """
    if versions_of(query.version) is None or query.initial is not None:
        return None
    snapshot = store.at(query.version)
    if snapshot is None:
        raise expired(_TOO_OLD)
    return snapshot


MAX_WATCHES = 1000
Answer = Callable[[Request], Response]

_CLOCK = "olmc.clock"
"""The key in the scope of a request for the end of its time, which a watch removes once it begins: its parameters alone
do not make a request one."""


def application(store: Store, kube_version: str, *, pause: float = BOOKMARK_SECONDS) -> Starlette:
    """The server's ASGI application; `pause` is how often a quiet watch gets a bookmark, in seconds."""
    routes = [
        *_plain_routes(kube_version),
        _route("/healthz", lambda _: Response("ok", media_type="text/plain")),
        _route("/livez", lambda _: Response("ok", media_type="text/plain")),
        _route("/readyz", lambda _: _readiness(store)),
    ]
    routes += [_review_route(path, kind) for path, kind in REVIEWS.items()]
    for resource in openapi.SERVED:
        routes += _resource_routes(store, resource, pause)
    app = Starlette(routes=routes, exception_handlers={StatusError: _fail, HTTPException: _refuse})
    # The API server knows no such path either, and clients don't follow redirects.
    app.router.redirect_slashes = False
    return app


def _route(path: str, answer: Answer, resource: Resource | None = None) -> Route:
    """A path that can only be read: every other method is refused."""

    async def endpoint(request: Request) -> Response:
        if request.method != "GET":
            raise not_allowed(resource, request.path_params.get("name", ""))
        return answer(request)

    return _any_method(path, endpoint)


def _any_method(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    route = Route(path, endpoint)
    route.methods = None  # starlette would refuse some by itself, and without a Status
    return route


def _review_route(path: str, kind: str) -> Route:
    """Return where clients ask what they may do: nothing is stored, though it takes a POST."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            raise not_allowed()
        answered = review(kind, request.headers.get("content-type", ""), await request.body())
        return Response(encode(answered, JSON), 201, media_type=JSON)

    return _any_method(path, endpoint)


def _plain_routes(kube_version: str) -> list[Route]:
    """Discovery and OpenAPI."""
    documents: dict[str, Callable[[], Any]] = {
        "/": openapi.root_paths,
        "/version": lambda: openapi.version_info(kube_version),
        "/openapi/v3": openapi.index_v3,
    }
    documents |= {f"/apis/{name}": partial(openapi.group, name) for name in openapi.GROUPS}
    documents |= {f"/apis/{version}": partial(openapi.resource_list, version) for version in openapi.API_VERSIONS}
    documents |= {f"/openapi/v3/apis/{each.api_version}": partial(openapi.document_v3, each) for each in RESOURCES}
    routes = [_route(path, _document(make)) for path, make in documents.items()]
    routes += [
        _route("/api", _discovery(openapi.api_versions, groups=False)),
        _route("/apis", _discovery(openapi.group_list, groups=True)),
        _route("/openapi/v2", _openapi_v2),
    ]
    return routes


def _document(make: Callable[[], Any]) -> Answer:
    return lambda request: _respond(request, make(), negotiate(request.headers.get("accept", "")).media)


def _discovery(make: Callable[[], Any], *, groups: bool) -> Answer:
    def answer(request: Request) -> Response:
        header = request.headers.get("accept", "")
        media = openapi.aggregated_media(header)
        headers = {"Vary": "Accept"}
        if media:
            return Response(encode(openapi.aggregated(media, groups), JSON), media_type=media, headers=headers)
        return _respond(request, make(), negotiate(header).media, headers)

    return answer


def _openapi_v2(request: Request) -> Response:
    header = request.headers.get("accept", "")
    if any(media in header for media in openapi.MEDIA_REQUESTED):
        data = openapi.encode(openapi.document_v2())
        return Response(data, media_type=openapi.MEDIA, headers={"Vary": "Accept"})
    return _respond(request, openapi.document_v2(), negotiate(header).media, {"Vary": "Accept"})


def _resource_routes(store: Store, resource: Resource, pause: float) -> list[Route]:
    base = f"/apis/{resource.api_version}"
    inside = (
        f"{base}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{base}/{resource.plural}"
    )

    def listed(request: Request) -> Response:
        return _list(store, resource, request, pause)

    def named(request: Request) -> Response:
        form = _form(resource, request)
        place = request.path_params
        item = item_for(store, resource, NamespacedName(place.get("namespace", ""), place["name"]))
        return _respond(request, whole_item(form, item), form.accepted.media)

    lists = dict.fromkeys((f"{base}/{resource.plural}", inside))
    routes = [*(_route(path, listed, resource) for path in lists), _route(f"{inside}/{{name}}", named, resource)]
    return [*routes, *(_route(f"{inside}/{{name}}/{part}", partial(_icon, store), resource) for part in resource.parts)]


def _form(resource: Resource, request: Request) -> Form:
    header = request.headers.get("accept", "")
    return form_of(resource, negotiate(header), request.query_params.get("includeObject", ""))


def _list(store: Store, resource: Resource, request: Request, pause: float) -> Response:
    """A list, or the stream of what happens to it."""
    query = query_of(resource, request.query_params)
    form = _form(resource, request)
    namespace = request.path_params.get("namespace")
    if not query.watch:
        return _respond(request, whole_list(form, page_for(store, resource, namespace, query)), form.accepted.media)
    if "watch" not in resource.verbs:
        raise not_watched(resource)
    if store.watches >= MAX_WATCHES:
        raise too_many("too many watches, please try again later")
    clock = request.scope.get(_CLOCK)
    if clock is not None:
        clock.reschedule(None)  # a watch ends by its own time
    # A stream is JSON, a line each: YAML has no such form.
    form = form._replace(accepted=form.accepted._replace(media=JSON))
    return StreamingResponse(_count(store, Watch(store, form, namespace, query), pause), media_type=JSON)


async def _count(store: Store, watch: Watch, pause: float) -> Any:
    store.watches += 1
    try:
        async for line in watch.lines(pause):
            yield line
    finally:
        store.watches -= 1


def _icon(store: Store, request: Request) -> Response:
    data, headers = icon_for(store, NamespacedName(request.path_params["namespace"], request.path_params["name"]))
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=dict(headers))
    return Response(data, headers=dict(headers))


def _readiness(store: Store) -> Response:
    if store.closing.is_set():
        return Response("shutting down", status_code=503, media_type="text/plain")
    return Response("ok", media_type="text/plain")


def _respond(request: Request, obj: Any, media: str, headers: Mapping[str, str] | None = None) -> Response:
    pretty = request.query_params.get("pretty") in ("1", "true")
    return Response(encode(obj, media, pretty=pretty), media_type=media, headers=headers)


def _fail(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, StatusError)
    return Response(encode(error.status, JSON), error.code, error.headers, JSON)


def _refuse(request: Request, error: Exception) -> Response:
    """Refuse a request as the router does: its path does not exist."""
    return _fail(request, error if isinstance(error, StatusError) else no_such_path())


Say = Callable[[str], None]


class RequestLimits(NamedTuple):
    """The limits of a request: bytes of its address, headers and body, seconds, and the number of parallel ones.

    `path` is the part of the address before its parameters, `header` one of the headers that the server reads. `hosts`
    are the names that a request may call the server by, () for any.
    """

    address: int = 16 * 1024
    path: int = 2 * 1024
    headers: int = 64 * 1024
    header: int = 4 * 1024
    body: int = 3 * 1024 * 1024
    seconds: float = 60.0
    requests: int = 400
    hosts: Collection[str] = ()


def limited(app: ASGIApp, store: Store, limits: RequestLimits, say: Say) -> ASGIApp:
    """The application behind its limits; `say` hears of what goes wrong in it."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        answer = _Answer(send)
        store.requests += 1
        try:
            _check(scope, store, limits)
            async with asyncio.timeout(limits.seconds):
                body = await _drain(scope, receive, limits)
            async with asyncio.timeout(limits.seconds) as clock:
                again = _again(body, receive) if scope["path"] in REVIEWS else receive
                await app({**scope, _CLOCK: clock}, again, answer.send)
        except StatusError as error:
            await answer.fail(error.status, error.headers)
        except TimeoutError:
            await answer.fail(status(504, "the request did not complete in time"))
        except Exception as error:
            where = f"{scope['method']} {scope['path']}"
            say(clean(f"olmc: internal error: {type(error).__name__}: {error} ({where})") + "\n")
            await answer.fail(status(500, "an error on the server prevented the request from succeeding"))
        finally:
            store.requests -= 1

    return guard


class _Answer:
    """The sent part of an answer; only before its start can it still become a failure."""

    __slots__ = ("_send", "begun")

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def send(self, message: Message) -> None:
        self.begun = True
        await self._send(message)

    async def fail(self, failure: KubernetesObject, headers: dict[str, str] | None = None) -> None:
        """Send a Status; where the answer has begun already, the connection ends without its end."""
        if self.begun:
            raise ConnectionAbortedError(failure["message"])
        body = encode(failure, "application/json")
        shown = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in shown.items()]
        await self._send({"type": "http.response.start", "status": failure["code"], "headers": raw})
        await self._send({"type": "http.response.body", "body": body})


def _check(scope: Scope, store: Store, limits: RequestLimits) -> None:
    # Watches have a limit of their own, since they stay.
    if store.requests - store.watches > limits.requests:
        raise too_many("too many requests, please try again later")
    path, parameters = len(scope["raw_path"]), len(scope["query_string"])
    if path > limits.path or path + parameters > limits.address:
        raise StatusError(status(414, "the address of the request is too long"))
    if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.headers:
        raise StatusError(status(431, "the headers of the request are too large"))
    if any(len(value) > limits.header for name, value in scope["headers"] if name in _READ):
        raise StatusError(status(431, "a header of the request is too large"))
    # Else a page in a browser could reach the server under a name of its own (DNS rebinding).
    if limits.hosts and _host(_header(scope, b"host")) not in limits.hosts:
        raise StatusError(status(403, "this server answers only to the names of the local machine"))
    if _is_foreign(scope):
        raise StatusError(status(403, "this server answers no page of another origin"))


_READ = frozenset({b"accept", b"content-length", b"content-type", b"host", b"if-none-match", b"origin"})
"""The headers that this server parses."""

_OWN = frozenset({b"same-origin", b"none"})


def _is_foreign(scope: Scope) -> bool:
    """Return whether a browser sends the request for a page that this server did not send.

    Browsers name the page's origin, or how it relates to this server, and no page can change these headers. Other
    clients send neither of them.
    """
    host = _header(scope, b"host").lower()
    return any(
        (name == b"origin" and value.decode("latin-1").lower().partition("://")[2] != host)
        or (name == b"sec-fetch-site" and value not in _OWN)
        for name, value in scope["headers"]
    )


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


_KEPT = 64 * 1024


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a function that receives a body that was read already, then the next messages."""
    waiting = [body]

    async def replayed() -> Message:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return replayed


async def _drain(scope: Scope, receive: Receive, limits: RequestLimits) -> bytes:
    """Read the body and forget it, but for the questions of `kubectl auth can-i`: nothing else here needs one."""
    kept = bytearray()
    too_large = StatusError(status(413, f"the body of the request is larger than {limits.body} bytes"))
    length = _header(scope, b"content-length")
    if not length and not _header(scope, b"transfer-encoding"):
        return b""
    if length.isascii() and length.isdigit() and int(length[:20]) > limits.body:
        raise too_large
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        size += len(message.get("body", b""))
        if scope["path"] in REVIEWS and size <= _KEPT:
            kept += message.get("body", b"")
        more = bool(message.get("more_body"))
        if size > limits.body:
            raise too_large
    return bytes(kept)
