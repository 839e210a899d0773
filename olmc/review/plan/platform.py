"""Moving the cluster itself to another release: what an operator, and a manifest, is on the platform that comes.

The facts about one operator alone: whether it blocks the move, and what of it no longer works afterwards. What the
catalogs of the next release have for it is in `catalog_moves`, what is to be done in `platform_plan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from olmc.compiler.model.cluster import Cluster, namespaced_name
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.olm.facts import is_copy_by_metadata
from olmc.compiler.olm.naming import (
    BlockingCsv,
    OpenShiftMaximum,
    Release,
    blocking_message,
    maximum_of_annotations,
    release_of,
)
from olmc.compiler.olm.profiles.data import is_openshift, openshift_release
from olmc.compiler.reconcile.requirements import kube_version_problem
from olmc.k8s.api.restmapper import plural_of, removal_of, removed_in
from olmc.k8s.diagnostics import Location
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    GVK,
    OLM_GROUP,
    APIResource,
    KubernetesObject,
    Manifest,
    ObjectKey,
    gvk_of,
    mapping,
    mappings,
    name_of,
    object_key,
    spec_of,
    texts,
)
from olmc.k8s.strconv import minor_of
from olmc.k8s.yaml import locate

MoveVerdict = Literal["blocked", "broken", "stranded", "clean"]
VERDICTS: tuple[MoveVerdict, ...] = ("blocked", "broken", "stranded", "clean")
"""The outcome of an operator when the cluster moves, the most severe first: it keeps the cluster where it is; it, or a
part of it, stops working; the next catalogs have no upgrade for it; none of that."""


class ClusterPlatform(NamedTuple):
    """The platform of a cluster: the release of OpenShift (None for another platform), the version of Kubernetes, and
    the APIs that are served beyond those of Kubernetes and OLM."""

    release: Release | None
    kube_version: str
    api_resources: tuple[APIResource, ...] = ()

    def __str__(self) -> str:
        kubernetes = f"Kubernetes {self.kube_version.removeprefix('v')}"
        return "OpenShift {}.{} ({})".format(*self.release, kubernetes) if self.release is not None else kubernetes

    def serves(self, api: GVK) -> bool:
        """Return whether an API that Kubernetes has not itself is served."""
        return any((r.group, r.kind) == api.group_kind and api.version in r.versions for r in self.api_resources)


class PlatformMove(NamedTuple):
    """The platform that a cluster is on, and the one that it moves to."""

    old: ClusterPlatform
    new: ClusterPlatform

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases of OpenShift that the cluster comes to one after the other, the target last."""
        if self.old.release is None or self.new.release is None or self.old.release[0] != self.new.release[0]:
            return (self.new.release,) if self.new.release is not None else ()
        major = self.new.release[0]
        return tuple((major, minor) for minor in range(self.old.release[1] + 1, self.new.release[1] + 1))


class MoveFinding(NamedTuple):
    """Something that the move does to an operator, with the rule that says so ("" for none)."""

    verdict: MoveVerdict
    text: str
    rule: str = ""


class OperatorFacts(NamedTuple):
    """The facts that decide whether an installed operator, or a bundle in a catalog, supports a move.

    `apis`: its parts that need an API of the platform, each in words; `webhooks`: likewise, with group, versions,
    plural.
    """

    maximum: OpenShiftMaximum = OpenShiftMaximum()
    min_kube_version: str = ""
    apis: tuple[tuple[GVK, str], ...] = ()
    webhooks: tuple[tuple[str, str, tuple[str, ...], str], ...] = ()


class LostManifest(NamedTuple):
    """A manifest of the repository whose API is not served after the move, and its place."""

    key: ObjectKey
    location: Location
    text: str


def platform_of(options: Options, release: Release | None = None) -> ClusterPlatform:
    """The platform that a compilation with these options is for; `release` where they name none of OpenShift."""
    if is_openshift(options.olm_version):
        release = release_of(openshift_release(options))
    return ClusterPlatform(release, options.kube_version, options.api_resources)


def loss(api: GVK, move: PlatformMove) -> str:
    """Return why an API that is served before the move is not any more after it, "" where nothing changes for it."""
    removal = removal_of(api, move.new.kube_version)
    if removal is not None and removal_of(api, move.old.kube_version) is None:
        instead = f", {removal.replacement} takes its place" if removal.replacement else ""
        return f"{api.api_version} {api.kind} is not served any more from Kubernetes 1.{removal.minor} on{instead}"
    if move.old.serves(api) and not move.new.serves(api):
        others = (r.versions for r in move.new.api_resources if (r.group, r.kind) == api.group_kind)
        versions = ", ".join(version for served in others for version in served)
        return f"{api.api_version} {api.kind} is not served any more" + (f", only {versions}" if versions else "")
    return ""


def facts_of(csv: Csv, objects: Iterable[KubernetesObject], maximum: OpenShiftMaximum) -> OperatorFacts:
    """The facts about a CSV whose bundle has these objects."""
    apis = [(gvk_of(obj), f"the {obj['kind']} {name_of(obj)} of its bundle") for obj in objects if _is_shipped(obj)]
    apis += ((api, "its requirement nativeAPIs") for api in csv.native_apis)
    apis += ((api, f"the API {api.kind} that it requires") for api in csv.required_apis)
    webhooks = [
        (hook.name, group, tuple(texts(rule.get("apiVersions"))), resource.partition("/")[0])
        for hook in csv.webhooks
        for rule in hook.rules
        for group in texts(rule.get("apiGroups"))
        for resource in texts(rule.get("resources"))
    ]
    return OperatorFacts(maximum, csv.min_kube_version, tuple(apis), tuple(dict.fromkeys(webhooks)))


def _is_shipped(obj: KubernetesObject) -> bool:
    return isinstance(obj.get("apiVersion"), str) and isinstance(obj.get("kind"), str) and obj["kind"] != CSV_KIND


def findings_of(facts: OperatorFacts, move: PlatformMove) -> Iterator[MoveFinding]:
    """Return the effects of the move on an operator with these facts, without regard to catalogs (R-OCP-5, R-REQ-2,
    R-OCP-7)."""
    stop = next((release for release in move.releases if facts.maximum.blocks(release)), None)
    if stop is not None:
        rule = "R-OCP-4" if facts.maximum.error else "R-OCP-5"
        yield MoveFinding("blocked", _blocked(facts.maximum, stop, move), rule)
    problem = kube_version_problem(facts.min_kube_version, move.new.kube_version)
    if problem:
        yield MoveFinding("broken", problem, "R-REQ-2")
    for api, user in facts.apis:
        removed = loss(api, move)
        if removed:
            yield MoveFinding("broken", f"{user}: {removed}", "R-OCP-7")
    yield from _deaf_webhooks(facts, move)


def _blocked(maximum: OpenShiftMaximum, stop: Release, move: PlatformMove) -> str:
    if maximum.error:
        return f"its maximum for OpenShift can't be read, which blocks every upgrade: {maximum.error}"
    # On the way to a release that is not the next one the cluster may get one or two further before it stops.
    on_the_way = " on the way" if stop != move.new.release else ""
    return "it supports OpenShift up to {}.{}, and blocks {}.{}".format(*(maximum.release or stop), *stop) + on_the_way


def _deaf_webhooks(facts: OperatorFacts, move: PlatformMove) -> Iterator[MoveFinding]:
    """Report the webhooks that the API server does not call any more, as it serves none of their versions of a
    resource."""
    minors = range(minor_of(move.old.kube_version) + 1, minor_of(move.new.kube_version) + 1)
    removed = {(api.group, api.version, plural_of(api.kind)): api for minor in minors for api in removed_in(minor)}
    for name, group, versions, resource in facts.webhooks:
        lost = [removed.get((group, version, resource)) for version in versions]
        if lost and lost[0] is not None and None not in lost:
            yield MoveFinding("broken", f"its webhook {name} is not called any more: {loss(lost[0], move)}", "R-OCP-7")


def upgradeable_refusal(csv: Csv, cluster: Cluster) -> str:
    """Return why a CSV forbids its own upgrade in its OperatorCondition, "" where it does not (R-CSV-15a)."""
    condition = cluster.objects.get(ObjectKey(OLM_GROUP, "OperatorCondition", csv.namespace, csv.name))
    spec = spec_of(condition.object) if condition is not None else {}
    for listed in (spec.get("overrides"), spec.get("conditions")):
        for item in mappings(listed):
            if item.get("type") == "Upgradeable":
                return str(item.get("message") or item.get("reason") or "no reason") if _is_false(item) else ""
    return ""


def _is_false(condition: Mapping[str, object]) -> bool:
    return condition.get("status") == "False"


def installed_facts(csv: Csv, cluster: Cluster) -> OperatorFacts:
    """The facts about a CSV in the cluster, with what its InstallPlans have written beside it (R-OCP-3)."""
    steps = (step for plan in cluster.plans.values() for step in plan.steps)
    shipped = [step.object for step in steps if step.resolving == csv.name and not step.derived]
    return facts_of(csv, shipped, maximum_of_annotations(csv.annotations))


def blocking_messages(cluster: Cluster, move: PlatformMove, olm_version: str) -> tuple[tuple[Release, str], ...]:
    """For each release on the way to which OLM lets the cluster not go: the release, and what the condition Upgradeable
    says then (R-OCP-1, R-OCP-2, R-OCP-6)."""
    csvs = [csv for csv in cluster.csvs.values() if not is_copy_by_metadata(csv.object)]
    maxima = [BlockingCsv(namespaced_name(csv), maximum_of_annotations(csv.annotations)) for csv in csvs]
    # OLM takes them as its cache lists them, which has no order; so by namespace and name.
    maxima.sort(key=lambda csv: csv.name)
    return tuple(
        (release, message)
        for release in move.releases
        if (message := blocking_message((c for c in maxima if c.maximum.blocks(release)), release, olm_version))
    )


def lost_manifests(manifests: Iterable[Manifest], cluster: Cluster, move: PlatformMove) -> tuple[LostManifest, ...]:
    """Return the manifests whose API is not served after the move, also not by a CRD of the cluster."""
    lost = []
    for manifest in manifests:
        api = gvk_of(manifest.object)
        text = "" if api in _of_crds(cluster, api) else loss(api, move)
        if text:
            place = locate(manifest.source, ("apiVersion",))
            lost.append(LostManifest(object_key(manifest.object), place, text))
    return tuple(lost)


def _of_crds(cluster: Cluster, api: GVK) -> Iterator[GVK]:
    for key, rendered in cluster.objects.items():
        if key.kind == CRD_KIND and key.name.endswith(f".{api.group}"):
            spec = spec_of(rendered.object)
            kind = mapping(spec.get("names")).get("kind")
            yield from (GVK(api.group, str(v.get("name")), str(kind)) for v in mappings(spec.get("versions")))


def gravest(findings: Iterable[MoveFinding]) -> MoveVerdict:
    """The verdict on an operator with these findings."""
    return min((finding.verdict for finding in findings), key=VERDICTS.index, default="clean")
