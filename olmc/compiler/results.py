"""The results of the targets in a compilation, as plain data that reviews read.

Operators and Installs have their types here; of a ClusterExtension there is the part that reviews ask for, which the
types of its target fulfil.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Candidate, CatalogBundle, Resolution, ResolveRequest, Selection
    from olmc.compiler.model.cluster import Step
    from olmc.compiler.model.operators import Install, Operator
    from olmc.compiler.resolver.steps import UndecodableCSV
    from olmc.k8s.objects import KubernetesObject, Manifest, PolicyRule, Rendered, Request

Entry = dict[str, Any]
"""A permission as the status of an Install has it."""


class Atom(NamedTuple):
    """A request, and where it is made: in a namespace, or (None) in the whole cluster."""

    request: Request
    namespace: str | None


class Resolved(NamedTuple):
    """The content of an Install, resolved.

    `items` are those of the status, with images pinned; `steps` carry out its bundles, in the order of the items; `raw`
    are the objects that it names itself. In both, namespaces are replaced. `namespace` is the install namespace,
    `missing` are images whose content is not known, `problem` says why a bundle can't be unpacked ("" if all can), and
    `unreadable` where that stands.
    """

    items: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]
    raw: tuple[KubernetesObject, ...]
    namespace: str
    missing: tuple[str, ...] = ()
    problem: str = ""
    unreadable: UndecodableCSV | None = None

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """Everything that is applied, the RBAC of CSVs included."""
        return (*(step.object for step in self.steps), *self.raw)


class Account(NamedTuple):
    """The service account that an Install is applied by; `generated` if OLM makes it."""

    namespace: str
    name: str
    generated: bool


class InstallDecision(NamedTuple):
    """The result of an Install.

    `pending`: the permissions that wait for approval. `approved`: as its spec shows it. `applied`: whether its content
    is. `made`: the service account and the grants that come with it. `approvals`: all approved permissions of it and
    its predecessors. `missing`: the permissions that the approving user lacks, as canonical entries. If it was made for
    the resolver's selections, `selections` are its part of them, the Operator's own first, and `resolve_request` is the
    request.
    """

    install: Install
    content: Resolved
    account: Account
    pending: tuple[Entry, ...]
    approved: bool
    applied: bool
    made: tuple[KubernetesObject, ...]
    approvals: frozenset[Atom]
    missing: tuple[Entry, ...] = ()
    selections: tuple[Selection, ...] = ()
    resolve_request: ResolveRequest | None = None

    @property
    def pending_count(self) -> int:
        """Return how many permissions wait for approval."""
        return sum(len(entry["verbs"]) * len(entry.get("resources") or [1]) for entry in self.pending)


class OperatorResult(NamedTuple):
    """The result of an Operator.

    `package` and `channel` are those that it follows; `fixed`: it stays at its entrypoint. `installed` is its CSV's
    name, `installs` are its Installs in order, the last of which may wait. `failure` is the reason and message of
    ResolutionFailed, `unresolved` the request and the answer then. `missing` is the image whose content is not known,
    `lacking` the entry of a catalog that has it, `problem` the reason why content could not be applied, `unreadable`
    the place in a CSV that can't be read.
    """

    operator: Operator
    package: str = ""
    channel: str = ""
    fixed: bool = False
    installed: str = ""
    installs: tuple[InstallDecision, ...] = ()
    failure: tuple[str, str] | None = None
    missing: str = ""
    problem: str = ""
    unresolved: tuple[ResolveRequest, Resolution] | None = None
    lacking: Candidate | None = None
    unreadable: UndecodableCSV | None = None

    @property
    def ref(self) -> CatalogKey:
        return self.operator.catalog.ref if self.operator.catalog else CatalogKey("", "")

    @property
    def waiting(self) -> InstallDecision | None:
        """The Install that is not applied."""
        return next((each for each in self.installs if not each.applied), None)

    @property
    def approvals(self) -> frozenset[Atom]:
        """All that was approved for the Operator so far."""
        return frozenset(atom for each in self.installs if each.applied for atom in each.approvals)


class BundleName(Protocol):
    """The name of an installed bundle, and its version."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...


class CatalogRequest(Protocol):
    """The package that a ClusterExtension asks for, and the channels that it allows."""

    @property
    def package(self) -> str: ...

    @property
    def channels(self) -> tuple[str, ...]: ...


class Extension(Protocol):
    """A ClusterExtension: `config` is its inline configuration, `installed` the bundle that it begins with."""

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def service_account(self) -> str: ...

    @property
    def source(self) -> CatalogRequest: ...

    @property
    def config(self) -> Mapping[str, Any] | None: ...

    @property
    def installed(self) -> BundleName | None: ...


class ExtensionCondition(Protocol):
    """A condition of a ClusterExtension."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def message(self) -> str: ...


class SearchedCatalog(Protocol):
    """A catalog, and the best bundle that it has for a ClusterExtension, "" for none."""

    @property
    def name(self) -> str: ...

    @property
    def candidate(self) -> str: ...


class ExtensionChoice(Protocol):
    """The bundle that a ClusterExtension resolves to and its catalog, or the error."""

    @property
    def error(self) -> str: ...

    @property
    def bundle(self) -> CatalogBundle | None: ...

    @property
    def catalog(self) -> str: ...

    @property
    def outcomes(self) -> Sequence[SearchedCatalog]: ...


class InstallerRule(Protocol):
    """A rule that an installer needs in a namespace, or with "" in the whole cluster; `line` is how OLM prints it."""

    @property
    def namespace(self) -> str: ...

    @property
    def rule(self) -> PolicyRule: ...

    @property
    def line(self) -> str: ...


class ExtensionOutcome(Protocol):
    """The result of a ClusterExtension.

    `problem` keeps it from being installed, "" for none. `installed` is its bundle in the end, `further` the bundle
    that comes next, "" for none. Its account lacks the rights `missing`, and needs `required`. `stored` is the object
    that the cluster has where the API server rejects the change (`is_refused`). `unknown`: the input lacks what the
    cluster decides by. `via` are the bundles on the way, `controller` is the release of operator-controller, and
    `trial` the result with an account that has no rights. `advice` is the way out of the problem. `derivation` has a
    sentence for each catalog.
    """

    @property
    def extension(self) -> Extension: ...

    @property
    def manifest(self) -> Manifest: ...

    @property
    def problem(self) -> str: ...

    @property
    def conditions(self) -> Sequence[ExtensionCondition]: ...

    @property
    def resolution(self) -> ExtensionChoice | None: ...

    @property
    def installed(self) -> BundleName | None: ...

    @property
    def objects(self) -> tuple[Rendered, ...]: ...

    @property
    def missing(self) -> tuple[InstallerRule, ...]: ...

    @property
    def required(self) -> tuple[InstallerRule, ...]: ...

    @property
    def further(self) -> str: ...

    @property
    def stored(self) -> KubernetesObject | None: ...

    @property
    def unknown(self) -> bool: ...

    @property
    def via(self) -> tuple[str, ...]: ...

    @property
    def is_refused(self) -> bool: ...

    @property
    def controller(self) -> str: ...

    @property
    def trial(self) -> ExtensionOutcome | None: ...

    @property
    def advice(self) -> str: ...

    @property
    def derivation(self) -> tuple[str, ...]: ...
