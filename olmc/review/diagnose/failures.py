"""Failures of the settled cluster as diagnoses: what the compiler reports already, with changes that may cure it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from olmc.compiler.model.cluster import CsvState, NamespacedName, Subscription
from olmc.compiler.model.operators import OperatorGroup
from olmc.compiler.model.workspace import Reason
from olmc.compiler.olm.facts import real_csvs
from olmc.compiler.reconcile.diagnose import group_way_out, place_of, several_groups, supported_modes
from olmc.compiler.reconcile.unresolved import unread_csv
from olmc.compiler.rules.findings import reconcile as compiler_rules
from olmc.compiler.rules.findings.catalogs import BAD_BLOB
from olmc.k8s.diagnostics import POSSIBLE, Misspelling, RefusedObject, close_matches
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, CatalogKey, KubernetesObject, ObjectKey, name_of, namespace_of, spec_of
from olmc.k8s.yaml import at, dump_one, locate
from olmc.k8s.yaml.edit import value_of
from olmc.review.diagnose import rules
from olmc.review.diagnose.diagnosis import (
    Diagnosis,
    FieldEdit,
    NewDocument,
    QuotedScalar,
    RemedyCandidate,
    RemovedDocument,
    Scene,
    operator_of,
    row_of,
)
from olmc.review.diagnose.repairs import Complaint, field_of, quoted, repairs, without_duplicates
from olmc.review.diagnose.upgrades import missed_by

_MOST = 3
_OF_TARGETS = frozenset({"UnsupportedOperatorGroup", "NoTargetNamespaces"})


def unsuited_groups(scene: Scene) -> Iterator[Diagnosis]:
    """CSVs whose install modes do not suit their OperatorGroup, or whose group has no targets (R-CSV-8)."""
    for _, member in sorted(scene.cluster.members.items()):
        if member.phase != "Failed" or member.reason not in _OF_TARGETS or member.group is None:
            continue
        finding = compiler_rules.GROUP_FAILURE.finding(
            place_of(member), csv=member.csv.name, namespace=member.csv.namespace, reason=member.reason,
            text=member.message, hint=group_way_out(member, scene.cluster),
        )  # fmt: skip
        yield Diagnosis(
            finding,
            (operator_of(member.csv, scene.cluster),),
            "",
            tuple(_of_modes(member, member.group)),
            is_reported=True,
        )


def _of_modes(member: CsvState, group: OperatorGroup) -> Iterator[RemedyCandidate]:
    source = group.source
    if source is None:
        return
    name, modes = f"{group.namespace}/{group.name}", supported_modes(member.csv)
    fields = [field for field in ("targetNamespaces", "selector") if group.spec.get(field)]
    if "AllNamespaces" in modes and fields:
        edits = tuple(FieldEdit(source, ("spec", field), None) for field in fields)
        yield RemedyCandidate(f"Remove spec.{' and spec.'.join(fields)} from OperatorGroup {name}", edits)
    if "OwnNamespace" in modes:
        edit = FieldEdit(source, ("spec", "targetNamespaces"), (group.namespace,))
        selector = (FieldEdit(source, ("spec", "selector"), None),) if "selector" in fields else ()
        text = f"Set spec.targetNamespaces: [{group.namespace}] in OperatorGroup {name}"
        yield RemedyCandidate(f"{text}{', without its selector' if selector else ''}", (edit, *selector))


def second_groups(scene: Scene) -> Iterator[Diagnosis]:
    """Namespaces with several OperatorGroups, in which nothing is installed (R-CSV-4)."""
    for finding, groups in several_groups(scene.cluster):
        namespace = groups[0].namespace
        candidates = tuple(
            RemedyCandidate(f"Remove OperatorGroup {namespace}/{group.name}", (RemovedDocument(group.source),))
            for group in reversed(groups)
            if group.source is not None
        )
        rows = [row_of(each) for each in scene.cluster.subscriptions.within(namespace).values()]
        rows += [operator_of(csv, scene.cluster) for csv in real_csvs(scene.cluster, namespace)]
        yield Diagnosis(finding, tuple(dict.fromkeys(rows)), "", candidates, is_reported=True)


def unread_texts(scene: Scene) -> Iterator[Diagnosis]:
    """CSVs with a value that YAML reads as a number or a boolean, where OLM wants a text (R-CAT-654)."""
    for namespace, done in scene.settled.rounds.items():
        for error in done.unreadable:
            change = quoted(error.content.csv.source, error.keys) if error.cause is not None else None
            if change is None:
                continue
            rows = tuple(map(row_of, scene.cluster.subscriptions.within(namespace).values()))
            yield Diagnosis(unread_csv(error), rows, "", (change,), is_reported=True)


def refused_objects(scene: Scene) -> Iterator[Diagnosis]:
    """Objects of OLM that the API server refuses, with the operators that wait for them."""
    for finding in scene.reported:
        cause = finding.cause
        if not isinstance(cause, RefusedObject) or cause.source is None or not cause.keys:
            continue
        obj = value_of(cause.source)
        complaint = Complaint(cause.source, cause.keys, cause.problem)
        candidates = [*repairs(complaint), *_unlike_schema(complaint)]
        yield Diagnosis(finding, _waiting_for(scene, obj), "", tuple(candidates), is_reported=True)


def misspelt_kinds(scene: Scene) -> Iterator[Diagnosis]:
    """Objects of a kind, or in a version, that OLM does not have, with the operators that wait for them."""
    refused = {
        locate(unused.manifest.source, (key,)): (unused.manifest, key)
        for unused in scene.workspace.inputs.unused if unused.reason is Reason.REFUSED
        for key in ("apiVersion", "kind")
    }  # fmt: skip
    for finding in scene.reported if refused else ():
        cause = finding.cause
        if not isinstance(cause, Misspelling) or finding.location not in refused:
            continue
        manifest, key = refused[finding.location]
        source = manifest.source
        candidates = tuple(
            RemedyCandidate(f"Set {key}: {meant} in {source.path}", (FieldEdit(source, (key,), meant),))
            for meant in cause.meant
        )
        waiting = _waiting_for(scene, {**manifest.object, key: cause.meant[0]})
        yield Diagnosis(finding, waiting, "", candidates, is_reported=True)


def _unlike_schema(complaint: Complaint) -> Iterator[RemedyCandidate]:
    """Return the changes that cure a value that breaks the schema of its kind."""
    if "non-unique" in complaint.text:
        yield from filter(None, [without_duplicates(complaint.source, complaint.keys)])
    meant = complaint.text.partition("did you mean ")[2].strip(" ?.'\"")
    if meant:
        edit = FieldEdit(complaint.source, complaint.keys, meant)
        yield RemedyCandidate(f"Set {field_of(complaint.keys)}: {meant} in {complaint.source.path}", (edit,))


def _waiting_for(scene: Scene, obj: KubernetesObject) -> tuple[NamespacedName, ...]:
    """The operators that an object of OLM stands for, or that can't go on without it."""
    namespace, spec = namespace_of(obj), spec_of(obj)
    if obj.get("kind") == "Subscription":
        return (NamespacedName(namespace, str(spec.get("name"))),)
    subscriptions = scene.cluster.subscriptions.values()
    if obj.get("kind") == "CatalogSource":
        key = CatalogKey(name_of(obj), namespace)
        return tuple(row_of(each) for each in subscriptions if (each.catalog.name, each.catalog.namespace) == (
            key.name, key.namespace))  # fmt: skip
    return tuple(row_of(each) for each in subscriptions if each.name.namespace == namespace)


def unread_catalogs(scene: Scene) -> Iterator[Diagnosis]:
    """Catalogs with a number or a boolean where OLM wants a text (R-CAT-121)."""
    broken = {name for name, source in scene.cluster.catalogs.items() if source.catalog and source.catalog.problem}
    rows = tuple(row_of(each) for _, each in sorted(scene.cluster.subscriptions.items()) if each.catalog in broken)
    for finding in scene.reported if rows else ():
        place = finding.location
        if finding.code != BAD_BLOB.code or place is None or not finding.message.endswith("of type string"):
            continue
        edit = QuotedScalar(place.path, place.line, place.column)
        change = RemedyCandidate(f"Put the value at {place} in quotes", (edit,))
        yield Diagnosis(finding, rows, "", (change,), is_reported=True)


def idle_catalogs(scene: Scene) -> Iterator[Diagnosis]:
    """CatalogSources that no Subscription names and that keep a namespace from being resolved (R-CAT-501)."""
    used = {each.catalog for each in scene.cluster.subscriptions.values()}
    for finding in scene.reported:
        if finding.code != compiler_rules.PREVENTED.code:
            continue
        for key, catalog in sorted(scene.cluster.catalogs.items()):
            named = f"error using catalogsource {key.namespace}/{key.name}:"
            if key in used or catalog.source is None or named not in finding.message:
                continue
            text = f"Remove CatalogSource {key.namespace}/{key.name}, which no Subscription uses"
            blocked = tuple(
                row_of(each) for _, each in sorted(scene.cluster.subscriptions.items())
                if f"namespace {each.name.namespace}:" in finding.message
            )  # fmt: skip
            candidate = RemedyCandidate(text, (RemovedDocument(catalog.source),))
            yield Diagnosis(finding, blocked, "", (candidate,), is_reported=True)


def missing_groups(scene: Scene) -> Iterator[Diagnosis]:
    """Namespaces with Subscriptions and without an OperatorGroup (R-CSV-4)."""
    asking: dict[str, list[Subscription]] = {}
    for name, subscription in sorted(scene.cluster.subscriptions.items()):
        done = scene.settled.rounds.get(name.namespace)
        is_descoped = done is not None and name in done.descoped
        if name.namespace and scene.cluster.lacks_group(name.namespace) and not is_descoped:
            asking.setdefault(name.namespace, []).append(subscription)
    for namespace, subscriptions in asking.items():
        first = subscriptions[0]
        finding = compiler_rules.NO_GROUP.finding(
            at(first.source, "metadata", "namespace"), namespace=namespace, name=first.name.name
        )
        candidates: tuple[RemedyCandidate, ...] = ()
        if first.source is not None:
            path = posixpath.join(posixpath.dirname(first.source.path), f"operatorgroup-{namespace}.yaml")
            candidates = tuple(_new_groups(namespace, path))
        yield Diagnosis(finding, tuple(map(row_of, subscriptions)), "", candidates, is_reported=True)


def _new_groups(namespace: str, path: str) -> Iterator[RemedyCandidate]:
    """A group for the namespace alone, which gives the fewest rights, then one for all namespaces."""
    for targets in ([namespace], []):
        group = {
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OperatorGroup",
            "metadata": {"name": namespace, "namespace": namespace},
            "spec": {"targetNamespaces": targets} if targets else {},
        }
        of = f"namespace {namespace}" if targets else "all namespaces"
        yield RemedyCandidate(f"Add an OperatorGroup for {of} in {path}", (NewDocument(path, dump_one(group)),))


class _Wrong(NamedTuple):
    """A field of a Subscription that asks for what is not there: of what it is missing, and what there is."""

    field: str
    written: str
    where: str
    known: tuple[str, ...]
    meant: tuple[str, ...]


def misspelt_names(scene: Scene) -> Iterator[Diagnosis]:
    """Subscriptions that ask for a package, a channel or a version which their catalog does not have (R-CAT-571)."""
    for name, subscription in sorted(scene.cluster.subscriptions.items()):
        if subscription.failure is None or subscription.source is None:
            continue
        wrong = _wrong_field(scene, subscription)
        if wrong is None or (subscription.installed and wrong.field == "startingCSV"):
            continue
        finding = rules.NOT_IN_CATALOG.finding(
            at(subscription.source, "spec", wrong.field), name=name, field=wrong.field, written=wrong.written,
            where=wrong.where, known=", ".join(wrong.known[:_MOST]) or "nothing", missed=missed_by(scene, subscription),
        )  # fmt: skip
        candidates = [
            RemedyCandidate(
                f"Set spec.{wrong.field}: {each} in Subscription {name}",
                (FieldEdit(subscription.source, ("spec", wrong.field), each),),
            )
            for each in wrong.meant
        ]
        if wrong.field == "startingCSV":
            edit = FieldEdit(subscription.source, ("spec", wrong.field), None)
            candidates.append(RemedyCandidate(f"Remove spec.startingCSV from Subscription {name}", (edit,)))
        key = ObjectKey(OLM_GROUP, "Subscription", *name)
        others = scene.cluster.subscriptions.within(name.namespace).values()
        rows = tuple(dict.fromkeys((row_of(subscription), *map(row_of, others))))
        yield Diagnosis(finding, rows, "", tuple(candidates), (key,), row_of(subscription), is_reported=True)


def _wrong_field(scene: Scene, subscription: Subscription) -> _Wrong | None:
    catalog = scene.cluster.catalogs.get(subscription.catalog)
    content = catalog.catalog if catalog is not None else None
    if not content or content.problem or not content.packages:
        return None  # a catalog that can't be read is at fault, and not who asks it
    package = content.packages.get(subscription.package)
    if package is None:
        known = tuple(content.packages)
        where = f"catalog {subscription.catalog.name}"
        return _Wrong("name", subscription.package, where, known, _alike(subscription.package, known))
    if subscription.channel and subscription.channel not in package.channels:
        known = (package.default_channel, *sorted(set(package.channels) - {package.default_channel}))
        having = tuple(
            each for each in known
            if subscription.installed in [entry.name for entry in package.channels[each].entries]
        )  # fmt: skip
        meant = _alike(subscription.channel, known) or having[:_MOST] or known[:_MOST]
        return _Wrong("channel", subscription.channel, f"package {package.name}", known, meant)
    channel = package.channels.get(subscription.channel or package.default_channel)
    entries = tuple(entry.name for entry in channel.entries) if channel is not None else ()
    if channel is not None and subscription.starting_csv and subscription.starting_csv not in entries:
        where = f"channel {channel.name} of package {package.name}"
        meant = _alike(subscription.starting_csv, entries)[:1]
        return _Wrong("startingCSV", subscription.starting_csv, where, entries, meant)
    return None


def _alike(written: str, known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(close_matches(written, known, _MOST, POSSIBLE))


def wrong_pins_of_extensions(scene: Scene) -> Iterator[Diagnosis]:
    """ClusterExtensions whose version and channels no bundle has both (R-V1-RES-4)."""
    for result in scene.extensions:
        if not result.problem or result.resolution is None or not result.resolution.error or not result.advice:
            continue
        source, extension = result.manifest.source, result.extension
        finding = rules.EXTENSION_UNRESOLVED.finding(
            at(source, "spec", "source", "catalog"), name=extension.name, problem=result.problem, way=result.advice
        )
        keys = ("spec", "source", "catalog")
        catalog = result.manifest.object["spec"]["source"]["catalog"]
        candidates = [
            RemedyCandidate(
                f"Remove spec.source.catalog.{field} from ClusterExtension {extension.name}",
                (FieldEdit(source, (*keys, field), None),),
            )
            for field in ("version", "channels")
            if field in catalog
        ]
        row = NamespacedName(extension.namespace, extension.source.package)
        yield Diagnosis(finding, (row,), "", tuple(candidates), is_reported=True)


FINDERS: tuple[Callable[[Scene], Iterator[Diagnosis]], ...] = (
    unsuited_groups, refused_objects, misspelt_kinds, unread_catalogs, idle_catalogs, missing_groups, second_groups,
    unread_texts, misspelt_names, wrong_pins_of_extensions,
)  # fmt: skip
