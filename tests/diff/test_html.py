"""Differences as a page: safe with strangers' names, whole by itself, and alive in a real browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST, FIRST_PAINT, USED, Page, in_chromium, opened, shown
from hypothesis import given
from hypothesis import strategies as st
from kit import PROJECT, compared
from test_algebra import values
from test_markdown import HOSTILE, config_map

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read
from olmc.review.diff.compare import compare
from olmc.review.diff.html import as_html, beside
from olmc.review.diff.settings import Side
from olmc.targets.pipeline import compile


class Tags(HTMLParser):
    """The elements and the attributes of a page, and the texts of its data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._inside: tuple[str, dict[str, str | None]] = ("", {})
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = (tag, dict(attrs))
        self.elements.append(self._inside)

    def handle_data(self, data: str) -> None:
        if self._inside == ("script", {"type": "application/json"}):
            self.data.append(data)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ("", {})


def side(name: str) -> Side:
    done = compile(PROJECT / "fixtures" / "review-upgrade" / name)
    return Side(name, tuple(each.object for each in done.objects), done.settled)


@pytest.fixture(scope="module")
def page() -> str:
    """The page of the fixture that is there to be reviewed."""
    return as_html(compare(side("before"), side("after")))


def hostile() -> str:
    old = [config_map("a", **{HOSTILE: "x"}), config_map(HOSTILE)]
    new = [config_map("a", **{HOSTILE: HOSTILE, "</script><script>": "<!-- <script>"})]
    return as_html(compare(Side(HOSTILE, tuple(old)), Side("new", tuple(new))))


def test_the_page_asks_nobody(page: str) -> None:
    """No address of anywhere, no style or script but its own, and a policy that would not let it."""
    tags = Tags(page)
    addresses = [value for _, attrs in tags.elements for key, value in attrs.items() if key in ("src", "href")]
    assert all(address is not None and address.startswith(("#", "data:")) for address in addresses)
    assert not any(key.startswith("on") or key == "style" for _, attrs in tags.elements for key in attrs)
    policy = next(attrs["content"] for tag, attrs in tags.elements if tag == "meta" and "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy


def test_the_page_draws_the_upgrade(page: str) -> None:
    """The graph of the catalog, and the hops that OLM takes."""
    assert re.search(r'<img alt="The upgrade graph of lantern in tower" src="data:image/svg\+xml;base64,\w+', page)
    assert re.findall(r'<span class="hop">(.*?) →</span> <code>(.*?)</code>', page) == [
        ("replaces", "lantern.v1.1.0"),
        ("replaces", "lantern.v1.2.0"),
    ]


def test_the_page_has_a_permission_matrix(page: str) -> None:
    """What was gained, what was lost, and what is as it was."""
    row = re.search(r'<th scope="row"><code>lanterns.light.example.com</code>.*', page.replace("<wbr>", ""))
    assert row is not None
    assert re.findall(r'class="cell (\w+)"', row[0]) == ["kept", "kept", "kept", "kept", "lost"]
    row = re.search(r'<th scope="row"><code>secrets</code>.*', page)
    assert row is not None
    assert re.findall(r'class="cell ([\w ]+)"', row[0]) == ["gained danger high"] * 3
    assert row[0].count("gained, high risk") == 3


def test_the_page_is_the_same_each_time(page: str) -> None:
    assert as_html(compare(side("before"), side("after"))) == page


def test_hostile_names_are_texts(page: str) -> None:
    """A page with names that are markup has no other elements than one without, and its data can be read."""
    text = hostile()
    known = {tag for tag, _ in Tags(page).elements} | {"p"}
    tags = Tags(text)
    assert {tag for tag, _ in tags.elements} <= known
    assert len([tag for tag, _ in tags.elements if tag == "script"]) == 1 + len(tags.data)
    assert all(json.loads(data) for data in tags.data)
    assert "\x1b" not in text
    assert "\u202e" not in text


objects = st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(objects, objects)
def test_side_by_side_are_the_objects_themselves(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The lines of each side, one after the other, are that object, up to the order of lists that have keys."""
    blocks = beside({"apiVersion": "v1", "kind": "A", **old}, {"apiVersion": "v1", "kind": "A", **new})
    for number, obj in enumerate((old, new)):
        text = "".join(block[number] for block in blocks)
        found = read("a.yaml", text, Report())[0].value
        assert sorted_lists(found) == sorted_lists({"apiVersion": "v1", "kind": "A", **obj})


def sorted_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_lists(each) for key, each in value.items()}
    return sorted(map(sorted_lists, value), key=repr) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def started(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all tests of the page."""
    with opened(page, tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(started: Page) -> Page:
    """The page as it is when it is opened."""
    started.reset()
    return started


def open_first(browser: Page, count: int) -> None:
    first = f"[...document.querySelectorAll('details.object')].slice(0, {count})"
    browser.ask(f"{first}.forEach((each) => each.open = true)")
    browser.wait(f"document.querySelectorAll('table.beside').length === {count}")


@in_chromium
def test_the_page_in_a_browser(browser: Page) -> None:
    """Objects open, folds unfold, and `/` leads to the filter, which filters changes and objects."""
    assert shown(browser, "article li") == 16
    open_first(browser, 5)
    lines = browser.ask("document.querySelectorAll('table.beside tr.same').length")
    folded = browser.ask("Number(document.querySelector('.fold button').textContent.match(/\\d+/)[0])")
    browser.ask("document.querySelector('.fold button').click()")
    assert browser.ask("document.querySelectorAll('table.beside tr.same').length") == lines + folded
    browser.press("/", "/")
    assert browser.ask("document.activeElement.id") == "text"
    browser.type("lantern secrets")
    browser.wait("document.getElementById('shown').textContent === '1 change shown'")
    assert shown(browser, "article li") == 1
    assert 0 < shown(browser, "details.object") < 5
    assert browser.ask("[...document.querySelectorAll('section:not([hidden])')].map((each) => each.id).join()") == (
        "risk,matrix,objects"
    )
    browser.press("Escape")
    assert shown(browser, "article li") == 16
    browser.ask("document.querySelector('input[value=breaking]').click()")
    assert shown(browser, "article li") == 12
    assert browser.console == []


@in_chromium
def test_objects_open_by_keyboard(browser: Page) -> None:
    browser.ask("document.querySelector('details.object summary').focus()")
    browser.press("Enter", "\r")
    browser.wait("document.querySelectorAll('table.beside').length === 1")
    browser.press("Tab")
    assert browser.ask("document.activeElement.matches('.fold button, summary')")


@in_chromium
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_light_and_dark(scheme: str, dark: bool, browser: Page) -> None:
    """Texts stand out from what is behind them: 4.5 to 1 at least (WCAG 2, level AA), in both schemes."""
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    open_first(browser, 5)
    assert (browser.ask("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)") is dark
    assert browser.ask(f"({CONTRAST})()") == []


@in_chromium
def test_a_narrow_page_does_not_scroll_sideways(browser: Page) -> None:
    size = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.send("Emulation.setDeviceMetricsOverride", **size)
    open_first(browser, 5)
    assert browser.ask("document.documentElement.scrollWidth") <= 360


@in_chromium
def test_everything_has_a_name_to_be_read_out(browser: Page) -> None:
    """What can be used has a name in the accessibility tree, and headings are in order."""
    browser.send("Accessibility.enable")
    nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
    used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in USED]
    assert len(used) > 10
    assert [node for node in used if not node.get("name", {}).get("value")] == []
    levels = browser.ask("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


@in_chromium
def test_hostile_names_in_a_browser(tmp_path: Path) -> None:
    with opened(hostile(), tmp_path) as browser:
        open_first(browser, 2)
        assert browser.console == []
        assert browser.ask("document.querySelectorAll('main script:not([type])').length") == 0


@in_chromium
def test_thousands_of_objects_stay_usable(tmp_path: Path) -> None:
    """5,000 objects that all differ are seen in no time, and can still be opened and filtered."""
    new = [config_map(f"settings-{number:05}", key="new", same="v" * 200) for number in range(5000)]
    old = [config_map(f"settings-{number:05}", key="old", same="v" * 200) for number in range(5000)]
    with opened(as_html(compared(old, new)), tmp_path) as browser:
        paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
        browser.wait(f"{paint} > 0")
        assert browser.ask(paint) < FIRST_PAINT
        open_first(browser, 3)
        browser.press("/", "/")
        browser.type("settings-01234")
        browser.wait("document.getElementById('shown').textContent === '1 change shown'")
        assert shown(browser, "article li") == 1
        assert browser.console == []


def test_what_is_gained_and_dangerous_is_not_green(page: str) -> None:
    """Green says that all is well; rights to secrets are red, other gains have the color of links."""
    rules = dict(re.findall(r"\n\.(cell\.[\w.]+) \{ (.*?) \}", page))
    assert "--breaking" in rules["cell.danger"]
    assert not any("--added" in rule for rule in rules.values())
    assert "gained, and dangerous" in page


def test_the_legend_of_the_graph_fits_into_500_pixels(page: str) -> None:
    """No line of it is wider than what such a window shows beside margins and frames."""
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert data is not None
    svg = base64.b64decode(data[1]).decode()
    width = re.search(r'<svg[^>]* width="(\d+)"', svg)
    assert width is not None
    assert int(width[1]) <= 430


def test_paper_shows_the_objects_that_the_reader_has_opened(page: str) -> None:
    """Side by side, all objects would take more pages than the review; a heading stays with its content."""
    assert "beforeprint" not in page
    assert re.search(r"@media print \{[^@]*\.object:not\(\[open\]\)[^@]*\{ display: none \}", page)
    assert re.search(r"@media print \{[^@]*h2[^@]*\{ break-after: avoid \}", page)
    assert re.search(r"@media print \{[^@]*\.picture, \.table \{ overflow: visible \}", page)


@in_chromium
def test_on_a_phone_a_line_ends_between_the_parts_of_a_name(browser: Page) -> None:
    """At 420 pixels the tables are whole, and no name is cut within a word."""
    browser.send("Emulation.setDeviceMetricsOverride", width=420, height=900, deviceScaleFactor=1, mobile=True)
    tables = "[...document.querySelectorAll('.entry.table')]"
    assert browser.ask(f"{tables}.map((each) => each.scrollWidth > each.clientWidth)") == [False]
    assert browser.ask("document.documentElement.scrollWidth") <= 420
    assert browser.ask("document.querySelector('h3').innerHTML").startswith(
        "CustomResourceDefinition/<wbr>lanterns.<wbr>"
    )


@in_chromium
def test_on_paper_a_picture_stays_with_its_heading(browser: Page) -> None:
    """A figure is on one page, and the closed objects are on none."""
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert browser.ask("getComputedStyle(document.querySelector('h2')).breakAfter") == "avoid"
    assert browser.ask("getComputedStyle(document.getElementById('objects')).display") == "none"
    browser.send("Emulation.setEmulatedMedia", media="")
