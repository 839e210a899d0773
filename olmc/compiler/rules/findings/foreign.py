"""What a repository holds besides what is for a cluster: files of other tools, and charts that nobody has rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from olmc.k8s.diagnostics import Diagnostic, Rule, RuleTag, Severity

FOREIGN = Rule(
    "OLMC180",
    Severity.INFO,
    "A file of another tool",
    "{path} is left aside: it shows no apiVersion and kind of Kubernetes, and no cluster could read it ({cause})",
    "If another tool reads the file, no action is needed. If it is meant for the cluster, fix it and add both.",
    "Repositories hold YAML and JSON of many tools: templates of CloudFormation, variables of Ansible, settings with "
    "comments. olmc ignores a file that is not valid YAML for Kubernetes if its text mentions neither Kubernetes nor "
    "OLM. With an apiVersion and a kind, or a schema of OLM, in its text it is an error with its place, and so is "
    "everything that can't be read in a bundle or a catalog.",
    tags=frozenset({RuleTag.FOREIGN_FILE}),
)
CHART_OF_OPERATORS = Rule(
    "OLMC181",
    Severity.WARNING,
    "A Helm chart with objects of OLM that is not rendered",
    "not rendered: {count} in {path}; what would be asked of OLM by them is unknown ({kinds})",
    "See what it becomes with its values: `olmc check {chart}`; with others: `helm template {chart} | olmc check -`.",
    "The templates of a Helm chart are text with instructions for Helm; only with values do they become objects. "
    "These mention kinds of OLM, so they may contain operators that olmc can't see.",
)
CHART = Rule(
    "OLMC182",
    Severity.INFO,
    "A Helm chart that is not rendered",
    "not rendered: {count} in {path}; what would be applied by them is unknown",
    "Render the chart with its values, and compile the outcome, if it is to count: `helm template {chart}`.",
    "The templates of a Helm chart are text with instructions for Helm; only with values do they become objects. In "
    "these no kind of OLM is named.",
    tags=frozenset({RuleTag.UNRENDERED_CHART}),
)
EMPTY = Rule(
    "OLMC183",
    Severity.WARNING,
    "An empty workspace",
    "{path} has nothing for OLM: no manifest, no bundle and no catalog",
    "Give the directory that contains them; `olmc check -v` lists the files that olmc ignores.",
    "All commands answer for an empty cluster, exit with 0 and print this note. A misspelled path, or a folder that a "
    "pattern excludes, looks the same, so `olmc check --strict` exits with 1. Without --allow-empty, `olmc render` "
    "writes neither a folder nor an output for apply from it: a pruning pipeline would delete everything.",
)

PROJECT = Rule(
    "OLMC648",
    Severity.INFO,
    "A project of operator-sdk",
    "this is a project of operator-sdk: its bundle in {path} is compiled, and no other file",
    "No action is needed; `make bundle` updates the bundle from config/. To compile something else of the project, "
    "give its folder.",
    "OLM installs the bundle of an operator. The kustomizations in config/ are the source of the bundle, and only "
    "developers apply them.",
)
NO_BUNDLE = Rule(
    "OLMC649",
    Severity.ERROR,
    "A project of operator-sdk without its bundle",
    "this is a project of operator-sdk, and its bundle is not there",
    "Run `make bundle`, which generates bundle/ from config/, and commit it.",
    "What OLM gets of an operator is its bundle. The CSV in config/manifests/bases is only what that is generated "
    "from: it has no Deployment, no permissions and no version yet.",
)

UNKNOWN_GRAPH = Rule(
    "OLMC647",
    Severity.WARNING,
    "An unknown kind of update graph",
    "updateGraph says {value!r}, which no pipeline knows; the graph is made as without it",
    "{hint}",
    "In a repository of bundles, the ci.yaml of an operator sets the kind of its update graph: by the replaces and "
    "skips of each version, or by their order, with or without skipping older patches (R-CAT-144).",
)

_COUNTED = {
    RuleTag.FOREIGN_FILE: ("file of another tool that can't be read", "files of other tools that can't be read"),
    RuleTag.UNRENDERED_CHART: ("Helm chart that is not rendered", "Helm charts that are not rendered"),
}


def aside(remarks: Iterable[Diagnostic]) -> str:
    """How much is left aside, by the kind of reason: `2 files of …, 1 Helm chart that …`; "" for nothing."""
    numbers = Counter(tag for diagnostic in remarks for tag in diagnostic.tags)
    counts = ((numbers[tag], names) for tag, names in _COUNTED.items())
    return ", ".join(f"{number} {names[number != 1]}" for number, names in counts if number)
