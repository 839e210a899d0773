"""Rules about what is misspelt, which a cluster refuses, or drops without a word."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import Rule

NO_KIND = Rule(
    "OLMC146",
    Severity.FAILURE,
    "An object without kind",
    "this document has apiVersion {api} but no kind, so the API server would refuse it",
    "{hint}",
    "Every object needs both; without kind nothing is created, and olmc compiles the state without it. Keys are "
    "matched with their case: Kind is not kind.",
)
LIST_OF_OBJECTS = Rule(
    "OLMC147",
    Severity.FAILURE,
    "A list in place of documents",
    "this document is a list of objects ({objects}), which no cluster takes: nothing of it is compiled",
    "Write each object as a document of its own, with --- between them, or all as the items of a List of apiVersion "
    "v1.",
    "A file for a cluster holds documents, and each of them is one object. kubectl, Argo CD and Flux refuse a bare "
    "list.",
)
NO_SUCH_KIND = Rule(
    "OLMC148",
    Severity.FAILURE,
    "A kind that OLM does not have",
    "{owner} has no kind {kind}, so the API server would refuse {name}, and OLM never sees it",
    "{hint}",
    "The kinds of operators.coreos.com are OLM's, and older versions of OLM have fewer. Case counts: Catalogsource is "
    "not CatalogSource. An object of a kind that nothing defines is refused.",
)
STRANGE_KIND = Rule(
    "OLMC149",
    Severity.WARNING,
    "A kind or group that is probably misspelt",
    "{api} {kind} is no kind of Kubernetes, of OLM or of a CRD of the workspace, so the API server would refuse {name}",
    "Did you mean {meant}? If your cluster has the kind all the same, add its CRD, or list {api}/{kind} under "
    "spec.apis of olmc.yaml.",
    "olmc takes an object of a kind that it does not know for a custom resource and does not look into it. This one is "
    "named so much like a kind that it does know that it hardly is one.",
)
DROPPED_FIELD = Rule(
    "OLMC150",
    Severity.WARNING,
    "A field that is dropped",
    "{kind} {name} has a field {where} that {owner} {why}{effect}",
    "{hint}",
    "The API server keeps the fields that the CRDs of OLM list and prunes all others: the object is stored as if they "
    "had never been written. kubectl refuses unknown fields unless it is told not to, but tools that apply on the "
    "server's own terms see a warning at most. A group without targetNamespaces, for one, selects all namespaces "
    "(R-OG-1, R-OG-2, R-OG-3).",
)
NOT_MANUAL = Rule(
    "OLMC151",
    Severity.WARNING,
    "An installPlanApproval that is neither Automatic nor Manual",
    "Subscription {name}: OLM takes the installPlanApproval {text!r} for Automatic, as everything but Manual, so it "
    "does not make upgrades wait for approval",
    "Write {meant}.",
    "The API server stores any text. An InstallPlan waits for approval if a Subscription of its namespace says exactly "
    "Manual, with its case, and is carried out at once otherwise (R-CAT-602).",
)
