"""Kubernetes' YAML: read as go-yaml v2 and sigs.k8s.io/yaml do, written so that all readers agree."""

from olmc.k8s.yaml.document import Document
from olmc.k8s.yaml.emitter import dump, dump_one, plain_is_safe
from olmc.k8s.yaml.locate import at, locate, located
from olmc.k8s.yaml.reader import Reader, c_reader_active, read, reader_of

__all__ = [
    "Document", "Reader", "at", "c_reader_active", "dump", "dump_one", "locate", "located", "plain_is_safe", "read",
    "reader_of",
]  # fmt: skip
