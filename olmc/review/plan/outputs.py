"""A plan as text for terminals, as Markdown for comments on pull requests, and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.output.document import (
    LIMIT,
    Group,
    OutputDocument,
    PageItem,
    Section,
    aligned,
    as_whole,
    code,
    code_cell,
    fitting,
    table_head,
    table_row,
    within,
)
from olmc.compiler.output.messages import Paint, clean, in_black, in_color, json_text
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.lean import regex
from olmc.k8s.objects import OLM_GROUP, OLM_V1_GROUP, ObjectKey
from olmc.review.diff.crd_kinds import ABSENT, RISK, Message, UntrustedText, contrasted
from olmc.review.diff.deltas import Delta, path_text
from olmc.review.diff.outputs import CUT_NOTE, folded_text, markdown_counts, markdown_sections, subject, summary
from olmc.review.diff.outputs import as_data as difference_data
from olmc.review.diff.outputs import verdict as difference_verdict
from olmc.review.diff.text import review_lines
from olmc.review.plan.leftovers import Action, AppliedChange, Plan, counted
from olmc.review.plan.outcomes import FAILED_BEFORE, RUNS_ON, OperatorOutcome, PlannedInstall
from olmc.review.plan.repair import DriftedObject, Verification

if TYPE_CHECKING:
    from olmc.review.diff.html import FrontSection, PageLink

# Drift as lines and as data.

_MOST = 3
WORDS = {"missing": "is not there", "extra": "exists unexpectedly", "different": "differs"}


def drift_lines(drift: Iterable[DriftedObject], *, verbose: bool = False) -> Iterator[str]:
    """An object a line, with what differs and who repairs it; with `verbose` a field a line as well."""
    for item in drift:
        fields = [] if verbose else [_drift_delta(delta) for delta in item.deltas[:_MOST]]
        more = len(item.deltas) - len(fields)
        fields += [f"and {more} more fields"] if fields and more else []
        what = f": {', '.join(fields)}" if fields else ""
        along = f", and with it {counted(item.along)}" if item.along else ""
        yield clean(f"{item.key}: {WORDS[item.kind]}{what}{along}; {item.repair.text}")
        if verbose:
            yield from (clean(f"  {_drift_delta(delta)}") for delta in item.deltas)


def _drift_delta(delta: Delta) -> str:
    before, after = contrasted(delta.old, delta.new)
    return f"{path_text(delta.path)} {before.text} → {after.text}"


def drift_data(drift: Sequence[DriftedObject]) -> list[dict[str, Any]]:
    """The objects as data: what differs by its paths."""
    return [
        {
            "kind": item.kind,
            "object": item.key._asdict(),
            "fields": [path_text(delta.path) for delta in item.deltas],
            "along": [key._asdict() for key in item.along],
            "repairedBy": item.repair.text,
            "repair": item.repair._asdict(),
            "stays": item.stays,
        }
        for item in drift
    ]


FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/plan.schema.json`."""

_SIGNS: dict[Action, str] = {"create": "+", "change": "~", "refuse": "!", "prune": "-", "delete": "-"}
_WORDS: dict[Action, str] = {
    "create": "created", "change": "changed", "refuse": "refused", "prune": "pruned", "delete": "deleted by hand",
}  # fmt: skip
HEADINGS = ("What is applied", "What OLM does", "Result", "What is left to do")
_NOTHING = ("nothing: the manifests are the same", "nothing: no InstallPlan is made", "nothing", "nothing")
_LINES = (10, 12, 30)
"""The number of lines of the first sections unless all are asked for: together they fit on a screen."""
_COLUMNS = 80 - 2
"""The largest width of the table, which is indented."""
DRIFT = "Drift: differences between the cluster and the expected state before the change"
_ABOVE = f"see “{HEADINGS[1]}”"
# How a row ends that names the first of several causes.
_MORE = regex(r" \(and \d+ more\)$")
_WORD = regex(r"[\w.-]+")
_REVIEW_WEIGHT = 8
_APPLIED_RANKS: dict[Action, int] = {"delete": 0, "prune": 0, "refuse": 0, "change": 1, "create": 2}
_OUTCOME_RANKS = {"failing": 0, "removed": 0, "installed": 2, "upgraded": 2}
"""The ranks by which lines leave a comment that is too short: the highest first."""


def as_text(plan: Plan, *, color: bool = False, verbose: bool = False) -> str:
    """The plan in the order in which it happens, a section a part; what is long is cut unless it is `verbose`."""
    paint = in_color if color else in_black
    name = subject(plan.difference)
    lines = [paint(f"{name or _sides(plan)}: {verdict(plan)}", "bold")]
    if not plan.is_empty:
        lines.append(paint(f"({f'{_sides(plan)}; ' if name else ''}{in_short(plan)})", "faint"))
    olm = list(_olm_lines(plan))
    short = referring(plan, olm if verbose else _cut(olm, _LINES[1]))
    sections: tuple[Iterable[str], ...] = (
        _applied_lines(plan.applied), olm, _outcome_lines(short, paint), _task_lines(plan)
    )  # fmt: skip
    idle = [*_NOTHING]
    if any(row.extension for row in plan.operators):
        idle[1] += ", and no ClusterExtension gets another bundle"
    for number, (name, nothing, section) in enumerate(zip(HEADINGS, idle, sections, strict=True), 1):
        # Where nothing happens at all, one line says it, and what is stuck for good.
        is_shown = not plan.is_empty or (number >= 3 and bool(_changed(plan)))
        body = list(section) if is_shown or verbose else []
        if body or not plan.is_empty:
            most = len(body) if verbose or number > len(_LINES) else _LINES[number - 1]
            lines += ["", paint(f"{number}. {name}", "bold"), *_cut(body or [f"  {nothing}"], most)]
    if plan.drift:
        body = [f"  {line}" for line in drift_lines(plan.drift, verbose=verbose)]
        lines += ["", paint(DRIFT, "bold"), *_cut(body, len(body) if verbose else _LINES[0])]
    return "".join(f"{line}\n" for line in lines)


def outcome(plan: Plan) -> str:
    """Return the operator and the decision without advice, for a table of many plans."""
    name = subject(plan.difference)
    return f"{f'{name}: ' if name else ''}{verdict(plan, with_advice=False)}"


def verdict(plan: Plan, space: int = 160, *, with_advice: bool = True) -> str:
    """Return the decision in about `space` characters: what breaks or fails, and how much is left to do by hand."""
    failing = sum(row.outcome in ("failing", FAILED_BEFORE) for row in plan.operators)
    fails = f"{failing} operator{'s' * (failing != 1)} fail{'s' * (failing == 1)}"
    untouched = _untouched(plan)
    still = f"{len(untouched)} operator{'s are' if len(untouched) > 1 else ' is'} unknown as before"
    if plan.is_empty:
        as_before = [text for text, counts in ((f"{fails} as before", failing), (still, untouched)) if counts]
        return "; ".join(["nothing happens", *as_before])
    left = f"; {len(plan.tasks)} step{'s' * (len(plan.tasks) != 1)} left to do" if plan.tasks else ""
    if any(change.severity >= RISK for change in plan.difference.changes):
        return difference_verdict(plan.difference, space - len(left), with_advice=with_advice) + left
    if failing:
        return fails + left
    unknown = sum(row.outcome == "unknown" for row in plan.operators) - len(untouched)
    if unknown:
        return f"{unknown} operator{'s are' if unknown > 1 else ' is'} unknown{left}"
    changes = f" ({summary(plan.difference)})" if plan.difference.changes else ""
    # Of what is unknown as before, the problem is no news.
    if untouched and not plan.fails:
        return f"{still}{changes}{left}"
    if plan.problems:
        return f"{len(plan.problems)} failure{'s' * (len(plan.problems) != 1)}{left}"
    return f"no risk{changes}{left}" if left else f"no action needed{changes}"


def _sides(plan: Plan) -> str:
    return f"{clean(plan.difference.old.name)} → {clean(plan.difference.new.name)}"


def in_short(plan: Plan) -> str:
    """Return how much happens: `1 pruned, 1 InstallPlan; result: 2 changes`."""
    if plan.is_empty:
        return "nothing happens"
    done = {_WORDS[change.action]: 0 for change in plan.applied}
    for change in plan.applied:
        done[_WORDS[change.action]] += 1
    parts = [f"{count} {word}" for word, count in done.items()] or ["nothing applied"]
    parts += [f"{len(plan.installs)} InstallPlan{'s' * (len(plan.installs) != 1)}"] if plan.installs else []
    waiting = sum(install.waits for install in plan.installs)
    parts += [f"{waiting} waiting for approval"] if waiting else []
    going = len(plan.extensions)
    parts += [f"{going} ClusterExtension{'s' * (going != 1)} with another bundle"] if going else []
    return f"{', '.join(parts)}; result: {summary(plan.difference)}"


def referring(plan: Plan, lines: Iterable[str]) -> Plan:
    """Return the plan with a reference in place of each cause that its printed `lines` state in full."""
    text = "\n".join(lines)
    changes = tuple(
        change._replace(message=_with_reference(change.message, text)) for change in plan.difference.changes
    )
    rows = tuple(row._replace(why=_referring(row.why, text)) for row in plan.operators)
    return plan._replace(operators=rows, difference=plan.difference._replace(changes=changes))


def _referring(why: str, text: str) -> str:
    if not why or clean(why) in text:
        return why and _ABOVE
    head, _, cause = why.partition(", but " if why.startswith(RUNS_ON) else ": ")
    cause = _MORE.sub("", cause)
    return f"{head} ({_ABOVE})" if cause and clean(cause) in text else why


def _with_reference(message: Message, text: str) -> Message:
    """Return a message without the cause that it ends with if `text` has that; one that is cut in the middle has its
    begin and its end there."""
    match message:
        case (*first, str(before), UntrustedText(cause)) if before.endswith(": "):
            if all(clean(part) in text for part in cause.split(" … ")):
                return (*first, f"{before.removesuffix(': ')} ({_ABOVE})")
    return message


def _cut(lines: Sequence[str], most: int) -> list[str]:
    if len(lines) <= most + 1:
        return list(lines)
    return [*lines[:most], f"  … and {len(lines) - most} more lines (-v shows them)"]


def _applied_lines(applied: Iterable[AppliedChange]) -> Iterator[str]:
    for change in applied:
        along = f", and with it {clean(counted(change.along))}" if change.along else ""
        along += ", so it stays as it is" if change.stays else ""
        along += ", and it stays Terminating while a finalizer holds it" if change.key in dict(change.held) else ""
        yield f"  {_SIGNS[change.action]} {clean(str(change.key))}: {_WORDS[change.action]}{along}{_delta_text(change)}"


def _delta_text(change: AppliedChange) -> str:
    texts = [_delta(delta) for delta in change.deltas[:3]]
    more = f", and {len(change.deltas) - 3} more fields" if len(change.deltas) > 3 else ""
    return f", {', '.join(texts)}{more}" if texts else ""


def _delta(delta: Delta) -> str:
    before, after = (clean(side.text) for side in contrasted(delta.old, delta.new))
    return f"{clean(path_text(delta.path))}: {before} → {after}"


def _olm_lines(plan: Plan) -> Iterator[str]:
    reported = set()
    for extension in plan.extensions:
        further = f", by way of {', '.join(map(clean, extension.via))}" if extension.via else ""
        further += f"; goes on to {clean(extension.further)} then" if extension.further else ""
        hop = _hops([(extension.before, extension.after)])
        yield f"  ClusterExtension {clean(extension.name)}: {hop}, from catalog {clean(extension.catalog)}{further}"
    for install in plan.installs:
        name = f"{clean(install.namespace)}/{clean(install.name)}"
        yield f"  InstallPlan {name}: {_hops(install.hops)}, {_state(install)}"
        for problem in plan.problems:
            # The finding about a plan has its message and says where it comes from.
            if install.message and install.message in problem.message and problem not in reported:
                reported.add(problem)
                yield f"    {_place(problem)}{clean(install.message)}"
        for problem in plan.problems:
            if problem not in reported and install.phase == "Failed" and _is_of(problem, install):
                reported.add(problem)
                yield f"    {_place(problem)}{clean(problem.message)}"
    for problem in plan.problems:
        if problem not in reported:
            first, *more = problem.message.split("\n")
            yield f"  {_place(problem)}{clean(first)}"
            yield from (f"    {clean(line)}" for line in more)
    yield from (f"  later: {clean(text)}" for text in plan.late)


def _is_of(problem: Diagnostic, install: PlannedInstall) -> bool:
    """Tell whether a problem names an operator that this plan was to bring: then the plan's failure has caused it."""
    words = {word.strip(".") for word in _WORD.findall(problem.message)}
    return install.namespace in words and any(after in words for _, after in install.hops)


def _place(problem: Diagnostic) -> str:
    return f"{clean(str(problem.location))}: " if problem.location is not None else ""


def _hops(hops: Iterable[tuple[str, str]]) -> str:
    texts = (f"{before} → {after}" if before else f"{after} (new)" for before, after in hops)
    return ", ".join(map(clean, texts))


def _state(install: PlannedInstall) -> str:
    if install.waits:
        return f"waits for approval ({install.steps} steps)"
    if install.phase == "Complete":
        return f"{install.approval}, complete ({install.steps} steps)"
    return f"{install.phase} after {install.done} of {install.steps} steps"


def _outcome_lines(plan: Plan, paint: Paint) -> Iterator[str]:
    rows = _changed(plan)
    if rows:
        yield from (f"  {line}" for line in _outcome_table(rows))
    untouched = _untouched(plan)
    same = len(plan.operators) - len(rows) - len(untouched)
    for count, becomes in ((same, "same version, same phase"), (len(untouched), "unknown as before")):
        all_of_them = f"all {count} operators" if count > 1 else "the operator"
        others = f"{count} other operator{'s' * (count != 1)}"
        if count:
            yield f"  {all_of_them if count == len(plan.operators) else others}: {becomes}"
    if plan.difference.changes:
        folded = folded_text(plan.difference)
        yield from ("", f"  ({folded})") if folded else ()
        body = review_lines(plan.difference, paint)
        yield from (f"  {line}" if line else "" for line in body)


_COLUMN_NAMES = ["NAMESPACE", "OPERATOR", "FROM", "TO", "PHASE", "OUTCOME"]


def _outcome_table(rows: Sequence[OperatorOutcome]) -> Iterator[str]:
    """The table of operators. Where the causes are too long for a column, each stands below its row."""
    whole = aligned([_COLUMN_NAMES, *map(_row, rows)])
    short = aligned([_COLUMN_NAMES, *(_row(row._replace(why="")) for row in rows)])
    return fitting(whole, short, [row.why for row in rows], _COLUMNS)


def _row(row: OperatorOutcome) -> list[str]:
    outcome = f"{row.outcome}: {row.why}" if row.why else row.outcome
    cells = [row.namespace, row.package, row.before_version or row.before, row.after_version or row.after, _phase(row)]
    return [*(clean(cell) or "-" for cell in cells), clean(outcome)]


def _phase(row: OperatorOutcome) -> str:
    return "Stalled" if row.is_stalled and row.phase == "Succeeded" else row.phase


def _task_lines(plan: Plan) -> Iterator[str]:
    for task in plan.tasks:
        yield f"  {clean(task.text)}"
        if task.command:
            yield f"    $ {clean(task.command)}"


def as_markdown(plan: Plan, limit: int = LIMIT) -> str:
    """Return the plan as a comment for a pull request: what is applied, what OLM does, what is left to do, the review.

    It has at most `limit` characters. Where not all fits, each part has its share and says how much of it is left out.
    """
    short = as_whole(_document(referring(plan, front_sections(plan)[1])))
    # Of a plan that is cut, no line may refer to another.
    return short if len(short) <= limit else within(_document(plan), limit)


def _document(plan: Plan) -> OutputDocument:
    """Return the parts of the plan, then those of the review; of each part what matters most stays longest."""
    sides = f"{code(plan.difference.old.name)} → {code(plan.difference.new.name)}"
    name = subject(plan.difference)
    counts = "" if plan.is_empty else f"{f'{sides}: ' if name else ''}{in_short(plan)}\n\n"
    head = f"### {code(name) if name else sides}: {verdict(plan)}\n\n{counts}"
    applied_lines, olm_lines = front_sections(plan)
    listed = (
        (HEADINGS[0], [PageItem(_listed(line), 1, _APPLIED_RANKS[change.action])
                       for change, line in zip(plan.applied, applied_lines, strict=True)], 1),
        (HEADINGS[1], [PageItem(_listed(line), 1, _olm_rank(line)) for line in olm_lines], 2),
        (HEADINGS[2], [PageItem(table_row(map(code_cell, _row(operator))), 1, _OUTCOME_RANKS.get(operator.outcome, 1))
                       for operator in _changed(plan)], 3),
        (HEADINGS[3], [PageItem(_listed(task.text) + (f"\n  {code(task.command)}\n\n" if task.command else ""))
                       for task in plan.tasks], 2),
        (DRIFT, [PageItem(_listed(line)) for line in drift_lines(plan.drift)], 2),
    )  # fmt: skip
    tables = {HEADINGS[2]: (table_head(list(map(str.capitalize, _HEAD))), "| … | {} more | | | | |\n")}
    parts = (
        Section(f"**{name}**\n\n{begin}", (Group(tuple(items)),), more, "\n", weight)
        for name, items, weight in listed if items
        for begin, more in (tables.get(name, ("", "- … and {} more\n")),)
    )  # fmt: skip
    review: tuple[Section, ...] = ()
    if plan.difference.changes:
        review = Section(markdown_counts(plan.difference)), *markdown_sections(plan.difference, _REVIEW_WEIGHT)
    return OutputDocument(head, (*parts, *review), CUT_NOTE)


def _listed(line: str) -> str:
    return f"- {code(line.strip())}\n"


def _olm_rank(line: str) -> int:
    """A problem stays before an InstallPlan that waits or failed, and that before what is done."""
    if line.startswith("  ClusterExtension "):
        return 2
    if not line.startswith("  InstallPlan "):
        return 0
    return 2 if ", complete (" in line else 1


def front_sections(plan: Plan) -> tuple[list[str], list[str]]:
    """The lines of the first two sections: what is applied, and what OLM does."""
    return list(_applied_lines(plan.applied)), list(_olm_lines(plan))


def operator_rows(plan: Plan) -> list[list[str]]:
    """The operators of which something becomes, as cells: namespace, operator, from, to, phase, outcome."""
    return [_row(row) for row in _changed(plan)]


def _changed(plan: Plan) -> list[OperatorOutcome]:
    """The operators that change, or that something keeps from ever changing."""
    untouched = _untouched(plan)
    return [row for row in plan.operators if row not in untouched and (row.outcome != "unchanged" or row.why)]


_CATALOG_KINDS = frozenset({"CatalogSource", "ClusterCatalog"})


def _untouched(plan: Plan) -> frozenset[OperatorOutcome]:
    """The operators that are unknown on both sides, and of which nothing changes on which they depend: no catalog, and
    no object of OLM in their namespace."""
    keys = {key for change in plan.applied for key in (change.key, *change.along)}
    # An operator whose content the new side lacks has a change of its own, and may be installed.
    keys |= {change.identity for change in plan.difference.changes}
    if any(key.kind in _CATALOG_KINDS for key in keys):
        return frozenset()
    namespaces = {key.namespace for key in keys if key.group == OLM_GROUP}
    extensions = {key.name for key in keys if key.group == OLM_V1_GROUP}
    return frozenset(
        row for row in plan.operators
        if row.outcome == "unknown" and not (row.before or row.after)
        and (row.extension not in extensions if row.extension else row.namespace not in namespaces)
    )  # fmt: skip


def as_json(plan: Plan) -> str:
    """The plan in the format of `schemas/plan.schema.json`."""
    return json_text(as_data(plan)) + "\n"


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as data."""
    return {
        "version": FORMAT_VERSION,
        "applied": [
            {
                "action": change.action,
                "object": _object(change.key),
                "fields": [path_text(delta.path) for delta in change.deltas],
                "along": [_object(key) for key in change.along],
            }
            for change in plan.applied
        ],
        "installPlans": [
            {
                **{key: value for key, value in install._asdict().items() if key != "hops"},
                "hops": [{"from": before, "to": after} for before, after in install.hops],
                "waits": install.waits,
            }
            for install in plan.installs
        ],
        "operators": [_operator(row) for row in plan.operators],
        "problems": [
            {"code": p.code, "text": p.message, "place": str(p.location) if p.location is not None else ""}
            for p in plan.problems
        ],
        "later": list(plan.late),
        "tasks": [task._asdict() for task in plan.tasks],
        "difference": difference_data(plan.difference),
        **({"extensions": [extension._asdict() for extension in plan.extensions]} if plan.extensions else {}),
        **({"drift": drift_data(plan.drift)} if plan.drift else {}),
    }


def _object(key: ObjectKey) -> dict[str, str]:
    return key._asdict()


def _operator(row: OperatorOutcome) -> dict[str, Any]:
    return {
        "namespace": row.namespace,
        "package": row.package,
        "from": {"csv": row.before, "version": row.before_version},
        "to": {"csv": row.after, "version": row.after_version},
        "phase": row.phase,
        "outcome": row.outcome,
        "why": row.why,
        **({"extension": row.extension} if row.extension else {}),
    }


# A plan as one page of HTML: its sections, then the page of the difference that comes of it.

_NAMES = ("applied", "olm", "operators", "tasks", "drift")
_HEAD = ("namespace", "operator", "from", "to", "phase", "outcome")


def as_html(plan: Plan, pages: Sequence[PageLink] = ()) -> str:
    """The page, with links to the `pages` beside it."""
    from olmc.review.diff import html  # with a library for templates, which other formats do without

    short = referring(plan, front_sections(plan)[1])
    front = tuple(_front(short, html.FrontSection))
    return html.as_html(short.difference, front, decision=verdict(plan), headline=in_short(plan), pages=pages)


def _front(plan: Plan, section: type[FrontSection]) -> Iterator[FrontSection]:
    """Yield the sections of a plan that stand above its difference."""
    applied, olm = front_sections(plan)
    tasks = [(clean(task.text), clean(task.command)) for task in plan.tasks]
    parts: tuple[list[tuple[str, str]], ...]
    drift = [(line, "") for line in drift_lines(plan.drift)]
    parts = ([(line.strip(), "") for line in applied], [(line.strip(), "") for line in olm], [], tasks, drift)
    rows = tuple(tuple(row) for row in operator_rows(plan))
    for name, heading, lines in zip(_NAMES, (*HEADINGS, DRIFT), parts, strict=True):
        # The result goes on with the changes below, so it stands behind what is left to do.
        if lines:
            yield section(name, heading, tuple(lines))
        elif name == "operators" and rows:
            yield section(name, "Operators", head=_HEAD, rows=rows)


# What a verification says, with names or without any.

_KNOWN_GROUPS = regex(r"|apps|batch|policy|[a-z.]*\.k8s\.io|operators\.coreos\.com")
# Below these anybody may have chosen the keys.
_FREE = frozenset({"labels", "annotations", "matchLabels", "data", "nodeSelector", "limits", "requests"})
_FIELD = regex(r"[A-Za-z0-9]+")


def verification_text(found: Verification, *, with_names: bool = True) -> str:
    """Return how many objects are as predicted, what differs, and what was not compared; `with_names` false: kinds,
    fields and rules, without any name or value of the cluster."""
    differing = found.compared - found.equal
    are = "is" if found.equal == 1 else "are"
    lines = [
        f"{found.compared} objects predicted from the rest of the cluster: {found.equal} {are} as predicted, "
        f"{differing or 'none'} {'is' if differing == 1 else 'are'} not"
    ]
    drift_text = drift_lines(found.drift, verbose=True) if with_names else _nameless(found)
    lines += (f"  {line}" for line in drift_text)
    if found.not_compared:
        lines += ["", f"Not compared: {sum(found.not_compared.values())}"]
        lines += (f"  {count:6} {reason}" for reason, count in found.not_compared.items())
    return "".join(f"{line}\n" for line in lines)


def _nameless(found: Verification) -> Iterator[str]:
    for item in found.drift:
        yield clean(f"{_kind(item)}: {WORDS[item.kind]}; {item.repair.text}")
        yield from (clean(f"  {shape(delta)}") for delta in item.deltas)


def _kind(item: DriftedObject) -> str:
    """The kind of an object, unless it is one that somebody has made up."""
    return item.key.kind if _KNOWN_GROUPS.fullmatch(item.key.group) else "an object of another kind"


def shape(delta: Delta) -> str:
    """A difference without names and values: `spec.template.spec.containers[].image: text → text`."""
    steps = ""
    for step in delta.path:
        if not isinstance(step, str):
            steps += "[]"
        elif not _FIELD.fullmatch(step):
            steps += ".…"
            break
        else:
            steps += f".{step}"
            if step in _FREE:
                steps += ".…" if len(delta.path) > delta.path.index(step) + 1 else ""
                break
    return f"{steps.removeprefix('.')}: {_type(delta.old)} → {_type(delta.new)}"


def _type(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    names = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    return names.get(type(value), "null")
