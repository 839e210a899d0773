"""Operators and Installs of v2alpha1 as their controller carries them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.lean import NamedTuple
from olmc.load.v2alpha1 import V2ALPHA1
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Place, Source
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Provenance,
    Rendered,
    as_text,
    labels_of,
    object_key,
    owner_references,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP, Operator
from olmc.model.options import Options
from olmc.olm.naming import COPIED_FROM, owner_reference
from olmc.proposed.v2alpha1.approval import ApprovalContext, InstallDecision, OperatorResult
from olmc.proposed.v2alpha1.components import Labels, diverging, labelled, projected
from olmc.proposed.v2alpha1.findings import FindingContext, denied, findings, unread_catalogs
from olmc.proposed.v2alpha1.installs import InitialInstalls, component_key
from olmc.proposed.v2alpha1.operators import Association, associated, follow, may_use, without
from olmc.proposed.v2alpha1.status import operator_object
from olmc.render.context import RenderContext


class OperatorStates(NamedTuple):
    """The cluster with what Operators and Installs have made of it.

    `outcomes`: every Operator that the API server accepts; `installs`: all Installs, by name; `labels`: the component
    keys that objects get; `differing`: by Operator, the components that are not as they were resolved.
    """

    cluster: Cluster
    outcomes: tuple[OperatorResult, ...]
    installs: tuple[InstallDecision, ...]
    labels: Labels
    differing: Mapping[str, tuple[ObjectKey, ...]]
    diagnostics: tuple[Diagnostic, ...]


def followed(begun: InitialInstalls, cluster: Cluster, options: Options) -> OperatorStates:
    """What Operators do in a settled cluster, in which the Installs of `begun` are applied already."""
    association = Association(begun.operators, {}, ())
    if options.migrate_subscriptions:
        association = associated(cluster, begun.operators)
    accepted = [operator for operator in association.operators if _is_accepted(operator, cluster, options)]
    refused = [operator for operator in association.operators if operator not in accepted]
    names = {operator.name for operator in accepted}
    migrated = {name: operator for name, operator in association.by_subscription.items() if operator in names}
    installed = {
        operator: cluster.subscriptions[name].installed
        for name, operator in migrated.items()
        if cluster.subscriptions[name].installed
    }
    scene = ApprovalContext(begun.workspace, begun.records, options)
    from_catalogs = [operator for operator in accepted if not operator.image]
    after, outcomes = follow(scene, without(cluster, migrated), from_catalogs, installed)
    given = {each.install.operator: each for each in begun.judged if each.install.operator}
    outcomes = tuple(sorted((*outcomes, *_from_images(accepted, given)), key=lambda each: each.operator.name))
    resolved = [outcome for outcome in outcomes if not outcome.operator.image]
    installs = (*begun.judged, *(each for outcome in resolved for each in outcome.installs))
    keys = frozenset(component_key(name, options) for name in names)
    adopted = {name: component_key(operator, options) for name, operator in migrated.items()}
    differing = {outcome.operator.name: found for outcome in outcomes if (found := _differing(outcome, begun.given))}
    all_findings = (
        *association.refused,
        *findings(outcomes, installs, differing, FindingContext(cluster, begun.workspace.bundles, options)),
        *denied(refused, options),
        *unread_catalogs(outcomes, after, options),
    )
    labels = projected(cluster, keys, adopted, installs)
    return OperatorStates(after, outcomes, _by_name(installs), labels, differing, all_findings)


def _by_name(installs: Iterable[InstallDecision]) -> tuple[InstallDecision, ...]:
    return tuple(sorted(installs, key=lambda each: each.install.name))


def _is_accepted(operator: Operator, cluster: Cluster, options: Options) -> bool:
    return operator.catalog is None or may_use(cluster, operator.catalog.ref, options)


def _from_images(operators: Iterable[Operator], given: Mapping[str, InstallDecision]) -> Iterator[OperatorResult]:
    for operator in operators:
        if operator.image and operator.name in given:
            done = given[operator.name]
            missing = operator.image if done.content.missing else ""
            content = done.content
            yield OperatorResult(
                operator, installs=(done,), missing=missing, problem=content.problem, unreadable=content.unreadable
            )


def _differing(outcome: OperatorResult, given: Iterable[Any]) -> tuple[ObjectKey, ...]:
    applied = [each for each in outcome.installs if each.applied]
    content = applied[-1].content.objects if applied else ()
    return diverging(content, (manifest.object for manifest in given))


def rewriting(
    found: OperatorStates, options: Options
) -> Callable[[RenderContext, Sequence[Rendered]], Sequence[Rendered]]:
    """The function that adds Operators and Installs to the objects of a cluster, with all that they change."""

    def rewrite(world: RenderContext, objects: Sequence[Rendered]) -> Sequence[Rendered]:
        # Long names may be cut to the same key: the components are both Operators' then (R-OPERATOR-3).
        keys = {component_key(outcome.operator.name, options): outcome.operator.name for outcome in found.outcomes}
        names = {outcome.operator.name for outcome in found.outcomes}
        left_out = set(_only_for_applying(found.installs)) if options.purpose == "apply" else set()
        kept = [each for each in objects if not _is_v1_operator(each, names) and each.identity not in left_out]
        installs = [_rendered(install_object(each), each.install.source, "R-INSTALL-1") for each in found.installs]
        mine = labelled([*kept, *installs], found.labels, frozenset(keys))
        homes = {name: copy.home for name, copy in world.cluster.copies.items()}
        mine = without_copies(mine, keys, homes)
        seen = [_with_crd_status(each, world.cluster) for each in mine]
        operators = [_operator(outcome, seen, world.cluster, found.differing, options) for outcome in found.outcomes]
        return [*mine, *operators]

    return rewrite


def _with_crd_status(found: Rendered, cluster: Cluster) -> Rendered:
    """A CRD with the status that the workspace shows: nobody writes it, but Operators report it (R-OPERATOR-5)."""
    stored = cluster.objects.get(found.identity) if found.identity.kind == CRD_KIND else None
    if stored is None or "status" not in stored.object:
        return found
    return found._replace(object={**found.object, "status": stored.object["status"]})


def _operator(
    outcome: OperatorResult,
    objects: Sequence[Rendered],
    cluster: Cluster,
    differing: Mapping[str, Any],
    options: Options,
) -> Rendered:
    name = outcome.operator.name
    obj = operator_object(outcome, component_key(name, options), objects, cluster, name in differing, options)
    return _rendered(obj, outcome.operator.source, "R-OPERATOR-1")


def _only_for_applying(installs: Iterable[InstallDecision]) -> Iterator[ObjectKey]:
    """The accounts and grants that exist for OLM to apply Installs: without OLM nobody needs them."""
    for judged in installs:
        yield from map(object_key, judged.made)


def _is_v1_operator(found: Rendered, names: set[str]) -> bool:
    key = found.identity
    return (key.group, key.kind) == (OLM_GROUP, "Operator") and key.name in names


def _rendered(obj: KubernetesObject, source: Source | None, rule: str) -> Rendered:
    return Rendered(obj, Provenance(Place(source) if source else None, "v2alpha1", rule))


def install_object(judged: InstallDecision) -> KubernetesObject:
    """An Install with its status (R-INSTALL-1, R-INSTALL-3, R-INSTALL-5, R-INSTALL-8, R-INSTALL-9)."""
    install = judged.install
    metadata = {key: value for key, value in install.object["metadata"].items() if key != "namespace"}
    spec: dict[str, Any] = {}
    if install.namespaces:
        spec["namespaces"] = [{"from": old, "to": new} for old, new in install.namespaces]
    spec["approval"] = "Approved" if judged.approved else "Unapproved"
    spec["content"] = [item.given for item in install.content]
    by = judged.account
    status: dict[str, Any] = {"serviceAccountRef": {"name": by.name, "namespace": by.namespace}}
    if judged.pending:
        text = "pending approval of unsatisfied permissions"
        condition = {"type": "PendingApproval", "status": "True", "reason": "UnsatisfiedPermissions", "message": text}
        status["conditions"] = [condition]
    status["resolved"] = list(judged.content.items)
    if judged.pending:
        status["pending"] = {"permissions": list(judged.pending)}
    return {"apiVersion": V2ALPHA1, "kind": "Install", "metadata": metadata, "spec": spec, "status": status}


def without_copies(
    objects: Sequence[Rendered], operators: Mapping[str, str], given: Mapping[NamespacedName, str]
) -> list[Rendered]:
    """The objects without copies of CSVs that belong to Operators, which own instead what the copies owned
    (R-OPERATOR-19).

    `operators` are the names of the Operators by component key, `given` the copies that the workspace has, with the
    namespaces of the originals: without a group nothing else knows of them.
    """
    owners: dict[NamespacedName, str] = {}
    for found in objects:
        if found.identity.kind == CSV_KIND:
            mine = [operators[key] for key in labels_of(found.object) if key in operators]
            if mine:
                owners[NamespacedName(found.identity.namespace, found.identity.name)] = min(mine)
    copies = {
        name: owners[NamespacedName(home, name.name)]
        for name, home in given.items()
        if NamespacedName(home, name.name) in owners
    }
    copies |= {
        NamespacedName(found.identity.namespace, found.identity.name): owners[home]
        for found in objects
        if (home := _original(found)) in owners
    }
    kept = (found for found in objects if _copy_name(found) not in copies)
    return [_owned_by_operator(found, copies) for found in kept]


def _original(found: Rendered) -> NamespacedName | None:
    home = labels_of(found.object).get(COPIED_FROM)
    return NamespacedName(home, found.identity.name) if found.identity.kind == CSV_KIND and home else None


def _copy_name(found: Rendered) -> NamespacedName | None:
    return NamespacedName(found.identity.namespace, found.identity.name) if _original(found) is not None else None


def _owned_by_operator(found: Rendered, copies: Mapping[NamespacedName, str]) -> Rendered:
    refs = owner_references(found.object)
    new = []
    for ref in refs:
        owner = copies.get(NamespacedName(found.identity.namespace, as_text(ref.get("name"))))
        if ref.get("kind") == CSV_KIND and owner is not None:
            ref = owner_reference(V2ALPHA1, "Operator", owner)
        new.append(ref)
    if new == refs:
        return found
    return found._replace(object={**found.object, "metadata": {**found.object["metadata"], "ownerReferences": new}})
