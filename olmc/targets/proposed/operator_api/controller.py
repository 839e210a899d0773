"""Operators and Installs of v2alpha1 as their controller carries them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.catalog import Candidate, ResolveRequest
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Install, Operator
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import original_of
from olmc.compiler.olm.naming import COMPONENT_PREFIX, owner_reference, with_labels
from olmc.compiler.reconcile.diagnose import without_content
from olmc.compiler.reconcile.unresolved import with_causes, without_bundle
from olmc.compiler.render.webhooks import RenderContext
from olmc.compiler.resolver.explain import explain_unresolved
from olmc.compiler.resolver.resolve import NOT_SATISFIABLE, resolve
from olmc.compiler.resolver.snapshot import needed_catalogs
from olmc.compiler.resolver.steps import UndecodableCSV
from olmc.compiler.results import Entry, InstallDecision, OperatorResult
from olmc.compiler.rules.findings import reconcile as resolver_rules
from olmc.k8s.diagnostics import Diagnostic, Location, Place, Report, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    Provenance,
    Rendered,
    as_text,
    labels_of,
    object_key,
    owner_references,
    spec_of,
)
from olmc.k8s.yaml import at, locate, located
from olmc.targets.proposed import rules
from olmc.targets.proposed.operator_api import OPERATOR_API
from olmc.targets.proposed.operator_api.approval import ApprovalContext
from olmc.targets.proposed.operator_api.components import Labels, diverging, labelled, operator_object, projected
from olmc.targets.proposed.operator_api.installs import InitialInstalls, component_key
from olmc.targets.proposed.operator_api.operators import Association, associated, follow, keys_of, may_use, without

# What there is to say about Operators and Installs of v2alpha1, at the field or line of a catalog that is meant.

_UPDATES = ("spec", "updates")
_SHOWN_PERMISSIONS = 3
_ASK_FOR_IT = "Add an Operator for the one that you want; it is then used for the requirement."


class FindingContext(NamedTuple):
    """The context of findings about Operators and Installs: the cluster before them, bundles by CSV name, options."""

    cluster: Cluster
    bundles: Mapping[str, Bundle]
    options: Options


def findings(
    outcomes: Sequence[OperatorResult],
    installs: Sequence[InstallDecision],
    differing: Mapping[str, tuple[ObjectKey, ...]],
    context: FindingContext,
) -> Iterator[Diagnostic]:
    """Yield the findings about Operators and Installs, and about components that differ from their resolution."""
    for judged in installs:
        yield from _about_install(judged, context.options)
        if judged.resolve_request is not None:
            yield from _remarks(judged.resolve_request)
    failures: dict[tuple[str, str], list[OperatorResult]] = {}
    for outcome in outcomes:
        if outcome.failure:
            failures.setdefault(outcome.failure, []).append(outcome)
        yield from _about_operator(outcome, context)
        components = differing.get(outcome.operator.name, ())
        if components:
            shown = ", ".join(map(str, components[:5])) + (", …" if len(components) > 5 else "")
            place = at(outcome.operator.source, "metadata", "name")
            yield rules.DIVERGES.finding(place, operator=outcome.operator.name, count=len(components), components=shown)
    for (reason, message), failed in failures.items():
        yield _unresolved(reason, message, failed, context.cluster)


def denied(refused: Iterable[Operator], options: Options) -> Iterator[Diagnostic]:
    """The Operators whose catalog the user may not install from (R-OPERATOR-12)."""
    for operator in refused:
        ref = operator.catalog.ref if operator.catalog else None
        if ref is not None:
            place = at(operator.source, *_UPDATES, "catalogSource", "ref")
            yield rules.CATALOG_DENIED.finding(
                place, user=options.user, catalog=f"{ref.namespace}/{ref.name}", namespace=ref.namespace
            )


def unread_catalogs(outcomes: Sequence[OperatorResult], cluster: Cluster, options: Options) -> Iterator[Diagnostic]:
    """Catalogs without content that only Operators are resolved in: those of Subscriptions are reported anyway."""
    if not any(outcome.operator.catalog for outcome in outcomes):
        return
    of_subscriptions = {catalog.key for catalog in needed_catalogs(cluster, options)}
    every = needed_catalogs(cluster, options, clusterwide=True)
    yield from without_content([catalog for catalog in every if catalog.key not in of_subscriptions], options, {})


def _about_operator(outcome: OperatorResult, context: FindingContext) -> Iterator[Diagnostic]:
    """Yield the failures of an Operator of a catalog; for one from an image its Install reports them."""
    operator = outcome.operator
    if operator.catalog is None:
        return
    who = f"Operator {operator.name}"
    if outcome.problem:
        yield _not_applied(who, outcome.problem, outcome.unreadable, at(operator.source, *_UPDATES))
    if outcome.missing:
        finding = rules.NO_CONTENT.finding(at(operator.source, *_UPDATES), who=who, image=outcome.missing)
        if outcome.lacking is not None:
            alike = without_bundle(outcome.lacking, context.cluster, context.bundles)
            finding = finding._replace(location=alike.location or finding.location, related=alike.related)
            finding = finding._replace(hint=alike.hint) if alike.related else finding
        yield finding


def _not_applied(who: str, problem: str, unreadable: UndecodableCSV | None, place: Location | None) -> Diagnostic:
    """Report that content can't be applied: at what can't be read of a CSV, if it is that."""
    finding = rules.NOT_APPLIED.finding(place, who=who, problem=problem)
    wrong = at(unreadable.content.csv.source, *unreadable.keys) if unreadable is not None else None
    if unreadable is None or wrong is None:
        return finding
    return finding._replace(location=wrong, hint=unreadable.hint, related=((who, place),) if place is not None else ())


def _unresolved(reason: str, message: str, failed: Sequence[OperatorResult], cluster: Cluster) -> Diagnostic:
    """Report that Operators can't be resolved: at the field that asks for what there is not, with all causes."""
    hint = "Loosen what the Operators ask for, or remove what stands in the way."
    if reason != NOT_SATISFIABLE:
        hint = "Correct the catalog that the message names."
    elif any(s.package in {outcome.package for outcome in failed} for s in cluster.subscriptions.values()):
        hint = "A Subscription asks for the same package; --migrate-subscriptions lets the Operator take its place."
    first = failed[0]
    names = ", ".join(f"Operator {outcome.operator.name}" for outcome in failed)
    place = at(first.operator.source, *_UPDATES)
    finding = rules.UNRESOLVED.finding(place, operators=names, message=message, hint=hint)
    if first.unresolved is None:
        return finding
    resolve_request, given = first.unresolved
    lines = explain_unresolved(resolve_request, given)
    if reason == NOT_SATISFIABLE and not given.conflict:  # an entrypoint alone that its catalog does not have
        return finding._replace(location=lines[-1].location or place, hint="\n".join(map(str, lines)))
    report = Report()
    resolve(resolve_request, report)
    failure = next((remark for remark in report if remark.severity is Severity.FAILURE), None)
    if failure is None:
        return finding
    finding = finding._replace(location=failure.location or place, related=failure.related)
    caused = with_causes(finding, resolve_request, given, cluster)
    return caused._replace(hint=f"{caused.hint}\n{hint}") if given.conflict and "--migrate" in hint else caused


def _remarks(resolve_request: ResolveRequest) -> Iterator[Diagnostic]:
    """Yield further findings about a successful resolution, as for Subscriptions."""
    report = Report()
    resolve(resolve_request, report)
    for remark in report:
        if remark.severity is not Severity.FAILURE:
            several = remark.code == resolver_rules.SEVERAL_PROVIDERS.code
            yield remark._replace(hint=_ASK_FOR_IT) if several else remark


def _about_install(judged: InstallDecision, options: Options) -> Iterator[Diagnostic]:
    install = judged.install
    place = _place_of_approval(judged)
    if judged.missing:
        shown, hint = _missing_in_words(judged)
        yield rules.APPROVAL_DENIED.finding(place, user=options.user, name=install.name, missing=shown, hint=hint)
    elif judged.pending:
        why = f"{judged.pending_count} permissions are not granted"
        finding = rules.PENDING.finding(place, name=install.name, why=why)
        yield finding._replace(hint=rules.APPROVED_HINT) if install.approved else finding
    elif not judged.applied and not (judged.content.missing or judged.content.problem):
        yield rules.PENDING.finding(place, name=install.name, why="its updates are approved by hand")
    who = f"Operator {install.operator}" if install.operator else f"Install {install.name}"
    for image in judged.content.missing:
        yield rules.NO_CONTENT.finding(_place_of_image(judged, image), who=who, image=image)
    if judged.content.problem:
        place = at(install.source, *(_UPDATES if install.operator else ("spec", "content")))
        yield _not_applied(who, judged.content.problem, judged.content.unreadable, place)
    for index, item in enumerate(judged.content.items):
        named = item.get("manifestImage")
        if named and "@" not in named:
            yield rules.NOT_PINNED.finding(_place_of_content(judged, index), image=named)


def _missing_in_words(judged: InstallDecision) -> tuple[str, str]:
    """The permissions that the approving user lacks, the first of them for a message, all of them for its hint."""
    words = [_in_words(entry) for entry in judged.missing]
    more = len(words) - _SHOWN_PERMISSIONS
    shown = "; ".join(words[:_SHOWN_PERMISSIONS]) + (f"; and {more} more" if more > 0 else "")
    hint = "Let somebody approve it who has these permissions."
    return shown, "\n".join((hint, *(f"  {permission}" for permission in words))) if more > 0 else hint


def _in_words(entry: Entry) -> str:
    """An entry for people: get, list on roles.rbac.authorization.k8s.io in namespace a."""
    verbs = ", ".join(entry["verbs"])
    if "nonResourceURLs" in entry:
        return f"{verbs} on {', '.join(entry['nonResourceURLs'])}"
    resources = (_resource(group, name) for group in entry["apiGroups"] for name in entry["resources"])
    named = f" called {', '.join(entry['resourceNames'])}" if "resourceNames" in entry else ""
    spaces = entry.get("namespaces") or ()
    where = f"in namespace{'s' * (len(spaces) > 1)} {', '.join(spaces)}" if spaces else "in the whole cluster"
    return f"{verbs} on {', '.join(resources)}{named} {where}"


def _resource(group: str, name: str) -> str:
    """A resource as kubectl writes it: deployments.apps/scale."""
    resource, slash, rest = name.partition("/")
    return f"{resource}.{group}{slash}{rest}" if group else name


def _place_of_approval(judged: InstallDecision) -> Location | None:
    """Return where somebody says whether an Install is approved, or would."""
    install = judged.install
    if not install.operator:
        return at(install.source, "spec", "approval")
    by_hand = not (judged.pending or judged.missing)
    return at(install.source, *_UPDATES, *(("catalogSource", "approval") if by_hand else ()))


def _place_of_image(judged: InstallDecision, image: str) -> Location | None:
    images = [item.image for item in judged.install.content]
    return _place_of_content(judged, images.index(image))


def _place_of_content(judged: InstallDecision, index: int) -> Location | None:
    """Return where an item of an Install's content stands: in its own manifest, in the Operator's, or in the
    catalog."""
    install = judged.install
    if not install.operator:
        return at(install.source, "spec", "content", index, "manifestImage")
    image = install.content[index].image
    entry = next(
        (selection.candidate for selection in judged.selections if image and selection.candidate.image == image), None
    )
    return _in_catalog(entry) if entry is not None else at(install.source, *_UPDATES, "manifestImage")


def _in_catalog(entry: Candidate) -> Location | None:
    place = entry.bundle
    return locate(place.source, (*place.keys, "image")) if place is not None else located(entry.location)


class OperatorStates(NamedTuple):
    """The cluster with what Operators and Installs have made of it.

    `outcomes`: every Operator that the API server accepts; `installs`: all Installs, by name; `labels`: the component
    keys that objects get; `differing`: by Operator, the components that are not as they were resolved. `former`: the
    keys that no Subscription is left to give. `earlier`: the applied Installs of earlier versions, which stay as the
    record of their approvals; `abandoned`: the accounts of Installs that were replaced before anybody approved them.
    """

    cluster: Cluster
    outcomes: tuple[OperatorResult, ...]
    installs: tuple[InstallDecision, ...]
    labels: Labels
    differing: Mapping[str, tuple[ObjectKey, ...]]
    former: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]
    earlier: tuple[Install, ...] = ()
    abandoned: frozenset[ObjectKey] = frozenset()


def followed(begun: InitialInstalls, cluster: Cluster, options: Options) -> OperatorStates:
    """Return the states of Operators in a settled cluster, in which the Installs of `begun` are applied already."""
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
    former = (begun.former | set(keys_of(cluster, migrated))) - set(keys_of(after, after.subscriptions)) - keys
    present = {each.install.name for each in installs}
    replaced = [record for name, record in sorted(begun.records.items()) if name not in present]
    earlier = tuple(record for record in replaced if _was_applied(record, options))
    abandoned = (ObjectKey("", ACCOUNT, options.olm_namespace, each.name) for each in replaced if each not in earlier)
    return OperatorStates(
        after, outcomes, _by_name(installs), labels, differing, former, all_findings, earlier, frozenset(abandoned)
    )


def _was_applied(record: Install, options: Options) -> bool:
    """Return whether a state has an Install of an earlier version that was approved and applied."""
    stored = options.state.objects.get(object_key(record.object)) if options.state is not None else None
    return stored is not None and spec_of(stored.object).get("approval") == "Approved"


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
        left_out |= found.abandoned
        removed = names | {key.removeprefix(COMPONENT_PREFIX) for key in found.former}
        kept = [
            _without_keys(each, found.former)
            for each in objects
            if not _is_v1_operator(each, removed) and each.identity not in left_out
        ]
        installs = [_rendered(install_object(each), each.install.source, "R-INSTALL-1") for each in found.installs]
        earlier = [_rendered(each.object, each.source, "R-INSTALL-11") for each in found.earlier]
        stored = {key: each.object for key, each in options.state.objects.items()} if options.state is not None else {}
        mine = labelled([*kept, *installs, *earlier], found.labels, frozenset(keys), stored)
        homes = {name: copy.home for name, copy in world.cluster.copies.items()}
        mine = without_copies(mine, keys, homes)
        seen = [_with_crd_status(each, world.cluster) for each in mine]
        operators = [_operator(outcome, seen, world.cluster, found.differing, options) for outcome in found.outcomes]
        return [*mine, *operators]

    return rewrite


def _without_keys(found: Rendered, keys: frozenset[str]) -> Rendered:
    """An object without the component keys of Subscriptions that are Operators by now."""
    labels = labels_of(found.object)
    if keys.isdisjoint(labels):
        return found
    kept = {key: value for key, value in labels.items() if key not in keys}
    return found._replace(object={**found.object, "metadata": with_labels(found.object["metadata"], kept)})


def _with_crd_status(found: Rendered, cluster: Cluster) -> Rendered:
    """Return a CRD with the status of the workspace. No controller writes it, but Operators report it
    (R-OPERATOR-5)."""
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
    """Yield the accounts and grants that OLM needs to apply Installs. Without OLM they have no use."""
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
    return {"apiVersion": OPERATOR_API, "kind": "Install", "metadata": metadata, "spec": spec, "status": status}


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
    return original_of(found.object) if found.identity.kind == CSV_KIND else None


def _copy_name(found: Rendered) -> NamespacedName | None:
    return NamespacedName(found.identity.namespace, found.identity.name) if _original(found) is not None else None


def _owned_by_operator(found: Rendered, copies: Mapping[NamespacedName, str]) -> Rendered:
    refs = owner_references(found.object)
    new = []
    for ref in refs:
        owner = copies.get(NamespacedName(found.identity.namespace, as_text(ref.get("name"))))
        if ref.get("kind") == CSV_KIND and owner is not None:
            ref = owner_reference(OPERATOR_API, "Operator", owner)
        new.append(ref)
    if new == refs:
        return found
    return found._replace(object={**found.object, "metadata": {**found.object["metadata"], "ownerReferences": new}})
