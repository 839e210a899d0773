"""What changed between two sides, as OLM and its users see it: `compare(old, new)`."""
