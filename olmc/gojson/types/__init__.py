"""The tables of Go types, one JSON file for each origin, and the generator of those that are generated.

A table holds `roots` (short name to full name) and `types`. A struct is a list of fields `[JSON name, type, flags]`,
with a fourth element where an embedded struct brings the field: the embedded field's Go name. A type is Go's with full
struct names; a defined type of another kind is `v1.Name=underlying`. Flags: "" | "o" (omitempty) | "z" (omitzero). A
type that marshals itself is null; `olmc.gojson.scalars` knows these.
"""
