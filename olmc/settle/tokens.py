"""How OLM gets to act as the ServiceAccount of an OperatorGroup: by a token from a Secret, or one that it requests."""

from __future__ import annotations

from collections.abc import Mapping

from olmc.model.kube_version import minor_of
from olmc.model.objects import Identity, Rendered, annotations_of
from olmc.model.operators import Group
from olmc.model.profile import Profile

_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"
_WITHOUT_SECRETS = 24
"""The minor version of Kubernetes since which a new ServiceAccount gets no Secret any more."""


def missing_token(group: Group, stock: Mapping[Identity, Rendered], kube_version: str, profile: Profile) -> str:
    """Why OLM can't act as the account of a group, in its words; "" if it can, or need not."""
    account = group.account
    if not account or profile.account_token != "secret" or minor_of(kube_version) < _WITHOUT_SECRETS:
        return ""
    if any(_is_token(found, group.namespace, account) for found in stock.values()):
        return ""
    return f"the service account does not have any API secret sa={group.namespace}/{account}"


def _is_token(found: Rendered, namespace: str, account: str) -> bool:
    """Whether an object is a Secret that Kubernetes fills with a token of an account."""
    obj = found.object
    if obj["kind"] != "Secret" or obj.get("type") != _TOKEN or obj["metadata"].get("namespace") != namespace:
        return False
    return annotations_of(obj).get(_ACCOUNT) == account
