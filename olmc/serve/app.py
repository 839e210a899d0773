"""The paths of the API server, what answers them, and what stands before: limits of size, time and number, and a Status
for whatever goes wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import KubernetesObject
from olmc.output.unicode import clean
from olmc.proposed.installed.resources import RESOURCES, Resource
from olmc.serve import discovery, openapi
from olmc.serve.access_reviews import REVIEWS, review
from olmc.serve.encoders import (
    JSON,
    Form,
    StatusError,
    encode,
    form_of,
    negotiate,
    no_such_path,
    not_allowed,
    not_watched,
    status,
    too_many,
    whole_item,
    whole_list,
)
from olmc.serve.handlers import icon_for, item_for, page_for, query_of
from olmc.serve.store import Store
from olmc.serve.watches import BOOKMARK_SECONDS, Watch

MAX_WATCHES = 1000
Answer = Callable[[Request], Response]


def application(store: Store, kube_version: str, *, pause: float = BOOKMARK_SECONDS) -> Starlette:
    """The server's ASGI application; `pause` is how often a quiet watch gets a bookmark, in seconds."""
    routes = [
        *_plain_routes(kube_version),
        _route("/healthz", lambda _: Response("ok", media_type="text/plain")),
        _route("/livez", lambda _: Response("ok", media_type="text/plain")),
        _route("/readyz", lambda _: _readiness(store)),
    ]
    routes += [_review_route(path, kind) for path, kind in REVIEWS.items()]
    for resource in discovery.SERVED:
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
    """Where clients ask what they may do: nothing is stored, though it takes a POST."""

    async def endpoint(request: Request) -> Response:
        if request.method != "POST":
            raise not_allowed()
        answered = review(kind, request.headers.get("content-type", ""), await request.body())
        return Response(encode(answered, JSON), 201, media_type=JSON)

    return _any_method(path, endpoint)


def _plain_routes(kube_version: str) -> list[Route]:
    """Discovery and OpenAPI."""
    documents: dict[str, Callable[[], Any]] = {
        "/": discovery.root_paths,
        "/version": lambda: discovery.version_info(kube_version),
        "/openapi/v3": openapi.index_v3,
    }
    documents |= {f"/apis/{name}": partial(discovery.group, name) for name in discovery.GROUPS}
    documents |= {f"/apis/{version}": partial(discovery.resource_list, version) for version in discovery.API_VERSIONS}
    documents |= {f"/openapi/v3/apis/{each.api_version}": partial(openapi.document_v3, each) for each in RESOURCES}
    routes = [_route(path, _document(make)) for path, make in documents.items()]
    routes += [
        _route("/api", _discovery(discovery.api_versions, groups=False)),
        _route("/apis", _discovery(discovery.group_list, groups=True)),
        _route("/openapi/v2", _openapi_v2),
    ]
    return routes


def _document(make: Callable[[], Any]) -> Answer:
    return lambda request: _respond(request, make(), negotiate(request.headers.get("accept", "")).media)


def _discovery(make: Callable[[], Any], *, groups: bool) -> Answer:
    def answer(request: Request) -> Response:
        header = request.headers.get("accept", "")
        media = discovery.aggregated_media(header)
        headers = {"Vary": "Accept"}
        if media:
            return Response(encode(discovery.aggregated(media, groups), JSON), media_type=media, headers=headers)
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
    """What the router itself refuses is a path that there is not."""
    return _fail(request, error if isinstance(error, StatusError) else no_such_path())


Say = Callable[[str], None]


class RequestLimits(NamedTuple):
    """What a request may take: bytes of its address, headers and body, seconds, and how many there may be at once.

    `hosts` are the names that a request may call the server by, () for any.
    """

    address: int = 16 * 1024
    headers: int = 64 * 1024
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
            # A watch ends by its own time.
            async with asyncio.timeout(None if _is_watch(scope) else limits.seconds):
                again = _again(body, receive) if scope["path"] in REVIEWS else receive
                await app(scope, again, answer.send)
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
    """What has been sent of an answer; only before its beginning can it still be a failure."""

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
    if len(scope["raw_path"]) + len(scope["query_string"]) > limits.address:
        raise StatusError(status(414, "the address of the request is too long"))
    if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.headers:
        raise StatusError(status(431, "the headers of the request are too large"))
    # Else a page in a browser could reach the server under a name of its own (DNS rebinding).
    if limits.hosts and _host(_header(scope, b"host")) not in limits.hosts:
        raise StatusError(status(403, "this server answers only to the names of the local machine"))


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


_KEPT = 64 * 1024


def _again(body: bytes, receive: Receive) -> Receive:
    """What receives a body that was read already, then whatever comes next."""
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


def _is_watch(scope: Scope) -> bool:
    return b"watch" in scope["query_string"]
