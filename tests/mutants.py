"""Count the random changes of olmc that the fast tests notice.

    .venv/bin/python tests/mutants.py                          60 changes in reconcile, render and resolver
    .venv/bin/python tests/mutants.py --seed 7 --count 20      20 others
    .venv/bin/python tests/mutants.py --only 3,17 --seed 7     two of these once more
    .venv/bin/python tests/mutants.py --first                  only with the tests of `FIRST`, for a quick look

Each change is made alone: an operator, a constant, a condition, a statement that is left out, two arguments that change
places; of each kind about as many. The tests are collected once. For each change a copy of this process (a fork) gives
the changed function its new code and runs the fast tests until one fails: those of its package first, then those of
`FIRST`, then all. The test that failed runs once more without the change, and does not count if it fails again.
A change that no test notices survives. Not every survivor is a hole in the tests: some changes mean the same as
what was there.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import random
import signal
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

PROJECT = Path(__file__).resolve().parent.parent
PACKAGES = ("olmc/compiler/reconcile", "olmc/compiler/render", "olmc/compiler/resolver")
FIRST = ("tests/reconcile", "tests/render", "tests/resolver", "tests/cases", "tests/olm", "tests/transition")
SECONDS = 1200
"""The CPU seconds that a copy may take: a change may keep a loop from ending."""

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
    found: dict[int, Mutant] = {}
    for number in range(1, min(count, len(everything)) + 1):
        found[number] = kinds[chance.choice(sorted(kind for kind, left in kinds.items() if left))].pop()
    return found


class Mutants:
    """A plugin that runs the collected tests against each change instead of running them."""

    def __init__(self, chosen: dict[int, Mutant], jobs: int, *, first_only: bool) -> None:
        self.chosen, self.jobs, self.first_only = chosen, jobs, first_only
        self.noticed: dict[int, str] = {}
        self.failing: set[str] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for mutant in self.chosen.values():
            import_module(mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        running: dict[int, tuple[int, int]] = {}
        waiting = list(self.chosen)
        while waiting or running:
            while waiting and len(running) < self.jobs:
                self._start(waiting.pop(0), running, session.items)
            again = self._wait(running, session.items)
            waiting[:0] = again
        return True

    def _start(self, number: int, running: dict[int, tuple[int, int]], items: Sequence[pytest.Item]) -> None:
        mutant, (reader, writer) = self.chosen[number], os.pipe()
        if not (process := os.fork()):
            sound = [item for item in items if item.nodeid not in self.failing]
            run_in_copy(mutant, ordered(sound, mutant, first_only=self.first_only), writer)
        os.close(writer)
        running[process] = number, reader

    def _wait(self, running: dict[int, tuple[int, int]], items: Sequence[pytest.Item]) -> list[int]:
        """Wait for one of the copies, and print what became of its change.

        Return the change where the test that failed fails without it, too: it begins again without that test.
        """
        process, status = os.wait()
        number, reader = running.pop(process)
        with os.fdopen(reader) as stream:
            test = stream.read()
        if test and not passes_unchanged(next(item for item in items if item.nodeid == test)):
            print(f"{test} fails without a change, too", flush=True)
            self.failing.add(test)
            return [number]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise AssertionError(f"there is no function for {self.chosen[number]}")
        self.noticed[number] = test or ("the time that it takes" if os.WIFSIGNALED(status) else "")
        print(f"{number}. {self.chosen[number]}\n    {self.noticed[number] or 'SURVIVES'}", flush=True)
        return []


def ordered(items: Sequence[pytest.Item], mutant: Mutant, *, first_only: bool) -> list[pytest.Item]:
    """Return the tests in the order in which they are likely to notice a change."""
    folders = (f"tests/{Path(mutant.path).parent.name}/", *(f"{folder}/" for folder in FIRST))
    # These measure the process in which they run.
    items = [item for item in items if not item.nodeid.startswith("tests/test_tiers.py")]

    def place(item: pytest.Item) -> int:
        return next((n for n, folder in enumerate(folders) if item.nodeid.startswith(folder)), len(folders))

    return sorted((item for item in items if not first_only or place(item) < len(folders)), key=place)


def run_in_copy(mutant: Mutant | None, items: Sequence[pytest.Item], writer: int) -> None:
    """Run tests against a change in this process, which ends with it, and write the name of the first that fails."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    if mutant is not None and not carry_out(mutant):
        os._exit(1)
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            os.write(writer, item.nodeid.encode())
            break
    os._exit(0)


def passes_unchanged(item: pytest.Item) -> bool:
    reader, writer = os.pipe()
    if not (process := os.fork()):
        run_in_copy(None, [item], writer)
    os.close(writer)
    os.waitpid(process, 0)
    with os.fdopen(reader) as stream:
        return not stream.read()


def carry_out(mutant: Mutant) -> bool:
    """Give the functions of a module that a change is in their new code; false if there are none."""
    path = PROJECT / mutant.path
    source = path.read_bytes()
    changed = source[: mutant.start] + mutant.new.encode() + source[mutant.end :]
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(changed, path, "exec"))}
    # A change that has fewer lines than what was there moves those behind it.
    by_name: dict[str, list[CodeType]] = {}
    for (name, _), code in codes.items():
        by_name.setdefault(name, []).append(code)
    gc.unfreeze()  # tests/conftest.py freezes what was collected, and gc tells of nothing that is frozen
    functions = [
        each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__.co_filename == str(path)
    ]
    done = False
    for function in functions:
        found = codes.get((function.__qualname__, function.__code__.co_firstlineno)) or next(
            iter(by_name.get(function.__qualname__, ())), None
        )
        if found is not None and found.co_freevars == function.__code__.co_freevars:
            function.__code__ = found
            done = True
    return done


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="the numbers of some of them, separated by commas")
    parser.add_argument("--first", action="store_true", help="run the tests of FIRST alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--list", action="store_true", help="print them and try none")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    given = parser.parse_args()
    paths = sorted(path for package in given.packages for path in (PROJECT / package).rglob("*.py"))
    everything = [mutant for path in paths for mutant in mutants(PROJECT, path)]
    chosen = drawn(everything, given.count, given.seed)
    wanted = {int(number) for number in given.only.split(",") if number} or chosen.keys()
    chosen = {number: mutant for number, mutant in chosen.items() if number in wanted}
    if given.list:
        print(*(f"{number}. {mutant}" for number, mutant in chosen.items()), sep="\n")
        return
    os.environ.pop("CI", None)  # in which fast tests have a limit
    os.chdir(PROJECT)
    plugin = Mutants(chosen, given.jobs, first_only=given.first)
    folders = FIRST if given.first else ("tests",)
    if code := pytest.main(["-q", "-m", "fast", "-p", "no:cacheprovider", "--no-header", *folders], [plugin]):
        raise SystemExit(code)
    survivors = [number for number, test in plugin.noticed.items() if not test]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} changes are noticed, of {len(everything)} that there are")


if __name__ == "__main__":
    main()
