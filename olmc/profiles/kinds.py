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
