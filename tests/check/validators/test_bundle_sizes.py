"""The size of bundles (R-CAT-232)."""

from __future__ import annotations

import base64
import gzip
import random
from pathlib import Path

import pytest
from bundle_workshop import findings, patched_bundle, settings_of
from commands import olmc

from olmc.compiler.load.files import scan
from olmc.k8s.diagnostics import Report
from olmc.review.check.validators.bundles import readable, size_findings
from olmc.review.check.validators.folders import BundleFolder, Sizes, read_folder


def told(whole: int, compressed: int) -> list[tuple[str, str]]:
    """What is said of a bundle of this size."""
    folder = BundleFolder("tea", (), (), sizes=lambda: Sizes(whole, compressed))
    return [(finding.rule.code, finding.text) for finding in size_findings(folder, "tea.v1")]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (948_600, "948.6 kB"), (1 << 20, "1.0 MB"), (9_500_000, "9.5 MB"),
     (2_000_000_000, "2.0 GB")],
)  # fmt: skip
def test_readable_sizes(size: int, text: str) -> None:
    assert readable(size) == text


def test_unknown_sizes() -> None:
    """Said instead of a comparison, the compressed size first."""
    assert told(0, 0) == [("OLMC281", "Value tea.v1: unable to check the bundle compressed size")]
    assert told(0, 5) == [("OLMC281", "Value tea.v1: unable to check the bundle size")]


def test_limits() -> None:
    """Up to 85 % of a megabyte there is nothing to say, and a whole megabyte is still allowed."""
    assert told(9_000_000, 891_289) == []
    figures = "size=~891.3 kB , max=1.0 MB. Bundle uncompressed size is 9.0 MB"
    near = f"Value tea.v1: nearing maximum bundle compressed size with gzip: {figures}"
    assert told(9_000_000, 891_290) == [("OLMC281", near)]
    assert [code for code, _ in told(9_000_000, 1 << 20)] == ["OLMC281"]
    figures = "size=~1.0 MB , max=1.0 MB. Bundle uncompressed size is 9.0 MB"
    over = f"Value tea.v1: maximum bundle compressed size with gzip size exceeded: {figures}"
    assert told(9_000_000, (1 << 20) + 1) == [("OLMC280", over)]


def test_every_file_counts(tmp_path: Path) -> None:
    """Files of any folder, each compressed by itself and in base 64."""
    noise = base64.b64encode(random.Random(1).randbytes(600_000)).decode()
    root = patched_bundle(tmp_path, {"tests/scorecard/noise.txt": noise, "notes.txt": noise})
    (too_large,) = findings(root, settings_of())
    files = [path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()]
    compressed = sum(len(base64.b64encode(gzip.compress(data, 9, mtime=0))) for data in files)
    whole = sum(map(len, files))
    sizes = read_folder(root, scan(root, Report()), None).sizes()
    assert sizes == Sizes(whole, compressed)
    figures = f"size=~{readable(compressed)} , max=1.0 MB. Bundle uncompressed size is {readable(whole)}"
    assert too_large.code == "OLMC280"
    assert too_large.message.endswith(figures)


def test_source_code_around_a_bundle_is_no_part_of_it(tmp_path: Path) -> None:
    """Only manifests/ and metadata/ go into the image then. No tool applies the other files of a bundle by itself."""
    noise = base64.b64encode(random.Random(1).randbytes(1_600_000)).decode()
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: tea}\nrules: []\n"
    files = {"vendor/noise.txt": noise, "assets/role.yaml": role}
    root = patched_bundle(tmp_path, files)
    assert [finding.code for finding in findings(root, settings_of())] == ["OLMC280"]
    assert "OLMC173" not in olmc("check", root).stdout
    (root / "go.mod").write_text("module example.com/tea\n", encoding="utf-8")
    assert findings(root, settings_of()) == []
    assert "OLMC173" not in olmc("check", root).stdout


def test_small_bundles_are_not_compressed(tmp_path: Path) -> None:
    """Their size is given as more than it is, which changes nothing that is said."""
    root = patched_bundle(tmp_path, {})
    sizes = read_folder(root, scan(root, Report()), None).sizes()
    files = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    assert sizes.whole == sum(map(len, files))
    assert sizes.compressed > sum(len(base64.b64encode(gzip.compress(data))) for data in files)
    assert findings(root, settings_of()) == []
