"""What a workspace says about itself: its olmc.yaml, what it leaves out, and which findings somebody accepts.

Whoever changes these changes what a review gets to see, so a review says it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmc.load.builds import builder
from olmc.load.config import CONFIG_FILE
from olmc.load.files import IGNORE_FILE
from olmc.load.suppressions import Suppression
from olmc.model.diagnostic import Severity
from olmc.model.objects import Identity
from olmc.review.diff.change import Change, Gravity, Group, Sentence, Sign, shown
from olmc.review.diff.fields import from_to, sign_of
from olmc.review.diff.sides import Settings, Side
from olmc.review.diff.values import deltas, path_text

__all__ = [
    "BuildAdded", "BuildChanged", "BuildRemoved", "PatternAdded", "PatternRemoved", "SettingChanged",
    "SuppressionAdded", "SuppressionRemoved", "file_identity", "setting_changes",
]  # fmt: skip

_NARROWING = frozenset({"exclude", "for", "ignore", "include"})
"""Settings that decide what there is to see."""


@dataclass(frozen=True)
class SettingChanged:
    """A setting of olmc.yaml with another value, or one that comes or goes; `path` as `spec.exclude`."""

    identity: Identity
    path: str
    old: Any
    new: Any
    is_narrowing: bool

    group = Group.SETTINGS

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.is_narrowing else Gravity.CHANGE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        effect = "; it decides what is compiled, and does not count here" if self.is_narrowing else ""
        return (shown(self.path), *from_to(self.old, self.new), effect)


@dataclass(frozen=True)
class PatternAdded:
    """A line of .olmcignore that only the new side has."""

    identity: Identity
    pattern: str

    group = Group.SETTINGS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.pattern.startswith("!") else Gravity.RISK

    def sentence(self) -> Sentence:
        verb = "takes back in what matches " if self.pattern.startswith("!") else "leaves out what matches "
        return (verb, shown(self.pattern.removeprefix("!")), "; it does not count here")


@dataclass(frozen=True)
class PatternRemoved:
    """A line of .olmcignore that only the old side has."""

    identity: Identity
    pattern: str

    group = Group.SETTINGS
    sign = Sign.REMOVED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.pattern.startswith("!") else Gravity.CHANGE

    def sentence(self) -> Sentence:
        verb = "takes back in what matches " if self.pattern.startswith("!") else "leaves out what matches "
        return ("no longer ", verb, shown(self.pattern.removeprefix("!")), "; it still counts here")


@dataclass(frozen=True)
class SuppressionAdded:
    """A finding that somebody accepts from now on, by a comment in a file or in olmc.yaml; `files` is the pattern of
    the files for which olmc.yaml accepts it."""

    identity: Identity
    code: str
    reason: str
    files: str
    is_grave: bool

    group = Group.SETTINGS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.is_grave else Gravity.CHANGE

    def sentence(self) -> Sentence:
        return ("accepts ", *_accepted(self.code, self.reason, self.files))


@dataclass(frozen=True)
class SuppressionRemoved:
    """A finding that nobody accepts any more; the fields are those of SuppressionAdded."""

    identity: Identity
    code: str
    reason: str
    files: str

    group = Group.SETTINGS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer accepts ", *_accepted(self.code, self.reason, self.files))


@dataclass(frozen=True)
class BuildAdded:
    """A file that only the new side has, by which `tool` builds what is applied of its folder."""

    identity: Identity
    tool: str

    group = Group.SETTINGS
    gravity = Gravity.RISK
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("new: GitOps tools build this folder with ", self.tool, ", which olmc does not follow")


@dataclass(frozen=True)
class BuildChanged:
    """Such a file that both sides have, with another content; the fields are those of BuildAdded."""

    identity: Identity
    tool: str

    group = Group.SETTINGS
    gravity = Gravity.RISK
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return ("another content: GitOps tools build this folder with ", self.tool, ", which olmc does not follow")


@dataclass(frozen=True)
class BuildRemoved:
    """Such a file that only the old side has: what is applied of the folder is no longer what it made of it."""

    identity: Identity
    tool: str

    group = Group.SETTINGS
    gravity = Gravity.RISK
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("gone: GitOps tools no longer build this folder with ", self.tool, " by it, which olmc did not follow")


def _accepted(code: str, reason: str, files: str) -> Sentence:
    where: Sentence = (" in ", shown(files)) if files else ()
    return (shown(code or "nothing"), *where, *((": ", shown(reason)) if reason else (", without a reason",)))


def file_identity(path: str) -> Identity:
    """What a file of a workspace is called among objects."""
    return Identity("", "File", "", path)


def setting_changes(old: Side, new: Side) -> Iterator[Change]:
    """How two workspaces differ in what they say about themselves; nothing for renderings, which say nothing."""
    if old.settings is None or new.settings is None:
        return
    yield from _config(old.settings, new.settings)
    yield from _patterns(old.settings.ignore_lines, new.settings.ignore_lines)
    yield from _suppressions(old.settings.suppressions, new.settings.suppressions)
    yield from _builds(old.settings.builds, new.settings.builds)


def _config(old: Settings, new: Settings) -> Iterator[SettingChanged]:
    before, after = ({key: value for key, value in side.config.items() if key != "suppress"} for side in (old, new))
    for delta in deltas(before, after, ("spec",)):
        is_narrowing = len(delta.path) > 1 and delta.path[1] in _NARROWING
        yield SettingChanged(file_identity(CONFIG_FILE), path_text(delta.path), delta.old, delta.new, is_narrowing)


def _patterns(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[Change]:
    identity = file_identity(IGNORE_FILE)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    yield from (PatternAdded(identity, pattern) for pattern in sorted(come))
    yield from (PatternRemoved(identity, pattern) for pattern in sorted(gone))
    if old != new and not gone and not come:  # of patterns that contradict each other, the last one counts
        yield SettingChanged(identity, "order", list(old), list(new), is_narrowing=True)


def _suppressions(old: Iterable[Suppression], new: Iterable[Suppression]) -> Iterator[Change]:
    before, after = Counter(map(_key, old)), Counter(map(_key, new))
    grave = _grave_codes() if after - before else frozenset()
    for path, code, files, reason in sorted((after - before).elements()):
        yield SuppressionAdded(file_identity(path), code, reason, files, code in grave)
    for path, code, files, reason in sorted((before - after).elements()):
        yield SuppressionRemoved(file_identity(path), code, reason, files)


def _builds(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for path in sorted(old.keys() | new.keys()):
        identity, tool = file_identity(path), builder(path)
        if path not in old:
            yield BuildAdded(identity, tool)
        elif path not in new:
            yield BuildRemoved(identity, tool)
        elif old[path] != new[path]:
            yield BuildChanged(identity, tool)


def _key(suppression: Suppression) -> tuple[str, str, str, str]:
    return suppression.place.path, suppression.code, suppression.pattern, suppression.reason


def _grave_codes() -> frozenset[str]:
    """The codes of findings that are more than warnings."""
    from olmc.rules.catalogue import all_rules  # it imports every module of rules

    return frozenset(rule.code for rule in all_rules() if rule.severity >= Severity.FAILURE)
