"""What in a repository is not for a cluster: files in which neither Kubernetes nor OLM shows, and templates of charts.

Who opens a repository wants to know about operators. A file of another tool that no YAML reader of Kubernetes takes is
none of that, and must not keep anybody from the answer; a broken manifest is, and does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from olmc.diagnostics.rules import foreign as rules
from olmc.lean import regex
from olmc.load.files import Folder, read_text
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity, join_limited

CHART_FILE = "Chart.yaml"
TEMPLATES_FOLDER = "templates"
HELM_FOLDERS = (TEMPLATES_FOLDER, "charts", "crds")
"""The folders of a chart that Helm reads by itself."""

# A quoted key may stand behind a blank as well: what is broken may be the comma before it.
_KEY = r"""(?:(?:^[ \t-]*|[{{,]\s*)["']?{0}["']?|\s["']{0}["'])[ \t]*:\s*["']?"""
_API_VERSION = regex(_KEY.format("apiVersion") + r"(?:[a-z0-9][\w.-]*/)?v\d\w*(?![\w./])", re.MULTILINE)
_KIND = regex(_KEY.format("kind") + r"""[^\s"'{\[#]""", re.MULTILINE)
_CATALOG = regex(_KEY.format("schema") + r"olm\.", re.MULTILINE | re.IGNORECASE)

_OLM = regex(r"\boperators\.coreos\.com/v\d")
_OLM_KIND = regex(
    r"^[ \t]*-?[ \t]*kind:[ \t]*[\"']?(Subscription|OperatorGroup|CatalogSource|ClusterServiceVersion|InstallPlan)\b",
    re.MULTILINE,
)
_SHOWN = 5
# What Helm takes for a template that becomes objects, or that others take in.
_TEMPLATES = (".yaml", ".yml", ".json", ".tpl")


def is_for_cluster(text: str) -> bool:
    """Whether a text shows that it is meant for Kubernetes or for OLM, though it may not be readable.

    It does where one of its lines, or one of its mappings in braces, begins with an apiVersion that looks like one of
    Kubernetes and another with a kind, or one with a schema of OLM.
    """
    return (_API_VERSION.search(text) is not None and _KIND.search(text) is not None) or (
        _CATALOG.search(text) is not None
    )


def foreign_file(path: str, problems: Report) -> Diagnostic:
    """That a file is left aside, because of the first of the errors in it."""
    first = next(diagnostic for diagnostic in problems if diagnostic.severity is Severity.ERROR)
    return rules.FOREIGN.finding(first.location or Location(path), path=path, cause=first.message)


def is_chart(folder: Folder) -> bool:
    """Whether a folder is a Helm chart, whose templates/ are no YAML before Helm has rendered them."""
    return CHART_FILE in folder.files


def kinds_in_templates(root: Path, chart: Folder) -> tuple[str, ...] | None:
    """The kinds of OLM that the templates of a chart, and of those in it, speak of; None where none speaks of OLM."""
    kinds: dict[str, None] = {}
    is_about_olm = False
    for path in chart.walk():
        if f"/{TEMPLATES_FOLDER}/" in f"/{path}" and path.endswith(_TEMPLATES):
            text = read_text(root, path, Report()) or ""
            if _OLM.search(text):
                is_about_olm = True
                kinds.update(dict.fromkeys(_OLM_KIND.findall(text)))
    return tuple(sorted(kinds)) if is_about_olm else None


def is_chart_of_operators(root: Path, folder: Folder) -> bool:
    """Whether a folder is a chart whose templates speak of OLM."""
    return is_chart(folder) and kinds_in_templates(root, folder) is not None


def without_helm(chart: Folder) -> Folder:
    """What there is in the folder of a chart beside the chart."""
    files = tuple(name for name in chart.files if name != CHART_FILE)
    return chart._replace(
        files=files, folders=tuple(f for f in chart.folders if f.path not in map(chart.join, HELM_FOLDERS))
    )


def unrendered_chart(root: Path, chart: Folder, suffixes: Sequence[str]) -> Iterator[Diagnostic]:
    """That the templates of a chart are not rendered, with the kinds of OLM that they speak of."""
    templates = chart.folder(TEMPLATES_FOLDER)
    paths = [path for path in templates.walk() if path.endswith(tuple(suffixes))] if templates is not None else []
    if templates is None or not paths:
        return
    kinds = kinds_in_templates(root, chart._replace(folders=(templates,)))
    rule = rules.CHART_OF_OPERATORS if kinds is not None else rules.CHART
    yield rule.finding(
        Location(chart.join(CHART_FILE)), path=f"{templates.path}/", chart=chart.path or ".",
        count=f"{len(paths)} template{'s' * (len(paths) != 1)}",
        kinds=join_limited(kinds or (), _SHOWN) or "no kind is written plainly",
    )  # fmt: skip
