"""What Go's decoder says about a value that does not fit its type."""

from __future__ import annotations

from olmc.model.causes import DecodeFailure

Path = tuple[str | int, ...]


class GoTypeError(ValueError):
    """A JSON value that Go refuses to decode into a type.

    `path` leads to the value (keys as the input spells them, indexes from 0), `message` is Go's text,
    `expected` the Go type as Go prints it ("" for a key that no field matches), `got` the JSON value's kind
    in Go's words. `is_mismatch`: it is encoding/json that refuses it, not a type that reads itself.
    """

    def __init__(
        self, path: Path, message: str, expected: str = "", got: str = "", *, is_mismatch: bool = False
    ) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.expected = expected
        self.got = got
        self.is_mismatch = is_mismatch


def decode_failure(error: BaseException | None) -> DecodeFailure | None:
    """What encoding/json refused to decode, if that is what an error, or one that led to it, is about."""
    while error is not None and not isinstance(error, GoTypeError):
        error = error.__cause__
    return DecodeFailure(error.message) if error is not None and error.is_mismatch else None


class Refused(Exception):  # noqa: N818  (not an error to show: the cause of one, without its place)
    """A single value that a type does not accept: for its kind (`expected`, `got`) or otherwise (`text`)."""

    def __init__(self, expected: str, got: str, text: str = "") -> None:
        super().__init__(text or f"cannot unmarshal {got} into {expected}")
        self.expected = expected
        self.got = got
        self.text = text


def json_kind(value: object) -> str:
    """The kind of a JSON value as Go's decoder names it in its messages."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null"
