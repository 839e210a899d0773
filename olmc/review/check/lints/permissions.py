"""Permissions that deserve a look before a bundle is installed: those of its CSV, and those of the RBAC beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import is_copy
from olmc.compiler.rules.findings import lints as rules
from olmc.k8s.api.rbac import decode_rules, normalize
from olmc.k8s.api.rbac_forms import rbac_forms
from olmc.k8s.diagnostics import Diagnostic, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    KubernetesObject,
    ObjectKey,
    Origin,
    PolicyRule,
    Provenance,
    Rendered,
    mapping,
    mappings,
    metadata_of,
    object_key,
    spec_of,
)
from olmc.k8s.yaml import at
from olmc.review.check.lints import LintSubject, of_kind
from olmc.review.rbac.risks import Level, Risk, risks_of
from olmc.review.rbac.subjects import Grant, grant_order, permissions

# The permissions that operators ask for, and where OLM lets them hold: what is not for the cluster is for a namespace.
_HOLDS_IN = {"clusterPermissions": "", "permissions": None}

Keys = tuple[str | int, ...]
_NOWHERE = Provenance(None, "check", "", Origin.BUNDLE)


class _Danger(NamedTuple):
    """A rule of a CSV or of a role with a risk, and the keys that lead to it in its file."""

    level: Level
    risk: Risk
    source: Source
    keys: Keys


def dangerous(subject: LintSubject) -> Iterator[Diagnostic]:
    """What each operator could do with its permissions: ways to the whole cluster, and what is less grave.

    Roles and bindings that a bundle brings beside its CSV count like what the CSV asks for.
    """
    for obj, source, bundle in _csvs(subject):
        held = (*_dangers(obj, source), *(_bundled_dangers(bundle) if bundle is not None else ()))
        # Whoever may do everything needs nothing else.
        everything = [danger for danger in held if (danger.risk.name, danger.level) == ("everything", Level.CRITICAL)]
        by_level = sorted(everything or held, key=lambda danger: -danger.level)
        name = obj["metadata"].get("name")
        for rule, grave in ((rules.WHOLE_CLUSTER, True), (rules.POWERFUL, False)):
            dangers = [danger for danger in by_level if (danger.level is Level.CRITICAL) is grave]
            if dangers:
                risks = [danger.risk for danger in dangers]
                names = ", ".join(dict.fromkeys(risk.name for risk in risks))
                why = "\n".join(dict.fromkeys(f"{risk.name}: {risk.why}" for risk in risks)) if grave else ""
                yield rule.finding(at(dangers[0].source, *dangers[0].keys), csv=name, names=names, why=why)


def _csvs(subject: LintSubject) -> Iterator[tuple[KubernetesObject, Source, Bundle | None]]:
    """The CSVs of bundles and manifests, copies left out."""
    for _, bundle in sorted(subject.workspace.bundles.items()):
        yield bundle.csv.object, bundle.csv.source, bundle
    for manifest in of_kind(subject, CSV_KIND):
        if not is_copy(manifest.object):
            yield manifest.object, manifest.source, None


def _dangers(csv: KubernetesObject, source: Source) -> Iterator[_Danger]:
    install: Any = mapping(mapping(spec_of(csv).get("install")).get("spec"))
    for field, namespace in _HOLDS_IN.items():
        for number, permission in enumerate(mappings(install.get(field))):
            for index, rule in enumerate(decode_rules(permission.get("rules"))):
                keys = ("spec", "install", "spec", field, number, "rules", index)
                for part in normalize(rule):
                    for risk in risks_of(part, namespace):
                        yield _Danger(risk.level(namespace), risk, source, keys)


def _bundled_dangers(bundle: Bundle) -> Iterator[_Danger]:
    """The dangers of what the bindings among a bundle's manifests give, each at its rule or else at the binding."""
    placed: dict[ObjectKey, tuple[KubernetesObject, Source]] = {}
    for file in bundle.files:
        for obj in rbac_forms(file.manifest.object):
            # OLM puts what has a namespace into that of the operator, whatever the file says (R-CAT-717).
            metadata = {key: value for key, value in metadata_of(obj).items() if key != "namespace"}
            placed[object_key({**obj, "metadata": metadata})] = {**obj, "metadata": metadata}, file.manifest.source
    found = permissions(Rendered(obj, _NOWHERE) for obj, _ in placed.values())
    index_of = cache(lambda role: _indices(placed[role][0]))
    # What a binding gives is as dangerous whoever it is for.
    bound = {(role.binding, role.role): role for role in reversed(found.bound)}
    for grant in sorted((role.of(each) for role in bound.values() for each in role.rules), key=grant_order):
        namespace = "" if grant.namespace == "" else None
        for risk in risks_of(grant.rule, namespace):
            yield _Danger(risk.level(namespace), risk, *_place(grant, placed, index_of))


def _indices(role: KubernetesObject) -> Mapping[PolicyRule, int]:
    """Which of the rules of a role a normalized one stems from."""
    indices: dict[PolicyRule, int] = {}
    for index, written in enumerate(decode_rules(role.get("rules"))):
        for rule in normalize(written):
            indices.setdefault(rule, index)
    return indices


def _place(
    grant: Grant, placed: Mapping[ObjectKey, tuple[KubernetesObject, Source]],
    index_of: Callable[[ObjectKey], Mapping[PolicyRule, int]],
) -> tuple[Source, Keys]:  # fmt: skip
    """Where a bundle grants something: the rule of its own role, or the binding to one that is elsewhere."""
    if grant.source in placed and grant.rule in index_of(grant.source):
        return placed[grant.source][1], ("rules", index_of(grant.source)[grant.rule])
    # Kubernetes itself binds some roles.
    known = grant.binding if grant.binding in placed else grant.role
    return placed[known or grant.role][1], ("roleRef",)
