"""Fixtures for all tests."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st
from properties import PROFILES

import olmc
from olmc.k8s.yaml.lines import read_lines

pytest_plugins = ["tiers"]

# What a test says depends on no clock: on a busy machine an example may take long, and making one as well. CI draws the
# same examples whenever it runs, so a red build can be repeated (`CI=1 pytest …`); everywhere else new ones are tried.
for name, share in PROFILES.items():
    settings.register_profile(
        name, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ,
        print_blob=True, max_examples=share,
    )  # fmt: skip
settings.load_profile("few")

# Cases are read when tests are collected, by each worker: libyaml does in a second what takes PyYAML's own parser ten.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

# As in `olmc.__main__`: a search for cycles goes through 20,000 collected tests, and finds hardly anything.
gc.set_threshold(200_000, 50, 50)

PROJECT = Path(__file__).resolve().parent.parent


def pytest_collection_finish() -> None:
    """Leave what was collected out of all searches for cycles."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _without_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the developer's cache; one that is about the cache says so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLMC_NO_CACHE", "1")
        patch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _hypothesis_tables() -> None:
    """Hypothesis makes its tables at the first text of a clean checkout, in two seconds that count for no test."""
    find(st.text(), lambda _text: True, settings=settings(database=None))


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with OLM's specification data, conformance cases and corpus, which lies beside the project."""
    folder = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared"))
    if not (folder / "spec").is_dir():
        pytest.skip("needs the specification's data (OLMC_SHARED or ../shared), which is not here")
    return folder


@pytest.fixture(scope="session")
def corpus(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of all bundles that were really published, in order."""
    root = tmp_path_factory.mktemp("corpus")
    with tarfile.open(shared / "corpus" / "bundles.tar.xz") as archive:
        archive.extractall(root, filter="data")
    return sorted(path.parent for path in root.glob("bundles/*/*/manifests"))


@pytest.fixture(scope="session")
def kept_values() -> Callable[[str], list[Any]]:
    """A reader of YAML that keeps the values of each text: the corpus has about 3,000."""
    return functools.lru_cache(maxsize=5_000)(lambda text: read_lines(text))


@pytest.fixture
def read_once(kept_values: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have olmc read each text once for all tests with this fixture; none may change what it gives."""
    monkeypatch.setattr("olmc.k8s.yaml.reader.read_lines", lambda text, _known=None: kept_values(text))


@pytest.fixture(scope="session")
def case_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where rule cases are compiled, each once (`rule_cases.compile_case`)."""
    return tmp_path_factory.mktemp("cases")


@pytest.fixture(scope="session")
def compiled() -> Callable[..., olmc.Compilation]:
    """`olmc.compile` that compiles the same folder with the same options once; no test may change what it gives."""
    return functools.cache(olmc.compile)


@pytest.fixture(scope="session")
def benchmark(project: Path) -> Callable[[str], ModuleType]:
    """A function that loads a script of `bench/` by its name, for the inputs that it makes."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"bench_{name}", project / "bench" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(project / "bench")
            spec.loader.exec_module(module)
        return module

    return load
