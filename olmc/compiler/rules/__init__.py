"""What can be reported about an input: the rules of findings, and the rule book that explains what OLM does.

A `rule.Rule` is data: code, severity, message, hint, explanation; `Rule.finding` makes a `Diagnostic` of a place and
the values of the message. In goes a code or the id of a rule of OLM, out come texts.

Public names: `rules`, one module a subject with the rules as constants; `catalogue.all_rules`, `catalogue.rule_page`
and `catalogue.example_of`, from `examples/`; `rulebook.spec_rule` and `rulebook.named_in`, from `docs/spec/`;
`page.page`, the text of `docs/rules.md`.
"""
