"""OLM's rules, reasons, conditions and terms as `olmc explain` prints them.

A rule of the rule book loses the markup of its Markdown; the text is wrapped, and its tables are aligned. A term has
its meaning, its place, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from olmc.compiler.output.document import WIDTH, aligned, paragraph
from olmc.compiler.output.messages import clean
from olmc.compiler.rules.rulebook import SpecRule, named_in, spec_rules
from olmc.k8s.lean import NamedTuple, regex

_ITEM = regex(r"(?:\*|[0-9]+\.) +")
_SPAN = regex(r"(``.+?``|`[^`]*`)", re.DOTALL)
_ID = r"(?:R|T|U|Q|D)-?[A-Z0-9-]*[0-9][a-z]?|R-V1-PIPE|observed-[0-9]+"
_RANGE = regex(r"(?<![\w-])((?:R-[A-Z0-9-]+|T-CAT)-)([0-9]+)(?: … (?:\1)?| (?:to|and) \1)([0-9]+)\b")


def as_text(rule: SpecRule, modules: Sequence[str]) -> str:
    """The rule with what it was read from, its page, and the modules that name it."""
    lines = [f"{rule.id}: {plain(rule.title)}\n", *_body(rule.text)]
    if rule.sources:
        lines += ["\n", "Read from:\n", aligned([f"  {source.name}", source.url] for source in rule.sources)]
    lines += ["\n", f"Page: docs/spec/{rule.page}\n"]
    if modules:
        lines.append(paragraph(f"Named in: {', '.join(modules)}", rest="  "))
    return "".join(lines)


def listing(rules: Sequence[SpecRule]) -> str:
    """A line a rule: its id and its title."""
    return aligned([rule.id, plain(rule.title)] for rule in rules)


def modules_naming(rule_id: str) -> tuple[str, ...]:
    """The modules of this olmc whose docstrings or comments name a rule, by its id or in a range of them.

    What commands say in examples is left out.
    """
    package = Path(__file__).resolve().parents[2]
    modules = (path for path in package.rglob("*.py") if package / "cli" not in path.parents)
    found = (path for path in modules if _names(path.read_text(encoding="utf-8"), rule_id))
    return tuple(sorted(path.relative_to(package.parent).as_posix() for path in found))


def plain(text: str) -> str:
    """Markdown without its markup; what is code keeps its backticks."""
    spans = _SPAN.findall(text)
    kept = re.sub(r"\[([^\[\]]+)\]\([^()]*\)", r"\1", _SPAN.sub("\0", text))
    kept = re.sub(rf"\[({_ID})\]", r"\1", kept)
    kept = re.sub(r"(?<![\w*])(\*\*?)(?=[^\s*])([^*\n]+)(?<=\S)\1(?!\w)", r"\2", kept)
    return "".join(chain.from_iterable(zip_longest(kept.split("\0"), spans, fillvalue="")))


def _names(text: str, rule_id: str) -> bool:
    if rule_id in text and rule_id in named_in(text):
        return True
    prefix, _, number = rule_id.rpartition("-")
    return number.isdigit() and any(
        begin == f"{prefix}-" and int(first) < int(number) <= int(last) for begin, first, last in _RANGE.findall(text)
    )


def _body(text: str) -> Iterator[str]:
    """The chunks of a text, an empty line before each; what is indented belongs to the item before it."""
    indent = ""
    for chunk in _chunks(text):
        yield "\n"
        if chunk[0].startswith("```"):
            yield from (f"  {clean(line)}".rstrip() + "\n" for line in chunk[1:-1])
        elif chunk[0].startswith("|"):
            yield _table(chunk)
        else:
            for part in _parts(chunk):
                marker = _ITEM.match(part)
                width = marker.end() if marker is not None else 0
                indent = " " * (2 + width) if width else indent if chunk[0].startswith(" ") else ""
                yield paragraph(plain(part[width:]), f"  {part[:width]}" if width else indent, indent)


def _chunks(text: str) -> Iterator[list[str]]:
    """The lines of a text between empty ones; those of fenced code stay together."""
    chunk: list[str] = []
    for line in text.splitlines():
        in_code = bool(chunk) and chunk[0].startswith("```") and not (len(chunk) > 1 and chunk[-1] == "```")
        if line or in_code:
            chunk.append(line)
        elif chunk:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _parts(chunk: Sequence[str]) -> Iterator[str]:
    """The paragraph of a chunk and the items of its list, each in one line."""
    part: list[str] = []
    for line in chunk:
        if part and _ITEM.match(line):
            yield " ".join(part)
            part = []
        part.append(line.strip())
    yield " ".join(part)


def _table(lines: Sequence[str]) -> str:
    """A table in columns, or if these would be too wide a paragraph a cell, named by its column."""
    header, _, *rows = [[plain(cell) for cell in _cells(line)] for line in lines]
    columns = aligned(["  " + row[0], *row[1:]] for row in (header, *rows))
    if max(map(len, columns.splitlines())) <= WIDTH:
        return columns
    return "".join(
        paragraph(cell, "  ", "    ") if not number else paragraph(f"{name}: {cell}", "    ", "      ")
        for row in rows
        for number, (name, cell) in enumerate(zip(header, row, strict=False))
        if cell
    )


def _cells(line: str) -> list[str]:
    """The cells of a line of a table; a bar of their texts is escaped."""
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


_MOST_RULES = 12


class Term(NamedTuple):
    """A word of OLM: its names, the first of which is OLM's own, what it means, where users see it, and what to do."""

    names: tuple[str, ...]
    meaning: str
    symptom: str
    cure: str
    codes: tuple[str, ...] = ()


def _term(names: str, meaning: str, symptom: str, cure: str, codes: str = "") -> Term:
    return Term(tuple(names.split("|")), meaning, symptom, cure, tuple(codes.split()))


_PENDING = "The CSV stays Pending, and no Deployment is made."
_FAILED = "The CSV is Failed."
_SUBSCRIPTION = "The condition is on the Subscription."
_NO_ACTION = "Nothing is to be done."
_EXTENSION = "The condition is on the ClusterExtension."

TERMS = (
    # Reasons of CSVs.
    _term("RequirementsNotMet", "The operator needs a CRD, an API, a Kubernetes version or permissions that the "
          "cluster does not have.", _PENDING,
          "Run `olmc why CSV` for the list. Install the operator that brings the API, or "
          "add the CRD. If the cluster has it already, name it in `apis` of olmc.yaml.", "OLMC302"),
    _term("RequirementsUnknown", "OLM has not checked the requirements of the CSV yet.",
          "The CSV is Pending for a moment.", _NO_ACTION),
    _term("AllRequirementsMet", "Everything that the CSV needs is there, and OLM can install it.",
          "The CSV is InstallReady.", _NO_ACTION),
    _term("InstallSucceeded", "The Deployments of the CSV are available.", "The CSV is Succeeded.", _NO_ACTION),
    _term("InstallWaiting", "The Deployments exist and are not available yet.", "The CSV stays Installing.",
          "Look at the pods of the Deployments. OLM gives up after five minutes and begins again.", "OLMC421"),
    _term("InstallCheckFailed", "The Deployments did not become available in time, or differ from the CSV.", _FAILED,
          "Look at the pods and events of the Deployments; OLM installs again by itself.", "OLMC303"),
    _term("InstallComponentFailed", "OLM could not write a part of the installation, such as a Deployment or a "
          "webhook.", _FAILED, "Correct the part that the message names.", "OLMC303"),
    _term("InstallComponentFailedNoRetry", "A part of the installation is forbidden to the ServiceAccount of the "
          "OperatorGroup, so OLM does not try again.", _FAILED,
          "Give the ServiceAccount the rights; OLM then goes on.", "OLMC303"),
    _term("InvalidInstallStrategy", "The install strategy of the CSV can't be read.", _FAILED,
          "Correct spec.install of the CSV, or ask the author of the bundle to.", "OLMC303"),
    _term("InvalidWebhookDescription", "A webhook of the CSV is not possible as it is described.", _FAILED,
          "Correct spec.webhookdefinitions. A conversion webhook needs the install mode AllNamespaces alone.",
          "OLMC303"),
    _term("OwnerConflict", "Another operator owns the same CRD or APIService.", _FAILED,
          "Remove one of the two operators, or install another package for the API.", "OLMC303"),
    _term("NoOperatorGroup", "The namespace of the operator has no OperatorGroup.",
          "The CSV is Failed, or nothing is installed for the Subscription.", "Add one OperatorGroup to the namespace.",
          "OLMC301 OLMC315"),
    _term("TooManyOperatorGroups|MultipleOperatorGroupsFound",
          "The namespace has more than one OperatorGroup, and OLM can't choose.",
          "All CSVs of the namespace are Failed, and no Subscription in it is resolved.",
          "Keep one OperatorGroup in the namespace, and delete the others.", "OLMC306 OLMC301"),
    _term("NoTargetNamespaces", "The selector of the OperatorGroup matches no namespace.", _FAILED,
          "Label a namespace so that the selector matches it, or list targetNamespaces.", "OLMC301"),
    _term("InvalidInstallModes", "spec.installModes lists a type twice.", _FAILED,
          "Remove the duplicate from the CSV, or ask the author of the bundle to.", "OLMC301"),
    _term("UnsupportedOperatorGroup", "The operator does not support the set of namespaces that its OperatorGroup "
          "targets.", _FAILED, "Compare spec.installModes of the CSV with the targets of the group, and give the group "
          "targets that the operator supports.", "OLMC301"),
    _term("InterOperatorGroupOwnerConflict", "Two OperatorGroups with a target namespace in common provide the same "
          "API. The group that comes first keeps it.", "The CSV of the later group is Failed, and its Deployments are "
          "deleted.", "Install the operator in one of the namespaces, or let the groups target different namespaces.",
          "OLMC301"),
    _term("CannotModifyStaticOperatorGroupProvidedAPIs", "The OperatorGroup has staticProvidedAPIs, and its list lacks "
          "an API of the operator.", _FAILED, "List the API in the annotation olm.providedAPIs of the group, or remove "
          "staticProvidedAPIs.", "OLMC301"),
    _term("OperatorConditionNotUpgradeable", "The version that is installed forbids its upgrade: its OperatorCondition "
          "has Upgradeable=False.", "The next CSV stays Pending.",
          "Do what the message of the OperatorCondition asks. spec.overrides of the OperatorCondition allows the "
          "upgrade by hand."),
    _term("BeingReplaced|Replaced", "A newer CSV replaces this one.", "The CSV is Replacing, and then deleted.",
          "Nothing is to be done. If it stays, look at the newer CSV: it does not succeed."),
    _term("ComponentUnhealthy|NeedsReinstall|NeedsCertRotation|DetectedClusterChange", "A running operator lost a "
          "part, and OLM installs it again.", "The CSV is Pending for a while.",
          "Nothing is to be done unless it repeats: then look at the pods of the operator."),
    # Phases.
    _term("Pending", "OLM waits for the requirements of the CSV.", "No Deployment is made.",
          "See the reason beside the phase: `olmc explain RequirementsNotMet`.", "OLMC302"),
    _term("InstallReady|Installing", "OLM installs the Deployments of the CSV, and waits for them.",
          "The CSV is on its way to Succeeded.", "If it stays, look at the pods and the events of the namespace."),
    _term("Succeeded", "The Deployments of the CSV are available.", "The operator runs.", _NO_ACTION),
    _term("Failed", "OLM can't install the CSV, or its OperatorGroup does not fit.", "The operator does not run.",
          "See the reason beside the phase, and run `olmc why CSV`.", "OLMC301 OLMC303"),
    _term("Replacing|Deleting", "A newer CSV has taken the place of this one.", "The old CSV goes.", _NO_ACTION),
    # Subscriptions and InstallPlans.
    _term("ConstraintsNotSatisfiable", "No choice of versions fits all Subscriptions of the namespace.",
          "The condition ResolutionFailed is on all Subscriptions of the namespace, and none is installed or upgraded.",
          "Run `olmc resolve` for the candidates and the reason for each. Correct the channel, the startingCSV or the "
          "dependency.", "OLMC510"),
    _term("ResolutionFailed|ErrorPreventedResolution", "OLM could not decide what to install in the namespace.",
          f"{_SUBSCRIPTION} Nothing in the namespace is installed or upgraded.",
          "Run `olmc resolve`. One catalog or Subscription that can't be used stops the whole namespace.",
          "OLMC510 OLMC511"),
    _term("CatalogSourcesUnhealthy|UnhealthyCatalogSourceFound|AllCatalogSourcesHealthy|NoCatalogSourcesFound",
          "Whether the catalogs that the namespace sees answer.", _SUBSCRIPTION,
          "Look at the pod of the catalog, its image and its pull secret. Remove catalogs that are not used."),
    _term("BundleUnpacking|UnpackingInProgress", "OLM unpacks the image of the bundle with a Job.",
          f"{_SUBSCRIPTION} No InstallPlan exists yet.",
          "Wait. If it stays, the image has no CSV of the name that the catalog lists.", "OLMC309"),
    _term("BundleUnpackFailed|ErrorPreventedUnpacking|DeadlineExceeded", "The image of the bundle could not be "
          "unpacked.", f"{_SUBSCRIPTION} Nothing in the namespace is installed.",
          "Check that the cluster can pull the image. Correct the bundle, then delete the Job and its ConfigMap.",
          "OLMC309"),
    _term("InstallPlanPending|InstallPlanMissing|InstallPlanNotYetReconciled|ReferencedInstallPlanNotFound",
          "The InstallPlan of the Subscription is not carried out, or does not exist.", _SUBSCRIPTION,
          "Look at the InstallPlan: it may wait for approval."),
    _term("InstallPlanFailed", "A step of the InstallPlan failed; the steps behind it are not carried out.",
          f"{_SUBSCRIPTION} A part of the operator may be there.",
          "Correct the object that the message names; `olmc why PACKAGE` shows its file.", "OLMC308"),
    _term("RequiresApproval|PendingApproval|InstallPendingApproval|waiting", "The InstallPlan waits for a person: the "
          "Subscription has installPlanApproval: Manual.", "Nothing changes until somebody approves the plan.",
          "Set spec.approved: true on the InstallPlan. `olmc status --approve NS/CSV` shows the result first."),
    _term("AtLatestKnown|UpgradeAvailable|UpgradePending|UpgradeFailed", "The state of a Subscription: nothing newer "
          "is known, or a newer version is chosen, waits, or failed.", "It is status.state of the Subscription.",
          "`olmc status` shows the next upgrade, and what it waits for."),
    _term("HeldBack", "olmc's word: OLM does not take an upgrade by which another operator would lose an API or a "
          "package.", "The Subscription stays AtLatestKnown, without a message.",
          "Upgrade or remove the operator that stands in the way.", "OLMC512"),
    _term("Unknown", "olmc's word: the workspace lacks the content of a catalog, so olmc does not know the version of "
          "an operator.", "`olmc status` has it as the reason, and `olmc plan` as the outcome. The exit code stays 0.",
          "`olmc check` names each catalog with the way to its content.", "OLMC620 OLMC643 OLMC669"),
    _term("Stalled", "olmc's word: the CSV is Succeeded, but the pods of the operator can't start or do their work.",
          "OLM reports no error.", "`olmc why CSV` names the object that is missing or wrong."),
    _term("left running", "olmc's word: the CSV runs on without a Subscription.", "OLM does not upgrade it any more.",
          "Delete the CSV to uninstall the operator, or add its Subscription again."),
    _term("failed before", "olmc's word: the operator failed before the change, and still fails after it.",
          "`olmc plan` has it as the outcome.", "`olmc why PACKAGE` explains it; `olmc fix` offers proven changes."),
    _term("PackageDeprecated|ChannelDeprecated|BundleDeprecated|Deprecated|NotDeprecated", "The catalog marks the "
          "package, the channel or the version as deprecated.", _SUBSCRIPTION,
          "Follow the message: choose another package, channel or version."),
    _term("NotPresent|PresentNotSatisfied|NotSatisfied|Present|Satisfied", "The state of one requirement in "
          "status.requirementStatus of a CSV.", _PENDING, "Add the object, or correct it as the message says.",
          "OLMC302"),
    # Terms.
    _term("OperatorGroup|operator group", "The object that says which namespaces the operators of its own namespace "
          "watch. Each namespace with an operator needs exactly one.", "Without it CSVs are Failed.",
          "Write one OperatorGroup in the namespace; without targets it selects all namespaces.", "OLMC301 OLMC306"),
    _term("installModes|install mode|OwnNamespace|SingleNamespace|MultiNamespace|AllNamespaces",
          "The sets of namespaces that an operator supports, in spec.installModes of its CSV.",
          "If the OperatorGroup targets another set, the CSV is Failed with UnsupportedOperatorGroup.",
          "Choose targets of the group that the CSV supports.", "OLMC301"),
    _term("olm.providedAPIs|provided API", "The annotation of an OperatorGroup in which OLM lists the APIs of its "
          "operators, as KIND.VERSION.GROUP.", "Two groups with an API and a namespace in common conflict: "
          "InterOperatorGroupOwnerConflict.", "OLM writes it. Only with staticProvidedAPIs it is yours to write."),
    _term("staticProvidedAPIs", "OLM neither adds APIs to olm.providedAPIs of this OperatorGroup nor removes any.",
          "A CSV with another API is Failed: CannotModifyStaticOperatorGroupProvidedAPIs.",
          "List all APIs of its operators in the annotation."),
    _term("olm.targetNamespaces|target namespaces", "The annotation with the namespaces that an OperatorGroup targets; "
          "empty for all. Deployments read it as WATCH_NAMESPACE.", "OLM copies it to CSVs and pod templates.",
          "Change the targets of the OperatorGroup, and OLM writes it."),
    _term("copied CSV|copied CSVs|olm.copiedFrom|Copied", "The copy of a CSV in each target namespace. It shows users "
          "which operator watches the namespace.", "`kubectl get csv` lists operators that are installed elsewhere; "
          "their reason is Copied.", "Never edit or delete copies: OLM writes them again. OLMConfig can disable them."),
    _term("disableCopiedCSVs|CopiedCSVsDisabled|CopiedCSVsEnabled", "OLMConfig turns copies of CSVs off for groups "
          "that target all namespaces.", "The condition DisabledCopiedCSVs is on OLMConfig.",
          "Set spec.features.disableCopiedCSVs of OLMConfig cluster."),
    _term("CSV|ClusterServiceVersion", "The manifest of one version of an operator: its Deployments, rights and APIs.",
          "`kubectl get csv` shows its phase and reason.", "`olmc why CSV` explains its state."),
    _term("Subscription", "The object that asks for a package of a catalog, and follows a channel of it.",
          "Its status names the installed CSV and the next one.", "`olmc status` shows all of them."),
    _term("InstallPlan", "The list of objects that OLM creates for an installation or an upgrade, step by step.",
          "Its phase is Installing, RequiresApproval, Complete or Failed.", "`olmc resolve` shows the steps in short."),
    _term("CatalogSource", "The object that makes a catalog known to the cluster.",
          "Subscriptions name it in source and sourceNamespace.",
          "`olmc vendor` fetches its content, so that olmc can resolve over it.", "OLMC643"),
    _term("channel", "A line of versions of a package. Edges say which version is an upgrade of which.",
          "The Subscription names it; without a name it is the default channel.",
          "`olmc graph PACKAGE` draws the channels."),
    _term("skipRange|olm.skipRange", "A range of versions that an entry of a channel upgrades directly, as the "
          "annotation olm.skipRange or in the catalog.",
          "OLM goes from any version in the range to this one in one hop.",
          "`olmc graph PACKAGE` shows the edges. Older entries still need replaces or skips of a newer one, or the "
          "channel has two heads."),
    _term("skips", "The versions that an entry of a channel upgrades directly, beside replaces. OLM never installs "
          "them newly.", "OLM passes over them.", "`olmc graph PACKAGE` shows the edges."),
    _term("replaces", "The version that an entry of a channel upgrades.",
          "Without it the update graph is broken: the channel has two heads.", "`olmc graph PACKAGE` shows the edges."),
    _term("startingCSV", "The version with which a Subscription begins.", "OLM installs it, and upgrades from there "
          "unless approval is Manual.", "`olmc resolve --pin PACKAGE=VERSION` writes it with manual approval."),
    _term("installPlanApproval|Manual|Automatic|approval", "Whether OLM carries out InstallPlans by itself.",
          "With Manual, plans stay RequiresApproval.", "Set spec.approved: true on the plan to go on."),
    _term("dependency|requiredAPIs|required API|olm.gvk.required|olm.package.required|olm.constraint|dependencies.yaml",
          "What a bundle asks of others: an API, a package, or a constraint.",
          "OLM installs what is missing from the catalogs that the namespace sees.",
          "If no catalog has it, the resolution fails: run `olmc resolve`.", "OLMC510"),
    _term("global catalog namespace|globalCatalogNamespace", "The namespace whose catalogs all others see: olm, or "
          "openshift-marketplace.", "A Subscription may name catalogs of its own namespace and of this one.",
          "Set globalCatalogNamespace in olmc.yaml if yours differs."),
    _term("OperatorCondition|Upgradeable", "The object in which an operator says whether it may be upgraded.",
          "Upgradeable=False holds the next CSV in Pending.", "Do what its message asks, or override it in spec."),
    _term("component label|Operator", "The label operators.coreos.com/PACKAGE.NAMESPACE on everything that belongs to "
          "an operator; the Operator object lists it.", "`kubectl get operators` shows the components.", _NO_ACTION),
    _term("fail forward|TechPreviewUnsafeFailForward|upgradeStrategy", "With it, OLM upgrades from a CSV or an "
          "InstallPlan that failed.", "Without it a failed installation stops all upgrades of the namespace.",
          "Set spec.upgradeStrategy: TechPreviewUnsafeFailForward on the OperatorGroup."),
    _term("minKubeVersion", "The oldest Kubernetes that the operator runs on, in spec.minKubeVersion of its CSV.",
          "On an older Kubernetes the CSV stays Pending: RequirementsNotMet.",
          "Upgrade the cluster, or choose an older version of the operator. Set the version of yours in olmc.yaml.",
          "OLMC302"),
    _term("CRD|CustomResourceDefinition", "The object that adds a kind to the API of the cluster. A CSV lists the CRDs "
          "that its operator owns or requires.", "Without a required CRD the CSV stays Pending: RequirementsNotMet.",
          "`olmc why crd/NAME` shows the bundle that brings it.", "OLMC302"),
    _term("conversion webhook|conversion webhooks|ConversionWebhook", "A webhook of an operator that converts objects "
          "of a CRD between its versions.", "If it does not answer, such objects can't be read or written.",
          "The CSV needs the install mode AllNamespaces alone: see `olmc explain InvalidWebhookDescription`."),
    _term("olm.package", "The property with the package and the version of a bundle. In a file-based catalog also the "
          "document that begins a package and names its default channel.",
          "Resolution chooses by it, and olm.package.required asks for it.",
          "`olmc graph PACKAGE` shows the versions of a package."),
    _term("olm.maxOpenShiftVersion|maxOpenShiftVersion", "The property with the last release of OpenShift that a "
          "version of an operator supports.",
          "As long as this version is installed, OLM on OpenShift blocks the upgrade of the cluster beyond it.",
          "Upgrade the operator first; `olmc plan --to VERSION` reports the operators in the way."),
    # Words of packages and of olmc.
    _term("bundle", "A CSV with its CRDs and other manifests: one version of an operator, as a directory or an image.",
          "A catalog names it by its image; OLM unpacks it and creates its objects.",
          "`olmc check DIR` validates a bundle; `olmc render DIR` shows its objects."),
    _term("package", "All versions of one operator in a catalog.", "A Subscription names it in spec.name.",
          "`olmc graph PACKAGE` draws its channels."),
    _term("catalog|file-based catalog|FBC|index image", "Packages that can be installed, as YAML or JSON documents "
          "with olm.* schemas.", "A CatalogSource, or in OLM v1 a ClusterCatalog, makes it known to the cluster.",
          "`olmc vendor` fetches it, so that olmc can resolve over it offline.", "OLMC643"),
    _term("update graph|upgrade graph", "The versions of a package, and which of them OLM upgrades to which.",
          "Its edges are replaces, skips and skipRange of the entries of a channel.",
          "`olmc graph PACKAGE` draws it."),
    _term("channel head|head", "The version of a channel that no other entry replaces or skips.",
          "OLM upgrades towards it. A channel with two heads can't be served.",
          "`olmc graph PACKAGE` marks the head of each channel."),
    _term("hop|hops", "One step of an upgrade: from a version to another one by an edge of the channel.",
          "OLM installs a version after the other until it is at the head of the channel.",
          "`olmc graph PACKAGE` draws the edges; `olmc resolve` lists the hops that OLM takes."),
    _term("stranded", "olmc's word: a version from which no upgrade leads to the head of its channel.",
          "Clusters with this version stay there, and OLM reports no error.",
          "Give a newer entry of the channel a replaces, skips or skipRange that covers the version."),
    _term("ClusterCatalog", "The object of OLM v1 that makes a catalog known to the cluster.",
          "ClusterExtensions choose from all of them, by priority and selector.",
          "`olmc vendor` fetches its content.", "OLMC643"),
    _term("workspace", "The directory that olmc compiles: bundles, catalogs, Subscriptions, OperatorGroups and other "
          "manifests.", "Each command takes it as PATH.", "`olmc check -v` lists the files that olmc ignores."),
    _term("vendor|vendored|olmc.lock", "To fetch the content of catalogs into the workspace, so that olmc needs "
          "no network.", "Without it a Subscription to a catalog image can't be resolved.",
          "Run `olmc vendor`, then commit vendor/ and olmc.lock.", "OLMC643"),
    _term("opm", "The tool of the Operator Framework that makes and prints catalogs.",
          "`opm render IMAGE` prints the content of a catalog image.",
          "Put its output into catalogs/NAME/, or let `olmc vendor` fetch the image."),
    _term("folded", "Objects that change in nothing but names, hashes and times, such as a copied CSV or a new "
          "InstallPlan.", "`olmc diff` and `olmc plan` count them in one line.",
          "Nothing is to be done. `olmc render --output-dir DIR` of both sides shows every byte."),
    _term("kept back", "Changes that a new version brings, and that a failure in its way prevents.",
          "`olmc diff` and `olmc plan` list them apart.", "Remove the failure that stands first in the report."),
    _term("drift", "Differences between the cluster and the state that olmc expects before a change.",
          "`olmc plan --from DIR` with a state of the cluster reports them.",
          "Each line names the controller that repairs the object, or reports that none does."),
    _term("finding|severity", "A statement of olmc about your files, with a code, a place and a way out. Its severity "
          "is error, failure, warning or info.", "`olmc check` prints findings, and exits with 1 for a failure.",
          "`olmc explain CODE` has the rule, an example and the ways out."),
    _term("remedy|fix|diagnosis", "An edit that cures a failing operator. olmc compiles it before it offers it.",
          "status, check, plan and why name it below the cause.",
          "`olmc fix --dry-run` shows it, `olmc fix` makes it."),
    # OLM v1.
    _term("ClusterExtension", "The object of OLM v1 that asks for a package.", "Its conditions are Installed and "
          "Progressing.", "`olmc why ClusterExtension/NAME` explains its state.", "OLMC732 OLMC733"),
    _term("Progressing|Retrying|Blocked|RollingOut", "Whether OLM v1 goes on with a ClusterExtension. Retrying: an "
          "error that may pass. Blocked: one that does not.", _EXTENSION,
          "The message has the error; `olmc status` has it, too.", "OLMC732 OLMC733"),
    _term("Installed", "Whether a bundle of the ClusterExtension is installed.", _EXTENSION,
          "See Progressing for the reason if it is False.", "OLMC733"),
    _term("Absent", "No bundle of the ClusterExtension is installed.", "It is the reason of the condition Installed.",
          "See the reason of the condition Progressing; `olmc why ClusterExtension/NAME` explains it."),
    _term("InvalidConfiguration", "spec.config does not fit the bundle.", _EXTENSION, "Correct spec.config.",
          "OLMC733"),
)  # fmt: skip


def term_of(word: str) -> Term | None:
    """Return the term that a word names, in any case; None if it names none."""
    wanted = _folded(word)
    return next((term for term in TERMS if wanted in map(_folded, term.names)), None)


def rules_about(word: str) -> Iterator[str]:
    """Yield the ids of the rules of OLM that have a word in backticks, or in their title."""
    pattern = re.compile(rf"`[^`\n]*(?<![\w.-]){re.escape(word)}(?![\w-])[^`\n]*`", re.IGNORECASE)
    for rule in spec_rules().values():
        is_there = word.lower() in rule.text.lower()  # takes a tenth of the time of the pattern
        if (is_there and pattern.search(rule.text)) or word.lower() == rule.title.strip("`").lower():
            yield rule.id


def all_names() -> list[str]:
    """Return the names of all terms."""
    return [name for term in TERMS for name in term.names]


def term_text(word: str, term: Term | None, rules: list[str]) -> str:
    """Return the explanation of a word: the meaning of its term, the symptom, the way out, the codes and the rules."""
    lines = []
    if term is not None:
        others = [name for name in term.names if _folded(name) != _folded(word)]
        spelt = [name for name in term.names if _folded(name) == _folded(word)]
        own = word if word in spelt else spelt[0]
        lines.append(f"{own}\n")
        lines += ["\n", paragraph(term.meaning), paragraph(f"Symptom: {term.symptom}")]
        lines.append(paragraph(f"What to do: {term.cure}"))
        if others:
            lines.append(paragraph(f"See also: {', '.join(others)}"))
        if term.codes:
            lines.append(f"Findings: {', '.join(term.codes)}\n")
    else:
        lines.append(f"{word}: a word of these rules of OLM\n")
    if rules:
        more = f" and {len(rules) - _MOST_RULES} more" if len(rules) > _MOST_RULES else ""
        lines.append(paragraph(f"Rules: {', '.join(rules[:_MOST_RULES])}{more}"))
    return "".join(lines)


def _folded(word: str) -> str:
    return "".join(word.lower().split()).replace("-", "")
