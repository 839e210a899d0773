"""The history of a workspace: versions, and the events between two states (R-INST-9)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from serve_states import operator, view

from olmc.compiler.model.cluster import NamespacedName
from olmc.integrations.serve.handlers import versions_of
from olmc.integrations.serve.store import InstalledSnapshot, changes, first_snapshot, next_snapshot
from olmc.targets.proposed.installed.resources import Listed
from olmc.targets.proposed.installed.view import TRACKED, InstalledView

NAMES, NAMESPACES = ["kettle.v1", "stove.v1"], ["a", "b", "c"]

operators = st.builds(
    operator,
    st.sampled_from(NAMES),
    st.sampled_from(NAMESPACES),
    st.lists(st.sampled_from(NAMESPACES), unique=True).map(lambda found: tuple(sorted(found)) or ("",)),
    st.sampled_from(["Succeeded", "Failed"]),
    st.sampled_from(["", "kettle"]),
)
views = st.builds(
    lambda found, namespaces: view(*{(each.home, each.name): each for each in found}.values(), namespaces=namespaces),
    st.lists(operators, max_size=4),
    st.lists(st.sampled_from(NAMESPACES), unique=True, min_size=1),
)


def history(shown: list[InstalledView]) -> list[InstalledSnapshot]:
    states = [first_snapshot(shown[0])]
    for each in shown[1:]:
        states.append(next_snapshot(states[-1], each))
    return states


def everything(_: Listed) -> bool:
    return True


def replayed(
    objects: dict[NamespacedName, Any], states: list[InstalledSnapshot], namespace: str | None
) -> dict[NamespacedName, Any]:
    """What a client knows that begins with some objects and hears of every change."""
    for before, after in pairwise(states):
        for event in changes(before, after, namespace, everything):
            name = NamespacedName(event.item.namespace, event.item.name)
            assert (event.type == "ADDED") == (name not in objects)
            if event.type == "DELETED":
                del objects[name]
            else:
                objects[name] = event.item.object
    return objects


def objects_of(state: InstalledSnapshot, namespace: str | None) -> dict[NamespacedName, Any]:
    return {name: item.object for name, item in state.in_namespace(namespace).items()}


@examples(60)
@given(st.lists(views, min_size=1, max_size=5), st.sampled_from([None, *NAMESPACES, "elsewhere"]))
def test_events_lead_from_each_state_to_every_later_one(shown: list[InstalledView], namespace: str | None) -> None:
    """Whoever lists and then watches knows what whoever lists later sees."""
    states = history(shown)
    for start in range(len(states)):
        known = replayed(objects_of(states[start], namespace), states[start:], namespace)
        assert known == objects_of(states[-1], namespace)


@examples(60)
@given(st.lists(views, min_size=2, max_size=5))
def test_versions_grow_with_every_change_r_inst_9(shown: list[InstalledView]) -> None:
    """No component ever gets smaller; what is shown changes if and only if the version does."""
    states = history(shown)
    for before, after in pairwise(states):
        assert all(before.versions[name] <= after.versions[name] for name in TRACKED)
        assert (before.version == after.version) == (before is after)
        if objects_of(before, None) != objects_of(after, None):
            assert before.version != after.version


@examples(60)
@given(st.lists(views, min_size=2, max_size=4))
def test_objects_have_the_version_of_their_last_change(shown: list[InstalledView]) -> None:
    states = history(shown)
    for before, after in pairwise(states):
        changed = {(event.item.namespace, event.item.name) for event in changes(before, after, None, everything)}
        for name, item in after.items.items():
            version = item.object["metadata"]["resourceVersion"]
            assert (version == after.version) if tuple(name) in changed else item is before.items[name]
            assert versions_of(version) is not None


@given(views)
def test_the_same_workspace_is_the_same_state(shown: InstalledView) -> None:
    state = first_snapshot(shown)
    again = view(*shown.installations.operators, namespaces=shown.installations.namespaces)
    assert next_snapshot(state, again) is state


def test_the_lists_have_versions_of_their_own_r_inst_9() -> None:
    states = history(
        [
            view(operator("kettle.v1", subscription="kettle")),
            view(operator("kettle.v1", subscription="kettle", phase="Failed")),
            view(operator("kettle.v1", phase="Failed", subscription="kettle", targets=["a"])),
            view(operator("kettle.v1", phase="Failed", subscription="kettle", targets=["a"]), namespaces=["a", "z"]),
        ]
    )
    assert [state.version for state in states] == [
        "clusterserviceversions:0,subscriptions:0",
        "clusterserviceversions:1,subscriptions:0",
        "clusterserviceversions:2,subscriptions:0",
        "clusterserviceversions:2,subscriptions:0",
    ]
    gone = next_snapshot(states[0], view())
    assert gone.version == "clusterserviceversions:1,subscriptions:1"


def test_a_new_namespace_is_a_new_state() -> None:
    """An operator that watches all namespaces appears in it, as its copied CSV would."""
    state = first_snapshot(view(operator("kettle.v1"), namespaces=["a"]))
    after = next_snapshot(state, view(operator("kettle.v1"), namespaces=["a", "b"]))
    assert after.version == "clusterserviceversions:1,subscriptions:0"
    (event,) = changes(state, after, None, everything)
    assert (event.type, event.item.namespace) == ("ADDED", "b")


def test_versions_of_the_input_count_r_inst_9() -> None:
    state = first_snapshot(view(operator("kettle.v1"), versions={TRACKED[0]: 7, TRACKED[1]: 3}))
    assert state.version == "clusterserviceversions:7,subscriptions:3"
    later = next_snapshot(state, view(operator("kettle.v1", phase="Failed"), versions={TRACKED[0]: 40, TRACKED[1]: 3}))
    assert later.version == "clusterserviceversions:40,subscriptions:3"
    assert next_snapshot(later, view()).version == "clusterserviceversions:41,subscriptions:3"


def test_watchers_see_what_comes_into_their_selection() -> None:
    """An object that begins to be selected is added for them, one that ceases to be is deleted."""
    before = first_snapshot(view(operator("kettle.v1", targets=["a"])))
    after = next_snapshot(before, view(operator("kettle.v1", targets=["a"], phase="Failed")))

    def failed(item: Listed) -> bool:
        return "Failed" in item.cells

    def succeeded(item: Listed) -> bool:
        return "Succeeded" in item.cells

    assert [event.type for event in changes(before, after, "a", failed)] == ["ADDED"]
    (gone,) = changes(before, after, "a", succeeded)
    assert (gone.type, gone.item.object["metadata"]["resourceVersion"]) == ("DELETED", after.version)
    assert [event.type for event in changes(before, after, "b", failed)] == []
