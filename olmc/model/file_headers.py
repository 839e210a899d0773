"""The lines by which olmc knows the files that it has written itself."""

GENERATED = "# Written by olmc render; changes will be lost."
SCAFFOLDED = "# Written by olmc init; it is no part of a workspace."
