"""Moving a workspace to the proposed APIs: the changes to its files, and the patch that shows them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.diagnostics.rules import proposed as rules
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Severity, Source
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Operator, OperatorGroup
from olmc.proposed.descoped.install_topology import InstalledCsv, installs, supports
from olmc.proposed.v2alpha1.operators import associated
from olmc.yaml import dump_one, locate
from olmc.yaml.edit import EditError, document_lines, value_of, with_block, with_document, without_document
from olmc.yaml.emitter import one_line

NO_NEWLINE = "\\ No newline at end of file\n"


class Edit(NamedTuple):
    """A change to one document of a file: `apply` makes the file's new text of the document as it stands by then.

    It may raise EditError.
    """

    source: Source
    apply: Callable[[Source], str]


class FileChange(NamedTuple):
    """A file before and after; `after` is "" when nothing of it is left."""

    path: str
    before: str
    after: str


def carried_out(edits: Sequence[Edit]) -> tuple[FileChange, ...]:
    """What edits make of the files, by path. Raises EditError.

    Each file is edited from its end, so that the numbers of documents stay right when others are taken out.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for edit in sorted(edits, key=lambda each: -each.source.document):
        path = edit.source.path
        before.setdefault(path, edit.source.text)
        after[path] = edit.apply(edit.source._replace(text=after.get(path, edit.source.text)))
    return tuple(FileChange(path, before[path], after[path]) for path in sorted(before) if before[path] != after[path])


def as_patch(changes: Sequence[FileChange]) -> str:
    """The changes as a unified diff that `git apply` and `patch -p1` take."""
    return "".join(line for change in changes for line in _file_patch(change))


def _file_patch(change: FileChange) -> Iterator[str]:
    old, new = f"a/{change.path}", f"b/{change.path}"
    yield f"diff --git {old} {new}\n"
    if not change.after:
        yield "deleted file mode 100644\n"
    before, after = _lines(change.before), _lines(change.after)
    for line in difflib.unified_diff(before, after, old, new if change.after else "/dev/null", n=3):
        yield line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    """The lines as git counts them: only a line feed ends one."""
    found = text.split("\n")
    return [f"{line}\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


class Migration(NamedTuple):
    """The changes to make, and what is left to people."""

    changes: tuple[FileChange, ...]
    remarks: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Whether the workspace could not be compiled."""
        return any(remark.severity is Severity.ERROR for remark in self.remarks)


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


def migrate_to_v2alpha1(cluster: Cluster, operators: Sequence[Operator]) -> Migration:
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


class _DescopePlan(NamedTuple):
    """One instance to keep, with the namespaces it is to watch (None: all), and those to remove."""

    keep: InstalledCsv
    targets: tuple[str, ...] | None
    remove: tuple[InstalledCsv, ...]


def migrate_to_descoped(cluster: Cluster) -> Migration:
    """The changes that descope the operators of a settled cluster, as far as that can be done without deciding."""
    edits: list[Edit] = []
    remarks: list[Diagnostic] = []
    for package, found in _scoped_packages(cluster).items():
        plan = _plan(found)
        why = _blocked(cluster, plan) if plan is not None else _why_not(found)
        if plan is not None and not why:
            more = [*edits, *_edits(cluster, plan)]
            try:
                carried_out(more)
                edits = more
                continue
            except EditError as error:
                why = str(error)
        remarks.append(_operator_left_alone(package, found[0], why))
    return Migration(carried_out(edits), tuple(remarks))


def descopable(cluster: Cluster) -> frozenset[str]:
    """The packages of a settled cluster that can be descoped without deciding anything."""
    plans = {package: _plan(found) for package, found in _scoped_packages(cluster).items()}
    return frozenset(name for name, plan in plans.items() if plan is not None and not _blocked(cluster, plan))


def _scoped_packages(cluster: Cluster) -> dict[str, list[InstalledCsv]]:
    """The instances of each package that is still scoped."""
    by_package: dict[str, list[InstalledCsv]] = {}
    for each in installs(cluster):
        if each.warnings:
            by_package.setdefault(each.subscription.package, []).append(each)
    return by_package


def _plan(found: Sequence[InstalledCsv]) -> _DescopePlan | None:
    keep, *others = found
    if keep.situation == "different-versions":
        return None
    if supports(keep.member, "AllNamespaces"):
        return _DescopePlan(keep, None, tuple(others))
    if others and keep.supports_multi:
        targets = sorted({name for each in found if each.member.group for name in each.member.group.targets})
        return _DescopePlan(keep, tuple(targets), tuple(others))
    return None


def _why_not(found: Sequence[InstalledCsv]) -> str:
    if found[0].situation == "different-versions":
        return "it is installed in different versions, of which somebody has to choose one"
    if len(found) > 1:
        return "it is installed several times, and no single instance could watch all its namespaces"
    return "it supports neither all namespaces nor anything that would descope it; wait for an update, or replace it"


def _blocked(cluster: Cluster, plan: _DescopePlan) -> str:
    """Why the instance to keep can't take over, or its group can't get other targets; "" if both can be."""
    fields = sorted({field for each in plan.remove for field in _differing(plan.keep, each)})
    if fields:
        return f"its Subscriptions differ in {', '.join(fields)}, and somebody has to choose"
    group = plan.keep.member.group
    if group is None or group.source is None:
        return "no OperatorGroup of the workspace belongs to it"
    wanted = "AllNamespaces" if plan.targets is None else "MultiNamespace"
    for name, member in sorted(cluster.members.items()):
        if name.namespace == group.namespace and not supports(member, wanted):
            return f"{member.csv.name} shares its OperatorGroup and does not support {wanted}"
    return ""


def _differing(keep: InstalledCsv, gone: InstalledCsv) -> Iterator[str]:
    """The fields in which two Subscriptions differ, without the one that only said where to begin."""
    one, other = keep.subscription.spec, gone.subscription.spec
    yield from (field for field in {*one, *other} - {"startingCSV"} if one.get(field) != other.get(field))


def _operator_left_alone(package: str, first: InstalledCsv, why: str) -> Diagnostic:
    source = first.subscription.source
    place = locate(source, ("spec",)) if source is not None else None
    return rules.LEFT_ALONE.finding(place, what=f"operator {package}", why=why)


def _edits(cluster: Cluster, plan: _DescopePlan) -> Iterator[Edit]:
    group = plan.keep.member.group
    if group is not None and group.source is not None:
        targets = plan.targets
        yield Edit(group.source, lambda source: _retargeted(source, targets))
    for each in plan.remove:
        if each.subscription.source is not None:
            yield Edit(each.subscription.source, without_document)
        idle = each.member.group
        if idle is not None and idle.source is not None and _is_idle(cluster, idle, each):
            yield Edit(idle.source, without_document)


def _is_idle(cluster: Cluster, group: OperatorGroup, gone: InstalledCsv) -> bool:
    """Whether a group has nothing left to do once an operator is gone."""
    csvs = [csv for csv in cluster.csvs_in(group.namespace) if csv.name != gone.member.csv.name]
    others = [
        name
        for name, s in cluster.subscriptions.items()
        if name.namespace == group.namespace and name != gone.subscription.name and s.installed != gone.member.csv.name
    ]
    return not csvs and not others


def _retargeted(source: Source, targets: Sequence[str] | None) -> str:
    """The file with the group's document targeting other namespaces, or all."""
    spec = value_of(source)["spec"]
    given = [key for key in ("targetNamespaces", "selector") if key in spec]
    lines = [] if targets is None else ["targetNamespaces:", *(f"- {one_line(name)}" for name in targets)]
    meaning = {} if targets is None else {"targetNamespaces": list(targets)}
    if not lines and len(given) == len(spec):
        return with_block(source, ("spec",), ["spec: {}"], {"spec": {}}).text
    for key in given[1:]:
        source = with_block(source, ("spec", key), [], {})
    return with_block(source, ("spec", given[0]), lines, meaning).text
