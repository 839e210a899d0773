"""Write `bundle_config.json`, the schema of a bundle's configuration, from the one of the specification.

`python .ci/bundle_config_schema.py SPEC` prints it; tests/olmv1 compares. What no validation looks at is left out:
defaults, formats of numbers, what merging lists needs, and definitions that nothing refers to.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REFERENCE = "#/components/schemas/"
_KEPT = ("type", "required", "additionalProperties", "items", "allOf", "anyOf", "oneOf")


def compact(schema: dict[str, Any]) -> dict[str, Any]:
    """The properties of the configuration, and the definitions that they need, references by their names alone."""
    definitions = schema["components"]["schemas"]
    properties = {name: _kept(below) for name, below in schema["properties"].items()}
    needed: dict[str, Any] = {}
    todo = list(_references(properties))
    while todo:
        name = todo.pop()
        if name not in needed:
            needed[name] = _kept(definitions[name])
            todo += _references(needed[name])
    return {"properties": properties, "definitions": dict(sorted(needed.items()))}


def _kept(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_kept(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _kept(schema[key]) for key in _KEPT if key in schema}
    if "properties" in schema:
        kept["properties"] = {name: _kept(below) for name, below in sorted(schema["properties"].items())}
    return kept | ({"$ref": schema["$ref"].removeprefix(REFERENCE)} if "$ref" in schema else {})


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for below in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _references(below)


def render(schema: dict[str, Any]) -> str:
    """The text of the file: one definition a line."""
    lines = [f"{json.dumps(name)}:{_as_json(below)}" for name, below in schema["definitions"].items()]
    listed = ",\n".join(lines)
    return f'{{"properties":{_as_json(schema["properties"])},\n"definitions":{{\n{listed}\n}}}}\n'


def _as_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    sys.stdout.write(render(compact(json.loads(Path(sys.argv[1]).read_text("utf-8")))))
