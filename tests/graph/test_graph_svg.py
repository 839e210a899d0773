"""The picture of a graph: well-formed, by itself, everything in its place."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from graph_kit import CATALOGS, HOSTILE, NAMES, hostile, package, packages
from hypothesis import given
from properties import examples

from olmc.compiler.model.catalog import Deprecation, Package
from olmc.compiler.resolver.upgrade_path import EDGE_KINDS
from olmc.k8s.diagnostics import Report
from olmc.review.graph.catalogs import MARKS, catalogs_at, channel_rows
from olmc.review.graph.output import draw_package
from olmc.review.graph.svg import BOX_HEIGHT, Picture, as_svg, layout, shortened
from olmc.review.graph.upgrade_graph import upgrade_graph

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?[0-9.]+")


def picture(made: Package, *, all_ranges: bool = False) -> Picture:
    graph = upgrade_graph(made)
    return layout(graph, channel_rows(graph, all_ranges=all_ranges), 50)


def svg(made: Package, problem: str = "") -> ElementTree.Element:
    graph = upgrade_graph(made)
    return ElementTree.fromstring(as_svg(graph, channel_rows(graph), "cat", problem).encode())


def texts(root: ElementTree.Element, look: str) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text") if look in (each.get("class") or "").split()]


def chain(count: int, **more: str) -> list[str]:
    """A chain of versions; `more` is put behind the version of that name."""
    versions = [f"1.{number}.0" for number in range(count)]
    pairs = zip(versions, ["", *versions], strict=False)
    return [f"{version}{f' > {before}' if before else ''}{more.get(version, '')}" for version, before in pairs]


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_legend_keeps_its_words_in_a_window_of_420_pixels(name: str) -> None:
    """Its lines are short, and together they say the same as the wide one."""
    (shelf,) = catalogs_at(CATALOGS / name, Report())
    ((_, made),) = shelf.packages.items()
    graph = upgrade_graph(made)
    wide, narrow = (
        texts(ElementTree.fromstring(as_svg(graph, channel_rows(graph), "cat", is_narrow=is_narrow).encode()), "quiet")
        for is_narrow in (False, True)
    )
    assert " ".join(narrow) == " ".join(wide)
    assert max(len(line) for line in narrow if not line.startswith("catalog cat")) <= 45


@pytest.mark.parametrize("name", NAMES)
def test_picture_of_a_catalog(name: str) -> None:
    """R-CAT-401, R-CAT-410: every version of every channel has a box with its name, and every mark is told in words."""
    (shelf,) = catalogs_at(CATALOGS / name, Report())
    ((package_name, made),) = shelf.packages.items()
    root = ElementTree.fromstring(draw_package(shelf, package_name, (), "svg").text.encode())
    drawn = channel_rows(upgrade_graph(made))
    titles = sorted((group.findtext(f"{SVG}title") or "").splitlines()[0] for group in root.iter(f"{SVG}g"))
    assert titles == sorted(cell.vertex.name for row in drawn for cell in row.cells)
    captions = sorted(" · ".join(cell.marks) for row in drawn for cell in row.cells if cell.marks)
    assert sorted(texts(root, "caption")) == captions
    legend = " ".join(texts(root, "quiet"))
    for mark, meaning in MARKS.items():
        used = any(mark in cell.marks for row in drawn for cell in row.cells)
        assert (f"{mark}: {meaning}" in legend) == used


def test_nothing_from_elsewhere() -> None:
    """No script, no link, no font or style that would have to be fetched; light and dark."""
    text = as_svg(upgrade_graph(hostile()), channel_rows(upgrade_graph(hostile())), HOSTILE, HOSTILE)
    root = ElementTree.fromstring(text.encode())
    kinds = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert kinds <= {"svg", "title", "style", "defs", "marker", "path", "rect", "text", "g"}
    assert "href" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "", 1)
    assert re.findall(r"url\(([^)]*)\)", text) == ["#replaces"] * 2
    assert "@media (prefers-color-scheme: dark)" in text
    assert "<script" not in text


def test_no_look_is_a_matter_of_colour_alone() -> None:
    """Each kind of line and each mark has a stroke or a shape of its own."""
    style = (svg(package({"s": ["1.0.0"]})).findtext(f"{SVG}style") or "").partition("@media")[0]
    dashes: dict[str, str] = {}
    for looks, rules in re.findall(r"^(\.[^{]*) {([^}]*)}", style, re.MULTILINE):
        found = re.search(r"stroke-dasharray: ([0-9. ]+)", rules)
        dashes |= {look.strip(" ."): found[1].strip() if found else "" for look in looks.split(",")}
    assert len({dashes[kind] for kind in EDGE_KINDS}) == len(EDGE_KINDS)
    root = svg(package({"s": ["1.0.0", "1.1.0 > 1.0.0", "1.1.1 > 1.0.0 skips 1.1.0"]}, barred=["1.0.0"]))
    shapes = {each.get("class"): each.get("rx") for each in root.iter(f"{SVG}rect") if each.get("height") == "36"}
    looks = [(dashes[look.split()[-1]], corner) for look, corner in shapes.items() if look]
    assert set(shapes) == {"box prohibited", "box skipped", "box head"}
    assert len(set(looks)) == 3


def test_what_is_wrong_stands_above() -> None:
    """R-CAT-126, R-CAT-402, R-CAT-431: a catalog that isn't served, a channel without order, deprecations."""
    deprecations = [Deprecation("olm.package", "", "gone"), Deprecation("olm.channel", "s", "moved")]
    root = svg(package({"s": ["1.0.0", "2.0.0"]}, deprecations=deprecations), "invalid index:\n└── two heads")
    alarms = " ".join(texts(root, "alarm"))
    assert alarms.startswith(
        "The package is deprecated: gone OLM can't serve the catalog: invalid index: two heads "
        "s is deprecated: moved OLM upgrades no version in s: a unique replacement chain"
    )
    assert alarms.endswith("deprecated no usable order")


def test_a_neighbour_is_reached_straight_all_others_on_rails() -> None:
    """R-CAT-410: what leads to one version for one reason shares a rail; skipRanges run below."""
    entries = [*chain(4, **{"1.3.0": " skips 1.0.0 1.1.0"}), "1.4.0 > 1.3.0 range <1.2.0"]
    found = picture(package({"s": entries}))
    box = {each.label: each for each in found.boxes}
    top, bottom = box["1.0.0"].y, box["1.0.0"].y + BOX_HEIGHT
    by_title = {line.title: line.path for line in found.lines}
    straight = by_title["1.3.0 → 1.4.0 (replaces)"]
    numbers = [float(number) for number in NUMBER.findall(straight)]
    expected = [box["1.3.0"].x + box["1.3.0"].width, top + BOX_HEIGHT / 2, box["1.4.0"].x]
    assert numbers == pytest.approx(expected, abs=0.1)
    assert by_title["1.0.0, 1.1.0 → 1.3.0 (skips; not preferred by OLM)"].count("M") == 2
    below = by_title["1.0.0, 1.1.0 → 1.4.0 (skipRange)"]
    assert below.count("M") == 2
    assert below.endswith(f"V{bottom:.1f}")


def test_a_long_channel_is_broken_into_bands() -> None:
    """What leads on into the next band ends at the edge, with the name of where it leads."""
    found = picture(package({"s": chain(60, **{"1.59.0": " range >=1.1.0 <1.3.0"})}))
    assert len(found.rows) > 3
    assert len({box.y for box in found.boxes}) == len(found.rows)
    lasts = {box.y: int(box.label.split(".")[1]) for box in found.boxes}
    following = [f"1.{number + 1}.0" for _, number in sorted(lasts.items())][:-1]
    assert sorted(tag.text for tag in found.tags) == sorted([*following, "1.59.0"])
    assert 0.8 < found.width / found.height < 3.2


def test_a_rail_that_comes_from_another_band_enters_at_the_left() -> None:
    found = picture(package({"s": chain(60, **{"1.59.0": " range >=1.1.0 <1.3.0"})}))
    both = [line.path for line in found.lines if line.kind == "skipRange"]
    assert len(both) == 2
    assert both[0].count("M") == 2
    assert re.fullmatch(r"M[0-9.]+,[0-9.]+H[0-9.]+Q.*", both[1])


@given(packages)
@examples(50)
def test_everything_has_its_place(made: Package) -> None:
    """No two boxes overlap, all is inside of the page, and every line ends at a box or at the edge."""
    graph = upgrade_graph(made)
    drawn = channel_rows(graph, all_ranges=True)
    found = layout(graph, drawn, 50)
    assert len(found.boxes) == sum(len(row.cells) for row in drawn)
    for one, other in combinations(found.boxes, 2):
        assert one.y != other.y or one.x + one.width < other.x or other.x + other.width < one.x
    for box in found.boxes:
        assert 0 < box.x < box.x + box.width < found.width
        assert any(row.y < box.y < box.y + BOX_HEIGHT < row.y + row.height for row in found.rows)
    for row, below in combinations(found.rows, 2):
        assert row.y + row.height < below.y or below.y + below.height < row.y
    edges = [(box.x, box.x + box.width, box.y, box.y + BOX_HEIGHT) for box in found.boxes]
    assert found.lines or not any(row.arrows for row in drawn)
    for line in found.lines:
        x, y = end_of(line.path)
        touches = any(
            left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1 for left, right, top, bottom in edges
        )
        assert touches or any(tag.y == pytest.approx(y + 3, abs=0.1) for tag in found.tags) or x < 130
    ElementTree.fromstring(as_svg(graph, drawn, "cat").encode())


def end_of(path: str) -> tuple[float, float]:
    """The last point of a path of M, H, V and Q."""
    x = y = 0.0
    for command, written in re.findall(r"([MHVQ])([^MHVQ]*)", path):
        numbers = [float(number) for number in NUMBER.findall(written)]
        match command:
            case "H":
                x = numbers[-1]
            case "V":
                y = numbers[-1]
            case _:
                x, y = numbers[-2:]
    return x, y


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [("1.0.0", 5, "1.0.0"), ("4.12.0-202301062016", 10, "4.12…62016"), ("abcdef", 3, "a…f")],
)
def test_long_texts_keep_their_ends(text: str, most: int, expected: str) -> None:
    assert shortened(text, most) == expected
    assert len(shortened(text, most)) <= most
