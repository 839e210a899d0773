"""`olmc migrate --to olm-v1`: Subscriptions become ClusterExtensions, with a verdict on every operator.

The changed workspace is compiled, again and again until nothing is left to correct: what can't be installed stays, what
would be upgraded at once is pinned, and each installer gets the rights that it needs (R-V1-MIG-3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from olmc.compiler.api import Compilation
from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.migration import (
    Edit,
    EditableFiles,
    Migration,
    carried_out,
    config_text,
    editable_files,
    left_alone,
    with_settings,
)
from olmc.compiler.model.catalog import Candidate
from olmc.compiler.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, Workspace
from olmc.compiler.olm.facts import group_by_label, is_copy, original_of
from olmc.compiler.rules.findings import migration as rules
from olmc.k8s.diagnostics import Diagnostic, FileChange, Location, Report, Severity, Source, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    RBAC,
    CatalogKey,
    KubernetesObject,
    Manifest,
    ObjectKey,
    Rendered,
    mapping,
    mappings,
    name_of,
    namespace_of,
    owner_references,
    spec_of,
    text,
    texts,
)
from olmc.k8s.yaml import at, read
from olmc.k8s.yaml.edit import EditError, without_document
from olmc.review.migrate.extension_losses import BothGenerations, belongs, copied_csvs, cutover, losses
from olmc.review.migrate.extension_moves import (
    ExtensionMove,
    MoveReason,
    catalog_edit,
    catalog_for,
    catalog_losses,
    cluster_catalog_object,
    plan_extensions,
)
from olmc.review.migrate.proposed import changed_workspace
from olmc.targets.pipeline import compile, compile_workspace
from olmc.targets.v1.generators import InstallRequest, gates_of, render_bundle
from olmc.targets.v1.installing import bundle_files
from olmc.targets.v1.object_set import RevisionBundle
from olmc.targets.v1.registry_bundle import BundleError, read_registry_bundle
from olmc.targets.v1.resolution import DEPENDENCIES
from olmc.targets.v1.single_extension import ExtensionOwner, extension_objects
from olmc.targets.v1.status import ExtensionResult, release_of

# What `olmc migrate --to olm-v1` changes in the files: the documents of OLM v0, and olmc.yaml.


def edits(moves: Iterable[ExtensionMove], workspace: Workspace, cluster: Cluster) -> Iterator[Edit]:
    """The changes to all documents: of Subscriptions, their CatalogSources, and of objects without a use."""
    moves = list(moves)
    moving = {move.subscription.name for move in moves}
    beside: dict[NamespacedName, list[KubernetesObject]] = {}
    for key, of_key in _by_catalog(moves).items():
        source = cluster.catalogs.get(key)
        if source is None or source.manifest is None:
            continue
        others = [name for name, s in cluster.subscriptions.items() if name not in moving and s.catalog == key]
        if any(name_of(manifest.object) == key.name for manifest in workspace.extension_catalogs):
            continue
        if source.source is not None and not source.of_cluster and not others:
            yield catalog_edit(source, source.source)
        else:
            beside.setdefault(of_key[0].subscription.name, []).append(cluster_catalog_object(source))
    for move in moves:
        yield move.edit(beside.get(move.subscription.name, ()))
    for manifest in workspace.manifests:
        if _has_no_use(manifest, moves, moving, cluster):
            yield Edit(manifest.source, without_document)


def _by_catalog(moves: Iterable[ExtensionMove]) -> dict[CatalogKey, list[ExtensionMove]]:
    by_key: dict[CatalogKey, list[ExtensionMove]] = {}
    for move in moves:
        by_key.setdefault(move.subscription.catalog, []).append(move)
    return by_key


def _has_no_use(
    manifest: Manifest, moves: Iterable[ExtensionMove], moving: set[NamespacedName], cluster: Cluster
) -> bool:
    """Return whether an object is OLM v0's, and only for operators that move: CSVs with what belongs to them, and
    groups."""
    obj = manifest.object
    name, kind = NamespacedName(namespace_of(obj), name_of(obj)), obj["kind"]
    if obj["apiVersion"].partition("/")[0] != OLM_GROUP:
        return False
    csvs = {move.member for move in moves}
    if kind == CSV_KIND and is_copy(obj):
        return original_of(obj) in csvs
    if kind in (CSV_KIND, "OperatorCondition"):
        return name in csvs
    if kind == "InstallPlan":
        planned = texts(mapping(obj.get("spec")).get("clusterServiceVersionNames"))
        return bool(planned) and all(NamespacedName(name.namespace, csv) in csvs for csv in planned)
    if kind == "OperatorGroup":
        left = [csv for csv in cluster.members if csv.namespace == name.namespace and csv not in csvs]
        waiting = [s for s in cluster.subscriptions if s.namespace == name.namespace and s not in moving]
        return not left and not waiting and name.namespace in {csv.namespace for csv in csvs}
    return False


def unwritable(
    moves: list[ExtensionMove], workspace: Workspace, cluster: Cluster, files: EditableFiles
) -> dict[NamespacedName, tuple[MoveReason, ...]]:
    """The Subscriptions whose documents olmc can't edit, or what goes with them, with the reason."""
    refused: dict[NamespacedName, tuple[MoveReason, ...]] = {}
    for move in moves:
        try:
            carried_out(list(edits([move], workspace, cluster)), files)
        except EditError as error:
            place = at(move.subscription.source, "spec")
            hint = "Write it in YAML, one object a document, as it is to be applied, and run olmc migrate again."
            refused[move.subscription.name] = (MoveReason("files", "R-V1-MIG-3", str(error), hint, place),)
    return refused


def with_catalogs(workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster) -> Workspace:
    """The workspace with the content of catalogs under the names that they have for OLM v1."""
    renamed = {}
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        content = workspace.catalogs.get(key.name) or workspace.catalogs.get(f"{key.namespace}/{key.name}")
        if content is not None and name not in workspace.catalogs:
            renamed[name] = content
    return workspace._replace(catalogs={**workspace.catalogs, **renamed})


def _plans(moves: Iterable[ExtensionMove], cluster: Cluster) -> set[str]:
    """The InstallPlans of what moves, as olmc.yaml approves them."""
    listed = ((move, entry) for move in moves for entry in cluster.catalogs[move.subscription.catalog].entries)
    return {f"{move.namespace}/{entry.name}" for move, entry in listed if entry.package == move.name}


def config_change(
    text: str, workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster, asked: str
) -> tuple[tuple[FileChange, ...], list[Diagnostic]]:
    """Return the change of olmc.yaml for the chosen profile, and the reasons for a manual change."""
    findings = []
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        if name != key.name and key.name in workspace.catalogs:
            hint = f"Rename catalogs/{key.name} to catalogs/{name}."
            what = f"the content of ClusterCatalog {name} is looked for in catalogs/{name}"
            findings.append(rules.BY_HAND.finding(None, text=what, hint=hint))
    documents = read(CONFIG_FILE, text, Report())
    config = spec_of(mapping(documents[0].value)) if documents else {}
    removed = _plans(moves, cluster)
    approved = [entry for entry in texts(config.get("approve")) if entry not in removed]
    settings: dict[str, Any] = {"olmVersion": asked} if asked not in ("", config.get("olmVersion")) else {}
    settings |= {"approve": approved} if approved != texts(config.get("approve")) else {}
    if not settings:
        return (), findings
    try:
        changed = with_settings(text, lambda _: settings)
        return ((FileChange(CONFIG_FILE, text, changed),) if changed != text else ()), findings
    except EditError as error:
        return (), [*findings, left_alone("olmc.yaml", Source(CONFIG_FILE, text), str(error))]


# Objects of users that lose their meaning with an operator's objects of OLM v0: bindings of roles that OLM v0 makes,
# and overrides in an OperatorCondition (R-V1-MIG-2, R-V1-LIM-4).

_BINDINGS = frozenset(("RoleBinding", "ClusterRoleBinding"))
_ROLES = frozenset(("Role", "ClusterRole"))
_SHOWN = 3


def leavings(sides: BothGenerations, moves: Iterable[ExtensionMove]) -> Iterator[tuple[ExtensionMove, MoveReason]]:
    """Yield the objects that lose their meaning with each operator that moves; a binding counts for the first whose
    role it names."""
    moves = tuple(moves)
    after = {rendered.identity for rendered in sides.after}
    removed = [r for r in sides.before if r.identity.kind in _ROLES and r.identity.group == RBAC]
    roles = {rendered.identity: rendered.object for rendered in removed if rendered.identity not in after}
    for rendered in sides.after:
        role = roles.get(_role_of(rendered)) if rendered.identity.kind in _BINDINGS else None
        for move in [move for move in moves if role is not None and _is_of(role, move)][:1]:
            yield move, _unbound(rendered, move)
    for move in moves:
        for rendered in sides.before:
            if rendered.identity == ObjectKey(OLM_GROUP, "OperatorCondition", move.namespace, move.csv):
                yield from ((move, reason) for reason in _overridden(rendered))


def _role_of(binding: Rendered) -> ObjectKey:
    reference = mapping(binding.object.get("roleRef"))
    kind = text(reference.get("kind"))
    namespace = binding.identity.namespace if kind == "Role" else ""
    return ObjectKey(RBAC, kind, namespace, text(reference.get("name")))


def _is_of(role: KubernetesObject, move: ExtensionMove) -> bool:
    """Return whether OLM v0 has made a role for an operator: for its CSV, for an API that it owns, or for its group."""
    owners = {text(ref.get("name")) for ref in owner_references(role)}
    if belongs(role, move) or owners & {api.name for api in move.installed.csv.owned_crds}:
        return True
    group = group_by_label(role)
    return group is not None and group.namespace == move.namespace


def _unbound(binding: Rendered, move: ExtensionMove) -> MoveReason:
    """A binding that binds nothing: the role that it names goes with OLM v0."""
    whom = [
        f"{text(subject.get('kind'))} {text(subject.get('name'))}"
        for subject in mappings(binding.object.get("subjects"))
    ]
    role = _role_of(binding)
    why = (
        f"{binding.identity} names {role.kind} {role.name}, which goes with OLM v0, and binds "
        f"{join_limited(whom, _SHOWN) or 'no subject'} to nothing then"
    )
    names = join_limited([name_of(role) for role in move.users], _SHOWN)
    hint = f"Bind one of those that are there afterwards ({names}, or admin, edit and view)."
    hint = hint if names else "Bind a role of your own."
    return MoveReason("role bindings", "R-V1-MIG-2", why, hint, _place(binding))


def _overridden(condition: Rendered) -> Iterator[MoveReason]:
    overrides = mappings(spec_of(condition.object).get("overrides"))
    if overrides:
        types = [f"{text(each.get('type'))}={text(each.get('status'))}" for each in overrides]
        why = (
            f"spec.overrides of its OperatorCondition go ({join_limited(types, _SHOWN)}), and OLM v1 does not read them"
        )
        hint = "Pin its version where they held back an upgrade; OLM v1 upgrades without such a check."
        yield MoveReason("OperatorConditions", "R-V1-LIM-4", why, hint, _place(condition))


def _place(rendered: Rendered) -> Location | None:
    place = rendered.provenance.place
    return at(place.source, *place.keys) if place is not None else None


# Why operator-controller does not install a bundle, sorted by what it is about and by the rule behind it
# (R-V1-LIM-1, R-V1-MIG-3).

_KEEP = "Keep the operator on OLM v0, or have its author change the bundle."
_PREFIX = regex(r'error for resolved bundle "[^"]*" with version "[^"]*": |invalid ClusterExtension configuration: ')
_NOT_CREATED = {"OLMC722": ("objects", "R-V1-LIM-4"), "OLMC723": ("duplicate objects", "R-V1-LIM-3")}


class _Refusal(NamedTuple):
    """The subject of a message of operator-controller: a part of it, the sort of reason, the rule, the fix."""

    part: str
    kind: str
    rule: str
    hint: str = _KEEP


_REFUSALS = (
    _Refusal("apiServiceDefintions", "API services", "R-V1-LOAD-6", "Keep the operator on OLM v0."),
    _Refusal(
        "webhookDefinitions are not supported", "certificates", "R-V1-FG-2",
        "Choose a profile whose gates have somebody issue certificates (--olm-version v1).",
    ),
    _Refusal("conversion webhook", "conversion webhooks", "R-V1-VAL-1"),
    _Refusal("unsupported resource", "kinds of objects", "R-V1-VAL-2"),
    _Refusal(
        "install mode", "install modes", "R-V1-LOAD-6",
        "Open SingleOwnNamespaceInstallSupport (--olm-version v1-experimental) for one namespace.",
    ),
    _Refusal("target namespaces", "install modes", "R-V1-OPT-1"),
    _Refusal("watchNamespace", "install modes", "R-V1-CFG-1"),
    _Refusal("deploymentConfig", "configuration", "R-V1-CFG-4", "Fix spec.config of the Subscription."),
    _Refusal(
        "declared via property", "dependencies", "R-V1-RES-13",
        "Have a catalog without the property, and a ClusterExtension of its own for what it names.",
    ),
    _Refusal("forbidden rule", "rules of webhooks", "R-V1-VAL-1"),
    _Refusal("has invalid name", "names", "R-V1-VAL-1"),
    _Refusal("invalid cluster service version strategy deployment name", "names", "R-V1-VAL-1"),
    _Refusal("not found in bundle", "CRDs that are missing", "R-V1-VAL-1"),
    _Refusal(
        "already exists", "objects of others", "R-V1-HELM-4",
        "Remove it from the workspace if the bundle brings it, or mark it as Helm does for the ClusterExtension.",
    ),
    _Refusal("validating upgrade for CRD", "upgrades of CRDs", "R-V1-CRD-1", "Let OLM v0 upgrade the CRD first."),
    _Refusal("found bundles for package", "catalogs", "R-V1-RES-11", "Give the catalogs different priorities."),
    _Refusal("no bundles found", "catalogs", "R-V1-RES-8", "See that the catalog has the version and the channel."),
    _Refusal("error parsing", "files that can't be read", "R-V1-LOAD-2"),
    _Refusal("subdirectories", "files that can't be read", "R-V1-LOAD-2"),
)  # fmt: skip


def reason_of(problem: str, place: Location | None, hint: str = "") -> MoveReason:
    """A message of the controller as a reason to stay."""
    text = _PREFIX.sub("", problem).strip()
    known = next((refusal for refusal in _REFUSALS if refusal.part in text), _Refusal("", "bundles", "R-V1-VAL-1"))
    return MoveReason(known.kind, known.rule, text, hint or known.hint, place)


def dependencies(entry: Candidate, cluster: Cluster, place: Location | None) -> Iterator[MoveReason]:
    """Yield the dependencies of a bundle by its properties in the catalog, and the bundles that the same cluster has
    for them."""
    needed = [each for each in entry.properties if each.type in DEPENDENCIES]
    if not needed:
        return
    names = ", ".join(dict.fromkeys(_needed(each.type, each.value) for each in needed))
    generated = sorted({each.package for each in cluster.subscriptions.values() if each.source is None})
    beside = f"; OLM v0 subscribes to {', '.join(generated)} by itself" if generated else ""
    yield reason_of(f"{entry.name} has a dependency declared via property {needed[0].type}: {names}{beside}", place)


def refusals(
    bundle: Bundle, name: NamespacedName, options: Options, move: ExtensionMove | None = None
) -> Iterator[MoveReason]:
    """Yield operator-controller's errors for a bundle, and the API server's errors for its objects."""
    place = at(bundle.csv.source)
    gates = gates_of(options.olm_version)
    config: Mapping[str, Any] | None = (move.config or None) if move is not None else None
    report = Report()
    try:
        registry = read_registry_bundle(bundle_files(bundle))._replace(csv_source=bundle.csv.source)
        rendered = render_bundle(registry, InstallRequest(name.namespace, gates, config))
    except BundleError as error:
        for line in error.message.split("\n"):
            refusal = reason_of(line, place)
            # Without a move the namespaces to watch are unknown.
            if move is not None or refusal.rule not in ("R-V1-CFG-1", "R-V1-OPT-1"):
                yield refusal
        return
    resolved = RevisionBundle(registry.name, registry.package, "", "")
    owner = ExtensionOwner(registry.package, name.namespace)
    extension_objects(registry, rendered, owner, resolved, gates, options, report)
    for finding in report:
        if finding.severity is Severity.FAILURE:
            kind, rule = _NOT_CREATED[finding.code]
            yield MoveReason(kind, rule, finding.message, _KEEP, place)


def _needed(kind: str, value: Any) -> str:
    """Return the request of a dependency, in words."""
    fields = value if isinstance(value, Mapping) else {}
    if kind == "olm.package.required":
        return f"package {fields.get('packageName')} {fields.get('versionRange') or ''}".strip()
    if kind == "olm.gvk.required":
        return f"{fields.get('kind')} of {fields.get('group')}/{fields.get('version')}"
    return "a constraint"


_MOST_ROUNDS = 100


class MoveVerdict(NamedTuple):
    """Whether a Subscription moves, and the reasons: what is lost if it does, what stands against it if it does not."""

    subscription: NamespacedName
    place: Source | None
    move: ExtensionMove | None
    reasons: tuple[MoveReason, ...]

    @property
    def outcome(self) -> str:
        if self.move is None:
            return "stays"
        return "moves with losses" if self.reasons else "moves as it is"


class ExtensionMigration(NamedTuple):
    """The changes with what there is to say about them, the verdicts, and the steps on a live cluster as a script."""

    migration: Migration
    verdicts: tuple[MoveVerdict, ...] = ()
    steps: str = ""


def migrate_to_extensions(
    root: CompileRequest | Path | str, olm_version: str = "", config: str | None = None
) -> ExtensionMigration:
    """The changes that make ClusterExtensions of Subscriptions, for the OLM v1 of a profile; nothing is written.

    `olm_version` "" is what olmc.yaml says, or the newest; `config` is the text of olmc.yaml where it is not that of
    the file. What stops the compilation is among the remarks.
    """
    request = request_of(root)
    before = compile(request)
    if before.failed or before.settled is None:
        errors = tuple(d for d in before.diagnostics if d.severity is Severity.ERROR)
        return ExtensionMigration(Migration((), errors))
    if before.workspace is None:  # a bundle by itself has neither Subscriptions nor groups
        return ExtensionMigration(Migration((), ()))
    options = before.options._replace(olm_version=olm_version or before.options.olm_version)
    text = config_text(request.root) if config is None else config
    # The accounts that a migration writes are all that count, also in a repository, where others may be elsewhere.
    workspace = before.workspace._replace(is_of_repository=False)
    return _migrated(request.root, before, workspace, options, olm_version, text)


def _migrated(
    root: Path, before: Compilation, workspace: Workspace, options: Options, asked: str, config_before: str
) -> ExtensionMigration:
    assert before.settled is not None
    files = editable_files(root, workspace)
    cluster, gates = before.settled.cluster, gates_of(options.olm_version)
    uses_account = release_of(options.olm_version).uses_account
    plan = plan_extensions(workspace, cluster, gates, [rendered.object for rendered in before.objects])
    stays = dict(plan.stays)
    moves = list(plan.moves)
    for name, reasons in stays.items():  # what the bundle says against it is reported as well
        stays[name] = (*reasons, *_of_bundle(name, before, workspace, options, reasons))
    after, changed = before, workspace
    changes: tuple[FileChange, ...] = ()
    # Refusing one move changes what the others find in the cluster, their permissions above all, so olmc judges all
    # again until nothing is refused and what was compiled is what will be written.
    for _ in range(_MOST_ROUNDS):
        refused = unwritable(moves, workspace, cluster, files)
        if not refused:
            changes = carried_out(list(edits(moves, workspace, cluster)), files)
            changed = with_catalogs(changed_workspace(workspace, changes), moves, cluster)
            after = compile_workspace(changed, options, Report())
            moves, refused = _judged(moves, before, after, options)
        for name, reasons in refused.items():
            stays[name] = reasons
        moves = [move for move in moves if move.subscription.name not in refused]
        done = all(move.required for move in moves) and _is_current(moves, changed)
        if not refused and after is not before and (done or not uses_account):
            break
        if not moves:
            break
    if not moves:
        changes = ()
    sides = BothGenerations(before.objects, after.objects)
    lost = losses(sides, moves) if moves else {}
    for move, reason in leavings(sides, moves):
        lost[move.name].append(reason)
    verdicts = tuple(sorted(_verdicts(moves, stays, lost, cluster), key=lambda verdict: verdict.subscription))
    remarks = [finding for verdict in verdicts for finding in _findings(verdict)]
    if moves:
        config, config_findings = config_change(config_before, workspace, moves, cluster, asked)
        changes = (*changes, *config)
        remarks += (*_goes_with_v0(before, moves), *config_findings)
    steps = cutover(before, after, moves, gates) if moves else ""
    return ExtensionMigration(Migration(tuple(sorted(changes)), tuple(remarks)), verdicts, steps)


def _is_current(moves: Iterable[ExtensionMove], workspace: Workspace) -> bool:
    """Return whether what was compiled is what would be written."""
    written = {name_of(manifest.object): manifest.object.get("spec") for manifest in workspace.extensions}
    manifests = (m.object for m in workspace.manifests if m.object["kind"] == "ServiceAccount")
    accounts = {NamespacedName(namespace_of(account), name_of(account)) for account in manifests}
    return all(
        written.get(move.name) == move.object["spec"]
        and NamespacedName(move.namespace, f"{move.name}-installer") in accounts
        for move in moves
    )


def _of_bundle(
    name: NamespacedName, before: Compilation, workspace: Workspace, options: Options, known: Iterable[MoveReason]
) -> Iterator[MoveReason]:
    """Yield the reasons against the bundle of a Subscription that stays for another reason."""
    assert before.settled is not None
    subscription = before.settled.cluster.subscriptions[name]
    source = before.settled.cluster.catalogs.get(subscription.catalog)
    listed = [entry for entry in (source.entries if source else ()) if entry.package == subscription.package]
    replaced = {entry.replaces for entry in listed}
    heads = [entry.name for entry in listed if entry.name not in replaced]
    csv = subscription.installed or subscription.current or subscription.starting_csv or next(iter(heads), "")
    entry = next((entry for entry in listed if entry.name == csv), None)
    content = workspace.bundles.get(csv)
    reasons: list[MoveReason] = []
    if entry is not None:
        reasons += dependencies(entry, before.settled.cluster, at(subscription.source, "spec"))
    if content is not None:
        reasons += refusals(content, name, options)
    kinds = {reason.kind for reason in known}
    yield from (reason for reason in reasons if reason.kind not in kinds)


def _judged(
    moves: Iterable[ExtensionMove], before: Compilation, after: Compilation, options: Options
) -> tuple[list[ExtensionMove], dict[NamespacedName, tuple[MoveReason, ...]]]:
    """The moves corrected by what came of them, and those that are refused with the reasons."""
    results = {result.extension.name: result for result in after.extensions}
    corrected: list[ExtensionMove] = []
    refused: dict[NamespacedName, tuple[MoveReason, ...]] = {}
    assert before.settled is not None
    rest = _rest_changed(tuple(moves), before, after)
    workspace, cluster = after.workspace, before.settled.cluster
    for move in moves:
        result = _beyond_account(cast("ExtensionResult | None", results.get(move.name)), move)
        reasons: list[MoveReason] = []
        place = move.place()
        if result is None or workspace is None:
            reasons.append(MoveReason("bundles", "R-V1-CE-1", "its ClusterExtension is refused", "Rename it.", place))
        elif result.problem:
            reasons += (reason_of(line, place) for line in result.problem.split("\n"))
            if any(reason.kind == "dependencies" for reason in reasons):
                entries = cluster.catalogs[move.subscription.catalog].entries
                entry = next(entry for entry in entries if entry.name == move.csv)
                reasons = list(dependencies(entry, cluster, at(move.subscription.source, "spec")))
        elif result.installed is not None and result.installed.name != move.csv:
            if move.pinned:
                why = f"OLM v1 would install {result.installed.name} in place of {move.csv}"
                reasons.append(MoveReason("versions", "R-V1-RES-8", why, "Upgrade it under OLM v0 first.", place))
            else:
                move = _pinned(move, result.installed.name)
        content = workspace.bundles.get(move.csv) if workspace is not None else None
        if content is not None:
            kinds = {reason.kind for reason in reasons}
            more = refusals(content, move.subscription.name, options, move)
            reasons += (reason for reason in more if reason.kind not in kinds)
        reasons = reasons or list(rest.get(move.namespace, ()))
        if reasons:
            refused[move.subscription.name] = tuple(reasons)
        required = result.required if result is not None else ()
        corrected.append(move._replace(required=required or move.required))
    return corrected, refused


def _beyond_account(result: ExtensionResult | None, move: ExtensionMove) -> ExtensionResult | None:
    """The result as if the account had its roles, which are written once it is known what it needs."""
    judged = result.trial or result if result is not None else None
    if judged is None or judged.required in ((), move.required) or not judged.problem:
        return judged
    chosen = judged.resolution.installed if judged.resolution is not None else None
    return judged._replace(problem="", installed=chosen)


def _pinned(move: ExtensionMove, instead: str) -> ExtensionMove:
    why = (
        f"OLM v1 would install {instead} at once, as it follows no upgrade edges to begin with; it is pinned to "
        f"{move.version}"
    )
    hint = "Remove spec.source.catalog.version once it is installed, and it is upgraded edge by edge."
    loss = MoveReason("upgrades", "R-V1-RES-8", why, hint, at(move.subscription.source, "spec", "channel"))
    return move._replace(pinned=True, losses=(*move.losses, loss))


def _rest_changed(
    moves: tuple[ExtensionMove, ...], before: Compilation, after: Compilation
) -> Mapping[str, tuple[MoveReason, ...]]:
    """By namespace, what would become of operators that stay with OLM v0."""
    moving = {move.member for move in moves}
    was = {name: phase for name, phase in before.phases.items() if name not in moving}
    reasons: dict[str, tuple[MoveReason, ...]] = {}
    for name in sorted(was.keys() | after.phases.keys()):
        now = after.phases.get(name)
        if was.get(name) != now:
            became = "be gone" if now is None else "be installed by OLM v0 again" if name in moving else f"be {now[0]}"
            why = f"{name} is installed beside it, and would {became}"
            hint = "Subscribe to both by name, and let what depends on the other move with it."
            reasons.setdefault(name.namespace, (MoveReason("dependencies", "R-V1-RES-13", why, hint),))
    return reasons


def _verdicts(
    moves: Iterable[ExtensionMove], stays: Mapping[NamespacedName, tuple[MoveReason, ...]],
    lost: Mapping[str, list[MoveReason]], cluster: Cluster,
) -> Iterator[MoveVerdict]:  # fmt: skip
    for move in moves:
        source = cluster.catalogs.get(move.subscription.catalog)
        of_catalog = catalog_losses(source) if isinstance(source, CatalogSource) else ()
        reasons = dict.fromkeys((*move.losses, *of_catalog, *lost.get(move.name, ())))
        yield MoveVerdict(move.subscription.name, move.subscription.source, move, tuple(reasons))
    for name, reasons_against in stays.items():
        yield MoveVerdict(name, cluster.subscriptions[name].source, None, reasons_against)


def _findings(verdict: MoveVerdict) -> Iterator[Diagnostic]:
    name, place = verdict.subscription, at(verdict.place)
    move = verdict.move
    if move is not None:
        manner = "" if not verdict.reasons else f", and loses {len(verdict.reasons)} of what it has"
        manner = manner or ", with all that it has"
        yield rules.MOVES.finding(place, name=name, extension=move.name, csv=move.csv, manner=manner)
    rule = rules.STAYS if move is None else rules.LOSES
    for reason in verdict.reasons:
        yield rule.finding(
            reason.place or place, name=name, kind=reason.kind, text=reason.text, rule=reason.rule, hint=reason.hint
        )


def _goes_with_v0(before: Compilation, moves: Iterable[ExtensionMove]) -> Iterator[Diagnostic]:
    """Return the remains of every operator: OLM's own objects, with the copies of CSVs."""
    moves = list(moves)
    copies = [f"{csv} ({count})" for csv, count in copied_csvs(before.objects, moves).items()]
    if copies:
        text = f"by copied CSVs users of other namespaces see operators; these go: {', '.join(copies)} (R-V1-LIM-1)"
        yield rules.GOES_WITH_V0.finding(None, text=text)
    text = (
        f"of {', '.join(move.csv for move in moves)} the CSV, InstallPlan, Operator and OperatorCondition go, the "
        "variable OPERATOR_CONDITION_NAME and the annotations of OperatorGroups, and the ClusterRoles olm.og.* "
        "(R-V1-MIG-1)"
    )
    yield rules.GOES_WITH_V0.finding(None, text=text)
