"""olmc inside other programs: fleets, kubectl, editors, GitOps pipelines, registries."""
