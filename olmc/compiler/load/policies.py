"""Policies of Open Cluster Management as the objects that they put into a cluster (R-OCM-1 … R-OCM-15).

A Policy holds ConfigurationPolicies and OperatorPolicies, which also stand alone; what they ask for exists as soon as
their controllers have seen them. Each object has its place in the policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.config import openshift_place
from olmc.compiler.load.manifests import manifests_in
from olmc.compiler.load.operator_policies import (
    OperatorPolicyResult,
    TemplateField,
    default_groups,
    left_open,
    missing_namespaces,
    read_operator_policy,
    shown_fields,
    templates_in,
    with_catalog,
    without_templates,
)
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import PolicyApproval, PolicyRemoval
from olmc.compiler.olm.profiles.data import openshift
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.api.applied import is_object
from olmc.k8s.api.restmapper import BUILTIN
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity, Source, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    POLICY_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    annotations_of,
    as_text,
    gvk_of,
    mapping,
    metadata_of,
    name_of,
    namespace_of,
    object_key,
    spec_of,
)
from olmc.k8s.yaml import Document, locate, read

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Catalog

# Object templates: what ConfigurationPolicies say of objects, and where these are (R-OCM-3 … R-OCM-5).

DEFINITION = "objectDefinition"
RAW = "object-templates-raw"
"""The field with object templates as a text."""

OBJECTS = "object-templates"
# The control structures that decide whether lines exist, and how often.
_CONTROL = regex(r"\{\{(?:hub\b)?[-\s]*(?:if|range|with|else|end|define|block|template|skipObject)\b")
# Names that are no patterns.
_PLAIN = regex(r"^[^*?\[\]\\{]+$")


class ObjectTemplate(NamedTuple):
    """An object template: what it says of the object, and where the object stands."""

    compliance: str
    definition: dict[str, Any]
    source: Source


def object_templates(policy: Manifest) -> Iterator[ObjectTemplate]:
    """The object templates of a ConfigurationPolicy, also those in a text that is a list before it is filled in."""
    spec = spec_of(policy.object)
    lists = [(items_of_list(spec, OBJECTS), below(policy.source, "spec", OBJECTS), True)]
    raw = spec.get(RAW)
    if isinstance(raw, str):
        lists += [(value, below(policy.source, "spec", RAW), False) for value in _lists_in(raw)]
    for templates, source, has_places in lists:
        for number, template in enumerate(templates):
            definition = template.get(DEFINITION) if isinstance(template, dict) else None
            if isinstance(definition, dict) and is_object(definition):
                compliance = as_text(template.get("complianceType")).lower()
                place = below(source, number, DEFINITION) if has_places else source
                yield ObjectTemplate(compliance, definition, place)


def template_entries(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The entries of the object templates in the spec of a ConfigurationPolicy, whole, in their order."""
    raw = spec.get(RAW)
    lists = [items_of_list(spec, OBJECTS), *(_lists_in(raw) if isinstance(raw, str) else ())]
    yield from (entry for entries in lists for entry in entries if isinstance(entry, dict))


def is_open(raw: str) -> bool:
    """Return whether what a text of object templates lists is known only once its templates are filled in."""
    return "{{" in raw and not list(_lists_in(raw))


def _lists_in(raw: str) -> Iterator[list[Any]]:
    """The lists that a text holds; none if templates decide what is in them, or if it can't be read before."""
    if _CONTROL.search(raw):
        return
    findings = Report()
    values = [document.value for document in read("", raw, findings)]
    if not findings.failed:
        yield from (value for value in values if isinstance(value, list))


def objects_of(wanted: ObjectTemplate, policy: Manifest, report: Report) -> Iterator[Manifest]:
    """R-OCM-4, R-OCM-5: an object in the namespaces that it is created in; what only checks others is none."""
    obj, metadata = wanted.definition, metadata_of(wanted.definition)
    if only_checks(obj):
        return
    obj = {key: value for key, value in obj.items() if key != "status"}
    manifest = Manifest(obj, wanted.source)
    scope = BUILTIN.mapping(gvk_of(obj).group_kind)
    if metadata.get("namespace") or not scope.namespaced or not (is_of_olm(obj) or _is_builtin(obj)):
        yield manifest
        return
    selector = mapping(spec_of(policy.object).get("namespaceSelector"))
    include = [as_text(name) for name in items_of_list(selector, "include")]
    if not include and not selector.keys() & {"matchLabels", "matchExpressions"}:
        finding = rules.REFUSED.finding(
            locate(wanted.source, ("metadata",)),
            policy=f"ConfigurationPolicy {name_of(policy.object)}",
            objects=shown_object(obj),
            problem="it has no namespace, and the policy has no namespaceSelector",
        )
        report.add(finding)
        return
    if selector.keys() & {"matchLabels", "matchExpressions"} or not all(map(_PLAIN.match, include)):
        if not is_of_olm(obj):
            return  # no operator depends on it as far as anybody can see here
        place = locate(policy.source, ("spec", "namespaceSelector"))
        why = "it goes to those namespaces of the cluster that the namespaceSelector fits"
        hint = "Name its namespace in the object, or the namespaces one by one in `include`."
        report.add(rules.LEFT_OPEN.finding(place, what=f"where {shown_object(obj)} is", why=why, hint=hint))
        return
    exclude = [as_text(pattern) for pattern in items_of_list(selector, "exclude")]
    for namespace in include:
        if not any(fnmatchcase(namespace, pattern) for pattern in exclude):
            yield manifest._replace(object={**obj, "metadata": {**metadata, "namespace": namespace}})


def only_checks(obj: Mapping[str, Any]) -> bool:
    """Return whether an object template is not complete enough to create an object, so that it only compares others."""
    return not metadata_of(obj).get("name") or ("status" in obj and "spec" not in obj)


def _is_builtin(obj: KubernetesObject) -> bool:
    return BUILTIN.scope(gvk_of(obj), "") is not None


def is_of_olm(obj: Mapping[str, Any]) -> bool:
    return as_text(obj.get("apiVersion")).startswith(f"{OLM_GROUP}/")


def shown_object(obj: Mapping[str, Any]) -> str:
    metadata = metadata_of(obj)
    names = [as_text(metadata.get(key)) for key in ("namespace", "name")]
    package = as_text(spec_of(obj).get("name")) if obj["kind"] == "Subscription" and is_of_olm(obj) else ""
    of_package = f" of package {package}" if package and "{{" not in package else ""
    return f"{obj['kind']} {'/'.join(filter(None, names)) or 'of any name'}{of_package}"


def items_of_list(values: Mapping[str, Any], key: str) -> list[Any]:
    value = values.get(key)
    return value if isinstance(value, list) else []


def below(source: Source, *keys: str | int) -> Source:
    return source._replace(prefix=(*source.prefix, *keys))


PlaceOf = Callable[[Any, Source], Source]
"""A function that returns the real place of a value with this place, if a better one is known."""

TEMPLATES = "policy-templates"
"""The field of a Policy that contains other policies."""
_KINDS = ("Policy", "ConfigurationPolicy", "OperatorPolicy")
_ENFORCE = "enforce"
_OLM_IN_TEXT = regex(rf"\b{re.escape(OLM_GROUP)}/v\d")
_KINDS_IN_TEXT = regex(r"\bkind[\"']?\s*:\s*[\"']?(\{\{|\w+)")
_COMPLIANCE_IN_TEXT = regex(r"\bcomplianceType[\"']?\s*:\s*[\"']?(\{\{|\w+)")
_OPEN_KIND = frozenset({"{{"})
_INSTALLING = _OPEN_KIND | {"Subscription", "OperatorGroup", "CatalogSource"}
_OF_OLM = _INSTALLING | {"InstallPlan", CSV_KIND}
_SHOWN = 4
_IDENTITY = ("apiVersion", "kind", "metadata")
_ENFORCED_HINT = "With remediationAction: enforce they would be installed; the one of a Policy wins over those inside."


class Installed(NamedTuple):
    """The objects that policies put into a cluster, the InstallPlans that they approve, and the OperatorPolicies that
    wait for what the catalogs have. `kept` are the objects that stay without their policy, `removals` those that
    policies delete."""

    manifests: tuple[Manifest, ...] = ()
    approvals: tuple[PolicyApproval, ...] = ()
    waiting: tuple[ActingPolicy, ...] = ()
    kept: frozenset[ObjectKey] = frozenset()
    removals: tuple[PolicyRemoval, ...] = ()


def is_policy(obj: Mapping[str, Any]) -> bool:
    """Return whether an object is a policy that can put others into a cluster."""
    return obj.get("kind") in _KINDS and as_text(obj.get("apiVersion")).startswith(f"{POLICY_GROUP}/")


def installed_by(
    manifests: Sequence[Manifest],
    report: Report,
    place_of: PlaceOf = lambda value, source: source,  # noqa: ARG005
) -> Installed:
    """Return the objects that the policies among the manifests put into a cluster, each once. Report the objects that
    they leave open, and those that they name and do not install.

    All policies are taken to meet in one cluster: placements decide the clusters of each.
    """
    reading = _PolicyReading([], [], [], {}, report, place_of, set(), [])
    for manifest in manifests:
        if is_policy(manifest.object):
            for policy in acting_policies(manifest, place_of):
                _read_policy(policy, reading)
    _report_idle(reading)
    return _installed(reading, manifests)


def installed_from(
    waiting: Iterable[ActingPolicy], served: Mapping[str, Catalog], there: Sequence[Manifest], report: Report
) -> Installed:
    """Return the objects that OperatorPolicies without a catalog put into a cluster that has `there` already
    (R-OCM-10). The content of its catalogs decides; it is `served` by `namespace/name`, or by the name alone."""
    catalogs = _catalogs_of_packages(served, there)
    reading = _PolicyReading([], [], [], {}, report, lambda value, source: source, set(), [])  # noqa: ARG005
    for policy in waiting:
        _read_operator_policy(policy._replace(manifest=with_catalog(policy.manifest, catalogs)), reading)
    for policy in reading.waiting:
        report.add(_left_to_cluster(policy))
    return _installed(reading, there)._replace(waiting=())


def _catalogs_of_packages(served: Mapping[str, Catalog], manifests: Iterable[Manifest]) -> dict[str, list[CatalogKey]]:
    packages: dict[str, list[CatalogKey]] = {}
    for manifest in manifests:
        if manifest.object["kind"] == "CatalogSource" and is_of_olm(manifest.object):
            key = CatalogKey(namespace_of(manifest.object), name_of(manifest.object))
            catalog = served.get(f"{key.namespace}/{key.name}") or served.get(key.name)
            for package in catalog.packages if catalog is not None else ():
                packages.setdefault(package, []).append(key)
    return packages


def _installed(reading: _PolicyReading, manifests: Sequence[Manifest]) -> Installed:
    """All that was found, beside what is there by itself."""
    there = [*manifests, *reading.installed]
    # The controller makes a group only if the namespace has none of any origin.
    taken = {namespace_of(manifest.object) for manifest in there if _is_group(manifest.object)}
    taken |= {openshift()["globalOperatorGroup"]["namespace"]} if openshift_place(there) is not None else set()
    groups = default_groups(reading.operators, taken)
    own = {object_key(manifest.object): manifest.object for manifest in manifests}
    together: dict[ObjectKey, Manifest] = {}
    for manifest in (*missing_namespaces(reading.operators, there), *groups, *reading.installed):
        key = object_key(manifest.object)
        before = together.get(key)
        together[key] = before._replace(object=_merged(before.object, manifest.object)) if before else manifest
    installed = tuple(manifest for key, manifest in together.items() if own.get(key) != manifest.object)
    approvals = tuple(result.approval for result in reading.operators if result.approval is not None)
    kept = together.keys() - own.keys() - reading.prunable
    return Installed(installed, approvals, tuple(reading.waiting), frozenset(kept), tuple(reading.removals))


def parts_of(manifest: Manifest) -> Iterator[Manifest]:
    """Everything inside of a policy that is an object by itself, with its place."""
    for part in _templates(manifest):
        yield part
        yield from (Manifest(wanted.definition, wanted.source) for wanted in object_templates(part))
    yield from (Manifest(wanted.definition, wanted.source) for wanted in object_templates(manifest))


def _merged(old: Any, new: Any) -> Any:
    """R-OCM-6: what two policies say of one object, each of which wants it to have that at least."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *(item for item in new if item not in old)]
    return new


class _PolicyReading(NamedTuple):
    """The results of reading policies: objects, the requests of OperatorPolicies, those that wait for catalogs, and
    those that install nothing; the objects that are deleted with their policy, and those that policies delete."""

    installed: list[Manifest]
    operators: list[OperatorPolicyResult]
    waiting: list[ActingPolicy]
    idle: dict[_IdlePlace, list[_IdlePolicy]]
    report: Report
    place_of: PlaceOf
    prunable: set[ObjectKey]
    removals: list[PolicyRemoval]


class _IdlePlace(NamedTuple):
    """The place that decides that policies install nothing, and the reason."""

    place: Location
    why: str
    hint: str


class _IdlePolicy(NamedTuple):
    """A policy that installs nothing, and the objects that it names."""

    name: str
    objects: Sequence[str]


class ActingPolicy(NamedTuple):
    """A ConfigurationPolicy or an OperatorPolicy, its remediationAction, and whether it is disabled with its parent.

    With `is_overruled` a build made the parent inform, while the file of the policy says enforce.
    """

    manifest: Manifest
    action: str
    is_disabled: bool = False
    is_overruled: bool = False

    @property
    def name(self) -> str:
        return f"{self.manifest.object['kind']} {name_of(self.manifest.object)}".rstrip()

    @property
    def place(self) -> Location:
        return locate(self.manifest.source, ())

    @property
    def is_enforced(self) -> bool:
        return self.action == _ENFORCE and not self.is_disabled

    @property
    def resolves_templates(self) -> bool:
        annotation = annotations_of(self.manifest.object).get(f"{POLICY_GROUP}/disable-templates", "")
        return annotation.lower() not in ("true", "t", "1")


def acting_policies(manifest: Manifest, place_of: PlaceOf) -> Iterator[ActingPolicy]:
    """R-OCM-1, R-OCM-2: what a Policy holds, or the policy itself, each with the action that counts."""
    obj = manifest.object
    if obj["kind"] != "Policy":
        yield ActingPolicy(manifest, _action(obj) or "inform")
        return
    own, is_disabled = _action(obj), spec_of(obj).get("disabled") is True
    for part in _templates(manifest):
        # The Policy's action wins over those inside, but nothing makes an `informonly` enforce (R-OCM-2).
        action = _action(part.object)
        counted = action if action == "informonly" else own or action or "inform"
        is_overruled = action == _ENFORCE != counted and not part.source.text
        placed = part if is_overruled else part._replace(source=place_of(part.object, part.source))
        yield ActingPolicy(placed, counted, is_disabled, is_overruled)


def _action(obj: KubernetesObject) -> str:
    return as_text(spec_of(obj).get("remediationAction")).lower()


def _templates(manifest: Manifest) -> Iterator[Manifest]:
    """The policies inside of a Policy."""
    for number, template in enumerate(items_of_list(spec_of(manifest.object), TEMPLATES)):
        definition = template.get(DEFINITION) if isinstance(template, dict) else None
        if isinstance(definition, dict) and is_object(definition) and is_policy(definition):
            yield Manifest(definition, below(manifest.source, "spec", TEMPLATES, number, DEFINITION))


def _read_policy(policy: ActingPolicy, reading: _PolicyReading) -> None:
    if policy.manifest.object["kind"] == "OperatorPolicy":
        _read_operator_policy(policy, reading)
    else:
        _read_configuration_policy(policy, reading)


def _read_operator_policy(policy: ActingPolicy, reading: _PolicyReading) -> None:
    result = _result(policy)
    if result.problem:
        finding = rules.REFUSED.finding(
            locate(policy.manifest.source, ("spec", *result.keys)), policy=policy.name, objects=result.shown,
            problem=result.problem,
        )  # fmt: skip
        reading.report.add(finding)
    elif result.is_removal or not policy.is_enforced:
        reading.removals.extend([result.removes] if result.removes is not None and policy.is_enforced else [])
        _say_not_installed(policy, [result.shown], reading, removal=result.removal)
    elif result.open:
        reading.report.add(left_open(policy.manifest.source, result.shown, result.open))
    elif result.unknown:
        reading.waiting.append(policy)
    else:
        reading.operators.append(result)
        for built in result.manifests:
            reading.installed.extend(_sound(built, reading.report))


def _left_to_cluster(policy: ActingPolicy) -> Diagnostic:
    result = _result(policy)
    place = locate(policy.manifest.source, ("spec", *result.keys))
    hint = "Write them into the policy, as the cluster would fill them in."
    return rules.LEFT_OPEN.finding(place, what=result.shown, why=result.unknown, hint=hint)


def _result(policy: ActingPolicy) -> OperatorPolicyResult:
    return read_operator_policy(
        policy.manifest, is_enforced=policy.action == _ENFORCE, resolves_templates=policy.resolves_templates
    )


def _read_configuration_policy(policy: ActingPolicy, reading: _PolicyReading) -> None:
    """R-OCM-3: what musthave and mustonlyhave name is created, what mustnothave names is not."""
    raw = spec_of(policy.manifest.object).get(RAW)
    place_of: PlaceOf = (lambda value, source: source) if policy.is_overruled else reading.place_of  # noqa: ARG005
    # A raw template is a text until the cluster fills it in: what objects it has is not known before.
    if isinstance(raw, str) and is_open(raw) and _OLM_IN_TEXT.search(raw):
        kinds, compliance = {*_KINDS_IN_TEXT.findall(raw)} or _OPEN_KIND, {*_COMPLIANCE_IN_TEXT.findall(raw)}
        if policy.is_enforced and kinds & _OF_OLM:
            fields = [TemplateField(("spec", RAW), "")]
            reading.report.add(left_open(policy.manifest.source, f"the part of {policy.name} for OLM", fields))
        elif not policy.is_enforced and kinds & _INSTALLING and compliance != {"mustnothave"}:
            _say_not_installed(policy, [f"objects of OLM in its {RAW}"], reading, removal="")
        return
    is_pruning = as_text(spec_of(policy.manifest.object).get("pruneObjectBehavior")).lower().startswith("delete")
    idle: dict[str, list[ObjectTemplate]] = {}
    vague: list[tuple[ObjectTemplate, list[TemplateField]]] = []
    for wanted in object_templates(policy.manifest):
        placed = wanted._replace(source=place_of(wanted.definition, wanted.source))
        is_removal = placed.compliance == "mustnothave"
        if is_removal or not policy.is_enforced:
            if is_removal and policy.is_enforced:
                reading.removals.extend(_removals(placed, policy))
            if is_of_olm(placed.definition) and (is_removal or not only_checks(placed.definition)):
                idle.setdefault("what exists of it is deleted" if is_removal else "", []).append(placed)
            continue
        fields = list(templates_in(placed.definition)) if policy.resolves_templates else _of_hub(placed.definition)
        if not fields:
            for manifest in objects_of(placed, policy.manifest, reading.report):
                reading.installed.extend(_sound(manifest, reading.report))
                reading.prunable.update([object_key(manifest.object)] if is_pruning else [])
        elif is_of_olm(placed.definition):
            reading.report.add(left_open(placed.source, shown_object(placed.definition), fields))
        else:
            kept = without_templates(placed.definition)
            if kept is not None:
                reading.installed.extend(_sound(Manifest(kept, placed.source), reading.report))
            vague.append((placed, fields))
    for removal, objects in idle.items():
        shown_objects = [shown_object(wanted.definition) for wanted in objects]
        _say_not_installed(policy, shown_objects, reading, removal=removal, place=locate(objects[0].source, ()))
    if vague:
        listed = join_limited(
            [f"{shown_object(wanted.definition)} ({shown_fields(at)})" for wanted, at in vague], _SHOWN
        )
        first, fields = vague[0]
        finding = rules.LEFT_OPEN.finding(
            locate(first.source, fields[0].keys),
            what=f"a part of {policy.name}",
            why=f"templates are filled in by the cluster: {listed}",
            hint="Nothing is to be done; what the policy says plainly counts.",
        )
        reading.report.add(finding._replace(severity=Severity.INFO, tags=frozenset()))  # in it is no operator


def _removals(wanted: ObjectTemplate, policy: ActingPolicy) -> Iterator[PolicyRemoval]:
    """R-OCM-3: the objects that a template names and that must not be there; of a template with open fields none."""
    if any(templates_in(wanted.definition)):
        return
    for manifest in objects_of(wanted, policy.manifest, Report()):
        key = object_key(manifest.object)
        fields = {name: value for name, value in manifest.object.items() if name not in _IDENTITY}
        yield PolicyRemoval(key, frozenset({key.kind}), fields)


def _of_hub(definition: Mapping[str, Any]) -> list[TemplateField]:
    """Templates that the hub fills in, which an annotation on what is inside does not switch off."""
    return [field for field in templates_in(definition) if "{{hub" in field.text]


def _say_not_installed(
    policy: ActingPolicy, shown: list[str], reading: _PolicyReading, *, removal: str, place: Location | None = None
) -> None:
    """Note that a policy installs nothing; a removal counts only if somebody enforces it."""
    if removal and not policy.is_enforced:
        return
    if removal:
        why, hint = f"is for taking away, {removal}", "Nothing is to be done if that is meant."
    elif policy.is_disabled:
        why, hint = "is disabled and installs nothing", "Without `disabled: true` it would count."
    else:
        why, hint = "only informs and installs nothing", _ENFORCED_HINT
    where = _IdlePlace(place or policy.place, why, hint)
    reading.idle.setdefault(where, []).append(_IdlePolicy(policy.name, shown))


def _report_idle(reading: _PolicyReading) -> None:
    """Report the policies that install nothing: once for each place that decides it."""
    for (place, why, hint), policies in reading.idle.items():
        name = policies[0].name if len(policies) == 1 else f"each of {len(policies)} policies"
        objects = join_limited([shown for policy in policies for shown in policy.objects], _SHOWN)
        reading.report.add(rules.NOT_INSTALLED.finding(place, policy=name, why=why, objects=objects, hint=hint))


def _is_group(obj: KubernetesObject) -> bool:
    return obj["kind"] == "OperatorGroup" and is_of_olm(obj)


def _sound(manifest: Manifest, report: Report) -> Iterator[Manifest]:
    """The object as the API server would take it; what it refuses is reported and gone."""
    return manifests_in([Document(manifest.object, manifest.source)], report)
