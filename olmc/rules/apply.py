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
