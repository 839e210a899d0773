"""Rules about what is built before it is compiled: kustomizations, and the entries of a repository."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

REMOTE_BASE = Rule(
    "OLMC190",
    Severity.ERROR,
    "A kustomization needs something from the network",
    "{remote} is remote, and olmc does not fetch it",
    "Build it where there is a network and hand it over (kustomize build DIR | olmc check -), or keep a copy of it in "
    "the repository (kustomize localize DIR).",
    "The content of a URL may change, and a review must not contact addresses from untrusted input. Without the "
    "content, the objects that a GitOps tool would apply are unknown, so olmc does not compile the folder.",
)
HELM_IN_KUSTOMIZATION = Rule(
    "OLMC191",
    Severity.ERROR,
    "A kustomization that inflates a Helm chart",
    "the kustomization inflates the Helm chart {remote}, which olmc does not run",
    "Build it yourself and hand it over: kustomize build --enable-helm DIR | olmc check -.",
    "To inflate a chart kustomize runs Helm, and mostly fetches the chart. Without it, the objects that a GitOps tool "
    "would apply are unknown, so olmc does not compile the folder.",
)
BASE_OUTSIDE = Rule(
    "OLMC192",
    Severity.ERROR,
    "A kustomization that leaves its repository",
    "{path} leads out of the repository and is not followed",
    "Move what it leads to into the repository.",
    "A repository may hold untrusted files; following their paths out of it would let them read anything on the "
    "machine.",
)
NO_KUSTOMIZE = Rule(
    "OLMC193",
    Severity.ERROR,
    "A kustomization without a tool to build it",
    "{path} has to be built, and there is neither kustomize nor kubectl on the PATH",
    "Install one of them, or build it elsewhere and hand it over: kustomize build DIR | olmc check -.",
    "GitOps tools do not apply the files next to a kustomization: patches, namespaces, generators, components and "
    "other folders would be missing. So olmc compiles only the output of the build.",
    found_by=FoundBy.OTHERS,
)
NOT_BUILT = Rule(
    "OLMC194",
    Severity.ERROR,
    "A kustomization that can't be built",
    "{path} can't be built: {problem}",
    "See what kustomize build says of it; olmc allows it no network, no plugins and no files from outside of the "
    "folders of its kustomizations.",
    "A GitOps tool would not apply it either, so olmc does not compile it.",
)
SECRETS_LEFT_OUT = Rule(
    "OLMC168",
    Severity.WARNING,
    "Secrets of a plugin are left out",
    "the plugin {plugin} decrypts Secrets, which olmc leaves out; all other objects of the kustomization are compiled",
    "Only a pull secret of a CatalogSource or a ServiceAccount may be missing here; nothing else depends on it.",
    "Plugins like ksops and sops need a key and run a program, so olmc does not run them. They make Secrets only. olmc "
    "builds the kustomization without them.",
)
PLACED_BY_OTHERS = Rule(
    "OLMC165",
    Severity.WARNING,
    "Objects whose namespace depends on who applies them",
    "{path} has objects with no namespace, so whoever applies it decides where they go: {names}",
    "Add metadata.namespace, or name the namespace in what applies the folder: spec.destination.namespace of an "
    "Application, spec.targetNamespace of a Kustomization, namespace: of a kustomization.",
    "Nothing in the repository gives these objects a namespace. A script with `-n NAMESPACE`, or an Application in "
    "another repository, may. What OLM makes of them is unknown until then, so olmc judges nothing about them.",
)
UNKNOWN_VARIABLES = Rule(
    "OLMC166",
    Severity.WARNING,
    "Variables of Flux whose values are not in the repository",
    "{path} has variables of Flux with unknown values: {names}; they come from {sources}",
    "Keep the values in postBuild.substitute or in a ConfigMap of the repository, or give the variables defaults: "
    "${{NAME:=VALUE}}.",
    "Flux fills in variables before it applies a folder. olmc fills in the values that the repository has: those of "
    "the Kustomization and of ConfigMaps. It judges nothing about an object with any other variable.",
)
OPENSHIFT = Rule(
    "OLMC167",
    Severity.INFO,
    "A cluster that olmc takes for an OpenShift",
    "the cluster is an OpenShift of an unknown version, as this shows",
    "Set olmVersion: ocp-4.N in olmc.yaml, or give --olm-version ocp-4.N, and olmc compiles for that release.",
    "Catalogs in openshift-marketplace and objects of config.openshift.io are of OpenShift. There all namespaces see "
    "the catalogs of openshift-marketplace, and openshift-operators has an OperatorGroup for all namespaces.",
)
SEVERAL_ENTRIES = Rule(
    "OLMC195",
    Severity.ERROR,
    "A repository of which a part has to be chosen",
    "this is no workspace but a repository with {kinds}: {count} of its folders can be applied by themselves",
    "{hint}",
    "As one workspace, the bases and overlays of a repository would repeat the same Subscriptions, in a form that no "
    "tool applies. Each folder that a GitOps tool applies is a workspace.",
)
ENTRY_CHANGED = Rule(
    "OLMC196",
    Severity.WARNING,
    "An entry that the GitOps tool changes while it applies it",
    "{name} applies {path} with {fields}, which does not count here",
    "Write it into the kustomization, where every tool sees it.",
    "Argo CD and Flux can patch what they apply by fields of their own objects. olmc compiles the folder as it is.",
    found_by=FoundBy.OTHERS,
)
