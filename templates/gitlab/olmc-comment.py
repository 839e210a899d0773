"""Keeps a note in each open merge request with what its newest job olmc-plan has found; one for each such job.

Runs in a scheduled pipeline of the default branch, which alone gets OLMC_TOKEN. What the jobs left is text of whoever
wrote the merge request: it is posted, and never executed.
"""

import hashlib
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

SERVER = os.environ["CI_API_V4_URL"]
PROJECT = f"{SERVER}/projects/{os.environ['CI_PROJECT_ID']}"
LONGEST = 900_000  # a note holds 1,000,000 characters
PAGE = 20  # of texts that anybody may have made that long, with six bytes for a character
LARGEST = PAGE * 6_500_000


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the token is for this server alone."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(Stay)


def ask(url, method="GET", most=LARGEST, **fields):
    data = urllib.parse.urlencode(fields).encode() if fields else None
    headers = {"PRIVATE-TOKEN": os.environ["OLMC_TOKEN"]}
    with OPENER.open(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
        return answer.read(most).decode("utf-8", errors="replace")


def ask_all(url):
    page = 0
    while True:
        page += 1
        items = json.loads(ask(f"{url}{'&' if '?' in url else '?'}per_page={PAGE}&page={page}"))
        if not items:
            return
        yield from items


def plans(number):
    """The jobs olmc-plan of the newest pipeline of a merge request; of forks they are elsewhere."""
    newest = next(
        (
            run
            for run in ask_all(f"{PROJECT}/merge_requests/{number}/pipelines")
            if run.get("source") == "merge_request_event"
        ),
        None,
    )
    if newest is None or str(newest.get("project_id")) != os.environ["CI_PROJECT_ID"]:
        return
    for job in ask_all(f"{PROJECT}/pipelines/{newest['id']}/jobs"):
        if job["name"].startswith("olmc-plan") and job["status"] == "success":
            yield job


def note(job):
    """The note for a job, and whether anything happens at all."""
    files = f"{PROJECT}/jobs/{job['id']}/artifacts/olmc-plan"
    # A line that begins with a slash is a command to GitLab, which would carry it out for the token.
    text = re.sub(r"^(\s*)/", r"\1\\/", ask(f"{files}/note.md", most=4 * LONGEST)[:LONGEST], flags=re.MULTILINE)
    where = f"<sub>Of {job['commit']['id']}. [The artifact]({job['web_url']}/artifacts/browse) has all of it.</sub>"
    return f"{mark(job)}\n{text}\n{where}", ask(f"{files}/status", most=10).strip() != "00"


def mark(job):
    return f"<!-- olmc plan {hashlib.sha256(job['name'].encode()).hexdigest()[:16]} -->"


def update(number, job, me):
    notes = f"{PROJECT}/merge_requests/{number}/notes"
    text, happens = note(job)
    # Anybody can write a note that begins with the mark: only one of the token's own is updated.
    known = next(
        (
            old
            for old in ask_all(f"{notes}?sort=asc&order_by=created_at")
            if old["author"]["id"] == me and old["body"].startswith(mark(job))
        ),
        None,
    )
    if known is not None and known["body"].strip() != text.strip():
        ask(f"{notes}/{known['id']}", "PUT", body=text)
    elif known is None and happens:
        ask(notes, "POST", body=text)


def updated(number, job, me):
    """Whether the note for a job is up to date, or can't be for a good reason."""
    try:
        update(number, job, me)
    except (OSError, ValueError) as error:
        print(f"!{number}, job {job['id']}: {error}", file=sys.stderr)
        return getattr(error, "code", 0) == 404  # what a job left may have expired
    return True


def main():
    if not os.environ.get("OLMC_TOKEN"):
        sys.exit("OLMC_TOKEN is not set: is there such a CI/CD variable, and is the default branch protected?")
    me = json.loads(ask(f"{SERVER}/user"))["id"]
    failed = False
    for request in ask_all(f"{PROJECT}/merge_requests?state=opened&order_by=updated_at"):
        # What is wrong with one merge request keeps no other from having its notes.
        try:
            for job in plans(request["iid"]):
                failed = not updated(request["iid"], job, me) or failed
        except (OSError, ValueError) as error:
            print(f"!{request['iid']}: {error}", file=sys.stderr)
            failed = True
    sys.exit(failed)


main()
