"""Whether the images of a bundle run where its labels promise (R-CAT-265).

The tools pull every image to see its platforms. olmc pulls nothing: it takes the platforms that it is given, and says
of every other image that it could not be inspected, as the tools do when a pull fails. How a node affinity differs from
the platforms of an image is not checked; whether there is one is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.check.validators.findings import (
    Container,
    Finding,
    Platform,
    ValidatorSettings,
    containers,
    csv_of,
    quoted_list,
    result_text,
)
from olmc.diagnostics.rules import validation as rules
from olmc.lean import NamedTuple
from olmc.model.objects import mapping, mappings, text, texts
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle
from olmc.strconv import quoted

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
    """What the labels of a CSV say: operating systems and architectures."""

    systems: tuple[str, ...]
    archs: tuple[str, ...]


def multiarch_findings(bundle: Bundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """What is known, and not known, about the platforms of a bundle's images."""
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
    """Whether a pod says on which architectures and systems it may run."""
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
    """What the labels and the manager's images provide together, as far as it is known."""
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
