"""Where a field stands: its name in messages along with the keys that lead to it in the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from olmc.kube import field_errors
from olmc.kube.field_errors import FieldError, Keys, Shown

NOT_NEGATIVE = "must be greater than or equal to 0"


class Path(NamedTuple):
    """A place in an object, from which the errors about it are made.

    `field` is what messages call it, `keys` lead there. The two differ where Kubernetes names another field than the
    one that it looked at.
    """

    field: str = ""
    keys: Keys = ()

    def child(self, *names: str) -> Path:
        """The field of that name, or the one that the names lead to."""
        return Path(".".join([self.field, *names] if self.field else names), (*self.keys, *names))

    def item(self, position: int) -> Path:
        return Path(f"{self.field}[{position}]", (*self.keys, position))

    def key(self, name: str) -> Path:
        """The entry of a map."""
        return Path(f"{self.field}[{name}]", (*self.keys, name))

    def called(self, *names: str) -> Path:
        """The same place, which messages call by other names below it."""
        return Path(".".join((self.field, *names)), self.keys)

    def at(self, *keys: str | int) -> Path:
        """What messages call by this name, but stands below."""
        return Path(self.field, (*self.keys, *keys))

    def invalid(self, value: Any, detail: str) -> FieldError:
        return field_errors.invalid(self.field, value, detail, self.keys)

    def required(self, detail: str = "") -> FieldError:
        return field_errors.required(self.field, self.keys, detail)

    def forbidden(self, detail: str) -> FieldError:
        return field_errors.forbidden(self.field, detail, self.keys)

    def unsupported(self, value: Any, supported: Iterable[str]) -> FieldError:
        """A value that is none of those that the field may have, in the order in which they are listed."""
        return field_errors.unsupported(self.field, value, supported, self.keys)

    def not_found(self, value: Any, detail: str = "") -> FieldError:
        return field_errors.not_found(self.field, value, self.keys)._replace(detail=detail)

    def duplicate(self, value: Any) -> FieldError:
        return field_errors.duplicate(self.field, value, self.keys)

    def too_long(self, limit: int) -> FieldError:
        return field_errors.too_long(self.field, limit, self.keys)

    def too_many(self, actual: int, limit: int) -> FieldError:
        return FieldError(self.field, "Too many", self.keys, f"must have at most {limit} items", actual)

    def all_invalid(self, value: Any, details: Iterable[str]) -> list[FieldError]:
        """The same value with each of these details."""
        return [self.invalid(value, detail) for detail in details]

    def negative(self, value: Any) -> list[FieldError]:
        """What is wrong with a number that must not be below zero."""
        number = integer(value)
        return [self.invalid(number, NOT_NEGATIVE)] if number is not None and number < 0 else []


def typed(value: str) -> Shown:
    """A text of a type of its own, such as a policy, which errors print as JSON."""
    return Shown.json(value)


def integer(value: Any) -> int | None:
    """The value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def present(value: Any) -> Mapping[str, Any] | None:
    """A structure that may be missing: None if it is."""
    return value if isinstance(value, dict) else None
