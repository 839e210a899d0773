"""The update graph of a channel as catalogs must have it (R-CAT-400, R-CAT-401)."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.model.catalog import ChannelEntry


def heads(entries: Sequence[ChannelEntry]) -> list[str]:
    """The names of the entries that no entry replaces or skips, sorted; a sound channel has one (R-CAT-401)."""
    incoming = {skip for entry in entries for skip in entry.skips}
    incoming.update(entry.replaces for entry in entries if entry.replaces)
    return sorted(entry.name for entry in entries if entry.name not in incoming)


def graph_problem(entries: Sequence[ChannelEntry]) -> tuple[str, str]:
    """What is wrong with the graph in OLM's words, and the entry to look at; ("", "") for a sound one (R-CAT-400)."""
    found = heads(entries)
    if not found:
        return "no channel head found in graph", ""
    if len(found) > 1:
        return f"multiple channel heads found in graph: {', '.join(found)}", found[0]
    by_name = {entry.name: entry for entry in entries}
    skipped = {skip for entry in entries for skip in entry.skips}
    current = found[0]
    chain = {current: 0}
    while (replaced := by_name[current].replaces) in by_name and replaced not in skipped:
        if replaced in chain:
            cycle = " -> ".join([*list(chain)[chain[replaced] :], replaced])
            return f"detected cycle in replaces chain of upgrade graph: {cycle}", current
        chain[replaced] = len(chain)
        current = replaced
    stranded = sorted(by_name.keys() - chain.keys() - skipped)
    if stranded:
        return f"channel contains one or more stranded bundles: {', '.join(stranded)}", stranded[0]
    return "", ""
