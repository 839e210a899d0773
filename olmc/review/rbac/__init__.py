"""The permissions of subjects after a compilation, and the dangerous ones: `olmc rbac` and reviews of upgrades.

Rendered objects go in; permissions, their holders, risks and answers come out, as data and as text.

Public names: `permissions.permissions`, the grants that roles and bindings give; `subjects.holders`, by user and
account; `risks.risks_of`; `who_can.parse_question` and `who_can.find_able`, a question and its answer; `text.as_text`.
"""
