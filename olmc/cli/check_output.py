"""What `olmc check` prints, in each of its formats."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import folder_from_here, say, tell_aside
from olmc.model.diagnostics import Severity
from olmc.output.unicode import json_text

if TYPE_CHECKING:
    from olmc.check.check import CheckResult


def _untold(done: Sequence[CheckResult]) -> str:
    """How much was not looked at, or is known, as the last line has it."""
    older, known = sum(each.older for each in done), sum(each.known for each in done)
    text = f", {older} older version{'s' * (older != 1)} not looked at" if older else ""
    return text + (f", {known} findings known" if known else "")


def print_statistics(done: Sequence[CheckResult], output: str, least: Severity) -> None:
    """How often there is what, the most frequent first."""
    from olmc.diagnostics.catalogue import all_rules

    reported = [each for one in done for each in one.diagnostics if each.severity >= least]
    titles = {rule.code: rule.title for rule in all_rules()}
    counts = Counter((each.code, str(each.severity)) for each in reported)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if output == "json":
        listed = [
            {"code": code, "severity": severity, "count": count, "title": titles[code]}
            for (code, severity), count in ordered
        ]
        say(json_text({"version": 1, "statistics": listed}), out=True)
        return
    width = len(str(max(counts.values(), default=0)))
    for (code, severity), count in ordered:
        say(f"{count:>{width}}  {code} {severity}: {titles[code]}", out=True)
    bundles = sum(each.bundles for each in done)
    say(f"{len(reported)} findings ({bundles} bundle{'s' * (bundles != 1)} validated{_untold(done)})", out=True)


def shown_as(root: Path | None, output: str, count: int) -> str:
    """What the paths of a directory begin with: for people as seen from where they stand, for programs relative to the
    directory (as it was given, where there are several), for a CI system as its checkout has it. None for a folder that
    is not the user's."""
    if root is None:
        return ""
    if output == "text":
        folder = folder_from_here(root)
        return f"{folder}/" if folder else ""
    if output == "json":
        return f"{root.as_posix()}/" if count > 1 else ""
    base = Path(os.environ.get("GITHUB_WORKSPACE") or ".").resolve()
    here = root.resolve()
    below = here.relative_to(base).as_posix() if here.is_relative_to(base) else "."
    return "" if below == "." else f"{below}/"


def print_findings(
    done: Sequence[CheckResult], output: str, least: Severity, failing: Severity, *, show_secrets: bool = False
) -> None:
    from olmc.check.check import line_reader, located_diagnostics
    from olmc.explain.left_out import counted, note
    from olmc.output.messages import as_counts, as_json, as_text_with_source

    found = [diagnostic for each in done for diagnostic in located_diagnostics(each)]
    left = tuple(left for each in done for left in each.left_out)
    if output == "text":
        text = as_text_with_source(found, line_reader(done, show_secrets=show_secrets), least=least, color=True)
        say(text, nl=False, out=True)
        bundles, suppressed = sum(each.bundles for each in done), sum(len(each.suppressed) for each in done)
        aside = f"{bundles} bundle{'s' * (bundles != 1)} validated" + f", {suppressed} suppressed" * bool(suppressed)
        aside += f", {amount} left out" if (amount := counted(left)) else ""
        aside += _untold(done)
        say(f"{as_counts(found, least=least)} ({aside})", out=True)
    elif output == "json":
        say(as_json(found, least=least), nl=False, out=True)
    elif output == "github":
        from olmc.diagnostics.catalogue import all_rules
        from olmc.output.ci_reports import as_github

        titles = {rule.code: rule.title for rule in all_rules()}
        say(as_github(found, titles, least=least), nl=False)
    elif output == "junit":
        from olmc.output.ci_reports import as_junit

        say(as_junit(found, least=least, failing=failing), nl=False, out=True)
    else:
        from olmc.diagnostics.catalogue import all_rules, rule_page
        from olmc.diagnostics.rulebook import linked
        from olmc.output.ci_reports import RuleHelp, Tool, as_sarif
        from olmc.resources import docs_url
        from olmc.version import __version__

        rules = {rule.code: rule for rule in all_rules()}
        reported = {code: rules[code] for code in {each.code for each in found} & rules.keys()}
        more = {
            code: RuleHelp(rule_page(code), linked(rule.explanation, docs_url(""))) for code, rule in reported.items()
        }
        made = as_sarif(
            found, Tool(__version__, rules, more), line_reader(done, show_secrets=show_secrets), least=least
        )
        say(made.text, nl=False, out=True)
        if made.left_out:
            say(f"olmc: {made.left_out} findings, the least grave, are beyond GitHub's limits")
    tell_aside(found, least=least)
    for each in done if output != "text" else ():
        say(note(each.left_out, each.shown_as), nl=False)
