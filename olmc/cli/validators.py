"""The options of `olmc check` whose values have to be known names: codes, and what the optional validators take."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmc.model.suggestions import close_matches, did_you_mean

if TYPE_CHECKING:
    from olmc.check.validators.settings import Categories, Platform, Settings

_KEYS = ("k8s-version", "index-path", "container-tools", "platforms")
_CATEGORIES = "OPERATOR_BUNDLE_CATEGORIES"


def settings_of(optional: tuple[str, ...], values: tuple[str, ...]) -> Settings:
    """What the command line asks of the validators; UsageError for what nobody knows or can read."""
    from olmc.check.validators.settings import OPTIONAL, SUITES, Settings, chosen

    names, unknown = chosen(optional)
    if unknown:
        known = ", ".join((*OPTIONAL, *SUITES))
        raise click.BadParameter(f"{unknown[0]} is none of {known}.", param_hint="--optional")
    given = dict(value.partition("=")[::2] for value in values)
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value} has no value; write {value}=VALUE.", param_hint="--optional-value")
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


def check_codes(*given: tuple[str, Sequence[str]]) -> None:
    """UsageError for the beginning of a code that no rule has, with the codes that are like it."""
    if not any(codes for _, codes in given):
        return
    from olmc.rules.catalogue import all_rules, code_start

    known = [rule.code for rule in all_rules()]
    for option, codes in given:
        for code in codes:
            if not any(each.startswith(code_start(code)) for each in known):
                near = close_matches(code_start(code), known, 3)
                hint = did_you_mean(*near) or "`olmc explain` lists all of them."
                raise click.BadParameter(f"no rule begins with {code}. {hint}", param_hint=option)


def _given_file(key: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.BadParameter(f"{path} can't be read: {cause}.", param_hint=f"--optional-value {key}") from error


def _platforms(path: str) -> dict[str, tuple[Platform, ...]]:
    from olmc.check.validators.settings import Platform

    hint = "--optional-value platforms"
    try:
        images = json.loads(_given_file("platforms", path))
        return {image: tuple(Platform(*each.split("/", 1)) for each in listed) for image, listed in images.items()}
    except (ValueError, AttributeError, TypeError) as error:
        problem = f'{path} does not map images to lists like ["linux/amd64"].'
        raise click.BadParameter(problem, param_hint=hint) from error


def _categories(path: str) -> Categories | None:
    """The categories in the file that the environment names; that it can't be read is a finding of the validator."""
    from olmc.check.validators.settings import Categories

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
