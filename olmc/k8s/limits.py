"""The limits on the input that olmc processes, so that the author of an input can't choose the cost of a run.

A variable of the environment raises each limit. No file of a workspace can set it. docs/limits.md lists all limits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from olmc.k8s.lean import NamedTuple


class Limit(NamedTuple):
    """A limit: its name, what there may be of it by default, what it counts, and in what."""

    name: str
    default: int
    unit: str
    within: str

    @property
    def variable(self) -> str:
        """The variable that raises it."""
        return f"OLMC_LIMIT_{self.name}"

    @property
    def most(self) -> int:
        """Return how much there may be: what the environment says, where that is a number."""
        text = os.environ.get(self.variable, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else self.default


_DIGITS = 19

FILE_BYTES = Limit("FILE_BYTES", 256 * 1024 * 1024, "bytes", "a file, what stdin gives, or what another tool prints")
FILES = Limit("FILES", 50_000, "files and folders", "a workspace, those below links counted again")
BUNDLE_FILES = Limit(
    "BUNDLE_FILES", 250_000, "files and folders", "a repository of bundles that is read package by package"
)
DEPTH = Limit("DEPTH", 100, "folders in each other", "a workspace")
PATTERNS = Limit("PATTERNS", 5_000, "patterns of what is left out", "a workspace, of all its ignore files")
REVISION = Limit("REVISION", 250_000, "files", "a revision of git, of which a folder may stand at many places")
REVISION_BYTES = Limit("REVISION_BYTES", 8 * 1024**3, "bytes", "the files of a revision of git, unpacked")
DOCUMENTS = Limit("DOCUMENTS", 200_000, "documents", "a file of YAML or JSON")
KEYS = Limit("KEYS", 2_000_000, "keys", "a file of YAML")
ALIASES = Limit(
    "ALIASES", 10, "values out of aliases for each that is written", "a file of YAML, after the first 10,000"
)
CEL_STEPS = Limit("CEL_STEPS", 1_000_000, "steps of a CEL rule", "one bundle, at most, or in compiling it")
CEL_TOTAL = Limit("CEL_TOTAL", 30_000_000, "steps of all CEL rules", "a workspace, or the schema of a CRD")
FINDINGS = Limit("FINDINGS", 1_000, "findings of a rule", "a file, further ones are counted")
CONFLICTS_PER_SECOND = 10_000
"""The number of conflicts of the solver that count as a second."""

CONFLICTS = Limit(
    "CONFLICTS", 30 * CONFLICTS_PER_SECOND, "conflicts of the solver", "one resolution, unless --resolve-timeout says"
)
CONFIG = Limit(
    "CONFIG", 300_000, "entries of Subscriptions' configs in containers", "a workspace, of all its Deployments"
)
CONTAINERS = Limit("CONTAINERS", 30_000, "containers of operators", "a workspace, in all its namespaces")
CSV_BYTES = Limit(
    "CSV_BYTES", 100_000_000, "bytes of ClusterServiceVersions", "a workspace, with the copies in all its namespaces"
)
CACHE_BYTES = Limit("CACHE_BYTES", 1024 * 1024 * 1024, "bytes", "the cache, of which the oldest go")
LIMITS = (
    FILE_BYTES, FILES, BUNDLE_FILES, DEPTH, PATTERNS, REVISION, REVISION_BYTES, DOCUMENTS, KEYS, ALIASES, CEL_STEPS,
    CEL_TOTAL, CONFLICTS, CONFIG, CONTAINERS, CSV_BYTES, FINDINGS,
)  # fmt: skip
"""Those of what is compiled, in the order of the table."""


# The cost of all rules in CEL together: many cheap rules are as bad as one expensive one.


class CelMissingError(Exception):
    """The CEL library is not installed (there is none for musl), so a rule can't be judged."""


class CelCostError(CelMissingError):
    """A rule, or all of them together, may take more than anybody waits for, so it can't be judged."""


class CelAccount:
    """The cost of rules so far, the compiled rules, and the results for the properties of bundles, by rule and
    identity. It is no fact about a workspace, so all accounts are equal."""

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
