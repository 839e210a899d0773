"""The tools that run olmc in pipelines, each with its contract: Argo CD, KRM functions (kustomize, kpt), Flux, CI.

What a tool hands over goes in, be it an environment, a ResourceList or settings; what it expects comes out. Each
compiles by way of `olmc.compiler.api`.

Public names: `argocd.generate` and `argocd.parameters`; `function.run` and `function.for_flux`; `scaffolds.files_of`,
the files of `olmc init`; `settings.choose_options`, the settings that all of them read.
"""
