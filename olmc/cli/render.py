"""`olmc render`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from olmc.cli.compiling import RENDERED, GivenInput, check_kinds, left_out_note, tell_idle
from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    UNTIMED,
    Input,
    Timings,
    approvals_in,
    bad_value,
    diagnostics_text,
    progress,
    say,
    tell,
    tell_unknown,
    write_parts,
    wrong_usage,
)
from olmc.cli.declared import Choice, PathOf, argument, command, flag, kinds, namespaces, option
from olmc.cli.jobs import do_each, jobs_of, jobs_option
from olmc.cli.options import (
    CompileOptions,
    certs_option,
    entry_option,
    fields_of,
    fixed_of,
    inputs_of,
    is_given,
    is_typed,
    options_of,
    output_option,
    show_secrets_option,
    timings_of,
    watched,
)
from olmc.compiler.api import Compilation, emptiness
from olmc.compiler.load.config import read_lock
from olmc.compiler.model.options import Certificates, Options, Phase, Purpose
from olmc.compiler.output.text import FORMATS, HeldParts, held_parts, hold, roomy, whole_text
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.api.restmapper import RestMapping, known_kinds
from olmc.k8s.diagnostics import LockFault, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import Rendered
from olmc.k8s.yaml import c_reader_active
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.cli.verify import State
    from olmc.compiler.output.directory import Changes

# The results that `olmc render` keeps of each compiled path: the findings about it, and its text, but no cluster.


class RenderOrder(NamedTuple):
    """The task for each path: the options with those that olmc.yaml must not override, the format, "" for objects that
    go to a directory, and whether Flux applies them; and further requests: infos, the possible kinds, and the plans
    that could be approved."""

    options: Options
    given: frozenset[str]
    output: str
    flux: bool
    verbose: bool
    kinds: bool
    approvals: bool


class RenderedPath(NamedTuple):
    """The result of a path: the findings about it and its left out content, the applied options; whether it failed, has
    findings, or differs from the lock; the objects that an apply lacks, and the further requests; the number of
    objects, with them or their text in parts."""

    diagnostics_text: str
    left_out: str
    given: GivenInput
    failed: bool
    findings: bool
    moved: bool
    missing: tuple[str, ...]
    kinds: tuple[RestMapping, ...]
    approvals: tuple[str, ...]
    total: int
    objects: tuple[Rendered, ...]
    parts: Sequence[bytes]


Texts = Callable[[], Iterator[Iterable[bytes]]]
"""Gives the parts of the text of each path that has objects, as often as it is called."""


def compile_path(order: RenderOrder, one: Input, timings: Timings = UNTIMED) -> Compilation:
    """The compilation of a path."""
    return compile(one.request(order.options, order.given, timings.stage))


def rendered_path(order: RenderOrder, one: Input, timings: Timings = UNTIMED) -> RenderedPath:
    """Return the result of a path."""
    made = compile_path(order, one, timings)
    timings.compiled(one.root, made)
    kinds: tuple[RestMapping, ...] = ()
    if order.kinds:
        from olmc.compiler.reconcile.misspelling import possible_kinds

        there = made.settled
        kinds = possible_kinds(there.cluster, made.workspace) if there is not None else known_kinds(())
    least = Severity.INFO if order.verbose else Severity.WARNING
    printed = diagnostics_text(made.diagnostics, None if one.is_staged else one.root, least)
    objects = made.objects
    timings.stage("write")
    if order.flux:
        from olmc.integrations.pipelines.function import for_flux

        objects = tuple(for_flux(objects))
    return RenderedPath(
        printed, _left_out(one, made) if order.verbose and not made.failed else "",
        GivenInput(made.options, is_bundle=made.workspace is None), made.failed, made.findings,
        any(isinstance(diagnostic.cause, LockFault) for diagnostic in made.diagnostics), made.missing, kinds,
        approvals_in(made.settled.cluster) if order.approvals and made.settled is not None else (), len(objects),
        () if order.output else objects, FORMATS[order.output].parts_of(objects) if order.output else (),
    )  # fmt: skip


def _left_out(one: Input, made: Compilation) -> str:
    from olmc.review.explain.left_out import left_out_of

    return left_out_note(one.root, left_out_of(one.root, made))


def render_all(
    order: RenderOrder, inputs: Sequence[Input], jobs: int, doing: Callable[[str], None], timings: Timings
) -> tuple[Sequence[RenderedPath], Texts]:
    """Return the result of each path, and their texts, which wait in a file for several paths: all of them or none is
    written."""
    done: dict[int, RenderedPath] = {}
    held: dict[int, HeldParts] = {}
    file: IO[bytes] = BytesIO()

    def take(number: int, one: RenderedPath) -> None:
        nonlocal file
        if len(inputs) > 1:
            held[number] = hold(file, one.parts)
            file = roomy(file)
            one = one._replace(parts=())
        done[number] = one

    def texts() -> Iterator[Iterable[bytes]]:
        for number in range(len(inputs)):
            if done[number].total:
                yield held_parts(file, held[number]) if held else done[number].parts

    do_each(rendered_path, order, inputs, jobs, take, doing, timings)
    return [done[number] for number in range(len(inputs))], texts


_FIELDS = {
    "for_": "purpose",
    "certs": "certificates",
    "copied_csvs": "copied_csvs",
    "include": "include",
    "exclude": "exclude",
}


class RenderOptions(NamedTuple):
    """The options of `olmc render`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    for_: Purpose = option(
        "--for", envvar="OLMC_RENDER_FOR", type=Choice(("review", "apply")), default="review", show_default=True,
        help="OLM's result in the cluster (review), or the objects to apply without OLM (apply).",
    )  # fmt: skip
    output: str = output_option(list(FORMATS), "A YAML stream, a JSON List, or names.")
    output_dir: Path | None = option(
        "--output-dir", type=PathOf(file_okay=False), metavar="DIR",
        help="Write one file per object and a kustomization.yaml to DIR; stale files are removed.",
    )  # fmt: skip
    check: bool = flag("--check", help="With --output-dir: only compare, exit 1 if DIR is out of date.")
    fail_on_change: bool = flag("--fail-on-change", help="With --output-dir: exit 1 if DIR was out of date.")
    provenance: Path | None = option(
        "--provenance", type=PathOf(dir_okay=False), metavar="FILE",
        help="Write a provenance statement to FILE, for olmc verify.",
    )  # fmt: skip
    flux: bool = flag(
        "--flux", help="For Flux: escape texts like its variables (${...}), and never prune Namespaces and CRDs."
    )
    include: tuple[str, ...] = option(
        "--include", multiple=True, metavar="KIND", shell_complete=kinds,
        help="Only this kind, by any name that kubectl accepts (may be repeated).",
    )  # fmt: skip
    exclude: tuple[str, ...] = option(
        "--exclude", multiple=True, metavar="KIND", shell_complete=kinds, help="Exclude this kind (may be repeated).",
    )  # fmt: skip
    copied_csvs: bool = flag(
        "--copied-csvs/--no-copied-csvs", default=True, show_default=True,
        help="Copy CSVs to target namespaces; otherwise a ConfigMap replaces each copy.",
    )  # fmt: skip
    certs: Certificates = certs_option
    phase: str | None = option(
        "--phase", type=Choice(("1", "2")),
        help="For apply: only objects for the first step (1), or only those that need an API of phase 1 (2).",
    )  # fmt: skip
    namespace: str = option(
        "-n", "--namespace", default="", metavar="NS", shell_complete=namespaces,
        help="For a bundle: the namespace to install it in.",
    )  # fmt: skip
    watch: tuple[str, ...] = option(
        "--watch", multiple=True, metavar="NS,NS",
        help="For a bundle: the namespaces that it watches (may be repeated).",
    )  # fmt: skip
    all_namespaces: bool = flag("--all-namespaces", help="For a bundle: watch all namespaces.")
    entries: tuple[str, ...] = entry_option
    compiling: CompileOptions = CompileOptions()
    show_secrets: bool = show_secrets_option
    locked: bool = flag("--locked", help="Fail unless olmc.lock is up to date and vendor/ matches its digests.")
    verbose: bool = flag("-v", "--verbose", help="Also show findings of severity info.")
    allow_empty: bool = flag("--allow-empty", help="Accept an output without objects.")
    keep_going: bool = flag("--keep-going", help="For apply: write the output even if an operator would fail.")
    jobs: int | None = jobs_option


@command(RenderOptions)
def render(ctx: click.Context, opts: RenderOptions) -> None:
    """Print the objects that OLM would leave in the cluster.

    PATH is a workspace (bundles, catalogs, OperatorGroups, Subscriptions, Namespaces) or one bundle; the default is
    the current directory; several are compiled independently. Files, and - for stdin, form one workspace together.

    \b
    Examples:
      olmc render                                  this workspace, for review
      olmc render my-bundle -n tools --watch a,b   it watches two namespaces
      olmc render --for apply | kubectl apply --server-side -f -
      olmc render --output-dir rendered            one file per object
      olmc render --output-dir rendered --check    fail if it is out of date

    With --for apply nothing is printed, written or removed if an operator would fail, unless --keep-going is given.

    Exit codes: 0 done, 1 findings (an operator would fail, or --check differs), 2 wrong usage, 3 input that can't be
    compiled.
    """
    timings = timings_of(ctx, opts.compiling.timings)
    inputs = inputs_of(ctx, opts.paths, opts.entries)
    roots = tuple(one.root for one in inputs)
    _check_usage(ctx, roots, opts)
    output_dir, check = opts.output_dir, opts.check
    state: State | None = None
    if opts.provenance is not None:
        from olmc.cli.verify import stating  # few runs state anything

        state = stating(opts.provenance, opts.paths, output_dir, ctx.meta["olmc.arguments"], check=check)
    options, given = _options_of(ctx, opts)
    if not c_reader_active():
        say("olmc: the C reader of ruamel.yaml is missing; reading is slow (see olmc version)")
    order = RenderOrder(
        options, given, opts.output if output_dir is None else "", flux=opts.flux, verbose=opts.verbose,
        kinds=bool(opts.include or opts.exclude), approvals=bool(options.approve),
    )  # fmt: skip
    count = jobs_of(opts.jobs, inputs, timings, alone=options.state is not None or output_dir is not None)
    with progress() as doing:
        done, texts = render_all(order, inputs, count, doing, timings)
    for one in done:
        say(one.diagnostics_text, nl=False)
    for one in done:
        say(one.left_out, nl=False)
    tell_idle(ctx, [one.given for one in done if not one.failed], RENDERED)
    tell_unknown(options.approve, (name for one in done for name in one.approvals))
    if opts.include or opts.exclude:
        check_kinds(opts.include, opts.exclude, sorted({kind for one in done for kind in one.kinds}))
    if any(one.failed for one in done):
        raise SystemExit(BAD_INPUT)
    if opts.locked:
        _check_locked(roots, done)
    if not opts.keep_going:
        _check_complete(done, "compared" if check else "printed" if output_dir is None else "written or removed")
    if not any(one.total for one in done) and not opts.allow_empty:
        is_applied = output_dir is not None or any(one.given.options.purpose == "apply" for one in done)
        _tell_empty(opts.paths, order, inputs, is_applied=is_applied)
    differs = False
    timings.stage("write")
    if output_dir is None:
        timings.written(write_parts(whole_text(FORMATS[opts.output], texts())))
        if state is not None:
            state({"": whole_text(FORMATS[opts.output], texts())})
    else:
        objects = tuple(rendered for one in done for rendered in one.objects)
        part = options.phase if any(one.given.options.purpose == "apply" for one in done) else 0
        differs = _to_directory(
            output_dir, objects, part, state, timings, check=check, fail_on_change=opts.fail_on_change
        )
    raise SystemExit(FINDINGS if differs or any(one.findings for one in done) else DONE)


def _options_of(ctx: click.Context, opts: RenderOptions) -> tuple[Options, frozenset[str]]:
    """The options of a compilation, and those that olmc.yaml must not override."""
    base = Options(
        purpose=opts.for_,
        certificates=opts.certs,
        tool="flux" if opts.flux else "",
        phase=int(opts.phase or 0),  # type: ignore[arg-type]
        show_secrets=opts.show_secrets,
        copied_csvs=opts.copied_csvs,
        include=opts.include,
        exclude=opts.exclude,
        install_namespace=opts.namespace,
        watch=watched(opts.namespace, ",".join(opts.watch) if opts.watch else None, opts.all_namespaces),
    )
    fields = fields_of(opts.compiling)
    given = fixed_of(ctx, fields) | {field for name, field in _FIELDS.items() if is_given(ctx, name)}
    return options_of(ctx, fields, base), given


def _check_usage(ctx: click.Context, roots: tuple[Path, ...], opts: RenderOptions) -> None:
    """Raise UsageError for options that do not go together."""
    output_dir, check, fail_on_change = opts.output_dir, opts.check, opts.fail_on_change
    if check and output_dir is None:
        wrong_usage("--check needs --output-dir.")
    if output_dir is not None and opts.output != "yaml" and is_typed(ctx, "output"):
        wrong_usage(f"-o {opts.output} prints, and --output-dir writes YAML files; give one of the two.")
    if fail_on_change and (output_dir is None or check):
        wrong_usage("--fail-on-change needs --output-dir, and no --check.")
    if output_dir is not None:
        for root in roots:
            _check_folder(root, output_dir)


def _check_folder(root: Path, folder: Path) -> None:
    """Refuse a folder of which the next run would read as input what this one writes; elsewhere it knows its own."""
    from olmc.compiler.load.workspace import read_as

    kind = read_as(root, folder)
    if kind:
        problem = f"{folder} is part of a {kind} of the workspace, so the next run would read what this one writes."
        bad_value(f"{problem} Choose a folder of its own.", hint="--output-dir")


def _check_complete(done: Sequence[RenderedPath], doing: str) -> None:
    """End the command where an output for apply would lack something."""
    lacking = [name for one in done for name in one.missing]
    if lacking:
        from olmc.review.explain.left_out import incomplete

        tell([incomplete(lacking, done=doing, keep_going="give --keep-going")])
        raise SystemExit(FINDINGS)


def _check_locked(roots: tuple[Path, ...], done: Sequence[RenderedPath]) -> None:
    """End the command where versions are not those of olmc.lock, or vendored content is not proven."""
    from olmc.integrations.fetch.fetch import prove

    proofs = [result for root in roots for result in prove(root, read_lock(root, Report()).images)]
    tell([result.finding() for result in proofs if not result.holds])
    if any(one.moved for one in done) or not all(result.holds for result in proofs):
        raise SystemExit(FINDINGS)


def _tell_empty(paths: tuple[Path, ...], order: RenderOrder, inputs: Sequence[Input], *, is_applied: bool) -> None:
    """Say why there are no objects, and end the command unless there is nothing for OLM in any of the paths and the
    output is for readers."""
    from olmc.review.explain.left_out import output_left_out

    # Compile again: facts about an empty output are not kept where there are objects.
    done = [compile_path(order, one) for one in inputs]
    empty = [emptiness(None if one.is_staged else one.root, made) for one, made in zip(inputs, done, strict=True)]
    if all(empty) and not is_applied:
        tell(finding for each in empty for finding in each)
        return
    found = output_left_out([(one.settled.cluster, one.options) for one in done if one.settled is not None])
    hint = (
        "A bundle is installed by a Subscription in a namespace with an OperatorGroup; "
        "to render a bundle by itself, give its directory."
    )
    if found is not None:
        hint = found.hint
    where = ", ".join(str(path) for path in paths) or "this directory"
    problem = found.problem if found is not None else ""
    hint = f"{hint} With --allow-empty this is no error."
    tell([rules.NOTHING_TO_RENDER.finding(None, path=where, problem=problem, hint=hint)])
    raise SystemExit(BAD_INPUT)


def _to_directory(
    folder: Path, objects: tuple[Rendered, ...], phase: Phase, state: State | None, timings: Timings, *, check: bool,
    fail_on_change: bool,
) -> bool:  # fmt: skip
    """Write or check a directory; True when a check finds a difference, or a change is to be one. `state` writes the
    statement about it."""
    from olmc.compiler.output.directory import changes, conflicting, files_of, phase_in, private_in, write

    with _to_be_moved(folder):
        _check_phase(folder, phase, phase_in(folder))
    twice = conflicting(objects)
    if twice:
        names = ", ".join(map(str, twice))
        wrong_usage(f"several PATHs have different objects with one name, so they need an --output-dir each: {names}")
    files = files_of(objects, phase)
    if check:
        with _to_be_moved(folder):
            found = changes(folder, files)
        _tell_changes(folder, found)
        return found.any
    with _to_be_moved(folder):
        found = write(folder, files, private_in(objects))
    timings.written(sum(len(part) for name in (*found.added, *found.changed) for part in files[name]))
    say(
        f"{folder}: {len(files)} files, {len(found.added)} new, {len(found.changed)} changed, "
        f"{len(found.stale)} removed"
    )
    if state is not None:
        state(files)
    return fail_on_change and found.any


def _check_phase(folder: Path, phase: Phase, present: Phase | None) -> None:
    """Refuse a folder that holds more than the phase that is to be written, or another one: the rest would go."""
    if not phase or present in (None, phase):
        return
    holds = f"phase {present}" if present else "an output as a whole"
    bad_value(
        f"{folder} holds {holds}, which --phase {phase} would remove, so nothing is written or removed. Give each "
        "phase a folder of its own, such as --phase 1 --output-dir rendered/1 and --phase 2 --output-dir rendered/2.",
        hint="--output-dir",
    )


@contextmanager
def _to_be_moved(folder: Path) -> Iterator[None]:
    """Say what is in the way of --output-dir if something is, and end the command."""
    try:
        yield
    except OSError as error:
        refused = f"{folder} can't be used: {error.strerror}. Choose another --output-dir."
        in_the_way = f"{error}. Move it away, or choose another --output-dir."
        say(f"error: {refused if error.strerror else in_the_way}")
        raise SystemExit(BAD_INPUT) from error


def _tell_changes(folder: Path, found: Changes) -> None:
    for what, names in (("missing", found.added), ("out of date", found.changed), ("stale", found.stale)):
        for name in names:
            say(f"{what}: {folder / name}")
    if found.any:
        say("Run the same command without --check to bring it up to date.")
