"""What is compiled for an editor, and what is kept from one compilation to the next."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main
from olmc.compiler.load.unsaved import is_unsaved, with_unsaved
from olmc.integrations.lsp.answers import hover
from olmc.integrations.lsp.findings import (
    NOTHING,
    EditorPosition,
    OpenDocuments,
    WorkspaceEntry,
    analyse,
    compiled,
    concerns,
    editor_lines,
    entries_of,
    offset_at,
    olmc_lines,
    position_at,
    root_of,
    span_of,
)
from olmc.k8s.diagnostics import Location, Severity
from olmc.k8s.yaml.places import cursor


@pytest.fixture
def port(project: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(project / "fixtures" / "port", tmp_path / "port"))


def test_a_document_belongs_to_the_nearest_olmc_yaml_or_the_folder_that_is_open(port: Path, tmp_path: Path) -> None:
    document = port / "operators.yaml"
    assert root_of(document, [tmp_path]) == port
    assert root_of(tmp_path / "other" / "a.yaml", [tmp_path]) == tmp_path
    assert root_of(document, [tmp_path / "other"]) is None
    (port / "olmc.yaml").unlink()
    assert root_of(document, [tmp_path]) == tmp_path
    assert root_of(document, [tmp_path, port]) == port


def test_without_folders_a_document_belongs_to_its_repository(port: Path, tmp_path: Path) -> None:
    (port / "olmc.yaml").unlink()
    (tmp_path / ".git").mkdir()
    assert root_of(port / "operators.yaml", []) == tmp_path


def test_of_a_repository_every_entry_is_compiled(project: Path) -> None:
    root = project / "fixtures" / "repos" / "kustomize"
    assert [entry.root for entry in entries_of(root, {})] == [root / "overlays" / "prod", root / "overlays" / "test"]


def test_unsaved_texts_lie_over_the_files(port: Path) -> None:
    """Also for what is read through another name of the file, and for olmc.yaml; the disk stays as it is."""
    path = port / "operators.yaml"
    laid = with_unsaved(port, {path: "spec: ⛵"})
    assert (laid / "bundles" / ".." / "operators.yaml").resolve().read_text("utf-8") == "spec: ⛵"
    assert (laid / "operators.yaml").read_bytes() == "spec: ⛵".encode()
    assert is_unsaved(laid / "operators.yaml")
    assert not is_unsaved(laid / "cluster.yaml")
    assert (laid / "cluster.yaml").read_text("utf-8") == (port / "cluster.yaml").read_text("utf-8")
    assert not is_unsaved(with_unsaved(port, {}) / "operators.yaml")


def test_an_olmc_yaml_that_was_never_saved_counts(port: Path) -> None:
    config = port / "olmc.yaml"
    text = config.read_text("utf-8")
    config.unlink()
    laid = with_unsaved(port, {config: text.replace("spec:", "spec:\n  nonsense: 1", 1)})
    assert (laid / "olmc.yaml").stat().st_size == len(text) + len("\n  nonsense: 1")
    findings = analyse(WorkspaceEntry(port), {config: text.replace("spec:", "spec:\n  nonsense: 1", 1)}).findings
    assert [each.location and each.location.path for each in findings if "nonsense" in each.message] == ["olmc.yaml"]


@pytest.mark.slow
def test_catalogs_are_loaded_once_for_each_content(port: Path) -> None:
    """And what was said about them is said again."""
    entry, path = WorkspaceEntry(port), port / "operators.yaml"
    first = analyse(entry, {})
    wrong = path.read_text("utf-8").replace("channel: stable", "channel: stabel", 1)
    second = analyse(entry, {path: wrong}, first)
    assert first.catalogs["catalogs/harbour"].catalog is second.catalogs["catalogs/harbour"].catalog
    assert {each.code for each in second.findings} - {each.code for each in first.findings} == {"OLMC510"}
    catalog = next(file for file in (port / "catalogs/harbour").iterdir() if "beacon" in file.read_text("utf-8"))
    text = catalog.read_text("utf-8").replace("name: stable", "name: steady")
    third = analyse(entry, {catalog: text}, second)
    assert third.catalogs["catalogs/harbour"].catalog is not second.catalogs["catalogs/harbour"].catalog
    again = analyse(entry, {}, third)
    assert again.findings == first.findings


def test_what_can_not_be_compiled_keeps_the_last_compilation(port: Path) -> None:
    entry, path = WorkspaceEntry(port), port / "operators.yaml"
    first = analyse(entry, {})
    right = path.read_text("utf-8")
    broken = analyse(entry, {path: f"{right}---\nkind: ["}, first)
    assert broken.compilation is first.compilation
    assert max(each.severity for each in broken.findings) is Severity.ERROR
    assert concerns(broken, [port / "cluster.yaml"])
    mended = analyse(entry, {path: right}, broken)
    assert mended.findings == first.findings
    line = next(n for n, text in enumerate(right.split("\n"), 1) if text == "  name: beacon")
    assert "Subscription beacon installs" in hover(mended, path, f"kind: [\n---\n{right}", line + 2, 9)


def test_only_what_a_change_concerns_is_compiled_again(port: Path, tmp_path: Path) -> None:
    """And what has no open document is forgotten: a long session holds what it shows, and no more."""
    other = Path(shutil.copytree(port, tmp_path / "other"))
    here, there = port / "operators.yaml", other / "operators.yaml"
    texts = {path: path.read_text("utf-8") for path in (here, there)}
    first = compiled(OpenDocuments((tmp_path,), texts), (), NOTHING, Severity.WARNING)
    wrong = {**texts, here: texts[here].replace("channel: stable", "channel: stabel", 1)}
    second = compiled(OpenDocuments((tmp_path,), wrong), [here], first, Severity.WARNING)
    one, two = WorkspaceEntry(port), WorkspaceEntry(other)
    assert second.analyses[two] is first.analyses[two]
    assert second.analyses[one] is not first.analyses[one]
    assert here in second.findings.keys() - first.findings.keys()
    third = compiled(OpenDocuments((tmp_path,), {there: texts[there]}), [here], second, Severity.WARNING)
    assert list(third.analyses) == [two]


def test_a_finding_is_shown_in_the_text_that_it_was_found_in(port: Path, tmp_path: Path) -> None:
    """Also if a workspace that was not compiled again still knows another one of that file."""
    other = Path(shutil.copytree(port, tmp_path / "other"))
    here, there, wrong = port / "operators.yaml", other / "cluster.yaml", other / "operators.yaml"
    texts = {path: path.read_text("utf-8") for path in (here, there, wrong)}
    first = compiled(OpenDocuments((tmp_path,), {**texts, wrong: "\n" * 9}), (), NOTHING, Severity.WARNING)
    wrong.write_text(texts[wrong].replace("channel: stable", "channel: stabel", 1), "utf-8")
    closed = OpenDocuments((tmp_path,), {here: texts[here], there: texts[there]})
    second = compiled(closed, [wrong], first, Severity.WARNING)
    assert second.analyses[WorkspaceEntry(port)] is first.analyses[WorkspaceEntry(port)]
    span = next(each.span for each in second.findings[wrong] if each.diagnostic.code == "OLMC510")
    assert second.lines[wrong].text[span.start : span.end] == "stabel"


@pytest.mark.parametrize(
    ("text", "line", "column", "keys"),
    [
        ("a: {b: x}\n", 1, 8, ("a", "b")),
        ("a:\n  b:\n  - c: x\n", 3, 8, ("a", "b", 0, "c")),
        ("a: 1\n---\nb: 2\n", 3, 4, ("b",)),
        ("a: ", 1, 4, ("a",)),
        ("a:\n  b: \n  c: 1\n", 2, 6, ("a", "b")),
        ("a:\n  b: 'x\n  c: 1\n", 2, 7, ("a", "b")),
        ("a:\n  b: x\n c: [\n", 2, 6, ("a", "b")),
        ('{"a": {"b": "x"}}', 1, 14, ("a", "b")),
        ("kind: XList\nitems:\n- spec: {a: x}\n", 3, 13, ("spec", "a")),
        ("a: &x {b: c}\nd: *x\n", 2, 5, ("d",)),
    ],
)
def test_the_keys_that_lead_to_a_position(text: str, line: int, column: int, keys: tuple[str | int, ...]) -> None:
    there = cursor("a.yaml", text, line, column)
    assert there is not None
    assert (there.keys, there.on_key) == (keys, False)


@pytest.mark.parametrize(
    ("text", "line", "column"), [("", 1, 1), ("# a\n", 1, 2), ("- a\n- b\n", 1, 3), ("a: [", 9, 1)]
)
def test_where_nothing_stands_there_is_no_answer(text: str, line: int, column: int) -> None:
    assert cursor("a.yaml", text, line, column) is None


def test_a_hostile_document_has_no_answer() -> None:
    """Aliases that would become more than anybody can hold."""
    levels = "".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert cursor("a.yaml", f"k0: &a0 [x]\n{levels}", 13, 5) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_lead_back_to_offsets(encoding: str) -> None:
    lines = editor_lines("a🚢é: x\r\n\u2028b\ryz🚢")
    assert len(lines.starts) == 3
    for offset in (offset for offset in range(len(lines.text) + 1) if offset != 7):
        assert offset_at(lines, position_at(lines, offset, encoding), encoding) == offset
    assert offset_at(lines, EditorPosition(0, 99), encoding) == 6
    assert offset_at(lines, EditorPosition(99, 0), encoding) == len(lines.text)


@pytest.mark.parametrize(
    ("text", "line", "column", "span"),
    [
        ("a: b c # d\n", 1, 4, "b c"),
        ("a: 'b: c' # d\n", 1, 4, "'b: c'"),
        ("abc: d\n", 1, 1, "abc"),
        ("a: [b, c]\n", 1, 5, "b"),
        ("# \u2028a: b\n", 2, 4, "b"),
        ("a: b\n", 1, 0, "a: b\n"),
        ("a: b\n", 0, 0, ""),
        ("a: b\n", 9, 1, ""),
    ],
)
def test_a_finding_is_about_what_stands_at_its_place(text: str, line: int, column: int, span: str) -> None:
    start, end = span_of(olmc_lines("a.yaml", text), Location("a.yaml", line, column))
    assert text[start:end] == span


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "olmc.integrations.lsp.server", raising=False)
    done = CliRunner().invoke(main, ["lsp"])
    assert done.exit_code == 3
    assert "pip install 'olmc[lsp]'" in done.output
    assert "OLMC656" in done.output
