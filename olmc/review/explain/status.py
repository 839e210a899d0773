"""The operators of a settled cluster, one row each: version, phase, what comes next, what is missing."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.cluster import APPROVAL, Cluster, CsvState, NamespacedName, Subscription, namespaced_name
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import Bundle, LeftObject, LeftOut
from olmc.compiler.olm.facts import has_copy_label, is_copy, package_of
from olmc.compiler.output.document import aligned
from olmc.compiler.output.messages import (
    Paint,
    QueryError,
    advice_from,
    clean,
    in_black,
    in_color,
    moved,
    not_found,
    state_options,
)
from olmc.compiler.reconcile.diagnose import group_way_out, policy_way_out
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.resolver.explain import PREVENTS, ExplanationLine, HeldUpgrade
from olmc.compiler.resolver.resolve import NOT_SATISFIABLE
from olmc.compiler.rules.findings.reconcile import GROUP_REASONS
from olmc.k8s.api.restmapper import BUILTIN, RestMapping, closest_kind, find_kinds, known_kinds, without_version
from olmc.k8s.diagnostics import Diagnostic, RuleTag, did_you_mean, one_line
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, GroupKind, KubernetesObject, Manifest, ObjectKey, Rendered, object_key
from olmc.k8s.yaml.locate import at
from olmc.review.explain.installs import IMPORT_FAILED, of_operator
from olmc.review.explain.provenance import (
    held_upgrades,
    of_csv,
    of_held_upgrade,
    of_namespace,
    of_own_catalog,
    of_plan,
    of_resolution,
    of_stop,
    place_data,
    plan_of,
    unknown_of,
)

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome, InstallDecision, OperatorResult

FORMAT_VERSION = 1
HELD_BACK = "HeldBack"
UNKNOWN = "Unknown"
"""The reason for a catalog whose content is not in the workspace: the result of OLM is unknown."""
UNPACKING, UNPACK_FAILED = "BundleUnpacking", "BundleUnpackFailed"
_NOTHING = "-"
_COLUMNS = 80
_BELOW = "\n    "
_LEFT_OUT = frozenset({"missing", "causes", "remedy", "is_stalled", "way_out", "operator", "extension", "controller"})
_OPTIONAL = ("operator", "extension", "controller")


class OperatorStatus(NamedTuple):
    """An operator in a namespace.

    `csv` is "" where nothing is installed, `subscription` for a CSV without a Subscription; `operator` is
    the Operator and `extension` the ClusterExtension, if it is of one. `upgrade` is the CSV that would come next, and
    `waits` why it does not. `missing` is what prevents it from running or upgrading. `fails` says whether OLM would
    leave it broken, or unable to install or upgrade; waiting for approval is none of that. `is_stalled`: a diagnosis
    says that it does not come up, although OLM's objects alone do not show it. `causes` are diagnoses that explain it
    in one sentence each, and `remedy` is a change that cures the first of them. `way_out` is that of a CSV which
    can't be a member of its OperatorGroup, or of a plan that a policy keeps waiting.
    """

    namespace: str
    package: str
    subscription: str
    csv: str
    version: str
    channel: str
    phase: str
    reason: str
    upgrade: str
    waits: str
    missing: tuple[ExplanationLine, ...]
    fails: bool
    operator: str = ""
    extension: str = ""
    controller: str = ""
    is_stalled: bool = False
    causes: tuple[str, ...] = ()
    remedy: str = ""
    way_out: str = ""


def operators(
    settled: SettledCluster, proposed: Iterable[OperatorResult] = (), others: Iterable[OperatorStatus] = ()
) -> tuple[OperatorStatus, ...]:
    """All operators by namespace and package: one for each Subscription, and for each CSV without one.

    `proposed` are the results of Operators: one for each that installs something, or should; `others` are the rows of
    OLM v1, which come among them.
    """
    cluster = settled.cluster
    hindered = _hindered(settled)
    held = held_upgrades(settled)
    found = [_subscribed(each, hindered[name], held.get(name), settled) for name, each in cluster.subscriptions.items()]
    found += [
        _operated(each, settled) for each in proposed if each.package or each.operator.catalog or each.operator.image
    ]
    taken = {NamespacedName(each.namespace, each.csv) for each in found}
    found += others
    taken |= {NamespacedName(s.name.namespace, s.current) for s in cluster.subscriptions.values()}
    for name, member in cluster.members.items():
        if name not in taken and member.phase not in ("Replacing", "Deleting"):
            found.append(_applied(member, settled))
    return tuple(sorted(found, key=lambda each: (each.namespace, each.package, each.subscription, each.csv)))


def _hindered(settled: SettledCluster) -> dict[NamespacedName, tuple[ExplanationLine, ...]]:
    """Return the reasons why OLM installs nothing new for each Subscription.

    Without descoped operators they are the same for all of a namespace, and are computed once.
    """
    names = sorted(settled.cluster.subscriptions)
    apart = {namespace for namespace, done in settled.rounds.items() if done.descoped}
    alike = {
        namespace: tuple(of_namespace(namespace, settled)) for namespace in {name.namespace for name in names} - apart
    }
    return {
        name: alike[name.namespace] if name.namespace in alike else tuple(of_resolution(name, settled))
        for name in names
    }


def unlisted_failures(diagnostics: Iterable[Diagnostic], found: Iterable[OperatorStatus]) -> tuple[Diagnostic, ...]:
    """What no row tells: all failures where no operator fails, else those that are about something else; and operators
    that are named without being compiled."""
    is_shown = any(each.fails for each in found)
    failures = (
        each for each in diagnostics
        if each.is_open or RuleTag.OPERATORS_UNSEEN in each.tags
    )  # fmt: skip
    return tuple(each for each in failures if not (is_shown and RuleTag.IN_STATUS in each.tags))


def _subscribed(
    subscription: Subscription, hindered: tuple[ExplanationLine, ...], held: HeldUpgrade | None, settled: SettledCluster
) -> OperatorStatus:
    """The operator of a Subscription in a namespace where nothing new is installed because of `hindered`; `held` is the
    upgrade that it could have."""
    cluster, name = settled.cluster, subscription.name
    if not name.namespace:  # the applying tool decides its namespace
        hindered = ()
    csv = subscription.installed or subscription.current
    member = cluster.members.get(NamespacedName(name.namespace, csv))
    upgrade, waits = _upgrade(subscription, held, settled)
    done = settled.rounds.get(name.namespace)
    is_unknown = done is not None and not _group_reason(subscription, settled) and bool(unknown_of(done, cluster))
    if is_unknown:
        hindered = of_own_catalog(subscription, cluster) or hindered
    is_unknown |= (not name.namespace or bool(cluster.unplaced_groups(name.namespace))) and member is None
    waits = waits or UNKNOWN * is_unknown
    missing = list(of_csv(member, cluster)) if member is not None else []
    plan = plan_of(subscription, cluster)
    if (
        plan is not None
        and plan.phase == APPROVAL
        and all(cluster.has_csv(NamespacedName(name.namespace, each)) for each in plan.csvs)
    ):
        plan = None  # another plan has installed what it waits for
    of_its_plan = tuple(of_plan(plan, cluster)) if plan is not None else ()
    if member is not None and plan is not None and plan.phase == "Failed" and csv in plan.csvs:
        missing = [*of_its_plan, *missing]  # what the CSV waits for is what the plan could not write
    else:
        hindered = (*hindered, *of_its_plan)
    return OperatorStatus(
        namespace=name.namespace,
        package=subscription.package,
        subscription=name.name,
        csv=csv if member is not None else "",
        version=_version(member),
        channel=subscription.channel,
        phase=member.phase if member is not None else "",
        reason=member.reason if member is not None else waits if waits == UNKNOWN else _reason(subscription, settled),
        upgrade=upgrade,
        waits=waits,
        missing=(
            *missing,
            *hindered,
            *(_of_unpacking(subscription) if member is None and (plan is None or plan.phase == "Complete") else ()),
            *(of_held_upgrade(held) if held is not None else ()),
            *_left_over(name.namespace, member, cluster),
        ),
        fails=_is_broken(member)
        or (bool(hindered or of_its_plan) and waits not in (APPROVAL, UNKNOWN))
        or (member is None and waits not in (APPROVAL, UNKNOWN)),
        way_out=policy_way_out(plan, cluster) if waits == APPROVAL else _out_of_group(member, cluster),
    )


def _applied(member: CsvState, settled: SettledCluster) -> OperatorStatus:
    stopped = tuple(of_stop(namespaced_name(member.csv), settled))
    return OperatorStatus(
        namespace=member.csv.namespace,
        package=package_of(member.csv.object),
        subscription="",
        csv=member.csv.name,
        version=_version(member),
        channel="",
        phase=member.phase,
        reason=member.reason,
        upgrade="",
        waits="",
        missing=(*stopped, *of_csv(member, settled.cluster)),
        fails=_is_broken(member) or bool(stopped),
        way_out=_out_of_group(member, settled.cluster),
    )


def _operated(outcome: OperatorResult, settled: SettledCluster) -> OperatorStatus:
    """The operator of an Operator, in the namespace that its Installs are for ("" as long as that is not
    known)."""
    contents = (judged.content for judged in reversed(outcome.installs))
    namespace = next((content.namespace for content in contents if not content.missing), "")
    cluster = settled.cluster
    member = cluster.members.get(NamespacedName(namespace, outcome.installed))
    waiting = None if outcome.missing or outcome.problem else outcome.waiting
    stopped = of_stop(namespaced_name(member.csv), settled) if member is not None else ()
    hindered = (*of_operator(outcome), *stopped)
    unmade = IMPORT_FAILED if outcome.missing else UNPACK_FAILED if outcome.unreadable else APPROVAL if waiting else ""
    return OperatorStatus(
        namespace=namespace,
        package=outcome.package or outcome.operator.name,
        subscription="",
        csv=member.csv.name if member is not None else "",
        version=_version(member),
        channel=outcome.channel,
        phase=member.phase if member is not None else "",
        reason=member.reason if member is not None else outcome.failure[0] if outcome.failure else unmade,
        upgrade=waiting.install.name if waiting else "",
        waits=APPROVAL if waiting else "",
        missing=(*(of_csv(member, cluster) if member is not None else ()), *hindered),
        fails=_is_broken(member)
        or bool(outcome.failure or outcome.missing or outcome.problem)
        or (member is not None and member.csv.name in settled.stopped),
        operator=outcome.operator.name,
        way_out=_out_of_group(member, cluster),
    )


def _out_of_group(member: CsvState | None, cluster: Cluster) -> str:
    """The way out of a reason that lies in the OperatorGroup; a missing requirement names its own."""
    if member is None or member.reason == "RequirementsNotMet":
        return ""
    return group_way_out(member, cluster)


def _of_unpacking(subscription: Subscription) -> Iterator[ExplanationLine]:
    """Explain a Subscription whose bundle OLM unpacks without finding the CSV that the catalog lists (R-CAT-614,
    R-CAT-654)."""
    if subscription.unpacking and not subscription.failure and not subscription.unpack_failure:
        listed = subscription.current or subscription.package
        yield ExplanationLine(0, f"the bundle of {listed} contains no CSV of that name", at(subscription.source))


def _left_over(namespace: str, member: CsvState | None, cluster: Cluster) -> Iterator[ExplanationLine]:
    """The CSVs that an operator replaces and that are still there: until it succeeds they stay."""
    before = member.csv.replaces if member is not None else ""
    seen = {""}
    while before not in seen:
        seen.add(before)
        old = cluster.members.get(NamespacedName(namespace, before))
        if old is None:
            return
        yield ExplanationLine(0, f"{before}, which it replaces, is still there ({old.phase})")
        before = old.csv.replaces


def _is_broken(member: CsvState | None) -> bool:
    return member is not None and not member.succeeded


def _version(member: CsvState | None) -> str:
    return member.csv.version if member is not None else ""


def _upgrade(subscription: Subscription, held: HeldUpgrade | None, settled: SettledCluster) -> tuple[str, str]:
    """The CSV that would be installed next, and the phase that its InstallPlan, or its unpacking, stays in."""
    done = settled.rounds.get(subscription.name.namespace)
    for candidate in done.missing if done is not None else ():
        if candidate.package == subscription.package:
            return candidate.name, UNPACK_FAILED
    plan = plan_of(subscription, settled.cluster)
    if plan is None or plan.phase == "Complete" or subscription.current in ("", subscription.installed):
        return (held.upgrade, HELD_BACK) if held is not None else ("", "")
    return subscription.current, plan.phase


def _reason(subscription: Subscription, settled: SettledCluster) -> str:
    """Return why nothing is installed, as the Subscription's conditions name it."""
    cluster = settled.cluster
    of_group = _group_reason(subscription, settled)
    if of_group:
        return of_group
    if subscription.failure:
        return subscription.failure[0]
    plan = plan_of(subscription, cluster)
    if plan is not None and plan.phase != "Complete":
        return f"InstallPlan{plan.phase}" if plan.phase != APPROVAL else APPROVAL
    if subscription.unpack_failure:
        return UNPACK_FAILED
    return UNPACKING if subscription.unpacking else ""


def _group_reason(subscription: Subscription, settled: SettledCluster) -> str:
    """Return the problem of the OperatorGroups of its namespace, "" for nothing."""
    namespace, cluster = subscription.name.namespace, settled.cluster
    if len(cluster.groups_in(namespace)) > 1:
        return "TooManyOperatorGroups"
    done = settled.rounds.get(namespace)
    needs_none = done is not None and subscription.name in done.descoped
    return "NoOperatorGroup" if cluster.lacks_group(namespace) and not needs_none else ""


def as_table(
    found: Sequence[tuple[str, OperatorStatus]], *, wide: bool = False, color: bool = False, here: str = "",
    folders: Mapping[OperatorStatus, str] = MappingProxyType({}), cluster: Sequence[str] = (),
) -> str:  # fmt: skip
    """The operators as aligned columns, "" for none; with `wide` names and everything that is missing.

    Otherwise a row has what fits 80 columns, and below that of a problem stand its cause and the way out. Each operator
    comes with what its workspace is called, "" for all where there is only one, which is at `here`; `folders` are those
    of operators whose workspace is called after a cluster. `cluster` are the values of --from: commands repeat them.
    """
    if not found:
        return ""
    if wide:
        return _wide_table(found)
    return _short_table(found, here, in_color if color else in_black, folders, state_options(cluster))


def _wide_table(found: Sequence[tuple[str, OperatorStatus]]) -> str:
    named = any(path for path, _ in found)
    head = "NAMESPACE OPERATOR VERSION CSV SUBSCRIPTION CHANNEL PHASE REASON UPGRADE MISSING".split()
    lines = [["WORKSPACE"] * named + head]
    for path, each in found:
        lines += [[path] * named + line if first else [""] * named + line for first, line in _lines(each)]
    return aligned(lines)


def _lines(each: OperatorStatus) -> Iterator[tuple[bool, list[str]]]:
    names = [each.csv, each.subscription or each.extension]
    upgrade = f"{each.upgrade} ({each.waits})" if each.upgrade else ""
    cells = [each.namespace, each.package, each.version, *names, each.channel, each.phase, each.reason, upgrade]
    texts = [str(line) for line in each.missing]
    yield True, [*(cell or _NOTHING for cell in cells), texts[0] if texts and texts[0] else _NOTHING]
    for text in texts[1:]:
        yield False, [*("" for _ in cells), text]


class _StatusRow(NamedTuple):
    """An operator of the table: its workspace, that workspace in commands, the command that has the finding about a
    catalog, and a mark where other rows wait for the same content."""

    path: str
    each: OperatorStatus
    folder: str
    check: str
    mark: str = ""


def _short_table(
    found: Sequence[tuple[str, OperatorStatus]], here: str, paint: Paint, folders: Mapping[OperatorStatus, str],
    begun: str,
) -> str:  # fmt: skip
    """A row each, with its reason where that is a problem and fits, and below what is wrong and what to do. The content
    that several rows wait for is named once, below the table."""
    named = any(path for path, _ in found)
    rows = _marked([_row(path, each, here, folders, begun, named) for path, each in found])
    head = ["WORKSPACE"] * named + ["NAMESPACE", "OPERATOR", "VERSION", "PHASE", "UPGRADE"]
    reasons = [f"{_problem(row.each)}{row.mark}" for row in rows]
    phases = [_phase(row.each) for row in rows]
    full = [[*_cells(row, phase, named), reason] for row, phase, reason in zip(rows, phases, reasons, strict=True)]
    lines = aligned([[*head, "REASON"], *full]).splitlines()
    has_column = any(reasons) and max(map(len, lines)) <= _COLUMNS
    if not has_column:
        phases = [f"{_phase(row.each) or (UNKNOWN if _is_unknown(row.each) else '')}{row.mark}" for row in rows]
        lines = aligned([head, *(_cells(*each, named) for each in zip(rows, phases, strict=True))]).splitlines()
    at = lines[0].index(" PHASE") + 1
    text, notes = f"{lines[0]}\n", {}
    for row, phase, line in zip(rows, phases, lines[1:], strict=True):
        shown = phase or _NOTHING
        text += f"{line[:at]}{paint(shown, _style_of(row.each))}{line[at + len(shown) :]}\n"
        below = [clean(part) for part in _below(row.each, has_column or bool(row.mark), row.folder, row.check)]
        if row.mark:
            notes[row.mark.strip()] = below
        else:
            text += "".join(f"    {part}\n" for part in below)
    return text + "".join(f"{mark} {_BELOW.join(below)}\n" for mark, below in notes.items())


def _row(
    path: str, each: OperatorStatus, here: str, folders: Mapping[OperatorStatus, str], begun: str, named: bool
) -> _StatusRow:
    where = folders.get(each, path or here)
    checked = here if each in folders else path or here
    check = f"olmc check{f' {_quoted(checked)}' if checked else ''}" if named else ""
    return _StatusRow(path, each, f"{f' {_quoted(where)}' if where else ''}{begun}", check)


def _marked(rows: Sequence[_StatusRow]) -> list[_StatusRow]:
    """The rows, those that wait for the same content as another one with a number for it."""
    waits = {row: tuple(_below(row.each, True, "", row.check)) for row in rows if _is_unknown(row.each)}
    several = [content for content, count in Counter(waits.values()).items() if count > 1]
    numbers = {content: f" [{number}]" for number, content in enumerate(several, 1)}
    return [row._replace(mark=numbers.get(waits.get(row, ()), "")) for row in rows]


def _cells(row: _StatusRow, phase: str, named: bool) -> list[str]:
    cells = row.each.namespace, row.each.package, row.each.version, phase, row.each.upgrade
    return [row.path] * named + [cell or _NOTHING for cell in cells]


def _is_unknown(each: OperatorStatus) -> bool:
    return UNKNOWN in (each.waits, each.reason)


def _phase(each: OperatorStatus) -> str:
    """The phase as people read it: what OLM calls Succeeded is Stalled where its pods can't start."""
    return "Stalled" if each.is_stalled and each.phase == "Succeeded" else each.phase


def _problem(each: OperatorStatus) -> str:
    """The reason of a problem, "" where there is none."""
    reason = each.waits if each.phase == "Succeeded" else each.reason or each.waits
    return reason if _has_problem(each) else ""


def _has_problem(each: OperatorStatus) -> bool:
    return each.fails or bool(each.waits) or bool(each.missing)


def _style_of(each: OperatorStatus) -> str:
    if each.fails:
        return "FAILURE"
    return "WARNING" if _has_problem(each) or each.phase != "Succeeded" else "good"


def _quoted(word: str) -> str:
    """A word as a shell reads it."""
    return shlex.quote(word)


def _below(each: OperatorStatus, has_reason: bool, folder: str, check: str) -> Iterator[str]:
    """The cause of a problem, behind its reason unless the row has that, and the way out; `folder` is the workspace
    in commands, with the cluster that it is applied to. `check` is the command that has the finding about a catalog, ""
    where that follows."""
    if not _has_problem(each):
        return
    reason = "" if has_reason or (_is_unknown(each) and not each.phase) else _problem(each)
    cause = in_short(each)
    if reason or cause:
        yield ": ".join(filter(None, (reason, cause)))
    if _is_unknown(each):
        if check:
            yield f"`{check}` has the way out."
        return
    if APPROVAL in (each.waits, each.reason) and each.operator:
        shown = f"`olmc status{folder} --approve-installs` shows the result"
        yield f"Put it into the workspace with spec.approval: Approved; {shown}."
    elif APPROVAL in (each.waits, each.reason):
        shown = f"`olmc status{folder} --approve {each.namespace}/{each.upgrade}` shows the result"
        yield f"{each.way_out} {shown}." if each.way_out else f"Set spec.approved: true on it; {shown}."
    elif each.remedy:
        yield f"`olmc fix{folder}` cures it: {each.remedy}."
    elif each.reason == NOT_SATISFIABLE:
        yield f"`olmc resolve{folder}` shows the candidates, and the reason against each."
    elif each.way_out:
        yield each.way_out
    elif each.reason in GROUP_REASONS and each.reason != "RequirementsNotMet":  # without a CSV there is no member
        yield GROUP_REASONS[each.reason].format(namespace=each.namespace)
    else:
        held = each.upgrade if each.waits == HELD_BACK and not each.fails else ""
        name = f"ClusterExtension/{each.extension}" if each.extension else held or each.csv or each.package
        yield f"`olmc why {_quoted(name)}{folder}` explains it."


def in_short(each: OperatorStatus) -> str:
    """The first cause, and how many more there are: a diagnosis, else of a CSV that waits the first requirement that is
    not met, and where no versions go together what rules out the first candidate."""
    if each.causes:
        return _counted(each.causes)
    lines = tuple(_with_errors(each.missing))
    of_csv_alone = [line.depth for line in lines[:2]] == [0, 1] and not lines[0].text.startswith("InstallPlan ")
    depth = 1 if each.phase == "Pending" and of_csv_alone else 0
    own = _own_part(each) if each.phase in ("", "Succeeded") else ()
    if each.reason == NOT_SATISFIABLE or own:
        lines = own or lines
        depth = max((line.depth for line in lines), default=0)
    causes = [line.text for line in lines if line.depth == depth]
    if each.waits == HELD_BACK and not each.fails:
        reasons = [line.text for line in lines if line.depth == 1]
        causes = [f"{causes[0]}: {reasons[0]}" if reasons else causes[0], *reasons[1:]]
    return _counted(causes)


def _with_errors(lines: Sequence[ExplanationLine]) -> Iterator[ExplanationLine]:
    """Lines, of which one that an error prevents a resolution comes with the error that follows it."""
    for line, error in zip_longest(lines, lines[1:]):
        is_head = error is not None and error.depth > line.depth and line.text.startswith(PREVENTS)
        yield line._replace(text=f"{line.text}: {one_line(error.text)}") if is_head else line


def _counted(causes: Sequence[str]) -> str:
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    return causes[0] + more if causes else ""


def _own_part(each: OperatorStatus) -> tuple[ExplanationLine, ...]:
    """Return the part of a derivation about a namespace or the cluster that concerns one Subscription or Operator."""
    lines = enumerate(each.missing)
    asking = each.subscription or each.operator
    at = next((index for index, line in lines if line.subscription == asking), None)
    if at is None:
        return ()
    depth = each.missing[at].depth
    return tuple(takewhile(lambda line: line.depth > depth, each.missing[at + 1 :]))


def as_data(found: Sequence[tuple[str, OperatorStatus]]) -> dict[str, Any]:
    """The operators in the format of `schemas/status.schema.json`."""
    return {
        "version": FORMAT_VERSION,
        "operators": [
            {
                "workspace": path,
                **{key: value for key, value in each._asdict().items() if key not in _LEFT_OUT},
                **{key: value for key in _OPTIONAL if (value := getattr(each, key))},
                "missing": lines_data(each.missing),
            }
            for path, each in found
        ],
    }


def lines_from(
    folder: str, lines: Iterable[ExplanationLine], cluster: Sequence[str] = ()
) -> tuple[ExplanationLine, ...]:
    """The lines about the workspace in `folder`, with places and commands as one gives them where one stands; `cluster`
    are the values of --from."""
    return tuple(
        line._replace(text=advice_from(folder, line.text, cluster), location=moved(folder, line.location))
        for line in lines
    )


def lines_data(lines: Sequence[ExplanationLine]) -> list[dict[str, Any]]:
    """The lines of an explanation as data."""
    return [{"depth": line.depth, "text": line.text, "place": place_data(line.location)} for line in lines]


# What somebody asks about: an object, a CSV or a package, found by what people call it.
#
# Kinds go by many names on a command line: kind, plural, singular and short names, in any case.


class ExplainContext(NamedTuple):
    """The context of questions: the rendered objects, the settled cluster, the workspace's bundles by CSV name and its
    manifests, the findings about them, the results of Operators, the left out content of its folder, and the results of
    Installs and ClusterExtensions."""

    objects: tuple[Rendered, ...]
    settled: SettledCluster
    bundles: Mapping[str, Bundle] = MappingProxyType({})
    manifests: tuple[Manifest, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    operators: tuple[OperatorResult, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    installs: tuple[InstallDecision, ...] = ()
    extensions: tuple[ExtensionOutcome, ...] = ()


class Wanted(NamedTuple):
    """An object that is asked for: the kinds that are meant, its namespace ("" for any), its name."""

    kinds: tuple[RestMapping, ...]
    namespace: str
    name: str

    def is_met_by(self, key: ObjectKey) -> bool:
        """Return whether an object is one of those that are asked for."""
        return key.name == self.name and self.begins(key)

    def begins(self, key: ObjectKey) -> bool:
        """Return whether an object is one of those that are asked for, but for the end of its name."""
        kinds = {(each.group, each.kind) for each in self.kinds}
        fits = (key.group, key.kind) in kinds and self.namespace in ("", key.namespace)
        return fits and key.name.startswith(self.name)


class ExplainTarget(NamedTuple):
    """The meaning of a word: existing objects, or else an absent object; and packages of that name."""

    objects: tuple[Rendered, ...] = ()
    absent: Wanted | None = None
    package: str = ""


def target(text: str, scene: ExplainContext) -> ExplainTarget:
    """Return the meaning of `Kind/namespace/name`, `Kind/name`, the name of a CSV, or a package; QueryError for an
    unknown one.

    Kinds may be plurals and short names, in any case, and with version and group, as kubectl takes them. Any other name
    is valid, also behind its namespace, if an object has it, or if just one begins so.
    """
    first, *rest = text.split("/")
    if len(rest) > 2 or not all((first, *rest)):
        raise QueryError(f"{text} is no target. Write Kind/namespace/name, Kind/name, a CSV or a package.")
    if not rest:
        return _by_name(text, scene)
    known = known_kinds((*(each.object for each in scene.objects), *_of_bundles(scene)))
    kinds = find_kinds(without_version(first), known)
    if not kinds:
        here = [each for each in scene.objects if each.identity[2:] == (first, rest[0]) and not is_copied(each)]
        if len(rest) == 1 and _is_csv(rest[0], scene):
            return _object(Wanted(find_kinds(CSV_KIND, known), first, rest[0]), scene)
        if len(rest) == 1 and here:
            return ExplainTarget(tuple(here))
        hint = did_you_mean(closest_kind(first, known)) or "Write it as manifests do."
        raise QueryError(f"There is no kind {first}. {hint}")
    return _object(Wanted(kinds, rest[0] if len(rest) == 2 else "", rest[-1]), scene)


def _of_bundles(scene: ExplainContext) -> Iterator[KubernetesObject]:
    for bundle in scene.bundles.values():
        yield from bundle.objects


def _object(wanted: Wanted, scene: ExplainContext) -> ExplainTarget:
    found = [each for each in scene.objects if wanted.is_met_by(each.identity)]
    originals = [each for each in found if not is_copied(each)]
    if found:
        return ExplainTarget(tuple(originals or found))
    return ExplainTarget(absent=wanted)


def _by_name(name: str, scene: ExplainContext) -> ExplainTarget:
    """Return a CSV first, then a package, then any other object with that name."""
    csvs = find_kinds(CSV_KIND, known_kinds(()))
    if _is_csv(name, scene):
        return _object(Wanted(csvs, "", name), scene)
    if name in set(packages(scene)):
        return ExplainTarget(package=name)
    found = tuple(each for each in scene.objects if each.identity.name == name and not is_copied(each))
    if found:
        return ExplainTarget(found)
    left = next((each.identity for each in objects_left_out(scene) if each.identity.name == name), None)
    if left is not None:
        kind = BUILTIN.mapping(GroupKind(left.group, left.kind))
        return ExplainTarget(absent=Wanted((kind,), left.namespace, left.name))
    csv_beginning = sorted({each for each in csv_names(scene) if each.startswith(name)})
    if len(csv_beginning) == 1:
        return _object(Wanted(csvs, "", csv_beginning[0]), scene)
    beginning = [each for each in scene.objects if each.identity.name.startswith(name) and not is_copied(each)]
    if len(beginning) == 1:
        return ExplainTarget(tuple(beginning))
    raise not_found(f"There is no CSV, package or object {name}", name, _names(scene), object_names(scene))


def objects_left_out(scene: ExplainContext) -> Iterator[LeftObject]:
    """The objects that are left out of the folder of a workspace."""
    for left in scene.left_out:
        yield from left.objects


def is_copied(found: Rendered) -> bool:
    """Decide whether an object is OLM's copy of a CSV or Role in another namespace."""
    return is_copy(found.object) if found.identity.kind == CSV_KIND else has_copy_label(found.object)


def _is_csv(name: str, scene: ExplainContext) -> bool:
    return name in set(csv_names(scene))


def csv_names(scene: ExplainContext) -> Iterator[str]:
    """The names of all CSVs that are or were installed, or that a catalog or a bundle has."""
    cluster = scene.settled.cluster
    yield from (key.name for key in cluster.csvs)
    yield from (csv.name for csv in cluster.retired)
    yield from (entry.name for source in cluster.catalogs.values() for entry in source.entries)
    yield from (name for _, bundles in _served(cluster) for name in bundles)
    yield from scene.bundles
    refused = (object_key(each.object) for each in scene.manifests)
    yield from (key.name for key in refused if (key.group, key.kind) == (OLM_GROUP, CSV_KIND))


def packages(scene: ExplainContext) -> Iterator[str]:
    """The names of all packages that catalogs and bundles have, or that Subscriptions ask for."""
    cluster = scene.settled.cluster
    yield from (package for package, _ in _served(cluster))
    yield from (subscription.package for subscription in cluster.subscriptions.values())
    yield from (package_of(csv.object) for csv in cluster.csvs.values())
    yield from (bundle.package for bundle in scene.bundles.values())
    yield from (result.extension.source.package for result in scene.extensions)


def _served(cluster: Cluster) -> Iterator[tuple[str, Iterable[str]]]:
    for source in cluster.catalogs.values():
        for package in source.catalog.packages.values() if source.catalog is not None else ():
            yield package.name, package.bundles


def _names(scene: ExplainContext) -> list[str]:
    return sorted({*packages(scene), *csv_names(scene)})


def object_names(scene: ExplainContext) -> list[str]:
    """The objects that there are, each by its name and as `Kind/namespace/name`."""
    keys = [each.identity for each in scene.objects]
    return sorted({str(key) for key in keys} | {key.name for key in keys})


def subscribing(package: str, cluster: Cluster) -> tuple[NamespacedName, ...]:
    """The Subscriptions for a package."""
    return tuple(name for name, each in sorted(cluster.subscriptions.items()) if each.package == package)


def package_of_csv(name: str, scene: ExplainContext) -> str:
    """The package of a CSV as catalogs or its bundle have it, "" if none does."""
    cluster = scene.settled.cluster
    for package, bundles in _served(cluster):
        if name in bundles:
            return package
    for source in cluster.catalogs.values():
        for entry in source.entries:
            if entry.name == name:
                return entry.package
    bundle = scene.bundles.get(name)
    return bundle.package if bundle is not None else ""
