"""What OperatorGroups say about the unpacking of bundles (R-CAT-501)."""

from __future__ import annotations

from olmc.model.operators import Group

_DURATIONS = (
    ("timeout", "operatorframework.io/bundle-unpack-timeout"),
    ("retry", "operatorframework.io/bundle-unpack-min-retry-interval"),
)


def unreadable_duration(group: Group) -> tuple[str, str]:
    """The annotation whose duration keeps OLM from resolving the group's namespace, and OLM's text; "" if none does."""
    annotations = group.annotations
    for what, key in _DURATIONS:
        if key not in annotations:
            continue
        from olmc.golang.duration import duration_problem  # few groups have one, and imports take their time

        problem = duration_problem(str(annotations[key]))
        if problem:
            return key, f"failed to parse unpack {what} annotation({key}: {annotations[key]}): {problem}"
    return "", ""
