"""Rules about what is built before it is compiled: kustomizations, and the entries of a repository."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, RuleTag, Severity

REMOTE_BASE = Rule(
    "OLMC190",
    Severity.ERROR,
    "A kustomization needs something from the network",
    "{remote} is remote, and olmc fetches nothing",
    "Build it where there is a network and hand it over (kustomize build DIR | olmc check -), or keep a copy of it in "
    "the repository (kustomize localize DIR).",
    "What a kustomization names by URL may be something else tomorrow, and a review must not contact what "
    "untrusted input names. Without it, it is not known what a GitOps tool would apply, so nothing is compiled.",
)
HELM_IN_KUSTOMIZATION = Rule(
    "OLMC191",
    Severity.ERROR,
    "A kustomization that inflates a Helm chart",
    "the kustomization inflates the Helm chart {remote}, which olmc does not run",
    "Build it yourself and hand it over: kustomize build --enable-helm DIR | olmc check -.",
    "To inflate a chart kustomize runs Helm, and mostly fetches the chart. Without it, it is not known what a GitOps "
    "tool would apply, so nothing is compiled.",
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
    "A kustomization and nothing to build it with",
    "{path} has to be built, and there is neither kustomize nor kubectl on the PATH",
    "Install one of them, or build it elsewhere and hand it over: kustomize build DIR | olmc check -.",
    "The files beside a kustomization are not what is applied: patches, namespaces, generators and components would be "
    "missing, and other folders that it names. So olmc compiles what it builds to, or nothing.",
    found_by=FoundBy.OTHERS,
)
NOT_BUILT = Rule(
    "OLMC194",
    Severity.ERROR,
    "A kustomization that can't be built",
    "{path} can't be built: {problem}",
    "See what kustomize build says of it; olmc allows it no network, no plugins and no files from outside of the "
    "folders of its kustomizations.",
    "A GitOps tool would not apply it either, so nothing is compiled.",
)
SEVERAL_ENTRIES = Rule(
    "OLMC195",
    Severity.ERROR,
    "A repository of which a part has to be chosen",
    "this is no workspace but a repository with {kinds}: {count} of its folders can be applied by themselves",
    "{hint}",
    "The bases and overlays of a repository, read as one workspace, would be the same Subscriptions several times, and "
    "as nobody applies them. Each folder that a GitOps tool applies is a workspace.",
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
    "What a policy leaves open",
    "{what} is unknown: {why}",
    "{hint}",
    "Templates in policies, `{{ }}` and `{{hub hub}}`, are filled in from what is in a cluster, and some policies "
    "leave it to the cluster where an object goes or which catalog an operator comes from. None of that is in the "
    "files, so such an object is named and not compiled: a guess would be a wrong answer (R-OCM-15).",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
NOT_INSTALLED = Rule(
    "OLMC198",
    Severity.WARNING,
    "A policy that installs nothing of what it names",
    "{policy} {why}: {objects}",
    "{hint}",
    "A policy changes a cluster only where its remediationAction is enforce; one that informs reports what is missing "
    "and leaves it so. With mustnothave it takes away instead of installing. What such policies name is no part of "
    "what olmc compiles.",
    tags=frozenset({RuleTag.OPERATORS_UNSEEN}),
)
REFUSED = Rule(
    "OLMC199",
    Severity.FAILURE,
    "A policy with a mistake, by which it installs nothing",
    "{policy} does not install {objects}: {problem}",
    "Correct the field; until then the policy reports the mistake, and the object does not exist in the cluster.",
    "The controllers of Open Cluster Management check more than the API server does: that a Subscription names no "
    "approval of its own, that the namespaces of group and Subscription agree, that fields exist.",
)


NO_HELM = Rule(
    "OLMC184",
    Severity.ERROR,
    "A chart with objects of OLM and nothing to render it with",
    "the chart {chart} has to be rendered ({kinds}), and there is neither helm on the PATH nor the extra olmc[helm]",
    "Have one of them (pip install 'olmc[helm]'), or render it elsewhere and hand it over: {command} | olmc check -.",
    "The templates of a chart are text with instructions for Helm. Without it nothing is known of the Subscriptions, "
    "OperatorGroups and CatalogSources that would be applied, so nothing is compiled.",
    found_by=FoundBy.OTHERS,
)
NOT_RENDERED = Rule(
    "OLMC185",
    Severity.ERROR,
    "A chart that Helm does not render",
    "the chart {chart} can't be rendered: {problem}",
    "See what {command} says of it. What a value has to be stands in the chart's values.yaml, or in the Application or "
    "HelmRelease that names the chart: olmc check --entry NAME.",
    "Helm refuses templates that are wrong, values that a template requires or that the chart's schema does not allow. "
    "A GitOps tool would not apply it either, so nothing is compiled.",
    found_by=FoundBy.OTHERS,
)
REMOTE_CHART = Rule(
    "OLMC186",
    Severity.ERROR,
    "A chart that depends on one from elsewhere",
    "the chart needs {name} from {repository}, which is remote, and olmc fetches nothing",
    "Bring it into the repository with a network (helm dependency build DIR writes it to charts/), or render the chart "
    "there and hand it over: helm template DIR | olmc check -.",
    "What a chart names by URL may be something else tomorrow, and a review must not contact what untrusted "
    "input names. Templates may call those of a dependency and get values from it, so without it nothing is known for "
    "certain, and nothing is compiled.",
)
NO_VALUE_FILE = Rule(
    "OLMC187",
    Severity.ERROR,
    "A file of values that can't be read",
    "{name} renders the chart with {path}, {problem}",
    "Have the file in this repository, or render the chart where it is and hand it over: "
    "helm template DIR --values FILE | olmc check -.",
    "The values decide what a chart becomes: which channel, which namespace, whether there is an operator at all. "
    "Without one of the files the rest would be a wrong answer, so nothing is compiled.",
    found_by=FoundBy.OTHERS,
)
MISSING_DEPENDENCY = Rule(
    "OLMC188",
    Severity.WARNING,
    "A chart without one of the charts that it depends on",
    "rendered without {name}: {repository} is not in the repository, and what it would bring is unknown",
    "Have the whole repository here, or put the chart into charts/ (helm dependency build DIR).",
    "Helm itself renders nothing before all dependencies are there. What the chart's own templates become does not "
    "depend on it, unless they call templates of it, which is an error. What it would add is left open.",
    found_by=FoundBy.OTHERS,
)
OPEN_VALUES = Rule(
    "OLMC189",
    Severity.WARNING,
    "A release of which not everything is known",
    "{name} renders the chart {chart} with {fields}, which olmc can't know",
    "Write the values into the repository: in a file of values, or in the object itself.",
    "Values from ConfigMaps, Secrets and plugins are only known in the cluster. The chart is rendered without them.",
    found_by=FoundBy.OTHERS,
)
