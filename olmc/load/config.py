"""`olmc.yaml`: the options that a workspace carries with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olmc.load.files import has_file, ignore_lines, read_text
from olmc.load.gitignore import spec_of
from olmc.load.json_schema import problems
from olmc.model.diagnostic import Report
from olmc.model.kube_version import full_kube_version
from olmc.model.location import Location
from olmc.model.options import ImageContent, Indexing, Narrowing, Options, Proxy
from olmc.profiles.data import UnknownVersionError, canonical
from olmc.rules import load as rules
from olmc.rules import versions
from olmc.yaml import Document, locate, read

CONFIG_FILE = "olmc.yaml"
_OTHER_NAME = "olmc.yml"

# The fields of Options by their names in YAML.
FIELDS = {
    "for": "purpose",
    "certs": "certificates",
    "copiedCSVs": "copied_csvs",
    "include": "include",
    "exclude": "exclude",
    "kubeVersion": "kube_version",
    "olmVersion": "olm_version",
    "globalCatalogNamespace": "global_catalog_namespace",
    "legacyUpgradePrecedence": "legacy_precedence",
    "legacyCRDRules": "legacy_crd_rules",
    "protectedCopiedCSVNamespaces": "protected_copied_csv_namespaces",
    "approve": "approve",
    "apis": "apis",
    "namespaces": "namespaces",
    "descoped": "descoped",
    "allowSharedAPIs": "shared_apis",
    "enableV2alpha1": "v2alpha1",
    "olmNamespace": "olm_namespace",
}


def read_config(root: Path, report: Report) -> dict[str, Any]:
    """The `spec` of `olmc.yaml` in the root, {} without one; problems are reported, each with its place."""
    if has_file(root, _OTHER_NAME):
        report.add(rules.CONFIG_NAME.finding(Location(_OTHER_NAME)))
    if not has_file(root, CONFIG_FILE):
        return {}
    text = read_text(root, CONFIG_FILE, report)
    documents = read(CONFIG_FILE, text, report) if text is not None else []
    if not documents or documents[0].value is None:
        return {}
    document = documents[0]
    found = problems("olmc", document.value)
    if len(documents) > 1:
        place = locate(documents[1].source, ())
        report.add(rules.BAD_CONFIG.finding(place, where="the second document", problem="there can be only one"))
    for problem in found:
        place = problem.place(document.source)
        if problem.where == "spec.olmVersion":
            hint = "Write a version in quotes, as '0.25': without them 0.20 is the number 0.2."
            report.add(versions.UNKNOWN_VERSION.finding(place, problem=f"olmVersion: {problem.text}", hint=hint))
            continue
        report.add(rules.BAD_CONFIG.finding(place, where=problem.where or "the document", problem=problem.text))
    if found or not _is_known(document, report) or not _has_usable_patterns(document, report):
        return {}
    return dict(document.value.get("spec") or {})


def _has_usable_patterns(document: Document, report: Report) -> bool:
    """Whether all patterns of files can be used: those of what is left out, and of where findings are accepted."""
    spec = document.value.get("spec") or {}
    patterns: dict[tuple[str | int, ...], str] = {
        **{("spec", "ignore", number): each for number, each in enumerate(spec.get("ignore") or ())},
        **{
            ("spec", "suppress", number, "path"): each["path"]
            for number, each in enumerate(spec.get("suppress") or ())
            if "path" in each
        },
    }
    usable = True
    for keys, pattern in patterns.items():
        try:
            spec_of([pattern])
        except ValueError as error:
            where = ".".join(map(str, keys))
            report.add(rules.BAD_CONFIG.finding(locate(document.source, keys), where=where, problem=error))
            usable = False
    return usable


def _is_known(document: Document, report: Report) -> bool:
    """Whether the document asks for a version of OLM that there is, if for any."""
    version = (document.value.get("spec") or {}).get("olmVersion")
    try:
        canonical(version) if version is not None else None
    except UnknownVersionError as error:
        place = locate(document.source, ("spec", "olmVersion"))
        report.add(versions.UNKNOWN_VERSION.finding(place, problem=error, hint=error.hint))
        return False
    return True


def indexing_from(config: Mapping[str, Any]) -> Indexing:
    """How the config wants catalogs to be made of what has no update graph."""
    return Indexing(config.get("bundleEdges") or "replaces", bool(config.get("enableAlpha")))


def narrowing_of(root: Path, config: Mapping[str, Any]) -> Narrowing:
    """What the workspace at `root`, whose olmc.yaml says `config`, leaves out of itself."""
    ignored = (*(config.get("ignore") or ()), *ignore_lines(root))
    include, exclude = tuple(config.get("include") or ()), tuple(config.get("exclude") or ())
    return Narrowing(ignored, include, exclude, config.get("for"))


def options_from(config: Mapping[str, Any], base: Options, given: frozenset[str]) -> Options:
    """`base` with what the config says, except for the fields in `given`, which the command line has set."""
    values: dict[str, Any] = {}
    for key, field in FIELDS.items():
        if key in config and field not in given:
            value = config[key]
            values[field] = tuple(value) if isinstance(value, list) else value
    if "kube_version" in values:
        values["kube_version"] = full_kube_version(values["kube_version"])
    proxy = config.get("proxy")
    if proxy and "proxy" not in given:
        values["proxy"] = Proxy(proxy.get("httpProxy", ""), proxy.get("httpsProxy", ""), proxy.get("noProxy", ""))
    if "images" in config and "images" not in given:
        values["images"] = tuple(
            ImageContent(item["image"], item.get("digest", ""), item.get("bundle", "")) for item in config["images"]
        )
    return base._replace(**values)
