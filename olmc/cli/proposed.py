"""The options of the proposed APIs, the same for every command that compiles."""

from __future__ import annotations

from typing import Any

import click

from olmc.cli.options import F, approve_option, kube_version_option, olm_version_option
from olmc.model.options import Options

_OPTIONS = (
    click.option("--descoped", is_flag=True,
                 help="Proposed: operators without install modes, or with AllNamespaces alone, are descoped."),
    click.option("--allow-shared-api", "shared_apis", multiple=True, metavar="PLURAL.GROUP",
                 help="With --descoped: several operators may provide this API (may be repeated)."),
    click.option("--enable-v2alpha1", "v2alpha1", is_flag=True,
                 help="Proposed: Operator and Install of operators.coreos.com/v2alpha1."),
    click.option("--approve-installs", is_flag=True, help="With v2alpha1: every Install counts as approved."),
    click.option("--as", "user", default="", metavar="USER",
                 help="With v2alpha1: check that USER may create the Operators and approve the Installs."),
    click.option("--as-group", "user_groups", multiple=True, metavar="GROUP",
                 help="With --as: a group that USER is in (may be repeated)."),
    click.option("--migrate-subscriptions", is_flag=True, help="With v2alpha1: Subscriptions become Operators."),
    click.option("--component-label", type=click.Choice(["adopted", "seed"]), default="adopted", show_default=True,
                 help="With v2alpha1: the label of components as OLM adopted it, or as the proposal has it."),
    click.option("--olm-namespace", default="olm", show_default=True, metavar="NS",
                 help="With v2alpha1: where OLM runs."),
)  # fmt: skip


def proposed_options(function: F) -> F:
    """Adds the options; the command gets their values as keyword arguments, for `with_proposed`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def compile_options(function: F) -> F:
    """Adds what most commands that compile have: approvals, versions, and the options of the proposed APIs."""
    return approve_option(kube_version_option(olm_version_option(proposed_options(function))))


def with_proposed(options: Options, given: dict[str, Any]) -> Options:
    """The options with the values that the command line gave for the proposed APIs.

    As for everything else in `given` that has the name of a field, such as `kube_version`.
    """
    return options._replace(**given)


def given_fields(ctx: click.Context, given: dict[str, Any]) -> frozenset[str]:
    """The fields of Options that the command line has set, so that olmc.yaml may not."""
    default = click.core.ParameterSource.DEFAULT
    return frozenset(name for name in given if ctx.get_parameter_source(name) is not default)
