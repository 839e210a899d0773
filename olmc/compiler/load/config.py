"""`olmc.yaml`, the options that a workspace carries with it, and `olmc.lock`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import Folder, git_ignore_lines, has_file, ignore_lines, read_text, real_path, spec_of
from olmc.compiler.load.json_schema import SchemaProblem, problems
from olmc.compiler.model.options import ImageContent, Indexing, Narrowing, Options, PlatformGroup, Proxy
from olmc.compiler.model.workspace import Lock, LockedExtension, LockedImage, LockedOperator, LockFile
from olmc.compiler.olm.profiles.data import UnknownVersionError, canonical, on_platform, openshift, with_apis_of
from olmc.compiler.rules.findings import reconcile as lock_rules
from olmc.compiler.rules.findings import reconcile as versions
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.diagnostics import POSSIBLE, Location, Place, Report, Source, closest, misspelt
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import OLM_GROUP, KubernetesObject, Manifest, gvk_of, namespace_of
from olmc.k8s.objects import spec_of as spec_of_object
from olmc.k8s.strconv import full_kube_version
from olmc.k8s.yaml import Document, at, dump_one, locate, read
from olmc.resources import schema

CONFIG_FILE = "olmc.yaml"
_OTHER_NAME = "olmc.yml"


@cache
def config_fields() -> Mapping[str, str]:
    """Return the fields of Options by their names in olmc.yaml."""
    fields: dict[str, str] = json.loads(Path(__file__).with_name("config_fields.json").read_bytes())
    return fields


def read_config(root: Path, report: Report) -> dict[str, Any]:
    """The `spec` of `olmc.yaml` in the root, {} without one; problems are reported, each with its place."""
    if has_file(root, _OTHER_NAME):
        report.add(rules.CONFIG_NAME.finding(Location(_OTHER_NAME)))
    if not has_file(root, CONFIG_FILE):
        return {}
    text = read_text(root, CONFIG_FILE, report)
    documents = read(CONFIG_FILE, text, report) if text is not None else []
    if not documents or documents[0].value is None:
        return {}
    document = documents[0]
    broken = problems("olmc", document.value)
    if len(documents) > 1:
        place = locate(documents[1].source, ())
        report.add(rules.BAD_CONFIG.finding(place, where="the second document", problem="there can be only one"))
    for problem in broken:
        place = problem.place(document.source)
        if problem.where == "spec.olmVersion":
            hint = "Write a version in quotes, as '0.25': without them 0.20 is the number 0.2."
            report.add(versions.UNKNOWN_VERSION.finding(place, problem=f"olmVersion: {problem.text}", hint=hint))
            continue
        where = problem.where or "the document"
        finding = rules.BAD_CONFIG.finding(place, where=where, problem=problem.text)
        if len(problem.keys) == 1 and (below := _field_of_spec(str(problem.keys[0]))):
            finding = finding._replace(hint=f"Write {below} below spec: there it is a field.")
        report.add(finding.caused_by(misspelt(problem.written(document.value), problem.meant)))
    # All or nothing: half of the options would compile a workspace that the user did not ask for.
    if broken or not _is_known(document, report) or not _has_usable_patterns(document, report):
        return {}
    spec = dict(document.value.get("spec") or {})
    return _with_apis(root, spec, document, report) if "apisFrom" in spec else spec


def _field_of_spec(key: str) -> str:
    """The field of `spec` that a key beside it means, "" for none."""
    fields = schema("olmc")["properties"]["spec"]["properties"]
    return key if key in fields else closest(key, fields, POSSIBLE)


def _with_apis(root: Path, spec: dict[str, Any], document: Document, report: Report) -> dict[str, Any]:
    """The spec with what the file of `apisFrom` says in the place of its name; {} where that can't be read."""
    from olmc.compiler.load.live_objects import read_apis  # hardly anybody has such a file

    path, place = spec["apisFrom"], locate(document.source, ("spec", "apisFrom"))
    is_there = has_file(root, path)
    if not is_there or not real_path(root / path).is_relative_to(real_path(root)):
        problem = f"there is no file {path} in the workspace"
        report.add(rules.BAD_APIS.finding(place, problem=problem, hint="Give its path below the folder of olmc.yaml."))
        return {}
    text, findings = read_text(root, path, report), Report()
    resources = read_apis(path, text, findings) if text is not None else ()
    for diagnostic in findings:
        report.add(diagnostic)
    if text is None or findings.failed:
        return {}
    # It looks like manifests where it is YAML, and is none.
    return {**spec, "apisFrom": resources, "ignore": [*(spec.get("ignore") or ()), f"/{path}"]}


def _has_usable_patterns(document: Document, report: Report) -> bool:
    """Return whether all patterns of files can be used: those of what is left out, and of where findings are
    accepted."""
    spec = document.value.get("spec") or {}
    patterns: dict[tuple[str | int, ...], str] = {
        **{("spec", "ignore", number): entry for number, entry in enumerate(spec.get("ignore") or ())},
        **{
            ("spec", "suppress", number, "path"): entry["path"]
            for number, entry in enumerate(spec.get("suppress") or ())
            if "path" in entry
        },
    }
    usable = True
    for keys, pattern in patterns.items():
        try:
            spec_of([pattern])
        except ValueError as error:
            where = ".".join(map(str, keys))
            report.add(rules.BAD_CONFIG.finding(locate(document.source, keys), where=where, problem=error))
            usable = False
    return usable


def _is_known(document: Document, report: Report) -> bool:
    """Return whether the document asks for a version of OLM that there is, if for any."""
    version = (document.value.get("spec") or {}).get("olmVersion")
    try:
        if version is not None:
            canonical(version)
    except UnknownVersionError as error:
        place = locate(document.source, ("spec", "olmVersion"))
        report.add(versions.UNKNOWN_VERSION.finding(place, problem=error, hint=error.hint))
        return False
    return True


def indexing_from(config: Mapping[str, Any]) -> Indexing:
    """Return how the config wants catalogs to be made of what has no update graph."""
    return Indexing(config.get("bundleEdges") or "replaces", bool(config.get("enableAlpha")))


def narrowing_of(root: Path, config: Mapping[str, Any], folder: Folder | None = None) -> Narrowing:
    """Return the files that the workspace at `root` with the olmc.yaml `config` leaves out; `folder` is its tree, if it
    was scanned."""
    ignored = (*git_ignore_lines(root, folder), *(config.get("ignore") or ()), *ignore_lines(root))
    include, exclude = tuple(config.get("include") or ()), tuple(config.get("exclude") or ())
    return Narrowing(ignored, include, exclude, config.get("for"))


def cluster_catalogs(root: Path, config: Mapping[str, Any]) -> tuple[Manifest, ...]:
    """The CatalogSources that exist in the cluster, as the olmc.yaml in `root` says, whose `config` this is; each with
    its place there."""
    listed = config.get("catalogs") or ()
    text = read_text(root, CONFIG_FILE, Report()) if listed else ""
    return tuple(
        Manifest(_catalog_source(item), Source(CONFIG_FILE, text or "", prefix=("spec", "catalogs", number)))
        for number, item in enumerate(listed)
    )


class EntrySettings(NamedTuple):
    """The settings in the olmc.yaml of the entries of a cluster: values of settings, and catalogs of the cluster."""

    values: Mapping[str, Any]
    catalogs: tuple[Manifest, ...]


_OF_REPOSITORIES = frozenset("ignore suppress vendor for include exclude delete catalogs".split())
"""Settings that are read where the repository is read, or written, and not for a cluster of it."""


def entry_settings(root: Path, paths: Iterable[str], report: Report) -> EntrySettings:
    """Read the olmc.yaml of entries at `paths` of a repository; they take precedence over the one at its root.

    Lists of several entries count together; of other values the first one counts.
    """
    values: dict[str, Any] = {}
    catalogs: list[Manifest] = []
    for path in paths:
        home = root / path
        if path in ("", ".") or not has_file(home, CONFIG_FILE):
            continue
        findings = Report()
        config = read_config(home, findings)
        for finding in findings:
            place = finding.location and finding.location._replace(path=f"{path}/{finding.location.path}")
            report.add(finding._replace(location=place))
        for name in config.keys() - _OF_REPOSITORIES:
            before, value = values.get(name), config[name]
            both = isinstance(before, list) and isinstance(value, list)
            values[name] = [*before, *value] if both and before else value if before is None else before
        for manifest in cluster_catalogs(home, config):
            catalogs.append(manifest._replace(source=manifest.source._replace(path=f"{path}/{CONFIG_FILE}")))
    return EntrySettings(values, tuple(catalogs))


def _catalog_source(item: Mapping[str, Any]) -> KubernetesObject:
    priority = {"priority": item["priority"]} if "priority" in item else {}
    return {
        "apiVersion": f"{OLM_GROUP}/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": item["name"], "namespace": item["namespace"]},
        "spec": {"sourceType": "grpc", "image": item["image"], **priority},
    }


def options_from(config: Mapping[str, Any], base: Options, given: frozenset[str]) -> Options:
    """`base` with what the config says, except for the fields in `given`, which the command line has set; and with what
    the OpenShift release sets that is compiled for, where neither says anything else."""
    values: dict[str, Any] = {}
    for key, field in config_fields().items():
        if key in config and (field not in given or key == "apis"):
            value = config[key]
            values[field] = tuple(value) if isinstance(value, list) else value
    # The served APIs of each file add to those of the others.
    values["apis"] = tuple(dict.fromkeys((*base.apis, *values.get("apis", ()))))
    values["api_resources"] = (*base.api_resources, *(config.get("apisFrom") or ()))
    if "kube_version" in values:
        values["kube_version"] = full_kube_version(values["kube_version"])
    proxy = config.get("proxy")
    if proxy and "proxy" not in given:
        values["proxy"] = Proxy(proxy.get("httpProxy", ""), proxy.get("httpsProxy", ""), proxy.get("noProxy", ""))
    if "images" in config and "images" not in given:
        values["images"] = tuple(
            ImageContent(item["image"], item.get("digest", ""), item.get("bundle", "")) for item in config["images"]
        )
    options = base._replace(**values)
    return on_platform(options, given | (values.keys() - {"api_resources"}))


MARKETPLACE = "openshift-marketplace"
_CONFIG_GROUP = "config.openshift.io"


def openshift_place(manifests: Iterable[Manifest]) -> Location | None:
    """Return the place that shows that the cluster of manifests is an OpenShift, None where none does: a catalog of
    openshift-marketplace, or an object of config.openshift.io."""
    for manifest in manifests:
        obj = manifest.object
        gvk = gvk_of(obj)
        if gvk.group == _CONFIG_GROUP:
            return at(manifest.source, "apiVersion") or Location(manifest.source.path)
        if gvk.group != OLM_GROUP:
            continue
        if gvk.kind == "CatalogSource" and namespace_of(obj) == MARKETPLACE:
            return at(manifest.source, "metadata", "namespace") or Location(manifest.source.path)
        if gvk.kind == "Subscription" and spec_of_object(obj).get("sourceNamespace") == MARKETPLACE:
            return at(manifest.source, "spec", "sourceNamespace") or Location(manifest.source.path)
    return None


def on_openshift(options: Options, chosen: Set[str]) -> Options:
    """Return `options` with the facts of every OpenShift version: where global catalogs are, its APIs, and the
    OperatorGroup of openshift-operators. Options that the user has `chosen`, by field or by name in olmc.yaml, stay."""
    facts, default = openshift(), Options()
    fields = config_fields()
    taken = {fields.get(name, name) for name in chosen}
    wanted = {"global_catalog_namespace": facts["globalCatalogNamespace"], "olm_namespace": facts["olmNamespace"]}
    values: dict[str, Any] = {
        field: value
        for field, value in wanted.items()
        if field not in taken and getattr(options, field) == getattr(default, field)
    }
    group = PlatformGroup(**facts["globalOperatorGroup"])
    values["global_groups"] = tuple(dict.fromkeys((*options.global_groups, group)))
    return with_apis_of("", options._replace(**values))


LOCK_FILE = "olmc.lock"
HEADER = "# Written by olmc resolve --update and olmc vendor. Commit it; olmc render follows it.\n"

_FIELDS = ("package", "name", "version", "channel", "catalog", "catalogNamespace", "digest")
_IMAGE_FIELDS = LockedImage._fields


def read_lock(root: Path, report: Report) -> LockFile:
    """The lock in the root of a workspace, an empty one without it; problems are reported, each with its place.

    Problems with the operators cost no image: what was vendored is no choice that `olmc resolve` could make again.
    """
    if not has_file(root, LOCK_FILE):
        return LockFile()
    text = read_text(root, LOCK_FILE, report)
    if text is None:
        return LockFile()
    findings = Report()
    documents = read(LOCK_FILE, text, findings)
    for diagnostic in findings:
        report.add(diagnostic)
    if len(documents) != 1:
        if not findings.failed:
            problem = f"it should hold one document, not {len(documents)}"
            report.add(lock_rules.BAD_LOCK.finding(Location(LOCK_FILE), where="the file", problem=problem))
        return LockFile()
    value, source = documents[0].value, documents[0].source
    faults = list(problems("lock", value))
    faults += () if faults else _repeated(value)
    for fault in faults:
        where = fault.where or "the document"
        report.add(lock_rules.BAD_LOCK.finding(fault.place(source), where=where, problem=fault.text))
    # A lock that is no lock, or whose images are damaged, says nothing at all; other faults cost the operators only.
    if any(fault.keys[:1] in ((), ("images",)) for fault in faults):
        return LockFile()
    images = tuple(LockedImage(*(item.get(field, "") for field in _IMAGE_FIELDS)) for item in value.get("images", ()))
    if faults or "namespaces" not in value:
        return LockFile(None, images)
    operators = {item["namespace"]: _operators(item["operators"]) for item in value["namespaces"]}
    extensions = {
        item["extension"]: LockedExtension(*(item[field] for field in LockedExtension._fields))
        for item in value.get("extensions", ())
    }
    return LockFile(Lock(operators, Place(source), extensions), images)


def _repeated(value: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """Find entries for what an earlier entry is about: a reader of the file would see the first, and olmc the last."""
    for field, name in (("namespaces", "namespace"), ("extensions", "extension"), ("images", "image")):
        known: set[tuple[str, str]] = set()
        for number, item in enumerate(value.get(field, ())):
            entry = item[name], item.get("kind", "")
            if entry in known:
                yield SchemaProblem((field, number, name), f"{item[name]!r} has an entry already")
            known.add(entry)


def _operators(items: list[dict[str, Any]]) -> tuple[LockedOperator, ...]:
    return tuple(LockedOperator(*(item[field] for field in _FIELDS)) for item in items)


def lock_text(lock: Lock | None, images: Sequence[LockedImage] = ()) -> str:
    """The text of the file: namespaces and images in order."""
    value: dict[str, Any] = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Lock"}
    if lock is not None:
        value["namespaces"] = [
            {"namespace": name, "operators": list(map(_item, operators))}
            for name, operators in sorted(lock.namespaces.items())
        ]
    if lock is not None and lock.extensions:
        value["extensions"] = [
            {"extension": name, **locked._asdict()} for name, locked in sorted(lock.extensions.items())
        ]
    if images:
        value["images"] = [{key: text for key, text in image._asdict().items() if text} for image in sorted(images)]
    return HEADER + dump_one(value)


def _item(operator: LockedOperator) -> Mapping[str, str]:
    return dict(zip(_FIELDS, operator, strict=True))
