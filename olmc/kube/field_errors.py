"""Errors about fields as Kubernetes' validation prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from olmc.gojson import encode_decoded
from olmc.strconv import quoted

Keys = tuple[str | int, ...]


class Shown(NamedTuple):
    """A value that an error prints as this text: a structure, of which today's API servers write the JSON."""

    text: str

    @classmethod
    def json(cls, value: Any) -> Shown:
        """The JSON of a value with its keys in the order that they have."""
        return cls(encode_decoded(value).decode())


class FieldError(NamedTuple):
    """What is wrong with a field: its name in messages, the kind of error, the value and the detail that are printed.

    `value` None prints no value; `keys` lead to the place in the manifest, whose spelling may be another one.
    """

    field: str
    kind: str
    keys: Keys
    detail: str = ""
    value: Any = None

    def __str__(self) -> str:
        body = self.kind if self.value is None else f"{self.kind}: {printed(self.value)}"
        return f"{self.field}: {body}" + (f": {self.detail}" if self.detail else "")

    @property
    def bare_value(self) -> str:
        """The value as results of the api library print it."""
        if isinstance(self.value, str | list):
            return self.value if isinstance(self.value, str) else printed(tuple(self.value))
        return "" if self.value is None else printed(self.value)


def invalid(field: str, value: Any, detail: str, keys: Keys) -> FieldError:
    return FieldError(field, "Invalid value", keys, detail, value)


def required(field: str, keys: Keys, detail: str = "") -> FieldError:
    return FieldError(field, "Required value", keys, detail)


def forbidden(field: str, detail: str, keys: Keys) -> FieldError:
    return FieldError(field, "Forbidden", keys, detail)


def unsupported(field: str, value: str, supported: Iterable[str], keys: Keys) -> FieldError:
    values = ", ".join(quoted(name) for name in supported)
    return FieldError(field, "Unsupported value", keys, f"supported values: {values}", value)


def not_found(field: str, value: Any, keys: Keys) -> FieldError:
    return FieldError(field, "Not found", keys, "", value)


def duplicate(field: str, value: Any, keys: Keys) -> FieldError:
    return FieldError(field, "Duplicate value", keys, "", value)


def too_long(field: str, limit: int, keys: Keys) -> FieldError:
    return FieldError(field, "Too long", keys, f"may not be more than {limit} bytes")


def aggregated(errors: Iterable[object]) -> str:
    """Several errors as Kubernetes prints them together: one as it is, more in brackets, none twice."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def invalid_text(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> str:
    """What the API server answers (422) to an object with these errors, of which there is at least one."""
    full = f"{kind}.{group}" if group else kind
    return f'{full} "{name}" is invalid: {aggregated(errors)}'


def printed(value: Any) -> str:
    """A value in an error: texts quoted, a list of texts as Go writes one, a tuple as its items between brackets.

    The tuple stands for a list of structures, of which Kubernetes would dump the memory, addresses included.
    """
    if isinstance(value, Shown):
        return value.text
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[]string{" + ", ".join(quoted(item) for item in value) + "}"
    if isinstance(value, tuple):
        return "[" + " ".join(str(item) for item in value) + "]"
    return str(value)
