"""Objects of packages.operators.coreos.com as the texts that `olmc get` prints."""

from __future__ import annotations

from olmc.emit.columns import as_columns
from olmc.emit.names import json_text
from olmc.proposed.asked import Answer, Asked
from olmc.proposed.resources import Column, as_list
from olmc.yaml import dump_one

EMPTY = "No resources found.\n"


def as_text(asked: Asked, found: Answer, version: str, output: str) -> str:
    """The answer in the format `output`: table, wide, yaml, json or name; `version` is that of the list."""
    if output == "name":
        return "".join(f"{asked.resource.singular}.{asked.resource.qualified.partition('.')[2]}/{each.name}\n"
                       for each in found.items)  # fmt: skip
    if output in ("table", "wide"):
        return _table(asked, found, wide=output == "wide")
    objects = [each.object for each in found.items]
    if asked.name and objects:
        shown = objects[0]
    elif asked.name:
        return ""
    else:
        shown = as_list(asked.resource, objects, version)
    return dump_one(shown) if output == "yaml" else json_text(shown) + "\n"


def _table(asked: Asked, found: Answer, *, wide: bool) -> str:
    """The table of the document (R-INST-7); for all namespaces with theirs in front, as kubectl has it."""
    if not found.items:
        return "" if asked.name else EMPTY
    shown = [index for index, column in enumerate(asked.resource.columns) if wide or not column.priority]
    header = [_title(asked.resource.columns[index]) for index in shown]
    rows = [[each.cells[index] for index in shown] for each in found.items]
    if asked.namespace is None:
        header = ["NAMESPACE", *header]
        rows = [[each.namespace, *row] for each, row in zip(found.items, rows, strict=True)]
    return as_columns(header, rows)


def _title(column: Column) -> str:
    return column.name.upper()
