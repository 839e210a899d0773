"""Policies of a hub: changes by the objects that they ask for, and by whether they act."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.load.operator_policies import read_operator_policy, templates_in
from olmc.compiler.load.policies import (
    DEFINITION,
    OBJECTS,
    RAW,
    TEMPLATES,
    ActingPolicy,
    ObjectTemplate,
    acting_policies,
    is_open,
    is_policy,
    items_of_list,
    objects_of,
    only_checks,
    template_entries,
)
from olmc.k8s.api.applied import is_object
from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    Manifest,
    ObjectKey,
    as_text,
    mapping,
    mappings,
    metadata_of,
    object_key,
    spec_of,
)
from olmc.review.diff.crd_kinds import ABSENT, NOTE, WORKLOADS, DiffChange, plain
from olmc.review.diff.deltas import Delta, ListItem, Path, deltas, path_text
from olmc.review.diff.matching import Compare, Pair
from olmc.review.diff.object_kinds import embedded_risk, field_changed, risky_field_changed
from olmc.review.diff.object_risks import ANY_CHANGE, UNCHECKED

_NOWHERE = Source("", "")
_WORDS = frozenset("severity customMessage recordDiff copyPolicyMetadata ignorePending complianceType name".split())
"""Fields of a policy that say something to people, or that are graded with what the policy asks for."""
_ASKING = (OBJECTS, RAW, TEMPLATES, "subscription", "operatorGroup", "remediationAction", "disabled")
_SETTLING = ("upgradeApproval", "versions")
"""Fields of an OperatorPolicy that its Subscription and its InstallPlans follow."""
_COMMENT = regex(r"\{\{-?\s*/\*(?:[^*]|\*(?!/))*\*/\s*-?\}\}")
_ACTS = "from now on it changes the cluster"
_DELETES = "it deletes the objects that fit the template"
_MAKES = "the cluster makes objects of this text, which olmc does not follow"
_FILLED = "templates may fill in any rights"
_TAKES = "it removes what others write into the object"
_GIVING = WORKLOADS | {
    "Pod", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "SecurityContextConstraints",
}  # fmt: skip
_MUST_NOT_HAVE = "mustnothave"
_OF_OPERATOR = (("Subscription", "subscription", "v1alpha1"), ("OperatorGroup", "operatorGroup", "v1"))


class AskedObject(NamedTuple):
    """An object template of a policy: the object, the other fields of the template, and how it has to be.

    `acts`: the policy creates, changes or deletes the object; `seen`: the objects of its side that it puts there, which
    are compared by themselves.
    """

    path: Path
    compliance: str
    definition: KubernetesObject
    fields: Mapping[str, Any]
    acts: bool
    seen: Sequence[ObjectKey] = ()

    @property
    def is_put(self) -> bool:
        return self.acts and self.compliance != _MUST_NOT_HAVE


class PolicyPart(NamedTuple):
    """A policy, alone or in another one: where it is, its object, whether it acts, and the text that lists its objects
    if only the cluster can read that."""

    path: Path
    entry: Mapping[str, Any]
    definition: KubernetesObject
    acts: bool
    raw: str
    asked: Sequence[AskedObject]


def policy_changes(
    pairs: Iterable[Pair], old: Iterable[KubernetesObject], new: Iterable[KubernetesObject], compare: Compare
) -> Iterator[DiffChange]:
    """Report the changes of policies by what they ask for (R-OCM-1 … R-OCM-5); `old`, `new`: the objects of each side.

    An object that a policy puts into the cluster has no line here if its side has it, and otherwise those risks that it
    has as an object. A policy that begins or ceases to act, deletes or no longer asks for an object is a risk.
    """
    changing = _changing_policies(pairs)
    had, has = (frozenset(map(object_key, side)) for side in ((old, new) if changing else ((), ())))
    for pair in changing:
        was, now = ([] if obj is None else _parts(obj, there) for obj, there in ((pair.old, had), (pair.new, has)))
        yield from _policy_itself(pair, was, now)
        yield from _parts_compared(pair, was, now)
        yield from _asked_compared(pair, (_all_asked(was), _all_asked(now)), has, compare)


def deleted_by_policies(pairs: Iterable[Pair], old: Iterable[KubernetesObject]) -> frozenset[ObjectKey]:
    """Return the objects of the old side that a policy has put there and now deletes, which is a risk of the policy."""
    changing = [pair for pair in _changing_policies(pairs) if pair.old is not None]
    had = frozenset(map(object_key, old if changing else ()))
    found: set[ObjectKey] = set()
    for pair in changing:
        was, now = (_all_asked(_parts(obj or {}, had)) for obj in (pair.old, pair.new))
        removed = (key for key, each in now.items() if each.acts and each.compliance == _MUST_NOT_HAVE)
        found.update(known for key in removed if key in was and was[key].is_put for known in was[key].seen)
    return frozenset(found)


def _changing_policies(pairs: Iterable[Pair]) -> list[Pair]:
    return [each for each in pairs if each.new is not None and each.old is not each.new and is_policy(each.new)]


def _parts(policy: KubernetesObject, there: Collection[ObjectKey]) -> list[PolicyPart]:
    acting = {id(each.manifest.object): each for each in acting_policies(Manifest(policy, _NOWHERE), lambda _, at: at)}
    if id(policy) in acting:
        return [_part((), {}, acting[id(policy)], there)]
    found: list[PolicyPart] = []
    for entry in mappings(items_of_list(spec_of(policy), TEMPLATES)):
        definition = entry.get(DEFINITION)
        if not isinstance(definition, dict) or not is_object(definition):
            continue
        known = object_key(definition)
        path: Path = ("spec", TEMPLATES, ListItem(known.name))
        if id(definition) in acting:
            found.append(_part(path, entry, acting[id(definition)], there))
            continue
        # The controller creates it as it is; its own controller acts on it.
        acts = spec_of(policy).get("disabled") is not True
        asked = AskedObject(path, "musthave", definition, {}, acts)
        found.append(PolicyPart(path, entry, {"kind": known.kind}, acts, "", (asked,)))
    return found


def _part(path: Path, entry: Mapping[str, Any], policy: ActingPolicy, there: Collection[ObjectKey]) -> PolicyPart:
    definition, spec = policy.manifest.object, spec_of(policy.manifest.object)
    raw = spec.get(RAW)
    asked = _operator(path, policy, there) if definition["kind"] == "OperatorPolicy" else _objects(path, policy, there)
    left = raw if isinstance(raw, str) and is_open(raw) else ""
    return PolicyPart(path, entry, definition, policy.is_enforced, left, tuple(asked))


def _objects(path: Path, policy: ActingPolicy, there: Collection[ObjectKey]) -> Iterator[AskedObject]:
    """List what a ConfigurationPolicy asks for."""
    for entry in template_entries(spec_of(policy.manifest.object)):
        definition = entry.get(DEFINITION)
        if not isinstance(definition, dict) or not is_object(definition):
            continue
        compliance = as_text(entry.get("complianceType")).lower()
        place: Path = (*(path or ("spec",)), OBJECTS, ListItem(str(object_key(definition))))
        acts = policy.is_enforced and not (only_checks(definition) and compliance != _MUST_NOT_HAVE)
        wanted = ObjectTemplate(compliance, definition, _NOWHERE)
        is_known = acts and next(templates_in(definition), None) is None
        keys = [object_key(each.object) for each in objects_of(wanted, policy.manifest, Report())] if is_known else []
        seen = keys if all(key in there for key in keys) else []
        rest = {key: value for key, value in entry.items() if key not in (DEFINITION, "complianceType")}
        yield AskedObject(place, compliance, definition, rest, acts, seen)


def _operator(path: Path, policy: ActingPolicy, there: Collection[ObjectKey]) -> Iterator[AskedObject]:
    """List what an OperatorPolicy asks for: the Subscription and the OperatorGroup, as far as it names them."""
    spec = spec_of(policy.manifest.object)
    compliance = as_text(spec.get("complianceType")).lower()
    result = read_operator_policy(
        policy.manifest, is_enforced=policy.is_enforced, resolves_templates=policy.resolves_templates
    )
    is_known = not (result.open or result.problem)
    namespace = as_text(mapping(spec.get("subscription")).get("namespace"))
    approval = "Automatic" if as_text(spec.get("upgradeApproval")) == "Automatic" else "Manual"
    for kind, field, version in (
        ("Subscription", "subscription", "v1alpha1"),
        ("OperatorGroup", "operatorGroup", "v1"),
    ):
        fields = mapping(spec.get(field))
        if not fields:
            continue
        metadata = {"name": as_text(fields.get("name")), "namespace": as_text(fields.get("namespace")) or namespace}
        own = {key: value for key, value in fields.items() if key != "namespace"}
        own |= {"installPlanApproval": approval} if kind == "Subscription" else {}
        definition = {"apiVersion": f"{OLM_GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": own}
        key = object_key(definition)
        seen = (key,) if is_known and policy.is_enforced and key in there else ()
        yield AskedObject((*(path or ("spec",)), field), compliance, definition, {}, policy.is_enforced, seen)


_Asked = Mapping[tuple[str, int], AskedObject]


def _all_asked(parts: Iterable[PolicyPart]) -> _Asked:
    """Number what all parts of a policy ask for, so that an object that moves between parts is the same one."""
    found: dict[tuple[str, int], AskedObject] = {}
    numbers: dict[str, int] = {}
    for part in parts:
        for each in part.asked:
            name = str(object_key(each.definition))
            numbers[name] = number = numbers.get(name, -1) + 1
            found[name, number] = each
    return found


def _policy_itself(pair: Pair, was: Sequence[PolicyPart], now: Sequence[PolicyPart]) -> Iterator[DiffChange]:
    """Report the own fields of a policy that holds others, or that is alone."""
    if pair.old is None or pair.new is None:
        return
    before, after = (
        {key: value for key, value in spec_of(obj).items() if key in _ACTING or not _is_of_part(obj, key)}
        for obj in (pair.old, pair.new)
    )
    acted, acts = (sum(part.acts for part in parts) for parts in (was, now))
    for delta in deltas(before, after, ("spec",)):
        if delta.path[1] in _ACTING:
            why = () if acted == acts else (_ACTS,) if acts > acted else (UNCHECKED,)
        else:
            why = () if delta.path[1] in _WORDS else (ANY_CHANGE,)
        yield _graded(pair.identity, delta, why)


_ACTING = ("remediationAction", "disabled")


def _is_of_part(policy: KubernetesObject, field: str) -> bool:
    return field == TEMPLATES or policy["kind"] != "Policy"


def _parts_compared(pair: Pair, was: Sequence[PolicyPart], now: Sequence[PolicyPart]) -> Iterator[DiffChange]:
    """Report the fields of the parts of a policy, without the objects that they ask for."""
    decided = [[spec_of(obj or {}).get(field) for field in _ACTING] for obj in (pair.old, pair.new)]
    for before, after in _matched_parts(was, now):
        if after is None:
            if before is not None and not before.asked:
                yield _graded(pair.identity, Delta(before.path, before.definition["kind"], ABSENT), (UNCHECKED,))
            continue
        if before is None:
            why = (_MAKES,) if after.acts and after.raw else ()
            if why or (pair.old is not None and not after.asked):
                yield _graded(pair.identity, Delta(after.path, ABSENT, after.definition["kind"]), why)
            continue
        actions = [{"remediationAction": spec_of(part.definition).get("remediationAction")} for part in (before, after)]
        for delta in deltas(actions[0], actions[1], (*after.path, "spec")) if after.path else ():
            is_plain = before.acts is after.acts or decided[0] != decided[1]
            yield _graded(pair.identity, delta, () if is_plain else (_ACTS if after.acts else UNCHECKED,))
        if _without_comments(before.raw) != _without_comments(after.raw):
            why = (_MAKES,) if after.acts and after.raw else (ANY_CHANGE,)
            yield _graded(pair.identity, Delta((*(after.path or ("spec",)), RAW), before.raw, after.raw), why)
        yield from _settings_compared(pair.identity, before, after)


def _settings_compared(known: ObjectKey, before: PolicyPart, after: PolicyPart) -> Iterator[DiffChange]:
    is_followed = all(part.asked and all(each.seen for each in part.asked) for part in (before, after))
    is_removal = as_text(spec_of(after.definition).get("complianceType")).lower() == _MUST_NOT_HAVE
    kept = (*_ASKING, *_SETTLING) if is_followed else _ASKING
    specs = [{k: v for k, v in spec_of(part.definition).items() if k not in kept} for part in (before, after)]
    entries = [{k: v for k, v in part.entry.items() if k != DEFINITION} for part in (before, after)]
    metadata = [metadata_of(part.definition) if after.path else {} for part in (before, after)]
    for place, (old, new) in (((), entries), (("metadata",), metadata), (("spec",), specs)):
        for delta in deltas(old, new, (*after.path, *place)):
            field = delta.path[len(after.path) + len(place)]
            if field == "removalBehavior" and after.acts:
                why = (_DELETES,) if is_removal else ()
            elif place == ("metadata",):
                why = (ANY_CHANGE,) if "disable-templates" in path_text(delta.path) else ()
            else:
                why = () if field in _WORDS else (ANY_CHANGE,)
            yield _graded(known, delta, why)


def _matched_parts(
    was: Sequence[PolicyPart], now: Sequence[PolicyPart]
) -> Iterator[tuple[PolicyPart | None, PolicyPart | None]]:
    """Pair the parts of a policy: by all that they ask for, by their names, or else by their order among their kind."""
    left, right = list(was), list(now)
    for key_of in _PART_KEYS:
        waiting: dict[Any, list[PolicyPart]] = {}
        for part in right:
            waiting.setdefault((part.definition["kind"], key_of(part)), []).append(part)
        rest: list[PolicyPart] = []
        for part in left:
            counterparts = waiting.get((part.definition["kind"], key_of(part)))
            if counterparts and key_of(part) != ((), ""):
                yield part, counterparts.pop(0)
            else:
                rest.append(part)
        left, right = rest, [part for parts in waiting.values() for part in parts]
    yield from ((part, None) for part in left)
    yield from ((None, part) for part in right)


_PART_KEYS: tuple[Callable[[PolicyPart], Any], ...] = (
    lambda part: (tuple(object_key(each.definition) for each in part.asked), _without_comments(part.raw)),
    lambda part: (bool(part.raw), as_text(metadata_of(part.definition).get("name"))),
    lambda part: bool(part.raw),
    lambda part: "",  # noqa: ARG005
)


def _asked_compared(
    pair: Pair, sides: tuple[_Asked, _Asked], there: Collection[ObjectKey], compare: Compare
) -> Iterator[DiffChange]:
    """Report what a policy asks for from now on, no longer, or in another way; `there` is on the new side."""
    (was, now), known = sides, pair.identity
    before: list[KubernetesObject] = []
    after: list[KubernetesObject] = []
    for key in dict.fromkeys((*was, *now)):
        old, new = was.get(key), now.get(key)
        if new is None:
            if old is not None:
                is_removed = bool(old.seen) and not any(each in there for each in old.seen)
                yield _graded(known, Delta(old.path, old.compliance, ABSENT), () if is_removed else (UNCHECKED,))
            continue
        if new.is_put and not new.seen:
            before += [old.definition] if old is not None and old.is_put else []
            after.append(new.definition)
            yield from _filled_in(known, old if old is not None and old.is_put else None, new)
        yield from _one_asked(pair, old, new)
    for change in compare(before, after) if after and before != after else ():
        yield embedded_risk(known, str(change.identity), plain(change.message))


def _one_asked(pair: Pair, old: AskedObject | None, new: AskedObject) -> Iterator[DiffChange]:
    known = pair.identity
    if old is None or old.compliance != new.compliance:
        why: tuple[str, ...] = ()
        if new.compliance == _MUST_NOT_HAVE:
            why = (_DELETES,) if new.acts else () if old is None else (ANY_CHANGE,)
        elif old is not None and old.compliance != _MUST_NOT_HAVE:
            why = (_TAKES if new.acts and new.compliance == "mustonlyhave" else UNCHECKED,)
        if why or not (old is None and (new.seen or pair.old is None)):
            yield _graded(known, Delta(new.path, ABSENT if old is None else old.compliance, new.compliance), why)
        return
    yield from (
        _graded(known, delta, () if delta.path[len(new.path)] in _WORDS else (ANY_CHANGE,))
        for delta in deltas(old.fields, new.fields, new.path)
    )
    changed = list(deltas(old.definition, new.definition, new.path))
    if not new.is_put and changed:
        whole = changed[0] if len(changed) == 1 else Delta(new.path, old.definition, new.definition)
        yield _graded(known, whole, (_DELETES if new.acts else ANY_CHANGE,))
    elif not new.seen or not old.seen:
        yield from (_graded(known, delta, ()) for delta in changed)


def _filled_in(known: ObjectKey, old: AskedObject | None, new: AskedObject) -> Iterator[DiffChange]:
    """Report templates in fields by which an object gives rights or runs code."""
    own = object_key(new.definition)
    if own.group != RBAC and own.kind not in _GIVING and "{{" not in f"{new.definition.get('apiVersion')}{own.kind}":
        return
    for delta in deltas({} if old is None else old.definition, new.definition, new.path):
        if delta.path[len(new.path)] != "metadata" and next(templates_in(delta.new), None) is not None:
            yield _graded(known, delta, (_FILLED,))


def _without_comments(raw: str) -> str:
    return "\n".join(line.rstrip() for line in _COMMENT.sub("", raw).splitlines() if line.strip())


def _graded(known: ObjectKey, delta: Delta, why: tuple[str, ...]) -> DiffChange:
    path = path_text(delta.path)
    if why:
        return risky_field_changed(known, path, delta.old, delta.new, why)
    return field_changed(known, path, delta.old, delta.new, NOTE)
