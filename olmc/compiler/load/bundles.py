"""registry+v1 bundle directories and their annotations (R-CAT-100 … R-CAT-106)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from olmc.compiler.catalogs.properties import provided_apis
from olmc.compiler.load.files import MANIFESTS, METADATA, Folder, is_bundle, read_text
from olmc.compiler.load.manifests import missing_name, without_duplicates
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Bundle, BundleFile, Inputs, Reason, Unused
from olmc.compiler.olm.naming import CORE_KINDS
from olmc.compiler.rules.findings import workspace as foreign_rules
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.applied import PROCESSED_GROUP, applied_objects
from olmc.k8s.api.restmapper import BUILTIN, rest_mapper
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity, close_matches, did_you_mean, join_limited
from olmc.k8s.gojson import fold, unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    APIResource,
    Manifest,
    ObjectKey,
    as_text,
    gvk_of,
    mapping,
    metadata_of,
    name_of,
    namespace_of,
    object_key,
    split_api_version,
)
from olmc.k8s.strconv import number_text
from olmc.k8s.yaml import Document, Reader, at, locate, read
from olmc.k8s.yaml.split import parts

_MOST_SHOWN = 3

# Which namespace manifests are in: none if their kind has none, the default one if they name none.


def manifests_in_their_scope(
    manifests: Iterable[Manifest], bundles: Iterable[Bundle], report: Report, resources: Iterable[APIResource] = ()
) -> tuple[Manifest, ...]:
    """The manifests without the namespaces that the API server clears, each of which is reported.

    What the kinds of others are follows from the CRDs among the manifests, then by those of the bundles, then by the
    `resources` of the cluster.
    """
    manifests = tuple(manifests)
    of_bundles = (obj for bundle in bundles for obj in bundle.objects)
    mapper = rest_mapper((*(manifest.object for manifest in manifests), *of_bundles), resources)
    for finding in _ignored(each for each in manifests if mapper.ignored_namespace(each.object) is not None):
        report.add(finding)
    return tuple(manifest._replace(object=mapper.in_its_scope(manifest.object)) for manifest in manifests)


def ignored_in_bundle(manifests: Iterable[Manifest]) -> Iterable[Diagnostic]:
    """The findings about the objects of a bundle; they stay as they are, for InstallPlans show them so."""
    return _ignored(each for each in manifests if BUILTIN.ignored_namespace(each.object) is not None)


def _ignored(manifests: Iterable[Manifest]) -> Iterator[Diagnostic]:
    """One finding for each place: a text of a policy is one, however many objects it has."""
    found: dict[Location, list[ObjectKey]] = {}
    for manifest in manifests:
        written = locate(manifest.source, ("metadata", "namespace"))
        found.setdefault(written, []).append(object_key(manifest.object))
    for place, keys in found.items():
        objects = list(dict.fromkeys(f"{key.kind} {key.name}" for key in keys))
        shown = objects[0] if len(objects) == 1 else f"each of {join_limited(objects, _MOST_SHOWN)}"
        namespaces = join_limited(list(dict.fromkeys(key.namespace for key in keys)), _MOST_SHOWN, " or ")
        yield rules.IGNORED_NAMESPACE.finding(place, objects=shown, namespaces=namespaces)


def in_default_namespace(manifests: tuple[Manifest, ...], options: Options, report: Report) -> tuple[Manifest, ...]:
    """Return the manifests as they are applied to the default namespace of the options.

    Namespaced manifests without a namespace get the default one. Without a default they stay as they are, and olmc
    reports that the tool that applies them decides their namespace.
    """
    unplaced = [m for m in manifests if not m.object["metadata"].get("namespace")]
    mapper = rest_mapper((m.object for m in manifests if unplaced), options.api_resources)
    nowhere = [m for m in unplaced if mapper.scope(gvk_of(m.object), options.kube_version) == "Namespaced"]
    if not nowhere:
        return manifests
    if not options.default_namespace:
        for manifest in nowhere:
            obj = manifest.object
            # Of what OLM looks at, the consequences are reported.
            if gvk_of(obj).group not in (OLM_GROUP, PROCESSED_GROUP):
                place = at(manifest.source, "metadata")
                report.add(rules.UNPLACED.finding(place, kind=obj["kind"], name=obj["metadata"]["name"]))
        return manifests
    homeless = {id(manifest) for manifest in nowhere}
    placed = (_in_namespace(m, options.default_namespace) if id(m) in homeless else m for m in manifests)

    return without_duplicates(tuple(placed), report)


def manifests_in_namespace(
    manifests: Sequence[Manifest], namespace: str, options: Options, *, replaces: bool = False
) -> tuple[list[Manifest], tuple[Manifest, ...]]:
    """The manifests with a namespace for those that name none, or, if it `replaces` others, for all; and those that
    have none in the end."""
    if all(namespace_of(manifest.object) for manifest in manifests) and not (namespace and replaces):
        return list(manifests), ()
    mapper = rest_mapper((manifest.object for manifest in manifests), options.api_resources)
    placed: list[Manifest] = []
    homeless: list[Manifest] = []
    for manifest in manifests:
        is_open = replaces if namespace_of(manifest.object) else True
        if is_open and mapper.scope(gvk_of(manifest.object), options.kube_version) == "Namespaced":
            if namespace:
                manifest = _in_namespace(manifest, namespace)
            elif not namespace_of(manifest.object):
                homeless.append(manifest)
        placed.append(manifest)
    return placed, tuple(homeless)


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    obj = manifest.object
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    return manifest._replace(object={**obj, "metadata": {**metadata, "namespace": namespace}})


PREFIX = "operators.operatorframework.io.bundle."
PACKAGE = PREFIX + "package.v1"
CHANNELS = PREFIX + "channels.v1"
DEFAULT_CHANNEL = PREFIX + "channel.default.v1"

SUGGESTED = "operatorframework.io/suggested-namespace"
SUGGESTED_TEMPLATE = "operatorframework.io/suggested-namespace-template"

ANNOTATIONS_FILE = "annotations"
"""The usual start of the names of files with a bundle's annotations."""
NO_TEXT = "Write a text as the value, in quotes if it looks like something else."
"""The hint for an annotation whose value is no text."""

_ROLE_KEYS = (PACKAGE, CHANNELS, DEFAULT_CHANNEL)
"""The annotations that make a file that of the annotations; OLM decodes no others."""


def annotations_of(document: Document) -> Mapping[str, str] | None:
    """The annotations of a file as texts; None where one that counts is no text, or all of those are empty."""
    texts = annotation_texts(document)
    decisive = [texts.get(key, "") for key in _ROLE_KEYS]
    if None in decisive or not any(decisive):
        return None
    return {key: text for key, text in texts.items() if text is not None}


def annotation_texts(document: Document) -> dict[str, str | None]:
    """The values below `annotations` as the texts that Go reads, None for those that it refuses: in YAML a number or a
    boolean is the text that it stands for, in JSON it is none."""
    is_json = document.source.text.lstrip().startswith("{")
    return {str(key): _text(value, is_json=is_json) for key, value in document.value["annotations"].items()}


def _text(value: Any, *, is_json: bool) -> str | None:
    if value is None or isinstance(value, str):
        return value or ""
    if is_json or not isinstance(value, int | float):
        return None
    return str(value).lower() if isinstance(value, bool) else number_text(value)


def unfit_annotations(document: Document) -> tuple[tuple[str, ...], str]:
    """Return the problems of the content of a file that was meant to hold a bundle's annotations: keys and the way
    out."""
    value = document.value
    if not isinstance(value, Mapping) or "annotations" not in value:
        return (), "Write the annotations as a mapping below the key annotations."
    if not isinstance(value["annotations"], Mapping):
        return ("annotations",), "Write a mapping below annotations: lines of `key: value`."
    texts = annotation_texts(document)
    wrong = next((key for key in _ROLE_KEYS if key in texts and texts[key] is None), None)
    if wrong is not None:
        return ("annotations", wrong), NO_TEXT
    return ("annotations",), f"Add {PACKAGE} and {CHANNELS}: at least one of them has to be there, with a value."


# Go's decoder takes these in any case, and some real bundles have them so.
_TOP_KEYS = {"apiversion": "apiVersion", "kind": "kind", "metadata": "metadata", "spec": "spec"}

_SAYS_CSV = regex(rf"""\bkind["']?\s*:\s*["']?{CSV_KIND}\b""")
_ALIKE = 0.85


class _UnreadableFile(NamedTuple):
    """A file that can't be read, why, and whether its text says that it is the CSV."""

    path: str
    problem: Diagnostic
    is_csv: bool


PROJECT_FILE = "PROJECT"
"""The file by which operator-sdk knows its projects; see olmc/compiler/load/bundles.py."""

CATALOGS_FOLDER = "catalogs"


LEAST_PACKAGES = 16
"""The number of folders of packages that make a repository of bundles: olmc reads fewer at once quickly."""


def has_many_packages(folder: Folder) -> bool:
    """Return whether a tree has as many packages as a repository of bundles."""
    return len(list(islice(package_folders(folder), LEAST_PACKAGES))) == LEAST_PACKAGES


def package_folders(folder: Folder) -> Iterator[Folder]:
    """The topmost folders with a bundle directly in them."""
    if any(is_bundle(below) for below in folder.folders):
        yield folder
        return
    for below in folder.folders:
        yield from package_folders(below)


def bundles_in(folder: Folder) -> Iterator[Folder]:
    """The bundles below a folder."""
    for below in folder.folders:
        if is_bundle(below):
            yield below
        else:
            yield from bundles_in(below)


def without_bundles(folder: Folder) -> Folder:
    """A tree without the bundles in it."""
    return folder._replace(folders=tuple(without_bundles(below) for below in folder.folders if not is_bundle(below)))


def read_bundle(root: Path, folder: Folder, report: Report, read: Reader = read) -> Bundle | None:
    """The bundle in `folder`, or None with the diagnostics that say why it is none; `read` reads its files."""
    manifests, metadata = folder.folder(MANIFESTS), folder.folder(METADATA)
    if manifests is None or metadata is None:
        return None
    files, broken, unused = _manifest_files(root, manifests, report, read)
    csvs = [file.manifest for file in files if file.manifest.object["kind"] == CSV_KIND]
    csv = csvs[0] if csvs else None
    # OLM passes over what it can't decode (R-CAT-101, rule 3). Where that is the CSV, what is wrong with its text says
    # more than that there is none.
    for path, problem, is_csv in broken:
        not_decoded = rules.NOT_DECODED.finding(problem.location, path=path, cause=problem.message, hint=problem.hint)
        report.add(problem if csv is None and is_csv else not_decoded.caused_by(problem.cause))
    if csv is None:
        if not any(file.is_csv for file in broken):
            report.add(_no_csv(folder, manifests, files))
        return None
    roles = _metadata_roles(root, metadata, report)
    annotations = roles["annotations"]
    if not isinstance(annotations, Mapping):
        report.add(_no_annotations(root, metadata))
        return None
    bundle = Bundle(
        directory=folder.path,
        package=annotations.get(PACKAGE, ""),
        # Without trimming: after `a, b` there is a channel with a blank at its beginning (R-CAT-103).
        channels=tuple(annotations.get(CHANNELS, "").split(",")),
        default_channel=annotations.get(DEFAULT_CHANNEL, ""),
        csv=csv,
        # Of several CSVs the first is the bundle, the others are dropped without a word (R-CAT-101, rule 4).
        files=tuple(f for f in files if f.manifest is csv or f.manifest.object["kind"] != csv.object["kind"]),
        annotations=annotations,
        dependencies=_items(roles["dependencies"]),
        properties=_items(roles["properties"]),
        properties_source=roles["source"],
        unused=tuple(unused),
        # OLM reads the files of an image in the same order, and takes the last one (R-CAT-614).
        unpacked_csv=csvs[-1] if len(csvs) > 1 else None,
        # OLM reads all that is in this folder as files (R-CAT-614).
        subfolder=next((inner.path for inner in manifests.folders), ""),
    )
    # Nor can OLM install the last of several CSVs without a name.
    nameless = next((each for each in (csv, bundle.installed) if not name_of(each.object)), None)
    if nameless is not None:
        report.add(missing_name(CSV_KIND, nameless.object["metadata"], nameless.source))
        return None
    _check_owned_crds(bundle, report)
    _check_kinds(bundle, report)
    for ignored in ignored_in_bundle(file.manifest for file in bundle.files):
        report.add(ignored)
    return bundle


def package_of(root: Path, folder: Folder) -> str:
    """Return the package that the annotations of a bundle name, also if the bundle is invalid; "" for none."""
    metadata = folder.folder(METADATA)
    annotations = _metadata_roles(root, metadata, Report())["annotations"] if metadata is not None else None
    return str(annotations.get(PACKAGE, "")) if isinstance(annotations, Mapping) else ""


def says_csv(text: str) -> bool:
    """Return whether a text that can't be read as YAML or JSON says that it is a CSV."""
    return _SAYS_CSV.search(text) is not None


def is_almost_csv(kind: str) -> bool:
    """Return whether somebody meant to write the kind of a CSV."""
    return bool(close_matches(kind, (CSV_KIND,), 1, _ALIKE))


def _no_csv(folder: Folder, manifests: Folder, files: Sequence[BundleFile]) -> Diagnostic:
    """Return the finding about a bundle in which no file is a CSV or resembles one."""
    if not files:
        return rules.NO_BUNDLE_OBJECTS.finding(Location(folder.path or "."), path=manifests.path)
    almost = next((f.manifest for f in files if is_almost_csv(f.manifest.object["kind"])), None)
    if almost is None:
        hint = "Add the ClusterServiceVersion to manifests/."
        return rules.NO_CSV.finding(Location(folder.path or "."), path=manifests.path, hint=hint)
    hint = did_you_mean(f"{CSV_KIND} instead of {almost.object['kind']}")
    return rules.NO_CSV.finding(locate(almost.source, ("kind",)), path=manifests.path, hint=hint)


def files_of(bundle: Bundle) -> Iterator[str]:
    """The files of a bundle that count, relative to the workspace."""
    folder = f"{bundle.directory}/{MANIFESTS}" if bundle.directory else MANIFESTS
    return (f"{folder}/{file.name}" for file in bundle.files)


def inputs_of(bundles: Collection[Bundle]) -> Inputs:
    """Return which files of bundles count, and which objects in them do not."""
    files = frozenset(path for bundle in bundles for path in files_of(bundle))
    if not any(bundle.unused for bundle in bundles):
        return Inputs(files, content=files)

    return Inputs(
        files,
        tuple(Unused(manifest, Reason.FURTHER) for bundle in bundles for manifest in bundle.unused),
        content=files,
    )


def _manifest_files(
    root: Path, folder: Folder, report: Report, read: Reader
) -> tuple[list[BundleFile], list[_UnreadableFile], list[Manifest]]:
    """The files that hold an object, those that can't be read, and the objects behind the first one of a file."""
    files: list[BundleFile] = []
    broken: list[_UnreadableFile] = []
    unused: list[Manifest] = []
    for name in folder.files:
        if name.startswith("."):
            continue
        path = folder.join(name)
        text = read_text(root, path, report)
        if text is None:
            continue
        findings = Report()
        documents = [document for document in read(path, text, findings) if document.value is not None]
        problem = next((finding for finding in findings if finding.severity is Severity.ERROR), None)
        if problem is not None:
            broken.append(_UnreadableFile(path, problem, says_csv(text)))
            continue
        for diagnostic in findings:
            report.add(diagnostic)
        document = _first_object(path, text, documents, report)
        if document is None:
            continue
        obj = {**_with_usual_keys(document.value)}
        obj["metadata"] = obj.get("metadata") or {}
        files.append(BundleFile(name, Manifest(obj, document.source)))
        if len(documents) > 1:
            unused += (manifest for further in documents[1:] for manifest in applied_objects(further))
    return files, broken, unused


def _first_object(path: str, text: str, documents: Sequence[Document], report: Report) -> Document | None:
    """The first document of a file (rules 2 and 5 of R-CAT-101), None when that is empty or no object.

    `documents` are those that are not empty. OLM's first one is empty when nothing but comments, blank lines and
    one more --- precede a ---.
    """
    if not documents:
        return None
    first = documents[0]
    # Kubernetes ends a document at every line of --- that follows any line, be it a comment, blank, or --- itself.
    if "\n---" in text and all(part.value is None for part in read(path, next(parts(text)), Report())):
        which, hint = ", which is empty", "Begin the file with the object, or with a single line of ---."
        place = locate(first.source, ())
        report.add(rules.SEVERAL_DOCUMENTS.finding(place, path=path, which=which, hint=hint))
        return None
    if len(documents) > 1:
        place, hint = locate(documents[1].source, ()), "Split the file: one object a file."
        report.add(rules.SEVERAL_DOCUMENTS.finding(place, path=path, which="", hint=hint))
    usual = _with_usual_keys(first.value) if isinstance(first.value, dict) else {}
    keys: tuple[str, ...] = ()
    hint = "Move the file out of manifests/, or give it apiVersion and kind."
    if not isinstance(first.value, dict):
        cause = "it is not a mapping"
    elif not isinstance(usual.get("kind"), str) or not usual["kind"]:
        cause = "Object 'Kind' is missing"
    elif not isinstance(usual.get("metadata") or {}, dict):
        cause, keys, hint = "its metadata is not a mapping", ("metadata",), "Write the name below metadata: `name: …`."
    else:
        return first
    report.add(rules.NOT_DECODED.finding(locate(first.source, keys), path=path, cause=cause, hint=hint))
    return None


def _with_usual_keys(value: dict[str, Any]) -> dict[str, Any]:
    if "kind" in value and "apiVersion" in value:
        return value
    renamed = {key: _TOP_KEYS.get(fold(key), key) for key in value}
    return {new: value[old] for old, new in renamed.items() if old == new or new not in value}


def _metadata_roles(root: Path, folder: Folder, report: Report) -> dict[str, Any]:
    """The first non-empty content of each role, over all files of metadata/ (R-CAT-102), and the `source` of the
    properties."""
    roles: dict[str, Any] = {"annotations": None, "dependencies": None, "properties": None, "source": None}
    for path in folder.walk():
        text = read_text(root, path, report)
        documents = read(path, text, Report()) if text is not None else []
        value = documents[0].value if documents else None
        if not isinstance(value, Mapping):
            continue
        if roles["annotations"] is None and isinstance(value.get("annotations"), Mapping):
            roles["annotations"] = annotations_of(documents[0])
        for role in ("dependencies", "properties"):
            if roles[role] is None and isinstance(value.get(role), list) and value[role]:
                roles[role] = value[role]
                roles["source"] = documents[0].source if role == "properties" else roles["source"]
    return roles


def _no_annotations(root: Path, metadata: Folder) -> Diagnostic:
    """Report that a bundle has no annotations, at the file that was meant to hold them."""
    place = Location(metadata.path)
    hint = f"Add metadata/annotations.yaml with {PACKAGE} and …channels.v1."
    for path in metadata.walk():
        if path.rpartition("/")[2].startswith(ANNOTATIONS_FILE):
            findings = Report()
            documents = read(path, read_text(root, path, Report()) or "", findings)
            problem = next((finding for finding in findings if finding.severity is Severity.ERROR), None)
            if problem is not None:
                place, hint = problem.location or place, f"The file is {problem.message}. {problem.hint}"
            elif documents:
                keys, hint = unfit_annotations(documents[0])
                place = locate(documents[0].source, keys)
            break
    return rules.NO_ANNOTATIONS.finding(place, path=metadata.path, hint=hint)


def suggested_namespace(annotations: Mapping[str, str]) -> str:
    """The namespace that the annotations of a CSV suggest, "" for none."""
    if annotations.get(SUGGESTED):
        return annotations[SUGGESTED]
    try:
        template = unmarshal(annotations.get(SUGGESTED_TEMPLATE) or "{}")
    except ValueError:
        return ""
    return name_of(mapping(template))


def _items(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value or () if isinstance(item, Mapping))


def _check_owned_crds(bundle: Bundle, report: Report) -> None:
    """Point 8 of R-CAT-101: what the CSV owns must be in the bundle."""
    provided = {str(api) for api in provided_apis(bundle.objects)}
    # On the raw object: a CSV that can't be decoded is reported where it is installed, and its CRDs are checked all the
    # same.
    spec = bundle.csv.object.get("spec")
    described = spec.get("customresourcedefinitions") if isinstance(spec, dict) else None
    owned = described.get("owned") if isinstance(described, dict) else None
    for index, item in enumerate(owned if isinstance(owned, list) else ()):
        if not isinstance(item, Mapping):
            continue
        name = as_text(item.get("name"))
        plural, dot, group = name.partition(".")
        api = f"{group}/{item.get('version')}/{item.get('kind')} ({plural})"
        if dot and api in provided:
            continue
        place = locate(bundle.csv.source, ("spec", "customresourcedefinitions", "owned", index))
        if not dot:
            report.add(rules.NO_DOT.finding(place, bundle=bundle.name, name=name))
        else:
            listed = "map[" + " ".join(f"{key}:{{}}" for key in sorted(provided)) + "]"
            report.add(rules.MISSING_CRD.finding(place, bundle=bundle.name, api=api, found=listed))


def _check_kinds(bundle: Bundle, report: Report) -> None:
    """OLM decides by kind alone, so an object of another API with a core kind's name becomes that core object."""
    for file in bundle.files:
        obj = file.manifest.object
        api, core = as_text(obj.get("apiVersion")), CORE_KINDS.get(obj["kind"])
        if core is None or api == core:
            continue
        is_sample = bool(api) and split_api_version(api)[0] != split_api_version(core)[0]
        hint = "Move sample objects out of manifests/." if is_sample else f"Write apiVersion: {core}."
        which = f"of {api}" if api else "without apiVersion"
        place = locate(file.manifest.source, ("kind",))
        report.add(rules.CONFLICTING_KINDS.finding(place, kind=obj["kind"], which=which, core=core, hint=hint))


# Projects of operator-sdk: repositories in which an operator is written, and which generate its bundle.
#
# Their config/ is what the bundle is generated from, and what developers apply to try things out; samples are for
# users. What OLM gets to see is the bundle alone.

BUNDLE_FOLDER = "bundle"
_CSV_BASES = ("config", "manifests", "bases")
"""The folder with the sources of a project's CSV; a project of kubebuilder alone has no such folder."""
_CSV_FILE = ".clusterserviceversion.yaml"


def project_bundle(folder: Folder) -> Folder | None:
    """The bundle of the project in `folder`, None where it has none or is no project."""
    bundle = folder.folder(BUNDLE_FOLDER) if PROJECT_FILE in folder.files else None
    return bundle if bundle is not None and is_bundle(bundle) else None


def project_bundles(folder: Folder) -> Folder | None:
    """Return what a project has for OLM: its bundle, or the folder with one for each edition of its operator; None
    where it has neither or is no project."""
    below = folder.folder(BUNDLE_FOLDER) if PROJECT_FILE in folder.files else None
    return below if below is not None and (is_bundle(below) or any(True for _ in bundles_in(below))) else None


def is_project(folder: Folder) -> bool:
    """Return whether a folder is a project of which the bundles alone are compiled, also if they are not there."""
    if PROJECT_FILE not in folder.files:
        return False
    return project_bundles(folder) is not None or (folder.folder(BUNDLE_FOLDER) is None and _has_csv_bases(folder))


def compiled_part(folder: Folder) -> Folder:
    """Return what of a folder is compiled: of a project its bundles, of any other all but the sources of bundles."""
    bundles = project_bundles(folder)
    return _without_sources(folder) if bundles is None else folder._replace(files=(), folders=(bundles,), links=())


def _without_sources(folder: Folder) -> Folder:
    """Remove the sources from which the projects in a folder generate their bundles: the whole config/ of a project
    that has its bundle, and the CSVs in config/ of any other. They are not applied."""
    has_bundles = project_bundles(folder) is not None
    if has_bundles or _has_csv_bases(folder):
        folder = _without(folder, _CSV_BASES[:1] if has_bundles else _CSV_BASES)
    return folder._replace(folders=tuple(map(_without_sources, folder.folders)))


def _without(folder: Folder, path: Sequence[str]) -> Folder:
    """A folder without what is at a path below it."""
    removed = folder.folder(path[0])
    rest = [_without(removed, path[1:])] if removed is not None and path[1:] else []
    folders = [each for below in folder.folders for each in ([below] if below is not removed else rest)]
    return folder._replace(folders=tuple(folders))


def report_project(folder: Folder, report: Report) -> bool:
    """Say what a project is compiled as, or that it has no bundle to compile; whether there is something to compile."""
    if project_bundles(folder) is not None:
        report.add(
            foreign_rules.PROJECT.finding(Location(folder.join(PROJECT_FILE)), path=f"{folder.join(BUNDLE_FOLDER)}/")
        )
        return True
    if not is_project(folder):
        return True
    report.add(foreign_rules.NO_BUNDLE.finding(Location(folder.join(PROJECT_FILE))))
    return False


def _has_csv_bases(folder: Folder) -> bool:
    below: Folder | None = folder
    for name in _CSV_BASES:
        below = below.folder(name) if below is not None else None
    return below is not None and any(name.endswith(_CSV_FILE) for name in below.files)


_OPENSHIFT_GROUPS = ".openshift.io"
_SUBSCRIBED = "operators.openshift.io/valid-subscription"
_RESERVED = "openshift-"
"""The prefix of the namespaces that an OpenShift reserves for itself."""


def openshift_place_of(bundle: Bundle) -> Location | None:
    """Return the place that shows that a bundle is for OpenShift, None where none does: an object of a group of
    OpenShift, a namespace that OpenShift reserves, or the subscriptions of Red Hat that the operator is part of."""
    csv = bundle.installed
    for file in bundle.files:
        if gvk_of(file.manifest.object).group.endswith(_OPENSHIFT_GROUPS):
            return at(file.manifest.source, "apiVersion") or Location(file.manifest.source.path)
    annotations = mapping(metadata_of(csv.object).get("annotations"))
    is_reserved = as_text(suggested_namespace(annotations)).startswith(_RESERVED)
    names = (SUGGESTED, SUGGESTED_TEMPLATE) if is_reserved else (_SUBSCRIBED,)
    name = next((name for name in names if annotations.get(name)), "")
    return at(csv.source, "metadata", "annotations", name) if name else None
