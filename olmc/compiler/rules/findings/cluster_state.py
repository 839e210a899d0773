"""Rules about the state of a cluster, as dumps and state files have it."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

NO_STATE = Rule(
    "OLMC158",
    Severity.ERROR,
    "The state of a cluster that can't be read",
    "the state of the cluster can't be read: {problem}",
    "{hint}",
    "olmc reads output of kubectl with `-o yaml` or `-o json`, must-gather folders and archives, and files of `olmc "
    "import`. If olmc skipped an unreadable object, it would treat the object as missing in the cluster, and every "
    "answer would be wrong.",
    FoundBy.OTHERS,
)
INCOMPLETE = Rule(
    "OLMC159",
    Severity.WARNING,
    "A dump of a cluster without kinds that every cluster has",
    "the dump has no {kinds}, which every cluster with OLM has: answers that depend on them would be wrong",
    "{hint}",
    "Results depend on more than the objects of OLM: an operator waits for a CRD that the dump lacks, and a selector "
    "does not match a namespace without labels. `olmc import --print-command` prints the commands that read "
    "everything.",
    FoundBy.OTHERS,
)
