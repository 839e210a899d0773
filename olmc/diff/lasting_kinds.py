"""The kinds of changes by which something stays or goes for good: tokens that never expire, operators that never run,
objects that are deleted with others."""

from __future__ import annotations

from olmc.diff.change import ABSENT, ADDED, CHANGE, CHANGED, RISK, ChangeGroup, Judgement, change_kind, from_to, shown


@change_kind("TokenSecretAdded", None, ADDED)
def token_secret_added(account: str) -> Judgement:
    """A Secret that only the new side has, and that Kubernetes fills with a token for ever."""
    return RISK, ("new; it gets a token of ServiceAccount ", shown(account), " that never expires")


@change_kind("PodsGone", ChangeGroup.DEPLOYMENTS, CHANGED)
def pods_gone(old: object, new: object) -> Judgement:
    """A workload that has no pods any more."""
    return RISK, ("spec.replicas", *from_to(old, new), "; nothing of it runs any more")


@change_kind("OwnerChanged", None)
def owner_changed(path: str, old: object, new: object) -> Judgement:
    """An owner of an object that OLM does not make: with the last owner that is there the object goes."""
    effect = "" if new is ABSENT else "; Kubernetes deletes the object once no such owner is there"
    return CHANGE if new is ABSENT else RISK, (shown(path), *from_to(old, new), effect)


@change_kind("HookChanged", None)
def hook_changed(path: str, old: object, new: object) -> Judgement:
    """Whether Helm, or Argo CD in its place, takes an object for a hook or keeps it, by its annotations."""
    effect = "; what is a hook Helm and Argo CD make by itself, and may delete again" if new is not ABSENT else ""
    is_hook = "helm.sh/hook" in path and new is not ABSENT
    return RISK if is_hook else CHANGE, (shown(path), *from_to(old, new), effect * is_hook)
