"""Read, run and end a command line. olmc reads a valid one without click, by the declaration of its command.

The import of click takes as long as two empty runs of Python. olmc leaves a command line to click from the beginning if
it needs click: for help, completion, color, variables of the environment, and for arguments that are not declared or
invalid. Nothing has been printed or done by then.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.cli.declared import Choice, Decimal, Declared, DeclaredOption, Kind, PathOf, Whole, filled
from olmc.k8s.lean import NamedTuple


class CommandEntry(NamedTuple):
    """The facts about a command before its import: the module of `olmc.cli` that declares it, and its help in one
    sentence."""

    module: str
    summary: str


REGISTRY: Mapping[str, CommandEntry] = MappingProxyType({
    "argocd": CommandEntry("plugins", "Run as a config management plugin of Argo CD."),
    "cache": CommandEntry("reference", "Show or clear the cache of large catalogs."),
    "check": CommandEntry("check", "Find mistakes before a cluster does."),
    "completion": CommandEntry("main", "Print a shell completion script."),
    "diff": CommandEntry("diff", "Show the changes of an upgrade, and the breaking ones."),
    "explain": CommandEntry("reference", "Explain a code, a rule, or a word of OLM."),
    "fix": CommandEntry("fix", "Apply changes that are proven to cure what fails."),
    "fleet": CommandEntry("fleet", "Plan, check and render many clusters at once."),
    "fn": CommandEntry("plugins", "Run as a KRM function of kustomize or kpt."),
    "get": CommandEntry("installed", "List the operators or packages of a namespace."),
    "graph": CommandEntry("graph", "Draw a package's upgrade graph, or print an upgrade path."),
    "import": CommandEntry("import_", "Make a state file from kubectl output or a must-gather."),
    "init": CommandEntry("pipelines", "Write the olmc files of a pipeline or a workspace."),
    "lsp": CommandEntry("plugins", "Run the language server for your editor."),
    "migrate": CommandEntry("fix", "Convert a workspace to OLM v1 or to the proposed APIs."),
    "plan": CommandEntry("plan", "Show what a change will do to your cluster, step by step."),
    "plugin": CommandEntry("plugins", "Run as a plugin of Argo CD, kustomize or kpt."),
    "rbac": CommandEntry("rbac", "Show the permissions of operators and users."),
    "render": CommandEntry("render", "Print the objects that OLM would leave in the cluster."),
    "report": CommandEntry("report", "Write a static HTML report of a workspace."),
    "resolve": CommandEntry("lock", "Show what OLM would install or upgrade, and why."),
    "serve": CommandEntry("installed", "Serve a workspace to kubectl as an API server."),
    "status": CommandEntry("inspect", "Show each operator's version, phase and next upgrade."),
    "vendor": CommandEntry("vendor", "Fetch catalogs and bundles that are named by image."),
    "verify": CommandEntry("verify", "Verify an output against its provenance statement."),
    "version": CommandEntry("reference", "Print the versions of olmc, OLM and the runtime."),
    "why": CommandEntry("inspect", "Explain the origin of an object, or its obstacle."),
})  # fmt: skip
"""The commands by their names. Help, completion and suggestions read it, so they import no command."""


class ValueSource(Enum):
    """The source of a value, by click's names."""

    DEFAULT = 0
    COMMANDLINE = 1


class Call(NamedTuple):
    """The call of a command, with the parts that commands read from click's context."""

    command: Declared
    options: Any
    params: dict[str, Any]
    typed: frozenset[str]
    resources: ExitStack
    meta: dict[str, Any]

    def get_parameter_source(self, name: str) -> ValueSource:
        return ValueSource.COMMANDLINE if name in self.typed else ValueSource.DEFAULT

    def with_resource(self, resource: Any) -> Any:
        """Enter a context manager until the command ends, and return its value."""
        return self.resources.enter_context(resource)


class _UnclearError(Exception):
    """The command line is click's to read."""


def declared_command(name: str) -> Declared:
    """Import a command. A name that Python keeps to itself has an underscore behind it there."""
    module = import_module(f"olmc.cli.{REGISTRY[name].module}")
    declared: Declared = getattr(module, f"{name}_" if iskeyword(name) else name)
    return declared


def quick_call(args: Sequence[str], environment: Mapping[str, str] = MappingProxyType(os.environ)) -> Call | None:
    """Return the call of a command line, None if click has to read it."""
    name = args[0] if args else ""
    if name not in REGISTRY or any(_is_for_click(variable, name) for variable in environment):
        return None
    declared, rest = declared_command(name), args[1:]
    while rest and rest[0] in declared.commands:
        declared, rest = declared.commands[rest[0]], rest[1:]
    return read_call(declared, rest, {"olmc.arguments": tuple(args[1:])})


def read_call(declared: Declared, args: Sequence[str], meta: dict[str, Any]) -> Call | None:
    """Read the words behind a command; None where click has to read them."""
    if declared.function is None:
        return None
    params = declared.params
    try:
        given = _given(params, args)
        values = {param.name: _converted(param, given) for param in params}
        call = Call(declared, None, values, frozenset(given), ExitStack(), meta)
        for param in sorted(params, key=lambda param: not param.is_eager):
            if param.callback is not None:
                values[param.name] = param.callback(call, param, values[param.name])
    except _UnclearError:
        return None
    except Exception as error:
        click = sys.modules.get("click")
        if click is not None and isinstance(error, click.ClickException):
            return None
        raise
    return call._replace(options=filled(declared.options, values))


def _is_for_click(variable: str, command: str) -> bool:
    return variable.startswith((f"OLMC_{command.upper()}_", "OLMC_COLOR", "OLMC_VERSION", "_OLMC_COMPLETE"))


def _given(params: Sequence[DeclaredOption], args: Sequence[str]) -> dict[str, list[Any]]:
    """The values that a command line gives, by the names of parameters."""
    options = {spelling: (param, True) for param in params for spelling in param.opts}
    options |= {param.denied: (param, False) for param in params if param.denied}
    given: dict[str, list[Any]] = {}
    words: list[str] = []
    rest = iter(args)
    for word in rest:
        if word[:1] != "-" or word == "-":
            words.append(word)
            continue
        spelling, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if spelling not in options or (equals and options[spelling][0].is_flag_like):
            raise _UnclearError
        param, meant = options[spelling]
        if param.is_flag_like:
            given.setdefault(param.name, []).append(meant)
            continue
        following = value if equals else next(rest, None)
        if following is None:
            raise _UnclearError
        given.setdefault(param.name, []).append(following)
    for param in params:
        if param.is_argument and words:
            given[param.name] = words if param.multiple else [words.pop(0)]
            words = [] if param.multiple else words
    if words:
        raise _UnclearError
    return given


def _converted(param: DeclaredOption, given: Mapping[str, list[Any]]) -> Any:
    if param.name not in given:
        if param.is_required:
            raise _UnclearError  # click says what is missing
        return param.get_default(None)
    values = [_value(param.type, value) for value in given[param.name]]
    return tuple(values) if param.multiple else values[-1]


def _value(kind: Kind | None, value: Any) -> Any:
    if isinstance(kind, Choice) and value not in kind.words:
        raise _UnclearError
    if isinstance(kind, Decimal):
        raise _UnclearError
    if isinstance(kind, Whole):
        if not (value.isascii() and value.isdigit() and kind.low <= int(value)):
            raise _UnclearError
        if kind.high is not None and int(value) > kind.high:
            raise _UnclearError
        return int(value)
    if not isinstance(kind, PathOf):
        return value
    # click itself reports problems of a path.
    if not value or kind.exists:
        raise _UnclearError
    path = Path(value)
    try:
        is_okay = kind.dir_okay if path.is_dir() else kind.file_okay
        is_refused = path.exists() and not (is_okay and os.access(value, os.R_OK))
    except OSError as error:  # a name is too long, or links go round
        raise _UnclearError from error
    if is_refused:
        raise _UnclearError
    return value if kind.as_text else path
