"""The formats of one OLM version: what its names, labels, hashes and objects look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Profile(NamedTuple):
    """An OLM version, and the value of every feature of `olmc/profiles/formats.json` in it, in the order of that file.

    `name` is how the version is called: `0.46.0`, `ocp-4.14`, `docs`; `gaps` says what olmc can't reproduce, by the
    feature or, of what is none, a name of its own. Any other field bears the id of its feature, in lower case and with
    underscores; what the values mean stands beside them. Texts with braces are format strings.
    """

    name: str
    gaps: Mapping[str, str]
    og_clusterrole_name: Mapping[str, str]
    og_clusterrole_labels: Mapping[str, str]
    og_clusterrole_aggregation: Mapping[str, str]
    namespace_og_label: str
    api_clusterrole_name: Mapping[str, str]
    api_clusterrole_verbs: Mapping[str, Sequence[str]]
    api_clusterrole_labels: Mapping[str, str]
    api_clusterrole_ownerrefs: str
    api_clusterrole_when: str
    rbac_name_algorithm: str
    rbac_name_base: Mapping[str, str]
    rbac_name_hashinput: str
    rbac_owner_cluster: Mapping[str, Any]
    rbac_labels_extra: Sequence[str]
    rbac_sa_default: bool
    rbac_singleton: Mapping[str, Any]
    rbac_tenant: Mapping[str, Any]
    deploy_label_spec_hash: str
    deploy_label_managed: bool
    deploy_label_custom: bool
    deploy_annotations_precedence: str
    deploy_revisionhistorylimit: int | None
    deploy_env_operator_condition_name: bool
    deploy_env_proxy: str
    deploy_env_merge: str
    deploy_config_applied: Sequence[str]
    deploy_template_olmcahash: str
    cert_naming: Mapping[str, str]
    cert_service_port: str
    cert_apiservice_port: bool
    cert_secret_keys: Sequence[str]
    cert_volumes: Mapping[str, Any]
    cert_sans: Sequence[str]
    cert_labels: Mapping[str, Sequence[str]]
    webhook_admission: str
    webhook_labels: Mapping[str, str]
    webhook_conversion: str
    csv_label_olm_api: str
    csv_label_component: str
    csv_label_managed: bool
    owner_labels: Sequence[str]
    csv_annotations_og: Mapping[str, str]
    og_annotation_providedapis: str
    csv_annotation_properties: str
    csv_finalizer: str
    csv_cleanup: bool
    crd_annotation_alongside: str
    copied_metadata: Mapping[str, Any]
    copied_status: Mapping[str, str]
    copied_disable: str
    operatorcondition: str
    operatorcondition_role: Mapping[str, Any]
    operatorgroup_api: Mapping[str, Any]
    operator_api: str
    olmconfig_api: str
    installplan_bundlelookups: Mapping[str, Any]
    installplan_catalogsources: str
    subscription_unpacking: Sequence[str]
    subscription_config: Sequence[str] | None
    account_token: str
    bundle_kinds: Sequence[str]
    csv_reasons: Sequence[str]
    og_intersection_scope: str
    resolver_engine: str
    resolver_constraints: Sequence[str]
    resolver_failforward: bool
