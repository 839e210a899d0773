"""How far a run has come, counted by several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock


class StoppedError(Exception):
    """Another part of the run has failed, or the user has stopped it."""


@dataclass(slots=True)
class Progress:
    """Images and bytes, those done and those to do; `shown` is called with each change.

    Once `stop` is set, whoever reports progress gets a StoppedError, so that no thread goes on in vain.
    """

    shown: Callable[[Progress], None] = lambda _: None
    images: int = 0
    images_done: int = 0
    bytes: int = 0
    bytes_done: int = 0
    stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def expect(self, *, images: int = 0, size: int = 0) -> None:
        """There are more images, or bytes, to fetch."""
        with self._lock:
            self.images += images
            self.bytes += size
            self.shown(self)

    def tick(self, size: int) -> None:
        """So many bytes have arrived; a negative number has to come once more."""
        if self.stop.is_set():
            raise StoppedError
        with self._lock:
            self.bytes_done += size
            self.shown(self)

    def __str__(self) -> str:
        """As `3 of 7 images, 12.5 of 80.0 MB`."""
        size = f", {self.bytes_done / 1e6:.1f} of {self.bytes / 1e6:.1f} MB" if self.bytes else ""
        return f"{self.images_done} of {self.images} images{size}"

    def image_done(self) -> None:
        """An image is complete."""
        with self._lock:
            self.images_done += 1
            self.shown(self)
