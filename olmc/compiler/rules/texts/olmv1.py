"""Rules about what operator-controller makes of a bundle: what it can't read, does not install, or can't create."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

BUNDLE_NOT_READ = Rule(
    "OLMC720",
    Severity.ERROR,
    "A bundle that OLM v1 can't read",
    "operator-controller can't read the bundle: {text}",
    "Mend the file. OLM v0 may read the bundle all the same, as its reader passes over what it can't decode.",
    "operator-controller reads every file below manifests/, whatever its name ends in, and one that is no object ends "
    "the installation (R-V1-LOAD-1 … 5). The message is what the ClusterExtension would say.",
    found_by=FoundBy.OTHERS,
)
BUNDLE_NOT_INSTALLED = Rule(
    "OLMC721",
    Severity.FAILURE,
    "A bundle that OLM v1 does not install",
    "operator-controller does not install {bundle}: {text}",
    "{hint}",
    "Before operator-controller creates anything it looks at what the bundle has, at its configuration and at the "
    "namespaces to watch. The message is the one in the condition Progressing of the ClusterExtension.",
    found_by=FoundBy.OTHERS,
)
NOT_CREATED = Rule(
    "OLMC722",
    Severity.FAILURE,
    "Rendered by OLM v1, and refused by the API server",
    "{object} is rendered but can't be created: {text}",
    "{hint}",
    "operator-controller renders it without a complaint, and the installation fails when the API server gets to see "
    "it, again and again. What OLM v0 fills in, such as the port of a webhook, stays as it is (R-V1-LIM-4).",
    found_by=FoundBy.OTHERS,
)
RENDERED_TWICE = Rule(
    "OLMC723",
    Severity.FAILURE,
    "An object that OLM v1 renders twice",
    "{object} is rendered twice{difference}",
    "Leave it out of the bundle: operator-controller makes ServiceAccounts, roles and Services of webhooks by itself.",
    "A bundle may bring an object that operator-controller makes as well. A ClusterObjectSet with two objects of one "
    "name is rejected and applies nothing; Helm patches the first object to the second (R-V1-LIM-3).",
    found_by=FoundBy.OTHERS,
)
ASKS_CONDITION = Rule(
    "OLMC724",
    Severity.WARNING,
    "An operator that asks for its OperatorCondition",
    "a container of Deployment {deployment} uses OPERATOR_CONDITION_NAME, which OLM v1 does not set",
    "Have the operator start without the variable.",
    "OLM v1 has no OperatorConditions, and so no variable that names one. An operator that insists on it fails when it "
    "starts (R-V1-LIM-4).",
    found_by=FoundBy.OTHERS,
)
SURVIVES_EXTENSION = Rule(
    "OLMC725",
    Severity.WARNING,
    "An object that survives its ClusterExtension",
    "{object} has the annotation helm.sh/resource-policy: keep, so it stays when the ClusterExtension is deleted",
    "Remove the annotation unless that is meant.",
    "operator-controller installs by way of Helm, which heeds the annotation: the object gets no owner, and nobody "
    "deletes it (R-V1-HELM-2).",
    found_by=FoundBy.OTHERS,
)
NO_STATE = Rule(
    "OLMC726",
    Severity.ERROR,
    "No state of a bundle that OLM v1 renders",
    "{path} is a bundle by itself, of which OLM v1 gives objects and no state to look at",
    "Print them with olmc render {path} --olm-version {version}, or give a workspace.",
    "A bundle by itself is rendered as a ClusterExtension would have it. There is no ClusterExtension whose conditions "
    "could be shown, nor a CSV with a phase.",
    found_by=FoundBy.OTHERS,
)
