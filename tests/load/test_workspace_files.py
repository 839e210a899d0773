"""Which files of a workspace are read, and what is said about those that can't be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scenarios import write
from small_files import CONFIG, bundle, catalog, loaded, names, namespace

import olmc
from olmc import Report, Severity
from olmc.review.diff.both_sides import read_rendering
from olmc.review.graph.catalogs import catalogs_at


def test_hidden_folders_are_skipped(tmp_path: Path) -> None:
    given = {
        ".git/config.yaml": "\t",
        "a/.cache/b/c.yaml": namespace("c"),
        "a/d.yaml": namespace("d"),
        **bundle(".bundles/kettle"),
        "catalogs/.old/catalog.yaml": catalog("kettle", "1.0.0"),
    }
    workspace, said = loaded(tmp_path, given)
    assert (names(workspace), dict(workspace.bundles), dict(workspace.catalogs)) == (["Namespace d"], {}, {})
    assert said == []


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        ("drafts/\n", ["a.yaml", "sub/b.yaml", "sub/keep/c.yaml"]),
        ("# a comment\n\n/a.yaml\nb.yaml\n", ["drafts/d.yaml", "sub/keep/c.yaml"]),
        ("*.yaml\n!c.yaml\n", ["sub/keep/c.yaml"]),
        ("sub/**\n", ["a.yaml", "drafts/d.yaml"]),
        ("sub/*\n!sub/keep/\n", ["a.yaml", "drafts/d.yaml", "sub/keep/c.yaml"]),
        ("", ["a.yaml", "drafts/d.yaml", "sub/b.yaml", "sub/keep/c.yaml"]),
    ],
)
def test_olmcignore_reads_like_gitignore(patterns: str, left: list[str], tmp_path: Path) -> None:
    there = ("a.yaml", "drafts/d.yaml", "sub/b.yaml", "sub/keep/c.yaml")
    given = {path: namespace(f"n{number}") for number, path in enumerate(there)}
    workspace, said = loaded(tmp_path, {**given, ".olmcignore": patterns})
    assert sorted(manifest.source.path for manifest in workspace.manifests) == left
    assert said == []


def test_what_is_ignored_may_be_broken(tmp_path: Path) -> None:
    given = {"broken.yaml": "a: [", "charts/x.yaml": "{{", "a.yaml": namespace("a"), ".olmcignore": "broken.yaml\n"}
    workspace, said = loaded(tmp_path, {**given, "olmc.yaml": CONFIG + "  ignore: [charts/]\n"})
    assert names(workspace) == ["Namespace a"]
    assert said == []


def test_a_pattern_that_can_t_be_used_is_shown_where_it_stands(tmp_path: Path) -> None:
    write(tmp_path, {".olmcignore": "# c\n!\nb.yaml\n!\n", "olmc.yaml": CONFIG + "  ignore: ['!']\n"})
    found = [(d.code, str(d.location), d.message.split(":")[0]) for d in olmc.compile(tmp_path).diagnostics]
    assert found == [
        ("OLMC144", ".olmcignore:2", ".olmcignore"),
        ("OLMC144", ".olmcignore:4", ".olmcignore"),
        ("OLMC138", "olmc.yaml:4:12", "olmc.yaml"),
    ]


def test_brackets_in_patterns(tmp_path: Path) -> None:
    """A bracket in brackets is a bracket; a class by name, which git has, is refused, since it would match nothing."""
    files = {"a[b.yaml": namespace("a"), "ab.yaml": namespace("b"), ".olmcignore": "a[[]b.yaml\n"}
    report = Report()
    assert names(olmc.load(write(tmp_path, files), report)) == ["Namespace b"]
    assert list(report) == []
    write(tmp_path, {".olmcignore": "[[:alpha:]].yaml\n"})
    (diagnostic, *_) = olmc.compile(tmp_path).diagnostics
    assert (diagnostic.code, str(diagnostic.location)) == ("OLMC144", ".olmcignore:1")
    assert "write ranges, such as [a-z]" in diagnostic.message


def test_a_link_inside_of_the_workspace_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"shared/a.yaml": namespace("a"), ".hidden/b.yaml": namespace("b")})
    (tmp_path / "b.yaml").symlink_to(".hidden/b.yaml")
    workspace, said = loaded(tmp_path, {})
    assert names(workspace) == ["Namespace b", "Namespace a"]
    assert said == []


@pytest.mark.parametrize("target", ["../outside.yaml", "../outside", "/etc/hostname", "../root-not-here"])
def test_a_link_that_leaves_the_workspace_is_not_followed_olmc123(target: str, tmp_path: Path) -> None:
    write(tmp_path, {"outside.yaml": namespace("x"), "outside/y.yaml": namespace("y"), "w/a.yaml": namespace("a")})
    (tmp_path / "w/link.yaml").symlink_to(target)
    workspace, said = loaded(tmp_path / "w", {})
    assert names(workspace) == ["Namespace a"]
    assert said == ["warning OLMC123 link.yaml:1:1"]


@pytest.mark.parametrize(
    ("link", "target", "where"),
    [
        ("a.yaml", "a.yaml", "that leads back to itself"),
        ("a.yaml", "not-here.yaml", "to something that does not exist"),
        ("a", "sub/not-here", "to something that does not exist"),
        ("a.yaml", "../b.yaml", "to a place outside of the workspace"),
        ("a.yaml", "../not-here.yaml", "to a place outside of the workspace"),
    ],
)
def test_a_link_that_is_not_followed_is_told_for_what_it_is_olmc123(
    link: str, target: str, where: str, tmp_path: Path
) -> None:
    write(tmp_path, {"b.yaml": namespace("b"), "w/c.yaml": namespace("c")})
    (tmp_path / "w" / link).symlink_to(target)
    report = Report()
    olmc.load(tmp_path / "w", report)
    assert [each.message for each in report] == [f"{link} is a symbolic link {where} and is not followed"]


def test_no_link_leads_out_by_way_of_a_folder(tmp_path: Path) -> None:
    """The name of a folder beside the workspace may begin like that of the workspace."""
    write(tmp_path, {"w-secret/x.yaml": namespace("x"), "w/a.yaml": namespace("a")})
    (tmp_path / "w/sub").symlink_to("../w-secret")
    (tmp_path / "w/.olmcignore").symlink_to("../w-secret/x.yaml")
    (tmp_path / "w/olmc.yaml").symlink_to("../w-secret/x.yaml")
    workspace, said = loaded(tmp_path / "w", {})
    assert names(workspace) == ["Namespace a"]
    assert sorted(set(said)) == [f"warning OLMC123 {path}:1:1" for path in (".olmcignore", "olmc.yaml", "sub")]


def test_a_folder_that_links_to_what_is_above_it_ends(tmp_path: Path) -> None:
    write(tmp_path, {"a/b/c.yaml": namespace("c")})
    (tmp_path / "a/b/up").symlink_to("../..")
    workspace, said = loaded(tmp_path, {})
    assert names(workspace) == ["Namespace c"]
    assert said == []


def test_a_workspace_may_itself_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, {"there/a.yaml": namespace("a"), "there/sub/b.yaml": namespace("b")})
    (tmp_path / "here").symlink_to("there")
    workspace, said = loaded(tmp_path / "here", {})
    assert names(workspace) == ["Namespace a", "Namespace b"]
    assert said == []


def test_text_that_is_not_utf8_olmc122(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"# one\n# two\nname: caf\xe9\n")
    (tmp_path / "b.yaml").write_bytes("kind: Namespace\n".encode("utf-16"))
    workspace, said = loaded(tmp_path, {})
    assert workspace.manifests == ()
    assert said == ["error OLMC122 a.yaml:3:10", "error OLMC122 b.yaml:1:1"]


def test_a_byte_order_mark_is_no_trouble(tmp_path: Path) -> None:
    workspace, said = loaded(tmp_path, {"a.yaml": "\ufeff" + namespace("a")})
    assert names(workspace) == ["Namespace a"]
    assert said == []


def test_a_file_that_is_too_large_olmc124(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLMC_LIMIT_FILE_BYTES", str(len(namespace("a"))))
    write(tmp_path, {"a.yaml": namespace("a"), "b.yaml": namespace("bb")})
    report = Report()
    assert names(olmc.load(tmp_path, report)) == ["Namespace a"]
    (found,) = report
    assert (found.code, found.severity, str(found.location)) == ("OLMC124", Severity.ERROR, "b.yaml")
    assert "b.yaml has 52 bytes, more than the 51 that olmc reads" in found.message


def test_a_file_that_can_not_be_opened_olmc121(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by permissions, which stop nobody who runs the tests as root."""
    genuine = Path.open

    def open_or_refuse(self: Path, *arguments: object, **options: object) -> object:
        if self.name == "b.yaml":
            raise PermissionError(13, "Permission denied")
        return genuine(self, *arguments, **options)  # type: ignore[call-overload]

    write(tmp_path, {"a.yaml": namespace("a"), "sub/b.yaml": namespace("b")})
    monkeypatch.setattr(Path, "open", open_or_refuse)
    report = Report()
    assert names(olmc.load(tmp_path, report)) == ["Namespace a"]
    (found,) = report
    assert (found.code, found.severity, str(found.location)) == ("OLMC121", Severity.ERROR, "sub/b.yaml")
    assert found.message == "sub/b.yaml can't be read: Permission denied"


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of folders that can't be listed: permissions would stop nobody who runs the tests as root."""
    genuine = os.scandir

    def list_or_refuse(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return genuine(path)

    monkeypatch.setattr(os, "scandir", list_or_refuse)
    return "locked"


def test_a_folder_that_can_not_be_listed_olmc121(locked: str, tmp_path: Path) -> None:
    workspace, said = loaded(tmp_path, {"a.yaml": namespace("a"), f"sub/{locked}/b.yaml": namespace("b")})
    assert (names(workspace), said) == (["Namespace a"], [f"error OLMC121 sub/{locked}"])


def test_a_root_that_can_not_be_listed_olmc121(locked: str, tmp_path: Path) -> None:
    write(tmp_path, {f"{locked}/a.yaml": namespace("a")})
    (found,) = olmc.compile(tmp_path / locked).diagnostics
    assert (found.code, found.location) == ("OLMC121", None)
    assert found.message == f"{tmp_path / locked} can't be read: Permission denied"


def test_a_folder_of_a_bundle_that_can_not_be_listed_olmc121(locked: str, tmp_path: Path) -> None:
    """A bundle by itself is no workspace, and is read in another way."""
    made = olmc.compile(write(tmp_path, bundle("kettle") | {f"kettle/tests/{locked}/a.yaml": ""}) / "kettle")
    assert [str(found.location) for found in made.diagnostics if found.code == "OLMC121"] == [f"tests/{locked}"]
    assert made.failed


def test_a_folder_of_a_rendering_that_can_not_be_listed_olmc121(locked: str, tmp_path: Path) -> None:
    report = Report()
    assert read_rendering(write(tmp_path, {"a.yaml": namespace("a"), f"{locked}/b.yaml": namespace("b")}), report)
    assert [f"{found.code} {found.location}" for found in report] == [f"OLMC121 {locked}"]


def test_a_folder_of_a_catalog_that_can_not_be_listed_olmc121(locked: str, tmp_path: Path) -> None:
    report = Report()
    assert catalogs_at(write(tmp_path, {"a.yaml": catalog("kettle", "1.0.0"), f"{locked}/b.yaml": ""}), report)
    assert [f"{found.code} {found.location}" for found in report] == [f"OLMC121 {locked}"]


@pytest.mark.parametrize("name", ["pipe.yaml", ".gitignore", ".olmcignore", "olmc.lock"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    workspace, said = loaded(tmp_path, {"a.yaml": namespace("a"), "folder.yaml/b.yaml": namespace("b")})
    assert names(workspace) == ["Namespace a", "Namespace b"]
    assert said == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nothing-here", "does not exist"),
        ("file.yaml", "is a file and not a directory"),
        ("file.yaml/below", "does not exist"),
        ("n" * 300, "can't be read: File name too long"),
    ],
)
def test_a_path_that_is_no_directory_olmc120(path: str, problem: str, tmp_path: Path) -> None:
    write(tmp_path, {"file.yaml": namespace("a")})
    made = olmc.compile(tmp_path / path)
    assert made.failed
    assert [(found.code, found.location) for found in made.diagnostics] == [("OLMC120", None)]
    assert made.diagnostics[0].message == f"{tmp_path / path} {problem}"


def test_one_broken_file_stops_the_compile_and_all_are_named(tmp_path: Path) -> None:
    broken = {"b.yaml": namespace("b") + "x: [\n", "c.yaml": namespace("c") + "x: *y\n"}
    made = olmc.compile(write(tmp_path, {"a.yaml": namespace("a"), **broken}))
    assert made.objects == ()
    assert [found.location.path for found in made.diagnostics if found.location] == ["b.yaml", "c.yaml"]
    assert all(found.severity is Severity.ERROR for found in made.diagnostics)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "apiversion: v1\nkind: Namespace\nmetadata: {name: a}\n",
            "1:1 OLMC145 this document has kind Namespace but no apiVersion, so the API server would refuse it | "
            "Write apiVersion in place of apiversion.",
        ),
        (
            "kind: Namespace\nmetadata: {name: a}\n",
            "1:1 OLMC145 this document has kind Namespace but no apiVersion, so the API server would refuse it | "
            "Add the apiVersion.",
        ),
        (
            "apiVersion: v1\nKind: Namespace\n",
            "2:1 OLMC146 this document has apiVersion v1 but no kind, so the API server would refuse it | "
            "Write kind in place of Kind.",
        ),
        (
            "apiVersion: v1\nmetadata: {name: a}\n",
            "1:1 OLMC146 this document has apiVersion v1 but no kind, so the API server would refuse it | "
            "Add the kind.",
        ),
        (
            "# all\n- apiVersion: v1\n  kind: Namespace\n- 1\n- {apiVersion: v1, kind: Pod}\n",
            "2:1 OLMC147 this document is a list of objects (Namespace, Pod), which a cluster rejects: olmc does not "
            "compile it | Write each object as a document of its own, with --- between them, or all as the items of a "
            "List of apiVersion v1.",
        ),
        ("apiVersion: v2\nname: chart\nversion: 1.0.0\n", "OLMC125"),
        ("- op: add\n  path: /spec/a\n", "OLMC125"),
        ("- {kind: fruit}\n- 1\n", "OLMC125"),
        ("kind: fruit\n", "OLMC125"),
    ],
)
def test_what_is_nearly_an_object(text: str, expected: str, tmp_path: Path) -> None:
    """What Kubernetes would refuse is said; Helm's charts, patches and values are no objects and not meant for it."""
    report = Report()
    assert olmc.load(write(tmp_path, {"a.yaml": text}), report).manifests == ()
    (found,) = report
    place = found.location or olmc.Location("")
    shown = f"{place.line}:{place.column} {found.code} {found.message} | {found.hint}"
    assert (found.code if expected.startswith("OLMC") else shown) == expected


def test_a_text_that_is_not_utf8_and_a_link_have_a_place_with_line_and_column(tmp_path: Path) -> None:
    """OLMC122 and OLMC123: editors open `path:line:column`."""
    (tmp_path / "a.yaml").write_bytes("kind: Namespace\nname: ü".encode() + b"\xff")
    (tmp_path / "b.yaml").symlink_to("nowhere")
    report = Report()
    olmc.load(tmp_path, report)
    assert {each.code: str(each.location) for each in report} == {"OLMC122": "a.yaml:2:8", "OLMC123": "b.yaml:1:1"}
