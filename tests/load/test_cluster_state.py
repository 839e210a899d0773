"""States of clusters, as kubectl and must-gather have them."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_files import namespace

import olmc
from olmc import Report
from olmc.compiler.load.live_objects import read_dump, read_served, read_state
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.olm.naming import COPIED_FROM
from olmc.compiler.transition.state import state_text
from olmc.k8s.objects import CRD_KIND, CRD_V1, LAST_APPLIED, APIResource, ObjectKey, object_key
from olmc.k8s.yaml import dump as dump_yaml

SECRET_VALUE = "c2VjcmV0LXZhbHVl"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "door",
        "namespace": "harbour",
        "uid": "11",
        "annotations": {
            "kubernetes.io/service-account.name": "porter",
            "note": SECRET_VALUE,
            LAST_APPLIED: json.dumps(
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door"}, "data": {"key": SECRET_VALUE}}
            ),
        },
    },
    "data": {"key": SECRET_VALUE},
    "stringData": {"key": SECRET_VALUE},
    "type": "kubernetes.io/service-account-token",
}
GROUP = {
    "apiVersion": "operators.coreos.com/v1",
    "kind": "OperatorGroup",
    "metadata": {"name": "all", "namespace": "harbour", "uid": "aa-bb", "resourceVersion": "7", "generation": 2},
    "status": {"lastUpdated": "2026-01-01T00:00:00Z", "namespaces": ["harbour"]},
}


def a_list(*items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def live(kind: str, name: str, api: str = "v1", **fields: Any) -> dict[str, Any]:
    """An object as an API server returns it."""
    metadata = {"name": name, "namespace": "harbour", "uid": "u", **fields.pop("metadata", {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def state(path: Path, *values: Any) -> ClusterState:
    """What is read of these documents in a file, which nothing is wrong with."""
    path.write_text(dump_yaml(values), encoding="utf-8")
    report = Report()
    got = read_state(path, report)
    assert got is not None, list(report)
    assert not list(report)
    return got


def problems(path: Path) -> list[tuple[str, str]]:
    """What is wrong with a file that is no state: codes and places."""
    report = Report()
    assert read_state(path, report) is None
    return [(d.code, str(d.location).removeprefix(f"{path.parent}/")) for d in report]


def test_lists_in_lists_and_streams(tmp_path: Path) -> None:
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in "abc"]
    bare = {"metadata": {"name": "d"}}
    nested = a_list(spaces[0], a_list(spaces[1], {"apiVersion": "v1", "kind": "NamespaceList", "items": [bare]}))
    got = state(tmp_path / "state.yaml", nested, spaces[2], a_list(), {**a_list(), "items": None})
    assert [key.name for key in got.objects] == ["a", "b", "d", "c"]
    assert got.objects[ObjectKey("", "Namespace", "", "d")].object == {**spaces[0], **bare}
    (tmp_path / "state.json").write_text(json.dumps(nested), encoding="utf-8")
    assert list(read_state(tmp_path / "state.json", Report()).objects) == list(got.objects)[:3]  # type: ignore[union-attr]


def test_what_nobody_changed_is_gone_and_uids_that_labels_name_stay(tmp_path: Path) -> None:
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour", "uid": "cc"}}
    labelled = {**space, "metadata": {**space["metadata"], "labels": {"olm.operatorgroup.uid/aa-bb": ""}}}
    metadata = {"name": "all", "namespace": "harbour"}
    key = ObjectKey("operators.coreos.com", "OperatorGroup", "harbour", "all")
    alone = state(tmp_path / "a.yaml", GROUP, space).objects[key].object
    assert alone == {**GROUP, "metadata": metadata, "status": {"namespaces": ["harbour"]}}
    named = state(tmp_path / "b.yaml", GROUP, labelled).objects[key].object
    assert named["metadata"] == {**metadata, "uid": "aa-bb"}


def test_secrets_have_no_values_wherever_they_are(tmp_path: Path) -> None:
    got = state(tmp_path / "state.yaml", a_list(a_list(SECRET)))
    key = ObjectKey("", "Secret", "harbour", "door")
    metadata = {"name": "door", "namespace": "harbour"}
    account = {"annotations": {"kubernetes.io/service-account.name": "porter"}}
    head = {"apiVersion": "v1", "kind": "Secret"}
    kind = {"type": "kubernetes.io/service-account-token"}
    assert got.objects[key].object == {**head, "metadata": {**metadata, **account}, **kind}
    assert got.applied == {key: {**head, "metadata": metadata}}


@pytest.mark.parametrize("data", [SECRET_VALUE, [SECRET_VALUE], {"key": [SECRET_VALUE]}, {"a": "REDACTED", "b": "x"}])
def test_values_of_secrets_in_any_shape(tmp_path: Path, data: Any) -> None:
    for field in ("data", "stringData"):
        plain = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door"}, field: data, "other": data}
        (obj,) = (manifest.object for manifest in state(tmp_path / "state.yaml", plain).objects.values())
        assert obj == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door"}}


def test_what_counts_of_a_live_cluster(tmp_path: Path) -> None:
    csv = {"kind": "ClusterServiceVersion", "apiVersion": "operators.coreos.com/v1alpha1", "name": "tea.v1"}
    owned: dict[str, Any] = {"metadata": {"ownerReferences": [{**csv, "uid": "x"}]}}
    catalog = {"kind": "CatalogSource", "apiVersion": "operators.coreos.com/v1alpha1", "name": "shop", "uid": "x"}
    definitions = {"customresourcedefinitions": {"owned": [{"name": "kettles.tea.example.com", "kind": "Kettle"}]}}
    got = state(
        tmp_path / "state.yaml",
        live("ClusterServiceVersion", "tea.v1", "operators.coreos.com/v1alpha1", spec=definitions),
        live("CatalogSource", "shop", "operators.coreos.com/v1alpha1", spec={"configMap": "goods"}),
        live("ConfigMap", "goods"),
        live("ConfigMap", "other"),
        live("ConfigMap", "settings", **owned),
        live("Kettle", "mine", "tea.example.com/v1"),
        live("Cup", "mine", "cups.example.com/v1"),
        live("Pod", "tea-1", **owned),
        live("Service", "shop", metadata={"ownerReferences": [catalog]}),
        live("Service", "tea"),
        live("Lease", "tea", "coordination.k8s.io/v1"),
    )
    names = [f"{key.kind}/{key.name}" for key in got.objects]
    assert names == [
        "ClusterServiceVersion/tea.v1", "CatalogSource/shop", "ConfigMap/goods", "ConfigMap/settings", "Kettle/mine",
        "Service/tea",
    ]  # fmt: skip
    settings = got.objects[ObjectKey("", "ConfigMap", "harbour", "settings")].object
    assert settings["metadata"]["ownerReferences"] == [csv]


def test_what_was_applied_last(tmp_path: Path) -> None:
    last = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "tea", "annotations": {}}, "spec": {"a": 1}}
    noted = {"annotations": {LAST_APPLIED: json.dumps(last) + "\n", "mine": "1"}}
    got = state(tmp_path / "state.yaml", live("Service", "tea", metadata=noted))
    key = ObjectKey("", "Service", "harbour", "tea")
    assert got.applied[key] == {**last, "metadata": {"name": "tea", "namespace": "harbour", "annotations": {}}}
    assert got.objects[key].object["metadata"]["annotations"] == {"mine": "1"}


def test_the_newer_of_two_counts(tmp_path: Path) -> None:
    old, new = (live("Service", "tea", spec={"v": v}, metadata={"resourceVersion": v}) for v in ("9", "10"))
    for values in ((old, new), (new, old)):
        (obj,) = (manifest.object for manifest in state(tmp_path / "state.yaml", *values).objects.values())
        assert obj["spec"] == {"v": "10"}


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "OLMC158", ""),
        ("# nothing\n", "OLMC158", ""),
        ("- a\n- b\n", "OLMC158", ":1:1"),
        ("NAME   READY\ntea    1/1\n", "OLMC158", ":1:1"),
        ("a: 1\n", "OLMC158", ":1:1"),
        ("apiVersion: v1\nkind: List\nitems:\n- 3\n", "OLMC158", ":4:3"),
        ("apiVersion: v1\nkind: Pod\nmetadata: 3\n", "OLMC126", ":3:11"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: 3}\n", "OLMC126", ":3:18"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: 3}\n", "OLMC129", ":3:11"),
        ("a: [\n", "OLMC100", ":1:4"),
        (f"apiVersion: v1\nkind: A\nmetadata: {{name: a, annotations: {{{LAST_APPLIED}: '3'}}}}\n", "OLMC158", ":3:85"),
    ],
)  # fmt: skip
def test_what_is_no_state_is_a_finding_with_its_place(tmp_path: Path, text: str, code: str, place: str) -> None:
    (tmp_path / "state.yaml").write_text(text, encoding="utf-8")
    assert problems(tmp_path / "state.yaml") == [(code, f"state.yaml{place}")]


def test_files_that_are_no_text(tmp_path: Path) -> None:
    assert problems(tmp_path / "missing.yaml") == [("OLMC121", "missing.yaml")]
    (tmp_path / "latin").write_bytes(b"a: 1\nb: \xfc\n")
    assert problems(tmp_path / "latin") == [("OLMC122", "latin:2:4")]


def test_served_apis_beside_objects(tmp_path: Path) -> None:
    """The table of kubectl api-resources is a part of the stream that `olmc import --print-command` makes."""
    table = (
        "NAME      SHORTNAMES   APIVERSION            NAMESPACED   KIND     VERBS   CATEGORIES\n"
        "kettles   k            tea.example.com/v1    true         Kettle   get\n"
    )
    apis = {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "tea.example.com/v2"}
    resources = [{"name": "kettles", "kind": "Kettle", "namespaced": True}]
    text = f"{namespace('a')}---\n{table}---\n{namespace('b')}---\n{dump_yaml([{**apis, 'resources': resources}])}"
    path = tmp_path / "state.yaml"
    path.write_text(text, encoding="utf-8")
    got, report = read_state(path, Report()), Report()
    assert got is not None
    assert [key.name for key in got.objects] == ["a", "b"]
    assert [m.source.document for m in got.objects.values()] == [0, 2]
    assert read_served(path, report) == (APIResource("tea.example.com", "Kettle", "kettles", True, ("v1", "v2")),)
    path.write_text(text.replace("Kettle   get", "").replace("true     ", ""), encoding="utf-8")
    line = text[: text.index("kettles")].count("\n") + 1
    assert problems(path) == [("OLMC157", f"state.yaml:{line}:1")]


def test_tables_without_end(tmp_path: Path) -> None:
    (tmp_path / "state.yaml").write_text("NAME SHORTNAMES APIVERSION\n---\n" * 100_000, encoding="utf-8")
    assert problems(tmp_path / "state.yaml") == [("OLMC158", "state.yaml")]


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
    max_leaves=5,
)
_KINDS = ("Secret", "ClusterServiceVersion", "Namespace", "ValidatingWebhookConfiguration", "CatalogSource", CRD_KIND)
_OBJECTS = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", CRD_V1, "operators.coreos.com/v1alpha1"]) | _ANYTHING,
        "kind": st.sampled_from([*_KINDS, "List", "APIResourceList", "APIGroupDiscoveryList"]) | _ANYTHING,
    },
    optional={
        "metadata": st.fixed_dictionaries(
            {"name": st.just("a") | _ANYTHING},
            optional={
                "uid": _ANYTHING, "resourceVersion": _ANYTHING, "ownerReferences": _ANYTHING | st.lists(_ANYTHING),
                "labels": st.dictionaries(st.sampled_from([COPIED_FROM, "olm.managed"]), _ANYTHING) | _ANYTHING,
                "annotations": st.fixed_dictionaries({LAST_APPLIED: _ANYTHING | st.just('{"kind": 3}')}) | _ANYTHING,
            },
        )
        | _ANYTHING,
        "items": st.lists(_ANYTHING, max_size=3) | _ANYTHING,
        "resources": _ANYTHING, "groupVersion": _ANYTHING, "webhooks": st.lists(_ANYTHING), "status": _ANYTHING,
        "spec": st.dictionaries(st.sampled_from(["configMap", "customresourcedefinitions", "names"]), _ANYTHING),
    },
)  # fmt: skip


@given(st.lists(_OBJECTS | _ANYTHING, max_size=4))
def test_nothing_that_is_written_there_raises(values: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path, report = Path(folder) / "dump.json", Report()
        for value in (values[0] if values else None, a_list(*values), a_list(a_list(*values))):
            path.write_text(json.dumps(value), encoding="utf-8")
            dump = read_dump([path], report)
            assert dump is not None or any(diagnostic.location for diagnostic in report)
            if dump is None:
                continue
            path.write_text(state_text(dump), encoding="utf-8")
            again = read_dump([path], Report())
            assert again is not None or not (dump.state.objects or dump.served)


@pytest.mark.parametrize("fixture", ["own-namespace", "conversion-webhook", "owned-apiservice", "upgrade", "installed"])
def test_a_rendering_is_read_as_it_is(project: Path, tmp_path: Path, fixture: str) -> None:
    made = olmc.compile(project / "fixtures" / fixture)
    objects = [rendered.object for rendered in made.objects]
    got = state(tmp_path / "state.yaml", *objects)
    assert [manifest.object for manifest in got.objects.values()] == objects


def test_observed_clusters_are_read_as_they_are(shared: Path, tmp_path: Path) -> None:
    """Also from the state file that is made of them, and from what an API server adds to them."""
    paths = sorted((shared / "conformance").rglob("observed*.json"))
    assert len(paths) > 100
    for path in paths:
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        dump = read_dump([path], Report())
        assert dump is not None
        assert [manifest.object for manifest in dump.state.objects.values()] == items
        text = state_text(dump)
        (tmp_path / "state.yaml").write_text(text, encoding="utf-8")
        again = read_dump([tmp_path / "state.yaml"], Report())
        assert again is not None
        assert {key: m.object for key, m in again.state.objects.items()} == {
            key: m.object for key, m in dump.state.objects.items()
        }
        assert state_text(again) == text


def test_observed_clusters_with_what_an_api_server_adds(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "conformance").rglob("observed*.json")):
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        added = {"managedFields": [{}], "resourceVersion": "1", "uid": "u", "generation": 3}
        noisy = [{**item, "metadata": {**item["metadata"], **added}} for item in items]
        (tmp_path / "dump.json").write_text(json.dumps(a_list(*noisy)), encoding="utf-8")
        dump = read_dump([tmp_path / "dump.json"], Report())
        assert dump is not None
        for key, manifest in dump.state.objects.items():
            assert not manifest.object["metadata"].keys() & added.keys(), key
        # All that these clusters hold is of OLM, of its operators, or of a kind that always counts.
        assert dump.state.objects.keys() == {object_key(item) for item in items}
