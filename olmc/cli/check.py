"""`olmc check`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from olmc.api import compile, load
from olmc.cli.exits import BAD_INPUT, DONE, FINDINGS
from olmc.emit.messages import LineOf, as_counts, as_json, as_text_with_source
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location

if TYPE_CHECKING:
    from olmc.load.validation.settings import Categories, Platform, Settings

_KEYS = ("k8s-version", "index-path", "container-tools", "platforms")
_CATEGORIES = "OPERATOR_BUNDLE_CATEGORIES"
_YAML_BREAK = re.compile("[\n\x85\u2028\u2029]")


class _Checked(NamedTuple):
    """What was found at a path; `shown_as` stands before the paths of files when several paths are checked."""

    root: Path
    shown_as: str
    diagnostics: tuple[Diagnostic, ...]
    bundles: int


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Text with the source line, or a JSON list.")
@click.option("--all", "everything", is_flag=True, help="Show remarks (severity info) as well.")
@click.option("--strict", is_flag=True, help="Warnings are findings, too.")
@click.option("--select", multiple=True, metavar="CODE", help="Only codes that begin so (may be repeated).")
@click.option("--ignore", multiple=True, metavar="CODE", help="Not the codes that begin so (may be repeated).")
@click.option("--optional", multiple=True, metavar="NAME",
              help="Run an optional validator of bundles, a suite of them, or all (may be repeated).")
@click.option("--optional-value", "values", multiple=True, metavar="KEY=VALUE",
              help="A value for the optional validators: k8s-version, index-path, container-tools, platforms.")
@click.pass_context
def check(
    ctx: click.Context, paths: tuple[Path, ...], output: str, everything: bool, strict: bool, select: tuple[str, ...],
    ignore: tuple[str, ...], optional: tuple[str, ...], values: tuple[str, ...],
) -> None:  # fmt: skip
    """Find what is wrong, before a cluster does.

    Compiles PATH (a workspace or a bundle; without PATH the current directory) and shows what every stage has to say,
    and runs the validators of opm and operator-sdk over every bundle in it. Paths of files are relative to PATH, or
    begin with it if there are several. An error, which stops the compilation, is shown whatever is selected.

    \b
    Examples:
      olmc check                                what is wrong in this workspace
      olmc check --ignore OLMC27 --strict       for CI: everything but OLMC270 to OLMC279
      olmc check my-bundle --optional all       with all optional validators
      olmc check --optional alpha-deprecated-apis --optional-value k8s-version=1.25
      olmc check -o json | jq '.[].code'

    \b
    Optional validators: operatorhubv2, standardcapabilities, standardcategories (suite operatorframework),
    community, alpha-deprecated-apis, good-practices, multiarch, bundle-objects, operatorhub (deprecated).
    `platforms` is a JSON file that maps images to lists of os/arch, for multiarch.

    Exit codes: 0 nothing found, 1 findings, 2 wrong usage, 3 input that can't be compiled.
    """
    settings = _settings(optional, values)
    least = Severity.INFO if everything else Severity.WARNING
    roots = paths or (Path(),)
    done = [_checked(root, f"{root.as_posix()}/" if len(roots) > 1 else "", settings) for root in roots]
    kept = [each._replace(diagnostics=tuple(_kept(each.diagnostics, select, ignore))) for each in done]
    if output == "json":
        click.echo(as_json((d for each in kept for d in _named(each)), least=least), nl=False)
    else:
        for each in kept:
            click.echo(as_text_with_source(_named(each), _reader(each), least=least), nl=False)
        counts = as_counts((d for each in kept for d in each.diagnostics), least=least)
        bundles = sum(each.bundles for each in kept)
        click.echo(f"{counts} ({bundles} bundle{'s' * (bundles != 1)} validated)")
    worst = max((d.severity for each in kept for d in each.diagnostics), default=Severity.INFO)
    ctx.exit(_exit_code(worst, strict=strict))


def _exit_code(worst: Severity, *, strict: bool) -> int:
    if worst is Severity.ERROR:
        return BAD_INPUT
    return FINDINGS if worst >= (Severity.WARNING if strict else Severity.FAILURE) else DONE


def _kept(found: Iterable[Diagnostic], select: tuple[str, ...], ignore: tuple[str, ...]) -> Iterable[Diagnostic]:
    """The diagnostics that are selected and not ignored, and all errors: what they stop is not checked at all."""
    wanted, unwanted = (tuple(code.upper() for code in codes) for codes in (select, ignore))
    for each in found:
        chosen = each.code.startswith(wanted or ("",)) and not each.code.startswith(unwanted or ("-",))
        if chosen or each.severity is Severity.ERROR:
            yield each


def _checked(root: Path, shown_as: str, settings: Settings) -> _Checked:
    made = compile(root)
    report = Report(list(made.diagnostics))
    if not root.is_dir():
        return _Checked(root, shown_as, tuple(report), 0)
    from olmc.load.catalogs.content import check_inline_objects
    from olmc.load.config import read_config
    from olmc.load.validation.workspace import validate

    workspace = made.workspace if made.workspace is not None else load(root)
    ignored = tuple(read_config(root, Report()).get("ignore") or ())
    validated = validate(root, workspace, settings, report, ignored=ignored)
    for catalog in workspace.catalogs.values():
        check_inline_objects(catalog, report)
    return _Checked(root, shown_as, tuple(report), validated.bundles)


def _named(checked: _Checked) -> tuple[Diagnostic, ...]:
    """The diagnostics with the path that was checked before the paths of files."""

    def named(place: Location) -> Location:
        return place._replace(path=f"{checked.shown_as}{place.path}")

    return tuple(
        each._replace(
            location=named(each.location) if each.location is not None else None,
            related=tuple((text, named(place)) for text, place in each.related),
        )
        for each in checked.diagnostics
    )


def _reader(checked: _Checked) -> LineOf:
    """A function that gives the line of a place, read from the file below the path that was checked."""

    @cache
    def lines(path: str) -> list[str]:
        try:
            text = (checked.root / path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return []
        return text.split("\n") if path.endswith(".json") else _YAML_BREAK.split(text)

    def line_of(place: Location) -> str | None:
        found = lines(place.path.removeprefix(checked.shown_as))
        return found[place.line - 1] if 0 < place.line <= len(found) else None

    return line_of


def _settings(optional: tuple[str, ...], values: tuple[str, ...]) -> Settings:
    """What the command line asks of the validators; UsageError for what nobody knows or can read."""
    from olmc.load.validation.settings import OPTIONAL, SUITES, Settings, chosen

    names, unknown = chosen(optional)
    if unknown:
        known = ", ".join((*OPTIONAL, *SUITES))
        raise click.BadParameter(f"{unknown[0]} is none of {known}.", param_hint="--optional")
    given = dict(value.partition("=")[::2] for value in values)
    for key in given:
        if key not in _KEYS:
            raise click.BadParameter(f"{key} is none of {', '.join(_KEYS)}.", param_hint="--optional-value")
    return Settings(
        names,
        kubernetes=given.get("k8s-version", ""),
        dockerfile=_given_file("index-path", given["index-path"]) if "index-path" in given else None,
        container_tool=given.get("container-tools", ""),
        categories=_categories(os.environ.get(_CATEGORIES, "")),
        platforms=_platforms(given["platforms"]) if "platforms" in given else {},
        cel_problem=_cel_problem,
    )


def _given_file(key: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.BadParameter(f"{path} can't be read: {cause}.", param_hint=f"--optional-value {key}") from error


def _platforms(path: str) -> dict[str, tuple[Platform, ...]]:
    from olmc.load.validation.settings import Platform

    hint = "--optional-value platforms"
    try:
        images = json.loads(_given_file("platforms", path))
        return {image: tuple(Platform(*each.split("/", 1)) for each in listed) for image, listed in images.items()}
    except (ValueError, AttributeError, TypeError) as error:
        problem = f'{path} does not map images to lists like ["linux/amd64"].'
        raise click.BadParameter(problem, param_hint=hint) from error


def _categories(path: str) -> Categories | None:
    """The categories in the file that the environment names; that it can't be read is a finding of the validator."""
    from olmc.load.validation.settings import Categories

    if not path:
        return None
    try:
        names = json.loads(Path(path).read_text(encoding="utf-8")).get("categories") or ()
        return Categories(frozenset(str(name) for name in names))
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        return Categories(problem=f"reading category file: open {path}: {cause}")
    except (ValueError, AttributeError, TypeError) as error:
        return Categories(problem=f"unmarshaling category file: {error}")


def _cel_problem(rule: str) -> str:
    from olmc.resolve.cel import CelError, CelMissingError, compile_rule

    compiled: Callable[[str], object] = compile_rule
    try:
        compiled(rule)
    except CelError as error:
        return str(error)
    except CelMissingError as error:
        return f"it can't be judged, since the CEL library can't be loaded ({error})"
    return ""
