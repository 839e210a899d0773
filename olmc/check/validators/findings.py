"""What validators find and look at, and what their caller can choose, in the words of the tools (R-CAT-200,
R-CAT-201)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.diagnostics.rule import Rule
from olmc.kube.names import is_dns1035_label, is_dns1123_subdomain
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Cause, Location, Place, Report
from olmc.model.objects import mappings, text, texts
from olmc.model.operators import Csv
from olmc.model.workspace import Manifest
from olmc.strconv import quoted
from olmc.yaml import locate
from olmc.yaml.scalars import replace_surrogates

OPTIONAL = tuple(
    "operatorhub operatorhubv2 standardcapabilities standardcategories community alpha-deprecated-apis good-practices "
    "multiarch bundle-objects".split()
)
"""The names of the optional validators (D12)."""

SUITES: Mapping[str, tuple[str, ...]] = MappingProxyType({"operatorframework": OPTIONAL[:4], "all": OPTIONAL})
"""Names that stand for several optional validators."""


class Platform(NamedTuple):
    """What an image runs on, printed as `os/arch`."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"


class Categories(NamedTuple):
    """Categories that replace the standard ones, and why they could not be read ("" if they could)."""

    names: frozenset[str] = frozenset()
    problem: str = ""


def _not_judged(rule: str) -> str:  # noqa: ARG001
    return ""


class ValidatorSettings(NamedTuple):
    """`optional` are the names of validators to run besides the default ones.

    `kubernetes` and `container_tool` are the values of `k8s-version` and `container-tools`, `dockerfile` is the text of
    the file that `index-path` names (None: not given);
    `platforms` are those of images, which olmc can't ask a registry for. `cel_problem` says what is wrong with a CEL
    rule, "" for nothing; whoever knows CEL passes it in, so that this package does without.
    `modes_optional`: a CSV without install modes is a descoped operator's.
    """

    optional: frozenset[str] = frozenset()
    kubernetes: str = ""
    dockerfile: str | None = None
    container_tool: str = ""
    categories: Categories | None = None
    platforms: Mapping[str, tuple[Platform, ...]] = MappingProxyType({})
    cel_problem: Callable[[str], str] = _not_judged
    modes_optional: bool = False


def select_validators(names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The optional validators that names and suites stand for, as `NAME`, `name=NAME` or `suite=NAME`; and the names
    that nobody knows."""
    selected: set[str] = set()
    unknown = []
    for given in names:
        name = given.removeprefix("name=").removeprefix("suite=").replace("operatorhub/v2", "operatorhubv2")
        members = SUITES.get(name) or ((name,) if name in OPTIONAL else ())
        selected.update(members)
        if not members:
            unknown.append(given)
    return frozenset(selected), tuple(unknown)


Keys = tuple[str | int, ...]


class Finding(NamedTuple):
    """One thing found: the rule, the tool's text, and where it stands; `of_key`: at the key, not at its value.

    `hint` is the way out where the rule's own does not fit, `cause` what the compiler finds as well.
    """

    rule: Rule
    text: str
    where: Place | Location
    of_key: bool = False
    hint: str = ""
    cause: Cause | None = None


def result_text(detail: str, *, field: str = "", value: str | None = None) -> str:
    """The text of a result of the api library without its level; `value` None prints none, "" an empty one."""
    message = f": {detail}" if detail else ""
    if field:
        return f"Field {field}{message}" if value is None else f"Field {field}, Value {value}{message}"
    if value is not None:
        return f"Value {value}{message}"
    # The api library says so where it was given nothing to say (R-CAT-200).
    return message or "ErrMessageMissing"


def about(name: str, detail: str) -> str:
    """The text of a result that names the CSV or the package it is about, and prints an empty value."""
    return result_text(f"({name}) {detail}", value="")


def report_findings(findings: Iterable[Finding], report: Report) -> None:
    """Report the findings where they stand."""
    for finding in findings:
        where = finding.where
        place = where if isinstance(where, Location) else locate(where.source, where.keys, of_key=finding.of_key)
        # Texts in JSON annotations may hold halves of characters, which can't be printed.
        diagnostic = finding.rule.finding(place, related=(), text=replace_surrogates(finding.text))
        report.add(diagnostic._replace(hint=finding.hint or diagnostic.hint).caused_by(finding.cause))


class Container(NamedTuple):
    """A container of a CSV's deployment: its object, that of its pod, and the keys that lead to it."""

    object: Mapping[str, Any]
    pod: Mapping[str, Any]
    deployment: int
    keys: Keys

    @property
    def name(self) -> str:
        return text(self.object.get("name"))

    @property
    def image(self) -> str:
        return text(self.object.get("image"))


class CsvPolicyRule(NamedTuple):
    """A policy rule of a CSV's permissions: the list it stands in ("permissions" …) and its numbers there."""

    object: Mapping[str, Any]
    field: str
    permission: int
    number: int

    @property
    def keys(self) -> Keys:
        return ("spec", "install", "spec", self.field, self.permission, "rules", self.number)

    def names(self, field: str) -> list[str]:
        """The texts of a field of the rule, such as its verbs."""
        return texts(self.object.get(field))


def csv_of(manifest: Manifest) -> Csv:
    """The CSV in a file."""
    return Csv(manifest.object, manifest.source)


def containers(csv: Csv) -> Iterator[Container]:
    """The containers of all deployments, without init containers."""
    for index, deployment in enumerate(csv.deployments):
        keys = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", "containers")
        for number, container in enumerate(mappings(deployment.pod.get("containers"))):
            yield Container(container, deployment.pod, index, (*keys, number))


def policy_rules(csv: Csv, field: str) -> Iterator[CsvPolicyRule]:
    """The policy rules in "permissions" or "clusterPermissions"."""
    for entry, permission in enumerate(csv.permissions if field == "permissions" else csv.cluster_permissions):
        for index, rule in enumerate(permission.rules):
            yield CsvPolicyRule(rule, field, entry, index)


def subdomain_problems(name: str) -> list[str]:
    """What is wrong with a name as a DNS-1123 subdomain."""
    # Only the messages about labels and keys have moved on to counting bytes.
    return [in_characters(problem) for problem in is_dns1123_subdomain(name)]


def dns1035_label_problems(name: str) -> list[str]:
    """What is wrong with a name as a DNS-1035 label: up to 63 letters, digits and dashes after a letter."""
    return [in_characters(problem) for problem in is_dns1035_label(name)]


def in_characters(problem: str) -> str:
    """A message of today's Kubernetes about too long a name as the validators' version has it."""
    return problem.replace(" bytes", " characters")


def quoted_list(names: Iterable[str]) -> str:
    """Texts as Go's %q prints a list of them: quoted, between brackets, separated by blanks."""
    return "[" + " ".join(quoted(name) for name in names) + "]"


def ascii_list(names: Iterable[str]) -> str:
    """As quoted_list, in ASCII alone (Go's %+q)."""
    return "[" + " ".join(_in_ascii(quoted(name)) for name in names) + "]"


def _in_ascii(printed: str) -> str:
    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return re.sub(r"[^\x00-\x7f]", escape, printed)
