"""Snapshots that are files of their own, as the command line has printed them: a review reads them as users do."""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextFile(SingleFileSnapshotExtension):
    """What a terminal shows."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


class YAMLFile(TextFile):
    """Objects for a cluster."""

    file_extension = "yaml"


class MarkdownFile(TextFile):
    """A comment for a pull request."""

    file_extension = "md"


class JSONFile(TextFile):
    """A document for programs."""

    file_extension = "json"


FILE_TYPES = {"text": TextFile, "yaml": YAMLFile, "markdown": MarkdownFile, "json": JSONFile}
"""The type of file for each output format."""
