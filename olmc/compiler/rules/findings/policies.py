"""Rules about policies of Open Cluster Management: what they leave open, and what they do not install."""

from __future__ import annotations

from olmc.k8s.diagnostics import Rule, RuleTag, Severity

LEFT_OPEN = Rule(
    "OLMC197",
    Severity.WARNING,
    "An unknown part of a policy",
    "{what} is unknown: {why}",
    "{hint}",
    "Templates in policies, `{{ }}` and `{{hub hub}}`, are filled with data of a cluster, and in some policies the "
    "cluster decides the namespace of an object or the catalog of an operator. The files do not contain these facts, "
    "so olmc reports such an object and does not compile it: a guess would be a wrong answer (R-OCM-15).",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
NOT_INSTALLED = Rule(
    "OLMC198",
    Severity.WARNING,
    "A policy that does not install its objects",
    "{policy} {why}: {objects}",
    "{hint}",
    "A policy changes a cluster only where its remediationAction is enforce; one that informs reports what is missing "
    "and leaves it so. With mustnothave it removes objects instead of installing them. olmc does not compile the "
    "objects of such policies.",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
REFUSED = Rule(
    "OLMC199",
    Severity.FAILURE,
    "A policy with a mistake, so that it does not install",
    "{policy} does not install {objects}: {problem}",
    "Correct the field; until then the policy reports the mistake, and the object does not exist in the cluster.",
    "The controllers of Open Cluster Management check more than the API server does: that a Subscription names no "
    "approval of its own, that the namespaces of group and Subscription agree, that fields exist.",
)
