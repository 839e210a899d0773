"""`olmc migrate` at the root of a repository: a file changes only if it changes alike for all clusters that use it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.repository import ClusterPart
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.migration import Migration, left_alone
from olmc.k8s.diagnostics import FileChange, Severity, Source, join_limited
from olmc.review.migrate.proposed import config_text

MigratePart = Callable[[CompileRequest, str], Migration]
"""Migrate what a request means, with a text of olmc.yaml."""

_SHOWN = 6


def migrate_repository(root: Path, parts: Sequence[ClusterPart], migrate: MigratePart) -> Migration:
    """Migrate the clusters of a repository; return the changes to its files, each once.

    A cluster stays as it is where another one uses a file of it and does not change it in the same way.
    """
    config = config_text(root)
    requests = [CompileRequest(root, part=part) for part in parts]
    done = [migrate(request, config) for request in requests]
    errors = [remark for each in done if each.failed for remark in each.remarks if remark.severity is Severity.ERROR]
    if errors:
        return Migration((), tuple(dict.fromkeys(errors)))
    stays = _disagreeing(parts, done)
    moving = [number for number, each in enumerate(done) if each.changes and number not in stays]
    if len({_config_change(done[number]) for number in moving}) > 1:
        for number in moving:
            done[number] = migrate(requests[number], config)
            change = _config_change(done[number])
            config = change.after if change is not None else config
    changes = {change.path: change for number in moving for change in done[number].changes}
    before = config_text(root)
    if CONFIG_FILE in changes:
        changes[CONFIG_FILE] = FileChange(CONFIG_FILE, before, changes[CONFIG_FILE].after)
    remarks = dict.fromkeys(
        remark for number, each in enumerate(done) for remark in each.remarks if number not in stays
    )
    left = (
        left_alone(f"cluster {parts[number].cluster.title}", Source(path, ""), _why(path, users, parts))
        for number, (path, users) in stays.items()
    )
    return Migration(tuple(sorted(changes.values())), (*remarks, *left))


def _config_change(migration: Migration) -> FileChange | None:
    return next((change for change in migration.changes if change.path == CONFIG_FILE), None)


def _disagreeing(parts: Sequence[ClusterPart], done: Sequence[Migration]) -> Mapping[int, tuple[str, tuple[int, ...]]]:
    """The numbers of the clusters that can't change a file, each with the file and those that use it otherwise."""
    users: defaultdict[str, list[int]] = defaultdict(list)
    for number, part in enumerate(parts):
        for path in {manifest.source.path for content in part.contents for manifest in content.found.manifests}:
            users[path].append(number)
    texts = [{change.path: change.after for change in each.changes if change.path != CONFIG_FILE} for each in done]
    stays: dict[int, tuple[str, tuple[int, ...]]] = {}
    is_settled = False
    while not is_settled:
        is_settled = True
        for number, changed in enumerate(texts):
            for path in sorted(changed) if number not in stays else ():
                others = [u for u in users[path] if u in stays or texts[u].get(path) != changed[path]]
                if others:
                    stays[number] = path, tuple(others)
                    is_settled = False
                    break
    return stays


def _why(path: str, users: Sequence[int], parts: Sequence[ClusterPart]) -> str:
    names = join_limited([parts[number].cluster.title for number in users], _SHOWN)
    return f"{path} would change for {names} as well, where this migration does not make the same change"
