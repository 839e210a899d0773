"""What prevents a Subscription from installing what it asks for, and a CSV from succeeding, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from olmc.model.cluster import Cluster, InstallPlan, Member, Name, Subscription
from olmc.resolve.explain import Line, derivation
from olmc.rules import settle as rules
from olmc.settle.diagnose import failed_step, place_of, rivals, unmet
from olmc.settle.rest import Settled
from olmc.settle.unresolved import with_places
from olmc.yaml import at

if TYPE_CHECKING:
    from olmc.proposed.outcome import Outcome


APPROVAL = "RequiresApproval"


def deeper(lines: Iterable[Line]) -> Iterator[Line]:
    """Lines as the explanation of a line before them."""
    return (line._replace(depth=line.depth + 1) for line in lines)


def plan_of(subscription: Subscription, cluster: Cluster) -> InstallPlan | None:
    """The InstallPlan that a Subscription refers to."""
    key = (subscription.name.namespace, subscription.plan)
    return next((plan for plan in cluster.plans if (plan.namespace, plan.name) == key), None)


def of_csv(member: Member, cluster: Cluster) -> Iterator[Line]:
    """What keeps a CSV from succeeding, with every requirement that is not met; nothing for one that succeeds."""
    if member.succeeded:
        return
    if member.phase:
        text = member.cause[2] or f"it is {member.phase}"
    elif member.csv.counts_as_copy:
        text = "OLM takes it for a copy because of its annotation olm.operatorNamespace, and leaves it alone"
    elif not member.csv.surface_is_readable:
        text = "OLM leaves it alone: a CRD that it names has no dot in its name"
    elif member.group is not None and member.group.problem:
        text = f"its OperatorGroup {member.group.name} can't be processed: {member.group.problem}"
    else:
        text = "OLM gives it no status"
    yield Line(0, text, place_of(member))
    for line in unmet(member):
        shown = line.lstrip()
        yield Line(1 + (len(line) - len(shown)) // 2, shown)
    for text, place in rivals(member, cluster):
        yield Line(1, text, place)
    hint = rules.GROUP_REASONS.get(member.reason, "").format(namespace=member.csv.namespace)
    if hint and member.phase == "Failed":
        yield Line(1, hint)


def of_subscription(name: Name, settled: Settled) -> Iterator[Line]:
    """What keeps a Subscription from installing, or from upgrading: groups, resolution, content, the InstallPlan."""
    yield from of_namespace(name.namespace, settled)
    plan = plan_of(settled.cluster.subscriptions[name], settled.cluster)
    if plan is not None:
        yield from of_plan(plan)


def of_namespace(namespace: str, settled: Settled) -> Iterator[Line]:
    """What keeps OLM from installing anything new in a namespace."""
    cluster = settled.cluster
    groups = cluster.groups_in(namespace)
    if len(groups) != 1:
        what = "no OperatorGroup" if not groups else "several OperatorGroups"
        yield Line(0, f"OLM resolves nothing in namespace {namespace}: it has {what}")
        for group in groups:
            yield Line(1, f"OperatorGroup {group.name}", at(group.source))
        return
    if groups[0].problem:
        place = at(groups[0].source, "spec")
        yield Line(0, f"OperatorGroup {groups[0].name} can't be processed: {groups[0].problem}", place)
    done = settled.rounds.get(namespace)
    if done is None:
        return
    if done.question is not None and done.answer is not None and done.answer.message:
        question = with_places(done.question, settled.cluster, of_fields=True)
        yield from derivation(question, done.answer)
    for candidate in done.missing:
        place = candidate.location
        yield Line(0, f"the content of bundle {candidate.name} ({candidate.image}) is not in the workspace", place)
    for found in done.unreadable:
        csv = found.content.csv
        name = csv.object["metadata"]["name"]
        yield Line(0, f"bundle {name} can't be unpacked: {found.text}", at(csv.source, *found.keys))


def of_plan(plan: InstallPlan) -> Iterator[Line]:
    """What keeps an InstallPlan from being carried out; nothing for a complete one."""
    csvs = ", ".join(plan.csvs)
    if plan.phase == APPROVAL and plan.condition is None:
        yield Line(0, f"InstallPlan {plan.name} for {csvs} waits for approval")
        first = plan.csvs[0] if plan.csvs else "all"
        yield Line(1, f"--approve {plan.namespace}/{first} shows what approving it would do")
    elif plan.phase != "Complete":
        text = plan.message or (plan.condition[2] if plan.condition else "")
        yield Line(0, f"InstallPlan {plan.name} for {csvs} ends {plan.phase}: {text}", failed_step(plan))


def of_operator(outcome: Outcome) -> Iterator[Line]:
    """What keeps an Operator of v2alpha1 from installing, or from upgrading; the last line may be an approval."""
    place = at(outcome.operator.source, "metadata", "name")
    if outcome.failure:
        yield Line(0, outcome.failure[1], place)
    if outcome.missing:
        yield Line(0, f"the content of image {outcome.missing} is not in the workspace", place)
    if outcome.problem:
        yield Line(0, outcome.problem, place)
    if outcome.waiting:
        yield Line(0, f"Install {outcome.waiting.install.name} waits for approval", place)
