"""The findings about an input: the rules of findings, and the rule book that explains OLM's behavior.

A `rule.Rule` is data: code, severity, message, hint, explanation; `Rule.finding` makes a `Diagnostic` of a place and
the values of the message. A code or the id of a rule of OLM goes in, texts come out.

Public names: `texts`, one module a subject with the rules as constants; `rulebook.spec_rule` and `rulebook.named_in`,
from `docs/spec/`. `olmc.review.rules` has the catalogue with the rules of all targets, and reads `examples/`.
"""
