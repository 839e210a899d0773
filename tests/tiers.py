"""The tiers of the tests: markers that follow from fixtures and folders, and a check that no slow test lacks one.

CONTRIBUTING.md says which tier to run when. A test without a marker of `MARKERS` gets the marker `fast`, and
`make test` runs these. In CI a fast test fails if it takes more than `SECONDS` of CPU, or starts olmc as a process:
its failure names the marker that it lacks.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from cpu_time import at_rest, loop_seconds
from forks import seconds_of_forks

MARKERS = {
    "corpus": "walks the published operators",
    "recorded": "reads recordings of a real OLM (OLMC_SHARED or ../shared)",
    "process": "starts olmc or another Python as a process",
    "browser": "opens pages in Chromium",
    "registry": "serves images from a real registry",
    "limits": "feeds input that is made to exhaust a machine",
    "fuzz": "runs the fuzzer or its inputs",
    "slow": "takes more than half a second of CPU, or most of a test that takes seconds with all of its values",
}
"""The markers of what `make test` leaves to `make test-all`."""

FAST = "fast"

SECONDS = 1.0
"""The CPU seconds that a test without a marker may take: twice as many as make a test slow."""

NOISE = 1.5
"""By how much a busy machine, or what is read for all tests, may slow down a test that can't run twice."""

OF_FIXTURES = {"corpus": "corpus", "shared": "recorded", "browser": "browser", "host": "registry", "dask": "process"}
OF_FOLDERS = {"limits": "limits", "fuzz": "fuzz"}

TESTS = Path(__file__).resolve().parent
_BEGUN = pytest.StashKey[float]()
_SPENT = pytest.StashKey[float]()
_PYTHON = re.compile(r"(?:.*/)?(?:python[0-9.]*|olmc)")
_SHELLS = ("sh", "bash")
# What olmc starts by itself: kustomize and helm, and workers.
_OWN = ("locked_down.py", "olmc.integrations.fleet.pool", "olmc.cli.fleet_worker")


def marked_slow(values: Iterable[Any], is_slow: Callable[[Any], object]) -> list[Any]:
    """Return the values of a parametrized test with those marked that make it slow; the others stand for them."""
    given = list(values)
    assert any(map(is_slow, given)), "no value makes the test slow"
    assert not all(map(is_slow, given)), "no value stands for the slow ones"
    return [pytest.param(value, marks=pytest.mark.slow) if is_slow(value) else value for value in given]


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values of a parametrized test with all but every so many marked as slow; these stand for the others.

    For tests whose values take seconds together, although none takes long.
    """
    return [
        value if number % every == 0 else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


def markers_of(item: pytest.Item) -> set[str]:
    """Return the markers of a test: those that it has, and those that follow from its fixtures and its folder."""
    own = {mark.name for mark in item.iter_markers() if mark.name in MARKERS}
    fixtures = {OF_FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in OF_FIXTURES}
    return own | fixtures | of_folder(item.path)


@functools.cache
def of_folder(path: Path) -> frozenset[str]:
    """Return the marker that all tests in a file have by its folder, if any."""
    folder = path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
    return frozenset({OF_FOLDERS[folder]} if folder in OF_FOLDERS else ())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests before pytest selects by markers."""
    turns = {}
    for item in items:
        names = markers_of(item)
        for name in sorted(names) or (FAST,):
            item.add_marker(name)
        turns[item] = 2 if not names else int(names.isdisjoint(("corpus", "recorded")))
    # Those of the corpus take longest, and share what they read: one worker begins with them, and the others leave them
    # alone. The fast ones come last, since a worker without work takes the last tests of another one.
    items.sort(key=turns.__getitem__)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for name, meaning in {**MARKERS, FAST: "has no other marker of a tier"}.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if "CI" in os.environ:
        sys.addaudithook(note_process)


def note_process(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep the command of a process of Python for the test that runs."""
    if event == "subprocess.Popen":
        command = [os.fsdecode(each) for each in arguments[1]]
        shell = Path(command[0]).name in _SHELLS and any(_PYTHON.search(each) for each in command[1:])
        python = _PYTHON.fullmatch(os.fsdecode(arguments[0] or command[0]))
        if shell or (python and not any(each.endswith(_OWN) for each in command)):
            _started.append(" ".join(command)[:100])


_started: list[str] = []


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, of its children that have ended, and of forks that ran olmc."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system + seconds_of_forks()


def is_guarded(item: pytest.Item) -> bool:
    """Tell whether a test has to keep within the bounds of the fast tier: in CI, unless all examples are drawn."""
    return "CI" in os.environ and item.get_closest_marker(FAST) is not None and not draws_all_examples(item.config)


def draws_all_examples(config: pytest.Config) -> bool:
    """Tell whether property tests draw all of their examples (`--hypothesis-profile=all`)."""
    return bool(config.getoption("--hypothesis-profile", None) == "all")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Count the CPU time of a test's own fixtures as its own; a fixture that tests share counts for none of them."""
    start = cpu_seconds()
    try:
        return (yield)
    finally:
        if fixturedef.scope == "function":
            stash = request.node.stash
            stash[_SPENT] = stash.get(_SPENT, 0.0) + cpu_seconds() - start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a fast test that is not fast, and name the marker that it lacks."""
    _started.clear()
    start = cpu_seconds()
    yield
    spent = cpu_seconds() - start + item.stash.get(_SPENT, 0.0)
    if spent > SECONDS:
        spent = at_rest(spent, loop_seconds())
    if spent > SECONDS and is_guarded(item):
        again = seconds_of_another_run(item)
        spent = spent / NOISE if again is None else min(spent, again + item.stash.get(_SPENT, 0.0))
    if is_guarded(item) and (lacking := name_lacking_marker(spent, _started)):
        pytest.fail(lacking, pytrace=False)


def seconds_of_another_run(item: pytest.Item) -> float | None:
    """Return the CPU seconds of a test that runs once more, None if it can't.

    The first test that needs a table or a schema reads it for all others, and a busy machine is slower: neither makes
    a test slow.
    """
    start = cpu_seconds()
    try:
        item.runtest()
    except (Exception, pytest.fail.Exception, pytest.skip.Exception):  # the first run has left something behind
        return None
    return at_rest(cpu_seconds() - start, loop_seconds())


def name_lacking_marker(spent: float, started: list[str]) -> str:
    """Return a sentence about the marker that a fast test lacks after so many CPU seconds; "" if it is fast."""
    if started:
        return f"This test starts a process: mark it with @pytest.mark.process ({started[0]})."
    if spent > SECONDS:
        return (
            f"This test takes {spent:.1f} s of CPU, and a test without a marker may take {SECONDS:.0f} s: make it "
            "cheaper, or mark it with @pytest.mark.slow and let a smaller test of the same rule go without."
        )
    return ""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Measure the CPU time of a test with everything that is set up and torn down for it."""
    item.stash[_BEGUN] = cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Send the tier and the CPU seconds of a test along with its last report."""
    report: Any = yield
    if call.when == "teardown":
        tier = min(markers_of(item), key=list(MARKERS).index, default=FAST)
        now = cpu_seconds()
        report.user_properties += [("tier", tier), ("cpu", now - item.stash.get(_BEGUN, now))]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the number of tests and the CPU time of each tier; a test with several markers counts for the first."""
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        told = dict(getattr(report, "user_properties", ()))
        if "tier" in told:
            counts[told["tier"]] += 1
            seconds[told["tier"]] += told["cpu"]
    for tier in (FAST, *MARKERS):
        if counts[tier]:
            terminalreporter.write_line(f"{tier:9} {counts[tier]:6} tests {seconds[tier]:6.0f} s of CPU")
