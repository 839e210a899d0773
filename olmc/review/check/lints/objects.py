"""Lints for objects of manifests and bundles: their size, their kind, texts that Flux takes for variables, and
permissions to review before an installation.

For bundles also impossible upgrades, and objects without a purpose.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import PLACES_IN_V1, account_of_deployment, is_copy
from olmc.compiler.olm.naming import CORE_KINDS, TYPED_KINDS
from olmc.compiler.olm.profiles.data import olm_in_texts, profile_of
from olmc.compiler.reconcile.misspelling import DroppedField, dropped_fields
from olmc.compiler.reconcile.operator_groups import account_exists
from olmc.compiler.rules.findings import lints as rules
from olmc.k8s.api.applied import annotations_of, applied_size, is_applied_by_server, is_surely_small, size_of
from olmc.k8s.api.rbac import decode_rules, normalize, rbac_forms
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.diagnostics import Diagnostic, Location, OversizedAnnotations, Source, closest, did_you_mean, misspelt
from olmc.k8s.gojson import Path, unknown_keys
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    CRD_KIND,
    KubernetesObject,
    Manifest,
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
from olmc.k8s.yaml import at, locate
from olmc.k8s.yaml.document import LINE_BREAK
from olmc.review.check.lints import LintSubject, of_kind
from olmc.review.check.validators.folders import SUPPORTED
from olmc.review.rbac.risks import Level, Risk, risks_of
from olmc.review.rbac.subjects import Grant, grant_order, permissions

_FLUX = "kustomize.toolkit.fluxcd.io/"
# Where no brace closes it in its line, the match has the rest of the line, so that no other one goes through it again.
_VARIABLE = regex(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*+)[^}\n]*+(\})?")
_WAVE = "argocd.argoproj.io/sync-wave"
_INTEGER = regex("[+-]?[0-9]+")

Keys = tuple[str | int, ...]


class _Held(NamedTuple):
    """An object of a file, and the bundle that it belongs to."""

    manifest: Manifest
    bundle: Bundle | None


def _held(subject: LintSubject) -> Iterator[_Held]:
    for manifest in subject.workspace.manifests:
        yield _Held(manifest, None)
    for _, bundle in sorted(subject.workspace.bundles.items()):
        for file in bundle.files:
            yield _Held(file.manifest, bundle)


def sizes(subject: LintSubject) -> Iterator[Diagnostic]:
    """Annotations that no cluster takes, and objects that client-side apply can't put into an annotation."""
    applied = subject.options.purpose == "apply"
    for manifest, bundle in _held(subject):
        obj = manifest.object
        # Writing an object as JSON takes its time, and hardly any file is large enough to need it.
        if is_surely_small(manifest.source):
            continue
        size = size_of(annotations_of(obj))
        if size > ANNOTATIONS_LIMIT:
            place = at(manifest.source, "metadata", "annotations")
            yield rules.ANNOTATIONS_TOO_LARGE.finding(
                place, identity=object_key(obj), size=size, limit=ANNOTATIONS_LIMIT
            )
            continue
        size = applied_size(obj)
        if size <= ANNOTATIONS_LIMIT or is_applied_by_server(obj):
            continue
        # OLM writes the objects of bundles without that annotation; only those who apply olmc's output need to mind it.
        rule = rules.TOO_LARGE_TO_APPLY if bundle is None or applied else rules.LARGE_IN_BUNDLE
        diagnostic = rule.finding(at(manifest.source), identity=object_key(obj), size=size, limit=ANNOTATIONS_LIMIT)
        yield diagnostic.caused_by(OversizedAnnotations(object_key(obj).kind))


def waves(subject: LintSubject) -> Iterator[Diagnostic]:
    """Sync waves of Argo CD that are no integers."""
    for manifest in subject.workspace.manifests:
        text = annotations_of(manifest.object).get(_WAVE, "0")
        if not _INTEGER.fullmatch(text):
            place = at(manifest.source, "metadata", "annotations", _WAVE)
            yield rules.BAD_WAVE.finding(place, identity=object_key(manifest.object), text=text)


def not_installable(subject: LintSubject) -> Iterator[Diagnostic]:
    """Kinds that the validators accept in a bundle and the catalog operator does not (R-CAT-107, R-CAT-705)."""
    profile = profile_of(subject.options.olm_version)
    for manifest, bundle in _held(subject):
        kind = manifest.object.get("kind")
        # The tools and the catalog operator have a list each, and the first one is longer (R-CAT-107).
        if bundle is not None and kind in SUPPORTED and kind not in profile.bundle_kinds:
            name = object_key(manifest.object).name
            yield rules.NOT_INSTALLABLE.finding(at(manifest.source, "kind"), bundle=bundle.name, kind=kind, name=name)


def variables(subject: LintSubject) -> Iterator[Diagnostic]:
    """The first `${…}` of an object: a certain loss where a Kustomization of the workspace substitutes variables."""
    applied = subject.options.purpose == "apply"
    flux = next(filter(_substitutes, (manifest.object for manifest in subject.workspace.manifests)), None)
    held = list(_held(subject))
    # Most files have none; and many objects may share one, which is looked through once.
    suspects = {text for text in {item.manifest.source.text for item in held} if "${" in text}
    for manifest, bundle in held:
        if manifest.source.text not in suspects or _is_exempt(manifest.object):
            continue
        first = next(_variables_in(manifest.object), None)
        if first is None:
            continue
        match, keys, of_key = first
        place = _written(manifest.source, locate(manifest.source, keys, of_key=of_key), match[0])
        plain = f"${{{match[1]}}}"
        # The default of a variable may be the value of a Secret.
        is_open = match[0] == plain or "secret" not in manifest.source.text.lower()
        # Without such a Kustomization it is a possibility; and a bundle goes to OLM, past Flux.
        if flux is None or (bundle is not None and not applied):
            yield rules.SUBSTITUTABLE.finding(place, text=match[0] if is_open else f"{plain[:-1]}…}}")
        else:
            name = f"Kustomization {flux['metadata']['name']}"
            yield rules.SUBSTITUTED.finding(place, text=match[0], name=match[1], kustomization=name)


def _variables_in(value: Any, keys: Keys = ()) -> Iterator[tuple[re.Match[str], Keys, bool]]:
    """The first `${…}` of each text in a value, the keys that lead to the text, and whether it is a key itself."""
    if isinstance(value, str):
        match = next((found for found in _VARIABLE.finditer(value) if found[2]), None)
        if match:
            yield match, keys, False
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _variables_in(item, (*keys, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from ((match, (*keys, key), True) for match, _, _ in _variables_in(key))
            yield from _variables_in(item, (*keys, key))


def _written(source: Source, start: Location, variable: str) -> Location:
    """Return where a variable stands in a text that begins at `start`; there, where it is written with escapes."""
    # `start` is where the text begins, which may be many lines above the variable.
    lines = _line_starts(source.text)
    offset = lines[start.line - 1] + start.column - 1
    match = re.compile(r"(?<!\$)" + re.escape(variable)).search(source.text, offset)
    if match is None:
        return start
    line = bisect(lines, match.start())
    return Location(source.path, line, match.start() - lines[line - 1] + 1)


@lru_cache(maxsize=2)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(end.end() for end in LINE_BREAK.finditer(text)))


def _substitutes(obj: KubernetesObject) -> bool:
    """Return whether an object is a Kustomization of Flux that substitutes variables."""
    spec = obj.get("spec")
    is_flux = obj["kind"] == "Kustomization" and obj["apiVersion"].startswith(_FLUX)
    return is_flux and isinstance(spec, dict) and bool(spec.get("postBuild"))


def _is_exempt(obj: KubernetesObject) -> bool:
    metadata = obj.get("metadata")
    marks = [metadata.get(key) for key in ("annotations", "labels")] if isinstance(metadata, dict) else []
    return any(isinstance(mark, dict) and mark.get(f"{_FLUX}substitute") == "disabled" for mark in marks)


def unknown_fields(subject: LintSubject) -> Iterator[Diagnostic]:
    """Fields that OLM leaves out when it reads the CSV of a bundle (R-JSON-11)."""
    profile = profile_of(subject.options.olm_version)
    for name, bundle in sorted(subject.workspace.bundles.items()):
        alike: dict[str, list[DroppedField]] = {}
        for field in dropped_fields({**bundle.csv.object, "kind": CSV_KIND}, profile, exact=False):
            alike.setdefault(_pattern(field), []).append(field)
        for pattern, (first, *more) in alike.items():
            # A slip in one item of a list is mostly in all of them: one finding with a number says it.
            rule = rules.MISSPELT_IN_BUNDLE if first.meant else rules.UNKNOWN_IN_BUNDLE
            times = f" ({len(more) + 1} times)" if more else ""
            yield rule.finding(
                locate(bundle.csv.source, first.keys, of_key=True),
                csv=name, where=f"{pattern if more else first.where}{times}", effect=first.consequence, hint=first.hint,
                owner=olm_in_texts(profile) if first.version else "OLM",
            )  # fmt: skip


class _Lost(NamedTuple):
    """A key that is lost: the keys that lead to it, and the fields that could stand there."""

    keys: Path
    others: tuple[str, ...]


def lost_keys(subject: LintSubject) -> Iterator[Diagnostic]:
    """Keys of a bundle's other objects that are lost when OLM or the API server decodes them (R-JSON-11).

    One that is lost at several places of an object is reported once.
    """
    for name, bundle in sorted(subject.workspace.bundles.items()):
        for manifest in (file.manifest for file in bundle.files):
            alike: dict[str, list[_Lost]] = {}
            for lost in _lost(manifest.object):
                alike.setdefault(str(lost.keys[-1]), []).append(lost)
            for key, (first, *more) in alike.items():
                where, moved = ".".join(map(str, first.keys)), _place_in_v1(manifest.object, first.keys)
                meant = "" if moved else closest(key, first.others)
                yield rules.LOST_KEY.finding(
                    locate(manifest.source, first.keys, of_key=True),
                    csv=name, identity=object_key(manifest.object),
                    where=f"{where} (and {len(more)} more {key})" if more else where,
                    hint=moved or did_you_mean(meant) or "Remove it.",
                ).caused_by(misspelt(key, meant))  # fmt: skip


def _place_in_v1(obj: KubernetesObject, keys: Path) -> str:
    """The hint for a field of a CRD that stands where v1beta1 had it, "" for any other."""
    if obj.get("kind") != CRD_KIND:
        return ""
    place = PLACES_IN_V1.get(tuple(map(str, keys)))
    if place is None and keys[:2] == ("spec", "versions") and keys[-1] == "JSONPath":
        place = "jsonPath"
    return f"It is a field of v1beta1. Move it to {place}; without it v1 does not have what it says." if place else ""


def _lost(obj: KubernetesObject) -> Iterator[_Lost]:
    kind, api_version = str(obj.get("kind")), str(obj.get("apiVersion"))
    go_type = TYPED_KINDS.get((api_version, kind)) or (kind if kind in CORE_KINDS else None)
    unknown = unknown_keys(go_type, obj, exact=kind not in CORE_KINDS) if go_type else ()
    # The server clears the status of what it creates, so nothing in it counts.
    yield from (_Lost(keys, others) for keys, others in unknown if keys[0] != "status")


def _pattern(field: DroppedField) -> str:
    """Return the path of a field without the numbers of list items: the same mistake is usually in all items."""
    return ".".join("*" if isinstance(key, int) else str(key) for key in field.keys)


class _Pods(NamedTuple):
    """A Deployment of a CSV, the ServiceAccount that its pods run as, and the keys that lead to that."""

    deployment: str
    account: str
    keys: tuple[str | int, ...]


def missing_accounts(subject: LintSubject) -> Iterator[Diagnostic]:
    """Deployments of operators that would succeed, if only their ServiceAccount were there."""
    cluster = subject.settled.cluster if subject.settled is not None else None
    for name, member in sorted(cluster.members.items()) if cluster is not None else ():
        for pods in _pods(member.csv) if member.succeeded else ():
            # The pods can't start without it, which OLM finds out only when they don't.
            if cluster is None or account_exists(cluster.objects, name.namespace, pods.account):
                continue
            yield rules.NO_ACCOUNT.finding(
                _place(subject, name.name, pods.keys),
                csv=name.name, deployment=pods.deployment, account=pods.account, namespace=name.namespace,
                hint=_hint(member.csv),
            )  # fmt: skip


def _pods(csv: Csv) -> Iterator[_Pods]:
    for index, deployment in enumerate(csv.deployments):
        for key in ("serviceAccountName", "serviceAccount"):
            if str(deployment.pod.get(key)) == account_of_deployment(csv, deployment):
                above = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", key)
                yield _Pods(deployment.name, str(deployment.pod[key]), above)
                break


def _place(subject: LintSubject, csv: str, keys: tuple[str | int, ...]) -> Location | None:
    """Return where a CSV of the workspace says it: in a bundle, or in a manifest."""
    bundle = subject.workspace.bundles.get(csv)
    manifests = [bundle.csv] if bundle is not None else []
    manifests += [manifest for manifest in of_kind(subject, CSV_KIND) if manifest.object["metadata"]["name"] == csv]
    return locate(manifests[0].source, keys) if manifests else None


def _hint(csv: Csv) -> str:
    named = dict.fromkeys(account or "default" for account in csv.service_account_names)
    accounts = f"Its permissions are for {', '.join(named)}. " if named else ""
    return f"{accounts}Name that account, or add a ServiceAccount to the bundle or to the workspace."


# The permissions that operators ask for, and where OLM lets them hold: what is not for the cluster is for a namespace.
_HOLDS_IN = {"clusterPermissions": "", "permissions": None}

_NOWHERE = Provenance(None, "check", "", Origin.BUNDLE)


class _Danger(NamedTuple):
    """A rule of a CSV or of a role with a risk, and the keys that lead to it in its file."""

    level: Level
    risk: Risk
    source: Source
    keys: Keys


def dangerous(subject: LintSubject) -> Iterator[Diagnostic]:
    """Report the dangers of each operator's permissions: ways to the whole cluster, and smaller ones.

    Roles and bindings that a bundle brings beside its CSV count like the permissions in the CSV.
    """
    for obj, source, bundle in _csvs(subject):
        held = (*_dangers(obj, source), *(_bundled_dangers(bundle) if bundle is not None else ()))
        # The right to do everything includes all others.
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
            # OLM puts namespaced objects into the operator's namespace and ignores the one in the file (R-CAT-717).
            metadata = {key: value for key, value in metadata_of(obj).items() if key != "namespace"}
            placed[object_key({**obj, "metadata": metadata})] = {**obj, "metadata": metadata}, file.manifest.source
    found = permissions(Rendered(obj, _NOWHERE) for obj, _ in placed.values())
    index_of = cache(lambda role: _indices(placed[role][0]))
    # The danger of a binding does not depend on its subject.
    bound = {(role.binding, role.role): role for role in reversed(found.bound)}
    for grant in sorted((role.of(each) for role in bound.values() for each in role.rules), key=grant_order):
        namespace = "" if grant.namespace == "" else None
        for risk in risks_of(grant.rule, namespace):
            yield _Danger(risk.level(namespace), risk, *_place_of_grant(grant, placed, index_of))


def _indices(role: KubernetesObject) -> Mapping[PolicyRule, int]:
    """Return which of the rules of a role a normalized one stems from."""
    indices: dict[PolicyRule, int] = {}
    for index, written in enumerate(decode_rules(role.get("rules"))):
        for rule in normalize(written):
            indices.setdefault(rule, index)
    return indices


def _place_of_grant(
    grant: Grant, placed: Mapping[ObjectKey, tuple[KubernetesObject, Source]],
    index_of: Callable[[ObjectKey], Mapping[PolicyRule, int]],
) -> tuple[Source, Keys]:  # fmt: skip
    """Return where a bundle grants something: the rule of its own role, or the binding to one that is elsewhere."""
    if grant.source in placed and grant.rule in index_of(grant.source):
        return placed[grant.source][1], ("rules", index_of(grant.source)[grant.rule])
    # Kubernetes itself binds some roles.
    known = grant.binding if grant.binding in placed else grant.role
    return placed[known or grant.role][1], ("roleRef",)
