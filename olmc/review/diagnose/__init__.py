"""Causes of what goes wrong in a compiled cluster, each found once and for every command that judges health.

`diagnosis.py` has the types and `diagnose`; the other modules find causes of one subject each.
"""
