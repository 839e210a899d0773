"""Building a kustomization with `kustomize` or `kubectl kustomize`: what a GitOps tool would apply of a folder.

The tool runs in an environment of its own, without the user's: no proxies but one that answers nothing, no
credentials, no git, no plugins, and for so long only. What it would have to fetch is refused before it starts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.compiler.load.build_files import staged
from olmc.compiler.load.files import MAX_FILE_BYTES, real_path
from olmc.compiler.load.kustomization import KustomizationTree, MissingFile, SharedBases, read_tree, relative_path
from olmc.compiler.load.manifests import SUFFIXES, manifests_in
from olmc.compiler.load.policies import installed_by, is_policy, parts_of
from olmc.compiler.load.policy_generators import GenerationError
from olmc.compiler.load.unsaved import is_unsaved
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Source, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    POLICY_GROUP,
    KubernetesObject,
    Manifest,
    as_text,
    name_of,
    namespace_of,
    object_key,
)
from olmc.k8s.yaml import Document, read

if TYPE_CHECKING:
    from olmc.compiler.load.policies import Installed

# Running the tools of others: without a network, in an environment of their own, bounded in time and output.

_MOST_ERRORS = 64 * 1024
# A port without a server: Go's client asks the proxy for everything that is not on this machine.
_NO_PROXY_THERE = "http://127.0.0.1:9"
_FRAMES = regex(r'^.*?"command failed" err=|^Error: |["\\<>]+')
_WARNING = regex(r"^# Warning.*$", re.MULTILINE)
_OUTER = regex(r"^.*recursed accumulation of path (?=')", re.DOTALL)


class Output(NamedTuple):
    """The output of a tool; `problem` is the reason for no output, "" for no problem."""

    text: str
    problem: str = ""


def run(command: Sequence[str], *, seconds: float, most: int, stdin: str = "") -> Output:
    """Run a command for so many seconds, of which so many bytes are read. It gets none of the user's environment.

    It is in the process group of its caller: who ends that ends the command as well.
    """
    with (
        tempfile.TemporaryDirectory(prefix="olmc-build-") as folder,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as given,
    ):
        given.write(stdin.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=errors, env=_environment(folder)
            )
        except OSError as error:
            return Output("", f"{Path(command[0]).name} can't be run: {error.strerror}")
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        with process:
            assert process.stdout is not None
            data = process.stdout.read(most + 1)
            if len(data) > most:
                process.kill()
        timer.cancel()
        if is_late.is_set():
            return Output("", f"it took more than {seconds} seconds")
        if len(data) > most:
            return Output("", f"it gives more than {most:,} bytes")
        if process.returncode:
            errors.seek(0)
            return Output("", _cleaned(errors.read(_MOST_ERRORS).decode("utf-8", "replace")))
    return Output(data.decode("utf-8", "replace"))


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of a tool: an empty home, no programs to call, and a proxy without a server."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NO_PROXY_THERE)
    places = dict.fromkeys(("HOME", "PATH", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), folder)
    # Without it no program starts on Windows.
    system = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return {**system, **places, **proxies, "KUBECONFIG": os.devnull, "LC_ALL": "C"}


def without_quotes(problem: str) -> str:
    """An error of kustomize without the literals and patches that it quotes, which may be those of Secrets.

    >>> without_quotes("literal sources [hunter2]: invalid literal source hunter2, expected key=value")
    'a literal is not of the form key=value'
    """
    head, is_literal, _ = problem.partition("literal sources [")
    if is_literal:
        return f"{head}a literal is not of the form key=value"
    head, is_config, quoted = problem.partition(" with config: `")
    if not is_config:
        return problem
    return f"{head}: {quoted.rpartition('`: ')[2].partition(' from [patch: ')[0]}"


def relative_to(root: Path, problem: str) -> str:
    """A tool's message with paths as seen from `root`: it has them from the top of the file system."""
    top = "/".join(real_path(root).parts[1:2])
    return re.sub(
        rf"(?<![\w/])/{re.escape(top)}/[^\s'\":;,\]]+", lambda match: relative_path(Path(match[0]), root), problem
    )


def _cleaned(text: str) -> str:
    """A tool's message in one line, without what it is framed in: of folders in each other the innermost has the
    cause."""
    text = _OUTER.sub("", _FRAMES.sub(" ", _WARNING.sub("", text).strip()))
    line = " ".join(text.split())
    return line[:600] or "it ended without a message"


SECONDS = 60
"""The time limit of a build."""

_SHOWN = 12
# A generator is left out as a whole, with the values that it has from elsewhere.
_OF_GENERATORS = {"configMapGenerator": "its ConfigMap", "secretGenerator": "its Secret"}
_TOOLS = (("kustomize", "build"), ("kubectl", "kustomize"))
_RESTRICTED = ("--load-restrictor", "LoadRestrictionsRootOnly")


class Build(NamedTuple):
    """The objects of a kustomization, the files that it was built of, relative to the workspace, and the objects that
    its policies install, which are among the manifests. `refused` are Subscriptions that the API server rejects."""

    manifests: tuple[Manifest, ...]
    files: tuple[str, ...]
    installed: Installed | None = None
    refused: tuple[Manifest, ...] = ()


def build(root: Path, kustomization: Path, report: Report, bases: SharedBases | None = None) -> Build:
    """Return the objects of the kustomization of the workspace at `root`. Return none, with the reason in `report`, if
    it can't be built without a network or without a tool. `bases` has the files that earlier builds with this root have
    read."""
    bases = bases if bases is not None else SharedBases({}, {})
    tree = read_tree(kustomization, root, bases.nodes)
    paths = tuple(relative_path(path, root) for path in (*tree.kustomizations, *tree.files))
    shown = relative_path(real_path(kustomization), root)
    for remote in tree.remotes:
        rule = rules.HELM_IN_KUSTOMIZATION if remote.is_chart else rules.REMOTE_BASE
        report.add(rule.finding(remote.place, remote=remote.text))
    for outside in tree.outside:
        report.add(rules.BASE_OUTSIDE.finding(outside.place, path=outside.text))
    for secrets in tree.secrets:
        report.add(rules.SECRETS_LEFT_OUT.finding(secrets.place, plugin=secrets.text))
    if tree.remotes or tree.outside:
        return Build((), paths)
    tool = _tool()
    if tool is None:
        report.add(rules.NO_KUSTOMIZE.finding(Location(shown), path=shown))
        return Build((), paths)
    apart = tree.generated or tree.kept_out or any(map(is_unsaved, (*tree.kustomizations, *tree.files)))
    output = _build_staged(tool, tree, kustomization) if apart else _build_folder(tool, kustomization.parent)
    if output.problem:
        for finding in _not_built(root, tree, shown, output.problem):
            report.add(finding)
        return Build((), paths)
    for missing in tree.kept_out:
        objects = _OF_GENERATORS.get(str(missing.keys[0]), "it")
        report.add(rules.KEPT_OUT_OF_GIT.finding(missing.place, path=missing.text, objects=objects))
    documents = read(shown, output.text, report)
    documents = [document._replace(source=Source(shown, "")) for document in documents]
    sound = tuple(manifests_in(documents, report))
    refused = tuple(_refused(documents, sound))
    placed = tuple(_Origins(root, tree, bases.written).placed(sound))
    if not any(manifest.object["apiVersion"].startswith(POLICY_GROUP) for manifest in placed):
        return Build(placed, paths, refused=refused)
    installed = _installed_by_policies(placed, _Origins(root, tree, bases.written), report)
    return Build((*placed, *installed.manifests), paths, installed, refused)


def _not_built(root: Path, tree: KustomizationTree, shown: str, problem: str) -> Iterator[Diagnostic]:
    """Yield why the tool does not build the kustomization at the path `shown`: the files that it lacks and the plugins
    that olmc does not run, each where it is named, or else the tool's own words."""
    absent = [missing for missing in tree.missing if not missing.of_policies]
    needed = [missing for missing in absent if not missing.is_kept_out]
    lacking = defaultdict[Path, list[MissingFile]](list)
    # Without a file that git ignores the rest can often be built, but not here.
    for missing in needed or (absent if not tree.plugins else ()):
        lacking[missing.kustomization].append(missing)
    for path, files in lacking.items():
        names = join_limited([file.text for file in files], _SHOWN)
        problem = f"{names} {'is' if len(files) == 1 else 'are'} not there"
        hint = f"Add the file{'s' * (len(files) > 1)}, or correct the path{'s' * (len(files) > 1)}."
        named = relative_path(path, root)
        yield rules.NOT_BUILT.finding(files[0].place, path=named, problem=problem, hint=hint)
    for plugin in tree.plugins if not lacking else ():
        yield rules.PLUGIN_IN_KUSTOMIZATION.finding(plugin.place, kind=plugin.text)
    if not (lacking or tree.plugins):
        hint = "See what `kustomize build` says of it; olmc gives it no network and no files outside of its folders."
        problem = without_quotes(relative_to(root, problem))
        yield rules.NOT_BUILT.finding(Location(shown), path=shown, problem=problem, hint=hint)


def _refused(documents: Sequence[Document], sound: Sequence[Manifest]) -> Iterator[Manifest]:
    """The Subscriptions of a build that are not among the sound ones: a GitOps tool asks for them all the same."""
    known = {object_key(manifest.object) for manifest in sound}
    for manifest in manifests_in(documents, Report(), judged=False):
        key = object_key(manifest.object)
        if (key.group, key.kind) == (OLM_GROUP, "Subscription") and key not in known:
            yield manifest


def _build_folder(tool: list[str], folder: Path) -> Output:
    return run([*tool, *_RESTRICTED, str(real_path(folder))], seconds=SECONDS, most=MAX_FILE_BYTES)


def _build_staged(tool: list[str], tree: KustomizationTree, kustomization: Path) -> Output:
    """Build a kustomization whose PolicyGenerators are replaced by the Policies that they make."""

    def built(folder: Path) -> str:
        output = _build_folder(tool, folder)
        if output.problem:
            raise GenerationError(output.problem)
        return output.text

    with tempfile.TemporaryDirectory(prefix="olmc-policies-") as name:
        place = real_path(Path(name))
        try:
            top, folder = staged(tree, kustomization, place, built)
        except GenerationError as error:
            return Output("", str(error))
        except OSError as error:
            return Output("", f"a copy of it can't be made: {error.strerror}")
        output = _build_folder(tool, folder)
        return output._replace(problem=output.problem.replace(str(place), str(top)))


def _installed_by_policies(manifests: tuple[Manifest, ...], origins: _Origins, report: Report) -> Installed:
    """Return the objects that the policies of a build put into a cluster, each with the place where it is written, if
    known."""
    written = list(origins.written())
    known = defaultdict[tuple[str, str], list[Manifest]](list)
    for manifest in written:
        for part in (manifest, *(parts_of(manifest) if is_policy(manifest.object) else ())):
            known[_kind_of(part.object)].append(part)

    def place_of(value: KubernetesObject, source: Source) -> Source:
        if source.text:
            return source
        of_kind = known.get(_kind_of(value), ())
        same = next((manifest.source for manifest in of_kind if manifest.object == value), None)
        return same or _changed_origin(value, of_kind) or source

    return installed_by(manifests, report, place_of)


def _changed_origin(built: KubernetesObject, known: Iterable[Manifest]) -> Source | None:
    """The file that an object comes from which a build has changed, None where several can be meant."""
    if not name_of(built):
        return None
    paths = {other.source.path for other in known if name_of(other.object) and _is_origin(other.object, built)}
    return Source(paths.pop(), "") if len(paths) == 1 else None


class _Origins(NamedTuple):
    """The origins of the objects of a build; `read` has the manifests in files that earlier builds have read."""

    root: Path
    tree: KustomizationTree
    read: dict[Path, tuple[Manifest, ...]]

    def placed(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """The objects with their place: of one that the build leaves as it is, that in its file; of another one the
        file that it comes from, where only one can be meant, or else the kustomization."""
        known = defaultdict[tuple[str, str], list[Manifest]](list)
        for manifest in self.written():
            known[_kind_of(manifest.object)].append(manifest)
        for manifest in manifests:
            of_kind = known.get(_kind_of(manifest.object), ())
            alike = [other for other in of_kind if _is_origin(other.object, manifest.object)]
            same = [other for other in alike if other.object == manifest.object]
            if same:
                yield same[-1]
            else:
                yield manifest._replace(source=_changed_origin(manifest.object, alike) or manifest.source)

    def written(self) -> Iterator[Manifest]:
        """Yield the manifests of OLM and of policies in the files that kustomizations name. Findings are about these
        only.

        For the files that PolicyGenerators wrap, yield all manifests.
        """
        for path in self.tree.files:
            if not path.name.endswith(SUFFIXES):
                continue
            if self.tree.generated:
                yield from self._manifests_at(path, is_any=True)
                continue
            if path not in self.read:
                self.read[path] = self._manifests_at(path, is_any=False)
            yield from self.read[path]

    def _manifests_at(self, path: Path, *, is_any: bool) -> tuple[Manifest, ...]:
        """The manifests in a file, () of one that has nothing of OLM or of policies unless `is_any`."""
        try:
            text = path.read_text("utf-8")
        except (OSError, ValueError):
            return ()
        if not (is_any or OLM_GROUP in text or POLICY_GROUP in text):
            return ()
        shown = relative_path(path, self.root)
        return tuple(manifests_in(read(shown, text, Report()), Report(), judged=False))


def _kind_of(obj: KubernetesObject) -> tuple[str, str]:
    return as_text(obj["kind"]), as_text(obj["apiVersion"])


def _is_origin(written: KubernetesObject, built: KubernetesObject) -> bool:
    """Return whether an object may have become another one in a build, which adds to names and sets namespaces."""
    namespaces = {namespace_of(written), namespace_of(built)}
    return (
        _kind_of(written) == _kind_of(built)
        and name_of(written) in name_of(built)
        and (len(namespaces) == 1 or "" in namespaces or name_of(written) == name_of(built))
    )


def _tool() -> list[str] | None:
    """The command that builds a folder, None where there is none."""
    for name, *arguments in _TOOLS:
        path = shutil.which(name)
        if path is not None:
            return [path, *arguments]
    return None
