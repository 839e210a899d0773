"""Where an object comes from, and of one that is absent or fails what prevents it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmc.explain.installs import followed, of_install, of_operator
from olmc.explain.missing import brought_names, why_absent, why_no_csv
from olmc.explain.provenance import (
    asked_for,
    because,
    deeper,
    location_of,
    of_csv,
    of_plan,
    of_stop,
    of_subscription,
    place_data,
)
from olmc.explain.status import lines_data, package_of
from olmc.explain.targets import ExplainContext, Wanted, is_copy, object_names, subscribing, target
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, NamespacedName
from olmc.model.diagnostics import Location
from olmc.model.objects import ObjectKey, Origin, Rendered, object_key
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.output.messages import not_found
from olmc.output.text import paragraph
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.explain import ExplanationLine

if TYPE_CHECKING:
    from olmc.proposed.v2alpha1.approval import OperatorResult

FORMAT_VERSION = 1
PRESENT, FAILING, ABSENT = "present", "failing", "absent"


class WhyAnswer(NamedTuple):
    """What there is to say about an object: whether it is there, where it stems from, and the causes, step by step.

    `stage` and `rule` are the pass that writes it and the rule that the pass implements, "" for what is absent.
    """

    what: ObjectKey
    state: str
    stage: str
    rule: str
    place: Location | None
    lines: tuple[ExplanationLine, ...]


def why(text: str, scene: ExplainContext) -> tuple[WhyAnswer, ...]:
    """The answers about a target (see `targets.target`); QueryError for what nobody knows."""
    meant = target(text, scene)
    if meant.package:
        return tuple(_about_package(meant.package, scene))
    if meant.absent is not None:
        return _absent(text, meant.absent, scene)
    return tuple(_about(found, scene) for found in meant.objects)


def _about(found: Rendered, scene: ExplainContext) -> WhyAnswer:
    settled = scene.settled
    key, provenance, cluster = found.identity, found.provenance, settled.cluster
    name = NamespacedName(key.namespace, key.name)
    member = cluster.members.get(name) if key.kind == CSV_KIND and key.group == OLM_GROUP else None
    hindered = tuple(_hindered(key, settled))
    lines = [*hindered, *because(found, settled, scene.operators, scene.installs)]
    if member is not None:
        lines = [*_state(member, hindered), *asked_for(member.csv, settled, scene.operators, scene.installs)]
    state = FAILING if hindered and not _waits(key, cluster) else PRESENT
    rule = provenance.rule if provenance.rule.startswith("R-") else ""
    answer = WhyAnswer(key, state, provenance.stage, rule, location_of(found, cluster), tuple(lines))
    answer = _about_v2alpha1(answer, scene) if found.object["apiVersion"].endswith("/v2alpha1") else answer
    return _about_v1(answer, found, scene) if scene.extensions else answer


def _about_v1(answer: WhyAnswer, found: Rendered, scene: ExplainContext) -> WhyAnswer:
    """The answer about a ClusterExtension, or about what one has installed."""
    from olmc.explain.extensions import about_extension, behind_object  # most workspaces have none

    if found.provenance.origin is Origin.EXTENSION:
        return answer._replace(lines=tuple(behind_object(answer.what, scene.extensions)))
    for result in scene.extensions if answer.what.kind == "ClusterExtension" else ():
        if result.extension.name == answer.what.name:
            return answer._replace(
                state=FAILING if result.problem else answer.state, lines=tuple(about_extension(result))
            )
    return answer


def _about_v2alpha1(answer: WhyAnswer, scene: ExplainContext) -> WhyAnswer:
    """The answer about an Operator or an Install, with what it installed, and what keeps it from installing."""
    kind, name = answer.what.kind, answer.what.name
    for outcome in scene.operators if kind == "Operator" else ():
        if outcome.operator.name == name:
            broken = bool(outcome.failure or outcome.missing or outcome.problem)
            lines = (*of_operator(outcome), *_behind_operator(outcome))
            return answer._replace(state=FAILING if broken else answer.state, lines=lines)
    for judged in scene.installs if kind == "Install" else ():
        if judged.install.name == name:
            broken = bool(judged.content.missing or judged.content.problem)
            lines = tuple(of_install(judged, scene.operators))
            return answer._replace(state=FAILING if broken else answer.state, lines=lines)
    return answer


def _behind_operator(outcome: OperatorResult) -> Iterator[ExplanationLine]:
    if outcome.operator.catalog is not None or outcome.operator.image:
        yield followed(outcome)
    for judged in outcome.installs:
        if judged.applied:
            csvs = ", ".join(str(obj["metadata"]["name"]) for obj in judged.content.objects if obj["kind"] == CSV_KIND)
            yield ExplanationLine(0, f"Install {judged.install.name} installed {csvs}")


def _hindered(key: ObjectKey, settled: SettledCluster) -> Iterator[ExplanationLine]:
    """What is wrong with an object of OLM itself."""
    cluster, name = settled.cluster, NamespacedName(key.namespace, key.name)
    if key.group != OLM_GROUP:
        return
    if key.kind == CSV_KIND and name in cluster.members:
        yield from of_csv(cluster.members[name], cluster)
        yield from of_stop(name, settled)
        for plan in cluster.plans.values() if not cluster.members[name].succeeded else ():
            if plan.phase == "Failed" and plan.namespace == name.namespace and name.name in plan.csvs:
                yield from of_plan(plan)
    elif key.kind == "Subscription" and name in cluster.subscriptions:
        subscription = cluster.subscriptions[name]
        yield from of_subscription(name, settled)
        installed = cluster.members.get(NamespacedName(key.namespace, subscription.installed))
        if installed is not None and not installed.succeeded:
            yield ExplanationLine(
                0, f"{installed.csv.name}, which it installed, is {installed.phase or 'without a phase'}"
            )
            yield from deeper(of_csv(installed, cluster))
    elif key.kind == "InstallPlan":
        for plan in cluster.plans.values():
            if (plan.namespace, plan.name) == name and plan.given is None:
                yield from of_plan(plan)
    elif key.kind == "OperatorGroup":
        for group in cluster.groups_in(key.namespace):
            if group.name == key.name and group.problem:
                yield ExplanationLine(0, f"it can't be processed: {group.problem}")


def _waits(key: ObjectKey, cluster: Cluster) -> bool:
    """Whether all that an object lacks is that somebody approves."""
    plans = [plan for plan in cluster.plans.values() if plan.namespace == key.namespace]
    if key.kind == "Subscription":
        subscription = cluster.subscriptions.get(NamespacedName(key.namespace, key.name))
        plans = [plan for plan in plans if subscription is not None and plan.name == subscription.plan]
        broken = subscription is None or subscription.failure is not None
        return not broken and bool(plans) and all(plan.phase == "RequiresApproval" for plan in plans)
    if key.kind == "InstallPlan":
        return any(plan.name == key.name and plan.phase == "RequiresApproval" for plan in plans)
    return False


def _state(member: CsvState, hindered: Sequence[ExplanationLine]) -> Iterator[ExplanationLine]:
    """The phase of a CSV with its cause, if it has one."""
    phase = f"it is {member.phase} ({member.reason})" if member.phase else "it has no phase"
    if not hindered or member.succeeded:
        yield ExplanationLine(0, phase)
        yield from hindered
        return
    yield hindered[0]._replace(text=f"{phase}: {hindered[0].text}")
    yield from hindered[1:]


def _about_package(package: str, scene: ExplainContext) -> Iterator[WhyAnswer]:
    """Every Subscription and Operator for a package with what they installed; without one, why there is none."""
    cluster = scene.settled.cluster
    objects = {found.identity: found for found in scene.objects}
    names = subscribing(package, cluster)
    csvs = {NamespacedName(name.namespace, cluster.subscriptions[name].installed) for name in names}
    free = [key for key, csv in sorted(cluster.csvs.items()) if key not in csvs and package_of(csv) == package]
    for name in names:
        found = objects.get(ObjectKey(OLM_GROUP, "Subscription", *name))
        if found is not None:
            yield _about(found, scene)
        csv = objects.get(csv_identity(NamespacedName(name.namespace, cluster.subscriptions[name].installed)))
        if csv is not None:
            yield _about(csv, scene)
    following = [outcome.operator.name for outcome in scene.operators if outcome.package == package]
    for operator in following:
        yield _about(objects[ObjectKey(OLM_GROUP, "Operator", "", operator)], scene)
    for name in free:
        yield from (_about(found, scene) for found in scene.objects if found.identity == csv_identity(name))
    extending = [result.manifest.object for result in scene.extensions if result.extension.source.package == package]
    for key in map(object_key, extending):
        yield from (_about(found, scene) for found in scene.objects if found.identity == key)
    if not (names or free or following or extending):
        lines = why_no_csv("", "", package, scene)
        yield WhyAnswer(ObjectKey("", "Package", "", package), ABSENT, "", "", None, tuple(lines))


def csv_identity(name: NamespacedName) -> ObjectKey:
    """The identity of a CSV."""
    return ObjectKey(OLM_GROUP, CSV_KIND, *name)


def _absent(text: str, wanted: Wanted, scene: ExplainContext) -> tuple[WhyAnswer, ...]:
    """Why an object is not there; where nothing would make it, the answers about those whose names begin so."""
    lines = (*_left_out(wanted, scene), *why_absent(wanted, scene))
    if lines:
        kind = wanted.kinds[0]
        key = ObjectKey(kind.group, kind.kind, wanted.namespace, wanted.name)
        return (WhyAnswer(key, ABSENT, "", "", None, lines),)
    longer = tuple(found for found in scene.objects if wanted.begins(found.identity) and not is_copy(found))
    if longer:
        return tuple(_about(found, scene) for found in longer)
    names = [name for name in brought_names(wanted, scene) if name.startswith(wanted.name) and name != wanted.name]
    if names:
        return tuple(answer for name in names for answer in _absent(text, wanted._replace(name=name), scene))
    kinds = {each.kind for each in wanted.kinds}
    alike = [str(found.identity) for found in scene.objects if found.identity.kind in kinds]
    raise not_found(f"There is no {text}, and nothing here would make it", text, sorted(alike), object_names(scene))


def _left_out(wanted: Wanted, scene: ExplainContext) -> Iterator[ExplanationLine]:
    """Where an object stands that is not compiled, and why it is not."""
    for left in scene.left_out:
        if any(wanted.is_met_by(each.identity) for each in left.objects):
            yield ExplanationLine(0, f"it is left out, {left.reason.text}; other tools would apply it", left.location)


def as_text(answers: Sequence[WhyAnswer]) -> str:
    """The answers one below the other."""
    return "\n".join("".join(_shown(answer)) for answer in answers)


def _shown(answer: WhyAnswer) -> Iterator[str]:
    states = {PRESENT: "is there", FAILING: "is there and does not work", ABSENT: "is not there"}
    yield paragraph(f"{answer.what} {states[answer.state]}")
    if answer.place is not None:
        yield paragraph(f"from {answer.place}", "  ", "    ")
    if answer.stage:
        rule = f", rule {answer.rule}" if answer.rule else ""
        yield paragraph(f"written by pass {answer.stage}{rule}", "  ", "    ")
    for line in answer.lines:
        text = str(line)
        indent = " " * (len(text) - len(text.lstrip()))
        yield paragraph(text.lstrip(), f"  {indent}", f"    {indent}")


def as_data(text: str, answers: Sequence[WhyAnswer]) -> dict[str, Any]:
    """The answers in the format of `schemas/why.schema.json`."""
    from olmc.diagnostics.rulebook import rule_url

    return {
        "version": FORMAT_VERSION,
        "target": text,
        "answers": [
            {
                "object": answer.what._asdict(),
                "state": answer.state,
                "pass": answer.stage,
                "rule": answer.rule,
                "ruleUrl": rule_url(answer.rule),
                "place": place_data(answer.place),
                "because": lines_data(answer.lines),
            }
            for answer in answers
        ],
    }
