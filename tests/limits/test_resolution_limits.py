"""Resolutions that would never end: they end, in the same way everywhere, and Ctrl-C is heard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from olmc.resolver.cel_cost import rule_cost
from olmc.resolver.predicates import CelCostError, compile_rule

OPERATORS = "operators.coreos.com"


def pigeonhole(root: Path, packages: int, versions: int) -> Path:
    """So many packages, of each of which any version provides one of fewer APIs, which only one may provide."""
    (root / "catalogs/holes").mkdir(parents=True)
    group = f"apiVersion: {OPERATORS}/v1\nkind: OperatorGroup\nmetadata: {{name: g, namespace: ns}}\n"
    objects, catalog = [group], []
    for package in range(packages):
        name = f"pigeon-{package}"
        objects.append(
            f"apiVersion: {OPERATORS}/v1alpha1\nkind: Subscription\nmetadata: {{name: {name}, namespace: ns}}\n"
            f"spec: {{name: {name}, source: holes, sourceNamespace: olm, channel: stable}}\n"
        )
        catalog.append(f"schema: olm.package\nname: {name}\ndefaultChannel: stable\n")
        entries = ", ".join(
            f"{{name: {name}.v1.0.{v}" + (f", replaces: {name}.v1.0.{v - 1}}}" if v else "}") for v in range(versions)
        )
        catalog.append(f"schema: olm.channel\npackage: {name}\nname: stable\nentries: [{entries}]\n")
        catalog += [
            f"schema: olm.bundle\nname: {name}.v1.0.{v}\npackage: {name}\nimage: registry.example.com/{name}:{v}\n"
            f"properties:\n- {{type: olm.package, value: {{packageName: {name}, version: 1.0.{v}}}}}\n"
            f"- {{type: olm.gvk, value: {{group: holes.example.com, version: v1, kind: Hole{v}}}}}\n"
            for v in range(versions)
        ]
    (root / "all.yaml").write_text("---\n".join(objects), encoding="utf-8")
    (root / "catalogs/holes/catalog.yaml").write_text("---\n".join(catalog), encoding="utf-8")
    return root


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "olmc", *map(str, arguments)]


def test_a_pigeonhole_ends(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 10, 9)
    done = subprocess.run(
        command("resolve", root, "--resolve-timeout", "1"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3, done.stderr
    assert "the solver has run into 10,000 conflicts and knows no answer yet [OLMC504]" in done.stderr
    assert "--resolve-timeout SECONDS" in done.stderr


def test_it_ends_by_itself_and_by_the_environment(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 10, 9)
    env = {**os.environ, "OLMC_LIMIT_CONFLICTS": "500"}
    done = subprocess.run(command("render", root), capture_output=True, text=True, timeout=60, env=env)
    assert "500 conflicts" in done.stderr
    assert done.returncode == 3


def test_a_small_one_is_answered(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 4, 3)
    done = subprocess.run(command("resolve", root), capture_output=True, text=True, timeout=60)
    assert "OLMC504" not in done.stderr
    assert "no solution" in done.stdout + done.stderr or "constraints not satisfiable" in done.stdout + done.stderr


def test_ctrl_c_is_heard_in_the_solver(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 12, 11)
    process = subprocess.Popen(
        command("resolve", root, "--resolve-timeout", "1000000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # By its processor time it is past its imports, and nothing but the solver takes so long.
    while _cpu_seconds(process.pid) < 3 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode in (-signal.SIGINT, 130)
    assert b"Traceback" not in said


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LIST = "[" + ", ".join(["0"] * 50) + "]"
NESTED = f"{LIST}.all(a, {LIST}.all(b, {LIST}.all(c, {LIST}.all(d, {LIST}.all(e, {LIST}.all(f, true))))))"
DOUBLED = "[['aaaaaaaa']]" + ".map(x, x + x)" * 40 + ".exists(x, size(x) > 0)"


@pytest.mark.parametrize("rule", [NESTED, DOUBLED, "'a' + " * 70 + "'a' == ''"])
def test_a_rule_that_may_cost_too_much_is_not_evaluated(rule: str) -> None:
    with pytest.raises(CelCostError, match="OLMC_LIMIT_CEL_STEPS"):
        compile_rule(rule)([])


def test_what_a_rule_costs_depends_on_the_bundle_as_well() -> None:
    rule = compile_rule("properties.exists(a, properties.exists(b, properties.exists(c, a.type == b.type && c != b)))")
    assert rule([("x", "1"), ("y", "2")])
    with pytest.raises(CelCostError):
        rule([("x", str(number)) for number in range(100)])


@pytest.mark.parametrize(
    "rule",
    [
        "properties.exists(p, p.type == 'certified')",
        "properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.0.0') >= 0)",
        "properties.all(p, p.type != 'x' || properties.exists(q, q.type == p.value.needs))",
    ],
)
def test_rules_as_people_write_them_are_evaluated(rule: str) -> None:
    compile_rule(rule)([("olm.gvk", {"group": "a.example.com", "kind": "A", "version": "v1"})] * 150)


def test_texts_and_remarks_are_no_macros() -> None:
    cost = rule_cost("'a.map(x, [1, 2' == \"b.all(\" // .exists(x, y)\n || true")
    assert (len(cost.words), cost.longest, cost.additions) == (1, 1, 0)


def test_a_workspace_with_such_a_rule_says_so(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 1, 1)
    catalog = root / "catalogs/holes/catalog.yaml"
    rule = f'- {{type: olm.constraint, value: {{failureMessage: never, cel: {{rule: "{DOUBLED}"}}}}}}\n'
    catalog.write_text(catalog.read_text(encoding="utf-8") + rule, encoding="utf-8")
    done = subprocess.run(command("resolve", root), capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "[OLMC505]" in done.stderr
    assert "OLMC_LIMIT_CEL_STEPS" in done.stderr
