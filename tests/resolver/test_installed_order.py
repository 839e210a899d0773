"""What installed operators left behind is the same whatever the order of the files."""

from __future__ import annotations

import json
from pathlib import Path

from scenarios import workspace, write

import olmc


def test_the_order_of_subscriptions_does_not_say_who_left_a_crd_behind(tmp_path: Path) -> None:
    """Two installed operators could have made the same CRD; one of them did, and always the same one."""
    catalog = ["p.v1 1.0.0 p/s provides B image", "q.v1 1.0.0 q/s provides B image"]
    installed = ["p.v1 1.0.0 by p", "q.v1 1.0.0 by q"]
    files = workspace({"catalog": catalog, "subs": ["p p/s", "q q/s"], "installed": installed})
    listed = json.loads(files["cluster.json"])
    listed["items"].reverse()
    first = olmc.compile(write(tmp_path / "one", files))
    second = olmc.compile(write(tmp_path / "two", files | {"cluster.json": json.dumps(listed)}))
    assert [each.object for each in second.objects] == [each.object for each in first.objects]
