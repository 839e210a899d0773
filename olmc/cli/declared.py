"""Commands, each declared as a class of options and a function that takes their values.

A field of the class has a name, a type, and as its default the declaration of an option, of an argument, or of another
class of options, whose options it includes. `running` reads a command line by it where click is not needed, and
`main` makes click's commands of it for help, completion and wrong usage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from olmc.k8s.lean import NamedTuple

if TYPE_CHECKING:
    import click

    from olmc.compiler.model.workspace import Workspace


class Choice(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Whole(NamedTuple):
    """A whole number between two, or from one on."""

    low: int
    high: int | None = None


class Decimal(NamedTuple):
    """A number that is at least this."""

    low: float


class PathOf(NamedTuple):
    """A path that is not empty; what it must be if it is there, or whether it has to be there. `as_text`: as it is
    written, which may be no path at all."""

    file_okay: bool = True
    dir_okay: bool = True
    exists: bool = False
    as_text: bool = False


Kind: TypeAlias = "Choice | Whole | Decimal | PathOf"
Callback = Callable[[Any, Any, Any], Any]
T = TypeVar("T")


class DeclaredOption(NamedTuple):
    """An option, or an argument, which has no spelling.

    `spellings`: all of them, of a flag that can be denied as `--yes/--no`. `name`: that of its field. `callback` makes
    of context, parameter and value the value that counts, first for those that are `is_eager`. An argument without a
    default is `required` unless this is False, and a flag that can be denied may then be neither. `old_names` are
    spellings that still work, and that no help shows.
    """

    spellings: tuple[str, ...]
    name: str = ""
    default: Any = None
    type: Kind | None = None
    help: str | None = None
    metavar: str | None = None
    is_flag: bool = False
    multiple: bool = False
    show_default: bool = False
    callback: Callback | None = None
    shell_complete: Callable[..., Any] | None = None
    envvar: str | None = None
    is_eager: bool = False
    required: bool | None = None
    old_names: tuple[str, ...] = ()

    @property
    def is_argument(self) -> bool:
        return not self.spellings and not self.old_names

    @property
    def opts(self) -> list[str]:
        """Return how it is spelt, without how it is denied."""
        return [spelling.partition("/")[0] for spelling in self.spellings + self.old_names]

    @property
    def denied(self) -> str:
        """Return how a flag is denied, "" for others."""
        return next((spelling.partition("/")[2] for spelling in self.spellings if "/" in spelling), "")

    @property
    def is_flag_like(self) -> bool:
        """Return whether it takes no value."""
        return self.is_flag or bool(self.denied)

    @property
    def is_required(self) -> bool:
        """Return whether a command line without it is wrong."""
        needed = self.is_argument and self.default is None and not self.multiple
        return needed if self.required is None else self.required

    def get_default(self, _: Any) -> Any:
        """The value without a word about it, as click has it."""
        if self.default is None and (self.is_flag or self.multiple):
            return False if self.is_flag else ()
        return self.default


class Declared(NamedTuple):
    """A command: the class of its options, the function that takes a context and their values, its help, and the
    commands below it. A mere group of commands has neither options nor a function."""

    options: Any
    function: Callable[[Any, Any], None] | None
    help: str
    commands: Mapping[str, Declared]

    @property
    def params(self) -> list[DeclaredOption]:
        """All options and arguments, in the order of fields."""
        return list(params_of(self.options)) if self.options is not None else []


def option(*spellings: str, **values: Any) -> Any:
    """Declare a field as an option with the values of DeclaredOption."""
    return DeclaredOption(spellings, **values)


def flag(*spellings: str, **values: Any) -> Any:
    """Declare a field as an option that takes no value."""
    return DeclaredOption(spellings, is_flag="/" not in spellings[-1], **values)


def argument(**values: Any) -> Any:
    """Declare a field as an argument; with `multiple` any number of them."""
    return DeclaredOption((), **values)


def command(
    options: type[T], commands: Mapping[str, Declared] = MappingProxyType({})
) -> Callable[[Callable[[Any, T], None]], Declared]:
    """Declare a function as a command with the options of a class; its docstring is the help."""
    return lambda function: Declared(options, function, function.__doc__ or "", commands)


def group(commands: Mapping[str, Declared], text: str) -> Declared:
    """Declare a group of commands, with its help."""
    return Declared(None, None, text, commands)


class NoOptions(NamedTuple):
    """The options of a command that has none."""


def params_of(options: Any) -> Iterator[DeclaredOption]:
    """Yield the options and arguments of a class, with those of the classes that it includes, named by their fields."""
    for name, declared in options._field_defaults.items():
        if isinstance(declared, DeclaredOption):
            yield declared._replace(name=name)
        else:
            yield from params_of(declared)


def filled(options: type[T], values: Mapping[str, Any]) -> T:
    """Return the class of options with values, by the names of fields."""
    return _filled(options, values)  # type: ignore[no-any-return]


def _filled(options: Any, values: Mapping[str, Any]) -> Any:
    return options._make(
        values[name] if isinstance(declared, DeclaredOption) else _filled(type(declared), values)
        for name, declared in options._field_defaults.items()
    )


# Shells complete values of options and arguments by these: the words that olmc knows, and the names in the workspace. A
# command that needs the words for its work completes its own.
#
# olmc completes nothing from a workspace that it can't read, and reports nothing about it, since you are typing.


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a code of a rule."""
    from olmc.review.rules.catalogue import all_rules

    return beginning(incomplete, (rule.code for rule in all_rules()))


def codes_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a code of a rule, and a typed beginning also to an id of the rule book."""
    from olmc.compiler.rules.rulebook import rules_beginning

    ids = [rule.id for rule in rules_beginning(incomplete)] if incomplete else []
    return [*codes(ctx, param, incomplete), *ids]


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a kind that every cluster with OLM has."""
    from olmc.k8s.api.restmapper import builtin_kinds

    return beginning(incomplete, (kind for _, kind in builtin_kinds()))


def olm_versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a version of OLM that olmc knows."""
    from olmc.compiler.olm.profiles.data import known_versions

    return [version for version in known_versions() if version.startswith(incomplete)]


def packages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a package of the catalogs in the workspace."""
    return beginning(incomplete, packages_of(workspace_of(ctx)))


def namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete a namespace that the workspace names."""
    workspace = workspace_of(ctx)
    names: set[str] = set()
    for manifest in workspace.manifests if workspace is not None else ():
        metadata = manifest.object.get("metadata", {})
        names.add(metadata.get("name") if manifest.object["kind"] == "Namespace" else metadata.get("namespace"))
    return beginning(incomplete, names)


def packages_of(workspace: Workspace | None) -> set[str]:
    """Return the names of the packages in all catalogs of a workspace."""
    catalogs = workspace.catalogs.values() if workspace is not None else ()
    return {package for catalog in catalogs for package in catalog.packages}


def path_of(ctx: click.Context) -> Path:
    """Return the path that an incomplete command line is about, the current directory for none."""
    path = ctx.params.get("workspace") or ctx.params.get("path") or Path()
    return Path(path)


def workspace_of(ctx: click.Context) -> Workspace | None:
    """Read the workspace that an incomplete command line is about, None where that fails."""
    from olmc.compiler.api import load

    with suppress(OSError):
        return load(path_of(ctx))
    return None


def beginning(incomplete: str, names: Iterable[str | None]) -> list[str]:
    """Return the names that begin with the typed text, in any case, sorted; none that is several words to a shell."""
    words = {name for name in names if name and name.isprintable() and not any(map(str.isspace, name))}
    return sorted(word for word in words if word.lower().startswith(incomplete.lower()))
