"""The objects that a ClusterExtension makes of a bundle: support checks, configuration, validators, options and
generators, one after the other (R-V1-PIPE, R-V1-LOAD-6, R-V1-OPT-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.gojson import encode_plain
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, mapping, metadata_of, spec_of, text
from olmc.model.options import Certificates
from olmc.olmv1.deployment_config import NO_CONFIG, DeploymentConfig, read_deployment_config
from olmc.olmv1.feature_gates import FeatureGates, certificate_provider
from olmc.olmv1.generators import Installation, generate
from olmc.olmv1.registry_bundle import (
    ALL_NAMESPACES,
    MULTI_NAMESPACE,
    OWN_NAMESPACE,
    SINGLE_NAMESPACE,
    BundleError,
    RegistryBundle,
)
from olmc.olmv1.validators import go_list, validation_errors

_SUPPORTED_MODES = (ALL_NAMESPACES, SINGLE_NAMESPACE, OWN_NAMESPACE)


class InstallRequest(NamedTuple):
    """What a ClusterExtension asks for: the namespace, the configuration (None: it has none; a text is YAML) and the
    gates of the controller. `certificates` takes the place of the provider that the gates choose."""

    namespace: str
    gates: FeatureGates
    config: Mapping[str, Any] | str | None = None
    certificates: Certificates | None = None

    @property
    def provider(self) -> Certificates:
        return certificate_provider(self.gates) if self.certificates is None else self.certificates


def render_bundle(bundle: RegistryBundle, request: InstallRequest) -> tuple[KubernetesObject, ...]:
    """The objects of a bundle as its ClusterExtension has them rendered, sorted.

    Raises BundleError with what the controller reports.
    """
    _check_support(bundle, request)
    config = _read_config(bundle, request)
    targets = None if config.get("watchNamespace") is None else (text(config["watchNamespace"]),)
    deployments = read_deployment_config(config.get("deploymentConfig"))
    return render_objects(bundle, request.namespace, targets, request.provider, deployments)


def render_objects(
    bundle: RegistryBundle,
    namespace: str,
    targets: Sequence[str] | None = None,
    certificates: Certificates = "none",
    config: DeploymentConfig = NO_CONFIG,
) -> tuple[KubernetesObject, ...]:
    """The objects for the namespaces that are watched, None for as many as the bundle supports; sorted.

    Raises BundleError.
    """
    # All validators run before anything is generated, so that an author sees all errors at once.
    errors = validation_errors(bundle)
    if errors:
        raise BundleError("\n".join(errors))
    if targets is None:
        # Of several modes that a bundle supports the widest is the default; the others need a configuration.
        targets = ("",) if ALL_NAMESPACES in bundle.install_modes else ()
    _check_targets(bundle, namespace, targets)
    objects = generate(bundle, Installation(namespace, tuple(targets), certificates, config))
    return _sorted(objects)


def _sorted(objects: list[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    """Objects by API, kind, namespace and name: upstream has some of them in random order."""
    keys = {_sort_key(obj) for obj in objects}
    if len(keys) == len(objects):
        return tuple(sorted(objects, key=_sort_key))
    # Of two with one name the text decides, which takes its time and hardly any bundle needs.
    return tuple(sorted(objects, key=lambda obj: (_sort_key(obj), encode_plain(obj))))


def _sort_key(obj: KubernetesObject) -> tuple[str, ...]:
    metadata = metadata_of(obj)
    return text(obj.get("apiVersion")), obj["kind"], text(metadata.get("namespace")), text(metadata.get("name"))


def _check_support(bundle: RegistryBundle, request: InstallRequest) -> None:
    """Raise BundleError for a bundle that operator-controller does not install at all (R-V1-LOAD-6)."""
    modes = bundle.install_modes
    problem = hint = ""
    if mapping(spec_of(bundle.csv).get("apiservicedefinitions")).get("owned"):
        problem = "apiServiceDefintions are not supported"  # spelt like this
        hint = "Keep the operator on OLM v0: OLM v1 can't serve an API by an API server of the operator's own."
    elif bundle.webhooks and request.provider == "none":
        problem = "webhookDefinitions are not supported"
        hint = "Somebody has to issue the certificates: choose cert-manager or service-ca, by --certs or the profile."
    elif not request.gates.single_own_namespace_install_support and ALL_NAMESPACES not in modes:
        problem = "bundle does not support AllNamespaces install mode"
        hint = (
            "Open the gate SingleOwnNamespaceInstallSupport, as --olm-version v1-experimental does, and give --watch."
        )
    elif not set(modes) & set(_SUPPORTED_MODES):
        problem = f"bundle must support at least one of {go_list(_SUPPORTED_MODES)} install modes"
        hint = "Keep the operator on OLM v0: a ClusterExtension watches all namespaces or one."
    if problem:
        raise BundleError(f"unsupported bundle: {problem}", hint=hint)


def _read_config(bundle: RegistryBundle, request: InstallRequest) -> Mapping[str, Any]:
    """The configuration, {} where nobody looks at one (R-V1-CFG-2). Raises BundleError."""
    if request.config is None and not request.gates.single_own_namespace_install_support:
        return {}
    from olmc.olmv1.bundle_config import check_config, config_schema, parse_config  # most bundles have none

    value = parse_config(request.config) if isinstance(request.config, str) else request.config
    schema = config_schema(bundle, with_deployment_config=request.gates.deployment_config)
    # A bundle may require watchNamespace, so that no configuration at all is wrong as well.
    check_config({} if request.config is None else value, schema, request.namespace)
    return mapping(value)


def _check_targets(bundle: RegistryBundle, namespace: str, targets: Sequence[str]) -> None:
    """Raise BundleError for namespaces that the bundle can't watch (R-V1-OPT-1)."""
    modes = bundle.install_modes
    several = MULTI_NAMESPACE in modes
    problem = ""
    if not targets:
        problem = f"{'at least' if several else 'exactly'} one target namespace must be specified"
    elif list(targets) == [""]:
        problem = "" if ALL_NAMESPACES in modes else "targeting all namespaces"
    elif namespace in targets and OWN_NAMESPACE not in modes and (len(targets) == 1 or several):
        problem = "targeting own namespace"
    elif list(targets) != [namespace] and (
        "" in targets or (SINGLE_NAMESPACE if len(targets) == 1 else MULTI_NAMESPACE) not in modes
    ):
        problem = f"target namespaces {go_list(targets)}"
    if problem and targets:
        problem = f"supported install modes {go_list(modes)} do not support {problem}"
    if problem:
        raise BundleError(f"invalid option(s): invalid target namespaces {go_list(targets)}: {problem}")
