"""JSON in annotations."""

from __future__ import annotations

import pytest

from olmc.gojson import unmarshal


def test_a_text_of_json_has_a_value() -> None:
    assert unmarshal(' {"a": [1, null]} ') == {"a": [1, None]}


@pytest.mark.parametrize("text", ["", "a", "[] []", "[NaN]", "-Infinity", "[" * 100_000, '{"a":' * 100_000])
def test_what_go_refuses_is_a_value_error(text: str) -> None:
    """Also what is nested too deep to be read."""
    with pytest.raises(ValueError, match=r"."):
        unmarshal(text)
