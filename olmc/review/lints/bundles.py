"""Bundles of the workspace: fields that are lost because nobody knows them, and Deployments that get no pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olmc.gojson import Path, unknown_keys
from olmc.model.diagnostic import Diagnostic
from olmc.model.location import Location
from olmc.model.objects import KubernetesObject, identity
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.suggestions import closest, did_you_mean
from olmc.profiles.kinds import CORE_KINDS, TYPED_KINDS
from olmc.profiles.resolve import profile_of
from olmc.review.lints.subject import Lint, Subject, of_kind
from olmc.rules import lints as rules
from olmc.settle.dropped import Dropped, dropped_fields
from olmc.settle.groups import account_exists
from olmc.yaml import locate


def unknown_fields(subject: Subject) -> Iterator[Diagnostic]:
    """Fields that OLM leaves out when it reads the CSV of a bundle (R-JSON-11)."""
    profile = profile_of(subject.options.olm_version)
    for name, bundle in sorted(subject.workspace.bundles.items()):
        alike: dict[str, list[Dropped]] = {}
        for field in dropped_fields({**bundle.csv.object, "kind": CSV_KIND}, profile, exact=False):
            alike.setdefault(_pattern(field), []).append(field)
        for pattern, (first, *more) in alike.items():
            rule = rules.MISSPELT_IN_BUNDLE if first.meant else rules.UNKNOWN_IN_BUNDLE
            times = f" ({len(more) + 1} times)" if more else ""
            yield rule.finding(
                locate(bundle.csv.source, first.keys, of_key=True),
                csv=name, where=f"{pattern if more else first.where}{times}", effect=first.consequence, hint=first.hint,
                owner=f"OLM {profile.name}" if first.version else "OLM",
            )  # fmt: skip


class _Lost(NamedTuple):
    """A key that is lost: the keys that lead to it, and the fields that could stand there."""

    keys: Path
    others: tuple[str, ...]


def lost_keys(subject: Subject) -> Iterator[Diagnostic]:
    """Keys of a bundle's other objects that are lost when OLM or the API server decodes them (R-JSON-11).

    One that is lost at several places of an object is told once.
    """
    for name, bundle in sorted(subject.workspace.bundles.items()):
        for manifest in (file.manifest for file in bundle.files):
            alike: dict[str, list[_Lost]] = {}
            for lost in _lost(manifest.object):
                alike.setdefault(str(lost.keys[-1]), []).append(lost)
            for key, (first, *more) in alike.items():
                where = ".".join(map(str, first.keys))
                yield rules.LOST_KEY.finding(
                    locate(manifest.source, first.keys, of_key=True),
                    csv=name, identity=identity(manifest.object),
                    where=f"{where} (and {len(more)} more {key})" if more else where,
                    hint=did_you_mean(closest(key, first.others)) or "Remove it.",
                )  # fmt: skip


def _lost(obj: KubernetesObject) -> Iterator[_Lost]:
    kind, api_version = str(obj.get("kind")), str(obj.get("apiVersion"))
    go_type = TYPED_KINDS.get((api_version, kind)) or (kind if kind in CORE_KINDS else None)
    found = unknown_keys(go_type, obj, exact=kind not in CORE_KINDS) if go_type else ()
    yield from (_Lost(keys, others) for keys, others in found if keys[0] != "status")


def _pattern(field: Dropped) -> str:
    """Where a field is, whatever the numbers of list items: a slip in one of them is mostly in all."""
    return ".".join("*" if isinstance(key, int) else str(key) for key in field.keys)


class _Pods(NamedTuple):
    """A Deployment of a CSV, the ServiceAccount that its pods run as, and the keys that lead to that."""

    deployment: str
    account: str
    keys: tuple[str | int, ...]


def missing_accounts(subject: Subject) -> Iterator[Diagnostic]:
    """Deployments of operators that would succeed, if only their ServiceAccount were there."""
    cluster = subject.settled.cluster if subject.settled is not None else None
    for name, member in sorted(cluster.members.items()) if cluster is not None else ():
        for pods in _pods(member.csv) if member.succeeded else ():
            if cluster is None or account_exists(cluster.stock, name.namespace, pods.account):
                continue
            yield rules.NO_ACCOUNT.finding(
                _place(subject, name.name, pods.keys),
                csv=name.name, deployment=pods.deployment, account=pods.account, namespace=name.namespace,
                hint=_hint(member.csv),
            )  # fmt: skip


def _pods(csv: Csv) -> Iterator[_Pods]:
    for index, deployment in enumerate(csv.deployments):
        for key in ("serviceAccountName", "serviceAccount"):
            if deployment.pod.get(key):
                above = ("spec", "install", "spec", "deployments", index, "spec", "template", "spec", key)
                yield _Pods(deployment.name, str(deployment.pod[key]), above)
                break


def _place(subject: Subject, csv: str, keys: tuple[str | int, ...]) -> Location | None:
    """Where a CSV of the workspace says it: in a bundle, or in a manifest."""
    bundle = subject.workspace.bundles.get(csv)
    found = [bundle.csv] if bundle is not None else []
    found += [each for each in of_kind(subject, CSV_KIND) if each.object["metadata"]["name"] == csv]
    return locate(found[0].source, keys) if found else None


def _hint(csv: Csv) -> str:
    named = dict.fromkeys(account or "default" for account in csv.service_account_names)
    made = f"Its permissions are for {', '.join(named)}. " if named else ""
    return f"{made}Name that account, or add a ServiceAccount to the bundle or to the workspace."


LINTS: tuple[Lint, ...] = (unknown_fields, lost_keys, missing_accounts)
