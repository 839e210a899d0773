"""Where a library has no wheel, what needs it says so; everything else works."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from scenarios import write

pytestmark = pytest.mark.process

WITHOUT = """\
import sys

from importlib.machinery import PathFinder

LIBRARIES = sys.argv.pop(1).split(",")

class Installed:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in LIBRARIES else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
from olmc.__main__ import run
run()
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.light.example.com}
spec:
  group: light.example.com
  names: {kind: Lamp, listKind: LampList, plural: lamps, singular: lamp}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              name: {type: string, maxLength: 9, EXTRA}
"""


def without(libraries: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A run of olmc where these libraries, by the names of their modules, are not installed."""
    command = [sys.executable, "-c", WITHOUT, libraries, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_workspace_needs_neither(project: Path) -> None:
    """What most people have is rendered without CEL, RE2 and jinja2, and says the same."""
    with_all = without("none", "render", project / "fixtures" / "port")
    small = without("cel_expr_python,re2,jinja2", "render", project / "fixtures" / "port")
    assert (small.returncode, small.stdout, small.stderr) == (with_all.returncode, with_all.stdout, with_all.stderr)
    assert small.stdout


def test_rules_that_nobody_judges_are_told(tmp_path: Path) -> None:
    """OLMC507: what the API server would say of them is unknown, and not silently fine."""
    extra = "x-kubernetes-validations: [{rule: 'self.size() < 9 &&'}]"
    other = CRD.replace(", EXTRA", "").replace("lamps", "torches").replace("Lamp", "Torch").replace("lamp}", "torch}")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: lights}\n"
    write(tmp_path, {"crd.yaml": f"{CRD.replace('EXTRA', extra)}---\n{other}", "namespace.yaml": namespace})
    judged = without("none", "render", tmp_path)
    assert (judged.returncode, "name: lamps.light.example.com" in judged.stdout) == (1, False)
    small = without("cel_expr_python", "render", tmp_path)
    told = "rules in CEL of lamps.light.example.com are not judged, since the CEL library is not installed [OLMC507]"
    assert told in small.stderr
    assert (small.returncode, "name: lamps.light.example.com" in small.stdout) == (0, True)


@pytest.mark.parametrize(
    ("library", "name", "arguments"),
    [
        ("re2", "google-re2", ["render"]),
        ("jinja2", "jinja2", ["report", "-o", "site"]),
        ("jinja2", "jinja2", ["init", "github", "--dry-run"]),
    ],
)
def test_what_is_missing_is_named(
    library: str, name: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that names the library and says where to look, nothing on stdout, and no traceback."""
    write(tmp_path, {"crd.yaml": CRD.replace("EXTRA", r"pattern: '^(?P<x>a{1,3})*\\p{L}$'")})
    monkeypatch.chdir(tmp_path)
    small = without(library, *arguments)
    assert (small.returncode, small.stdout) == (3, "")
    assert f"error: this needs the library {name}, which is not installed" in small.stderr
    assert "docs/install.md" in small.stderr
    assert without("none", *arguments).returncode in (0, 1)


def test_the_page_has_all_libraries(project: Path) -> None:
    """docs/install.md lists what pyproject.toml asks for, by its name, and no other."""
    page = (project / "docs" / "install.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {f"olmc[{extra}]" for extra in table["optional-dependencies"] if extra not in ("dev", "fuzz")}
    assert rows == {Requirement(one).name for one in table["dependencies"]} | extras
