"""Changes of Deployments: environment, arguments, resources, security, volumes, and every other field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olmc.model.coerce import mapping
from olmc.model.objects import Identity
from olmc.review.diff.change import ABSENT, Change, Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.diff.fields import FieldChanged, from_to, sign_of
from olmc.review.diff.values import Delta, Item, Path, path_text

__all__ = [
    "ArgumentsChanged", "ContainerAdded", "ContainerRemoved", "EnvironmentChanged", "ResourcesChanged",
    "SecurityChanged", "deployment_changes",
]  # fmt: skip

_POD = ("spec", "template", "spec")
_LOOSENED: tuple[tuple[str, object], ...] = (
    ("privileged", True),
    ("allowPrivilegeEscalation", True),
    ("hostNetwork", True),
    ("hostPID", True),
    ("hostIPC", True),
)
_TIGHT: tuple[tuple[str, object], ...] = (
    ("runAsNonRoot", True),
    ("readOnlyRootFilesystem", True),
    ("allowPrivilegeEscalation", False),
)
_SECURITY = frozenset(("securityContext", "hostNetwork", "hostPID", "hostIPC", "hostPath"))


@dataclass(frozen=True)
class ContainerAdded:
    """A container that the old side does not have; its image is told with the images."""

    identity: Identity
    container: str
    privileged: bool

    group = Group.DEPLOYMENTS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.privileged else Gravity.CHANGE

    def sentence(self) -> Sentence:
        return ("new container ", shown(self.container), *((", which is privileged",) if self.privileged else ()))


@dataclass(frozen=True)
class ContainerRemoved:
    """A container that the new side does not have."""

    identity: Identity
    container: str

    group = Group.DEPLOYMENTS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("container ", shown(self.container), " is gone")


@dataclass(frozen=True)
class EnvironmentChanged:
    """A variable of a container's environment; a value from elsewhere is the mapping that names its source."""

    identity: Identity
    container: str
    variable: str
    old: Any
    new: Any

    group = Group.DEPLOYMENTS
    gravity = Gravity.CHANGE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (shown(self.container), ": variable ", shown(self.variable), *from_to(self.old, self.new))


@dataclass(frozen=True)
class ArgumentsChanged:
    """The command or the arguments of a container: what comes and what goes; neither if only the order is another."""

    identity: Identity
    container: str
    field: str
    added: tuple[str, ...]
    removed: tuple[str, ...]

    group = Group.DEPLOYMENTS
    gravity = Gravity.CHANGE
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        start: Sentence = (shown(self.container), f": {self.field}")
        if not self.added and not self.removed:
            return (*start, " in another order")
        if self.removed:
            start = (*start, " without ", *listed(self.removed))
        return (*start, "," if self.removed else "", " with ", *listed(self.added)) if self.added else start


@dataclass(frozen=True)
class ResourcesChanged:
    """A limit or a request of a container; `what` as `limits.memory`."""

    identity: Identity
    container: str
    what: str
    old: Any
    new: Any

    group = Group.DEPLOYMENTS
    gravity = Gravity.CHANGE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (shown(self.container), ": ", shown(self.what), *from_to(self.old, self.new))


@dataclass(frozen=True)
class SecurityChanged:
    """A setting that decides what a pod may do to its node; `loosened` if it may do more than before."""

    identity: Identity
    path: str
    old: Any
    new: Any
    loosened: bool

    group = Group.DEPLOYMENTS

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.loosened else Gravity.CHANGE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        end = ("; the pod may do more than before",) if self.loosened else ()
        return (shown(self.path), *from_to(self.old, self.new), *end)


def deployment_changes(identity: Identity, found: Iterator[Delta]) -> Iterator[Change]:
    """The differences of a Deployment and its predecessor, each as the change that it is."""
    for delta in found:
        yield from _changes(identity, delta)


def _changes(identity: Identity, delta: Delta) -> Iterator[Change]:
    path = delta.path
    inside = path[len(_POD) :] if path[: len(_POD)] == _POD else ()
    match inside:
        case ("containers" | "initContainers", Item(name)):
            yield _container(identity, name, delta)
        case ("containers" | "initContainers", Item(name), "env", Item(variable)):
            yield EnvironmentChanged(identity, name, variable, _value(delta.old), _value(delta.new))
        case ("containers" | "initContainers", Item(name), "env"):
            yield from _whole_environment(identity, name, delta)
        case ("containers" | "initContainers", Item(name), "args" | "command" as field):
            old, new = _texts(delta.old), _texts(delta.new)
            added, removed = Counter(new) - Counter(old), Counter(old) - Counter(new)
            yield ArgumentsChanged(identity, name, field, tuple(added.elements()), tuple(removed.elements()))
        case ("containers" | "initContainers", Item(name), "resources", *rest):
            for what, old, new in _amounts(tuple(rest), delta.old, delta.new):
                yield ResourcesChanged(identity, name, what, old, new)
        case _ if inside and (_SECURITY & {step for step in inside if isinstance(step, str)} or _hosts(delta)):
            for finer in _leaves(delta):
                if _hosts(delta) and "hostPath" not in finer.path:
                    continue
                yield SecurityChanged(identity, _below_pod(finer.path), finer.old, finer.new, _loosened(finer))
        case _:
            yield FieldChanged(identity, _below_pod(path), delta.old, delta.new)


def _container(identity: Identity, name: str, delta: Delta) -> ContainerAdded | ContainerRemoved:
    if delta.new is ABSENT:
        return ContainerRemoved(identity, name)
    return ContainerAdded(identity, name, mapping(mapping(delta.new).get("securityContext")).get("privileged") is True)


def _whole_environment(identity: Identity, name: str, delta: Delta) -> Iterator[EnvironmentChanged]:
    """An environment that comes or goes as a whole."""
    for value, is_new in ((delta.old, False), (delta.new, True)):
        for each in value if isinstance(value, list) else ():
            pair = (ABSENT, _value(each)) if is_new else (_value(each), ABSENT)
            yield EnvironmentChanged(identity, name, str(each.get("name")), *pair)


def _value(value: Any) -> Any:
    """What a variable is set to, of an item of `env`."""
    if not isinstance(value, dict):
        return value
    return value.get("valueFrom", value.get("value", ""))


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _amounts(rest: Path, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The amounts below a place in `resources`, one by one."""
    if not isinstance(old, dict) and not isinstance(new, dict):
        yield path_text(rest) or "resources", old, new
        return
    before, after = (value if isinstance(value, dict) else {} for value in (old, new))
    for key in sorted(before.keys() | after.keys()):
        yield from _amounts((*rest, key), before.get(key, ABSENT), after.get(key, ABSENT))


def _leaves(delta: Delta) -> Iterator[Delta]:
    """The fields of a mapping that comes or goes as a whole, so that each is judged."""
    for value, is_new in ((delta.new, True), (delta.old, False)):
        other = delta.old if is_new else delta.new
        if isinstance(value, dict) and value and other is ABSENT:
            for key, below in value.items():
                pair = (ABSENT, below) if is_new else (below, ABSENT)
                yield from _leaves(Delta((*delta.path, key), *pair))
            return
    yield delta


def _hosts(delta: Delta) -> bool:
    """Whether a volume of the node comes or goes."""
    return any(isinstance(value, dict) and "hostPath" in value for value in (delta.old, delta.new))


def _loosened(delta: Delta) -> bool:
    field = next((step for step in reversed(delta.path) if isinstance(step, str)), "")
    if "hostPath" in delta.path:
        return delta.new is not ABSENT
    if "capabilities" in delta.path and field in ("add", "drop"):
        more, less = (delta.new, delta.old) if field == "add" else (delta.old, delta.new)
        return bool(set(_texts(more)) - set(_texts(less)))
    if field in ("runAsUser", "runAsGroup"):
        return bool(delta.new == 0)
    gained = any(field == name and delta.new is value for name, value in _LOOSENED)
    return gained or any(field == name and delta.old is value for name, value in _TIGHT)


def _below_pod(path: Path) -> str:
    """The path of a field, from the pod's spec on if it is in there."""
    return path_text(path[len(_POD) :] if path[: len(_POD)] == _POD and len(path) > len(_POD) else path)
