"""The line by which olmc knows the files that it has written itself."""

GENERATED = "# Written by olmc render; changes will be lost."
