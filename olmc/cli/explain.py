"""`olmc explain`."""

from __future__ import annotations

import re

import click

from olmc.cli.options import canonical_version
from olmc.cli.values import codes_and_rules, olm_versions
from olmc.emit.tables import aligned
from olmc.model.options import Options
from olmc.model.suggestions import POSSIBLE, close_matches, did_you_mean
from olmc.rules.rule import Rule

_SPEC = re.compile(r"(?:R|T|U|Q)(?:-|$)|D-?(?:[0-9]|$)|OBS", re.IGNORECASE)
"""How the ids of the rule book begin."""


@click.command()
@click.argument("code", default="", metavar="[CODE]", shell_complete=codes_and_rules)
@click.argument("version", default="", metavar="[VERSION]", shell_complete=olm_versions)
def explain(code: str, version: str) -> None:
    """Say what a code means: why it matters and what to do.

    Without a code, or with the beginning of one, list the codes that there are. A rule of OLM, as findings and olmc why
    name them, is printed with what it was read from. With `profile` in the place of the code: list the formats of an
    OLM version, the newest without VERSION.

    \b
    Examples:
      olmc explain OLMC301
      olmc explain 301              the number alone will do
      olmc explain 30               all codes that begin so
      olmc explain R-DEP-1          a rule: what OLM does
      olmc explain R-OG             all rules that begin so
      olmc explain profile 0.25     what names, labels and hashes look like in OLM 0.25
    """
    if code == "profile":
        from olmc.profiles.table import formats_text

        click.echo(formats_text(canonical_version(version or Options().olm_version)), nl=False)
        return
    if version:
        raise click.UsageError("Only `olmc explain profile` takes a VERSION.")
    if _SPEC.match(code.strip()):
        _explain_spec(code.strip())
        return
    from olmc.rules.catalogue import all_rules, code_start

    number = code_start(code).removeprefix("OLMC")
    rules = {rule.code.removeprefix("OLMC"): rule for rule in all_rules()}
    if number in rules:
        _explain(rules[number])
        return
    listed = [rule for each, rule in rules.items() if each.startswith(number)]
    if not listed:
        near = close_matches(number, rules, 3, POSSIBLE)
        hint = did_you_mean(*(f"OLMC{other}" for other in near)) or "`olmc explain` lists all of them."
        raise click.BadParameter(f"there is no rule {code}. {hint}", param_hint="CODE")
    click.echo(aligned([[rule.code, str(rule.severity), rule.title] for rule in listed]), nl=False)


def _explain_spec(rule_id: str) -> None:
    """Print a rule of the rule book, or those that begin so."""
    from olmc.explain.spec_text import as_text, listing, modules_naming
    from olmc.rulebook import rules_beginning, spec_rule, spec_rules

    rule = spec_rule(rule_id)
    if rule is not None:
        click.echo(as_text(rule, modules_naming(rule.id)), nl=False)
        return
    listed = rules_beginning(rule_id)
    if not listed:
        whole = rule_id[-1].isdigit()
        known = spec_rules() if whole else {each.rpartition("-")[0] for each in spec_rules()}
        near = close_matches(rule_id, known, 3 if whole else 1, POSSIBLE)
        hint = did_you_mean(*near) or "`olmc explain R` lists the rules."
        raise click.BadParameter(f"there is no rule {rule_id}. {hint}", param_hint="CODE")
    click.echo(listing(listed), nl=False)


def _explain(rule: Rule) -> None:
    from olmc.rules.catalogue import hint_of, message_of
    from olmc.rules.example import as_text as examples_as_text
    from olmc.rules.example import example_of

    click.echo(f"{rule.code} ({rule.severity}): {rule.title}")
    click.echo(f"\n  {message_of(rule)}\n")
    click.echo(_wrapped(rule.explanation))
    click.echo(_wrapped(f"What to do: {hint_of(rule)}"), nl=False)
    click.echo(examples_as_text(example_of(rule.code)), nl=False)


def _wrapped(text: str) -> str:
    return click.wrap_text(text, width=100, preserve_paragraphs=True) + "\n"
