"""Statements about outputs: what was read, by which olmc, and what came of it."""
