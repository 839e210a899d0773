"""Rules about Helm charts that are rendered before they are compiled."""

from __future__ import annotations

from olmc.k8s.diagnostics import FoundBy, Rule, Severity

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
    "{name} renders the chart {chart} with {fields}, which olmc can't know",
    "Write the values into the repository: in a file of values, or in the object itself.",
    "Values from ConfigMaps, Secrets and plugins are only known in the cluster. The chart is rendered without them.",
    found_by=FoundBy.OTHERS,
)
