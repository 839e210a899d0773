"""Commands with their options and arguments, declared once: `as_click` makes click's of them for help, completion and
wrong usage, and `running` reads a command line by them where click is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from olmc.lean import NamedTuple

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
