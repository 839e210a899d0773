"""Resolutions that would never end: they end, in the same way everywhere, and Ctrl-C is heard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from building import pigeonhole
from processes import PATIENCE, started, wait_until
from test_input_limits import olmc

from olmc.compiler.resolver.predicates import compile_rule
from olmc.k8s.api.cel_cost import bundle_size, rule_cost
from olmc.k8s.limits import CelAccount, CelCostError


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
    line = command("resolve", root, "--resolve-timeout", "1000000")
    with started(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # By its processor time it is past its imports, and nothing but the solver takes so long.
        wait_until(lambda: _cpu_seconds(process.pid) >= 3 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode in (-signal.SIGINT, 130)
    assert b"Traceback" not in said


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


LIST = "[" + ", ".join(["0"] * 50) + "]"
NESTED = f"{LIST}.all(a, {LIST}.all(b, {LIST}.all(c, {LIST}.all(d, {LIST}.all(e, {LIST}.all(f, true))))))"
DOUBLED = "[['aaaaaaaa']]" + ".map(x, x + x)" * 40 + ".exists(x, size(x) > 0)"


MANY = f"[{', '.join(['[]'] * 20_000)}].size() > 0"
COPIES = f"{LIST}.all(a, [{', '.join(['0'] * 1500)}].map(x, x).size() > 0)"
PATTERNS = f"{LIST}.all(a, !'a'.matches('(?i)(\\\\pL{{1,100}})'))"
HIDDEN = f"{LIST}.all(a, !'a'.matches('\\x28?i)(\\x5cpL\\x7b1,100}})'))"
GIVEN = "properties.exists(p, 'a'.matches(p.type))"
LARGE = f"'{'a' * 40_000}'.contains('{'a' * 20_000}' + 'b')"


@pytest.mark.parametrize(
    "rule",
    [NESTED, DOUBLED, "'a' + " * 70 + "'a' == ''", MANY, COPIES, PATTERNS, HIDDEN, GIVEN, LARGE],
    ids=["nested", "doubled", "texts", "many", "copies", "patterns", "hidden", "given", "large"],
)
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


def test_what_the_library_gives_up_on_is_not_taken_for_no() -> None:
    """It goes through 10,000 items and no more; OLM's has no such limit."""
    hundred = f"[{', '.join(['0'] * 101)}]"
    with pytest.raises(CelCostError, match="too much for the CEL library"):
        compile_rule(f"{hundred}.all(a, {hundred}.all(b, true))")([])


def test_many_rules_have_one_budget() -> None:
    account = CelAccount()
    with pytest.raises(CelCostError, match=r"with all others it .*\(OLMC_LIMIT_CEL_TOTAL"):
        for number in range(400):
            compile_rule(f"properties.exists(p, properties.exists(q, p.type + q.type == 'x{number}'))", account)(
                [("x", "1")] * 40
            )


def test_a_rule_is_asked_of_a_bundle_once() -> None:
    account, properties = CelAccount(), [("x", "1")]
    for _ in range(3):
        assert compile_rule("properties.exists(p, p.type == 'x')", account)(properties)
        spent = account.spent
    assert spent == account.spent
    assert not compile_rule("properties.exists(p, p.type == 'x')", account)([("y", "1")])
    assert account.spent > spent


def test_texts_and_remarks_are_no_macros() -> None:
    cost = rule_cost("'a.map(x, [1, 2' == \"b.all(\" // .exists(x, y)\n || true")
    assert (len(cost.words), cost.longest, cost.additions) == (1, 1, 0)
    assert cost.steps(bundle_size([])) < 10


def test_a_workspace_with_such_a_rule_says_so(tmp_path: Path) -> None:
    root = pigeonhole(tmp_path / "w", 1, 1)
    catalog = root / "catalogs/holes/catalog.yaml"
    rule = f'- {{type: olm.constraint, value: {{failureMessage: never, cel: {{rule: "{DOUBLED}"}}}}}}\n'
    catalog.write_text(catalog.read_text(encoding="utf-8") + rule, encoding="utf-8")
    done = subprocess.run(command("resolve", root), capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "[OLMC505]" in done.stderr
    assert "OLMC_LIMIT_CEL_STEPS" in done.stderr


UNDER = f"[{', '.join(['0'] * 28)}]"
UNDER = f"{UNDER}.all(a, {UNDER}.all(b, [{', '.join(['0'] * 8)}].map(c, [a, b, c]).size() > %d))"


def test_a_workspace_with_many_rules_says_so(tmp_path: Path) -> None:
    """Each may be evaluated by itself; the first of them are, and then it ends: in time, and in little memory."""
    assert 800_000 < rule_cost(UNDER).steps(bundle_size([("x", "y")] * 4)) < 1_000_000
    root = pigeonhole(tmp_path / "w", 1, 1)
    catalog = root / "catalogs/holes/catalog.yaml"
    constraints = "".join(
        f'- {{type: olm.constraint, value: {{failureMessage: never, cel: {{rule: "{UNDER % number}"}}}}}}\n'
        for number in range(100)
    )
    catalog.write_text(catalog.read_text(encoding="utf-8") + constraints, encoding="utf-8")
    done = olmc("resolve", root)
    assert done.returncode == 3, done.stderr[-2000:]
    assert "[OLMC505]" in done.stderr
    assert "OLMC_LIMIT_CEL_TOTAL" in done.stderr


def crd(rules: Iterable[str]) -> str:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "a.example.com", "scope": "Cluster", "names": {"kind": "A", "plural": "as"}, "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return json.dumps({**head, "metadata": {"name": "as.a.example.com"}, "spec": spec})


@pytest.mark.parametrize(
    ("rules", "limit"),
    [
        ((MANY,), "OLMC_LIMIT_CEL_STEPS"),
        (("'a' == \"" + '\\\\"' * 30_000,), "OLMC_LIMIT_CEL_STEPS"),
        (tuple(f"{' || '.join(['1 == 2'] * 2_000)} || self == {number}" for number in range(100)), "CEL_TOTAL"),
    ],
    ids=["many", "quotes", "rules"],
)
def test_a_crd_whose_rules_cost_too_much_to_compile(rules: tuple[str, ...], limit: str, tmp_path: Path) -> None:
    (tmp_path / "crd.json").write_text(crd(rules), encoding="utf-8")
    done = olmc("check", tmp_path)
    assert done.returncode in (1, 3), done.stderr[-2000:]
    assert limit in done.stdout + done.stderr
    assert "olmc does not compile it" in done.stdout + done.stderr


def test_fields_of_many_names_are_found_at_once(tmp_path: Path) -> None:
    """Each of 20,000 accesses is to one of 20,000 fields, whose names CEL writes in another way."""
    properties = {f"a-{number}": {"type": "string"} for number in range(20_000)}
    accesses = [f"self.a__dash__{number} != ''" for number in range(20_000)]
    rules = (" && ".join(accesses[first : first + 500]) for first in range(0, 20_000, 500))
    text = json.loads(crd(rules))
    text["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = properties
    (tmp_path / "crd.json").write_text(json.dumps(text), encoding="utf-8")
    done = olmc("check", tmp_path)
    assert "undefined field" not in done.stdout + done.stderr
    assert done.returncode in (0, 1), done.stderr[-2000:]


def stairs(root: Path, versions: int, ranges: int) -> Path:
    """A package of so many versions, and so many ranges of it that its head requires."""
    root = pigeonhole(root, 1, versions)
    catalog = root / "catalogs/holes/catalog.yaml"
    required = "".join(
        f"- {{type: olm.package.required, value: {{packageName: pigeon-0, versionRange: '>=1.0.{number}'}}}}\n"
        for number in range(ranges)
    )
    catalog.write_text(catalog.read_text(encoding="utf-8") + required, encoding="utf-8")
    return root


@pytest.mark.parametrize("subcommand", ["check", "resolve", "status"])
def test_many_ranges_of_a_package_with_many_versions(subcommand: str, tmp_path: Path) -> None:
    root = stairs(tmp_path / "w", 400, 1_300)
    done = olmc(subcommand, root)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert "pigeon-0.v1.0.398" in done.stdout + done.stderr


def test_a_few_ranges_are_met_as_ever(tmp_path: Path) -> None:
    root = stairs(tmp_path / "w", 4, 4)
    done = subprocess.run(command("resolve", root, "-o", "json"), capture_output=True, text=True, timeout=60)
    assert '"pigeon-0.v1.0.3"' in done.stdout


def layers(root: Path, depth: int, providers: int) -> Path:
    """Layers of bundles, each of which provides the API of its layer and requires that of the next one."""
    root = pigeonhole(root, 1, 1)
    catalog = root / "catalogs/holes/catalog.yaml"
    head = "- {type: olm.gvk.required, value: {group: layer0.example.com, version: v1, kind: K}}\n"
    documents = [catalog.read_text(encoding="utf-8") + head]
    for layer, name in ((layer, f"p{layer}-{number}") for layer in range(depth) for number in range(providers)):
        documents += [
            f"{{schema: olm.package, name: {name}, defaultChannel: s}}\n",
            f"{{schema: olm.channel, package: {name}, name: s, entries: [{{name: {name}.v1}}]}}\n",
            f"{{schema: olm.bundle, package: {name}, name: {name}.v1, image: x/y, properties: [\n"
            f"{{type: olm.package, value: {{packageName: {name}, version: 1.0.0}}}},\n"
            f"{{type: olm.gvk, value: {{group: layer{layer}.example.com, version: v1, kind: K}}}},\n"
            f"{{type: olm.gvk.required, value: {{group: layer{layer + 1}.example.com, version: v1, kind: K}}}}]}}\n",
        ]
    catalog.write_text("---\n".join(documents), encoding="utf-8")
    return root


@pytest.mark.parametrize("subcommand", ["check", "resolve", "status"])
def test_many_alternatives_of_many_alternatives_are_explained(subcommand: str, tmp_path: Path) -> None:
    root = layers(tmp_path / "w", 30, 18)
    done = olmc(subcommand, root)
    assert done.returncode == 1, done.stderr[-2000:]
    assert "layer1" in done.stdout + done.stderr


def test_two_alternatives_are_explained_as_ever(tmp_path: Path) -> None:
    root = layers(tmp_path / "w", 1, 2)
    done = subprocess.run(command("resolve", root), capture_output=True, text=True, timeout=60)
    unmet = "it requires an operator providing an API with group: layer1.example.com, version: v1, kind: K, and"
    assert done.stderr.count(unmet) == 2
    for name, line in (("p0-0.v1", 21), ("p0-1.v1", 30)):
        assert f"{name} (channel s, catalog holes) is a candidate, but" in done.stderr
        assert done.stderr.count(f"catalog.yaml:{line}:1)") == 2
