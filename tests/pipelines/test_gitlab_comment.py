"""The script that makes notes in merge requests of GitLab, run against a server that answers as GitLab does."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pipeline_workshop import run

from olmc.integrations.pipelines.scaffolds import files_of

pytestmark = pytest.mark.process

ME = 99
MARK = f"<!-- olmc plan {hashlib.sha256(b'olmc-plan').hexdigest()[:16]} -->"
JOB = {"id": 70, "name": "olmc-plan", "status": "success", "web_url": "https://git.example.com/j/70",
       "commit": {"id": "c0ffee"}}  # fmt: skip
PIPELINES = [
    {"id": 8, "source": "push", "project_id": 7}, {"id": 7, "source": "merge_request_event", "project_id": 7},
    {"id": 6, "source": "merge_request_event", "project_id": 7},
]  # fmt: skip


class GitLab(NamedTuple):
    """Answers by path, what was written, and which hosts got the token."""

    answers: dict[str, Any]
    written: list[tuple[str, str, str]]
    tokens: list[str]
    address: str


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    answers: dict[str, Any] = {}
    written: list[tuple[str, str, str]] = []
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            tokens.append(self.headers.get("PRIVATE-TOKEN", ""))
            asked = dict(urllib.parse.parse_qsl(query))
            page, size = int(asked.get("page", 0)), int(asked.get("per_page", 20))
            answer = answers.get(path.removeprefix("/api/v4"))
            if isinstance(answer, tuple):
                self.send_response(302)
                self.send_header("Location", answer[0])
                self.end_headers()
                return
            if isinstance(answer, list) and page:
                answer = answer[page * size - size : page * size]
            self.send_response(404 if answer is None else 200)
            self.end_headers()
            self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

        def do_POST(self) -> None:
            fields = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            written.append((self.command, self.path.removeprefix("/api/v4"), fields["body"][0]))
            self.send_response(200)
            self.end_headers()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield GitLab(answers, written, tokens, f"http://127.0.0.1:{server.server_port}/api/v4")
    server.shutdown()
    server.server_close()


def answer(gitlab: GitLab, notes: list[Any], *, text: str = "## What happens\n", status: str = "10\n") -> None:
    """One merge request whose job has left a text."""
    gitlab.answers.update({
        "/user": {"id": ME}, "/projects/7/merge_requests": [{"iid": 3}],
        "/projects/7/merge_requests/3/pipelines": PIPELINES,
        "/projects/7/pipelines/7/jobs": [{**JOB, "name": "build", "id": 1}, JOB],
        "/projects/7/jobs/70/artifacts/olmc-plan/note.md": text,
        "/projects/7/jobs/70/artifacts/olmc-plan/status": status,
        "/projects/7/merge_requests/3/notes": notes,
    })  # fmt: skip


def comment(gitlab: GitLab, tmp_path: Path, token: str = "t") -> tuple[int, str]:
    script = tmp_path / "olmc-comment.py"
    script.write_text(files_of("gitlab", {"path": "."})[".gitlab/olmc-comment.py"], encoding="utf-8")
    variables = {"CI_API_V4_URL": gitlab.address, "CI_PROJECT_ID": "7", "OLMC_TOKEN": token, "no_proxy": "127.0.0.1"}
    done = run(["python", script], tmp_path, extra=variables)
    return done.returncode, done.stdout + done.stderr


def note(number: int, body: str, author: int = ME) -> dict[str, Any]:
    return {"id": number, "body": body, "author": {"id": author}}


STRANGERS = [note(1, "hello", 5), note(2, f"{MARK}\nnothing happens", 5), note(3, "<!-- olmc plan 0 -->\nanother job")]
LINK = "<sub>Of c0ffee. [The artifact](https://git.example.com/j/70/artifacts/browse) has all of it.</sub>"


@pytest.mark.parametrize(
    ("notes", "method", "path"),
    [(STRANGERS, "POST", "notes"), ([*STRANGERS, note(4, f"{MARK}\nold")], "PUT", "notes/4"),
     ([*(note(number, "x", 5) for number in range(150)), note(400, f"{MARK}\nold")], "PUT", "notes/400")],
)  # fmt: skip
def test_it_keeps_one_note(notes: list[Any], method: str, path: str, gitlab: GitLab, tmp_path: Path) -> None:
    """Its own, on whatever page: a stranger's that begins with the mark is left alone."""
    answer(gitlab, notes)
    code, out = comment(gitlab, tmp_path)
    assert code == 0, out
    text = f"{MARK}\n## What happens\n\n{LINK}"
    assert gitlab.written == [(method, f"/projects/7/merge_requests/3/{path}", text)]


def test_what_is_there_already_is_not_written_again(gitlab: GitLab, tmp_path: Path) -> None:
    answer(gitlab, [note(4, f"{MARK}\n## What happens\n\n{LINK}")])
    assert comment(gitlab, tmp_path)[0] == 0
    assert gitlab.written == []


def test_nothing_is_said_where_nothing_happens(gitlab: GitLab, tmp_path: Path) -> None:
    """Unless a note says something else by now."""
    answer(gitlab, [], status="00\n")
    assert comment(gitlab, tmp_path)[0] == 0
    assert gitlab.written == []
    answer(gitlab, [note(4, f"{MARK}\nold")], status="00\n")
    assert comment(gitlab, tmp_path)[0] == 0
    assert [method for method, *_ in gitlab.written] == ["PUT"]


def test_a_line_of_a_stranger_is_no_command(gitlab: GitLab, tmp_path: Path) -> None:
    """GitLab carries out `/merge` at the start of a line, with the rights of who posts it."""
    answer(gitlab, [], text="/merge\nfine\n  /approve\r\n/close\n")
    assert comment(gitlab, tmp_path)[0] == 0
    ((_, _, body),) = gitlab.written
    assert not re.search(r"^\s*/", body, re.MULTILINE)
    assert "\\/merge" in body


@pytest.mark.parametrize("letter", ["x", "\x01"])
def test_long_texts_of_others_stop_no_note(letter: str, gitlab: GitLab, tmp_path: Path) -> None:
    """The attack: notes and descriptions as long as GitLab takes them, of which a page is more than can be read."""
    long = letter * 1_000_000
    answer(gitlab, [note(number, long, 5) for number in range(25)])
    others = [{"iid": 10 + number, "description": long} for number in range(4)]
    gitlab.answers["/projects/7/merge_requests"] = [*others, {"iid": 3}]
    gitlab.answers.update({f"/projects/7/merge_requests/{other['iid']}/pipelines": [] for other in others})
    code, out = comment(gitlab, tmp_path)
    assert (code, [method for method, *_ in gitlab.written]) == (0, ["POST"]), out


def test_what_is_wrong_with_one_merge_request_stops_no_other(gitlab: GitLab, tmp_path: Path) -> None:
    answer(gitlab, [])
    gitlab.answers["/projects/7/merge_requests"] = [{"iid": 10}, {"iid": 11}, {"iid": 3}]
    gitlab.answers["/projects/7/merge_requests/10/pipelines"] = "no JSON"
    code, out = comment(gitlab, tmp_path)
    assert (code, [method for method, *_ in gitlab.written]) == (1, ["POST"])
    assert "!10: Expecting value" in out
    assert "!11: HTTP Error 404" in out


def test_the_token_stays_with_its_server(gitlab: GitLab, tmp_path: Path) -> None:
    """A redirection is followed nowhere, and fails the job."""
    answer(gitlab, [])
    gitlab.answers["/projects/7/jobs/70/artifacts/olmc-plan/note.md"] = (f"{gitlab.address}/elsewhere",)
    gitlab.answers["/elsewhere"] = "stolen"
    code, out = comment(gitlab, tmp_path)
    assert (code, "302" in out) == (1, True)
    assert gitlab.written == []


@pytest.mark.parametrize("gone", ["/projects/7/jobs/70/artifacts/olmc-plan/note.md", "fork"])
def test_what_is_not_there_is_left_out(gone: str, gitlab: GitLab, tmp_path: Path) -> None:
    """An artifact that has expired; a pipeline that ran in a fork."""
    answer(gitlab, [])
    if gone == "fork":
        gitlab.answers["/projects/7/merge_requests/3/pipelines"] = [{**PIPELINES[1], "project_id": 8}]
    else:
        del gitlab.answers[gone]
    assert comment(gitlab, tmp_path)[0] == 0
    assert gitlab.written == []


def test_without_a_token_it_says_why(gitlab: GitLab, tmp_path: Path) -> None:
    code, out = comment(gitlab, tmp_path, token="")
    assert (code, "OLMC_TOKEN is not set" in out) == (1, True)
    assert gitlab.tokens == []
