"""Runs the rule cases (`tests/reconcile/README.md`): a workspace in, the settled cluster out."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from building import write_workspace

import olmc
from olmc.compiler.model.options import Proxy
from olmc.compiler.resolver.explain import ExplanationLine
from olmc.review.explain.missing import as_text, why
from olmc.review.explain.status import ExplainContext, in_short, operators

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
EXPECTATIONS = {
    "phases",
    "messages",
    "objects",
    "absent",
    "exactly",
    "diagnostics",
    "says",
    "hints",
    "places",
    "status",
    "whys",
}
KEYS = {"rule", "name", "why", "namespaces", "groups", "operators", "manifests", "files", "olmc", "expect"}


@dataclass(frozen=True, eq=False)
class Case:
    """One case: the rule it covers, its name, and the document that describes it. A case equals no other one."""

    rule: str
    name: str
    document: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.rule}-{self.name}"


@functools.cache
def cases(folder: Path) -> tuple[Case, ...]:
    """The cases of all files of a folder, in order; unknown keys or a repeated id are an error."""
    found: dict[str, Case] = {}
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), LOADER):
            case = Case(document["rule"], document["name"], document)
            unknown = {*(document.keys() - KEYS), *(document["expect"].keys() - EXPECTATIONS)}
            if unknown or case.id in found or not document["expect"] or not document["why"]:
                text = f"{path.name}: {case.id} is there twice, expects nothing, or has keys {unknown}"
                raise ValueError(text)
            found[case.id] = case
    return tuple(found.values())


@functools.cache
def compile_case(case: Case, given: olmc.Options, folder: Path) -> olmc.Compilation:
    """Compile the workspace of a case below `folder`, once for all tests that look at it; none may change it."""
    root = Path(tempfile.mkdtemp(prefix="case-", dir=folder))
    write_workspace(root, case.document)
    return olmc.compile(root, given)


def run(case: Case, folder: Path) -> list[str]:
    """Compile the workspace of a case below `folder`; what differs from its expectation, a line each."""
    made = compile_case(case, options(case.document.get("olmc", {})), folder)
    problems = list(differences(case.document["expect"], made))
    if not problems:
        return []
    said = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
    return [case.document["why"], *problems, "olmc said:", *said]


def options(given: Mapping[str, Any]) -> olmc.Options:
    """The options of a case: fields of Options, lists for tuples, a mapping for the proxy."""
    values: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in given.items()}
    if "proxy" in values:
        values["proxy"] = Proxy(**values["proxy"])
    return olmc.Options(**values)


def differences(expected: Mapping[str, Any], made: olmc.Compilation) -> Iterator[str]:
    """What a compilation lacks, or has too much, by an expectation."""
    objects = {str(rendered.identity): rendered.object for rendered in made.objects}
    if "phases" in expected:
        phases = {str(name): "/".join(phase) for name, phase in made.phases.items()}
        yield from unequal("phases", expected["phases"], phases)
    for name, message in expected.get("messages", {}).items():
        csv = objects.get(f"ClusterServiceVersion/{name}", {})
        yield from unequal(f"message of {name}", message, csv.get("status", {}).get("message"))
    for wanted in expected.get("objects", ()):
        yield from object_differences(wanted, objects)
    for pattern in expected.get("absent", ()):
        yield from (f"{name} should be absent" for name in objects if fnmatchcase(name, pattern))
    for pattern, names in expected.get("exactly", {}).items():
        there = [name for name in objects if fnmatchcase(name, pattern)]
        yield from unequal(f"objects like {pattern}", sorted(names), sorted(there))
    if "diagnostics" in expected:
        codes = {d.code for d in made.diagnostics if d.severity is not olmc.Severity.INFO}
        yield from unequal("diagnostics", sorted(expected["diagnostics"]), sorted(codes))
    for text in expected.get("says", ()):
        wanted = text.removeprefix("not: ")
        if any(wanted in d.message for d in made.diagnostics) != (wanted == text):
            yield f"{'no' if wanted == text else 'a'} diagnostic says {wanted!r}"
    for code, hints in expected.get("hints", {}).items():
        yield from unequal(f"hints of {code}", hints, [d.hint for d in made.diagnostics if d.code == code])
    for code, places in expected.get("places", {}).items():
        yield from unequal(f"places of {code}", places, [str(d.location) for d in made.diagnostics if d.code == code])
    yield from explanation_differences(expected, made)


def explanation_differences(expected: Mapping[str, Any], made: olmc.Compilation) -> Iterator[str]:
    """How what `olmc status` and `olmc why` say differs from an expectation."""
    if not expected.keys() & {"status", "whys"}:
        return
    if made.settled is None or made.workspace is None:
        yield "nothing was compiled"
        return
    rows = [
        {**each._asdict(), "missing": as_lines(each.missing), "first": in_short(each).partition(" (and ")[0]}
        for each in operators(made.settled, made.operators)
    ]
    for wanted in expected.get("status", ()):
        mine = [
            row for row in rows if all(row[key] == wanted[key] for key in wanted if key in ("namespace", "package"))
        ]
        if len(mine) != 1:
            yield f"{len(mine)} rows are {wanted}"
        for key, value in wanted.items():
            yield from unequal(f"{key} of {wanted['package']}", [value], [row[key] for row in mine])
    bundles, manifests = made.workspace.bundles, made.workspace.manifests
    scene = ExplainContext(made.objects, made.settled, bundles, manifests, made.diagnostics, operators=made.operators)
    for target, texts in expected.get("whys", {}).items():
        said = " ".join(as_text(why(target, scene)).split())
        for text in texts:
            absent = text.removeprefix("not: ")
            if (text in said) if absent == text else (absent not in said):
                continue
            yield f"why {target} should say {text!r}, and says\n    {said}"


def as_lines(lines: Sequence[ExplanationLine]) -> list[str]:
    """The texts of an explanation, one a line."""
    return [line.text for line in lines]


def object_differences(wanted: Mapping[str, Any], objects: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """How the one object that `wanted` names (`*` in its name stands for anything) differs from it."""
    metadata = wanted["metadata"]
    parts = (wanted["kind"], metadata.get("namespace"), metadata["name"])
    pattern = "/".join(part for part in parts if part)
    depth = pattern.count("/")
    there = [name for name in objects if fnmatchcase(name, pattern) and name.count("/") == depth]
    if len(there) != 1:
        alike = [name for name in objects if name.startswith(wanted["kind"] + "/")]
        yield f"{len(there)} objects are {pattern}; of this kind are: {', '.join(alike) or 'none'}"
        return
    rest = {key: value for key, value in wanted.items() if key not in ("kind", "metadata")}
    if more := {key: value for key, value in metadata.items() if key != "name"}:
        rest["metadata"] = more
    if rest:
        yield from (f"{there[0]}: {line}" for line in subset(rest, objects[there[0]], ()))


def subset(expected: Any, got: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Where `got` does not contain `expected`.

    Mappings need the expected keys (null: the key is absent; `*: null`: there are no others), everything else
    must be equal; a mapping with numbers as keys speaks of those items of a list.
    """
    if isinstance(expected, Mapping) and isinstance(got, list):
        for index, item in expected.items():
            if not isinstance(index, int) or index >= len(got):
                yield f"{'.'.join(path)} has no item {index}: {got!r}"
            else:
                yield from subset(item, got[index], (*path, str(index)))
    elif isinstance(expected, Mapping) and isinstance(got, Mapping) and expected:
        for key, item in expected.items():
            if key == "*":
                others = {other: got[other] for other in got if other not in expected}
                yield from unequal(".".join((*path, "other keys")), {}, others)
            elif item is None:
                if key in got:
                    yield f"{'.'.join((*path, str(key)))} should be absent, is {got[key]!r}"
            elif key not in got:
                yield f"{'.'.join((*path, str(key)))} is missing, should be {item!r}"
            else:
                yield from subset(item, got[key], (*path, str(key)))
    else:
        yield from unequal(".".join(path), expected, got)


def unequal(what: str, expected: Any, got: Any) -> Iterator[str]:
    """A line if two values differ; `1` and `true` are not the same."""
    if expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield f"{what}\n    expected {expected!r}\n    got      {got!r}"
