"""What an OLM version knows of a CSV."""

from __future__ import annotations

from typing import Any

from olmc.model.objects import KubernetesObject
from olmc.model.profile import Profile

CONVERSION = "ConversionWebhook"


def known_part(csv: KubernetesObject, profile: Profile) -> KubernetesObject:
    """A CSV without the webhooks that mean nothing to the profile's OLM; `csv` itself if it knows all."""
    spec: dict[str, Any] = csv.get("spec") or {}
    webhooks = spec.get("webhookdefinitions") or []
    if profile.webhook_conversion == CONVERSION or not webhooks:
        return csv
    kept = [item for item in webhooks if profile.webhook_admission and item.get("type") != CONVERSION]
    rest = {key: value for key, value in spec.items() if key != "webhookdefinitions"}
    return {**csv, "spec": {**rest, **({"webhookdefinitions": kept} if kept else {})}}
