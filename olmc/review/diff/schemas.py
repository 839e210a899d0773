"""Compare the schemas of a CRD, and find the changes that break valid objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from olmc.k8s.diagnostics import Severity
from olmc.k8s.gojson import decode_errors
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import ObjectKey, mapping, mappings, text, texts
from olmc.review.diff import crd_kinds as kinds
from olmc.review.diff.crd_kinds import ABSENT, BREAKING, CHANGE, NOTE, RISK, DiffChange

# Which rules and combinations of schemas refuse nothing that was valid before, as far as their text says it.
#
# A rule in CEL counts as harmless when every object that the old schema lets through satisfies it: because it only
# speaks of fields that are new, of fields that had to be there anyway, or of values that were not allowed.

Schema = Mapping[str, Any]

_FIELD = r"self((?:\.[A-Za-z_][A-Za-z0-9_]*)+)"
_HAS = regex(rf"has\(\s*{_FIELD}\s*\)")
_COMPARED = regex(rf"{_FIELD}\s*(==|!=)\s*(['\"])([^'\"\\]*)\3")
_OPEN, _CLOSE, _QUOTES = "([{", ")]}", "'\""
# What is beside these keys in a schema says nothing about values.
_SILENT = frozenset(("description", "title", "example", "externalDocs"))


def is_satisfied(rule: str, schema: Schema) -> bool:
    """Return whether every object of a schema satisfies a rule, as far as its text says; False where that is
    unknown."""
    return _truth(rule, schema, frozenset()) is True


def _truth(rule: str, schema: Schema, guarded: frozenset[str]) -> bool | None:
    """The result of a rule for every object, None where it depends on the object.

    `guarded`: the fields that may be missing without an error of the rule.
    """
    rule = _unwrapped(rule.strip())
    condition, found, branches = _partition(rule, "?")
    if found:
        yes, _, no = _partition(branches, ":")
        return _chosen(_truth(condition, schema, guarded), _truth(yes, schema, guarded), _truth(no, schema, guarded))
    choices = _split(rule, "||")
    if len(choices) > 1:
        absent = (match[1] for choice in choices if (match := _HAS.fullmatch(_negated(choice))) is not None)
        values = [_truth(choice, schema, guarded | frozenset(absent)) for choice in choices]
        return True if True in values else False if set(values) == {False} else None
    parts = _split(rule, "&&")
    if len(parts) > 1:
        values = [_truth(part, schema, guarded) for part in parts]
        return False if False in values else True if set(values) == {True} else None
    if rule in ("true", "false"):
        return rule == "true"
    if rule.startswith("!") and not rule.startswith("!="):
        inner = _truth(rule[1:], schema, guarded)
        return None if inner is None else not inner
    return _atom(rule, schema, guarded)


def _chosen(condition: bool | None, yes: bool | None, no: bool | None) -> bool | None:
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


def _atom(rule: str, schema: Schema, guarded: frozenset[str]) -> bool | None:
    if (match := _HAS.fullmatch(rule)) is not None:
        return _presence(_steps(match[1]), schema)
    if (match := _COMPARED.fullmatch(rule)) is not None:
        field, operator, value = match[1], match[2], match[4]
        known = _validated_property(_steps(field), schema)
        allowed = known.get("enum") if known is not None else None
        is_there = (
            _presence(_steps(field), schema) is True or field in guarded or (known or {}).get("default") is not None
        )
        if isinstance(allowed, list) and value not in allowed and is_there:
            return operator == "!="
    return None


def _steps(path: str) -> list[str]:
    return path.strip(".").split(".")


def _presence(steps: Sequence[str], schema: Schema) -> bool | None:
    """Return whether a field is in every object of a schema, or in none; None where it may be."""
    always = True
    for step in steps:
        properties = mapping(schema.get("properties"))
        if step not in properties:
            is_open = schema.get(_PRESERVE) is True or schema.get("additionalProperties") not in (None, False)
            return None if is_open else False
        always = always and step in texts(schema.get("required"))
        schema = mapping(properties[step])
    return True if always else None


def _validated_property(steps: Sequence[str], schema: Schema) -> Schema:
    for step in steps:
        schema = mapping(mapping(schema.get("properties")).get(step))
    return schema


def _negated(rule: str) -> str:
    rule = _unwrapped(rule.strip())
    return _unwrapped(rule[1:].strip()) if rule.startswith("!") else ""


def _unwrapped(rule: str) -> str:
    """A rule without parentheses around all of it."""
    while rule.startswith("(") and _end(rule) == len(rule) - 1:
        rule = rule[1:-1].strip()
    return rule


def _end(rule: str) -> int:
    """Return where the bracket that a rule begins with closes."""
    depth = 0
    for place, char in _outside_quotes(rule):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            return place
    return -1


def _outside_quotes(rule: str) -> list[tuple[int, str]]:
    """The characters of a rule that are in no text, with their places."""
    outside: list[tuple[int, str]] = []
    quote, escaped = "", False
    for place, char in enumerate(rule):
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in _QUOTES:
            quote = char
        else:
            outside.append((place, char))
    return outside


def _split(rule: str, operator: str) -> list[str]:
    """The operands of an operator that is in no brackets."""
    left, found, rest = _partition(rule, operator)
    return [left, *_split(rest, operator)] if found else [left]


def _partition(rule: str, operator: str) -> tuple[str, str, str]:
    depth = 0
    for place, char in _outside_quotes(rule):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and rule.startswith(operator, place):
            return rule[:place].strip(), operator, rule[place + len(operator) :].strip()
    return rule, "", ""


def combination(keyword: str, value: Any) -> Any:
    """A combination (allOf, anyOf, oneOf) without what constrains nothing; ABSENT if nothing is left of it."""
    if not isinstance(value, list) or keyword not in ("allOf", "anyOf", "oneOf"):
        return value
    idle = [choice for choice in value if _constrains_nothing(choice)]
    if keyword == "allOf":
        left = [choice for choice in value if choice not in idle]
        return left or ABSENT
    # One choice that all values fit is no choice; among several of oneOf it is one that no other may fit.
    if not value or (idle and (keyword == "anyOf" or len(value) == 1)):
        return ABSENT
    return value


def _constrains_nothing(schema: Any) -> bool:
    if schema is True:
        return True
    if not isinstance(schema, dict):
        return False
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            if not all(map(_constrains_nothing, value.values())):
                return False
        elif not (key in _SILENT or (key == "required" and not value)):
            return False
    return True


def is_stricter(keyword: str, old: Any, new: Any, schema: Schema) -> bool:
    """Return whether a combination may refuse what was valid; `schema` is the old one that it stands in."""
    if new is ABSENT:
        return False
    if not isinstance(old, list) or not isinstance(new, list):
        return True
    if keyword == "allOf":
        return any(choice not in old for choice in new)
    if any(choice not in new for choice in old):
        return True
    # One more choice of anyOf lets more through; of oneOf it refuses what fits two, unless it asks for a new field.
    more = (choice for choice in new if choice not in old)
    return keyword != "anyOf" and not all(_asks_for_new(choice, schema) for choice in more)


def _asks_for_new(choice: Any, schema: Schema) -> bool:
    return any(_presence([name], schema) is False for name in texts(mapping(choice).get("required")))


# Which nodes of a schema are types of Kubernetes, by their shape.
#
# The Go types of an operator always decoded such fields in this way, so objects that worked satisfy the constraints
# that the types imply. A generator that learns to write them down makes no object invalid.

_CORE, _META = "k8s.io/api/core/v1.", "k8s.io/apimachinery/pkg/apis/meta/v1."
_QUANTITY = "k8s.io/apimachinery/pkg/api/resource.Quantity"
_INT_OR_STRING_TYPE = "k8s.io/apimachinery/pkg/util/intstr.IntOrString"
_SCALARS = (_QUANTITY, _INT_OR_STRING_TYPE, f"{_META}Time")
_AMOUNT = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY_PATTERN = rf"^(\+|-)?{_AMOUNT}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_AMOUNT}))?$"
_EMBEDDED = (
    *(_CORE + name for name in """
    Affinity CSIVolumeSource ConfigMapKeySelector ConfigMapVolumeSource Container ContainerPort EmptyDirVolumeSource
    EnvFromSource EnvVar EnvVarSource EphemeralContainer EphemeralVolumeSource HTTPGetAction HostAlias KeyToPath
    Lifecycle LifecycleHandler NodeAffinity NodeSelector NodeSelectorTerm ObjectReference PersistentVolumeClaimSpec
    PersistentVolumeClaimTemplate PodAffinity PodAffinityTerm PodAntiAffinity PodDNSConfig PodSecurityContext PodSpec
    PodTemplateSpec Probe ProbeHandler ProjectedVolumeSource ResourceRequirements SecretKeySelector SecretVolumeSource
    SecurityContext ServicePort ServiceSpec Toleration TopologySpreadConstraint Volume VolumeMount VolumeProjection
    VolumeResourceRequirements VolumeSource WeightedPodAffinityTerm
    """.split()),
    *(_META + name for name in "Condition LabelSelector LabelSelectorRequirement ObjectMeta".split()),
    *("k8s.io/api/apps/v1." + name for name in ("DeploymentSpec", "DeploymentStrategy")),
    *("k8s.io/api/networking/v1." + name for name in ("NetworkPolicyPeer", "NetworkPolicySpec")),
)  # fmt: skip
"""The structs that operators embed in their own, and whose fields tell them apart from these."""
_REMOVED_FIELDS = frozenset(("clusterName",))
"""Fields of older releases of Kubernetes."""
_FEW_FIELDS = 3
_OF_LABELS = regex(r"(?i)[^.]*(?:labels|annotations|selector)\{\}")
"""The end of the path of a value where Kubernetes has maps of texts."""


def _go_type(schema: Schema, path: str) -> str:
    """The Go type of Kubernetes that a schema has the shape of, "" for none; the path tells maps of texts apart."""
    if schema.get("pattern") == _QUANTITY_PATTERN:
        return _QUANTITY
    if _type(schema) == _INT_OR_STRING or schema.get("anyOf") == _INT_OR_STRING_TYPES:
        return _INT_OR_STRING_TYPE if "pattern" not in schema else ""
    if _type(schema) == "string":
        return "string" if _OF_LABELS.fullmatch(path.rpartition(".")[2]) is not None else ""
    if _type(schema) == "array":
        items = _go_type(mapping(schema.get("items")), f"{path}[]")
        return f"[]{items}" if _struct(items) else ""
    properties = mapping(schema.get("properties"))
    if not path:
        return ""
    if not properties:
        values = mapping(schema.get("additionalProperties"))
        within = _go_type(values, f"{path}{{}}") if values else ""
        return f"map[string]{within}" if within else ""
    candidates: set[str] | None = None
    for name in properties.keys() - _REMOVED_FIELDS:
        having = _structs_with().get(name, frozenset())
        candidates = set(having) if candidates is None else candidates & having
        if not candidates:
            return ""
    return next((struct for struct in _EMBEDDED if struct in (candidates or ()) and _fits(schema, struct)), "")


@cache
def _structs_with() -> Mapping[str, frozenset[str]]:
    """The structs that operators embed, by the fields that they have."""
    found: dict[str, set[str]] = {}
    for struct in _EMBEDDED:
        for name in decode_errors.members(struct):
            found.setdefault(name, set()).add(struct)
    return {name: frozenset(structs) for name, structs in found.items()}


def _fits(schema: Schema, struct: str) -> bool:
    """Return whether a schema, all of whose properties a struct has, is that of the struct.

    Older releases of Kubernetes have fewer fields. Of texts and numbers one may lack, of what is more telling half.
    """
    members, properties = decode_errors.members(struct), mapping(schema.get("properties"))
    is_telling = any(_struct(field.type) or _QUANTITY in field.type for field in members.values())
    least = len(members) / 2 if is_telling else len(members) - (len(members) > _FEW_FIELDS)
    if struct == f"{_META}ObjectMeta":
        least = 1  # generators keep labels and annotations of it
    if len(properties) < least or not set(texts(schema.get("required"))) <= _required(struct):
        return False
    return all(_has_type(mapping(properties[name]), members[name].type) for name in properties.keys() - _REMOVED_FIELDS)


@cache
def _required(struct: str) -> frozenset[str]:
    """The fields that a struct always has."""
    return frozenset(name for name, field in decode_errors.members(struct).items() if not field.omit)


def _has_type(schema: Schema, go_type: str) -> bool:
    """Return whether a schema is for a Go type as far as its type and fields tell; one without them may be for any."""
    plain = decode_errors.underlying(go_type.removeprefix("*"))
    if _struct(plain) and not mapping(schema.get("properties")).keys() <= decode_errors.members(_struct(plain)).keys():
        return False
    if plain.startswith("map[string]") or plain == _struct(plain):
        expected: tuple[str, ...] = ("object",)
    elif plain.startswith("[]"):
        expected = ("string",) if plain == "[]uint8" else ("array",)
    elif plain in (_QUANTITY, _INT_OR_STRING_TYPE):
        expected = (_INT_OR_STRING, "string")
    else:
        expected = ("boolean",) if plain == "bool" else ("integer",) if plain.startswith("int") else ("string",)
    return _type(schema) in (_ANYTHING, *expected)


def _struct(go_type: str) -> str:
    """The struct that a Go type is, a list of, or points to, "" for none."""
    plain = go_type.removeprefix("*").removeprefix("[]")
    is_struct = plain.startswith("k8s.io/") and "=" not in plain and plain not in _SCALARS
    return plain if is_struct and decode_errors.fields(plain) is not None else ""


def _field_type(go_type: str, step: str) -> str:
    """The Go type one step into another one: a field, "[]" or "{}"; "" where it has none."""
    plain = go_type.removeprefix("*")
    if step in ("[]", "{}"):
        prefix = "[]" if step == "[]" else "map[string]"
        return plain.removeprefix(prefix) if plain.startswith(prefix) and plain != "[]uint8" else ""
    field = decode_errors.members(plain).get(step) if plain and plain == _struct(plain) else None
    return field.type if field is not None else ""


def _type_name(go_type: str) -> str:
    """A Go type as people know it: `Quantity`, `LabelSelector`, `map of strings`."""
    plain = go_type.rpartition("]")[2].rpartition(".")[2]
    return "map of strings" if plain == "string" else plain


_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_FLAGS = ("exclusiveMaximum", "exclusiveMinimum", "uniqueItems")
_PATTERNS = ("pattern", "format")
_KEYWORDS = (
    "allOf", "anyOf", "oneOf", "not", "nullable", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type", "x-kubernetes-embedded-resource",
)  # fmt: skip
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_VALIDATIONS = "x-kubernetes-validations"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
_ANY_TEXT = ("", ".*", "^.*$")
_FORMATS = frozenset(
    """bsonobjectid byte cidr creditcard date date-time datetime double duration email float hexcolor hostname int32
    int64 ipv4 ipv6 isbn isbn10 isbn13 k8s-long-name k8s-short-name mac password rgbcolor ssn uri uuid uuid3 uuid4
    uuid5""".split()
)
"""The formats that the API server checks."""
_OF_NUMBERS = ("int32", "int64", "float", "double")
_ANYTHING = "anything"
_NOTHING = "nothing"

# What every value of a type also is; a change to one of these takes nothing away.
_WIDER: Mapping[str, frozenset[str]] = {
    "integer": frozenset(("number", _INT_OR_STRING, _ANYTHING)),
    "string": frozenset((_INT_OR_STRING, _ANYTHING)),
}
_STATUS = "status"
_METADATA, _NAMES = "metadata", ("name", "generateName")
_TEXT: Mapping[str, Any] = {"type": "string"}
_ONLY_ANYTHING = frozenset((_ANYTHING,))


class _At(NamedTuple):
    """A place in the schema of a version, and how grave it is at most when something breaks there.

    `elsewhere` are the schemas of the same field in other versions that a conversion webhook leads to. `go_type` is the
    type of Kubernetes that the field has, "" for what is the operator's own; `embedded` is the one that the operator
    embeds, which the field is or is part of.
    """

    identity: ObjectKey
    version: str
    path: str
    most: Severity
    elsewhere: tuple[tuple[str, Schema], ...]
    go_type: str = ""
    embedded: str = ""

    @property
    def where(self) -> tuple[ObjectKey, str, str]:
        """The common start of all changes here."""
        return self.identity, self.version, self.path

    def weight(self, severity: Severity) -> Severity:
        return min(severity, self.most)

    @property
    def is_of_status(self) -> bool:
        """Return whether the place is in the status, which the operator alone writes."""
        return self.path == _STATUS or self.path.startswith((f"{_STATUS}.", f"{_STATUS}{{", f"{_STATUS}["))

    def below(self, step: str, schemas: tuple[tuple[str, Schema], ...] = ()) -> _At:
        """A place one step further; breaking readers of the status, which users don't write, is a risk."""
        path = f"{self.path}{step}" if step in ("[]", "{}") or not self.path else f"{self.path}.{step}"
        most = min(self.most, RISK) if path == _STATUS else self.most
        return self._replace(path=path, most=most, elsewhere=schemas, go_type=_field_type(self.go_type, step))

    def recognized(self, schema: Schema) -> _At:
        """The place with the type of Kubernetes that its schema has the shape of."""
        go_type = self.go_type or _go_type(schema, self.path)
        return self if go_type == self.go_type else self._replace(go_type=go_type, embedded=_type_name(go_type))


def schema_changes(
    identity: ObjectKey,
    version: str,
    old: Schema,
    new: Schema,
    elsewhere: tuple[tuple[str, Schema], ...],
    most: Severity,
) -> Iterator[DiffChange]:
    """Yield how the schema of a version differs from what it was.

    A removed field may remain in the schemas `elsewhere`, those of other versions that a conversion webhook converts
    to. `most` is the highest severity of a change.
    """
    if old and not new:
        return
    # A generator of CRDs that learns a new keyword writes it everywhere; one change with all places says it.
    keywords: dict[str, list[DiffChange]] = {}
    implied: list[_Implied] = []
    for change in _changes(old, new, _At(identity, version, "", most, elsewhere)):
        if isinstance(change, _Implied):
            implied.append(change)
        elif change.kind is kinds.keyword_changed:
            key = repr([change.values[field] for field in ("keyword", "old", "new", "severity")])
            keywords.setdefault(key, []).append(change)
        else:
            yield change
    if implied:
        types = tuple(sorted({each.type for each in implied}))
        yield kinds.constraints_implied(identity, version, tuple(dict.fromkeys(each.path for each in implied)), types)
    for alike in keywords.values():
        paths = tuple(path for change in alike for path in change.values["paths"])
        yield kinds.keyword_changed(identity, **{**alike[0].values, "paths": paths})


def lost_fields(old: Schema, new: Schema, path: str = "") -> Iterator[str]:
    """The fields that a schema has and another one neither has nor keeps as unknown ones."""
    if _is_open(new):
        return
    before, after = mapping(old.get("properties")), mapping(new.get("properties"))
    for name, below in before.items():
        place = f"{path}.{name}" if path else name
        if name not in after:
            yield place
        else:
            yield from lost_fields(mapping(below), mapping(after[name]), place)
    for field, step in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(old.get(field), dict) and isinstance(new.get(field), dict):
            yield from lost_fields(old[field], new[field], f"{path}{step}")


def _is_open(schema: Schema) -> bool:
    """Return whether fields that a schema doesn't name are kept."""
    return schema.get(_PRESERVE) is True or (schema.get("additionalProperties") not in (None, False))


class _Implied(NamedTuple):
    """A constraint that the type of Kubernetes at a place implies."""

    path: str
    type: str


def _changes(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange | _Implied]:
    if old == new:
        return
    is_field = bool(at.go_type)  # of a type of Kubernetes, and not of the operator
    at = at if is_field else at.recognized(new)
    for change in _own_changes(old, new, at):
        implied = change.severity >= RISK and _is_implied(change, at, is_field=is_field)
        yield _Implied(change.values.get("path", at.path), at.embedded or "ObjectMeta") if implied else change
    # Another type leaves nothing inside to compare.
    if _type(old) == _type(new) or not {_type(old), _type(new)} & {"object", "array"}:
        yield from _parts(old, new, at)


def _own_changes(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    """Yield how a node differs, without what is below its fields and items."""
    before, after = _type(old), _type(new)
    if before != after:
        narrowed = before == _ANYTHING or after not in _WIDER.get(before, _ONLY_ANYTHING)
        yield kinds.type_changed(*at.where, before, after, at.weight(BREAKING if narrowed else CHANGE))
        if {before, after} & {"object", "array"}:
            return
    yield from _bounds(old, new, at)
    yield from _values(old, new, at)
    yield from _rules(old, new, at)
    yield from _properties(old, new, at)


def _is_implied(change: DiffChange, at: _At, *, is_field: bool) -> bool:
    """Return whether a type of Kubernetes implies a constraint that a generator did not write down before.

    `is_field`: the node is a field of such a type, whose defaults are its own, too.
    """
    values = change.values
    if change.kind is kinds.required_added or change.kind is kinds.property_added:
        name = values["path"].rpartition(".")[2]
        if name == _METADATA:
            return True  # every object has it, and what templates need of it Kubernetes fills in
        struct = _struct(at.go_type) if not at.go_type.removeprefix("*").startswith("[]") else ""
        return bool(struct) and (is_field or name in _required(struct))
    if not at.go_type:
        return False
    if change.kind is kinds.type_changed:
        return bool(values["old"] == _ANYTHING)
    if change.kind is kinds.unknown_fields_changed:
        return True
    # Pods may have a variable or a port twice, which a list that becomes a map refuses.
    if text(values.get("keyword")).startswith("x-kubernetes-list"):
        return False
    if change.kind is kinds.default_changed and not is_field:
        return False  # the operator's own default of a type that it embeds
    if values.get("keyword") == "pattern":  # no other type has one
        return values["old"] is ABSENT and values["new"] == _QUANTITY_PATTERN
    gains = (kinds.pattern_changed, kinds.keyword_changed, kinds.default_changed)
    return change.kind in gains and values["old"] is ABSENT


def _type(schema: Schema) -> str:
    if schema.get(_INT_OR_STRING) is True:
        return _INT_OR_STRING
    return text(schema.get("type")) or _ANYTHING


def _bounds(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    for keyword in (*_UPPER, *_LOWER, *_FLAGS, "multipleOf"):
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after and not (keyword in _FLAGS and not _number(before) and not _number(after)):
            severity = at.weight(BREAKING if _is_tighter(keyword, before, after) else CHANGE)
            yield kinds.bound_changed(*at.where, keyword, before, after, severity)


def _number(value: Any) -> float:
    """A number to compare with; booleans are 0 and 1, and so is what is no number."""
    return value if isinstance(value, (int, float)) else 0


def _is_tighter(keyword: str, old: Any, new: Any) -> bool:
    """Return whether a bound lets less through than before."""
    if new is ABSENT:
        return False
    if keyword in _FLAGS:
        return _number(new) > _number(old)
    if keyword == "multipleOf":
        # Multiples of 6 are multiples of 3, but not the other way around.
        return old is ABSENT or not _number(new) or bool(_number(old) % _number(new))
    if old is ABSENT:
        # A length of at least 0 refuses nothing; a minimum of 0 refuses negative numbers.
        return not (keyword in _LOWER and keyword != "minimum" and not _number(new))
    return _number(new) < _number(old) if keyword in _UPPER else _number(new) > _number(old)


def _values(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    for keyword in _PATTERNS:
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after:
            severity = at.weight(_pattern_severity(keyword, before, after))
            yield kinds.pattern_changed(*at.where, keyword, before, after, severity)
    before, after = old.get("enum"), new.get("enum")
    if before != after:
        yield from _enum(before, after, at)
    before, after = old.get("default", ABSENT), new.get("default", ABSENT)
    if before != after:
        severity = NOTE if at.is_of_status else _default_severity(before, after)
        yield kinds.default_changed(*at.where, before, after, at.weight(severity))


def _default_severity(old: Any, new: Any) -> Severity:
    """Return how grave another default is; that a text is empty unless somebody writes one is what leaving it out
    means."""
    return NOTE if {_is_empty(old), _is_empty(new)} == {True} else RISK


def _is_empty(default: Any) -> bool:
    return default is ABSENT or default is None or (isinstance(default, (str, list, dict)) and not default)


def _pattern_severity(keyword: str, old: Any, new: Any) -> Severity:
    """Return how grave another pattern or format is; the size that a format gives numbers mostly fits them."""
    if new is ABSENT or (keyword == "pattern" and text(new) in _ANY_TEXT):
        return CHANGE
    if keyword == "format" and text(new) not in _FORMATS:
        return CHANGE  # the API server checks none that it doesn't know
    return RISK if old is ABSENT and text(new) in _OF_NUMBERS else BREAKING


def _enum(old: Any, new: Any, at: _At) -> Iterator[DiffChange]:
    before, after = (_written(values) if isinstance(values, list) else None for values in (old, new))
    removed = tuple(value for value in before or () if value not in (after or ())) if after is not None else ()
    added = tuple(value for value in after or () if value not in (before or ()))
    if not removed and not added and (before is None) == (after is None):
        return
    tightened = bool(removed) or (before is None and after is not None)
    severity = at.weight(BREAKING if tightened else CHANGE)
    yield kinds.enum_changed(*at.where, added, removed, before is None, after is None, severity)


def _written(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)


def _rules(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    before, after = (
        {
            " ".join(text(rule.get("rule")).split()): text(rule.get("message"))
            for rule in mappings(schema.get(_VALIDATIONS))
        }
        for schema in (old, new)
    )
    # What a CEL rule refuses can seldom be read from its text, so a new one counts as breaking unless it can.
    for rule, message in after.items():
        if rule not in before:
            satisfied = is_satisfied(rule, old)
            yield kinds.validation_added(
                *at.where, rule, message, satisfied, at.weight(CHANGE if satisfied else BREAKING)
            )
    for rule in before:
        if rule not in after:
            yield kinds.validation_removed(*at.where, rule)
    for keyword in _KEYWORDS:
        was, now = _keyword(old, keyword), _keyword(new, keyword)
        if was != now and not (keyword == "nullable" and not _number(was) and not _number(now)):
            severity = at.weight(_keyword_severity(keyword, was, now, old))
            yield kinds.keyword_changed(at.identity, at.version, (at.path,), keyword, was, now, severity)
    was, now = bool(old.get(_PRESERVE)), bool(new.get(_PRESERVE))
    if was != now:
        severity = at.weight(BREAKING if was else CHANGE)
        yield kinds.unknown_fields_changed(*at.where, now, severity)


def _keyword(schema: Schema, keyword: str) -> Any:
    """A keyword of a schema, unless it is the spelling that Kubernetes asks for of an integer or a string."""
    value = combination(keyword, schema.get(keyword, ABSENT))
    return ABSENT if schema.get(_INT_OR_STRING) is True and value == _INT_OR_STRING_TYPES else value


def _keyword_severity(keyword: str, old: Any, new: Any, schema: Schema) -> Severity:
    """Return how grave another keyword is. Whether a list or a map is atomic decides on merging, not on what is
    valid."""
    if keyword == "x-kubernetes-map-type" or (keyword == "x-kubernetes-list-type" and new not in ("set", "map")):
        return NOTE
    if keyword == "nullable":
        return BREAKING if _number(new) < _number(old) else CHANGE
    return BREAKING if is_stricter(keyword, old, new, schema) else CHANGE


def _properties(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    before, after = mapping(old.get("properties")), mapping(new.get("properties"))
    if at.path == _METADATA:
        before, after = _with_names(before, after)
    required_before, required_after = texts(old.get("required")), texts(new.get("required"))
    for name in before:
        if name not in after:
            yield from _removed(name, new, at)
    for name in after:
        must = name in required_after
        if name not in before:
            # The server fills in a default before it looks for what is required.
            may_matter = must and mapping(after[name]).get("default") is None
            severity = at.weight(BREAKING if may_matter else CHANGE)
            yield kinds.property_added(*at.below(name).where, must, severity)
        elif must and name not in required_before:
            has_default = mapping(after[name]).get("default") is not None
            severity = at.weight(CHANGE if has_default else BREAKING)
            yield kinds.required_added(*at.below(name).where, has_default, severity)
        elif not must and name in required_before:
            yield kinds.required_removed(*at.below(name).where)


def _parts(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange | _Implied]:
    """Yield how the fields that both sides have, and the items of lists and maps differ."""
    before, after = mapping(old.get("properties")), mapping(new.get("properties"))
    if at.path == _METADATA:
        before, after = _with_names(before, after)
    for name in before:
        if name in after and before[name] is not after[name] and before[name] != after[name]:
            schemas = tuple((version, _property(schema, name)) for version, schema in at.elsewhere)
            yield from _changes(mapping(before[name]), mapping(after[name]), at.below(name, schemas))
    for field, step in (("items", "[]"), ("additionalProperties", "{}")):
        yield from _inner(_values_of(old, field, new), _values_of(new, field, old), field, step, at)


def _with_names(old: Schema, new: Schema) -> tuple[Schema, Schema]:
    """The fields of `metadata` with what each object has: a name, which may be generated."""
    before = {**dict.fromkeys((name for name in _NAMES if name in new), _TEXT), **old}
    return before, {**dict.fromkeys((name for name in _NAMES if name in before), _TEXT), **new}


def _removed(name: str, new: Schema, at: _At) -> Iterator[DiffChange]:
    kept_in = tuple(version for version, schema in at.elsewhere if name in mapping(schema.get("properties")))
    # Where unknown fields are kept, what the field holds stays, but nothing checks it any more.
    is_open = _is_open(new)
    below = at.below(name)
    severity = RISK if kept_in or is_open else BREAKING
    if is_open and below.is_of_status:
        severity = CHANGE  # nothing is lost, and users write none of it
    yield kinds.property_removed(*below.where, kept_in, is_open, below.weight(severity))


def _property(schema: Schema, name: str) -> Schema:
    return mapping(mapping(schema.get("properties")).get(name))


def _inner(old: Any, new: Any, field: str, step: str, at: _At) -> Iterator[DiffChange | _Implied]:
    """The schema of the items of a list, or of the values of a map (true: anything, false: nothing)."""
    if isinstance(old, dict) and isinstance(new, dict):
        schemas = tuple((version, mapping(schema.get(field))) for version, schema in at.elsewhere)
        yield from _changes(old, new, at.below(step, schemas))
    elif (before := _open(old)) != (after := _open(new)):
        below = at.below(step).recognized(mapping(new))
        if before == _ANYTHING and below.go_type:
            yield _Implied(below.path, below.embedded)
            return
        severity = CHANGE if after == _ANYTHING or before == _NOTHING else BREAKING
        yield kinds.type_changed(*at.below(step).where, before, after, at.weight(severity))


def _open(value: Any) -> str:
    if isinstance(value, dict):
        return _type(value)
    return _ANYTHING if value is True else _NOTHING


def _values_of(schema: Schema, field: str, other: Schema) -> Any:
    """The schema of the items of a list or of the values of a map; a map without one takes anything if it keeps it."""
    is_map = field == "additionalProperties" and isinstance(other.get(field), dict)
    return True if is_map and field not in schema and schema.get(_PRESERVE) is True else schema.get(field)
