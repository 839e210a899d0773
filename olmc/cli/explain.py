"""`olmc explain`."""

from __future__ import annotations

from difflib import get_close_matches

import click

from olmc.cli.options import canonical_version
from olmc.cli.values import codes, olm_versions
from olmc.model.options import Options


@click.command()
@click.argument("code", shell_complete=codes)
@click.argument("version", default="", metavar="[VERSION]", shell_complete=olm_versions)
def explain(code: str, version: str) -> None:
    """Say what a code means: why it matters and what to do.

    With `profile` in the place of the code: list the formats of an OLM version, the newest without VERSION.

    \b
    Examples:
      olmc explain OLMC301
      olmc explain 301              the number alone will do
      olmc explain profile 0.25     what names, labels and hashes look like in OLM 0.25
    """
    if code == "profile":
        from olmc.profiles.table import formats_text

        click.echo(formats_text(canonical_version(version or Options().olm_version)), nl=False)
        return
    if version:
        raise click.UsageError("Only `olmc explain profile` takes a VERSION.")
    from olmc.rules.catalogue import all_rules, hint_of, message_of
    from olmc.rules.example import as_text as examples_as_text
    from olmc.rules.example import example_of

    rules = {rule.code: rule for rule in all_rules()}
    wanted = code.strip().upper()
    wanted = wanted if wanted.startswith("OLMC") else f"OLMC{wanted}"
    rule = rules.get(wanted)
    if rule is None:
        numbers = [known.removeprefix("OLMC") for known in rules]
        number = wanted.removeprefix("OLMC")
        close = [each for each in numbers if each.startswith(number)][:3] or get_close_matches(number, numbers, n=3)
        meant = " or ".join(f"OLMC{each}" for each in close)
        hint = f" Did you mean {meant}?" if close else " docs/rules.md lists all of them."
        raise click.BadParameter(f"there is no rule {code}.{hint}", param_hint="CODE")
    click.echo(f"{rule.code} ({rule.severity}): {rule.title}")
    click.echo(f"\n  {message_of(rule)}\n")
    click.echo(_wrapped(rule.explanation))
    click.echo(_wrapped(f"What to do: {hint_of(rule)}"), nl=False)
    click.echo(examples_as_text(example_of(rule.code)), nl=False)


def _wrapped(text: str) -> str:
    return click.wrap_text(text, width=100, preserve_paragraphs=True) + "\n"
