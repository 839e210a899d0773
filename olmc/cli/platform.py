"""`olmc plan --to`: the cluster itself moves to another release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.api import Compilation
from olmc.cli.console import say, tell
from olmc.cli.declared import option
from olmc.cli.options import canonical_version
from olmc.cli.process import BAD_INPUT, bad_value, wrong_usage
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Report, Severity, close_matches, did_you_mean
from olmc.model.options import Options, full_kube_version, minor_of

if TYPE_CHECKING:
    from olmc.model.cluster import CatalogSource, Cluster
    from olmc.model.objects import CatalogKey
    from olmc.plan.platform import ClusterPlatform
    from olmc.plan.platform_plan import PlatformPlan


class PlatformTarget(NamedTuple):
    """Where a cluster is to move: an OpenShift release as `ocp-4.19`, a version of Kubernetes ("" for none), and the
    content of catalogs there as `NAME=PATH`."""

    to: str = ""
    kube: str = ""
    catalogs: tuple[str, ...] = ()

    @property
    def is_asked(self) -> bool:
        """Whether the cluster moves at all."""
        return bool(self.to or self.kube or self.catalogs)


MOVE = (
    option("--to", default="", metavar="ocp-X.Y",
                 help="The cluster itself moves to this OpenShift release: what blocks it, and what breaks there."),
    option("--to-kube", default="", metavar="VERSION", help="The cluster itself moves to this Kubernetes."),
    option("--to-catalog", "to_catalogs", multiple=True, metavar="NAME=PATH",
                 help="With --to: what the CatalogSource NAME serves then, a folder or file (may be repeated)."),
)  # fmt: skip


def checked_move(to: str, kube: str, catalogs: Sequence[str]) -> PlatformTarget:
    """The options as they stand on the command line; what they can't mean is wrong usage."""
    from olmc.olm.profiles.data import is_openshift

    if to:
        to = canonical_version(to)
        if not is_openshift(to):
            bad_value(f"{to} is no OpenShift release such as ocp-4.19; see --to-kube.", "--to")
    full = full_kube_version(kube)
    if kube and not full:
        bad_value("a version looks like v1.36.2", "--to-kube")
    for text in catalogs:
        name, _, path = text.partition("=")
        if not name or not path:
            bad_value(f"{text!r} is no NAME=PATH", "--to-catalog")
        if not Path(path).exists():
            bad_value(f"there is no {path}", "--to-catalog")
    if catalogs and not (to or kube):
        wrong_usage("--to-catalog needs --to or --to-kube: where the cluster moves.")
    return PlatformTarget(to, full, tuple(catalogs))


def before_the_move(options: Options, move: PlatformTarget, given: frozenset[str], root: Path) -> Options:
    """The options for the cluster at `root` as it is: where nobody has stated what it runs on, the version of
    Kubernetes
    before the one that it moves to."""
    from olmc.load.config import read_config

    if given & {"kube_version", "olm_version"} or read_config(root, Report()).keys() & {"kubeVersion", "olmVersion"}:
        return options
    return options._replace(kube_version=f"v1.{minor_of(move.kube or _kube_of(move)) - 1}.0")


def _kube_of(move: PlatformTarget) -> str:
    from olmc.olm.profiles.data import OPENSHIFT_PREFIX
    from olmc.olm.profiles.openshift import openshift

    known: Mapping[str, str] = openshift()["kubernetes"]
    return known[move.to.removeprefix(OPENSHIFT_PREFIX)]


def plan_move(done: Compilation, move: PlatformTarget) -> PlatformPlan:
    """The plan for the cluster that was compiled."""
    from olmc.plan.platform import PlatformMove
    from olmc.plan.platform_plan import platform_plan, with_catalogs

    assert done.settled is not None
    assert done.workspace is not None
    cluster = done.settled.cluster
    old, new = _platforms(done.options, move)
    bundles = {b.name: b for b in (*done.workspace.vendored.values(), *done.workspace.bundles.values())}
    catalogs = with_catalogs(cluster, _given_catalogs(cluster, move.catalogs), bundles)
    manifests = done.workspace.manifests
    return platform_plan(cluster, manifests, PlatformMove(old, new), catalogs, done.options.olm_version)


def _platforms(options: Options, move: PlatformTarget) -> tuple[ClusterPlatform, ClusterPlatform]:
    """What the cluster is on, and what it moves to: what it serves besides stays, but for what the release brings."""
    from olmc.olm.openshift_maximum import release_of
    from olmc.olm.profiles.data import OPENSHIFT_PREFIX, is_openshift
    from olmc.olm.profiles.openshift import openshift, openshift_release, served_by
    from olmc.plan.platform import ClusterPlatform, platform_of

    if not move.to:
        old = platform_of(options)
        return old, ClusterPlatform(None, move.kube, old.api_resources)
    target = move.to.removeprefix(OPENSHIFT_PREFIX)
    releases = list(openshift()["kubernetes"])
    is_known = is_openshift(options.olm_version)
    now = openshift_release(options) if is_known else releases[releases.index(target) - 1]
    shipped = set(served_by(now))
    own = tuple(resource for resource in options.api_resources if resource not in shipped)
    old = platform_of(options, release_of(now))._replace(api_resources=(*own, *served_by(now)))
    kube = move.kube or openshift()["kubernetes"][target]
    return old, ClusterPlatform(release_of(target), kube, (*own, *served_by(target)))


def _given_catalogs(cluster: Cluster, texts: Sequence[str]) -> dict[CatalogKey, CatalogSource]:
    """The CatalogSources that `NAME=PATH` mean, with what they are going to serve."""
    return dict(pair for text in texts for pair in _given_catalog(cluster, *text.partition("=")[::2]))


def _given_catalog(cluster: Cluster, name: str, path: str) -> list[tuple[CatalogKey, CatalogSource]]:
    from olmc.catalogs.content import served_candidates
    from olmc.catalogs.loading import load_catalog
    from olmc.load.files import read_text, scan

    meant = [key for key in cluster.catalogs if name in (key.name, f"{key.namespace}/{key.name}")]
    if not meant:
        known = sorted(key.name for key in cluster.catalogs)
        near = did_you_mean(*close_matches(name, known, 3)) or f"There are: {', '.join(known) or 'none'}."
        bad_value(f"there is no CatalogSource {name}. {near}", "--to-catalog")
    place, report = Path(path), Report()
    root = place if place.is_dir() else place.parent
    names = scan(place, report).walk() if place.is_dir() else [place.name]
    files = {file: text for file in names if (text := read_text(root, file, report)) is not None}
    catalog = load_catalog("", files, report)
    tell(tuple(report), least=Severity.FAILURE)
    if report.failed or catalog.problem or not catalog.packages:
        if not report.found:
            say(f"Error: {path} holds no catalog")
        raise SystemExit(BAD_INPUT)
    return [
        (key, cluster.catalogs[key]._replace(catalog=catalog, entries=served_candidates(key, catalog), problem=""))
        for key in meant
    ]
