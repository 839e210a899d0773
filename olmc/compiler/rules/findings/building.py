"""Rules about inputs that olmc builds before it compiles them: kustomizations, charts, policies and entries."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, RuleTag, Severity

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
    "{hint}",
    "A GitOps tool would not apply it either, so olmc does not compile it.",
)
SECRETS_LEFT_OUT = Rule(
    "OLMC168",
    Severity.WARNING,
    "Secrets of a plugin are left out",
    "the plugin {plugin} decrypts Secrets, which olmc leaves out; all other objects of the kustomization are compiled",
    "Only a pull secret of a CatalogSource or a ServiceAccount may be missing here; no other object depends on it.",
    "Plugins like ksops and sops need a key and run a program, so olmc does not run them. They make Secrets only. olmc "
    "builds the kustomization without them.",
)
KEPT_OUT_OF_GIT = Rule(
    "OLMC163",
    Severity.WARNING,
    "A file that a .gitignore keeps out of the repository",
    "{path} is not in the repository, because a .gitignore names it; olmc builds the kustomization without {objects}",
    "No action is needed for a Secret that a script writes before it applies the folder. Objects of OLM in the file "
    "are unknown to olmc.",
    "Such files are mostly Secrets, which exist only where somebody applies the kustomization by hand. A GitOps tool "
    "that reads the repository can't build the kustomization.",
)
PLUGIN_IN_KUSTOMIZATION = Rule(
    "OLMC164",
    Severity.ERROR,
    "A kustomization with a plugin",
    "the kustomization runs the plugin {kind}, which olmc does not run",
    "Build it yourself and hand it over: kustomize build --enable-alpha-plugins DIR | olmc check -.",
    "A plugin is a program, and a review must not run programs of untrusted input. Without the plugin, the objects "
    "that a GitOps tool would apply are unknown, so olmc does not compile the folder.",
)
PLACED_BY_OTHERS = Rule(
    "OLMC165",
    Severity.WARNING,
    "Objects whose namespace depends on who applies them",
    "{path} has objects with no namespace, which depends on the tool that applies them: {names}",
    "Add metadata.namespace, or name the namespace where the folder is applied: spec.destination.namespace of an "
    "Application, spec.targetNamespace of a Kustomization, namespace: of a kustomization.",
    "The repository does not give these objects a namespace. A script with `-n NAMESPACE`, or an Application in "
    "another repository, may do so. Their effect is unknown until then, so olmc does not judge them.",
)
UNKNOWN_VARIABLES = Rule(
    "OLMC166",
    Severity.WARNING,
    "Variables of Flux whose values are not in the repository",
    "{path} has variables of Flux with unknown values: {names}; they come from {sources}",
    "Keep the values in postBuild.substitute or in a ConfigMap of the repository, or give the variables defaults: "
    "${{NAME:=VALUE}}.",
    "Flux fills in variables before it applies a folder. olmc fills in the values that the repository has: those of "
    "the Kustomization and of ConfigMaps. It does not judge an object with any other variable.",
)
OPENSHIFT = Rule(
    "OLMC167",
    Severity.INFO,
    "A cluster that olmc takes for an OpenShift",
    "olmc takes the cluster for an OpenShift of an unknown version, because of this",
    "Set olmVersion: ocp-4.N in olmc.yaml, or give --olm-version ocp-4.N, and olmc compiles for that release. For a "
    "bundle on another cluster give the version of its OLM, such as 0.46.0.",
    "Catalogs in openshift-marketplace and objects of config.openshift.io are of OpenShift. There all namespaces see "
    "the catalogs of openshift-marketplace, and openshift-operators has an OperatorGroup for all namespaces. The "
    "cluster has the APIs of OpenShift. A bundle shows an OpenShift by its objects of groups in openshift.io, a "
    "suggested namespace that begins with openshift-, or the annotation operators.openshift.io/valid-subscription.",
    tags=frozenset({RuleTag.OF_REPOSITORY}),
)
SEVERAL_ENTRIES = Rule(
    "OLMC195",
    Severity.ERROR,
    "A repository of which a part has to be chosen",
    "this is no workspace but a repository with {kinds}: {count} of its folders can be applied alone",
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


LEFT_OPEN = Rule(
    "OLMC197",
    Severity.WARNING,
    "An unknown part of a policy",
    "{what} is unknown: {why}",
    "{hint}",
    "Templates in policies, `{{ }}` and `{{hub hub}}`, are filled with data of a cluster, and in some policies the "
    "cluster decides the namespace of an object or the catalog of an operator. The files do not contain these facts, "
    "so olmc reports such an object and does not compile it: a guess would be a wrong answer (R-OCM-15).",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
NOT_INSTALLED = Rule(
    "OLMC198",
    Severity.WARNING,
    "A policy that does not install its objects",
    "{policy} {why}: {objects}",
    "{hint}",
    "A policy changes a cluster only where its remediationAction is enforce; one that informs reports what is missing "
    "and leaves it so. With mustnothave it removes objects instead of installing them. olmc does not compile the "
    "objects of such policies.",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
REFUSED = Rule(
    "OLMC199",
    Severity.FAILURE,
    "A policy with a mistake, so that it does not install",
    "{policy} does not install {objects}: {problem}",
    "Correct the field; until then the policy reports the mistake, and the object does not exist in the cluster.",
    "The controllers of Open Cluster Management check more than the API server does: that a Subscription names no "
    "approval of its own, that the namespaces of group and Subscription agree, that fields exist.",
)


NO_HELM = Rule(
    "OLMC184",
    Severity.ERROR,
    "A chart with objects of OLM without a tool to render it",
    "the chart {chart} has to be rendered ({kinds}), and there is neither helm on the PATH nor the extra olmc[helm]",
    "Have one of them (pip install 'olmc[helm]'), or render it elsewhere and hand it over: {command} | olmc check -.",
    "The templates of a chart are text with instructions for Helm. Without Helm, their Subscriptions, OperatorGroups "
    "and CatalogSources are unknown, so olmc does not compile the chart.",
    found_by=FoundBy.OTHERS,
)
NOT_RENDERED = Rule(
    "OLMC185",
    Severity.ERROR,
    "A chart that Helm does not render",
    "the chart {chart} can't be rendered: {problem}",
    "Run {command} to see the error. The values are in the chart's values.yaml, or in the Application or HelmRelease "
    "that names the chart: olmc check --entry NAME.",
    "Helm refuses templates that are wrong, values that a template requires or that the chart's schema does not "
    "allow. A GitOps tool would not apply it either, so olmc does not compile it.",
    found_by=FoundBy.OTHERS,
)
REMOTE_CHART = Rule(
    "OLMC186",
    Severity.ERROR,
    "A chart that depends on one from elsewhere",
    "the chart needs {name} from {repository}, which is remote, and olmc does not fetch it",
    "Bring it into the repository with a network (helm dependency build DIR writes it to charts/), or render the chart "
    "there and hand it over: helm template DIR | olmc check -.",
    "The content of a URL may change, and a review must not contact addresses from untrusted input. Templates may "
    "call those of a dependency and get values from it, so without it the result is unknown, and olmc does not "
    "compile the chart.",
)
NO_VALUE_FILE = Rule(
    "OLMC187",
    Severity.ERROR,
    "A file of values that can't be read",
    "{name} renders the chart with {path}, {problem}",
    "Have the file in this repository, or render the chart where it is and hand it over: "
    "helm template DIR --values FILE | olmc check -.",
    "The values decide what a chart becomes: which channel, which namespace, whether there is an operator at all. "
    "Without one of the files the result would be wrong, so olmc does not compile the chart.",
    found_by=FoundBy.OTHERS,
)
MISSING_DEPENDENCY = Rule(
    "OLMC188",
    Severity.WARNING,
    "A chart without one of the charts that it depends on",
    "rendered without {name}: {repository} is not in the repository, and its objects are unknown",
    "Have the whole repository here, or put the chart into charts/ (helm dependency build DIR).",
    "Helm itself stops if a dependency is missing. The chart's own templates do not depend on it, unless they call "
    "its templates, which is an error. The objects of the dependency are unknown.",
    found_by=FoundBy.OTHERS,
)
OPEN_VALUES = Rule(
    "OLMC189",
    Severity.WARNING,
    "A release of which not everything is known",
    "{name} renders {chart} with {fields}, which olmc can't know",
    "Write the values into the repository: in a file of values, or in the object itself.",
    "Values from ConfigMaps, Secrets and plugins are only known in the cluster. The chart is rendered without them.",
    found_by=FoundBy.OTHERS,
)
