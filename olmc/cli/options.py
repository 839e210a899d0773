"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from olmc.cli.values import olm_versions
from olmc.golang import is_dns1123_label
from olmc.model.kube_version import full_kube_version
from olmc.model.options import Options

F = TypeVar("F", bound=Callable[..., Any])


def _canonical(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The version by its full name; another one than the default is looked up."""
    is_default = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.DEFAULT
    return value if is_default else canonical_version(value)


def canonical_version(value: str) -> str:
    """The full name of an OLM version; one that olmc does not know is wrong usage."""
    from olmc.profiles.data import UnknownVersionError, canonical

    try:
        return canonical(value)
    except UnknownVersionError as error:
        raise click.BadParameter(f"{error}. {error.hint}") from error


olm_version_option = click.option(
    "--olm-version", callback=_canonical, default=Options().olm_version, show_default=True, metavar="VERSION",
    shell_complete=olm_versions, help="The OLM of the cluster: a release, what OpenShift ships (ocp-4.14), or docs.",
)  # fmt: skip


def _range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """The versions of `A..B`, or the one there is."""
    old, dots, new = value.partition("..")
    return (canonical_version(old), canonical_version(new)) if dots else (_canonical(ctx, param, value),)


olm_versions_option = click.option(
    "--olm-version", "olm_version", callback=_range, default=Options().olm_version, show_default=True,
    metavar="VERSION|A..B", help="The OLM of the cluster; A..B with one PATH: what upgrading OLM itself changes.",
)  # fmt: skip


def given_version(ctx: click.Context) -> frozenset[str]:
    """The field of Options that olmc.yaml must not override, if the command line names a version."""
    source = ctx.get_parameter_source("olm_version")
    return frozenset() if source is click.core.ParameterSource.DEFAULT else frozenset({"olm_version"})


def _full(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """The version of Kubernetes as a cluster reports it; what is no version is wrong usage."""
    version = full_kube_version(value)
    if not version:
        raise click.BadParameter("a version looks like v1.36.2")
    return version


kube_version_option = click.option(
    "--kube-version", callback=_full, default=Options().kube_version, show_default=True, metavar="VERSION",
    help="The Kubernetes version of the cluster.",
)  # fmt: skip
certs_option = click.option(
    "--certs", type=click.Choice(["none", "cert-manager", "service-ca"]), default="none", show_default=True,
    help="For apply: who issues serving certificates.",
)  # fmt: skip
approve_option = click.option(
    "--approve", multiple=True, metavar="NS/CSV|all", help="Treat waiting InstallPlans as approved.",
)  # fmt: skip


def output_option(formats: Sequence[str], text: str) -> Callable[[F], F]:
    """The option `-o`; the first format is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=formats[0], show_default=True, help=text,
    )  # fmt: skip


def watched(namespace: str, watch: str | None, all_namespaces: bool) -> tuple[str, ...] | None:
    """What a bundle installed in `namespace` ("" for its own choice) watches, as `Options.watch` has it.

    Both options at once and names that no namespace can have are wrong usage.
    """
    if watch is not None and all_namespaces:
        raise click.UsageError("--watch and --all-namespaces exclude each other.")
    for name in (namespace or None, *(watch.split(",") if watch is not None else ())):
        if name is not None and is_dns1123_label(name):
            raise click.BadParameter(f"{name!r} is no name for a namespace", param_hint="--namespace, --watch")
    if all_namespaces:
        return ()
    return tuple(watch.split(",")) if watch is not None else None
