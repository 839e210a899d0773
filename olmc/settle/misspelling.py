"""What is misspelt: kinds, fields and approvals in manifests, kinds and plans in options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.kube.builtin_kinds import builtin_kinds, is_native, removal_of, versions_of
from olmc.kube.restmapper import RestMapper, rest_mapper
from olmc.load.config import CONFIG_FILE
from olmc.load.files import read_text
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Diagnostic, Report
from olmc.model.gvk import GVK, GroupKind, gvk_of
from olmc.model.location import Source
from olmc.model.objects import KubernetesObject, identity, spec_of
from olmc.model.operators import OLM_GROUP
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.suggestions import closest, did_you_mean
from olmc.model.workspace import Manifest, Workspace
from olmc.profiles.resolve import profile_of
from olmc.rules import load as load_rules
from olmc.rules import misspelt as rules
from olmc.settle.unknown_fields import dropped_fields
from olmc.yaml import locate

_APPROVALS = ("Automatic", "Manual")
_CRD = "CustomResourceDefinition"
_GROUPS_ALIKE = 0.85
# MutatingAdmissionPolicyBinding and ValidatingAdmissionPolicyBinding are 0.87 alike, and an API server may have both.
_KINDS_ALIKE = 0.88
_ALIKE = 0.75
# What no cluster serves yet (docs/install-api.md).
_PROPOSED = ("Install",)


def check_spelling(workspace: Workspace, options: Options, report: Report) -> None:
    """Report kinds that are none, fields of OLM's objects that are dropped, and approvals that mean something else."""
    profile = profile_of(options.olm_version)
    for manifest in workspace.manifests:
        strange = strange_kind(manifest, workspace, profile, options)
        api = gvk_of(manifest.object)
        if strange is not None:
            report.add(strange)
        elif api.group == OLM_GROUP and api.version in versions_of(api.group_kind):
            for diagnostic in (*_fields(manifest, profile), *_approval(manifest)):
                report.add(diagnostic)


def _fields(manifest: Manifest, profile: Profile) -> Iterator[Diagnostic]:
    obj = manifest.object
    for field in dropped_fields(obj, profile):
        place = locate(manifest.source, field.keys, of_key=True)
        yield rules.DROPPED_FIELD.finding(
            place,
            kind=obj["kind"],
            name=name_of(obj),
            where=field.where,
            owner=f"OLM {profile.name}",
            why="makes no use of" if field.version else "does not know: the API server drops it",
            effect=field.consequence,
            hint=field.hint,
        )


def _approval(manifest: Manifest) -> Iterator[Diagnostic]:
    """An approval of a Subscription that OLM takes for Automatic although it does not say so (R-CAT-602)."""
    obj = manifest.object
    text = spec_of(obj).get("installPlanApproval") if obj["kind"] == "Subscription" else ""
    if text and text not in _APPROVALS:
        meant = closest(text, _APPROVALS) or "Manual or Automatic"
        place = locate(manifest.source, ("spec", "installPlanApproval"))
        yield rules.NOT_MANUAL.finding(place, name=name_of(obj), text=text, meant=meant)


def strange_kind(manifest: Manifest, workspace: Workspace, profile: Profile, options: Options) -> Diagnostic | None:
    """What is wrong with the kind of a manifest or with its group; None if a cluster may have it."""
    is_olms = gvk_of(manifest.object).group == OLM_GROUP
    found = _about_olm(manifest, profile) if is_olms else _about_other(manifest, options)
    if found is not None:
        api = gvk_of(manifest.object)
        if api.path in options.apis or api.group_kind in _crds(workspace).custom:
            return None
    return found


def name_of(obj: KubernetesObject) -> str:
    """The namespace and name of an object, or its name alone."""
    named = identity(obj)
    return "/".join(filter(None, (named.namespace, named.name)))


def _crds(workspace: Workspace) -> RestMapper:
    """What the CRDs of the workspace say, those of its bundles included."""
    bundles = (*workspace.bundles.values(), *workspace.vendored.values())
    shipped = (obj for bundle in bundles for obj in bundle.objects)
    return rest_mapper((*(manifest.object for manifest in workspace.manifests), *shipped))


def _about_olm(manifest: Manifest, profile: Profile) -> Diagnostic | None:
    obj, source = manifest.object, manifest.source
    api, kind, name = obj["apiVersion"], obj["kind"], name_of(obj)
    owner = f"{api} of OLM {profile.name}"
    served = _served(kind, profile)
    if api in served or _is_proposed(api, kind):
        return None
    if served:
        hint = f"Write {' or '.join(served)}."
        return rules.NO_SUCH_KIND.finding(locate(source, ("apiVersion",)), owner=owner, kind=kind, name=name, hint=hint)
    kinds = [each for group, each in builtin_kinds() if group == OLM_GROUP and _served(each, profile)]
    hint = did_you_mean(closest(kind, kinds)) or f"The kinds are {', '.join(kinds)}."
    if versions_of(GroupKind(OLM_GROUP, kind)):
        hint = "Leave it out, or compile for a later version of OLM (--olm-version)."
    return rules.NO_SUCH_KIND.finding(locate(source, ("kind",)), owner=owner, kind=kind, name=name, hint=hint)


def _is_proposed(api: str, kind: str) -> bool:
    from olmc.load.v2alpha1 import KINDS, V2ALPHA1  # takes its time to import, and hardly anybody gets here

    return api == V2ALPHA1 and kind in KINDS


def _served(kind: str, profile: Profile) -> tuple[str, ...]:
    """The apiVersions in which the profile's OLM serves one of its kinds."""
    newest = {
        "OLMConfig": profile.olmconfig_api,
        "Operator": profile.operator_api,
        "OperatorCondition": profile.operatorcondition,
    }
    versions = (f"{OLM_GROUP}/{version}" for version in versions_of(GroupKind(OLM_GROUP, kind)))
    return tuple(api for api in versions if kind not in newest or api <= newest[kind])


def _about_other(manifest: Manifest, options: Options) -> Diagnostic | None:
    """For a kind of Kubernetes' groups that is nearly one that there is, or a known kind in nearly its group."""
    api = gvk_of(manifest.object)
    group, _, kind = api
    known = builtin_kinds()
    if api.group_kind in known or kind.endswith("List"):
        return None
    homes = [each for each, name in known if name == kind]
    here = [name for each, name in known if each == group]
    if not homes and not here:
        return None
    if is_native(api, options.kube_version) or removal_of(api, options.kube_version) is not None:
        return None
    place, meant = ("kind",), ""
    if homes:
        close = homes[0] if here else closest(group, filter(None, homes), cutoff=_GROUPS_ALIKE, parts=False)
        place, meant = ("apiVersion",), _newest(close, kind) if here or close else ""
    else:
        meant = closest(kind, here, cutoff=_KINDS_ALIKE, parts=False)
    if not meant:
        return None
    name, where = name_of(manifest.object), locate(manifest.source, place)
    return rules.STRANGE_KIND.finding(where, api=manifest.object["apiVersion"], kind=kind, name=name, meant=meant)


def _newest(group: str, kind: str) -> str:
    """The newest apiVersion of a kind."""
    return GVK(group, versions_of(GroupKind(group, kind))[-1], kind).api_version


def misspelt_kinds(kinds: Iterable[str], clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """Those of `kinds`, whatever their case, that nothing can be of, each with the kind that was probably meant.

    A kind that is like no other may be one that just is not here, and is left out.
    """
    served = (kind for _, kind in builtin_kinds())
    known = {kind.lower(): kind for kind in (*served, *_PROPOSED, *_kinds_of(clusters))}
    for kind in kinds:
        meant = closest(kind, known.values(), _ALIKE, parts=False) if kind.lower() not in known else ""
        if meant:
            yield kind, meant


def unknown_approvals(approve: Iterable[str], clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """Those of `approve`, each `namespace/csv`, that no InstallPlan is for, with the name that is like it, or ""."""
    known = [f"{plan.namespace}/{csv}" for cluster in clusters for plan in cluster.plans for csv in plan.csvs]
    for name in approve:
        if name != "all" and name not in known:
            yield name, closest(name, known, _ALIKE)


def report_config(
    root: Path, config: Mapping[str, Any], given: frozenset[str], cluster: Cluster, report: Report
) -> None:
    """Report the kinds and the approvals in a workspace's olmc.yaml, whose `spec` is `config`, that mean nothing there.

    What the command line has set in their place, the names of options in `given`, is left alone.
    """
    lists = {name: config.get(name) or () for name in ("include", "exclude", "approve") if name not in given}
    if not any(lists.values()):
        return
    source = Source(CONFIG_FILE, read_text(root, CONFIG_FILE, Report()) or "")
    for name in ("include", "exclude"):
        for kind, meant in misspelt_kinds(lists.get(name, ()), [cluster]):
            place = locate(source, ("spec", name, lists[name].index(kind)))
            report.add(load_rules.MISSPELT_KIND.finding(place, name=name, kind=kind, meant=meant))
    for plan, meant in unknown_approvals(lists.get("approve", ()), [cluster]):
        place = locate(source, ("spec", "approve", lists["approve"].index(plan)))
        hint = did_you_mean(meant) or "Plans are named by namespace and CSV; olmc resolve lists them."
        report.add(load_rules.NO_SUCH_PLAN.finding(place, plan=plan, hint=hint))


def _kinds_of(clusters: Iterable[Cluster]) -> Iterator[str]:
    """The kinds of a cluster's objects, and those that its CRDs define."""
    for cluster in clusters:
        for key, rendered in cluster.stock.items():
            yield key.kind
            if key.kind == "CustomResourceDefinition":
                names = spec_of(rendered.object).get("names") or {}
                yield str(names.get("kind") or key.kind)
