"""What `olmc fleet` prints: comments within the limit of GitHub, and pages in a real browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST, USED, Page, in_chromium, opened, shown
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from olmc.cli.main import main
from olmc.integrations.fleet.outputs import (
    FleetReport,
    OutcomeGroup,
    as_html,
    as_json,
    as_markdown,
    as_text,
    from_json,
    merged,
    ordered,
    outcome_key,
    packed,
    report_of,
    unpacked,
)

GITHUB = 65_536
IN_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""What stands in code in a line of Markdown."""
HOSTILE = "</pre><script>alert(1)</script> | `a` <!-- "


def outcome(number: int, gravity: str, lines: int) -> OutcomeGroup:
    text = "".join(f"what happens in step {step} of {number}\n" for step in range(lines))
    return OutcomeGroup(f"outcome {number}", gravity, (f"clusters/c-{number:04}",), text, None, str(number))


def report(*counts: tuple[str, int, int]) -> FleetReport:
    """So many outcomes of a gravity, with so many lines each."""
    groups = [(gravity, lines) for gravity, count, lines in counts for _ in range(count)]
    return ordered("plan", len(groups), [outcome(at, *group) for at, group in enumerate(groups)])


def test_a_comment_that_is_short_has_everything() -> None:
    text = as_markdown(report(("breaking", 3, 5), ("change", 40, 5), ("none", 1, 0)))
    assert text.count("<details>") == 43
    assert text.count("of severity") == text.count("more lines") == 0


def test_each_gravity_has_its_share_of_a_comment() -> None:
    """A thousand outcomes that matter little leave room for the rows and details of those that do."""
    text = as_markdown(report(("breaking", 20, 40), ("risk", 1, 9000), ("change", 2000, 20)))
    assert len(text) <= GITHUB
    folded = re.findall(r"<summary>.*?outcome (\d+)</summary>", text)
    rows = re.findall(r"^\| 1 \| outcome (\d+) \| (\w+) ", text, re.MULTILINE)
    assert [int(number) for number in folded[:21]] == list(range(21))
    assert [gravity for _, gravity in rows[:21]] == ["breaking"] * 20 + ["risk"]
    assert re.search(r"what happens in step 39 of 19\n```", text), "all lines of the gravest are there"
    kept = len(re.findall("of 20$", text, re.MULTILINE))
    assert kept > 200
    assert f"… and {9000 - kept:,} more lines" in text
    changes = [number for number, gravity in rows if gravity == "change"]
    assert len(changes) > 100
    assert f"| | … {2000 - len(changes):,} more of severity change | change | |" in text
    assert f"… {2000 - len(folded) + 21:,} more of severity change without space for details" in text


@given(
    st.lists(st.tuples(st.sampled_from(["error", "risk", "none"]), st.integers(0, 60), st.integers(0, 90)), max_size=5),
    st.integers(2000, 20000),
)
def test_a_comment_keeps_its_limit(counts: list[tuple[str, int, int]], limit: int) -> None:
    """Whatever there is: within the limit, all that is opened is closed, and nothing is left out where all fits."""
    whole = as_markdown(report(*counts), 10**9)
    text = as_markdown(report(*counts), limit)
    assert len(text) <= limit
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") == 2 * text.count("<details>")
    assert (text == whole) == (len(whole) <= limit)


@pytest.fixture(scope="module")
def page(project: Path) -> str:
    """The plan of the fixture as a page."""
    fleet = project / "fixtures" / "fleet"
    done = CliRunner().invoke(
        main, ["fleet", "plan", "clusters/*", "--repository", str(fleet / "after"), "--from", str(fleet / "before"),
               "--beside", "operators", "-o", "html"],
    )  # fmt: skip
    assert done.exit_code == 1, done.output
    return done.stdout


@pytest.fixture(scope="module")
def browser(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(page, tmp_path_factory.mktemp("browser")) as started:
        yield started


def test_the_page_asks_nobody(page: str) -> None:
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in page


def test_a_heading_is_on_the_sheet_of_its_content() -> None:
    """Printed, a heading and the head of a table are kept with the next line."""
    text = "3. Result\n  NAMESPACE  OPERATOR\n  harbour    beacon\n\n  Breaking\n    a change\n  another\n"
    page = as_html(FleetReport("plan", 1, (OutcomeGroup("breaks", "breaking", ("a",), text, {}, "0"),)))
    kept = re.findall(r'<span class="line d[0-9]+ leads">([^<\n]*)', page)
    assert kept == ["3. Result", "  NAMESPACE  OPERATOR", "  Breaking"]
    assert "pre .leads { break-after: avoid }" in page


def test_hostile_names_are_texts() -> None:
    group = OutcomeGroup(HOSTILE, "change", (HOSTILE,), f"{HOSTILE}\n```\n", None, "key")
    text = as_html(FleetReport("plan", 1, (group,)))
    assert text.count("<script") == 1  # its own
    assert "alert(1)</script>" not in text
    comment = as_markdown(FleetReport("plan", 1, (group,)))
    table, _, folded = comment.partition("<details>")
    assert "<script" not in IN_CODE.sub("CODE", table)
    assert "<script" not in folded.partition("````text")[0]
    assert "\n````\n" in folded


@pytest.mark.parametrize("name", ["@octocat", "#123", "www.example.com", "a|b", "a`b", "<b>x", "[x](y)", "!7", "~x"])
def test_a_name_is_code_in_a_comment(name: str) -> None:
    """GitHub and GitLab look for mentions in the text after Markdown, where a backslash protects nothing."""
    group = OutcomeGroup(f"failed: {name}", "change", (f"clusters/{name}",), "a\nb\n", None, "key")
    head, _, folded = as_markdown(FleetReport("plan", 1, (group,))).partition("<details>")
    row = IN_CODE.sub("CODE", head.splitlines()[-2])
    assert row == "| 1 | CODE | change | CODE |"
    assert f"<summary>1. 1 cluster: <code>failed: {html.escape(name)}</code></summary>" in folded


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(scheme: str, browser: Page) -> None:
    """4.5 to 1 at least (WCAG 2, level AA), with all outcomes open, and nothing on the console."""
    browser.reset()
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.ask("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert browser.ask(f"({CONTRAST})()") == []
    assert browser.console == []


@in_chromium
@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_is_cut_off(width: int, browser: Page) -> None:
    """On narrow and on wide screens no line of an outcome and no cell ends beyond the page, and none scrolls."""
    browser.reset()
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    browser.ask("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('td, pre, .line, summary')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
    assert shown(browser, ".line") > 20
    assert browser.ask(f"{wide}.filter((e) => e.clientWidth).map((e) => e.textContent.slice(0, 40))") == []


@in_chromium
def test_on_paper_the_table_is_as_on_a_phone(browser: Page) -> None:
    """A sheet is as narrow: the head of the table, which would not be above its columns, is hidden."""
    browser.reset()
    browser.send("Emulation.setDeviceMetricsOverride", width=700, height=900, deviceScaleFactor=1, mobile=False)
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('thead')).display") == "none"
    assert browser.ask("getComputedStyle(document.querySelector('.d0')).breakAfter") == "avoid"
    browser.send("Emulation.setEmulatedMedia", media="")


@in_chromium
def test_from_the_table_to_an_outcome_by_keyboard(browser: Page) -> None:
    """The first Tab skips to the outcomes; Enter on the third outcome opens it, and only it besides the first."""
    browser.reset()
    browser.press("Tab")
    assert browser.ask("document.activeElement.textContent") == "Skip to the outcomes"
    assert shown(browser, "pre") == 1
    filters = browser.ask("document.querySelectorAll('.filter input').length")
    for _ in range(filters + 3):
        browser.press("Tab")
    assert browser.ask("document.activeElement.getAttribute('href')") == "#outcome-3"
    browser.press("Enter", "\r")
    browser.wait("document.querySelectorAll('details')[2].open")
    assert shown(browser, "pre") == 2
    assert browser.ask("document.getElementById('outcome-3').getBoundingClientRect().top < innerHeight")
    assert browser.console == []


@in_chromium
def test_the_filter_leaves_what_fits(browser: Page) -> None:
    """By words in an outcome, and by severity; rows and outcomes alike."""
    browser.reset()
    whole = shown(browser, "tbody tr")
    typed = "const box = document.querySelector('input[type=search]'); box.value = 'izmir'; "
    browser.ask(f"(() => {{ {typed} box.dispatchEvent(new Event('input')); return 1 }})()")
    assert (shown(browser, "tbody tr"), shown(browser, "details")) == (1, 1)
    assert browser.ask("document.querySelector('output').textContent") == "1 cluster"
    browser.reset()
    browser.ask("(document.querySelector('input[value=risk]').click(), 1)")
    assert shown(browser, "tbody tr") == whole - 1


@in_chromium
def test_everything_has_a_name_to_be_read_out(browser: Page) -> None:
    browser.reset()
    browser.send("Accessibility.enable")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in USED]
    assert len(used) > 5
    assert [node for node in used if not node.get("name", {}).get("value")] == []


def test_a_text_is_not_taken_for_the_name_of_a_cluster() -> None:
    """Outcomes that differ in the names of their clusters alone are one; what stands for a name can't be written."""
    result: dict[str, Any] = {"headline": "1 change", "gravity": "change", "text": "", "data": {"value": "of hull"}}
    marked = [{**result, "data": {"value": f"of {mark}"}} for mark in ("{0}", "\0" + "0", "\\u00000")]
    assert outcome_key(result, "hull") == outcome_key({**result, "data": {"value": "of kiel"}}, "kiel")
    assert outcome_key(result, "hull") not in [outcome_key(other, "kiel") for other in marked]


def part(command: str = "plan", **changed: Any) -> str:
    """The report of a part, with something else in its first outcome."""
    result: dict[str, Any] = {"headline": "1 breaking", "gravity": "breaking", "text": "it breaks", "data": {"a": 1}}
    group = OutcomeGroup(**result, clusters=("clusters/hull",), key=outcome_key(result, "clusters/hull"))
    data = json.loads(as_json(FleetReport(command, 1, (group,))))
    data["outcomes"][0] |= changed
    return json.dumps(data)


def test_a_part_as_it_was_written_is_read() -> None:
    assert from_json(part()) is not None
    assert from_json(part("render")) is not None


@pytest.mark.parametrize(
    "text",
    [
        part(clusters=[]), part(clusters="hull"), part(clusters=[1]), part(clusters=["clusters/hull", "clusters/kiel"]),
        part(severity="none"), part(severity=[]), part(headline="nothing happens"), part(plan={"a": 2}),
        part(key="0" * 64), part("render", key="0" * 64), part("render", rendered={"objects": 1, "content": "0" * 64}),
        part("status", leftOut=[{"path": "a", "what": "b", "reason": "c"}]), part("status", leftOut="x"),
        part(text=1), part().replace('"total": 1', '"total": -1'), part().replace('{"a": 1}', '{"a": NaN}'),
        part().replace('{"a": 1}', "[" * 50_000 + "]" * 50_000), "[" * 100_000, "[]", "{}", "", "\ufeff{}",
    ],
    ids=str,
)  # fmt: skip
def test_what_another_job_made_up_is_refused(text: str) -> None:
    """An outcome is what its key says: so nobody makes one of theirs stand for those of other jobs."""
    assert from_json(text) is None


def rendered(name: str, text: str) -> dict[str, Any]:
    files = {"configmap-a.yaml": f"cluster: {name}\n{text}"}
    return {"headline": "1 objects", "gravity": "none", "text": "", "data": {"objects": 1}, "files": files,
            "private": []}  # fmt: skip


def test_what_was_rendered_is_told_apart_by_its_digest() -> None:
    """As the files themselves would be, which no report has; names of clusters in them put aside."""
    made = report_of("render", [(f"clusters/{name}", rendered(name, text)) for name, text in
                                (("hull", "a"), ("kiel", "a"), ("lagos", "b"))])  # fmt: skip
    assert [group.clusters for group in made.outcomes] == [("clusters/hull", "clusters/kiel"), ("clusters/lagos",)]
    again = from_json(as_json(made))
    assert again == made
    swapped = json.loads(as_json(made))
    first, second = swapped["outcomes"]
    first["key"], second["key"] = second["key"], first["key"]
    assert from_json(json.dumps(swapped)) is None


@pytest.mark.parametrize(
    "changed",
    [{"gravity": []}, {"headline": 1}, {"text": None}, {"files": {"../x": ""}}, {"files": {"/etc/x": ""}},
     {"files": {"a": 1}}, {"files": []}, {"private": ["b"]}, {"private": [[]]}, {"leftOut": [1]}],
    ids=str,
)  # fmt: skip
def test_a_result_that_no_worker_gives_is_none(changed: dict[str, Any]) -> None:
    """Of a cache or of another machine: it is computed again, or counted as failed."""
    result = rendered("hull", "a")
    assert unpacked(packed(result)) == result
    assert unpacked(packed(result | changed)) is None


def test_texts_of_results_are_texts_in_colors() -> None:
    """Whoever made them: a cache and other machines give them as well."""
    result = rendered("hull", "a") | {"text": "\x1b[1mbold\x1b[0m\n\x00\x1b]0;x\x07\x1b[2J\u202e"}
    known = unpacked(packed(result))
    assert known is not None
    assert known["text"].startswith("\x1b[1mbold\x1b[0m\n")
    assert not re.search("[\x00-\x09\x0b-\x1a\x1c-\x1f\u202e]|\x1b(?!\\[[01]m)", known["text"])


def test_texts_of_other_jobs_are_texts() -> None:
    """What a terminal, a reader or a CI system would take for something else."""
    made = from_json(part(text="one\n::error::two\x1b]0;x\x07\n\u202ethree\r::warning::x\n  ::add-mask::x\n\ud800"))
    assert made is not None
    (group,) = made.outcomes
    made = made._replace(outcomes=(group._replace(headline="x\x1b[2J\n::error::\u202e"),))
    for text in (as_text(made), as_markdown(made), as_html(made), as_json(made)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]|^ *::", text, re.MULTILINE)


def test_clusters_that_are_called_like_a_gravity_are_told_apart() -> None:
    breaking, none = (
        {"headline": "x", "gravity": gravity, "text": "", "data": None} for gravity in ("breaking", "none")
    )
    made = report_of("plan", [("clusters/breaking", breaking), ("clusters/none", none)])
    assert [group.gravity for group in made.outcomes] == ["breaking", "none"]


def test_a_cluster_in_two_parts_is_one() -> None:
    one = from_json(part())
    assert one is not None
    assert merged([one, one]) == one
