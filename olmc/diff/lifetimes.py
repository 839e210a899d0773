"""What decides how long an object stays: its owners, and the annotations by which tools make and delete it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.diff import lasting_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.deltas import ListItem, deltas, path_text
from olmc.diff.noise import Makers
from olmc.model.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    gvk_of,
    object_key,
    owner_references,
    text,
)
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import EXTENSIONS_V1

_HOOKS = ("helm.sh/hook", "helm.sh/resource-policy")
_OF_OLM = frozenset((OLM_GROUP, EXTENSIONS_V1.partition("/")[0]))
# What OLM makes the owner of the roles of an API; a CRD in lower case (R-CR-2).
_APIS = frozenset((CRD_KIND.lower(), "apiservice"))

_Owners = Mapping[tuple[str, str], Mapping[str, Any]]


def lifetime_changes(
    known: ObjectKey, old: KubernetesObject, new: KubernetesObject, before: Makers, after: Makers
) -> Iterator[DiffChange]:
    """How the owners and the hooks of an object and its predecessor differ; `before` and `after` make the objects of
    their sides."""
    was, now = _owners(old, before), _owners(new, after)
    for owner in dict.fromkeys((*was, *now)):
        first, second = was.get(owner), now.get(owner)
        if first is not None and second is not None and "" in (text(first.get("uid")), text(second.get("uid"))):
            continue  # a uid is known in clusters alone
        for delta in deltas(first, second, ("metadata", "ownerReferences", ListItem(" ".join(owner)))):
            yield kinds.owner_changed(known, path_text(delta.path), delta.old, delta.new)
    hooks = [
        {key: value for key, value in annotations_of(obj).items() if str(key).startswith(_HOOKS)} for obj in (old, new)
    ]
    for delta in deltas(hooks[0], hooks[1], ("metadata", "annotations")):
        yield kinds.hook_changed(known, path_text(delta.path), delta.old, delta.new)


def _owners(obj: KubernetesObject, makers: Makers) -> _Owners:
    """The owners of an object but for those that OLM gives it, by kind and name."""
    known = object_key(obj)
    return {
        (text(reference.get("kind")), text(reference.get("name"))): {
            key: value for key, value in reference.items() if key in ("apiVersion", "kind", "name", "uid")
        }
        for reference in owner_references(obj)
        if not _is_olms(known, reference, makers)
    }


def _is_olms(known: ObjectKey, reference: Mapping[str, Any], makers: Makers) -> bool:
    """Whether OLM makes something the owner of an object; of a manifest that owner has to be there."""
    group, kind = gvk_of(reference).group, text(reference.get("kind"))
    is_api = known.kind == "ClusterRole" and kind.lower() in _APIS
    if group not in _OF_OLM and not is_api:
        return False
    owner = ObjectKey(group, CRD_KIND if group == APIEXTENSIONS else kind, known.namespace, text(reference.get("name")))
    there = (owner, owner._replace(namespace=""))
    return known not in makers.manifests or any(key in makers.objects for key in there)
