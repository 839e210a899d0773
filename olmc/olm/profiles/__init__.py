"""The formats of OLM's versions as data, resolved once into a Profile."""
