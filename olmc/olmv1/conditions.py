"""The conditions of a ClusterExtension after one reconciliation (R-V1-CND-1, R-V1-CND-2)."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.lean import NamedTuple
from olmc.model.catalog import Deprecation
from olmc.olmv1.api_types import CatalogFilter, InstalledBundle
from olmc.olmv1.resolution import ExtensionResolution
from olmc.strconv import quoted

_LONGEST = 32768
_TRUNCATED = "\n\n... [message truncated]"
DESIRED = "Desired state reached"
NOTHING_INSTALLED = "No bundle installed"


class Condition(NamedTuple):
    """A condition: its type, status, reason and message."""

    type: str
    status: str
    reason: str
    message: str


def condition(kind: str, status: str, reason: str, message: str) -> Condition:
    """A condition with its message as the controller cuts it."""
    size = len(message.encode("utf-8", "surrogatepass"))
    if size > _LONGEST:
        kept = message.encode("utf-8", "surrogatepass")[: _LONGEST - len(_TRUNCATED)]
        message = kept.decode("utf-8", "ignore") + _TRUNCATED
    return Condition(kind, status, reason, message)


def installed_condition(installed: InstalledBundle | None, *, reason: str = "Failed") -> Condition:
    """What Installed says; `reason` is that of nothing being installed."""
    if installed is None:
        return condition("Installed", "False", reason, NOTHING_INSTALLED)
    return condition("Installed", "True", "Succeeded", f"Installed bundle {installed.image} successfully")


def retrying(text: str, installed: InstalledBundle | None) -> list[Condition]:
    """After an error that goes away by itself, or does not; it is tried again."""
    return [condition("Progressing", "True", "Retrying", text), installed_condition(installed)]


def service_account_missing(name: str, namespace: str) -> list[Condition]:
    """Without the ServiceAccount nothing is begun (R-V1-SA-1)."""
    text = f"service account {quoted(name)} not found in namespace {quoted(namespace)}"
    message = f"operation cannot proceed due to the following validation error(s): {text}"
    return [condition("Progressing", "True", "Retrying", message), condition("Installed", "Unknown", "Failed", message)]


def of_bundle(text: str, bundle: InstalledBundle) -> str:
    """An error of a bundle that was resolved, with its name and version."""
    return f"error for resolved bundle {quoted(bundle.name)} with version {quoted(bundle.version)}: {text}"


def invalid_configuration(text: str, bundle: InstalledBundle, installed: InstalledBundle | None) -> list[Condition]:
    """After an error of the configuration, which nobody tries again."""
    message = of_bundle(text, bundle)
    return [condition("Progressing", "False", "InvalidConfiguration", message), installed_condition(installed)]


def succeeded(installed: InstalledBundle) -> list[Condition]:
    """After a bundle was applied with the Helm runtime."""
    return [condition("Progressing", "True", "Succeeded", DESIRED), installed_condition(installed)]


def rolled_out(installed: InstalledBundle) -> list[Condition]:
    """After a ClusterObjectSet has come to rest, whose conditions are copied (R-V1-COS-8)."""
    return [
        condition("Progressing", "True", "Succeeded", f"Revision {installed.version} has rolled out."),
        condition("Available", "True", "ProbesSucceeded", "Objects are available and pass all probes."),
        installed_condition(installed),
    ]


def rolling_out(version: str, installed: InstalledBundle | None) -> list[Condition]:
    """While a ClusterObjectSet is on its way."""
    text = f"Revision {version} is rolling out."
    return [condition("Progressing", "True", "RollingOut", text), installed_condition(installed, reason="Absent")]


def conditions_after(
    source: CatalogFilter, installed: InstalledBundle | None, resolution: ExtensionResolution
) -> tuple[InstalledBundle | None, list[Condition]]:
    """What is installed after a resolution, and the conditions if what it chose could be applied with the Helm runtime.

    A resolution that fails leaves what is installed as it is; that is no error if no catalog is there to be asked, and
    no other version is wanted (R-V1-CND-1).
    """
    if not resolution.error:
        now = resolution.installed
        return now, [*(succeeded(now) if now else []), *deprecation_conditions(source, now, resolution.deprecations)]
    keeps = keeps_installed(source, installed, any_catalog=resolution.any_catalog)
    conditions = succeeded(installed) if installed and keeps else retrying(resolution.error, installed)
    return installed, [*conditions, *deprecation_conditions(source, installed, None)]


def keeps_installed(source: CatalogFilter, installed: InstalledBundle | None, *, any_catalog: bool) -> bool:
    """Whether what is installed is what is wanted, since no catalog can say otherwise."""
    return installed is not None and not any_catalog and source.version in (None, "", installed.version)


def deprecation_conditions(
    source: CatalogFilter, installed: InstalledBundle | None, deprecations: Sequence[Deprecation] | None
) -> list[Condition]:
    """What the catalog says is deprecated of what is `installed`; None if no catalog could be asked (R-V1-CND-2)."""
    if deprecations is None:
        text = "deprecation status unknown: catalog data unavailable"
        kinds = ("Deprecated", "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated")
        conditions = [condition(kind, "Unknown", "DeprecationStatusUnknown", text) for kind in kinds]
        return conditions if installed is not None else [*conditions[:-1], _NO_BUNDLE]
    messages: dict[str, list[str]] = {"package": [], "channel": [], "bundle": []}
    for entry in deprecations:
        kind = entry.schema.removeprefix("olm.")
        applies = {
            "package": True,
            "channel": not source.channels or entry.name in source.channels,
            "bundle": installed is not None and entry.name == installed.name,
        }
        if entry.schema.startswith("olm.") and applies.get(kind) and entry.message:
            messages[kind].append(entry.message)
    every = [text for texts in messages.values() for text in texts]
    conditions = [_deprecated("Deprecated", every, "not deprecated")]
    for kind, texts in messages.items():
        conditions.append(_deprecated(f"{kind.capitalize()}Deprecated", texts, f"{kind} not deprecated"))
    return conditions if installed is not None else [*conditions[:-1], _NO_BUNDLE]


_NO_BUNDLE = Condition("BundleDeprecated", "Unknown", "Absent", "no bundle installed yet")


def _deprecated(kind: str, texts: Sequence[str], otherwise: str) -> Condition:
    if texts:
        return condition(kind, "True", "Deprecated", "\n".join(texts))
    return condition(kind, "False", "NotDeprecated", otherwise)
