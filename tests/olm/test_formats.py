"""Formats of texts in OpenAPI schemas."""

from __future__ import annotations

import pytest

from olmc.k8s.api.formats import conforms, supports


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date", "2024-02-29 0000-01-01 9999-12-31", "2023-02-29 2024-2-9 20240229 0000-13-01 24-02-29"),
        (
            "date-time",
            "2024-01-01T00:00:00Z 2024-01-01t23:59:59.123z 2024-01-01T00:00:00-08:00 0000-01-01T00:00:00Z",
            "2024-01-01T24:00:00Z 2024-01-01T00:60:00Z 2024-01-01T00:00:00 2024-01-01 2024-01-01T00:00Z now",
        ),
        ("duration", "1h30m 0 -2s 1.5h 3d 2weeks 1Minute 5µs", "1 h30 1hour2 -3d s 3x"),
        ("byte", "YQ== YWI= YWJj YWJjZA==", "YQ= YQ YW-j Y==="),
        ("ipv4", "10.0.0.1 ::ffff:10.0.0.1", "10.0.0 10.0.0.256 ::1 010.0.0.1"),
        ("ipv6", "::1 fe80::1 ::ffff:10.0.0.1", "10.0.0.1 fe80::1%eth0 1::2::3"),
        (
            "cidr",
            "10.0.0.0/8 10.1.2.3/8 ::/0 fe80::/128",
            "10.0.0.0 10.0.0.0/33 10.0.0.0/255.0.0.0 10.0.0.0/-1 /8 10.0.0.0/" + "9" * 5_000,
        ),
        (
            "mac",
            "00:00:5e:00:53:01 02-00-5E-10-00-00-00-01 0000.5e00.5301 0200.5e10.0000.0001",
            "00:00:5e:00:53 00:00-5e:00:53:01 00005e005301 00:00:5e:00:53:0g 00:00:5e:00:53:01:02",
        ),
        (
            "uuid",
            "a8098c1a-f86e-11da-bd1a-00112444be1e A8098C1AF86E11DABD1A00112444BE1E",
            "a8098c1a-f86e-11da-bd1a-00112444be1 g8098c1a-f86e-11da-bd1a-00112444be1e",
        ),
        ("uuid3", "a8098c1a-f86e-31da-bd1a-00112444be1e", "a8098c1a-f86e-41da-bd1a-00112444be1e"),
        ("uuid4", "a8098c1a-f86e-41da-bd1a-00112444be1e", "a8098c1a-f86e-41da-cd1a-00112444be1e"),
        ("uuid5", "a8098c1a-f86e-51da-bd1a-00112444be1e", "a8098c1a-f86e-41da-bd1a-00112444be1e"),
    ],
)
def test_formats(name: str, right: str, wrong: str) -> None:
    assert supports(name)
    assert [text for text in right.split() if not conforms(name, text)] == []
    assert [text for text in wrong.split() if conforms(name, text)] == []
    assert not any(conforms(name, text) for text in ("", " ", "\n", "é"))


@pytest.mark.parametrize("name", ["int32", "email", "password", "", "anything"])
def test_others_are_not_looked_at(name: str) -> None:
    assert not supports(name)
