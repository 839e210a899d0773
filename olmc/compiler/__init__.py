"""The compiler: a directory goes in, the objects that OLM v0 leaves in the cluster come out."""
