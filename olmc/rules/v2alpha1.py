"""Operator and Install of v2alpha1 (`--enable-v2alpha1`)."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

REFUSED = Rule(
    "OLMC670",
    Severity.ERROR,
    "An Operator or Install that the API server refuses",
    "{kind} {name}: {problem}",
    "Correct the field, or remove it.",
    "Operator and Install of operators.coreos.com/v2alpha1 have a union of kinds of content, of which exactly one has "
    "to be set (R-OPERATOR-2, R-INSTALL-1).",
    found_by=FoundBy.V2ALPHA1,
)
CATALOG_DENIED = Rule(
    "OLMC671",
    Severity.FAILURE,
    "A catalog that the user may not install from",
    'user "{user}" cannot use CatalogSource "{catalog}": requires verb "install"',
    "Bind a Role with the verb install on catalogsources (operators.coreos.com) in namespace {namespace} to {user}.",
    "Catalogs are restricted by default. Whoever creates an Operator needs the verb install on the CatalogSource that "
    "it names; without it the Operator is refused (R-OPERATOR-12).",
    found_by=FoundBy.AS_USER,
)
PENDING = Rule(
    "OLMC672",
    Severity.WARNING,
    "An Install waits for approval",
    "Install {name} waits for approval and nothing of it is applied: {why}",
    "--approve-installs shows what approving it does, and with --as USER whether that user may. To approve this one "
    "alone, put it into the workspace with spec.approval: Approved, and use --as USER.",
    "An Install is applied by a service account, which must not get more rights than somebody approves who has them "
    "(R-INSTALL-9, R-INSTALL-10).",
    found_by=FoundBy.V2ALPHA1,
)
APPROVAL_DENIED = Rule(
    "OLMC673",
    Severity.FAILURE,
    "A user who may not approve an Install",
    'user "{user}" may not approve Install "{name}": missing permissions {missing}',
    "Let somebody approve it who has these permissions.",
    "Approving an Install gives its service account rights, so only who has them may do it (R-INSTALL-10).",
    found_by=FoundBy.AS_USER,
)
UNRESOLVED = Rule(
    "OLMC674",
    Severity.FAILURE,
    "Operators that can't be resolved",
    "nothing can be installed or upgraded for {operators}: {message}",
    "{hint}",
    "Operators that are connected by packages, APIs or requirements are resolved together, over the whole cluster. If "
    "there is no choice of versions for all of them, none is changed (R-OPERATOR-9).",
    found_by=FoundBy.V2ALPHA1,
)
NOT_PINNED = Rule(
    "OLMC675",
    Severity.WARNING,
    "An image that is not pinned",
    "image {image} is not pinned",
    "Name it by digest, or give its digest in olmc.yaml under images.",
    "What a tag means may change, so nobody can say what was approved (R-INSTALL-3).",
    found_by=FoundBy.V2ALPHA1,
)
NO_CONTENT = Rule(
    "OLMC676",
    Severity.FAILURE,
    "A bundle image whose content is not known",
    "{who}: the content of image {image} is not in the workspace",
    "Add the bundle's directory and a catalog that lists the image, or name the bundle in olmc.yaml under images.",
    "olmc pulls no images. In a cluster this would be a pull that fails: ContentImportError (R-OPERATOR-16).",
    found_by=FoundBy.V2ALPHA1,
)
DIVERGES = Rule(
    "OLMC677",
    Severity.WARNING,
    "Components that differ from what was resolved",
    "operator {operator}: {count} of its components differ from the resolved content: {components}",
    "Take the changes back, or put them into the bundle.",
    "The workspace holds the state of a cluster, in which something was changed after it was installed "
    "(R-OPERATOR-17).",
    found_by=FoundBy.V2ALPHA1,
)
NOT_APPLIED = Rule(
    "OLMC678",
    Severity.FAILURE,
    "The content of an Install can't be applied",
    "Install {name}: {problem}",
    "Correct the object; what comes after it is not applied.",
    "The objects of an Install are applied in order, and the first that fails stops it.",
    found_by=FoundBy.V2ALPHA1,
)
CONFIG_LOST = Rule(
    "OLMC679",
    Severity.WARNING,
    "A Subscription's configuration has no place in an Operator",
    "Subscription {namespace}/{name} has a spec.config, which an Operator can't have",
    "Put the configuration into the bundle or leave the Subscription as it is.",
    "The Operator API does not configure operators; that is named as no goal of the proposal (R-OPERATOR-13).",
    found_by=FoundBy.V2ALPHA1,
)
