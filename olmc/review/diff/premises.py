"""The premises under which both sides are compiled: what a cluster has that neither side brings.

Two bundles are installed into one namespace with one scope, or an upgrade would read as an operator that goes and
another one that comes. What has to be there from elsewhere is taken as there, and reported: an operator that
waits for it has no permissions and no Deployments yet, and a review is about those that it is going to have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from olmc.compiler.load.bundles import openshift_place_of, project_bundle, read_bundle
from olmc.compiler.load.files import is_bundle, no_folder, scan
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import Bundle, ClusterState
from olmc.compiler.olm.profiles.data import has_chosen_version, with_apis_of
from olmc.compiler.reconcile.loop import home_of, supported_modes
from olmc.k8s.api.restmapper import removal_of
from olmc.k8s.api.validation.metadata import api_version_problems
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CRD_KIND, GVK, gvk_of, spec_of, text
from olmc.k8s.semver import tolerant_or_none
from olmc.k8s.strconv import minor_of

if TYPE_CHECKING:
    from olmc.review.explain.left_out import SettledCompilation

_WIDEST_FIRST = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")
_ROUNDS = 5


class Premises(NamedTuple):
    """The given facts: the namespace of a bundle and the mode in which it watches ("" for its own choice), the kinds
    that the cluster serves, the version of Kubernetes, whether every plan is approved, the content of the cluster, and
    whether a bundle of either side is for OpenShift."""

    namespace: str = ""
    mode: str = ""
    apis: tuple[GVK, ...] = ()
    kube_version: str = ""
    approved: bool = False
    state: ClusterState | None = None
    openshift: bool = False

    def of(self, options: Options, fixed: Set[str]) -> Options:
        """The options under these premises; what they say themselves wins, and a version of OLM that somebody chose."""
        if self.openshift and not has_chosen_version(options, fixed):
            options = with_apis_of("", options)
        namespace = options.install_namespace or self.namespace
        apis = [api.path for api in self.apis]
        scopes = {"AllNamespaces": (), "OwnNamespace": (namespace,), "SingleNamespace": ("default",)}
        watch = scopes.get(self.mode, ("default", "kube-public")) if self.mode else None
        return options._replace(
            install_namespace=namespace,
            watch=options.watch if options.watch is not None else watch,
            apis=(*options.apis, *(api for api in apis if api not in options.apis)),
            kube_version=self.kube_version or options.kube_version,
            approve=("all",) if self.approved else options.approve,
            state=self.state,
        )

    @property
    def decided(self) -> frozenset[str]:
        """The options that olmc.yaml may not override here."""
        return frozenset({"kube_version"} if self.kube_version else ()) | (
            {"approve"} if self.approved else frozenset()
        )


OPEN = Premises()

CompileUnder: TypeAlias = "Callable[[Path, Narrowing | None, Premises], SettledCompilation]"
"""Compiles a directory under premises, with what is left out of it in the place of what it leaves out itself."""


class Assumed(NamedTuple):
    """The assumptions under which an operator is installed.

    `apis`: kinds that another operator has to bring. `removed`: kinds that this Kubernetes no longer serves; `minimum`:
    the minKubeVersion that it does not reach, "" if it does; `kube_version`: that of the cluster; `last`: the newest
    minor version of Kubernetes 1 that serves the removed kinds, 0 where any does.
    """

    apis: tuple[GVK, ...] = ()
    removed: tuple[GVK, ...] = ()
    minimum: str = ""
    kube_version: str = ""
    last: int = 0

    @property
    def known(self) -> tuple[GVK, ...]:
        """All kinds that were taken as there."""
        return (*self.apis, *self.removed)


def bundle_at(path: Path) -> Bundle | None:
    """Return the bundle of a directory, or of a project of operator-sdk in it, without findings about it."""
    folder = scan(path, Report()) if not no_folder(path) else None
    if folder is None:
        return None
    found = folder if is_bundle(folder) else project_bundle(folder)
    return read_bundle(path, found, Report()) if found is not None else None


def common_premises(old: Bundle, new: Bundle) -> Premises:
    """The namespace of the old bundle, and the widest mode that both support; without one each has its own widest. If
    one of them is for OpenShift, both are installed there."""
    modes = supported_modes(old) & supported_modes(new)
    mode = next((mode for mode in _WIDEST_FIRST if mode in modes), "")
    is_for_openshift = any(openshift_place_of(bundle) is not None for bundle in (old, new))
    return Premises(home_of(old, Options()), mode, openshift=is_for_openshift)


def compile_assuming(
    path: Path, narrowing: Narrowing | None, premises: Premises, compile_under: CompileUnder, bundle: Bundle | None
) -> tuple[SettledCompilation, Assumed]:
    """A directory compiled with everything as there that its operators wait for, and what that is.

    Of the kinds that the premises have already only those count that it needs itself.
    """
    compilation = compile_under(path, narrowing, premises)
    version = compilation.options.kube_version
    given, assumed = premises.apis, dict.fromkeys(premises.apis)
    for _ in range(_ROUNDS):  # what gets installed now may wait for something else
        if compilation.settled is None or not (bundle is not None or _waits(compilation)):
            break
        absent = [api for api in _absent(compilation, bundle) if api not in assumed]
        higher = _unreached(compilation, compilation.options.kube_version)
        if not absent and not higher:
            break
        assumed.update(dict.fromkeys(absent))
        premises = premises._replace(apis=tuple(assumed), kube_version=higher or premises.kube_version)
        compilation = compile_under(path, narrowing, premises)
    needed = _needed(compilation) if given else frozenset()
    kinds = [api for api in assumed if api not in given or api in needed]
    minimum = _unreached(compilation, version) if premises.kube_version else ""
    deleted = {api: removal for api in kinds if (removal := removal_of(api, version)) is not None}
    last = min((removal.minor - 1 for removal in deleted.values()), default=0)
    outside = tuple(sorted(api for api in kinds if api not in deleted))
    return compilation, Assumed(outside, tuple(sorted(deleted)), minimum, version, last)


def _needed(compilation: SettledCompilation) -> frozenset[GVK]:
    """The kinds that operators require, or that there are objects of."""
    if compilation.settled is None:
        return frozenset()
    from olmc.review.explain.resolution import (  # with the resolver, which renderings do not need
        gvk_of_api,
        required_apis,
    )

    cluster = compilation.settled.cluster
    required = (gvk_of_api(api) for csv in cluster.csvs.values() for api in required_apis(csv))
    return frozenset((*required, *(gvk_of(rendered.object) for rendered in cluster.objects.values())))


def _waits(compilation: SettledCompilation) -> bool:
    """Return whether an operator is not installed, or a plan has failed."""
    assert compilation.settled is not None
    cluster = compilation.settled.cluster
    return any(member.phase != "Succeeded" for member in cluster.members.values()) or any(
        plan.phase == "Failed" for plan in cluster.plans.values()
    )


def _absent(compilation: SettledCompilation, bundle: Bundle | None) -> Iterator[GVK]:
    """The kinds that operators require or bring objects of, and that nothing serves."""
    from olmc.review.explain.resolution import api_of, gvk_of_api, required_apis, unserved  # as above

    assert compilation.settled is not None
    cluster, options = compilation.settled.cluster, compilation.options
    steps = [
        (step.gvk, step.object) for plan in cluster.plans.values() for step in plan.steps if plan.phase == "Failed"
    ]
    if bundle is not None:
        steps += [(gvk_of(obj), obj) for obj in bundle.objects]
    brought = [obj for api, obj in steps if api.kind == CRD_KIND]
    wanted = [api_of(api) for api, _ in steps if api.kind in cluster.profile.bundle_kinds]
    wanted += (api for csv in cluster.csvs.values() for api in required_apis(csv))
    for api in dict.fromkeys(map(gvk_of_api, unserved(wanted, cluster, brought, options))):
        # What cannot be served anywhere is not waited for: an object without an apiVersion is never installed.
        if not api_version_problems(f"{api.group}/{api.version}"):
            yield api


def _unreached(compilation: SettledCompilation, kube_version: str) -> str:
    """The highest minKubeVersion of an operator that this version does not reach, as the version of one; else ""."""
    if compilation.settled is None:
        return ""
    highest, server = "", tolerant_or_none(kube_version)
    for csv in compilation.settled.cluster.csvs.values():
        wanted = tolerant_or_none(text(spec_of(csv.object).get("minKubeVersion")))
        known = tolerant_or_none(highest) or server
        if wanted is not None and known is not None and wanted.compare(known) > 0:
            highest = f"v{text(spec_of(csv.object)['minKubeVersion']).removeprefix('v')}"
    return highest


def is_reached(minimum: str, kube_version: str) -> bool | None:
    """Return whether a cluster of a version reaches a minKubeVersion; None where one of them is no version."""
    wanted, server = tolerant_or_none(minimum), tolerant_or_none(kube_version)
    return None if wanted is None or server is None else wanted.compare(server) <= 0


def suggestion(assumed: Assumed) -> str:
    """The version for --kube-version in which what a side waits for is there, "" where there is none."""
    if assumed.minimum and not assumed.last:
        return assumed.minimum.removeprefix("v")
    lowest = minor_of(assumed.minimum) if assumed.minimum else 0
    return f"1.{assumed.last}" if assumed.last and assumed.last >= lowest else ""
