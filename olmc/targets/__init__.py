"""Other targets of the pipeline, each through the same hooks: OLM v1, and the APIs of the design documents."""
