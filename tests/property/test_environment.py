"""How the environment of a Subscription's config goes into a container (R-DEP-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.reconcile.deployments import merged_env

Entry = Mapping[str, str]

entries = st.fixed_dictionaries({"name": st.sampled_from("ABCDE"), "value": st.sampled_from("123")})
anything = st.lists(entries, max_size=6)
distinct = st.lists(entries, max_size=5, unique_by=lambda entry: entry["name"])


def names(listed: Sequence[Entry]) -> list[str]:
    return [entry["name"] for entry in listed]


@given(distinct, distinct)
def test_like_a_dictionary(have: Sequence[Entry], new: Sequence[Entry]) -> None:
    """Without repeated names it is what updating a dictionary does, order included."""
    expected = {entry["name"]: entry for entry in have} | {entry["name"]: entry for entry in new}
    assert merged_env(have, new) == list(expected.values())


@given(distinct, anything)
def test_twice_is_once(have: Sequence[Entry], new: Sequence[Entry]) -> None:
    once = merged_env(have, new)
    assert [entry for entry in merged_env(once, new) if entry["name"]] == list(
        {entry["name"]: entry for entry in once}.values()
    )


@given(anything, distinct)
def test_existing_names_keep_their_places(have: Sequence[Entry], new: Sequence[Entry]) -> None:
    """R-DEP-6: a second entry of a name loses its name, also if nothing overrides it; nothing else moves."""
    merged = merged_env(have, new)
    for index, entry in enumerate(have):
        again = entry["name"] in names(have[:index])
        assert merged[index]["name"] == ("" if again else entry["name"])
    assert names(merged[len(have) :]) == [name for name in names(new) if name not in names(have)]


@given(anything, anything)
def test_the_last_new_entry_counts(have: Sequence[Entry], new: Sequence[Entry]) -> None:
    latest = {entry["name"]: entry for entry in new}
    for entry in merged_env(have, new):
        assert entry == latest.get(entry["name"], entry)
    assert set(latest) <= set(names(merged_env(have, new)))


@given(anything, anything)
def test_what_comes_in_stays_as_it_is(have: Sequence[Entry], new: Sequence[Entry]) -> None:
    before = [dict(entry) for entry in (*have, *new)]
    merged_env(have, new)
    assert [dict(entry) for entry in (*have, *new)] == before


@given(distinct)
def test_nothing_new_changes_nothing(have: Sequence[Entry]) -> None:
    assert merged_env(have, []) == list(have)
