"""Rules about output that runs without OLM, about comparisons, and about pipelines."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

NO_CERTIFICATE = Rule(
    "OLMC320",
    Severity.WARNING,
    "A Deployment needs a serving certificate",
    "Deployment {namespace}/{deployment} mounts the Secret {secret}, which does not exist",
    "Render with --certs cert-manager or --certs service-ca, or create the Secret (tls.crt, tls.key) yourself.",
    "OLM issues certificates for webhooks and API services; without OLM somebody else has to.",
    found_by=FoundBy.OTHERS,
)
NOTHING_TO_RENDER = Rule(
    "OLMC321",
    Severity.ERROR,
    "An output without objects",
    "{path} gives no objects{problem}",
    "{hint}",
    "An empty output would make a pruning pipeline delete everything, so olmc refuses it unless --allow-empty is "
    "given. In a directory without content for OLM, `olmc render` for review prints an empty output and exits with "
    "0 (OLMC183).",
    found_by=FoundBy.OTHERS,
)
INCOMPLETE = Rule(
    "OLMC322",
    Severity.FAILURE,
    "Half an output for apply",
    "nothing is {done}, because these operators would be missing: {missing}",
    "{hint}",
    "An operator that fails has hardly any objects. An output without the others would look like a removal: olmc "
    "would remove their files from a directory, and Argo CD and Flux would delete the objects. So with --for apply, "
    "olmc prints, writes and removes only complete results, unless you give --keep-going.",
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
    "Deployment {namespace}/{deployment} needs the Secret {secret} before it can issue certificates, so no issuer "
    "creates that one",
    "Create the Secret with tls.crt, tls.key and ca.crt, and the annotation cert-manager.io/allow-direct-injection: "
    '"true", or install cert-manager with the manifests of its authors.',
    "To issue a certificate, cert-manager creates a CertificateRequest, which its own webhook has to admit. Without a "
    "certificate the webhook admits no request, so it would wait for itself forever. By itself, cert-manager makes "
    "the certificate of its webhook in another way; under OLM it gets one from OLM.",
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


NO_SUCH_SIDE = Rule(
    "OLMC480",
    Severity.ERROR,
    "A side of the comparison does not exist",
    "{side} does not exist{meant}",
    "Give the path of a workspace, of a bundle, of a rendering, or git:REF[:PATH]; with --allow-empty a side that does "
    "not exist counts as empty.",
    "olmc diff compares two sides. olmc rejects a missing side, since otherwise everything would look new.",
    found_by=FoundBy.OTHERS,
)
EMPTY_SIDE = Rule(
    "OLMC481",
    Severity.ERROR,
    "A side of the comparison has no objects",
    "{side} gives no objects",
    "Is it the right path? With --allow-empty olmc accepts a side without objects.",
    "A side without objects makes everything look new, or removed. A folder without files for OLM is an empty cluster "
    "(OLMC183). This side has files for OLM that give no object, such as a catalog without a Subscription.",
    found_by=FoundBy.OTHERS,
)
NO_GIT = Rule(
    "OLMC482",
    Severity.ERROR,
    "git can't answer",
    "{side} can't be read: {problem}",
    "Run olmc inside of a clone, with git installed, or name a folder in place of the revision.",
    "git:REF:PATH is read from the repository that the current directory is in, with git itself.",
    found_by=FoundBy.OTHERS,
)
UNKNOWN_REF = Rule(
    "OLMC483",
    Severity.ERROR,
    "git does not know a revision",
    "git knows no {ref} in this repository",
    "{hint}",
    "The revision has to be in the clone: CI systems often fetch one commit only, and branches of the remote are "
    "called origin/NAME.",
    found_by=FoundBy.OTHERS,
)
UNKNOWN_PATH = Rule(
    "OLMC484",
    Severity.ERROR,
    "A revision has no such path",
    "{ref} has no {path}{meant}",
    "Paths are those from the top of the repository, or begin with ./; with --allow-empty a path that does not exist "
    "counts as empty.",
    "As in `git show REF:PATH`, a path counts from the top of the repository. A revision may lack a path that the work "
    "tree has: then it is an empty cluster. A path that neither has is misspelt.",
    found_by=FoundBy.OTHERS,
)
ODD_PATH = Rule(
    "OLMC485",
    Severity.ERROR,
    "A revision has a path that can't be a file",
    "{ref} has a file called {path}, which can't be written below a folder",
    "Such trees are not made by git itself; look at who made this one.",
    "A tree in git can name files with `..` or `.git` in their paths. Writing them would leave the folder.",
    found_by=FoundBy.OTHERS,
)
LFS_POINTER = Rule(
    "OLMC486",
    Severity.ERROR,
    "A file is in Git LFS",
    "{path} is a pointer of Git LFS; its content is not in the repository",
    "Check the revision out beside this one (git worktree add ../old {ref}) and give its path, or leave the file out "
    "with .olmcignore.",
    "olmc reads what git has, without a network; the content of files in Git LFS is elsewhere.",
    found_by=FoundBy.OTHERS,
)
SUBMODULE = Rule(
    "OLMC487",
    Severity.WARNING,
    "A submodule is not read",
    "{path} is a submodule; what is in it is not compared",
    "Check the revision out with its submodules (git worktree add ../old {ref}) and give its path.",
    "A submodule is another repository; the one at hand has only the name of its commit.",
    found_by=FoundBy.OTHERS,
)


NO_RESOURCE_LIST = Rule(
    "OLMC600",
    Severity.ERROR,
    "The input of olmc plugin fn is no ResourceList",
    "stdin holds no ResourceList: {problem}",
    "Let kustomize or kpt run olmc plugin fn; by hand, give it a ResourceList of config.kubernetes.io/v1 on stdin.",
    "A KRM function reads one ResourceList from stdin and writes one to stdout.",
    found_by=FoundBy.OTHERS,
)
BAD_SETTING = Rule(
    "OLMC601",
    Severity.ERROR,
    "A setting that olmc does not know or can't use",
    "{where}: {problem}",
    "{hint}",
    "A functionConfig, the parameters of an Argo CD Application and its environment are checked before anything is "
    "rendered: a setting that is ignored because of a typing error would not be noticed.",
    found_by=FoundBy.OTHERS,
)
IN_THE_WAY = Rule(
    "OLMC602",
    Severity.ERROR,
    "An item has the name of a rendered object",
    "{identity} is among the items already, with another content than olmc renders",
    "Remove the item, or leave the rendered object out with exclude.",
    "A function must not silently replace what somebody else has put into the package. Objects that olmc itself wrote "
    "into it carry the annotation olmc.dev/rendered-from and are brought up to date.",
    found_by=FoundBy.OTHERS,
)
NOT_SERVED = Rule(
    "OLMC603",
    Severity.ERROR,
    "An object of an API that the Kubernetes version no longer serves",
    "Kubernetes {version} does not serve {kind} {name} as {api}, which was removed in 1.{removed}",
    "{hint}",
    "Versions of APIs are removed from Kubernetes after a time. A cluster refuses objects that are still written in "
    "them, and with them the whole sync.",
    found_by=FoundBy.OTHERS,
)
NOT_AS_STATED = Rule(
    "OLMC604",
    Severity.FAILURE,
    "A file differs from its statement",
    "{path} is not as stated: {how}",
    "If the change is meant, render again with --provenance; otherwise find out who made it.",
    "A statement of olmc render --provenance has the digests of all inputs and outputs. A file that differs has "
    "changed since, or the statement belongs to another output.",
    found_by=FoundBy.OTHERS,
)
BAD_STATEMENT = Rule(
    "OLMC605",
    Severity.ERROR,
    "There is no statement that can be read",
    "{path} is no statement of olmc render: {problem}",
    "Render with --provenance FILE, and give the FILE with --provenance unless it has the output's name.",
    "olmc verify compares an output with the in-toto statement that olmc render wrote with it.",
    found_by=FoundBy.OTHERS,
)
