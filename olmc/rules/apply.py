"""Rules about output that runs without OLM."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import Rule

NO_CERTIFICATE = Rule(
    "OLMC320", Severity.WARNING, "A Deployment needs a serving certificate",
    "Deployment {namespace}/{deployment} mounts the Secret {secret}, which nobody creates",
    "Render with --certs cert-manager or --certs service-ca, or create the Secret (tls.crt, tls.key) yourself.",
    "OLM issues certificates for webhooks and API services; without OLM somebody else has to.",
)
NOTHING_TO_RENDER = Rule(
    "OLMC321", Severity.ERROR, "Nothing to render",
    "{path} gives no objects{problem}",
    "{hint}",
    "An empty output would make a pruning pipeline delete everything, so it is refused unless --allow-empty is given.",
)
INCOMPLETE = Rule(
    "OLMC322", Severity.FAILURE, "Half an output for apply",
    "nothing is {done}, since part of what is wanted would be missing: {missing}",
    "{hint}",
    "An operator that fails has hardly any objects. An output without them looks like one from which they were taken "
    "away: written to a directory it removes their files, and Argo CD and Flux delete what they created. So with --for "
    "apply nothing is printed, written or removed unless everything is there, or --keep-going is given.",
)
WATCHED_NAMESPACE = Rule(
    "OLMC326", Severity.INFO, "A watched namespace that is not in the output",
    "the output has objects for namespace {name} and does not create it: who watches a namespace does not own it",
    "Create it before, if it is not there; in a workspace a manifest of it can be added.",
    "With --watch, operators get permissions in namespaces of others. An output that created them would delete them, "
    "with everything in them, when it is deleted.",
)
