"""Bundles as those see them who publish them: releases of OpenShift, names, the graph, images, served versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.operators import Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.profiles.data import openshift
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.restmapper import Crd, CrdVersion
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.objects import CRD_KIND, is_floating, mapping, mappings, name_of, spec_of, text
from olmc.k8s.semver import Version, tolerant_or_none
from olmc.k8s.yaml import at
from olmc.review.check.lints import LintSubject
from olmc.review.check.validators.community import LABEL

_SKIP_RANGE = "olm.skipRange"
_MOST = 3
"""So many fields or versions are named; of the rest the number."""


def _bundles(subject: LintSubject) -> Iterator[tuple[Bundle, Csv]]:
    for _, bundle in sorted(subject.workspace.bundles.items()):
        yield bundle, Csv(bundle.csv.object)


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def releases_of(label: str) -> tuple[str, ...]:
    """The releases of OpenShift, as far as olmc knows them, that a bundle with a label com.redhat.openshift.versions is
    for, the oldest first: `v4.8` is that and all later ones, `=v4.8` that one, `v4.8-v4.10` a range; of a list the
    oldest one and all later ones. () for what can't be read, all for no label.
    """
    known = {_minor(release): release for release in openshift()["kubernetes"]}
    wanted = label.strip()
    if not wanted:
        return tuple(known[minor] for minor in sorted(known))
    first, dash, last = wanted.removeprefix("=").partition("-")
    lows = [_minor(each) for each in first.split(",")]
    low = min(lows, default=-1)
    high = _minor(last) if dash else low if wanted.startswith("=") else max(known, default=0)
    if min(low, high) < 0:
        return ()
    return tuple(known[minor] for minor in sorted(known) if low <= minor <= high)


def _minor(release: str) -> int:
    """The minor version of a release of OpenShift 4, -1 for what is none."""
    version = tolerant_or_none(release.strip().removeprefix("v"))
    return version.minor if version is not None and version.major == 4 else -1


def openshift_releases(subject: LintSubject) -> Iterator[Diagnostic]:
    """Releases of OpenShift with a Kubernetes older than minKubeVersion, or without the version that is replaced."""
    everything = subject.whole or subject.workspace
    for bundle, csv in _bundles(subject):
        label = bundle.annotations.get(LABEL, "")
        least = tolerant_or_none(csv.min_kube_version) if csv.min_kube_version else None
        if label and least is not None:
            old = [release for release in releases_of(label) if _kubernetes(release) < _by_minor(least)]
            later = [release for release in openshift()["kubernetes"] if _kubernetes(release) >= _by_minor(least)]
            if old and later:
                place = at(bundle.csv.source, "spec", "minKubeVersion")
                yield rules.TOO_OLD_OPENSHIFT.finding(
                    place, csv=bundle.name, releases=_listed(old), least=csv.min_kube_version, first=f"v{later[0]}"
                )
        replaced = everything.bundles.get(csv.replaces)
        if replaced is not None:
            theirs = releases_of(replaced.annotations.get(LABEL, ""))
            alone = [release for release in releases_of(label) if release not in theirs]
            if alone:
                place = at(bundle.csv.source, "spec", "replaces")
                yield rules.REPLACED_IS_MISSING.finding(
                    place, csv=bundle.name, releases=_listed(alone), replaced=replaced.name
                )


def _kubernetes(release: str) -> tuple[int, int]:
    version = tolerant_or_none(openshift()["kubernetes"][release].removeprefix("v"))
    return _by_minor(version) if version is not None else (0, 0)


def _by_minor(version: Version) -> tuple[int, int]:
    # Which patch of Kubernetes a release of OpenShift has changes with its own patches.
    return version.major, version.minor


def names(subject: LintSubject) -> Iterator[Diagnostic]:
    """CSVs whose names don't begin with their packages."""
    for bundle, csv in _bundles(subject):
        if bundle.package and not bundle.name.startswith(f"{bundle.package}."):
            place = at(bundle.csv.source, "metadata", "name")
            yield rules.OTHER_NAME.finding(place, csv=bundle.name, package=bundle.package, version=csv.version)


def pruned_graphs(subject: LintSubject) -> Iterator[Diagnostic]:
    """Heads that skip a range and replace nothing, while their channels have other versions."""
    everything = subject.whole or subject.workspace
    for bundle, csv in _bundles(subject):
        if csv.replaces or not csv.annotations.get(_SKIP_RANGE):
            continue
        same = [other for other in everything.bundles.values() if other.package == bundle.package]
        for channel in bundle.channels:
            others = sorted(other.name for other in same if channel in other.channels and _is_older(other, csv))
            if others:
                place = at(bundle.csv.source, "metadata", "annotations", _SKIP_RANGE)
                yield rules.PRUNED.finding(place, csv=bundle.name, channel=channel, others=_listed(others))


def _is_older(bundle: Bundle, than: Csv) -> bool:
    version, other = tolerant_or_none(Csv(bundle.csv.object).version), tolerant_or_none(than.version)
    return version is not None and other is not None and version.compare(other) < 0


def served_versions(subject: LintSubject) -> Iterator[Diagnostic]:
    """Fields of a served version that the stored one lacks, where no webhook converts."""
    for bundle, _ in _bundles(subject):
        for file in bundle.files:
            obj = file.manifest.object
            if obj.get("kind") != CRD_KIND or mapping(spec_of(obj).get("conversion")).get("strategy") == "Webhook":
                continue
            versions = Crd(obj).versions
            stored = next((version for version in versions if version.storage), None)
            for version in versions:
                lost = _lost(version, stored) if stored is not None and version.served and not version.storage else []
                if stored is not None and lost:
                    yield rules.SERVED_DIFFER.finding(
                        at(file.manifest.source, "spec", "versions"),
                        crd=name_of(obj), served=version.name, stored=stored.name, fields=_listed(lost),
                    )  # fmt: skip


def _lost(version: CrdVersion, stored: CrdVersion) -> list[str]:
    """The fields of a version that the stored one drops, without those below them."""
    return sorted(_missing(version.schema, stored.schema, ""))


def _missing(schema: Mapping[str, Any], other: Mapping[str, Any], path: str) -> Iterator[str]:
    if other.get("x-kubernetes-preserve-unknown-fields") is True:
        return
    properties, there = mapping(schema.get("properties")), mapping(other.get("properties"))
    for name, below in properties.items():
        if name not in there and not mapping(other.get("additionalProperties")):
            # The fields of every object need no schema.
            if path or name not in ("apiVersion", "kind", "metadata"):
                yield f"{path}{name}"
        elif name in there:
            yield from _missing(mapping(below), mapping(there[name]), f"{path}{name}.")
    for inner, mark in (("items", "[]."), ("additionalProperties", "*.")):
        if schema.get(inner) and other.get(inner):
            yield from _missing(mapping(schema[inner]), mapping(other[inner]), f"{path.rstrip('.')}{mark}")


def workloads(subject: LintSubject) -> Iterator[Diagnostic]:
    """Deployments that run nothing, or images whose content changes."""
    for bundle, _ in _bundles(subject):
        install = mapping(mapping(spec_of(bundle.csv.object).get("install")).get("spec"))
        for index, deployment in enumerate(mappings(install.get("deployments"))):
            keys = ("spec", "install", "spec", "deployments", index, "spec")
            spec = mapping(deployment.get("spec"))
            if spec.get("replicas") == 0 and not isinstance(spec.get("replicas"), bool):
                place = at(bundle.csv.source, *keys, "replicas")
                yield rules.NO_REPLICAS.finding(place, csv=bundle.name, deployment=text(deployment.get("name")))
            pod = mapping(mapping(spec.get("template")).get("spec"))
            for field in ("initContainers", "containers"):
                for number, container in enumerate(mappings(pod.get(field))):
                    image = text(container.get("image"))
                    if is_floating(image):
                        place = at(bundle.csv.source, *keys, "template", "spec", field, number, "image")
                        name = text(container.get("name"))
                        yield rules.FLOATING_IMAGE.finding(place, csv=bundle.name, container=name, image=image)


def token_secrets(subject: LintSubject) -> Iterator[Diagnostic]:
    """Secrets that Kubernetes fills with tokens that never expire."""
    for bundle, _ in _bundles(subject):
        for file in bundle.files:
            obj = file.manifest.object
            if obj.get("kind") == "Secret" and obj.get("type") == "kubernetes.io/service-account-token":
                annotations = mapping(mapping(obj.get("metadata")).get("annotations"))
                account = text(annotations.get("kubernetes.io/service-account.name")) or "(none)"
                place = at(file.manifest.source, "type")
                yield rules.TOKEN_SECRET.finding(place, name=name_of(obj), account=account)
