"""What is misspelt in the manifests of a workspace, so that a cluster does something else than they seem to say."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.kube.builtin_kinds import versions_of
from olmc.model.diagnostic import Diagnostic, Report
from olmc.model.gvk import gvk_of
from olmc.model.objects import spec_of
from olmc.model.operators import OLM_GROUP
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.suggestions import closest
from olmc.model.workspace import Manifest, Workspace
from olmc.profiles.resolve import profile_of
from olmc.rules import misspelt as rules
from olmc.settle.dropped import dropped_fields
from olmc.settle.strange_kinds import name_of, strange_kind
from olmc.yaml import locate

_APPROVALS = ("Automatic", "Manual")


def check_spelling(workspace: Workspace, options: Options, report: Report) -> None:
    """Report kinds that are none, fields of OLM's objects that are dropped, and approvals that mean something else."""
    profile = profile_of(options.olm_version)
    for manifest in workspace.manifests:
        strange = strange_kind(manifest, workspace, profile, options)
        api = gvk_of(manifest.object)
        if strange is not None:
            report.add(strange)
        elif api.group == OLM_GROUP and api.version in versions_of(api.group_kind):
            for diagnostic in (*_fields(manifest, profile), *_approval(manifest)):
                report.add(diagnostic)


def _fields(manifest: Manifest, profile: Profile) -> Iterator[Diagnostic]:
    obj = manifest.object
    for field in dropped_fields(obj, profile):
        place = locate(manifest.source, field.keys, of_key=True)
        yield rules.DROPPED_FIELD.finding(
            place,
            kind=obj["kind"],
            name=name_of(obj),
            where=field.where,
            owner=f"OLM {profile.name}",
            why="makes no use of" if field.version else "does not know: the API server drops it",
            effect=field.consequence,
            hint=field.hint,
        )


def _approval(manifest: Manifest) -> Iterator[Diagnostic]:
    """An approval of a Subscription that OLM takes for Automatic although it does not say so (R-CAT-602)."""
    obj = manifest.object
    text = spec_of(obj).get("installPlanApproval") if obj["kind"] == "Subscription" else ""
    if text and text not in _APPROVALS:
        meant = closest(text, _APPROVALS) or "Manual or Automatic"
        place = locate(manifest.source, ("spec", "installPlanApproval"))
        yield rules.NOT_MANUAL.finding(place, name=name_of(obj), text=text, meant=meant)
