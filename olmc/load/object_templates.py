"""Object templates: what ConfigurationPolicies say of objects, and where these are (R-OCM-3 … R-OCM-5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from olmc.diagnostics.rules import policies as rules
from olmc.kube.applied import is_object
from olmc.kube.restmapper import BUILTIN
from olmc.model.diagnostics import Report, Source
from olmc.model.objects import KubernetesObject, as_text, gvk_of, mapping, metadata_of, name_of, spec_of
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import Manifest
from olmc.yaml import locate, read

DEFINITION = "objectDefinition"
RAW = "object-templates-raw"
"""Where object templates stand as a text."""

_OBJECTS = "object-templates"
# Names that are no patterns.
_PLAIN = re.compile(r"^[^*?\[\]\\{]+$")


class ObjectTemplate(NamedTuple):
    """An object template: what it says of the object, and where the object stands."""

    compliance: str
    definition: dict[str, Any]
    source: Source


def object_templates(policy: Manifest, report: Report) -> Iterator[ObjectTemplate]:
    """The object templates of a ConfigurationPolicy, also those in a text as far as it has no templates."""
    spec = spec_of(policy.object)
    lists = [(items_of_list(spec, _OBJECTS), below(policy.source, "spec", _OBJECTS), True)]
    raw = spec.get(RAW)
    if isinstance(raw, str) and "{{" not in raw:
        source = below(policy.source, "spec", RAW)
        values = (document.value for document in read(source.path, raw, report))
        lists += [(value, source, False) for value in values if isinstance(value, list)]
    for templates, source, has_places in lists:
        for number, template in enumerate(templates):
            definition = template.get(DEFINITION) if isinstance(template, dict) else None
            if isinstance(definition, dict) and is_object(definition):
                compliance = as_text(template.get("complianceType")).lower()
                place = below(source, number, DEFINITION) if has_places else source
                yield ObjectTemplate(compliance, definition, place)


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
