"""What rules in CEL cost, all together: many that cost little each are as bad as one that costs much."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.model.limits import CEL_STEPS, CEL_TOTAL, Limit


class CelMissingError(Exception):
    """The CEL library is not installed (there is none for musl), so a rule can't be judged."""


class CelCostError(CelMissingError):
    """A rule, or all of them together, may take more than anybody waits for, so it can't be judged."""


class CelAccount:
    """What rules have cost so far, which of them are compiled, and what came out for the properties of bundles, by rule
    and identity. It says nothing about a workspace, so whatever they hold, all are equal.
    """

    __slots__ = ("compiled", "results", "spent")

    def __init__(self) -> None:
        self.spent = 0
        self.compiled: set[str] = set()
        self.results: dict[tuple[str, int], tuple[Sequence[tuple[str, object]], bool]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelAccount)

    def __hash__(self) -> int:
        return hash(CelAccount)

    def compile(self, rule: str, steps: int) -> None:
        """Account for compiling a rule, once. Raises as `spend` does."""
        if rule not in self.compiled:
            self.spend(steps)
            self.compiled.add(rule)

    def check_left(self, steps: int) -> None:
        """Raise CelCostError where so many steps more would be too many together with all that were spent."""
        if self.spent + steps > CEL_TOTAL.most:
            raise CelCostError(f"with all others it {_more_than(self.spent + steps, CEL_TOTAL)}")

    def spend(self, steps: int) -> None:
        """Account for steps of one rule. Raises CelCostError where these, or all together, are too many."""
        if steps > CEL_STEPS.most:
            raise CelCostError(f"it {_more_than(steps, CEL_STEPS)}")
        self.spent += steps
        self.check_left(0)


def _more_than(steps: int, limit: Limit) -> str:
    counted = f"{steps:,}" if steps < _SHOWN_STEPS else "more steps than can be counted"
    return f"may take {counted} steps, more than {limit.most:,} ({limit.variable} raises the limit)"


_SHOWN_STEPS = 10**18
