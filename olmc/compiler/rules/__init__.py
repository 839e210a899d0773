"""What can be reported about an input: the rules of findings, and the rule book that explains what OLM does.

A `rule.Rule` is data: code, severity, message, hint, explanation; `Rule.finding` makes a `Diagnostic` of a place and
the values of the message. In goes a code or the id of a rule of OLM, out come texts.

Public names: `texts`, one module a subject with the rules as constants; `rulebook.spec_rule` and `rulebook.named_in`,
from `docs/spec/`. `olmc.review.rules` has the catalogue with the rules of all targets, and reads `examples/`.
"""
