"""What the API server says to webhooks (R-WH-4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from patching import patched

from olmc.k8s.api.validation import field
from olmc.k8s.api.validation.webhooks import webhook_errors

DATA = yaml.safe_load(Path(__file__).with_name("webhook_validation.yaml").read_text(encoding="utf-8"))
PLACE = field.Path("webhooks[0]", ("webhooks", 0))


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: json.dumps(case["patch"])[:60])
def test_errors_in_the_server_s_words(case: dict[str, Any]) -> None:
    webhook = patched(DATA["valid"], case["patch"])
    assert list(map(str, webhook_errors(webhook, PLACE, mutating=case.get("mutating", False)))) == case["errors"]


def test_what_a_cluster_holds_has_no_errors(shared: Path) -> None:
    """No webhook of the recorded clusters is refused, so no rule is too strict."""
    judged = 0
    for path in sorted(shared.glob("conformance/*/**/observed.json")):
        for obj in json.loads(path.read_text(encoding="utf-8"))["items"]:
            if obj["kind"].endswith("WebhookConfiguration"):
                for webhook in obj["webhooks"]:
                    is_mutating = obj["kind"].startswith("Mutating")
                    assert list(webhook_errors(webhook, PLACE, mutating=is_mutating)) == [], path.parent.name
                    judged += 1
    assert judged > 40
