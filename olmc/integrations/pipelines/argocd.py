"""`olmc plugin argocd`: what a config management plugin of Argo CD does (cmpserver/plugin, API v2)."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.api import Compilation
from olmc.compiler.load.config import config_fields, options_from, read_config
from olmc.compiler.load.json_schema import problems
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Options
from olmc.compiler.reconcile.misspelling import possible_kinds, unknown_kinds
from olmc.compiler.render.apply_phases import defined_kinds, is_issued, second_phase
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.api.applied import SYNC_OPTIONS, annotations_of, applied_size
from olmc.k8s.api.restmapper import is_native
from olmc.k8s.api.validation.metadata import ANNOTATIONS_LIMIT
from olmc.k8s.diagnostics import POSSIBLE, Diagnostic, Report, closest, did_you_mean
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CRD_KIND, GroupKind, KubernetesObject, Rendered, gvk_of, object_key
from olmc.k8s.strconv import full_kube_version
from olmc.resources import schema
from olmc.review.explain.left_out import incomplete, output_left_out
from olmc.targets.pipeline import compile

# The settings of a rendering by the names of `schemas/render.schema.json`, wherever they come from.

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
    """Report that a setting can't be used."""
    return rules.BAD_SETTING.finding(None, where=where, problem=problem, hint=hint)


class SettingProblem(NamedTuple):
    """A problem of a setting, and its fix."""

    name: str
    text: str
    hint: str


def problems_in(settings: Mapping[str, Any]) -> list[SettingProblem]:
    """Return the problems of settings."""
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
    names = dict(kinds)
    known = possible_kinds(compilation.settled.cluster, compilation.workspace)
    for kind, hint in unknown_kinds(tuple(names), known):
        yield SettingProblem(names[kind], f"nothing is of kind {kind}", hint)


def empty_output(compilation: Compilation, path: str, hint: str) -> Diagnostic:
    """Report that a compilation gives no objects, with the reason if it is the kinds that were chosen."""
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
    given = {field for name, field in {**config_fields(), **_RUN}.items() if name in settings}
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


SYNC_WAVES = "sync-waves"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SERVER_SIDE = "ServerSideApply=true"
KEPT = ("Prune=false", "Delete=false")
SKIP_DRY_RUN = "SkipDryRunOnMissingResource=true"

_ENVIRONMENT = "ARGOCD_ENV_OLMC_"
_PARAMETERS = "ARGOCD_APP_PARAMETERS"

# The settings of an Application, and their names in the UI; the rest of each announcement comes from the schema.
_TITLES = {
    "certs": "Serving certificates",
    "include": "Only these kinds",
    "exclude": "Not these kinds",
    "approve": "Approved InstallPlans",
    "namespace": "Bundle: namespace",
    "watch": "Bundle: watched namespaces",
    "allNamespaces": "Bundle: watch all namespaces",
    "kubeVersion": "Kubernetes version",
    "olmVersion": "OLM version",
    "phase": "Phase",
    "keepGoing": "Keep going",
    "allowEmpty": "Allow empty output",
}
_WAVES_TITLE = "Sync waves"
_WAVES_HELP = (
    "Put the objects into sync waves: namespaces and CRDs, accounts and RBAC, certificates, workloads, webhooks, and "
    "last the custom resources. Where cert-manager is among the objects, they are in waves anyway."
)
_LATEST_WAVE = 2
_LATER = 3
_WAVES = {
    kind: wave
    for wave, kinds in (
        (-3, "Namespace ResourceQuota LimitRange PriorityClass CustomResourceDefinition"),
        (-2, "ServiceAccount Secret ConfigMap ClusterRole ClusterRoleBinding Role RoleBinding StorageClass "
             "PersistentVolume PersistentVolumeClaim NetworkPolicy"),
        (-1, "ClusterIssuer Issuer Certificate"),
        (0, "Service PodDisruptionBudget Deployment StatefulSet DaemonSet Job CronJob"),
        (1, "APIService MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
    )
    for kind in kinds.split()
}  # fmt: skip


class Generated(NamedTuple):
    """The output of a plugin: the objects, the findings, and whether they prevent an output."""

    objects: tuple[Rendered, ...]
    diagnostics: tuple[Diagnostic, ...]
    refused: bool = False


def generate(root: Path, environment: Mapping[str, str]) -> Generated:
    """The objects of the Application whose source is the directory `root`, ready for Argo CD to apply.

    `environment` is that of the plugin's command. What an Application sets as a parameter wins over what it sets as a
    variable, over what Argo CD says of the cluster, over the workspace's olmc.yaml.
    """
    report = Report()
    settings, waves = _settings(environment, report)
    if report.failed:
        return Generated((), tuple(report), refused=True)
    version = full_kube_version(environment.get("KUBE_VERSION", ""))
    choice = choose_options(settings, _defaults(root, environment, version))
    given = choice.given | {"purpose", "apis"} | ({"kube_version"} if version else set())
    compilation = compile(CompileRequest(root, choice.options, frozenset(given)))
    report.found.extend(compilation.diagnostics)
    for name, problem, meant in find_misspelt(settings, compilation):
        report.add(bad_setting(name, problem, meant))
    if not compilation.objects and not compilation.failed and not settings.get("allowEmpty"):
        hint = "If that is what you want, set the parameter allow-empty to true: with pruning, it deletes everything."
        source = environment.get("ARGOCD_APP_SOURCE_PATH") or "the source of the Application"
        report.add(empty_output(compilation, source, hint))
    if compilation.missing and not compilation.failed and not settings.get("keepGoing"):
        how = "set the parameter keep-going to true"
        report.add(incomplete(compilation.missing, done="printed", keep_going=how))
        return Generated((), tuple(report), refused=True)
    objects = tuple(_for_argo(compilation.objects, compilation.options.kube_version, waves=waves))
    return Generated(objects, tuple(report), refused=report.failed)


def _defaults(root: Path, environment: Mapping[str, str], kube_version: str) -> Options:
    """The options that Argo CD's own variables and the workspace's list of APIs come to."""
    namespace = environment.get("ARGOCD_APP_NAMESPACE", "")
    served = (api for api in environment.get("KUBE_API_VERSIONS", "").split(",") if api.count("/") == 2)
    listed = read_config(root, Report()).get("apis") or ()
    return Options(
        purpose="apply",
        tool="argocd",
        kube_version=kube_version or Options().kube_version,
        apis=tuple(dict.fromkeys((*listed, *served))),
        default_namespace=namespace or "default",
        install_namespace=namespace,
    )


def _settings(environment: Mapping[str, str], report: Report) -> tuple[dict[str, Any], bool]:
    """The settings of an Application by their names in YAML, and whether it wants sync waves."""
    settings: dict[str, Any] = {}
    where: dict[str, str] = {}
    # Parameters come second, and so win over variables.
    for name, variable, text in sorted(_variables(environment)):
        settings[name], where[name] = parse_value(name, text), f"the variable {variable}"
    for name, value in _parameters(environment.get(_PARAMETERS, ""), report):
        # Argo CD sends what a form left empty as well.
        if value not in ("", None) and (name, value) != ("watch", []):
            settings[by_its_name(name)], where[by_its_name(name)] = value, f"the parameter {name}"
    waves = str(settings.pop(SYNC_WAVES, "false")).lower()
    if waves not in ("true", "false"):
        report.add(bad_setting(where[SYNC_WAVES], f"{waves!r} is neither true nor false", _WAVES_HELP))
    names = (*(option_name(title) for title in _TITLES), SYNC_WAVES)
    for name in [name for name in settings if name in known_settings() and name not in _TITLES]:
        report.add(bad_setting(where[name], "an Application can't set it", f"It can set {', '.join(names)}."))
        del settings[name]
    for problem in problems_in(settings):
        hint = problem.hint if problem.name in known_settings() else f"There are {', '.join(names)}."
        report.add(bad_setting(where[problem.name], problem.text, hint))
    return settings, waves == "true"


def _variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Settings that the Application's env has: the setting, the variable as the Application calls it, its text."""
    for key, text in environment.items():
        if key.startswith(_ENVIRONMENT) and text:
            option = key.removeprefix(_ENVIRONMENT).lower().replace("_", "-")
            yield by_its_name(option), key.removeprefix("ARGOCD_ENV_"), text


def _parameters(text: str, report: Report) -> Iterator[tuple[str, Any]]:
    """The parameters that an Application sets, in order; announced defaults are not among them."""
    hint = "Argo CD sets it from spec.source.plugin.parameters of the Application."
    try:
        listed = (unmarshal(text) if text.strip() else None) or []
    except ValueError as error:
        report.add(bad_setting(_PARAMETERS, f"it is no JSON: {error}", hint))
        return
    if not isinstance(listed, list):
        report.add(bad_setting(_PARAMETERS, "it is no list", hint))
        return
    for item in listed:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            problem = f"{json.dumps(item)} has no name"
            report.add(bad_setting(_PARAMETERS, problem, "Give each parameter a name and a value."))
            continue
        if "map" in item:
            report.add(bad_setting(f"the parameter {name}", "it can't be a map", "Give it as string or as array."))
        elif "array" in item:
            yield name, item["array"]
        else:
            yield name, parse_value(by_its_name(name), str(item.get("string") or ""))


def _for_argo(objects: Sequence[Rendered], kube_version: str, *, waves: bool) -> Iterator[Rendered]:
    """The objects with the annotations by which Argo CD applies them in the right way and order, and keeps them."""
    plain = [rendered.object for rendered in objects]
    kinds, second = defined_kinds(plain), second_phase(plain)
    # The objects that cert-manager fills in must exist before their readers, so they can't go in one wave.
    waves = waves or any(is_issued(obj) and object_key(obj) in second for obj in plain)
    for rendered in objects:
        obj = _without_aggregated_rules(rendered.object)
        if waves:
            wave = _WAVES.get(obj["kind"], _LATEST_WAVE) + _LATER * (rendered.identity in second)
            obj = _annotated(obj, SYNC_WAVE, str(wave))
        for option in _options_for(obj, kinds, kube_version):
            obj = _annotated(obj, SYNC_OPTIONS, option)
        yield Rendered(obj, rendered.provenance)


def _options_for(obj: KubernetesObject, kinds: Container[GroupKind], kube_version: str) -> Iterator[str]:
    """The sync options that an object needs; what it says itself of the same matter counts."""
    # On the client's side Argo CD would keep the object in an annotation that no cluster takes.
    if applied_size(obj) > ANNOTATIONS_LIMIT:
        yield SERVER_SIDE
    if obj["kind"] in KEPT_KINDS:
        given = {option.partition("=")[0].strip() for option in annotations_of(obj).get(SYNC_OPTIONS, "").split(",")}
        yield from (option for option in KEPT if option.partition("=")[0] not in given)
    api = gvk_of(obj)
    # Its CRD is not here, so it may come with something that this very sync creates.
    if api.group_kind not in kinds and not is_native(api, kube_version):
        yield SKIP_DRY_RUN


def _without_aggregated_rules(obj: KubernetesObject) -> KubernetesObject:
    """A ClusterRole whose rules the cluster fills in is compared without them."""
    if obj["kind"] == "ClusterRole" and obj.get("aggregationRule"):
        return {key: value for key, value in obj.items() if key != "rules"}
    return obj


def _annotated(obj: KubernetesObject, key: str, value: str) -> KubernetesObject:
    """The object with an annotation; sync options are added to those that there are, a wave is left as it is."""
    annotations = dict(obj["metadata"].get("annotations") or {})
    options = [option.strip() for option in str(annotations.get(key, "")).split(",") if option.strip()]
    # The author of the object knows better.
    if key == SYNC_WAVE and options:
        return obj
    annotations[key] = ",".join(dict.fromkeys((*options, value)))
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def announcements(config: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The parameters that an Application can set, each with its default, in the format of `parameters.static`.

    `config` is the spec of the workspace's olmc.yaml, whose values are the defaults there.
    """
    announced = [_announcement(name, title, (config or {}).get(name)) for name, title in _TITLES.items()]
    waves = {"name": SYNC_WAVES, "title": _WAVES_TITLE, "tooltip": _WAVES_HELP}
    return [*announced, {**waves, "itemType": "boolean", "collectionType": "string", "string": "false"}]


def _announcement(name: str, title: str, preset: Any) -> dict[str, Any]:
    setting = known_settings()[name]
    kind = setting.get("type")
    announcement: dict[str, Any] = {
        "name": option_name(name),
        "title": title,
        "tooltip": setting["description"],
        "itemType": "boolean" if kind == "boolean" else "string",
        "collectionType": "array" if kind == "array" else "string",
    }
    default = preset if preset is not None else setting.get("default")
    if name == "kubeVersion":
        return {**announcement, "tooltip": f"{announcement['tooltip']} Without it, that of the destination cluster."}
    if kind == "array":
        return {**announcement, "array": list(default or ())}
    if default is None:
        return announcement
    return {**announcement, "string": str(default).lower() if kind == "boolean" else str(default)}


def parameters(root: Path) -> tuple[str, tuple[Diagnostic, ...]]:
    """The announcements for the workspace at `root` as JSON; where its olmc.yaml can't be read, those without it."""
    report = Report()
    listed = announcements(read_config(root, report))
    return json.dumps(listed, indent=2, ensure_ascii=False) + "\n", tuple(report)
