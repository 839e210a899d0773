"""Find the files that a kustomization is built of, and its remote references.

A kustomization names folders with kustomizations of their own, also beside and above it, and files. kustomize would
fetch references with a URL; olmc only names them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import MAX_FILE_BYTES, Folder, is_file, is_git_ignored, mode_of, real_path
from olmc.compiler.model.workspace import GENERATED, SCAFFOLDED
from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import Manifest, mapping
from olmc.k8s.yaml import locate, read

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
REPOSITORY_MARK = ".git"
"""The mark of the top of a repository: a folder, or in shared work trees a file."""

# Lists of folders or files, lists of files, and where files stand in lists of mappings.
_FOLDERS = ("resources", "bases", "components", "generators", "transformers", "validators")
_FILES = ("crds", "configurations", "patchesStrategicMerge")
_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_CHARTS = ("HelmChartInflationGenerator",)
OBJECT_FIELDS = frozenset({"resources", "bases"})
"""Fields that name files with objects, of which nothing else counts."""
PLUGIN_FIELDS = ("generators", "transformers", "validators")
"""Fields whose entries configure plugins."""
PART_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "configurations", *PLUGIN_FIELDS)
"""Fields that name files with what is done to objects, and no objects."""
_URL = regex(r"^[A-Za-z][A-Za-z0-9+.-]*://")
# As kustomize knows repositories: with a scheme, a user, a host that it knows, or marks of a place inside of one.
_REPOSITORY = regex(
    r"^[A-Za-z][A-Za-z0-9+.-]*:{1,2}//|^git::|^[\w.-]+@[\w.-]+[:/]|^(www\.)?(github|gitlab|bitbucket)\.(com|org)[/:]"
    r"|[?&](ref|version|timeout|submodules)=|\.git($|[/?])|.//",
    re.IGNORECASE,
)


class KustomizationReference(NamedTuple):
    """A reference of a kustomization: the keys that lead to it, the text, whether it may be a folder, and whether it is
    a Helm chart."""

    keys: tuple[str | int, ...]
    text: str
    may_be_folder: bool = False
    is_chart: bool = False


class Remote(NamedTuple):
    """A remote reference of a kustomization, and its place."""

    text: str
    place: Location
    is_chart: bool = False


class MissingFile(NamedTuple):
    """A file that a kustomization names and the repository lacks: as a resolved path, the keys and the text of the
    reference, and its place. It also states whether a build without it only lacks its objects, and whether a
    `.gitignore` keeps it out of the repository. `of_policies`: a PolicyGenerator names it."""

    path: Path
    kustomization: Path
    keys: tuple[str | int, ...]
    text: str
    place: Location
    is_kept_out: bool
    of_policies: bool


class KustomizationTree(NamedTuple):
    """All that a build reads, as far as the kustomizations say it: kustomizations, and the other files that they name,
    each as a resolved path; what is remote; the local paths that leave the repository; those that lead nowhere; the
    kustomizations with PolicyGenerators, whose manifests are among the files; the generators that make Secrets only, of
    which nothing is read; and the kinds of plugins that kustomize does not have itself."""

    kustomizations: tuple[Path, ...]
    files: tuple[Path, ...]
    remotes: tuple[Remote, ...] = ()
    outside: tuple[Remote, ...] = ()
    missing: tuple[MissingFile, ...] = ()
    generated: tuple[Path, ...] = ()
    secrets: tuple[Remote, ...] = ()
    plugins: tuple[Remote, ...] = ()

    @property
    def kept_out(self) -> tuple[MissingFile, ...]:
        """The missing files without which it is built."""
        return tuple(missing for missing in self.missing if missing.is_kept_out)


def kustomization_in(root: Path, folder: Folder) -> Path | None:
    """The kustomization of a folder of the workspace at `root`, None where there is none or olmc wrote it."""
    name = next((name for name in NAMES if name in folder.files), None)
    if name is None:
        return None
    path = root / folder.join(name)
    text = _text_of(path) or ""
    return None if text.startswith(SCAFFOLDED) or only_lists_output(text) else path


def only_lists_output(text: str) -> bool:
    """Return whether a kustomization is as olmc render writes it, so that it does no more than name the files beside
    it."""
    if not text.startswith(GENERATED):
        return False
    report = Report()
    values = [document.value for document in read("", text, report)]
    if report.failed or len(values) != 1 or mapping(values[0]).keys() != {"apiVersion", "kind", "resources"}:
        return False
    resources = values[0]["resources"]
    return isinstance(resources, list) and all(isinstance(name, str) and "/" not in name for name in resources)


def read_kustomization(path: Path, shown: str) -> tuple[Mapping[str, Any], Source]:
    """The content of a kustomization, {} where it can't be read; `shown` is its path in messages."""
    text = _text_of(path)
    documents = read(shown, text, Report()) if text is not None else []
    if not documents:
        return {}, Source(shown, text or "")
    return mapping(documents[0].value), documents[0].source


def references(content: Mapping[str, Any]) -> Iterator[KustomizationReference]:
    """Everything that a kustomization names, in the order of its fields' meaning."""
    for field in (*_FOLDERS, *_FILES):
        for number, entry in enumerate(_items(content, field)):
            if isinstance(entry, str) and not _is_inline(entry):
                yield KustomizationReference((field, number), entry, may_be_folder=field in _FOLDERS)
    for field in PLUGIN_FIELDS:
        for number, entry in enumerate(_items(content, field)):
            if isinstance(entry, str) and _is_inline(entry):
                yield from _of_plugins(entry, (field, number))
    for field in _WITH_PATHS:
        for number, entry in enumerate(_items(content, field)):
            if isinstance(mapping(entry).get("path"), str):
                yield KustomizationReference((field, number, "path"), entry["path"])
    for field in _GENERATORS:
        for number, entry in enumerate(_items(content, field)):
            yield from _generator_files(mapping(entry), (field, number))
    openapi = mapping(content.get("openapi")).get("path")
    if isinstance(openapi, str):
        yield KustomizationReference(("openapi", "path"), openapi)
    for field in ("helmCharts", "helmChartInflationGenerator"):
        for number, entry in enumerate(_items(content, field)):
            yield _chart(mapping(entry), (field, number))


def _generator_files(generator: Mapping[str, Any], keys: tuple[str | int, ...]) -> Iterator[KustomizationReference]:
    for field in ("files", "envs"):
        for number, entry in enumerate(_items(generator, field)):
            if isinstance(entry, str):
                # `key=file`; of a URL an equals sign may be a part.
                text = entry if _URL.match(entry) else entry.partition("=")[2] or entry
                yield KustomizationReference((*keys, field, number), text)
    if isinstance(generator.get("env"), str):
        yield KustomizationReference((*keys, "env"), generator["env"])


def _is_inline(entry: str) -> bool:
    """Return whether an entry is YAML itself, and not the path of a file of it."""
    return "\n" in entry or "{" in entry


def policy_generators(content: Mapping[str, Any], folder: Path) -> dict[int, list[Mapping[str, Any]]]:
    """The PolicyGenerators of the kustomization in `folder`, by the number of the generator that holds them."""
    entries = [entry if isinstance(entry, str) else "" for entry in _items(content, "generators")]
    if not entries:
        return {}
    from olmc.compiler.load.policy_generators import generators_in  # few kustomizations generate policies

    texts = (entry if _is_inline(entry) else _text_inside(folder, entry) for entry in entries)
    numbered = ((number, generators_in(text)) for number, text in enumerate(texts) if "PolicyGenerator" in text)
    return {number: generators for number, generators in numbered if generators}


_SECRET_KINDS = frozenset({"ksops", "ksops-exec", "sopssecretgenerator", "sopssecret", "sealedsecretgenerator"})
_SECRET_PROGRAM = regex(r"\bk?sops\b", re.IGNORECASE)


def secret_generators(content: Mapping[str, Any], folder: Path) -> dict[int, str]:
    """The generators of the kustomization in `folder` that make Secrets only, by number: the kind of the plugin."""
    found: dict[int, str] = {}
    for number, entry in enumerate(_items(content, "generators")):
        kinds = _secret_kinds(entry, folder) if isinstance(entry, str) else []
        if kinds and all(kinds):
            found[number] = kinds[0]
    return found


def _secret_kinds(entry: str, folder: Path) -> list[str]:
    """The kind of each plugin that an entry configures, "" for one that makes more than Secrets."""
    return [_secret_kind(plugin) for plugin in _configurations(entry, folder)]


def _configurations(entry: str, folder: Path) -> list[Mapping[str, Any]]:
    """The plugins that an entry configures: as YAML itself, in a file, or in the files of a plain kustomization; []
    where one of them can't be read."""
    path = _local(folder, KustomizationReference((), entry)) if not _is_inline(entry) else None
    below = next((path / name for name in NAMES if is_file(path / name)), None) if path is not None else None
    if below is not None:
        content, _ = read_kustomization(below, "")
        names = [name for name in _items(content, "resources") if isinstance(name, str)]
        texts = [_text_inside(below.parent, name) for name in names] if content.keys() <= _PLAIN else []
    else:
        texts = [entry if _is_inline(entry) else _text_inside(folder, entry)]
    values = [document.value for text in texts for document in read("", text, Report())]
    return [mapping(value) for value in values if value is not None] if all(texts) else []


_PLAIN = frozenset({"apiVersion", "kind", "resources"})


def _secret_kind(plugin: Mapping[str, Any]) -> str:
    """The kind of a plugin that makes Secrets only, "" for any other: ksops and sops are known by kind or program."""
    kind = plugin.get("kind") if isinstance(plugin.get("kind"), str) else ""
    annotations = mapping(mapping(plugin.get("metadata")).get("annotations"))
    function = annotations.get("config.kubernetes.io/function")
    is_known = str(kind).lower() in _SECRET_KINDS
    return str(kind) if is_known or (isinstance(function, str) and _SECRET_PROGRAM.search(function)) else ""


def _text_inside(folder: Path, entry: str) -> str:
    """The text of a file that the kustomization in `folder` names, "" outside of its repository."""
    path, home = _local(folder, KustomizationReference((), entry)), repository_of(folder)
    if path is None or (home is not None and not path.is_relative_to(home)) or not is_file(path):
        return ""
    return _text_of(path) or ""


def policy_references(content: Mapping[str, Any], folder: Path) -> Iterator[KustomizationReference]:
    """The files and folders that the PolicyGenerators of the kustomization in `folder` name."""
    for number, generators in policy_generators(content, folder).items():
        from olmc.compiler.load.policy_generators import paths_of

        for generator in generators:
            for path in paths_of(generator):
                yield KustomizationReference(("generators", number), path, may_be_folder=True)


def _of_plugins(text: str, keys: tuple[str | int, ...]) -> Iterator[KustomizationReference]:
    """Yield the URLs in the configuration of a generator or a transformer: it reads files as the kustomization does."""
    for document in read("", text, Report()):
        plugin = mapping(document.value)
        path = plugin.get("path")
        named = [*_generator_files(plugin, ()), *([KustomizationReference((), path)] if isinstance(path, str) else [])]
        yield from (reference._replace(keys=keys) for reference in named if _URL.match(reference.text))
        if plugin.get("kind") in _CHARTS:
            yield _chart(plugin, keys)


def _chart(chart: Mapping[str, Any], keys: tuple[str | int, ...]) -> KustomizationReference:
    texts = (chart.get("repo") or chart.get("chartRepoUrl"), chart.get("name") or chart.get("chartName"))
    return KustomizationReference(keys, " ".join(str(text) for text in texts if text), is_chart=True)


def _items(content: Mapping[str, Any], field: str) -> list[Any]:
    value = content.get(field)
    return value if isinstance(value, list) else []


class KustomizationNode(NamedTuple):
    """The references of one kustomization, as `KustomizationTree` has them for all; `below` are the kustomizations of
    the folders that it names."""

    below: tuple[Path, ...]
    files: tuple[Path, ...]
    remotes: tuple[Remote, ...]
    outside: tuple[Remote, ...]
    missing: tuple[MissingFile, ...]
    is_generated: bool
    secrets: tuple[Remote, ...]
    plugins: tuple[Remote, ...]


class SharedBases(NamedTuple):
    """The results of earlier builds of a repository, which later ones need not read again: its kustomizations, and the
    manifests in other files."""

    nodes: dict[Path, KustomizationNode]
    written: dict[Path, tuple[Manifest, ...]]


def read_tree(start: Path, root: Path, known: dict[Path, KustomizationNode] | None = None) -> KustomizationTree:
    """Return the files that a build of the kustomization `start` reads; places are relative to `root`.

    It reads no file outside of the repository that contains `root`; without a repository there is no such bound.
    `known` has the kustomizations that earlier calls with this root have read, and gets those that this one reads.
    """
    home = repository_of(root)
    known = known if known is not None else {}
    waiting, nodes = [real_path(start)], dict[Path, KustomizationNode]()
    while waiting:
        path = waiting.pop()
        if path in nodes:
            continue
        if path not in known:
            known[path] = _read_node(path, root, home)
        nodes[path] = known[path]
        waiting += known[path].below
    return KustomizationTree(
        tuple(nodes),
        tuple(dict.fromkeys(file for node in nodes.values() for file in node.files)),
        tuple(remote for node in nodes.values() for remote in node.remotes),
        tuple(outside for node in nodes.values() for outside in node.outside),
        tuple(missing for node in nodes.values() for missing in node.missing),
        tuple(path for path, node in nodes.items() if node.is_generated),
        tuple(secrets for node in nodes.values() for secrets in node.secrets),
        tuple(plugin for node in nodes.values() for plugin in node.plugins),
    )


def _read_node(path: Path, root: Path, home: Path | None) -> KustomizationNode:
    """Read a kustomization of a tree."""
    files, missing, below = list[Path](), list[MissingFile](), list[Path]()
    remotes, outside = list[Remote](), list[Remote]()
    content, source = read_kustomization(path, relative_path(path, root))
    of_policies = list(policy_references(content, path.parent))
    of_secrets = secret_generators(content, path.parent)
    secrets = (Remote(kind, locate(source, ("generators", number))) for number, kind in of_secrets.items())
    for reference in (*references(content), *of_policies):
        if reference.keys[0] == "generators" and reference.keys[1] in of_secrets:
            continue
        target = _local(path.parent, reference)
        is_there = target is not None and mode_of(target) != 0
        if target is None or (not is_there and is_remote(reference)):
            remotes.append(Remote(reference.text, locate(source, reference.keys), reference.is_chart))
        elif home is not None and not target.is_relative_to(home):
            outside.append(Remote(reference.text, locate(source, reference.keys)))
        elif not is_there:
            place, is_kept_out = locate(source, reference.keys), _is_kept_out(target, reference, home or root)
            of_policy = reference in of_policies
            missing.append(MissingFile(target, path, reference.keys, reference.text, place, is_kept_out, of_policy))
        elif target.is_dir():
            inner = next((target / name for name in NAMES if (target / name).is_file()), None)
            below += [inner] if inner is not None else []
            if inner is None and reference in of_policies:
                from olmc.compiler.load.policy_generators import files_of_folder

                files += files_of_folder(target)
        else:
            files.append(target)
            if reference.keys[0] in PLUGIN_FIELDS:
                place = Location(relative_path(target, root))
                named = _of_plugins(_text_of(target) or "", ())
                remotes += (Remote(remote.text, place, remote.is_chart) for remote in named)
    is_generated = bool(of_policies or of_secrets)
    return KustomizationNode(
        tuple(below), tuple(files), tuple(remotes), tuple(outside), tuple(missing), is_generated, tuple(secrets),
        tuple(_plugins(content, path.parent, source)),
    )  # fmt: skip


def _is_kept_out(path: Path, reference: KustomizationReference, home: Path) -> bool:
    """Return whether a `.gitignore` of the repository at `home` keeps a file out of it that has objects or values of
    them."""
    has_objects = reference.keys[0] in OBJECT_FIELDS or reference.keys[0] in _GENERATORS
    return has_objects and is_git_ignored(real_path(home), path)


_BUILT_IN = "builtin"


def _plugins(content: Mapping[str, Any], folder: Path, source: Source) -> Iterator[Remote]:
    """The kinds of plugins of the kustomization in `folder` that kustomize runs as programs."""
    known = {("generators", number) for number in policy_generators(content, folder)}
    known |= {("generators", number) for number in secret_generators(content, folder)}
    for field in PLUGIN_FIELDS:
        for number, entry in enumerate(_items(content, field)):
            if not isinstance(entry, str) or (field, number) in known:
                continue
            for plugin in _configurations(entry, folder):
                if plugin.get("kind") and plugin.get("apiVersion") != _BUILT_IN:
                    yield Remote(str(plugin["kind"]), locate(source, (field, number)))


def is_remote(reference: KustomizationReference) -> bool:
    """Return whether kustomize would fetch what is named, which is no path that is there."""
    return bool((_REPOSITORY if reference.may_be_folder else _URL).search(reference.text))


def _local(folder: Path, reference: KustomizationReference) -> Path | None:
    """Return where a reference leads on this machine, whether or not there is something; None where it is remote."""
    # kustomize takes a URL for a URL, also if a file of that name exists.
    if reference.is_chart or _URL.match(reference.text):
        return None
    try:
        return (folder / reference.text).resolve()
    except (OSError, RuntimeError, ValueError):  # a link that leads to itself, or a NUL
        return folder / "..." / "nowhere"


def repository_of(root: Path) -> Path | None:
    """The top of the repository that a folder is in, None where it is in none."""
    home = real_path(root)
    return next((folder for folder in (home, *home.parents) if (folder / REPOSITORY_MARK).exists()), None)


def relative_path(path: Path, root: Path) -> str:
    """A resolved path as seen from `root`, as messages have it: `../../base/operators.yaml`."""
    return Path(os.path.relpath(path, real_path(root))).as_posix()


def _text_of(path: Path) -> str | None:
    """The text of a file, None where it can't be had: kustomize says why."""
    try:
        if not is_file(path) or path.stat().st_size > MAX_FILE_BYTES:
            return None  # a device may have no end
        return path.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return None
