"""The annotations of a bundle, which a file of its metadata/ holds (R-CAT-102)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.strconv import number_text
from olmc.yaml import Document

PREFIX = "operators.operatorframework.io.bundle."
PACKAGE = PREFIX + "package.v1"
CHANNELS = PREFIX + "channels.v1"
DEFAULT_CHANNEL = PREFIX + "channel.default.v1"

ANNOTATIONS_FILE = "annotations"
"""How the names of the files begin that hold a bundle's annotations by custom."""
NO_TEXT = "Write a text as the value, in quotes if it looks like something else."
"""What to do about the value of an annotation that is no text."""

_ROLE_KEYS = (PACKAGE, CHANNELS, DEFAULT_CHANNEL)
"""The annotations that make a file that of the annotations; OLM decodes no others."""


def annotations_of(document: Document) -> Mapping[str, str] | None:
    """The annotations of a file as texts; None where one that counts is no text, or all of those are empty."""
    found = annotation_texts(document)
    wanted = [found.get(key, "") for key in _ROLE_KEYS]
    if None in wanted or not any(wanted):
        return None
    return {key: text for key, text in found.items() if text is not None}


def annotation_texts(document: Document) -> dict[str, str | None]:
    """The values below `annotations` as the texts that Go reads, None for those that it refuses: in YAML a number or a
    boolean is the text that it stands for, in JSON it is none."""
    is_json = document.source.text.lstrip().startswith("{")
    return {str(key): _text(value, is_json=is_json) for key, value in document.value["annotations"].items()}


def _text(value: Any, *, is_json: bool) -> str | None:
    if value is None or isinstance(value, str):
        return value or ""
    if is_json or not isinstance(value, int | float):
        return None
    return str(value).lower() if isinstance(value, bool) else number_text(value)


def unfit_annotations(document: Document) -> tuple[tuple[str, ...], str]:
    """What is wrong with the content of a file that was meant to hold a bundle's annotations: keys and the way out."""
    value = document.value
    if not isinstance(value, Mapping) or "annotations" not in value:
        return (), "Write the annotations as a mapping below the key annotations."
    if not isinstance(value["annotations"], Mapping):
        return ("annotations",), "Write a mapping below annotations: lines of `key: value`."
    texts = annotation_texts(document)
    wrong = next((key for key in _ROLE_KEYS if key in texts and texts[key] is None), None)
    if wrong is not None:
        return ("annotations", wrong), NO_TEXT
    return ("annotations",), f"Add {PACKAGE} and {CHANNELS}: at least one of them has to be there, with a value."
