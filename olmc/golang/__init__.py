"""What OLM and the API server make of values beyond JSON: hashes, names, defaults, and which names are valid."""

from olmc.golang.hashes import (
    binding_hash,
    content_hash,
    content_hash_rules,
    deep_hash,
    deployment_spec_hash,
    fnv64a_hex,
    gvk_hash,
    h62,
)
from olmc.golang.names import (
    binding_name,
    cluster_role_name,
    component_label_key,
    operator_group_role_name,
    random_suffix,
    rbac_name,
    role_name,
    stable_group_uid,
    uid_for,
)
from olmc.golang.schema import default_csv, list_map_conflicts
from olmc.golang.validation import (
    is_dns1035_label,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_label_value,
    is_qualified_name,
)

__all__ = [
    "binding_hash",
    "binding_name",
    "cluster_role_name",
    "component_label_key",
    "content_hash",
    "content_hash_rules",
    "deep_hash",
    "default_csv",
    "deployment_spec_hash",
    "fnv64a_hex",
    "gvk_hash",
    "h62",
    "is_dns1035_label",
    "is_dns1123_label",
    "is_dns1123_subdomain",
    "is_label_value",
    "is_qualified_name",
    "list_map_conflicts",
    "operator_group_role_name",
    "random_suffix",
    "rbac_name",
    "role_name",
    "stable_group_uid",
    "uid_for",
]
