"""The paths of the API server and what answers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from olmc.model.cluster import NamespacedName
from olmc.proposed.installed.resources import GROUP, RESOURCES, Resource
from olmc.serve import discovery, openapi
from olmc.serve import openapi as protobuf
from olmc.serve.encoders import (
    JSON,
    Form,
    StatusError,
    accepted,
    encoded,
    form_of,
    no_such_path,
    not_allowed,
    not_watched,
    one,
    too_many,
    whole_list,
)
from olmc.serve.handlers import icon_for, item_for, page_for, query_of
from olmc.serve.store import Store
from olmc.serve.watches import BOOKMARK_SECONDS, Watch

MAX_WATCHES = 1000
Answer = Callable[[Request], Response]


def application(feed: Store, kube_version: str, *, pause: float = BOOKMARK_SECONDS) -> Starlette:
    """The server's ASGI application; `pause` is how often a quiet watch gets a bookmark, in seconds."""
    routes = [
        *_plain_routes(kube_version),
        _route("/healthz", lambda _: Response("ok", media_type="text/plain")),
        _route("/livez", lambda _: Response("ok", media_type="text/plain")),
        _route("/readyz", lambda _: _readiness(feed)),
    ]
    for resource in RESOURCES:
        routes += _resource_routes(feed, resource, pause)
    app = Starlette(routes=routes, exception_handlers={StatusError: _failed, HTTPException: _refused})
    app.router.redirect_slashes = False
    return app


def _route(path: str, answer: Answer, resource: Resource | None = None) -> Route:
    """A path that can only be read: every other method is refused."""

    async def endpoint(request: Request) -> Response:
        if request.method != "GET":
            raise not_allowed(resource, request.path_params.get("name", ""))
        return answer(request)

    route = Route(path, endpoint)
    route.methods = None  # starlette would refuse the others by itself, and without a Status
    return route


def _plain_routes(kube_version: str) -> list[Route]:
    """Discovery and OpenAPI."""
    documents: Mapping[str, Callable[[], Any]] = {
        "/": discovery.root_paths,
        "/version": lambda: discovery.version_info(kube_version),
        f"/apis/{GROUP}": discovery.group,
        "/openapi/v3": openapi.index_v3,
    }
    routes = [_route(path, _document(make)) for path, make in documents.items()]
    routes += [_route("/api", _discovery(discovery.api_versions, groups=False))]
    routes += [_route("/apis", _discovery(discovery.group_list, groups=True))]
    routes += [_route("/openapi/v2", _openapi_v2)]
    for resource in RESOURCES:
        base = f"/apis/{resource.api_version}"
        routes.append(_route(base, _document(_bound(discovery.resource_list, resource))))
        routes.append(_route(f"/openapi/v3{base}", _document(_bound(openapi.document_v3, resource))))
    return routes


def _bound(make: Callable[[Resource], Any], resource: Resource) -> Callable[[], Any]:
    return lambda: make(resource)


def _document(make: Callable[[], Any]) -> Answer:
    return lambda request: _sent(request, make(), accepted(request.headers.get("accept", "")).media)


def _discovery(make: Callable[[], Any], *, groups: bool) -> Answer:
    def answer(request: Request) -> Response:
        header = request.headers.get("accept", "")
        media = discovery.aggregated_media(header)
        headers = {"Vary": "Accept"}
        if media:
            return Response(encoded(discovery.aggregated(media, groups), JSON), media_type=media, headers=headers)
        return _sent(request, make(), accepted(header).media, headers)

    return answer


def _openapi_v2(request: Request) -> Response:
    header = request.headers.get("accept", "")
    if any(media in header for media in protobuf.MEDIA_ASKED_FOR):
        data = protobuf.encoded(openapi.document_v2())
        return Response(data, media_type=protobuf.MEDIA, headers={"Vary": "Accept"})
    return _sent(request, openapi.document_v2(), accepted(header).media, {"Vary": "Accept"})


def _resource_routes(feed: Store, resource: Resource, pause: float) -> list[Route]:
    base = f"/apis/{resource.api_version}"
    inside = f"{base}/namespaces/{{namespace}}/{resource.plural}"

    def listed(request: Request) -> Response:
        return _list(feed, resource, request, pause)

    def named(request: Request) -> Response:
        form = _form(resource, request)
        item = item_for(feed, resource, NamespacedName(request.path_params["namespace"], request.path_params["name"]))
        return _sent(request, one(form, item), form.accepted.media)

    def icon(request: Request) -> Response:
        return _icon(feed, request)

    routes = [
        _route(f"{base}/{resource.plural}", listed, resource),
        _route(inside, listed, resource),
        _route(f"{inside}/{{name}}", named, resource),
    ]
    return [*routes, *(_route(f"{inside}/{{name}}/{part}", icon, resource) for part in resource.parts)]


def _form(resource: Resource, request: Request) -> Form:
    header = request.headers.get("accept", "")
    return form_of(resource, accepted(header), request.query_params.get("includeObject", ""))


def _list(feed: Store, resource: Resource, request: Request, pause: float) -> Response:
    """A list, or the stream of what happens to it."""
    query = query_of(resource, request.query_params)
    form = _form(resource, request)
    namespace = request.path_params.get("namespace")
    if not query.watch:
        return _sent(request, whole_list(form, page_for(feed, resource, namespace, query)), form.accepted.media)
    if "watch" not in resource.verbs:
        raise not_watched(resource)
    if feed.watches >= MAX_WATCHES:
        raise too_many("too many watches, please try again later")
    form = form._replace(accepted=form.accepted._replace(media=JSON))
    return StreamingResponse(_counted(feed, Watch(feed, form, namespace, query), pause), media_type=JSON)


async def _counted(feed: Store, watch: Watch, pause: float) -> Any:
    feed.watches += 1
    try:
        async for line in watch.lines(pause):
            yield line
    finally:
        feed.watches -= 1


def _icon(feed: Store, request: Request) -> Response:
    data, headers = icon_for(feed, NamespacedName(request.path_params["namespace"], request.path_params["name"]))
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=dict(headers))
    return Response(data, headers=dict(headers))


def _readiness(feed: Store) -> Response:
    if feed.closing.is_set():
        return Response("shutting down", status_code=503, media_type="text/plain")
    return Response("ok", media_type="text/plain")


def _sent(request: Request, obj: Any, media: str, headers: Mapping[str, str] | None = None) -> Response:
    pretty = request.query_params.get("pretty") in ("1", "true")
    return Response(encoded(obj, media, pretty=pretty), media_type=media, headers=headers)


def _failed(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, StatusError)
    return Response(encoded(error.status, JSON), error.code, error.headers, JSON)


def _refused(request: Request, error: Exception) -> Response:
    """What the router itself refuses is a path that there is not."""
    return _failed(request, no_such_path() if not isinstance(error, StatusError) else error)
