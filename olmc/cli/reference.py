"""Commands that print what olmc knows by itself: `olmc explain`, `olmc version`, `olmc completion`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import bad_value, say, wrong_usage
from olmc.cli.declared import Choice, argument, codes_and_rules, command, olm_versions, option
from olmc.cli.options import canonical_version
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import POSSIBLE, close_matches, did_you_mean
from olmc.k8s.lean import regex
from olmc.version import __version__

if TYPE_CHECKING:
    import click

    from olmc.k8s.diagnostics import Rule

_SPEC = regex(r"(?:R|T|U|Q)(?:-|$)|D-?(?:[0-9]|$)|OBS", re.IGNORECASE)
"""How the ids of the rule book begin."""


@command(
    argument("code", default="", metavar="[CODE]", shell_complete=codes_and_rules),
    argument("version", default="", metavar="[VERSION]", shell_complete=olm_versions),
)
def explain(_: click.Context, /, code: str, version: str) -> None:
    """Explain a code or a rule: why it matters and what to do.

    Without a code, or with a prefix, lists the codes. Rules of OLM, which findings and olmc why refer to, are printed
    with their source. `profile` lists the formats of an OLM version, by default of the newest.

    \b
    Examples:
      olmc explain OLMC301
      olmc explain 301              the number is enough
      olmc explain 30               all codes with this prefix
      olmc explain R-DEP-1          a rule: what OLM does
      olmc explain R-OG             all rules with this prefix
      olmc explain profile 0.25     what names, labels and hashes look like in OLM 0.25
    """
    if code == "profile":
        from olmc.compiler.olm.profiles.page import formats_text

        say(formats_text(canonical_version(version or Options().olm_version)), nl=False, out=True)
        return
    if version:
        wrong_usage("Only `olmc explain profile` takes a VERSION.")
    if _SPEC.match(code.strip()):
        _explain_spec(code.strip())
        return
    from olmc.review.rules.catalogue import all_rules, code_start

    number = code_start(code).removeprefix("OLMC")
    rules = {rule.code.removeprefix("OLMC"): rule for rule in all_rules()}
    if number in rules:
        _explain(rules[number])
        return
    listed = [rule for each, rule in rules.items() if each.startswith(number)]
    if not listed:
        near = close_matches(number, rules, 3, POSSIBLE)
        hint = did_you_mean(*(f"OLMC{other}" for other in near)) or "`olmc explain` lists all of them."
        bad_value(f"there is no rule {code}. {hint}", "CODE")
    from olmc.compiler.output.text import aligned

    say(aligned([[rule.code, str(rule.severity), rule.title] for rule in listed]), nl=False, out=True)


def _explain_spec(rule_id: str) -> None:
    """Print a rule of the rule book, or those that begin so."""
    from olmc.compiler.rules.rulebook import rules_beginning, spec_rule, spec_rules
    from olmc.review.explain.spec_text import as_text, listing, modules_naming

    rule = spec_rule(rule_id)
    if rule is not None:
        say(as_text(rule, modules_naming(rule.id)), nl=False, out=True)
        return
    listed = rules_beginning(rule_id)
    if not listed:
        whole = rule_id[-1].isdigit()
        known = spec_rules() if whole else {each.rpartition("-")[0] for each in spec_rules()}
        near = close_matches(rule_id, known, 3 if whole else 1, POSSIBLE)
        hint = did_you_mean(*near) or "`olmc explain R` lists the rules."
        bad_value(f"there is no rule {rule_id}. {hint}", "CODE")
    say(listing(listed), nl=False, out=True)


def _explain(rule: Rule) -> None:
    from olmc.review.rules.catalogue import as_text as examples_as_text
    from olmc.review.rules.catalogue import example_of, hint_of, message_of

    say(f"{rule.code} ({rule.severity}): {rule.title}", out=True)
    say(f"\n  {message_of(rule)}\n", out=True)
    say(_wrapped(rule.explanation), out=True)
    say(_wrapped(f"What to do: {hint_of(rule)}"), nl=False, out=True)
    say(examples_as_text(example_of(rule.code)), nl=False, out=True)


def _wrapped(text: str) -> str:
    import click

    return click.wrap_text(text, width=100, preserve_paragraphs=True) + "\n"


@command(
    option(
        "--profile",
        metavar="VERSION",
        shell_complete=olm_versions,
        help="Print what olmc can't reproduce of this OLM version.",
    )
)
def version(_: click.Context, /, profile: str | None) -> None:
    """Print the versions of olmc, OLM and the runtime.

    \b
    Examples:
      olmc version
      olmc version --profile ocp-4.3     what olmc can't reproduce of that OLM
    """
    if profile is not None:
        from olmc.compiler.olm.profiles.page import gaps_text

        say(gaps_text(canonical_version(profile)), nl=False, out=True)
        return
    from olmc.k8s.yaml.reader import c_reader_active

    reader = "C reader active" if c_reader_active() else "C reader missing: olmc works, but slowly"
    say(f"olmc {__version__}", out=True)
    say(f"OLM v{Options().olm_version}", out=True)
    say(f"Python {sys.version.split()[0]}", out=True)
    say(f"ruamel.yaml {_version_of_reader()} ({reader})", out=True)


def _version_of_reader() -> str:
    """The version of ruamel.yaml, from the name of its metadata: importing what looks into them takes longer than all
    else that this command does."""
    for folder in map(Path, sys.path):
        names = [path.name for path in folder.glob("ruamel[._]yaml-*.dist-info")]
        if len(names) == 1:
            return names[0].partition("-")[2].removesuffix(".dist-info")
        if names:
            break
    from importlib.metadata import version as version_of  # installed in another way

    return version_of("ruamel.yaml")


@command(argument("shell", type=Choice(("bash", "zsh", "fish"))))
def completion(ctx: click.Context, /, shell: str) -> None:
    """Print a shell completion script.

    Completes commands, options, rule codes, kinds and validators, and the packages, versions, namespaces and objects
    of the workspace.

    \b
    Examples:
      olmc completion bash > ~/.local/share/bash-completion/completions/olmc
      olmc completion zsh > ~/.zfunc/_olmc       with fpath+=~/.zfunc before compinit in ~/.zshrc
      olmc completion fish > ~/.config/fish/completions/olmc.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is not None:
        say(made(ctx.find_root().command, {}, "olmc", "_OLMC_COMPLETE").source(), out=True)
