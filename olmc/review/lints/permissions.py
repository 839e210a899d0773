"""Permissions of operators that deserve a look before they are approved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from olmc.kube.rbac import decode_rules, normalized
from olmc.model.coerce import mapping, mappings
from olmc.model.diagnostic import Diagnostic
from olmc.model.location import Source
from olmc.model.objects import KubernetesObject, labels_of, spec_of
from olmc.review.lints.subject import Lint, Subject, of_kind
from olmc.review.risks import Level, Risk, risks_of
from olmc.rules import lints as rules
from olmc.yaml import at

# Where the rules of a list hold: in the whole cluster, or wherever the OperatorGroup's targets are.
_HOLDS_IN = {"clusterPermissions": "", "permissions": None}


class _Danger(NamedTuple):
    """A rule of a CSV with a risk, and the keys that lead to the rule."""

    level: Level
    risk: Risk
    keys: tuple[str | int, ...]


def dangerous(subject: Subject) -> Iterator[Diagnostic]:
    """What each operator could do with its permissions: ways to the whole cluster, and what is less grave."""
    for obj, source in _csvs(subject):
        found = list(_dangers(obj))
        name = obj["metadata"].get("name")
        for rule, grave in ((rules.WHOLE_CLUSTER, True), (rules.POWERFUL, False)):
            mine = [each for each in found if (each.level is Level.CRITICAL) is grave]
            if not mine:
                continue
            mine.sort(key=lambda each: -each.level)
            names = ", ".join(dict.fromkeys(each.risk.name for each in mine))
            why = "\n".join(dict.fromkeys(f"{each.risk.name}: {each.risk.why}" for each in mine)) if grave else ""
            yield rule.finding(at(source, *mine[0].keys), csv=name, names=names, why=why)


def _csvs(subject: Subject) -> Iterator[tuple[KubernetesObject, Source]]:
    """The CSVs of bundles and manifests, copies left out."""
    for _, bundle in sorted(subject.workspace.bundles.items()):
        yield bundle.csv.object, bundle.csv.source
    for manifest in of_kind(subject, "ClusterServiceVersion"):
        if "olm.copiedFrom" not in labels_of(manifest.object):
            yield manifest.object, manifest.source


def _dangers(csv: KubernetesObject) -> Iterator[_Danger]:
    install: Any = mapping(mapping(spec_of(csv).get("install")).get("spec"))
    for field, namespace in _HOLDS_IN.items():
        for number, permission in enumerate(mappings(install.get(field))):
            for index, rule in enumerate(decode_rules(permission.get("rules"))):
                keys = ("spec", "install", "spec", field, number, "rules", index)
                for part in normalized(rule):
                    for risk in risks_of(part, namespace):
                        yield _Danger(risk.namespaced if namespace is None else risk.cluster, risk, keys)


LINTS: tuple[Lint, ...] = (dangerous,)
