"""The kinds of changes of settings and of what is left out: whoever changes these changes what a review gets to see."""

from __future__ import annotations

from typing import Any

from olmc.diff.change import (
    ADDED,
    CHANGE,
    CHANGED,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    change_kind,
    from_to,
    listed,
    shown,
)

_MOST = 12


@change_kind("SettingChanged", ChangeGroup.SETTINGS)
def setting_changed(path: str, old: Any, new: Any, is_narrowing: bool) -> Judgement:
    """A setting of olmc.yaml with another value, or one that comes or goes; `path` as `spec.exclude`."""
    effect = "; it decides what is compiled, and does not count here" if is_narrowing else ""
    return RISK if is_narrowing else CHANGE, (shown(path), *from_to(old, new), effect)


@change_kind("PatternAdded", ChangeGroup.SETTINGS, ADDED)
def pattern_added(pattern: str) -> Judgement:
    """A line of .olmcignore that only the new side has."""
    severity = CHANGE if pattern.startswith("!") else RISK
    return severity, (*_effect(pattern), "; it does not count here")


@change_kind("PatternRemoved", ChangeGroup.SETTINGS, REMOVED)
def pattern_removed(pattern: str) -> Judgement:
    """A line of .olmcignore that only the old side has."""
    severity = RISK if pattern.startswith("!") else CHANGE
    return severity, ("no longer ", *_effect(pattern), "; it still counts here")


def _effect(pattern: str) -> Message:
    verb = "takes back in what matches " if pattern.startswith("!") else "leaves out what matches "
    return (verb, shown(pattern.removeprefix("!")))


@change_kind("SuppressionAdded", ChangeGroup.SETTINGS, ADDED)
def suppression_added(code: str, reason: str, files: str, is_grave: bool) -> Judgement:
    """A finding that somebody accepts from now on, by a comment in a file or in olmc.yaml; `files` is the pattern of
    the files for which olmc.yaml accepts it."""
    return RISK if is_grave else CHANGE, ("accepts ", *_accepted(code, reason, files))


@change_kind("SuppressionRemoved", ChangeGroup.SETTINGS, REMOVED)
def suppression_removed(code: str, reason: str, files: str) -> Judgement:
    """A finding that nobody accepts any more; the values are those of SuppressionAdded."""
    return CHANGE, ("no longer accepts ", *_accepted(code, reason, files))


def _accepted(code: str, reason: str, files: str) -> Message:
    where: Message = (" in ", shown(files)) if files else ()
    return (shown(code or "nothing"), *where, *((": ", shown(reason)) if reason else (", without a reason",)))


@change_kind("BuildAdded", ChangeGroup.SETTINGS, ADDED)
def build_added(tool: str) -> Judgement:
    """A file that only the new side has, by which `tool` builds what is applied of its folder, and olmc does not."""
    return RISK, ("new: GitOps tools build this folder with ", tool, ", which olmc does not follow")


@change_kind("BuildChanged", ChangeGroup.SETTINGS, CHANGED)
def build_changed(tool: str) -> Judgement:
    """Such a file that both sides have, with another content."""
    return RISK, ("another content: GitOps tools build this folder with ", tool, ", which olmc does not follow")


@change_kind("BuildRemoved", ChangeGroup.SETTINGS, REMOVED)
def build_removed(tool: str) -> Judgement:
    """Such a file that only the old side has: what is applied of the folder is no longer what it made of it."""
    return RISK, ("gone: GitOps tools no longer build this folder with ", tool, " by it, which olmc did not follow")


@change_kind("BuildReadsAdded", ChangeGroup.SETTINGS, ADDED)
def build_reads_added(tool: str, files: tuple[str, ...]) -> Judgement:
    """Files that only the new side has, and that `tool` reads to build the folder of this one."""
    return RISK, ("more to build this with: ", *listed(files, _MOST), *_read_by(tool))


@change_kind("BuildReadsChanged", ChangeGroup.SETTINGS, CHANGED)
def build_reads_changed(tool: str, files: tuple[str, ...]) -> Judgement:
    """Such files that both sides have, with another content."""
    return RISK, ("another content of what this is built with: ", *listed(files, _MOST), *_read_by(tool))


@change_kind("BuildReadsRemoved", ChangeGroup.SETTINGS, REMOVED)
def build_reads_removed(tool: str, files: tuple[str, ...]) -> Judgement:
    """Such files that only the old side has, or that the build no longer reads."""
    return RISK, ("no longer there to build this with: ", *listed(files, _MOST), *_read_by(tool))


def _read_by(tool: str) -> Message:
    return ("; GitOps tools build this folder with ", tool, ", which olmc does not follow")


@change_kind("LeftOutAdded", ChangeGroup.SETTINGS, ADDED)
def left_out_added(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are left out from now on: in a file, or in all files of a folder that are left out for one reason.

    Whatever tool applies the whole folder would apply them. `unread` says what there may be besides, "" for nothing.
    """
    return RISK, ("left out, and applied by other tools: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutChanged", ChangeGroup.SETTINGS, CHANGED)
def left_out_changed(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are left out on both sides, and not the same; the values are those of LeftOutAdded."""
    return RISK, ("left out on both sides, and another: ", *_content(objects, unread), f"; {reason}")


@change_kind("LeftOutRemoved", ChangeGroup.SETTINGS, REMOVED)
def left_out_removed(reason: str, objects: tuple[str, ...], unread: str) -> Judgement:
    """Objects that are no longer left out, or no longer there; the values are those of LeftOutAdded."""
    return CHANGE, ("no longer among what is left out: ", *_content(objects, unread), f"; {reason}")


def _content(objects: tuple[str, ...], unread: str) -> Message:
    return (*listed(objects, _MOST), " and " * bool(objects and unread), unread)
