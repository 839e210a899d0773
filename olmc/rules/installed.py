"""Rules about what is shown of installed operators and of packages."""

from __future__ import annotations

from olmc.model.diagnostic import Severity
from olmc.rules.rule import FoundBy, Rule

READ_ONLY = Rule(
    "OLMC650",
    Severity.ERROR,
    "Installed resources can't be given",
    "Installed resources are read-only: the server does not allow this method on the requested resource",
    "Remove the object from the workspace; olmc get installed makes it from CSVs and Subscriptions.",
    "An Installed resource says what OLM made of other objects, so nobody can create one: `kubectl create` of it is "
    "refused by the API server as well.",
    found_by=FoundBy.OTHERS,
)
HIDDEN = Rule(
    "OLMC651",
    Severity.WARNING,
    "One installed operator hides another",
    "installed operator {name} from namespace {home} is hidden in namespace {namespace}",
    "Give the OperatorGroups different targets, so that one operator of this name watches namespace {namespace}.",
    "An Installed resource has the name of its CSV. Where two CSVs of one name watch a namespace, the one that is "
    "installed there is shown, else the one of the lowest namespace.",
    found_by=FoundBy.OTHERS,
)
NOT_FOUND = Rule(
    "OLMC652",
    Severity.FAILURE,
    "There is no such resource",
    '{resource} "{name}" not found in namespace {namespace}',
    "{hint}",
    "`olmc get` shows what a namespace would have, as `kubectl get` would; this name is not among it.",
    found_by=FoundBy.OTHERS,
)
NO_NAMESPACE = Rule(
    "OLMC653",
    Severity.WARNING,
    "The namespace does not exist",
    "namespace {namespace} does not exist in the workspace",
    "Did you mean one of these? {names}",
    "An operator that watches all namespaces watches every namespace that may come, so it is shown all the same.",
    found_by=FoundBy.OTHERS,
)
NO_CHANNELS = Rule(
    "OLMC654",
    Severity.WARNING,
    "A package has no PackageManifest",
    "package {package} of catalog {catalog}: packagemanifest has no valid channels",
    "Give the bundle at the head of a channel a property olm.csv.metadata; opm render writes it.",
    "OLM shows a package only with what the CSV at the head of a channel says, and it takes that from the catalog: "
    "from olm.bundle.object or olm.csv.metadata, never from the image of the bundle.",
    found_by=FoundBy.OTHERS,
)
NOT_SERVED = Rule(
    "OLMC655",
    Severity.WARNING,
    "The workspace can't be compiled any more",
    "{path} can't be compiled as it is now; the state before the change is still served",
    "Correct what is reported above; the server looks at every change.",
    "`olmc serve` shows the last state of the workspace that could be compiled, so that a half-written file does not "
    "make operators vanish for those who watch.",
    found_by=FoundBy.OTHERS,
)
NO_SERVER = Rule(
    "OLMC656",
    Severity.ERROR,
    "The libraries of the API server are missing",
    "olmc serve needs more than olmc alone: {cause}",
    "Install it with pip install 'olmc[serve]'.",
    "The API server brings a web server, TLS and the watching of files, which no other command needs.",
    found_by=FoundBy.OTHERS,
)
NO_CERTIFICATE = Rule(
    "OLMC657",
    Severity.ERROR,
    "The certificate can't be used",
    "the certificate {certificate} with the key {key} can't be used: {cause}",
    "Give a certificate (chain) and its key without a password, both as PEM; without them olmc serve makes its own.",
    "The API server speaks TLS with the certificate that it is given.",
    found_by=FoundBy.OTHERS,
)
NO_ADDRESS = Rule(
    "OLMC658",
    Severity.ERROR,
    "The address can't be served",
    "{host}:{port} can't be served: {cause}",
    "Choose another --port (0 takes any that is free) or --host.",
    "Another program may use the port, or the address is not one of this machine.",
    found_by=FoundBy.OTHERS,
)
NO_KUBECONFIG = Rule(
    "OLMC659",
    Severity.ERROR,
    "The kubeconfig is not written",
    "{path} is not written: {cause}",
    "Choose another file: olmc serve writes over nothing but its own.",
    "With --kubeconfig the server writes a file by which kubectl finds it and trusts its certificate.",
    found_by=FoundBy.OTHERS,
)
