"""Paths that the command line takes."""

from __future__ import annotations

import os
from typing import Any

import click


class GivenPath(click.Path):
    """A path that is not empty: one made of a variable that is not set would be the current directory unasked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current directory.", param, ctx)
        return super().convert(value, param, ctx)
