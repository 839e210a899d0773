"""Watches: what is told, and when they end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgi_client import Reply, ask, request, until_all_wait
from serve_states import advance, feed, operator, view

from olmc.integrations.serve.app import application
from olmc.integrations.serve.store import HISTORY, Store
from olmc.targets.proposed.installed.resources import INSTALLED

LIST = f"/apis/{INSTALLED.api_version}/installed"
WATCH = f"{LIST}?watch=1"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
ZERO = "clusterserviceversions:0,subscriptions:0"
ONE = view(operator("kettle.v1", targets=["a"]))


def watched(
    of: Store, address: str, *steps: Callable[[], Any], headers: dict[str, str] | None = None, pause: float = 60
) -> Reply:
    """What a watch tells while steps are taken one after the other; at the end the server stops."""

    async def scene() -> Reply:
        reply = Reply()
        app = application(of, "v1.36.2", pause=pause)
        task = asyncio.create_task(request(app, address, "GET", headers or {}, b"", reply))
        for step in steps:
            await until_all_wait()
            step()
        await until_all_wait()
        of.close()
        await asyncio.wait_for(task, 30)
        return reply

    return asyncio.run(scene())


def told(reply: Reply) -> list[tuple[str, str, str]]:
    """Type, name and version of every event."""
    return [(kind, obj["metadata"].get("name", ""), obj["metadata"]["resourceVersion"]) for kind, obj in reply.events]


def test_a_watch_without_a_version_begins_with_everything() -> None:
    going = feed(ONE)
    reply = watched(going, WATCH, lambda: advance(going, view()))
    assert told(reply) == [
        ("ADDED", "kettle.v1", ZERO),
        ("DELETED", "kettle.v1", "clusterserviceversions:1,subscriptions:0"),
    ]
    assert reply.done and reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize("namespace", ["a", "elsewhere"])
def test_a_watch_goes_on_from_a_version_r_inst_9(namespace: str) -> None:
    """Everything that happened since the list is told, in order, in namespaces that do not exist as well."""
    first = view(operator("kettle.v1", targets=[namespace]))
    failed = view(operator("kettle.v1", targets=[namespace], phase="Failed"))
    going = feed(first, failed)
    address = f"/apis/{INSTALLED.api_version}/namespaces/{namespace}/installed?watch=1&resourceVersion={ZERO}"
    reply = watched(going, address, lambda: advance(going, first), lambda: advance(going, view()))
    assert told(reply) == [
        ("MODIFIED", "kettle.v1", "clusterserviceversions:1,subscriptions:0"),
        ("MODIFIED", "kettle.v1", "clusterserviceversions:2,subscriptions:0"),
        ("DELETED", "kettle.v1", "clusterserviceversions:3,subscriptions:0"),
    ]


def test_a_watch_tells_only_of_what_is_selected() -> None:
    going = feed(view())
    address = f"{WATCH}&fieldSelector=metadata.namespace%3Da&labelSelector=operators.coreos.com%2Fcsv%3Dkettle.v1"
    both = view(operator("kettle.v1"), operator("stove.v1"))
    reply = watched(going, address, lambda: advance(going, both))
    assert [(kind, obj["metadata"]["namespace"]) for kind, obj in reply.events] == [("ADDED", "a")]


@pytest.mark.parametrize(
    "version", ["clusterserviceversions:7,subscriptions:0", "clusterserviceversions:0,subscriptions:1"]
)
def test_a_version_that_the_server_never_had_is_expired(version: str) -> None:
    """As after a new start of the server: the client lists again."""
    reply = ask(application(feed(ONE), ""), f"{WATCH}&resourceVersion={version}")
    assert (reply.code, reply.data["reason"]) == (410, "Expired")


def test_a_version_that_is_not_kept_any_more_is_expired() -> None:
    going = feed(ONE)
    for number in range(HISTORY):
        advance(going, view(operator("kettle.v1", targets=["a"], phase=str(number))))
    assert ask(application(going, ""), f"{WATCH}&resourceVersion={ZERO}").code == 410
    kept = f"{WATCH}&resourceVersion=clusterserviceversions:1,subscriptions:0"
    assert len(watched(going, kept).events) == HISTORY - 1


def test_who_falls_too_far_behind_is_told_so_and_left() -> None:
    going = feed(ONE)

    def many() -> None:
        for number in range(HISTORY + 1):
            advance(going, view(operator("kettle.v1", targets=["a"], phase=str(number))))

    reply = watched(going, f"{WATCH}&resourceVersion={ZERO}", many)
    ((kind, status),) = reply.events
    assert (kind, status["kind"], status["code"], status["reason"]) == ("ERROR", "Status", 410, "Expired")


def test_bookmarks_r_inst_9() -> None:
    """A quiet watch hears now and then which version it has reached, and once more at its end."""
    going = feed(ONE)
    plain = watched(going, f"{WATCH}&resourceVersion={ZERO}", *[lambda: time.sleep(0.02)] * 5, pause=0.01)
    assert plain.events == []
    going = feed(ONE)
    address = f"{WATCH}&resourceVersion={ZERO}&allowWatchBookmarks=true"
    reply = watched(going, address, *[lambda: time.sleep(0.02)] * 5, pause=0.01)
    assert len(reply.events) >= 3
    for kind, obj in reply.events:
        assert (kind, obj["kind"], obj["metadata"]["resourceVersion"]) == ("BOOKMARK", "Installed", ZERO)


def test_initial_events_end_with_a_bookmark() -> None:
    address = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    reply = watched(feed(ONE), address)
    kinds = [kind for kind, _ in reply.events]
    assert kinds[:2] == ["ADDED", "BOOKMARK"]
    assert reply.events[1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    without = f"{WATCH}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    assert watched(feed(ONE), without).events == []


def test_events_as_rows_of_a_table() -> None:
    """Only the first one names the columns, as the API server does it."""
    going = feed(ONE)
    failed = view(operator("kettle.v1", targets=["a"], phase="Failed"))
    address = f"{WATCH}&allowWatchBookmarks=true"
    reply = watched(going, address, lambda: advance(going, failed), headers=TABLE)
    tables = [obj for _, obj in reply.events]
    assert [each["kind"] for each in tables] == ["Table"] * 3
    assert [bool(each["columnDefinitions"]) for each in tables] == [True, False, False]
    assert [row["cells"][5] for each in tables for row in each["rows"]] == ["Succeeded", "Failed"]
    assert tables[-1]["metadata"]["resourceVersion"] == going.current.version


def test_a_watch_ends_when_its_time_is_up() -> None:
    reply = ask(application(feed(ONE), ""), f"{WATCH}&timeoutSeconds=1&allowWatchBookmarks=1")
    assert reply.done
    assert [kind for kind, _ in reply.events] == ["ADDED", "BOOKMARK", "BOOKMARK"][: len(reply.events)]


def test_watches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    going = feed(ONE)
    seen: list[int] = []
    watched(going, WATCH, lambda: seen.append(going.watches))
    assert (seen, going.watches) == ([1], 0)
    monkeypatch.setattr("olmc.integrations.serve.app.MAX_WATCHES", 0)
    reply = ask(application(feed(ONE), ""), WATCH)
    assert (reply.code, reply.data["reason"], reply.headers["retry-after"]) == (429, "TooManyRequests", "1")


def test_a_client_that_goes_away_is_forgotten() -> None:
    async def scene() -> int:
        going = feed(ONE)
        task = asyncio.create_task(request(application(going, ""), WATCH, "GET", {}, b"", Reply()))
        await until_all_wait()
        assert going.watches == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return going.watches

    assert asyncio.run(scene()) == 0
