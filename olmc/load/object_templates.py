"""Object templates: what ConfigurationPolicies say of objects, and where these are (R-OCM-3 … R-OCM-5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from olmc.diagnostics.rules import policies as rules
from olmc.kube.applied import is_object
from olmc.kube.restmapper import BUILTIN
from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Report, Source
from olmc.model.objects import KubernetesObject, as_text, gvk_of, mapping, metadata_of, name_of, spec_of
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import Manifest
from olmc.yaml import locate, read

DEFINITION = "objectDefinition"
RAW = "object-templates-raw"
"""Where object templates stand as a text."""

_OBJECTS = "object-templates"
# What decides whether lines are there at all, and how often.
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
    lists = [(items_of_list(spec, _OBJECTS), below(policy.source, "spec", _OBJECTS), True)]
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


def is_open(raw: str) -> bool:
    """Whether what a text of object templates lists is known only once its templates are filled in."""
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
    if not metadata.get("name") or ("status" in obj and "spec" not in obj):
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
        place = locate(policy.source, ("spec", "namespaceSelector"))
        why = "it goes to those namespaces of the cluster that the namespaceSelector fits"
        hint = "Name its namespace in the object, or the namespaces one by one in `include`."
        report.add(rules.LEFT_OPEN.finding(place, what=f"where {shown_object(obj)} is", why=why, hint=hint))
        return
    exclude = [as_text(pattern) for pattern in items_of_list(selector, "exclude")]
    for namespace in include:
        if not any(fnmatchcase(namespace, pattern) for pattern in exclude):
            yield manifest._replace(object={**obj, "metadata": {**metadata, "namespace": namespace}})


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
