"""A report as pages of HTML: each holds what it needs, runs one script of its own, and asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olmc.diff.html import policy_hash
from olmc.explain.status import in_short
from olmc.output.unicode import clean
from olmc.report.operators import OperatorPage
from olmc.report.overview import Overview
from olmc.resources import template_text

if TYPE_CHECKING:
    from jinja2 import Environment

INDEX, NAMESPACES, CATALOGS, FINDINGS, PLAN = (
    "index.html", "namespaces.html", "catalogs.html", "findings.html", "plan.html",
)  # fmt: skip
OPERATORS = "operators"
"""The folder of the pages of operators."""


def pages(overview: Overview, plan: str = "") -> dict[str, str]:
    """The pages by their paths; `plan` is a page by itself, "" if nobody asks what a change would do."""
    environment = _environment()
    values: dict[str, Any] = {
        "name": overview.name,
        "overview": overview,
        "navigation": list(_navigation(overview, plan)),
        "short": {page.slug: in_short(page.status) for page in overview.operators},
    }

    def written(template: str, path: str, **more: Any) -> str:
        root = "../" * path.count("/")
        return environment.get_template(f"report/{template}.html.j2").render(values, here=path, root=root, **more)

    made = {path: written(path.removesuffix(".html"), path) for path in (INDEX, NAMESPACES, CATALOGS, FINDINGS)}
    for page in overview.operators:
        path = f"{OPERATORS}/{page.slug}.html"
        made[path] = written("operator", path, page=page, facts=list(_facts(page)), sections=list(_sections(page)))
    return made | ({PLAN: plan} if plan else {})


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # takes long to import
    from markupsafe import Markup

    # What comes from the input is escaped by the templates, and what a terminal or a page would execute is made
    # visible.
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        loader=FunctionLoader(template_text),
        finalize=lambda value: clean(value) if type(value) is str else value,
    )  # fmt: skip
    style = template_text("base.css") + template_text("report/report.css").strip()
    script = template_text("report/report.js").strip()
    environment.globals |= {
        "style": Markup(style), "script": Markup(script),
        "style_hash": policy_hash(style), "script_hash": policy_hash(script),
    }  # fmt: skip
    return environment


def _navigation(overview: Overview, plan: str) -> Iterator[tuple[str, str, int | None]]:
    """The pages that every page leads to: address, heading, and how many of them there are."""
    yield INDEX, "Operators", len(overview.operators)
    yield NAMESPACES, "Namespaces", len(overview.namespaces)
    yield CATALOGS, "Catalogs", len(overview.catalogs)
    yield FINDINGS, "Findings", len(overview.findings)
    if plan:
        yield PLAN, "Plan", None


def _facts(page: OperatorPage) -> Iterator[tuple[str, str]]:
    row = page.status
    targets = "all namespaces" if page.targets == ("",) else ", ".join(page.targets) or "no namespace"
    facts = {
        "version": row.version,
        "Subscription": row.subscription,
        "ClusterExtension": row.extension,
        "installed by": page.installer,
        "catalog": page.catalog,
        "channel": row.channel,
        "next upgrade": f"{row.upgrade} ({row.waits})" if row.upgrade else "",
        "OperatorGroup": page.group,
        "watches": targets if page.group or (row.extension and page.targets) else "",
    }
    yield from ((term, value) for term, value in facts.items() if value)


def _sections(page: OperatorPage) -> Iterator[tuple[str, str, int | None]]:
    """The anchors of the sections that a page has, as its template does."""
    yield "installation", "Installation", None
    parts: tuple[tuple[str, str, tuple[object, ...]], ...] = (
        ("missing", "What is missing", page.status.missing),
        ("findings", "Findings", page.findings),
        ("permissions", "Permissions", page.accounts),
        ("images", "Images", page.images),
        ("apis", "APIs and webhooks", (*page.crds, *page.webhooks)),
        ("objects", "Objects", page.objects),
    )
    yield from ((name, heading, len(items)) for name, heading, items in parts if items)
