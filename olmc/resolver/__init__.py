"""From a namespace's catalogs, Subscriptions and CSVs to what OLM would install next, and why."""
