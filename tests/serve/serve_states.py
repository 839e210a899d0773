"""States of a workspace, made by hand: operators, what they watch, and their phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.integrations.serve.store import Store, new_store, update
from olmc.targets.proposed.installed.view import TRACKED, Installations, InstalledOperator, InstalledView


def operator(
    name: str, home: str = "ns", targets: Sequence[str] = ("",), phase: str = "Succeeded", subscription: str = ""
) -> InstalledOperator:
    """An operator that watches some namespaces."""
    labels = {"operatorframework.io/os.linux": "supported"}
    csv: dict[str, Any] = {"metadata": {"name": name, "namespace": home, "labels": labels}, "status": {"phase": phase}}
    sub: dict[str, Any] | None = {"metadata": {"name": subscription, "namespace": home}} if subscription else None
    cells = (name, home, "stable", "1.0.0", "1.0.0", phase, "", subscription or "<none>", "")
    return InstalledOperator(home, name, tuple(targets), csv, sub, cells)


def view(
    *operators: InstalledOperator,
    namespaces: Sequence[str] = ("a", "b", "ns"),
    versions: Mapping[str, int] | None = None,
) -> InstalledView:
    """A view with these operators and without packages."""
    ordered = tuple(sorted(operators, key=lambda each: (each.home, each.name)))
    counted = versions or dict.fromkeys(TRACKED, 0)
    return InstalledView(Installations(ordered, tuple(sorted(namespaces)), counted), (), (), "olm")


def feed(*views: InstalledView) -> Store:
    """A feed that has gone through these views."""
    made = new_store(views[0])
    for each in views[1:]:
        advance(made, each)
    return made


def advance(made: Store, shown: InstalledView) -> None:
    """The next state of a feed."""
    made.publish(*update(made.current, made.packages, shown))
