"""Image references: `registry/repository:tag@digest`."""

from __future__ import annotations

from typing import NamedTuple

from olmc.load.catalogs.image_references import pull_spec_problem, split_domain
from olmc.rules import vendor as rules
from olmc.vendor.errors import VendorError


class Reference(NamedTuple):
    """An image by its registry (host and port), repository, and tag or digest ("" where it has none)."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """The image without tag and digest."""
        return f"{self.registry}/{self.repository}"

    @property
    def selector(self) -> str:
        """What to ask the registry for: the digest if there is one, else the tag."""
        return self.digest or self.tag or "latest"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}{f'@{self.digest}' if self.digest else ''}"


def parse(image: str) -> Reference:
    """The reference that a text stands for, with what may be left out filled in; VendorError if it is none."""
    cause = pull_spec_problem(image)
    if cause:
        raise VendorError(rules.BAD_REFERENCE, image=image, cause=cause)
    registry, rest = split_domain(image)
    named, _, digest = rest.partition("@")
    repository, _, tag = named.partition(":")
    return Reference(registry, repository, tag, digest)
