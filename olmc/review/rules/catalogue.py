"""Every rule by chapter, the examples of each (bad and good input), and its ways out for pages without a finding.

`olmc/compiler/rules/examples/CODE.txt` begins with lines `key: value`; then come files, each below a line
`-- bad PATH` or `-- good PATH`. The keys are `run`, the command that tells the difference (`olmc check --all` unless
given), `base`, the name of the workspace that the files change, and `none`, why there can be no example.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import Formatter
from textwrap import indent
from types import MappingProxyType

from olmc.compiler.rules import findings
from olmc.k8s.diagnostics import Rule
from olmc.k8s.lean import NamedTuple, regex
from olmc.resources import docs_url
from olmc.targets.proposed.rules import CHAPTERS

RUN = "olmc check --all"
REMOVED = "null\n"
"""The text of a file that is taken away from the base."""

_MODULES = ("olmc.k8s.yaml.rules", "olmc.targets.proposed.rules", "olmc.targets.v1.rules", "olmc.review.diagnose.rules")
"""The modules of rules outside of the package `findings`; they are imported when all rules are asked for."""
_FOLDER = Path(findings.__file__).parent.with_name("examples")
_VARIABLE = regex(r"\{\w+\}")
_FILE = regex(r"^-- (bad|good) (\S+)$", re.MULTILINE)


class Example(NamedTuple):
    """The files of both sides, as path and text; with a `base`, a text can be a part of the file that stands there."""

    run: str
    base: str
    none: str
    bad: tuple[tuple[str, str], ...]
    good: tuple[tuple[str, str], ...]

    @property
    def only_bad(self) -> tuple[tuple[str, str], ...]:
        """The files that the good side does not have as they are here."""
        return tuple(file for file in self.bad if file not in self.good)

    @property
    def only_good(self) -> tuple[tuple[str, str], ...]:
        """The files that the bad side does not have as they are here."""
        return tuple(file for file in self.good if file not in self.bad)


class ExamplePart(NamedTuple):
    """A file to be shown: what is reported before its path and behind it, and its text, "" if there is none to show."""

    before: str
    path: str
    behind: str
    text: str


def example_of(code: str) -> Example | None:
    """The example of a rule, None for one that has none: what `olmc check` can't find need not have one."""
    file = _FOLDER / f"{code}.txt"
    if not file.is_file():
        return None
    head, *parts = _FILE.split(file.read_text(encoding="utf-8"))
    keys = dict(line.partition(": ")[::2] for line in head.splitlines() if line)
    files = list(zip(parts[::3], parts[1::3], (text.strip("\n") + "\n" for text in parts[2::3]), strict=True))
    bad, good = (tuple((path, text) for side, path, text in files if side == which) for which in ("bad", "good"))
    return Example(keys.get("run", RUN), keys.get("base", ""), keys.get("none", ""), bad, good)


def parts(example: Example) -> Iterator[ExamplePart]:
    """What there is to show: where both sides differ, or if one side only lacks a file, all of the bad one."""
    bad, good = example.only_bad, example.only_good
    for number, (path, text) in enumerate(bad if bad and good else example.bad):
        yield _part("and " if number else "Bad, ", path, ":", text)
    for number, (path, text) in enumerate(good):
        yield _part("and " if number else "Good, " if bad else "Good, with ", path, ":" if bad else " as well:", text)
    # A good side without files of its own is the bad one with its first file taken away.
    if not good:
        yield ExamplePart("Good, without ", bad[0][0], ".", "")


def _part(before: str, path: str, behind: str, text: str) -> ExamplePart:
    return (
        ExamplePart(before, path, " is not there.", "") if text == REMOVED else ExamplePart(before, path, behind, text)
    )


def as_text(example: Example | None) -> str:
    """An example for a terminal: each file below its name, indented; "" for none."""
    if example is None:
        return ""
    if example.none:
        return f"\nNo example: {example.none}\n"
    text = f"\nFound by {example.run}.\n" if example.run != RUN else ""
    for part in parts(example):
        text += f"\n{part.before}{part.path}{part.behind}\n"
        text += f"\n{indent(part.text, '  ')}" if part.text else ""
    return text


_CHAPTERS = (
    ("OLMC100", "YAML and JSON text"),
    ("OLMC120", "Files, manifests and bundles"),
    ("OLMC146", "Misspelled kinds, groups and fields"),
    ("OLMC152", "Files, manifests and bundles"),
    ("OLMC170", "Namespaces of objects"),
    ("OLMC172", "Objects that olmc does not compile, and other tools apply"),
    ("OLMC180", "Files of other tools, and charts"),
    ("OLMC190", "Kustomizations, and the entries of a repository"),
    ("OLMC200", "Catalogs"),
    ("OLMC260", "Bundles: the validators of `opm` and `operator-sdk bundle validate`"),
    ("OLMC301", "The settled cluster: groups, membership, phases, plans"),
    ("OLMC320", "Output that runs without OLM"),
    ("OLMC328", "The settled cluster: groups, membership, phases, plans"),
    ("OLMC400", "Probable mistakes: groups, pins, catalogs, permissions, objects"),
    ("OLMC430", "Bundles before publishing"),
    ("OLMC440", "Accepted findings"),
    ("OLMC450", "Versions of OLM"),
    ("OLMC480", "Sides of a comparison"),
    ("OLMC500", "Resolution"),
    ("OLMC530", "`olmc.lock` and pins"),
    ("OLMC600", "Input and output of other tools"),
    ("OLMC620", "Images and `olmc vendor`"),
    ("OLMC695", "Migration to the proposed APIs"),
    ("OLMC740", "Migration to OLM v1"),
    ("OLMC800", "Diagnoses: causes of problems in a cluster"),
)
"""The title of each chapter, and its first code; a chapter ends where the next one begins."""


class Chapter(NamedTuple):
    """The rules of one subject, by code, under its title."""

    title: str
    rules: tuple[Rule, ...]


@cache
def chapters() -> tuple[Chapter, ...]:
    """The rules by chapter, each chapter once, by their lowest code."""
    begun = sorted((*_CHAPTERS, *CHAPTERS))
    starts = [code for code, _ in begun]
    chapters: dict[str, list[Rule]] = {}
    for rule in all_rules():
        _, title = begun[bisect_right(starts, rule.code) - 1]
        chapters.setdefault(title, []).append(rule)
    return tuple(Chapter(title, tuple(rules)) for title, rules in chapters.items())


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule once, by code: the public constants of the modules of rules."""
    of_compiler = (f"{findings.__name__}.{module.name}" for module in iter_modules(findings.__path__))
    modules = map(import_module, (*of_compiler, *_MODULES))
    return tuple(
        sorted(
            {
                value
                for module in modules
                for name, value in vars(module).items()
                if isinstance(value, Rule) and not name.startswith("_")
            }
        )
    )


def code_start(text: str) -> str:
    """Return the prefix of codes for a text, in any case; the number alone is enough (`301` is `OLMC301`)."""
    upper = text.strip().upper()
    return upper if upper.startswith("O") or not upper else f"OLMC{upper}"


def rule_page(code: str) -> str:
    """Return the address of the page of a code."""
    return docs_url(f"rules/{code}.md")


def message_of(rule: Rule) -> str:
    """Return the message of a rule, with names in braces for variable parts."""
    return _plain(rule.message)


def hint_of(rule: Rule) -> str:
    """Return the hint of a rule, with names in braces for variable parts; the ways out where it has nothing else."""
    return WAYS_OUT[rule.code] if depends_on_cause(rule) else _plain(rule.hint)


def depends_on_cause(rule: Rule) -> bool:
    """Tell whether the hint of a rule is one variable part, so that only a finding has words for it."""
    return _VARIABLE.fullmatch(rule.hint) is not None


def _plain(template: str) -> str:
    """A format string as a reader sees it: `{name!r:>5}` is `{name}`, two braces are one."""
    parts = Formatter().parse(template)
    return "".join(literal + (f"{{{field}}}" if field is not None else "") for literal, field, _, _ in parts)


WAYS_OUT: Mapping[str, str] = MappingProxyType({
    "OLMC100": "Read the message. Quote a value that has a colon or begins with a special character. Close quotes and "
    "brackets, indent with spaces, and give lines that belong together the same indentation. Resolve merge conflicts "
    "and delete their markers. Save the file as UTF-8.",
    "OLMC112": "Begin each document with a line that is only `---`, in the first column. Indent text that belongs to a "
    "value, or write each document into a file of its own.",
    "OLMC123": "Copy the file that the link points to into the workspace. Correct a link that leads nowhere or back to "
    "itself, or delete it.",
    "OLMC124": "Split the file, or leave it out with .olmcignore. If you trust the input, set the variable that the "
    "finding names to a higher number.",
    "OLMC126": "Write metadata.name as a text. Put a name that looks like a number or a truth value in quotes.",
    "OLMC131": "Add the ClusterServiceVersion to manifests/. If a file is almost one, correct its kind.",
    "OLMC132": "Add metadata/annotations.yaml with operators.operatorframework.io.bundle.package.v1 and "
    "operators.operatorframework.io.bundle.channels.v1. If the file exists, correct the key that the finding names.",
    "OLMC133": "Write one object a file, and begin the file with it: no comment or blank line before the first `---`.",
    "OLMC134": "Give the file apiVersion, kind and metadata.name. If it is no object, move it out of manifests/.",
    "OLMC142": "Move sample objects out of manifests/. Give other objects the apiVersion that the finding names.",
    "OLMC145": "Write the apiVersion. If a key is misspelt, such as apiversion, correct it.",
    "OLMC146": "Write the kind. If a key is misspelt, such as Kind, correct it.",
    "OLMC148": "Correct the kind or the apiVersion. If only a later OLM has the kind, leave the object out, or name "
    "that version with --olm-version.",
    "OLMC150": "Correct the name of the field, move it to the place where it belongs, or remove it.",
    "OLMC152": "Correct the kind in `include` or `exclude` of olmc.yaml, or remove it.",
    "OLMC153": "Write NAMESPACE/CSV of a plan that waits; `olmc resolve` lists the plans. Remove an entry that is no "
    "longer needed.",
    "OLMC157": "Save the output of `kubectl api-resources -o wide`, or discovery JSON, and give its path below the "
    "folder of olmc.yaml.",
    "OLMC158": "Save objects with `kubectl get -o yaml` or `-o json`; `olmc import --print-command` prints the whole "
    "command. Unpack an archive that can't be read. Give the folder of a must-gather that holds namespaces and "
    "cluster-scoped-resources.",
    "OLMC159": "Run the commands that `olmc import --print-command` prints, and import their output together.",
    "OLMC161": "Write KIND/NAMESPACE/NAME of an object that the cluster has; `kubectl get KIND -A` lists them. Remove "
    "an entry of olmc.yaml whose object is deleted.",
    "OLMC194": "Add the files that the message names, or correct their paths. For any other problem, see what "
    "`kustomize build` says of it: olmc gives it no network and no files outside of its folders.",
    "OLMC195": "Give the folder of one cluster, or --entry with the name of the Application, Kustomization or "
    "HelmRelease that applies it. `olmc fleet` takes all of them at once.",
    "OLMC197": "Write the values into the policy as the cluster would fill them in. Name the namespaces one by one. "
    "If the rest of the policy is enough, do nothing.",
    "OLMC198": "Set remediationAction: enforce, and remove `disabled: true`, if the policy has to install. Otherwise "
    "do nothing.",
    "OLMC301": "Follow the reason: keep one OperatorGroup in the namespace, give it targets that the operator supports "
    "(spec.installModes), and let groups with the same APIs target different namespaces. `olmc explain REASON` has the "
    "details.",
    "OLMC302": "Add the missing CRDs, permissions or operators to the workspace. If the cluster has them already, "
    "list them in `apis` or `apisFrom` of olmc.yaml.",
    "OLMC303": "Correct the bundle, or ask its author to. If the message says `is forbidden`, give the ServiceAccount "
    "of the OperatorGroup the right instead. Remove a finalizer that no controller removes.",
    "OLMC305": "Correct the spec of the group. Add the ServiceAccount that it names to its namespace.",
    "OLMC308": "Correct the object that stops the plan, or change the objects that don't fit its CRD. Give the "
    "ServiceAccount of the OperatorGroup the rights that it lacks, and let the group target a namespace that exists.",
    "OLMC309": "Correct the file of the bundle that the finding names, or ask the author of the bundle to.",
    "OLMC310": "Correct the object. If the cluster does not serve its kind, install the operator that brings it, or "
    "name the kind with --api.",
    "OLMC318": "Write metadata.namespace. If a kustomization.yaml sets the namespace, compile the folder of the "
    "kustomization.",
    "OLMC321": "Add a Subscription and an OperatorGroup for the bundles, or give the directory of one bundle. Correct "
    "--include and --exclude. --allow-empty accepts an empty output.",
    "OLMC322": "Correct the failures that stderr lists. --keep-going writes the objects that there are.",
    "OLMC414": "Ask the author why the operator needs these permissions. Install it only where you trust it with the "
    "whole cluster.",
    "OLMC419": "Write the field as the finding suggests.",
    "OLMC420": "Move the field to the place where OLM knows it, or remove it.",
    "OLMC421": "Name the ServiceAccount in permissions or clusterPermissions of the CSV, add it to the bundle, or "
    "correct the name in the Deployment.",
    "OLMC425": "Write the key as the finding suggests, or remove it.",
    "OLMC450": "Write a version that olmc knows, in quotes: a release such as '0.25', an OpenShift release such as "
    "'ocp-4.18', v1 or docs.",
    "OLMC483": "Fetch the revision (`git fetch origin REF`), or correct its name: branches of the remote are "
    "origin/NAME. In a shallow clone run `git fetch --unshallow`; in GitHub Actions set fetch-depth: 0.",
    "OLMC533": "Choose a version that the channel has and that can be reached from the installed one; `olmc graph "
    "PACKAGE` shows them. If the file can't be edited, write spec.startingCSV and spec.installPlanApproval: Manual by "
    "hand.",
    "OLMC601": "Correct the name or the value of the setting; the finding lists the ones that exist.",
    "OLMC603": "Write the object in the version that has taken its place, or render for the version of your cluster "
    "with --kube-version. If no version has, leave the object out with --exclude.",
    "OLMC643": "Add the CatalogSource to the workspace, or run `olmc init workspace` for catalogs that OpenShift or "
    "OperatorHub.io bring. Then run `olmc vendor`, or put the file-based catalog into catalogs/NAME/.",
    "OLMC646": "Write the file with `opm render IMAGE > catalog.json`, or copy the folder /configs out of the image.",
    "OLMC647": "Write one of the values that the finding lists.",
    "OLMC652": "Name another namespace with -n, or list all with -A.",
    "OLMC664": "Do nothing, or let the operator be descoped: `olmc migrate --to descoped --dry-run` shows the change.",
    "OLMC666": "Keep one instance that watches several namespaces, if the operator supports it: `olmc migrate --to "
    "descoped --dry-run` shows the change.",
    "OLMC667": "Choose one version, and bring all instances to it. Then `olmc migrate --to descoped --dry-run` shows "
    "the change.",
    "OLMC669": "Put the file-based catalog into catalogs/NAME/, as `opm render IMAGE` "
    "prints it.",
    "OLMC673": "Let a user who has the missing permissions approve the Install, or give them to this user.",
    "OLMC674": "Ask for less in the Operators, or remove the operator that stands in the way. Correct the catalog that "
    "the message names. Where a Subscription asks for the same package, --migrate-subscriptions lets the Operator take "
    "its place.",
    "OLMC721": "Correct the bundle or the configuration that the message names, or keep the operator on OLM v0. Name "
    "one namespace to watch. For webhooks choose an issuer of certificates with --certs.",
    "OLMC722": "Correct the object in the bundle, or keep the operator on OLM v0.",
    "OLMC732": "Add a ClusterCatalog that has the package. Correct the package, the channel or the version range. "
    "Where several catalogs of one priority have the package, choose one with spec.source.catalog.selector.",
    "OLMC733": "Correct spec.config, or the bundle. Choose another version, or keep the operator on OLM v0.",
    "OLMC741": "Read the rule with `olmc explain RULE`. If users rely on what is lost, keep the Subscription.",
    "OLMC742": "Keep the operator on OLM v0. Read the rule with `olmc explain RULE`; a later version of the operator "
    "may be free of it.",
    "OLMC744": "Do the step that the finding names, then compile again.",
    "OLMC800": "Select a channel that has an upgrade from the installed version, as the finding names it. If no "
    "channel has one, ask the author for such an entry.",
    "OLMC802": "Approve the InstallPlan that waits. Otherwise remove startingCSV; OLM follows the channel.",
    "OLMC803": "Delete the CSV, and OLM installs the operator again; its CRDs and their objects stay. If you renamed "
    "the Subscription, give it its old name.",
    "OLMC804": "Keep one of the packages. To switch, remove the old Subscription and delete its CSV; the CRDs and "
    "their objects stay. Otherwise move one Subscription to a namespace of its own.",
    "OLMC810": "Create the object in the namespace of the pod, or remove the reference from the Deployment.",
    "OLMC816": "Write the name of an existing version into replaces, or add the missing version.",
    "OLMC817": "Write the version before it into replaces, or remove the field.",
    "OLMC820": "Put the object into another Application, or into a Kustomization with dependsOn. For Argo CD you can "
    "annotate it with argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true.",
    "OLMC823": "Select a channel that has the version, or change spec.source.catalog.version.",
})  # fmt: skip
"""By code: what to do about the causes that findings of the code have."""
