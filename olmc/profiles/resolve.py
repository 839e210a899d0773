"""From the name of an OLM version to its Profile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from olmc.model.profile import Profile
from olmc.profiles.data import canonical, eras, gaps


@cache
def profile_of(version: str) -> Profile:
    """The formats of an OLM version: a release (`0.25.0`, `v0.25`), OpenShift's (`ocp-4.14`), or `docs`.

    Raises UnknownVersionError.
    """
    name = canonical(version)
    values = {field_of(feature): era["value"] for feature, era in eras(name)}
    return Profile(name, dict(gaps(name)), **values)


def field_of(feature: str) -> str:
    """The field of Profile for a feature: `deploy.label.spec-hash` is `deploy_label_spec_hash`."""
    return feature.replace(".", "_").replace("-", "_").lower()


def filled(template: Mapping[str, str], **values: str) -> dict[str, str]:
    """Labels, annotations or names as a profile has them, with the values in the place of what stands in braces."""
    return {key.format_map(values): text.format_map(values) for key, text in template.items()}
