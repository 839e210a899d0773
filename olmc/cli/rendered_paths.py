"""What `olmc render` keeps of each path that it has compiled: what is reported about it, and its text, but no
cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import IO

from olmc.api import Compilation, compile
from olmc.cli.console import UNTIMED, Timings, approvals_in, diagnostics_text
from olmc.cli.jobs import do_each
from olmc.cli.options import GivenInput
from olmc.cli.process import Input
from olmc.kube.restmapper import RestMapping
from olmc.lean import NamedTuple
from olmc.model.diagnostics import LockFault, Severity
from olmc.model.objects import Rendered
from olmc.model.options import Options
from olmc.output.held import HeldParts, held_parts, hold, roomy
from olmc.output.text import FORMATS


class RenderOrder(NamedTuple):
    """What is done with each path: the options with those that olmc.yaml must not override, the format, "" for objects
    that go to a directory, and whether Flux applies them; and what else is asked for: what is good to know, the kinds
    that there could be, what could be approved."""

    options: Options
    given: frozenset[str]
    output: str
    flux: bool
    verbose: bool
    kinds: bool
    approvals: bool


class RenderedPath(NamedTuple):
    """What came of a path: what is reported about it and of what it leaves out, the options that held; whether it
    failed, has findings, or is not as locked; what is missing for apply, and what the order asks for; how many objects
    there are, with them or their text in parts."""

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
    parts: tuple[bytes, ...]


Texts = Callable[[], Iterator[Iterable[bytes]]]
"""Gives the parts of the text of each path that has objects, as often as it is called."""


def compile_path(order: RenderOrder, one: Input, timings: Timings = UNTIMED) -> Compilation:
    """The compilation of a path."""
    return compile(
        one.root, order.options, given=order.given, beside=one.beside, release=one.release, stage=timings.stage
    )


def rendered_path(order: RenderOrder, one: Input, timings: Timings = UNTIMED) -> RenderedPath:
    """What comes of a path."""
    made = compile_path(order, one, timings)
    timings.compiled(one.root, made)
    kinds: tuple[RestMapping, ...] = ()
    if order.kinds:
        from olmc.kube.restmapper import known_kinds  # few runs choose kinds
        from olmc.reconcile.misspelling import possible_kinds

        there = made.settled
        kinds = possible_kinds(there.cluster, made.workspace) if there is not None else known_kinds(())
    least = Severity.INFO if order.verbose else Severity.WARNING
    printed = diagnostics_text(made.diagnostics, None if one.is_staged else one.root, least)
    objects = made.objects
    timings.stage("write")
    if order.flux:
        from olmc.pipelines.function import for_flux

        objects = tuple(for_flux(objects))
    return RenderedPath(
        printed, _left_out(one, made) if order.verbose and not made.failed else "",
        GivenInput(made.options, is_bundle=made.workspace is None), made.failed, made.findings,
        any(isinstance(diagnostic.cause, LockFault) for diagnostic in made.diagnostics), made.missing, kinds,
        approvals_in(made.settled.cluster) if order.approvals and made.settled is not None else (), len(objects),
        () if order.output else objects, tuple(FORMATS[order.output].parts_of(objects)) if order.output else (),
    )  # fmt: skip


def _left_out(one: Input, made: Compilation) -> str:
    from olmc.cli.options import left_out_note  # only who asks for more needs it
    from olmc.explain.left_out import left_out_of

    return left_out_note(one.root, left_out_of(one.root, made))


def render_all(
    order: RenderOrder, inputs: Sequence[Input], jobs: int, doing: Callable[[str], None], timings: Timings
) -> tuple[Sequence[RenderedPath], Texts]:
    """What comes of each path, and their texts, which of several paths wait in a file: all of them or none is
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
