"""`.indexignore`."""

from __future__ import annotations

import pytest
from cpu_time import measure
from tiers import sampled

from olmc.compiler.catalogs.loading import kept_files

FILES = ["a.md", "a.yaml", "b/a.md", "b/c/a.yaml", "b/c/d.yaml", "docs/x.yaml", "src/docs/x.yaml"]


def kept(**patterns: str) -> list[str]:
    files = dict.fromkeys((f"root/{file}" for file in FILES), "")
    for folder, text in patterns.items():
        files["root/" + (f"{folder}/" if folder != "top" else "") + ".indexignore"] = text
    return [path.removeprefix("root/") for path in kept_files("root", files)]


@pytest.mark.parametrize(
    ("patterns", "ignored"),
    [
        ("", []),
        ("# a.md\n\n", []),
        ("*.md", ["a.md", "b/a.md"]),
        ("/*.md", ["a.md"]),
        ("a.*", ["a.md", "a.yaml", "b/a.md", "b/c/a.yaml"]),
        ("docs", ["docs/x.yaml", "src/docs/x.yaml"]),
        ("docs/", ["docs/x.yaml", "src/docs/x.yaml"]),
        ("/docs/", ["docs/x.yaml"]),
        ("x.yaml/", []),
        ("b/c", ["b/c/a.yaml", "b/c/d.yaml"]),
        ("c/d.yaml", []),
        ("**/d.yaml", ["b/c/d.yaml"]),
        ("b/**", ["b/a.md", "b/c/a.yaml", "b/c/d.yaml"]),
        ("**/docs/*", ["docs/x.yaml", "src/docs/x.yaml"]),
        ("src/**/x.yaml", ["src/docs/x.yaml"]),
        ("?.md", ["a.md", "b/a.md"]),
        ("[a-c].md", ["a.md", "b/a.md"]),
        ("[^a].yaml", ["b/c/d.yaml", "docs/x.yaml", "src/docs/x.yaml"]),
        ("[!a].yaml", ["a.yaml", "b/c/a.yaml"]),
        ("[z-a].md\n[.md\na.md\\\n[]a].md\n[a-].md\n", []),
        ("[z-ab-a\\a].md", ["a.md", "b/a.md"]),
        ("[^z-a].md", ["a.md", "b/a.md"]),
        ("[\\d\\w].yaml", ["b/c/d.yaml"]),
        ("[\ud8ff\\]a].md", ["a.md", "b/a.md"]),
        ("\\a.md", ["a.md", "b/a.md"]),
        ("*a*a*m*", ["a.yaml", "b/c/a.yaml"]),
        ("**/**/c/**/*", ["b/c/a.yaml", "b/c/d.yaml"]),
        ("*\n!b/\n", ["a.md", "a.yaml", "docs/x.yaml", "src/docs/x.yaml"]),
        ("*.yaml\n!d.yaml\n", ["a.yaml", "b/c/a.yaml", "docs/x.yaml", "src/docs/x.yaml"]),
        ("!d.yaml\n*.yaml\n", ["a.yaml", "b/c/a.yaml", "b/c/d.yaml", "docs/x.yaml", "src/docs/x.yaml"]),
    ],
)
def test_patterns_are_those_of_gitignore(patterns: str, ignored: list[str]) -> None:
    """R-CAT-120."""
    assert kept(top=patterns) == [file for file in FILES if file not in ignored]


def test_patterns_hold_below_their_folder() -> None:
    """R-CAT-120: a file deeper in the tree counts after those above it."""
    assert kept(b="*.md") == [file for file in FILES if file != "b/a.md"]
    assert kept(b="/c/a.yaml") == [file for file in FILES if file != "b/c/a.yaml"]
    assert "b/a.md" in kept(top="*.md", b="!a.md")
    assert "a.md" not in kept(top="*.md", b="!a.md")


def test_files_are_walked_folder_by_folder() -> None:
    """R-CAT-120: names are compared component by component, as a walk meets them."""
    files = dict.fromkeys(["a-b/x", "a/x", "a.x", "a/b/x"], "")
    assert kept_files("", files) == ["a/b/x", "a/x", "a-b/x", "a.x"]


@pytest.mark.parametrize(
    "pattern", ["*a" * 60 + "*b", "**/a/" * 30 + "b", "/" + "*/**/" * 30 + "b", "*[a-c]" * 60 + "b", "?" * 99 + "["]
)
def test_stars_are_cheap(pattern: str) -> None:
    """Of a pattern with many stars not all ways to divide a name among them are tried."""
    files = {".indexignore": pattern, "a" * 250: "", "a/" * 200 + "c": ""}
    seconds = measure()
    assert len(kept_files("", files)) == 2
    assert seconds() < 2


@pytest.mark.parametrize(
    "pattern", sampled(["page-{}.md", "*-{}.md", "{}*", "docs/{}/**", "common/{}", "!{}/**/page"], 3)
)
def test_many_patterns_cost_no_more_than_they_fit(pattern: str) -> None:
    """Of many patterns only those are tried that have a text in common with a path."""
    number = 2_000
    files = {f"docs/page-{n}.yaml": "" for n in range(number)}
    files[".indexignore"] = "\n".join(pattern.format(f"x{n}y") for n in range(number))
    seconds = measure()
    assert len(kept_files("", files)) == number
    assert seconds() < 1


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("a/**", "a/b"), ("a/**/b", "a/b"), ("**/a/**", "x/a/b"), ("\\*a\\?", "*a?"), ("*b*", "a/xby/c"),
        ("a/", "a/b/c"), ("/a/b/", "a/b/c"), ("[a]b[c]", "abc"), ("**", "a"), ("a" * 100, "a" * 100),
    ],
)  # fmt: skip
def test_the_texts_of_a_pattern_are_in_all_that_it_fits(pattern: str, path: str) -> None:
    """R-CAT-120: trying only patterns with a text of the path passes over none that fits."""
    assert kept_files("", {".indexignore": pattern, path: ""}) == []
