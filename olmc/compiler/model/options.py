"""The options of a compilation that a user can choose, and the profile of the OLM version that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    from olmc.compiler.model.workspace import ClusterState
    from olmc.k8s.objects import APIResource


Purpose = Literal["review", "apply"]
Certificates = Literal["none", "cert-manager", "service-ca"]
ComponentLabel = Literal["adopted", "seed"]
IndexingMode = Literal["replaces", "semver", "semver-skippatch"]
Tool = Literal["", "argocd", "flux"]
Phase = Literal[0, 1, 2]


class Proxy(NamedTuple):
    """The settings of a cluster-wide proxy (R-DEP-7); "" where there is none."""

    http: str = ""
    https: str = ""
    no: str = ""


class ImageContent(NamedTuple):
    """The known facts about an image that is not pulled: its digest, and the CSV name of the bundle in it.

    Both are "" if they are unknown.
    """

    image: str
    digest: str = ""
    bundle: str = ""


class Indexing(NamedTuple):
    """The registry's mode of `index add` for bundles that have no update graph (R-CAT-144).

    `mode`: edges from the fields replaces and skips of their CSVs, or from the order of their versions, in which older
    patches may be skipped. `alpha`: whether a CSV may have the annotation olm.substitutesFor (R-CAT-345).
    """

    mode: IndexingMode = "replaces"
    alpha: bool = False


DEFAULT_INDEXING = Indexing()


class Narrowing(NamedTuple):
    """The content that a workspace leaves out by its own settings: files by patterns as in `.olmcignore`, kinds of
    objects, and objects that are not for `purpose` (None: it is not set)."""

    ignored: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    purpose: Purpose | None = None


class PlatformGroup(NamedTuple):
    """An OperatorGroup for all namespaces that a platform brings, in a namespace that exists by then as well."""

    namespace: str
    name: str


class Options(NamedTuple):
    """The options of `compile`; the defaults are those of the command line.

    `purpose`: everything that OLM leaves in the cluster (review), or what runs without OLM (apply).
    `certificates`: who issues serving certificates in apply output. `tool`: what applies it ("" for any). `phase`: the
    part of it that is wanted, 0 for all: what needs an API that the output itself brings is phase 2.
    `resolve_timeout`: how long a resolution may take, as `ResolveRequest.timeout` has it.
    `show_secrets`: whether review output has the values of Secrets.
    `copied_csvs`: whether CSVs are copied to their target namespaces, or have surrogates there (R-INST-11).
    `include`, `exclude`: kinds to keep or to leave out.
    `kube_version`: the version of the cluster, with its leading `v`.
    `olm_version`: the OLM that runs in it: a release, OpenShift's (`ocp-4.14`), or `docs` (docs/olm-versions.md).
    `global_catalog_namespace`: the namespace whose catalogs all namespaces see (R-CAT-502).
    `running_catalogs`: catalogs in ConfigMaps whose Pods run: `namespace/name`, or `all` (R-CAT-166).
    `legacy_precedence`: upgrades may come from other catalogs where the Subscription's own has none (D17).
    `legacy_crd_rules`: which updates of CRDs are refused is decided as OLM's documents have it (D29).
    None stands for what the OLM version does: of all, `docs` alone follows the documents.
    `protected_copied_csv_namespaces`: where copies stay although OLMConfig disables them (R-COPY-5).
    `apis`: kinds that the cluster serves beyond the built-in ones and the workspace's CRDs, as `group/version/Kind`.
    `api_resources`: more of these, of which plural and scope are known: those of an OpenShift release.
    `namespaces`: namespaces that exist in addition to those of the workspace.
    `global_groups`: OperatorGroups for all namespaces that the cluster has already, as those of OpenShift.
    `default_namespace`: the namespace of manifests that name none, "" to leave them as they are.
    `approve`: plans of Manual Subscriptions that count as approved: `namespace/csv`, or `all` (R-CAT-607).
    `install_namespace`, `watch`: for a bare bundle, where it is installed and which namespaces it watches
    (None: the widest scope that it supports; an empty tuple: all namespaces).

    The proposed APIs (all off unless asked for):
    `descoped`: operators without install modes, or with AllNamespaces alone, count as descoped.
    `shared_apis`: APIs, as `plural.group`, that several descoped operators may provide.
    `operators_and_installs`: the kinds Operator and Install of the proposal count.
    `user`, `user_groups`: who creates the Operators and approves the Installs ("": no user is checked).
    `approve_installs`: every Install counts as approved, by `user` or, without one, by somebody who may do everything.
    `approved_installs`: Installs that count as approved likewise: `OPERATOR` (all of its Installs), `OPERATOR/INSTALL`,
    `INSTALL` for one that a user wrote, or `all`.
    `migrate_subscriptions`: Subscriptions become Operators.
    `component_label`: the label key of components, as OLM adopted it or as the proposal writes it.
    `olm_namespace`: where OLM runs. `images`: what bundle images hold.

    The state to begin with (None: a cluster with OLM alone):
    `state`: what the cluster holds before the workspace is applied. `prune`: whether what was applied before, and the
    workspace does not have any more, is deleted then. `delete`: what a person deletes by hand once that is done, as
    `KIND/NAMESPACE/NAME` or `KIND/NAME`.
    """

    purpose: Purpose = "review"
    certificates: Certificates = "none"
    tool: Tool = ""
    phase: Phase = 0
    show_secrets: bool = False
    resolve_timeout: int = 0
    copied_csvs: bool = True
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    # The API server of the recorded clusters (docs/spec/observed.md), so that defaults are what was compared.
    kube_version: str = "v1.36.2"
    olm_version: str = "0.46.0"
    global_catalog_namespace: str = "olm"
    running_catalogs: tuple[str, ...] = ()
    legacy_precedence: bool | None = None
    legacy_crd_rules: bool | None = None
    protected_copied_csv_namespaces: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    api_resources: tuple[APIResource, ...] = ()
    namespaces: tuple[str, ...] = ()
    global_groups: tuple[PlatformGroup, ...] = ()
    default_namespace: str = ""
    proxy: Proxy = Proxy()
    approve: tuple[str, ...] = ()
    install_namespace: str = ""
    # None and () differ: the option is unset, or it is set to all namespaces.
    watch: tuple[str, ...] | None = None
    descoped: bool = False
    shared_apis: tuple[str, ...] = ()
    operators_and_installs: bool = False
    user: str = ""
    user_groups: tuple[str, ...] = ()
    approve_installs: bool = False
    approved_installs: tuple[str, ...] = ()
    migrate_subscriptions: bool = False
    component_label: ComponentLabel = "adopted"
    olm_namespace: str = "olm"
    images: tuple[ImageContent, ...] = ()
    state: ClusterState | None = None
    prune: bool = True
    delete: tuple[str, ...] = ()


if TYPE_CHECKING:
    from typing import TypedDict

    class OptionFields(TypedDict, total=False):
        """The fields of Options as keyword arguments, for type checkers."""

        purpose: Purpose
        certificates: Certificates
        tool: Tool
        phase: Phase
        show_secrets: bool
        resolve_timeout: int
        copied_csvs: bool
        include: tuple[str, ...]
        exclude: tuple[str, ...]
        kube_version: str
        olm_version: str
        global_catalog_namespace: str
        running_catalogs: tuple[str, ...]
        legacy_precedence: bool | None
        legacy_crd_rules: bool | None
        protected_copied_csv_namespaces: tuple[str, ...]
        apis: tuple[str, ...]
        api_resources: tuple[APIResource, ...]
        namespaces: tuple[str, ...]
        global_groups: tuple[PlatformGroup, ...]
        default_namespace: str
        proxy: Proxy
        approve: tuple[str, ...]
        install_namespace: str
        watch: tuple[str, ...] | None
        descoped: bool
        shared_apis: tuple[str, ...]
        operators_and_installs: bool
        user: str
        user_groups: tuple[str, ...]
        approve_installs: bool
        approved_installs: tuple[str, ...]
        migrate_subscriptions: bool
        component_label: ComponentLabel
        olm_namespace: str
        images: tuple[ImageContent, ...]
        state: ClusterState | None
        prune: bool
        delete: tuple[str, ...]


class Profile(NamedTuple):
    """An OLM version, and the value of every feature of `olmc/compiler/olm/profiles/formats.json` in it, in its order.

    `name` is how the version is called: `0.46.0`, `ocp-4.14`, `v1`, `docs`; `gaps` says what olmc can't reproduce, by
    the feature or, of what is none, a name of its own. `bundles_by` is the kind of object by which a bundle by itself
    is installed, `feature_gates` are those of operator-controller that are open (R-V1-FG-1). `controller` is the tag of
    that operator-controller, or `main` for the commit that the rules were read from; `controller_is_admin`: it writes
    with rights of its own, which are those of cluster-admin. Any other field bears the id of its feature, in lower
    case and with underscores; what the values mean stands beside them. Texts with braces are format strings.
    """

    name: str
    gaps: Mapping[str, str]
    bundles_by: str
    feature_gates: Sequence[str]
    controller: str
    controller_is_admin: bool
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
    catalog_objects: Mapping[str, Any]
    installplan_bundlelookups: Mapping[str, Any]
    installplan_catalogsources: str
    subscription_unpacking: Sequence[str]
    subscription_unpackfailed: Mapping[str, Any]
    subscription_config: Sequence[str] | None
    account_token: str
    bundle_kinds: Sequence[str]
    bundle_unpacking: str
    csv_reasons: Sequence[str]
    csv_replaces_itself: str
    og_intersection_scope: str
    resolver_engine: str
    resolver_constraints: Sequence[str]
    resolver_failforward: bool
    resolver_precedence: str
    resolver_catalog_refused: str
    resolver_catalog_error: str
    crd_update: str


def upgrades_from_any_catalog(options: Options, profile: Profile) -> bool:
    """Return whether an upgrade may come from another catalog where the Subscription's own has none (D17)."""
    chosen = options.legacy_precedence
    return profile.resolver_precedence == "any catalog" if chosen is None else chosen


def asks_owners_of_crds(options: Options, profile: Profile) -> bool:
    """Return whether which updates of CRDs are refused depends on how many CSVs own them (D29)."""
    chosen = options.legacy_crd_rules
    return profile.crd_update == "owners" if chosen is None else chosen
