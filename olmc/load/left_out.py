"""What is left out of a workspace: all that tools would apply or build of its folder, but for what counts as input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from olmc.kube.applied import applied_objects, is_applied
from olmc.kube.restmapper import BUILTIN
from olmc.lean import NamedTuple, regex, sha256
from olmc.load.bundles import CATALOGS_FOLDER, MANIFESTS, is_bundle
from olmc.load.files import LFS_POINTER, Folder, git_ignore_lines, no_folder, read_text, scan_everything, spec_of
from olmc.load.foreign import TEMPLATES_FOLDER, is_chart
from olmc.load.manifests import SUFFIXES
from olmc.load.project import compiled_part
from olmc.load.vendored import is_vendored
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import KubernetesObject, mapping, object_key
from olmc.model.workspace import (
    GENERATED,
    IMPORTED,
    SCAFFOLDED,
    Inputs,
    LeftObject,
    LeftOut,
    Manifest,
    Reason,
    Unseen,
    Unused,
)
from olmc.yaml import locate, read
from olmc.yaml.heads import documents_in, head_of, plain_keys


def digest_at(path: Path, *, is_link: bool = False) -> str:
    """The digest of a file, the target of a link that is not followed, "" of what can't be read."""
    try:
        if is_link:
            return f"link to {path.readlink()}"
        import hashlib  # for files of any size, and slower to import than a small one is hashed

        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


# How a key can be written so that its letters do not stand there: with an escape, a broken line, or as binary data.
_DISGUISED = regex(r"\\(?:[xuU]|\r?\n)|binary|^%TAG", re.MULTILINE)


class _LeftOutPlace(NamedTuple):
    """A file or, with `is_link`, a link that is not followed; and why it is left out, as far as its folders say so."""

    path: str
    reason: Reason | None
    is_link: bool = False


def left_out(root: Path, inputs: Inputs, *, ignored: tuple[str, ...] = ()) -> tuple[LeftOut, ...]:
    """What is left out of the directory `root`, of which `inputs` count, sorted by place.

    `ignored` are the patterns that were in force when it was read. Nothing is reported: what can't be read is left out
    as well, and says so.
    """
    if no_folder(root):
        return ()
    from_git = frozenset(git_ignore_lines(root)).intersection(ignored)
    spec = spec_of(ignored) if ignored else None
    own = spec_of(line for line in ignored if line not in from_git) if from_git else spec
    entries = [*_unused(inputs.unused)]
    for place in _places(root, compiled_part(scan_everything(root)), None):
        if place.path in inputs.files or not place.path.endswith(SUFFIXES):
            continue
        is_ignored = spec is not None and spec(place.path)
        if is_ignored:
            is_own = own is not None and own(place.path)
            place = place._replace(reason=Reason.IGNORED if is_own else Reason.GIT_IGNORED)
        left = _left_out_of(root, place)
        entries += [_with_bundle_reason(left)] if left is not None else []
    return tuple(sorted(entries, key=lambda left: (left.location, left.reason)))


def objects_of(text: str) -> tuple[tuple[LeftObject, ...], Unseen]:
    """The objects that tools would apply of the text of a file, and why not all of them are known."""
    if text.startswith(LFS_POINTER):
        return (), Unseen.IN_LFS
    if not _may_hold_objects(text):
        return (), Unseen.NOTHING
    left_objects: list[LeftObject] = []
    problem = Unseen.NOTHING
    for document in [text] if text.lstrip().startswith(("{", "[")) else documents_in(text):
        # Repositories hold megabytes of plain manifests that are not olmc's. Their heads say all that is needed;
        # only documents whose heads can't be read off are parsed.
        head, keys = head_of(document), plain_keys(document)
        if keys is not None and not {"apiVersion", "kind"}.issubset(keys):
            continue
        if head is not None and keys is not None and "items" not in keys:
            obj = {"apiVersion": head.api_version, "kind": head.kind}
            obj["metadata"] = {"name": head.name, "namespace": head.namespace}  # type: ignore[assignment]
            text_of_object = document[document.index("apiVersion:") :].rstrip()
            left_objects += [_left_object(obj, text_of_object)] if is_applied(obj) else []
            continue
        findings = Report()
        objects = [manifest.object for value in read("", document, findings) for manifest in applied_objects(value)]
        left_objects += (_left_object(obj, _as_json(obj)) for obj in objects)
        problem = Unseen.UNREADABLE if findings.failed else problem
    return tuple(left_objects), problem


def _places(root: Path, folder: Folder, above: Reason | None) -> Iterator[_LeftOutPlace]:
    """All files and links below a folder, with the reason that a folder above them gives."""
    reason = above or _reason_of_folder(root, folder)
    for name in folder.files:
        yield _LeftOutPlace(folder.join(name), reason)
    for name in folder.links:
        yield _LeftOutPlace(folder.join(name), Reason.LINK, is_link=True)
    for below in folder.folders:
        is_templates = is_chart(folder) and below.path == folder.join(TEMPLATES_FOLDER)
        yield from _places(root, below, reason or (Reason.TEMPLATE if is_templates else None))


def _reason_of_folder(root: Path, folder: Folder) -> Reason | None:
    parent, _, name = folder.path.rpartition("/")
    if name.startswith("."):
        return Reason.HIDDEN
    if is_vendored(root, folder):
        return Reason.VENDORED
    if is_bundle(folder):
        return Reason.BUNDLE
    return Reason.CATALOG if parent.rpartition("/")[2] == CATALOGS_FOLDER else None


def _left_out_of(root: Path, place: _LeftOutPlace) -> LeftOut | None:
    """What is left out of a file, None if that is nothing that anybody would apply."""
    location = Location(place.path)
    if place.is_link:
        return LeftOut(location, Reason.LINK, (), _digest(str((root / place.path).readlink())), Unseen.UNKNOWN)
    text = read_text(root, place.path, Report())
    if text is None:
        digest = digest_at(root / place.path)
        return LeftOut(location, place.reason or Reason.OTHER, (), digest, Unseen.UNREADABLE)
    objects, problem = objects_of(text)
    if not objects and not problem:
        return None
    if place.reason is Reason.TEMPLATE and problem is Unseen.UNREADABLE:
        problem = Unseen.UNRENDERED
    return LeftOut(location, place.reason or _reason_by_header(text), objects, _digest(text), problem)


def _with_bundle_reason(left: LeftOut) -> LeftOut:
    """What is left out of a file, of one among a bundle's manifests with what keeps it from being one of them."""
    folder = left.location.path.rpartition("/")[0].rpartition("/")[2]
    is_broken = left.reason is Reason.BUNDLE and folder == MANIFESTS and left.problem is Unseen.UNREADABLE
    return left._replace(reason=Reason.BROKEN) if is_broken else left


def _reason_by_header(text: str) -> Reason:
    if text.startswith(GENERATED):
        return Reason.RENDERED
    if text.startswith(IMPORTED):
        return Reason.STATE
    return Reason.SCAFFOLDED if text.startswith(SCAFFOLDED) else Reason.OTHER


def _unused(unused: Iterable[Unused]) -> Iterator[LeftOut]:
    """What is left out of files that are read for something else, by file and reason."""
    grouped: dict[tuple[str, Reason], list[Manifest]] = {}
    # What is refused is reported as that, and a review shows it.
    for entry in (entry for entry in unused if entry.reason is not Reason.REFUSED):
        if entry.manifest.source.path.endswith(SUFFIXES):
            grouped.setdefault((entry.manifest.source.path, entry.reason), []).append(entry.manifest)
    for (_, reason), manifests in grouped.items():
        objects = tuple(_left_object(manifest.object, _as_json(manifest.object)) for manifest in manifests)
        digest = _digest("".join(entry.digest for entry in objects))
        yield LeftOut(locate(manifests[0].source, ()), reason, objects, digest)


def _may_hold_objects(text: str) -> bool:
    return ("apiVersion" in text and "kind" in text) or _DISGUISED.search(text) is not None


def _left_object(obj: KubernetesObject, text: str) -> LeftObject:
    key = object_key(BUILTIN.in_its_scope(obj))
    name = key.name or f"{mapping(obj.get('metadata')).get('generateName') or ''}…"
    return LeftObject(key._replace(name=name), _digest(text))


def _as_json(obj: KubernetesObject) -> str:
    return json.dumps(obj, sort_keys=True, default=str)


def _digest(text: str) -> str:
    digest: str = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest
