"""Commands about olmc itself: `olmc explain`, `olmc version`, `olmc completion`, `olmc cache`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, bad_value, say, wrong_usage
from olmc.cli.declared import Choice, argument, codes_and_rules, command, olm_versions, option
from olmc.cli.options import canonical_version, output_option
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import POSSIBLE, close_matches, did_you_mean
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.reader import c_reader_active
from olmc.version import __version__

if TYPE_CHECKING:
    import click


_SPEC = regex(r"(?:R|T|U|Q)(?:-|$)|D-?(?:[0-9]|$)|OBS", re.IGNORECASE)
"""The start of the ids of the rule book."""
_CODE = regex(r"(?:OLMC)?[0-9]*", re.IGNORECASE)
"""A code, its number, or how either begins."""


class ExplainOptions(NamedTuple):
    """The options of `olmc explain`."""

    words: tuple[str, ...] = argument(multiple=True, metavar="[CODE|RULE|WORD]", shell_complete=codes_and_rules)


@command(ExplainOptions)
def explain(_: click.Context, opts: ExplainOptions) -> None:
    """Explain a code, a rule, or a word of OLM.

    Without a code, or with a prefix, lists the codes. Rules of OLM, which findings and olmc why refer to, are printed
    with their source. OLM's reasons, conditions and terms are printed with their meaning, symptom and way out.
    `profile` lists the formats of an OLM version, `gaps` what olmc can't reproduce of it.

    \b
    Examples:
      olmc explain OLMC301
      olmc explain 301                   the number is enough
      olmc explain 30                    all codes with this prefix
      olmc explain RequirementsNotMet    a reason in the status of a CSV
      olmc explain copied CSV            a term
      olmc explain R-DEP-1               a rule: what OLM does
      olmc explain R-OG                  all rules with this prefix
      olmc explain profile 0.25          names, labels and hashes in OLM 0.25
      olmc explain gaps ocp-4.3          what olmc can't reproduce of that OLM
    """
    code, *more = opts.words or ("",)
    if code in ("profile", "gaps"):
        if len(more) > 1:
            wrong_usage(f"`olmc explain {code}` takes one VERSION.")
        _explain_version(code, canonical_version(*more) if more else canonical_version(Options().olm_version))
    elif more and not (_SPEC.match(code) or _CODE.fullmatch(code)):
        _explain_word(" ".join(opts.words))
    elif more:
        wrong_usage("Only `olmc explain profile` takes a VERSION.")
    elif _SPEC.match(code.strip()):
        _explain_spec(code.strip())
    elif _CODE.fullmatch(code.strip()):
        _explain_code(code)
    else:
        _explain_word(code)


def _explain_version(about: str, version: str) -> None:
    """Print the formats of an OLM version, or what olmc can't reproduce of it."""
    from olmc.compiler.olm.profiles.page import formats_text, gaps_text

    say(formats_text(version) if about == "profile" else gaps_text(version), nl=False, out=True)


def _explain_code(code: str) -> None:
    """Print what a code means, or list the codes that begin so."""
    from olmc.review.rules.catalogue import all_rules, as_text, code_start, example_of, hint_of, message_of

    number = code_start(code).removeprefix("OLMC")
    rules = {rule.code.removeprefix("OLMC"): rule for rule in all_rules()}
    if number in rules:
        rule = rules[number]
        say(f"{rule.code} ({rule.severity}): {rule.title}", out=True)
        say(f"\n  {message_of(rule)}\n", out=True)
        say(_wrapped(rule.explanation), out=True)
        say(_wrapped(f"What to do: {hint_of(rule)}"), nl=False, out=True)
        say(as_text(example_of(rule.code)), nl=False, out=True)
        return
    listed = [rule for each, rule in rules.items() if each.startswith(number)]
    if not listed:
        near = close_matches(number, rules, 3, POSSIBLE)
        hint = did_you_mean(*(f"OLMC{other}" for other in near)) or "`olmc explain` lists all of them."
        bad_value(f"there is no rule {code}. {hint}", "CODE")
    from olmc.compiler.output.document import aligned

    say(aligned([[rule.code, str(rule.severity), rule.title] for rule in listed]), nl=False, out=True)


def _explain_word(word: str) -> None:
    """Print what a word of OLM means, with the rules that are about it."""
    from olmc.review.explain.spec_text import all_names, rules_about, term_of, term_text

    term = term_of(word)
    rules = list(dict.fromkeys(rule for name in (term.names if term else (word,)) for rule in rules_about(name)))
    if term is None and not rules:
        near = close_matches(word, all_names(), 3, POSSIBLE)
        hint = did_you_mean(*near) or "`olmc explain` lists the codes, `olmc explain R` the rules."
        bad_value(f"there is no rule {word}, and OLM has no such word. {hint}", "CODE")
    say(term_text(word, term, rules), nl=False, out=True)


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


def _wrapped(text: str) -> str:
    import click

    return click.wrap_text(text, width=100, preserve_paragraphs=True) + "\n"


class VersionOptions(NamedTuple):
    """The options of `olmc version`."""

    profile: str | None = option(
        metavar="VERSION", old_names=("--profile",), shell_complete=olm_versions, help="As olmc explain gaps VERSION.",
    )  # fmt: skip


@command(VersionOptions)
def version(_: click.Context, opts: VersionOptions) -> None:
    """Print the versions of olmc, OLM and the runtime.

    `olmc explain gaps VERSION` prints what olmc can't reproduce of an OLM version.
    """
    if opts.profile is None:
        tell_version()
    else:
        _explain_version("gaps", canonical_version(opts.profile))


def tell_version() -> None:
    """Print the versions of olmc, OLM and the runtime."""
    from olmc.compiler.olm.profiles.data import V1, controller_of, controller_text

    reader = "C reader active" if c_reader_active() else "C reader missing: olmc works, but slowly"
    say(f"olmc {__version__}", out=True)
    say(f"OLM v{Options().olm_version}", out=True)
    say(f"OLM v1: operator-controller {controller_text(controller_of(V1))}; --olm-version names releases", out=True)
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


class CacheOptions(NamedTuple):
    """The options of `olmc cache`."""

    action: str = argument(type=Choice(("info", "clear")))
    output: str = output_option(["text", "json"], "Text, or JSON.")


@command(CacheOptions)
def cache(_: click.Context, opts: CacheOptions) -> None:
    """Show or clear the cache of large catalogs.

    Parsed catalogs are cached for the next run. info: the folder, its size and its limit. clear: remove everything;
    the next run parses catalogs again.

    \b
    Examples:
      olmc cache info               its folder and size
      olmc cache clear              remove everything
      OLMC_NO_CACHE=1 olmc check .  neither read nor write it

    Exit codes: 0 done, 2 wrong usage, 3 the folder belongs to somebody else, or can't be emptied.
    """
    from olmc.compiler.cache import NO_CACHE, clear, default_folder, is_off, is_own, open_cache, usage  # with OpenSSL

    try:
        folder = default_folder()
    except RuntimeError:
        say("olmc: this user has no home directory, so nothing is kept. Set XDG_CACHE_HOME to have a cache.")
        raise SystemExit(BAD_INPUT) from None
    unused = f"{NO_CACHE} is set" if is_off() else ""
    if not is_own(folder):
        unused = "the folder belongs to somebody else, or others may write into it"
    if opts.action == "clear" and not is_own(folder):
        say(f"olmc: {unused}; nothing was removed.")
        raise SystemExit(BAD_INPUT)
    held = clear(open_cache(folder)) if opts.action == "clear" else usage(open_cache(folder))
    if opts.output == "json":
        fields = {"folder": str(folder), "used": not unused, **held._asdict()}
        say(json.dumps({"removed": held._asdict()} if opts.action == "clear" else fields, indent=2), out=True)
        return
    size = f"{held.entries} {'entry' if held.entries == 1 else 'entries'}, {held.bytes / 1e6:.1f} MB"
    if opts.action == "clear":
        say(f"removed {size}", out=True)
        return
    say(f"{folder}\n{size} of at most {held.most / 1e6:.0f} MB", out=True)
    if unused:
        say(f"not used: {unused}", out=True)
