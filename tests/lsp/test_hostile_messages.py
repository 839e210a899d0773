"""Messages that no editor sends: the server answers what comes next, or ends where it can't tell what is one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import forks
import pytest

pytestmark = pytest.mark.process

OPEN = '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":'


def framed(message: Any) -> bytes:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def request(number: int, method: str, params: Any) -> bytes:
    return framed({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def hover(uri: str, line: Any = 0, character: Any = 0, number: int = 5) -> bytes:
    position = {"line": line, "character": character}
    return request(number, "textDocument/hover", {"textDocument": {"uri": uri}, "position": position})


def opened(uri: str, text: str = "a: 1\n") -> bytes:
    item = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
    return framed({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})


def served(root: Path, *messages: bytes) -> subprocess.CompletedProcess[bytes]:
    """The server, within a gibibyte and ten seconds of processor, after these messages and before the end."""
    start = request(1, "initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {}})
    start += framed({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    end = hover(f"{root.as_uri()}/a.yaml", 0, 2, 77)
    end += request(99, "shutdown", None) + framed({"jsonrpc": "2.0", "method": "exit"})
    return forks.run(
        ["lsp"], cwd=Path.cwd(), env=os.environ, stdin=start + b"".join(messages) + end, timeout=60,
        limits={"RLIMIT_CPU": 10, "RLIMIT_DATA": 1024**3},
    )  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")
    return tmp_path


@pytest.mark.parametrize(
    "message",
    [b'{"jsonrpc":', b"\xff\xfe{}", b"[]", b"5", b"null", b'"x"', b"[" * 100_000 + b"]" * 100_000,
     OPEN.encode() + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
     b'{"jsonrpc":"2.0","id":{"a":1},"method":"textDocument/hover","params":{}}',
     b'{"jsonrpc":"2.0","id":[],"result":1}',
     b'{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":[]}',
     b'{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":5,"position":"\\u001b[2J\\n::error::x"}}',
     b'{"jsonrpc":"2.0","id":3,"method":"\\u001b]0;x\\u0007\\r::error::x","params":{}}',
     b'{"jsonrpc":"2.0","id":8,"method":"workspace/executeCommand","params":{"command":"x","arguments":["y"]}}',
     OPEN.encode() + b'{"textDocument":{"uri":5,"languageId":[],"version":"x","text":null}}}'],
    ids=lambda message: message[:40].decode("ascii", "replace"),
)  # fmt: skip
def test_what_is_no_message_is_left_alone(message: bytes, root: Path) -> None:
    """With a line in the log at most, which is text."""
    done = served(root, framed(message))
    assert done.returncode == 0, done.stderr[-500:]
    assert re.search(rb'"id": ?77\b', done.stdout)
    assert b"Traceback" not in done.stderr
    assert all(len(line) < 2_000 for line in done.stderr.splitlines())
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|^::", done.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: 1000000000000\r\n\r\n", b"Content-Length: -5\r\n\r\n", b"Content-Length: x\r\n\r\n",
     b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n", b"\r\n\r\n", b"\x00\xff" * 1_000],
    ids=["huge", "negative", "no number", "digits", "none", "bytes"],
)  # fmt: skip
def test_a_header_that_is_none_is_the_end_or_nothing(header: bytes, root: Path) -> None:
    """Where nobody can tell where the next message begins it ends. What is not there is not made space for."""
    done = served(root, header)
    assert done.returncode in (0, 1, 3), done.stderr[-500:]
    assert (done.returncode == 0) == bool(re.search(rb'"id": ?77\b', done.stdout))
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name", ["a%00.yaml", "x" * 5_000 + ".yaml", "x" * 300 + "/a.yaml"], ids=["nul", "path", "part"]
)
def test_a_name_that_no_file_has_keeps_no_other_from_being_compiled(name: str, root: Path) -> None:
    uri = f"{root.as_uri()}/{name}"
    done = served(root, opened(uri), hover(uri))
    assert done.returncode == 0
    assert b"internal error" not in done.stdout
    assert re.search(rb'"id": ?77\b', done.stdout)


def test_what_is_outside_is_neither_read_nor_shown(root: Path) -> None:
    (root.parent / "secret.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: outside-4711}\n")
    there = f"{root.as_uri()}/../secret.yaml"
    uris = (there, there.replace("..", "%2e%2e"), "file:///etc/passwd", "file://example.com/a.yaml",
            "http://127.0.0.1:1/a.yaml", "file:", "file://[", "::::", "")  # fmt: skip
    done = served(root, *(hover(uri, number=number) for number, uri in enumerate(uris, 10)), *map(opened, uris[2:]))
    assert done.returncode == 0, done.stderr[-500:]
    assert b"outside-4711" not in done.stdout
    assert b"root:" not in done.stdout
    assert b"internal error" not in done.stdout
    assert re.search(rb'"id": ?77\b', done.stdout)


@pytest.mark.parametrize(("line", "character"), [(-1, -5), (10**9, 10**9), (2**31 - 1, 0), (2**70, 0), (0.5, "x")])
def test_a_position_that_is_nowhere(line: Any, character: Any, root: Path) -> None:
    done = served(root, opened(f"{root.as_uri()}/a.yaml"), hover(f"{root.as_uri()}/a.yaml", line, character))
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert re.search(rb'"id": ?77\b', done.stdout)
