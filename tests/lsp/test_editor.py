"""What an editor gets from `olmc lsp`, over stdio, from a client that holds the server to the protocol."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed: make venv")

from editor import editor, run
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.process

PACKAGE = "name: bea|con\n  channel"
CHANNEL = "channel: sta|ble\n  source: harbour"


@pytest.fixture
def port(project: Path, tmp_path: Path) -> Path:
    """A workspace of its own in which all is well."""
    return Path(shutil.copytree(project / "fixtures" / "port", tmp_path / "port"))


def misspelt(text: str) -> str:
    return text.replace("channel: stable", "channel: stabel", 1)


def codes(shown: object) -> set[str]:
    assert isinstance(shown, list | tuple)
    return {str(each.code) for each in shown}


def test_findings_come_and_go_while_somebody_types(port: Path) -> None:
    """Of text that nobody has saved: the file on the disk stays as it is."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            assert "OLMC510" not in codes(await it.shown(uri))
            right = it.texts[uri]
            it.change(uri, misspelt(right))
            shown = [each for each in await it.shown(uri, bool) if each.code == "OLMC510"]
            assert [str(each.range) for each in shown] == ["14:11-14:17"]
            assert shown[0].severity is types.DiagnosticSeverity.Error
            assert shown[0].source == "olmc"
            assert shown[0].code_description is not None
            assert shown[0].code_description.href.endswith("rules/OLMC510.html")
            it.change(uri, right)
            assert "OLMC510" not in codes(await it.shown(uri))
            assert (port / "operators.yaml").read_text(encoding="utf-8") == right

    run(scenario())


def test_of_many_edits_the_last_one_is_shown(port: Path) -> None:
    """Nothing is shown of what was typed over, and what is shown is about the newest text."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            right = it.texts[uri]
            for _ in range(20):
                it.change(uri, misspelt(right))
                await asyncio.sleep(0.01)
                it.change(uri, right)
            assert "OLMC510" not in codes(await it.shown(uri))
            versions = [each.version or 0 for each in it.published if each.uri == uri]
            assert versions == sorted(versions)
            assert len(versions) < 20  # of 41

    run(scenario())


def test_a_closed_document_is_that_of_the_disk(port: Path) -> None:
    async def scenario() -> None:
        async with editor(port) as it:
            other = it.open(port / "cluster.yaml")
            uri = it.open(port / "operators.yaml")
            it.change(uri, misspelt(it.texts[uri]))
            assert "OLMC510" in codes(await it.shown(uri, bool))
            it.close(uri)
            await it.shown(uri, lambda shown: "OLMC510" not in codes(shown))
            it.close(other)
            await it.shown(uri, lambda shown: not shown)

    run(scenario())


def test_a_quick_fix_writes_what_was_meant(port: Path) -> None:
    """A channel, a field and the value of one: the workspace is right once all are taken."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            right = it.texts[uri]
            assert "OLMC510" not in codes(await it.shown(uri))
            wrong = right.replace("channel: stable", "chanel: 'stable'", 1)
            wrong = wrong.replace("name: lantern\n  channel: stable", "name: lanten\n  channel: stable")
            wrong = wrong.replace("sourceNamespace: olm", "sourceNamespace: olm\n  installPlanApproval: manual", 1)
            it.change(uri, wrong)
            shown = await it.shown(uri, lambda shown: {"OLMC510", "OLMC290"} <= codes(shown) or len(shown) > 2)
            fixes = {fix.title: fix for each in shown for fix in await it.fixes(uri, each)}
            assert {"Write channel instead of chanel", "Write lantern instead of lanten"} <= fixes.keys()
            assert "Write Manual instead of manual" in fixes
            for fix in fixes.values():
                assert fix.edit is not None
                assert fix.edit.changes is not None
                for edit in fix.edit.changes[uri]:
                    it.texts[uri] = it.applied(uri, types.TextEdit(edit.range, edit.new_text))
            assert it.texts[uri] == right.replace("channel: stable", "channel: 'stable'", 1).replace(
                "sourceNamespace: olm", "sourceNamespace: olm\n  installPlanApproval: Manual", 1
            )

    run(scenario())


def test_places_are_counted_as_the_editor_counts_them(port: Path) -> None:
    """Characters beyond the BMP are two units of UTF-16, and four bytes of UTF-8; U+2028 ends no line of an editor."""
    text = (port / "operators.yaml").read_text(encoding="utf-8")
    wrong = text.replace(
        "spec:\n  name: beacon\n  channel: stable", 'spec: {"x🚢": 1, name: beacon, channel: stabel,', 1
    )
    wrong = wrong.replace(
        "channel: stabel,\n  source: harbour\n  sourceNamespace: olm",
        "channel: stabel, source: harbour, sourceNamespace: olm}", 1,
    )  # fmt: skip
    wrong = f"# \u2028# is no new line for an editor\n{wrong}"

    async def scenario(encoding: types.PositionEncodingKind, column: int) -> None:
        async with editor(port, encodings=[encoding]) as it:
            uri = it.open(port / "operators.yaml", wrong)
            shown = [each for each in await it.shown(uri, bool) if each.code == "OLMC510"]
            assert [str(each.range) for each in shown] == [f"13:{column}-13:{column + 6}"]
            if encoding is types.PositionEncodingKind.Utf16:
                assert "a channel of beacon" not in await it.hover(uri, "channel: stab|el")
                assert "a package of catalog harbour" in await it.hover(uri, "name: beac|on, channel")
                assert [each.label for each in await it.complete(uri, "channel: sta|bel")] == ["stable"]

    flow = next(line for line in wrong.split("\n") if "stabel" in line)
    before = flow[: flow.index("stabel")]
    run(scenario(types.PositionEncodingKind.Utf16, len(before.encode("utf-16-le")) // 2))
    run(scenario(types.PositionEncodingKind.Utf8, len(before.encode())))
    run(scenario(types.PositionEncodingKind.Utf32, len(before)))


def test_hover_says_what_a_name_resolves_to(port: Path) -> None:
    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            package = await it.hover(uri, PACKAGE)
            assert "**beacon**, a package of catalog harbour in olm" in package
            assert "stable (default): beacon.v1.1.0 (1.1.0)" in package
            assert "Subscription beacon installs beacon.v1.1.0: Succeeded" in package
            channel = await it.hover(uri, "channel: sta|ble")
            assert "Its head is beacon.v1.1.0 (1.1.0)." in channel
            assert "It also has beacon.v1.0.0 (1.0.0)." in channel
            assert "a CatalogSource in olm" in await it.hover(uri, "source: harb|our")
            assert "selects all namespaces" in await it.hover(uri, "kind: Operator|Group")
            assert await it.hover(uri, "spec: {|}") == ""
            text = it.texts[uri].replace(
                "name: beacon\n  channel", "name: beacon\n  startingCSV: beacon.v1.0.0\n  channel"
            )
            it.change(uri, text)
            version = await it.hover(uri, "startingCSV: bea|con")
            assert "version 1.0.0 of beacon" in version
            assert "In channel stable it is upgraded to beacon.v1.1.0 (1.1.0)." in version

    run(scenario())


def test_what_is_being_written_is_completed(port: Path) -> None:
    """Also where the text can't be read for the moment."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            await it.shown(uri)
            right = it.texts[uri]
            assert [each.label for each in await it.complete(uri, PACKAGE)] == [
                "beacon", "crane", "ferry", "gauge", "lantern", "tide",
            ]  # fmt: skip
            for written, wanted in (
                ("channel: ", ["stable"]),
                ("channel: s", ["stable"]),
                ('channel: "st', ["stable"]),
                ("channel:", ["stable"]),
                ("startingCSV: ", ["beacon.v1.1.0", "beacon.v1.0.0"]),
                ("source: ", ["harbour"]),
                ("sourceNamespace: ", ["olm"]),
                ("installPlanApproval: ", ["Automatic", "Manual"]),
            ):
                key = written.partition(":")[0]
                rest = [
                    line for line in ("channel: stable", "source: harbour", "sourceNamespace: olm") if key not in line
                ]
                text = right.replace(
                    "channel: stable\n  source: harbour\n  sourceNamespace: olm", "\n  ".join([written, *rest]), 1
                )
                it.change(uri, text)
                offered = await it.complete(uri, f"{written}|\n")
                assert [each.label for each in offered] == wanted, written
                edit = offered[0].text_edit
                assert isinstance(edit, types.TextEdit)
                line = it.applied(uri, edit).split("\n")[edit.range.start.line].replace('"', "")
                assert line == f"  {key}: {wanted[0]}"

    run(scenario())


def test_definitions_are_bundles_catalogs_and_groups(port: Path) -> None:
    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            (csv,) = await it.define(uri, PACKAGE)
            assert csv.uri == (port / "bundles/beacon-1.1.0/manifests/beacon.clusterserviceversion.yaml").as_uri()
            assert str(csv.range.start) == "3:8"
            (source,) = await it.define(uri, "source: harb|our")
            assert source.uri == (port / "cluster.yaml").as_uri()
            (group,) = await it.define(uri, "namespace: beac|ons\nspec:\n  name")
            assert (group.uri, str(group.range.start)) == (uri, "0:0")
            assert await it.define(uri, "spec: {|}") == []

    run(scenario())


def test_a_broken_file_keeps_the_last_answers(port: Path) -> None:
    """The error is shown, and hover answers from what was right before."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            await it.shown(uri)
            right = it.texts[uri]
            it.change(
                uri, right.replace("kind: OperatorGroup", "kind: [OperatorGroup", 1).replace("---", "- - -: x:", 2)
            )
            shown = await it.shown(uri, bool)
            assert {each.severity for each in shown} >= {types.DiagnosticSeverity.Error}
            assert "a package of catalog harbour" in await it.hover(uri, PACKAGE)
            it.change(uri, right)
            await it.shown(
                uri, lambda shown: all(each.severity is not types.DiagnosticSeverity.Error for each in shown)
            )

    run(scenario())


def test_a_document_outside_of_the_folders_is_left_alone(port: Path, tmp_path: Path) -> None:
    stray = tmp_path / "stray.yaml"
    stray.write_text((port / "operators.yaml").read_text(encoding="utf-8"), encoding="utf-8")

    async def scenario() -> None:
        async with editor(port) as it:
            outside, inside = it.open(stray), it.open(port / "operators.yaml")
            await it.shown(inside)
            assert await it.hover(outside, PACKAGE) == ""
            assert await it.complete(outside, PACKAGE) == []
            assert not [each for each in it.published if each.uri == outside]

    run(scenario())


def test_every_folder_is_compiled_with_its_own_olmc_yaml(port: Path, tmp_path: Path) -> None:
    """The editor has the folder above open; a workspace in it is that of the nearest olmc.yaml."""
    (tmp_path / "plain").mkdir()

    async def scenario() -> None:
        async with editor(tmp_path) as it:
            uri = it.open(port / "operators.yaml")
            assert "a package of catalog harbour" in await it.hover(uri, PACKAGE)
            config = it.open(port / "olmc.yaml")
            it.change(config, it.texts[config].replace("spec:", "spec:\n  nonsense: true", 1))
            assert "OLMC138" in codes(await it.shown(config, bool))

    run(scenario())


def test_a_request_can_be_taken_back(port: Path) -> None:
    """One that waits for the first compilation ends as soon as nobody wants its answer any more."""

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            document = types.TextDocumentIdentifier(uri)
            asked = it.client.protocol.send_request(
                types.TEXT_DOCUMENT_HOVER, types.HoverParams(document, it.position(uri, PACKAGE)), msg_id="hover"
            )
            it.client.cancel_request(types.CancelParams(id="hover"))
            with pytest.raises(JsonRpcException) as refused:
                await asyncio.wrap_future(asked)
            assert refused.value.code == types.LSPErrorCodes.RequestCancelled
            assert "a package of catalog harbour" in await it.hover(uri, PACKAGE)

    run(scenario())


def test_files_that_change_beside_the_editor_count(port: Path) -> None:
    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "cluster.yaml")
            await it.shown(uri)
            path = port / "operators.yaml"
            path.write_text(misspelt(path.read_text(encoding="utf-8")), encoding="utf-8")
            event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
            it.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            async with asyncio.timeout(60):
                while not any("OLMC510" in codes(each.diagnostics) for each in it.published):
                    it.told.clear()
                    await it.told.wait()

    run(scenario())


WATCHED = """
import os, sys
def watch(event, arguments):
    if event in ("socket.bind", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec"):
        os._exit(9)
sys.addaudithook(watch)
from olmc.__main__ import run
run()
"""


def test_the_server_asks_nobody_and_starts_nothing(port: Path) -> None:
    """It would end with another exit code."""

    async def scenario() -> None:
        async with editor(port, program=["-c", WATCHED]) as it:
            uri = it.open(port / "operators.yaml")
            it.change(uri, misspelt(it.texts[uri]))
            shown = await it.shown(uri, bool)
            assert await it.fixes(uri, shown[-1])
            assert await it.hover(uri, PACKAGE)
            assert await it.define(uri, PACKAGE)

    run(scenario())


def test_no_answer_has_anything_of_a_secret(port: Path) -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n  namespace: olm\nstringData:\n  token: hunter2hunter2\n"
    )
    (port / "secret.yaml").write_text(secret, encoding="utf-8")

    async def scenario() -> None:
        async with editor(port, options=["--all"]) as it:
            uri = it.open(port / "secret.yaml", secret.replace("namespace: olm", "namespace: olm\n  nonsense: 1"))
            shown = await it.shown(uri, lambda _: True)
            answers = [await it.hover(uri, at) for at in ("kind: Sec|ret", "name: k|ey", "token: hun|ter2", "tok|en")]
            assert answers == ["", "", "", ""]
            assert "hunter2" not in repr(shown)
            assert not any("hunter2" in text for text in it.said)

    run(scenario())


def test_texts_of_files_are_no_markup(port: Path) -> None:
    """A catalog may be somebody else's: its texts can't have an editor fetch a picture."""
    catalog = next(path for path in (port / "catalogs").rglob("*") if path.is_file() and "beacon" in path.read_text())
    content = catalog.read_text(encoding="utf-8")
    deprecated = {
        "schema": "olm.deprecations",
        "package": "beacon",
        "entries": [{"reference": {"schema": "olm.package"}, "message": "![x](https://example.com/x.png) <img src=y>"}],
    }
    catalog.write_text(f"{content}\n---\n{json.dumps(deprecated)}\n", encoding="utf-8")

    async def scenario() -> None:
        async with editor(port) as it:
            uri = it.open(port / "operators.yaml")
            said = await it.hover(uri, PACKAGE)
            assert "Deprecated: \\!\\[x\\]" in said
            assert "<img" not in said.replace("\\<img", "")

    run(scenario())


def big_catalog(root: Path, packages: int) -> None:
    folder = root / "catalogs" / "big"
    folder.mkdir(parents=True)
    lines: list[dict[str, object]] = []
    for number in range(packages):
        name = f"pack{number:04}"
        lines.append({"schema": "olm.package", "name": name, "defaultChannel": "stable"})
        entries = [
            {"name": f"{name}.v1.{n}.0", **({"replaces": f"{name}.v1.{n - 1}.0"} if n else {})} for n in range(9)
        ]
        lines.append({"schema": "olm.channel", "package": name, "name": "stable", "entries": entries})
        for n in range(9):
            properties = [{"type": "olm.package", "value": {"packageName": name, "version": f"1.{n}.0"}}]
            image = f"registry.example.com/{name}:v1.{n}.0"
            lines.append({"schema": "olm.bundle", "package": name, "name": f"{name}.v1.{n}.0", "image": image,
                          "properties": [*properties, {"type": "example.com/text", "value": "x" * 4000}]})  # fmt: skip
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (root / "operators.yaml").write_text(
        """apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: big, namespace: olm}
spec: {sourceType: grpc, image: registry.example.com/big:v1}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: tools, namespace: tools}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: pack, namespace: tools}
spec:
  name: pack0042
  channel: stable
  source: big
  sourceNamespace: olm
""",
        encoding="utf-8",
    )


def test_beside_a_big_catalog(tmp_path: Path) -> None:
    """Ten megabytes; that it is loaded once is held in test_open_documents."""
    big_catalog(tmp_path, 300)

    async def scenario() -> None:
        async with editor(tmp_path) as it:
            uri = it.open(tmp_path / "operators.yaml")
            assert "a package of catalog big in olm" in await it.hover(uri, "name: pack00|42")
            assert len(await it.complete(uri, "name: pack00|42")) == 300
            right = it.texts[uri]
            it.change(uri, right.replace("channel: stable", "channel: stabel"))
            assert "OLMC510" in codes(await it.shown(uri, bool))
            it.change(uri, right)
            assert "OLMC510" not in codes(await it.shown(uri))

    run(scenario())


@pytest.mark.parametrize(("messages", "code"), [((), 1), (("shutdown", "exit"), 0), (("exit",), 1)])
def test_the_exit_code_says_whether_the_editor_has_ended_it(messages: tuple[str, ...], code: int) -> None:
    def framed(method: str, number: int) -> bytes:
        known = {} if method in ("exit", "initialized") else {"id": number}
        params: object = {"capabilities": {}, "processId": None, "rootUri": None} if method == "initialize" else None
        body = json.dumps({"jsonrpc": "2.0", **known, "method": method, **({"params": params} if params else {})})
        return f"Content-Length: {len(body)}\r\n\r\n{body}".encode()

    given = b"".join(framed(method, number) for number, method in enumerate(("initialize", *messages), 1))
    done = subprocess.run(
        [sys.executable, "-m", "olmc", "lsp", "--stdio"], input=given, capture_output=True, timeout=60
    )
    assert done.returncode == code
    assert done.stdout.startswith(b"Content-Length: ")
    assert b"Traceback" not in done.stderr
