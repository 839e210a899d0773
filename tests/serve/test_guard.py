"""What no request may do: be too long, take too long, come too often, or bring the server down."""

from __future__ import annotations

import asyncio
import string
import time
from typing import Any
from urllib.parse import quote

import pytest
from asgi_client import Reply, ask, request, until_all_wait
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from serve_states import feed, operator, view
from starlette.types import ASGIApp

from olmc.integrations.serve.app import RequestLimits, application, limited
from olmc.targets.proposed.installed.resources import RESOURCES

FEED = feed(view(operator("kettle.v1", targets=["a"])))
LISTED = next(f"/apis/{each.api_version}/{each.plural}" for each in RESOURCES if "watch" in each.verbs)


def app(limits: RequestLimits | None = None, inner: ASGIApp | None = None, said: list[str] | None = None) -> ASGIApp:
    say = (said if said is not None else []).append
    return limited(inner or application(FEED, "v1.36.2"), FEED, limits or RequestLimits(), say)


def refused(reply: Reply, code: int) -> str:
    assert (reply.code, reply.data["kind"], reply.data["code"]) == (code, "Status", code)
    assert reply.done and reply.headers["content-type"] == "application/json"
    return str(reply.data["message"])


def test_the_length_of_an_address_is_limited() -> None:
    assert ask(app(), "/apis?" + "x" * 16_000).code == 200
    refused(ask(app(), "/apis?" + "x" * 17_000), 414)
    refused(ask(app(), "/" + "x" * 17_000), 414)


def test_the_size_of_headers_is_limited() -> None:
    assert ask(app(), "/apis", headers={"X": "x" * 60_000}).code == 200
    refused(ask(app(), "/apis", headers={"X": "x" * 70_000}), 431)


def test_the_length_of_a_body_is_limited() -> None:
    """By what its header says, and by what really comes; one that is small enough is read and forgotten."""
    limits = RequestLimits(body=10)
    refused(ask(app(limits), "/apis", "POST", body=b"x" * 11), 413)
    refused(ask(app(limits), "/apis", "POST", {"Content-Length": "3"}, b"x" * 11), 413)
    refused(ask(app(limits), "/apis", "POST", {"Transfer-Encoding": "chunked"}, b"x" * 11), 413)
    refused(ask(app(limits), "/apis", "POST", body=b"x" * 10), 405)
    assert ask(app(limits), "/apis", "GET", body=b"x" * 10).code == 200


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def scene() -> Reply:
        reply = Reply()

        async def never() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                reply.code = message["status"]

        scope = {"type": "http", "method": "POST", "path": "/", "raw_path": b"/", "query_string": b"",
                 "headers": [(b"content-length", b"5")]}  # fmt: skip
        await app(RequestLimits(seconds=0.05))(scope, never, send)
        return reply

    assert asyncio.run(scene()).code == 504


def test_the_time_of_an_answer_is_limited() -> None:
    async def slow(*_: Any) -> None:
        await asyncio.sleep(60)

    assert refused(ask(app(RequestLimits(seconds=0.05), slow), "/apis"), 504) == "the request did not complete in time"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/apis?watch=1", 504),
        ("/healthz?watch", 504),
        (f"{LISTED}?rewatch=1", 504),
        (f"{LISTED}?watch=false", 504),
        (f"{LISTED}?labelSelector=watch", 504),
        (f"{LISTED}?watch=1&timeoutSeconds=1", 200),
    ],
)
def test_only_a_watch_may_take_longer(path: str, code: int) -> None:
    """Clients that read slowly hold requests; a parameter by itself does not let them do so forever."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        async def read(message: Any) -> None:
            await asyncio.sleep(0.2)
            await send(message)

        await application(FEED, "")(scope, receive, read)

    assert ask(app(RequestLimits(seconds=0.1), slow), path).code == code


def test_the_number_of_requests_is_limited() -> None:
    async def scene() -> list[int]:
        hold = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await hold.wait()
            await application(FEED, "")(scope, receive, send)

        replies = [Reply() for _ in range(4)]
        guard = app(RequestLimits(requests=3), slow)
        tasks = [asyncio.create_task(request(guard, "/apis", "GET", {}, b"", reply)) for reply in replies]
        await until_all_wait()
        hold.set()
        await asyncio.gather(*tasks)
        return [reply.code for reply in replies]

    assert asyncio.run(scene()) == [200, 200, 200, 429]
    assert FEED.requests == 0


@pytest.mark.parametrize(
    ("host", "code"),
    [("localhost", 200), ("127.0.0.1:5443", 200), ("[::1]:5443", 200), ("LOCALHOST:1", 200), ("example.com", 403),
     ("127.0.0.1.example.com:5443", 403), ("", 403), ("[", 403)],
)  # fmt: skip
def test_a_local_server_answers_only_to_local_names(host: str, code: int) -> None:
    """Or a page in a browser could read it by a name that it makes point to this machine."""
    limits = RequestLimits(hosts=("localhost", "127.0.0.1", "::1"))
    assert ask(app(limits), "/apis", headers={"Host": host}).code == code
    assert ask(app(), "/apis", headers={"Host": host}).code == 200


def test_an_error_of_the_server_is_a_status_and_a_line() -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("out of tea")

    said: list[str] = []
    text = refused(ask(app(inner=broken, said=said), "/apis"), 500)
    assert "tea" not in text
    assert said == ["olmc: internal error: RuntimeError: out of tea (GET /apis)\n"]


def test_an_answer_that_has_begun_is_broken_off() -> None:
    """What would follow could be taken for a part of it."""

    async def halfway(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise RuntimeError("out of tea")

    reply = Reply()
    with pytest.raises(ConnectionAbortedError):
        asyncio.run(request(app(inner=halfway), "/apis", "GET", {}, b"", reply))
    assert (reply.body, reply.done) == (b"{", False)


SEGMENTS = st.one_of(
    st.sampled_from(["apis", "api", "openapi", "v2", "v3", "namespaces", "a", "kettle.v1", "icon", "..", "%2e", ""]),
    st.sampled_from([text for each in RESOURCES for text in (each.plural, each.version, each.kind)]),
    st.sampled_from(["packages.operators.coreos.com", "healthz"]),
    st.text(max_size=12),
)
KNOWN = st.sampled_from(
    [f"/apis/{each.api_version}/{scope}{each.plural}{name}" for each in RESOURCES
     for scope in ("", "namespaces/a/") for name in ("", "/kettle.v1")]
)  # fmt: skip
PATHS = st.one_of(KNOWN, st.lists(SEGMENTS, max_size=7).map(lambda found: "/" + "/".join(found)))
PARAMETERS = st.sampled_from(
    ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "pretty",
     "allowWatchBookmarks", "sendInitialEvents", "includeObject", "timeoutSeconds", "x"]
)  # fmt: skip
VALUES = st.one_of(
    st.text(string.printable, max_size=20), st.text(max_size=8), st.integers().map(str),
    st.sampled_from(["0", "1", "true", "a in (b)", "metadata.name=kettle.v1", "Exact", "NotOlderThan", "Object"]),
)  # fmt: skip
QUERIES = st.lists(st.tuples(PARAMETERS, VALUES), max_size=4).map(
    lambda found: "&".join(f"{key}={value}" for key, value in found)
)
ACCEPTS = st.one_of(
    st.sampled_from(["", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", "text/html"]),
    st.text(string.printable.strip() + " ", max_size=30),
)
METHODS = st.sampled_from(["GET", "GET", "GET", "POST", "DELETE", "PATCH", "PUT", "HEAD", "OPTIONS", "X"])


@examples(400)
@given(PATHS, QUERIES, ACCEPTS, METHODS, st.binary(max_size=20))
def test_any_request_gets_an_answer_or_a_status(path: str, query: str, accept: str, method: str, body: bytes) -> None:
    """Never an error of the server, never anything but what it says it is."""
    said: list[str] = []
    reply = ask(app(said=said), f"{path}?{query}", method, {"Accept": accept}, body)
    assert said == []
    assert reply.done and reply.code in (200, 304, 400, 404, 405, 406, 410, 422, 504), reply.code
    if reply.code >= 400:
        refused(reply, reply.code)
    elif reply.headers["content-type"].startswith("application/json"):
        assert isinstance(reply.data, dict)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 200), ({"Origin": "https://localhost:5443"}, 200), ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Origin": "https://example.com"}, 403), ({"Origin": "null"}, 403),
        ({"Origin": "https://localhost:8080"}, 403), ({"Origin": "https://localhost:5443.example.com"}, 403),
        ({"Origin": ""}, 403), ({"Origin": "localhost:5443"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403), ({"Sec-Fetch-Site": "none, cross-site"}, 403),
        ({"Origin": "https://localhost:5443", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)  # fmt: skip
@pytest.mark.parametrize("hosts", [(), ("localhost",)], ids=["for others", "local"])
def test_no_page_of_another_origin_is_answered(hosts: tuple[str, ...], headers: dict[str, str], code: int) -> None:
    """Whatever it asks for: a list, a review that needs a POST, or whether the server lives."""
    for method, path in (("GET", "/apis"), ("GET", "/healthz"), ("POST", "/apis"), ("OPTIONS", "/apis")):
        reply = ask(app(RequestLimits(hosts=hosts)), path, method, headers={"Host": "localhost:5443", **headers})
        assert reply.code == (code if code == 403 or method == "GET" else 405), (method, path)


def test_the_parts_of_a_request_are_limited_before_they_are_read() -> None:
    assert ask(app(), "/apis/" + "x" * 2_000).code == 404
    refused(ask(app(), "/apis/" + "x" * 2_100), 414)
    refused(ask(app(), "/apis/" + "%78" * 700), 414)
    for name in ("Accept", "Content-Type", "If-None-Match", "Origin", "Host"):
        refused(ask(app(), "/apis", headers={name: ";q=1," * 1_000}), 431)


@pytest.mark.parametrize(
    "text",
    [
        " " * 4_000 + "x", "a" + " " * 4_000 + "x", "metadata.name" + " " * 4_000, "=" * 4_000, "a!" * 2_000,
        " \t" * 2_000 + "!", "a in (" + "(" * 4_000, "metadata.name=" + " " * 4_000 + "x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("parameter", ["fieldSelector", "labelSelector"])
def test_no_selector_keeps_the_server_busy(parameter: str, text: str) -> None:
    """It is the same thread that answers whether the server lives."""
    start = time.thread_time()
    for resource in RESOURCES:
        ask(app(), f"/apis/{resource.api_version}/{resource.plural}?{parameter}={quote(text)}")
    assert time.thread_time() - start < 1


@pytest.mark.parametrize("parameter", ["fieldSelector", "labelSelector"])
@pytest.mark.parametrize(("text", "code"), [("a!=b,", 400), ("metadata.name!=b,", 400)])
def test_the_length_of_a_selector_is_limited(parameter: str, text: str, code: int) -> None:
    resource = RESOURCES[0]
    path = f"/apis/{resource.api_version}/{resource.plural}?{parameter}="
    assert ask(app(), path + quote("metadata.name!=b")).code == 200
    assert ask(app(), path + quote(",".join(["metadata.name!=b"] * 64))).code == 200
    assert "Too many" in refused(ask(app(), path + quote(",".join(["metadata.name!=b"] * 65))), code)
    assert "Too long" in refused(ask(app(), path + quote(text * 300 + "a" * 3_000)), code)
