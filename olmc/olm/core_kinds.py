"""The kinds that bundles may hold, as the catalog operator sees them (R-CAT-107)."""

from __future__ import annotations

# Decided by kind alone, whatever the API group says: these become the core object of that kind.
CORE_KINDS = {
    "Secret": "v1",
    "ConfigMap": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
}

# Written as they are, and decoded by the API server into types of its own: the names of these in olmc.golang.
TYPED_KINDS = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): "CustomResourceDefinition",
    ("networking.k8s.io/v1", "NetworkPolicy"): "NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("policy/v1beta1", "PodDisruptionBudget"): "PodDisruptionBudget",
    ("scheduling.k8s.io/v1", "PriorityClass"): "PriorityClass",
}
