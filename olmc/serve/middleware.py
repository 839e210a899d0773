"""What stands before the application: limits of size, time and number, and a Status for whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from olmc.model.objects import KubernetesObject
from olmc.output.messages import printable
from olmc.serve.encoders import StatusError, encoded, status, too_many
from olmc.serve.store import Store

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


def guarded(app: ASGIApp, feed: Store, limits: RequestLimits, say: Say) -> ASGIApp:
    """The application behind its limits; `say` hears of what goes wrong in it."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        answer = _Answer(send)
        feed.requests += 1
        try:
            _check(scope, feed, limits)
            async with asyncio.timeout(limits.seconds):
                await _drained(scope, receive, limits)
            async with asyncio.timeout(None if _is_watch(scope) else limits.seconds):
                await app(scope, receive, answer.send)
        except StatusError as error:
            await answer.fail(error.status, error.headers)
        except TimeoutError:
            await answer.fail(status(504, "the request did not complete in time"))
        except Exception as error:
            where = f"{scope['method']} {scope['path']}"
            say(printable(f"olmc: internal error: {type(error).__name__}: {error} ({where})") + "\n")
            await answer.fail(status(500, "an error on the server prevented the request from succeeding"))
        finally:
            feed.requests -= 1

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
        body = encoded(failure, "application/json")
        shown = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in shown.items()]
        await self._send({"type": "http.response.start", "status": failure["code"], "headers": raw})
        await self._send({"type": "http.response.body", "body": body})


def _check(scope: Scope, feed: Store, limits: RequestLimits) -> None:
    if feed.requests - feed.watches > limits.requests:
        raise too_many("too many requests, please try again later")
    if len(scope["raw_path"]) + len(scope["query_string"]) > limits.address:
        raise StatusError(status(414, "the address of the request is too long"))
    if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.headers:
        raise StatusError(status(431, "the headers of the request are too large"))
    if limits.hosts and _host(_header(scope, b"host")) not in limits.hosts:
        raise StatusError(status(403, "this server answers only to the names of the local machine"))


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


async def _drained(scope: Scope, receive: Receive, limits: RequestLimits) -> None:
    """Read the body and forget it: nothing that can be asked here needs one."""
    too_large = StatusError(status(413, f"the body of the request is larger than {limits.body} bytes"))
    length = _header(scope, b"content-length")
    if not length and not _header(scope, b"transfer-encoding"):
        return
    if length.isdigit() and int(length[:20]) > limits.body:
        raise too_large
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = bool(message.get("more_body"))
        if size > limits.body:
            raise too_large


def _is_watch(scope: Scope) -> bool:
    return b"watch" in scope["query_string"]
