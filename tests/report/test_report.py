"""A report of a workspace: what it says, that it asks nobody, and how it is used in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST, FIRST_PAINT, USED, Page, in_chromium, opened_at, shown
from building import write_workspace
from click.testing import CliRunner, Result

from olmc.cli.main import main

LINK = re.compile(r'href="([^"#:]+)(?:#[^"]*)?"')


def written(path: Path, folder: Path, *more: str) -> Result:
    done = CliRunner().invoke(main, ["report", str(path), "-o", str(folder), *more])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def site(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a workspace with an upgrade."""
    folder = tmp_path_factory.mktemp("report") / "site"
    assert written(project / "fixtures" / "review-upgrade" / "after", folder).exit_code == 0
    return folder


def text_of(path: Path) -> str:
    """What a page says, without its head, its tags, and its script."""
    body = path.read_text(encoding="utf-8").replace("<wbr>", "").partition("<main")[2].partition("<footer")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)).replace("&#39;", "'")


def test_a_page_for_each_subject(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert pages == {
        "index.html", "namespaces.html", "catalogs.html", "findings.html", "operators/tower_lantern.html",
    }  # fmt: skip


def test_every_link_leads_to_a_page(site: Path) -> None:
    for path in site.rglob("*.html"):
        links = LINK.findall(path.read_text(encoding="utf-8"))
        assert links
        assert [link for link in links if not (path.parent / link).is_file()] == []


def test_a_code_leads_to_its_page(site: Path) -> None:
    page = (site / "findings.html").read_text(encoding="utf-8")
    codes = re.findall(r'<a class="quiet" href="https://olmc\.dev/docs/rules/(\w+)\.html">(\w+)</a>', page)
    assert codes
    assert all(linked == shown for linked, shown in codes)


def test_the_overview_has_a_row_an_operator(site: Path) -> None:
    assert "lantern tower 1.2.0 stable running Succeeded InstallSucceeded – high –" in text_of(site / "index.html")


def test_the_page_of_an_operator(site: Path) -> None:
    """Versions with their graph, what it may do, its images and CRDs, and where each object comes from."""
    page = (site / "operators" / "tower_lantern.html").read_text(encoding="utf-8")
    text = text_of(site / "operators" / "tower_lantern.html")
    assert 'alt="The upgrade graph of lantern" src="data:image/svg+xml;base64,' in page
    assert "watches all namespaces" in text
    assert "ServiceAccount/tower/lantern high" in text
    assert "high get, list, watch configmaps, secrets in the whole cluster secrets" in text
    assert "registry.example.com/lantern:v1.2.0 Deployment lantern-controller: container manager" in text
    assert re.search(r"lanterns\.light\.example\.com Lantern Namespaced v1 \(stored\)", text)
    assert re.search(
        r"Deployment lantern-controller tower after/bundles/lantern-1\.2\.0/manifests/\S+:\d+:\d+ deployments R-DEP-\d",
        text,
    )
    assert re.search(r"ClusterServiceVersion lantern\.v1\.2\.0 \d+ namespaces", text)


def test_with_a_state_to_begin_with_there_is_a_plan(project: Path, tmp_path: Path) -> None:
    """What happens to the cluster, on a page that every other one leads to."""
    upgrade = project / "fixtures" / "review-upgrade"
    assert written(upgrade / "after", tmp_path, "--from", str(upgrade / "before")).exit_code == 0
    assert 'href="../plan.html"' in (tmp_path / "operators" / "tower_lantern.html").read_text(encoding="utf-8")
    plan = text_of(tmp_path / "plan.html")
    assert "InstallPlan tower/install-lgm74: lantern.v1.1.0 → lantern.v1.2.0" in plan
    assert "v1 spec.brightness maximum: 100 → 80 breaking" in plan
    assert "tower lantern 1.0.0 1.2.0 Succeeded upgraded" in plan
    assert 'href="index.html"' in (tmp_path / "plan.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_operators_of_one_package_are_told_apart(project: Path, tmp_path: Path) -> None:
    """In the matrix, where a column has room for a name and no more."""
    assert written(project / "fixtures" / "port", tmp_path).exit_code == 0
    matrix = (tmp_path / "namespaces.html").read_text(encoding="utf-8")
    assert re.findall(r"<span>((?:ferry|tide)[^<]*)</span></a>", matrix) == ["ferry (cargo)", "ferry (ferries)", "tide"]


def test_a_failing_operator_says_why(project: Path, tmp_path: Path) -> None:
    done = written(project / "fixtures" / "unresolvable", tmp_path)
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path.as_posix()}/index.html: 1 operator, 5 pages\n")
    assert "ferry harbour – stable failing" in text_of(tmp_path / "index.html")
    assert "it requires an operator providing an API with group: lights.example.com" in text_of(
        tmp_path / "operators" / "harbour_ferry.html"
    )


def test_what_cannot_be_compiled_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: [", encoding="utf-8")
    assert written(tmp_path, tmp_path / "site").exit_code == 3
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
def test_a_second_report_replaces_the_first(project: Path, tmp_path: Path) -> None:
    """Pages that are no more are removed, other files are left alone, and the same workspace gives the same bytes."""
    written(project / "fixtures" / "dependency", tmp_path)
    (tmp_path / "CNAME").write_text("ops.example.com\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert (tmp_path / "operators" / "harbour_ferry.html").is_file()
    written(project / "fixtures" / "own-namespace", tmp_path)
    assert not (tmp_path / "operators" / "harbour_ferry.html").exists()
    written(project / "fixtures" / "dependency", tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_page_of_somebody_elses_is_kept(project: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>mine</p>", encoding="utf-8")
    done = written(project / "fixtures" / "own-namespace", tmp_path)
    assert done.exit_code == 3
    assert f"{tmp_path.as_posix()}/index.html is not of olmc report" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_hostile_names_are_texts(tmp_path: Path) -> None:
    """What a stranger writes into a CSV is no markup and nothing that a terminal obeys."""
    hostile = "</title><script>alert(1)</script>\u202e\x1b[2J"
    case: dict[str, Any] = {
        "namespaces": {"ns": {}, "olm": {}},
        "groups": {"ns/og": "own"},
        "operators": [{"name": "a.v1.0.0", "csv": {"spec": {"displayName": hostile}}}],
    }
    write_workspace(tmp_path / "in", case)
    assert written(tmp_path / "in", tmp_path / "site").exit_code == 0
    page = (tmp_path / "site" / "operators" / "ns_a.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<script>") == 1
    assert not {"\x1b", "\u202e"} & set(page)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 40 operators that watch 100 namespaces."""
    folder = tmp_path_factory.mktemp("large")
    names = [f"op{number:02}" for number in range(40)]
    case: dict[str, Any] = {
        "namespaces": {name: {} for name in ("olm", *names, *(f"team-{number:02}" for number in range(60)))},
        "groups": {f"{name}/og": "all" for name in names},
        "operators": [{"name": f"{name}.v1.0.0", "into": [name]} for name in names],
    }
    write_workspace(folder / "in", case)
    assert written(folder / "in", folder / "site").exit_code == 0
    return folder / "site"


@pytest.mark.slow
def test_forty_operators_in_a_hundred_namespaces(large: Path) -> None:
    assert len(list((large / "operators").iterdir())) == 40
    matrix = (large / "namespaces.html").read_text(encoding="utf-8")
    assert len(re.findall('<td class="cell (?:watches|both)">', matrix)) > 40 * 100


@pytest.fixture(
    scope="module", params=["index.html", "namespaces.html", "findings.html", "operators/tower_lantern.html"]
)
def started(request: pytest.FixtureRequest, site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_at((site / request.param).as_uri(), tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(scheme: str, started: Page) -> None:
    """4.5 to 1 at least (WCAG 2, level AA), light and dark, and nothing on the console."""
    started.reset()
    started.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    assert started.ask(f"({CONTRAST})()") == []
    assert started.console == []


@in_chromium
def test_a_narrow_page_does_not_scroll_sideways(started: Page) -> None:
    started.reset()
    started.send("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=True)
    assert started.ask("document.documentElement.scrollWidth") <= 360


@in_chromium
def test_everything_has_a_name_to_be_read_out(started: Page) -> None:
    started.reset()
    started.send("Accessibility.enable")
    nodes = started.send("Accessibility.getFullAXTree")["nodes"]
    used = [node for node in nodes if not node["ignored"] and node["role"]["value"] in USED]
    assert len(used) > 5
    assert [node for node in used if not node.get("name", {}).get("value")] == []
    levels = started.ask("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


@in_chromium
def test_from_the_filter_to_the_operator_by_keyboard(large: Path, tmp_path: Path) -> None:
    """`/` leads to the filter, an arrow to the first row that is left, Enter to its page; Escape shows all again."""
    with opened_at((large / "index.html").as_uri(), tmp_path) as browser:
        paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
        browser.wait(f"{paint} > 0")
        assert browser.ask(paint) < FIRST_PAINT
        assert shown(browser, "tr[data-row]") == 40
        browser.press("/", "/")
        browser.type("op17")
        browser.wait("document.getElementById('shown').textContent === '1 of 40 shown'")
        assert shown(browser, "tr[data-row]") == 1
        browser.press("ArrowDown")
        assert browser.ask("document.activeElement.textContent") == "op17"
        browser.press("Enter", "\r")
        browser.wait("location.pathname.endsWith('/operators/op17_op17.html') && document.readyState === 'complete'")
        browser.ask("document.querySelector('nav a[href=\"../namespaces.html\"]').click()")
        browser.wait("location.pathname.endsWith('/namespaces.html') && document.readyState === 'complete'")
        browser.wait(f"{paint} > 0")
        assert browser.ask(paint) < FIRST_PAINT
        browser.press("/", "/")
        browser.type("team-31")
        browser.wait("document.getElementById('shown').textContent.startsWith('1 of ')")
        browser.press("Escape")
        assert shown(browser, "tr[data-row]") > 100
        assert browser.console == []


def test_the_page_of_a_cluster_extension(project: Path, tmp_path: Path) -> None:
    """It has what the page of a Subscription's operator has, with the account that installs it (R-V1-SA-1)."""
    assert "2 operators" in written(project / "fixtures/olmv1/extension", tmp_path / "site").stdout
    assert '<span class="quiet">Succeeded</span>' not in (tmp_path / "site/index.html").read_text(encoding="utf-8")
    page = text_of(tmp_path / "site/operators/brewing_kettle.html")
    assert "ClusterExtension kettle installed by brewing/kettle-installer catalog tools watches all namespaces" in page
    assert "get, list, update, watch kettles.example.com in the whole cluster" in page
    assert "registry.example.com/kettle:v1.1.0 Deployment kettle-controller: container manager" in page
    assert "bundles/kettle-1.1.0/manifests/kettles.crd.yaml:1:1 olmv1 R-V1-GEN-6" in page
    assert 'src="data:image/svg+xml' in (tmp_path / "site/operators/brewing_kettle.html").read_text(encoding="utf-8")
    catalogs = text_of(tmp_path / "site/catalogs.html")
    assert "tools ClusterCatalog package channel head kettle stable default kettle.v1.1.0" in catalogs
    assert "harbour in namespace olm" in catalogs


@pytest.mark.parametrize("name", ["index.html", "operators", "operators/harbour_beacon.html"])
def test_nothing_is_written_through_a_link(name: str, project: Path, tmp_path: Path) -> None:
    """That somebody has put below the folder, whether what it leads to is there or not."""
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (site / name).parent.mkdir(parents=True)
    for target in (elsewhere, elsewhere / "nothing"):
        (site / name).symlink_to(target)
        done = written(project / "fixtures" / "own-namespace", site)
        assert done.exit_code == 3
        assert f"{site.as_posix()}/{name}" in done.stderr
        assert list(elsewhere.iterdir()) == []
        (site / name).unlink()
