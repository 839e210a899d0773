"""A call of the compiler as one value: what is compiled, with which options, and how files are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from olmc.compiler.load.files import ScannedFolder
from olmc.compiler.load.workspace_files import FoundFiles
from olmc.compiler.model.options import Narrowing, Options
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    from olmc.compiler.load.catalog_files import CatalogLoader
    from olmc.compiler.load.releases import Release
    from olmc.compiler.load.repository import ClusterPart

DEFAULTS = Options()


class CompileRequest(NamedTuple):
    """The input and the options of a compilation; `compile`, `plan`, `diff` and `check` take it in the place of a path.

    `root`: the directory of a workspace or a bundle. `options`: what the user chooses; `fixed`: the names of those
    options that `olmc.yaml` may not override. `narrowing`: more files to leave out than `.olmcignore` and `olmc.yaml`
    name. `beside`: a folder whose files count as well. `release`: how a folder that is a Helm chart is installed.
    `loader`: a function that loads catalogs in the place of `load_catalog`. `stage`: a function that hears when a stage
    begins. `part`: what is compiled of a repository at `root`, as one cluster. Without `obey_lock` the resolver
    chooses all versions and ignores `olmc.lock`. `tree`: the tree below `root`, or the part of it that counts, if it
    was scanned already; with a `narrowing` it is scanned again, except for its whole folders. With
    `without_idle_bundles` a repository of bundles in which nothing installs a bundle is read without them.
    """

    root: Path
    options: Options = DEFAULTS
    fixed: frozenset[str] = frozenset()
    narrowing: Narrowing | None = None
    beside: Beside | None = None
    release: Release | None = None
    loader: CatalogLoader | None = None
    stage: Callable[[str], object] = str
    obey_lock: bool = True
    part: ClusterPart | None = None
    tree: ScannedFolder | None = None
    without_idle_bundles: bool = False


def request_of(
    what: CompileRequest | Path | str, options: Options | None = None, fields: Mapping[str, Any] | None = None
) -> CompileRequest:
    """Return the request that the arguments of a public function mean.

    `what` is a request or a path, `options` replaces its options, and each of `fields` is an option that `olmc.yaml`
    may not override. Raises TypeError for a name that no option has.
    """
    request = what if isinstance(what, CompileRequest) else CompileRequest(Path(what))
    if options is not None:
        request = request._replace(options=options)
    if not fields:
        return request
    unknown = sorted(fields.keys() - set(Options._fields))
    if unknown:
        raise TypeError(f"there is no option {', '.join(unknown)}; see olmc.Options")
    return request._replace(options=request.options._replace(**fields), fixed=request.fixed | fields.keys())


class BesideFolder(NamedTuple):
    """A folder that was read already: its content, which does not change, and the findings about it."""

    path: Path
    found: FoundFiles
    diagnostics: tuple[Diagnostic, ...]


Beside: TypeAlias = Path | BesideFolder
