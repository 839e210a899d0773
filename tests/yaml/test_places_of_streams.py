"""Places in one text that has many paths, as the items of a list for `olmc fn` have."""

from __future__ import annotations

import pytest

from olmc.k8s.diagnostics import Source
from olmc.k8s.yaml import locate, places


@pytest.mark.parametrize(("items", "suffix"), [(20, ".yaml"), (3_000, ".yaml"), (3_000, "")])
def test_a_text_is_read_once_for_all_its_paths(items: int, suffix: str) -> None:
    """A list of 1,000 items, each with the path of a file, kept olmc busy for more than a minute."""
    text = "items:\n" + "".join(f"- {{name: a{number}}}\n" for number in range(items))
    places._large_root.cache_clear()
    places._small_root.cache_clear()
    found = [locate(Source(f"a{number}{suffix}", text, 0, ("items", number)), ("name",)) for number in range(20)]
    assert [(place.path, place.line) for place in found] == [(f"a{n}{suffix}", n + 2) for n in range(20)]
    assert places._large_root.cache_info().misses + places._small_root.cache_info().misses <= 1
