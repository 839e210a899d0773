"""Errors about fields, as Kubernetes' package `field` makes and prints them, and the places that they are about.

`Path` is a place: its name in messages along with the keys that lead to it in the manifest. `Struct` is a structure of
an object at its place; it gives its fields in the types that they should have, so that no rule needs to guard itself
against untrusted input, and makes the errors that many fields have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.gojson import encode_decoded
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping, mappings, text, texts
from olmc.k8s.strconv import quoted

Keys = tuple[str | int, ...]

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


class JsonText(NamedTuple):
    """A value that an error prints as this text: a structure, of which today's API servers write the JSON."""

    text: str

    @classmethod
    def of(cls, value: Any) -> JsonText:
        """The JSON of a value with its keys in the order that they have."""
        return cls(encode_decoded(value).decode())


class FieldError(NamedTuple):
    """An error of a field: its name in messages, the kind of error, the value and the detail that are printed.

    `value` None prints no value; `keys` lead to the place in the manifest, whose spelling may differ.
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


def aggregated(errors: Iterable[object]) -> str:
    """Several errors as Kubernetes prints them together: one as it is, more in brackets, none twice."""
    # Kubernetes compares the texts: two errors at different places that read the same are printed once.
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def invalid_text(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> str:
    """Return the API server's answer (422) for an object with these errors, of which there is at least one."""
    full = f"{kind}.{group}" if group else kind
    return f'{full} "{name}" is invalid: {aggregated(errors)}'


def printed(value: Any) -> str:
    """A value in an error: texts quoted, a list of texts as Go writes one, a tuple as its items between brackets.

    The tuple stands for a list of structures, of which Kubernetes would dump the memory, addresses included.
    """
    if isinstance(value, JsonText):
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


class Path(NamedTuple):
    """A place in an object, from which the errors about it are made.

    `field` is what messages call it, `keys` lead there. The two differ where Kubernetes names another field than the
    one that it looked at.
    """

    field: str = ""
    keys: Keys = ()

    def child(self, *names: str) -> Path:
        """The field of that name, or the one that the names lead to."""
        field = ".".join(names)
        return Path(f"{self.field}.{field}" if self.field else field, self.keys + names)

    def item(self, position: int) -> Path:
        return Path(f"{self.field}[{position}]", (*self.keys, position))

    def key(self, name: str) -> Path:
        """The entry of a map."""
        return Path(f"{self.field}[{name}]", (*self.keys, name))

    def called(self, *names: str) -> Path:
        """The same place, which messages call by other names below it."""
        return Path(".".join(filter(None, (self.field, *names))), self.keys)

    def keyed(self, *keys: str | int) -> Path:
        """Return a path that messages call by this name, and that is at these keys below."""
        return Path(self.field, (*self.keys, *keys))

    def invalid(self, value: Any, detail: str) -> FieldError:
        return FieldError(self.field, "Invalid value", self.keys, detail, value)

    def all_invalid(self, value: Any, details: Iterable[str]) -> list[FieldError]:
        """The same value with each of these details."""
        return [self.invalid(value, detail) for detail in details]

    def required(self, detail: str = "") -> FieldError:
        return FieldError(self.field, "Required value", self.keys, detail)

    def forbidden(self, detail: str) -> FieldError:
        return FieldError(self.field, "Forbidden", self.keys, detail)

    def unsupported(self, value: Any, supported: Iterable[str]) -> FieldError:
        """A value that is none of those that the field may have, in the order in which they are listed."""
        values = ", ".join(quoted(name) for name in supported)
        return FieldError(self.field, "Unsupported value", self.keys, f"supported values: {values}", value)

    def not_found(self, value: Any, detail: str = "") -> FieldError:
        return FieldError(self.field, "Not found", self.keys, detail, value)

    def duplicate(self, value: Any) -> FieldError:
        return FieldError(self.field, "Duplicate value", self.keys, "", value)

    def too_long(self, limit: int) -> FieldError:
        return FieldError(self.field, "Too long", self.keys, f"may not be more than {limit} bytes")

    def too_many(self, actual: int, limit: int) -> FieldError:
        return FieldError(self.field, "Too many", self.keys, f"must have at most {limit} items", actual)


class Struct(NamedTuple):
    """A structure of Go's in an object: its fields as the manifest has them, and its place."""

    fields: Mapping[str, Any]
    path: Path

    def has(self, key: str) -> bool:
        """Return whether a field is set: Go's pointers tell what is missing from what is empty."""
        return self.fields.get(key) is not None

    def get(self, key: str) -> Any:
        """A field of any type, None if it is missing."""
        return self.fields.get(key)

    def text(self, key: str) -> str:
        return text(self.fields.get(key))

    def texts(self, key: str) -> list[str]:
        return texts(self.fields.get(key))

    def map(self, key: str) -> Mapping[str, Any]:
        return mapping(self.fields.get(key))

    def integer(self, key: str) -> int | None:
        """A number, None if it is missing."""
        return integer(self.fields.get(key))

    def number(self, key: str) -> int:
        """A number as Go has it, 0 if it is missing."""
        return integer(self.fields.get(key)) or 0

    def at(self, *keys: str) -> Path:
        """The place of a field."""
        return self.path.child(*keys)

    def child(self, *keys: str) -> Struct:
        """The structure that the keys lead to, an empty one if it is missing."""
        fields = self.fields
        for key in keys:
            fields = mapping(fields.get(key))
        return Struct(fields, self.path.child(*keys))

    def pointer(self, key: str) -> Struct | None:
        """The structure in a field, None if it is missing."""
        return self.child(key) if isinstance(self.fields.get(key), dict) else None

    def structs(self, key: str) -> list[Struct]:
        """The structures in a list."""
        values = self.fields.get(key)
        if not values:  # most lists are empty, and their place is not needed
            return []
        place = self.path.child(key)
        return [Struct(value, place.item(index)) for index, value in enumerate(mappings(values))]

    def items(self, key: str) -> list[tuple[str, Path]]:
        """The texts in a list, each with its place."""
        values = texts(self.fields.get(key))
        place = self.path.child(key) if values else self.path
        return [(value, place.item(index)) for index, value in enumerate(values)]

    def required(self, *keys: str, detail: str = "") -> Iterator[FieldError]:
        """Those of the fields that are empty."""
        return (self.at(key).required(detail) for key in keys if not self.fields.get(key))

    def required_text(self, key: str, problems: Callable[[str], Iterable[str]], detail: str = "") -> list[FieldError]:
        """Return the errors of a text that must not be empty."""
        return self.optional_text(key, problems) if self.text(key) else [self.at(key).required(detail)]

    def optional_text(self, key: str, problems: Callable[[str], Iterable[str]]) -> list[FieldError]:
        """Return the errors of a text, if there is one."""
        return self.pointed_text(key, problems) if self.fields.get(key) else []

    def pointed_text(self, key: str, problems: Callable[[str], Iterable[str]]) -> list[FieldError]:
        """Return the errors of a text that may be missing, but not empty."""
        value = self.fields.get(key)
        return self.at(key).all_invalid(value, problems(value)) if isinstance(value, str) else []

    def unsupported(self, key: str, supported: Collection[str], *, is_pointer: bool = False) -> Iterator[FieldError]:
        """A text of a type of its own that is none of the supported ones; it may be empty unless it is a pointer."""
        value = self.fields.get(key)
        if isinstance(value, str) and value not in supported and (value or is_pointer):
            yield self.at(key).unsupported(typed(value), supported)

    def negative(self, *keys: str) -> Iterator[FieldError]:
        """Those of the numbers that are below zero."""
        for key in keys:
            number = self.number(key)
            if number < 0:
                yield self.at(key).invalid(number, NOT_NEGATIVE)

    def out_of_range(self, key: str, low: int, high: int, detail: str = "") -> Iterator[FieldError]:
        """A number that is set and not between two others."""
        number = self.integer(key)
        if number is not None and not low <= number <= high:
            yield self.at(key).invalid(number, detail or between(low, high))


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def typed(value: str) -> JsonText:
    """A text of a type of its own, such as a policy, which errors print as JSON."""
    return JsonText.of(value)


def integer(value: Any) -> int | None:
    """The value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
