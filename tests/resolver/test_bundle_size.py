"""OLM unpacks a bundle into a ConfigMap, which its files have to fit into."""

from __future__ import annotations

import base64
import random

import pytest

from olmc.compiler.olm.facts import MAX_BUNDLE_SIZE, compressed_size
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.resolver.steps import Content, UndecodableCSVError, check_files
from olmc.k8s.diagnostics import Source
from olmc.k8s.objects import Manifest

CSV = "kind: ClusterServiceVersion\n"


def noise(length: int) -> str:
    """A text of random characters. Gzip and base 64 together make it a tenth longer."""
    return base64.b85encode(random.Random(length).randbytes(length * 4 // 5)).decode()


def content(*texts: str) -> Content:
    files = [Manifest({}, Source(f"{number}.yaml", each)) for number, each in enumerate(texts)]
    return Content(files[0], tuple((file.source.path, file) for file in files[1:]))


def test_plain_files_together_have_a_limit() -> None:
    """R-CAT-614: the Job fails for a byte more."""
    rest = MAX_BUNDLE_SIZE - len(CSV)
    check_files(content(CSV, "x" * rest), profile_of("0.18.0"))
    with pytest.raises(UndecodableCSVError, match=r"exceeded 1048576 bytes limit \(2 files have 1048577 bytes\)"):
        check_files(content(CSV, "x" * (rest + 1)), profile_of("0.18.0"))


def test_compressed_files_together_have_a_limit() -> None:
    """R-CAT-614: from 0.19.0 on the files are compressed, so only their content makes them too large."""
    check_files(content(CSV, "x" * MAX_BUNDLE_SIZE), profile_of("0.19.0"))
    check_files(content(CSV, noise(900_000)), profile_of("0.19.0"))
    with pytest.raises(
        UndecodableCSVError, match=r"exceeded 1048576 bytes limit \(2 compressed files have \d{7} bytes\)"
    ):
        check_files(content(CSV, noise(1_000_000)), profile_of("0.19.0"))


@pytest.mark.parametrize("text", ["", "x", "lamp: on\n" * 1000, noise(50_000)])
def test_the_quickest_level_gives_more_than_half_of_the_best(text: str) -> None:
    """R-CAT-614: so twice its size is a bound."""
    data = text.encode()
    assert compressed_size(data) <= 2 * compressed_size(data, level=1)
