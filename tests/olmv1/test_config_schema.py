"""The schema of a bundle's configuration is the one of the specification, without what no validation looks at."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SCHEMA = PROJECT / "olmc" / "targets" / "v1" / "bundle_config.json"


def test_the_schema_is_made_from_the_specification(shared: Path) -> None:
    script = runpy.run_path(str(PROJECT / ".ci" / "bundle_config_schema.py"))
    whole = json.loads((shared / "spec" / "v1" / "olm-v1-bundle-config-schema.json").read_text(encoding="utf-8"))
    assert script["render"](script["compact"](whole)) == SCHEMA.read_text(encoding="utf-8")
    assert len(json.dumps(whole)) > len(SCHEMA.read_text(encoding="utf-8"))
