"""Accept headers, parameters of lists, and lists in parts."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.integrations.serve.handlers import (
    JSON,
    WATCH_SECONDS,
    YAML,
    Accepted,
    ListPosition,
    StatusError,
    accepts,
    negotiate,
    page_of,
    place_of,
    query_of,
    token_for,
    versions_of,
)
from olmc.targets.proposed.installed.resources import INSTALLED, Listed

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Accepted()),
        ("*/*", Accepted()),
        ("application/json", Accepted()),
        ("application/yaml", Accepted(media=YAML)),
        ("application/yaml;q=0.5, application/json", Accepted()),
        (f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Accepted("table")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Accepted("table", "v1beta1")),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Accepted("metadata")),
        ("application/json; as=PartialObjectMetadata; g=meta.k8s.io; v=v1", Accepted("metadata")),
        ("application/vnd.kubernetes.protobuf,application/json", Accepted()),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Accepted()),
        ("text/html, */*;q=0.1", Accepted()),
    ],
)
def test_what_a_client_accepts(header: str, expected: Accepted) -> None:
    assert negotiate(header) == expected


@pytest.mark.parametrize(
    "header",
    ["text/html", "application/vnd.kubernetes.protobuf", "application/json;q=0", "application/json;as=Chair", ",", ";",
     "application/json;as=Table"],
)  # fmt: skip
def test_what_nobody_can_be_sent_is_not_acceptable(header: str) -> None:
    with pytest.raises(StatusError) as error:
        negotiate(header)
    assert (error.value.code, error.value.status["reason"]) == (406, "NotAcceptable")


def test_the_first_choice_decides() -> None:
    header = "application/json;g=x;v=v2, application/json"
    assert accepts(header, "application/json", g="x", v="v2")
    assert not accepts(f"application/json, {header}", "application/json", g="x", v="v2")


@pytest.mark.parametrize(
    ("given_parameters", "code"),
    [
        ({"limit": "x"}, 400),
        ({"limit": "-1"}, 400),
        ({"limit": "9" * 30}, 400),
        ({"timeoutSeconds": "1.5"}, 400),
        ({"watch": "perhaps"}, 400),
        ({"labelSelector": "a in"}, 400),
        ({"fieldSelector": "spec.x=1"}, 400),
        ({"resourceVersionMatch": "Sometimes", "resourceVersion": "0"}, 422),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": "0", "continue": "x"}, 422),
        ({"sendInitialEvents": "true"}, 422),
        ({"sendInitialEvents": "true", "watch": "1"}, 422),
        ({"watch": "1", "resourceVersionMatch": "NotOlderThan"}, 422),
        ({"watch": "1", "resourceVersionMatch": "Exact", "sendInitialEvents": "true"}, 422),
    ],
)
def test_parameters_that_can_not_be_are_refused(given_parameters: dict[str, str], code: int) -> None:
    with pytest.raises(StatusError) as error:
        query_of(INSTALLED, given_parameters)
    assert error.value.code == code


def test_parameters() -> None:
    query = query_of(INSTALLED, {"limit": "5", "watch": "", "allowWatchBookmarks": "true", "timeoutSeconds": "7"})
    assert (query.limit, query.watch, query.bookmarks, query.seconds) == (5, True, True, 7)
    assert query_of(INSTALLED, {}).seconds == WATCH_SECONDS
    assert query_of(INSTALLED, {"timeoutSeconds": "999999"}).seconds == WATCH_SECONDS
    assert not query_of(INSTALLED, {"watch": "false"}).watch


@pytest.mark.parametrize("text", ["1", "clusterserviceversions:1", "subscriptions:1,subscriptions:1",
                                  "clusterserviceversions:x,subscriptions:1", "clusterserviceversions:1,subscriptions:",
                                  "clusterserviceversions:1,subscriptions:1,x:1", ","])  # fmt: skip
def test_versions_that_are_none_are_bad_requests_r_inst_9(text: str) -> None:
    with pytest.raises(StatusError) as error:
        versions_of(text)
    assert error.value.code == 400


def test_versions_are_tuples_in_any_order_r_inst_9() -> None:
    expected = {"clusterserviceversions": 4, "subscriptions": 2}
    assert versions_of("clusterserviceversions:4,subscriptions:2") == expected
    assert versions_of("subscriptions:2,clusterserviceversions:4") == expected
    assert versions_of("") is None
    assert versions_of("0") is None


@given(st.text(max_size=60))
def test_any_text_is_a_version_or_a_bad_request(text: str) -> None:
    try:
        versions_of(text)
    except StatusError as error:
        assert error.code == 400


def items(count: int) -> list[Listed]:
    return [Listed({"metadata": {"name": f"x{index}", "namespace": "ns"}}, ()) for index in range(count)]


@given(st.integers(0, 20), st.integers(1, 8))
def test_parts_make_up_the_whole(count: int, limit: int) -> None:
    """Page after page gives every object once, in order, and tells how many are left."""
    whole, offset = items(count), 0
    found: list[Listed] = []
    while True:
        page = page_of(whole, "v", offset, limit)
        found += page.items
        assert page.remaining == count - len(found)
        if not page.token:
            break
        assert place_of(page.token) == ListPosition("v", len(found))
        offset = place_of(page.token).offset
    assert found == whole
    assert list(page_of(whole, "v", 0, 0).items) == whole


@given(st.text(max_size=80))
def test_any_text_is_a_token_or_a_bad_request(text: str) -> None:
    try:
        place_of(text)
    except StatusError as error:
        assert error.code == 400


@pytest.mark.parametrize(
    "data", [[], {}, {"v": "olmc/v1", "rv": 1, "offset": 0}, {"v": "olmc/v1", "rv": "a", "offset": -1}, {"v": "x"},
             {"v": "olmc/v2", "rv": "a", "offset": 1}, {"v": "olmc/v1", "rv": "a", "offset": True}, "text", None]
)  # fmt: skip
def test_made_up_tokens_are_bad_requests(data: object) -> None:
    token = base64.urlsafe_b64encode(json.dumps(data).encode()).decode()
    with pytest.raises(StatusError, match="continue key is not valid"):
        place_of(token)


def test_tokens_are_safe_in_an_address() -> None:
    assert set(token_for(ListPosition("clusterserviceversions:1,subscriptions:2", 500))) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )
    assert (JSON, YAML) == ("application/json", "application/yaml")
