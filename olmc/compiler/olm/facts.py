"""The facts about OLM's objects that many parts of olmc need, each decided once and as OLM decides it.

Is a CSV a copy, and of which one; what is its package; which CSV or OperatorGroup owns an object; which ServiceAccounts
does an operator use; how does a Deployment mount its certificate; from where and how often does a CatalogSource get its
content. Each function takes untrusted objects, and a value of the wrong type counts as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.compiler.model.catalog import Property
from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv, StrategyDeployment
from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.compiler.olm.naming import COMPONENT_PREFIX, COPIED_FROM, OWNER, OWNER_KIND, OWNER_NAMESPACE, PROPERTIES
from olmc.k8s.api.formats import seconds
from olmc.k8s.gojson import DecodeError, decode, unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    annotations_of,
    labels_of,
    mapping,
    metadata_of,
    name_of,
    namespace_of,
    owner_references,
    status_of,
    text,
    texts,
)

DEFAULT_ACCOUNT = "default"
PACKAGE = "olm.package"
_HOME = "olm.operatorNamespace"

_Object = Mapping[str, Any]


# Catalogs

CATALOG_SOURCE = "CatalogSource"


def serves_catalog(obj: _Object) -> bool:
    """Decide whether OLM made an object to serve a catalog: a CatalogSource owns it (R-CAT-760).

    The ConfigMap of a catalog is from somebody else, though a CatalogSource owns it as well.
    """
    if obj.get("kind") == "ConfigMap":
        return False
    return any(
        ref.get("kind") == CATALOG_SOURCE and text(ref.get("apiVersion")).startswith(f"{OLM_GROUP}/")
        for ref in owner_references(obj)
    )


# Deletion

# Kubernetes, OpenShift and OLM take their own finalizers away.
FAMILIES_AT_WORK = frozenset({"kubernetes.io", "k8s.io", "openshift.io", "coreos.com", "operatorframework.io"})


def family(domain: str) -> str:
    """The part of a domain that the finalizers and the API groups of one project share."""
    return ".".join(domain.split(".")[-2:])


def foreign_finalizers(obj: _Object, group: str, at_work: Collection[str]) -> Iterator[str]:
    """The finalizers of an object that neither its own API nor controllers at work have (observed-83)."""
    finalizers = metadata_of(obj).get("finalizers")
    for name in texts(finalizers) if finalizers else ():
        domain = name.partition("/")[0]
        if "." in domain and family(domain) not in at_work and family(domain) != family(group):
            yield name


def is_terminating(obj: _Object) -> bool:
    """Return whether an object is deleted and waits for finalizers: OLM no longer looks at such a CSV (observed-96)."""
    return not {"deletionTimestamp", "deletionGracePeriodSeconds"}.isdisjoint(metadata_of(obj))


def terminating(obj: _Object) -> dict[str, Any]:
    """An object as the API server marks it that is deleted and waits for finalizers, but for the time."""
    return {**obj, "metadata": {**metadata_of(obj), "deletionGracePeriodSeconds": 0}}


# Copies


def is_copy(csv: _Object) -> bool:
    """Decide whether OLM takes a CSV for a copy of one in another namespace (R-COPY-1)."""
    return status_of(csv).get("reason") == "Copied" or is_copy_by_metadata(csv)


def is_copy_by_metadata(csv: _Object) -> bool:
    """Decide the same of a CSV whose status does not count: of a bundle's, or of one that olmc reconciles."""
    # This includes a CSV that is no copy if its bundle brings this annotation (observed-27).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/vendor/github.com/operator-framework/api/pkg/operators/v1alpha1/clusterserviceversion.go#L121-L141
    home = annotations_of(csv).get(_HOME)
    return (home is not None and text(home) != namespace_of(csv)) or has_copy_label(csv)


def has_copy_label(obj: _Object) -> bool:
    """Decide whether an object carries the label of copies: a CSV, or a Role or binding in a target namespace."""
    return COPIED_FROM in labels_of(obj)


def home_of_copy(obj: _Object) -> str:
    """Return the namespace that an object was copied from: by its label, else by the annotation of a CSV."""
    return text(labels_of(obj).get(COPIED_FROM)) or text(annotations_of(obj).get(_HOME))


def original_of(csv: _Object) -> NamespacedName | None:
    """Return the CSV that a copy was made of, None for a CSV that is no copy, or that does not say of which."""
    home = home_of_copy(csv) if is_copy(csv) else ""
    return NamespacedName(home, name_of(csv)) if home else None


def real_csvs(cluster: Cluster, namespace: str) -> tuple[Csv, ...]:
    """List the CSVs of a namespace that are no copies, by name (R-COPY-1, R-CAT-503)."""
    here = (csv for _, csv in sorted(cluster.csvs.within(namespace).items()))
    return tuple(csv for csv in here if not is_copy_by_metadata(csv.object))


# Packages and versions


def read_properties(annotation: str) -> tuple[Property, ...]:
    """Decode the text of the annotation with a CSV's properties (R-CAT-621). Raises ValueError."""
    decoded = decode("projection.propertiesAnnotation", unmarshal(annotation))
    return tuple(Property(item["type"], item.get("value")) for item in decoded["properties"] or ())


def properties_of(csv: _Object) -> tuple[Property, ...]:
    """Return the properties that OLM wrote into a CSV's annotation, () where they can't be read."""
    try:
        return read_properties(text(annotations_of(csv).get(PROPERTIES)) or "{}")
    except ValueError:
        return ()


def declared_packages(properties: Iterable[Property]) -> Iterator[tuple[str, str]]:
    """Yield package and version of each `olm.package`; OLM skips one that it can't decode, and the last one counts
    (R-CAT-310)."""
    for prop in properties:
        if prop.type == PACKAGE:
            try:
                fields = decode(PACKAGE, prop.value)
            except DecodeError:
                continue
            yield fields["packageName"], fields["version"]


def package_of(csv: _Object) -> str:
    """Return the package of a CSV: as its properties say, else its component label, else its name (R-CAT-310,
    R-COMP-1).

    OLM knows the first alone. The label stems from the Subscription, and is cut where it is long. The name follows
    nothing but a convention, so it comes last.
    """
    declared = [package for package, _ in declared_packages(properties_of(csv))]
    if declared and declared[-1]:
        return declared[-1]
    ending = f".{namespace_of(csv)}"
    for label in sorted(labels_of(csv)):
        if label.startswith(COMPONENT_PREFIX) and label.endswith(ending) and len(ending) > 1:
            return label.removeprefix(COMPONENT_PREFIX).removesuffix(ending)
    return operator_name(name_of(csv))


_SEPARATORS = regex("([-.+])")
_DIGITS = "0123456789"
# Each starts at the first digit of a number, so that a long number is read once.
_SEMVER = regex(r"[.-]v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+.]|\Z)")
_ONE_NUMBER = regex(r"(?:\.v[0-9][^.]*|[.-]v?[0-9]+(?:(?:alpha|beta|rc)[0-9]*)?)\Z")
_VERSION = regex(r"(?<![0-9])[0-9]+\.[0-9]+\.[0-9]+")


def operator_name(csv: str) -> str:
    """Return the name of a CSV without its version, which the convention `<operator>.v<semver>` puts at its end.

    `beacon-1.2.3`, `beacon.v2` and `beacon.1.2` follow it less closely and are `beacon` as well.
    """
    match = _SEMVER.search(csv, 1)
    if match is not None:
        return csv[: match.start()]
    stem = without_version(csv)
    return (stem if stem != csv else _ONE_NUMBER.sub("", csv)) or csv


def version_in(csv: str) -> str:
    """Return the version that the name of a CSV ends with, "" for none; good for a label, not for a decision."""
    match = _SEMVER.search(csv, 1)
    if match is not None:
        return csv[match.start() + 1 :].removeprefix("v")
    match = _VERSION.search(csv)
    return csv[match.start() :] if match else ""


def without_version(name: str) -> str:
    """Return any name without the version at its end: `beacon-v1.2.3-rc1`, `beacon1.2` and `beacon-v3` are `beacon`."""
    # By its parts, as a pattern for it would look for an end from each part over and over again.
    parts = _SEPARATORS.split(name)
    first = len(parts) - 1
    while first and parts[first].isascii() and parts[first].isalnum():
        first -= 2
    # Behind the first two numbers anything may stand.
    for place in range(first, len(parts) - 2, 2):
        number, separator, following = parts[place : place + 3]
        if separator != "+" and _is_number(number[-1:]) and _is_number(following):
            start, before = number.rstrip(_DIGITS).removesuffix("v"), "".join(parts[:place])
            return before + start if start or before[-1:] not in ("-", ".") else before[:-1]
    if len(parts) > 1 and parts[-2] == "-" and parts[-1][:1] == "v" and _is_number(parts[-1][1:]):
        return "".join(parts[:-2])
    return name


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


# Owners


class LabelOwner(NamedTuple):
    """The owner that labels name: its kind ("" where no label has it), and its namespace and name."""

    kind: str
    name: NamespacedName


def label_owner(obj: _Object) -> LabelOwner | None:
    """Return the owner that an object's labels name; OLM asks for its name and its namespace (R-COMP-4)."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/lib/ownerutil/util.go#L82-L98
    labels = labels_of(obj)
    if OWNER not in labels or OWNER_NAMESPACE not in labels:
        return None
    return LabelOwner(text(labels.get(OWNER_KIND)), NamespacedName(text(labels[OWNER_NAMESPACE]), text(labels[OWNER])))


def csv_by_label(obj: _Object) -> NamespacedName | None:
    """Return the CSV that an object's labels name; in a target namespace that is a copy."""
    owner = label_owner(obj)
    # The oldest documents of OLM have no label for the kind, and CSVs alone own anything there.
    return owner.name if owner is not None and owner.kind in ("", CSV_KIND) else None


def original_by_label(obj: _Object) -> NamespacedName | None:
    """Return the CSV that an object's labels name, in the place of a copy the original (R-TEN-2)."""
    owner = csv_by_label(obj)
    home = text(labels_of(obj).get(COPIED_FROM))
    return owner._replace(namespace=home) if owner is not None and home else owner


def group_by_label(obj: _Object) -> NamespacedName | None:
    """Return the OperatorGroup that an object's labels name (R-OG-16)."""
    owner = label_owner(obj)
    return owner.name if owner is not None and owner.kind == "OperatorGroup" else None


PLACES_IN_V1: Mapping[tuple[str, ...], str] = MappingProxyType({
    ("spec", "validation"): "spec.versions[*].schema of each version",
    ("spec", "subresources"): "spec.versions[*].subresources of each version",
    ("spec", "additionalPrinterColumns"): "spec.versions[*].additionalPrinterColumns, with JSONPath written jsonPath",
    ("spec", "version"): "spec.versions[*].name",
    ("spec", "conversion", "webhookClientConfig"): "spec.conversion.webhook.clientConfig",
    ("spec", "conversion", "conversionReviewVersions"): "spec.conversion.webhook.conversionReviewVersions",
})  # fmt: skip
"""The places in apiextensions.k8s.io/v1 of the fields that v1beta1 had elsewhere in a CRD."""


def moves_to_v1(crd: _Object) -> tuple[str, ...]:
    """The fields of a CRD that stand where v1beta1 had them, each with its place in v1: "spec.x to spec.y"."""
    found = []
    for keys, place in PLACES_IN_V1.items():
        above: Any = crd
        for key in keys[:-1]:
            above = mapping(above).get(key)
        if keys[-1] in mapping(above):
            found.append(f"{'.'.join(keys)} to {place}")
    return tuple(found)


EXTENSION = "ClusterExtension"
_EXTENSION_OWNER = "olm.operatorframework.io/owner-"


def is_extension(obj: _Object) -> bool:
    """Return whether an object is a ClusterExtension."""
    return obj.get("kind") == EXTENSION and obj.get("apiVersion") == EXTENSIONS_V1


def owner_of(obj: _Object) -> str:
    """The ClusterExtension that an object is labelled with, "" for none (R-V1-HELM-2)."""
    labels = labels_of(obj)
    return text(labels.get(f"{_EXTENSION_OWNER}name")) if labels.get(f"{_EXTENSION_OWNER}kind") == EXTENSION else ""


def csvs_by_reference(obj: _Object) -> tuple[NamespacedName, ...]:
    """List the CSVs that own an object by reference, which are in its namespace."""
    references = owner_references(obj)
    namespace = namespace_of(obj)
    return tuple(NamespacedName(namespace, text(ref.get("name"))) for ref in references if ref.get("kind") == CSV_KIND)


def owner_csvs(obj: _Object) -> tuple[NamespacedName, ...]:
    """List the CSVs that own an object, by reference and then by its labels (R-COMP-4)."""
    labelled = csv_by_label(obj)
    return (*csvs_by_reference(obj), *((labelled,) if labelled is not None else ()))


# ServiceAccounts


def condition_accounts(csv: Csv) -> list[str]:
    """List the ServiceAccounts that a CSV asks permissions for, as often as it does, `default` for none (R-OC-1)."""
    entries = csv.cluster_permissions + csv.permissions
    # Repeated names end up as repeated subjects, and empty ones do not count (R-OC-1, Q-10).
    return [entry.account for entry in entries if entry.account] or [DEFAULT_ACCOUNT]


def account_of_pod(pod: _Object) -> str:
    """Return the ServiceAccount that a pod runs as; the API server reads the deprecated field where the other is
    empty."""
    return text(pod.get("serviceAccountName")) or text(pod.get("serviceAccount")) or DEFAULT_ACCOUNT


def account_of_deployment(csv: Csv, deployment: StrategyDeployment) -> str:
    """Return the ServiceAccount that a Deployment of a CSV's install strategy runs as."""
    # OLM writes `default` into one that serves, and ignores the deprecated field (R-CERT-4).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/certresources.go#L453-L455
    apis = (*csv.owned_apiservices, *csv.required_apiservices)
    serves = {api.deployment for api in apis} | {webhook.deployment for webhook in csv.webhooks}
    fields = ("serviceAccountName",) if deployment.name in serves else ("serviceAccountName", "serviceAccount")
    return account_of_pod({field: deployment.pod.get(field) for field in fields})


def operator_accounts(csv: Csv) -> tuple[str, ...]:
    """List the ServiceAccounts of an operator: those of its permissions, then those that it runs as."""
    running = (account_of_deployment(csv, deployment) for deployment in csv.deployments)
    return tuple(dict.fromkeys((*csv.service_account_names, *running)))


CERTIFICATE_VOLUMES = (
    ("webhook-cert", "/tmp/k8s-webhook-server/serving-certs", "tls.crt", "tls.key"),
    ("apiservice-cert", "/apiserver.local.config/certificates", "apiserver.crt", "apiserver.key"),
)
"""The volume, where every container mounts it, what the certificate and its key are called there."""


def certificate_volume(name: str, secret: str) -> dict[str, Any]:
    """The volume of that name with the certificate that a Secret has."""
    certificate, key = next(files for known, _, *files in CERTIFICATE_VOLUMES if known == name)
    items = [{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}]
    return {"name": name, "secret": {"secretName": secret, "items": items}}


FROM_CONFIGMAP = ("configmap", "internal")
_DEFAULT_POLL = 15 * 60.0


def spec_problem(spec: Mapping[str, Any]) -> str:
    """Return the text that OLM writes into the status of a CatalogSource with this spec, "" for a valid one
    (R-CAT-161)."""
    kind = spec.get("sourceType")
    if kind in FROM_CONFIGMAP:
        return "" if spec.get("configMap") else f"configmap name unset: must be set for sourcetype: {kind}"
    if kind == "grpc":
        given = spec.get("image") or spec.get("address")
        return "" if given else "image and address unset: at least one must be set for sourcetype: grpc"
    # Without the field the API server takes no CatalogSource, so OLM never sees it.
    return f"unknown sourcetype: {kind}" if kind is not None else ""


def is_stated_to_run(source: Mapping[str, Any], running: Collection[str]) -> bool:
    """Return whether the Pod of a CatalogSource runs: by `running`, which has `namespace/name` or `all`, or by its
    status (R-CAT-166)."""
    state = mapping(mapping(source.get("status")).get("connectionState")).get("lastObservedState")
    return state == "READY" or "all" in running or f"{namespace_of(source)}/{name_of(source)}" in running


class PollInterval(NamedTuple):
    """The interval in seconds at which OLM looks for a new image of a catalog, and the reason why it can't read the
    field."""

    seconds: float
    problem: str = ""


def poll_interval(spec: Mapping[str, Any]) -> PollInterval | None:
    """The interval in the spec of a CatalogSource, None without one (R-CAT-160)."""
    written = text(mapping(mapping(spec.get("updateStrategy")).get("registryPoll")).get("interval"))
    if not written:
        return None
    try:
        return PollInterval(float(seconds(written)))
    except ValueError as error:
        return PollInterval(_DEFAULT_POLL, str(error))


MAX_BUNDLE_SIZE = 1 << 20
"""The largest size in bytes of the files of a bundle together, where OLM unpacks them (R-CAT-614)."""


def most_compressed(size: int) -> int:
    """More than `compressed_size` can come to: gzip adds some bytes a block and base 64 a third."""
    return (size + size // 1000 + 64) * 4 // 3 + 4


def compressed_size(data: bytes, level: int = 9) -> int:
    """The length of the gzipped data in base 64; Go's gzip may come out a little different.

    OLM uses level 9. Level 1 takes a seventh of the time. Its output is larger, or smaller by a few bytes.
    """
    import gzip  # few bundles are near the limit

    return -(-len(gzip.compress(data, level, mtime=0)) // 3) * 4
