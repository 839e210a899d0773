"""What an OLM version knows of a CSV, and of the config of a Subscription."""

from __future__ import annotations

from typing import Any

from olmc.model.coerce import mapping, mappings
from olmc.model.objects import KubernetesObject, spec_of
from olmc.model.operators import CONVERSION
from olmc.model.profile import Profile


def known_part(csv: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A CSV without the field and the webhooks that mean nothing to the profile's OLM; `csv` itself if it knows all."""
    spec = spec_of(csv)
    if not profile.csv_cleanup and "cleanup" in spec:
        spec = {key: value for key, value in spec.items() if key != "cleanup"}
        csv = {**csv, "spec": spec}
    webhooks = mappings(spec.get("webhookdefinitions"))
    if profile.webhook_conversion == CONVERSION or not webhooks:
        return csv
    kept = [item for item in webhooks if profile.webhook_admission and item.get("type") != CONVERSION]
    rest = {key: value for key, value in spec.items() if key != "webhookdefinitions"}
    return {**csv, "spec": {**rest, **({"webhookdefinitions": kept} if kept else {})}}


def unknown_config(subscription: KubernetesObject, profile: Profile) -> list[str]:
    """The fields of a Subscription's config that the CRD of the profile's OLM does not have, in their order."""
    config, known = mapping(spec_of(subscription).get("config")), profile.subscription_config
    return [str(key) for key in config if known is not None and key not in known]


def with_known_config(subscription: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A Subscription without these fields, which the API server drops; the object itself if it has none."""
    unknown = unknown_config(subscription, profile)
    if not unknown:
        return subscription
    spec = subscription["spec"]
    config = {key: value for key, value in spec["config"].items() if key not in unknown}
    return {**subscription, "spec": {**spec, "config": config}}


def cleanup_status(profile: Profile) -> dict[str, Any]:
    """The part of a CSV's status about a cleanup that OLM never carries out, where there is such a field."""
    return {"cleanup": {}} if profile.csv_cleanup else {}
