"""The tools that run olmc in pipelines, each with its contract: Argo CD, KRM functions (kustomize, kpt), Flux, CI."""
