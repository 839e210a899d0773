"""HTTP as uvicorn speaks it, with a Status for what is no HTTP, and without patience for those who say nothing."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from olmc.serve.shapes import encoded
from olmc.serve.status import status

FIRST_REQUEST_SECONDS = 30.0


class Protocol(H11Protocol):
    """A connection: uvicorn's, with two differences that it has no setting for."""

    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Close the connection when its first request does not come within half a minute."""
        super().connection_made(transport)
        self.waiting = self.loop.call_later(FIRST_REQUEST_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be read as a request with a Status instead of a line of text."""
        body = encoded(status(400, msg), "application/json")
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"), h11.Data(data=body)):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        self.transport.close()
