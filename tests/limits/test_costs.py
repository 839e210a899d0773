"""Small input that is made to cost much: what it takes is bounded, and its output is no larger than anybody reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_input_limits import olmc

FIXTURE = Path(__file__).parents[2] / "fixtures" / "own-namespace"
RBAC = "rbac.authorization.k8s.io"
INSTALLED = """\
{{apiVersion: v1, kind: Namespace, metadata: {{name: n{0}}}}}
---
{{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {{name: g, namespace: n{0}}}, spec: {{}}}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {{name: b, namespace: n{0}}}
spec: {{name: beacon, source: harbour, sourceNamespace: olm}}
"""


def workspace(path: Path) -> Path:
    """A copy of the fixture with an operator in its own namespace."""
    for source in FIXTURE.rglob("*"):
        if source.is_file():
            target = path / source.relative_to(FIXTURE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return path


def with_rivals(path: Path, count: int) -> Path:
    """The operator in as many further namespaces, for all namespaces in each."""
    workspace(path)
    (path / "n.yaml").write_text("---\n".join(map(INSTALLED.format, range(count))))
    return path


def test_hundreds_of_groups_in_each_others_way(tmp_path: Path) -> None:
    done = olmc("render", with_rivals(tmp_path / "w", 200), "-o", "name")
    assert done.returncode == 1
    assert done.stderr.count("[OLMC301]") == 200


@pytest.mark.parametrize(("count", "more"), [(8, 0), (30, 21)])
def test_of_many_groups_that_have_an_api_the_first_are_named(tmp_path: Path, count: int, more: int) -> None:
    """As many have it each in its own namespace, that of the fixture as well, and the last would have it in all."""
    root = workspace(tmp_path / "w")
    own = INSTALLED.replace("n{0}", "m{0:02}").replace("spec: {{}}", "spec: {{targetNamespaces: [m{0:02}]}}")
    (root / "m.yaml").write_text("---\n".join((*map(own.format, range(count)), INSTALLED.format(0))))
    done = olmc("render", root, "-o", "name")
    failure = done.stderr.split("namespace n0 would be Failed")[1].partition("Let the groups")[0]
    assert failure.count(" has Beacon.v1.lights.example.com\n") == count + 1 - more
    assert (f"and {more} more, this one first" in failure) is bool(more)
