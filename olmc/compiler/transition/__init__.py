"""From one state of a cluster to the next: what a GitOps tool applies, prunes and deletes, before OLM goes on."""
