"""Go values as the debug printer prints them that OLM took its hashes of until v0.26 (`%#v` of spew).

Only what names of RBAC are made of: a string, a permission with its rules, and lists of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_RULE_FIELDS = (
    ("Verbs", "verbs"),
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("ResourceNames", "resourceNames"),
    ("NonResourceURLs", "nonResourceURLs"),
)


def permission_print(names: Sequence[str], permission: Mapping[str, Any]) -> str:
    """A list of untyped values: `names` (of the CSV, of its namespace), then an entry of `permissions`.

    An absent list prints as `<nil>`, an empty one as `[]`, and so does one that holds only an empty string.
    """
    listed = " ".join(f"(string){name}" for name in names)
    account = permission.get("serviceAccountName") or ""
    rules = permission.get("rules")
    shown = "<nil>" if rules is None else "[" + " ".join(map(_rule, rules)) + "]"
    entry = f"{{ServiceAccountName:(string){account} Rules:([]v1.PolicyRule){shown}}}"
    return f"([]interface {{}})[{listed} (v1alpha1.StrategyDeploymentPermissions){entry}]"


def _rule(rule: Mapping[str, Any]) -> str:
    return "{" + " ".join(f"{name}:([]string){_strings(rule.get(key))}" for name, key in _RULE_FIELDS) + "}"


def _strings(values: Sequence[str] | None) -> str:
    return "<nil>" if values is None else "[" + " ".join(values) + "]"
