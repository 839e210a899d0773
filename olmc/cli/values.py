"""What shells complete for the values of options; imported where a shell asks for it."""

from __future__ import annotations

import click


def codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The codes of rules."""
    from olmc.rules.catalogue import all_rules

    return [rule.code for rule in all_rules() if rule.code.startswith(incomplete.upper())]


def codes_and_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The codes of rules, and once something is written the ids of the rule book."""
    from olmc.rulebook import rules_beginning

    ids = [rule.id for rule in rules_beginning(incomplete)] if incomplete else []
    return [*codes(ctx, param, incomplete), *ids]


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The kinds that every cluster with OLM has."""
    from olmc.kube.builtin_kinds import builtin_kinds

    known = sorted({kind for _, kind in builtin_kinds()})
    return [kind for kind in known if kind.lower().startswith(incomplete.lower())]


def optional_validators(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The names of optional validators and of suites of them."""
    from olmc.check.validators.settings import OPTIONAL, SUITES

    return [name for name in (*OPTIONAL, *SUITES) if name.startswith(incomplete)]


def olm_versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """The versions of OLM that one can ask for."""
    from olmc.profiles.data import known_versions

    return [version for version in known_versions() if version.startswith(incomplete)]
