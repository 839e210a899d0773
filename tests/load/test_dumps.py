"""must-gather folders and archives, and what is not to be trusted in them."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from olmc import Report
from olmc.compiler.load import live_objects
from olmc.compiler.load.live_objects import read_state
from olmc.k8s.yaml import dump

IMAGE = "must-gather.local.42/quay-example-com-must-gather-sha256-0123"


def an_object(kind: str, name: str, api: str = "v1", namespace: str = "harbour", **fields: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **place, "uid": "u"}, **fields}


def of_list(api: str, kind: str, *items: dict[str, Any]) -> str:
    """As `oc adm inspect` writes a list: the items don't say what they are."""
    bare = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
    return f"---\n{dump([{'apiVersion': api, 'kind': f'{kind}List', 'items': bare}])}"


CSV = an_object("ClusterServiceVersion", "tea.v1", "operators.coreos.com/v1alpha1")
SECRET = an_object("Secret", "door", data={"a": "12 bytes"})
OLM, V1 = "operators.coreos.com", "operators.coreos.com/v1alpha1"
MUST_GATHER = {
    "event-filter.html": "<html>",
    "version": "must-gather\n4.18\n",
    "timestamp": "2026\n",
    "notes.yaml": "{{ a note of somebody",
    "cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/kettles.tea.example.com.yaml": "---\n"
    + dump([an_object("CustomResourceDefinition", "kettles.tea.example.com", "apiextensions.k8s.io/v1", "")]),
    "cluster-scoped-resources/rbac.authorization.k8s.io/clusterroles.yaml": of_list(
        "rbac.authorization.k8s.io/v1", "ClusterRole", an_object("ClusterRole", "tea", namespace="", rules=[])
    ),
    "namespaces/harbour/harbour.yaml": dump([an_object("Namespace", "harbour", namespace="")]),
    f"namespaces/harbour/{OLM}/clusterserviceversions/tea.v1.yaml": dump([CSV]),
    f"namespaces/harbour/{OLM}/subscriptions.yaml": of_list(V1, "Subscription", an_object("Subscription", "tea")),
    "namespaces/harbour/apps/deployments.yaml": of_list("apps/v1", "Deployment", an_object("Deployment", "tea")),
    "namespaces/harbour/core/secrets.yaml": of_list("v1", "Secret", SECRET),
    "namespaces/harbour/core/events.yaml": "{{ never looked at",
    "namespaces/harbour/core/pods.yaml": "{{ never looked at",
    "namespaces/harbour/pods/tea-1/tea-1.yaml": "{{ never looked at",
    "namespaces/harbour/pods/tea-1/tea/tea/logs/current.log": "a log\n",
}  # fmt: skip
NAMES = {
    "ClusterRole/tea", "ClusterServiceVersion/harbour/tea.v1", "CustomResourceDefinition/kettles.tea.example.com",
    "Deployment/harbour/tea", "Namespace/harbour", "Secret/harbour/door", "Subscription/harbour/tea",
}  # fmt: skip


def archive(path: Path, files: dict[str, str], *more: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(f"{IMAGE}/{name}")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        for member in more:
            tar.addfile(member)
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def names_in(path: Path) -> tuple[set[str], list[str]]:
    """What is read, and the codes of what is said about it."""
    report = Report()
    state = read_state(path, report)
    return {str(key) for key in state.objects} if state is not None else set(), [d.code for d in report]


def test_a_must_gather_folder(tmp_path: Path) -> None:
    for name, text in MUST_GATHER.items():
        path = tmp_path / IMAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert names_in(tmp_path) == (NAMES, [])
    assert names_in(tmp_path / IMAGE / "namespaces" / "harbour" / OLM)[0] == {
        "ClusterServiceVersion/harbour/tea.v1", "Subscription/harbour/tea",
    }  # fmt: skip
    state = read_state(tmp_path, Report())
    assert state is not None
    (secret,) = (m.object for key, m in state.objects.items() if key.kind == "Secret")
    assert secret == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "door", "namespace": "harbour"}}


@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_a_must_gather_archive(tmp_path: Path, mode: str) -> None:
    path = archive(tmp_path / "must-gather.tar", MUST_GATHER, mode=mode)
    assert names_in(path) == (NAMES, [])
    state = read_state(path, Report())
    assert state is not None
    place = next(manifest.source.path for key, manifest in state.objects.items() if key.kind == "Namespace")
    assert place == f"{path}/{IMAGE}/namespaces/harbour/harbour.yaml"


def test_a_file_that_is_zipped(tmp_path: Path) -> None:
    (tmp_path / "dump.yaml.gz").write_bytes(gzip.compress(dump([an_object("Service", "tea")]).encode()))
    assert names_in(tmp_path / "dump.yaml.gz") == ({"Service/harbour/tea"}, [])


@pytest.mark.parametrize(
    "member",
    [
        link(f"{IMAGE}/namespaces/evil.yaml", "/etc/passwd"),
        link(f"{IMAGE}/namespaces/evil.yaml", f"{IMAGE}/namespaces/harbour/harbour.yaml", tarfile.LNKTYPE),
        link("/namespaces/evil.yaml", "", tarfile.CHRTYPE),
        link("../../namespaces/evil.yaml", "", tarfile.FIFOTYPE),
    ],
)
def test_links_and_devices_are_not_followed(tmp_path: Path, member: tarfile.TarInfo) -> None:
    path = archive(tmp_path / "must-gather.tar.gz", MUST_GATHER, member)
    before = sorted(tmp_path.rglob("*"))
    assert names_in(path) == (NAMES, ["OLMC123"])
    assert sorted(tmp_path.rglob("*")) == before


def test_names_that_lead_out_are_only_names(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "dump.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as tar:
        for number, name in enumerate(("../namespaces/a.yaml", "/namespaces/b.yaml")):
            data = dump([an_object("Service", f"tea-{number}")]).encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    assert names_in(path)[0] == {"Service/harbour/tea-0", "Service/harbour/tea-1"}
    assert sorted(tmp_path.rglob("*")) == [path.parent, path]


def test_more_than_anybody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "must-gather.tar.gz", MUST_GATHER)
    monkeypatch.setattr(live_objects, "MAX_MEMBERS", 3)
    assert names_in(path) == (set(), ["OLMC158"])
    monkeypatch.setattr(live_objects, "MAX_MEMBERS", 1000)
    monkeypatch.setattr(live_objects, "MAX_ARCHIVE_BYTES", 2000)
    assert names_in(path) == (set(), ["OLMC158"])
    monkeypatch.setattr(live_objects, "MAX_ARCHIVE_BYTES", 1 << 30)
    monkeypatch.setattr(live_objects, "MAX_FILE_BYTES", 1000)
    large = archive(tmp_path / "large.tar", {"namespaces/a.yaml": "#" * 1001})
    assert names_in(large) == (set(), ["OLMC124"])
    (tmp_path / "large.yaml.gz").write_bytes(gzip.compress(b"#" * 100_000))
    assert names_in(tmp_path / "large.yaml.gz") == (set(), ["OLMC124"])
    (tmp_path / "large.yaml").write_bytes(b"#" * 1001)
    assert names_in(tmp_path / "large.yaml") == (set(), ["OLMC124"])


def test_a_header_that_claims_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tarfile reads the headers of PAX into memory, however long they say they are."""
    monkeypatch.setattr(live_objects, "MAX_FILE_BYTES", 100_000)
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 200_000
    (tmp_path / "dump.tar.gz").write_bytes(gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + bytes(201_000)))
    assert names_in(tmp_path / "dump.tar.gz") == (set(), ["OLMC158"])


def test_archives_that_are_damaged(tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole.tar.gz", MUST_GATHER).read_bytes()
    for number, data in enumerate(
        (whole[:-9], whole[: len(whole) // 2], whole[:40] + b"x" * 40 + whole[80:], b"\x1f\x8b")
    ):
        path = tmp_path / f"{number}.tar.gz"
        path.write_bytes(data)
        assert names_in(path) == (set(), ["OLMC158"]), number


@pytest.mark.parametrize("name", ["namespaces/harbour/a.yaml", "cluster-scoped-resources/a/b.json"])
def test_what_is_wrong_in_an_archive_has_its_place(tmp_path: Path, name: str) -> None:
    report = Report()
    path = archive(tmp_path / "dump.tar.gz", {name: "[3\n"})
    assert read_state(path, report) is None
    (finding,) = report
    assert finding.location is not None
    assert finding.location.path == f"{path}/{IMAGE}/{name}"
    assert finding.location.line > 0
