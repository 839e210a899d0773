"""Rules about `olmc.lock` and pins."""

from __future__ import annotations

from olmc.model.causes import LockFault
from olmc.model.diagnostic import Severity
from olmc.rules.rule import Rule

BAD_LOCK = Rule(
    "OLMC530",
    Severity.ERROR,
    "olmc.lock is not valid",
    "olmc.lock: {where}: {problem}",
    "Write it anew with `olmc resolve --update`, and if it listed images, with `olmc vendor`.",
    "The lock is written by olmc; one that can't be read would silently let other versions in.",
)
NOT_LOCKED = Rule(
    "OLMC531",
    Severity.ERROR,
    "olmc.lock no longer holds",
    "olmc.lock does not fit namespace {namespace}: {text}",
    "Look at what moved with `olmc resolve --update`, and commit the new lock.",
    "With a lock, the versions that were reviewed are the ones that are rendered. If they can't be had any more, or if "
    "more is needed than was reviewed, olmc stops rather than choosing something else.",
    cause=LockFault.UNMET,
)
MOVED = Rule(
    "OLMC532",
    Severity.WARNING,
    "A locked operator has changed",
    "{name} in namespace {namespace} is no longer what olmc.lock was written for: its catalog entry or its bundle "
    "changed",
    "Look at the change, then run `olmc resolve --update`.",
    "The lock holds a digest of the catalog's entry and the bundle's content: a version can't change unnoticed.",
    cause=LockFault.CHANGED,
)
PIN_IMPOSSIBLE = Rule(
    "OLMC533",
    Severity.ERROR,
    "A pin can't be set",
    "{package} can't be pinned to {version}: {text}",
    "{hint}",
    "A pin sets startingCSV and manual approval on the Subscription. It has to name an entry of the channel, and one "
    "that can be reached from what is installed.",
)
