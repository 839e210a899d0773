"""Rules about `olmc migrate`: operators that move, their losses, and operators that stay."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

LEFT_ALONE = Rule(
    "OLMC695",
    Severity.WARNING,
    "Something that only a person can migrate",
    "{what} is left as it is: {why}",
    "Change it by hand, then run olmc migrate again.",
    "olmc migrate makes only changes that need no decision and lose no content.",
    found_by=FoundBy.OTHERS,
)


MOVES = Rule(
    "OLMC740",
    Severity.INFO,
    "An operator that moves to OLM v1",
    "Subscription {name} becomes ClusterExtension {extension}, which installs {csv}{manner}",
    "Follow the order that olmc migrate --to olm-v1 --steps prints where the operator runs already.",
    "olmc compiled the changed workspace, and compared the objects of the ClusterExtension with those of OLM v0, one "
    "by one. It reports differences as well (R-V1-MIG-1).",
    found_by=FoundBy.OTHERS,
)


LOSES = Rule(
    "OLMC741",
    Severity.WARNING,
    "A loss of an operator that moves to OLM v1",
    "Subscription {name} moves and loses {kind}: {text} ({rule})",
    "{hint}",
    "OLM v1 does less for an operator than OLM v0, and some of it an operator or its users may rely on. The id in the "
    "message is the rule by which OLM v1 differs; `olmc explain` has its text.",
    found_by=FoundBy.OTHERS,
)


STAYS = Rule(
    "OLMC742",
    Severity.WARNING,
    "An operator that can't move to OLM v1",
    "Subscription {name} stays with OLM v0 for its {kind}: {text} ({rule})",
    "{hint}",
    "A workspace may use both generations of OLM, so that what OLM v1 does not install goes on as it is. The id in the "
    "message is the rule that stands against it; `olmc explain` has its text (R-V1-MIG-3).",
    found_by=FoundBy.OTHERS,
)


GOES_WITH_V0 = Rule(
    "OLMC743",
    Severity.INFO,
    "Objects of OLM v0 that OLM v1 does not have",
    "{text}",
    "Look for tools and people that rely on it.",
    "Some objects are OLM's own and not the operator's, and OLM v1 does not replace them (R-V1-MIG-1).",
    found_by=FoundBy.OTHERS,
)


BY_HAND = Rule(
    "OLMC744",
    Severity.WARNING,
    "Manual steps after a migration",
    "{text}",
    "{hint}",
    "A patch changes manifests. You must make the other changes yourself.",
    found_by=FoundBy.OTHERS,
)
