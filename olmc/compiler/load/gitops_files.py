"""The files that the objects of GitOps tools name: values of charts, files and folders of generators, code in Jsonnet
and its imports.

Which of them a tool reads in the end depends on the cluster. A file counts that an object names in any field that the
tool takes for a path, and each file that a pattern or a template could mean.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from olmc.compiler.load.files import fits_parts
from olmc.k8s.api.applied import applied_objects
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import KubernetesObject, as_text, mapping, mappings, spec_of, texts
from olmc.k8s.yaml import read

# An apiVersion may be written with an escape, a tag, an alias or in a block.
_MARK = regex(r"argoproj\.io|toolkit\.fluxcd\.io|apiVersion[\"']?[ \t]*:[ \t]*(?:\"[^\"\n]*\\|[!&*|>])")
_ESCAPED = regex(r"\\[xuU]")
_ARGO, _FLUX_HELM, _FLUX_SOURCE = "argoproj.io/", "helm.toolkit.fluxcd.io/", "source.toolkit.fluxcd.io/"
_WILD = frozenset("*?[")
_LONGEST = 1_000
_MOST = 300_000
"""The number of paths that may be compared with patterns; a file that is read counts as many of them."""
_MOST_ALTERNATIVES = 50
_FILE, _CHARACTERS = 50, 16

ARGO_READS = "Argo CD reads such a file for an Application"
ARGO_PLUGIN = "Argo CD gives such a file to a plugin"
ARGO_GENERATES = "Argo CD generates Applications from such a file"
ARGO_FOLDER = "Argo CD generates an Application for such a folder"
FLUX_VALUES = "Flux reads such a file as values of a chart"


class ToolObject(NamedTuple):
    """An object of a GitOps tool, and the file that it stands in."""

    path: str
    object: KubernetesObject


class NamedFile(NamedTuple):
    """A file or folder that an object names: its path, the file of the object, and how the tool uses it."""

    path: str
    lead: str
    effect: str


class TooManyPathsError(Exception):
    """The objects name more than can be compared with the files that there are."""


class RepositoryFiles(NamedTuple):
    """The paths of a repository, all from its top, and how to read the text of a file."""

    files: Collection[str]
    folders: Collection[str]
    text: Callable[[str], str]


def tool_objects(files: Iterable[tuple[str, str]]) -> Iterator[ToolObject]:
    """The objects of Argo CD and Flux in the texts of files, each with its path."""
    for path, text in files:
        if not _MARK.search(text) and ("apiVersion" in text or not _ESCAPED.search(text)):
            continue
        for document in read(path, text, Report()):
            for manifest in applied_objects(document):
                api = as_text(manifest.object.get("apiVersion"))
                if api.startswith(_ARGO) or "toolkit.fluxcd.io/" in api:
                    yield ToolObject(path, manifest.object)


def objects_to_fill(texts: Mapping[str, str]) -> Iterator[KubernetesObject]:
    """The objects in manifests with variables that Flux fills in."""
    for path, text in texts.items():
        for document in read(path, text, Report()) if "${" in text else ():
            yield from (each.object for each in applied_objects(document) if "${" in str(each.object))


def jsonnet_libraries(objects: Iterable[ToolObject]) -> tuple[str, ...]:
    """The folders in which Argo CD looks for what Jsonnet imports, as its objects say."""
    found = (library for each in objects for jsonnet in _jsonnet(each.object) for library in texts(jsonnet.get("libs")))
    return tuple(dict.fromkeys(_normal("", library) for library in found))


def named_files(objects: Sequence[ToolObject], repository: RepositoryFiles) -> Iterator[NamedFile]:
    """The files and folders that objects name, in the order of the objects; raises TooManyPathsError."""
    search = _Search(repository, [_MOST])
    for each in objects:
        api, kind = as_text(each.object.get("apiVersion")), each.object.get("kind")
        if api.startswith(_ARGO) and kind in ("Application", "ApplicationSet"):
            yield from _of_argo(each, search)
        elif api.startswith(_FLUX_HELM) and kind == "HelmRelease":
            yield from _of_flux(each, mapping(mapping(spec_of(each.object).get("chart")).get("spec")), search)
        elif api.startswith(_FLUX_SOURCE) and kind == "HelmChart":
            yield from _of_flux(each, spec_of(each.object), search)


class _Search(NamedTuple):
    """The files of a repository, and how many paths may still be compared with patterns."""

    repository: RepositoryFiles
    left: list[int]

    def exact(self, folder: str, text: str) -> Iterator[str]:
        """The file that a text names, from a folder or from the top."""
        self.spend(1)
        if not text or len(text) > _LONGEST or "\n" in text:
            return
        if text.startswith("$") and "/" in text:  # the name of another source
            text = f"/{text.partition('/')[2]}"
        tops = ("",) if text.startswith("/") else dict.fromkeys((folder, ""))
        paths = (_normal(top, text.lstrip("/")) for top in tops)
        yield from (path for path in paths if path in self.repository.files)

    def matching(self, folder: str, text: str) -> Iterator[str]:
        """The files that a text names, also as a pattern, or as a template of which only a part is known."""
        glob = without_fields(text)
        if glob == text and not _WILD & set(text):
            yield from self.exact(folder, text)
        elif len(glob) <= _LONGEST:
            if glob.startswith("$") and "/" in glob:
                glob = f"/{glob.partition('/')[2]}"
            pattern = _normal("" if glob.startswith("/") else folder, glob.lstrip("/"))
            yield from self.fitting([pattern])

    def below(self, folder: str) -> Iterator[str]:
        """All files of a folder, which may be a pattern, but for what git keeps about itself."""
        self.spend(len(self.repository.files))
        parts = folder.split("/") if folder else []
        for path in self.repository.files:
            above = path.split("/")[: len(parts)]
            if above != path.split("/") and fits_parts(above, parts):
                yield path

    def fitting(self, patterns: Iterable[str]) -> Iterator[str]:
        """The files that patterns fit as git compares them, with `*` for any characters, or part by part."""
        for pattern in patterns:
            if not any(char.isalnum() for char in pattern):
                continue  # it says nothing about the files that are meant
            self.spend(len(self.repository.files))
            parts = pattern.split("/")
            yield from (path for path in self.repository.files if _fits(path, pattern, parts))

    def text(self, path: str) -> str:
        """The text of a file."""
        text = self.repository.text(path)
        self.spend(_FILE + len(text) // _CHARACTERS)
        return text

    def spend(self, count: int) -> None:
        """Count so many paths that are compared; raises TooManyPathsError."""
        self.left[0] -= count
        if self.left[0] < 0:
            raise TooManyPathsError


def _normal(folder: str, text: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, text))
    return "" if path == "." else path


def without_fields(text: str) -> str:
    """A text of a template with `*` for each field that the tool fills in."""
    head, *others = text.split("{{")
    return head + "".join(f"*{other.partition('}}')[2]}" for other in others)


def _fits(path: str, pattern: str, parts: Sequence[str]) -> bool:
    if ("/." in f"/{path}") and "/." not in f"/{pattern}":
        return False  # as in a shell
    if path.startswith(f"{pattern}/"):
        return True  # git lists all files of a folder
    return fnmatchcase(path, pattern) or ("**" in parts and fits_parts(path.split("/"), parts))


def _of_argo(each: ToolObject, search: _Search) -> Iterator[NamedFile]:
    spec = spec_of(each.object)
    sources = list(_sources(spec))
    folders = [_normal("", without_fields(as_text(source.get("path"))).lstrip("/")) for source in sources]
    for source, folder in zip(sources, folders, strict=True):
        for text in texts(mapping(source.get("helm")).get("valueFiles")):
            yield from (NamedFile(path, each.path, ARGO_READS) for path in search.matching(folder, text))
        if "plugin" in source:
            yield from (NamedFile(path, each.path, ARGO_PLUGIN) for path in search.below(folder))
        # A directory has patterns of the files that Argo CD applies; only its code in Jsonnet reads others.
        fields = [source.get(field) for field in ("helm", "kustomize", "plugin")]
        for text in all_texts([*fields, mapping(source.get("directory")).get("jsonnet")]):
            yield from (NamedFile(path, each.path, ARGO_READS) for path in search.exact(folder, text))
    for source, folder in zip(sources, folders, strict=True):
        jsonnet = mapping(mapping(source.get("directory")).get("jsonnet"))
        for text in all_texts([jsonnet.get("extVars"), jsonnet.get("tlas")]):
            for imported in imports_of(text):
                paths = search.exact(folder, imported.path or "")
                yield from (NamedFile(path, each.path, ARGO_READS) for path in paths)
    if each.object.get("kind") == "ApplicationSet":
        yield from _of_generators(each, folders, search)


def _of_generators(each: ToolObject, folders: Sequence[str], search: _Search) -> Iterator[NamedFile]:
    """Yield the files that the generators of an ApplicationSet read, and those that the filled in values name."""
    spec = spec_of(each.object)
    tops = list(dict.fromkeys(["", *(folder for folder in folders if not _WILD & set(folder))]))
    filled = [*all_texts(spec.get("generators")), *_texts_of_patch(as_text(spec.get("templatePatch")))]
    for git in _git_generators(spec.get("generators")):
        wanted, unwanted = _patterns(git.get("files"))
        for path in dict.fromkeys(search.fitting(wanted)):
            if not any(fits_parts(path.split("/"), pattern.split("/")) for pattern in unwanted):
                yield NamedFile(path, each.path, ARGO_GENERATES)
                filled += _texts_in(search.text(path))
        wanted, unwanted = _patterns(git.get("directories"))
        search.spend(len(search.repository.folders) * len(wanted))
        for folder in search.repository.folders if wanted else ():
            parts = folder.split("/")
            fits = (any(fits_parts(parts, pattern.split("/")) for pattern in some) for some in (wanted, unwanted))
            if next(fits) and not next(fits) and not any(part.startswith(".") for part in parts):
                yield NamedFile(folder, each.path, ARGO_FOLDER)
    for text in dict.fromkeys(filled):
        for top in tops:
            yield from (NamedFile(path, each.path, ARGO_READS) for path in search.exact(top, text))


def _of_flux(each: ToolObject, chart: Mapping[str, Any], search: _Search) -> Iterator[NamedFile]:
    folder = _normal("", as_text(chart.get("chart")).lstrip("/"))
    for text in (*texts(chart.get("valuesFiles")), as_text(chart.get("valuesFile"))):
        yield from (NamedFile(path, each.path, FLUX_VALUES) for path in search.exact(folder, text))


def _sources(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings that could be the source of an Application, at any depth: templates have theirs at many places."""
    for found in _mappings_in(value):
        if "repoURL" in found or "path" in found:
            yield found


def _git_generators(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (mapping(found["git"]) for found in _mappings_in(value) if isinstance(found.get("git"), Mapping))


def _jsonnet(obj: KubernetesObject) -> Iterator[Mapping[str, Any]]:
    yield from (mapping(found["jsonnet"]) for found in _mappings_in(spec_of(obj)) if "jsonnet" in found)


def _patterns(entries: Any) -> tuple[list[str], list[str]]:
    """The patterns of a generator, and those that exclude."""
    found: tuple[list[str], list[str]] = ([], [])
    for entry in mappings(entries):
        pattern = _normal("", without_fields(as_text(entry.get("path"))).lstrip("/"))
        # Only with its setting for new patterns Argo CD reads `{a,b}` so: it takes more then, and may exclude more.
        if entry.get("exclude") is True:
            found[1].append(pattern)
        else:
            found[0].extend(_alternatives(pattern))
    return found


def _alternatives(pattern: str) -> list[str]:
    """The patterns that one with `{a,b}` stands for; its beginning and `*` where they are many or in each other."""
    waiting, found = [pattern], []
    while waiting:
        each = waiting.pop()
        head, _, rest = each.partition("{")
        inner, closing, tail = rest.partition("}")
        if not closing:
            found.append(each)
        elif "{" in inner or len(waiting) + len(found) > _MOST_ALTERNATIVES:
            return [f"{pattern.partition('{')[0]}*"]
        else:
            waiting += [f"{head}{one}{tail}" for one in inner.split(",")]
    return found


def _texts_in(text: str) -> list[str]:
    """The texts in a file of YAML or JSON."""
    return list(all_texts([document.value for document in read("", text, Report())]))


def _texts_of_patch(patch: str) -> list[str]:
    """The texts of a patch, which need be no YAML before its fields are filled in: then each of its words."""
    return [*_texts_in(patch), *(word.strip("\"',[]{}") for word in patch.split())] if patch else []


def _mappings_in(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            yield value
            waiting += reversed(list(value.values()))
        elif isinstance(value, list):
            waiting += reversed(value)


def all_texts(value: Any) -> Iterator[str]:
    """All texts in a value, at any depth."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


_TOKEN = regex(r"""[A-Za-z_][A-Za-z0-9_]*|//|/\*|[#"'@]|\|\|\|""")
_NEXT = regex(r"[^\s(]")
_INDENT = regex(r"[ \t]*")
_ENDS = {'"': regex(r'[\\"]'), "'": regex(r"[\\']")}
_IMPORTS = frozenset({"import", "importstr", "importbin"})
_SIMPLE = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = 4


class JsonnetImport(NamedTuple):
    """An import: its keyword, and the path that it names, None where only an evaluation would know that."""

    keyword: str
    path: str | None


class _StringToken(NamedTuple):
    value: str
    end: int


def imports_of(text: str) -> Iterator[JsonnetImport]:
    """The imports of a text, in order. Comments and strings are skipped; of a text that is cut, what comes before."""
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        word, at = token[0], token.end()
        if word in _IMPORTS:
            start = _skip_space(text, at)
            string = _string_at(text, start)
            yield JsonnetImport(word, string.value if string is not None else None)
            at = string.end if string is not None else start
            if string is not None and text.startswith("+", _skip_space(text, at)):
                yield JsonnetImport(word, None)
        elif (behind := _behind(text, token.start())) is not None:
            at = behind


def _behind(text: str, at: int) -> int | None:
    """Return where a comment or a string ends that begins at a place, None where none begins there."""
    if text.startswith(("//", "#"), at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    if text.startswith("|||", at):
        return _end_of_block(text, at + 3)
    string = _string_at(text, at)
    return string.end if string is not None else None


def _skip_space(text: str, at: int) -> int:
    """Return where the next token begins behind spaces, comments and opening parentheses."""
    while (found := _NEXT.search(text, at)) is not None:
        at = found.start()
        if not text.startswith(("//", "#", "/*"), at):
            return at
        at = _behind(text, at) or len(text)
    return len(text)


def _end_of_block(text: str, at: int) -> int:
    """Return where a block of text ends: at the first line that is indented less than its first one."""
    start = text.find("\n", at) + 1
    while start and text.startswith("\n", start):
        start += 1
    found = _INDENT.match(text, start)
    indent = found[0] if found is not None else ""
    while start and start < len(text) and text.startswith((indent or "\0", "\n"), start):
        start = text.find("\n", start) + 1
    end = text.find("|||", start) if start else -1
    return len(text) if end < 0 else end + 3


def _string_at(text: str, at: int) -> _StringToken | None:
    """The string that begins at a place, None where none does; one without an end takes the rest of the text."""
    is_verbatim = text.startswith("@", at)
    quote = text[at + is_verbatim : at + is_verbatim + 1]
    if quote not in ('"', "'"):
        return None
    start = at + is_verbatim + 1
    return _verbatim(text, start, quote) if is_verbatim else _with_escapes(text, start, quote)


def _verbatim(text: str, at: int, quote: str) -> _StringToken:
    """A string in which two quotes stand for one, and a backslash for itself."""
    parts = []
    while (end := text.find(quote, at)) >= 0:
        parts.append(text[at:end])
        if not text.startswith(quote, end + 1):
            return _StringToken("".join(parts), end + 1)
        parts.append(quote)
        at = end + 2
    return _StringToken("".join([*parts, text[at:]]), len(text))


def _with_escapes(text: str, at: int, quote: str) -> _StringToken:
    parts = []
    while (found := _ENDS[quote].search(text, at)) is not None:
        parts.append(text[at : found.start()])
        at = found.end()
        if found[0] == quote:
            return _StringToken(_joined(parts), at)
        char = text[at : at + 1]
        digits = text[at + 1 : at + 1 + _HEX]
        if char == "u" and len(digits) == _HEX and all(digit in "0123456789abcdefABCDEF" for digit in digits):
            parts.append(chr(int(digits, 16)))
            at += 1 + _HEX
        else:
            parts.append(_SIMPLE.get(char, char))
            at += 1
    return _StringToken(_joined([*parts, text[at:]]), len(text))


def _joined(parts: list[str]) -> str:
    """A text whose halves of a character beyond 16 bits are one character."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
