"""The kinds Operator and Install: operators as objects of the cluster, and content that waits for approval.

A workspace with Operators and Installs goes in. `installs.begin` applies those that need no resolution
(`InitialInstalls`); on the settled cluster `controller.followed` says what became of all of them (`OperatorStates`),
and `controller.rewriting` adds their objects. In between: `operators.follow` resolves for the whole cluster what
`requests` asks, `approval.judged` decides about an Install (`InstallDecision`) and compares permissions,
`content.resolved` finds what it brings, `components`, `own_csvs` and `status` fill in the status. `findings` says what
became of it all, `unknown_fields` what was never heeded.
"""

OPERATOR_API = "operators.coreos.com/v2alpha1"
KINDS = ("Install", "Operator")
SEED_KEY = "operators.coreos.com/operator:v2alpha1/"
"""The prefix of the label key of components in the proposal; API servers reject it (R-OPERATOR-3)."""
