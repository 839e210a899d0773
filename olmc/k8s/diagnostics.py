"""Diagnostics: what olmc has to say about the input, where that stands, why, and which name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from sys import maxsize

from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import FINDINGS

# How like two names are (0 to 1) if one was probably meant by the other, so that it may be reported of a name alone.
LIKELY = 0.7
# How like they are if one may have been meant: enough for a name that is wrong for certain.
POSSIBLE = 0.6
# How many characters a part of a name must have to stand for it: shorter ones begin too many names.
_BEGINNING = 4


def closest(name: str, names: Iterable[str], cutoff: float = LIKELY, *, parts: bool = True) -> str:
    """Return the one of `names` that is most like `name`, without regard to case, "" when none is like it.

    With `parts`, the only one that begins or ends with `name` counts, too: installPlanApproval for approval.
    """
    known = set(names)
    alike = close_matches(name, known, 1, cutoff)
    if not alike and parts and len(name) >= _BEGINNING:
        lower = name.lower()
        alike = [other for other in known if other.lower().startswith(lower) or other.lower().endswith(lower)]
    return alike[0] if len(alike) == 1 else ""


def close_matches(name: str, names: Iterable[str], most: int, cutoff: float = LIKELY) -> list[str]:
    """Return at most `most` of `names` that are like `name`, without regard to case, the most similar first."""
    from olmc.k8s.similarity import similar_names  # takes its time to import, and nearly everything is spelt right

    return similar_names(name, names, most, cutoff)


def did_you_mean(*names: str, inside: bool = False) -> str:
    """The question for what was probably meant, "" if no name is given or all are empty; `inside` a sentence or not."""
    meant = " or ".join(filter(None, names))
    return f"{'did' if inside else 'Did'} you mean {meant}?" if meant else ""


def join_limited(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` of the names, and how many more there are: `a, b, c and 2 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


class Location(NamedTuple):
    """A place in a file: `path` relative to the workspace, `line`, `column` from 1 (0: the whole file)."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.path
        return f"{self.path}:{self.line}:{self.column}" if self.column else f"{self.path}:{self.line}"


class Source(NamedTuple):
    """One document of a file, kept so that line and column of any of its keys can be found when asked for.

    `path` as in Location, `text` the whole file, `document` the number of the document in it, from 0,
    `prefix` the keys that lead to the part meant, for an item of a `List`.
    """

    path: str
    text: str
    document: int = 0
    prefix: tuple[str | int, ...] = ()


class Place(NamedTuple):
    """A place inside a document, kept by its keys: cheap by the ten thousand, a Location only when one asks.

    `source` is the document, `keys` lead to the value meant (() for the document itself).
    """

    source: Source
    keys: tuple[str | int, ...] = ()


class Missing(Enum):
    """Something that is absent and required."""

    CSV = "a CSV in a bundle"
    ANNOTATIONS = "the annotations of a bundle"
    NAMESPACE = "the namespace of an object"


class LockFault(Enum):
    """The reason why a lock is not valid."""

    UNMET = "the workspace needs something else than what is locked"
    CHANGED = "what is locked is no longer what it was"


class SourceFault(Enum):
    """The reason why a source does not have an image, the most important reason first."""

    WRONG_DIGEST = "the source has something else under this digest"
    BAD_MANIFEST = "the source has a manifest that can't be used"
    DENIED = "the source wants to know who asks"
    NOT_FOUND = "the source does not have it"


class PlanFault(Enum):
    """The reason why an InstallPlan is not executed, or not completely."""

    UNMANAGED = "its namespace has no OperatorGroup that manages it (R-CAT-604)"
    NO_TOKEN = "OLM has no token for the ServiceAccount of the group"
    FORBIDDEN = "the ServiceAccount of the group lacks rights, and OLM retries without end (D23)"
    UNSUPPORTED_KIND = "OLM does not install objects of the step's kind (R-CAT-705)"


class DecodeFailure(NamedTuple):
    """A text or a value that a decoder refuses, with the decoder's words."""

    message: str


class RefusedObject(NamedTuple):
    """An object that the API server refuses, with the document, the keys that lead to the mistake and the problem.

    `content` is a digest of all that it says; `has_variables`: Flux may make another object of it.
    """

    kind: str
    name: str
    source: Source | None = None
    keys: tuple[str | int, ...] = ()
    problem: str = ""
    group: str = ""
    namespace: str = ""
    content: str = ""
    has_variables: bool = False


class OpenRelease(NamedTuple):
    """A chart that an object installs with values that only a cluster knows, and the fields that bring them."""

    applier: str
    chart: str
    fields: str


class UnservedKind(NamedTuple):
    """A kind that the cluster does not serve, as `--api` takes it, and the minor version of Kubernetes 1 that removed
    it, 0 for one of others."""

    api: str
    removed: int


class StoredVersion(NamedTuple):
    """A version that a new CRD drops and objects of `kind` may still be stored in, and the version in which the cluster
    stores them at present (R-CAT-723)."""

    crd: str
    kind: str
    version: str
    storage: str


class UnfitResource(NamedTuple):
    """A custom resource that does not fit the schema of a new CRD (R-CAT-723), by `namespace/name`."""

    kind: str
    name: str


class OversizedAnnotations(NamedTuple):
    """An object that has too many bytes of annotations once `kubectl apply` has put a copy of it into one."""

    kind: str


class Misspelling(NamedTuple):
    """A name that stands where a finding is, and those that were probably meant by it, the likeliest first."""

    written: str
    meant: tuple[str, ...]


Mistake = Missing | DecodeFailure | OversizedAnnotations
"""A problem of the input itself. Two parts of olmc that find it at the same place report the same problem."""


class FurtherFindings(NamedTuple):
    """The number of further findings of a rule in a file, which are not kept."""

    number: int


def misspelt(written: str, *meant: str) -> Misspelling | None:
    """Report that a name is misspelt, None where nothing is known that was meant."""
    known = tuple(filter(None, meant))
    return Misspelling(written, known) if known else None


Cause = (
    Mistake
    | Misspelling
    | LockFault
    | SourceFault
    | PlanFault
    | RefusedObject
    | OpenRelease
    | UnservedKind
    | StoredVersion
    | UnfitResource
    | FurtherFindings
)


class Severity(IntEnum):
    """The severity: an ERROR stops the compilation, a FAILURE is an operator that would fail in the cluster."""

    INFO = 0
    WARNING = 1
    FAILURE = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class RuleTag(Enum):
    """A property of all findings of a rule that code needs, not readers."""

    OF_VALIDATORS = "opm and operator-sdk say it; the compiler says what it means for the cluster"
    FOR_AUTHORS = "only the author of the bundle can fix it"
    IN_STATUS = "the state of an operator shows it already"
    FOREIGN_FILE = "a file of another tool is left aside"
    OPERATORS_UNSEEN = "operators are named that are no part of what is compiled"
    UNRENDERED_CHART = "a Helm chart is left aside"
    OF_REPOSITORY = "a repository has one finding of its own for all its clusters"
    OPEN_VALUE = "a value that no file has decides it"
    GROUP_UNSEEN = "another repository may bring the OperatorGroup"
    OUTCOME_UNKNOWN = "a cluster may install something that the workspace does not have"
    OF_WORKSPACE = "it is so only if the file is applied with the workspace"


class FileChange(NamedTuple):
    """A file before and after; `before` is "" for a new one, `after` when nothing of it is left."""

    path: str
    before: str
    after: str


class Fix(NamedTuple):
    """Changes of files after which a finding is not made any more: olmc has compiled the result."""

    title: str
    changes: tuple[FileChange, ...]


class Diagnostic(NamedTuple):
    """One finding: the rule's stable `code`, a message, where it stands, and what to do next.

    These are for people; what goes on with a finding is decided by its severity, its `cause` and the `tags` of its
    rule; `fix` is a change that cures it.
    """

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    hint: str = ""
    related: tuple[tuple[str, Location], ...] = ()
    cause: Cause | None = None
    tags: frozenset[RuleTag] = frozenset()
    fix: Fix | None = None

    @property
    def is_open(self) -> bool:
        """Return whether an operator fails by it, or is unknown for want of content."""
        return self.severity is Severity.FAILURE or RuleTag.OUTCOME_UNKNOWN in self.tags

    def caused_by(self, cause: Cause | None) -> Diagnostic:
        """The finding with a cause of its own instead of that of its rule; the same for None."""
        return self._replace(cause=cause) if cause is not None else self

    def sort_key(self) -> tuple[str, int, int, str, str]:
        place = self.location or Location("")
        line = maxsize if isinstance(self.cause, FurtherFindings) else place.line
        return (place.path, line, place.column, self.code, self.message)


def further_findings(subject: Subject, number: int, tags: frozenset[RuleTag] = frozenset()) -> Diagnostic:
    """The finding that there are so many more of a rule in a file."""
    code, severity, path = subject
    return Diagnostic(
        code,
        severity,
        f"there {'are' if number > 1 else 'is'} {number:,} more of {'these' if number > 1 else 'this'}",
        Location(path) if path else None,
        f"{FINDINGS.variable}=NUMBER in the environment shows more of one file than {FINDINGS.most:,}.",
        cause=FurtherFindings(number),
        tags=tags,
    )


Subject = tuple[str, Severity, str]
"""A rule, a severity and a file."""

# With these causes, or without one, a finding is for people alone.
_COUNTED = (type(None), Misspelling, DecodeFailure, OversizedAnnotations)


class _Further(NamedTuple):
    """The index in a report of the number of further findings, this number, and the hashes of these findings."""

    at: int
    number: int
    hashes: set[int]


def _subject(diagnostic: Diagnostic) -> Subject:
    return diagnostic.code, diagnostic.severity, diagnostic.location.path if diagnostic.location is not None else ""


class Report:
    """Collects the diagnostics of one compilation; the only thing that the stages write to.

    Of one rule in one file it keeps so many; of further ones it keeps that there are, with one finding for all, which
    is as grave. Those that something goes on with by their cause are all kept.
    """

    __slots__ = ("_further", "_kept", "found")

    def __init__(self, found: list[Diagnostic] | None = None) -> None:
        self.found = found if found is not None else []
        self._kept: dict[Subject, set[Diagnostic]] = {}
        self._further: dict[Subject, _Further] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        if isinstance(diagnostic.cause, FurtherFindings):
            self._count(diagnostic, diagnostic.cause.number)
            return
        if isinstance(diagnostic.cause, _COUNTED):
            kept = self._kept.setdefault(_subject(diagnostic), set())
            if len(kept) >= FINDINGS.most and diagnostic not in kept:
                further = self._further.get(_subject(diagnostic))
                if further is None or hash(diagnostic) not in further.hashes:
                    self._count(diagnostic, 1)
                    self._further[_subject(diagnostic)].hashes.add(hash(diagnostic))
                return
            kept.add(diagnostic)
        self.found.append(diagnostic)

    def capacity(self, subject: Subject) -> int:
        """Return the number of further findings of a rule in a file that are kept. The caller need not create more."""
        return max(FINDINGS.most - len(self._kept.get(subject, ())), 0)

    def _count(self, diagnostic: Diagnostic, number: int) -> None:
        subject = _subject(diagnostic)
        known = self._further.get(subject) or _Further(len(self.found), 0, set())
        further = self._further[subject] = known._replace(number=known.number + number)
        self.found[further.at : further.at + 1] = [further_findings(subject, further.number, diagnostic.tags)]

    def __iter__(self) -> Iterator[Diagnostic]:
        """The diagnostics, each once, sorted by place."""
        # Rounds and namespaces come upon the same mistake, and stages upon mistakes in the order of their work.
        return iter(sorted(dict.fromkeys(self.found), key=Diagnostic.sort_key))

    @property
    def failed(self) -> bool:
        """Return whether anything was reported that stops the compilation."""
        return any(d.severity is Severity.ERROR for d in self.found)

    def worst(self) -> Severity | None:
        """The gravest severity reported so far."""
        return max((d.severity for d in self.found), default=None)


# A rule: a stable code with everything that `olmc explain` and the docs say about it.

IN_STATUS = frozenset({RuleTag.IN_STATUS})
_DRAWN = " \t\r│├└─"


class FoundBy(Enum):
    """The command that finds the problems of a rule. By this `olmc check` knows which suppressions are unused."""

    CHECK = "olmc check with any options"
    OPTIONAL_VALIDATORS = "olmc check with all optional validators"
    DESCOPED = "olmc check with --descoped"
    INSTALLS = "olmc check with Operators and Installs"
    AS_USER = "olmc check with Operators and Installs, and --as"
    OTHERS = "other commands alone"


class Rule(NamedTuple):
    """A kind of finding.

    `message` and `hint` are format strings, filled with the values given to `finding`.
    `explanation` says to someone new why this matters (plain Markdown). `cause` is that of every finding that does not
    bring its own.
    """

    code: str
    severity: Severity
    title: str
    message: str
    hint: str
    explanation: str
    found_by: FoundBy = FoundBy.CHECK
    cause: Cause | None = None
    tags: frozenset[RuleTag] = frozenset()

    def finding(
        self, location: Location | None, *, related: tuple[tuple[str, Location], ...] = (), **values: object
    ) -> Diagnostic:
        """A diagnostic of this rule at `location`; `values` fill the message, which is one line, and the hint."""
        message = one_line(self.message.format(**values))
        hint = self.hint.format(**values)
        return Diagnostic(self.code, self.severity, message, location, hint, related, self.cause, self.tags)


def one_line(text: str) -> str:
    """A text of several lines, perhaps a tree of causes as OLM draws it, in one: what reads findings goes by lines."""
    lines = (line.strip(_DRAWN) for line in text.splitlines())
    joined = ""
    for line in filter(None, lines):
        joined += f"{' ' if joined.endswith((':', ',', ';')) else '; ' if joined else ''}{line}"
    return joined if "\n" in text else text
