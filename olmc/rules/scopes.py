"""Rules about namespaces: which objects have none, and which name none."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import Rule

IGNORED_NAMESPACE = Rule(
    "OLMC170",
    Severity.WARNING,
    "A namespace that does not count",
    "{kind} {name} names namespace {namespace}, which the API server clears: its kind has no namespaces",
    "Remove metadata.namespace; if it is to count in one namespace, choose a kind that has namespaces, such as Role or "
    "RoleBinding.",
    "The kind decides whether an object has a namespace. The API server takes the namespace off an object of a kind "
    "that has none, and does so without a word: a ClusterRoleBinding with a namespace grants its role in the whole "
    "cluster. olmc does the same in everything that it says and writes.",
)
UNPLACED = Rule(
    "OLMC171",
    Severity.WARNING,
    "A namespaced object without a namespace",
    "{kind} {name} names no namespace, so it ends up wherever it is applied to",
    "Add metadata.namespace, or compile what `kustomize build` prints if a kustomization.yaml sets it.",
    "kubectl puts such an object into the namespace of its context, Argo CD into that of the Application, kustomize "
    "into what a kustomization says. olmc knows none of them and leaves the object as it is; permissions that it "
    "grants are shown in namespace default.",
)
