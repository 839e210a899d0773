"""Commands with their options and arguments, declared once: `as_click` makes click's of them for help, completion and
wrong usage, and `running` reads a command line by them where click is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    import click

    from olmc.compiler.model.workspace import Workspace

if TYPE_CHECKING:
    pass


class Choice(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Whole(NamedTuple):
    """A whole number between two, or from one on."""

    low: int
    high: int | None = None


class PathOf(NamedTuple):
    """A path that is not empty; what it must be if it is there, or whether it has to be there. `as_text`: as it is
    written, which may be no path at all."""

    file_okay: bool = True
    dir_okay: bool = True
    exists: bool = False
    as_text: bool = False


Callback = Callable[[Any, Any, Any], Any]
F = TypeVar("F", bound=Callable[..., Any])


class DeclaredOption(NamedTuple):
    """An option, or an argument.

    `names`: of an option all its spellings, of a flag that can be denied as `--yes/--no`, and the name of its value if
    that is another one. `callback` makes of context, parameter and value the value that counts, first for those that
    are `is_eager`; what is not exposed the function does not get. An argument without a default is `required`, and a
    flag that can be denied may then be neither.
    """

    names: tuple[str, ...]
    default: Any = None
    type: Choice | Whole | PathOf | None = None
    help: str | None = None
    metavar: str | None = None
    is_flag: bool = False
    multiple: bool = False
    show_default: bool = False
    callback: Callback | None = None
    shell_complete: Callable[..., Any] | None = None
    envvar: str | None = None
    is_eager: bool = False
    expose_value: bool = True
    required: bool = True

    @property
    def is_argument(self) -> bool:
        return not self.names[0].startswith("-")

    @property
    def opts(self) -> list[str]:
        """How it is spelt, without how it is denied."""
        return [name.partition("/")[0] for name in self.names if name.startswith("-")]

    @property
    def denied(self) -> str:
        """How a flag is denied, "" for others."""
        return next((name.partition("/")[2] for name in self.names if "/" in name), "")

    @property
    def is_flag_like(self) -> bool:
        """Whether it takes no value."""
        return self.is_flag or bool(self.denied)

    @property
    def name(self) -> str:
        """The name of its value: the one that is no spelling, else the longest spelling."""
        own = [name for name in self.names if not name.startswith("-")]
        return own[0] if own else max(self.opts, key=len).lstrip("-").replace("-", "_")

    def get_default(self, _: Any) -> Any:
        """The value without a word about it, as click has it."""
        if self.default is None and (self.is_flag or self.multiple):
            return False if self.is_flag else ()
        return self.default


class Declared(NamedTuple):
    """A command: its parameters and the function that takes their values."""

    params: tuple[DeclaredOption, ...]
    function: Callable[..., Any]


def option(*names: str, **values: Any) -> DeclaredOption:
    """An option with the values of DeclaredOption."""
    return DeclaredOption(names, **values)


def argument(name: str, **values: Any) -> DeclaredOption:
    """An argument; with `multiple` any number of them."""
    return DeclaredOption((name,), **values)


def command(*params: DeclaredOption) -> Callable[[Callable[..., Any]], Declared]:
    """Declares a function as a command with these parameters; it is called with a context first."""
    return lambda function: Declared(params, function)


# What shells complete for the values of options and arguments: what olmc knows, and what the workspace has.
#
# A workspace that can't be read has nothing to complete, and nothing is reported about it: somebody is typing.


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The codes of rules."""
    from olmc.review.rules.catalogue import all_rules

    return _beginning(incomplete, (rule.code for rule in all_rules()))


def codes_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The codes of rules, and once something is written the ids of the rule book."""
    from olmc.compiler.rules.rulebook import rules_beginning

    ids = [rule.id for rule in rules_beginning(incomplete)] if incomplete else []
    return [*codes(ctx, param, incomplete), *ids]


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The kinds that every cluster with OLM has."""
    from olmc.k8s.api.restmapper import builtin_kinds

    return _beginning(incomplete, (kind for _, kind in builtin_kinds()))


def optional_validators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The names of optional validators and of suites of them."""
    from olmc.review.check.validators.findings import OPTIONAL, SUITES

    return [name for name in (*OPTIONAL, *SUITES) if name.startswith(incomplete)]


def olm_versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The versions of OLM that one can ask for."""
    from olmc.compiler.olm.profiles.data import known_versions

    return [version for version in known_versions() if version.startswith(incomplete)]


def resources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """What `olmc get` shows."""
    from olmc.targets.proposed.installed.resources import OLM_RESOURCES, RESOURCES

    return _beginning(incomplete, (resource.plural for resource in (*RESOURCES, *OLM_RESOURCES)))


def packages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The packages of the workspace's catalogs."""
    return _beginning(incomplete, _packages(_workspace(ctx)))


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The namespaces that the workspace names."""
    workspace = _workspace(ctx)
    names: set[str] = set()
    for manifest in workspace.manifests if workspace is not None else ():
        metadata = manifest.object.get("metadata", {})
        names.add(metadata.get("name") if manifest.object["kind"] == "Namespace" else metadata.get("namespace"))
    return _beginning(incomplete, names)


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """What `olmc why` is asked about: packages and CSVs, and once there is a slash the objects of the cluster."""
    if "/" in incomplete:
        from olmc.targets.pipeline import compile

        with suppress(OSError):
            return _beginning(incomplete, (str(rendered.identity) for rendered in compile(_path(ctx)).objects))
        return []
    workspace = _workspace(ctx)
    return _beginning(incomplete, [*_packages(workspace), *(workspace.bundles if workspace is not None else ())])


def _packages(workspace: Workspace | None) -> set[str]:
    catalogs = workspace.catalogs.values() if workspace is not None else ()
    return {package for catalog in catalogs for package in catalog.packages}


def _path(ctx: click.Context) -> Path:
    """The workspace of a command line that is not complete: one that was typed before counts."""
    path = ctx.params.get("workspace") or ctx.params.get("path") or Path()
    return Path(path)


def _workspace(ctx: click.Context) -> Workspace | None:
    from olmc.compiler.api import load

    with suppress(OSError):
        return load(_path(ctx))
    return None


def _beginning(incomplete: str, names: Iterable[str | None]) -> list[str]:
    """Those that begin with what is typed, in any case, sorted; none that a shell would take for more than a word."""
    words = {name for name in names if name and name.isprintable() and not any(map(str.isspace, name))}
    return sorted(word for word in words if word.lower().startswith(incomplete.lower()))
