"""Rules about output that runs without OLM."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

NO_CERTIFICATE = Rule(
    "OLMC320",
    Severity.WARNING,
    "A Deployment needs a serving certificate",
    "Deployment {namespace}/{deployment} mounts the Secret {secret}, which nobody creates",
    "Render with --certs cert-manager or --certs service-ca, or create the Secret (tls.crt, tls.key) yourself.",
    "OLM issues certificates for webhooks and API services; without OLM somebody else has to.",
    found_by=FoundBy.OTHERS,
)
NOTHING_TO_RENDER = Rule(
    "OLMC321",
    Severity.ERROR,
    "Nothing to render",
    "{path} gives no objects{problem}",
    "{hint}",
    "An empty output would make a pruning pipeline delete everything, so it is refused unless --allow-empty is given.",
    found_by=FoundBy.OTHERS,
)
INCOMPLETE = Rule(
    "OLMC322",
    Severity.FAILURE,
    "Half an output for apply",
    "nothing is {done}, since part of what is wanted would be missing: {missing}",
    "{hint}",
    "An operator that fails has hardly any objects. An output without them looks like one from which they were taken "
    "away: written to a directory it removes their files, and Argo CD and Flux delete what they created. So with --for "
    "apply nothing is printed, written or removed unless everything is there, or --keep-going is given.",
    found_by=FoundBy.OTHERS,
)
ALL_AT_ONCE = Rule(
    "OLMC323",
    Severity.WARNING,
    "cert-manager and its certificates in one output",
    "the output brings cert-manager's API and asks it for certificates at once: {objects}",
    "Apply it in two phases: --phase 1, and once its Deployments are available --phase 2. In Argo CD the plugin orders "
    "it by sync waves; in Flux two Kustomizations with dependsOn do.",
    "Issuers and Certificates can be created when their CRDs are established and the webhook of cert-manager, which "
    "looks at all of them, answers; before that they are refused. Waiting for all that was applied does not help, as "
    "the operators do not start before they have their certificates. The first phase has everything that runs without "
    "certificates from there, the second the rest.",
    found_by=FoundBy.OTHERS,
)
OWN_CERTIFICATE = Rule(
    "OLMC324",
    Severity.WARNING,
    "cert-manager can't issue its own certificate",
    "Deployment {namespace}/{deployment} needs the Secret {secret} before it can issue certificates, so nobody creates "
    "that one",
    "Create the Secret with tls.crt, tls.key and ca.crt, and the annotation cert-manager.io/allow-direct-injection: "
    '"true", or install cert-manager with the manifests of its authors.',
    "To issue a certificate, cert-manager creates a CertificateRequest, which its own webhook has to admit. As long as "
    "the webhook has no certificate it admits nothing, so that it would wait for itself for ever. By itself, "
    "cert-manager makes the certificate of its webhook in another way; under OLM it gets one from OLM.",
    found_by=FoundBy.OTHERS,
)
BESIDE_THEIR_CRD = Rule(
    "OLMC325",
    Severity.WARNING,
    "Custom resources beside the CRDs that define them",
    "the output has custom resources and the CRDs that define them: {objects}",
    "Apply it in two phases: --phase 1, and once its Deployments are available --phase 2; kubectl apply knows no kind "
    "of a CRD that it has only just created. In Argo CD sync waves do the same, with SkipDryRunOnMissingResource=true "
    "if the CRDs are another Application's; in Flux two Kustomizations with dependsOn.",
    "A custom resource can be created when its CRD is established, and its webhooks, which fill in defaults and refuse "
    "what is wrong, answer. Applied in one go, the first attempt fails, or the object misses its defaults.",
    found_by=FoundBy.OTHERS,
)
WATCHED_NAMESPACE = Rule(
    "OLMC326",
    Severity.INFO,
    "A watched namespace that is not in the output",
    "the output has objects for namespace {name} and does not create it: who watches a namespace does not own it",
    "Create it before, if it is not there; in a workspace a manifest of it can be added.",
    "With --watch, operators get permissions in namespaces of others. An output that created them would delete them, "
    "with everything in them, when it is deleted.",
    found_by=FoundBy.OTHERS,
)
