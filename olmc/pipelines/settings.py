"""The settings of a rendering by the names of `schemas/render.schema.json`, wherever they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.api import Compilation
from olmc.diagnostics.rules import output as rules
from olmc.lean import NamedTuple
from olmc.load.config import FIELDS, options_from
from olmc.load.json_schema import problems
from olmc.model.diagnostics import POSSIBLE, Diagnostic, closest, did_you_mean
from olmc.model.objects import CRD_KIND
from olmc.model.options import Options, full_kube_version
from olmc.resources import schema

# The fields of Options that are chosen for a run, which olmc.yaml therefore doesn't have.
_RUN = {
    "allowSharedApi": "shared_apis",
    "approveInstalls": "approve_installs",
    "as": "user",
    "asGroup": "user_groups",
    "migrateSubscriptions": "migrate_subscriptions",
    "componentLabel": "component_label",
    "phase": "phase",
}
# Deleting one of these deletes what others have put there: everything in a namespace, every custom resource.
KEPT_KINDS = ("Namespace", CRD_KIND)
_FLAGS = {"true": True, "false": False}


class Chosen(NamedTuple):
    """The options that settings come to, and the fields of them that a workspace's olmc.yaml may not override."""

    options: Options
    given: frozenset[str]


def known_settings() -> Mapping[str, Mapping[str, Any]]:
    """The JSON Schema of each setting by its name."""
    settings: Mapping[str, Mapping[str, Any]] = schema("render")["properties"]["spec"]["properties"]
    return settings


def by_its_name(name: str) -> str:
    """A setting's name as YAML has it, for one written as on the command line (`kube-version` is `kubeVersion`)."""
    return {option_name(setting): setting for setting in known_settings()}.get(name, name)


def option_name(name: str) -> str:
    """A setting's name as the command line has it."""
    plain = name.replace("CSVs", "Csvs").replace("CRD", "Crd")
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in plain)


def parse_value(name: str, text: str) -> Any:
    """The value of a setting that is given as text: `true` and `false`, numbers, and lists with commas between their
    items."""
    kind = known_settings().get(name, {}).get("type")
    if kind == "array":
        return [item.strip() for item in text.split(",") if item.strip()]
    if kind == "integer" and re.fullmatch("[0-9]{1,9}", text.strip()):
        return int(text)
    return _FLAGS.get(text.strip().lower(), text) if kind == "boolean" else text


def bad_setting(where: str, problem: str, hint: str) -> Diagnostic:
    """That a setting can't be used."""
    return rules.BAD_SETTING.finding(None, where=where, problem=problem, hint=hint)


class SettingProblem(NamedTuple):
    """What is wrong with a setting, and what to do about it."""

    name: str
    text: str
    hint: str


def problems_in(settings: Mapping[str, Any]) -> list[SettingProblem]:
    """What is wrong with settings."""
    known = known_settings()
    wrong = [SettingProblem(name, "there is no such setting", _meant(name)) for name in settings if name not in known]
    spec = {name: value for name, value in settings.items() if name in known}
    for broken in problems("render", {"apiVersion": "olmc.dev/v1alpha1", "kind": "Render", "spec": spec}):
        name = str(broken.keys[1])
        wrong.append(SettingProblem(name, broken.text, f"{name}: {known[name]['description']}"))
    if not wrong and settings.get("watch") and settings.get("allNamespaces"):
        wrong.append(SettingProblem("watch", "it can't go together with allNamespaces", "Give one of the two."))
    return wrong


def find_misspelt(settings: Mapping[str, Any], compilation: Compilation) -> Iterator[SettingProblem]:
    """Kinds in settings that nothing is of."""
    kinds = [(kind, name) for name in ("include", "exclude") for kind in settings.get(name, ())]
    if not kinds or compilation.settled is None:
        return
    from olmc.reconcile.misspelling import possible_kinds, unknown_kinds

    names = dict(kinds)
    known = possible_kinds(compilation.settled.cluster, compilation.workspace)
    for kind, hint in unknown_kinds(tuple(names), known):
        yield SettingProblem(names[kind], f"nothing is of kind {kind}", hint)


def empty_output(compilation: Compilation, path: str, hint: str) -> Diagnostic:
    """That a compilation gives no objects, with the reason if it is the kinds that were chosen."""
    from olmc.explain.left_out import output_left_out

    settled = compilation.settled
    reason = output_left_out([(settled.cluster, compilation.options)]) if settled is not None else None
    problem, there_is = reason if reason is not None else ("", "")
    hint = f"{there_is} {hint}".strip()
    return rules.NOTHING_TO_RENDER.finding(None, path=path, problem=problem, hint=hint)


def _meant(name: str) -> str:
    return did_you_mean(closest(name, known_settings(), POSSIBLE)) or f"There are {', '.join(known_settings())}."


def choose_options(settings: Mapping[str, Any], base: Options | None = None) -> Chosen:
    """The options for settings without a problem (`problems_in`)."""
    options = options_from(settings, base or Options(), frozenset())
    given = {field for name, field in (FIELDS | _RUN).items() if name in settings}
    run: dict[str, Any] = {}
    for name in _RUN.keys() & settings.keys():
        value = settings[name]
        run[_RUN[name]] = tuple(value) if isinstance(value, list) else value
    if settings.get("flux"):
        run["tool"] = "flux"
    version = full_kube_version(options.kube_version) or options.kube_version
    watch = () if settings.get("allNamespaces") else settings.get("watch")
    return Chosen(
        options._replace(
            kube_version=version,
            install_namespace=settings.get("namespace") or options.install_namespace,
            watch=tuple(watch) if watch is not None else None,
            **run,
        ),
        frozenset(given),
    )
