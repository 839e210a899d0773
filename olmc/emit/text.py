"""Objects as one text: a YAML stream, a JSON List, or a list of names."""

from __future__ import annotations

import json
from collections.abc import Sequence

from olmc.model.objects import Rendered
from olmc.yaml import dump


def as_yaml(objects: Sequence[Rendered]) -> str:
    """A stream of YAML documents, "" for no objects."""
    return dump(found.object for found in objects) if objects else ""


def as_json(objects: Sequence[Rendered]) -> str:
    """One `List` of all objects, indented."""
    items = [found.object for found in objects]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    return json.dumps(listed, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_names(objects: Sequence[Rendered]) -> str:
    """One line an object: `Kind/namespace/name`, without the namespace for cluster-scoped ones."""
    return "".join(f"{found.identity}\n" for found in objects)
