"""Count the random changes of olmc that the fast tests notice.

    .venv/bin/python tests/mutants.py                          60 changes in reconcile, render and resolver
    .venv/bin/python tests/mutants.py --seed 7 --count 20      20 others
    .venv/bin/python tests/mutants.py --only 3,17 --seed 7     two of these once more

Each change is made alone, in a copy of the checkout: an operator, a constant, a condition, a statement that is left
out, two arguments that change places; of each kind about as many. The fast tests of its package run against it, those
of `FIRST`, then all fast tests; a change that none of them notices survives. Not every survivor is a hole in the tests:
some changes mean the same as what was there.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = ("olmc/compiler/reconcile", "olmc/compiler/render", "olmc/compiler/resolver")
FIRST = ("tests/reconcile", "tests/render", "tests/resolver", "tests/cases", "tests/transition", "tests/rbac_report")
FAST = ("-x", "-q", "-m", "fast", "--no-header", "--tb=no", "-p", "no:cacheprovider")
# A change may keep a loop from ending.
SECONDS = 900.0

_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.Mult: ast.Add,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change: its file, the bytes from `start` to `end` of it, and the text that takes their place."""

    kind: str
    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_short(self.old)} → {_short(self.new)}"


def _short(text: str) -> str:
    return " ".join(text.split())[:70]


def mutants(root: Path, path: Path) -> Iterator[Mutant]:
    """Return all changes of a module, in order."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in changes(ast.parse(source)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        kind, name = type(node).__name__, str(path.relative_to(root))
        yield Mutant(kind, name, node.lineno, start, end, source[start:end].decode(), new)


def changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Return the nodes of a module that can be changed, each with its new text; only those that run in functions."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            body = function.body[1:] if ast.get_docstring(function) is not None else function.body
            for statement in body:
                for node in _without_functions(statement):
                    if isinstance(node, ast.expr | ast.stmt):
                        yield from ((node, new) for new in _changed(node))


def _without_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Return a node and those below it, without annotations, and without inner functions, which have their own turn."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name == "annotation" or isinstance(node, ast.JoinedStr):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _without_functions(inner)


def _changed(node: ast.AST) -> Iterator[str]:
    """Return the texts that can take the place of a node."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _OTHER:
            yield _text(ast.Compare(left, [_other(operator)], [right]))  # type: ignore[list-item]
        case ast.BoolOp(operator, values):
            yield _text(ast.BoolOp(_other(operator), values))  # type: ignore[arg-type]
            yield _text(values[0])
        case ast.BinOp(left, operator, right) if type(operator) in _OTHER:
            yield _text(ast.BinOp(left, _other(operator), right))  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            yield _text(operand)
        case ast.IfExp(test, body, orelse):
            yield _text(ast.IfExp(test, orelse, body))
        case ast.Constant(bool() as value):
            yield repr(not value)
        case ast.Constant(int() as value):
            yield repr(value + 1)
        case ast.Constant(str() as value) if value:
            yield repr(f"{value}x")
        case ast.Call(function, [first, second, *rest], keywords) if not isinstance(first, ast.Starred):
            yield _text(ast.Call(function, [second, first, *rest], keywords))
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Expr(ast.YieldFrom()) | ast.Expr(ast.Yield()):
            yield "pass"
        case ast.Continue() | ast.Break():
            yield "pass"


def _other(operator: ast.AST) -> ast.AST:
    return _OTHER[type(operator)]()


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def drawn(everything: list[Mutant], count: int, seed: int) -> dict[int, Mutant]:
    """Return so many changes by number: their kinds by chance, and one of the kind by chance."""
    chance = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in everything:
        kinds.setdefault(mutant.kind, []).append(mutant)
    for mutants_of_kind in kinds.values():
        chance.shuffle(mutants_of_kind)
    return {number: kinds[chance.choice(sorted(kinds))].pop() for number in range(1, count + 1)}


def copied(folder: Path) -> Path:
    """Copy the checkout, as git knows it, with what is changed in it and not committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=PROJECT, capture_output=True,
        check=True,
    ).stdout.decode()  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name, follow_symlinks=False)
    return folder


def passes(root: Path, *arguments: str) -> bool:
    """Run tests of a copy; tell whether all pass, within `SECONDS`."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "PYTHONDONTWRITEBYTECODE")}
    environment |= {"PYTHONPATH": str(root), "PYTHONPYCACHEPREFIX": str(root / "build/pycache")}
    command = [sys.executable, "-m", "pytest", *FAST, *arguments]
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    assert done.returncode in (0, 1, 2), done.stdout.decode()[-2000:]  # 2: a module can't even be imported
    return done.returncode == 0


def is_noticed(root: Path, mutant: Mutant, number: int, *, quickly: bool) -> str:
    """Return the tests that notice a change: "first", "all", or "" if it survives; `quickly` leaves out all."""
    path = root / mutant.path
    source = path.read_bytes()
    try:
        path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
        # Modules are compiled anew where their time differs, which counts in whole seconds.
        os.utime(path, (number, number))
        own = f"tests/{Path(mutant.path).parts[1]}"
        if not passes(root, own) or not passes(root, *(folder for folder in FIRST if folder != own)):
            return "first"
        return "" if quickly or passes(root, "-n", "auto", "--dist", "worksteal") else "all"
    finally:
        path.write_bytes(source)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="the numbers of some of them, separated by commas")
    parser.add_argument("--quick", action="store_true", help="run the tests of FIRST alone")
    parser.add_argument("--list", action="store_true", help="print them and try none")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    given = parser.parse_args()
    paths = sorted(path for package in given.packages for path in (PROJECT / package).rglob("*.py"))
    everything = [mutant for path in paths for mutant in mutants(PROJECT, path)]
    chosen = drawn(everything, given.count, given.seed)
    wanted = [int(number) for number in given.only.split(",") if number] or list(chosen)
    if given.list:
        print(*(f"{number}. {chosen[number]}" for number in wanted), sep="\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder))
        assert passes(root, *FIRST), "the tests do not pass without a change"
        survivors = 0
        for number in wanted:
            noticed = is_noticed(root, chosen[number], number, quickly=given.quick)
            survivors += not noticed
            print(
                f"{number}. {'noticed' if noticed else 'SURVIVES'} ({noticed or 'none'}) {chosen[number]}", flush=True
            )
    print(f"{len(wanted) - survivors} of {len(wanted)} changes are noticed, of {len(everything)} that there are")


if __name__ == "__main__":
    main()
