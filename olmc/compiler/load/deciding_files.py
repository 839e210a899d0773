"""The files on which the result of a GitOps tool depends, beside the objects: one table of all of them, and the search
for those whose content olmc compares because it can't compile them.

One kind of them is attributes by which git changes the content of a file when it checks it out, or leaves a file out of
an archive. olmc reads the blobs of a revision as they are. A GitOps tool reads a checkout, in which such a file has
other bytes.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import translate
from pathlib import Path
from types import MappingProxyType

from olmc.compiler.load.build_files import BuildFile, BuildTree, build_files, build_tree
from olmc.compiler.load.bundles import PROJECT_FILE
from olmc.compiler.load.files import ScannedFolder, fits_parts, read_bytes, read_text, real_path
from olmc.compiler.load.gitops_files import (
    RepositoryFiles,
    ToolObject,
    TooManyPathsError,
    jsonnet_libraries,
    named_files,
    tool_objects,
)
from olmc.compiler.load.kustomization import repository_of
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.workspace_files import CHART_FILE, TEMPLATES_FOLDER, digest_at, objects_of
from olmc.compiler.model.workspace import Inputs
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import DEPTH

ATTRIBUTES_FILE = ".gitattributes"
SUBMODULE_MARK = ".gitlink"
"""A file in the folder of a submodule, with the name of its commit: olmc writes it where it writes a revision."""

_MACRO = "[attr]"
_BLANK = " \t\r"
_BETWEEN = regex(r"[ \t\r]")
_LONGEST_LINE = 2_048
_BINARY = "binary"
_RELEVANT = ("working-tree-encoding", "filter", "ident", "eol", "text", "crlf", "export-ignore", "export-subst")
_MOST, _WITH_FOLDERS = 1_000_000, 5
"""The limit of files multiplied by patterns; a pattern with folders counts as several."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}

_Value = str | bool | None


class CheckoutEffect(NamedTuple):
    """The effect of git's attributes on a file at checkout: the attributes, each with its value, and the file that sets
    them."""

    attributes: tuple[str, ...]
    values: str
    set_in: str


class _AttributeLine(NamedTuple):
    """A line of an attributes file: its pattern by parts, and the last of them by itself; the relevant attributes in
    order, and the file that it stands in. A pattern that `is_name` is for the last part of a path; one that `is_folder`
    names no file."""

    folder: str
    parts: tuple[str, ...]
    name: re.Pattern[str]
    is_name: bool
    is_folder: bool
    attributes: tuple[tuple[str, _Value], ...]
    file: str


def checkout_effects(files: Iterable[str], texts: Mapping[str, str]) -> dict[str, CheckoutEffect]:
    """By path the files whose content another one in a checkout is than in the repository.

    `texts` are the texts of the attributes files by their paths; all paths count from the top of the repository. Where
    files and patterns are too many to be compared, each file counts for which a pattern could be meant.
    """
    macros = _macros(texts)
    lines = [line for path in sorted(texts, key=_depth) for line in _lines(path, texts[path], macros)]
    wanted = {name for line in lines for name in _effective(dict(line.attributes))}
    if not wanted:
        return {}
    wanted |= {"text", "crlf"} if "eol" in wanted else set()
    lines = [line for line in lines if any(name in wanted for name, _ in line.attributes)]
    files = tuple(files)
    is_too_much = len(files) * sum(1 if line.is_name else _WITH_FOLDERS for line in lines) > _MOST
    found: dict[str, CheckoutEffect] = {}
    for path in files:
        meant = [line for line in lines if is_too_much or _applies(line, path)]
        values: dict[str, _Value] = {}
        for line in meant:
            values.update(line.attributes)
        if effect := _effective(values):
            setting = next(line for line in reversed(meant) if effect[0] in dict(line.attributes))
            texts_of_values = " ".join(f"{name}={values[name]}" for name in effect)
            found[path] = CheckoutEffect(effect, texts_of_values, setting.file)
    return found


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _macros(texts: Mapping[str, str]) -> dict[str, tuple[tuple[str, _Value], ...]]:
    """The macros by name: git takes them from the file at the top alone."""
    found: dict[str, tuple[tuple[str, _Value], ...]] = {_BINARY: (("text", False),)}
    top = min(texts, key=_depth, default="")
    for line in _lines_as_git(texts.get(top, "")):
        name, *words = _words(line) or [""]
        if name.startswith(_MACRO):
            found[name.removeprefix(_MACRO)] = tuple(_own_attributes(words, found))
    return found


def _lines(path: str, text: str, macros: Mapping[str, tuple[tuple[str, _Value], ...]]) -> Iterator[_AttributeLine]:
    folder = path.rpartition("/")[0]
    for line in _lines_as_git(text):
        pattern, words = _parted(line.strip(_BLANK))
        if not pattern or pattern.startswith(("#", "!", _MACRO)):
            continue
        attributes = tuple(_own_attributes(words, macros))
        if attributes:
            inner = pattern.rstrip("/")
            parts = tuple(map(_as_glob, inner.removeprefix("/").split("/")))
            name = re.compile(translate(parts[-1]))
            yield _AttributeLine(folder, parts, name, "/" not in inner, inner != pattern, attributes, path)


def _lines_as_git(text: str) -> list[str]:
    """The lines of an attributes file: a byte order mark before them means nothing, and git leaves out long ones."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line for line in lines if len(line.encode("utf-8", "surrogateescape")) < _LONGEST_LINE]


def _words(line: str) -> list[str]:
    return [word for word in _BETWEEN.split(line) if word]


def _parted(line: str) -> tuple[str, list[str]]:
    """The pattern of a line, which may be in quotes, and its other words."""
    if not line.startswith('"'):
        pattern, *words = _words(line) or [""]
        return pattern, words
    chars, at = [], 1
    while at < len(line) and line[at] != '"':
        if line[at] == "\\" and at + 1 < len(line):
            digits = line[at + 1 : at + 4]
            is_octal = len(digits) == 3 and all(digit in "01234567" for digit in digits)
            chars.append(chr(int(digits, 8) % 256) if is_octal else _ESCAPES.get(line[at + 1], line[at + 1]))
            at += 4 if is_octal else 2
        else:
            chars.append(line[at])
            at += 1
    return "".join(chars), _words(line[at + 1 :])


def _own_attributes(
    words: Iterable[str], macros: Mapping[str, tuple[tuple[str, _Value], ...]]
) -> Iterator[tuple[str, _Value]]:
    for word in words:
        name, equals, value = word.partition("=")
        given: _Value = value if equals else True
        if name.startswith(("-", "!")):
            given, name = (False if name.startswith("-") else None), name[1:]
        if name in macros and given is True:
            yield from macros[name]
        elif name in _RELEVANT:
            yield name, given


def _effective(values: Mapping[str, _Value]) -> tuple[str, ...]:
    """The attributes that change a checkout or an archive on every machine. `text` alone changes nothing on Linux, and
    `eol=lf` is how a file is there already."""
    encoding, eol = values.get("working-tree-encoding"), values.get("eol")
    has_lines = values.get("text") is not False and values.get("crlf") is not False
    effective = {
        "working-tree-encoding": isinstance(encoding, str) and encoding.lower() not in ("", "utf-8", "utf8"),
        "filter": isinstance(values.get("filter"), str),
        "ident": values.get("ident") is True,
        "eol": eol == "crlf" and has_lines,
        "export-ignore": values.get("export-ignore") is True,
        "export-subst": values.get("export-subst") is True,
    }
    return tuple(name for name, is_set in effective.items() if is_set)


def _applies(line: _AttributeLine, path: str) -> bool:
    """Return whether a line speaks of a file, or leaves a folder above it out of archives."""
    start = f"{line.folder}/" if line.folder else ""
    if not path.startswith(start):
        return False
    below = path[len(start) :]
    if not line.is_folder and _fits(line, below):
        return True
    if ("export-ignore", True) not in line.attributes:
        return False
    folders = below.split("/")[:-1]
    return any(_fits(line, "/".join(folders[:number])) for number in range(1, len(folders) + 1))


def _fits(line: _AttributeLine, path: str) -> bool:
    """Return whether the pattern of a line names a path: without a slash by its last part, else part by part."""
    if line.is_name:
        return line.name.match(path.rpartition("/")[2]) is not None
    return fits_parts(path.split("/"), line.parts)


def _as_glob(pattern: str) -> str:
    """A part of a pattern as Python has it: classes are negated with `!`, and a class of one escapes a character."""
    if "[:" in pattern:
        return "*"  # a class by name; what else could be meant counts as well
    parts, is_escaped = [], False
    for char in pattern.replace("[^", "[!"):
        if is_escaped:
            parts.append(f"[{char}]" if char in "*?[" else char)
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        else:
            parts.append(char)
    return "".join(parts)


class Treatment(StrEnum):
    """The treatment of a file on which a result depends.

    COMPILED: its content is in the objects that olmc compiles. COMPARED: olmc compares the objects in it, or its text,
    as left out content. REPORTED: olmc reports its addition, removal or change as a risk.
    """

    COMPILED = "compiled"
    COMPARED = "compared"
    REPORTED = "reported"


class DecidingFile(NamedTuple):
    """A kind of file on which the result of a tool depends, in words, and how olmc treats it.

    `names` are patterns of names by which olmc finds it, () where something else names it. `effect` is a sentence of
    what the tool does with it. With `counts_below` it counts for all folders below its own, too. Lines are patterns in
    what is `ignoring`: comments and empty lines of it mean nothing.
    """

    tool: str
    files: str
    treatment: Treatment
    names: tuple[str, ...] = ()
    effect: str = ""
    counts_below: bool = False
    ignoring: bool = False


_COMPILED, _COMPARED, _REPORTED = Treatment

DECIDING_FILES = (
    DecidingFile("Argo CD", "the manifests of a directory", _COMPILED),
    DecidingFile("Argo CD", "`.argocd-source.yaml`, `.argocd-source-APP.yaml`", _REPORTED,
                 (".argocd-source.yaml", ".argocd-source-*.yaml"),
                 "Argo CD takes settings of Applications from such a file"),
    DecidingFile("Argo CD", "a manifest with the mark `+argocd:skip-file-rendering`", _REPORTED, (),
                 "Argo CD leaves out a file with the mark +argocd:skip-file-rendering"),
    DecidingFile("Argo CD", "values and parameters of a chart, by an Application or an ApplicationSet", _REPORTED),
    DecidingFile("Argo CD", "the files below the path of a source with a plugin", _REPORTED),
    DecidingFile("Argo CD", "a ConfigMap of a plugin generator of an ApplicationSet", _COMPARED),
    DecidingFile("Argo CD", "files that a git generator of an ApplicationSet reads", _REPORTED),
    DecidingFile("Argo CD", "folders for which a git generator of an ApplicationSet makes Applications", _REPORTED),
    DecidingFile("Argo CD", "the Application or ApplicationSet itself", _COMPARED),
    DecidingFile("Flux", "the manifests of a folder", _COMPILED),
    DecidingFile("Flux", "`.sourceignore`", _REPORTED, (".sourceignore",),
                 "Flux leaves out of a source what the patterns in such a file name", True, True),
    DecidingFile("Flux", "a manifest that the default rules of source-controller leave out", _REPORTED, (
        ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml",
        "codeship-steps.yml", ".goreleaser.yml", ".goreleaser.brew.yml", ".sops.yaml", ".flux.yaml",
    ), "Flux leaves out a file of this name by default"),
    DecidingFile("Flux", "values of a chart, by a HelmRelease or a HelmChart", _REPORTED),
    DecidingFile("Flux", "a ConfigMap or a Secret with values, by `valuesFrom` or `substituteFrom`", _COMPARED),
    DecidingFile("Flux", "the Kustomization, the HelmRelease, or the source with `spec.ignore`", _COMPARED),
    DecidingFile("kustomize", "a kustomization at the top of what is compiled, with all that it names", _COMPILED),
    DecidingFile("kustomize", "another kustomization or component", _REPORTED),
    DecidingFile("kustomize", "files that another kustomization, or what configures its plugins, names", _REPORTED),
    DecidingFile("Helm", "a chart at the top of what is compiled", _COMPILED),
    DecidingFile("Helm", "another chart: each file of it, `.helmignore` and `Chart.lock` among them", _REPORTED),
    DecidingFile("Helm", "values and locks beside a chart that is compiled without them", _REPORTED, (),
                 "tools that install this chart may read such a file"),
    DecidingFile("Helm", "`helmfile.yaml`, others of such a name, and the files that they name or may name", _REPORTED),
    DecidingFile("kpt", "`Kptfile`, and the files that its pipeline names", _REPORTED),
    DecidingFile("kpt", "`.krmignore`", _REPORTED, (".krmignore",),
                 "kpt and kustomize fn leave out what the patterns in such a file name", True, True),
    DecidingFile("Jsonnet", "`.jsonnet`, `.libsonnet`, `jsonnetfile.json`, `jsonnetfile.lock.json`", _REPORTED),
    DecidingFile("Jsonnet", "files that Jsonnet imports", _REPORTED),
    DecidingFile("Jsonnet", "the Environment of Tanka, `spec.json`", _COMPARED),
    DecidingFile("operator-sdk", "`bundle/` of a project", _COMPILED),
    DecidingFile("operator-sdk", "objects beside `PROJECT` and `bundle/`", _COMPARED),
    DecidingFile("operator-sdk", "`PROJECT` and `bundle.Dockerfile`", _REPORTED, (PROJECT_FILE, "bundle.Dockerfile"),
                 "operator-sdk builds the bundle of a project by such a file"),
    DecidingFile("Fleet", "`fleet.yaml`", _REPORTED, ("fleet.yaml",),
                 "Fleet of Rancher takes charts, patches and targets from such a file"),
    DecidingFile("Fleet", "`.fleetignore`", _REPORTED, (".fleetignore",),
                 "Fleet of Rancher leaves out what the patterns in such a file name", False, True),
    DecidingFile("OCM", "what a PolicyGenerator of a compiled kustomization reads", _COMPILED),
    DecidingFile("OCM", "`.kubernetesignore`", _REPORTED, (".kubernetesignore",),
                 "Subscriptions of OCM leave out what the patterns in such a file name", True, True),
    DecidingFile("git", "`.gitattributes` with an attribute that changes a checkout or an archive of a file", _REPORTED,
                 (), "git changes such a file at checkout, or leaves it out of an archive"),
    DecidingFile("git", "`.gitmodules`", _REPORTED, (".gitmodules",),
                 "git takes submodules from where such a file says", True),
    DecidingFile("git", "`.lfsconfig`", _REPORTED, (".lfsconfig",),
                 "Git LFS takes contents from where such a file says", True),
    DecidingFile("git", "the commit of a submodule, fetched or not", _REPORTED, (),
                 "git puts a commit of another repository here"),
    DecidingFile("git", "the content of a pointer of Git LFS", _COMPARED),
    DecidingFile("git", "a symbolic link", _REPORTED, (),
                 "Flux leaves out a link, and kubectl follows none to a folder"),
    DecidingFile("kubectl -R", "each file `.yaml`, `.yml` and `.json`, also in hidden folders", _COMPARED),
)  # fmt: skip
"""For each tool all files on which its result depends."""

_NAMED = tuple(row for row in DECIDING_FILES if row.names)
_BY_NAME = {name: row for row in _NAMED for name in row.names}


_NAMES_ABOVE = (ATTRIBUTES_FILE, *(name for row in _NAMED if row.counts_below for name in row.names))


def paths_above(folder: str) -> list[str]:
    """Return where the files would be, in the folders above a folder of a repository, that count for it as well."""
    parts = folder.split("/") if folder else []
    above = ("/".join(parts[:number]) for number in range(min(len(parts), DEPTH.most)))
    return [f"{each}/{name}" if each else name for each in above for name in _NAMES_ABOVE]


def _row(files: str) -> DecidingFile:
    return next(row for row in DECIDING_FILES if files in row.files)


_SUBMODULE = _row("commit of a submodule")
_SKIPPED, _LINK, _ATTRIBUTES = _row("skip-file-rendering"), _row("symbolic link"), _row("`.gitattributes`")
_DEFAULTS, _BESIDE_CHART, _PROJECT = _row("default rules"), _row("locks beside"), _row("`bundle.Dockerfile`")
_SOURCE, _OF_APPLICATION = _row("argocd-source"), (".argocd-source-", ".yaml")
_SKIP_MARK = "+argocd:skip-file-rendering"
BESIDE_CHART, LINKED = _BESIDE_CHART.effect, _LINK.effect
_LOCKS = ("Chart.lock", "requirements.lock")
_OF_CHART = (CHART_FILE, "values.yaml", "requirements.yaml", "values.schema.json")
_CHARTS = "charts"


class Decider(NamedTuple):
    """A file or folder on which a result depends: its path, the file by which a tool reads it, "" for the tool itself,
    and how the tool uses it. A path above the folder that is compared begins with `..`."""

    path: str
    lead: str
    effect: str


class Deciders(NamedTuple):
    """The digests of the files that decide a result, and the place of the folder in its repository, None without one:
    files above it can be compared at the same place alone. `has_own_values` is as in the inputs, `paths` are those of
    all files and folders."""

    digests: Mapping[Decider, str]
    place: str | None = None
    has_own_values: bool = False
    paths: Collection[str] = ()


class ToolFiles(NamedTuple):
    """The files by which tools build folders, and the other files on which their results depend."""

    builds: Mapping[str, BuildFile] = MappingProxyType({})
    deciders: Deciders = Deciders({})


def tool_files(
    root: Path, inputs: Inputs, texts: Mapping[str, str], known: ScannedFolder | None = None,
    submodules: Mapping[str, str] = MappingProxyType({}),
) -> ToolFiles:  # fmt: skip
    """The files in a folder on which the results of tools depend, and that olmc does not compile.

    `inputs` are what was compiled, `texts` the texts of manifests by their paths, as far as they are known,
    and `known` an earlier scan of the folder. `submodules` are the commits of the index of git by folder.
    """
    tree = build_tree(root, known)
    unread = (path for path, is_link in tree.files.items() if path.endswith(SUFFIXES) and not is_link)
    objects, texts = [*tool_objects(texts.items())], dict(texts)
    for path in unread:
        if path not in texts and path not in inputs.content:
            text = read_text(root, path, Report()) or ""
            objects += tool_objects([(path, text)])
            if path in inputs.files and path not in inputs.built:
                texts[path] = text
    place = _place_in_repository(root)
    start = f"{place}/" if place else ""
    libraries = (path.removeprefix(start) for path in jsonnet_libraries(objects))
    builds = build_files(tree._replace(libraries=tuple(libraries)), inputs)
    deciders = _deciders(tree, inputs, tuple(objects), texts, builds)
    return ToolFiles(builds, _with_submodules(deciders, tree, submodules))


def _place_in_repository(root: Path) -> str | None:
    home = repository_of(root)
    if home is None:
        return None
    place = real_path(root).relative_to(home).as_posix()
    return "" if place == "." else place


def _deciders(
    tree: BuildTree, inputs: Inputs, objects: tuple[ToolObject, ...], texts: Mapping[str, str],
    builds: Mapping[str, BuildFile],
) -> Deciders:  # fmt: skip
    root, home, place = tree.root, repository_of(tree.root), _place_in_repository(tree.root)
    found = {decider: digest for path in tree.files for decider, digest in _by_name(tree, path, texts)}
    if home is not None and place:
        found |= _above(home, place)
    found |= {Decider(path, "", _SKIPPED.effect): "" for path, text in texts.items() if _SKIP_MARK in text}
    found |= _named(tree, inputs, objects, place or "")
    if inputs.has_own_values:
        known = {decider.path for decider in found}
        beside = (path for path in tree.files if not _is_of_chart(path) and path.endswith((*SUFFIXES, *_LOCKS)))
        found |= {Decider(path, "", BESIDE_CHART): digest_at(root / path) for path in beside if path not in known}
    counting = {*builds, *(decider.path for decider in found)}
    for path in tree.linked:
        if path not in tree.files or path.endswith(SUFFIXES) or path in counting:
            found[Decider(path, "", _LINK.effect)] = _target(root / path) + _content_elsewhere(root, path, home)
    found |= _attributes(tree, home, place or "", counting)
    return Deciders(found, place, inputs.has_own_values, tree.files.keys() | tree.folders.keys())


def _with_submodules(deciders: Deciders, tree: BuildTree, submodules: Mapping[str, str]) -> Deciders:
    """Add the submodules that git knows."""
    marks = {path: read_text(tree.root, path, Report()) or "" for path in tree.files if _is_mark(path)}
    known = {posixpath.dirname(path): name.strip() for path, name in marks.items()} | dict(submodules)
    found = {Decider(path, "", _SUBMODULE.effect): name for path, name in known.items()}
    return deciders._replace(digests={**deciders.digests, **found})


def _is_mark(path: str) -> bool:
    return path.endswith(f"/{SUBMODULE_MARK}")


def _by_name(tree: BuildTree, path: str, texts: Mapping[str, str]) -> Iterator[tuple[Decider, str]]:
    folder, _, name = path.rpartition("/")
    row = _row_of(name)
    if row is _DEFAULTS:
        if objects_of(texts.get(path, ""))[0]:
            yield Decider(path, "", row.effect), ""
    elif row is not None and (row is not _PROJECT or posixpath.join(folder, PROJECT_FILE) in tree.files):
        yield Decider(path, "", row.effect), _digest(tree.root, path, row, is_link=tree.files[path])


def _row_of(name: str) -> DecidingFile | None:
    """Return the role of a file of this name, None if the table does not have the name."""
    if name.startswith(_OF_APPLICATION[0]) and name.endswith(_OF_APPLICATION[1]):
        return _SOURCE
    return _BY_NAME.get(name)


def _digest(root: Path, path: str, row: DecidingFile, *, is_link: bool = False) -> str:
    """The digest of a file; of patterns that of the lines that mean something, in their order."""
    text = read_text(root, path, Report()) if row.ignoring and not is_link else None
    if text is None:
        return digest_at(root / path, is_link=is_link)
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _above(home: Path, place: str) -> dict[Decider, str]:
    """Return the deciding files in the folders above that also count below them."""
    found = {}
    for number in range(1, place.count("/") + 2):
        up = "/".join([".."] * number)
        for row in (row for row in _NAMED if row.counts_below):
            for name in row.names:
                if (home / place / up / name).is_file():
                    path = f"{up}/{name}"
                    folder = real_path(home / place / up)
                    found[Decider(path, "", row.effect)] = _digest(folder, name, row)
    return found


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _content_elsewhere(root: Path, path: str, home: Path | None) -> str:
    """The digest of the file to which a link leads out of a folder, if it stays in the repository, "" for any other."""
    try:
        target = (root / path).resolve()
        is_elsewhere = home is not None and target.is_relative_to(home) and not target.is_relative_to(real_path(root))
        return f" {digest_at(target)}" if is_elsewhere and target.is_file() else ""
    except (OSError, RuntimeError):  # links that lead to each other
        return ""


def _named(tree: BuildTree, inputs: Inputs, objects: tuple[ToolObject, ...], place: str) -> dict[Decider, str]:
    """Return the files that the objects of GitOps tools name, without values with which olmc renders a chart."""
    if not objects:
        return {}
    start = f"{place}/" if place else ""
    repository = RepositoryFiles(
        frozenset(start + path for path in tree.files), tuple(start + path for path in sorted(tree.folders) if path),
        lambda path: read_text(tree.root, path[len(start) :], Report()) or "",
    )  # fmt: skip
    found = {}
    try:
        for file in named_files(objects, repository):
            path = file.path[len(start) :]
            is_compiled = path in inputs.built and not (inputs.has_own_values and not _is_of_chart(path))
            if not is_compiled and path != file.lead:
                digest = digest_at(tree.root / path) if path in tree.files else ""
                found[Decider(path, file.lead, file.effect)] = digest
    except TooManyPathsError:  # which no repository needs: any file may be meant
        lead = objects[0].path
        found |= {Decider(path, lead, _row("values and parameters").effect): digest_at(tree.root / path)
                  for path in tree.files if path not in inputs.files}  # fmt: skip
    return found


def _is_of_chart(path: str) -> bool:
    """Return whether Helm itself reads a file of a chart, or of one in it, for any values."""
    folder, _, name = path.rpartition("/")
    parts = folder.split("/") if folder else []
    while len(parts) > 1 and parts[0] == _CHARTS:
        parts = parts[2:]
    return parts[:1] in ([TEMPLATES_FOLDER], ["crds"]) if parts else name in _OF_CHART


def _attributes_in(root: Path, path: str) -> str:
    """The text of an attributes file, which to git has no encoding."""
    return os.fsdecode(read_bytes(root, path, Report()) or b"")


def _attributes(tree: BuildTree, home: Path | None, place: str, counting: Collection[str]) -> dict[Decider, str]:
    """The files that git checks out with another content than the repository has, of manifests and those `counting`."""
    start = f"{place}/" if place else ""
    texts = {start + path: _attributes_in(tree.root, path) for path in tree.files
             if path.rpartition("/")[2] == ATTRIBUTES_FILE}  # fmt: skip
    for number in range(place.count("/") + 1 if home is not None and place else 0):
        above = "/".join(place.split("/")[:number])
        path = f"{above}/{ATTRIBUTES_FILE}" if above else ATTRIBUTES_FILE
        if home is not None and (home / path).is_file():
            texts[path] = _attributes_in(home, path)
    if not texts:
        return {}
    files = (path for path in tree.files if path.endswith(SUFFIXES) or path in counting)
    effects = checkout_effects((start + path for path in files), texts)
    found = {}
    for path, effect in effects.items():
        lead = posixpath.relpath(effect.set_in, place or ".")
        how = f"{_ATTRIBUTES.effect} ({', '.join(effect.attributes)})"
        found[Decider(path[len(start) :], lead, how)] = effect.values
    return found
