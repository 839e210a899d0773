"""The libraries that scaffolds install: all that olmc needs, each of one version and with hashes."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from pipeline_workshop import PROJECT

from olmc.integrations.pipelines.scaffolds import requirements
from olmc.resources import template_text

LINE = re.compile(r"^([a-z0-9.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def test_all_that_olmc_needs_is_there() -> None:
    """In versions that pyproject.toml allows."""
    text = template_text("requirements.txt")
    versions = {name: version for name, version, _ in LINE.findall(text)}
    assert len(versions) == sum(not line.startswith(("#", " ")) for line in text.splitlines())
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for needed in map(Requirement, project["dependencies"]):
        version = versions[needed.name.lower().replace("_", "-").replace(".", "-")]
        assert needed.specifier.contains(version, prereleases=True), needed


def test_requirements_of_wheels(tmp_path: Path) -> None:
    """One line a library, with a hash for each machine."""
    wheels = [tmp_path / f"Salt_Water-1.2-cp313-cp313-{machine}.whl" for machine in ("a", "b")]
    for wheel in wheels:
        wheel.write_bytes(wheel.name.encode())
    digests = sorted(hashlib.sha256(wheel.name.encode()).hexdigest() for wheel in wheels)
    text = requirements(wheels)
    assert LINE.findall(text) == [
        ("salt-water", "1.2", "".join(f" \\\n    --hash=sha256:{digest}" for digest in digests))
    ]
