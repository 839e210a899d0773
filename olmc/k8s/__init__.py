"""Kubernetes without OLM: YAML, JSON as Go reads it, versions, API validation, RBAC, selectors, objects, findings."""
