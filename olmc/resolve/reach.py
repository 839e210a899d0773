"""Which way the upgrades of a channel go (R-CAT-410, R-CAT-415)."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.model.resolution import Candidate, Present
from olmc.resolve.channels import ordered, upgrades
from olmc.resolve.view import item_of_candidate, item_of_present


def stops(entries: Sequence[Candidate], installed: Present) -> tuple[str, ...]:
    """The CSVs that upgrades in a channel pass, from what is installed to where they end or come round again.

    Each hop leads to the first entry in the channel's order that is an upgrade. Raises channels.ChannelError.
    """
    chain = ordered([item_of_candidate(entry) for entry in entries])
    current = item_of_present(installed, "")
    passed = [current.name]
    while True:
        following = next((item for item in chain if upgrades(item, current)), None)
        if following is None or following.name in passed:
            return tuple(passed)
        passed.append(following.name)
        current = following
