"""The exit codes of all commands, in one place."""

DONE = 0
FINDINGS = 1  # an operator would fail, or a check differs
USAGE = 2  # wrong usage; click's own
BAD_INPUT = 3  # input that can't be compiled
