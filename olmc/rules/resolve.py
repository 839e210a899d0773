"""Rules about resolving: what the resolver can't do, and what a person should know about what it did."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import IN_STATUS, Rule

CEL_MISSING = Rule(
    "OLMC500",
    Severity.ERROR,
    "A CEL constraint can't be judged",
    "namespace {namespace} can't be resolved: a bundle has a CEL constraint, "
    "and the CEL library can't be loaded ({cause})",
    "Install it with `pip install cel-expr-python`.",
    "OLM evaluates `cel` constraints with Google's CEL. Guessing what a rule would say could install the "
    "wrong version, so olmc stops where it can't evaluate it.",
)
SKIP_RANGE_UNREADABLE = Rule(
    "OLMC501",
    Severity.WARNING,
    "A skipRange can't be read",
    'the skipRange "{text}" of {bundle} can\'t be read and skips nothing: {cause}',
    "Write comparisons separated by spaces, like `>=1.0.0 <1.2.0`; there is no `~`, `^` or comma.",
    "OLM ignores a skipRange that it can't read, without a word: the versions that it was meant to cover get "
    "no upgrade.",
)
CHANNEL_LEFT_OPEN = Rule(
    "OLMC502",
    Severity.WARNING,
    "OLM picks the channel at random",
    "Subscription {name} names no channel, and {bundle} is in the channels {channels}: "
    "OLM picks one of them at random, olmc {channel}",
    "Set spec.channel.",
    "Without spec.channel OLM may take the same version from any channel, and the operator then follows that "
    "channel. olmc takes the default channel, else the first by name.",
)
SEVERAL_PROVIDERS = Rule(
    "OLMC503",
    Severity.INFO,
    "Several packages could meet a requirement",
    "{bundle} requires an operator {wanted}: {chosen} is installed, the packages {others} would do as well",
    "Add a Subscription for the one that you want; it is then used for the requirement.",
    "OLM takes the first that fits: from the same catalog, then by the priority of catalogs, default "
    "channels first, then by the names of packages and channels. Another catalog, or a new package in this "
    "one, can change that.",
)
NOT_SATISFIABLE = Rule(
    "OLMC510",
    Severity.FAILURE,
    "A namespace can't be resolved",
    "nothing can be installed or upgraded in namespace {namespace}: {message}",
    "`olmc resolve` says step by step what rules out what.",
    "All Subscriptions of a namespace are resolved together. If there is no choice of versions that suits "
    "all of them, OLM changes nothing in the namespace and sets the condition ResolutionFailed on each "
    "Subscription.",
    tags=IN_STATUS,
)
PREVENTED = Rule(
    "OLMC511",
    Severity.FAILURE,
    "An error prevents a namespace from being resolved",
    "nothing can be installed or upgraded in namespace {namespace}: {message}",
    "Correct the catalog; the error concerns all Subscriptions of the namespace, whatever catalog they name.",
    "A catalog that can't be read, a channel without a unique order or a requirement that can't be parsed "
    "stops the resolution of the whole namespace.",
    tags=IN_STATUS,
)
