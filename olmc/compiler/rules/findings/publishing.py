"""Rules about bundles that are about to be published: what pipelines of catalogs refuse, and what users get to feel."""

from __future__ import annotations

from olmc.k8s.diagnostics import Rule, RuleTag, Severity

_TAGS = frozenset({RuleTag.FOR_AUTHORS})

TOO_OLD_OPENSHIFT = Rule(
    "OLMC430",
    Severity.WARNING,
    "A bundle for OpenShift releases that are too old for it",
    "{csv} is offered on OpenShift {releases}, whose Kubernetes is older than its minKubeVersion {least}",
    "Let com.redhat.openshift.versions begin at {first}, or lower spec.minKubeVersion.",
    "The annotation com.redhat.openshift.versions in metadata/annotations.yaml says into which catalogs of OpenShift a "
    "bundle is put. Where Kubernetes is older than minKubeVersion it can be chosen, and stays Pending. The pipeline of "
    "the community operators refuses such a bundle (check_api_version_constraints).",
    tags=_TAGS,
)
REPLACED_IS_MISSING = Rule(
    "OLMC431",
    Severity.WARNING,
    "A bundle in catalogs without the one that it replaces",
    "{csv} is offered on OpenShift {releases}, and {replaced}, which it replaces, is not",
    "Give both the same com.redhat.openshift.versions, or narrow that of {csv}.",
    "In a catalog that has a bundle, and not the one that it replaces, the edge between them leads nowhere: who has "
    "the older one gets no upgrade. The pipeline of the community operators refuses it (check_replaces_availability).",
    tags=_TAGS,
)
OTHER_NAME = Rule(
    "OLMC432",
    Severity.WARNING,
    "A CSV that is not called after its package",
    "{csv} does not begin with the name of its package, {package}",
    "Call the CSV {package}.v{version}, or correct the package in metadata/annotations.yaml.",
    "OLM takes any name. People and pipelines take what stands before the version for the package, and the one of the "
    "community operators refuses a new operator whose names differ (check_operator_name).",
    tags=_TAGS,
)
PRUNED = Rule(
    "OLMC433",
    Severity.WARNING,
    "A skipRange without replaces prunes the graph",
    "{csv} has an olm.skipRange but no replaces, so channel {channel} loses {others}",
    "Set spec.replaces to the version before, beside the skipRange.",
    "A channel consists of its head and of the versions that it replaces, one after the other. A head that only skips "
    "a range cuts all others off: upgrades from the range still lead to it, but users can't install or pin an older "
    "version any more (check_pruned_graph).",
    tags=_TAGS,
)
SERVED_DIFFER = Rule(
    "OLMC434",
    Severity.WARNING,
    "Served versions of a CRD that lose fields to each other",
    "{crd} serves {served} and stores {stored} without conversion, and {stored} lacks {fields}",
    "Add the fields to {stored}, or a conversion webhook, or serve {served} no longer.",
    "Without a webhook Kubernetes only rewrites apiVersion when an object changes its version. It silently drops "
    "fields that the schema of the stored version lacks when it writes an object.",
    tags=_TAGS,
)
FLOATING_IMAGE = Rule(
    "OLMC435",
    Severity.WARNING,
    "An image that changes under its name",
    "{csv}: container {container} runs {image}, which is another image whenever somebody pushes one",
    "Name the image by its digest, or at least by the tag of a release.",
    "With :latest, or without any tag, the content of a version of the operator depends on the day and on the node, "
    "so you can't review it, mirror it, or go back to it.",
    tags=_TAGS,
)
TOKEN_SECRET = Rule(
    "OLMC436",
    Severity.WARNING,
    "A bundle with a Secret for a token",
    "Secret {name} gets a token of ServiceAccount {account} that never expires",
    "Remove it: pods get tokens of their own that expire; others ask for one with TokenRequest.",
    "Kubernetes writes a token without expiry into a Secret of type kubernetes.io/service-account-token. Every reader "
    "of the Secret has the permissions of the account until you delete it.",
)
NO_REPLICAS = Rule(
    "OLMC437",
    Severity.WARNING,
    "A Deployment of an operator without pods",
    "{csv}: Deployment {deployment} has replicas: 0, so it has no pods",
    "Remove replicas, or set it to 1 or more; OLM sets it back whenever somebody scales by hand.",
    "For OLM a CSV is Succeeded if its Deployments have the requested number of pods, also if that is zero. The "
    "operator looks healthy, but does not run.",
    tags=_TAGS,
)
