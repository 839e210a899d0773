"""Commands that print what olmc knows by itself: `olmc explain`, `olmc version`, `olmc completion`."""

from __future__ import annotations

import platform
import re

import click

from olmc.cli.options import canonical_version, codes_and_rules, olm_versions
from olmc.diagnostics.rule import Rule
from olmc.lean import regex
from olmc.model.diagnostics import POSSIBLE, close_matches, did_you_mean
from olmc.model.options import Options
from olmc.output.text import aligned
from olmc.version import __version__
from olmc.yaml import c_reader_active

_SPEC = regex(r"(?:R|T|U|Q)(?:-|$)|D-?(?:[0-9]|$)|OBS", re.IGNORECASE)
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
        from olmc.olm.profiles.page import formats_text

        click.echo(formats_text(canonical_version(version or Options().olm_version)), nl=False)
        return
    if version:
        raise click.UsageError("Only `olmc explain profile` takes a VERSION.")
    if _SPEC.match(code.strip()):
        _explain_spec(code.strip())
        return
    from olmc.diagnostics.catalogue import all_rules, code_start

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
    from olmc.diagnostics.rulebook import rules_beginning, spec_rule, spec_rules
    from olmc.explain.spec_text import as_text, listing, modules_naming

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
    from olmc.diagnostics.catalogue import as_text as examples_as_text
    from olmc.diagnostics.catalogue import example_of, hint_of, message_of

    click.echo(f"{rule.code} ({rule.severity}): {rule.title}")
    click.echo(f"\n  {message_of(rule)}\n")
    click.echo(_wrapped(rule.explanation))
    click.echo(_wrapped(f"What to do: {hint_of(rule)}"), nl=False)
    click.echo(examples_as_text(example_of(rule.code)), nl=False)


def _wrapped(text: str) -> str:
    return click.wrap_text(text, width=100, preserve_paragraphs=True) + "\n"


@click.command()
@click.option(
    "--profile",
    metavar="VERSION",
    shell_complete=olm_versions,
    help="Print what olmc can't reproduce of this OLM version.",
)
def version(profile: str | None) -> None:
    """Print the versions of olmc, OLM and what runs it.

    \b
    Examples:
      olmc version
      olmc version --profile ocp-4.3     what olmc can't reproduce of that OLM
    """
    from importlib.metadata import version as version_of

    if profile is not None:
        from olmc.olm.profiles.page import gaps_text

        click.echo(gaps_text(canonical_version(profile)), nl=False)
        return
    reader = "C reader active" if c_reader_active() else "C reader missing: olmc works, but slowly"
    click.echo(f"olmc {__version__}")
    click.echo(f"OLM v{Options().olm_version}")
    click.echo(f"Python {platform.python_version()}")
    click.echo(f"ruamel.yaml {version_of('ruamel.yaml')} ({reader})")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete what is typed.

    That is commands, options, codes of rules, kinds, and names of validators.

    \b
    Examples:
      olmc completion bash > ~/.local/share/bash-completion/completions/olmc
      olmc completion zsh > ~/.zfunc/_olmc       with fpath+=~/.zfunc before compinit in ~/.zshrc
      olmc completion fish > ~/.config/fish/completions/olmc.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(ctx.find_root().command, {}, "olmc", "_OLMC_COMPLETE").source())
