"""A workspace in which Operators stand for Subscriptions, without the groups that nobody needs (R-OPERATOR-13)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.diagnostics.rules import proposed as rules
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Source
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Operator, OperatorGroup
from olmc.proposed.migration import Edit, Migration, carried_out
from olmc.proposed.v2alpha1.operators import associated
from olmc.yaml import dump_one, locate
from olmc.yaml.edit import EditError, document_lines, value_of, with_document, without_document

# Where the fields of a Subscription's spec go in an Operator's spec.updates.catalogSource.
_FIELDS = {
    "name": ("package",),
    "channel": ("channel",),
    "startingCSV": ("entrypoint",),
    "installPlanApproval": ("approval",),
    "source": ("ref", "name"),
    "sourceNamespace": ("ref", "namespace"),
}
_KEY = re.compile(r"^\s+([A-Za-z]+):")
_COMMENT = re.compile(r"(?:^|\s)(#.*?)\s*$")


def migrate(cluster: Cluster, operators: Sequence[Operator]) -> Migration:
    """The changes to the files of a workspace, given by its first state and the Operators that it has already."""
    association = associated(cluster, operators)
    written = {operator.name for operator in operators}
    made = {operator.name: operator for operator in association.operators}
    edits: list[Edit] = []
    remarks = list(association.refused)
    moved: set[NamespacedName] = set()
    for name, operator in sorted(association.by_subscription.items()):
        subscription = cluster.subscriptions[name]
        if subscription.source is None:
            continue
        change = without_document if operator in written else _as_operator(made[operator].object)
        try:
            carried_out([*edits, Edit(subscription.source, change)])
        except EditError as error:
            remarks.append(_left_alone(f"Subscription {name}", subscription.source, str(error)))
            continue
        edits.append(Edit(subscription.source, change))
        moved.add(name)
        written.add(operator)
    for group in cluster.groups:
        if group.source is None or not _is_needless(cluster, group, moved):
            continue
        try:
            carried_out([*edits, Edit(group.source, without_document)])
            edits.append(Edit(group.source, without_document))
        except EditError as error:
            name = NamespacedName(group.namespace, group.name)
            remarks.append(_left_alone(f"OperatorGroup {name}", group.source, str(error)))
    return Migration(carried_out(edits), tuple(remarks))


def _left_alone(what: str, source: Source, why: str) -> Diagnostic:
    return rules.LEFT_ALONE.finding(locate(source, ()), what=what, why=why)


def _is_needless(cluster: Cluster, group: OperatorGroup, moved: set[NamespacedName]) -> bool:
    """Whether no Subscription and no CSV of a namespace need its group any more.

    A group that names a service account stays: Installs in its namespace use that account (R-INSTALL-5).
    """
    mine = {name for name in cluster.subscriptions if name.namespace == group.namespace}
    return bool(mine) and mine <= moved and not cluster.csvs_in(group.namespace) and not group.account


def _as_operator(operator: KubernetesObject) -> Callable[[Source], str]:
    """An edit that puts an Operator in the place of a Subscription, with the comments that stand in its document."""

    def edit(source: Source) -> str:
        given = value_of(source)["metadata"]
        kept = {key: value for key, value in given.items() if key in ("labels", "annotations") and value}
        new = {**operator, "metadata": {**operator["metadata"], **kept}}
        comments = _comments(document_lines(source))
        return with_document(source, "".join(_written(new, comments)), new)

    return edit


class _Comments(NamedTuple):
    """The comments of a document: in lines before a field of the spec, behind a field, and all others."""

    before: Mapping[tuple[str, ...], list[str]]
    behind: Mapping[tuple[str, ...], str]
    others: list[str]


def _comments(lines: Sequence[str]) -> _Comments:
    before: dict[tuple[str, ...], list[str]] = {}
    behind: dict[tuple[str, ...], str] = {}
    others: list[str] = []
    waiting: list[str] = []
    section = ""
    for line in lines:
        comment = _COMMENT.search(line)
        if line.strip().startswith("#"):
            waiting.append(line.strip())
            continue
        section = line.partition(":")[0] if line[:1].strip() else section
        key = _KEY.match(line)
        field = _FIELDS.get(key.group(1)) if key and section == "spec" else None
        if field is not None:
            before[field] = waiting
            if comment:
                behind[field] = comment.group(1)
        else:
            others += waiting + ([comment.group(1)] if comment else [])
        waiting = []
    return _Comments(before, behind, others + waiting)


def _written(operator: KubernetesObject, comments: _Comments) -> Iterator[str]:
    yield from (f"{comment}\n" for comment in comments.others)
    path: list[tuple[int, str]] = []
    for line in dump_one(operator).splitlines(keepends=True):
        indent = len(line) - len(line.lstrip(" "))
        path = [(depth, key) for depth, key in path if depth < indent]
        path.append((indent, line.strip().partition(":")[0]))
        keys = tuple(key for _, key in path)
        field = keys[3:] if keys[:3] == ("spec", "updates", "catalogSource") else ()
        yield from (f"{' ' * indent}{comment}\n" for comment in comments.before.get(field, ()))
        behind = comments.behind.get(field)
        yield f"{line.rstrip()}  {behind}\n" if behind else line
