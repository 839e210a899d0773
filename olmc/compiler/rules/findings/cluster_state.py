"""Rules about the state of a cluster, as dumps and state files have it."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

NO_STATE = Rule(
    "OLMC158",
    Severity.ERROR,
    "The state of a cluster that can't be read",
    "the state of the cluster can't be read: {problem}",
    "{hint}",
    "olmc takes what kubectl prints with `-o yaml` or `-o json`, must-gather folders and archives, and what "
    "`olmc import` writes. An object that got lost on the way would be one that the cluster does not have, and every "
    "answer about the cluster would be wrong, so nothing is left out that can't be read.",
    FoundBy.OTHERS,
)
INCOMPLETE = Rule(
    "OLMC159",
    Severity.WARNING,
    "A dump of a cluster without kinds that every cluster has",
    "the dump has no {kinds}, which every cluster with OLM has: answers that depend on them would be wrong",
    "{hint}",
    "What olmc says of a cluster depends on more than the objects of OLM: an operator waits for a CRD that is not in "
    "the dump, a namespace without labels is selected by nobody. `olmc import --print-command` prints the commands "
    "that read everything.",
    FoundBy.OTHERS,
)
