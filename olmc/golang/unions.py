"""Types that decode themselves as one of several others, whichever a JSON value looks like (apiextensions/v1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmc.golang.errors import Refused, json_kind

_V1 = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1."
_PROPS = f"{_V1}JSONSchemaProps"


def _schema_or_array(value: Any) -> str | None:
    return _PROPS if isinstance(value, dict) else f"[]{_PROPS}" if value and isinstance(value, list) else None


def _schema_or_bool(value: Any) -> str:
    if isinstance(value, dict | bool):
        return "bool" if isinstance(value, bool) else _PROPS
    raise Refused("v1.JSONSchemaPropsOrBool", json_kind(value), "boolean or JSON schema expected")


def _schema_or_strings(value: Any) -> str | None:
    return _PROPS if isinstance(value, dict) else "[]string" if value and isinstance(value, list) else None


UNIONS: Mapping[str, Callable[[Any], str | None]] = {
    f"{_V1}JSONSchemaPropsOrArray": _schema_or_array,
    f"{_V1}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_V1}JSONSchemaPropsOrStringArray": _schema_or_strings,
}
"""By the full name of the type: which type a JSON value is decoded as, None for one of which nothing is kept.

The functions raise Refused for a value that the type does not accept.
"""
