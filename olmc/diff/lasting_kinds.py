"""The kinds of changes that nobody undoes by and by: tokens that never expire, operators that never run."""

from __future__ import annotations

from olmc.diff.change import ADDED, CHANGED, RISK, ChangeGroup, Judgement, change_kind, from_to, shown


@change_kind("TokenSecretAdded", None, ADDED)
def token_secret_added(account: str) -> Judgement:
    """A Secret that only the new side has, and that Kubernetes fills with a token for ever."""
    return RISK, ("new; it gets a token of ServiceAccount ", shown(account), " that never expires")


@change_kind("PodsGone", ChangeGroup.DEPLOYMENTS, CHANGED)
def pods_gone(old: object, new: object) -> Judgement:
    """A workload that has no pods any more."""
    return RISK, ("spec.replicas", *from_to(old, new), "; nothing of it runs any more")
