"""Migrations of a workspace: edits of its documents and of olmc.yaml, their effect on its files, and the patch.

Comments stay where their line stays. At the root of a repository, a file changes only if it changes alike for all
clusters that use it.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.files import has_file, read_text
from olmc.compiler.load.kustomization import NAMES
from olmc.compiler.load.repository import ClusterPart
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.rules.findings import migration as rules
from olmc.k8s.diagnostics import Diagnostic, FileChange, Report, Severity, Source, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import KubernetesObject
from olmc.k8s.yaml import at, dump_one
from olmc.k8s.yaml.edit import EditError, block_of, document_lines, value_of, with_block, with_documents

FieldPath = tuple[str, ...]
_SHOWN = 6
_KEY = regex(r"^\s+([A-Za-z]+):")
_COMMENT = regex(r"(?:^|\s)(#.*)")


def in_place(
    objects: Sequence[KubernetesObject], kind: str, fields: Mapping[str, FieldPath]
) -> Callable[[Source], str]:
    """An edit that puts objects in the place of another one: the first gets its labels, annotations and the comments
    that stand in its document, if it is of `kind`; `fields` are where those of its spec go."""

    def edit(source: Source) -> str:
        given = value_of(source)["metadata"]
        kept = {key: value for key, value in given.items() if key in ("labels", "annotations") and value}
        comments = _comments(document_lines(source), fields)
        first, *others = objects
        if first["kind"] == kind:
            first = {**first, "metadata": {**first["metadata"], **kept}}
        body = "".join(_written(first, comments)) + "".join(f"---\n{dump_one(each)}" for each in others)
        return with_documents(source, body, (first, *others))

    return edit


class _Comments(NamedTuple):
    """The comments of a document: in lines before a field of the spec, behind a field, and all others."""

    before: Mapping[FieldPath, list[str]]
    behind: Mapping[FieldPath, str]
    others: list[str]


def _comments(lines: Sequence[str], fields: Mapping[str, FieldPath]) -> _Comments:
    before: dict[FieldPath, list[str]] = {}
    behind: dict[FieldPath, str] = {}
    others: list[str] = []
    waiting: list[str] = []
    section = ""
    for line in lines:
        found = _COMMENT.search(line)
        comment = found[1].rstrip() if found else ""
        if line.strip().startswith("#"):
            waiting.append(line.strip())
            continue
        section = line.partition(":")[0] if line[:1].strip() else section
        key = _KEY.match(line)
        field = fields.get(key.group(1)) if key and section == "spec" else None
        if field is not None:
            before[field] = waiting
            if comment:
                behind[field] = comment
        else:
            others += waiting + ([comment] if comment else [])
        waiting = []
    return _Comments(before, behind, others + waiting)


def _written(obj: KubernetesObject, comments: _Comments) -> Iterator[str]:
    yield from (f"{comment}\n" for comment in comments.others)
    path: list[tuple[int, str]] = []
    for line in dump_one(obj).splitlines(keepends=True):
        indent = len(line) - len(line.lstrip(" "))
        path = [(depth, key) for depth, key in path if depth < indent]
        path.append((indent, line.strip().partition(":")[0]))
        field = tuple(key for _, key in path)
        yield from (f"{' ' * indent}{comment}\n" for comment in comments.before.get(field, ()))
        behind = comments.behind.get(field)
        yield f"{line.rstrip()}  {behind}\n" if behind else line


_HEAD = "apiVersion: olmc.dev/v1alpha1\nkind: Config\n"


def with_settings(text: str, settings: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> str:
    """The text of olmc.yaml ("" without one) with those of its settings changed that `settings` gives for what it has.

    Raises EditError.
    """
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        comments = f"{text.rstrip()}\n" if text.strip() else ""
        return comments + _HEAD + "".join(f"{line}\n" for line in ("spec:", *_indented(settings({}))))
    source = Source("olmc.yaml", text)
    value = value_of(source)
    if not isinstance(value, dict) or not isinstance(value.get("spec") or {}, dict) or not value:
        raise EditError("it is no mapping with apiVersion, kind and spec")
    spec = value.get("spec") or {}
    new = settings(spec)
    if not spec:
        last = "spec" if "spec" in value else [*value][-1]
        kept = [] if last == "spec" else _own_lines(source, (last,))
        meaning = {**({} if last == "spec" else {last: value[last]}), "spec": new}
        return with_block(source, (last,), [*kept, "spec:", *_indented(new)], meaning).text
    for key in [key for key in new if key in spec]:
        source = with_block(source, ("spec", key), _lines_of({key: new[key]}), {key: new[key]})
    added = {key: entry for key, entry in new.items() if key not in spec}
    if added:
        last = [*spec][-1]
        meaning = {last: new.get(last, spec[last]), **added}
        source = with_block(source, ("spec", last), [*_own_lines(source, ("spec", last)), *_lines_of(added)], meaning)
    return source.text


def _lines_of(value: Mapping[str, Any]) -> list[str]:
    return dump_one(value).splitlines()


def _indented(value: Mapping[str, Any]) -> list[str]:
    return [f"  {line}" for line in _lines_of(value)]


def _own_lines(source: Source, keys: Sequence[str]) -> list[str]:
    """The lines of a key and its value, without the indentation that they have in common."""
    block = block_of(source, keys)
    return [line[block.indent :].rstrip("\r\n") for line in block.inside]


NO_NEWLINE = "\\ No newline at end of file\n"


class Edit(NamedTuple):
    """A change to one document of a file: `apply` makes the file's new text of the document as it stands by then.

    It may raise EditError.
    """

    source: Source
    apply: Callable[[Source], str]


class EditableFiles(NamedTuple):
    """The files of a workspace that can't be edited, with the reason, and those that a kustomization names. These have
    to stay even if they contain no object any more."""

    closed: Mapping[str, str] = MappingProxyType({})
    named: frozenset[str] = frozenset()


ALL_EDITABLE = EditableFiles()
_EMPTIED = "# olmc migrate left no object here; the kustomization names this file.\n"


def editable_files(root: Path, workspace: Workspace) -> EditableFiles:
    """Find the files that have the objects of a workspace as they are applied; what a build changes is closed."""
    texts: dict[str, str] = {}
    closed: dict[str, str] = {}
    for manifest in workspace.manifests:
        path, text = manifest.source.path, manifest.source.text
        if path not in texts:
            is_inside = not path.startswith("../") and has_file(root, path)
            texts[path] = (read_text(root, path, Report()) if is_inside else None) or ""
        if not texts[path]:
            closed[path] = f"{path} is outside of the folder that is migrated"
        elif text != texts[path] and path.rpartition("/")[2] in NAMES:
            closed[path] = f"{path} builds it from several files; edit them by hand"
        elif text != texts[path]:
            closed[path] = f"a build changes {path} before it is applied; edit the file and its patches by hand"
    return EditableFiles(closed, frozenset(texts) & workspace.inputs.built)


def carried_out(edits: Sequence[Edit], files: EditableFiles = ALL_EDITABLE) -> tuple[FileChange, ...]:
    """Return the edited files, by path. Raises EditError.

    Each file is edited from its end, so that the numbers of documents stay right when others are removed.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for edit in sorted(edits, key=lambda each: -each.source.document):
        path = edit.source.path
        if path in files.closed:
            raise EditError(files.closed[path])
        before.setdefault(path, edit.source.text)
        after[path] = edit.apply(edit.source._replace(text=after.get(path, edit.source.text)))
    after |= {path: _EMPTIED for path, text in after.items() if not text and path in files.named}
    return tuple(FileChange(path, before[path], after[path]) for path in sorted(before) if before[path] != after[path])


def as_patch(changes: Sequence[FileChange]) -> str:
    """The changes as a unified diff that `git apply` and `patch -p1` take."""
    return "".join(line for change in changes for line in _file_patch(change))


def _file_patch(change: FileChange) -> Iterator[str]:
    old, new = _git_name(f"a/{change.path}"), _git_name(f"b/{change.path}")
    yield f"diff --git {old} {new}\n"
    if not change.before:
        yield "new file mode 100644\n"
        old = "/dev/null"
    if not change.after:
        yield "deleted file mode 100644\n"
    before, after = _git_lines(change.before), _git_lines(change.after)
    for line in difflib.unified_diff(before, after, old, new if change.after else "/dev/null", n=3):
        yield line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"


def _git_name(path: str) -> str:
    """Write a path as git does in a patch: in quotes if a character of it could end the line or the quotes, or is none
    that a terminal shows."""
    if path.isprintable() and not any(char in '"\\' for char in path):
        return path
    return f'"{"".join(map(_git_char, path))}"'


def _git_char(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


def _git_lines(text: str) -> list[str]:
    """The lines as git counts them: only a line feed ends one."""
    found = text.split("\n")
    return [f"{line}\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


class Migration(NamedTuple):
    """The changes to make, and what is left to people."""

    changes: tuple[FileChange, ...]
    remarks: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Return whether the workspace could not be compiled."""
        return any(remark.severity is Severity.ERROR for remark in self.remarks)

    @property
    def unfinished(self) -> bool:
        """Return whether something is left to people."""
        return any(remark.severity >= Severity.WARNING for remark in self.remarks)


def left_alone(what: str, source: Source | None, why: str, *keys: str) -> Diagnostic:
    """Return the finding about something that stays as it is, at `keys` of its document (OLMC695)."""
    return rules.LEFT_ALONE.finding(at(source, *keys), what=what, why=why)


def config_text(root: Path) -> str:
    """The text of olmc.yaml, "" without one."""
    return (read_text(root, CONFIG_FILE, Report()) if has_file(root, CONFIG_FILE) else "") or ""


MigratePart = Callable[[CompileRequest, str], Migration]
"""Migrate what a request means, with a text of olmc.yaml."""


def migrate_repository(root: Path, parts: Sequence[ClusterPart], migrate: MigratePart) -> Migration:
    """Migrate the clusters of a repository; return the changes to its files, each once.

    A cluster stays as it is where another one uses a file of it and does not change it in the same way.
    """
    config = config_text(root)
    requests = [CompileRequest(root, part=part) for part in parts]
    done = [migrate(request, config) for request in requests]
    errors = [remark for each in done if each.failed for remark in each.remarks if remark.severity is Severity.ERROR]
    if errors:
        return Migration((), tuple(dict.fromkeys(errors)))
    stays = _disagreeing(parts, done)
    moving = [number for number, each in enumerate(done) if each.changes and number not in stays]
    if len({_config_change(done[number]) for number in moving}) > 1:
        for number in moving:
            done[number] = migrate(requests[number], config)
            change = _config_change(done[number])
            config = change.after if change is not None else config
    changes = {change.path: change for number in moving for change in done[number].changes}
    before = config_text(root)
    if CONFIG_FILE in changes:
        changes[CONFIG_FILE] = FileChange(CONFIG_FILE, before, changes[CONFIG_FILE].after)
    remarks = dict.fromkeys(
        remark for number, each in enumerate(done) for remark in each.remarks if number not in stays
    )
    left = (
        left_alone(f"cluster {parts[number].cluster.title}", Source(path, ""), _why(path, users, parts))
        for number, (path, users) in stays.items()
    )
    return Migration(tuple(sorted(changes.values())), (*remarks, *left))


def _config_change(migration: Migration) -> FileChange | None:
    return next((change for change in migration.changes if change.path == CONFIG_FILE), None)


def _disagreeing(parts: Sequence[ClusterPart], done: Sequence[Migration]) -> Mapping[int, tuple[str, tuple[int, ...]]]:
    """The numbers of the clusters that can't change a file, each with the file and those that use it otherwise."""
    users: defaultdict[str, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        for path in {manifest.source.path for content in part.contents for manifest in content.found.manifests}:
            users[path].append(number)
    texts = [{change.path: change.after for change in each.changes if change.path != CONFIG_FILE} for each in done]
    stays: dict[int, tuple[str, tuple[int, ...]]] = {}
    is_settled = False
    while not is_settled:
        is_settled = True
        for number, changed in enumerate(texts):
            for path in sorted(changed) if number not in stays else ():
                others = [u for u in users[path] if u in stays or texts[u].get(path) != changed[path]]
                if others:
                    stays[number] = path, tuple(others)
                    is_settled = False
                    break
    return stays


def _why(path: str, users: Sequence[int], parts: Sequence[ClusterPart]) -> str:
    names = join_limited([parts[number].cluster.title for number in users], _SHOWN)
    return f"{path} would change for {names} as well, where this migration does not make the same change"
