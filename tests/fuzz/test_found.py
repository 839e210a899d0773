"""What fuzzing found stays found: every input that olmc could not take once is run again."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from fuzz_targets import COMMANDS, TARGETS, within_limits
from known_fields import add_known_field
from mutations import Archive, mutated_archive, pack, unpack

from olmc.cli.running import REGISTRY

FOUND = sorted(path for path in (Path(__file__).parent / "found").glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FOUND, ids=[f"{path.parent.name}/{path.name}" for path in FOUND])
def test_what_was_found_is_taken(path: Path) -> None:
    within_limits(TARGETS[path.parent.name].run, path.read_bytes())


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_each_target_takes_its_seeds_and_some_changes(name: str) -> None:
    """A target that refuses what it is to begin with would find nothing."""
    target, rng = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    assert seeds
    for data in rng.sample(seeds, min(5, len(seeds))):
        within_limits(target.run, data)
        within_limits(target.run, target.mutate(data, rng))


def test_an_input_is_its_files() -> None:
    archive = Archive(b"olmc check w", {"w/a.yaml": b"a: 1\n", "w/b/c.json": b"{}\n"})
    assert unpack(pack(archive)) == archive


def test_every_command_is_fuzzed_but_servers() -> None:
    """What serve and lsp get is tests/serve's and tests/lsp's; completion and version read nothing, and cache nothing
    that others have written."""
    left = {"serve", "lsp", "cache", "completion", "version"}
    assert {command.split()[1] for command in COMMANDS} == REGISTRY.keys() - left


def test_documents_get_fields_that_they_lack() -> None:
    """Of Go's types, of the schemas, and of other objects."""
    deployment = {"kind": "Deployment", "spec": {"template": {}}}
    subscription = {"kind": "Subscription", "spec": {"config": {}}}
    added: set[str] = set()
    for number in range(300):
        documents = json.loads(json.dumps([deployment, subscription]))
        add_known_field(documents, random.Random(number))
        for document in documents:
            spec = document.get("spec")
            added |= {f"{document.get('kind')} {key}" for key in spec} if isinstance(spec, dict) else set()
    assert {"Deployment strategy", "Subscription startingCSV", "ClusterServiceVersion install"} <= added


def test_changes_are_the_same_for_the_same_numbers() -> None:
    data = pack(Archive(b"olmc check w", {"w/a.yaml": b"a: {b: [1, 2]}\n"}))
    first, again = (mutated_archive(data, random.Random(7), COMMANDS) for _ in range(2))
    assert first == again != data
