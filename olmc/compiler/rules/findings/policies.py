"""Rules about policies of Open Cluster Management: what they leave open, and what they do not install."""

from __future__ import annotations

from olmc.k8s.diagnostics import Rule, RuleTag, Severity

LEFT_OPEN = Rule(
    "OLMC197",
    Severity.WARNING,
    "What a policy leaves open",
    "{what} is unknown: {why}",
    "{hint}",
    "Templates in policies, `{{ }}` and `{{hub hub}}`, are filled in from what is in a cluster, and some policies "
    "leave it to the cluster where an object goes or which catalog an operator comes from. None of that is in the "
    "files, so such an object is named and not compiled: a guess would be a wrong answer (R-OCM-15).",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
NOT_INSTALLED = Rule(
    "OLMC198",
    Severity.WARNING,
    "A policy that installs nothing of what it names",
    "{policy} {why}: {objects}",
    "{hint}",
    "A policy changes a cluster only where its remediationAction is enforce; one that informs reports what is missing "
    "and leaves it so. With mustnothave it takes away instead of installing. What such policies name is no part of "
    "what olmc compiles.",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
REFUSED = Rule(
    "OLMC199",
    Severity.FAILURE,
    "A policy with a mistake, by which it installs nothing",
    "{policy} does not install {objects}: {problem}",
    "Correct the field; until then the policy reports the mistake, and the object does not exist in the cluster.",
    "The controllers of Open Cluster Management check more than the API server does: that a Subscription names no "
    "approval of its own, that the namespaces of group and Subscription agree, that fields exist.",
)
