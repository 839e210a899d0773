"""Diagnoses: typed causes with evidence, the operators that they concern, and what cures them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.model.cluster import Cluster, NamespacedName, Subscription
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import ClusterState, Workspace
from olmc.compiler.olm.facts import package_of
from olmc.compiler.resolver.explain import ExplanationLine
from olmc.k8s.diagnostics import Diagnostic, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import ObjectKey, Rendered

if TYPE_CHECKING:
    from olmc.compiler.reconcile.loop import SettledCluster
    from olmc.compiler.results import ExtensionOutcome


class Structure(NamedTuple):
    """A mapping or a list, as JSON: edits are compared and counted, so that they hold no value that changes."""

    json: str

    @classmethod
    def of(cls, value: object) -> Structure:
        """The structure of a value."""
        return cls(json.dumps(value, sort_keys=False))


class FieldEdit(NamedTuple):
    """A change of one field of a document: `value` is its new one, None to remove the field."""

    source: Source
    keys: tuple[str | int, ...]
    value: str | bool | int | tuple[str, ...] | Structure | None


class AddedItem(NamedTuple):
    """A new last item of a list."""

    source: Source
    keys: tuple[str | int, ...]
    value: Structure


class RemovedItem(NamedTuple):
    """An item that is taken out of its list."""

    source: Source
    keys: tuple[str | int, ...]


class MovedField(NamedTuple):
    """A field that moves, with its comments and under a new name, into each item of a list of mappings."""

    source: Source
    keys: tuple[str | int, ...]
    items: tuple[str | int, ...]
    name: str


class QuotedScalar(NamedTuple):
    """A number or a boolean of one file that gets quotes, by its line and column."""

    path: str
    line: int
    column: int


class NewDocument(NamedTuple):
    """The text of an object that is added to a file, at its end; a file that does not exist is made."""

    path: str
    text: str


class RemovedDocument(NamedTuple):
    """A document that is taken out of its file, with its comments."""

    source: Source


Edit = FieldEdit | AddedItem | RemovedItem | MovedField | QuotedScalar | NewDocument | RemovedDocument


class RemedyCandidate(NamedTuple):
    """A change that may cure a diagnosis: in words, and as edits of files; `command` is for state outside of them.

    `holds`: it keeps the installed version instead of curing the new one.
    """

    text: str
    edits: tuple[Edit, ...] = ()
    command: str = ""
    holds: bool = False


class Diagnosis(NamedTuple):
    """A cause of something that goes wrong.

    `finding`: its rule, evidence and way out in words. `operators`: namespace and package of those that it blocks,
    bystanders included, `culprit` the one to change. `objects`: what else it is about. `command`: what cures it outside
    of files. `candidates`: changes that may cure it, the least invasive first. `is_reported`: the compiler
    reports it already, so that `check` need not. `of_resolution`: it is about the choice of the resolver.
    `stalls`: its operators do not come up, although OLM's objects alone do not show it. `is_shown`: the rows of
    operators show it already, with its way out.
    """

    finding: Diagnostic
    operators: tuple[NamespacedName, ...] = ()
    command: str = ""
    candidates: tuple[RemedyCandidate, ...] = ()
    objects: tuple[ObjectKey, ...] = ()
    culprit: NamespacedName | None = None
    is_reported: bool = False
    of_resolution: bool = False
    is_shown: bool = False
    stalls: bool = False

    def lines(self) -> Iterator[ExplanationLine]:
        """It as lines of an explanation: the cause, and below it the way out."""
        yield ExplanationLine(0, self.finding.message, self.finding.location)
        yield from (ExplanationLine(1, line.strip()) for line in self.finding.hint.splitlines() if line.strip())
        if self.command:
            yield ExplanationLine(1, f"$ {self.command}")


class Scene(NamedTuple):
    """The input of a diagnosis: a compilation, as far as causes are looked for in it.

    `state` is the cluster before, None for an empty one; `reported` are the compiler's findings. With `only_operators`,
    only the packages of a catalog count that Subscriptions name: no other one has an operator.
    """

    settled: SettledCluster
    workspace: Workspace
    objects: tuple[Rendered, ...]
    options: Options
    extensions: tuple[ExtensionOutcome, ...] = ()
    reported: tuple[Diagnostic, ...] = ()
    only_operators: bool = False

    @property
    def cluster(self) -> Cluster:
        """The cluster at rest."""
        return self.settled.cluster

    @property
    def state(self) -> ClusterState | None:
        """The cluster before."""
        return self.options.state


def operator_of(csv: Csv, cluster: Cluster) -> NamespacedName:
    """The row of a CSV: its namespace, and the package of the Subscription that has it, or its own."""
    for subscription in cluster.subscriptions.within(csv.namespace).values():
        if csv.name in (subscription.installed, subscription.current):
            return row_of(subscription)
    return NamespacedName(csv.namespace, package_of(csv.object))


def row_of(subscription: Subscription) -> NamespacedName:
    """The row of a Subscription: its namespace and its package."""
    return NamespacedName(subscription.name.namespace, subscription.package)


def by_operator(found: Iterable[Diagnosis]) -> Mapping[NamespacedName, Sequence[Diagnosis]]:
    """The diagnoses by the operators that they concern."""
    grouped: dict[NamespacedName, list[Diagnosis]] = {}
    for diagnosis in found:
        for operator in dict.fromkeys(diagnosis.operators):
            grouped.setdefault(operator, []).append(diagnosis)
    return grouped
