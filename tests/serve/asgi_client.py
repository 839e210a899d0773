"""Speaks to an ASGI application in this process as a client would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp


@dataclass
class Reply:
    """What came back: code, headers and body; `done` when the answer has its end."""

    code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    done: bool = False

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The events of a watch: their types and objects."""
        return [(line["type"], line["object"]) for line in map(json.loads, self.body.splitlines())]


def ask(
    app: ASGIApp, address: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes = b""
) -> Reply:
    """One request to its end."""
    reply = Reply()
    asyncio.run(request(app, address, method, headers or {}, body, reply))
    return reply


async def until_all_wait() -> None:
    """Let every task go on as far as it can; a time to sleep would be too short on a busy machine."""
    for _ in range(100):
        await asyncio.sleep(0)


async def request(
    app: ASGIApp, address: str, method: str, headers: Mapping[str, str], body: bytes, reply: Reply
) -> None:
    """One request, whose reply grows as it comes."""
    path, _, query = address.partition("?")
    sent = [False]

    async def receive() -> Any:
        if sent[0]:
            await asyncio.sleep(3600)
        sent[0] = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.code = message["status"]
            reply.headers = {key.decode(): value.decode("latin-1") for key, value in message["headers"]}
        else:
            reply.body += message.get("body", b"")
            reply.done = not message.get("more_body")

    length = {"content-length": str(len(body))} if body else {}
    raw = {"host": "localhost", **length, **{key.lower(): value for key, value in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": query.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "headers": [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in raw.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    await app(scope, receive, send)
