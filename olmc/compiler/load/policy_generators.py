"""PolicyGenerators: the Policies that the one of Open Cluster Management makes of manifests (R-OCM-16 … R-OCM-19).

kustomize runs it as a plugin, which olmc does not; what it puts around manifests is plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import MAX_FILE_BYTES, mode_of
from olmc.k8s.api.applied import is_object
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import POLICY_GROUP, KubernetesObject, as_text, mapping, mappings
from olmc.k8s.yaml import read

_DEFAULTS = {"complianceType": "musthave", "remediationAction": "inform", "severity": "low"}
_SUFFIXES = (".yaml", ".yml")
_RAW_KEYS = ({"object-templates"}, {"object-templates-raw"})
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


class GenerationError(Exception):
    """The reason why a PolicyGenerator makes nothing, as the end of a sentence."""


Build = Callable[[Path], list[KubernetesObject]]
"""A function that builds a folder with a kustomization; raises GenerationError."""
Patch = Callable[[list[dict[str, Any]], list[Mapping[str, Any]]], list[dict[str, Any]]]
"""Objects with patches applied to them; raises GenerationError."""


class _Tools(NamedTuple):
    """The folder of the kustomization, and what kustomize does for the generator."""

    folder: Path
    build: Build
    patch: Patch


def is_generator(value: Any) -> bool:
    """Return whether a document is the configuration of a PolicyGenerator."""
    content = mapping(value)
    return content.get("kind") == "PolicyGenerator" and as_text(content.get("apiVersion")).startswith(POLICY_GROUP)


def generators_in(text: str) -> list[Mapping[str, Any]]:
    """The PolicyGenerators that a text of YAML holds; () if it holds anything else as well."""
    values = [document.value for document in read("", text, Report()) if document.value is not None]
    return [mapping(value) for value in values] if values and all(map(is_generator, values)) else []


def paths_of(generator: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths that a PolicyGenerator reads, relative to the kustomization: the manifests, files and folders;
    and placements."""
    policies, sets = mappings(generator.get("policies")), mappings(generator.get("policySets"))
    values = [manifest.get("path") for policy in policies for manifest in mappings(policy.get("manifests"))]
    for options in (generator.get("policyDefaults"), generator.get("policySetDefaults"), *policies, *sets):
        placement = mapping(mapping(options).get("placement"))
        values += [placement.get(key) for key in ("placementPath", "placementRulePath")]
    yield from (value for value in values if isinstance(value, str) and value)


def files_of_folder(folder: Path) -> list[Path]:
    """The files that a PolicyGenerator reads of a folder without a kustomization: those at its top, by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except OSError:  # it may be entered and not listed: its reader reports it
        return []


def kustomization_of(folder: Path) -> Path | None:
    """The kustomization by which a folder is built, None where its files are read one by one."""
    return next((folder / name for name in _KUSTOMIZATIONS if (folder / name).is_file()), None)


def policies_of(generator: Mapping[str, Any], folder: Path, build: Build, patch: Patch) -> list[KubernetesObject]:
    """The Policies that a PolicyGenerator beside the kustomization in `folder` makes; raises GenerationError.

    Placements and sets of policies are left out: they decide where policies go, and not what they install.
    """
    defaults = mapping(generator.get("policyDefaults"))
    tools = _Tools(folder, build, patch)
    return [_policy(policy, defaults, tools) for policy in mappings(generator.get("policies"))]


def _policy(policy: Mapping[str, Any], defaults: Mapping[str, Any], tools: _Tools) -> KubernetesObject:
    options = {**_DEFAULTS, **_set(defaults), **_set(policy)}
    templates = list(_templates(policy, options, tools))
    if not templates:
        raise GenerationError(f"the policy {as_text(policy.get('name'))} names no manifests")
    spec: dict[str, Any] = {"disabled": options.get("disabled") is True}
    # The parent says what all of its templates say; where they differ each keeps its own (R-OCM-18).
    actions = {as_text(mapping(mapping(t["objectDefinition"]).get("spec")).get("remediationAction")) for t in templates}
    actions.discard("")
    if len(actions) == 1:
        action = actions.pop()
        spec["remediationAction"] = "inform" if action.lower() == "informonly" else action
    metadata = {"name": as_text(policy.get("name")), "namespace": as_text(defaults.get("namespace"))}
    spec["policy-templates"] = templates
    return {"apiVersion": f"{POLICY_GROUP}/v1", "kind": "Policy", "metadata": metadata, "spec": spec}


def _set(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are set: an empty text stands for none."""
    return {key: value for key, value in options.items() if value not in ("", None)}


def _templates(policy: Mapping[str, Any], options: Mapping[str, Any], tools: _Tools) -> Iterator[dict[str, Any]]:
    """R-OCM-16: policies among the manifests as they are, everything else in ConfigurationPolicies around it."""
    is_together = options.get("consolidateManifests", True) is not False
    name = as_text(policy.get("name"))
    wrapped: list[dict[str, Any]] = []
    number = 0
    for manifest in mappings(policy.get("manifests")):
        own = {**options, **_set({key: manifest[key] for key in _PER_MANIFEST & manifest.keys()})}
        for value in _objects(manifest, tools):
            if _is_template(value):
                number += 1
                yield {"objectDefinition": value}
            elif value.keys() in _RAW_KEYS:
                number += 1
                yield {"objectDefinition": _configuration_policy(_numbered(name, number), value, own)}
            elif is_together:
                wrapped.append({"complianceType": own["complianceType"], "objectDefinition": value})
            else:
                number += 1
                template = {"complianceType": own["complianceType"], "objectDefinition": value}
                content = {"object-templates": [template]}
                yield {"objectDefinition": _configuration_policy(_numbered(name, number), content, own)}
    if wrapped:
        yield {"objectDefinition": _configuration_policy(name, {"object-templates": wrapped}, options)}


_PER_MANIFEST = frozenset({"complianceType", "remediationAction", "namespaceSelector", "severity"})


def _numbered(name: str, number: int) -> str:
    return name if number < 2 else f"{name}{number}"


def _is_template(value: Mapping[str, Any]) -> bool:
    kind = as_text(value.get("kind"))
    is_of_policies = as_text(value.get("apiVersion")).startswith(POLICY_GROUP)
    return is_of_policies and kind != "Policy" and kind.endswith("Policy")


def _configuration_policy(name: str, content: Mapping[str, Any], options: Mapping[str, Any]) -> KubernetesObject:
    spec = {**content, "remediationAction": options["remediationAction"], "severity": options["severity"]}
    selector = mapping(options.get("namespaceSelector"))
    if selector:
        spec["namespaceSelector"] = selector
    metadata: dict[str, Any] = {"name": name}
    annotations = mapping(options.get("configurationPolicyAnnotations"))
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": f"{POLICY_GROUP}/v1", "kind": "ConfigurationPolicy", "metadata": metadata, "spec": spec}


def _objects(manifest: Mapping[str, Any], tools: _Tools) -> list[dict[str, Any]]:
    """R-OCM-17, R-OCM-19: what is at the path of a manifest, with its patches."""
    text = as_text(manifest.get("path"))
    try:
        path = (tools.folder / text).resolve()
    except (OSError, RuntimeError, ValueError):  # a link that leads to itself, or a NUL
        raise GenerationError(f"{text!r}, which a PolicyGenerator names, leads nowhere") from None
    if not path.is_relative_to(tools.folder.resolve()):
        raise GenerationError(f"{text} is not below the folder of the kustomization, where a PolicyGenerator may read")
    if not mode_of(path):
        raise GenerationError(f"{text}, which a PolicyGenerator names, does not exist")
    if not path.is_dir():
        objects = _read(path, text)
    elif kustomization_of(path) is not None:
        objects = [dict(obj) for obj in tools.build(path)]
    else:
        objects = [value for file in files_of_folder(path) for value in _read(file, f"{text.rstrip('/')}/{file.name}")]
    patches = mappings(manifest.get("patches"))
    if len(objects) == len(patches) == 1:
        objects = [_renamed(objects[0], patches[0])]
    return tools.patch(objects, _whole_patches(objects, patches)) if patches else objects


def _read(path: Path, shown: str) -> list[dict[str, Any]]:
    report = Report()
    try:
        is_readable = path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
        text = path.read_text("utf-8") if is_readable else None
    except (OSError, ValueError):
        text = None
    if text is None:
        raise GenerationError(f"{shown} can't be read")
    values = [document.value for document in read(shown, text, report) if document.value is not None]
    if report.failed or not all(isinstance(value, dict) for value in values):
        raise GenerationError(f"{shown} holds something else than objects")
    return values


def _renamed(obj: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the name and namespace that its only patch gives it."""
    metadata = mapping(patch.get("metadata"))
    names = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    return {**obj, "metadata": {**mapping(obj.get("metadata")), **names}}


def _whole_patches(
    objects: Sequence[Mapping[str, Any]], patches: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Patches that say what they are for: with a single object, what they leave out is that of the object."""
    if len(objects) != 1 or not is_object(dict(objects[0])):
        return list(patches)
    obj = objects[0]
    metadata = {key: value for key, value in mapping(obj.get("metadata")).items() if key in ("name", "namespace")}
    return [
        {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **patch,
         "metadata": {**mapping(patch.get("metadata")), **metadata}}
        for patch in patches
    ]  # fmt: skip
