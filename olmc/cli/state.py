"""The state that `--from` names: another workspace at rest, a revision of it, what olmc rendered, or a file that
`olmc import` wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from olmc.api import compile
from olmc.cli.console import tell
from olmc.cli.process import BAD_INPUT
from olmc.diagnostics.rules import output as rules
from olmc.diff.git import GitError, as_revision, with_path, write_tree
from olmc.diff.renderings import read_rendering
from olmc.load.manifests import manifests_in
from olmc.model.diagnostics import Report, Severity
from olmc.model.objects import object_key
from olmc.model.options import Options
from olmc.model.state import ClusterState
from olmc.transition.state import state_of, with_aggregated_rules
from olmc.yaml import read


def state_from(names: Sequence[str], beside: str, options: Options, given: frozenset[str]) -> ClusterState:
    """The state that `names` mean, for a compilation of the path `beside` with these options.

    Of two, one is a workspace, which says what was applied, and one says what the cluster holds. Ends the command,
    with the reason on stderr, where there is no such state.
    """
    states = [_state(name, beside, options, given) for name in names]
    held, applied = states[0], states[-1]
    if len(states) > 1:
        held, applied = (applied, held) if held.applied and not applied.applied else (held, applied)
        if len(states) > 2 or held.applied or not applied.applied:
            text = "given twice it takes a workspace, for what was applied, and a state, for what the cluster holds."
            raise click.BadParameter(text, param_hint="--from")
    return ClusterState(held.objects, applied.applied)


def _state(name: str, beside: str, options: Options, given: frozenset[str]) -> ClusterState:
    report = Report()
    state: ClusterState | None = None
    with tempfile.TemporaryDirectory(prefix="olmc-from-") as folder:
        path = _place(name, beside, Path(folder), report)
        if path is not None:
            state = _state_at(path, options, given, report)
    # What fails in the state is as it is; only what is wrong with the input keeps anybody from going on.
    tell(tuple(report), least=Severity.ERROR)
    if state is None:
        raise click.exceptions.Exit(BAD_INPUT)
    return state


def _place(name: str, beside: str, folder: Path, report: Report) -> Path | None:
    """Where the state is on this machine; None, with the reason in `report`, if nowhere."""
    revision = as_revision(name)
    if revision is None:
        path = Path(name)
        if not path.exists():
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name))
        return path if path.exists() else None
    try:
        return write_tree(with_path(revision, beside), folder, report)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=name, problem=problem))
        return None


def _state_at(path: Path, options: Options, given: frozenset[str], report: Report) -> ClusterState | None:
    texts = read_rendering(path, report)
    if texts is None:
        return _settled(path, options, given, report)
    documents = [document for name, text in texts.items() for document in read(name, text, report)]
    manifests = manifests_in(documents, report, judged=False)
    known = {object_key(manifest.object): manifest for manifest in manifests}
    return None if report.failed else ClusterState(with_aggregated_rules(known))


def _settled(path: Path, options: Options, given: frozenset[str], report: Report) -> ClusterState | None:
    """The state in which a workspace comes to rest."""
    # What the command line approves or deletes is for what comes next; what the workspace says itself is done already.
    before = options._replace(purpose="review", include=(), exclude=(), approve=(), delete=(), state=None)
    fixed = (given | {"purpose", "include", "exclude"}) - {"approve", "delete"}
    done = compile(path, before, given=fixed)
    report.found.extend(done.diagnostics)
    if done.settled is None or done.workspace is None or done.failed:
        if not done.failed:
            raise click.BadParameter(f"{path} is a bundle by itself, and no cluster.", param_hint="--from")
        return None
    return state_of(done.objects, done.settled.cluster, done.workspace.manifests)
