"""docs/security-model.md: small inputs that took olmc minutes or became hundreds of megabytes, and their kinds."""

from __future__ import annotations

import cProfile
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import forks
import pytest
import yaml

from olmc.compiler.load.files import PathPatterns
from olmc.k8s.api.formats import conforms
from olmc.k8s.api.selectors import parse_field_selector
from olmc.k8s.yaml import dump_one
from olmc.k8s.yaml.scalars import resolve
from olmc.review.check.validators.community import mail_problem
from olmc.review.diff.compare import compare
from olmc.review.diff.crd_kinds import RISK
from olmc.review.diff.object_kinds import embedded_risk
from olmc.review.diff.settings import Side

FIXTURE = Path(__file__).parents[2] / "fixtures" / "own-namespace"
SECONDS = 20
"""Of CPU time: a command takes less than three, and each of these took minutes."""


def olmc(*arguments: str | Path, cwd: Path = Path()) -> subprocess.CompletedProcess[str]:
    return forks.run_text(arguments, cwd=cwd.absolute(), env=os.environ, limits={"RLIMIT_CPU": SECONDS})


def with_csv(root: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of the fixture whose CSV is changed."""
    shutil.copytree(FIXTURE, root)
    file = next(root.rglob("*.clusterserviceversion.yaml"))
    csv = yaml.safe_load(file.read_text())
    change(csv)
    file.write_text(json.dumps(csv))
    return root


def unchanged(_: dict[str, Any]) -> None:
    """Nothing, which is what a CSV may need."""


MAILS = (
    "a" * 24,
    "a" * 3_000,
    "a. " * 1_000 + "!",
    '"a"' * 1_000,
    "a.." * 1_000,
    " " * 3_000 + "<",
    "a@b" + "(" * 3_000,
)
VALUES = (
    "0_" * 20_000, "0_" * 20_000 + "x", "1:" * 20_000, "0" * 40_000 + "e", "0." + "0_" * 20_000, "1e" + "0" * 40_000,
)  # fmt: skip
DURATIONS = ("1" * 40_000, "1 " * 20_000, "1s" * 20_000 + "!")
SELECTORS = ("a=" + " " * 9_000 + "b", "a" + " " * 9_000 + "=", " " * 9_000 + "!")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        *((mail_problem, text) for text in MAILS),
        *((lambda text: dump_one({"a": text}), text) for text in VALUES),
        *((resolve, text) for text in VALUES),
        *((lambda text: conforms("duration", text), text) for text in DURATIONS),
        *((lambda text: conforms("byte", text), text) for text in ("A" * 40_001, "AA==" * 10_000)),
        *((lambda text: list(parse_field_selector(text)), text) for text in SELECTORS),
        (lambda text: PathPatterns([text]), "[" * 999), (lambda text: PathPatterns([text]), "[:a" * 333),
    ],
)  # fmt: skip
def test_attacks_of_the_kind(call: Callable[[str], object], text: str) -> None:
    """Each of them took at least a second, most of them minutes."""
    start = time.thread_time()
    with suppress(ValueError):
        call(text)
    assert time.thread_time() - start < 0.5


@pytest.mark.process
@pytest.mark.parametrize("field", ["email", "name"])
def test_a_mail_address_keeps_no_check_busy(field: str, tmp_path: Path) -> None:
    def change(csv: dict[str, Any]) -> None:
        csv["spec"]["maintainers"] = [{"name": "a", "email": "a@example.com", field: "a" * 24}]

    root = with_csv(tmp_path / "w", change)
    assert olmc("check", root, "--optional", "all").returncode in (0, 1)


@pytest.mark.process
@pytest.mark.parametrize("lines", ["\n" * 3_000, " \n" * 1_500, "{\n" * 1_500, "\t\n" * 1_500, '"\n' * 1_500])
@pytest.mark.parametrize("command", ["render", "check", "diff"])
def test_empty_lines_beside_a_kustomization(command: str, lines: str, tmp_path: Path) -> None:
    root = with_csv(tmp_path / "w", unchanged)
    (root / "kustomization.yaml").write_text("resources: [operators.yaml]\n")
    (root / "a.yaml").write_text(f"# olm.package operators.coreos.com\n{lines}")
    arguments = (root, FIXTURE) if command == "diff" else (root,)
    assert olmc(command, *arguments).returncode in (0, 1, 3)


@pytest.mark.process
@pytest.mark.parametrize("value", VALUES)
def test_a_value_keeps_no_render_busy(value: str, tmp_path: Path) -> None:
    root = with_csv(tmp_path / "w", lambda csv: csv["metadata"].setdefault("annotations", {}).update(a=value))
    done = olmc("render", root)
    assert done.returncode == 0, done.stderr
    assert value in done.stdout


def copies(csv: dict[str, Any]) -> None:
    csv["metadata"].setdefault("annotations", {})["a"] = "x" * 200_000
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    csv["spec"]["installModes"] = [{"type": mode, "supported": True} for mode in modes]


def containers(csv: dict[str, Any]) -> None:
    (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
    pod = deployment["spec"]["template"]["spec"]
    pod["containers"] = [{"name": f"c{number}", "image": "a"} for number in range(2_500)]


def long(csv: dict[str, Any]) -> None:
    csv["spec"]["description"] = "x" * 200_000


def in_all(root: Path, count: int) -> None:
    text = (root / "operators.yaml").read_text()
    group, *others = yaml.safe_load_all(text)
    group["spec"] = {}
    names = "---\n".join(
        f"{{apiVersion: v1, kind: Namespace, metadata: {{name: n{number}}}}}\n" for number in range(count)
    )
    (root / "operators.yaml").write_text(yaml.safe_dump_all([group, *others]))
    (root / "n.yaml").write_text(names)


def in_each(root: Path, count: int) -> None:
    each = (
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: n{0}}}}}\n---\n"
        "{{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {{name: g, namespace: n{0}}}, "
        "spec: {{targetNamespaces: [n{0}]}}}}\n---\n"
        "{{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {{name: b, namespace: n{0}}}, "
        "spec: {{name: beacon, source: harbour, sourceNamespace: olm}}}}\n"
    )
    (root / "n.yaml").write_text("---\n".join(map(each.format, range(count))))


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "spread", "count", "limit"),
    [
        (copies, in_all, 1_000, "CSV_BYTES"), (long, in_each, 600, "CSV_BYTES"),
        (containers, in_each, 250, "CONTAINERS"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["render", "check", "status"])
def test_a_small_input_that_becomes_a_large_output(
    command: str,
    change: Callable[[dict[str, Any]], None],
    spread: Callable[[Path, int], None],
    count: int,
    limit: str,
    tmp_path: Path,
) -> None:
    root = with_csv(tmp_path / "w", change)
    spread(root, count)
    done = olmc(command, root)
    assert done.returncode == 3, done.stderr
    told = done.stdout + done.stderr
    assert "[OLMC124]" in told and f"OLMC_LIMIT_{limit}=NUMBER" in told
    assert "clusterserviceversion.yaml" in told


@pytest.mark.process
@pytest.mark.parametrize("given", ["absolute", "above", "from"])
def test_no_page_shows_a_path_of_the_machine(given: str, tmp_path: Path) -> None:
    """A report is for others, who do not need to know where the folders of its author are."""
    root = with_csv(tmp_path / "private" / "harbour", unchanged)
    here = tmp_path / "here"
    here.mkdir()
    path = Path("../private/harbour") if given == "above" else root
    more = ("--from", str(FIXTURE)) if given == "from" else ()
    done = olmc("report", path, *more, "-o", tmp_path / "site", cwd=here)
    assert done.returncode == 0, done.stderr
    pages = [page.read_text() for page in (tmp_path / "site").rglob("*.html")]
    assert pages and any("harbour" in page for page in pages)
    assert not [page for page in pages for hidden in ("private", str(tmp_path), str(FIXTURE.parent)) if hidden in page]


def test_thousands_of_patterns_are_compared_as_one() -> None:
    """What decides is the same as with each of them by itself, and thousands take no longer than a few."""
    lines = [f"x{number}*y/" for number in range(4_900)] + ["a*", "!ab", "/c/", "d/**/e"]
    patterns = PathPatterns(lines)
    few = PathPatterns(lines[-4:])
    paths = ("a", "ab", "b/ab", "c/", "b/c/", "d/x/e", "x1zy/", "x1zy", "b/x7y/z", "!ab")
    assert [patterns(path) for path in paths] == [few(path) or path in ("x1zy/", "b/x7y/z") for path in paths]
    start = time.thread_time()
    for number in range(2_000):
        assert not patterns(f"folder/{number}/b.yaml")
    assert time.thread_time() - start < 2


_CLUSTER = "ClusterRoleBinding"


def _templates(count: int, who: str, binding: dict[str, Any]) -> list[dict[str, Any]]:
    """Templates with a binding each, of somebody to a role that every cluster has."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    return [
        {
            "apiVersion": "template.openshift.io/v1", "kind": "Template",
            "metadata": {"name": f"t{n}", "namespace": "n"},
            "objects": [{
                "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "x"},
                "subjects": [{"kind": "User", "name": f"{who}{n}"}], **binding,
                "roleRef": {**role, **binding["roleRef"]},
            }],
        }
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("role", "kind"), [("edit", "RoleBinding"), ("admin", "RoleBinding"), ("edit", _CLUSTER)])
def test_templates_with_a_binding_each_are_compared_for_their_risks_alone(role: str, kind: str) -> None:
    """That takes fewer calls than to compare all of the rights in them, which took seconds for a thousand."""
    binding = {"kind": kind, "roleRef": {"name": role}}
    old, new = (_templates(100, who, binding) for who in ("a", "b"))
    # What is read once for all, such as the roles of every cluster, counts for neither.
    changes = compare(Side("", tuple(old)), Side("", tuple(new))).changes
    assert sum(change.kind is embedded_risk for change in changes) >= 100

    def each_by_itself() -> None:
        for before, after in zip(old, new, strict=True):
            compare(Side("", tuple(before["objects"])), Side("", tuple(after["objects"])))

    taken = _calls(lambda: compare(Side("", tuple(old)), Side("", tuple(new))))
    assert taken < _calls(each_by_itself) * 0.9


def _calls(work: Callable[[], object]) -> int:
    """How many functions are called, which no other load of the machine changes."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def test_the_risks_alone_are_those_of_all_changes() -> None:
    """Objects in objects are compared for their risks only, and none of these is left out."""
    for role in ("edit", "admin", "view", "cluster-admin"):
        binding = {"kind": "RoleBinding", "roleRef": {"name": role}}
        old, new = (Side("", tuple(_templates(1, who, binding)[0]["objects"])) for who in ("a", "b"))
        every, risks = (compare(old, new, only_risks=only).changes for only in (False, True))
        assert [c for c in risks if c.severity >= RISK] == [c for c in every if c.severity >= RISK]
        assert len(risks) < len(every)
