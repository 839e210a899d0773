"""What the house holds to: no circle of imports, a class name has one meaning, and names are those of the glossary."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

# What things were called before the glossary had a word for them: no module or class has one of these names any more.
MODULES = (
    "settle rest start stock bare known copies collect given_plans first_check refusals strange_kinds spelling "
    "dropped surrogates adoption alike some marks values shape shapes leaves refusal unknown table instant "
    "troubles ignoring served asked absence causes hindrances makers origins echoes emptiness holders walk "
    "reach gate atoms situations stages texts divergence outcome guard feed reading pages talk idle ending "
    "exits compiled streams "
).split()
CLASSES = (
    "Wish Present Question Answer Pick Round Item Shelf View Draft Trouble Every Some NoneOf Labelled "
    "InPackage Provides Name Identity Member Surroundings World Misfit LooseBundle Workshop Gravity Sign "
    "Sentence Foreign Lane Strip Judged Begun Followed "
).split()

# Everyday words for what has a word in the field: untrusted input, packages, reported, message, request.
PROSE = re.compile(r"\b(?:told|said|strangers?|rooms?|wish(?:es)?)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def modules(project: Path) -> dict[str, ast.Module]:
    """The modules of olmc by their full names."""
    return {
        ".".join(path.relative_to(project).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted((project / "olmc").rglob("*.py"))
    }


def imported(tree: ast.AST, modules: dict[str, ast.Module]) -> Iterator[str]:
    """The modules that one imports when it runs, deferred imports included."""
    for_types = {
        id(below)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for below in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from {name if name in modules else node.module for name in names} & modules.keys()
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules.keys()


def deferred(node: ast.AST, within: str = "") -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Yield the imports inside of functions, each with the name of its function."""
    for child in ast.iter_child_nodes(node):
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else within
        name = "lambda" if isinstance(node, ast.Lambda) else name
        if name and isinstance(child, ast.Import | ast.ImportFrom):
            yield name, child
        yield from deferred(child, name)


def classes(modules: dict[str, ast.Module]) -> Iterator[str]:
    return (node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


@pytest.mark.slow
def test_no_circle_of_imports(modules: dict[str, ast.Module]) -> None:
    """Neither between modules nor between packages; graphlib names the circle that it finds."""
    graph = {name: set(imported(tree, modules)) for name, tree in modules.items() if name != "olmc"}
    list(TopologicalSorter(graph).static_order())
    packages: dict[str, set[str]] = {}
    for name, used in graph.items():
        package = name.split(".")[1]
        others = {each.split(".")[1] for each in used if each != "olmc"} - {package}
        packages.setdefault(package, set()).update(others)
    list(TopologicalSorter(packages).static_order())


# A command line imports what one of its options or formats needs. The compiler imports what a bundle by itself, or a
# workspace without some kind of object, does without. A wing below it defers even less.
MOST_DEFERRED = {
    "olmc.__main__": 2,
    "olmc.cli": 71,
    "olmc.integrations": 4,
    "olmc.review": 18,
    "olmc.targets": 7,
    "olmc.compiler": 78,
    "olmc.k8s": 20,
}


@pytest.mark.slow
def test_imports_inside_of_functions_are_few(modules: dict[str, ast.Module]) -> None:
    """A module imports at its top what its users nearly always need. Lower a number when you remove such an import."""
    counts = Counter(".".join(name.split(".")[:2]) for name, tree in modules.items() for _ in deferred(tree))
    assert counts == MOST_DEFERRED
    assert sum(MOST_DEFERRED.values()) <= 200


@pytest.mark.slow
def test_a_module_that_is_at_the_top_is_not_imported_again(modules: dict[str, ast.Module]) -> None:
    """And a function imports each module once."""
    found = []
    for name, tree in modules.items():
        top = {used for node in tree.body if isinstance(node, ast.ImportFrom) for used in imported(node, modules)}
        inside = Counter((function, used) for function, node in deferred(tree) for used in imported(node, modules))
        found += [(name, *place) for place, count in inside.items() if count > 1 or place[1] in top]
    assert found == []


@pytest.mark.slow
def test_a_class_name_has_one_meaning(modules: dict[str, ast.Module]) -> None:
    assert [name for name, count in Counter(classes(modules)).items() if count > 1] == []


@pytest.mark.slow
def test_names_are_those_of_the_glossary(modules: dict[str, ast.Module]) -> None:
    assert {name.rpartition(".")[2] for name in modules} & set(MODULES) == set()
    assert set(classes(modules)) & set(CLASSES) == set()


def test_prose_and_names_have_the_words_of_the_field(project: Path) -> None:
    found = [
        f"{path.relative_to(project)}:{number}: {line.strip()}"
        for path in sorted((project / "olmc").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PROSE.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(("name", "home"), [("v2alpha1", "proposed"), ("olmv1", "v1")])
def test_a_target_is_named_in_its_own_package(project: Path, name: str, home: str) -> None:
    """All other packages know a target by its hooks; the command line has its options."""
    paths = (path.relative_to(project) for path in sorted((project / "olmc").rglob("*.py")))
    found = [path for path in paths if name in (project / path).read_text(encoding="utf-8").lower()]
    assert [path for path in found if path.parts[:3] != ("olmc", "targets", home) and path.parts[1] != "cli"] == []


def test_reviews_take_the_types_of_results_from_the_model(modules: dict[str, ast.Module]) -> None:
    """`olmc migrate` moves to a target, so it may name all types of it; other reviews call its functions."""
    taken = [
        (name, alias.name)
        for name, tree in modules.items()
        if name.startswith("olmc.review.") and not name.startswith("olmc.review.migrate")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("olmc.targets.proposed", "olmc.targets.v1"))
        for alias in node.names
        if not (alias.name.islower() or alias.name.isupper())
    ]
    assert taken == []
