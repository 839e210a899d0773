"""The findings and the input of validators, and the choices of their caller, in the words of the tools (R-CAT-200,
R-CAT-201)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.compiler.model.operators import Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.selectors import is_dns1035_label, is_dns1123_subdomain
from olmc.k8s.diagnostics import Cause, Location, Place, Report, Rule
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import KubernetesObject, Manifest, mapping, mappings, spec_of, text, texts
from olmc.k8s.semver import VersionError, parse_strict
from olmc.k8s.strconv import SPACES, quoted
from olmc.k8s.yaml import locate
from olmc.k8s.yaml.scalars import replace_surrogates

OPTIONAL = tuple(
    "operatorhub operatorhubv2 standardcapabilities standardcategories community alpha-deprecated-apis good-practices "
    "multiarch bundle-objects".split()
)
"""The names of the optional validators (D12)."""

SUITES: Mapping[str, tuple[str, ...]] = MappingProxyType({"operatorframework": OPTIONAL[:4], "all": OPTIONAL})
"""Names that stand for several optional validators."""


class Platform(NamedTuple):
    """The platform of an image, printed as `os/arch`."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"


class Categories(NamedTuple):
    """Categories that replace the standard ones, and why they could not be read ("" if they could)."""

    names: frozenset[str] = frozenset()
    problem: str = ""


def _not_judged(rule: str) -> str:  # noqa: ARG001
    return ""


class ValidatorSettings(NamedTuple):
    """`optional` are the names of validators to run in addition to the default ones.

    `kubernetes` and `container_tool` are the values of `k8s-version` and `container-tools`, `dockerfile` is the text of
    the file that `index-path` names (None: not given);
    `platforms` are those of images, which olmc can't ask a registry for. `cel_problem` says what is wrong with a CEL
    rule, "" for nothing; the caller passes it in, so that this package does not import CEL.
    `modes_optional`: a CSV without install modes is a descoped operator's.
    """

    optional: frozenset[str] = frozenset()
    kubernetes: str = ""
    dockerfile: str | None = None
    container_tool: str = ""
    categories: Categories | None = None
    platforms: Mapping[str, tuple[Platform, ...]] = MappingProxyType({})
    cel_problem: Callable[[str], str] = _not_judged
    modes_optional: bool = False


def select_validators(names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the optional validators of names and suites, written `NAME`, `name=NAME` or `suite=NAME`, and unknown
    names."""
    selected: set[str] = set()
    unknown = []
    for given in names:
        name = given.removeprefix("name=").removeprefix("suite=").replace("operatorhub/v2", "operatorhubv2")
        members = SUITES.get(name) or ((name,) if name in OPTIONAL else ())
        selected.update(members)
        if not members:
            unknown.append(given)
    return frozenset(selected), tuple(unknown)


Keys = tuple[str | int, ...]


class Finding(NamedTuple):
    """One thing found: the rule, the tool's text, and where it stands; `of_key`: at the key, not at its value.

    `hint` is the way out where the rule's own does not fit, `cause` what the compiler finds as well.
    """

    rule: Rule
    text: str
    where: Place | Location
    of_key: bool = False
    hint: str = ""
    cause: Cause | None = None


def result_text(detail: str, *, field: str = "", value: str | None = None) -> str:
    """The text of a result of the api library without its level; `value` None prints none, "" an empty one."""
    message = f": {detail}" if detail else ""
    if field:
        return f"Field {field}{message}" if value is None else f"Field {field}, Value {value}{message}"
    if value is not None:
        return f"Value {value}{message}"
    # The api library says so where it was given nothing to say (R-CAT-200).
    return message or "ErrMessageMissing"


def about(name: str, detail: str) -> str:
    """The text of a result that names the CSV or the package it is about, and prints an empty value."""
    return result_text(f"({name}) {detail}", value="")


def report_findings(findings: Iterable[Finding], report: Report) -> None:
    """Report the findings where they stand."""
    for finding in findings:
        where = finding.where
        place = where if isinstance(where, Location) else locate(where.source, where.keys, of_key=finding.of_key)
        # Texts in JSON annotations may hold halves of characters, which can't be printed.
        diagnostic = finding.rule.finding(place, related=(), text=replace_surrogates(finding.text))
        report.add(diagnostic._replace(hint=finding.hint or diagnostic.hint).caused_by(finding.cause))


class Container(NamedTuple):
    """A container of a CSV's deployment: its object, that of its pod, and the keys that lead to it."""

    object: Mapping[str, Any]
    pod: Mapping[str, Any]
    deployment: int
    keys: Keys

    @property
    def name(self) -> str:
        return text(self.object.get("name"))

    @property
    def image(self) -> str:
        return text(self.object.get("image"))


class CsvPolicyRule(NamedTuple):
    """A policy rule of a CSV's permissions: the list it stands in ("permissions" …) and its numbers there."""

    object: Mapping[str, Any]
    field: str
    permission: int
    number: int

    @property
    def keys(self) -> Keys:
        return ("spec", "install", "spec", self.field, self.permission, "rules", self.number)

    def names(self, field: str) -> list[str]:
        """The texts of a field of the rule, such as its verbs."""
        return texts(self.object.get(field))


def csv_of(manifest: Manifest) -> Csv:
    """The CSV in a file."""
    return Csv(manifest.object, manifest.source)


def containers(csv: Csv) -> Iterator[Container]:
    """The containers of all deployments, without init containers."""
    for index, deployment in enumerate(csv.deployments):
        keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", "containers")
        for number, container in enumerate(mappings(deployment.pod.get("containers"))):
            yield Container(container, deployment.pod, index, (*keys, number))


def policy_rules(csv: Csv, field: str) -> Iterator[CsvPolicyRule]:
    """The policy rules in "permissions" or "clusterPermissions"."""
    for entry, permission in enumerate(csv.permissions if field == "permissions" else csv.cluster_permissions):
        for index, rule in enumerate(permission.rules):
            yield CsvPolicyRule(rule, field, entry, index)


def subdomain_problems(name: str) -> list[str]:
    """Return the problems of a name as a DNS-1123 subdomain."""
    # Only the messages about labels and keys have moved on to counting bytes.
    return [in_characters(problem) for problem in is_dns1123_subdomain(name)]


def dns1035_label_problems(name: str) -> list[str]:
    """Return the problems of a name as a DNS-1035 label: up to 63 letters, digits and dashes after a letter."""
    return [in_characters(problem) for problem in is_dns1035_label(name)]


def in_characters(problem: str) -> str:
    """A message of today's Kubernetes about too long a name as the validators' version has it."""
    return problem.replace(" bytes", " characters")


def quoted_list(names: Iterable[str]) -> str:
    """Texts as Go's %q prints a list of them: quoted, between brackets, separated by blanks."""
    return "[" + " ".join(quoted(name) for name in names) + "]"


def ascii_list(names: Iterable[str]) -> str:
    """As quoted_list, in ASCII alone (Go's %+q)."""
    return "[" + " ".join(_in_ascii(quoted(name)) for name in names) + "]"


def _in_ascii(printed: str) -> str:
    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return re.sub(r"[^\x00-\x7f]", escape, printed)


# What the operator-sdk takes for good practice (R-CAT-260), and objects that could harm a cluster (R-CAT-270).
#
# Where the tools print a dump of their memory of an object as the value, its kind and name stand here.

_CONVENTIONAL = ("candidate", "stable", "fast")
_ALL = ("*", "[*]")
_RESOURCES = {"customresourcedefinitions", *_ALL}
_VERBS = {"create", "patch", *_ALL}
# The version at the end of a text, read from its end: the longest one begins first, and is found without a search.
_NOISREV = regex(r"(?:[0-9A-Za-z-]++\+)?(?:[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*-)?[0-9]++\.[0-9]++\.[0-9]++", re.ASCII)
_NO_REQUESTS = (
    "It is recommended to ensure the resource request for CPU and Memory. Be aware that for some clusters "
    "configurations it is required to specify requests or limits for those values. Otherwise, the system or quota may "
    "reject Pod creation. More info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/"
)
_MAKES_CRDS = (
    "CSV contains permissions to create CRD. An Operator shouldn't deploy or manage other operators (such patterns "
    "are known as meta or super operators or include CRDs in its Operands). It's the Operator Lifecycle Manager's job "
    "to manage the deployment and lifecycle of operators.  Please, review the design of your solution and if you "
    "should not be using Dependency Resolution from OLM instead. More info: "
    "https://sdk.operatorframework.io/docs/best-practices/common-recommendation/"
)

DEFAULT_CONSTRAINTS = frozenset(
    "privileged restricted anyuid hostaccess hostmount-anyuid hostnetwork node-exporter nonroot".split()
)
_BUDGETS, _CONSTRAINTS = "poddisruptionbudgets", "securitycontextconstraints"
_IMPACT = "which could impact cluster stability"
_Remark = tuple[Rule, Keys, str]


def good_practice_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:  # noqa: ARG001
    """Yield where a bundle departs from good practice."""
    csv = csv_of(bundle.csv)
    if csv.strategy.get("deployments") is None:
        message = result_text("unable to find a deployment to install in the CSV", value=csv.name)
        yield Finding(rules.NO_DEPLOYMENT, message, csv.place("spec", "install", "spec"))
    for keys, detail in (
        *_resource_remarks(csv),
        *_description_remarks(csv),
        *_channel_remarks(bundle),
        *_permission_remarks(csv),
        *_name_remarks(csv.name),
    ):
        yield Finding(rules.GOOD_PRACTICES, result_text(detail, value=csv.name), csv.place(*keys))


def _resource_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for container in containers(csv):
        # Requests for one resource alone are enough to the tools.
        if mapping(container.object.get("resources")).get("requests") is None:
            message = f"unable to find the resource requests for the container: ({container.name}). {_NO_REQUESTS}"
            yield container.keys, message


def _description_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for relation in ("owned", "required"):
        for index, item in enumerate(csv.crd_descriptions(relation)):
            if not text(item.get("description")):
                keys = ("spec", "customresourcedefinitions", relation, index)
                yield keys, f"{relation} CRD {quoted(text(item.get('name')))} has an empty description"


def _channel_remarks(bundle: Bundle) -> Iterator[tuple[Keys, str]]:
    channels = {channel.strip(SPACES) for channel in (*bundle.channels, bundle.default_channel)} - {""}
    odd = sorted(channel for channel in channels if not channel.startswith(_CONVENTIONAL))
    if odd:
        yield (
            (),
            f"channel(s) {ascii_list(odd)} are not following the recommended naming convention: "
            "https://olm.operatorframework.io/docs/best-practices/channel-naming",
        )


def _permission_remarks(csv: Csv) -> Iterator[tuple[Keys, str]]:
    for field in ("permissions", "clusterPermissions"):
        for rule in policy_rules(csv, field):
            if (
                "apiextensions.k8s.io" in rule.names("apiGroups")
                and _RESOURCES & {*rule.names("resources")}
                and _VERBS & {*rule.names("verbs")}
            ):
                # The tools say it once, however many rules do it.
                yield rule.keys, _MAKES_CRDS
                return


def _name_remarks(name: str) -> Iterator[tuple[Keys, str]]:
    keys = ("metadata", "name")
    match = _NOISREV.match(name[::-1])
    try:
        parse_strict(match[0][::-1] if match else "")
    except VersionError:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the versioning convention (MAJOR.MINOR.PATCH e.g 0.0.1): "
            "https://semver.org/",
        )
    if name.count(".v") != 1:
        yield (
            keys,
            f"csv.metadata.Name {name} is not following the recommended naming convention: <operator-name>.v<semver> "
            "e.g. memcached-operator.v0.0.1",
        )


def bundle_object_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the problems of disruption budgets, priority classes and roles of a bundle."""
    for file in bundle.files:
        obj = file.manifest.object
        value = f"{obj.get('kind')} {text(mapping(obj.get('metadata')).get('name'))}"
        for rule, keys, detail in _remarks(obj):
            yield Finding(rule, result_text(detail, value=value), Place(file.manifest.source, keys))


def _remarks(obj: KubernetesObject) -> Iterator[_Remark]:
    match obj.get("kind"):
        case "PodDisruptionBudget":
            yield from _budget_remarks(spec_of(obj))
        case "PriorityClass":
            if obj.get("globalDefault") is True:
                yield rules.BUNDLE_OBJECT, ("globalDefault",), "globalDefault field cannot be set to true"
        case "Role" | "ClusterRole":
            for index, rule in enumerate(mappings(obj.get("rules"))):
                yield from _role_remarks(rule, ("rules", index))


def _budget_remarks(spec: Mapping[str, Any]) -> Iterator[_Remark]:
    most = spec.get("maxUnavailable")
    if most == "0%" or (most == 0 and not isinstance(most, bool)):
        yield rules.BUNDLE_OBJECT, ("spec", "maxUnavailable"), "maxUnavailable field cannot be set to 0 or 0%"
    if spec.get("minAvailable") == "100%":
        yield rules.BUNDLE_OBJECT, ("spec", "minAvailable"), "minAvailable field cannot be set to 100%"


def _role_remarks(rule: Mapping[str, Any], keys: Keys) -> Iterator[_Remark]:
    groups, resources, verbs, names = (
        set(texts(rule.get(field))) for field in ("apiGroups", "resources", "verbs", "resourceNames")
    )
    if "policy" in groups and _BUDGETS in resources and verbs & {"*", "create", "update", "patch"}:
        yield rules.BUNDLE_OBJECT_ADVICE, keys, f"RBAC includes permission to create/update {_BUDGETS}, {_IMPACT}"
    if (
        "security.openshift.io" in groups
        and _CONSTRAINTS in resources
        and verbs & {"*", "delete", "update", "patch"}
        and names & DEFAULT_CONSTRAINTS
    ):
        yield rules.BUNDLE_OBJECT, keys, f"RBAC includes permission to modify default {_CONSTRAINTS}, {_IMPACT}"


# Whether the images of a bundle run where its labels promise (R-CAT-265).
#
# The tools pull every image to see its platforms. olmc pulls nothing: it takes the platforms that it is given, and says
# of every other image that it could not be inspected, as the tools do when a pull fails. How a node affinity differs
# from the platforms of an image is not checked; whether there is one is.

ARCH_LABEL, OS_LABEL = "operatorframework.io/arch.", "operatorframework.io/os."

_TOOLS = ("", "none", "docker", "podman")
_TOOL_CHOICE = "One of: [docker, podman, none] (If not set, the default value is docker)"
_UNKNOWN = Platform("error", "error")
_CAUSE = "olmc reads no registry, and was not given the platforms of this image"
_NOT_THE_MANAGER = "kube-rbac-proxy"


class _Images(NamedTuple):
    """The images of a CSV, each group in order, with what is known of their platforms, and which of them have a node
    affinity."""

    manager: tuple[str, ...]
    others: tuple[str, ...]
    related: tuple[str, ...]
    platforms: Mapping[str, tuple[Platform, ...]]
    with_affinity: frozenset[str]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return self.manager, self.others, self.related


class _Promise(NamedTuple):
    """The labels of a CSV: operating systems and architectures."""

    systems: tuple[str, ...]
    archs: tuple[str, ...]


def multiarch_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """The known and unknown facts about the platforms of a bundle's images."""
    csv = csv_of(bundle.csv)
    tool = settings.container_tool.lower()
    if tool not in _TOOLS:
        message = f"invalid value (container-tools) for ({tool}). {_TOOL_CHOICE}"
        yield Finding(rules.MULTIARCH, result_text(message, value=csv.name), csv.place())
        return
    images = _images(csv, settings.platforms)
    promise = _Promise(_labelled(csv, OS_LABEL), _labelled(csv, ARCH_LABEL))
    for message in _unsupported(images, promise):
        yield Finding(rules.MULTIARCH, result_text(message, value=csv.name), csv.place("metadata", "labels"))
    for message in (*_not_inspected(images), *_missing_labels(images, promise), *_poorer_images(images, promise)):
        yield Finding(rules.MULTIARCH_ADVICE, result_text(message, value=csv.name), csv.place("metadata", "labels"))
    for message in _missing_affinities(images):
        place = csv.place("spec", "install", "spec", "deployments")
        yield Finding(rules.MULTIARCH_ADVICE, result_text(message, value=csv.name), place)


def _labelled(csv: Csv, prefix: str) -> tuple[str, ...]:
    # The tools look for the prefix anywhere in the key, and only for this very value.
    promised = [key for key, value in csv.labels.items() if prefix in key and value == "supported"]
    return tuple(sorted(key.replace(prefix, "") for key in promised))


def _images(csv: Csv, known: Mapping[str, tuple[Platform, ...]]) -> _Images:
    of_csv = list(containers(csv))
    manager = _manager_images(of_csv)
    others = dict.fromkeys(container.image for container in of_csv if container.image not in manager)
    related = dict.fromkeys(text(item.get("image")) for item in mappings(csv.spec.get("relatedImages")))
    platforms = {image: known.get(image, (_UNKNOWN,)) for image in (*manager, *others, *related)}
    tied = frozenset(container.image for container in of_csv if _has_affinity(container.pod))
    return _Images(manager, tuple(sorted(others)), tuple(sorted(related)), platforms, tied)


def _manager_images(containers: Iterable[Container]) -> tuple[str, ...]:
    """The images of containers named manager; of a deployment without one, those of all but the usual proxy."""
    by_deployment: dict[int, list[Container]] = {}
    for container in containers:
        by_deployment.setdefault(container.deployment, []).append(container)
    images: dict[str, None] = {}
    for members in by_deployment.values():
        managers = [member for member in members if member.name == "manager"]
        managers = managers or [member for member in members if member.name != _NOT_THE_MANAGER]
        images.update(dict.fromkeys(member.image for member in managers))
    return tuple(images)


def _has_affinity(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod says on which architectures and systems it may run."""
    node: Any = mapping(pod.get("affinity")).get("nodeAffinity")
    terms = mapping(mapping(node).get("requiredDuringSchedulingIgnoredDuringExecution")).get("nodeSelectorTerms")
    for term in mappings(terms):
        keys = {
            text(expression.get("key"))
            for expression in mappings(term.get("matchExpressions"))
            if expression.get("operator") == "In" and texts(expression.get("values"))
        }
        if {"kubernetes.io/arch", "kubernetes.io/os"} <= keys:
            return True
    return False


def _not_inspected(images: _Images) -> Iterator[str]:
    for group in images.groups:
        for image in sorted(group):
            if _UNKNOWN in images.platforms[image]:
                yield f"unable to inspect the image ({image}) : {_CAUSE}"


def _unsupported(images: _Images, promise: _Promise) -> Iterator[str]:
    """Platforms that the labels promise and some image lacks."""
    # A CSV without labels promises linux on amd64 (R-CAT-265).
    for system in promise.systems or ("linux",):
        for arch in promise.archs or ("amd64",):
            lacking = sorted(
                image
                for group in images.groups
                for image in group
                if not {_UNKNOWN, Platform(system, arch)} & {*images.platforms[image]}
            )
            if lacking:
                yield (
                    "not all images specified are providing the support described via the CSV labels. Note that "
                    f"(OS.architecture): ({system}.{arch}) was not found for the image(s) [{' '.join(lacking)}]"
                )


def _provided(images: _Images, labelled: tuple[str, ...], usual: str, field: str) -> list[str]:
    """Return the platforms that the labels and the manager's images provide together, as far as they are known."""
    known = {getattr(platform, field) for image in images.manager for platform in images.platforms[image]}
    return sorted({*(labelled or (usual,)), *known} - {"", "error"})


def _missing_labels(images: _Images, promise: _Promise) -> Iterator[str]:
    managers = quoted_list(images.manager)
    for prefix, labelled, usual, field, what, more in (
        (ARCH_LABEL, promise.archs, "amd64", "arch", "Arch(s)", "amd64 architectures, you MUST,"),
        (OS_LABEL, promise.systems, "linux", "os", "OS(s)", "linux OS you MUST,"),
    ):
        provided = _provided(images, labelled, usual, field)
        # The tools look for the name in the label, so that arm counts as labelled where arm64 is.
        missing = [name for name in provided if not any(name in label for label in labelled)]
        if missing and provided != [usual]:
            yield (
                f"check if the CSV is missing the label ({prefix}<value>) for the {what}: {quoted_list(missing)}. Be "
                f"aware that your Operator manager image {managers} provides this support. Thus, it is very likely "
                f"that you want to provide it and if you support more than {more}use the required labels for all "
                "which are supported.Otherwise, your solution cannot be listed on the cluster for these architectures"
            )


def _poorer_images(images: _Images, promise: _Promise) -> Iterator[str]:
    """Images that lack what the manager's provide."""
    archs = _provided(images, promise.archs, "amd64", "arch")
    systems = _provided(images, promise.systems, "linux", "os")
    for image in (*images.others, *images.related):
        if _UNKNOWN in images.platforms[image]:
            continue
        for provided, field, what in ((archs, "arch", "Arch(s)"), (systems, "os", "OS(s)")):
            own = {getattr(platform, field) for platform in images.platforms[image]}
            lacking = [name for name in provided if name not in own]
            if lacking:
                yield (
                    f"check if the image {image} should not support {quoted_list(lacking)}. Note that this CSV has "
                    f"labels for this {what} Your manager image {quoted_list(images.manager)} are providing this "
                    "support OR the CSV is configured via labels to support it. Then, please verify if this image "
                    "should not support it"
                )


def _missing_affinities(images: _Images) -> Iterator[str]:
    for image in (*images.manager, *images.others):
        if image in images.with_affinity:
            continue
        platforms = images.platforms[image]
        if _UNKNOWN in platforms:
            yield f"check if the CSV is missing a node affinity configuration for the image: {quoted(image)}. "
        yield (
            "check if the CSV has a missing or invalid node affinity configuration for the image: "
            f"{quoted(image)}. The image data suggests the following platforms are supported: "
            f"{quoted_list(map(str, platforms))}"
        )
