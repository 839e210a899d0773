"""Turns tables of Go structs, which hold what reflection over the API's own types gives, into olmc/golang/fields.json.

`python tests/golang/field_table.py SPEC... > olmc/golang/fields.json` writes it anew; test_go_table.py compares. The
SPECs are `k8s-field-order.json` and `v1/olm-v1-crd-fields.json` of the specification, and `builtin_kinds.json` beside
this file; where two have a type, the first one counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def compact(spec: dict[str, Any]) -> dict[str, Any]:
    """The table that the package ships: `roots` (short name -> full name) and `types`.

    A struct is a list of fields `[json name, type, flags]`, with a fourth element where the field comes from
    an embedded struct: the embedded field's Go name. A type is Go's with full struct names; a defined type of
    another kind is `v1.Name=underlying`. Flags: "" | "o" (omitempty) | "z" (omitzero).
    A type that marshals itself is null.
    """
    types: dict[str, Any] = {}
    for name in sorted(_reachable(spec)):
        entry = spec["types"][name]
        types[name] = None if "customMarshaller" in entry else list(_fields(spec, entry["fields"] or (), ""))
    return {"roots": dict(sorted(spec["roots"].items())), "types": types}


def merged(specs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Several tables as one: of the types and roots that two have, those of the first."""
    found: dict[str, Any] = {"roots": {}, "types": {}}
    for spec in specs:
        for part, entries in found.items():
            found[part] = {**spec[part], **entries}
    return found


def _reachable(spec: dict[str, Any]) -> set[str]:
    seen: set[str] = set()
    todo = list(spec["roots"].values())
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [field[4] for field in spec["types"][name].get("fields") or () if field[4]]
    return seen


def _fields(spec: dict[str, Any], fields: Iterable[list[str]], embedded: str) -> Any:
    for name, go_type, flags, kind, reference in fields:
        if flags == "inline":
            yield from _fields(spec, spec["types"][reference]["fields"], reference.rpartition(".")[2])
            continue
        flag = {"": "", "omitempty": "o", "omitzero": "z", "omitempty+omitzero": "z"}[flags]
        yield [name, _type(go_type, kind, reference), flag, *([embedded] if embedded else [])]


def _type(go_type: str, kind: str, reference: str) -> str:
    """Go's name with the package paths filled in, and the underlying type of a defined one."""
    for prefix in ("*", "[]", "map[string]"):
        if go_type.startswith(prefix) and reference != "encoding/json.RawMessage":
            inner = {"*": _scalar(go_type[1:]), "[]": "string", "map[string]": "string"}[prefix]
            return prefix + _type(go_type[len(prefix) :], inner, reference)
    if kind == "slice":
        return f"{go_type}=[]{reference or 'string'}"
    if kind == "map":
        return f"{go_type}=map[string]{reference or 'string'}"
    if reference:
        return reference
    return go_type if "." not in go_type else f"{go_type}={kind}"


def _scalar(go_type: str) -> str:
    return "string" if "." in go_type else go_type


def main() -> None:
    table = compact(merged(json.loads(Path(path).read_text("utf-8")) for path in sys.argv[1:]))
    sys.stdout.write(render(table))


def render(table: dict[str, Any]) -> str:
    """The file's text: one type a line, so that a new OLM version gives a readable diff."""
    lines = [f"{_written(name)}:{_written(value)}" for name, value in table["types"].items()]
    return f'{{"roots":{_written(table["roots"])},"types":{{\n' + ",\n".join(lines) + "\n}}\n"


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
