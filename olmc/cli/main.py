"""The command `olmc` for click: the group of all commands, each imported on demand, and the end of a run.

Commands are declared (`declared`); this module makes click's commands of the declarations.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import cleandoc
from io import StringIO
from pathlib import Path
from typing import IO, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from olmc.cli.console import DONE, color_from_environment, say
from olmc.cli.declared import Choice, Decimal, Declared, DeclaredOption, Kind, Whole, argument, command, filled
from olmc.cli.options import PROPOSED_OPTIONS
from olmc.cli.running import REGISTRY, declared_command
from olmc.compiler.output.messages import clean
from olmc.k8s.diagnostics import POSSIBLE, close_matches, did_you_mean
from olmc.k8s.lean import NamedTuple, regex


class GivenPath(click.Path):
    """A path that is not empty: one made of a variable that is not set would be the current directory unasked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current directory.", param, ctx)
        try:
            path = super().convert(value, param, ctx)
            # To click, only a regular file is no directory.
            is_other = not self.file_okay and Path(value).exists() and not Path(value).is_dir()
        except OSError as error:  # a name is too long, or links go round
            self.fail(f"{clean(os.fsdecode(value))} can't be used: {error.strerror or error}.", param, ctx)
        if is_other:
            self.fail(f"Directory {clean(os.fsdecode(value))!r} is no directory.", param, ctx)
        return path


class _CurrentOption(click.Option):
    """An option whose help and errors do not show its old names."""

    def __init__(self, names: list[str], old_names: tuple[str, ...], **values: Any) -> None:
        super().__init__(names, **values)
        self.old_names = old_names

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if set(self.opts) <= set(self.old_names):
            return None
        with self._current():
            return super().get_help_record(ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        with self._current():
            return super().get_error_hint(ctx)

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Have click see the names that the option has now, if it has any."""
        every = self.opts
        self.opts = [name for name in every if name not in self.old_names] or every
        try:
            yield
        finally:
            self.opts = every


class _CommandAbove(click.Command):
    """A command, or one of those below it if its name comes first: `rbac` and `rbac who-can`. A workspace with such a
    name is `./who-can`."""

    def __init__(self, *args: Any, commands: Mapping[str, click.Command], **values: Any) -> None:
        super().__init__(*args, **values)
        self.commands = commands

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        below = self.commands.get(args[0]) if args else None
        if below is None:
            return super().make_context(info_name, args, parent, **extra)
        words = f"{info_name} {args[0]}"
        extra.setdefault("auto_envvar_prefix", f"OLMC_{words.upper()}".replace(" ", "_").replace("-", "_"))
        return below.make_context(words, args[1:], parent, **extra)


def command_of(declared: Declared, name: str) -> click.Command:
    """Return click's command for a declared one."""
    below = {word: command_of(each, word) for word, each in declared.commands.items()}
    function, options = declared.function, declared.options
    if function is None:
        return click.Group(name, commands=below, help=declared.help)

    @click.pass_context
    def call(ctx: click.Context, /, **values: Any) -> None:
        if isinstance(ctx.obj, click.UsageError):
            raise ctx.obj  # found out without click, which knows how to say it
        function(ctx, filled(options, values))

    params = list(map(_param_of, declared.params))
    if below:
        return _CommandAbove(name, callback=call, params=params, help=declared.help, commands=below)
    return click.Command(name, callback=call, params=params, help=declared.help)


def _param_of(param: DeclaredOption) -> click.Parameter:
    # click decides the values that are not given: for some of them None is a special value.
    values: dict[str, Any] = {
        name: value for name, value in param._asdict().items() if value != DeclaredOption._field_defaults.get(name)
    }
    old_names = values.pop("old_names", ())
    names = [*values.pop("spellings", ()), *old_names, values.pop("name")]
    if param.denied:
        values["default"] = param.default  # to click, no word is a no
    if param.type is not None:
        values["type"] = _type_of(param.type)
    if not param.is_argument:
        return _CurrentOption(names, old_names, **values)
    if values.pop("multiple", False):
        values["nargs"] = -1
    return click.Argument(names, **values)


def _type_of(kind: Kind) -> click.ParamType[Any]:
    if isinstance(kind, Whole):
        return click.IntRange(kind.low, kind.high)
    if isinstance(kind, Decimal):
        return click.FloatRange(kind.low)
    if isinstance(kind, Choice):
        return click.Choice(kind.words)
    path_type = None if kind.as_text else Path
    return GivenPath(kind.exists, kind.file_okay, kind.dir_okay, path_type=path_type)


def color_option() -> click.Option:
    """The option --color, which holds for its command and for those below it."""
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        envvar="OLMC_COLOR",
        expose_value=False,
        is_eager=True,
        callback=_choose,
        help="Use colors; auto: on terminals without NO_COLOR.",
    )


def cache_option() -> click.Option:
    """The option --no-cache of the commands that read catalogs."""
    return click.Option(
        ["--no-cache"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_without_cache,
        help="Neither read nor write the cache of catalogs.",
    )


def _without_cache(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    """Turn the cache off for the rest of the command."""
    if not value:
        return
    from olmc.compiler.cache import NO_CACHE, is_off  # with OpenSSL

    if not is_off():
        os.environ[NO_CACHE] = "1"
        ctx.call_on_close(lambda: os.environ.pop(NO_CACHE))


def _choose(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    """Decide for this command; without a word here, what was decided above holds."""
    if value is not None:
        ctx.color = {"always": True, "never": False}.get(value, color_from_environment())
    elif ctx.parent is None:
        ctx.color = color_from_environment()


_EXAMPLES = regex(r"\n\n([^\S\n]*+\x08\n[^\S\n]*+Examples?:\n(?:[^\S\n]*+\S[^\n]*+(?:\n|$))+)")


def summary_of(name: str, limit: int = 45) -> str:
    """Return the help of a command in one sentence, cut as click cuts it."""
    return click.Command(name, help=REGISTRY[name].summary).get_short_help_str(limit)


class Commands(click.Group):
    """Imports the module of a command when it is asked for: a run needs one of them, and each costs its start-up."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(REGISTRY)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands by what somebody wants to do, without an import of one."""
        limit = formatter.width - 6 - max(map(len, REGISTRY))
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary_of(name, limit)) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands as click does, but from the registry; options as click does."""
        names = [name for name in REGISTRY if name.startswith(incomplete) and name not in HIDDEN]
        commands = [CompletionItem(name, help=summary_of(name)) for name in names]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in REGISTRY:
            return None
        command = command_of(declared_command(cmd_name), cmd_name)
        command.hidden = cmd_name in HIDDEN
        _fit_out(command, cmd_name)
        return command

    def make_context(self, *args: Any, **values: Any) -> click.Context:
        """As click does, with the prefix that all errors have."""
        try:
            return super().make_context(*args, **values)
        except click.ClickException as error:
            vars(error)["show"] = partial(_show, error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but what is wrong with a variable is not blamed on the option that it stands for, and names
        out of files can't do anything to a terminal."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if isinstance(error, click.BadParameter):
                _blame_variable(error)
            vars(error)["message"] = "\n".join(map(clean, error.message.split("\n")))
            vars(error)["show"] = partial(_show, error)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but `help COMMAND` is `COMMAND --help`, and for an unknown name olmc suggests the closest."""
        name = args[0]
        if name == "help":
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            return self.resolve_command(ctx, [*args[1:], "--help"])
        if name not in REGISTRY and not name.startswith("-") and not ctx.resilient_parsing:
            shown = [each for each in REGISTRY if each not in HIDDEN]
            near = close_matches(name, shown, 2, POSSIBLE)
            hint = did_you_mean(*near) or f"There is {', '.join(shown)}."
            raise click.UsageError(f"No such command '{name}'. {hint}", ctx)
        # The arguments that a statement about the output names (olmc.cli.verify).
        ctx.meta["olmc.arguments"] = tuple(args[1:])
        return super().resolve_command(ctx, args)


def _show(error: click.ClickException, file: IO[Any] | None = None) -> None:
    """Print what click has to say with the prefix that findings have."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        meant = did_you_mean(*sorted(error.possibilities))
        vars(error).update(message=f"{error.message.rstrip('.')}. {meant}", possibilities=[])
    text = StringIO()
    type(error).show(error, text)
    # Where an argument is missing, click puts each of its words into a line of its own, behind a tab.
    listed = text.getvalue().replace(",\n\t", ", ").replace("\n\t", " ")
    shown = f"\n{listed}".replace("\nError: ", "\nerror: ", 1)[1:]
    click.echo(shown, file=file, err=True, nl=False)


def variable(command: str, option: click.Option) -> str:
    """The environment variable that stands for an option of a command."""
    long = max(option.opts, key=len).lstrip("-")
    return f"OLMC_{command}_{long}".upper().replace("-", "_")


def _blame_variable(error: click.BadParameter) -> None:
    option, ctx = error.param, error.ctx
    if not isinstance(option, click.Option) or ctx is None:
        return
    if ctx.get_parameter_source(option.name or "") is click.core.ParameterSource.ENVIRONMENT:
        error.param_hint = f"the variable {option.envvar} ({max(option.opts, key=len)})"


def _fit_out(command: click.Command, name: str) -> None:
    """Give a command, and those below it, what all have: --color, an environment variable for each option, examples
    first in its help."""
    if name.partition("_")[0] in READING_CATALOGS and not isinstance(command, click.Group):
        command.params.append(cache_option())
    options = [each for each in command.params if isinstance(each, click.Option)]
    for option in options:
        option.envvar = option.envvar or variable(name, option)
    if options:
        example = next((each for each in options if not set(each.opts) <= set(getattr(each, "old_names", ()))), None)
        if example is not None:
            shown = max(example.opts, key=len)
            command.epilog = command.epilog or f"Options are environment variables, too: {example.envvar} is {shown}."
    command.help = examples_first(command.help or "")
    command.params.append(color_option())
    if not isinstance(command, click.Group):
        command.params.append(_help_all_option(hidden=len(options) <= _MOST_OPTIONS))
        vars(command)["format_options"] = partial(_format_options, command)
        vars(command)["format_epilog"] = partial(_format_epilog, command)
    nested: Mapping[str, click.Command] = getattr(command, "commands", {})
    for word, below in nested.items():
        _fit_out(below, f"{name}_{word}")


def _format_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """As click does, but in groups, and of many options those that are used most; --help-all shows the rest."""
    params = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    options = [(param, record) for param in params if (record := param.get_help_record(ctx))]
    own = _own_options(command, ctx)
    is_short = len(own) > _MOST_OPTIONS and not ctx.meta.get(_WHOLE)
    hidden = {*_OF_ALL, *sorted(own, key=_rank)[_MOST_SHOWN:]} if is_short else set()
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*OPTION_GROUPS, _OTHERS)}
    for param, (spelling, text) in options:
        if not (param.name in hidden or (is_short and "--help" in param.opts)):
            groups[_group_of(param.name or "")].append((spelling, _in_short(text) if is_short else text))
    for heading, records in groups.items():
        if records:
            with formatter.section(heading):
                formatter.write_dl(records)
    if hidden:
        formatter.write_paragraph()
        formatter.write_text(f"{len(hidden)} more options: {ctx.command_path} --help-all")


def _format_epilog(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """As click does, but for a help that is cut to the options that are used most."""
    if ctx.meta.get(_WHOLE) or len(_own_options(command, ctx)) <= _MOST_OPTIONS:
        click.Command.format_epilog(command, ctx, formatter)


def _own_options(command: click.Command, ctx: click.Context) -> list[str]:
    """The names of the shown options of a command by itself."""
    params = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    return [param.name or "" for param in params if param.expose_value and param.get_help_record(ctx)]


def _in_short(text: str) -> str:
    """The first sentence of the help of an option, with its default."""
    first = _SENTENCE.split(text, maxsplit=1)[0].removesuffix(" (may be repeated).").rstrip(".")
    first = _SCHEMA.sub("", first)
    default = _DEFAULT.search(text)
    return f"{first}{f'  {default[0]}' if default else ''}" if "[default" not in first else first


def _help_all_option(*, hidden: bool) -> click.Option:
    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_WHOLE] = True
            ctx.command.help = (ctx.command.help or "").replace(_FOLD, "\n\n")
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    text = "Show all options and exit."
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        allow_from_autoenv=False,
        hidden=hidden,
        help=text,
    )


def _rank(name: str) -> int:
    """Return how seldom an option is used."""
    return _OFTEN.index(name) if name in _OFTEN else len(_OFTEN)


def _group_of(name: str) -> str:
    return next((heading for heading, names in OPTION_GROUPS.items() if name in names), _OTHERS)


def examples_first(text: str) -> str:
    """A help text with its examples right behind the first paragraph, wherever they stand."""
    text = cleandoc(text)
    found = _EXAMPLES.search(text)
    if found is None:
        return text
    rest = text[: found.start()] + "\n\n" + text[found.end() :].lstrip("\n")
    first, _, more = rest.partition("\n\n")
    return f"{first}\n\n{found[1].rstrip()}\n\n{more.strip()}".rstrip()


# The options of a command by what they are about; what is in no group is particular to a command.
OPTION_GROUPS = {
    "Lock and pin": frozenset(("update", "pin")),
    "Input": frozenset(
        "entries entry from_ prune delete allow_empty approve namespace install_namespace watch all_namespaces"
        " watch_all beside entries_from repository locked layouts catalogs".split()
    ),
    "Output": frozenset(
        "output output_dir folder for_ include exclude certs copied_csvs phase show_secrets verbose check"
        " fail_on_change provenance flux keep_going everything statistics icons print_csv".split()
    ),
    "Cluster": frozenset("olm_version kube_version apis api_resources to to_kube to_catalogs resolve_timeout".split()),
    "Review": frozenset(
        "fail_on exit_code strict select ignore since optional values author all_versions walk at fresh subject"
        " installers name".split()
    ),
    "Proposed APIs, which no release of OLM has": PROPOSED_OPTIONS,
}
_OTHERS = "Options"
_SCHEMA = regex(r" \(schemas/[^)]*\)")
_SENTENCE = regex(r"(?<=\.)\s+(?=[A-Z\[])|(?<=\))\.\s+")
_DEFAULT = regex(r"\[default: [^\]]*\]$")
_OFTEN = (
    "output output_dir folder for_ from_ certs namespace install_namespace fail_on exit_code select"
    " strict subject update locked pin entries entry since olm_version approve walk to check include exclude ignore"
    " optional everything verbose layouts platform offline host port kubeconfig show_secrets kube_version".split()
)
"""Options by how often they are used; a command with many shows the first of them."""
_MOST_OPTIONS, _MOST_SHOWN = 12, 10
_OF_ALL = frozenset(("no_cache", "color", "help_all"))
"""The options of all commands, which a short help leaves to --help-all."""
_WHOLE = "olmc.help_all"
_FOLD = "\f"
"""The mark before the part of a command's help that only --help-all shows; click leaves it out."""

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLMC", "max_content_width": 110}

# The output of `olmc --help`: the commands by task, with those for beginners first.
SECTIONS = {
    "See what OLM will do": ("status", "render", "resolve", "why", "get", "graph"),
    "Review a change": ("plan", "fleet", "diff", "check", "fix", "rbac", "report"),
    "Set up, fetch and convert": ("init", "vendor", "import", "migrate"),
    "Integrate, verify and look up": ("lsp", "plugin", "serve", "verify", "explain", "completion", "version"),
}
HIDDEN = frozenset({"argocd", "cache", "fn"})
"""The commands that still have their old name, or that few need; `olmc COMMAND --help` explains them."""

# The commands that read catalogs, and may keep what they have read of them.
READING_CATALOGS = frozenset(
    "check diff fix fleet get graph migrate plan rbac render report resolve serve status vendor verify why".split()
)


def _tell_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value and not ctx.resilient_parsing:
        from olmc.cli.reference import tell_version

        tell_version()
        ctx.exit()


_VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_tell_version,
    help="The same as olmc version.", hidden=True,
)  # fmt: skip


def _go_there(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:  # noqa: ARG001
    if value is not None:
        if not ctx.resilient_parsing:  # what is completed is so after the context was closed
            ctx.call_on_close(partial(os.chdir, Path.cwd()))
        os.chdir(value)


_DIRECTORY = click.Option(
    ["-C", "directory"], metavar="DIR", type=GivenPath(exists=True, file_okay=False, path_type=Path), is_eager=True,
    expose_value=False, allow_from_autoenv=False, callback=_go_there, help="Run as if olmc was started in DIR.",
)  # fmt: skip


@click.group(cls=Commands, params=[_DIRECTORY, color_option(), _VERSION], context_settings=CONTEXT)
def main() -> None:
    """See what the Operator Lifecycle Manager (OLM) will do to your cluster, before it does.

    \b
    Examples:
      olmc status                        every operator and its next upgrade
      olmc plan --from git:main          what merging this branch would change
      olmc check                         what is wrong in this workspace
      olmc render -o name                the objects that OLM would leave
      olmc render my-bundle -n tools     one bundle, installed in namespace tools

    Commands take a workspace; without one they use the current directory.
    """


def clicked(wrong: Exception | None = None) -> int:
    """Run the command line by click, or report its problem; return the exit code of a command that does not end itself.

    Raises KeyboardInterrupt for Ctrl-C, and BrokenPipeError if the reader of the output is closed.
    """
    out = sys.stdout
    try:
        code = main(standalone_mode=False, obj=wrong)
    except click.Abort as end:  # click's word for Ctrl-C
        raise end.__cause__ or KeyboardInterrupt from None
    except SystemExit as end:
        if sys.stdout is out:
            raise
        raise BrokenPipeError from end  # click has seen it first, and put something else in the place of stdout
    return code if isinstance(code, int) else DONE


class CompletionOptions(NamedTuple):
    """The options of `olmc completion`."""

    shell: str = argument(type=Choice(("bash", "zsh", "fish")))


@command(CompletionOptions)
def completion(_: click.Context, opts: CompletionOptions) -> None:
    """Print a shell completion script.

    Completes commands, options, rule codes, kinds and validators, and the packages, versions, namespaces and objects
    of the workspace.

    \b
    Examples:
      olmc completion bash > ~/.local/share/bash-completion/completions/olmc
      olmc completion zsh > ~/.zfunc/_olmc       ~/.zfunc has to be in fpath
      olmc completion fish > ~/.config/fish/completions/olmc.fish
    """
    made = get_completion_class(opts.shell)
    if made is not None:
        say(made(main, {}, "olmc", "_OLMC_COMPLETE").source(), out=True)
