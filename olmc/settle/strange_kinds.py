"""Kinds of manifests that no cluster has, or that are named so much like another one that they are hardly meant."""

from __future__ import annotations

from olmc.kube.builtin_kinds import builtin_kinds, is_native, removal_of, versions_of
from olmc.kube.restmapper import RestMapper, rest_mapper
from olmc.model.diagnostic import Diagnostic
from olmc.model.gvk import GVK, GroupKind, gvk_of
from olmc.model.objects import Identity, KubernetesObject, identity
from olmc.model.operators import OLM_GROUP
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.suggestions import closest, did_you_mean
from olmc.model.workspace import Manifest, Workspace
from olmc.rules import misspelt as rules
from olmc.yaml import locate

_GROUPS_ALIKE = 0.85
# MutatingAdmissionPolicyBinding and ValidatingAdmissionPolicyBinding are 0.87 alike, and an API server may have both.
_KINDS_ALIKE = 0.88


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
    named: Identity = identity(obj)
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
