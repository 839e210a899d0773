"""InstallPlans and CSVs that fail, with the changes of files that may cure them: the compiler reports each already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.catalog import Candidate as Entry
from olmc.compiler.model.cluster import CsvState, InstallPlan, NamespacedName, Step, namespaced_name
from olmc.compiler.model.operators import CSV_KIND, OperatorGroup
from olmc.compiler.olm.facts import moves_to_v1, package_of
from olmc.compiler.reconcile.diagnose import failed_step, place_of, supported_modes
from olmc.compiler.reconcile.operator_groups import intersects
from olmc.compiler.rules.findings import reconcile as compiler_rules
from olmc.compiler.rules.findings.workspace import OTHER_CSV_NAME
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Location, PlanFault, Source, StoredVersion, close_matches
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    CRD_V1,
    OLM_GROUP,
    Manifest,
    ObjectKey,
    mapping,
    mappings,
    name_of,
    object_key,
    text,
)
from olmc.k8s.yaml.edit import value_of
from olmc.review.diagnose.diagnosis import (
    Diagnosis,
    Edit,
    FieldEdit,
    MovedField,
    RemedyCandidate,
    RemovedDocument,
    RemovedItem,
    Scene,
    Structure,
    operator_of,
    row_of,
)
from olmc.review.diagnose.repairs import (
    Complaint,
    field_of,
    kept_version,
    repairs,
    set_field,
    value_at,
    without_duplicates,
)
from olmc.review.explain.resolution import channel_entries

_MODES = "CSVs with conversion webhooks must support only AllNamespaces"
_MOST = 3
_BAD_INSTALL = "calculated deployment install is bad"
_NO_DOTS = "must not contain dots"
_UNKNOWN_KIND = "api-server resource not found installing"
_FAILURES = frozenset(
    {compiler_rules.GROUP_FAILURE.code, compiler_rules.PENDING.code, compiler_rules.INSTALL_FAILURE.code}
)


def failed_plans(scene: Scene) -> Iterator[Diagnosis]:
    """InstallPlans that end in a failure, of those that OLM carries out in this compilation."""
    for plan in scene.cluster.plans.values():
        if plan.phase not in ("Failed", "Installing") or (plan.given is not None and not plan.resumed):
            continue
        finding = _reported(scene, {compiler_rules.PLAN_FAILED.code}, failed_step(plan), ", ".join(plan.csvs))
        if finding is not None:
            candidates = (*_of_step(scene, plan), *_held(scene, plan.namespace, plan.csvs))
            rows = _rows_of(scene, plan.namespace, plan.csvs)
            yield Diagnosis(finding, rows, "", candidates, is_reported=True)


def _reported(scene: Scene, codes: frozenset[str] | set[str], place: Location | None, name: str) -> Diagnostic | None:
    """The finding of the compiler about something, by its place and the name in it."""
    alike = [each for each in scene.reported if each.code in codes and name in each.message]
    return next((each for each in alike if each.location == place), None) or next(iter(alike), None)


def _rows_of(scene: Scene, namespace: str, csvs: tuple[str, ...]) -> tuple[NamespacedName, ...]:
    here = scene.cluster.subscriptions.within(namespace).values()
    rows = [row_of(each) for each in here if each.current in csvs or each.installed in csvs]
    csv_rows = [
        operator_of(csv, scene.cluster)
        for name in csvs
        if (csv := scene.cluster.csvs.get(NamespacedName(namespace, name))) is not None
    ]
    return tuple(dict.fromkeys((*rows, *csv_rows)))


def _of_step(scene: Scene, plan: InstallPlan) -> Iterator[RemedyCandidate]:
    """The changes of the object at which a plan stops."""
    step = plan.steps[plan.executed] if plan.executed < len(plan.steps) else None
    message = plan.message or (plan.condition[2] if plan.condition else "")
    if step is None or step.source is None or plan.cause in (PlanFault.FORBIDDEN, PlanFault.NO_TOKEN):
        return
    complaint = Complaint(step.source, plan.fault, message, _existing(scene, step))
    if step.derived:
        yield from _of_rules(complaint)
        return
    yield from repairs(complaint)
    if isinstance(plan.cause, StoredVersion):
        yield from kept_version(complaint, plan.cause.version)
    alike = [each for each in plan.steps if (each.kind, each.api_version) == (step.kind, step.api_version)]
    sources = [each.source for each in alike if each.source is not None and each.kind == step.kind]
    if step.kind == CRD_KIND:
        yield from to_v1(sources)
    elif plan.cause is PlanFault.UNSUPPORTED_KIND or _UNKNOWN_KIND in message:
        kind = f"{step.kind} {', '.join(each.name for each in alike)}"
        paths = ", ".join(source.path for source in sources)
        edits = tuple(RemovedDocument(source) for source in sources)
        yield RemedyCandidate(f"Remove {kind} from the bundle ({paths})", edits)


def _of_rules(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """Rules without a verb in the permissions of a CSV, of which OLM makes roles."""
    if "verbs" not in complaint.text:
        return
    yield from _without_verbs(complaint)


def _without_verbs(complaint: Complaint) -> Iterator[RemedyCandidate]:
    spec = value_at(complaint.source, ("spec", "install", "spec")) or {}
    for field in ("clusterPermissions", "permissions"):
        for index, entry in enumerate(mappings(spec.get(field))):
            for number, rule in enumerate(mappings(entry.get("rules"))):
                if not rule.get("verbs") and len(entry["rules"]) == 1:
                    item = ("spec", "install", "spec", field, index)
                    text_ = f"Remove {field_of(item)} from {complaint.source.path}"
                    yield RemedyCandidate(text_, (RemovedItem(complaint.source, item),))
                elif not rule.get("verbs"):
                    keys = ("spec", "install", "spec", field, index, "rules", number, "verbs")
                    yield from repairs(complaint._replace(keys=keys, text="Required value: verbs"))


def _existing(scene: Scene, step: Step) -> Mapping[str, Any] | None:
    """The object of a step as the cluster has it."""
    key = object_key({"apiVersion": step.api_version, "kind": step.kind, "metadata": step.object.get("metadata", {})})
    found = scene.cluster.objects.get(key)
    return found.object if found is not None else None


def _held(scene: Scene, namespace: str, csvs: tuple[str, ...]) -> Iterator[RemedyCandidate]:
    """For an upgrade that would fail: keep what runs, until the version is corrected or approved."""
    if scene.state is None:
        return
    for name, subscription in sorted(scene.cluster.subscriptions.within(namespace).items()):
        before = scene.state.objects.get(ObjectKey(OLM_GROUP, CSV_KIND, namespace, subscription.current))
        is_new = subscription.current in csvs and before is None
        ran = any(
            key.kind == CSV_KIND and key.namespace == namespace and package_of(each.object) == subscription.package
            for key, each in scene.state.objects.items()
        )
        if is_new and ran and subscription.source is not None and subscription.approval != "Manual":
            edit = FieldEdit(subscription.source, ("spec", "installPlanApproval"), "Manual")
            text = f"Hold {subscription.current} back: set spec.installPlanApproval: Manual in Subscription {name}"
            yield RemedyCandidate(text, (edit,), holds=True)


def failed_members(scene: Scene) -> Iterator[Diagnosis]:
    """CSVs that fail, or wait for what does not come."""
    for name, member in sorted(scene.cluster.members.items()):
        if member.succeeded or member.phase in ("", "Replacing"):
            continue
        place = place_of(member)
        finding = _reported(scene, _FAILURES, place, name.name)
        if finding is None:
            continue
        rows, candidates = (operator_of(member.csv, scene.cluster),), tuple(_of_member(scene, member))
        yield Diagnosis(finding, rows, "", candidates, is_reported=True)


def _of_member(scene: Scene, member: CsvState) -> Iterator[RemedyCandidate]:
    csv, message = member.csv, member.cause[2]
    if csv.source is not None:
        complaint = Complaint(csv.source, member.place, message, _deployed(scene, member))
        if member.place:
            yield from repairs(complaint)
        if member.reason == "InvalidInstallModes":
            candidate = without_duplicates(csv.source, ("spec", "installModes"))
            yield from filter(None, [candidate])
        if _MODES in message:
            yield from _all_namespaces_only(member)
        if _NO_DOTS in message:
            yield from _without_dots(member)
        if member.reason == "InvalidInstallStrategy":
            yield from _of_rules(complaint)
        if _BAD_INSTALL in message:
            yield from _of_webhooks(member)
    yield from _served(scene, member)
    if member.reason == "InterOperatorGroupOwnerConflict" and member.group is not None:
        yield from _apart(scene, member, member.group)
    if member.reason == "CannotModifyStaticOperatorGroupProvidedAPIs" and member.group is not None:
        yield from _of_static(member.group)
    if member.reason != "OperatorConditionNotUpgradeable":  # the operator says when it wants to go on
        yield from _held(scene, csv.namespace, (csv.name,))


def _deployed(scene: Scene, member: CsvState) -> Mapping[str, Any] | None:
    """A CSV as it would be with the Deployment of the cluster in it, to compare fields that can't change."""
    place = member.place
    if place[:4] != ("spec", "install", "spec", "deployments") or len(place) < 6 or not isinstance(place[4], int):
        return None
    declared = mappings(member.csv.object["spec"]["install"]["spec"]["deployments"])[place[4]]
    key = ObjectKey("apps", "Deployment", member.csv.namespace, text(declared.get("name")))
    found = scene.cluster.objects.get(key)
    if found is None:
        return None
    deployments = {place[4]: {"spec": found.object.get("spec")}}
    listed = [deployments.get(number) for number in range(place[4] + 1)]
    return {"spec": {"install": {"spec": {"deployments": listed}}}}


def _all_namespaces_only(member: CsvState) -> Iterator[RemedyCandidate]:
    """The install modes that a conversion webhook allows."""
    source = member.csv.source
    assert source is not None
    modes = member.csv.install_modes
    if {mode.type for mode in modes if mode.supported} == {"AllNamespaces"}:
        return
    edits = tuple(
        FieldEdit(source, ("spec", "installModes", number, "supported"), mode.type == "AllNamespaces")
        for number, mode in enumerate(modes)
        if mode.supported != (mode.type == "AllNamespaces")
    )
    yield RemedyCandidate(f"Support only install mode AllNamespaces in {source.path}", edits)
    if member.group is not None and member.group.source is not None and member.group.spec.get("targetNamespaces"):
        group = FieldEdit(member.group.source, ("spec", "targetNamespaces"), None)
        text = f"remove spec.targetNamespaces from OperatorGroup {member.group.namespace}/{member.group.name}"
        yield RemedyCandidate(f"Support only install mode AllNamespaces in {source.path}, and {text}", (*edits, group))


def _of_webhooks(member: CsvState) -> Iterator[RemedyCandidate]:
    """Webhooks of a Deployment that the CSV does not have: of the one that is meant, or none."""
    csv = member.csv
    spec = csv.object.get("spec", {})
    names = [text(each.get("name")) for each in mappings(spec.get("install", {}).get("spec", {}).get("deployments"))]
    for number, hook in enumerate(mappings(spec.get("webhookdefinitions"))):
        name, item = text(hook.get("deploymentName")), ("spec", "webhookdefinitions", number)
        if csv.source is None or name in names:
            continue
        for meant in close_matches(name, names, 1, POSSIBLE):
            yield set_field(Complaint(csv.source, (*item, "deploymentName"), ""), meant)
        text_ = f"Remove {field_of(item)} from {csv.source.path}: no Deployment {name} serves it"
        yield RemedyCandidate(text_, (RemovedItem(csv.source, item),))


def _served(scene: Scene, member: CsvState) -> Iterator[RemedyCandidate]:
    """The version of a CRD that a CSV owns and that its CRD does not serve (R-REQ-3)."""
    lacking = {item["name"] for item in member.lacking if item["kind"] == CRD_KIND and item["status"] == "NotPresent"}
    for crd in member.csv.owned_crds if lacking else ():
        found = scene.cluster.objects.get(ObjectKey(APIEXTENSIONS, CRD_KIND, "", crd.name))
        place = found.provenance.place if found is not None else None
        if crd.name not in lacking or place is None or place.source is None:
            continue
        for number, version in enumerate(mappings(value_at(place.source, ("spec", "versions")))):
            if version.get("name") == crd.version and version.get("served") is False:
                complaint = Complaint(place.source, ("spec", "versions", number, "served"), "")
                yield set_field(complaint, True)


def _without_dots(member: CsvState) -> Iterator[RemedyCandidate]:
    """Deployments of webhooks whose names become those of Services, which have no dots."""
    source, spec = member.csv.source, member.csv.object.get("spec", {})
    assert source is not None
    deployments = mappings(spec.get("install", {}).get("spec", {}).get("deployments"))
    hooks = mappings(spec.get("webhookdefinitions"))
    for number, deployment in enumerate(deployments):
        name = text(deployment.get("name"))
        if "." not in name:
            continue
        new = name.replace(".", "-")
        edits = [FieldEdit(source, ("spec", "install", "spec", "deployments", number, "name"), new)]
        edits += [
            FieldEdit(source, ("spec", "webhookdefinitions", index, "deploymentName"), new)
            for index, hook in enumerate(hooks)
            if hook.get("deploymentName") == name
        ]
        yield RemedyCandidate(f"Call Deployment {name} {new} in {source.path}", tuple(edits))


def _apart(scene: Scene, member: CsvState, group: OperatorGroup) -> Iterator[RemedyCandidate]:
    """Operators with the same API that watch the same namespaces: watch others, or install one of them."""
    apis = {api.key for api in member.csv.owned_apis}
    rivals = [
        other for name, other in scene.cluster.groups.items()
        if name != namespaced_name(group) and apis & (scene.cluster.provided.get(name) or frozenset())
        and intersects(group, other)
    ]  # fmt: skip
    own = _own_namespace(group) if "OwnNamespace" in supported_modes(member.csv) else None
    others = [change for other in rivals if (change := _own_namespace(other)) is not None]
    yield from filter(None, (own, *others))
    if own is not None and others:
        both = "; ".join((own.text, *(each.text for each in others)))
        yield RemedyCandidate(both, (*own.edits, *(edit for each in others for edit in each.edits)))
    static = [other for other in rivals if other.source is not None and other.spec.get("staticProvidedAPIs")]
    for other in static:
        key = ("metadata", "annotations", "olm.providedAPIs")
        assert other.source is not None
        edit = FieldEdit(other.source, key, None)
        name = f"{other.namespace}/{other.name}"
        yield RemedyCandidate(f"Remove the annotation olm.providedAPIs from OperatorGroup {name}", (edit,))
    yield from _fewer(scene, member)


def _own_namespace(group: OperatorGroup) -> RemedyCandidate | None:
    """The candidate that lets a group target its own namespace, None where it does or where it can't be changed."""
    if group.source is None or tuple(group.targets) == (group.namespace,) or group.spec.get("selector"):
        return None
    edit = FieldEdit(group.source, ("spec", "targetNamespaces"), (group.namespace,))
    name = f"{group.namespace}/{group.name}"
    return RemedyCandidate(f"Set spec.targetNamespaces: [{group.namespace}] in OperatorGroup {name}", (edit,))


def _fewer(scene: Scene, member: CsvState) -> Iterator[RemedyCandidate]:
    """Take out the Subscription of a CSV that can't be installed beside another operator."""
    for name, subscription in sorted(scene.cluster.subscriptions.within(member.csv.namespace).items()):
        if member.csv.name in (subscription.installed, subscription.current) and subscription.source is not None:
            if scene.state is not None and ObjectKey(OLM_GROUP, "Subscription", *name) in scene.state.objects:
                continue  # its CSV would stay
            text = f"Remove Subscription {name}; the other operator with its APIs stays"
            yield RemedyCandidate(text, (RemovedDocument(subscription.source),))


def _of_static(group: OperatorGroup) -> Iterator[RemedyCandidate]:
    if group.source is not None and group.spec.get("staticProvidedAPIs"):
        edit = FieldEdit(group.source, ("spec", "staticProvidedAPIs"), None)
        name = f"{group.namespace}/{group.name}"
        yield RemedyCandidate(f"Remove spec.staticProvidedAPIs from OperatorGroup {name}", (edit,))


def misnamed_csvs(scene: Scene) -> Iterator[Diagnosis]:
    """Bundles whose CSV has another name than their catalog lists, or that have a second CSV (R-CAT-614)."""
    found = [each for each in scene.reported if each.code == OTHER_CSV_NAME.code and each.location is not None]
    for finding, bundle in ((finding, bundle) for finding in found for bundle in scene.workspace.bundles.values()):
        csv = bundle.installed
        if finding.location is None or finding.location.path != csv.source.path:
            continue
        rows, candidates = [], []
        if bundle.unpacked_csv is not None:
            edits = (RemovedDocument(csv.source),)
            candidates.append(
                RemedyCandidate(f"Remove the second CSV {name_of(csv.object)} ({csv.source.path})", edits)
            )
        for _, subscription in sorted(scene.cluster.subscriptions.items()):
            if subscription.package == bundle.package:
                rows.append(row_of(subscription))
                candidates += _of_entries(csv, channel_entries(scene.cluster, subscription))
        yield Diagnosis(finding, tuple(dict.fromkeys(rows)), "", tuple(dict.fromkeys(candidates)), is_reported=True)


def _of_entries(csv: Manifest, entries: Iterable[Entry]) -> Iterator[RemedyCandidate]:
    for entry in list(entries)[:_MOST]:
        edit = FieldEdit(csv.source, ("metadata", "name"), entry.name)
        yield RemedyCandidate(f"Set metadata.name: {entry.name} in {csv.source.path}", (edit,))


FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (misnamed_csvs, failed_plans, failed_members)


# CustomResourceDefinitions in the style of v1beta1, brought to v1 field by field.

_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_ANYTHING = {"type": "object", _KEEPS_UNKNOWN: True}
_MOVES = (("validation", "schema"), ("subresources", "subresources"),
          ("additionalPrinterColumns", "additionalPrinterColumns"))  # fmt: skip


def to_v1(sources: Sequence[Source]) -> Iterator[RemedyCandidate]:
    """The candidate that writes CRDs as v1 wants them: each field moves to the versions, with its comments."""
    edits = [edit for source in sources for edit in _edits(source, value_of(source))]
    paths = ", ".join(dict.fromkeys(source.path for source in sources))
    if edits:
        yield RemedyCandidate(f"Move the fields of v1beta1 to their place in {CRD_V1} in {paths}", tuple(edits))


def _edits(source: Source, crd: Mapping[str, Any]) -> Iterator[Edit]:
    if crd.get("apiVersion") != CRD_V1:
        yield FieldEdit(source, ("apiVersion",), CRD_V1)
    elif not moves_to_v1(crd) and mapping(crd.get("spec")).get("preserveUnknownFields") is not True:
        return
    spec = mapping(crd.get("spec"))
    versions: Sequence[Mapping[str, Any]] = mappings(spec.get("versions"))
    if not versions:
        versions = ({"name": text(spec.get("version")) or "v1", "served": True, "storage": True},)
        yield FieldEdit(source, ("spec", "versions"), Structure.of(list(versions)))
    for old, new in _MOVES:
        if old in spec and not any(new in version for version in versions):
            yield MovedField(source, ("spec", old), ("spec", "versions"), new)
    for number, version in enumerate(versions):
        keys = ("spec", "versions", number, "schema", "openAPIV3Schema")
        if "schema" not in version and "validation" not in spec:
            yield FieldEdit(source, keys, Structure.of(_ANYTHING))
        elif spec.get("preserveUnknownFields") is True:
            yield FieldEdit(source, (*keys, _KEEPS_UNKNOWN), value=True)
    yield from (FieldEdit(source, ("spec", field), None) for field in ("preserveUnknownFields", "version")
                if field in spec)  # fmt: skip
    yield from _of_conversion(source, mapping(spec.get("conversion")))


def _of_conversion(source: Source, conversion: Mapping[str, Any]) -> Iterator[Edit]:
    moved = {new: conversion[old] for old, new in (("webhookClientConfig", "clientConfig"),
             ("conversionReviewVersions", "conversionReviewVersions")) if old in conversion}  # fmt: skip
    if moved:
        whole = {"strategy": conversion.get("strategy", "Webhook"), "webhook": moved}
        yield FieldEdit(source, ("spec", "conversion"), Structure.of(whole))
