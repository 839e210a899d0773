"""The files by which tools build what they apply of a folder, where olmc does not: charts, kustomizations, packages of
kpt, helmfiles and Jsonnet, with all that these read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import (
    MAX_FILE_BYTES,
    Folder,
    ScannedFolder,
    fits_parts,
    is_file,
    no_folder,
    read_text,
    real_path,
    scan_everything,
)
from olmc.compiler.load.gitops_files import all_texts, imports_of, without_fields
from olmc.compiler.load.kustomization import NAMES as KUSTOMIZATIONS
from olmc.compiler.load.kustomization import (
    OBJECT_FIELDS,
    PLUGIN_FIELDS,
    KustomizationTree,
    only_lists_output,
    policy_generators,
    read_kustomization,
    secret_generators,
)
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.policy_generators import GenerationError, policies_of
from olmc.compiler.load.unsaved import has_absent, is_absent
from olmc.compiler.load.workspace_files import CHART_FILE, digest_at, objects_of
from olmc.compiler.model.workspace import Inputs
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, sha256
from olmc.k8s.objects import KubernetesObject, mapping
from olmc.k8s.yaml import dump, read
from olmc.k8s.yaml.split import split_documents

_KUSTOMIZE, _HELMFILE = "Kustomize", "helmfile"
_NAMES = {
    **dict.fromkeys(KUSTOMIZATIONS, _KUSTOMIZE), CHART_FILE: "Helm", "Kptfile": "kpt",
    **dict.fromkeys(("helmfile.yaml", "helmfile.yml", "helmfile.yaml.gotmpl", "helmfile.lock"), _HELMFILE),
    **dict.fromkeys(("jsonnetfile.json", "jsonnetfile.lock.json"), "Jsonnet"),
}  # fmt: skip
_JSONNET = (".jsonnet", ".libsonnet")
_HELMFILES, _TEMPLATE = "helmfile.d", ".gotmpl"
_HELMFILE_STARTS = tuple(f"{_HELMFILE}{mark}" for mark in "-_.")
_OF_HELMFILE = ("releases", "helmfiles", "bases", "environments", "templates", "helmDefaults")
"""Fields of helmfiles: in a file that has one of them at its beginning of a line, helmfile looks for more files."""
_READING = frozenset(("readFile", "readDir", "readDirEntries"))
_WILD = frozenset("*?[")
_LIBRARIES = ("", "lib", "vendor")
"""The folders of imports in which tools for Jsonnet look, in each folder above."""
_LONGEST = 1_000
_MOST_PATHS = 300_000
"""The number of texts that are tried as paths. With more texts, which no repository needs, any file may be named."""


class BuildFile(NamedTuple):
    """A file that decides the output of a tool: a digest of its content. For another file that the build reads, `lead`
    is the file that makes the folder a build, "" for that file itself."""

    tool: str
    digest: str
    lead: str = ""


class _TooManyPathsError(Exception):
    """There are too many texts to look for files that they name."""


class _PathSearch:
    """The number of texts that were tried as paths, and the texts in the files that configure plugins: many
    kustomizations may have the same."""

    def __init__(self) -> None:
        self.paths = 0
        self.plugins: dict[str, tuple[str, ...]] = {}


class BuildTree(NamedTuple):
    """All files of a folder, with whether they are links that are not followed, and the folders, by path; and the paths
    of all links, to files and to folders. `libraries` are the folders in which Jsonnet looks as well."""

    root: Path
    files: Mapping[str, bool]
    folders: Mapping[str, Folder]
    linked: tuple[str, ...]
    seen: _PathSearch
    libraries: tuple[str, ...] = ()

    def joined(self, folder: str, text: str) -> str:
        """Return where a text leads from a folder, "" for the root."""
        self.seen.paths += 1
        if self.seen.paths > _MOST_PATHS:
            raise _TooManyPathsError
        path = posixpath.normpath(posixpath.join(folder, text))
        return "" if path == "." else path

    def paths(self, folder: str, text: str) -> Iterator[str]:
        """Yield the paths in a text: the text itself, or the end of `key=path`."""
        if text and len(text) <= _LONGEST and "\n" not in text:
            yield self.joined(folder, text)
            if "=" in text:
                yield self.joined(folder, text.partition("=")[2])


def build_tree(root: Path, known: ScannedFolder | None = None) -> BuildTree:
    """Return the files at any depth of a folder, without regard to ignore patterns; none without a folder. `known` is
    an earlier scan of it."""
    whole = scan_everything(root, known=known, by_package=True) if not no_folder(root) else None
    folders = {folder.path: folder for folder in _folders(whole)} if whole is not None else {}
    files = {folder.join(name): False for folder in folders.values() for name in folder.files}
    files |= {folder.join(name): True for folder in folders.values() for name in folder.links}
    linked = (folder.join(name) for folder in folders.values() for name in (*folder.followed, *folder.links))
    if has_absent(root):
        files = {path: is_link for path, is_link in files.items() if not is_absent(root / path)}
    return BuildTree(root, files, folders, tuple(linked), _PathSearch())


def build_files(tree: BuildTree, inputs: Inputs) -> dict[str, BuildFile]:
    """The files by which a folder of a tree is built, each with a digest of its content.

    What can't be read, or is a link that is not followed, has a digest of its own. What `inputs` are compiled from is
    none of them: it is compared as what it is compiled to.
    """
    root, files = tree.root, tree.files
    builders = {path: tool for path in files if (tool := builder(path)) and not _is_listing(tree, path)}
    leads: dict[str, str] = {}
    whole: set[str] = set()  # what is read as more than the objects in it
    as_text: set[str] = set()  # what is read with its comments
    for path in sorted(builders, key=lambda path: (-path.count("/"), path)):  # the innermost chart has its files
        try:
            for named, is_for_objects in _read_by(tree, path, builders[path]):
                leads.setdefault(named, path)
                whole |= {named} if not is_for_objects else set()
                as_text |= {named} if builders[path] != _KUSTOMIZE or not is_for_objects else set()
        except _TooManyPathsError:
            leads = {**dict.fromkeys(files, path), **leads}
            break
    found = {path: BuildFile(tool, "") for path, tool in builders.items()}
    found |= {path: BuildFile(builders[lead], "", lead) for path, lead in leads.items() if path not in builders}
    kept = (path for path in sorted(found)
            if not _is_compared(root, path, inputs, is_builder=path in builders or path in whole))  # fmt: skip

    def digest(path: str) -> str:
        is_kustomization = builders.get(path) == _KUSTOMIZE
        is_plain = (is_kustomization or path not in as_text) and found[path].tool == _KUSTOMIZE and not files[path]
        return _written_digest(root, path) if is_plain else digest_at(root / path, is_link=files[path])

    return {path: found[path]._replace(digest=digest(path)) for path in kept}


def _written_digest(root: Path, path: str) -> str:
    """The digest of a file that kustomize reads as YAML, without the blank lines, comments of their own and blanks at
    ends of lines that mean nothing to it."""
    text = read_text(root, path, Report()) if path.endswith(SUFFIXES) else None
    lines = [line.rstrip() for line in (text or "").splitlines()]
    plain = "".join(f"{line}\n" for line in lines if line and not line.lstrip().startswith("#"))
    if text is None or "\r" in text:
        return digest_at(root / path)
    # In a text of several lines all of that may be content.
    if plain != text and _values_in(plain) != (_values_in(text) or [None]):
        return digest_at(root / path)
    return str(sha256(plain.encode("utf-8", "surrogatepass")).hexdigest())


def _values_in(text: str) -> list[Any] | None:
    """The values of the documents of a YAML, None for one with a mistake."""
    report = Report()
    values = [document.value for document in read("", text, report)]
    return None if report.found else values


def builder(path: str) -> str:
    """The tool that builds a folder by a file, "" if it is no such file."""
    folder, _, name = path.rpartition("/")
    is_helmfile = name.startswith(_HELMFILE_STARTS) or folder.rpartition("/")[2] == _HELMFILES
    if is_helmfile and name.removesuffix(_TEMPLATE).endswith(SUFFIXES):
        return _HELMFILE
    return _NAMES.get(name, "") or ("Jsonnet" if name.endswith(_JSONNET) else "")


def _folders(folder: Folder) -> Iterator[Folder]:
    yield folder
    for below in folder.folders:
        yield from _folders(below)


def _is_listing(tree: BuildTree, path: str) -> bool:
    """Return whether a file is none that builds: a list of the output of kustomize, or objects in a file that is only
    named as helmfiles are."""
    text = "" if tree.files[path] else read_text(tree.root, path, Report()) or ""
    is_alike = path.rpartition("/")[2].startswith(_HELMFILE_STARTS[0])
    return only_lists_output(text) or (is_alike and any(objects_of(each)[0] for each in split_documents(text) or ()))


def _is_compared(root: Path, path: str, inputs: Inputs, *, is_builder: bool) -> bool:
    """Return whether all that a file says is in what is compared: in what was built of it, a bundle, a catalog, or
    objects."""
    if path in inputs.parts or path not in inputs.files:
        return False
    if path in inputs.built or is_builder:
        return path in inputs.built
    if path in inputs.content:
        return True
    # Of values, and of other files without objects, nothing is compiled.
    text = read_text(root, path, Report())
    documents = split_documents(text) if text is not None else None
    return documents is not None and all(objects_of(document)[0] for document in documents)


def _read_by(tree: BuildTree, path: str, tool: str) -> Iterable[tuple[str, bool]]:
    """The files that a build reads because of a file, and whether it takes no more of each than its objects."""
    if tree.files[path]:
        return ()
    folder = path.rpartition("/")[0]
    if tool == "Helm":
        # Templates can read any file of their chart.
        below = tree.folders[folder]
        names = [inner.join(name) for inner in _outside_of_charts(below) for name in (*inner.files, *inner.links)]
        return [(name, True) for name in names]
    if tool == "Jsonnet":
        return [(name, False) for name in _imported(tree, path)]
    if tool == _HELMFILE:
        return [(name, False) for name in _read_by_helmfile(tree, path)]
    text = read_text(tree.root, path, Report()) or ""
    return _named_by_kustomization(tree, folder, text)


def _outside_of_charts(chart: Folder) -> Iterator[Folder]:
    """The folders of a chart, without the charts in it, which have their own files: each file is looked at once."""
    yield chart
    for below in chart.folders:
        if CHART_FILE not in below.files:
            yield from _outside_of_charts(below)


def _imported(tree: BuildTree, start: str) -> Iterator[str]:
    """The files that a file in Jsonnet imports, and those that these import if their names do not say Jsonnet; each
    file of the folder where a path is computed."""
    waiting, seen = [start], {start}
    while waiting:
        path = waiting.pop()
        folder = path.rpartition("/")[0]
        for imported in dict.fromkeys(imports_of(read_text(tree.root, path, Report()) or "")):
            found = [*_import_places(tree, folder, imported.path)]
            yield from found
            if imported.keyword == "import":
                waiting += [name for name in found if not builder(name) and not tree.files[name] and name not in seen]
                seen.update(found)


def _import_places(tree: BuildTree, folder: str, name: str | None) -> Iterator[str]:
    if name is None:
        yield from tree.folders[folder].walk()
        return
    above = [folder]
    while above[-1]:
        above.append(above[-1].rpartition("/")[0])
    tops = (*(posixpath.join(one, library) for one in above for library in _LIBRARIES), *tree.libraries)
    yield from (path for top in dict.fromkeys(tops) if (path := tree.joined(top, name)) in tree.files)


def _read_by_helmfile(tree: BuildTree, start: str) -> Iterator[str]:
    """The files that a helmfile names, also as patterns and in templates, and those that these name if they are
    helmfiles or templates; each file of the folder where a template computes a name."""
    top = start.rpartition("/")[0]
    waiting, seen = [start], {start}
    while waiting:
        path = waiting.pop()
        text = read_text(tree.root, path, Report()) or ""
        if path != start and "{{" not in text and not _is_part_of_helmfile(text):
            continue
        for folder in dict.fromkeys((path.rpartition("/")[0], top)):  # bases are read as a part of their helmfile
            for name in _named_by_helmfile(tree, folder, text):
                if name not in seen:
                    yield name
                    seen.add(name)
                    waiting += [name] if not tree.files[name] else []


def _is_part_of_helmfile(text: str) -> bool:
    return any(line.startswith(_OF_HELMFILE) for line in text.splitlines())


def _named_by_helmfile(tree: BuildTree, folder: str, text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    bodies = [part.partition("}}")[0] for part in "\n".join(lines).split("{{")[1:]]
    bodies = [body for body in bodies if not body.lstrip("- ").startswith("/*")]
    words = [word.strip("\"',[]{}()") for line in lines for word in without_fields(line).replace(",", " ").split()]
    values = all_texts([document.value for document in read("", text, Report())]) if not bodies else ()
    for named in dict.fromkeys((*words, *map(without_fields, values))):
        yield from _matching(tree, folder, named.partition("file://")[2].partition("#")[0] or named)
    for body in dict.fromkeys(bodies):
        quoted = [*body.split('"')[1::2], *body.split("`")[1::2]]
        # In `printf` a `%` begins a verb, for which any text may stand.
        found = [name for one in quoted for name in _matching(tree, folder, _without_verbs(one))]
        yield from found
        if not found and _reads_unknown(body) and folder in tree.folders:
            yield from (name for name in tree.folders[folder].walk() if name in tree.files)


def _without_verbs(text: str) -> str:
    head, *others = text.split("%")
    return head + "".join(f"*{other[1:]}" for other in others)


def _reads_unknown(body: str) -> bool:
    """Return whether a template reads a file whose name it computes."""
    words = body.replace("(", " ( ").replace("|", " | ").split()
    names = (following for word, following in zip(words, [*words[1:], "|"], strict=True) if word in _READING)
    return any(name[:1] not in ('"', "`") for name in names)


def _matching(tree: BuildTree, folder: str, text: str) -> Iterator[str]:
    """The files that a text names from a folder: as it is, or as a pattern."""
    if not _WILD & set(text):
        yield from (path for path in tree.paths(folder, text) if path in tree.files)
    elif len(text) <= _LONGEST and any(char.isalnum() for char in text):
        pattern = tree.joined(folder, text)
        parts = pattern.split("/")
        fixed = next(number for number, part in enumerate(parts) if _WILD & set(part))
        below = tree.folders.get("/".join(parts[:fixed]))
        for path in below.walk() if below is not None else ():
            tree.joined("", "")  # each counts as a path that is tried
            # A field of a template may stand for several parts.
            if path in tree.files and (fits_parts(path.split("/"), parts) or fnmatchcase(path, pattern)):
                yield path


def _named_by_kustomization(tree: BuildTree, folder: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield the files that a kustomization, or the configuration of its plugins, names in any field. Each version of
    kustomize adds fields, and a text that is the path of a file is rarely anything else."""
    for document in read("", text, Report()):
        fields = mapping(document.value).items() if isinstance(document.value, Mapping) else [("", document.value)]
        for field, value in fields:
            for path in _named_in(tree, folder, value):
                yield path, field in OBJECT_FIELDS
        for entry in all_texts([mapping(document.value).get(field) for field in PLUGIN_FIELDS]):
            for path in _named_by_plugin(tree, folder, _texts_of_plugin(tree, folder, entry)):
                yield path, False


def _named_in(tree: BuildTree, folder: str, value: Any) -> Iterator[str]:
    for text in all_texts(value):
        yield from (path for path in tree.paths(folder, text) if path in tree.files)


def _texts_of_plugin(tree: BuildTree, folder: str, entry: str) -> Iterable[str]:
    """The texts in an entry that is YAML itself, or in the file that it names."""
    if "\n" in entry or "{" in entry:
        return tuple(_inner_texts([document.value for document in read("", entry, Report())]))
    path = tree.joined(folder, entry)
    if path in tree.files and path not in tree.seen.plugins:
        documents = read("", read_text(tree.root, path, Report()) or "", Report())
        tree.seen.plugins[path] = tuple(_inner_texts([document.value for document in documents]))
    return tree.seen.plugins.get(path, ())


def _named_by_plugin(tree: BuildTree, folder: str, texts: Iterable[str]) -> Iterator[str]:
    for path in (path for text in dict.fromkeys(texts) for path in tree.paths(folder, text)):
        if path in tree.files:
            yield path
        elif path in tree.folders and path != folder:  # generators of policies take all files of a folder
            for name in tree.folders[path].files:
                yield tree.joined(path, name)


def _inner_texts(values: Sequence[Any]) -> Iterator[str]:
    """All texts in values, and those in texts that are YAML themselves, as annotations for functions are."""
    for text in all_texts(values):
        yield text
        if "\n" in text or "{" in text:
            yield from all_texts([document.value for document in read("", text, Report())])


# Kustomizations in a place of their own, with the Policies that their PolicyGenerators make in the place of these.
#
# kustomize itself then does with the Policies what the kustomizations say: patches, labels, names.

Run = Callable[[Path], str]
"""A function that builds a folder with kustomize; raises GenerationError."""

_POLICIES = "olmc-policies.yaml"


def staged(tree: KustomizationTree, start: Path, place: Path, run: Run) -> tuple[Path, Path]:
    """Write a copy of all that a build of the kustomization `start` reads into the folder `place`.

    Gives the folder that everything was below of, and the folder to build. Raises GenerationError, and OSError.
    """
    sources = (*tree.kustomizations, *tree.files)
    top = Path(os.path.commonpath([path.parent for path in sources]))
    for path in sources:
        if not is_file(path) or path.stat().st_size > MAX_FILE_BYTES:
            continue  # kustomize says what it lacks
        target = place / path.relative_to(top)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    kept_out: dict[Path, set[tuple[str | int, ...]]] = {path: set() for path in tree.generated}
    for missing in tree.kept_out:
        kept_out.setdefault(missing.kustomization, set()).add(missing.keys[:2])
    for kustomization, items in kept_out.items():
        target = place / kustomization.relative_to(top)
        content = _without(read_kustomization(kustomization, "")[0], items)
        if kustomization in tree.generated:
            content = _with_policies(content, kustomization.parent, target, place, run)
        # Without any field that counts kustomize would refuse it as empty.
        target.write_text(dump([{"generatorOptions": {}, **content}]), "utf-8")
    return top, place / real_path(start).parent.relative_to(top)


def _without(content: Mapping[str, Any], left_out: Set[tuple[str | int, ...]]) -> dict[str, Any]:
    """A kustomization without the items at these places, each a field and a number."""
    return {
        field: [item for number, item in enumerate(value) if (field, number) not in left_out]
        if isinstance(value, list)
        else value
        for field, value in content.items()
    }


def _with_policies(content: Mapping[str, Any], folder: Path, target: Path, place: Path, run: Run) -> dict[str, Any]:
    """A kustomization with the Policies in the place of its generators of policies, and without those of Secrets."""
    generators = policy_generators(content, folder)
    left_out = generators.keys() | secret_generators(content, folder).keys()
    policies = [
        policy
        for generator in generators.values()
        for configuration in generator
        for policy in policies_of(configuration, folder, lambda path: _objects(run(path)), _patching(place, run))
    ]
    others = [entry for number, entry in enumerate(content["generators"]) if number not in left_out]
    resources = content.get("resources")
    rewritten: dict[str, Any] = {key: value for key, value in content.items() if key != "generators"}
    rewritten["resources"] = [*(resources if isinstance(resources, list) else []), *([_POLICIES] if generators else [])]
    if others:
        rewritten["generators"] = others
    if generators:
        target.with_name(_POLICIES).write_text(dump(policies), "utf-8")
    return rewritten


def _patching(place: Path, run: Run) -> Callable[[list[dict[str, Any]], list[Mapping[str, Any]]], list[dict[str, Any]]]:
    """Return how patches of manifests are applied: by a kustomization that holds nothing else."""

    def patched(objects: list[dict[str, Any]], patches: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        folder = place / ".olmc-patched"
        folder.mkdir(exist_ok=True)
        names = [f"patch-{number}.yaml" for number in range(len(patches))]
        for name, patch in zip(names, patches, strict=True):
            (folder / name).write_text(dump([patch]), "utf-8")
        (folder / "objects.yaml").write_text(dump(objects), "utf-8")
        content = {"resources": ["objects.yaml"], "patches": [{"path": name} for name in names]}
        (folder / "kustomization.yaml").write_text(dump([content]), "utf-8")
        return [dict(obj) for obj in _objects(run(folder))]

    return patched


def _objects(text: str) -> list[KubernetesObject]:
    report = Report()
    values = [document.value for document in read("", text, report) if isinstance(document.value, dict)]
    if report.failed:
        raise GenerationError("what kustomize prints can't be read")
    return values
