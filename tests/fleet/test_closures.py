"""Which files an entry reads: what its kustomization names, with what that names."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import write

from olmc.integrations.fleet.run import ClosureReader, reader_of
from olmc.integrations.fleet.trees import work_tree


def reader(top: Path, kustomizations: dict[str, list[str]]) -> ClosureReader:
    """A tree in which each folder's kustomization names these others, and has a file of its own."""
    files: dict[str, str] = {}
    for folder, targets in kustomizations.items():
        named = "".join(f"- {target}\n" for target in ["own.yaml", *targets])
        files[f"{folder}/kustomization.yaml"] = f"resources:\n{named}"
        files[f"{folder}/own.yaml"] = "a: 1\n"
    write(top, files)
    return reader_of(work_tree(top))


def test_what_a_base_names_is_read_as_well(tmp_path: Path) -> None:
    closures = reader(tmp_path, {"a": ["../b"], "b": ["../c"], "c": [], "d": []})
    assert closures.of_entry("a").paths == {
        f"{folder}/{name}" for folder in "abc" for name in ("kustomization.yaml", "own.yaml")
    }


def test_those_that_name_each_other_read_the_same(tmp_path: Path) -> None:
    """Whichever is asked for first: what one misses would be a change that nobody is told of."""
    closures = reader(tmp_path, {"a": ["../b"], "b": ["../a", "../c"], "c": []})
    assert closures.of_entry("a").paths == closures.of_entry("b").paths
    assert len(closures.of_entry("a").paths) == 6


@pytest.mark.slow
def test_a_chain_has_no_end_that_a_stack_has(tmp_path: Path) -> None:
    chain = {f"k{number}": [f"../k{number + 1}"] for number in range(1500)}
    closures = reader(tmp_path, {**chain, "k1500": []})
    assert len(closures.of_entry("k0").paths) == 2 * 1501
