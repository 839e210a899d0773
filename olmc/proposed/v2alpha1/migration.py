"""Moving a workspace to the Operator API: Subscriptions become Operators that lose nothing (R-OPERATOR-13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.lean import NamedTuple, regex
from olmc.load.v2alpha1 import V2ALPHA1
from olmc.model.catalog import Candidate
from olmc.model.cluster import Cluster, NamespacedName, Subscription
from olmc.model.diagnostics import Diagnostic, Source
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Operator
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.proposed.migration import Edit, left_alone
from olmc.proposed.v2alpha1.content import DEFAULT, suggested_namespace
from olmc.proposed.v2alpha1.installs import component_key
from olmc.proposed.v2alpha1.operators import associated
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.steps import content_of
from olmc.yaml import dump_one
from olmc.yaml.edit import block_of, document_lines, value_of, with_block, with_documents, without_document

# Where the fields of a Subscription's spec go in an Operator's spec.updates.catalogSource.
_FIELDS = {
    "name": ("package",),
    "channel": ("channel",),
    "startingCSV": ("entrypoint",),
    "installPlanApproval": ("approval",),
    "source": ("ref", "name"),
    "sourceNamespace": ("ref", "namespace"),
}
_KEY = regex(r"^\s+([A-Za-z]+):")
_COMMENT = regex(r"(?:^|\s)(#.*?)\s*$")


class OperatorMove(NamedTuple):
    """A Subscription, and the Operator that takes its place.

    `objects` are written in the Subscription's place: the Operator, unless the workspace has it, and the Install that
    keeps it in its namespace, unless the bundle suggests that one. `approvals` are the Installs that have to count as
    approved for everything that is installed to stay installed.
    """

    subscription: Subscription
    operator: str
    objects: tuple[KubernetesObject, ...]
    approvals: tuple[str, ...]

    @property
    def name(self) -> NamespacedName:
        return self.subscription.name

    @property
    def edit(self) -> Edit:
        """The change to the Subscription's document."""
        assert self.subscription.source is not None
        change = _in_place_of_subscription(self.objects) if self.objects else without_document
        return Edit(self.subscription.source, change)


class MigrationPlan(NamedTuple):
    """The Subscriptions that may become Operators, and findings about those that can't."""

    moves: tuple[OperatorMove, ...]
    refused: tuple[Diagnostic, ...]


def plan_moves(
    workspace: Workspace, settled: SettledCluster, operators: Sequence[Operator], options: Options
) -> MigrationPlan:
    """What becomes of each Subscription of a workspace, given as it comes to rest, and the Operators that it has."""
    association = associated(settled.beginning, operators)
    by_operator: dict[str, list[NamespacedName]] = {}
    for name, operator in sorted(association.by_subscription.items()):
        by_operator.setdefault(operator, []).append(name)
    written = {operator.name for operator in operators}
    new = {operator.name: operator.object for operator in association.operators}
    moves: list[OperatorMove] = []
    refused = list(association.refused)
    for operator, names in by_operator.items():
        subscriptions = [settled.cluster.subscriptions[name] for name in names if name in settled.cluster.subscriptions]
        given = [subscription for subscription in subscriptions if subscription.source is not None]
        for subscription in given:
            why = _hindrance(subscription, given)
            if why:
                refused.append(left_alone(f"Subscription {subscription.name}", subscription.source, why))
                continue
            home = _record(workspace, settled.cluster, subscription, operator, options)
            objects = (*(() if operator in written else (new[operator],)), *home)
            approvals = _approvals(settled.cluster, subscription, operator)
            moves.append(OperatorMove(subscription, operator, objects, approvals))
    return MigrationPlan(tuple(moves), tuple(refused))


def _hindrance(subscription: Subscription, sharing: Sequence[Subscription]) -> str:
    """Why a Subscription can't become an Operator, "" if it may; `sharing` are all that would become the same one."""
    if len(sharing) > 1:
        others = ", ".join(str(each.name) for each in sharing if each is not subscription)
        return f"{others} asks for the same package, and an Operator installs it in one namespace only"
    if subscription.failure:
        return (
            f"it can't be resolved ({subscription.failure[1]}), so that there is nothing to compare the Operator with"
        )
    return ""


def _record(
    workspace: Workspace, cluster: Cluster, subscription: Subscription, operator: str, options: Options
) -> tuple[KubernetesObject, ...]:
    """The Install that says where the operator is installed, if its bundle suggests another namespace."""
    csv = subscription.installed or subscription.current
    source = cluster.catalogs.get(subscription.catalog)
    candidate: Candidate | None = next((e for e in (source.entries if source else ()) if e.name == csv), None)
    content = content_of(workspace, cluster, candidate) if candidate is not None else None
    namespace = subscription.name.namespace
    if candidate is None or content is None or not candidate.image or suggested_namespace(content) == namespace:
        return ()
    metadata = {"name": csv, "labels": {component_key(operator, options): ""}}
    spec: dict[str, Any] = {"namespaces": [{"from": DEFAULT, "to": namespace}]}
    spec["approval"] = "Approved" if subscription.installed else "Unapproved"
    spec["content"] = [{"type": "ManifestImage", "manifestImage": candidate.image}]
    return ({"apiVersion": V2ALPHA1, "kind": "Install", "metadata": metadata, "spec": spec},)


def _approvals(cluster: Cluster, subscription: Subscription, operator: str) -> tuple[str, ...]:
    """All Installs of what was updated by itself; of what somebody approves, those that were approved."""
    if subscription.approval != "Manual":
        return (operator,)
    source = cluster.catalogs.get(subscription.catalog)
    package = {entry.name for entry in (source.entries if source else ()) if entry.package == subscription.package}
    done = (
        csv
        for plan in cluster.plans.values()
        if plan.namespace == subscription.name.namespace and plan.phase == "Complete"
        for csv in plan.csvs
    )
    return tuple(dict.fromkeys(f"{operator}/{csv}" for csv in done if csv in package))


def _in_place_of_subscription(objects: Sequence[KubernetesObject]) -> Callable[[Source], str]:
    """An edit that puts objects in the place of a Subscription: an Operator among them gets its labels, annotations and
    the comments that stand in its document."""

    def edit(source: Source) -> str:
        given = value_of(source)["metadata"]
        kept = {key: value for key, value in given.items() if key in ("labels", "annotations") and value}
        comments = _comments(document_lines(source))
        first, *others = objects
        if first["kind"] == "Operator":
            first = {**first, "metadata": {**first["metadata"], **kept}}
        body = "".join(_written(first, comments)) + "".join(f"---\n{dump_one(each)}" for each in others)
        return with_documents(source, body, (first, *others))

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


_HEAD = "apiVersion: olmc.dev/v1alpha1\nkind: Config\n"


def with_settings(text: str, approved: Sequence[str]) -> str:
    """The text of olmc.yaml ("" without one) by which Operators are compiled, and these Installs count as approved.

    Raises EditError.
    """
    if not text:
        return _HEAD + "".join(f"{line}\n" for line in ("spec:", *_indented(_settings({}, approved))))
    source = Source("olmc.yaml", text)
    value = value_of(source)
    spec = value.get("spec") or {}
    new = _settings(spec, approved)
    if not spec:
        last = "spec" if "spec" in value else [*value][-1]
        kept = [] if last == "spec" else _own_lines(source, (last,))
        meaning = {**({} if last == "spec" else {last: value[last]}), "spec": new}
        return with_block(source, (last,), [*kept, "spec:", *_indented(new)], meaning).text
    for key in [key for key in new if key in spec]:
        source = with_block(source, ("spec", key), _lines_of({key: new[key]}), {key: new[key]})
    added = {key: entry for key, entry in new.items() if key not in spec}
    if added:
        last = [*spec][-1]
        meaning = {last: new.get(last, spec[last]), **added}
        source = with_block(source, ("spec", last), [*_own_lines(source, ("spec", last)), *_lines_of(added)], meaning)
    return source.text


def _settings(spec: Mapping[str, Any], approved: Sequence[str]) -> dict[str, Any]:
    """The keys of the config that change, with their new values."""
    new: dict[str, Any] = {} if spec.get("enableV2alpha1") is True else {"enableV2alpha1": True}
    given = list(spec.get("approvedInstalls") or ())
    more = [entry for entry in approved if entry not in given]
    return {**new, "approvedInstalls": [*given, *more]} if more else new


def _lines_of(value: Mapping[str, Any]) -> list[str]:
    return dump_one(value).splitlines()


def _indented(value: Mapping[str, Any]) -> list[str]:
    return [f"  {line}" for line in _lines_of(value)]


def _own_lines(source: Source, keys: Sequence[str]) -> list[str]:
    """The lines of a key and its value, without the indentation that they have in common."""
    block = block_of(source, keys)
    return [line[block.indent :].rstrip("\r\n") for line in block.inside]
