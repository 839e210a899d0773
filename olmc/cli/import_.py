"""The command that reads the state of a cluster from dumps: `olmc import`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, say, tell, writing, wrong_usage
from olmc.cli.declared import PathOf, argument, command, flag, option
from olmc.cli.options import is_given, olm_version_option
from olmc.compiler.load.live_objects import read_dump
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.output.directory import put
from olmc.compiler.rules.findings.workspace import INCOMPLETE
from olmc.compiler.transition.state import command_for, lacking, state_commands, state_text, with_aggregated_rules
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple
from olmc.review.plan.outputs import verification_text
from olmc.review.plan.repair import left_out, options_for, verified
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.load.live_objects import Dump
    from olmc.review.plan.repair import Verification


class ImportOptions(NamedTuple):
    """The options of `olmc import`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    output: Path | None = option(
        "--output-file", type=PathOf(dir_okay=False), metavar="FILE", old_names=("-o", "--output"),
        help="Write the state to FILE instead of stdout.",
    )  # fmt: skip
    print_command: bool = flag("--print-command", help="Print the commands that read a cluster's state, and exit.")
    oc: bool = flag("--oc", help="With --print-command: use oc instead of kubectl.")
    context: str = option("--context", default="", metavar="NAME", help="With --print-command: the kubeconfig context.")
    verify: bool = flag("--verify", help="Compare the cluster with olmc's prediction from its inputs.")
    no_names: bool = flag("--no-names", help="With --verify: omit all names and values of the cluster.")
    olm_version: str = olm_version_option


@command(ImportOptions)
def import_(ctx: click.Context, opts: ImportOptions) -> None:
    """Make a state file from kubectl output or a must-gather.

    PATH is a file, a folder, or an archive; - is stdin. Several are combined. The state file is for --from of other
    commands. It has installed versions, plans, CRDs, namespaces, permissions, Deployments with their variables, and
    served APIs, but never values of Secrets. olmc itself connects to no cluster.

    \b
    Examples:
      olmc import --print-command | sh                     read the cluster
      olmc import --print-command --oc --context prod      print the commands only
      kubectl get csv,sub -A -o yaml | olmc import -       reports what is missing
      olmc import must-gather.tar.gz --output-file cluster-state.yaml
      olmc import cluster-state.yaml --verify              compare it with olmc
      olmc status . --from cluster-state.yaml              with this repository

    Exit codes: 0 done, 1 with --verify: the prediction differs, 2 wrong usage, 3 input that can't be read.
    """
    paths, output, print_command, oc, context, verify, no_names, olm_version = opts
    if print_command:
        if paths or output is not None:
            wrong_usage("--print-command reads and writes no file.")
        say(state_commands("oc" if oc else "kubectl", context), nl=False, out=True)
        return
    if oc or context:
        wrong_usage("--oc and --context are for --print-command: olmc itself talks to no cluster.")
    if not verify and (no_names or is_given(ctx, "olm_version")):
        wrong_usage("--no-names and --olm-version are for --verify.")
    if not paths:
        wrong_usage("Give what kubectl prints: a file, a folder, or - for stdin; see --print-command.")
    report = Report()
    dump = read_dump(paths, report)
    if dump is not None:
        _report_lacking(paths[0], dump, report)
    tell(report)
    if dump is None:
        raise SystemExit(BAD_INPUT)
    verification = _verified(dump, olm_version) if verify else None
    if output is not None:
        with writing(output):
            put(output, state_text(dump))
        say(f"olmc: {len(dump.state.objects)} objects written to {output}")
    if verification is not None:
        say(verification_text(verification, with_names=not no_names), nl=False, out=True)
        raise SystemExit(FINDINGS if verification.drift else DONE)
    if output is None:
        say(state_text(dump), nl=False, out=True)
    raise SystemExit(DONE)


def _verified(dump: Dump, olm_version: str) -> Verification:
    """Compare the cluster with the prediction of olmc from a part of it."""
    state = dump.state._replace(objects=with_aggregated_rules(dict(dump.state.objects)))
    without = left_out(state)
    options = options_for(state, without, Options(olm_version=olm_version, api_resources=dump.served))
    with tempfile.TemporaryDirectory(prefix="olmc-verify-") as folder:
        done = compile(CompileRequest(Path(folder), options, frozenset({"purpose", "olm_version"})))
    assert done.settled is not None  # an empty workspace has no errors
    return verified(state, [rendered.object for rendered in done.objects], without, done.settled.cluster)


def _report_lacking(path: Path, dump: Dump, report: Report) -> None:
    """Say which kinds the dump has none of, and how to read them."""
    absent = lacking(dump)
    certain = [each for each in absent if each.is_always_there]
    possible = [each.kind.kind for each in absent if not each.is_always_there]
    if certain or not dump.has_apis:
        commands = [command_for(certain)] if certain else []
        names = [each.kind.kind for each in certain]
        if not dump.has_apis:
            names.append("list of the APIs that are served")
            commands.append("kubectl api-resources -o wide")
        hint = f"Add what this prints: {'; echo ---; '.join(commands)}"
        place = Location("stdin" if str(path) == "-" else str(path))
        report.add(INCOMPLETE.finding(place, kinds=", ".join(names), hint=hint))
    if possible:
        shown = ", ".join(possible)
        say(f"olmc: none in the dump, which is as it should be if the cluster has none: {shown}")
