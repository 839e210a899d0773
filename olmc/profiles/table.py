"""The formats of an OLM version in words: what `olmc explain profile` and `olmc version --profile` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from olmc.profiles.data import canonical, eras, formats, gaps

WIDTH = 100


def formats_text(version: str) -> str:
    """Every feature with its value in a version, for a terminal; raises UnknownVersionError."""
    name = canonical(version)
    features = formats()["features"]
    lines = [heading(name), ""]
    section = ""
    for feature, era in eras(name):
        if features[feature]["section"] != section:
            section = features[feature]["section"]
            lines += [section, ""]
        lines.append(f"  {features[feature]['title']}  [{feature}{_since(era)}]")
        lines += [_indented(words_of(era)), ""]
    return "\n".join(lines)


def gaps_text(version: str) -> str:
    """What olmc can't reproduce of a version, for a terminal; raises UnknownVersionError."""
    name = canonical(version)
    unknown = [*(gap for _, gap in gaps(name)), *formats()["never"]]
    listed = [fill(each, WIDTH, initial_indent="- ", subsequent_indent="  ") for each in unknown]
    return "\n".join([heading(name), "", "What olmc can't reproduce:", "", *listed, ""])


def heading(name: str) -> str:
    """What a version is, for a canonical name."""
    blend = formats()["named"].get(name)
    if blend is None:
        return f"OLM {name}"
    own = [f"{feature} as in {version}" for feature, version in (blend.get("like") or {}).items()]
    if blend.get("values"):
        own.append(f"its own {', '.join(blend['values'])}")
    base = f"{name}: OLM {blend['base']}{' with ' if own else ''}{'; '.join(own)}"
    return fill(f"{base}. {blend.get('note', '')}".strip(), WIDTH)


def words_of(era: Mapping[str, Any]) -> str:
    """The value of an era in words."""
    return str(era.get("text") or _shown(era["value"]))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(_pairs(value)) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value or "none")


def _pairs(value: Mapping[str, Any]) -> Iterator[str]:
    for key, part in value.items():
        yield f"{key}: {', '.join(part)}" if isinstance(part, list) else part if key == "*" else f"{key}={part}"


def _since(era: Mapping[str, Any]) -> str:
    return f", since {era['since']}" if "since" in era else ""


def _indented(text: str) -> str:
    wrapped: str = fill(
        text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return wrapped
