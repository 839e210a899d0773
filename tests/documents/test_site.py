"""The docs as a site: built without a warning, and used in a real browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from browser import Page, in_chromium, opened_at

from olmc.compiler.rules.rulebook import rule_url, spec_rules
from olmc.resources import REPOSITORY, SITE, docs_url
from olmc.review.rules.catalogue import all_rules

pytestmark = pytest.mark.process

PAGES = ("index.html", "plan.html", "rules.html", "rules/OLMC301.html", "commands.html", "spec/resolver.html")


@pytest.fixture(scope="module")
def site(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it: strictly, so a link that leads nowhere is an error."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(project)}
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_front_page_is_the_readme(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="start.html"' in page
    assert "docs/start" not in page


def test_every_command_is_on_its_page(site: Path) -> None:
    from olmc.cli.running import REGISTRY

    headings = re.findall(r'<h2 id="olmc-([\w-]+)"', (site / "commands.html").read_text(encoding="utf-8"))
    assert headings == sorted(REGISTRY)


def test_the_rule_book_is_whole(site: Path, project: Path) -> None:
    built = {path.stem for path in (site / "spec").glob("*.html")} - {"index"}
    assert built == {path.stem for path in (project / "docs" / "spec").glob("*.md")} - {"README"}


def test_every_schema_is_there(site: Path, project: Path) -> None:
    for path in (project / "schemas").glob("*.schema.json"):
        assert (site / "schemas" / path.name).read_bytes() == path.read_bytes()


ADDRESS = re.compile(rf"{re.escape(SITE)}[^\s\"'`)>\]|,]*")
PRINTED = ("README.md", "CHANGELOG.md", "pyproject.toml", "mkdocs.yml", "docs", "templates", "olmc", ".github")


def test_every_address_that_readers_see_is_on_the_site(site: Path, project: Path) -> None:
    """The docs, templates and metadata, the pages of codes and of OLM's rules, and what a provenance names."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *PRINTED], cwd=project, capture_output=True, text=True, check=True
    )
    texts = [(project / name).read_bytes().decode("utf-8", "replace") for name in listed.stdout.splitlines()]
    found = {address.rstrip(".:") for text in texts for address in ADDRESS.findall(text)}
    found |= {docs_url(f"rules/{rule.code}.md") for rule in all_rules()} | set(map(rule_url, spec_rules()))
    found = {re.sub(r"\.git@.*", ".git", address) for address in found} - {SITE, REPOSITORY}
    anchors: dict[Path, set[str]] = {}
    lost = []
    for address in sorted(found):
        path, _, anchor = address.removeprefix(f"{SITE}/docs").removeprefix("/").partition("#")
        page = site / (path or "index.html")
        if page not in anchors and page.is_file():
            is_text = page.suffix == ".html"
            anchors[page] = set(re.findall(r' id="([^"]+)"', page.read_text(encoding="utf-8"))) if is_text else set()
        if not address.startswith(f"{SITE}/docs/") or not page.is_file() or (anchor and anchor not in anchors[page]):
            lost.append(address)
    assert lost == []


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """The address of the site on a server, as it is published."""
    handler = partial(_Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module", params=PAGES)
def browser(request: pytest.FixtureRequest, served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_at(f"{served}/{request.param}", tmp_path_factory.mktemp("browser")) as page:
        yield page


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(scheme: str, browser: Page) -> None:
    browser.reset()
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    color = {"light": "default", "dark": "slate"}[scheme]
    browser.wait(f"document.body.getAttribute('data-md-color-scheme') === '{color}'")
    assert browser.console == []


@in_chromium
def test_a_narrow_page_does_not_scroll_sideways(browser: Page) -> None:
    browser.reset()
    browser.send("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
    assert browser.ask("document.documentElement.scrollWidth") <= 360


@in_chromium
def test_a_page_opens_from_a_disk(site: Path, tmp_path: Path) -> None:
    with opened_at((site / "index.html").as_uri(), tmp_path) as page:
        assert page.console == []


@in_chromium
def test_a_search_finds_a_page(served: str, tmp_path: Path) -> None:
    with opened_at(f"{served}/index.html", tmp_path) as page:
        page.send("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        page.wait("document.querySelector('.md-search__input') !== null")
        page.ask("document.querySelector('.md-search__input').focus()")
        page.type("drift")
        page.wait("document.querySelectorAll('.md-search-result__link').length > 0")
        links = "[...document.querySelectorAll('.md-search-result__link')].map((each) => each.href).join()"
        assert "cluster-state.html" in page.ask(links)
        assert page.console == []


@pytest.fixture(scope="module")
def plan_page(served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_at(f"{served}/plan.html", tmp_path_factory.mktemp("browser")) as page:
        yield page


PICTURES = "[...document.images].filter((each) => each.checkVisibility()).map((each) => each.getAttribute('src'))"


@in_chromium
@pytest.mark.parametrize(
    ("scheme", "media", "shown"),
    [("light", "screen", "plan.png#only-light"), ("dark", "screen", "plan-dark.png#only-dark"),
     ("dark", "print", "plan.png#only-light")],
)  # fmt: skip
def test_pictures_follow_the_scheme(scheme: str, media: str, shown: str, plan_page: Page) -> None:
    """In the dark they are dark, and on paper never."""
    plan_page.reset()
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    plan_page.send("Emulation.setEmulatedMedia", media=media, features=features)
    color = {"light": "default", "dark": "slate"}[scheme]
    plan_page.wait(f"document.body.getAttribute('data-md-color-scheme') === '{color}'")
    assert plan_page.ask(PICTURES) == [f"pictures/{shown}"]
    plan_page.send("Emulation.setEmulatedMedia", media="", features=[])


@in_chromium
@pytest.mark.parametrize("width", [420, 1280])
def test_a_console_is_copied_without_its_output(width: int, plan_page: Page) -> None:
    """The button copies the commands of the whole block, and stands beside the text."""
    plan_page.reset()
    plan_page.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    plan_page.wait("document.querySelector('.language-console .md-code__nav') !== null")
    copied = plan_page.ask("[...document.querySelectorAll('.language-console')].map((each) => each.dataset.copy)")
    assert copied
    assert all(text.startswith("olmc ") for text in copied)
    box = "document.querySelector('.language-console {}').getBoundingClientRect()"
    assert plan_page.ask(f"{box.format('code')}.right") <= plan_page.ask(f"{box.format('.md-code__nav')}.left")
