"""The engine of checks: `check` is the function of the Python API, and commands take the same steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.compiler.api import Compilation, emptiness
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.k8s.diagnostics import Diagnostic
from olmc.k8s.lean import NamedTuple
from olmc.review.check.check import (
    DEFAULT_SCOPE,
    CheckInput,
    CheckResult,
    CheckScope,
    check_clusters,
    check_directory,
    select_findings,
)
from olmc.review.check.repository import compile_repository
from olmc.review.check.validators.findings import ValidatorSettings, select_validators
from olmc.review.explain.left_out import left_out_of
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from typing import Unpack

    from olmc.compiler.model.options import OptionFields, Options


class CheckRules(NamedTuple):
    """What a check asks for: the settings of the validators, what is looked at, and the beginnings of the codes that
    are selected and ignored."""

    settings: ValidatorSettings
    scope: CheckScope = DEFAULT_SCOPE
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def check(
    root: CompileRequest | Path | str = ".", options: Options | None = None, *, select: Iterable[str] = (),
    ignore: Iterable[str] = (), optional: Iterable[str] = (), author: bool | None = None, all_versions: bool = False,
    **fields: Unpack[OptionFields],
) -> CheckResult:  # fmt: skip
    """Find the mistakes in a workspace or a bundle, as `olmc check` does.

    `root`, `options` and further options are those of `olmc.compile`. `select` and `ignore` are beginnings of codes;
    `optional` are names of optional validators, or `all`. `author` is whether you author the bundles (None: olmc
    decides); with `all_versions` not only the newest bundle of each package counts. Nothing is raised for bad input.
    Raises ValueError for a validator that does not exist.
    """
    names, unknown = select_validators(optional)
    if unknown:
        raise ValueError(f"there is no optional validator {unknown[0]}")
    settings = ValidatorSettings(names, cel_problem=cel_problem)
    rules = CheckRules(settings, CheckScope(author, all_versions), tuple(select), tuple(ignore))
    request = request_of(root, options, fields)
    made = compile(request)
    return check_compiled(request, made, rules, emptiness(request.root, made))


def check_compiled(
    request: CompileRequest, made: Compilation, rules: CheckRules, more: Sequence[Diagnostic] = ()
) -> CheckResult:
    """Check a directory that was compiled; `more` is what else there is to report."""
    lenient = rules.settings._replace(modes_optional=made.options.descoped)
    if made.workspace is not None and made.workspace.repository is not None:
        done = compile_repository(request, made.workspace.repository)
        found = check_clusters(request.root, done, lenient, request.options, request.fixed)
        return select_findings(found, rules.select, rules.ignore)
    left = left_out_of(request.root, made) if not made.failed else ()
    compiled = CheckInput(made.workspace, made.settled, (*made.diagnostics, *more), made.suppressed, left)
    found = check_directory(request.root, compiled, lenient, request.options, request.fixed, rules.scope)
    return select_findings(found, rules.select, rules.ignore)


def cel_problem(rule: str) -> str:
    """Return what is wrong with a CEL rule, "" for nothing."""
    from olmc.compiler.resolver.predicates import cel_problem as problem_of  # takes its time to import

    return problem_of(rule)
