"""The annotation olm.providedAPIs as text, and which groups meet (R-OG-11, R-CSV-10, R-CSV-11)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.operators import OperatorGroup
from olmc.compiler.reconcile.operator_groups import format_apis, intersects, parse_apis, target_set
from olmc.k8s.objects import GVK

NAMESPACES = ("a", "b", "c", "d")

letters = st.characters(codec="utf-8", exclude_characters=".,", exclude_categories=("Cs", "Z"))
word = st.text(letters, max_size=4)
apis = st.builds(GVK, st.lists(word, max_size=3).map(".".join), word, word)
listed = st.sets(st.sampled_from(NAMESPACES)).map(lambda names: tuple(sorted(names)))
targets = st.one_of(st.just(("",)), listed)
groups = st.builds(
    lambda namespace, chosen: OperatorGroup({"metadata": {"name": "og", "namespace": namespace}}, None, chosen),
    st.sampled_from(NAMESPACES),
    targets,
)


@given(st.frozensets(apis))
def test_round_trip(given_apis: frozenset[GVK]) -> None:
    assert parse_apis(format_apis(given_apis)) == given_apis


@given(st.frozensets(apis))
def test_sorted_by_bytes(given_apis: frozenset[GVK]) -> None:
    elements = format_apis(given_apis).split(",") if given_apis else []
    assert elements == sorted(elements, key=lambda text: text.encode())


@given(st.text("Ka1., ", max_size=20))
def test_any_text_settles(text: str) -> None:
    """What is read of a text is what is read of its tidy form."""
    read = parse_apis(text)
    assert parse_apis(format_apis(read)) == read
    assert len(read) <= text.count(",") + 1


@given(st.lists(apis), st.lists(st.sampled_from(("", "a", "a.b", " ", ".")), max_size=3))
def test_short_elements_are_ignored(given_apis: list[GVK], short: list[str]) -> None:
    text = ", ".join([*(api.dotted for api in given_apis), *short])
    assert parse_apis(text) == set(given_apis)


def surface(group: OperatorGroup) -> set[str]:
    """The namespaces that a group covers, of those there are and one that nobody names."""
    everything = {*NAMESPACES, "elsewhere"}
    if group.targets == ("",):
        return everything
    return {*group.targets, group.namespace} if group.targets else set()


@given(groups, groups)
def test_groups_meet_where_their_surfaces_do(one: OperatorGroup, other: OperatorGroup) -> None:
    assert intersects(one, other) == bool(surface(one) & surface(other))


@given(groups, groups)
def test_meeting_is_symmetric(one: OperatorGroup, other: OperatorGroup) -> None:
    assert intersects(one, other) == intersects(other, one)


@given(groups)
def test_a_group_meets_itself_unless_empty(group: OperatorGroup) -> None:
    assert intersects(group, group) == (target_set(group) != frozenset())
