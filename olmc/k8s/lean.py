"""Parts of the standard library at less cost to a start: named tuples, patterns and hashes that are created at their
first use, and modules that are imported at their first use.

The definition of 140 named tuples by `typing` takes as long as two empty runs of Python, the compilation of 200
patterns as long as one, and so does the import of OpenSSL for a hash of forty bytes.
"""

from __future__ import annotations

import re
from _collections import _tuplegetter  # type: ignore[import-not-found]
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

try:
    from _sha2 import sha224, sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # before Python 3.12
    try:
        from _sha256 import sha224, sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # a Python whose hashes are OpenSSL's alone
        from hashlib import sha224, sha256

try:
    from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from hashlib import sha1

__all__ = ["NamedTuple", "module", "regex", "sha1", "sha224", "sha256"]

_new = tuple.__new__


# Nine of ten named tuples have no more fields, and the code of these is compiled with this module.
_CONSTRUCTORS: tuple[Any, ...] = (
    lambda _cls: _new(_cls, ()),
    lambda _cls, a: _new(_cls, (a,)),
    lambda _cls, a, b: _new(_cls, (a, b)),
    lambda _cls, a, b, c: _new(_cls, (a, b, c)),
    lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
    lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
    lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
    lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
    lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
    lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
)


@cache
def _constructor(count: int) -> CodeType:
    """The code that makes a tuple of so many fields, whose names are still to be set."""
    if count < len(_CONSTRUCTORS):
        known: CodeType = _CONSTRUCTORS[count].__code__
        return known
    names = ", ".join(f"field_{number}" for number in range(count))
    function: Any = eval(f"lambda _cls, {names}: _new(_cls, ({names}{',' if count else ''}))")
    code: CodeType = function.__code__
    return code


class _Record(tuple[Any, ...]):
    """The common part of all named tuples, apart from the fields and the constructor."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _field_defaults: dict[str, Any] = {}  # noqa: RUF012

    @classmethod
    def _make(cls, values: Any) -> Any:
        made = _new(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **values: Any) -> Any:
        made = self._make(map(values.pop, self._fields, self))
        if values:
            raise ValueError(f"Got unexpected field names: {list(values)!r}")
        return made

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({values})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _NamedTupleType(type):
    """Makes of a class statement with fields the class that `typing.NamedTuple` makes of it."""

    def __new__(cls, name: str, _: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        fields = tuple(namespace.get("__annotations__", ()))
        defaults = {field: namespace.pop(field) for field in fields if field in namespace}
        if fields[len(fields) - len(defaults) :] != tuple(defaults):
            raise TypeError(f"{name}: a field without a default follows one with a default")
        template = _constructor(len(fields))
        code = template.replace(co_varnames=("_cls", *fields), co_name="__new__")
        construct = FunctionType(code, {"_new": _new}, "__new__", tuple(defaults.values()))
        construct.__qualname__ = f"{name}.__new__"
        getters = {field: _tuplegetter(index, f"The field {field}.") for index, field in enumerate(fields)}
        values = {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
        return type(name, (_Record,), {"__new__": construct, **getters, **values, **namespace})


if TYPE_CHECKING:
    from typing import NamedTuple
else:
    NamedTuple = type.__new__(_NamedTupleType, "NamedTuple", (), {"__doc__": "As `typing.NamedTuple`, defined fast."})


class _Pattern:
    """A regular expression that is compiled when one of its methods is asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._compile: Callable[[], re.Pattern[str]] = lambda: re.compile(text, flags)

    def __getattr__(self, name: str) -> Any:
        # The object keeps the value, so Python does not call this function again.
        value = getattr(self._compile(), name)
        setattr(self, name, value)
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but an error in `text` comes up at the first use. What is made has the methods of a pattern and
    is none: the functions of `re` do not take it."""
    made: Any = _Pattern(text, flags)
    return made  # type: ignore[no-any-return]


class _Module:
    """A module that is imported when one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._imported: Callable[[], Any] = lambda: import_module(name)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._imported(), name)
        setattr(self, name, value)
        return value


def module(name: str) -> Any:
    """As `importlib.import_module`, at the first use of one of the names in it."""
    return _Module(name)
