"""Diagnostics about YAML and JSON text (OLMC100-OLMC119)."""

from __future__ import annotations

from olmc.k8s.diagnostics import Diagnostic, Location, Rule, Severity
from olmc.k8s.limits import DEPTH, PATTERNS, Limit

YAML_SYNTAX = Rule(
    "OLMC100",
    Severity.ERROR,
    "The file is not valid YAML",
    "not valid YAML: {problem}",
    "{hint}",
    "The text breaks YAML's grammar at this place, so Kubernetes could not read the file either, or only its "
    "beginning. olmc ignores the whole file, also the documents before this place. The cause is often a line or more "
    "above: a quote that is not closed, a tab, a missing space after a colon, a line that is indented too little.",
)

JSON_SYNTAX = Rule(
    "OLMC101",
    Severity.ERROR,
    "The file is not valid JSON",
    "not valid JSON: {problem}",
    "Correct the JSON here. Comments, trailing commas, single quotes and NaN are not part of it.",
    "The text breaks JSON's grammar at this place. A file whose name ends in `.json` may also hold YAML, but a text "
    "that begins with a brace is read as JSON by Kubernetes' tools, which refuse what only YAML allows.",
)

DUPLICATE_KEY = Rule(
    "OLMC102",
    Severity.WARNING,
    "A key stands twice in one mapping",
    "the key {key!r} stands twice in this mapping; the last one counts",
    "Delete the one that is not meant.",
    "YAML and JSON want every key of a mapping to be different. Kubernetes reads such a file all the same and "
    "silently keeps the last value, so it ignores the earlier line. Strict readers reject the file.",
)

BAD_KEY = Rule(
    "OLMC103",
    Severity.ERROR,
    "A key that cannot be a text",
    "{what} can't be a key",
    "Write the key as a text, in quotes; a template such as {{{{ name }}}} has to be in quotes as a whole.",
    "Kubernetes turns YAML into JSON, where every key is a text. Numbers and booleans are turned into one; "
    "for an empty key, a list, a mapping or an integer of more than 63 bits there is no such text and the "
    "file is refused.",
)

NOT_FINITE = Rule(
    "OLMC104",
    Severity.ERROR,
    "A number that JSON cannot hold",
    "{text} is not a number that JSON can hold",
    "Put it in quotes if the text is meant, else write a finite number.",
    "YAML knows infinity and not-a-number (`.inf`, `.nan`), JSON doesn't, and neither does a number beyond "
    "the range of 64-bit floats. Kubernetes turns YAML into JSON and refuses such a file.",
)

# The next rules may concern a value of a Secret, so they do not quote it.
UNKNOWN_TAG = Rule(
    "OLMC105",
    Severity.ERROR,
    "A YAML tag without meaning here",
    "Kubernetes does not know the tag at this place",
    "Remove the tag. If the text begins with an exclamation mark, put it in quotes.",
    "A tag tells a YAML reader to make something special of a value. Only the tags of JSON's types "
    "(`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map`, `!!seq`), `!!binary`, `!!timestamp` and "
    "`!!merge` are understood. A file that relies on any other would be read differently by each program, "
    "so it is refused.",
)

TAG_MISMATCH = Rule(
    "OLMC106",
    Severity.ERROR,
    "A value that does not fit its tag",
    "what stands here can't be read as {tag}",
    "Correct the value or remove the tag.",
    "The explicit tag demands a type that the value does not have. Kubernetes refuses the file.",
)

TOO_DEEP = Rule(
    "OLMC107",
    Severity.ERROR,
    "Nested too deeply",
    "nested more than {limit} levels deep",
    "Check whether a generator went astray here; no Kubernetes object needs this depth.",
    "Lists and mappings can be nested to a limited depth only, because a file can be untrusted and must not be able "
    "to exhaust the program.",
)

ALIAS_BOMB = Rule(
    "OLMC108",
    Severity.ERROR,
    "Aliases that expand without measure",
    "{problem}",
    "Write the values out instead of repeating them with an alias.",
    "An alias (`*name`) repeats the value that its anchor (`&name`) marks. A value that contains itself is endless, "
    "and aliases of aliases can blow a small file up to any size. Kubernetes refuses both.",
)

UNKNOWN_ANCHOR = Rule(
    "OLMC109",
    Severity.ERROR,
    "An alias without anchor",
    "no anchor with the name of this alias stands before it",
    "If the text begins with an asterisk, put it in quotes; else define the anchor earlier in the same document.",
    "A plain value that begins with `*` is an alias: it repeats the value marked with `&` and the same name, earlier "
    "in the same document.",
)

BAD_MERGE = Rule(
    "OLMC110",
    Severity.ERROR,
    "A merge key without a mapping",
    "the merge key << wants a mapping or a list of mappings",
    'Give it a mapping, or quote the key ("<<") if the text is meant.',
    "The key `<<` copies the keys of another mapping into this one, so its value has to be a mapping or a "
    "list of mappings.",
)

WRONG_VERSION = Rule(
    "OLMC111",
    Severity.ERROR,
    "A version of YAML that Kubernetes does not read",
    "the directive %YAML {version} is not understood by Kubernetes, which reads YAML 1.1",
    "Remove the %YAML line.",
    "Kubernetes refuses every document whose `%YAML` directive names another version than 1.1. Without the directive, "
    "the document means the same.",
)


TOO_LARGE = Rule(
    "OLMC124",
    Severity.ERROR,
    "More than olmc takes on",
    "{path} has {size} {unit}, more than the {limit:,} that olmc reads",
    "{hint}",
    "The limits protect the machine that compiles from input made to exhaust it. The page docs/limits.md has all of "
    "them. An environment variable raises each limit, so the author of the input can't raise it.",
)


def too_large(path: str, limit: Limit, size: int | None = None, *, place: Location | None = None) -> Diagnostic:
    """Report that there is more in a path than a limit has it; `size` is how much, where that is known."""
    hints = {DEPTH: "Leave it out; ", PATTERNS: "Name folders, and fewer of them; "}
    hint = hints.get(limit, "Split it, or leave it out with .olmcignore; ")
    hint += f"where you trust it, {limit.variable}=NUMBER in the environment raises the limit."
    shown = "too many" if size is None else f"{size:,}"
    return TOO_LARGE.finding(
        place or Location(path), path=path, size=shown, unit=limit.unit, limit=limit.most, hint=hint
    )


SPLIT = Rule(
    "OLMC112",
    Severity.ERROR,
    "Documents that Kubernetes splits in another place than YAML",
    "{problem}",
    "{hint}",
    "Kubernetes' tools cut a file into documents before they read YAML: at each line that begins with `---` and has "
    "only white space or a comment behind it. They refuse other text there, and read one YAML document of each part. "
    "At this place YAML sees another end of a document. So a review of the file and a cluster would see different "
    "objects. olmc ignores the file.",
)
