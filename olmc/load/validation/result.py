"""What a validation finds, in the words of the tools (R-CAT-200).

Checks of operator-registry print plain texts; results of the api library name a field or a value before the detail, and
often the value is an empty text. The level, Error or Warning, that the tools print first is the severity here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from olmc.model.causes import Cause
from olmc.model.diagnostic import Report
from olmc.model.location import Location, Place
from olmc.rules.rule import Rule
from olmc.yaml import locate
from olmc.yaml.scalars import replace_surrogates


class Finding(NamedTuple):
    """One thing found: the rule, the tool's text, and where it stands; `of_key`: at the key, not at its value.

    `hint` is the way out where the rule's own does not fit, `cause` what the compiler finds as well.
    """

    rule: Rule
    text: str
    where: Place | Location
    of_key: bool = False
    hint: str = ""
    cause: Cause | None = None


def result_text(detail: str, *, field: str = "", value: str | None = None) -> str:
    """The text of a result of the api library without its level; `value` None prints none, "" an empty one."""
    told = f": {detail}" if detail else ""
    if field:
        return f"Field {field}{told}" if value is None else f"Field {field}, Value {value}{told}"
    if value is not None:
        return f"Value {value}{told}"
    return told or "ErrMessageMissing"


def about(name: str, detail: str) -> str:
    """The text of a result that names the CSV or the package it is about, and prints an empty value."""
    return result_text(f"({name}) {detail}", value="")


def tell(findings: Iterable[Finding], report: Report) -> None:
    """Report the findings where they stand."""
    for finding in findings:
        where = finding.where
        place = where if isinstance(where, Location) else locate(where.source, where.keys, of_key=finding.of_key)
        # Texts in JSON annotations may hold halves of characters, which can't be printed.
        told = finding.rule.finding(place, related=(), text=replace_surrogates(finding.text))
        report.add(told._replace(hint=finding.hint or told.hint).caused_by(finding.cause))
