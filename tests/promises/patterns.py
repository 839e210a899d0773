"""Every regular expression of the package, found by walking its code, and texts that make one of them slow.

A pattern is the first argument of `regex`, of a function of `re`, or the value of a key `pattern` in a schema that
comes with olmc. Each comes with the methods that the code calls on it, as a pattern may be linear in `fullmatch` and
quadratic in `search`.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import ast
import builtins
import importlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, product
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import olmc

PACKAGE = Path(olmc.__file__).parent
METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "finditer", "findall", "split"})
MAKERS = frozenset({"compile", "regex"})
UNKNOWN = "stub"
"""What stands for a part of a pattern that only a run knows, such as a name that `re.escape` escapes."""


class Pattern(NamedTuple):
    """A pattern, where it stands, its flags, and the methods that are called on it."""

    place: str
    text: str | bytes
    flags: int
    methods: frozenset[str]

    @property
    def name(self) -> str:
        return f"{self.place} {self.text!r}"


class UnreadablePattern(NamedTuple):
    """A pattern that the code takes from elsewhere: the place of the call, and the expression."""

    place: str
    expression: str


def patterns() -> tuple[list[Pattern], list[UnreadablePattern]]:
    """All patterns of the package, and the calls whose pattern is data."""
    modules = {_module(path): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}
    used = _used_methods(modules)
    found: list[Pattern] = []
    unreadable: list[UnreadablePattern] = []
    for module, tree in modules.items():
        for one in _patterns_in(module, tree, used):
            (found if isinstance(one, Pattern) else unreadable).append(one)  # type: ignore[arg-type]
        found += _patterns_in_schemas_of(module, tree)
    found += _schema_patterns()
    return found, unreadable


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _used_methods(modules: Mapping[str, ast.Module]) -> Mapping[tuple[str, str], set[str]]:
    """The attributes that the code asks a name for, by the module that defines the name; "" for a use as a value."""
    used: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, tree in modules.items():
        nodes = list(ast.walk(tree))
        homes = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        bases = {id(node.value) for node in attributes}
        for attribute in attributes:
            name = attribute.value.id  # type: ignore[attr-defined]
            used[homes.get(name, (module, name))].add(attribute.attr)
        for node in nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in bases:
                used[homes.get(node.id, (module, node.id))].add("")
    return used


def _patterns_in(
    module: str, tree: ast.Module, used: Mapping[tuple[str, str], set[str]]
) -> Iterator[Pattern | UnreadablePattern]:
    calls = [(node, function) for node in ast.walk(tree) if (function := _function(node))]
    if not calls:
        return
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    namespace = {**vars(builtins), **vars(importlib.import_module(module))}
    for node, function in calls:
        assert isinstance(node, ast.Call)
        given = {"pattern": 0, "text": 0, "flags": _flags_index(function)}
        arguments = {name: node.args[index] for name, index in given.items() if index < len(node.args)}
        arguments |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        text = _value(arguments["pattern"], node, parents, namespace)
        flags = _value(arguments["flags"], node, parents, namespace) if "flags" in arguments else 0
        place = f"{module}:{node.lineno}"
        if not isinstance(text, str | bytes) or text == UNKNOWN:
            yield UnreadablePattern(place, ast.unparse(arguments["pattern"]))
            continue
        methods = {function} if function in METHODS else _methods(module, node, parents, used)
        yield Pattern(place, text, int(flags), frozenset(methods))


def _function(node: ast.AST) -> str | None:
    """The name of the function of `re`, or "regex", that a node calls."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name in METHODS | MAKERS:
            return name
        case ast.Call(func=ast.Name(id="regex")):
            return "regex"
    return None


def _flags_index(function: str) -> int:
    return {"sub": 4, "subn": 4, "split": 3, "compile": 1, "regex": 1}.get(function, 2)


def _value(node: ast.AST, place: ast.AST, parents: Mapping[ast.AST, ast.AST], namespace: Mapping[str, Any]) -> Any:
    """What an expression is, as far as the module tells; names of a function are looked up in its assignments."""
    scope = place
    while scope in parents and not isinstance(scope, ast.FunctionDef):
        scope = parents[scope]
    local: dict[str, Any] = {}
    if isinstance(scope, ast.FunctionDef):
        for argument in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
            local[argument.arg] = UNKNOWN
        for inner in ast.walk(scope):
            if isinstance(inner, ast.Assign):
                value = _evaluated(inner.value, namespace, local)
                for target in inner.targets:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            local[name.id] = value if name is target else UNKNOWN
            elif isinstance(inner, ast.comprehension | ast.For):
                local |= {name.id: UNKNOWN for name in ast.walk(inner.target) if isinstance(name, ast.Name)}
    return _evaluated(node, namespace, local)


def _evaluated(node: ast.AST, namespace: Mapping[str, Any], local: Mapping[str, Any]) -> Any:
    try:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.JoinedStr(values=values):
                return "".join(str(_evaluated(value, namespace, local)) for value in values)
            case ast.FormattedValue(value=value):
                return _evaluated(value, namespace, local)
            case ast.BinOp(left=left, right=right, op=ast.Add()):
                return _evaluated(left, namespace, local) + _evaluated(right, namespace, local)
            case ast.BinOp(left=left, right=right, op=ast.BitOr()):
                return _evaluated(left, namespace, local) | _evaluated(right, namespace, local)
            case ast.IfExp(body=body):
                return _evaluated(body, namespace, local)
            case ast.Name(id=name):
                return local[name] if name in local else namespace[name]
            case _:
                code = compile(ast.fix_missing_locations(ast.Expression(node)), "pattern", "eval")  # type: ignore[arg-type]
                return eval(code, {**namespace, **local})
    except Exception:
        return UNKNOWN


def _methods(
    module: str, node: ast.AST, parents: Mapping[ast.AST, ast.AST], used: Mapping[tuple[str, str], set[str]]
) -> set[str]:
    """The methods that are called on what `node` makes; all of them where the pattern is handed on."""
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return {parent.attr} & METHODS
    names = {""}
    while not isinstance(parent, ast.stmt):
        parent = parents[parent]
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        every = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        values = parent.value.elts if isinstance(parent.value, ast.Tuple) else [parent.value]
        index = values.index(node) if node in values and len(values) == len(every) else 0  # type: ignore[arg-type]
        names = used[module, every[index].id]
    return (names & METHODS) or set(METHODS) if "" not in names else set(METHODS)


def _patterns_in_schemas_of(module: str, tree: ast.Module) -> Iterator[Pattern]:
    """The patterns of the schemas that are written in Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                match key, value:
                    case ast.Constant(value="pattern"), ast.Constant(value=str() as text):
                        yield Pattern(f"{module}:{value.lineno}", text, 0, frozenset({"search"}))


def _schema_patterns() -> Iterator[Pattern]:
    """The patterns of the schemas that come with olmc, which are compared by `search`."""
    files = [path for folder in (PACKAGE, PACKAGE.parent / "schemas") for path in sorted(folder.rglob("*.json"))]
    for path in files:
        for text in sorted(set(_pattern_values(json.loads(path.read_text())))):
            yield Pattern(path.relative_to(PACKAGE.parent).as_posix(), text, 0, frozenset({"search"}))


def _pattern_values(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "pattern" and isinstance(inner, str):
                yield inner
            elif key == "patternProperties" and isinstance(inner, Mapping):
                yield from inner
            yield from _pattern_values(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _pattern_values(inner)


# How a pattern is built.

REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
MANY = 64
"""A repetition that may be longer than this counts as unbounded."""
_SAMPLE = [chr(code) for code in (*range(0x180), 0x3BC, 0x660, 0x2028, 0x2029, 0xFEFF, 0xFFFD, 0x1F600)]
"""The characters by which classes of a pattern are told apart."""


def parsed(pattern: Pattern) -> Any:
    text = pattern.text.decode("latin-1") if isinstance(pattern.text, bytes) else pattern.text
    return parser.parse(text, pattern.flags)


def faults(pattern: Pattern) -> list[str]:
    """The faults of a pattern that its text shows: what is slow with some text, whatever stands around it."""
    tree = parsed(pattern)
    flags = tree.state.flags
    found = []
    if flags & re.MULTILINE:
        found += ["^ with MULTILINE before a repetition of line breaks" for _ in _breaks_after_caret(tree, flags)]
    found += ["nested quantifiers" for _ in _nested(tree, flags)]
    found += ["a group that captures in a possessive quantifier, which Python forgets" for _ in _forgotten(tree)]
    return list(dict.fromkeys(found))


def _breaks_after_caret(tree: Any, flags: int) -> Iterator[Any]:
    for items in _sequences(tree):
        for first, second in pairwise(items):
            if first == (sre.AT, sre.AT_BEGINNING) and _is_unbounded(second) and "\n" in _chars(second[1][2], flags):
                yield second


def _nested(tree: Any, flags: int) -> Iterator[Any]:
    """Repetitions in a repetition, of which each piece may stand for a part of the repetition inside of it."""
    for items in _sequences(tree):
        for item in items:
            if item[0] in REPEATS and _is_unbounded(item):
                body = list(_flat(item[1][2]))
                for inner in body:
                    if inner[0] in REPEATS and _is_unbounded(inner):
                        inside = _chars(inner[1][2], flags)
                        others = (each for each in body if each is not inner)
                        if all(_least(each) == 0 or _chars([each], flags) & inside for each in others):
                            yield inner


def _forgotten(tree: Any) -> Iterator[Any]:
    """Groups whose span Python's library mixes up: it raises SystemError for some texts."""
    for items in _sequences(tree):
        for item in items:
            if item[0] is sre.POSSESSIVE_REPEAT:
                yield from (
                    inner
                    for within in _sequences(item[1][2])
                    for inner in within
                    if inner[0] is sre.SUBPATTERN and inner[1][0] is not None
                )


def _flat(items: Any) -> Iterator[Any]:
    for item in items:
        if item[0] is sre.SUBPATTERN:
            yield from _flat(item[1][3])
        else:
            yield item


def _is_unbounded(item: Any) -> bool:
    return item[0] in (*REPEATS, sre.POSSESSIVE_REPEAT) and item[1][1] > MANY


def _sequences(items: Any) -> Iterator[list[Any]]:
    """Each sequence of items in the tree of a pattern."""
    yield list(items)
    for item in items:
        for inner in _children(item):
            yield from _sequences(inner)


def _children(item: Any) -> list[Any]:
    operator, value = item
    if operator in (*REPEATS, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if operator is sre.SUBPATTERN:
        return [value[3]]
    if operator is sre.BRANCH:
        return list(value[1])
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if operator is sre.ATOMIC_GROUP:
        return [value]
    if operator is sre.GROUPREF_EXISTS:
        return [each for each in value[1:] if each]
    return []


def _least(item: Any) -> int:
    """The length of the shortest text of an item."""
    sub = parser.SubPattern(parser.State())
    sub.data = [item]
    return int(sub.getwidth()[0])


def _chars(items: Any, flags: int) -> frozenset[str]:
    """The characters of which a text of these items may consist."""
    found: set[str] = set()
    for item in items:
        if item[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY, sre.RANGE):
            found |= _class(item, flags)
        elif item[0] not in (sre.ASSERT, sre.ASSERT_NOT):
            for inner in _children(item):
                found |= _chars(inner, flags)
    return frozenset(found)


_CLASSES: dict[tuple[str, int], frozenset[str]] = {}


def _class(item: Any, flags: int) -> frozenset[str]:
    """The characters of the sample that one item for a character takes."""
    key = (repr(item), int(flags))
    if key not in _CLASSES:
        state = parser.State()
        state.flags, state.str = flags, ""
        code = compiler._code(parser.SubPattern(state, [item]), flags)
        one = _sre.compile("", int(flags), code, 0, {}, (None,))
        _CLASSES[key] = frozenset(char for char in _SAMPLE if one.fullmatch(char))
    return _CLASSES[key]


# Texts that a pattern may be slow with.


class Attack(NamedTuple):
    """A text that grows: `before`, `repeated` as often as wanted, `after`."""

    before: str
    repeated: str
    after: str

    def text(self, count: int) -> str:
        return self.before + self.repeated * (count // len(self.repeated)) + self.after


def attacks(pattern: Pattern) -> Iterator[Attack]:
    """Long runs of each class of characters and of each pair, after what leads to a repetition, before what ends it."""
    tree = parsed(pattern)
    flags = tree.state.flags
    classes = _representatives(tree, flags)
    leads = dict.fromkeys(["", *_leads(tree, flags, "")])
    bodies = dict.fromkeys(_bodies(tree, flags))
    runs = dict.fromkeys([*classes, *map("".join, product(classes, repeat=2)), *bodies])
    ends = dict.fromkeys(["", "\0", "\n", *classes])
    for run in runs:
        for lead in leads:
            for end in ends if len(run) == 1 else ("\0",):
                yield Attack(lead, run, end)


def _representatives(tree: Any, flags: int) -> list[str]:
    """A character of each class that the pattern tells apart."""
    # Which letter it is matters where it is repeated; of others one is enough.
    sets = [
        _class(item, flags)
        for items, is_repeated in _places(tree, False)
        for item in items
        if item[0] in (sre.NOT_LITERAL, sre.IN, sre.ANY)
        or (item[0] is sre.LITERAL and (is_repeated or not chr(item[1]).isalnum()))
    ]
    kinds: dict[tuple[bool, ...], str] = {}
    preferred = "a0 \n-_.:/\"'#,=@({[\\*\t\x85\xe9"
    for char in (*preferred, *_SAMPLE):
        kinds.setdefault(tuple(char in one for one in sets), char)
    return list(kinds.values())


def _places(items: Any, is_repeated: bool) -> Iterator[tuple[list[Any], bool]]:
    """Each sequence of items, and whether it is in an unbounded repetition."""
    yield list(items), is_repeated
    for item in items:
        for inner in _children(item):
            yield from _places(inner, is_repeated or _is_unbounded(item))


def _leads(items: Any, flags: int, before: str) -> Iterator[str]:
    """What stands before each unbounded repetition in a text that the pattern takes."""
    for item in items:
        if _is_unbounded(item):
            yield before
        for inner in _children(item):
            yield from _leads(inner, flags, before)
        before += _example(item, flags)


def _bodies(tree: Any, flags: int) -> Iterator[str]:
    for items in _sequences(tree):
        for item in items:
            if _is_unbounded(item):
                body = "".join(_example(each, flags) for each in item[1][2])
                if body:
                    yield body


def _example(item: Any, flags: int) -> str:
    """A short text that an item takes; "" where it looks around only."""
    operator, value = item
    if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        if operator is sre.LITERAL:
            return chr(int(value))
        chars = _class(item, flags)
        return str(next((char for char in "a0 /.-:\n" if char in chars), min(chars, default="")))
    if operator in (*REPEATS, sre.POSSESSIVE_REPEAT):
        return "".join(_example(each, flags) for each in value[2]) * min(int(value[0]), MANY)
    if operator in (sre.ASSERT, sre.ASSERT_NOT, sre.AT):
        return ""
    if operator is sre.BRANCH:
        choices: list[str] = ["".join(_example(each, flags) for each in branch) for branch in value[1]]
        return min(choices, key=len)
    return "".join(_example(each, flags) for inner in _children(item)[:1] for each in inner)


# What a pattern costs.

LADDER = (20, 24, 28, 32, 36, 40, 64, 256, 1024, 2048, 4096)
"""So many characters, of a text that is so short at first that even an exponential pattern ends."""
FLOOR = 0.002
"""Seconds that no linear pattern needs for so many characters, but for the last numbers of them."""
SURE, FAST = 1024, 0.0001
"""A pattern that needs so few seconds for so many characters is not quadratic: half a million steps take longer."""
RATIO = 2.2
_LEAST_TURNS, _TURNS, _CONFIRMED = 3, 6, 3
_CERTAIN = 3.0
"""A ratio that needs no more turns: that of a quadratic cost is 4."""


def cost(call: Callable[[Any], object], text: str | bytes, times: int = 1) -> float:
    """The CPU time of a call, the least of so many."""
    least = float("inf")
    for _ in range(times):
        start = time.thread_time()
        call(text)
        least = min(least, time.thread_time() - start)
    return least


def called(pattern: Pattern, method: str) -> Callable[[Any], object]:
    compiled: Any = re.compile(pattern.text, pattern.flags)
    function = getattr(compiled, method)
    empty: Any = b"" if isinstance(pattern.text, bytes) else ""
    if method in ("sub", "subn"):
        return lambda text: function(empty, text)
    if method == "finditer":
        return lambda text: sum(1 for _ in function(text))
    return lambda text: function(text)


def growth(call: Callable[[Any], object], attack: Attack, *, is_bytes: bool = False) -> str:
    """How the cost of a call grows with a text, where it grows faster than the text; "" where it does not."""

    def text(count: int) -> str | bytes:
        made = attack.text(count)
        return made.encode("latin-1", "replace") if is_bytes else made

    for count in LADDER:
        first = cost(call, text(count))
        if count == SURE and first <= FAST:
            break
        if first <= FLOOR or (first < 10 * FLOOR and cost(call, text(count), 5) <= FLOOR):
            continue
        if count < SURE or first > 10 * FLOOR:
            return f"{first:.2f} s for {count} characters"  # twice as many may take years
        # A busy machine slows down one measurement, and hardly four of the same texts.
        more = ratio(call, text(count), text(2 * count))
        for _ in range(_CONFIRMED):
            more = min(more, ratio(call, text(count), text(2 * count))) if more > RATIO else more
        if more > RATIO:
            return f"{more:.1f} times as much for {2 * count} characters as for {count}"
    return ""


def ratio(call: Callable[[Any], object], text: str | bytes, twice: str | bytes) -> float:
    """How many times as much a call takes with a second text.

    On a busy machine a call may take twice as long as at rest. So the calls take turns, and the least of each text
    counts.
    """
    least, most = float("inf"), float("inf")
    for turn in range(_TURNS):
        least, most = min(least, cost(call, text, 2)), min(most, cost(call, twice, 2))
        if turn >= _LEAST_TURNS - 1 and not RATIO < most / least < _CERTAIN:
            break
    return most / least


def slow_with(pattern: Pattern) -> Iterator[str]:
    """For each method the first of the attacks that a pattern is slow with."""
    tried = list(attacks(pattern))
    for method in sorted(pattern.methods):
        call = called(pattern, method)
        grown = (
            f"{method} {tuple(attack)}: {more}"
            for attack in tried
            if (more := growth(call, attack, is_bytes=isinstance(pattern.text, bytes)))
        )
        yield from list(islice(grown, 1))
