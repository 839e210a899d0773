"""Image pull specs."""

from __future__ import annotations

import pytest

from olmc.compiler.catalogs.properties import pull_spec_problem

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "spec",
    [
        "ubuntu",
        "acme/kettle",
        "Acme/kettle",
        "index.docker.io/kettle",
        "localhost:5000/kettle",
        "localhost/kettle",
        "quay.io/acme/kettle:v1.0.0_b-C",
        f"quay.io/acme/kettle@sha256:{HEX}",
        f"quay.io/acme/kettle:v1@sha512:{HEX}{HEX}",
        "[fd00::1]:5000/acme/kettle",
        "quay.io/a__b/c--d/e.f",
        "quay.io/" + "a/" * 127 + "b",
        "quay.io/acme/kettle:" + "t" * 128,
    ],
)
def test_a_good_pull_spec(spec: str) -> None:
    """R-CAT-124."""
    assert pull_spec_problem(spec) == ""


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("oci://quay.io/acme/kettle", "invalid reference format"),
        ("https://quay.io/acme/kettle", "invalid reference format"),
        ("quay.io/acme/kettle:", "invalid reference format"),
        ("quay.io/acme/kettle v1", "invalid reference format"),
        ("quay.io/acme/kettle\n", "invalid reference format"),
        ("quay.io/acme/kettle:vé", "invalid reference format"),
        ("quay.io//kettle", "invalid reference format"),
        ("quay.io/acme/e._f", "invalid reference format"),
        ("quay.io/acme/kettle:" + "t" * 129, "invalid reference format"),
        (f"quay.io/acme/kettle@sha256:{HEX[:31]}", "invalid reference format"),
        ("quay.io/acme/Kettle", "invalid reference format: repository name (acme/Kettle) must be lowercase"),
        ("Kettle:v1", "invalid reference format: repository name (library/Kettle) must be lowercase"),
        ("quay.\u212aio/kettle", "repository name must be lowercase"),
        (HEX, f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings"),
        ("quay.io/" + "a/" * 128 + "b", "repository name must not be more than 255 characters"),
        (f"quay.io/acme/kettle@ssha256:{HEX}", "unsupported digest algorithm"),
        (f"quay.io/acme/kettle:V@MD5:{HEX}", "invalid checksum digest format"),
        (f"quay.io/acme/kettle@sha256:{HEX[:40]}", "invalid checksum digest length"),
        (f"quay.io/acme/kettle@sha256:{HEX.upper()}", "invalid checksum digest format"),
    ],
)
def test_a_bad_pull_spec(spec: str, problem: str) -> None:
    """R-CAT-124, observed nr. 33."""
    assert pull_spec_problem(spec) == problem
